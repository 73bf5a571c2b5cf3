"""Taylor mode: the coefficients of a truncated power series beside each value."""

from __future__ import annotations

import math

from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem
from diffjit.ir.nodes import Block, Function, Loc, Op, Value, const_of
from diffjit.ir.types import INT, Array, List, Scalar
from diffjit.transforms import custom
from diffjit.transforms.modes.companions import Companions
from diffjit.transforms.modes.series import Expansion


class Jet(Companions):
    """Builds the program that computes normalised Taylor coefficients 1, ..., `count` beside values."""

    def prepared(self, function: Function) -> Function:
        """Series keep nothing for a way back: what is only checkpointed is code like any other."""
        return custom.unfolded(function)

    def name(self, v: Value, n: int) -> str | None:
        """`x_1` is the first coefficient."""
        return f"{v.name}_{n + 1}" if v.name else None

    def told(self, v: Value, n: int) -> str:
        """What to call a coefficient in messages."""
        return f"Taylor coefficient {n + 1} of " + (f"`{v.name}`" if v.name else "a value")

    def known(self, v: Value) -> list[Value | None] | None:
        """The coefficients of a value of the program; None where it is constant, or one of them zero."""
        if not self.has(v):
            return None
        return [None if self.is_zero(t, v) else t for t in self.companions(v)]

    def is_zero(self, t: Value, v: Value) -> bool:
        """Whether a coefficient is zero for certain."""
        return const_of(t) == 0 or (t.op is not None and t.op.kind == "zeros_like" and not self.memory.written(v))

    def rule(self, op: Op) -> list[Value]:
        """The series of a pure operation's result."""
        found = Expansion(self.build, self.runner, op, self.count, self.known).run()
        return [self.finished(op.out, n, t) for n, t in enumerate(found)]

    def finished(self, out: Value, n: int, t: Value | None) -> Value:
        """A coefficient as a companion."""
        if t is None:
            return self.zero(out, n)
        if t.name is None:
            t.name = self.name(out, n)
        return t

    def recursive(self, callee: Function) -> Function:
        """A recursive function with series."""
        from diffjit.transforms.recursion import series_function

        return series_function(callee, self.count)

    def custom_call(self, op: Op, own: custom.Rules, block: Block) -> None:
        """The function's own rule says what its series are."""
        if not any(self.has(v) for v in op.outputs):
            block.ops.append(op)
            return
        custom.refuse_outside(op, own, self.activity.is_varied)
        again = Op(op.kind, op.inputs, [Value(v.type, v.name) for v in op.outputs], op.attrs, [], op.loc)
        start = len(block.ops)
        values, series = Expansion(self.build, self.runner, again, self.count, self.known).run_call()
        mapping = custom.defined_as(block, start, values, op.outputs)
        for k, found in zip(custom.floats(op.outputs), series, strict=True):
            out = op.outputs[k]
            given = [None if t is None else mapping.get(t, t) for t in found]
            self.beside[out] = [self.finished(out, n, t) for n, t in enumerate(given)]


class Derivatives(Jet):
    """The same for derivatives in place of coefficients: what enters is divided by m!, what leaves multiplied."""

    def entered(self, given: list[Value]) -> list[Value]:
        """Coefficients of a parameter."""
        return [t if n == 0 else self.scaled(t, 1.0 / math.factorial(n + 1)) for n, t in enumerate(given)]

    def left(self, t: Value, given: set[Value], n: int) -> Value:
        """A derivative of a result."""
        t = super().left(t, given, n)
        if n == 0:
            return t
        return self.scaled_list(t, n) if isinstance(t.type, List) else self.scaled(t, float(math.factorial(n + 1)))

    def scaled(self, t: Value, factor: float) -> Value:
        """A number or array times a number."""
        assert isinstance(t.type, (Scalar, Array))
        weak = isinstance(t.type, Scalar) and t.type.weak
        by = self.build.const(factor, Scalar(t.type.dtype, weak))
        return self.build.value("multiply", [t, by], t.type, name=t.name)

    def scaled_list(self, t: Value, n: int) -> Value:
        """A list of numbers, times a number in place."""
        assert isinstance(t.type, List)
        elem = t.type.elem
        if not isinstance(elem, Scalar):
            f = self.f
            raise TypeProblem(
                "DJ329",
                f"`{f.name}` returns a list of arrays or lists that grows at run time: its series has no form yet",
                loc=Loc(f.source_file, f.source_line, 0, 0, f.name),
                cure="return np.array(items)",
            )
        factor, at, body = float(math.factorial(n + 1)), Value(INT), Block()
        at.block, body.args = body, [at]
        with self.build.inside(body):
            item = self.build.value("list_get", [t, at], elem)
            self.build.op("list_set", [t, self.scaled(item, factor), at])
        self.build.counted(self.build.value("list_len", [t], INT), body)
        return t


@dataclass(slots=True, eq=False)
class Jets:
    """A function whose results are values, then terms of their series."""

    function: Function
    terms: list[list[int] | None]  # for each value, the positions of its terms; None: they are zero


def jet_program(function: Function, wrt: list[int], order: int, *, scaled: bool) -> Jets:
    """Values and series. Parameters: the function's own, then the terms of each one in `wrt`, one after the other.

    Terms are derivatives if `scaled`, else the coefficients of the power series.
    """
    made = (Derivatives if scaled else Jet)(function, wrt, order).accompany()
    made.function.name = f"{function.name}_jet"
    return Jets(made.function, made.returned())


__all__ = ["Derivatives", "Jet", "Jets", "jet_program"]
