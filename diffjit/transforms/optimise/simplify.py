"""Removes joins that join nothing: loop variables that never change, branches that yield the same value.

i // n * n + i % n               ->    i, of Python's ints: a thread's number in its grid, put together again
for i, a in ...: yield a        ->    a is what it was before the loop
if c: yield x  else: yield x    ->    x, also where both yield the same number, or nothing that has a value
if c: raise    else: yield x    ->    if c: raise
                                      x
"""

from __future__ import annotations

from diffjit.analysis.proven import untested
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.types import INT
from diffjit.ir.walk import always_raises, dce
from diffjit.transforms.optimise.cse import operand


def simplify(function: Function) -> Function:
    """Apply until nothing changes, in place."""
    while True:
        mapping: dict[Value, Value] = {}
        _block(function.body, mapping)
        if not mapping:
            break
        _substitute(function.body, mapping)
    dce(function, untested(function))
    return function


def _block(block: Block, mapping: dict[Value, Value]) -> None:
    ops, block.ops = block.ops, []
    for op in ops:
        for region in op.regions:
            _block(region, mapping)
        block.ops.append(op)
        if op.row.loop:
            _loop(op, mapping)
        elif op.kind == "if":
            block.ops[-1:-1] = _branch(op, block, mapping)
            block.ops += _straight(op, block, mapping)
        elif op.kind == "add" and op.out.type == INT and (number := _whole(op)) is not None:
            mapping[op.out] = number
            block.ops.pop()


def _loop(op: Op, mapping: dict[Value, Value]) -> None:
    counted = op.kind == "for"
    body = op.regions[-1]
    first_arg, first_init = (1, 3) if counted else (0, 0)
    skip = 1 if op.attrs.get("exit") else 0
    for k in reversed(range(len(op.outputs))):
        arg, result = body.args[first_arg + k], body.results[skip + k]
        init = op.inputs[first_init + k]
        if result is not arg and result is not init and not _same_literal(init, result):
            continue
        mapping[arg] = init
        mapping[op.outputs[k]] = init
        if not counted:
            mapping[op.regions[0].args[k]] = init
            del op.regions[0].args[k]
        del body.args[first_arg + k], body.results[skip + k], op.inputs[first_init + k], op.outputs[k]


def _branch(op: Op, block: Block, mapping: dict[Value, Value]) -> list[Op]:
    """Remove the results that are the same in both branches; the literals among them, which stand in front."""
    before: list[Op] = []
    inside = {id(r) for r in op.regions}
    for k in reversed(range(len(op.outputs))):
        a, b = (r.results[k] for r in op.regions)
        if a is b and (a.block is None or id(a.block) not in inside):
            mapping[op.outputs[k]] = a
        elif _same_literal(a, b):
            assert a.op is not None
            own = Value(op.outputs[k].type, op.outputs[k].name)
            own.op, own.block = Op(a.op.kind, [], [own], dict(a.op.attrs), loc=a.op.loc), block
            before.append(own.op)
            mapping[op.outputs[k]] = own
        else:
            continue
        for r in op.regions:
            del r.results[k]
        del op.outputs[k]
    return before


def _same_literal(a: Value, b: Value) -> bool:
    """The same number, to the last bit, or variables that hold nothing yet."""
    if a.op is None or b.op is None or not a.op.row.literal or a.op.kind != b.op.kind:
        return False
    return a.op.kind == "undef" or operand(a) == operand(b)  # with their types


def _whole(op: Op) -> Value | None:
    for product, rest in (op.inputs, op.inputs[::-1]):
        if product.op is None or rest.op is None or (product.op.kind, rest.op.kind) != ("multiply", "remainder"):
            continue
        number, size = rest.op.inputs
        for quotient, again in (product.op.inputs, product.op.inputs[::-1]):
            if quotient.op is None or quotient.op.kind != "floor_divide" or not _equal(again, size):
                continue
            if number.type == INT and _equal(quotient.op.inputs[0], number) and _equal(quotient.op.inputs[1], size):
                return number
    return None


def _equal(a: Value, b: Value) -> bool:
    number = const_of(a)
    return a is b or (type(number) is int and number == const_of(b))


def _straight(op: Op, block: Block, mapping: dict[Value, Value]) -> list[Op]:
    """What follows a branch that leaves the program: it stood in the other branch, which is left empty."""
    leaves = list(map(always_raises, op.regions))
    if all(leaves) or not any(leaves):
        return []
    for region in op.regions:
        region.results, ends = [], region.results
        if region is op.regions[leaves.index(False)]:
            mapping.update(zip(op.outputs, ends, strict=True))
    op.outputs = []
    region = op.regions[leaves.index(False)]
    follow, region.ops = region.ops, []
    for inner in follow:
        for out in inner.outputs:
            out.block = block
    return follow


def _substitute(block: Block, mapping: dict[Value, Value]) -> None:
    def final(v: Value) -> Value:
        while v in mapping:
            v = mapping[v]
        return v

    for op in block.ops:
        op.inputs = [final(v) for v in op.inputs]
        for region in op.regions:
            _substitute(region, mapping)
    block.results = [final(v) for v in block.results]
