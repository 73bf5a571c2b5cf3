"""What `scipy.stats` says of samples: moments, scores, quantiles, entropies."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from diffjit.primitives.library.axes import all_axes, as_float, merged_first, one_axis, root
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
    """A sample along its first axis, which several axes become; of one alone, what is not a number may be left out."""
    a = as_float(np.asarray(a))
    if axis is None or a.ndim == 0:
        x = np.ravel(a)
    elif isinstance(axis, (tuple, list)):
        x = merged_first(a, all_axes(axis, a.ndim))
    else:
        x = np.moveaxis(a, one_axis(axis, a.ndim), 0)
    if nan_policy == "propagate":
        return x
    if nan_policy == "raise":
        if np.any(np.isnan(x)):
            raise ValueError("The input contains nan values")
        return x
    if nan_policy != "omit":
        raise ValueError("nan_policy must be one of {'propagate', 'raise', 'omit'}.")
    if x.ndim != 1:
        raise NotImplementedError("scipy.stats with nan_policy='omit' of several samples: call it for each of them")
    return x[~np.isnan(x)]


def restored(found, axis, keepdims, a):
    """A result, with the axes that it was taken along where these are to be kept."""
    if not keepdims:
        return found
    if axis is None:
        return np.reshape(found, (1,) * np.ndim(a))
    return np.expand_dims(found, tuple(axis) if isinstance(axis, list) else axis)


def of_numbers(of, parts, nothing):
    """What a function makes of those elements of samples that are numbers in all of them."""
    keep, found = ~np.isnan(parts[0]), np.full(1, nothing, parts[0].dtype)
    for part in parts[1:]:
        keep = keep & ~np.isnan(part)
    if np.any(keep):
        found[0] = of(*[part[keep] for part in parts])
    return found[0]


def reduced(of, a, axis, nan_policy, keepdims, *more, nothing=np.nan):
    """What a function makes of samples, and of others that belong to them, as `nan_policy` says of each; or of none."""
    if nan_policy != "omit":
        return restored(of(sample(a, axis, nan_policy), *more), axis, keepdims, a)
    parts = (sample(a, axis), *more)
    if parts[0].ndim == 1:
        return restored(of_numbers(of, parts, nothing), axis, keepdims, a)
    columns = [np.reshape(part, (part.shape[0], -1)) for part in parts]
    out = np.zeros(columns[0].shape[1], parts[0].dtype)
    for k in range(out.shape[0]):
        out[k] = of_numbers(of, [column[:, k] for column in columns], nothing)
    return restored(np.reshape(out, parts[0].shape[1:]), axis, keepdims, a)


def central(x, order, center=None):
    """A moment about the mean."""
    if order == 1 and center is None:
        return 0.0 * np.sum(x, axis=0)
    d = x - (np.mean(x, axis=0) if center is None else center)
    return np.mean(d**order, axis=0)


@implements(stats.moment)
def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    """A moment of a sample about its mean, or about a centre."""
    if isinstance(order, (tuple, list)):
        return np.stack([moment(a, k, axis, nan_policy, center=center, keepdims=keepdims) for k in order])
    return reduced(lambda x: central(x, order, center), a, axis, nan_policy, keepdims)


def leaning(x, bias):
    """How much a sample leans to one side."""
    n = x.shape[0]
    found = central(x, 3) / central(x, 2) ** 1.5
    if not bias and n > 2:
        found = found * (np.sqrt((n - 1.0) * n) / (n - 2.0))
    return found


@implements(stats.skew)
def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    """How much a sample leans to one side."""
    return reduced(lambda x: leaning(x, bias), a, axis, nan_policy, keepdims)


def tailed(x, fisher, bias):
    """How heavy the tails of a sample are."""
    n = x.shape[0]
    found = central(x, 4) / central(x, 2) ** 2
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
    return found - 3.0 if fisher else found


@implements(stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    """How heavy the tails of a sample are."""
    return reduced(lambda x: tailed(x, fisher, bias), a, axis, nan_policy, keepdims)


@implements(stats.variation)
def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    """The standard deviation in units of the mean."""
    return reduced(lambda x: np.std(x, axis=0, ddof=ddof) / np.mean(x, axis=0), a, axis, nan_policy, keepdims)


@implements(stats.sem)
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean."""
    return reduced(lambda x: np.std(x, axis=0, ddof=ddof) / np.sqrt(x.shape[0]), a, axis, nan_policy, keepdims)


@implements(stats.describe)
def describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate"):
    """The usual numbers of a sample."""
    if nan_policy == "omit":
        raise NotImplementedError("scipy.stats.describe(nan_policy='omit'): drop what is not a number before")
    x = sample(a, axis, nan_policy)
    return DescribeResult(
        x.shape[0], (np.min(x, axis=0), np.max(x, axis=0)), np.mean(x, axis=0), np.var(x, axis=0, ddof=ddof),
        skew(x, 0, bias), kurtosis(x, 0, True, bias),
    )  # fmt: skip


def scored(x, of, ddof, nan_policy):
    """How many deviations of one sample each element of another is from its mean."""
    if nan_policy == "omit":
        return (x - np.nanmean(of, axis=0)) / np.nanstd(of, axis=0, ddof=ddof)
    return (x - np.mean(of, axis=0)) / np.std(of, axis=0, ddof=ddof)


def whole(a, axis, nan_policy):
    """A sample along its first axis, also where what is not a number is not to count."""
    return sample(a, axis, "propagate" if nan_policy == "omit" else nan_policy)


def unmoved(scores, axis, shape):
    """Scores in the place of what they are of."""
    return np.reshape(scores, shape) if axis is None else np.moveaxis(scores, 0, axis)


@implements(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    """How many standard deviations each element is from the mean."""
    x = whole(a, axis, nan_policy)
    return unmoved(scored(x, x, ddof, nan_policy), axis, np.shape(a))


@implements(stats.gzscore)
def gzscore(a, *, axis=0, ddof=0, nan_policy="propagate"):
    """The scores of logarithms."""
    return zscore(np.log(as_float(np.asarray(a))), axis, ddof, nan_policy)


@implements(stats.zmap)
def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    """How many standard deviations of one sample each element of another is from its mean."""
    of = whole(compare, axis, nan_policy)
    return unmoved(scored(sample(scores, axis), of, ddof, nan_policy), axis, np.shape(scores))


def weights_of(a, weights, axis):
    """The weights of a sample along its first axis: they are broadcast against the sample as it was given."""
    w, shape = as_float(np.asarray(weights)), np.shape(a)
    if axis is None and w.shape != shape:
        raise ValueError("Array shapes are incompatible for broadcasting.")
    return sample(np.broadcast_to(w, shape), axis)


def powered(x, order, w=None):
    """A mean of powers, brought back; of logarithms where the order is 0."""
    of = np.log(x) if order == 0 else np.where(x < 0, np.nan, x) ** (1.0 * order)
    found = np.mean(of, axis=0) if w is None else np.sum(w * of, axis=0) / np.sum(w, axis=0)
    return np.exp(found) if order == 0 else found ** (1.0 / order)


def mean_of_powers(a, order, axis, weights, nan_policy, keepdims):
    """Means of powers of samples, brought back."""
    if weights is None:
        return reduced(lambda x: powered(x, order), a, axis, nan_policy, keepdims)
    w = weights_of(a, weights, axis)
    return reduced(lambda x, w: powered(x, order, w), a, axis, nan_policy, keepdims, w)


@implements(stats.gmean)
def gmean(a, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    """The geometric mean."""
    return mean_of_powers(a, 0, axis, weights, nan_policy, keepdims)


@implements(stats.hmean)
def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False):
    """The harmonic mean."""
    return mean_of_powers(a, -1, axis, weights, nan_policy, keepdims)


@implements(stats.pmean)
def pmean(a, p, *, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    """The mean of powers, brought back."""
    return mean_of_powers(a, p, axis, weights, nan_policy, keepdims)


def trimmed(x, share):
    """The mean without a share of the smallest and of the largest elements."""
    x = np.sort(x, axis=0)
    cut = int(share * x.shape[0])
    if 2 * cut > x.shape[0]:
        raise ValueError("Proportion too big.")
    found = np.mean(x[cut : x.shape[0] - cut], axis=0)
    if x.shape[0] > 0:  # NaN is sorted to the end, where it would be cut off
        found = np.where(np.isnan(x[x.shape[0] - 1]), np.nan, found)
    return found


@implements(stats.trim_mean)
def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate", keepdims=False):
    """The mean without a share of the smallest and of the largest elements."""
    return reduced(lambda x: trimmed(x, proportiontocut), a, axis, nan_policy, keepdims)


def resultant(x, high, low):
    """Mean cosine and sine of angles that begin again after `high - low`."""
    angle = x * (2.0 * np.pi / (high - low))
    return np.mean(np.cos(angle), axis=0), np.mean(np.sin(angle), axis=0)


def concentration(x, high, low):
    """How far the mean of points on a circle is from its centre."""
    cosine, sine = resultant(x, high, low)
    return np.minimum(root(cosine * cosine + sine * sine), 1.0)


def direction(x, high, low):
    """The direction of the mean of points on a circle."""
    cosine, sine = resultant(x, high, low)
    return (np.arctan2(sine, cosine) * ((high - low) / (2.0 * np.pi)) - low) % (high - low) + low


@implements(stats.circmean)
def circmean(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, keepdims=False):
    """The direction of the mean of points on a circle."""
    return reduced(lambda x: direction(x, high, low), samples, axis, nan_policy, keepdims)


@implements(stats.circvar)
def circvar(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, keepdims=False):
    """How far the mean of points on a circle is from it."""
    return reduced(lambda x: 1.0 - concentration(x, high, low), samples, axis, nan_policy, keepdims)


@implements(stats.circstd)
def circstd(samples, high=2 * np.pi, low=0, axis=None, nan_policy="propagate", *, normalize=False, keepdims=False):
    """The standard deviation of angles, by a wrapped normal distribution."""
    unit = 1.0 if normalize else (high - low) / (2.0 * np.pi)
    return reduced(
        lambda x: root(-2.0 * np.log(concentration(x, high, low))) * unit, samples, axis, nan_policy, keepdims
    )


@implements(stats.gstd)
def gstd(a, axis=0, ddof=1, *, keepdims=False, nan_policy="propagate"):
    """The geometric standard deviation."""
    return reduced(lambda x: np.exp(np.std(np.log(x), axis=0, ddof=ddof)), a, axis, nan_policy, keepdims)


def between(x, rng, method):
    """How far two percentiles are apart."""
    low = np.percentile(x, rng[0], axis=0, method=method)
    return np.percentile(x, rng[1], axis=0, method=method) - low


@implements(stats.iqr)
def iqr(
    x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear", keepdims=False
):  # fmt: skip
    """How far two percentiles are apart."""
    unit = (1.3489795003921634 if scale == "normal" else 1.0) if isinstance(scale, str) else scale
    return reduced(lambda a: between(a, rng, interpolation) / unit, x, axis, nan_policy, keepdims)


@implements(stats.median_abs_deviation)
def median_abs_deviation(x, axis=0, center=None, scale=1.0, nan_policy="propagate", *, keepdims=False):
    """The median distance from the median, or from another centre."""
    unit = (0.6744897501960817 if scale == "normal" else 1.0) if isinstance(scale, str) else scale
    middle = np.median if center is None else center
    return reduced(
        lambda a: np.median(np.abs(a - middle(a, axis=0)), axis=0) / unit, x, axis, nan_policy, keepdims
    )  # fmt: skip


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


def divergence(p, q):
    """How far a distribution is from another one."""
    return np.sum(relative(p / np.sum(p, axis=0), q / np.sum(q, axis=0)), axis=0)


@implements(stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    """The entropy of a distribution, or how far it is from another one."""
    unit = 1.0 if base is None else np.log(base)
    if qk is None:
        return reduced(lambda p: gathered(p / np.sum(p, axis=0)) / unit, pk, axis, nan_policy, keepdims, nothing=0.0)
    q = whole(qk, axis, nan_policy)
    return reduced(lambda p, q: divergence(p, q) / unit, pk, axis, nan_policy, keepdims, q, nothing=0.0)
