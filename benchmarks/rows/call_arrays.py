"""What a call costs: five short arrays."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def arrays(a, b, c, d, e):
    """Next to nothing."""
    return np.sum(a * b + c * d * e)


def arguments():
    """Five arrays of four numbers."""
    return tuple(np.random.default_rng(0).normal(size=(5, 4)).copy())


def by_hand(njit):
    """One loop."""

    @njit
    def primal(a, b, c, d, e):
        total = 0.0
        for i in range(a.size):
            total += a[i] * b[i] + c[i] * d[i] * e[i]
        return total

    @njit
    def gradient(a, b, c, d, e):
        c_bar, d_bar, e_bar = np.empty_like(c), np.empty_like(d), np.empty_like(e)
        total = 0.0
        for i in range(a.size):
            c_bar[i], d_bar[i], e_bar[i] = d[i] * e[i], c[i] * e[i], c[i] * d[i]
            total += a[i] * b[i] + c[i] * c_bar[i]
        return total, (b.copy(), a.copy(), c_bar, d_bar, e_bar)

    return primal, gradient


ROW = Row(
    title="a call with five arrays",
    program=arrays,
    arguments=arguments,
    quick={},
    full={},
    argnums=(0, 1, 2, 3, 4),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, arrays),
    in_autograd=as_it_stands(AUTOGRAD, arrays),
)
