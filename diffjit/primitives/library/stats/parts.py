"""Functions that SciPy computes in C for `beta`, `binom` and `nbinom`: the oldest one in a module of their own."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.special as sc
from scipy import stats

from diffjit.primitives.library.special import laws
from diffjit.primitives.registry import of_reals, present

HOMES = (sc._ufuncs, getattr(stats, "_boost", None))  # noqa: SLF001 - what `scipy.stats` calls


def part(name):
    """Declares a function of SciPy's where the installed version has it."""
    return of_reals(*(found for home in HOMES for found in present(home, name)))


for law, declared in (
    ("_beta_ppf", laws.beta_ppf),
    ("_binom_pdf", laws.binom_pmf),
    ("_binom_cdf", laws.binom_cdf),
    ("_binom_sf", laws.binom_sf),
    ("_nbinom_pdf", laws.nbinom_pmf),
    ("_nbinom_cdf", laws.nbinom_cdf),
    ("_nbinom_sf", laws.nbinom_sf),
):
    part(law)(declared)


@part("_beta_cdf")
def beta_cdf(x, a, b):
    """The distribution function."""
    return sc.betainc(a, b, x)


@part("_beta_sf")
def beta_sf(x, a, b):
    """What is left of the distribution function."""
    return sc.betainc(b, a, 1.0 - x)


@part("_beta_isf")
def beta_isf(q, a, b):
    """The quantile from above."""
    return 1.0 - sc.betaincinv(b, a, q)


@part("_beta_mean")
def beta_mean(a, b):
    """The mean."""
    return a / (a + b)


@part("_beta_variance")
def beta_variance(a, b):
    """The variance."""
    return a * b / ((a + b) ** 2 * (a + b + 1.0))


@part("_beta_skewness")
def beta_skewness(a, b):
    """The third moment, of what has variance 1."""
    return 2.0 * (b - a) * np.sqrt(a + b + 1.0) / ((a + b + 2.0) * np.sqrt(1.0 * a * b))


@part("_beta_kurtosis_excess")
def beta_kurtosis(a, b):
    """The fourth moment, less that of a normal distribution."""
    above = (a - b) ** 2 * (a + b + 1.0) - a * b * (a + b + 2.0)
    return 6.0 * above / (a * b * (a + b + 2.0) * (a + b + 3.0))


@part("_binom_mean")
def binom_mean(n, p):
    """The mean."""
    return 1.0 * n * p


@part("_binom_variance")
def binom_variance(n, p):
    """The variance."""
    return n * p * (1.0 - p)


@part("_binom_skewness")
def binom_skewness(n, p):
    """The third moment, of what has variance 1."""
    return (1.0 - 2.0 * p) / np.sqrt(n * p * (1.0 - p))


@part("_binom_kurtosis_excess")
def binom_kurtosis(n, p):
    """The fourth moment, less that of a normal distribution."""
    return (1.0 - 6.0 * p * (1.0 - p)) / (n * p * (1.0 - p))


@part("_nbinom_mean")
def nbinom_mean(n, p):
    """The mean."""
    return n * (1.0 - p) / p


@part("_nbinom_variance")
def nbinom_variance(n, p):
    """The variance."""
    return n * (1.0 - p) / p**2


@part("_nbinom_skewness")
def nbinom_skewness(n, p):
    """The third moment, of what has variance 1."""
    return (2.0 - p) / np.sqrt(n * (1.0 - p))


@part("_nbinom_kurtosis_excess")
def nbinom_kurtosis(n, p):
    """The fourth moment, less that of a normal distribution."""
    return (6.0 + p**2 / (1.0 - p)) / n
