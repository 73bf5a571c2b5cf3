"""Integers of several types: `start = 0` on one path, `start = indptr[k]` (an int32) on another.

Such a number is carried as an int of Python's own that remembers the NumPy types that it may have instead
(`Scalar.narrow`). What is computed from it would wrap around on one path and not on another, and other operands may
decide the type of what comes out: so it is computed exactly, and tested to fit into each of the types that it would
have. Where all fits, all paths agree.

An int beside a float is a float. Where that is infinite, as in `best = math.inf` in front of a loop, what is finite
behind is the int (`int_or_infinite`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import INT, Scalar, Type
from diffjit.ir.walk import blocks, callees


def join_ints(a: Scalar, b: Scalar) -> Scalar | None:
    """The type of a number that is an int of one type on one path and of another on another; None for other numbers."""
    if a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
        return None
    dtypes = {*a.narrow, *b.narrow, *(t.dtype for t in (a, b) if not t.weak)}
    if dtypes <= {np.dtype(np.int64)}:
        return None  # they differ beyond 64 bits only
    return Scalar(INT.dtype, weak=True, narrow=tuple(sorted(dtypes, key=str)))


def alternatives(types: Sequence[Type]) -> list[list[Type]]:
    """The types that operands may have on one path or another."""
    return [list(each) for each in itertools.product(*map(_ways, types))]


def _ways(ty: Type) -> list[Type]:
    return [INT, *map(Scalar, ty.narrow)] if isinstance(ty, Scalar) and ty.narrow else [ty]


BECOME_FLOATS = "an int that meets a float on another path, or in a list that grows, becomes a float"
_SUMS, _CHOICES = ("add", "subtract"), ("minimum", "maximum")  # of ints: ints, or infinite where an operand is


def int_or_infinite(value: Any, assumed: frozenset[Value] = frozenset()) -> bool:
    """Whether a float is an int on each path that leads here, but for paths on which it is infinite (or NaN)."""
    if value in assumed:
        return True
    if not isinstance(value.type, Scalar) or value.type.dtype.kind in "iu":
        return isinstance(value.type, Scalar)
    op: Any = value.op
    if op is None:
        return False  # carried by a loop that is not complete
    if op.kind == "const":
        return math.isinf(op.attrs["value"]) or _was_int(op)
    if op.kind == "cast":
        return _was_int(op)
    if op.kind in _SUMS or op.kind in _CHOICES:
        return all(int_or_infinite(v, assumed) for v in op.inputs)
    if op.kind == "if":
        place = op.outputs.index(value)
        return all(int_or_infinite(region.results[place], assumed) for region in op.regions)
    if op.kind in ("for", "while"):
        place = op.outputs.index(value)
        body = op.regions[-1]
        carried = len(op.outputs)
        first, last = op.inputs[len(op.inputs) - carried + place], body.results[len(body.results) - carried + place]
        inside = assumed | {value, *(r.args[len(r.args) - carried + place] for r in op.regions)}
        return int_or_infinite(first, assumed) and int_or_infinite(last, inside)
    return False


def _was_int(op: Any) -> bool:
    """Whether an operation makes a float of an int where paths meet."""
    joined = op.attrs.get("joined")
    return isinstance(joined, Scalar) and joined.dtype.kind in "iu"


def settle(function: Function) -> None:
    """Forget, in place, what such numbers may be instead, once a program is complete."""
    for called in callees(function):
        for v in called.params:
            v.type = _settled(v.type)
        for block in blocks(called.body):
            for v in (*block.args, *(out for op in block.ops for out in op.outputs)):
                v.type = _settled(v.type)


def _settled(ty: Type) -> Type:
    return INT if isinstance(ty, Scalar) and ty.narrow else ty
