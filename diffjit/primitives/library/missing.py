"""Reductions that skip NaN."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import all_axes, as_float, merged_first, root
from diffjit.primitives.library.statistics import hundredths, rank_of
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
    number = np.sum(present(a), axis=axis, keepdims=keepdims, where=where)
    return np.nansum(a, axis=axis, dtype=dtype, keepdims=keepdims, where=where) / number


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Variance without NaN."""
    a = np.asarray(a)
    center = np.nanmean(a, axis=axis, dtype=dtype, keepdims=True, where=where) if mean is None else mean
    deviation = np.where(np.isnan(a), 0, a - center)
    number = np.sum(present(a), axis=axis, keepdims=keepdims, where=where)
    lost = ddof if correction is None else correction
    freedom = np.where(number > lost, number - lost, np.nan)
    return np.sum(deviation * deviation, axis=axis, keepdims=keepdims, where=where) / freedom


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Standard deviation without NaN."""
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


@implements(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False, initial=-np.inf, where=True):
    """Largest number; NaN if there is none."""
    a = np.asarray(a)
    result = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims, initial=initial, where=where)
    found = np.logical_or(np.any(present(a), axis=axis, keepdims=keepdims, where=where), initial > -np.inf)
    return np.where(found, result, np.nan)


@implements(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False, initial=np.inf, where=True):
    """Smallest number; NaN if there is none."""
    a = np.asarray(a)
    result = np.min(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims, initial=initial, where=where)
    found = np.logical_or(np.any(present(a), axis=axis, keepdims=keepdims, where=where), initial < np.inf)
    return np.where(found, result, np.nan)


@implements(np.nanargmax)
def nanargmax(a, axis=None, out=None, *, keepdims=False):
    """Position of the largest number."""
    a = np.asarray(a)
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)


@implements(np.nanargmin)
def nanargmin(a, axis=None, out=None, *, keepdims=False):
    """Position of the smallest number."""
    a = np.asarray(a)
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


@implements(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """Quantiles of the numbers along axes by linear interpolation; NaN where there is none."""
    a, q = as_float(np.asarray(a)), np.asarray(q)
    axes = all_axes(axis, a.ndim)
    ordered = np.sort(merged_first(a, axes), axis=0)  # NaN is sorted to the end
    number = np.sum(present(ordered), axis=0)
    positions = rank_of(np.reshape(q, (-1,) + (1,) * (ordered.ndim - 1)), np.maximum(number, 1), method)
    low = np.floor(positions).astype(np.int64)
    high = np.minimum(low + 1, np.maximum(number, 1) - 1)
    first, second = np.take_along_axis(ordered, low, 0), np.take_along_axis(ordered, high, 0)
    result = first + (second - first) * (positions - low).astype(a.dtype)
    result = np.reshape(result, q.shape + ordered.shape[1:])[()]
    return np.expand_dims(result, tuple(q.ndim + k for k in axes)) if keepdims else result


@implements(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """Percentiles of the numbers by linear interpolation."""
    share = hundredths(q, np.asarray(a).dtype)
    return np.nanquantile(a, share, axis=axis, method=method, keepdims=keepdims)


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle of the sorted numbers."""
    return np.nanquantile(a, 0.5, axis=axis, keepdims=keepdims)
