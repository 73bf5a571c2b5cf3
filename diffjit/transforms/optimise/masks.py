"""Elements that a mask chooses and that are only added up, or stored where they came from, are not collected.

v = data[m]                     w = where(m, data, 0.0)
mean = sum(v) / v.size    ->    mean = sum(w) / sum(m)
u[m] = 2 * v + u[m]             u[:] = where(m, 2 * w + where(m, u, 0.0), u)

What is computed of them in between, a few instructions for each, is computed of all elements, with 0 in place of those
that are not chosen: these may be NaN, and a mask may be there for that. All of it can be one loop with what makes the
mask, and so can its derivative.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.ir.build import Builder
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, const_of
from diffjit.ir.ops import Cost
from diffjit.ir.types import INT, Array, Scalar
from diffjit.ir.walk import blocks, walk

_COUNT = np.dtype(np.int64)


def condition_sums(function: Function) -> None:
    """Apply it to all blocks, in place."""
    chosen = [(block, op) for block in blocks(function.body) for op in block.ops if op.kind == "mask_get"]
    if not chosen:
        return
    memory = analyses(function).one_memory
    users = _Users(function)
    for block, op in chosen:
        found = None if op not in block.ops else _found(op, users, memory)
        if found is not None:
            _apply(found, users)


class _Users:
    """Who reads what, and in which block that stands."""

    def __init__(self, function: Function) -> None:
        self.of: dict[Value, list[Op]] = {}
        self.block: dict[Op, Block] = {}
        self.kept: set[Value] = set()  # results of blocks
        for block in blocks(function.body):
            self.kept.update(block.results)
            for op in block.ops:
                self.block[op] = block
        for op in walk(function.body):
            for v in op.inputs:
                self.of.setdefault(v, []).append(op)


class _Found:
    """Arrays of chosen elements of one mask, and what reads them."""

    def __init__(self, mask: Value) -> None:
        self.mask = mask
        self.chosen: dict[Value, Op] = {}  # straight from an array
        self.made: list[Op] = []  # of others, element by element
        self.sums: list[Op] = []
        self.stores: list[Op] = []
        self.lengths: list[Op] = []

    def arrays(self) -> Iterator[Value]:
        yield from self.chosen
        for op in self.made:
            yield op.out


def _found(op: Op, users: _Users, memory: Memory) -> _Found | None:
    """All that hangs on the elements that an operation chooses, if that is no more than sums, stores and lengths."""
    found = _Found(op.inputs[1])
    todo, seen = [op.out], {op.out}
    while todo:
        v = todo.pop()
        maker = v.op
        if maker is None or v in users.kept or not _taken(maker, found, memory):
            return None
        if maker.kind != "mask_get":
            todo += [w for w in maker.inputs if isinstance(w.type, Array) and w not in seen]
            seen.update(maker.inputs)
        for user in users.of.get(v, ()):
            if user.kind == "dim":
                found.lengths.append(user)
            elif user.kind == "sum" and user.attrs["axes"] == (0,) and not user.attrs["keepdims"]:
                found.sums.append(user)
            elif user.kind == "mask_set" and _goes_back(user, v, found.mask):
                found.stores.append(user)
            elif _is_cheap(user):
                todo += [user.out] if user.out not in seen else []
                seen.add(user.out)
            else:
                return None
    return found if found.sums or found.stores else None


def _taken(maker: Op, found: _Found, memory: Memory) -> bool:
    """Whether an array can be had of all elements; then it is taken up."""
    if CHECKS in maker.attrs:
        return False
    if maker.kind != "mask_get":
        found.made.append(maker)
        return _is_cheap(maker)
    a, mask = maker.inputs
    same = isinstance(a.type, Array) and isinstance(mask.type, Array) and a.type.dims == mask.type.dims
    if not same or mask is not found.mask or memory.changes_after(mask, maker):
        return False
    found.chosen[maker.out] = maker
    return True


def _goes_back(store: Op, v: Value, mask: Value) -> bool:
    """Whether elements are stored to where the mask that chose them is true, in an array of its shape and their dtype.

    Of another dtype (ints), those that are not chosen would be converted, too, and back.
    """
    target, where, value = store.inputs
    fits = target.type.dims == mask.type.dims and target.type.dtype == v.type.dtype
    return value is v and where is mask and fits and CHECKS not in store.attrs


def _is_cheap(op: Op) -> bool:
    """Whether an operation on floats takes a few instructions for an element, whatever that is."""
    square = op.kind == "power" and const_of(op.inputs[1]) == 2
    if not op.row.by_element or len(op.outputs) != 1 or (op.row.cost > Cost.CHEAP and not square):
        return False
    return isinstance(op.out.type, Array) and op.out.type.ndim == 1 and op.out.type.dtype.kind in "fc"


def _apply(found: _Found, users: _Users) -> None:
    mask = found.mask.type
    assert isinstance(mask, Array)
    whole: dict[Value, Value] = {}
    for v, op in found.chosen.items():
        with _Before(op, users) as build:
            whole[v] = _where(build, found.mask, op.inputs[0])
    for op in found.made:
        op.inputs = [whole.get(v, v) for v in op.inputs]
        op.out.type = Array(op.out.type.dtype, mask.dims, "C")
    for op in found.sums:
        v = op.inputs[0]
        if v in whole:
            op.inputs = [whole[v]]
        else:
            with _Before(op, users) as build:
                op.inputs = [_where(build, found.mask, v)]
        op.attrs["axes"] = tuple(range(mask.ndim))
    for op in found.stores:
        target, _, v = op.inputs
        with _Before(op, users) as build:
            ty = Array(target.type.dtype, mask.dims, "C")
            chosen = build.value("where", [found.mask, whole.get(v, v), target], ty, name=target.name)
        op.kind, op.inputs, op.attrs = "assign", [target, chosen], {}
    for op in found.lengths:
        with _Before(op, users) as build:
            ones = build.value("cast", [found.mask], Array(_COUNT, mask.dims, "C"))
            axes = tuple(range(mask.ndim))
            count = build.value("sum", [ones], Scalar(_COUNT), axes=axes, keepdims=False)
        op.kind, op.inputs, op.attrs = "cast", [count], {}
        op.out.type = INT
    for op in found.chosen.values():
        users.block[op].ops.remove(op)


def _where(build: Builder, mask: Value, v: Value) -> Value:
    """The elements that are chosen, and 0 in place of the others."""
    nothing = build.const(0, Scalar(v.type.dtype))
    return build.value("where", [mask, v, nothing], Array(v.type.dtype, mask.type.dims, "C"), name=v.name)


class _Before:
    """Builds in front of an operation."""

    def __init__(self, op: Op, users: _Users) -> None:
        self.op, self.home = op, users.block[op]
        self.build = Builder(Block())
        self.build.loc = op.loc

    def __enter__(self) -> Builder:
        return self.build

    def __exit__(self, *exc: object) -> None:
        at = self.home.ops.index(self.op)
        self.home.ops[at:at] = self.build.block.ops
        for op in self.build.block.ops:
            for out in op.outputs:
                out.block = self.home
