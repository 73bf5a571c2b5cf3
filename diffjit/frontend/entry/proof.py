"""Proves that a text is the source of a code object: the text is compiled, and what comes out is compared.

Only equal code is taken: instructions, names, flags and constants, those of nested functions included. Lines may have
moved, as they do when something above a function is edited: what runs is the same. The text may have been compiled
with assertions or without them, and by pytest, which rewrites `assert` for the sake of its messages.
"""

from __future__ import annotations
import __future__

import ast
import bisect
import functools
import inspect
import itertools
import re
import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from diffjit.dataclass import dataclass

_FUTURES = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0
)
_REWRITER = "_pytest.assertion.rewrite"
_BEGINNING = re.compile(r"[\w@]")  # of a line with which a statement of a module begins


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A function in a text."""

    node: Any
    owner: str | None  # the class that it stands in, by which names like `__x` are mangled


@dataclass(frozen=True, slots=True, eq=False)
class Proven:
    """The function that a code object was compiled from, and what its compiler made of `assert` and `__debug__`."""

    definition: Definition
    asserts: bool
    debug: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to compile a text."""

    futures: int  # flags that hold without an import: those of earlier cells of a notebook
    level: int  # of optimisation
    rewritten: bool  # by pytest
    config: Any = None  # pytest's


def prove(text: str, code: types.CodeType, loader: Any = None) -> Proven | None:
    """The function of a text that a code object was certainly compiled from; None where there is none."""
    for part in (_statement(text, code.co_firstlineno), text):
        for way in _ways(code, loader):
            found = _definition(part, way, code)
            if found is not None:
                return Proven(found, asserts=way.rewritten or way.level == 0, debug=way.level == 0)
    return None


def _statement(text: str, line: int) -> str:
    """The imports of a module, and the function or class in which a line seems to stand, at their places.

    That is the small part to look at first: what calls are compiled to hangs on what is imported.
    """
    lines = text.split("\n")
    begins = [k for k, content in enumerate(lines) if _BEGINNING.match(content)]
    begins = [k for k, before in zip(begins, [-1, *begins], strict=False) if before < 0 or lines[before][0] != "@"]
    begun, kept = bisect.bisect_left(begins, line), list(lines)
    for k, (first, last) in enumerate(itertools.pairwise([0, *begins, len(lines)])):
        if k != begun and not lines[first].startswith(("import ", "from ")):
            kept[first:last] = [""] * (last - first)
    return "\n".join(kept)


def _ways(code: types.CodeType, loader: Any) -> Iterator[_Way]:
    futures, usual = code.co_flags & _FUTURES, min(sys.flags.optimize, 2)
    levels = [usual, *(k for k in range(3) if k != usual)]
    if _REWRITER in sys.modules and any(name.startswith("@py") for name in names_in(code)):
        config = getattr(loader, "config", None) if type(loader).__module__ == _REWRITER else None
        for level in levels:
            yield _Way(futures, level, True, config)
    else:
        for level in levels:
            yield _Way(futures, level, False)


def names_in(code: types.CodeType) -> Iterator[str]:
    """All names in a code object, and in those of the functions in it."""
    yield from code.co_names
    yield from code.co_varnames
    yield from code.co_cellvars
    yield from code.co_freevars
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from names_in(inner)


# Texts ----------------------------------------------------------------------------------------------------------------

_Key = tuple[str, int]  # a function's name and first line


def _definition(text: str, way: _Way, code: types.CodeType) -> Definition | None:
    written = _written(text)
    compiled = _compiled(text, way)
    same = [c for c in compiled.get((code.co_name, code.co_firstlineno), ()) if same_code(c, code)]
    if not same:  # lines may have moved
        same = [c for (name, _), found in compiled.items() if name == code.co_name for c in found if same_code(c, code)]
    same.sort(key=lambda c: (abs(c.co_firstlineno - code.co_firstlineno), c.co_linetable != code.co_linetable))
    for candidate in same:
        found = _written_as(written.get((candidate.co_name, candidate.co_firstlineno), []), candidate)
        if found is not None:
            return found
    return None


@functools.lru_cache(maxsize=32)
def _written(text: str) -> dict[_Key, list[Definition]]:
    """The functions of a text."""
    found: dict[_Key, list[Definition]] = {}

    def visit(node: ast.AST, owner: str | None) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault((node.name, first), []).append(Definition(node, owner))
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(Definition(node, owner))
        for field in ast.iter_child_nodes(node):
            inside = isinstance(node, ast.ClassDef) and any(field is statement for statement in node.body)
            visit(field, node.name if inside and isinstance(node, ast.ClassDef) else owner)

    tree = _parsed(text)
    if tree is not None:
        visit(tree, None)
    return found


def _parsed(text: str) -> ast.Module | None:
    try:
        with _quiet():
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@functools.lru_cache(maxsize=32)
def _compiled(text: str, way: _Way) -> dict[_Key, list[types.CodeType]]:
    """What the compiler makes of the functions of a text."""
    tree = _parsed(text)
    if tree is None:
        return {}
    try:
        with _quiet():
            if way.rewritten:
                _rewrite(tree, text, way.config)
            module = compile(tree, "<proof>", "exec", way.futures, dont_inherit=True, optimize=way.level)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[_Key, list[types.CodeType]] = {}

    def collect(code: types.CodeType) -> None:
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                found.setdefault((inner.co_name, inner.co_firstlineno), []).append(inner)
                collect(inner)

    collect(module)
    return found


def _rewrite(tree: ast.Module, text: str, config: Any) -> None:
    """Do to asserts what pytest does when it imports a module of tests."""
    try:
        sys.modules[_REWRITER].rewrite_asserts(tree, text.encode(), None, config)
    except (AttributeError, TypeError) as error:  # a pytest in which this is done otherwise
        raise ValueError from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Warnings about the text were given when it was imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _written_as(functions: list[Definition], code: types.CodeType) -> Definition | None:
    """Of the functions that begin in one line, the innermost that holds all places of a code object's instructions."""
    if len(functions) < 2:
        return functions[0] if functions else None
    known = [p for p in code.co_positions() if None not in p]
    places = [p for p in known if p[2:] != (0, 0)]
    if known and not places:  # Python 3.12 has none of a lambda that is a constant: any with the same code is as good
        return next((f for f in functions if isinstance(f.node, ast.Lambda) and _is_code_of(f.node, code)), None)
    fitting = [f for f in functions if all(_holds(f.node, p) for p in places)]
    if not places or not fitting:  # columns are not known in this process: `-X no_debug_ranges`
        return None
    return min(fitting, key=lambda f: _length(f.node))


def _is_code_of(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether a lambda by itself has this code."""
    made = compile(ast.Expression(node), "<proof>", "eval", code.co_flags & _FUTURES, dont_inherit=True)
    alone = next(c for c in made.co_consts if isinstance(c, types.CodeType))
    if (alone.co_flags ^ code.co_flags) & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return False
    return same_code(alone.replace(co_qualname=code.co_qualname, co_flags=code.co_flags), code)


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


# Code -----------------------------------------------------------------------------------------------------------------

_PARTS = (
    "co_name", "co_qualname", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_varnames",
    "co_cellvars", "co_freevars", "co_names", "co_code", "co_exceptiontable",
)  # fmt: skip


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two code objects do the same: all but their places in files is equal."""
    return all(getattr(a, part) == getattr(b, part) for part in _PARTS) and _same(a.co_consts, b.co_consts)


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, types.CodeType):
        return same_code(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, frozenset):
        return sorted(map(_spelled, a)) == sorted(map(_spelled, b))
    if isinstance(a, (float, complex)):  # 0.0 == -0.0
        return repr(a) == repr(b)
    return bool(a == b)


def _spelled(value: Any) -> str:
    """A member of a set of constants, with its type: 1, 1.0 and True are equal."""
    return f"{type(value).__name__} {sorted(map(_spelled, value)) if isinstance(value, frozenset) else repr(value)}"
