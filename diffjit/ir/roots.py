"""The buffer behind each reference: a parameter, an allocation, or unknown; which may be the same memory."""

from __future__ import annotations

from diffjit.ir.aliases import same_memory
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import is_ref
from diffjit.ir.walk import walk

Root = Value | str  # the reference that others are views of, or one of:
PARAMETER = "parameter"  # memory of the caller
ANY = "any"


class Roots:
    """The roots of references in one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.params = set(function.params)
        self.positions: dict[Value, int] = {}  # the order in which references are defined; filled when needed
        self.escaped: set[Value] = set()  # what may come back under another name
        for op in walk(function.body):
            for region in op.regions:
                self.escaped.update(self.root(v) for v in region.results if is_ref(v.type))
            if op.row.keeps or op.kind in ("call", "for", "while"):
                self.escaped.update(self.root(v) for v in op.inputs if is_ref(v.type))

    def root(self, v: Value) -> Value:
        """The reference that owns the memory."""
        while v.op is not None and v.op.kind != "call":
            source = next((b for a, b in same_memory(v.op) if a is v), None)
            if source is None:
                break
            v = source
        return v

    def allocated(self, v: Value) -> bool:
        """Whether the memory is the function's own, for certain."""
        return is_fresh(self.root(v))

    # Of references, where parameters never overlap: the wrapper tests those that are written to

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether the two may overlap."""
        return self.roots_may_alias(self.root(a), self.root(b))

    def roots_may_alias(self, ra: Value, rb: Value) -> bool:
        """Whether what the two own may overlap."""
        if ra is rb:
            return True
        known_a, known_b = self.is_known(ra), self.is_known(rb)
        if known_a and known_b:
            return False
        if known_a and ra.op is not None and ra not in self.escaped:
            return False
        return not (known_b and rb.op is not None and rb not in self.escaped)

    def is_known(self, v: Value) -> bool:
        """Whether a root is memory that no other such root is."""
        return v in self.params or is_fresh(v)

    # Of roots, where parameters may be one another: an allocation overlaps nothing that was there before it

    def of(self, v: Value) -> Root:
        """The memory that `v` refers to."""
        root = self.root(v)
        return PARAMETER if root in self.params else root

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


class Latest:
    """The last place that has to do with each root's memory."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self.known: dict[Value, float] = {}  # roots that are never one another
        self.others: dict[Value, float] = {}

    def note(self, v: Value, at: float) -> None:
        """A place that has to do with the memory behind a reference."""
        root = self.roots.root(v)
        table = self.known if self.roots.is_known(root) else self.others
        table[root] = max(table.get(root, -1), at)

    def of(self, v: Value) -> float:
        """The last place that may have to do with the memory behind a reference; -1: none."""
        root = self.roots.root(v)
        tables = [self.others] if self.roots.is_known(root) else [self.known, self.others]
        may_be = [at for t in tables for other, at in t.items() if self.roots.roots_may_alias(other, root)]
        return max([self.known.get(root, -1), *may_be])


def is_fresh(root: Root) -> bool:
    """Whether this is memory that the function has allocated."""
    return isinstance(root, Value) and root.op is not None and not root.op.row.meets
