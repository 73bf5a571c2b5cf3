"""What the way back needs of the way there: kept, recomputed, or recorded on tapes.

`Context` mirrors one block of the forward sweep. `Keeper.kept(v, context)` gives the value that `v` had, at the
mirrored point of the reverse sweep: directly where it is still in scope; recomputed where that is cheap; else recorded
in an array indexed by the loops' counters (trip counts known on entry) or on a stack.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from typing import Any

from diffjit.analysis.integers.bounds import Bounds
from diffjit.analysis.integers.running import Sum
from diffjit.analysis.memory import Memory
from diffjit.analysis.mincut import Cut, minimum_cut
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.checks import fitting, relying
from diffjit.ir.nodes import LABELS, Block, Function, Op, Value, const_of, is_const, without_labels
from diffjit.ir.ops import Raises
from diffjit.ir.raising import is_length, may_raise
from diffjit.ir.types import INT, Array, Dim, List, Scalar, Stack, Sym, Type
from diffjit.ir.walk import blocks, dce, nothing, walk
from diffjit.transforms.optimise.tidy import labelled
from diffjit.transforms.reverse.lengths import AskedLengths, note_length
from diffjit.transforms.reverse.policy import Policy
from diffjit.transforms.reverse.snapshots import Snapshots
from diffjit.transforms.reverse.undo import Undo, needed

_SMALL = 512  # numbers of an array that is copied to a tape


@dataclass(slots=True, eq=False)
class Context:
    """The mirror image of one forward block, while it is built."""

    fwd: Block
    parent: Context | None
    block: Block = field(default_factory=Block)
    head: Block = field(default_factory=Block)  # pops: they run first
    spot: Block = field(default_factory=Block)  # what the operation at hand needs (while placeholders are resolved)
    memo: dict[Value, Value] = field(default_factory=dict[Value, Value])
    bars: dict[Value, Any] = field(default_factory=dict[Value, Any])
    refs: dict[Value, Value] = field(default_factory=dict[Value, Value])
    counters: list[tuple[Op, Value]] = field(
        default_factory=list[tuple[Op, Value]]
    )  # (forward loop, its index on the way back)


def _is_sum(op: Op) -> bool:
    return op.row.operator in ("+", "-")


class Keeper:
    """Decides how forward values reach the reverse sweep, and extends the forward sweep accordingly."""

    def __init__(self, memory: Memory, bounds: Bounds, build: Builder, undo: Undo | None) -> None:
        self.order, self.bounds = memory.order, bounds
        self.memory = memory
        self.own = frozenset(memory.refs)  # the program's references: shadows come later
        self.build = build
        self.before: dict[Op, list[Op]] = {}
        self.after: dict[Op, list[Op]] = {}
        self.at_end: dict[Block, list[Op]] = {}
        self.at_start: dict[Block, list[Op]] = {}
        self.trip_counts: dict[Op, Value] = {}
        self.exported: dict[Value, Value] = {}
        self.tapes: dict[Value, Any] = {}
        self.snapshots = Snapshots(self)
        self.contexts: list[Context] = []
        self.resolving = False
        self.recorded: set[Value] = set()
        self.descending: set[Value] = set()  # counters of mirrored loops that must run from the last to the first
        self.undo = undo
        self.policy = Policy(self)
        self.asked = AskedLengths(self)

    def context(self, fwd: Block, parent: Context | None) -> Context:
        """The mirror image of a block."""
        made = Context(fwd, parent)
        self.contexts.append(made)
        return made

    # Emission into the forward sweep

    def forward_ops(self, place: dict[Any, list[Op]], key: Any, block: Block) -> Any:
        """A builder context whose operations go before/after an operation or to the end of a block."""
        scratch = Block()
        keeper = self

        class _Into:
            def __enter__(self) -> Builder:
                self.context = keeper.build.inside(scratch)
                self.context.__enter__()
                return keeper.build

            def __exit__(self, *exc: object) -> None:
                self.context.__exit__(None, None, None)
                for op in scratch.ops:
                    for out in op.outputs:
                        out.block = block
                place.setdefault(key, []).extend(scratch.ops)

        return _Into()

    def apply(self) -> None:
        """Insert everything into the forward sweep."""
        for block in list(self.order.parent):
            ops: list[Op] = list(self.at_start.get(block, ()))
            for op in block.ops:
                ops += self.before.get(op, ())
                ops.append(op)
                ops += self.after.get(op, ())
            ops += self.at_end.get(block, ())
            block.ops = ops

    # Reaching values

    def context_of(self, v: Value, context: Context) -> Context:
        """The mirrored block in which a forward value was made."""
        c: Context | None = context
        while c is not None:
            if c.fwd is v.block:
                return c
            c = c.parent
        raise AssertionError(f"{v!r} is not in scope on the way back")

    def in_scope(self, v: Value) -> bool:
        """Defined in the function's own block: visible on the way back as it is."""
        return v.block is None or self.order.parent.get(v.block, None) is None

    def kept(self, v: Value, context: Context) -> Value:
        """The value that `v` had on the way there (for references: the reference, whatever its memory holds now).

        While the reverse sweep is built this is a placeholder; `resolve` decides how each of them comes by its value.
        """
        if self.in_scope(v):
            return v
        c = self.context_of(v, context)
        if v in c.memo:
            return c.memo[v]
        if self.resolving:
            return self.reach(v, c)
        if is_const(v):
            c.memo[v] = self.recompute(v, c)
            return c.memo[v]
        with self.build.inside(c.block):
            c.memo[v] = self.build.value("kept", (), v.type, name=v.name, of=v)
        return c.memo[v]

    def reach(self, v: Value, c: Context) -> Value:
        """A value in its mirrored block: recomputed or recorded, as has been decided."""
        if v in self.exported:
            return self.exported[v]
        again = v not in self.recorded and self.policy.operands(v) is not None
        c.memo[v] = result = self.recompute(v, c) if again else self.record(v, c)
        if not again and is_length(v):
            note_length(result)
        return result

    def recompute(self, v: Value, c: Context) -> Value:
        """The same operation once more, in the mirrored block; or the element that holds its result."""
        running = self.policy.running.of(v) if self.resolving else None
        if running is not None:
            return self._running(running, v, c)
        op = v.op
        assert op is not None
        store = self.policy.stored(v) if self.resolving and op.kind != "const" else None
        if store is not None:
            inputs = [self.kept(i, c) for i in (store.inputs[0], *store.inputs[2:])]
            with self.build.inside(c.spot):
                again = relying(store, "stored")
                found = self.build.value("load", inputs, Scalar(v.type.dtype), name=v.name, **again)
                return found if found.type == v.type else self.build.value("cast", [found], v.type, name=v.name)
        settled = self.policy.snapshot(v) if self.resolving else None
        if settled is not None:
            reached = self.contents(settled.array, settled.loop, c)
            inputs = [reached, *(self.kept(i, c) for i in op.inputs[1:])]
        else:
            sources = self.policy.sources(op)
            assert sources is not None
            inputs = [self.kept(i, c) for i in sources]
        with self.build.inside(c.spot if self.resolving else c.block):
            attrs = without_labels(op.attrs)
            if isinstance(v.type, Scalar) and v.type.dtype.kind == "i" and op.row.by_element:
                attrs["nowrap"] = True  # it did not overflow on the way there
            if op.row.raises is Raises.INDEX:
                attrs |= relying(op, "read before")
            return self.build.value(op.kind, inputs, v.type, name=v.name, **attrs)

    def _running(self, running: Sum, v: Value, c: Context) -> Value:
        """An integer that the iterations of a loop add to, from the number of the iteration."""
        final = v.op is not None
        operands = {i: self.kept(i, c) for i in running.operands(final=final)}
        loop = running.loop
        counter = None if final else self._counters(c)[loop]
        with self.build.inside(c.spot):

            def given(i: Value) -> Value:
                return operands[i] if i in operands else self._constant(i)

            bounds = [given(b) for b in loop.inputs[:3]] if loop.kind == "for" else []
            if counter is None:
                count = self.build.value("trip", bounds, INT)
            else:
                count = self._position(self.build, counter, bounds) if bounds else counter
                self.descending.add(counter)
            return running.value(self.build, count, given, v)

    # Placeholders

    def resolve(self, top: Context, results: list[Value]) -> list[Value]:
        """Give every placeholder of the reverse sweep its value; returns the results with theirs."""
        sweep = Function("reverse", [], Block([], top.block.ops, results))
        with labelled(sweep):
            dce(sweep, nothing)
        self.asked.ask(sweep)
        top.block.ops = sweep.body.ops
        results = sweep.body.results
        contexts = {c.block: c for c in self.contexts}
        self.policy.computed = {
            (op.kind, v.op.attrs["of"])
            for op in walk(top.block)
            for v in op.inputs
            if v.op is not None and v.op.kind == "kept" and op.row.along
        }
        if self.undo is not None:
            self._decide_to_undo(sweep, self.undo)
            top.block.ops = sweep.body.ops
        self.recorded = self._cut(top.block).chosen
        for c in self.contexts:
            c.memo = {v: index for v, index in c.memo.items() if index.op is None}  # all but the loops' counters
        self.resolving = True
        mapping: dict[Value, Value] = {}
        self._rewrite(top.block, contexts, mapping)
        for c in self.contexts:
            c.block.ops[:0] = c.head.ops
        for block in blocks(top.block):
            for op in block.ops:
                op.inputs = [mapping.get(v, v) for v in op.inputs]
            block.results = [mapping.get(v, v) for v in block.results]
        return [mapping.get(v, v) for v in results]

    def _cut(self, sweep: Block) -> Cut[Value]:
        """What to record for all that the reverse sweep wants."""
        wanted = [v for op in walk(sweep) for v in needed(op)]
        return minimum_cut(wanted, self.policy.operands, self.policy.recording, self.policy.computing)

    def _decide_to_undo(self, sweep: Function, undo: Undo) -> None:
        """Undo the stores for which that is cheaper than to record what is read, and no others."""
        undo.look(sweep.body, {c.fwd: c.block for c in self.contexts}, self.policy.operands)
        if undo.overwritten:
            with_undo = self._cut(sweep.body)
            stores = undo.overwritten
            undo.overwritten = {}
            self.policy.forget()
            if with_undo.cost < self._cut(sweep.body).cost:
                undo.overwritten = {op: old for op, old in stores.items() if old in with_undo.chosen}
                self.policy.forget()
        with labelled(sweep):
            for block in blocks(sweep.body):
                block.ops = [op for op in block.ops if op.kind != "undo" or op.attrs["store"] in undo.overwritten]
            dce(sweep, nothing)
        for store, load in undo.begin().items():
            self.before.setdefault(store, []).append(load)

    def _put_back(self, store: Op, c: Context) -> None:
        """What a store has overwritten, back to where it was."""
        assert self.undo is not None
        old = self.kept(self.undo.overwritten[store], c)
        inputs = [self.kept(store.inputs[0], c), old, *(self.kept(i, c) for i in store.inputs[2:])]
        with self.build.inside(c.spot):
            self.build.op("store", inputs, **relying(store, "undone"))

    def _rewrite(self, block: Block, contexts: dict[Block, Context], mapping: dict[Value, Value]) -> None:
        """Replace the placeholders of a block by what computes or reads their values, at the place of first need."""
        c = contexts.get(block)
        made: list[Op] = []
        labels: dict[str, str] = {}
        for op in block.ops:
            if c is not None:
                c.spot = Block()
            for region in op.regions:
                self._rewrite(region, contexts, mapping)
            if op.kind == "for" and op.regions[0].args[0] in self.descending:
                op.attrs["reverse"] = True
            new: list[Op] = []
            if op.kind == "kept":
                assert c is not None
                mapping[op.out] = self.kept(op.attrs["of"], c)
                labels |= {k: op.attrs[k] for k in LABELS if k in op.attrs}
                new += c.spot.ops
            elif op.kind == "undo":
                assert c is not None
                self._put_back(op.attrs["store"], c)
                labels |= {k: op.attrs[k] for k in LABELS if k in op.attrs}
                new += c.spot.ops
            else:
                new += [*(c.spot.ops if c is not None else ()), op]
            first = next((o for o in new if o.kind != "const"), None)
            if first is not None and labels:
                first.attrs.update({k: a for k, a in labels.items() if k not in first.attrs})
                labels = {}
            for o in new:
                for out in o.outputs:
                    out.block = block
            made += new
        block.ops = made

    # Recording

    def record(self, v: Value, c: Context) -> Value:
        """Record a value in the forward sweep and read it in the mirrored block."""
        loops = self.order.loops_around(c.fwd)
        if not loops:
            return self.export(v)
        # What is recorded is told line by line (`analysis.tape`): by the line that computes it.
        outer, self.build.loc = self.build.loc, loops[0].loc if v.op is None else v.op.loc
        try:
            return self._record_in_loops(v, c, loops)
        finally:
            self.build.loc = outer

    def _record_in_loops(self, v: Value, c: Context, loops: list[Op]) -> Value:
        block = c.fwd
        named = v.name or (v.op.inputs[0].name if v.op is not None and v.op.kind == "load" else None)
        nest = self.rectangular(loops) if isinstance(v.type, Scalar) else []
        if nest:
            return self._record_in_array(v, c, nest, f"{named or 'value'}_tape")
        source = self.snapshots.copied.get(v)
        if source is not None and (nest := self._rows(source, loops)):
            return self._record_in_rows(v, source, c, nest)
        if _is_small(v.type) and self._is_value(v) and (nest := self.rectangular(loops)):
            return self._record_as_row(v, c, nest)
        outer = loops[-1]
        home = self.order.places[outer].path[-1][0]
        with self.forward_ops(self.before, outer, home) as b:
            stack = b.value("stack_new", (), Stack(v.type), name=f"{v.name or 'value'}_stack")
        with self.forward_ops(self.at_end, block, block) as b:
            b.op("push", [stack, v])
        self.tapes[v] = stack
        reached = self.kept(stack, c)
        with self.build.inside(c.head):
            return self.build.value("pop", [reached], v.type, name=v.name)

    def rectangular(self, loops: list[Op]) -> list[Op]:
        """The largest nest around a value, outermost loop first, whose trip counts are known before it begins.

        Its tape is an array that is made before it (and is kept itself where there are loops further out). A few
        iterations alone are not worth one. A loop that stands in a branch may hardly ever run, and has a tape of its
        own: one for all of its runs might be of any size.
        """
        for count in range(len(loops), 0, -1):
            nest = loops[:count]
            outer = nest[-1]
            scope = set(map(id, self.order.enclosing(self.order.places[outer].path[-1][0])))
            plain = all(loop.kind == "for" and not loop.attrs.get("exit") for loop in nest)
            plain = plain and all(self.order.places[a].path[-1][0] is b.regions[0] for a, b in pairwise(nest))
            if not plain or not all(const_of(loop.inputs[2]) for loop in nest[:-1]):
                continue  # range() of step 0 raises, if it is reached
            if all(self.hoistable(bound, outer, scope) for loop in nest for bound in loop.inputs[:3]):
                return nest[::-1] if count == len(loops) or not _few(nest) else []
        return []

    def hoistable(self, v: Value, outer: Op, scope: set[int]) -> bool:
        """Whether a number is known before a loop begins, or can be computed there.

        It may never be asked for in the loop, so nothing that may raise is moved; sums are made without a test.
        """
        if is_const(v):
            return True
        op = v.op
        before = op is None or op not in self.order.places or not self.order.later(outer, op)
        if (v.block is None or id(v.block) in scope) and before:
            return True
        if op is None or not isinstance(v.type, Scalar) or not (op.kind in ("dim", "trip") or op.row.by_element):
            return False
        if may_raise(op, fits=_is_sum):
            return False
        return all(self.hoistable(i, outer, scope) for i in op.inputs)

    def hoisted(self, b: Builder, v: Value, outer: Op, scope: set[int]) -> Value:
        """A number computed before a loop (`hoistable`)."""
        if is_const(v):
            return self._constant(v)
        op = v.op
        before = op is None or op not in self.order.places or not self.order.later(outer, op)
        if (v.block is None or id(v.block) in scope) and before:
            return v
        assert op is not None
        inputs = [self.hoisted(b, i, outer, scope) for i in op.inputs]
        attrs = without_labels(op.attrs)
        if _is_sum(op):
            attrs["nowrap"] = True
        return b.value(op.kind, inputs, v.type, **attrs)

    def _record_in_array(self, v: Value, c: Context, shape: list[Op], name: str) -> Value:
        outer = shape[0]
        home = self.order.places[outer].path[-1][0]
        with self.forward_ops(self.before, outer, home) as b:
            scope = set(map(id, self.order.enclosing(home)))
            lengths = [
                b.value("trip", [self.hoisted(b, x, outer, scope) for x in loop.inputs[:3]], INT) for loop in shape
            ]
            dims = tuple(Sym() for _ in lengths)
            tape = b.value("empty", lengths, Array(v.type.dtype, dims, "C"), name=name, order="C", record="tape")
        self.tapes[v] = tape
        store = self.undo.store_of.get(v) if self.undo is not None else None
        with self.forward_ops(*((self.before, store) if store else (self.at_end, c.fwd)), c.fwd) as b:
            b.op("store", [tape, v, *self._index(b, shape)], **fitting(tape, "recording"))
        reached = self.kept(tape, c)
        index = self._index_back(c, shape)
        with self.build.inside(c.spot):
            ty = v.type
            out = self.build.value(
                "load", [reached, *index], Scalar(ty.dtype), name=v.name, **fitting(tape, "recording")
            )
            return out if ty == out.type else self.build.value("cast", [out], ty, name=v.name)

    def _index(self, b: Builder, shape: list[Op]) -> list[Value]:
        """Where the iteration at hand records."""
        return [
            self._position(b, loop.regions[0].args[0], [self._constant(x) for x in loop.inputs[:3]]) for loop in shape
        ]

    def _index_back(self, c: Context, shape: list[Op]) -> list[Value]:
        """The same place on the way back."""
        counters = self._counters(c)
        with self.build.inside(c.spot):
            return [
                self._position(
                    self.build,
                    counters[loop],
                    [self._constant(x) if is_const(x) else self.kept(x, c) for x in loop.inputs[:3]],
                )
                for loop in shape
            ]

    def _rows(self, array: Value, loops: list[Op]) -> list[Op]:
        """The nest whose iterations' copies of an array can be rows of one tape: its lengths are known before it."""
        if not isinstance(array.type, Array) or array.type.layout != "C":
            return []
        nest = self.rectangular(loops)
        return nest if nest and not self.order.inside(array, nest[0]) else []

    def _record_in_rows(self, v: Value, source: Value, c: Context, shape: list[Op]) -> Value:
        """Copies of an array as rows of a tape, in place of arrays on a stack."""
        tape = self._tape_of_rows(v, source, shape)
        copy = v.op
        assert copy is not None
        ops = next(ops for ops in self._emitted() if copy in ops)
        at = ops.index(copy)
        into = Block()
        with self.build.inside(into):
            self._write_row(self.build, tape, source, shape)
        for op in into.ops:
            op.loc = copy.loc
            for out in op.outputs:
                out.block = c.fwd
        ops[at : at + 1] = into.ops
        return self._row_back(v, tape, c, shape)

    def _record_as_row(self, v: Value, c: Context, shape: list[Op]) -> Value:
        """A few numbers, whose count is known, as a row of a tape: copied faster than an array is put on a stack."""
        tape = self._tape_of_rows(v, v, shape)
        with self.forward_ops(self.at_end, c.fwd, c.fwd) as b:
            self._write_row(b, tape, v, shape)
        return self._row_back(v, tape, c, shape)

    def _is_value(self, v: Value) -> bool:
        """Whether a copy of an array is as good as the array: the program has computed it, and never changes it.

        Shadows are recorded to be added to, and what is undone, to be written to.
        """
        computed = v.op is not None and (v.op.row.by_element or v.op.row.same)
        return computed and v in self.own and not self.memory.written(v)

    def _tape_of_rows(self, v: Value, source: Value, shape: list[Op]) -> Value:
        """A tape, made before the loops, with a row of a source's lengths for each of their iterations."""
        outer, ty = shape[0], source.type
        assert isinstance(ty, Array)
        home = self.order.places[outer].path[-1][0]
        with self.forward_ops(self.before, outer, home) as b:
            scope = set(map(id, self.order.enclosing(home)))
            lengths = [
                b.value("trip", [self.hoisted(b, x, outer, scope) for x in loop.inputs[:3]], INT) for loop in shape
            ]
            dims: list[Dim] = [Sym() for _ in lengths]
            lengths += [
                b.const(d) if isinstance(d, int) else b.value("dim", [source], INT, axis=k)
                for k, d in enumerate(ty.dims)
            ]
            whole = Array(ty.dtype, (*dims, *ty.dims), "C")
            tape = b.value("empty", lengths, whole, name=f"{source.name or 'array'}_tape", order="C", record="tape")
        self.tapes[v] = tape
        return tape

    def _write_row(self, b: Builder, tape: Value, source: Value, shape: list[Op]) -> None:
        spec = ("i",) * len(shape) + (":",) * source.type.ndim
        row = b.value("view", [tape, *self._index(b, shape)], source.type, spec=spec, **fitting(tape, "recording"))
        b.op("assign", [row, source])

    def _row_back(self, v: Value, tape: Value, c: Context, shape: list[Op]) -> Value:
        reached = self.kept(tape, c)
        index = self._index_back(c, shape)
        spec = ("i",) * len(shape) + (":",) * v.type.ndim
        with self.build.inside(c.spot):
            return self.build.value(
                "view", [reached, *index], v.type, name=v.name, spec=spec, **fitting(tape, "recording")
            )

    def _emitted(self) -> Iterator[list[Op]]:
        for place in (self.before, self.after):
            yield from place.values()

    def _constant(self, v: Value) -> Value:
        return self.build.value("const", (), v.type, value=const_of(v)) if is_const(v) else v

    def _position(self, b: Builder, counter: Value, bounds: list[Value]) -> Value:
        """The iteration's number: (index - start) // step."""
        start, _, step = bounds
        result = counter
        if const_of(start) != 0:
            result = b.value("subtract", [result, start], INT, nowrap=True)
        if const_of(step) != 1:
            result = b.value("floor_divide", [result, step], INT, nowrap=True)
        return result

    def _counters(self, c: Context) -> dict[Op, Value]:
        found: dict[Op, Value] = {}
        walker: Context | None = c
        while walker is not None:
            found.update(walker.counters)
            walker = walker.parent
        return found

    def export(self, v: Value) -> Value:
        """Carry a value out of branches to the function's own block."""
        value, block = v, v.block
        while (up := self.order.parent.get(block)) is not None:  # pyright: ignore[reportArgumentType]
            op, outer = up
            out = Value(v.type, v.name)
            out.op, out.block = op, outer
            for region in op.regions:
                if region is block:
                    region.results.append(value)
                else:
                    with self.forward_ops(self.at_end, region, region) as b:
                        region.results.append(b.value("undef", (), v.type))
            op.outputs.append(out)
            value, block = out, outer
        self.exported[v] = value
        return value

    def trip_count(self, loop: Op) -> Value:
        """How often a loop ran that may end early: counted by the forward sweep."""
        if loop in self.trip_counts:
            return self.trip_counts[loop]
        home = self.order.places[loop].path[-1][0]
        body = loop.regions[-1]
        with self.forward_ops(self.before, loop, home) as b:
            zero = b.const(0)
        counter, total = Value(INT, "trips"), Value(INT, "trips")
        counter.block, total.block, total.op = body, home, loop
        body.args.append(counter)
        if loop.kind == "while":
            other = Value(INT, "trips")
            other.block = loop.regions[0]
            loop.regions[0].args.append(other)
        with self.forward_ops(self.at_end, body, body) as b:
            body.results.append(b.value("add", [counter, b.const(1)], INT, nowrap=True))
        loop.inputs.append(zero)
        loop.outputs.append(total)
        self.trip_counts[loop] = total
        return total

    # Contents of memory

    def contents(self, v: Value, reader: Op, context: Context, *, after: bool = False) -> Value:
        """A reference whose memory holds, on the way back, what `reader` read (or wrote as its own result)."""
        if isinstance(v.type, Scalar) or (v.op is None and v.block is None):
            return self.kept(v, context)
        if isinstance(v.type, (List, Stack)) or not self.memory.changes_after(v, reader):
            return self.kept(v, context)
        return self.kept(self.snapshots.of(v, reader, after=after), context)


def _is_small(ty: Type) -> bool:
    """Whether an array has few numbers, and the text says how many."""
    if not isinstance(ty, Array) or ty.layout != "C" or not ty.dims or not all(isinstance(d, int) for d in ty.dims):
        return False
    return 0 < math.prod(d for d in ty.dims if isinstance(d, int)) <= _SMALL


def _few(nest: list[Op]) -> bool:
    """Whether a nest makes a handful of iterations, known beforehand."""
    total = 1
    for loop in nest:
        if not all(is_const(bound) for bound in loop.inputs[:3]):
            return False
        total *= len(range(*(const_of(bound) for bound in loop.inputs[:3])))
    return total < 16
