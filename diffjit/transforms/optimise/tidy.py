"""Small clean-ups of a derivative that leave its numbers as they are, but for the order in which cotangents add up.

full(n, 1.0) * u                                   ->    u
u_bar = zeros_like(u); u_bar += g                  ->    u_bar = g, or a copy of it
select(False, a, b)                                ->    b
for j ...: (s = 0.0; for i ...: s += g); k_bar += s  ->    for j ...: for i ...: k_bar += g
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager

from diffjit.ir.nodes import LABELS, SUM, Block, Function, Op, Value, const_of
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import blocks, final, walk
from diffjit.transforms.optimise.changes import Changes

_READERS = frozenset({"accum", "accum_at", "sum", "unbroadcast", "matmul", "assign", "store"})


@contextmanager
def labelled(function: Function) -> Generator[None]:
    """The comments of operations that are removed meanwhile pass to the next ones that stay."""
    before = [(block, list(block.ops)) for block in blocks(function.body)]
    yield
    for block, ops in before:
        kept = set(map(id, block.ops))
        lost: dict[str, str] = {}
        for op in ops:
            if id(op) not in kept:
                lost |= {name: op.attrs[name] for name in LABELS if name in op.attrs}
                continue
            if op.kind == "const":
                continue  # it is printed where it is used
            if "comment" in op.attrs or op.row.control:
                lost.pop("comment", None)
            op.attrs |= lost
            lost = {}


def tidy(function: Function) -> None:
    """Apply the clean-ups, in place."""
    readers: dict[Value, list[Op]] = {}
    for op in walk(function.body):
        for v in op.inputs:
            readers.setdefault(v, []).append(op)
    count = _counted(function)
    mapping: dict[Value, Value] = {}
    changes = Changes(function)
    for op in walk(function.body):
        op.inputs = [final(v, mapping) for v in op.inputs]
        if op.row.by_element:
            _without_full(op, lambda v: _only_read(v, readers, count))
            other = _same(op)
            if other is not None and _only_read(op.out, readers, count) and not changes.after(other, op):
                mapping[op.out] = other
    for block in blocks(function.body):
        block.ops = [op for op in block.ops if not op.outputs or op.out not in mapping]
        for op in block.ops:
            op.inputs = [final(v, mapping) for v in op.inputs]
        block.results = [final(v, mapping) for v in block.results]
    count = _counted(function)
    for block in list(blocks(function.body)):
        _first_contributions(block, count)
        for op in block.ops:
            if op.kind == "for":
                _carry_through(op, count)


def _counted(function: Function) -> Counter[Value]:
    """How many times each value is read."""
    count: Counter[Value] = Counter()
    for block in blocks(function.body):
        for op in block.ops:
            count.update(op.inputs)
        count.update(block.results)
    return count


def _without_full(op: Op, only_read: Callable[[Value], bool]) -> None:
    """An operand that is one number everywhere, as that number."""
    ty = op.out.type
    if not isinstance(ty, Array) or ty.ndim == 0:  # NumPy makes numbers of 0-d results
        return
    for k, v in enumerate(op.inputs):
        if v.op is None or v.op.kind != "full" or v.type != Array(v.type.dtype, ty.dims, v.type.layout):
            continue
        others = [o.type for j, o in enumerate(op.inputs) if j != k and isinstance(o.type, Array)]
        if any(o.dims == ty.dims and o.dtype == v.type.dtype for o in others) and only_read(v):
            op.inputs[k] = v.op.inputs[0]


def _same(op: Op) -> Value | None:
    """The operand that an operation returns as it is."""
    if isinstance(op.out.type, Array) and op.out.type.ndim == 0:
        return None
    if op.kind == "select" and (test := const_of(op.inputs[0])) is not None:
        chosen = op.inputs[1] if test else op.inputs[2]
        return chosen if chosen.type == op.out.type else None
    if op.kind in ("multiply", "power"):
        for one, other in (op.inputs[::-1], op.inputs)[: 1 if op.kind == "power" else 2]:
            if const_of(one) == 1 and other.type == op.out.type:
                return other
    return None


def _only_read(v: Value, readers: dict[Value, list[Op]], count: Counter[Value]) -> bool:
    """Whether nothing keeps, views or changes an array, so that another one may stand for it."""
    if isinstance(v.type, Scalar):
        return True
    found = readers.get(v, [])
    return len(found) == count[v] and all(
        op.row.by_element or (op.kind in _READERS and all(op.inputs[k] is not v for k in op.row.writes)) for op in found
    )


def _first_contributions(block: Block, count: Counter[Value]) -> None:
    """The first addition to a buffer of zeros is an assignment."""
    k = 0
    while k < len(block.ops):
        op = block.ops[k]
        if op.row.fill == "zeros":
            j = next((j for j in range(k + 1, len(block.ops)) if _touches(block.ops[j], op.out)), None)
            if j is not None and _replace_zeros(block, k, j, count):
                continue
        k += 1


def _touches(op: Op, v: Value) -> bool:
    return v in op.inputs or any(
        v in region.results or any(_touches(o, v) for o in region.ops) for region in op.regions
    )


def _replace_zeros(block: Block, k: int, j: int, count: Counter[Value]) -> bool:
    zeros, add = block.ops[k], block.ops[j]
    buffer = zeros.out
    if add.kind != "accum" or add.inputs[0] is not buffer or add.inputs[1] is buffer:
        return False
    g, ty = add.inputs[1], buffer.type
    if (
        not isinstance(g.type, Array)
        or ty.ndim == 0
        or g.type.dims != ty.dims
        or g.type.dtype != ty.dtype
        or ty.layout == "A"
    ):
        return False
    count[buffer] -= 1
    if g.op in block.ops[:j] and g.op.row.by_element and count[g] == 1 and g.type == ty:  # pyright: ignore[reportOptionalMemberAccess]
        made = g.op
        made.outputs = [buffer]  # pyright: ignore[reportOptionalMemberAccess]
        del block.ops[j]
    else:
        made = add  # it keeps its place and its comment
        made.kind, made.inputs, made.outputs = "copy", [g], [buffer]
        made.attrs["order"] = ty.layout
    buffer.op = made
    del block.ops[k]
    return True


def _carry_through(loop: Op, count: Counter[Value]) -> None:
    """A sum of an inner loop that an outer one adds up: the inner loop goes on with the outer one's sum."""
    body = loop.regions[0]
    skip = 1 if loop.attrs.get("exit") else 0
    for k, result in enumerate(body.results[skip:]):
        arg, add = body.args[k + 1], result.op
        if add is None or SUM not in add.attrs or add.inputs[0] is not arg or count[arg] != 1 or count[result] != 1:
            continue
        part = add.inputs[1]
        inner = part.op
        if inner is None or inner.kind != "for" or inner not in body.ops or count[part] != 1 or part.type != arg.type:
            continue
        slot = inner.outputs.index(part)
        init, last = inner.inputs[3 + slot], inner.regions[0].results[slot + (1 if inner.attrs.get("exit") else 0)]
        if const_of(init) != 0 or last.op is None or SUM not in last.op.attrs:
            continue
        inner.inputs[3 + slot] = arg
        body.results[skip + k] = part
        body.ops.remove(add)
        part.name = arg.name
        _carry_through(inner, count)
