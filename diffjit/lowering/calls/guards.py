"""Memory of arrays under `settings.checked`: filled when it is fresh and when it is freed, and guarded behind its end.

What is read before it is written is NaN (or -1), and so is, as good as always, what is read after it has been freed.
What is written behind the end of an array is noticed when its memory is freed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.errors import BrokenPromise
from diffjit.lowering.calls.interrupts import compiled

SYMBOL = "dj_guarded"
FRESH = 0xFF  # each byte of fresh memory: NaN, -1, True

_ALLOCATOR = (ctypes.c_int64 * 4)()  # allocate, reallocate, free, and what they are given: the state
_STATE = (ctypes.c_int64 * 1)()  # how many arrays were written to behind their end
llvm.add_symbol(SYMBOL, ctypes.addressof(_ALLOCATOR))

# A block begins with its length and the address where its array ends (which compiled code writes there); the memory
# that is handed out begins 16 bytes behind, and 64 bytes follow it.
_TEXT = """
declare {bytes} @malloc(i64)
declare void @free({bytes})
declare {bytes} @memset({bytes}, i32, i64)

define {bytes} @dj_guarded_take(i64 %size, {bytes} %given) {{
  %total = add i64 %size, 80
  %made = call {bytes} @malloc(i64 %total)
  %address = ptrtoint {bytes} %made to i64
  %refused = icmp eq i64 %address, 0
  br i1 %refused, label %nothing, label %fill
nothing:
  ret {bytes} %made
fill:
  %ignored = call {bytes} @memset({bytes} %made, i32 255, i64 %total)
  %header = inttoptr i64 %address to {words}
  store i64 %size, {words} %header
  %second = add i64 %address, 8
  %ends = inttoptr i64 %second to {words}
  store i64 0, {words} %ends
  %behind = add i64 %address, 16
  %result = inttoptr i64 %behind to {bytes}
  ret {bytes} %result
}}

define void @dj_guarded_give({bytes} %memory, {bytes} %given) {{
  %at = ptrtoint {bytes} %memory to i64
  %block = sub i64 %at, 16
  %header = inttoptr i64 %block to {words}
  %size = load i64, {words} %header
  %second = add i64 %block, 8
  %ends = inttoptr i64 %second to {words}
  %end = load i64, {words} %ends
  %total = add i64 %size, 80
  %limit = add i64 %block, %total
  %known = icmp ne i64 %end, 0
  br i1 %known, label %look, label %release
look:
  %place = phi i64 [ %end, %0 ], [ %next, %good ]
  %more = icmp ult i64 %place, %limit
  br i1 %more, label %test, label %release
test:
  %spot = inttoptr i64 %place to {bytes}
  %byte = load i8, {bytes} %spot
  %same = icmp eq i8 %byte, -1
  br i1 %same, label %good, label %bad
good:
  %next = add i64 %place, 1
  br label %look
bad:
  %state = bitcast {bytes} %given to {words}
  %count = load i64, {words} %state
  %one = add i64 %count, 1
  store i64 %one, {words} %state
  br label %release
release:
  %raw = inttoptr i64 %block to {bytes}
  %ignored = call {bytes} @memset({bytes} %raw, i32 253, i64 %total)
  call void @free({bytes} %raw)
  ret void
}}
"""


@cache
def start() -> Any:
    """Compile the functions, for the code that is loaded or compiled next."""
    engine = compiled(_TEXT.format(bytes="ptr", words="ptr"))
    _ALLOCATOR[0] = engine.get_function_address("dj_guarded_take")
    _ALLOCATOR[2] = engine.get_function_address("dj_guarded_give")
    _ALLOCATOR[3] = ctypes.addressof(_STATE)
    return engine  # kept for as long as the process lives


def guarded(call: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """A compiled program whose calls look for damage when they are done."""
    start()

    def watched(*args: Any) -> tuple[Any, ...]:
        try:
            return call(*args)
        finally:
            count, _STATE[0] = _STATE[0], 0
            if count:
                raise BrokenPromise(
                    "DJ903",
                    f"compiled code has written behind the end of {count} of its arrays",
                    cure="this is a mistake in diffjit: please report it; settings.plain = True does without the "
                    "optimisation",
                )

    return watched
