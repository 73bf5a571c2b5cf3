"""Tests for memory that arrays share, as LLVM."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.calls.failures import APART, PROMISED
from diffjit.lowering.llvm.elements import DATA, ITEMSIZE
from diffjit.lowering.runtime.build import I64, fail_if, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of


def extent(builder: Any, array: Any, ndim: int) -> tuple[Any, Any]:
    """The first address of an array's memory and the one behind the last."""
    start = builder.ptrtoint(builder.extract_value(array, DATA), I64)
    low, high = start, builder.add(start, builder.extract_value(array, ITEMSIZE))
    empty_ = cgutils.false_bit
    for n, s in zip(lengths_of(builder, array, ndim), strides_of(builder, array, ndim), strict=True):
        reach = builder.mul(builder.sub(n, I64(1)), s)
        back = builder.icmp_signed("<", reach, I64(0))
        low = builder.select(back, builder.add(low, reach), low)
        high = builder.select(back, high, builder.add(high, reach))
        empty_ = builder.or_(empty_, builder.icmp_signed("==", n, I64(0)))
    return low, builder.select(empty_, low, high)


def _emit_share(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (low_a, high_a), (low_b, high_b) = (extent(builder, a, k.ndim) for a, k in zip(args, kinds, strict=True))
    overlap = builder.and_(builder.icmp_unsigned("<", low_a, high_b), builder.icmp_unsigned("<", low_b, high_a))
    some = builder.and_(builder.icmp_unsigned("<", low_a, high_a), builder.icmp_unsigned("<", low_b, high_b))
    return builder.and_(overlap, some)


share_memory = operation("share_memory", 2, lambda _a, _b: types.boolean, _emit_share)


def _emit_apart(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    overlap = _emit_share(_context, builder, kinds, args)
    (ty, other), (a, b) = kinds, args
    if ty.ndim != other.ndim:
        return builder.not_(overlap)
    same = builder.icmp_unsigned("==", *(builder.ptrtoint(builder.extract_value(x, DATA), I64) for x in args))
    for values in (lengths_of, strides_of):
        for n, m in zip(values(builder, a, ty.ndim), values(builder, b, ty.ndim), strict=True):
            same = builder.and_(same, builder.icmp_signed("==", n, m))
    return builder.or_(same, builder.not_(overlap))


# Whether two arrays are the same elements in the same order, or have none in common.
apart_or_same = operation("apart_or_same", 2, lambda _a, _b: types.boolean, _emit_apart)


def share_arguments(context: Any, builder: Any, scopes: Any, kinds: Any, args: Any) -> None:
    """Leave with a failure where two arguments overlap though they are said to be apart, and one is written."""
    arrays = [k for k, ty in enumerate(kinds) if isinstance(ty, types.Array)]
    for n, j in enumerate(arrays):
        for k in arrays[:n]:
            if scopes.separates(j, k) and (scopes.writes(j) or scopes.writes(k)):
                overlap = _emit_share(context, builder, (kinds[j], kinds[k]), (args[j], args[k]))
                fail_if(context, builder, overlap, PROMISED, I64(APART))
