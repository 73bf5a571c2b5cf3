"""Lists, tuples and dicts: those of known length are containers of values, those that grow at run time are IR lists."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.errors import MemoryProblem
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.control import SHARED
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import item_template, join_all, join_items, same_items
from diffjit.frontend.values.leaves import instantiate, item_leaves, list_types
from diffjit.frontend.values.mixed import BECOME_FLOATS
from diffjit.frontend.values.nodes import ListsOf, kind_of_nodes, kinds_among
from diffjit.frontend.values.templates import (
    PART_OF_TUPLE,
    Bad,
    Boxed,
    Changeable,
    DynList,
    ItemOf,
    Learn,
    Side,
    describe,
    stands_for_tuple,
)
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import INT, Array, fresh_lengths
from diffjit.primitives.library import containers


class Lists(Mixin):
    """Mixin of the interpreter: sequences and dicts."""

    # The heap

    def new(self, contents: Any, apart: str = "") -> av.Ref:
        """A new object on the heap; `apart`: what tells a list from others of other items that this line makes."""
        ref = av.Ref()
        self.sites.made.add(ref.uid)
        site = self.sites.of[ref.uid] = (self.call_path, (apart, self.place()) if apart else self.place())
        if isinstance(contents, av.DictC):
            if site in self.learned.tables:
                return self.tabulated(contents)
            contents = replace(contents, site=site)
        self.cells["h", ref.uid] = contents
        if isinstance(contents, av.ObjC) and (kind := kind_of_nodes(contents)) is not None:
            self.sites.classes[ref.uid] = kind
        if isinstance(contents, av.ListC) and site in self.sites.hints:
            self.make_dynamic(ref)  # an earlier attempt found that it grows at run time
        return self.settled_in(ref) if isinstance(contents, av.DictC) else ref

    def grows(self, ref: av.Ref) -> Learn:
        """What to raise where a list has to be one that grows at run time."""
        return Learn("lists", {self.sites.of[ref.uid]: None})

    def held(self, ref: av.Ref) -> Any:
        """What is known of an object's contents: of one that lives in a list, where."""
        if (draft := self.draft(ref)) is not None:
            return self.held(draft)
        if isinstance(ref, av.Handle):
            return self.list_of(ref) if isinstance(ref.kind, ListsOf) else ItemOf(ref.arena, ref.index)
        if ref.uid in self.sites.classes and ("h", ref.uid) not in self.cells and ref.uid not in self.sites.outside:
            problem = "this object may be one that another turn of the loop has made"
            cure = "keep the objects in a list"
            kind = self.sites.classes[ref.uid]
            raise self.in_arenas((kind,), self.error(MemoryProblem("DJ402", problem, cure=cure)))
        return self.sites.held(self.cells, ref.uid)

    def contents(self, ref: av.Ref) -> Any:
        """What an object holds now."""
        if ref.uid in self.namespaces:
            self.refuse_assigned(ref)
        held = self.held(ref)
        if isinstance(held, av.Poison):
            raise self.no_form(ref, held)
        if not isinstance(held, ItemOf):
            return held
        return self.without_late(self.read_item(ref, held)) if isinstance(ref, av.Handle) else self.read_item(ref, held)

    def write(self, ref: av.Ref, contents: Any) -> None:
        """Change what an object holds."""
        held = self.contents(ref)
        item = self.held(ref)
        if isinstance(item, ItemOf) and not item.frozen:
            self.write_item(ref, item, self.with_late(contents) if isinstance(ref, av.Handle) else contents)
            return
        reason = getattr(item, "frozen", "")
        if isinstance(reason, Changeable):
            raise reason.again  # pyright: ignore[reportGeneralTypeIssues] - an exception
        if reason == SHARED and not self.learned.apart:
            raise Learn("apart", {SHARED})
        if reason and self.write_attributes(ref, held, contents):
            return
        if reason:
            cure = "make a new object instead of changing this one, or change it before"
            error = self.error(MemoryProblem("DJ402", f"{describe(held)} is changed here, but it {reason}", cure=cure))
            raise self.in_arenas(kinds_among(held), error)
        if ref.uid in self.sites.outside:
            raise self.outside_change(ref, held, contents)
        if ref.uid in self.before:
            self.learn_attributes(ref, held, contents)
        self.cells["h", ref.uid] = contents

    def write_attributes(self, ref: av.Ref, held: Any, contents: Any) -> bool:
        """`self.__dict__.update(...)`, `self.__dict__[name] = ...`: attributes are set; False of other dicts."""
        owner = self.dict_owners.get(ref.uid)
        if owner is None or not isinstance(contents, av.DictC):
            return False
        if not contents.items.keys() >= held.items.keys():
            raise self.unsupported("DJ101", "items of an object's `__dict__` are deleted", None, "del self.name")
        for name, value in contents.items.items():
            if held.items.get(name) is not value:
                self.set_own_attribute(owner, name, value)
        self.cells["h", ref.uid] = replace(contents, frozen=held.frozen)
        return True

    def update_dicts(self, owner: av.Ref, name: str, value: Any) -> None:
        """What `owner.__dict__` has given shows an attribute that was set since."""
        for uid, ref in self.dict_owners.items():
            held = self.cells.get(("h", uid))
            if ref == owner and isinstance(held, av.DictC):
                self.cells["h", uid] = replace(held, items={**held.items, name: value})

    def remember_choice(self, found: av.Ref, owner: av.Ref) -> None:
        """Where an object that was chosen by a run-time index comes from, in case that it is changed."""
        held, container = self.held(found), self.held(owner)
        if getattr(held, "frozen", "") != SHARED or owner.uid in self.sites.outside:
            return
        if isinstance(container, av.ListC):
            again: Exception = self.grows(owner)
        elif isinstance(container, av.DictC) and self.may_tabulate(container.site):
            again = Learn("tables", {container.site: False})
        else:
            return
        self.cells["h", found.uid] = replace(held, frozen=Changeable(SHARED, again))

    # Items of growing lists that are changed in place

    def is_live(self, held: DynList) -> bool:
        """Whether the items of a growing list are objects that live in it."""
        return held.site in self.learned.live and isinstance(held.elem, Boxed)

    def only_grows(self, held: Any, node: Any = None) -> None:
        """Refuse what would give an object in a list another place, or a second one."""
        if isinstance(held, DynList) and self.is_live(held):
            problem = "a list whose items are objects that are changed later is itself changed or copied here"
            raise self.error(MemoryProblem("DJ402", problem, cure="keep the objects' numbers in arrays"), node)

    def changes_list(self, held: DynList) -> None:
        """Refuse a change of a list that may be another one, too."""
        if isinstance(held.frozen, Changeable):
            raise held.frozen.again  # pyright: ignore[reportGeneralTypeIssues] - an exception
        if held.frozen:
            cure = "make a new list instead of changing this one: list(...)"
            problem = f"a list is changed here, but it {held.frozen}"
            if stands_for_tuple(held):
                problem = "a tuple is changed here, whose length is only known at run time"
            raise self.error(MemoryProblem("DJ402", problem, cure=cure))

    def item_reference(self, owner: av.Ref, index: Value) -> av.Ref:
        """A reference to an item of a live list."""
        ref = av.Ref()
        length = self.number(self.length(owner))
        wrapped = self.ew("add", index, length)
        place = self.build.value("select", [self.compare_kind("less", index, Static(0)), wrapped, index], INT)
        self.cells["h", ref.uid] = ItemOf(owner, place)
        return ref

    def read_item(self, ref: av.Ref, item: ItemOf) -> Any:
        """The contents of an item, as they are now."""
        held = self.contents(item.owner)
        leaves = iter([self.take("list_get", x, item.index) for x in held.lists])
        found = self.last_read[ref.uid] = instantiate(held.elem.node, leaves, self.cells)
        return found

    def write_item(self, ref: av.Ref, item: ItemOf, contents: Any) -> None:
        """Change those parts of an item that are not what was read last."""
        held, before = self.contents(item.owner), self.last_read[ref.uid]
        new = self.leaves_or_wider(held, self._unnamed(contents))
        if new is None:
            return
        old = self.elem_leaves(held, self._unnamed(before))
        for target, a, b in zip(held.lists, old, new, strict=True):
            if a is not b:
                self.build.op("list_set", [target, b, item.index])

    def _unnamed(self, contents: Any) -> av.Ref:
        ref = av.Ref()
        self.cells["h", ref.uid] = contents
        return ref

    # Sequences of any kind

    def is_sequence(self, value: Any) -> bool:
        """A list or tuple (of known or unknown length), or a string."""
        if isinstance(value, av.Tup):
            return True
        if isinstance(value, av.Ref):
            return isinstance(self.contents(value), (av.ListC, DynList))
        return isinstance(value, Static) and isinstance(value.obj, (list, tuple, str))

    def sequence_operator(self, kind: str, left: Any, right: Any, node: Any) -> Any:
        """`+` and `*` on lists and tuples."""
        if isinstance(left, (Value,)) and kind == "add":
            return None
        if kind == "add":
            plain = [self.is_sequence(v) for v in (left, right)]
            if any(isinstance(v, Value | Static) and not p for v, p in zip((left, right), plain, strict=True)):
                return None
            if not all(plain):
                message = f"Python has no `add` of {self.in_words(left)} and {self.in_words(right)}"
                raise self.type_problem("DJ309", message, node, cure="make a list of it first", python=TypeError)
            if (isinstance(left, av.Ref) and isinstance(self.contents(left), DynList)) or (
                isinstance(right, av.Ref) and isinstance(self.contents(right), DynList)
            ):
                result = self.copy_list(left)
                self.list_extend(result, right, node)
                return result
            items = (*self.sequence_items(left, node), *self.sequence_items(right, node))
            return av.Tup(items) if isinstance(left, av.Tup) else self.new(av.ListC(items))
        sequence, count = (left, right) if self.is_sequence(left) else (right, left)
        if isinstance(count, Value) and isinstance(count.type, Array):
            return None
        if isinstance(count, Static) and not isinstance(count.obj, (int, np.integer)):
            return None
        if isinstance(count, Value) and count.type.dtype.kind not in "biu":
            cure = f"use int(...); {BECOME_FLOATS}"
            raise self.type_problem(
                "DJ308", f"a list is repeated {describe(count)} times", node, cure=cure, python=TypeError
            )
        if isinstance(sequence, av.Ref):
            held = self.contents(sequence)
            if isinstance(held, DynList):
                self.only_grows(held)
                return self.call_plain(containers.repeated, sequence, count, node=node)
            if isinstance(count, Value) and not self.can_be_static(count):
                return self.repeat_list(sequence, count, node)
        held = tuple(self.sequence_items(sequence, node))
        items = held * self.static_int(count, "the length of a list or tuple", node)
        return av.Tup(items) if isinstance(sequence, av.Tup) else self.new(av.ListC(items))

    def repeat_in_place(self, ref: av.Ref, count: Any, node: Any) -> None:
        """`items *= count`."""
        held = self.contents(ref)
        if isinstance(held, av.ListC) and isinstance(count, Value) and not self.can_be_static(count):
            held = self.make_dynamic(ref)
        if isinstance(held, DynList):
            self.only_grows(held)
            self.call_plain(containers.repeat_in_place, ref, count, node=node)
            return
        times = self.static_int(count, "the length of a list or tuple", node)
        self.write(ref, replace(held, items=held.items * times))

    def repeat_list(self, sequence: av.Ref, count: Value, node: Any) -> Any:
        """`[x] * n` with n known only at run time."""
        items = self.sequence_items(sequence, node)
        result = self.new(av.ListC(()))
        self.iterate(
            av.Range(Static(0), count, Static(1)),
            lambda _: [self.list_append(result, i) for i in items],
            node,
            key=("repeat", self.place()),
        )
        return result

    def container_truth(self, value: Any, node: Any) -> Any:
        """Non-emptiness."""
        if isinstance(value, av.Ref) and isinstance(self.contents(value), av.ObjC):
            cls = self.contents(value).cls
            for dunder in ("__bool__", "__len__"):
                if self.class_has(cls, dunder):
                    return self.truth(self.call_method(value, dunder, []), node)
            return Static(True)
        length = self.length(value, node)
        return Static(length.obj > 0) if isinstance(length, Static) else self.compare_kind("greater", length, Static(0))

    def length(self, value: Any, node: Any = None) -> Any:
        """len()."""
        value = self.certain(value)
        if isinstance(value, Static) and self.wrong_type(value) is None:
            return Static(len(value.obj))
        if isinstance(value, av.Tup):
            return Static(len(value.items))
        if isinstance(value, Value) and isinstance(value.type, Array):
            if value.type.ndim == 0:
                raise self.type_problem("DJ308", "len() of a 0-d array", node, python=TypeError)
            return self.dim(value, 0)
        if isinstance(value, av.Range):
            return self.trip(value.start, value.stop, value.step)
        if isinstance(value, av.Iter) and value.kind == "view":
            return Static(len(self.getters(value, node)))
        if isinstance(value, av.Iter) and value.claimed and value.kind == "map":
            return self.length(value.parts[1], node)
        if isinstance(value, av.Ref):
            held = self.contents(value)
            if isinstance(held, (av.ListC, av.DictC)):
                return Static(len(held.items))
            if isinstance(held, DynList):
                return Static(0) if held.elem is None else self.build.value("list_len", [held.lists[0]], INT)
            return self.call_method(value, "__len__", [])
        if isinstance(value, av.Format):
            number = next(p[0] for p in value.parts if not isinstance(p, str))
            error = self.type_problem("DJ307", "the length of this text must be known before the program runs", node)
            raise self.need_static(number, error) if isinstance(number, Value) else error
        raise self.type_problem("DJ308", f"len() of {describe(value)}", node, python=self.wrong_type(value))

    # Growing lists

    def list_append(self, ref: av.Ref, value: Any) -> Any:
        """`list.append`."""
        held = self.contents(ref)
        if isinstance(held, av.ListC):
            self.write(ref, replace(held, items=(*held.items, value)))
        else:
            self.changes_list(held)
            leaves = self.leaves_or_wider(held, value)
            for target, leaf in zip(held.lists, leaves, strict=True) if leaves is not None else ():
                self.build.op("list_append", [target, leaf])
        return NONE

    def leaves_or_wider(self, held: DynList, value: Any) -> list[Value] | None:
        """A value as an item of a growing list; None where the list must be able to hold other items to hold it.

        Specialisation will start again with those. This attempt goes on, without the item, to learn what else lists
        must hold.
        """
        elem = self.common_items(held.elem, item_template(value, self.cells, self.sites))
        if not same_items(elem, held.elem):
            self.sites.note_wider(held.site, elem)
            return None
        side = Side(self.cells, self.build, self.sites)
        leaves = item_leaves(value, elem, side)
        self.part_with(self.cells, side.copied, live=self.is_live(held))
        return leaves

    def wider_lists(self) -> dict[Any, Any]:
        """Where lists are made that have to hold other items -> these.

        What has nothing in common with others is left to the next attempt, which refuses it at its place.
        """

        def both(first: Any, second: Any) -> Any:
            found = join_items(first, second)
            return first if isinstance(found, Bad) else found

        return {site: functools.reduce(both, elems) for site, elems in self.sites.wider.items()}

    def common_items(self, first: Any, second: Any) -> Any:
        elem = join_items(first, second)
        if isinstance(elem, Bad):
            cure = "keep one type of item per list"
            error = self.type_problem("DJ304", f"the items of a growing list differ: {elem.reason}", cure=cure)
            raise self.in_arenas(elem.kinds, error)
        return elem

    def elem_leaves(self, held: DynList, value: Any) -> list[Value]:
        """A value as an item of a growing list, without which the attempt cannot go on."""
        leaves = self.leaves_or_wider(held, value)
        if leaves is None:
            raise Learn("lists", self.wider_lists())
        return leaves

    def make_dynamic(self, ref: av.Ref) -> DynList:
        """Turn a list of known length into a growing one, in place."""
        held = self.contents(ref)
        if isinstance(held, DynList):
            return held
        site = self.sites.of.get(ref.uid)
        elem = join_all(item_template(i, self.cells, self.sites) for i in held.items)
        elem = self.common_items(self.sites.hints.get(site), elem)
        self.write(ref, self.dynamic(held.items, elem, site))
        return self.contents(ref)

    def dynamic(self, items: Any, elem: Any, site: Any) -> DynList:
        """A growing list with these items at first."""
        lists = tuple(self.build.value("list_new", (), ty) for ty in list_types(elem))
        result = DynList(lists, elem, site)
        for item in items:
            for target, leaf in zip(lists, self.elem_leaves(result, item), strict=True):
                self.build.op("list_append", [target, leaf])
        return result

    def is_cut(self, held: Any, index: Any) -> bool:
        """Whether a list of known length is cut at a place that is only known at run time."""
        bounds = (index.start, index.stop, index.step) if isinstance(index, av.Slice) else ()
        return isinstance(held, av.ListC) and any(isinstance(b, Value) and not self.can_be_static(b) for b in bounds)

    def as_growing(self, held: av.ListC) -> av.Ref:
        """A growing list with the items of a list of known length."""
        made = self.new(av.ListC(held.items))
        self.make_dynamic(made)
        return made

    def part_of_tuple(self, part: av.Ref) -> av.Ref:
        """A tuple whose length the run decides: a list that nobody changes, and that does not show that it is one."""
        self.write(part, replace(self.make_dynamic(part), frozen=PART_OF_TUPLE))
        return part

    def same_kind(self, held: DynList, found: Any, index: Any) -> Any:
        """What is taken of a list: a part of a part of a tuple is one again."""
        return self.part_of_tuple(found) if stands_for_tuple(held) and isinstance(index, av.Slice) else found

    def is_part_of_tuple(self, value: Any) -> bool:
        """Whether a list stands for a tuple."""
        return isinstance(value, av.Ref) and stands_for_tuple(self.contents(value))

    def list_and_tuple(self, *both: Any) -> bool:
        """Whether these are a list for sure, and a tuple: what was read, or may be empty instead, may be either."""
        held = [self.contents(v) if isinstance(v, av.Ref) else v for v in both]
        is_list = any(isinstance(h, av.ListC | DynList) and not h.frozen for h in held)
        return is_list and any(isinstance(h, av.Tup) or stands_for_tuple(h) for h in held)

    def joined_parts(self, kind: str, left: Any, right: Any, node: Any) -> av.Ref:
        """An operator where a tuple has a length that the run decides: `+` of tuples."""
        if kind != "add" or not all(isinstance(v, av.Tup) or self.is_part_of_tuple(v) for v in (left, right)):
            self.no_part_of_tuple(left)
            self.no_part_of_tuple(right)
        made = self.new(av.ListC(()))
        for part in (left, right):
            self.list_extend(made, part, node)
        return self.part_of_tuple(made)

    def no_part_of_tuple(self, value: Any) -> None:
        """Refuse such a tuple where it shows that a list stands for it."""
        if self.is_part_of_tuple(value):
            problem = "a tuple whose length is only known at run time is used as a whole"
            raise self.type_problem("DJ307", problem, cure="go through its items, or keep them in a list or array")

    def made_growing(self, ref: av.Ref, index: Any) -> Any:
        """The contents of a list or another object; a list that is cut is a growing one from here on."""
        held = self.contents(ref)
        return self.make_dynamic(ref) if self.is_cut(held, index) else held

    def copy_list(self, value: Any) -> av.Ref:
        """list(x) of a list."""
        held = self.contents(value)
        self.only_grows(held)
        if isinstance(held, DynList):
            lists = tuple(self.build.value("list_copy", [x], x.type) for x in held.lists)
            return self.new(DynList(lists, held.elem, held.site))
        return self.new(av.ListC(held.items))

    def collect(self, iterable: Any, node: Any = None, *, in_turn: bool = False, apart: str = "") -> Any:
        """The items of any iterable: those of a new list."""
        try:
            return self.new(av.ListC(tuple(self.sequence_items(iterable, node))), apart)
        except UnknownLength:
            pass
        result = self.new(av.ListC(()), apart)
        block, first = self.build.block, len(self.build.block.ops)
        self.iterate(iterable, lambda item: self.list_append(result, item), node, key=("collect", self.place()))
        self.refuse_endless(block.ops[first:], iterable, node, in_turn=in_turn)
        return result

    def list_extend(self, ref: av.Ref, items: Any, node: Any = None) -> Any:
        """`list.extend`."""
        held = self.contents(ref)
        if isinstance(held, av.ListC):
            try:
                self.write(ref, replace(held, items=(*held.items, *self.sequence_items(items, node))))
            except UnknownLength:
                pass
            else:
                return NONE
        if isinstance(items, av.Ref) and isinstance(self.contents(items), DynList):  # perhaps the list that grows
            items = self.by_place(items, Static(0), self.length(items))
        self.iterate(items, lambda item: self.list_append(ref, item), node, key=("extend", self.place()))
        return NONE

    def list_set(self, ref: av.Ref, held: av.ListC, index: Any, value: Any, node: Any) -> None:
        """`list[index] = value`."""
        items = list(held.items)
        if isinstance(index, av.Slice):
            part = self.static_slice(index, node)
            try:
                items[part] = self.sequence_items(value, node)
            except UnknownLength:
                self.set_part(ref, part, index, self.collect(value, node), node)
                return
            except ValueError as error:
                self.out_of_range(str(error), ValueError)
        elif isinstance(index, Value):
            if self.can_be_static(index):
                self.static_int(index, "this index into a list", node)
            self.make_dynamic(ref)
            self.dyn_set(ref, index, value, node)
            return
        else:
            k = self.static_int(index, "the index", node)
            if not -len(items) <= k < len(items):
                self.out_of_range("list assignment index out of range")
            items[k] = value
        self.write(ref, replace(held, items=tuple(items)))

    def set_part(self, ref: av.Ref, part: slice, index: av.Slice, new: av.Ref, node: Any) -> None:
        """`list[index] = new`, where nobody knows how many items are new."""
        held = self.contents(ref)
        start, stop, step = part.indices(len(held.items))
        if step != 1:
            self.make_dynamic(ref)
            self.dyn_set(ref, index, new, node)
            return
        self.write(ref, replace(held, items=held.items[:start]))
        self.list_extend(ref, new, node)
        for item in held.items[max(start, stop) :]:
            self.list_append(ref, item)

    def out_of_range(self, message: Any, exception: type = IndexError) -> None:
        """A failure that is certain: Python would raise here."""
        self.raise_if(Static(True), exception, message)

    def dyn_index(self, ref: av.Ref, index: Any) -> Value:
        """An index into a growing list; inside a `try`, its range is tested first."""
        value = self.number(index)
        if self.catches(IndexError):
            length = self.number(self.length(ref))
            low = self.ew("greater_equal", value, self.ew("negative", length))
            self.guard(
                self.ew("logical_and", low, self.ew("less", value, length)), IndexError, "list index out of range"
            )
        return value

    def dyn_get(self, ref: av.Ref, index: Any, node: Any = None) -> Any:
        """An item of a growing list."""
        held = self.contents(ref)
        if isinstance(index, av.Slice):
            return self.dyn_slice(ref, held, index, node)
        if held.elem is None:
            self.out_of_range("list index out of range")
        i = self.dyn_index(ref, index)
        if self.is_live(held):
            return self.item_reference(ref, i)
        item = self.item_of(held, [self.take("list_get", x, i) for x in held.lists])
        if isinstance(held.elem, Boxed) and held.site is not None:
            found = self.cells["h", item.uid]
            self.cells["h", item.uid] = replace(found, frozen=Changeable(found.frozen, Learn("live", {held.site})))
        return item

    def take(self, kind: str, items: Value, index: Value) -> Value:
        """An item of an IR list; two items have one type, but nothing is known of their lengths."""
        return self.build.value(kind, [items, index], fresh_lengths(items.type.elem))

    def item_of(self, held: DynList, leaves: list[Value]) -> Any:
        """An item from its leaves."""
        return instantiate(held.elem, iter(leaves), self.cells)

    def dyn_slice(self, ref: av.Ref, held: DynList, index: av.Slice, node: Any) -> Any:
        """A slice of a growing list is a new list."""
        if self.is_live(held):
            low, high = self.call_plain(
                containers.bounds, *split_slice(index)[:2], Static(1), self.length(ref), node=node
            ).items
            if not is_none(index.step) and getattr(index.step, "obj", 0) != 1:
                self.only_grows(held, node)
            return self.by_place(ref, low, high)
        return self.call_plain(containers.list_slice, ref, *split_slice(index), node=node)

    def call_plain(self, function: Any, *args: Any, node: Any) -> Any:
        """Call a function of the library; where it raises for certain, what stands around the call is not reached."""
        found = self.call_fn(self.fn_of(function), list(args), {}, node)
        self.stop_where_left()
        return found

    def dyn_set(self, ref: av.Ref, index: Any, value: Any, node: Any) -> None:
        """`list[index] = value` in a growing list."""
        held = self.contents(ref)
        self.only_grows(held, node)
        self.changes_list(held)
        if isinstance(index, av.Slice):
            if not is_none(index.step) and getattr(index.step, "obj", 0) != 1:
                parts = index.start, index.stop, index.step
                self.call_plain(containers.assign_stepped, ref, *parts, value, node=node)
                return
            self.call_plain(containers.assign_slice, ref, index.start, index.stop, value, node=node)
            return
        i = self.dyn_index(ref, index)
        leaves = self.leaves_or_wider(held, value)
        for target, leaf in zip(held.lists, leaves, strict=True) if leaves is not None else ():
            self.build.op("list_set", [target, leaf, i])

    def dyn_pop(self, ref: av.Ref, index: Any = Static(-1)) -> Any:
        """`list.pop` of a growing list."""
        held = self.contents(ref)
        self.only_grows(held)
        self.changes_list(held)
        if held.elem is None:
            self.out_of_range("pop from empty list")
        i = self.dyn_index(ref, index)
        return self.item_of(held, [self.take("list_pop", x, i) for x in held.lists])

    def dyn_clear(self, ref: av.Ref) -> None:
        """Empty a growing list."""
        self.only_grows(self.contents(ref))
        self.changes_list(self.contents(ref))
        for target in self.contents(ref).lists:
            n = self.build.value("list_len", [target], INT)
            self.counted(n, lambda _, x=target: self.build.value("list_pop", [x, self.build.const(-1)], x.type.elem))

    def dyn_replace(self, ref: av.Ref, source: av.Ref) -> None:
        """Give a growing list the items of another one of the same length, in place."""
        held, given = self.contents(ref), self.make_dynamic(source)
        self.only_grows(held)
        self.changes_list(held)
        for target, items in zip(held.lists, given.lists, strict=True):
            n = self.build.value("list_len", [target], INT)
            elem = target.type.elem

            def put(i: Value, x: Value = target, y: Value = items, ty: Any = elem) -> None:
                self.build.op("list_set", [x, self.build.value("list_get", [y, i], ty), i])

            self.counted(n, put)

    def dict_contents(self, value: Any, node: Any) -> av.DictC:
        """The contents of a dict."""
        value = self.plain_dict(value)
        if isinstance(value, av.Ref) and isinstance(self.contents(value), av.DictC):
            return self.contents(value)
        raise self.type_problem("DJ308", f"{describe(value)} is used where a dict is needed", node)


def split_slice(index: av.Slice) -> tuple[Any, Any, Any]:
    """Start, stop and step."""
    return tuple(NONE if is_none(part) else part for part in (index.start, index.stop, index.step))  # type: ignore[return-value]
