"""Gives a value to variables that hold nothing yet where something will be recorded or copied from them.

for ...:                          last = np.empty(0)
tape.append(last)      ->     for ...:
last = f()                        tape.append(last)
last = f()
"""

from __future__ import annotations

import numpy as np

from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import Array, List, Scalar
from diffjit.ir.walk import walk

_RECORDING = frozenset(
    {"push", "copy", "store", "list_append", "zeros_like", "empty_like", "dim", "cast", "load", "view"}
)


def define_dummies(function: Function) -> None:
    """Replace `undef` by a dummy where its value may be recorded, in place."""
    undefined = [op for op in walk(function.body) if op.kind == "undef"]
    if not undefined:
        return
    sources = _sources(function.body)
    touched: set[Value] = set()
    todo = [v for op in walk(function.body) if op.kind in _RECORDING for v in op.inputs]
    todo += function.body.results
    while todo:
        v = todo.pop()
        if v in touched:
            continue
        touched.add(v)
        todo += sources.get(v, ())
    for block in _blocks(function.body):
        for op in list(block.ops):
            if op.kind == "undef" and op.out in touched:
                _define(op, block)


def _sources(block: Block) -> dict[Value, list[Value]]:
    """Where joined values come from."""
    found: dict[Value, list[Value]] = {}
    for op in walk(block):
        if op.kind == "if":
            for k, out in enumerate(op.outputs):
                found.setdefault(out, []).extend(r.results[k] for r in op.regions)
        elif op.kind in ("for", "while"):
            counted = op.kind == "for"
            body = op.regions[-1]
            args = body.args[1:] if counted else body.args
            init = op.inputs[3:] if counted else op.inputs
            results = body.results[1:] if op.attrs.get("exit") else body.results
            for i, a, r, o in zip(init, args, results, op.outputs, strict=True):
                found.setdefault(a, []).extend((i, r))
                found.setdefault(o, []).extend((i, r))
    return found


def _blocks(block: Block) -> list[Block]:
    out = [block]
    for op in block.ops:
        for region in op.regions:
            out += _blocks(region)
    return out


def _define(op: Op, block: Block) -> None:
    ty = op.out.type
    if isinstance(ty, Scalar):
        zero: object = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}[ty.dtype.kind]
        op.kind = "const"
        op.attrs = {"value": zero if ty.weak else ty.dtype.type(zero)}
    elif isinstance(ty, Array):
        zeros: list[Op] = []
        known = tuple(d if isinstance(d, int) else 0 for d in ty.dims)  # loops rely on lengths that are known
        op.out.type = Array(ty.dtype, known, ty.layout)
        for n in known:
            length = Value(Scalar(_INT, weak=True))
            made = Op("const", [], [length], {"value": n})
            length.op, length.block = made, block
            zeros.append(made)
        position = block.ops.index(op)
        block.ops[position:position] = zeros
        op.kind, op.inputs, op.attrs = "empty", [z.out for z in zeros], {"order": "C"}
    elif isinstance(ty, List):
        op.kind = "list_new"
    else:
        op.kind = "stack_new"


_INT = np.dtype(np.int64)
