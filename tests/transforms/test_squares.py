"""Squares of magnitudes have all derivatives where they are 0; what is written to stays what it was."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.0, 2.0, -0.5])
TURN = np.exp(1j * np.arange(3.0))


def real(x):
    return np.sum(np.abs(x) ** 2 * np.array([1.0, 3.0, 5.0]))


def squared(x):
    return np.sum(np.square(np.abs(x)) * np.array([1.0, 3.0, 5.0]))


def twice(x):
    return np.sum(np.abs(x) * np.abs(x) * np.array([1.0, 3.0, 5.0]))


def of_numbers(x):
    total = 0.0
    for k in range(3):
        total += (2 * k + 1) * abs(x[k]) ** 2
    return total


def complex_numbers(x):
    return np.sum(np.abs(x * TURN) ** 2 * np.array([1.0, 3.0, 5.0]))


def one_complex_number(x):
    return abs(x[0] * (0.6 + 0.8j)) ** 2 + 3.0 * np.abs(x[1]) ** 2.0 + 5.0 * x[2] ** 2


WANTED = np.diag([2.0, 6.0, 10.0])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [real, squared, twice, of_numbers, complex_numbers, one_complex_number])
def test_second_derivatives_at_zero(f, backend):
    np.testing.assert_allclose(dj.jit(f, backend=backend)(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(X), WANTED @ X, rtol=1e-13)
    np.testing.assert_allclose(dj.hessian(f, backend=backend)(X), WANTED, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(dj.jacfwd(dj.grad(f), backend=backend)(X), WANTED, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_magnitude_that_is_computed_twice(backend):
    def distances(x):
        total = 0.0
        for i in range(len(x)):
            for j in range(i):
                total += abs(x[i] - x[j]) * abs(x[i] - x[j])
                total += abs(x[i] - x[j] + 1j * x[0]) * abs(x[i] - x[j] + 1j * x[0])
        return total

    def by_hand(x):
        pairs = [(i, j) for i in range(len(x)) for j in range(i)]
        return sum(2 * (x[i] - x[j]) ** 2 + x[0] ** 2 for i, j in pairs)

    x = np.array([0.0, 0.7, 0.0, 0.7])
    np.testing.assert_allclose(dj.grad(distances, backend=backend)(x), dj.grad(by_hand)(x), rtol=1e-13, atol=1e-13)
    wanted = dj.hessian(by_hand, backend=backend)(x)
    np.testing.assert_allclose(wanted, 4 * (4 * np.eye(4) - 1) + np.diag([12.0, 0, 0, 0]), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(dj.hessian(distances, backend=backend)(x), wanted, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(dj.jacfwd(dj.grad(distances), backend=backend)(x), wanted, rtol=1e-13, atol=1e-13)


def powers(x):
    return np.sum(np.abs(x) ** 4 * np.array([1.0, 3.0, 5.0])) + abs(x[0]) ** 6.0


def powers_of_complex_numbers(x):
    z = x * TURN
    return np.sum(np.abs(z) ** 4.0 * np.array([1.0, 3.0, 5.0])) + abs(z[0]) ** 6


def powers_by_hand(x):
    return x[0] ** 4 + 3 * x[1] ** 4 + 5 * x[2] ** 4 + x[0] ** 6


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [powers, powers_of_complex_numbers])
def test_fourth_derivatives_of_powers_at_zero(f, backend):
    np.testing.assert_allclose(dj.jit(f, backend=backend)(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(dj.hessian(f, backend=backend)(X), dj.hessian(powers_by_hand)(X), rtol=1e-12)
    fourth = dj.jacfwd(dj.jacfwd(dj.hessian(f)), backend=backend)(X)
    wanted = np.zeros((3, 3, 3, 3))
    wanted[0, 0, 0, 0], wanted[1, 1, 1, 1], wanted[2, 2, 2, 2] = 24.0, 72.0, 120.0
    np.testing.assert_allclose(fourth, wanted, rtol=1e-12, atol=1e-10)
    by_series = dj.jet(f, (X,), ([np.ones(3), *[np.zeros(3)] * 3],), backend=backend)[1]
    assert by_series[3] == pytest.approx(216.0, rel=1e-12)


def test_a_verb_inside():
    slope = dj.grad(lambda t: dj.grad(lambda u: abs(u) ** 2 * t)(t - 1.0))  # 2 t (t - 1)
    assert slope(1.0) == pytest.approx(2.0)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_is_written_to_meanwhile(backend):
    def magnitudes(x):
        y = np.abs(x)
        y[0] = 5.0 * x[1]
        return np.sum(y**2)

    def operands(x):
        x = x * 1.0
        y = np.abs(x)
        x[0] = 7.0
        return np.sum(y**2) + x[0]

    for f in (magnitudes, operands):
        assert dj.jit(f, backend=backend)(X) == f(X)
    np.testing.assert_array_equal(dj.grad(magnitudes, backend=backend)(X), [0.0, 104.0, -1.0])
    np.testing.assert_array_equal(dj.grad(operands, backend=backend)(X), 2.0 * X)


def test_other_products_of_magnitudes():
    def f(x):
        return np.sum(np.abs(x) * np.abs(x[::-1])) + np.sum(np.abs(x) ** 3) + np.sum(abs(x) ** -2.0)

    x = np.array([1.5, 2.0, -0.5])
    assert dj.jit(f)(x) == pytest.approx(f(x))
    wanted = np.sign(x) * (2.0 * np.abs(x[::-1]) + 3.0 * x**2 - 2.0 * np.abs(x) ** -3.0)
    np.testing.assert_allclose(dj.grad(f)(x), wanted)
