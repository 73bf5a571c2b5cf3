"""The order of a set: what was done to it is done again to one of Python's own."""

from __future__ import annotations

import enum
import marshal
import numbers
import types
from typing import Any

import numpy as np

from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import objects_among

_OF_ITEMS = frozenset({"add", "discard"})
_LONGEST = 4096
_SEVERAL = 2  # items of a set that is made one by one
_FORGOTTEN = (("forgotten",),)

Past = tuple[tuple[Any, ...], ...]  # what was done to a set, step by step: a method, and what it was given


class OrderUnknown(Exception):
    """Of a set of which too much was done to know the order of its items."""


def past_of(held: av.DictC) -> Past | None:
    """What was done to a set; None where its items are objects, whose order is not Python's."""
    if held.past is not None:
        return held.past
    return None if objects_among(held.items) else (("update", ("list", tuple(held.items))),)


def given_of(held: av.DictC) -> tuple[str, Any]:
    """A dict or set as an operand of another one."""
    return ("set", past_of(held)) if held.is_set else ("dict", tuple(held.items))


def after(held: av.DictC, name: str, *given: Any) -> Past | None:
    """The past of a set after another step."""
    past = past_of(held)
    if past is None or ("set", None) in given:
        return None
    return _FORGOTTEN if _is_long((*past, (name, *given))) else (*past, (name, *given))


def _is_long(past: Past) -> bool:
    """Whether there is too much to do again, as sets are made of sets that are made of each other."""
    waiting: list[Any] = [past]
    seen = 0
    while waiting and seen <= _LONGEST:
        item = waiting.pop()
        seen += 1
        if isinstance(item, tuple):
            waiting.extend(item)
    return seen > _LONGEST


def in_order(held: av.DictC) -> list[Any]:
    """The keys of a set in the order in which Python's own set gives them, which is not that of their arrival."""
    past = past_of(held)
    if past is None:
        return list(held.items)
    (first, *given), *later = past
    if first == "outside" and all(name == "discard" for name, *_ in later):
        return [k for k in given[0] if k in held.items]
    return list(_done_again(past))


def next_of(held: av.DictC) -> Any:
    """The key that `pop` takes."""
    past = past_of(held)
    return next(iter(held.items)) if past is None else _done_again(past).pop()


def kept_constant(code: types.CodeType, held: av.DictC) -> frozenset[Any] | None:
    """The constant of these items that a function's code, or that of one in it, has for a set of at least three."""
    for constant in code.co_consts if len(held.items) > _SEVERAL else ():
        found = kept_constant(constant, held) if isinstance(constant, types.CodeType) else constant
        if isinstance(found, frozenset) and found == held.items.keys():
            return found
    return None


def has_lasting_hash(key: Any) -> bool:
    """Whether a key has the same hash, and so the same place in a set, in another process; texts and classes do not."""
    if isinstance(key, tuple):
        return all(map(has_lasting_hash, key))
    return isinstance(key, numbers.Number | np.generic) and not isinstance(key, enum.Enum | np.character)


def hangs_on_compiling(constant: frozenset[Any], held: av.DictC) -> bool:
    """Whether a constant that Python reads from a `.pyc` file has another order than one that it compiles."""
    read, compiled = marshal.loads(marshal.dumps(constant)), frozenset(held.items)  # noqa: S302 - written just now
    return list(set().union(read)) != list(set().union(compiled))


def _done_again(past: Past) -> set[Any]:
    """A set of Python's own to which the same was done."""
    made: set[Any] = set()
    for name, *given in past:
        if name == "forgotten":
            raise OrderUnknown
        if name == "outside":
            made = set(given[0])
        elif name == "of_keys":
            made = PYTHON_OPERATORS[given[0]](*map(_restored, given[1:]))
        elif name == "pop":
            made.pop()
        else:
            found = getattr(made, name)(*(given if name in _OF_ITEMS else map(_restored, given)))
            made = made if found is None else found
    return made


def _restored(given: tuple[str, Any]) -> Any:
    """What was given to a method: a set, dict, list or a dict's keys."""
    kind, held = given
    if kind == "set":
        return _done_again(held)
    if kind in ("list", "constant"):
        return held
    return dict.fromkeys(held).keys() if kind == "keys" else dict.fromkeys(held)
