"""What happens inside a `try` happens once, and in Python's order: random programs, and what they have found."""

from __future__ import annotations

import numpy as np
import pytest

import diffjit as dj
from tests.frontend.several_kinds import outcome
from tests.frontend.within_tries import agree, check

BACKENDS = ["python", "numba"]
GIVEN = [
    (np.array(x), n)
    for x in ([0.3, 0.7, 1.1], [0.95, 0.1, 0.45], [-0.4, 2.0, 0.6], [0.1, 0.95, 0.2])
    for n in (1, 2, 3)
]


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block):
    for seed in range(6 * block, 6 * block + 6):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_more_random_programs(block):
    for seed in range(25 * block, 25 * block + 25):
        check(seed, backend="numba" if seed % 25 == 7 else "python", slopes=seed % 5 == 3)


class Oops(Exception):
    def __init__(self, amount):
        super().__init__("oops")
        self.amount = amount


class Box:
    def __init__(self, v):
        self.v = v


def need(v, most):
    if v > most:
        raise Oops(v)
    return v


def bump(o, by):
    o.v += by
    return need(o.v, 1.2)


def put(a, k, v):
    a[k] += v
    return need(a[k], 1.2)


def pair(v):
    both = (yield v), (yield v * 2.0)
    if both[0] is None:
        yield 0.125


def chosen_by_one_of_two_conditions(x, n):
    try:
        v = x[2] if x[0] > 0.5 or x[1] < x[2] else 5.0
    except Exception:  # noqa: BLE001 - this is what some write
        v = 7.0
    return v


def chosen_by_both_conditions(x, n):
    total = 0.0
    try:
        for k in range(n):
            total += x[k] * 2.0 if x[k] > 0.25 and x[k + 1] < 1.0 else 3.0
    except IndexError:
        total -= 0.5
    return total


def second_condition_raises(x, n):
    o = Box(x[0])
    try:
        if x[0] > 0.4 or o.missing > 2.0:
            return x[1] * 2.0
    except AttributeError:
        return x[2] * 3.0
    return 0.0


def statement_that_yields_twice(x, n):
    o, total = Box(x[0]), 0.0
    try:
        total += sum([bump(o, q) * x[1] for q in pair(x[2] * 0.25)])
        total += sum(q * need(q, 1.0) for q in pair(x[0]))
    except Oops as error:
        total += error.amount * 0.5
    return total + o.v


def deleted_before_it_raises(x, n):
    items, d = [x[0]], {"p": x[1], "q": 2.0, "r": x[2]}
    for k in range(n):
        items.append(x[k] * 2.0)  # noqa: PERF401 - a list that grows
    try:
        del items[0], items[2]
    except IndexError:
        items.append(0.5)
    return sum(items) + len(items) + sum(d.values())


def old_value_of_a_place(x, n):
    a, o, total = x * 1.0, Box(x[0]), 0.5

    def count(by):
        nonlocal total
        total += by
        return need(total, 2.0)

    try:
        o.v += bump(o, x[1])
        a[0] += put(a, 0, x[2])
        total += count(x[0])
    except Oops as error:
        total += error.amount * 0.25
    return total + o.v + np.sum(a * np.array([1.0, 2.0, 3.0]))


def key_raises(x, n):
    items, total = [], 0.0
    for k in range(n):
        items.append(x[k])  # noqa: PERF401 - a list that grows
    try:
        total += sorted(items, key=lambda q: -need(q, 0.8))[0]  # noqa: FURB192 - whose key raises
        total += x[n]
    except Oops:
        total += 1.0
    except IndexError:
        total -= 2.0
    return total


PROGRAMS = [
    chosen_by_one_of_two_conditions, chosen_by_both_conditions, second_condition_raises, statement_that_yields_twice,
    deleted_before_it_raises, old_value_of_a_place, key_raises,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_once_and_in_order(program, backend):
    made = dj.value_and_grad(program, backend=backend)
    for x, n in GIVEN:
        value, slope = made(x, n)
        assert agree(float(value), outcome(program, x, n)), (x, n)
        quotient = [(program(x + h, n) - program(x - h, n)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(slope, quotient, rtol=1e-6, atol=1e-8)
