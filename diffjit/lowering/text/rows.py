"""Views whose elements lie one behind the other along the last axis, though they are not contiguous as a whole.

    inner = u[1:-1, 1:-1]        rows of `inner` are parts of rows of `u`: loops along them may use vector instructions

Numba knows of arrays that they are contiguous, or nothing. `has_unit_rows` finds such views of the IR; `named` the
variables of a generated function that stand for nothing else.
"""

from __future__ import annotations

import ast
from typing import Any

from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.text import syntax
from diffjit.ir.types import Array


def has_unit_rows(v: Value) -> bool:
    """Whether neighbours along the last axis are neighbours in memory."""
    ty = v.type
    if not isinstance(ty, Array) or ty.ndim == 0:
        return False
    if ty.layout == "C" or (ty.layout == "F" and ty.ndim == 1):
        return True
    return v.op is not None and v.op.kind == "view" and _keeps_rows(v.op) and has_unit_rows(v.op.inputs[0])


def _keeps_rows(view: Op) -> bool:
    """Whether the last axis of a view is that of its base, or a part of it without gaps."""
    base: Any = view.inputs[0].type
    spec = view.attrs["spec"]
    taken = sum(1 for entry in spec if entry != "n")
    if taken < base.ndim:
        return not spec or spec[-1] != "n"
    last = spec[-1]
    if last in ("i", "n"):
        return False
    if last == ":":
        return True
    if not last[3]:
        return True
    return const_of(view.inputs[-1]) == 1  # the step of the last entry is the last of all inputs


def named(body: list[ast.stmt], parameters: list[str], given: frozenset[str] = frozenset()) -> frozenset[str]:
    """The variables that only views with unit rows are assigned to; `given`: parameters that are such views."""
    found = {name: name in given for name in parameters}
    for statement in body:
        for node in syntax.nodes(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    own = isinstance(target, ast.Name) and bool(getattr(node.value, "unit_rows", False))
                    for name in syntax.assigned(target):
                        found[name] = found.get(name, True) and own
            elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
                found.update(dict.fromkeys(syntax.assigned(node.target), False))
    return frozenset(name for name, own in found.items() if own)
