"""Rules of primitives that rearrange: concatenate, unbroadcast, arange. Views are the engine's own."""

# NumPy's stubs of operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.registry import rule

concatenate = rule("concatenate", "*arrays", linear=True, numbers="real")


@concatenate.vjp
def concatenate_vjp(arrays: tuple[Any, ...], out_bar: Any, *, axis: int) -> Any:
    """Each operand gets its piece."""
    pieces: tuple[Any, ...] = ()
    start = 0
    for array in arrays:
        stop = start + array.shape[axis]
        pieces = (*pieces, out_bar[(slice(None),) * axis + (slice(start, stop),)])
        start = stop
    return pieces


unbroadcast = rule("unbroadcast", "g like", linear=True, numbers="real")


@unbroadcast.vjp
def unbroadcast_vjp(g: Any, out_bar: Any) -> Any:
    """The transpose of summing is repeating; `like` lends only its shape."""
    return np.broadcast_to(out_bar, np.shape(g)), None


arange = rule("arange", "start stop step")


@arange.jvp
def arange_jvp(out: Any, start_dot: Any, step_dot: Any) -> Any:
    """out[k] = start + k * step; `stop` decides only the length."""
    return start_dot + np.arange(out.shape[0]) * step_dot


@arange.vjp
def arange_vjp(out: Any, out_bar: Any) -> Any:
    """out[k] = start + k * step; `stop` decides only the length."""
    return np.sum(out_bar), None, np.sum(np.arange(out.shape[0]) * out_bar)
