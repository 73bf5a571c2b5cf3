"""Arrays in loops that need no memory, and views that need no reference, of their own.

    for i in range(n):
        row = x[i]                   a borrowed view: `x` is there as long as the loop runs
        gap = row - mean             allocated once, not n times
        total += gap @ gap

A small array that nothing keeps beyond the iteration that makes it has room in a buffer of the function's own, which
grows to the largest length seen. One that a tape keeps takes part of a larger block, which goes with the last of those
that share it. A view that nothing keeps holds no reference to memory that another variable holds.
Allocation, counting references and release take as long as a hundred additions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from diffjit.analysis.manager import analyses
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.types import Array, Scalar, is_ref
from diffjit.ir.walk import walk

HOLD = "hold"
declare(Row(HOLD, "a", "keeps a reference alive up to here (made while lowering)", raises=Raises.NEVER))

WITH_SLOT = ("room_", "shelf_")  # how the names of functions begin that allocate from memory of the place they stand at
ALLOCATING = ("empty_", *WITH_SLOT)

LENT = frozenset({"view", "transpose", "diagonal", "real_view", "imag_view"})
# The result may be one of the operands.
_PASSES = frozenset({"call", "for", "while", "select", "unbroadcast"})


def with_slots(function: Function) -> dict[Value, str]:
    """What allocates the arrays made in loops that need no memory of their own.

    "room" those that nothing keeps beyond the iteration that makes them, "shelf" those that are put on a tape.
    """
    kept = _kept(function)
    pushed = {op.inputs[1] for op in walk(function.body) if op.kind == "push"}
    made = [v for op in _in_loops(function) if not op.row.meets and not is_view(op) for v in op.outputs]
    arrays = [v for v in made if isinstance(v.type, Array)]
    return {v: "shelf" if v in pushed else "room" for v in arrays if v in pushed or v not in kept}


def borrow(function: Function) -> set[Value]:
    """The views made in loops that may do without a reference; what they borrow from is held until the loop ends."""
    kept, order = _kept(function), analyses(function).order
    params = set(function.params)
    lent: set[Value] = set()
    holds: dict[tuple[Op, Value], Block] = {}
    for op in _in_loops(function):
        if op.kind not in LENT or op.out in kept:
            continue
        base, loop = op.inputs[0], order.places[op].loops[-1]
        if base in params or base in lent:
            lent.add(op.out)
        elif not order.inside(base, loop):
            lent.add(op.out)
            holds[loop, base] = order.places[loop].path[-1][0]
    for (loop, base), block in holds.items():
        block.ops.insert(block.ops.index(loop) + 1, Op(HOLD, [base]))
    return lent


def _kept(function: Function) -> set[Value]:
    """Arrays that something keeps, and all that these are views of."""
    kept: set[Value] = set()

    def keep(v: Value) -> None:
        while is_ref(v.type) and v not in kept:
            kept.add(v)
            if v.op is None or not (is_view(v.op) or v.op.kind == "stop_gradient"):
                break
            v = v.op.inputs[0]

    for v in function.results:
        keep(v)
    for op in walk(function.body):
        if op.row.keeps or op.kind in _PASSES:
            for v in op.inputs:
                keep(v)
        for region in op.regions:
            for v in region.results:
                keep(v)
    return kept


def framed(function: Function, used: Mapping[Value, Collection[Op | Block]]) -> set[Value]:
    """The stacks of numbers that a function makes, pushes on and pops from, and gives to nothing else."""
    made = (op.out for op in walk(function.body) if op.kind == "stack_new" and isinstance(op.out.type.elem, Scalar))
    return {v for v in made if all(isinstance(op, Op) and op.kind in ("push", "pop") for op in used.get(v, ()))}


def _in_loops(function: Function) -> Iterator[Op]:
    """The operations inside loops, in program order."""
    for loop in walk(function.body):
        if loop.row.loop:
            yield from (op for region in loop.regions for op in walk(region))
