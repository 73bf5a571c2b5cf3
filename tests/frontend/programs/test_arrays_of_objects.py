"""Arrays of objects that a program makes: parts of unequal lengths, dicts, objects and functions as items; views."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import bend_and_lanes, of_an_array

X = np.array([0.3, 0.7, 0.5])


def parts(x):
    cells = np.empty(3, dtype=object)
    for k in range(3):
        cells[k] = x[: k + 1] * 2
    return cells[2].sum() * len(cells[1]) + cells[-1][0]


def parts_of_run_time_length(x):
    cells = np.empty(len(x), dtype=object)
    for k in range(len(x)):
        cells[k] = x[: k + 1] ** 2
    total = 0.0
    for k, part in enumerate(cells):
        total += k * np.sum(part)
    return total + np.concatenate(cells).sum() + np.hstack(cells[1:])[0]


def rows_and_columns(x):
    cells = np.empty((2, 3), dtype="O")
    for i in np.ndindex(cells.shape):
        cells[i] = x[i[0]] * x[i[1]]
    cells[0][1] = x[2]
    total = cells[1, 2] + cells.T[1, 0] + cells[:, 1].sum() + cells[..., 0][1]
    for (i, j), item in np.ndenumerate(cells[:, :2]):
        total += item * (i + 2 * j)
    for row in cells[:1]:
        for item in row:
            total += item**2
    return total + cells.size + cells.ndim + cells.shape[1]


def what_lists_hold(x):
    ragged = np.array([[1.0], [x[0], 2.0]], dtype=object)
    grid = np.array([[1.0, x[1]], [x[0], 2.0]], dtype=object)
    arrays = np.array([x[:1], x], dtype=object)
    both = np.empty(2, dtype=object)
    both[:] = [x, x * x]  # no deeper than there are axes
    ragged_when_it_runs = np.array([x[: int(x[0]) + 2], x[1:2]], dtype=object)
    return (
        ragged_when_it_runs[0].sum() * sum(ragged[1])
        + np.sum(grid) * grid[0, 1]
        + arrays[1].sum()
        + both[1].sum() * both[0][0]
        + len(grid)
    )


def growing_lists(x):
    bins = np.empty(3, dtype=object)
    bins[:] = [[] for _ in range(3)]
    for k in range(len(x)):
        bins[k % 2].append(x[k] ** 2)
    return sum(bins[0]) * sum(bins[1]) + len(bins[2])


def arithmetic(x):
    a = np.array([x[0], 2.0, x[1]], dtype=object)
    b = (a * 2.0 + x) ** 2 - (1.0 - a) / x
    b += 1
    b[::-1][0] *= 3.0
    chosen = b[b > 1.5]
    return (
        b.sum() + np.mean(b) + np.max(b) + (x * a).sum() + np.dot(a, x) + float(np.abs(-a)[2]) + chosen.sum() + a.prod()
    )


def numbers(x):
    a = x.astype(object)
    a[1] = 2.0
    made = np.array(a, dtype=float) * np.sqrt(a.astype(float))
    return made.sum() + np.asarray(a, float)[0] + (a == 2.0).sum()


def views(x):
    a = np.full(4, None, dtype=object)
    for k in range(4):
        a[k] = x[k % 3]
    square = a.reshape(2, 2)
    square[1, 0] = x[0] * 100
    a[1:3][0] = x[1] * 10
    apart = a.copy()
    apart[0] = 1e6
    np.atleast_2d(a).T[3, 0] = np.atleast_1d(a)[0] * x[2]
    return a[2] + square.T[0, 1] + square[:, 0].sum() + square.ravel()[3] * a[0] + a[[0, 2]].sum()


class Body:
    def __init__(self, mass):
        self.mass = mass

    def weight(self, g):
        return self.mass * g


def objects(x):
    bodies = np.array([Body(x[0]), Body(x[1])])
    bodies[1] = Body(x[2] ** 2)
    first = np.empty(2, dtype=object)
    first[0], first[1] = {"mass": x[1]}, bodies[0]
    return sum(b.weight(2.0) for b in bodies) * first[0]["mass"] + first[1].mass


def functions(x):
    return sum(f(x[0]) for f in np.array([np.sin, lambda v: v * v])) * x[1]


def nothing_at_first(x):
    found = np.array([None, None, None])
    for k in range(3):
        if found[k] is None:
            found[k] = x[k] * 2
    return found[0] * found[1] + found[2]


def of_python(x):
    twice = np.frompyfunc(lambda v: v * v, 1, 1)
    two = np.frompyfunc(lambda v, w: (v * w, v - w), 2, 2)
    horner = np.frompyfunc(lambda v, w: v * 0.5 + w, 2, 1)
    product, difference = two(x[:, None], x)
    total = np.sum(twice(x).astype(float)) + product.astype(float)[0, 1] * difference[1, 2] + twice(x[1])
    return total + horner.reduce(x) * horner.accumulate(x)[1] + twice(twice(x)).sum()


PROGRAMS = [
    parts, parts_of_run_time_length, rows_and_columns, what_lists_hold, growing_lists, arithmetic, numbers, views,
    objects, functions, nothing_at_first, of_python,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_programs(f):
    of_an_array(f, X)


@pytest.mark.parametrize("f", [parts_of_run_time_length, rows_and_columns, arithmetic, of_python])
def test_compiled_second_order_and_lanes(f):
    of_an_array(f, X, "numba")
    bend_and_lanes(f, X, 2 * X)


def out_of_bounds(x):
    return np.empty(2, dtype=object)[int(x[0]) + 2]


def too_many(x):
    cells = np.empty(2, dtype=object)
    cells[:] = [x, x, x]
    return cells[0].sum()


def rows_that_do_not_fit(x):
    cells = np.empty(2, dtype=object)
    cells[:] = np.outer(x[:2], x)
    return cells[0]


def sequences_as_floats(x):
    cells = np.empty(2, dtype=object)
    cells[0], cells[1] = x[:2], x[1:]
    return cells.astype(float)[0]


def whether_it_is_true(x):
    return x[0] if np.array([x[0], x[1]], dtype=object) else x[1]


def functions_and_new_axes(x):
    """As estimators take what they are given: one function, a list of them, or an array of either."""
    total = 0.0
    for given in (np.sin, [np.sin, lambda y: y * x[0]], np.array([np.cos, np.exp])):
        functions = np.asarray(np.atleast_1d(given))
        total += sum(f(x[1]) * (k + 1) for k, f in enumerate(functions)) * functions.ndim
    cells = np.array([1, 2, 3], dtype=object)
    copy, same = np.array(cells), np.asarray(cells)
    copy[1], same[2] = x[0], x[2]
    return total + copy[1] * copy[2] + cells[2] * cells[None, :, np.newaxis][0, 1, 0] + np.array(np.tan).item()(x[1])


def test_functions_and_new_axes():
    of_an_array(functions_and_new_axes, X)
    assert np.atleast_2d(np.array([np.sin, np.cos])).shape == (1, 2)
    assert dj.jit(lambda x: x * len(np.atleast_2d(np.array([np.sin, np.cos]))[0]), backend="python")(2.0) == 4.0


@pytest.mark.parametrize("f", [out_of_bounds, too_many, rows_that_do_not_fit, sequences_as_floats, whether_it_is_true])
def test_errors_are_those_of_numpy(f):
    with pytest.raises((IndexError, ValueError)) as wanted:
        f(X)
    with pytest.raises(wanted.type) as found:
        dj.jit(f, backend="python")(X)
    if f is not sequences_as_floats:
        assert str(wanted.value).split(" (")[0] in str(found.value)


def test_what_is_refused():
    def returned(x):
        cells = np.empty(2, dtype=object)
        cells[0] = cells[1] = x
        return cells

    def of_equal_lengths(x):
        return np.array([x[: int(x[0]) + 1], x[:1]], dtype=object)[0].sum()

    def by_method(x):
        return np.sqrt(np.array([x[0], x[1]], dtype=object))[0]

    for f, error, word in (
        (returned, dj.TypeProblem, "tolist"),
        (of_equal_lengths, NotImplementedError, "arrays of one length"),
        (by_method, dj.UnsupportedSyntax, "np.sqrt"),
    ):
        with pytest.raises(error, match=word):
            dj.jit(f, backend="python")(X)


def rational(numerators, denominators):
    top, below = np.empty((1, 1), dtype=np.ndarray), np.empty((1, 1), dtype=list)  # as any class: of objects
    top[0, 0], below[0, 0] = np.array(numerators), list(denominators)
    total = 0.0
    for i in range(top.shape[0]):
        for j in range(top.shape[1]):
            total = total + np.polyval(top[i, j], 1.5) / np.polyval(below[i, j], 1.5)
    return total


def test_classes_as_dtypes():
    """NumPy takes each class that is none of numbers for `object`."""
    a, b = np.array([1.0, 2.0]), np.array([1.0, 0.5, 2.0])
    assert dj.jit(rational, backend="python")(a, b) == pytest.approx(rational(a, b))
    dj.check_grads(rational, (a, b), order=2, backend="python")
