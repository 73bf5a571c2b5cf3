"""Forward mode: a tangent beside each value; memory has tangent memory, joined and viewed as the memory itself is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diffjit.analysis.activity import Activity
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.errors import NoRule
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import Array, List, Scalar, Stack, is_float, is_ref
from diffjit.primitives.registry import ELEMENTWISE, RULES
from diffjit.transforms import custom, rules
from diffjit.transforms.prepare import clone, own_copy


@dataclass(slots=True, eq=False)
class Tangents:
    """A function that computes tangents beside its values."""

    function: Function
    tangents_in: list[Value]
    primal: list[Value]
    tangents: list[Value | None]


class Forward:
    """Builds the tangent program of one function."""

    def __init__(self, function: Function, wrt: list[int], *, nested: bool = False) -> None:
        self.f = clone(function) if nested else own_copy(function)
        self.order = Order(self.f)
        self.memory = Memory(self.f, self.order)
        self.inputs = [self.f.params[k] for k in wrt]
        outputs = [v for v in self.f.body.results if is_float(v.type)]
        if nested:  # what a recursive function leaves in its arguments is a result, too
            outputs += [p for p in self.f.params if is_ref(p.type) and self.memory.written(p)]
        self.activity = Activity(self.f, self.memory, self.inputs, outputs)
        self.build = Builder()
        self.runner = rules.RuleRunner(self.build)
        self.dot: dict[Value, Value] = {}

    def run(self) -> Tangents:
        """The whole transformation."""
        tangents_in: list[Value] = []
        body = self.f.body
        head = Block()
        with self.build.inside(head):
            for p in self.inputs:
                t = Value(p.type, f"{p.name}_dot")
                t.block = body
                tangents_in.append(t)
                if self.activity.active(p):
                    self.dot[p] = t
            for p in self.f.params:
                if p not in self.dot and self.activity.active(p):
                    self.dot[p] = self.zeros(p)
        results = list(body.results)
        self.block(body)
        body.ops[:0] = head.ops
        for op in head.ops:
            for out in op.outputs:
                out.block = body
        self.f.params += tangents_in
        tangents = [self.dot.get(v) if self.activity.is_varied(v) else None for v in results]
        with self.build.inside(body):
            tangents = [
                self.build.value("copy", [t], t.type, order="K")
                if t is not None and isinstance(t.type, Array) and t in tangents_in
                else t
                for t in tangents
            ]
        return Tangents(self.f, tangents_in, results, tangents)

    def block(self, block: Block) -> None:
        """Interleave tangents with the operations of a block."""
        ops, block.ops = block.ops, []
        with self.build.inside(block):
            for op in ops:
                self.build.loc = op.loc
                self.op(op, block)
            self.build.loc = None

    def has(self, v: Value) -> bool:
        """Whether a value has a tangent."""
        return self.activity.active(v)

    def tangent(self, v: Value) -> Value:
        """The tangent of an active value."""
        if v not in self.dot:
            self.dot[v] = self.zeros(v)
        return self.dot[v]

    def zeros(self, v: Value) -> Value:
        """A zero tangent."""
        name = _name(v)
        if isinstance(v.type, Scalar):
            return self.build.const(0.0, v.type)
        if isinstance(v.type, Array):
            return self.build.value("zeros_like", [v], Array(v.type.dtype, v.type.dims, v.type.layout), name=name)
        return self.build.value("list_new" if isinstance(v.type, List) else "stack_new", [], v.type, name=name)

    def op(self, op: Op, block: Block) -> None:
        kind = op.kind
        if kind == "if":
            self.branch(op, block)
        elif kind in ("for", "while"):
            self.loop(op, block)
        elif kind == "call":
            self.call(op, block)
        elif kind in _WRITERS:
            self.write(op, block)
        elif not op.outputs or not self.has(op.out):
            self.passive(op, block)
        elif is_view(op) or kind in (
            "load",
            "list_get",
            "list_pop",
            "pop",
            "list_copy",
            "stack_copy",
            "gather",
            "copy",
            "reshape",
        ):
            self.mirror(op, block)
        elif kind in ("zeros", "empty", "zeros_like", "empty_like", "list_new", "stack_new", "undef"):
            block.ops.append(op)
            self.fresh(op)
        elif kind == "full":
            block.ops.append(op)
            t = self.zeros(op.out)
            self.dot[op.out] = t
            if self.has(op.inputs[0]):
                self.build.op("assign", [t, self.tangent(op.inputs[0])])
        else:
            block.ops.append(op)
            self.dot[op.out] = self.own(self.rule(op), op)

    def own(self, t: Value, op: Op) -> Value:
        """Copy a tangent that is another value's too (that of `x + 1`, say) where either's memory changes later."""
        root = t
        while root.op is not None and is_view(root.op):
            root = root.op.inputs[0]
        fresh = root.op is not None and root not in self.dot.values()
        if fresh or not isinstance(t.type, Array):
            return t
        if self.memory.written(op.out) or any(isinstance(v.type, Array) and self.memory.written(v) for v in op.inputs):
            return self.build.value(
                "copy", [t], Array(t.type.dtype, t.type.dims, t.type.layout), name=_name(op.out), order="K"
            )
        return t

    def passive(self, op: Op, block: Block) -> None:
        block.ops.append(op)
        if op.kind in ("list_pop", "pop") and self.has(op.inputs[0]):
            self.build.value(op.kind, [self.tangent(op.inputs[0]), *op.inputs[1:]], op.out.type)

    def fresh(self, op: Op) -> None:
        if op.kind == "undef":
            self.dot[op.out] = self.build.value("undef", [], op.out.type, name=_name(op.out))
        else:
            self.dot[op.out] = self.zeros(op.out)

    def mirror(self, op: Op, block: Block) -> None:
        """The same operation on tangents."""
        block.ops.append(op)
        self.dot[op.out] = self.build.value(
            op.kind, [self.tangent(op.inputs[0]), *op.inputs[1:]], op.out.type, name=_name(op.out), **op.attrs
        )

    def write(self, op: Op, block: Block) -> None:
        """The same write into tangent memory (before the value changes anything)."""
        target = op.inputs[0]
        value_at = 2 if op.kind == "mask_set" else 1
        if self.has(target):
            value = op.inputs[value_at]
            if is_float(value.type) and self.has(value):
                t = self.tangent(value)
            elif isinstance(value.type, Scalar):
                t = self.build.const(0.0, _elem(target))
            else:
                t = self.zeros(value) if is_float(value.type) else self.build.const(0.0, _elem(target))
            inputs = list(op.inputs)
            inputs[0], inputs[value_at] = self.tangent(target), t
            self.build.op(op.kind, inputs, **op.attrs)
        block.ops.append(op)

    def rule(self, op: Op) -> Value:
        """The tangent of a pure operation's result."""
        if op.kind in ELEMENTWISE:
            return self.elementwise(op)
        entry = RULES.get(op.kind)
        if entry is None:
            raise NoRule(
                "DJ202", f"`{op.kind}` has no forward rule", loc=op.loc, cure="stop_gradient marks it as constant"
            )
        rules.on_complex(op)
        if entry.linear:
            inputs = [
                self.tangent(v) if self.has(v) else (self.zeros_for(v) if entry.variadic or k == 0 else v)
                for k, v in enumerate(op.inputs)
            ]
            return self.build.value(op.kind, inputs, op.out.type, name=_name(op.out), **op.attrs)
        if entry.jvp_rule is None:
            raise NoRule(
                "DJ202", f"`{op.kind}` has no forward rule", loc=op.loc, cure="stop_gradient marks it as constant"
            )
        names = entry.params
        extra = {
            f"{n}_dot": (self.tangent(v) if self.has(v) else self.zeros_for(v))
            for n, v in zip(names, op.inputs, strict=False)
            if is_float(v.type)
        }
        for n, v in zip(names, op.inputs, strict=False):
            extra.setdefault(f"{n}_dot", self.build.const(0.0) if isinstance(v.type, Scalar) else v)
        result = self.runner.function(entry.jvp_rule, rules.rule_values(self.runner, op, extra))
        return self.named(self.runner.number(result), op)

    def zeros_for(self, v: Value) -> Value:
        return self.zeros(v) if is_float(v.type) else v

    def elementwise(self, op: Op) -> Value:
        total: Any = None
        for k, v in enumerate(op.inputs):
            if not self.has(v):
                continue
            part = rules.tangent_part(self.runner, op, k, self.tangent(v))
            if part is not None:
                total = part if total is None else self.runner.ew("add", total, part)
        if total is None:
            return self.zeros(op.out)
        value = self.runner.number(total)
        ty = op.out.type
        if isinstance(ty, Array) and (not isinstance(value.type, Array) or value.type.dims != ty.dims):
            # Broadcasting against operands without a tangent.
            base = self.build.value("zeros_like", [op.out], Array(ty.dtype, ty.dims, ty.layout))
            value = self.build.value("add", [base, value], Array(ty.dtype, ty.dims, ty.layout))
        if value.type.dtype != ty.dtype or (isinstance(ty, Scalar) and value.type != ty):
            value = self.build.value(
                "cast",
                [value],
                Scalar(ty.dtype, ty.weak) if isinstance(ty, Scalar) else Array(ty.dtype, ty.dims, value.type.layout),
            )
        return self.named(value, op)

    def named(self, value: Value, op: Op) -> Value:
        if value.name is None:
            value.name = _name(op.out)
        return value

    # Control flow

    def call(self, op: Op, block: Block) -> None:
        """A recursive function's tangents: a recursive function with tangents beside its arguments and results."""
        if (own := custom.rules_of(op)) is not None:
            self.custom_call(op, own, block)
            return
        if not any(self.has(v) for v in (*op.inputs, *op.outputs)):
            block.ops.append(op)
            return
        from diffjit.transforms.recursion import float_positions, forward_function

        callee = op.attrs["function"]
        dots: list[Value] = []
        for k in float_positions(callee.params):
            v = op.inputs[k]
            dots.append(self.conform(self.tangent(v) if self.has(v) else self.zeros(v), callee.params[k]))
        floats = float_positions(op.outputs)
        types = [v.type for v in op.outputs] + [op.outputs[k].type for k in floats]
        made = self.build.op("call", [*op.inputs, *dots], types, function=forward_function(callee))
        n = len(op.outputs)
        for old, new in zip(op.outputs, made.outputs, strict=False):
            new.name = old.name
        made.outputs[:n] = op.outputs
        for out in op.outputs:
            out.op = made
        for k, t in zip(floats, made.outputs[n:], strict=True):
            t.name = _name(op.outputs[k])
            self.dot[op.outputs[k]] = t

    def custom_call(self, op: Op, own: custom.Rules, block: Block) -> None:
        """The function's own rule takes the place of the call."""
        if not any(self.has(v) for v in op.outputs):
            block.ops.append(op)
            return
        custom.refuse_outside(op, own, self.activity.is_varied)
        rule, n = own.tangents(op.loc), own.n_args
        dots = [
            self.conform(self.tangent(v) if self.has(v) else self.zeros(v), rule.params[n + j])
            for j, v in enumerate(op.inputs[k] for k in own.wrt)
        ]
        tangents: list[Value] = []
        for k in custom.floats(op.outputs):
            out = op.outputs[k]
            tangents.append(Value(out.type, _name(out)))
            self.dot[out] = tangents[-1]
        inputs = [*op.inputs[:n], *dots, *op.inputs[n:]]
        block.ops += custom.spliced(rule, inputs, [*op.outputs, *tangents], block)

    def branch(self, op: Op, block: Block) -> None:
        slots = [k for k, out in enumerate(op.outputs) if self.has(out)]
        for region in op.regions:
            self.block(region)
            with self.build.inside(region):
                region.results += [
                    self.conform(self.dot[v] if v in self.dot else self.zeros(v), op.outputs[k])
                    for k, v in [(k, region.results[k]) for k in slots]
                ]
        block.ops.append(op)
        for k in slots:
            self.extra_output(op, op.outputs[k], block)

    def conform(self, t: Value, like: Value) -> Value:
        """A tangent in the layout that its variable is declared with."""
        ty = like.type
        if (
            isinstance(ty, Array)
            and isinstance(t.type, Array)
            and ty.layout not in ("A", t.type.layout)
            and ty.ndim > 0
        ):
            return self.build.value("copy", [t], Array(t.type.dtype, t.type.dims, ty.layout), order=ty.layout)
        return t

    def loop(self, op: Op, block: Block) -> None:
        body = op.regions[-1]
        counted = op.kind == "for"
        skip = 1 if op.attrs.get("exit") else 0
        n = len(op.outputs)
        init = op.inputs[3:] if counted else list(op.inputs)
        args = body.args[1:] if counted else list(body.args)
        slots = [k for k in range(n) if self.has(args[k]) or self.has(op.outputs[k])]
        op.inputs += [
            self.conform(self.tangent(init[k]) if self.has(init[k]) else self.zeros(init[k]), args[k]) for k in slots
        ]
        for k in slots:
            t = Value(args[k].type, _name(args[k]))
            t.block = body
            body.args.append(t)
            self.dot[args[k]] = t
            if not counted:
                cond = op.regions[0]
                other = Value(args[k].type, _name(args[k]))
                other.block = cond
                self.dot[cond.args[k]] = other
        if not counted:
            op.regions[0].args += [self.dot[op.regions[0].args[k]] for k in slots]
            self.block(op.regions[0])
        self.block(body)
        with self.build.inside(body):
            results = [body.results[k + skip] for k in slots]
            body.results += [
                self.conform(self.dot[v] if v in self.dot else self.zeros(v), args[k])
                for k, v in zip(slots, results, strict=True)
            ]
        block.ops.append(op)
        for k in slots:
            self.extra_output(op, op.outputs[k], block)

    def extra_output(self, op: Op, out: Value, block: Block) -> None:
        t = Value(out.type, _name(out))
        t.op, t.block = op, block
        op.outputs.append(t)
        self.dot[out] = t


_WRITERS = frozenset(
    {
        "store",
        "assign",
        "accum",
        "accum_at",
        "scatter",
        "scatter_add",
        "mask_set",
        "list_append",
        "list_set",
        "list_insert",
        "push",
    }
)


def _elem(target: Value) -> Scalar:
    ty = target.type
    if isinstance(ty, (List, Stack)):
        assert isinstance(ty.elem, Scalar)
        return ty.elem
    return Scalar(ty.dtype)


def _name(v: Value) -> str | None:
    return f"{v.name}_dot" if v.name else None


def forward(function: Function, wrt: list[int]) -> Tangents:
    """The program that computes tangents for tangents of the given parameters."""
    return Forward(function, wrt).run()
