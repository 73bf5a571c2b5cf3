"""Which memory a reference belongs to: just enough to see that a write does not change what an expression reads."""

from __future__ import annotations

from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import is_ref

Root = Value | str  # the reference that others are views of, or one of:
PARAMETER = "parameter"  # memory of the caller
ANY = "any"


class Roots:
    """Finds the roots of references, and whether they may be the same memory.

    An allocation overlaps nothing that was there before it: no parameter, and no reference that is defined earlier.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known: dict[Value, Root] = {p: PARAMETER for p in function.params if is_ref(p.type)}
        self.positions: dict[Value, int] = {}  # the order in which references are defined; filled when needed

    def of(self, v: Value) -> Root:
        """The memory that `v` refers to."""
        found = self.known.get(v)
        if found is None:
            viewed = v.op is not None and is_view(v.op)
            found = self.known[v] = self.of(v.op.inputs[0]) if v.op is not None and viewed else v
        return found

    def overlap(self, a: set[Root], b: set[Root]) -> bool:
        """Whether memory of the one may be memory of the other."""
        return any(self._same(x, y) for x in a for y in b)

    def _same(self, a: Root, b: Root) -> bool:
        if a is b or a is ANY or b is ANY:
            return True
        if is_fresh(a) and is_fresh(b):
            return False
        if is_fresh(b):
            a, b = b, a
        return not (is_fresh(a) and (b is PARAMETER or self._position(b) < self._position(a)))

    def _position(self, v: Root) -> int:
        if not self.positions:
            self._number(self.function.body)
        assert isinstance(v, Value)
        return self.positions[v]

    def _number(self, block: Block) -> None:
        for v in block.args:
            self.positions[v] = len(self.positions)
        for op in block.ops:
            for region in op.regions:
                self._number(region)
            for v in op.outputs:
                self.positions[v] = len(self.positions)


def is_fresh(root: Root) -> bool:
    """Whether this is memory that the function has allocated, which nobody else sees."""
    return isinstance(root, Value) and root.op is not None and _allocates(root.op)


def _allocates(op: Op) -> bool:
    return not op.row.meets
