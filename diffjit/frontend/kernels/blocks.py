"""Blocks of threads that wait for one another: phase by phase, thread by thread (`kernels.phases`).

What a thread keeps from one phase to another has an array with an element for each thread of the block. Which types
these have is found out by interpreting the kernel once as if each thread ran it alone, which leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.frontend.entry.subset import assigned_names
from diffjit.frontend.kernels.phases import Phase, exposures
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import Joiner
from diffjit.frontend.values.leaves import convert, instantiate, leaf_types
from diffjit.frontend.values.templates import Bad, Const, Leaf, MaybeT, Node, OptT, Side, forget_values
from diffjit.frontend.values.values import NONE, UNBOUND, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, Array, Scalar


@dataclass(slots=True, eq=False)
class Kept:
    """What the threads of a block keep."""

    frame: int  # of the kernel
    alone: bool  # while the types are found out
    forms: dict[str, Any] = field(default_factory=dict)  # of variables
    memory: dict[Any, tuple[Any, Any]] = field(default_factory=dict)  # calls of local.array -> shapes and dtypes
    arrays: dict[Any, list[Value]] = field(default_factory=dict)  # of variables and local memory: one a leaf
    done: Value | None = None  # which threads have left the kernel
    within: bool = False  # whether a thread is interpreted


class Blocks(Mixin):
    """Mixin of the interpreter: kernels with barriers and shared memory."""

    noted: Any = None  # what a kernel's variables are bound to, while that is found out

    def run_blocks(self, launch: Any, fn: Any, args: list[Any]) -> None:
        """All blocks, one after the other."""
        found = self._types_of(launch, fn, args)

        def block() -> None:
            with self.entered(fn, self.bind_arguments(fn, list(args), {}, launch.node), launch.node) as frame:
                launch.kept = Kept(frame.uid, False, found.forms, found.memory)
                self._make_arrays(launch)
                self.exec_block(launch.plan.body)
                self.refuse_result(fn, self.returned(frame), launch.node)

        self.over_grid("block", launch.grid, launch.block_at, block)

    def _types_of(self, launch: Any, fn: Any, args: list[Any]) -> Kept:
        """What threads keep, by a run in which each is alone."""
        cells, build, first = dict(self.cells), self.build.block, len(self.build.block.ops)
        outer = self.noted

        def thread() -> None:
            with self.entered(fn, self.bind_arguments(fn, list(args), {}, launch.node), launch.node) as frame:
                launch.kept = self.noted = Kept(frame.uid, True, forms, memory, within=True)
                for name in sorted(launch.plan.given):
                    self.note_binding(name, self.cells["v", frame.uid, name])
                self.exec_block(fn.node.body)
                self.refuse_result(fn, self.returned(frame), launch.node)

        forms: dict[str, Any] = {}
        memory: dict[Any, tuple[Any, Any]] = {}
        try:
            self.over_grid("block alone", launch.grid, launch.block_at,
                      lambda: self.over_grid("thread alone", launch.block, launch.thread_at, thread))  # fmt: skip
        finally:
            self.noted = outer
            self.cells, self.dead = cells, False
            del build.ops[first:]
        return Kept(0, True, forms, memory)

    def note_binding(self, name: str, value: Any) -> None:
        """A variable of a kernel has been given a value, while types are found out."""
        plan = self.launches[-1].plan
        if self.noted.frame != self.frames[-1].uid or name not in plan.kept:
            return
        forms, joiner = self.noted.forms, Joiner(self.cells, self.cells, self.sites)
        first = UNBOUND if name in plan.unsure else value
        form = joiner.merge(joiner.merge(forms.get(name, first), value), value)
        problem = _cannot_be_kept(form)
        if problem:
            message = f"`{name}` is {problem}, and a thread keeps it over a barrier"
            cure = "keep numbers and tuples of them, or make it again behind the barrier"
            raise self.unsupported("DJ136", message, None, cure)
        forms[name] = forget_values(form)

    # Memory

    def _make_arrays(self, launch: Any) -> None:
        """Memory for what the threads of a block keep."""
        kept, lengths = launch.kept, self._lengths(launch)
        for name, form in kept.forms.items():
            types = [ty for ty in leaf_types(form) if isinstance(ty, Scalar)]
            kept.arrays[name] = [self.empty(lengths, ty.dtype, kind="zeros") for ty in types]
        side = Side(self.cells, self.build, self.sites)
        for name in sorted(launch.plan.given & kept.forms.keys()):
            value = self.cells.pop(("v", kept.frame, name))
            for array, leaf in zip(kept.arrays[name], convert(value, kept.forms[name], side), strict=True):
                self.assign_array(array, leaf)
        for place, (shape, dtype) in kept.memory.items():
            kept.arrays[place] = [self.empty([*lengths, *map(Static, shape)], dtype, kind="zeros")]
        if launch.plan.returns:
            kept.done = self.empty(lengths, BOOL.dtype, kind="zeros")

    def _axes(self, launch: Any) -> list[int]:
        """The axes along which a block has several threads, the last first."""
        sizes = launch.block
        return [k for k in (2, 1, 0) if not (isinstance(sizes[k], Static) and sizes[k].obj == 1)] or [0]

    def _lengths(self, launch: Any) -> list[Any]:
        return [launch.block[k] for k in self._axes(launch)]

    def _own(self, launch: Any) -> av.Tup:
        """The index of a thread's own element."""
        return av.Tup(tuple(launch.thread_at[k] for k in self._axes(launch)))

    def linear_thread(self, node: Any = None) -> Any:
        """The number of a thread within its warp."""
        at = [self.place_in_grid("threadIdx", k, node) for k in range(3)]
        sizes = [self.place_in_grid("blockDim", k, node) for k in range(3)]
        number = self.ew(
            "add", at[0], self.ew("multiply", sizes[0], self.ew("add", at[1], self.ew("multiply", sizes[1], at[2])))
        )
        return self.ew("remainder", number, Static(32))

    def shared_array(self, shape: Any, dtype: Any) -> Any:
        """`cuda.shared.array(shape, dtype)`: memory of a block."""
        launch = self.running("shared.array")
        if launch.plan is None or id(self.here) not in launch.plan.shared:
            message = "shared memory is made once for a block: as a statement of its own, `sm = cuda.shared.array(...)`"
            raise self.unsupported(
                "DJ135", message, None, "move it to the top of the kernel, out of branches and loops"
            )
        dtype = self.dtype_word(dtype)
        if isinstance(shape, Static) and shape.obj == 0:
            self._refuse_parts(launch)
            shape = self.ew("floor_divide", launch.shared_bytes, Static(self.dtype_of(dtype).itemsize))
        return self.memory(shape, dtype)

    def _refuse_parts(self, launch: Any) -> None:
        if len(launch.plan.shared) > 1:
            message = "dynamic shared memory beside other shared memory: its parts may be one"
            raise self.unsupported("DJ135", message, None, "give each shared array its size")

    def local_array(self, shape: Any, dtype: Any) -> Any:
        """`cuda.local.array(shape, dtype)`: memory of one thread."""
        launch = self.running("local.array")
        place = id(self.here)
        if launch.plan is None or all(id(s.value) != place for _, s, _ in launch.plan.again):
            return self.memory(shape, dtype)
        if launch.kept.alone:
            made = self.memory(shape, dtype)
            if not all(isinstance(d, int) for d in made.type.dims):
                message = "the size of local memory must be known before the program runs"
                raise self.unsupported("DJ135", message, None, "make it a constant")
            launch.kept.memory[place] = made.type.dims, made.type.dtype
            return made
        return self.array_get(launch.kept.arrays[place][0], self._own(launch))

    # Phases

    def barrier_elsewhere(self) -> Any:
        """A barrier that the kernel was not cut at."""
        launch = self.running("syncthreads")
        if launch.plan is not None and launch.kept.alone and self.frames[-1].uid == launch.kept.frame:
            return NONE
        message = "a barrier inside of a function that the kernel calls, or of an expression"
        raise self.unsupported("DJ135", message, None, "make it a statement of the kernel itself")

    def outside_of_threads(self, launch: Any, what: str, node: Any) -> None:
        """What is computed once for a block must not ask for a thread."""
        if launch.flat is None and not launch.kept.within and what != "blockIdx":
            message = f"`cuda.{what}` where all threads of a block do the same"
            raise self.unsupported(
                "DJ135", message, node, "compute what differs between threads in a statement of its own"
            )

    def exec_Phase(self, phase: Phase) -> None:
        """Statements between two barriers, for each thread."""
        launch = self.launches[-1]
        key = ("thread", id(phase))
        launch.kept.within = True
        try:
            self.over_grid(key, launch.block, launch.thread_at, lambda: self._one_thread(launch, phase))  # type: ignore[arg-type]
        finally:
            launch.kept.within = False

    def _one_thread(self, launch: Any, phase: Phase) -> None:
        if launch.kept.done is None:
            self._thread_of(launch, phase)
            return
        gone = self.array_get(launch.kept.done, self._own(launch))
        self.when(self.logical_not(gone), lambda: self._thread_of(launch, phase))

    def _thread_of(self, launch: Any, phase: Phase) -> None:
        kept, plan, frame = launch.kept, launch.plan, self.frames[-1]
        changed, certain = assigned_names(phase.body), set[str]()
        first = exposures(phase.body, certain) | (changed - certain)
        again = self._repeated(plan, phase, first)
        self.exec_block([s for _, s in again])
        for name in sorted(first & kept.forms.keys()):
            leaves = iter([self._loaded(launch, a, ty) for a, ty in self._leaves(kept, name)])
            self.cells["v", frame.uid, name] = instantiate(kept.forms[name], leaves, self.cells)
        self.exec_block(phase.body)
        self.unless_jumped(lambda: self._store(launch, sorted(changed & kept.forms.keys())))
        left = self.flag_value(self.cells.pop(("jump", "return", frame.uid), Static(False)))
        self.refuse_result(frame.fn, self.cells.pop(("ret", frame.uid), NONE), launch.node)
        if kept.done is not None and not (isinstance(left, Static) and not left.obj):
            self.array_set(kept.done, self._own(launch), left)
        for name in changed | first & kept.forms.keys() | {n for names, _ in again for n in names}:
            self.cells.pop(("v", frame.uid, name), None)

    def _repeated(self, plan: Any, phase: Phase, first: set[str]) -> list[tuple[frozenset[str], Any]]:
        """The assignments that a phase repeats: those whose names it reads, and what they read."""
        wanted, found = set(first), []
        for home, s, names in reversed(plan.again):
            if home is not phase and names & wanted:
                wanted |= exposures([s], set())
                found.append((names, s))
        return found[::-1]

    def _leaves(self, kept: Kept, name: str) -> Iterator[tuple[Value, Scalar]]:
        yield from zip(kept.arrays[name], (t for t in leaf_types(kept.forms[name])), strict=True)  # type: ignore[misc]

    def _loaded(self, launch: Any, array: Value, ty: Scalar) -> Any:
        value = self.array_get(array, self._own(launch))
        return self.cast(value, ty.dtype, weak=True) if ty.weak else value

    def _store(self, launch: Any, names: list[str]) -> None:
        side = Side(self.cells, self.build, self.sites)
        for name in names:
            value = self.cells.get(("v", self.frames[-1].uid, name), UNBOUND)
            form = launch.kept.forms[name]
            if isinstance(value, av.Maybe) and not isinstance(form, MaybeT):
                value = value.value  # where it has none, none is read
            leaves = convert(value, form, side)
            for array, leaf in zip(launch.kept.arrays[name], leaves, strict=True):
                self.array_set(array, self._own(launch), leaf)


def _cannot_be_kept(form: Any) -> str:
    """What a variable is that has no place in arrays of numbers; "" where it has."""
    match form:
        case Leaf():
            return "an array" if isinstance(form.type, Array) else "" if isinstance(form.type, Scalar) else "a list"
        case Node():
            return next(filter(None, map(_cannot_be_kept, form.children)), "")
        case MaybeT() | OptT():
            return "" if form.inner is None else _cannot_be_kept(form.inner)
        case Const():
            return ""
        case Bad():
            return form.reason
        case _:
            return "an object"
