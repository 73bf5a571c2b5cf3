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

KEPT: list[Any] = []  # the last factors and what they are of: programs solve with one matrix again and again
MOST = 3


def factors(data: Any, row: Any, col: Any, n: int) -> Any:
    """SciPy's factors of a matrix with these entries."""
    given = np.array(data), np.array(row), np.array(col)
    for known in tuple(KEPT):
        if known[0] == n and all(
            one.dtype == other.dtype and np.array_equal(one, other) for one, other in zip(known[1], given, strict=True)
        ):
            return known[2]
    made = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix((given[0], given[1:]), shape=(n, n)))
    KEPT[:] = [(n, given, made), *KEPT[: MOST - 1]]
    return made


def by_scipy(turned: bool, data: Any, row: Any, col: Any, b: Any) -> Any:
    """SciPy's solution, of the transposed system where it is turned."""
    made, way = factors(data, row, col, b.shape[0]), "T" if turned else "N"
    if b.dtype.kind == "c" and data.dtype.kind != "c":
        return made.solve(np.ascontiguousarray(b.real), way) + 1j * made.solve(np.ascontiguousarray(b.imag), way)
    return made.solve(np.ascontiguousarray(b), way)


CALLED = foreign(by_scipy, result=lambda *given: given[4])


def solved(turned: bool, data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution of a system with these entries, or of the transposed one."""
    return CALLED(turned, data, row, col, b)


SOLVED = custom_vjp(solved, nondiff_argnums=(0,))


def forward(turned: bool, primals: Any, tangents: Any) -> Any:
    """The tangent solves the same system."""
    data, row, col, b = primals
    data_dot, _, _, b_dot = tangents
    x = SOLVED(turned, data, row, col, b)
    out, into = (col, row) if turned else (row, col)
    return x, SOLVED(turned, data, row, col, b_dot - times(data_dot, out, into, b.shape[0], x))


def ahead(turned: bool, data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution, and what the way back needs."""
    x = SOLVED(turned, data, row, col, b)
    return x, (data, row, col, x)


def back(turned: bool, kept: Any, x_bar: Any) -> Any:
    """The cotangent solves the transposed system."""
    data, row, col, x = kept
    b_bar = SOLVED(not turned, data, row, col, x_bar)
    parts = b_bar[col] * x[row] if turned else b_bar[row] * x[col]
    return -(parts if parts.ndim == 1 else np.sum(parts, axis=1)), None, None, b_bar


SOLVED.defvjp(ahead, back)
SOLVED.defjvp(forward)


def with_entries(data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution of a system with these entries, of the shape of its right-hand side."""
    data, b = as_float(data), as_float(np.asarray(b))
    return SOLVED(False, data, row, col, b.astype(np.result_type(data, b)))


def system_of(A: Any, b: Any) -> Any:
    """The solution of a sparse system."""
    if is_sparse(b):
        raise NotImplementedError("systems with a sparse right-hand side: b.toarray()")
    if A.shape[0] != A.shape[1] or A.shape[0] != np.shape(b)[0]:
        raise ValueError(f"matrix - rhs dimension mismatch ({A.shape} - {np.shape(b)[0]})")
    return with_entries(*A.entries(), b)


@implements(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """The solution of a sparse system; in which order it is eliminated changes nothing here."""
    del permc_spec, use_umfpack
    if not is_sparse(A):
        raise NotImplementedError("spsolve of a dense matrix: use np.linalg.solve")
    if not is_sparse(b) and np.ndim(b) == 2 and np.shape(b)[1] == 1:
        return system_of(A, np.ravel(b))
    return system_of(A, b)
