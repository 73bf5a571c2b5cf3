"""Makes a failing program smaller, statement by statement, while it still fails in the same way."""

from __future__ import annotations

import ast
import copy
import math
import time
from collections.abc import Callable, Iterator
from itertools import islice

from .check import Outcome, check

Test = Callable[[str], bool]


def shrink(source: str, seed: int, backend: str, *, second: bool = False, seconds: float = math.inf) -> str:
    """The smallest `smooth` program found within `seconds` that fails like `source`, in this process."""
    wanted = _signature(check(source, seed, backend, second))

    def fails(candidate: str) -> bool:
        try:
            return _signature(check(candidate, seed, backend, second)) == wanted
        except Exception:  # noqa: BLE001 - a candidate need not be a valid program
            return False

    return shrink_by(source, fails, seconds=seconds)


def shrink_by(source: str, fails: Test, *, seconds: float = math.inf) -> str:
    """The smallest program found within `seconds` that still fails."""
    end = time.monotonic() + seconds
    tree = ast.parse(source)
    tried = 0  # how many candidates this round began behind
    while True:
        for place, candidate in enumerate(islice(_candidates(tree), tried, None), tried):
            if time.monotonic() > end:
                return _text(tree)
            if fails(_text(candidate)):
                # Go on at the same place of the smaller program: what was tried before it seldom becomes possible.
                tree, tried = candidate, place
                break
        else:
            if tried == 0:
                return _text(tree)
            tried = 0


def _signature(outcome: Outcome) -> tuple[str, str]:
    """What must stay: the kind of failure, the class of a crash or what was wrong, or why it was refused."""
    lines = outcome.detail.strip().splitlines() or [""]
    if outcome.kind == "crashed":
        return outcome.kind, lines[-1].split(":")[0]
    if outcome.kind == "wrong":
        return outcome.kind, outcome.detail.split(" ")[0]
    return outcome.kind, lines[0]


def _text(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _candidates(tree: ast.Module) -> Iterator[ast.Module]:
    """Smaller trees: a run of statements removed, a block replaced by its body, an expression by a part of it."""
    places = [(number, field) for number, node in enumerate(ast.walk(tree)) for field in _blocks(node)]
    for size in (8, 4, 2, 1):
        for number, field in places:
            length = len(getattr(_node(tree, number), field))
            for start in range(length - size, -1, -1):
                yield _edited(tree, number, field, slice(start, start + size), [])
    for number, field in places:
        for place, statement in enumerate(getattr(_node(tree, number), field)):
            if isinstance(statement, ast.For | ast.While | ast.If):
                for body in (statement.body, statement.orelse):
                    if body:
                        yield _edited(tree, number, field, slice(place, place + 1), body)
    yield from _simpler_expressions(tree)


def _simpler_expressions(tree: ast.Module) -> Iterator[ast.Module]:
    """Trees in which one operation or call is replaced by one of its operands, or by a number."""
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.Call):
            parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.UnaryOp):
            parts = [node.operand]
        else:
            continue
        for part in [*(part for part in parts if not isinstance(part, ast.Starred)), ast.Constant(0.5)]:
            edited = copy.deepcopy(tree)
            _replace(edited, _node(edited, number), copy.deepcopy(part))
            yield edited


def _node(tree: ast.Module, number: int) -> ast.AST:
    return next(node for place, node in enumerate(ast.walk(tree)) if place == number)


def _blocks(node: ast.AST) -> list[str]:
    return [field for field in ("body", "orelse") if isinstance(getattr(node, field, None), list)]


def _edited(tree: ast.Module, number: int, field: str, where: slice, body: list[ast.stmt]) -> ast.Module:
    edited = copy.deepcopy(tree)
    statements = getattr(_node(edited, number), field)
    statements[where] = copy.deepcopy(body)
    if not statements and field == "body":
        statements.append(ast.Pass())
    return edited


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    """Put `new` where `old` is."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(item is old for item in value):
                setattr(parent, field, [new if item is old else item for item in value])
