"""Which operations of a loop's body may raise: never, in all iterations or in none, or in some of them.

    y = x + b          x and b have one length by their types: never
    z = W @ u          the same lengths in every iteration, not known to agree: in all iterations or in none
    v = u[k]           k is computed: in some

Work may move from one iteration in front of another's only where that changes neither which error leaves the loop, nor
what has been printed and written by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from diffjit.ir.nodes import LANES, Block, Op, Value, const_of, is_const, is_view
from diffjit.ir.ops import Raises
from diffjit.ir.raising import (
    exact,
    may_raise,
    shapes_agree,
    steps,
)
from diffjit.ir.types import Dim, Scalar
from diffjit.ir.walk import walk


class Failure(IntEnum):
    """In which iterations an operation may raise."""

    NEVER = 0
    TOGETHER = 1  # in all or none, as it hangs on lengths alone
    APART = 2


class Failing:
    """Questions about the body of one loop.

    Its counter is within the lengths of all arrays that it selects from. `uniform(values)`: these arrays have the same
    shapes in every iteration.
    """

    def __init__(self, loop: Op, uniform: Callable[[Sequence[Value]], bool]) -> None:
        self.counter = loop.regions[0].args[0]
        self.uniform = uniform
        self.counters = {op.regions[0].args[0]: op for op in walk(loop.regions[0]) if op.kind == "for"}

    def of(self, op: Op) -> Failure:
        """When an operation of the loop's own block raises."""
        if op.kind in ("if", "for"):
            if op.kind == "for" and not const_of(op.inputs[2]):
                return Failure.APART
            parts = [self.block(region) for region in op.regions]
            return Failure.APART if any(parts) else Failure.NEVER
        if op.row.effect or op.row.control:
            return Failure.APART
        if op.row.raises is Raises.INDEX:
            return self._view(op) if is_view(op) else self._indices(op, op.inputs[op.row.indices_at :])
        if not may_raise(op):
            return Failure.NEVER
        if op.row.raises is Raises.NUMBERS:
            return self._elementwise(op)
        return self._by_lengths(op) if op.row.raises in (Raises.LENGTHS, Raises.ALLOCATION) else Failure.APART

    def block(self, block: Block) -> Failure:
        """The worst of a block's operations."""
        return self.worst(block.ops)

    def worst(self, ops: Sequence[Op]) -> Failure:
        """The worst of some operations."""
        return max((self.of(op) for op in ops), default=Failure.NEVER)

    def _by_lengths(self, op: Op) -> Failure:
        return Failure.TOGETHER if self.uniform([*op.inputs, *op.outputs]) else Failure.APART

    def _elementwise(self, op: Op) -> Failure:
        out = op.out.type if op.outputs else None
        if isinstance(out, Scalar) and out.dtype.kind in "iu" and not exact(op):
            return Failure.APART
        return Failure.NEVER if shapes_agree(op) else self._by_lengths(op)

    def _view(self, op: Op) -> Failure:
        if not all(map(const_of, steps(op))):
            return Failure.APART
        items = iter(op.inputs[1:])
        single: list[Value | None] = []
        for entry in op.attrs["spec"]:
            if entry == "i":
                single.append(next(items))
            elif entry != "n":
                single.append(None)
                for _ in filter(None, entry[1:]):
                    next(items)
        return self._indices(op, single)

    def _indices(self, op: Op, indices: Sequence[Value | None]) -> Failure:
        if op.attrs.get("inbounds"):
            return Failure.NEVER
        lengths = op.inputs[0].type.dims
        others = [v for v, n in zip(indices, lengths, strict=False) if v is not None and not self._counts(v, n)]
        if not others:
            return Failure.NEVER
        known = all(is_const(v) for v in others) and self.uniform([op.inputs[0]])
        return Failure.TOGETHER if known else Failure.APART

    def _counts(self, v: Value, length: Dim) -> bool:
        """Whether a value counts up to a length, or down from it."""
        if v is self.counter:
            return True
        loop = self.counters.get(v)
        if loop is not None and LANES in loop.attrs:
            return True
        if loop is None or const_of(loop.inputs[2]) != 1 or const_of(loop.inputs[0], -1) < 0:
            return False
        stop = loop.inputs[1]
        if stop.op is None or stop.op.kind != "dim":
            return const_of(stop) is not None and const_of(stop) == length
        axis: int = stop.op.attrs["axis"]
        return stop.op.inputs[0].type.dims[axis] == length
