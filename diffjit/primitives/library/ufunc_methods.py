"""Methods of ufuncs: `reduce`, `accumulate` and `outer`."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives import arithmetic, comparison, special, transcendental  # noqa: F401 - their rows have outers
from diffjit.primitives.registry import ELEMENTWISE, implements


@implements(np.add.reduce)
def add_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Sum."""
    return np.sum(array, axis=axis, dtype=dtype, keepdims=keepdims)


@implements(np.multiply.reduce)
def multiply_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Product."""
    return np.prod(array, axis=axis, dtype=dtype, keepdims=keepdims)


@implements(np.maximum.reduce)
def maximum_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Largest."""
    return np.max(array, axis=axis, keepdims=keepdims)


@implements(np.minimum.reduce)
def minimum_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Smallest."""
    return np.min(array, axis=axis, keepdims=keepdims)


@implements(np.logical_and.reduce)
def logical_and_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Whether all hold."""
    return np.all(array, axis=axis, keepdims=keepdims)


@implements(np.logical_or.reduce)
def logical_or_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Whether any holds."""
    return np.any(array, axis=axis, keepdims=keepdims)


@implements(np.logaddexp.reduce)
def logaddexp_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Logarithm of the sum of exponentials, shifted by the largest."""
    array = np.asarray(array)
    top = np.max(array, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    result = np.log(np.sum(np.exp(array - shift), axis=axis, keepdims=True)) + shift
    return np.sum(result, axis=axis, keepdims=keepdims)  # over axes of length 1: drops them


@implements(np.add.accumulate)
def add_accumulate(array, axis=0, dtype=None, out=None):
    """Running sum."""
    return np.cumsum(array, axis=axis, dtype=dtype)


@implements(np.multiply.accumulate)
def multiply_accumulate(array, axis=0, dtype=None, out=None):
    """Running product."""
    return np.cumprod(array, axis=axis, dtype=dtype)


def accumulated(ufunc, array, axis):
    """Running results of any binary ufunc."""
    results = np.moveaxis(np.asarray(array), axis, 0).copy()
    for k in range(1, results.shape[0]):
        results[k] = ufunc(results[k - 1], results[k])
    return np.moveaxis(results, 0, axis)


@implements(np.maximum.accumulate)
def maximum_accumulate(array, axis=0, dtype=None, out=None):
    """Running maximum."""
    return accumulated(np.maximum, array, axis)


@implements(np.minimum.accumulate)
def minimum_accumulate(array, axis=0, dtype=None, out=None):
    """Running minimum."""
    return accumulated(np.minimum, array, axis)


@implements(np.logaddexp.accumulate)
def logaddexp_accumulate(array, axis=0, dtype=None, out=None):
    """Running logarithm of the sum of exponentials."""
    return accumulated(np.logaddexp, array, axis)


def outer_of(ufunc):
    """`ufunc.outer` as a function."""

    def outer(A, B, /):
        """All pairs of elements."""
        A, B = np.asarray(A), np.asarray(B)
        return ufunc(np.reshape(A, A.shape + (1,) * B.ndim), B)

    return outer


for _entry in tuple(ELEMENTWISE.values()):
    if isinstance(_entry.ufunc, np.ufunc) and _entry.ufunc.nin == 2:
        implements(_entry.ufunc.outer)(outer_of(_entry.ufunc))
