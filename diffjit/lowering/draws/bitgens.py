"""Draws of random numbers by NumPy's C functions, under the symbols of `lowering.draws.symbols`.

`standard_normal(words)` is a number and changes the words; `standard_normal(words, out)` fills an array. The two
oldest ways to normal variates, of RandomState and of Python's Random, are written here: nobody exports them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.draws import symbols
from diffjit.lowering.llvm.elements import DATA
from diffjit.lowering.runtime.build import I1, I8, I32, I64, declared, operation
from diffjit.lowering.runtime.memory import lengths_of

_POINTER = I8.as_pointer()
_DOUBLE = llvm_ir.DoubleType()
_RECORD = 40  # words
_PCG = ("PCG64", "PCG64DXSM")
Number = Callable[[], Any]


def _room(builder: Any, count: int) -> Any:
    """Words on the stack, where 128-bit numbers may stand."""
    with builder.goto_entry_block():
        room = builder.alloca(llvm_ir.ArrayType(I64, count))
    room.align = 16
    return builder.bitcast(room, I64.as_pointer())


def _word(builder: Any, words: Any, k: int) -> Any:
    return builder.gep(words, [I64(k)])


class _Stream:
    """A stream's words as a `bitgen_t`, while numbers are drawn."""

    def __init__(self, builder: Any, bits: str, words: Any) -> None:
        self.builder, self.bits, self.words = builder, bits, words
        self.state = words
        if bits in _PCG:  # { address of the words, the half that is left }
            self.own = _room(builder, 6)
            self._copy(words, self.own, ((0, 0), (1, 1), (2, 2), (3, 3), (4, 5)))
            builder.store(builder.ptrtoint(self.own, I64), _word(builder, self.own, 4))
            self.state = _word(builder, self.own, 4)
        self.state = builder.bitcast(self.state, _POINTER)
        self.bitgen = _room(builder, 5)
        builder.store(builder.ptrtoint(self.state, I64), self.bitgen)
        for k, (name, result) in enumerate((("uint64", I64), ("uint32", I32), ("double", _DOUBLE), ("raw", I64)), 1):
            reader = declared(builder, self._register(f"{bits}_{name}"), result, _POINTER)
            builder.store(builder.ptrtoint(reader, I64), _word(builder, self.bitgen, k))

    def _register(self, name: str) -> str:
        symbols.register(symbols.PREFIX + name)
        return symbols.PREFIX + name

    def _copy(self, source: Any, target: Any, places: tuple[tuple[int, int], ...]) -> None:
        for a, b in places:
            self.builder.store(self.builder.load(_word(self.builder, source, a)), _word(self.builder, target, b))

    def end(self) -> None:
        """Put the words back."""
        if self.bits in _PCG:
            self._copy(self.own, self.words, ((0, 0), (1, 1), (5, 4)))

    def double(self) -> Any:
        """A number between 0 and 1."""
        name = self._register(f"{self.bits}_double")
        return self.builder.call(declared(self.builder, name, _DOUBLE, _POINTER), [self.state])

    def call(self, function: str, result: Any, args: list[Any]) -> Any:
        """One of NumPy's functions."""
        given = [self.builder.bitcast(self.bitgen, _POINTER), *args]
        made = declared(self.builder, self._register(function), result, *(a.type for a in given))
        return self.builder.call(made, given)


def _c(builder: Any, name: str, x: Any) -> Any:
    """A function of C's library."""
    return builder.call(declared(builder, name, _DOUBLE, _DOUBLE), [x])


def _second(stream: _Stream, place: int, two: Callable[[], tuple[Any, Any]]) -> Any:
    """The second of two variates that were drawn together, or the first of two new ones."""
    builder = stream.builder
    flag, kept = _word(builder, stream.words, place), _word(builder, stream.words, place + 1)
    found = cgutils.alloca_once(builder, _DOUBLE)
    there = builder.icmp_unsigned("!=", builder.load(flag), I64(0))
    with builder.if_else(there) as (old, new):
        with old:
            builder.store(builder.bitcast(builder.load(kept), _DOUBLE), found)
            builder.store(I64(0), flag)
            builder.store(I64(0), kept)
        with new:
            first, second = two()
            builder.store(first, found)
            builder.store(I64(1), flag)
            builder.store(builder.bitcast(second, I64), kept)
    return builder.load(found)


def _polar(stream: _Stream) -> tuple[Any, Any]:
    """Two normal variates by Marsaglia's polar method, as RandomState draws them."""
    builder = stream.builder
    one, two, zero = (llvm_ir.Constant(_DOUBLE, v) for v in (1.0, 2.0, 0.0))
    x, y, r = (cgutils.alloca_once(builder, _DOUBLE) for _ in range(3))
    again, done = builder.append_basic_block("again"), builder.append_basic_block("inside")
    builder.branch(again)
    builder.position_at_end(again)
    for place in (x, y):
        builder.store(builder.fsub(builder.fmul(two, stream.double()), one), place)
    square = builder.fadd(*(builder.fmul(v, v) for v in (builder.load(x), builder.load(y))))
    builder.store(square, r)
    outside = builder.fcmp_ordered(">=", square, one)
    builder.cbranch(builder.or_(outside, builder.fcmp_ordered("==", square, zero)), again, done)
    builder.position_at_end(done)
    square = builder.load(r)
    scaled = builder.fdiv(builder.fmul(llvm_ir.Constant(_DOUBLE, -2.0), _c(builder, "log", square)), square)
    factor = _c(builder, "sqrt", scaled)
    return builder.fmul(factor, builder.load(y)), builder.fmul(factor, builder.load(x))


def _trigonometric(stream: _Stream) -> tuple[Any, Any]:
    """Two normal variates by Box and Muller's method, as Python draws them."""
    builder = stream.builder
    angle = builder.fmul(stream.double(), llvm_ir.Constant(_DOUBLE, 2.0 * math.pi))
    rest = builder.fsub(llvm_ir.Constant(_DOUBLE, 1.0), stream.double())
    radius = _c(builder, "sqrt", builder.fmul(llvm_ir.Constant(_DOUBLE, -2.0), _c(builder, "log", rest)))
    return builder.fmul(_c(builder, "cos", angle), radius), builder.fmul(_c(builder, "sin", angle), radius)


_PAIRS = {"polar": _polar, "trigonometric": _trigonometric}


def _one(stream: _Stream, function: str, result: Any, args: list[Any], place: int) -> Number:
    """How one number is drawn."""
    if not function:
        return stream.double
    if function in _PAIRS:
        return lambda: _second(stream, place, lambda: _PAIRS[function](stream))
    if function == "random_binomial":
        return _binomial(stream, *args)
    return lambda: stream.call(function, result, args)


def _binomial(stream: _Stream, n: Any, p: Any) -> Number:
    """It keeps what it has computed of n and p in a record (`binomial_t`, 8 bytes for each of 20 numbers)."""
    builder = stream.builder
    record = _room(builder, _RECORD)
    for k in range(_RECORD):
        builder.store(I64(0), _word(builder, record, k))
    return lambda: stream.call("random_binomial", I64, [p, n, builder.bitcast(record, _POINTER)])


@cache
def draw(function: str, bits: str, size: int, result: str, wanted: str, fills: bool) -> Any:
    """`wanted` are the letters of what the function takes ("d" double, "l" int64); "" is a number between 0 and 1."""
    gives, kind = (types.float64, _DOUBLE) if result == "d" else (types.int64, I64)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        words = builder.extract_value(args[0], DATA)
        takes = {"d": types.float64, "l": types.int64}
        rest = zip(args[1 + fills :], kinds[1 + fills :], wanted, strict=True)
        numbers = [context.cast(builder, v, k, takes[letter]) for v, k, letter in rest]
        stream = _Stream(builder, bits, words)
        if function == "random_bounded_uint64_fill":
            return _integers(context, builder, stream, args[1] if fills else None, kinds, numbers)
        one = _one(stream, function, kind, numbers, size - 2)
        if not fills:
            found = one()
            stream.end()
            return found
        data, count = builder.extract_value(args[1], DATA), _count(builder, args[1], kinds[1].ndim)
        with cgutils.for_range(builder, count, intp=I64) as loop:
            builder.store(one(), builder.gep(data, [loop.index]))
        stream.end()
        return context.get_dummy_value()

    return operation("draw", 1 + fills + len(wanted), lambda *_k: types.none if fills else gives, emit)


def _count(builder: Any, array: Any, ndim: int) -> Any:
    count = I64(1)
    for n in lengths_of(builder, array, ndim):
        count = builder.mul(count, n)
    return count


def _integers(context: Any, builder: Any, stream: _Stream, out: Any, kinds: Any, numbers: list[Any]) -> Any:
    """Integers from the first number up to the one before the second."""
    low, high = numbers
    wide = builder.sub(builder.sub(high, I64(1)), low)
    slot = _room(builder, 1)
    data = slot if out is None else builder.bitcast(builder.extract_value(out, DATA), I64.as_pointer())
    count = I64(1) if out is None else _count(builder, out, kinds[1].ndim)
    stream.call("random_bounded_uint64_fill", llvm_ir.VoidType(), [low, wide, count, I1(0), data])
    stream.end()
    return builder.load(slot) if out is None else context.get_dummy_value()
