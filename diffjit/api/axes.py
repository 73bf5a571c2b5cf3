"""`in_axes` and `out_axes`: trees that say along which axis each array is mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import UsageError
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import describe_type
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One mapped array among the arguments."""

    array: Value
    axis: int
    name: str


def below(axes: Any, keys: list[Any], cls: type, name: str, which: str) -> list[Any]:
    """The axes of a container's parts: one for all, or a container of the same form."""
    if axes is None or isinstance(axes, (int, np.integer)):
        return [axes] * len(keys)
    found: dict[Any, Any] | None = None
    if isinstance(axes, (tuple, list)):
        found = dict(enumerate(axes)) if issubclass(cls, (tuple, list)) else None
    elif isinstance(axes, dict):
        found = axes
    elif tree.is_record(axes):
        found = tree.attributes(axes)
    if found is None or set(found) != set(keys):
        what = f"with the keys {', '.join(map(repr, keys))}" if issubclass(cls, dict) else f"of {len(keys)}"
        raise mismatch(axes, f"{name} is a {cls.__name__} {what}", which)
    return [found[key] for key in keys]


def mismatch(axes: Any, what: str, which: str) -> UsageError:
    """The error for axes that do not have the form of what they belong to."""
    return UsageError(
        "DJ514",
        f"{which} has {axes!r} where {what}",
        cure="give an int or None, or a container of the same form with an int or None for each part",
    )


def position(axis: Any, ndim: int, name: str, which: str) -> int:
    """An axis counted from the first."""
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise mismatch(axis, f"{name} is one array", which)
    if not -ndim <= axis < ndim:
        raise UsageError(
            "DJ512",
            f"{which} asks for axis {axis} of {name}, which has {ndim} dimension{'s' if ndim != 1 else ''}",
            cure=f"axes of {name} are {-ndim} to {ndim - 1}; None passes the whole to every lane",
        )
    return int(axis) % ndim


class Arguments:
    """Walks over the arguments of a mapped function."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self.keyword = False  # whether the argument is given by keyword

    def walk(self, value: Any, axes: Any, name: str, visit: Callable[[Lane], Any]) -> Any:
        """The argument of one lane; `visit` is called for every mapped array."""
        if isinstance(value, Static) and isinstance(value.obj, np.ndarray):
            value = self.interpreter.lift_constant(value.obj)
        if isinstance(value, av.Tup):
            cls = value.cls or tuple
            parts = self._parts(list(range(len(value.items))), value.items, axes, cls, name, visit)
            return av.Tup(tuple(parts), value.cls)
        if isinstance(value, av.Ref):
            return self._object(value, axes, name, visit)
        if axes is None:
            return value
        if isinstance(value, Value) and isinstance(value.type, Array) and value.type.ndim > 0:
            return visit(Lane(value, position(axes, value.type.ndim, f"`{name}`", "in_axes"), name))
        if isinstance(value, Static) and not tree.is_numeric(value.obj) and not isinstance(value.obj, bool):
            return value  # a function, a string, None: the same for every lane
        what = describe_type(value.type) if isinstance(value, Value) else describe(value)
        raise UsageError(
            "DJ513",
            f"vmap has no lanes to take from `{name}`, which is {what}",
            cure="only arrays have lanes; "
            + (
                f"keyword arguments have lanes along axis 0: pass it by position with in_axes=None, or bind it with "
                f"functools.partial(f, {name}=...)"
                if self.keyword
                else "in_axes=None for this argument passes it to every lane as it is"
            ),
        )

    def _object(self, ref: av.Ref, axes: Any, name: str, visit: Callable[[Lane], Any]) -> Any:
        held = self.interpreter.contents(ref)
        if axes is None or (isinstance(held, av.ObjC) and hasattr(held.cls, "told")):  # a stream: lanes draw in turn
            return ref
        if isinstance(held, av.ListC):
            parts = self._parts(list(range(len(held.items))), held.items, axes, list, name, visit)
            return self.interpreter.new(av.ListC(tuple(parts)))
        if isinstance(held, av.DictC) and not held.is_set:
            keys = list(held.items)
            parts = self._parts(keys, held.items.values(), axes, dict, name, visit)
            return self.interpreter.new(av.DictC(dict(zip(keys, parts, strict=True)), cls=held.cls))
        if isinstance(held, av.ObjC) and held.origin is None:
            keys = list(held.fields)
            parts = self._parts(keys, held.fields.values(), axes, held.cls, name, visit)
            return self.interpreter.new(av.ObjC(held.cls, dict(zip(keys, parts, strict=True))))
        if isinstance(held, av.ObjC):
            return ref  # an object from outside
        raise UsageError(
            "DJ513",
            f"vmap has no lanes to take from `{name}`, which is {describe(held)}",
            cure="make it an array with a lane per row: np.array(items)",
        )

    def _parts(
        self, keys: list[Any], items: Any, axes: Any, cls: type, name: str, visit: Callable[[Lane], Any]
    ) -> list[Any]:
        each = below(axes, keys, cls, f"`{name}`", "in_axes")
        return [
            self.walk(
                item, axis, f"{name}[{key!r}]" if not isinstance(key, str) or cls is dict else f"{name}.{key}", visit
            )
            for key, item, axis in zip(keys, items, each, strict=True)
        ]
