"""A tridiagonal system, solved by Thomas' algorithm in place."""

import numpy as np

from benchmarks.row import Row


def thomas(a, b, c, d):
    """Elimination downwards, substitution upwards; the squared norm of the solution."""
    n = b.size
    c = c.copy()
    d = d.copy()
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, n):
        pivot = b[i] - a[i] * c[i - 1]
        c[i] /= pivot
        d[i] = (d[i] - a[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return np.sum(d * d)


def arguments(n):
    """A dominant diagonal."""
    rng = np.random.default_rng(0)
    return rng.normal(size=n), 5.0 + rng.uniform(size=n), rng.normal(size=n), rng.normal(size=n)


def by_hand(njit):
    """The cotangent of the right-hand side solves the transposed system; the rest are products with the solution."""

    @njit
    def solved(a, b, c, d):
        n = b.size
        ratio = np.empty(n)
        x = np.empty(n)
        ratio[0] = c[0] / b[0]
        x[0] = d[0] / b[0]
        for i in range(1, n):
            inverse = 1.0 / (b[i] - a[i] * ratio[i - 1])
            ratio[i] = c[i] * inverse
            x[i] = (d[i] - a[i] * x[i - 1]) * inverse
        for i in range(n - 2, -1, -1):
            x[i] -= ratio[i] * x[i + 1]
        return x

    @njit
    def primal(a, b, c, d):
        x = solved(a, b, c, d)
        return np.sum(x * x)

    @njit
    def gradient(a, b, c, d):
        n = b.size
        x = solved(a, b, c, d)
        lower = np.zeros(n)
        upper = np.zeros(n)
        lower[1:] = c[:-1]
        upper[:-1] = a[1:]
        y = solved(lower, b, upper, 2.0 * x)
        a_bar = np.zeros(n)
        b_bar = np.empty(n)
        c_bar = np.zeros(n)
        for i in range(n):
            b_bar[i] = -y[i] * x[i]
        for i in range(1, n):
            a_bar[i] = -y[i] * x[i - 1]
            c_bar[i - 1] = -y[i - 1] * x[i]
        return np.sum(x * x), (a_bar, b_bar, c_bar, y)

    return primal, gradient


def in_jax():
    """A scan down and a scan up."""
    import jax.numpy as jnp
    from jax import lax

    def program(a, b, c, d):
        def down(carry, row):
            ratio, rhs = carry
            a, b, c, d = row
            pivot = b - a * ratio
            new = c / pivot, (d - a * rhs) / pivot
            return new, new

        def up(x, row):
            ratio, rhs = row
            x = rhs - ratio * x
            return x, x

        a = a.at[0].set(0.0)
        c = c.at[-1].set(0.0)
        zero = jnp.zeros(())
        rows = lax.scan(down, (zero, zero), (a, b, c, d))[1]
        x = lax.scan(up, zero, rows, reverse=True)[1]
        return jnp.sum(x * x)

    return program


ROW = Row(
    title="tridiagonal solve (Thomas)",
    program=thomas,
    arguments=arguments,
    quick={"n": 12},
    full={"n": 100_000},
    argnums=(0, 1, 2, 3),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd="refuses writes into arrays",
)
