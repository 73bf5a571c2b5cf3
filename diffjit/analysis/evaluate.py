"""Operations as Python functions: each is the text that the Python backend would run, compiled by itself.

evaluate = Evaluator(function)
value = evaluate.operation(op)(*inputs)       # None for a write, which changes its first input
"""

from __future__ import annotations

import ast
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.ir.nodes import Function, Op
from diffjit.ir.text import indices as indextext
from diffjit.ir.text import syntax
from diffjit.ir.text.expressions import SourcePrinter
from diffjit.ir.walk import callees, walk_called
from diffjit.primitives import scipy_special
from diffjit.primitives.semantics import printed


class Evaluator:
    """The operations of one program, and of the functions that it calls."""

    def __init__(self, function: Function) -> None:
        self.printer = SourcePrinter(printed())
        self.printer.begin(callees(function))
        self.space: dict[str, Any] = {"__name__": __name__, "np": np, "math": math}
        for text in (*self.printer.imports.values(), *self.printer.prelude.values()):
            exec(text, self.space)  # noqa: S102 - our own text
        if any(op.kind.startswith(scipy_special.PREFIX) for op in walk_called(function)):
            self.space["scipy"] = importlib.import_module("scipy")
        self.made: dict[tuple[int, str], Callable[..., Any]] = {}
        self.constants: dict[int, Any] = {}

    def constant(self, op: Op) -> Any:
        """The number that a `const` stands for; a Python float becomes NumPy's where the two behave alike."""
        if id(op) not in self.constants:
            value = op.attrs["value"]
            if isinstance(value, float) and not self.printer.narrow:
                value = np.float64(value)
            self.constants[id(op)] = value
        return self.constants[id(op)]

    def operation(self, op: Op) -> Callable[..., Any]:
        """A function of the operation's inputs."""
        return self._cached(op, "", lambda args: self._body(op, args))

    def places(self, op: Op) -> Callable[..., Any]:
        """For a `scatter_add`: a function of an array and the indices that gives the elements written to."""

        def body(args: Sequence[ast.expr]) -> list[ast.stmt]:
            items = indextext.index_items(op.attrs["spec"], args[2:])
            return [ast.Return(value=indextext.subscript(args[0], items))]

        return self._cached(op, "places", body)

    def _body(self, op: Op, args: Sequence[ast.expr]) -> list[ast.stmt]:
        if self.printer.expressible(op) or op.row.linked:
            return [ast.Return(value=self.printer.expression(op, args))]
        made = self.printer.statements(op, args, [])
        assert not isinstance(made, str)
        return made

    def _cached(self, op: Op, what: str, body: Callable[[Sequence[ast.expr]], list[ast.stmt]]) -> Callable[..., Any]:
        key = id(op), what
        if key not in self.made:
            names = [f"a{k}" for k in range(len(op.inputs))]
            module = ast.parse(f"def operation({', '.join(names)}): pass")
            definition = module.body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.body = body([syntax.variable(n) for n in names])
            for name, line in self.printer.imports.items():
                if name not in self.space:
                    exec(line, self.space)  # noqa: S102 - our own text
            exec(compile(ast.fix_missing_locations(module), "<operation>", "exec"), self.space)  # noqa: S102
            self.made[key] = self.space.pop("operation")
        return self.made[key]
