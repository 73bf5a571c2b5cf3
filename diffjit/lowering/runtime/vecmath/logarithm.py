"""log, log2, log10, log1p, the inverse hyperbolic functions, pow and cbrt, written for vectors (`vecmath`).

All split x = 2**e m with m in [sqrt(1/2), sqrt(2)) and take log(m) = 2 atanh(s), s = f / (2 + f), f = m - 1.
"""

from __future__ import annotations

from typing import Any

from diffjit.lowering.runtime.vecmath.exponential import LN2, LN2_REST, LOG2_E, clamped, exp_of_sum, int_of
from diffjit.lowering.runtime.vecmath.values import (
    SINGLE,
    Choice,
    Number,
    bits,
    constant,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    from_bits,
    narrowed,
    nearest,
    polynomial,
    power_of_two,
    quotient,
    select,
    sqrt,
    times_power_of_two,
    trunc,
    two_product,
    two_sum,
    widened,
)

INF, NAN = float("inf"), float("nan")
# (2 atanh(s) / s - 2) / s**2, a polynomial in s**2
LOG = Choice(
    (
        0.6666666666666738, 0.3999999999938111, 0.28571428750526856, 0.22222197674550617, 0.18183614088041475,
        0.1531270409245682, 0.14810114104554306,
    ),
    (
        0.6666678, 0.3997711, 0.2988429,
    ),
)  # fmt: skip
# The same without its first coefficient 2/3, divided by s**2 (for powers, which are computed in float64 only)
LOG_REST = Choice(
    (
        0.39999999999999974, 0.2857142857144618, 0.2222222221727681, 0.18181818902138336, 0.15384554703593994,
        0.13336400632554637, 0.11673133200301541, 0.12003014744690098,
    ),
    (),
)  # fmt: skip
TWO_THIRDS, TWO_THIRDS_REST = 0.6666666666666666, 3.700743415417188e-17
# The first part has so few bits that its products with exponents are exact.
LN2_HIGH = Choice(0.693147180559663, 0.69314575)
LN2_LOW = Choice(2.8235290563031577e-13, 1.4286068e-06)
LOG10_2_HIGH = Choice(0.30102999566383914, 0.3010254)
LOG10_2_LOW = Choice(1.42050232272661e-13, 4.605039e-06)
LOG2_E_REST = Choice(2.0355273740931033e-17, 1.925963e-08)
LOG10_E, LOG10_E_REST = Choice(0.4342944819032518, 0.4342945), Choice(1.098319650216765e-17, -1.010305e-08)
SQRT_HALF = Choice(0x3FE6A09E667F3BCD, 0x3F3504F3)  # bits
LEAST_NORMAL = Choice(2.0**-1022, 2.0**-126)
LINEAR = Choice(2.0**-54, 2.0**-25)  # log1p(x) is x below
ODD_LINEAR = Choice(2.0**-27, 2.0**-13)  # arcsinh(x) and arctanh(x) are x below


def split(x: Number, *, subnormal: bool = True) -> tuple[Number, Number, Number]:
    """(e, m, biased) with x = 2**e m, for x > 0; `biased` is e + bias as an integer if x is a normal number."""
    form = x.format
    shift = form.mantissa + 2
    is_small = x < LEAST_NORMAL
    raw = bits(select(is_small, x * 2.0**shift, x) if subnormal else x)
    ones = form.bias << form.mantissa
    biased = (raw + (ones - x.pick(SQRT_HALF))) >> form.mantissa
    m = from_bits(raw - (biased << form.mantissa) + ones)
    # The integer as the low bits of 2**mantissa gives a float without a conversion.
    offset = 2.0**form.mantissa + form.bias
    e = from_bits(biased | (form.bias + form.mantissa) << form.mantissa)
    return e - (select(is_small, offset + shift, offset) if subnormal else offset), m, biased


def log_tail(f: Number) -> Number:
    """log(1 + f) - f."""
    s = f / (2.0 + f)
    square = s * s
    half = 0.5 * f * f
    return fma(s, fma(square, polynomial(square, LOG), half), -half)


def at_edges(x: Number, result: Number) -> Number:
    """A logarithm at 0, inf, NaN and below 0."""
    result = select(x < INF, result, x)
    result = select(x.equals(0.0), -INF, result)
    return select(x < 0.0, NAN, result)


def log(x: Number) -> Number:
    """The natural logarithm: 0.76 (float32: 0.79) ulp."""
    e, m, _ = split(x)
    f = m - 1.0
    high, low = fast_two_sum(e * LN2_HIGH, f)
    return at_edges(x, high + (low + fma(e, LN2_LOW, log_tail(f))))


def _scaled_log(x: Number, one_high: Any, one_low: Any, unit: Choice, unit_rest: Choice) -> Number:
    """e * one + log(m) * unit."""
    e, m, _ = split(x)
    f = m - 1.0
    high, low = two_product(f, unit)
    tail = log_tail(f)
    low = fma(tail, unit, fma(f, unit_rest, low))
    total, rest = fast_two_sum(e * one_high, high)
    return at_edges(x, total + (rest + fma(e, one_low, low)))


def log2(x: Number) -> Number:
    """The logarithm to base 2: 0.78 (float32: 0.87) ulp."""
    return _scaled_log(x, 1.0, 0.0, LOG2_E, LOG2_E_REST)


def log10(x: Number) -> Number:
    """The logarithm to base 10: 0.73 (float32: 0.78) ulp."""
    return _scaled_log(x, LOG10_2_HIGH, LOG10_2_LOW, LOG10_E, LOG10_E_REST)


def log_of_sum(x: Number, y: Number) -> Number:
    """log(x + y) for a normal x + y > 0 whose y is what rounding took away from a sum; near 1 the two may cancel."""
    form = x.format
    e, m, biased = split(x, subnormal=False)
    scale = from_bits((2 * form.bias + 1 - biased) << form.mantissa)  # 2**(1 - e), or 0 where y does not matter
    f, low = fast_two_sum(m - 1.0, 0.5 * y * scale)
    high, rest = fast_two_sum(e * LN2_HIGH, f)
    return high + (rest + (fma(e, LN2_LOW, log_tail(f)) + fma(-low, f, low)))


def log1p(x: Number) -> Number:
    """log(1 + x): 0.73 (float32: 0.74) ulp."""
    high, low = two_sum(x, 1.0)
    result = log_of_sum(high, low)
    result = select(x < INF, result, x)
    result = select(fabs(x) < LINEAR, x, result)
    result = select(x.equals(-1.0), -INF, result)
    return select(x < -1.0, NAN, result)


def arcsinh(x: Number) -> Number:
    """The inverse of sinh: 0.99 (float32: 1.01) ulp."""
    form = x.format
    size = fabs(x)
    # x**2 + 1 = x**2 in float beyond `large`: log(2 x) there.
    large = 2.0 ** (form.mantissa // 2 + 3)
    is_large = size > large
    t = select(is_large, 1.0, size)
    square, square_low = two_product(t, t)
    total, lost = two_sum(square, 1.0)
    total, lost = fast_two_sum(total, lost + square_low)
    root = sqrt(total)
    root_low = (fma(-root, root, total) + lost) / (2.0 * root)
    high, low = two_sum(root, t)
    high, low = fast_two_sum(high, low + root_low)
    ordinary = log_of_sum(select(is_large, size, high), select(is_large, 0.0, low))
    result = select(is_large, ordinary + LN2, ordinary)
    result = select(size < ODD_LINEAR, size, result)
    result = select(size < INF, result, size)
    return copysign(result, x)


def arccosh(x: Number) -> Number:
    """The inverse of cosh: 0.99 (float32: 1.01) ulp."""
    form = x.format
    large = 2.0 ** (form.mantissa // 2 + 3)
    is_large = x > large
    t = select(is_large, 1.0, x) - 1.0  # exact up to 2, beyond that its error is small against the result's
    t_low = (select(is_large, 1.0, x) - t) - 1.0
    square, square_low = two_product(t, t + 2.0)
    root = sqrt(square)
    safe = select(square > 0.0, root, 1.0)
    rest = fma(-root, root, square) + square_low + 2.0 * t_low * (t + 1.0)
    root_low = rest / (2.0 * safe)
    small, small_low = fast_two_sum(root, t)
    small_low = small_low + (root_low + t_low)
    high, low = two_sum(small, 1.0)
    high, low = fast_two_sum(high, low + small_low)
    result = log_of_sum(select(is_large, x, high), select(is_large, 0.0, low))
    result = select(is_large, result + LN2, result)
    result = select(x < INF, result, x)
    return select(x < 1.0, NAN, result)


def arctanh(x: Number) -> Number:
    """The inverse of tanh: 0.80 (float32: 0.80) ulp."""
    size = fabs(x)
    top, top_low = fast_two_sum(constant(size, 1.0), size)
    bottom, bottom_low = fast_two_sum(constant(size, 1.0), -size)
    inside = size < 1.0
    high, low = quotient(top, top_low, select(inside, bottom, 1.0), bottom_low)
    result = 0.5 * log_of_sum(*fast_two_sum(high, low))
    result = select(size < ODD_LINEAR, size, result)
    result = select(size.equals(1.0), INF, result)
    result = select(size > 1.0, NAN, result)
    return copysign(select(x.is_nan(), x, result), x)


# Powers ---------------------------------------------------------------------------------------------------------------


def _log_twice(x: Number) -> tuple[Number, Number]:
    """log(x) in two parts, x > 0: about 2**-64 relative to it. In float64."""
    e, m, _ = split(x)
    f = m - 1.0
    total, lost = fast_two_sum(constant(f, 2.0), f)
    s, s_low = quotient(f, 0.0, total, lost)
    # 2 atanh(s) = 2 s + 2/3 s**3 + s**3 tail; the first two terms, and those in s_low, to twice the precision.
    z, z_low = two_product(s, s)
    tail = z * polynomial(z, LOG_REST)
    cube, cube_low = two_product(s, z)
    cube_low = fma(s, z_low, cube_low)
    part, part_low = two_product(cube, TWO_THIRDS)
    part_low = fma(cube_low, TWO_THIRDS, fma(cube, tail + TWO_THIRDS_REST, part_low))
    base, base_low = fast_two_sum(2.0 * s, part)
    base_low = base_low + fma(2.0 * s_low, 1.0 + z, part_low)
    high, low = fast_two_sum(e * LN2_HIGH, base)
    return fast_two_sum(high, low + fma(e, LN2_LOW, base_low))


def power(x: Number, y: Number) -> Number:
    """x**y, with C's rules at the edges: 1.25 (float32: 0.54) ulp."""
    size = fabs(x)
    if x.format is SINGLE:
        return _signed(x, y, narrowed(_power_short(widened(size), widened(y))))
    log_high, log_low = _log_twice(size)
    log_high = _log_at_edges(size, log_high)
    product = y * log_high
    rest = select(fabs(product) < 800.0, fma(y, log_high, -product) + y * log_low, 0.0)
    exponent = _exponent(size, y, product)
    k, raw = nearest(exponent, LOG2_E)
    r = fma(-k, LN2, exponent) + fma(-k, LN2_REST, rest)
    return _signed(x, y, times_power_of_two(exp_of_sum(r, 0.0), int_of(raw)))


def _log_at_edges(size: Number, log_of_size: Number) -> Number:
    """The logarithm of 0, inf and NaN too."""
    return select((size > 0.0) & (size < INF), log_of_size, select(size.equals(0.0), -INF, size))


def _exponent(size: Number, y: Number, product: Number) -> Number:
    """y log(size) within the range of exp; 0 for 1**y and size**0, also where the other is NaN or inf."""
    return select(size.equals(1.0) | y.equals(0.0), 0.0, clamped(product, -760.0, 720.0))


def _signed(x: Number, y: Number, result: Number) -> Number:
    """x**y given |x|**y."""
    odd = trunc(y).equals(y) & ~trunc(0.5 * y).equals(0.5 * y)
    result = select(odd, copysign(result, x), result)
    return select((x < 0.0) & (x > -INF) & ~trunc(y).equals(y), NAN, result)


# log and exp in float64, as exact as a power in float32 needs
LOG_SHORT = Choice((0.6666666560607369, 0.4000034483047739, 0.28536655946787337, 0.23595223537818527), ())
EXP_SHORT = Choice(
    (
        0.9999999999149765, 1.0000000378237164, 0.500000017092898, 0.1666641497778155, 0.04166608095470712,
        0.008375172399054182, 0.0013956128280699005,
    ),
    (),
)  # fmt: skip


def _power_short(size: Number, y: Number) -> Number:
    """size**y in float64 with the precision of float32."""
    e, m, _ = split(size, subnormal=False)
    f = m - 1.0
    s = f / (2.0 + f)
    square = s * s
    log_of_size = fma(e, LN2, fma(s * square, polynomial(square, LOG_SHORT), 2.0 * s))
    log_of_size = _log_at_edges(size, log_of_size)
    product = select(size.equals(1.0) | y.equals(0.0), 0.0, clamped(y * log_of_size, -110.0, 100.0))
    k, raw = nearest(product, LOG2_E)
    r = fma(-k, LN2, product)
    return power_of_two(int_of(raw)) * polynomial(r, EXP_SHORT)
