"""Which operations may raise, as far as one operation tells.

    y = x + b          x and b have one length by their types: never
    z = W @ u          lengths that are not known to agree: may raise
    v = u[k]           k is computed: may raise

An operation that may raise is an effect: it keeps its place among the others, among writes, and among accesses that are
not tested because it has been (`relies`). Nobody may drop it either where Python would raise (`tests_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.ops import Raises
from diffjit.ir.types import INT, Array, Dim, Scalar

LENGTH = "length"  # attribute of an operation that reads a length which the way there has noted
UNUSED = "unused"  # attribute of an operation that nobody needs, but which may raise in the user's program


def _no(op: Op) -> bool:
    return False


def may_raise(op: Op, inside: Callable[[Op], bool] = _no, fits: Callable[[Op], bool] = _no) -> bool:
    """Whether an operation may raise.

    `inside`: whether the indices of an access are known to be within bounds; `fits`: whether the result of arithmetic
    of integers is.
    """
    row = op.row
    if op.kind in ("for", "trip") and const_of(op.inputs[2]):  # the step is not 0
        return any(may_raise(o, inside, fits) for region in op.regions for o in region.ops)
    match row.raises:
        case Raises.NEVER:
            return False
        case Raises.ALWAYS | Raises.VALUES:
            return True
        case Raises.PARTS:
            return op.kind == "for" or any(may_raise(o, inside, fits) for region in op.regions for o in region.ops)
        case Raises.INDEX:
            return picks(op) and not op.attrs.get("inbounds") and not inside(op)
        case Raises.ALLOCATION:
            return not all(map(is_length, op.inputs[row.lengths_at :]))
        case Raises.LENGTHS:
            return op.kind != "matmul" or not inner_lengths_agree(op)
        case Raises.NUMBERS:
            return _numbers_may_raise(op, fits)


def _numbers_may_raise(op: Op, fits: Callable[[Op], bool]) -> bool:
    out = op.out.type if op.outputs else None
    if isinstance(out, Scalar) and out.dtype.kind in "iu" and not (exact(op) or fits(op)):
        return True
    if isinstance(out, (Scalar, Array)) and not all(_is_held(v, out.dtype) for v in op.inputs):
        return True
    return not shapes_agree(op)


def _is_held(v: Value, dtype: np.dtype) -> bool:
    """Whether a NumPy type has an operand: `np.int8(3) * 300` raises, as 300 is Python's own int and no int8."""
    if dtype.kind not in "iu" or dtype == np.int64 or v.type != INT:
        return True
    number, limits = const_of(v), np.iinfo(dtype)
    return number is not None and limits.min <= number <= limits.max


def raises_in_python(op: Op, inside: Callable[[Op], bool] = _no) -> bool:
    """Whether an operation may raise where nothing is compiled: Python's own integers do not overflow."""
    return may_raise(op, inside, lambda o: not o.row.fails)


def tests_index(op: Op) -> bool:
    """Whether an operation does nothing but read, and yet must stay, as an index that it is given may be wrong.

    So must what the program computes in vain, if that may raise (`UNUSED`).
    """
    if UNUSED in op.attrs:
        return True
    row = op.row
    if row.writes or row.error is not IndexError:
        return False
    return row.raises is not Raises.INDEX or (picks(op) and not op.attrs.get("inbounds"))


def relies(op: Op) -> bool:
    """Whether an access is not tested because an earlier operation has been."""
    return op.row.raises is Raises.INDEX and bool(op.attrs.get("inbounds"))


def picks(op: Op) -> bool:
    """Whether an access has an index that may be out of bounds, or a step that may be 0."""
    if op.kind != "view":
        return len(op.inputs) > (op.row.indices_at or 0)
    return "i" in op.attrs["spec"] or any(const_of(v, 0) == 0 for v in steps(op))


def steps(view: Op) -> Iterator[Value]:
    """The steps of the slices of a view."""
    items = iter(view.inputs[1:])
    for entry in view.attrs["spec"]:
        if entry == "i":
            next(items)
        elif isinstance(entry, tuple):
            parts = [next(items) if flag else None for flag in entry[1:]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if parts[-1] is not None:
                yield parts[-1]


def exact(op: Op) -> bool:
    """Whether arithmetic of integers cannot leave their range."""
    if op.kind == "cast":
        source, result = op.inputs[0].type.dtype, op.out.type.dtype
        return source.kind in "biu" and np.can_cast(source, result)
    if op.kind == "multiply" and any(const_of(v) == 1 for v in op.inputs):
        return True
    return bool(op.attrs.get("nowrap")) or op.row.exact


def is_length(v: Value) -> bool:
    """Whether a number is never negative, as it is a length."""
    return const_of(v, -1) >= 0 or (v.op is not None and (v.op.row.length or LENGTH in v.op.attrs))


def inner_lengths_agree(op: Op) -> bool:
    """Whether the types say that the factors of a product fit."""
    a, b = (v.type for v in op.inputs)
    if a.ndim > 2 or b.ndim > 2:
        return False
    return a.dims[-1] == b.dims[-2 if b.ndim > 1 else 0]


def shapes_agree(op: Op) -> bool:
    """Whether the types say that the operands broadcast, to the first one where that is written to."""
    arrays = [v.type for v in op.inputs if isinstance(v.type, Array)]
    if len(arrays) < 2:
        return True
    if op.row.updates:
        target, source = arrays
        pairs = zip(reversed(target.dims), reversed(source.dims), strict=False)
        return source.ndim <= target.ndim and all(d in (n, 1) for n, d in pairs)
    longest = max(a.ndim for a in arrays)
    for axis in range(1, longest + 1):
        lengths: set[Dim] = {a.dims[-axis] for a in arrays if a.ndim >= axis}
        if len(lengths - {1}) > 1:
            return False
    return True


def leaves_traces(op: Op) -> bool:
    """Whether an operation is seen from outside, other than by the exception that it ends the program with.

    A function without source is not: it is declared to depend on its arguments alone.
    """
    return op.row.effect and op.row.raises is not Raises.ALWAYS
