"""NumPy's core functions on shapes: reshape, transpose, broadcast_to, diagonal, concatenate."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from diffjit.errors import words
from diffjit.frontend.numpy.arith import as_operand
from diffjit.frontend.numpy.read_only import READ_ONLY
from diffjit.frontend.numpy.reshapes import CONTIGUOUS, EXACT, MERGED, TAKEN
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, Leaf, Sub
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import INT, Array, Dim, Scalar, Sym, not_one, permuted_layout
from diffjit.primitives.library import containers, joining, shaping, windows
from diffjit.primitives.library.axes import is_never_one, is_one, is_two


class NumpyShapes(Mixin):
    """Mixin of the interpreter: shapes."""

    def item(self, array: Value, exception: type = ValueError) -> Value:
        """The only element of an array of size one.

        Since NumPy 2.5 `float` and `int` take arrays without axes alone; here a `try` that would catch that is told.
        """
        if exception is TypeError and array.type.ndim and self.catches(TypeError) and (told := _only_without_axes()):
            raise self.type_problem("DJ308", told, python=TypeError)
        if any(d != 1 for d in array.type.dims):
            message = "can only convert an array of size 1 to a Python scalar"
            if exception is TypeError:
                message = words(float, np.ones(2))
            self.raise_if(self.compare_kind("not_equal", self.np_size(array), Static(1)), exception, message)
        zeros = [self.build.const(0) for _ in range(array.type.ndim)]
        return self.build.value("load", [array, *zeros], Scalar(array.type.dtype))

    def dim(self, array: Value, axis: int) -> Any:
        """array.shape[axis]: static where the length is known."""
        length = array.type.dims[axis]
        if isinstance(length, int):
            return Static(length)
        return self.build.value("dim", [array], INT, axis=axis)

    @core(np.shape)
    def np_shape(self, a: Any) -> Any:
        a = self.array(a)
        return av.Tup(tuple(self.dim(a, k) for k in range(a.type.ndim if isinstance(a.type, Array) else 0)))

    @core(np.ndim)
    def np_ndim(self, a: Any) -> Any:
        a = self.array(a)
        return Static(a.type.ndim if isinstance(a.type, Array) else 0)

    @core(np.result_type)
    def np_result_type(self, *arrays_and_dtypes: Any) -> Any:
        kinds = (a.obj if isinstance(a, Static) else as_operand(self.array(a).type) for a in arrays_and_dtypes)
        return Static(np.result_type(*kinds))

    @core(np.common_type)
    def np_common_type(self, *arrays: Any) -> Any:
        return Static(np.common_type(*(np.empty(0, self.array(a).type.dtype) for a in arrays)))

    @core(np.size)
    def np_size(self, a: Any, axis: Any = NONE) -> Any:
        a = self.array(a)
        if not is_none(axis):
            return self.dim(a, self.axis_of(axis, a.type.ndim if isinstance(a.type, Array) else 0))
        if isinstance(a.type, Scalar):
            return Static(1)
        total: Any = Static(1)
        for k in range(a.type.ndim):
            total = (
                self.ew("multiply", total, self.dim(a, k))
                if not (isinstance(total, Static) and total.obj == 1)
                else self.dim(a, k)
            )
        return total

    @core(is_one)
    def length_is_one(self, n: Any) -> Static:
        return Static(isinstance(n, Static) and n.obj == 1)

    @core(is_never_one)
    def length_is_never_one(self, a: Value, axis: Any) -> Static:
        return Static(not_one(a.type.dims[self.axis_of(axis, a.type.ndim)]))

    @core(is_two)
    def length_is_two(self, n: Any) -> Static:
        return Static(isinstance(n, Static) and n.obj == 2)

    @core(np.reshape)
    def np_reshape(
        self, a: Any, shape: Any = NONE, order: Any = Static("C"), *, newshape: Any = NONE, copy: Any = NONE
    ) -> Any:
        a = self.array(a)
        if isinstance(a.type, Scalar):
            a = self.array_from(a)
        if not is_none(copy) and self.static_truth(copy, "whether a reshape copies"):
            a = self.copy(a, order.obj if order.obj in ("C", "F") else "K")
        if is_none(shape):
            shape = newshape
        lengths = list(self.lengths_of(shape))
        if self.reads_columns(a, order.obj) and (a.type.ndim > 1 or len(lengths) > 1):
            flipped = self.np_reshape(self.transpose(a, tuple(range(a.type.ndim))[::-1]), av.Tup(tuple(lengths[::-1])))
            return self.transpose(flipped, tuple(range(len(lengths)))[::-1])
        unknown = [k for k, n in enumerate(lengths) if isinstance(n, Static) and n.obj < 0]  # NumPy takes any for -1
        if len(unknown) > 1:
            self.raise_if(Static(True), ValueError, "can only specify one unknown dimension")
        if unknown:
            lengths[unknown[0]] = self._missing_length(a, lengths, unknown[0])
        dims = self.known_dims(tuple(lengths))
        if len(lengths) == a.type.ndim == 1 and dims == a.type.dims:
            return self.build.value("view", [a], a.type, spec=(":",))
        sizes = [self.number(n) for n in lengths]
        if a.type.layout == "C":
            mark = {} if self.rule_mode or self.in_library() or a.type.ndim < 2 else {TAKEN: True}
            return self.build.value("reshape", [a, *sizes], Array(a.type.dtype, dims, "C"), view=True, **mark)
        merged, exact = merged_axes(a.type, dims)
        if len(merged) < 2:
            return self.build.value("reshape", [a, *sizes], Array(a.type.dtype, dims, "A"), view=True)
        layout = "C" if a.type.layout == "F" and sum(not_one(a.type.dims[k]) for k in merged) > 1 else "A"
        # Functions of the library read what they reshape: nobody sees whether that is a view.
        undecided = {} if self.in_library() else {MERGED: merged, EXACT: exact}
        return self.build.value("reshape", [a, *sizes], Array(a.type.dtype, dims, layout), view=False, **undecided)

    def reads_columns(self, a: Value, order: str) -> bool:
        """Whether an `order` argument means Fortran's order for this array."""
        if order in ("A", "K") and a.type.ndim > 1:
            if order == "K" and a.type.layout == "A":
                message, cure = "order='K' for an array whose memory layout is not known", "use order='C' or 'F'"
                raise self.unsupported("DJ118", message, None, cure)
            return a.type.layout == "F"
        return order == "F"

    def _missing_length(self, a: Value, lengths: list[Any], k: int) -> Any:
        total = self.np_size(a)
        rest: Any = Static(1)
        for j, n in enumerate(lengths):
            if j != k and not (isinstance(n, Static) and n.obj == 1):
                rest = n if isinstance(rest, Static) and rest.obj == 1 else self.ew("multiply", rest, n)
        if isinstance(rest, Static) and rest.obj == 1:
            return total
        if not (self.rule_mode or self.in_library()):  # of nothing NumPy does not say how long an axis is
            self.raise_if(self.compare_kind("equal", rest, Static(0)), ValueError, av.inexact("cannot reshape array"))
        return self.ew(
            "floor_divide",
            total,
            self.py_min_max("maximum", rest, Static(1)) if not isinstance(rest, Static) else Static(max(rest.obj, 1)),
        )

    @core(np.ravel)
    def np_ravel(self, a: Any, order: Any = Static("C")) -> Any:
        a = self.as_rows(self.array(a), order)
        if isinstance(a.type, Scalar) or a.type.layout == "C":
            return self.np_reshape(a, Static(-1))
        # Unlike reshape, it copies whatever is not contiguous, even where a view would do.
        return self.flat_copy(a, **{MERGED: tuple(range(a.type.ndim)), EXACT: True, CONTIGUOUS: True})

    @core(np.ndarray.flatten)
    def flatten(self, a: Any, order: Any = Static("C")) -> Value:
        """All elements in one dimension, as a copy."""
        a = self.array(a)
        return self.np_reshape(a, Static(-1)) if isinstance(a.type, Scalar) else self.flat_copy(self.as_rows(a, order))

    def flat(self, a: Any) -> Value:
        """`a.flat`: a view where the elements stand in C's order, else a copy that knows of what."""
        if not isinstance(a, Value) or not isinstance(a.type, Array):
            return self.np_reshape(a, Static(-1))
        if a.type.ndim > 1 and a.type.layout != "C":
            made = self.flatten(a)
            self.flat_of[made] = a
            return made
        line = a.type.ndim == 1
        made = self.build.value("view", [a], a.type, spec=(":",)) if line else self.np_reshape(a, Static(-1))
        self.flat_views.add(made)
        return made

    def part_of_flat(self, flat: Value, index: Any, node: Any) -> Any:
        """`a.flat[index]`, which is a copy also where it is a slice."""
        if flat in self.flat_of:
            return self.array_get(self.flatten(self.flat_of[flat]), index, node)
        part = self.array_get(flat, index, node)
        if isinstance(part, Value) and isinstance(part.type, Array) and part.op is not None and part.op.kind == "view":
            return self.copy(part)
        return part

    def is_flat(self, value: Any) -> bool:
        """Whether this stands for `a.flat`."""
        return isinstance(value, Value) and (value in self.flat_of or value in self.flat_views)

    def write_flat(self, a: Value, write: Callable[[Value], None]) -> None:
        """Change `a.flat` where it is a copy: all of it is written back."""
        made = self.flatten(a)
        write(made)
        self.assign_array(a, self.np_reshape(made, self.get_attribute(a, "shape", None)))

    def as_rows(self, a: Value, order: Any) -> Value:
        """An array whose elements in C order are those of `a` in another order."""
        if isinstance(a.type, Array) and self.reads_columns(a, order.obj):
            return self.transpose(a, tuple(range(a.type.ndim))[::-1])
        return a

    def flat_copy(self, a: Value, **attrs: Any) -> Value:
        """A copy of all elements in one dimension."""
        size = self.np_size(a)
        ty = Array(a.type.dtype, self.known_dims((size,)), "C")
        return self.build.value("reshape", [a, self.number(size)], ty, view=False, **attrs)

    def transpose(self, a: Value, perm: tuple[int, ...]) -> Value:
        """A view with permuted axes; a number has none."""
        if not isinstance(a.type, Array):
            return a
        if a.type.ndim < 2 or perm == tuple(range(a.type.ndim)):
            return self.build.value("view", [a], a.type, spec=(":",) * a.type.ndim)
        dims = tuple(a.type.dims[p] for p in perm)
        return self.build.value("transpose", [a], Array(a.type.dtype, dims, permuted_layout(a.type, perm)), perm=perm)  # pyright: ignore[reportArgumentType]

    @core(np.transpose, np.permute_dims)
    def np_transpose(self, a: Any, axes: Any = NONE) -> Any:
        a = self.array(a)
        ndim = a.type.ndim if isinstance(a.type, Array) else 0
        if is_none(axes):
            perm = tuple(range(ndim))[::-1]
        else:
            try:
                items = self.sequence_items(self.as_known(axes), None)
            except UnknownLength:
                cure = "write them out, or make them of constants"
                raise self.type_problem("DJ307", "axes must be known before the program runs", cure=cure) from None
            perm = self.axes_in_order(items, ndim)
            if len(perm) != ndim:
                raise self.type_problem(
                    "DJ318", f"{len(perm)} axes for an array of {ndim} dimensions", python=ValueError
                )
        return self.transpose(a, perm)

    def set_shape(self, array: Value, shape: Any, node: Any) -> None:
        """`a.shape = n`: the name, which alone stands for the array, stands for its reshape from here on."""
        target = self.its_one_name(array, getattr(node, "value", None), "assignment to `.shape`", "use reshape", node)
        self.assign_target(target, self.np_reshape(array, shape))

    def resize_in_place(self, array: Value, shape: Any, node: Any) -> Any:
        """`a.resize(n)`: the name stands from here on for a longer array with zeros behind, or for a shorter one."""
        name = getattr(getattr(node, "func", None), "value", None)
        cure = "use np.concatenate, or slice it"
        target = self.its_one_name(array, name, "`.resize`, which changes an array in place,", cure, node)
        self.assign_target(target, self.call_plain(joining.lengthened, array, shape, node=node))
        return NONE

    def _is_made_here(self, array: Value, names: int) -> bool:
        """Whether the program has made an array, on each path that leads here, and so many names stand for it."""
        op = array.op
        if op is None or op.row.gives or self.names_of(array) != names:
            return False
        if op.kind == "if":
            found = [region.results[op.outputs.index(array)] for region in op.regions]
            return all(v.op is not None and (v.op.kind == "undef" or self._is_made_here(v, 0)) for v in found)
        return not op.row.control

    def its_one_name(self, array: Value, target: Any, what: str, cure: str, node: Any) -> gast.AST:
        """The name that alone stands for an array of the program's own, which another one is about to take."""
        alone = isinstance(target, (gast.Name, gast.Attribute)) and self._is_made_here(array, 1)
        if not alone or array.type.layout != "C":
            why = "of an array that other names may stand for" if not alone else "of an array that is not in C's order"
            error = self.unsupported("DJ101", f"{what} {why}", node, cure)
            if array.op is None and self.loops:  # a loop that is written out makes the array anew in each turn
                around = self.loops[-1]
                bounds = () if around.can_unroll else around.bounds
                raise NeedStatic(error, [("loop", around.site), *(s for b in bounds for s in self.static_sources(b))])
            raise error
        return target

    @core(np.broadcast_to)
    def np_broadcast_to(self, array: Any, shape: Any) -> Any:
        a = self.array(array)
        lengths = self.lengths_of(shape)
        if isinstance(a.type, Scalar):
            if not lengths:
                return a
            return self.np_full(av.Tup(lengths), a)
        dims = self.known_dims(lengths)
        if len(dims) < a.type.ndim:
            message = f"an array of {a.type.ndim} dimensions is broadcast to {len(dims)}"
            raise self.type_problem("DJ310", message, python=ValueError)
        self.broadcast([dims, a.type.dims])
        return self.build.value("broadcast_to", [a, *(self.number(n) for n in lengths)], Array(a.type.dtype, dims, "A"))

    @core(np.diagonal)
    def np_diagonal(self, a: Any, offset: Any = Static(0), axis1: Any = Static(0), axis2: Any = Static(1)) -> Any:
        a = self.array(a)
        first, second = self.axes_in_order((axis1, axis2), a.type.ndim)
        if a.type.ndim > 2:
            return self.call_plain(windows.diagonals, a, offset, Static(first), Static(second), node=None)
        if (first, second) == (1, 0):
            a = self.transpose(a, (1, 0))
        if not isinstance(offset, Static):
            a, offset = self.call_plain(windows.from_diagonal, a, offset, node=None), Static(0)
        rows, columns = a.type.dims
        length = rows if rows == columns and offset.obj == 0 else Sym()
        return self.build.value(
            "diagonal",
            [a],
            Array(a.type.dtype, (length,), "A"),
            offset=self.static_int(offset, "the offset"),
            **{READ_ONLY: True},
        )

    @core(shaping.has_length_one)
    def has_length_one(self, a: Any, axis: Any, either: Any = Static(False)) -> Any:
        """Whether an axis has length 1. One of a length that nobody knows has not; else it fails when it runs.

        It does not fail where it makes no difference then.
        """
        length = self.dim(a, axis.obj)
        if isinstance(length, Static):
            return Static(length.obj == 1)
        one = self.compare_kind("equal", length, Static(1))
        if isinstance(one, Static):
            return one
        if self.can_be_static(one):
            message = "which axes have length 1 must be known before the program runs"
            raise self.need_static(one, self.type_problem("DJ307", message))
        one = self.both(one, self.logical_not(either))
        self.refuse_if(one, NotImplementedError, "np.squeeze of an axis that turns out to have length 1: use `axis`")
        return Static(False)

    @core(np.concatenate)
    def np_concatenate(self, arrays: Any, axis: Any = Static(0), dtype: Any = NONE, **_: Any) -> Any:
        flat = is_none(axis)
        arrays = self._with_tuples_as_arrays(arrays)
        rank = arrays.type.ndim - 1 if isinstance(arrays, Value) and isinstance(arrays.type, Array) else 0
        function, rank = (joining.joined, rank) if rank > 0 else (containers.concatenated, self._rank_of_items(arrays))
        if rank > 0 and not (flat and function is joining.joined):
            place = axis if flat else Static(self.axis_of(axis, rank))
            joined = self.call_plain(function, arrays, place, node=None)
            plain = is_none(dtype)
            return joined if plain else self.cast(joined, self.dtype_of(dtype))
        parts = self._parts(arrays)
        if is_none(axis):
            parts = [self.np_ravel(p) for p in parts]
            axis = Static(0)
        if not parts:
            raise self.type_problem("DJ318", "need at least one array to concatenate", python=ValueError)
        ndim = parts[0].type.ndim
        if any(p.type.ndim != ndim for p in parts):
            message, cure = "arrays of different numbers of dimensions are joined", "give all parts the same number"
            raise self.type_problem("DJ310", message, cure=cure, python=ValueError)
        k = self.axis_of(axis, ndim)
        ty = self._common(parts) if is_none(dtype) else self.dtype_of(dtype)
        parts = [self.cast(p, ty) for p in parts]
        dims = list(parts[0].type.dims)
        known = [p.type.dims[k] for p in parts]
        dims[k] = sum(known) if all(isinstance(d, int) for d in known) else Sym()
        return self.build.value("concatenate", parts, Array(ty, tuple(dims), "C"), axis=k)

    def _with_tuples_as_arrays(self, arrays: Any) -> Any:
        """A growing list of tuples, or of arrays that may be None, as one of arrays."""
        held = self.contents(arrays) if isinstance(arrays, av.Ref) else None
        if not isinstance(held, DynList) or held.elem is None or isinstance(held.elem, (Leaf, Sub)):
            return arrays
        return self.items_as_arrays(arrays)

    def _rank_of_items(self, arrays: Any) -> int:
        """The number of dimensions of the arrays in a growing list; 0 for anything else."""
        held = self.contents(arrays) if isinstance(arrays, av.Ref) else None
        if not isinstance(held, DynList) or len(held.lists) != 1 or not isinstance(held.lists[0].type.elem, Array):
            return 0
        return held.lists[0].type.elem.ndim

    def _parts(self, arrays: Any) -> list[Value]:
        if self.is_growing(arrays):
            message = "np.concatenate of a growing list of arrays of this kind"
            raise self.unsupported("DJ118", message, None, "np.array(list) stacks equal shapes")
        try:
            items = self.sequence_items(arrays, None)
        except UnknownLength:
            items = [self.np_reshape(self.array_from(arrays), Static(-1))]
        return [
            p if isinstance(p := self.array(i), Value) and isinstance(p.type, Array) else self.array_from(p)
            for i in items
        ]


def merged_axes(ty: Array, dims: tuple[Dim, ...]) -> tuple[tuple[int, ...], bool]:
    """The axes that a reshape may have to merge: not those of length 1, nor those that lead or end both shapes.

    The flag says whether a view needs all of them merged; else merging some may do.
    """
    long = [k for k, d in enumerate(ty.dims) if d != 1]
    wanted = [d for d in dims if d != 1]
    while long and wanted and ty.dims[long[0]] == wanted[0]:
        del long[0], wanted[0]
    while long and wanted and ty.dims[long[-1]] == wanted[-1]:
        del long[-1], wanted[-1]
    return tuple(long), len(wanted) < 2


@functools.cache
def _only_without_axes() -> str:
    """What this NumPy says of the number of an array with one item and an axis; nothing where it takes that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return words(float, np.ones(1))
