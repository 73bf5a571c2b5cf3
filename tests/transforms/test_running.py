"""Integers that loops add to are computed on the way back: none is recorded, and the gradients are right."""

import numpy as np
import pytest

import diffjit as dj
from tests.analysis.test_integers import loaded


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


def pairs(x):
    total, at = 0.0, 0
    n = len(x)
    for p in range(n - 1):
        for q in range(p + 1, n):
            total += x[p] ** 2 * x[q] * (1.0 + 0.1 * at)
            at += 1
    return total * (1.0 + 0.01 * at)


def packed_columns(x):
    total, at = 0.0, 7
    for p in range(1, len(x)):
        for q in range(p, len(x)):
            total += x[p] ** 2 * x[q] * at
            at -= 2
    return total


def fixed_triangle(x):
    total, at = 0.0, 0
    for p in range(5):
        for q in range(p + 1, 5):
            total += x[p] ** 2 * x[q] * at
            at += 1
    return total


def beyond_the_diagonal(x):
    total, at = 0.0, 0
    for p in range(len(x)):
        for q in range(p + 2, len(x)):  # the last has none, and not -1
            total += x[p] ** 2 * x[q] * at
            at += 1
        total += x[p] * at
    return total


CASES = [
    (pairs, (), True),
    (packed_columns, (), True),
    (fixed_triangle, (), True),
    (beyond_the_diagonal, (), False),
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


def bound(random, *names):
    """A bound of a `range`, near the edges of what a triangle is."""
    number = random.integers(-1, 3)
    return random.choice([*(f"{name} + {number}" for name in names), *names])


def triangle(seed):
    """Two loops, the inner one's bounds at random, and an integer that it adds to."""
    random = np.random.default_rng(seed)
    low, high = (["p"], ["n"]) if seed % 2 else (["p", "n", "1"], ["p", "n", "3"])
    inner = f"{bound(random, *low)}, {bound(random, *high)}"
    lines = [
        "def f(x, n):",
        "    total = 1.0",
        "    for r in range(2):",
        f"        at = {random.integers(-2, 3)}",
        f"        for p in range({random.integers(-2, 3)}, {bound(random, 'n')}{random.choice(['', '', ', 2'])}):",
        f"            for q in range({inner}):",
        "                total += x[p % 5] * x[q % 5] ** 2 * (1.0 + at)",
        f"                at {random.choice(['+', '-'])}= {random.integers(1, 4)}",
        "            total += x[p % 5] ** 2 * at",
        "        total += x[r] * x[r + 1] * at",
        "    return total",
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("batch", range(6))
def test_random_triangles(batch, tmp_path):
    x = np.linspace(0.3, 0.9, 5)
    for seed in range(8 * batch, 8 * batch + 8):
        text = triangle(seed)
        f = loaded(text, tmp_path)
        for n in (5, 1, 0, -2):
            slopes = [(f(x + 1e-5 * e, n) - f(x - 1e-5 * e, n)) / 2e-5 for e in np.eye(5)]
            scale = max(1.0, np.abs(slopes).max())
            made = dj.grad(f, backend="python")(x, n)
            np.testing.assert_allclose(made, slopes, rtol=1e-6, atol=1e-6 * scale, err_msg=text)
