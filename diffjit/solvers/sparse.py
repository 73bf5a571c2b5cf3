"""`scipy.sparse.linalg` inside programs: SciPy solves a sparse system, its derivative is the solution of another one.

Of A x = b the tangent solves A x_dot = b_dot - A_dot x. Backwards, A^T b_bar = x_bar, and each stored entry of A has
the cotangent -b_bar[row] x[col]: never more numbers than there are entries.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from diffjit.api.custom import custom_vjp
from diffjit.api.foreign import foreign
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import is_sparse, times
from diffjit.primitives.registry import implements


def by_scipy(data: Any, row: Any, col: Any, b: Any) -> Any:
    """SciPy's solution."""
    n = b.shape[0]
    matrix = scipy.sparse.csc_matrix((np.asarray(data), (np.asarray(row), np.asarray(col))), shape=(n, n))
    factors = scipy.sparse.linalg.splu(matrix)
    kind = np.result_type(data, b)
    if kind.kind != "c" or matrix.dtype.kind == "c":
        return factors.solve(np.asarray(b, dtype=kind))
    return factors.solve(np.ascontiguousarray(b.real)) + 1j * factors.solve(np.ascontiguousarray(b.imag))


CALLED = foreign(by_scipy, result=lambda *given: given[3])


def solved(data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution of a system with these entries."""
    return CALLED(data, row, col, b)


SOLVED = custom_vjp(solved)


def forward(primals: Any, tangents: Any) -> Any:
    """The tangent solves the same system."""
    data, row, col, b = primals
    data_dot, _, _, b_dot = tangents
    x = SOLVED(data, row, col, b)
    return x, SOLVED(data, row, col, b_dot - times(data_dot, row, col, b.shape[0], x))


def ahead(data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution, and what the way back needs."""
    x = SOLVED(data, row, col, b)
    return x, (data, row, col, x)


def back(kept: Any, x_bar: Any) -> Any:
    """The cotangent solves the transposed system."""
    data, row, col, x = kept
    b_bar = SOLVED(data, col, row, x_bar)
    parts = b_bar[row] * x[col]
    return -(parts if parts.ndim == 1 else np.sum(parts, axis=1)), None, None, b_bar


SOLVED.defvjp(ahead, back)
SOLVED.defjvp(forward)


@implements(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """The solution of a sparse system; in which order it is eliminated changes nothing here."""
    del permc_spec, use_umfpack
    if is_sparse(b):
        raise NotImplementedError("spsolve of a sparse right-hand side: b.toarray()")
    if not is_sparse(A):
        raise NotImplementedError("spsolve of a dense matrix: use np.linalg.solve")
    data, row, col = A.entries()
    b = as_float(np.asarray(b))
    if A.shape[0] != A.shape[1] or A.shape[0] != b.shape[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {b.shape[0]})")
    alone = b.ndim == 2 and b.shape[1] == 1
    return SOLVED(as_float(data), row, col, np.ravel(b) if alone else b)


@implements(scipy.sparse.linalg.factorized)
def factorized(A: Any) -> Any:
    """A function that solves systems with one matrix."""
    return lambda b: spsolve(A, b)
