"""Matrices that `scipy.linalg` makes of vectors and other matrices, and questions about matrices."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.scipy_linalg import square
from diffjit.primitives.registry import constant, implements

constant(scipy.linalg.pascal, scipy.linalg.invpascal)


@implements(scipy.linalg.fiedler)
def fiedler(a):
    """The distances between numbers."""
    a = np.asarray(a)
    if a.ndim != 1:
        raise NotImplementedError("scipy.linalg.fiedler of anything but one vector: loop over the rows")
    return np.abs(a[:, None] - a)


@implements(scipy.linalg.leslie)
def leslie(f, s):
    """Fecundities in the first row, survivals below the diagonal."""
    f, s = as_float(np.asarray(f)), as_float(np.asarray(s))
    if f.ndim != 1 or s.ndim != 1:
        raise NotImplementedError("scipy.linalg.leslie of anything but vectors: loop over the rows")
    out = np.zeros((f.size, f.size), np.result_type(f, s))
    out[0] = f
    for k in range(s.size):
        out[k + 1, k] = s[k]
    return out


@implements(scipy.linalg.khatri_rao)
def khatri_rao(a, b):
    """The Kronecker products of columns."""
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim != 2 or b.ndim != 2:
        raise NotImplementedError("scipy.linalg.khatri_rao of stacks: loop over the stack")
    return np.reshape(a[:, None, :] * b[None, :, :], (a.shape[0] * b.shape[0], a.shape[1]))


@implements(scipy.linalg.diagsvd)
def diagsvd(s, M, N):
    """Singular values on the diagonal of an M x N matrix."""
    s = as_float(np.asarray(s))
    out = np.zeros((M, N), s.dtype)
    for k in range(min(M, N)):
        out[k, k] = s[k]
    return out


@implements(scipy.linalg.issymmetric)
def issymmetric(a, atol=None, rtol=None):
    """Whether a matrix equals its transpose."""
    a = square(a)
    if atol is None and rtol is None:
        return bool(np.all(a == a.T))
    return np.allclose(a, a.T, atol=0.0 if atol is None else atol, rtol=0.0 if rtol is None else rtol)


@implements(scipy.linalg.ishermitian)
def ishermitian(a, atol=None, rtol=None):
    """Whether a matrix equals its adjoint."""
    a = square(a)
    turned = np.conjugate(a.T)
    if atol is None and rtol is None:
        return bool(np.all(a == turned))
    return np.allclose(a, turned, atol=0.0 if atol is None else atol, rtol=0.0 if rtol is None else rtol)


def of_toeplitz(c_or_cr):
    """The matrix of a first column, or of a column and a row."""
    if isinstance(c_or_cr, tuple):
        return scipy.linalg.toeplitz(c_or_cr[0], c_or_cr[1])
    return scipy.linalg.toeplitz(c_or_cr)


@implements(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    """The product with a Toeplitz matrix."""
    return of_toeplitz(c_or_cr) @ np.asarray(x)


@implements(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    """The solution of a system with a Toeplitz matrix."""
    return np.linalg.solve(of_toeplitz(c_or_cr), as_float(np.asarray(b)))
