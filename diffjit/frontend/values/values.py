"""What a Python name can be bound to while a function is interpreted abstractly.

An IR `Value` stands for a number, array or growable list of the running program. Everything else is known while
specialising: `Static` objects, containers of values, functions, iterators.
"""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import UnsupportedSyntax
from diffjit.ir.nodes import Value

if TYPE_CHECKING:
    import gast

_ids = itertools.count()


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A Python object known while specialising: number, string, None, type, module, function, dtype, ..."""

    obj: Any


@dataclass(frozen=True, slots=True, eq=False)
class Tup:
    """A tuple or named tuple of values."""

    items: tuple[Any, ...]
    cls: type | None = None


@dataclass(frozen=True, slots=True)
class Ref:
    """A mutable object on the abstract heap; its contents live in the interpreter's state."""

    uid: int = field(default_factory=lambda: next(_ids))


@dataclass(frozen=True, slots=True, eq=False)
class Handle(Ref):
    """An object whose like hold one another: all of its kind live in one growing list, the arena (`objects.arenas`)."""

    kind: Any = None
    arena: Any = None
    index: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ListC:
    """Heap contents of a list whose length is known. Where `frozen` gives a reason, it must not change any more."""

    items: tuple[Any, ...]
    frozen: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DictC:
    """Heap contents of a dict whose keys are known, or of a set (`is_set`, values unused)."""

    items: dict[Any, Any]
    is_set: bool = False
    cls: type | None = None
    frozen: str = ""
    factory: Any = None  # of a defaultdict
    site: Any = None  # where it was made
    past: tuple[Any, ...] | None = None  # of a set: what was done to it; None where its items were added in their order


class Unread:
    """Stands for an item that the program has not read."""

    __slots__ = ()


class LazyItems(dict[Any, Any]):
    """The items of a large dict from outside, as a table of data: each becomes a value when it is read."""

    def __init__(self, keys: Iterable[Any], read: Callable[[Any], Any]) -> None:
        super().__init__((k, Unread()) for k in keys)
        self.read = read

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if isinstance(found, Unread):
            found = self.read(key)
            super().__setitem__(key, found)
        return found

    def __iter__(self) -> Iterator[Any]:  # so that copies (`{**items}`) ask for each item
        return super().__iter__()

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 - which would ask itself

    def values(self) -> Any:
        return [self[k] for k in self]

    def items(self) -> Any:
        return [(k, self[k]) for k in self]

    def copy(self) -> dict[Any, Any]:
        return dict(self.items())


@dataclass(frozen=True, slots=True, eq=False)
class ObjC:
    """Heap contents of an instance of a user's class."""

    cls: type
    fields: dict[str, Any]
    origin: tuple[Any, Callable[..., Any]] | None = None  # (object, getter) of an outside one: attributes lift lazily
    frozen: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """An object on its way into or out of a recursive function: its contents, where lists that grow are arrays."""

    like: Any
    parts: tuple[Any, ...]
    site: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Fn:
    """A function with source: a nested `def`/`lambda`, or a Python function object."""

    node: gast.AST
    name: str
    file: str
    defaults: tuple[Any, ...]  # values of positional defaults, right-aligned
    kw_defaults: dict[str, Any]
    scope: Scope
    pyfunc: Any = None
    owner: Any = None  # the class that a method was found on, for super()
    attributes: Any = None  # of one that gets some: the object that holds them


@dataclass(slots=True, eq=False)
class Scope:
    """Where a function's free names are found: enclosing frames, then a Python function's cells and globals."""

    frames: tuple[int, ...]  # frame numbers of enclosing abstract frames, innermost first
    pyfunc: Any = None
    namespace: dict[str, Any] = field(default_factory=dict)  # globals
    locals_of: dict[int, frozenset[str]] = field(default_factory=dict)  # frame number -> its local names


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """An attribute of a class defined inside a function."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Descriptor:
    """A property, staticmethod or classmethod of such a class."""

    kind: str
    function: Any
    setter: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A method bound to its object."""

    receiver: Any
    function: Any


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A built-in method of an array, list, dict, string, ... looked up by name."""

    receiver: Any
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """functools.partial."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attributes: Any = None  # as of a function


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """range(start, stop, step)."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """slice(start, stop, step)."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True, slots=True, eq=False)
class Iter:
    """A lazy iterator: kind is enumerate, zip, reversed, map, filter, generator (function called) or genexp.

    `claimed`: it may be gone through; an iterator in the user's hands is claimed once. `sources`: what it draws from,
    where its parts do not say that.
    """

    kind: str
    parts: tuple[Any, ...]
    claimed: bool = False
    sources: tuple[Any, ...] = ()
    serial: int = field(default_factory=lambda: next(_ids))


@dataclass(frozen=True, slots=True, eq=False)
class Format:
    """A string built at run time from literal text and (value, format spec) pieces."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Opt:
    """A value that may be None at run time: `is_none` says so."""

    is_none: Value
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """One of several things, told apart at run time by a number: strings, functions, objects that exist anyway."""

    tag: Value
    variants: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Maybe:
    """A variable that may be unbound at run time: `bound` says whether it is bound."""

    bound: Value
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Poison:
    """Two paths gave values that have no common form; an error if it is ever used.

    `loop` is the loop whose first iteration may be written out to give later ones a single form.
    """

    reason: str
    loop: Any = None
    tables: tuple[Any, ...] = ()  # where dicts were made that would have a form in common if their keys were not known
    kinds: tuple[Any, ...] = ()  # of objects that would have one if they lived in lists of their kind
    decided: tuple[Any, ...] = ()  # numbers that decide which path is taken, if they can be fixed
    turns: tuple[Any, ...] = ()  # where iterators were made that would have a form in common as objects
    cure: str = ""  # how they would have one


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()
NONE = Static(None)


class Traceback:
    """The traceback of an exception: compiled code has none, so that it is only handed on and told from None."""


TRACEBACK = Static(Traceback())


def is_none(value: Any) -> bool:
    """None, or an argument or a slice's bound that is not given."""
    return value is None or (isinstance(value, Static) and value.obj is None)


def static(value: Any) -> bool:
    """Whether the value is a plain object known while specialising."""
    return isinstance(value, Static)


def inexact(message: str) -> Format:
    """The text of an error that Python words otherwise: fit to be printed, and nothing can be decided by it."""
    return Format(((Static(message), ""),))


def is_number(obj: Any) -> bool:
    """A Python or NumPy number that may become a run-time scalar; a member of an IntEnum is more than its number."""
    return isinstance(obj, (bool, np.bool_)) or (tree.is_numeric(obj) and not isinstance(obj, np.ndarray))


def is_read_only(obj: Any) -> bool:
    """An array of texts or dates, which programs do not write to: equal ones are told apart by `is` alone."""
    return isinstance(obj, np.ndarray) and obj.dtype.kind in "USmM"


def as_number(value: Any) -> Any:
    """The number that a member of an IntEnum counts as in arithmetic; anything else is itself."""
    if isinstance(value, Static) and isinstance(value.obj, enum.Enum) and isinstance(value.obj, (int, float)):
        member: Any = value.obj
        whole = isinstance(member, int)
        number = int.__int__(member) if whole else float.__float__(member)
        if number != (operator.index(member) if whole else float(member)):
            what = f"a member of `{type(member).__name__}`, which says itself what number it is"
            raise UnsupportedSyntax("DJ113", what, cure="take its `.value`")
        return Static(number)
    return value
