"""Whether two threads of a launch meet: a test at run time, with `settings.checked`.

A kernel's meaning must not hang on the order of its threads. So before the launch, Python runs the kernel as it stands,
on the memory that it is given, which is put back afterwards: block after block, the threads of each in a random order,
to its next barrier. Each element remembers who has read and written it since when. Two threads conflict there if
nothing stands between what they do, and one of them writes: but for the same number, and for two atomics of one kind.

Blocks never wait for one another. What `cuda.atomic` returns hangs on the order; that is not looked at.
"""

from __future__ import annotations

import random
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import field
from itertools import product
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem
from diffjit.frontend.kernels.words import dtype_of, is_kernel, word
from diffjit.ir.nodes import Loc

_AXES = ("x", "y", "z")


def check(kernel: Any, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, *args: Any) -> None:
    """Run a launch, and leave nothing of it but an error where two threads meet."""
    given = [a for a in _leaves(args) if isinstance(a, np.ndarray)]
    before = [(a, a.copy()) for a in given if a.flags.writeable]
    try:
        run(kernel, grid, block, shared, args)
    finally:
        for array, old in before:
            array[...] = old


check.sees_memory = True  # type: ignore[attr-defined]


def run(kernel: Any, grid: Any, block: Any, shared: int, args: Any, order: Any = None) -> None:
    """Run a launch thread by thread, in a random order; where two threads meet, it raises."""
    launch = _Launch(kernel.py_func.__name__, grid, block, shared, order or random.Random(1))  # noqa: S311 - no secrets
    code = kernel.py_func.__code__
    names = code.co_varnames[: code.co_argcount]
    program = launch.stand_in(kernel)
    launch.run(program, [launch.given(name, a) for name, a in zip(names, args, strict=True)])


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, (tuple, list)) else [value]


@dataclass(slots=True, eq=False)
class _Thread:
    """A thread of the grid, and where it has come to."""

    block: tuple[int, ...]
    at: tuple[int, ...]
    epoch: int = 0  # how many barriers it has passed
    go: Any = field(default_factory=lambda: threading.Semaphore(0))
    error: BaseException | None = None
    over: bool = False


@dataclass(slots=True, eq=False)
class _Done:
    """What a thread has done with an element."""

    thread: _Thread
    epoch: int
    kind: str  # "read", "write", or the name of an atomic
    value: Any
    loc: Loc

    def meets(self, other: _Done) -> bool:
        """Whether the order of the two decides what they do."""
        if self.thread is other.thread:
            return False
        if self.thread.block == other.thread.block and self.epoch != other.epoch:
            return False
        if self.kind == other.kind:
            return self.kind == "write" and self.value != other.value
        return True


class _Launch:
    """One launch, as Python runs it."""

    def __init__(self, name: str, grid: Any, block: Any, shared: int, order: random.Random) -> None:
        self.name, self.grid, self.block, self.shared_bytes, self.order = name, tuple(grid), tuple(block), shared, order
        self.cells: dict[int, dict[tuple[Any, int, str], list[_Done]]] = {}
        self.made: dict[Any, Any] = {}  # functions that stand for those of the program
        self.shared: dict[Any, np.ndarray] = {}
        self.alive: list[np.ndarray] = []
        self.thread: Any = None
        self.back = threading.Semaphore(0)

    def run(self, program: Callable[..., Any], args: list[Any]) -> None:
        blocks = [at[::-1] for at in product(*map(range, self.grid[::-1]))]
        self.order.shuffle(blocks)
        for at in blocks:
            self.shared = {}
            threads = [_Thread(at, t[::-1]) for t in product(*map(range, self.block[::-1]))]
            self.run_block(threads, lambda: program(*args))

    def run_block(self, threads: list[_Thread], program: Callable[[], Any]) -> None:
        """All threads of a block, from barrier to barrier; Python's own threads stand for them, one at a time."""

        def life(thread: _Thread) -> None:
            thread.go.acquire()
            try:
                if thread.error is None:
                    program()
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits for this one
                thread.error = error
            thread.over = True
            self.back.release()

        workers = [threading.Thread(target=life, args=(t,), daemon=True) for t in threads]
        for worker in workers:
            worker.start()
        failed: BaseException | None = None
        while alive := [t for t in threads if not t.over]:
            self.order.shuffle(alive)
            for thread in alive:
                thread.error = failed
                self.thread = thread
                thread.go.release()
                self.back.acquire()
                failed = failed or thread.error
        for worker in workers:
            worker.join()
        if failed is not None:
            raise failed

    # What the kernel calls

    def given(self, name: str, value: Any) -> Any:
        """An argument, as the kernel gets it."""
        if isinstance(value, (tuple, list)):
            return tuple(self.given(name, part) for part in value)
        return self.watched(value, name) if isinstance(value, np.ndarray) else value

    def watched(self, array: np.ndarray, name: str) -> Any:
        made = array.view(Watched)
        made.launch, made.name = self, name
        return made

    def stand_in(self, obj: Any) -> Any:
        """What a kernel finds under one of its names."""
        said = word(obj)
        if isinstance(obj, types.ModuleType) and obj.__name__ == "numba.cuda":
            return _Said("", self)
        if said is not None:
            return _Said(said.path, self)
        if isinstance(obj, types.ModuleType) and obj.__name__.split(".")[0] not in ("numpy", "math", "numba"):
            return _Module(obj, self)
        function = obj.py_func if is_kernel(obj) else obj
        if not is_kernel(obj) and (not isinstance(obj, types.FunctionType) or obj.__module__ == "math"):
            return obj
        if function not in self.made:
            self.made[function] = made = types.FunctionType(
                function.__code__, _Names(function.__globals__, self), function.__name__, function.__defaults__,
                tuple(types.CellType(self.stand_in(c.cell_contents)) for c in function.__closure__ or ()),
            )  # fmt: skip
            made.__kwdefaults__ = function.__kwdefaults__
        return self.made[function]

    def value(self, path: str) -> Any:
        """A word that is a number, or None."""
        head, _, axis = path.partition(".")
        at = {"threadIdx": self.thread.at, "blockIdx": self.thread.block, "blockDim": self.block, "gridDim": self.grid}
        if head in at and axis:
            return at[head][_AXES.index(axis)]
        if path == "laneid":
            x, y, z = self.thread.at
            return (x + self.block[0] * (y + self.block[1] * z)) % 32
        return 32 if path == "warpsize" else None

    def call(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, "call_" + path.replace(".", "_"))(*args, **kwargs)

    def call_grid(self, ndim: int) -> Any:
        rows = zip(self.thread.block, self.block, self.thread.at, strict=True)
        numbers = tuple(b * size + t for b, size, t in rows)
        return numbers[0] if ndim == 1 else numbers[:ndim]

    def call_gridsize(self, ndim: int) -> Any:
        numbers = tuple(g * b for g, b in zip(self.grid, self.block, strict=True))
        return numbers[0] if ndim == 1 else numbers[:ndim]

    def call_syncthreads(self) -> None:
        thread = self.thread
        self.back.release()
        thread.go.acquire()
        thread.epoch += 1
        if thread.error is not None:
            raise thread.error

    def call_shared_array(self, shape: Any, dtype: Any) -> Any:
        frame = _kernels_frame()
        place = frame.f_code, frame.f_lasti
        if place not in self.shared:
            dtype = np.dtype(dtype_of(dtype) or dtype)
            length = self.shared_bytes // dtype.itemsize if shape == 0 else shape
            self.shared[place] = self.watched(np.zeros(length, dtype), "shared memory")
            self.alive.append(self.shared[place])  # no other memory gets its addresses
        return self.shared[place]

    def call_local_array(self, shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, np.dtype(dtype_of(dtype) or dtype))

    def call_const_array_like(self, array: Any) -> Any:
        return array

    def call_atomic_add(self, array: Any, index: Any, value: Any) -> Any:
        return self.atomic("add", array, index, lambda old: old + value)

    def call_atomic_sub(self, array: Any, index: Any, value: Any) -> Any:
        return self.atomic("add", array, index, lambda old: old - value)

    def call_atomic_max(self, array: Any, index: Any, value: Any) -> Any:
        return self.atomic("max", array, index, lambda old: max(old, value))

    def call_atomic_min(self, array: Any, index: Any, value: Any) -> Any:
        return self.atomic("min", array, index, lambda old: min(old, value))

    def atomic(self, kind: str, array: Any, index: Any, new: Callable[[Any], Any]) -> Any:
        plain = array.view(np.ndarray)
        old = plain[index]
        plain[index] = new(old)
        if isinstance(array, Watched):
            self.note(array, index, f"atomic {kind}")
        return old

    # Who has done what

    def note(self, array: Watched, index: Any, kind: str) -> None:
        """A thread has done something with elements of an array."""
        index = index if isinstance(index, tuple) else (index,)
        part = array.view(np.ndarray)[(*index, ...)]
        if part.size == 0:
            return
        loc = _place(_kernels_frame(), self.name)
        first = part.__array_interface__["data"][0]
        for place in np.ndindex(part.shape):
            address = first + sum(k * step for k, step in zip(place, part.strides, strict=True))
            value = part[place].tobytes() if kind == "write" else None
            self.enter(address, _Done(self.thread, self.thread.epoch, kind, value, loc), array.name)

    def enter(self, address: int, now: _Done, name: str) -> None:
        groups = self.cells.setdefault(address, {})
        for (block, epoch, kind), others in groups.items():
            if kind == "read" == now.kind or (block == now.thread.block and epoch != now.epoch):
                continue
            for other in others:
                if now.meets(other):
                    raise self.met(now, other, name)
        mine = groups.setdefault((now.thread.block, now.epoch, now.kind), [])
        if all(d.thread is not now.thread for d in mine):
            if len(mine) < 2:  # whoever meets one of the others meets one of two
                mine.append(now)
        else:
            mine[:] = [now if d.thread is now.thread else d for d in mine]

    def met(self, now: _Done, other: _Done, name: str) -> MemoryProblem:
        def told(done: _Done) -> str:
            verb = {"read": "reads", "write": "writes"}.get(done.kind, f"does an {done.kind} to")
            return f"thread {done.thread.at} of block {done.thread.block} {verb} it in line {done.loc.line}"

        return MemoryProblem(
            "DJ407", f"threads of `{self.name}` meet at an element of `{name}`: {told(other)}, and {told(now)}",
            loc=now.loc,
            cure="give each thread elements of its own, add with cuda.atomic.add, or, within a block, put "
            "cuda.syncthreads() between the two",
        )  # fmt: skip


class Watched(np.ndarray):
    """An array whose elements remember who has read and written them."""

    launch: Any = None
    name: str = ""

    def __array_finalize__(self, obj: Any) -> None:
        self.launch, self.name = getattr(obj, "launch", None), getattr(obj, "name", "")

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, Watched) and found.ndim and np.may_share_memory(found, self):
            return found
        self.launch.note(self, index, "read")
        return found.view(np.ndarray) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.view(np.ndarray)[index] = value
        self.launch.note(self, index, "write")

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        for x in inputs:
            if isinstance(x, Watched):
                self.launch.note(x, ..., "read")
        plain = [x.view(np.ndarray) if isinstance(x, Watched) else x for x in (*inputs, *out)]
        given, into = plain[: len(inputs)], tuple(plain[len(inputs) :])
        made = getattr(ufunc, method)(*given, **({"out": into} if out else {}), **kwargs)
        for x in out:
            if isinstance(x, Watched):
                self.launch.note(x, ..., "write")
        return out[0] if out else made


class _Said:
    """A word of `numba.cuda` while a kernel runs."""

    def __init__(self, path: str, launch: _Launch) -> None:
        self.path, self.launch = path, launch

    def __getattr__(self, name: str) -> Any:
        path = f"{self.path}.{name}" if self.path else name
        value = self.launch.value(path)
        return _Said(path, self.launch) if value is None else value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.launch.call(self.path, *args, **kwargs)


class _Module:
    """A module of the program."""

    def __init__(self, module: Any, launch: _Launch) -> None:
        self.module, self.launch = module, launch

    def __getattr__(self, name: str) -> Any:
        return self.launch.stand_in(getattr(self.module, name))


class _Names(dict[str, Any]):
    """The globals of a function; Python asks a dict itself for them, so that all are entered."""

    def __init__(self, names: dict[str, Any], launch: _Launch) -> None:
        super().__init__(names)
        for name, value in names.items():
            if not is_kernel(value) and not isinstance(value, types.FunctionType):
                self[name] = launch.stand_in(value)
        for name, value in names.items():
            if is_kernel(value):
                self[name] = _Later(value, launch)


class _Later:
    """A kernel or device function that is called by its name."""

    def __init__(self, kernel: Any, launch: _Launch) -> None:
        self.kernel, self.launch = kernel, launch

    def __call__(self, *args: Any) -> Any:
        return self.launch.stand_in(self.kernel)(*args)


def _kernels_frame() -> Any:
    """The innermost frame of the user's code."""
    frame: Any = sys._getframe(1)  # noqa: SLF001 - the documented way to the callers' frames
    while frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame


def _place(frame: Any, name: str) -> Loc:
    spans = list(frame.f_code.co_positions())
    line, last, column, end = spans[frame.f_lasti // 2]
    line, column = line or frame.f_lineno, column or 0
    return Loc(frame.f_code.co_filename, line, column, end if last == line and end else column, name)
