"""Formulas of partial derivatives, such as "where(x > y, 1, 0)": their syntax trees, and what these look like."""

from __future__ import annotations

from typing import Any

import gast


def formula(text: str) -> gast.AST:
    """The syntax tree of an expression."""
    return gast.parse(text, mode="eval").body


def number(tree: Any) -> Any:
    """The number that a formula is (0, 1, -1, ...); None for others."""
    if isinstance(tree, gast.UnaryOp) and isinstance(tree.op, gast.USub) and isinstance(tree.operand, gast.Constant):
        return -tree.operand.value
    return tree.value if isinstance(tree, gast.Constant) else None


def is_name(tree: Any) -> bool:
    """Whether a formula is an operand or the result, as it is."""
    return isinstance(tree, gast.Name)


def choice(tree: Any) -> tuple[Any, Any, Any] | None:
    """(test, yes, no) of a formula `where(test, yes, no)`."""
    if isinstance(tree, gast.Call) and isinstance(tree.func, gast.Name) and tree.func.id == "where":
        test, yes, no = tree.args
        return test, yes, no
    return None


def quotient(tree: Any) -> tuple[bool, Any, Any] | None:
    """(whether it is negative, numerator, denominator) of a formula `numerator / denominator`."""
    if not (isinstance(tree, gast.BinOp) and isinstance(tree.op, gast.Div)):
        return None
    above = tree.left
    if isinstance(above, gast.UnaryOp) and isinstance(above.op, gast.USub):
        return True, above.operand, tree.right
    return False, above, tree.right
