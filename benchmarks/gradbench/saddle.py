"""The saddle point of (x_1^2 + y_1^2) - (x_2^2 + y_2^2) by a descent inside of a descent: nested modes."""

from __future__ import annotations

from typing import Any

import numpy as np

import diffjit as dj
from benchmarks.gradbench.descent import argmin
from benchmarks.gradbench.problem import Problem


def downwards(y: np.ndarray, x: np.ndarray) -> Any:
    """What the inner descent makes small: the function with its sign turned, by its second argument."""
    return (y[0] ** 2 + y[1] ** 2) - (x[0] ** 2 + x[1] ** 2)


def highest_by_forward(x: np.ndarray, start: np.ndarray) -> Any:
    """The largest value over y, by forward mode."""
    y = argmin(downwards, dj.jacfwd(downwards), start, x)
    return -downwards(y, x)


def highest_by_reverse(x: np.ndarray, start: np.ndarray) -> Any:
    """The largest value over y, by reverse mode."""
    y = argmin(downwards, dj.grad(downwards), start, x)
    return -downwards(y, x)


def saddle(start: np.ndarray, mode: str) -> Any:
    """Both points: the first letter of the mode is that of the outer descent, the second that of the inner."""
    highest = highest_by_forward if mode[1] == "f" else highest_by_reverse
    outer = dj.jacfwd(highest) if mode[0] == "f" else dj.grad(highest)
    x = argmin(highest, outer, start, start)
    inner = dj.jacfwd(downwards) if mode[1] == "f" else dj.grad(downwards)
    y = argmin(downwards, inner, start, x)
    return np.concatenate((x, y))


def arguments(_rng: Any, mode: str) -> tuple[Any, ...]:
    """From (1, 1)."""
    return np.array([1.0, 1.0]), mode


def derivative() -> Any:
    """The derivatives are inside: all of it is one program."""
    return dj.jit(saddle)


def reference(_start: np.ndarray, _mode: str) -> Any:
    """The origin, as near as the descent comes."""
    return np.zeros(4)


PROBLEM = Problem(
    title="saddle",
    sizes={mode: {"mode": mode} for mode in ("rr", "ff", "fr", "rf")},
    arguments=arguments,
    primal=highest_by_reverse,
    derivative=derivative,
    reference=reference,
    in_jax="GradBench has no JAX version",
    published={"rr": ("Enzyme", 3.4), "ff": ("Enzyme", 1.2), "fr": ("Enzyme", 1.2), "rf": ("Enzyme", 3.5)},
)
