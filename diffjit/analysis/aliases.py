"""Which references may point to the same memory, as far as loop nests need to know."""

from __future__ import annotations

from diffjit.ir.nodes import Function, Value, is_view
from diffjit.ir.types import is_ref
from diffjit.ir.walk import walk


class Roots:
    """The buffer behind each reference: a parameter, an allocation, or unknown."""

    def __init__(self, function: Function) -> None:
        self.params = set(function.params)
        self.arguments: set[Value] = set()
        self.escaped: set[Value] = set()
        for op in walk(function.body):
            for region in op.regions:
                self.arguments.update(region.args)
                self.escaped.update(self.root(v) for v in region.results if is_ref(v.type))
            if op.row.keeps or op.kind in ("call", "for", "while"):
                self.escaped.update(self.root(v) for v in op.inputs if is_ref(v.type))

    def root(self, v: Value) -> Value:
        """The reference that owns the memory."""
        while v.op is not None and (is_view(v.op) or v.op.kind == "stop_gradient"):
            v = v.op.inputs[0]
        return v

    def _known(self, v: Value) -> bool:
        """A parameter or an allocation, and not one that came from somewhere else."""
        return v in self.params or (v.op is not None and not v.op.row.meets)

    def allocated(self, v: Value) -> bool:
        """Whether the memory is the function's own, for certain."""
        owner = self.root(v)
        return owner not in self.params and self._known(owner)

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether the two may overlap. Parameters never do (the wrapper checks them where one is written)."""
        ra, rb = self.root(a), self.root(b)
        if ra is rb:
            return True
        known_a, known_b = self._known(ra), self._known(rb)
        if known_a and known_b:
            return False
        if known_a and ra.op is not None and ra not in self.escaped:
            return False
        return not (known_b and rb.op is not None and rb not in self.escaped)
