"""What is tested before each call: that everything a program rests on still is what it was.

Most guards ask whether an object is the very same, at places of a few kinds: variables, entries of classes, attributes,
the code of functions. Those are written out as one expression, at 15 ns each; a call for each would take 60.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.frontend.entry.places import Absent, Attribute, Global

Guards = list[tuple[Callable[[], Any], Any]]
_GONE = (LookupError, AttributeError, ValueError, TypeError)  # what reading a place raises that is not there any more


def checker(
    guards: Guards, code: dict[Any, Any], captures: list[Callable[[], Any]], keys: list[Any]
) -> Callable[[], bool]:
    """A function that says whether all guards hold, functions have this code, and captures are of these kinds."""
    quick = [(g, expected) for g, expected in guards if isinstance(g, (Global, Attribute))]
    others = [(g, expected) for g, expected in guards if not isinstance(g, (Global, Attribute, Absent))]
    absent = [g for g, _ in guards if isinstance(g, Absent)]
    unchanged = _identity(
        [(g.namespace, g.name, expected) for g, expected in guards if isinstance(g, Global)],
        [(g.owner, g.name, expected) for g, expected in guards if isinstance(g, Attribute)],
        list(code.items()),
        _lacking(absent),
    )
    kinds = list(zip(captures, keys, strict=True))
    leaf_key = tree.leaf_key

    def equal() -> bool:  # what is not the same object
        return (
            all(function.__code__ is its for function, its in code.items())
            and all(g() for g in absent)
            and all((value := g()) is expected or _same(value, expected) for g, expected in quick)
        )

    def valid() -> bool:
        try:
            if not unchanged() and not equal():
                return False
            for getter, expected in others:
                value = getter()
                if value is not expected and not _same(value, expected):
                    return False
            for getter, key in kinds:
                if leaf_key(getter()) != key:
                    return False
        except _GONE:
            return False
        return True

    return valid if others or kinds else _guarded(unchanged, equal)


def _guarded(unchanged: Callable[[], bool], equal: Callable[[], bool]) -> Callable[[], bool]:
    def valid() -> bool:
        try:
            return unchanged() or equal()
        except _GONE:
            return False

    return valid


def _lacking(absent: list[Absent]) -> list[tuple[Any, tuple[str, ...]]]:
    """For each namespace a test that it has none of some names."""
    found: dict[int, tuple[Any, tuple[str, ...]]] = {}
    for g in absent:
        disjoint, names = found.get(id(g.namespace), (g.namespace.keys().isdisjoint, ()))
        found[id(g.namespace)] = disjoint, (*names, g.name)
    return list(found.values())


def _identity(*kinds: Sequence[tuple[Any, ...]]) -> Callable[[], bool]:
    """A function that tests variables, attributes, code and absent names."""
    make = _written(*map(len, kinds))
    return make(*(part for kind in kinds for guard in kind for part in guard))


_TESTS = ("{0}[{1}] is {2}", "getattr({0}, {1}) is {2}", "{0}.__code__ is {1}", "{0}({1})")
_PARTS = (3, 3, 2, 2)


@functools.cache
def _written(*counts: int) -> Callable[..., Callable[[], bool]]:
    """Makes such a function, for so many guards of each kind."""
    names: list[str] = []
    tests: list[str] = []
    for count, test, parts in zip(counts, _TESTS, _PARTS, strict=True):
        for _ in range(count):
            names += (own := [f"p{len(names) + k}" for k in range(parts)])
            tests.append(test.format(*own))
    text = f"def make({', '.join(names)}):\n return lambda: {' and '.join(tests) or 'True'}\n"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102 - our own text
    return scope["make"]


_VALUES = (int, float, complex, np.generic, str, bytes, tuple, frozenset, set, range)


def _is_value(a: Any) -> bool:
    return isinstance(a, _VALUES) or tree.never_changes(type(a))


def _same(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b) and (not _is_value(a) or tree.static_key(a) == tree.static_key(b))
    except (TypeError, ValueError):
        return False
