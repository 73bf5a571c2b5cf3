"""What branches and loops join: the same on all ways, a number, or nothing that has a value."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def stopped_before_the_last_write(a, b, w, m, s, k):
    """With one element, an index is known to be out of bounds: what stands behind it never runs."""
    held = w.copy()
    rest = held[:, 1:]
    try:
        for j in range(3):
            b[j] += 0.1
        b[2] *= np.tanh(rest).mean()
    except Exception:  # noqa: BLE001 - whatever it is
        kept = a if k > 0 else b  # noqa: F841 - that is the point
    return np.sum(np.clip(b, 0.1, 0.8)) + 0.7 * np.sum(np.tanh(a)) + s * m[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_what_never_runs_leaves_nothing(backend, n):
    given = np.linspace(0.2, 0.6, n), np.linspace(0.3, 0.5, 2 * n)[::2], np.linspace(-0.4, 0.8, n * n).reshape(n, n)
    made = dj.value_and_grad(stopped_before_the_last_write, argnums=(0, 1, 2), backend=backend)
    f = lambda *args: stopped_before_the_last_write(*args, np.arange(n), 0.3, -2)
    with np.errstate(all="ignore"):
        value, slopes = made(*given, np.arange(n), 0.3, -2)
        np.testing.assert_allclose(value, f(*(x.copy() for x in given)), rtol=1e-14)
        for k, slope in enumerate(slopes):
            for place in np.ndindex(slope.shape):
                up, down = ([x.copy() for x in given] for _ in range(2))
                up[k][place] += 1e-6
                down[k][place] -= 1e-6
                np.testing.assert_allclose(slope[place], (f(*up) - f(*down)) / 2e-6, rtol=1e-6, atol=1e-9)


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
