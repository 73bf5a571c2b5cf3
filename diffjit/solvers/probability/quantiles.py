"""Quantiles of distributions without a formula for them: SciPy searches, the distribution function differentiates.

Of F(x, p) = q, a step of Newton's method from the solution has its first derivatives, by q and by all parameters that F
has derivatives by, and a second step has the second ones: x - (F(x, p) - q) / f(x, p), where f is the density.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import stats

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.stats import families
from diffjit.primitives.registry import implements


def by_search(family, q, shapes):
    """SciPy's quantile, in units of the scale."""
    return np.asarray(family.ppf(np.asarray(q), *(np.asarray(s) for s in shapes)), dtype=float)


def like_quantile(family, q, shapes):
    found = q + 0.0
    for s in shapes:
        found = found + 0.0 * s
    return found


BY_SEARCH = foreign(by_search, result=like_quantile)


def density(family, z, shapes):
    return family._pdf(z, *shapes) if families.has(family, "_pdf") else np.exp(family._logpdf(z, *shapes))


def searched(family, q, shapes):
    """The quantile in units of the scale, of probabilities between 0 and 1."""
    z = BY_SEARCH(family, stop_gradient(q), stop_gradient(shapes))
    for _ in range(2):
        slope = density(family, z, shapes)
        there = slope > 0
        z = z - np.where(there, families.distribution(family, z, shapes) - q, 0.0) / np.where(there, slope, 1.0)
    return z


def quantile(family, q, args, kwds, above):
    shapes, loc, scale = families.settled(family, args, kwds)
    if not families.has(family, "_cdf"):
        raise NotImplementedError(families.refused(family, "ppf"))
    q = 1.0 - np.asarray(q) if above else np.asarray(q)
    low, high = family._get_support(*shapes)
    inside = (q > 0) & (q < 1)
    value = searched(family, np.where(inside, q, 0.5), shapes)
    ends = np.where(q == 0, low + 0.0 * q, np.where(q == 1, high + 0.0 * q, np.nan))
    return families.within(
        families.valid(family, shapes, scale), np.where(inside, value, ends) * scale + loc, np.nan
    )  # fmt: skip


@implements(stats.rv_continuous.ppf)
def ppf(self, q, *args, **kwds):
    """The quantile."""
    if families.has(self, "_ppf"):
        return families.ppf(self, q, *args, **kwds)
    return quantile(self, q, args, kwds, False)


@implements(stats.rv_continuous.isf)
def isf(self, q, *args, **kwds):
    """The quantile from above."""
    if families.has(self, "_isf") or families.has(self, "_ppf"):
        return families.isf(self, q, *args, **kwds)
    return quantile(self, q, args, kwds, True)


@implements(stats.rv_continuous.median, stats.rv_discrete.median)
def median(self, *args, **kwds):
    """The median."""
    return self.ppf(0.5, *args, **kwds)


@implements(stats.rv_continuous.interval, stats.rv_discrete.interval)
def interval(self, confidence, *args, **kwds):
    """What leaves as much below as above."""
    if np.any((confidence > 1) | (confidence < 0)):
        raise ValueError("alpha must be between 0 and 1 inclusive")
    return self.ppf((1.0 - confidence) / 2, *args, **kwds), self.ppf((1.0 + confidence) / 2, *args, **kwds)
