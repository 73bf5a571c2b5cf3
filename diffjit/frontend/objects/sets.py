"""Operators on sets and dicts, whose keys are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import NONE, Static

_OPERATORS = {
    "bitwise_or": "union", "bitwise_and": "intersection", "subtract": "difference",
    "bitwise_xor": "symmetric_difference", "equal": "__eq__", "less": "__lt__", "less_equal": "__le__",
    "greater": "__gt__", "greater_equal": "__ge__",
}  # fmt: skip
SET_METHODS = frozenset({*list(_OPERATORS.values())[:4], "issubset", "issuperset", "isdisjoint"})
CHANGING = {f"{name}_update": name for name in ("intersection", "difference", "symmetric_difference")}


class SetOperators(Mixin):
    """Mixin of the interpreter: sets and dicts as operands."""

    def keyed(self, value: Any) -> av.DictC | None:
        """The contents of a dict or set; None for anything else."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return held if isinstance(held, av.DictC) else None

    def met_keys(self, left: Any, right: Any) -> tuple[Any, Any]:
        """Operands, of which a dict or set has keys of the run where the other one has."""
        return self._as_other(left, right), self._as_other(right, left)

    def _as_other(self, value: Any, other: Any) -> Any:
        held = self.keyed(value)
        if held is not None and (self.is_run_time_set(other) if held.is_set else self.is_table(other)):
            return self.tabulated(held)
        return value

    def mind_keys_of(self, ref: av.Ref, other: Any) -> None:
        """A dict or set that changes by another one with keys of the run has such keys as well."""
        site = self.contents(ref).site
        if self._as_other(ref, other) is not ref and self.may_tabulate(site):
            raise Learn("tables", {site: False})

    def combine_sets(self, kind: str, left: Any, right: Any) -> Any:
        """`|`, `&`, `-` and `^`; None where they are not those of sets and dicts."""
        a, b = self.keyed(left), self.keyed(right)
        if a is None or b is None or a.is_set != b.is_set:
            return None
        if not a.is_set:
            return self.new(av.DictC({**a.items, **b.items})) if kind == "bitwise_or" else None
        return self.set_method(left, _OPERATORS[kind], right) if kind in _OPERATORS else None

    def set_method(self, ref: av.Ref, name: str, *others: Any) -> Any:
        """What Python's own sets of these keys give: another set, or a truth value."""
        sets = [ref, *map(self.py_set, others)]
        if any(map(self.is_run_time_set, sets)):
            return self.call_method(self.tabulated(self.contents(ref)), name, sets[1:])
        held = [self.contents(s).items for s in sets]
        found = getattr(set(held[0]), name)(*map(set, held[1:]))
        if isinstance(found, bool):
            return Static(found)
        kept = {k: next(items[k] for items in held if k in items) for k in found}
        return self.new(av.DictC(kept, is_set=True, cls=self.contents(ref).cls))

    def change_set(self, ref: av.Ref, name: str, *others: Any) -> Any:
        """`intersection_update` and the like."""
        sets = tuple(map(self.py_set, others))
        for other in sets:
            self.mind_keys_of(ref, other)
        made = self.set_method(ref, CHANGING[name], *sets)
        self.write(ref, replace(self.contents(ref), items=self.contents(made).items))
        return NONE

    def compare_keyed(self, kind: str, left: Any, right: Any, node: Any) -> Any:
        """A comparison of sets, or of dicts; None for anything else."""
        a, b = self.keyed(left), self.keyed(right)
        if a is None and b is None:
            return None
        if kind == "not_equal":
            return self.logical_not(self.compare_keyed("equal", left, right, node))
        if a is None or b is None or a.is_set != b.is_set:
            return Static(False) if kind == "equal" else None
        if a.is_set:
            return self.set_method(left, _OPERATORS[kind], right)
        if kind != "equal":
            return None
        result: Any = Static(set(a.items) == set(b.items))
        for key in a.items:
            if isinstance(result, Static) and not result.obj:
                break
            x, y = a.items[key], b.items[key]  # what is one object is equal, which an array would not say of itself
            result = result if x is y else self.both(result, self.truth(self.compare_kind("equal", x, y, node)))
        return result


def in_order_of_a_set(keys: Any) -> list[Any]:
    """Keys in the order in which Python's own set gives them, which is not that of their arrival."""
    ordered: set[Any] = set()
    for key in keys:
        ordered.add(key)
    return list(ordered)
