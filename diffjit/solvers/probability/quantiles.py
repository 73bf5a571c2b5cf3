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
from diffjit.solvers.probability.without_formulas import approached, of_scipy


def by_search(family, q, shapes):
    """SciPy's quantile, in units of the scale."""
    return np.asarray(family.ppf(np.asarray(q), *(np.asarray(s) for s in shapes)), dtype=float)


def like_quantile(family, q, shapes):
    found = q + 0.0
    for s in shapes:
        found = found + 0.0 * s
    return found


BY_SEARCH = foreign(by_search, result=like_quantile)


def searched(family, q, shapes):
    """The quantile in units of the scale, of probabilities between 0 and 1."""
    if of_scipy(type(family)):
        z = BY_SEARCH(family, stop_gradient(q), stop_gradient(shapes))
    else:
        z = stop_gradient(approached(family, stop_gradient(q), stop_gradient(shapes)))
    for _ in range(2):
        slope = families.density(family, z, shapes)
        there = slope > 0
        z = z - np.where(there, families.distribution(family, z, shapes) - q, 0.0) / np.where(there, slope, 1.0)
    return z


def quantile(family, q, args, kwds, above):
    shapes, loc, scale = families.settled(family, args, kwds)
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


@implements(stats.rv_discrete.ppf)
def discrete_ppf(self, q, *args, **kwds):
    """The quantile, a count: it does not move with the parameters."""
    if families.has(self, "_ppf"):
        return families.discrete_ppf(self, stop_gradient(q), *stop_gradient(args), **stop_gradient(kwds))
    shapes, loc, scale = families.settled(self, stop_gradient(args), stop_gradient(kwds))
    low, high = self._get_support(*shapes)
    if np.isinf(low):
        raise NotImplementedError(families.refused(self, "ppf"))
    wanted = np.ravel(stop_gradient(q))
    found = np.full(len(wanted), np.nan)
    for i in range(len(wanted)):
        if wanted[i] == 0.0:
            found[i] = low - 1.0
        elif wanted[i] == 1.0:
            found[i] = high
        elif 0.0 < wanted[i] < 1.0:
            k, total = 1.0 * low, self.pmf(low, *shapes)
            while total < wanted[i] and k < high:
                k = k + 1.0
                total = total + self.pmf(k, *shapes)
            found[i] = k
    return families.within(families.valid(self, shapes, scale), np.reshape(found, np.shape(q)) + loc, np.nan)


@implements(stats.rv_discrete.isf)
def discrete_isf(self, q, *args, **kwds):
    """The quantile from above, a count."""
    q, args, kwds = stop_gradient(q), stop_gradient(args), stop_gradient(kwds)
    if not families.has(self, "_isf"):
        return self.ppf(1.0 - np.asarray(q), *args, **kwds)
    shapes, loc, scale = families.settled(self, args, kwds)
    low, high = self._get_support(*shapes)
    q = np.asarray(q)
    inside = (q > 0) & (q < 1)
    ends = np.where(q == 1, low - 1.0 + 0.0 * q, np.where(q == 0, high + 0.0 * q, np.nan))
    value = np.where(inside, self._isf(np.where(inside, q, 0.5), *shapes), ends)
    return families.within(families.valid(self, shapes, scale), value + loc, np.nan)


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
