"""Operators on sets and dicts, whose keys are known; comparisons of ranges and slices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.frontend.objects.order import (
    OrderUnknown,
    after,
    given_of,
    hangs_on_compiling,
    has_lasting_hash,
    in_order,
    kept_constant,
    next_of,
)  # fmt: skip
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn, objects_among
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.primitives.library import tables

_OPERATORS = {
    "bitwise_or": "union", "bitwise_and": "intersection", "subtract": "difference",
    "bitwise_xor": "symmetric_difference", "equal": "__eq__", "less": "__lt__", "less_equal": "__le__",
    "greater": "__gt__", "greater_equal": "__ge__",
}  # fmt: skip
_OF_NUMPY = np.generic | np.ndarray
_MAKING = frozenset(list(_OPERATORS)[:4])
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

    def is_keys(self, value: Any) -> bool:
        """What `keys()` or `items()` of a dict gives, which is a set where operators meet it."""
        return isinstance(value, av.Iter) and value.kind == "view" and value.parts[1].obj in ("keys", "items")

    def combine_sets(self, kind: str, left: Any, right: Any) -> Any:
        """`|`, `&`, `-` and `^`; None where they are not those of sets and dicts."""
        if kind in _MAKING and (self.is_keys(left) or self.is_keys(right)):
            sets = self.py_set(left), self.py_set(right)
            made = self.set_method(sets[0], _OPERATORS[kind], sets[1])
            if isinstance(held := self.contents(made), av.DictC):
                given = [self._given(v, s) for v, s in zip((left, right), sets, strict=True)]
                self.write(made, replace(held, past=(("of_keys", kind, *given),)))
            return made
        a, b = self.keyed(left), self.keyed(right)
        if a is None or b is None or a.is_set != b.is_set:
            return None
        if not a.is_set:
            return self.new(av.DictC({**a.items, **b.items})) if kind == "bitwise_or" else None
        return self.set_method(left, _OPERATORS[kind], right) if kind in _OPERATORS else None

    def combine_in_place(self, kind: str, ref: av.Ref, other: Any) -> Any:
        """`|=`, `&=`, `-=` and `^=`: the dict or set; None where they are not those of sets and dicts."""
        self.mind_keys_of(ref, other)
        joined, held = self.combine_sets(kind, ref, other), self.contents(ref)
        if joined is None or held.cls is frozenset:  # another set takes its name, and this one stays as it is
            return joined
        name = "update" if kind == "bitwise_or" else f"{_OPERATORS[kind]}_update"
        past = after(held, name, self._given(other, other)) if held.is_set else None
        self.write(ref, replace(held, items=self.contents(joined).items, past=past))
        return ref

    def _given(self, value: Any, made: av.Ref) -> tuple[str, Any]:
        """An operand, and the set that was made of it, for those who do again what was done."""
        if self.is_keys(value):
            return ("keys", tuple(self.contents(made).items))
        held = self.keyed(value)
        return ("list", tuple(self.contents(made).items)) if held is None else given_of(held)

    def set_method(self, ref: av.Ref, name: str, *others: Any) -> Any:
        """What Python's own sets of these keys give: another set, or a truth value."""
        sets = [ref, *map(self.py_set, others)]
        if any(map(self.is_run_time_set, sets)):
            known = ref if self.is_run_time_set(ref) else self.tabulated(self.contents(ref))
            return self.call_method(known, name, sets[1:])
        held = [self.contents(s).items for s in sets]
        found = getattr(set(held[0]), name)(*map(set, held[1:]))
        if isinstance(found, bool):
            return Static(found)
        past = after(self.contents(ref), name, *map(self._given, others, sets[1:]))
        kept = {k: next(items[k] for items in held if k in items) for k in found}
        return self.new(av.DictC(kept, is_set=True, cls=self.contents(ref).cls, past=past))

    def change_set(self, ref: av.Ref, name: str, *others: Any) -> Any:
        """`intersection_update` and the like."""
        sets = tuple(map(self.py_set, others))
        for other in sets:
            self.mind_keys_of(ref, other)
        made, held = self.set_method(ref, CHANGING[name], *sets), self.contents(ref)
        if self.is_run_time_set(made):
            cure = "use a set made inside the function, with numbers or tuples of numbers as items"
            raise self.unsupported("DJ123", "a set changes by one whose items are only known at run time", None, cure)
        past = after(held, name, *map(self._given, others, sets))
        self.write(ref, replace(held, items=self.contents(made).items, past=past))
        return NONE

    def displayed_set(self, ref: av.Ref) -> av.Ref:
        """A new set that stands in the program: Python makes one of constants out of a frozenset that it keeps."""
        held, function = self.contents(ref), self.frames[-1].fn.scope.pyfunc
        kept = isinstance(held, av.DictC) and function is not None and kept_constant(function.__code__, held)
        if kept:
            self.write(ref, replace(held, past=(("update", ("constant", kept)),)))
            self.portable = self.portable and not hangs_on_compiling(kept, held)
        return ref

    def note_update(self, ref: av.Ref, before: Any, other: Any) -> None:
        """A set has got the items of another set, or of a dict, which Python enters all at once."""
        held, given = self.contents(ref), self.keyed(other)
        if given is not None and isinstance(held, av.DictC) and isinstance(before, av.DictC):
            self.write(ref, replace(held, past=after(before, "update", given_of(given))))

    def set_order(self, held: av.DictC) -> list[Any]:
        """The keys of a set in the order of Python's own."""
        self.portable = self.portable and (len(held.items) <= 1 or all(map(has_lasting_hash, held.items)))
        try:
            return in_order(held)
        except OrderUnknown:
            problem = "iteration over a set that was made of too many others to know Python's order"
            raise self.unsupported("DJ115", problem, None, "iterate over sorted(...) of it") from None

    def set_pop(self, ref: av.Ref) -> Any:
        """Take the item that Python's own set of these keys gives."""
        held = self.contents(ref)
        if not held.items:
            self.out_of_range("pop from an empty set", KeyError)
            return NONE
        if len(held.items) > 1 and objects_among(held.items):
            raise self.unsupported(
                "DJ115", "`pop` of a set of objects, whose order is Python's own", None, "use a list"
            )
        self.set_order(held)
        key = next_of(held)
        self.write(ref, replace(held, items={k: v for k, v in held.items.items() if k != key}, past=after(held, "pop")))
        return held.items[key]

    def compare_bounds(self, kind: str, left: Any, right: Any, node: Any) -> Any:
        """A comparison of a range or slice, but with arrays and NumPy's numbers; None for anything else."""
        left, right = (_bounds(v) for v in (left, right))
        classes = [self.class_of(v) if isinstance(v, av.Range | av.Slice) else None for v in (left, right)]
        if classes == [None, None]:
            return None
        other = right if classes[0] else left
        unlike = classes[0] is not classes[1]
        if unlike and isinstance(other, Value | Static) and self.ask(other, lambda cls: issubclass(cls, _OF_NUMPY)):
            return None
        if kind == "not_equal":
            return self.logical_not(self.compare_bounds("equal", left, right, node))
        if kind == "equal" and unlike:
            return Static(False)
        if classes == [slice, slice]:
            return self.compare_kind(kind, *(av.Tup((v.start, v.stop, v.step)) for v in (left, right)), node)
        if kind != "equal":
            names = " and ".join(f"'{self.class_of(v).__name__}'" for v in (left, right))
            self.raise_if(Static(True), TypeError, av.inexact(f"an order of instances of {names}"))
        return self.truth(self.call_plain(tables.same_range, left, right, node=node))

    def compare_keyed(self, kind: str, left: Any, right: Any, node: Any) -> Any:
        """A comparison of sets, or of dicts; None for anything else."""
        left, right = (self.py_set(v) if self.is_keys(v) else v for v in (left, right))
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


def _bounds(value: Any) -> Any:
    """A range or slice from outside as one of the program's."""
    known = value.obj if isinstance(value, Static) else None
    if isinstance(known, range | slice):
        return (av.Range if isinstance(known, range) else av.Slice)(*map(Static, (known.start, known.stop, known.step)))
    return value
