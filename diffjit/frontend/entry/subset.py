"""Facts that the syntax alone decides: which names are local, which a loop assigns."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterator
from typing import Any

import gast
import numpy as np


@functools.cache
def local_names(node: gast.AST) -> tuple[frozenset[str], frozenset[str]]:
    """The local names of a function, and those it declares nonlocal or global."""
    local: set[str] = set()
    outer: set[str] = set()
    local.update(parameters(node))
    body = node.body if isinstance(node.body, list) else [node.body]
    for statement in body:
        _collect(statement, local, outer)
    return frozenset(local - outer), frozenset(outer)


_WITHIN = (gast.FunctionDef, gast.Lambda, gast.ClassDef, gast.GeneratorExp, gast.ListComp, gast.SetComp, gast.DictComp)


@functools.cache
def read_within(node: gast.AST) -> frozenset[str]:
    """The names that functions within a function may read once it has been left: those that they mention."""
    found: set[str] = set()
    for inner in gast.walk(node):
        if inner is node or not isinstance(inner, _WITHIN):
            continue
        for n in gast.walk(inner):
            if isinstance(n, gast.Name):
                found.add(n.id)
            elif isinstance(n, gast.Nonlocal):
                found.update(n.names)
    if "super" in found:  # which reads the first parameter
        found.update(parameters(node)[:1])
    return frozenset(found)


@functools.cache
def functions_with_attributes(node: gast.AST) -> frozenset[gast.AST]:
    """The functions inside one that get attributes there: by their names, or as one of those that a loop goes over.

    Calls among them may be of `functools.partial`.
    """
    within = list(gast.walk(node))
    owners = {_dotted(n.value) for n in within if isinstance(n, gast.Attribute) and isinstance(n.ctx, gast.Store)}
    owners.discard(None)
    for n in within if owners else ():
        if isinstance(n, gast.For) and _dotted(n.target) in owners:
            owners |= {_dotted(e) for e in getattr(n.iter, "elts", ()) if isinstance(e, gast.Name)}
    named = {n for n in within if isinstance(n, gast.FunctionDef) and n.name in owners}
    lambdas = [n.value for n in within if isinstance(n, gast.Assign) and any(_dotted(t) in owners for t in n.targets)]
    return frozenset(named.union(n for n in lambdas if isinstance(n, gast.Lambda | gast.Call)))


def _dotted(node: Any) -> str | None:
    """A variable, or an attribute of one, as it is written."""
    if isinstance(node, gast.Attribute):
        owner = _dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return node.id if isinstance(node, gast.Name) else None


def parameters(node: gast.AST) -> list[str]:
    """The names of a function's parameters."""
    spec = node.args
    every = (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg)
    return [a.id for a in every if a is not None]


def assigned_names(statements: list[Any]) -> set[str]:
    """Names that these statements bind."""
    local: set[str] = set()
    for statement in statements:
        _collect(statement, local, set())
    return local


def assigned_in_order(statements: list[Any]) -> list[str]:
    """The names that a class body binds, as they come."""
    names: dict[str, None] = {}
    for statement in statements:
        local: set[str] = set()
        _collect(statement, local, set())
        names.update(dict.fromkeys(sorted(local)))
    return list(names)


def _collect(node: Any, local: set[str], outer: set[str]) -> None:
    if isinstance(node, (gast.Global, gast.Nonlocal)):
        outer.update(node.names)
    elif isinstance(node, (gast.FunctionDef, gast.ClassDef)):
        local.add(node.name)
        return
    elif isinstance(node, gast.Lambda):
        return
    elif isinstance(node, (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)):
        for part in gast.walk(node):
            if isinstance(part, gast.NamedExpr):
                local.add(part.target.id)
        return
    elif isinstance(node, gast.Name) and isinstance(node.ctx, (gast.Store, gast.Del)):
        local.add(node.id)
    elif isinstance(node, (gast.Import, gast.ImportFrom)):
        local.update((a.asname or a.name).split(".")[0] for a in node.names)
    elif isinstance(node, gast.ExceptHandler) and node.name is not None:
        local.add(node.name if isinstance(node.name, str) else node.name.id)
    elif isinstance(node, (gast.MatchAs, gast.MatchStar)) and node.name is not None:
        local.add(node.name)
    elif isinstance(node, gast.MatchMapping) and node.rest is not None:
        local.add(node.rest)
    for child in gast.iter_child_nodes(node):
        _collect(child, local, outer)


def harmless_contexts() -> tuple[type, ...]:
    """Context managers that change nothing a derivative depends on."""
    return (np.errstate, warnings.catch_warnings, contextlib.nullcontext)


def own_nodes(node: gast.AST) -> Iterator[gast.AST]:
    """The nodes of a function's own body, without those of nested functions."""
    return nodes_in(node.body if isinstance(node.body, list) else [node.body])


def nodes_in(parts: list[gast.AST]) -> Iterator[gast.AST]:
    """Parts of a function and the nodes in them, without those of nested functions."""
    todo = list(parts)
    while todo:
        part = todo.pop()
        yield part
        if not isinstance(part, (gast.FunctionDef, gast.Lambda, gast.ClassDef)):
            todo.extend(gast.iter_child_nodes(part))


def jumps_in(statements: list[gast.AST]) -> Iterator[gast.AST]:
    """The `break` and `continue` of a loop around some statements."""
    for statement in statements:
        if isinstance(statement, (gast.Break, gast.Continue)):
            yield statement
        elif isinstance(statement, (gast.For, gast.While)):
            yield from jumps_in(statement.orelse)
        elif not isinstance(statement, (gast.FunctionDef, gast.ClassDef)):
            for name in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from jumps_in(getattr(statement, name, []))


@functools.cache
def yields(node: gast.AST) -> bool:
    """Whether a function's own body contains yield."""
    if isinstance(node, gast.Lambda):
        return False
    return any(isinstance(n, (gast.Yield, gast.YieldFrom)) for n in own_nodes(node))
