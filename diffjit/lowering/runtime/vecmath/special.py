"""erf, erfc, cbrt, hypot and the logarithms of sums of exponentials, written for vectors (`vecmath`)."""

from __future__ import annotations

from diffjit.lowering.runtime.vecmath.exponential import LN2, LN2_REST, LOG2_E, exp, exp2, exp_less_one, int_of
from diffjit.lowering.runtime.vecmath.logarithm import LEAST_NORMAL, log1p
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
    power_of_two,
    select,
    sqrt,
    times_power_of_two,
    two_product,
    two_sum,
)

INF = float("inf")
# erf(x) / x - 1, a polynomial in x**2, 0 <= x <= 1
ERF = Choice(
    (
        0.12837916709551256, -0.3761263890318355, 0.11283791670945252, -0.026866170643276163,
        0.005223977607423107, -0.0008548325989682053, 0.00012055295320109685, -1.4924744656742188e-05,
        1.644751760418204e-06, -1.6209175394627042e-07, 1.3722974197437896e-08, -7.801185276729737e-10,
    ),
    (
        0.12837917, -0.37612626, 0.112836, -0.026854444, 0.0051895347, -0.0008020833, 7.889083e-05,
    ),
)  # fmt: skip
# (1 + 2 x) exp(x**2) erfc(x), a polynomial in t = (x - c) / (x + c), 0 <= x <= 27.5 (float32: 10.5)
ERFCX = Choice(
    (
        1.2329951186255526, -0.13962111684056286, 0.015379652102620177, 0.06809705425473309,
        -0.10103906603632413, 0.09373283499692824, -0.0663303658120539, 0.03716751556050575,
        -0.01619773405429965, 0.005031969772279374, -0.0007577733654642848, -0.00019925558910009497,
        0.00015062231006810376, -2.4402916018054318e-05, -1.1224876177829222e-05, 5.717397808419147e-06,
        3.0135346686153284e-07, -8.345971798783619e-07, 6.284257138582804e-08, 1.150008995042237e-07,
        -7.86054454988788e-09, -1.3585917443455566e-08, -1.7750386317867835e-09,
    ),
    (
        1.2769784, -0.09276382, -0.16603051, 0.16405103, -0.054217935, -0.008030726, 0.008709779, 0.0012523952,
        -0.001422652, -0.00040103184, 0.00017120656, 8.0425874e-05,
    ),
)  # fmt: skip
ERFCX_START, ERFCX_REST = Choice(*(c[0] for c in ERFCX)), Choice(*(c[1:] for c in ERFCX))
ERFCX_CENTRE = Choice(4.0, 2.0)
ERFC_IS_ZERO = Choice(27.5, 10.5)
ERFC_IS_TWO = Choice(-6.5, -4.5)


def _erfc_of_positive(x: Number) -> Number:
    """erfc(x) of 0 <= x <= 27.5."""
    centre = x.pick(ERFCX_CENTRE)
    # Both quotients, t and 1 / (1 + 2 x), from one division.
    plus, twice = x + centre, fma(x, 2.0, constant(x, 1.0))
    inverse = 1.0 / (plus * twice)
    to_plus, to_twice = inverse * twice, inverse * plus
    difference = x - centre
    t = difference * to_plus
    t = fma(fma(-t, plus, difference), to_plus, t)
    scaled, scaled_low = fast_two_sum(constant(x, ERFCX_START), t * polynomial(t, ERFCX_REST))
    value = scaled * to_twice
    value_low = (fma(-value, twice, scaled) + scaled_low) * to_twice
    square, square_low = two_product(x, x)
    k, raw = nearest(-square, LOG2_E)
    r, low = two_sum(fma(-k, LN2, -square), fma(-k, LN2_REST, -square_low))
    return times_power_of_two(value + fma(value, exp_less_one(r, low), value_low), int_of(raw))


def erfc(x: Number) -> Number:
    """1 - erf(x): 1.75 (float32: 2.15) ulp."""
    size = fabs(x)
    size = select(size > ERFC_IS_ZERO, ERFC_IS_ZERO, size)
    beyond = _erfc_of_positive(size)
    square = size * size
    inside = fma(x, polynomial(square, ERF), x)
    result = select(x < 0.0, 2.0 - beyond, beyond)
    return select(size < 0.8, 1.0 - inside, result)


def erf(x: Number) -> Number:
    """The error function: 1.11 (float32: 1.11) ulp."""
    size = fabs(x)
    inside = size < 1.0
    bounded = select(size > 6.5, 6.5, size)
    square = bounded * bounded
    near = fma(x, polynomial(square, ERF), x)
    far = copysign(1.0 - _erfc_of_positive(bounded), x)
    return select(inside, near, far)


# Roots ----------------------------------------------------------------------------------------------------------------


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x**2 + y**2) without overflow on the way: 1.00 (float32: 0.72) ulp."""
    a, b = fabs(x), fabs(y)
    infinite = a.equals(INF) | b.equals(INF)
    large, little = select(a > b, a, b), select(a > b, b, a)
    big, tiny = large > LARGE, large < TINY
    scale = select(big, DOWN, select(tiny, constant(x, UP), 1.0))
    back = select(big, UP, select(tiny, constant(x, DOWN), 1.0))
    large, little = large * scale, little * scale
    square, square_low = two_product(large, large)
    total, lost = fast_two_sum(square, little * little)
    root = sqrt(total)
    safe = select(total > 0.0, root, 1.0)
    root = root + 0.5 * (fma(-root, root, total) + (lost + square_low)) / safe
    root = select(a.is_nan() | b.is_nan(), a + b, root * back)
    return select(infinite, INF, root)


LARGE, TINY = Choice(2.0**500, 2.0**60), Choice(2.0**-400, 2.0**-40)
UP, DOWN = Choice(2.0**600, 2.0**90), Choice(2.0**-600, 2.0**-90)

# x**(-1/3), a polynomial on [1, 2)
CBRT = Choice(
    (
        1.7810424311963169, -1.565976432074253, 1.2437154115238966, -0.5978266311070707, 0.15605660729091875,
        -0.017017122095013798,
    ),
    (
        1.5418966, -0.8099798, 0.31777024, -0.04993975,
    ),
)  # fmt: skip
ROOT_2, ROOT_4 = Choice(0.7937005259840998, 0.7937005), Choice(0.6299605249474366, 0.62996054)  # 2**(-1/3), 4**(-1/3)


def cbrt(x: Number) -> Number:
    """The cube root: 0.50 (float32: 0.50) ulp."""
    form = x.format
    size = fabs(x)
    little = size < LEAST_NORMAL
    shift = form.mantissa + 2 + (-(form.mantissa + 2)) % 3  # a multiple of 3
    raw = bits(select(little, size * 2.0**shift, size))
    mantissa = from_bits((raw & ((1 << form.mantissa) - 1)) | form.bias << form.mantissa)
    # The exponent as a float, and its third rounded down.
    start = (form.bias + form.mantissa) << form.mantissa
    e = from_bits((raw >> form.mantissa) | start) - (2.0**form.mantissa + form.bias)
    third, third_bits = nearest(e - 1.0, 1.0 / 3.0)
    rest = e - 3.0 * third
    one, two = rest > 0.5, rest > 1.5
    m = mantissa * select(two, constant(e, 4.0), select(one, constant(e, 2.0), 1.0))
    # m in [1, 8). A step of third order towards u = m**(-1/3), then Newton's on m u**2 with the rest in two parts.
    u = polynomial(mantissa, CBRT) * select(two, ROOT_4, select(one, constant(m, ROOT_2), 1.0))
    error = fma(-m * u, u * u, constant(m, 1.0))
    u = fma(u * error, fma(error, 2.0 / 9.0, constant(m, 1.0 / 3.0)), u)
    root = m * (u * u)
    square, square_low = two_product(root, root)
    over = fma(square, root, -m) + square_low * root
    root = fma(over * (u * u), -1.0 / 3.0, root)
    result = root * power_of_two(int_of(third_bits)) * select(little, constant(e, 2.0 ** (-shift // 3)), 1.0)
    result = select((size < INF) & (size > 0.0), result, size)
    return copysign(result, x)


# Logarithms of sums ---------------------------------------------------------------------------------------------------


def logaddexp(x: Number, y: Number) -> Number:
    """log(e**x + e**y); where nothing cancels 0.50 (float32: 0.63) ulp."""
    largest = select(x > y, x, y)
    gap = -fabs(x - y)
    gap = select(x.equals(y), 0.0, gap)
    return largest + log1p(exp(gap))


def logaddexp2(x: Number, y: Number) -> Number:
    """log2(2**x + 2**y); where nothing cancels 0.52 (float32: 0.54) ulp."""
    largest = select(x > y, x, y)
    gap = -fabs(x - y)
    gap = select(x.equals(y), 0.0, gap)
    return largest + log1p(exp2(gap)) * LOG2_E
