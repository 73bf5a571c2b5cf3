"""Products of rows or columns that a counter picks are read from one product of the matrices.

                                               P = X.T @ X
for i in range(m):                             for i in range(m):
    c[i, i:] = X[:, i] @ X[:, i:]     ->           c[i, i:] = P[i, i:]

One product of matrices reads each element a few times from memory, and a product for each turn as often as there are
turns; the cotangents of all turns become one product as well. Half of P may be computed in vain, not more: slices end
or begin where the matrix does. It takes no more memory than an array that is there: a matrix of its lengths that the
loop writes to, or the factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, const_of, without_labels
from diffjit.ir.raising import inner_lengths_agree
from diffjit.ir.types import Array, Dim, is_ref, permuted_layout
from diffjit.ir.walk import blocks, walk

_SMALL = 8  # a length known to be at most this is no reason for a product of matrices


def join_turns(function: Function) -> bool:
    """Apply it to all loops, the innermost first, in place; whether there was anything to join."""
    changed = False
    loops = [(b, op) for b in blocks(function.body) for op in b.ops if op.kind == "for"]
    counters = {loop.regions[0].args[0]: loop for _, loop in loops}
    for block, loop in reversed(loops):
        if not _multiplies(loop):  # asking what is known of a function goes through all of it
            continue
        while (found := _Turns(analyses(function).one_memory, loop, counters).found()) is not None:
            found.apply(block, loop)
            changed = True
    return changed


def _multiplies(loop: Op) -> bool:
    return any(op.kind == "matmul" for op in loop.regions[0].ops)


@dataclass(frozen=True, slots=True)
class _Factor:
    """An operand of a product: a part of a matrix (or all of a vector) that does not change in the loop."""

    base: Value
    shared: int  # the axis that is summed over
    picked: bool = False  # the other axis is picked by the counter
    items: tuple[Any, ...] = ()  # else the slice along it, as in a view's spec
    numbers: tuple[Value, ...] = ()

    @property
    def other(self) -> Dim | None:
        """The length of the other axis of the matrix."""
        return self.base.type.dims[1 - self.shared] if self.base.type.ndim == 2 else None


@dataclass(frozen=True, slots=True)
class _Found:
    """A product of one turn that is part of a product over all of them."""

    product: Op
    rows: _Factor  # one row for each turn
    others: _Factor

    def apply(self, block: Block, loop: Op) -> None:
        """Compute the product of the matrices in front of the loop, and read a row of it in each turn."""
        op = self.product
        ahead, within, inner = Block(), Block(), set(walk(loop.regions[0]))
        build = Builder(ahead)
        build.loc = op.loc
        dims = [d for d in (self.rows.other, self.others.other) if d is not None]
        with build.inside(ahead):
            left, right = (_turned(build, f, axis, inner) for axis, f in ((1, self.rows), (0, self.others)))
            whole = build.value("matmul", [left, right], Array(op.out.type.dtype, tuple(dims), "C"), name=op.out.name)
        counter = loop.regions[0].args[0]
        if len(dims) == 1:
            op.kind, op.inputs, op.attrs = "load", [whole, counter], {}
        else:
            spec = ("i", *(self.others.items or (":",)))
            with build.inside(within):
                ty = Array(op.out.type.dtype, op.out.type.dims, "C")
                row = build.value("view", [whole, counter, *self.others.numbers], ty, spec=spec)
            op.kind, op.inputs, op.attrs = "copy", [row], {"order": "C"}
        _put(ahead, block, loop)
        _put(within, loop.regions[0], op)


def _turned(build: Builder, factor: _Factor, axis: int, inner: set[Op]) -> Value:
    """The matrix of a factor with the axis that is summed over in this place."""
    base = _ahead(build, factor.base, inner)
    if base.type.ndim == 1 or factor.shared == axis:
        return base
    assert isinstance(base.type, Array)
    made = Array(base.type.dtype, base.type.dims[::-1], permuted_layout(base.type, (1, 0)))
    return build.value("transpose", [base], made, perm=(1, 0))


def _ahead(build: Builder, v: Value, inner: set[Op]) -> Value:
    """An array in front of the loop: as it is there, or its view made again."""
    op = v.op
    if op is None or op not in inner:
        return v
    inputs = [_ahead(build, i, inner) for i in op.inputs]
    return build.value(op.kind, inputs, v.type, name=v.name, **without_labels(op.attrs))


def _put(made: Block, home: Block, before: Op) -> None:
    """Move what was made into a block, in front of an operation."""
    at = home.ops.index(before)
    home.ops[at:at] = made.ops
    for op in made.ops:
        for out in op.outputs:
            out.block = home


class _Turns:
    """What can be joined of one loop."""

    def __init__(self, memory: Memory, loop: Op, around: dict[Value, Op]) -> None:
        self.memory, self.loop, self.around = memory, loop, around
        self.body = loop.regions[0]
        self.counter = self.body.args[0]
        self.inner = list(walk(self.body))
        inside = set(self.inner)
        self.written = {cls for cls, writes in memory.writes.items() if not inside.isdisjoint(writes)}

    def found(self) -> _Found | None:
        """The first product that can be joined."""
        if not _counts_up(self.loop) or self.loop.attrs.get("exit"):  # which may be left in the first turn
            return None
        for op in self.body.ops:
            if op.kind == "matmul" and inner_lengths_agree(op) and (found := self.split(op)) is not None:
                return found
        return None

    def split(self, op: Op) -> _Found | None:
        """A product as one of rows that the counter picks with something that is the same in all turns."""
        a, b = (self.factor(v, shared) for v, shared in zip(op.inputs, _summed(op), strict=True))
        if a is None or b is None or a.picked == b.picked or not self.pays(op, a, b):
            return None
        rows, others = (a, b) if a.picked else (b, a)
        return _Found(op, rows, others) if self.covers(rows) and self.fits(rows, others) else None

    def factor(self, v: Value, shared: int) -> _Factor | None:
        """What an operand is a part of."""
        if (base := self.again(v)) is not None:
            whole = v.type.ndim == 2 and v.type.dims[1 - shared]
            return None if v.type.ndim > 2 or whole == 1 else _Factor(base, shared)
        op = v.op
        if op is None:
            return None
        if op.kind == "transpose" and v.type.ndim == 2:
            return self.factor(op.inputs[0], 1 - shared)
        if op.kind != "view" or op.inputs[0].type.ndim != 2 or (base := self.again(op.inputs[0])) is None:
            return None
        numbers = op.inputs[1:]
        spec: tuple[Any, ...] = op.attrs["spec"]
        if "n" in spec:
            return None
        if v.type.ndim == 1:
            axis = spec.index("i")
            plain = spec[1 - axis : 2 - axis] in ((":",), ())
            return _Factor(base, 1 - axis, picked=True) if plain and numbers == [self.counter] else None
        items = spec[1 - shared : 2 - shared]
        if spec[shared : shared + 1] not in ((":",), ()) or not self.wide(items, numbers, base.type.dims[1 - shared]):
            return None
        return _Factor(base, shared, items=items, numbers=tuple(numbers))

    def again(self, v: Value) -> Value | None:
        """An array that is the same in all turns: itself, or a view that `apply` makes in front of the loop."""
        if self.same(v):
            return v
        op = v.op
        if op is None or op.kind not in ("transpose", "view") or self.again(op.inputs[0]) is None:
            return None
        if op.kind == "view":
            spec: tuple[Any, ...] = op.attrs["spec"]
            if len(op.inputs) != 2 or not set(spec) <= {"i", ":"}:
                return None
            if not self.within(op.inputs[1], op.inputs[0].type.dims[spec.index("i")]):
                return None
        return v

    def within(self, number: Value, length: Dim) -> bool:
        """Whether an index is the counter of a loop around this one, and never out of bounds."""
        around = None if self.memory.order.inside(number, self.loop) else self.around.get(number)
        return around is not None and _counts_up(around) and _to_the_end(around.inputs[1], length)

    def same(self, v: Value) -> bool:
        """Whether an array is the same in all turns."""
        if not isinstance(v.type, Array) or self.memory.order.inside(v, self.loop):
            return False
        return not is_ref(v.type) or self.memory.find(v) not in self.written

    def wide(self, items: tuple[Any, ...], numbers: list[Value], length: Dim) -> bool:
        """Whether a slice goes up to the counter or from there on, or is everything."""
        if items in ((), (":",)):
            return True
        _, start, stop, step = items[0]
        given = iter(numbers)
        first = next(given) if start else None
        last = next(given) if stop else None
        if step:
            return False
        begins = first is None or const_of(first) == 0
        ends = last is None or _number(last) == length
        return (begins or (first is not None and self.counts(first))) and (
            ends or (begins and last is not None and self.counts(last))
        )

    def counts(self, v: Value) -> bool:
        """Whether a number is the counter, or a constant more or less."""
        if v is self.counter:
            return True
        op = v.op
        return op is not None and op.kind in ("add", "subtract") and op.inputs[0] is self.counter and _is_near(op)

    def pays(self, op: Op, a: _Factor, b: _Factor) -> bool:
        """Whether a product of matrices has enough to do."""
        known = (a.base.type.dims[a.shared], a.other, b.other)
        short = any(isinstance(d, int) and d <= _SMALL for d in known)
        return not short and op.out.type.dtype.kind in "fc" and a.base.type.dtype == b.base.type.dtype

    def covers(self, rows: _Factor) -> bool:
        """Whether the turns go over all that can be picked, but for a few."""
        return rows.other is not None and _to_the_end(self.loop.inputs[1], rows.other)

    def fits(self, rows: _Factor, others: _Factor) -> bool:
        """Whether the joined product takes no more memory than something that is there anyway."""
        if others.other is None:
            return True
        lengths = {rows.other, others.other}
        return any(set(ty.dims) == lengths and ty.ndim == 2 for ty in self.matrices(rows, others))

    def matrices(self, rows: _Factor, others: _Factor) -> Iterator[Array]:
        """The types of the factors, and of what the loop writes to."""
        for cls in self.written:
            for v in self.memory.members.get(cls, ()):
                if isinstance(v.type, Array) and not self.memory.order.inside(v, self.loop):
                    yield v.type
        for factor in (rows, others):
            if isinstance(factor.base.type, Array):
                yield factor.base.type


def _counts_up(loop: Op) -> bool:
    """Whether a loop goes up in steps of 1, from 0 or later."""
    start, _, step = (const_of(v) for v in loop.inputs[:3])
    return step == 1 and start is not None and start >= 0 and not loop.attrs.get("reverse")


def _to_the_end(stop: Value, length: Dim) -> bool:
    """Whether what stops a loop is a length, or a few less."""
    op = stop.op
    if op is not None and op.kind == "subtract" and _is_near(op):
        stop = op.inputs[0]
    return _number(stop) == length


def _is_near(op: Op) -> bool:
    """Whether a small constant is added or subtracted."""
    return (by := const_of(op.inputs[1])) is not None and 0 <= by <= _SMALL


def _summed(op: Op) -> tuple[int, int]:
    """The axes that a product sums over."""
    a, b = (v.type for v in op.inputs)
    return a.ndim - 1, max(0, b.ndim - 2)


def _number(v: Value) -> Dim | None:
    """A constant, or a length as its type knows it."""
    if v.op is None or v.op.kind != "dim":
        return const_of(v)
    axis: int = v.op.attrs["axis"]
    return v.op.inputs[0].type.dims[axis]
