"""Attributes that objects get on some paths only: elsewhere their class gives them, or says that there is none."""

import functools

import numpy as np
import pytest

from tests.first_order import of_an_array

X = np.array([0.7, 1.3, 0.4, 0.9])


def defined_inside(x):
    """The data of a class that is defined in the program: of numbers that it computes, too."""

    class Tank:
        level = 0.0
        inflow = x[0] * 2.0
        counted = 1

        def fill(self, v):
            self.level += v * self.inflow
            self.counted += 1

        @property
        def loss(self):
            return self.level * 0.1

    class Leaking(Tank):
        level = x[3]

    full, empty = Tank(), Leaking()
    for k in range(len(x)):
        full.fill(x[k])
        if x[k] > 0.8:
            empty.inflow = x[k] - empty.loss
        full, empty = empty, full
    return full.level * empty.level + full.inflow * empty.inflow * full.counted + Tank.inflow


def by_a_path(x):
    class Tank:
        level = 0.5

    first, second = Tank(), Tank()
    if x[1] > 1.0:
        first.level += x[0]
    if x[0] > 1.0:
        second.level += x[1]
    return first.level * second.level * x[2]


class Walker:
    def __init__(self, pace):
        self.pace = pace

    def step(self, v):
        return v * self.pace

    def leap(self, v):
        return v * v + self.pace

    @functools.cached_property
    def reach(self):
        return self.pace**2

    @property
    def twice(self):
        return 2.0 * self.reach


def methods(x):
    """A method that one path sets on the object itself."""
    walker = Walker(x[0])
    if x[1] > 1.0:
        walker.step = walker.leap
    other = Walker(x[2])
    if x[0] > 1.0:
        other.step = other.leap
    return walker.step(x[3]) * other.step(x[1])


def methods_of_what_changes_places(x):
    one, two = Walker(x[0]), Walker(x[1])
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0.8:
            one.step = one.leap
        total += one.step(x[k]) + two.step(total)
        one, two = two, one
    return total


def computed_once(x):
    one, two = Walker(x[0]), Walker(x[1])
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0.8:
            total += one.reach
        if x[k] > 1.0:
            one.reach = x[k] * 3.0
        total += one.twice
        one, two = two, one
    return total * one.reach + two.reach


class Sheet:
    def __init__(self, x):
        self.fallback = x

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.fallback * len(name)


def asked_otherwise(x):
    """What `__getattr__` says while there is no attribute."""
    one, two = Sheet(x[0]), Sheet(x[1])
    for k in range(len(x)):
        one.cell = one.cell * x[k] + two.cell
        if x[k] > 0.8:
            two.row = one.cell
        one, two = two, one
    return one.cell * two.cell + one.row * two.row


def has_otherwise(x):
    """Whether there is an attribute that `__getattr__` gives until it is set, or does not give."""
    one, two = Sheet(x[0]), Sheet(x[1])
    total = 0.0 if hasattr(one, "_kept") or not hasattr(one, "cell") else x[1]
    for k in range(len(x)):
        total = total * x[k] + (two._kept if hasattr(two, "_kept") else 2.0) + getattr(two, "_mark", x[0])
        if x[k] > 1.0:
            two._kept = one.cell * x[k]
        elif not hasattr(two, "_mark"):
            two._mark = total
    return total * getattr(one, "_kept", 3.0) + getattr(two, "_kept", 5.0) + getattr(one, "row", 7.0)


class Entries(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def has_entries(x):
    entries = Entries(gain=x[0], bias=x[1] * 2.0)
    total = entries.gain * x[1] if hasattr(entries, "gain") else 0.0
    return total + getattr(entries, "bias", 1.0) * getattr(entries, "scale", x[0]) + hasattr(entries, "scale")


class Stop:
    fare = 1.5
    after = None

    def __init__(self, length):
        self.length = length

    def price(self):
        return self.fare * self.length


def of_nodes(x):
    """A chain, some nodes of which get what others have of their class."""
    first = None
    for k in range(len(x)):
        stop = Stop(x[k] * 1.3)
        stop.after = first
        if k % 2:
            stop.fare = x[1]
        first = stop
    total = 0.0
    while first is not None:
        total += first.price() * first.fare
        first.fare = first.fare + 0.5 * total
        if first.after is not None:
            first.after.length = first.after.length + first.fare * 0.1
        first = first.after
    return total


class Bare:
    pass


def asked_for(x):
    bare = Bare()
    total = 0.0
    for k in range(len(x)):
        total = total * x[k] + (bare.mark if hasattr(bare, "mark") else 2.0)
        if x[k] > 1.0:
            bare.mark = x[k]
    return total + (x[0] if hasattr(bare, "mark") else 0.0)


PROGRAMS = [
    defined_inside,
    by_a_path,
    methods,
    methods_of_what_changes_places,
    computed_once,
    asked_otherwise,
    has_otherwise,
    has_entries,
    of_nodes,
    asked_for,
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(program, backend):
    of_an_array(program, X, backend)
