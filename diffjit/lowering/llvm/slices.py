"""Views by slices, as LLVM: `a[1:-1, k]` with steps of 1, in registers.

Numba's way costs 200 instructions and a dozen stack slots for each subscript, whatever is known of its bounds.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from diffjit.dataclass import dataclass
from diffjit.lowering.llvm import elements
from diffjit.lowering.llvm.elements import DATA, I64, MEMINFO, PARENT, SHAPE, STRIDES


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop`; None where a bound is absent."""

    start: Any
    stop: Any


Index = Any  # an int (LLVM value), a Slice, None (newaxis) or ... (Ellipsis)


def _bound(builder: Any, given: Any, length: Any) -> Any:
    """A bound as Python takes it: negative from the end, then cut to 0 ... length."""
    constant = getattr(given, "constant", None)
    zero = I64(0)
    if constant == 0:
        return zero
    if constant is not None and constant > 0:
        return builder.select(builder.icmp_signed("<", given, length), given, length)
    below = builder.icmp_signed("<", given, zero)
    moved = builder.add(given, length)
    if constant is not None:
        return builder.select(builder.icmp_signed("<", moved, zero), zero, moved)
    at = builder.select(below, moved, given)
    at = builder.select(builder.icmp_signed("<", at, zero), zero, at)
    return builder.select(builder.icmp_signed("<", at, length), at, length)


def view(
    context: Any,
    builder: Any,
    ty: Any,
    array: Any,
    indices: list[Index],
    result: Any,
    checks: elements.Checks,
    *,
    own: bool,
) -> Any:
    """The view `array[indices]`, of the type that Numba gives it; `own`: with a reference to its memory."""
    taken = sum(1 for i in indices if i is not None and i is not ...)
    full = [Slice(None, None)] * (ty.ndim - taken)
    at = next((k for k, i in enumerate(indices) if i is ...), len(indices))
    indices = [*indices[:at], *full, *indices[at + 1 :]]
    shape: list[Any] = []
    strides: list[Any] = []
    offset, axis = None, 0
    for index in indices:
        if index is None:
            shape.append(I64(1))
            strides.append(I64(0))
            continue
        length = builder.extract_value(array, (SHAPE, axis))
        stride = builder.extract_value(array, (STRIDES, axis))
        if isinstance(index, Slice):
            first, count = _range(builder, index, length)
            shape.append(count)
            strides.append(stride)
        else:
            first = elements.placed(context, builder, index, length, axis, checks)
        axis += 1
        if getattr(first, "constant", None) != 0:
            step = builder.mul(first, stride)
            offset = step if offset is None else builder.add(offset, step)
    data = builder.extract_value(array, DATA)
    if offset is not None:
        data = builder.gep(builder.bitcast(data, elements.BYTES), [offset])
    parent = builder.extract_value(array, PARENT)
    meminfo = builder.extract_value(array, MEMINFO)
    if not own:
        return elements.struct(context, builder, result, meminfo.type(None), data, shape, strides, parent)
    made = elements.struct(context, builder, result, meminfo, data, shape, strides, parent)
    context.nrt.incref(builder, result, made)
    return made


def _range(builder: Any, index: Slice, length: Any) -> tuple[Any, Any]:
    """Where a slice begins, and how many it takes."""
    start = I64(0) if index.start is None else _bound(builder, index.start, length)
    stop = length if index.stop is None else _bound(builder, index.stop, length)
    if getattr(start, "constant", None) == 0:
        return start, stop
    count = builder.sub(stop, start)
    some = builder.icmp_signed(">", count, I64(0))
    return start, builder.select(some, count, I64(0))


def is_plain(kind: Any) -> bool:
    """Whether a type stands for something that `view` takes, given its parts."""
    return isinstance(kind, (types.Integer, types.NoneType, types.EllipsisType)) or kind == types.slice2_type
