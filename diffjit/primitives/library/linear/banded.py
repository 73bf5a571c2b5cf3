"""Symmetric matrices that `scipy.linalg` takes by their bands: as matrices."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements


def triangle(ab, lower):
    """The lower triangle with these bands."""
    ab = as_float(np.asarray(ab))
    if ab.dtype.kind == "c":
        raise NotImplementedError("bands of complex numbers in scipy.linalg: make the matrix")
    n = ab.shape[1]
    out = np.zeros((n, n), ab.dtype)
    for d in range(ab.shape[0]):
        for k in range(n - d):
            out[k + d, k] = ab[d, k] if lower else ab[ab.shape[0] - 1 - d, k + d]
    return out


def symmetric(ab, lower):
    """The symmetric matrix with these bands."""
    half = triangle(ab, lower)
    return half + half.T - np.diag(np.diagonal(half))


def bands(factor, ab, lower):
    """The bands of a lower triangle, or of its transpose; corners without meaning stay as they were."""
    count, n = ab.shape
    out = as_float(ab).copy()
    for d in range(count):
        for k in range(n - d):
            if lower:
                out[d, k] = factor[k + d, k]
            else:
                out[count - 1 - d, k + d] = factor[k + d, k]
    return out


@implements(scipy.linalg.cholesky_banded)
def cholesky_banded(ab, overwrite_ab=False, lower=False, check_finite=True):
    """Cholesky's factor, in bands."""
    ab = np.asarray(ab)
    return bands(np.linalg.cholesky(symmetric(ab, lower)), ab, lower)


@implements(scipy.linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower, b, overwrite_b=False, check_finite=True):
    """The solution of a system whose factor is known."""
    factor, lower = cb_and_lower
    half = triangle(factor, lower)
    return np.linalg.solve(half.T, np.linalg.solve(half, as_float(np.asarray(b))))


@implements(scipy.linalg.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """The solution of a positive definite system."""
    return np.linalg.solve(symmetric(ab, lower), as_float(np.asarray(b)))


def chosen(select):
    """All eigenvalues are asked for."""
    if select not in ("a", "all", 0):
        raise NotImplementedError("scipy.linalg: eigenvalues by select=...: take some of all")


@implements(scipy.linalg.eigvals_banded)
def eigvals_banded(a_band, lower=False, overwrite_a_band=False, select="a", select_range=None, check_finite=True):
    """Eigenvalues."""
    chosen(select)
    return np.linalg.eigvalsh(symmetric(a_band, lower))


def spectrum(a, values_alone):
    """Eigenvalues, and vectors of NumPy's signs unless the values are all that is asked for."""
    if values_alone:
        return np.linalg.eigvalsh(a)
    found = np.linalg.eigh(a)
    return found[0], found[1]


@implements(scipy.linalg.eig_banded)
def eig_banded(
    a_band, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", select_range=None, max_ev=0,
    check_finite=True,
):  # fmt: skip
    """Eigenvalues, and vectors of NumPy's signs."""
    chosen(select)
    return spectrum(symmetric(a_band, lower), eigvals_only)


def tridiagonal(d, e):
    """A symmetric matrix with a diagonal and one beside it."""
    d, e = as_float(np.asarray(d)), as_float(np.asarray(e))
    if d.shape[0] != e.shape[0] + 1:
        raise ValueError(f"d ({d.shape[0]}) must have one more element than e ({e.shape[0]})")
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


@implements(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d, e, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"):
    """Eigenvalues."""
    chosen(select)
    return np.linalg.eigvalsh(tridiagonal(d, e))


@implements(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):  # fmt: skip
    """Eigenvalues, and vectors of NumPy's signs."""
    chosen(select)
    return spectrum(tridiagonal(d, e), eigvals_only)
