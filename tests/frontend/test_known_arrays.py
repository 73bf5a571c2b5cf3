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
