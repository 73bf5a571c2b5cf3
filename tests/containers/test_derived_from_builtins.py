"""Objects of classes derived from Python's own are what they hold; what else they are is refused."""

import collections

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError


class Row(list):
    kind = 3.0

    def __init__(self, items=(), name="row"):
        super().__init__(items)
        self.name = name

    def total(self):
        return 2.0 * sum(self)


class Doubled(list):
    def append(self, item):
        super().append(2.0 * item)


class Added(list):
    def __add__(self, other):
        return [0.0]


class Corner(tuple):
    __slots__ = ()
    kind = 3.0


class Metres(float):
    kind = 3.0

    def __repr__(self):
        return f"{float(self)} m"


class Names(set):
    pass


class Word(str):  # noqa: SLOT000
    pass


ROW, CORNER, LENGTH = Row([1.5, 2.0]), Corner((1.0, 2.0)), Metres(2.0)
NAMES, DOUBLED, ADDED = Names("a"), Doubled(), Added()


def caught(x):
    try:
        return ROW.kind * x
    except AttributeError:
        return -x


def appended(x):
    made = DOUBLED
    made.append(x)
    return sum(made)


ASKED = {
    "attribute or a default": lambda x: (getattr(ROW, "name", "none"), x),
    "attributes": lambda x: (hasattr(ROW, "total"), x),
    "attribute under a try": caught,
    "attribute of a tuple": lambda x: getattr(CORNER, "kind", 0.0) * x,
    "attribute of a number": lambda x: getattr(LENGTH, "kind", 0.0) * x,
    "class": lambda x: x if isinstance(ROW, Row) else -x,
    "class of a number": lambda x: x if type(LENGTH) is float else -x,
    "text of a number": lambda x: (f"{LENGTH!r}", x),
    "text of a set": lambda x: (f"{NAMES}", x),
    "another method": appended,
    "another operator": lambda x: sum(ADDED + [x]),  # noqa: RUF005
}


@pytest.mark.parametrize("name", ASKED)
def test_what_else_they_are_is_refused(name):
    with pytest.raises(DiffjitError, match="DJ113"):
        dj.jit(ASKED[name], backend="python")(2.0)


def test_what_they_hold():
    def program(x):
        scaled = LENGTH * x if isinstance(LENGTH, float) else x
        return sum(ROW) * x + ROW[0] * len(ROW) + sum(CORNER) * scaled + len(NAMES), "a" in NAMES

    assert dj.jit(program, backend="python")(2.0) == program(2.0)


@pytest.mark.parametrize("made", [Row, Names, collections.deque, lambda items: Word(items[0])])
def test_arguments_are_refused(made):
    for f in (lambda items, x: (f"{items}", x), lambda items, x: x * len(items)):
        with pytest.raises(DiffjitError, match="DJ511"):
            dj.jit(f, backend="python")(made(["1.5"]), np.ones(2))


def test_a_number_as_an_argument():
    f = dj.jit(lambda n, x: x * n if isinstance(n, Metres) else -x, backend="python")
    assert f(2.0, 3.0) == -3.0
    with pytest.raises(DiffjitError, match="DJ113"):
        f(Metres(2.0), 3.0)
