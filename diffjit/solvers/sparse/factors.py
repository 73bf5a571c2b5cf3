"""Factors of `scipy.sparse.linalg`: objects that solve systems with one matrix, and triangles."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import is_sparse
from diffjit.primitives.registry import implements
from diffjit.solvers.sparse.direct import system_of, with_entries


@implements(scipy.sparse.linalg.SuperLU)
class Factors:
    """What solves systems with a matrix: its entries. How they are eliminated changes nothing here."""

    def __init__(self, A):
        if not is_sparse(A):
            raise NotImplementedError("splu of a dense matrix: use scipy.linalg.lu_factor")
        self.data, self.row, self.col = A.entries()
        self.shape = A.shape

    def solve(self, rhs, trans="N"):
        """The solution of a system with the matrix, its transpose or its adjoint."""
        if trans == "N":
            return with_entries(self.data, self.row, self.col, rhs)
        data = self.data if trans == "T" else np.conjugate(self.data)
        return with_entries(data, self.col, self.row, rhs)


@implements(scipy.sparse.linalg.splu)
def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None):
    """What solves systems with a matrix."""
    return Factors(A)


@implements(scipy.sparse.linalg.factorized)
def factorized(A):
    """A function that solves systems with one matrix."""
    return lambda b: system_of(A, b)


@implements(scipy.sparse.linalg.spsolve_triangular)
def spsolve_triangular(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
    """The solution of a triangular system."""
    data, row, col = A.entries()
    if np.any(row < col if lower else row > col):
        raise ValueError("A is not triangular: an entry stands in its other half")
    if unit_diagonal:
        return system_of(A.like(np.where(row == col, 1.0, as_float(data))), b)
    return system_of(A, b)
