"""Norms and logarithms of determinants."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np

from diffjit.primitives.library.axes import all_axes, as_float, magnitude_squared, one_axis, places, real_of, root
from diffjit.primitives.library.spectral import svdvals
from diffjit.primitives.registry import implements

SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002 - NumPy's name
    """Norms of vectors and matrices; the derivative of the Euclidean norm at 0 is 0."""
    x = as_float(np.asarray(x))
    if axis is None and ord is None:
        return root(np.sum(magnitude_squared(x), keepdims=keepdims))
    axes = all_axes(axis, x.ndim)
    if len(axes) == 1:
        return vector_length(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return matrix_size(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def vector_length(x, order, axis, keepdims):
    """A norm along one axis."""
    if order is None or order == 2:
        return root(np.sum(magnitude_squared(x), axis=axis, keepdims=keepdims))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")  # noqa: TRY004 - NumPy's
    if order == math.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0)
    if order == -math.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if order == 0:
        return np.sum(np.not_equal(x, 0), axis=axis, keepdims=keepdims).astype(real_of(x.dtype))
    if order == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    total = np.sum(np.abs(x) ** order, axis=axis, keepdims=keepdims)
    return np.where(total == 0, 0.0, total ** (1.0 / order))


def matrix_size(x, order, axes, keepdims):
    """A norm over two axes."""
    if order is None or order in ("fro", "f"):
        return root(np.sum(magnitude_squared(x), axis=axes, keepdims=keepdims))
    row, column = axes
    if order in (2, -2, "nuc"):
        last = tuple(k for k in places(x.ndim) if k not in axes) + axes
        values = svdvals(np.transpose(x, last))
        reduced = np.max if order == 2 else np.min if order == -2 else np.sum
        result = reduced(values, axis=-1)
        if not keepdims:
            return result
        return np.reshape(result, tuple(1 if k in axes else x.shape[k] for k in places(x.ndim)))
    inner, outer = (row, column) if order in (1, -1) else (column, row)
    sums = np.sum(np.abs(x), axis=inner, keepdims=True)
    if order in (1, math.inf):
        result = np.max(sums, axis=outer, keepdims=True, initial=0)
    elif order in (-1, -math.inf):
        result = np.min(sums, axis=outer, keepdims=True)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        return result
    result = np.squeeze(result, axis=axes)
    return result[()] if result.ndim == 0 else result


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):  # noqa: A002 - NumPy's name
    """A norm along one or more axes taken as one vector."""
    x = as_float(np.asarray(x))
    axes = all_axes(axis, x.ndim)
    if len(axes) == 1:
        return vector_length(x, ord, axes[0], keepdims)
    kept = tuple(k for k in places(x.ndim) if k not in axes)
    length = math.prod(x.shape[k] for k in axes)
    flat = np.reshape(np.transpose(x, kept + axes), (*(x.shape[k] for k in kept), length))
    result = vector_length(flat, ord, len(kept), False)
    if not keepdims:
        return result
    return np.reshape(result, tuple(1 if k in axes else x.shape[k] for k in places(x.ndim)))


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):  # noqa: A002 - NumPy's name
    """A norm of each matrix of a stack."""
    x = as_float(np.asarray(x))
    return matrix_size(x, ord, (one_axis(-2, x.ndim), one_axis(-1, x.ndim)), keepdims)


@implements(np.linalg.slogdet)
def slogdet(a):
    """Sign and logarithm of the absolute value of determinants.

    The determinant of the matrix with its rows scaled to length 1 is at most 1, and of a magnitude near exp(-n / 2)
    where rows point anywhere: without overflow, and without underflow up to about 1400 rows.
    """
    a = as_float(np.asarray(a))
    largest = np.max(np.abs(a), axis=-1, keepdims=True, initial=0.0)  # first: squares of the elements could overflow
    largest = np.where(largest == 0, 1.0, largest)
    lengths = largest * root(np.sum(magnitude_squared(a / largest), axis=-1, keepdims=True))
    lengths = np.where(lengths == 0, 1.0, lengths)
    scaled = np.linalg.det(a / lengths)
    size = np.abs(scaled)
    return SlogdetResult(np.sign(scaled), np.log(size) + np.sum(np.log(lengths), axis=(-2, -1)))
