"""The Lorenz system by the classical Runge-Kutta method."""

import numpy as np

from benchmarks.row import Row


def velocity(x, y, z, sigma, rho, beta):
    """The right-hand side."""
    return sigma * (y - x), x * (rho - z) - y, x * y - beta * z


def lorenz(state, parameters, dt, steps):
    """The mean of z along the trajectory."""
    x, y, z = state
    sigma, rho, beta = parameters
    total = 0.0
    for _ in range(steps):
        a1, b1, c1 = velocity(x, y, z, sigma, rho, beta)
        a2, b2, c2 = velocity(x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1, sigma, rho, beta)
        a3, b3, c3 = velocity(x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2, sigma, rho, beta)
        a4, b4, c4 = velocity(x + dt * a3, y + dt * b3, z + dt * c3, sigma, rho, beta)
        x = x + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        y = y + dt / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        z = z + dt / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
        total = total + z
    return total / steps


def arguments(steps):
    """One unit of time: longer ones are chaotic, and their gradients mean nothing."""
    return np.array([1.0, 2.0, 20.0]), np.array([10.0, 28.0, 8.0 / 3.0]), 1.0 / steps, steps


def by_hand(njit):
    """The states are kept; the stages of a step are computed again."""

    @njit
    def speed(x, y, z, s, r, b):
        return s * (y - x), x * (r - z) - y, x * y - b * z

    @njit
    def primal(state, parameters, dt, steps):
        x, y, z = state[0], state[1], state[2]
        s, r, b = parameters[0], parameters[1], parameters[2]
        total = 0.0
        for _ in range(steps):
            a1, b1, c1 = speed(x, y, z, s, r, b)
            a2, b2, c2 = speed(x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1, s, r, b)
            a3, b3, c3 = speed(x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2, s, r, b)
            a4, b4, c4 = speed(x + dt * a3, y + dt * b3, z + dt * c3, s, r, b)
            x += dt / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
            y += dt / 6.0 * (b1 + 2.0 * (b2 + b3) + b4)
            z += dt / 6.0 * (c1 + 2.0 * (c2 + c3) + c4)
            total += z
        return total / steps

    @njit
    def back(x, y, z, s, r, b, u, v, w):
        """Cotangents of the state and the parameters, given those of the velocity."""
        x_bar = -s * u + (r - z) * v + y * w
        y_bar = s * u - v + x * w
        z_bar = -x * v - b * w
        return x_bar, y_bar, z_bar, (y - x) * u, x * v, -z * w

    @njit
    def gradient(state, parameters, dt, steps):
        x, y, z = state[0], state[1], state[2]
        s, r, b = parameters[0], parameters[1], parameters[2]
        kept = np.empty((steps, 3))
        total = 0.0
        for t in range(steps):
            kept[t, 0], kept[t, 1], kept[t, 2] = x, y, z
            a1, b1, c1 = speed(x, y, z, s, r, b)
            a2, b2, c2 = speed(x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1, s, r, b)
            a3, b3, c3 = speed(x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2, s, r, b)
            a4, b4, c4 = speed(x + dt * a3, y + dt * b3, z + dt * c3, s, r, b)
            x += dt / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
            y += dt / 6.0 * (b1 + 2.0 * (b2 + b3) + b4)
            z += dt / 6.0 * (c1 + 2.0 * (c2 + c3) + c4)
            total += z

        p = q = e = 0.0  # cotangents of x, y, z
        s_bar = r_bar = b_bar = 0.0
        h, third, sixth = 0.5 * dt, dt / 3.0, dt / 6.0
        for t in range(steps - 1, -1, -1):
            x, y, z = kept[t, 0], kept[t, 1], kept[t, 2]
            a1, b1, c1 = speed(x, y, z, s, r, b)
            x2, y2, z2 = x + h * a1, y + h * b1, z + h * c1
            a2, b2, c2 = speed(x2, y2, z2, s, r, b)
            x3, y3, z3 = x + h * a2, y + h * b2, z + h * c2
            a3, b3, c3 = speed(x3, y3, z3, s, r, b)
            x4, y4, z4 = x + dt * a3, y + dt * b3, z + dt * c3
            e += 1.0 / steps
            u4, v4, w4, s4, r4, g4 = back(x4, y4, z4, s, r, b, sixth * p, sixth * q, sixth * e)
            u3, v3, w3, s3, r3, g3 = back(
                x3, y3, z3, s, r, b, third * p + dt * u4, third * q + dt * v4, third * e + dt * w4
            )
            u2, v2, w2, s2, r2, g2 = back(
                x2, y2, z2, s, r, b, third * p + h * u3, third * q + h * v3, third * e + h * w3
            )
            u1, v1, w1, s1, r1, g1 = back(x, y, z, s, r, b, sixth * p + h * u2, sixth * q + h * v2, sixth * e + h * w2)
            p += u1 + u2 + u3 + u4
            q += v1 + v2 + v3 + v4
            e += w1 + w2 + w3 + w4
            s_bar += s1 + s2 + s3 + s4
            r_bar += r1 + r2 + r3 + r4
            b_bar += g1 + g2 + g3 + g4
        return total / steps, (np.array([p, q, e]), np.array([s_bar, r_bar, b_bar]))

    return primal, gradient


def in_jax():
    """A scan over the steps, unrolled by four: twice as quick as by one."""
    import jax.numpy as jnp
    from jax import lax

    def program(state, parameters, dt, steps):
        sigma, rho, beta = parameters

        def f(s):
            x, y, z = s
            return jnp.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

        def step(carry, _):
            s, total = carry
            k1 = f(s)
            k2 = f(s + 0.5 * dt * k1)
            k3 = f(s + 0.5 * dt * k2)
            k4 = f(s + dt * k3)
            s = s + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            return (s, total + s[2]), None

        return lax.scan(step, (state, 0.0), length=steps, unroll=4)[0][1] / steps

    return program


def in_autograd():
    """As it stands."""
    return lorenz


ROW = Row(
    title="Lorenz, Runge-Kutta",
    program=lorenz,
    arguments=arguments,
    quick={"steps": 20},
    full={"steps": 100_000},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=in_autograd,
    static=(3,),
    tolerance=1e-9,
)
