"""Distribution functions that SciPy computes in C, by functions whose derivatives by all parameters are known."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.special as sc

from diffjit.primitives.registry import of_reals, present


def parts(*names):
    """Those of SciPy's private functions that the installed version has."""
    return present(sc._ufuncs, *names)  # noqa: SLF001 - what `scipy.stats` calls


# Fisher's distribution, as a beta distribution


@of_reals(sc.fdtr)
def fdtr(dfn, dfd, x):
    """The distribution function."""
    return sc.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@of_reals(sc.fdtrc)
def fdtrc(dfn, dfd, x):
    """What is left of it."""
    return sc.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


@of_reals(sc.fdtri)
def fdtri(dfn, dfd, p):
    """The quantile."""
    share, rest = sc.betaincinv(0.5 * dfn, 0.5 * dfd, p), sc.betainccinv(0.5 * dfd, 0.5 * dfn, p)
    return dfd * share / (dfn * rest)


# Beta, Cauchy


@of_reals(*parts("_beta_ppf"))
def beta_ppf(q, a, b):
    """The quantile of a beta distribution."""
    return sc.betaincinv(a, b, q)


@of_reals(*parts("_cauchy_ppf"))
def cauchy_ppf(q, loc, scale):
    """The quantile of Cauchy's distribution."""
    return loc - scale / np.tan(np.pi * q)


@of_reals(*parts("_cauchy_isf"))
def cauchy_isf(q, loc, scale):
    """The quantile from above."""
    return loc + scale / np.tan(np.pi * q)


# Binomial and negative binomial, by the probability of success


@of_reals(*parts("_binom_pmf"))
def binom_pmf(k, n, p):
    """The probability of k successes."""
    ways = sc.gammaln(n + 1.0) - sc.gammaln(k + 1.0) - sc.gammaln(n - k + 1.0)
    return np.exp(ways + sc.xlogy(1.0 * k, p) + sc.xlog1py(1.0 * n - k, -p))


@of_reals(*parts("_binom_cdf"))
def binom_cdf(k, n, p):
    """The probability of at most k successes."""
    whole = k >= n
    return np.where(whole, 1.0, sc.betainc(np.where(whole, 1.0, 1.0 * n - k), k + 1.0, 1.0 - p))


@of_reals(*parts("_binom_sf"))
def binom_sf(k, n, p):
    """The probability of more than k successes."""
    whole = k >= n
    return np.where(whole, 0.0, sc.betainc(k + 1.0, np.where(whole, 1.0, 1.0 * n - k), p))


@of_reals(*parts("_nbinom_pmf"))
def nbinom_pmf(k, n, p):
    """The probability of k failures before n successes."""
    ways = sc.gammaln(1.0 * n + k) - sc.gammaln(k + 1.0) - sc.gammaln(1.0 * n)
    return np.exp(ways + sc.xlogy(1.0 * n, p) + sc.xlog1py(1.0 * k, -p))


@of_reals(sc.nbdtr, *parts("_nbinom_cdf"))
def nbinom_cdf(k, n, p):
    """The probability of at most k failures before n successes."""
    return sc.betainc(1.0 * n, k + 1.0, p)


@of_reals(sc.nbdtrc, *parts("_nbinom_sf"))
def nbinom_sf(k, n, p):
    """The probability of more than k failures before n successes."""
    return sc.betaincc(1.0 * n, k + 1.0, p)


@of_reals(*parts("_cosine_cdf"))
def cosine_cdf(x):
    """The distribution function of a cosine's hump."""
    return (np.pi + x + np.sin(x)) / (2.0 * np.pi)
