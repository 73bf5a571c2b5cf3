"""Memory that a place of a function uses again, or hands out in parts, as LLVM.

Each place that makes such arrays has a slot in the function's frame (`exits.SLOT`), which goes when the function ends:

    room    a buffer: the array that the place makes next stands where the last one stood
    shelf   a block that arrays take parts of, each with a reference to it: it goes with the last of them
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils

from diffjit.lowering.cuda import allocation
from diffjit.lowering.llvm.elements import with_dead_end
from diffjit.lowering.llvm.exits import (
    CAPACITY,
    MEMINFO_SIZE,
    REFERENCE,
    ROOM,
    inlined,
    outline,
    result_place,
    site,
    stop_if,
)
from diffjit.lowering.runtime.build import I32, I64, declared
from diffjit.lowering.runtime.memory import (
    allocated,
    allocator,
    block_of,
    checks,
    contiguous,
    item_size,
    moved,
    product_of,
)


@cache
def room(spec: str, order: str = "C") -> Any:
    """`room_float64((n, m))`: an uninitialised array in memory that the same place uses again when it is next run.

    The memory belongs to the function and the array holds no reference to it. What is too large for that is allocated.
    """

    def made(context: Any, builder: Any, ty: Any, shape: list[Any]) -> Any:
        memory, size, reference = _found(context, builder, "room", ty, shape, _room(context))
        return contiguous(context, builder, ty, reference, size, shape, context.nrt.meminfo_data(builder, memory))

    return allocator("room", spec, order, made)


def _found(context: Any, builder: Any, name: str, ty: Any, shape: list[Any], body: Any) -> tuple[Any, Any, Any]:
    """What `body` finds in the slot of a place, for arrays with as many axes; an element's size; what to count."""
    counted, size = result_place(builder, REFERENCE), item_size(context, ty)
    arguments = [*site(context), size, context.lower.room(), counted, *shape]
    called = f"diffjit_{name}_{len(shape)}{allocation.mode(context)}"
    found = builder.call(inlined(builder.module, called, REFERENCE, [a.type for a in arguments], body), arguments)
    stop_if(context, builder, cgutils.is_null(builder, found))
    return found, size, builder.load(counted)


def _in_range(b: Any, size: Any, shape: list[Any]) -> tuple[Any, Any]:
    """The bytes of an array; whether its lengths are such that these are right."""
    total, right = size, cgutils.true_bit
    for length in shape:
        total = b.mul(total, length)
        right = b.and_(right, b.icmp_unsigned("<", length, I64(1 << (58 // len(shape)))))
    return total, right


def _room(context: Any) -> Any:
    """Emits: memory for an array, a slot's if it is enough; and where it belongs to the array, the reference to it."""

    def emit(b: Any, *args: Any) -> None:
        where, size, slot, counted, shape = list(args[:2]), *args[2:5], list(args[5:])
        total, fits = _in_range(b, size, shape)
        room_for = b.load(b.gep(slot, [I64(0), I32(CAPACITY)]))
        fits = b.and_(fits, b.icmp_unsigned("<=", total, room_for))
        own = b.load(b.gep(slot, [I64(0), I32(ROOM)]))
        fits = b.and_(fits, cgutils.is_not_null(b, own))  # an empty array fits where there is no room yet
        b.store(llvm_ir.Constant(REFERENCE, None), counted)
        with b.if_then(b.not_(fits), likely=False):
            arguments = [*where, size, slot, *shape]
            name = f"diffjit_grow_{len(shape)}{allocation.mode(context)}"
            made = b.call(outline(b, name, _MADE, arguments, _grow(context)), arguments)
            b.store(b.extract_value(made, 1), counted)
            b.ret(b.extract_value(made, 0))
            with_dead_end(b)
        if checks(context):
            allocation.fill_fresh(b, context.nrt.meminfo_data(b, own), total)
        b.ret(own)

    return emit


_MADE = llvm_ir.LiteralStructType([REFERENCE, REFERENCE])
_MOST_ROOM = 1 << 18  # bytes: allocating more takes no time beside working on it, and would be held for long


def _grow(context: Any) -> Any:
    """Emits: more room, or memory of its own for what is large. Gives the memory and the reference to count."""

    def emit(b: Any, *args: Any) -> None:
        where, size, slot, shape = list(args[:2]), args[2], args[3], list(args[4:])
        found = block_of(context, b, where, size, shape)
        nothing_ = llvm_ir.Constant(_MADE, None)
        with b.if_then(cgutils.is_null(b, found), likely=False):
            b.ret(nothing_)
            with_dead_end(b)
        total = product_of(b, [size, *shape])  # it did not overflow
        one = b.insert_value(nothing_, found, 0)
        with b.if_then(b.icmp_unsigned(">", total, I64(_MOST_ROOM))):
            b.ret(b.insert_value(one, found, 1))
            with_dead_end(b)
        old = b.gep(slot, [I64(0), I32(ROOM)])
        decref = declared(b, "NRT_decref", llvm_ir.VoidType(), REFERENCE)
        b.call(decref, [b.load(old)])
        b.store(found, old)
        b.store(total, b.gep(slot, [I64(0), I32(CAPACITY)]))
        b.ret(one)

    return emit


@cache
def shelf(spec: str, order: str = "C") -> Any:
    """`shelf_float64((n, m))`: an uninitialised array beside those that the same place has made before, in one block.

    What is too large for that has memory of its own, and so has all that is to be watched (`settings.checked`) and all
    on devices.
    """

    def made(context: Any, builder: Any, ty: Any, shape: list[Any]) -> Any:
        if checks(context) or context.lower.device:
            return allocated(context, builder, ty, shape)
        data, size, reference = _found(context, builder, "shelf", ty, shape, _shelf(context))
        return contiguous(context, builder, ty, reference, size, shape, data)

    return allocator("shelf", spec, order, made)


_MOST_ON_SHELF = 1 << 11  # bytes of an array: allocating more takes no time beside computing it
_FIRST_SHELF, _LAST_SHELF = 8, 1 << 16  # arrays that a first block has room for; bytes of the largest
_ALIGNED = 32  # bytes: what arrays are aligned to


def _shelf(context: Any) -> Any:
    """Emits: where an array stands, in the block at hand if that has room for it, else where `_next_shelf` puts it."""

    def emit(b: Any, *args: Any) -> None:
        where, size, slot, counted, shape = list(args[:2]), *args[2:5], list(args[5:])
        total, small = _small_size(b, size, shape)
        block = b.load(b.gep(slot, [I64(0), I32(ROOM)]))
        left = b.load(b.gep(slot, [I64(0), I32(CAPACITY)]))
        fits = b.and_(small, b.icmp_unsigned("<=", total, left))
        fits = b.and_(fits, cgutils.is_not_null(b, block))  # an empty array fits where there is no block yet
        with b.if_then(b.not_(fits), likely=False):
            arguments = [*where, size, slot, counted, *shape]
            name = f"diffjit_next_shelf_{len(shape)}"
            b.ret(b.call(outline(b, name, REFERENCE, arguments, _next_shelf(context)), arguments))
            with_dead_end(b)
        b.ret(_part(context, b, block, slot, left, total, counted))

    return emit


def _small_size(b: Any, size: Any, shape: list[Any]) -> tuple[Any, Any]:
    """The bytes that an array takes on a shelf; whether that is right, and it may stand there."""
    total, small = _in_range(b, size, shape)
    small = b.and_(small, b.icmp_unsigned("<=", total, I64(_MOST_ON_SHELF)))
    return b.and_(b.add(total, I64(_ALIGNED - 1)), I64(-_ALIGNED)), small


def _part(context: Any, b: Any, block: Any, slot: Any, left: Any, total: Any, counted: Any) -> Any:
    """The last bytes that are left of a block, and a reference to it."""
    left = b.sub(left, total)
    b.store(left, b.gep(slot, [I64(0), I32(CAPACITY)]))
    b.call(declared(b, "NRT_incref", llvm_ir.VoidType(), REFERENCE), [block])
    b.store(block, counted)
    return moved(b, context.nrt.meminfo_data(b, block), left)


def _next_shelf(context: Any) -> Any:
    """Emits: a block twice as large as the last one, and a place in it; or memory for one array alone."""

    def emit(b: Any, *args: Any) -> None:
        where, size, slot, counted, shape = list(args[:2]), *args[2:5], list(args[5:])
        null = llvm_ir.Constant(REFERENCE, None)

        def memory(item: Any, lengths: list[Any]) -> Any:
            found = block_of(context, b, where, item, lengths)
            with b.if_then(cgutils.is_null(b, found), likely=False):
                b.ret(null)
                with_dead_end(b)
            return found

        total, small = _small_size(b, size, shape)
        with b.if_then(b.not_(small)):
            own = memory(size, shape)
            b.store(own, counted)
            b.ret(context.nrt.meminfo_data(b, own))
            with_dead_end(b)
        place = b.gep(slot, [I64(0), I32(ROOM)])
        old = b.load(place)
        before = cgutils.alloca_once_value(b, I64(_ALIGNED))
        with b.if_then(cgutils.is_not_null(b, old)):
            words = b.bitcast(old, I64.as_pointer())
            b.store(b.load(b.gep(words, [I64(MEMINFO_SIZE)])), before)
        twice = b.shl(b.load(before), I64(1))
        twice = b.select(b.icmp_unsigned("<", twice, I64(_LAST_SHELF)), twice, I64(_LAST_SHELF))
        least = b.mul(total, I64(_FIRST_SHELF))
        room = b.select(b.icmp_unsigned("<", twice, least), least, twice)
        block = memory(I64(1), [room])
        b.call(declared(b, "NRT_decref", llvm_ir.VoidType(), REFERENCE), [old])
        b.store(block, place)
        b.ret(_part(context, b, block, slot, room, total, counted))

    return emit
