"""Means, variances and order statistics."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import (
    all_axes,
    as_float,
    count,
    magnitude_squared,
    merged_first,
    one_axis,
    places,
    real_of,
    root,
)
from diffjit.primitives.registry import implements, present


def count_where(included, axis, keepdims, dtype):
    """How many elements are included, in the precision of the values."""
    return np.sum(included, axis=axis, keepdims=keepdims, dtype=real_of(dtype))


def divided(total, number):
    """A total by a number of elements, in its own dtype: integers that the user asked for stay integers."""
    return (total / number).astype(total.dtype) if total.dtype.kind in "iub" else total / number


@implements(np.mean, np.ndarray.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """Arithmetic mean."""
    a = np.asarray(a)
    if dtype is None and a.dtype.kind in "iub":
        dtype = np.float64
    if where is True:
        return divided(np.sum(a, axis=axis, dtype=dtype, keepdims=keepdims), count(a, axis))
    included = np.broadcast_to(where, a.shape)
    total = np.sum(np.where(included, a, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return divided(total, count_where(included, axis, keepdims, total.dtype))


@implements(np.var, np.ndarray.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Variance, in two passes."""
    a = np.asarray(a)
    a = as_float(a)
    center = np.mean(a, axis=axis, dtype=dtype, keepdims=True, where=where) if mean is None else mean
    squares = magnitude_squared(a - center)
    lost = ddof if correction is None else correction
    if where is True:
        return divided(np.sum(squares, axis=axis, dtype=dtype, keepdims=keepdims), max(count(a, axis) - lost, 0))
    included = np.broadcast_to(where, a.shape)
    total = np.sum(np.where(included, squares, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return divided(total, np.maximum(count_where(included, axis, keepdims, total.dtype) - lost, 0))


@implements(np.std, np.ndarray.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    """Standard deviation; the derivative of equal values is 0."""
    a = np.asarray(a)
    return root(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


@implements(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    """Largest minus smallest."""
    a = np.asarray(a)
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@implements(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """Weighted mean."""
    a = np.asarray(a)
    if weights is None:
        result = np.mean(a, axis=axis, keepdims=keepdims)
        scale = np.ones_like(result) * count(a, axis)
    else:
        weights = np.asarray(weights)
        if weights.ndim < a.ndim:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            axes = all_axes(axis, a.ndim)
            in_order = tuple(axes.index(k) for k in places(a.ndim) if k in axes)
            lengths = tuple(a.shape[k] if k in axes else 1 for k in places(a.ndim))
            weights = np.reshape(np.transpose(weights, in_order), lengths)
        weights = np.broadcast_to(weights, a.shape)
        weighted = as_float(a) * weights
        scale = np.sum(weights, axis=axis, dtype=weighted.dtype, keepdims=keepdims)
        if np.any(np.equal(scale, 0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        result = np.sum(weighted, axis=axis, keepdims=keepdims) / scale
    if returned:
        return result, scale
    return result


@implements(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle of the sorted values, or the mean of the two in the middle; NaN if there is one."""
    a = as_float(np.asarray(a))
    if count(a, axis) == 0:
        return np.mean(a, axis=axis, keepdims=keepdims)
    axes = all_axes(axis, a.ndim)
    ordered = np.sort(merged_first(a, axes), axis=0)
    n = ordered.shape[0]
    # One value in the middle stands alone: where its neighbour is infinite, a share of 0 of that would be NaN.
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2 if n % 2 == 0 else ordered[n // 2]
    result = np.where(np.isnan(ordered[n - 1]), np.nan, middle)  # NaN is sorted to the end
    return np.expand_dims(result, axes) if keepdims else result


@implements(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Percentiles by linear interpolation."""
    share = hundredths(q, np.asarray(a).dtype)
    if not all_shares(share):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return quantile_at(a, share, axis, method, keepdims, weights)


def all_shares(q):
    """Whether all are between 0 and 1; NaN is not."""
    return np.all(np.logical_and(np.greater_equal(q, 0), np.less_equal(q, 1)))


def hundredths(q, dtype):
    """Percent as shares, in the precision of the values."""
    return np.true_divide(q, dtype.type(100) if dtype.kind == "f" else 100)


# Where a quantile stands among n values in order (Hyndman and Fan 1996): parameters of the continuous methods.
PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
ROUNDINGS = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}
WHOLE = (*ROUNDINGS, "inverted_cdf", "closest_observation")  # one of the values, nothing between two


def rank_of(q, n, method):
    """The position of a quantile among n values in order, between 0 and n - 1."""
    if method in PLOTTING:
        alpha, beta = PLOTTING[method]
        return np.minimum(np.maximum(n * q + alpha + q * (1 - alpha - beta) - 1, 0), n - 1)
    position = (n - 1) * q
    if method in ROUNDINGS:
        return ROUNDINGS[method](position)
    if method == "midpoint":
        return 0.5 * (np.floor(position) + np.ceil(position))
    if method == "inverted_cdf":
        return np.maximum(np.ceil(n * q - 1), 0)
    if method == "closest_observation":  # a tie goes to the one that is even, counted from 1
        place = n * q - 1.5
        below = np.floor(place)
        return np.maximum(np.where(np.logical_and(place == below, below % 2 == 1), below, below + 1), 0)
    if method == "averaged_inverted_cdf":
        place = n * q - 1
        return np.where(place < 0, 0.0, np.where(place == np.floor(place), place + 0.5, np.ceil(place)))
    if method != "linear":
        raise ValueError(f"{method!r} is not a valid method")
    return position


@implements(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Quantiles of the values along axes by linear interpolation between neighbours in order."""
    if not all_shares(q):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return quantile_at(a, q, axis, method, keepdims, weights)


def quantile_at(a, q, axis, method, keepdims, weights):
    """Quantiles at shares between 0 and 1."""
    if np.asarray(a).dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if weights is not None:
        return by_weights(np.asarray(a), np.asarray(q), axis, method, keepdims, np.asarray(weights))
    return in_order(a, q, axis, method, keepdims)


def by_weights(a, q, axis, method, keepdims, weights):
    """The first values in order at which the share of the weights so far reaches `q`; no weight moves them."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = all_axes(axis, a.ndim)
    ordered, weights = merged_first(a, axes), merged_first(weights_along(a, weights, axis, axes), axes)
    if np.any(weights < 0):
        raise ValueError("Weights must be non-negative.")
    order = np.argsort(ordered, axis=0)
    ordered = np.take_along_axis(ordered, order, 0)
    share = np.cumsum(np.take_along_axis(weights, order, 0) * 1.0, axis=0)
    share = share / share[-1]
    if np.any(np.isnan(share)):
        raise ValueError("Weights included NaN, inf or were all zero.")
    share = np.where(share == 0, -1.0, share)  # what has no weight is not chosen
    wanted = np.reshape(q, (-1,) + (1,) * ordered.ndim)
    place = np.minimum(np.sum(share < wanted, axis=1), ordered.shape[0] - 1)
    result = np.reshape(np.take_along_axis(ordered, place, 0), q.shape + ordered.shape[1:])
    if a.dtype.kind == "f":
        result = np.where(np.isnan(ordered[-1]), np.nan, result)
    result = result[()]
    return np.expand_dims(result, tuple(q.ndim + k for k in axes)) if keepdims else result


def weights_along(a, weights, axis, axes):
    """Weights of all elements: given for each, or for places along the axes."""
    if weights.ndim == a.ndim and weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple(a.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    apart = np.reshape(weights, weights.shape + (1,) * (a.ndim - len(axes)))
    return np.broadcast_to(np.moveaxis(apart, tuple(range(len(axes))), axes), a.shape)


def in_order(a, q, axis, method, keepdims):
    """Values at places between the smallest and the largest."""
    a, q = np.asarray(a), np.asarray(q)
    axes = all_axes(axis, a.ndim)
    ordered = np.sort(merged_first(a, axes), axis=0)
    n = ordered.shape[0]
    position = rank_of(q, n, method)
    if method in WHOLE:
        chosen = ordered[position.astype(np.int64)]
        result = chosen if a.dtype.kind in "iub" else np.where(np.isnan(ordered[n - 1]), np.nan, chosen)
        return np.expand_dims(result, tuple(q.ndim + k for k in axes)) if keepdims else result
    a, ordered = as_float(a), as_float(ordered)
    low = np.floor(position).astype(np.int64)
    high = np.minimum(low + 1, n - 1)
    share = np.reshape(position - low, q.shape + (1,) * (ordered.ndim - 1))
    share = share.astype(a.dtype) if q.ndim == 0 else share  # several shares keep a precision of their own
    result = ordered[low] + (ordered[high] - ordered[low]) * share
    result = np.where(np.isnan(ordered[n - 1]), np.nan, result)  # NaN is sorted to the end
    return np.expand_dims(result, tuple(q.ndim + k for k in axes)) if keepdims else result


@implements(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """Covariance matrix of variables in rows."""
    if dtype is None:
        dtype = np.result_type(np.asarray(m).dtype, np.float64, np.float64 if y is None else np.asarray(y).dtype)
    data = in_rows(m, rowvar).astype(dtype)
    if y is not None:
        data = np.concatenate((data, in_rows(y, rowvar).astype(dtype)), axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    if fweights is None and aweights is None:
        centered = data - np.mean(data, axis=1, keepdims=True)
        result = centered @ np.conjugate(np.transpose(centered)) / max(data.shape[1] - ddof, 0)
    else:
        each = np.ones(data.shape[1]) if aweights is None else np.asarray(aweights)
        weights = each if fweights is None else each * fweights
        total = np.sum(weights)
        lost = ddof if aweights is None else ddof * np.sum(weights * each) / total
        centered = data - np.sum(data * weights, axis=1, keepdims=True) / total
        result = (centered * weights) @ np.conjugate(np.transpose(centered)) / np.maximum(total - lost, 0)
    return np.squeeze(result)


def in_rows(m, rowvar):
    """Variables in rows."""
    m = as_float(np.asarray(m))
    if m.ndim == 1:
        return m[None, :]
    return m if rowvar else np.transpose(m)


@implements(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Correlation coefficients of variables in rows."""
    c = np.cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    scale = np.sqrt(np.diagonal(c))
    return np.clip(c / scale[:, None] / scale[None, :], -1, 1)


@implements(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements are not 0."""
    return np.sum(np.not_equal(a, 0), axis=axis, keepdims=keepdims)


def cumulated(scan, x, axis, dtype, first):
    """A running sum or product, with a leading number where one is given."""
    x = np.atleast_1d(x)
    if axis is None and x.ndim > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    axis = 0 if axis is None else axis
    total = scan(x, axis=axis, dtype=dtype)
    if first is None:
        return total
    axis = one_axis(axis, x.ndim)
    head = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), first, total.dtype)
    return np.concatenate((head, total), axis=axis)


@implements(*present(np, "cumulative_sum"))  # NumPy 2.1
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """cumsum, optionally with a leading 0."""
    return cumulated(np.cumsum, x, axis, dtype, 0 if include_initial else None)


@implements(*present(np, "cumulative_prod"))  # NumPy 2.1
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """cumprod, optionally with a leading 1."""
    return cumulated(np.cumprod, x, axis, dtype, 1 if include_initial else None)
