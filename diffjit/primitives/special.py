"""Elementwise rows: special functions, binary exponents, and the parts of complex numbers.

Kinds that are not NumPy ufuncs name the scalar function that they mean. `polygamma`, `sinc_nth` and `bessel_i` are
families closed under differentiation, so that their members have exact derivatives of every order, also where the
closed formulas are 0 / 0.
"""

from __future__ import annotations

import math

import numpy as np

from diffjit.ir.ops import Cost
from diffjit.primitives.registry import elementwise

# What the rows mean, for numbers --------------------------------------------------------------------------------------


def _is_pole(x: float) -> bool:
    """Whether x is 0, -1, -2, ..."""
    return bool(x <= 0.0 and np.floor(x) == x)  # math.floor would overflow an int64 in Numba


def _gamma(x: float) -> float:
    """Gamma function; at the poles NaN (signed inf at 0), where math.gamma raises."""
    if x == 0.0:
        return math.copysign(math.inf, x)
    if not math.isfinite(x):
        return x if x > 0.0 else math.nan
    if _is_pole(x):
        return math.nan
    return math.inf if x > 171.7 else math.gamma(x)


def _lgamma(x: float) -> float:
    """log|Gamma|; inf at the poles, where math.lgamma raises."""
    if math.isnan(x):
        return x
    if math.isinf(x) or x > 2.5e305 or _is_pole(x):
        return math.inf
    return math.lgamma(x)


# Bernoulli numbers B_2, B_4, ... of the asymptotic series of polygamma (Abramowitz & Stegun 6.4.11).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, x) for n > 0 (A&S 6.4.10).

    The sum of zeta from a negative x on is that over all integers, which is as from the fraction of x on to both sides,
    without what lies below x.
    """
    if n < 0 or math.isnan(x):
        return math.nan
    if n == 0:
        return _digamma(x)
    sign = 1.0 if n % 2 == 1 else -1.0
    if math.isinf(x):
        return 0.0 if x > 0.0 else sign * math.inf
    if _is_pole(x) or n > 170:  # n! is beyond the largest float
        return sign * math.inf
    if x > -20.0:
        return sign * _zeta(n, x)
    part = x - math.floor(x)
    return sign * _zeta(n, part) + _zeta(n, 1.0 - part) - _zeta(n, 1.0 - x)


def _digamma(x: float) -> float:
    """The derivative of log|Gamma|: recurrence to a large argument, then asymptotic series (A&S 6.3.5, 6.3.18)."""
    if math.isinf(x):
        return math.inf if x > 0.0 else math.nan
    if _is_pole(x):
        return math.nan
    shifted = 0.0
    if x < -20.0:  # psi(x) = psi(1 - x) - pi / tan(pi x)
        shifted = math.pi / math.tan(math.pi * (x - math.floor(x)))
        x = 1.0 - x
    while x < 20.0:
        shifted += 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = math.log(x) - 0.5 / x
    power = 1.0
    for k in range(10):
        power *= square
        series -= _BERNOULLI[k] / (2 * k + 2) * power
    return series - shifted


def _zeta(n: int, x: float) -> float:
    """n! zeta(n + 1, x) for n > 0: recurrence to a large argument, then asymptotic series (A&S 6.4.6, 6.4.11)."""
    shifted = 0.0
    while x < 20.0 + n:
        power = 1.0 / x  # a power of a small x would be 0, which Python does not divide by
        for _ in range(n):
            power *= 1.0 / x
        shifted += power
        x += 1.0
    square = 1.0 / (x * x)
    factorial = 1.0  # (n - 1)!
    for j in range(2, n):
        factorial *= j
    series = factorial * (1.0 + 0.5 * n / x)
    term = factorial  # (2k + n - 1)! / ((2k)! x**(2k))
    for k in range(1, 11):
        term *= (2 * k + n - 2) * (2 * k + n - 1) / (2 * k * (2 * k - 1)) * square
        series += _BERNOULLI[k - 1] * term
    return series / x**n + factorial * n * shifted


def _sinc_nth(n: int, x: float) -> float:
    """The n-th derivative of sin(pi x) / (pi x).

    Differentiating t f = sin(t) n times gives t f_n + n f_(n-1) = sin(t + n pi / 2), stable upwards unless t is small
    against n; there the power series of f_n has no cancellation.
    """
    t = math.pi * x
    if math.isinf(t):
        return math.nan
    if abs(t) >= 0.5 * n + 0.5:
        sin, cos = math.sin(t), math.cos(t)
        value = sin / t
        for j in range(1, n + 1):
            quarter = j % 4
            wave = cos if quarter == 1 else -sin if quarter == 2 else -cos if quarter == 3 else sin
            value = (wave - j * value) / t
        return value * math.pi**n
    k = (n + 1) // 2
    power = t ** (2 * k - n) * (-1.0 if k % 2 == 1 else 1.0)  # (-1)**k t**(2k - n) / (2k - n)!
    total = power / (2 * k + 1)
    while abs(power) > 1e-20:
        k += 1
        m = 2 * k - n
        power *= -t * t / (m * (m - 1))
        total += power / (2 * k + 1)
    return total * math.pi**n


def _bessel_i(n: int, x: float) -> float:
    """The modified Bessel function I_n of integer order, by its power series, all of whose terms have one sign."""
    n = abs(n)
    if math.isnan(x):
        return x
    if abs(x) > 720.0:
        return math.inf if x > 0.0 or n % 2 == 0 else -math.inf
    half = 0.5 * x
    term = 1.0
    for j in range(1, n + 1):
        term *= half / j
    total = term
    k = 0
    while k < half or abs(term) > 1e-17 * abs(total):
        k += 1
        term *= half * half / (k * (k + n))
        total += term
    return total


def _sinc(x: float) -> float:
    """sin(pi x) / (pi x)."""
    return _sinc_nth(0, x)


def _i0(x: float) -> float:
    """The modified Bessel function of order 0."""
    return _bessel_i(0, x)


# Rows -----------------------------------------------------------------------------------------------------------------

elementwise("erf(x)", "1.1283791670955126 * exp(-x * x)", also=(math.erf,), math="erf", scalar=math.erf)
elementwise("erfc(x)", "-1.1283791670955126 * exp(-x * x)", also=(math.erfc,), math="erfc", scalar=math.erfc)
elementwise("gamma(x)", "out * polygamma(0, x)", also=(math.gamma,), guarded=True, scalar=_gamma)
elementwise("lgamma(x)", "polygamma(0, x)", also=(math.lgamma,), guarded=True, scalar=_lgamma)
elementwise("polygamma(n, x)", "0", "polygamma(n + 1, x)", guarded=True, scalar=_polygamma, integer=True)

elementwise("sinc(x)", "sinc_nth(1, x)", also=(np.sinc,), scalar=_sinc)
elementwise("sinc_nth(n, x)", "0", "sinc_nth(n + 1, x)", scalar=_sinc_nth, integer=True)

elementwise("i0(x)", "bessel_i(1, x)", also=(np.i0,), guarded=True, scalar=_i0)
elementwise(
    "bessel_i(n, x)",
    "0",
    "0.5 * (bessel_i(n - 1, x) + bessel_i(n + 1, x))",
    guarded=True,
    scalar=_bessel_i,
    integer=True,
)

# x * 2**n.
elementwise("ldexp(x, n)", "ldexp(1.0, n)", "0", numpy=np.ldexp, also=(math.ldexp,), guarded=True)

# For real x; `complexes` says what they are for complex ones.
elementwise("real(x)", "1", also=(np.real,), cost=Cost.CHEAP)
elementwise("imag(x)", "0", also=(np.imag,), cost=Cost.CHEAP)
elementwise("conjugate(x)", "1", numpy=np.conjugate, cost=Cost.CHEAP)
