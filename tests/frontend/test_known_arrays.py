"""Arrays of constants that say axes: what they hold is known, or the program is refused, whoever writes to them."""

from __future__ import annotations

import numpy as np
import pytest

import diffjit as dj

GIVEN = np.random.default_rng(0).normal(size=(2, 4, 3))


def by(a, order):
    return np.sum(np.transpose(a, order)[1] ** 2)


def in_a_list_that_grows(a, n=3):
    order, rows = np.arange(3), []
    for _ in range(n):
        rows.append(order)  # noqa: PERF401 - it grows
    rows[0][0], rows[1][2] = 2, 0
    return by(a, order)


def by_one_of_two_names(a):
    order = np.arange(3)
    chosen = order if a[0, 0, 0] > -100.0 else order[::-1]
    chosen[0], chosen[2] = 2, 0
    return by(a, order)


def by_views(a):
    order = np.arange(3)
    np.asarray(order).ravel()[0] = 2
    order.reshape(1, 3)[0, 2] = 0
    return by(a, order)


def in_a_loop(a):
    order, total = np.arange(3), 0.0
    for _ in range(3):
        total = total + by(a, order)
        order[0], order[1] = order[1], order[0]
    return total


def by_a_recursion(a, n=2):
    def swap(order, k):
        if k == 0:
            return 0.0
        order[0], order[k] = order[k], order[0]
        return swap(order, k - 1) + 1.0

    first, second = np.arange(3), np.arange(3)
    total = swap(first, n)
    return total + swap(second, n) + by(a, second)


def in_a_derivative(a):
    order = np.arange(3)

    def square(v):
        order[0], order[2] = 2, 0
        return v * v

    return dj.grad(square)(a[0, 0, 0]) + by(a, order)


def by_an_inner_function(a):
    order = np.arange(3)

    def square(v, order):
        order[0], order[2] = 2, 0
        return v * v

    return dj.jit(square)(a[0, 0, 0], order) + by(a, order)


def in_a_branch(a):
    order = np.arange(3)
    if a[0, 0, 0] > -100.0:
        order[0], order[2] = 2, 0
    return by(a, order)


def by_methods(a):
    order = np.arange(3)
    np.copyto(order, np.array([2, 0, 1]))
    order.sort()
    order += np.array([1, -1, 0])
    return by(a, order)


@pytest.mark.parametrize(
    "program",
    [
        in_a_list_that_grows, by_one_of_two_names, by_views, in_a_loop, by_a_recursion, in_a_derivative,
        by_an_inner_function, in_a_branch, by_methods,
    ],
)  # fmt: skip
def test_right_or_refused(program):
    try:
        found = dj.jit(program, backend="python")(GIVEN)
    except dj.DiffjitError as error:
        assert error.code == "DJ307", error  # noqa: PT017 - one of both
    else:
        assert np.isclose(found, program(GIVEN))


ELEMENTS = np.array([["PP", "SP"], ["PS", "SS"]])


def one_of_a_table_of_names(a, name="PS"):
    return np.squeeze(a[:, :2, :2].T[np.where(name == ELEMENTS)].T) ** 2


def where_a_mask_is_written(a):
    mask = np.array([0, 1, 0])
    for k in range(2):
        found = np.nonzero(mask)[0]
        a = a + np.sum(a[0, 0][found]) * (k + 1)
        found[0] = 7
        mask[1], mask[2 * k] = 0, 1
    return a * np.flatnonzero(mask).size


@pytest.mark.parametrize("program", [one_of_a_table_of_names, where_a_mask_is_written])
def test_places_in_what_is_known(program):
    np.testing.assert_allclose(dj.jit(program)(GIVEN), program(GIVEN), rtol=1e-13)
    slope = (program(GIVEN * (1 + 1e-6)) - program(GIVEN * (1 - 1e-6))) / 2e-6
    np.testing.assert_allclose(dj.jvp(program, (GIVEN,), (GIVEN,), backend="python")[1], slope, rtol=1e-6, atol=1e-8)


def dimensions_by_questions(a, names=("u", "v")):
    ndim = 3 if np.any(np.isin(list(names), ["v", "w"])) and np.array([2, 4]).sum() == 6 else 2
    rest = {} if np.all(np.array([1, 0])) else None
    rest = {"last": a[(1,) * ndim]} if rest is None else rest
    return np.sum(a.reshape((-1, *a.shape[:0:-1])[:ndim]) ** 2) * rest["last"]


def while_it_is_so(a):
    mask = np.array([True, True, False])
    total = np.sum(a)
    while np.any(mask):
        total = total * 1.5 if mask[0] else total + a[0, 0, 0]
        mask[int(not mask[0])] = False
    return total * a[1, 1, 1]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [dimensions_by_questions, while_it_is_so])
def test_questions_about_what_is_known(program, backend):
    np.testing.assert_allclose(dj.jit(program, backend=backend)(GIVEN), program(GIVEN), rtol=1e-13)
    slope = (program(GIVEN * (1 + 1e-6)) - program(GIVEN * (1 - 1e-6))) / 2e-6
    found = dj.jvp(program, (GIVEN,), (GIVEN,), backend=backend)[1]
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)
