"""Builds pieces of Python syntax trees, for the printers.

`expr("np.add.at(a, i)", a=..., i=...)` and `stmts(...)` parse a template once and put trees in place of its names, so
that printers read like the text they make.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LOAD = ast.Load()
STORE = ast.Store()


class Variable(ast.Name):
    """A name that stands for a value of the program, told from names of modules, builtins and helpers."""


Variable.__name__ = "Name"  # printers of syntax trees choose by the class's name


_NO_NODES = frozenset({"ctx", "op", "ops", "id", "attr", "kind", "type_comment", "module", "level"})  # none we look for
_PARTS: dict[type, tuple[str, ...]] = {}  # class of nodes -> the fields with nodes in them


def nodes(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a tree in the order of `ast.walk`, three times as fast, without those for contexts and operators."""
    found = [tree]
    for node in found:  # which grows
        kind = node.__class__
        parts = _PARTS.get(kind)
        if parts is None:
            parts = _PARTS[kind] = tuple(f for f in kind._fields if f not in _NO_NODES)
        values = node.__dict__
        for part in parts:
            value = values.get(part)
            if isinstance(value, list):
                found += [v for v in cast("list[object]", value) if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def assigned(tree: ast.AST) -> list[str]:
    """The names that a tree assigns to."""
    return [n.id for n in nodes(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def all_statements(tree: ast.stmt) -> list[ast.stmt]:
    """A statement and those within it."""
    found = [tree]
    for statement in found:  # which grows
        values = statement.__dict__
        found += values.get("body") or ()
        found += values.get("orelse") or ()
    return found


def name(text: str) -> ast.Name:
    """A module, builtin or helper, read."""
    return ast.Name(id=text, ctx=LOAD)


def variable(text: str) -> ast.Name:
    """A program variable, read."""
    return Variable(id=text, ctx=LOAD)


def target(text: str) -> ast.Name:
    """A program variable, written."""
    return Variable(id=text, ctx=STORE)


def number(value: complex | bool) -> ast.expr:
    """A literal Python number; negative ones as the negation of a positive one."""
    if isinstance(value, bool):
        return ast.Constant(value=value)
    if isinstance(value, complex):
        return call("complex", number(value.real), number(value.imag))
    if value != value:  # noqa: PLR0124 - NaN
        return dotted("np.nan")
    if value in (float("inf"), float("-inf")):
        infinity = dotted("np.inf")
        return infinity if value > 0 else ast.UnaryOp(op=ast.USub(), operand=infinity)
    if value < 0 or (value == 0 and str(value)[0] == "-"):
        return ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=-value))
    return ast.Constant(value=value)


def text(value: str) -> ast.expr:
    """A literal string."""
    return ast.Constant(value=value)


def dotted(path: str) -> ast.expr:
    """`a.b.c`, of modules or helpers."""
    first, *rest = path.split(".")
    tree: ast.expr = name(first)
    for part in rest:
        tree = attribute(tree, part)
    return tree


def attribute(value: ast.expr, attr: str) -> ast.Attribute:
    """`value.attr`."""
    return ast.Attribute(value=value, attr=attr, ctx=LOAD)


def call(function: str | ast.expr, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """`function(*args, **keywords)`; a function given as text may be dotted."""
    return ast.Call(
        func=dotted(function) if isinstance(function, str) else function,
        args=list(args),
        keywords=[ast.keyword(arg=key, value=value) for key, value in keywords.items()],
    )


def method(value: ast.expr, attr: str, *args: ast.expr, **keywords: ast.expr) -> ast.Call:
    """`value.attr(*args, **keywords)`."""
    return call(attribute(value, attr), *args, **keywords)


def tuple_of(items: Iterable[ast.expr]) -> ast.Tuple:
    """`(a, b)`."""
    return ast.Tuple(elts=list(items), ctx=LOAD)


def subscript(value: ast.expr, items: Sequence[ast.expr]) -> ast.Subscript:
    """`value[a, b]`; without items `value[()]`."""
    index = items[0] if len(items) == 1 else tuple_of(items)
    return ast.Subscript(value=value, slice=index, ctx=LOAD)


def not_(condition: ast.expr) -> ast.expr:
    """`not condition`, simplified where that is exact."""
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return condition.operand
    if isinstance(condition, ast.Constant) and isinstance(condition.value, bool):
        return ast.Constant(value=not condition.value)
    if (
        isinstance(condition, ast.Compare)
        and len(condition.ops) == 1
        and isinstance(condition.ops[0], (ast.Eq, ast.NotEq))
    ):
        flipped = ast.NotEq() if isinstance(condition.ops[0], ast.Eq) else ast.Eq()
        return ast.Compare(left=condition.left, ops=[flipped], comparators=condition.comparators)
    return ast.UnaryOp(op=ast.Not(), operand=condition)


def conditional(test: ast.expr, then: ast.expr, other: ast.expr, *, logical: bool) -> ast.expr:
    """`then if test else other`; of bools (`logical`) with `and`, `or` and `not` where one is a literal."""
    if logical and isinstance(then, ast.Constant):
        if isinstance(other, ast.Constant):
            return then if then.value == other.value else test if then.value else not_(test)
        return any_of(test, other) if then.value else all_of(not_(test), other)
    if logical and isinstance(other, ast.Constant):
        return any_of(not_(test), then) if other.value else all_of(test, then)
    return ast.IfExp(test=test, body=then, orelse=other)


def all_of(first: ast.expr, second: ast.expr) -> ast.expr:
    """`first and second`."""
    return _joined(ast.And(), first, second)


def any_of(first: ast.expr, second: ast.expr) -> ast.expr:
    """`first or second`."""
    return _joined(ast.Or(), first, second)


def _joined(op: ast.boolop, *parts: ast.expr) -> ast.expr:
    values: list[ast.expr] = []
    for part in parts:
        values += part.values if isinstance(part, ast.BoolOp) and type(part.op) is type(op) else [part]
    return ast.BoolOp(op=op, values=values)


def written(tree: ast.expr) -> ast.expr:
    """The same place as an assignment's target."""
    if isinstance(tree, ast.Name):
        return type(tree)(id=tree.id, ctx=STORE)
    assert isinstance(tree, (ast.Subscript, ast.Attribute)), f"not a place: {ast.dump(tree)}"
    if isinstance(tree, ast.Subscript):
        return ast.Subscript(value=tree.value, slice=tree.slice, ctx=STORE)
    return ast.Attribute(value=tree.value, attr=tree.attr, ctx=STORE)


def assign(place: ast.expr, value: ast.expr) -> ast.stmt:
    """`place = value`."""
    return ast.Assign(targets=[written(place)], value=value, lineno=0)


def add_assign(place: ast.expr, value: ast.expr) -> ast.stmt:
    """`place += value`."""
    return ast.AugAssign(target=cast("ast.Name", written(place)), op=ast.Add(), value=value)


def copied(tree: ast.expr) -> ast.expr:
    """The same tree again: a tree has one place only, since printers note on its nodes what is around them."""
    if isinstance(tree, ast.Name):
        return type(tree)(id=tree.id, ctx=tree.ctx)
    return deepcopy(tree)


class Comment(ast.Expr):
    """A comment on a line of its own; `gap` asks for an empty line above. Runs as a string that nobody reads."""

    gap: bool = False


def comment(line: str, *, gap: bool = False) -> Comment:
    """`# line`."""
    made = Comment(value=ast.Constant(value=line))
    made.gap = gap
    return made


def same(a: ast.AST, b: ast.AST) -> bool:
    """Whether two trees print the same text."""
    if isinstance(a, ast.Name) and isinstance(b, ast.Name):
        return a.id == b.id
    return type(a) is type(b) and ast.dump(a) == ast.dump(b)


class _Substitute(ast.NodeTransformer):
    """Copies a template's tree, with trees in place of names."""

    def __init__(self, trees: dict[str, ast.expr]) -> None:
        self.trees = trees
        self.used: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name):
            tree = self.trees.get(node.id)
            if tree is None:
                return node
            if node.id in self.used:
                tree = copied(tree)
            self.used.add(node.id)
            return written(tree) if isinstance(node.ctx, ast.Store) else tree
        fields: dict[str, object] = {}
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                items = cast("list[object]", value)
                fields[field] = [self.visit(item) if isinstance(item, ast.AST) else item for item in items]
            else:
                fields[field] = self.visit(value) if isinstance(value, ast.AST) else value
        made = type(node)(**fields)
        if isinstance(node, ast.stmt):
            made.lineno = 0  # type: ignore[attr-defined] - a statement, as the node is
        return made


@lru_cache(maxsize=4096)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def stmts(template: str, **trees: ast.expr) -> list[ast.stmt]:
    """The template's statements, with trees in place of the names given."""
    module = _Substitute(trees).visit(_parsed(template))
    return cast("ast.Module", module).body


def expr(template: str, **trees: ast.expr) -> ast.expr:
    """The template's expression, with trees in place of the names given."""
    statement = stmts(template, **trees)[0]
    assert isinstance(statement, ast.Expr), f"not an expression: {template}"
    return statement.value
