"""Tests of `scipy.stats` on the order of elements: constants, which SciPy's own code finds.

They jump where two elements change places, and do not move between: statistics and probabilities are numbers with a
derivative of zero.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import all_axes, as_float, places
from diffjit.primitives.library.stats.counts import chi2_contingency
from diffjit.primitives.library.stats.tests import Finding, TestResult
from diffjit.primitives.registry import implements, present


def by_scipy(name, samples, given, like):
    """The statistic and the probability of one of SciPy's tests."""
    found = getattr(stats, name)(*samples, **given)
    return np.asarray(np.stack(np.broadcast_arrays(found.statistic, found.pvalue)), like.dtype)


FOUND = foreign(by_scipy, result=lambda name, samples, given, like: np.zeros((2, *like.shape), like.dtype))


def shape_of(samples, axis, keepdims):
    """The shape of a result of tests along an axis: the other axes are broadcast."""
    if axis is None:
        return (1,) * max(x.ndim for x in samples) if keepdims else ()
    shapes = []
    for x in samples:
        axes = all_axes(axis, x.ndim)
        if keepdims:
            shapes.append(tuple(1 if k in axes else x.shape[k] for k in places(x.ndim)))
        else:
            shapes.append(tuple(x.shape[k] for k in places(x.ndim) if k not in axes))
    return np.broadcast_shapes(*shapes)


def ordered(name, samples, given):
    """What a test on orders gives; `given` has its options, among them the axis and whether to keep it."""
    xs = tuple(stop_gradient(as_float(np.asarray(x))) for x in samples)
    dtype = np.result_type(*[x.dtype for x in xs])
    shape = shape_of(xs, given["axis"], given["keepdims"])
    found = FOUND(name, xs, given, np.zeros(shape, dtype))
    return TestResult(found[0], found[1])


@implements(stats.mannwhitneyu)
def mannwhitneyu(
    x, y, use_continuity=True, alternative="two-sided", axis=0, method="auto", *, nan_policy="propagate", keepdims=False
):
    """Whether one sample tends to be larger than another."""
    if not isinstance(method, str):
        raise NotImplementedError("scipy.stats.mannwhitneyu(method=...): draws of random numbers")
    return ordered("mannwhitneyu", (x, y), {
        "use_continuity": use_continuity, "alternative": alternative, "axis": axis, "method": method,
        "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.wilcoxon)
def wilcoxon(
    x, y=None, zero_method="wilcox", correction=False, alternative="two-sided", method="auto", *, axis=0,
    nan_policy="propagate", keepdims=False,
):  # fmt: skip
    """Whether differences lie around zero."""
    if not isinstance(method, str):
        raise NotImplementedError("scipy.stats.wilcoxon(method=...): draws of random numbers")
    return ordered("wilcoxon", (x,) if y is None else (x, y), {
        "zero_method": zero_method, "correction": correction, "alternative": alternative, "method": method,
        "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.kruskal)
def kruskal(*samples, nan_policy="propagate", axis=0, keepdims=False):
    """Whether samples have one median, by ranks."""
    return ordered("kruskal", samples, {"nan_policy": nan_policy, "axis": axis, "keepdims": keepdims})


@implements(stats.friedmanchisquare)
def friedmanchisquare(*samples, axis=0, nan_policy="propagate", keepdims=False):
    """Whether measurements of the same things are alike, by ranks."""
    return ordered("friedmanchisquare", samples, {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims})


@implements(stats.ks_2samp)
def ks_2samp(
    data1, data2, alternative="two-sided", method="auto", *, axis=0, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """How far the steps of two samples are apart."""
    return ordered("ks_2samp", (data1, data2), {
        "alternative": alternative, "method": method, "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.ansari)
def ansari(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate", keepdims=False):
    """Whether two samples are spread alike, by ranks."""
    return ordered("ansari", (x, y), {
        "alternative": alternative, "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.mood)
def mood(x, y, axis=0, alternative="two-sided", *, nan_policy="propagate", keepdims=False):
    """Whether two samples are spread alike, by squares of ranks."""
    return ordered("mood", (x, y), {
        "axis": axis, "alternative": alternative, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.fligner)
def fligner(
    *samples, center="median", proportiontocut=0.05, axis=0, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """Whether samples have one variance, by ranks of distances from their middles."""
    return ordered("fligner", samples, {
        "center": center, "proportiontocut": proportiontocut, "axis": axis, "nan_policy": nan_policy,
        "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.brunnermunzel)
def brunnermunzel(
    x, y, alternative="two-sided", distribution="t", nan_policy="propagate", *, axis=0, keepdims=False
):  # fmt: skip
    """Whether one sample tends to be larger than another, of different variances."""
    return ordered("brunnermunzel", (x, y), {
        "alternative": alternative, "distribution": distribution, "nan_policy": nan_policy, "axis": axis,
        "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.ranksums)
def ranksums(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate", keepdims=False):
    """Whether one sample tends to be larger than another, by sums of ranks."""
    return ordered("ranksums", (x, y), {
        "alternative": alternative, "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.cramervonmises_2samp)
def cramervonmises_2samp(x, y, method="auto", *, axis=0, nan_policy="propagate", keepdims=False):
    """How far the steps of two samples are apart, by squares."""
    found = ordered("cramervonmises_2samp", (x, y), {
        "method": method, "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip
    return Finding(found.statistic, found.pvalue)


@implements(*present(stats, "chatterjeexi"))
def chatterjeexi(
    x, y, *, axis=0, y_continuous=False, method="asymptotic", nan_policy="propagate", keepdims=False
):  # fmt: skip
    """Whether one sample is a function of another."""
    if not isinstance(method, str):
        raise NotImplementedError("scipy.stats.chatterjeexi(method=...): draws of random numbers")
    return ordered("chatterjeexi", (x, y), {
        "axis": axis, "y_continuous": y_continuous, "method": method, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(*present(stats, "spearmanrho"))
def spearmanrho(
    x, y, /, *, alternative="two-sided", method=None, axis=0, nan_policy="propagate", keepdims=False
):  # fmt: skip
    """The correlation of ranks."""
    if method is not None:
        raise NotImplementedError("scipy.stats.spearmanrho(method=...): draws of random numbers")
    return ordered("spearmanrho", (x, y), {
        "alternative": alternative, "axis": axis, "nan_policy": nan_policy, "keepdims": keepdims,
    })  # fmt: skip


@implements(stats.somersd)
def somersd(x, y=None, alternative="two-sided"):
    """How the order of one sample follows that of another."""
    samples = (np.asarray(x),) if y is None else (np.asarray(x), np.asarray(y))
    given = {"alternative": alternative}
    found = FOUND("somersd", tuple(stop_gradient(a) for a in samples), given, np.zeros(()))
    return Finding(found[0], found[1])


class MedianTestResult(NamedTuple):
    """What `median_test` gives."""

    statistic: Any
    pvalue: Any
    median: Any
    table: Any


@implements(stats.median_test)
def median_test(*samples, ties="below", correction=True, lambda_=1, nan_policy="propagate"):
    """Whether samples have one median, by counts on both sides of that of all."""
    if nan_policy == "omit":
        raise NotImplementedError("scipy.stats.median_test(nan_policy='omit'): drop what is not a number before")
    if len(samples) < 2:
        raise ValueError("median_test requires two or more samples.")
    if ties not in ("below", "above", "ignore"):
        raise ValueError(f"invalid 'ties' option '{ties}'")
    xs = [as_float(np.asarray(x)) for x in samples]
    if any(x.ndim != 1 for x in xs):
        raise ValueError("All samples must be one-dimensional sequences.")
    if any(x.shape[0] == 0 for x in xs):
        raise ValueError("All samples must contain at least one value.")
    every = np.concatenate(xs)
    if np.any(np.isnan(every)):
        if nan_policy == "raise":
            raise ValueError("The input contains nan values")
        raise NotImplementedError("scipy.stats.median_test of NaN: drop what is not a number before")
    median = np.median(every)
    above = np.stack([np.sum(x > median if ties != "above" else x >= median) for x in xs])
    below = np.stack([np.sum(x < median if ties != "below" else x <= median) for x in xs])
    table = np.stack([above, below])
    if np.any(np.sum(table, axis=1) == 0) or np.any(np.sum(table, axis=0) == 0):
        raise ValueError("All values of a sample, or of all, are on one side of the grand median, or equal to it.")
    found = chi2_contingency(table, correction, lambda_)
    return MedianTestResult(found.statistic, found.pvalue, median, table)
