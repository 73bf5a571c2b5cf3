"""Integers of several types: `start = 0` on one path, `start = indptr[k]` (an int32) on another.

Such a number is carried as an int of Python's own that remembers the NumPy types that it may have instead
(`Scalar.narrow`). What is computed from it would wrap around on one path and not on another, and other operands may
decide the type of what comes out: so it is computed exactly, and tested to fit into each of the types that it would
have. Where all fits, all paths agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from diffjit.ir.nodes import Function
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
