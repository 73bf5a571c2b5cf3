"""What recording and recomputing cost, and what a value can be recomputed from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Op, Value, const_of, is_const, is_view
from diffjit.ir.ops import Cost
from diffjit.ir.types import Array, Scalar

if TYPE_CHECKING:
    from diffjit.transforms.reverse.keep import Keeper


def is_cheap(op: Op) -> bool:
    """Whether an elementwise operation takes no longer than reading a number that was recorded."""
    return op.row.by_element and op.row.cost <= Cost.SLOW


def is_dear(op: Op) -> bool:
    """Whether an elementwise operation takes much longer than a few products."""
    if op.kind == "power" and const_of(op.inputs[1]) in (2, 3, 0.5, -1):
        return False
    return op.row.by_element and not is_cheap(op)


@dataclass(slots=True, eq=False)
class Settled:
    """An array that does not change while a loop runs, so that one copy before the loop serves all that it reads."""

    array: Value
    loop: Op
    copy: Value  # stands for the copy while it is not decided that there is one


class Policy:
    """What recomputing and recording cost."""

    def __init__(self, keeper: Keeper) -> None:
        self.order, self.memory = keeper.order, keeper.memory
        self.keeper = keeper
        self.bounds, self.running = keeper.bounds, keeper.bounds.running
        self.stores: dict[Value, list[Op]] = {}
        self.found: dict[Value, Op | None] = {}  # answers of `stored`
        self.settled: dict[Value, Settled | None] = {}  # answers of `snapshot`
        self.copies: dict[tuple[Value, Op], Settled] = {}
        self.computed: set[tuple[str, Value]] = set()  # functions of numbers that the way back computes itself
        self.times: dict[Block, int] = {}  # answers of `often`
        for op in self.order.places:
            if op.kind == "store":
                self.stores.setdefault(op.inputs[1], []).append(op)

    def operands(self, v: Value) -> list[Value] | None:
        """The values that a value is computed from again, none for one at hand; None: it must be recorded."""
        if self.keeper.in_scope(v) or v in self.keeper.exported or self.order.counted_by(v) is not None:
            return []
        undo = self.keeper.undo
        if undo is not None and undo.stands_for(v):
            return None
        running = self.running.of(v)
        if running is not None:
            return running.operands(final=v.op is not None)
        op = v.op
        if op is None or len(op.outputs) != 1:
            return None
        if op.kind != "const" and (store := self.stored(v)) is not None:
            return [store.inputs[0], *store.inputs[2:]]
        if self._recomputable(op) and (sources := self.sources(op)) is not None:
            return sources
        settled = self.snapshot(v)
        if settled is not None:
            return [settled.copy, *op.inputs[1:]]
        put_back = undo.again(v) if undo is not None else None
        return None if put_back is None else [*op.inputs, *put_back]

    def forget(self) -> None:
        """Other stores are undone than before."""
        self.found = {}

    def snapshot(self, v: Value) -> Settled | None:
        """The copy that an element may be read from on the way back, if it is read of memory that changes later.

        Only where the loops around the read go over the whole array: a copy of much more than what is read would cost
        more than any number of records.
        """
        if v not in self.settled:
            found = None
            if v.op is not None and v.op.kind == "load" and self.memory.changes_after(v.op.inputs[0], v.op):
                found = self._settled(v.op)
            self.settled[v] = found
        return self.settled[v]

    def _settled(self, op: Op) -> Settled | None:
        array = op.inputs[0]
        assert isinstance(array.type, Array)
        loops = self.order.places[op].loops
        for k, loop in enumerate(loops):
            if self.order.inside(array, loop) or self.memory.written_within(array, loop):
                continue
            free = loops[k:]
            for d in array.type.dims:
                sweeping = next((x for x in free if self.bounds.sweeps(x, d)), None)
                if sweeping is None:
                    return None
                free = [x for x in free if x is not sweeping]
            if (array, loop) not in self.copies:
                copy = Value(array.type, array.name)
                copy.block = self.order.places[loop].path[-1][0]
                self.copies[array, loop] = Settled(array, loop, copy)
            return self.copies[array, loop]
        return None

    def stored(self, v: Value) -> Op | None:
        """The store that wrote a number, right after it was computed, to an element that still holds it in the end."""
        if v not in self.found:
            self.found[v] = self._stored(v) if isinstance(v.type, Scalar) else None
        return self.found[v]

    def _stored(self, v: Value) -> Op | None:
        for store in self.stores.get(v, ()):
            target = store.inputs[0].type
            if (
                self.order.places[store].path[-1][0] is v.block
                and target.dtype == v.type.dtype
                and not (self.keeper.undo is not None and self.keeper.undo.touches(store))
                and not self.memory.overwritten(store)
            ):
                return store
        return None

    def _recomputable(self, op: Op) -> bool:
        """Cheap to compute again from its operands, with the same result."""
        if (op.row.cost is Cost.FREE and op.kind != "load") or is_view(op):
            return True
        if op.kind == "load":
            return not self.memory.changes_after(op.inputs[0], op)
        if not is_cheap(op) and not _small_power(op) and not self._comes_along(op):
            return False
        return isinstance(op.out.type, Scalar) or self._cheap_array(op)

    def _comes_along(self, op: Op) -> bool:
        """Whether the way back computes another function of the same number, which takes nearly all of the time."""
        return isinstance(op.out.type, Scalar) and bool(op.row.along) and (op.row.along, op.inputs[0]) in self.computed

    def _cheap_array(self, op: Op) -> bool:
        """Elementwise, in a loop (else it is at hand), and nobody can tell it from a second one."""
        if self.memory.written(op.out) or self.memory.is_shared(op.out):
            return False
        return bool(self.order.places[op].loops)

    def sources(self, op: Op) -> list[Value] | None:
        """The operands, or copies of what they hold at an operation, where these are made anyway; None without them."""
        found: list[Value] = []
        for v in op.inputs:
            changes = op.row.by_element and isinstance(v.type, Array) and self.memory.changes_after(v, op)
            source = self.keeper.snapshots.found(v, op) if changes else v
            if source is None:
                return None
            found.append(source)
        return found

    def recording(self, v: Value) -> int:
        """What recording a value costs, in tenths of a nanosecond or so for each number.

        Mostly that is the kernel's time for fresh pages, and waiting for memory.
        """
        size = _size(v) if isinstance(v.type, (Array, Scalar)) else 10**6
        if v.block is None or not self.order.loops_around(v.block):
            return 5 * size
        back = 8 if self.keeper.undo is not None and self.keeper.undo.stands_for(v) else 0  # ... and putting it back
        return (25 + back) * size * self.often(v.block)

    def often(self, block: Block) -> int:
        """How many times a block runs, by guess."""
        if block not in self.times:
            self.times[block] = math.prod(_trips(loop) for loop in self.order.loops_around(block))
        return self.times[block]

    def computing(self, v: Value) -> int:
        """What computing it again costs: little; it does not wait for the cotangents of later iterations."""
        op = v.op
        often = self.often(v.block) if v.block is not None else 1
        if self.running.of(v) is not None:
            return 2 * often
        if op is None or op.row.cost is Cost.FREE or is_view(op) or self.stored(v) is not None or self._invariant(op):
            return 0
        return (2 if op.row.cost <= Cost.CHEAP else 6) * _size(v) * often

    def _invariant(self, op: Op) -> bool:
        """Whether a number is the same in all iterations of the innermost loop: LLVM computes it once."""
        loops = self.order.places[op].loops
        if not loops or not isinstance(op.out.type, Scalar) or not is_cheap(op):
            return False
        inside = (i for i in op.inputs if self.order.inside(i, loops[-1]))
        return all(is_const(i) or (i.op is not None and self._invariant(i.op)) for i in inside)


def _size(v: Value) -> int:
    return 100 ** len(v.type.dims) if isinstance(v.type, Array) else 1


def _trips(loop: Op) -> int:
    """A guess at how many iterations a loop makes."""
    start, stop, step = (const_of(v) for v in loop.inputs[:3]) if loop.kind == "for" else (None, None, None)
    return 100 if start is None or stop is None or not step else max(1, len(range(start, stop, step)))


def _small_power(op: Op) -> bool:
    return op.kind == "power" and const_of(op.inputs[1]) in (2, 3, 0.5, -1)
