"""What a call costs: five numbers."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def scalars(a, b, c, d, e):
    """Next to nothing."""
    return a * b + c * d * e + np.sin(a)


def arguments():
    """Five floats."""
    return 0.1, 0.2, 0.3, 0.4, 0.5


def by_hand(njit):
    """Nothing to keep."""

    @njit
    def primal(a, b, c, d, e):
        return a * b + c * d * e + np.sin(a)

    @njit
    def gradient(a, b, c, d, e):
        return a * b + c * d * e + np.sin(a), (b + np.cos(a), a, d * e, c * e, c * d)

    return primal, gradient


ROW = Row(
    title="a call with five numbers",
    program=scalars,
    arguments=arguments,
    quick={},
    full={},
    argnums=(0, 1, 2, 3, 4),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, scalars),
    in_autograd=as_it_stands(AUTOGRAD, scalars),
)
