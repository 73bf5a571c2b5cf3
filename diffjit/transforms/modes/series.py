"""Truncated power series of one operation's result, order by order, from those of its inputs.

Coefficients are normalised: x(t) = x_0 + x_1 t + x_2 t^2 + ... From y = f(x) follows y' = f'(x) x', where the
right-hand side is the code that forward mode's own rule gives for y. Coefficient m of y is coefficient m - 1 of that,
divided by m, which reads y and x to lower orders alone. So the code of the rule is expanded in the same way, and what
it computes again (the cosine whose derivative is minus the sine that it came from) is found again, which ends in the
known recurrences of O(m) operations for coefficient m (Griewank and Walther, Evaluating Derivatives, chapter 13).

What ends the expansion is what arithmetic of power series has closed forms for: linear operations, products, and
quotients. A value of the rule's code that is linear in x' is stood for by the coefficients of its integral: that of x'
is x, so nothing is multiplied by m and divided by m again where the rule is linear in x alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import TRIED, Block, Op, Value, const_of, is_const, is_view, without_labels
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.primitives.linalg import solve_product, solve_right
from diffjit.primitives.registry import RULES
from diffjit.transforms import custom, rules
from diffjit.transforms.modes.forward import TangentRules
from diffjit.transforms.modes.opaque import Opaque, is_straight, straightened

_ADDITIVE = frozenset({"add", "subtract", "negative", "positive", "cast", "conjugate", "real"})
_PRODUCTS = frozenset({"multiply", "zmul", "matmul"})
_QUOTIENTS = frozenset({"divide", "zdiv"})
_DIVIDED = _QUOTIENTS | {"solve"}
_CHOICES = frozenset({"where", "select"})
_MAPPED = frozenset({"load", "copy", "reshape", "gather", "full"})  # beside views and linear rules

Known = Callable[[Value], "list[Value | None] | None"]


class Expansion(TangentRules):
    """The series of one operation's outputs. `known` gives the higher coefficients of a value of the program.

    Values of the program outlive an expansion; those of rules ("scratch") exist in it alone, and their coefficients
    are emitted where and when they are asked for.
    """

    def __init__(self, build: Builder, runner: rules.RuleRunner, op: Op, order: int, known: Known) -> None:
        self.build, self.runner = build, runner
        self.order, self.known = order, known
        self.table: dict[Hashable, Op] = {}  # what is computed already, by operation and operands
        self.same: dict[Value, Value] = {}
        self.scratch: set[Value] = set()
        self.dots: dict[Value, Value] = {}  # value -> what stands for its derivative in rules
        self.undotted: dict[Value, Value] = {}
        self.integrals: set[Value] = set()  # scratch values that are linear in derivatives
        self.varying: dict[Value, bool] = {}
        self.slopes: dict[Value, Value | Opaque] = {}
        self.results: dict[Op, list[Value] | list[Opaque]] = {}  # of calls with rules: what their rules give for them
        self.plain: dict[tuple[Value, int], Value | None] = {}
        self.integrated_: dict[tuple[Value, int], Value | None] = {}
        self.op = Op(op.kind, [self.canonical(v) for v in op.inputs], op.outputs, op.attrs, [], op.loc)
        self.table[self.key(self.op)] = self.op
        if op.kind == "call":  # whether the call itself is needed, its rule decides
            for v in op.outputs:
                v.op = self.op
                self.scratch.add(v)
                self.varying[v] = is_float(v.type)

    def run(self) -> list[Value | None]:
        """Coefficients 1, 2, ... of the output; None where one is exactly zero."""
        before, self.build.tried = self.build.tried, bool(self.op.attrs.get(TRIED))
        try:
            return [self.coefficient(self.op.out, m) for m in range(1, self.order + 1)]
        finally:
            self.build.tried = before

    # Which values are the same, and what they depend on

    def canonical(self, v: Value) -> Value:
        """The first of the values that are known to be equal."""
        if is_const(v) and v not in self.same and v not in self.scratch:
            self.same[v] = self.table.setdefault(_constant(v), v.op or Op("const", [])).out
        return self.same.get(v, v)

    def key(self, op: Op) -> Hashable:
        """What an operation computes from its (canonical) operands."""
        if op.kind == "const":
            return _constant(op.out)
        types = [
            (v.type.dtype, v.type.ndim, v.type.layout) if isinstance(v.type, Array) else v.type for v in op.outputs
        ]
        attrs = sorted((n, a) for n, a in without_labels(op.attrs).items() if n not in (TRIED, "nowrap"))
        return op.kind, tuple(op.inputs), tuple(types), repr([(n, _stable(a)) for n, a in attrs])

    def absorb(self, block: Block) -> None:
        """Take a rule's operations in, those apart that are known already."""
        for op in block.ops:
            op.inputs = [self.canonical(v) for v in op.inputs]
            key = self.key(op)
            found = self.table.get(key)
            if found is not None:
                self.same.update(zip(op.outputs, found.outputs, strict=True))
                continue
            self.table[key] = op
            self.scratch.update(op.outputs)
            if self.is_integral(op):
                self.integrals.add(op.out)

    def is_integral(self, op: Op) -> bool:
        """Whether an operation is linear in those of its operands that are linear in derivatives."""
        dotted = [v in self.integrals for v in op.inputs]
        if op.kind in _PRODUCTS:
            return sum(dotted) == 1
        if op.kind in _DIVIDED:
            at = 0 if op.kind in _QUOTIENTS else 1
            return dotted[at] and not dotted[1 - at]
        return self.is_mapped(op) and any(dotted[k] for k in self.operands(op))

    def is_mapped(self, op: Op) -> bool:
        """Whether an operation is linear in `operands`, so that it applies to each coefficient by itself."""
        entry = RULES.get(op.kind)
        linear = entry is not None and entry.linear
        return op.kind in _ADDITIVE | _CHOICES | _MAPPED or is_view(op) or linear

    def operands(self, op: Op) -> range:
        """The operands that an operation is linear in."""
        if op.kind in _CHOICES:
            return range(1, 3)
        entry = RULES.get(op.kind)
        everything = op.kind in _ADDITIVE or (
            entry is not None and entry.variadic and entry.linear and len(entry.params) == 1
        )
        return range(len(op.inputs) if everything else 1)

    def varies(self, v: Value) -> bool:
        """Whether a value depends on the inputs of the program."""
        if v not in self.varying:
            if not is_float(v.type):
                self.varying[v] = False
            elif v in self.scratch and v.op is not None:
                data = v.op.inputs[:1] if v.op.kind == "unbroadcast" else v.op.inputs
                self.varying[v] = not v.op.row.constant and any(self.varies(i) for i in data)
            else:
                self.varying[v] = v in self.op.outputs or v in self.integrals or self.known(v) is not None
        return self.varying[v]

    # What forward mode's rules ask for

    def has(self, v: Value) -> bool:
        """Whether a value has a derivative."""
        return self.varies(self.canonical(v))

    def tangent(self, v: Value) -> Value:
        """What stands for the derivative of a value."""
        v = self.canonical(v)
        if v not in self.dots:
            dot = self.dots[v] = Value(v.type, self.name(v))
            self.undotted[dot] = v
            self.integrals.add(dot)
        return self.dots[v]

    def zero(self, v: Value, n: int = 0) -> Value:
        """A derivative that is zero."""
        del n
        return self.build.zero(v)

    def slope(self, v: Value) -> Value | Opaque:
        """The derivative of a nonlinear operation's output: a value of its rule's code, or of a program."""
        if v in self.slopes:
            return self.slopes[v]
        op = self.op if v in self.op.outputs else v.op
        assert op is not None
        block = Block()
        own = custom.rules_of(op)
        code = RULES[op.kind].code if op.kind in RULES else None
        if code is not None:
            with self.build.inside(block):
                found = self.runner.number(self.runner.function(code, rules.rule_values(self.runner, op, {})))
            self.slopes[v] = Opaque(Opaque.program(self, block, op, [found], itself=True), 0)
            return self.slopes[v]
        with self.build.inside(block):
            found = [self.slope_of(op)] if own is None else self.own_rule(op, own)
        made = self.expanded(block, op, found)
        if own is None:
            self.slopes[v] = made[0]
        else:
            n = len(op.outputs)
            self.results[op] = made[:n]
            self.slopes.update(zip([op.outputs[k] for k in custom.floats(op.outputs)], made[n:], strict=True))
        return self.slopes[v]

    def slope_of(self, op: Op) -> Value:
        """The derivative of an operation with a rule of the library."""
        found = self.falling_power(op) or self.tangent_of(op)
        return self.zero(op.out) if found is None else found

    def run_call(self) -> tuple[list[Value], list[list[Value | None]]]:
        """For a call of a function with rules: its results, and the series of those that are floats."""
        outs = self.op.outputs
        floats = [outs[k] for k in custom.floats(outs)]
        self.slope(floats[0])
        given = self.results[self.op]
        values = [
            self.solid(g.coefficient(self, 0), v) if isinstance(g, Opaque) else self.value(g)
            for g, v in zip(given, outs, strict=True)
        ]
        return values, [[self.coefficient(v, m) for m in range(1, self.order + 1)] for v in floats]

    def expanded(self, block: Block, op: Op, results: list[Value]) -> list[Value] | list[Opaque]:
        """Results of a rule's code, which is taken in unless it has branches, loops or memory that changes."""
        results = straightened(block, results)
        if is_straight(block):
            self.absorb(block)
            return [self.canonical(v) for v in results]
        program = Opaque.program(self, block, op, results)
        return [Opaque(program, k) for k in range(len(results))]

    def falling_power(self, op: Op) -> Value | None:
        """x**c with a constant c < 0, infinite at x = 0: x' c out / x, where x**(c - 1) would lead on to c - 2."""
        if op.kind not in ("power", "float_power"):
            return None
        x, c = op.inputs[0], const_of(op.inputs[1])
        if c is None or not c < 0 or not is_float(x.type):
            return None
        over = self.runner.ew("zdiv", self.tangent(x), x)
        return self.runner.number(self.runner.ew("zmul", over, self.ew("multiply", float(c), op.out)))

    def own_rule(self, op: Op, own: custom.Rules) -> list[Value]:
        """Copy the rule that a function has of its own: results, and derivatives of those that are floats."""
        custom.refuse_outside(op, own, self.has)
        arguments = [op.inputs[k] for k in own.wrt]
        dots = [self.tangent(v) if self.has(v) else self.zero(v) for v in arguments]
        inputs = [*op.inputs[: own.n_args], *dots, *op.inputs[own.n_args :]]
        return custom.copied(self.build, own.tangents(op.loc), inputs)

    # Coefficients

    def value(self, v: Value) -> Value:
        """Coefficient 0, as a value of the program."""
        if v not in self.scratch and v not in self.integrals:
            return v
        if (v, 0) not in self.plain or self.plain[v, 0] is None:
            self.plain[v, 0] = self.solid(self.coefficient(v, 0), v)
        found = self.plain[v, 0]
        assert found is not None
        return found

    def solid(self, c: Value | None, v: Value) -> Value:
        """A coefficient, also where it is zero."""
        if c is not None:
            return c
        return self.build.zero(v if isinstance(v.type, Scalar) else self.like(v))

    def like(self, v: Value) -> Value:
        """Some value of the program with the shape of `v`."""
        if v in self.undotted:
            return self.value(self.undotted[v])
        if v not in self.integrals:
            return self.value(v)
        assert v.op is not None
        return self.emit(v.op, [self.like(i) for i in v.op.inputs])

    def emit(self, op: Op, inputs: list[Value]) -> Value:
        """The same operation on other values of the same types."""
        given = [self.conform(x, v) for x, v in zip(inputs, op.inputs, strict=True)]
        attrs = {n: a for n, a in without_labels(op.attrs).items() if n != TRIED}
        made = self.build.op(op.kind, given, [v.type for v in op.outputs], **attrs)
        for old, new in zip(op.outputs, made.outputs, strict=True):
            if len(op.outputs) > 1:
                self.plain[old, 0] = new
        return made.outputs[0]

    def conform(self, t: Value, like: Value) -> Value:
        """A coefficient in the layout of the value that it belongs to."""
        ty, own = like.type, t.type
        if isinstance(ty, Array) and isinstance(own, Array) and ty.ndim > 1 and ty.layout not in ("A", own.layout):
            return self.build.value("copy", [t], Array(own.dtype, own.dims, ty.layout), order=ty.layout)
        return t

    def coefficient(self, v: Value, m: int) -> Value | None:
        """Coefficient m of a value; None where it is exactly zero."""
        key = (v, m)
        if key not in self.plain:
            self.plain[key] = self.settled(self._coefficient(v, m), v)
        return self.plain[key]

    def _coefficient(self, v: Value, m: int) -> Value | None:
        if v in self.integrals:
            return self.times(self.integrated(v, m + 1), m + 1)
        mine = v in self.op.outputs
        if m == 0:
            return self.first(v) if v in self.scratch else v
        if not self.varies(v):
            return None
        if not mine and v not in self.scratch:
            known = self.known(v)
            return known[m - 1] if known is not None else None
        op = self.op if mine else v.op
        assert op is not None
        if self.is_mapped(op):
            return self.mapped(op, m, self.coefficient)
        if op.kind in _PRODUCTS or op.kind == "square":
            return self.product(op, m)
        if op.kind in _DIVIDED:
            return self.quotient(op, v, m)
        return self.integrated_slope(v, m)

    def first(self, v: Value) -> Value:
        """Coefficient 0 of a scratch value, emitted."""
        assert v.op is not None
        return self.emit(v.op, [self.solid(self.coefficient(i, 0), i) for i in v.op.inputs])

    def integrated_slope(self, v: Value, m: int) -> Value | None:
        slope = self.slope(v)
        if isinstance(slope, Opaque):
            return slope.integrated(self, m)
        return self.integrated(slope, m)

    def integrated(self, v: Value, m: int) -> Value | None:
        """Coefficient m of the integral of a value of a rule's code, for m > 0."""
        if v in self.undotted:
            return self.coefficient(self.undotted[v], m)
        key = (v, m)
        if key not in self.integrated_:
            self.integrated_[key] = self.settled(self._integrated(v, m), v)
        return self.integrated_[key]

    def _integrated(self, v: Value, m: int) -> Value | None:
        op = v.op
        assert op is not None
        if v not in self.integrals:
            zero = op.kind in ("zeros", "zeros_like") or const_of(v) == 0
            return None if zero else self.over(self.coefficient(v, m - 1), m)
        if op.kind in _PRODUCTS:
            return self.integrated_product(op, m)
        if op.kind in _DIVIDED:
            return self.integrated_quotient(op, v, m)
        return self.mapped(op, m, self.integrated)

    def settled(self, c: Value | None, v: Value) -> Value | None:
        """A coefficient in the form of its value: operands that it was not computed from broadcast, too."""
        ty = v.type
        if c is None or c.type == ty or not isinstance(ty, (Scalar, Array)) or not isinstance(c.type, (Scalar, Array)):
            return c
        if isinstance(ty, Array) and ty.ndim == 0 and isinstance(c.type, Scalar):
            return self.build.value("full", [c], ty, order="C")
        if isinstance(ty, Array) and (not isinstance(c.type, Array) or c.type.dims != ty.dims):
            base = self.solid(None, v)
            c = self.build.value("add", [base, c], Array(ty.dtype, ty.dims, ty.layout))
        if c.type.dtype != ty.dtype or (isinstance(ty, Scalar) and c.type != ty):
            other = ty if isinstance(ty, Scalar) else Array(ty.dtype, ty.dims, getattr(c.type, "layout", "C"))
            c = self.build.value("cast", [c], other)
        return self.conform(c, v)

    # Arithmetic of series

    def ew(self, kind: str, *args: Any) -> Value:
        """An elementwise operation; a number is Python's."""
        given = [a if isinstance(a, Value) else Static(a) for a in args]
        return self.runner.number(self.runner.ew(kind, *given))

    def times(self, c: Value | None, factor: int) -> Value | None:
        return c if c is None or factor == 1 else self.ew("multiply", float(factor), c)

    def over(self, c: Value | None, m: int) -> Value | None:
        return c if c is None or m == 1 else self.ew("divide", c, float(m))

    def total(self, terms: list[Value]) -> Value | None:
        """The sum of what is not zero."""
        found: Value | None = None
        for t in terms:
            found = t if found is None else self.ew("add", found, t)
        return found

    def difference(self, a: Value | None, b: Value | None) -> Value | None:
        if b is None:
            return a
        return self.ew("negative", b) if a is None else self.ew("subtract", a, b)

    def mapped(self, op: Op, m: int, part: Callable[[Value, int], Value | None]) -> Value | None:
        """A linear operation: the same on coefficients."""
        linear = self.operands(op)
        given = {k: part(op.inputs[k], m) for k in linear}
        if all(c is None for c in given.values()):
            return None
        if op.kind == "subtract":
            return self.difference(given[0], given[1])
        if op.kind == "add":
            return self.total([c for c in given.values() if c is not None])
        if op.kind in _CHOICES:
            yes, no = (0.0 if c is None else c for c in given.values())
            # Types of the choice itself: numbers for zeros are Python's.
            test = self.value(op.inputs[0])
            return self.runner.number(self.runner.interpreter.np_where(test, *(_abstract(c) for c in (yes, no))))
        inputs = [self.solid(given[k], v) if k in given else self.value(v) for k, v in enumerate(op.inputs)]
        return self.emit(op, inputs)

    def pair(self, op: Op, a: Value, b: Value, kind: str | None = None) -> Value:
        """One term of a product."""
        if op.kind == "matmul":
            return self.emit(op, [a, b])
        return self.ew(kind or op.kind, a, b)

    def product(self, op: Op, m: int) -> Value | None:
        """Cauchy's product: sum over j of x_j y_(m - j)."""
        x, y = op.inputs[0], op.inputs[-1]
        if x is y and op.kind in ("multiply", "square"):
            return self.square(op, x, m)
        guards = [rules.needs_guard(self.runner, op, k) for k in range(2)] if op.kind == "multiply" else [False, False]
        terms: list[Value] = []
        for j in range(m + 1):
            a, b = self.coefficient(x, j), self.coefficient(y, m - j)
            if a is None or b is None:
                continue
            if guards[0] and j:  # a zero derivative contributes nothing, whatever it is multiplied with
                terms.append(self.ew("zmul", a, b))
            elif guards[1] and j < m:
                terms.append(self.ew("zmul", b, a))
            else:
                terms.append(self.pair(op, a, b))
        return self.total(terms)

    def square(self, op: Op, x: Value, m: int) -> Value | None:
        """Terms j and m - j of a square are equal."""
        kind = "zmul" if op.kind == "multiply" and rules.needs_guard(self.runner, op, 0) else "multiply"
        terms: list[Value] = []
        for j in range((m + 1) // 2):
            a, b = self.coefficient(x, m - j), self.coefficient(x, j)
            if a is not None and b is not None:
                terms.append(self.ew(kind, a, b))
        twice = self.times(self.total(terms), 2)
        middle = self.coefficient(x, m // 2) if m % 2 == 0 else None
        return self.total(
            [t for t in (twice, None if middle is None else self.ew(kind, middle, middle)) if t is not None]
        )

    def integrated_product(self, op: Op, m: int) -> Value | None:
        """The integral of a' b: (1/m) sum over i of i a_i b_(m - i)."""
        at = 0 if op.inputs[0] in self.integrals else 1
        x, y = op.inputs[at], op.inputs[1 - at]

        def term(a: Value | None, b: Value | None) -> list[Value]:
            if a is None or b is None:
                return []
            return [self.pair(op, *((a, b) if at == 0 else (b, a)))]

        terms = [t for i in range(1, m) for t in term(self.weighted(x, i), self.coefficient(y, m - i))]
        rest = self.over(self.total(terms), m)
        return self.total([*([] if rest is None else [rest]), *term(self.integrated(x, m), self.coefficient(y, 0))])

    def weighted(self, v: Value, i: int) -> Value | None:
        """i times coefficient i of an integral: coefficient i - 1 of the value itself."""
        return self.coefficient(v, i - 1)

    def quotient(self, op: Op, z: Value, m: int) -> Value | None:
        """From z y = x: z_m = (x_m - sum over j > 0 of y_j z_(m - j)) / y_0; likewise for y z = x with a matrix y."""
        x, y = op.inputs if op.kind in _QUOTIENTS else reversed(op.inputs)
        guarded = op.kind in _QUOTIENTS and rules.needs_guard(self.runner, op, 1)
        terms: list[Value] = []
        for j in range(1, m + 1) if self.varies(y) else ():
            a, b = self.coefficient(y, j), self.coefficient(z, m - j)
            if a is not None and b is not None:
                terms.append(self.factor(op, a, b, "zmul" if guarded else "multiply"))
        return self.divided(op, self.difference(self.coefficient(x, m), self.total(terms)))

    def integrated_quotient(self, op: Op, z: Value, m: int) -> Value | None:
        """The integral of x' / y: z_m = (x_m - (1/m) sum over i < m of i z_i y_(m - i)) / y_0."""
        x, y = op.inputs if op.kind in _QUOTIENTS else reversed(op.inputs)
        terms: list[Value] = []
        for i in range(1, m) if self.varies(y) else ():
            a, b = self.coefficient(y, m - i), self.weighted(z, i)
            if a is not None and b is not None:
                terms.append(self.factor(op, a, b, "multiply"))
        return self.divided(op, self.difference(self.integrated(x, m), self.over(self.total(terms), m)))

    def factor(self, op: Op, y: Value, z: Value, kind: str) -> Value:
        """The denominator's coefficient times the quotient's."""
        if op.kind in _QUOTIENTS:
            return self.ew(kind, y, z)
        return self.runner.number(self.runner.function(solve_product, {"A": y, "b": op.inputs[1], "x": z}))

    def divided(self, op: Op, c: Value | None) -> Value | None:
        """By coefficient 0 of the denominator."""
        if c is None:
            return None
        below = op.inputs[1] if op.kind in _QUOTIENTS else op.inputs[0]
        y = self.value(below)
        if op.kind == "solve":
            return self.runner.number(self.runner.function(solve_right, {"A": y, "b": op.inputs[1], "r": c}))
        if op.inputs[0] in self.integrals or not rules.needs_guard(self.runner, op, 0):
            return self.ew("divide", c, y)
        return self.ew("zdiv", c, y)


def _abstract(c: Value | float) -> Any:
    return c if isinstance(c, Value) else Static(c)


def _constant(v: Value) -> Hashable:
    number: Any = const_of(v)
    return "const", v.type, type(number).__name__, repr(number)


def _stable(a: Any) -> Any:
    """An attribute as it is told apart from others: functions and rules by identity."""
    return a if a is None or type(a) in (int, float, str, tuple, bool) else (type(a).__name__, id(a))


__all__ = ["Expansion"]
