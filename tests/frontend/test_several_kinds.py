"""Variables of several kinds by path: random programs end as in Python, or are refused, and what a `try` asks is so."""

from __future__ import annotations

import numpy as np
import pytest

import diffjit as dj
from tests.frontend.several_kinds import check, outcome

X, Y = np.array([0.3, 0.7, 1.1]), np.array([-0.4, 2.0, 0.6])
BACKENDS = ["python", "numba"]


@pytest.mark.parametrize("block", range(5))
def test_random_programs(block):
    for seed in range(6 * block, 6 * block + 6):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8, 48))
def test_more_random_programs(block):
    for seed in range(25 * block, 25 * block + 25):
        check(seed)


def asked_in_a_try(x):
    c = x * 1.5 if x[0] > 0.0 else x[2] * 2.0
    try:
        if isinstance(c, np.ndarray):
            c = 2.0 * c
    except ValueError:
        pass
    return np.sum(c)


def doubled(v, w=2.0):
    if isinstance(v, np.ndarray) and v.ndim == 1:
        return v * w
    return v


def asked_by_a_function_in_a_try(x):
    total = x[1] ** 2
    c = x[2] * 1.5
    for k in range(2):
        c = x[:2] if x[k] > 0.0 else 2.0 * x[0]
    try:
        total += np.sum(doubled(c))
    except (TypeError, ValueError):
        total *= 3.0
    return total


def returned_behind_two_questions(x):
    c = x * 2.0 if x[0] > 0.0 else x[2] * 1.5
    if isinstance(c, np.ndarray) and c.ndim == 1:
        return np.sum(c * x)
    return c


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [asked_in_a_try, asked_by_a_function_in_a_try, returned_behind_two_questions])
def test_what_a_condition_asks_of_each_kind(program, backend):
    for x in (X, Y):
        quotient = [(program(x + h) - program(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        value, slope = dj.value_and_grad(program, backend=backend)(x)
        assert value == pytest.approx(program(x), rel=1e-14)
        np.testing.assert_allclose(slope, quotient, rtol=1e-7, atol=1e-9)


def of_none(x):
    c = None if x[0] > 0.0 else x
    return c.mean()


def of_numpys_number(x):
    c = x if x[0] < 0.0 else x[1] * 2.0
    return c[0]


def of_a_tuple(x):
    c = (x[0], x)
    return float(c) if x[0] > 0.0 else np.sum(x)


@pytest.mark.parametrize("program", [of_none, of_numpys_number, of_a_tuple])
def test_errors_are_pythons(program):
    assert type(outcome(dj.jit(program, backend="python"), X)) is type(outcome(program, X))
    assert dj.jit(program, backend="python")(Y) == pytest.approx(program(Y))


class Reading:
    def __init__(self, level):
        self.level = level

    def __float__(self):
        return float(self.level) * 2.0

    def __int__(self):
        return int(self.level) + 3


class Place:
    def __init__(self, k):
        self.k = k

    def __index__(self):
        return self.k


@pytest.mark.parametrize("backend", BACKENDS)
def test_objects_that_are_numbers(backend):
    def program(x):
        return float(Reading(x[0])) * int(Reading(x[1])) + float(Place(4)) * int(Place(2)) * x[2]

    value, slope = dj.value_and_grad(program, backend=backend)(X)
    assert value == pytest.approx(program(X))
    np.testing.assert_allclose(slope, [6.0, 0.0, 8.0])


def by_conversion(x):
    part = x[1:2]
    try:
        return float(part) * 2.0
    except TypeError:
        return part[0] * 3.0


@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
def test_arrays_of_one_item_are_numbers_as_this_numpy_has_it():
    assert dj.jit(by_conversion, backend="python")(X) == pytest.approx(by_conversion(X))
