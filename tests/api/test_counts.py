"""Ints among the arguments that are an array's length: their programs know it, and others are not taken for them."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.linspace(0.1, 2.0, 20)


def running(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[i] * x[i - 1]
    return np.sum(y * y)


def gradient_by_hand(x, n):
    bar = np.zeros_like(x)
    for i in range(n):
        bar[i] += 2 * x[i] * x[i - 1] ** 2
        bar[i - 1] += 2 * x[i] ** 2 * x[i - 1]
    return bar


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", [(20, 7, 20, 0, 19), (7, 20, 3, 20), (0, 20, 8)])
def test_any_order_of_calls(backend, order):
    verbs = dj.jit(running, backend=backend), dj.grad(running, backend=backend)
    for n in order:
        assert verbs[0](X, n) == pytest.approx(running(X, n))
        np.testing.assert_allclose(verbs[1](X, n), gradient_by_hand(X, n))
        np.testing.assert_allclose(verbs[1](X, n=n), gradient_by_hand(X, n))
        np.testing.assert_allclose(dj.vjp(running, X, n, backend=backend)[1](1.0)[0], gradient_by_hand(X, n))
        assert dj.jvp(running, (X, n), (X, 0), backend=backend)[1] == pytest.approx(gradient_by_hand(X, n) @ X)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("first", [20, 5, 21])
def test_too_large_a_count_is_told(backend, first):
    f = dj.grad(running, backend=backend)
    for n in (first, 21):
        if n == 21:
            with pytest.raises(IndexError):
                f(X, n)
        else:
            f(X, n)


def test_nothing_is_tested_that_is_known():
    def products(x, n):
        y = np.zeros(n)
        for i in range(1, n):
            y[i] = x[i] * x[i - 1]
        return np.sum(y * x)

    lowered = dj.source(dj.grad(products), X, 20, stage="lowered")
    assert "else" not in lowered
    assert "x.inside[i - 1]" in lowered
    assert "else" in dj.source(dj.grad(products), X[:19], 20, stage="lowered")


@pytest.mark.parametrize("n", [9, 20])
def test_at_most_two_programs(n):
    """A count that wanders through an array's length by chance is compiled once more at most."""
    f = dj.jit(running)
    f(X, n)
    for k in range(21):
        assert f(X, k) == pytest.approx(running(X, k))
    assert len(f._cache) == (1 if n == 9 else 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_which_array_is_part_of_the_form(backend):
    def split(a, b, n):
        total = 0.0
        for i in range(n):
            total += a[i] * b[i - n]
        return total

    f = dj.jit(split, backend=backend)
    for a, b, n in ((X, X[:10], 10), (X[:10], X, 10), (X[:12], X[:9], 9), (X, X, 20), (X[:10], X[:10], 10)):
        assert f(a, b, n) == pytest.approx(split(a, b, n))
    with pytest.raises(IndexError):
        f(X[:10], X, 20)


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_that_must_be_known(backend):
    """An axis that is fixed by its count is fixed by that alone."""

    def wide(a, m):
        columns = [a[:, k] * k for k in range(m)]
        return np.sum(np.stack(columns[:m]) ** 2) + a.reshape(-1, m)[0, m - 1]

    f = dj.grad(wide, backend=backend)
    for rows in (12, 13):
        a = np.ones((rows, 9))
        want = np.tile(2.0 * np.arange(9) ** 2, (rows, 1))
        want[0, 8] += 1.0
        np.testing.assert_allclose(f(a, 9), want)


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_in_trees_and_under_verbs(backend):
    def energy(p):
        u = p["u"].copy()
        for _ in range(3):
            for i in range(1, p["n"] - 1):
                u[i] = 0.5 * u[i] + 0.25 * (u[i - 1] + u[i + 1])
        return np.sum(u**2)

    for n in (20, 15):
        p = {"u": X, "n": n}
        found = dj.grad(energy, backend=backend)(p)
        assert found["n"] == 0
        h = 1e-6 * np.eye(20)
        slopes = [(energy({"u": X + d, "n": n}) - energy({"u": X - d, "n": n})) / 2e-6 for d in h]
        np.testing.assert_allclose(found["u"], slopes, rtol=1e-6)
    inside = dj.jit(dj.grad(running), backend=backend)
    for n in (20, 15):
        np.testing.assert_allclose(inside(X, n), gradient_by_hand(X, n))
    rows = dj.vmap(running, in_axes=(0, None), backend=backend)(np.stack([X, 2 * X]), 20)
    np.testing.assert_allclose(rows, [running(X, 20), running(2 * X, 20)])
