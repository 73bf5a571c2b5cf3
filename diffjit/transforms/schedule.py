"""The way there with snapshots, and the way back from them: binomial checkpointing.

For a loop of n steps and room for s snapshots, a snapshot is taken at step m, so that the last n - m steps are reversed
with s - 1 snapshots, and the first m with all s. With beta(s, r) = (s + r)! / (s! r!) and the least r for which
beta(s, r) >= n, no step is run more than r times if m is chosen between beta(s, r - 2) and beta(s, r - 1) and n - m
between beta(s - 1, r - 1) and beta(s - 1, r), and no schedule runs fewer steps in all (Griewank and Walther, "Algorithm
799: revolve", ACM Transactions on Mathematical Software 26, 2000).

way there                                   way back
    at = 0                                      for t = n - 1 ... 0:
    while at < n:                                   state = the last snapshot
        take a snapshot                             while at < t:
        run to at + m(n - at, free)                     run to at + m(t + 1 - at, free), take a snapshot
        (to n - 1 where none is free)               the pullback of step t; drop the snapshot if it was at t

Where `break` ends a loop without a known length, the way there only has its first snapshot: the way back knows the
length, and runs one sweep more in all than if it had been known before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffjit.analysis.activity import Activity
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.ir.build import Builder
from diffjit.ir.nodes import WRITES, Block, Function, Value, is_const, is_view
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym, is_float
from diffjit.ir.walk import clone_op, has_exit, initial, walk
from diffjit.transforms.outlined import clone_silently, own, zeros
from diffjit.transforms.step import StepBack, step_back
from diffjit.transforms.timeloop import BUDGET, TimeLoop, overlap

LONGEST = 2**40  # steps that a schedule is made for: a loop that only `break` ends has no length beforehand


@dataclass(slots=True, eq=False)
class Storage:
    """Room for snapshots: numbers of one type in the rows of one array, an array for each array of the state."""

    packs: dict[np.dtype[Any], Value] = field(default_factory=dict[np.dtype[Any], Value])
    arrays: list[Value] = field(default_factory=list[Value])
    places: Value | None = None  # the steps that the snapshots were taken before

    def values(self) -> list[Value]:
        """All of it, in a fixed order."""
        assert self.places is not None
        return [*self.packs.values(), *self.arrays, self.places]


class Schedule:
    """Builds both functions of one loop."""

    def __init__(self, made: TimeLoop) -> None:
        self.made = made
        self.loop, self.body = made.loop, made.loop.regions[0]
        self.build = Builder()
        self.mapping: dict[Value, Value] = {}
        self.memory = Memory(made.function, Order(made.function))
        self.args = self.body.args[1:]
        read = {v for values in _read(self.body) for v in values}
        self.live = live = [k for k, a in enumerate(self.args) if a in read]  # others are new in each step
        self.numbers = [k for k in live if isinstance(self.args[k].type, Scalar)]
        self.carried = [k for k in live if isinstance(self.args[k].type, Array)]
        self.restored = [v for v in made.memories if self._is_read(v)]
        self.quiet = False  # a step that is run again prints nothing

    def _is_read(self, v: Value) -> bool:
        """Whether steps read what earlier ones have written: an array of results need not be restored."""
        for op in walk(self.body):
            for k, i in enumerate(op.inputs):
                if not isinstance(i.type, Array) or self.memory.find(i) != self.memory.find(v):
                    continue
                if not (op.kind in ("dim", "stride") or is_view(op) or (op.kind in _PLAIN and k in WRITES[op.kind])):
                    return True
                if op.kind in ("store", "assign", "mask_set", "scatter") and k != 0:
                    return True
        return False

    def is_new(self, k: int) -> bool:
        """Whether an array that is carried is made anew in each step, without a look at the last one."""
        return k not in self.live and isinstance(self.args[k].type, Array)

    # Pieces

    def begin(self, name: str) -> Function:
        """A function with the loop's parameters, and what stands before the loop."""
        f = self.made.function
        self.mapping = {}
        params = [Value(p.type, p.name) for p in f.params]
        self.mapping.update(zip(f.params, params, strict=True))
        made = Function(name, params, Block(), "", f.source_file, f.source_line, f.comments)
        made.writes, made.returns_views = frozenset(), frozenset()
        self.build = Builder(made.body)
        for op in f.body.ops:
            if op is self.loop:
                break
            clone_op(op, self.mapping, made.body)
        self.build.loc = self.loop.loc
        return made

    def of(self, v: Value) -> Value:
        """A value of the loop's function in the one that is built."""
        return self.mapping.get(v, v)

    def int(self, kind: str, a: Value, b: Value, name: str | None = None) -> Value:
        """Arithmetic on counters."""
        return self.build.value(kind, [a, b], INT, nowrap=True, name=name)

    def less(self, a: Value, b: Value) -> Value:
        """a < b."""
        return self.build.value("less", [a, b], BOOL)

    def branch(self, cond: Value, action: Any) -> None:
        """Do something under a condition."""
        then = Block()
        with self.build.inside(then):
            action()
        self.build.op("if", [cond], regions=[then, Block()])

    def index(self, k: Value) -> Value:
        """The loop's counter in iteration k."""
        start, _, step = (self.of(b) for b in self.loop.inputs[:3])
        return self.int("add", start, self.int("multiply", k, step))

    def step(self, k: Value, carried: list[Value]) -> tuple[Value | None, list[Value]]:
        """One step; whether it leaves the loop, and what it hands on."""
        mapping = dict(self.mapping)
        mapping[self.body.args[0]] = self.index(k)
        mapping.update(zip(self.args, carried, strict=True))
        for op in self.body.ops:
            if self.quiet:
                clone_silently(op, mapping, self.build.block)
            else:
                clone_op(op, mapping, self.build.block)
        results = [mapping.get(v, v) for v in self.body.results]
        skip = has_exit(self.loop)
        return (results[0] if skip else None), results[skip:]

    def run(self, start: Value, stop: Value, carried: list[Value], *, ends: bool) -> list[Value]:
        """The steps from one to another. With `ends`, also how many ran and whether the loop was left."""
        block = Block([Value(INT, "t"), *(Value(a.type, a.name) for a in self.args)])
        extra = [self.build.const(0), self.build.const(False)] if ends else []
        with self.build.inside(block):
            leave, nexts = self.step(block.args[0], block.args[1:])
            block.results = nexts
            if ends:
                ran = Value(INT, "ran")
                block.args += [ran, Value(BOOL, "left")]
                assert leave is not None
                block.results = [leave, *nexts, self.int("add", ran, self.build.const(1)), leave]
        op = self.build.op(
            "for", [start, stop, self.build.const(1), *carried, *extra], [a.type for a in block.args[1:]],
            regions=[block], exit=ends, reverse=False,
        )  # fmt: skip
        for out, arg in zip(op.outputs, block.args[1:], strict=True):
            out.name = arg.name
        return op.outputs

    def distance(self, length: Value, room: Value) -> Value:
        """How far to run before the next snapshot (at least one, at most length - 1), with two or more free places."""
        zero, one = self.build.const(0), self.build.const(1)
        cond = Block([Value(INT, "r"), Value(INT, "low"), Value(INT, "high")])
        body = Block([Value(INT, "r"), Value(INT, "low"), Value(INT, "high")])
        with self.build.inside(cond):
            cond.results = [self.less(cond.args[2], length)]
        with self.build.inside(body):
            r, _, high = body.args
            more = self.int("add", r, self.build.const(1))
            grown = self.int("multiply", high, self.int("add", room, more))
            body.results = [more, high, self.int("floor_divide", grown, more)]
        op = self.build.op("while", [zero, zero, one], [INT, INT, INT], regions=[cond, body], exit=False)
        r, low, _ = op.outputs
        # beta(s - 1, r - 1) = beta(s, r - 1) s / (s + r - 1)
        part = self.int("subtract", self.int("add", room, r), one)
        last = self.int("floor_divide", self.int("multiply", low, room), part)
        far = self.build.value("minimum", [low, self.int("subtract", length, last)], INT)
        return self.build.value("maximum", [far, one], INT)

    # Snapshots

    def room(self, n: Value, carried: list[Value]) -> Value:
        """How many snapshots fit, beside the state before the last step, with which the way back begins."""
        kind, amount = self.loop.attrs[BUDGET]
        most = self.build.const(amount)
        if kind == "bytes":
            size = self.build.const(8 + sum(self.args[k].type.dtype.itemsize for k in self.numbers))
            for v in [*(carried[k] for k in self.carried), *map(self.of, self.restored)]:
                held = self.build.const(v.type.dtype.itemsize)
                for axis in range(v.type.ndim):
                    held = self.int("multiply", held, self.build.value("dim", [v], INT, axis=axis))
                size = self.int("add", size, held)
            most = self.int("subtract", self.int("floor_divide", most, size), self.build.const(1))
        fit = self.build.value("minimum", [most, n], INT)
        return self.build.value("maximum", [fit, self.build.const(1)], INT)

    def allocate(self, room: Value, carried: list[Value]) -> Storage:
        """Memory for snapshots."""
        storage, slots = Storage(), Sym()
        for dtype in dict.fromkeys(self.args[k].type.dtype for k in self.numbers):
            width = self.build.const(len(self._row(dtype)))
            ty = Array(dtype, (slots, Sym()), "C")
            storage.packs[dtype] = self.build.value("empty", [room, width], ty, order="C", name="snapshots")
        for v in [*(carried[k] for k in self.carried), *map(self.of, self.restored)]:
            lengths = [self.build.value("dim", [v], INT, axis=axis) for axis in range(v.type.ndim)]
            ty = Array(v.type.dtype, (slots, *v.type.dims), "C")
            name = f"{v.name}_snapshots" if v.name else None
            storage.arrays.append(self.build.value("empty", [room, *lengths], ty, order="C", name=name))
        ints = Array(np.dtype(np.int64), (slots,), "C")
        storage.places = self.build.value("empty", [room], ints, order="C", name="taken_at")
        return storage

    def _row(self, dtype: np.dtype[Any]) -> list[int]:
        return [k for k in self.numbers if self.args[k].type.dtype == dtype]

    def _stored(self, array: Value, slot: Value, like: Value) -> Value:
        ty = Array(array.type.dtype, like.type.dims, "C")
        return self.build.value("view", [array, slot], ty, spec=("i", *(":" for _ in like.type.dims)), inbounds=True)

    def save(self, storage: Storage, slot: Value, at: Value, carried: list[Value]) -> None:
        """Take a snapshot."""
        assert storage.places is not None
        self.build.op("store", [storage.places, at, slot], inbounds=True)
        for dtype, pack in storage.packs.items():
            for j, k in enumerate(self._row(dtype)):
                self.build.op("store", [pack, carried[k], slot, self.build.const(j)], inbounds=True)
        self.refuse_overlaps(carried)
        arrays = iter(storage.arrays)
        for k in self.carried:
            array = next(arrays)
            self._refuse_length(array, carried[k], known=not _is_undefined(initial(self.loop)[k]))
            self.build.op("assign", [self._stored(array, slot, self.args[k]), carried[k]])
        for v, array in zip(self.restored, arrays, strict=True):
            self.build.op("assign", [self._stored(array, slot, v), self.of(v)])

    def _refuse_length(self, array: Value, v: Value, *, known: bool) -> None:
        """A snapshot has the lengths that the array had at first. `known`: types say what is known of them."""
        wrong: Value | None = None
        for axis, (a, b) in enumerate(zip(array.type.dims[1:], v.type.dims, strict=True)):
            if a == b and known:
                continue
            found = [self.build.value("dim", [x], INT, axis=axis + d) for x, d in ((array, 1), (v, 0))]
            other = self.build.value("not_equal", found, BOOL)
            wrong = other if wrong is None else self.build.value("logical_or", [wrong, other], BOOL)
        if wrong is not None:
            text = f"a checkpointed loop changes the shape of `{v.name or 'an array'}` that it carries [DJ406]"
            self.branch(wrong, lambda: self.build.op("raise", [], exception=ValueError, parts=(text,)))

    def refuse_overlaps(self, carried: list[Value]) -> None:
        """Arrays that a step changes are restored one by one: no two of them may be one at the start of a step."""
        for j, k in enumerate(self.carried):
            for other in self.carried[:j]:
                a, b = self.args[k], self.args[other]
                if self.memory.find(a) == self.memory.find(b) and self.memory.written(a):
                    overlap(self.build, carried[k], carried[other])

    def load(self, storage: Storage, slot: Value) -> list[Value]:
        """Go back to a snapshot."""
        carried: dict[int, Value] = {}
        for dtype, pack in storage.packs.items():
            for j, k in enumerate(self._row(dtype)):
                v = self.build.value("load", [pack, slot, self.build.const(j)], Scalar(dtype), inbounds=True)
                ty = self.args[k].type
                carried[k] = v if v.type == ty else self.build.value("cast", [v], ty)
        arrays = iter(storage.arrays)
        for k in self.carried:
            view, ty = self._stored(next(arrays), slot, self.args[k]), self.args[k].type
            carried[k] = self.build.value("copy", [view], ty, order="C" if ty.layout == "A" else ty.layout)
        for v, array in zip(self.restored, arrays, strict=True):
            self.build.op("assign", [self.of(v), self._stored(array, slot, v)])
        first = initial(self.loop)
        return [carried[k] if k in carried else self.of(first[k]) for k in range(len(self.args))]

    # The way there

    def ahead(self) -> Function:
        """The loop with snapshots: its results, then the snapshots, how many there are, and the number of steps."""
        f = self.begin(f"{self.made.function.name}_ahead")
        build = self.build
        bounds = [self.of(b) for b in self.loop.inputs[:3]]
        first = [self.of(v) for v in initial(self.loop)]
        n = build.value("trip", bounds, INT)
        n = build.value("minimum", [n, build.const(LONGEST)], INT) if has_exit(self.loop) else n
        room = self.room(n, first)
        storage = self.allocate(self.int("add", room, build.const(1)), first)
        ends = bool(has_exit(self.loop))
        names = ["at", "taken", *(a.name for a in self.args), "left"]
        types = [INT, INT, *(a.type for a in self.args), BOOL]
        cond, body = (Block([Value(ty, name) for ty, name in zip(types, names, strict=True)]) for _ in range(2))
        with build.inside(cond):
            on = build.value("logical_not", [cond.args[-1]], BOOL)
            cond.results = [build.value("logical_and", [on, self.less(cond.args[0], n)], BOOL)]
        with build.inside(body):
            at, taken, *carried = body.args[:-1]
            self.save(storage, taken, at, carried)
            free = self.int("subtract", room, taken)
            left = self.int("subtract", n, at)
            rest = build.value("maximum", [self.int("subtract", left, build.const(1)), build.const(1)], INT)
            stop = self.int("add", at, self.chunk(left, free, rest))
            outs = self.run(at, stop, carried, ends=ends)
            done = outs[-1] if ends else build.const(False)
            now = self.int("add", at, outs[-2]) if ends else stop
            body.results = [now, self.int("add", taken, build.const(1)), *outs[: len(self.args)], done]
        zero = build.const(0)
        op = build.op("while", [zero, zero, *first, build.const(False)], types, regions=[cond, body], exit=False)
        ran, taken, *outs = op.outputs[:-1]
        self.mapping.update(zip(self.loop.outputs, outs, strict=True))
        ops = self.made.function.body.ops
        for op in ops[ops.index(self.loop) + 1 :]:
            clone_op(op, self.mapping, f.body)
        f.body.results = own([*outs, *map(self.of, self.made.memories)], f)
        f.body.results += [*storage.values(), taken, ran]
        return f

    def chunk(self, length: Value, room: Value, all_of_it: Value) -> Value:
        """How far to run to the next snapshot; all of it where there is no room for another, or one step is left."""
        one = self.build.const(1)
        several = self.build.value("minimum", [length, room], INT)
        then, other = Block(), Block([])
        with self.build.inside(then):
            then.results = [self.distance(length, room)]
        other.results = [all_of_it]
        op = self.build.op("if", [self.less(one, several)], [INT], regions=[then, other])
        return op.outputs[0]

    # The way back

    def back(self) -> tuple[Function, list[Value]]:
        """The loop's pullback; the cotangents that it takes.

        Parameters: those of the loop, what `ahead` returns beside results, cotangents of the results that are floats.
        Results: cotangents of the parameters `wrt`.
        """
        self.quiet = True
        f = self.begin(f"{self.made.function.name}_back")
        build, source = self.build, self.made.function
        activity = Activity(source, self.memory, [source.params[k] for k in self.made.wrt], list(source.results))
        carried = [self.of(v) for v in initial(self.loop)]
        given = self._parameters(carried)
        results = [v for v in source.results if is_float(v.type)]
        bars = {v: Value(v.type, f"{v.name}_bar" if v.name else None) for v in results}
        taken, ran = Value(INT, "taken"), Value(INT, "ran")
        f.params += [*given.values(), taken, ran, *bars.values()]
        storage = self._own(given)
        outer, step = self.step_function()
        state = len(self.args)
        pairs = zip(self.args, self.loop.outputs, strict=True)
        active = {k for k, both in enumerate(pairs) if any(map(activity.active, both))}
        active |= {state + 2 + j for j, v in enumerate(outer) if activity.active(v)}
        back = step_back(step, active, state)
        pulled = _Pulled(self, back, outer, bars)
        inits = pulled.begin()
        block = Block([Value(INT, "t"), Value(INT, "taken"), *(Value(v.type, v.name) for v in inits)])
        with build.inside(block):
            t, count = block.args[:2]
            count, now = self.restore(storage, t, count)
            self.refuse_overlaps(now)
            final = build.value("equal", [self.int("add", t, build.const(1)), ran], BOOL)
            nexts = pulled.step(t, final, now, block.args[2:])
            top = self.int("subtract", count, build.const(1))
            at = build.value("load", [storage.places, top], Scalar(np.dtype(np.int64)), inbounds=True)  # pyright: ignore[reportArgumentType]
            spent = build.value("equal", [at, t], BOOL)
            block.results = [build.value("select", [spent, top, count], INT), *nexts]
        op = build.op(
            "for", [build.const(0), ran, build.const(1), taken, *inits], [INT, *(v.type for v in inits)],
            regions=[block], exit=False, reverse=True,
        )  # fmt: skip
        f.body.results = pulled.gradients(op.outputs[1:], build.value("equal", [ran, build.const(0)], BOOL))
        return f, list(bars.values())

    def _parameters(self, carried: list[Value]) -> Storage:
        """The snapshots as parameters."""
        before, self.build = self.build, Builder()
        made = self.allocate(self.build.const(1), carried)
        self.build = before
        for v in made.values():
            v.op = None
        return made

    def _own(self, given: Storage) -> Storage:
        """Snapshots that may be overwritten."""

        def own(v: Value) -> Value:
            return self.build.value("copy", [v], v.type, order="C", name=v.name, spent=True)

        assert given.places is not None
        packs = {dtype: own(v) for dtype, v in given.packs.items()}
        return Storage(packs, [own(v) for v in given.arrays], own(given.places))

    def restore(self, storage: Storage, t: Value, count: Value) -> tuple[Value, list[Value]]:
        """The state before step t, from the last snapshot; further ones are taken on the way."""
        build = self.build
        assert storage.places is not None
        one = build.const(1)
        top = self.int("subtract", count, one)
        room = self.int("subtract", build.value("dim", [storage.places], INT, axis=0), one)
        at = build.value(
            "cast", [build.value("load", [storage.places, top], Scalar(np.dtype(np.int64)), inbounds=True)], INT
        )
        state = self.load(storage, top)
        names = ["at", "taken", *(a.name for a in self.args)]
        types = [INT, INT, *(a.type for a in self.args)]
        cond, body = (Block([Value(ty, name) for ty, name in zip(types, names, strict=True)]) for _ in range(2))
        with build.inside(cond):
            cond.results = [self.less(cond.args[0], t)]
        with build.inside(body):
            now, taken, *carried = body.args
            left = self.int("subtract", t, now)
            free = self.int("add", self.int("subtract", room, taken), one)
            stop = self.int("add", now, self.chunk(self.int("add", left, one), free, left))
            outs = self.run(now, stop, carried, ends=False)
            short = self.less(stop, t)
            self.branch(short, lambda: self.save(storage, taken, stop, outs))
            more = build.value("select", [short, self.int("add", taken, one), taken], INT)
            body.results = [stop, more, *outs]
        op = build.op("while", [at, count, *state], types, regions=[cond, body], exit=False)
        return op.outputs[1], op.outputs[2:]

    def step_function(self) -> tuple[list[Value], Function]:
        """One step as a function: of what is carried, the counter, whether it is the last, and what it reads outside.

        What each step makes anew is the last step's result alone, and of its shape: other steps hand on what they got.
        """
        made = set(self.body.args) | {v for o in walk(self.body) for v in o.outputs}
        made |= {a for o in walk(self.body) for r in o.regions for a in r.args}
        read: dict[Value, None] = {}
        for values in _read(self.body):
            read.update(dict.fromkeys(v for v in values if v not in made))
        constants = [v for v in read if is_const(v)]
        outer = [v for v in read if not is_const(v)]
        mapping: dict[Value, Value] = {}
        last = Value(BOOL, "last")
        params = [Value(v.type, v.name) for v in (*self.args, self.body.args[0], last, *outer)]
        mapping.update(zip((*self.args, self.body.args[0], last, *outer), params, strict=True))
        body = Block()
        for op in [*(v.op for v in constants), *self.body.ops]:
            assert op is not None
            clone_silently(op, mapping, body)
        body.results = [mapping.get(v, v) for v in self.body.results[has_exit(self.loop) :]]
        build = Builder(body)
        for k, v in enumerate(body.results):
            if self.is_new(k):
                sides = [Block([], [], [v]), Block([], [], [params[k]])]
                op = build.op("if", [mapping[last]], [self.args[k].type], regions=sides)
                body.results[k] = op.out
        f = self.made.function
        return outer, Function(f"{f.name}_step", params, body, "", f.source_file, f.source_line, f.comments)


class _Pulled:
    """Cotangents on the way back: of what is carried, in values; of arrays from outside, in buffers."""

    def __init__(self, schedule: Schedule, back: StepBack, outer: list[Value], bars: dict[Value, Value]) -> None:
        self.schedule, self.back, self.outer, self.bars = schedule, back, outer, bars
        self.state = len(schedule.args)
        self.slots = back.carried  # parameters of the step whose cotangents are values
        self.buffers: list[Value] = []

    def begin(self) -> list[Value]:
        """The cotangents before the way back."""
        s = self.schedule
        outs = s.made.function.results
        for k in self.back.buffers:
            v = self.outer[k - self.state - 2]
            where = s.made.memories.index(v) if v in s.made.memories else None
            bar = None if where is None else self.bars.get(outs[self.state + where])
            ty = v.type
            if bar is None:
                made = s.build.value("zeros_like", [s.of(v)], ty, name=_bar(v))
            else:
                made = s.build.value("copy", [bar], ty, order="K" if ty.layout == "A" else ty.layout, name=_bar(v))
            self.buffers.append(made)
        inits: list[Value] = []
        for k in self.slots:
            if k >= self.state:
                inits.append(s.build.const(0.0, self.outer[k - self.state - 2].type))
                inits[-1].name = _bar(self.outer[k - self.state - 2])
                continue
            bar = self.bars[outs[k]]
            ty = s.args[k].type
            if isinstance(ty, Array):
                bar = s.build.value(
                    "copy", [bar], ty, order="K" if ty.layout == "A" else ty.layout, name=_bar(s.args[k])
                )
            inits.append(bar)
        return inits

    def step(self, t: Value, last: Value, carried: list[Value], bars: Sequence[Value]) -> list[Value]:
        """The pullback of one step."""
        s, f = self.schedule, self.back.function
        have = dict(zip(self.slots, bars, strict=True))
        seeds = [have[k] for k in self.back.seeds]
        carried = [have[k] if k in have and s.is_new(k) else v for k, v in enumerate(carried)]  # for its shape alone
        given = [*carried, s.index(t), last, *map(s.of, self.outer), *seeds, *self.buffers]
        mapping = dict(zip(f.params, given, strict=True))
        for op in f.body.ops:
            clone_op(op, mapping, s.build.block)
        nexts: list[Value] = []
        for k, v in zip(self.slots, f.results, strict=True):
            g = mapping.get(v, v)
            if k >= self.state:
                g = s.build.value("add", [have[k], g], g.type, name=have[k].name)
            nexts.append(g)
        return nexts

    def _unless_new(self, k: int, bar: Value, v: Value, stood: Value) -> Value:
        """Nothing comes back to the first of arrays that each step makes anew, if a step ran."""
        s = self.schedule
        if k >= self.state or not s.is_new(k):
            return bar
        none = Block()
        with s.build.inside(none):
            none.results = [zeros(s.build, s.of(v))]
        return s.build.op("if", [stood], [s.args[k].type], regions=[Block([], [], [bar]), none]).out

    def gradients(self, outs: list[Value], stood: Value) -> list[Value]:
        """The cotangents of the loop's parameters; `stood`: no step ran."""
        s = self.schedule
        f = s.made.function
        parts: dict[Value, list[Value]] = {}
        for k, out in zip(self.slots, outs, strict=True):
            v = initial(s.loop)[k] if k < self.state else self.outer[k - self.state - 2]
            parts.setdefault(_origin(v), []).append(self._unless_new(k, out, v, stood))
        for k, g in zip(self.back.buffers, self.buffers, strict=True):
            parts.setdefault(_origin(self.outer[k - self.state - 2]), []).append(g)
        found: list[Value] = []
        for k in s.made.wrt:
            p = f.params[k]
            total: Value | None = None
            for g in parts.get(p, ()):
                if total is None:
                    total = g
                elif isinstance(g.type, Array):
                    total = s.build.value("add", [total, g], Array(g.type.dtype, p.type.dims, "C"), name=_bar(p))
                else:
                    total = s.build.value("add", [total, g], p.type, name=_bar(p))
            found.append(zeros(s.build, s.of(p)) if total is None else total)
        return found


_PLAIN = frozenset({"store", "assign", "scatter", "mask_set"})


def _read(block: Block) -> list[list[Value]]:
    """What a block reads."""
    found = [list(block.results)]
    for op in block.ops:
        found.append(list(op.inputs))
        for region in op.regions:
            found += _read(region)
    return found


def _is_undefined(v: Value) -> bool:
    return v.op is not None and v.op.kind == "undef"


def _bar(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None


def _origin(v: Value) -> Value:
    """The parameter that a copy on entry is of."""
    return v.op.inputs[0] if v.op is not None and v.op.kind == "copy" else v
