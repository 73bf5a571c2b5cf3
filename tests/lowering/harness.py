"""Builds small programs by hand and runs them compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.ir.build import Builder, scalar_type_of
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import Array, Scalar, Sym, Type
from diffjit.lowering.calls.cpu import compile_function


def layout_of(array: np.ndarray) -> str:
    """C, F or A, as the frontend has it."""
    return "C" if array.flags.c_contiguous else "F" if array.flags.f_contiguous else "A"


def type_of(value: Any) -> Type:
    """The IR type of an argument, as the frontend would specialise on it."""
    if isinstance(value, np.ndarray):
        dims = tuple(1 if n == 1 else Sym(not_one=True) for n in value.shape)
        return Array(value.dtype, dims, layout_of(value))
    return scalar_type_of(value)


def program(build: Callable[..., Any], *args: Any, types: tuple[Type, ...] | None = None, name: str = "f") -> Function:
    """The function that `build(builder, *params)` makes; it returns the results."""
    builder = Builder()
    tys = types or tuple(type_of(a) for a in args)
    params = [Value(ty, f"x{k}") for k, ty in enumerate(tys)]
    results = build(builder, *params)
    builder.block.results = list(results) if isinstance(results, (tuple, list)) else [results]
    return Function(name, params, builder.block)


def run(build: Callable[..., Any], *args: Any, types: tuple[Type, ...] | None = None) -> Any:
    """Compile and call; one result comes without its tuple."""
    outs = compile_function(program(build, *args, types=types))(*args)
    return outs[0] if len(outs) == 1 else outs


def result_type(expected: Any, *, layout: str = "C", weak: bool = False) -> Type:
    """The type of a NumPy result."""
    if isinstance(expected, np.ndarray):
        return Array(expected.dtype, tuple(1 if n == 1 else Sym() for n in expected.shape), layout)
    if weak:
        return scalar_type_of(expected)
    return Scalar(np.asarray(expected).dtype)


def apply(
    kind: str, expected: Any, *args: Any, weak: bool = False, layout: str = "C", types: Any = None, **attrs: Any
) -> Any:
    """Run one operation whose NumPy result is known."""
    ty = result_type(expected, layout=layout, weak=weak)
    return run(lambda b, *xs: b.value(kind, xs, ty, **attrs), *args, types=types)


def check(
    kind: str,
    expected: Any,
    *args: Any,
    rtol: float = 1e-12,
    weak: bool = False,
    layout: str = "C",
    types: Any = None,
    **attrs: Any,
) -> None:
    """Run one operation and compare with NumPy's result: values, shape, dtype."""
    same(apply(kind, expected, *args, weak=weak, layout=layout, types=types, **attrs), expected, rtol=rtol)


def same(got: Any, expected: Any, *, rtol: float = 1e-12) -> None:
    """Equal up to rounding, with the same shape and dtype."""
    g, e = np.asarray(got), np.asarray(expected)
    assert g.dtype == e.dtype, (g.dtype, e.dtype)
    assert g.shape == e.shape, (g.shape, e.shape)
    if (e.dtype.itemsize <= 8 and e.dtype.kind == "f" and e.dtype != np.float64) or e.dtype == np.complex64:
        rtol = max(rtol, 2e-6)
    np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol)


def block(*args: Value) -> Block:
    """A block with arguments."""
    return Block(list(args), [], [])


__all__ = ["Op", "apply", "block", "check", "layout_of", "program", "result_type", "run", "same", "type_of"]
