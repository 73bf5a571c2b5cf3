"""Integers that loops add to are computed on the way back: none is recorded, and the gradients are right."""

import numpy as np
import pytest

import diffjit as dj


def packed_triangle(x):
    total, at = 0.0, 0
    for p in range(len(x)):
        for q in range(p):
            total += x[p] ** 2 * x[q] * (1.0 + 0.1 * at)
            at += 1
    return total


def from_two_on(x):
    total, at = 0.0, 5
    for p in range(2, len(x)):
        for q in range(p - 1):
            total += x[p] ** 2 * x[q] * at
            at += 3
    return total


def strides(x, by):
    total, k = 0.0, 1
    for i in range(1, 12, 3):
        total += x[k % len(x)] ** 3 * i
        k += by
    return total


def up_and_down(x):
    total, low, high = 0.0, 0, len(x) - 1
    while low < high and total < 50.0:
        total += x[low] ** 2 * x[high]
        low += 1
        high -= 1
    return total


def inner_of_fixed_length(x):
    total, at = 0.0, 0
    for _ in range(4):
        for j in range(len(x)):
            total += x[j] ** 2 * at
            at += 1
        at -= 2
    return total


def stops_early(x):
    total, at = 0.0, 0
    for i in range(len(x)):
        for j in range(len(x)):
            if x[j] * i > 3.0:
                break
            at += 1
        total += x[i] ** 2 * at
    return total


def to_and_fro(x):
    total, k = 0.0, 1
    for i in range(len(x)):
        total += x[k] ** 2 * x[i]
        k = 5 - k
    return total


CASES = [
    (packed_triangle, (), True),
    (from_two_on, (), True),
    (strides, (4,), True),
    (strides, (-1,), True),
    (up_and_down, (), True),
    (inner_of_fixed_length, (), False),
    (stops_early, (), False),
    (to_and_fro, (), False),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("f", "rest", "none_kept"), CASES)
def test_integers_of_loops(f, rest, none_kept, backend):
    x = np.linspace(0.3, 1.3, 6)
    step = 1e-6
    quotient = [(f(x + step * e, *rest) - f(x - step * e, *rest)) / (2 * step) for e in np.eye(6)]
    np.testing.assert_allclose(dj.grad(f, backend=backend)(x, *rest), quotient, rtol=1e-6, atol=1e-7)
    direction = np.linspace(1.0, -1.0, 6)
    second = dj.jvp(dj.grad(f, backend=backend), (x, *rest), (direction, *(0.0 for _ in rest)), backend=backend)[1]
    g = dj.grad(f, backend="python")
    other = (g(x + step * direction, *rest) - g(x - step * direction, *rest)) / (2 * step)
    np.testing.assert_allclose(second, other, rtol=1e-5, atol=1e-6)
    text = dj.source(dj.grad(f), x, *rest)
    if none_kept:
        assert "int64" not in text  # no tape of integers
        assert "at_stack" not in text
        assert "k_stack" not in text
