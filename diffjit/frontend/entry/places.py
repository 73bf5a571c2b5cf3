"""Places outside a program that are read again at each call: globals, closure cells, defaults, and parts of those.

They are data, so that the cache can name them in another process (`api/engine/manifest.py`).
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass

Getter = Callable[[], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """A variable of a module, or an entry of a class's dictionary."""

    namespace: Mapping[str, Any]
    name: str

    def __call__(self) -> Any:
        return self.namespace[self.name]


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """Whether a namespace lacks a name."""

    namespace: Mapping[str, Any]
    name: str

    def __call__(self) -> Any:
        return self.name not in self.namespace


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """An attribute of an object."""

    owner: Any
    name: str

    def __call__(self) -> Any:
        return getattr(self.owner, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A closure variable."""

    function: Any
    index: int

    def __call__(self) -> Any:
        return self.function.__closure__[self.index].cell_contents


@dataclass(frozen=True, slots=True, eq=False)
class Default:
    """The default of a parameter: by position from the end, or by name where it is keyword-only."""

    function: Any
    key: int | str

    def __call__(self) -> Any:
        function = self.function
        return (function.__kwdefaults__ if isinstance(self.key, str) else function.__defaults__)[self.key]


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """An item of a container."""

    owner: Getter
    key: Any

    def __call__(self) -> Any:
        return self.owner()[self.key]


class PlainItem(Item):
    """An item of an object of a class of dicts, whichever way the class reads them."""

    def __call__(self) -> Any:
        return dict.__getitem__(self.owner(), self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a function says of a program's surroundings; the class of the exception, where it raises one."""

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self) -> Any:
        try:
            return self.function(*self.args)
        except Exception as error:  # noqa: BLE001 - whatever it is: an answer like another
            return type(error)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What a function of NumPy's reads from a file: an array, or those of an archive by name."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self) -> Any:
        found = self.function(*self.args, **self.kwargs)
        if not isinstance(found, np.lib.npyio.NpzFile):
            return found
        with found:
            return {name: found[name] for name in found.files}


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What a function gives of a container, array or number."""

    owner: Getter
    of: ClassVar[Any]

    def __call__(self) -> Any:
        return self.of(self.owner())


class Length(Part):
    """The length of a container."""

    of = staticmethod(len)


class Kind(Part):
    """The class of a container."""

    of = type


def _forms(items: Any) -> set[Any]:
    """The classes of the items of a tuple or list, and the lengths of those that are tuples and lists, too."""
    return {(type(item), len(item) if isinstance(item, tuple | list) else None) for item in items}


class Forms(Part):
    """The classes and lengths of the containers in a tuple or list."""

    of = staticmethod(_forms)


class Keys(Part):
    """The keys of a dict, or the members of a set."""

    of = tuple


class PlainKeys(Part):
    """The keys of such an object."""

    of = staticmethod(lambda items: tuple(dict.keys(items)))  # pyright: ignore[reportUnknownLambdaType]


class Shape(Part):
    """The shape of an array."""

    of = staticmethod(operator.attrgetter("shape"))


class Contents(Part):
    """What may change in an object that is read while the program is specialised."""

    of = staticmethod(tree.contents)


class Sign(Part):
    """The sign of a number."""

    of = staticmethod(tree.sign_of)


class AsArray(Part):
    """A long list of numbers."""

    of = staticmethod(np.array)


class AsFloats(Part):
    """A list of floats that grows."""

    of = staticmethod(lambda items: np.array(items, float))  # pyright: ignore[reportUnknownLambdaType]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Numbers of one class at several places of a container: `owner[before][place][after]`, as an array."""

    owner: Getter
    before: tuple[int, ...]
    places: tuple[int, ...] | range  # or all from one to another
    after: tuple[int, ...]
    kind: type

    def __call__(self) -> Any:
        found = self.owner()
        for k in self.before:
            found = found[k]
        places = self.places
        items = found[places.start : places.stop] if isinstance(places, range) else [found[k] for k in places]
        for k in self.after:
            items = list(map(operator.itemgetter(k), items))
        if set(map(type, items)) != {self.kind}:
            raise TypeError("numbers of several classes")
        return np.array(items)


@dataclass(frozen=True, slots=True, eq=False)
class StreamOf:
    """The stream of random numbers behind `np.random` ("RandomState") or `random` ("Random")."""

    name: str

    def __call__(self) -> Any:
        return np.random.beta.__self__ if self.name == "RandomState" else random.seed.__self__


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """Whether two places hold one object."""

    owner: Getter
    other: Getter

    def __call__(self) -> Any:
        return self.owner() is self.other()


LIBRARIES = frozenset({
    "builtins", "cmath", "collections", "dataclasses", "enum", "functools", "itertools", "math", "numba", "numpy",
    "operator", "random", "scipy", "sys", "typing", "warnings",
})  # fmt: skip
"""Packages whose modules hold what is theirs, not the program's."""
WRITTEN = "diffjit.primitives.library."  # modules of NumPy's and SciPy's functions and classes as programs
LIBRARY = ("diffjit.primitives.", "diffjit.solvers.", "diffjit.api.")  # modules of functions that programs call


def in_library(getter: Getter) -> bool:
    """Whether it reads what stands in one of these modules, where nothing changes."""
    place: Any = getter
    while isinstance(
        place, (Item, Part, Column)
    ):  # the owner of others is the object itself, which may answer anything
        place = place.owner
    if isinstance(place, Cell):  # of a function that is made for each of several, when its module is read
        return str(place.function.__module__).startswith(WRITTEN)
    return isinstance(place, (Global, Absent)) and str(place.namespace.get("__name__", "")).startswith(LIBRARY)
