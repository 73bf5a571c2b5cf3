"""A copy of an array that nobody uses any more is the array itself.

a = empty(n)                    a = empty(n)
...                             ...
b = a.copy()             ->     b = a
b[0] = 1.0                      b[0] = 1.0

A pullback copies what it overwrites, as it may be called again. Where it is part of the program it runs once. Such
copies are marked (attribute `spent`), and looked at when no derivative will be taken any more: it might want both.
"""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.ir.checks import cannot_fail, inherit
from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.types import Array
from diffjit.ir.walk import walk


def adopt(function: Function) -> None:
    """Apply it to the function's own block, in place."""
    body = function.body
    copies = [op for op in body.ops if op.kind == "copy" and op.attrs.get("spent") and _same_layout(op)]
    if not copies:
        return
    memory = analyses(function).one_memory
    mapping: dict[Value, Value] = {}
    last: dict[object, int] = {memory.find(v): len(body.ops) for v in (*function.params, *function.results)}
    for k, op in enumerate(body.ops):
        for v in _read(op):
            if isinstance(v.type, Array):
                last[memory.find(v)] = max(last.get(memory.find(v), k), k)
    for k, op in enumerate(body.ops):
        v = op.inputs[0] if op in copies else None
        if v is None or not isinstance(v.type, Array) or memory.is_shared(v) or last[memory.find(v)] != k:
            continue
        if all(map(_is_whole, memory.members[memory.find(v)])):
            mapping[op.out] = v
            if v.op is not None:
                inherit(v.op, op)
            else:  # it was there before
                cannot_fail(op)
    if not mapping:
        return
    body.ops = [op for op in body.ops if not op.outputs or op.out not in mapping]
    for op in walk(body):
        op.inputs = [_final(v, mapping) for v in op.inputs]
        for region in op.regions:
            region.results = [_final(v, mapping) for v in region.results]
    body.results = [_final(v, mapping) for v in body.results]


def _same_layout(op: Op) -> bool:
    given, made = op.inputs[0].type, op.out.type
    if not isinstance(given, Array) or not isinstance(made, Array):
        return False
    return given.layout == made.layout and given.layout in ("C", "F") and op.attrs["order"] in ("K", given.layout)


def _is_whole(v: Value) -> bool:
    """Whether a reference is an array that nobody else may hold."""
    return isinstance(v.type, Array) and (v.op is None or not (v.op.row.gives or v.op.kind == "broadcast_to"))


def _read(op: Op) -> list[Value]:
    """What an operation and those inside it read."""
    found = list(op.inputs)
    for region in op.regions:
        found += region.results
        for o in region.ops:
            found += _read(o)
    return found


def _final(v: Value, mapping: dict[Value, Value]) -> Value:
    while v in mapping:
        v = mapping[v]
    return v
