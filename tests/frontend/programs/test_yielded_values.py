"""What `yield` and `yield from` give: nothing, in a loop, and what another generator returns."""

import numpy as np
import pytest

import diffjit as dj
from tests.frontend.programs.test_branches import BACKENDS

X = np.array([1.0, 2.0, 3.0, 0.5])


def squares(x):
    total = 0.0
    for v in x:
        if v > 2.5:
            return total
        yield v * v
        total += v
    return -total


def summed(x):
    total = yield from squares(x)
    yield total * total
    other = yield from squares(x[:2])
    yield other * x[0]


def returns_a_total(x):
    return sum(summed(x))


def counted(x):
    n = 0
    for v in x:
        received = yield v**3
        n += 1 if received is None else 100
    return n


def receives_nothing(x):
    def outer():
        n = yield from counted(x)
        yield n * x[0]
        listed = yield from [v * 2.0 for v in x]
        yield 1.0 if listed is None else x[1]

    total = 0.0
    for v in outer():
        total = total + v * v
    return total


def ends_early(x):
    total = 0.0
    for v in summed(x):
        if v > 3.0:
            break
        total = total + v**2
    return total


def leaves(x, depth):
    """A tree of a depth that is known, which says how many leaves it has."""
    if depth == 0:
        yield x[depth] * 2.0
        return 1
    left = yield from leaves(x * 1.5, depth - 1)
    right = yield from leaves(x[::-1] ** 2, depth - 1)
    return left + right


def of_a_tree(x):
    def all_leaves():
        count = yield from leaves(x, 2)
        yield count * x[0]

    return sum(v**2 for v in all_leaves())


PROGRAMS = [returns_a_total, receives_nothing, ends_early, of_a_tree]


def slope(function, direction):
    return (function(X + 1e-6 * direction) - function(X - 1e-6 * direction)) / 2e-6


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_derivatives(function, backend):
    direction = np.array([0.3, -0.7, 0.2, 1.1])
    np.testing.assert_allclose(dj.jit(function, backend=backend)(X), function(X))
    gradient = dj.grad(function, backend=backend)
    np.testing.assert_allclose(gradient(X) @ direction, slope(function, direction), rtol=1e-6)
    _, tangent = dj.jvp(function, (X,), (direction,), backend=backend)
    np.testing.assert_allclose(tangent, slope(function, direction), rtol=1e-6)
    product = dj.hvp(function, (X,), (direction,), backend=backend)
    np.testing.assert_allclose(product, slope(gradient, direction), rtol=1e-5, atol=1e-7)
    rows = dj.vmap(function, backend=backend)(np.stack([X, X * 0.7]))
    np.testing.assert_allclose(rows, [function(X), function(X * 0.7)])


class Tree:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        yield self.x
        return 3.0


def of_an_object(x):
    def outer():
        n = yield from Tree(x[0])
        yield n * x[1]

    return sum(outer())


def test_refused():
    with pytest.raises(dj.DiffjitError):
        dj.grad(of_an_object, backend="python")(X)
