"""Arrays of objects, texts and the like: those of which all is known, and those that a program makes and fills.

The latter are `primitives.library.subclasses.of_objects`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array
from diffjit.primitives.foreign import room

_ROOM = "diffjit.primitives.library.subclasses.of_objects"


def is_object(dtype: Any) -> bool:
    """Whether an array of objects is asked for; what is no dtype at all is said where one is made of it."""
    obj = dtype.obj if isinstance(dtype, Static) else None
    if isinstance(obj, type) and not issubclass(obj, np.generic):  # NumPy takes each class that is none of numbers
        return np.dtype(obj).kind == "O"
    named = isinstance(obj, str) and obj.lstrip("|=<>") in ("O", "O8", "object", "object_")
    return named or obj is np.object_ or getattr(obj, "kind", "") == "O"


class ObjectArrays(Mixin):
    """Mixin of the interpreter."""

    def filled_with_objects(self, shape: Any, item: Any) -> Any:
        """An array of objects with one item everywhere."""
        return self.call(Static(room(_ROOM).filled), [shape, item], {})

    def as_objects(self, value: Any, dtype: Any) -> Any:
        """What `np.asarray` makes of an array of objects, which is itself, and of functions; None of other things."""
        if not is_none(dtype) and not is_object(dtype):
            return None
        if isinstance(value, av.Ref) and self.object_class(value) is room(_ROOM).OfObjects:
            return value
        alone = is_object(dtype) or self._is_function(value) or self.count_of_objects(value) is not None
        return self.array_of_objects(value) if alone else None

    def array_of_objects(self, value: Any) -> Any:
        """An array of objects of what lists hold.

        NumPy goes into arrays of equal lengths. Where only the run knows them they are taken for items, and refused
        where they turn out equal.
        """
        held = self.contents(value) if isinstance(value, av.Ref) else value
        items = held.items if isinstance(held, av.Tup | av.ListC) and getattr(held, "cls", None) is None else ()
        arrays = [i for i in items if isinstance(i, Value) and isinstance(i.type, Array) and i.type.ndim > 0]
        options: dict[str, Any] = {}
        if arrays and len(arrays) == len(items):
            lengths = [self.dim(a, 0) for a in arrays]
            same = functools.reduce(self.both, [self.same(lengths[0], n) for n in lengths[1:]], Static(True))
            if isinstance(same, Value):
                message = "an array of objects whose items are arrays of one length: fill np.empty(n, dtype=object)"
                self.refuse_if(same, NotImplementedError, message)
            if not (isinstance(same, Static) and same.obj):
                options = {"most": Static(1)}
        return self.call(Static(room(_ROOM).listed), [value], options)

    def count_of_objects(self, value: Any) -> int | None:
        """How many objects a list holds that NumPy takes for no sequences: it only counts them, whatever they hold."""
        if not isinstance(value, av.Tup) and not (isinstance(value, av.Ref) and self.is_sequence(value)):
            return None
        try:
            items = self.sequence_items(value, None)
        except UnknownLength:
            return None
        plain = bool(items) and all(self._counts_as_one(i) for i in items)
        return len(items) if plain else None

    def _is_function(self, item: Any) -> bool:
        return isinstance(item, (av.Fn, av.Bound, av.Partial)) or (isinstance(item, Static) and callable(item.obj))

    def _counts_as_one(self, item: Any) -> bool:
        if self._is_function(item):
            return True
        cls = self.object_class(item)
        asked = ("__len__", "__getitem__", "__array__", "__array_interface__", "__array_struct__", "__buffer__")
        return cls is not None and not self.is_opaque(item) and not any(self.class_has(cls, name) for name in asked)

    def array_of_others(self, value: Any, dtype: Any) -> Any:
        """An array made of None, texts and the like, of which all is known; None where all are numbers."""
        known = self.all_known(value)
        if isinstance(known, Static):
            known = known.obj if isinstance(known.obj, str | bytes) else None
        if known is None or not (is_none(dtype) or isinstance(dtype, Static)):
            return None
        found = list(_flat(known))
        if not found or all(av.is_number(x) or isinstance(x, np.ndarray) for x in found):
            return None
        made = self.evaluated(np.array, known, None if is_none(dtype) else dtype.obj)
        if made.dtype == object:
            return self.array_of_objects(value)
        return Static(made) if tree.is_of_others(made) else self.copy(self.lift_constant(made))  # `dtype=float`

    def all_known(self, value: Any) -> Any:
        """Lists and tuples of what is known, as Python has them; None of others."""
        if isinstance(value, Static):
            return value
        held = self.contents(value) if isinstance(value, av.Ref) else value
        if not isinstance(held, (av.Tup, av.ListC)) or getattr(held, "cls", None) is not None:
            return None
        items = [self.all_known(i) for i in held.items]
        return None if any(i is None for i in items) else [i.obj if isinstance(i, Static) else i for i in items]


def _flat(value: Any) -> Iterator[Any]:
    """What is in a list of lists."""
    if isinstance(value, list):
        for item in value:
            yield from _flat(item)
    else:
        yield value
