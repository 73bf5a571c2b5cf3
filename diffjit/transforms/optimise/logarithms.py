"""Before a derivative: logarithms of c + exp(v) get their slope by v, and not by a product that is 0 * inf.

    e = np.exp(v)               e = np.exp(v)
    y = np.log(1.0 + e)   ->    y = rerouted(np.log(1.0 + e), v, 0.0)

The value is the same, also where exp overflows. Its derivative by v is e / (1 + e), which the chain rule takes apart
into 1 / (1 + e) and e: 0 and inf, and their product NaN, from v = 710 on. `rerouted` is a row of the table: its partial
is a function of v that is 1 there, smooth to every order (`primitives.transcendental`). The identity holds for all v;
where memory is written in between, nothing is changed.

Quotients c / (d + exp(v)), as the logistic function, go to 0 where exp overflows, and so does what comes back to the
exponential: it is marked, so that this 0 stays 0. So is what a choice of elements is made among, from exponentials on:

    np.where(v > 500, v, v * np.exp(v))      the product's and the exponential's cotangents are 0 where v > 500
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from diffjit.analysis.memory import Memory
from diffjit.ir.nodes import OVERFLOWS, Block, Function, Op, Value, const_of, is_view
from diffjit.ir.types import FLOAT, Array, Scalar
from diffjit.primitives.registry import ELEMENTWISE


def reroute(function: Function, memory: Memory) -> None:
    """Insert `rerouted` behind the logarithms that it is for, and mark exponentials below fractions."""
    _mark(function.body, set(), set())
    logarithms = list(_logarithms(function.body))
    found = {op: (exponential, shift) for op, exponential, shift in logarithms if _holds(op, exponential, memory)}
    if found:
        _insert(function.body, found, {})


def _mark(block: Block, reached: set[Op], overflowing: set[Op]) -> None:
    """Mark exponentials in denominators, and what is computed from them where elements are chosen."""
    for op in block.ops:
        for region in op.regions:
            _mark(region, reached, overflowing)
        below = op.inputs[1].op if op.kind == "divide" else None
        if below is not None and below.kind in ("add", "subtract"):
            for v in below.inputs:
                if v.op is not None and v.op.kind in ("exp", "exp2", "expm1"):
                    v.op.attrs[OVERFLOWS] = True
        for v in _chosen_among(op):
            _mark_from(v.op, reached, overflowing)


def _chosen_among(op: Op) -> list[Value]:
    """The operands that an operation takes elements of: the partials by the others are 0 there."""
    if op.kind in ("where", "select"):
        return op.inputs[1:]
    row = ELEMENTWISE.get(op.kind)
    partials = () if row is None else row.partials
    return op.inputs if partials and all(p is not None and p.startswith("where(") for p in partials) else []


def _mark_from(start: Op | None, reached: set[Op], overflowing: set[Op]) -> None:
    """Mark what numbers are computed by, element by element, from exponentials on."""
    todo: list[tuple[Op | None, bool]] = [(start, False)]
    while todo:
        op, behind = todo.pop()
        if op is None or not (op.kind in ELEMENTWISE or op.kind == "cast" or is_view(op)):
            continue
        row = ELEMENTWISE.get(op.kind)
        if behind:
            if (row is not None and row.overflows) or any(v.op in overflowing for v in op.inputs):
                overflowing.add(op)
                if row is not None:
                    op.attrs[OVERFLOWS] = True
        elif op not in reached:
            reached.add(op)
            todo.append((op, True))
            todo += [(v.op, False) for v in op.inputs]


def _logarithms(block: Block) -> Iterator[tuple[Op, Op, float]]:
    """Logarithms of c + exp(v), with the exponential and log(c)."""
    routed = {op.inputs[0] for op in block.ops if op.kind == "rerouted"}
    for op in block.ops:
        for region in op.regions:
            yield from _logarithms(region)
        if op.kind in ("log", "log1p") and op.out not in routed:
            exponential, constant = _parts(op)
            if exponential is not None and 0.0 < constant < math.inf:
                yield op, exponential, math.log(constant)


def _parts(op: Op) -> tuple[Op | None, float]:
    """The exponential and the constant whose sum an operation is the logarithm of."""
    inner = op.inputs[0].op
    if op.kind == "log1p":
        return (inner, 1.0) if inner is not None and inner.kind == "exp" else (None, 0.0)
    if inner is None or inner.kind != "add":
        return None, 0.0
    for a, b in (inner.inputs, inner.inputs[::-1]):
        constant = const_of(a)
        if isinstance(constant, (int, float)) and b.op is not None and b.op.kind == "exp":
            return b.op, float(constant)
    return None, 0.0


def _holds(op: Op, exponential: Op, memory: Memory) -> bool:
    """Whether the logarithm still is that of the exponential, of real numbers of one type."""
    ty, v = op.out.type, exponential.inputs[0]
    if not isinstance(ty, (Scalar, Array)) or not isinstance(v.type, (Scalar, Array)) or ty.dtype.kind != "f":
        return False
    if isinstance(ty, Array) != isinstance(v.type, Array) or ty.dtype != v.type.dtype:
        return False
    return not any(isinstance(x.type, Array) and memory.written(x) for x in (v, exponential.out, op.inputs[0]))


def _insert(block: Block, found: dict[Op, tuple[Op, float]], mapping: dict[Value, Value]) -> None:
    ops: list[Op] = []
    for op in block.ops:
        op.inputs = [mapping.get(v, v) for v in op.inputs]
        for region in op.regions:
            _insert(region, found, mapping)
        ops.append(op)
        if op in found:
            exponential, shift = found[op]
            constant, out = Value(FLOAT), Value(op.out.type, op.out.name)
            constant.op = Op("const", [], [constant], {"value": shift}, loc=op.loc)
            op.out.name = None  # the name is that of the whole
            v = exponential.inputs[0]
            out.op = Op("rerouted", [op.out, mapping.get(v, v), constant], [out], loc=op.loc)
            for made in (constant, out):
                made.block = block
            ops += [constant.op, out.op]
            mapping[op.out] = out
    block.ops = ops
    block.results = [mapping.get(v, v) for v in block.results]
