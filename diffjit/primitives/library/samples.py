"""Python's `statistics`, which adds fractions: here sums of floats, with what their rounding loses."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import math
import statistics

import numpy as np
import scipy.special

from diffjit.primitives.registry import implements


def listed(data):
    """The items of a sample: an array is read where it stands, an iterator is gone through once."""
    return data if isinstance(data, np.ndarray | list | tuple) else list(data)


def of_the_kind(result, item):
    """A result as NumPy's number where the items are NumPy's: integers are cut, as Python cuts them."""
    if isinstance(item, np.integer | np.float32 | np.float16):
        return np.asarray(result).astype(item.dtype)[()]
    return result


@implements(statistics.mean)
def mean(data):
    """The sum over the number; of Python's ints a float, also where it is whole."""
    items = listed(data)
    n = len(items)
    if n < 1:
        raise statistics.StatisticsError("mean requires at least one data point")
    return of_the_kind(math.fsum(items) / n, items[0])


@implements(statistics.fmean)
def fmean(data, weights=None):
    """The mean as a float, of items that may have weights."""
    items = listed(data)
    n = len(items)
    if weights is None:
        if n < 1:
            raise statistics.StatisticsError("fmean requires at least one data point")
        return math.fsum(items) / n
    shares = listed(weights)
    if len(shares) != n:
        raise statistics.StatisticsError("data and weights must be the same length")
    total = math.fsum(shares)
    if total == 0:
        raise statistics.StatisticsError("sum of weights must be non-zero")
    return math.fsum([x * share for x, share in zip(items, shares, strict=True)]) / total


def squares(items, center):
    """Squared distances from a given point, or from the mean, summed: what rounding of the mean adds is taken off."""
    if center is not None:
        return math.fsum([(x - center) * (x - center) for x in items])
    middle = math.fsum(items) / len(items)
    distances = [x - middle for x in items]
    return math.fsum([d * d for d in distances]) - math.fsum(distances) ** 2 / len(items)


@implements(statistics.variance)
def variance(data, xbar=None):
    """Squared distances from the mean over the number less one."""
    items = listed(data)
    if len(items) < 2:
        raise statistics.StatisticsError("variance requires at least two data points")
    return of_the_kind(squares(items, xbar) / (len(items) - 1), items[0])


@implements(statistics.pvariance)
def pvariance(data, mu=None):
    """Squared distances from the mean over the number."""
    items = listed(data)
    if len(items) < 1:
        raise statistics.StatisticsError("pvariance requires at least one data point")
    return of_the_kind(squares(items, mu) / len(items), items[0])


@implements(statistics.stdev)
def stdev(data, xbar=None):
    """The root of the variance."""
    items = listed(data)
    if len(items) < 2:
        raise statistics.StatisticsError("stdev requires at least two data points")
    return math.sqrt(squares(items, xbar) / (len(items) - 1))


@implements(statistics.pstdev)
def pstdev(data, mu=None):
    """The root of the variance of a whole population."""
    items = listed(data)
    if len(items) < 1:
        raise statistics.StatisticsError("pstdev requires at least one data point")
    return math.sqrt(squares(items, mu) / len(items))


@implements(statistics.harmonic_mean)
def harmonic_mean(data, weights=None):
    """The inverse of the mean of inverses; 0 where one of the items is."""
    items = listed(data)
    n = len(items)
    if n < 1:
        raise statistics.StatisticsError("harmonic_mean requires at least one data point")
    shares = [1.0] * n if weights is None else listed(weights)
    if len(shares) != n:
        raise statistics.StatisticsError("Number of weights does not match data size")
    parts = []
    nothing = False
    for x, share in zip(items, shares, strict=True):
        if x < 0 or share < 0:
            raise statistics.StatisticsError("harmonic mean does not support negative values")
        nothing = nothing or (x == 0 and share != 0)
        parts.append(share / x if x != 0 and share != 0 else 0.0)
    if nothing:
        return 0.0
    total = math.fsum(parts)
    if total <= 0:
        raise statistics.StatisticsError("Weighted sum must be positive")
    return of_the_kind(math.fsum(shares) / total, items[0])


_mean_stdev = getattr(statistics, "_mean_stdev", None)
if _mean_stdev is not None:  # what `NormalDist.from_samples` asks

    @implements(_mean_stdev)
    def mean_stdev(data):
        """The mean and the root of the variance, as floats."""
        items = listed(data)
        return fmean(items), stdev(items)


_quantile = getattr(statistics, "_normal_dist_inv_cdf", None)
if _quantile is not None:

    @implements(_quantile)
    def normal_quantile(p, mu, sigma):
        """The point that a share of a normal distribution lies below."""
        return mu + sigma * float(scipy.special.ndtri(p))
