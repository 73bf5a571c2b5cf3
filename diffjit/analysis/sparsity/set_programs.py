"""Programs that compute, beside each number, which inputs it depends on, as Python text.

    v7 = v3 * v5
    s7 = union(s3, s5)
    v8[v6] = v7
    if s8 is not None: s8[v6] = s7

A step through the operations one by one would cost more than what they do. What an operation does to sets is here
where that is a line (`Writer.result`, `Writer.write`), and else a call of what `analysis.sparsity.index_sets` says.
Loops and new arrays are charged to an `Allowance`, which ends runs that are longer than machine code would take.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from diffjit.analysis.evaluate import Evaluator
from diffjit.analysis.sparsity.set_rules import NONE, UNION, Sets, joined, nothing, of_value, union
from diffjit.ir.aliases import Classes, edges
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.ops.schema import View
from diffjit.ir.text import syntax
from diffjit.ir.text.statements import STATEMENTS
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.ir.walk import callees, carried, has_exit, initial, walk
from diffjit.primitives.registry import ELEMENTWISE

_NOTHING = "NONE"  # the text for a number that depends on nothing
_PARTS = frozenset({"real_view", "imag_view"})
_PLAIN = frozenset({"store", "assign", "leave"})  # writes that do to sets what they do to values


class Exhausted(Exception):
    """A run was longer than it was allowed to be."""


class Allowance:
    """How many operations on numbers a run may still do, roughly."""

    def __init__(self, left: float = math.inf) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Charge operations; raises `Exhausted` where none are left."""
        self.left -= count
        if self.left < 0:
            raise Exhausted


Result = Callable[[Op, Sequence[Any], Sequence[Sets], Any], Sets]
Write = Callable[[Op, Sequence[Any], Sequence[Sets]], None]
Foreign = Callable[[Op, Sequence[Any], Sequence[Sets], Sequence[Any]], list[Sets]]


def compiled(function: Function, evaluate: Evaluator, result: Result, write: Write, foreign: Foreign) -> Any:
    """A Python function of an allowance and the values, then the sets, of a function's parameters.

    It gives those of the function's results.
    """
    space = {
        **evaluate.space, "NONE": NONE, "UNION": UNION, "union": union, "joined": joined, "nothing": nothing,
        "of_value": of_value, "result": result, "write": write, "foreign": foreign,
    }  # fmt: skip
    functions = list(callees(function))
    names = {id(f): f"function_{k}" for k, f in enumerate(functions)}
    writer = Writer(evaluate, space, names)
    for f in functions:
        writer.function(f)
    for name, line in evaluate.printer.imports.items():
        if name not in space:
            exec(line, space)  # noqa: S102 - our own text
    exec(compile("\n".join(writer.lines), "<index sets>", "exec"), space)  # noqa: S102
    return space[names[id(function)]]


class Writer:
    """Writes one program and the functions that it calls."""

    def __init__(self, evaluate: Evaluator, space: dict[str, Any], functions: dict[int, str]) -> None:
        self.evaluate, self.space, self.functions = evaluate, space, functions
        self.lines: list[str] = []
        self.depth = 0
        self.values: dict[Value, str] = {}
        self.sets: dict[Value, str] = {}
        self.count = 0
        self.parts: Callable[[Value], bool] = lambda _: False

    def function(self, function: Function) -> None:
        """One function: values first, then sets."""
        self.parts = _parts(function, called=len(self.functions) > 1)
        values, sets = self.fresh(function.params)
        # What has no derivative has no sets; its place is kept.
        sets = [s if s != "None" else f"_{k}" for k, s in enumerate(sets)]
        self.line(f"def {self.functions[id(function)]}({', '.join(['allowance', *values, *sets])}):")
        with self.indented():
            self.block(function.body)
            self.line(f"return {self.row(self.both(function.body.results))}")

    # Names

    def fresh(self, names: Sequence[Value]) -> tuple[list[str], list[str]]:
        """Names for values and their sets."""
        for v in names:
            self.count += 1
            self.values[v] = f"v{self.count}"
            self.sets[v] = f"s{self.count}" if is_float(v.type) else "None"
        return [self.values[v] for v in names], [self.sets[v] for v in names]

    def constant(self, value: Any) -> str:
        """A name for an object that the text refers to."""
        self.count += 1
        self.space[f"c{self.count}"] = value
        return f"c{self.count}"

    def both(self, names: Sequence[Value]) -> list[str]:
        """The texts of values, then those of their sets."""
        return [*(self.values[v] for v in names), *(self.sets[v] for v in names)]

    def given(self, v: Value) -> str:
        """The sets of an operand; what has no derivative depends on nothing."""
        if isinstance(v.type, Scalar):
            return self.sets[v] if is_float(v.type) else _NOTHING
        plain = f"of_value({self.constant(v.type)}, {self.values[v]})"
        return f"({self.sets[v]} if {self.sets[v]} is not None else {plain})" if is_float(v.type) else plain

    # Text

    def line(self, text: str) -> None:
        """A line at the depth of its block."""
        self.lines.append(" " * self.depth + text)

    @contextmanager
    def indented(self) -> Generator[None]:
        """Within: the body of what was written last."""
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    def row(self, texts: Sequence[str]) -> str:
        """A tuple."""
        return f"({''.join(t + ', ' for t in texts)})"

    def assign(self, targets: Sequence[Value], texts: Sequence[str]) -> None:
        """Give values and sets, all at once."""
        pairs = [
            (name, text) for name, text in zip(self.both(targets), texts, strict=True) if name not in ("None", text)
        ]
        if pairs:
            self.line(f"{''.join(n + ', ' for n, _ in pairs)} = {self.row([t for _, t in pairs])}")

    # Control flow

    def block(self, block: Block) -> None:
        """The operations of a block."""
        for op in block.ops:
            match op.kind:
                case "const":
                    self.values[op.out], self.sets[op.out] = self.constant(self.evaluate.constant(op)), _NOTHING
                case "undef":
                    self.values[op.out] = "None"
                    self.sets[op.out] = _NOTHING if isinstance(op.out.type, Scalar) else "None"
                case "print" | "opaque" if not op.outputs:
                    pass
                case "if":
                    self.branches(op)
                case "call":
                    self.fresh(op.outputs)
                    given = self.row(["allowance", *self.both(op.inputs)])
                    self.assign_row(op.outputs, f"{self.functions[id(op.attrs['function'])]}{given}")
                case _ if op.row.loop:
                    self.loop(op)
                case _:
                    self.operation(op)

    def assign_row(self, targets: Sequence[Value], text: str) -> None:
        """Give what a call gives: values, then sets."""
        names = [n if n != "None" else "_" for n in self.both(targets)]
        self.line(f"{''.join(n + ', ' for n in names)} = {text}" if names else text)

    def branches(self, op: Op) -> None:
        """An `if`."""
        self.fresh(op.outputs)
        self.line(f"if {self.values[op.inputs[0]]}:")
        for k, region in enumerate(op.regions):
            if k:
                self.line("else:")
            with self.indented():
                self.block(region)
                self.assign(op.outputs, self.both(region.results))

    def loop(self, op: Op) -> None:
        """A `for` or a `while`: what is carried has the same names in all of its blocks."""
        body, skip = op.regions[-1], has_exit(op)
        starts = initial(op)
        places = [carried(op, k) for k in range(len(op.outputs))]
        self.fresh(op.outputs)
        held = [args[-1] for args, _ in places]
        self.fresh(held)
        for (args, _), v in zip(places, held, strict=True):
            for a in args:
                self.values[a], self.sets[a] = self.values[v], self.sets[v]
        self.assign(held, self.both(starts))
        if op.kind == "for":
            (counter,), _ = self.fresh(body.args[:1])
            bounds = ", ".join(f"int({self.values[v]})" for v in op.inputs[:3])
            indices = f"range({bounds})"
            self.line(f"for {counter} in {f'reversed({indices})' if op.attrs.get('reverse') else indices}:")
        else:
            self.line("while True:")
        with self.indented():
            self.line(f"allowance.spend({sum(len(region.ops) for region in op.regions) + 1})")
            if op.kind != "for":
                self.block(op.regions[0])
                self.line(f"if not {self.values[op.regions[0].results[0]]}: break")
            self.block(body)
            self.assign(held, self.both([following for _, following in places]))
            if skip:
                self.line(f"if {self.values[body.results[0]]}: break")
        self.assign(op.outputs, self.both(held))

    # Straight lines

    def text(self, op: Op, names: Sequence[str]) -> str:
        """An operation as an expression of its operands."""
        args = [syntax.variable(n) for n in names]
        if self.evaluate.printer.expressible(op) and not op.row.linked:
            return f"({ast.unparse(self.evaluate.printer.expression(op, args))})"
        return f"{self.constant(self.evaluate.operation(op))}({', '.join(names)})"

    def operation(self, op: Op) -> None:
        """One operation on values, and what it does to sets."""
        values = [self.values[v] for v in op.inputs]
        sets = [self.sets[v] for v in op.inputs]
        if not op.outputs:
            if op.row.writes and is_float(op.inputs[0].type):
                self.write(op, values, sets)
            if op.kind in _PLAIN:
                self.statement(op, values)
            else:
                self.line(self.text(op, values))
            return
        self.fresh(op.outputs)
        if op.kind == "foreign":
            names = self.row([self.values[v] for v in op.outputs])
            made = self.text(op, values)
            self.line(f"{names} = {made if len(op.outputs) > 1 else f'({made}, )'}")
            found = f"foreign({self.constant(op)}, {self.row(values)}, {self.row(sets)}, {names})"
            self.line(f"{self.row([s if s != 'None' else '_' for s in (self.sets[v] for v in op.outputs)])} = {found}")
            return
        self.line(f"{self.values[op.out]} = {self.text(op, values)}")
        if is_float(op.out.type):
            if isinstance(op.out.type, Array) and not is_view(op):
                self.line(f"allowance.spend({self.values[op.out]}.size)")
            self.line(f"{self.sets[op.out]} = {self.result(op, values, sets)}")

    def statement(self, op: Op, names: Sequence[str]) -> None:
        """A write."""
        for made in STATEMENTS[op.kind](op, [syntax.variable(n) for n in names]):
            self.line(ast.unparse(made))

    def write(self, op: Op, values: Sequence[str], sets: Sequence[str]) -> None:
        """What a write does to the sets of its target; the other part of a complex number stays."""
        if sets[0] == "None":
            return
        self.line(f"if {sets[0]} is not None:")
        with self.indented():
            stays = self.parts(op.inputs[0])
            if stays:
                self.line(f"before = {sets[0]}.copy()")
            if op.kind in _PLAIN:
                self.line(f"source = {self.given(op.inputs[1])}")
                self.statement(op, [sets[0], "source", *values[2:]])
            else:
                self.line(f"write({self.constant(op)}, {self.row(values)}, {self.row(sets)})")
            if stays:
                self.line(f"{sets[0]}[...] = UNION(before, {sets[0]})")

    def result(self, op: Op, values: Sequence[str], sets: Sequence[str]) -> str:
        """The sets of an operation's result."""
        if op.row.by_element:
            operands = dict.fromkeys(v for v in differentiable(op) if self.sets[v] != _NOTHING)
            parts = [self.given(v) for v in operands]
            if isinstance(op.out.type, Scalar):
                found = parts[0] if parts else _NOTHING
                for part in parts[1:]:
                    found = f"union({found}, {part})"
                return found
            return f"nothing({self.values[op.out]}, joined({self.row(parts)}))"
        first = op.inputs[0] if op.inputs else None
        if first is not None and isinstance(first.type, Array) and is_float(first.type):
            moved = None
            if op.kind == "load":
                moved = f"{sets[0]}[{self.row(values[1:])}]"
            elif op.kind in _PARTS:
                moved = f"{sets[0]}[...]"
            elif op.row.view is View.ALWAYS:
                moved = self.text(op, [sets[0], *values[1:]])
            if moved is not None:
                return f"{moved} if {sets[0]} is not None else {self.plain(op)}"
        return f"result({self.constant(op)}, {self.row(values)}, {self.row(sets)}, {self.values[op.out]})"

    def plain(self, op: Op) -> str:
        """Sets of a result that depends on nothing."""
        if isinstance(op.out.type, Scalar):
            return _NOTHING
        return f"of_value({self.constant(op.out.type)}, {self.values[op.out]})"


def _parts(function: Function, *, called: bool) -> Callable[[Value], bool]:
    """Which arrays may be the real or imaginary parts of complex ones: both have the set of the whole number."""
    classes, views = Classes(), list[Value](v for v in function.params if called)
    for op in walk(function.body):
        classes.meet(op)
        for edge in edges(op):
            classes.unite(edge.source, edge.target)
        if op.kind in _PARTS:
            views.append(op.out)
    found = {classes.find(v) for v in views}
    return lambda v: isinstance(v.type, Array) and v.type.dtype.kind != "c" and classes.find(v) in found


def differentiable(op: Op) -> list[Value]:
    """The operands of an elementwise operation that its result can have a derivative by."""
    partials = ELEMENTWISE[op.kind].partials

    def constant(k: int) -> bool:  # the imaginary part has no derivative by what is real, but by what is complex
        return k < len(partials) and partials[k] == "0" and op.inputs[k].type.dtype.kind != "c"

    return [v for k, v in enumerate(op.inputs) if is_float(v.type) and not constant(k)]
