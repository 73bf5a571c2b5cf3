"""Dicts whose items are attributes, too, from outside and made inside: the ways in which such classes are written."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError
from tests.one_number import as_python

BACKENDS = ["python", "numba"]


class Short(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Lenient(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__


class Careful(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def __setattr__(self, name, value):
        self[name] = value


class Shape(dict):
    def __getattr__(self, name):
        return self.get(name)

    def area(self):
        return self["w"] * self["h"]

    @property
    def total(self):
        return sum(self.values())


CLASSES = [Short, Lenient, Careful]
OUTSIDE = {cls: cls(w=2.0, h=np.array([3.0, 4.0])) for cls in CLASSES}
SHAPE = Shape(w=2.0, h=3.0)
OF_THEMSELVES = type("OfThemselves", (dict,), {})(w=2.0)
OF_THEMSELVES.__dict__ = OF_THEMSELVES


def read_outside(cls):
    held = OUTSIDE[cls]
    return lambda x: held.w * x**2 + held["w"] * np.sum(held.h * x) + len(held) * x


def made_inside(cls):
    def f(x):
        held = cls(w=x, h=2.0)
        held.w = held.w * 2.0
        held["h"] = held.h * x
        return held.w * held.h + held["w"] * sum(held.values())

    return f


def with_methods(x):
    scale = x if SHAPE.none is None and not callable(SHAPE.w) else 2.0 * x
    return SHAPE.area() * scale**2 + SHAPE.total * x + sum(v * x for _, v in SHAPE.items())


PROGRAMS = [*map(read_outside, CLASSES), *map(made_inside, CLASSES), with_methods]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=range(len(PROGRAMS)))
def test_as_python(f, backend):
    as_python(f, backend)


@pytest.mark.parametrize("cls", [*CLASSES, Shape])
def test_read_anew(cls):
    held = cls(w=2.0)
    f = dj.grad(lambda x: x * held.w * len(held) + (x if "new" in held else 0.0))
    assert f(1.0) == 2.0
    held["w"] = 3.0
    assert f(1.0) == 3.0
    held["new"] = 1.0
    assert f(1.0) == 7.0


def test_changed_by_the_program():
    held = Short(w=2.0)

    def f(x):
        held.w = held.w * x
        held["n"] = x
        return held.w * x

    assert dj.jit(f)(3.0) == 18.0
    assert held == {"w": 6.0, "n": 3.0}


@pytest.mark.parametrize(
    "f", [lambda x: {"w": x}.w * 2.0, lambda x: [x].first * 2.0, lambda x: OF_THEMSELVES.w * x], ids=range(3)
)
def test_no_attribute(f):
    with pytest.raises(DiffjitError, match=r"DJ317|DJ113"):
        dj.grad(f)(1.0)


def test_arguments_are_refused():
    with pytest.raises(DiffjitError, match="DJ113"):
        dj.grad(lambda p: p.w * p.h)(Short(w=1.0, h=2.0))
