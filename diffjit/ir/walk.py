"""Walks over programs: all operations, uses of values, copies of programs, and removal of what nobody uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter, is_

from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.raising import UNUSED, raises_in_python, tests_index

_OPS, _REGIONS = attrgetter("ops"), attrgetter("regions")


def walk(block: Block) -> Iterator[Op]:
    """All operations in program order, each before those in its regions.

    Without recursion: each operation would come through as many generators as there are branches around it.
    """
    todo: list[Iterator[Op]] = [iter(block.ops)]
    while todo:
        for op in todo[-1]:
            yield op
            if op.regions:
                todo.append(chain.from_iterable(map(_OPS, op.regions)))
                break
        else:
            todo.pop()


def blocks(block: Block) -> Iterator[Block]:
    """The block and all blocks inside it, outermost first."""
    todo: list[Iterator[Block]] = [iter((block,))]
    while todo:
        inner = next(todo[-1], None)
        if inner is None:
            todo.pop()
        else:
            yield inner
            todo.append(chain.from_iterable(map(_REGIONS, inner.ops)))


def free_values(block: Block, known: Iterable[Value] = ()) -> dict[Value, None]:
    """The values that a block reads, but neither it makes nor are known, in the order in which they are met."""
    defined = {*known, *block.args}
    for op in walk(block):
        defined.update(op.outputs)
        for region in op.regions:
            defined.update(region.args)
    free: dict[Value, None] = {}
    for op in walk(block):
        free.update(dict.fromkeys(v for v in op.inputs if v not in defined))
        for region in op.regions:
            free.update(dict.fromkeys(v for v in region.results if v not in defined))
    free.update(dict.fromkeys(v for v in block.results if v not in defined))
    return free


def rename(block: Block, mapping: Mapping[Value, Value]) -> None:
    """In place: other values in a block."""
    for inner in blocks(block):
        for op in inner.ops:
            op.inputs = [mapping.get(v, v) for v in op.inputs]
        inner.results = [mapping.get(v, v) for v in inner.results]


def uses(function: Function) -> dict[Value, list[Op | Block]]:
    """Who reads each value: operations, and blocks that have it among their results; once per occurrence."""
    found: dict[Value, list[Op | Block]] = defaultdict(list)
    for block in blocks(function.body):
        for op in block.ops:
            for v in op.inputs:
                found[v].append(op)
        for v in block.results:
            found[v].append(block)
    return found


def callees(function: Function) -> list[Function]:
    """`function` and all functions that it calls, directly or not; callees first where they can be."""
    ordered: list[Function] = []
    seen: set[int] = set()

    def visit(f: Function) -> None:
        if id(f) in seen:
            return
        seen.add(id(f))
        for op in walk(f.body):
            if op.kind == "call":
                visit(op.attrs["function"])
        ordered.append(f)

    visit(function)
    return ordered


def walk_called(function: Function) -> Iterator[Op]:
    """The operations of a function, and of all functions that it calls."""
    return (op for f in callees(function) for op in walk(f.body))


def final(v: Value, mapping: dict[Value, Value]) -> Value:
    """What stands for a value in the end, where each of some values is replaced by another one."""
    while v in mapping:
        v = mapping[v]
    return v


def clone_value(v: Value, mapping: dict[Value, Value], op: Op | None, block: Block | None) -> Value:
    """A new value like `v`, defined by `op` in `block`; recorded in `mapping`."""
    copy = mapping[v] = Value(v.type, v.name)
    copy.op, copy.block = op, block
    return copy


def clone_block(block: Block, mapping: dict[Value, Value]) -> Block:
    """A copy of a block; values found in `mapping` are replaced, new ones are added to it, outer ones stay."""
    copy = Block()
    copy.args = [clone_value(a, mapping, None, copy) for a in block.args]
    for op in block.ops:
        clone_op(op, mapping, copy)
    copy.results = [mapping.get(v, v) for v in block.results]
    return copy


def clone_op(op: Op, mapping: dict[Value, Value], into: Block) -> Op:
    """A copy of an operation appended to the block `into`; `mapping` as in `clone_block`."""
    copy = Op(op.kind, [mapping.get(v, v) for v in op.inputs], [], dict(op.attrs), [], op.loc)
    copy.regions = [clone_block(r, mapping) for r in op.regions]
    copy.outputs = [clone_value(v, mapping, copy, into) for v in op.outputs]
    into.ops.append(copy)
    return copy


def clone(function: Function, mapping: dict[Value, Value] | None = None) -> Function:
    """A copy that shares only types, places and called functions (not itself, if recursive) with the original."""
    mapping = {} if mapping is None else mapping
    params = [clone_value(p, mapping, None, None) for p in function.params]
    body = clone_block(function.body, mapping)
    for p in params:
        p.block = body
    copy = Function(
        function.name, params, body, function.doc, function.source_file, function.source_line, dict(function.lines)
    )
    for op in walk(body):
        if op.kind == "call" and op.attrs["function"] is function:
            op.attrs["function"] = copy
    return copy


# ------------------------------------------------------------------------------------------------ dead code


def carried(op: Op, k: int) -> tuple[list[Value], Value]:
    """The block arguments and the body's result that belong to the k-th carried value of a loop."""
    if op.kind == "for":
        body = op.regions[0]
        return [body.args[k + 1]], body.results[k + has_exit(op)]
    cond, body = op.regions
    return [cond.args[k], body.args[k]], body.results[k + has_exit(op)]


def has_exit(op: Op) -> int:
    """1 where the body of a loop begins its results with `leave`, else 0."""
    return int(len(op.regions[-1].results) > len(op.outputs))


def initial(op: Op) -> list[Value]:
    """The values that enter a loop's carried values."""
    return op.inputs[3:] if op.kind == "for" else op.inputs


class _Liveness:
    """Marks the values that matter, starting from effects and the function's results."""

    def __init__(self, function: Function) -> None:
        self.live: set[Value] = set()
        self.pending: list[Value] = list(function.body.results)
        self.feeds: dict[Value, list[Value]] = {}  # argument or output -> what it is made of
        self.kept: set[int] = set()  # ids of operations that stay
        self.owner: dict[Value, Op] = {}
        self.parent: dict[int, Op] = {}  # id of an operation -> the control operation around it
        self._scan(function.body, None)
        self._spread()

    def keep(self, op: Op) -> None:
        """Keep an operation, and all that it needs."""
        self._keep(op)
        self._spread()

    def _spread(self) -> None:
        while self.pending:
            self._mark(self.pending.pop())

    def _scan(self, block: Block, outer: Op | None) -> None:
        for op in block.ops:
            if outer is not None:
                self.parent[id(op)] = outer
            for v in op.outputs:
                self.owner[v] = op
            if op.row.loop:
                self._scan_loop(op)
            elif op.kind == "if":
                for k, v in enumerate(op.outputs):
                    self.feeds[v] = [r.results[k] for r in op.regions]
            for region in op.regions:
                self._scan(region, op)
            effects = op.row.writes or op.row.effect or op.kind in ("call", "while")
            if effects and not op.attrs.get("repeats"):
                self._keep(op)

    def _scan_loop(self, op: Op) -> None:
        for k, (v, init) in enumerate(zip(op.outputs, initial(op), strict=True)):
            args, following = carried(op, k)
            self.feeds[v] = [*args, init, following]
            for a in args:
                self.feeds[a] = [init, following]
                self.owner[a] = op
        if op.kind == "for":
            self.owner[op.regions[0].args[0]] = op

    def _keep(self, op: Op) -> None:
        if id(op) in self.kept:
            return
        self.kept.add(id(op))
        if op.kind == "for":
            self.pending += op.inputs[:3]
        elif op.kind == "while":
            self.pending += op.regions[0].results
        else:
            self.pending += op.inputs
        if op.row.loop and has_exit(op):
            self.pending.append(op.regions[-1].results[0])
        outer = self.parent.get(id(op))
        if outer is not None:
            self._keep(outer)

    def _mark(self, v: Value) -> None:
        if v in self.live:
            return
        self.live.add(v)
        self.pending += self.feeds.get(v, ())
        op = self.owner.get(v)
        if op is not None:
            self._keep(op)


def always_raises(block: Block) -> bool:
    """Whether a block ends by an exception, whichever way it goes: the program is left there."""
    return any(op.kind == "raise" or (op.kind == "if" and all(map(always_raises, op.regions))) for op in block.ops)


def dce(function: Function, stays: Callable[[Op], bool] = tests_index) -> None:
    """Remove what contributes to no result and no effect, in place: operations, joins, carried values, whole loops.

    A `while` always stays (it might not end), and so does what `stays` tells of: an access by an index that may be out
    of bounds, as Python would raise, and as later accesses may go without a test because of it.
    """
    liveness = _Liveness(function)
    for op in walk(function.body):
        if id(op) not in liveness.kept and stays(op):
            liveness.keep(op)
    _sweep(function.body, liveness)


def unused_but_raising(op: Op) -> bool:
    """For `dce` of the user's program: what raises in Python raises, needed or not."""
    if op.regions or op.kind in ("call", "undef", "const") or not raises_in_python(op):
        return False
    op.attrs[UNUSED] = True
    return True


def nothing(op: Op) -> bool:
    """For `dce` of what has run before, or is a part of something else: no unused operation stays."""
    return False


def _sweep(block: Block, liveness: _Liveness) -> None:
    kept: list[Op] = []
    for op in block.ops:
        if id(op) not in liveness.kept:
            continue
        _drop_outputs(op, liveness.live)
        for region in op.regions:
            _sweep(region, liveness)
        kept.append(op)
    block.ops = kept


def _drop_outputs(op: Op, live: set[Value]) -> None:
    if not op.row.nested:
        return
    if op.kind == "if":
        dead = [k for k, v in enumerate(op.outputs) if v not in live]
        for region in op.regions:
            _drop(region.results, dead)
    else:
        # The arguments and the output of a carried value live or die together.
        dead = [k for k, v in enumerate(op.outputs) if v not in live and not any(a in live for a in carried(op, k)[0])]
        shift = has_exit(op)
        _drop(op.regions[-1].results, [k + shift for k in dead])
        first = 1 if op.kind == "for" else 0
        for region in op.regions:
            _drop(region.args, [k + first for k in dead])
        _drop(op.inputs, [k + (3 if op.kind == "for" else 0) for k in dead])
    _drop(op.outputs, dead)


def _drop(items: list[Value], positions: list[int]) -> None:
    for k in reversed(positions):
        del items[k]


def looked_at(function: Function) -> list[object]:
    """All that a program is made of: of two that are the same one after the other, nothing has changed."""
    seen: list[object] = list(function.params)
    _look(function.body, seen)
    return seen


def _look(block: Block, seen: list[object]) -> None:
    seen.append(block)
    for v in block.args:
        seen += (v, v.type, v.block, v.op)
    for op in block.ops:
        seen += (op, op.kind)
        seen += op.inputs
        seen += op.attrs
        seen += op.attrs.values()
        for v in op.outputs:
            seen += (v, v.type, v.block, v.op)
        for region in op.regions:
            _look(region, seen)
    seen += block.results


def same(before: list[object], now: list[object]) -> bool:
    """Whether two programs, as `looked_at`, are one."""
    return len(before) == len(now) and all(map(is_, before, now))
