"""Reverse mode: one sweep forward that keeps what the way back needs, one sweep back.

`reverse(function, wrt)` appends the reverse sweep to a copy of the function's body. Cotangents of values are values
themselves; memory has shadow memory (`analysis.memory` says which of the three regimes a reference belongs to). Every
rule is first interpreted into a scratch block that refers to forward values, and only what the active inputs need is
then brought over; that is when values are recorded (`transforms.reverse.keep`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.analysis.activity import Activity, endless
from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem, without_rule
from diffjit.frontend.numpy import finite
from diffjit.ir.build import Builder
from diffjit.ir.checks import Check, needed
from diffjit.ir.nodes import BARS, SUM, Block, Function, Loc, Op, Value, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.types import Array, List, Scalar, Stack, fresh_lengths, is_float, is_ref
from diffjit.ir.walk import clone_op, dce, nothing, walk
from diffjit.primitives.registry import RULES
from diffjit.settings import settings
from diffjit.transforms import custom, rules
from diffjit.transforms.checkpoint.timeloop import enclose
from diffjit.transforms.outlined import turned
from diffjit.transforms.prepare import clone, own_copy
from diffjit.transforms.reverse.cotangents import Bar
from diffjit.transforms.reverse.keep import Context, Keeper
from diffjit.transforms.reverse.memory_rules import MemoryRules
from diffjit.transforms.reverse.shadows import Shadows, copy_joined_broadcasts
from diffjit.transforms.reverse.undo import Undo


@dataclass(slots=True, eq=False)
class Reversed:
    """A function with its reverse sweep: where the sweep begins, and what it yields."""

    function: Function
    boundary: int  # the first operation of the reverse sweep in the function's body
    seeds: list[Value]  # parameters: cotangents of the active results
    primal: list[Value]
    gradients: list[Value | None]


class Reverse(MemoryRules):
    """Builds the reverse sweep of one function."""

    def __init__(
        self,
        function: Function,
        wrt: list[int],
        results: list[int],
        buffers: Sequence[int] = (),
        *,
        inside: bool = False,
        undoing: bool = True,
    ) -> None:
        """`buffers`: arrays among `wrt` that the function may change, and whose cotangents are given as buffers.

        Their contents are the cotangents of what the function leaves in these arrays before the sweep, and the
        cotangents of what it found there after it. (`checkpoint.step`) `inside`: a part of another reverse sweep, so
        that cotangents go in and out as they are. `undoing`: the sweep runs once, so that it may change the memory of
        the way there (`transforms.reverse.undo`).
        """
        self.inside = inside
        self.f = own_copy(function) if not buffers else clone(function)
        enclose(self.f, wrt, results, buffers)
        custom.opened(self.f, wrt, results, buffers)
        copy_joined_broadcasts(self.f, analyses(self.f).memory)
        known = analyses(self.f)
        self.order, self.memory = known.order, known.memory
        self.build = Builder()
        self.runner = rules.RuleRunner(self.build, endless(self.f, self.memory))
        self.inputs = [self.f.params[k] for k in wrt]
        self.outputs = [self.f.body.results[k] for k in results]
        useful = [*self.outputs, *(self.f.params[k] for k in buffers)]
        self.activity = Activity(self.f, self.memory, self.inputs, useful)
        undo = Undo(self.f, known.memory, known.one_memory, self.f.body.results) if undoing else None
        self.keep = Keeper(known.memory, known.bounds, self.build, undo)
        self.lent: list[int] = []  # parameters whose cotangents are in memory of the caller's
        self.shadows = Shadows(self.f, self.memory, self.activity, self.keep, self.build)
        self.owed = needed(self.f) if settings.verify_passes else frozenset[Check]()
        self.comment: str | None = None
        self.tested = finite.level()

    def run(self) -> Reversed:
        """The whole transformation."""
        f = self.f
        top = self.keep.context(f.body, None)
        bars = self.lend(top)
        self.shadows.make()
        seeds: list[Value] = []
        with self.build.inside(top.block):
            for k, out in enumerate(self.outputs):
                if not is_float(out.type):
                    continue
                seed = Value(out.type, "out_bar" if len(self.outputs) == 1 else f"out{k}_bar")
                seeds.append(seed)
                if self.activity.active(out):
                    self.add(out, self.outside(seed), top)
            self.sweep(f.body, top)
            gradients = [None if p in bars else self.gradient_of(p, top) for p in self.inputs]
            for p, g in zip(self.inputs, gradients, strict=True):
                self.test_sum(p, g, seeds)
            gradients = [None if g is None else self.outside(g) for g in gradients]
        found = iter(self.keep.resolve(top, [g for g in gradients if g is not None]))
        gradients = [None if g is None else next(found) for g in gradients]
        primal = list(f.body.results)
        self.keep.apply()
        custom.unlinked(f)
        boundary = len(f.body.ops)
        first = next((op for op in top.block.ops if op.kind != "const"), None)
        if first is not None:
            first.attrs.setdefault("section", "Reverse sweep.")
            first.attrs["turn"] = True
        f.body.ops += top.block.ops
        for op in top.block.ops:
            for out in op.outputs:
                out.block = f.body
        f.params += [*seeds, *bars.values()]
        if settings.verify_passes and (lost := needed(f) - self.owed):
            raise AssertionError(f"no check comes before what relies on it: {', '.join(map(str, lost))}")
        return Reversed(f, boundary, seeds, primal, gradients)

    def lend(self, top: Context) -> dict[Value, Value]:
        """Parameters for the cotangents of the parameters in `lent`: what they hold is added to."""
        bars: dict[Value, Value] = {}
        for k in self.lent:
            p = self.f.params[k]
            bar = bars[p] = Value(p.type, f"{p.name}_bar" if p.name else None)
            if self.memory.is_shared(p):
                self.shadows.of[p] = bar
            else:
                top.bars[p] = Bar(bar, owned=True)
        return bars

    def outside(self, bar: Value) -> Value:
        """A complex cotangent as callers have it, from one in the sweep, or the other way round.

        Callers' convention is JAX's, d/dx - i d/dy, for which a pullback is the transpose of the tangent map. In the
        sweep cotangents are gradients in the plane, d/dx + i d/dy: memory seen as real and imaginary parts then has
        shadow memory seen the same way.
        """
        return bar if self.inside else turned(self.build, bar)

    def gradient_of(self, p: Value, top: Context) -> Value | None:
        """The cotangent of an input, as a value that shares memory with nothing else."""
        if not self.activity.active(p):
            return None
        if self.memory.is_shared(p):
            return self.shadows.of[p]
        bar = top.bars.get(p)
        if bar is None:
            return None
        value = self.value_of(bar)
        if isinstance(value.type, Array) and not bar.owned and (self.inside or not rules.is_complex(value)):
            return self.build.value(
                "copy", [value], Array(value.type.dtype, value.type.dims, _layout(p)), name=f"{p.name}_bar", order="K"
            )
        return value

    def test_sum(self, p: Value, g: Value | None, seeds: list[Value]) -> None:
        """Finite contributions may still add up to more than a float can hold."""
        if not self.tested or g is None or not isinstance(g.type, (Scalar, Array)) or g.type.dtype.kind != "f":
            return
        given = [s for s in seeds if s.type.dtype.kind == "f"]
        place = Loc(self.f.source_file, self.f.source_line, 0, 0, self.f.name)
        what = f"the cotangent of `{p.name}`, a sum of finite numbers,"
        finite.test(self.build, finite.Suspect(g, what, given, [], place), self.tested)

    # The sweep

    def sweep(self, block: Block, context: Context) -> None:
        """Mirror the operations of a block."""
        self.begin(block, context)
        for op in reversed(block.ops):
            self.mark(op)
            before = len(context.block.ops)
            with self.build.inside(context.block):
                self.build.loc = op.loc
                if self.keep.undo is not None and op in self.keep.undo.overwritten:
                    self.build.op("undo", [], store=op)
                self.reverse_op(op, context)
            self.explain(op, context, before)

    def mark(self, op: Op) -> None:
        self.comment = None
        if op.loc is not None:
            text = self.f.lines.get((op.loc.file, op.loc.line), "")
            self.comment = f"{op.loc.file.rsplit('/', 1)[-1]}:{op.loc.line}  {text}"

    def explain(self, op: Op, context: Context, before: int) -> None:
        """The user's line as a comment over its adjoint (once per run of operations from one line)."""
        first = next((o for o in context.block.ops[before:] if o.kind != "const"), None)
        if first is None or self.comment is None or op.row.nested:
            return
        if getattr(self, "_last_comment", None) != (self.comment, id(context)):
            first.attrs["comment"] = self.comment
            self._last_comment = (self.comment, id(context))

    def reverse_op(self, op: Op, c: Context) -> None:
        """Mirror one operation."""
        kind = op.kind
        if kind == "if":
            self.reverse_if(op, c)
        elif op.row.loop:
            self.reverse_loop(op, c)
        elif kind == "call":
            self.reverse_call(op, c)
        elif hasattr(self, f"mirror_{kind}"):
            getattr(self, f"mirror_{kind}")(op, c)
        elif is_view(op) or not op.outputs or op.row.constant:
            return
        elif kind == "foreign":
            if any(self.activity.active(v) for v in op.outputs) and any(self.activity.active(v) for v in op.inputs):
                raise rules.without_source(op)
        elif self.activity.active(op.out):
            bar = self.take(op.out, c)
            if bar is not None:
                self.apply_rule(op, bar, c)

    def apply_rule(self, op: Op, g: Value, c: Context) -> None:
        """Cotangents of the inputs of a pure operation."""
        active = [k for k, v in enumerate(op.inputs) if self.activity.active(v)]
        if not active:
            return
        scratch = Block()
        g_in = Value(g.type, g.name)
        contributions: list[tuple[int, Any]] = []
        with self.build.inside(scratch):
            self.build.loc = op.loc
            if op.row.by_element:
                contributions = [(k, rules.cotangent_part(self.runner, op, k, g_in)) for k in active]
            else:
                contributions = self.rule_contributions(op, g_in, active)
            found = [
                (k, self.fit(self.runner.number(x), op.inputs[k], core=op.row.core))
                for k, x in contributions
                if x is not None
            ]
        mapping = {g_in: g}
        self.bring(scratch, [v for _, v in found], op, c, mapping)
        for k, v in found:
            contribution = mapping.get(v, v)
            self.test(op, op.inputs[k], contribution, [(op.out, g)], c)
            self.add(op.inputs[k], contribution, c)

    def test(self, op: Op, v: Value, contribution: Value, seeds: list[tuple[Value, Value]], c: Context) -> None:
        """Where `settings.nan_check` asks for it: raise if the cotangents that come in are finite and this is not."""
        if not self.tested:
            return
        shown = [
            (finite.called(x, k), self.keep.contents(x, op, c))
            for k, x in enumerate(op.inputs)
            if isinstance(x.type, (Scalar, Array)) and x.type.dtype.kind in "fc"
        ]
        shown += [(f"cotangent of `{out.name}`" if out.name else "cotangent of the result", g) for out, g in seeds]
        what = f"the cotangent of `{v.name}`" if v.name else "a cotangent"
        given = [g for _, g in seeds]
        finite.test(self.build, finite.Suspect(contribution, what, given, shown, op.loc), self.tested)

    def rule_contributions(self, op: Op, g: Value, active: list[int]) -> list[tuple[int, Any]]:
        """What a structural primitive's reverse rule gives each input."""
        entry = RULES.get(op.kind)
        if entry is None or (entry.vjp_rule is None):
            raise without_rule(op.kind, "reverse rule", op.loc)
        transposed = rules.on_complex(op) == "holomorphic"
        found: list[tuple[int, Any]] = []
        if transposed and entry.bilinear and (own := [k for k in active if self._other_is_smaller(op, g, k)]):
            parts = self._rule_parts(op, [rules.conjugated(self.runner, v) for v in op.inputs], g)
            found = [(k, parts[k]) for k in own]
            active = [k for k in active if k not in own]
        if active:
            parts = self._rule_parts(op, op.inputs, rules.conjugated(self.runner, g) if transposed else g)
            back = [transposed and rules.is_complex(v) for v in op.inputs]
            found += [(k, rules.conjugated(self.runner, parts[k]) if back[k] else parts[k]) for k in active]
        return found

    def _other_is_smaller(self, op: Op, g: Value, k: int) -> bool:
        """Whether the conjugate of a product's other operand takes no more than those of two cotangents."""
        ranks = [v.type.ndim if isinstance(v.type, Array) else 0 for v in (*op.inputs, g)]
        return ranks[1 - k] <= max(ranks[k], ranks[-1])

    def _rule_parts(self, op: Op, inputs: list[Value], g: Any) -> list[Any]:
        """The cotangents that a rule gives for these operands."""
        from diffjit.frontend.values import values as av

        values, entry = rules.rule_values(self.runner, op, {"out_bar": g}), RULES[op.kind]
        values |= {name: v for name, v, own in zip(entry.params, inputs, op.inputs, strict=False) if v is not own}
        result = self.runner.function(entry.vjp_rule, values)
        parts = list(result.items) if isinstance(result, av.Tup) else [result]
        parts += [None] * (len(op.inputs) - len(parts))
        return [None if av.is_none(x) else x for x in parts]

    # Bringing scratch operations over

    def bring(self, scratch: Block, wanted: list[Value], op: Op, c: Context, mapping: dict[Value, Value]) -> None:
        """Place the operations that compute `wanted` into the reverse sweep, keeping the forward values they read."""
        made = {v for o in walk(scratch) for v in o.outputs} | {
            a for o in walk(scratch) for r in o.regions for a in r.args
        }
        keepers = Function("scratch", [], Block([], scratch.ops, list(wanted)))
        dce(keepers, nothing)
        for o in scratch.ops:
            self._place(o, made, op, c, mapping, c.block)
        for v in wanted:
            if self.keep.undo is not None:
                self.keep.undo.lend(v)
            if v not in made and v not in mapping:
                mapping[v] = (
                    self.keep.contents(v, op, c) if v is not op.out else self.keep.contents(v, op, c, after=True)
                )

    def _place(self, o: Op, made: set[Value], op: Op, c: Context, mapping: dict[Value, Value], into: Block) -> None:
        for v in o.inputs:
            if v not in made and v not in mapping:
                self._fetch(v, o, op, c, mapping)
        for region in o.regions:
            self._fetch_region(region, made, op, c, mapping)
        o.inputs = [mapping.get(v, v) for v in o.inputs]
        _rename(o.regions, mapping)
        into.ops.append(o)
        for out in o.outputs:
            out.block = into

    def _fetch_region(self, region: Block, made: set[Value], op: Op, c: Context, mapping: dict[Value, Value]) -> None:
        for o in walk(region):
            for v in o.inputs:
                if v not in made and v not in mapping:
                    self._fetch(v, o, op, c, mapping)
        for v in region.results:
            if v not in made and v not in mapping:
                mapping[v] = self.keep.contents(v, op, c, after=v in op.outputs)

    def _fetch(self, v: Value, reader: Op, op: Op, c: Context, mapping: dict[Value, Value]) -> None:
        like = reader.kind == "unbroadcast" and reader.inputs[0] is not v
        if like or reader.row.reads in (Reads.LENGTHS, Reads.SIZE):
            reached = self.keep.kept(v, c)
            reader.inputs = [reached if x is v else x for x in reader.inputs]
            return
        mapping[v] = self.keep.contents(v, op, c, after=v in op.outputs)

    # Control flow

    def flows(self, v: Value) -> bool:
        """Whether a joined value's cotangent is a value itself (lists, tapes and changing memory have shadows)."""
        return isinstance(v.type, (Scalar, Array)) and self.activity.active(v) and not self.by_shadow(v)

    def reverse_if(self, op: Op, c: Context) -> None:
        """The same branch, mirrored."""
        seeds = [(k, self.take(out, c)) for k, out in enumerate(op.outputs) if self.flows(out)]
        contexts: list[Context] = []
        saved_comment = self.comment
        for region in op.regions:
            inner = self.keep.context(region, c)
            with self.build.inside(inner.block):
                for k, g in seeds:
                    if g is not None:
                        self.add(region.results[k], g, inner)
                self.sweep(region, inner)
            contexts.append(inner)
        self.comment = saved_comment
        outer_values = list(dict.fromkeys(v for i in contexts for v in i.bars if v.block is not i.fwd))
        blocks = [inner.block for inner in contexts]
        for inner in contexts:
            with self.build.inside(inner.block):
                inner.block.results = [
                    self.conform(self.value_or_zero(inner.bars.get(v), v, inner), v.type) for v in outer_values
                ]
        types = [v.type for v in outer_values]
        if not any(b.ops for b in blocks) and not outer_values:
            return
        cond = self.keep.kept(op.inputs[0], c)
        made = self.build.op("if", [cond], types, regions=blocks)
        made.attrs[BARS] = True
        made.loc = op.loc
        for v, out in zip(outer_values, made.outputs, strict=True):
            out.name = f"{v.name}_bar" if v.name else None
            self.add(v, out, c)

    def reverse_loop(self, op: Op, c: Context) -> None:
        """The iterations last to first; cotangents of carried values are carried the other way."""
        body = op.regions[-1]
        counted = op.kind == "for"
        args = body.args[1 : 1 + len(op.outputs)] if counted else body.args[: len(op.outputs)]
        skip = 1 if op.attrs.get("exit") else 0
        init = op.inputs[3:] if counted else op.inputs
        slots = [k for k in range(len(op.outputs)) if self.flows(args[k])]
        inner = self.keep.context(body, c)
        incoming = {k: self.take(op.outputs[k], c) for k in range(len(op.outputs)) if self.flows(op.outputs[k])}
        for k, g in incoming.items():
            if k not in slots and g is not None:
                # Only the last iteration's (or the initial) value matters, and it does not depend on earlier ones.
                slots.append(k)
        slots.sort()
        saved_comment = self.comment
        carried_args: list[Value] = []
        for k in slots:
            ty = _like(body.results[k + skip].type, args[k].type)  # what this iteration gave to the next
            arg = Value(ty, f"{args[k].name}_bar" if args[k].name else None)
            arg.block = inner.block
            carried_args.append(arg)
        index = Value(op.inputs[0].type, body.args[0].name) if counted else Value(_int(), "k")
        if counted:
            inner.memo[body.args[0]] = index
        inner.counters.append((op, index))
        with self.build.inside(inner.block):
            for k, arg in zip(slots, carried_args, strict=True):
                self.add(body.results[k + skip], arg, inner)
            self.sweep(body, inner)
            self.comment = saved_comment
            nexts = [
                self.conform(self.value_or_zero(inner.bars.pop(args[k], None), args[k], inner), args[k].type)
                for k in slots
            ]
            outer_values = [v for v in inner.bars if v.block is not body]
            sums: list[Value] = []
            for v in outer_values:
                arg = Value(v.type, f"{v.name}_bar" if v.name else None)
                arg.block = inner.block
                carried_args.append(arg)
                total = self.build.value("add", [arg, self.value_of(inner.bars[v])], v.type, name=arg.name)
                total.op.attrs[SUM] = True  # type: ignore[union-attr]
                sums.append(total)
        inner.block.results = [*nexts, *sums]
        inits = [self.conform(self.owned_or_zero(incoming.get(k), op.outputs[k], c), args[k].type) for k in slots]
        inits += [self.zero(v, c) for v in outer_values]
        inner.block.args = [index, *carried_args]
        if not inner.block.ops and not slots:
            return
        bounds = self.bounds_of(op, c)
        made = self.build.op(
            "for",
            [*bounds, *inits],
            [_like(_before(init[k]), args[k].type) for k in slots] + [v.type for v in outer_values],
            regions=[inner.block],
            exit=False,
            reverse=counted and not op.attrs.get("reverse"),
        )
        made.loc = op.loc
        for out, arg in zip(made.outputs, carried_args, strict=True):
            out.name = arg.name
        for k, out in zip(slots, made.outputs, strict=False):
            self.add(init[k], out, c)
        for v, out in zip(outer_values, made.outputs[len(slots) :], strict=True):
            self.add(v, out, c)

    def conform(self, g: Value, ty: Any) -> Value:
        """A cotangent in the layout that its variable is declared with."""
        if (
            isinstance(ty, Array)
            and isinstance(g.type, Array)
            and ty.layout not in ("A", g.type.layout)
            and ty.ndim > 0
        ):
            return self.build.value("copy", [g], Array(g.type.dtype, g.type.dims, ty.layout), order=ty.layout)
        return g

    def bounds_of(self, op: Op, c: Context) -> list[Value]:
        """The range that the mirrored loop runs over."""
        if op.kind == "for" and not op.attrs.get("exit"):
            return [self.keep.kept(v, c) for v in op.inputs[:3]]
        count = self.keep.kept(self.keep.trip_count(op), c)
        if op.kind == "while":
            return [self.build.const(0), count, self.build.const(1)]
        start, step = self.keep.kept(op.inputs[0], c), self.keep.kept(op.inputs[2], c)
        length = self.build.value("multiply", [count, step], _int(), nowrap=True)
        stop = self.build.value("add", [start, length], _int(), nowrap=True)
        return [start, stop, step]

    def reverse_call(self, op: Op, c: Context) -> None:
        """A recursive function's cotangents: a recursive function that runs the callee again and then back."""
        if custom.rules_of(op) or not any(self.activity.active(v) for v in (*op.inputs, *op.outputs)):
            return
        from diffjit.transforms.recursion import final_positions, float_positions, pair, reverse_function

        finals = final_positions(callee := op.attrs["function"])
        self.refuse_aliases(op, callee)
        varied = [k for k in float_positions(callee.params) if self.activity.active(op.inputs[k])]
        back, lent = reverse_function(callee, varied)
        inputs = [self.keep.contents(v, op, c) for v in op.inputs]
        seeds: list[Value] = []
        for k in float_positions(op.outputs):
            g = self.take(op.outputs[k], c) if self.activity.active(op.outputs[k]) else None
            seeds.append(self.conform(self.owned_or_zero(g, op.outputs[k], c), callee.results[k].type))
        buffers: dict[int, Value] = {}
        for k in finals:
            v = op.inputs[k]
            if self.activity.active(v):
                buffers[k] = self.buffer(v, c)
                seeds.append(
                    self.build.value(
                        "copy", [buffers[k]], _like(v.type, callee.params[k].type), order=_order(callee.params[k].type)
                    )
                )
            else:
                seeds.append(self.conform(self.zero(v, c), callee.params[k].type))
        borrowed, apart = self.borrowed(op, lent, c)
        given_back = [k for k in varied if k not in lent]
        made = self.build.op(
            "call",
            [*inputs, *seeds, *borrowed],
            [_like(op.inputs[k].type, callee.params[k].type) for k in given_back],
            function=back,
        )
        pair(op, made)
        for k, g in zip(given_back, made.outputs, strict=True):
            if k in buffers:
                self.build.op("assign", [buffers[k], g])
            else:
                self.add(op.inputs[k], self.fit(g, op.inputs[k]), c)
        for v, g in apart:
            self.add(v, self.fit(g, v), c)

    def borrowed(self, op: Op, lent: list[int], c: Context) -> tuple[list[Value], list[tuple[Value, Value]]]:
        """The memory of cotangents that a recursive function adds to, and what of it has to be added to a cotangent.

        A part of an array that is passed on has the same part of its cotangent, so a division of the array costs what
        its parts cost. Two arguments of one array may overlap, and elements of a broadcast view are one element: their
        cotangents are collected in memory of their own.
        """
        found: list[Value] = []
        apart: list[tuple[Value, Value]] = []
        classes = [self.memory.find(op.inputs[k]) for k in lent]
        for k, own in zip(lent, classes, strict=True):
            v, declared = op.inputs[k], op.attrs["function"].params[k].type
            if classes.count(own) == 1 and not self.broadcast(v):
                buffer = self.buffer(v, c)
                if declared.layout in ("A", buffer.type.layout):
                    found.append(buffer)
                    continue
            found.append(self.conform(self.zero(v, c), declared))
            apart.append((v, found[-1]))
        return found, apart

    def mirror_custom_link(self, op: Op, c: Context) -> None:
        """The cotangents that a function's own rule gives."""
        if not any(self.activity.active(v) for v in op.outputs):
            return
        back, n = op.attrs["back"], op.attrs["n_args"]
        residuals = op.inputs[n + len(op.outputs) :]
        mapping = dict(zip(back.params, residuals, strict=False))
        given: dict[Value, Value] = {}
        outs = [op.outputs[k] for k in custom.floats(op.outputs)]
        seeds: list[Value] = []
        for out, param in zip(outs, back.params[len(residuals) :], strict=True):
            g = self.take(out, c) if self.activity.active(out) else None
            seed = mapping[param] = Value(out.type, f"{out.name}_bar" if out.name else None)
            given[seed] = self.conform(turned(self.build, self.owned_or_zero(g, out, c)), param.type)
            seeds.append(given[seed])
        scratch = Block()
        for o in back.body.ops:
            clone_op(o, mapping, scratch)
        with self.build.inside(scratch):
            found = [
                (k, self.fit(turned(self.build, _renamed(v, mapping)), op.inputs[k]))
                for k, v in enumerate(back.results)
                if self.activity.active(op.inputs[k])
            ]
        self.bring(scratch, [v for _, v in found], op, c, given)
        for k, v in found:
            contribution = given.get(v, v)
            self.test(op, op.inputs[k], contribution, list(zip(outs, seeds, strict=True)), c)
            self.add(op.inputs[k], contribution, c)

    def refuse_aliases(self, op: Op, callee: Function) -> None:
        """Two array arguments that may share memory, one of them written, or results that share written memory."""
        written = callee.writes or frozenset()
        classes = [self.memory.find(v) if is_ref(v.type) else None for v in op.inputs]
        clash = any(classes[k] == other for k in written for j, other in enumerate(classes) if j != k)
        if (
            clash
            or written & callee.returns_views
            or any(isinstance(v.type, (List, Stack)) and is_float(v.type) for v in op.inputs)
        ):
            raise MemoryProblem(
                "DJ403",
                f"`{callee.name.removeprefix('recursive_')}` is recursive and writes to memory that has another name",
                loc=op.loc,
                cure="pass copies, or write the recursion as a loop",
            )


def _renamed(v: Value, mapping: dict[Value, Value]) -> Value:
    return mapping.get(v, v)


def _int() -> Scalar:
    return Scalar(np.dtype(np.int64), weak=True)


def _like(ty: Any, declared: Any) -> Any:
    """The type that something is declared with, and what is known of lengths here."""
    return Array(ty.dtype, ty.dims, declared.layout) if isinstance(ty, Array) else declared


def _before(init: Value) -> Any:
    """The type of what a loop begins with: where that holds nothing, its lengths are of what each turn hands on."""
    return fresh_lengths(init.type) if init.op is not None and init.op.kind == "undef" else init.type


def _order(ty: Any) -> str:
    return ty.layout if ty.layout != "A" else "K"


def _layout(p: Value) -> str:
    return p.type.layout


def _rename(regions: list[Block], mapping: dict[Value, Value]) -> None:
    for region in regions:
        for o in region.ops:
            o.inputs = [mapping.get(v, v) for v in o.inputs]
            _rename(o.regions, mapping)
        region.results = [mapping.get(v, v) for v in region.results]


def reverse(function: Function, wrt: list[int], results: list[int]) -> Reversed:
    """Append the reverse sweep for the given parameters and results."""
    return Reverse(function, wrt, results).run()
