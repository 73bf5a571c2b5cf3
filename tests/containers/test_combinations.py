"""Iterators that are listed once, or taken all items of, against plain Python and differences."""

import functools
import itertools
import operator

import numpy as np
import pytest

import diffjit as dj

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


class Draws:
    """An iterator of one's own."""

    def __init__(self, items):
        self.items = items
        self.place = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.place >= len(self.items):
            raise StopIteration
        self.place += 1
        return self.items[self.place - 1]


class Counts:
    """Something that counts how often it is gone through."""

    def __init__(self, items):
        self.items = items
        self.times = 0

    def __iter__(self):
        self.times += 1
        yield from self.items


def of_a_grid(f):
    """A program of an array as one of a number."""
    return functools.wraps(f)(lambda x: f(x * np.array([0.7, -1.2, 0.4, 1.9, -0.3])))


def enumerated(x):
    grid = x * np.arange(4.0)
    pairs = itertools.product(enumerate(grid[1:], 1), enumerate(grid))
    return sum((i + 2 * j) * a * b * b for (i, a), (j, b) in pairs)


def side_by_side(x):
    grid = x * np.arange(5.0)
    total = 0.0
    for a, b, c in itertools.product(zip(grid, grid[:-1], strict=False), repeat=3):
        total += a[0] * b[1] * c[0]
    return total + sum(a * b * b for a, b in itertools.product(grid, reversed(grid[:-1])))


def rows_of_a_matrix(x):
    matrix = x * np.arange(6.0).reshape(2, 3)
    return sum(a * k * (row @ row) for a, (k, row) in itertools.product(matrix[1], enumerate(matrix)))


def begun_before(x):
    it = iter(x * np.arange(4.0))
    next(it)
    return sum(a * b * b for a, b in itertools.product(x * np.arange(3.0), it)) + sum(it)


def of_own_classes(x):
    counts, grid = Counts(x * np.arange(3.0)), x * np.arange(4.0)
    total = sum(a * b * b for a, b in itertools.product(grid, counts))
    return total + counts.times + sum(a * b * b for a, b in itertools.product(grid, Draws(grid)))


def calls_each_once(x):
    calls = [0]

    def square(v):
        calls[0] += 1
        return v * v

    total = sum(a * b for a, b in itertools.product(x * np.arange(3.0), map(square, x * np.arange(4.0))))
    return total + calls[0]


def changed_meanwhile(x):
    grid, items = x * np.arange(4.0), [x, 2.0 * x, 3.0]
    total = 0.0
    for a, (k, b), c in itertools.product(x * np.arange(3.0), enumerate(grid), items):
        total += a * b * b * k * c
        grid[2] += 1.0
        items[1] *= 0.5
    return total + grid[2] + items[1]


def used_up(x):
    """What is taken all items of has none left."""
    pairs, squares, numbered = zip(x, x[::-1], strict=True), map(np.square, x), enumerate(x)
    total, product = functools.reduce(lambda a, b: (a[0] + b[0], a[1] * b[1]), pairs)
    sums = list(itertools.accumulate(squares))
    second = list(itertools.pairwise(numbered))[1]
    left = len(list(pairs)) + len(list(squares)) + len(list(numbered))
    return total * product + sums[2] * second[1][1] * second[1][0] + left


def by_own_iterators(x):
    products = functools.reduce(operator.mul, Draws(x * np.arange(1.0, 4.0)))
    return products + sum(itertools.accumulate(Draws(x * np.arange(4.0))))


def the_first_few(x):
    squares = (v * v for v in x)
    first = np.fromiter(squares, float, count=3)
    return first @ np.array([1.0, 2.0, 3.0]) + sum(squares)


PROGRAMS = [
    enumerated, side_by_side, rows_of_a_matrix, begun_before, of_own_classes, calls_each_once, changed_meanwhile,
    of_a_grid(used_up), by_own_iterators, of_a_grid(the_first_few),
]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_lists_iterators_once(f, backend):
    x, h = 1.3, 1e-6
    value, slope = dj.value_and_grad(f, backend=backend)(x)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert slope == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-7)


def test_fewer_items_than_counted():
    with pytest.raises(ValueError, match="iterator too short"):
        dj.jit(lambda x: np.fromiter(x, float, count=9), backend="python")(np.ones(3))
