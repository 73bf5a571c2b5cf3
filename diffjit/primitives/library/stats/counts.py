"""Tests of `scipy.stats` on counts, probabilities and spreads; lines through medians."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from diffjit.primitives.library.axes import as_float, one_axis, places
from diffjit.primitives.library.stats.samples import restored, sample
from diffjit.primitives.library.stats.tests import Finding, pearsonr, snedecor, student, tested
from diffjit.primitives.registry import implements

# Counts ---------------------------------------------------------------------------------------------------------------

POWERS = {
    "pearson": 1, "log-likelihood": 0, "freeman-tukey": -0.5, "mod-log-likelihood": -1, "neyman": -2,
    "cressie-read": 2 / 3,
}  # fmt: skip


def agree(seen, wanted):
    """Refuse expected counts of another sum."""
    one, other = np.sum(seen, axis=0), np.sum(wanted, axis=0)
    near = np.finfo(np.result_type(seen.dtype, wanted.dtype)).eps ** 0.5
    if np.any(np.abs(one - other) > near * np.minimum(np.abs(one), np.abs(other))):
        raise ValueError("For each axis slice, the sum of the observed frequencies must agree with the sum of the "
                         "expected frequencies")  # fmt: skip


def diverging(seen, wanted, power):
    """How far counts are from those that are expected, as one of the powers measures it, term by term."""
    if power == 1:
        return (seen - wanted) ** 2 / wanted
    if power == 0:
        return 2.0 * special.xlogy(seen, seen / wanted)
    if power == -1:
        return 2.0 * special.xlogy(wanted, wanted / seen)
    return seen * ((seen / wanted) ** power - 1) / (0.5 * power * (power + 1))


def divergence(f_obs, f_exp, ddof, axis, lambda_, sum_check, nan_policy="propagate", keepdims=False):
    """How far counts are from those that are expected, and how likely that is by chance."""
    if isinstance(lambda_, str):
        if lambda_ not in POWERS:
            raise ValueError(f"invalid string for lambda_: {lambda_!r}. Valid strings are {tuple(POWERS)}")
        lambda_ = POWERS[lambda_]
    power = 1 if lambda_ is None else lambda_
    if f_exp is None:
        seen = sample(f_obs, axis, nan_policy)
        wanted = np.mean(seen, axis=0) + 0.0 * seen
    else:
        a, b = np.broadcast_arrays(as_float(np.asarray(f_obs)), as_float(np.asarray(f_exp)))
        seen, wanted = sample(a, axis), sample(b, axis)
        if nan_policy == "omit":
            raise NotImplementedError("nan_policy='omit' with f_exp: drop what is not a number before")
        if sum_check:
            agree(seen, wanted)
    found = np.sum(diverging(seen, wanted, power), axis=0)
    chance = special.gammaincc(0.5 * (seen.shape[0] - 1.0 - ddof), 0.5 * found)
    return tested(found, chance, axis, keepdims, f_obs)


@implements(stats.chisquare)
def chisquare(f_obs, f_exp=None, ddof=0, axis=0, *, sum_check=True):
    """Whether counts are those that are expected."""
    return divergence(f_obs, f_exp, ddof, axis, 1, sum_check)


@implements(stats.power_divergence)
def power_divergence(
    f_obs, f_exp=None, ddof=0, axis=0, lambda_=None, *, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """Whether counts are those that are expected, by one of several measures."""
    return divergence(f_obs, f_exp, ddof, axis, lambda_, True, nan_policy, keepdims)


class Chi2ContingencyResult(NamedTuple):
    """What `chi2_contingency` gives."""

    statistic: Any
    pvalue: Any
    dof: Any
    expected_freq: Any


@implements(stats.contingency.expected_freq)
def expected_freq(observed):
    """The table that sums along its axes make if these have nothing to do with each other."""
    table = np.asarray(observed).astype(np.float64)
    if table.ndim == 0:
        raise TypeError("scipy.stats.contingency: a number is no table")
    axes = places(table.ndim)
    found = np.sum(table) ** (1.0 - table.ndim)
    for k in axes:
        found = found * np.sum(table, axis=tuple(j for j in axes if j != k), keepdims=True)
    return found


@implements(stats.chi2_contingency)
def chi2_contingency(observed, correction=True, lambda_=None, *, method=None):
    """Whether the axes of a table have nothing to do with each other."""
    if method is not None:
        raise NotImplementedError("scipy.stats.chi2_contingency(method=...): leave it out")
    table = np.asarray(observed).astype(np.float64)
    if np.any(table < 0):
        raise ValueError("All values in `observed` must be nonnegative.")
    size = math.prod(table.shape)
    if size == 0:
        raise ValueError("No data; `observed` has size 0.")
    wanted = expected_freq(table)
    if np.any(wanted == 0):
        raise ValueError("The internally computed table of expected frequencies has a zero element.")
    free = size - sum(table.shape) + table.ndim - 1
    if free == 1 and correction:
        table = table + np.clip(wanted - table, -0.5, 0.5)
    found = divergence(table, wanted, size - 1 - free, None, lambda_, True)
    apart = np.where(free == 0, 0.0, found.statistic)[()]
    return Chi2ContingencyResult(apart, np.where(free == 0, 1.0, found.pvalue)[()], free, wanted)


# Probabilities --------------------------------------------------------------------------------------------------------


@implements(stats.combine_pvalues)
def combine_pvalues(pvalues, method="fisher", weights=None, *, axis=0, nan_policy="propagate", keepdims=False):
    """The probability that several tests give together."""
    p = sample(pvalues, axis, nan_policy)
    n = 1.0 * p.shape[0]
    if method == "fisher":
        found = -2 * np.sum(np.log(p), axis=0)
        chance = special.gammaincc(n, 0.5 * found)
    elif method == "pearson":
        found = 2 * np.sum(np.log1p(-p), axis=0)
        chance = special.gammainc(n, -0.5 * found)
    elif method == "mudholkar_george":
        free = 5 * n + 4
        found = -np.sum(np.log(p), axis=0) + np.sum(np.log1p(-p), axis=0)
        chance = student(found * (np.sqrt(3 / n) / np.pi) * np.sqrt(free / (free - 2)), free, "greater")
    elif method == "tippett":
        found = np.min(p, axis=0)
        chance = -np.expm1(n * np.log1p(-found))
    elif method == "stouffer":
        if weights is None:
            w = np.ones(p.shape, p.dtype)
        elif nan_policy == "omit":
            raise NotImplementedError("weights with nan_policy='omit': drop what is not a number before")
        else:
            w = sample(np.broadcast_to(as_float(np.asarray(weights)), np.shape(pvalues)), axis, nan_policy)
        found = np.sum(-w * special.ndtri(p), axis=0) / np.sqrt(np.sum(w * w, axis=0))
        chance = special.ndtr(-found)
    else:
        raise ValueError(f"Invalid method {method!r}. Valid methods are 'fisher', 'pearson', 'mudholkar_george', "
                         "'tippett', and 'stouffer'")  # fmt: skip
    found, chance = np.where(n == 0, np.nan, found)[()], np.where(n == 0, np.nan, chance)[()]
    return tested(found, chance, axis, keepdims, pvalues)


@implements(stats.false_discovery_control)
def false_discovery_control(ps, *, axis=0, method="bh"):
    """Probabilities that the share of false discoveries is bounded by."""
    p = np.asarray(ps)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("All values in `ps` must lie between 0. and 1.")
    method = method.lower()
    if method not in ("bh", "by"):
        raise ValueError(f"Unrecognized `method` '{method}'. Method must be one of 'bh', 'by'.")
    p = as_float(p)
    if p.ndim == 0:
        return p[()]
    if axis is None:
        p, axis = np.ravel(p), 0
    x = np.moveaxis(p, one_axis(axis, p.ndim), -1)
    m = x.shape[-1]
    order = np.argsort(x, axis=-1)
    factor = m / np.arange(1.0, m + 1)
    if method == "by":
        factor = factor * np.sum(1.0 / np.arange(1.0, m + 1))
    raised = np.take_along_axis(x, order, axis=-1) * factor
    least = np.minimum.accumulate(raised[..., ::-1], axis=-1)[..., ::-1]
    back = np.take_along_axis(least, np.argsort(order, axis=-1), axis=-1)
    return np.moveaxis(np.clip(back, 0.0, 1.0) if m > 1 else x, -1, axis)


@implements(stats.percentileofscore)
def percentileofscore(a, score, kind="rank", nan_policy="propagate"):
    """How many elements are smaller than a number, of a hundred; it jumps where the number passes an element."""
    if nan_policy == "omit":
        raise NotImplementedError("scipy.stats.percentileofscore(nan_policy='omit'): drop what is not a number before")
    if kind not in ("rank", "strict", "weak", "mean"):
        raise ValueError("kind can only be 'rank', 'strict', 'weak' or 'mean'")
    if np.ndim(a) != 1:
        raise ValueError("`a` must be 1-dimensional.")
    x, at = sample(a, None, nan_policy), np.asarray(score)[..., None]
    if nan_policy == "raise" and np.any(np.isnan(at)):
        raise ValueError("The input contains nan values")
    n = x.shape[0]
    below, upto = np.sum(x < at, axis=-1), np.sum(x <= at, axis=-1)
    if kind == "rank":
        found = (below + upto + np.where(below < upto, 1.0, 0.0)) * (50.0 / n)
    elif kind == "mean":
        found = (below + upto) * (50.0 / n)
    else:
        found = (below if kind == "strict" else upto) * (100.0 / n)
    return np.where(np.isnan(at[..., 0]) | np.any(np.isnan(x)), np.nan, found)[()]


# Spreads --------------------------------------------------------------------------------------------------------------


@implements(stats.levene)
def levene(
    *samples, center="median", proportiontocut=0.05, axis=0, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """Whether samples have one variance, by distances from their middles."""
    if center not in ("mean", "median", "trimmed"):
        raise ValueError("center must be 'mean', 'median' or 'trimmed'.")
    if len(samples) < 2:
        raise ValueError("Must provide at least two samples.")
    if center == "trimmed":
        raise NotImplementedError("scipy.stats.levene(center='trimmed'), which differs between versions of SciPy")
    xs = [sample(a, axis, nan_policy) for a in samples]
    middle_of = np.median if center == "median" else np.mean
    far = [np.abs(x - middle_of(x, axis=0)) for x in xs]
    sizes, means = [1.0 * x.shape[0] for x in xs], [np.mean(z, axis=0) for z in far]
    n, k = sum(sizes), len(samples)
    middle = sum(size * mean for size, mean in zip(sizes, means, strict=True)) / n
    between = sum(size * (mean - middle) ** 2 for size, mean in zip(sizes, means, strict=True))
    within = sum(np.sum((z - mean) ** 2, axis=0) for z, mean in zip(far, means, strict=True))
    found = (n - k) * between / ((k - 1.0) * within)
    return tested(found, snedecor(found, k - 1.0, n - k), axis, keepdims, samples[0])


@implements(stats.bartlett)
def bartlett(*samples, axis=0, nan_policy="propagate", keepdims=False):
    """Whether normal samples have one variance."""
    k = len(samples)
    if k < 2:
        raise ValueError("Must enter at least two input sample vectors.")
    xs = [sample(a, axis, nan_policy) for a in samples]
    free = [x.shape[0] - 1.0 for x in xs]
    spreads = [np.var(x, axis=0, ddof=1) for x in xs]
    rest = sum(free)
    pooled = sum(f * v for f, v in zip(free, spreads, strict=True)) / rest
    top = rest * np.log(pooled) - sum(f * np.log(v) for f, v in zip(free, spreads, strict=True))
    found = top / (1 + (sum(1.0 / f for f in free) - 1.0 / rest) / (3.0 * (k - 1)))
    found = np.where(found < 0, 0.0, found)  # by rounding
    return tested(found[()], special.gammaincc(0.5 * (k - 1), 0.5 * found)[()], axis, keepdims, samples[0])


@implements(stats.alexandergovern)
def alexandergovern(*samples, nan_policy="propagate", axis=0, keepdims=False):
    """Whether samples of different variances have one mean."""
    if len(samples) < 2:
        raise TypeError(f"2 or more inputs required, got {len(samples)}")
    xs = [sample(a, axis, nan_policy) for a in samples]
    means = [np.mean(x, axis=0) for x in xs]
    squares = [np.var(x, axis=0, ddof=1) / x.shape[0] for x in xs]
    whole = sum(1.0 / square for square in squares)
    middle = sum(mean / square for mean, square in zip(means, squares, strict=True)) / whole
    found = 0.0
    for x, mean, square in zip(xs, means, squares, strict=True):
        t2, v = (mean - middle) ** 2 / square, x.shape[0] - 1.0
        a = v - 0.5
        b, c2 = 48 * a**2, a * np.log1p(t2 / v)
        # The square of a polynomial in sqrt(c2) that is odd: smooth where a mean is that of all.
        over = (4 * c2**3 + 33 * c2**2 + 240 * c2 + 855) / (10 * b**2 + 8 * b * c2**2 + 1000 * b)
        z = 1.0 + (c2 + 3) / b - over
        found = found + c2 * z**2
    chance = special.gammaincc(0.5 * (len(samples) - 1), 0.5 * found)
    return Finding(restored(found, axis, keepdims, samples[0]), restored(chance, axis, keepdims, samples[0]))


@implements(stats.pointbiserialr)
def pointbiserialr(x, y, *, axis=0):
    """The correlation of truth values with numbers."""
    return pearsonr(x, y, axis=axis)


# Lines through medians ------------------------------------------------------------------------------------------------


class TheilslopesResult(NamedTuple):
    """The median of slopes between points, and an interval of it."""

    slope: Any
    intercept: Any
    low_slope: Any
    high_slope: Any


class SiegelslopesResult(NamedTuple):
    """The median of medians of slopes between points."""

    slope: Any
    intercept: Any


def points(y, x, axis, name):
    """One sample of points."""
    y = as_float(np.asarray(y))
    if axis is not None and y.ndim > 1:
        raise NotImplementedError(f"scipy.stats.{name} along an axis: call it for each sample")
    y = np.ravel(y)
    x = np.arange(y.shape[0], dtype=y.dtype) if x is None else np.ravel(as_float(np.asarray(x)))
    if x.shape[0] != y.shape[0]:
        raise ValueError("Array shapes are incompatible for broadcasting.")
    if x.shape[0] < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    return y, x


def ties(x):
    """What groups of equal elements take away from a variance of signs."""
    many = np.sum(x[:, None] == x[None, :], axis=1)
    return np.sum((many - 1) * (2 * many + 5))


@implements(stats.theilslopes)
def theilslopes(
    y, x=None, alpha=0.95, method="separate", *, axis=None, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """The median of the slopes between points, and an interval of it."""
    if method not in ("joint", "separate"):
        raise ValueError(f"method must be either 'joint' or 'separate'. '{method}' is invalid.")
    if nan_policy == "omit" or keepdims:
        raise NotImplementedError("scipy.stats.theilslopes(nan_policy='omit', keepdims=True)")
    y, x = points(y, x, axis, "theilslopes")
    n = y.shape[0]
    first, second = np.triu_indices(n, 1)
    apart = x[first] - x[second]
    slopes = np.sort((y[first] - y[second])[apart != 0] / apart[apart != 0])
    slope = np.median(slopes)
    intercept = np.median(y - slope * x) if method == "joint" else np.median(y) - slope * np.median(x)
    z = special.ndtri(0.5 * np.where(alpha > 0.5, 1.0 - alpha, alpha))
    count = slopes.shape[0]
    spread = np.sqrt(np.maximum((n * (n - 1) * (2 * n + 5) - ties(x) - ties(y)) / 18.0, 0.0))
    upper = np.minimum(np.round((count - z * spread) / 2.0).astype(np.int64), count - 1)
    lower = np.maximum(np.round((count + z * spread) / 2.0).astype(np.int64) - 1, 0)
    whole = np.isnan(slope)  # what is not a number is sorted to the end
    low, high = np.where(whole, slope, slopes[lower])[()], np.where(whole, slope, slopes[upper])[()]
    return TheilslopesResult(slope, intercept, low, high)


@implements(stats.siegelslopes)
def siegelslopes(
    y, x=None, method="hierarchical", *, axis=None, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """The median of the medians of the slopes from points to others."""
    if method not in ("hierarchical", "separate"):
        raise ValueError(f"method must be either 'hierarchical' or 'separate'. '{method}' is invalid.")
    if nan_policy == "omit" or keepdims:
        raise NotImplementedError("scipy.stats.siegelslopes(nan_policy='omit', keepdims=True)")
    y, x = points(y, x, axis, "siegelslopes")
    n = y.shape[0]
    middles, crossings = np.zeros(n, y.dtype), np.zeros(n, y.dtype)
    for k in range(n):
        other = x != x[k]
        slopes = (y[other] - y[k]) / (x[other] - x[k])
        middles[k] = np.median(slopes)
        crossings[k] = np.median(y[k] - slopes * x[k])
    slope = np.median(middles)
    return SiegelslopesResult(slope, np.median(crossings if method == "separate" else y - slope * x))
