"""What branches and loops join: the same on all ways, a number, or nothing that has a value."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def stopped_before_the_last_write(b, w):
    """An index that is known to be out of bounds where the length is known: what follows it never runs."""
    rest = w[:, 1:]
    try:
        for j in range(3):
            b[j] += 0.1
        b[2] *= np.tanh(rest).mean()
    except IndexError:
        b[-1] += 0.5
    return np.sum(np.clip(b, 0.1, 3.0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 2), (4, 3)], ids=str)
def test_what_never_runs_leaves_nothing(backend, shape):
    b, w = np.linspace(0.3, 0.7, shape[0]), np.linspace(-0.4, 0.8, shape[0] * shape[1]).reshape(shape)
    function = lambda b, w: stopped_before_the_last_write(b.copy(), w)
    with np.errstate(all="ignore"):
        value, slopes = dj.value_and_grad(function, argnums=(0, 1), backend=backend)(b, w)
        np.testing.assert_allclose(value, function(b, w), rtol=1e-14)
        for k, slope in enumerate(slopes):
            for place in np.ndindex(slope.shape):
                moved = [np.zeros_like(b), np.zeros_like(w)]
                moved[k][place] = 1e-6
                change = function(b + moved[0], w + moved[1]) - function(b - moved[0], w - moved[1])
                np.testing.assert_allclose(slope[place], change / 2e-6, rtol=1e-6, atol=1e-9)


def numbers_that_are_the_same(x, n):
    """Numbers that all ways give, of one type or of several; zeros of both signs."""
    one, sign, kind, last = 1.0, 0.0, 2, 3.0
    for i in range(n):
        if x[i] > 0.5:
            one, sign, kind = 4.0, 0.0, 3
        else:
            one, sign, kind = 4.0, -0.0, 3.0
        last = 3.0
        x = x * one + last
    return x, one, sign, kind, last


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1, 3])
def test_numbers_that_are_the_same_on_all_ways(backend, n):
    for first in (0.2, 0.9):
        x = np.array([first, 0.6, 0.4])
        found = dj.jit(lambda x: numbers_that_are_the_same(x, n)[:3], backend=backend)(x)
        wanted = numbers_that_are_the_same(x, n)
        np.testing.assert_array_equal(found[0], wanted[0])
        assert found[1] == wanted[1]
        assert np.signbit(found[2]) == np.signbit(wanted[2])
        kinds = dj.jit(lambda x: float(numbers_that_are_the_same(x, n)[3]), backend=backend)(x)
        assert kinds == wanted[3]
        slope = dj.grad(lambda x: np.sum(numbers_that_are_the_same(x, n)[0] ** 2), backend=backend)(x)
        np.testing.assert_allclose(slope, 2.0 * wanted[0] * 4.0**n, rtol=1e-14)
