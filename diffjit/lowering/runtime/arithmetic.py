"""Products, powers, division and bits: NumPy's semantics, and Python's for its own ints (`*_exact`)."""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls.failures import (
    FITS,
    INT_OF_INFINITY,
    INT_OF_NAN,
    NEGATIVE_POWER,
    NEGATIVE_SHIFT,
    OUT_OF_BOUNDS,
    OVERFLOW,
    PROMISED,
    RANGE_STEP,
    ZERO_DIVISION,
)
from diffjit.lowering.runtime.build import (
    I1,
    I8,
    I64,
    call_python,
    fail_if,
    float_only,
    float_or_complex,
    helper,
    int_only,
    is_float,
    is_nan,
    operation,
    same,
    written,
)
from diffjit.lowering.runtime.choices import absolute, emit_absolute
from diffjit.lowering.runtime.scalars import copysign, floor, fmod_float

# Products and powers --------------------------------------------------------------------------------------------------


def _product(context: Any, builder: Any, kind: Any, x: Any, y: Any) -> Any:
    if is_float(kind):
        return builder.fmul(x, y)
    if isinstance(kind, types.Integer):
        return builder.mul(x, y)
    return call_python(context, builder, operator.mul, (kind, kind), (x, y))


def _power_n(n: int) -> Any:
    """x**n by repeated squaring."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind, x = kinds[0], args[0]
        result, square_, rest = None, x, n
        while rest:
            if rest & 1:
                result = square_ if result is None else _product(context, builder, kind, result, square_)
            rest >>= 1
            if rest:
                square_ = _product(context, builder, kind, square_, square_)
        return result

    return operation(f"power_{n}", 1, same, emit)


power_2, power_3, power_4, power_5, power_6, power_7, power_8 = (_power_n(n) for n in range(2, 9))
square = _power_n(2)


@helper
def _complex_one_minus_square(x: Any) -> Any:
    return (1.0 - x) * (1.0 + x)


def _emit_one_minus_square(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (kind,), (x,) = kinds, args
    if is_float(kind):
        one = x.type(1.0)
        return builder.fmul(builder.fsub(one, x), builder.fadd(one, x))
    wide = context.cast(builder, x, kind, types.complex128)
    result = call_python(context, builder, _complex_one_minus_square, (types.complex128,), (wide,))
    return context.cast(builder, result, types.complex128, kind)


one_minus_square = operation("one_minus_square", 1, float_or_complex, _emit_one_minus_square)


@written(same, inline=True)
def _complex_quotient(x: Any, y: Any) -> Any:
    """x / y by R. L. Smith's algorithm (Comm. ACM 5, 1962), as NumPy has it; Numba's own raises where y is 0."""
    a, b = abs(y.real), abs(y.imag)
    if a >= b:
        if a == 0.0:
            return complex(x.real / a, x.imag / a)
        ratio = y.imag / y.real
        scale = 1.0 / (y.real + y.imag * ratio)
        return complex((x.real + x.imag * ratio) * scale, (x.imag - x.real * ratio) * scale)
    ratio = y.real / y.imag
    scale = 1.0 / (y.imag + y.real * ratio)
    return complex((x.real * ratio + x.imag) * scale, (x.imag * ratio - x.real) * scale)


def emit_complex_quotient(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Emit a quotient as NumPy computes it."""
    wide = [context.cast(builder, a, kinds[0], types.complex128) for a in args]
    result = _complex_quotient.emit(context, builder, (types.complex128,) * 2, wide)
    return context.cast(builder, result, types.complex128, kinds[0])


divide_complex = operation(
    "divide_complex", 2, lambda x, _y: x if isinstance(x, types.Complex) else None, emit_complex_quotient
)


def _half_power(name: str, at_minus_infinity: float, emit_of: Any) -> Any:
    """A power by a square root: as `pow` at signed zeros and infinities, too; within 1.5 units of the last place."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        x = builder.fadd(args[0], args[0].type(0.0))  # of -0.0 and 0.0, powers are the same
        root = builder.call(builder.module.declare_intrinsic("llvm.sqrt", [x.type]), [x])
        below = builder.fcmp_ordered("==", x, x.type(-math.inf))
        return builder.select(below, x.type(at_minus_infinity), emit_of(builder, x, root))

    return operation(name, 1, float_only, emit)


power_half = _half_power("power_half", math.inf, lambda _b, _x, root: root)
power_three_halves = _half_power("power_three_halves", math.inf, lambda b, x, root: b.fmul(x, root))
power_minus_half = _half_power("power_minus_half", 0.0, lambda b, x, root: b.fdiv(x.type(1.0), root))
power_minus_three_halves = _half_power(  # one division could overflow where the result is subnormal
    "power_minus_three_halves", 0.0, lambda b, x, root: b.fdiv(b.fdiv(x.type(1.0), x), root)
)


def _emit_reciprocal(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (kind,), (x,) = kinds, args
    if is_float(kind):
        return builder.fdiv(x.type(1.0), x)
    if isinstance(kind, types.Complex):
        one = context.get_constant_generic(builder, kind, 1.0 + 0.0j)
        return emit_complex_quotient(context, builder, (kind, kind), (one, x))
    # 1 / x rounded to zero; of 0 what the conversion of inf gives.
    unit = builder.icmp_unsigned(
        "<=", builder.add(x, x.type(1)) if kind.signed else x, x.type(2) if kind.signed else x.type(1)
    )
    least = x.type(-(2 ** (kind.bitwidth - 1)) if kind.signed and kind.bitwidth >= 32 else 0)
    return builder.select(builder.icmp_signed("==", x, x.type(0)), least, builder.select(unit, x, x.type(0)))


reciprocal = operation("reciprocal", 1, same, _emit_reciprocal)


def _emit_power(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    kind = kinds[0]
    if is_float(kind):
        return builder.call(builder.module.declare_intrinsic("llvm.pow", [args[0].type]), args)
    if isinstance(kind, types.Complex):
        wide = [context.cast(builder, a, kind, types.complex128) for a in args]
        result = _complex_power.emit(context, builder, (types.complex128,) * 2, wide)
        return context.cast(builder, result, types.complex128, kind)
    y = args[1]
    if kind.signed:
        fail_if(context, builder, builder.icmp_signed("<", y, y.type(0)), NEGATIVE_POWER)
    # The bits of a power do not depend on whether they are signed.
    wide = [context.cast(builder, a, kind, types.int64) for a in args]
    result = _int_power.emit(context, builder, (types.int64, types.int64), wide)
    return context.cast(builder, result, types.int64, kind)


@written(lambda _x, _y: types.int64)
def _int_power(x: Any, y: Any) -> Any:
    result = 1
    base = x
    while y > 0:
        if y & 1:
            result = result * base
        y >>= 1
        base = base * base
    return result


@written(same)
def _complex_power(x: Any, y: Any) -> Any:
    if y == 0.0:
        return complex(1.0, 0.0)
    if x == 0.0:
        return complex(0.0, 0.0) if y.real > 0.0 else complex(math.nan, math.nan)
    if y.imag == 0.0 and y.real == math.floor(y.real) and abs(y.real) <= 100.0:
        result = complex(1.0, 0.0)
        base = x
        n = int(abs(y.real))
        while n > 0:
            if n & 1:
                result = result * base
            base = base * base
            n >>= 1
        return result if y.real > 0.0 else divide_complex(complex(1.0, 0.0), result)
    return cmath.exp(y * cmath.log(x))


power = operation("power", 2, same, _emit_power)
float_power = operation("float_power", 2, float_or_complex, _emit_power)


@written(lambda _x, _y: types.int64)
def _power_checked(x: Any, y: Any) -> Any:
    result = 1
    base = x
    while y > 0:
        if y & 1:
            result = multiply_exact(result, base)
        y >>= 1
        if y > 0:
            base = multiply_exact(base, base)
    return result


def _emit_power_exact(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    fail_if(context, builder, builder.icmp_signed("<", args[1], I64(0)), NEGATIVE_POWER)
    return _power_checked.emit(context, builder, kinds, args)


power_exact = operation("power_exact", 2, lambda _x, _y: types.int64, _emit_power_exact)


# Division -------------------------------------------------------------------------------------------------------------


@written(same, inline=True)
def _float_floor_divide(x: Any, y: Any) -> Any:
    """As NumPy's npy_divmod."""
    if y == 0.0:
        return x / y
    rest = fmod_float(x, y)
    quotient = (x - rest) / y
    if rest != 0.0 and (y < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return copysign(0.0, x / y)
    whole = floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


@written(same, inline=True)
def _float_remainder(x: Any, y: Any) -> Any:
    rest = fmod_float(x, y)
    if y == 0.0:
        return rest
    if rest == 0.0:
        return copysign(0.0, y)
    return rest + y if (y < 0.0) != (rest < 0.0) else rest


def emit_float_division(python: Any) -> Any:
    """An emitter that computes in double precision with a Python helper."""

    def emit(context: Any, builder: Any, kind: Any, args: Any) -> Any:
        wide = [context.cast(builder, a, kind, types.float64) for a in args]
        result = python.emit(context, builder, (types.float64,) * 2, wide)
        return context.cast(builder, result, types.float64, kind)

    return emit


def _int_division(builder: Any, kind: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder rounded down; 0 for divisor 0; -x and 0 for -1 (it would trap for the smallest int)."""
    zero, one = y.type(0), y.type(1)
    by_zero = builder.icmp_signed("==", y, zero)
    if not kind.signed:
        safe = builder.select(by_zero, one, y)
        return builder.select(by_zero, zero, builder.udiv(x, safe)), builder.select(
            by_zero, zero, builder.urem(x, safe)
        )
    by_minus_one = builder.icmp_signed("==", y, y.type(-1))
    safe = builder.select(builder.or_(by_zero, by_minus_one), one, y)
    quotient, rest = builder.sdiv(x, safe), builder.srem(x, safe)
    off = builder.and_(builder.icmp_signed("!=", rest, zero), builder.icmp_signed("<", builder.xor(rest, safe), zero))
    quotient = builder.select(off, builder.sub(quotient, one), quotient)
    rest = builder.select(off, builder.add(rest, safe), rest)
    quotient = builder.select(by_minus_one, builder.sub(zero, x), quotient)
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _division(name: str, which: int, python: Any, *, exact: bool = False) -> Any:
    of_float = emit_float_division(python)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = kinds[0]
        if is_float(kind):
            return of_float(context, builder, kind, args)
        if exact:
            fail_if(context, builder, builder.icmp_signed("==", args[1], args[1].type(0)), ZERO_DIVISION)
            if which == 0:  # the one quotient that is too large
                least = builder.icmp_signed("==", args[0], I64(-(2**63)))
                minus_one = builder.icmp_signed("==", args[1], I64(-1))
                fail_if(context, builder, builder.and_(least, minus_one), OVERFLOW)
        return _int_division(builder, kind, *args)[which]

    return operation(name, 2, same, emit)


floor_divide, remainder = _division("floor_divide", 0, _float_floor_divide), _division("remainder", 1, _float_remainder)
floor_divide_exact = _division("floor_divide_exact", 0, _float_floor_divide, exact=True)
remainder_exact = _division("remainder_exact", 1, _float_remainder, exact=True)


def _emit_fmod(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    kind, (x, y) = kinds[0], args
    if is_float(kind):
        return builder.frem(x, y)
    zero, one = y.type(0), y.type(1)
    trap = builder.icmp_signed("==", y, zero)
    if kind.signed:
        trap = builder.or_(trap, builder.icmp_signed("==", y, y.type(-1)))
    safe = builder.select(trap, one, y)
    rest = builder.srem(x, safe) if kind.signed else builder.urem(x, safe)
    return builder.select(trap, zero, rest)


fmod = operation("fmod", 2, same, _emit_fmod)


# Exact arithmetic on Python's ints ------------------------------------------------------------------------------------


def _exact(name: str, method: str, failure: int = OVERFLOW, *payload: int) -> Any:
    def emit(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        pair = getattr(builder, method)(*args)
        fail_if(context, builder, builder.extract_value(pair, 1), failure, *map(I64, payload))
        return builder.extract_value(pair, 0)

    return operation(name, 2, lambda _x, _y: types.int64, emit)


add_exact = _exact("add_exact", "sadd_with_overflow")
subtract_exact = _exact("subtract_exact", "ssub_with_overflow")
multiply_exact = _exact("multiply_exact", "smul_with_overflow")
add_promised = _exact("add_promised", "sadd_with_overflow", PROMISED, FITS)
subtract_promised = _exact("subtract_promised", "ssub_with_overflow", PROMISED, FITS)
multiply_promised = _exact("multiply_promised", "smul_with_overflow", PROMISED, FITS)


def _emit_absolute_exact(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    fail_if(context, builder, builder.icmp_signed("==", args[0], I64(-(2**63))), OVERFLOW)
    return emit_absolute(context, builder, kinds, args)


absolute_exact = operation("absolute_exact", 1, same, _emit_absolute_exact)


def _emit_int_exact(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """`int(x)` of a float or of a uint64: of what has no integer, and of what 64 bits do not hold, an error."""
    (kind,), (x,) = kinds, args
    if not is_float(kind):
        fail_if(context, builder, builder.icmp_signed("<", x, I64(0)), OVERFLOW)
        return x
    low, high = x.type(-(2.0**63)), x.type(2.0**63)
    inside = builder.and_(builder.fcmp_ordered(">=", x, low), builder.fcmp_ordered("<", x, high))
    with builder.if_then(builder.not_(inside), likely=False):
        fail_if(context, builder, is_nan(builder, x), INT_OF_NAN)
        size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [x.type]), [x])
        fail_if(context, builder, builder.fcmp_ordered("==", size, x.type(math.inf)), INT_OF_INFINITY)
        fail_if(context, builder, I1(1), OVERFLOW)
    return builder.fptosi(x, I64)


int_exact = operation(
    "int_exact", 1, lambda x: types.int64 if x == types.uint64 or is_float(x) else None, _emit_int_exact
)


def _bounded(bits: int, *, signed: bool) -> Any:
    """A Python int as one of NumPy's narrower ones, which says so where it does not fit."""
    target = getattr(types, f"{'int' if signed else 'uint'}{bits}")

    def emit(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        (x,) = args
        outside = builder.icmp_signed("<", x, I64(-(2 ** (bits - 1)) if signed else 0))
        if bits < 64:
            most = I64(2 ** (bits - signed) - 1)
            outside = builder.or_(outside, builder.icmp_signed(">", x, most))
        fail_if(context, builder, outside, OUT_OF_BOUNDS, x, I64(bits), I64(int(signed)))
        return builder.trunc(x, llvm_ir.IntType(bits)) if bits < 64 else x

    return operation(f"{target}_exact", 1, lambda x: target if x == types.int64 else None, emit)


int8_exact, int16_exact, int32_exact = (_bounded(bits, signed=True) for bits in (8, 16, 32))
uint8_exact, uint16_exact, uint32_exact, uint64_exact = (_bounded(bits, signed=False) for bits in (8, 16, 32, 64))


# Bits -----------------------------------------------------------------------------------------------------------------


def _shift(name: str) -> Any:
    left = name == "left_shift"

    def emit(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (kind, _), (x, n) = kinds, args
        bits = x.type(kind.bitwidth - 1)
        too_far = builder.icmp_unsigned(">", n, bits)
        if left:
            return builder.select(too_far, x.type(0), builder.shl(x, builder.select(too_far, bits, n)))
        shift = builder.ashr if kind.signed else builder.lshr
        shifted = shift(x, builder.select(too_far, bits, n))
        return shifted if kind.signed else builder.select(too_far, x.type(0), shifted)

    return operation(name, 2, int_only, emit)


left_shift, right_shift = _shift("left_shift"), _shift("right_shift")


def _emit_left_shift_exact(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    x, n = args
    fail_if(context, builder, builder.icmp_signed("<", n, I64(0)), NEGATIVE_SHIFT)
    far = builder.icmp_signed(">", n, I64(63))
    shifted = builder.shl(x, builder.select(far, I64(63), n))
    back = builder.ashr(shifted, builder.select(far, I64(63), n))
    lost = builder.or_(builder.icmp_signed("!=", back, x), builder.and_(far, builder.icmp_signed("!=", x, I64(0))))
    fail_if(context, builder, lost, OVERFLOW)
    return shifted


def _emit_right_shift_exact(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    x, n = args
    fail_if(context, builder, builder.icmp_signed("<", n, I64(0)), NEGATIVE_SHIFT)
    return builder.ashr(x, builder.select(builder.icmp_signed(">", n, I64(63)), I64(63), n))


left_shift_exact = operation("left_shift_exact", 2, lambda _x, _y: types.int64, _emit_left_shift_exact)
right_shift_exact = operation("right_shift_exact", 2, lambda _x, _y: types.int64, _emit_right_shift_exact)


def _emit_bit_count(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    size = emit_absolute(context, builder, kinds, args)
    count = builder.ctpop(size)
    return count if count.type.width == 8 else builder.trunc(count, I8)


bitwise_count = operation("bitwise_count", 1, lambda _x: types.uint8, _emit_bit_count)


@written(same)
def _gcd(x: Any, y: Any) -> Any:
    x, y = absolute(x), absolute(y)
    while y != 0:
        x, y = y, fmod(x, y)
    return x


@written(same)
def _lcm(x: Any, y: Any) -> Any:
    divisor = _gcd(x, y)
    if divisor == 0:
        return divisor
    return absolute(floor_divide(absolute(x), divisor) * y)


def _wide_ints(name: str, python: Any) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = kinds[0]
        wide_kind = types.int64 if kind.signed else types.uint64
        wide = [context.cast(builder, a, kind, wide_kind) for a in args]
        result = python.emit(context, builder, (wide_kind,) * 2, wide)
        return context.cast(builder, result, wide_kind, kind)

    return operation(name, 2, int_only, emit)


gcd, lcm = _wide_ints("gcd", _gcd), _wide_ints("lcm", _lcm)


# Sums and products of equal types -------------------------------------------------------------------------------------


def _of_equals(name: str, method: str, op: Any) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = kinds[0]
        if is_float(kind):
            return getattr(builder, "f" + method)(*args)
        if isinstance(kind, types.Integer):
            return getattr(builder, method)(*args)
        if kind == types.boolean:
            return (builder.or_ if method == "add" else builder.and_)(*args)
        return call_python(context, builder, op, kinds, args)

    return operation(name, 2, same, emit)


plus, times = _of_equals("plus", "add", operator.add), _of_equals("times", "mul", operator.mul)


def _emit_quotient(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    return builder.udiv(*args)


# `quotient(number, size)`: of ints that are not negative; the size of a nest that has elements is not 0
quotient = operation("quotient", 2, lambda x, y: x if x == y == types.int64 else None, _emit_quotient)


def emit_trip(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    """Emit how often a loop over a range turns; a step of 0 raises."""
    start, stop, step = args
    zero, one = step.type(0), step.type(1)
    known = step.constant if isinstance(step, llvm_ir.Constant) else 0
    if not known:
        fail_if(context, builder, builder.icmp_signed("==", step, zero), RANGE_STEP)
    up = builder.icmp_signed(">", step, zero)
    first = builder.select(up, start, stop) if not known else start if known > 0 else stop
    last = builder.select(up, stop, start) if not known else stop if known > 0 else start
    span = builder.sub(last, first)  # without a sign: it may need 64 bits itself
    if known not in (1, -1):
        size = builder.select(up, step, builder.sub(zero, step)) if not known else step.type(abs(known))
        span = builder.add(builder.udiv(builder.sub(span, one), size), one)
    return builder.select(builder.icmp_signed("<", first, last), span, zero)


trip = operation("trip", 3, lambda *_k: types.int64, emit_trip)
