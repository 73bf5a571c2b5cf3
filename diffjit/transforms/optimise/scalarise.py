"""Small arrays of fixed shape become numbers.

d = x[j] - x[i]                         d_0 = x[j, 0] - x[i, 0]
a[i] += m[j] * d / np.dot(d, d)    ->   d_1 = x[j, 1] - x[i, 1]
                                        r = d_0 * d_0 + d_1 * d_1
                                        a[i, 0] = a[i, 0] + m[j] * d_0 / r
                                        a[i, 1] = a[i, 1] + m[j] * d_1 / r

The elements of an array that qualifies (`analysis.small`) are cells. A reference is an array of cells, and a view of it
the same view of that array, so that aliases are right by construction. The pass walks the program and keeps the present
number of each cell; cells that a loop or branch writes to become loop-carried or joined numbers. Small arrays that do
not qualify (a row of a large one, an argument) are read and written element by element; the result of an operation that
does not qualify itself is made from its numbers.
"""

# NumPy arrays of values, whose shapes its stubs do not know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.analysis.small import Small, constant, is_small, subscript, viewed
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.checks import PROVEN, cannot_fail, inherit
from diffjit.ir.nodes import CHECKS, LABELS, TRIED, Block, Function, Op, Value, is_const, is_view
from diffjit.ir.types import INT, Array, Scalar
from diffjit.ir.walk import blocks, clone, clone_op, has_exit, initial, walk
from diffjit.transforms.optimise import elements
from diffjit.transforms.optimise.elements import Elements, blank, single, strong
from diffjit.transforms.optimise.simplify import simplify
from diffjit.transforms.optimise.unroll import unroll

GROWTH = 3000  # operations that a program may gain


def scalarise(function: Function, *, smooth: bool = False) -> Function:
    """The program with numbers for its small arrays, or itself where there are none.

    `smooth`: the result will be differentiated, so operations whose derivative is theirs alone stay as they are.
    """
    if not any(is_small(v.type) for op in walk(function.body) for v in (*op.inputs, *op.outputs)):
        return function
    source = clone(function)
    _detach(source)
    unroll(source)
    made = simplify(_Scalariser(source, smooth=smooth).run())
    grown = sum(1 for _ in walk(made.body)) - sum(1 for _ in walk(function.body))
    return function if grown > GROWTH else made


def _detach(function: Function) -> None:
    """Lists and tapes get copies of small arrays where nobody can tell: then those may be numbers elsewhere."""
    kept = {op: op.inputs[1] for op in walk(function.body) if op.row.keeps and is_small(op.inputs[1].type)}
    if not kept:
        return
    memory = analyses(function).one_memory
    leaving = {memory.find(v) for v in function.results if isinstance(v.type, Array)}
    build = Builder()
    for block in list(blocks(function.body)):
        ops, block.ops = block.ops, []
        with build.inside(block):
            for op in ops:
                v = kept.get(op)
                if v is not None and not memory.written(v) and memory.find(v) not in leaving:
                    build.loc = op.loc
                    layout = v.type.layout if v.type.layout != "A" else "C"
                    op.inputs[1] = build.value("copy", [v], Array(v.type.dtype, v.type.dims, layout), order=layout)
                block.ops.append(op)


@dataclass(slots=True, eq=False)
class Cell:
    """One element of a small array."""

    dtype: np.dtype
    owner: Any  # the memory class
    name: str | None


class _Scalariser:
    def __init__(self, source: Function, *, smooth: bool) -> None:
        self.source = source
        self.small = Small(source, smooth=smooth)
        self.build = Builder()
        self.known: dict[Value, Value] = {}  # value -> the same in the new program, unless it becomes numbers
        self.cells: dict[Value, Elements] = {}  # reference -> its cells
        self.now: dict[Cell, Value] = {}  # what each cell holds
        self.written: dict[Op, set[Any]] = {}
        self._find_writes(source.body, [])

    def _find_writes(self, block: Block, around: list[Op]) -> None:
        """Which memory each loop and branch writes to."""
        for op in block.ops:
            if op.regions:
                self.written[op] = set()
            for k in op.row.writes:
                if self.small.holds(op.inputs[k]):
                    for outer in around:
                        self.written[outer].add(self.small.memory.find(op.inputs[k]))
            for region in op.regions:
                self._find_writes(region, [*around, op])

    def run(self) -> Function:
        """The new program."""
        old = self.source
        body = Block()
        params: list[Value] = []
        for p in old.params:
            q = self.known[p] = Value(p.type, p.name)
            q.block = body
            params.append(q)
        with self.build.inside(body):
            for p in old.params:
                if self.small.holds(p):
                    self.cells[p] = self.fresh(p, self.loads(self.known[p], self._positions(p)))
            self.ops(old.body)
            body.results = [self.whole(v) for v in old.body.results]
        made = Function(old.name, params, body, old.doc, old.source_file, old.source_line, dict(old.lines))
        for op in walk(body):
            if op.kind == "call" and op.attrs["function"] is old:
                op.attrs["function"] = made
        made.writes, made.returns_views = old.writes, old.returns_views
        return made

    def ops(self, block: Block) -> None:
        """The operations of a block."""
        labels: dict[str, Any] = {}
        for op in block.ops:
            self.build.loc, self.build.tried = op.loc, TRIED in op.attrs
            first = len(self.build.block.ops)
            self.op(op)
            labels = self._label(op, first, labels)
            self._checks(op, first)

    def _label(self, op: Op, first: int, waiting: dict[str, Any]) -> dict[str, Any]:
        """The labels of an operation go to the first that it becomes, or that later ones become; returns what waits."""
        labels = waiting | {k: op.attrs[k] for k in LABELS if k in op.attrs}
        made = next((o for o in self.build.block.ops[first:] if o.kind != "const"), None)
        if made is None:
            return labels
        made.attrs |= labels
        return {}

    def _checks(self, op: Op, first: int) -> None:
        """What others rely on is tested by what an operation becomes, or so by the lengths and indices alone."""
        made = self.build.block.ops[first:]
        if CHECKS not in op.attrs or any(CHECKS in o.attrs for o in made):
            return
        heir = next((o for o in made if o.row.indices_at is not None), None)
        if heir is not None:
            inherit(heir, op)
            return
        cannot_fail(op)

    def op(self, op: Op) -> None:
        """One operation."""
        small = [v for v in op.inputs if self.small.holds(v)]
        if op.row.loop:
            self.loop(op)
        elif op.kind == "if":
            self.branch(op)
        elif op.kind == "load" and (small or is_small(op.inputs[0].type)):
            self.known[op.out] = self.read(op.inputs[0])[self.place(op, 1)] if small else self.load(op)
        elif op.row.element and small:
            self.write(op.inputs[0], self.place(op, 2), single(self.known[op.inputs[1]]), add=op.kind == "accum_at")
        elif op.row.element and is_small(op.inputs[0].type):
            self.store(op)
        elif op.row.updates and self.small.fitting(op):
            self.write(op.inputs[0], (), self.read(op.inputs[1]), add=op.kind == "accum")
        elif op.kind == "dim" and small:
            self.known[op.out] = self.build.const(op.inputs[0].type.dims[op.attrs["axis"]], op.out.type)
        elif is_view(op) and small:
            self.cells[op.out] = viewed(op, self.cells[op.inputs[0]])
        elif self.small.expands(op) and not is_view(op) and (self.small.holds(op.out) or self.wanted(op)):
            self.define(op.out, elements.expand(self.build, op, self.operands(op)))
        else:
            self.keep(op)

    def wanted(self, op: Op) -> bool:
        """Whether an operation whose result does not become numbers is done number by number nevertheless."""
        if any(self.small.holds(v) for v in op.inputs):
            return True
        return isinstance(op.out.type, Scalar) and op.row.fill is None

    def operands(self, op: Op) -> list[Elements]:
        """What an operation reads, number by number."""
        count = None if op.row.fill is None else int(op.row.fill == "value")
        return [self.read(v) for v in op.inputs[: 1 if op.kind == "unbroadcast" else count]]

    def keep(self, op: Op) -> None:
        """An operation stays as it is; a small array that it makes is taken apart, and left behind where it changes."""
        made = clone_op(op, self.known, self.build.block)
        for old, new in zip(op.outputs, made.outputs, strict=True):
            if self.small.holds(old):
                self.define(old, self.loads(new, self._positions(old)))
                if self.small.memory.written(old):
                    del self.known[old]

    # Reading and writing

    def read(self, v: Value) -> Elements:
        """The numbers that a value consists of, now."""
        if isinstance(v.type, Scalar):
            return single(self.known[v])
        cells = self.cells.get(v)
        if cells is not None:
            made = blank(cells.shape)
            for at in np.ndindex(cells.shape):
                made[at] = self.now[cells[at]]
            return made
        base, places = self.path(v)
        return self.loads(self.known[base], places)

    def loads(self, base: Value, places: Elements) -> Elements:
        """Elements of an array of the new program."""
        made = blank(places.shape)
        for at in np.ndindex(places.shape):
            inputs = [base, *self.indices(places[at])]
            made[at] = self.build.value("load", inputs, Scalar(base.type.dtype), **_proven(places[at]))
        return made

    def load(self, op: Op) -> Value:
        """One element of a small array that stays: where that is a row of another, an element of that one."""
        found = self.part(op, 1)
        if found is None:
            return clone_op(op, self.known, self.build.block).out
        return self.build.value("load", found, op.out.type, name=op.out.name)

    def store(self, op: Op) -> None:
        """`load`'s counterpart."""
        found = self.part(op, 2)
        if found is None:
            clone_op(op, self.known, self.build.block)
        else:
            self.build.op(op.kind, [found[0], self.known[op.inputs[1]], *found[1:]])

    def part(self, op: Op, first: int) -> list[Value] | None:
        """The array and indices behind an element at a constant place of a row; None where it is not that."""
        base, places = self.path(op.inputs[0])
        at = self.place(op, first, known=False)
        if at is None or base is op.inputs[0] or any(not -n <= i < n for i, n in zip(at, places.shape, strict=True)):
            return None
        return [self.known[base], *self.indices(places[at])]

    def indices(self, place: tuple[Any, ...]) -> list[Value]:
        """Indices as values: numbers become constants."""
        return [self.build.const(i, INT) if isinstance(i, int) else self.known[i] for i in place]

    def place(self, op: Op, first: int, *, known: bool = True) -> Any:
        """The constant indices of an operation."""
        found = tuple(constant(v) for v in op.inputs[first:])
        assert not known or None not in found
        return None if None in found else found

    def path(self, v: Value) -> tuple[Value, Elements]:
        """The array that a small one is a part of, and where in it each element stands (numbers and values)."""
        base, places = self._path(v)
        if places.shape != v.type.dims:  # behind what always raises, a part may not be as long as its type says
            return v, self._positions(v)
        return base, places

    def _path(self, v: Value) -> tuple[Value, Elements]:
        op = v.op
        if op is not None and op.kind == "transpose" and is_small(op.inputs[0].type):
            base, places = self.path(op.inputs[0])
            return base, viewed(op, places)
        if op is not None and op.kind == "view":
            if is_small(op.inputs[0].type) and subscript(op) is not None:
                base, places = self.path(op.inputs[0])
                try:
                    return base, viewed(op, places)
                except IndexError:
                    return v, self._positions(v)
            places = _rows(op)
            if places is not None:
                return op.inputs[0], places
        return v, self._positions(v)

    def _positions(self, v: Value) -> Elements:
        made = blank(v.type.dims)
        for at in np.ndindex(made.shape):
            made[at] = at
        return made

    def write(self, target: Value, at: tuple[int, ...], values: Elements, *, add: bool) -> None:
        """Write numbers, already read, to a part of a small array."""
        dtype = target.type.dtype
        cells = self.cells.get(target)
        if cells is None:
            self._store(target, elements.cast(self.build, values, dtype), add=add)
            return
        part: Any = cells[at] if at else cells
        if isinstance(part, Cell):
            part = single(part)  # pyright: ignore[reportArgumentType]
        values = np.broadcast_to(elements.cast(self.build, values, dtype), part.shape)
        for k in np.ndindex(part.shape):
            cell, value = part[k], values[k]
            self.now[cell] = self.build.value("add", [self.now[cell], value], Scalar(dtype)) if add else value

    def _store(self, target: Value, values: Elements, *, add: bool) -> None:
        base, places = self.path(target)
        values = np.broadcast_to(values, places.shape)
        for at in np.ndindex(places.shape):
            inputs = [self.known[base], values[at], *self.indices(places[at])]
            self.build.op("accum_at" if add else "store", inputs, **_proven(places[at]))

    def define(self, v: Value, values: Elements) -> None:
        """What an operation yields."""
        if isinstance(v.type, Scalar):
            out: Value = values[()]
            if out.name is None and not is_const(out):
                out.name = v.name
            self.known[v] = out if out.type == v.type else self.build.value("cast", [out], v.type)
        elif self.small.holds(v):
            self.cells[v] = self.fresh(v, values)
        else:
            self.known[v] = self.made(v, values)

    def fresh(self, v: Value, values: Elements) -> Elements:
        """New cells for a reference."""
        cells = blank(v.type.dims)
        owner = self.small.memory.find(v)
        for at in np.ndindex(cells.shape):
            name = "_".join([v.name, *map(str, at)]) if v.name else None
            cells[at] = Cell(v.type.dtype, owner, name)
            self.now[cells[at]] = strong(self.build, values[at], v.type.dtype)
        return cells

    def made(self, v: Value, values: Elements) -> Value:
        """An array made from its numbers."""
        order = "F" if v.type.layout == "F" else "C"
        lengths = [self.build.const(n, INT) for n in v.type.dims]
        out = self.build.value("empty", lengths, Array(v.type.dtype, v.type.dims, order), name=v.name, order=order)
        for at in np.ndindex(values.shape):
            value = strong(self.build, values[at], v.type.dtype)
            self.build.op("store", [out, value, *(self.build.const(i, INT) for i in at)], inbounds=PROVEN)
        return out

    def whole(self, v: Value) -> Value:
        """A value as one value of the new program."""
        if v not in self.known:
            self.known[v] = self.made(v, self.read(v))
        return self.known[v]

    # Control flow

    def flow(self, targets: list[Value], sources: list[Value]) -> list[Value]:
        """What flows into joined values: one value each, or the numbers of a small array."""
        found: list[Value] = []
        for target, source in zip(targets, sources, strict=True):
            if self.small.holds(target):
                found += [strong(self.build, x, target.type.dtype) for x in self.read(source).ravel()]
            elif self.small.holds(source):
                found.append(self.made(source, self.read(source)))
            else:
                found.append(self.known[source])
        return found

    def enter(self, targets: list[Value]) -> list[Value]:
        """New values for joined ones."""
        found: list[Value] = []
        for v in targets:
            if not self.small.holds(v):
                self.known[v] = Value(v.type, v.name)
                found.append(self.known[v])
                continue
            ty = Scalar(v.type.dtype)
            values = blank(v.type.dims)
            for at in np.ndindex(values.shape):
                values[at] = Value(ty, "_".join([v.name, *map(str, at)]) if v.name else None)
            self.cells[v] = self.fresh(v, values)
            found += list(values.ravel())
        return found

    def again(self, cells: list[Cell]) -> list[Value]:
        """New values for what cells hold."""
        made = [Value(Scalar(c.dtype), c.name) for c in cells]
        self.now.update(zip(cells, made, strict=True))
        return made

    def outputs(self, op: Op, values: list[Value]) -> None:
        """Make values the outputs of an operation."""
        op.outputs = values
        for v in values:
            v.op, v.block = op, self.build.block

    def loop(self, op: Op) -> None:
        """A loop: small arrays that it carries, and cells that it writes, are carried as numbers."""
        loc, before = op.loc, self.now
        changed = [c for c in before if c.owner in self.written[op]]
        counted = op.kind == "for"
        heads = [self.known[v] for v in op.inputs[:3]] if counted else []
        inits = [*self.flow(op.outputs, initial(op)), *(before[c] for c in changed)]
        regions: list[Block] = []
        for region in op.regions:
            self.now = dict(before)
            block = Block()
            args = region.args
            if counted:
                block.args.append(Value(INT, args[0].name))
                self.known[args[0]] = block.args[0]
                args = args[1:]
            block.args += [*self.enter(args), *self.again(changed)]
            for a in block.args:
                a.block = block
            with self.build.inside(block):
                self.ops(region)
                if region is op.regions[-1]:
                    skip = has_exit(op)
                    block.results = [self.known[v] for v in region.results[:skip]]
                    block.results += self.flow(op.outputs, region.results[skip:])
                    block.results += [self.now[c] for c in changed]
                else:
                    block.results = [self.known[v] for v in region.results]
            regions.append(block)
        self.build.loc, self.build.tried = loc, False
        made = self.build.op(op.kind, [*heads, *inits], regions=regions, **op.attrs)
        self.now = before
        self.outputs(made, [*self.enter(op.outputs), *self.again(changed)])

    def branch(self, op: Op) -> None:
        """A branch: small arrays that it yields, and cells that it writes, are joined as numbers."""
        loc, before = op.loc, self.now
        changed = [c for c in before if c.owner in self.written[op]]
        regions: list[Block] = []
        for region in op.regions:
            self.now = dict(before)
            block = Block()
            with self.build.inside(block):
                self.ops(region)
                block.results = [*self.flow(op.outputs, region.results), *(self.now[c] for c in changed)]
            regions.append(block)
        self.build.loc, self.build.tried = loc, False
        made = self.build.op(op.kind, [self.known[op.inputs[0]]], regions=regions, **op.attrs)
        self.now = before
        self.outputs(made, [*self.enter(op.outputs), *self.again(changed)])


def _proven(place: tuple[Any, ...]) -> dict[str, Any]:
    """The attributes of an access: numbers come from lengths, so they are within bounds."""
    return {"inbounds": PROVEN} if all(isinstance(i, int) for i in place) else {}


def _rows(op: Op) -> Elements | None:
    """Where the elements of a small view stand in an array of any length; None where only the run knows."""
    base = op.inputs[0].type
    assert isinstance(op.out.type, Array)
    index = iter(op.inputs[1:])
    fixed: list[Any] = []  # for each axis of the base an index, or the axis of the view that runs over it
    axis = 0
    for entry in op.attrs["spec"]:
        if entry == "i":
            fixed.append((None, next(index)))
        elif entry == ":" and isinstance(op.out.type.dims[axis], int):
            fixed.append((axis, None))
            axis += 1
        elif entry == "n":
            axis += 1
        else:
            return None
    if len(fixed) != base.ndim:
        return None
    made = blank(op.out.type.dims)
    for at in np.ndindex(made.shape):
        made[at] = tuple(v if k is None else at[k] for k, v in fixed)
    return made
