"""Slices with a bound that is a number on one path and None on another, as in `x[: -k or None]`."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([1.0, -2.0, 3.0, 0.5, 2.0])


def without_the_last(x, n):
    return np.sum(x[: -n or None] ** 2)


def of_a_known_length(x, n):
    a = np.arange(5) * x[0]
    stop = None if x[0] > 2.0 else n
    return np.sum(a[stop:] ** 2) + 7 * np.sum(a[stop::-1] ** 3) + np.sum(a[:stop:-1]) + np.sum(a[::-1][:stop])


def of_a_computed_length(x, n):
    a = np.ones(int(n) + 3) * x[0]
    start, stop = 1 if n > 3 else None, None if x[1] > 0.0 else n
    return np.sum(a[start:stop] ** 2) * x[1]


def of_a_step(x, n):
    step = None if x[0] > 2.0 else n
    return np.sum(x[::step] ** 2) + np.sum(x[1 : None if n > 2 else 4 : step])


def written_to(x, n):
    a = x * 2.0
    a[: None if x[0] > 2.0 else n] = x[2]
    return np.sum(a * a)


def named(x, n):
    part = slice(None if x[0] > 2.0 else n, None if n > 2 else -1)
    return np.sum(x[part] ** 3)


def returned_from_a_loop(x, n):
    """What a loop without an end returns may be nothing, as far as anyone knows before it runs."""

    def enough(limit):
        k = 0
        while True:
            k += 1
            if k > n or x[k] > limit:
                return k

    a = np.ones(5) * x[3]
    return np.sum(a[: enough(2.5)] * x[0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [without_the_last, of_a_known_length, of_a_computed_length, of_a_step, written_to, named, returned_from_a_loop]
)
def test_derivatives(f, backend):
    both = dj.value_and_grad(f, backend=backend)
    for n in (0, 1, 3) if f is not of_a_step else (1, 3):
        for x in (X, X[::-1] * 1.5):
            value, slope = both(x, n)
            assert value == pytest.approx(f(x, n), rel=1e-14)
            exact = [(f(x + 1e-6 * e, n) - f(x - 1e-6 * e, n)) / 2e-6 for e in np.eye(5)]
            np.testing.assert_allclose(slope, exact, rtol=1e-6, atol=1e-7)
