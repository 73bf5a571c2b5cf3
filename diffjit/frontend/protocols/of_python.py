"""Which operand's class Python asks what an operator means, and in which order: what it gives up is the other's to say.

https://docs.python.org/3/reference/datamodel.html#emulating-numeric-types
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import gast
import numpy as np

from diffjit.frontend.calls.dataclass_calls import GENERATED
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.objects.members import is_own_member, plain_class
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value

DUNDER = {kind: function.__name__.strip("_") for kind, function in PYTHON_OPERATORS.items()}
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_BY_DUNDER = {name: kind for kind, name in DUNDER.items()}
REFLECTED_KINDS = {kind: _BY_DUNDER[_REFLECTED[n]] for kind, n in DUNDER.items() if n in _REFLECTED}
_NOBODY = Static(NotImplemented)


class DataModel(Mixin):
    """Mixin of the interpreter: operators of objects."""

    def user_operator(self, kind: str, left: Any, right: Any) -> Any:
        """`__add__` and the like of a user's class; None where no operand has one."""
        name = DUNDER.get(kind)
        return None if name is None else self.asked_for(name, kind, left, right)

    def asked_for(self, name: str, kind: str, left: Any, right: Any) -> Any:
        """What the operands' classes make of an operator, each in its turn; None where none has a say."""
        classes = self.operating_class(left), self.operating_class(right)
        if classes == (None, None) and not any(isinstance(v, av.Ref) for v in (left, right)):
            return None  # numbers and arrays, most often
        reflected = f"__r{name}__"
        sides = [(left, classes[0], right, f"__{name}__", False)]
        if classes[0] is not classes[1]:  # of one class, only the left operand is asked
            sides.append((right, classes[1], left, reflected, True))
        if self._is_derived(*classes) and self._has_another(*classes, reflected):
            sides.reverse()
        asked = False
        for receiver, cls, other, dunder, turned in sides:
            if cls is None:
                continue
            if self._has_own(receiver, cls, dunder) and (not turned or self._is_handed(receiver, cls, dunder, left)):
                found = self.call_method(receiver, dunder, [other])
                if not self.gives_up(found):
                    return found
                asked = True
            if turned and self.class_has(cls, "__array_ufunc__") and self.is_numpys(left):
                return self.call_protocol(getattr(np, kind), [left, right], {})
        if not self._is_for_python(left, right) and (not asked or self.is_numpys(right) or self.is_sequence(left)):
            return None  # NumPy asks for elements, and sequences are joined
        names = " and ".join(f"'{self.class_of(v).__name__}'" for v in (left, right))
        message = f"unsupported operand type(s) for `{name}`: {names}"
        raise self.type_problem("DJ309", message, cure=f"give a class a `__{name}__` that takes both", python=TypeError)

    def _is_for_python(self, left: Any, right: Any) -> bool:
        """Whether neither NumPy nor a container has a say: of objects that are none, and numbers of Python's."""
        alone = [self.is_element(v) for v in (left, right)]
        return any(alone) and all(a or self.is_weak(v) for a, v in zip(alone, (left, right), strict=True))

    def gives_up(self, found: Any) -> bool:
        """Whether a method says that it does not know what an operator means."""
        variants = found.variants if isinstance(found, av.Sum) else ()
        if any(isinstance(v, Static) and v.obj is NotImplemented for v in variants):
            cure = "test the other operand's class by isinstance(...)"
            raise self.unsupported("DJ113", "an operator that gives NotImplemented on one path alone", None, cure)
        return isinstance(found, Static) and found.obj is NotImplemented

    def _is_derived(self, left: type | None, right: type | None) -> bool:
        """Whether the right operand's class is asked first: it derives from the left one's."""
        return left is not None and right is not None and left is not right and issubclass(right, left)

    def _has_another(self, left: type | None, right: type | None, dunder: str) -> bool:
        """Whether a derived class has another reflected method than its base."""
        if left is None or right is None or not self.class_has(right, dunder):
            return False
        return not self.class_has(left, dunder) or self.class_lookup(right, dunder) is not self.class_lookup(
            left, dunder
        )

    def _has_own(self, receiver: Any, cls: type, dunder: str) -> bool:
        """Whether a class says itself what an operator means."""
        return self.class_has(cls, dunder) and getattr(plain_class(receiver), dunder, None) is not getattr(cls, dunder)

    def _is_handed(self, receiver: Any, cls: type, dunder: str, left: Any) -> bool:
        """Whether the left operand, maybe a number or an array, leaves an operator to the right one's class."""
        return (self.member_takes_over if isinstance(receiver, Static) else self.takes_over)(cls, dunder, left)

    def operating_class(self, value: Any) -> type | None:
        """The class of a value whose operators may be the user's own: of an object, a named tuple, or a member."""
        if isinstance(value, av.Tup):
            return value.cls
        if is_own_member(value):
            return type(value.obj)
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return held.cls if isinstance(held, av.ObjC) else None

    def object_class(self, value: Any) -> type | None:
        """The class of an object."""
        held = self.object_form(value) if isinstance(value, av.Ref) else None
        return held.cls if isinstance(held, av.ObjC) else None

    # Comparisons

    def compare_objects(self, kind: str, left: Any, right: Any, node: gast.AST | None) -> Any:
        """A comparison of which one side is an object; None for others."""
        classes = [self.object_class(v) or (type(v.obj) if is_own_member(v) else None) for v in (left, right)]
        if classes == [None, None]:
            return None
        back = REFLECTED_KINDS.get(kind, kind)
        sides = [(left, classes[0], right, kind, False), (right, classes[1], left, back, True)]
        if self._is_derived(*classes):
            sides.reverse()
        asked = False
        for receiver, cls, other, way, turned in sides:
            if cls is None:
                continue
            dunder = f"__{DUNDER[way]}__"
            if turned and self._has_own(receiver, cls, dunder) and not self._is_handed(receiver, cls, dunder, left):
                if self.class_has(cls, "__array_ufunc__") and self.is_numpys(left):
                    return self.call_protocol(getattr(np, kind), [left, right], {})
                return None
            found = self._compared(way, receiver, cls, other, node)
            if found is not None and not self.gives_up(found):
                return found
            asked = asked or found is not None
        if not asked and not self._is_for_python(left, right):
            return None
        if kind in ("equal", "not_equal"):
            same = Static(False) if None in classes else self.identical(left, right)
            return same if kind == "equal" else self.logical_not(same)
        names = " and ".join(f"'{self.class_of(v).__name__}'" for v in (left, right))
        message = f"`__{DUNDER[kind]}__` not supported between instances of {names}"
        raise self.type_problem("DJ309", message, node, cure="compare their attributes", python=TypeError)

    def _compared(self, kind: str, receiver: Any, cls: type, other: Any, node: gast.AST | None) -> Any:
        """What the class of one operand says of a comparison, NotImplemented maybe; None where it has no say."""
        name = DUNDER[kind]
        method = self.class_lookup(cls, f"__{name}__")
        alike = (self.object_class(other) or type(getattr(other, "obj", None))) is cls
        if self.compares_by_fields(cls, kind) and not isinstance(method, av.Member):
            names = [n for n, options in self.dataclass_fields(cls).items() if options["compare"]]
            return self.compare_fields(kind, receiver, other, names, node) if alike else _NOBODY
        if method in (types.SimpleNamespace.__eq__, types.SimpleNamespace.__ne__):
            if not alike:
                return _NOBODY
            return self.compare_kind(kind, *(self.get_attribute(v, "__dict__") for v in (receiver, other)))
        if name == "ne" and method is object.__ne__:
            same = self._compared("equal", receiver, cls, other, node)
            return _NOBODY if same is None or self.gives_up(same) else self.logical_not(self.truth(same))
        if method is object.__eq__:
            return self._is_the_same(receiver, other)
        if getattr(getattr(method, "__code__", None), "co_qualname", "").startswith(GENERATED):
            names = [f.name for f in dataclasses.fields(cls) if f.compare]  # pyright: ignore[reportArgumentType]
            return self.compare_fields(kind, receiver, other, names, node) if alike else _NOBODY
        return (
            self.call_method(receiver, f"__{name}__", [other]) if self._has_own(receiver, cls, f"__{name}__") else None
        )

    def _is_the_same(self, receiver: Any, other: Any) -> Any:
        """What `object.__eq__` gives: true of one object, else it gives up."""
        cls = self.object_class(other)
        same = Static(False) if cls is None else self.identical(receiver, other)
        if isinstance(same, Value) and (cls is None or self.class_lookup(cls, "__eq__") is not object.__eq__):
            message = "`==` of objects that may be one, where one of their classes has no `__eq__` and the other has"
            raise self.unsupported("DJ113", message, None, "give both an `__eq__`")
        return same if isinstance(same, Value) or same.obj else _NOBODY

    def compare_fields(self, kind: str, left: Any, right: Any, names: list[str], node: gast.AST | None) -> Any:
        """Two instances of a dataclass, compared as tuples of their fields."""
        a, b = (av.Tup(tuple(self.get_attribute(v, n) for n in names)) for v in (left, right))
        return self.compare_sequences(kind, a, b, node)
