"""Syntax trees as text."""

import ast
from collections.abc import Callable
from typing import Any

class SourceGenerator(ast.NodeVisitor):
    """Writes the pieces of a tree's text."""

    def newline(self, node: ast.AST | None = None, extra: int = 0) -> None: ...
    def write(self, *params: Any) -> None: ...

def to_source(
    node: ast.AST,
    *,
    pretty_source: Callable[[list[str]], str],
    source_generator_class: type[SourceGenerator],
) -> str: ...
