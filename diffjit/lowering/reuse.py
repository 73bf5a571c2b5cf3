"""Arrays whose memory the next iteration of a loop may use again.

    for i in range(n):
        gap = x[i] - mean            allocated once, not n times
        total += gap @ gap

A small array that nothing keeps beyond the iteration that makes it has room in a buffer of the function's own, which
grows to the largest length seen. Allocation, counting references and release take as long as a hundred additions.
"""

from __future__ import annotations

from diffjit.analysis.aliases import Roots
from diffjit.ir.nodes import CONTROL, Function, Op, Value, is_view
from diffjit.ir.types import Array, is_ref

# The result may be one of the operands, or keep it.
_KEEPS = frozenset({"list_append", "list_set", "list_insert", "push", "call", "for", "while", "select", "unbroadcast"})
_ELSEWHERE = CONTROL | {"list_get", "list_pop", "pop", "undef", "select", "stop_gradient"}


def passing(function: Function, roots: Roots) -> set[Value]:
    """The arrays made in loops that nothing keeps beyond the iteration that makes them."""
    kept = {roots.root(v) for v in function.results if is_ref(v.type)}
    made: list[Value] = []
    todo = [(op, False) for op in function.body.ops]
    while todo:
        op, looped = todo.pop()
        if op.kind in _KEEPS:
            kept.update(roots.root(v) for v in op.inputs if is_ref(v.type))
        for region in op.regions:
            kept.update(roots.root(v) for v in region.results if is_ref(v.type))
            todo += [(inner, looped or op.kind in ("for", "while")) for inner in region.ops]
        if looped and _makes(op):
            made += [v for v in op.outputs if isinstance(v.type, Array)]
    return {v for v in made if v not in kept}


def _makes(op: Op) -> bool:
    return op.kind not in _ELSEWHERE and not is_view(op)


