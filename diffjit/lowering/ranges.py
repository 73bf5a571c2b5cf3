"""Bounds of integers that are known before the program runs: arithmetic that cannot overflow needs no check."""

from __future__ import annotations

from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk

Interval = tuple[int, int]

_LOW, _HIGH = -(2**63), 2**63 - 1
_FULL = (_LOW, _HIGH)
_LENGTH = (0, 2**47)  # no array is longer: addresses have 47 bits


class Ranges:
    """Intervals of the integers of one function."""

    def __init__(self, function: Function) -> None:
        self.loops: dict[Value, Op] = {}
        for op in walk(function.body):
            if op.kind == "for":
                self.loops[op.regions[0].args[0]] = op
        self.known: dict[Value, Interval] = {}

    def of(self, v: Value) -> Interval:
        """The least and greatest value that an integer can have."""
        found = self.known.get(v)
        if found is None:
            self.known[v] = _FULL  # while we look: cycles
            found = self.known[v] = self._find(v)
        return found

    def fits(self, op: Op) -> bool:
        """Whether the exact result of integer arithmetic needs no more than 64 bits."""
        if op.kind not in ("add", "subtract", "multiply", "negative", "square"):
            return False
        if not all(isinstance(v.type, Scalar) and v.type.dtype.kind in "iub" for v in op.inputs):
            return False
        low, high = self._exact(op)
        return low >= _LOW and high <= _HIGH

    def _find(self, v: Value) -> Interval:
        ty = v.type
        if not isinstance(ty, Scalar) or ty.dtype.kind not in "iub":
            return _FULL
        if v in self.loops:
            return self._index(self.loops[v])
        if ty.dtype.kind == "b":
            return (0, 1)
        low, high = _FULL
        if ty.dtype.itemsize < 8:
            bits = 8 * ty.dtype.itemsize
            low, high = (0, 2**bits - 1) if ty.dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        op = v.op
        if op is None:
            return low, high
        return self._of_op(op, (low, high))

    def _of_op(self, op: Op, default: Interval) -> Interval:
        kind = op.kind
        if kind == "const":
            value = int(op.attrs["value"])
            return value, value
        if kind in ("dim", "trip", "list_len"):
            return _LENGTH
        if kind in ("add", "subtract", "multiply", "negative", "square") and self._ints(op):
            low, high = self._exact(op)
            return max(low, _LOW), min(high, _HIGH)
        if kind in ("minimum", "maximum") and self._ints(op):
            (a, b), (c, d) = (self.of(v) for v in op.inputs)
            pick = min if kind == "minimum" else max
            return pick(a, c), pick(b, d)
        if kind in ("where", "select") and self._ints(op):
            (a, b), (c, d) = (self.of(v) for v in op.inputs[1:])
            return min(a, c), max(b, d)
        if kind == "cast" and self._ints(op):
            low, high = self.of(op.inputs[0])
            return (low, high) if default[0] <= low and high <= default[1] else default
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
