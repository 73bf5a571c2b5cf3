"""NumPy's core functions that make arrays. What has no IR kind of its own is a composite written with these."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from diffjit.errors import TypeProblem
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.protocols.of_objects import is_object
from diffjit.frontend.syntax.handlers import core, implementation, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.mixed import BECOME_FLOATS, int_or_infinite
from diffjit.frontend.values.templates import DynList, Leaf, Node, Sub, describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Block, Value
from diffjit.ir.types import BOOL, FLOAT, INT, Array, Dim, Scalar, not_one
from diffjit.primitives.library import joining
from diffjit.primitives.library.numbers import BY_ZERO
from diffjit.primitives.library.subclasses import records

_RAGGED = "setting an array element with a sequence: the rows have different shapes"


# What `np.require` may be asked for, by the order that it means.
_REQUIREMENTS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED", "W", "WRITEABLE", "E", "ENSUREARRAY"), ""),
}


class NumpyCore(Mixin):
    """Mixin of the interpreter: core NumPy functions on IR values."""

    def none_as_nan(self, value: Any, dtype: np.dtype | None) -> Any:
        """What NumPy makes of None where it has to be a float."""
        return Static(np.nan) if is_none(value) and dtype is not None and dtype.kind == "f" else value

    def handler_of(self, obj: Any) -> Any:
        """The interpreter's own implementation of a function, if it has one."""
        found = implementation(obj)
        return functools.partial(getattr(self, found[0]), *found[1:]) if found is not None else None

    def known_dtype(self, obj: Any) -> np.dtype:
        """What an object or its name says of a dtype."""
        try:
            return np.dtype(obj)
        except TypeError as error:
            cure = "np.float64, for instance"
            raise self.type_problem("DJ308", str(error), cure=cure, python=TypeError) from error

    def dtype_of(self, value: Any) -> np.dtype:
        """A dtype argument."""
        if isinstance(value, Static):
            dtype = self.known_dtype(value.obj)
            if dtype.names is not None:
                raise self.no_records()
            if dtype.kind == "O":
                cure = "leave the dtype out, or keep the objects in a list"
                raise self.type_problem("DJ323", "an array of objects is made", cure=cure)
            return dtype
        if isinstance(value, (av.Tup, av.Ref)):  # fields, with their types
            raise self.no_records()
        raise self.type_problem("DJ308", f"a dtype must be known while specialising, not {describe(value)}")

    def fields_of(self, dtype: Any) -> tuple[Any, Any] | None:
        """The dtype of records that a program makes, and its fields: name, dtype, lengths; None of other dtypes."""
        if isinstance(dtype, (av.Tup, av.Ref)):
            found = self.known_dtype(self.constant_of(np.dtype, dtype, self.here))
        elif isinstance(dtype, Static) and isinstance(dtype.obj, (np.dtype, str, list)):
            found = self.known_dtype(dtype.obj)
        else:
            return None
        if found.names is None:
            return None
        parts = [(name, found[name].base, found[name].shape) for name in found.names]
        if any(kind.kind not in "biufc" for _, kind, _ in parts):
            raise self.no_records()
        fields = tuple(av.Tup((Static(name), Static(kind), self.lift_static(own))) for name, kind, own in parts)
        return Static(found), av.Tup(fields)

    def no_records(self) -> TypeProblem:
        """The error where an array of records would be made."""
        cure = 'keep an array for each field, as in `table = {"x": np.zeros(n), "y": np.zeros(n)}`'
        return self.type_problem("DJ308", "an array of records that are no plain numbers and arrays is made", cure=cure)

    def array(self, value: Any, what: str = "an array") -> Value:
        """An abstract value as an IR array or scalar; sequences become arrays."""
        if isinstance(value, Value) and isinstance(value.type, (Array, Scalar)):
            return value
        if isinstance(value, (av.Tup, av.Ref, av.Range, av.Iter)):
            self.refuse_own_meaning(value)
            return self.array_from(value)
        return self.number(value, what)

    # Making arrays

    def array_from(self, value: Any, dtype: Any = None) -> Value:
        """np.array(value): always a fresh array (or a 0-d one for a number)."""
        if isinstance(value, (av.Opt, av.Maybe)):
            value = self.not_none(value) if isinstance(value, av.Opt) else self.bound(value)
        if isinstance(value, Static) and isinstance(value.obj, (list, tuple, np.ndarray)):
            value = self.lift_constant(np.array(value.obj))
        if isinstance(value, Value) and isinstance(value.type, Array):
            out = self.cast(value, dtype) if dtype is not None and value.type.ndim else value
            return self.copy(out) if out is value else out
        if isinstance(value, Value) and not isinstance(value.type, Scalar):
            return self._from_list(value, dtype)
        if isinstance(value, av.Ref) and isinstance(held := self.contents(value), DynList):
            if isinstance(held.elem, Sub) and not isinstance(held.elem.elem, Sub):
                rows = self.call_plain(joining.array_of_rows, value, node=None)
                return rows if dtype is None else self.cast(rows, dtype)
            if held.elem is not None and not _is_row(held.elem):
                return self._of_arrays(self.items_as_arrays(value), dtype)
            return self._from_dynamic(held, dtype)
        own = self.as_array(value)
        if own is not value:
            return self.array_from(own, dtype)
        if (items := self.as_sequence(value)) is not None:
            return self.array_from(items, dtype)
        if self.keyed(value) is not None or self.object_class(self.known_object(value)) is not None:
            problem = f"{describe(value)} is used where an array is needed"
            raise self.type_problem("DJ301", problem, cure="make a list of its values first")
        if isinstance(value, (av.Tup, av.Ref, av.Range, av.Iter)):
            try:
                items = self.sequence_items(value, None)
            except UnknownLength:
                if isinstance(value, av.Range):
                    return self.np_arange(value.start, value.stop, value.step)
                return self.array_from(self.collect(value), dtype)
            return self._from_items(items, dtype)
        scalar = self.number(value)
        ty = np.dtype(dtype) if dtype is not None else scalar.type.dtype
        out = self.empty((), ty)
        self.build.op("store", [out, self.as_dtype(scalar, ty)])
        self.note_boxed(out, scalar)
        return out

    def _from_items(self, items: list[Any], dtype: Any) -> Value:
        if not items:
            return self.empty((Static(0),), np.dtype(dtype or np.float64))
        if all(isinstance(i, Static) and av.is_number(i.obj) for i in items) and len(items) > 64:
            return self.lift_constant(np.array([i.obj for i in items], dtype=dtype))
        parts = [self.array_from(i) if self.is_sequence(i) else self.array(self.values_of(i)) for i in items]
        parts = [self.number(p) for p in parts]
        ty = np.dtype(dtype) if dtype is not None else self._common(parts)
        first = parts[0]
        dims = first.type.dims if isinstance(first.type, Array) else ()
        if any((p.type.ndim if isinstance(p.type, Array) else 0) != len(dims) for p in parts):
            raise self.type_problem(
                "DJ310",
                "an array is made of items of different dimensions",
                cure="give all items the same shape",
                python=ValueError,
            )
        lengths = [self.dim(first, k) for k in range(len(dims))]
        for part in parts[1:]:
            self.check_same_shape(part, lengths, self.raise_if)
        out = self.empty((Static(len(parts)), *lengths), ty, like=(len(parts), *dims))
        for k, part in enumerate(parts):
            if dims:
                self.assign_array(self.element(out, Static(k)), part)
            else:
                self.build.op("store", [out, self.as_dtype(part, ty), self.build.const(k)])
        return out

    def check_same_shape(self, part: Value, lengths: list[Any], fail: Any) -> None:
        """The rows of an array have equal shapes; a length of 1 is not broadcast."""
        for k, n in enumerate(lengths):
            same = self.same(n, self.dim(part, k))
            if not (isinstance(same, Static) and same.obj):
                fail(self.logical_not(same), ValueError, av.inexact(_RAGGED))

    def _common(self, parts: list[Value]) -> np.dtype:
        return np.result_type(*(p.type.dtype for p in parts))  # np.array takes Python's numbers for 64-bit ones

    def _from_dynamic(self, held: DynList, dtype: Any) -> Value:
        if not held.lists:
            return self.empty((Static(0),), np.dtype(dtype or np.float64))
        columns = [self._from_list(x, dtype) for x in held.lists]
        if len(columns) == 1:
            return columns[0]
        ty = np.result_type(*(c.type.dtype for c in columns))
        n = self.build.value("list_len", [held.lists[0]], INT)
        out = self.empty((n, Static(len(columns))), ty)
        full = av.Slice(NONE, NONE, NONE)
        for k, column in enumerate(columns):
            self.array_set(out, av.Tup((full, Static(k))), column)
        return out

    def _of_arrays(self, items: av.Ref, dtype: Any) -> Value:
        """An array of what was made just now: of nothing where that has raised what a handler waits for."""

        def nothing() -> Value:
            elem = self.contents(items).lists[0].type.elem
            ndim = elem.ndim if isinstance(elem, Array) else 0
            return self.empty((Static(0),) * (ndim + 1), np.dtype(dtype or elem.dtype))

        return self.choose(self.pending(), nothing, lambda: self.array_from(items, dtype))

    def items_as_arrays(self, items: av.Ref) -> av.Ref:
        """A growing list of numbers or arrays, made of the items of another one.

        What may be None is tested here: NumPy would make an array of objects.
        """
        told = "arrays" + "[]" * _depth(self.contents(items).elem)  # lists of lists come here again, one level below
        result = self.new(av.ListC(()), told)
        self.iterate(items, lambda item: self.list_append(result, self.array(item)), None, key=(told, self.place()))
        self.make_dynamic(result)
        return result

    def _from_list(self, items: Value, dtype: Any) -> Value:
        elem = items.type.elem
        n = self.build.value("list_len", [items], INT)
        if isinstance(elem, Scalar) or (isinstance(elem, Array) and elem.ndim == 0):
            ty = np.dtype(dtype) if dtype is not None else elem.dtype
            out = self.empty((n,), ty)

            def store(i: Value) -> None:
                number = self.number(self.build.value("list_get", [items, i], elem))
                self.build.op("store", [out, self.as_dtype(number, ty), i])

            self.counted(n, store)
            return out
        if isinstance(elem, Array):
            ty = np.dtype(dtype) if dtype is not None else elem.dtype
            empty = self.build.value("equal", [n, self.build.const(0)], BOOL)
            self.refuse_if(empty, ValueError, "np.array of an empty list of arrays")
            first = self.take("list_get", items, self.build.const(0))
            lengths = [self.dim(first, k) for k in range(elem.ndim)]
            out = self.empty((n, *lengths), ty)

            def put(i: Value) -> None:
                part = self.take("list_get", items, i)
                self.check_same_shape(part, lengths, self.refuse_if)
                self.assign_array(self.element(out, i), part)

            self.counted(n, put)
            return out
        raise self.unsupported(
            "DJ128", "np.array of lists of lists that grow at run time", None, "store numbers into an array"
        )

    def counted(self, n: Value, body: Any) -> None:
        """A plain counted loop without carried values: no flag leaves it, so that a `try` catches nothing of it."""
        index = Value(INT, "k")
        block = Block([index])
        handlers, self.handlers = self.handlers, []
        try:
            with self.build.inside(block):
                body(index)
        finally:
            self.handlers = handlers
        self.build.counted(n, block)

    def lengths_of(self, shape: Any) -> tuple[Any, ...]:
        """A shape argument: an int or a sequence of ints."""
        shape = self.as_known(shape)
        if isinstance(shape, Static) and isinstance(shape.obj, (int, np.integer)):
            return (Static(int(shape.obj)),)
        if isinstance(shape, Static) and isinstance(shape.obj, (tuple, list)):
            return tuple(map(self.length_given, map(Static, shape.obj)))
        if isinstance(shape, Value) and (isinstance(shape.type, Scalar) or shape.type.ndim == 0):
            return (self.length_given(shape if isinstance(shape.type, Scalar) else self.item(shape)),)
        return tuple(self.length_given(self.known_object(n)) for n in self.sequence_items(shape, None))

    def whole(self, value: Any, otherwise: type[Exception]) -> Any:
        """A number that is an int, or infinite, as the int: it is `otherwise` where the program runs. Others stay."""
        if not isinstance(value, Value) or value.type not in (FLOAT, Scalar(FLOAT.dtype)) or not int_or_infinite(value):
            return value
        wrong = self.logical_not(self.ew("isfinite", value))
        self.raise_if(wrong, otherwise, av.inexact("an infinite float is used where an int is needed"))
        return self.to_int(value)

    def as_bound(self, bound: Any) -> Value:
        """A bound of a slice as a number: no float."""
        value = self.number(self.whole(bound, TypeError))
        if value.type.dtype.kind in "fc":
            problem = f"{describe(bound)} cannot be a bound of a slice"
            raise self.type_problem("DJ314", problem, cure=f"use int(...); {BECOME_FLOATS}", python=TypeError)
        return value

    def slice_bound(self, bound: Any) -> Value:
        """A bound of a slice, which NumPy cuts to the length of the array however large it is."""
        value = self.as_bound(bound)
        if value.type == Scalar(np.dtype(np.uint64)):
            value = self.as_weak(self.ew("minimum", value, Static(np.uint64(2**63 - 1))))
        return value

    def length_given(self, n: Any) -> Any:
        """A length that the program gives: an int."""
        if isinstance(n, Static) and hasattr(n.obj, "__index__") and not isinstance(n.obj, bool):
            return Static(operator.index(n.obj))
        n = self.whole(n, TypeError)
        if isinstance(n, Value) and getattr(n.type, "ndim", 0) == 0 and n.type.dtype.kind in "iu":
            return n
        raise self.type_problem(
            "DJ308",
            f"a length must be an int, not {describe(n)}",
            cure=f"use int(...); {BECOME_FLOATS}",
            python=TypeError,
        )

    def known_dims(self, lengths: tuple[Any, ...]) -> tuple[Dim, ...]:
        """What is known of lengths given as values: constants, and the lengths of other arrays."""
        out: list[Dim] = []
        for n in lengths:
            if isinstance(n, Static):
                if n.obj < 0:
                    raise self.type_problem("DJ318", "negative dimensions are not allowed", python=ValueError)
                out.append(int(n.obj))
            elif n.op is not None and n.op.kind == "dim":
                out.append(n.op.inputs[0].type.dims[n.op.attrs["axis"]])
            else:
                out.append(self.length_facts.made(n))
        return tuple(out)

    def empty(
        self,
        lengths: tuple[Any, ...],
        dtype: Any,
        *,
        kind: str = "empty",
        order: str = "C",
        like: tuple[Dim, ...] | None = None,
    ) -> Value:
        """A fresh array."""
        dims = like if like is not None else self.known_dims(lengths)
        ty = Array(np.dtype(dtype), dims, order if len(dims) > 1 else "C")
        return self.build.value(kind, [self.number(n) for n in lengths], ty, order=order)

    @kinds(empty=np.empty, zeros=np.zeros)
    def np_empty(self, kind: str, shape: Any, dtype: Any = Static(float), order: Any = Static("C"), **_: Any) -> Any:
        if (fields := self.fields_of(dtype)) is not None:
            return self.call(Static(records.filled), [Static(getattr(np, kind)), shape, *fields], {})
        if is_object(dtype):
            return self.filled_with_objects(shape, Static(0 if kind == "zeros" else None))
        return self.empty(self.lengths_of(shape), self.dtype_of(dtype), kind=kind, order=order.obj or "C")

    @core(np.ndarray)
    def np_ndarray(
        self,
        shape: Any,
        dtype: Any = Static(float),
        buffer: Any = NONE,
        offset: Any = NONE,
        strides: Any = NONE,
        order: Any = NONE,
    ) -> Value:
        if not all(is_none(part) for part in (buffer, offset, strides)):
            raise self.unsupported(
                "DJ118", "np.ndarray on another's memory", None, "reshape and slice the array itself"
            )
        return self.np_empty("empty", shape, dtype, order)

    @core(np.ones)
    def np_ones(self, shape: Any, dtype: Any = Static(float), order: Any = Static("C"), **_: Any) -> Value:
        if (fields := self.fields_of(dtype)) is not None:
            return self.call(Static(records.filled), [Static(np.ones), shape, *fields], {})
        if is_object(dtype):
            return self.filled_with_objects(shape, Static(1))
        return self.np_full(shape, Static(1), dtype if not is_none(dtype) else Static(float), order)

    @core(np.full)
    def np_full(self, shape: Any, fill_value: Any, dtype: Any = NONE, order: Any = Static("C"), **_: Any) -> Value:
        if is_object(dtype):
            return self.filled_with_objects(shape, fill_value)
        value = self.array(fill_value)
        ty = value.type.dtype if is_none(dtype) else self.dtype_of(dtype)
        lengths = self.lengths_of(shape)
        if isinstance(value.type, Array):
            out = self.empty(lengths, ty, order=order.obj or "C")
            self.assign_array(out, value)
            return out
        if value.type.dtype.kind == "c" and ty.kind != "c":
            raise self.complex_into_real("a complex number is")
        dims = self.known_dims(lengths)
        order_text = order.obj or "C"
        return self.build.value(
            "full",
            [self.as_dtype(value, ty), *(self.number(n) for n in lengths)],
            Array(ty, dims, order_text if len(dims) > 1 else "C"),
            order=order_text,
        )

    def _like(self, kind: str, a: Any, dtype: Any, order: Any, shape: Any = NONE) -> Any:
        if is_object(dtype):
            lengths = self.np_shape(a) if is_none(shape) else shape
            return self.filled_with_objects(lengths, Static(0 if kind == "zeros" else None))
        if not is_none(dtype) and is_none(shape) and (count := self.count_of_objects(a)) is not None:
            return self.empty((Static(count),), self.dtype_of(dtype), kind=kind)
        a = self.array(a)
        ty = a.type.dtype if is_none(dtype) else self.dtype_of(dtype)
        fixed = order.obj if not is_none(order) and order.obj in ("C", "F") else None
        if not is_none(shape):
            return self.empty(self.lengths_of(shape), ty, kind=kind, order=fixed or "C")
        if isinstance(a.type, Scalar):
            return self.empty((), ty, kind=kind)
        if fixed not in (None, a.type.layout):
            return self.empty(self.np_shape(a).items, ty, kind=kind, order=fixed)
        return self.build.value(kind + "_like", [a], Array(ty, a.type.dims, a.type.layout))

    @core(np.zeros_like)
    def np_zeros_like(
        self, a: Any, dtype: Any = NONE, order: Any = NONE, subok: Any = NONE, shape: Any = NONE, **_: Any
    ) -> Any:
        return self._like("zeros", a, dtype, order, shape)

    @core(np.empty_like)
    def np_empty_like(
        self, prototype: Any, dtype: Any = NONE, order: Any = NONE, subok: Any = NONE, shape: Any = NONE, **_: Any
    ) -> Any:
        return self._like("empty", prototype, dtype, order, shape)

    @core(np.ones_like)
    def np_ones_like(
        self, a: Any, dtype: Any = NONE, order: Any = NONE, subok: Any = NONE, shape: Any = NONE, **_: Any
    ) -> Any:
        return self.np_full_like(a, Static(1), dtype, order, subok, shape)

    @core(np.full_like)
    def np_full_like(
        self,
        a: Any,
        fill_value: Any,
        dtype: Any = NONE,
        order: Any = NONE,
        subok: Any = NONE,
        shape: Any = NONE,
        **_: Any,
    ) -> Any:
        del subok
        if is_object(dtype):
            return self.np_full(self.np_shape(a) if is_none(shape) else shape, fill_value, dtype)
        out = self._like("empty", a, dtype, order, shape)
        self.assign_array(out, self.array(fill_value))
        return out

    def copy(self, a: Value, order: str = "K") -> Value:
        """A fresh copy."""
        layout = {"C": "C", "F": "F"}.get(order, a.type.layout)
        return self.build.value("copy", [a], Array(a.type.dtype, a.type.dims, layout), order=order)

    @core(np.copy)
    def np_copy(self, a: Any, order: Any = Static("K"), **_: Any) -> Any:
        a = self.array(a)
        return self.array_from(self.own_number(a)) if isinstance(a.type, Scalar) else self.copy(a, order.obj)

    @core(np.array)
    def np_array(
        self,
        object: Any,  # noqa: A002 - NumPy's name
        dtype: Any = NONE,
        copy: Any = Static(True),
        order: Any = Static("K"),
        ndmin: Any = Static(0),
        subok: Any = Static(False),
        **_: Any,
    ) -> Any:
        if subok.obj and isinstance(object, av.Ref) and issubclass(self.class_of(object), np.ndarray):
            return self.copy_of_class(object, dtype)
        if (fields := self.fields_of(dtype)) is not None:
            return self.call(Static(records.listed), [object, *fields], {})
        if (made := self.as_objects(object, dtype)) is not None:
            return self.call_method(made, "copy", []) if made is object and copy.obj else made
        if isinstance(copy, Static) and copy.obj and self.copies_itself(object):
            return self.np_array(self.as_array(object, dtype, copy=copy), dtype, Static(False), order, ndmin)
        object = self.as_array(object, dtype)  # noqa: A001 - NumPy's name
        others = self.array_of_others(object, dtype)
        if others is not None:
            return others
        wanted = None if is_none(dtype) else self.dtype_of(dtype)
        if isinstance(copy, Static) and not copy.obj:
            out = self.np_asarray(object, dtype, order)
        else:
            if isinstance(object, Value) and isinstance(object.type, Scalar):
                object = self.own_number(object)  # noqa: A001 - NumPy's name
            out = self.array_from(object, wanted)
            if order.obj in ("C", "F") and out.type.layout != order.obj:
                out = self.copy(out, order.obj)
        least = self.static_int(ndmin, "`ndmin`")
        while out.type.ndim < least:
            out = self.basic_get(out, [None, *[av.Slice(NONE, NONE, NONE)] * out.type.ndim], scalar_ok=False)
        return out

    @kinds(C=np.ascontiguousarray, F=np.asfortranarray)
    def np_ordered(self, kind: str, a: Any, dtype: Any = NONE, **_: Any) -> Any:
        """An array of one dimension or more in the order of memory that is asked for."""
        made = self.np_asarray(a, dtype)
        return self.in_order(made if made.type.ndim else self.np_reshape(made, Static(1)), kind)

    @core(np.require)
    def np_require(self, a: Any, dtype: Any = NONE, requirements: Any = NONE, **_: Any) -> Any:
        """An array in the order that is asked for; all arrays of a program can be written to, and are aligned."""
        known = self.all_known(requirements)
        asked = None if known is None else known.obj if isinstance(known, Static) else known
        wanted = [_REQUIREMENTS.get(str(x).upper()) for x in asked or ()]
        if (known is None and not is_none(requirements)) or not {*wanted} <= {"", "C", "F"}:
            raise self.unsupported("DJ118", "np.require with requirements other than C, F, A, W and E")
        return self.np_asarray(a, dtype, Static(next((x for x in wanted if x), None)))

    def in_order(self, a: Value, order: str) -> Value:
        """The array itself where its elements stand in this order, else a copy that has them so, as the run tells."""
        ty = a.type
        long = [d for d in ty.dims if d != 1]
        if ty.layout == order or (ty.layout != "A" and len(long) < 2):
            return a
        if self.in_library() or (ty.layout != "A" and sum(map(not_one, long)) > 1):
            return self.copy(a, order)
        turned = a if order == "C" else self.get_attribute(a, "T", None)
        laid = self.np_reshape(self.np_ravel(turned), self.np_shape(turned))
        return laid if order == "C" else self.get_attribute(laid, "T", None)

    def copy_of_class(self, a: av.Ref, dtype: Any) -> Any:
        """A copy of an object of a class of arrays, of its class."""
        return self.call_method(a, "copy", []) if is_none(dtype) else self.call_method(a, "astype", [dtype])

    @core(np.asanyarray)
    def np_asanyarray(self, a: Any, dtype: Any = NONE, order: Any = NONE, **options: Any) -> Any:
        if isinstance(a, av.Ref) and issubclass(self.class_of(a), np.ndarray) and is_none(order):
            return a if is_none(dtype) else self.copy_of_class(a, dtype)
        return self.np_asarray(a, dtype, order, **options)

    @core(np.asarray)
    def np_asarray(self, a: Any, dtype: Any = NONE, order: Any = NONE, *, copy: Any = NONE, **_: Any) -> Any:
        if (made := self.as_objects(a, dtype)) is not None:
            return made
        if not is_none(copy) and copy.obj:
            return self.np_array(a, dtype, copy, Static("K") if is_none(order) else order)
        a = self.as_array(a, dtype)
        if (others := self.array_of_others(a, dtype)) is not None:
            return others
        wanted = None if is_none(dtype) else self.dtype_of(dtype)
        a = self.none_as_nan(a, wanted)
        if isinstance(a, Static) and isinstance(a.obj, np.ndarray):
            a = self.lift_constant(a.obj)
        if isinstance(a, Value) and isinstance(a.type, Array):
            a = a if wanted is None or wanted == a.type.dtype else self.cast(a, wanted)
        else:
            a = self.array_from(a, wanted)
        return self.in_order(a, order.obj) if isinstance(order, Static) and order.obj in ("C", "F") else a

    @core(np.arange)
    def np_arange(
        self, start: Any = Static(0), stop: Any = NONE, step: Any = Static(1), dtype: Any = NONE, **_: Any
    ) -> Value:
        if is_none(stop):
            start, stop = Static(0), start
        parts = [self.number(p) for p in (start, stop, step)]
        if any(getattr(p.type, "ndim", 0) > 0 for p in parts):
            problem = "np.arange takes numbers, not an array of them"
            raise self.type_problem("DJ301", problem, cure="take an item of it, or its length", python=TypeError)
        ty = np.result_type(*(p.type.dtype for p in parts))
        if ty.kind == "b":
            ty = np.dtype(np.int64)
        floating = ty.kind == "f"
        words = BY_ZERO if floating else "division by zero"
        self.raise_if(self.compare_kind("equal", step, Static(0)), ZeroDivisionError, words)
        if floating:
            span = self.ew("divide", self.ew("subtract", stop, start), step)
            n = self.py_min_max("maximum", self.cast(self.ew("ceil", span), np.int64, weak=True), Static(0))
            if all(isinstance(p, Static) for p in (start, stop, step)):
                n = Static(len(np.arange(start.obj, stop.obj, step.obj)))
            if not (isinstance(start, Static) and start.obj == 0):  # as NumPy: from the first to the second number
                step = self.ew("subtract", self.ew("add", start, step), start)
            out = self.cast(self.ew("add", start, self.ew("multiply", self.np_arange(Static(0), n), step)), ty)
        else:
            n = self.trip(start, stop, step)
            dims = self.known_dims((n,))
            if (
                isinstance(start, Static)
                and start.obj == 0
                and isinstance(step, Static)
                and step.obj == 1
                and isinstance(stop, Value)
            ):
                dims = self.known_dims(
                    (stop,)
                )  # a negative stop gives an empty array: checked by no one, equal to no one
            out = self.build.value(
                "arange", [as_int(self, p) for p in (start, stop, step)], Array(np.dtype(np.int64), dims, "C")
            )
        if is_none(dtype):
            return out
        return self.cast(out, self.dtype_of(dtype))


def as_int(interpreter: Any, part: Any) -> Value:
    """An int operand."""
    return interpreter.cast(part, np.int64, weak=True)


def _depth(elem: Any) -> int:
    """How many levels of lists the items of a growing list have."""
    return 1 + _depth(elem.elem) if isinstance(elem, Sub) else 0


def _is_row(elem: Any) -> bool:
    """Whether the items of a growing list are numbers or arrays, or tuples of numbers: each part is a column."""
    parts = elem.children if isinstance(elem, Node) and elem.kind[0] == "tuple" else (elem,)
    flat = all(isinstance(p, Leaf) and isinstance(p.type, Scalar) for p in parts)
    return flat or isinstance(elem, Leaf)
