"""A launch of a kernel, `kernel[blocks, threads](x, out)`, as the serial loops that it stands for.

    for i in range(blocks * threads):        `cuda.grid(1)` is i, threadIdx.x is i % threads, blockIdx.x is i // threads
        kernel(x, out)

A kernel whose meaning does not depend on the order of its threads means what it means in this order, and its
derivative is the derivative of these loops: what many threads read is added to by one after the other. Whether turns
may run at once, on the device or in threads of the processor, is asked of the loops as of any others
(`analysis.separate`). A kernel with memory that the threads of a block share becomes loops over blocks, with loops over
threads inside (`kernels.blocks`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.frontend.kernels import races
from diffjit.frontend.kernels.phases import Plan, Refused, plan_of
from diffjit.frontend.kernels.words import Word, dtype_of, is_configured, is_device_function, is_kernel, word, word_of
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.settings import settings

_AXES = ("x", "y", "z")
_ONE, _ZERO = Static(1), Static(0)


@dataclass(slots=True, eq=False)
class Launch:
    """A launch under interpretation, and where in it the thread is that is interpreted."""

    grid: list[Any]  # how many blocks, along x, y and z
    block: list[Any]  # how many threads each has
    shared_bytes: Any
    node: Any
    plan: Plan | None = None  # of a kernel whose threads wait for one another
    flat: list[Any] | None = None  # numbers of the thread in the whole grid
    block_at: list[Any] = field(default_factory=lambda: [_ZERO] * 3)
    thread_at: list[Any] = field(default_factory=lambda: [_ZERO] * 3)
    kept: Any = None  # what threads keep between barriers (`kernels.blocks`)


class Launches(Mixin):
    """Mixin of the interpreter: kernels, and what they ask about their thread."""

    launches: list[Launch]

    # Which blocks and threads

    def configured(self, kernel: Any, index: Any, node: Any) -> Any:
        """`kernel[blocks, threads, stream, shared]`."""
        parts = list(index.items) if isinstance(index, av.Tup) else [index]
        if len(parts) not in (2, 3, 4):
            message = "a kernel is launched with blocks and threads"
            raise self.type_problem("DJ133", message, node, cure="kernel[blocks, threads](...)", python=ValueError)
        shared = parts[3] if len(parts) == 4 else _ZERO
        return av.Partial(Static(Word("launch")), (Static(kernel), parts[0], parts[1], shared), {})

    def for_all(self, kernel: Any, count: Any, tpb: Any = _ZERO, stream: Any = _ZERO, sharedmem: Any = _ZERO) -> Any:
        """`kernel.forall(n)`: as many threads as tasks, where it is the device that chooses how many a block has."""
        del stream
        chosen = isinstance(tpb, Static) and tpb.obj == 0
        size = _ONE if chosen else tpb
        blocks = (
            count if chosen else self.ew("floor_divide", self.ew("add", count, self.ew("subtract", tpb, _ONE)), tpb)
        )
        return av.Partial(Static(Word("launch")), (Static(kernel), blocks, size, sharedmem), {})

    def _extents(self, value: Any, node: Any) -> list[Any]:
        """How many there are along x, y and z."""
        held = self.contents(value) if isinstance(value, av.Ref) else value
        parts = list(held.items) if isinstance(held, (av.Tup, av.ListC)) else [held]
        if not 1 <= len(parts) <= 3 or not all(self._counts(p) for p in parts):
            message = f"blocks and threads are ints, or tuples of one to three ints, not {describe(value)}"
            raise self.type_problem("DJ133", message, node, cure="kernel[(8, 8), (16, 16)](...)", python=TypeError)
        return [*parts, *[_ONE] * (3 - len(parts))]

    def _counts(self, value: Any) -> bool:
        dtype = self.kind_of_number(value)
        return dtype is not None and dtype[0].kind in "iu"

    # Launches

    def call_of_kernels(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a kernel, of a word, or of a type as `float32(x)`."""
        said = word(obj)
        if said is not None:
            return self.call_word(said, args, kwargs, node)
        if is_kernel(obj):
            return self.call_kernel(obj, args, kwargs, node)
        if is_configured(obj):
            return self.call_configured(obj, args, kwargs, node)
        return self.cast_to(np.dtype(dtype_of(obj)).type, args, node)

    def call_word(self, said: Word, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of something that `numba.cuda` has."""
        method = _METHODS.get(said.path)
        if said.path == "launch":
            kernel, grid, block, shared, *rest = args
            return self.launch(kernel.obj, grid, block, shared, rest, kwargs, node)
        if said.path == "forall":
            return self.for_all(args[0].obj, *args[1:], **kwargs)
        if method is None:
            cure = "write it with indices, arrays, cuda.atomic and cuda.syncthreads"
            raise self.unsupported("DJ134", f"`{said.__name__}` is not differentiated", node, cure)
        return getattr(self, method)(*args, **kwargs)

    def call_kernel(self, kernel: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a kernel by its name: inside another one it is a function as any."""
        if not self.launches:
            kind = "a device function" if is_device_function(kernel) else "a kernel"
            message = f"`{kernel.py_func.__name__}` is {kind}, and is called outside of a launch"
            raise self.type_problem("DJ133", message, node, cure="kernel[blocks, threads](...)", python=ValueError)
        return self.call_static(kernel.py_func, args, kwargs, node)

    def call_configured(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A kernel that got its blocks and threads outside."""
        grid, block = (av.Tup(tuple(map(Static, part))) for part in (obj.griddim, obj.blockdim))
        return self.launch(obj.dispatcher, grid, block, Static(obj.sharedmem), args, kwargs, node)

    def launch(self, kernel: Any, grid: Any, block: Any, shared: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """All threads of a kernel, one after the other."""
        name = kernel.py_func.__name__
        if self.launches:
            raise self.unsupported("DJ133", f"`{name}` is launched by a kernel", node, "call it, or launch it outside")
        if is_device_function(kernel) or kwargs:
            problem = "is a device function, and is launched" if is_device_function(kernel) else "is given names"
            raise self.type_problem("DJ133", f"`{name}` {problem}", node, cure="kernel[blocks, threads](x, out)")
        made = Launch(self._extents(grid, node), self._extents(block, node), shared, node)
        fn = self.fn_of(kernel.py_func)
        made.plan = self._plan(fn)
        if settings.checked:
            sizes = [av.Tup(tuple(size)) for size in (made.grid, made.block)]
            self.act(races.check, [Static(kernel), *sizes, shared, *args], {}, node, gives="nothing", told=name)
        self.launches.append(made)
        try:
            if made.plan is not None:
                self.run_blocks(made, fn, args)
                return NONE
            made.flat = [_ZERO] * 3
            sizes = [self.ew("multiply", g, b) for g, b in zip(made.grid, made.block, strict=True)]
            self.over_grid("thread", sizes, made.flat, lambda: self._thread(fn, args, node))
        finally:
            self.launches.pop()
        return NONE

    def _plan(self, fn: av.Fn) -> Plan | None:
        try:
            return plan_of(fn.node, fn.pyfunc)
        except Refused as refused:
            with self.entered(fn, {}, None):
                raise self.unsupported("DJ135", refused.message, refused.node, refused.cure) from None

    def over_grid(self, what: Any, sizes: list[Any], at: list[Any], body: Callable[[], None]) -> None:
        """Loops over z, y and x, the last inside; `at` has their counters meanwhile."""

        def along(axis: int) -> None:
            def turn(counter: Any) -> None:
                at[axis] = counter
                along(axis - 1)

            if axis < 0:
                body()
            elif isinstance(sizes[axis], Static) and sizes[axis].obj == 1:
                turn(_ZERO)
            else:
                key = (what, _AXES[axis], self.place())
                self.iterate(self.py_range(sizes[axis]), turn, self.launches[-1].node, key=key)

        along(2)

    def _thread(self, fn: av.Fn, args: list[Any], node: Any) -> None:
        self.refuse_result(fn, self.call_fn(fn, list(args), {}, node), node)

    def refuse_result(self, fn: av.Fn, result: Any, node: Any) -> None:
        """A kernel gives nothing."""
        if not is_none(result):
            message = f"`{fn.name}` is a kernel, and returns something"
            raise self.type_problem("DJ133", message, node, cure="write it to an array that the kernel is given")

    # What a thread asks

    def word_attribute(self, owner: Any, name: str, node: Any) -> Any:
        """`cuda.name`, `cuda.threadIdx.x`; None where it is no word of a kernel's."""
        said = word_of(owner, name)
        if said is None:
            return _forall(owner) if name == "forall" and is_kernel(owner) else None
        head, _, axis = said.path.partition(".")
        if head in _PLACES and axis in _AXES:
            return self.place_in_grid(head, _AXES.index(axis), node)
        if said.path == "warpsize":
            return Static(32)
        return Static(self.linear_thread(node)) if said.path == "laneid" else Static(said)

    def running(self, what: str, node: Any = None) -> Launch:
        """The launch around a place in the program."""
        if not self.launches:
            message = f"`cuda.{what}` stands outside of a kernel"
            raise self.unsupported("DJ133", message, node, "use it in a function that cuda.jit made")
        return self.launches[-1]

    def place_in_grid(self, what: str, axis: int, node: Any = None) -> Any:
        """`threadIdx.x` and the like."""
        launch = self.running(f"{what}.{_AXES[axis]}", node)
        if what in ("blockDim", "gridDim"):
            return (launch.block if what == "blockDim" else launch.grid)[axis]
        self.outside_of_threads(launch, what, node)
        if launch.flat is None:
            return (launch.thread_at if what == "threadIdx" else launch.block_at)[axis]
        at, size = launch.flat[axis], launch.block[axis]
        if what == "threadIdx":
            return at if _is_one(launch.grid[axis]) else self.ew("remainder", at, size)
        return at if _is_one(size) else self.ew("floor_divide", at, size)

    def cuda_grid(self, ndim: Any) -> Any:
        """`cuda.grid(d)`: numbers of the thread in the whole grid."""
        launch = self.running("grid")
        self.outside_of_threads(launch, "grid", None)
        if launch.flat is not None:
            return self._as_many(ndim, launch.flat)
        rows = zip(launch.block_at, launch.block, launch.thread_at, strict=True)
        return self._as_many(ndim, [self._plus(self.ew("multiply", b, size), t) for b, size, t in rows])

    def _plus(self, first: Any, thread: Any) -> Any:
        zero = [x for x in (first, thread) if isinstance(x, Static) and x.obj == 0]
        return self.ew("add", first, thread) if not zero else thread if zero[0] is first else first

    def cuda_gridsize(self, ndim: Any) -> Any:
        """`cuda.gridsize(d)`: how many threads there are."""
        launch = self.running("gridsize")
        return self._as_many(ndim, [self.ew("multiply", g, b) for g, b in zip(launch.grid, launch.block, strict=True)])

    def _as_many(self, ndim: Any, numbers: list[Any]) -> Any:
        count = self.static_int(ndim, "how many numbers cuda.grid gives")
        if not 1 <= count <= 3:
            raise self.type_problem("DJ133", f"a grid has 1 to 3 dimensions, not {count}", python=ValueError)
        return numbers[0] if count == 1 else av.Tup(tuple(numbers[:count]))

    # Memory

    def memory(self, shape: Any, dtype: Any) -> Value:
        """New memory; what nobody has written there is zero."""
        return self.np_empty("zeros", shape, self.dtype_word(dtype))

    def dtype_word(self, dtype: Any) -> Any:
        """A dtype that may be one of Numba's types."""
        name = dtype_of(dtype.obj) if isinstance(dtype, Static) else ""
        return Static(np.dtype(name)) if name else dtype

    def atomic_add(self, array: Any, index: Any, value: Any) -> Any:
        """`cuda.atomic.add(array, index, value)`; it gives what was there."""
        return self._atomic(array, index, lambda old: self.ew("add", old, value))

    def atomic_sub(self, array: Any, index: Any, value: Any) -> Any:
        return self._atomic(array, index, lambda old: self.ew("subtract", old, value))

    def atomic_max(self, array: Any, index: Any, value: Any) -> Any:
        return self._atomic(array, index, lambda old: self._larger("greater", value, old))

    def atomic_min(self, array: Any, index: Any, value: Any) -> Any:
        return self._atomic(array, index, lambda old: self._larger("less", value, old))

    def _larger(self, order: str, value: Any, old: Any) -> Any:
        """The value where it goes before the old one, else the old one, which then is not written anew."""
        return self.choose(self.compare_kind(order, value, old), lambda: value, lambda: old)

    def _atomic(self, array: Any, index: Any, new: Callable[[Any], Any]) -> Any:
        self.running("atomic")
        old = self.get_item(array, index)
        self.set_item(array, index, new(old))
        return old

    # The host's side

    def to_device(self, obj: Any, stream: Any = None, copy: Any = None, to: Any = NONE) -> Any:
        """`cuda.to_device(x)`: a copy, where the kernel may write."""
        del stream, copy
        if not is_none(to):
            self.set_item(to, Static(Ellipsis), obj)
            return to
        return self.fresh(self.array(obj), "C")

    def device_array(self, shape: Any, dtype: Any = Static(float), strides: Any = NONE, order: Any = Static("C"),
                     **_: Any) -> Any:  # fmt: skip
        """`cuda.device_array(shape)`."""
        if not is_none(strides):
            raise self.unsupported("DJ118", "strides of cuda.device_array", None, "leave them out")
        return self.np_empty("empty", shape, self.dtype_word(dtype), order)

    def between_sides(self, array: Any, name: str, other: Any = NONE, stream: Any = None) -> Any:
        """`d.copy_to_host()`, `d.copy_to_host(into)`, `d.copy_to_device(source)`."""
        del stream
        if name == "copy_to_host" and is_none(other):
            return self.fresh(self.array(array), "C")
        into, source = (other, array) if name == "copy_to_host" else (array, other)
        self.set_item(into, Static(Ellipsis), source)
        return into if name == "copy_to_host" else NONE

    def device_array_like(self, ary: Any, **_: Any) -> Any:
        return self.np_empty_like(ary)

    def needs_nothing(self, *_: Any, **__: Any) -> Any:
        """What needs no waiting for: streams, and their ends."""
        return _ZERO


_PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_METHODS = {
    "grid": "cuda_grid", "gridsize": "cuda_gridsize", "local.array": "local_array", "shared.array": "shared_array",
    "syncthreads": "barrier_elsewhere", "const.array_like": "array", "atomic.add": "atomic_add",
    "atomic.sub": "atomic_sub", "atomic.max": "atomic_max", "atomic.min": "atomic_min", "to_device": "to_device",
    "device_array": "device_array", "pinned_array": "device_array", "mapped_array": "device_array",
    "managed_array": "device_array", "device_array_like": "device_array_like",
    "pinned_array_like": "device_array_like", "mapped_array_like": "device_array_like", "synchronize": "needs_nothing",
    "stream": "needs_nothing", "default_stream": "needs_nothing", "per_thread_default_stream": "needs_nothing",
}  # fmt: skip


def _forall(kernel: Any) -> av.Partial:
    return av.Partial(Static(Word("forall")), (Static(kernel),), {})


def _is_one(value: Any) -> bool:
    return isinstance(value, Static) and value.obj == 1
