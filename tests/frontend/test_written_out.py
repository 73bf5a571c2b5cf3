"""Loops whose number of turns is known, and whose variables change their form with each turn: they are written out."""

import numpy as np
import pytest

import diffjit as dj


def with_more(inner):
    return lambda y: inner(y) + 0.1 * y


def wrapped(x):
    function = lambda y: y * y * x
    for _ in range(3):
        function = with_more(function)
    return function(x)


def nested(x):
    value = x
    for k in range(5):
        value = (value, k * x)
    total = 0.0
    while isinstance(value, tuple):
        total += value[1]
        value = value[0]
    return total * value


def longer(x):
    found = ()
    for k in range(6):
        found = (*found, x * k)
    return sum(a * b for a, b in zip(found, found[2:], strict=False))


def composed(*functions):
    def together(y):
        for function in functions:
            y = function(y)
        return y

    return together


def chained(x):
    function = composed(np.sin, lambda y: y * x, np.tanh)
    for _ in range(4):
        function = composed(function, np.cos)
    return function(x)


def deeper(x):
    array = np.array([x])
    for _ in range(3):
        array = np.array([array, array * x])
    return array.sum() * array.ndim


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [wrapped, nested, longer, chained, deeper])
def test_forms_that_change(function, backend):
    x, h = 0.37, 1e-6
    assert dj.jit(function, backend=backend)(x) == pytest.approx(function(x), rel=1e-12)
    slope = (function(x + h) - function(x - h)) / (2 * h)
    assert dj.grad(function, backend=backend)(x) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(function, (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    ours = dj.grad(function, backend=backend)
    bend = (ours(x + h) - ours(x - h)) / (2 * h)
    assert dj.grad(dj.grad(function), backend=backend)(x) == pytest.approx(bend, rel=1e-6)


def too_many(x, n):
    found = ()
    for k in range(n):
        found = (*found, x * k)
    return sum(found)


def test_turns_that_are_not_known():
    with pytest.raises(dj.TypeProblem, match="DJ304"):
        dj.jit(too_many)(0.5, 4)


def steepest(x):
    return max(np.abs(x) + x * x) + 3.0 * min(x[2:]) + max(x, key=lambda v: -v * v)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_extremes_of_long_arrays_are_loops(backend):
    """However long an array of known length is, the program is as long."""
    f = lambda x: steepest(x[:30])
    x = np.random.default_rng(2).normal(size=40)
    g = dj.grad(f, backend=backend)(x)
    step = 1e-6 * np.eye(40)
    assert g == pytest.approx(np.array([(f(x + e) - f(x - e)) / 2e-6 for e in step]), abs=1e-8)
    assert dj.jit(f, backend=backend)(x) == f(x)
    assert len(dj.source(dj.grad(lambda x: steepest(x[:30])), x).splitlines()) == len(
        dj.source(dj.grad(lambda x: steepest(x[:20])), x).splitlines()
    )
    holes = np.array([1.0, np.nan, 3.0, 2.0] * 4)
    assert dj.jit(lambda v: max(v[:16]), backend=backend)(holes) == max(holes)
    assert np.isnan(dj.jit(lambda v: min(v[1:15]), backend=backend)(holes))  # NaN is the first: nothing is below it
