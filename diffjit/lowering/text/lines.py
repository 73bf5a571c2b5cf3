"""Statements under construction: lines of text with indentation, and temporaries that have one type each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from diffjit.ir.nodes import Op
from diffjit.ir.text import syntax
from diffjit.lowering.marks import INSIDE, NEST, RANGE, TESTED

_FEW = 8  # loops of fixed length up to this are for LLVM to unroll


def head(s: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that are on its own line."""
    if isinstance(s, ast.For):
        return [s.iter]
    if isinstance(s, (ast.While, ast.If)):
        return [s.test]
    return [s]


def said(array: ast.expr, fact: str) -> ast.expr:
    """An array, of whose subscript or view something is known."""
    return ast.Attribute(value=array, attr=fact, ctx=ast.Load())


def _say(tree: ast.AST, fact: str) -> None:
    """Say of each subscript of an array of which nothing is said what is known of its line (`a.shape[k]` is none)."""
    for node in syntax.nodes(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute):
            node.value = said(node.value, fact)


class _Printed(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return node.value if node.attr == TESTED else node


def printed(statement: ast.stmt) -> ast.stmt:
    """A statement as it is printed: where an index is tested, nothing is said."""
    tested = any(isinstance(node, ast.Attribute) and node.attr == TESTED for node in syntax.nodes(statement))
    return _Printed().visit(statement) if tested else statement


class Temporaries:
    """Names for temporaries of one function: each always has the same type, and is free again in the next statement."""

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix
        self.names: dict[tuple[str, str], list[str]] = {}
        self.taken: set[str] = set()
        self.used: dict[tuple[str, str], int] = {}

    def restart(self) -> None:
        """Begin a new statement."""
        self.used = {}

    def get(self, hint: str, spec: str = "int64") -> str:
        """A temporary that this statement has not used yet."""
        key = (hint, spec)
        known = self.names.setdefault(key, [])
        k = self.used.get(key, 0)
        self.used[key] = k + 1
        if k == len(known):
            number = 1
            name = f"{hint}{self.suffix}"
            while name in self.taken:
                number += 1
                name = f"{hint}{number}{self.suffix}"
            self.taken.add(name)
            known.append(name)
        return known[k]


class Lines:
    """The text of one statement of the IR."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0
        self.origin: Op | None = None  # the operation that the next lines belong to, where that is known
        self.origins: dict[int, Op] = {}
        self.facts: dict[int, str] = {}

    def add(self, text: str, *, inside: bool = False, fact: str = "") -> None:
        """Append a line; `fact` is known of those of its subscripts of which nothing is said."""
        self.lines.append("    " * self.depth + text)
        if inside or fact:
            self.facts[len(self.lines)] = fact or INSIDE
        if self.origin is not None:
            self.origins[len(self.lines)] = self.origin

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A line and an indented block below it."""
        self.add(head)
        self.depth += 1
        begin = len(self.lines)
        try:
            yield
        finally:
            self._filled(begin)
            self.depth -= 1

    def _filled(self, begin: int) -> None:
        """A block has a line: what is computed in vain has none but for its tests, which stand before."""
        if len(self.lines) == begin:
            self.add("pass")

    @contextmanager
    def loops(self, indices: list[str], lengths: list[str], kind: str = NEST) -> Iterator[None]:
        """Nested loops, outermost first."""
        for index, length in zip(indices, lengths, strict=True):
            few = length.isdigit() and int(length) <= _FEW
            self.add(f"for {index} in {RANGE if few else kind}({length}):")
            self.depth += 1
        begin = len(self.lines)
        try:
            yield
        finally:
            if indices:
                self._filled(begin)
            self.depth -= len(indices)

    def parse(self) -> list[ast.stmt]:
        """The statements, with what is known of their subscripts; those of a known operation carry `origin`."""
        tree = ast.parse("\n".join(self.lines))
        for node in [inner for s in tree.body for inner in syntax.all_statements(s)]:
            if node.lineno in self.origins:
                node.origin = self.origins[node.lineno]  # type: ignore[attr-defined]
            if node.lineno in self.facts:
                _say(node.test if isinstance(node, ast.If) else node, self.facts[node.lineno])
        return tree.body


def made_of(op: Op, statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements, each with the calls in it, as those of an operation: the place of a failure."""
    for statement in statements:
        for node in syntax.nodes(statement):
            if isinstance(node, (ast.stmt, ast.Call)):
                node.origin = op  # type: ignore[attr-defined]
    return statements


def subscript(name: str, indices: list[str]) -> str:
    """`a[i, j]`, or `a[()]`."""
    return f"{name}[{', '.join(indices) if indices else '()'}]"


def tuple_text(items: list[str]) -> str:
    """`(a, b)`, `(a,)`, `()`."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
