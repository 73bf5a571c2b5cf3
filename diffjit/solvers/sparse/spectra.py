"""Some eigenvalues of a large symmetric matrix: SciPy's iteration finds them, bordered systems move the vectors.

A vector v of A v = w v with v^T v = 1 moves as these equations go on to hold:

    | A - w    -v |  v_dot       - A_dot v
    |   v^T     0 |  w_dot   =       0

This is one more sparse system for each, singular only where w is an eigenvalue twice. Signs are those of the iteration.
Of the values, w_dot = v^T A_dot v is all.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.sparse.matrices import times
from diffjit.primitives.registry import implements
from diffjit.solvers.sparse.direct import SOLVED
from diffjit.solvers.sparse.iterative import entries


def found_part(data, row, col, n, k, options):
    """`scipy.sparse.linalg.eigsh` at work."""
    matrix = scipy.sparse.csc_matrix((np.array(data), (np.array(row), np.array(col))), shape=(n, n))
    w, v = scipy.sparse.linalg.eigsh(matrix, k, **options)
    return w.astype(data.dtype), np.ascontiguousarray(v, dtype=data.dtype)


FOUND = foreign(
    found_part,
    result=lambda data, row, col, n, k, options: (np.zeros(k, data.dtype), np.zeros((n, k), data.dtype)),
)  # fmt: skip


def apart(w):
    """Whether these are different eigenvalues."""
    w = np.sort(np.asarray(w))
    return bool(np.all(np.diff(w) > 4 * w.size * np.finfo(w.dtype).eps * np.max(np.abs(w), initial=0.0)))


APART = foreign(apart, result=bool)


# `w` and `v` have no derivatives: these functions give them those by the matrix's entries.


def values(data, row, col, w, v):
    return w + 0.0


def vectors(data, row, col, w, v):
    return v + 0.0


VALUES, VECTORS = custom_jvp(values), custom_jvp(vectors)


@VALUES.defjvp
def values_jvp(primals, tangents):
    data, row, col, w, v = primals
    here = VECTORS(data, row, col, w, v)
    return VALUES(data, row, col, w, v), np.sum(here[row] * here[col] * tangents[0][:, None], axis=0)


@VECTORS.defjvp
def vectors_jvp(primals, tangents):
    data, row, col, w0, v0 = primals
    w, v = VALUES(data, row, col, w0, v0), VECTORS(data, row, col, w0, v0)
    if not APART(w0):
        raise np.linalg.LinAlgError("eigsh: vectors of equal eigenvalues have no derivative")
    n, k = v0.shape
    along, last = np.arange(n), np.zeros(n, np.int64) + n
    rows = np.concatenate((row, along, along, last))
    columns = np.concatenate((col, along, last, along))
    v_dot = np.zeros_like(v0)
    for j in range(k):
        border = np.concatenate((data, 0.0 * v[:, j] - w[j], -v[:, j], v[:, j]))
        right = np.concatenate((-times(tangents[0], row, col, n, v[:, j]), np.zeros(1, data.dtype)))
        v_dot[:, j] = SOLVED(False, border, rows, columns, right)[:n]
    return v, v_dot


def written_out(A):
    """The matrix of a map: what it makes of each unit vector. A class of the user's has `_matvec`."""
    units = np.eye(A.shape[1])
    apply = A._matvec if hasattr(A, "_matvec") else A.matvec  # noqa: SLF001 - the method that such a class writes
    return np.stack([np.ravel(apply(units[k])) for k in range(A.shape[1])], axis=1)


@implements(scipy.sparse.linalg.eigsh)
def eigsh(
    A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True,
    Minv=None, OPinv=None, mode="normal", rng=None,
):  # fmt: skip
    """Some eigenvalues and eigenvectors of a symmetric matrix."""
    if M is not None or Minv is not None or OPinv is not None or mode != "normal" or rng is not None:
        raise NotImplementedError("scipy.sparse.linalg.eigsh of two matrices, by OPinv, mode or rng: leave them out")
    if hasattr(A, "matvec") or hasattr(A, "_matvec"):
        A = written_out(A)
    _, data, row, col = entries(A)
    if data.dtype.kind == "c":
        raise NotImplementedError("scipy.sparse.linalg.eigsh of complex matrices: use numpy.linalg.eigh")
    options = {"which": which, "maxiter": maxiter, "ncv": ncv, "tol": tol, "sigma": sigma, "v0": v0}
    w0, v0 = FOUND(stop_gradient(data), row, col, A.shape[0], k, stop_gradient(options))
    w = VALUES(data, row, col, w0, v0)
    return (w, VECTORS(data, row, col, w0, v0)) if return_eigenvectors else w
