"""Whole arrays filled, copied and added up, as LLVM: one function a module for each pair of layouts, not one loop each.

A reverse sweep does little else between its expressions, and LLVM's time is per loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.llvm.elements import DATA, ITEMSIZE, SHAPE, STRIDES, pointer
from diffjit.lowering.llvm.exits import outline
from diffjit.lowering.llvm.numba_internals import store_item
from diffjit.lowering.runtime.build import I64, operation

Body = Callable[..., None]  # (builder, address in the target, source: a value or an address)


def _over(context: Any, builder: Any, arrays: list[tuple[Any, Any]], body: Callable[..., None]) -> None:
    """Loops over arrays of one shape; `body` gets the addresses of their elements."""
    ty, first = arrays[0]
    lengths = [builder.extract_value(first, (SHAPE, k)) for k in range(ty.ndim)]
    letters = {a.layout for a, _ in arrays}
    if len(letters) == 1 and letters <= {"C", "F"}:
        count = I64(1)
        for length in lengths:
            count = builder.mul(count, length)
        data = [builder.extract_value(a, DATA) for _, a in arrays]
        with cgutils.for_range(builder, count, intp=I64) as loop:
            body(*[builder.gep(d, [loop.index]) for d in data])
        return

    def loops(*, rows: bool) -> None:
        with cgutils.loop_nest(builder, lengths, I64, order="F" if ty.layout == "F" else "C") as indices:
            body(*[pointer(context, builder, a, value, list(indices), rows=rows) for a, value in arrays])

    if "F" in letters or not ty.ndim:
        loops(rows=False)
        return
    unit = cgutils.true_bit  # views of parts of rows: then the loop along them takes vector instructions
    for a, value in arrays:
        stride = builder.extract_value(value, (STRIDES, a.ndim - 1))
        unit = builder.and_(unit, builder.icmp_signed("==", stride, builder.extract_value(value, ITEMSIZE)))
    with builder.if_else(unit, likely=True) as (then, otherwise):
        with then:
            loops(rows=True)
        with otherwise:
            loops(rows=False)


def _call(context: Any, builder: Any, name: str, args: list[Any], emit: Callable[..., None]) -> Any:
    def body(b: Any, *inner: Any) -> None:
        emit(b, *inner)
        b.ret_void()

    fn = outline(builder, name, llvm_ir.VoidType(), args, body)
    builder.call(fn, args)
    return context.get_dummy_value()


def _label(ty: Any) -> str:
    return f"{ty.dtype}_{ty.ndim}{ty.layout}"


def _emit_fill(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind), (array, given) = kinds, args
    value = context.cast(builder, given, kind, ty.dtype)

    def emit(b: Any, target: Any, item: Any) -> None:
        _over(context, b, [(ty, target)], lambda address: store_item(context, b, ty, item, address))

    return _call(context, builder, f"diffjit_fill_{_label(ty)}", [array, value], emit)


def _same_kind(a: Any, b: Any) -> Any:
    return types.none if a.dtype == b.dtype and a.ndim == b.ndim else None


def _emit_copy(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty, other = kinds

    def emit(b: Any, target: Any, source: Any) -> None:
        _over(context, b, [(ty, target), (other, source)], lambda to, from_: b.store(b.load(from_), to))

    return _call(context, builder, f"diffjit_copy_{_label(ty)}_{other.layout}", list(args), emit)


def _emit_add(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty, other = kinds

    def emit(b: Any, target: Any, source: Any) -> None:
        _over(context, b, [(ty, target), (other, source)], lambda to, by: b.store(b.fadd(b.load(to), b.load(by)), to))

    return _call(context, builder, f"diffjit_add_{_label(ty)}_{other.layout}", list(args), emit)


# The arrays have one shape; what is read either does not overlap what is written, or is the same memory.
fill = operation("fill", 2, lambda _a, _v: types.none, _emit_fill)  # a[...] = v
copy_into = operation("copy_into", 2, _same_kind, _emit_copy)  # a[...] = b
add_into = operation(  # a += b, of floats
    "add_into", 2, lambda a, b: _same_kind(a, b) if isinstance(a.dtype, types.Float) else None, _emit_add
)
