"""Products of vectors, matrices and tensors."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math
import operator

import numpy as np

from diffjit.primitives.library.axes import all_axes, is_two, one_axis, places
from diffjit.primitives.registry import implements, present


@implements(np.dot, np.ndarray.dot)
def dot(a, b, out=None):
    """Products of scalars, vectors and matrices; of more dimensions, last axis of `a` with last but one of `b`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(np.asarray(a), np.asarray(b))  # a number becomes an array: its dtype counts
    a, b = np.asarray(a), np.asarray(b)
    if b.ndim == 1 or (a.ndim <= 2 and b.ndim == 2):
        return a @ b
    return np.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))


@implements(np.vdot)
def vdot(a, b, /):
    """Inner product of all elements, the first conjugated."""
    a = np.ravel(a)
    return (np.conjugate(a) if a.dtype.kind == "c" else a) @ np.ravel(b)


@implements(np.inner)
def inner(a, b, /):
    """Sum of products over the last axes."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(np.asarray(a), np.asarray(b))  # a number becomes an array: its dtype counts
    a, b = np.asarray(a), np.asarray(b)
    if b.ndim == 1:
        return a @ b
    return np.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.outer)
def outer(a, b, out=None):
    """All products of two vectors."""
    return np.ravel(a)[:, None] * np.ravel(b)[None, :]


@implements(np.linalg.outer)
def outer_of_vectors(x1, x2, /):
    """All products of two vectors, which must be vectors."""
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ValueError("Input arrays must be one-dimensional")
    return np.outer(x1, x2)


def contracted_axes(axes, a_ndim, b_ndim):
    """The axes that tensordot sums over, of each operand."""
    if isinstance(axes, (tuple, list)):
        return all_axes(axes[0], a_ndim), all_axes(axes[1], b_ndim)
    return places(a_ndim)[a_ndim - axes :], places(axes)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a, b, axes=2):
    """Sum of products over given axes: one matrix product."""
    a, b = np.asarray(a), np.asarray(b)
    a_axes, b_axes = contracted_axes(axes, a.ndim, b.ndim)
    if len(a_axes) != len(b_axes):
        raise ValueError("shape-mismatch for sum")
    for i, j in zip(a_axes, b_axes, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ValueError("shape-mismatch for sum")
    a_free = tuple(k for k in places(a.ndim) if k not in a_axes)
    b_free = tuple(k for k in places(b.ndim) if k not in b_axes)
    rows = math.prod(a.shape[k] for k in a_free)
    columns = math.prod(b.shape[k] for k in b_free)
    length = math.prod(a.shape[k] for k in a_axes)
    left = np.reshape(np.transpose(a, a_free + a_axes), (rows, length))
    right = np.reshape(np.transpose(b, b_axes + b_free), (length, columns))
    return np.reshape(left @ right, tuple(a.shape[k] for k in a_free) + tuple(b.shape[k] for k in b_free))


@implements(np.kron)
def kron(a, b):
    """All products of two arrays, as blocks."""
    a, b = np.asarray(a), np.asarray(b)
    ndim = max(a.ndim, b.ndim)
    a_shape = (1,) * (ndim - a.ndim) + a.shape
    b_shape = (1,) * (ndim - b.ndim) + b.shape
    a_apart: tuple = ()
    b_apart: tuple = ()
    for k in places(ndim):
        a_apart = (*a_apart, a_shape[k], 1)
        b_apart = (*b_apart, 1, b_shape[k])
    blocks = np.reshape(a, a_apart) * np.reshape(b, b_apart)
    return np.reshape(blocks, tuple(a_shape[k] * b_shape[k] for k in places(ndim)))


PLANES = np.lib.NumpyVersion(np.__version__) < "2.5.0"  # np.cross of vectors of two: an error since then


def demand_three(n, m):
    """Refuse vectors of other lengths in NumPy's words."""
    if n != 3 or m != 3:
        found = f"{n} and {m}"
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {found} dimensional instead."
        )


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Vector product in three dimensions; in two, where NumPy has that and it is known before, its only part."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, 0), np.moveaxis(b, axisb, 0)
    if PLANES and is_two(a.shape[0]) and is_two(b.shape[0]):
        return a[0] * b[1] - a[1] * b[0]
    if PLANES and (a.shape[0] != 3 or b.shape[0] != 3):
        if a.shape[0] in (2, 3) and b.shape[0] in (2, 3):
            raise NotImplementedError("np.cross of vectors of two: write a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]")
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    demand_three(a.shape[0], b.shape[0])
    parts = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return np.stack(parts, axis=axisc)


@implements(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    """Vector product in three dimensions."""
    demand_three(np.shape(x1)[axis], np.shape(x2)[axis])
    return np.cross(x1, x2, axis=axis)


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1, x2, /, *, axis=-1):
    """Inner products of stacks of vectors, the first conjugated."""
    first, second = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"vecdot: vectors of length {first.shape[-1]} and {second.shape[-1]}")
    return np.sum(np.conjugate(first) * second, axis=-1)


@implements(*present(np, "matvec"))  # NumPy 2.2
def matvec(x1, x2, /):
    """Stacks of matrices times vectors."""
    return (np.asarray(x1) @ np.asarray(x2)[..., None])[..., 0]


@implements(*present(np, "vecmat"))  # NumPy 2.2
def vecmat(x1, x2, /):
    """Stacks of vectors, conjugated, times matrices."""
    return (np.conjugate(np.asarray(x1))[..., None, :] @ np.asarray(x2))[..., 0, :]


@implements(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    """The array API's name of `@`."""
    return np.matmul(x1, x2)


@implements(np.trace, np.ndarray.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sum of a diagonal."""
    a = np.asarray(a)
    first, second = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    if a.ndim == 2 and first < second:
        return np.sum(np.diagonal(a, offset), dtype=dtype)
    matrices = np.moveaxis(a, (first, second), (0, 1))
    rows, columns = matrices.shape[0], matrices.shape[1]
    start = max(-offset, 0)
    k = np.arange(start, max(start, min(rows, columns - offset)))
    return np.sum(matrices[k, k + offset], axis=0, dtype=dtype)


@implements(np.linalg.trace)
def linalg_trace(x, /, *, offset=0, dtype=None):
    """Sum of the diagonals of a stack of matrices."""
    return np.trace(x, offset, -2, -1, dtype)


@implements(np.linalg.diagonal)
def linalg_diagonal(x, /, *, offset=0):
    """Diagonals of a stack of matrices."""
    return np.diagonal(x, offset, -2, -1)


@implements(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    """The product of several matrices, from the side that keeps the intermediate results small."""
    if np.ndim(arrays[-1]) == 1:
        result = arrays[-1]
        for matrix in reversed(arrays[:-1]):
            result = matrix @ result
        return result
    result = arrays[0]
    for matrix in arrays[1:]:
        result = result @ matrix
    return result


@implements(np.linalg.matrix_power)
def matrix_power(a, n):
    """A matrix multiplied by itself, by repeated squaring."""
    a = np.asarray(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    n = operator.index(n)
    if n == 1:
        return a
    base = np.linalg.inv(a) if n < 0 else a.copy()
    left = abs(n)
    result = np.broadcast_to(np.eye(a.shape[-1], dtype=base.dtype), a.shape).copy()
    while left > 0:
        if left % 2 == 1:
            result = result @ base
        left //= 2
        if left > 0:
            base = base @ base
    return result
