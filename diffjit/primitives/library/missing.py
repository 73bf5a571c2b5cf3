"""Reductions that skip NaN."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import root
from diffjit.primitives.registry import implements


def present(a):
    """Where `a` is a number."""
    return np.logical_not(np.isnan(a))


@implements(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    """Sum without NaN."""
    a = np.asarray(a)
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis, dtype=dtype, keepdims=keepdims)


@implements(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    """Product without NaN."""
    a = np.asarray(a)
    return np.prod(np.where(np.isnan(a), 1, a), axis=axis, dtype=dtype, keepdims=keepdims)


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    """Mean without NaN."""
    a = np.asarray(a)
    number = np.sum(present(a), axis=axis, keepdims=keepdims)
    return np.nansum(a, axis=axis, dtype=dtype, keepdims=keepdims) / number


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """Variance without NaN."""
    a = np.asarray(a)
    deviation = np.where(np.isnan(a), 0, a - np.nanmean(a, axis=axis, dtype=dtype, keepdims=True))
    number = np.sum(present(a), axis=axis, keepdims=keepdims)
    freedom = np.where(number > ddof, number - ddof, np.nan)
    return np.sum(deviation * deviation, axis=axis, keepdims=keepdims) / freedom


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """Standard deviation without NaN."""
    return root(np.nanvar(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims))


@implements(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False):
    """Largest number; NaN if there is none."""
    a = np.asarray(a)
    result = np.max(np.where(np.isnan(a), -np.inf, a), axis=axis, keepdims=keepdims)
    return np.where(np.any(present(a), axis=axis, keepdims=keepdims), result, np.nan)


@implements(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False):
    """Smallest number; NaN if there is none."""
    a = np.asarray(a)
    result = np.min(np.where(np.isnan(a), np.inf, a), axis=axis, keepdims=keepdims)
    return np.where(np.any(present(a), axis=axis, keepdims=keepdims), result, np.nan)


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
