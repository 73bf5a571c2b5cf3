"""Helpers on single lanes of arrays: sorting, comparison with NaN, lengths of ranges."""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls.failures import LENGTH
from diffjit.lowering.runtime.build import call_python, helper, operation, outlined, relies_on
from diffjit.lowering.runtime.choices import greater_complex, less_complex, maximum, minimum
from diffjit.lowering.runtime.memory import empty

_empty_int64 = empty("int64")


def _ordering(name: str, sign: str, complex_order: Any) -> Any:
    """`below(x, y)`: x < y where a NaN is greatest; `above(x, y)`: x > y where a NaN is greatest too."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (kind, _), (x, y) = kinds, args
        if isinstance(kind, types.Float):
            plain = builder.fcmp_ordered(sign, x, y)
            nan_x, nan_y = (builder.fcmp_unordered("uno", v, v) for v in (x, y))
            return builder.or_(plain, builder.and_(nan_x, builder.not_(nan_y)))
        if isinstance(kind, types.Complex):
            plain = call_python(context, builder, complex_order, kinds, args)
            nans = []
            for v in (x, y):
                parts = [builder.extract_value(v, k) for k in (0, 1)]
                nans.append(builder.or_(*(builder.fcmp_unordered("uno", p, p) for p in parts)))
            return builder.or_(plain, builder.and_(nans[0], builder.not_(nans[1])))
        signed = isinstance(kind, types.Integer) and kind.signed  # pyright: ignore[reportAttributeAccessIssue]
        return (builder.icmp_signed if signed else builder.icmp_unsigned)(sign, x, y)

    return operation(name, 2, lambda _x, _y: types.boolean, emit)


# The two orders of argmax and argmin: a NaN is met first and stays.
above, below = _ordering("above", ">", greater_complex), _ordering("below", "<", less_complex)


def _emit_sorted_before(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The order of `sort`: NaNs come last."""
    (kind, _), (x, y) = kinds, args
    if isinstance(kind, types.Float):
        plain = builder.fcmp_ordered("<", x, y)
        nan_x, nan_y = (builder.fcmp_unordered("uno", v, v) for v in (x, y))
        return builder.or_(plain, builder.and_(nan_y, builder.not_(nan_x)))
    if isinstance(kind, types.Complex):
        return call_python(context, builder, _complex_before, kinds, args)
    signed = isinstance(kind, types.Integer) and kind.signed  # pyright: ignore[reportAttributeAccessIssue]
    return (builder.icmp_signed if signed else builder.icmp_unsigned)("<", x, y)


@helper
def _float_before(x: Any, y: Any) -> Any:
    return x < y or (y != y and x == x)  # noqa: PLR0124 - NaN


@helper
def _complex_before(x: Any, y: Any) -> Any:
    if _float_before(x.real, y.real):
        return True
    same = x.real == y.real or (x.real != x.real and y.real != y.real)
    return same and _float_before(x.imag, y.imag)


sorted_before = operation("sorted_before", 2, lambda _x, _y: types.boolean, _emit_sorted_before)


@outlined
def argsort_lane(values: Any, order: Any) -> Any:
    """A stable merge sort of positions: insertion sort of short runs, then merging."""
    n = values.shape[0]
    relies_on(order.shape[0] == n, LENGTH, order.shape[0], n)
    run = 16
    for start in range(0, n, run):
        for i in range(start, minimum(start + run, n)):
            j = i
            while j > start and sorted_before(values.inside[i], values.inside[order.inside[j - 1]]):
                order.inside[j] = order.inside[j - 1]
                j -= 1
            order.inside[j] = i
    spare = _empty_int64((n,))
    while run < n:
        for start in range(0, n, 2 * run):
            middle, stop = minimum(start + run, n), minimum(start + 2 * run, n)
            left, right = start, middle
            for k in range(start, stop):
                first = left < middle
                if first and right < stop:
                    first = not sorted_before(values.inside[order.inside[right]], values.inside[order.inside[left]])
                if first:
                    spare.inside[k] = order.inside[left]
                    left += 1
                else:
                    spare.inside[k] = order.inside[right]
                    right += 1
        for k in range(n):
            order.inside[k] = spare.inside[k]
        run *= 2


@outlined
def sort_lane(values: Any, result: Any) -> Any:
    """Sort by positions."""
    n = values.shape[0]
    relies_on(result.shape[0] == n, LENGTH, result.shape[0], n)
    order = _empty_int64((n,))
    argsort_lane(values, order)
    for k in range(n):
        result.inside[k] = values.inside[order.inside[k]]


@helper
def _float_length(start: Any, stop: Any, step: Any) -> Any:
    return maximum(0, int(math.ceil((stop - start) / step)))  # noqa: RUF046 - Numba's ceil gives a float


def _emit_arange_length(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    if isinstance(kinds[0], types.Complex):
        args = [builder.extract_value(a, 0) for a in args]
        kinds = [types.float64 if isinstance(a.type, llvm_ir.DoubleType) else types.float32 for a in args]
    wide = [context.cast(builder, a, k, types.float64) for a, k in zip(args, kinds, strict=True)]
    return call_python(context, builder, _float_length, (types.float64,) * 3, wide)


arange_length = operation("arange_length", 3, lambda *_k: types.int64, _emit_arange_length)
