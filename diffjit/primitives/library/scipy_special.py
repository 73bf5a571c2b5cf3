"""Functions of `scipy.special` written with others: sums of exponentials, polynomials, counts."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np
import scipy.special

from diffjit.primitives.library import special
from diffjit.primitives.library.axes import all_axes, as_float
from diffjit.primitives.registry import constant, implements, present

assert special  # which is read with this module


@implements(scipy.special.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    """log(sum(b * exp(a))), without overflow."""
    a = as_float(np.asarray(a))
    if b is not None:
        b = as_float(np.asarray(b))
        a, b = np.broadcast_arrays(a, b)
    axes = all_axes(axis, a.ndim)
    shift = np.max(a if b is None else np.where(b == 0, -np.inf, a), axis=axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(shift), shift, 0.0)
    terms = np.exp(a - shift) if b is None else b * np.exp(weighed(a - shift, b))
    total = np.sum(terms, axis=axes, keepdims=True)
    shift = shift + 0.0 * total
    sign = np.sign(total) if a.size > 0 else np.sign(total) - 1.0  # as SciPy has it for nothing at all
    if return_sign:
        total = np.abs(total)
    result = np.log(total) + shift
    if not keepdims:
        result, sign = np.squeeze(result, axis=axes), np.squeeze(sign, axis=axes)
        if result.ndim == 0:
            result, sign = result[()], sign[()]
    return (result, sign) if return_sign else result


def weighed(exponent, b):
    """Exponents that are finite where their weight is 0: nothing is added there, but the weight has a derivative."""
    if exponent.dtype.kind == "c":
        return np.where(np.logical_and(b == 0, np.logical_not(np.isfinite(exponent))), 0.0, exponent)
    most = 0.99 * np.log(np.finfo(exponent.dtype).max)
    return np.where(b == 0, np.fmin(exponent, most), exponent)


@implements(scipy.special.softmax)
def softmax(x, axis=None):
    """exp(x) / sum(exp(x))."""
    x = as_float(np.asarray(x))
    axes = all_axes(axis, x.ndim)
    exps = np.exp(x - np.max(x, axis=axes, keepdims=True))
    return exps / np.sum(exps, axis=axes, keepdims=True)


@implements(scipy.special.log_softmax)
def log_softmax(x, axis=None):
    """x - log(sum(exp(x)))."""
    x = as_float(np.asarray(x))
    axes = all_axes(axis, x.ndim)
    shifted = x - np.max(x, axis=axes, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))


@implements(scipy.special.multigammaln)  # pyright: ignore[reportAttributeAccessIssue]
def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension d (DLMF 35.3)."""
    a = as_float(np.asarray(a))
    if np.any(a <= 0.5 * (d - 1)):
        raise ValueError("condition a > 0.5 * (d-1) not met")
    result = 0.25 * d * (d - 1) * math.log(math.pi) + scipy.special.loggamma(a)
    for k in range(1, d):
        result = result + scipy.special.loggamma(a - 0.5 * k)
    return result


@implements(scipy.special.comb)
def comb(N, k, *, exact=False, repetition=False):
    """The number of combinations, also between the integers."""
    if exact and np.ndim(N) + np.ndim(k) > 0:
        raise NotImplementedError("scipy.special.comb(exact=True) of arrays: use math.comb")
    if repetition:
        N = N + k - 1
    if exact and (int(N) != N or k != int(k)):
        raise ValueError("Non-integer `N` and `k` with `exact=True` is not supported.")
    if exact:
        return math.comb(int(N), int(k)) if N >= 0 and k >= 0 else 0
    N, k = as_float(np.asarray(N)), as_float(np.asarray(k))
    return np.where((k <= N) & (N >= 0) & (k >= 0), scipy.special.binom(N, k), 0.0)[()]


@implements(scipy.special.factorial)
def factorial(n, exact=False, extend="zero"):
    """n! of integers, as a float."""
    if extend != "zero" or (exact and np.ndim(n) > 0):
        raise NotImplementedError("scipy.special.factorial with options: use math.factorial or scipy.special.gamma")
    if exact:
        return math.factorial(int(n)) if n >= 0 else 0
    n = as_float(np.asarray(n))
    return np.where(n < 0, 0.0, scipy.special.gamma(np.maximum(n, 0.0) + 1.0))[()]


# Orthogonal polynomials of integer order, by their recurrences (DLMF 18.9) --------------------------------------------


def recurrence(n, x, first, step, below=0.0):
    """The n-th of functions with p_0 = 1, p_1 = first and p_(k+1) = step(k, p_k, p_(k-1)); `below` for negative n."""
    n = int(n)  # of a float that is none, the program has values only
    before = np.ones_like(x)[()]
    if n < 0:
        return below * before
    if n == 0:
        return before
    current = first
    for k in range(1, n):
        before, current = current, step(k, current, before)
    return current


@implements(scipy.special.eval_legendre)
def eval_legendre(n, x):
    """Legendre's polynomial."""
    x = as_float(np.asarray(x))[()]
    n = -n - 1 if n < 0 else n
    return recurrence(n, x, x, lambda k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))


@implements(scipy.special.eval_chebyt)
def eval_chebyt(n, x):
    """Chebyshev's polynomial of the first kind."""
    x = as_float(np.asarray(x))[()]
    return recurrence(abs(n), x, x, lambda _k, p, q: 2 * x * p - q)


@implements(scipy.special.eval_chebyu)
def eval_chebyu(n, x):
    """Chebyshev's polynomial of the second kind."""
    x = as_float(np.asarray(x))[()]
    if n < -1:
        return -recurrence(-n - 2, x, 2 * x, lambda _k, p, q: 2 * x * p - q)
    return recurrence(n, x, 2 * x, lambda _k, p, q: 2 * x * p - q)


@implements(scipy.special.eval_hermite)
def eval_hermite(n, x):
    """The physicist's polynomial of Hermite."""
    x = as_float(np.asarray(x))[()]
    return recurrence(n, x, 2 * x, lambda k, p, q: 2 * x * p - 2 * k * q, below=np.nan)


@implements(scipy.special.eval_hermitenorm)
def eval_hermitenorm(n, x):
    """The probabilist's polynomial of Hermite."""
    x = as_float(np.asarray(x))[()]
    return recurrence(n, x, x, lambda k, p, q: x * p - k * q, below=np.nan)


@implements(scipy.special.eval_laguerre)
def eval_laguerre(n, x):
    """Laguerre's polynomial."""
    x = as_float(np.asarray(x))[()]
    return recurrence(n, x, 1 - x, lambda k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))


@implements(scipy.special.eval_genlaguerre)
def eval_genlaguerre(n, alpha, x):
    """The associated polynomial of Laguerre; NaN where SciPy has it, for alpha up to -1."""
    x = as_float(np.asarray(x))[()]
    first = 1 + alpha - x
    value = recurrence(n, first, first, lambda k, p, q: ((2 * k + 1 + alpha - x) * p - (k + alpha) * q) / (k + 1))
    return np.where(np.asarray(alpha) > -1, value, np.nan)[()]


@implements(scipy.special.eval_gegenbauer)
def eval_gegenbauer(n, alpha, x):
    """Gegenbauer's polynomial."""
    x = as_float(np.asarray(x))[()]
    first = 2 * alpha * x
    return recurrence(
        n, first, first, lambda k, p, q: (2 * (k + alpha) * x * p - (k + 2 * alpha - 1) * q) / (k + 1)
    )  # fmt: skip


@implements(scipy.special.eval_jacobi)
def eval_jacobi(n, alpha, beta, x):
    """Jacobi's polynomial by its recurrence (DLMF 18.9)."""
    x = as_float(np.asarray(x))[()]

    def step(k, value, before):
        s = 2.0 * k + alpha + beta
        a = 2.0 * (k + 1) * (k + alpha + beta + 1.0) * s
        b = (s + 1.0) * (alpha * alpha - beta * beta)
        c = s * (s + 1.0) * (s + 2.0)
        d = 2.0 * (k + alpha) * (k + beta) * (s + 2.0)
        return ((b + c * x) * value - d * before) / a

    return recurrence(n, x, 0.5 * (alpha - beta + (alpha + beta + 2.0) * x), step)


# Derivatives of Bessel functions (10.6.7, 10.29.5), and spherical ones of the third kind (10.47.9) --------------------


def bessel_slope(function, v, z, n, sign):
    """The n-th derivative: a sum over functions of orders v - n to v + n."""
    if not isinstance(n, int) or n < 0:
        raise ValueError("n must be a non-negative integer")
    factor, total = 1.0, function(v - n, z)
    for k in range(1, n + 1):
        factor = sign * (factor * (n - k + 1)) / k
        total = total + factor * function(v - n + 2 * k, z)
    return total / 2.0**n


@implements(scipy.special.jvp)
def jvp(v, z, n=1):
    """The n-th derivative of a Bessel function of the first kind."""
    return bessel_slope(scipy.special.jv, v, z, n, -1)


@implements(scipy.special.yvp)
def yvp(v, z, n=1):
    """The n-th derivative of a Bessel function of the second kind."""
    return bessel_slope(scipy.special.yv, v, z, n, -1)


@implements(scipy.special.ivp)
def ivp(v, z, n=1):
    """The n-th derivative of a modified Bessel function of the first kind."""
    return bessel_slope(scipy.special.iv, v, z, n, 1)


@implements(scipy.special.kvp)
def kvp(v, z, n=1):
    """The n-th derivative of a modified Bessel function of the second kind."""
    return (-1.0) ** n * bessel_slope(scipy.special.kv, v, z, n, 1)


@implements(scipy.special.spherical_kn)
def spherical_kn(n, z, derivative=False):
    """The spherical Bessel function of the third kind, or its derivative."""
    z = as_float(np.asarray(z))[()]
    value = np.sqrt(0.5 * math.pi / z) * scipy.special.kv(n + 0.5, z)
    if not derivative:
        return value
    return n / z * value - np.sqrt(0.5 * math.pi / z) * scipy.special.kv(n + 1.5, z)


# Zeros, nodes and coefficients are numbers once the order is known.
constant(
    *present(
        scipy.special, "ai_zeros", "bi_zeros", "bei_zeros", "beip_zeros", "ber_zeros", "berp_zeros", "kei_zeros",
        "keip_zeros", "ker_zeros", "kerp_zeros", "kelvin_zeros", "erf_zeros", "fresnel_zeros", "fresnelc_zeros",
        "fresnels_zeros", "jn_zeros", "jnp_zeros", "jnyn_zeros", "jnjnp_zeros", "yn_zeros", "ynp_zeros", "y0_zeros",
        "y1_zeros", "y1p_zeros", "bernoulli", "euler", "roots_legendre", "roots_chebyt", "roots_chebyu", "roots_chebyc",
        "roots_chebys", "roots_laguerre", "roots_hermite", "roots_hermitenorm", "roots_sh_legendre", "roots_sh_chebyt",
        "roots_sh_chebyu", "factorial2", "factorialk", "stirling2",
    )
)  # fmt: skip
