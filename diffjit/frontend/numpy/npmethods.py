"""Attributes and methods of arrays and numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from diffjit.errors import alike
from diffjit.frontend.kernels.words import BETWEEN_SIDES
from diffjit.frontend.protocols.of_objects import is_object
from diffjit.frontend.syntax.handlers import CORE, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.library import windows
from diffjit.primitives.library.derived import arrays
from diffjit.primitives.registry import COMPOSITES, FUNCTIONS
from diffjit.stored import is_class_of_arrays

_SEEN = (
    "an array is seen as one of another dtype with .view",
    "copy what is written to before: a.view(dtype).copy()",
)


def _part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a complex number's parts."""
    return np.dtype(f"f{dtype.itemsize // 2}")


# `x.__getitem__`: the function that does the same.
_OPERATIONS = {n: f for n, f in vars(operator).items() if n.startswith("__") and callable(f)} | {"__len__": len}


class NumpyMethods(Mixin):
    """Mixin of the interpreter: attributes and methods of arrays."""

    @kinds(real=np.real, imag=np.imag)
    def np_part(self, kind: str, val: Any) -> Any:
        """NumPy's functions read the attribute: a part of an array is a view of it, which rules have no use for."""
        if self.rule_mode or self.in_library():
            return self.ew(kind, val)
        return self.array_attribute(self.np_asarray(val) if self.is_sequence(val) else val, kind, None)

    def array_attribute(self, a: Any, name: str, node: Any) -> Any:
        """An attribute of an array or number."""
        value = self.array(a)
        is_array = isinstance(value.type, Array)
        if name == "shape":
            return self.np_shape(value)
        if name == "ndim":
            return self.np_ndim(value)
        if name == "size":
            return self.np_size(value)
        if name == "dtype":
            return Static(value.type.dtype)
        if name == "T":
            return self.transpose(value, tuple(range(value.type.ndim))[::-1]) if is_array else value
        if name == "mT":
            return self.transpose(value, (*range(value.type.ndim - 2), value.type.ndim - 1, value.type.ndim - 2))
        if name in ("real", "imag"):
            if is_array and value.type.dtype.kind == "c":
                return self.build.value(
                    f"{name}_view", [value], Array(_part_of(value.type.dtype), value.type.dims, "A")
                )
            if name == "real" and value.type.dtype.kind != "c":
                return value
            return self.ew(name, value)
        if name == "flat":
            return self.flat(value)
        if name == "itemsize":
            return Static(value.type.dtype.itemsize)
        if name == "strides" and is_array:
            return self.strides_of(value)
        if name == "flags" and is_array:
            return self.call(Static(windows.Flags), [value], {}, node)
        if name == "nbytes":
            return self.ew("multiply", self.np_size(value), Static(value.type.dtype.itemsize))
        own = ("astype", "item", "tolist", "view", "setflags", "is_integer", "__array__", *BETWEEN_SIDES)
        digits = name == "bit_length" and hasattr(self.class_of(a), name)
        if name in own or digits or self.array_function(name) is not None:
            return av.Method(a if isinstance(a, Static) else value, name)
        python = None if hasattr(self.class_of(a), name) else AttributeError
        if python is None and name in _OPERATIONS:
            return av.Partial(Static(_OPERATIONS[name]), (a,), {})
        problem = f"an array has no attribute `{name}`" if python else f"an array's attribute `{name}` is not supported"
        raise self.type_problem(
            "DJ317", problem, node, cure=alike(name, dir(np.ndarray)) if python else "", python=python
        )

    def strides_of(self, array: Value) -> Any:
        """How many bytes each axis takes from one entry to the next, of an array in C's order."""
        step: Any = Static(array.type.dtype.itemsize)
        steps: list[Any] = []
        for axis in range(array.type.ndim)[::-1]:
            steps.insert(0, step)
            step = self.ew("multiply", step, self.dim(array, axis))
        self.ask_for_rows(array)
        return av.Tup(tuple(steps))

    def array_method(self, a: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A method of an array or number."""
        if name == "astype":
            return self.as_type(self.array(a), *args, **kwargs)
        if name == "copy":
            value = self.array(a)
            order = args[0].obj if args else kwargs.get("order", Static("C")).obj
            return self.fresh(value, order)
        if name == "item":
            if args:
                several = len(args) > 1 or isinstance(args[0], av.Tup)
                place = av.Tup(tuple(args)) if len(args) > 1 else args[0]
                return self.as_weak(self.array_get(a if several else self.flatten(self.array(a)), place))
            return self.as_weak(self.item(a) if isinstance(a, Value) and isinstance(a.type, Array) else a)
        if name == "tolist":
            return self.tolist(self.array(a))
        if name == "reshape":
            shape = args[0] if len(args) == 1 else av.Tup(tuple(args))
            return self.np_reshape(a, shape, kwargs.get("order", Static("C")))
        if name == "transpose":
            axes = NONE if not args else args[0] if len(args) == 1 else av.Tup(tuple(args))
            return self.np_transpose(a, axes)
        if name == "is_integer":
            return self.ew("equal", self.ew("floor", a), a)
        if name == "bit_length":
            return self.call_static(int.bit_length, [a], {}, node)
        if name == "__array__":
            return self.np_asarray(a, *args, **kwargs)
        if name == "setflags":
            return NONE
        if name == "resize":
            shape = args[0] if len(args) == 1 else av.Tup(tuple(args))
            return self.resize_in_place(self.array(a), shape, node)
        if name in ("conj", "conjugate") and not args and self.array(a).type.dtype.kind != "c":
            return self.array(a)  # NumPy's function makes a copy, the method does not
        if name == "conjugate" and not args and self.is_weak(a):
            return self.as_weak(self.ew("conjugate", a))
        if name in BETWEEN_SIDES:
            return self.between_sides(a, name, *args, **kwargs)
        if name == "view":
            return self.viewed(self.array(a), args, node)
        function = self.array_function(name)
        if any(self.has_method(x, "__array_function__") for x in (*args, *kwargs.values())):
            function = getattr(np, name, function)  # which asks for it
        return self.call_static(function, [a, *args], kwargs, node)

    def as_type(
        self, value: Value, dtype: Any, order: Any = Static("K"), casting: Any = NONE, subok: Any = NONE,
        copy: Any = Static(True),
    ) -> Any:  # fmt: skip
        """`a.astype(dtype)`: the array itself only where that is asked for, and dtype and order are its own."""
        if is_object(dtype):
            return self.np_array(value, dtype)
        out = self.cast(value, self.dtype_of(dtype))
        copied = out is value and not (isinstance(copy, Static) and not copy.obj)
        if isinstance(out.type, Array) and order.obj in ("C", "F"):
            return self.copy(out, order.obj) if copied else self.in_order(out, order.obj)
        return self.fresh(out, order.obj) if copied else out

    def fresh(self, value: Value, order: str = "K") -> Value:
        """A copy that has no other name."""
        return self.copy(value, order) if isinstance(value.type, Array) else self.own_number(value)

    def array_function(self, name: str) -> Any:
        """The function that a method of arrays is a shorthand for, as far as there is an implementation of it."""
        for owner in (np.ndarray, np) if hasattr(np.ndarray, name) else ():
            found = getattr(owner, name, None)
            if callable(found) and any(found in known for known in (CORE, COMPOSITES, FUNCTIONS)):
                return found
        return None

    def viewed(self, a: Value, args: list[Any], node: Any) -> Any:
        """a.view(): the same elements."""
        if len(args) == 1 and isinstance(args[0], Static) and args[0].obj is np.matrixlib.matrix:
            return self.call(Static(np.matrixlib.asmatrix), [a], {}, node)
        for x in args:
            cls = x.obj if isinstance(x, Static) and isinstance(x.obj, type) and issubclass(x.obj, np.ndarray) else None
            if cls is not None and is_class_of_arrays(cls):
                return self.call(Static(arrays.seen), [x, a], {}, node)
            if cls not in (None, np.ndarray):
                problem = f"a view of an array as one of the class `{cls.__name__}`"
                raise self.unsupported("DJ118", problem, node, "make it by calling the class")
            dtype = a.type.dtype if cls is not None else self.dtype_of(x)
            if dtype != a.type.dtype:
                return self.seen_as(a, dtype, node)
        return self.build.value("view", [a], a.type, spec=(":",) * a.type.ndim)

    def seen_as(self, a: Value, dtype: np.dtype[Any], node: Any) -> Any:
        """a.view(dtype) of complex numbers and their parts: a copy, that nobody writes to."""
        splits = a.type.dtype.kind == "c"
        pair, part = (a.type.dtype, dtype) if splits else (dtype, a.type.dtype)
        if pair.kind != "c" or part != _part_of(pair):
            raise self.unsupported("DJ118", "reinterpreting an array's bytes with .view", node, "use astype")
        shown = self.call(
            Static(windows.as_floats if splits else windows.as_complex), [self.mark_unchanging(a, _SEEN)], {}, node
        )
        return self.mark_unchanging(shown, _SEEN) if isinstance(shown, Value) else shown  # it always raises

    def as_weak(self, value: Any) -> Any:
        """A NumPy scalar as a Python number."""
        if isinstance(value, Static):
            return value
        kind = value.type.dtype.kind
        return self.cast(value, {"f": np.float64, "c": np.complex128, "b": np.bool_}.get(kind, np.int64), weak=True)

    def own_truth(self, found: Any) -> Any:
        """A truth value of Python's own: its containers give such, whatever the comparisons of their items gave."""
        if not (isinstance(found, Value) and found.type == Scalar(np.dtype(bool))):
            return found
        made = self.as_weak(found)
        if found in self.facts:
            self.facts[made] = self.facts[found]
        return made

    def tolist(self, value: Value) -> Any:
        """A (nested) list of Python numbers; one number of an array without axes."""
        if isinstance(value.type, Scalar):
            return self.as_weak(value)
        if not value.type.ndim:
            return self.as_weak(self.item(value))
        result = self.new(av.ListC(()))
        self.iterate(
            value,
            lambda item: self.list_append(result, self.tolist(item)),
            None,
            key=("tolist", self.place(), value.type.ndim),
        )
        return result
