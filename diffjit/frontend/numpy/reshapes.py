"""Whether a reshape is a view or a copy, where only the run-time strides tell.

The interpreter marks such a `reshape` with the source axes that would have to be merged, and makes it a copy. Where
neither the source nor the result is written to afterwards, nobody can tell the difference, and it stays one. Otherwise
it becomes a branch on the strides:

    flat = w.reshape(n)     ->      flat = (view of w) if w.strides[0] == w.shape[1] * w.strides[1] else (copy)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffjit.errors import MemoryProblem
from diffjit.ir.aliases import Classes, edges
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.orders import unlike
from diffjit.ir.types import BOOL, INT, Array, is_ref
from diffjit.ir.walk import walk

MERGED = "merged"  # attribute of an undecided reshape: the source axes that a view would have to merge

EXACT = "exact"  # and whether a view needs all of them merged

CONTIGUOUS = "contiguous"  # and whether it needs the last of them to be without gaps, too (`ravel`)


TAKEN = "taken"  # attribute of a reshape that is taken for a view, because of its source's order


def decide_reshapes(function: Function) -> None:
    """Settle the undecided reshapes of a program, in place."""
    undecided = [op for op in walk(function.body) if MERGED in op.attrs]
    written: Written | None = None
    for op in unlike([function], TAKEN):
        written = written or Written(function)
        if written.after(op, op.out):
            raise _indefinite(op)
    for op in walk(function.body):
        op.attrs.pop(TAKEN, None)
    if not undecided:
        return
    written = written or Written(function)
    chosen = {op for op in undecided if written.after(op, op.inputs[0], op.out)}
    unsettled = {written.find(op.out) for op in walk(function.body) if _of_any_order(op)}
    for op in chosen:
        if not op.attrs[EXACT] or written.find(op.inputs[0]) in unsettled:
            raise _indefinite(op)
    if chosen:
        _branch(function.body, chosen)
    for op in undecided:
        op.attrs.pop(MERGED, None)
        op.attrs.pop(EXACT, None)
        op.attrs.pop(CONTIGUOUS, None)


def _of_any_order(op: Op) -> bool:
    """Whether an operation makes an array whose order in NumPy hangs on strides: compiled code makes it row by row."""
    if op.row.control or is_view(op) or op.row.gives or op.kind == "undef":
        return False
    return any(isinstance(v.type, Array) and v.type.layout == "A" and v.type.ndim > 1 for v in op.outputs)


def _indefinite(op: Op) -> MemoryProblem:
    what = "this reshape" if op.kind == "reshape" else "a reshape of this array"
    return MemoryProblem(
        "DJ404",
        f"whether {what} is a view or a copy depends on the run-time layout, and its memory is written to",
        loc=op.loc,
        cure="make it definite: np.ascontiguousarray(a).reshape(...) for a view, a.reshape(...).copy() for a copy",
    )


class Written(Classes):
    """What shares memory as far as it can be told before recursive functions are complete, and what is written to.

    Items are of the class of their list; a call may write to all that it is given, and gives arrays of its own.
    """

    def __init__(self, function: Function) -> None:
        super().__init__()
        ops = list(walk(function.body))
        for op in ops:
            for edge in edges(op):
                self.unite(edge.target, edge.source)
            if op.kind == "call":
                continue
            if not op.kind.startswith("list_"):
                self.meet(op)
                continue
            given = [v for v in op.inputs if is_ref(v.type)]
            kept = given[1:2] if op.row.keeps else [out for out in op.outputs if is_ref(out.type)]
            for v in given:
                for other in kept:
                    self.unite(other, v)
        self.writers: dict[Any, list[Op]] = {}
        for op in ops:
            for v in changed(op):
                self.writers.setdefault(self.find(v), []).append(op)
        self.function = function
        self.places: dict[Op, tuple[int, tuple[Op, ...]]] = {}  # operations in their order, with the loops around them
        self.homes: dict[Any, list[tuple[Op, ...]]] = {}  # classes of memory -> the loops around each of their names

    def holds(self, v: Value) -> bool:
        """Whether something writes to the memory of a value: a list that gets another item, not to the arrays in it."""
        listed = not isinstance(v.type, Array)
        return any(listed or not op.kind.startswith("list_") for op in self.writers.get(self.find(v), ()))

    def writes_to_items(self, v: Value) -> bool:
        """Whether something writes to the arrays in a list."""
        return any(not op.kind.startswith("list_") for op in self.writers.get(self.find(v), ()))

    def after(self, op: Op, *values: Value) -> bool:
        """Whether something may write to the memory of one of these arrays after an operation of the program.

        A list that gets another item is written to, not the arrays in it. In a loop that is around both, what stands
        before it follows in the next turn, unless the memory is new in each.
        """
        if not self.places:
            self._find_places()
        place, loops = self.places[op]
        for root in {self.find(v) for v in values}:
            lasting = [loop for loop in loops if not all(loop in around for around in self.homes.get(root, [()]))]
            for writer in self.writers.get(root, ()):
                if writer.kind.startswith("list_"):
                    continue
                other, around = self.places[writer]
                if other > place or any(loop in around for loop in lasting):
                    return True
        return False

    def _find_places(self) -> None:
        def named(values: Sequence[Value], loops: tuple[Op, ...]) -> None:
            for v in values:
                self.homes.setdefault(self.find(v), []).append(loops)

        def enter(block: Block, loops: tuple[Op, ...]) -> None:
            for op in block.ops:
                self.places[op] = len(self.places), loops
                named(op.outputs, loops)
                for region in op.regions:
                    named(region.args, loops)  # what a loop hands on is older than its turns
                    enter(region, (*loops, op) if op.row.loop else loops)

        named(self.function.params, ())
        enter(self.function.body, ())


def changed(op: Op) -> list[Value]:
    """The operands that an operation may write to."""
    if op.kind == "call" and "rules" not in op.attrs:
        return op.inputs
    return [op.inputs[k] for k in op.row.writes]


def _branch(block: Block, chosen: set[Op]) -> None:
    ops, block.ops = block.ops, []
    for op in ops:
        for region in op.regions:
            _branch(region, chosen)
        if op in chosen:
            _either(op, block)
        else:
            block.ops.append(op)


def _either(op: Op, block: Block) -> None:
    """Replace an undecided reshape by a branch with the same output."""
    build = Builder(block)
    build.loc = op.loc
    out = op.out
    sides = []
    for is_a_view in (True, False):
        side = Block()
        with build.inside(side):
            side.results = [build.value("reshape", op.inputs, out.type, name=out.name, view=is_a_view)]
        sides.append(side)
    chosen = build.op("if", [_mergeable(op, build)], regions=sides)
    chosen.outputs = [out]
    out.op, out.block = chosen, block


def _mergeable(op: Op, build: Builder) -> Value:
    """Whether the elements along the axes stand at one stride: axes of length 1 do not matter."""
    a = op.inputs[0]
    one = build.const(1)
    result: Value | None = None
    span: Value | None = one if CONTIGUOUS in op.attrs else None  # the stride that the next axis to the left must have
    free: Value | None = None  # so far only axes of length 1: any stride will do
    for k in reversed(op.attrs[MERGED]):
        n = build.value("dim", [a], INT, axis=k)
        stride = build.value("stride", [a], INT, axis=k)
        single = build.value("equal", [n, one], BOOL)
        grown = build.value("multiply", [n, stride], INT)
        if span is None:
            span, free = grown, single
            continue
        fits = build.value("logical_or", [build.value("equal", [stride, span], BOOL), single], BOOL)
        if free is not None:
            fits = build.value("logical_or", [fits, free], BOOL)
            free = build.value("logical_and", [free, single], BOOL)
        result = fits if result is None else build.value("logical_and", [result, fits], BOOL)
        span = build.value("select", [single, span, grown], INT)
    return result if result is not None else build.const(True)
