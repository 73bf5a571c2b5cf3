"""Rules of primitives that select: gather, mask_get, sort. Loads, stores and views are the engine's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.registry import rule

# Positions and orders: no derivative.
for _kind in ("nonzero", "argsort"):
    rule(_kind, "a")

# Linear in `a` alone. The transpose is the engine's kind `scatter_add` into zeros, with the same indices and `spec`:
# which entries of an index are arrays is the IR's notation, which plain NumPy code cannot spell.
gather = rule("gather", "a *indices", linear=True, numbers="real")


masked = rule("mask_get", "a m", linear=True, numbers="real")


@masked.vjp
def mask_get_vjp(a: Any, m: Any, out_bar: Any) -> Any:
    """Selected elements get their cotangent back."""
    a_bar = np.zeros_like(a)
    a_bar[m] = out_bar
    return a_bar, None


sort = rule("sort", "a", numbers="real")


@sort.jvp
def sort_jvp(a: Any, a_dot: Any, *, axis: int) -> Any:
    """Sorting permutes; equal elements keep their order."""
    order = np.argsort(a, axis=axis, kind="stable")
    return np.take_along_axis(a_dot, order, axis)


@sort.vjp
def sort_vjp(a: Any, out_bar: Any, *, axis: int) -> Any:
    """The inverse permutation."""
    order = np.argsort(a, axis=axis, kind="stable")
    back = np.argsort(order, axis=axis, kind="stable")
    return np.take_along_axis(out_bar, back, axis)
