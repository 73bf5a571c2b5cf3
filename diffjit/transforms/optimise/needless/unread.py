"""Memory that nobody reads afterwards: writes to it, and copies of it.

C = C0.copy()                   C = C0.copy()
D = C * beta                    D = C * beta
C[:] = alpha * A @ B + D  ->    return C_bar, A_bar, B_bar

So ends a program in place whose derivative is wanted, and not its value. What may raise stays, and so does what others
rely on.

And a copy of an array that nobody uses any more is the array itself:

a = empty(n)                    a = empty(n)
...                             ...
b = a.copy()             ->     b = a
b[0] = 1.0                      b[0] = 1.0

A pullback copies what it overwrites, as it may be called again. Where it is part of the program it runs once. Such
copies are marked (attribute `spent`), and looked at when no derivative will be taken any more: it might want both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.ir.build import Builder
from diffjit.ir.checks import CHECKS, cannot_fail, inherit
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.raising import may_raise
from diffjit.ir.types import INT, Array, Dim, List, Stack, is_ref
from diffjit.ir.walk import blocks, final, uses, walk
from diffjit.transforms.lengths import named_lengths
from diffjit.transforms.optimise.needless.unneeded import OUTSIDE, escaping, same_layout


def lengths_of_arguments(function: Function) -> None:
    """Lengths that arguments have are read there: no array is made for them, in place."""
    known = named_lengths(function.params)
    users = uses(function)
    for block in list(blocks(function.body)):
        for k, op in reversed(list(enumerate(block.ops))):
            array = op.inputs[0].type if op.kind == "dim" else None
            if isinstance(array, Array) and array.dims[op.attrs["axis"]] in known:
                source, op.attrs["axis"] = known[array.dims[op.attrs["axis"]]]
                op.inputs = [source]
            elif op.kind == "zeros_like" and _made_for_lengths(op, users, known):
                block.ops[k:k] = _by_lengths(op, block, known)


def _made_for_lengths(op: Op, users: Mapping[Value, Sequence[Op | Block]], known: Mapping[Dim, Any]) -> bool:
    """Whether an array is computed for its lengths alone, which others have as well."""
    like = op.inputs[0]
    if like.op is None or like.op.row.makes or is_view(like.op) or not isinstance(like.type, Array):
        return False
    asked = all(isinstance(user, Op) and user.row.reads is Reads.LENGTHS for user in users[like])
    return asked and like.type.layout in ("C", "F") and all(isinstance(d, int) or d in known for d in like.type.dims)


def _by_lengths(op: Op, block: Block, known: Mapping[Dim, tuple[Value, int]]) -> list[Op]:
    """Make an array by its lengths, in place of another one; the operations that read them."""
    like = op.inputs[0].type
    assert isinstance(like, Array)
    ahead = Block()
    build = Builder(ahead)
    build.loc = op.loc
    with build.inside(ahead):
        found = [(d, known.get(d)) for d in like.dims]
        op.inputs = [build.const(d) if at is None else build.value("dim", [at[0]], INT, axis=at[1]) for d, at in found]
    op.kind, op.attrs = "zeros", {**op.attrs, "order": like.layout}
    for made in ahead.ops:
        made.out.block = block
    return ahead.ops


def drop_unread(function: Function) -> None:
    """Apply it to all blocks, in place."""
    writers = [op for op in walk(function.body) if _removable(op)]
    if not writers:
        return
    memory = analyses(function).one_memory
    given = [v for v in function.params if is_ref(v.type)]
    seen = escaping(function, memory) | {memory.find(v) for v in given}
    if any(isinstance(v.type, (List, Stack)) for v in given):
        seen |= memory.shared
    if any(memory.find(op.inputs[0]) not in seen for op in writers):
        _block(function.body, memory, seen)


def _block(block: Block, memory: Memory, seen: set[Any]) -> None:
    """From the end to the beginning; `seen`: the classes of memory that are read after what is looked at."""
    kept: list[Op] = []
    for op in reversed(block.ops):
        if _removable(op) and memory.find(op.inputs[0]) not in seen:
            continue
        if op.row.loop:  # what an iteration reads, one before it may have written
            for inner in (o for region in op.regions for o in walk(region)):
                seen |= _read(inner, memory)
        before = [set(seen) for _ in op.regions]
        for region, after in zip(op.regions, before, strict=True):
            _block(region, memory, after)
        seen |= _read(op, memory).union(*before)
        kept.append(op)
    block.ops = kept[::-1]


def _removable(op: Op) -> bool:
    """Whether an operation does nothing but write to an array."""
    row = op.row
    plain = row.writes == (0,) and not op.outputs and not op.regions and op.kind not in OUTSIDE
    return plain and isinstance(op.inputs[0].type, Array) and CHECKS not in op.attrs and not may_raise(op)


def _read(op: Op, memory: Memory) -> set[Any]:
    """The classes of memory whose contents an operation reads, apart from what it writes to."""
    if op.row.reads is not Reads.CONTENTS or is_view(op) or op.row.nested:
        return set()
    return {memory.find(v) for k, v in enumerate(op.inputs) if is_ref(v.type) and k not in op.row.writes}


# Copies


def adopt(function: Function) -> None:
    """Apply it to the function's own block, in place."""
    body = function.body
    copies = [op for op in body.ops if op.kind == "copy" and op.attrs.get("spent") and same_layout(op)]
    if not copies:
        return
    memory = analyses(function).one_memory
    mapping: dict[Value, Value] = {}
    last: dict[object, int] = {memory.find(v): len(body.ops) for v in (*function.params, *function.results)}
    for k, op in enumerate(body.ops):
        for v in _operands(op):
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
        op.inputs = [final(v, mapping) for v in op.inputs]
        for region in op.regions:
            region.results = [final(v, mapping) for v in region.results]
    body.results = [final(v, mapping) for v in body.results]


def _is_whole(v: Value) -> bool:
    """Whether a reference is an array that nobody else may hold."""
    return isinstance(v.type, Array) and (v.op is None or not (v.op.row.gives or v.op.kind == "broadcast_to"))


def _operands(op: Op) -> list[Value]:
    """What an operation and those inside it read."""
    found = list(op.inputs)
    for region in op.regions:
        found += region.results
        for o in region.ops:
            found += _operands(o)
    return found
