"""Dicts and sets: those whose keys are known while specialising are containers; the others become objects.

Where a dict meets a key that is only known at run time, specialisation starts again, and what is made at that place is
a `Table` of the library: lists of keys and of values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.errors import MemoryProblem, TypeProblem
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import DynList, Learn, describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Scalar
from diffjit.primitives.library import tables


class Tables(Mixin):
    """Mixin of the interpreter: dicts and sets with keys that are only known at run time."""

    def known_key(self, ref: av.Ref | None, value: Any, node: Any = None) -> Any:
        """The key of a dict with known keys; starts again where it is only known at run time."""
        if isinstance(value, av.Opt):
            value = self.not_none(value)
        if self.object_key(value) is not None:
            return self.object_key(value)
        if isinstance(value, av.Ref) and not self.is_growing(value) and not self.is_node_key(value):
            raise self.unsupported("DJ123", f"{describe(self.contents(value))} as a dict key", node)
        if not self.is_run_time_key(value):
            return self.static_key(value, node)
        site = None if ref is None else self.contents(ref).site
        in_short_loops = self.can_be_known(value) and all(
            source[0] == "loop" for number in numbers_in(value) for source in self.static_sources(number)
        )
        if in_short_loops or not self.may_tabulate(site):
            return self.static_key(value, node)
        raise Learn("tables", {site: self.can_be_known(value)})

    def may_have_none(self, value: Any) -> bool:
        """Whether a value is a dict whose keys are known, of which None may be one."""
        return isinstance(value, av.Ref) and isinstance(self.contents(value), av.DictC)

    def object_key(self, value: Any) -> Any:
        """What an object is a key by that equals itself alone: what it is outside, or a `Ref`; None of others."""
        cls = self.object_class(value)
        if cls is None or not self.compares_itself(cls):
            return None
        held, uid = self.contents(value), self.sites.twins.get(value.uid, value.uid)
        if held.origin is not None:
            return held.origin[0]
        return av.Ref(uid) if uid in self.sites.made else None

    def is_node_key(self, value: Any) -> bool:
        """Whether a node is a key: one that equals itself alone, which the number says that stands for it."""
        return isinstance(value, av.Handle) and isinstance(value.kind, type) and self.compares_itself(value.kind)

    def compares_itself(self, cls: type) -> bool:
        """Whether an object of a class equals itself alone."""
        asked = {"__eq__": object.__eq__, "__hash__": object.__hash__}
        return not self.compares_by_fields(cls, "equal") and all(
            self.class_lookup(cls, name) is plain for name, plain in asked.items()
        )

    def is_run_time_key(self, value: Any) -> bool:
        """A key that is only known at run time."""
        if isinstance(value, av.Tup):
            return any(map(self.is_run_time_key, value.items))
        if isinstance(value, av.Ref):
            return self.object_key(value) is None
        return isinstance(value, (Value, av.Sum, av.Opt))

    def may_tabulate(self, site: Any) -> bool:
        """Whether what is made at a place may be given run-time keys by another attempt."""
        return site is not None and bool(site[0]) and site not in {**self.learned.tables, **self.learned.spelled}

    def can_be_known(self, key: Any) -> bool:
        """Whether writing loops out or fixing arguments would make a key known."""
        numbers = numbers_in(key)
        return bool(numbers) and all(map(self.can_be_static, numbers))

    def tabulated(self, contents: av.DictC) -> av.Ref:
        """A new dict or set for keys that are only known at run time."""
        if contents.is_set:
            ref = self.instantiate(tables.RunTimeSet, [], {}, self.here)
            for item in contents.items.values():
                self.call_method(ref, "add", [item])
            return ref
        factory = Static(None) if contents.factory is None else contents.factory
        ref = self.instantiate(tables.Table, [factory], {}, self.here)
        for key, value in contents.items.items():
            self.call_method(ref, "enter", [self.lift_static(key), value])
        return ref

    def is_table(self, value: Any) -> bool:
        """A dict with keys that are only known at run time."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return isinstance(held, av.ObjC) and issubclass(held.cls, tables.Table)

    def is_run_time_set(self, value: Any) -> bool:
        """A set with items that are only known at run time."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return isinstance(held, av.ObjC) and held.cls is tables.RunTimeSet

    @core(tables.growing)
    def empty_growing_list(self) -> av.Ref:
        """An empty list that grows."""
        ref = self.new(av.ListC(()))
        self.make_dynamic(ref)
        return ref

    def unordered(self, iterable: Any) -> Any:
        """What a set holds, for those who do not mind the order."""
        if self.is_disordered(iterable):
            return self.disordered[iterable.uid][1]
        if self.is_run_time_set(iterable):
            return self.get_attribute(iterable, "kept_keys")
        held = self.keyed(iterable)
        return av.Tup(tuple(map(self.lift_static, held.items))) if held is not None and held.is_set else iterable

    def list_of_set(self, value: av.Ref) -> av.Ref:
        """`list(items)` of a set without an order: only to be sorted, and by those who do not mind the order."""
        ref = self.copy_list(self.get_attribute(value, "kept_keys"))
        cure = "sort it where it is made: sorted(...)"
        kept, poison = av.Ref(), av.Poison("a list of a set's items, in an order of Python's own", cure=cure)
        self.cells["h", kept.uid], self.cells["h", ref.uid] = self.contents(ref), poison
        self.disordered[ref.uid] = poison, kept
        return ref

    def is_disordered(self, value: Any) -> bool:
        """Whether a list has the items of a set still as they came from there."""
        found = self.disordered.get(value.uid) if isinstance(value, av.Ref) else None
        return found is not None and self.cells.get(("h", value.uid)) is found[0]

    def take_any_order(self, ref: av.Ref) -> None:
        """From here on, the items have an order."""
        self.cells["h", ref.uid] = self.contents(self.disordered[ref.uid][1])

    def make_dict(self, pairs: list[tuple[Any, Any]], node: Any = None) -> av.Ref:
        """A new dict of these keys and values; a value without a key is another dict."""
        if any(self.is_run_time_key(k) or (k is None and self.is_table(v)) for k, v in pairs):
            made = self.new(av.DictC({}))
            if not self.is_table(made):
                raise Learn("tables", {self.contents(made).site: False})
            for key, value in pairs:
                if key is None:
                    self.call_method(made, "update", [value])
                else:
                    self.set_item(made, key, value, node)
            return made
        items: dict[Any, Any] = {}
        for key, value in pairs:
            items.update(self.dict_contents(value, node).items if key is None else {self.static_key(key, node): value})
        return self.new(av.DictC(items))

    def make_set(self, items: list[Any], node: Any = None) -> av.Ref:
        """A new set of these items."""
        if any(self.is_run_time_key(i) for i in items):
            made = self.new(av.DictC({}, is_set=True))
            for item in items:
                self.builtin_method_of(made, "add", item)
            return made
        return self.new(av.DictC({self.static_key(i, node): i for i in items}, is_set=True))

    def builtin_method_of(self, ref: av.Ref, name: str, *args: Any) -> Any:
        """`ref.name(...)`."""
        return self.call(self.get_attribute(ref, name), list(args), {})

    def set_factory(self, ref: av.Ref, factory: Any) -> None:
        """Make a dict a defaultdict."""
        held = self.contents(ref)
        if isinstance(held, av.DictC):
            none = is_none(factory)
            self.write(ref, replace(held, factory=None if none else factory))
        else:
            self.set_attribute(ref, "made_by", factory)

    @for_each
    def equal_keys(self, a: Any, b: Any, node: Any = None) -> Any:
        """Whether two keys are the same."""
        if isinstance(a, av.Opt) or isinstance(b, av.Opt):
            return self._equal_or_none(a, b, node) if isinstance(a, av.Opt) else self._equal_or_none(b, a, node)
        told = isinstance(a, Static) and isinstance(b, Static)  # a dtype equals its name
        told = told or self.is_opaque(a) or self.is_opaque(b)  # which may be a text
        if not told and self.is_sequence(a) != self.is_sequence(b) and not (self.is_text(a) and self.is_text(b)):
            return Static(False)
        return self.truth(self.compare_kind("equal", a, b, node))

    def same_item(self, a: Any, b: Any, node: Any = None) -> Any:
        """Whether Python takes an item of a list or tuple for another one: one object is itself, NaN too."""
        if a is b or (isinstance(a, Static) and isinstance(b, Static) and a.obj is b.obj):
            return Static(True)
        equal = self.equal_keys(a, b, node)
        if _may_be_nan(a) and _may_be_nan(b) and not (_is_new(a) and _is_new(b)):
            both = self.both(self.ew("not_equal", a, a), self.ew("not_equal", b, b))
            self.refuse_if(
                both, NotImplementedError, "NaN among items that are NaN, be they one object or two: use isnan"
            )
        return equal

    def _equal_or_none(self, a: av.Opt, b: Any, node: Any) -> Any:
        """Whether what may be None is the same as another key."""
        none = lambda: Static(False) if isinstance(b, Value) else self.equal_keys(NONE, b, node)  # noqa: E731
        return self.truth(self.choose(a.is_none, none, lambda: self.equal_keys(a.value, b, node)))

    def is_growing(self, value: Any) -> bool:
        """A list whose length is only known at run time."""
        return isinstance(value, av.Ref) and isinstance(self.contents(value), DynList)

    def no_form(self, ref: av.Ref, held: av.Poison) -> Exception:
        """What to raise where it is asked what an object holds of which nobody knows that."""
        if self.is_disordered(ref):
            return self.no_order(None)
        cure = held.cure or "keep one name for the object, or copy it"
        return self.unusable(held, self.error(MemoryProblem("DJ402", f"this is {held.reason}", cure=cure)))

    def no_order(self, node: Any) -> TypeProblem:
        """Iteration over a set."""
        message = "iteration over a set whose items are only known at run time, in an order of Python's own"
        return self.unsupported("DJ115", message, node, "iterate over sorted(...) of it")


def _may_be_nan(value: Any) -> bool:
    """Whether a number may be NaN."""
    if isinstance(value, Static):
        return isinstance(value.obj, float | np.floating) and bool(np.isnan(value.obj))
    return isinstance(value, Value) and isinstance(value.type, Scalar) and value.type.dtype.kind == "f"


def _is_new(value: Any) -> bool:
    """Whether a number is a constant, or an object of its own: one for each time that an array's element is read."""
    return isinstance(value, Static) or (value.op is not None and value.op.kind == "load")


def numbers_in(value: Any) -> list[Value]:
    """The run-time numbers of a key."""
    if isinstance(value, av.Tup):
        return [v for i in value.items for v in numbers_in(i)]
    return [value] if isinstance(value, Value) else []
