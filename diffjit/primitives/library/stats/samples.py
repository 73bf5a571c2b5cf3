"""What `scipy.stats` says of samples: moments, scores, quantiles, entropies."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from diffjit.primitives.library.axes import as_float, one_axis, root
from diffjit.primitives.registry import implements


class DescribeResult(NamedTuple):
    """What `describe` gives."""

    nobs: Any
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


def sample(a, axis, nan_policy="propagate"):
    """A sample along its first axis."""
    if nan_policy != "propagate":
        raise NotImplementedError(f"scipy.stats with nan_policy={nan_policy!r}: drop what is not a number before")
    a = as_float(np.asarray(a))
    if axis is None:
        return np.ravel(a)
    return np.moveaxis(a, one_axis(axis, a.ndim), 0)


def restored(found, axis, keepdims):
    """A result, with the axis that it was taken along where it is to be kept."""
    if not keepdims:
        return found
    if axis is None:
        raise NotImplementedError("scipy.stats with axis=None and keepdims: reshape the result")
    return np.expand_dims(found, axis)


def central(x, order, center=None):
    """A moment about the mean."""
    d = x - (np.mean(x, axis=0) if center is None else center)
    return np.mean(d**order, axis=0)


@implements(stats.moment)
def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    """A moment of a sample about its mean, or about a centre."""
    x = sample(a, axis, nan_policy)
    if isinstance(order, (tuple, list)):
        return np.stack([central(x, k, center) if k != 1 or center is not None else 0.0 * x[0] for k in order])
    if order == 1 and center is None:
        return restored(0.0 * np.sum(x, axis=0), axis, keepdims)
    return restored(central(x, order, center), axis, keepdims)


@implements(stats.skew)
def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    """How much a sample leans to one side."""
    x = sample(a, axis, nan_policy)
    n = x.shape[0]
    found = central(x, 3) / central(x, 2) ** 1.5
    if not bias and n > 2:
        found = found * (np.sqrt((n - 1.0) * n) / (n - 2.0))
    return restored(found, axis, keepdims)


@implements(stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    """How heavy the tails of a sample are."""
    x = sample(a, axis, nan_policy)
    n = x.shape[0]
    found = central(x, 4) / central(x, 2) ** 2
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
    return restored(found - 3.0 if fisher else found, axis, keepdims)


@implements(stats.variation)
def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    """The standard deviation in units of the mean."""
    x = sample(a, axis, nan_policy)
    return restored(np.std(x, axis=0, ddof=ddof) / np.mean(x, axis=0), axis, keepdims)


@implements(stats.sem)
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean."""
    x = sample(a, axis, nan_policy)
    return restored(np.std(x, axis=0, ddof=ddof) / np.sqrt(x.shape[0]), axis, keepdims)


@implements(stats.describe)
def describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate"):
    """The usual numbers of a sample."""
    x = sample(a, axis, nan_policy)
    return DescribeResult(
        x.shape[0], (np.min(x, axis=0), np.max(x, axis=0)), np.mean(x, axis=0), np.var(x, axis=0, ddof=ddof),
        skew(x, 0, bias), kurtosis(x, 0, True, bias),
    )  # fmt: skip


def scored(x, of, ddof):
    """How many deviations of one sample each element of another is from its mean."""
    return (x - np.mean(of, axis=0)) / np.std(of, axis=0, ddof=ddof)


def unmoved(scores, axis, shape):
    """Scores in the place of what they are of."""
    return np.reshape(scores, shape) if axis is None else np.moveaxis(scores, 0, axis)


@implements(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    """How many standard deviations each element is from the mean."""
    x = sample(a, axis, nan_policy)
    return unmoved(scored(x, x, ddof), axis, np.shape(a))


@implements(stats.gzscore)
def gzscore(a, *, axis=0, ddof=0, nan_policy="propagate"):
    """The scores of logarithms."""
    return zscore(np.log(as_float(np.asarray(a))), axis, ddof, nan_policy)


@implements(stats.zmap)
def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    """How many standard deviations of one sample each element of another is from its mean."""
    of = sample(compare, axis, nan_policy)
    return unmoved(scored(sample(scores, axis, nan_policy), of, ddof), axis, np.shape(scores))


def weights_of(a, weights, axis):
    """The weights of a sample along its first axis: they are broadcast against the sample as it was given."""
    if weights is None:
        return None
    w, shape = as_float(np.asarray(weights)), np.shape(a)
    if axis is None and w.shape != shape:
        raise ValueError("Array shapes are incompatible for broadcasting.")
    return sample(np.broadcast_to(w, shape), axis)


def powered(x, w, order):
    """A mean of powers, brought back; of logarithms where the order is 0."""
    of = np.log(x) if order == 0 else np.where(x < 0, np.nan, x) ** (1.0 * order)
    found = np.mean(of, axis=0) if w is None else np.sum(w * of, axis=0) / np.sum(w, axis=0)
    return np.exp(found) if order == 0 else found ** (1.0 / order)


@implements(stats.gmean)
def gmean(a, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    """The geometric mean."""
    return restored(powered(sample(a, axis, nan_policy), weights_of(a, weights, axis), 0), axis, keepdims)


@implements(stats.hmean)
def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False):
    """The harmonic mean."""
    return restored(powered(sample(a, axis, nan_policy), weights_of(a, weights, axis), -1), axis, keepdims)


@implements(stats.pmean)
def pmean(a, p, *, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    """The mean of powers, brought back."""
    return restored(powered(sample(a, axis, nan_policy), weights_of(a, weights, axis), p), axis, keepdims)


@implements(stats.trim_mean)
def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate", keepdims=False):
    """The mean without a share of the smallest and of the largest elements."""
    x = np.sort(sample(a, axis, nan_policy), axis=0)
    cut = int(proportiontocut * x.shape[0])
    if 2 * cut > x.shape[0]:
        raise ValueError("Proportion too big.")
    found = np.mean(x[cut : x.shape[0] - cut], axis=0)
    if x.shape[0] > 0:  # NaN is sorted to the end, where it would be cut off
        found = np.where(np.isnan(x[x.shape[0] - 1]), np.nan, found)
    return restored(found, axis, keepdims)


def resultant(samples, high, low, axis, nan_policy):
    """Mean cosine and sine of angles that begin again after `high - low`."""
    angle = sample(samples, axis, nan_policy) * (2.0 * np.pi / (high - low))
    return np.mean(np.cos(angle), axis=0), np.mean(np.sin(angle), axis=0)


def concentration(samples, high, low, axis, nan_policy):
    """How far the mean of points on a circle is from its centre."""
    cosine, sine = resultant(samples, high, low, axis, nan_policy)
    return np.minimum(root(cosine * cosine + sine * sine), 1.0)


@implements(stats.circmean)
def circmean(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, keepdims=False):
    """The direction of the mean of points on a circle."""
    cosine, sine = resultant(samples, high, low, axis, nan_policy)
    found = (np.arctan2(sine, cosine) * ((high - low) / (2.0 * np.pi)) - low) % (high - low) + low
    return restored(found, axis, keepdims)


@implements(stats.circvar)
def circvar(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, keepdims=False):
    """How far the mean of points on a circle is from it."""
    return restored(1.0 - concentration(samples, high, low, axis, nan_policy), axis, keepdims)


@implements(stats.circstd)
def circstd(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, normalize=False, keepdims=False):
    """The standard deviation of angles, by a wrapped normal distribution."""
    found = root(-2.0 * np.log(concentration(samples, high, low, axis, nan_policy)))
    return restored(found if normalize else found * ((high - low) / (2.0 * np.pi)), axis, keepdims)


@implements(stats.gstd)
def gstd(a, axis=0, ddof=1, *, keepdims=False, nan_policy="propagate"):
    """The geometric standard deviation."""
    x = sample(a, axis, nan_policy)
    return restored(np.exp(np.std(np.log(x), axis=0, ddof=ddof)), axis, keepdims)


@implements(stats.iqr)
def iqr(
    x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear", keepdims=False
):  # fmt: skip
    """How far two percentiles are apart."""
    a = sample(x, axis, nan_policy)
    unit = (1.3489795003921634 if scale == "normal" else 1.0) if isinstance(scale, str) else scale
    low = np.percentile(a, rng[0], axis=0, method=interpolation)
    high = np.percentile(a, rng[1], axis=0, method=interpolation)
    return restored((high - low) / unit, axis, keepdims)


@implements(stats.median_abs_deviation)
def median_abs_deviation(x, axis=0, center=np.median, scale=1.0, nan_policy="propagate", *, keepdims=False):
    """The median distance from the median, or from another centre."""
    a = sample(x, axis, nan_policy)
    unit = (0.6744897501960817 if scale == "normal" else 1.0) if isinstance(scale, str) else scale
    found = np.median(np.abs(a - center(a, axis=0)), axis=0)
    return restored(found / unit, axis, keepdims)


@implements(stats.scoreatpercentile)
def scoreatpercentile(a, per, limit=(), interpolation_method="fraction", axis=None):
    """The element at a percentile, or between two."""
    if len(limit) > 0:
        raise NotImplementedError("scipy.stats.scoreatpercentile(limit=...): choose the elements before")
    method = "linear" if interpolation_method == "fraction" else interpolation_method
    return np.percentile(as_float(np.asarray(a)), per, axis=axis, method=method)


def quantile_between(x, prob, alphap, betap):
    """Quantiles between the elements of a sorted sample."""
    n = x.shape[0]
    place = n * prob + alphap + prob * (1.0 - alphap - betap)
    k = np.floor(np.minimum(np.maximum(place, 1), n - 1)).astype(int)
    part = np.minimum(np.maximum(place - k, 0.0), 1.0)
    part = np.reshape(part, part.shape + (1,) * (x.ndim - 1))
    return (1.0 - part) * x[k - 1] + part * x[k]


@implements(stats.mstats.mquantiles)
def mquantiles(a, prob=(0.25, 0.5, 0.75), alphap=0.4, betap=0.4, axis=None, limit=()):
    """Quantiles by a formula with two parameters."""
    if len(limit) > 0:
        raise NotImplementedError("scipy.stats.mstats.mquantiles(limit=...): choose the elements before")
    x = np.sort(sample(a, axis), axis=0)
    found = quantile_between(x, np.atleast_1d(np.asarray(prob)) * 1.0, alphap, betap)
    return found if axis is None else np.moveaxis(found, 0, axis)


def gathered(terms):
    """Sums of `-p log p`, where zeros add nothing; negative ones are no probabilities."""
    positive = terms > 0.0
    rest = np.where(terms == 0.0, 0.0, np.where(np.isnan(terms), np.nan, np.inf))
    return -np.sum(np.where(positive, terms * np.log(np.where(positive, terms, 1.0)), rest), axis=0)


def relative(p, q):
    """The terms `p log(p / q)`, infinite where these are no probabilities."""
    both, none = (p > 0.0) & (q > 0.0), (p == 0.0) & (q >= 0.0)
    rest = np.where(none, 0.0, np.where(np.isnan(p) | np.isnan(q), np.nan, np.inf))
    return np.where(both, p * np.log(np.where(both, p, 1.0) / np.where(both, q, 1.0)), rest)


@implements(stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    """The entropy of a distribution, or how far it is from another one."""
    p = sample(pk, axis, nan_policy)
    p = p / np.sum(p, axis=0)
    if qk is None:
        found = gathered(p)
    else:
        q = sample(qk, axis, nan_policy)
        q = q / np.sum(q, axis=0)
        found = np.sum(relative(p, q), axis=0)
    if base is not None:
        found = found / np.log(base)
    return restored(found, axis, keepdims)
