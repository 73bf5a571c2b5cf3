"""Factors of matrices, and what is made of them."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.orthogonal import matrix
from diffjit.primitives.library.scipy_linalg import above, formed, square, to_factor
from diffjit.primitives.registry import implements


@implements(scipy.linalg.lu)
def lu(a, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """Permutation, or which row of the lower triangle each row is of, and lower and upper triangle."""
    a = to_factor(a)
    n = a.shape[0]
    both, swaps = scipy.linalg.lu_factor(a)
    low = np.tril(both, -1) + np.eye(n, dtype=a.dtype)
    order = np.arange(n)
    for k in range(n):
        kept = order[k]
        order[k] = order[swaps[k]]
        order[swaps[k]] = kept
    if p_indices and not permute_l:
        return np.argsort(order).astype(np.int32), low, np.triu(both)
    rows = np.zeros((n, n), a.dtype)
    for k in range(n):
        rows[order[k], k] = 1.0
    if permute_l:
        return rows @ low, np.triu(both)
    return rows, low, np.triu(both)


@implements(scipy.linalg.rq)
def rq(a, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    """Triangular and orthogonal factor: those of the matrix with rows and columns in reverse, transposed."""
    a = as_float(np.asarray(a))
    if mode not in ("full", "economic", "r"):
        raise NotImplementedError(f"scipy.linalg.rq(mode={mode!r}): use 'full', 'economic' or 'r'")
    turned = np.transpose(a[::-1, ::-1]).copy()
    found = np.linalg.qr(turned, "reduced" if mode == "economic" else "complete")
    triangle = np.transpose(found[1])[::-1, ::-1].copy()
    if mode == "r":
        return triangle
    return triangle, np.transpose(found[0])[::-1, ::-1].copy()


@implements(scipy.linalg.polar)
def polar(a, side="right"):
    """Unitary and positive factor."""
    a = matrix(a)
    w, s, vh = np.linalg.svd(a, full_matrices=False)
    v = np.conjugate(vh.T)
    positive = (v * s) @ vh if side == "right" else (w * s) @ np.conjugate(w.T)
    return w @ vh, positive


@implements(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A, B, check_finite=True):
    """The rotation that takes A nearest to B, and the sum of the singular values."""
    A, B = matrix(A), matrix(B)
    u, w, vt = np.linalg.svd((B.T @ np.conjugate(A)).T)
    return u @ vt, np.sum(w)


@implements(scipy.linalg.pinvh)
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    """The pseudo-inverse of a symmetric matrix, by one triangle."""
    whole = formed(square(a), "her", lower, "scipy.linalg.pinvh")
    if atol is None and rtol is None and not return_rank:
        return np.linalg.pinv(whole)
    return above(whole, atol, rtol, return_rank)
