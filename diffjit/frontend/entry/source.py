"""Finds the source of a Python function, as what Python runs, and parses it."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
import types
from typing import Any

import gast

from diffjit.dataclass import dataclass
from diffjit.errors import UnsupportedSyntax
from diffjit.frontend.entry.proof import Proven, names_in, prove
from diffjit.frontend.entry.texts import NAMELESS, listed, texts_of
from diffjit.ir.nodes import Function, Loc
from diffjit.ir.walk import walk


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A parsed function: its node, with the lines and columns of its file."""

    node: gast.AST
    file: str


_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_cache: dict[Any, Source] = {}


def source_of(function: Any, code: types.CodeType) -> Source:
    """The syntax tree of a Python function that has this code."""
    if code.co_flags & _ASYNC:
        loc = Loc(code.co_filename, code.co_firstlineno, 0, 0, function.__name__)
        raise UnsupportedSyntax("DJ101", f"`{function.__name__}` is an async function", loc=loc, cure="write `def`")
    key = code, code.co_filename, code.co_linetable  # equal code may stand in several files
    if key not in _cache:
        named = _file_of(function, code)
        text = "" if named in NAMELESS else _text(named, function.__globals__)
        if text:
            proven = prove(text, code, function.__globals__.get("__loader__"))
            file = named if named != code.co_filename else inspect.getsourcefile(code) or named
        else:
            proven, file = _found(function, code)
        if proven is None:
            raise _unavailable(function, code, known=bool(text))
        _cache[key] = Source(gast.ast_to_gast(_as_compiled(proven, code)), sys.intern(file))
    return _cache[key]


def _file_of(function: Any, code: types.CodeType) -> str:
    """The file that a function is from; of modules that are frozen into Python, as `collections.abc`, their source."""
    frozen = code.co_filename.startswith("<frozen ")
    return function.__globals__.get("__file__") or code.co_filename if frozen else code.co_filename


def _found(function: Any, code: types.CodeType) -> tuple[Proven | None, str]:
    """Where a function is proven to be from that no file has, and the name under which linecache has that text."""
    for text in texts_of(function, code):
        proven = prove(text, code)
        if proven is not None:
            return proven, listed(text, code.co_filename)
    return None, ""


def text_of(function: Any) -> str:
    """The text that a function is from, if no module has it by its name; nothing where that is not to be had."""
    if not isinstance(function, types.FunctionType) or "<" not in function.__qualname__:
        return ""
    try:
        return "".join(linecache.getlines(source_of(function, function.__code__).file))
    except UnsupportedSyntax:  # as it will be told where the function is used
        return ""


def place_of(code: types.CodeType) -> tuple[str, int]:
    """The file and line where a function stands, as its source was read."""
    source = _cache.get((code, code.co_filename, code.co_linetable))
    return sys.intern(code.co_filename) if source is None else source.file, code.co_firstlineno


def span_of(function: Any, code: types.CodeType) -> tuple[str, int, int]:
    """The file of a function, and its first and last line there."""
    source = source_of(function, code)
    node: Any = source.node
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return source.file, first, node.end_lineno


def _text(file: str, namespace: dict[str, Any]) -> str:
    """The text of a file as it is now."""
    before = linecache.cache.get(file)
    linecache.checkcache(file)
    if before is not None and linecache.cache.get(file) is not before:
        line_text.cache_clear()
    return "".join(linecache.getlines(file, namespace))


def _unavailable(function: Any, code: types.CodeType, *, known: bool) -> UnsupportedSyntax:
    loader = type(function.__globals__.get("__loader__"))
    if not known:
        problem, cure = _nowhere(code.co_filename)
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


def _nowhere(file: str) -> tuple[str, str]:
    """Why no text was found for code that says that it is from a file, and what to do."""
    if file == "<stdin>" and not hasattr(sys, "ps1"):
        return "came through a pipe, and Python does not keep it", "put the program in a file, or pass it to python -c"
    if file in ("<stdin>", "<console>", "<input>"):
        cure = "define it in a file, a notebook cell, or at Python 3.13's prompt"
        return "was typed at a prompt that does not keep it", cure
    if file.startswith("<"):
        cure = "keep the text that `exec` runs in a variable where diffjit is called, or define the function in a file"
        return "is not available", cure
    return f"is not available: there is no file {file}", "put the file where it was, or define the function in another"


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


def _as_compiled(proven: Proven, code: types.CodeType) -> ast.AST:
    """A function's tree with what the compiler does to names and assertions."""
    untouched = proven.asserts and proven.debug and not sys.flags.optimize  # else `__debug__` here says something else
    if untouched and not any("__" in name for name in names_in(code)):
        return proven.definition.node
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
