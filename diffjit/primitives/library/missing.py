"""Reductions that skip NaN."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import all_axes, count, magnitude_squared, merged_first, real_of, root
from diffjit.primitives.library.statistics import WHOLE, by_weights, hundredths, rank_of, weights_along
from diffjit.primitives.registry import implements


def present(a):
    """Where `a` is a number."""
    return np.logical_not(np.isnan(a))


@implements(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    """Sum without NaN."""
    a = np.asarray(a)
    filled = np.where(np.isnan(a), 0, a)
    return np.sum(filled, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=1, where=True):
    """Product without NaN."""
    a = np.asarray(a)
    filled = np.where(np.isnan(a), 1, a)
    return np.prod(filled, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """Mean without NaN."""
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return np.mean(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    if dtype is not None and np.dtype(dtype).kind in "iub":
        raise TypeError("If a is inexact, then dtype must be inexact")
    total = np.nansum(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return total / np.sum(present(a), axis=axis, dtype=real_of(total.dtype), keepdims=keepdims, where=where)


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Variance without NaN."""
    a = np.asarray(a)
    lost = ddof if correction is None else correction
    if a.dtype.kind in "iub":
        return np.var(a, axis=axis, dtype=dtype, ddof=lost, keepdims=keepdims, where=where)
    center = np.nanmean(a, axis=axis, dtype=dtype, keepdims=True, where=where) if mean is None else mean
    deviation = np.where(np.isnan(a), 0, a - center)
    squares = magnitude_squared(deviation)
    total = np.sum(squares, axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    number = np.sum(present(a), axis=axis, dtype=real_of(total.dtype), keepdims=keepdims, where=where)
    return total / np.where(number > lost, number - lost, np.nan)


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Standard deviation without NaN."""
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


@implements(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """Largest number; NaN if there is none."""
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return np.max(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    result = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not None:
        return result
    return np.where(np.any(present(a), axis=axis, keepdims=keepdims, where=where), result, np.nan)


@implements(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """Smallest number; NaN if there is none."""
    a = np.asarray(a)
    if a.dtype.kind in "iub":
        return np.min(a, axis=axis, keepdims=keepdims, initial=initial, where=where)
    result = np.min(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not None:
        return result
    return np.where(np.any(present(a), axis=axis, keepdims=keepdims, where=where), result, np.nan)


def refuse_without_numbers(a, axis):
    """Raise as NumPy does where nothing along an axis is a number."""
    if np.any(np.all(np.isnan(a), axis=axis)):
        raise ValueError("All-NaN slice encountered")


@implements(np.nanargmax)
def nanargmax(a, axis=None, out=None, *, keepdims=False):
    """Position of the largest number."""
    a = np.asarray(a)
    refuse_without_numbers(a, axis)
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a, axis=None, out=None, *, keepdims=False):
    """Position of the smallest number."""
    a = np.asarray(a)
    refuse_without_numbers(a, axis)
    return np.argmin(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)


@implements(np.nancumsum)
def nancumsum(a, axis=None, dtype=None, out=None):
    """Running sum, NaN as 0."""
    a = np.asarray(a)
    return np.cumsum(np.where(np.isnan(a), 0, a), axis=axis, dtype=dtype)


@implements(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    """Running product, NaN as 1."""
    a = np.asarray(a)
    return np.cumprod(np.where(np.isnan(a), 1, a), axis=axis, dtype=dtype)


def numbers_in_order(a, axes):
    """The values over these axes in order, NaN last, and how many of them are numbers."""
    ordered = np.sort(merged_first(a, axes), axis=0)
    return ordered, np.sum(present(ordered), axis=0)


@implements(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Quantiles of the numbers along axes by linear interpolation; NaN where there is none."""
    a, q = np.asarray(a), np.asarray(q)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if weights is not None:
        given = weights_along(a, np.asarray(weights), axis, all_axes(axis, a.ndim))
        some = np.logical_not(np.all(np.isnan(a), axis=axis, keepdims=True))
        left_out = np.logical_and(np.isnan(a), some)
        given = np.where(left_out, 0.0, np.where(some, given, 1.0))
        return by_weights(np.where(left_out, np.inf, a), q, axis, method, keepdims, given)
    if a.dtype.kind in "iub":
        return np.quantile(a, q, axis=axis, method=method, keepdims=keepdims)
    if a.size == 0:
        return np.nanmean(a, axis=axis, keepdims=keepdims)
    axes = all_axes(axis, a.ndim)
    ordered, number = numbers_in_order(a, axes)
    positions = rank_of(np.reshape(q, (-1,) + (1,) * (ordered.ndim - 1)), np.maximum(number, 1), method)
    low = np.floor(positions).astype(np.int64)
    first = np.take_along_axis(ordered, low, 0)
    if method in WHOLE:
        result = first
    else:
        high = np.minimum(low + 1, np.maximum(number, 1) - 1)
        share = positions - low
        share = share.astype(a.dtype) if q.ndim == 0 else share  # several shares keep a precision of their own
        result = first + (np.take_along_axis(ordered, high, 0) - first) * share
    result = np.reshape(result, q.shape + ordered.shape[1:])[()]
    return np.expand_dims(result, tuple(q.ndim + k for k in axes)) if keepdims else result


@implements(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Percentiles of the numbers by linear interpolation."""
    share = hundredths(q, np.asarray(a).dtype)
    return np.nanquantile(a, share, axis=axis, method=method, keepdims=keepdims, weights=weights)


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle of the sorted numbers, or the mean of the two in the middle."""
    a = np.asarray(a)
    if a.dtype.kind in "iub" or count(a, axis) == 0:
        return np.median(a, axis=axis, keepdims=keepdims)
    axes = all_axes(axis, a.ndim)
    ordered, number = numbers_in_order(a, axes)
    low = np.take_along_axis(ordered, np.reshape(np.maximum(number - 1, 0) // 2, (1, *ordered.shape[1:])), 0)
    high = np.take_along_axis(
        ordered, np.reshape(np.minimum(number // 2, ordered.shape[0] - 1), (1, *ordered.shape[1:])), 0
    )
    result = np.where(number % 2 == 1, low[0], (low[0] + high[0]) / 2)[()]
    return np.expand_dims(result, axes) if keepdims else result
