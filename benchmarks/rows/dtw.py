"""Dynamic time warping of two signals."""

import numpy as np

from benchmarks.row import Row


def dtw(x, y):
    """The cost of the best alignment, by a table."""
    n, m = x.size, y.size
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = (x[i - 1] - y[j - 1]) ** 2
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


def arguments(n):
    """Two noisy signals, one of them delayed."""
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 10.0, n)
    return np.sin(t) + 0.1 * rng.normal(size=n), np.sin(t - 0.7) + 0.1 * rng.normal(size=n)


def by_hand(njit):
    """Only the cells on the best path have a cotangent: walk back along it."""

    @njit
    def table(x, y):
        n, m = x.size, y.size
        D = np.full((n + 1, m + 1), np.inf)
        D[0, 0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                gap = x[i - 1] - y[j - 1]
                D[i, j] = gap * gap + min(D[i - 1, j], D[i - 1, j - 1], D[i, j - 1])
        return D

    @njit
    def primal(x, y):
        return table(x, y)[x.size, y.size]

    @njit
    def gradient(x, y):
        D = table(x, y)
        x_bar = np.zeros_like(x)
        y_bar = np.zeros_like(y)
        i, j = x.size, y.size
        while i > 0 and j > 0:
            gap = 2.0 * (x[i - 1] - y[j - 1])
            x_bar[i - 1] += gap
            y_bar[j - 1] -= gap
            if D[i - 1, j] <= D[i, j - 1] and D[i - 1, j] <= D[i - 1, j - 1]:
                i -= 1
            elif D[i, j - 1] <= D[i - 1, j - 1]:
                j -= 1
            else:
                i -= 1
                j -= 1
        return D[x.size, y.size], (x_bar, y_bar)

    return primal, gradient


def in_jax():
    """A scan over antidiagonals, whose cells do not depend on each other."""
    import jax.numpy as jnp
    from jax import lax

    def program(x, y):
        n = x.size
        rows = jnp.arange(n)

        def diagonal(carry, s):
            before, last = carry  # cells (i, s - 2 - i) and (i, s - 1 - i)
            columns = s - rows
            inside = (columns >= 0) & (columns < y.size)
            cost = (x - y[jnp.clip(columns, 0, y.size - 1)]) ** 2
            edge = jnp.where(s == 0, 0.0, jnp.inf)
            up = jnp.concatenate([jnp.array([jnp.inf]), last[:-1]])
            both = jnp.concatenate([edge[None], before[:-1]])
            best = jnp.minimum(jnp.minimum(up, last), both)
            new = jnp.where(inside, cost + jnp.where(inside, best, 0.0), jnp.inf)
            return (last, new), None

        nothing = jnp.full(n, jnp.inf)
        (_, last), _ = lax.scan(diagonal, (nothing, nothing), jnp.arange(n + y.size - 1))
        return last[-1]

    return program


ROW = Row(
    title="dynamic time warping",
    program=dtw,
    arguments=arguments,
    quick={"n": 12},
    full={"n": 500},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd="refuses writes into arrays",
)
