"""Products of every lane with one matrix become one product: the loop over the lanes is split around it.

for lane in range(n):                          U = empty((n, k))
    u = tanh(X[lane])                          for lane in range(n):
    v = u @ W                         ->           U[lane] = tanh(X[lane])
    out[lane] = v / sum(v)                     V = U @ W
                                               for lane in range(n):
                                                   v = V[lane]
                                                   out[lane] = v / sum(v)

(Loop distribution: Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 2001, section 5.) What the
second loop needs of the first is made again where that costs nothing, else kept for each lane. A loop is split only
where nobody can tell: no memory passes from one lane to another, errors leave it from the same lane, and what is
printed and written by then is the same. Derivatives are taken of the split loops, so that the cotangent of W is one
product as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from diffjit.analysis.failing import Failing, Failure
from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.ir.build import Builder
from diffjit.ir.checks import fitting
from diffjit.ir.nodes import LANES, Block, Function, Op, Value, const_of, is_view, without_labels
from diffjit.ir.ops import Reads
from diffjit.ir.raising import inner_lengths_agree
from diffjit.ir.types import BOOL, INT, Array, Dim, Scalar, Type, is_ref, permuted_layout
from diffjit.ir.walk import blocks, has_exit, initial, walk
from diffjit.transforms.lengths import Lengths, as_dim

GUARDED = "product"  # attribute of an `if`: there are rows to be multiplied
_SMALL = 16  # elements of a matrix whose product with a vector is as cheap alone
_SHARED = frozenset({"const", "dim", "reshape", "multiply"})  # besides views: what reshapes are made of
_AGAIN = frozenset({"const", "undef", "trip"})


def join_products(function: Function) -> bool:
    """Apply it to all loops over lanes, the innermost first, in place; whether there were any products."""
    refused: set[Op] = set()
    changed = False
    while True:
        found = [(b, op) for b in blocks(function.body) for op in b.ops if LANES in op.attrs]
        candidates = [(b, op, p) for b, op in reversed(found) for p in _products(op) if p not in refused]
        if not candidates:
            return changed
        memory = analyses(function).one_memory
        for block, loop, product in candidates:
            if Split(memory, block, loop, product).apply():
                changed = True
                break
            refused.add(product)


def _products(loop: Op) -> list[Op]:
    """The products in a loop's own block that may be joined."""
    if loop.outputs or loop.attrs.get("exit") or loop.attrs.get("reverse"):
        return []
    if const_of(loop.inputs[0]) is None or const_of(loop.inputs[2]) != 1:
        return []
    return [op for op in loop.regions[0].ops if (found := _product(op)) is not None and _pays(found)]


def _product(op: Op) -> Op | None:
    """The product that an operation is, or computes unless there are no rows."""
    if op.kind == "if" and GUARDED in op.attrs:
        (first, *more) = op.regions[0].ops
        return first if first.kind == "matmul" and not more else None
    return op if op.kind == "matmul" else None


def _pays(op: Op) -> bool:
    a, b = (v.type for v in op.inputs)
    return op.out.type.dtype.kind in "fc" and max(a.ndim, b.ndim) == 2


class Infeasible(Exception):
    """What the second loop needs cannot be kept."""


class Split:
    """One loop around one of its products."""

    def __init__(self, memory: Memory, block: Block, loop: Op, product: Op) -> None:
        self.memory, self.order = memory, memory.order
        self.block, self.loop, self.product = block, loop, product
        matmul = _product(product)
        assert matmul is not None
        self.matmul = matmul
        self.body = loop.regions[0]
        self.lane = self.body.args[0]
        self.changed_by: dict[Op, list[Any]] = {}
        for cls, writes in memory.writes.items():
            for op in writes:
                self.changed_by.setdefault(op, []).append(cls)
        self.written = self.changes(self.body.ops)
        self.pre = Block()
        self.build = Builder(self.pre)
        front = Builder(self.pre)
        self.build.loc = front.loc = loop.loc
        outside = [v for op in walk(self.body) for v in op.inputs if isinstance(v.type, Array) and not self.own(v)]
        self.lengths = Lengths(front, {}, [self.body], dict.fromkeys(outside))
        self.failing = Failing(loop, lambda values: self.shapes(values) is not None)
        self.first: list[Op] = []
        self.second: list[Op] = []
        self.changed_later: set[Any] = set()
        self.kept: dict[Value, Value] = {}  # value of the first loop -> the array that keeps it for all lanes
        self.later: dict[Value, Value] = {}  # what stands for a value in the second loop

    def own(self, v: Value) -> bool:
        """Whether a value is made in each lane."""
        return self.order.inside(v, self.loop)

    def shapes(self, values: Sequence[Value]) -> list[list[Value]] | None:
        """The lengths of arrays, where they are the same in all lanes."""
        return self.lengths.shapes(list(values))

    def apply(self) -> bool:
        """Split the loop if that may be done; whether it was."""
        sides = [self.shared(v) for v in self.matmul.inputs]
        if sides[0] == sides[1] or self.shapes(self.matmul.inputs) is None:
            return False
        matrix, operand = self.matmul.inputs[:: 1 if sides[0] else -1]
        if matrix.type.ndim != 2 or _count(matrix.type) <= _SMALL:
            return False
        self.divide(operand)
        if not self.is_legal(matrix):
            return False
        try:
            needed = self.crossing(operand)
        except Infeasible:
            return False
        self.emit(matrix, operand, needed)
        return True

    # What goes where

    def shared(self, v: Value) -> bool:
        """Whether an array is the same in all lanes, and never changes in the loop."""
        if is_ref(v.type) and self.memory.find(v) in self.written:
            return False
        if not self.own(v):
            return True
        op = v.op
        if op is None or not (is_view(op) or op.kind in _SHARED) or self.failing.of(op) is Failure.APART:
            return False
        return all(self.shared(i) for i in op.inputs)

    def divide(self, operand: Value) -> None:
        """What the operand needs, and what must not wait, goes to the first loop."""
        position = self.body.ops.index(self.product)
        needed = {operand}
        late: list[Op] = []
        touched: set[Any] = set()  # memory that the first loop reads or changes, behind the operation at hand
        changed: set[Any] = set()
        for op in reversed(self.body.ops[:position]):
            if needed.isdisjoint(op.outputs) and self.may_wait(op, touched, changed):
                late.append(op)
                continue
            self.first.append(op)
            needed.update(_uses([op]))
            touched |= self.touched([op])
            changed |= self.changes([op])
        self.first.reverse()
        self.second = [*reversed(late), *self.body.ops[position + 1 :]]

    def may_wait(self, op: Op, touched: set[Any], changed: set[Any]) -> bool:
        """Whether an operation may be moved behind all others in front of the product."""
        if self.failing.of(op) is not Failure.NEVER or self.prints([op]):
            return False
        return touched.isdisjoint(self.changes([op])) and changed.isdisjoint(self.touched([op]))

    # Whether anybody can tell

    def is_legal(self, matrix: Value) -> bool:
        """No memory passes between lanes in another order, and errors and effects stay as they are."""
        one, two = self.touched(self.first), self.touched(self.second)
        changed = [self.changes(self.first), self.changes(self.second)]
        shared = {c for c in self.written if self.is_outer(c)}
        if any(c in shared and c in two for c in changed[0]) or any(c in shared and c in one for c in changed[1]):
            return False
        fails = [self.failing.worst(self.first), max(self.fails(matrix), self.failing.worst(self.second))]
        seen = [self.visible(ops, c) for ops, c in zip((self.first, self.second), changed, strict=True)]
        if fails[0] is Failure.APART and (fails[1] or seen[1]):
            return False
        return not (fails[1] and seen[0]) and not (self.prints(self.first) and self.prints(self.second))

    def fails(self, matrix: Value, *, made: bool = False) -> Failure:
        """When the product raises, or what its shared factor is made of; `made`: that alone."""
        worst = Failure.NEVER if made else self.failing.of(self.matmul)
        todo = [matrix]
        while todo:
            v = todo.pop()
            if self.own(v) and v.op is not None:
                worst = max(worst, self.failing.of(v.op))
                todo += v.op.inputs
        return worst

    def touched(self, ops: Iterable[Op]) -> set[Any]:
        """The memory whose contents some operations read or change."""
        found: set[Any] = set()
        for op in _deep(ops):
            if not (op.regions or is_view(op) or op.row.reads is Reads.LENGTHS):
                found.update(self.memory.find(v) for v in op.inputs if is_ref(v.type))
        return found

    def changes(self, ops: Iterable[Op]) -> set[Any]:
        """The memory that some operations change."""
        return {cls for op in _deep(ops) for cls in self.changed_by.get(op, ())}

    def is_outer(self, cls: Any) -> bool:
        """Whether memory may be the same in several lanes."""
        members = self.memory.members.get(cls, ())
        return any(not self.own(v) or (v.op is not None and (v.op.row.gives or v.op.kind == "call")) for v in members)

    def visible(self, ops: Sequence[Op], changed: Iterable[Any]) -> bool:
        """Whether an error that comes earlier or later shows in what has been printed or written."""
        return self.prints(ops) or any(not self.is_private(c) for c in changed)

    def is_private(self, cls: Any) -> bool:
        """Whether memory is allocated by this function: who gets an error does not see it."""
        roots = [v for v in self.memory.members.get(cls, ()) if v.op is None or not is_view(v.op)]
        return all(v.op is not None and v.op.row.makes for v in roots)

    def prints(self, ops: Iterable[Op]) -> bool:
        """Whether some operations may print."""
        return any(op.kind in ("call", "foreign") or (op.row.effect and op.kind != "raise") for op in _deep(ops))

    # What the second loop needs of the first

    def crossing(self, operand: Value) -> list[Value]:
        """Values of the first loop that the second one needs; those that cannot be made again are put into `kept`."""
        made = {v for op in self.first for v in op.outputs}
        self.changed_later = self.changes(self.second)
        needed = [v for v in dict.fromkeys(_uses(self.second)) if v in made]
        for v in needed:
            self.require(v, made)
        if _may_be_missing(operand):
            raise Infeasible
        return needed

    def require(self, v: Value, made: set[Value]) -> None:
        """Note what has to be kept so that the second loop has a value."""
        if v not in made or v in self.kept:
            return
        if self.cheap(v):
            assert v.op is not None
            if self.length(v) is None:
                for i in v.op.inputs:
                    self.require(i, made)
            return
        if not isinstance(v.type, (Scalar, Array)) or v.type.dtype.kind not in "biufc":
            raise Infeasible
        if isinstance(v.type, Array) and (
            self.memory.find(v) in self.changed_later or self.shapes([v]) is None or _may_be_missing(v)
        ):
            raise Infeasible
        self.kept[v] = v

    def cheap(self, v: Value) -> bool:
        """Whether a value is made again in the second loop: nothing is then left in the first that might raise."""
        op = v.op
        if op is None or len(op.outputs) != 1:
            return False
        if op.kind in _AGAIN or self.length(v) is not None:
            return True
        unchanged = op.kind == "load" and self.memory.find(op.inputs[0]) not in self.written
        return (unchanged or is_view(op)) and self.failing.of(op) is Failure.NEVER

    def length(self, v: Value) -> Value | None:
        """A length that is known in front of the loop."""
        if v.op is None or v.op.kind != "dim":
            return None
        shape = self.shapes([v.op.inputs[0]])
        axis: int = v.op.attrs["axis"]
        return None if shape is None else shape[0][axis]

    def turned(self, operand: Value) -> bool:
        """Whether the operand is a matrix on the right: the product is that of the transposes."""
        return operand is self.matmul.inputs[1] and operand.type.ndim == 2

    def rows(self, operand: Value) -> Value | None:
        """The array from outside whose lanes the operand is: all of them, along its first axis."""
        op = operand.op
        if op is None or op.kind != "view" or not self.own(operand) or self.turned(operand):
            return None
        base, *items = op.inputs
        spec: tuple[Any, ...] = op.attrs["spec"]
        if self.own(base) or self.memory.find(base) in self.written or items != [self.lane]:
            return None
        if set(spec) != {"i", ":"} or const_of(self.loop.inputs[0]) != 0:
            return None
        axis = spec.index("i")
        stop = self.loop.inputs[1]
        if _number(stop) != base.type.dims[axis] or (operand.type.ndim == 2 and (axis or base.type.layout != "C")):
            return None
        return base

    # The new text

    def emit(self, matrix: Value, operand: Value, needed: list[Value]) -> None:
        """Put the first loop, the product and the second loop in the loop's place."""
        count, dim = self.count()
        ahead = self.body
        ahead.ops = self.first
        with self.build.inside(ahead):
            at = self.position(self.lane)
        for v in list(self.kept):
            self.kept[v] = self.store(v, at, ahead, count, dim)
        rows = self.rows_of(operand, at, ahead, count, dim)
        after = self.joined(operand, matrix, rows)
        lane = Value(INT, self.lane.name)
        behind = Block([lane])
        mapping = self.later = {self.lane: lane}
        with self.build.inside(behind):
            at = self.position(lane)
            mapping[self.product.out] = self.lane_of(after.results[0], at, operand)
            for v in needed:
                self.again(v, at)
        _rename(self.second, mapping)
        behind.ops += self.second
        bounds = self.loop.inputs
        second = Op("for", list(bounds), [], without_labels(self.loop.attrs), [behind], self.loop.loc)
        k = self.block.ops.index(self.loop)
        self.block.ops[k : k + 1] = [*self.pre.ops, self.loop, *after.ops, second]

    def count(self) -> tuple[Value, Dim]:
        """The number of lanes."""
        start, stop = self.loop.inputs[:2]
        if const_of(start) == 0 and stop.op is not None and stop.op.kind in ("dim", "trip", "const"):
            return stop, _number(stop) or as_dim(stop)
        count = self.build.value("trip", self.loop.inputs[:3], INT)
        return count, as_dim(count)

    def position(self, lane: Value) -> Value:
        """The lane's number among those of the loop."""
        start = self.loop.inputs[0]
        if const_of(start) == 0:
            return lane
        first = self.build.const(const_of(start))
        return self.build.value("subtract", [lane, first], INT, nowrap=True)

    def empty(self, lengths: list[Value], like: Type, dims: tuple[Dim, ...], name: str | None) -> Value:
        """An array in front of the loops."""
        with self.build.inside(self.pre):
            ty = Array(like.dtype, dims, "C")
            return self.build.value("empty", lengths, ty, order="C", name=f"{name or 'lane'}_rows")

    def store(self, v: Value, at: Value, ahead: Block, count: Value, dim: Dim) -> Value:
        """Keep a value of every lane; arrays in Fortran's order as their transposes."""
        ty = v.type if isinstance(v.type, Array) else Array(v.type.dtype, (), "C")
        found = self.shapes([v])
        assert found is not None
        shape, dims = found[0], ty.dims
        if _columns(ty):
            shape, dims = shape[::-1], dims[::-1]
        array = self.empty([count, *shape], ty, (dim, *dims), v.name)
        with self.build.inside(ahead):
            if isinstance(v.type, Scalar):
                self.build.op("store", [array, v, at], **fitting(array, "lanes"))
            else:
                source = self.transposed(v) if _columns(ty) else v
                self.build.op("assign", [self.row(array, at), source])
        return array

    def row(self, array: Value, at: Value) -> Value:
        """One lane of an array over all of them."""
        ty = Array(array.type.dtype, array.type.dims[1:], "C")
        return self.build.value("view", [array, at], ty, spec=("i", *":" * ty.ndim))

    def transposed(self, v: Value) -> Value:
        """All axes in the other order."""
        ty = v.type
        assert isinstance(ty, Array)
        perm = tuple(reversed(range(ty.ndim)))
        made = Array(ty.dtype, ty.dims[::-1], permuted_layout(ty, perm))
        return self.build.value("transpose", [v], made, perm=perm)

    def again(self, v: Value, at: Value) -> Value:
        """A value of the first loop, in the second."""
        if v in self.later or not self.own(v):
            return self.later.get(v, v)
        known = self.length(v)
        if v in self.kept:
            known = self.kept_lane(v, self.kept[v], at)
        elif known is None:
            op = v.op
            assert op is not None
            inputs = [self.again(i, at) for i in op.inputs]
            known = self.build.value(op.kind, inputs, v.type, name=v.name, **without_labels(op.attrs))
        self.later[v] = known
        return known

    def kept_lane(self, v: Value, array: Value, at: Value) -> Value:
        """What has been kept of a lane."""
        if isinstance(v.type, Scalar):
            found = self.build.value("load", [array, at], Scalar(v.type.dtype), name=v.name, **fitting(array, "lanes"))
            return found if found.type == v.type else self.build.value("cast", [found], v.type, name=v.name)
        row = self.row(array, at)
        row.name = v.name
        return self.transposed(row) if _columns(v.type) else row

    def between(self, v: Value) -> Value:
        """The shared operand, between the loops."""
        if not self.own(v):
            return v
        op = v.op
        assert op is not None
        return self.build.value(op.kind, [self.between(i) for i in op.inputs], v.type, **without_labels(op.attrs))

    def rows_of(self, operand: Value, at: Value, ahead: Block, count: Value, dim: Dim) -> Value:
        """The operands of all lanes, along the first axis; those on the right as their transposes."""
        base = self.rows(operand)
        if base is not None:
            if operand.op is None or operand.op.attrs["spec"][0] == "i":
                return base
            with self.build.inside(self.pre):
                return self.transposed(base)  # two axes
        turned = self.turned(operand)
        if operand in self.kept and _columns(operand.type) == turned:
            return self.kept[operand]
        found = self.shapes([operand])
        assert found is not None
        shape, dims = found[0], operand.type.dims
        if turned:
            shape, dims = shape[::-1], dims[::-1]
        array = self.empty([count, *shape], operand.type, (dim, *dims), operand.name)
        with self.build.inside(ahead):
            source = self.transposed(operand) if turned else operand
            self.build.op("assign", [self.row(array, at), source])
        return array

    def joined(self, operand: Value, matrix: Value, rows: Value) -> Block:
        """The product of all lanes: a row, or a block of rows, for each."""
        after = Block()
        self.build.loc = self.product.loc
        with self.build.inside(after):
            dims = rows.type.dims
            lengths = [self.build.value("dim", [rows], INT, axis=k) for k in range(len(dims))]
            if len(dims) == 3:
                flat = self.build.value("multiply", lengths[:2], INT, nowrap=True)
                ty = Array(rows.type.dtype, (as_dim(flat), dims[2]), "C")
                rows = self.build.value("reshape", [rows, flat, lengths[2]], ty, view=True)
            out = self.guarded(operand, matrix, rows)
            if len(dims) == 3:
                width = self.build.value("dim", [out], INT, axis=1)
                ty = Array(out.type.dtype, (*dims[:2], out.type.dims[1]), "C")
                out = self.build.value("reshape", [out, *lengths[:2], width], ty, view=True)
            after.results = [out]
        return after

    def guarded(self, operand: Value, matrix: Value, rows: Value) -> Value:
        """A product; of no lanes there is none that could fail."""
        columns = 0 if operand is self.matmul.inputs[1] else 1
        name = self.product.out.name
        ty = Array(self.product.out.type.dtype, (rows.type.dims[0], matrix.type.dims[columns]), "C")

        def factor() -> Value:
            made = self.between(matrix)
            return made if columns else self.transposed(made)

        chain = self.fails(matrix, made=True)
        ready = factor() if chain is Failure.NEVER else None
        if ready is not None and inner_lengths_agree(self.matmul):
            return self.build.value("matmul", [rows, ready], ty, name=name)
        some, none = Block(), Block()
        with self.build.inside(some):
            some.results = [self.build.value("matmul", [rows, ready or factor()], ty, name=name)]
        shape = self.shapes([matrix])
        assert shape is not None
        count = self.build.value("dim", [rows], INT, axis=0)
        with self.build.inside(none):
            none.results = [self.build.value("zeros", [count, shape[0][columns]], ty, order="C")]
        some_rows = self.build.value("greater", [count, self.build.const(0)], BOOL)
        return self.build.op("if", [some_rows], (ty,), name=name, regions=[some, none], **{GUARDED: True}).out

    def lane_of(self, out: Value, at: Value, operand: Value) -> Value:
        """The product of one lane."""
        row = self.row(out, at)
        row.name = self.product.out.name
        if not self.turned(operand):
            return row
        turned = self.transposed(row)
        ty = self.product.out.type
        return self.build.value("copy", [turned], Array(ty.dtype, ty.dims, "C"), order="C")


def _columns(ty: Type) -> bool:
    """Whether an array stands in memory column by column."""
    return isinstance(ty, Array) and ty.ndim > 1 and ty.layout == "F"


def _number(v: Value) -> Dim | None:
    """A constant, or a length as its type knows it."""
    if v.op is None or v.op.kind != "dim":
        return const_of(v)
    axis: int = v.op.attrs["axis"]
    return v.op.inputs[0].type.dims[axis]


def _count(ty: Type) -> float:
    """The number of elements, as far as it is known."""
    return math.prod(d if isinstance(d, int) else math.inf for d in ty.dims)


def _deep(ops: Iterable[Op]) -> Iterator[Op]:
    """Some operations and those inside them."""
    for op in ops:
        yield op
        for region in op.regions:
            yield from walk(region)


def _uses(ops: Iterable[Op]) -> Iterator[Value]:
    """What some operations, and those inside them, read."""
    for op in _deep(ops):
        yield from op.inputs
        for region in op.regions:
            yield from region.results


def _rename(ops: Iterable[Op], mapping: Mapping[Value, Value]) -> None:
    """In place: other values in some operations."""
    for op in _deep(ops):
        op.inputs = [mapping.get(v, v) for v in op.inputs]
        for region in op.regions:
            region.results = [mapping.get(v, v) for v in region.results]


def _may_be_missing(v: Value) -> bool:
    """Whether a variable may hold nothing yet."""
    seen: set[Value] = set()
    todo = [v]
    while todo:
        v = todo.pop()
        if v in seen or v.op is None:
            continue
        seen.add(v)
        op = v.op
        if op.kind == "undef":
            return True
        if op.row.nested:
            k = op.outputs.index(v)
            if op.kind == "if":
                todo += [region.results[k] for region in op.regions]
            else:
                todo += [initial(op)[k], op.regions[-1].results[k + has_exit(op)]]
    return False
