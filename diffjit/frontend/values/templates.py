"""Templates: the form of an abstract value, apart from the numbers and arrays in it.

A template says which parts of a value stay static and which are IR values ("leaves"). The same template takes a value
apart into its leaves (`convert`) and builds a value from new leaves (`instantiate`), so branches, loops and growing
lists share one mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from typing import Any, Self

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, List, Scalar, Type, fresh_dims

Cells = dict[Any, Any]


class Unjoinable(Exception):
    """Two values have no common form; the text says why, `kinds` what objects might be kept in lists of their kind."""

    def __init__(self, reason: str, kinds: tuple[Any, ...] = ()) -> None:
        super().__init__(reason)
        self.kinds = kinds


class Learn(Exception):
    """An attempt found facts for a table of `Learned` (`syntax.frames`): specialisation starts again with them."""

    def __init__(self, table: str, facts: Any, error: DiffjitError | None = None) -> None:
        super().__init__(table)
        self.table = table
        self.facts = facts
        self.error = error  # to be told if that attempt fails, too


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One IR value. `value` is set while both sides are that very value."""

    type: Type
    value: Value | None = None
    settled: bool = False  # its lengths were already joined once


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """The same static object on both sides."""

    obj: Any


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """The same abstract value, without leaves of its own (functions, references to one heap object)."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A structure of templates; `like` is a value of that structure, from which others are rebuilt."""

    kind: Any
    children: tuple[Any, ...]
    like: Any


@dataclass(frozen=True, slots=True, eq=False)
class OptT:
    """A value or None, told apart at run time."""

    inner: Any


@dataclass(frozen=True, slots=True, eq=False)
class SumT:
    """One of several things without a common form, told apart at run time."""

    variants: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MaybeT:
    """A value or unbound, told apart at run time."""

    inner: Any


@dataclass(frozen=True, slots=True, eq=False)
class Heap:
    """A reference to an object made anew for the joined state, with joined contents."""

    uid: int
    contents: Any


@dataclass(frozen=True, slots=True, eq=False)
class HeapAgain:
    """A further reference to an object that a `Heap` template makes."""

    uid: int


@dataclass(frozen=True, slots=True, eq=False)
class Dyn:
    """Contents of a growing list: parallel IR lists, one per leaf of an item. `elem` is None while no item is known."""

    elem: Any
    site: Any = None
    frozen: str = ""


PART_OF_TUPLE = "is a part of a tuple"  # why such a list must not change: it is a tuple to whoever asks


def stands_for_tuple(list_: Any) -> bool:
    """Whether a list that grows, or its form, is a tuple whose length the run decides."""
    return getattr(list_, "frozen", "") == PART_OF_TUPLE


@dataclass(frozen=True, slots=True, eq=False)
class Sub:
    """An item of a growing list that is itself a list, or (`frozen` says so) a tuple of some length."""

    elem: Any
    site: Any = None
    frozen: str = ""


def of_numbers(elem: Any) -> bool:
    """Whether the items of a growing list are numbers or arrays, or lists of them: one IR list is all of it."""
    return elem is None or isinstance(elem, Leaf) or (isinstance(elem, Sub) and of_numbers(elem.elem))


@dataclass(frozen=True, slots=True, eq=False)
class Boxed:
    """An item of a growing list that is an object or dict: what is read back is a copy that must not change."""

    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class Bad:
    """No common form. `loop` is the loop whose first iteration may differ from the others."""

    reason: str
    loop: Any = None
    tables: tuple[Any, ...] = ()
    kinds: tuple[Any, ...] = ()
    decided: tuple[Any, ...] = ()
    turns: tuple[Any, ...] = ()
    cure: str = ""


Template = Leaf | Const | Same | Node | OptT | SumT | MaybeT | Heap | HeapAgain | Dyn | Sub | Boxed | Bad


@dataclass(frozen=True, slots=True, eq=False)
class DynList:
    """Heap contents: a list that grows at run time, one IR list per leaf of an item's template."""

    lists: tuple[Value, ...]
    elem: Any
    site: Any = None
    frozen: str = ""


class Changeable(str):
    """Why an object must not be changed, unless the attempt that `again` starts gives its container another form."""

    __slots__ = ("again",)

    def __new__(cls, text: str, again: Exception) -> Self:
        made = super().__new__(cls, text)
        made.again = again
        return made


@dataclass(frozen=True, slots=True, eq=False)
class ItemOf:
    """Heap contents: an object that is an item of a growing list, which holds its parts. The list only grows."""

    owner: av.Ref
    index: Value
    frozen: str = ""


@dataclass(slots=True, eq=False)
class Sites:
    """Where objects were made in the program, and what earlier attempts learnt of the items of lists made there."""

    of: dict[int, Any] = field(default_factory=dict)  # heap object -> where it was made
    hints: dict[Any, Any] = field(default_factory=dict)  # place -> template of an item
    classes: dict[int, Any] = field(default_factory=dict)  # objects of users' classes, whether they are alive or not
    made: set[int] = field(default_factory=set)  # heap objects that are surely no other one under a second name
    outside: dict[int, Any] = field(default_factory=dict)  # contents of objects from outside the program
    twins: dict[int, int] = field(default_factory=dict)  # an argument -> an earlier one that is the same object
    turns: dict[int, Any] = field(default_factory=dict)  # iterators, by their numbers -> where they were made
    wider: dict[Any, list[Any]] = field(default_factory=dict)  # place -> items that lists made there have to hold, too
    apart: bool = False  # objects that meet after branches stay apart, since one of them is changed later
    sums: bool = False  # numbers and arrays of types without a common one are told apart at run time
    clashes: bool = False  # there were such
    rows: bool = False  # lists of unlike items in growing lists keep their lengths, and each item its type
    unlike: bool = False  # there were such

    def note_wider(self, site: Any, elem: Any) -> None:
        """Items that the lists made at a place turn out to have to hold."""
        self.wider.setdefault(site, []).append(elem)

    def held(self, cells: Cells, uid: int) -> Any:
        """What an object holds."""
        found = self.found(cells, uid)
        if found is None:
            raise KeyError(uid)
        return found

    def found(self, cells: Cells, uid: int) -> Any:
        """What an object holds; None of one that this path has not made."""
        found = cells.get(("h", uid))
        return self.outside.get(uid) if found is None else found


@dataclass(slots=True, eq=False)
class Side:
    """One path: its heap cells, the builder whose current block receives conversions."""

    cells: Cells
    build: Builder
    sites: Sites
    undef: bool = False  # the path never reaches the join: any value will do
    copied: set[int] = field(
        default_factory=set
    )  # heap objects whose contents were copied into lists or joined objects
    placed: set[int] = field(default_factory=set)  # lists that are items of growing lists from now on


# Forms


def shape(value: Any) -> Template:
    """The template of one abstract value by itself."""
    match value:
        case Value():
            return Leaf(value.type, value)
        case Static():
            return Const(value.obj)
        case DynList():
            return Dyn(value.elem, value.site, value.frozen)
        case av.Opt():
            return OptT(shape(value.value))
        case av.Sum():
            return SumT(tuple(shape(v) for v in value.variants))
        case av.Maybe():
            return MaybeT(shape(value.value))
        case av.Poison():
            return Bad(value.reason, value.loop, value.tables, value.kinds, value.decided, value.turns, value.cure)
        case _ if value is av.UNBOUND:
            return MaybeT(None)
        case _:
            kind = kind_of(value)
            return Same(value) if kind is None else Node(kind, tuple(shape(i) for i in split(value)), value)


def kind_of(value: Any) -> Any:
    """What two structures must share to be joined part by part; None for what has no parts."""
    match value:
        case av.Handle():
            return ("handle", value.kind)
        case av.Tup():
            return ("tuple", value.cls, len(value.items))
        case av.ListC():
            return ("list", len(value.items))
        case av.DictC():
            return ("dict", tuple(value.items), value.is_set, value.cls, value.past)
        case av.ObjC():
            return ("object", value.cls, tuple(sorted(value.fields)), _unread(value))
        case av.Range() | av.Slice():
            return (type(value),)
        case av.Bound():  # a method and its object belong together
            return (av.Bound, id(getattr(value.function, "node", value.function)))
        case av.Iter() if value.kind in ("enumerate", "zip", "reversed", "map", "filter", "iter", "view", "super"):
            return ("iterator", value.kind, len(value.parts))
        case av.Partial():
            return ("partial", len(value.args), tuple(value.kwargs), value.attributes is None)
        case av.Fn() if value.pyfunc is None:
            named = tuple(value.kw_defaults), value.attributes is None
            return ("function", id(value.node), value.scope.frames, len(value.defaults), *named)
        case ItemOf():
            return ("item", value.owner.uid)
        case av.Packed() if isinstance(value.like, DynList):
            return ("packed list", len(value.parts))
        case av.Packed():
            return ("packed", kind_of(value.like))
        case av.Format():
            return ("text", tuple(p if isinstance(p, str) else (p[1],) for p in value.parts))
        case _:
            return None


def _unread(held: av.ObjC) -> int | None:
    """An object from outside of which not all attributes were read is itself alone: its others are read from there."""
    if held.origin is None or tree.attributes(held.origin[0]).keys() <= held.fields.keys():
        return None
    return id(held.origin[0])


def split(value: Any) -> tuple[Any, ...]:
    """The parts of a structure."""
    match value:
        case av.Handle():
            return (value.index,)
        case av.Tup() | av.ListC():
            return value.items
        case av.DictC():
            return (*value.items.values(), *objects_among(value.items))
        case av.ObjC():
            return tuple(value.fields[n] for n in sorted(value.fields))
        case ItemOf():
            return (value.index,)
        case av.Packed():
            return value.parts
        case av.Range() | av.Slice():
            return (value.start, value.stop, value.step)
        case av.Bound():
            return (value.receiver, value.function)
        case av.Iter():
            return value.parts
        case av.Partial():
            return (value.function, *value.args, *value.kwargs.values(), *_attributes(value))
        case av.Fn():
            return (*value.defaults, *value.kw_defaults.values(), *_attributes(value))
        case av.Format():
            return tuple(p[0] for p in value.parts if not isinstance(p, str))
    raise AssertionError(value)


def objects_among(keys: Iterable[Any]) -> list[av.Ref]:
    """The objects that are keys of a dict or set, or in one."""
    inner = [[k] if isinstance(k, av.Ref) else objects_among(k) if isinstance(k, tuple) else [] for k in keys]
    return [ref for refs in inner for ref in refs]


def _with_objects(keys: Iterable[Any], objects: Iterator[Any]) -> tuple[Any, ...]:
    """Keys in which other objects stand for those that are keys."""
    return tuple(
        next(objects) if isinstance(k, av.Ref) else _with_objects(k, objects) if isinstance(k, tuple) else k
        for k in keys
    )


def rebuild(like: Any, parts: tuple[Any, ...]) -> Any:
    """A structure like another one, of other parts."""
    match like:
        case av.Handle():
            return av.Handle(kind=like.kind, arena=like.arena, index=parts[0])
        case av.Tup() | av.ListC():
            return replace(like, items=parts)
        case av.DictC():
            keys = _with_objects(like.items, iter(parts[len(like.items) :]))
            return replace(like, items=dict(zip(keys, parts, strict=False)))
        case av.ObjC():
            return replace(like, fields=dict(zip(sorted(like.fields), parts, strict=True)))
        case ItemOf():
            return replace(like, index=parts[0])
        case av.Packed():
            return replace(like, parts=parts)
        case av.Range() | av.Slice() | av.Bound():
            return type(like)(*parts)
        case av.Iter():
            return replace(like, parts=parts)
        case av.Partial():
            n = len(like.args) + 1
            kwargs = dict(zip(like.kwargs, parts[n:], strict=False))
            attributes = None if like.attributes is None else parts[-1]
            return replace(like, function=parts[0], args=parts[1:n], kwargs=kwargs, attributes=attributes)
        case av.Fn():
            n = len(like.defaults)
            attributes = None if like.attributes is None else parts[-1]
            named = dict(zip(like.kw_defaults, parts[n:], strict=False))
            return replace(like, defaults=parts[:n], kw_defaults=named, attributes=attributes)
        case av.Format():
            values = iter(parts)
            return av.Format(tuple(p if isinstance(p, str) else (next(values), p[1]) for p in like.parts))
    raise AssertionError(like)


def _attributes(function: av.Fn | av.Partial) -> tuple[Any, ...]:
    """What holds the attributes of a function, if it gets some."""
    return () if function.attributes is None else (function.attributes,)


def with_parts(node: Node, children: Any) -> Node:
    """The same structure with other templates as parts."""
    return Node(node.kind, tuple(children), node.like)


def _as_it_is(template: Any) -> Any:
    return template


def transform(template: Any, leaf: Any, bad: Any = _as_it_is, joined: Any = _as_it_is) -> Any:
    """The template with `leaf` applied to leaves, `bad` to parts without a common form, `joined` to `HeapAgain`."""
    again = lambda part: transform(part, leaf, bad, joined)  # noqa: E731
    match template:
        case Leaf():
            return leaf(template)
        case Bad():
            return bad(template)
        case HeapAgain():
            return joined(template)
        case Node():
            return with_parts(template, map(again, template.children))
        case OptT() | MaybeT():
            return template if template.inner is None else type(template)(again(template.inner))
        case SumT():
            return SumT(tuple(map(again, template.variants)))
        case Heap():
            return Heap(template.uid, again(template.contents))
        case _:
            return template


def freshen(template: Any) -> Any:
    """Forget what is known of the lengths: they may differ from one iteration to the next."""
    return transform(template, _fresh_leaf)


def _fresh_leaf(leaf: Leaf) -> Leaf:
    ty = leaf.type
    return Leaf(Array(ty.dtype, fresh_dims(ty.ndim), ty.layout), settled=True) if isinstance(ty, Array) else leaf


def forget_values(template: Any) -> Any:
    """Leaves that stay one value on both sides of an `if` still change from iteration to iteration of a loop."""
    return transform(template, lambda leaf: Leaf(leaf.type, None, leaf.settled))


def older_than(template: Any, mark: int) -> Any:
    """Values made before the mark need no joining; those made behind it, inside one branch, do."""
    return transform(template, lambda leaf: leaf if leaf.value is None or leaf.value.id <= mark else Leaf(leaf.type))


def blamed(template: Any, site: Any) -> Any:
    """The template with every failure to join put down to this loop."""
    return transform(template, lambda leaf: leaf, lambda bad: bad if bad.loop is not None else replace(bad, loop=site))


def decided_by(template: Any, sources: list[Any]) -> Any:
    """The template with what decides which path is taken noted at every failure to join."""
    return transform(
        template,
        lambda leaf: leaf,
        lambda bad: replace(bad, decided=tuple(dict.fromkeys((*bad.decided, *sources)))),
    )


def inside(template: Any, *, items: bool = False) -> Iterator[Any]:
    """A template and its parts, in their order; also those of `items` of lists."""
    todo = [template]
    while todo:
        part = todo.pop()
        yield part
        match part:
            case Node():
                todo += reversed(part.children)
            case OptT() | MaybeT():
                todo.append(part.inner)
            case SumT():
                todo += reversed(part.variants)
            case Heap():
                todo.append(part.contents)
            case Boxed() if items:
                todo.append(part.node)
            case Dyn() | Sub() if items:
                todo.append(part.elem)


def contains_bad(template: Any) -> bool:
    """Whether some part has no common form."""
    return any(isinstance(part, Bad) for part in inside(template))


def bad_among(template: Any) -> Iterator[Bad]:
    """The parts without a common form, also those of items of lists."""
    return (part for part in inside(template, items=True) if isinstance(part, Bad))


def fits(value: Any, template: Any) -> bool:
    """Whether a value is an instance of this variant of a sum."""
    mine = shape(value) if not isinstance(value, Leaf | Const | Same | Node) else value
    match mine, template:
        case Const(), Const():
            return same_object(mine.obj, template.obj)
        case Same(), Same():
            a, b = mine.value, template.value
            return same_value(a, b) or (isinstance(a, av.Ref) and isinstance(b, av.Ref) and a.uid == b.uid)
        case ((Leaf() | Const()), Leaf()):
            return _number(mine) and _alike(mine, template)
        case Node(), Node():
            pairs = zip(mine.children, template.children, strict=True) if mine.kind == template.kind else None
            return pairs is not None and all(fits(a, b) or (_number(a) and _number(b)) for a, b in pairs)
        case _:
            return False


def _alike(mine: Any, template: Leaf) -> bool:
    """Whether a number or array is of the same type as another, but for its lengths and order."""
    a, b = getattr(mine, "type", None), template.type
    flat = [not isinstance(x, Array) or x.ndim == 0 for x in (a, b)]
    if all(flat):
        return not isinstance(a, List) and not isinstance(b, List)
    return isinstance(a, Array) and isinstance(b, Array) and a.ndim == b.ndim and a.dtype == b.dtype


def _number(t: Any) -> bool:
    return isinstance(t, Leaf) or (isinstance(t, Const) and av.is_number(t.obj))


def same_value(a: Any, b: Any) -> bool:
    """Values without parts that a program cannot tell apart."""
    if isinstance(a, av.Method) and isinstance(b, av.Method):
        return a.name == b.name and a.receiver is b.receiver
    if isinstance(a, av.Fn) and isinstance(b, av.Fn) and a.pyfunc is not None and not a.scope.frames:
        # A method's function is read anew with each object that it is called on.
        return a.pyfunc is b.pyfunc and a.owner is b.owner and not b.scope.frames
    return a is b


def same_object(a: Any, b: Any) -> bool:
    """Static objects that a program cannot tell apart."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if av.is_read_only(a):
        return a.dtype == b.dtype and np.array_equal(a, b)
    try:
        equal = bool(a == b)
    except (TypeError, ValueError):
        return False
    return equal and (not isinstance(a, float) or bool(np.signbit(a) == np.signbit(b)))


# Words


def describe_type(ty: Type) -> str:
    """A type in a user's words."""
    if isinstance(ty, Scalar):
        names = {"b": "a bool", "i": "an int", "u": "an unsigned int", "f": "a float", "c": "a complex number"}
        article = "an" if ty.dtype.kind == "i" else "a"
        return names[ty.dtype.kind] if ty.weak else f"{article} {ty.dtype} scalar"
    if isinstance(ty, Array):
        return f"a {ty.ndim}-dimensional {ty.dtype} array"
    return f"a list of {describe_type(ty.elem)}"


def describe(value: Any) -> str:
    """An abstract value or template in a user's words."""
    match value:
        case Value() | Leaf():
            return describe_type(value.type)
        case Static() | Const():
            return (
                repr(value.obj)
                if not callable(value.obj)
                else f"function `{getattr(value.obj, '__name__', value.obj)}`"
            )
        case Same():
            return describe(value.value)
        case Node():
            return describe(value.like)
        case av.Tup():
            return f"a tuple of {len(value.items)} item{'s' * (len(value.items) != 1)}"
        case av.Handle():
            if hasattr(value.kind, "name"):
                return f"a list, attribute `{value.kind.name}` of objects that hold one another"
            named = isinstance(value.kind, type)
            return f"an object of class {value.kind.__name__}" if named else f"a dict with keys {list(value.kind)}"
        case av.Ref() | Heap() | HeapAgain():
            return "an object"
        case Boxed():
            return describe(value.node)
        case av.ListC():
            return f"a list of {len(value.items)} item{'s' * (len(value.items) != 1)}"
        case DynList() | Dyn() | Sub():
            return "a tuple of a length of the run" if stands_for_tuple(value) else "a list"
        case av.DictC():
            return "a set" if value.is_set else f"a dict with keys {list(value.items)}"
        case av.ObjC() if hasattr(value.cls, "told"):
            return value.cls.told
        case av.ObjC() if hasattr(value.cls, "stands_for"):
            keys = " with keys of the run" if value.cls.stands_for in (dict, set) else ""
            return f"a {value.cls.stands_for.__name__}{keys}"
        case av.ObjC():
            return f"an object of class {value.cls.__name__}"
        case av.Packed():
            return describe(value.like)
        case av.Fn():
            return f"function `{value.name}`"
        case av.Opt():
            return f"None or {describe(value.value)}"
        case OptT():
            return f"None or {describe(value.inner)}"
        case av.Sum() | SumT():
            return " or ".join(dict.fromkeys(describe(v) for v in value.variants))
        case av.Iter():
            return f"a `{value.kind}` iterator"
        case av.Format():
            return "a text made at run time"
        case av.Method() | av.Bound():
            return "a method"
        case av.Poison() | Bad():
            return value.reason
        case _ if value is av.UNBOUND or isinstance(value, (MaybeT, av.Maybe)):
            return "nothing (unbound)"
        case _:
            return f"a {type(value).__name__.lower()}"
