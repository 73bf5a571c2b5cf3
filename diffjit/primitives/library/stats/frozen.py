"""Distributions with their parameters: `scipy.stats.norm(mu, sigma)`, made inside a program or outside."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from scipy import stats
from scipy.stats import _distn_infrastructure as infrastructure

from diffjit.primitives.library.stats import families
from diffjit.primitives.registry import COMPOSITES, implements


def is_discrete(family):
    """Whether a family is one of integers."""
    return isinstance(family, stats.rv_discrete)


@implements(infrastructure.rv_continuous_frozen, infrastructure.rv_discrete_frozen)
class Frozen:
    """A distribution and its parameters."""

    has_more = "a distribution"

    def __init__(self, dist, args, kwds):
        self.dist, self.args, self.kwds = dist, args, kwds

    def pdf(self, x):
        """The density."""
        return self.dist.pdf(x, *self.args, **self.kwds)

    def logpdf(self, x):
        """The logarithm of the density."""
        return self.dist.logpdf(x, *self.args, **self.kwds)

    def pmf(self, k):
        """The probability."""
        return self.dist.pmf(k, *self.args, **self.kwds)

    def logpmf(self, k):
        """The logarithm of the probability."""
        return self.dist.logpmf(k, *self.args, **self.kwds)

    def cdf(self, x):
        """The distribution function."""
        return self.dist.cdf(x, *self.args, **self.kwds)

    def logcdf(self, x):
        """The logarithm of the distribution function."""
        return self.dist.logcdf(x, *self.args, **self.kwds)

    def sf(self, x):
        """1 - cdf."""
        return self.dist.sf(x, *self.args, **self.kwds)

    def logsf(self, x):
        """log(1 - cdf)."""
        return self.dist.logsf(x, *self.args, **self.kwds)

    def ppf(self, q):
        """The quantile."""
        return self.dist.ppf(q, *self.args, **self.kwds)

    def isf(self, q):
        """The quantile from above."""
        return self.dist.isf(q, *self.args, **self.kwds)

    def entropy(self):
        """The entropy."""
        return self.dist.entropy(*self.args, **self.kwds)

    def support(self):
        """Where the support begins and ends."""
        return self.dist.support(*self.args, **self.kwds)

    def mean(self):
        """The mean."""
        return self.dist.mean(*self.args, **self.kwds)

    def var(self):
        """The variance."""
        return self.dist.var(*self.args, **self.kwds)

    def std(self):
        """The standard deviation."""
        return self.dist.std(*self.args, **self.kwds)

    def moment(self, order):
        """The moment of an order around 0."""
        return self.dist.moment(order, *self.args, **self.kwds)

    def expect(self, func=None, lb=None, ub=None, conditional=False, **kwds):
        """The expectation of a function, or of the number itself."""
        shapes, loc, scale = families.settled(self.dist, self.args, self.kwds)
        if is_discrete(self.dist):
            return self.dist.expect(func, shapes, loc, lb, ub, conditional, **kwds)
        return self.dist.expect(func, shapes, loc, scale, lb, ub, conditional, **kwds)

    def stats(self, moments="mv"):
        """Mean, variance, skewness, kurtosis: those that are asked for."""
        return self.dist.stats(*self.args, moments=moments, **self.kwds)

    def median(self):
        """The median."""
        return self.dist.median(*self.args, **self.kwds)

    def interval(self, confidence):
        """What leaves as much below as above."""
        return self.dist.interval(confidence, *self.args, **self.kwds)

    def rvs(self, size=None, random_state=None):
        """Draws."""
        return self.dist.rvs(*self.args, size=size, random_state=random_state, **self.kwds)


@implements(infrastructure.rv_generic.freeze, infrastructure.rv_generic.__call__)
def freeze(self, *args, **kwds):
    """A distribution with its parameters, of any family."""
    return Frozen(self, args, kwds)


def freezing(family):
    """What a call of a family makes."""

    def frozen(*args, **kwds):
        return Frozen(family, args, kwds)

    return frozen


for name in sorted(vars(stats)):
    family = getattr(stats, name)
    if isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        COMPOSITES[family] = freezing(family)
        COMPOSITES[family.freeze] = COMPOSITES[family]
