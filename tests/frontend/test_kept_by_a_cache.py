"""What a cache keeps is one object at all calls: a program that changes it is refused, one that reads it is not."""

import functools

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


@functools.lru_cache
def weights(n):
    return np.arange(n) * 1.5


@functools.cache
def parts(n):
    return {"w": (np.ones(n), [np.zeros(n)]), "n": [n, [n]]}


class Grid:
    def __init__(self):
        self.h = 0.5

    @functools.cached_property
    def points(self):
        return np.arange(3) * self.h


GRID = Grid()


def array(x):
    w = weights(3)
    w[0] += x
    return np.sum(weights(3)) * x


def in_a_loop(x):
    total = 0.0
    for i in range(3):
        w = weights(3)
        w[i] += x
        total += np.sum(w)
    return total


def in_a_tuple(x):
    parts(2)["w"][0][1] = x
    return np.sum(parts(2)["w"][0])


def in_a_list(x):
    parts(2)["w"][1][0][1] = x
    return np.sum(parts(2)["w"][1][0])


def inner_list(x):
    parts(2)["n"][1].append(3)
    return x * len(parts(2)["n"][1])


def defined_inside(x):
    @functools.cache
    def made(n):
        return np.zeros(n)

    made(2)[0] += x
    return np.sum(made(2))


def attribute(x):
    GRID.points[0] += x
    return np.sum(GRID.points)


@BACKENDS
@pytest.mark.parametrize(
    "program",
    [array, in_a_loop, in_a_tuple, in_a_list, inner_list, defined_inside, attribute],
    ids=lambda f: f.__name__,
)
def test_refused(program, backend):
    with pytest.raises(dj.DiffjitError, match="a cached function"):
        dj.jit(program, backend=backend)(0.7)


def copies(x):
    w = weights(3).copy()
    w += x
    points = GRID.points * x
    points[1] = x * x
    held = parts(2)
    return np.sum(w * weights(3)) + np.sum(points) + len(held["n"][1]) * np.sum(held["w"][0]) * x


def of_its_own(x):
    grid = Grid()
    grid.points[1] += x
    return np.sum(grid.points * grid.points)


@BACKENDS
@pytest.mark.parametrize("program", [copies, of_its_own], ids=lambda f: f.__name__)
def test_taken(program, backend):
    of_one_number(program, backend)
