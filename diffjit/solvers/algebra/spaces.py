"""Spaces that belong to a matrix: its range, its null space, angles between two of them; least squares by SciPy's name.

A basis of a null space is SciPy's own, and moves with the space without turning in it: what does not hang on the choice
of a basis has the right derivative, and so has the one vector of a null space of one dimension.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.orthogonal import matrix
from diffjit.primitives.registry import implements


def null_by_scipy(a, rcond):
    """SciPy's basis, with columns of zeros to a square, and how many vectors it has."""
    found = scipy.linalg.null_space(np.asarray(a), rcond=None if rcond < 0 else rcond)
    out = np.zeros((a.shape[1], a.shape[1]), found.dtype)
    out[:, : found.shape[1]] = found
    return out, found.shape[1]


NULL_BY_SCIPY = foreign(null_by_scipy, result=lambda a, rcond: (np.zeros((a.shape[1], a.shape[1]), a.dtype), 0))


def null(a, rcond):
    return NULL_BY_SCIPY(a, rcond)


NULL = custom_jvp(null)


@NULL.defjvp
def null_jvp(primals, tangents):
    """What is mapped to 0 goes on to be."""
    a, rcond = primals
    basis, count = NULL(a, rcond)
    return (basis, count), (-np.linalg.pinv(a) @ (tangents[0] @ basis), count)


@implements(scipy.linalg.null_space)
def null_space(A, rcond=None, *, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """An orthonormal basis of what is mapped to 0."""
    basis, count = NULL(matrix(A), -1.0 if rcond is None else 1.0 * rcond)
    return basis[:, :count].copy()


@implements(scipy.linalg.orth)
def orth(A, rcond=None):
    """An orthonormal basis of the range: left singular vectors."""
    a = matrix(A)
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    least = np.finfo(s.dtype).eps * max(a.shape[0], a.shape[1]) if rcond is None else rcond
    return u[:, : int(np.sum(s > np.max(s, initial=0.0) * least))].copy()


@implements(scipy.linalg.subspace_angles)
def subspace_angles(A, B):
    """The angles between the spaces of independent columns, the largest first."""
    qa, qb = np.linalg.qr(matrix(A))[0], np.linalg.qr(matrix(B))[0]
    both = np.conjugate(qa.T) @ qb
    cosines = np.linalg.svd(both, full_matrices=False, compute_uv=False)
    rest = qb - qa @ both if qa.shape[1] >= qb.shape[1] else qa - qb @ np.conjugate(both.T)
    sines = np.linalg.svd(rest, full_matrices=False, compute_uv=False)
    near = cosines**2 >= 0.5
    by_sine = np.arcsin(np.clip(np.where(near, sines, 0.5), -1.0, 1.0))
    return np.where(near, by_sine, np.arccos(np.clip(np.where(near[::-1], 0.5, cosines)[::-1], -1.0, 1.0)))


@implements(scipy.linalg.lstsq)
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    """The shortest x for which a x is nearest to b."""
    if lapack_driver not in (None, "gelsd", "gelss"):
        raise NotImplementedError(f"scipy.linalg.lstsq(lapack_driver={lapack_driver!r}): leave it out")
    a, b = matrix(a), as_float(np.asarray(b))
    x, left, rank, values = np.linalg.lstsq(a, b, cond)
    if b.ndim > 1:
        return x, left, rank, values
    if a.shape[0] <= a.shape[1] or rank < a.shape[1]:
        raise NotImplementedError(
            "scipy.linalg.lstsq of a matrix that is not tall and of full rank: numpy.linalg.lstsq"
        )
    return x, left[0], rank, values
