"""Memory of large arrays that were freed, kept for the arrays to come.

The system hands out memory in pages, which it clears when they are first touched, and takes those of large arrays back
when they are freed. A function that is called again and again, as derivatives are, has a page fault for every 4 KB that
it records, each of which takes as long as hundreds of additions. What compiled code frees is kept here instead, up to
`settings.reserve_mb`.

The functions are LLVM, compiled once per process, which Numba's runtime calls as an external allocator: memory may be
freed long after the code that allocated it is gone. Whoever finds the reserve locked by another thread goes to the
system, so that nobody waits (and a process forked meanwhile never hangs).
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.lowering.calls.interrupts import compiled
from diffjit.settings import settings

SYMBOL = "dj_reserve"
LEAST = 1 << 17  # bytes; what is smaller the C library keeps by itself

_SLOTS = 16
_ALLOCATOR = (ctypes.c_int64 * 4)()  # allocate, reallocate, free, and what they are given: the state
_STATE = (ctypes.c_int64 * (4 + _SLOTS))()  # locked?, limit, bytes held, next place; then blocks, 0 where there is none
_TOP = (1 << 25) - (1 << 16)  # bytes; see `_learn_of_large_arrays`
_SMALL = 2  # bytes of small arrays that are kept for each of large ones
_TRIM_THRESHOLD = -1  # of `mallopt`
_HUGE = 1 << 22  # bytes; as NumPy: pages of 2 MB are faster, which Linux uses where it is asked to
llvm.add_symbol(SYMBOL, ctypes.addressof(_ALLOCATOR))

# A block begins with its length; the memory that is handed out begins 16 bytes behind.
_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)

define i1 @locked(ptr %state) alwaysinline {{
  %was = cmpxchg ptr %state, i64 0, i64 1 acquire monotonic
  %got = extractvalue {{ i64, i1 }} %was, 1
  ret i1 %got
}}

define ptr @dj_take(i64 %size, ptr %given) {{
  %state = bitcast ptr %given to ptr
  %got = call i1 @locked(ptr %state)
  br i1 %got, label %search, label %fresh
search:
  br label %head
head:
  %k = phi i64 [ 4, %search ], [ %after, %next ]
  %end = icmp eq i64 %k, {end}
  br i1 %end, label %none, label %look
look:
  %slot = getelementptr i64, ptr %state, i64 %k
  %block = load i64, ptr %slot
  %empty = icmp eq i64 %block, 0
  br i1 %empty, label %next, label %measure
measure:
  %header = inttoptr i64 %block to ptr
  %length = load i64, ptr %header
  %enough = icmp uge i64 %length, %size
  %half = lshr i64 %length, 1
  %close = icmp ule i64 %half, %size
  %fits = and i1 %enough, %close
  br i1 %fits, label %use, label %next
next:
  %after = add i64 %k, 1
  br label %head
use:
  store i64 0, ptr %slot
  %place = getelementptr i64, ptr %state, i64 2
  %held = load i64, ptr %place
  %rest = sub i64 %held, %length
  store i64 %rest, ptr %place
  store atomic i64 0, ptr %state release, align 8
  %start = add i64 %block, 16
  %found = inttoptr i64 %start to ptr
  ret ptr %found
none:
  store atomic i64 0, ptr %state release, align 8
  br label %fresh
fresh:
  %total = add i64 %size, 16
  %made = call ptr @malloc(i64 %total)
  %address = ptrtoint ptr %made to i64
  %refused = icmp eq i64 %address, 0
  br i1 %refused, label %nothing, label %note
nothing:
  ret ptr %made
note:
  %first = bitcast ptr %made to ptr
  store i64 %size, ptr %first
{advise}done:
  %behind = add i64 %address, 16
  %result = inttoptr i64 %behind to ptr
  ret ptr %result
}}

define void @dj_give(ptr %memory, ptr %given) {{
  %state = bitcast ptr %given to ptr
  %at = ptrtoint ptr %memory to i64
  %block = sub i64 %at, 16
  %header = inttoptr i64 %block to ptr
  %raw = bitcast ptr %header to ptr
  %length = load i64, ptr %header
  %limits = getelementptr i64, ptr %state, i64 1
  %limit = load i64, ptr %limits
  %most = lshr i64 %limit, 2
  %large = icmp ugt i64 %length, %most
  br i1 %large, label %release, label %attempt
attempt:
  %got = call i1 @locked(ptr %state)
  br i1 %got, label %keep, label %release
release:
  call void @free(ptr %raw)
  ret void
keep:
  %places = getelementptr i64, ptr %state, i64 3
  %totals = getelementptr i64, ptr %state, i64 2
  %cursor = load i64, ptr %places
  %number = add i64 %cursor, 4
  %slot = getelementptr i64, ptr %state, i64 %number
  %old = load i64, ptr %slot
  store i64 %block, ptr %slot
  %one = add i64 %cursor, 1
  %next = and i64 %one, {mask}
  store i64 %next, ptr %places
  %held = load i64, ptr %totals
  %more = add i64 %held, %length
  store i64 %more, ptr %totals
  %free = icmp eq i64 %old, 0
  br i1 %free, label %check, label %drop
drop:
  call void @dropped(ptr %totals, i64 %old)
  br label %check
check:
  call void @trimmed(ptr %state)
  store atomic i64 0, ptr %state release, align 8
  ret void
}}

define void @dj_trim(ptr %given) {{
  %state = bitcast ptr %given to ptr
  %got = call i1 @locked(ptr %state)
  br i1 %got, label %trim, label %done
trim:
  call void @trimmed(ptr %state)
  store atomic i64 0, ptr %state release, align 8
  br label %done
done:
  ret void
}}

define void @trimmed(ptr %state) {{
  %limits = getelementptr i64, ptr %state, i64 1
  %limit = load i64, ptr %limits
  %totals = getelementptr i64, ptr %state, i64 2
  %places = getelementptr i64, ptr %state, i64 3
  %oldest = load i64, ptr %places
  br label %head
head:
  %j = phi i64 [ 0, %0 ], [ %j1, %step ]
  %now = load i64, ptr %totals
  %over = icmp ugt i64 %now, %limit
  %some = icmp ule i64 %j, {mask}
  %go = and i1 %over, %some
  br i1 %go, label %victim, label %done
victim:
  %sum = add i64 %oldest, %j
  %wrapped = and i64 %sum, {mask}
  %which = add i64 %wrapped, 4
  %spot = getelementptr i64, ptr %state, i64 %which
  %other = load i64, ptr %spot
  %none = icmp eq i64 %other, 0
  br i1 %none, label %step, label %evict
evict:
  store i64 0, ptr %spot
  call void @dropped(ptr %totals, i64 %other)
  br label %step
step:
  %j1 = add i64 %j, 1
  br label %head
done:
  ret void
}}

define void @dropped(ptr %totals, i64 %block) alwaysinline {{
  %header = inttoptr i64 %block to ptr
  %length = load i64, ptr %header
  %held = load i64, ptr %totals
  %rest = sub i64 %held, %length
  store i64 %rest, ptr %totals
  %raw = bitcast ptr %header to ptr
  call void @free(ptr %raw)
  ret void
}}
"""

_ADVISE = f"""  %large = icmp uge i64 %size, {_HUGE}
  br i1 %large, label %advise, label %done
advise:
  %up = add i64 %address, 4095
  %page = and i64 %up, -4096
  %last = add i64 %address, %total
  %span = sub i64 %last, %page
  %ignored = call i32 @madvise(i64 %page, i64 %span, i32 14)
  br label %done
"""


@cache
def start() -> Any:
    """Compile the functions, for the code that is loaded or compiled next."""
    linux = sys.platform == "linux"
    text = _TEXT.format(
        end=4 + _SLOTS,
        mask=_SLOTS - 1,
        advise=_ADVISE if linux else "  br label %done\n",
    )
    if linux:
        text += "declare i32 @madvise(i64, i64, i32)\n"
    engine = compiled(text, hot=True)
    _ALLOCATOR[0] = engine.get_function_address("dj_take")
    _ALLOCATOR[2] = engine.get_function_address("dj_give")
    _ALLOCATOR[3] = ctypes.addressof(_STATE)
    trim = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("dj_trim"))

    library = ctypes.CDLL(None) if linux else None
    if library is not None:
        _learn_of_large_arrays(library)

    def limit(megabytes: float) -> None:
        _STATE[1] = max(0, int(megabytes * (1 << 20)))
        trim(_ALLOCATOR[3])
        if library is not None:
            _keep_the_top(library, _SMALL * _STATE[1])

    settings.watch("reserve_mb", limit)
    return engine  # kept for as long as the process lives


def _learn_of_large_arrays(library: Any) -> None:
    """Let the C library take arrays of up to 32 MB from its own memory, not page by page from the system.

    glibc does so once the process has freed such an array. So one is freed, which nobody has touched; of 32 MB and
    more it would learn nothing. What recursion records, in lists that grow, has room there, too (GradBench's det of
    size 9: half the time).
    """
    library.malloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    library.free(library.malloc(_TOP))


def _keep_the_top(library: Any, size: int) -> None:
    """Let the C library keep so many bytes of what small arrays leave free at the end of its memory.

    glibc gives what is more than 64 MB back at once, and derivatives that record small arrays get it anew at each
    call, page by page (NPBench's channel flow, which records 160 MB: 250 ms in place of 165).
    """
    if hasattr(library, "mallopt") and "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        library.mallopt(_TRIM_THRESHOLD, min(max(size, LEAST), (1 << 31) - 1))
        if size == 0:
            library.malloc_trim(0)


def held() -> int:
    """How many bytes are kept."""
    return _STATE[2]
