"""Moments and expectations of distributions: by SciPy's formulas where it has some, else by quadrature."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import places
from diffjit.primitives.library.stats import families
from diffjit.primitives.library.stats.frozen import is_discrete
from diffjit.primitives.registry import constant, implements
from diffjit.solvers.probability.without_formulas import in_parts, middle_count, only_numbers, over_counts


def has_moments(family):
    """Whether a family's formulas ask which moments are wanted."""
    return bool(family._stats_has_moments)


constant(has_moments)


def known(family, shapes, wanted):
    """Mean, variance, skewness and kurtosis in units of the scale, where there are formulas; else None."""
    if not families.has(family, "_stats"):
        return None, None, None, None
    return family._stats(*shapes, moments=wanted) if has_moments(family) else family._stats(*shapes)


def raw(family, n, shapes):
    """A moment around 0, in units of the scale."""
    if families.has(family, "_munp"):
        return family._munp(n, *shapes)
    only_numbers(family, shapes, "moment")
    low, high = family._get_support(*shapes)
    if is_discrete(family):
        start = middle_count(family, shapes, low, high)
        return over_counts(lambda k: k**n * family.pmf(k, *shapes), low, high, start)
    return over_density(family, lambda z: z**n, shapes, low, high, 0.0, 1.0)


def over_density(family, function, shapes, low, high, below, mass):
    """An integral with the density as weight, in units of the scale; `below` is what lies beneath, `mass` within."""
    return in_parts(family, lambda z: function(z) * family.pdf(z, *shapes), shapes, low, high, below, mass)


def unit_moment(family, n, shapes):
    """A moment around 0, in units of the scale, from mean, variance and their kin where there are formulas."""
    if n == 0:
        return 1.0
    mu, mu2, g1, g2 = known(family, shapes, "mvsk") if n < 5 else (None, None, None, None)
    if n == 1 and mu is not None:
        return mu
    if n == 2 and mu is not None and mu2 is not None:
        return mu2 + mu * mu
    if n == 3 and mu is not None and mu2 is not None and g1 is not None:
        return g1 * mu2**1.5 + 3 * mu * mu2 + mu**3
    if n == 4 and mu is not None and mu2 is not None and g1 is not None and g2 is not None:
        third = g1 * mu2**1.5
        return (g2 + 3.0) * mu2**2 + 4 * mu * third + 6 * mu**2 * mu2 + mu**4
    return raw(family, n, shapes)


def central(family, shapes, wanted):
    """Those that are wanted of mean, variance, skewness and kurtosis, in units of the scale."""
    mu, mu2, g1, g2 = known(family, shapes, wanted)
    if mu is None:
        mu = raw(family, 1, shapes)
    if wanted == "m":
        return mu, None, None, None
    if mu2 is None:
        mu2 = raw(family, 2, shapes) - mu * mu
    if "s" not in wanted and "k" not in wanted:
        return mu, mu2, None, None
    third = None
    if g1 is None and ("s" in wanted or g2 is None):
        third = raw(family, 3, shapes) - mu * mu * mu - 3 * mu * mu2
        g1 = third / mu2**1.5
    if "k" in wanted and g2 is None:
        third = g1 * mu2**1.5 if third is None else third
        fourth = raw(family, 4, shapes) - (mu**2 + 6 * mu2) * mu**2 - 4 * third * mu
        g2 = fourth / mu2**2 - 3.0
    return mu, mu2, g1, g2


@implements(stats.rv_continuous.stats, stats.rv_discrete.stats)
def stats_of(self, *args, moments="mv", **kwds):
    """Mean, variance, skewness, kurtosis: those that are asked for."""
    shapes, loc, scale = families.settled(self, args, kwds)
    right = families.valid(self, shapes, scale)
    mu, mu2, g1, g2 = central(self, shapes, moments)
    found = []
    if "m" in moments:
        found.append(families.within(right, mu * scale + loc, np.nan))
    if "v" in moments:
        found.append(families.within(right, mu2 * scale * scale, np.nan))
    if "s" in moments:
        found.append(families.within(right, g1 + 0.0 * scale, np.nan))
    if "k" in moments:
        found.append(families.within(right, g2 + 0.0 * scale, np.nan))
    return found[0] if len(found) == 1 else tuple(found)


@implements(stats.rv_continuous.mean, stats.rv_discrete.mean)
def mean(self, *args, **kwds):
    """The mean."""
    return stats_of(self, *args, moments="m", **kwds)


@implements(stats.rv_continuous.var, stats.rv_discrete.var)
def var(self, *args, **kwds):
    """The variance."""
    return stats_of(self, *args, moments="v", **kwds)


@implements(stats.rv_continuous.std, stats.rv_discrete.std)
def std(self, *args, **kwds):
    """The standard deviation."""
    return np.sqrt(stats_of(self, *args, moments="v", **kwds))


@implements(stats.rv_continuous.moment, stats.rv_discrete.moment)
def moment(self, order, *args, **kwds):
    """The moment of an order around 0."""
    shapes, loc, scale = families.settled(self, args, kwds)
    total = 0.0
    for k in places(order + 1):  # the formulas ask which moment it is
        total = total + math.comb(order, k) * loc ** (order - k) * scale**k * unit_moment(self, k, shapes)
    return families.within(families.valid(self, shapes, scale), total, np.nan)


@implements(stats.rv_continuous.expect)
def expect(self, func=None, args=(), loc=0, scale=1, lb=None, ub=None, conditional=False, **kwds):
    """The expectation of a function, or of the number itself."""
    if len(kwds) > 0:
        raise NotImplementedError("expect with options of quad: leave them out")
    if any(np.ndim(p) > 0 for p in (*args, loc, scale)):
        raise NotImplementedError("expect of a distribution with arrays as parameters: np.array([... for each one])")
    low, high = self._get_support(*args)
    bottom = low if lb is None else (lb - loc) / scale
    top = high if ub is None else (ub - loc) / scale
    below = 0.0 if lb is None else self.cdf(bottom, *args)
    mass = (1.0 if ub is None else self.cdf(top, *args)) - below

    def of_unit(z):
        x = loc + scale * z
        return x if func is None else func(x)

    found = over_density(self, of_unit, args, bottom, top, stop_gradient(below), stop_gradient(mass))
    return found / mass if conditional else found


@implements(stats.rv_discrete.expect)
def expect_of_integers(self, func=None, args=(), loc=0, lb=None, ub=None, conditional=False, **kwds):
    """The expectation of a function of integers."""
    if len(kwds) > 0:
        raise NotImplementedError("expect with options of sums: leave them out")
    bottom, top = self._get_support(*args)
    bottom = bottom if lb is None else lb - loc
    top = top if ub is None else ub - loc

    def weighed(k):
        x = k + loc
        return (x if func is None else func(x)) * self.pmf(k, *args)

    found = over_counts(weighed, bottom, top, middle_count(self, args, bottom, top))
    return found / (self.sf(bottom - 1, *args) - self.sf(top, *args)) if conditional else found
