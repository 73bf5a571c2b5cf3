"""Ranks by SciPy's names, and what is made of them: constants, which SciPy's own code finds.

They jump where two elements change places. Correlations of ranks are numbers with a derivative of zero.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import stats

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import one_axis
from diffjit.primitives.library.stats.samples import sample
from diffjit.primitives.library.stats.tests import TestResult, student, tested
from diffjit.primitives.registry import implements

PLACES = foreign(
    lambda a, method, axis, policy: np.asarray(
        stats.rankdata(np.asarray(a), method, axis=axis, nan_policy=policy), float
    ),
    result=lambda a, method, axis, policy: np.zeros(a.shape),
)
RANKS = foreign(
    lambda a, method, axis: np.asarray(stats.rankdata(np.asarray(a), method, axis=axis), np.int64),
    result=lambda a, method, axis: np.zeros(a.shape, np.int64),
)


@implements(stats.rankdata)
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The places of elements in their order."""
    a = stop_gradient(np.asarray(a))
    a = np.ravel(a) if axis is None else a
    if nan_policy == "omit":
        return PLACES(a, method, axis, nan_policy)
    if nan_policy == "raise" and np.any(np.isnan(a)):
        raise ValueError("The input contains nan values")
    return PLACES(a, method, axis, "propagate") if method == "average" else RANKS(a, method, axis)


@implements(stats.spearmanr)
def spearmanr(a, b=None, axis=0, nan_policy="propagate", alternative="two-sided"):
    """The correlation of ranks."""
    if nan_policy != "propagate":
        raise NotImplementedError("scipy.stats.spearmanr(nan_policy=...): drop what is not a number before")
    columns = as_columns(a, axis)
    if b is not None:
        columns = np.concatenate((columns, as_columns(b, axis)), axis=1)
    if columns.shape[1] < 2:
        raise ValueError("`spearmanr` needs at least 2 variables to compare")
    n = columns.shape[0]
    ranks = rankdata(columns, axis=0)
    r = np.corrcoef(ranks, rowvar=False)
    t = r * np.sqrt(np.maximum((n - 2.0) / ((r + 1.0) * (1.0 - r)), 0.0))
    if columns.shape[1] == 2:
        return TestResult(r[1, 0], student(t[1, 0], n - 2.0, alternative))
    return TestResult(r, student(t, n - 2.0, alternative))


def as_columns(a, axis):
    """What is observed of each variable as a column; all elements are one without an axis."""
    a = np.asarray(a)
    if axis is None or a.ndim < 2:
        return np.reshape(a, (-1, 1))
    if a.ndim > 2:
        raise ValueError("spearmanr only handles 1-D or 2-D arrays")
    return a.T if one_axis(axis, 2) == 1 else a


def tau_by_scipy(x, y, given):
    """SciPy's correlation of orders."""
    found = stats.kendalltau(np.asarray(x), np.asarray(y), **given)
    return float(found.statistic), float(found.pvalue)


TAU = foreign(tau_by_scipy, result=lambda x, y, given: (0.0, 0.0))


@implements(stats.kendalltau)
def kendalltau(
    x, y, *, nan_policy="propagate", method="auto", variant="b", alternative="two-sided", axis=None, keepdims=False
):
    """The correlation of orders."""
    if axis is not None and (np.ndim(x) > 1 or np.ndim(y) > 1):
        raise NotImplementedError("scipy.stats.kendalltau along an axis: call it for each pair")
    given = {"nan_policy": nan_policy, "method": method, "variant": variant, "alternative": alternative}
    tau, chance = TAU(stop_gradient(np.ravel(np.asarray(x))), stop_gradient(np.ravel(np.asarray(y))), given)
    return tested(tau, chance, axis, keepdims, x)


# Distributions that samples may be of --------------------------------------------------------------------------------


def distribution_of(n, alternative, method):
    """SciPy's distribution of the distance, its parameters, and by what the distance is multiplied."""
    if alternative != "two-sided":
        return stats.ksone, (n,), 1.0
    if method in ("auto", "exact"):
        return stats.kstwo, (n,), 1.0
    return stats.kstwobign, (), np.sqrt(n)


def chance_by_scipy(d, n, alternative, method):
    """SciPy's probability that a sample is further from its distribution."""
    distribution, given, scale = distribution_of(n, alternative, method)
    return np.asarray(np.clip(distribution.sf(np.asarray(d) * scale, *given), 0, 1), float)


def density_by_scipy(d, n, alternative, method):
    """SciPy's density of the distance of a sample from its distribution."""
    distribution, given, scale = distribution_of(n, alternative, method)
    return np.asarray(distribution.pdf(np.asarray(d) * scale, *given) * scale, float)


CHANCE_BY_SCIPY = foreign(chance_by_scipy, result=lambda d, n, alternative, method: np.zeros(d.shape))
DENSITY_BY_SCIPY = foreign(density_by_scipy, result=lambda d, n, alternative, method: np.zeros(d.shape))


def no_slope(d):
    """Refuse a second derivative."""
    raise NotImplementedError("second derivatives of the probability of kstest: SciPy has no slope of its density")


SLOPE = foreign(no_slope, result=lambda d: np.zeros(d.shape))


def chance(d, n, alternative, method):
    return CHANCE_BY_SCIPY(d, n, alternative, method)


def density(d, n, alternative, method):
    return DENSITY_BY_SCIPY(d, n, alternative, method)


CHANCE, DENSITY = custom_jvp(chance), custom_jvp(density)


@CHANCE.defjvp
def chance_jvp(primals, tangents):
    """A larger distance is less likely, by the density there."""
    return CHANCE(*primals), -DENSITY(*primals) * tangents[0]


@DENSITY.defjvp
def density_jvp(primals, tangents):
    """SciPy has no slope of the density: where one is needed, the program that needs it is refused."""
    return DENSITY(*primals), SLOPE(primals[0]) * tangents[0]


def distances(data, cdf, args, axis, nan_policy):
    """How far a sample's steps are above and below a distribution."""
    x = np.sort(sample(data, axis, nan_policy), axis=0)
    values = getattr(stats, cdf).cdf(x, *args) if isinstance(cdf, str) else cdf(x, *args)
    n = x.shape[0]
    steps = np.reshape(np.arange(1.0, n + 1) / n, (-1,) + (1,) * (x.ndim - 1))
    return np.max(steps - values, axis=0), np.max(values - (steps - 1.0 / n), axis=0), n


@implements(stats.ks_1samp)
def ks_1samp(
    x, cdf, args=(), alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate", keepdims=False
):
    """How far a sample is from a distribution."""
    above, below, n = distances(x, cdf, args, axis, nan_policy)
    d = above if alternative == "greater" else (below if alternative == "less" else np.maximum(above, below))
    return tested(d, CHANCE(np.asarray(d), n, alternative, method)[()], axis, keepdims, x)


@implements(stats.kstest)
def kstest(
    rvs, cdf, args=(), N=20, alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate", keepdims=False
):
    """How far a sample is from a distribution."""
    if isinstance(rvs, str) or callable(rvs) or not (isinstance(cdf, str) or callable(cdf)):
        raise NotImplementedError("scipy.stats.kstest of anything but a sample and a distribution")
    return ks_1samp(rvs, cdf, args, alternative, method, axis=axis, nan_policy=nan_policy, keepdims=keepdims)
