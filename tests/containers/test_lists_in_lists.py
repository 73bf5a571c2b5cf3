"""Lists that have names and are items of other lists: after loops and branches they are what their names say."""

import numpy as np
import pytest

import diffjit as dj
from tests.containers.programs import check
from tests.containers.waiting import Writer

BACKENDS = ["python", "numba"]


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(k, marks=pytest.mark.slow) for k in range(8, 60))])
def test_random_programs(seed):
    outcome = check(seed, writer=Writer)
    assert outcome == "right" or outcome.startswith(("unfit", "[DJ402]", "[DJ304]"))


class Holder:
    def __init__(self, v):
        self.v = v


def never_bound_again(x, n):
    row = [x]
    same = row
    for _ in range(n):
        row = [2.0 * x]
    row[0] = x**2
    return same[0] + row[0]


def never_bound_again_object(x, n):
    holder = Holder(x)
    same = holder
    for _ in range(n):
        holder = Holder(2.0 * x)
    holder.v = x**2
    return same.v + holder.v


def bound_to_another(x, n):
    row, other = [x], [2.0 * x, 1.0]
    for _ in range(n):
        row = other
    row.append(x**2)
    return sum(other) * 3.0 + sum(row)


def swapped_in_turns(x, n):
    row = [x]
    rows = [row, [2.0 * x]]
    for _ in range(n):
        rows[0], rows[1] = rows[1], rows[0]
    rows[1][0] = x**2
    return row[0]


def put_in_place(x, n):
    row = [x]
    rows = [[2.0 * x]]
    for _ in range(n):
        rows[0][0] += 1.0
        rows[0] = row
    rows[0][0] = x**2
    return row[0]


def changed_while_waiting(x, n):
    row = [x, 1.0]
    rows = [row]
    for k in range(n):
        rows.append([x])
        row.append(x * k)
        row = [*row, 2.0]
    return sum(sum(r) for r in rows)


def another_on_one_path(x, n):
    row = [x]
    rows = [row, [2.0 * x]]
    if n > x:
        rows = [rows[1], rows[0]]
    else:
        row = [3.0 * x]
    row[0] = x**2
    return rows[0][0] + 2.0 * rows[1][0]


def longer_on_one_path(x, n):
    row, other = [x], [2.0 * x, 1.0]
    rows = [row, row]
    if n > x:
        row = [*other, 1.25]
    else:
        rows.append([sum(other), x])
    rows[-1].append(x**2)
    rows[0].append(x)
    return sum(row) + sum(rows[1])


def put_in_place_before_it_grows(x, n):
    row = [x]
    rows = [[2.0 * x]]
    for _ in range(n):
        rows[0] = row
    for v in (x, x**2):
        rows.append([v])  # noqa: PERF401 - as people write it
    rows[0].append(x**3)
    return sum(row) * x


PROGRAMS = [
    put_in_place_before_it_grows,
    never_bound_again,
    never_bound_again_object,
    bound_to_another,
    swapped_in_turns,
    put_in_place,
    changed_while_waiting,
    another_on_one_path,
    longer_on_one_path,
]


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_each_list_is_one(function, backend):
    x = 0.7
    for n in (0, 1, 2):
        wanted = (function(x + 1e-6, n) - function(x - 1e-6, n)) / 2e-6
        np.testing.assert_allclose(dj.jit(function, backend=backend)(x, n), function(x, n), rtol=1e-14)
        np.testing.assert_allclose(dj.grad(function, backend=backend)(x, n), wanted, rtol=1e-7)
        np.testing.assert_allclose(dj.jvp(lambda v, n=n: function(v, n), (x,), (1.0,))[1], wanted, rtol=1e-7)


def a_table(t, x):
    return np.array([[[v * k for v in x] for k in row] for row in t])


def a_table_of_rows(t, x):
    return np.asarray([[list(x * k) for k in row] for row in t], dtype=np.float64) @ x


def a_mean(t, x):
    return np.mean([[[v**k for v in x] for k in row] for row in t], axis=(0, 1))


def four_levels(t, x):
    return np.sum(np.array([[[[v * k + w for v in x] for w in x] for k in row] for row in t]) ** 2, axis=1)


def twice(t, x):
    table = [[[v * k for v in x] for k in row] for row in t]
    return np.array(table)[0, :2] + np.array([cell for row in table for cell in row])[:2]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [a_table, a_table_of_rows, a_mean, four_levels, twice])
def test_arrays_of_lists_of_lists_of_lists(function, backend):
    """All three lengths are those of the run."""
    for t, x in (
        (np.array([[0, 1], [2, 1]]), np.array([0.5, 1.5, 2.0])),
        (np.array([[3, 1, 2]]), np.array([1.5, 0.5])),
    ):
        value = dj.jit(function, backend=backend)(t, x)
        np.testing.assert_allclose(value, function(t, x), rtol=1e-14)
        dj.check_grads(lambda x, t=t: function(t, x), (x,), order=1 if backend == "numba" else 2, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_of_lists_of_lists_of_other_lengths(backend):
    """NumPy raises, and a handler catches it."""

    def model(t, x):
        try:
            return np.sum(np.array([[[v * k for v in x[: k + 1]] for k in row] for row in t]))
        except ValueError:
            return -np.sum(x**2)

    x = np.array([0.5, 1.5, 2.0])
    slope = dj.grad(model, argnums=1, backend=backend)
    np.testing.assert_array_equal(slope(np.array([[0, 1], [2, 1]]), x), -2.0 * x)
    np.testing.assert_array_equal(slope(np.array([[1, 1], [1, 1]]), x), [4.0, 4.0, 0.0])
    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        dj.jit(a_rag, backend=backend)(np.array([[0, 1], [2, 1]]), x)


def a_rag(t, x):
    return np.array([[[v * k for v in x[: k + 1]] for k in row] for row in t])
