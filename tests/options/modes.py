"""A program of one array in every mode, compared with plain Python and with quotients of it."""

from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj


def quotients(program: Callable[..., Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Differences of a program by each number of its argument."""
    gradient = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[place] = step
        gradient[place] = (program(x + moved) - program(x - moved)) / (2 * step)
    return gradient


def compared(program: Callable[..., Any], x: np.ndarray, backend: str, rtol: float = 1e-6, order: int = 2) -> None:
    """Value, gradient, tangent, lanes, and at second order forward over reverse."""
    wanted, direction = program(x), np.cos(np.arange(1.0, x.size + 1)).reshape(x.shape)
    np.testing.assert_allclose(dj.jit(program, backend=backend)(x), wanted, rtol=1e-11, atol=1e-12)
    first = quotients(program, x)
    size = rtol * (1.0 + np.max(np.abs(first)))
    gradient = dj.grad(program, backend=backend)
    np.testing.assert_allclose(gradient(x), first, rtol=rtol, atol=size)
    tangent = dj.jvp(program, (x,), (direction,), backend=backend)[1]
    np.testing.assert_allclose(tangent, np.sum(first * direction), rtol=rtol, atol=size * x.size)
    lanes = dj.vmap(program, backend=backend)(np.stack([x, x]))
    np.testing.assert_allclose(lanes, [wanted, wanted], rtol=1e-11, atol=1e-12)
    if order == 2:
        second = quotients(lambda at: np.sum(gradient(at) * direction), x)
        found = dj.hvp(program, (x,), (direction,), backend=backend)
        np.testing.assert_allclose(found, second, rtol=rtol, atol=10 * rtol * (1.0 + np.max(np.abs(second))))
