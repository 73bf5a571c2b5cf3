"""Slices and functions are no containers: `try: len(key)` tells a list of indices from a slice."""

import numpy as np
import pytest

import diffjit as dj


def places(key):
    try:
        len(key)
    except TypeError:
        return key if isinstance(key, slice) else [key]
    return [int(k) for k in key]


class Field:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, key):
        return np.sum(self.values[places(key)])


def keys(x):
    field = Field(np.array([x, 2.0 * x, x**2]))
    return field[1:] * field[0] + field[[0, 2]]


def lengths(x):
    for thing in (np.sin, len, places, lambda y: y, Field(x).__getitem__, slice(0, 3)):
        try:
            x = x * len(thing)
        except TypeError:
            x = x * 1.5
    return x


def turns(x):
    for thing in (np.sin, places, slice(0, 3)):
        try:
            for k in thing:
                x = x * k
        except TypeError:
            x = x * 1.5
    return x


def items(x):
    for thing in (np.sin, lambda y: y, slice(0, 3)):
        try:
            x = x * thing[0]
        except TypeError:
            x = x * 1.5
    return x


def called(x):
    cut = slice(0, 3)
    try:
        return x * cut(1)
    except TypeError:
        return x * 1.5


@pytest.mark.parametrize("program", [keys, lengths, turns, items, called])
def test_a_type_error_that_is_caught(program):
    x, h = 1.3, 1e-6
    value, slope = dj.value_and_grad(program, backend="python")(x)
    assert value == pytest.approx(program(x), rel=1e-13)
    assert slope == pytest.approx((program(x + h) - program(x - h)) / (2 * h), rel=1e-7)
