"""Objects of users' classes of arrays: attributes, and an array that the methods of `np.ndarray` reach.

These are `primitives.library.derived.arrays`.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.primitives.library.derived import arrays
from diffjit.stored import is_class_of_arrays

_MEMBERS = types.GetSetDescriptorType | types.MemberDescriptorType


class OwnArrays(Mixin):
    """Mixin of the interpreter."""

    def own_class(self, value: Any) -> type | None:
        """The class of an object of a user's class of arrays; None of anything else."""
        cls = self.object_class(value)
        return cls if cls is not None and is_class_of_arrays(cls) else None

    @core(arrays.is_own)
    def is_own_array(self, value: Any) -> Static:
        return Static(self.own_class(value) is not None)

    @core(arrays.values_of)
    def values_of(self, value: Any) -> Any:
        if self.own_class(value) is None:
            return value
        held = self.contents(value)
        if arrays.VALUES in held.fields:
            return held.fields[arrays.VALUES]
        return self.outside_attribute(held, arrays.VALUES)

    @core(arrays.showing)
    def showing(self, cls: Any, values: Any) -> av.Ref:
        return self.new(av.ObjC(cls.obj, {arrays.VALUES: values}))

    @core(arrays.is_left_to)
    def is_left_to(self, owner: Any, other: Any) -> Static:
        cls = self.object_class(other)
        if cls is None or self.own_class(other) is not None:
            return Static(False)
        if self.class_has(cls, "__array_ufunc__"):
            return Static(self.class_lookup(cls, "__array_ufunc__") is None)
        mine, its = (self.class_lookup(c, "__array_priority__", -1e6) for c in (self.class_of(owner), cls))
        return Static(its > (mine if isinstance(mine, (int, float)) else 0.0))

    @core(np.ndarray.__new__)
    def ndarray_new(self, cls: Any, *args: Any, **kwargs: Any) -> Any:
        """`np.ndarray.__new__(cls, shape, ...)`."""
        if cls.obj is np.ndarray:
            return self.call(Static(np.ndarray), list(args), kwargs)
        return self.call(Static(arrays.new), [cls, *args], kwargs)

    def as_property(self, found: Any) -> Any:
        """What a class has under a name; of attributes that it has from `np.ndarray`, the library's version."""
        if not isinstance(found, _MEMBERS) or found.__objclass__ is not np.ndarray:
            return found
        own = vars(arrays.Inherited).get(found.__name__)
        if not isinstance(own, property):
            cure = "take np.asarray(...) of it first"
            raise self.unsupported("DJ118", f"`{found.__name__}` of a class of arrays", None, cure)
        return own

    def own_fields(self, held: Any) -> dict[str, Any]:
        """What is in the `__dict__` of an object."""
        return {
            n: v for n, v in self.all_fields(held).items() if n != arrays.VALUES or not is_class_of_arrays(held.cls)
        }
