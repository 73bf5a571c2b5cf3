"""Which lists may be the same one, and which are changed."""

from __future__ import annotations

from typing import Any

from diffjit.ir.aliases import Classes, edges
from diffjit.ir.nodes import Block, Op
from diffjit.ir.types import List
from diffjit.ir.walk import walk


class SameLists(Classes):
    """Classes of lists in a block; of changes, those that operations from the one numbered `begin` on make."""

    def __init__(self, block: Block, begin: int = 0) -> None:
        super().__init__()
        ops = list(walk(block))
        before = {id(inner) for op in block.ops[:begin] for inner in (op, *(o for r in op.regions for o in walk(r)))}
        for op in ops:
            if op.kind != "call":
                self.meet(op)
            for edge in edges(op):
                self.unite(edge.source, edge.target)
        changing = [op for op in ops if op.row.writes and isinstance(op.inputs[0].type, List) and id(op) not in before]
        self.changed: set[Any] = {self.find(op.inputs[0]) for op in changing}
        self.rearranged: set[Any] = {self.find(op.inputs[0]) for op in changing if moves_lists(op)}
        self.read: set[Any] = {self.find(v) for op in ops for v in op.inputs if isinstance(v.type, List)}


def moves_lists(op: Op) -> bool:
    """Whether an operation changes a list of lists other than by appending to it."""
    ty = op.inputs[0].type if op.row.writes else None
    return op.kind != "list_append" and isinstance(ty, List) and isinstance(ty.elem, List)
