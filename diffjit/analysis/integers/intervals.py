"""Intervals of integers that are known before the program runs: arithmetic that cannot overflow needs no check.

for i in range(len(x)):        0 <= i < 2**47
2 * i + 1                  1 <= ... < 2**48: needs no more than 64 bits
"""

from __future__ import annotations

import numpy as np

from diffjit.ir.nodes import Function, Op, Value, const_of, is_const, is_weak
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk

Interval = tuple[int, int]

_LOW, _HIGH = -(2**63), 2**63 - 1
_FULL = (_LOW, _HIGH)
_UNSIGNED = (0, 2**64 - 1)
_LENGTH = (0, 2**47)  # no array is longer: addresses have 47 bits
_STEP = 256  # what a counter is moved by at most each time,
_FAR = 2**60  # and how far it comes: as far takes weeks


class Intervals:
    """Intervals of the integers of one function."""

    def __init__(self, function: Function) -> None:
        self.loops: dict[Value, Op] = {}
        self.joined: dict[Value, list[Value]] = {}  # what flows into values that loops carry and branches give
        for op in walk(function.body):
            if op.kind == "for":
                self.loops[op.regions[0].args[0]] = op
            if op.row.loop:
                self._carried(op)
            elif op.kind == "if":
                for k, out in enumerate(op.outputs):
                    self.joined[out] = [region.results[k] for region in op.regions]
        self.known: dict[Value, Interval] = {}

    def _carried(self, op: Op) -> None:
        counted = op.kind == "for"
        init = op.inputs[3:] if counted else op.inputs
        skip = 1 if op.attrs.get("exit") else 0
        for k, out in enumerate(op.outputs):
            into = [init[k], op.regions[-1].results[k + skip]]
            for v in (out, *(region.args[k + counted] for region in op.regions)):
                self.joined[v] = into

    def of(self, v: Value) -> Interval:
        """The least and greatest value that an integer can have."""
        found = self.known.get(v)
        if found is None:
            self.known[v] = _FULL  # while we look: cycles
            found = self.known[v] = self._find(v)
        return found

    def fits(self, op: Op) -> bool:
        """Whether the type of what integer arithmetic gives has the exact result."""
        if op.kind not in ("add", "subtract", "multiply", "negative", "square", "cast"):
            return False
        if not all(isinstance(v.type, Scalar) and v.type.dtype.kind in "iub" for v in op.inputs):
            return False
        ty = op.out.type
        if not isinstance(ty, Scalar) or ty.dtype.kind not in "iu":
            return False
        return _within(self.of(op.inputs[0]) if op.kind == "cast" else self._exact(op), _limits(ty))

    def _find(self, v: Value) -> Interval:
        ty = v.type
        if not isinstance(ty, Scalar) or ty.dtype.kind not in "iub":
            return _FULL
        if ty.dtype == np.dtype(np.uint64):
            return _UNSIGNED
        if v in self.loops:
            return self._index(self.loops[v])
        if ty.dtype.kind == "b":
            return (0, 1)
        limits = _limits(ty)
        if v in self.joined:
            found = self._counter(v)
            return found if found is not None and _within(found, limits) else limits
        return limits if v.op is None else self._of_op(v.op, limits)

    def _counter(self, v: Value) -> Interval | None:
        """The interval of a value that is only ever moved by small constants; None if there is more to it."""
        todo, seen, down, up = [v], {v}, 0, 0
        starts: list[Interval] = []
        while todo:
            u = todo.pop()
            into = self.joined.get(u)
            if u.type != v.type:  # what is narrower may have wrapped around on its way
                starts.append(self.of(u))
                continue
            if into is None:
                step = _step(u)
                if step is None:
                    starts.append(self.of(u))
                    continue
                base, by = step
                down, up, into = min(down, by), max(up, by), [base]
            for w in into:
                if w not in seen:
                    seen.add(w)
                    todo.append(w)
        if not starts:
            return None
        low, high = min(a for a, _ in starts), max(b for _, b in starts)
        if low < -_FAR or high > _FAR:
            return None
        return low - _FAR * (down < 0), high + _FAR * (up > 0)

    def _of_op(self, op: Op, limits: Interval) -> Interval:
        found = self._computed(op, limits)
        return found if _within(found, limits) else limits  # NumPy's integers wrap around

    def _computed(self, op: Op, default: Interval) -> Interval:
        kind = op.kind
        if kind == "const":
            value = int(op.attrs["value"])
            return value, value
        if op.row.length:
            return _LENGTH
        if kind in ("add", "subtract", "multiply", "negative", "square") and self._ints(op):
            low, high = self._exact(op)
            if is_weak(op.out) and low <= _HIGH and high >= _LOW:  # nothing goes on where 64 bits do not suffice
                return max(low, _LOW), min(high, _HIGH)
            return low, high
        if kind in ("minimum", "maximum") and self._ints(op):
            (a, b), (c, d) = (self.of(v) for v in op.inputs)
            pick = min if kind == "minimum" else max
            return pick(a, c), pick(b, d)
        if kind in ("where", "select") and self._ints(op):
            (a, b), (c, d) = (self.of(v) for v in op.inputs[1:])
            return min(a, c), max(b, d)
        if kind == "cast" and self._ints(op):
            return self.of(op.inputs[0])
        if kind == "remainder" and self._ints(op):
            low, high = self.of(op.inputs[1])
            return (0, high - 1) if low > 0 else default
        if kind == "floor_divide" and self._ints(op):
            (a, b), (c, _) = (self.of(v) for v in op.inputs)
            return (min(a, 0), max(b, 0)) if c > 0 else default
        return default

    def _ints(self, op: Op) -> bool:
        return all(not isinstance(v.type, Array) and v.type.dtype.kind in "iub" for v in op.inputs)  # type: ignore[union-attr]

    def _exact(self, op: Op) -> Interval:
        intervals = [self.of(v) for v in op.inputs]
        if op.kind == "negative":
            ((a, b),) = intervals
            return -b, -a
        if op.kind == "square":
            intervals *= 2
        (a, b), (c, d) = intervals
        if op.kind == "add":
            return a + c, b + d
        if op.kind == "subtract":
            return a - d, b - c
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)

    def _index(self, loop: Op) -> Interval:
        (start_low, start_high), (stop_low, stop_high) = (self.of(v) for v in loop.inputs[:2])
        step_low, step_high = self.of(loop.inputs[2])
        if step_low > 0:
            return start_low, max(start_low, stop_high - 1)
        if step_high < 0:
            return min(start_high, stop_low + 1), start_high
        return min(start_low, stop_low + 1), max(start_high, stop_high - 1)


def _within(a: Interval, b: Interval) -> bool:
    return b[0] <= a[0] and a[1] <= b[1]


def _limits(ty: Scalar) -> Interval:
    limits = np.iinfo(ty.dtype)
    return int(limits.min), int(limits.max)


def _step(v: Value) -> tuple[Value, int] | None:
    """What a small constant is added to, and the constant."""
    op = v.op
    if op is None or op.kind not in ("add", "subtract"):
        return None
    a, b = op.inputs
    if op.kind == "add" and is_const(a):
        a, b = b, a
    if not isinstance(const_of(b), (int, np.integer)):
        return None
    by = int(const_of(b))
    return (a, by if op.kind == "add" else -by) if abs(by) <= _STEP else None
