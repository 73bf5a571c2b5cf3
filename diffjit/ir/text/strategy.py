"""How operations become Python text: the interface between the generic driver and a printer of operations.

The driver (`diffjit.ir.text.outofssa`) leaves SSA form: it decides names, folds values that are used once into the
expressions that use them, and prints control flow, calls and copies. An `OpPrinter` knows what each operation looks
like. There are two: the text at the level of the user's code (`diffjit.ir.text.expressions`) and the loops that Numba
compiles (`diffjit.lowering`).

    text = print_module(function, MyPrinter())        # diffjit.ir.text.printer
    definition = function_def(function, MyPrinter())   # diffjit.ir.text.outofssa, an ast.FunctionDef

Build trees with `diffjit.ir.text.syntax` (`expr("a[i]", a=..., i=...)`, `call`, `name`, `stmts`, ...). A tree has
one place in the text: use `syntax.copied` where one is printed twice (`expr` and `stmts` do so by themselves).
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from diffjit.ir.raising import raises_in_python
from diffjit.ir.text import syntax
from diffjit.ir.text.names import described
from diffjit.ir.types import BOOL, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from diffjit.ir.nodes import Function, Op, Value
    from diffjit.ir.types import Type


class OpPrinter(ABC):
    """Prints operations as Python syntax.

    The driver itself prints `for`, `while`, `if`, `call`, `undef` and the copies between SSA values; everything else
    comes here.
    """

    prelude: Mapping[str, str] = {}
    """Helper functions and constants: name -> source text.

    Those that the text uses are printed above the functions, in this order.
    """

    imports: Mapping[str, str] = {"np": "import numpy as np", "math": "import math"}
    """Names that need an import -> the import line, printed when the name is used."""

    reserved: ClassVar[frozenset[str]] = frozenset()
    """More names that no variable may take (builtins, keywords, helpers and imports are reserved anyway)."""

    width: ClassVar[int] = 110
    """Expressions are cut by naming parts of them so that lines stay within about this many columns."""

    variables: frozenset[str] = frozenset()
    """What the driver calls the variables of the function, before it prints the first operation."""

    def begin(self, functions: Sequence[Function]) -> None:  # noqa: B027 - most need nothing
        """Called once before the functions of a module are printed, with all of them."""

    def foldable(self, op: Op) -> bool:
        """Whether the one output of this op may be printed inside the expression of its one use.

        Asked only where the fold would be correct by itself: one output, used once in the same block, op pure, or
        `pop`, or an `if` without statements in its branches (`conditional` prints it). The driver checks that no write,
        call, effect or new version of an operand's name comes between. An op for which this is False is printed by
        `statements` when `expressible` is False, else as `name = expression`. By default, values which carry the user's
        name stay statements of their own.
        """
        return op.out.name is None

    def expressible(self, op: Op) -> bool:
        """Whether `expression` can print this op (it must when `foldable`). Otherwise `statements` prints it."""
        return len(op.outputs) == 1

    @abstractmethod
    def expression(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """The expression of an expressible op; `args` print its inputs."""

    @abstractmethod
    def statements(self, op: Op, args: Sequence[ast.expr], outs: Sequence[str]) -> list[ast.stmt] | str:
        """The statements of any other op, which assign its outputs to the names in `outs`.

        Each statement sees the inputs as they are; within one op, read `args` before assigning `outs`: an output may
        share the name of an input that dies here (set `early_outputs` to forbid that). Text is parsed.
        """

    def early_outputs(self, op: Op) -> bool:
        """Whether `statements(op)` assigns an output before it has read all args: they then never share a name."""
        return False

    def constant(self, op: Op, user: Op | None) -> ast.expr:
        """The literal of a `const`; `user` is the op that it is an operand of (None in a copy or a return)."""
        value = op.attrs["value"]
        if op.out.type.weak:  # type: ignore[union-attr] - constants are scalars
            return syntax.number(value)
        return syntax.call(f"np.{value.dtype.name}", syntax.number(value.item()))

    def passes_on(self, op: Op) -> bool:
        """Whether a loop is a call, which is given what the loop carries."""
        del op
        return False

    def undefined(self, ty: Type) -> ast.expr:
        """What a variable holds that has no value yet but is copied all the same (never read otherwise)."""
        return ast.Constant(value=ty.dtype.type(0).item() if isinstance(ty, Scalar) else None)

    def hint(self, op: Op, operands: Sequence[str]) -> str:
        """A name for an unnamed output; `operands` are the names that its inputs have ("" for none)."""
        return described(op, operands)

    def storage(self, ty: Type) -> Hashable:
        """Variables share a name only when this agrees. By default any types may share one, as in Python."""
        return None

    def moves_memory(self, op: Op) -> bool:
        """Whether folding this op later must not cross writes: it reads contents of arrays, lists or stacks."""
        return reads_memory(op)

    def raises(self, op: Op) -> bool:
        """Whether the text of this op may raise: it then keeps its place among all that may, and among effects."""
        return raises_in_python(op, self.inside)

    def inside(self, op: Op) -> bool:
        """Whether the indices of a load, store or view are known to be within bounds."""
        return False

    def for_iterable(self, op: Op, start: ast.expr, stop: ast.expr, step: ast.expr) -> ast.expr:
        """What a `for` op iterates over: `range(...)`."""
        return range_call(op, start, stop, step)

    def finished(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """A last look at the text of a function."""
        return definition

    def loop(self, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
        """The statements for a printed `for`; `name` gives the variable of a value, None where it has none."""
        return [loop]

    def conditional(self, op: Op, test: ast.expr, then: ast.expr, other: ast.expr) -> ast.expr:
        """An `if` without statements that is foldable: `then if test else other`, or `and`, `or`, `not` for bools."""
        return syntax.conditional(test, then, other, logical=op.out.type == BOOL)

    def call(self, op: Op, callee: str, args: Sequence[ast.expr]) -> ast.expr:
        """The call of another generated function, printed under the name `callee`."""
        return syntax.call(syntax.variable(callee), *args)

    def return_statement(self, function: Function, values: Sequence[ast.expr]) -> list[ast.stmt]:
        """The function's last statements: `return a, b`, `return a` or `return ()`."""
        return [ast.Return(value=values[0] if len(values) == 1 else syntax.tuple_of(values))]

    def decorators(self, function: Function) -> list[ast.expr]:
        """Decorators of the printed function."""
        return []

    def head(self, function: Function, params: Mapping[Value, str]) -> list[ast.stmt]:
        """Statements between the docstring and the body."""
        return []


def reads_memory(op: Op) -> bool:
    """Whether what this op computes depends on contents of memory, and not only on scalars, lengths and references."""
    from diffjit.ir.nodes import is_view
    from diffjit.ir.ops import Reads
    from diffjit.ir.types import is_ref

    if is_view(op) or op.row.reads in (Reads.LENGTHS, Reads.REFERENCE):
        return False
    return any(is_ref(v.type) for v in op.inputs)


def range_call(op: Op, start: ast.expr, stop: ast.expr, step: ast.expr) -> ast.expr:
    """`range(start, stop, step)` without the parts that have their default values; reversed where the op says so."""
    parts = [start, stop, step]
    if isinstance(step, ast.Constant) and step.value == 1:
        parts.pop()
        if isinstance(start, ast.Constant) and start.value == 0:
            parts.pop(0)
    indices = syntax.call("range", *parts)
    return syntax.call("reversed", indices) if op.attrs.get("reverse") else indices
