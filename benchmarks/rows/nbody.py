"""Gravity among bodies in space, with 3-vectors and a leapfrog integrator."""

import numpy as np

from benchmarks.row import Row


def accelerations(x, mass):
    """Of every body, towards all others."""
    a = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                d = x[j] - x[i]
                a[i] += mass[j] * d / (np.dot(d, d) + 0.01) ** 1.5
    return a


def nbody(x, v, mass, dt, steps):
    """The kinetic energy at the end."""
    x = x.copy()
    v = v.copy()
    a = accelerations(x, mass)
    for _ in range(steps):
        v += 0.5 * dt * a
        x += dt * v
        a = accelerations(x, mass)
        v += 0.5 * dt * a
    return 0.5 * np.sum(mass[:, None] * v**2)


def arguments(bodies, steps):
    """A cloud."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(bodies, 3)), 0.3 * rng.normal(size=(bodies, 3)), rng.uniform(0.5, 1, bodies), 1e-3, steps


def by_hand(njit):
    """The positions are kept; one pass over the pairs gives the cotangents of both bodies."""

    @njit
    def pull(x, mass, a):
        a[:] = 0.0
        for i in range(x.shape[0]):
            for j in range(i):
                d0, d1, d2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r2 = d0 * d0 + d1 * d1 + d2 * d2 + 0.01
                w = 1.0 / (r2 * np.sqrt(r2))
                p, q = mass[j] * w, mass[i] * w
                a[i, 0] += p * d0
                a[i, 1] += p * d1
                a[i, 2] += p * d2
                a[j, 0] -= q * d0
                a[j, 1] -= q * d1
                a[j, 2] -= q * d2

    @njit
    def pull_back(x, mass, a_bar, x_bar, mass_bar):
        for i in range(x.shape[0]):
            for j in range(i):
                d0, d1, d2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                inverse = 1.0 / (d0 * d0 + d1 * d1 + d2 * d2 + 0.01)
                w = inverse * np.sqrt(inverse)
                to_i = a_bar[i, 0] * d0 + a_bar[i, 1] * d1 + a_bar[i, 2] * d2
                to_j = a_bar[j, 0] * d0 + a_bar[j, 1] * d1 + a_bar[j, 2] * d2
                mass_bar[j] += w * to_i
                mass_bar[i] -= w * to_j
                s = -3.0 * w * inverse * (mass[j] * to_i - mass[i] * to_j)
                g0 = w * (mass[j] * a_bar[i, 0] - mass[i] * a_bar[j, 0]) + s * d0
                g1 = w * (mass[j] * a_bar[i, 1] - mass[i] * a_bar[j, 1]) + s * d1
                g2 = w * (mass[j] * a_bar[i, 2] - mass[i] * a_bar[j, 2]) + s * d2
                x_bar[j, 0] += g0
                x_bar[j, 1] += g1
                x_bar[j, 2] += g2
                x_bar[i, 0] -= g0
                x_bar[i, 1] -= g1
                x_bar[i, 2] -= g2

    @njit
    def forward(x, v, mass, dt, steps, kept):
        x = x.copy()
        v = v.copy()
        a = np.empty_like(x)
        kept[0] = x
        pull(x, mass, a)
        for t in range(steps):
            v += 0.5 * dt * a
            x += dt * v
            kept[(t + 1) % kept.shape[0]] = x
            pull(x, mass, a)
            v += 0.5 * dt * a
        return v

    @njit
    def energy(v, mass):
        total = 0.0
        for i in range(mass.size):
            total += 0.5 * mass[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
        return total

    @njit
    def primal(x, v, mass, dt, steps):
        return energy(forward(x, v, mass, dt, steps, np.empty((1, x.shape[0], 3))), mass)

    @njit
    def gradient(x, v, mass, dt, steps):
        kept = np.empty((steps + 1, x.shape[0], 3))
        v = forward(x, v, mass, dt, steps, kept)
        v_bar = np.empty_like(v)
        x_bar = np.zeros_like(x)
        mass_bar = np.empty_like(mass)
        for i in range(mass.size):
            mass_bar[i] = 0.5 * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
            v_bar[i] = mass[i] * v[i]
        a_bar = np.zeros_like(v)
        for t in range(steps, 0, -1):
            a_bar += 0.5 * dt * v_bar
            pull_back(kept[t], mass, a_bar, x_bar, mass_bar)
            v_bar += dt * x_bar
            a_bar[:] = 0.5 * dt * v_bar
        pull_back(kept[0], mass, a_bar, x_bar, mass_bar)
        return energy(v, mass), (x_bar, v_bar, mass_bar)

    return primal, gradient


def accelerations_at_once(np, x, mass):
    """Over all pairs."""
    d = x[None] - x[:, None]
    w = (np.sum(d * d, axis=-1) + 0.01) ** -1.5
    return np.sum((mass[None] * w)[..., None] * d, axis=1)


def in_jax():
    """All pairs at once, and a scan over the steps."""
    import jax.numpy as jnp
    from jax import lax

    def program(x, v, mass, dt, steps):
        def step(carry, _):
            x, v, a = carry
            v = v + 0.5 * dt * a
            x = x + dt * v
            a = accelerations_at_once(jnp, x, mass)
            return (x, v + 0.5 * dt * a, a), None

        start = x, v, accelerations_at_once(jnp, x, mass)
        (_, v, _), _ = lax.scan(step, start, length=steps)
        return 0.5 * jnp.sum(mass[:, None] * v**2)

    return program


def in_autograd():
    """All pairs at once."""
    from autograd import numpy as anp

    def program(x, v, mass, dt, steps):
        a = accelerations_at_once(anp, x, mass)
        for _ in range(steps):
            v = v + 0.5 * dt * a
            x = x + dt * v
            a = accelerations_at_once(anp, x, mass)
            v = v + 0.5 * dt * a
        return 0.5 * anp.sum(mass[:, None] * v**2)

    return program


ROW = Row(
    title="n bodies, 3-vectors",
    program=nbody,
    arguments=arguments,
    quick={"bodies": 4, "steps": 3},
    full={"bodies": 40, "steps": 50},
    argnums=(0, 1, 2),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=in_autograd,
    static=(4,),
)
