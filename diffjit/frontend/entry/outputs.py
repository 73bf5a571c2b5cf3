"""What a program returns and changes, as trees of positions among the flat results of an IR function.

All that a call needs of the frontend: a cached program runs without the rest.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem, UnsupportedSyntax, written
from diffjit.labels import Labels, Results
from diffjit.stored import stored

_OBJECTS = "diffjit.primitives.opaque.objects"  # whose class stands for what only Python knows; read when it is needed


@dataclass(frozen=True, slots=True, eq=False)
class Out:
    """A leaf of the result: position among the IR function's results."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class OptOut:
    """A result that may be None."""

    flag: int
    inner: Any


@dataclass(frozen=True, slots=True, eq=False)
class RecordOut:
    """A result that is an object."""

    cls: type
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class TableOut:
    """A result that is a dict with keys of the run: lists of keys and of values."""

    keys: Out
    values: Any


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """A result that is one of several static objects or texts: which, a number says."""

    flag: int
    variants: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TextOut:
    """A result that is a text with numbers of the run: literal text, and results with their formats.

    A number whose repr is written comes with its class, since what a program hands out is Python's own number.
    """

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RowsOut:
    """A result that is a list of tuples, dicts or objects: one list for each leaf of an item.

    `Out` in the tree of an item is the number of such a list.
    """

    item: Any
    lists: tuple[Any, ...]
    flags: frozenset[int]  # those that say what is None, or which one
    cls: type = list  # or tuple


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Part of a result or of a changed container that is the very object found at this path in the arguments."""

    path: tuple[Any, ...]


class Foreign:
    """Something of the interpreter's inside a plain tree: a function, an iterator, a list that grows."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A container among the arguments, or outside, and a tree of what it holds afterwards."""

    path: tuple[Any, ...]
    kind: str  # "list", "dict", "set" or "object"; "attributes": some of an object's; or "variable"
    spec: Any
    made: Any = True  # whether the path that the program took makes it


class Caller:
    """Of a function that does itself what it says: the arguments that it was called with, and what it makes."""

    def __init__(self, arguments: Sequence[Any] = ()) -> None:
        self.arguments = arguments
        self.made: dict[int, Any] = {}  # by the identity of its tree: one object stands wherever this tree does

    def again(self) -> Caller:
        """For another item of a list, whose objects are its own."""
        return Caller(self.arguments)


def rebuild(spec: Any, outs: Sequence[Any], caller: Caller | None = None) -> Any:
    """The Python result from the program's flat results; to a `caller`, what exists already is given itself."""
    if caller is None or isinstance(spec, Out):
        return _rebuilt(spec, outs, caller)
    if isinstance(spec, Same):
        return follow(caller.arguments, spec.path)
    if id(spec) in caller.made:
        return caller.made[id(spec)]
    found = _rebuilt(spec, outs, caller)
    if isinstance(spec, (list, dict, set, RecordOut, RowsOut, TableOut)):
        caller.made[id(spec)] = found
    return found


def _rebuilt(spec: Any, outs: Sequence[Any], caller: Caller | None) -> Any:
    if isinstance(spec, Out):
        return outs[spec.index]
    if isinstance(spec, OptOut):
        return None if outs[spec.flag] else rebuild(spec.inner, outs, caller)
    if isinstance(spec, RecordOut):
        fields = {n: rebuild(v, outs, caller) for n, v in spec.fields.items()}
        if is_made_text(spec):
            return text_of(fields)
        known = stored(spec.cls)
        if known is not None and known.make is not None:
            return known.make(spec.cls, fields)
        made: Any = getattr(spec.cls, "__diffjit_made__", None)  # of a class that stands for one of Python's
        return tree.make_object(spec.cls, fields) if made is None else made(fields)
    if isinstance(spec, Labels):
        return spec if spec.number is None else cast("Results", outs).labels_of(spec)
    if isinstance(spec, TableOut):
        return dict(zip(rebuild(spec.keys, outs, caller), rebuild(spec.values, outs, caller), strict=True))
    if isinstance(spec, OneOf):
        return rebuild(spec.variants[outs[spec.flag]], outs, caller)
    if isinstance(spec, TextOut):
        return "".join(p if isinstance(p, str) else written(p[2](outs[p[0].index]), p[1]) for p in spec.parts)
    if isinstance(spec, RowsOut):
        lists = [rebuild(s, outs, caller) for s in spec.lists]
        length = next(len(found) for found in lists if isinstance(found, list))
        rows = [found if isinstance(found, list) else [found] * length for found in lists]
        return spec.cls(rebuild(spec.item, row, caller and caller.again()) for row in zip(*rows, strict=True))
    if isinstance(spec, tuple):
        items = [rebuild(s, outs, caller) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if isinstance(spec, list):
        return [rebuild(s, outs, caller) for s in spec]
    if isinstance(spec, dict):
        return same_class(spec, {k: rebuild(v, outs, caller) for k, v in spec.items()})
    return set(spec) if isinstance(spec, set) else spec


def gives_back(spec: Any) -> bool:
    """Whether something that the caller has is in a result itself."""
    if isinstance(spec, Same):
        return True
    if isinstance(spec, OptOut):
        return gives_back(spec.inner)
    if isinstance(spec, (RecordOut, dict)):
        return any(map(gives_back, (spec.fields if isinstance(spec, RecordOut) else spec).values()))
    if isinstance(spec, TableOut):
        return gives_back(spec.values)
    if isinstance(spec, RowsOut):
        return gives_back(spec.item) or any(map(gives_back, spec.lists))
    if isinstance(spec, OneOf):
        return any(map(gives_back, spec.variants))
    return isinstance(spec, (tuple, list)) and any(map(gives_back, spec))


def is_made_text(spec: Any) -> bool:
    """Whether a result is a text that Python makes when the program runs."""
    return isinstance(spec, RecordOut) and spec.cls.__module__ == _OBJECTS


def text_of(fields: dict[str, Any]) -> str:
    """An object that Python made: texts are handed out, and nothing that may hold numbers."""
    from diffjit.primitives.routines import RUN

    found = RUN.objects[fields["place_"]] if isinstance(fields["place_"], (int, np.integer)) else None
    if isinstance(found, str):
        return found
    raise no_number(fields["told_"])


def no_number(told: str, loc: Any = None) -> UnsupportedSyntax:
    """The error where something has to be a number that Python made, with derivatives that nobody knows."""
    message = f"what `{told}` returns is needed as a number, or as an object of a known class"
    return UnsupportedSyntax("DJ131", message, loc=loc, cure="call it outside the program, and pass what it returns")


def mapped(spec: Any, leaf: Callable[[int], Any]) -> Any:
    """The same tree with other leaves; flags that say what is None, and numbers in texts, stay."""
    if is_made_text(spec):
        return spec
    if isinstance(spec, Out):
        return leaf(spec.index)
    if isinstance(spec, OptOut):
        return OptOut(spec.flag, mapped(spec.inner, leaf))
    if isinstance(spec, RecordOut):
        return RecordOut(spec.cls, {name: mapped(v, leaf) for name, v in spec.fields.items()})
    if isinstance(spec, TableOut):
        return TableOut(spec.keys, mapped(spec.values, leaf))
    if isinstance(spec, RowsOut):
        lists = tuple(s if k in spec.flags else mapped(s, leaf) for k, s in enumerate(spec.lists))
        return RowsOut(spec.item, lists, spec.flags, spec.cls)
    if isinstance(spec, tuple):
        items = [mapped(s, leaf) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    if isinstance(spec, list):
        return [mapped(s, leaf) for s in spec]
    if isinstance(spec, dict):
        return same_class(spec, {key: mapped(v, leaf) for key, v in spec.items()})
    return spec


def same_class(like: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the class of another."""
    if type(like) is dict:
        return items
    if isinstance(like, defaultdict):
        return defaultdict(like.default_factory, items)
    return OrderedDict(items) if isinstance(like, OrderedDict) else items


def follow(arguments: Any, path: tuple[Any, ...]) -> Any:
    """The object at a path in the arguments."""
    found = arguments
    for kind, key in path:
        found = key() if kind == "outside" else found[key] if kind == "item" else getattr(found, key)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """Objects that a program takes for several, and changes or compares: none must be another one."""

    inside: list[tuple[Any, ...]]  # paths in the arguments
    outside: list[Callable[[], Any]]  # how to get those outside that it reads

    def check(self, arguments: Sequence[Any]) -> None:
        """Refuse arguments of which one is read from outside, too."""
        known = {id(get()) for get in self.outside}
        for path in self.inside:
            if id(found := follow(arguments, path)) in known:
                _refuse(found, "which takes it for two")


def _refuse(found: Any, what: str) -> None:
    raise MemoryProblem(
        "DJ402", f"a {type(found).__name__} is an argument, and lives outside of the function, {what}",
        cure="reach it in one way: through the argument, or from outside",
    )  # fmt: skip


def refuse_shared(changed: list[Any], arguments: Any) -> None:
    """An object that a program finds outside and changes must not be among the arguments, where it would be another."""
    known = {id(v) for v in changed}
    todo: list[Any] = [arguments]
    while todo:
        item = todo.pop()
        if id(item) in known:
            _refuse(item, "which changes it")
        if isinstance(item, (list, tuple)):
            todo += cast("list[Any]", item)
        elif isinstance(item, dict):
            todo += cast("dict[Any, Any]", item).values()
        elif tree.is_record(item):
            todo += tree.attributes(item).values()


def write_back(changes: list[Change], outs: Sequence[Any], caller: Caller) -> None:
    """Change the caller's containers as the program did."""
    changes = [c for c in changes if rebuild(c.made, outs, caller)]
    targets = [(c, follow(caller.arguments, c.path)) for c in changes]
    new = [rebuild(c.spec, outs, caller) for c in changes]
    for (change, target), contents in zip(targets, new, strict=True):
        if change.kind == "list":
            target[:] = contents
        elif change.kind == "variable":
            for name, value in contents.items():
                if isinstance(target, dict):
                    target[name] = value
                else:
                    setattr(target, "cell_contents" if isinstance(target, types.CellType) else name, value)
        elif change.kind == "attributes":
            for name, value in contents.items():
                tree.set_attribute(target, name, value)
        elif change.kind == "object":
            for name in [n for n in tree.attributes(target) if n not in contents]:
                delattr(target, name)
            for name, value in contents.items():
                tree.set_attribute(target, name, value)
        else:
            target.clear()
            target.update(contents)
