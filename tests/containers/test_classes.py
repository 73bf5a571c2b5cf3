"""Questions about the classes of values that have no Python object yet: as Python answers them."""

import collections
import collections.abc
import copy
import enum
import functools
import types
from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj

FIXED = frozenset([1, 2])


class Called:
    def __call__(self):
        return 1

    def method(self):
        return 2


def drawn(x):
    yield x


VALUES = {
    "a number": lambda x: x,
    "NumPy's number": np.float64,
    "an array": lambda x: np.array([x]),
    "a list": lambda x: [x],
    "a growing list": lambda x: [k * x for k in range(int(x) + 2)],
    "a tuple": lambda x: (x,),
    "a dict": lambda x: {"a": x},
    "an ordered dict": lambda x: collections.OrderedDict(a=x),
    "a dict with a default": lambda x: collections.defaultdict(list, a=[x]),
    "a counter": lambda x: collections.Counter("abca"),
    "a deque": lambda x: collections.deque([x]),
    "a set": lambda x: {1, int(x)},
    "a frozen set": lambda x: frozenset([1, 3]),
    "a frozen set from outside": lambda x: FIXED | {5},
    "a text": lambda x: f"{x:.2f}",
    "a range": lambda x: range(int(x)),
    "a slice": lambda x: slice(int(x)),
    "zip": lambda x: zip([x], [1], strict=True),
    "map": lambda x: map(abs, [x]),
    "enumerate": lambda x: enumerate([x]),
    "filter": lambda x: filter(None, [x]),
    "reversed": lambda x: reversed([x]),
    "iter": lambda x: iter([x]),
    "a generator": drawn,
    "a generator expression": lambda x: (v for v in [x]),
    "keys": lambda x: {"a": x}.keys(),
    "values": lambda x: {"a": x}.values(),
    "items": lambda x: {"a": x}.items(),
    "a function": lambda x: lambda: x,
    "a method": lambda x: Called().method,
    "a method of Python's": lambda x: [x].append,
    "a partial": lambda x: functools.partial(abs, x),
    "an object that is called": lambda x: Called(),
}
NAMES = ("__call__", "__iter__", "__next__", "__len__", "__getitem__", "__float__", "append", "add", "keys", "upper",
         "send", "shape", "func", "__self__", "move_to_end", "appendleft")  # fmt: skip
CLASSES = (
    float, int, np.floating, np.ndarray, list, tuple, dict, set, frozenset, str, range, slice, zip, map, enumerate,
    collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque,
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.GeneratorType, functools.partial,
    collections.abc.Iterator, collections.abc.Iterable, collections.abc.Sequence, collections.abc.Mapping,
    collections.abc.Sized, collections.abc.Callable, collections.abc.KeysView, collections.abc.MutableSet,
)  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_as_python(name):
    make = VALUES[name]

    def answers(x):
        value = make(x)
        found = [1.0 if isinstance(value, cls) else 0.0 for cls in CLASSES]
        found += [1.0 if hasattr(value, attribute) else 0.0 for attribute in NAMES]
        return np.array([*found, 1.0 if callable(value) else 0.0])

    asked = [f"isinstance {cls.__name__}" for cls in CLASSES] + [f"hasattr {n}" for n in NAMES] + ["callable"]
    found = dj.jit(answers, backend="python")(1.7)
    assert [q for q, a, b in zip(asked, found, answers(1.7), strict=True) if a != b] == []
    assert dj.grad(lambda x: np.sum(answers(x)) * x, backend="numba")(1.7) == np.sum(answers(1.7))


class Vector(NamedTuple):
    x: float
    y: float = 2.0

    def __add__(self, other):
        return Vector(self.x + other[0], self.y + other[1])

    def __radd__(self, other):
        return Vector(self.x + 10.0 * other[0], self.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __rmul__(self, factor):
        return self * (100.0 * factor)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __iadd__(self, other):
        return Vector(self.x + 7.0 * other.x, self.y)


def with_operators(x):
    a, b = Vector(x), Vector(x * x, x)
    a += b
    c = (1.0, 2.0) + (a + b) * 3
    return c @ (2 * a) + (-b).x * len(c) + (a + b * x).y * max(a, b).x


class Kept(NamedTuple):
    mass: float

    def __lt__(self, other):
        return True


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Body:
    def __init__(self, mass):
        self.mass, self.parts = mass, [mass, 2.0 * mass]
        self.same = self.parts

    def __copy__(self):
        made = Body(3.0 * self.mass)
        made.parts = self.parts
        return made

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in self.__dict__.items():
            setattr(made, name, copy.deepcopy(value, memo))
        made.mass = made.mass * 5.0
        return made


class Stated:
    def __init__(self, mass):
        self.mass = mass

    def __getstate__(self):
        return {"mass": 2.0 * self.mass}


def copied_by_themselves(x):
    body = Body(x)
    shallow, deep, listed = copy.copy(body), copy.deepcopy(body), copy.deepcopy([body, body])
    body.parts[0] = x * x
    deep.parts[1] *= 2.0
    return shallow.mass * shallow.parts[0] + deep.mass * deep.same[1] + listed[0].mass + listed[1].parts[0] * Level(3)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [with_operators, copied_by_themselves])
def test_methods_that_python_calls(program, backend):
    x, step = 1.3, 1e-5
    values = [program(x + k * step) for k in (-1, 0, 1)]
    assert np.isclose(dj.jit(program, backend=backend)(x), values[1])
    assert np.isclose(dj.grad(program, backend=backend)(x), (values[2] - values[0]) / (2 * step))
    assert np.isclose(dj.jvp(program, (x,), (1.0,), backend=backend)[1], dj.grad(program)(x))
    second = (values[2] - 2.0 * values[1] + values[0]) / step**2
    assert np.isclose(dj.grad(dj.grad(program, backend=backend), backend=backend)(x), second, rtol=1e-3)


@pytest.mark.parametrize("made", [Kept, lambda x: copy.copy(Stated(x)), lambda x: copy.deepcopy(Stated(x))],
                         ids=["tuple", "copy", "deepcopy"])  # fmt: skip
def test_methods_that_are_not_followed(made):
    with pytest.raises(dj.DiffjitError, match=r"DJ11[38].*of its own"):
        dj.jit(lambda x: made(x).mass)(1.0)
