"""Some eigenvalues of a matrix that is not symmetric, and some singular values: `eigs` and `svds`.

As in `solvers.sparse.spectra`: SciPy's iteration finds them, and bordered systems move value and vectors together, of
which length and, of complex ones, phase stay as they are.

    | A - w    -v |  v_dot       - A_dot v         | -s    A   -u |  u_dot      - A_dot v
    |  v^H      0 |  w_dot   =       0             | A^T  -s   -v |  v_dot  =   - A_dot^T u
                                                   | u^T  v^T   0 |  s_dot          0
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

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


def apart(w):
    """Whether these are different values, none of which is followed by its like."""
    w = np.asarray(w)
    gap = np.abs(w[None, :] - w[:, None]) + np.where(np.eye(w.size), np.inf, 0.0)
    return not np.any(gap <= 1e2 * w.size * np.finfo(gap.dtype).eps * np.max(np.abs(w), initial=0.0))


APART = foreign(apart, result=bool)


def eigenpairs(data, row, col, n, k, options):
    """`scipy.sparse.linalg.eigs` at work."""
    matrix = scipy.sparse.csc_matrix((np.array(data), (np.array(row), np.array(col))), shape=(n, n))
    found: Any = scipy.sparse.linalg.eigs(matrix, k, **options)
    return found[0].astype(np.complex128), np.ascontiguousarray(found[1], dtype=np.complex128)


EIGENPAIRS = foreign(
    eigenpairs,
    result=lambda data, row, col, n, k, options: (np.zeros(k, np.complex128), np.zeros((n, k), np.complex128)),
)  # fmt: skip


def pairs(data, row, col, w, v):
    """Values and vectors, which have no derivatives: this function gives them those by the matrix's entries."""
    return w + 0.0, v + 0.0


PAIRS = custom_jvp(pairs)


@PAIRS.defjvp
def pairs_jvp(primals, tangents):
    data, row, col, w0, v0 = primals
    w, v = PAIRS(data, row, col, w0, v0)
    if not APART(w0):
        raise np.linalg.LinAlgError("eigs: equal eigenvalues have no derivative")
    n, k = v0.shape
    along, last = np.arange(n), np.zeros(n, np.int64) + n
    rows, columns = np.concatenate((row, along, along, last)), np.concatenate((col, along, last, along))
    w_dot, v_dot = np.zeros_like(w0), np.zeros_like(v0)
    for j in range(k):
        here = v[:, j].copy()
        border = np.concatenate((data + 0j, 0.0 * here - w[j], -here, np.conjugate(here)))
        right = np.concatenate((-times(tangents[0] + 0j, row, col, n, here), np.zeros(1, np.complex128)))
        moved = SOLVED(False, border, rows, columns, right)
        v_dot[:, j], w_dot[j] = moved[:n], moved[n]
    return (w, v), (w_dot, v_dot)


@implements(scipy.sparse.linalg.eigs)
def eigs(
    A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True,
    Minv=None, OPinv=None, OPpart=None, rng=None,
):  # fmt: skip
    """Some eigenvalues and eigenvectors of a matrix, as complex numbers."""
    if M is not None or Minv is not None or OPinv is not None or OPpart is not None or rng is not None:
        raise NotImplementedError("scipy.sparse.linalg.eigs of two matrices, by OPinv, OPpart or rng: leave them out")
    _, data, row, col = entries(A)
    options = {"which": which, "maxiter": maxiter, "ncv": ncv, "tol": tol, "sigma": sigma, "v0": v0}
    w0, v0 = EIGENPAIRS(stop_gradient(data), row, col, A.shape[0], k, stop_gradient(options))
    w, v = PAIRS(data, row, col, w0, v0)
    return (w, v) if return_eigenvectors else w


# Singular values ------------------------------------------------------------------------------------------------------


def found_triplets(data, row, col, shape, k, options):
    """`scipy.sparse.linalg.svds` at work."""
    matrix = scipy.sparse.csc_matrix((np.array(data), (np.array(row), np.array(col))), shape=shape)
    found: Any = scipy.sparse.linalg.svds(matrix, k, **options)
    return np.ascontiguousarray(found[0]), np.ascontiguousarray(found[1]), np.ascontiguousarray(found[2].T)


FOUND = foreign(
    found_triplets,
    result=lambda data, row, col, shape, k, options: (np.zeros((shape[0], k)), np.zeros(k), np.zeros((shape[1], k))),
)


def triplets(data, row, col, u, s, v):
    """Singular vectors and values, which have no derivatives: this function gives them those by the entries."""
    return u + 0.0, s + 0.0, v + 0.0


TRIPLETS = custom_jvp(triplets)


@TRIPLETS.defjvp
def triplets_jvp(primals, tangents):
    data, row, col, u0, s0, v0 = primals
    u, s, v = TRIPLETS(data, row, col, u0, s0, v0)
    if not APART(s0) or not np.min(s0) > 0.0:
        raise np.linalg.LinAlgError("svds: singular values that are equal or zero have no derivative")
    m, n = u0.shape[0], v0.shape[0]
    left, right = np.arange(m), np.arange(n) + m
    along = np.concatenate((left, right))
    last = np.zeros(m + n, np.int64) + (m + n)
    rows = np.concatenate((row, col + m, along, along, last))
    columns = np.concatenate((col + m, row, along, last, along))
    u_dot, s_dot, v_dot = np.zeros_like(u0), np.zeros_like(s0), np.zeros_like(v0)
    for j in range(s0.shape[0]):
        both = np.concatenate((u[:, j], v[:, j]))
        border = np.concatenate((data, data, 0.0 * both - s[j], -both, both))
        given = np.concatenate(
            (-times(tangents[0], row, col, m, v[:, j]), -times(tangents[0], col, row, n, u[:, j]), np.zeros(1))
        )
        moved = SOLVED(False, border, rows, columns, given)
        u_dot[:, j], v_dot[:, j], s_dot[j] = moved[:m], moved[m : m + n], moved[m + n]
    return (u, s, v), (u_dot, s_dot, v_dot)


@implements(scipy.sparse.linalg.svds)
def svds(
    A, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True, solver="arpack",
    rng=None, options=None, *, random_state=None,
):  # fmt: skip
    """Some singular values and vectors of a matrix."""
    if return_singular_vectors not in (True, False) or options is not None:
        raise NotImplementedError("scipy.sparse.linalg.svds with options, or of one side: leave them out")
    _, data, row, col = entries(A)
    if data.dtype != np.float64:
        raise NotImplementedError("scipy.sparse.linalg.svds of anything but float64: use numpy.linalg.svd")
    given = {"ncv": ncv, "tol": tol, "which": which, "v0": v0, "maxiter": maxiter, "solver": solver}
    if rng is not None:  # each by the name that it is given by, as SciPy's versions have one or both
        given["rng"] = rng
    if random_state is not None:
        given["random_state"] = random_state
    u0, s0, v0 = FOUND(stop_gradient(data), row, col, A.shape, k, stop_gradient(given))
    u, s, v = TRIPLETS(data, row, col, u0, s0, v0)
    return (u, s, np.transpose(v)) if return_singular_vectors else s
