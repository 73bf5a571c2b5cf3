"""Split code: a forward function that returns residuals, and a pullback that may be called many times.

The joint program is cut where the reverse sweep begins; what crosses the cut are the residuals. The pullback changes
none of them: it works on copies of stacks, and residuals that callers could change (arguments, results) are copied
once, in the forward function.
"""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Loc, Op, Value, const_of, is_const
from diffjit.ir.types import Array, Scalar, Stack
from diffjit.ir.walk import blocks, rename, walk
from diffjit.transforms.pipeline import finish
from diffjit.transforms.prepare import clone
from diffjit.transforms.reverse.reverse import Reverse


@dataclass(slots=True, eq=False)
class Split:
    """Forward function (primal results, then residuals), pullback (residuals, then seeds -> gradients)."""

    forward: Function
    pullback: Function
    n_primal: int
    seeds: list[int]  # which of the primal results have a seed
    gradients: list[int | None]  # for each input: position among the pullback's results


def split(function: Function, wrt: list[int], results: list[int]) -> Split | None:  # noqa: PLR0915 - one cut, read downwards
    """Cut the derivative in two; None where memory shadows made on the way there would be used up by one call."""
    engine = Reverse(function, wrt, results, undoing=False)
    r = engine.run()
    if engine.shadows.made or engine.shadows.of:
        return None
    f = r.function
    head, tail = f.body.ops[: r.boundary], f.body.ops[r.boundary :]
    gradients = [g for g in r.gradients if g is not None]
    made = {v for op in tail for o in [op, *_inner(op)] for v in o.outputs}
    made |= {a for op in tail for region in op.regions for b in blocks(region) for a in b.args}
    made |= set(r.seeds)
    crossing: dict[Value, None] = {}
    for op in tail:
        for o in [op, *_inner(op)]:
            crossing.update(dict.fromkeys(v for v in o.inputs if v not in made))
        for region in op.regions:
            for b in blocks(region):
                crossing.update(dict.fromkeys(v for v in b.results if v not in made))
    crossing.update(dict.fromkeys(g for g in gradients if g not in made))
    mapping: dict[Value, Value] = {}
    constants: list[Op] = []
    residuals: list[Value] = []
    copies: list[Op] = []
    memory = analyses(f).one_memory
    exposed = {memory.find(v) for v in (*f.params, *r.primal) if not isinstance(v.type, Scalar)}
    held = {memory.element(v) for v in crossing if isinstance(v.type, Stack) and not isinstance(v.type.elem, Scalar)}
    body = Block()
    for v in crossing:
        if is_const(v):
            again = Value(v.type, v.name)
            op = Op("const", [], [again], {"value": const_of(v)})
            again.op, again.block = op, body
            constants.append(op)
            mapping[v] = again
            continue
        inside = Value(v.type, v.name)
        mapping[v] = inside
        residuals.append(v)
    params = [mapping[v] for v in residuals]
    for v in residuals:
        if isinstance(v.type, Stack):
            own = Value(v.type, v.name)
            op = Op("stack_copy", [mapping[v]], [own], loc=Loc(f.source_file, f.source_line, 0, 0, f.name))
            own.op, own.block = op, body
            constants.append(op)
            mapping[v] = own
    outs: list[Value] = []
    for v in residuals:
        if isinstance(v.type, Array) and memory.find(v) in exposed:
            own = Value(Array(v.type.dtype, v.type.dims, v.type.layout), v.name)
            op = Op("copy", [v], [own], {"order": "K"})
            own.op, own.block = op, f.body
            copies.append(op)
            outs.append(own)
        else:
            outs.append(v)
    # What a stack holds by reference must not be the caller's: arguments are copied on entry, results on the way out.
    entry: dict[Value, Value] = {}
    entries: list[Op] = []
    for p in f.params:
        if isinstance(p.type, Array) and memory.find(p) in held:
            entry[p] = _copied(p, entries, f.body)
    primal = [
        _copied(v, copies, f.body) if isinstance(v.type, Array) and memory.find(v) in held else v for v in r.primal
    ]
    whole = Block([], [*head, *copies], [*primal, *outs])
    rename(whole, entry)
    whole.ops[:0] = entries
    body.ops = [*constants, *tail]
    rename(body, mapping)
    body.results = [mapping.get(g, g) for g in gradients]
    pullback = Function(
        f"{function.name}_pullback", [*params, *r.seeds], body, "", f.source_file, f.source_line, f.lines
    )
    seeds = list(r.seeds)
    forward = Function(
        f"{function.name}_forward",
        [p for p in f.params if p not in seeds],
        whole,
        "",
        f.source_file,
        f.source_line,
        f.lines,
    )
    positions: list[int | None] = []
    count = 0
    for g in r.gradients:
        positions.append(None if g is None else count)
        count += g is not None
    n = len(r.primal)
    seeded = [k for k in results if _float(r.primal[k])]
    forward = clone(forward)
    pullback = clone(pullback)
    return Split(finish(forward, "split_forward"), finish(pullback, "pullback"), n, seeded, positions)


def _copied(v: Value, ops: list[Op], block: Block) -> Value:
    own = Value(Array(v.type.dtype, v.type.dims, v.type.layout), v.name)
    op = Op("copy", [v], [own], {"order": "K"})
    own.op, own.block = op, block
    ops.append(op)
    return own


def _float(v: Value) -> bool:
    from diffjit.ir.types import is_float

    return is_float(v.type)


def _inner(op: Op) -> list[Op]:
    return [o for region in op.regions for o in walk(region)]
