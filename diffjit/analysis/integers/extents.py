"""Whether a loop runs about as often as an axis is long, as far as the program's text tells.

gap = np.empty(d)
for p in range(d):        d times: as long as `gap`
for q in range(p):    not known
"""

from __future__ import annotations

from diffjit.ir.nodes import Function, Op, Value, const_of
from diffjit.ir.types import Array, Dim, Sym
from diffjit.ir.walk import walk

_SLACK = 8  # a loop over all but the edges goes over all


def dims_of(v: Value) -> tuple[Dim, ...]:
    """The lengths of an array, as far as they are known."""
    assert isinstance(v.type, Array)
    return v.type.dims


def made_with(function: Function) -> dict[Sym, Value]:
    """The numbers that arrays were made with, by the lengths that they gave."""
    found: dict[Sym, Value] = {}
    for op in walk(function.body):
        lengths = op.inputs[op.row.lengths_at :] if op.row.fill is not None and op.row.lengths_at is not None else ()
        if lengths and isinstance(op.out.type, Array):
            for d, n in zip(op.out.type.dims, lengths, strict=True):
                if isinstance(d, Sym):
                    found.setdefault(d, n)
    return found


class Extents:
    """Numbers and lengths of one function as one number or length plus a constant."""

    def __init__(self, function: Function) -> None:
        self.made_with = made_with(function)

    def sweeps(self, loop: Op, length: Dim) -> bool:
        """Whether a loop makes at least about as many iterations as an axis has elements."""
        if loop.kind != "for" or const_of(loop.inputs[2]) not in (1, -1):
            return False
        ends = loop.inputs[:2] if const_of(loop.inputs[2]) == 1 else loop.inputs[1::-1]
        (low_base, low), (high_base, high) = (self._number(v) for v in ends)
        base, constant = self._length(length)
        return low_base is None and high_base == base and constant - (high - low) <= _SLACK

    def _length(self, d: Dim) -> tuple[Value | Sym | None, int]:
        if isinstance(d, int):
            return None, d
        made = self.made_with.get(d)
        return (d, 0) if made is None else self._number(made)

    def _number(self, v: Value) -> tuple[Value | Sym | None, int]:
        op, number = v.op, const_of(v)
        if number is not None:
            return None, int(number)
        if op is not None and op.kind == "dim":
            axis: int = op.attrs["axis"]
            d = dims_of(op.inputs[0])[axis]
            made = None if isinstance(d, int) else self.made_with.get(d)
            return (v, 0) if made is v else self._length(d)
        if op is not None and op.kind in ("add", "subtract"):
            number = const_of(op.inputs[1])
            if isinstance(number, int):
                base, constant = self._number(op.inputs[0])
                return base, constant + (number if op.kind == "add" else -number)
        return v, 0
