"""Generator expressions that outlive the function that made them: they see its variables as they were left."""

import numpy as np
import pytest

from tests.first_order import of_an_array

X = np.array([0.7, 1.3, 0.4])


def powers(v):
    return (v**k for k in range(3))


class Powers:
    def __init__(self, v):
        self.v = v

    def __iter__(self):
        return (self.v**k for k in range(3))


class Held:
    def __init__(self, items):
        self.squares = (v * items[0] for v in items)


def returned(x):
    return sum(powers(x[0])) * sum(Powers(x[1])) + max(Powers(x[2]))


def kept_in_an_object(x):
    return sum(Held(x).squares)


def wrapped(x):
    def numbered(items, scale):
        return enumerate(scale * v for v in items)

    return sum(k * v for k, v in numbered(x, x[1]))


def one_within_another(x):
    def rows(items):
        return (v * items for v in items)

    def twice(items):
        factor = items[0]
        return (factor * row for row in rows(items))

    total = 0.0
    for row in twice(x):
        total = total * 0.5 + row @ x
    return total


def by_path(x):
    """What is returned early sees the variables of that path."""

    def some(v, many):
        k = v
        if many > 1.0:
            k = v * 2.0
            return (k * j for j in range(3))
        k = v * v
        return (k * j * j for j in range(1, 4))

    return sum(some(x[0], x[1])) + sum(some(x[1], x[2]))


def gone_through_on_one_path(x):
    def tried(v, many):
        k = v
        made = (k * j for j in range(3))
        if many > 1.0:
            return [sum(made) * v]
        k = v * v
        return list(made)

    return sum(tried(x[0], x[1])) + 3.0 * sum(tried(x[1], x[2]))


PROGRAMS = [returned, kept_in_an_object, wrapped, one_within_another, by_path, gone_through_on_one_path]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_it_sees_the_variables(program, backend):
    of_an_array(program, X, backend)
