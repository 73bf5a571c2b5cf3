"""Operators on sets and dicts, whose keys are known."""

from __future__ import annotations

from typing import Any

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static

_METHODS = {
    "bitwise_or": "dict_union", "bitwise_and": "dict_intersection", "subtract": "dict_difference",
    "bitwise_xor": "dict_symmetric_difference",
}  # fmt: skip


class SetOperators(Mixin):
    """Mixin of the interpreter: sets and dicts as operands."""

    def keyed(self, value: Any) -> av.DictC | None:
        """The contents of a dict or set; None for anything else."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return held if isinstance(held, av.DictC) else None

    def combine_sets(self, kind: str, left: Any, right: Any) -> Any:
        """`|`, `&`, `-` and `^`; None where they are not those of sets and dicts."""
        a, b = self.keyed(left), self.keyed(right)
        if a is None or b is None or a.is_set != b.is_set:
            return None
        if not a.is_set:
            return self.new(av.DictC({**a.items, **b.items})) if kind == "bitwise_or" else None
        return getattr(self, _METHODS[kind])(left, right) if kind in _METHODS else None

    def compare_keyed(self, kind: str, left: Any, right: Any, node: Any) -> Any:
        """A comparison of sets, or of dicts; None for anything else."""
        a, b = self.keyed(left), self.keyed(right)
        if a is None and b is None:
            return None
        if kind == "not_equal":
            return self.logical_not(self.compare_keyed("equal", left, right, node))
        if a is None or b is None or a.is_set != b.is_set:
            return Static(False) if kind == "equal" else None
        ours, theirs = set(a.items), set(b.items)
        if a.is_set:
            test = {"equal": ours == theirs, "less": ours < theirs, "less_equal": ours <= theirs}
            return Static({**test, "greater": ours > theirs, "greater_equal": ours >= theirs}[kind])
        if kind != "equal":
            return None
        result: Any = Static(ours == theirs)
        for key in a.items if result.obj else ():
            result = self.both(result, self.truth(self.compare_kind("equal", a.items[key], b.items[key], node)))
        return result


def in_order_of_a_set(keys: Any) -> list[Any]:
    """Keys in the order in which Python's own set gives them, which is not that of their arrival."""
    ordered: set[Any] = set()
    for key in keys:
        ordered.add(key)
    return list(ordered)
