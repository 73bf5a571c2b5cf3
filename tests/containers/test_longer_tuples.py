"""Tuples that get longer in each turn of a loop whose length the run decides, against Python and differences."""

# ruff: noqa: RUF005 - both ways to write them

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.3, 0.9, 0.6, 0.7])
BACKENDS = ["python", "numba"]


def squares(x, n):
    h = ()
    for i in range(n):
        h = h + (x[i] * x[i],)
    return sum(h)


def last(x, n):
    h = (1.0,)
    for i in range(n):
        h += (h[-1] * np.sin(x[i]),)
    return h[-1] + len(h)


def two_at_first(x, n):
    h = (x[0], x[1])
    for i in range(n):
        h = h + (h[i] * 0.5 + x[2],)
    total = 0.0
    for v in h:
        total = total + v * v
    return total


def on_some_paths(x, n):
    h = ()
    for i in range(n):
        if x[i] > 0.5:
            h = (*h, np.sin(x[i]))
    return np.sum(np.array(h)) * len(h) if h else x[3]


def in_front(x, n):
    h, k = (0.1,), 0
    while k < n:
        h = (x[k], *h)
        k += 1
    return max(h) + h[0] * h[-1]


def two_of_them(x, n):
    h, g = (), (1.0,)
    for i in range(n):
        h, g = h + (x[i],), g + (x[i] * g[0],)
    return sum(u * v for u, v in zip(h, g, strict=False))


def in_two_loops(x, n):
    h = ()
    for i in range(n):
        h = h + (x[i],)
        for j in range(i):
            h = h + (x[j] * h[-1],)
    return sum(h)


def of_places(x, n):
    h = ()
    for i in range(n):
        h = h + (i,)
    return sum(x[k] * k for k in h)


def no_longer_than_two(x, n):
    h = ()
    for i in range(n):
        h = h + (x[i],)
        if len(h) > 2:
            h = h[1:]
    return sum(h)


FUNCTIONS = [
    squares,
    last,
    two_at_first,
    on_some_paths,
    in_front,
    two_of_them,
    in_two_loops,
    of_places,
    no_longer_than_two,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_longer_tuples(f, backend):
    compiled = dj.value_and_grad(f, backend=backend)
    for n in range(4):
        value, slope = compiled(X, n)
        assert value == pytest.approx(f(X, n), rel=1e-13)
        wanted = [(f(X + e, n) - f(X - e, n)) / 2e-6 for e in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(slope, wanted, atol=1e-8)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_second_order_and_lanes(f):
    v = np.array([0.2, -0.4, 0.5, 1.0])
    slope = dj.grad(f, backend="python")
    found = dj.hvp(lambda x: f(x, 3), (X,), (v,), backend="python")
    np.testing.assert_allclose(found, (slope(X + 1e-6 * v, 3) - slope(X - 1e-6 * v, 3)) / 2e-6, atol=1e-8)
    lanes = dj.vmap(slope, in_axes=(0, None))(np.stack([X, X[::-1]]), 3)
    np.testing.assert_allclose(lanes, [slope(X, 3), slope(X[::-1].copy(), 3)], atol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_they_are_tuples_still(backend):
    def f(x, n):
        h = ()
        for i in range(n):
            h = h + (x[i],)
        return isinstance(h, tuple), h + (1.0,), h == (x[0], x[1])

    for n in (0, 2, 3):
        assert dj.jit(f, backend=backend)(X, n) == f(X, n)
