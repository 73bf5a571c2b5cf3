"""How each kind of operation is written for the compiler: one function for each, beside which its kind stands.

    @expression("dim")
    def _dim(printer, op, args): ...             the tree of an expression

    @statement("store")
    def _store(printer, op, args, outs, lines): ...     lines of text that assign the results

What is not here is known by its row: functions of numbers and of elements (`scalars`, in loops `nests`), reductions
(`loops`), and control flow, which the driver writes (`ir.text.outofssa`). `form` names the way; each kind has one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from diffjit.ir.nodes import Op
from diffjit.ir.ops import ROWS
from diffjit.lowering.text.lines import Lines

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

Expression = Callable[["LoweredPrinter", Op, list[ast.expr]], ast.expr]
Statement = Callable[["LoweredPrinter", Op, list[ast.expr], list[str], Lines], None]
F = TypeVar("F")

EXPRESSIONS: dict[str, Expression] = {}
STATEMENTS: dict[str, Statement] = {}


def _declared(table: dict[str, F], kinds: tuple[str, ...]) -> Callable[[F], F]:
    def declare(function: F) -> F:
        for kind in kinds:
            if kind not in ROWS or kind in EXPRESSIONS or kind in STATEMENTS:
                raise ValueError(f"`{kind}` has no row, or is written elsewhere")
            table[kind] = function
        return function

    return declare


def expression(*kinds: str) -> Callable[[Expression], Expression]:
    """Declare how operations with one result are written, whose text takes no lines of its own."""
    return _declared(EXPRESSIONS, kinds)


def statement(*kinds: str) -> Callable[[Statement], Statement]:
    """Declare how operations are written that take lines of their own."""
    return _declared(STATEMENTS, kinds)


def form(kind: str) -> str:
    """How a kind is written; "" if nobody has said."""
    row = ROWS[kind]
    if row.inner:
        return "not at all"
    if kind in EXPRESSIONS:
        return "expression"
    if kind in STATEMENTS:
        return "statement"
    if row.control or row.literal:
        return "by the driver"
    if row.by_element or row.reduces or row.same or row.updates:
        return "in loops"
    return ""
