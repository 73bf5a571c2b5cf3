"""Densities and distribution functions of `scipy.stats`, for the common families.

Names and order of parameters are SciPy's: the shapes, then `loc` and `scale`. Outside of a family's support, densities
are 0, their logarithms -inf, and both constant.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np
import scipy.special as sc
from scipy import stats

from diffjit.primitives.registry import implements

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def allowed(value, holds):
    """A number, or NaN where parameters make no distribution: so becomes what is computed with it."""
    return np.where(holds, value, np.nan)[()]


def standard(x, loc, scale, *shapes):
    """Numbers in units of the scale; NaN where it or a shape is not positive."""
    right = np.greater(scale, 0)
    for shape in shapes:
        right = right & np.greater(shape, 0)
    return (np.asarray(x)[()] - loc) / allowed(scale, right)


def within(z, inside, value, outside=-math.inf):
    """The value inside of the support; NaN is not outside."""
    return np.where(inside, value, np.where(np.isnan(z), np.nan, outside))[()]


# On the whole line ----------------------------------------------------------------------------------------------------


@implements(stats.norm.logpdf)
def norm_logpdf(x, loc=0, scale=1):
    """Normal: the logarithm of the density."""
    z = standard(x, loc, scale)
    return -0.5 * z * z - HALF_LOG_TAU - np.log(scale)


@implements(stats.norm.pdf)
def norm_pdf(x, loc=0, scale=1):
    """Normal: the density."""
    return np.exp(norm_logpdf(x, loc, scale))


@implements(stats.norm.cdf)
def norm_cdf(x, loc=0, scale=1):
    """Normal: the distribution function."""
    return sc.ndtr(standard(x, loc, scale))


@implements(stats.norm.sf)
def norm_sf(x, loc=0, scale=1):
    """Normal: 1 - cdf."""
    return sc.ndtr(-standard(x, loc, scale))


@implements(stats.norm.logcdf)
def norm_logcdf(x, loc=0, scale=1):
    """Normal: the logarithm of the distribution function."""
    return sc.log_ndtr(standard(x, loc, scale))


@implements(stats.norm.logsf)
def norm_logsf(x, loc=0, scale=1):
    """Normal: log(1 - cdf)."""
    return sc.log_ndtr(-standard(x, loc, scale))


@implements(stats.norm.ppf)
def norm_ppf(q, loc=0, scale=1):
    """Normal: the quantile."""
    return sc.ndtri(np.asarray(q)[()]) * allowed(scale, np.greater(scale, 0)) + loc


@implements(stats.skewnorm.cdf)
def skewnorm_cdf(x, a, loc=0, scale=1):
    """Skewed normal: the distribution function."""
    z, a = np.asarray(standard(x, loc, scale)), np.asarray(a)
    value = sc.ndtr(z) - 2.0 * sc.owens_t(z, a)
    if np.any((value < 1e-6) & (a > 0)):  # the difference of two numbers that are nearly equal
        raise NotImplementedError("scipy.stats.skewnorm.cdf far in the left tail: use quad of its density")
    return np.where(np.isnan(z), np.nan, np.minimum(np.maximum(value, 0.0), 1.0))[()]


@implements(stats.skewnorm.sf)
def skewnorm_sf(x, a, loc=0, scale=1):
    """Skewed normal: 1 - cdf."""
    return skewnorm_cdf(-np.asarray(standard(x, loc, scale)), -np.asarray(a))


@implements(stats.skewnorm.logcdf)
def skewnorm_logcdf(x, a, loc=0, scale=1):
    """Skewed normal: the logarithm of the distribution function."""
    return np.log(skewnorm_cdf(x, a, loc, scale))


@implements(stats.skewnorm.logsf)
def skewnorm_logsf(x, a, loc=0, scale=1):
    """Skewed normal: log(1 - cdf)."""
    return np.log(skewnorm_sf(x, a, loc, scale))


@implements(stats.t.logpdf)
def t_logpdf(x, df, loc=0, scale=1):
    """Student: the logarithm of the density."""
    z = standard(x, loc, scale, df)
    front = sc.gammaln(0.5 * (df + 1)) - sc.gammaln(0.5 * df) - 0.5 * np.log(df * math.pi) - np.log(scale)
    return front - 0.5 * (df + 1) * np.log1p(z * z / df)


@implements(stats.t.pdf)
def t_pdf(x, df, loc=0, scale=1):
    """Student: the density."""
    return np.exp(t_logpdf(x, df, loc, scale))


@implements(stats.t.cdf)
def t_cdf(x, df, loc=0, scale=1):
    """Student: the distribution function."""
    return sc.stdtr(df, standard(x, loc, scale, df))


@implements(stats.cauchy.logpdf)
def cauchy_logpdf(x, loc=0, scale=1):
    """Cauchy: the logarithm of the density."""
    z = standard(x, loc, scale)
    return -math.log(math.pi) - np.log(scale) - np.log1p(z * z)


@implements(stats.laplace.logpdf)
def laplace_logpdf(x, loc=0, scale=1):
    """Laplace: the logarithm of the density."""
    return -np.abs(standard(x, loc, scale)) - np.log(2.0 * scale)


@implements(stats.logistic.logpdf)
def logistic_logpdf(x, loc=0, scale=1):
    """Logistic: the logarithm of the density."""
    z = standard(x, loc, scale)
    return sc.log_expit(z) + sc.log_expit(-z) - np.log(scale)


@implements(stats.logistic.cdf)
def logistic_cdf(x, loc=0, scale=1):
    """Logistic: the distribution function."""
    return sc.expit(standard(x, loc, scale))


# On the half-line -----------------------------------------------------------------------------------------------------


@implements(stats.expon.logpdf)
def expon_logpdf(x, loc=0, scale=1):
    """Exponential: the logarithm of the density."""
    z = standard(x, loc, scale)
    return within(z, z >= 0, -z - np.log(scale))


@implements(stats.expon.pdf)
def expon_pdf(x, loc=0, scale=1):
    """Exponential: the density."""
    z = standard(x, loc, scale)
    return within(z, z >= 0, np.exp(-z) / scale, 0.0)


@implements(stats.expon.cdf)
def expon_cdf(x, loc=0, scale=1):
    """Exponential: the distribution function."""
    z = standard(x, loc, scale)
    return within(z, z >= 0, -np.expm1(-z), 0.0)


@implements(stats.gamma.logpdf)
def gamma_logpdf(x, a, loc=0, scale=1):
    """Gamma: the logarithm of the density."""
    z = standard(x, loc, scale, a)
    return within(z, z >= 0, sc.xlogy(a - 1.0, z) - z - sc.gammaln(a) - np.log(scale))


@implements(stats.gamma.pdf)
def gamma_pdf(x, a, loc=0, scale=1):
    """Gamma: the density."""
    return np.exp(gamma_logpdf(x, a, loc, scale))


@implements(stats.gamma.cdf)
def gamma_cdf(x, a, loc=0, scale=1):
    """Gamma: the distribution function."""
    z = standard(x, loc, scale, a)
    return within(z, z >= 0, sc.gammainc(a, np.where(z >= 0, z, 0.0)), 0.0)


@implements(stats.chi2.logpdf)
def chi2_logpdf(x, df, loc=0, scale=1):
    """Chi squared: the logarithm of the density."""
    return gamma_logpdf(x, 0.5 * df, loc, 2.0 * scale)


@implements(stats.chi2.pdf)
def chi2_pdf(x, df, loc=0, scale=1):
    """Chi squared: the density."""
    return np.exp(chi2_logpdf(x, df, loc, scale))


@implements(stats.chi2.cdf)
def chi2_cdf(x, df, loc=0, scale=1):
    """Chi squared: the distribution function."""
    return gamma_cdf(x, 0.5 * df, loc, 2.0 * scale)


@implements(stats.lognorm.logpdf)
def lognorm_logpdf(x, s, loc=0, scale=1):
    """Log-normal: the logarithm of the density."""
    z = standard(x, loc, scale, s)
    log = np.log(np.where(z > 0, z, 1.0))
    return within(z, z > 0, -0.5 * (log / s) ** 2 - log - HALF_LOG_TAU - np.log(s) - np.log(scale))


@implements(stats.weibull_min.logpdf)
def weibull_logpdf(x, c, loc=0, scale=1):
    """Weibull: the logarithm of the density."""
    z = standard(x, loc, scale, c)
    safe = np.where(z > 0, z, 1.0)
    return within(z, z > 0, np.log(c) + (c - 1.0) * np.log(safe) - safe**c - np.log(scale))


# On an interval -------------------------------------------------------------------------------------------------------


@implements(stats.uniform.logpdf)
def uniform_logpdf(x, loc=0, scale=1):
    """Uniform: the logarithm of the density."""
    z = standard(x, loc, scale)
    return within(z, (z >= 0) & (z <= 1), -np.log(scale) + 0.0 * z)


@implements(stats.beta.logpdf)
def beta_logpdf(x, a, b, loc=0, scale=1):
    """Beta: the logarithm of the density."""
    z = standard(x, loc, scale, a, b)
    value = sc.xlogy(a - 1.0, z) + sc.xlog1py(b - 1.0, -z) - sc.betaln(a, b) - np.log(scale)
    return within(z, (z >= 0) & (z <= 1), value)


@implements(stats.beta.pdf)
def beta_pdf(x, a, b, loc=0, scale=1):
    """Beta: the density."""
    return np.exp(beta_logpdf(x, a, b, loc, scale))


@implements(stats.beta.cdf)
def beta_cdf(x, a, b, loc=0, scale=1):
    """Beta: the distribution function."""
    return sc.betainc(a, b, np.clip(standard(x, loc, scale, a, b), 0.0, 1.0))


# Discrete -------------------------------------------------------------------------------------------------------------


@implements(stats.poisson.logpmf)
def poisson_logpmf(k, mu, loc=0):
    """Poisson: the logarithm of the probability."""
    k = allowed(np.asarray(k)[()] - loc, np.greater_equal(mu, 0))
    return within(k, (k >= 0) & (k == np.floor(k)), sc.xlogy(k, mu) - sc.gammaln(k + 1.0) - mu)


@implements(stats.poisson.pmf)
def poisson_pmf(k, mu, loc=0):
    """Poisson: the probability."""
    return np.exp(poisson_logpmf(k, mu, loc))


@implements(stats.binom.logpmf)
def binom_logpmf(k, n, p, loc=0):
    """Binomial: the logarithm of the probability."""
    whole = np.greater_equal(n, 0) & np.equal(n, np.floor(n))
    k = allowed(np.asarray(k)[()] - loc, whole & np.greater_equal(p, 0) & np.less_equal(p, 1))
    ways = sc.gammaln(n + 1.0) - sc.gammaln(k + 1.0) - sc.gammaln(n - k + 1.0)
    return within(k, (k >= 0) & (k <= n) & (k == np.floor(k)), ways + sc.xlogy(k, p) + sc.xlog1py(n - k, -p))


@implements(stats.bernoulli.logpmf)
def bernoulli_logpmf(k, p, loc=0):
    """Bernoulli: the logarithm of the probability."""
    return binom_logpmf(k, 1, p, loc)
