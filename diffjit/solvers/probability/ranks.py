"""Ranks by SciPy's names, and what is made of them: constants, which SciPy's own code finds.

They jump where two elements change places. Correlations of ranks are numbers with a derivative of zero.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import stats

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import one_axis
from diffjit.primitives.library.stats.tests import TestResult, student
from diffjit.primitives.registry import implements

AVERAGES = foreign(
    lambda a, axis: np.asarray(stats.rankdata(np.asarray(a), axis=axis), float),
    result=lambda a, axis: np.zeros(a.shape),
)
RANKS = foreign(
    lambda a, method, axis: np.asarray(stats.rankdata(np.asarray(a), method, axis=axis), np.int64),
    result=lambda a, method, axis: np.zeros(a.shape, np.int64),
)


@implements(stats.rankdata)
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The places of elements in their order."""
    if nan_policy != "propagate":
        raise NotImplementedError("scipy.stats.rankdata(nan_policy=...): drop what is not a number before")
    a = stop_gradient(np.asarray(a))
    a = np.ravel(a) if axis is None else a
    return AVERAGES(a, axis) if method == "average" else RANKS(a, method, axis)


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
    given = {"nan_policy": nan_policy, "method": method, "variant": variant, "alternative": alternative}
    return TestResult(*TAU(stop_gradient(np.ravel(np.asarray(x))), stop_gradient(np.ravel(np.asarray(y))), given))


# Distributions that samples may be of --------------------------------------------------------------------------------


def chance_by_scipy(d, n, alternative, method):
    """SciPy's probability that a sample is further from its distribution."""
    if alternative != "two-sided":
        return float(np.clip(stats.ksone.sf(d, n), 0, 1))
    exact = method in ("auto", "exact")
    return float(np.clip(stats.kstwo.sf(d, n) if exact else stats.kstwobign.sf(d * np.sqrt(n)), 0, 1))


CHANCE = foreign(chance_by_scipy, result=lambda d, n, alternative, method: 0.0)


def distances(data, cdf, args):
    """How far a sample's steps are above and below a distribution."""
    x = np.sort(np.asarray(data) * 1.0)
    values = getattr(stats, cdf).cdf(x, *args) if isinstance(cdf, str) else cdf(x, *args)
    n = x.shape[0]
    return np.max(np.arange(1.0, n + 1) / n - values), np.max(values - np.arange(0.0, n) / n), n


@implements(stats.ks_1samp)
def ks_1samp(
    x, cdf, args=(), alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate", keepdims=False
):
    """How far a sample is from a distribution."""
    above, below, n = distances(x, cdf, args)
    d = above if alternative == "greater" else (below if alternative == "less" else np.maximum(above, below))
    return TestResult(d, CHANCE(d, n, alternative, method))


@implements(stats.kstest)
def kstest(rvs, cdf, args=(), N=20, alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate"):
    """How far a sample is from a distribution."""
    if isinstance(rvs, str) or callable(rvs) or not (isinstance(cdf, str) or callable(cdf)):
        raise NotImplementedError("scipy.stats.kstest of anything but a sample and a distribution")
    return ks_1samp(rvs, cdf, args, alternative, method)
