"""Iterators that are listed once, or taken all items of, against plain Python and differences."""

import functools
import itertools
import operator

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along, of_one_number

X, T = np.array([0.7, -1.2, 0.4, 1.9, -0.3]), np.array([1.0, 0.5, -2.0, 0.3, 0.7])
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
    pairs = zip(x, x[::-1], strict=True)
    total, product = functools.reduce(lambda a, b: (a[0] + b[0], a[1] * b[1]), pairs)
    return total * product + len(list(pairs))


def summed_up(x):
    squared = map(np.square, x)
    return list(itertools.accumulate(squared))[2] + len(list(squared))


def by_own_iterators(x):
    products = functools.reduce(operator.mul, Draws(x * np.arange(1.0, 4.0)))
    return products + sum(itertools.accumulate(Draws(x * np.arange(4.0))))


def the_first_few(x):
    squares = (v * v for v in x)
    first = np.fromiter(squares, float, count=3)
    return first @ np.array([1.0, 2.0, 3.0]) + sum(squares)


def squares(items):
    for v in items:
        yield v * v


def in_turn(x):
    """What draws from an iterator stands beside it, and both are drawn from by turns."""
    it = iter(x)
    return sum(a * b for a, b in zip(squares(it), it, strict=False))


def summed_in_turn(x):
    it = iter(x)
    return sum(a * b for a, b in zip(itertools.accumulate(it), it, strict=False))


def drawn_from_meanwhile(x):
    it, total = iter(x), 0.0
    for a, b in itertools.pairwise(it):
        total = total * 0.5 + a * b * next(it, 1.0)
    return total


def groups(x):
    it = iter(x)
    padded = sum(sum(g) * g[0] for g in itertools.zip_longest(it, it, fillvalue=0.5))
    threes = itertools.zip_longest(*[enumerate(x)] * 3, fillvalue=(1, x[0]))
    return padded + len(list(it)) + sum(a[1] * b[1] * b[0] * c[1] for a, b, c in threes)


PROGRAMS = [
    enumerated, side_by_side, rows_of_a_matrix, begun_before, of_own_classes, calls_each_once, changed_meanwhile,
    by_own_iterators,
]  # fmt: skip


DRAWN = [used_up, summed_up, the_first_few, in_turn, summed_in_turn, drawn_from_meanwhile, groups]


@pytest.mark.parametrize("f", DRAWN)
def test_takes_items_when_python_does(f):
    along(f, X, T)


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_lists_iterators_once(f, backend):
    of_one_number(f, backend)


def test_fewer_items_than_counted():
    with pytest.raises(ValueError, match="iterator too short"):
        dj.jit(lambda x: np.fromiter(x, float, count=9), backend="python")(np.ones(3))


def sorted_rest(x):
    """What is left of an iterator may be None for all that its attributes say: sorting makes lists of several kinds."""
    squared, numbered = (v * v for v in x), enumerate(x)
    next(squared), next(numbered)
    by_value = sorted(numbered, key=lambda pair: pair[1])
    return sorted(squared)[2] * by_value[0][1] * by_value[0][0] + by_value[-1][1]


def test_sorts_what_is_left():
    along(sorted_rest, X, T)
