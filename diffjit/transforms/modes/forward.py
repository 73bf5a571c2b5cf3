"""Forward mode: a tangent beside each value."""

from __future__ import annotations

from typing import Any

from diffjit.dataclass import dataclass
from diffjit.errors import without_rule
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, without_labels
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.primitives.registry import RULES
from diffjit.transforms import custom, rules
from diffjit.transforms.modes.companions import Companions


@dataclass(slots=True, eq=False)
class Tangents:
    """A function that computes tangents beside its values."""

    function: Function
    tangents_in: list[Value]
    primal: list[Value]
    tangents: list[Value | None]


class TangentRules:
    """The tangent of a pure operation's result, from those of its inputs."""

    build: Builder
    runner: rules.RuleRunner

    def has(self, v: Value) -> bool:
        """Whether a value has a tangent."""
        raise NotImplementedError

    def tangent(self, v: Value) -> Value:
        """The tangent of a value that has one."""
        raise NotImplementedError

    def zero(self, v: Value, n: int = 0) -> Value:
        """A tangent that is zero."""
        raise NotImplementedError

    def name(self, v: Value, n: int = 0) -> str | None:
        """The name of a tangent."""
        del n
        return f"{v.name}_dot" if v.name else None

    def tangent_of(self, op: Op) -> Value | None:
        """The tangent of a pure operation's result; None where it is zero."""
        if op.row.by_element:
            return self.elementwise(op)
        if op.kind == "foreign":
            raise rules.without_source(op)
        entry = RULES.get(op.kind)
        if entry is None:
            raise without_rule(op.kind, "forward rule", op.loc)
        rules.on_complex(op)
        if entry.linear:
            inputs = [
                self.tangent(v) if self.has(v) else (self.zeros_for(v) if entry.variadic or k == 0 else v)
                for k, v in enumerate(op.inputs)
            ]
            return self.build.value(op.kind, inputs, op.out.type, name=self.name(op.out), **op.attrs)
        if entry.bilinear:
            return self.bilinear(op)
        if entry.jvp_rule is None:
            raise without_rule(op.kind, "forward rule", op.loc)
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

    def bilinear(self, op: Op) -> Value | None:
        """The product rule, with a product for each operand that has a tangent; None where there is no such operand."""
        total: Any = None
        for k, v in enumerate(op.inputs):
            if self.has(v):
                inputs = [*op.inputs[:k], self.tangent(v), *op.inputs[k + 1 :]]
                part = self.build.value(op.kind, inputs, op.out.type, **without_labels(op.attrs))
                total = part if total is None else self.runner.ew("add", total, part)
        return None if total is None else self.named(self.runner.number(total), op)

    def zeros_for(self, v: Value) -> Value:
        return self.zero(v) if is_float(v.type) else v

    def elementwise(self, op: Op) -> Value | None:
        """The sum of what the tangents of the operands give."""
        total: Any = None
        for k, v in enumerate(op.inputs):
            if not self.has(v):
                continue
            part = rules.tangent_part(self.runner, op, k, self.tangent(v))
            if part is not None:
                total = part if total is None else self.runner.ew("add", total, part)
        if total is None:
            return None
        value = self.runner.number(total)
        ty = op.out.type
        if isinstance(ty, Array) and (not isinstance(value.type, Array) or value.type.dims != ty.dims):
            # Broadcasting against operands without a tangent.
            base = self.build.zero(op.out)
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
            value.name = self.name(op.out)
        return value


class Forward(Companions, TangentRules):
    """Builds the tangent program of one function."""

    def __init__(self, function: Function, wrt: list[int], *, nested: bool = False) -> None:
        super().__init__(function, wrt, 1, nested=nested)

    def name(self, v: Value, n: int = 0) -> str | None:
        """`x_dot`."""
        return TangentRules.name(self, v, n)

    def run(self) -> Tangents:
        """The whole transformation."""
        made = self.accompany()
        entering = [t for ts in made.entering for t in ts]
        return Tangents(made.function, entering, made.primal, [None if ts is None else ts[0] for ts in made.leaving])

    def tangent(self, v: Value) -> Value:
        """The tangent of an active value."""
        return self.companions(v)[0]

    def rule(self, op: Op) -> list[Value]:
        """The tangent of a pure operation's result."""
        made = self.tangent_of(op)
        return [] if made is None else [made]

    def recursive(self, callee: Function) -> Function:
        """A recursive function with tangents."""
        from diffjit.transforms.recursion import forward_function

        return forward_function(callee)

    def custom_call(self, op: Op, own: custom.Rules, block: Block) -> None:
        """The function's own rule takes the place of the call."""
        if not any(self.has(v) for v in op.outputs):
            block.ops.append(op)
            return
        custom.refuse_outside(op, own, self.activity.is_varied)
        own = own.narrowed([k for k in own.wrt if self.activity.is_varied(op.inputs[k])])
        rule, n = own.tangents(op.loc), own.n_args
        dots = [
            self.conform(self.tangent(v) if self.has(v) else self.zero(v), rule.params[n + j])
            for j, v in enumerate(op.inputs[k] for k in own.wrt)
        ]
        tangents: list[Value] = []
        for k in custom.floats(op.outputs):
            out = op.outputs[k]
            tangents.append(Value(out.type, self.name(out)))
            self.beside[out] = [tangents[-1]]
        inputs = [*op.inputs[:n], *dots, *op.inputs[n:]]
        block.ops += custom.spliced(rule, inputs, [*op.outputs, *tangents], block)


class Several(Forward):
    """Several tangents beside each value, which share what they need of the values."""

    def __init__(self, function: Function, wrt: list[int], count: int) -> None:
        Companions.__init__(self, function, wrt, count)
        self.lane = 0

    def name(self, v: Value, n: int = 0) -> str | None:
        """`x_dot`, `x_dot_1`, ..."""
        name = TangentRules.name(self, v, n)
        return f"{name}_{n}" if name and n else name

    def tangent(self, v: Value) -> Value:
        """The tangent of an active value, of those that are made now."""
        return self.companions(v)[self.lane]

    def rule(self, op: Op) -> list[Value]:
        """The tangents of a pure operation's result."""
        made: list[Value] = []
        for lane in range(self.count):
            self.lane = lane
            made += super().rule(op)
        return made


def forward(function: Function, wrt: list[int]) -> Tangents:
    """The program that computes tangents for tangents of the given parameters."""
    return Forward(function, wrt).run()
