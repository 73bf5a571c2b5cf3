"""Tests of `scipy.stats`: how samples differ, and how likely that is by chance.

A probability is an incomplete beta or gamma function of the statistic, and is differentiated as that.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.stats.samples import kurtosis, restored, sample, skew
from diffjit.primitives.registry import implements


class TestResult(NamedTuple):
    """A statistic and its probability."""

    statistic: Any
    pvalue: Any


@dataclass
class Finding:
    """A statistic and its probability, of tests whose results SciPy does not make tuples."""

    has_more = "a result of SciPy's"

    statistic: Any
    pvalue: Any


def tested(statistic, pvalue, axis, keepdims, a):
    """A statistic and its probability, with the axes that they were taken along where these are to be kept."""
    return TestResult(restored(statistic, axis, keepdims, a), restored(pvalue, axis, keepdims, a))


class LinregressResult(NamedTuple):
    """A straight line through points."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


TestResult.has_more = LinregressResult.has_more = "a result of SciPy's"  # pyright: ignore[reportAttributeAccessIssue]


def by_side(less, statistic, alternative):
    """A probability, of a statistic that is symmetric, by that of both sides together."""
    if alternative == "two-sided":
        return less
    if alternative == "less":
        return np.where(statistic < 0.0, 0.5 * less, 1.0 - 0.5 * less)[()]
    if alternative == "greater":
        return np.where(statistic > 0.0, 0.5 * less, 1.0 - 0.5 * less)[()]
    raise ValueError("alternative must be 'less', 'greater' or 'two-sided'")


def student(t, free, alternative):
    """The probability of a statistic of Student's distribution."""
    return by_side(special.betainc(0.5 * free, 0.5, free / (free + t * t)), t, alternative)


def snedecor(f, between, within):
    """The probability of a larger quotient of variances."""
    return special.betainc(0.5 * within, 0.5 * between, within / (within + between * f))


def normal(z, alternative):
    """The probability of a statistic of the normal distribution."""
    return by_side(special.erfc(np.abs(z) / np.sqrt(2.0)), z, alternative)


@implements(stats.ttest_1samp)
def ttest_1samp(
    a, popmean, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False
):  # fmt: skip
    """Whether the mean of a sample is a number."""
    x = sample(a, axis, nan_policy)
    n = x.shape[0]
    t = (np.mean(x, axis=0) - popmean) / np.sqrt(np.var(x, axis=0, ddof=1) / n)
    return tested(t, student(t, n - 1.0, alternative), axis, keepdims, a)


@implements(stats.ttest_rel)
def ttest_rel(a, b, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False):
    """Whether two samples of the same things have one mean."""
    return ttest_1samp(as_float(np.asarray(a)) - b, 0.0, axis, nan_policy, alternative, keepdims=keepdims)


@implements(stats.ttest_ind)
def ttest_ind(
    a, b, *, axis=0, equal_var=True, nan_policy="propagate", alternative="two-sided", trim=0, method=None,
    keepdims=False,
):  # fmt: skip
    """Whether two samples have one mean."""
    if trim != 0 or method is not None:
        raise NotImplementedError("scipy.stats.ttest_ind with trim or method: leave them out")
    x, y = sample(a, axis, nan_policy), sample(b, axis, nan_policy)
    v, w = np.var(x, axis=0, ddof=1), np.var(y, axis=0, ddof=1)
    t, chance = apart(
        np.mean(x, axis=0), v, x.shape[0], np.mean(y, axis=0), w, y.shape[0], equal_var, alternative
    )  # fmt: skip
    return tested(t, chance, axis, keepdims, a)


def apart(a, v, n, b, w, m, equal_var, alternative):
    """How far means are apart, by variances and sizes of samples, and how likely that is by chance."""
    if equal_var:  # one element has no variance, and adds nothing to that of both
        v, w = np.where(np.equal(n, 1), 0.0, v), np.where(np.equal(m, 1), 0.0, w)
        free = n + m - 2.0
        spread = np.sqrt(((n - 1) * v + (m - 1) * w) / free * (1.0 / n + 1.0 / m))
    else:
        free = (v / n + w / m) ** 2 / ((v / n) ** 2 / (n - 1) + (w / m) ** 2 / (m - 1))
        spread = np.sqrt(v / n + w / m)
    t = (a - b) / spread
    return t, student(t, free, alternative)


@implements(stats.ttest_ind_from_stats)
def ttest_ind_from_stats(mean1, std1, nobs1, mean2, std2, nobs2, equal_var=True, alternative="two-sided"):
    """Whether two samples have one mean, by their means and standard deviations."""
    # A number alone does not make the others float64, an array does.
    a, v, n, b, w, m = (
        1.0 * part if isinstance(part, (int, float)) else as_float(np.asarray(part))
        for part in (mean1, std1, nobs1, mean2, std2, nobs2)
    )  # fmt: skip
    t, chance = apart(a, v**2, n, b, w**2, m, equal_var, alternative)
    return TestResult(np.asarray(t)[()], np.asarray(chance)[()])


@implements(stats.f_oneway)
def f_oneway(*samples, axis=0, equal_var=True, nan_policy="propagate", keepdims=False):
    """Whether several samples have one mean."""
    if not equal_var:
        raise NotImplementedError("scipy.stats.f_oneway(equal_var=False)")
    xs = [sample(a, axis, nan_policy) for a in samples]
    n, k = sum(x.shape[0] for x in xs), len(xs)
    middle = sum(np.sum(x, axis=0) for x in xs) / n
    between = sum(x.shape[0] * (np.mean(x, axis=0) - middle) ** 2 for x in xs) / (k - 1.0)
    within = sum(np.sum((x - np.mean(x, axis=0)) ** 2, axis=0) for x in xs) / (n - 1.0 * k)
    f = between / within
    return tested(f, snedecor(f, k - 1.0, n - 1.0 * k), axis, keepdims, samples[0])


def leaning(x):
    """The statistic of `skewtest`."""
    n = 1.0 * x.shape[0]
    y = skew(x) * np.sqrt(((n + 1) * (n + 3)) / (6.0 * (n - 2)))
    beta = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1.0 + np.sqrt(2 * (beta - 1))
    delta = 1 / np.sqrt(0.5 * np.log(w2))
    alpha = np.sqrt(2.0 / (w2 - 1))
    y = np.where(y == 0, 1.0, y)[()]
    return delta * np.log(y / alpha + np.sqrt((y / alpha) ** 2 + 1))


def heavy(x):
    """The statistic of `kurtosistest`."""
    n = 1.0 * x.shape[0]
    b2 = kurtosis(x, fisher=False)
    e = 3.0 * (n - 1) / (n + 1)
    spread = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    y = (b2 - e) / np.sqrt(spread)
    root = (
        6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt((6.0 * (n + 3) * (n + 5)) / (n * (n - 2) * (n - 3)))
    )
    a = 6.0 + 8.0 / root * (2.0 / root + np.sqrt(1 + 4.0 / (root**2)))
    below = 1 + y * np.sqrt(2 / (a - 4.0))
    term = np.sign(below) * np.power((1 - 2.0 / a) / np.abs(below), 1 / 3.0)
    return (1 - 2 / (9.0 * a) - term) / np.sqrt(2 / (9.0 * a))


@implements(stats.skewtest)
def skewtest(a, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False):
    """Whether a sample leans as a normal one may."""
    z = leaning(sample(a, axis, nan_policy))
    return tested(z, normal(z, alternative), axis, keepdims, a)


@implements(stats.kurtosistest)
def kurtosistest(a, axis=0, nan_policy="propagate", alternative="two-sided", *, keepdims=False):
    """Whether the tails of a sample are as those of a normal one may be."""
    z = heavy(sample(a, axis, nan_policy))
    return tested(z, normal(z, alternative), axis, keepdims, a)


@implements(stats.normaltest)
def normaltest(a, axis=0, nan_policy="propagate", *, keepdims=False):
    """Whether a sample may be normal."""
    x = sample(a, axis, nan_policy)
    k2 = leaning(x) ** 2 + heavy(x) ** 2
    return tested(k2, np.exp(-0.5 * k2), axis, keepdims, a)


@implements(stats.jarque_bera)
def jarque_bera(x, *, axis=None, nan_policy="propagate", keepdims=False):
    """Whether a sample has the skewness and kurtosis of a normal one."""
    a = sample(x, axis, nan_policy)
    value = a.shape[0] / 6.0 * (skew(a) ** 2 + kurtosis(a) ** 2 / 4.0)
    return tested(value, np.exp(-0.5 * value), axis, keepdims, x)


# Two samples that belong together ------------------------------------------------------------------------------------


def correlation(x, y):
    """Pearson's correlation along the first axis."""
    dx, dy = x - np.mean(x, axis=0), y - np.mean(y, axis=0)
    r = np.sum(dx * dy, axis=0) / np.sqrt(np.sum(dx * dx, axis=0) * np.sum(dy * dy, axis=0))
    return np.minimum(np.maximum(r, -1.0), 1.0)


@implements(stats.pearsonr)
def pearsonr(x, y, *, alternative="two-sided", method=None, axis=0):
    """The correlation of two samples."""
    if method is not None:
        raise NotImplementedError("scipy.stats.pearsonr(method=...): leave it out")
    a, b = sample(x, axis), sample(y, axis)
    n = a.shape[0]
    if n != b.shape[0]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    r = correlation(a, b)
    if n == 2:
        return TestResult(r, 1.0 + 0.0 * r)
    half = 0.5 * n - 1.0
    return TestResult(r, by_side(2.0 * special.betainc(half, half, 0.5 * (1.0 - np.abs(r))), r, alternative))


def pairs(x, y, axis, nan_policy):
    """Two samples that belong together: where one has no number, the other is left out, too."""
    if nan_policy != "omit":
        return sample(x, axis, nan_policy), sample(y, axis, nan_policy)
    a, b = sample(x, axis), sample(y, axis)
    if a.ndim != 1 or b.ndim != 1:
        raise NotImplementedError("scipy.stats with nan_policy='omit' of several samples: call it for each of them")
    keep = ~(np.isnan(a) | np.isnan(b))
    return a[keep], b[keep]


@implements(stats.linregress)
def linregress(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate", keepdims=False):
    """The straight line of least squares through points."""
    a, b = pairs(x, y, axis, nan_policy)
    n = a.shape[0]
    dx, dy = a - np.mean(a, axis=0), b - np.mean(b, axis=0)
    xx, xy, yy = np.mean(dx * dx, axis=0), np.mean(dx * dy, axis=0), np.mean(dy * dy, axis=0)
    r = correlation(a, b)
    slope = xy / xx
    intercept = np.mean(b, axis=0) - slope * np.mean(a, axis=0)
    if n == 2:
        chance, error = np.where(b[0] == b[1], 1.0, 0.0)[()], 0.0 * slope
    else:
        free = n - 2.0
        t = r * np.sqrt(free / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
        chance, error = student(t, free, alternative), np.sqrt((1.0 - r * r) * yy / xx / free)
    return LinregressResult(*(restored(part, axis, keepdims, x) for part in (slope, intercept, r, chance, error)))
