"""Loops over lanes whose iterations may run at once, in any order, and once more.

    for lane in range(n):                 out was allocated in front of the loop, and each iteration only writes to its
        y = solve(A[lane], b)             own part of it; y is memory of the iteration. Should one raise, the whole loop
        out[lane] = y                     runs again, from the first lane to the one whose error Python would show.

So an iteration must not read what any iteration writes, not even in its own lane, and must not print.

A way back often adds to cotangents of what all iterations read (`w_bar[j] += ...`). Iterations may run at once if they
have arrays of their own to add to (`lowering.loops.blocks`): in which order cotangents are added up is free.

Other loops, those that the user wrote and their ways back, may run at once, but not again, if nothing in them can fail
and each iteration keeps to its own part of what any of them writes: it may read there, and add to it.

    for i in range(1, n):                 the counter selects the part of each array that is written, by itself, along
        u_bar[i] += v_bar[i] * w[i - 1]   one axis; whatever else is read is written by nobody

A part is an element, or a slice that ends where that of the next iteration begins, or before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffjit.analysis.integers.bounds import Form, chosen, entries
from diffjit.analysis.manager import analyses
from diffjit.ir.nodes import LANES, Block, Function, Op, Value, const_of, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.raising import may_raise
from diffjit.ir.types import Array, is_ref
from diffjit.ir.walk import walk

SEPARATE = "separate"  # attribute of a loop: it may run in threads
ONCE = "once"  # attribute of such a loop: what was run must not run again
SUMS = "sums"  # attribute of a loop: the arrays that all iterations add cotangents to, and do nothing else with
_FEW = 64  # iterations that are not worth it, where their number is known

_ALONE = frozenset({"call", "fft", "rfft", "irfft"})


def mark_separate(function: Function) -> None:
    """Mark the outermost of these loops, in place."""
    if any(LANES in op.attrs for op in walk(function.body)):
        Separation(function).block(function.body)


def mark_independent(function: Function) -> None:
    """Mark the outermost of the other loops that nothing fails in, in place."""
    if any(op.kind == "for" for op in walk(function.body)):
        Separation(function).others(function.body)


class Separation:
    """Which loops of a function have iterations that do not touch one another."""

    def __init__(self, function: Function) -> None:
        known = self.known = analyses(function)
        self.order, self.memory = known.order, known.one_memory

    def block(self, block: Block) -> None:
        """Mark loops over lanes of a block."""
        for op in block.ops:
            if LANES in op.attrs and self.is_separate(op):
                op.attrs[SEPARATE] = True
                continue
            for region in op.regions:
                self.block(region)

    def others(self, block: Block) -> None:
        """Mark loops of a block that are not over lanes."""
        for op in block.ops:
            if SEPARATE in op.attrs:
                continue
            sums = self.shared_sums(op) if op.kind == "for" else None
            if sums is not None:
                op.attrs |= {SUMS: sums} if sums else {SEPARATE: True, ONCE: True}
                continue
            for region in op.regions:
                self.others(region)

    def shared_sums(self, loop: Op) -> list[Value] | None:
        """The arrays that all iterations add to, where each keeps to its own part of whatever else any writes.

        None where that is not so, or where one may fail.
        """
        start, stop = const_of(loop.inputs[0]), const_of(loop.inputs[1])
        if loop.outputs or loop.attrs.get("exit") or const_of(loop.inputs[2]) != 1 or start is None or start < 0:
            return None
        if stop is not None and stop - start < _FEW:
            return None
        inside = list(walk(loop.regions[0]))
        changed = self.changed(loop, inside)
        if changed is None or any(op.row.effect for op in inside):
            return None
        sums: list[Value] = []
        for cls in changed:
            if self.is_own(cls, loop) or self.is_kept_to(cls, loop, inside):
                continue
            root = self.added_to(cls, loop, inside)
            if root is None:
                return None
            sums.append(root)
        fails = not changed or may_raise(loop, self.known.bounds.proves, self.known.intervals.fits)
        return None if fails else sums

    def keeps_apart(self, loop: Op) -> bool:
        """Whether each iteration keeps to its own part of what any of them writes, whatever numbers they carry on."""
        inside = list(walk(loop.regions[0]))
        changed = self.changed(loop, inside)
        return changed is not None and all(
            self.is_own(cls, loop) or self.is_kept_to(cls, loop, inside) for cls in changed
        )

    def added_to(self, cls: Any, loop: Op, inside: list[Op]) -> Value | None:
        """The array that iterations only add cotangents to; None where they do something else with it."""
        members = set(self.memory.members.get(cls, []))
        root = self.root(cls, loop)
        if root is None or root.type.dtype.kind != "f" or root.type.layout != "C" or root.type.ndim == 0:
            return None
        own = {root}
        for op in inside:
            used = [k for k, v in enumerate(op.inputs) if v in members]
            if not used or op.row.reads is Reads.LENGTHS:
                continue
            if used != [0] or op.inputs[0] not in own or not (is_view(op) or op.row.adds):
                return None
            if is_view(op):
                own.add(op.out)
        return root

    def is_kept_to(self, cls: Any, loop: Op, inside: list[Op]) -> bool:
        """Whether each iteration reads and writes nothing of an array but the part that its counter selects."""
        members = set(self.memory.members.get(cls, []))
        root = self.root(cls, loop)
        if root is None:
            return False
        places: set[tuple[int, Any]] | None = None
        parts: set[Value] = set()
        for op in inside:
            used = [k for k, v in enumerate(op.inputs) if v in members]
            if not used or op.row.reads is Reads.LENGTHS:
                continue
            if all(op.inputs[k] in parts for k in used):
                if is_view(op):
                    parts.add(op.out)
                elif any(v in members for v in op.outputs):
                    return False
                continue
            if used != [0] or op.inputs[0] is not root or op.row.indices_at is None:
                return False
            found = self._selected(op, loop)
            places = found if places is None else places & found
            if not places:
                return False
            if op.kind == "view":
                parts.add(op.out)
        return bool(places)

    def _selected(self, op: Op, loop: Op) -> set[tuple[int, Any]]:
        """The axes along which each iteration takes a part of its own, and which: sums with the counter in them."""
        first, _, by = map(const_of, loop.inputs[:3])
        least = first if by == 1 else None  # that the counter has, where it is known
        wraps = op.attrs.get("inbounds") and not op.attrs.get("nonneg")  # an index may count from the end
        found: set[tuple[int, Any]] = set()
        counter = loop.regions[0].args[0]
        for axis, index in chosen(op, op.row.indices_at or 0):
            e = self.known.bounds.of(index)
            others = [a for a in e.terms if a is not counter and isinstance(a, Value)]
            step = e.terms.get(counter, 0)
            counts_up = least is not None and step > 0 and len(e.terms) == 1 and step * least + e.constant >= 0
            if step and (counts_up or not wraps) and all(self.order.visible(a, loop) for a in others):
                found.add((axis, (e.constant, frozenset(e.terms.items()))))
        if op.kind == "view" and least is not None:
            found.update(self._slices(op, loop, least))
        return found

    def _slices(self, op: Op, loop: Op, least: int) -> Iterator[tuple[int, Any]]:
        """The axes along which each iteration takes a slice of its own, from one sum with the counter to another."""
        counter = loop.regions[0].args[0]
        bounds = self.known.bounds
        for axis, entry, ints in entries(op, 1):
            if entry != ("s", True, True, None):
                continue
            start, stop = map(bounds.of, ints)
            by = start.terms.get(counter, 0)
            left = stop.plus(start, -1)
            if by > 0 and len(start.terms) == 1 and by * least + start.constant >= 0 and self._reaches(left, by):
                yield axis, (start.constant, by, left.constant, frozenset(left.terms.items()))

    def _reaches(self, length: Form, most: int) -> bool:
        """Whether a sum is at most a number."""
        greatest = length.constant
        for a, times in length.terms.items():
            if not isinstance(a, Value):
                return False
            low, high = self.known.intervals.of(a)
            greatest += times * (high if times > 0 else low)
        return greatest <= most

    def is_separate(self, loop: Op) -> bool:
        """Whether the iterations of a loop do not touch one another."""
        if loop.outputs or loop.attrs.get("exit") or loop.attrs.get("reverse"):
            return False
        if const_of(loop.inputs[0]) != 0 or const_of(loop.inputs[2]) != 1:
            return False
        inside = list(walk(loop.regions[0]))
        changed = self.changed(loop, inside)
        return changed is not None and all(
            self.is_own(cls, loop) or self.is_filled(cls, loop, inside) for cls in changed
        )

    def changed(self, loop: Op, inside: list[Op]) -> list[Any] | None:
        """The classes of memory that a loop writes to; None where it does what threads cannot, or reaches lists."""
        if any(op.kind in _ALONE or op.row.once or op.row.linked for op in inside):
            return None
        outer = [v for op in inside for v in op.inputs if is_ref(v.type) and not self.order.inside(v, loop)]
        if not all(isinstance(v.type, Array) for v in outer):
            return None
        known = set(inside)
        return [cls for cls, writes in self.memory.writes.items() if any(op in known for op in writes)]

    def root(self, cls: Any, loop: Op) -> Value | None:
        """The array that is there before a loop and that all of a class of memory is views of; None without.

        What another branch makes, and what branches join behind the loop, is not there while it runs.
        """
        made = [v for v in self.memory.members.get(cls, []) if v.op is None or not is_view(v.op)]
        roots = [v for v in made if self.order.visible(v, loop) or self.order.inside(v, loop)]
        alone = len(roots) == 1 and isinstance(roots[0].type, Array) and not self.order.inside(roots[0], loop)
        return roots[0] if alone else None

    def is_own(self, cls: Any, loop: Op) -> bool:
        """Whether memory is made in each iteration, for itself."""
        members = self.memory.members.get(cls, [])
        return all(self.order.inside(v, loop) and (v.op is None or not v.op.row.gives) for v in members)

    def is_filled(self, cls: Any, loop: Op, inside: list[Op]) -> bool:
        """Whether each iteration does nothing with an array but fill the part that its counter selects."""
        counter = loop.regions[0].args[0]
        members = set(self.memory.members.get(cls, []))
        root = self.root(cls, loop)
        if root is None or root.op is None or root.op.row.fill is None:
            return False
        axes: set[int] = set()
        parts: set[Value] = set()  # views of the iteration's part
        for op in inside:
            used = [k for k, v in enumerate(op.inputs) if v in members]
            if not used or op.row.reads is Reads.LENGTHS:
                continue
            if op.kind == "view" and used == [0] and op.inputs[0] is root:
                axis = next((k for k, index in chosen(op, 1) if index is counter), None)
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
