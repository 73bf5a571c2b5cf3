"""QR by reflections, least squares, pseudo-inverses of matrices of full rank; systems of tensors; condition numbers."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np

from diffjit.primitives.library.axes import all_axes, as_float, places
from diffjit.primitives.library.spectral import svdvals
from diffjit.primitives.registry import implements

QRResult = type(np.linalg.qr(np.eye(1)))


def reflected(a, b):
    """H a, upper triangular but for rounding, and H b, for the product H of one reflection for each column of `a`.

    Also a column that is 0 below the diagonal is reflected: a branch would lose its derivative. LAPACK leaves it as it
    is; the third result is -1 for such a column, else 1.
    """
    a, b = a.copy(), b.copy()
    steps = min(a.shape[0], a.shape[1])
    signs = np.ones(steps, a.dtype)
    for k in range(steps):
        v = a[k:, k].copy()
        length = np.sqrt(np.sum(v * v))
        if length > 0:
            if np.all(v[1:] == 0):
                signs[k] = -1
            v[0] += np.copysign(length, v[0])
            v /= np.sqrt(np.sum(v * v))
            a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
            b[k:] -= 2 * np.outer(v, v @ b[k:])
    return a, b, signs


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    """Orthogonal times upper triangular, with LAPACK's signs; differentiable where the columns are independent."""
    a = matrix(a)
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(f"np.linalg.qr(mode={mode!r}): use 'reduced', 'complete' or 'r'")
    r, turned, signs = reflected(a, np.eye(a.shape[0], dtype=a.dtype))
    n = signs.shape[0]
    r[:n] *= signs[:, None]
    turned[:n] *= signs[:, None]
    if mode == "r":
        return np.triu(r[:n])
    if mode == "complete":
        return QRResult(np.transpose(turned), np.triu(r))
    return QRResult(np.transpose(turned[:n]), np.triu(r[:n]))


def matrix(a):
    """A matrix of floats."""
    a = as_float(np.asarray(a))
    if a.ndim != 2:
        raise NotImplementedError("a factorisation of a stack of matrices: loop over the stack")
    return a


def least_squares(a, b):
    """The x for which a x is nearest to b, for a matrix with independent columns."""
    n = a.shape[1]
    r, right, _ = reflected(a, np.reshape(b, (b.shape[0], -1)))
    sizes = np.abs(np.diagonal(r))
    if a.shape[0] < n or not np.min(sizes) > max(a.shape[0], n) * np.finfo(a.dtype).eps * np.max(sizes):
        raise np.linalg.LinAlgError("least squares of a matrix whose columns depend on each other: not differentiable")
    return np.reshape(np.linalg.solve(np.triu(r[:n]), right[:n]), (n, *b.shape[1:]))


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """The pseudo-inverse of a matrix of full rank."""
    if rcond is not None or rtol is not None:
        raise NotImplementedError("np.linalg.pinv with a tolerance: only a matrix of full rank has a derivative")
    a = matrix(a)
    if a.shape[0] >= a.shape[1]:
        return least_squares(a, np.eye(a.shape[0], dtype=a.dtype))
    return np.transpose(least_squares(np.transpose(a), np.eye(a.shape[1], dtype=a.dtype)))


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """The shortest x for which a x is nearest to b, for a matrix of full rank."""
    if rcond is not None:
        raise NotImplementedError("np.linalg.lstsq(rcond=...): only a matrix of full rank has a derivative")
    a, b = matrix(a), as_float(np.asarray(b))
    m, n = a.shape
    x = least_squares(a, b) if m >= n else pinv(a) @ b
    left = np.reshape(np.sum(np.abs(b - a @ x) ** 2, axis=0), (-1,))
    return x, left[: left.shape[0] if m > n else 0].copy(), min(m, n), svdvals(a)


@implements(np.linalg.cond)
def cond(x, p=None):
    """Condition number: of singular values, or by a norm of the inverse."""
    if p is None or p in (2, -2):
        values = svdvals(np.asarray(x))
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


@implements(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    """The x whose tensor product with `a` over all of its axes is b."""
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        last = all_axes(axes, a.ndim)
        a = np.transpose(a, tuple(k for k in places(a.ndim) if k not in last) + last)
    shape = a.shape[b.ndim :]
    return np.reshape(np.linalg.solve(np.reshape(a, (-1, math.prod(shape))), np.ravel(b)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    """The inverse for the tensor product over the first `ind` axes."""
    a = np.asarray(a)
    first, last = a.shape[:ind], a.shape[ind:]
    return np.reshape(np.linalg.inv(np.reshape(a, (math.prod(first), -1))), last + first)
