"""Ctrl-C while compiled code runs, and every other signal: what its loops ask, and who answers.

Compiled code runs without the GIL, and Python runs signal handlers between instructions of its own: without more, none
would run before a program has ended. So loops that may take long look at a number in memory (`polls`), which a thread,
the heart, sets a few times in a second. Where it is set, the main thread has Python look for signals: `answer` takes
the GIL and calls `PyErr_CheckSignals`, which runs the user's own handlers. What a handler raises is kept here, the
program leaves as by any failure, and its wrapper raises it (`taken`). Other threads have no signals to look for, as
in Python; threads of a pool stop if the nest that they work for is the main thread's and that has to stop.

Nothing of the user's is replaced, neither handlers nor the wakeup descriptor, and nothing here knows what is inside of
CPython. The heart is a thread of Python, so that it ends with the interpreter; it rests (and there is none) when for
some seconds no compiled loop has looked at the number, and the first that does starts it again.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm

BEAT, ANSWER, REGIONS = "dj_beat", "dj_answer", "dj_regions"
SYMBOLS = (BEAT, ANSWER, REGIONS)

PERIOD = 0.15  # seconds: what is asked for is an answer within half a second
_WINDOW = 0.02  # how long the number stays set where the main thread does not answer
_IDLE = 25  # beats without a look at the number before the heart rests

_SET, _SEEN, _RESTING, _KEPT, _REGIONS, _MAIN, _LEAVING, _ASIDE = range(8)
_STATE = (ctypes.c_int64 * 8)(1, 0, 1, 0, 0, 0, 0, 0)

# What takes the GIL tells which thread it is first: that costs nothing. `regions` is the number of nests that run on
# pools: where it is 1, a thread of the pool (which Python does not know) works for the nest of the main thread, as that
# is the one that something is kept for. The thread that is named `leaving` leaves its program, unless it is the main
# one and a handler is running (`aside`), which may call programs of its own.
_TEXT = """
declare i{long} @PyThread_get_thread_ident()
declare i64 @PyGILState_GetThisThreadState()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)
declare i32 @PyException_SetTraceback(i64, i64)
declare void @Py_DecRef(i64)
declare void @dj_wake()

define i64 @dj_answer() {{
  store volatile i64 1, ptr {seen}
  %ident = call i{long} @PyThread_get_thread_ident()
  %own = {widened}
  %main = load volatile i64, ptr {main}
  %first = icmp eq i64 %own, %main
  %named = load volatile i64, ptr {leaving}
  %leaves = icmp eq i64 %own, %named
  br i1 %leaves, label %leave, label %stay
leave:
  %handling = load volatile i64, ptr {aside}
  %idle = icmp eq i64 %handling, 0
  %free = xor i1 %first, true
  %may = or i1 %idle, %free
  br i1 %may, label %yes, label %stay
stay:
  %python = call i64 @PyGILState_GetThisThreadState()
  %worker = icmp eq i64 %python, 0
  %kept = load volatile i64, ptr {kept}
  %stopping = icmp ne i64 %kept, 0
  br i1 %stopping, label %stop, label %look
stop:
  br i1 %first, label %yes, label %others
others:
  %regions = load volatile i64, ptr {regions}
  %alone = icmp eq i64 %regions, 1
  %ours = and i1 %alone, %worker
  br i1 %ours, label %yes, label %no
yes:
  ret i64 1
no:
  ret i64 0
look:
  br i1 %worker, label %no, label %rests
rests:
  %resting = load volatile i64, ptr {resting}
  %asleep = icmp ne i64 %resting, 0
  %needed = or i1 %asleep, %first
  br i1 %needed, label %take, label %no
take:
  %state = call i32 @PyGILState_Ensure()
  %still = load volatile i64, ptr {resting}
  %wake = icmp ne i64 %still, 0
  br i1 %wake, label %start, label %started
start:
  store volatile i64 0, ptr {resting}
  store volatile i64 0, ptr {set}
  call void @dj_wake()
  br label %started
started:
  br i1 %first, label %check, label %none
check:
  store volatile i64 0, ptr {set}
  store volatile i64 1, ptr {aside}
  %raised = call i32 @PyErr_CheckSignals()
  store volatile i64 0, ptr {aside}
  %bad = icmp ne i32 %raised, 0
  br i1 %bad, label %keep, label %none
none:
  call void @PyGILState_Release(i32 %state)
  ret i64 0
keep:
  %kind = alloca i64
  %value = alloca i64
  %trace = alloca i64
  call void @PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr %kind, ptr %value, ptr %trace)
  %error = load i64, ptr %value
  %class = load i64, ptr %kind
  %back = load i64, ptr %trace
  %some = icmp ne i64 %back, 0
  br i1 %some, label %attach, label %store
attach:
  %ignored = call i32 @PyException_SetTraceback(i64 %error, i64 %back)
  call void @Py_DecRef(i64 %back)
  br label %store
store:
  call void @Py_DecRef(i64 %class)
  store volatile i64 %error, ptr {kept}
  store volatile i64 1, ptr {set}
  call void @PyGILState_Release(i32 %state)
  ret i64 1
}}
"""


def _beats(
    state: Any = _STATE, sleep: Callable[[float], None] = time.sleep, period: float = PERIOD, window: float = _WINDOW
) -> None:
    """What the heart does. It is stopped anywhere when the interpreter ends: it holds nothing."""
    idle = 0
    while idle < _IDLE:
        sleep(period)
        state[_SEEN] = 0
        state[_SET] = 1
        sleep(window)
        if not state[_KEPT]:
            state[_SET] = 0
        idle = 0 if state[_SEEN] else idle + 1
    state[_RESTING] = 1
    state[_SET] = 1  # the next look starts another heart


_WAKE = ctypes.CFUNCTYPE(None)(partial(_thread.start_new_thread, _beats, ()))  # all C: no handler runs in between


@cache
def start() -> Any:
    """Compile `answer`, for the code that is loaded or compiled next."""
    at = ctypes.addressof(_STATE)
    names = ("set", "seen", "resting", "kept", "regions", "main", "leaving", "aside")
    places = {name: f"inttoptr (i64 {at + 8 * k} to ptr)" for k, name in enumerate(names)}
    long = 8 * ctypes.sizeof(ctypes.c_ulong)
    widened = "add i64 %ident, 0" if long == 64 else f"zext i{long} %ident to i64"
    text = _TEXT.format(long=long, widened=widened, **places)
    llvm.add_symbol("dj_wake", ctypes.cast(_WAKE, ctypes.c_void_p).value or 0)
    engine = compiled(text)
    llvm.add_symbol(BEAT, at + 8 * _SET)
    llvm.add_symbol(REGIONS, at + 8 * _REGIONS)
    llvm.add_symbol(ANSWER, engine.get_function_address(ANSWER))
    _STATE[_MAIN] = threading.main_thread().ident or 0
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_born)
    return engine  # kept for as long as the process lives


def compiled(text: str, *, hot: bool = False) -> Any:
    """An engine with the functions of a text of LLVM, which may call Python's C interface.

    `hot`: programs call them all the time. LLVM takes ten times as long for these.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("")  # the symbols of the process
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        opt=2 if hot else 0, codemodel="jitdefault", jit=True
    )
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return engine


def _born() -> None:
    """In a process that was forked: threads stay behind."""
    _STATE[_KEPT] = _STATE[_REGIONS] = _STATE[_LEAVING] = 0
    _STATE[_RESTING] = _STATE[_SET] = 1
    _STATE[_MAIN] = threading.get_ident()


def taken() -> BaseException | None:
    """What a signal handler has raised while compiled code ran, for the main thread to raise."""
    if not _STATE[_KEPT] or threading.get_ident() != _STATE[_MAIN]:
        return None
    address, _STATE[_KEPT] = _STATE[_KEPT], 0
    error: BaseException = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(error))
    return error


def leave(thread: int) -> None:
    """Have a thread leave the program that it runs, at its next look; 0: nobody leaves. Its wrapper knows why."""
    _STATE[_LEAVING] = thread
    if thread:
        _STATE[_SET] = 1


def leaving() -> int:
    """The thread that is to leave; 0 if none is."""
    return _STATE[_LEAVING]
