"""Finds the source of a Python function and parses it."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from dataclasses import dataclass
from typing import Any

import gast

from diffjit.errors import UnsupportedSyntax
from diffjit.frontend import private_names
from diffjit.ir.nodes import Loc


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A parsed function: its node, with the lines and columns of its file."""

    node: gast.AST
    file: str


_cache: dict[Any, Source] = {}
_NAMELESS = frozenset({"<string>", "<stdin>", "<console>", "<unknown>"})  # any text may have been compiled by that name


def source_of(function: Any) -> Source:
    """The syntax tree of a Python function."""
    code = function.__code__
    if code not in _cache:
        known = code.co_filename not in _NAMELESS
        text = "".join(linecache.getlines(code.co_filename, function.__globals__)) if known else ""
        node = _find(_parsed(text), code) if text else None
        if node is None:
            raise _unavailable(function, known=bool(text))
        _cache[code] = Source(gast.ast_to_gast(node), inspect.getsourcefile(code) or code.co_filename)
    return _cache[code]


def _unavailable(function: Any, *, known: bool) -> UnsupportedSyntax:
    code = function.__code__
    problem = "was not found in its file, which may have changed" if known else "is not available"
    cure = "diffjit reads a function's source: define it in a file or notebook cell, not by exec or in a prompt"
    return UnsupportedSyntax(
        "DJ110",
        f"the source of `{function.__qualname__}` {problem}",
        loc=Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__),
        cure="restart Python" if known else cure,
    )


@functools.lru_cache(maxsize=32)
def _parsed(text: str) -> dict[int, list[ast.AST]]:
    """The functions of a file, by their first lines."""
    try:
        tree = private_names.expand(ast.parse(text))
    except SyntaxError:
        return {}
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault(first, []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _find(functions: dict[int, list[ast.AST]], code: Any) -> ast.AST | None:
    """The function that a code object was compiled from."""
    candidates = [n for n in functions.get(code.co_firstlineno, ()) if _called(n) == code.co_name and _fits(n, code)]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    # Several on one line: the innermost whose body holds all places that the code's instructions come from.
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]
    fitting = [n for n in candidates if all(_holds(n, p) for p in places)]
    return min(fitting, key=_length, default=None)


def _fits(node: Any, code: Any) -> bool:
    """Whether a function has the parameters and names of a code object: its file may have changed since."""
    spec = node.args
    named = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    parameters = tuple(a.arg for a in named if a is not None)
    if parameters != code.co_varnames[: len(parameters)] and "__" not in "".join(parameters):
        return False
    words = {w for n in ast.walk(node) for f in ("id", "attr", "arg", "name", "asname") for w in _words(n, f)}
    return all(w in words or "__" in w or w.startswith("@") for name in code.co_names for w in name.split("."))


def _words(node: ast.AST, field: str) -> list[str]:
    value = getattr(node, field, None)
    module = getattr(node, "module", None) or ""
    return [*(value.split(".") if isinstance(value, str) else ()), *module.split(".")]


def _holds(node: Any, place: Any) -> bool:
    line, end_line, column, end_column = place
    first, last = _span(node)
    return first <= (line, column) and (end_line, end_column) <= last


def _span(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    body = node.body if isinstance(node.body, list) else [node.body]
    return (body[0].lineno, body[0].col_offset), (body[-1].end_lineno, body[-1].end_col_offset)


def _length(node: Any) -> tuple[int, int]:
    first, last = _span(node)
    return last[0] - first[0], last[1] - first[1]


def _called(node: ast.AST) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else private_names.own_name(node)


@functools.lru_cache(maxsize=4096)
def line_text(file: str, line: int) -> str:
    """One line of a user's file, stripped."""
    return linecache.getline(file, line).strip()
