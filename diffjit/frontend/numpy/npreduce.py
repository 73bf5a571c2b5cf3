"""NumPy's core reductions, scans, sorting, selection, products and linear algebra."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.frontend.numpy.arith import broadcast_dims
from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value, const_of
from diffjit.ir.types import BOOL, Array, Dim, Scalar
from diffjit.primitives import spectral
from diffjit.primitives.registry import BOXING

_SEVERAL = 4  # places where `np.where` of numbers has to make an array: it does so everywhere then


class NumpyReductions(Mixin):
    """Mixin of the interpreter: reductions and products."""

    def axes_of(self, a: Value, axis: Any) -> tuple[int, ...]:
        """An axis argument as a sorted tuple."""
        axis = self.as_known(axis)
        if is_none(axis):
            return tuple(range(a.type.ndim))
        items = (
            self.sequence_items(axis, None)
            if isinstance(axis, (av.Tup, av.Ref)) or (isinstance(axis, Static) and isinstance(axis.obj, tuple))
            else [axis]
        )
        return tuple(sorted(self.axes_in_order(items, a.type.ndim)))

    def axis_of(self, axis: Any, ndim: int) -> int:
        """The place of an axis, which may count from the end."""
        k = self.static_int(axis, "the axis")
        if not -ndim <= k < ndim:
            message = f"axis {k} is out of bounds for an array of {ndim} dimensions"
            raise self.type_problem("DJ318", message, python=np.exceptions.AxisError)
        return k % ndim

    def is_only_axis(self, axis: Any, ndim: int) -> bool:
        """Whether an array without dimensions is asked for its first or last axis: reductions and scans allow that."""
        return ndim == 0 and isinstance(axis, Static) and isinstance(axis.obj, int) and axis.obj in (0, -1)

    def axes_in_order(self, axes: Sequence[Any], ndim: int) -> tuple[int, ...]:
        """The places of axes that are all different."""
        found = tuple(self.axis_of(axis, ndim) for axis in axes)
        if len(set(found)) != len(found):
            raise self.type_problem("DJ318", "an axis is given twice", python=ValueError)
        return found

    @kinds(max=np.amax, min=np.amin)
    @kinds(sum=np.sum, prod=np.prod, max=np.max, min=np.min, any=np.any, all=np.all)
    def reduce(
        self,
        kind: str,
        a: Any,
        axis: Any = NONE,
        dtype: Any = NONE,
        keepdims: Any = Static(False),
        initial: Any = NONE,
        where: Any = Static(True),
    ) -> Any:
        """A reduction along axes."""
        if kind in ("any", "all") and is_none(a):  # nothing is there
            return Static(None)
        a = self.array(a)
        identity = {"sum": 0, "prod": 1, "any": False, "all": True}.get(kind)
        if not (isinstance(where, Static) and where.obj is True):
            if identity is None and is_none(initial):
                raise self.type_problem("DJ308", f"np.{kind} with `where` needs `initial`")
            instead = Static(identity) if identity is not None else self.as_dtype(self.number(initial), a.type.dtype)
            a = self.ew("where", where, a, instead, weak=False)
        if kind in ("any", "all") and a.type.dtype.kind != "b":
            a = self.ew("not_equal", a, Static(0))
        if kind in ("sum", "prod"):
            a = self.widened(a, dtype)
        elif not is_none(dtype):
            raise TypeError(kind)
        if isinstance(a.type, Scalar):
            a = self.array_from(a)
        keep = bool(keepdims.obj) if isinstance(keepdims, Static) else False
        whole = kind in ("any", "all") and is_none(axis) and not keep
        if whole and _is_full(a, identity) and not self.names_of(a):
            return Static(np.bool_(identity))  # nobody has written to it
        axes = () if self.is_only_axis(axis, a.type.ndim) else self.axes_of(a, axis)
        dims = tuple((1 if k in axes else d) for k, d in enumerate(a.type.dims) if keep or k not in axes)
        ty = np.dtype(np.bool_) if kind in ("any", "all") else a.type.dtype
        made = Array(ty, dims, "C") if dims else Scalar(ty)

        def reduced() -> Value:
            return self.build.value(kind, [a], made, axes=axes, keepdims=keep)

        if is_none(initial):
            return reduced()
        initial = self.cast(self.as_dtype(self.number(initial), ty), ty)
        if identity is not None:
            return self.ew({"sum": "add", "prod": "multiply"}[kind], reduced(), initial, weak=False)

        def nothing() -> Any:
            lengths = [Static(1) if k in axes else self.dim(a, k) for k in range(a.type.ndim) if keep or k not in axes]
            return self.np_full(av.Tup(tuple(lengths)), initial) if lengths else initial

        empty = self.compare_kind("equal", self.product([self.dim(a, k) for k in axes]), Static(0))
        return self.choose(empty, nothing, lambda: self.ew(f"{kind}imum", reduced(), initial, weak=False))

    def widened(self, a: Value, dtype: Any = NONE) -> Value:
        """An array as sums and products take it: narrow ints with 64 bits, where no other type is given."""
        if not is_none(dtype):
            return self.cast(a, self.dtype_of(dtype))
        ty = a.type.dtype
        if ty.kind not in "biu" or ty.itemsize == 8:
            return a
        return self.cast(a, np.uint64 if ty.kind == "u" else np.int64)

    @kinds(argmax=np.argmax, argmin=np.argmin)
    def arg_reduce(self, kind: str, a: Any, axis: Any = NONE, *, keepdims: Any = Static(False)) -> Any:
        a = self.array(a)
        if isinstance(a.type, Scalar):
            a = self.array_from(a)
        whole = is_none(axis) or self.is_only_axis(axis, a.type.ndim)
        k = None if whole else self.axis_of(axis, a.type.ndim)
        keep = isinstance(keepdims, Static) and keepdims.obj is True
        ty = np.dtype(np.int64)
        if k is None:
            out: Any = Array(ty, (1,) * a.type.ndim) if keep else Scalar(ty)
        else:
            dims = tuple((1 if j == k else d) for j, d in enumerate(a.type.dims) if keep or j != k)
            out = Array(ty, dims) if dims else Scalar(ty)
        return self.build.value(kind, [a], out, axis=k, keepdims=keep)

    @kinds(cumsum=np.cumsum, cumprod=np.cumprod)
    def scan(self, kind: str, a: Any, axis: Any = NONE, dtype: Any = NONE) -> Any:
        a = self.array(a)
        if isinstance(a.type, Scalar):
            a = self.array_from(a)
        if is_none(axis) or self.is_only_axis(axis, a.type.ndim):
            a = self.np_ravel(a)
            axis = Static(0)
        a = self.widened(a, dtype)
        k = self.axis_of(axis, a.type.ndim)
        return self.build.value(kind, [a], Array(a.type.dtype, a.type.dims, "C"), axis=k)

    @kinds(sort=np.sort, argsort=np.argsort)
    def sorting(self, kind: str, /, a: Any, axis: Any = Static(-1), **_: Any) -> Any:
        a = self.array(a)
        if is_none(axis):
            a, axis = self.np_ravel(a), Static(-1)
        k = self.axis_of(axis, a.type.ndim)
        ty = a.type.dtype if kind == "sort" else np.dtype(np.int64)
        return self.build.value(kind, [a], Array(ty, a.type.dims, "C"), axis=k)

    # Selection

    @core(np.where)
    def np_where(self, condition: Any, x: Any = None, y: Any = None) -> Any:
        if self.rule_mode and isinstance(condition, Static):
            return x if condition.obj else y
        condition = self.array(condition)
        if x is None:
            return av.Tup(tuple(self.nonzero(condition)))
        if condition.type.dtype.kind != "b":
            condition = self.ew("not_equal", condition, Static(0))
        made = self.ew("where", condition, self._keep_static(x), self._keep_static(y), weak=False)
        boxes = not self.in_library() or self.frames[-1].fn.pyfunc in BOXING  # others return numbers in NumPy too
        if isinstance(made, Value) and isinstance(made.type, Scalar) and boxes:
            site = ("where", self.call_path, self.place())
            if site in self.learned.boxed or len(self.learned.boxed) >= _SEVERAL:
                return self.array_from(made)
            self.without_dims[made] = site
        return made

    def _keep_static(self, value: Any) -> Any:
        value = av.as_number(value)
        return value if isinstance(value, Static) and av.is_number(value.obj) else self.array(value)

    @core(np.nonzero)
    def np_nonzero(self, a: Any) -> Any:
        return av.Tup(tuple(self.nonzero(self.array(a))))

    @core(np.flatnonzero)
    def np_flatnonzero(self, a: Any) -> Any:
        return self.nonzero(self.np_ravel(self.array(a)))[0]

    def nonzero(self, mask: Value) -> list[Value]:
        """Index arrays of the True elements: as many as there are, where what the mask holds is known."""
        held = self.known_array(mask)
        if held is not None:
            return [self.copy(self.lift_constant(found)) for found in np.nonzero(held)]
        if mask.type.dtype.kind != "b":
            mask = self.ew("not_equal", mask, Static(0))
        flat = self.length_facts.choose(self.build, "nonzero", [mask], np.dtype(np.int64))
        if mask.type.ndim == 1:
            return [flat]
        out: list[Value] = []
        for k in reversed(range(mask.type.ndim)):
            length = self.dim(mask, k)
            out.insert(0, self.ew("remainder", flat, length) if k else flat)
            if k:
                flat = self.ew("floor_divide", flat, length)
        return out

    # Products and linear algebra

    @core(np.matmul)
    def np_matmul(self, x1: Any, x2: Any) -> Any:
        return self.matmul(self.array(x1), self.array(x2))

    def matmul(self, a: Value, b: Value) -> Value:
        """`a @ b`."""
        if not isinstance(a.type, Array) or not isinstance(b.type, Array):
            raise self.type_problem("DJ302", "`@` needs arrays on both sides", cure="use * for numbers")
        ta, tb = a.type, b.type
        ty = np.result_type(ta.dtype, tb.dtype)
        a, b = self.cast(a, ty), self.cast(b, ty)
        inner_a, inner_b = ta.dims[-1], tb.dims[-2] if tb.ndim > 1 else tb.dims[0]
        if isinstance(inner_a, int) and isinstance(inner_b, int) and inner_a != inner_b:
            raise self.type_problem(
                "DJ310",
                f"matrix product of lengths {inner_a} and {inner_b}",
                cure="the inner lengths must agree",
                python=ValueError,
            )
        if ta.ndim > 2 and tb.ndim == 2:
            return self.stacked_rows(a, b)
        rows = ta.dims[-2:-1] if ta.ndim > 1 else ()
        columns = tb.dims[-1:] if tb.ndim > 1 else ()
        stack = broadcast_dims([ta.dims[:-2], tb.dims[:-2]])
        dims = (*stack, *rows, *columns)
        return self.build.value("matmul", [a, b], Array(ty, dims, "C") if dims else Scalar(ty))

    def stacked_rows(self, a: Value, b: Value) -> Value:
        """A stack of matrices times one matrix: all rows in one product, as in its derivatives."""
        *stack, inner = (self.dim(a, k) for k in range(a.type.ndim))
        count = functools.reduce(lambda n, m: self.ew("multiply", n, m), stack)
        rows = self.np_reshape(a, av.Tup((count, inner)))
        return self.np_reshape(self.matmul(rows, b), av.Tup((*stack, self.dim(b, 1))))

    def _matrix(self, a: Any) -> Value:
        a = self.array(a)
        if not isinstance(a.type, Array) or a.type.ndim < 2:
            raise self.type_problem("DJ302", "a matrix is needed here")
        return a if a.type.dtype.kind in "fc" else self.cast(a, np.float64)

    def failing(self, exception: type) -> bool:
        """Whether a failure of the next operation would be caught by the program."""
        return self.catches(exception)

    @core(np.linalg.solve)
    def np_solve(self, a: Any, b: Any) -> Any:
        a, b = self._matrix(a), self.array(b)
        ty = np.result_type(a.type.dtype, b.type.dtype)
        ty = ty if ty.kind in "fc" else np.dtype(np.float64)
        a, b = self.cast(a, ty), self.cast(b, ty)
        self.check_linalg("solve", a)
        if b.type.ndim == 1:
            dims: tuple[Dim, ...] = (*a.type.dims[:-2], b.type.dims[0])
        else:
            dims = (*broadcast_dims([a.type.dims[:-2], b.type.dims[:-2]]), *b.type.dims[-2:])
        return self.build.value("solve", [a, b], Array(ty, dims, "C"))

    @core(np.linalg.inv)
    def np_inv(self, a: Any) -> Any:
        a = self._matrix(a)
        self.check_linalg("solve", a)
        return self.build.value("inv", [a], Array(a.type.dtype, a.type.dims, "C"))

    @core(np.linalg.det)
    def np_det(self, a: Any) -> Any:
        a = self._matrix(a)
        dims = a.type.dims[:-2]
        return self.build.value("det", [a], Array(a.type.dtype, dims, "C") if dims else Scalar(a.type.dtype))

    @core(np.linalg.cholesky)
    def np_cholesky(self, a: Any, /, *, upper: Any = Static(False)) -> Any:
        a = self._matrix(a)
        if upper.obj:
            lower = self.np_cholesky(self.ew("conjugate", self.mirrored(a)))
            return self.ew("conjugate", self.mirrored(lower))
        self.check_linalg("cholesky", a)
        return self.build.value("cholesky", [a], Array(a.type.dtype, a.type.dims, "C"))

    @core(spectral.packed_eigh)
    def np_packed_eigh(self, a: Any, upper: Any) -> Any:
        """Eigenvalues in the first row, eigenvectors below."""
        a = self._matrix(a)
        rows = self.known_dims((self.ew("add", self.dim(a, a.type.ndim - 1), Static(1)),))
        ty = Array(a.type.dtype, (*a.type.dims[:-2], *rows, a.type.dims[-1]), "C")
        return self.build.value("eigh", [a], ty, upper=upper.obj)

    @core(spectral.packed_svd)
    def np_packed_svd(self, a: Any) -> Any:
        """Left singular vectors, singular values, right singular vectors."""
        a = self._matrix(a)
        m, n = (self.dim(a, a.type.ndim - k) for k in (2, 1))
        rows = self.known_dims((self.ew("add", self.ew("add", m, n), Static(1)),))
        columns = a.type.dims[-1:]
        if a.type.dims[-2] != a.type.dims[-1]:
            columns = self.known_dims((self.py_min_max("minimum", m, n),))
        return self.build.value("svd", [a], Array(a.type.dtype, (*a.type.dims[:-2], *rows, *columns), "C"))

    def mirrored(self, a: Value) -> Value:
        """Each matrix of a stack transposed."""
        return self.transpose(a, (*range(a.type.ndim - 2), a.type.ndim - 1, a.type.ndim - 2))

    def check_linalg(self, kind: str, a: Value) -> None:
        """Inside a `try` that catches LinAlgError: test first whether the factorisation exists."""
        if not self.catches(np.linalg.LinAlgError):
            return
        message = "Matrix is not positive definite" if kind == "cholesky" else "Singular matrix"
        exists = self.build.op("factorizes", [a], (BOOL,))
        exists.attrs["kind"] = kind
        self.guard(exists.out, np.linalg.LinAlgError, message)


def _is_full(a: Value, known: Any) -> bool:
    """Whether all elements of an array were made the same truth value."""
    return a.op is not None and a.op.kind == "full" and const_of(a.op.inputs[0]) is known
