"""What `scipy.stats` says of samples without their far elements; k-statistics, L-moments, entropies of densities."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sc
from scipy import stats

from diffjit.primitives.library.axes import as_float, known, places
from diffjit.primitives.library.stats.samples import reduced, sample
from diffjit.primitives.registry import implements, present

# Within limits --------------------------------------------------------------------------------------------------------


def outside(x, limits, inclusive):
    """Where elements lie outside of limits; what is not a number does not."""
    far = np.zeros(x.shape, np.bool_)
    if limits is None:
        return far
    low, high = limits
    if low is not None:
        far = far | (x < low if inclusive[0] else x <= low)
    if high is not None:
        far = far | (x > high if inclusive[1] else x >= high)
    if math.prod(x.shape) > 0 and np.all(far):
        raise ValueError("No array values within given limits")
    return far


def mean_within(x, limits, inclusive):
    """How many elements lie within limits, and their mean."""
    far = outside(x, limits, inclusive)
    count = np.sum(np.where(far, 0.0, 1.0).astype(x.dtype), axis=0)
    return far, count, np.sum(np.where(far, 0.0, x), axis=0) / count


def variance_within(x, limits, inclusive, ddof):
    """How many elements lie within limits, and their variance."""
    far, count, mean = mean_within(x, limits, inclusive)
    square = np.sum(np.where(far, 0.0, x - mean) ** 2, axis=0)
    free = count - ddof
    return count, np.where(free > 0, square / np.where(free > 0, free, 1.0), np.nan)


@implements(stats.tmean)
def tmean(a, limits=None, inclusive=(True, True), axis=None, *, nan_policy="propagate", keepdims=False):
    """The mean of what lies within limits."""
    return reduced(lambda x: mean_within(x, limits, inclusive)[2], a, axis, nan_policy, keepdims)


@implements(stats.tvar)
def tvar(a, limits=None, inclusive=(True, True), axis=0, ddof=1, *, nan_policy="propagate", keepdims=False):
    """The variance of what lies within limits."""
    return reduced(lambda x: variance_within(x, limits, inclusive, ddof)[1], a, axis, nan_policy, keepdims)


@implements(stats.tstd)
def tstd(a, limits=None, inclusive=(True, True), axis=0, ddof=1, *, nan_policy="propagate", keepdims=False):
    """The standard deviation of what lies within limits."""
    return np.sqrt(tvar(a, limits, inclusive, axis, ddof, nan_policy=nan_policy, keepdims=keepdims))


def error_within(x, limits, inclusive, ddof):
    """The standard error of the mean of what lies within limits."""
    count, variance = variance_within(x, limits, inclusive, ddof)
    return np.sqrt(variance) / np.sqrt(count)


@implements(stats.tsem)
def tsem(a, limits=None, inclusive=(True, True), axis=0, ddof=1, *, nan_policy="propagate", keepdims=False):
    """The standard error of the mean of what lies within limits."""
    return reduced(lambda x: error_within(x, limits, inclusive, ddof), a, axis, nan_policy, keepdims)


def least(x, limit, inclusive):
    """The smallest element above a limit."""
    far = outside(x, None if limit is None else (limit, None), (inclusive, True))
    return np.where(np.all(far, axis=0), np.nan, np.min(np.where(far, np.inf, x), axis=0))


def least_integer(a, limit, axis, inclusive, keepdims):
    """The smallest integer above a limit."""
    axis = tuple(axis) if isinstance(axis, list) else axis
    far = outside(a, None if limit is None else (limit, None), (inclusive, True))
    if np.any(np.all(far, axis=axis)):
        raise NotImplementedError("scipy.stats.tmin and tmax of integers, all of them beyond the limit: pass floats")
    return np.min(np.where(far, np.iinfo(a.dtype).max, a), axis=axis, keepdims=keepdims)


@implements(stats.tmin)
def tmin(a, lowerlimit=None, axis=0, inclusive=True, nan_policy="propagate", *, keepdims=False):
    """The smallest element that is not below a limit."""
    if np.asarray(a).dtype.kind in "iu":
        return least_integer(np.asarray(a), lowerlimit, axis, inclusive, keepdims)
    return reduced(lambda x: least(x, lowerlimit, inclusive), a, axis, nan_policy, keepdims)


@implements(stats.tmax)
def tmax(a, upperlimit=None, axis=0, inclusive=True, nan_policy="propagate", *, keepdims=False):
    """The largest element that is not above a limit."""
    limit = None if upperlimit is None else -upperlimit
    if np.asarray(a).dtype.kind == "i":
        return -least_integer(-np.asarray(a), limit, axis, inclusive, keepdims)
    return reduced(lambda x: -least(-x, limit, inclusive), a, axis, nan_policy, keepdims)


class SigmaclipResult(NamedTuple):
    """What `sigmaclip` gives."""

    clipped: Any
    lower: Any
    upper: Any


@implements(stats.sigmaclip)
def sigmaclip(a, low=4.0, high=4.0, *, nan_policy="propagate"):
    """The elements near the mean, by standard deviations, of those that are left."""
    c = np.ravel(np.asarray(a))
    if c.dtype.kind == "f":
        c = sample(c, None, nan_policy)
    near = np.ones(c.shape, np.bool_)
    gone = 1
    while gone > 0:  # finds which elements are left, which does not move with them
        left = c[near]
        spread, mean = np.std(left), np.mean(left)
        near = near & (c >= mean - spread * low) & (c <= mean + spread * high)
        gone = left.shape[0] - np.sum(near)
    if np.any(np.isnan(c)):
        return SigmaclipResult(c[:0], np.sum(c), np.sum(c))
    left = c[near]
    spread, mean = np.std(left), np.mean(left)
    return SigmaclipResult(left, mean - spread * low, mean + spread * high)


# Unbiased moments -----------------------------------------------------------------------------------------------------


def k_statistic(x, n):
    """An unbiased cumulant, by sums of powers as SciPy has it."""
    size = 1.0 * x.shape[0]
    s1 = np.sum(x, axis=0)
    if n == 1:
        return s1 / size
    s2 = np.sum(x**2, axis=0)
    if n == 2:
        return (size * s2 - s1**2) / (size * (size - 1.0))
    s3 = np.sum(x**3, axis=0)
    if n == 3:
        return (2 * s1**3 - 3 * size * s1 * s2 + size * size * s3) / (size * (size - 1.0) * (size - 2.0))
    s4 = np.sum(x**4, axis=0)
    top = (
        -6 * s1**4 + 12 * size * s1**2 * s2 - 3 * size * (size - 1.0) * s2**2
        - 4 * size * (size + 1) * s1 * s3 + size * size * (size + 1) * s4
    )  # fmt: skip
    return top / (size * (size - 1.0) * (size - 2.0) * (size - 3.0))


@implements(stats.kstat)
def kstat(data, n=2, *, axis=None, nan_policy="propagate", keepdims=False):
    """An unbiased cumulant."""
    if n > 4 or n < 1:
        raise ValueError("k-statistics only supported for 1<=n<=4")
    n = known(int(n))
    return reduced(lambda x: k_statistic(x, n), data, axis, nan_policy, keepdims)


def variance_of_k(x, n):
    """An unbiased variance of a cumulant."""
    if n == 1:
        return k_statistic(x, 2) / x.shape[0]
    size = 1.0 * x.shape[0]
    return (2 * size * k_statistic(x, 2) ** 2 + (size - 1) * k_statistic(x, 4)) / (size * (size + 1))


@implements(stats.kstatvar)
def kstatvar(data, n=2, *, axis=None, nan_policy="propagate", keepdims=False):
    """An unbiased variance of a cumulant."""
    if n not in (1, 2):
        raise ValueError("Only n=1 or n=2 supported.")
    n = known(int(n))
    return reduced(lambda x: variance_of_k(x, n), data, axis, nan_policy, keepdims)


def l_moments(x, orders, standardize):
    """Moments by order statistics, of a sorted sample."""
    n = x.shape[0]
    place = np.arange(n, dtype=x.dtype)
    top = max(orders)
    weighted = []
    for r in places(top):
        chosen = (sc.binom(place, 1.0 * r) / (sc.binom(n - 1.0, 1.0 * r) * n)).astype(x.dtype)
        weighted.append(np.sum(upright(chosen, x) * x, axis=0))
    found = [
        sum((-1.0) ** (k - r) * math.comb(k, r) * math.comb(k + r, r) * weighted[r] for r in places(k + 1))
        for k in places(top)
    ]
    spread = found[1] if top > 1 else None
    chosen = [found[k - 1] / spread if standardize and k > 2 else found[k - 1] for k in orders]
    return [np.where(n < k, np.nan, one) for k, one in zip(orders, chosen, strict=True)]


@implements(*present(stats, "lmoment"))
def lmoment(
    sample, order=None, *, axis=0, sorted=False, standardize=True,  # noqa: A002 - SciPy's name
    nan_policy="propagate", keepdims=False,
):  # fmt: skip
    """Moments by order statistics."""
    if order is not None and not isinstance(order, (int, tuple, list)):
        raise NotImplementedError("scipy.stats.lmoment(order=array): pass an int or a tuple of ints")
    one = isinstance(order, int)
    orders = (1, 2, 3, 4) if order is None else ((order,) if one else tuple(order))
    if len(orders) == 0 or any(k < 1 or not isinstance(k, int) for k in orders):
        raise ValueError("`order` must be a scalar or a non-empty array of positive integers.")

    def moments(x):
        return np.stack(l_moments(x if sorted else np.sort(x, axis=0), orders, standardize))

    if nan_policy == "omit":
        raise NotImplementedError("scipy.stats.lmoment(nan_policy='omit'): drop what is not a number before")
    found = [
        reduced(lambda x, k=k: moments(x)[k], sample, axis, nan_policy, keepdims) for k in places(len(orders))
    ]  # fmt: skip
    return found[0] if one else np.stack(found)


# Entropies of densities -----------------------------------------------------------------------------------------------


def widened(x, m):
    """A sorted sample with its first and last element m times more."""
    none = np.zeros((m, *x.shape[1:]), x.dtype)
    return np.concatenate((x[:1] + none, x, x[-1:] + none))


def upright(values, x):
    """Numbers along the first axis of a sample."""
    return np.reshape(values, (-1,) + (1,) * (x.ndim - 1))


def vasicek(x, m):
    """Vasicek's entropy of a sorted sample."""
    wide = widened(x, m)
    return np.mean(np.log(x.shape[0] / (2 * m) * (wide[2 * m :] - wide[: -2 * m])), axis=0)


def van_es(x, m):
    """Van Es' entropy of a sorted sample."""
    n = x.shape[0]
    mean = np.sum(np.log((n + 1) / m * (x[m:] - x[:-m])), axis=0) / (n - m)
    return mean + np.sum(1.0 / np.arange(m, n + 1, dtype=x.dtype)) + math.log(1.0 * m) - math.log(n + 1.0)


def correa(x, m):
    """Correa's entropy of a sorted sample."""
    n = x.shape[0]
    wide = widened(x, m)
    steps = np.arange(-m, m + 1)
    near = wide[np.arange(n)[None, :] + m + steps[:, None]]
    apart = near - np.mean(near, axis=0)
    slope = np.sum(apart * np.reshape(steps.astype(x.dtype), (-1, 1) + (1,) * (x.ndim - 1)), axis=0)
    return -np.mean(np.log(slope / (n * np.sum(apart**2, axis=0))), axis=0)


def ebrahimi(x, m):
    """Ebrahimi's entropy of a sorted sample."""
    n = x.shape[0]
    wide = widened(x, m)
    i = np.arange(1, n + 1, dtype=x.dtype)
    reach = np.where(i <= m, 1 + (i - 1) / m, 2.0)
    reach = np.where(i >= n - m + 1, 1 + (n - i) / m, reach)
    return np.mean(np.log(n * (wide[2 * m :] - wide[: -2 * m]) / upright(reach * m, x)), axis=0)


def entropy_of_density(x, window, method):
    """The entropy of the density that a sample is of; of a sample that is too small, none."""
    n = x.shape[0]
    m = math.floor(math.sqrt(n) + 0.5) if window is None else window
    if not 2 <= 2 * m < n:
        return np.full(x.shape[1:], np.nan, x.dtype)[()]
    x = np.sort(x, axis=0)
    if method == "vasicek":
        return vasicek(x, m)
    if method == "van es":
        return van_es(x, m)
    if method == "correa":
        return correa(x, m)
    if method == "ebrahimi":
        return ebrahimi(x, m)
    if n <= 10:
        return van_es(x, m)
    return ebrahimi(x, m) if n <= 1000 else vasicek(x, m)


@implements(stats.differential_entropy)
def differential_entropy(
    values, *, window_length=None, base=None, axis=0, method="auto", nan_policy="propagate", keepdims=False
):
    """The entropy of the density that a sample is of."""
    method = method.lower()
    if method not in ("vasicek", "van es", "correa", "ebrahimi", "auto"):
        raise ValueError("`method` must be one of 'vasicek', 'van es', 'correa', 'ebrahimi', 'auto'")
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    unit = 1.0 if base is None else math.log(base)
    return reduced(lambda x: entropy_of_density(x, window_length, method) / unit, values, axis, nan_policy, keepdims)


# Transformed towards normality ----------------------------------------------------------------------------------------


def power_1p(x, lmbda):
    """((1 + x)**lmbda - 1) / lmbda, and on the other side of zero the same with 2 - lmbda."""
    positive = x >= 0
    above = sc.boxcox1p(np.where(positive, x, 0.0), lmbda)
    return np.where(positive, above, -sc.boxcox1p(np.where(positive, 0.0, -x), 2.0 - lmbda))


def log_1p(x):
    """The logarithm of 1 + |x| with the sign of x: with a slope of 1 at zero."""
    positive = x >= 0
    return np.where(positive, np.log1p(np.where(positive, x, 0.0)), -np.log1p(np.where(positive, 0.0, -x)))


@implements(stats.yeojohnson)
def yeojohnson(x, lmbda=None, *, nan_policy="propagate"):
    """Powers of 1 + x, of both signs."""
    if lmbda is None:
        raise NotImplementedError("scipy.stats.yeojohnson without lmbda: SciPy searches for it; pass it")
    x = as_float(np.asarray(x))
    if x.dtype.kind == "c":
        raise ValueError("Yeo-Johnson transformation is not defined for complex numbers.")
    if nan_policy == "raise" and np.any(np.isnan(x)):
        raise ValueError("The input contains nan values")
    return power_1p(x, lmbda)


def log_variance(x, lmbda):
    """The logarithm of the variance of (x**lmbda - 1) / lmbda, in units in which no power overflows."""
    unit = np.where(lmbda > 0, np.max(x, axis=0), np.min(x, axis=0))
    return 2.0 * lmbda * np.log(unit) + np.log(np.var(sc.boxcox(x / unit, lmbda), axis=0))


@implements(stats.boxcox_llf)
def boxcox_llf(lmb, data, *, axis=0, keepdims=False, nan_policy="propagate"):
    """How likely a power makes a sample normal."""
    return reduced(
        lambda x: (lmb - 1.0) * np.sum(np.log(x), axis=0) - 0.5 * x.shape[0] * log_variance(x, lmb),
        data, axis, nan_policy, keepdims,
    )  # fmt: skip


def log_variance_1p(x, lmbda):
    """The logarithm of the variance of what `yeojohnson` gives."""
    if np.all(x >= 0):
        return log_variance(1.0 + x, lmbda)
    if np.all(x < 0):
        return log_variance(1.0 - x, 2.0 - lmbda)
    return np.log(np.var(power_1p(x, lmbda), axis=0))


@implements(*present(stats, "yeojohnson_llf"))
def yeojohnson_llf(lmb, data, *, axis=0, nan_policy="propagate", keepdims=False):
    """How likely a power of 1 + x makes a sample normal."""
    return reduced(
        lambda x: (lmb - 1.0) * np.sum(log_1p(x), axis=0) - 0.5 * x.shape[0] * log_variance_1p(x, lmb),
        data, axis, nan_policy, keepdims,
    )  # fmt: skip
