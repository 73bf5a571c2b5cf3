"""Cotangents and tangents lie in memory as their values do: views of them are typed as those of the values are."""

import numpy as np
import pytest

import diffjit as dj


def column_in_a_loop(y, x):
    s = 0.5
    if x[0] < 0.1:
        i = 1
        while i < 5:
            i += 1
            x[i] *= np.cos(np.linalg.norm(y.T[-5][: i + 1] + 0.1))
    return s + np.sum(np.sin(x))


def sum_and_squares(y, x):
    return column_in_a_loop(y, x.copy()) + np.sum(y) + np.sum(y * y)


def product_and_sines(y, x):
    return column_in_a_loop(y, x.copy()) + np.sum(y * np.ones(y.shape)) + np.sum(np.sin(y))


def powers(y, x):
    return column_in_a_loop(y, x.copy()) + np.sum(np.exp(y) * y) + np.sum(y**3)


def row_of_a_shifted_transpose(y, x):
    w = y.T + 1.0
    return np.sum(w.T[2] ** 3) * x[0]


def part_of_a_shifted_reversal(y, x):
    w = y[::-1] + 1.0
    return np.sum(w.T[1][1:3] ** 2) * x[1]


def sum_of_strided(y, x):
    w = y[:8:2] * 1.0 + y[1:9:2]
    w += 1.0
    return np.sum(np.sin(w.T[1])) * x[2]


PROGRAMS = [
    sum_and_squares, product_and_sines, powers, row_of_a_shifted_transpose, part_of_a_shifted_reversal, sum_of_strided,
]  # fmt: skip
ORDERS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "A": lambda y: np.repeat(y, 2, axis=1)[:, ::2]}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_views_of_derivatives(f, order):
    rng = np.random.default_rng(0)
    y, dot = (ORDERS[order](rng.uniform(-1, 1, (9, 8))) for _ in range(2))
    x = -np.linspace(0.5, 1.5, 8)
    step = 1e-6
    want = (f(y + step * dot, x) - f(y - step * dot, x)) / (2 * step)
    for backend in ("python", "numba"):
        np.testing.assert_allclose(np.sum(dj.grad(f, backend=backend)(y, x) * dot), want, rtol=1e-6)
        _, slope = dj.jvp(lambda y: f(y, x), (y,), (dot,), backend=backend)
        np.testing.assert_allclose(slope, want, rtol=1e-6)


@pytest.mark.parametrize("shapes", [
    ((4, 9), (3, 11)), ((2, 9), (3, 11)), ((4, 1), (3, 11)), ((2, 1), (3, 11)), ((4, 9), (1, 11)), ((2, 9), (1, 3)),
    ((2, 1), (1, 3)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_only_the_run_finds_broadcast(shapes, dtype):
    """Lengths of slices: the same code sums over an axis, or over none."""

    def f(x, y):
        return np.sum(np.sin(x[1:]) * y[:, 2:] + np.cos(y)[:, 1:-1])

    rng = np.random.default_rng(7)
    x, y = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    x_bar, y_bar = dj.grad(f, (0, 1))(x, y)
    for mine, other in zip((x_bar, y_bar), dj.grad(f, (0, 1), backend="python")(x, y), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    slope = float(np.sum(x_bar * x) + np.sum(y_bar * y))
    h, x, y = 1e-6, x.astype(float), y.astype(float)
    quotient = (f(x * (1 + h), y * (1 + h)) - f(x * (1 - h), y * (1 - h))) / (2 * h)
    assert slope == pytest.approx(quotient, rel=1e-4, abs=1e-4)
    assert x_bar.shape == x.shape
    assert x_bar.dtype == np.dtype(dtype)
