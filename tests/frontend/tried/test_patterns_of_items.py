"""`match` of arrays and lists by their items, as this Python and NumPy have it."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import along


def first_of_an_array(x):
    match x:
        case [a, b]:
            return a * b
        case [a, *_]:
            return a * a
    return np.sum(x)


def of_a_matrix(x):
    match x.reshape(2, 2):
        case [[a, b], [c, d]]:
            return a * d - b * c
        case _:
            return np.sum(x)


def of_a_number(x):
    match np.max(x):
        case [a]:
            return a
        case float(v):
            return v * v


def down_a_list(x):
    def folded(items):
        match items:
            case []:
                return 0.0
            case [a, *rest, b]:
                return a - b + folded(rest) * a

    return folded(list(x))


@pytest.mark.parametrize("f", [first_of_an_array, of_a_matrix, of_a_number, down_a_list])
def test_derivatives(f):
    along(f, np.array([0.7, -1.2, 0.4, 1.9]), np.array([1.0, 0.5, -2.0, 0.3]))


def test_of_as_many_items_as_there_turn_out_to_be():
    def f(x):
        items, total = list(x), 0.0
        while True:
            match items:
                case []:
                    return total
                case [first, *items]:
                    total = total * 0.5 + first

    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ114[\s\S]*only known at run time"):
        dj.grad(f, backend="python")(np.ones(3))


class Level:
    def __init__(self, height):
        self.height = height


def items_or_none(x, n):
    v = None
    if x[0] > 0.5:
        v = [x[1], x[2]]
    match v:
        case [q, r] if q > r:
            return q * 2.0
        case [q, *_]:
            return q
        case None:
            return x[0] * 5.0


def object_or_none(x, n):
    v = Level(x[1]) if x[0] > 0.5 else None
    match v:
        case Level(height=q):
            return q * 2.0
        case _:
            return x[0] * 3.0


def dict_or_none(x, n):
    v = {"a": x[1]} if x[0] > 0.5 else None
    match v:
        case {"a": q}:
            return q * 2.0
        case _:
            return x[0] * 3.0


def in_a_tuple(x, n):
    v = (x[1], x[2]) if x[0] > 0.5 else None
    match (v, n):
        case ([q, *_], 1):
            return q * 2.0
        case (None, _):
            return x[0] * 7.0
        case _:
            return x[0] * 3.0


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [items_or_none, object_or_none, dict_or_none, in_a_tuple])
def test_what_may_be_none(program, backend):
    made = dj.value_and_grad(program, backend=backend)
    for x in ([0.3, 0.7, 0.1], [0.8, 0.7, 0.1], [0.8, 0.1, 0.7]):
        for n in (1, 2):
            value, slope = made(np.array(x), n)
            assert value == pytest.approx(program(np.array(x), n), rel=1e-14)
            quotient = [(program(x + h, n) - program(x - h, n)) / 2e-6 for h in 1e-6 * np.eye(3)]
            np.testing.assert_allclose(slope, quotient, rtol=1e-7, atol=1e-9)
