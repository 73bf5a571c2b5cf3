"""Linear systems of a matrix that is there: its derivative is one more system of the same matrix.

Where a matrix comes from does not matter to that; `implicit_solvers.SOLVE` is for maps that are known by products, each
of which is a copy of the user's function, in the rules too.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: basic
# ruff: noqa: ANN001, ANN201, D103

from __future__ import annotations

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.solvers.krylov import by_matrix


def of_matrix(eps, a, b):
    """The x with `a @ x == b`; raises where the matrix is singular to rounding."""
    return by_matrix(a, False, eps, b)


OF_MATRIX = custom_jvp(of_matrix, nondiff_argnums=(0,))


@OF_MATRIX.defjvp
def of_matrix_jvp(eps, primals, tangents):
    a, b = primals
    x = OF_MATRIX(eps, a, b)
    return x, OF_MATRIX(eps, a, tangents[1] - tangents[0] @ x)


def of_matrix_forward(eps, a, b):
    x = OF_MATRIX(eps, a, b)
    return x, (a, x)


def of_matrix_backward(eps, kept, bar):
    a, x = kept
    b_bar = OF_MATRIX(eps, np.transpose(a).copy(), bar)
    return -np.outer(b_bar, x), b_bar


OF_MATRIX.defvjp(of_matrix_forward, of_matrix_backward)
