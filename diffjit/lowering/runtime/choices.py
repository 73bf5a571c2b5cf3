"""Elementwise operations that choose, compare or test, and the parts of numbers, with NumPy's semantics."""

from __future__ import annotations

import math
import operator
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.llvm.elements import parts_of
from diffjit.lowering.runtime.build import (
    FLOAT_OF,
    I32,
    I64,
    call_python,
    compare,
    declared,
    float_only,
    helper,
    is_float,
    is_nan,
    operation,
    same,
)
from diffjit.lowering.runtime.scalars import copysign, nextafter

# Choosing -------------------------------------------------------------------------------------------------------------


@helper
def _complex_before(x: Any, y: Any) -> Any:
    """x < y in NumPy's order of complex numbers: by real part, then by imaginary part."""
    return x.real < y.real or (x.real == y.real and x.imag < y.imag)


def _choice(name: str, sign: str, *, keep_nan: bool) -> Any:
    """maximum, minimum (a NaN wins) and fmax, fmin (a NaN loses)."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (kind, _), (x, y) = kinds, args
        if isinstance(kind, types.Complex):
            return _complex_choice(context, builder, kind, x, y, sign, keep_nan=keep_nan)
        first = compare(builder, sign, kind, x, y)
        if is_float(kind):
            first = builder.or_(first, is_nan(builder, x if keep_nan else y))
        return builder.select(first, x, y)

    return operation(name, 2, same, emit)


def _complex_choice(context: Any, builder: Any, kind: Any, x: Any, y: Any, sign: str, *, keep_nan: bool) -> Any:
    ordered = (y, x) if sign == ">=" else (x, y)
    later = call_python(context, builder, _complex_before, (kind, kind), ordered)
    equal = builder.and_(
        *(builder.fcmp_ordered("==", p, q) for p, q in zip(parts_of(builder, x), parts_of(builder, y), strict=True))
    )
    odd = x if keep_nan else y
    unordered = builder.or_(*(is_nan(builder, p) for p in parts_of(builder, odd)))
    return builder.select(builder.or_(builder.or_(later, equal), unordered), x, y)


def _extremum(name: str, intrinsic: str) -> Any:
    """The larger or smaller of two floats, a NaN if one is: an instruction that LLVM vectorises in reductions."""

    def emit(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = args[0].type
        fn = declared(builder, f"llvm.{intrinsic}.f{kinds[0].bitwidth}", kind, kind, kind)
        return builder.call(fn, args)

    return operation(name, 2, float_only, emit)


peak, trough = _extremum("peak", "maximum"), _extremum("trough", "minimum")
maximum, minimum = _choice("maximum", ">=", keep_nan=True), _choice("minimum", "<=", keep_nan=True)
fmax, fmin = _choice("fmax", ">=", keep_nan=False), _choice("fmin", "<=", keep_nan=False)
where = operation(
    "where",
    3,
    lambda c, x, y: x if c == types.boolean and x == y else None,
    lambda _c, b, _k, a: b.select(a[0], a[1], a[2]),
)


def unless_zero(builder: Any, kind: Any, g: Any, result: Any) -> Any:
    """0 where g is 0, whatever the result is."""
    if isinstance(kind, types.Complex):
        zero = builder.and_(*(builder.fcmp_ordered("==", q, q.type(0.0)) for q in parts_of(builder, g)))
        return builder.select(zero, result.type(None), result)
    return builder.select(builder.fcmp_ordered("==", g, g.type(0.0)), g.type(0.0), result)


def _emit_zmul(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (kind, _), (g, p) = kinds, args
    product = call_python(context, builder, operator.mul, (kind, kind), (g, p))
    if isinstance(kind, types.Complex) or is_float(kind):
        return unless_zero(builder, kind, g, product)
    return context.cast(builder, product, types.int64 if kind.bitwidth < 64 and kind.signed else kind, kind)


def _emit_zdiv(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (kind, _), (g, y) = kinds, args
    if is_float(kind):
        return unless_zero(builder, kind, g, builder.fdiv(g, y))
    from diffjit.lowering.runtime.arithmetic import emit_complex_quotient

    return unless_zero(builder, kind, g, emit_complex_quotient(context, builder, kinds, args))


zmul = operation("zmul", 2, same, _emit_zmul)
zdiv = operation(
    "zdiv", 2, lambda g, y: g if g == y and (is_float(g) or isinstance(g, types.Complex)) else None, _emit_zdiv
)


def _emit_sign(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (kind,), (x,) = kinds, args
    if isinstance(kind, types.Complex):
        return call_python(context, builder, _complex_sign, kinds, args)
    zero, one = x.type(0), x.type(1)
    minus = x.type(-1)
    below = compare(builder, "<", kind, x, zero)
    rest = builder.fadd(x, zero) if is_float(kind) else x  # NaN, or zero without its sign
    return builder.select(compare(builder, ">", kind, x, zero), one, builder.select(below, minus, rest))


@helper
def _complex_sign(z: Any) -> Any:
    size = abs(z)
    return z if size == 0.0 else z / size


sign = operation("sign", 1, same, _emit_sign)


def emit_absolute(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """|x|; the smallest int of a width stays negative, as NumPy's does."""
    (kind,), (x,) = kinds, args
    if is_float(kind):
        return builder.call(builder.module.declare_intrinsic("llvm.fabs", [x.type]), [x])
    if isinstance(kind, types.Complex):
        parts = parts_of(builder, x)
        name = "hypot" if kind == types.complex128 else "hypotf"
        return builder.call(declared(builder, name, parts[0].type, *(p.type for p in parts), pure=True), parts)
    if isinstance(kind, types.Integer) and not kind.signed:  # pyright: ignore[reportAttributeAccessIssue]
        return x
    return builder.select(builder.icmp_signed("<", x, x.type(0)), builder.sub(x.type(0), x), x)


absolute = operation("absolute", 1, lambda x: FLOAT_OF.get(x, x), emit_absolute)


def _emit_heaviside(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    x, h = args
    zero, one = x.type(0.0), x.type(1.0)
    positive = builder.select(
        builder.fcmp_ordered(">", x, zero), one, builder.select(builder.fcmp_ordered("<", x, zero), zero, h)
    )
    return builder.select(is_nan(builder, x), x, positive)


heaviside = operation("heaviside", 2, float_only, _emit_heaviside)


# Tests ----------------------------------------------------------------------------------------------------------------


def _test(name: str, of_float: Any) -> Any:
    """isnan, isinf, isfinite: of a complex number when either part (both, for isfinite) passes."""

    def emit(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (kind,), (x,) = kinds, args
        if isinstance(kind, types.Complex):
            join = builder.and_ if name == "isfinite" else builder.or_
            return join(*(of_float(builder, p) for p in parts_of(builder, x)))
        return of_float(builder, x)

    return operation(name, 1, lambda x: types.boolean if isinstance(x, (types.Float, types.Complex)) else None, emit)


def _size_is(builder: Any, x: Any, sign: str) -> Any:
    size = builder.call(builder.module.declare_intrinsic("llvm.fabs", [x.type]), [x])
    return builder.fcmp_ordered(sign, size, x.type(math.inf))


isnan = _test("isnan", is_nan)
isinf = _test("isinf", lambda b, x: _size_is(b, x, "=="))
isfinite = _test("isfinite", lambda b, x: _size_is(b, x, "<"))


def _emit_signbit(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    bits = builder.bitcast(args[0], I64 if isinstance(args[0].type, llvm_ir.DoubleType) else I32)
    return builder.icmp_signed("<", bits, bits.type(0))


signbit = operation("signbit", 1, lambda x: types.boolean if is_float(x) else None, _emit_signbit)


def _complex_order(name: str, python: Any) -> Any:
    return operation(name, 2, lambda _x, _y: types.boolean, lambda c, b, k, a: call_python(c, b, python, k, a))


@helper
def _less_complex(x: Any, y: Any) -> Any:
    return x.real < y.real or (x.real == y.real and x.imag < y.imag)


@helper
def _less_equal_complex(x: Any, y: Any) -> Any:
    return x.real < y.real or (x.real == y.real and x.imag <= y.imag)


@helper
def _greater_complex(x: Any, y: Any) -> Any:
    return x.real > y.real or (x.real == y.real and x.imag > y.imag)


@helper
def _greater_equal_complex(x: Any, y: Any) -> Any:
    return x.real > y.real or (x.real == y.real and x.imag >= y.imag)


less_complex = _complex_order("less_complex", _less_complex)
less_equal_complex = _complex_order("less_equal_complex", _less_equal_complex)
greater_complex = _complex_order("greater_complex", _greater_complex)
greater_equal_complex = _complex_order("greater_equal_complex", _greater_equal_complex)


# Parts of floats and complex numbers ----------------------------------------------------------------------------------


def _part(name: str, position: int) -> Any:
    def emit(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        if isinstance(kinds[0], types.Complex):
            return builder.extract_value(args[0], position)
        return args[0] if position == 0 else args[0].type(0)

    return operation(name, 1, lambda x: FLOAT_OF.get(x, x), emit)


real, imag = _part("real", 0), _part("imag", 1)


def _emit_conjugate(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    if not isinstance(kinds[0], types.Complex):
        return args[0]
    return builder.insert_value(args[0], builder.fneg(builder.extract_value(args[0], 1)), 1)


conjugate = operation("conjugate", 1, same, _emit_conjugate)


def _emit_ldexp(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    x, n = args
    if n.type.width > 32:
        low = builder.select(builder.icmp_signed("<", n, n.type(-5000)), n.type(-5000), n)
        n = builder.trunc(builder.select(builder.icmp_signed(">", low, n.type(5000)), n.type(5000), low), I32)
    elif n.type.width < 32:
        n = builder.sext(n, I32)
    name = "ldexp" if kinds[0] == types.float64 else "ldexpf"
    return builder.call(declared(builder, name, x.type, x.type, I32, pure=True), [x, n])


ldexp = operation("ldexp", 2, float_only, _emit_ldexp)


@helper
def _spacing(x: Any, infinity: Any) -> Any:
    size = absolute(x)
    if size == infinity:
        return infinity - infinity
    gap = nextafter(size, infinity) - size
    return copysign(gap, x)


def _emit_spacing(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    return call_python(context, builder, _spacing, (kinds[0],) * 2, (args[0], args[0].type(math.inf)))


spacing = operation("spacing", 1, float_only, _emit_spacing)
