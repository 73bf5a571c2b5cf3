"""Read-only views are not written to; where they are copies, what they show must not be written to later either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from diffjit.errors import MemoryProblem
from diffjit.frontend.numpy.reshapes import Written, changed, decide_reshapes
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import Array, is_ref
from diffjit.ir.walk import walk
from diffjit.primitives.library import windows

READ_ONLY = "read_only"  # attribute of a diagonal that the program itself takes; derivatives write to their own
CONSTANT = "constant"  # attribute of a view of the whole array, where a copy was taken: what was taken, and the cure
SHOWN = (
    "a read-only view (of windows or diagonals) is taken",
    "copy the array before: sliding_window_view(x.copy(), ...)",
)
COPIED_DEEPLY = (
    "a growing list of arrays is copied deeply",
    "copy the arrays in a comprehension: [x.copy() for x in items]",
)
KEPT = ("an array that a cached function gives is taken", "change a copy of it: a.copy()")


class ReadOnly(Mixin):
    """Mixin of the interpreter: marks."""

    def mark_kept(self, value: Any) -> Any:
        """What a program makes anew where Python has one that a cache keeps: nothing may change it."""
        if isinstance(value, av.Tup):
            return av.Tup(tuple(map(self.mark_kept, value.items)), value.cls)
        if isinstance(value, Value) and isinstance(value.type, Array):
            return self.mark_unchanging(value, KEPT)
        if not isinstance(value, av.Ref):
            return value
        held = self.cells.get(("h", value.uid))
        if not isinstance(held, (av.ListC, av.DictC, av.ObjC)) or held.frozen:
            return value
        self.freeze(self.cells, value.uid, "is the result of a cached function")
        held = self.cells["h", value.uid]
        if isinstance(held, av.ListC):
            held = replace(held, items=tuple(map(self.mark_kept, held.items)))
        elif isinstance(held, av.DictC):
            held = replace(held, items={k: self.mark_kept(v) for k, v in held.items.items()})
        else:
            held = replace(held, fields={n: self.mark_kept(v) for n, v in held.fields.items()})
        self.cells["h", value.uid] = held
        return value

    @core(windows.unchanging)
    def mark_unchanging(self, a: Any, taken: tuple[str, str] = SHOWN) -> Any:
        """The array, with a mark in the program."""
        return self.build.value("view", [a], a.type, spec=(":",) * a.type.ndim, constant=taken)

    @core(windows.row_by_row)
    def ask_for_rows(self, a: Any) -> Any:
        """The array, of whose steps in memory the program knows."""
        if a.type.layout != "C":
            cure = "take np.ascontiguousarray(...) of it first"
            raise self.unsupported("DJ118", "steps in memory of an array that may not be in C's order", None, cure)
        return a

    @core(windows.layout_of)
    def layout(self, a: Any) -> Any:
        """How it stands in memory, as far as is known."""
        return Static("C" if a.type.ndim == 0 else a.type.layout)

    @core(windows.written_through)
    def mark_written(self, shown: Any) -> Any:
        """A diagonal that is no read-only one."""
        shown.op.attrs.pop(READ_ONLY, None)
        return shown


def decide_views(function: Function) -> None:
    """Settle what is a view and what a copy, once a program is complete."""
    decide_reshapes(function)
    refuse_writes(function)
    refuse_later_writes(function)


def refuse_writes(function: Function) -> None:
    """Refuse a program that writes to what `np.broadcast_to` or `np.diagonal` shows, or to a view of it."""
    for op in walk(function.body):
        for v in changed(op) if op.kind != "call" else ():
            shown = (op for op in _views(v) if op.kind == "broadcast_to" or READ_ONLY in op.attrs)
            kind = next((source.kind for source in shown), None)
            if kind is not None:
                raise MemoryProblem(
                    "DJ404",
                    f"what np.{kind} gives is read-only, and written to here",
                    loc=op.loc,
                    cure=f"copy it before: np.{kind}(...).copy()",
                )
    for op in walk(function.body):
        op.attrs.pop(READ_ONLY, None)


def _views(v: Value) -> Iterator[Op]:
    """The operations by which a value shows another's memory."""
    while v.op is not None and is_view(v.op):
        yield v.op
        v = v.op.inputs[0]


def refuse_later_writes(function: Function) -> None:
    """Refuse a program that writes to memory behind a mark."""
    loops: dict[Op, tuple[Op, ...]] = {}
    _order(function.body, (), loops)
    marks = {op: op.attrs.pop(CONSTANT) for op in loops if CONSTANT in op.attrs}
    if not marks:
        return
    classes, places = Written(function), {op: k for k, op in enumerate(loops)}
    for mark, (taken, cure) in marks.items():
        home = classes.find(mark.out)
        for op, inside in loops.items():
            if not any(isinstance(v.type, Array) and classes.find(v) is home for v in changed(op)):
                continue
            around = [loop for loop in loops[mark] if loop in inside]
            if places[op] > places[mark] or any(_lives_on(home, loop, classes, loops, function) for loop in around):
                raise MemoryProblem(
                    "DJ404",
                    f"{taken} here, and its memory is written to later",
                    loc=mark.loc,
                    cure=cure,
                )


def _order(block: Block, around: tuple[Op, ...], loops: dict[Op, tuple[Op, ...]]) -> None:
    """All operations in the order of the text, each with the loops around it."""
    for op in block.ops:
        loops[op] = around
        for region in op.regions:
            _order(region, (*around, op) if op.row.loop else around, loops)


def _lives_on(home: Any, loop: Op, classes: Any, loops: dict[Op, tuple[Op, ...]], function: Function) -> bool:
    """Whether memory of a class is the same in the next iteration of a loop."""
    outside = [v for op, around in loops.items() if loop not in around for v in op.outputs]
    carried = [v for region in loop.regions for v in region.args]
    return any(is_ref(v.type) and classes.find(v) is home for v in (*function.params, *outside, *carried))
