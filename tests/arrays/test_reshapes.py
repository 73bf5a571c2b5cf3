"""Reshapes at the edge of what NumPy allows: the lengths that it finds, and the errors that it raises."""

import numpy as np
import pytest

import diffjit as dj
from tests.options.modes import compared

X = np.array([0.7, 1.3, 0.4, 2.1])


def nothing_beside_nothing(x):
    """An axis of length 0 says nothing of an unknown one."""
    try:
        return np.sum(x[x > 100.0].reshape(2, 0, -1)) + np.sum(x * x)
    except ValueError:
        return 2.0 * np.sum(x * x)


def a_length_of_zero(x):
    n = len(x) - 4
    try:
        return np.sum(x[:0].reshape(-1, n)) + np.sum(x * x)
    except ValueError:
        return 3.0 * np.sum(x * x)


def any_negative_is_unknown(x):
    try:
        return np.sum(x.reshape(-2, 2)[0] * x.reshape(2, -7)[1])
    except ValueError:
        return np.sum(x)


def two_unknown(x):
    try:
        return np.sum(x.reshape(-1, 2, -1))
    except ValueError:
        return 4.0 * np.sum(x * x)


def a_length_of_its_own(x):
    n = len(x)
    try:
        return np.sum(x.reshape(-1, n) ** 3)
    except ValueError:
        return np.sum(x)


PROGRAMS = (nothing_beside_nothing, a_length_of_zero, any_negative_is_unknown, two_unknown, a_length_of_its_own)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_as_numpy(program, backend):
    compared(program, X, backend)


def reshaped(x, n, m):
    return np.sum(x.reshape(-1, n, m) ** 2)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_errors_of_numpy(backend):
    grad = dj.grad(reshaped, backend=backend)
    for x, n, m in ((np.ones(0), 4, 0), (np.ones(4), 4, 0), (np.ones(0), 0, 4), (np.ones(6), 4, 1)):
        for function in (reshaped, grad):
            with pytest.raises(ValueError, match="cannot reshape array"):
                function(x, n, m)
    np.testing.assert_allclose(grad(np.ones(6), 3, 1), 2.0 * np.ones(6))


def computed(x, n):
    try:
        return np.sum(x.reshape(n, 2) ** 2)
    except ValueError:
        return np.sum(x)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_negative_length_that_is_computed(backend):
    grad = dj.grad(computed, backend=backend)
    np.testing.assert_allclose(grad(X, 2), 2.0 * X)
    np.testing.assert_allclose(grad(X, 3), np.ones(4))
    with pytest.raises(NotImplementedError, match="write -1"):
        grad(X, -1)
