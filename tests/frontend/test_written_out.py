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
