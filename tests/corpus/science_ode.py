"""Time integrators: explicit and implicit, adaptive, symplectic, stiff, delayed; written as scientists write them."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from .registry import program, rng


def decay_euler_jax(y0, k, dt, n):
    y = y0
    for _ in range(n):
        y = y + dt * (-k * y)
    return y


@program(args=lambda: (1.3, 0.7, 0.05, 20), wrt=("y0", "k", "dt"), jax=decay_euler_jax, tags=("ode", "scalar"))
def decay_euler(y0, k, dt, n):
    """Forward Euler for y' = -k y."""
    y = y0
    for _ in range(n):
        y += dt * (-k * y)
    return y


def lotka_volterra_rk4_jax(theta, z0, dt, n):
    import jax.numpy as jnp

    def f(z):
        a, b, c, d = theta
        return jnp.array([a * z[0] - b * z[0] * z[1], d * z[0] * z[1] - c * z[1]])

    z, total = z0, 0.0
    for _ in range(n):
        k1 = f(z)
        k2 = f(z + 0.5 * dt * k1)
        k3 = f(z + 0.5 * dt * k2)
        k4 = f(z + dt * k3)
        z = z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        total = total + z[0] ** 2
    return z, total


def lv_rhs(z, theta):
    a, b, c, d = theta
    dz = np.empty(2)
    dz[0] = a * z[0] - b * z[0] * z[1]
    dz[1] = d * z[0] * z[1] - c * z[1]
    return dz


@program(
    args=lambda: (np.array([1.1, 0.4, 0.4, 0.1]), np.array([2.0, 1.5]), 0.1, 15),
    wrt=("theta", "z0"),
    jax=lotka_volterra_rk4_jax,
    tags=("ode", "helper", "tuple-result"),
)
def lotka_volterra_rk4(theta, z0, dt, n):
    z = z0
    total = 0.0
    for _ in range(n):
        k1 = lv_rhs(z, theta)
        k2 = lv_rhs(z + 0.5 * dt * k1, theta)
        k3 = lv_rhs(z + 0.5 * dt * k2, theta)
        k4 = lv_rhs(z + dt * k3, theta)
        z = z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        total += z[0] ** 2
    return z, total


# Dormand-Prince 5(4) would be longer; Bogacki-Shampine 3(2) has the same control flow.
def bs23_jax(mu, x0, t_end, tol):
    import jax
    import jax.numpy as jnp

    def f(y):
        return jnp.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    def more(state):
        t, _, _, n = state
        return (t < t_end - 1e-12) & (n < 200)

    def advance(state):
        t, h, y, n = state
        h = jnp.where(t + h > t_end, t_end - t, h)
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.75 * h * k2)
        new = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
        k4 = f(new)
        low = y + h * (7 / 24 * k1 + 0.25 * k2 + 1 / 3 * k3 + 0.125 * k4)
        err = jnp.sqrt(jnp.sum((new - low) ** 2)) + 1e-14
        good = err <= tol
        factor = 0.9 * (tol / err) ** (1 / 3)
        return jnp.where(good, t + h, t), h * jnp.clip(factor, 0.2, 5.0), jnp.where(good, new, y), n + 1

    start = (0.0, 0.1, jnp.array([x0, 0.0]), 0)
    return jax.lax.while_loop(more, advance, start)[2]


@program(args=lambda: (1.5, 2.0, 2.0, 1e-3), wrt=("mu", "x0"), jax=bs23_jax, tags=("ode", "while", "adaptive"))
def van_der_pol_adaptive(mu, x0, t_end, tol):
    """Adaptive Runge-Kutta 3(2); rejected steps are repeated with a smaller step."""

    def f(y):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    t, h = 0.0, 0.1
    y = np.array([x0, 0.0])
    n = 0
    while t < t_end - 1e-12:
        if t + h > t_end:
            h = t_end - t
        k1 = f(y)
        k2 = f(y + 0.5 * h * k1)
        k3 = f(y + 0.75 * h * k2)
        new = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
        k4 = f(new)
        low = y + h * (7 / 24 * k1 + 0.25 * k2 + 1 / 3 * k3 + 0.125 * k4)
        err = np.sqrt(np.sum((new - low) ** 2)) + 1e-14
        if err <= tol:
            t += h
            y = new
        factor = 0.9 * (tol / err) ** (1 / 3)
        h *= min(max(factor, 0.2), 5.0)
        n += 1
        if n >= 200:
            break
    return y


def verlet_oscillator_jax(q, p, omega, dt, steps):
    for _ in range(steps):
        p = p - 0.5 * dt * omega**2 * q
        q = q + dt * p
        p = p - 0.5 * dt * omega**2 * q
    return 0.5 * (p * p).sum() + 0.5 * ((omega * q) ** 2).sum() + q[0]


@program(
    args=lambda: (rng(3).normal(size=3), rng(4).normal(size=3), np.array([1.0, 1.3, 0.6]), 0.1, 25),
    wrt=("q", "p", "omega"),
    jax=verlet_oscillator_jax,
    tags=("ode", "symplectic", "mutates-argument"),
)
def verlet_oscillator(q, p, omega, dt, steps):
    """Leapfrog on three oscillators, overwriting the caller's arrays."""
    for _ in range(steps):
        p -= 0.5 * dt * omega**2 * q
        q += dt * p
        p -= 0.5 * dt * omega**2 * q
    energy = 0.5 * (p * p).sum() + 0.5 * ((omega * q) ** 2).sum()
    return energy + q[0]


def kepler_orbit_symplectic_jax(r0, v0, gm, dt, n):
    import jax.numpy as jnp

    r, v, path = r0, v0, []
    for _ in range(n):
        v = v - dt * gm * r / jnp.sum(r * r) ** 1.5
        r = r + dt * v
        path.append(r)
    path = jnp.stack(path)
    return path[:, 0].mean() + (path[:, 1] ** 2).mean()


@program(
    args=lambda: (np.array([1.0, 0.1]), np.array([-0.05, 1.1]), 1.0, 0.05, 30),
    wrt=("r0", "v0", "gm"),
    jax=kepler_orbit_symplectic_jax,
    tags=("ode", "astronomy", "symplectic"),
)
def kepler_orbit_symplectic(r0, v0, gm, dt, n):
    r, v = r0.copy(), v0.copy()
    path = np.zeros((n, 2))
    for i in range(n):
        r3 = (r[0] * r[0] + r[1] * r[1]) ** 1.5
        v[0] -= dt * gm * r[0] / r3
        v[1] -= dt * gm * r[1] / r3
        r[:] += dt * v
        path[i] = r
    return path[:, 0].mean() + (path[:, 1] ** 2).mean()


def robertson_like_implicit_jax(k1, k2, k3, y0, h, n):
    import jax.numpy as jnp

    eye = jnp.eye(3)
    y = y0
    for _ in range(n):
        z = y
        for _ in range(8):
            g = jnp.stack(
                [
                    z[0] - y[0] - h * (-k1 * z[0] + k2 * z[1] * z[2]),
                    z[1] - y[1] - h * (k1 * z[0] - k2 * z[1] * z[2] - k3 * z[1] ** 2),
                    z[2] - y[2] - h * k3 * z[1] ** 2,
                ]
            )
            zero = 0.0 * z[0]
            jac = eye - h * jnp.stack(
                [
                    jnp.stack([-k1 + zero, k2 * z[2], k2 * z[1]]),
                    jnp.stack([k1 + zero, -k2 * z[2] - 2 * k3 * z[1], -k2 * z[1]]),
                    jnp.stack([zero, 2 * k3 * z[1], zero]),
                ]
            )
            z = z - jnp.linalg.solve(jac, g)
        y = z
    return y


@program(
    args=lambda: (0.04, 5.0, 30.0, np.array([1.0, 0.01, 0.02]), 0.2, 6),
    wrt=("k1", "k2", "k3", "y0"),
    jax=robertson_like_implicit_jax,
    tags=("ode", "stiff", "newton", "linalg"),
)
def robertson_like_implicit(k1, k2, k3, y0, h, n):
    """Backward Euler with Newton's method inside each step."""
    y = y0
    for _ in range(n):
        z = y.copy()
        for it in range(20):
            g = np.array(
                [
                    z[0] - y[0] - h * (-k1 * z[0] + k2 * z[1] * z[2]),
                    z[1] - y[1] - h * (k1 * z[0] - k2 * z[1] * z[2] - k3 * z[1] ** 2),
                    z[2] - y[2] - h * (k3 * z[1] ** 2),
                ]
            )
            jac = np.eye(3)
            jac[0] -= h * np.array([-k1, k2 * z[2], k2 * z[1]])
            jac[1] -= h * np.array([k1, -k2 * z[2] - 2 * k3 * z[1], -k2 * z[1]])
            jac[2, 1] -= h * 2 * k3 * z[1]
            delta = np.linalg.solve(jac, g)
            z -= delta
            if it > 6 and np.abs(delta).max() < 1e-14:
                break
        y = z
    return y


def logistic_delay_jax(r, k, x0, tau_steps, dt, n):
    import jax.numpy as jnp

    x = [x0]
    for i in range(n):
        delayed = x[i - tau_steps] if i >= tau_steps else x0
        x.append(x[i] + dt * r * x[i] * (1 - delayed / k))
    return jnp.stack(x)


@program(
    args=lambda: (0.9, 2.0, 0.3, 5, 0.2, 30),
    wrt=("r", "k", "x0"),
    jax=logistic_delay_jax,
    tags=("ode", "delay", "array-result"),
)
def logistic_delay(r, k, x0, tau_steps, dt, n):
    """Hutchinson's delayed logistic equation; the history before t = 0 is constant."""
    x = np.zeros(n + 1)
    x[0] = x0
    for i in range(n):
        delayed = x[i - tau_steps] if i >= tau_steps else x0
        x[i + 1] = x[i] + dt * r * x[i] * (1 - delayed / k)
    return x


def lorenz_heun_jax(state, sigma, rho, beta, dt=0.01, n=20):
    import jax.numpy as jnp

    def f(s):
        x, y, z = s
        return jnp.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    s = jnp.stack(state)
    for _ in range(n):
        a = f(s)
        b = f(s + dt * a)
        s = s + 0.5 * dt * (a + b)
    return tuple(s)


@program(
    args=lambda: ((1.0, 2.0, 12.0), 10.0, 28.0, 8 / 3),
    wrt=("state", "sigma", "rho", "beta"),
    jax=lorenz_heun_jax,
    tags=("ode", "tuple-argument", "defaults"),
)
def lorenz_heun(state, sigma, rho, beta, dt=0.01, n=20):
    """Heun's method on plain floats and tuples."""

    def f(x, y, z):
        return sigma * (y - x), x * (rho - z) - y, x * y - beta * z

    x, y, z = state
    for _ in range(n):
        ax, ay, az = f(x, y, z)
        bx, by, bz = f(x + dt * ax, y + dt * ay, z + dt * az)
        x, y, z = (
            x + 0.5 * dt * (ax + bx),
            y + 0.5 * dt * (ay + by),
            z + 0.5 * dt * (az + bz),
        )
    return x, y, z


def adams_bashforth_pendulum_jax(theta0, omega0, length, damping, dt, n):
    import jax.numpy as jnp

    def rhs(s):
        return jnp.stack([s[1], -9.81 / length * jnp.sin(s[0]) - damping * s[1]])

    s = jnp.stack([theta0, omega0])
    previous = rhs(s)
    s = s + dt * previous
    for _ in range(n - 1):
        current = rhs(s)
        s = s + dt * (1.5 * current - 0.5 * previous)
        previous = current
    return s[0] ** 2 + jnp.cos(s[1])


@program(
    args=lambda: (0.4, 0.1, 1.2, 0.15, 0.02, 25),
    wrt=("theta0", "omega0", "length", "damping"),
    jax=adams_bashforth_pendulum_jax,
    tags=("ode", "multistep", "math"),
)
def adams_bashforth_pendulum(theta0, omega0, length, damping, dt, n):
    """Two-step Adams-Bashforth, started by one Euler step."""
    g = 9.81
    theta, omega = theta0, omega0
    f_old = None
    for _ in range(n):
        f = (omega, -g / length * math.sin(theta) - damping * omega)
        if f_old is None:
            theta += dt * f[0]
            omega += dt * f[1]
        else:
            theta += dt * (1.5 * f[0] - 0.5 * f_old[0])
            omega += dt * (1.5 * f[1] - 0.5 * f_old[1])
        f_old = f
    return theta**2 + math.cos(omega)


def butcher_runge_kutta_jax(a, b, y0, rate, h, n):
    import jax.numpy as jnp

    s = b.shape[0]
    y = y0
    for _ in range(n):
        ks = []
        for i in range(s):
            yi = y
            for j in range(i):
                yi = yi + h * a[i, j] * ks[j]
            ks.append(-rate * yi + jnp.sin(yi))
        y = y + h * sum(bi * k for bi, k in zip(b, ks, strict=True))
    return jnp.sum(y**2)


@program(
    args=lambda: (
        np.array([[0, 0, 0], [0.5, 0, 0], [-1.0, 2.0, 0]]),
        np.array([1 / 6, 2 / 3, 1 / 6]),
        np.array([0.5, -0.8, 1.2, 0.3]),
        np.array([1.0, 0.5, 2.0, 1.5]),
        0.1,
        5,
    ),
    wrt=("a", "b", "y0", "rate"),
    jax=butcher_runge_kutta_jax,
    tags=("ode", "list-append"),
)
def butcher_runge_kutta(a, b, y0, rate, h, n):
    """Any explicit Runge-Kutta method, from its Butcher tableau."""
    f = lambda y: -rate * y + np.sin(y)  # noqa: E731
    y = y0.copy()
    for _ in range(n):
        stages = []
        for i in range(len(b)):
            yi = y.copy()
            for j in range(i):
                yi += h * a[i, j] * stages[j]
            stages.append(f(yi))
        for bi, k in zip(b, stages):
            y += h * bi * k
    return np.sum(y**2)


OscillatorState = namedtuple("OscillatorState", ["x", "v"])


def duffing_newmark_jax(state, p, n):
    import jax.numpy as jnp

    x, v = state
    h = 0.1
    for i in range(n):
        t = h * (i + 1)
        a = p["f"] * jnp.cos(p["w"] * t) - p["d"] * v - p["a"] * x - p["b"] * x**3
        v = v + h * a
        x = x + h * v
    return type(state)(x, v)


@program(
    args=lambda: (OscillatorState(0.5, -0.2), {"a": -1.0, "b": 1.0, "d": 0.3, "f": 0.5, "w": 1.2}, 20),
    wrt=("state", "p"),
    jax=duffing_newmark_jax,
    tags=("ode", "namedtuple", "dict"),
)
def duffing_namedtuple(state, p, n):
    h = 0.1
    for i in range(n):
        t = h * (i + 1)
        force = p["f"] * np.cos(p["w"] * t)
        a = force - p["d"] * state.v - p["a"] * state.x - p["b"] * state.x**3
        v = state.v + h * a
        state = state._replace(v=v)
        state = OscillatorState(x=state.x + h * state.v, v=state.v)
    return state


@dataclass
class Neuron:
    """Membrane constants of the FitzHugh-Nagumo model."""

    a: float
    b: float
    tau: float
    current: float


def fitzhugh_nagumo_jax(neuron, v, w, dt, n):
    import jax

    def body(_, s):
        v, w, peak = s
        dv = v - v**3 / 3 - w + neuron.current
        dw = (v + neuron.a - neuron.b * w) / neuron.tau
        v = v + dt * dv
        w = w + dt * dw
        return v, w, jax.numpy.maximum(peak, v)

    v, w, peak = jax.lax.fori_loop(0, n, body, (v, w, -10.0 + 0 * v))
    return v + w + peak


@program(
    args=lambda: (Neuron(a=0.7, b=0.8, tau=12.5, current=0.5), -1.0, 1.0, 0.5, 60),
    wrt=("neuron", "v", "w"),
    jax=fitzhugh_nagumo_jax,
    tags=("ode", "biology", "dataclass"),
)
def fitzhugh_nagumo(neuron, v, w, dt, n):
    peak = -10.0
    for _ in range(n):
        dv = v - v**3 / 3 - w + neuron.current
        dw = (v + neuron.a - neuron.b * w) / neuron.tau
        v += dt * dv
        w += dt * dw
        if v > peak:
            peak = v
    return v + w + peak


def hodgkin_huxley_jax(g_na, g_k, g_l, current, dt, n):
    import jax
    import jax.numpy as jnp

    def body(_, s):
        v, m, h, k = s
        am = 0.1 * (v + 40.0) / (1 - jnp.exp(-(v + 40.0) / 10))
        bm = 4 * jnp.exp(-(v + 65) / 18)
        ah = 0.07 * jnp.exp(-(v + 65) / 20)
        bh = 1 / (1 + jnp.exp(-(v + 35) / 10))
        an = 0.01 * (v + 55) / (1 - jnp.exp(-(v + 55) / 10))
        bn = 0.125 * jnp.exp(-(v + 65) / 80)
        ion = g_na * m**3 * h * (v - 50.0) + g_k * k**4 * (v + 77.0) + g_l * (v + 54.387)
        return (
            v + dt * (current - ion),
            m + dt * (am * (1 - m) - bm * m),
            h + dt * (ah * (1 - h) - bh * h),
            k + dt * (an * (1 - k) - bn * k),
        )

    start = tuple(jnp.asarray(x) for x in (-64.3, 0.053, 0.596, 0.318))
    return jax.lax.fori_loop(0, n, body, start)[0]


@program(
    args=lambda: (120.0, 36.0, 0.3, 10.0, 0.02, 60),
    wrt=("g_na", "g_k", "g_l", "current"),
    jax=hodgkin_huxley_jax,
    tags=("ode", "biology", "math", "class"),
)
def hodgkin_huxley(g_na, g_k, g_l, current, dt, n):
    class Gate:
        """One gating variable with its rates."""

        def __init__(self, value):
            self.value = value

        def advance(self, opening, closing):
            self.value = self.value + dt * (opening * (1 - self.value) - closing * self.value)

    v = -64.3
    m, h, k = Gate(0.053), Gate(0.596), Gate(0.318)
    for _ in range(n):
        i_na = g_na * m.value**3 * h.value * (v - 50.0)
        i_k = g_k * k.value**4 * (v + 77.0)
        i_l = g_l * (v + 54.387)
        m.advance(0.1 * (v + 40) / (1 - math.exp(-(v + 40) / 10)), 4 * math.exp(-(v + 65) / 18))
        h.advance(0.07 * math.exp(-(v + 65) / 20), 1 / (1 + math.exp(-(v + 35) / 10)))
        k.advance(0.01 * (v + 55) / (1 - math.exp(-(v + 55) / 10)), 0.125 * math.exp(-(v + 65) / 80))
        v += dt * (current - i_na - i_k - i_l)
    return v


def seir_daily_jax(beta, sigma, gamma, initial, counts):
    import jax.numpy as jnp

    s, e, i, r = initial
    n = s + e + i + r
    ll = 0.0
    for c in counts:
        before = e
        for _ in range(4):
            inf = beta * s * i / n / 4
            onset = sigma * e / 4
            rec = gamma * i / 4
            s, e, i, r = s - inf, e + inf - onset, i + onset - rec, r + rec
        expected = sigma * 0.5 * (before + e)
        ll = ll + c * jnp.log(expected) - expected
    return ll


@program(
    args=lambda: (0.9, 0.5, 0.3, np.array([990.0, 6.0, 4.0, 0.0]), np.array([3, 4, 5, 5, 6, 8, 9, 11])),
    wrt=("beta", "sigma", "gamma", "initial"),
    jax=seir_daily_jax,
    tags=("ode", "epidemiology", "integer-data"),
)
def seir_daily(beta, sigma, gamma, initial, counts):
    """Poisson log-likelihood of daily counts under an SEIR model with four steps a day."""
    s, e, i, r = initial
    n = s + e + i + r
    substeps = 4
    ll = 0.0
    for day, c in enumerate(counts):
        before = e
        for _ in range(substeps):
            infections = beta * s * i / n / substeps
            onsets = sigma * e / substeps
            recoveries = gamma * i / substeps
            s -= infections
            e += infections - onsets
            i += onsets - recoveries
            r += recoveries
        expected = sigma * 0.5 * (before + e)
        assert expected > 0, f"no cases expected on day {day}"
        ll += c * np.log(expected) - expected
    return ll


def event_bouncing_ball_jax(height, speed, restitution, g, dt, n):
    import jax
    import jax.numpy as jnp

    def body(_, s):
        y, v = s
        hits = (y + dt * v < 0) & (v < 0)
        tau = jnp.where(hits, -y / jnp.where(hits, v, 1.0), 0.0)
        vb = -restitution * v
        y2 = jnp.where(hits, vb * (dt - tau), y + dt * v)
        v2 = jnp.where(hits, vb, v) - g * dt
        return y2, v2

    return jax.lax.fori_loop(0, n, body, (height, speed))


@program(
    args=lambda: (1.0, 0.5, 0.8, 9.81, 0.01, 110),
    wrt=("height", "speed", "restitution", "g"),
    jax=event_bouncing_ball_jax,
    tags=("ode", "event", "continue"),
)
def event_bouncing_ball(height, speed, restitution, g, dt, n):
    """A ball that bounces: the time of contact within a step is solved for."""
    y, v = height, speed
    for _ in range(n):
        if v < 0 and y + dt * v < 0:
            tau = -y / v
            v = -restitution * v
            y = v * (dt - tau)
            v -= g * dt
            continue
        y += dt * v
        v -= g * dt
    return y, v


def trapezoid_fixed_point_jax(x0, rate, dt, n):
    import jax.numpy as jnp

    x = x0
    for _ in range(n):
        f0 = -rate * jnp.tanh(x)
        z = x + dt * f0
        for _ in range(30):
            z = x + 0.5 * dt * (f0 - rate * jnp.tanh(z))
        x = z
    return x


@program(
    args=lambda: (np.array([1.0, -0.5, 0.3]), np.array([0.8, 1.5, 1.1]), 0.15, 6),
    wrt=("x0", "rate"),
    jax=trapezoid_fixed_point_jax,
    tags=("ode", "while", "array-result"),
)
def trapezoid_fixed_point(x0, rate, dt, n):
    x = x0
    for _ in range(n):
        f0 = -rate * np.tanh(x)
        z = x + dt * f0
        change = 1.0
        count = 0
        while change > 1e-14 and count < 50:
            z_new = x + 0.5 * dt * (f0 - rate * np.tanh(z))
            change = np.max(np.abs(z_new - z))
            z = z_new
            count += 1
        x = z
    return x


def brusselator_float32_jax(a, b, x, y, n):
    import jax.numpy as jnp

    dt = jnp.float32(0.02)
    for _ in range(n):
        x, y = x + dt * (a + x * x * y - (b + 1) * x), y + dt * (b * x - x * x * y)
    return x, y


@program(
    args=lambda: (np.float32(1.0), np.float32(1.7), rng(1).uniform(0.5, 1.5, 4).astype("f4"), np.ones(4, "f4"), 20),
    wrt=("a", "b", "x", "y"),
    jax=brusselator_float32_jax,
    tags=("ode", "chemistry", "float32"),
)
def brusselator_float32(a, b, x, y, n):
    dt = np.float32(0.02)
    for _ in range(n):
        x, y = x + dt * (a + x * x * y - (b + 1) * x), y + dt * (b * x - x * x * y)
    return x, y
