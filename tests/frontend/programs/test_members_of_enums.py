"""Members of enums that are called, indexed, and computed with by operators of their own."""

import enum
import operator

import numpy as np
import pytest

import diffjit as dj


class Kernel(enum.Enum):
    GAUSS = 1
    FLAT = "flat"

    def __call__(self, x):
        return np.exp(-x * x) if self is Kernel.GAUSS else 0.5 * x

    def __getitem__(self, factor):
        return self(factor) * 2.0

    def __mul__(self, other):
        return self(other) * 3.0

    def __neg__(self):
        return 4.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def __add__(self, other):
        return other * 10.0

    def __radd__(self, other):
        return other * 20.0

    def __abs__(self):
        return 7.0


class Unit(float, enum.Enum):
    INCH = 2.54

    def __mul__(self, other):
        return other * 10.0

    def __rmul__(self, other):
        return other * 20.0

    def __neg__(self):
        return 6.0

    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


class Says(float, enum.Enum):
    ONE = 1.0

    def __float__(self):
        return 2.0


RIGHT = {
    "called": lambda x: sum(kind(x) for kind in Kernel) + Kernel["GAUSS"](x) * Kernel("flat")(x),
    "indexed": lambda x: Kernel.GAUSS[x],
    "multiplied": lambda x: Kernel.FLAT * x,
    "negative": lambda x: -Kernel.FLAT * x,
    "int on the left": lambda x: Level.LOW + x,
    "int on the right": lambda x: x + Level.LOW,
    "int beside an int": lambda x: (int(x) + Level.HIGH) * x,
    "int beside an array": lambda x: np.sum(x * np.ones(2) + Level.HIGH),
    "int, array on the right": lambda x: np.sum(Level.HIGH + x * np.ones(2)),
    "int, another operator": lambda x: Level.HIGH * x - Level.HIGH / x,
    "int, absolute": lambda x: abs(Level.HIGH) * x,
    "float on the left": lambda x: Unit.INCH * x,
    "float on the right": lambda x: x * Unit.INCH,
    "float beside an int": lambda x: int(x) * Unit.INCH * x,
    "float, another operator": lambda x: x / Unit.INCH,
    "float, negative": lambda x: -Unit.INCH * x,
    "float, compared": lambda x: x if x == Unit.INCH else 2 * x,
    "float, function": lambda x: np.sin(Unit.INCH) * x,
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_operators_of_members(name, backend):
    function, x = RIGHT[name], 1.5
    np.testing.assert_allclose(dj.jit(function, backend=backend)(x), function(x), rtol=1e-14)
    wanted = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(dj.grad(function, backend=backend)(x), wanted, rtol=1e-8)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_members_that_are_refused(backend):
    for function, words in [
        (
            lambda x: np.sin(x) + Level.LOW,
            "a member of `Level`, which has a `__radd__` of its own",
        ),
        (lambda x: operator.add(x, Says.ONE), "a member of `Says`, which says itself what number it is"),
    ]:
        with pytest.raises(dj.UnsupportedSyntax, match=rf"DJ113.*{words}"):
            dj.grad(function, backend=backend)(1.5)
