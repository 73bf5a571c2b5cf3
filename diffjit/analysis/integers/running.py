"""Integers that every iteration of a loop adds to: `at += 1` in nested loops, `k += 2` in a `while`.

    at = a0                                at in iteration n of the loop over p  =  a0 + n (n - 1) / 2
    for p in range(d):
        for q in range(p):                 at in iteration m of the loop over q  =  (at in that of p) + m
            at += 1

The way back computes them from the number of the iteration, so that none is recorded.
"""

from __future__ import annotations

from collections.abc import Callable

from diffjit.analysis.integers.sums import length_read
from diffjit.analysis.order import Order
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.types import INT, Scalar
from diffjit.ir.walk import has_exit, initial


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """What a carried integer is: its first value, and what each iteration adds.

    by      a number that no iteration changes; times `times`
    trips   the bounds of an inner loop, each iteration of which adds `times`: as many as it runs
    ramp    iteration n adds (n + ramp) times `times`; with `down`, a number, (down + ramp - n) times `times`
    adds    the operation that adds, None where nothing does; where it wraps around, so does what is computed here
    """

    loop: Op
    first: Value
    times: int
    by: Value | None = None
    trips: tuple[Value, ...] = ()
    ramp: int | None = None
    down: Value | None = None
    adds: Op | None = None

    @property
    def constant(self) -> bool:
        """Whether each iteration adds the same constant."""
        return self.monotone and not self.trips and self.ramp is None

    @property
    def monotone(self) -> bool:
        """Whether no iteration adds what has another sign than `times`."""
        return self.by is None

    def operands(self, *, final: bool) -> list[Value]:
        """The values that it is computed from, constants aside; `final`: behind the loop."""
        used = [self.first, *self.trips, *(v for v in (self.by, self.down) if v is not None)]
        if self.loop.kind == "for":
            start, stop, step = self.loop.inputs[:3]
            used += [start, stop, step] if final else [start, step]
        return [v for v in dict.fromkeys(used) if _constant(v) is None]

    def value(self, b: Builder, count: Value, given: Callable[[Value], Value], like: Value) -> Value:
        """The number after `count` iterations."""

        def combine(kind: str, x: Value, y: Value) -> Value:
            return b.value(kind, [x, y], like.type, nowrap=True)

        if self.ramp is not None:
            before = combine("subtract", count, b.const(1, INT))
            added = combine("floor_divide", combine("multiply", count, before), b.const(2, INT))
            each: Value | None = b.const(self.ramp, INT) if self.ramp else None
            if self.down is not None:
                end = given(self.down)
                each = end if each is None else combine("add", end, each)
                added = combine("subtract", combine("multiply", count, each), added)
            elif each is not None:
                added = combine("add", added, combine("multiply", count, each))
        else:
            added = count
            if self.by is not None:
                added = combine("multiply", added, given(self.by))
            if self.trips:
                added = combine("multiply", added, b.value("trip", [given(t) for t in self.trips], INT))
        if self.times != 1:
            added = combine("multiply", added, b.const(self.times, INT))
        made = combine("add", given(self.first), added)
        made.name = like.name
        return made


class Running:
    """Finds such integers in a function."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.known: dict[tuple[Op, int], Sum | None] = {}

    def of(self, v: Value) -> Sum | None:
        """How an integer that a loop carries comes about, at the start of an iteration or behind the loop."""
        if not isinstance(v.type, Scalar) or v.type.dtype.name != "int64":
            return None
        if v.op is not None:
            if v.op.kind != "for" or has_exit(v.op):
                return None
            return self._sum(v.op, v.op.outputs.index(v))
        up = self.order.parent.get(v.block) if v.block is not None else None
        if up is None or up[0].kind not in ("for", "while"):
            return None
        at = v.block.args.index(v) - _offset(up[0])  # pyright: ignore[reportOptionalMemberAccess]
        return self._sum(up[0], at) if 0 <= at < len(up[0].outputs) else None

    def _sum(self, loop: Op, k: int) -> Sum | None:
        key = (loop, k)
        if key not in self.known:
            self.known[key] = None
            self.known[key] = self._find(loop, k)
        return self.known[key]

    def _find(self, loop: Op, k: int) -> Sum | None:
        body = loop.regions[-1]
        arg, after = body.args[k + _offset(loop)], _unless_left(loop, body.results[k + has_exit(loop)])
        first, op = initial(loop)[k], after.op
        if after is arg:
            return Sum(loop, first, 0)
        if op is None or after.type != arg.type or first.type != arg.type:
            return None
        if op.kind in ("add", "subtract") and arg in op.inputs:
            at = op.inputs.index(arg)
            other = op.inputs[1 - at]
            if op.kind == "subtract" and at == 1:
                return None
            sign = 1 if op.kind == "add" else -1
            number = _constant(other)
            if number is not None:
                return Sum(loop, first, sign * number, adds=op)
            if not self.order.inside(other, loop) and other.type == arg.type:
                return Sum(loop, first, sign, by=other, adds=op)
            return None
        return self._inner(loop, first, arg, after)

    def _inner(self, loop: Op, first: Value, arg: Value, after: Value) -> Sum | None:
        """What an inner loop over a range adds."""
        inner = after.op
        if inner is None or inner.kind != "for" or has_exit(inner) or inner not in loop.regions[-1].ops:
            return None
        slot = inner.outputs.index(after)
        if initial(inner)[slot] is not arg:
            return None
        part = self._sum(inner, slot)
        if part is None or not part.constant:
            return None
        bounds = inner.inputs[:3]
        if not any(self.order.inside(v, loop) and _constant(v) is None for v in bounds):
            return Sum(loop, first, part.times, trips=tuple(bounds), adds=part.adds)
        return self._ramp(loop, first, part, bounds)

    def _ramp(self, loop: Op, first: Value, part: Sum, bounds: list[Value]) -> Sum | None:
        """A triangle: `for p in range(s, n): for q in range(a, p + e)`, or what is left of a square: `range(p + e, m)`.

        Where no iteration would have less than none.
        """
        if loop.kind != "for" or any(_constant(v) != 1 for v in (bounds[2], loop.inputs[2])):
            return None
        start, counter = _constant(loop.inputs[0]), loop.regions[-1].args[0]
        if start is None:
            return None
        (low, below), (high, above) = map(_shifted, bounds[:2])
        if high is counter and low is None and start + above - below >= 0:
            return Sum(loop, first, part.times, ramp=start + above - below, adds=part.adds)
        last, beyond = _shifted(loop.inputs[1])
        if low is counter and _same(high, last) and above - beyond + 1 - below >= 0:
            if last is None:
                return Sum(loop, first, part.times, ramp=-start - below, down=bounds[1], adds=part.adds)
            if last.type == first.type:
                return Sum(loop, first, part.times, ramp=above - start - below, down=last, adds=part.adds)
        return None


def _same(a: Value | None, b: Value | None) -> bool:
    """Whether two numbers are equal for certain: one value, or one length."""
    if a is None or b is None:
        return a is b
    length = length_read(a)
    return a is b or (length is not None and length == length_read(b))


def _shifted(v: Value) -> tuple[Value | None, int]:
    """A number and what a constant adds to it; a constant has no number. Python's own ints: others may wrap around."""
    number = _constant(v)
    if number is not None:
        return None, number
    if isinstance(v.type, Scalar) and v.type.weak and v.op is not None and v.op.kind in ("add", "subtract"):
        number = _constant(v.op.inputs[1])
        if number is not None:
            return v.op.inputs[0], number if v.op.kind == "add" else -number
    return v, 0


def _unless_left(loop: Op, after: Value) -> Value:
    """What an iteration gives to the next one: what the branch gives that does not leave the loop."""
    leave = loop.regions[-1].results[0] if has_exit(loop) else None
    branch = after.op
    while branch is not None and branch.kind == "if" and leave is not None and leave.op is branch:
        at, flag = branch.outputs.index(after), branch.outputs.index(leave)
        going = [r for r in branch.regions if const_of(r.results[flag]) is not True and const_of(r.results[flag]) != 1]
        if len(going) != 1:
            break
        after, leave = going[0].results[at], going[0].results[flag]
        branch = after.op
    return after


def _offset(loop: Op) -> int:
    return 1 if loop.kind == "for" else 0


def _constant(v: Value) -> int | None:
    value = const_of(v)
    return int(value) if value is not None and isinstance(v.type, Scalar) and v.type.dtype.kind == "i" else None
