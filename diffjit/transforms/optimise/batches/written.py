"""Writes a loop as a loop over batches of its turns.

Each number of a turn is an array over the turns of a batch, each array has them as its last axis. All batches are of
one length, which the text gives: LLVM knows how often each inner loop runs. Where turns are missing, the last one is
computed once more for each; of what it writes, and of what it adds to sums, the first time counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.analysis.integers.bounds import entries
from diffjit.ir.build import Builder
from diffjit.ir.checks import Check
from diffjit.ir.nodes import BATCHES, Block, Function, Op, Value, const_of, without_labels
from diffjit.ir.types import BOOL, INT, Array, Dim, Scalar, Sym, Type, permuted_layout
from diffjit.ir.walk import carried, initial, rename
from diffjit.transforms.lengths import Lengths, Unknown
from diffjit.transforms.optimise.batches.found import LEAST, Batched, Unfit

WIDTH = 64  # turns of a batch
_LONG = 64  # elements of an array of one turn: a longer one is as fast by itself
_AMONG = 24  # what an inner loop chooses one from
_IS_THERE = Check("batches", proven=True)  # a turn of those that there are


class Batch:
    """One loop, in place."""

    def __init__(self, function: Function, home: Block, found: Batched) -> None:
        self.function, self.home, self.found, self.loop = function, home, found, found.loop
        self.front = Block()
        self.build = Builder(self.front)
        self.build.loc = self.loop.loc
        self.left: Dim = Sym()  # the number of turns of a batch that are not repetitions
        self.narrow: set[Value] = set()  # parts of arrays that all turns see, which are written to: views without those
        self.now: dict[Value, Value] = {}  # what stands for a value of the loop
        self.rows: dict[tuple[Value, int, int], Value] = {}
        self.seen: dict[tuple[Any, ...], Value] = {}  # what the counter picks of arrays that nobody changes
        self.sums: set[Value] = set()  # arguments of inner loops that are added up in place
        self.head = Block()  # what each batch begins with

    def apply(self) -> None:
        """Put the choice between both loops in the place of the loop."""
        at = self.home.ops.index(self.loop)
        test = self._test()
        first = Block()
        with self.build.inside(first):
            made = self._batches()
        second = Block([], [self.loop], [])
        choice = Op("if", [test], [], {}, [first, second], self.loop.loc)
        choice.outputs = [Value(v.type, v.name) for v in self.loop.outputs]
        for v in choice.outputs:
            v.op, v.block = choice, self.home
        first.results = list(made.outputs)
        self.home.ops[at : at + 1] = [*self.front.ops, choice]
        for op in self.front.ops:
            for v in op.outputs:
                v.block = self.home
        rename(self.function.body, dict(zip(self.loop.outputs, choice.outputs, strict=True)))
        second.results = list(self.loop.outputs)
        test.op.attrs[BATCHES] = self.loop.attrs[BATCHES] = made.attrs[BATCHES] = True  # pyright: ignore[reportOptionalMemberAccess]

    # In front of the loop

    def _int(self, kind: str, *inputs: Value) -> Value:
        return self.build.value(kind, list(inputs), INT, nowrap=True)

    def _test(self) -> Value:
        """Whether the loop runs in batches."""
        found, build = self.found, self.build
        start, stop, by = self.loop.inputs[:3]
        self.turns = build.value("trip", [start, stop, by], INT)
        outside = found.outer_arrays()
        lengths = Lengths(build, {}, [found.body], dict.fromkeys(outside))
        longest = self._longest(lengths)
        test = build.value("greater_equal", [self.turns, build.const(LEAST)], BOOL)
        if const_of(longest) is None:
            test = self._and(test, build.value("less_equal", [longest, build.const(_LONG)], BOOL))
        elif const_of(longest) > _LONG:
            raise Unfit
        pairs: dict[tuple[Value, Value], None] = {}
        for a, j, b, k in found.equal:
            known = lengths.shapes([a, b])
            if known is None:
                raise Unfit
            pairs[known[0][j], known[1][k]] = None
        for a, b in pairs:
            if a is not b:
                test = self._and(test, build.value("equal", [a, b], BOOL))
        for search in found.searches:  # one after the other, the way back passes over all that was not chosen
            try:
                ends = [lengths.number(v) for v in search.inputs[:3]]
            except Unknown as error:
                raise Unfit from error
            few = build.value("trip", ends, INT)
            test = self._and(test, build.value("less_equal", [few, build.const(_AMONG)], BOOL))
        return test

    def _and(self, a: Value, b: Value) -> Value:
        return self.build.value("logical_and", [a, b], BOOL)

    def _longest(self, lengths: Lengths) -> Value:
        """The number of elements of the longest array of a turn."""
        sizes: dict[Value, None] = {lengths.const(1): None}
        for v in self.found.arrays():
            shape = lengths.shapes([v])
            if shape is None:
                raise Unfit
            sizes[self._product(lengths, shape[0])] = None
        for op, place in self.found.picked.items():
            if self._has_rows(op):
                shape = lengths.shapes([op.inputs[0]])
                if shape is None:
                    raise Unfit
                sizes[self._product(lengths, [n for k, n in enumerate(shape[0]) if k != place.axis])] = None
        longest, *others = sizes
        for n in others:
            longest = self.build.value("maximum", [longest, n], INT)
        return longest

    def _product(self, lengths: Lengths, shape: list[Value]) -> Value:
        size = lengths.const(1)
        for n in shape:
            size = n if size is lengths.const(1) else self._int("multiply", size, n)
        return size

    def _has_rows(self, op: Op) -> bool:
        """Whether inner loops read of what the counter picks: it is copied for all turns where a batch begins."""
        found, base = self.found, op.inputs[0]
        alone = found.order.places[op].loops[-1] is self.loop
        seen = op.kind in ("load", "view") and not alone and not found.is_written(base)
        return seen and not found.order.inside(base, self.loop)

    # The loop over batches

    def _batches(self) -> Op:
        build, loop = self.build, self.loop
        start, stop = loop.inputs[:2]
        body = Block()
        counter = Value(INT, "batch")
        args = [Value(v.type, v.name) for v in loop.regions[0].args[1:]]
        body.args = [counter, *args]
        for v in body.args:
            v.block = body
        width = build.const(WIDTH)
        count = self._int("floor_divide", self._int("add", self.turns, build.const(WIDTH - 1)), width)
        with build.inside(body):
            done = self._int("multiply", counter, width)
            self.low = self._int("add", start, done)
            self.size = build.value("minimum", [width, self._int("subtract", stop, self.low)], INT)
            self.last = self._int("subtract", stop, build.const(1))
            self.head = body
            for root in self.found.scratch:
                if self.found.differs(root):
                    self.now[root] = self._empty(root.type, self._lengths_of(root), root.name)
            self._block(self.loop.regions[0])
            for k in range(len(loop.outputs)):
                body.results.append(self._added(k, args[k]))
        zero, one = build.const(0), build.const(1)
        made = build.op("for", [zero, count, one, *initial(loop)], [], regions=[body], exit=False, reverse=False)
        for v in loop.outputs:
            out = Value(v.type, v.name)
            out.op, out.block = made, build.block
            made.outputs.append(out)
        return made

    def _added(self, k: int, before: Value) -> Value:
        """What goes on from turn to turn, one turn after the other."""
        build = self.build
        (arg,), following = carried(self.loop, k)
        op = following.op
        assert op is not None
        differs = self.found.differs
        with_turn = [None if v is arg else self._wide(v) if differs(v) else self._same(v) for v in op.inputs]
        body = Block()
        counter, held = Value(INT, "turn"), Value(arg.type, arg.name)
        counter.block = held.block = body
        body.args = [counter, held]
        build.loc = op.loc
        with build.inside(body):
            inputs: list[Value] = []
            for v, old in zip(with_turn, op.inputs, strict=True):
                if v is None:
                    inputs.append(held)
                elif isinstance(v.type, Array):
                    inputs.append(self._one(v, counter, old.type))
                else:
                    inputs.append(v)
            attrs = without_labels(op.attrs)
            body.results = [build.value(op.kind, inputs, following.type, name=following.name, **attrs)]
        made = build.op(
            "for", [build.const(0), self.size, build.const(1), before], [arg.type], name=arg.name, regions=[body],
            exit=False, reverse=False,
        )  # fmt: skip
        return made.out

    def _one(self, v: Value, turn: Value, ty: Any) -> Value:
        """What one turn has of a number."""
        found = self.build.value("load", [v, turn], Scalar(v.type.dtype), inbounds=_IS_THERE)
        return found if found.type == ty else self.build.value("cast", [found], ty)

    # Values

    def _transposed(self, v: Value, perm: tuple[int, ...], name: str | None = None) -> Value:
        ty = v.type
        assert isinstance(ty, Array)
        made = Array(ty.dtype, tuple(ty.dims[k] for k in perm), permuted_layout(ty, perm))
        return self.build.value("transpose", [v], made, name=name, perm=perm)

    def _same(self, v: Value) -> Value:
        """What stands for a value that is the same in all turns, or for a reference."""
        return self.now.get(v, v)

    def _wide(self, v: Value) -> Value:
        """What stands for a value beside others that have an axis for the turns."""
        if self.found.differs(v):
            if v.type.dtype.kind in "iu":
                return self._positions(v)
            return self._padded(self.now[v]) if v in self.narrow else self.now[v]
        if v.op is not None and v.op.kind == "undef":
            return self.build.const(0, Scalar(v.type.dtype))
        v = self._same(v)
        if not isinstance(v.type, Array) or v.type.ndim == 0:
            return v
        ty = Array(v.type.dtype, (*v.type.dims, 1), v.type.layout if v.type.layout == "C" else "A")
        return self.build.value("view", [v], ty, name=v.name, spec=(*(":",) * v.type.ndim, "n"))

    def _positions(self, v: Value) -> Value:
        """The counter, and what hangs on it, in all turns."""
        shift = self.found.position(v)
        assert shift is not None
        ty = Array(np.dtype(np.int64), (WIDTH,), "C")
        first = self._int("add", self.low, self.build.const(shift))
        behind = self._int("add", first, self.build.const(WIDTH))
        places = self.build.value("arange", [first, behind, self.build.const(1)], ty)
        last = self._int("add", self.last, self.build.const(shift))
        return self.build.value("minimum", [places, last], ty, nowrap=True)

    def _type(self, ty: Any) -> Array:
        return Array(ty.dtype, (*(ty.dims if isinstance(ty, Array) else ()), WIDTH), "C")

    def _joint_type(self, v: Value) -> Type:
        """The type of what control flow joins: arrays may be views."""
        if not self.found.differs(v):
            return v.type
        ty = self._type(v.type)
        return Array(ty.dtype, ty.dims, "A") if isinstance(v.type, Array) else ty

    def _lengths_of(self, v: Value) -> list[Value]:
        return [self.build.value("dim", [v], INT, axis=k) for k in range(v.type.ndim)]

    def _empty(self, ty: Any, lengths: list[Value], name: str | None) -> Value:
        return self.build.value("empty", [*lengths, self.build.const(WIDTH)], self._type(ty), name=name, order="C")

    def _spread(self, v: Value) -> Value:
        """An array of its own over the turns, of a value that may be the same in all of them."""
        build = self.build
        if self.found.differs(v) and v.type.dtype.kind not in "iu":
            if v in self.narrow:
                return self._padded(self.now[v])
            return build.value("copy", [self.now[v]], self._type(v.type), name=v.name, order="C")
        if not isinstance(v.type, Array):
            value = self._wide(v)
            if isinstance(value.type, Array):
                return value
            return build.value("full", [value, build.const(WIDTH)], self._type(v.type), name=v.name, order="C")
        whole = self._empty(v.type, self._lengths_of(self._same(v)), v.name)
        build.op("assign", [whole, self._wide(v)])
        return whole

    def _as(self, v: Value, place: Value) -> Value:
        """A value where others that differ from turn to turn may stand."""
        if not self.found.differs(place):
            return self._same(v)
        there = self.found.differs(v) and v.type.dtype.kind not in "iu" and v not in self.narrow
        if not there or (isinstance(v.type, Scalar) and self.now[v].type.layout != "C"):
            return self._spread(v)
        return self.now[v]

    # Operations

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op in self.found.carrying:
                continue
            self.build.loc = op.loc
            self._op(op)

    def _op(self, op: Op) -> None:
        found = self.found
        if op.kind == "for":
            self._loop(op)
        elif op.kind == "if":
            self._branch(op)
        elif op.kind == "store":
            self._store(op)
        elif op.kind == "assign":
            self._assign(op)
        elif not found.differs(op.out):
            self._plain(op)
        elif op.out.type.dtype.kind in "iu":
            pass  # made where it is needed
        elif op in found.picked:
            self._picked(op)
        elif op.kind in ("load", "view"):
            self._part(op)
        elif op.kind == "transpose":
            perm = (*op.attrs["perm"], op.out.type.ndim)
            self.now[op.out] = self._transposed(self.now[op.inputs[0]], perm, op.out.name)
            self._stays_narrow(op)
        elif op.kind == "matmul":
            self.now[op.out] = self._matmul(op)
        elif op.row.makes:
            self.now[op.out] = self._new(op)
        else:
            kind = "where" if op.kind == "select" else op.kind
            inputs = [self._wide(v) for v in op.inputs]
            self.now[op.out] = self._made(op, kind, inputs)

    def _made(self, op: Op, kind: str, inputs: list[Value]) -> Value:
        return self.build.value(kind, inputs, self._type(op.out.type), name=op.out.name, **without_labels(op.attrs))

    def _plain(self, op: Op) -> None:
        """The same in all turns."""
        made = self.build.op(
            op.kind, [self._same(v) for v in op.inputs], [v.type for v in op.outputs], **without_labels(op.attrs)
        )
        for old, new in zip(op.outputs, made.outputs, strict=True):
            new.name = old.name
            self.now[old] = new

    def _picked(self, op: Op) -> None:
        """A part that the counter chooses."""
        place = self.found.picked[op]
        if self._has_rows(op):
            rows = self._rows(op.inputs[0], place.axis, place.shift)
            spec, others = self._others(op, place.axis)
            if set(spec) - {":"}:
                rows = self._viewed(rows, spec, others, op)
            self.now[op.out] = rows
            return
        dims = op.out.type.dims if isinstance(op.out.type, Array) else ()
        written = self.found.is_written(op.inputs[0])
        if op.kind == "view" and written:
            self.now[op.out] = self._slice(op, dims)
            self.narrow.add(op.out)
        elif written or self.build.block is not self.head:
            self.now[op.out] = self._padded(self._slice(op, dims))
        else:
            spec, others = self._others(op, place.axis)
            numbers = (v if const_of(v) is None else const_of(v) for v in others)
            key = (self._same(op.inputs[0]), place.axis, place.shift, spec, *numbers)
            if key not in self.seen:
                self.seen[key] = self._padded(self._slice(op, dims))
            self.now[op.out] = self.seen[key]

    def _slice(self, op: Op, dims: tuple[Dim, ...]) -> Value:
        """A view of the parts of the turns that there are, the turns last."""
        build, place = self.build, self.found.picked[op]
        base = self._same(op.inputs[0])
        spec: list[Any] = []
        inputs: list[Value] = [base]
        turns = where = 0
        for axis, entry, ints in entries(op, op.row.indices_at or 0):
            if entry == "i" and axis == place.axis:
                spec.append(("s", True, True, None))
                inputs += self._span(place.shift)
                turns = where
                where += 1
            else:
                spec.append(entry)
                inputs += map(self._same, ints)
                where += entry != "i"
        wide = (*dims[:turns], self.left, *dims[turns:])
        part = build.value("view", inputs, Array(base.type.dtype, wide, "A"), name=op.inputs[0].name, spec=tuple(spec))
        if turns == len(dims):
            return part
        perm = (*(k for k in range(len(wide)) if k != turns), turns)
        return build.value("transpose", [part], Array(base.type.dtype, (*dims, self.left), "A"), perm=perm)

    def _others(self, op: Op, picked: int) -> tuple[tuple[Any, ...], list[Value]]:
        """What is chosen along the other axes."""
        others = [
            (entry, ints) for axis, entry, ints in entries(op, op.row.indices_at or 0) if axis != picked or entry == "n"
        ]
        return tuple(entry for entry, _ in others), [self._same(v) for _, ints in others for v in ints]

    def _viewed(self, base: Value, spec: tuple[Any, ...], indices: list[Value], op: Op) -> Value:
        """A view that keeps the turns."""
        spec = (*spec, *(":",) * (base.type.ndim - 1 - _axes(spec)), ":")
        dims = op.out.type.dims if isinstance(op.out.type, Array) else ()
        layout = "C" if base.type.layout == "C" and _leading(spec) else "A"
        ty = Array(base.type.dtype, (*dims, base.type.dims[-1]), layout)
        attrs = {"inbounds": op.attrs["inbounds"]} if "inbounds" in op.attrs else {}
        return self.build.value("view", [base, *indices], ty, name=op.out.name, spec=spec, **attrs)

    def _padded(self, part: Value) -> Value:
        """A copy of what the turns have, with that of the last one once more for each turn that is missing."""
        build, ndim = self.build, part.type.ndim
        dims = part.type.dims[:-1]
        lengths = [build.value("dim", [part], INT, axis=k) for k in range(ndim - 1)]
        ty = Array(part.type.dtype, (*dims, WIDTH), "C")
        whole = build.value("empty", [*lengths, build.const(WIDTH)], ty, name=part.name, order="C")
        build.op("assign", [self._turns(whole), part])
        rest = self._cut(whole, (self.size, None), Sym())
        one = self._cut(part, (self._int("subtract", self.size, build.const(1)), self.size), 1)
        build.op("assign", [rest, one])
        if any(isinstance(d, Sym) for d in dims):
            return whole
        return build.value("copy", [whole], ty, name=part.name, order="C")  # never written to: it may be a tape's row

    def _turns(self, v: Value) -> Value:
        """Without the repetitions."""
        return self._cut(v, (None, self.size), self.left)

    def _cut(self, v: Value, ends: tuple[Value | None, Value | None], length: Dim) -> Value:
        """Some of the turns of an array."""
        spec = (*(":",) * (v.type.ndim - 1), ("s", ends[0] is not None or None, ends[1] is not None or None, None))
        ty = Array(v.type.dtype, (*v.type.dims[:-1], length), "A")
        return self.build.value("view", [v, *(n for n in ends if n is not None)], ty, name=v.name, spec=spec)

    def _span(self, shift: int) -> tuple[Value, Value]:
        low = self.low if not shift else self._int("add", self.low, self.build.const(shift))
        return low, self._int("add", low, self.size)

    def _rows(self, base: Value, axis: int, shift: int) -> Value:
        """What all turns of a batch read of an array, the turns last, at the beginning of the batch."""
        key = (base, axis, shift)
        if key not in self.rows:
            build = self.build
            loc, build.loc = build.loc, self.loop.loc
            with build.inside(Block()) as here:
                low, high = self._span(shift)
                spec = tuple(("s", True, True, None) if k == axis else ":" for k in range(base.type.ndim))
                dims = tuple(self.left if k == axis else d for k, d in enumerate(base.type.dims))
                part = build.value("view", [base, low, high], Array(base.type.dtype, dims, "A"), spec=spec)
                perm = (*(k for k in range(base.type.ndim) if k != axis), axis)
                if perm != tuple(range(base.type.ndim)):
                    dims = tuple(part.type.dims[k] for k in perm)
                    part = build.value("transpose", [part], Array(base.type.dtype, dims, "A"), perm=perm)
                part.name = base.name
                self.rows[key] = self._padded(part)
            build.loc = loc
            at = self.head.ops.index(self.last.op) + 1  # pyright: ignore[reportArgumentType]
            for made in here.ops:
                for v in made.outputs:
                    v.block = self.head
            self.head.ops[at:at] = here.ops
        return self.rows[key]

    def _elements(self, op: Op, base: Value, indices: list[Value]) -> Value:
        """One number of each turn, as a view."""
        attrs = {"inbounds": op.attrs["inbounds"]} if "inbounds" in op.attrs else {}
        spec = (*("i",) * len(indices), ":")
        layout = "C" if base.type.layout == "C" else "A"
        ty = Array(base.type.dtype, (base.type.dims[-1],), layout)
        return self.build.value("view", [base, *indices], ty, name=op.inputs[0].name, spec=spec, **attrs)

    def _part(self, op: Op) -> None:
        """A part of what has the turns as its last axis."""
        base = self.now[op.inputs[0]]
        indices = [self._same(v) for v in op.inputs[1:]]
        if op.kind == "load":
            part = self._elements(op, base, indices) if indices else base
            if op.inputs[0] in self.narrow:
                part = self._padded(part)
            elif self.found.written_between(op):
                part = self.build.value("copy", [part], self._type(op.out.type), name=op.out.name, order="C")
        else:
            part = self._viewed(base, op.attrs["spec"], indices, op)
            self._stays_narrow(op)
        self.now[op.out] = part

    def _store(self, op: Op) -> None:
        array, value = op.inputs[:2]
        if op in self.found.picked:
            place = self._slice(op, ())
        elif self.found.differs(array):
            base = self.now[array]
            indices = [self._same(v) for v in op.inputs[2:]]
            place = self._elements(op, base, indices) if indices else base
        else:
            self._plain(op)
            return
        self._write(place, self._wide(value))

    def _assign(self, op: Op) -> None:
        target, source = op.inputs
        if not self.found.differs(target):
            self._plain(op)
            return
        self._write(self.now[target], self._wide(source))

    def _write(self, place: Value, value: Value) -> None:
        narrow = place.type.dims[-1] is self.left
        if narrow and isinstance(value.type, Array) and value.type.ndim and value.type.dims[-1] == WIDTH:
            value = self._turns(value)
        self.build.op("assign", [place, value])

    def _stays_narrow(self, op: Op) -> None:
        if op.inputs[0] in self.narrow:
            self.narrow.add(op.out)

    def _new(self, op: Op) -> Value:
        """An array that each turn makes."""
        name = op.out.name
        if op.kind == "copy":
            return self._spread(op.inputs[0])
        if op.row.like is not None:
            lengths = self._lengths_of(self._same(op.inputs[0]))[: op.out.type.ndim]
        else:
            lengths = [self._same(v) for v in op.inputs[op.row.lengths_at :]]
        if op.row.fill == "value" and self.found.differs(op.inputs[0]):
            whole = self._empty(op.out.type, lengths, name)
            self._write(whole, self._wide(op.inputs[0]))
            return whole
        first = [self._same(op.inputs[0])] if op.row.fill == "value" else []
        kind = {"anything": "empty", "zeros": "zeros", "value": "full"}[op.row.fill or ""]
        lengths.append(self.build.const(WIDTH))
        return self.build.value(kind, [*first, *lengths], self._type(op.out.type), name=name, order="C")

    def _matmul(self, op: Op) -> Value:
        a, b = op.inputs
        if a.type.ndim == b.type.ndim == 1:
            ty = self._type(a.type)
            both = self.build.value("multiply", [self._wide(a), self._wide(b)], ty)
            return self.build.value("sum", [both], self._type(op.out.type), name=op.out.name, axes=(0,), keepdims=False)
        if a.type.ndim == 2:
            return self._made(op, "matmul", [self._same(a), self._wide(b)])
        turned = self._transposed(self._same(b), (1, 0))
        return self._made(op, "matmul", [turned, self._wide(a)])

    # Control flow

    def _branch(self, op: Op) -> None:
        if op in self.found.chosen:
            for region in op.regions:
                self._block(region)
            test = self.now[op.inputs[0]]
            for k, out in enumerate(op.outputs):
                ends = [self._wide(r.results[k]) for r in op.regions]
                self.now[out] = self.build.value("where", [test, *ends], self._type(out.type), name=out.name)
            return
        regions = [Block(), Block()]
        for region, made in zip(op.regions, regions, strict=True):
            with self.build.inside(made):
                self._block(region)
                made.results = [self._as(v, out) for v, out in zip(region.results, op.outputs, strict=True)]
        self._joined(op, [self._same(op.inputs[0])], regions, op.outputs)

    def _loop(self, op: Op) -> None:
        body = Block()
        old = op.regions[0]
        counter = self.now[old.args[0]] = Value(INT, old.args[0].name)
        counter.block = body
        body.args.append(counter)
        inputs = [self._same(v) for v in op.inputs[:3]]
        added: set[int] = set()
        for k, first in enumerate(initial(op)):
            arg, out = old.args[k + 1], op.outputs[k]
            if self.found.differs(out) and self.found.adds(op, k):
                inside = first in self.sums
                self.now[arg] = self.now[out] = self.now[first] if inside else self._spread(first)
                self.sums.add(arg)
                added.add(k)
                continue
            inputs.append(self._as(first, out))
            new = self.now[arg] = Value(self._joint_type(out), arg.name)
            new.block = body
            body.args.append(new)
        with self.build.inside(body):
            for inner in old.ops:
                self.build.loc = inner.loc
                if inner in self.found.totals:
                    arg = next(v for v in inner.inputs if v in self.sums)
                    place = self.now[arg]
                    operands = [place if v is arg else self._wide(v) for v in inner.inputs]
                    self._write(place, self._made(inner, inner.kind, operands))
                    self.now[inner.out] = place
                else:
                    self._op(inner)
            kept = [k for k in range(len(op.outputs)) if k not in added]
            body.results = [self._as(old.results[k], op.outputs[k]) for k in kept]
        self._joined(op, inputs, [body], [op.outputs[k] for k in kept])

    def _joined(self, op: Op, inputs: list[Value], regions: list[Block], outs: list[Value]) -> None:
        types = [self._joint_type(v) for v in outs]
        made = self.build.op(op.kind, inputs, types, regions=regions, **without_labels(op.attrs))
        for old, new in zip(outs, made.outputs, strict=True):
            new.name = old.name
            self.now[old] = new


def _axes(spec: Any) -> int:
    return sum(entry != "n" for entry in spec)


def _leading(spec: Any) -> bool:
    """Whether a view takes all of some first elements."""
    entries = list(spec)
    while entries and entries[0] == "i":
        entries.pop(0)
    return all(entry == ":" for entry in entries)
