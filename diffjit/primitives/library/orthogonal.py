"""QR by reflections, least squares, pseudo-inverses; systems of tensors; condition numbers."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np

from diffjit.primitives.library.axes import all_axes, as_float, by_lower_half, places
from diffjit.primitives.library.spectral import svdvals
from diffjit.primitives.random.draws import fixed
from diffjit.primitives.registry import implements
from diffjit.primitives.spectral import packed_svd

QRResult = type(np.linalg.qr(np.eye(1)))


def reflected(a, b):
    """H a, upper triangular but for rounding, and H b, for the product H of one reflection for each column of `a`.

    Also a column that is 0 below the diagonal is reflected: a branch would lose its derivative. LAPACK leaves it as it
    is; the third result is -1 for such a column, else 1.
    """
    a, b = a.copy(), b.copy()
    steps = min(a.shape[0], a.shape[1])
    signs = np.ones(steps, a.dtype)
    if a.dtype.kind == "c":
        reflect_complex(a, b, signs)
        return a, b, signs
    for k in range(steps):
        v = a[k:, k].copy()
        length = np.sqrt(np.sum(v * v))
        if length != 0:  # also where it is NaN, which reaches everything then
            if np.all(v[1:] == 0):
                signs[k] = -1
            v[0] += np.copysign(length, v[0])
            v /= np.sqrt(np.sum(v * v))
            a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
            b[k:] -= 2 * np.outer(v, v @ b[k:])
    return a, b, signs


def reflect_complex(a, b, signs):
    """The same for complex columns, in place: LAPACK's reflections turn as well, so that the diagonal becomes real."""
    for k in range(signs.shape[0]):
        v = a[k:, k].copy()
        length = np.sqrt(np.sum(np.real(v) ** 2 + np.imag(v) ** 2))
        if length != 0:  # also where it is NaN, which reaches everything then
            if np.all(v[1:] == 0) and np.imag(v[0]) == 0:
                signs[k] = -1
            end = -np.copysign(length, np.real(v[0]))
            share = (end - np.conjugate(v[0])) / end
            v[0] -= end
            v /= v[0]
            a[k:, k:] -= share * np.outer(v, np.conjugate(v) @ a[k:, k:])
            b[k:] -= share * np.outer(v, np.conjugate(v) @ b[k:])


def adjoint(a):
    """The conjugated transpose."""
    return np.conjugate(np.transpose(a)) if a.dtype.kind == "c" else np.transpose(a)


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
        return QRResult(adjoint(turned), np.triu(r))
    return QRResult(adjoint(turned[:n]), np.triu(r[:n]))


def matrix(a):
    """A matrix of floats."""
    a = as_float(np.asarray(a))
    if a.ndim != 2:
        raise NotImplementedError("a factorisation of a stack of matrices: loop over the stack")
    return a


# Least squares and pseudo-inverses. With numbers without a derivative that make columns of `a` orthonormal, the normal
# equations of what becomes of it are as well conditioned as can be, and say all derivatives of any order: those of
# bases of singular vectors, which come and go where singular values are equal, are not needed.


def bases(a):
    """Left and right singular vectors over their values, and these, as many as the rank says; all values."""
    m, n = a.shape
    both = packed_svd(fixed(a))
    values = np.real(both[m])
    first = np.max(values, initial=0.0)
    if np.isnan(first):
        raise np.linalg.LinAlgError("SVD did not converge")
    rank = int(np.sum(values > max(m, n) * np.finfo(values.dtype).eps * first))
    used = values[:rank]
    return both[:m, :rank] / used, both[m + 1 :, :rank] / used, used, values


def nearest(a, right, b):
    """The x for which a x is nearest to b, for a matrix with independent columns: by a W, which is orthonormal here."""
    columns = a @ right
    back = adjoint(columns)
    return right @ np.linalg.solve(back @ columns, back @ b)


def shortest(a, left, b):
    """The shortest x with a x = b, for a matrix with independent rows."""
    rows = adjoint(a) @ left
    return rows @ np.linalg.solve(adjoint(rows) @ rows, adjoint(left) @ b)


def of_lower_rank(a, left, right, used, b):
    """The pseudo-inverse times b among matrices of this rank, of independent columns C and rows R.

    It is R' (C' a R')^-1 C' whichever these are (MacDuffee), and for all matrices near by.
    """
    columns, rows = a @ right, (adjoint(a) @ left) / used
    back = adjoint(columns)
    return rows @ np.linalg.solve(back @ (a @ rows), back @ b)


def least_squares(a, b):
    """The x for which a x is nearest to b, for a matrix with independent columns."""
    kind = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(kind), b.astype(kind)
    _, right, used, _ = bases(a)
    if used.shape[0] < a.shape[1]:
        raise np.linalg.LinAlgError("least squares of a matrix whose columns depend on each other: not differentiable")
    return nearest(a, right, b)


def inverse_times(a, b):
    """The pseudo-inverse times b, which is its derivative's among matrices of the same rank; rank, singular values."""
    m, n = a.shape
    left, right, used, values = bases(a)
    rank = used.shape[0]
    if rank == n:
        return nearest(a, right, b), rank, values
    if rank == m:
        return shortest(a, left, b), rank, values
    return of_lower_rank(a, left, right, used, b), rank, values


def pseudo_inverse(a):
    """The pseudo-inverse of a matrix, its rank, and singular values without a derivative."""
    return inverse_times(a, np.eye(a.shape[0], dtype=a.dtype))


def uncut(a, cut):
    """The pseudo-inverse, of whose singular values a tolerance must cut none that count."""
    inverse, rank, values = pseudo_inverse(a)
    demand_rank(values, cut, rank)
    return inverse


def demand_rank(values, cut, rank, least=0.0):
    """Refuse a tolerance, of the largest singular value and above a least one, that makes another rank of a matrix."""
    if cut is None or values.shape[0] == 0:
        return
    if np.sum(values > least + cut * values[0]) != rank:
        raise NotImplementedError(
            "a tolerance (rcond, rtol, cond) cuts singular values that are not 0 up to rounding: a derivative is that "
            "among matrices of one rank; write it with np.linalg.svd"
        )


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """The pseudo-inverses of matrices."""
    cut = rtol if rcond is None else rcond
    if cut is not None and np.ndim(cut) != 0:
        raise NotImplementedError("np.linalg.pinv with several tolerances: loop over the matrices")
    a = as_float(np.asarray(a))
    a = by_lower_half(a) if hermitian else a
    if a.ndim == 2:
        return uncut(a, cut)
    m, n = a.shape[-2:]
    stack = np.reshape(a, (-1, m, n))
    out = np.empty((stack.shape[0], n, m), a.dtype)
    for k in range(stack.shape[0]):
        out[k] = uncut(stack[k], cut)
    return np.reshape(out, (*a.shape[:-2], n, m))


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """The shortest x for which a x is nearest to b."""
    a, b = matrix(a), as_float(np.asarray(b))
    m, n = a.shape
    kind = np.result_type(a.dtype, b.dtype)
    x, rank, values = inverse_times(a.astype(kind), b.astype(kind))
    if rcond is not None and rcond >= 0:  # -1 is the precision of floats
        demand_rank(values, rcond, rank)
    left = np.reshape(np.sum(np.abs(b - a @ x) ** 2, axis=0), (-1,))
    return x, left[: left.shape[0] if m > n and rank == n else 0].copy(), rank, svdvals(a)


@implements(np.linalg.cond)
def cond(x, p=None):
    """Condition number: of singular values, or by a norm of the inverse."""
    if p is None or p in (2, -2):
        x = np.asarray(x)
        values = svdvals(x)
        first, last = values[..., 0], values[..., -1]
        ratio = last / first if p == -2 else first / last
        # 0 / 0 is what a matrix of zeros has: its condition is as bad as can be.
        return np.where(np.isnan(ratio) & ~np.any(np.isnan(x), axis=(-2, -1)), np.inf, ratio)[()]
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
