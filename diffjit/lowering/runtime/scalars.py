"""Elementwise operations on numbers, with NumPy's semantics, as LLVM.

The functions work on float32 and float64, and where NumPy has it on ints and complex numbers; names are those of the
elementwise kinds. The elementary functions call libm; vectorised ones can take their place under the same names.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.runtime.build import I64, call_python, declared, helper, operation, outlined

nan, inf = math.nan, math.inf
_F64 = types.float64
_FLOAT_OF = {types.complex64: types.float32, types.complex128: types.float64}


def _same(*operands: Any) -> Any:
    return operands[0]


def _float_only(*operands: Any) -> Any:
    return operands[0] if isinstance(operands[0], types.Float) else None


def _boolean(*_operands: Any) -> Any:
    return types.boolean


# Conversions ----------------------------------------------------------------------------------------------------------


def _conversion(target: Any) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (source,), (value,) = kinds, args
        if source == target:
            return value
        if isinstance(source, types.Complex) and not isinstance(target, types.Complex):
            if target == types.boolean:
                parts = [builder.extract_value(value, k) for k in (0, 1)]
                return builder.or_(*(builder.fcmp_unordered("!=", p, p.type(0.0)) for p in parts))
            source, value = _FLOAT_OF[source], builder.extract_value(value, 0)
        if target == types.boolean:
            if isinstance(source, types.Float):
                return builder.fcmp_unordered("!=", value, value.type(0.0))
            return builder.icmp_signed("!=", value, value.type(0)) if source != types.boolean else value
        if isinstance(source, types.Float) and isinstance(target, types.Integer):
            wide = builder.fptosi(value, I64)  # NumPy converts to small ints through the machine's wide ones
            if target == types.uint64:
                big = builder.fcmp_ordered(">=", value, value.type(2.0**63))
                return builder.select(big, builder.fptoui(value, I64), wide)
            return builder.trunc(wide, llvm_ir.IntType(target.bitwidth)) if target.bitwidth < 64 else wide  # pyright: ignore[reportAttributeAccessIssue]
        return context.cast(builder, value, source, target)

    return operation(str(target), 1, lambda _x: target, emit)


float32, float64 = _conversion(types.float32), _conversion(types.float64)
int8, int16, int32, int64 = (_conversion(t) for t in (types.int8, types.int16, types.int32, types.int64))
uint8, uint16, uint32, uint64 = (_conversion(t) for t in (types.uint8, types.uint16, types.uint32, types.uint64))
complex64, complex128 = _conversion(types.complex64), _conversion(types.complex128)
bool_ = _conversion(types.boolean)


def _complex_of(target: Any) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        part = _FLOAT_OF[target]
        number = context.make_complex(builder, target)
        number.real, number.imag = (context.cast(builder, a, k, part) for a, k in zip(args, kinds, strict=True))
        return number._getvalue()

    return operation(f"{target}_of", 2, lambda _x, _y: target, emit)


complex64_of, complex128_of = _complex_of(types.complex64), _complex_of(types.complex128)

# Elementary functions -------------------------------------------------------------------------------------------------


def _call_intrinsic(builder: Any, name: str, *args: Any) -> Any:
    ty = args[0].type
    return builder.call(
        builder.module.declare_intrinsic(name, [ty], llvm_ir.FunctionType(ty, [a.type for a in args])), args
    )


def _call_libm(builder: Any, name: str, *args: Any) -> Any:
    ty = args[0].type
    symbol = name if isinstance(ty, llvm_ir.DoubleType) else name + "f"
    return builder.call(declared(builder, symbol, ty, *(a.type for a in args), pure=True), args)


def _elementary(name: str, *, llvm: str = "", libm: str = "", complex_function: Any = None, arity: int = 1) -> Any:
    def typing(*kinds: Any) -> Any:
        if isinstance(kinds[0], types.Float) or (isinstance(kinds[0], types.Complex) and complex_function is not None):
            return kinds[0]
        return None

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        if isinstance(kinds[0], types.Complex):
            return call_python(context, builder, complex_function, kinds, args)
        return _call_intrinsic(builder, llvm, *args) if llvm else _call_libm(builder, libm, *args)

    return operation(name, arity, typing, emit)


sin = _elementary("sin", llvm="llvm.sin", complex_function=cmath.sin)
cos = _elementary("cos", llvm="llvm.cos", complex_function=cmath.cos)
tan = _elementary("tan", libm="tan", complex_function=cmath.tan)
arcsin = _elementary("arcsin", libm="asin", complex_function=cmath.asin)
arccos = _elementary("arccos", libm="acos", complex_function=cmath.acos)
arctan = _elementary("arctan", libm="atan", complex_function=cmath.atan)
arctan2 = _elementary("arctan2", libm="atan2", arity=2)
sinh = _elementary("sinh", libm="sinh", complex_function=cmath.sinh)
cosh = _elementary("cosh", libm="cosh", complex_function=cmath.cosh)
tanh = _elementary("tanh", libm="tanh", complex_function=cmath.tanh)
arcsinh = _elementary("arcsinh", libm="asinh", complex_function=cmath.asinh)
arccosh = _elementary("arccosh", libm="acosh", complex_function=cmath.acosh)
arctanh = _elementary("arctanh", libm="atanh", complex_function=cmath.atanh)
exp = _elementary("exp", llvm="llvm.exp", complex_function=cmath.exp)
log = _elementary("log", llvm="llvm.log", complex_function=cmath.log)
log10 = _elementary("log10", llvm="llvm.log10", complex_function=cmath.log10)
sqrt = _elementary("sqrt", llvm="llvm.sqrt", complex_function=cmath.sqrt)


@helper
def _complex_exp2(z: Any) -> Any:
    return cmath.exp(z * 0.6931471805599453)


@helper
def _complex_log2(z: Any) -> Any:
    return cmath.log(z) * 1.4426950408889634


@helper
def _complex_expm1(z: Any) -> Any:
    half = math.sin(0.5 * z.imag)
    return complex(math.expm1(z.real) * math.cos(z.imag) - 2.0 * half * half, math.exp(z.real) * math.sin(z.imag))


@helper
def _complex_log1p(z: Any) -> Any:
    size = math.hypot(z.real + 1.0, z.imag)
    return complex(math.log(size), math.atan2(z.imag, z.real + 1.0))


def _narrowed(name: str, function: Any, llvm: str = "", libm: str = "") -> Any:
    """Like `_elementary`, with a helper in double precision for complex numbers."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (kind,), (value,) = kinds, args
        if isinstance(kind, types.Float):
            return _call_intrinsic(builder, llvm, value) if llvm else _call_libm(builder, libm, value)
        wide = context.cast(builder, value, kind, types.complex128)
        result = call_python(context, builder, function, (types.complex128,), (wide,))
        return context.cast(builder, result, types.complex128, kind)

    return operation(name, 1, lambda x: x if isinstance(x, (types.Float, types.Complex)) else None, emit)


exp2 = _narrowed("exp2", _complex_exp2, llvm="llvm.exp2")
log2 = _narrowed("log2", _complex_log2, llvm="llvm.log2")
expm1 = _narrowed("expm1", _complex_expm1, libm="expm1")
log1p = _narrowed("log1p", _complex_log1p, libm="log1p")
cbrt = _elementary("cbrt", libm="cbrt")
hypot = _elementary("hypot", libm="hypot", arity=2)
nextafter = _elementary("nextafter", libm="nextafter", arity=2)
copysign = _elementary("copysign", llvm="llvm.copysign", arity=2)
floor = _elementary("floor", llvm="llvm.floor")
ceil = _elementary("ceil", llvm="llvm.ceil")
trunc = _elementary("trunc", llvm="llvm.trunc")


@helper
def _rint_complex(z: Any) -> Any:
    return complex(rint(z.real), rint(z.imag))


rint = _narrowed("rint", _rint_complex, llvm="llvm.rint")
fmod_float = operation("fmod_float", 2, _float_only, lambda _c, b, _k, a: b.frem(*a))


def _scaled(name: str, factor: float) -> Any:
    return operation(name, 1, _float_only, lambda _c, b, _k, a: b.fmul(a[0], a[0].type(factor)))


deg2rad, rad2deg = _scaled("deg2rad", math.pi / 180.0), _scaled("rad2deg", 180.0 / math.pi)


erf, erfc = _elementary("erf", libm="erf"), _elementary("erfc", libm="erfc")
gamma, lgamma = _elementary("gamma", libm="tgamma"), _elementary("lgamma", libm="lgamma")


# Sets of inputs -------------------------------------------------------------------------------------------------------

# A set is a number: 0 is empty, 1 to n are the inputs, each further one is a pair of two before it in a pool. The pool
# is an array of ints, given by its address: how many pairs there are, how many there is place for, n, the addresses of
# the pairs and of a table of those made last, that table's length (a power of two) less 1, and what went wrong (1: the
# pool is full, 2: a number that is none of its sets).

_PLACES, _INPUTS, _PAIRS, _TABLE, _MASK, _WRONG = range(8, 56, 8)  # bytes from the pool's address
_FULL, _STRANGE = 1, 2


def _emit_peek(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    return builder.load(builder.inttoptr(args[0], I64.as_pointer()))


def _emit_poke(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    builder.store(args[1], builder.inttoptr(args[0], I64.as_pointer()))
    return args[1]


_peek = operation("peek", 1, lambda _at: types.int64, _emit_peek)
_poke = operation("poke", 2, lambda _at, _x: types.int64, _emit_poke)


@outlined
def _united(pool: Any, x: Any, y: Any) -> Any:
    """The union of two sets, none of them empty."""
    small, large = min(x, y), max(x, y)
    first, count = _peek(pool + _INPUTS) + 1, _peek(pool)
    if small < 0 or large >= first + count:  # what nobody reads may be computed, too
        _poke(pool + _WRONG, _STRANGE)
        return 0
    pairs = _peek(pool + _PAIRS)
    if large >= first:
        pair = _peek(pairs + 8 * (large - first))
        if small in (pair & 0xFFFFFFFF, pair >> 32):
            return large
    pair = large << 32 | small
    place = _peek(pool + _TABLE) + 8 * ((small * 40503 + large * 2654435761 >> 8) & _peek(pool + _MASK))
    known = _peek(place)
    if known and _peek(pairs + 8 * (known - first)) == pair:
        return known
    if count >= _peek(pool + _PLACES):
        _poke(pool + _WRONG, _FULL)
        return large
    _poke(pairs + 8 * count, pair)
    _poke(pool, count + 1)
    _poke(place, first + count)
    return first + count


@outlined
def unite(pool: Any, x: Any, y: Any) -> Any:
    """The union of two sets."""
    if y in (0, x):
        return x
    return y if x == 0 else _united(pool, x, y)
