"""What stands beside numbers in pandas' and xarray's objects: index, columns, names of dimensions, coordinates.

Such an object is its arrays to a program, which sees of its labels what decides what the program does: the names of
columns and dimensions, a short index of texts. Other labels are not looked at: a program is made once for all of them,
and only told which are the same ones. What it returns, and gradients, get the labels of the call.

The libraries are never imported here: a program that has such an object has imported its module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass

_SHORT = 64  # so many texts of an index a program is made for


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Part of an object that a program is made for."""

    shown: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.shown == other.shown

    def __hash__(self) -> int:
        return hash(self.shown)


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels along an axis, or all others of an object; two are equal where nothing tells one from the other."""

    held: Any  # the library's object that has them; None where there are none
    texts: tuple[str, ...] | None = None  # a few texts, which a program is made for
    default: bool = False  # 0, 1, 2, ...
    number: int | None = None  # among those of a call's arguments: the first of equal ones
    cut: bool = False  # a part of others, of which is not known which one

    @property
    def shown(self) -> Any:
        """What a program is made for."""
        return self.texts, self.default, self.held is None, self.cut

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.number == other.number and identical(self.held, other.held)

    def __hash__(self) -> int:
        return hash(self.shown)


def identical(a: Any, b: Any) -> bool:
    """Whether two objects of a library hold the same labels."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(identical(a[name], b[name]) for name in a)
    return bool(a.identical(b) if hasattr(a, "identical") else a.equals(b))


def numbered(found: Sequence[Labels]) -> tuple[int, ...]:
    """For each of some labels, which of them is the first one that is equal."""
    first: list[int] = []
    for k, labels in enumerate(found):
        first.append(next((j for j in first if identical(found[j].held, labels.held)), k))
    return tuple(first)


class Numbering:
    """Numbers labels of arguments by what the labels of a call are."""

    def __init__(self, found: Sequence[Labels]) -> None:
        self.found = found

    def __call__(self, labels: Labels) -> Labels:
        """The labels with their number."""
        number = next(k for k, other in enumerate(self.found) if identical(other.held, labels.held))
        return replace(labels, number=number)


class Results(list[Any]):
    """A program's flat results, beside the labels of the arguments that it was called with."""

    def __init__(self, outs: Any, labels: Sequence[Labels]) -> None:
        super().__init__(outs)
        self.labels = labels

    def labels_of(self, spec: Labels) -> Labels:
        """The labels that a tree of results names."""
        return spec if spec.number is None else self.labels[spec.number]


# pandas


def _is_numeric(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biufc"


def of_index(index: Any) -> Labels:
    """The labels of an index of pandas."""
    if type(index).__name__ == "RangeIndex" and (index.start, index.step, index.name) == (0, 1, None):
        return Labels(index, default=True)
    short = len(index) <= _SHORT and index.nlevels == 1 and all(isinstance(label, str) for label in index)
    return Labels(index, tuple(map(str, index)) if short else None)


def read_series(obj: Any) -> dict[str, Any]:
    """The array of a Series, its index and name; what holds no numbers stays what it is."""
    values = obj.to_numpy() if _is_numeric(obj.dtype) else Labels(obj)
    return {"held_values": values, "labels_of_rows": of_index(obj.index), "held_name": Constant(obj.name)}


def make_series(cls: Any, fields: dict[str, Any]) -> Any:
    """A Series of numbers; rows of a derivative are an array."""
    values, index = fields["held_values"], index_of(fields["labels_of_rows"])
    if isinstance(values, Labels):
        return values.held
    if not isinstance(values, np.ndarray) or values.ndim != 1 or (index is not None and len(index) != len(values)):
        return values
    return cls(values, index=index, name=fields["held_name"].shown, copy=False)


def index_of(labels: Labels) -> Any:
    """The index that labels are; None where numbers are counted from 0."""
    if labels.held is None and labels.texts is not None:
        return list(labels.texts)
    return labels.held


def read_frame(obj: Any) -> dict[str, Any]:
    """The columns of a DataFrame that hold numbers, those of one dtype in one array."""
    groups: dict[Any, list[int]] = {}
    places: list[tuple[Any, int, Any]] = []
    for k, (label, dtype) in enumerate(zip(obj.columns, obj.dtypes, strict=True)):
        if _is_numeric(dtype):
            group = groups.setdefault(dtype, [])
            places.append((label, list(groups).index(dtype), len(group)))
            group.append(k)
        else:
            places.append((label, -1, str(dtype)))
    others = [k for k, (_, block, _) in enumerate(places) if block < 0]
    whole = not others and len(groups) == 1
    blocks = (obj.to_numpy(),) if whole else tuple(obj.iloc[:, group].to_numpy() for group in groups.values())
    return {
        "blocks_of_columns": blocks,
        "places_of_columns": Constant(tuple(places)),
        "labels_of_columns": of_index(obj.columns),
        "labels_of_rows": of_index(obj.index),
        "without_numbers": Labels(obj.iloc[:, others] if others else None),
    }


def make_frame(cls: Any, fields: dict[str, Any]) -> Any:
    """A DataFrame of columns; rows of a derivative are arrays."""
    blocks, places = fields["blocks_of_columns"], fields["places_of_columns"].shown
    index, columns = index_of(fields["labels_of_rows"]), index_of(fields["labels_of_columns"])
    shapes = {np.shape(block)[:-1] for block in blocks}
    if any(np.ndim(block) != 2 for block in blocks) or (index is not None and any(s != (len(index),) for s in shapes)):
        return blocks[0] if len(blocks) == 1 else blocks
    others = iter(() if fields["without_numbers"].held is None else fields["without_numbers"].held.items())
    if len(blocks) == 1 and all(block == 0 for _, block, _ in places):
        return cls(blocks[0], index=index, columns=columns)
    made = cls({k: blocks[b][:, j] if b >= 0 else next(others)[1] for k, (_, b, j) in enumerate(places)}, index=index)
    made.columns = columns
    return made


# xarray


def read_array(obj: Any) -> dict[str, Any]:
    """The array of a DataArray, its dimensions, the coordinates along them, and others."""
    coords = obj.coords
    along = tuple(Labels(coords[d].variable) if d in coords else Labels(None, default=True) for d in obj.dims)
    others = {name: coord.variable for name, coord in coords.items() if name not in obj.dims}
    values = obj.to_numpy() if _is_numeric(obj.dtype) else Labels(obj)
    names = {"held_name": Constant(obj.name), "held_dims": Constant(tuple(obj.dims))}
    return {"held_values": values, **names, "labels_along": along, "other_coords": Labels(others or None)}


def make_array(cls: Any, fields: dict[str, Any]) -> Any:
    """A DataArray of numbers; rows of a derivative are an array."""
    values, dims = fields["held_values"], fields["held_dims"].shown
    if isinstance(values, Labels):
        return values.held
    coords = {d: labels.held for d, labels in zip(dims, fields["labels_along"], strict=True) if labels.held is not None}
    sizes = dict(zip(dims, np.shape(values), strict=False))
    if np.ndim(values) != len(dims) or any(len(coord) != sizes[d] for d, coord in coords.items()):
        return values
    others = fields["other_coords"].held or {}
    coords |= {name: coord for name, coord in others.items() if set(coord.dims) <= set(dims)}
    return cls(values, dims=dims, coords=coords, name=fields["held_name"].shown)
