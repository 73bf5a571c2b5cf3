"""What a problem of GradBench is to this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SEED = 31337  # GradBench's


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: what it is given, what is evaluated, and what is known of it.

    sizes       a label and the parameters of each size, the smallest first
    arguments   makes what both functions are given, from a generator of random numbers and the parameters
    primal      the program, as one writes it
    derivative  by diffjit: makes the function that is timed beside the primal
    reference   what the derivative must give, by other means: an array, several, or a sparse matrix
    in_jax      the derivative by JAX, or a word why there is none
    published   of each size: the best tool that GradBench runs, and its milliseconds, measured on another occasion
    """

    title: str
    sizes: Mapping[str, Mapping[str, Any]]
    arguments: Callable[..., tuple[Any, ...]]
    primal: Callable[..., Any]
    derivative: Callable[[], Callable[..., Any]]
    reference: Callable[..., Any]
    in_jax: Callable[[], Callable[..., Any]] | str
    published: Mapping[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])

    def given(self, size: str) -> tuple[Any, ...]:
        """The arguments of one size."""
        return self.arguments(np.random.RandomState(SEED), **self.sizes[size])


def differences(function: Callable[..., float], x: np.ndarray, *rest: Any) -> np.ndarray:
    """The gradient of a function of one array by central differences."""
    found = np.empty(x.size)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = 1e-5 * max(1.0, abs(x.flat[k]))
        step = step.reshape(x.shape)
        found[k] = (function(x + step, *rest) - function(x - step, *rest)) / (2.0 * step.flat[k])
    return found.reshape(x.shape)
