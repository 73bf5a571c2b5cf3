"""Sets and counts: distinct values, membership, histograms."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np
from numpy.lib import NumpyVersion, _arraysetops_impl

from diffjit.primitives.library.axes import places
from diffjit.primitives.registry import implements

_VERSION = NumpyVersion(
    np.__version__
)  # and not what `np.unique` does: asking it takes as long as importing fifty modules

# NumPy 2.0.0 gave the numbers of groups along an axis as many dimensions as the array has.
_FLAT = _VERSION >= "2.0.1"

# A vector along its one axis is as without an axis; before, each NaN in it was one of its own.
_PLAIN = _VERSION >= "2.4.0"

# Sets


@implements(np.unique)
def unique(
    ar,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    *,
    equal_nan=True,
    sorted=True,  # noqa: A002 - NumPy's name
):
    """Distinct values in order; on request where each is first, which one each element is, and how often each is."""
    ar = np.asarray(ar)
    if axis is not None and not (_PLAIN and ar.ndim == 1 and axis in (0, -1)):
        return unique_along(ar, axis, return_index, return_inverse, return_counts)
    flat = np.ravel(ar)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    new = np.ones(flat.shape[0], np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    if equal_nan:
        new[1:] = np.logical_and(new[1:], np.logical_not(np.isnan(ordered[:-1])))
    distinct = ordered[np.flatnonzero(new)]
    return with_groups(distinct, order, new, ar.shape, return_index, return_inverse, return_counts)


@implements(np.unique_all)
def unique_all(x):
    """Distinct values, where each is first, which one each element is, and how often each is."""
    return _arraysetops_impl.UniqueAllResult(*np.unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x):
    """Distinct values, and how often each is."""
    return _arraysetops_impl.UniqueCountsResult(*np.unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x):
    """Distinct values, and which one each element is."""
    return _arraysetops_impl.UniqueInverseResult(*np.unique(x, return_inverse=True, equal_nan=False))


def unique_along(ar, axis, return_index, return_inverse, return_counts):
    """Distinct parts along an axis, in the order of their first numbers that differ; parts with a NaN equal none."""
    parts = np.moveaxis(ar, axis, 0)
    n = parts.shape[0]
    rows = np.reshape(parts, (n, math.prod(parts.shape[1:])))
    order = np.arange(n)
    for k in range(rows.shape[1] - 1, -1, -1):  # each sort is stable: the first column comes last
        order = order[np.argsort(rows[order, k], kind="stable")]
    ordered = rows[order]
    new = np.ones(n, np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    distinct = np.moveaxis(parts[order[np.flatnonzero(new)]], 0, axis)
    shape = [n] if _FLAT else [n if k == axis % ar.ndim else 1 for k in range(ar.ndim)]
    return with_groups(distinct, order, new, tuple(shape), return_index, return_inverse, return_counts)


def with_groups(distinct, order, new, shape, return_index, return_inverse, return_counts):
    """Distinct values, and what was asked for beside them: `new` says where in the order a group of equals begins."""
    n = order.shape[0]
    starts = np.flatnonzero(new)
    results: tuple = (distinct,)
    if return_index:
        results = (*results, order[starts])
    if return_inverse:
        number = np.empty(n, np.int64)
        number[order] = np.cumsum(new) - 1
        results = (*results, np.reshape(number, shape))
    if return_counts:
        results = (*results, np.diff(np.append(starts, n)))
    return results if len(results) > 1 else results[0]


@implements(np.union1d)
def union1d(ar1, ar2):
    """Values that are in either."""
    return np.unique(np.concatenate((ar1, ar2), axis=None))


@implements(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """Values that are in both, and where each stands first."""
    first, second = np.asarray(ar1), np.asarray(ar2)
    first = first.astype(np.result_type(first.dtype, second.dtype))
    if not return_indices:
        values = np.unique(first)
        return values[np.isin(values, second)]
    values, places = np.unique(first, return_index=True)
    others, other_places = np.unique(second, return_index=True)
    both = np.isin(values, second)
    return values[both], places[both], other_places[np.searchsorted(others, values[both])]


@implements(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    """Values of the first that are not in the second."""
    values = np.ravel(ar1) if assume_unique else np.unique(ar1)
    return values[np.isin(values, ar2, invert=True)]


@implements(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    """Values that are in one of both."""
    return np.union1d(np.setdiff1d(ar1, ar2), np.setdiff1d(ar2, ar1))


@implements(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Whether each element is one of the others."""
    element, others = np.asarray(element), np.sort(np.ravel(test_elements))
    result = np.full(element.shape, invert)
    n = others.shape[0]
    if n > 0:
        nearest = others[np.minimum(np.searchsorted(others, element), n - 1)]
        result[...] = np.not_equal(nearest, element) if invert else np.equal(nearest, element)
    return result[()]


# Counts


@implements(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    """How often each small int occurs, or the sum of the weights there."""
    x = np.asarray(x)
    if x.dtype.kind not in "iub":
        raise TypeError("np.bincount counts integers")
    x = x.astype(np.int64)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if np.any(x < 0):
        raise ValueError("'list' argument must have no negative elements")
    length = max(np.max(x) + 1 if x.shape[0] > 0 else 0, minlength)
    if weights is None:
        counts = np.zeros(length, np.int64)
        np.add.at(counts, x, 1)
        return counts
    weights = np.asarray(weights)
    if weights.shape[0] != x.shape[0]:
        raise ValueError("The weights and list don't have the same length.")
    sums = np.zeros(length)
    np.add.at(sums, x, weights)
    return sums


def bins_between(a, bins, range):  # noqa: A002 - NumPy's name
    """The bounds of bins: given, or equally wide from the smallest value to the largest."""
    if isinstance(bins, str):
        raise NotImplementedError(f"np.histogram(bins={bins!r}): give their number or their edges")
    if np.ndim(bins) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    if np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if np.any(edges[:-1] > edges[1:]):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if range is not None:
        low, high = range
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    elif np.size(a) == 0:
        low, high = 0.0, 1.0
    else:
        low, high = np.min(a) * 1.0, np.max(a) * 1.0
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):  # noqa: A002 - NumPy's name
    """The bounds of bins: given, or equally wide from the smallest value to the largest."""
    edges = bins_between(a, bins, range)
    if np.ndim(bins) == 0:
        low, high = (0, 1) if range is None else range
        kind = np.result_type(low, high, a)
        edges = edges if kind.kind in "biu" else edges.astype(kind)
        if np.any(edges[:-1] >= edges[1:]):
            raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
    return edges


def bin_of(v, edges, even):
    """The bin of a value, the last one closed on both sides; -1 outside. `even`: all bins are equally wide."""
    n = edges.shape[0] - 1
    if n < 1 or not edges[0] <= v <= edges[n]:
        return -1
    low = 0
    if even:  # the quotient may be one off by rounding
        part = (v - edges[0]) / (edges[n] - edges[0])
        if part > 0.0:
            low = min(int(part * n), n - 1)
        while low > 0 and v < edges[low]:
            low -= 1
        while low < n - 1 and v >= edges[low + 1]:
            low += 1
    else:
        high = n
        while high - low > 1:
            middle = (low + high) // 2
            if v < edges[middle]:
                high = middle
            else:
                low = middle
    return low


def density_of(counts, volumes):
    """Counts as a density over bins of these volumes."""
    return counts / volumes / np.sum(counts)


def add_up(counts, values, edges, even, each):
    """Add the weight of each value to its bin."""
    for k in range(values.shape[0]):
        at = bin_of(values[k], edges, even)
        if at >= 0:
            counts[at] += each[k]


@implements(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):  # noqa: A002 - NumPy's name
    """How many values, or what weight, each bin has; and the edges."""
    edges = np.histogram_bin_edges(a, bins, range)
    flat = np.ravel(a)
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    each = np.ones(flat.shape[0], np.int64) if weights is None else np.ravel(weights)
    counts = np.zeros(edges.shape[0] - 1, each.dtype)
    add_up(counts, flat, edges, np.ndim(bins) == 0, each)
    return density_of(counts, np.diff(edges)) if density else counts, edges


def add_up_pairs(counts, xs, x_edges, x_even, ys, y_edges, y_even, each):
    """Add the weight of each point to its rectangle."""
    for k in range(xs.shape[0]):
        row, column = bin_of(xs[k], x_edges, x_even), bin_of(ys[k], y_edges, y_even)
        if row >= 0 and column >= 0:
            counts[row, column] += each[k]


@implements(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):  # noqa: A002 - NumPy's name
    """How many points, or what weight, each rectangle has; and the edges along both axes."""
    x_bins, y_bins = bins if isinstance(bins, (tuple, list)) and len(bins) == 2 else (bins, bins)
    x_range, y_range = (None, None) if range is None else range
    xs, ys = np.asarray(x), np.asarray(y)
    kind = np.result_type(xs, ys)
    xs, ys = xs.astype(kind), ys.astype(kind)
    x_edges, y_edges = bins_between(xs, x_bins, x_range), bins_between(ys, y_bins, y_range)
    if xs.shape[0] != ys.shape[0]:
        raise ValueError("x and y must have the same length.")
    each = np.ones(xs.shape[0]) if weights is None else np.asarray(weights)
    counts = np.zeros((x_edges.shape[0] - 1, y_edges.shape[0] - 1))
    add_up_pairs(counts, xs, x_edges, np.ndim(x_bins) == 0, ys, y_edges, np.ndim(y_bins) == 0, each)
    return density_of(counts, np.outer(np.diff(x_edges), np.diff(y_edges))) if density else counts, x_edges, y_edges


@implements(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):  # noqa: A002 - NumPy's name
    """How many points, or what weight, each box has; and the edges along all axes."""
    points = np.asarray(sample) if isinstance(sample, np.ndarray) else np.transpose(np.asarray(sample))
    points = points if points.ndim == 2 else points[:, None]
    of_each = bins if isinstance(bins, (tuple, list)) else [bins for _ in places(points.shape[1])]
    if len(of_each) != points.shape[1]:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None for _ in of_each] if range is None else range
    edges = tuple([bins_between(points[:, j], of_each[j], ranges[j]) for j in places(len(of_each))])
    lengths = tuple([e.shape[0] - 1 for e in edges])
    each = np.ones(points.shape[0]) if weights is None else np.asarray(weights)
    counts = np.zeros(math.prod(lengths))
    for k in places(points.shape[0]):
        place, inside = 0, True
        for j in places(len(of_each)):
            own = bin_of(points[k, j], edges[j], np.ndim(of_each[j]) == 0)
            inside = inside and own >= 0
            place = place * lengths[j] + own
        if inside:
            counts[place] += each[k]
    counts = np.reshape(counts, lengths)
    if density:
        volumes = np.ones(lengths)
        for j in places(len(of_each)):
            along = [edges[j].shape[0] - 1 if i == j else 1 for i in places(len(of_each))]
            volumes = volumes * np.reshape(np.diff(edges[j]), along)
        counts = density_of(counts, volumes)
    return counts, edges
