"""Sums of floats in an order of our own: that of vectors, whoever adds up.

    part = 0.0                              part = 0.0
    for i in range(n):          ->          whole = n // 16
        part = part + x[i]                  if whole > 0:
                                                sums = sums_float64_16()        # 16 zeros on the stack
                                                for k in range(whole):
                                                    for l in abreast(16):
                                                        take_in(sums, l, x[k * 16 + l])
                                                part = part + added_up(sums)    # halves, added until one is left
                                            for i in range(16 * whole, n):
                                                part = part + x[i]

LLVM makes vectors of the inner loop, which reorders nothing, and keeps the sums in registers. Were it to reorder a
plain sum, as it may if it is told so, then only its passes would say in which order: there would be no quick code with
the same bits, and other bits for each processor (docs/decisions/0094).
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.extending import models, register_model

from diffjit.lowering.marks import abreast, nest, parallel, scalar
from diffjit.lowering.runtime.arithmetic import plus, quotient, times
from diffjit.lowering.runtime.build import I64, call_python, is_float, nothing, operation, written
from diffjit.lowering.runtime.choices import minimum
from diffjit.lowering.runtime.matrices.operands import long
from diffjit.lowering.runtime.typespec import numba_type

_BLOCK = 2048  # products that are added up by themselves
_WIDTHS = {types.float64: 16, types.float32: 32, types.complex128: 4, types.complex64: 8}  # 1 of others: as they come


class Parts(types.Type):
    """The parts of a sum or product, on the stack of the function that makes them."""

    def __init__(self, kind: Any, width: int, product: bool) -> None:
        self.kind, self.width, self.product = kind, width, product
        super().__init__(f"parts({kind}, {width}, {product})")


@register_model(Parts)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, ty: Parts) -> None:
        super().__init__(manager, ty, _memory(manager[ty.kind].get_data_type(), ty.width))


def _memory(kind: Any, width: int) -> Any:
    return llvm_ir.ArrayType(kind, width).as_pointer()


def _joined(context: Any, builder: Any, ty: Parts, x: Any, y: Any) -> Any:
    if is_float(ty.kind):
        return builder.fmul(x, y) if ty.product else builder.fadd(x, y)
    if isinstance(ty.kind, types.Integer):
        return builder.mul(x, y) if ty.product else builder.add(x, y)
    if ty.kind == types.boolean:
        return builder.and_(x, y) if ty.product else builder.or_(x, y)
    return call_python(context, builder, operator.mul if ty.product else operator.add, (ty.kind, ty.kind), (x, y))


def _made(context: Any, builder: Any, ty: Parts) -> Any:
    """Parts without elements."""
    kind = context.get_data_type(ty.kind)
    place = cgutils.alloca_once(builder, llvm_ir.ArrayType(kind, ty.width))
    if not ty.product:
        size = I64(ty.width * context.get_abi_sizeof(kind))
        cgutils.memset(builder, builder.bitcast(place, cgutils.voidptr_t), size, 0)
        return place
    one = context.data_model_manager[ty.kind].as_data(builder, context.get_constant_generic(builder, ty.kind, 1))
    for k in range(ty.width):
        builder.store(one, builder.gep(place, [I64(0), I64(k)]))
    return place


@cache
def _starting(dtype: str, width: int, *, product: bool) -> Any:
    ty = Parts(numba_type(dtype), width, product)
    name = f"{'products' if product else 'sums'}_{dtype}_{width}"
    return operation(name, 0, lambda: ty, lambda context, builder, _kinds, _args: _made(context, builder, ty))


def sums(dtype: str, width: int) -> Any:
    """`()`: that many sums of nothing."""
    return _starting(dtype, width, product=False)


def products(dtype: str, width: int) -> Any:
    """`()`: that many products of nothing."""
    return _starting(dtype, width, product=True)


def _like(kind: Any, share: int) -> Parts:
    return Parts(kind, max(_WIDTHS.get(kind, 1) // share, 1), product=False)


def _emit_like(share: int) -> Any:
    return lambda context, builder, kinds, _args: _made(context, builder, _like(kinds[0], share))


# `sums_like(x)`: sums of nothing for numbers of the type of x, as many as are taken at once; half as many of them
sums_like = operation("sums_like", 1, lambda kind: _like(kind, 1), _emit_like(1))
few_sums_like = operation("few_sums_like", 1, lambda kind: _like(kind, 2), _emit_like(2))


# `parts_of_sum(parts)`: how many there are
parts_of_sum = operation(
    "parts_of_sum",
    1,
    lambda parts: types.int64 if isinstance(parts, Parts) else None,
    lambda _context, _builder, kinds, _args: I64(kinds[0].width),
)


def _value(context: Any, builder: Any, kind: Any, data: Any) -> Any:
    return context.data_model_manager[kind].from_data(builder, data)


def _emit_take(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    parts, lane, value = args
    place = builder.gep(parts, [I64(0), lane], inbounds=True)
    before = builder.load(place)
    kind = kinds[0].kind
    after = _joined(context, builder, kinds[0], _value(context, builder, kind, before), value)
    stored = builder.store(context.data_model_manager[kind].as_data(builder, after), place)
    for access in (before, stored):
        context.lower.belongs(access)
    return context.get_dummy_value()


def _taking(parts: Any, lane: Any, value: Any) -> Any:
    """A call of `take_in`, if it takes these."""
    return types.none if isinstance(parts, Parts) and lane == types.int64 and value == parts.kind else None


# `take_in(parts, lane, x)`: one more element for one of them
take_in = operation("take_in", 3, _taking, _emit_take)


def _emit_total(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty, (parts,) = kinds[0], args
    if is_float(ty.kind):
        return _total_of_vectors(context, builder, ty, parts)
    places = [builder.gep(parts, [I64(0), I64(k)]) for k in range(ty.width)]
    values = [_value(context, builder, ty.kind, builder.load(place)) for place in places]
    while len(values) > 1:
        half = len(values) // 2
        values = [_joined(context, builder, ty, values[k], values[k + half]) for k in range(half)]
    return values[0]


def _total_of_vectors(context: Any, builder: Any, ty: Parts, parts: Any) -> Any:
    """The lower half and the upper one, until there is one number."""
    kind, number = llvm_ir.VectorType(context.get_value_type(ty.kind), ty.width), ty.width
    whole = builder.load(builder.bitcast(parts, kind.as_pointer()))
    whole.align = context.get_abi_sizeof(context.get_value_type(ty.kind))
    places = llvm_ir.IntType(32)
    while number > 1:
        number //= 2
        halves = [
            builder.shuffle_vector(
                whole,
                llvm_ir.Constant(whole.type, llvm_ir.Undefined),
                llvm_ir.Constant(llvm_ir.VectorType(places, number), [places(k + at) for k in range(number)]),
            )
            for at in (0, number)
        ]
        whole = _joined(context, builder, ty, *halves)
    return builder.extract_element(whole, places(0))


# `added_up(parts)`: all of them
added_up = operation("added_up", 1, lambda parts: parts.kind if isinstance(parts, Parts) else None, _emit_total)


# Products with single vectors, which read more than they compute: BLAS would have to be called ------------------------


@written(lambda _a, _b, zero: zero)
def dot_lanes(a: Any, b: Any, zero: Any) -> Any:
    """The sum of products of two vectors, in blocks. Ints wrap around in their own type, as NumPy's do."""
    total = zero
    n = a.shape[0]
    long(b, n)
    for start in range(0, n, _BLOCK):
        stop = minimum(start + _BLOCK, n)
        sums = sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(stop - start, width)
        for k in nest(whole):
            for lane in abreast(width):
                i = start + k * width + lane
                take_in(sums, lane, times(a.inside[i], b.inside[i]))
        part = added_up(sums)
        for i in scalar(start + whole * width, stop):
            part = plus(part, times(a.inside[i], b.inside[i]))
        total = plus(total, part)
    return total


@written(lambda _a, _b: types.boolean)
def dot_bools(a: Any, b: Any) -> Any:
    """Whether two boolean vectors are true at one place."""
    some = False
    long(b, a.shape[0])
    for i in nest(a.shape[0]):
        some |= a.inside[i] & b.inside[i]
    return some


@written(nothing)
def matvec(a: Any, x: Any, out: Any, zero: Any) -> Any:
    """out = a @ x, by rows: four at a time, which share what is read of x."""
    n, m = a.shape
    long(x, m)
    long(out, n)
    rows = n - n % 4
    for i in range(0, rows, 4):
        sums, sums1, sums2, sums3 = few_sums_like(zero), few_sums_like(zero), few_sums_like(zero), few_sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(m, width)
        for k in nest(whole):
            for lane in abreast(width):
                j = k * width + lane
                factor = x.inside[j]
                take_in(sums, lane, times(a.inside[i, j], factor))
                take_in(sums1, lane, times(a.inside[i + 1, j], factor))
                take_in(sums2, lane, times(a.inside[i + 2, j], factor))
                take_in(sums3, lane, times(a.inside[i + 3, j], factor))
        total, total1, total2, total3 = added_up(sums), added_up(sums1), added_up(sums2), added_up(sums3)
        for j in scalar(whole * width, m):
            factor = x.inside[j]
            total = plus(total, times(a.inside[i, j], factor))
            total1 = plus(total1, times(a.inside[i + 1, j], factor))
            total2 = plus(total2, times(a.inside[i + 2, j], factor))
            total3 = plus(total3, times(a.inside[i + 3, j], factor))
        out.inside[i] = total
        out.inside[i + 1] = total1
        out.inside[i + 2] = total2
        out.inside[i + 3] = total3
    for i in range(rows, n):
        sums = few_sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(m, width)
        for k in nest(whole):
            for lane in abreast(width):
                j = k * width + lane
                take_in(sums, lane, times(a.inside[i, j], x.inside[j]))
        total = added_up(sums)
        for j in scalar(whole * width, m):
            total = plus(total, times(a.inside[i, j], x.inside[j]))
        out.inside[i] = total


@written(nothing)
def matvec_by_columns(a: Any, x: Any, out: Any, zero: Any) -> Any:
    """out = a @ x, by columns: for matrices in Fortran order. Four at a time: the result is read and written less."""
    n, m = a.shape
    long(x, m)
    long(out, n)
    for i in parallel(n):
        out.inside[i] = zero
    whole = m - m % 4
    for j in range(0, whole, 4):
        factor, factor1, factor2, factor3 = x.inside[j], x.inside[j + 1], x.inside[j + 2], x.inside[j + 3]
        for i in parallel(n):
            total = out.inside[i] + a.inside[i, j] * factor
            total = total + a.inside[i, j + 1] * factor1
            total = total + a.inside[i, j + 2] * factor2
            out.inside[i] = total + a.inside[i, j + 3] * factor3
    for j in range(whole, m):
        factor = x.inside[j]
        for i in parallel(n):
            out.inside[i] = out.inside[i] + a.inside[i, j] * factor
