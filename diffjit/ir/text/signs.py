"""Signs as they are written by hand, in finished text: a -= b for a += -b, and n - 2 for n - 1 - 1."""

from __future__ import annotations

import ast


class Subtractions(ast.NodeTransformer):
    """Additions of what is negative become subtractions: the same numbers."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Write a - b for a + -b, and a + b for a - -b."""
        self.generic_visit(node)
        node.op, node.right = _without_sign(node.op, node.right)
        return _in_one_step(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Write a -= b for a += -b, and a += b for a -= -b."""
        self.generic_visit(node)
        node.op, node.value = _without_sign(node.op, node.value)
        return node


def _without_sign(op: ast.operator, right: ast.expr) -> tuple[ast.operator, ast.expr]:
    """An addition or a subtraction of what is negative, as the other one of what is positive."""
    positive = _opposite(right) if isinstance(op, (ast.Add, ast.Sub)) else None
    if positive is None:
        return op, right
    return ast.Sub() if isinstance(op, ast.Add) else ast.Add(), positive


def _in_one_step(node: ast.BinOp) -> ast.BinOp:
    """n - 1 - 1 as n - 2."""
    inner = node.left
    if (
        isinstance(node.op, ast.Sub)
        and isinstance(inner, ast.BinOp)
        and isinstance(inner.op, ast.Sub)
        and isinstance(inner.right, ast.Constant)
        and isinstance(node.right, ast.Constant)
        and type(inner.right.value) is int
        and type(node.right.value) is int
    ):
        return ast.BinOp(left=inner.left, op=ast.Sub(), right=ast.Constant(value=inner.right.value + node.right.value))
    return node


def _opposite(tree: ast.expr) -> ast.expr | None:
    """The expression that another one is the negative of, as its sign stands in front."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return tree.operand
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)) and not isinstance(tree.value, bool):
        return ast.Constant(value=-tree.value) if tree.value < 0 else None
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        left = _opposite(tree.left)
        return None if left is None else ast.BinOp(left=left, op=tree.op, right=tree.right)
    return None
