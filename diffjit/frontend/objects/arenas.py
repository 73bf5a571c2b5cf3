"""Arenas: lists in which all objects of a class live, or all dicts with the same keys, where these hold one another.

Of a linked list, or a tree that is made while the program runs, nobody knows how deep it is. So a reference to one of
its nodes is a number: the place of the node in the list of all objects of its class, which only grows. Attributes are
read from there and written there. An attempt at a specialisation finds out which classes need that (`Learned.arenas`),
and what their attributes are (`Learned.lists`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from diffjit.errors import DiffjitError
from diffjit.frontend.syntax.control import reachable
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import item_template, join_items, same_items
from diffjit.frontend.values.leaves import convert, instantiate, leaf_types, list_types
from diffjit.frontend.values.nodes import ListsOf, kind_of_nodes, learn_arenas
from diffjit.frontend.values.portable import refers
from diffjit.frontend.values.templates import Bad, Boxed, Cells, DynList, Learn, Node, Side, rebuild, split, with_parts
from diffjit.frontend.values.values import NONE, UNBOUND, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import INT, List, Scalar, Type, fresh_lengths


class Arenas(Mixin):
    """Mixin of the interpreter: objects that live in lists of their classes."""

    def open_arenas(self) -> None:
        """Make the lists, before anything else."""
        for kind, ref in self.learned.arenas.items():
            site = self.sites.of[ref.uid] = ("arena", kind)
            elem = self.sites.hints.get(site)
            lists = tuple(self.build.value("list_new", (), ty) for ty in list_types(elem))
            self.cells["h", ref.uid] = DynList(lists, elem, site)
            self.lent_nodes.pop(ref.uid, None)

    def arenas_within(self, start: Cells, function: str, node: Any) -> Cells:
        """Make the lists of an inner program; of nodes that are in use around it, it has copies, to read.

        Where these hold lists, it has them as they are, which is refused for a function that derivatives are taken of.
        Returns the cells at its start that are not its own.
        """
        around, arenas = reachable(start), {ref.uid for ref in self.learned.arenas.values()}
        outside = {uid: self.contents(av.Ref(uid)) for uid in arenas & around}
        self.open_arenas()
        with_lists = any(isinstance(x.type.elem, List) for held in outside.values() for x in held.lists)
        if with_lists and function:
            problem = f"{function} uses objects that hold lists and one another, and were made outside"
            raise self.unsupported("DJ125", problem, node, "make them inside, or hand over numbers and arrays")
        for uid, held in outside.items():
            self.cells["h", uid] = held
            if not with_lists:
                lists = tuple(self.build.value("list_copy", [x], x.type) for x in held.lists)
                self.cells["h", uid] = replace(held, lists=lists)
                self.lent_nodes[uid] = self.build.value("list_len", [lists[0]], INT)
        return {key: held for key, held in start.items() if key[0] != "h" or key[1] not in arenas}

    def unfinished(self, cls: type) -> av.Handle | None:
        """A place in the arena for an object whose `__init__` puts it into others, and is still to run."""
        held = self.cells.get(("h", self.learned.arenas[cls].uid)) if cls in self.learned.early else None
        if held is None:
            return None
        if held.elem is None:
            self.drafts[cls] = self.blank(cls)
        index = self.number(self.length(self.learned.arenas[cls]))
        for target in held.lists:
            self.build.op("list_append", [target, self.nothing(target.type.elem)])
        handle = av.Handle(kind=cls, arena=self.learned.arenas[cls], index=index)
        for name in self._late(cls) if held.elem is not None else ():
            self._store_attribute(handle, name, NONE)
        return handle

    def draft(self, owner: Any) -> av.Ref | None:
        """What stands for an object whose kind has no form yet: this attempt is there to learn it."""
        known = not isinstance(owner, av.Handle) or owner.kind not in self.drafts
        return None if known or self.contents(owner.arena).elem is not None else self.drafts[owner.kind]

    def nothing(self, ty: Type) -> Value:
        """What stands in an attribute before it is set."""
        if isinstance(ty, Scalar):
            return self.build.const(ty.dtype.type(0), ty)
        if isinstance(ty, List):
            return self.build.value("list_new", (), ty)
        return self.build.value("empty", [self.build.const(0)] * ty.ndim, fresh_lengths(ty))

    def settled_in(self, ref: av.Ref) -> av.Ref:
        """A new object, which moves into the arena of its kind if that has one."""
        if isinstance(ref, av.Handle) and (draft := self.draft(ref)) is not None:
            self._settle(ref.kind, ref.arena, draft)
        if isinstance(ref, av.Handle) or not self.learned.arenas:
            return ref
        kind = kind_of_nodes(self.cells["h", ref.uid])
        arena = self.learned.arenas.get(kind)
        if arena is None:
            return ref
        if isinstance(kind, type) and ref.uid in reachable(self.cells):
            raise Learn("early", {kind})
        return self._settle(kind, arena, ref)

    def _settle(self, kind: Any, arena: av.Ref, ref: av.Ref) -> av.Handle:
        held = self.cells["h", ref.uid]
        if isinstance(held, av.ObjC) and (
            unset := {n for n, v in held.fields.items() if _may_lack(v)} - self._late(kind)
        ):
            raise Learn("late", {(kind, name) for name in unset})
        named = zip(_names(held), split(held), strict=True)
        held = rebuild(held, tuple(self.referred(kind, name, value) for name, value in named))
        self.cells["h", ref.uid] = self.with_late(held)
        return self._entered(kind, arena, ref)

    # Attributes that not all objects of a class have: they are None, or a tuple of the value

    def _late(self, kind: Any) -> set[str]:
        """The names of those that are set on some paths, or when the objects are there already."""
        return {name for cls, name in self.learned.late if cls is kind}

    def with_late(self, held: Any) -> Any:
        """What an object holds, in the form of those in its arena."""
        late = self._late(held.cls) if isinstance(held, av.ObjC) else ()
        if not late:
            return held
        return replace(held, fields={**held.fields, **{n: self._if_set(held.fields.get(n, UNBOUND)) for n in late}})

    def _if_set(self, value: Any) -> Any:
        if value is UNBOUND:
            return NONE
        if isinstance(value, av.Maybe):
            return self.fork(value.bound, lambda: av.Tup((value.value,)), lambda: NONE)
        return av.Tup((value,))

    def without_late(self, held: Any) -> Any:
        """What an object of an arena holds, in the form of any other object."""
        if not isinstance(held, av.ObjC):
            return held
        late = self._late(held.cls)
        return replace(held, fields={n: self._set_or_not(v) if n in late else v for n, v in held.fields.items()})

    def _set_or_not(self, found: Any) -> Any:
        if isinstance(found, av.Opt):
            return av.Maybe(self.logical_not(found.is_none), found.value.items[0])
        return UNBOUND if is_none(found) else found.items[0]

    def late_attribute(self, owner: av.Handle, name: str, node: Any) -> Any:
        """An attribute of a node that may have none, or that of its class."""
        value = self._set_or_not(self._attribute(owner, name))
        if not isinstance(value, av.Maybe):
            return self.class_attribute(owner, owner.kind, name, node) if value is UNBOUND else value
        if self.class_gives(owner.kind, name):
            return self.fork(
                value.bound, lambda: value.value, lambda: self.class_attribute(owner, owner.kind, name, node)
            )
        return self.bound(value, name, owner.kind)

    def has_late(self, owner: Any, name: str) -> Any:
        """Whether a node has an attribute, where that hangs on what was done to it; None of others."""
        if not isinstance(owner, av.Handle) or name not in self._late(owner.kind) or self.draft(owner) is not None:
            return None
        value = self._set_or_not(self._attribute(owner, name))
        if value is UNBOUND or isinstance(value, av.Maybe):
            of_class = self.class_has(owner.kind, name)
            return Static(of_class) if of_class or value is UNBOUND else value.bound
        return Static(True)

    # The arenas

    def _entered(self, kind: Any, arena: av.Ref, ref: av.Ref) -> av.Handle:
        index = self.number(self.length(arena))
        self.list_append(arena, ref)
        return av.Handle(kind=kind, arena=arena, index=index)

    def referred(self, kind: Any, name: Any, value: Any) -> Any:
        """What becomes an attribute: a list moves into the arena of the lists that are this attribute.

        It is known by its place there for good, whatever becomes of the attribute: so a function that calls itself may
        go through it, and a node may get another list.
        """
        if not self.learned.referred or isinstance(value, av.Handle):
            return value
        if isinstance(value, av.Opt) and refers(value.value):
            return self.fork(value.is_none, lambda: av.NONE, lambda: self.referred(kind, name, value.value))
        if not isinstance(value, av.Ref) or not isinstance(self.contents(value), av.ListC | DynList):
            return value
        of = ListsOf(kind, str(name))
        if of not in self.learned.arenas:
            raise Learn("arenas", {of: av.Ref()})
        return self._entered(of, self.learned.arenas[of], value)

    def list_of(self, ref: av.Handle) -> DynList:
        """A list that is an attribute of nodes."""
        held = self.contents(ref.arena)
        lists = tuple(self.take("list_get", x, ref.index) for x in held.lists)
        return DynList(lists, held.elem.elem, held.elem.site)

    def object_form(self, ref: av.Ref) -> Any:
        """What an object holds; of one in an arena, its class and the names of its attributes.

        Of the list of a set's items, a list of some order.
        """
        ref = self.draft(ref) or ref
        if isinstance(ref, av.Handle) and not isinstance(ref.kind, ListsOf):
            return self.arena_form(ref).like
        return self.contents(self.disordered[ref.uid][1] if self.is_disordered(ref) else ref)

    def arena_form(self, owner: av.Handle) -> Node:
        """The form of the objects in an arena."""
        return self.contents(owner.arena).elem.node

    def _lists_of(self, node: Node, name: str) -> tuple[int, slice]:
        """The place of an attribute among those of its class, and of its lists among those of the arena."""
        k = sorted(node.like.fields).index(name)
        first = sum(len([*leaf_types(child)]) for child in node.children[:k])
        return k, slice(first, first + len([*leaf_types(node.children[k])]))

    def handle_attribute(self, owner: av.Handle, name: str, node: Any) -> Any:
        """`owner.name`: that attribute alone is read."""
        if (draft := self.draft(owner)) is not None:
            return self.get_attribute(draft, name, node)
        form = self.arena_form(owner)
        if name not in form.like.fields:
            return self.class_attribute(owner, owner.kind, name, node)
        if name in self._late(owner.kind):
            return self.late_attribute(owner, name, node)
        return self._attribute(owner, name)

    def _attribute(self, owner: av.Handle, name: str) -> Any:
        form = self.arena_form(owner)
        k, place = self._lists_of(form, name)
        leaves = [self.take("list_get", x, owner.index) for x in self.contents(owner.arena).lists[place]]
        return instantiate(form.children[k], iter(leaves), self.cells)

    def set_handle_attribute(self, owner: av.Handle, name: str, value: Any) -> None:
        """`owner.name = value`: that attribute alone is written."""
        if (draft := self.draft(owner)) is not None:
            self.set_own_attribute(draft, name, value)
            return
        if name not in self.arena_form(owner).like.fields:
            raise Learn("late", {(owner.kind, name)})
        value = self.referred(owner.kind, name, value)
        self._store_attribute(owner, name, av.Tup((value,)) if name in self._late(owner.kind) else value)

    def _store_attribute(self, owner: av.Handle, name: str, value: Any) -> None:
        form, held = self.arena_form(owner), self.contents(owner.arena)
        if (lent := self.lent_nodes.get(owner.arena.uid)) is not None:
            message = "a node is changed by a function whose derivative is taken, and which has not made it"
            self.refuse_if(self.compare_kind("less", owner.index, lent), NotImplementedError, message)
        k, place = self._lists_of(form, name)
        child = join_items(form.children[k], item_template(value, self.cells, self.sites))
        if isinstance(child, Bad):
            problem = f"attribute `{name}` of objects of class `{owner.kind.__name__}` differs: {child.reason}"
            raise self.type_problem("DJ304", problem, cure="give the attribute one type")
        if not same_items(child, form.children[k]):
            children = (*form.children[:k], child, *form.children[k + 1 :])
            self.sites.note_wider(held.site, Boxed(with_parts(form, children)))
            return
        side = Side(self.cells, self.build, self.sites)
        for target, leaf in zip(held.lists[place], convert(value, child, side), strict=True):
            self.build.op("list_set", [target, leaf, owner.index])
        self.part_with(self.cells, side.copied, live=False)

    def in_arenas(self, kinds: Any, error: DiffjitError) -> Exception:
        """What to raise where objects of these kinds cannot be told apart: another attempt gives them arenas.

        Those from outside, whose attributes are read when they are needed, are read whole before they are joined.
        """
        unread = {h.origin[0].__class__ for h in self.sites.outside.values() if isinstance(h, av.ObjC) and h.origin}
        if unread := {cls for cls in unread if cls in kinds} - self.learned.whole:
            return Learn("whole", unread, error)
        new = [kind for kind in kinds if kind not in self.learned.arenas]
        early = {kind for kind in kinds if isinstance(kind, type)} - self.learned.early
        if not new and early:  # they are not there before their `__init__` has run
            return Learn("early", early, error)
        return learn_arenas(new, error) if new else error

    def same_handle(self, left: av.Handle, right: av.Handle) -> Any:
        """Whether two are one object."""
        return self.compare_kind("equal", left.index, right.index) if left.kind == right.kind else Static(False)


def _names(held: Any) -> tuple[Any, ...]:
    """The names of what an object holds, in the order of its parts."""
    return tuple(held.items) if isinstance(held, av.DictC) else tuple(sorted(held.fields))


def _may_lack(value: Any) -> bool:
    """Whether an object lacks an attribute on some paths."""
    return value is UNBOUND or isinstance(value, av.Maybe)
