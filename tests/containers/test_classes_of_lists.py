"""Classes of lists that programs make objects of: attributes beside items, methods of their own, what lists do."""

import copy

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError
from tests.first_order import bend_and_lanes, of_an_array

X = np.array([0.7, 1.3, 2.1])


class Plain(list):
    pass


class Row(list):
    factor = 3.0

    def __init__(self, items=(), name="row"):
        super().__init__(items)
        self.name = name

    def total(self):
        return self.factor * sum(self)

    def scaled(self, by):
        return Row([v * by for v in self], self.name + "!")

    @property
    def best(self):
        return min(self, key=lambda v: (v - 1.0) ** 2)


class Doubled(list):
    def append(self, item):
        super().append(2.0 * item)

    def __getitem__(self, k):
        return super().__getitem__(k) + 1.0

    def __add__(self, other):
        return Doubled([*self, *other, 5.0])


class Made(list):
    def __new__(cls, *_):
        made = super().__new__(cls)
        made.weight = 2.0
        return made

    def __iter__(self):
        return iter([9.0, self.weight])


def attributes_and_items(x):
    row = Row([x[0], x[1]])
    row.append(x[2] ** 2)
    other = row.scaled(x[0])
    other.name += "?"
    return row.total() * other.best + len(other.name) + other[1] * row[-1] + isinstance(row, list) + (type(row) is Row)


def what_lists_do(x):
    row = Plain(x)
    row.extend([1.0])
    row.insert(0, x[1])
    row.reverse()
    taken = row.pop()
    row += [x[2]]
    del row[1]
    row[1:2] = [x[0], 3.0]
    row.sort(key=lambda v: -v)
    joined = [0.5, *row, *(row * 2)] + row  # noqa: RUF005 - what is tested
    first, *others = row
    pairs = sum(a * b for a, b in zip(row, row[1:], strict=False))  # noqa: RUF007
    inside = (1.0 in row) + row.index(1.0) + row.count(1.0) + (row == [1.0]) + (row != Plain(row)) + bool(row)
    return taken * sum(joined) + len(joined) + first * sum(others) + pairs + inside + max(row) + (not Plain())


def as_arrays(x):
    rows = Plain([Plain([x[0], 1.0]), Plain([x[1], x[2]])])
    stacked = np.array(rows) @ x[:2]
    return stacked @ stacked + np.sum(rows[1]) + np.concatenate(rows).prod() + (np.ones(2) + rows[0])[0]


def methods_of_its_own(x):
    row = Doubled([x[0]])
    row.append(x[1])
    list.append(row, x[2])
    longer = row + [x[0] * x[1]]  # noqa: RUF005 - what is tested
    return row[0] * row[1] + sum(row) + len(longer) + longer[3] + sum(longer)


def made_by_new(x):
    made = Made(x)
    made.append(x[0])
    return sum(made) * made[0] + np.array(made)[1] * x[1] + len(made)


def of_run_time_length(x):
    row = Row()
    while len(row) < x[2] * 2.0:
        row.append(x[0] * len(row) + x[1])
    return row.total() * row.best


def on_two_paths(x):
    row = Plain([x[0]])
    if x[1] > 1.0:
        row.append(x[2])
    else:
        row = Plain([x[1], 2.0])
    return sum(row) * len(row)


def copies(x):
    row = Plain([x[0], [x[1]]])
    row.name = x[2]
    one, two = copy.copy(row), copy.deepcopy(row)
    one.append(4.0)
    one[1][0] = x[2]
    two[1][0] *= 3.0
    return (
        row[1][0] * two[1][0] * one.name + len(row) + len(one) + isinstance(one, Plain) - isinstance(row.copy(), Plain)
    )


PROGRAMS = [
    attributes_and_items, what_lists_do, as_arrays, methods_of_its_own, made_by_new, of_run_time_length, on_two_paths,
    copies,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_programs(f):
    of_an_array(f, X, step=1e-6, slopes=1e-7)


@pytest.mark.parametrize("f", [attributes_and_items, of_run_time_length, methods_of_its_own])
def test_compiled_second_order_and_lanes(f):
    bend_and_lanes(f, X, 1.01 * X, step=1e-6, bends=1e-6)


def test_texts(capsys):
    def f(x):
        row = Plain([float(x), "a"])
        print(row)  # noqa: T201 - what is tested
        return f"{row} {row!r}", str(Plain())

    assert dj.jit(f, backend="python")(1.5) == f(1.5)
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_what_is_refused():
    def returned(x):
        return Plain(x)

    def copied_by_its_append(x):
        return sum(copy.copy(Doubled(x)))

    for f, code in ((returned, "DJ319"), (copied_by_its_append, "DJ118")):
        with pytest.raises(DiffjitError, match=code):
            dj.jit(f, backend="python")(X)
