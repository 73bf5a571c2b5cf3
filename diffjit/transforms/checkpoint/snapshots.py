"""Snapshots of a loop's state, on a stack from which any may be taken out.

push     a place, of one that was given back or a new one; `previous` leads to the snapshot before it
drop     a snapshot from the middle: the one after it now follows the one before it
save     the state before a step into a place
load     the state from there
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.checks import fitting
from diffjit.ir.nodes import Block, Function, Value, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym, Type
from diffjit.ir.walk import clone_op, has_exit, initial, walk
from diffjit.transforms.checkpoint.timeloop import BUDGET, TimeLoop, overlap
from diffjit.transforms.outlined import clone_silently

Results = Callable[[], list[Value]]
COUNTERS = 24  # bytes that a snapshot takes beside the state


@dataclass(slots=True, eq=False)
class Storage:
    """Room for snapshots: numbers of one type in the rows of one array, an array for each array of the state."""

    packs: dict[np.dtype[Any], Value] = field(default_factory=dict[np.dtype[Any], Value])
    arrays: list[Value] = field(default_factory=list[Value])
    places: Value = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] - steps that they stand before
    previous: Value = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] - the one below; or the next spare

    def values(self) -> list[Value]:
        """All of it, in a fixed order."""
        return [*self.packs.values(), *self.arrays, self.places, self.previous]


@dataclass(slots=True, eq=False)
class Held:
    """Which places hold a snapshot: a stack and a list of spare ones, both linked through `previous`."""

    taken: Value  # how many snapshots there are
    top: Value  # the place of the last one
    spare: Value  # a place that was given back, if `taken` is less than `fresh`
    fresh: Value  # how many places have ever been used

    def values(self) -> list[Value]:
        """All of it, in a fixed order."""
        return [self.taken, self.top, self.spare, self.fresh]


HELD = ("taken", "top", "spare", "fresh")


class Steps:
    """The steps of one loop, and snapshots of their state, in a function that is built."""

    def __init__(self, made: TimeLoop) -> None:
        self.made = made
        self.loop, self.body = made.loop, made.loop.regions[0]
        self.build = Builder()
        self.mapping: dict[Value, Value] = {}
        self.memory = analyses(made.function).memory
        self.args = self.body.args[1:]
        read = {v for values in reads(self.body) for v in values}
        self.live = live = [k for k, a in enumerate(self.args) if a in read]  # others are new in each step
        self.numbers = [k for k in live if isinstance(self.args[k].type, Scalar)]
        self.carried = [k for k in live if isinstance(self.args[k].type, Array)]
        self.restored = [v for v in made.memories if self._is_read(v)]
        self.quiet = False  # a step that is run again prints nothing

    def _is_read(self, v: Value) -> bool:
        """Whether steps read what earlier ones have written: an array of results need not be restored."""
        for op in walk(self.body):
            for k, i in enumerate(op.inputs):
                if not isinstance(i.type, Array) or self.memory.find(i) != self.memory.find(v):
                    continue
                if not (op.row.reads is Reads.LENGTHS or is_view(op) or (op.kind in _PLAIN and k in op.row.writes)):
                    return True
                if op.kind in _PLAIN and k != 0:
                    return True
        return False

    def is_new(self, k: int) -> bool:
        """Whether an array that is carried is made anew in each step, without a look at the last one."""
        return k not in self.live and isinstance(self.args[k].type, Array)

    # Pieces

    def begin(self, name: str) -> Function:
        """A function with the loop's parameters, and what stands before the loop."""
        f = self.made.function
        self.mapping = {}
        params = [Value(p.type, p.name) for p in f.params]
        self.mapping.update(zip(f.params, params, strict=True))
        made = Function(name, params, Block(), "", f.source_file, f.source_line, f.lines)
        made.writes, made.returns_views = frozenset(), frozenset()
        self.build = Builder(made.body)
        for op in f.body.ops:
            if op is self.loop:
                break
            clone_op(op, self.mapping, made.body)
        self.build.loc = self.loop.loc
        return made

    def of(self, v: Value) -> Value:
        """A value of the loop's function in the one that is built."""
        return self.mapping.get(v, v)

    def int(self, kind: str, a: Value, b: Value, name: str | None = None) -> Value:
        """Arithmetic on counters."""
        return self.build.value(kind, [a, b], INT, nowrap=True, name=name)

    def less(self, a: Value, b: Value) -> Value:
        """a < b."""
        return self.build.value("less", [a, b], BOOL)

    def branch(self, cond: Value, action: Any) -> None:
        """Do something under a condition."""
        then = Block()
        with self.build.inside(then):
            action()
        self.build.op("if", [cond], regions=[then, Block()])

    def choose(self, cond: Value, then: Results, other: Results, types: Sequence[Type]) -> list[Value]:
        """What one of two pieces of code computes."""
        sides = [Block(), Block()]
        for side, action in zip(sides, (then, other), strict=True):
            with self.build.inside(side):
                side.results = action()
        return self.build.op("if", [cond], types, regions=sides).outputs

    def repeat(
        self,
        first: Sequence[Value],
        names: Sequence[str | None],
        cond: Callable[[list[Value]], Value],
        step: Callable[[list[Value]], list[Value]],
        state: int = 0,
    ) -> list[Value]:
        """A `while` loop. With `state`, what the loop itself carries is handed on, from this position."""
        types = [v.type for v in first]
        if state:
            types[state : state + len(self.args)] = [a.type for a in self.args]
        test, body = (Block([Value(ty, name) for ty, name in zip(types, names, strict=True)]) for _ in range(2))
        with self.build.inside(test):
            test.results = [cond(test.args)]
        with self.build.inside(body):
            body.results = step(body.args)
        return self.build.op("while", first, types, regions=[test, body], exit=False).outputs

    def read(self, array: Value, slot: Value) -> Value:
        """An entry of an array of counters."""
        found = self.build.value("load", [array, slot], Scalar(np.dtype(np.int64)), **fitting(array, "snapshots"))
        return self.build.value("cast", [found], INT)

    def write(self, array: Value, slot: Value, v: Value) -> None:
        """Set an entry of an array of counters."""
        self.build.op("store", [array, v, slot], **fitting(array, "snapshots"))

    def index(self, k: Value) -> Value:
        """The loop's counter in iteration k."""
        start, _, step = (self.of(b) for b in self.loop.inputs[:3])
        return self.int("add", start, self.int("multiply", k, step))

    def step(self, k: Value, carried: list[Value]) -> tuple[Value | None, list[Value]]:
        """One step; whether it leaves the loop, and what it hands on."""
        mapping = dict(self.mapping)
        mapping[self.body.args[0]] = self.index(k)
        mapping.update(zip(self.args, carried, strict=True))
        for op in self.body.ops:
            if self.quiet:
                clone_silently(op, mapping, self.build.block)
            else:
                clone_op(op, mapping, self.build.block)
        results = [mapping.get(v, v) for v in self.body.results]
        skip = has_exit(self.loop)
        return (results[0] if skip else None), results[skip:]

    def run(self, start: Value, stop: Value, carried: list[Value], *, ends: bool) -> list[Value]:
        """The steps from one to another. With `ends`, also how many ran and whether the loop was left."""
        block = Block([Value(INT, "t"), *(Value(a.type, a.name) for a in self.args)])
        extra = [self.build.const(0), self.build.const(False)] if ends else []
        with self.build.inside(block):
            leave, nexts = self.step(block.args[0], block.args[1:])
            block.results = nexts
            if ends:
                ran = Value(INT, "ran")
                block.args += [ran, Value(BOOL, "left")]
                assert leave is not None
                block.results = [leave, *nexts, self.int("add", ran, self.build.const(1)), leave]
        op = self.build.op(
            "for", [start, stop, self.build.const(1), *carried, *extra], [a.type for a in block.args[1:]],
            regions=[block], exit=ends, reverse=False,
        )  # fmt: skip
        for out, arg in zip(op.outputs, block.args[1:], strict=True):
            out.name = arg.name
        return op.outputs

    # Snapshots

    def room(self, n: Value, carried: list[Value]) -> Value:
        """How many snapshots fit, beside the state before the last step, with which the way back begins."""
        kind, amount = self.loop.attrs[BUDGET]
        most = self.build.const(amount)
        if kind == "bytes":
            size = self.build.const(COUNTERS + sum(self.args[k].type.dtype.itemsize for k in self.numbers))
            for v in [*(carried[k] for k in self.carried), *map(self.of, self.restored)]:
                held = self.build.const(v.type.dtype.itemsize)
                for axis in range(v.type.ndim):
                    held = self.int("multiply", held, self.build.value("dim", [v], INT, axis=axis))
                size = self.int("add", size, held)
            most = self.int("subtract", self.int("floor_divide", most, size), self.build.const(1))
        fit = self.build.value("minimum", [most, n], INT)
        return self.build.value("maximum", [fit, self.build.const(1)], INT)

    def allocate(self, room: Value, carried: list[Value]) -> Storage:
        """Memory for snapshots."""
        storage, slots = Storage(), Sym()
        for dtype in dict.fromkeys(self.args[k].type.dtype for k in self.numbers):
            width = self.build.const(len(self._row(dtype)))
            ty = Array(dtype, (slots, Sym()), "C")
            storage.packs[dtype] = self.build.value("empty", [room, width], ty, order="C", name="snapshots")
        for v in [*(carried[k] for k in self.carried), *map(self.of, self.restored)]:
            lengths = [self.build.value("dim", [v], INT, axis=axis) for axis in range(v.type.ndim)]
            ty = Array(v.type.dtype, (slots, *v.type.dims), "C")
            name = f"{v.name}_snapshots" if v.name else None
            storage.arrays.append(self.build.value("empty", [room, *lengths], ty, order="C", name=name))
        storage.places, storage.previous = (
            self.counters(room, "taken_at", slots),
            self.counters(room, "previous", slots),
        )
        return storage

    def counters(self, room: Value, name: str, slots: Sym | None = None) -> Value:
        """An integer for each place."""
        ty = Array(np.dtype(np.int64), (slots or Sym(),), "C")
        return self.build.value("empty", [room], ty, order="C", name=name)

    def nothing(self) -> Held:
        """No snapshot."""
        zero = self.build.const(0)
        return Held(zero, zero, zero, zero)

    def push(self, storage: Storage, held: Held) -> Held:
        """A place on top, for the next snapshot."""
        build, one = self.build, self.build.const(1)
        again = self.less(held.taken, held.fresh)
        slot = build.value("select", [again, held.spare, held.fresh], INT, name="top")
        spare = build.value("select", [again, self.read(storage.previous, held.spare), held.spare], INT, name="spare")
        fresh = build.value("select", [again, held.fresh, self.int("add", held.fresh, one)], INT, name="fresh")
        self.write(storage.previous, slot, held.top)
        return Held(self.int("add", held.taken, one), slot, spare, fresh)

    def pop(self, storage: Storage, held: Held, cond: Value) -> Held:
        """Under a condition, the last snapshot's place becomes a spare one."""
        build = self.build
        below = self.read(storage.previous, held.top)
        self.write(storage.previous, held.top, build.value("select", [cond, held.spare, below], INT))
        less = self.int("subtract", held.taken, build.const(1))
        taken = build.value("select", [cond, less, held.taken], INT, name="taken")
        top = build.value("select", [cond, below, held.top], INT, name="top")
        return Held(taken, top, build.value("select", [cond, held.top, held.spare], INT, name="spare"), held.fresh)

    def drop(self, storage: Storage, held: Held, above: Value) -> Held:
        """The place below one becomes a spare one."""
        slot = self.read(storage.previous, above)
        self.write(storage.previous, above, self.read(storage.previous, slot))
        self.write(storage.previous, slot, held.spare)
        return Held(self.int("subtract", held.taken, self.build.const(1)), held.top, slot, held.fresh)

    def _row(self, dtype: np.dtype[Any]) -> list[int]:
        return [k for k in self.numbers if self.args[k].type.dtype == dtype]

    def _stored(self, array: Value, slot: Value, like: Value) -> Value:
        ty = Array(array.type.dtype, like.type.dims, "C")
        return self.build.value(
            "view", [array, slot], ty, spec=("i", *(":" for _ in like.type.dims)), **fitting(array, "snapshots")
        )

    def save(self, storage: Storage, slot: Value, at: Value, carried: list[Value]) -> None:
        """Take a snapshot."""
        self.write(storage.places, slot, at)
        for dtype, pack in storage.packs.items():
            for j, k in enumerate(self._row(dtype)):
                self.build.op("store", [pack, carried[k], slot, self.build.const(j)], **fitting(pack, "snapshots"))
        self.refuse_overlaps(carried)
        arrays = iter(storage.arrays)
        for k in self.carried:
            array = next(arrays)
            self._refuse_length(array, carried[k], known=not _is_undefined(initial(self.loop)[k]))
            self.build.op("assign", [self._stored(array, slot, self.args[k]), carried[k]])
        for v, array in zip(self.restored, arrays, strict=True):
            self.build.op("assign", [self._stored(array, slot, v), self.of(v)])

    def _refuse_length(self, array: Value, v: Value, *, known: bool) -> None:
        """A snapshot has the lengths that the array had at first. `known`: types say what is known of them."""
        wrong: Value | None = None
        for axis, (a, b) in enumerate(zip(array.type.dims[1:], v.type.dims, strict=True)):
            if a == b and known:
                continue
            found = [self.build.value("dim", [x], INT, axis=axis + d) for x, d in ((array, 1), (v, 0))]
            other = self.build.value("not_equal", found, BOOL)
            wrong = other if wrong is None else self.build.value("logical_or", [wrong, other], BOOL)
        if wrong is not None:
            text = f"a checkpointed loop changes the shape of `{v.name or 'an array'}` that it carries [DJ406]"
            self.build.raise_where(wrong, ValueError, text)

    def refuse_overlaps(self, carried: list[Value]) -> None:
        """Arrays that a step changes are restored one by one: no two of them may be one at the start of a step."""
        for j, k in enumerate(self.carried):
            for other in self.carried[:j]:
                a, b = self.args[k], self.args[other]
                if self.memory.find(a) == self.memory.find(b) and self.memory.written(a):
                    overlap(self.build, carried[k], carried[other])

    def load(self, storage: Storage, slot: Value) -> list[Value]:
        """Go back to a snapshot."""
        carried: dict[int, Value] = {}
        for dtype, pack in storage.packs.items():
            for j, k in enumerate(self._row(dtype)):
                v = self.build.value(
                    "load", [pack, slot, self.build.const(j)], Scalar(dtype), **fitting(pack, "snapshots")
                )
                ty = self.args[k].type
                carried[k] = v if v.type == ty else self.build.value("cast", [v], ty)
        arrays = iter(storage.arrays)
        for k in self.carried:
            view, ty = self._stored(next(arrays), slot, self.args[k]), self.args[k].type
            carried[k] = self.build.value("copy", [view], ty, order="C" if ty.layout == "A" else ty.layout)
        for v, array in zip(self.restored, arrays, strict=True):
            self.build.op("assign", [self.of(v), self._stored(array, slot, v)])
        first = initial(self.loop)
        return [carried[k] if k in carried else self.of(first[k]) for k in range(len(self.args))]


_PLAIN = frozenset({"store", "assign", "scatter", "mask_set", "leave"})


def reads(block: Block) -> list[list[Value]]:
    """What a block reads."""
    found = [list(block.results)]
    for op in block.ops:
        found.append(list(op.inputs))
        for region in op.regions:
            found += reads(region)
    return found


def _is_undefined(v: Value) -> bool:
    return v.op is not None and v.op.kind == "undef"
