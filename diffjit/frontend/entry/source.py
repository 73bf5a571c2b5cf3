"""Finds the source of a Python function, as what Python runs, and parses it."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
import types
from dataclasses import dataclass
from typing import Any

import gast

from diffjit.errors import UnsupportedSyntax
from diffjit.frontend.entry.proof import Proven, prove
from diffjit.ir.nodes import Function, Loc
from diffjit.ir.walk import walk


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A parsed function: its node, with the lines and columns of its file."""

    node: gast.AST
    file: str


_cache: dict[Any, Source] = {}
_NAMELESS = frozenset({"<string>", "<stdin>", "<console>", "<unknown>"})  # any text may have been compiled by that name


def source_of(function: Any, code: types.CodeType) -> Source:
    """The syntax tree of a Python function that has this code."""
    key = code, code.co_filename, code.co_linetable  # equal code may stand in several files
    if key not in _cache:
        known = code.co_filename not in _NAMELESS
        text = _text(code.co_filename, function.__globals__) if known else ""
        proven = prove(text, code, function.__globals__.get("__loader__")) if text else None
        if proven is None:
            raise _unavailable(function, code, known=bool(text))
        file = sys.intern(inspect.getsourcefile(code) or code.co_filename)
        _cache[key] = Source(gast.ast_to_gast(_as_compiled(proven)), file)
    return _cache[key]


def _text(file: str, namespace: dict[str, Any]) -> str:
    """The text of a file as it is now."""
    before = linecache.cache.get(file)
    linecache.checkcache(file)
    if before is not None and linecache.cache.get(file) is not before:
        line_text.cache_clear()
    return "".join(linecache.getlines(file, namespace))


def _unavailable(function: Any, code: types.CodeType, *, known: bool) -> UnsupportedSyntax:
    loader = type(function.__globals__.get("__loader__"))
    cure = "diffjit reads a function's source: define it in a file or notebook cell, not by exec or in a prompt"
    if not known:
        problem = "is not available"
    elif code.co_name == "<lambda>" and all(column is None for *_, column in code.co_positions()):
        problem = "cannot be told from others in its line, as Python runs without columns"
        cure = "put each lambda on a line of its own, or run without -X no_debug_ranges"
    elif loader.__module__.startswith(("_frozen_importlib", "importlib", "builtins", "zipimport")):
        problem = "is not what its file says now: the file has changed, or something has changed the function's code"
        cure = "importlib.reload(module), or restart Python"
    else:
        problem = f"is not what its file says: {loader.__name__} may have rewritten its code when it was imported"
        cure = (
            "restart Python if the file has changed, or put the function in a module that this import hook leaves alone"
        )
    return UnsupportedSyntax(
        "DJ110",
        f"the source of `{function.__qualname__}` {problem}",
        loc=Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__),
        cure=cure,
    )


def note_lines(function: Function) -> None:
    """Let a program, and the functions that it calls, know the text of the lines that it is from."""
    todo, lines = [function], function.lines
    while todo:
        each = todo.pop()
        each.lines = lines
        for op in walk(each.body):
            if op.loc is not None and (op.loc.file, op.loc.line) not in lines:
                lines[op.loc.file, op.loc.line] = line_text(op.loc.file, op.loc.line)
            called = op.attrs.get("function")
            if isinstance(called, Function) and called.lines is not lines:
                todo.append(called)


@functools.lru_cache(maxsize=4096)
def line_text(file: str, line: int) -> str:
    """One line of a user's file, stripped."""
    return linecache.getline(file, line).strip()


def _as_compiled(proven: Proven) -> ast.AST:
    """A function's tree with what the compiler does to names and assertions."""
    node = copy.deepcopy(proven.definition.node)
    _Compiling(proven).visit(node)
    return ast.fix_missing_locations(node)


class _Compiling(ast.NodeTransformer):
    """Mangles private names of classes, and drops what an optimising compiler drops."""

    def __init__(self, proven: Proven) -> None:
        self.owner = proven.definition.owner
        self.asserts, self.debug = proven.asserts, proven.debug

    def visit(self, node: ast.AST) -> Any:
        for field in _NAMES.get(type(node), ()):
            name = getattr(node, field)
            if name is not None:
                setattr(node, field, mangled(name, self.owner))
        return super().visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, name = self.owner, node.name
        node.name = mangled(name, outer)
        for field in ("decorator_list", "bases", "keywords"):
            setattr(node, field, [self.visit(part) for part in getattr(node, field)])
        self.owner = name
        node.body = [self.visit(statement) for statement in node.body]
        self.owner = outer
        return node

    def visit_alias(self, node: ast.alias) -> Any:
        bound = node.asname or node.name
        if mangled(bound, self.owner) != bound:
            node.asname = mangled(bound, self.owner)
        return node

    def visit_Global(self, node: ast.Global) -> Any:
        node.names = [mangled(name, self.owner) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        node.names = [mangled(name, self.owner) for name in node.names]
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        return self.generic_visit(node) if self.asserts else ast.copy_location(ast.Pass(), node)

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.copy_location(ast.Constant(self.debug), node) if node.id == "__debug__" else node


_NAMES: dict[type[ast.AST], tuple[str, ...]] = {  # what is mangled, beside the names that statements list
    ast.Name: ("id",),
    ast.Attribute: ("attr",),
    ast.arg: ("arg",),
    ast.FunctionDef: ("name",),
    ast.AsyncFunctionDef: ("name",),
    ast.ExceptHandler: ("name",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
}


def mangled(name: str, owner: str | None) -> str:
    """A name as the compiler writes it inside of a class."""
    stripped = (owner or "").lstrip("_")
    if not stripped or not name.startswith("__") or name.endswith("__"):
        return name
    return f"_{stripped}{name}"
