"""Names that begin with two underscores, inside classes: Python compiles `self.__a` in class C as `self._C__a`."""

from __future__ import annotations

import ast
from typing import Any

# The fields that hold names. Those of a call's keywords and of what is imported are what they are.
_FIELDS = ("id", "attr", "arg", "name", "asname", "rest", "names")
_AS_WRITTEN = {ast.keyword: ("arg",), ast.alias: ("name",)}


def expand(tree: ast.AST) -> ast.AST:
    """The tree with the names that Python stores; functions and classes keep the one that they call themselves."""
    _visit(tree, "")
    return tree


def own_name(node: Any) -> str:
    """What a function calls itself."""
    return getattr(node, "own_name", node.name)


def _visit(node: ast.AST, owner: str) -> None:
    """Expand the names in a node that is in the body of the class `owner`."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        node.own_name = node.name  # type: ignore[union-attr]
    inside = node.own_name if isinstance(node, ast.ClassDef) else owner  # type: ignore[attr-defined]
    if owner:
        _expand(node, owner.lstrip("_"))
    for field, value in ast.iter_fields(node):
        of_body = field in ("body", "type_params")  # bases and decorators stand outside of the class
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _visit(child, inside if of_body else owner)


def _expand(node: ast.AST, owner: str) -> None:
    for field in set(_FIELDS) - set(_AS_WRITTEN.get(type(node), ())):
        value = getattr(node, field, None)
        if isinstance(value, str):
            setattr(node, field, _expanded(value, owner))
        elif isinstance(value, list) and value and isinstance(value[0], str):
            setattr(node, field, [_expanded(name, owner) for name in value])


def _expanded(name: str, owner: str) -> str:
    """One name, as it is stored inside a class."""
    private = name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{owner}{name}" if private and owner else name
