"""Moments of distributions, where SciPy has formulas for them; what it leaves to quadrature is refused."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import stats

from diffjit.primitives.library.stats import families
from diffjit.primitives.registry import constant, implements


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
    if not families.has(family, "_munp"):
        raise NotImplementedError(families.refused(family, "moment"))
    return family._munp(n, *shapes)


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
    if g1 is None:
        g1 = (raw(family, 3, shapes) - mu * mu * mu - 3 * mu * mu2) / mu2**1.5
    if "k" in wanted and g2 is None:
        fourth = raw(family, 4, shapes) - (mu**2 + 6 * mu2) * mu**2 - 4 * g1 * mu2**1.5 * mu
        g2 = fourth / mu2**2 - 3.0
    return mu, mu2, g1, g2


@implements(stats.rv_continuous.stats)  # discrete families have the same
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


@implements(stats.rv_continuous.mean)
def mean(self, *args, **kwds):
    """The mean."""
    return stats_of(self, *args, moments="m", **kwds)


@implements(stats.rv_continuous.var)
def var(self, *args, **kwds):
    """The variance."""
    return stats_of(self, *args, moments="v", **kwds)


@implements(stats.rv_continuous.std)
def std(self, *args, **kwds):
    """The standard deviation."""
    return np.sqrt(stats_of(self, *args, moments="v", **kwds))
