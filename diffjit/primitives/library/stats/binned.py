"""Statistics of values in bins (`scipy.stats.binned_statistic` and its kin): which bin is a constant of the branch."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportIndexIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from diffjit.primitives.registry import implements

FUNCTIONS = (
    (np.mean, "mean"),
    (np.median, "median"),
    (np.sum, "sum"),
    (np.std, "std"),
    (np.min, "min"),
    (np.max, "max"),
)


class BinnedStatisticResult(NamedTuple):
    """A statistic for each bin, the edges of bins, and the bin of each value, counted from 1."""

    statistic: Any
    bin_edges: Any
    binnumber: Any


class BinnedStatistic2dResult(NamedTuple):
    """A statistic for each rectangle, the edges along both axes, and the rectangle of each value."""

    statistic: Any
    x_edge: Any
    y_edge: Any
    binnumber: Any


def edges_of(x, bins, limits):
    """Edges that are given, or of bins equally wide from the smallest value to the largest."""
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(float)
    if np.ndim(bins) != 0:
        return np.asarray(bins, kind)
    if not np.all(np.isfinite(x)):
        raise ValueError("the sample contains non-finite values.")
    low, high = (np.min(x) * 1.0, np.max(x) * 1.0) if limits is None else (limits[0] * 1.0, limits[1] * 1.0)
    if high < low:
        raise ValueError("In range, start must be <= stop")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1).astype(kind)


def numbers_of(x, edges):
    """The bin of each value, 0 and one more than there are outside; the last one is closed on both sides."""
    narrowest = np.min(np.diff(edges))
    if narrowest == 0:
        raise ValueError("The smallest edge difference is numerically 0.")
    numbers = np.digitize(x, edges)
    near = 10.0 ** (int(-np.log10(narrowest)) + 6)
    last = np.logical_and(x >= edges[-1], np.rint(x * near) == np.rint(edges[-1] * near))
    return numbers - last


def name_of(statistic):
    """The name of a statistic. A function of one's own is refused: SciPy asks it what nothing at all has."""
    if isinstance(statistic, str):
        return statistic
    for function, name in FUNCTIONS:
        if statistic is function:
            return name
    raise NotImplementedError("scipy.stats.binned_statistic of a function of your own: loop over the bins")


def of_each(values, numbers, count, statistic):
    """A statistic of the values of each of `count` bins."""
    name = name_of(statistic)
    if name not in ("mean", "median", "count", "sum", "std", "min", "max"):
        raise ValueError(f"invalid statistic {statistic!r}")
    counts = np.bincount(numbers, minlength=count)
    if name == "count":
        return counts * 1.0
    if name == "sum":
        return np.bincount(numbers, values, count)
    if name in ("mean", "std"):
        some = np.maximum(counts, 1)
        mean = np.bincount(numbers, values, count) / some
        if name == "mean":
            return np.where(counts > 0, mean, np.nan)
        deviation = values - mean[numbers]
        return np.where(counts > 0, np.sqrt(np.bincount(numbers, deviation * deviation, count) / some), np.nan)
    result = np.full(count, np.nan)
    for k in range(count):
        if counts[k] > 0:
            inside = values[numbers == k]
            if name == "median":
                result[k] = np.median(inside)
            elif name == "min":
                result[k] = np.min(inside)
            else:
                result[k] = np.max(inside)
    return result


def rows_of(values, numbers, count, statistic):
    """A statistic of each bin, for values, or for each row of them."""
    values = np.asarray(values) * 1.0
    if values.dtype.kind == "c" or values.ndim > 2:
        raise NotImplementedError("scipy.stats.binned_statistic of complex values or of more than two dimensions")
    if values.shape[-1] != numbers.shape[0]:
        if name_of(statistic) != "count":
            raise AttributeError("The number of `values` elements must match the length of each `sample` dimension.")
        values = np.zeros((*values.shape[:-1], numbers.shape[0]))
    if values.ndim == 1:
        return of_each(values, numbers, count, statistic)
    result = np.empty((values.shape[0], count))
    for k in range(values.shape[0]):
        result[k] = of_each(values[k], numbers, count, statistic)
    return result


@implements(stats.binned_statistic)
def binned_statistic(x, values, statistic="mean", bins=10, range=None):  # noqa: A002 - SciPy's name
    """A statistic of the values whose places are in the same bin."""
    x = np.asarray(x)
    bins = bins[0] if np.ndim(bins) != 0 and len(bins) == 1 else bins
    limits = range[0] if range is not None and len(range) == 1 else range
    edges = edges_of(x, bins, limits)
    numbers = numbers_of(x, edges)
    result = rows_of(values, numbers, edges.shape[0] + 1, statistic)
    return BinnedStatisticResult(result[..., 1:-1].copy(), edges, numbers)


@implements(stats.binned_statistic_2d)
def binned_statistic_2d(
    x, y, values, statistic="mean", bins=10, range=None, expand_binnumbers=False  # noqa: A002 - SciPy's name
):  # fmt: skip
    """A statistic of the values whose places are in the same rectangle."""
    x, y = np.asarray(x), np.asarray(y)
    kind = np.result_type(x, y)
    x, y = x.astype(kind), y.astype(kind)
    apart = isinstance(bins, (tuple, list, np.ndarray)) and len(bins) <= 2
    x_bins, y_bins = (bins[0], bins[-1]) if apart else (bins, bins)
    x_limits, y_limits = (None, None) if range is None else range
    x_edges, y_edges = edges_of(x, x_bins, x_limits), edges_of(y, y_bins, y_limits)
    rows, columns = numbers_of(x, x_edges), numbers_of(y, y_edges)
    height, width = x_edges.shape[0] + 1, y_edges.shape[0] + 1
    numbers = rows * width + columns
    result = rows_of(values, numbers, height * width, statistic)
    result = np.reshape(result, (*result.shape[:-1], height, width))[..., 1:-1, 1:-1].copy()
    return BinnedStatistic2dResult(
        result, x_edges, y_edges, np.stack((rows, columns)) if expand_binnumbers else numbers
    )


@implements(stats.binned_statistic_dd)
def binned_statistic_dd(
    sample, values, statistic="mean", bins=10, range=None,  # noqa: A002 - SciPy's name
    expand_binnumbers=False, binned_statistic_result=None,
):  # fmt: skip
    """Statistics of cells in more dimensions are refused: how many there are is not known before the program runs."""
    raise NotImplementedError(
        "scipy.stats.binned_statistic_dd: number the cells by np.digitize, and sum in them by np.bincount"
    )
