"""What SciPy computes of a distribution by quadrature, sums and differences where its family has no formula.

A family needs no more than one of `_pdf`, `_logpdf`, `_cdf` and `_pmf`, as those that users derive from `rv_continuous`
and `rv_discrete` have it. The density is the exact derivative of the distribution function, not a difference.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import special, stats

from diffjit.api.functions import stop_gradient
from diffjit.api.products import jvp
from diffjit.primitives.library.stats import families
from diffjit.primitives.registry import constant, implements
from diffjit.solvers.scipy.quadrature import quad

CHUNK = 32  # as many counts at once as SciPy takes
MANY = 100_000  # counts after which a sum is taken not to converge


def of_scipy(cls):
    """Whether SciPy's own code searches for the quantiles of a class of families."""
    return cls.__module__.startswith("scipy.")


constant(of_scipy)


def only_numbers(family, shapes, method):
    """Parameters are numbers where each quadrature or sum is one of its own."""
    if any(np.ndim(shape) > 0 for shape in shapes):
        raise NotImplementedError(families.refused(family, method))


@implements(families.differentiated)
def differentiated(family, z, shapes):
    """The density of a family that has a distribution function alone."""
    if not families.has(family, "_cdf"):
        raise NotImplementedError(families.refused(family, "pdf"))
    z = np.asarray(z, float)
    return jvp(lambda at: np.asarray(family._cdf(at, *shapes)) + 0.0 * at, (z,), (np.ones_like(z),))[1]


@implements(families.integrated)
def integrated(family, z, shapes):
    """The distribution function of a family that has a density alone."""
    only_numbers(family, shapes, "cdf")
    low = family._get_support(*shapes)[0]
    ends = np.ravel(z)
    found = np.zeros(len(ends))
    for i in range(len(ends)):
        found[i] = quad(lambda x: families.density(family, x, shapes), low, ends[i])[0]
    return np.reshape(found, np.shape(z))


@implements(families.summed)
def summed(family, k, shapes):
    """The distribution function of a family of integers that has probabilities alone."""
    only_numbers(family, shapes, "cdf")
    low = family._get_support(*shapes)[0]
    if np.isinf(low):
        raise NotImplementedError(families.refused(family, "cdf"))
    ends = np.ravel(k)
    found = np.zeros(len(ends))
    for i in range(len(ends)):
        found[i] = np.sum(families.probability(family, np.arange(int(low), int(np.floor(ends[i])) + 1), shapes))
    return np.reshape(found, np.shape(k))


def over_counts(function, low, high, start):
    """The sum of a function of counts, from the middle to both sides: there may be infinitely many.

    SciPy stops at 1e-10; this sum goes on until what comes has no weight, since that may have some in a derivative.
    """
    if high - low < CHUNK:
        return np.sum(function(np.arange(low, min(high, low + CHUNK) + 1)))
    total, at = 0.0, 1.0 * max(min(start, high), low)
    below = at - 1.0
    while at <= high:
        part = np.sum(function(np.arange(at, min(at + CHUNK, high + 1.0))))
        total = total + part
        at = at + CHUNK
        if abs(part) <= 1e-14 * abs(total):
            break
        if at - below > MANY:
            raise RuntimeError("the sum over the counts of a distribution did not converge")
    down = below
    while down >= low:
        part = np.sum(function(np.arange(down, max(down - CHUNK, low - 1.0), -1.0)))
        total = total + part
        down = down - CHUNK
        if abs(part) <= 1e-14 * abs(total):
            break
        if below - down > MANY:
            raise RuntimeError("the sum over the counts of a distribution did not converge")
    return total


def in_parts(family, integrand, shapes, low, high, below, mass):
    """An integral in units of the scale; `below` is what lies beneath, `mass` within.

    It is taken in three parts, as SciPy does it: the tails may be far away. In one, as SciPy takes moments, where a
    quantile would need as many integrals as it takes steps.
    """
    if not (of_scipy(type(family)) or families.has(family, "_cdf") or families.has(family, "_ppf")):
        return quad(integrand, low, high)[0]
    inner = stop_gradient(family.ppf(below + mass * np.array([0.05, 0.95]), *stop_gradient(shapes)))
    left, middle = quad(integrand, low, inner[0])[0], quad(integrand, inner[0], inner[1])[0]
    return left + middle + quad(integrand, inner[1], high)[0]


def of_density(p):
    """What a density adds to the entropy; its slope is infinite at 0, where far tails end."""
    return np.where(p > 1e-290, special.entr(p), 0.0)[()]


LEVYS = (type(stats.levy), type(stats.levy_l))
OF_LEVYS = 0.5 * (1.0 + 3.0 * np.euler_gamma + np.log(16.0 * np.pi))  # their tails are too long to integrate


@implements(stats.rv_continuous.entropy, stats.rv_discrete.entropy)
def entropy(self, *args, **kwds):
    """The entropy."""
    if families.has(self, "_entropy"):
        return families.entropy(self, *args, **kwds)
    shapes, _, scale = families.settled(self, args, kwds)
    only_numbers(self, shapes, "entropy")
    low, high = self._get_support(*shapes)
    if isinstance(self, LEVYS):
        unit = OF_LEVYS
    elif isinstance(self, stats.rv_discrete):
        start = middle_count(self, shapes, low, high)
        unit = over_counts(lambda k: special.entr(self.pmf(k, *shapes)), low, high, start)
    else:
        unit = in_parts(self, lambda z: of_density(self.pdf(z, *shapes)), shapes, low, high, 0.0, 1.0)
    return families.within(families.valid(self, shapes, scale), unit + np.log(scale), np.nan)


def middle_count(family, shapes, low, high):
    """Where a sum over counts begins."""
    return stop_gradient(family.ppf(0.5, *stop_gradient(shapes))) if high - low >= CHUNK else low


def approached(family, q, shapes):
    """The quantile of a user's family, in units of the scale: steps of Newton's within what holds it."""
    low, high = family._get_support(*shapes)
    wanted = np.ravel(q)
    found = np.zeros(len(wanted))
    for i in range(len(wanted)):
        left, right, reach = 1.0 * low, 1.0 * high, 1.0
        z = 1.0 * families.middle(low, high)
        for _ in range(200):
            off = families.distribution(family, z, shapes) - wanted[i]
            if off > 0:
                right = z
            else:
                left = z
            last, z = z, z - off / families.density(family, z, shapes)
            if not left < z < right or abs(z - last) > reach:  # a step too far, or NaN: half, or twice as far
                z = 0.5 * (left + right)
                if np.isinf(left):
                    z = right - reach
                elif np.isinf(right):
                    z = left + reach
                reach = 2.0 * reach
            if abs(z - last) <= 1e-9 * abs(z) or off == 0:
                break
        found[i] = z
    return np.reshape(found, np.shape(q))
