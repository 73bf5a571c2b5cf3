"""exp, exp2, expm1, the hyperbolic functions and the logistic function, written for vectors (`vecmath`).

All reduce x = k log 2 + r with |r| <= log(2) / 2 and k an integer, r in two parts.
"""

from __future__ import annotations

from typing import Any

from diffjit.lowering.runtime.vecmath.values import (
    Choice,
    Number,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    nearest,
    polynomial,
    power_of_two,
    select,
    times_power_of_two,
    two_product,
)

LOG2_E = Choice(1.4426950408889634, 1.442695)
LN2 = Choice(0.6931471805599453, 0.6931472)  # rounded, and what rounding took away
LN2_REST = Choice(2.3190468138462996e-17, -1.9046542e-09)

# (exp(r) - 1 - r) / r**2
EXP = Choice(
    (
        0.5000000000000001, 0.16666666666666674, 0.041666666666624025, 0.00833333333332237,
        0.0013888888917276796, 0.00019841269886413323, 2.4801521189949843e-05, 2.755724233259912e-06,
        2.7620140881308924e-07, 2.5110096360810147e-08,
    ),
    (
        0.5, 0.16666576, 0.041666374, 0.008363207, 0.0013941416,
    ),
)  # fmt: skip
# (sinh(r) / r - 1) / r**2 and (cosh(r) - 1) / r**2, polynomials in r**2
SINH = Choice(
    (
        0.16666666666666677, 0.008333333333321567, 0.0001984126988629668, 2.7557244030275928e-06,
        2.5109101636164997e-08,
    ),
    (
        0.16666667, 0.008333289, 0.00019905032,
    ),
)  # fmt: skip
COSH = Choice(
    (0.5000000000000013, 0.04166666666651366, 0.001388888894743869, 2.4801489527844925e-05, 2.7631422814881326e-07),
    (0.5, 0.041666266, 0.0013946295),
)
# Beyond these exp(x) is inf and 0, and expm1(x) is -1.
EXP_MOST = Choice(710.0, 89.0)
EXP_LEAST = Choice(-746.0, -104.5)
EXP2_MOST = Choice(1025.0, 129.0)
EXP2_LEAST = Choice(-1076.0, -151.0)
MINUS_ONE_BELOW = Choice(-40.0, -20.0)
TANH_IS_ONE = Choice(20.0, 10.0)
SINH_IS_INFINITE = Choice(710.6, 89.6)
# Below this |x| the odd functions with slope 1 are x, and a smaller number would lose bits on the way.
LINEAR = Choice(2.0**-30, 2.0**-14)


def clamped(x: Number, low: Any, high: Any) -> Number:
    """x moved into [low, high]; NaN stays NaN."""
    return select(x > high, high, select(x < low, low, x))


def reduced(x: Number) -> tuple[Number, Number]:
    """(bits, r): x = k log 2 + r, k in the low bits. r is rounded once: the first fma is exact, little is left of x."""
    k, raw = nearest(x, LOG2_E)
    return raw, fma(-k, LN2_REST, fma(-k, LN2, x))


def exp_of_sum(r: Number, low: Any) -> Number:
    """exp(r + low) for |r| <= log(2) / 2 and a tiny `low`."""
    return 1.0 + exp_less_one(r, low)


def exp_less_one(r: Number, low: Any) -> Number:
    """The same without the 1 that it is added to."""
    return r + fma(r * r, polynomial(r, EXP), low)


def exp(x: Number) -> Number:
    """e**x: 1.00 (float32: 0.98) ulp."""
    x = clamped(x, EXP_LEAST, EXP_MOST)
    raw, r = reduced(x)
    return times_power_of_two(exp_of_sum(r, 0.0), int_of(raw))


def int_of(bits: Number) -> Number:
    """The integer in the low bits of `nearest`."""
    return bits - ((bits.format.bias + bits.format.mantissa) << bits.format.mantissa | 1 << (bits.format.mantissa - 1))


def exp2(x: Number) -> Number:
    """2**x: 1.00 (float32: 0.88) ulp."""
    x = clamped(x, EXP2_LEAST, EXP2_MOST)
    k, bits = nearest(x, 1.0)
    rest = x - k
    r, low = two_product(rest, LN2)
    return times_power_of_two(exp_of_sum(r, fma(rest, LN2_REST, low)), int_of(bits))


def _half_expm1(x: Number) -> tuple[Number, Number]:
    """(e**x - 1) / 2 in two parts, of which the second may be a sixth of the first."""
    raw, r = reduced(x)
    half = power_of_two(int_of(raw) - 1)
    high, rest = fast_two_sum(half - 0.5, half * r)
    return high, fma(half, r * r * polynomial(r, EXP), rest)


def expm1(x: Number) -> Number:
    """e**x - 1: 1.72 (float32: 1.15) ulp."""
    high, low = _half_expm1(clamped(x, MINUS_ONE_BELOW, EXP_MOST))
    return select(fabs(x) < LINEAR, copysign(fma(0.5 * x, x, x), x), 2.0 * (high + low))


def sigmoid(x: Number) -> Number:
    """1 / (1 + e**-x): 2.08 (float32: 2.12) ulp."""
    t = exp(-fabs(x))
    return select(x < 0.0, t, 1.0) / (1.0 + t)


def _hyperbolic(x: Number) -> tuple[Number, Number, Number, Number]:
    """sinh(x) / 2 and cosh(x) / 2 of x >= 0 in two parts each, from those of r: e**-r = cosh(r) - sinh(r)."""
    raw, r = reduced(x)
    k = int_of(raw)
    rise = power_of_two(k - 2)
    fall = select(k > r.format.mantissa + 8, 0.0, power_of_two(-k - 2))
    plus, minus = rise + fall, rise - fall
    square = r * r
    sinh_rest = r * square * polynomial(square, SINH)
    cosh_rest = square * polynomial(square, COSH)
    high, lost = two_product(plus, r)
    sinh_high, sinh_low = fast_two_sum(minus, high)
    sinh_low = sinh_low + ((rise - minus) - fall) + fma(plus, sinh_rest, fma(minus, cosh_rest, lost))
    high, lost = two_product(minus, r)
    cosh_high, cosh_low = fast_two_sum(plus, high)
    cosh_low = cosh_low + ((rise - plus) + fall) + fma(minus, sinh_rest, fma(plus, cosh_rest, lost))
    return sinh_high, sinh_low, cosh_high, cosh_low


def sinh(x: Number) -> Number:
    """(e**x - e**-x) / 2: 1.21 (float32: 0.99) ulp."""
    size = fabs(x)
    high, low, _, _ = _hyperbolic(select(size > SINH_IS_INFINITE, SINH_IS_INFINITE, size))
    result = select(size < LINEAR, size, 2.0 * (high + low))
    return copysign(result, x)


def cosh(x: Number) -> Number:
    """(e**x + e**-x) / 2: 0.81 (float32: 0.78) ulp."""
    size = fabs(x)
    _, _, high, low = _hyperbolic(select(size > SINH_IS_INFINITE, SINH_IS_INFINITE, size))
    return 2.0 * (high + low)


def tanh(x: Number) -> Number:
    """(e**2x - 1) / (e**2x + 1): 2.04 (float32: 2.02) ulp."""
    size = fabs(x)
    high, low = _half_expm1(2.0 * select(size > TANH_IS_ONE, TANH_IS_ONE, size))
    half = high + low
    return copysign(select(size < LINEAR, size, half / (half + 1.0)), x)
