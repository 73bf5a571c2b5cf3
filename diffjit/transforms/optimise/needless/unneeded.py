"""Arrays whose elements nobody needs, and copies that nobody could tell from what they are copies of.

t = reshape(a @ b, (n, m))      t = reshape(empty((a.shape[0], b.shape[1])), (n, m))     (t's elements are not read)

c = a.copy()                    c = a                                (neither is written to, and nobody gets c)

Both come of programs in place whose value is not wanted any more (`unread`): the copy was made because the array would
be overwritten, and of a product its lengths are left, as a reshape of it may raise.
"""

from __future__ import annotations

from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.ir.build import Builder
from diffjit.ir.checks import CHECKS, cannot_fail, inherit
from diffjit.ir.nodes import LABELS, Block, Function, Op, Value, is_pure, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.raising import may_raise
from diffjit.ir.types import INT, Array, Dim, List, Stack, is_ref
from diffjit.ir.walk import blocks, final, walk

OUTSIDE = frozenset({"call", "foreign"})  # what they are given, they may keep


def same_layout(op: Op) -> bool:
    """Whether a copy has the memory order of what it copies, and both are known to be contiguous."""
    given, made = op.inputs[0].type, op.out.type
    if not isinstance(given, Array) or not isinstance(made, Array):
        return False
    return given.layout == made.layout and given.layout in ("C", "F") and op.attrs["order"] in ("K", given.layout)


def escaping(function: Function, memory: Memory) -> set[Any]:
    """The classes of memory that others hold: results, items of lists and tapes, what other functions are given."""
    held = [v for v in function.results if is_ref(v.type)]
    for op in walk(function.body):
        if op.kind in OUTSIDE:
            held += [v for v in (*op.inputs, *op.outputs) if is_ref(v.type)]
    found = {memory.find(v) for v in held}
    if any(isinstance(v.type, (List, Stack)) for v in held):
        found |= memory.shared
    return found


# Contents


def drop_contents(function: Function) -> None:
    """What computes elements that nobody reads makes an array of the same lengths, in place."""
    memory = analyses(function).one_memory
    read = escaping(function, memory) | {memory.find(p) for p in function.params if is_ref(p.type)}
    for op in walk(function.body):
        if op.row.reads is Reads.CONTENTS and not is_view(op) and not op.row.nested:
            read |= {memory.find(v) for k, v in enumerate(op.inputs) if is_ref(v.type) and k not in op.row.writes}
    for block in list(blocks(function.body)):
        for op in list(block.ops):
            if _computes(op) and memory.find(op.out) not in read and (lengths := _lengths(op)) is not None:
                _as_empty(op, block, lengths)


def _computes(op: Op) -> bool:
    """Whether an operation does nothing but compute the elements of a new array."""
    if len(op.outputs) != 1 or op.regions or op.row.makes or op.kind in OUTSIDE or CHECKS in op.attrs:
        return False
    made = op.out.type
    return (
        isinstance(made, Array) and made.layout in ("C", "F") and is_pure(op) and not is_view(op) and not may_raise(op)
    )


def _lengths(op: Op) -> list[tuple[Dim, tuple[Value, int] | None]] | None:
    """Where the lengths of a result can be read; None where one of them is no operand's."""
    assert isinstance(op.out.type, Array)
    known = {d: (v, k) for v in op.inputs if isinstance(v.type, Array) for k, d in enumerate(v.type.dims)}
    found = [(d, None if isinstance(d, int) else known.get(d)) for d in op.out.type.dims]
    return found if all(isinstance(d, int) or at is not None for d, at in found) else None


def _as_empty(op: Op, block: Block, lengths: list[tuple[Dim, tuple[Value, int] | None]]) -> None:
    ahead = Block()
    build = Builder(ahead)
    build.loc = op.loc
    with build.inside(ahead):
        inputs = [build.const(d) if at is None else build.value("dim", [at[0]], INT, axis=at[1]) for d, at in lengths]
    labels = {name: op.attrs[name] for name in LABELS if name in op.attrs}
    op.kind, op.inputs, op.attrs = "empty", inputs, {**labels, "order": op.out.type.layout}
    at = block.ops.index(op)
    block.ops[at:at] = ahead.ops
    for made in ahead.ops:
        made.out.block = block


# Copies


def drop_copies(function: Function) -> None:
    """A copy of an array, neither of which is ever written to, is that array, in place."""
    copies = [op for op in walk(function.body) if op.kind == "copy" and op.inputs[0].type == op.out.type]
    copies = [op for op in copies if same_layout(op)]
    if not copies:
        return
    memory = analyses(function).one_memory
    held = escaping(function, memory)
    mapping: dict[Value, Value] = {}
    for op in copies:
        source = op.inputs[0]
        if memory.written(source) or memory.written(op.out) or memory.find(op.out) in held:
            continue
        mapping[op.out] = source
        if source.op is not None:
            inherit(source.op, op)
        else:  # it was there before
            cannot_fail(op)
    for block in list(blocks(function.body)):
        block.ops = [op for op in block.ops if not op.outputs or op.out not in mapping]
        for op in block.ops:
            op.inputs = [final(v, mapping) for v in op.inputs]
        block.results = [final(v, mapping) for v in block.results]
