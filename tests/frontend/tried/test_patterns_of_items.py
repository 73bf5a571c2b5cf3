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
