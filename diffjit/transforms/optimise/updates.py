"""Cotangents of elements that are updated in place, and of elements that a loop adds to again and again.

u_bar_i = u_bar[i]                      u_bar_i = u_bar[i]
u_bar[i] = 0.0                    ->    v_bar += k * u_bar_i
v_bar += k * u_bar_i
u_bar[i] += u_bar_i

for j ...:                              total = 0.0
    A_bar[i, k] += A_bar[i, j] * A[k, j]    for j ...:
                                  ->        total += A_bar[i, j] * A[k, j]
                                        if the loop ran: A_bar[i, k] += total

The first is what `u[i] = u[i] + k * v` leads to. Only the order in which cotangents add up changes.
"""

from __future__ import annotations

from diffjit.analysis.integers.dependence import Dependence, access
from diffjit.analysis.manager import analyses
from diffjit.ir.build import Builder
from diffjit.ir.checks import inherit
from diffjit.ir.nodes import CHECKS, LABELS, SUM, Block, Function, Op, Value, const_of, is_const, is_view, written
from diffjit.ir.ops import Reads
from diffjit.ir.raising import may_raise, relies
from diffjit.ir.roots import Roots
from diffjit.ir.types import BOOL, Scalar, is_ref
from diffjit.ir.walk import blocks, walk


def in_place(function: Function) -> None:
    """Apply both, in place."""
    if not any(op.row.adds and op.kind != "scatter_add" for op in walk(function.body)):
        return
    roots = analyses(function).roots
    for block in list(blocks(function.body)):
        _cancel(block, roots)
    dependence = analyses(function).dependence
    for block in list(blocks(function.body)):
        for op in list(block.ops):
            if op.kind == "for" and not any(o.regions for o in op.regions[0].ops):
                _collect(op, block, roots, dependence)


# Taking a cotangent out and putting it back ---------------------------------------------------------------------------


def _cancel(block: Block, roots: Roots) -> None:
    k = 0
    while k < len(block.ops):
        op = block.ops[k]
        taken = _taken(block, k) if op.kind in _TAKES and const_of(op.inputs[1]) == 0 else None
        back = _put_back(block, k, op, taken, roots) if taken is not None else None
        if back is None:
            k += 1
        else:
            assert taken is not None
            assert taken.op is not None
            for gone in (op, back):
                inherit(taken.op, gone)
            block.ops.remove(back)
            del block.ops[k]


_TAKES = {"store": ("load", "accum_at"), "assign": ("copy", "accum")}  # how it was read before, and is added to later


def _taken(block: Block, k: int) -> Value | None:
    """The element (or array) that was read right before zero was stored in its place."""
    store = block.ops[k]
    target, index = store.inputs[0], store.inputs[2:]
    for op in reversed(block.ops[:k]):
        if op.kind == _TAKES[store.kind][0] and op.inputs[0] is target and _same_place(op.inputs[1:], index):
            return op.out
        if op.kind != "const":
            return None
    return None


def _put_back(block: Block, k: int, store: Op, taken: Value, roots: Roots) -> Op | None:
    """The addition of what was taken, if nothing reads the memory in between, and nothing changes what was taken."""
    target, index, adds = store.inputs[0], store.inputs[2:], _TAKES[store.kind][1]
    behind = block.ops[k + 1 :]
    if not any(op.kind == adds and op.inputs[1] is taken for op in behind):  # soon told, even of a long program
        return None
    for op in behind:
        if op.kind == adds and op.inputs[:2] == [target, taken] and _same_place(op.inputs[2:], index):
            return op
        if not (_only_adds(op, target, roots) or _beside(op, target, index)) or _changes(op, taken, roots):
            return None
    return None


def _changes(op: Op, array: Value, roots: Roots) -> bool:
    """Whether an operation may write to an array: a checkpointed loop's way back works in the copy that it is given."""
    if not is_ref(array.type):
        return False
    for o in (op, *(o for r in op.regions for o in walk(r))):
        anywhere = o.row.keeps is not None or o.kind == "call"
        places = range(len(o.inputs)) if anywhere else written(o)
        if any(is_ref(o.inputs[k].type) and roots.may_alias(o.inputs[k], array) for k in places):
            return True
    return False


def _same_place(a: list[Value], b: list[Value]) -> bool:
    """Whether indices are the same values or the same constants."""
    return len(a) == len(b) and all(
        x is y or (_constant(x) is not None and _constant(x) == _constant(y)) for x, y in zip(a, b, strict=True)
    )


def _beside(op: Op, target: Value, index: list[Value]) -> bool:
    """Whether an operation touches another element of the same array, by its constant indices."""
    first = {"load": 1, "store": 2}.get(op.kind)
    if first is None or op.inputs[0] is not target or len(op.inputs) - first != len(index):
        return False
    pairs = zip(map(_constant, op.inputs[first:]), map(_constant, index), strict=True)
    return any(x is not None and y is not None and x != y and min(x, y) >= 0 for x, y in pairs)


def _constant(v: Value) -> int | None:
    return v.op.attrs["value"] if v.op is not None and v.op.kind == "const" else None


def _only_adds(op: Op, target: Value, roots: Roots) -> bool:
    """Whether an operation leaves the memory alone, but for adding to it."""
    if op.kind == "call":
        return False
    if op.regions:
        return not any(_touches(o, target, roots) for r in op.regions for o in walk(r))
    if op.row.adds and op.kind != "scatter_add":
        return not any(is_ref(v.type) and roots.may_alias(v, target) for v in op.inputs[1:])
    return is_view(op) or op.row.reads is Reads.LENGTHS or not _touches(op, target, roots)


def _touches(op: Op, target: Value, roots: Roots) -> bool:
    return any(is_ref(v.type) and roots.may_alias(v, target) for v in op.inputs)


# Adding up in a register ----------------------------------------------------------------------------------------------


def _collect(loop: Op, block: Block, roots: Roots, dependence: Dependence) -> None:
    """Move additions to one and the same element out of an innermost loop."""
    body = loop.regions[0]
    inside = {v for op in body.ops for v in op.outputs} | set(body.args)
    for op in list(body.ops):
        if op.kind != "accum_at" or not isinstance(op.inputs[1].type, Scalar) or op.inputs[1] not in inside:
            continue
        if any(v in inside for v in (op.inputs[0], *op.inputs[2:])):
            continue
        if may_raise(op) and any(o is not op and _is_effect(o) for o in body.ops):
            continue  # it would raise after what it raises before, or after writes that nobody sees then
        if all(o is op or _apart(o, op, loop, roots, dependence) for o in body.ops):
            _move_out(loop, op, block)


def _is_effect(op: Op) -> bool:
    """Whether it matters what runs first, an operation or one that raises."""
    return may_raise(op) or relies(op) or bool(op.row.writes) or op.row.effect or op.row.control


def _apart(other: Op, add: Op, loop: Op, roots: Roots, dependence: Dependence) -> bool:
    """Whether an operation of the loop never touches the element."""
    target = add.inputs[0]
    if not _touches(other, target, roots) or is_view(other):
        return not (is_view(other) and _touches(other, target, roots))
    if other.kind not in ("load", "store", "accum_at"):
        return False
    mine = access(add, target, add.inputs[2:])
    theirs = access(other, other.inputs[0], other.inputs[1 if other.kind == "load" else 2 :])
    if other.kind == "accum_at" and theirs.root is mine.root and theirs.indices == mine.indices:
        return True  # another addition to the same element
    return dependence.apart_within(mine, theirs, loop)


_SAME_PLACE = ("inbounds", CHECKS)


def _move_out(loop: Op, add: Op, block: Block) -> None:
    body = loop.regions[0]
    target, value, *index = add.inputs
    ty = Scalar(target.type.dtype)
    build = Builder()
    before, total = Block(), Value(ty, f"{target.name}_sum" if target.name else None)
    with build.inside(before):
        zero = build.const(0.0, ty)
    scratch = Block()
    with build.inside(scratch):
        more = build.value("add", [total, value], ty, name=total.name)
        assert more.op is not None
        more.op.attrs[SUM] = True
    at = body.ops.index(add)
    body.ops[at : at + 1] = scratch.ops
    for label in LABELS:
        if label in add.attrs:
            scratch.ops[0].attrs[label] = add.attrs[label]
    total.block = body
    more.block = body
    body.args.append(total)
    body.results.append(more)
    loop.inputs.append(zero)
    final = Value(ty, total.name)
    final.op, final.block = loop, block
    loop.outputs.append(final)
    after = Block()
    with build.inside(after):
        ran = build.value("less", _ends(build, loop), BOOL)
        inner = Block()
        with build.inside(inner):
            build.op("accum_at", [target, final, *index], **{k: v for k, v in add.attrs.items() if k in _SAME_PLACE})
        build.op("if", [ran], [], regions=[inner, Block()])
    k = block.ops.index(loop)
    block.ops[k : k + 1] = [*before.ops, loop, *after.ops]
    for op in (*before.ops, *after.ops):
        for out in op.outputs:
            out.block = block


def _ends(build: Builder, loop: Op) -> list[Value]:
    """Two numbers of which the first is smaller if the loop ran."""
    start, stop, step = loop.inputs[:3]
    if is_const(step):
        return [start, stop] if const_of(step) > 0 else [stop, start]
    return [build.const(0), build.value("trip", [start, stop, step], start.type)]
