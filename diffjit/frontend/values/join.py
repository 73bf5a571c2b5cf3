"""Joins what two control-flow paths know of a variable: the common template of two values."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.frontend.values import values as av
from diffjit.frontend.values.leaves import list_types
from diffjit.frontend.values.mixed import join_ints
from diffjit.frontend.values.nodes import kinds_among
from diffjit.frontend.values.templates import (
    PART_OF_TUPLE,
    Bad,
    Boxed,
    Cells,
    Const,
    Dyn,
    Heap,
    HeapAgain,
    Leaf,
    MaybeT,
    Node,
    OptT,
    Same,
    Sites,
    Sub,
    SumT,
    Template,
    describe,
    describe_type,
    fits,
    freshen,
    inside,
    same_object,
    same_value,
    shape,
    stands_for_tuple,
    transform,
    with_parts,
)
from diffjit.ir.build import scalar_type_of
from diffjit.ir.types import Array, List, Scalar, Sym, Type, join_dims, same
from diffjit.primitives.opaque.objects import Opaque

_APART = (av.Bound, "partial", "function", "tuple", "text")  # what may be one of several, each with its parts
OR_EMPTY_TUPLE = "may be an empty tuple instead"  # why such a list must not change
MOST_VARIANTS = 32  # of a sum; every use of it is interpreted once for each
_FEW_LENGTHS = 2  # of tuples that an argument of a recursive function may have: with more, the run decides


@dataclass(slots=True, eq=False)
class Joiner:
    """Merges templates; remembers which pairs of heap objects became one (each object pairs with one other)."""

    cells_a: Cells
    cells_b: Cells
    sites: Sites
    left: dict[int, int] = field(default_factory=dict)
    right: dict[int, int] = field(default_factory=dict)
    made: dict[int, int] = field(default_factory=dict)  # object of the left side -> the joined object
    contents: dict[int, Template] = field(default_factory=dict)  # joined object -> what it holds, or why there is none

    def merge(self, a: Any, b: Any) -> Template:
        """The common template of two abstract values (or templates)."""
        ta, tb = as_template(a), as_template(b)
        if isinstance(ta, Bad):
            return ta
        if isinstance(tb, Bad):
            return tb
        if isinstance(ta, MaybeT) or isinstance(tb, MaybeT):
            return MaybeT(self._inside(ta, tb, MaybeT))
        if isinstance(ta, OptT) or isinstance(tb, OptT) or is_none(ta) != is_none(tb):
            return OptT(self._inside(ta, tb, OptT))
        return self._merge(ta, tb)

    def merge_contents(self, uid: int, a: Any, b: Any) -> Template:
        """The common template of what one heap object holds on either side."""
        merged = self.merge(a, b)
        if isinstance(merged, Dyn):
            site = self.sites.of.get(uid, merged.site)
            return Dyn(join_items(self.sites.hints.get(site), merged.elem), site, merged.frozen)
        return merged

    def _inside(self, ta: Any, tb: Any, kind: type) -> Any:
        """Merge below an optional or maybe-unbound wrapper, where one side may be missing altogether."""
        ia, ib = (t.inner if isinstance(t, kind) else t for t in (ta, tb))
        if kind is OptT:
            ia, ib = (None if i is None or is_none(i) else i for i in (ia, ib))
        if ia is None or ib is None:
            return ib if ia is None else ia
        return self.merge(ia, ib)

    def _merge(self, ta: Any, tb: Any) -> Template:
        if isinstance(ta, Const) and isinstance(tb, Const) and same_object(ta.obj, tb.obj):
            return ta
        leaf_a, leaf_b = number_leaf(ta), number_leaf(tb)
        if leaf_a is not None and leaf_b is not None:
            joined = join_leaves(leaf_a, leaf_b)
            if not isinstance(joined, Bad):
                return joined
            self.sites.clashes = True
            return (self._sum(leaf_a, leaf_b) if self.sites.sums else None) or joined
        if is_reference(ta) and is_reference(tb):
            apart = (self.sites.apart or self._unlike(ta, tb)) and not self._same_reference(ta, tb)
            joined = (apart and self._sum(ta, tb)) or self._references(ta, tb)
            return (self._sum(ta, tb) or joined) if isinstance(joined, Bad) else joined
        if isinstance(ta, Same) and isinstance(tb, Same) and same_value(ta.value, tb.value):
            return ta
        if isinstance(ta, Node) and isinstance(tb, Node) and ta.kind == tb.kind:
            like = tb.like if getattr(tb.like, "frozen", "") else ta.like
            return Node(ta.kind, tuple(self.merge(x, y) for x, y in zip(ta.children, tb.children, strict=True)), like)
        if is_list(ta) and is_list(tb) and stands_for_tuple(ta) == stands_for_tuple(tb):
            elem = join_items(self._items(ta, self.cells_a), self._items(tb, self.cells_b))
            site, frozen = (getattr(ta, what, None) or getattr(tb, what, None) for what in ("site", "frozen"))
            return elem if isinstance(elem, Bad) else Dyn(elem, site, frozen or "")
        reason = f"{describe(ta)} on one path and {describe(tb)} on another"
        if leaf_a is not None or leaf_b is not None:  # a number, and a tuple or text
            self.sites.clashes = True
            if self.sites.sums:
                ta, tb = leaf_a or ta, leaf_b or tb
        return (
            self._of_the_run(ta, tb)
            or self._of_the_run(tb, ta)
            or self._sum(ta, tb)
            or self._or_nothing(ta, tb)
            or self._or_nothing(tb, ta)
            or self._sum(ta, tb, made=True)
            or Bad(
                reason,
                tables=dict_sites(ta, tb),
                kinds=(*self._kinds(ta, self.cells_a), *self._kinds(tb, self.cells_b)),
                turns=tuple(
                    self.sites.turns[i.serial]
                    for i in (getattr(t, "like" if isinstance(t, Node) else "value", None) for t in (ta, tb))
                    if isinstance(i, av.Iter) and i.serial in self.sites.turns
                ),
            )
        )

    def _kinds(self, t: Any, cells: Cells) -> tuple[Any, ...]:
        """The kinds of the object that a template is, refers to, or is a method of."""
        if isinstance(t, Node) and t.kind[0] is av.Bound:
            return self._kinds(t.children[0], cells)
        if isinstance(t, Heap):
            return kinds_among(t.contents)
        if isinstance(t, Same) and isinstance(t.value, av.Ref):
            return kinds_among(self.sites.found(cells, t.value.uid))
        return kinds_among(t)

    def _or_nothing(self, ta: Any, tb: Any) -> Heap | None:
        """A list that grows where the other path has `()`, as in `cells.get(key, ())`: that is an empty list then."""
        if not (isinstance(ta, Node) and ta.kind[0] == "tuple" and not ta.children):
            return None
        held = self._growing(tb)
        return held and Heap(_uid_for(tb), Dyn(held.elem, held.site, held.frozen or OR_EMPTY_TUPLE))

    def _of_the_run(self, ta: Any, tb: Any) -> Heap | None:
        """A tuple whose length the run decides, where the other path has one of a known length: one of them, then."""
        held = self._growing(tb) if isinstance(ta, Node) and ta.kind[:2] == ("tuple", None) else None
        if held is None or not stands_for_tuple(held):
            return None
        elem = of_any_length(ta, Sub(held.elem, None, PART_OF_TUPLE)) if ta.children else held.elem
        return elem and Heap(_uid_for(tb), Dyn(elem, held.site, PART_OF_TUPLE))

    def _growing(self, t: Any) -> Dyn | None:
        """What a reference to a list that grows holds; None of others."""
        if not is_reference(t):
            return None
        cells = self.cells_a if isinstance(t, Same) and ("h", uid_of(t)) not in self.cells_b else self.cells_b
        held = t.contents if isinstance(t, Heap) else shape(self.sites.held(cells, uid_of(t)))
        return held if isinstance(held, Dyn) else None

    def _sum(self, ta: Any, tb: Any, *, made: bool = False) -> SumT | None:
        """Things without a common form that can be told apart by a number.

        `made`: objects among them that one path makes, too; the other one has them as well then, without values. Not
        those that only Python knows: that path is refused when it is taken.
        """
        variants = list(ta.variants if isinstance(ta, SumT) else (ta,))
        for new in tb.variants if isinstance(tb, SumT) else (tb,):
            k = next((k for k, old in enumerate(variants) if fits(new, old)), None)
            if k is None:
                variants.append(new)
            elif isinstance(new, Node | Leaf):
                variants[k] = self.merge(variants[k], new)
        if len(variants) > MOST_VARIANTS or not all(self._told_apart(v, made=made) for v in variants):
            return None
        return SumT(tuple(variants))

    def _told_apart(self, t: Any, *, made: bool = False) -> bool:
        match t:
            case Const():
                return t.obj is not None and not av.is_number(t.obj)
            case Leaf():
                return self.sites.sums and isinstance(t.type, Array | Scalar)
            case Same() if isinstance(t.value, av.Ref):
                held = [cells.get(("h", t.value.uid)) for cells in (self.cells_a, self.cells_b)]
                known = [h is not None and not (made and getattr(h, "cls", None) is Opaque) for h in held]
                return t.value.uid in self.sites.outside or (any(known) if made else all(known))
            case Same():
                return isinstance(t.value, av.Fn | av.Method)
            case Node():
                return t.kind[0] in (av.Bound, "partial", "function", "tuple", "text", "handle") and all(
                    map(self._plain, t.children)
                )
            case _:
                return False

    def _plain(self, t: Any) -> bool:
        """A part that needs no joining of objects."""
        if isinstance(t, Node):
            return all(map(self._plain, t.children))
        return isinstance(t, Leaf | Const) or self._told_apart(t)

    def _same_reference(self, ta: Any, tb: Any) -> bool:
        return isinstance(ta, Same) and isinstance(tb, Same) and ta.value.uid == tb.value.uid

    def _unlike(self, ta: Any, tb: Any) -> bool:
        """Two objects of different classes."""
        held = [t.contents if isinstance(t, Heap) else self.sites.found(c, uid_of(t))
                for t, c in ((ta, self.cells_a), (tb, self.cells_b)) if not isinstance(t, HeapAgain)]  # fmt: skip
        classes = {getattr(getattr(h, "like", h), "cls", None) for h in held}
        return len(classes) > 1

    def _references(self, ta: Any, tb: Any) -> Template:
        """Two references: the same object, or two that the join makes one."""
        if isinstance(ta, Same) and isinstance(tb, Same) and ta.value.uid == tb.value.uid:
            return ta
        a, b = uid_of(ta), uid_of(tb)
        if self.left.get(a) == b:
            found = self.contents.get(self.made[a])
            return found if isinstance(found, Bad) else HeapAgain(self.made[a])
        if a in self.left or b in self.right:
            held = self.sites.found(self.cells_a, a), self.sites.found(self.cells_b, b)
            return Bad("different objects, whose other names differ between the paths", kinds=kinds_among(*held))
        uid = self.made[a] = a if isinstance(ta, (Heap, HeapAgain)) else av.Ref().uid
        self.left[a], self.right[b] = b, a
        held_a = ta.contents if isinstance(ta, Heap) else self.sites.found(self.cells_a, a)
        held_b = tb.contents if isinstance(tb, Heap) else self.sites.found(self.cells_b, b)
        if held_a is None or held_b is None:
            kinds = [self.sites.classes[uid] for uid in (a, b) if uid in self.sites.classes]
            bad = Bad("one of several objects, some of which a loop makes", kinds=tuple(dict.fromkeys(kinds)))
            self.contents[uid] = bad
            return bad
        self.sites.of.setdefault(uid, self.sites.of.get(a))
        for kind in kinds_among(held_a):
            self.sites.classes[uid] = kind
        merged = self.contents[uid] = self.merge_contents(uid, held_a, held_b)
        return merged if isinstance(merged, Bad) else Heap(uid, merged)

    def whole(self, templates: list[tuple[Any, Template]]) -> list[tuple[Any, Template]]:
        """Templates of one join, where contents stand again that only templates had that were given up for others."""
        if not self.made:
            return templates
        there = {part.uid for _, template in templates for part in inside(template) if isinstance(part, Heap)}
        return [(key, self._whole(template, there)) for key, template in templates]

    def _whole(self, template: Any, there: set[int]) -> Any:
        def contents(again: HeapAgain) -> Any:
            if again.uid in there or again.uid not in self.contents:
                return again
            there.add(again.uid)
            return Heap(again.uid, self._whole(self.contents[again.uid], there))

        return transform(template, lambda leaf: leaf, joined=contents)

    def _items(self, template: Any, cells: Cells) -> Any:
        if isinstance(template, Dyn):
            return template.elem
        return join_all(item_template(c, cells, self.sites) for c in template.children)


def _uid_for(reference: Any) -> int:
    """The object that a reference and something without one become."""
    return reference.uid if isinstance(reference, Heap) else av.Ref().uid


# Items of growing lists


def item_template(value: Any, cells: Cells, sites: Sites, around: tuple[int, ...] = ()) -> Template:
    """The form that a value takes inside a growing list: nothing is known of numbers, objects are held by content."""
    template = as_template(value)
    match template:
        case Leaf() | Const():
            leaf = number_leaf(template)
            return template if leaf is None else freshen(Leaf(leaf.type))
        case Node():
            return with_parts(template, (item_template(c, cells, sites, around) for c in template.children))
        case OptT():
            return OptT(item_template(template.inner, cells, sites, around))
        case SumT():
            return SumT(_in_order([item_template(v, cells, sites, around) for v in template.variants]))
        case Same() if isinstance(template.value, av.Ref):
            return _object_item(template.value.uid, shape(sites.held(cells, template.value.uid)), cells, sites, around)
        case Heap():
            return _object_item(template.uid, template.contents, cells, sites, around)
        case HeapAgain() if ("h", template.uid) in cells:
            kinds = kinds_among(sites.held(cells, template.uid))
            return Bad("an object with several names inside a growing list", kinds=kinds)
        case HeapAgain() | MaybeT():
            return Bad("an object with several names inside a growing list")
        case _:
            return template


def _object_item(uid: int, contents: Any, cells: Cells, sites: Sites, around: tuple[int, ...]) -> Template:
    if uid in around:
        kinds = kinds_among(contents)
        if any(("arena", kind) in sites.of.values() for kind in kinds):  # what is between them is the cause, then
            kinds = kinds_among(*(sites.held(cells, u) for u in around[around.index(uid) :]))
        return Bad("an object that holds itself inside a growing list", kinds=kinds)
    around = (*around, uid)
    if isinstance(contents, Bad):
        return contents
    if isinstance(contents, Dyn):
        return Sub(contents.elem, contents.site, PART_OF_TUPLE if stands_for_tuple(contents) else "")
    if isinstance(contents, Node) and contents.kind[0] == "item":
        kinds = kinds_among(sites.held(cells, contents.like.owner.uid).elem.node)
        return Bad("an object that is an item of another list already, and changed there", kinds=kinds)
    assert isinstance(contents, Node)
    items = tuple(item_template(c, cells, sites, around) for c in contents.children)
    if is_list(contents):
        site = sites.of.get(uid)
        elem = join_items(sites.hints.get(site), join_all(items))
        unlike = isinstance(elem, SumT) and site not in sites.hints
        sites.unlike |= unlike
        if not isinstance(elem, Bad) and not (unlike and sites.rows):
            return Sub(elem, site)
        if any(isinstance(i, Bad) for i in items) or site in sites.hints:
            return elem
        return Boxed(Node(contents.kind, items, contents.like))  # of unlike items: it keeps its length
    bad = next((i for i in items if isinstance(i, Bad)), None)
    return bad or Boxed(Node(contents.kind, items, contents.like))


def join_all(items: Any) -> Any:
    """The common form of several items; None of none."""
    elem: Any = None
    for item in items:
        elem = join_items(elem, item)
    return elem


def join_items(a: Any, b: Any) -> Any:
    """The common form of two items of a growing list; None is no item at all.

    What may be one of several things is numbered in an order that does not hang on which came first, so that lists
    that meet agree.
    """
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, Bad) or isinstance(b, Bad):
        return a if isinstance(a, Bad) else b
    if isinstance(a, OptT) or isinstance(b, OptT) or is_none(a) != is_none(b):
        inner = [t.inner if isinstance(t, OptT) else t for t in (a, b)]
        return OptT(join_all(i for i in inner if not is_none(i)))
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        joined = join_leaves(a, b)
        unlike = isinstance(joined, Bad) and _variant(a) and _variant(b)
        return SumT(_in_order([a, b])) if unlike else joined
    if isinstance(a, Const) and isinstance(b, Const) and same_object(a.obj, b.obj):
        return a
    if isinstance(a, Sub) and isinstance(b, Sub) and a.frozen == b.frozen:
        return Sub(join_items(a.elem, b.elem), a.site, a.frozen)
    if isinstance(a, Boxed) and isinstance(b, Boxed):
        node = join_items(a.node, b.node)
        return Boxed(node) if isinstance(node, Node) else node
    if isinstance(a, Node) and isinstance(b, Node) and a.kind == b.kind:
        return _whole(
            Node(a.kind, tuple(join_items(x, y) for x, y in zip(a.children, b.children, strict=True)), a.like)
        )
    if isinstance(a, Same) and isinstance(b, Same) and same_value(a.value, b.value):
        return a
    if all(map(_variant, (a, b))):
        distinct: list[Any] = []
        for v in [v for t in (a, b) for v in (t.variants if isinstance(t, SumT) else (t,))]:
            k = next((k for k, w in enumerate(distinct) if fits(v, w)), None)
            if k is None:
                distinct.append(v)
            elif isinstance(v, Leaf):
                distinct[k] = join_leaves(distinct[k], v)
        if len(distinct) <= MOST_VARIANTS and not any(isinstance(v, Bad) for v in distinct):
            return SumT(_in_order(distinct))
    elem = of_any_length(a, b)
    if elem is not None:
        return Sub(elem, None, PART_OF_TUPLE)
    nodes = (t.node if isinstance(t, Boxed) else t for t in (a, b))
    return Bad(f"{describe(a)} at one place and {describe(b)} at another", kinds=kinds_among(*nodes))


def of_any_length(*tuples: Any) -> Leaf | None:
    """What tuples of numbers hold, if it is one type: then they are one tuple whose length the run decides."""
    parts = [number_leaf(i) or i for i in _parts_of_tuples(*tuples)]
    if not parts or not all(isinstance(i, Leaf) and isinstance(i.type, Scalar) for i in parts):
        return None
    elem = join_all(parts) if len({i.type.dtype for i in parts}) == 1 else None  # an int would be a float
    return elem if isinstance(elem, Leaf) else None


def _parts_of_tuples(*tuples: Any) -> list[Any]:
    """What tuples hold that have no class of their own, of lengths that are known or that the run decides."""
    found: list[Any] = []
    for t in (v for whole in tuples for v in (whole.variants if isinstance(whole, SumT) else (whole,))):
        if isinstance(t, Node) and t.kind[:2] == ("tuple", None):
            found += t.children
        elif t in tuples and isinstance(t, Sub) and stands_for_tuple(t):
            found += [t.elem] if t.elem is not None else []
        else:
            return []
    return found


def is_longer_each_time(t: Any) -> bool:
    """Whether something may be one of many tuples of numbers of one type, each of another length."""
    return isinstance(t, SumT) and len(t.variants) > _FEW_LENGTHS and of_any_length(t) is not None


def _variant(t: Any) -> bool:
    """What may be one of several things in a list."""
    return (
        isinstance(t, SumT)
        or (isinstance(t, Leaf) and isinstance(t.type, Array | Scalar))
        or (isinstance(t, Const) and not av.is_number(t.obj))
        or (isinstance(t, Node) and t.kind[0] in ("handle", "text"))
    )


def _in_order(variants: list[Any]) -> tuple[Any, ...]:
    """Variants by their names; those without keep their order."""

    def name(t: Any) -> tuple[str, str]:
        if isinstance(t, Node) and t.kind[0] == "text":
            return "text", repr(t.kind)
        obj = getattr(t, "obj", None)
        unnamed = type(obj).__repr__ is object.__repr__ and not callable(obj)
        return type(obj).__name__, "" if unnamed else f"{describe(t)} {getattr(obj, '__module__', '')}"

    return tuple(sorted(variants, key=name))


def _whole(node: Node) -> Any:
    return next((c for c in node.children if isinstance(c, Bad)), node)


# Leaves

ALIKE = "make the number an array of that shape, as in `np.zeros(1)` for `0.0`, or take the array's one number: `a[0]`"


def join_leaves(a: Leaf, b: Leaf) -> Template:
    """The common type of two numbers, arrays or lists."""
    if a.value is not None and a.value is b.value:
        return a
    ta, tb = a.type, b.type
    if isinstance(ta, Scalar) != isinstance(tb, Scalar) or _unlike_numbers(ta, tb):
        # Read where the paths meet: `analysis.numbers`.
        ta, tb = (Scalar(t.dtype) if isinstance(t, Array) and t.ndim == 0 else t for t in (ta, tb))
    if isinstance(ta, Scalar) and isinstance(tb, Scalar):
        return Leaf(join_scalars(ta, tb))
    if isinstance(ta, Array) and isinstance(tb, Array) and ta.ndim == tb.ndim:
        if ta.dtype != tb.dtype:
            return Bad(f"an array of {ta.dtype} on one path and of {tb.dtype} on another")
        layout = ta.layout if ta.layout == tb.layout else "A"
        dims = _settled_dims(ta.dims, tb.dims) if a.settled else join_dims(ta.dims, tb.dims)
        return Leaf(Array(ta.dtype, dims, layout), settled=True)
    if isinstance(ta, List) and isinstance(tb, List):
        inner = join_leaves(Leaf(ta.elem), Leaf(tb.elem))
        if isinstance(inner, Leaf):
            return Leaf(List(inner.type))
    cure = ALIKE if {type(ta), type(tb)} == {Scalar, Array} else ""
    return Bad(f"{describe_type(ta)} on one path and {describe_type(tb)} on another", cure=cure)


def _unlike_numbers(ta: Type, tb: Type) -> bool:
    """Two arrays without dimensions, of different dtypes."""
    without = [isinstance(t, Array) and t.ndim == 0 for t in (ta, tb)]
    return all(without) and ta.dtype != tb.dtype  # pyright: ignore[reportAttributeAccessIssue] - they are arrays


def _settled_dims(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep a join symbol that stood for `b` already, so that fixed points end."""
    return tuple(x if x == y or (isinstance(x, Sym) and not x.not_one) else Sym() for x, y in zip(a, b, strict=True))


_ORDER = "biufc"


def join_scalars(a: Scalar, b: Scalar) -> Scalar:
    """The scalar type that holds both."""
    if a == b:
        return a
    mixed = join_ints(a, b)
    if mixed is not None:
        return mixed
    if a.weak and b.weak:
        return a if _ORDER.index(a.dtype.kind) >= _ORDER.index(b.dtype.kind) else b
    if a.weak != b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if weak.dtype.kind == "b":
            return strong
        example: Any = {"i": 0, "f": 0.0, "c": 0j}[weak.dtype.kind]
        return Scalar(np.result_type(strong.dtype, example))
    return Scalar(np.promote_types(a.dtype, b.dtype))


# Tests


def as_template(value: Any) -> Template:
    """A value's template; templates are themselves."""
    return value if isinstance(value, Template) else shape(value)


def dict_sites(*templates: Any) -> tuple[Any, ...]:
    """Where the dicts among these contents were made."""
    dicts = [t.like for t in templates if isinstance(t, Node) and isinstance(t.like, av.DictC)]
    return tuple(d.site for d in dicts if d.site is not None)


def is_none(t: Any) -> bool:
    """The template of None."""
    return isinstance(t, Const) and t.obj is None


def is_reference(t: Any) -> bool:
    """The template of a heap object."""
    return isinstance(t, (Heap, HeapAgain)) or (isinstance(t, Same) and isinstance(t.value, av.Ref))


def uid_of(t: Any) -> int:
    """The heap object that a reference's template means."""
    return t.value.uid if isinstance(t, Same) else t.uid


def is_list(t: Any) -> bool:
    """The contents of a list."""
    return isinstance(t, Dyn) or (isinstance(t, Node) and t.kind[0] == "list")


def number_leaf(t: Any) -> Leaf | None:
    """The leaf of a number, also of one known while specialising."""
    if isinstance(t, Leaf):
        return t
    if isinstance(t, Const) and av.is_number(t.obj):
        return Leaf(scalar_type_of(t.obj))
    return None


def equal(a: Any, b: Any) -> bool:
    """Templates that differ in nothing that matters to a loop's fixed point."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    match a:
        case Leaf():
            return _equal_leaves(a.type, b.type)
        case Const():
            return a.obj is b.obj or same_object(a.obj, b.obj)
        case Same():
            return same_value(a.value, b.value) or (is_reference(a) and is_reference(b) and uid_of(a) == uid_of(b))
        case Node():
            frozen = bool(getattr(a.like, "frozen", "")), bool(getattr(b.like, "frozen", ""))
            same_parts = a.kind == b.kind and all(equal(x, y) for x, y in zip(a.children, b.children, strict=True))
            return same_parts and frozen[0] == frozen[1]
        case OptT() | MaybeT():
            return (a.inner is None) == (b.inner is None) and (a.inner is None or equal(a.inner, b.inner))
        case SumT():
            return len(a.variants) == len(b.variants) and all(map(equal, a.variants, b.variants))
        case Heap():
            return a.uid == b.uid and equal(a.contents, b.contents)
        case HeapAgain():
            return a.uid == b.uid
        case Boxed():
            return equal(a.node, b.node)
        case Dyn():
            return same_items(a.elem, b.elem) and bool(a.frozen) == bool(b.frozen)
        case Sub():
            return same_items(a.elem, b.elem) and a.frozen == b.frozen
    return True


def same_items(a: Any, b: Any) -> bool:
    """Whether two growing lists have the same form."""
    if (a is None) != (b is None):
        return False
    types_a, types_b = list_types(a), list_types(b)
    return (
        len(types_a) == len(types_b)
        and all(same(x, y) for x, y in zip(types_a, types_b, strict=True))
        and (a is None or _same_form(a, b))
    )


def _same_form(a: Any, b: Any) -> bool:
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return True  # the types were compared
    return equal(a, b)


def _equal_leaves(a: Type, b: Type) -> bool:
    if not same(a, b):
        return False
    if not isinstance(a, Array) or not isinstance(b, Array):
        return True
    return all(x == y or (x != 1 and y != 1 and not isinstance(x, int)) for x, y in zip(a.dims, b.dims, strict=True))
