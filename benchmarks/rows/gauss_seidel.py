"""Gauss-Seidel sweeps with a nine-point mean, in place."""

import numpy as np

from benchmarks.row import Row


def gauss_seidel(u, sweeps):
    """Each sweep uses the values that it has just written."""
    u = u.copy()
    rows, columns = u.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = (
                    u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1]
                    + u[i, j - 1] + u[i, j] + u[i, j + 1]
                    + u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(u * u)


def arguments(n, sweeps):
    """A rough field."""
    return np.random.default_rng(0).normal(size=(n, n)), sweeps


def by_hand(njit):
    """Linear: nothing is kept, the sweeps run backwards over the shadow."""

    @njit
    def relaxed(u, sweeps):
        u = u.copy()
        rows, columns = u.shape
        for _ in range(sweeps):
            for i in range(1, rows - 1):
                for j in range(1, columns - 1):
                    above = u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1]
                    below = u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
                    u[i, j] = (above + below + u[i, j] + u[i, j + 1] + u[i, j - 1]) * (1.0 / 9.0)
        return u

    @njit
    def primal(u, sweeps):
        u = relaxed(u, sweeps)
        return np.sum(u * u)

    @njit
    def gradient(u, sweeps):
        u = relaxed(u, sweeps)
        value = np.sum(u * u)
        bar = 2.0 * u
        rows, columns = u.shape
        for _ in range(sweeps):
            for i in range(rows - 2, 0, -1):
                for j in range(columns - 2, 0, -1):
                    g = bar[i, j] * (1.0 / 9.0)
                    bar[i, j] = g
                    bar[i - 1, j - 1] += g
                    bar[i - 1, j] += g
                    bar[i - 1, j + 1] += g
                    bar[i, j - 1] += g
                    bar[i, j + 1] += g
                    bar[i + 1, j - 1] += g
                    bar[i + 1, j] += g
                    bar[i + 1, j + 1] += g
        return value, (bar,)

    return primal, gradient


def in_jax():
    """One scan over rows; along a row, the recurrence x[j] = x[j - 1] / 9 + b[j] as an associative scan."""
    import jax.numpy as jnp
    from jax import lax

    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def program(u, sweeps):
        def row(above, here_and_below):
            here, below = here_and_below
            sides = above[:-2] + above[1:-1] + above[2:] + below[:-2] + below[1:-1] + below[2:]
            b = (sides + here[1:-1] + here[2:]) / 9.0
            b = b.at[0].add(here[0] / 9.0)
            new = here.at[1:-1].set(lax.associative_scan(combine, (jnp.full_like(b, 1 / 9.0), b))[1])
            return new, new

        def sweep(u, _):
            inner = lax.scan(row, u[0], (u[1:-1], u[2:]))[1]
            return u.at[1:-1].set(inner), None

        u = lax.scan(sweep, u, length=sweeps)[0]
        return jnp.sum(u * u)

    return program


ROW = Row(
    title="Gauss-Seidel, in place",
    program=gauss_seidel,
    arguments=arguments,
    quick={"n": 10, "sweeps": 3},
    full={"n": 200, "sweeps": 20},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd="refuses writes into arrays",
    static=(1,),
)
