"""sin, cos, tan and their inverses, written for vectors (`vecmath`).

sin, cos and tan take multiples of pi/2 in three parts from x. Beyond `IN_RANGE` the parts do not suffice: the functions
then give NaN, and `out_of_range` says so.
"""

from __future__ import annotations

from diffjit.lowering.runtime.vecmath.exponential import int_of
from diffjit.lowering.runtime.vecmath.values import (
    Choice,
    Number,
    bits,
    constant,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    from_bits,
    nearest,
    polynomial,
    quotient,
    select,
    sqrt,
    two_sum,
)

INF, NAN = float("inf"), float("nan")
IN_RANGE = Choice(2.0**36, 2.0**16)
TWO_OVER_PI = Choice(0.6366197723675814, 0.63661975)
HALF_PI = Choice(1.5707963267948966, 1.5707964)
HALF_PI_REST = Choice(6.123233995736766e-17, -4.371139e-08)
HALF_PI_LAST = Choice(-1.4973849048591698e-33, -1.7151245e-15)
QUARTER_PI, QUARTER_PI_REST = Choice(0.7853981633974483, 0.7853982), Choice(3.061616997868383e-17, -2.1855695e-08)
PI, PI_REST = Choice(3.141592653589793, 3.1415927), Choice(1.2246467991473532e-16, -8.742278e-08)
# (sin(r) / r - 1) / r**2 and (cos(r) - 1 + r**2 / 2) / r**4, polynomials in r**2, |r| <= 0.8
SIN = Choice(
    (
        -0.16666666666666624, 0.00833333333332021, -0.00019841269827992701, 2.7557313047566607e-06,
        -2.5050655313097827e-08, 1.58907440710777e-10,
    ),
    (
        -0.16666654, 0.0083320895, -0.00019505135,
    ),
)  # fmt: skip
COS = Choice(
    (
        0.04166666666666658, -0.0013888888888871165, 2.48015872875781e-05, -2.755731378823797e-07,
        2.087564496920567e-09, -1.1355521703401929e-11,
    ),
    (
        0.041666646, -0.0013887251, 2.4424919e-05,
    ),
)  # fmt: skip
# (arctan(t) / t - 1) / t**2, |t| <= tan(pi / 8), and (arcsin(s) / s - 1) / s**2, |s| <= 1/2, polynomials in the square
ARCTAN = Choice(
    (
        -0.33333333333333326, 0.19999999999997664, -0.14285714285387333, 0.11111111088131294,
        -0.09090908142710379, 0.07692282714862261, -0.06666226077398071, 0.05877014867489815,
        -0.052183582997757695, 0.045033569107843376, -0.033469872585684755, 0.015190406836916798,
    ),
    (
        -0.33333316, 0.19998483, -0.14243713, 0.1059492, -0.06080526,
    ),
)  # fmt: skip
ARCSIN = Choice(
    (
        0.16666666666666763, 0.07499999999970033, 0.0446428571753377, 0.030381942673193822,
        0.022372215956505737, 0.017351594698444613, 0.01398102720629026, 0.011397227709173266,
        0.010789664544327228, 0.0036709503092623593, 0.021793542900798712, -0.021120708685318994,
        0.03270460989716228,
    ),
    (
        0.16666754, 0.074952275, 0.045478947, 0.024138262, 0.042234834,
    ),
)  # fmt: skip
TAN_EIGHTH = Choice(0.41421356, 0.41421357)
# Below this |x| the odd functions are x.
LINEAR = Choice(2.0**-27, 2.0**-13)
BIG, LITTLE, MORE = Choice(2.0**500, 2.0**60), Choice(2.0**-500, 2.0**-60), Choice(2.0**600, 2.0**80)
LESS = Choice(2.0**-600, 2.0**-80)


def out_of_range(x: Number) -> Number:
    """Whether sin, cos and tan of a finite x are to be asked of libm."""
    size = fabs(x)
    return (size > IN_RANGE) & (size < INF)


def _quarters(x: Number) -> tuple[Number, Number]:
    """(n, r): x = n pi/2 + r, |r| <= pi/4, of n the low bits. r is rounded once: the first fma is exact."""
    k, raw = nearest(select(fabs(x) <= IN_RANGE, x, NAN), TWO_OVER_PI)
    return int_of(raw), fma(-k, HALF_PI_LAST, fma(-k, HALF_PI_REST, fma(-k, HALF_PI, x)))


def _cos_parts(square: Number) -> tuple[Number, Number]:
    """cos(r) in two parts."""
    half = 0.5 * square
    high = 1.0 - half
    return high, fma(square * square, polynomial(square, COS), (1.0 - high) - half)


def _wave(x: Number, quarter: int) -> Number:
    """sin(x + quarter pi/2)."""
    n, r = _quarters(x)
    square = r * r
    cos_high, cos_low = _cos_parts(square)
    n = n + quarter
    odd = (n & 1).equals(1)
    value = select(odd, cos_high, r) + select(odd, cos_low, r * square * polynomial(square, SIN))
    sign = (n & 2) << (n.format.ints.width - 2)
    return from_bits(bits(value) ^ sign)


def sin(x: Number) -> Number:
    """The sine: 1.44 (float32: 1.48) ulp."""
    return select(fabs(x) < LINEAR, x, _wave(x, 0))


def cos(x: Number) -> Number:
    """The cosine: 1.40 (float32: 1.35) ulp."""
    return _wave(x, 1)


def tan(x: Number) -> Number:
    """sin(x) / cos(x): 1.73 (float32: 1.66) ulp."""
    n, r = _quarters(x)
    square = r * r
    sine = fast_two_sum(r, r * square * polynomial(square, SIN))
    cosine = fast_two_sum(*_cos_parts(square))
    odd = (n & 1).equals(1)
    top = [select(odd, -c, s) for s, c in zip(sine, cosine, strict=True)]
    bottom = [select(odd, s, c) for s, c in zip(sine, cosine, strict=True)]
    high, low = quotient(*top, *bottom)
    return select(fabs(x) < LINEAR, x, high + low)


# Inverses -------------------------------------------------------------------------------------------------------------


def _angle(y: Number, x: Number) -> tuple[Number, Number]:
    """The angle of the point (x, y), both >= 0 and finite, in two parts, from 0 to pi/2."""
    steep = y > x
    a, b = select(steep, x, y), select(steep, y, x)
    # a / b = tan(pi/4 + arctan((a - b) / (a + b)))
    beyond = a > TAN_EIGHTH * b
    top, top_low = two_sum(a, -b)
    bottom, bottom_low = two_sum(a, b)
    top, bottom = select(beyond, top, a), select(beyond, bottom, b)
    t, t_low = quotient(top, select(beyond, top_low, 0.0), bottom, select(beyond, bottom_low, 0.0))
    square = t * t
    tail = fma(t * square, polynomial(square, ARCTAN), fma(-square, t_low, t_low))
    # Not beyond: 0 + t, or pi/2 - t when steep. Beyond: pi/4 + t, or pi/4 - t.
    start = select(beyond, QUARTER_PI, select(steep, constant(t, HALF_PI), 0.0))
    start_low = select(beyond, QUARTER_PI_REST, select(steep, constant(t, HALF_PI_REST), 0.0))
    high, low = fast_two_sum(start, select(steep, -t, t))
    return high, low + (start_low + select(steep, -tail, tail))


def arctan(x: Number) -> Number:
    """The inverse of tan: 0.62 (float32: 0.57) ulp."""
    size = fabs(x)
    high, low = _angle(select(size > BIG, BIG, size), constant(x, 1.0))
    return copysign(select(size < LINEAR, size, high + low), x)


def arctan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y): 0.58 (float32: 0.58) ulp."""
    a, b = fabs(y), fabs(x)
    either = a.equals(INF) | b.equals(INF)
    p = select(either, select(a.equals(INF), constant(a, 1.0), 0.0), a)
    q = select(either, select(b.equals(INF), constant(b, 1.0), 0.0), b)
    q = select(a.equals(0.0) & b.equals(0.0), 1.0, q)
    # Away from overflow and underflow; a quotient below the normal numbers is rounded once more.
    largest = select(p > q, p, q)
    scale = select(largest > BIG, LESS, select(largest < LITTLE, constant(p, MORE), 1.0))
    high, low = _angle(p * scale, q * scale)
    back, back_low = fast_two_sum(constant(x, PI), -high)
    left = bits(x) < 0
    angle = select(left, back + (back_low + (constant(x, PI_REST) - low)), high + low)
    angle = select(a.is_nan() | b.is_nan(), a + b, angle)
    return copysign(angle, y)


def arcsin(x: Number) -> Number:
    """The inverse of sin: 0.62 (float32: 0.67) ulp."""
    size = fabs(x)
    outer = size > 0.5
    s, s_low, tail = _arcsin_parts(size, outer)
    high, low = fast_two_sum(constant(x, HALF_PI), -2.0 * s)
    far = high + (low + (constant(x, HALF_PI_REST) - 2.0 * (s_low + tail)))
    result = select(outer, far, s + tail)
    return copysign(select(size < LINEAR, size, result), x)


def arccos(x: Number) -> Number:
    """The inverse of cos: 0.60 (float32: 0.63) ulp."""
    size = fabs(x)
    outer = size > 0.5
    s, s_low, tail = _arcsin_parts(size, outer)
    tail = s_low + tail
    negative = x < 0.0
    # pi/2 -+ arcsin(|x|) inside; outside 2 arcsin(s), or pi less that.
    start = select(outer, select(negative, constant(x, PI), 0.0), HALF_PI)
    start_low = select(outer, select(negative, constant(x, PI_REST), 0.0), HALF_PI_REST)
    factor = select(outer, select(negative, constant(x, -2.0), 2.0), select(negative, constant(x, 1.0), -1.0))
    high, low = fast_two_sum(start, factor * s)
    return high + (low + fma(factor, tail, start_low))


def _arcsin_parts(size: Number, outer: Number) -> tuple[Number, Number, Number]:
    """(s, low, tail): s + low is |x|, or sqrt((1 - |x|) / 2) if outer; its arcsin is s + low + tail."""
    square = select(outer, fma(size, -0.5, constant(size, 0.5)), size * size)
    root = sqrt(square)
    safe = select(square > 0.0, root, 1.0)
    low = select(outer, fma(-root, root, square) / (2.0 * safe), 0.0)
    s = select(outer, root, size)
    return s, low, s * square * polynomial(square, ARCSIN)
