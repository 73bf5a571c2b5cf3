"""`zip(*rows)` of rows whose number and lengths the run knows: matrices as lists of lists."""

# ruff: noqa: B905, PERF401 - programs as people write them

import numpy as np
import pytest

from tests.first_order import of_an_array

X = np.array([[2.0, 1.0, 0.3], [0.5, 3.0, 1.0], [1.0, 0.2, 4.0]])
BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]

    @property
    def T(self):  # noqa: N802
        return Matrix(zip(*self.rows))

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.rows])


def products(x):
    m = Matrix(x)
    m.rows[0][1] *= 2.0
    n = m.T @ m
    return n.rows[0][1] * n.rows[2][2]


def in_a_loop(x):
    rows, total = [[v, v * v, 3.0] for v in x[0]], 0.0
    for k, column in enumerate(zip(*rows)):
        total += max(column) * column[k % len(column)] * isinstance(column, tuple)
    return total


def mapped(x):
    turned = list(map(list, zip(*[list(row) for row in x])))
    turned[0][1] = turned[2][0] ** 2
    return sum(sum(row) * row[0] for row in turned)


def the_shortest_ends_it(x):
    rows = [list(x[0]), list(x[1][:2]), list(x[2])]
    for _ in range(int(x[0, 0] + 0.5)):
        rows.append([x[0, 1], x[1, 0], 7.0])
    return sum(np.prod(column) for column in zip(*rows)) + len(list(zip(*rows)))


def changed_meanwhile(x):
    """Columns are drawn one by one, of the rows that were there at the beginning."""
    rows = [list(row) for row in x]
    total = 0.0
    for a, b, c in zip(*rows):
        rows[0][2] = a * b
        rows.append([1.0])
        total = total * 1.5 + c * a
    return total


def nothing(x):
    rows = [list(row) for row in x if row[0] > 5.0]
    return x[0, 0] ** 2 + sum(sum(column) for column in zip(*rows))


PROGRAMS = [products, in_a_loop, mapped, the_shortest_ends_it, changed_meanwhile, nothing]


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python(f, backend):
    of_an_array(f, X, backend, rel=1e-13)
