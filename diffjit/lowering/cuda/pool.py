"""Memory that host and device both reach: what arrays of a program for a device live in.

There are two kinds. What CUDA calls managed: an address is good on both sides, and pages go to where they are used.
And pinned: it stays with the host, and the device writes to it across the bus, which is quicker for the few numbers
that the host reads after each launch. The system gives both out slowly and in large pieces, so pieces are cut up here,
and what is freed is kept for the next array of its size: sizes are rounded up to four steps between powers of two.
Where the system has no more, large pieces that are free go back to it first. No page is used for the list of what is
free, as a page that the host reads leaves the device.

The functions are LLVM, compiled once per process: arrays are freed when Python ends, long after its modules are gone.
"""

from __future__ import annotations

import bisect
import ctypes
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm

from diffjit.lowering.calls.interrupts import compiled

_CLASSES = 256
# Words of the state: the last is the first of the classes.
_LOCK, _GROW, _SHRINK, _CURSOR, _END, _PIECES, _COUNT, _FREE = range(8)
_LEAST = 2048  # bytes of the smallest array: then all steps are multiples of 256, as arrays are aligned
_SMALL = 1 << 20  # smaller ones are cut from pieces
_PIECE = 1 << 22
_OFFSET = 4 * 11 + 5 - _FREE  # `bits` is 11 at least and 48 at most, there are 5 to 8 steps: numbers from 0 to 155
_LARGE = 4 * 20 + 8 - _OFFSET  # the class of the smallest that have pieces of their own

_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.ctlz.i64(i64, i1)

define internal i64 @bits(i64 %size) alwaysinline {{
  %one = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %one, i1 false)
  %bits = sub i64 64, %zeros
  ret i64 %bits
}}

define internal i64 @rounded(i64 %given) alwaysinline {{
  %small = icmp slt i64 %given, {least}
  %size = select i1 %small, i64 {least}, i64 %given
  %bits = call i64 @bits(i64 %size)
  %shift = sub i64 %bits, 3
  %step = shl i64 1, %shift
  %less = sub i64 %step, 1
  %up = add i64 %size, %less
  %mask = sub i64 0, %step
  %result = and i64 %up, %mask
  ret i64 %result
}}

define internal ptr @class(i64 %size) alwaysinline {{
  %bits = call i64 @bits(i64 %size)
  %shift = sub i64 %bits, 3
  %steps = lshr i64 %size, %shift
  %four = shl i64 %bits, 2
  %sum = add i64 %four, %steps
  %number = sub i64 %sum, {offset}
  %place = getelementptr i64, ptr {state}, i64 %number
  ret ptr %place
}}

define internal void @lock() alwaysinline {{
  br label %try
try:
  %was = cmpxchg ptr {state}, i64 0, i64 1 acquire monotonic
  %got = extractvalue {{ i64, i1 }} %was, 1
  br i1 %got, label %done, label %try
done:
  ret void
}}

define internal void @unlock() alwaysinline {{
  store atomic i64 0, ptr {state} release, align 8
  ret void
}}

define internal void @forget(i64 %block) {{
  %lists = getelementptr i64, ptr {state}, i64 {pieces}
  br label %look
look:
  %place = phi ptr [ %lists, %0 ], [ %node, %next ]
  %word = load i64, ptr %place
  %node = inttoptr i64 %word to ptr
  %end = icmp eq i64 %word, 0
  br i1 %end, label %done, label %see
see:
  %starts = getelementptr i64, ptr %node, i64 1
  %start = load i64, ptr %starts
  %this = icmp eq i64 %start, %block
  br i1 %this, label %drop, label %next
next:
  br label %look
drop:
  %after = load i64, ptr %node
  store i64 %after, ptr %place
  %sizes = getelementptr i64, ptr %node, i64 2
  %size = load i64, ptr %sizes
  call void @free(ptr %node)
  %shrinks = getelementptr i64, ptr {state}, i64 {shrink}
  %address = load i64, ptr %shrinks
  %function = inttoptr i64 %address to ptr
  call void %function(i64 %block, i64 %size)
  %counts = getelementptr i64, ptr {state}, i64 {count}
  %before = load i64, ptr %counts
  %more = add i64 %before, 1
  store i64 %more, ptr %counts
  br label %done
done:
  ret void
}}

define internal i64 @trimmed() {{
  br label %class
class:
  %k = phi i64 [ {large}, %0 ], [ %following, %step ]
  %given = phi i64 [ 0, %0 ], [ %now, %step ]
  %places = getelementptr i64, ptr {state}, i64 %k
  br label %item
item:
  %now = phi i64 [ %given, %class ], [ %counted, %drop ]
  %head = load i64, ptr %places
  %some = icmp ne i64 %head, 0
  br i1 %some, label %drop, label %step
drop:
  %node = inttoptr i64 %head to ptr
  %next = load i64, ptr %node
  store i64 %next, ptr %places
  %blocks = getelementptr i64, ptr %node, i64 1
  %block = load i64, ptr %blocks
  call void @free(ptr %node)
  call void @forget(i64 %block)
  %counted = add i64 %now, 1
  br label %item
step:
  %following = add i64 %k, 1
  %more = icmp slt i64 %following, {last}
  br i1 %more, label %class, label %done
done:
  ret i64 %now
}}

define internal i64 @grown(i64 %size) {{
  %first = call i64 @asked(i64 %size)
  %refused = icmp eq i64 %first, 0
  br i1 %refused, label %trim, label %good
good:
  ret i64 %first
trim:
  %given = call i64 @trimmed()
  %any = icmp ne i64 %given, 0
  br i1 %any, label %again, label %none
again:
  %second = call i64 @asked(i64 %size)
  ret i64 %second
none:
  ret i64 0
}}

define internal i64 @asked(i64 %size) {{
  %grows = getelementptr i64, ptr {state}, i64 {grow}
  %address = load i64, ptr %grows
  %function = inttoptr i64 %address to ptr
  %made = call i64 %function(i64 %size)
  %none = icmp eq i64 %made, 0
  br i1 %none, label %done, label %note
note:
  %node = call ptr @malloc(i64 24)
  %lists = getelementptr i64, ptr {state}, i64 {pieces}
  %first = load i64, ptr %lists
  store i64 %first, ptr %node
  %starts = getelementptr i64, ptr %node, i64 1
  store i64 %made, ptr %starts
  %sizes = getelementptr i64, ptr %node, i64 2
  store i64 %size, ptr %sizes
  %own = ptrtoint ptr %node to i64
  store i64 %own, ptr %lists
  %counts = getelementptr i64, ptr {state}, i64 {count}
  %before = load i64, ptr %counts
  %after = add i64 %before, 1
  store i64 %after, ptr %counts
  br label %done
done:
  ret i64 %made
}}

define i64 @{take}(i64 %given) {{
  %size = call i64 @rounded(i64 %given)
  %places = call ptr @class(i64 %size)
  call void @lock()
  %head = load i64, ptr %places
  %some = icmp ne i64 %head, 0
  br i1 %some, label %use, label %look
use:
  %node = inttoptr i64 %head to ptr
  %next = load i64, ptr %node
  store i64 %next, ptr %places
  %blocks = getelementptr i64, ptr %node, i64 1
  %block = load i64, ptr %blocks
  call void @unlock()
  call void @free(ptr %node)
  ret i64 %block
look:
  %large = icmp sge i64 %size, {small}
  br i1 %large, label %whole, label %cut
whole:
  %own = call i64 @grown(i64 %size)
  call void @unlock()
  ret i64 %own
cut:
  %cursors = getelementptr i64, ptr {state}, i64 {cursor}
  %ends = getelementptr i64, ptr {state}, i64 {end}
  %cursor = load i64, ptr %cursors
  %end = load i64, ptr %ends
  %after = add i64 %cursor, %size
  %fits = icmp sle i64 %after, %end
  br i1 %fits, label %hand, label %piece
hand:
  store i64 %after, ptr %cursors
  call void @unlock()
  ret i64 %cursor
piece:
  %more = call i64 @grown(i64 {piece})
  %none = icmp eq i64 %more, 0
  br i1 %none, label %refused, label %start
start:
  %second = add i64 %more, %size
  store i64 %second, ptr %cursors
  %last = add i64 %more, {piece}
  store i64 %last, ptr %ends
  br label %refused
refused:
  call void @unlock()
  ret i64 %more
}}

define void @{give}(i64 %block, i64 %given, i64 %ignored) {{
  %nothing = icmp eq i64 %block, 0
  br i1 %nothing, label %done, label %keep
keep:
  %size = call i64 @rounded(i64 %given)
  %places = call ptr @class(i64 %size)
  %node = call ptr @malloc(i64 16)
  %refused = icmp eq ptr %node, null
  br i1 %refused, label %done, label %put
put:
  %blocks = getelementptr i64, ptr %node, i64 1
  store i64 %block, ptr %blocks
  call void @lock()
  %head = load i64, ptr %places
  store i64 %head, ptr %node
  %own = ptrtoint ptr %node to i64
  store i64 %own, ptr %places
  call void @unlock()
  br label %done
done:
  ret void
}}
"""


class Pool:
    """One kind of this memory: compiled code takes and gives it by two functions, named `take` and `give`."""

    def __init__(self, kind: str) -> None:
        self.take, self.give = f"dj_{kind}_take", f"dj_{kind}_give"
        self.symbols = (self.take, self.give)
        self._state = (ctypes.c_int64 * (_FREE + _CLASSES))()
        self._count = 0  # pieces when the next two were written
        self._starts: tuple[int, ...] = ()
        self._ends: tuple[int, ...] = ()

    @cached_property
    def _engine(self) -> Any:
        """The functions, compiled; they live as long as the process."""
        text = _TEXT.format(
            state=f"inttoptr (i64 {ctypes.addressof(self._state)} to ptr)",
            least=_LEAST,
            small=_SMALL,
            piece=_PIECE,
            offset=_OFFSET,
            large=_LARGE,
            last=_FREE + _CLASSES,
            grow=_GROW,
            shrink=_SHRINK,
            cursor=_CURSOR,
            end=_END,
            pieces=_PIECES,
            count=_COUNT,
            take=self.take,
            give=self.give,
        )
        engine = compiled(text, hot=True)
        for name in self.symbols:
            llvm.add_symbol(name, engine.get_function_address(name))
        os.register_at_fork(after_in_child=self._forked)
        return engine

    def start(self) -> None:
        """Make the functions known to code that is loaded or compiled next."""
        assert self._engine

    def _forked(self) -> None:
        self._state[_LOCK] = 0  # whoever had locked it is not there

    def pieces(self) -> int:
        """How often pieces have come or gone."""
        return self._state[_COUNT]

    def grow_by(self, grow: int, shrink: int) -> None:
        """Name the C functions that give pieces, of a size their address or 0, and take them back: address and size."""
        self.start()
        self._state[_GROW], self._state[_SHRINK] = grow, shrink

    @cached_property
    def taken(self) -> Any:
        """Takes bytes: their address, or 0."""
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self._engine.get_function_address(self.take))

    @cached_property
    def given(self) -> Any:
        """Gives bytes back: their address, how many, and what is ignored."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        return kind(self._engine.get_function_address(self.give))

    def piece(self, first: int, last: int) -> int:
        """Where the piece begins that has all bytes from `first` up to `last`, excluded; 0: there is none."""
        if self.pieces() != self._count:
            self._look()
        k = bisect.bisect_right(self._starts, first) - 1
        return self._starts[k] if k >= 0 and last <= self._ends[k] else 0

    def _look(self) -> None:
        found: list[tuple[int, int]] = []
        count, node = self.pieces(), self._state[_PIECES]
        while node:
            node, begin, size = (ctypes.c_int64 * 3).from_address(node)
            found.append((begin, begin + size))
        found.sort()
        self._starts, self._ends = tuple(a for a, _ in found), tuple(b for _, b in found)
        self._count = count


MANAGED, PINNED = Pool("shared"), Pool("pinned")
SYMBOLS = (*MANAGED.symbols, *PINNED.symbols)


def start() -> None:
    """Make all functions known to the linker."""
    MANAGED.start()
    PINNED.start()


class Block:
    """Some of this memory, for as long as the object lives. MemoryError where there is none."""

    def __init__(self, size: int, pool: Pool = MANAGED) -> None:
        self.size, self._back = size, pool.given
        self.address = pool.taken(size)
        if not self.address:
            message = f"no memory for {size} bytes that host and device both reach"
            raise MemoryError(message)

    def __del__(self) -> None:
        if getattr(self, "address", 0):
            self._back(self.address, self.size, 0)


def extent(first: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """The first byte and the size of what an array that is not empty lies in; `first`: where its first element is."""
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return first + sum(r for r in reach if r < 0), sum(map(abs, reach)) + itemsize


def owns(first: int, last: int) -> bool:
    """Whether the device reaches the bytes from `first` up to `last`, excluded."""
    return bool(MANAGED.piece(first, last) or PINNED.piece(first, last))
