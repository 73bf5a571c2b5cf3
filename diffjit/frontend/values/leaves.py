"""The leaves of templates: what becomes an IR value when a value takes the form of a template, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import (
    Bad,
    Boxed,
    Cells,
    Changeable,
    Const,
    Dyn,
    DynList,
    Heap,
    HeapAgain,
    Leaf,
    Learn,
    MaybeT,
    Node,
    OptT,
    Same,
    Side,
    Sub,
    SumT,
    Unjoinable,
    bad_among,
    describe,
    describe_type,
    fits,
    rebuild,
    split,
)
from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder, scalar_type_of
from diffjit.ir.nodes import Block, Value
from diffjit.ir.types import BOOL, INT, Array, List, Scalar, Type, same

JOINED = "joined"  # attribute of a conversion where paths meet: the type before


def list_types(elem: Any) -> list[Type]:
    """The IR lists that hold the items; at least one, which carries the length."""
    return [List(ty) for ty in (() if elem is None else leaf_types(elem))] or [List(BOOL)]


def leaf_types(template: Any) -> Iterator[Type]:
    """The types of the leaves, in the order of `convert` and `instantiate`."""
    match template:
        case Leaf():
            if template.value is None:
                yield template.type
        case Node():
            for child in template.children:
                yield from leaf_types(child)
        case OptT() | MaybeT():
            yield BOOL
            if template.inner is not None:
                yield from leaf_types(template.inner)
        case SumT():
            yield INT
            for variant in template.variants:
                yield from leaf_types(variant)
        case Heap():
            yield from leaf_types(template.contents)
        case Boxed():
            yield from leaf_types(template.node)
        case Dyn() | Sub():
            yield from list_types(template.elem)
        case _:
            pass


def convert(value: Any, template: Any, side: Side) -> list[Value]:
    """The leaves of `value` in the form of `template`; casts are emitted on that side."""
    if side.undef or value is None:
        return _absent(template, side.build)
    match template:
        case Leaf():
            return [] if template.value is not None else [joined(side.build, value, template.type)]
        case Node():
            parts = zip(split(value), template.children, strict=True)
            return [leaf for part, child in parts for leaf in convert(part, child, side)]
        case OptT():
            return _convert_wrapped(value, template, side, missing=av.NONE)
        case MaybeT():
            return _convert_wrapped(value, template, side, missing=av.UNBOUND)
        case SumT():
            return _convert_sum(value, template, side)
        case Heap() if isinstance(value, av.Tup):
            return convert(av.ListC(value.items), template.contents, side)
        case Heap():
            held, site = side.sites.held(side.cells, value.uid), side.sites.of.get(value.uid)
            if isinstance(held, DynList) and isinstance(template.contents, Node) and site is not None:
                raise Learn("lists", {site: None})  # it has become an item of a growing list just now
            return convert(held, template.contents, side)
        case Boxed():
            side.copied.add(value.uid)
            return convert(side.sites.held(side.cells, value.uid), template.node, side)
        case Sub():
            return _convert_inner_list(value, template, side)
        case Dyn():
            return _convert_list(value, template, side)
        case _:
            return []


def _absent(template: Any, build: Builder) -> list[Value]:
    """Leaves that are never read; only numbers that tell variants apart may be compared before."""
    match template:
        case SumT():
            return [build.const(0), *(leaf for v in template.variants for leaf in _absent(v, build))]
        case OptT() | MaybeT() if template.inner is not None:
            return [undef(build, BOOL), *_absent(template.inner, build)]
        case Node():
            return [leaf for child in template.children for leaf in _absent(child, build)]
        case _:
            return [undef(build, ty) for ty in leaf_types(template)]


def _convert_wrapped(value: Any, template: Any, side: Side, *, missing: Any) -> list[Value]:
    opt = isinstance(template, OptT)
    wrapper, flag = (av.Opt, "is_none") if opt else (av.Maybe, "bound")
    inner: Any
    if isinstance(value, wrapper):
        state, inner = getattr(value, flag), value.value
    elif value is missing or (opt and isinstance(value, Static) and value.obj is None):
        state, inner = side.build.const(opt), None
    else:
        state, inner = side.build.const(not opt), value
    rest = [] if template.inner is None else convert(inner, template.inner, side)
    return [state, *rest]


def _convert_sum(value: Any, template: SumT, side: Side) -> list[Value]:
    variants = value.variants if isinstance(value, av.Sum) else (value,)
    found = [next((k for k, t in enumerate(template.variants) if fits(v, t)), None) for v in variants]
    places = [k for k in found if k is not None]
    if len(places) < len(found):
        worse = next(bad_among(template), Bad("one of several things, and another one inside it"))
        raise Unjoinable(worse.reason, worse.kinds)
    tag = side.build.const(places[-1])
    for k, place in enumerate(places[:-1]):
        hit = side.build.value("equal", [value.tag, side.build.const(k)], BOOL)
        tag = side.build.value("select", [hit, side.build.const(place), tag], INT)
    if isinstance(value, av.Sum) and places == list(range(len(places))):
        tag = value.tag
    given = dict(zip(places, variants, strict=True))
    return [tag, *(leaf for k, t in enumerate(template.variants) for leaf in convert(given.get(k), t, side))]


def _convert_inner_list(value: Any, template: Sub, side: Side) -> list[Value]:
    """A list about to become an item of a growing list: it becomes an IR list itself, in place."""
    if isinstance(value, av.Tup):
        return _convert_list(value, Dyn(template.elem, template.site), side)
    if isinstance(value, av.Sum):
        return _one_of_tuples(value, template, side)
    held = side.sites.held(side.cells, value.uid)
    side.placed.add(value.uid)
    if isinstance(held, av.ListC) and isinstance(held.frozen, Changeable):
        # It may be one of several, all of which grow from the start, then.
        raise held.frozen.again  # pyright: ignore[reportGeneralTypeIssues] - an exception
    if isinstance(held, av.ListC):
        side.copied.add(value.uid)
    lists = _convert_list(held, Dyn(template.elem, template.site), side)
    if isinstance(held, av.ListC):
        side.cells["h", value.uid] = DynList(tuple(lists), template.elem, template.site)
    return lists


def _one_of_tuples(value: av.Sum, template: Sub, side: Side) -> list[Value]:
    """One of several tuples as a list: its items are put there where it turns out to be that one."""
    lists = [side.build.value("list_new", (), ty) for ty in list_types(template.elem)]
    for k, variant in enumerate(value.variants):
        put = Block()
        with side.build.inside(put):
            _put_items(lists, variant.items, template.elem, side)
        hit = side.build.value("equal", [value.tag, side.build.const(k)], BOOL)
        side.build.op("if", [hit], regions=[put, Block()])
    return lists


def _put_items(lists: list[Value], items: Any, elem: Any, side: Side) -> None:
    for item in items:
        for target, leaf in zip(lists, item_leaves(item, elem, side), strict=True):
            side.build.op("list_append", [target, leaf])


def _convert_list(value: Any, template: Dyn, side: Side) -> list[Value]:
    """The IR lists of a list; where it has to hold other items, the next attempt will know."""
    types = list_types(template.elem)
    if isinstance(value, DynList):
        alike = len(value.lists) == len(types) and all(
            same(v.type, ty) for v, ty in zip(value.lists, types, strict=True)
        )
        if not alike or not _numbered_alike(value.elem, template.elem):
            side.sites.note_wider(value.site, template.elem)
            return [undef(side.build, ty) for ty in types]
        return list(value.lists)
    lists = [side.build.value("list_new", (), ty) for ty in types]
    _put_items(lists, value.items, template.elem, side)
    return lists


def _numbered_alike(a: Any, b: Any) -> bool:
    """Whether what may be one of several things has the same numbers in two items of the same types."""
    match a, b:
        case SumT(), SumT():
            return len(a.variants) == len(b.variants) and all(map(fits, a.variants, b.variants))
        case Node(), Node():
            return all(map(_numbered_alike, a.children, b.children))
        case (OptT(), OptT()) | (MaybeT(), MaybeT()):
            return _numbered_alike(a.inner, b.inner)
        case Boxed(), Boxed():
            return _numbered_alike(a.node, b.node)
        case (Dyn() | Sub(), Dyn() | Sub()):
            return _numbered_alike(a.elem, b.elem)
        case _:
            return True


def item_leaves(item: Any, elem: Any, side: Side) -> list[Value]:
    """The leaves of one item of a growing list, one per IR list."""
    return convert(item, elem, side) or [side.build.const(True)]


def instantiate(template: Any, leaves: Iterator[Value], cells: Cells) -> Any:
    """The abstract value of a template with the given leaves; new heap objects are entered into `cells`."""
    match template:
        case Leaf():
            return template.value if template.value is not None else next(leaves)
        case Const():
            return Static(template.obj)
        case Same():
            return template.value
        case Node():
            return rebuild(template.like, tuple(instantiate(c, leaves, cells) for c in template.children))
        case OptT():
            flag = next(leaves)
            return av.Opt(flag, instantiate(template.inner, leaves, cells))
        case MaybeT():
            flag = next(leaves)
            return av.UNBOUND if template.inner is None else av.Maybe(flag, instantiate(template.inner, leaves, cells))
        case SumT():
            tag = next(leaves)
            return av.Sum(tag, tuple(instantiate(v, leaves, cells) for v in template.variants))
        case Heap():
            cells["h", template.uid] = instantiate(template.contents, leaves, cells)
            return av.Ref(template.uid)
        case HeapAgain():
            return av.Ref(template.uid)
        case Dyn():
            lists = tuple(next(leaves) for _ in list_types(template.elem))
            return DynList(lists, template.elem, template.site, template.frozen)
        case Sub():
            return _entered(
                DynList(
                    tuple(next(leaves) for _ in list_types(template.elem)),
                    template.elem,
                    template.site,
                    template.frozen,
                ),
                cells,
            )
        case Boxed():
            contents = instantiate(template.node, leaves, cells)
            return _entered(replace(contents, frozen="was read from a growing list"), cells)
        case Bad():
            return av.Poison(**{field.name: getattr(template, field.name) for field in fields(template)})
    raise AssertionError(template)


def _entered(contents: Any, cells: Cells) -> av.Ref:
    ref = av.Ref()
    cells["h", ref.uid] = contents
    return ref


def undef(build: Builder, ty: Type) -> Value:
    """A value that is never read."""
    return build.value("undef", (), ty)


def joined(build: Builder, value: Any, ty: Type) -> Value:
    """A number in the type that it has with those of other paths; the operation remembers its own."""
    if isinstance(ty, Scalar) and isinstance(value, Value) and isinstance(value.type, Array) and not value.type.dims:
        given, value = value, build.value("load", [value], Scalar(value.type.dtype), name=value.name)
        assert value.op is not None
        value.op.attrs[JOINED] = given.type
    leaf = as_type(build, value, ty)
    if leaf is not value and leaf.op is not None:
        leaf.op.attrs[JOINED] = value.type if isinstance(value, Value) else scalar_type_of(value.obj)
    return leaf


def as_type(build: Builder, value: Any, ty: Type) -> Value:
    """A scalar converted to a scalar type; references stay as they are."""
    if isinstance(value, Static) and isinstance(ty, Scalar) and av.is_number(value.obj):
        return build.const(value.obj, ty)
    if isinstance(value, Value) and isinstance(ty, Scalar) == isinstance(value.type, Scalar):
        if isinstance(ty, Scalar) and value.type != ty:
            return build.value("cast", [value], ty, name=value.name)
        return value
    raise Unjoinable(f"{describe(value)} is not {describe_type(ty)}")
