"""Calls of functions without source, under the symbols of `lowering.calls.callbacks`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls.failures import OVERFLOW, RAISED
from diffjit.lowering.llvm import polls
from diffjit.lowering.llvm.elements import DATA
from diffjit.lowering.llvm.numba_internals import type_of_dtype
from diffjit.lowering.runtime.build import I8, I32, I64, declared, fail_if, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of
from diffjit.lowering.runtime.typespec import numba_type

_POINTER = I8.as_pointer()
_VOID = llvm_ir.VoidType()


def _joined(kinds: list[Any]) -> Any:
    """The type of a helper's results: nothing, a number, or a tuple of numbers."""
    return types.none if not kinds else kinds[0] if len(kinds) == 1 else types.Tuple(kinds)


def _returned(context: Any, builder: Any, kinds: list[Any], values: list[Any]) -> Any:
    if not kinds:
        return context.get_dummy_value()
    return values[0] if len(kinds) == 1 else context.make_tuple(builder, types.Tuple(kinds), values)


def _room(builder: Any, kind: Any, size: int) -> Any:
    """An array on the stack, reserved once for a function: a call may stand in a loop."""
    with builder.goto_entry_block():
        return builder.alloca(kind, size=I64(max(1, size)))


def _words(builder: Any, values: list[Any], kind: Any = I64) -> Any:
    room = _room(builder, kind, len(values))
    for k, v in enumerate(values):
        builder.store(v, builder.gep(room, [I64(k)]))
    return room


def _slot(context: Any, builder: Any, kind: Any, value: Any = None) -> Any:
    """The place in memory of a number."""
    room = _room(builder, context.get_data_type(kind), 1)
    if value is not None:
        builder.store(context.get_value_as_data(builder, kind, value), room)
    return room


def _loaded(context: Any, builder: Any, kind: Any, slot: Any) -> Any:
    return context.unpack_value(builder, kind, slot)


def _array_data(builder: Any, array: Any) -> Any:
    return builder.bitcast(builder.extract_value(array, DATA), _POINTER)


# Ufuncs ---------------------------------------------------------------------------------------------------------------


def _kinds(letters: str) -> list[Any]:
    return [type_of_dtype(np.dtype(c)) for c in letters]


def _loop(builder: Any, symbol: str, places: list[Any], count: Any, steps: list[Any]) -> None:
    """Call a loop of NumPy's interface (`PyUFuncGenericFunction`)."""
    data, counts, strides = _words(builder, places, _POINTER), _words(builder, [count]), _words(builder, steps)
    function = declared(builder, symbol, _VOID, data.type, counts.type, strides.type, _POINTER)
    own = builder.module.globals.get(f"{symbol}_data")
    if own is None:
        own = llvm_ir.GlobalVariable(builder.module, I8, f"{symbol}_data")
        own.linkage = "external"
    builder.call(function, [data, counts, strides, own])


@cache
def element(symbol: str, loop: str) -> Any:
    """`jv_0(n, x)`: of numbers."""
    takes, gives = map(_kinds, loop.split("->"))

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        slots = [_slot(context, builder, kind, v) for kind, v in zip(takes, args, strict=True)]
        slots += [_slot(context, builder, kind) for kind in gives]
        _loop(builder, symbol, [builder.bitcast(s, _POINTER) for s in slots], I64(1), [I64(0)] * len(slots))
        found = [_loaded(context, builder, kind, s) for kind, s in zip(gives, slots[len(takes) :], strict=True)]
        return _returned(context, builder, gives, found)

    return operation("element", len(takes), lambda *_k: _joined(gives), emit)


@cache
def rows(symbol: str, loop: str, shapes: str) -> Any:
    """`jv_0(n, x[i, :], out[i, :])`: of a row; `shapes` says which operands are arrays ("a"), which numbers ("s")."""
    takes = _kinds(loop.split("->", maxsplit=1)[0])
    gives = len(loop) - 2 - len(takes)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        places: list[Any] = []
        steps: list[Any] = []
        for shape, kind, v in zip(shapes + "a" * gives, [*takes, *kinds[len(takes) :]], args, strict=True):
            array = shape == "a"
            at = builder.extract_value(v, DATA) if array else _slot(context, builder, kind, v)
            places.append(builder.bitcast(at, _POINTER))
            steps.append(strides_of(builder, v, 1)[0] if array else I64(0))
        _loop(builder, symbol, places, lengths_of(builder, args[-1], 1)[0], steps)
        return context.get_dummy_value()

    return operation("rows", len(takes) + gives, lambda *_k: types.none, emit)


# C functions ----------------------------------------------------------------------------------------------------------


def _passed(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A number as C passes it: integers below 32 bits are extended by the caller."""
    if kind == types.boolean:
        return builder.zext(value, I32)
    if isinstance(kind, types.Integer) and kind.bitwidth < 32:  # pyright: ignore[reportAttributeAccessIssue]
        return (builder.sext if kind.signed else builder.zext)(value, I32)  # pyright: ignore[reportAttributeAccessIssue]
    return value


def _received(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A result as a 64-bit number, or as a bool."""
    if kind == types.boolean:
        return builder.icmp_unsigned("!=", value, I8(0))
    if isinstance(kind, types.Float):
        return builder.fpext(value, llvm_ir.DoubleType()) if kind == types.float32 else value
    if kind.bitwidth < 64:
        return (builder.sext if kind.signed else builder.zext)(value, I64)
    if not kind.signed:
        fail_if(context, builder, builder.icmp_signed("<", value, I64(0)), OVERFLOW)
    return value


@cache
def c_function(symbol: str, result: str, parameters: tuple[str, ...], *, gil: bool = False) -> Any:
    """`cos_0(x)`. A parameter is a "value", an array that is "read" or "written"; "data", "null" and "zero" are given.

    Arrays that are written come once more at the end: copies, which the function gets.
    """
    modes = [p.split() for p in parameters]
    taken = [m for m, _ in modes if m in ("value", "read", "written")]
    gives = type_of_dtype(np.dtype(result)) if result else None
    out = None if gives is None else types.float64 if isinstance(gives, types.Float) else types.int64
    out = types.boolean if gives == types.boolean else out

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        given, copies = iter(args[: len(taken)]), iter(args[len(taken) :])
        passed: list[Any] = []
        for mode, dtype in modes:
            v = next(given) if mode in ("value", "read", "written") else None
            if mode == "value":
                passed.append(_passed(context, builder, type_of_dtype(np.dtype(dtype)), v))
            elif mode in ("read", "written"):
                passed.append(_array_data(builder, v if mode == "read" else next(copies)))
            elif mode == "zero":
                passed.append(I32(0))
            elif mode == "null":
                passed.append(llvm_ir.Constant(_POINTER, None))
            else:
                own = builder.module.globals.get(f"{symbol}_data")
                if own is None:
                    own = llvm_ir.GlobalVariable(builder.module, I8, f"{symbol}_data")
                    own.linkage = "external"
                passed.append(own)
        kind = _VOID if gives is None else context.get_data_type(gives)
        function = declared(builder, symbol, kind, *(v.type for v in passed))
        state = builder.call(declared(builder, "PyGILState_Ensure", I32), []) if gil else None
        value = builder.call(function, passed)
        if gil:
            builder.call(declared(builder, "PyGILState_Release", _VOID, I32), [state])
        return context.get_dummy_value() if gives is None else _received(context, builder, gives, value)

    count = len(taken) + taken.count("written")
    return operation("c_function", count, lambda *_k: types.none if out is None else out, emit)


# Python ---------------------------------------------------------------------------------------------------------------


@cache
def python(symbol: str, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Any:
    """`expm_0(a, out)`: numbers are returned, results that are arrays come as last arguments."""
    takes, gives = [numba_type(s) for s in inputs], [numba_type(s) for s in outputs]
    numbers = [kind for kind in gives if not isinstance(kind, types.Array)]
    arity = len(takes) + len(gives) - len(numbers)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        words: list[Any] = []
        slots: list[Any] = []

        def number(kind: Any, value: Any = None) -> Any:
            slot = _slot(context, builder, kind, value)
            words.append(builder.ptrtoint(slot, I64))
            return slot

        def array(value: Any, ndim: int) -> None:
            words.append(builder.ptrtoint(builder.extract_value(value, DATA), I64))
            words.extend(lengths_of(builder, value, ndim))
            words.extend(strides_of(builder, value, ndim))

        rest = iter(args[len(takes) :])
        for kind, value in zip(takes, args, strict=False):
            array(value, kind.ndim) if isinstance(kind, types.Array) else number(kind, value)
        for kind in gives:
            if isinstance(kind, types.Array):
                array(next(rest), kind.ndim)
            else:
                slots.append(number(kind))
        room = _words(builder, words)
        polls.ask(context.lower)
        status = builder.call(declared(builder, symbol, I32, room.type), [room])
        fail_if(context, builder, builder.icmp_signed("==", status, I32(0)), RAISED)
        return _returned(
            context, builder, numbers, [_loaded(context, builder, k, s) for k, s in zip(numbers, slots, strict=True)]
        )

    return operation("python", arity, lambda *_k: _joined(numbers), emit)
