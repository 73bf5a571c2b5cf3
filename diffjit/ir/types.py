"""Types of IR values: scalars, arrays, lists and tapes.

An array type knows its dtype, its number of dimensions, what is known of each length (a number, or a symbol), and its
layout. Lengths themselves are run-time values, so a new length needs no new specialisation; only 1 and those of small
vectors (`tree.known_lengths`) are numbers from the start.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.dataclass import dataclass

_fresh = itertools.count()


@dataclass(frozen=True, slots=True)
class Sym:
    """A length that is not known before the program runs; `not_one` says that it is known to differ from 1.

    `parts` are the uids of the lengths that broadcast to this one: however they meet, the result is the same symbol.
    """

    uid: int = field(default_factory=lambda: next(_fresh))
    not_one: bool = False
    parts: frozenset[int] = frozenset()


def broadcast(lengths: Iterable[Sym]) -> Sym:
    """The length that several broadcast to, none of which is known to differ from 1."""
    parts = frozenset(uid for s in lengths for uid in (s.parts or (s.uid,)))
    return Sym(uid=-1, parts=parts)


Dim = int | Sym  # an int is a length known while specialising (1 matters most: it broadcasts)


class Fields:
    """For the type checker: which fields the types have between them. Reading one that a type lacks fails at run time.

    The kind of an operation tells which of its inputs are arrays, and no annotation can express that.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        dtype: np.dtype[Any]
        weak: bool
        dims: tuple[Dim, ...]
        layout: str
        elem: Type

        @property
        def ndim(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Scalar(Fields):
    """A number. `weak` marks Python's own numbers, which follow NumPy's NEP 50 when they meet arrays.

    `narrow`: NumPy's types that an int has on other paths, while a program is specialised (`frontend.values.mixed`).
    """

    dtype: np.dtype
    weak: bool = False
    narrow: tuple[np.dtype, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}{'~' if self.weak else ''}"


@dataclass(frozen=True, slots=True)
class Array(Fields):
    """An n-dimensional array reference. `layout` is "C", "F" or "A" (not known to be contiguous)."""

    dtype: np.dtype
    dims: tuple[Dim, ...]
    layout: str = "C"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    def __str__(self) -> str:
        lengths = ", ".join(str(d) if isinstance(d, int) else ":" for d in self.dims)
        return f"{self.dtype}[{lengths}]{self.layout}"


@dataclass(frozen=True, slots=True)
class List(Fields):
    """A growable list of scalars, arrays or lists, all of one type."""

    elem: Type

    def __str__(self) -> str:
        return f"list[{self.elem}]"


@dataclass(frozen=True, slots=True)
class Stack(Fields):
    """A last-in-first-out tape made by reverse mode; holds scalars, array references or list references."""

    elem: Type

    def __str__(self) -> str:
        return f"stack[{self.elem}]"


Type = Scalar | Array | List | Stack

BOOL = Scalar(np.dtype(np.bool_), weak=True)
INT = Scalar(np.dtype(np.int64), weak=True)
FLOAT = Scalar(np.dtype(np.float64), weak=True)
COMPLEX = Scalar(np.dtype(np.complex128), weak=True)
INDEX = INT


def is_float(ty: Type) -> bool:
    """Whether derivatives live here: floating or complex scalars, arrays of them, lists and stacks of those."""
    if isinstance(ty, (List, Stack)):
        return is_float(ty.elem)
    return ty.dtype.kind in "fc"


def is_ref(ty: Type) -> bool:
    """Whether values of this type are references to memory."""
    return not isinstance(ty, Scalar)


def same(a: Type, b: Type) -> bool:
    """Equal up to what is known of lengths."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a == b
    if isinstance(a, Array) and isinstance(b, Array):
        return a.dtype == b.dtype and a.ndim == b.ndim and a.layout == b.layout
    if isinstance(a, List) and isinstance(b, List):
        return same(a.elem, b.elem)
    if isinstance(a, Stack) and isinstance(b, Stack):
        return same(a.elem, b.elem)
    return False


def permuted_layout(ty: Array, perm: tuple[int, ...]) -> str:
    """The layout of a transpose: axes of length 1 stand anywhere."""
    long = [p for p in perm if ty.dims[p] != 1]
    if ty.layout != "A" and long == sorted(long):
        return ty.layout
    return {"C": "F", "F": "C"}.get(ty.layout, "A") if long == sorted(long, reverse=True) else "A"


def fits(value: Type, place: Type) -> bool:
    """Whether a value may flow into a joined one: the same type, or a layout that says more."""
    if isinstance(value, Array) and isinstance(place, Array) and place.layout == "A":
        return value.dtype == place.dtype and value.ndim == place.ndim
    if isinstance(value, List) and isinstance(place, List):
        return fits(value.elem, place.elem)
    return same(value, place)


def join_dims(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """What is known of each length where two control-flow paths meet."""
    return tuple(x if x == y else Sym(not_one=_not_one(x) and _not_one(y)) for x, y in zip(a, b, strict=True))


def _not_one(d: Dim) -> bool:
    return d.not_one if isinstance(d, Sym) else d != 1


def not_one(d: Dim) -> bool:
    """Whether a length is known to differ from 1."""
    return _not_one(d)


def fresh_dims(ndim: int) -> tuple[Dim, ...]:
    """Lengths of which nothing is known."""
    return tuple(Sym() for _ in range(ndim))


def fresh_lengths(ty: Type) -> Type:
    """The same type with nothing known of lengths: those behind a loop, or of one item of a list, are its own."""
    if isinstance(ty, Array):
        return Array(ty.dtype, tuple(Sym(not_one=d.not_one) if isinstance(d, Sym) else d for d in ty.dims), ty.layout)
    return ty


def lengths_in(ty: Type) -> set[int]:
    """The uids of the lengths of an array; those of a list's items say nothing of any one item."""
    if isinstance(ty, (List, Stack)):
        return set()
    return {u for d in getattr(ty, "dims", ()) if isinstance(d, Sym) for u in (d.parts or (d.uid,))}


def renamed(ty: Type, names: dict[int, int]) -> Type:
    """The type with other symbols for some lengths: code that is written out several times has its own each time."""
    if not isinstance(ty, Array):
        return ty
    dims: list[Dim] = []
    for d in ty.dims:
        if isinstance(d, Sym):
            parts = frozenset(names.get(u, u) for u in d.parts)
            dims.append(Sym(names.get(d.uid, d.uid), d.not_one, parts))
        else:
            dims.append(d)
    return Array(ty.dtype, tuple(dims), ty.layout)


def new_length() -> int:
    """A uid that no length has yet."""
    return next(_fresh)
