"""Members of enums that are called, indexed, or computed with by operators of their own class."""

from __future__ import annotations

import enum
import inspect
import sys
from typing import Any, TypeGuard

import numpy as np

from diffjit import tree
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static


class Members(Mixin):
    """Mixin of the interpreter: members of enums, which stay what they are."""

    def call_member(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A member that is called; None of other things."""
        if not isinstance(obj, enum.Enum):
            return None
        return self.call(self.get_attribute(Static(obj), "__call__", node), args, kwargs, node)

    def item_given(self, owner: Static, index: Any, node: Any) -> Any:
        """An item of a member, or of a class, as the class says."""
        name = "__class_getitem__" if isinstance(owner.obj, type) else "__getitem__"
        return self.call(self.get_attribute(owner, name, node), [index], {}, node)

    def member_unary(self, name: str, kind: str, operand: Static) -> Any:
        """`-x`, `abs(x)` and the like of a member of an enum whose class has operators of its own."""
        own = tree.is_function(self.class_lookup(type(operand.obj), name))
        return self.call_method(operand, name, []) if own else self.ew(kind, operand)

    def member_takes_over(self, cls: type, dunder: str, left: Any) -> bool:
        """Whether a number's operator is left to a member of an enum on its right, which is a number, too."""
        known = self.class_of(left)
        if issubclass(known, np.generic) and issubclass(cls, (int, float)):
            problem = f"NumPy's number meets a member of `{cls.__name__}`, which has a `{dunder}` of its own"
            raise self.unsupported("DJ113", problem, cure="make it Python's number: float(...)")
        if known is np.ndarray or issubclass(cls, known) or not issubclass(known, (int, float, complex)):
            return known is not np.ndarray
        return not issubclass(cls, (int, float) if known is not int and known is not bool else int)


def gives_items(obj: Any) -> bool:
    """Whether it is indexed as a user's class says: a member of an enum, or a class with a `__class_getitem__`."""
    if not isinstance(obj, type):
        return isinstance(obj, enum.Enum) and not isinstance(obj, str)
    own = inspect.getattr_static(obj, "__class_getitem__", None)
    function = getattr(own, "__func__", own)
    return tree.is_function(function) and function.__module__.split(".")[0] not in sys.stdlib_module_names


def is_own_member(value: Any) -> TypeGuard[Static]:
    """A member of an enum whose class has operators of its own."""
    return isinstance(value, Static) and isinstance(value.obj, enum.Enum) and tree.has_own_operators(type(value.obj))


def plain_class(value: Any) -> type:
    """The class whose operators are those of a value that has none of its own."""
    if isinstance(value, Static):
        return type(value.obj)._member_type_
    return tuple if isinstance(value, av.Tup) else object
