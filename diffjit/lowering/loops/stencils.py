"""Additions to shifted parts of one array become one operation: what the way back of a stencil is made of.

    a[1:-1, 2:] += t                  add_shifted a, t     shifts (0, 1, 2), (0, 1, 0)
    a[1:-1, :-2] += t

One by one they read and write all of `a` each time, and are a kernel each: an element of `a` is then in several of
them. Numbers and order of what is added to each element stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.types import Array
from diffjit.ir.walk import blocks, uses
from diffjit.lowering.loops import fuse

SHIFTED = "add_shifted"
declare(
    Row(SHIFTED, "dst *sources",
        "attrs shifts (which source, first index along each axis): dst[first:] += source, each (made while lowering)",
        raises=Raises.NEVER, writes=(0,), adds=True)
)  # fmt: skip

_MOST = 32  # parts


def join_shifted(function: Function) -> None:
    """Join what adds to parts of the same array, in place."""
    joined = [(block, run) for block in list(blocks(function.body)) for run in list(_runs(block))]
    for block, run in joined:
        _joined(block, run)
    if joined:
        used = uses(function)
        parts = {a.op.inputs[0] for _, run in joined for a in run}
        for block in blocks(function.body):
            block.ops = [op for op in block.ops if not (op.outputs and op.out in parts and op.out not in used)]


@dataclass(frozen=True, slots=True)
class _Addition:
    """One of them."""

    op: Op
    array: Value
    source: Value
    first: tuple[int, ...]  # the first index along each axis


def _runs(block: Block) -> Iterator[list[_Addition]]:
    """Several in turn that add what has one shape to the same array."""
    found: list[_Addition] = []
    for op in block.ops:
        if not op.regions and not op.row.effect and not any(fuse.touched(op)):
            continue
        made = _addition(op)
        if found and (made is None or not _alike(made, found[0]) or len(found) == _MOST):
            if len(found) > 1:
                yield found
            found = []
        if made is not None:
            found.append(made)
    if len(found) > 1:
        yield found


def _alike(a: _Addition, b: _Addition) -> bool:
    return a.array is b.array and a.source.type.dims == b.source.type.dims  # type: ignore[union-attr]


def _addition(op: Op) -> _Addition | None:
    """An operation that adds an array to a part of another one of the same rank, element by element."""
    if op.kind != "accum":
        return None
    part, source = op.inputs
    ty, other = part.type, source.type
    if part.op is None or part.op.kind != "view" or not isinstance(ty, Array) or not isinstance(other, Array):
        return None
    if ty.dtype != other.dtype or ty.dtype.kind != "f" or ty.dims != other.dims:
        return None
    array = part.op.inputs[0]
    first = _first(part.op)
    if first is None or not isinstance(array.type, Array) or len(first) != array.type.ndim:
        return None
    return _Addition(op, array, source, first)


def _first(view: Op) -> tuple[int, ...] | None:
    """Where a part begins that is cut out by slices without steps; None where that hangs on lengths, or on the run."""
    given = iter(view.inputs[1:])
    found: list[int] = []
    for entry in view.attrs["spec"]:
        if entry == ":":
            found.append(0)
            continue
        if entry in ("i", "n"):
            return None
        start, _, step = (next(given) if there else None for there in entry[1:])
        first = const_of(start, -1) if start is not None else 0
        if step is not None or first < 0:
            return None
        found.append(int(first))
    return tuple(found)


def _joined(block: Block, run: list[_Addition]) -> None:
    """Put one operation in place of the last of them."""
    sources = list(dict.fromkeys(a.source for a in run))
    shifts = tuple((sources.index(a.source), *a.first) for a in run)
    last = run[-1].op
    made = Op(SHIFTED, [run[0].array, *sources], attrs={"shifts": shifts}, loc=last.loc)
    gone = {a.op for a in run}
    block.ops = [made if op is last else op for op in block.ops if op is last or op not in gone]
