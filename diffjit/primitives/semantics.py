"""What the elementwise kinds mean that are not NumPy ufuncs.

Rows name the scalar function that such a kind is (`elementwise(..., scalar=...)`, kept in SCALAR_SEMANTICS): plain
Python on numbers and `math`, which is compiled as it is. Kinds that need no function:

    where(c, x, y), select(c, x, y)   x if c else y; both are evaluated; dtype of np.result_type(x, y)
    cast(x)                           x in the dtype of the output
    zmul(g, p)                        0 where g is 0 (whatever p, NaN included), else g * p
    zdiv(g, y)                        0 where g is 0 (whatever y, NaN included), else g / y
    real(x), imag(x)                  x and 0 for real x
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Semantics:
    """A kind's scalar function, and the ufunc whose result dtype it shares (of its last argument)."""

    scalar: Callable[..., Any]
    like: np.ufunc = np.sqrt
    library: str = ""  # the function of arrays that text at the level of the user's code calls
    integer: bool = False  # the first parameter is an int


def is_pole(x: float) -> bool:
    """Whether x is 0, -1, -2, ..."""
    return bool(x <= 0.0 and np.floor(x) == x)  # math.floor would overflow an int64 in Numba


def gamma_function(x: float) -> float:
    """Gamma function; at the poles NaN (signed inf at 0), where math.gamma raises."""
    if x == 0.0:
        return math.copysign(math.inf, x)
    if not math.isfinite(x):
        return x if x > 0.0 else math.nan
    if is_pole(x):
        return math.nan
    return math.inf if x > 171.7 else math.gamma(x)


def log_gamma(x: float) -> float:
    """log|Gamma|; inf at the poles, where math.lgamma raises."""
    if math.isnan(x):
        return x
    if math.isinf(x) or x > 2.5e305 or is_pole(x):
        return math.inf
    return math.lgamma(x)


# Bernoulli numbers B_2, B_4, ... of the asymptotic series of polygamma (Abramowitz & Stegun 6.4.11).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma: recurrence to a large argument, then asymptotic series (A&S 6.4.6, 6.4.11)."""
    if not math.isfinite(x):
        if x > 0.0:
            return math.inf if n == 0 else 0.0
        return math.nan
    if is_pole(x):
        return math.inf if n % 2 == 1 else math.nan
    shifted = 0.0
    if n == 0 and x < -20.0:  # psi(x) = psi(1 - x) - pi / tan(pi x)
        shifted = math.pi / math.tan(math.pi * (x - math.floor(x)))
        x = 1.0 - x
    while x < 20.0 + n:
        shifted += 1.0 / x ** (n + 1)
        x += 1.0
    square = 1.0 / (x * x)
    if n == 0:
        series = math.log(x) - 0.5 / x
        power = 1.0
        for k in range(10):
            power *= square
            series -= _BERNOULLI[k] / (2 * k + 2) * power
        return series - shifted
    factorial = 1.0  # (n - 1)!
    for j in range(2, n):
        factorial *= j
    series = factorial * (1.0 + 0.5 * n / x)
    term = factorial  # (2k + n - 1)! / ((2k)! x**(2k))
    for k in range(1, 11):
        term *= (2 * k + n - 2) * (2 * k + n - 1) / (2 * k * (2 * k - 1)) * square
        series += _BERNOULLI[k - 1] * term
    sign = 1.0 if n % 2 == 1 else -1.0
    return sign * (series / x**n + factorial * n * shifted)


def sinc_nth(n: int, x: float) -> float:
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


def bessel_i(n: int, x: float) -> float:
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


def sinc(x: float) -> float:
    """sin(pi x) / (pi x)."""
    return sinc_nth(0, x)


def i0(x: float) -> float:
    """The modified Bessel function of order 0."""
    return bessel_i(0, x)


SCALAR_SEMANTICS: dict[str, Semantics] = {}


def printed() -> dict[str, Callable[..., Any] | str]:
    """What text at the level of the user's code calls: functions of numbers, or the names of a library's."""
    return {kind: s.library or s.scalar for kind, s in SCALAR_SEMANTICS.items()}
