"""Loops that give a variable another type, where they have no turn: what is not followed raises, whoever reads it."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along

NONE, SOME, T = np.array([0.0, 2.0, 3.0]), np.array([2.5, 1.0, -0.5]), np.array([0.1, 1.0, 0.7])


def total(x):
    v = 0.0
    for _ in range(int(x[0])):
        v = v + x * x
    return v


def returned(x):
    v = 0.0
    for _ in range(int(x[0])):
        v = v + x
    return v


def returned_by_a_while_loop(x):
    v, n = 0.0, 0
    while n < x[0]:
        v = v + x * n
        n += 1
    return v * 2.0


def returned_in_a_tuple(x):
    v = 0.0
    for _ in range(int(x[0])):
        v = v + x
    return v, x[1]


def returned_by_a_helper(x):
    return np.sum(total(x) * x)


def made_an_array(x):
    v = 1.0
    for _ in range(int(x[0])):
        v = v * x
    return np.array([v, v])


def of_a_handler(x):
    v = 0.0
    for _ in range(int(x[0])):
        v = v + x
    else:  # noqa: PLW0120 - as people write it
        w = 3.0
    try:
        s = np.sum(v)
    except NameError:
        s = -1.0
    return s + w


def of_a_handler_around_a_helper(x):
    try:
        return np.sum(total(x))
    except Exception:  # noqa: BLE001 - as people write it
        return -5.0


def of_an_item(x):
    held = []
    for k in range(2):
        v = 0.0
        for _ in range(int(x[0])):
            v = v + x * (k + 1)
        held.append(v)
    try:
        return np.sum(held[1])
    except NameError:
        return -1.0


PROGRAMS = [
    returned, returned_by_a_while_loop, returned_in_a_tuple, returned_by_a_helper, made_an_array, of_a_handler,
    of_a_handler_around_a_helper, of_an_item,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_no_turn(f):
    """Memory that nobody had written to came out, or a handler of the program caught what it should not."""
    with pytest.raises(NotImplementedError, match="a loop has no turn"):
        dj.jit(f, backend="python")(NONE)


def test_no_turn_compiled():
    with pytest.raises(NotImplementedError, match="a loop has no turn"):
        dj.jit(returned)(NONE)


@pytest.mark.parametrize("f", PROGRAMS)
def test_some_turns(f):
    flat = lambda x: np.sum(np.sin(np.concatenate([np.ravel(v) for v in np.atleast_1d(f(x))])))
    if f is returned_in_a_tuple:
        flat = lambda x: np.sum(np.sin(f(x)[0])) * f(x)[1]
    along(flat, SOME, T)


def read_by_what_takes_both(x):
    v = 0.0
    for _ in range(int(x[0])):
        v = v + x
    return np.sum(v) + x[1] * np.ndim(v)


@pytest.mark.parametrize("x", [NONE, SOME])
def test_what_follows_is_followed(x):
    along(read_by_what_takes_both, x, np.array([0.0, 1.0, 0.7]))
