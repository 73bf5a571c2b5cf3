"""A charged particle between two charges, one of which is moved until the particle meets the origin: nested modes."""

from __future__ import annotations

from typing import Any

import numpy as np

import diffjit as dj
from benchmarks.gradbench.descent import argmin
from benchmarks.gradbench.problem import Problem

STEP = 0.1


def potential(x: np.ndarray, w: np.ndarray) -> Any:
    """Of charges at (10, 10 - w) and (10, 0)."""
    total = 0.0
    for height in (10.0 - w[0], 0.0):
        total += 1.0 / np.sqrt((x[0] - 10.0) ** 2 + (x[1] - height) ** 2)
    return total


def miss(w: np.ndarray, force: Any) -> Any:
    """The squared distance from the origin where the particle meets the axis, by Euler's method."""
    x = np.array([0.0, 8.0])
    v = np.array([0.75, 0.0])
    while True:
        new = x + STEP * v
        if new[1] <= 0.0:
            break
        v = v - STEP * force(x, w)
        x = new
    rest = -x[1] / v[1]
    return (x[0] + rest * v[0]) ** 2


def by_forward(w: np.ndarray) -> Any:
    """The force in forward mode."""
    return miss(w, dj.jacfwd(potential))


def by_reverse(w: np.ndarray) -> Any:
    """The force in reverse mode."""
    return miss(w, dj.grad(potential))


def control(w: np.ndarray, mode: str) -> Any:
    """The best w: the first letter of the mode is that of the descent, the second that of the force."""
    function = by_forward if mode[1] == "f" else by_reverse
    gradient = dj.jacfwd(function) if mode[0] == "f" else dj.grad(function)
    return argmin(function, gradient, w)


def arguments(_rng: Any, mode: str) -> tuple[Any, ...]:
    """From w = 0."""
    return np.zeros(1), mode


def derivative() -> Any:
    """The derivatives are inside: all of it is one program."""
    return dj.jit(control)


def reference(_w: np.ndarray, _mode: str) -> Any:
    """The root of the distance, by bisection on slopes that the force's formula gives."""

    def force(x: np.ndarray, w: np.ndarray) -> Any:
        total = np.zeros(2)
        for height in (10.0 - w[0], 0.0):
            gap = x - np.array([10.0, height])
            total -= gap / np.sqrt(gap @ gap) ** 3
        return total

    def end(w: float) -> float:
        x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
        while (x + STEP * v)[1] > 0.0:
            x, v = x + STEP * v, v - STEP * force(x, np.array([w]))
        return float(x[0] - x[1] / v[1] * v[0])

    low, high = 0.0, 0.4
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if end(middle) * end(low) > 0.0 else (low, middle)
    return np.array([low])


PROBLEM = Problem(
    title="particle",
    sizes={mode: {"mode": mode} for mode in ("rr", "ff", "fr", "rf")},
    arguments=arguments,
    primal=by_reverse,
    derivative=derivative,
    reference=reference,
    in_jax="GradBench has no JAX version",
    published={"rr": ("Enzyme", 4.2), "ff": ("Enzyme", 0.87), "fr": ("Enzyme", 0.70), "rf": ("Enzyme", 1.36)},
)
