"""Compares what diffjit makes of a program of arrays with plain Python: value, exception, memory and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

import diffjit as dj
from diffjit import tree

STEP = 1e-4
SMOOTH = 3e-6  # differences of two steps that differ by more stand at a kink


class Wrong(Exception):
    """A difference from plain Python."""


def copied(point: Any) -> list[Any]:
    """Fresh arguments, the arrays with the same strides up to gaps."""
    return [_like(x) if isinstance(x, np.ndarray) else x for x in point]


def _like(x: np.ndarray) -> np.ndarray:
    turned = tuple(slice(None, None, -1 if stride < 0 else 1) for stride in x.strides)
    return np.copy(x[turned], order="K")[turned]


def _leaves(value: Any) -> list[Any]:
    return tree.flatten(value)[0]


def same(found: Any, wanted: Any, what: str, tolerance: float = 1e-9) -> None:
    """Raise Wrong unless two trees have the same leaves: types, shapes, dtypes, numbers to rounding."""
    found, wanted = _leaves(found), _leaves(wanted)
    if [_form(x) for x in found] != [_form(y) for y in wanted]:
        raise Wrong(f"{what}: {[_form(x) for x in found]}, should be {[_form(y) for y in wanted]}")
    for x, y in zip(found, wanted, strict=True):
        finite = np.abs(np.asarray(y))[np.isfinite(y)]
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            raise Wrong(f"{what}: {x}, should be {y}")


def _form(x: Any) -> tuple[Any, ...]:
    return (isinstance(x, np.ndarray), np.shape(x), np.asarray(x).dtype)


def check(function: Any, point: Any, backend: str) -> str:
    """Run a function in every mode: "right", "raises", or why diffjit refuses it; else Wrong is raised."""
    after, ours = copied(point), copied(point)
    try:
        value, error = function(*after), None
    except Exception as problem:  # noqa: BLE001 - compared with diffjit's
        value, error = None, problem
    try:
        same_value = dj.jit(function, backend=backend)(*ours)
    except dj.InternalError as problem:
        raise Wrong(f"{problem}") from problem
    except dj.DiffjitError as problem:
        return str(problem).partition("]")[0] + "]"
    except Exception as problem:
        if error is None or type(problem) is not type(error):
            raise Wrong(f"raises {problem!r} instead of {error!r}") from problem
        same(ours, after, "memory after an exception")
        return "raises"
    if error is not None:
        raise Wrong(f"gives {same_value} instead of {error!r}")
    same(same_value, value, "value")
    same(ours, after, "memory")
    return _derivatives(function, point, value, backend)


def _derivatives(function: Any, point: Any, value: Any, backend: str) -> str:
    rng = np.random.default_rng(1)
    direction = [rng.uniform(-1.0, 1.0, np.shape(x)) for x in point]
    direction = [d if isinstance(x, np.ndarray) else float(d) for d, x in zip(direction, point, strict=True)]
    moved = lambda h: [_moved(x, h * d) for x, d in zip(copied(point), direction, strict=True)]
    results = [np.asarray(x) for x in _leaves(value)]
    bars = [rng.uniform(-1.0, 1.0, x.shape) for x in results]
    if any(x.dtype != np.float64 for x in results):
        return "right"
    seed = tree.flatten(value)[1].unflatten(iter([b if b.shape else float(b) for b in bars]))
    weighed = lambda tree_, weights: sum(float(np.sum(x * b)) for x, b in zip(_leaves(tree_), weights, strict=True))

    def gradient(*args: Any) -> Any:
        return dj.vjp(function, *args)[1](seed)

    try:
        slopes = dj.jvp(function, tuple(copied(point)), tuple(direction), backend=backend)[1]
        _, pullback = dj.vjp(function, *copied(point), backend=backend)
        second = dj.jvp(gradient, tuple(copied(point)), tuple(direction), backend=backend)[1]
    except dj.InternalError as problem:
        raise Wrong(f"{problem}") from problem
    except dj.DiffjitError as problem:
        return str(problem).partition("]")[0] + "]"
    bars_back = pullback(seed)
    same(pullback(seed), bars_back, "pullback, called twice")
    near(weighed(slopes, bars), lambda h: weighed(function(*moved(h)), bars), "jvp")
    near(weighed(bars_back, direction), lambda h: weighed(function(*moved(h)), bars), "vjp")
    ours = lambda h: weighed(dj.vjp(function, *moved(h), backend=backend)[1](seed), direction)
    near(weighed(second, direction), ours, "second derivative", 1e-5)
    return "right"


def _moved(x: Any, step: Any) -> Any:
    """A number or an array elsewhere, an array in its own order."""
    if not isinstance(x, np.ndarray):
        return x + step
    x += step
    return x


def near(found: float, along: Any, what: str, tolerance: float = 2e-6) -> None:
    """Raise Wrong unless a slope is that of a function at 0; where that has a kink nearby, nothing is compared."""
    wide, narrow = ((along(h) - along(-h)) / (2 * h) for h in (STEP, STEP / 2))
    wanted = (4 * narrow - wide) / 3
    scale = 1.0 + abs(wanted)
    if abs(wide - narrow) < SMOOTH * scale and not abs(found - wanted) < tolerance * scale:
        raise Wrong(f"{what}: {found}, should be {wanted}")
