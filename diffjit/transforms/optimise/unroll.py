"""Unrolls short loops whose counter picks elements of a small array.

for k in range(3):                  s[0] += v[0] * w[0]
    s[k] += v[k] * w[k]       ->    s[1] += v[1] * w[1]
                                    s[2] += v[2] * w[2]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from diffjit.analysis.small import comes_from_elsewhere, constant, is_small
from diffjit.ir.build import Builder
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, is_view
from diffjit.ir.types import Array, Scalar, lengths_in, new_length, renamed
from diffjit.ir.walk import clone_op, walk

TRIPS = 4
LONGEST = 400  # operations that one loop may become


def _both(a: bool, b: bool) -> bool:
    return a and b


def _either(a: bool, b: bool) -> bool:
    return a or b


def _quotient(a: int, b: int) -> int:
    return a // b


def _trip(start: int, stop: int, step: int) -> int:
    return len(range(start, stop, step))


_FOLDED: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "negative": operator.neg,
    "minimum": min, "maximum": max, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne, "logical_not": operator.not_,
    "logical_and": _both, "logical_or": _either, "floor_divide": _quotient, "remainder": operator.mod, "trip": _trip,
}  # fmt: skip


def unroll(function: Function) -> None:
    """Unroll where it helps, in place."""
    if not any(_picks(op, function.params) for op in walk(function.body) if op.kind == "for"):
        return
    unrolling = _Unrolling(function)
    unrolling.block(function.body, {u for p in function.params for u in lengths_in(p.type)})
    unrolling.substitute(function.body)


def _trips(op: Op) -> range | None:
    """The counter's values, if they are known and few."""
    given = [constant(v) for v in op.inputs[:3]]
    if None in given or given[2] == 0 or op.attrs.get("exit"):
        return None
    counted = range(*given)  # pyright: ignore[reportCallIssue, reportArgumentType]
    if len(counted) > TRIPS or len(counted) * sum(1 for _ in walk(op.regions[0])) > LONGEST:
        return None
    return counted[::-1] if op.attrs.get("reverse") else counted


def _picks(op: Op, params: list[Value]) -> bool:
    """Whether a loop's counter is an index into an array that might become numbers."""
    if len(op.regions[0].args) == 0:
        return False
    hanging = {op.regions[0].args[0]}
    for inner in walk(op.regions[0]):
        first = inner.row.indices_at
        if first is not None and any(v in hanging for v in inner.inputs[first:]) and _local(inner.inputs[0], params):
            return True
        if inner.kind in _FOLDED and any(v in hanging for v in inner.inputs):
            hanging.update(inner.outputs)
        if inner.kind == "for" and any(v in hanging for v in inner.inputs[:3]):
            hanging.add(inner.regions[0].args[0])
    return False


def _local(v: Value, params: list[Value]) -> bool:
    while v.op is not None and is_view(v.op):
        v = v.op.inputs[0]
    return is_small(v.type) and v not in params and (v.op is None or not comes_from_elsewhere(v.op))


def _made(op: Op) -> Iterator[Value]:
    """What an operation makes, regions included."""
    yield from op.outputs
    for region in op.regions:
        yield from _values(region)


def _values(block: Block) -> Iterator[Value]:
    yield from block.args
    for op in block.ops:
        yield from _made(op)


class _Unrolling:
    def __init__(self, function: Function) -> None:
        self.params = function.params
        self.final: dict[Value, Value] = {}

    def block(self, block: Block, outside: set[int]) -> None:
        """Unroll the loops of a block, outermost first, and compute what has become constant.

        `outside` are the lengths of arrays outside.
        """
        visible = outside.union(*(lengths_in(a.type) for a in block.args))
        waiting, block.ops = block.ops[::-1], []
        while waiting:
            op = waiting.pop()
            op.inputs = [self.last(v) for v in op.inputs]
            if op.kind == "for" and (counted := _trips(op)) is not None and _picks(op, self.params):
                waiting += self.iterations(op, counted, visible)[::-1]
            elif op.kind == "if" and constant(op.inputs[0]) is not None:
                taken = op.regions[0 if constant(op.inputs[0]) else 1]
                self.final.update(zip(op.outputs, taken.results, strict=True))
                waiting += taken.ops[::-1]
            else:
                self.fold(op)
                for region in op.regions:
                    self.block(region, visible)
                for v in op.outputs:
                    v.block = block
                    visible |= lengths_in(v.type)
                block.ops.append(op)

    def last(self, v: Value) -> Value:
        """What stands for a value now."""
        while v in self.final:
            v = self.final[v]
        return v

    def iterations(self, op: Op, counted: range, visible: set[int]) -> list[Op]:
        """The body, once for each value of the counter; what is made in an iteration has its own lengths."""
        body = op.regions[0]
        inner_lengths = {u for v in _values(body) for u in lengths_in(v.type)} - visible
        made = Block()
        build = Builder(made)
        build.loc = op.loc
        carried = op.inputs[3:]
        for i in counted:
            mapping = dict(zip(body.args, [build.const(i, body.args[0].type), *carried], strict=True))
            names = {u: new_length() for u in inner_lengths}
            for inner in body.ops:
                for v in _made(clone_op(inner, mapping, made)):
                    v.type = renamed(v.type, names)
            carried = [mapping.get(v, v) for v in body.results]
        self.final.update(zip(op.outputs, carried, strict=True))
        return made.ops

    def fold(self, op: Op) -> None:
        """A whole number that follows from constants becomes a constant, in place."""
        if op.kind == "dim" and CHECKS not in op.attrs:
            array = op.inputs[0].type
            axis: int = op.attrs["axis"]
            length = array.dims[axis] if isinstance(array, Array) else None
            if isinstance(length, int):
                op.kind, op.inputs, op.attrs = "const", [], {"value": length}
            return
        function = _FOLDED.get(op.kind)
        if function is None or len(op.outputs) != 1 or not isinstance(op.out.type, Scalar) or not op.out.type.weak:
            return
        if op.out.type.dtype.kind not in "bi" or any(v.op is None or v.op.kind != "const" for v in op.inputs):
            return
        given = [v.op.attrs["value"] for v in op.inputs]  # pyright: ignore[reportOptionalMemberAccess]
        if not all(isinstance(g, (bool, int)) for g in given):
            return
        if op.kind in ("floor_divide", "remainder", "trip") and given[-1] == 0:
            return
        value = function(*given)
        if abs(value) >= 1 << 62:
            return
        op.kind, op.inputs, op.attrs = "const", [], {"value": bool(value) if op.out.type.dtype.kind == "b" else value}

    def substitute(self, block: Block) -> None:
        """Replace what unrolled loops and decided branches yielded."""
        for op in block.ops:
            op.inputs = [self.last(v) for v in op.inputs]
            for region in op.regions:
                self.substitute(region)
        block.results = [self.last(v) for v in block.results]
