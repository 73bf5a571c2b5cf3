"""Values that go into and out of recursive functions: objects go by their contents, lists that grow as arrays.

A recursive function is a program of its own, which knows numbers and arrays alone. Whatever it changes outside comes
back with its result, and is written where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import join_items, same_items
from diffjit.frontend.values.leaves import list_types
from diffjit.frontend.values.nodes import kinds_among, learn_arenas
from diffjit.frontend.values.templates import Bad, Boxed, DynList, Learn, Node, OptT, Same, kind_of, rebuild, split
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, INT, Array, List, Scalar, Sym, fresh_lengths

ALIAS = "may be one that was given to a recursive function, or that it gave back, and another name for it is in use"


class Unportable(Exception):
    """A value that cannot be taken along; the text says why."""


class Portable(Mixin):
    """Mixin of the interpreter: packing and unpacking."""

    def pack(self, value: Any, seen: list[int], kept: frozenset[int] = frozenset()) -> Any:
        """A value without references, except to objects in `kept`; the objects met are entered into `seen`."""
        if isinstance(value, av.Opt) and refers(value.value):
            return self.fork(value.is_none, lambda: av.NONE, lambda: self.pack(value.value, seen, kept))
        if isinstance(value, av.Opt):
            return value
        if isinstance(value, av.Handle):
            return value
        if isinstance(value, av.Ref):
            if value.uid in self.sites.outside or value.uid in kept:
                return value
            if value.uid in seen:
                raise Unportable("an object is reached there under two names")
            seen.append(value.uid)
            return self.pack_contents(value.uid, seen, kept)
        if isinstance(value, av.Sum | av.Iter | av.Maybe) and refers(value):
            raise Unportable("objects chosen at run time are passed along")
        if kind_of(value) is None:
            return value
        return rebuild(value, tuple(self.pack(part, seen, kept) for part in split(value)))

    def pack_contents(self, uid: int, seen: list[int], kept: frozenset[int] = frozenset()) -> Any:
        """What an object holds, without references."""
        held, site = self.sites.held(self.cells, uid), self.sites.of.get(uid)
        if isinstance(held, av.Poison):
            raise Unportable(f"an object is {held.reason}")
        if not isinstance(held, DynList):
            return av.Packed(held, tuple(self.pack(part, seen, kept) for part in split(held)), site)
        try:
            return av.Packed(held, tuple(a for x in held.lists for a in self.list_to_arrays(x)), held.site)
        except Unportable:
            kinds = kinds_among(held.elem.node) if isinstance(held.elem, Boxed) else ()
            if new := [kind for kind in kinds if kind not in self.learned.arenas]:
                raise learn_arenas(new) from None  # objects that hold arrays: numbers can stand for them
            raise

    def list_to_arrays(self, items: Value) -> list[Value]:
        """The numbers of a list; of a list of lists, their lengths and what they hold one after the other."""
        elem = items.type.elem  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(elem, Scalar):
            return [self.numbers_of(items, elem)]
        if not isinstance(elem, List):
            raise Unportable("a list of arrays, whose length is only known at run time, is passed along")
        lengths = self.build.value("list_new", (), List(INT))
        joined = self.build.value("list_new", (), elem)

        def enter(k: Value) -> None:
            inner = self.build.value("list_get", [items, k], fresh_lengths(elem))
            n = self.build.value("list_len", [inner], INT)
            self.build.op("list_append", [lengths, n])
            self.counted(
                n,
                lambda j: self.build.op(
                    "list_append", [joined, self.build.value("list_get", [inner, j], fresh_lengths(elem.elem))]
                ),
            )

        self.counted(self.build.value("list_len", [items], INT), enter)
        return [self.numbers_of(lengths, INT), *self.list_to_arrays(joined)]

    def numbers_of(self, items: Value, elem: Scalar) -> Value:
        """An array of the numbers in a list."""
        n = self.build.value("list_len", [items], INT)
        out = self.build.value("empty", [n], Array(elem.dtype, (Sym(),), "C"))

        def store(k: Value) -> None:
            self.build.op("store", [out, self.build.value("list_get", [items, k], fresh_lengths(elem)), k])

        self.counted(n, store)
        return out

    def fill_list(self, target: Value, arrays: Iterator[Value]) -> None:
        """Append what `list_to_arrays` gave to an empty list; lists in it stay the same lists."""
        array, elem = next(arrays), target.type.elem  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(elem, List):
            self.counted(
                self.number(self.dim(array, 0)),
                lambda k: self.build.op("list_append", [target, self.element_of(array, k, elem)]),
            )
            return
        joined = self.build.value("list_new", (), elem)
        self.fill_list(joined, arrays)
        old = self.build.value("list_len", [target], INT)
        start: Any = Static(0)

        def enter(place: Any, k: Value) -> Any:
            n = self.element_of(array, k, INT)
            is_old = self.build.value("less", [k, old], BOOL)
            inner = self.build.value("list_new", (), elem)

            def new() -> None:
                self.refill(inner, joined, place, n)
                self.build.op("list_append", [target, inner])

            self.when(
                is_old,
                lambda: self.refill(self.build.value("list_get", [target, k], fresh_lengths(elem)), joined, place, n),
                new,
            )
            return self.ew("add", place, n)

        rows = av.Range(Static(0), self.dim(array, 0), Static(1))
        name = ("t", next(self._uids))
        self.cells[name] = start

        def row(k: Any) -> None:
            self.cells[name] = enter(self.cells[name], self.number(k))

        self.iterate(rows, row, None, key=("rows", name))
        del self.cells[name]

    def refill(self, target: Value, source: Value, place: Any, n: Value) -> None:
        """Give a list the items of another one from a place on."""
        elem = target.type.elem  # pyright: ignore[reportAttributeAccessIssue]
        self.empty_list(target)

        def append(j: Value) -> None:
            item = self.build.value("list_get", [source, self.number(self.ew("add", place, j))], fresh_lengths(elem))
            self.build.op("list_append", [target, item])

        self.counted(n, append)

    def empty_list(self, target: Value) -> None:
        """Take all items out of a list."""
        elem = target.type.elem  # pyright: ignore[reportAttributeAccessIssue]
        n = self.build.value("list_len", [target], INT)
        self.counted(n, lambda _: self.build.value("list_pop", [target, self.build.const(-1)], elem))

    def element_of(self, array: Value, k: Value, elem: Any) -> Value:
        """An element of an array in the type of a list's items."""
        number = self.build.value("load", [array, k], Scalar(array.type.dtype))  # pyright: ignore[reportAttributeAccessIssue]
        return number if number.type == elem else self.build.value("cast", [number], elem)

    def taken_out(self, value: Any) -> Any:
        """The value again, with objects made anew."""
        if isinstance(value, av.Opt) and holds_packed(value.value):
            return self.fork(value.is_none, lambda: av.NONE, lambda: self.taken_out(value.value))
        if isinstance(value, av.Opt):
            return value
        if isinstance(value, av.Packed):
            ref = av.Ref()
            self.sites.of[ref.uid] = value.site
            self.cells["h", ref.uid] = self.contents_taken_out(value)
            return ref
        if kind_of(value) is None:
            return value
        return rebuild(value, tuple(self.taken_out(part) for part in split(value)))

    def contents_taken_out(self, value: av.Packed) -> Any:
        """What an object holds, from its packed form."""
        if not isinstance(value.like, DynList):
            return rebuild(value.like, tuple(self.taken_out(part) for part in value.parts))
        lists = tuple(self.build.value("list_new", (), ty) for ty in list_types(value.like.elem))
        arrays = iter(value.parts)
        for target in lists:
            self.fill_list(target, arrays)
        return replace(value.like, lists=lists)

    def restore(self, uid: int, value: av.Packed) -> None:
        """Give an object the contents that a recursive function left in it."""
        held = self.sites.held(self.cells, uid)
        if isinstance(held, DynList):
            arrays = iter(value.parts)
            for target in held.lists:
                if not isinstance(target.type.elem, List):  # pyright: ignore[reportAttributeAccessIssue]
                    self.empty_list(target)
                self.fill_list(target, arrays)
            return
        parts: list[Any] = []
        for old, new in zip(self._old_parts(held, value), value.parts, strict=True):
            if isinstance(old, av.Ref) and isinstance(new, av.Packed):
                self.restore(old.uid, new)
                parts.append(old)
            else:
                parts.append(self.taken_out(new))
        self.cells["h", uid] = rebuild(replace(value.like, frozen=getattr(held, "frozen", "")), tuple(parts))

    def _old_parts(self, held: Any, value: av.Packed) -> tuple[Any, ...]:
        same = kind_of(held) == kind_of(value.like)
        return split(held) if same else (None,) * len(value.parts)


def refers(value: Any) -> bool:
    """Whether a value has references to objects in it."""
    if isinstance(value, av.Ref):
        return not isinstance(value, av.Handle)
    if isinstance(value, av.Opt | av.Maybe):
        return refers(value.value)
    if isinstance(value, av.Sum):
        return any(map(refers, value.variants))
    return kind_of(value) is not None and any(map(refers, split(value)))


def holds_packed(value: Any) -> bool:
    """Whether a value has packed objects in it."""
    if isinstance(value, av.Opt):
        return holds_packed(value.value)
    return isinstance(value, av.Packed) or (kind_of(value) is not None and any(map(holds_packed, split(value))))


def widen_lists(a: Any, b: Any) -> None:
    """Two forms of what goes into or out of a recursive function: lists among them must have one form."""
    if isinstance(a, OptT) or isinstance(b, OptT):
        a, b = (t.inner if isinstance(t, OptT) else t for t in (a, b))
    if not (isinstance(a, Node) and isinstance(b, Node)):
        return
    if _is_packed_list(a) and _is_packed_list(b) and (a.kind != b.kind or a.kind[0] == "packed list"):
        elems = [t.like.like.elem if isinstance(t.like.like, DynList) else None for t in (a, b)]
        elem = join_items(*elems)
        for node, own in zip((a, b), elems, strict=True):
            static = not isinstance(node.like.like, DynList)
            if (static or not same_items(own, elem)) and not isinstance(elem, Bad) and node.like.site is not None:
                raise Learn("lists", {node.like.site: elem})
    elif a.kind == b.kind:
        for x, y in zip(a.children, b.children, strict=True):
            widen_lists(x, y)


def refers_differently(a: Any, b: Any) -> bool:
    """Whether two forms refer to objects outside, and not to the same ones."""
    if isinstance(a, OptT) or isinstance(b, OptT):
        a, b = (t.inner if isinstance(t, OptT) else t for t in (a, b))
    refs = [t.value.uid if isinstance(t, Same) and isinstance(t.value, av.Ref) else None for t in (a, b)]
    if refs != [None, None]:
        return refs[0] != refs[1]
    if isinstance(a, Node) and isinstance(b, Node) and len(a.children) == len(b.children):
        return any(map(refers_differently, a.children, b.children))
    return any(isinstance(t, Node) and any(refers_differently(c, None) for c in t.children) for t in (a, b))


def _is_packed_list(node: Node) -> bool:
    return isinstance(node.like, av.Packed) and isinstance(node.like.like, DynList | av.ListC)
