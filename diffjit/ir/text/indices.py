"""Shapes, dtypes and indices as Python text."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.ir.text import syntax


def slice_text(flags: Sequence[Any], items: Sequence[ast.expr]) -> tuple[ast.Slice, int]:
    """The slice of a spec entry, with those of `items` that its flags take, and their number."""
    parts: list[ast.expr | None] = []
    taken = 0
    for flag in flags:
        parts.append(items[taken] if flag else None)
        taken += bool(flag)
    lower, upper, step = parts
    return ast.Slice(lower=lower, upper=upper, step=step), taken


def index_items(spec: Sequence[Any], items: Sequence[ast.expr]) -> list[ast.expr]:
    """The indices of a `view` or `gather` spec, one tree per entry."""
    made: list[ast.expr] = []
    k = 0
    for entry in spec:
        if entry in ("i", "a"):
            made.append(items[k])
            k += 1
        elif entry == "n":
            made.append(syntax.dotted("np.newaxis"))
        elif entry == ":":
            made.append(ast.Slice(lower=None, upper=None, step=None))
        else:
            tree, taken = slice_text(entry[1:], items[k:])
            made.append(tree)
            k += taken
    return made


def subscript(array: ast.expr, items: list[ast.expr], *, keep_array: bool = False) -> ast.Subscript:
    """`array[items]`; `keep_array` makes a 0-d result an array rather than a scalar."""
    if keep_array:
        items = [*items, ast.Constant(value=...)]
    return syntax.subscript(array, items)


def tuple_index(items: Sequence[ast.expr]) -> ast.expr:
    """Indices as an argument of a function: one alone, or a tuple, with `slice` spelled out."""
    spelled = [_spelled(item) for item in items]
    return spelled[0] if len(spelled) == 1 else syntax.tuple_of(spelled)


def _spelled(item: ast.expr) -> ast.expr:
    if not isinstance(item, ast.Slice):
        return item
    none = ast.Constant(value=None)
    return syntax.call("slice", item.lower or none, item.upper or none, *([item.step] if item.step else []))


def shape(lengths: Sequence[ast.expr]) -> ast.expr:
    """A shape argument: `n` or `(n, m)`."""
    return lengths[0] if len(lengths) == 1 else syntax.tuple_of(lengths)


def dtype(of: np.dtype) -> ast.expr:
    """A dtype argument: `np.float32`, `bool`."""
    if of == np.bool_:
        return syntax.name("bool")
    return syntax.dotted(f"np.{of.name}")


def dtype_keyword(of: np.dtype, default: np.dtype | None) -> dict[str, ast.expr]:
    """`dtype=...` where it is not what NumPy would choose by itself."""
    return {} if of == default else {"dtype": dtype(of)}


def order_keyword(order: str, default: str = "C") -> dict[str, ast.expr]:
    """`order=...` where it is not the default."""
    return {} if order == default else {"order": syntax.text(order)}
