"""Places outside a program that are read again at each call: globals, closure cells, defaults, and parts of those.

They are data, so that the cache can name them in another process (`api/engine/manifest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffjit import tree

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


@dataclass(frozen=True, slots=True, eq=False)
class Length:
    """The length of a container."""

    owner: Getter

    def __call__(self) -> Any:
        return len(self.owner())


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The class of a container."""

    owner: Getter

    def __call__(self) -> Any:
        return type(self.owner())


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The keys of a dict, or the members of a set."""

    owner: Getter

    def __call__(self) -> Any:
        return tuple(self.owner())


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The shape of an array."""

    owner: Getter

    def __call__(self) -> Any:
        return self.owner().shape


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """The sign of a number."""

    owner: Getter

    def __call__(self) -> Any:
        return tree.sign_of(self.owner())


@dataclass(frozen=True, slots=True, eq=False)
class AsArray:
    """A long list of numbers."""

    owner: Getter

    def __call__(self) -> Any:
        return np.array(self.owner())
