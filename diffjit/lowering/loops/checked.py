"""`settings.checked`: what the optimisation relies on is tested as compiled code runs.

    u.inside[i + 1]                 the index is compared with the length; so with `u.wraps[i]`
    t = i + 1 (cannot overflow)     by the arithmetic that tells
    a, b of one length by types     lengths are compared where arrays are made (`promise_lengths`)
    x and y never overlap           addresses are compared where a function begins (`lowering.llvm.emission`)
    memory that is used again       is filled with NaN first, as all fresh memory is (`lowering.calls.guards`)

A promise that is not kept is `BrokenPromise`, an error of diffjit's own, with the user's line and who promised.
"""

from __future__ import annotations

from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.types import INT, Array, Dim, Sym

PROMISE = "promise"
declare(Row(PROMISE, "m n", "two lengths are equal (made while lowering)", raises=Raises.ALWAYS))


def promised_to_fit(text: str) -> str:
    """The text of arithmetic that would be an error, as that of a broken promise."""
    for name in ("add", "subtract", "multiply"):
        text = text.replace(f"{name}_exact(", f"{name}_promised(")
    return text


def promise_lengths(function: Function) -> None:
    """Insert tests that arrays have the lengths that their types tell, in place."""
    known: dict[Sym, tuple[Value, int]] = {}
    tests: list[Op] = []
    for p in function.params:
        tests += _tests(p, known, function.body, None)
    _block(function.body, known)
    function.body.ops[:0] = tests


def _block(block: Block, known: dict[Sym, tuple[Value, int]]) -> None:
    made: list[Op] = []
    for op in block.ops:
        for region in op.regions:
            _block(region, dict(known))
        made.append(op)
        if op.row.control or op.kind == "undef":  # one of the ways may have no value
            continue
        if is_view(op):  # a test would keep it from being printed where it is used
            continue
        for v in op.outputs:
            made += _tests(v, known, block, op)
    block.ops = made


def _tests(v: Value, known: dict[Sym, tuple[Value, int]], block: Block, op: Op | None) -> list[Op]:
    """Tests of the lengths of one array."""
    if not isinstance(v.type, Array):
        return []
    build = Builder(Block())
    build.loc = op.loc if op is not None else None
    for axis, d in enumerate(v.type.dims):
        if isinstance(d, Sym) and d not in known:
            known[d] = v, axis
            continue
        build.op(PROMISE, [build.value("dim", [v], INT, axis=axis), _length(build, d, known)])
    for o in build.block.ops:
        for out in o.outputs:
            out.block = block
    return build.block.ops


def _length(build: Builder, d: Dim, known: dict[Sym, tuple[Value, int]]) -> Value:
    if isinstance(d, Sym):
        array, axis = known[d]
        return build.value("dim", [array], INT, axis=axis)
    return build.const(d, INT)
