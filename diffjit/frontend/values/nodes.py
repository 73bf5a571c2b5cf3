"""Objects that may hold others of their kind: which could live in lists of their kind (`objects.arenas`)."""

from __future__ import annotations

from typing import Any

from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Boxed, Heap, Learn, MaybeT, Node, OptT, Sub, SumT


@dataclass(frozen=True, slots=True)
class ListsOf:
    """The kind of the lists that are this attribute of nodes, where these are known by their places, too."""

    kind: Any
    name: str


MAX_NESTED = 2  # objects in objects of their kind, before they are taken for ones that hold ever more


def kind_of_nodes(contents: Any) -> Any:
    """What objects in one arena have in common: their class, or the keys of dicts; None of other things."""
    match contents:
        case av.ObjC() if not contents.cls.__module__.startswith("diffjit."):
            return contents.cls
        case av.DictC() if contents.items and not contents.is_set and contents.cls is None and not contents.factory:
            return tuple(contents.items)
        case _:
            return None


def needs_arenas(template: Any, times: int = 1) -> Learn | None:
    """What to learn of a form that has objects inside of others of their kind, so many times."""
    kinds = set(_within_themselves(template, (), times))
    return learn_arenas(kinds) if kinds else None


def learn_arenas(kinds: Any, error: DiffjitError | None = None) -> Learn:
    """Another attempt, in which objects of these kinds live in arenas; the error is the one to tell if it fails."""
    return Learn("arenas", {kind: av.Ref() for kind in kinds}, error)


def kinds_among(*contents: Any) -> tuple[Any, ...]:
    """The kinds of these objects, of which some could be in arenas."""
    likes = (getattr(c, "like", c) for c in contents)
    kinds = (kind_of_nodes(like.like if isinstance(like, av.Packed) else like) for like in likes)
    return tuple(dict.fromkeys(k for k in kinds if k is not None))


def _within_themselves(template: Any, around: tuple[Any, ...], times: int) -> Any:
    match template:
        case Node():
            kind = kind_of_nodes(template.like.like if isinstance(template.like, av.Packed) else template.like)
            if kind is not None and around.count(kind) >= times:
                yield kind
                return
            for child in template.children:
                yield from _within_themselves(child, around if kind is None else (*around, kind), times)
        case OptT() | MaybeT() if template.inner is not None:
            yield from _within_themselves(template.inner, around, times)
        case SumT():
            for variant in template.variants:
                yield from _within_themselves(variant, around, times)
        case Heap():
            yield from _within_themselves(template.contents, around, times)
        case Boxed():
            yield from _within_themselves(template.node, around, times)
        case Sub() if template.elem is not None:
            yield from _within_themselves(template.elem, around, times)
