"""Whether a sample may be of a distribution, by its order statistics: tests of Shapiro and Wilk, Anderson and Darling.

Shapiro and Wilk's as Royston approximates it, "Remark AS R94", Applied Statistics 44 (1995).
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from diffjit.primitives.library.numbers import BY_ZERO
from diffjit.primitives.library.stats.samples import sample
from diffjit.primitives.library.stats.tests import tested
from diffjit.primitives.registry import implements


def shapiro_weights(n):
    """Weights of the elements of a sorted sample that a line through them has, if they are normal."""
    m = special.ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    square, u = np.sum(m * m), 1.0 / math.sqrt(n)
    last = m[-1] / np.sqrt(square) + 0.221157 * u - 0.147981 * u**2 - 2.071190 * u**3 + 4.434685 * u**4
    last = last - 2.706056 * u**5
    if n <= 5:
        a = m / np.sqrt((square - 2 * m[-1] ** 2) / (1 - 2 * last**2))
    else:
        next_ = m[-2] / np.sqrt(square) + 0.042981 * u - 0.293762 * u**2 - 1.752461 * u**3 + 5.682633 * u**4
        next_ = next_ - 3.582633 * u**5
        rest = (square - 2 * m[-1] ** 2 - 2 * m[-2] ** 2) / (1 - 2 * last**2 - 2 * next_**2)
        a = m / np.sqrt(rest)
        a[-2], a[1] = next_, -next_
    a[-1], a[0] = last, -last
    return a


def shapiro_chance(w, n):
    """How likely a smaller statistic is of a normal sample."""
    if n == 3:
        return np.clip(1.0 - 6 / np.pi * np.arccos(np.sqrt(w)), 0.0, 1.0)
    if n <= 11:
        mean = 0.5440 - 0.39978 * n + 0.025054 * n**2 - 0.0006714 * n**3
        spread = math.exp(1.3822 - 0.77857 * n + 0.062767 * n**2 - 0.0020322 * n**3)
        g = -np.log(-2.273 + 0.459 * n - np.log(1 - w))
    else:
        u = math.log(n)
        mean = -1.5861 - 0.31082 * u - 0.083751 * u**2 + 0.0038915 * u**3
        spread = math.exp(-0.4803 - 0.082676 * u + 0.0030302 * u**2)
        g = np.log(1 - w)
    return special.ndtr((mean - g) / spread)


@implements(stats.shapiro)
def shapiro(x, *, axis=None, nan_policy="propagate", keepdims=False):
    """Whether a sample may be normal."""
    a = sample(x, axis, nan_policy)
    n = a.shape[0]
    if n < 3:
        raise ValueError("Data must be at least length 3.")
    a = np.sort(a, axis=0)
    far = a - np.mean(a, axis=0)
    weights = np.array([-math.sqrt(0.5), 0.0, math.sqrt(0.5)]) if n == 3 else shapiro_weights(n)
    weights = np.reshape(weights.astype(a.dtype), (-1,) + (1,) * (a.ndim - 1))
    w = np.sum(weights * far, axis=0) ** 2 / np.sum(far * far, axis=0)
    if n == 3:
        w = np.clip(w, 0.75, 1.0)
    return tested(w[()], shapiro_chance(w, 1.0 * n)[()], axis, keepdims, x)


class AndersonResult(NamedTuple):
    """What `anderson` gives."""

    statistic: Any
    critical_values: Any
    significance_level: Any


def anderson_statistic(x, lower, upper):
    """How far a sorted sample is from a distribution, by the logarithms of its function and of what is left of it."""
    n = x.shape[0]
    return -n - np.sum((2 * np.arange(1.0, n + 1) - 1.0) / n * (lower + upper[::-1]), axis=0)


def anderson_limits(x, dist):
    """The statistic, the limits that it has at several levels, and these."""
    y, n = np.sort(x), x.shape[0]
    if n == 0:
        raise ZeroDivisionError(BY_ZERO)
    if dist == "norm":
        w = (y - np.mean(x)) / np.std(x, ddof=1)
        limits = np.array(stats._morestats._Avals_norm) / (1.0 + 0.75 / n + 2.25 / n / n)  # noqa: SLF001
        return anderson_statistic(y, special.log_ndtr(w), special.log_ndtr(-w)), limits
    w = y / np.mean(x)
    positive = np.where(w > 0, w, 1.0)
    lower = np.where(w > 0, np.log(-np.expm1(-positive)), np.where(np.isnan(w), np.nan, -np.inf))
    limits = np.array(stats._morestats._Avals_expon) / (1.0 + 0.6 / n)  # noqa: SLF001
    return anderson_statistic(y, lower, np.where(w < 0, 0.0, -w)), limits


@implements(stats.anderson)
def anderson(x, dist="norm", *, method=None):
    """How far a sample is from a family of distributions."""
    dist = dist.lower()
    if dist not in ("norm", "expon") or method is not None:
        raise NotImplementedError("scipy.stats.anderson: of 'norm' and 'expon' alone, and without method")
    x = np.asarray(x)
    if x.ndim != 1:
        raise NotImplementedError("scipy.stats.anderson of several samples: call it for each of them")
    found, limits = anderson_limits(sample(x, 0), dist)
    return AndersonResult(found, np.around(limits, 3), np.array([15, 10, 5, 2.5, 1]))
