"""What compiled code has noted of a failure: in memory of each thread, without Python.

Python's own functions would not do as the ones that note it: between their first instructions they may run a signal
handler, and what that raises would be lost, together with the failure. `dj_fail` begins a record, `dj_trace` adds a
caller's line; `dj_room` gives memory for arrays that an error's words show, which are gone when these are read.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.dataclass import dataclass
from diffjit.lowering.calls.interrupts import compiled

FAIL, TRACE, ROOM = "dj_fail", "dj_trace", "dj_room"
SYMBOLS = (FAIL, TRACE, ROOM)

_DEEPEST = 64  # callers that are noted
_IDENT, _NEXT, _KIND, _COUNT, _PAYLOAD, _CAPACITY, _TRACED, _BLOCKS, _TRACE = range(9)
_WORDS = _TRACE + 2 * _DEEPEST
_HEAD = (ctypes.c_int64 * 1)()  # the records of all threads that have failed so far, one after the other
_SPARE = (ctypes.c_int64 * _WORDS)()  # where there is no memory for one

_TEXT = """
declare i{long} @PyThread_get_thread_ident()
declare i64 @calloc(i64, i64)
declare i64 @malloc(i64)
declare i64 @realloc(i64, i64)
declare void @free(i64)
declare i64 @memcpy(i64, i64, i64)

define i64 @dj_record() {{
  %ident = call i{long} @PyThread_get_thread_ident()
  %own = {widened}
  %first = load atomic i64, ptr {head} acquire, align 8
  br label %search
search:
  %record = phi i64 [ %first, %0 ], [ %after, %other ]
  %end = icmp eq i64 %record, 0
  br i1 %end, label %make, label %look
look:
  %at = inttoptr i64 %record to ptr
  %whose = load i64, ptr %at
  %ours = icmp eq i64 %whose, %own
  br i1 %ours, label %found, label %other
found:
  ret i64 %record
other:
  %link = getelementptr i64, ptr %at, i64 1
  %after = load i64, ptr %link
  br label %search
make:
  %new = call i64 @calloc(i64 {size}, i64 8)
  %none = icmp eq i64 %new, 0
  br i1 %none, label %spare, label %fill
spare:
  ret i64 {spare}
fill:
  %place = inttoptr i64 %new to ptr
  store i64 %own, ptr %place
  %next = getelementptr i64, ptr %place, i64 1
  br label %push
push:
  %old = load atomic i64, ptr {head} acquire, align 8
  store i64 %old, ptr %next
  %pair = cmpxchg ptr {head}, i64 %old, i64 %new acq_rel acquire
  %done = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %done, label %made, label %push
made:
  ret i64 %new
}}

define void @dj_fail(i64 %module, i64 %line, i64 %kind, i64 %count, ptr %given) {{
  %record = call i64 @dj_record()
  %at = inttoptr i64 %record to ptr
  %kinds = getelementptr i64, ptr %at, i64 2
  store i64 %kind, ptr %kinds
  %counts = getelementptr i64, ptr %at, i64 3
  %payloads = getelementptr i64, ptr %at, i64 4
  %capacities = getelementptr i64, ptr %at, i64 5
  %capacity = load i64, ptr %capacities
  %fits = icmp ule i64 %count, %capacity
  br i1 %fits, label %copy, label %grow
grow:
  %before = load i64, ptr %payloads
  %wanted = mul i64 %count, 8
  %more = call i64 @realloc(i64 %before, i64 %wanted)
  %refused = icmp eq i64 %more, 0
  br i1 %refused, label %copy, label %grown
grown:
  store i64 %more, ptr %payloads
  store i64 %count, ptr %capacities
  br label %copy
copy:
  %room = load i64, ptr %capacities
  %small = icmp ult i64 %room, %count
  %noted = select i1 %small, i64 %room, i64 %count
  store i64 %noted, ptr %counts
  %target = load i64, ptr %payloads
  %source = ptrtoint ptr %given to i64
  %bytes = mul i64 %noted, 8
  %some = icmp ne i64 %bytes, 0
  br i1 %some, label %words, label %place
words:
  %same = call i64 @memcpy(i64 %target, i64 %source, i64 %bytes)
  br label %place
place:
  %traced = getelementptr i64, ptr %at, i64 6
  store i64 0, ptr %traced
  call void @dj_trace(i64 %module, i64 %line)
  ret void
}}

define void @dj_trace(i64 %module, i64 %line) {{
  %record = call i64 @dj_record()
  %at = inttoptr i64 %record to ptr
  %traced = getelementptr i64, ptr %at, i64 6
  %k = load i64, ptr %traced
  %full = icmp uge i64 %k, {deepest}
  br i1 %full, label %done, label %note
note:
  %twice = mul i64 %k, 2
  %first = add i64 %twice, {trace}
  %second = add i64 %first, 1
  %modules = getelementptr i64, ptr %at, i64 %first
  store i64 %module, ptr %modules
  %lines = getelementptr i64, ptr %at, i64 %second
  store i64 %line, ptr %lines
  %more = add i64 %k, 1
  store i64 %more, ptr %traced
  br label %done
done:
  ret void
}}

define i64 @dj_room(i64 %bytes) {{
  %record = call i64 @dj_record()
  %at = inttoptr i64 %record to ptr
  %size = add i64 %bytes, 16
  %block = call i64 @malloc(i64 %size)
  %none = icmp eq i64 %block, 0
  br i1 %none, label %nothing, label %link
nothing:
  ret i64 0
link:
  %blocks = getelementptr i64, ptr %at, i64 7
  %before = load i64, ptr %blocks
  %header = inttoptr i64 %block to ptr
  store i64 %before, ptr %header
  store i64 %block, ptr %blocks
  %memory = add i64 %block, 16
  ret i64 %memory
}}

define void @dj_forget() {{
  %record = call i64 @dj_record()
  %at = inttoptr i64 %record to ptr
  %kinds = getelementptr i64, ptr %at, i64 2
  store i64 -1, ptr %kinds
  %blocks = getelementptr i64, ptr %at, i64 7
  br label %next
next:
  %block = load i64, ptr %blocks
  %none = icmp eq i64 %block, 0
  br i1 %none, label %done, label %drop
drop:
  %header = inttoptr i64 %block to ptr
  %rest = load i64, ptr %header
  store i64 %rest, ptr %blocks
  call void @free(i64 %block)
  br label %next
done:
  ret void
}}
"""


@dataclass(frozen=True, slots=True)
class Record:
    """A failure: its kind, the numbers that describe it, and the lines (module, line), innermost first."""

    kind: int
    payload: tuple[int, ...]
    trace: list[tuple[int, int]]


@cache
def start() -> Any:
    """Compile the functions, for the code that is loaded or compiled next."""
    long = 8 * ctypes.sizeof(ctypes.c_ulong)
    engine = compiled(
        _TEXT.format(
            long=long,
            widened="add i64 %ident, 0" if long == 64 else f"zext i{long} %ident to i64",
            head=f"inttoptr (i64 {ctypes.addressof(_HEAD)} to ptr)",
            spare=ctypes.addressof(_SPARE),
            size=_WORDS,
            deepest=_DEEPEST,
            trace=_TRACE,
        )
    )
    for name in SYMBOLS:
        llvm.add_symbol(name, engine.get_function_address(name))
    return engine  # kept for as long as the process lives


def _call(name: str, result: Any) -> Any:
    return ctypes.CFUNCTYPE(result)(start().get_function_address(name))()


def read() -> Record:
    """What compiled code has noted last in this thread."""
    words = (ctypes.c_int64 * _WORDS).from_address(_call("dj_record", ctypes.c_int64))
    payload = (ctypes.c_int64 * words[_COUNT]).from_address(words[_PAYLOAD]) if words[_COUNT] else ()
    numbers = iter(words[_TRACE : _TRACE + 2 * words[_TRACED]])
    return Record(words[_KIND], tuple(payload), list(zip(numbers, numbers, strict=True)))


def forget() -> None:
    """Give back what the last record in this thread holds."""
    _call("dj_forget", None)
