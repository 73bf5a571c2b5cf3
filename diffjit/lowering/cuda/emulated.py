"""A device on the processor: it runs the turns of a kernel one by one, in random order, in memory of its own pool.

So a kernel whose turns depend on one another, or that reads what is not the device's, shows here. It is no faster than
the processor: it is there for tests, and for machines without a GPU.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from diffjit.lowering.calls.interrupts import compiled
from diffjit.lowering.cuda import pool
from diffjit.lowering.cuda import watched as watched_turns
from diffjit.lowering.cuda.device_runtime import ARENA, SHORT
from diffjit.lowering.cuda.images import TURN
from diffjit.lowering.cuda.products import Product
from diffjit.lowering.cuda.rooms import Rooms, Words

_MEMORY = """
declare ptr @aligned_alloc(i64, i64)

define i64 @dj_grow(i64 %size) {
  %made = call ptr @aligned_alloc(i64 256, i64 %size)
  %address = ptrtoint ptr %made to i64
  ret i64 %address
}

declare void @free(ptr)

define void @dj_shrink(i64 %address, i64 %size) {
  %made = inttoptr i64 %address to ptr
  call void @free(ptr %made)
  ret void
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


def _matrix(p: Product, which: int) -> np.ndarray:
    """An operand of a product, or its result, as an array."""
    first, size = p.extents()[which]
    dtype = np.dtype({"s": "f4", "d": "f8", "c": "c8", "z": "c16"}[p.letter])
    memory: Any = (ctypes.c_char * size).from_address(first)
    numbers = np.frombuffer(memory, dtype)
    rows = (p.inner if p.turned[0] else p.rows, p.columns if p.turned[1] else p.inner, p.rows)[which]
    columns = (size // dtype.itemsize - rows) // p.leading[which] + 1
    return np.lib.stride_tricks.as_strided(
        numbers, (rows, columns), (dtype.itemsize, dtype.itemsize * p.leading[which])
    )


class _Kernel:
    """A kernel's machine code, which lives as long as this does."""

    def __init__(self, engine: Any) -> None:
        self.engine, self.turn = engine, engine.get_function_address(TURN)
        self.arena = engine.get_global_value_address(ARENA)
        self.rooms = Rooms() if self.arena else None


class _Place:
    """A launch of a kernel whose turns take memory: one room, as they run one by one."""

    def __init__(self, device: Emulated, kernel: _Kernel, turns: Callable[[], None]) -> None:
        self.device, self.kernel, self.turns = device, kernel, turns

    def most(self) -> int:
        """The bytes that a room can have."""
        return self.device.room

    def share(self) -> int:
        """The same, as one has it."""
        return self.most()

    def run(self, size: int) -> int:
        """Run all turns with rooms of a size."""
        memory = np.empty(size, np.uint8)
        words = Words.from_address(self.kernel.arena)
        words[:] = memory.ctypes.data, size, 0
        self.turns()
        return words[SHORT]


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
        self.room = 1 << 30
        llvm.add_symbol("dj_watched", self.engine.get_function_address("dj_watched"))
        for memory in (pool.MANAGED, pool.PINNED):
            memory.grow_by(*map(self.engine.get_function_address, ("dj_grow", "dj_shrink")))

    def load(self, image: bytes) -> Any:
        """An object file as a kernel."""
        machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
            codemodel="jitdefault", jit=True
        )
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(image))
        engine.finalize_object()
        return _Kernel(engine)

    def launch(
        self, kernel: Any, count: int, args: int, failed: int, arrays: list[tuple[int, int]], *, once: bool
    ) -> None:
        """Run all turns."""
        with self.lock:
            self.launches += 1

            def run() -> None:
                order = self.random.permutation(count)
                if self.log is not None:
                    self._watch(self.log, kernel, order, args, failed, arrays)
                else:
                    self.turns(kernel.turn, order.ctypes.data, count, args, failed)

            if kernel.rooms is None:
                run()
            else:
                kernel.rooms.run(_Place(self, kernel, run), failed, once=once)

    def _watch(self, log: watched_turns.Log, kernel: Any, order: Any, args: int, failed: int, arrays: Any) -> None:
        """Run all turns, some at a time, and see that none meet."""
        log.begin()
        for k in range(0, len(order), _TOGETHER):
            some = order[k : k + _TOGETHER]
            self.turns(kernel.turn, some.ctypes.data, len(some), args, failed)
            log.keep(arrays)
        log.refuse_meetings()

    def copy(self, to: int, start: int, size: int) -> None:
        """Copy bytes."""
        ctypes.memmove(to, start, size)

    def multiplies(self, much: bool) -> bool:
        """All products: this is for tests."""
        del much
        return True

    def product(self, p: Product) -> None:
        """Multiply matrices."""
        (left, right, out), (a, b) = (_matrix(p, k) for k in range(3)), p.turned
        np.matmul(left.T if a else left, right.T if b else right, out=out)
        self.launches += 1

    def fetch(self, first: int, size: int) -> None:
        """All of it is at hand."""
        del first, size

    def wait_for(self, stream: int | None) -> None:
        """There are no streams."""
        del stream

    def pays(self, count: int, work: int) -> bool:
        """Everything does: this is for tests."""
        del work
        return count > 0
