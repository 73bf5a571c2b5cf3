"""Objects that stand for arrays: `__array__` says which, and NumPy's functions ask how an object wants to be met.

A ufunc asks the class of an operand for `__array_ufunc__`, another function for `__array_function__`. Reductions and
their kin call the method of their name, and so do ufuncs of an object that is no array: `np.sin(x)` is `x.sin()`.
All else takes what `__array__` gives.
"""

from __future__ import annotations

import builtins
import inspect
import math
import types
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.ops import ROWS
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.library.derived.elements import OF_ELEMENTS
from diffjit.primitives.library.resumed import iterators

_DISPATCHED = type(np.sum)  # functions that ask for `__array_function__`
_OF_ARRAYS, _OF_NUMBERS = 0.0, -1e6  # `__array_priority__` of NumPy's own


# Functions that call the method of their name, as NumPy does for what is no array, and what they hand on beside `axis`.
_METHODS: dict[Any, dict[str, Any]] = {
    np.sum: {}, np.prod: {}, np.max: {}, np.amax: {}, np.min: {}, np.amin: {}, np.any: {}, np.all: {}, np.mean: {},
    np.std: {"ddof": 0}, np.var: {"ddof": 0}, np.cumsum: {},
}  # fmt: skip
_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__array_function__", "__buffer__")
_PARTS = (np.real, np.imag)
_BARE = {np.round: ("decimals",), np.clip: ("a_min", "a_max")}  # those of elements


# Functions that call a method of an object; where it has none, Python has no such operation.
_SPECIAL = {
    builtins.divmod: "__divmod__", builtins.pow: "__pow__", builtins.round: "__round__", math.floor: "__floor__",
    math.ceil: "__ceil__", math.trunc: "__trunc__",
}  # fmt: skip


def _is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").split(".")[0] == "numpy"


def _by_method(ufunc: np.ufunc) -> bool:
    """Whether a ufunc calls the method of its name for elements that are objects: an elementary function of floats."""
    given = {types[0] for types in ufunc.types}
    return ufunc.__name__ == "conjugate" or ("O" in given and "l" not in given)


class Protocols(Mixin):
    """Mixin of the interpreter: NumPy's protocols for objects of users' classes."""

    def converted(self, x: Any, to: type) -> Any:
        """What a container or an object makes of itself where `float` or `int` is called with it."""
        name = next((n for n in (f"__{to.__name__}__", "__index__") if self.class_has(self.class_of(x), n)), None)
        if name is None:
            raise self.type_problem("DJ308", f"{to.__name__}() of {describe(x)}", python=TypeError)
        return self.call_method(x, name, [])

    def _class_beside_arrays(self, value: Any) -> type | None:
        """The class of an object, as NumPy's functions ask it; None of anything else."""
        if isinstance(value, av.Handle):
            return value.kind if isinstance(value.kind, type) else None
        held = self.contents(value) if isinstance(value, av.Ref) else None
        return held.cls if isinstance(held, av.ObjC) else None

    def has_method(self, value: Any, name: str) -> bool:
        """Whether an object's class has a method."""
        cls = self._class_beside_arrays(value)
        return cls is not None and self.class_has(cls, name)

    def call_special(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any = None) -> Any:
        """What `divmod(obj, ...)` and the like make of objects: their own methods; None of other things."""
        name = _SPECIAL.get(function)
        if name is None or not any(map(self._class_beside_arrays, args)) or any(map(self.is_opaque, args)):
            return None
        if len(args) == 2 and not kwargs and function is not builtins.round:
            if (found := self.asked_for(name.strip("_"), function.__name__, args[0], args[1])) is not None:
                return found
        elif self.has_method(args[0], name):
            return self.call_method(args[0], name, args[1:], kwargs)
        if function is math.floor or function is math.ceil:
            return self.rounded_float(function, args[0], name, node) if self.is_element(args[0]) else None
        message = f"`{function.__name__}` of an object without `{name}`"
        raise self.type_problem("DJ309", message, node, python=TypeError)

    def call_protocol(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any = None) -> Any:
        """What an operand's class makes of NumPy's function; None where none has a say."""
        ufunc = function if isinstance(function, np.ufunc) else tree.asked(function, "__self__")
        if isinstance(ufunc, np.ufunc):
            owner = next((a for a in args if self.has_method(a, "__array_ufunc__")), None)
            if owner is None:
                return None if kwargs or function is not ufunc else self.call_of_objects(ufunc, args, node)
            cls = self.class_of(owner)
            if self.class_lookup(cls, "__array_ufunc__") is None:
                message = f"operand '{cls.__name__}' does not support ufuncs (__array_ufunc__=None)"
                raise self.type_problem("DJ309", message, node, cure="call its own methods", python=TypeError)
            method = "__call__" if function is ufunc else function.__name__
            return self._asked_ufunc(owner, ufunc, method, args, kwargs)
        if (
            any(function is part for part in _PARTS)
            and args
            and self.is_element(args[0])
            and self.has_method(args[0], function.__name__)
        ):
            return self.get_attribute(args[0], function.__name__, node)
        if type(function) is _DISPATCHED:
            found = self.call_array_function(function, args, kwargs, node)
            if found is not None:
                return found
        if not args or not _is_numpys(function) or not self.has_method(args[0], "__array__"):
            return None
        name = {np.amax: "max", np.amin: "min"}.get(function, getattr(function, "__name__", ""))
        if function in _METHODS and self.has_method(args[0], name):
            named = {"axis": args[1]} if len(args) == 2 else {}
            options = {k: Static(v) for k, v in _METHODS[function].items()}
            left = {k: v for k, v in kwargs.items() if not (k in ("out", "dtype") and is_none(v))}
            return self.call_method(args[0], name, [], {"axis": Static(None), **options, **named, **left})
        if function in _BARE and self.has_method(args[0], name):
            return self.call_method(args[0], name, args[1:], kwargs)
        return None

    def _asked_ufunc(self, owner: Any, ufunc: np.ufunc, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What an operand's class makes of a ufunc, or of a method of one: an array for the result is in a tuple."""
        out = kwargs.get("out")
        given = kwargs if out is None or is_none(out) or isinstance(out, av.Tup) else {**kwargs, "out": av.Tup((out,))}
        return self.call_method(owner, "__array_ufunc__", [Static(ufunc), Static(method), *args], given)

    def call_of_objects(self, ufunc: np.ufunc, args: list[Any], node: Any) -> Any:
        """What a ufunc makes of objects that are no arrays: an operator or a method of theirs; None of other things."""
        alone = [self.is_element(a) for a in args]
        if ufunc.nout != 1 or len(args) != ufunc.nin or not any(alone):
            return None
        if not all(one or self._is_number(a) for one, a in zip(alone, args, strict=True)):
            return None
        name = ufunc.__name__
        if name in PYTHON_OPERATORS and not ROWS[name].boolean:
            operator = PYTHON_OPERATORS[name].__name__.strip("_")
            return self.binary(name, *args, node) if len(args) > 1 else self.call_method(args[0], f"__{operator}__", [])
        if name in ("square", "reciprocal"):
            first, kind = (args[0], "multiply") if name == "square" else (Static(1), "divide")
            return self.binary(kind, first, args[0], node)
        if ufunc in OF_ELEMENTS:
            return self.call(self.lift_static(OF_ELEMENTS[ufunc]), args, {}, node)
        if not _by_method(ufunc):
            return None
        if not alone[0] or not self.has_method(args[0], name):
            kind = self.class_of(args[0]).__name__ if alone[0] else "float"
            message = f"loop of ufunc does not support argument 0 of type {kind} which has no callable {name} method"
            raise self.type_problem("DJ309", message, node, cure=f"give the class a method `{name}`", python=TypeError)
        return self.call_method(args[0], name, args[1:])

    def rounded_float(self, function: Any, value: Any, own: str, node: Any) -> Any:
        """`math.floor` or `math.ceil` of an object without a method for it: of the float that it says it is."""
        if self.has_method(value, "__float__"):
            return self.call_static(function, [self.call_method(value, "__float__", [])], {}, node)
        message = f"type {self.class_of(value).__name__} doesn't define {own} method"
        raise self.type_problem("DJ309", message, node, cure=f"give the class a method `{own}`", python=TypeError)

    def is_element(self, value: Any) -> bool:
        """Whether NumPy takes an object as one element: its class says nothing of arrays, and it is no sequence."""
        cls = self._class_beside_arrays(value)
        if cls is None or self.is_opaque(value):
            return False
        sequence = self.class_has(cls, "__len__") and self.class_has(cls, "__getitem__")
        return not sequence and not any(self.class_has(cls, n) for n in _ARRAYS)

    def _is_number(self, value: Any) -> bool:
        if isinstance(value, Value):
            return isinstance(value.type, Scalar)
        return isinstance(value, Static) and av.is_number(av.as_number(value).obj)

    def call_array_function(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """What the classes of arguments make of NumPy's function, derived ones first; None where none has a say."""
        owners: dict[type, Any] = {}
        for value in (*args, *kwargs.values()):
            held = self.contents(value) if isinstance(value, av.Ref) and not isinstance(value, av.Handle) else value
            for one in held.items if isinstance(held, av.ListC | av.Tup) else (value,):
                if self.has_method(one, "__array_function__"):
                    owners.setdefault(self.class_of(one), one)
        if not owners:
            return None
        order: list[type] = []
        for cls in owners:  # as NumPy has it: in the order of the arguments, but a class before its bases
            order.insert(next((k for k, c in enumerate(order) if issubclass(cls, c)), len(order)), cls)
        types = av.Tup(tuple(Static(self.class_of(owners[cls])) for cls in order))
        named = self.new(av.DictC(dict(kwargs)))
        for cls in order:
            made = self.call_method(
                owners[cls], "__array_function__", [Static(function), types, av.Tup(tuple(args)), named]
            )
            if not (isinstance(made, Static) and made.obj is NotImplemented):
                return made
        message = f"no implementation found for `{function.__name__}` on types that implement __array_function__"
        raise self.type_problem("DJ309", message, node, cure="np.asarray(...) of them", python=TypeError)

    def as_array(self, value: Any, dtype: Any = NONE, **copy: Any) -> Any:
        """The array that an object says it is (`__array__`), maybe memory of its own; anything else is itself."""
        cls = self.object_class(value)
        if cls is None or self.is_opaque(value) or not self.class_has(cls, "__array__"):
            return value
        return self.call_method(value, "__array__", [] if is_none(dtype) else [Static(self.dtype_of(dtype))], copy)

    def is_own_object(self, value: Any) -> bool:
        """An object of a user's class that is no list, dict or number as well."""
        return isinstance(value, av.Ref) and isinstance(self.contents(value), av.ObjC)

    def as_sequence(self, value: Any) -> Any:
        """The items of an object that NumPy takes for a sequence, as a list; None of others."""
        if not self.is_own_object(value):
            return None
        cls = self.class_of(value)
        asked = all(self.class_has(cls, name) for name in ("__len__", "__getitem__"))
        return self.py_list(value) if asked and not any(self.class_has(cls, name) for name in _ARRAYS) else None

    def reversed_object(self, value: av.Ref) -> Any:
        """What `reversed` makes of an object: it says so, or has a length and items."""
        cls = self.class_of(value)
        if self.class_has(cls, "__reversed__"):
            return self.call_method(value, "__reversed__", [])
        if not all(self.class_has(cls, name) for name in ("__len__", "__getitem__")):
            raise self.not_iterable(value, None)
        return self.call_plain(iterators.backwards, value, node=None)

    def refuse_own_meaning(self, value: Any) -> None:
        """An object whose class says what NumPy's functions do with it is no array to what does not ask it."""
        if self.has_method(value, "__array_function__"):
            name = self.class_of(value).__name__
            raise self.unsupported("DJ118", f"this use of {name} as an array", None, "take np.asarray(...) of it first")

    def copies_itself(self, value: Any) -> bool:
        """Whether an object's `__array__` is told that a copy is wanted, and believed."""
        cls = self.object_class(value)
        method = None if cls is None else self.class_lookup(cls, "__array__")
        if not isinstance(method, types.FunctionType):
            return False
        taken = inspect.signature(method).parameters.values()
        return any(p.name == "copy" or p.kind is p.VAR_KEYWORD for p in taken)

    def as_operand(self, value: Any) -> Any:
        """What NumPy's ufuncs and operators compute with in place of an object."""
        cls = self.object_class(value)
        if cls is not None and self.class_has(cls, "__array_ufunc__"):  # where it has a say, it has been asked
            cure = "call its own methods"
            raise self.unsupported("DJ118", f"a ufunc of an object of class {cls.__name__}", None, cure)
        return self.as_array(value)

    def is_numpys(self, value: Any) -> bool:
        """NumPy's own array or number, whose operators decide."""
        if isinstance(value, Value) and isinstance(value.type, Array | Scalar):
            return not self.is_weak(value)
        return isinstance(value, Static) and isinstance(value.obj, np.ndarray | np.generic)

    def takes_over(self, cls: type, dunder: str, left: Any) -> bool:
        """Whether NumPy leaves an operator to the object on its right, rather than computing with its elements."""
        written, cls = cls, getattr(cls, "stands_for", cls)  # what the library's own class says
        if not self.is_numpys(left) or issubclass(cls, np.ndarray):
            return True  # Python asks a derived class first
        if self.class_has(cls, "__array_ufunc__"):
            return self.class_lookup(cls, "__array_ufunc__") is None
        array = isinstance(left, Value) and isinstance(left.type, Array)
        priority = self.class_lookup(cls, "__array_priority__", _OF_NUMBERS)
        if isinstance(priority, (int, float)) and priority > (_OF_ARRAYS if array else _OF_NUMBERS):
            return True
        if self.class_has(cls, "__array__"):
            return False
        if not array or left.type.ndim == 0:
            return True
        message = (
            f"NumPy calls `{dunder}` of {written.__name__} for each element of the array, and makes an array of objects"
        )
        cure = "put the object first, or give its class `__array_ufunc__ = None`"
        raise self.unsupported("DJ301", message, None, cure)

    def met(self, left: Any, right: Any) -> tuple[Any, Any]:
        """The operands of NumPy's operators: an object beside an array is the array that it says it is."""
        if self.is_numpys(left) and isinstance(right, av.Ref):
            return left, self.as_operand(right)
        if self.is_numpys(right) and isinstance(left, av.Ref):
            return self.as_operand(left), right
        return left, right
