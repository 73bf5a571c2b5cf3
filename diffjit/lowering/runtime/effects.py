"""`raise` and `print` from compiled code: the values travel as words of 64 bits, the text is made in Python."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls import records
from diffjit.lowering.calls.failures import PRINT, USER
from diffjit.lowering.llvm import polls
from diffjit.lowering.llvm.elements import DATA, pointer, to_int64, with_dead_end
from diffjit.lowering.llvm.exits import fail
from diffjit.lowering.runtime.build import I64, declared, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of


def _words(builder: Any, kind: Any, value: Any) -> list[Any]:
    """A value as words (`failures.render` reads them)."""
    double = llvm_ir.DoubleType()
    if isinstance(kind, types.Float):
        wide = builder.fpext(value, double) if kind == types.float32 else value
        return [builder.bitcast(wide, I64)]
    if isinstance(kind, types.Complex):
        parts = [builder.extract_value(value, k) for k in (0, 1)]
        return [builder.bitcast(builder.fpext(p, double) if kind == types.complex64 else p, I64) for p in parts]
    if isinstance(kind, types.Array):
        address = builder.ptrtoint(builder.extract_value(value, DATA), I64)
        return [address, *lengths_of(builder, value, kind.ndim), *strides_of(builder, value, kind.ndim)]
    if kind == types.boolean:
        return [builder.zext(value, I64)]
    return [to_int64(builder, kind, value)]


def _all_words(builder: Any, kinds: Any, args: Any) -> list[Any]:
    return [word for kind, value in zip(kinds, args, strict=True) for word in _words(builder, kind, value)]


def _kept(context: Any, builder: Any, kind: Any, value: Any) -> list[Any]:
    """The words of an array that an error shows: those of a copy, as the array is gone when they are read."""
    lengths = lengths_of(builder, value, kind.ndim)
    size = I64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    total = size
    for length in lengths:
        total = builder.mul(total, length)
    room = builder.call(declared(builder, records.ROOM, I64, I64), [total])
    some = builder.icmp_unsigned("!=", room, I64(0))
    lengths = [builder.select(some, n, I64(0)) for n in lengths]  # without memory for it, an empty one
    item = context.get_data_type(kind.dtype).as_pointer()
    place = cgutils.alloca_once_value(builder, room)
    with cgutils.loop_nest(builder, lengths, I64) as indices:
        address = builder.load(place)
        source = pointer(context, builder, kind, value, list(indices))
        builder.store(builder.load(source), builder.inttoptr(address, item))
        builder.store(builder.add(address, size), place)
    strides: list[Any] = []
    for length in reversed(lengths):
        strides.insert(0, size)
        size = builder.mul(size, length)
    return [room, *lengths, *strides]


@cache
def error(count: int) -> Any:
    """`raise error_1(x)`: leaves the function."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        words: list[Any] = []
        for kind, value in zip(kinds, args, strict=True):
            array = isinstance(kind, types.Array)
            words += _kept(context, builder, kind, value) if array else _words(builder, kind, value)
        fail(context, builder, USER, *words)
        with_dead_end(builder)
        return context.get_dummy_value()

    return operation("error", count, lambda *_k: types.none, emit)


@cache
def show(count: int) -> Any:
    """`show_1(x)`: print."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        words = _all_words(builder, kinds, args)
        array = cgutils.alloca_once(builder, llvm_ir.ArrayType(I64, max(1, len(words))))
        for k, word in enumerate(words):
            builder.store(word, builder.gep(array, [I64(0), I64(k)]))
        fn_type = llvm_ir.FunctionType(llvm_ir.VoidType(), [I64, I64, I64, I64.as_pointer()])
        fn = cgutils.get_or_insert_function(builder.module, fn_type, PRINT)
        lower = context.lower
        polls.ask(lower)
        place = builder.bitcast(array, I64.as_pointer())
        builder.call(fn, [I64(lower.module_key), I64(lower.loc.line), I64(len(words)), place])
        return context.get_dummy_value()

    return operation("show", count, lambda *_k: types.none, emit)
