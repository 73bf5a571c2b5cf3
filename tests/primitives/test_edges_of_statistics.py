"""Derivatives of statistics where values are infinite or missing, or of another precision than was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import diffjit as dj

INFINITE = np.array([0.5, np.inf, -1.0, 2.0])


def middle(x: Any) -> Any:
    return np.median(x) * np.median(x[:3])


def largest_part(x: Any) -> Any:
    return np.quantile(x, 0.9, method="higher") + x[0] ** 2


def spread(x: Any) -> Any:
    return np.sum(np.nanvar(x, axis=0))


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_infinite_neighbours_of_the_middle(backend: str) -> None:
    # The middle of four is (0.5 + 2) / 2, that of the first three 0.5.
    assert dj.jit(middle, backend=backend)(INFINITE) == middle(INFINITE) == 0.625
    np.testing.assert_array_equal(dj.grad(middle, backend=backend)(INFINITE), [1.25 + 0.25, 0, 0, 0.25])
    direction = (np.array([1.0, 1.0, 1.0, 2.0]),)
    assert dj.jvp(middle, (INFINITE,), direction, backend=backend) == (0.625, 2.0)
    wanted = np.zeros((4, 4))
    wanted[0, 0], wanted[0, 3], wanted[3, 0] = 1, 0.5, 0.5
    np.testing.assert_array_equal(dj.hessian(middle, backend=backend)(INFINITE), wanted)
    assert dj.jit(largest_part, backend=backend)(INFINITE) == np.inf
    np.testing.assert_array_equal(dj.grad(largest_part, backend=backend)(INFINITE), [1, 1, 0, 0])


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_variance_of_complex_numbers_some_of_which_are_missing(backend: str) -> None:
    z = np.array([[1 + 2j, 0.5j], [np.nan, 2 - 1j], [3 - 1j, 1 + 1j]])
    assert dj.jit(spread, backend=backend)(z) == spread(z)
    g = dj.grad(spread, backend=backend)(z)
    for place in ((0, 0), (1, 1), (2, 1)):
        for step, part in ((1e-6, g[place].real), (1e-6j, -g[place].imag)):
            ahead, behind = z.copy(), z.copy()
            ahead[place] += step
            behind[place] -= step
            np.testing.assert_allclose((spread(ahead) - spread(behind)) / 2e-6, part, rtol=1e-7, atol=1e-8)
    assert g[1, 0] == 0
    h = dj.jvp(dj.grad(spread, backend=backend), (z,), (np.ones_like(z),), backend=backend)[1]
    np.testing.assert_allclose(h, 0, atol=1e-15)  # a common shift changes nothing


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_a_python_number_in_a_product_is_double(backend: str) -> None:
    x = np.array([1.0, 3.0], np.float32)
    for f in (lambda x: np.dot(x, 0.1), lambda x: np.inner(0.1, x), lambda x: np.interp(x, [1, 2], [0.1, 0.3])):
        value, tangent = dj.jvp(f, (x,), (np.ones_like(x),), backend=backend)
        assert value.dtype == tangent.dtype == np.float64
        np.testing.assert_array_equal(value, f(x))
        (cotangent,) = dj.vjp(f, x, backend=backend)[1](np.ones(2))
        assert cotangent.dtype == np.float32
        np.testing.assert_allclose(cotangent, tangent, rtol=1e-6)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_slopes_of_a_mean_of_nothing(backend: str) -> None:
    def late(x: Any) -> Any:
        return np.mean(x[3:]) + np.var(x[3:]) + np.average(x[3:]) + np.sum(x * x)

    def divided(x: Any) -> Any:
        return sum(x) / len(x[3:])

    x = np.array([0.3, 0.9, 1.3])
    with pytest.warns(RuntimeWarning):
        assert np.isnan(late(x))
    assert np.isnan(dj.jit(late, backend=backend)(x))
    np.testing.assert_allclose(dj.grad(late, backend=backend)(x), 2 * x)
    np.testing.assert_allclose(dj.hessian(late, backend=backend)(x), 2 * np.eye(3))
    np.testing.assert_array_equal(dj.grad(divided, backend=backend)(x), [np.inf] * 3)
