"""Gives a value to variables that hold nothing yet where something will be recorded or copied from them.

for ...:                          last = np.empty(x.size)
    tape.append(last)      ->     for ...:
    last = f(x)                       tape.append(last)
                                      last = f(x)

Arrays whose types share the symbol of a length have one length, whoever reads it of whichever of them: a dummy has the
length that its type says, where an array that is there already has it, and else none, like all dummies of that length.

A tape that only one branch fills needs no dummy: it is made before the branches, so that it stays one tape whoever
reads it.
"""

from __future__ import annotations

from collections.abc import Iterable

from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import INT, Array, Dim, List, Scalar, Stack, Sym
from diffjit.ir.walk import blocks, rename, walk

Lengths = dict[Sym, tuple[Value, int]]  # an array, and its axis, that has a length

_RECORDING = frozenset(
    {"copy", "store", "zeros_like", "empty_like", "dim", "cast", "load", "view"}
    | {"accum", "assign"}  # zeros are added to the shadow of a variable that holds nothing
)


def define_dummies(function: Function) -> None:
    """Replace `undef` by a dummy where its value may be recorded, in place."""
    undefined = [op for op in walk(function.body) if op.kind == "undef"]
    if not undefined:
        return
    sources = joined_from(function.body)
    touched: set[Value] = set()
    todo = [v for op in walk(function.body) if op.kind in _RECORDING or op.row.keeps is not None for v in op.inputs]
    todo += function.body.results
    while todo:
        v = todo.pop()
        if v in touched:
            continue
        touched.add(v)
        todo += sources.get(v, ())
    _make_tapes_before(function, touched)
    empty = _still_empty([op.out for op in undefined if op.out not in touched], sources)
    _define_in(function.body, touched, empty, _lengths_of(function.params, {}))


def _make_tapes_before(function: Function, touched: set[Value]) -> None:
    """Tapes that leave the one branch that makes them are made before it."""
    renamed: dict[Value, Value] = {}
    for block in reversed(list(blocks(function.body))):  # inner ones first
        for op in [o for o in block.ops if o.kind == "if"]:
            for k in reversed(range(len(op.outputs))):
                if isinstance(op.outputs[k].type, Stack) and op.outputs[k] in touched:
                    _make_before(op, k, block, renamed)
    rename(function.body, renamed)


def _make_before(branches: Op, k: int, block: Block, renamed: dict[Value, Value]) -> None:
    results = [renamed.get(r.results[k], r.results[k]) for r in branches.regions]
    kinds = [None if v.op is None else v.op.kind for v in results]
    if sorted(map(str, kinds)) != ["stack_new", "undef"]:
        return
    tape = results[kinds.index("stack_new")]
    home = branches.regions[kinds.index("stack_new")]
    if tape.op not in home.ops:
        return
    home.ops.remove(tape.op)
    block.ops.insert(block.ops.index(branches), tape.op)
    tape.block = block
    renamed[branches.outputs.pop(k)] = tape
    for region in branches.regions:
        del region.results[k]


def _still_empty(undefined: list[Value], sources: dict[Value, list[Value]]) -> set[Value]:
    """What may hold nothing afterwards, so that it has no length to be read."""
    into: dict[Value, list[Value]] = {}
    for v, found in sources.items():
        for source in found:
            into.setdefault(source, []).append(v)
    empty: set[Value] = set()
    todo = list(undefined)
    while todo:
        v = todo.pop()
        if v not in empty:
            empty.add(v)
            todo += into.get(v, ())
    return empty


def joined_from(block: Block) -> dict[Value, list[Value]]:
    """Where joined values come from."""
    found: dict[Value, list[Value]] = {}
    for op in walk(block):
        if op.kind == "if":
            for k, out in enumerate(op.outputs):
                found.setdefault(out, []).extend(r.results[k] for r in op.regions)
        elif op.row.loop:
            counted = op.kind == "for"
            body = op.regions[-1]
            args = body.args[1:] if counted else body.args
            init = op.inputs[3:] if counted else op.inputs
            results = body.results[1:] if op.attrs.get("exit") else body.results
            for i, a, r, o in zip(init, args, results, op.outputs, strict=True):
                found.setdefault(a, []).extend((i, r))
                found.setdefault(o, []).extend((i, r))
    return found


def _define_in(block: Block, touched: set[Value], empty: set[Value], known: Lengths) -> None:
    """Define the dummies of a block; `known`: arrays whose lengths are there to be read before it."""
    known = _lengths_of((a for a in block.args if a not in empty), dict(known))
    for op in list(block.ops):
        for region in op.regions:
            _define_in(region, touched, empty, known)
        if op.kind == "undef":
            if op.out in touched:
                _define(op, block, known)
        else:
            _lengths_of((v for v in op.outputs if v not in empty), known)


def _lengths_of(values: Iterable[Value], known: Lengths) -> Lengths:
    for v in values:
        for axis, d in enumerate(v.type.dims if isinstance(v.type, Array) else ()):
            if not isinstance(d, int):
                known.setdefault(d, (v, axis))
    return known


def _define(op: Op, block: Block, known: Lengths) -> None:
    ty = op.out.type
    if isinstance(ty, Scalar):
        zero: object = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}[ty.dtype.kind]
        op.kind = "const"
        op.attrs = {"value": zero if ty.weak else ty.dtype.type(zero)}
    elif isinstance(ty, Array):
        build = Builder(Block())
        lengths = [_length(build, d, known) for d in ty.dims]
        there = tuple(d if isinstance(d, int) or d in known else 0 for d in ty.dims)
        op.out.type = Array(ty.dtype, there, ty.layout)
        for v in lengths:
            v.block = block
        position = block.ops.index(op)
        block.ops[position:position] = build.block.ops
        op.kind, op.inputs, op.attrs = "empty", lengths, {"order": "C"}
    elif isinstance(ty, List):
        op.kind = "list_new"
    else:
        op.kind = "stack_new"


def _length(build: Builder, d: Dim, known: Lengths) -> Value:
    if isinstance(d, int):
        return build.const(d, INT)
    if d not in known:
        return build.const(0, INT)
    array, axis = known[d]
    return build.value("dim", [array], INT, axis=axis)
