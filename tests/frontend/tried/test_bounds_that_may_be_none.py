"""Bounds that are numbers on one path and None on another: of slices, as in `x[: -k or None]`, and of searches."""

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


def bracketed(x, step, turns):
    """A search that is kept between two bounds once it has both, as solvers of equations keep it."""
    low = high = None
    if x < 1.0:
        low = x
    else:
        high = x
    for _ in range(turns):
        middle = step * x
        if low is not None and high is not None and (not (low < middle < high) or (high < middle < low)):
            middle = 0.5 * (low + high)
        x = middle
        if x > 1e3:
            raise ValueError("too large")
        if x == 0.0:
            return x
        if x < 1.0:
            low = x
        else:
            high = x
    return x


def in_one_try(x, step, turns):
    try:
        return bracketed(x, step, turns)
    except (TypeError, ValueError):
        return 3.0 * x


def in_a_try_of_two(x, step, turns):
    try:
        return x * bracketed(x, step, turns)
    except ValueError:
        return 3.0 * x
    except TypeError:
        return 5.0 * x


def told_by_two_errors(x, items, k):
    """An `or` whose operands each may fail in two ways."""
    least = x if x > 2.0 else None
    most = x if x < 5.0 else None
    try:
        if (least < 10.0 and items[k] > x) or (most > 1.0 and items[k + 1] > x):
            return x**2
    except IndexError:
        return 3.0 * x
    except TypeError:
        return 4.0 * x**3
    return 5.0 * x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [in_one_try, in_a_try_of_two])
def test_conditions_on_bounds_that_raise_in_a_try(program, backend):
    for x, step in ((2.0, 0.3), (0.5, 1.7), (2.0, 1.5), (2.0, 50.0), (0.0, 1.0)):
        value, slope = dj.value_and_grad(program, backend=backend)(x, step, 4)
        assert value == pytest.approx(program(x, step, 4), rel=1e-14)
        wanted = (program(x + 1e-5, step, 4) - program(x - 1e-5, step, 4)) / 2e-5
        assert slope == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_condition_that_may_fail_in_two_ways(backend):
    items = np.array([1.0, 4.5])
    for x, k in ((1.5, 0), (3.0, 0), (3.0, 1), (4.0, 2), (4.7, 0), (4.7, 1), (6.0, 0)):
        value, slope = dj.value_and_grad(told_by_two_errors, backend=backend)(x, items, k)
        assert value == told_by_two_errors(x, items, k)
        wanted = (told_by_two_errors(x + 1e-5, items, k) - told_by_two_errors(x - 1e-5, items, k)) / 2e-5
        assert slope == pytest.approx(wanted, rel=1e-8)
