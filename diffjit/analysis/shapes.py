"""Shapes of arrays as numbers, while a program is followed with sizes in place of arrays (`analysis.tape`).

shape(op, [sizes of the inputs])   ->   a tuple with None for a length that hangs on what arrays hold
read_for_shape(op)                 ->   the inputs that it takes
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import Array

Shape = tuple[int | None, ...]


def read_for_shape(op: Op) -> list[Value]:
    """The inputs that the shape of an operation's result follows from."""
    if op.row.lengths_at is not None:
        return op.inputs[op.row.lengths_at :]
    if op.kind == "view":
        return [op.inputs[0], *(v for v in _slice_inputs(op) if v is not None)]
    if op.row.like is not None:
        return [op.inputs[op.row.like]]
    if op.kind == "arange":
        return op.inputs
    if op.row.linked:
        return op.inputs[len(op.attrs["site"].inputs) :]
    return [v for v in op.inputs if isinstance(v.type, Array)]


def shape(op: Op, known: dict[Value, Any]) -> Shape:
    """The shape of the array that an operation makes; `known`: shapes of arrays, numbers (None: not known)."""
    ty = op.out.type
    unknown: Shape = tuple(d if isinstance(d, int) else None for d in ty.dims)
    found = _shape(op, known)
    return unknown if found is None or len(found) != len(unknown) else found


def _shape(op: Op, known: dict[Value, Any]) -> Shape | None:
    kind = op.kind
    if op.row.lengths_at is not None:
        return tuple(known[v] for v in op.inputs[op.row.lengths_at :])
    if op.row.like is not None:
        return known[op.inputs[op.row.like]]
    if op.row.by_element:
        return _broadcast([known[v] for v in op.inputs if isinstance(v.type, Array)])
    if op.row.reduces or kind in ("argmax", "argmin"):
        return _reduced(op, known[op.inputs[0]])
    if op.row.linked and len(op.outputs) == 1:
        return tuple(known[v] for v in op.inputs[len(op.attrs["site"].inputs) :])
    if kind == "transpose":
        return tuple(known[op.inputs[0]][k] for k in op.attrs["perm"])
    if kind == "arange":
        given = [known[v] for v in op.inputs]
        return None if None in given else (max(0, int(np.ceil((given[1] - given[0]) / given[2]))),)
    if kind == "concatenate":
        return _joined(op.attrs["axis"], [known[v] for v in op.inputs])
    if kind == "matmul":
        return _product(known[op.inputs[0]], known[op.inputs[1]])
    if kind == "view":
        return _viewed(op, known)
    if kind == "gather":
        return _gathered(op, known)
    return None


def _broadcast(shapes: list[Shape]) -> Shape:
    ndim = max(map(len, shapes), default=0)
    lengths: list[int | None] = []
    for k in range(ndim, 0, -1):
        met = {s[-k] for s in shapes if len(s) >= k} - {1}
        lengths.append(1 if not met else (met - {None} or {None}).pop())
    return tuple(lengths)


def _reduced(op: Op, of: Shape) -> Shape | None:
    if op.kind in ("argmax", "argmin"):
        axis = op.attrs["axis"]
        axes: Any = range(len(of)) if axis is None else (axis,)
    else:
        axes = op.attrs["axes"]
    if op.attrs.get("keepdims"):
        return tuple(1 if k in axes else n for k, n in enumerate(of))
    return tuple(n for k, n in enumerate(of) if k not in axes)


def _joined(axis: int, shapes: list[Shape]) -> Shape:
    lengths = [s[axis] for s in shapes]
    total = None if None in lengths else sum(n for n in lengths if n is not None)
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _product(a: Shape, b: Shape) -> Shape:
    if len(a) == 1 or len(b) == 1:
        rows = a[:-1]
        return rows if len(b) == 1 else (*b[:-2], b[-1]) if len(a) == 1 else rows
    return (*_broadcast([a[:-2], b[:-2]]), a[-2], b[-1])


def _slice_inputs(op: Op) -> list[Value | None]:
    """The ends and steps of the slices of a view, None for those that are absent and for plain indices."""
    found: list[Value | None] = []
    given = iter(op.inputs[1:])
    for part in op.attrs["spec"]:
        if part == "i":
            next(given)
        elif part not in ("n", ":"):
            found += [None if p is None else next(given) for p in part[1:]]
    return found


def _viewed(op: Op, known: dict[Value, Any]) -> Shape:
    ends = iter(_slice_inputs(op))
    lengths: list[int | None] = []
    source = iter(known[op.inputs[0]])
    for part in op.attrs["spec"]:
        if part == "n":
            lengths.append(1)
            continue
        n = next(source)
        if part == "i":
            continue
        if part == ":":
            lengths.append(n)
            continue
        given = [next(ends) for _ in part[1:]]
        cut = [None if v is None else known[v] for v in given]
        certain = n is not None and all(v is None or c is not None for v, c in zip(given, cut, strict=True))
        lengths.append(len(range(*slice(*map(_index, cut)).indices(n))) if certain and n is not None else None)
    return (*lengths, *source)


def _index(n: Any) -> int | None:
    return None if n is None else int(n)


def _gathered(op: Op, known: dict[Value, Any]) -> Shape | None:
    """Integer arrays as indices: their common shape stands where they do, in front if slices part them."""
    spec = op.attrs["spec"]
    places = [k for k, part in enumerate(spec) if part in ("a", "i")]
    if any(part not in ("a", "i", ":") for part in spec) or places != list(range(places[0], places[-1] + 1)):
        return None
    common = _broadcast([known[v] for v in op.inputs[1:] if isinstance(v.type, Array)])
    of = known[op.inputs[0]]
    return (*of[: places[0]], *common, *of[places[-1] + 1 :])
