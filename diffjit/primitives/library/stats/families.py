"""The methods of SciPy's distributions of one number, for all families at once.

SciPy keeps what a family computes in units of its scale, in methods like `_logpdf(z, *shapes)`, which are written with
NumPy and `scipy.special`: these are read as users' programs are. What surrounds them, shapes, `loc`, `scale` and the
support, is here. What a family leaves to quadrature or a search is refused, but for the quantile, which the
distribution function determines.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.stats import _distn_infrastructure as infrastructure

from diffjit.primitives.registry import constant, implements, stateless

stateless(stats.rv_continuous, stats.rv_discrete)


def names_of(cls, shapes):
    """The names of a family's parameters, in their order, of its class and the text that it has them in."""
    names = [name.strip() for name in (shapes or "").split(",") if name.strip()]
    return (*names, "loc") if issubclass(cls, stats.rv_discrete) else (*names, "loc", "scale")


def written(cls, name):
    """Whether a class of families has a formula of its own for a method."""
    base = stats.rv_discrete if issubclass(cls, stats.rv_discrete) else stats.rv_continuous
    own = getattr(cls, name)
    return own is not getattr(base, name) and not goes_one_by_one(own)


def goes_one_by_one(method):
    """Whether a method goes through the numbers one by one, as with quad, itself or by a function beside it.

    Such a method counts on arrays of shapes as long as the points.
    """
    names = set(getattr(getattr(method, "__code__", None), "co_names", ()))
    around = getattr(method, "__globals__", {})
    return bool({"quad", "zip", "nditer", "vectorize"} & names) or any(
        isinstance(around.get(name), np.vectorize) for name in names
    )


def worded(family, method):
    """What is said where SciPy computes by quadrature, sums or a search."""
    return f"scipy.stats.{family}.{method}, which SciPy has no formula for: write it out (quad, a sum, brentq)"


constant(names_of, written, worded)


def has(family, name):
    """Whether a family has a formula of its own for a method; it may be one of a user's class."""
    return written(type(family), name)


def refused(family, method):
    """What is said where SciPy computes by quadrature, sums or a search."""
    return worded(family.name, method)


def settled(self, args, kwds):
    """The shapes, `loc` and `scale` (1 for a discrete family) that a method is called with."""
    names = names_of(type(self), self.shapes)
    given = dict(zip(names, args))  # noqa: B905 - those without a value come by keyword
    for name in kwds:
        given[name] = kwds[name]
    shapes = tuple(given[name] for name in names if name not in ("loc", "scale"))
    return shapes, given.get("loc", 0), given.get("scale", 1)


def valid(self, shapes, scale):
    """Whether the parameters make a distribution; it has no density else."""
    return np.asarray(self._argcheck(*shapes)) & (np.asarray(scale) > 0)


def within(inside, value, outside):
    """The value inside of the support."""
    return np.where(inside, value, outside)[()]


def middle(low, high):
    """A point inside of the support."""
    above = np.where(np.isfinite(low), low + 1.0, np.where(np.isfinite(high), high - 1.0, 0.0))
    both = np.isfinite(low) & np.isfinite(high)
    return np.where(both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), above)


def placed(self, x, args, kwds):
    """Points in units of the scale, the support, the parameters, and where there is a value: NaN is not outside."""
    shapes, loc, scale = settled(self, args, kwds)
    low, high = self._get_support(*shapes)
    low, high = np.asarray(low, float), np.asarray(high, float)
    z = (np.asarray(x) - loc) / scale
    return z, low, high, shapes, scale, valid(self, shapes, scale) & ~np.isnan(z)


# Continuous: densities ------------------------------------------------------------------------------------------------


def differentiated(self, _z, _shapes):
    """The density of a family without a formula for it: what takes a derivative has a version of this."""
    raise NotImplementedError(refused(self, "pdf"))


def log_density(self, z, shapes):
    """The logarithm of the density in units of the scale, inside of the support."""
    return self._logpdf(z, *shapes) if has(self, "_logpdf") else np.log(density(self, z, shapes))


def density(self, z, shapes):
    """The density in units of the scale, inside of the support."""
    if has(self, "_pdf"):
        return self._pdf(z, *shapes)
    return np.exp(self._logpdf(z, *shapes)) if has(self, "_logpdf") else differentiated(self, z, shapes)


def probability(self, k, shapes):
    """The probability of counts inside of the support."""
    return self._pmf(k, *shapes) if has(self, "_pmf") else np.exp(self._logpmf(k, *shapes))


@implements(stats.rv_continuous.logpdf)
def logpdf(self, x, *args, **kwds):
    """The logarithm of the density."""
    z, low, high, shapes, scale, right = placed(self, x, args, kwds)
    inside = self._support_mask(z, *shapes)
    safe = np.where(inside, z, middle(low, high))
    value = log_density(self, safe, shapes)
    return within(right, np.where(inside, value - np.log(scale), -np.inf), np.nan)


@implements(stats.rv_continuous.pdf)
def pdf(self, x, *args, **kwds):
    """The density."""
    z, low, high, shapes, scale, right = placed(self, x, args, kwds)
    inside = self._support_mask(z, *shapes)
    safe = np.where(inside, z, middle(low, high))
    value = density(self, safe, shapes)
    return within(right, np.where(inside, value / scale, 0.0), np.nan)


# Continuous: distribution functions -----------------------------------------------------------------------------------


def integrated(self, _z, _shapes):
    """The distribution function of a family that has a density alone: what integrates has a version of this."""
    raise NotImplementedError(refused(self, "cdf"))


def summed(self, _k, _shapes):
    """The distribution function of a family that has probabilities alone: what sums has a version of this."""
    raise NotImplementedError(refused(self, "cdf"))


def distribution(self, z, shapes):
    """The distribution function inside of the support."""
    if has(self, "_cdf"):
        return self._cdf(z, *shapes)
    return summed(self, z, shapes) if isinstance(self, stats.rv_discrete) else integrated(self, z, shapes)


def survival(self, z, shapes):
    """What is left of it."""
    if has(self, "_sf"):
        return self._sf(z, *shapes)
    return 1.0 - distribution(self, z, shapes)


@implements(stats.rv_continuous.cdf)
def cdf(self, x, *args, **kwds):
    """The distribution function."""
    z, low, high, shapes, _, right = placed(self, x, args, kwds)
    inside = (low < z) & (z < high)
    value = distribution(self, np.where(inside, z, middle(low, high)), shapes)
    return within(right, np.where(inside, value, np.where(z >= high, 1.0, 0.0)), np.nan)


@implements(stats.rv_continuous.sf)
def sf(self, x, *args, **kwds):
    """1 - cdf."""
    z, low, high, shapes, _, right = placed(self, x, args, kwds)
    inside = (low < z) & (z < high)
    value = survival(self, np.where(inside, z, middle(low, high)), shapes)
    return within(right, np.where(inside, value, np.where(z <= low, 1.0, 0.0)), np.nan)


@implements(stats.rv_continuous.logcdf)
def logcdf(self, x, *args, **kwds):
    """The logarithm of the distribution function."""
    z, low, high, shapes, _, right = placed(self, x, args, kwds)
    inside = (low < z) & (z < high)
    safe = np.where(inside, z, middle(low, high))
    value = self._logcdf(safe, *shapes) if has(self, "_logcdf") else np.log(distribution(self, safe, shapes))
    return within(right, np.where(inside, value, np.where(z >= high, 0.0, -np.inf)), np.nan)


@implements(stats.rv_continuous.logsf)
def logsf(self, x, *args, **kwds):
    """log(1 - cdf)."""
    z, low, high, shapes, _, right = placed(self, x, args, kwds)
    inside = (low < z) & (z < high)
    safe = np.where(inside, z, middle(low, high))
    value = self._logsf(safe, *shapes) if has(self, "_logsf") else np.log(survival(self, safe, shapes))
    return within(right, np.where(inside, value, np.where(z <= low, 0.0, -np.inf)), np.nan)


@implements(stats.rv_continuous.ppf)
def ppf(self, q, *args, **kwds):
    """The quantile."""
    shapes, loc, scale = settled(self, args, kwds)
    if not has(self, "_ppf"):
        raise NotImplementedError(refused(self, "ppf"))
    q = np.asarray(q)
    low, high = self._get_support(*shapes)
    inside = (q > 0) & (q < 1)
    value = self._ppf(np.where(inside, q, 0.5), *shapes)
    ends = np.where(q == 0, low + 0.0 * q, np.where(q == 1, high + 0.0 * q, np.nan))
    return within(valid(self, shapes, scale), np.where(inside, value, ends) * scale + loc, np.nan)


@implements(stats.rv_continuous.isf)
def isf(self, q, *args, **kwds):
    """The quantile from above."""
    shapes, loc, scale = settled(self, args, kwds)
    if not has(self, "_isf") and not has(self, "_ppf"):
        raise NotImplementedError(refused(self, "isf"))
    q = np.asarray(q)
    low, high = self._get_support(*shapes)
    inside = (q > 0) & (q < 1)
    safe = np.where(inside, q, 0.5)
    value = self._isf(safe, *shapes) if has(self, "_isf") else self._ppf(1.0 - safe, *shapes)
    ends = np.where(q == 1, low + 0.0 * q, np.where(q == 0, high + 0.0 * q, np.nan))
    return within(valid(self, shapes, scale), np.where(inside, value, ends) * scale + loc, np.nan)


@implements(infrastructure.rv_generic.support)
def support(self, *args, **kwds):
    """Where the support begins and ends."""
    shapes, loc, scale = settled(self, args, kwds)
    low, high = self._get_support(*shapes)
    right = valid(self, shapes, scale)
    return tuple(
        within(right, np.where(np.isinf(end), end, np.where(np.isinf(end), 0.0, end) * scale + loc), np.nan)
        for end in (low, high)
    )


def entropy(self, *args, **kwds):
    """The entropy, by a formula."""
    shapes, _, scale = settled(self, args, kwds)
    return within(valid(self, shapes, scale), self._entropy(*shapes) + np.log(scale), np.nan)


# Discrete -------------------------------------------------------------------------------------------------------------


def counted(self, k, args, kwds):
    """Counts from the location on, the support, the shapes, and where there is a value: NaN is not outside."""
    shapes, loc, _ = settled(self, args, kwds)
    low, high = self._get_support(*shapes)
    k = np.asarray(k) - loc
    return k, low, high, shapes, np.asarray(self._argcheck(*shapes)) & ~np.isnan(k)


@implements(stats.rv_discrete.pmf)
def pmf(self, k, *args, **kwds):
    """The probability."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k <= high) & (np.floor(k) == k)
    safe = np.where(inside, k, low)
    value = probability(self, safe, shapes)
    return within(right, np.where(inside, np.clip(value, 0.0, 1.0), 0.0), np.nan)


@implements(stats.rv_discrete.logpmf)
def logpmf(self, k, *args, **kwds):
    """The logarithm of the probability."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k <= high) & (np.floor(k) == k)
    safe = np.where(inside, k, low)
    value = self._logpmf(safe, *shapes) if has(self, "_logpmf") else np.log(self._pmf(safe, *shapes))
    return within(right, np.where(inside, value, -np.inf), np.nan)


@implements(stats.rv_discrete.cdf)
def discrete_cdf(self, k, *args, **kwds):
    """The distribution function."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k < high)
    value = distribution(self, np.where(inside, k, low), shapes)
    return within(right, np.where(inside, np.clip(value, 0.0, 1.0), np.where(k >= high, 1.0, 0.0)), np.nan)


@implements(stats.rv_discrete.sf)
def discrete_sf(self, k, *args, **kwds):
    """1 - cdf."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k < high)
    value = survival(self, np.where(inside, k, low), shapes)
    return within(right, np.where(inside, np.clip(value, 0.0, 1.0), np.where(k < low, 1.0, 0.0)), np.nan)


@implements(stats.rv_discrete.logcdf)
def discrete_logcdf(self, k, *args, **kwds):
    """The logarithm of the distribution function."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k < high)
    safe = np.where(inside, k, low)
    value = self._logcdf(safe, *shapes) if has(self, "_logcdf") else np.log(distribution(self, safe, shapes))
    return within(right, np.where(inside, value, np.where(k >= high, 0.0, -np.inf)), np.nan)


@implements(stats.rv_discrete.logsf)
def discrete_logsf(self, k, *args, **kwds):
    """log(1 - cdf)."""
    k, low, high, shapes, right = counted(self, k, args, kwds)
    inside = (low <= k) & (k < high)
    safe = np.where(inside, k, low)
    value = self._logsf(safe, *shapes) if has(self, "_logsf") else np.log(survival(self, safe, shapes))
    return within(right, np.where(inside, value, np.where(k < low, 0.0, -np.inf)), np.nan)


@implements(stats.rv_discrete.ppf)
def discrete_ppf(self, q, *args, **kwds):
    """The quantile, a count."""
    shapes, loc, _ = settled(self, args, kwds)
    if not has(self, "_ppf"):
        raise NotImplementedError(refused(self, "ppf"))
    q = np.asarray(q)
    low, high = self._get_support(*shapes)
    inside = (q > 0) & (q < 1)
    value = self._ppf(np.where(inside, q, 0.5), *shapes)
    ends = np.where(q == 0, low - 1.0 + 0.0 * q, np.where(q == 1, high + 0.0 * q, np.nan))
    return within(np.asarray(self._argcheck(*shapes)), np.where(inside, value, ends) + loc, np.nan)


# Draws ----------------------------------------------------------------------------------------------------------------


def stream_of(random_state):
    """The stream that SciPy draws from."""
    if random_state is None:
        return np.random
    if isinstance(random_state, (int, np.integer)):
        return np.random.RandomState(random_state)
    return random_state


def lengths_of(size):
    """The lengths of draws, as SciPy's own formulas get them."""
    if size is None:
        return ()
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


def of_numbers(shapes, loc, scale):
    """Parameters of draws are numbers, not arrays."""
    for value in (*shapes, loc, scale):
        if np.ndim(value) > 0:
            raise NotImplementedError("scipy.stats: rvs of arrays of parameters: draw for one at a time")


@implements(stats.rv_continuous.rvs)
def rvs(self, *args, size=None, random_state=None, **kwds):
    """Draws."""
    shapes, loc, scale = settled(self, args, kwds)
    of_numbers(shapes, loc, scale)
    drawn = self._rvs(*shapes, size=lengths_of(size), random_state=stream_of(random_state))
    return (drawn * scale + loc)[()]


@implements(stats.rv_discrete.rvs)
def discrete_rvs(self, *args, size=None, random_state=None, **kwds):
    """Draws."""
    shapes, loc, _ = settled(self, args, kwds)
    of_numbers(shapes, loc, 1.0)
    drawn = self._rvs(*shapes, size=lengths_of(size), random_state=stream_of(random_state)) + loc
    return np.asarray(drawn).astype(np.int64)[()]
