"""Descriptors of users' own: objects of a class that say themselves what an attribute of its instances is."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import Any

from diffjit import tree
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static


class Descriptors(Mixin):
    """Mixin of the interpreter: attributes that an object of the class answers for."""

    def descriptor(self, cls: type, name: str, part: str = "__get__") -> Any:
        """The object that answers for an attribute of a class's instances, where it has this method; None of others."""
        known = self.described.get(cls)
        if known is None:
            found = {key: value for base in reversed(cls.__mro__) for key, value in vars(base).items()}
            known = self.described[cls] = {key: value for key, value in found.items() if self.answers(value)}
        own = known.get(name)
        if own is None or _own(own, part) is None:
            return None
        found = self.class_lookup(cls, name)
        return self.lift_at(("descriptor", cls, name), found, lambda: inspect.getattr_static(cls, name), keep=cls)

    def answers(self, found: Any) -> bool:
        """Whether what stands in a class is a property, or a descriptor of a user's own class."""
        if isinstance(found, property):
            return True
        if type(found).__module__.split(".")[0] in sys.stdlib_module_names:
            return False
        return any(_own(found, part) for part in ("__get__", "__set__")) and self.is_plain_object(found)

    def is_descriptor(self, value: Any) -> bool:
        """Whether a value that the program has made would be a descriptor in a class."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        parts = ("__get__", "__set__", "__set_name__")
        return isinstance(held, av.ObjC) and any(hasattr(held.cls, part) for part in parts)

    def described_first(self, cls: type, name: str) -> bool:
        """Whether a descriptor goes before what an object holds under that name itself."""
        if self.descriptor(cls, name) is None:
            return isinstance(self.described[cls].get(name), property)
        return self.descriptor(cls, name, "__set__") is not None

    def from_descriptor(self, own: Any, owner: Any, cls: type) -> Any:
        """What a descriptor says that the attribute of an object is."""
        return self.call_method(own, "__get__", [owner, Static(cls)])

    def is_function(self, value: Any) -> bool:
        """Whether a value is a function with source."""
        return isinstance(value, av.Fn) or (isinstance(value, Static) and tree.is_function(value.obj))

    @core(types.MethodType)
    def make_method(self, function: Any, owner: Any) -> Any:
        """`types.MethodType(function, owner)`."""
        return av.Bound(owner, function)

    @core(functools.singledispatchmethod.__get__)
    def dispatched_method(self, method: Any, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call of `functools.singledispatchmethod`."""
        return self.dispatched(method.obj.dispatcher, list(args), kwargs, None, (owner,))

    @core(types.FunctionType.__get__)
    def bind_function(self, function: Any, owner: Any, _cls: Any = NONE) -> Any:
        """`function.__get__(owner, cls)`: a method of it, or of nothing."""
        return function if av.is_none(owner) else av.Bound(owner, function)


def _own(found: Any, part: str) -> Any:
    """A method that the class of a descriptor has been given by a user."""
    method = inspect.getattr_static(type(found), part, None)
    return method if tree.is_function(method) else None
