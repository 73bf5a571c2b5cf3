"""Derivatives of gamma and beta variates by their shapes, where acceptance leaves no path to follow.

Let F(x, a) be the distribution function and p its density. A variate that keeps its quantile while a changes has

    F(x(a), a) = constant    ->    dx/da = - F_a(x, a) / p(x, a)

This is the implicit reparameterisation of Figurnov, Mohamed and Mnih ("Implicit reparameterization gradients", NeurIPS
2018): expectations of its derivatives are the derivatives of expectations. It is applied again for second derivatives:
with g = dx/da,

    g_x = - p_a / p - g p_x / p            g_a = - F_aa / p - g p_a / p

Gamma: p_a / p = log(x) - psi(a), p_x / p = (a - 1) / x - 1. F_a / p is the integral of (log(t) - psi(a)) p(t) / p(x)
over t < x, or over t > x with the other sign; the shorter tail is taken, with t = x exp(-u) or t = x + s. F_aa has
(log(t) - psi(a))^2 - psi'(a) there. Beta is alike, with log(t) - psi(a) + psi(a + b), and t = x exp(-u).

The integrals have no end and decay exponentially: u = c exp(v - exp(-v)), and the trapezoidal rule in v (Takahasi and
Mori, "Double exponential formulas for numerical integration", Publ. RIMS 9, 1974).
"""

from __future__ import annotations

import math
from typing import Any

from diffjit.primitives.registry import elementwise
from diffjit.primitives.special import _digamma, _polygamma  # pyright: ignore[reportPrivateUsage]

_STEP = 0.0625
_FIRST, _LAST = -4.0, 40.0  # of v, where the integrand does not end before
_SMALL = -60.0  # an exponent


def _gamma_tail(x: float, a: float, bend: float) -> float:
    """F_a / p, or F_aa / p where `bend` is psi'(a), and not negative."""
    start = math.log(x) - _digamma(a)
    total, v, exponent = 0.0, _FIRST, 0.0
    if x <= a:
        scale = 1.0 / (a - x + math.sqrt(x))
        while v < _LAST and exponent > _SMALL:
            v += _STEP
            down = math.exp(-v)
            u = scale * math.exp(v - down)
            exponent = -a * u - x * math.expm1(-u)
            phi = start - u
            phi = phi * phi - bend if bend >= 0.0 else phi
            total += phi * math.exp(exponent) * u * (1.0 + down)
        return x * total * _STEP
    scale = x / (x - a + math.sqrt(a) + 1.0)
    while v < _LAST and exponent > _SMALL:
        v += _STEP
        down = math.exp(-v)
        s = scale * math.exp(v - down)
        grown = math.log1p(s / x)
        exponent = (a - 1.0) * grown - s
        phi = start + grown
        phi = phi * phi - bend if bend >= 0.0 else phi
        total -= phi * math.exp(exponent) * s * (1.0 + down)
    return total * _STEP


def _gamma_slope(x: float, a: float) -> float:
    """dx/da of a gamma variate x of shape a."""
    return -_gamma_tail(x, a, -1.0) if x > 0.0 and a > 0.0 else x * 0.0


def _gamma_bend(x: float, a: float) -> float:
    """F_aa / p."""
    return _gamma_tail(x, a, _polygamma(1, a)) if x > 0.0 and a > 0.0 else x * 0.0


def _beta_tail(x: float, a: float, b: float, first: int, second: int, bend: float) -> float:
    """F_i / p or, where `second` is not 0, F_ij / p, for x below the mean: 1 stands for a, 2 for b.

    `bend` is how the factors of the integrand change themselves: psi'(a) - psi'(a + b), and -psi'(a + b) for a and b.
    """
    both = _digamma(a + b)
    to_a, to_b = _digamma(a) - both, _digamma(b) - both
    start, rest = math.log(x), math.log1p(-x)
    slope = a - (b - 1.0) * x / (1.0 - x)  # the integrand falls like exp(-slope u) at first
    scale = 1.0 / (max(slope, 0.0) + math.sqrt(max(a, b) * x) + a)
    total, v, exponent = 0.0, _FIRST, 0.0
    while v < _LAST and exponent > _SMALL:
        v += _STEP
        down = math.exp(-v)
        u = scale * math.exp(v - down)
        above = math.log1p(-x * math.exp(-u))
        exponent = -a * u + (b - 1.0) * (above - rest)
        weight = math.exp(exponent) * u * (1.0 + down)
        by_a, by_b = start - u - to_a, above - to_b
        phi = by_a if first == 1 else by_b
        if second > 0:
            phi = phi * (by_a if second == 1 else by_b) - bend
        total += phi * weight
    return x * total * _STEP


def _beta_part(x: float, a: float, b: float, first: int, second: int, bend: float) -> float:
    """The same for any x: above the mean it is that of 1 - x, with the other sign."""
    if not 0.0 < x < 1.0 or not a > 0.0 or not b > 0.0:
        return x * 0.0
    if x <= a / (a + b):
        return _beta_tail(x, a, b, first, second, bend)
    return -_beta_tail(1.0 - x, b, a, 3 - first, 0 if second == 0 else 3 - second, bend)


def _beta_slope(x: float, a: float, b: float) -> float:
    """dx/da of a beta variate x."""
    return -_beta_part(x, a, b, 1, 0, 0.0)


def _beta_bend(x: float, a: float, b: float) -> float:
    """F_aa / p."""
    return _beta_part(x, a, b, 1, 1, _polygamma(1, a) - _polygamma(1, a + b))


def _beta_slope_b(x: float, a: float, b: float) -> float:
    """dx/db of a beta variate x: as `_beta_slope` of 1 - x, which a small x would be lost in."""
    return -_beta_part(x, a, b, 2, 0, 0.0)


def _beta_bend_b(x: float, a: float, b: float) -> float:
    """F_bb / p."""
    return _beta_part(x, a, b, 2, 2, _polygamma(1, b) - _polygamma(1, a + b))


def _beta_twist(x: float, a: float, b: float) -> float:
    """F_ab / p."""
    return _beta_part(x, a, b, 1, 2, -_polygamma(1, a + b))


def _student_slope(t: float, v: float) -> float:
    """dt/dv of a quantile t of Student's distribution: by y = t^2 / (v + t^2), or 1 - y, which is a beta variate."""
    if t == 0.0 or not v > 0.0 or not math.isfinite(t):
        return t * 0.0
    y, x = t * t / (v + t * t), v / (v + t * t)
    if y <= 0.5:
        dy = -0.5 * _beta_part(y, 0.5, 0.5 * v, 2, 0, 0.0)
        return (y / x + v * dy / (x * x)) / (2.0 * t)
    dx = -0.5 * _beta_part(x, 0.5 * v, 0.5, 1, 0, 0.0)
    return (y / x - v * dx / (x * x)) / (2.0 * t)


def _student_bend(t: float, v: float) -> float:
    """F_vv / p: the second derivative of a beta function at a point that moves with v."""
    if t == 0.0 or not v > 0.0 or not math.isfinite(t):
        return t * 0.0
    b, sum_of = 0.5 * v, v + t * t
    y, x = t * t / sum_of, v / sum_of
    turned = y > 0.5  # then by 1 - y, whose distribution has the parameters in the other order
    moved, bent = -t * t / (sum_of * sum_of), 2.0 * t * t / (sum_of * sum_of * sum_of)
    rate = 2.0 * t * v / (sum_of * sum_of)
    own = _polygamma(1, b) - _polygamma(1, b + 0.5)
    mixed = _digamma(b) - _digamma(b + 0.5)
    if turned:
        part = -_beta_part(x, b, 0.5, 1, 1, own)
        by_b, by_y = math.log(x) - mixed, 0.5 / y + (1.0 - b) / x - 1.0 / y
    else:
        part = _beta_part(y, 0.5, b, 2, 2, own)
        by_b, by_y = math.log1p(-y) - mixed, -0.5 / y - (b - 1.0) / x
    return (0.25 * part + by_b * moved + by_y * moved * moved + bent) / rate


def gamma_sample(value: Any, a: Any) -> Any:
    """A gamma variate that was drawn with shape a."""
    return value


def beta_sample(value: Any, a: Any, b: Any) -> Any:
    """A beta variate that was drawn with parameters a and b."""
    return value


def _first_of_two(value: float, a: float) -> float:
    return value


def _first_of_three(value: float, a: float, b: float) -> float:
    return value


elementwise("gamma_sample(value, a)", "0", "gamma_slope(out, a)", also=(gamma_sample,), scalar=_first_of_two)
elementwise(
    "gamma_slope(x, a)",
    "polygamma(0, a) - log(x) - out * ((a - 1.0) / x - 1.0)",
    "-gamma_bend(x, a) - out * (log(x) - polygamma(0, a))",
    scalar=_gamma_slope,
)
elementwise("gamma_bend(x, a)", None, None, scalar=_gamma_bend)

_STUDENT_RATE = "-(v + 1.0) * t / (v + t * t)"
_STUDENT_GROWTH = (
    "(0.5 * polygamma(0, 0.5 * v + 0.5) - 0.5 * polygamma(0, 0.5 * v) - 0.5 / v - 0.5 * log1p(t * t / v)"
    " + 0.5 * (v + 1.0) * t * t / (v * (v + t * t)))"
)
elementwise(
    "student_slope(t, v)",
    f"-{_STUDENT_GROWTH} - out * ({_STUDENT_RATE})",
    f"-student_bend(t, v) - out * {_STUDENT_GROWTH}",
    scalar=_student_slope,
)
elementwise("student_bend(t, v)", None, None, scalar=_student_bend)

elementwise(
    "beta_sample(value, a, b)", "0", "beta_slope(out, a, b)", "-beta_slope(1.0 - out, b, a)",
    also=(beta_sample,), scalar=_first_of_three,
)  # fmt: skip
_BY_X = "polygamma(0, a) - polygamma(0, a + b) - log(x) - out * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))"
_BY_A = "-beta_bend(x, a, b) - out * (log(x) - polygamma(0, a) + polygamma(0, a + b))"
_BY_B = "-beta_twist(x, a, b) - out * (log1p(-x) - polygamma(0, b) + polygamma(0, a + b))"
elementwise("beta_slope(x, a, b)", _BY_X, _BY_A, _BY_B, scalar=_beta_slope)
elementwise("beta_bend(x, a, b)", None, None, None, scalar=_beta_bend)
elementwise(
    "beta_slope_b(x, a, b)",
    "polygamma(0, b) - polygamma(0, a + b) - log1p(-x) - out * ((a - 1.0) / x - (b - 1.0) / (1.0 - x))",
    "-beta_twist(x, a, b) - out * (log(x) - polygamma(0, a) + polygamma(0, a + b))",
    "-beta_bend_b(x, a, b) - out * (log1p(-x) - polygamma(0, b) + polygamma(0, a + b))",
    scalar=_beta_slope_b,
)
elementwise("beta_bend_b(x, a, b)", None, None, None, scalar=_beta_bend_b)
elementwise("beta_twist(x, a, b)", None, None, None, scalar=_beta_twist)
