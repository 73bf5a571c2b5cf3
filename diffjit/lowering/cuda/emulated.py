"""A device on the processor: it runs the turns of a kernel one by one, in random order, in memory of its own pool.

So a kernel whose turns depend on one another, or that reads what is not the device's, shows here. It is no faster than
the processor: it is there for tests, and for machines without a GPU.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from diffjit.lowering.calls.interrupts import compiled
from diffjit.lowering.cuda import pool
from diffjit.lowering.cuda import watched as watched_turns
from diffjit.lowering.cuda.images import TURN

_MEMORY = """
declare ptr @aligned_alloc(i64, i64)

define i64 @dj_grow(i64 %size) {
  %made = call ptr @aligned_alloc(i64 256, i64 %size)
  %address = ptrtoint ptr %made to i64
  ret i64 %address
}
"""
_TURN = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_TURNS = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_ALL = """
define void @dj_turns(i64 %turn, i64 %order, i64 %count, i64 %args, i64 %failed) {
  %function = inttoptr i64 %turn to ptr
  %numbers = inttoptr i64 %order to ptr
  br label %head
head:
  %k = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %place = getelementptr i64, ptr %numbers, i64 %k
  %index = load i64, ptr %place
  store i64 %index, ptr @dj_now
  call void %function(i64 %index, i64 %args, i64 %failed)
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}
"""


_TOGETHER = 64  # turns between which what they did is taken off the log


class Emulated:
    """The device."""

    def __init__(self, seed: int | None = None, *, watched: bool = False) -> None:
        self.form = "watched" if watched else "native"
        self.random = np.random.default_rng(seed)
        self.lock = threading.Lock()
        self.engine = compiled(_MEMORY + watched_turns.RUNTIME + _ALL, hot=True)
        self.turns = _TURNS(self.engine.get_function_address("dj_turns"))
        self.launches = 0
        self.log = watched_turns.Log(self.engine) if watched else None
        llvm.add_symbol("dj_watched", self.engine.get_function_address("dj_watched"))
        pool.grow_by(self.engine.get_function_address("dj_grow"))

    def load(self, image: bytes) -> Any:
        """An object file as a kernel."""
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            codemodel="jitdefault", jit=True
        )
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(image))
        engine.finalize_object()
        return engine, engine.get_function_address(TURN)

    def launch(self, kernel: Any, count: int, args: int, failed: int, arrays: list[tuple[int, int]]) -> None:
        """Run all turns."""
        with self.lock:
            order = self.random.permutation(count)
            self.launches += 1
            if self.log is not None:
                self._watch(self.log, kernel, order, args, failed, arrays)
                return
        self.turns(kernel[1], order.ctypes.data, count, args, failed)

    def _watch(self, log: watched_turns.Log, kernel: Any, order: Any, args: int, failed: int, arrays: Any) -> None:
        """Run all turns, some at a time, and see that none meet."""
        log.begin()
        for k in range(0, len(order), _TOGETHER):
            some = order[k : k + _TOGETHER]
            self.turns(kernel[1], some.ctypes.data, len(some), args, failed)
            log.keep(arrays)
        log.refuse_meetings()

    def copy(self, to: int, start: int, size: int) -> None:
        """Copy bytes."""
        ctypes.memmove(to, start, size)

    def wait_for(self, stream: int | None) -> None:
        """There are no streams."""
        del stream

    def pays(self, count: int, work: int) -> bool:
        """Everything does: this is for tests."""
        del work
        return count > 0
