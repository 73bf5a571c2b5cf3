"""`check_grads`: derivatives against difference quotients."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from diffjit.api.grad import Gradient, grad
from diffjit.api.products import jvp, vjp


def check(
    f: Any,
    args: tuple[Any, ...],
    order: int,
    modes: list[str],
    atol: float | None,
    rtol: float | None,
    eps: float,
) -> None:
    """See `functions.check_grads`."""
    rng = np.random.default_rng(0)
    rtol = 1e-5 if rtol is None else rtol
    atol = 1e-6 if atol is None else atol
    direction = optree.tree_map(lambda x: _random_like(rng, x), args)  # pyright: ignore[reportArgumentType]
    quotient = _difference(f, args, direction, eps)
    value, tangent = jvp(f, args, direction)
    if "fwd" in modes:
        _compare(tangent, quotient, "jvp", rtol, atol)
    if "rev" in modes:
        _, pullback = vjp(f, *args)
        seeds = optree.tree_map(lambda x: _random_like(rng, x), value)
        bars = pullback(seeds)
        left = _inner(seeds, quotient)
        right = _inner(bars, direction)
        _compare(right, left, "vjp", rtol, atol)
    if order > 1:

        def derivative(*points: Any) -> Any:
            return jvp(f, points, direction)[1]

        second = _difference(derivative, args, direction, max(eps, 1e-5))
        first = _second(f, args, direction)
        _compare(first, second, "second derivative", max(rtol, 1e-4), max(atol, 1e-5))


def _second(f: Any, args: tuple[Any, ...], direction: Any) -> Any:
    floats = [
        k
        for k, a in enumerate(args)
        if any(map(_floating, optree.tree_leaves(a)))  # pyright: ignore[reportArgumentType]
    ]
    if isinstance(f, Gradient):
        return jvp(f, args, direction)[1]
    g = grad(f, argnums=tuple(floats))
    _, rows = jvp(g, args, direction)
    return _inner(rows, tuple(direction[k] for k in floats))


def _random_like(rng: Any, x: Any) -> Any:
    if _floating(x):
        drawn = rng.standard_normal(np.shape(x))
        if np.iscomplexobj(x):
            drawn = drawn + 1j * rng.standard_normal(np.shape(x))
        return drawn.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(drawn)
    return np.zeros_like(x) if isinstance(x, np.ndarray) else 0 if isinstance(x, (int, np.integer)) else x


def _difference(f: Any, args: tuple[Any, ...], direction: Any, eps: float) -> Any:
    def moved(sign: float) -> Any:
        return f(
            *optree.tree_map(
                lambda x, d: x + sign * eps * d if _floating(x) else (x.copy() if isinstance(x, np.ndarray) else x),
                args,  # pyright: ignore[reportArgumentType]
                direction,
            )
        )

    return optree.tree_map(lambda a, b: (a - b) / (2 * eps), moved(1.0), moved(-1.0))


def _floating(x: Any) -> bool:
    return isinstance(x, (float, complex, np.inexact)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc")


def _inner(a: Any, b: Any) -> float:
    """The derivative along b that cotangents a give."""
    return float(
        sum(
            np.real(np.sum(np.asarray(x) * np.asarray(y)))
            for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b), strict=True)
            if _floating(x)
        )
    )


def _compare(a: Any, b: Any, what: str, rtol: float, atol: float) -> None:
    for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"{what} against difference quotients")
