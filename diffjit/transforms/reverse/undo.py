"""An undo log: the way back puts back what stores have overwritten, last to first, so that elements are read again.

    for t in range(n):                           for t in reversed(range(n)):
        for i in range(1, u.size - 1):               for i in reversed(range(1, u.size - 1)):
            u_tape[t, i - 1] = u[i]                      u[i] = u_tape[t, i - 1]
            u[i] = u[i] + k * u[i - 1] * u[i + 1]        ... reads u[i - 1] and u[i + 1] as they were

One number is recorded for each store, in place of one for each read. Whether that is less is for the minimum cut to
say: what a store overwrites is one more value that can be recorded, and elements can be computed from it.

Memory whose stores are undone
- is the program's own: callers do not see it, no result shares it, no list or tape holds it;
- is made before all loops, so that it is at hand at every point of the way back;
- is read, on the way back, at the mirror image of a place behind the read: there it holds what it held on the way
  there, if all writes that may have changed it in between have been undone. Elements that are needed while such a
  write has not yet been undone are `late`, and are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from diffjit.analysis.integers.dependence import access
from diffjit.analysis.memory import Memory
from diffjit.ir.aliases import held
from diffjit.ir.checks import relying
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, is_pure, is_view
from diffjit.ir.types import Array, Scalar, is_ref
from diffjit.ir.walk import walk

Path = dict[Block, int]


class Undo:
    """The stores of a function that the way back may undo, and the reads that are possible again for that."""

    def __init__(self, function: Function, memory: Memory, one_memory: Memory, results: Sequence[Value]) -> None:
        self.memory, self.order = memory, memory.order
        self.overwritten: dict[Op, Value] = {}  # store -> stands for what it overwrites
        self.reads: dict[Value, list[Op]] = {}  # an element that was read -> the stores that may change it later
        self.late: set[Value] = set()
        self.store_of: dict[Value, Op] = {}
        self.lent: set[Any] = set()  # classes of memory that cotangents may refer to
        self._find(function, one_memory, results)

    def _find(self, function: Function, one_memory: Memory, results: Sequence[Value]) -> None:
        seen = {one_memory.find(v) for v in (*function.params, *results) if is_ref(v.type)}
        loads: list[Op] = []
        for op in walk(function.body):
            inside = held(op)
            if inside is not None:
                seen.add(one_memory.find(inside))
            if op.kind == "load" and self.order.places[op].loops:
                loads.append(op)
        for op in loads:
            array = op.inputs[0]
            if one_memory.find(array) in seen or not self._at_hand(array):
                continue
            writes = list(self.memory.changing(array, op))
            if writes and all(map(self._is_store, writes)):
                self.reads[op.out] = writes
        for op in dict.fromkeys(op for writes in self.reads.values() for op in writes):
            old = Value(Scalar(op.inputs[0].type.dtype))
            old.block = self.order.places[op].path[-1][0]
            old.op = Op("load", [op.inputs[0], *op.inputs[2:]], [old], loc=op.loc)
            self.overwritten[op] = old
            self.store_of[old] = op

    def _is_store(self, op: Op) -> bool:
        return op.row.element and self._at_hand(op.inputs[0]) and op.inputs[0].type.dtype.kind in "biufc"

    def _at_hand(self, array: Value) -> bool:
        """Whether memory is made in the function's own block, and nowhere joined with other memory."""
        root = access(array.op, array, []).root if array.op is not None else array
        op = root.op
        fresh = op is not None and len(op.outputs) == 1 and is_pure(op) and not is_view(op) and not op.row.meets
        return fresh and root.block is not None and self.order.parent[root.block] is None

    def lend(self, wanted: Value) -> None:
        """A cotangent may refer to memory of the way there: later, it would find there what has been put back."""
        while wanted.op is not None and (is_view(wanted.op) or wanted.op.kind == "stop_gradient"):
            wanted = wanted.op.inputs[0]
        if isinstance(wanted.type, Array):
            self.lent.add(self.memory.find(wanted))

    # What is done about it

    def stands_for(self, v: Value) -> bool:
        """Whether a value is what some store overwrites."""
        return v in self.store_of

    def again(self, v: Value) -> list[Value] | None:
        """What must have been recorded for an element to be read again where it is needed."""
        writes = self.reads.get(v)
        if writes is None or v in self.late or not all(op in self.overwritten for op in writes):
            return None
        return [self.overwritten[op] for op in writes]

    def touches(self, store: Op) -> bool:
        """Whether stores to this memory are undone, so that it does not hold its final values all along."""
        cls = self.memory.find(store.inputs[0])
        return any(self.memory.find(op.inputs[0]) is cls for op in self.overwritten)

    def only(self, stores: Callable[[Op], bool]) -> None:
        """Undo no others."""
        self.overwritten = {op: old for op, old in self.overwritten.items() if stores(op)}

    def begin(self) -> dict[Op, Op]:
        """What is overwritten is read right before its store: the read tests the index, and the store relies on it."""
        found: dict[Op, Op] = {}
        for store, old in self.overwritten.items():
            assert old.op is not None
            known = relying(store, "undone")
            if CHECKS in store.attrs and known.get("inbounds") in store.attrs[CHECKS]:
                old.op.attrs[CHECKS] = store.attrs.pop(CHECKS)
                store.attrs |= known
            else:
                old.op.attrs |= known
            found[store] = old.op
        return found

    def look(self, top: Block, mirrored: dict[Block, Block], operands: Callable[[Value], list[Value] | None]) -> None:
        """Find out which stores are undone at all, and which elements are needed too early.

        `mirrored`: the image of each block; `top`, the outermost one, has placeholders for stores and wanted values.
        """
        places: dict[Op, Path] = {}
        _place(top, {}, places)
        marks = {op.attrs["store"]: path for op, path in places.items() if op.kind == "undo"}
        self.only(lambda op: op in marks and self.memory.find(op.inputs[0]) not in self.lent)
        visited: set[Value] = set()
        for op, path in places.items():
            pending = needed(op)
            while pending:
                v = pending.pop()
                if v in visited:
                    continue
                visited.add(v)
                if v in self.reads and self._is_late(v, path, mirrored, marks):
                    self.late.add(v)
                pending += operands(v) or ()

    def _is_late(self, v: Value, path: Path, mirrored: dict[Block, Block], marks: dict[Op, Path]) -> bool:
        """Whether a write behind a read, in its iteration, is undone only after what was read is first needed."""
        assert v.op is not None
        assert v.block is not None
        image = mirrored[v.block]
        for store in self.reads[v]:
            behind = self.order.later(v.op, store) and any(b is v.block for b, _ in self.order.places[store].path)
            if behind and not (store in marks and marks[store][image] < path[image]):
                return True
        return False


def needed(op: Op) -> list[Value]:
    """The values of the way there that a placeholder stands for, or needs."""
    if op.kind == "kept":
        return [op.attrs["of"]]
    if op.kind == "undo":
        store: Op = op.attrs["store"]
        return [store.inputs[0], *store.inputs[2:]]
    return []


def _place(block: Block, path: Path, places: dict[Op, Path]) -> None:
    for k, op in enumerate(block.ops):
        here = {**path, block: k}
        if op.kind in ("kept", "undo"):
            places[op] = here
        for region in op.regions:
            _place(region, here, places)
