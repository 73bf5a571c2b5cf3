"""Loops over lanes whose iterations may run at once, in any order, and once more.

    for lane in range(n):                 out was allocated in front of the loop, and each iteration only writes to its
        y = solve(A[lane], b)             own part of it; y is memory of the iteration. Should one raise, the whole loop
        out[lane] = y                     runs again, from the first lane to the one whose error Python would show.

So an iteration must not read what any iteration writes, not even in its own lane, and must not print.
"""

from __future__ import annotations

from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.ir.nodes import LANES, Block, Function, Op, Value, const_of, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.types import Array, is_ref
from diffjit.ir.walk import walk

SEPARATE = "separate"  # attribute of a loop: it may run in threads

_ALONE = frozenset({"call", "fft", "rfft", "irfft"})


def mark_separate(function: Function) -> None:
    """Mark the outermost of these loops, in place."""
    if any(LANES in op.attrs for op in walk(function.body)):
        _Marking(function).block(function.body)


class _Marking:
    def __init__(self, function: Function) -> None:
        known = analyses(function)
        self.order, self.memory = known.order, known.one_memory

    def block(self, block: Block) -> None:
        for op in block.ops:
            if LANES in op.attrs and self.is_separate(op):
                op.attrs[SEPARATE] = True
                continue
            for region in op.regions:
                self.block(region)

    def is_separate(self, loop: Op) -> bool:
        """Whether the iterations of a loop do not touch one another."""
        if loop.outputs or loop.attrs.get("exit") or loop.attrs.get("reverse"):
            return False
        if const_of(loop.inputs[0]) != 0 or const_of(loop.inputs[2]) != 1:
            return False
        inside = list(walk(loop.regions[0]))
        if any(op.kind in _ALONE or op.row.once or op.row.linked for op in inside):
            return False
        outer = [v for op in inside for v in op.inputs if is_ref(v.type) and not self.order.inside(v, loop)]
        if not all(isinstance(v.type, Array) for v in outer):
            return False
        changed = [cls for cls, writes in self.memory.writes.items() if any(op in inside for op in writes)]
        return all(self.is_own(cls, loop) or self.is_filled(cls, loop, inside) for cls in changed)

    def is_own(self, cls: Any, loop: Op) -> bool:
        """Whether memory is made in each iteration, for itself."""
        members = self.memory.members.get(cls, [])
        return all(self.order.inside(v, loop) and (v.op is None or not v.op.row.gives) for v in members)

    def is_filled(self, cls: Any, loop: Op, inside: list[Op]) -> bool:
        """Whether each iteration does nothing with an array but fill the part that its counter selects."""
        counter = loop.regions[0].args[0]
        members = set(self.memory.members.get(cls, []))
        roots = [v for v in members if v.op is None or not is_view(v.op)]
        if len(roots) != 1 or roots[0].op is None or roots[0].op.row.fill is None:
            return False
        root = roots[0]
        if self.order.inside(root, loop):
            return False
        axes: set[int] = set()
        parts: set[Value] = set()  # views of the iteration's part
        for op in inside:
            used = [k for k, v in enumerate(op.inputs) if v in members]
            if not used or op.row.reads is Reads.LENGTHS:
                continue
            if op.kind == "view" and used == [0] and op.inputs[0] is root:
                axis = _selected(op, counter)
                if axis is None:
                    return False
                axes.add(axis)
                parts.add(op.out)
            elif is_view(op) and used == [0] and op.inputs[0] in parts:
                parts.add(op.out)
            elif op.kind == "store" and used == [0] and op.inputs[0] is root:
                if counter not in op.inputs[2:]:
                    return False
                axes.add(op.inputs[2:].index(counter))
            elif not (op.kind in ("store", "assign") and used == [0] and op.inputs[0] in parts):
                return False
        return len(axes) == 1


def _selected(view: Op, counter: Value) -> int | None:
    """The axis along which a view takes the counter's element."""
    items = iter(view.inputs[1:])
    axis = 0
    for entry in view.attrs["spec"]:
        if entry == "i":
            if next(items) is counter:
                return axis
        elif entry not in (":", "n"):
            for flag in entry[1:]:
                if flag:
                    next(items)
        axis += entry != "n"
    return None
