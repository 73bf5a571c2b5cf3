"""Loops that only add multiples of cotangents, of which all but few are zero, are left out where they are.

    for k in reversed(range(m)):                        for k in reversed(range(m)):
        if chosen[k]:                                       ...
            distance_bar, best_bar = best_bar, 0.0          if distance_bar != 0.0:
        else:                                                   for j in reversed(range(d)):
            distance_bar = 0.0                ->                    gap = x[j] - c[k, j]
        for j in reversed(range(d)):                                c_bar[k, j] += -distance_bar * (2.0 * gap)
            gap = x[j] - c[k, j]
            c_bar[k, j] += -distance_bar * (2.0 * gap)

So it is behind a minimum, a maximum, a rectifier: one branch gives the cotangent on, and the others give zero. All that
the loop adds is a sum of products with numbers that such a branch has made (cotangents and, in derivatives of
derivatives, their tangents); if all of these are zero, nothing is added. A cotangent of zero times something not
finite counts as zero, as everywhere (`zmul`); numbers of the program itself are multiplied as it says (`BARS`).

A derivative of the test would be wrong, so the pass runs when none will be taken any more.
"""

from __future__ import annotations

from diffjit.ir.build import Builder
from diffjit.ir.nodes import BARS, CHECKS, Block, Function, Op, Value, const_of, is_const
from diffjit.ir.raising import may_raise
from diffjit.ir.types import BOOL, Scalar, is_float
from diffjit.ir.walk import walk

FEW = 4  # iterations that are not worth a test

Factors = frozenset[Value]


def skip_zeros(function: Function) -> None:
    """Apply it to all blocks, in place."""
    _block(function.body)


def _block(block: Block) -> None:
    ops: list[Op] = []
    for op in block.ops:
        found = _Loop(op).factors() if op.kind == "for" else None
        if found:
            ops += _tested(op, sorted(found, key=lambda v: v.id), block)
            continue
        for region in op.regions:
            _block(region)
        ops.append(op)
    block.ops = ops


def _tested(loop: Op, factors: list[Value], block: Block) -> list[Op]:
    """The loop where one of its factors is not zero."""
    build = Builder(Block())
    build.loc = loop.loc
    wanted: Value | None = None
    for v in factors:
        other = build.value("not_equal", [v, build.const(0.0, v.type)], BOOL)
        wanted = other if wanted is None else build.value("logical_or", [wanted, other], BOOL)
    assert wanted is not None
    outputs = [Value(v.type, v.name) for v in loop.outputs]
    inside, outside = Block([], [loop], outputs), Block([], [], list(loop.inputs[3:]))
    choice = build.op("if", [wanted], regions=[inside, outside])
    choice.outputs, loop.outputs = loop.outputs, outputs
    for v in loop.outputs:
        v.op, v.block = loop, inside
    for op in build.block.ops:
        for v in op.outputs:
            v.op, v.block = op, block
    return build.block.ops


class _Loop:
    """A loop that may do nothing but add products to memory and to what it carries."""

    def __init__(self, loop: Op) -> None:
        self.loop = loop
        self.inside = {v for op in walk(loop.regions[0]) for v in op.outputs} if loop.regions else set[Value]()
        self.known: dict[Value, Factors | None] = {}

    def factors(self) -> Factors | None:
        """The numbers of which one must not be zero if the loop is to do anything; None where there are no such."""
        if self.loop.attrs.get("exit") or _short(self.loop) or CHECKS in self.loop.attrs:
            return None
        body = self.loop.regions[0]
        total = self.block(body)
        for arg, result in zip(body.args[1:], body.results, strict=True):
            if result is arg:
                continue
            made = result.op
            if made is None or made.kind != "add" or arg not in made.inputs or result not in self.inside:
                return None
            added = self.product(made.inputs[1] if made.inputs[0] is arg else made.inputs[0])
            total = None if total is None or added is None else total | added
        return total

    def block(self, block: Block) -> Factors | None:
        """Of what a block adds to memory; None if it does anything else that may be seen."""
        total: Factors = frozenset()
        for op in block.ops:
            found = self.op(op)
            if found is None:
                return None
            total |= found
        return total

    def op(self, op: Op) -> Factors | None:
        """Of what an operation adds to memory."""
        if CHECKS in op.attrs or op.kind == "call":
            return None
        if op.kind == "accum_at":
            return self.product(op.inputs[1]) if not may_raise(op) and isinstance(op.inputs[1].type, Scalar) else None
        if op.kind == "for" and not op.outputs and not op.attrs.get("exit") and const_of(op.inputs[2]):
            return self.block(op.regions[0])
        if op.kind == "if" and not op.outputs:
            found = [self.block(region) for region in op.regions]
            return None if None in found else frozenset[Value]().union(*(f for f in found if f is not None))
        plain = not (op.row.writes or op.row.effect or op.row.control or op.regions)
        return frozenset() if plain and not may_raise(op) else None

    def product(self, v: Value) -> Factors | None:
        """Numbers that make a number zero if all of them are; None where no such are known."""
        if v not in self.known:
            self.known[v] = None  # of what depends on itself
            self.known[v] = self._product(v)
        return self.known[v]

    def _product(self, v: Value) -> Factors | None:
        op = v.op
        if op is None or not is_float(v.type) or not isinstance(v.type, Scalar):
            return None
        if is_const(v):
            return frozenset() if const_of(v) == 0 else None
        match op.kind:
            case "if" if BARS in op.attrs and v not in self.inside and _gives_zero(op, v):
                return frozenset({v})
            case "multiply" | "zmul":
                found = [f for f in map(self.product, op.inputs) if f is not None]
                return min(found, key=len, default=None)
            case "negative" | "cast":
                return self.product(op.inputs[0])
            case "add" | "subtract":
                a, b = map(self.product, op.inputs)
                return None if a is None or b is None else a | b
            case _:
                return None


def _gives_zero(op: Op, v: Value) -> bool:
    """Whether one of the branches gives zero for a value."""
    k = op.outputs.index(v)
    return any(const_of(region.results[k]) == 0 for region in op.regions if is_const(region.results[k]))


def _short(loop: Op) -> bool:
    """Whether a loop is known to make few iterations."""
    start, stop, step = map(const_of, loop.inputs[:3])
    if not step:
        return True
    return start is not None and stop is not None and len(range(start, stop, step)) < FEW
