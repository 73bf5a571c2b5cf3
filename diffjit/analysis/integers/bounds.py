"""Which indices are within bounds whatever the program is given: these accesses need no test.

    for i in range(1, rows - 1):           0 <= i - 1   because i >= 1
        u[i] = u[i - 1] + u[i + 1]         i + 1 < rows because i <= rows - 2, and rows is the length of u

Integers are sums of lengths, counters and unknown numbers. A counter is replaced by its least or greatest value, the
innermost first, until only lengths remain, which are not negative. Conditions of branches and loops around an access
add what they say.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from diffjit.analysis.integers.running import Running
from diffjit.analysis.integers.sums import Affine, Sums, length_read
from diffjit.analysis.order import Order
from diffjit.ir.nodes import Block, Op, Value, const_of
from diffjit.ir.types import Array, Dim, Scalar, Sym
from diffjit.ir.walk import always_raises, has_exit

Form = Affine[Value | Sym]  # a sum of unknown numbers and lengths

_SIGNS = {"less": (-1, 1, -1), "less_equal": (-1, 1, 0), "greater": (1, -1, -1), "greater_equal": (1, -1, 0)}
_OPPOSITES = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}
_MOST = 12  # terms of a sum, and conditions that are tried
_SLACK = 8  # a loop over all but the edges goes over all


def entries(op: Op, first: int) -> Iterator[tuple[int, Any, list[Value]]]:
    """What a load, store or view says of each axis, as in a view's spec, and the ints among its operands for that."""
    base = op.inputs[0].type
    assert isinstance(base, Array)
    spec: Any = op.attrs["spec"] if op.kind == "view" else ["i"] * base.ndim
    rest = iter(op.inputs[first:])
    axis = 0
    for entry in spec:
        count = sum(flag is not None for flag in entry[1:]) if isinstance(entry, tuple) else int(entry == "i")  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        yield axis, entry, [next(rest) for _ in range(count)]
        axis += entry != "n"


def chosen(op: Op, first: int) -> Iterator[tuple[int, Value]]:
    """The axes along which a load, store or view takes one element, and the index there."""
    return ((axis, ints[0]) for axis, entry, ints in entries(op, first) if entry == "i")


class Bounds:
    """Proves indices of one function."""

    def __init__(self, order: Order, sums: Sums) -> None:
        self.order, self.sums = order, sums
        self.running = Running(order)
        self.known: dict[Value, Form] = {}
        self.facts: dict[Block, list[Form]] = {}
        self.tested: dict[Block, list[tuple[int, list[Form]]]] = {}  # what its branches that may leave the program say

    def inside(self, op: Op, first: int, *, beyond: Container[Block] = (), only: int | None = None) -> bool:
        """Whether the ints among the indices of a load, store or view are within bounds, and not negative.

        `beyond`: blocks around the operation that may not run; `only`: the axis that is asked for.
        """
        dims = op.inputs[0].type.dims
        indices = [(axis, index) for axis, index in chosen(op, first) if only in (None, axis)]
        return all(self._within(index, dims[axis], op, beyond) for axis, index in indices)

    def proves(self, op: Op) -> bool:
        """Whether the indices of any access are within bounds."""
        return self.inside(op, op.row.indices_at or 0)

    def _within(self, index: Value, length: Dim, op: Op, beyond: Container[Block]) -> bool:
        e = self.of(index)
        size = self.length(length)
        if len(e.terms) > _MOST:
            return False
        return self._positive(e, op, beyond) and self._positive(size.plus(e, -1).shifted(-1), op, beyond)

    def _positive(self, e: Form, op: Op, beyond: Container[Block]) -> bool:
        """Whether a sum is not negative wherever the operation runs."""
        if self._least(e):
            return True
        facts = list(self._around(op, beyond))[:_MOST]
        return any(self._least(e.plus(fact, -1)) for fact in facts)

    def _least(self, e: Form) -> bool:
        for _ in range(4 * _MOST):
            inner = [(self._depth(a), a) for a in e.terms if isinstance(a, Value)]
            inner.sort(key=lambda x: -x[0])
            for _, atom in inner:
                bound = self.extreme(atom, least=e.terms[atom] > 0)
                if bound is not None:
                    e = e.plus(Affine(0, {atom: 1}), -e.terms[atom]).plus(bound, e.terms[atom])
                    break
            else:
                return e.constant >= 0 and all(isinstance(a, Sym) and c > 0 for a, c in e.terms.items())
        return False

    def _depth(self, v: Value) -> int:
        return len(self.order.enclosing(v.block)) if v.block is not None else 0

    def extreme(self, v: Value, *, least: bool) -> Form | None:
        """The least or greatest value of a counter or of an integer that a loop adds to, in terms of others."""
        loop = self.order.counted_by(v)
        if loop is not None:
            start, stop, step = loop.inputs[:3]
            by = const_of(step)
            if by is None or by == 0:
                return None
            if least == (by > 0):
                return self.of(start)
            return self.of(stop).shifted(-1 if by > 0 else 1)
        found = self.running.of(v) if v.op is None else None
        if found is None or not found.monotone or not (found.adds is None or self.sums.exact(found.adds)):
            return None
        return self.of(found.first) if found.times == 0 or least == (found.times > 0) else None

    # Sums

    def of(self, v: Value) -> Form:
        """An integer as a sum."""
        if v not in self.known:
            self.known[v] = Affine(0, {v: 1})
            self.known[v] = self._find(v)
        return self.known[v]

    def _find(self, v: Value) -> Form:
        total = self.sums.added(v, self.of)
        if total is not None:
            return total
        length = length_read(v)
        return Affine(0, {v: 1}) if length is None else self.length(length)

    def length(self, d: Dim) -> Form:
        """A length as a sum."""
        if isinstance(d, int):
            return Affine(d, {})
        number = self.sums.lengths.get(d)
        if number is None:
            return Affine(0, {d: 1})
        found = self.of(number)
        return found if number not in found.terms else Affine(0, {number: 1})

    def sweeps(self, loop: Op, length: Dim) -> bool:
        """Whether a loop makes at least about as many iterations as an axis has elements."""
        if loop.kind != "for" or const_of(loop.inputs[2]) not in (1, -1):
            return False
        low, high = loop.inputs[:2] if const_of(loop.inputs[2]) == 1 else loop.inputs[1::-1]
        left = self.length(length).plus(self.of(high), -1).plus(self.of(low))
        return not left.terms and not self.of(low).terms and left.constant <= _SLACK

    # What conditions say

    def _around(self, op: Op, beyond: Container[Block]) -> Iterator[Form]:
        """Sums that are not negative in the block of an operation."""
        place = self.order.places.get(op)
        for block, at in reversed(place.path) if place is not None else ():
            if block in beyond:
                continue
            if block not in self.facts:
                self.facts[block] = list(self._facts(block))
                self.tested[block] = [
                    (k, list(self._passed(o))) for k, o in enumerate(block.ops) if o.kind == "if" and not o.outputs
                ]
            yield from self.facts[block]
            for k, facts in self.tested[block]:
                if k < at:
                    yield from facts

    def _passed(self, branch: Op) -> Iterator[Form]:
        """What is known behind a branch of which one way leaves the program."""
        first, second = map(always_raises, branch.regions)
        if first != second:
            yield from self._said(branch.inputs[0], holds=second)

    def _facts(self, block: Block) -> Iterator[Form]:
        up = self.order.parent.get(block)
        if up is None:
            return
        op = up[0]
        if op.kind == "if":
            yield from self._said(op.inputs[0], holds=block is op.regions[0])
        elif op.kind == "while" and block is op.regions[1] and not has_exit(op):
            cond = op.regions[0]
            renamed = dict(zip(cond.args, block.args, strict=True))
            for fact in self._said(cond.results[0], holds=True):
                terms = {renamed.get(a, a) if isinstance(a, Value) else a: c for a, c in fact.terms.items()}
                if not any(isinstance(a, Value) and a.block is cond for a in terms):
                    yield Affine(fact.constant, terms)
        elif op.kind == "for" and block is op.regions[0]:
            counter = self.of(block.args[0])
            by = const_of(op.inputs[2])
            if by is not None and by != 0:
                low, high = (op.inputs[0], op.inputs[1]) if by > 0 else (op.inputs[1], op.inputs[0])
                yield counter.plus(self.of(low), -1).shifted(-1 if by < 0 else 0)
                yield self.of(high).plus(counter, -1).shifted(-1 if by > 0 else 0)

    def _said(self, condition: Value, *, holds: bool) -> Iterator[Form]:
        op = condition.op
        if op is None:
            return
        if op.kind == "logical_not":
            yield from self._said(op.inputs[0], holds=not holds)
        elif op.kind == ("logical_and" if holds else "logical_or"):
            for v in op.inputs:
                yield from self._said(v, holds=holds)
        elif op.kind == "if" and len(op.outputs) == 1 and holds:  # `a and b`
            ends = [r.results[0] for r in op.regions]
            if const_of(ends[1]) is False or const_of(ends[1]) == 0:
                yield from self._said(op.inputs[0], holds=True)
                yield from self._said(ends[0], holds=True)
        elif op.kind in _SIGNS and all(self._is_index(v) for v in op.inputs):
            a, b, less = _SIGNS[op.kind if holds else _OPPOSITES[op.kind]]
            base: Form = Affine(less, {})
            yield base.plus(self.of(op.inputs[0]), a).plus(self.of(op.inputs[1]), b)
        elif op.kind == ("equal" if holds else "not_equal") and all(self._is_index(v) for v in op.inputs):
            gap = self.of(op.inputs[0]).plus(self.of(op.inputs[1]), -1)
            yield gap
            yield gap.negative()

    def _is_index(self, v: Value) -> bool:
        return isinstance(v.type, Scalar) and v.type.dtype.kind == "i"
