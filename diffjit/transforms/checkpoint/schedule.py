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

Where `break` may end a loop, the way there is that of `transforms.checkpoint.online`.
"""

from __future__ import annotations

from collections.abc import Sequence

from diffjit.analysis.activity import Activity
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Value, is_const
from diffjit.ir.types import BOOL, INT, Array, is_float
from diffjit.ir.walk import clone_op, has_exit, initial, walk
from diffjit.transforms.checkpoint.online import Online
from diffjit.transforms.checkpoint.snapshots import HELD, Held, Steps, Storage, reads
from diffjit.transforms.checkpoint.step import StepBack, step_back
from diffjit.transforms.outlined import clone_silently, own, turned

LONGEST = 2**40  # steps that a schedule is made for: a loop that only `break` ends has no length beforehand


class Schedule(Steps):
    """Builds both functions of one loop."""

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

    # The way there

    def ahead(self) -> Function:
        """The loop with snapshots: its results, then the snapshots, where they are, and the number of steps."""
        f = self.begin(f"{self.made.function.name}_ahead")
        build = self.build
        bounds = [self.of(b) for b in self.loop.inputs[:3]]
        first = [self.of(v) for v in initial(self.loop)]
        n = build.value("trip", bounds, INT)
        n = build.value("minimum", [n, build.const(LONGEST)], INT) if has_exit(self.loop) else n
        room = self.room(n, first)
        slots = self.int("add", room, build.const(1))
        storage = self.allocate(slots, first)
        if has_exit(self.loop):
            ran, held, outs = Online(self, storage, slots).steps(n, first)
        else:
            ran, held, outs = self._planned(storage, room, n, first)
        self.mapping.update(zip(self.loop.outputs, outs, strict=True))
        ops = self.made.function.body.ops
        for op in ops[ops.index(self.loop) + 1 :]:
            clone_op(op, self.mapping, f.body)
        f.body.results = own([*outs, *map(self.of, self.made.memories)], f)
        f.body.results += [*storage.values(), *held.values(), ran]
        return f

    def _planned(self, storage: Storage, room: Value, n: Value, first: list[Value]) -> tuple[Value, Held, list[Value]]:
        """All of a known number of steps, with the snapshots of revolve."""
        one = self.build.const(1)

        def piece(now: list[Value]) -> list[Value]:
            at, *carried = now
            held, state = Held(*carried[:4]), list(carried[4:])
            free, left = self.int("subtract", room, held.taken), self.int("subtract", n, at)
            held = self.push(storage, held)
            self.save(storage, held.top, at, state)
            rest = self.build.value("maximum", [self.int("subtract", left, one), one], INT)
            stop = self.int("add", at, self.chunk(left, free, rest))
            return [stop, *held.values(), *self.run(at, stop, state, ends=False)]

        names = ["at", *HELD, *(a.name for a in self.args)]
        begin = [self.build.const(0), *self.nothing().values(), *first]
        ran, *outs = self.repeat(begin, names, lambda now: self.less(now[0], n), piece, state=5)
        return ran, Held(*outs[:4]), outs[4:]

    def chunk(self, length: Value, room: Value, all_of_it: Value) -> Value:
        """How far to run to the next snapshot; all of it where there is no room for another, or one step is left."""
        several = self.less(self.build.const(1), self.build.value("minimum", [length, room], INT))
        return self.choose(several, lambda: [self.distance(length, room)], lambda: [all_of_it], [INT])[0]

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
        held, ran = Held(*(Value(INT, name) for name in HELD)), Value(INT, "ran")
        f.params += [*given.values(), *held.values(), ran, *bars.values()]
        storage = self._own(given)
        outer, step = self.step_function()
        state = len(self.args)
        pairs = zip(self.args, self.loop.outputs, strict=True)
        active = {k for k, both in enumerate(pairs) if any(map(activity.active, both))}
        active |= {state + 2 + j for j, v in enumerate(outer) if activity.active(v)}
        back = step_back(step, active, state)
        pulled = _Pulled(self, back, outer, bars)
        inits = pulled.begin()
        block = Block([Value(INT, name) for name in ("t", *HELD)] + [Value(v.type, v.name) for v in inits])
        with build.inside(block):
            t = block.args[0]
            now_held, now = self.restore(storage, t, Held(*block.args[1:5]))
            self.refuse_overlaps(now)
            final = build.value("equal", [self.int("add", t, build.const(1)), ran], BOOL)
            nexts = pulled.step(t, final, now, block.args[5:])
            spent = build.value("equal", [self.read(storage.places, now_held.top), t], BOOL)
            block.results = [*self.pop(storage, now_held, spent).values(), *nexts]
        op = build.op(
            "for", [build.const(0), ran, build.const(1), *held.values(), *inits],
            [*(INT for _ in HELD), *(v.type for v in inits)],
            regions=[block], exit=False, reverse=True,
        )  # fmt: skip
        f.body.results = pulled.gradients(op.outputs[4:], build.value("equal", [ran, build.const(0)], BOOL))
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

        packs = {dtype: own(v) for dtype, v in given.packs.items()}
        return Storage(packs, [own(v) for v in given.arrays], own(given.places), own(given.previous))

    def restore(self, storage: Storage, t: Value, held: Held) -> tuple[Held, list[Value]]:
        """The state before step t, from the last snapshot; further ones are taken on the way."""
        build = self.build
        one = build.const(1)
        slots = build.value("dim", [storage.places], INT, axis=0)

        def piece(args: list[Value]) -> list[Value]:
            now, *carried = args
            held, state = Held(*carried[:4]), list(carried[4:])
            left = self.int("subtract", t, now)
            free = self.int("subtract", slots, held.taken)
            stop = self.int("add", now, self.chunk(self.int("add", left, one), free, left))
            outs = self.run(now, stop, state, ends=False)

            def taken() -> list[Value]:
                more = self.push(storage, held)
                self.save(storage, more.top, stop, outs)
                return more.values()

            more = self.choose(self.less(stop, t), taken, held.values, [INT] * len(HELD))
            return [stop, *more, *outs]

        first = [self.read(storage.places, held.top), *held.values(), *self.load(storage, held.top)]
        names = ["at", *HELD, *(a.name for a in self.args)]
        outs = self.repeat(first, names, lambda now: self.less(now[0], t), piece, state=5)
        return Held(*outs[1:5]), outs[5:]

    def step_function(self) -> tuple[list[Value], Function]:
        """One step as a function: of what is carried, the counter, whether it is the last, and what it reads outside.

        What each step makes anew is the last step's result alone, and of its shape: other steps hand on what they got.
        """
        made = set(self.body.args) | {v for o in walk(self.body) for v in o.outputs}
        made |= {a for o in walk(self.body) for r in o.regions for a in r.args}
        read: dict[Value, None] = {}
        for values in reads(self.body):
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
        return outer, Function(f"{f.name}_step", params, body, "", f.source_file, f.source_line, f.lines)


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
                bar = turned(s.build, bar)
                made = s.build.value("copy", [bar], ty, order="K" if ty.layout == "A" else ty.layout, name=_bar(v))
            self.buffers.append(made)
        inits: list[Value] = []
        for k in self.slots:
            if k >= self.state:
                inits.append(s.build.const(0.0, self.outer[k - self.state - 2].type))
                inits[-1].name = _bar(self.outer[k - self.state - 2])
                continue
            bar = turned(s.build, self.bars[outs[k]])
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
            none.results = [s.build.zero(s.of(v))]
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
            found.append(s.build.zero(s.of(p)) if total is None else turned(s.build, total))
        return found


def _bar(v: Value) -> str | None:
    return f"{v.name}_bar" if v.name else None


def _origin(v: Value) -> Value:
    """The parameter that a copy on entry is of."""
    return v.op.inputs[0] if v.op is not None and v.op.kind == "copy" else v
