"""Heat flow through a plate of uneven conductivity, by slices."""

import numpy as np

from benchmarks.row import AUTOGRAD, Row, as_it_stands


def heat(u, k, steps):
    """Explicit steps on the inner points."""
    u = u.copy()
    for _ in range(steps):
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += k[1:-1, 1:-1] * flow
    return np.sum(u * u)


def arguments(n, steps):
    """A rough plate."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)), rng.uniform(0.05, 0.2, size=(n, n)), steps


def by_hand(njit):
    """Linear in u: only the flow of each step is kept, for the gradient by k."""
    from benchmarks.rows import stencil_loops  # which imports this module

    @njit
    def gradient(u, k, steps):
        n, m = u.shape
        flows = np.empty((steps, n, m))
        u = u.copy()
        new = u.copy()
        for t in range(steps):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    flow = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                    flows[t, i, j] = flow
                    new[i, j] = u[i, j] + k[i, j] * flow
            u, new = new, u
        value = np.sum(u * u)

        u_bar = 2.0 * u
        k_bar = np.zeros_like(k)
        scaled = np.zeros_like(u)
        for t in range(steps - 1, -1, -1):
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    scaled[i, j] = k[i, j] * u_bar[i, j]
                    k_bar[i, j] += flows[t, i, j] * u_bar[i, j]
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    around = scaled[i - 1, j] + scaled[i + 1, j] + scaled[i, j - 1] + scaled[i, j + 1]
                    u_bar[i, j] += around - 4.0 * scaled[i, j]
            for i in range(1, n - 1):
                u_bar[i, 0] += scaled[i, 1]
                u_bar[i, m - 1] += scaled[i, m - 2]
            for j in range(1, m - 1):
                u_bar[0, j] += scaled[1, j]
                u_bar[n - 1, j] += scaled[n - 2, j]
        return value, (u_bar, k_bar)

    return njit(stencil_loops.heat), gradient


def in_jax():
    """A scan over the steps."""
    import jax.numpy as jnp
    from jax import lax

    def program(u, k, steps):
        def step(u, _):
            flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
            return u.at[1:-1, 1:-1].add(k[1:-1, 1:-1] * flow), None

        u = lax.scan(step, u, length=steps)[0]
        return jnp.sum(u * u)

    return program


def padded_heat(u, k, steps):
    """Without writes: the increment is padded with zeros."""
    for _ in range(steps):
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        u = u + np.pad(k[1:-1, 1:-1] * flow, 1, "constant")
    return np.sum(u * u)


ROW = Row(
    title="heat flow in 2-D, by slices",
    program=heat,
    arguments=arguments,
    quick={"n": 8, "steps": 3},
    full={"n": 200, "steps": 100},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=as_it_stands(AUTOGRAD, padded_heat),
    static=(2,),
)
