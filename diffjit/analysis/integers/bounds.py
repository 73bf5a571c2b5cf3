"""Which indices are within bounds whatever the program is given: these accesses need no test.

    for i in range(1, rows - 1):           0 <= i - 1   because i >= 1
        u[i] = u[i - 1] + u[i + 1]         i + 1 < rows because i <= rows - 2, and rows is the length of u

Integers are sums of lengths, counters and unknown numbers. A counter is replaced by its least or greatest value, the
innermost first, until only lengths remain, which are not negative. Conditions of branches and loops around an access
add what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from diffjit.analysis.integers.extents import dims_of, made_with
from diffjit.analysis.integers.running import Running
from diffjit.analysis.order import Order
from diffjit.ir.checks import cannot_fail
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.raising import tests_index
from diffjit.ir.types import Array, Dim, Scalar, Sym
from diffjit.ir.walk import callees, has_exit, walk

Atom = Value | Sym  # an unknown number, or a length

_SIGNS = {"less": (-1, 1, -1), "less_equal": (-1, 1, 0), "greater": (1, -1, -1), "greater_equal": (1, -1, 0)}
_OPPOSITES = {"less": "greater_equal", "less_equal": "greater", "greater": "less_equal", "greater_equal": "less"}
_MOST = 12  # terms of a sum, and conditions that are tried


@dataclass(frozen=True, slots=True)
class Affine:
    """constant + the sum of coefficient * atom."""

    constant: int
    terms: dict[Atom, int]

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """The sum with a multiple of another."""
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * c
        return Affine(self.constant + times * other.constant, {a: c for a, c in terms.items() if c})


class Bounds:
    """Proves indices of one function."""

    def __init__(self, function: Function) -> None:
        self.order = Order(function)
        self.running = Running(self.order)
        self.known: dict[Value, Affine] = {}
        self.made_with = made_with(function)
        self.loops: dict[Value, Op] = {}
        self.facts: dict[Block, list[Affine]] = {}
        for op in walk(function.body):
            if op.kind == "for":
                self.loops[op.regions[0].args[0]] = op

    def inside(self, op: Op, first: int, *, beyond: Op | None = None) -> bool:
        """Whether the ints among the indices of a load, store or view are within bounds, and not negative.

        `beyond`: a loop around the operation that may not run.
        """
        base = op.inputs[0].type
        assert isinstance(base, Array)
        spec: Any = op.attrs["spec"] if op.kind == "view" else ["i"] * base.ndim
        rest = iter(op.inputs[first:])
        axis = 0
        for entry in spec:
            if entry == "i":
                if not self._within(next(rest), base.dims[axis], op, beyond):
                    return False
            elif isinstance(entry, tuple):
                for _ in filter(None, entry[1:]):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                    next(rest)
            axis += entry != "n"
        return True

    def proves(self, op: Op) -> bool:
        """Whether the indices of any access are within bounds."""
        return self.inside(op, op.row.indices_at or 0)

    def _within(self, index: Value, length: Dim, op: Op, beyond: Op | None) -> bool:
        e = self.of(index)
        size = Affine(length, {}) if isinstance(length, int) else self._length(length)
        if len(e.terms) > _MOST:
            return False
        return self._positive(e, op, beyond) and self._positive(size.plus(e, -1).plus(Affine(-1, {})), op, beyond)

    def _positive(self, e: Affine, op: Op, beyond: Op | None) -> bool:
        """Whether a sum is not negative wherever the operation runs."""
        if self._least(e):
            return True
        facts = list(self._around(op, beyond))[:_MOST]
        return any(self._least(e.plus(fact, -1)) for fact in facts)

    def _least(self, e: Affine) -> bool:
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

    def extreme(self, v: Value, *, least: bool) -> Affine | None:
        """The least or greatest value of a counter or of an integer that a loop adds to, in terms of others."""
        loop = self.loops.get(v)
        if loop is not None:
            start, stop, step = loop.inputs[:3]
            by = const_of(step)
            if by is None or by == 0:
                return None
            if least == (by > 0):
                return self.of(start)
            return self.of(stop).plus(Affine(-1 if by > 0 else 1, {}))
        found = self.running.of(v) if v.op is None else None
        if found is None or found.by is not None or found.ramp is not None or found.trips:
            return None
        return self.of(found.first) if found.times == 0 or least == (found.times > 0) else None

    # Sums

    def of(self, v: Value) -> Affine:
        """An integer as a sum."""
        if v not in self.known:
            self.known[v] = Affine(0, {v: 1})
            self.known[v] = self._find(v)
        return self.known[v]

    def _find(self, v: Value) -> Affine:
        itself, op, ty = Affine(0, {v: 1}), v.op, v.type
        if op is None or not isinstance(ty, Scalar) or ty.dtype.kind != "i":
            return itself
        if op.kind == "const":
            return Affine(int(op.attrs["value"]), {})
        if op.kind == "dim":
            axis: int = op.attrs["axis"]
            d = dims_of(op.inputs[0])[axis]
            return Affine(d, {}) if isinstance(d, int) else self._length(d)
        if not (ty.weak or op.attrs.get("nowrap")) or ty.dtype.itemsize != 8:
            return itself
        if op.kind in ("add", "subtract"):
            return self.of(op.inputs[0]).plus(self.of(op.inputs[1]), 1 if op.kind == "add" else -1)
        if op.kind == "negative":
            return Affine(0, {}).plus(self.of(op.inputs[0]), -1)
        if op.kind == "multiply":
            for a, b in (op.inputs, op.inputs[::-1]):
                number = const_of(a)
                if number is not None and isinstance(number, int):
                    return Affine(0, {}).plus(self.of(b), number)
        return itself

    def _length(self, d: Sym) -> Affine:
        number = self.made_with.get(d)
        if number is None:
            return Affine(0, {d: 1})
        found = self.of(number)
        return found if number not in found.terms else Affine(0, {number: 1})

    # What conditions say

    def _around(self, op: Op, beyond: Op | None) -> Iterator[Affine]:
        """Sums that are not negative in the block of an operation."""
        place = self.order.places.get(op)
        for block, _ in reversed(place.path) if place is not None else ():
            if beyond is not None and block in beyond.regions:
                continue
            if block not in self.facts:
                self.facts[block] = list(self._facts(block))
            yield from self.facts[block]

    def _facts(self, block: Block) -> Iterator[Affine]:
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
                edge = Affine(-1, {})
                yield counter.plus(self.of(low), -1).plus(edge if by < 0 else Affine(0, {}))
                yield self.of(high).plus(counter, -1).plus(edge if by > 0 else Affine(0, {}))

    def _said(self, condition: Value, *, holds: bool) -> Iterator[Affine]:
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
            yield Affine(less, {}).plus(self.of(op.inputs[0]), a).plus(self.of(op.inputs[1]), b)
        elif op.kind == ("equal" if holds else "not_equal") and all(self._is_index(v) for v in op.inputs):
            gap = self.of(op.inputs[0]).plus(self.of(op.inputs[1]), -1)
            yield gap
            yield Affine(0, {}).plus(gap, -1)

    def _is_index(self, v: Value) -> bool:
        return isinstance(v.type, Scalar) and v.type.dtype.kind == "i"


def proofs(function: Function) -> Callable[[Op], bool]:
    """Tells of accesses of a function, and of those that it calls, whether their indices are within bounds."""
    homes: dict[Op, Function] = {}
    known: dict[int, Bounds] = {}

    def inside(op: Op) -> bool:
        if not homes:
            homes.update((o, f) for f in callees(function) for o in walk(f.body))
        home = homes[op]
        if id(home) not in known:
            known[id(home)] = Bounds(home)
        return known[id(home)].proves(op)

    return inside


def untested(function: Function) -> Callable[[Op], bool]:
    """Tells of operations that must stay though nobody uses what they read: an index may be out of bounds."""
    found: list[Bounds] = []

    def stays(op: Op) -> bool:
        if not tests_index(op):
            return False
        if op.row.indices_at is None:
            return True
        if not found:
            found.append(Bounds(function))
        proven = found[0].proves(op)
        if proven:
            cannot_fail(op)  # those who rely on it may go on doing so when it is gone
        return not proven

    return stays
