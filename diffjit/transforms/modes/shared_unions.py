"""Each set of inputs is united once, from what it consists of.

    a = unite(pool, x, y)                    b = unite(pool, x, y)
    b = unite(pool, a, x)         ->         c = unite(pool, b, z)
    c = unite(pool, b, z)
    d = unite(pool, z, b)                    (d is c)

Unions of one block are looked through to what has been read there: what is not read elsewhere needs none of its own.
"""

from __future__ import annotations

from diffjit.ir.nodes import Block, Function, Op, Value, const_of, is_const
from diffjit.ir.types import Scalar
from diffjit.ir.walk import blocks, dce, rename, walk

_MOST = 32  # parts of a set that is looked through


def fewer_unions(function: Function) -> Function:
    """In place: unions of numbers, each of them made once in its block."""
    renamed: dict[Value, Value] = {}
    for block in blocks(function.body):
        _Unions(block, renamed).run()
    rename(function.body, {v: _last(v, renamed) for v in renamed})
    dce(function)
    return function


def _last(v: Value, renamed: dict[Value, Value]) -> Value:
    while v in renamed:
        v = renamed[v]
    return v


class _Unions:
    """The unions of one block."""

    def __init__(self, block: Block, renamed: dict[Value, Value]) -> None:
        self.block, self.renamed = block, renamed
        self.parts: dict[Value, tuple[Value, ...]] = {}  # of what is united here
        self.made: dict[tuple[Value, ...], Value] = {}
        self.numbers: dict[Value, int] = {}  # the order in which parts were met
        self.ops: list[Op] = []

    def run(self) -> None:
        """Write the block's unions again."""
        if not any(map(_unites, self.block.ops)):
            return
        read = self.read()
        for op in self.block.ops:
            if _unites(op):
                self.union(op, wanted=op.out in read)
            else:
                self.ops.append(op)
        self.block.ops = self.ops

    def read(self) -> set[Value]:
        """What is read by anything but a union of this block."""
        found = set(self.block.results)
        for op in self.block.ops:
            if not _unites(op):
                found.update(op.inputs)
            for region in op.regions:
                found.update(region.results)
                for inner in walk(region):
                    found.update(inner.inputs)
                    for deeper in inner.regions:
                        found.update(deeper.results)
        return found

    def union(self, op: Op, *, wanted: bool) -> None:
        """One union: what it consists of, and its operation where somebody reads it."""
        pool, a, b = op.inputs
        parts = dict.fromkeys([*self.parts.get(a, (a,)), *self.parts.get(b, (b,))])
        if len(parts) > 1:
            parts = {v: None for v in parts if not _is_empty(v)} or {a: None}
        if len(parts) > _MOST:
            for v in (a, b):
                if v in self.parts:
                    op.inputs[op.inputs.index(v, 1)] = self.value(pool, self.parts[v], v)
            self.ops.append(op)
            return
        for v in parts:
            self.numbers.setdefault(v, len(self.numbers))
        ordered = tuple(sorted(parts, key=self.numbers.__getitem__))
        self.parts[op.out] = ordered
        if wanted:
            self.renamed[op.out] = self.value(pool, ordered, op.out)

    def value(self, pool: Value, parts: tuple[Value, ...], like: Value) -> Value:
        """The union of parts, made here if it is not there yet: each beginning of a row of parts is made once."""
        found = parts[0]
        for k in range(2, len(parts) + 1):
            known = self.made.get(parts[:k])
            if known is None:
                known = Value(like.type, like.name)
                made = Op("unite", [pool, found, parts[k - 1]], [known])
                known.op, known.block = made, self.block
                self.ops.append(made)
                self.made[parts[:k]] = known
            found = known
        return found


def _is_empty(v: Value) -> bool:
    return is_const(v) and const_of(v) == 0


def _unites(op: Op) -> bool:
    return op.kind == "unite" and isinstance(op.out.type, Scalar)
