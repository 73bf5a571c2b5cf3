"""Recursive functions as they are compiled: no derivative will be taken of them any more."""

from __future__ import annotations

from dataclasses import replace

from diffjit.ir.build import Builder
from diffjit.ir.nodes import LABELS, TURNS, Block, Function, Op
from diffjit.ir.verify import verify
from diffjit.ir.walk import callees, clone, walk
from diffjit.settings import settings
from diffjit.transforms.pipeline import dump
from diffjit.transforms.recursion import halves_of
from diffjit.transforms.recursive.handed import hand_over_lists
from diffjit.transforms.recursive.recorded import Recorded, both, going_back, recording


def settled(function: Function) -> Function:
    """The program for machine code: derivatives record what calls compute, and lists go to calls as they are."""
    if settings.plain or not any(f is not function for f in callees(function)):
        return function
    made = hand_over_lists(record_calls(function))
    if made is not function:
        for f in callees(made):
            verify(f)
        dump("recursive", made)
    return made


def record_calls(function: Function) -> Function:
    """The program whose recursive derivatives record once, or itself where there are none."""
    found = {id(f): parts for f in callees(function) if (parts := halves_of(f)) is not None}
    if not found:
        return function
    known = {id(f): f for f in callees(function)}
    while True:  # what the halves call, may have halves
        parts = [half for each in found.values() for half in (each.record, each.back)]
        more = {id(g): g for half in parts for g in callees(half) if id(g) not in known}
        known |= more
        found |= {key: each for key, g in more.items() if (each := halves_of(g)) is not None}
        if not more:
            break
    return _joined(function, known, found)


def _joined(function: Function, known: dict[int, Function], found: dict[int, Recorded]) -> Function:
    """Copies of functions, of which those with halves are called by way of `both`."""
    copies = {key: clone(f) for key, f in known.items()}
    target = dict(copies)
    ready: dict[int, tuple[Recorded, Function]] = {}
    for key, parts in found.items():
        again = copies[key]
        own = replace(parts, record=copies[id(parts.record)], back=copies[id(parts.back)])
        ready[key] = own, again
        target[key] = target[id(again)] = both(known[key], again, own, len(parts.record.params) - len(parts.stacks))
        again.name += "_again"
    halves = {id(half) for parts in found.values() for half in (parts.record, parts.back)}
    for key, f in copies.items():
        if key not in halves:
            for there, back in _turns(f, found):
                _record_here(f, there, back, *ready[id(back.attrs["function"])])
    for f in copies.values():
        for op in walk(f.body):
            if op.kind == "call":
                callee = op.attrs["function"]
                op.attrs["function"] = target.get(id(callee), callee)
        f.writes = None
    return copies[id(function)]


def _turns(function: Function, found: dict[int, Recorded]) -> list[tuple[Op, Op]]:
    """Calls in the function's own block, each with the one on the way back that belongs to it."""
    there: dict[int, list[Op]] = {}
    back: dict[int, list[Op]] = {}
    for op in walk(function.body):
        if op.kind == "call" and TURNS in op.attrs:
            (back if id(op.attrs["function"]) in found else there).setdefault(op.attrs[TURNS], []).append(op)
    pairs: list[tuple[Op, Op]] = []
    ops = function.body.ops
    for turn, (call, *more) in back.items():
        first, *others = there.get(turn, [call, call])
        if more or others or first not in ops or call not in ops or ops.index(first) > ops.index(call):
            continue
        if first.attrs["function"] is found[id(call.attrs["function"])].original:
            pairs.append((first, call))
    return pairs


def _record_here(function: Function, there: Op, back: Op, parts: Recorded, again: Function) -> None:
    """A call that records, so that its derivative need not call it once more, in place."""
    build = Builder(Block())
    build.loc = there.loc
    stacks, call = recording(build, parts, there.inputs, inside=False)
    call.outputs = there.outputs
    function.body.ops = _replaced(function.body, there, build.block.ops)
    build.block, build.loc = Block(), back.loc
    types = [v.type for v in back.outputs]
    found = going_back(build, parts, again, back.inputs, stacks, types, inside=False)
    if found:
        found[0].op.outputs = back.outputs  # type: ignore[union-attr]
    build.block.ops[0].attrs |= {name: a for name, a in back.attrs.items() if name in LABELS}
    function.body.ops = _replaced(function.body, back, build.block.ops)


def _replaced(block: Block, gone: Op, ops: list[Op]) -> list[Op]:
    """The operations of a block with others in place of one."""
    for op in ops:
        for v in op.outputs:
            v.op, v.block = op, block
    k = block.ops.index(gone)
    return [*block.ops[:k], *ops, *block.ops[k + 1 :]]
