"""The Lorenz system through many more steps, whose gradient keeps a bounded number of states."""

from benchmarks.row import Row
from benchmarks.rows.lorenz import arguments, by_hand, velocity


def lorenz_snapshots(state, parameters, dt, steps):
    """The mean of z along the trajectory."""
    from diffjit import checkpointed  # a process loads its peer only

    x, y, z = state
    sigma, rho, beta = parameters
    total = 0.0
    for _ in checkpointed(range(steps), budget=64):
        a1, b1, c1 = velocity(x, y, z, sigma, rho, beta)
        a2, b2, c2 = velocity(x + 0.5 * dt * a1, y + 0.5 * dt * b1, z + 0.5 * dt * c1, sigma, rho, beta)
        a3, b3, c3 = velocity(x + 0.5 * dt * a2, y + 0.5 * dt * b2, z + 0.5 * dt * c2, sigma, rho, beta)
        a4, b4, c4 = velocity(x + dt * a3, y + dt * b3, z + dt * c3, sigma, rho, beta)
        x = x + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        y = y + dt / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        z = z + dt / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
        total = total + z
    return total / steps


def in_jax():
    """Scans in scans: `jax.checkpoint` keeps the states at the starts of the inner ones, about the root of all."""
    import jax
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

        inner = next(n for n in range(int(steps**0.5), 0, -1) if steps % n == 0)
        chunk = jax.checkpoint(lambda carry, _: lax.scan(step, carry, length=inner, unroll=4))
        return lax.scan(chunk, (state, 0.0), length=steps // inner)[0][1] / steps

    return program


ROW = Row(
    title="Lorenz, 64 snapshots",
    program=lorenz_snapshots,
    arguments=arguments,
    quick={"steps": 20},
    full={"steps": 1_000_000},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd="keeps every step",
    static=(3,),
    tolerance=1e-8,
)
