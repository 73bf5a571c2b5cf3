"""Finds the source of a Python function and parses it (the only place that gast parses)."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import textwrap
from dataclasses import dataclass
from typing import Any

import gast

from diffjit.errors import UnsupportedSyntax
from diffjit.ir.nodes import Loc


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A parsed function: its node and where the text stands."""

    node: gast.AST
    file: str
    first_line: int
    column: int


_cache: dict[Any, Source] = {}


def source_of(function: Any) -> Source:
    """The syntax tree of a Python function, with the line numbers of its file."""
    code = function.__code__
    if code in _cache:
        return _cache[code]
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise UnsupportedSyntax(
            "DJ110",
            f"the source of `{function.__qualname__}` is not available",
            loc=Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__),
            cure="diffjit reads a function's source: define it in a file or notebook cell, not by exec or in a prompt",
        ) from error
    text = textwrap.dedent("".join(lines))
    column = _indent("".join(lines)) - _indent(text)
    node = _find(_parse(text), function)
    if node is None:
        raise UnsupportedSyntax(
            "DJ110",
            f"the source of `{function.__qualname__}` could not be singled out in its line",
            loc=Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__),
            cure="write one lambda per line, or use `def`",
        )
    found = Source(node, inspect.getsourcefile(code) or code.co_filename, first, column)
    _shift(node, first - 1, column)
    _cache[code] = found
    return found


def _indent(text: str) -> int:
    line = text.lstrip("\n").split("\n", 1)[0]
    return len(line) - len(line.lstrip())


def _parse(text: str) -> gast.AST:
    try:
        return gast.parse(text)
    except SyntaxError:
        pass
    # A lambda inside a larger expression: its line alone need not parse. Try wrapped, then cut after the lambda.
    for wrapped in (f"({text.strip()})", f"[{text.strip()}]", f"f({text.strip()}"):
        try:
            return gast.parse(wrapped)
        except SyntaxError:
            continue
    start = text.find("lambda")
    stop = len(text)
    while start >= 0 and stop > start:
        try:
            return gast.parse("(" + text[start:stop] + ")")
        except SyntaxError:
            stop -= 1
    return gast.parse("")


def _shift(node: gast.AST, lines: int, columns: int) -> None:
    for part in gast.walk(node):
        if getattr(part, "lineno", None) is not None:
            part.lineno += lines
            part.end_lineno = (part.end_lineno or 0) + lines
            part.col_offset += columns
            part.end_col_offset = (part.end_col_offset or 0) + columns


def _find(tree: gast.AST, function: Any) -> gast.AST | None:
    name = function.__name__
    if name != "<lambda>":
        for node in gast.walk(tree):
            if isinstance(node, gast.FunctionDef) and node.name == name:
                return node
        return None
    lambdas = [n for n in gast.walk(tree) if isinstance(n, gast.Lambda)]
    if len(lambdas) == 1:
        return lambdas[0]
    wanted = _signature(function.__code__)
    same = [n for n in lambdas if _compiled_signature(n) == wanted]
    return same[0] if len(same) == 1 else None


def _signature(code: Any) -> tuple[Any, ...]:
    return code.co_code, code.co_varnames, code.co_names, tuple(str(c) for c in code.co_consts)


def _compiled_signature(node: gast.AST) -> tuple[Any, ...] | None:
    tree = gast.gast_to_ast(gast.Expression(body=node)) if hasattr(gast, "Expression") else None
    if tree is None:
        return None
    ast.fix_missing_locations(tree)
    module = compile(tree, "<lambda>", "eval")
    inner = [c for c in module.co_consts if inspect.iscode(c)]
    return _signature(inner[0]) if inner else None


@functools.lru_cache(maxsize=4096)
def line_text(file: str, line: int) -> str:
    """One line of a user's file, stripped."""
    return linecache.getline(file, line).strip()
