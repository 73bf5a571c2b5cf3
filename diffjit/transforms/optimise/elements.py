"""Operations on small arrays, number by number.

Operands and results are NumPy arrays of the program's values (`dtype=object`): NumPy does the shapes.
"""

# NumPy arrays of values, whose shapes its stubs do not know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from diffjit.analysis.small import counted
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import BOOL, Array, Scalar

Elements = Any  # a NumPy array of `dtype=object`: NumPy's stubs do not know what it holds

_PAIRWISE = {
    "sum": "add", "cumsum": "add", "prod": "multiply", "cumprod": "multiply", "max": "maximum", "min": "minimum",
    "any": "logical_or", "all": "logical_and",
}  # fmt: skip
_COPIED = ("nowrap",)


def blank(dims: Iterable[Any]) -> Elements:
    """Room for the elements of an array."""
    return np.empty(tuple(dims), dtype=object)


def single(value: Value) -> Elements:
    """A number as an array without dimensions."""
    made = blank(())
    made[()] = value
    return made


def strong(build: Builder, value: Value, dtype: np.dtype) -> Value:
    """A number in an array's dtype, as the array would hold it."""
    ty = Scalar(dtype)
    if value.type == ty:
        return value
    if value.op is not None and value.op.kind == "const" and value.type.dtype == dtype:
        return build.const(value.op.attrs["value"], ty)
    return build.value("cast", [value], ty)


def cast(build: Builder, elements: Elements, dtype: np.dtype) -> Elements:
    """Each number in an array's dtype."""
    made = blank(elements.shape)
    done: dict[Value, Value] = {}
    for at in np.ndindex(elements.shape):
        v = elements[at]
        if v not in done:
            done[v] = strong(build, v, dtype)
        made[at] = done[v]
    return made


def constant(build: Builder, dims: Iterable[Any], number: Any, dtype: np.dtype) -> Elements:
    """The same number everywhere."""
    made = blank(tuple(dims))
    made.fill(build.const(number, Scalar(dtype)))
    return made


def expand(build: Builder, op: Op, operands: list[Elements]) -> Elements:
    """The elements of an operation's result."""
    dtype = op.out.type.dtype
    dims = op.out.type.dims if isinstance(op.out.type, Array) else ()
    match op.kind:
        case "zeros" | "zeros_like" | "empty" | "empty_like" | "undef":
            return constant(build, dims, 0, dtype)
        case "full":
            return np.broadcast_to(cast(build, operands[0], dtype), dims)  # pyright: ignore[reportArgumentType, reportCallIssue]
        case "arange":
            numbers = [build.const(k, Scalar(dtype)) for k in counted(op) or ()]
            return np.array(numbers, dtype=object)
        case "copy" | "reshape":
            return operands[0].reshape(dims)  # pyright: ignore[reportArgumentType]
        case "concatenate":
            return cast(build, np.concatenate(operands, axis=op.attrs["axis"]), dtype)
        case "matmul":
            return _matmul(build, operands[0], operands[1], dtype)
        case "unbroadcast":
            return _unbroadcast(build, operands[0], dims, dtype)
        case "sum" | "prod" | "max" | "min" | "any" | "all":
            return _reduce(build, op, operands[0], dtype)
        case "cumsum" | "cumprod":
            return _running(build, op, operands[0], dtype)
        case _:
            return _by_element(build, op, operands, dtype)


def _by_element(build: Builder, op: Op, operands: list[Elements], dtype: np.dtype) -> Elements:
    spread: list[Elements] = list(np.broadcast_arrays(*operands))
    made = np.empty(spread[0].shape, dtype=object)
    attrs = {k: v for k, v in op.attrs.items() if k in _COPIED}
    done: dict[tuple[Value, ...], Value] = {}
    for at in np.ndindex(made.shape):
        key = tuple(o[at] for o in spread)
        if key not in done:
            done[key] = _folded(build, op.kind, key, dtype) or build.value(op.kind, key, Scalar(dtype), **attrs)
        made[at] = done[key]
    return made


_FOLDED = frozenset(
    {"add", "subtract", "multiply", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "cast"}
)


def _folded(build: Builder, kind: str, operands: tuple[Value, ...], dtype: np.dtype) -> Value | None:
    """The constant that follows from whole numbers (those of `np.eye`, say)."""
    if kind not in _FOLDED or dtype.kind == "c":
        return None
    if any(v.op is None or v.op.kind != "const" or v.type.dtype.kind not in "bi" for v in operands):
        return None
    given = [v.op.attrs["value"] for v in operands]  # pyright: ignore[reportOptionalMemberAccess]
    if any(abs(int(g)) >= 1 << 30 for g in given):
        return None
    try:
        with np.errstate(all="ignore"):
            return build.const(given[0] if kind == "cast" else getattr(np, kind)(*given), Scalar(dtype))
    except OverflowError:  # Python's int is no number of this type: the operation raises when it runs
        return None


def _chain(build: Builder, kind: str, values: Iterable[Value], dtype: np.dtype) -> Value:
    """One value after the other."""
    return functools.reduce(lambda a, b: build.value(kind, [a, b], Scalar(dtype)), values)


def _reduce(build: Builder, op: Op, a: Elements, dtype: np.dtype) -> Elements:
    kind = _PAIRWISE[op.kind]
    a = _truths(build, a) if op.kind in ("any", "all") else cast(build, a, dtype)
    axes: tuple[int, ...] = op.attrs["axes"]
    kept = [k for k in range(a.ndim) if k not in axes]
    rows = a.transpose([*kept, *axes]).reshape((*(a.shape[k] for k in kept), -1))
    made = blank(rows.shape[:-1])
    for at in np.ndindex(made.shape):
        made[at] = _chain(build, kind, rows[at], dtype)
    if op.attrs.get("keepdims"):
        made = made.reshape([1 if k in axes else n for k, n in enumerate(a.shape)])
    return made


def _truths(build: Builder, a: Elements) -> Elements:
    made = blank(a.shape)
    for at in np.ndindex(a.shape):
        v = a[at]
        zero = None if v.type.dtype == BOOL.dtype else build.const(0, Scalar(v.type.dtype))
        made[at] = (
            strong(build, v, BOOL.dtype) if zero is None else build.value("not_equal", [v, zero], Scalar(BOOL.dtype))
        )
    return made


def _running(build: Builder, op: Op, a: Elements, dtype: np.dtype) -> Elements:
    made = np.moveaxis(cast(build, a, dtype), op.attrs["axis"], -1).copy()
    for at in np.ndindex(made.shape[:-1]):
        row = made[at]
        for k, pair in enumerate(itertools.pairwise(range(len(row)))):
            row[k + 1] = build.value(_PAIRWISE[op.kind], [row[j] for j in pair], Scalar(dtype))
    return np.moveaxis(made, -1, op.attrs["axis"])


def _unbroadcast(build: Builder, g: Elements, dims: tuple[Any, ...], dtype: np.dtype) -> Elements:
    g = cast(build, g, dtype)
    extra = g.ndim - len(dims)
    axes = [k for k in range(g.ndim) if k < extra or (dims[k - extra] == 1 and g.shape[k] != 1)]
    kept = [k for k in range(g.ndim) if k not in axes]
    rows = g.transpose([*kept, *axes]).reshape((*(g.shape[k] for k in kept), -1))
    made = blank(rows.shape[:-1])
    for at in np.ndindex(made.shape):
        made[at] = _chain(build, "add", rows[at], dtype)
    return made.reshape(dims)


def _matmul(build: Builder, a: Elements, b: Elements, dtype: np.dtype) -> Elements:
    a, b = cast(build, a, dtype), cast(build, b, dtype)
    left, right = a if a.ndim > 1 else a[None, :], b if b.ndim > 1 else b[:, None]
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left, right = (np.broadcast_to(m, (*lead, *m.shape[-2:])) for m in (left, right))
    made = blank((*lead, left.shape[-2], right.shape[-1]))
    kind, total = ("logical_and", "logical_or") if dtype == BOOL.dtype else ("multiply", "add")
    for *outer, i, j in np.ndindex(made.shape):
        row, column = left[(*outer, i)], right[(*outer, slice(None), j)]
        terms = [build.value(kind, [x, y], Scalar(dtype)) for x, y in zip(row, column, strict=True)]
        made[(*outer, i, j)] = _chain(build, total, terms, dtype)
    if b.ndim == 1:
        made = made[..., 0]
    return made[..., 0, :] if a.ndim == 1 and b.ndim > 1 else made[..., 0] if a.ndim == 1 else made
