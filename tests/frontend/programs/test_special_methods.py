"""Methods that Python's own functions call of objects: division with rest, rounding, what is contained."""

import dataclasses
import math
from typing import ClassVar

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


class Length:
    def __init__(self, v):
        self.v = v

    def __divmod__(self, other):
        return self.v / other, self.v * other

    def __rdivmod__(self, other):
        return other * self.v, other - self.v

    def __pow__(self, exponent, modulus=None):
        return self.v**exponent if modulus is None else self.v**exponent * modulus

    def __mod__(self, other):
        return self.v - other

    def __mul__(self, other):
        return Length(self.v + other.v)

    def __round__(self, digits=0):
        return self.v * 10.0 + digits

    def __floor__(self):
        return self.v * 11.0

    def __ceil__(self):
        return self.v * 12.0

    def __trunc__(self):
        return self.v * 13.0


class Multiples:
    """Items by `__getitem__` alone."""

    def __init__(self, v):
        self.v = v

    def __getitem__(self, k):
        if k >= 3:
            raise IndexError(k)
        return self.v * (k + 1)


class Powers:
    """An iterator, which what is looked for leaves where it was found."""

    def __init__(self, v):
        self.v, self.k = v, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        if self.k > 5:
            raise StopIteration
        return self.v**self.k


@dataclasses.dataclass
class Scaled:
    value: float
    scale: dataclasses.InitVar[float]
    weight: float = 1.0
    unit: ClassVar[float] = 7.0
    offset: dataclasses.InitVar[float] = 2.0
    made: float = dataclasses.field(init=False, default=3.0)

    def __post_init__(self, scale, offset):
        self.weight = self.weight * scale + offset
        self.made = self.value * scale


class Table:
    def __class_getitem__(cls, key):
        return cls if key is float else key * 2.0

    def __init__(self, v):
        self.v = v


def rest_of_powers(x):
    powers = Powers(x)
    return sum(powers) if x**2 in powers else x


RIGHT = {
    "divmod": lambda x: sum(divmod(Length(x), 2.0)),
    "divmod reflected": lambda x: sum(divmod(2.0, Length(x))),
    "power": lambda x: pow(Length(x), 2) * Length(x) ** 3,
    "power with a modulus": lambda x: pow(Length(x), 2, 3.0),
    "rounded": lambda x: round(Length(x)) * round(Length(x), 2),
    "floor": lambda x: math.floor(Length(x)) * math.ceil(Length(x)) + math.trunc(Length(x)),
    "contained": lambda x: x if 2 * x in Multiples(x) else x**2,
    "not contained": lambda x: x if 4 * x not in Multiples(x) else x**2,
    "iterator": rest_of_powers,
    "handed on": lambda x: Scaled(x, 2 * x).weight + Scaled(x, 3.0, 4.0, 5.0).made * Scaled.unit,
    "handed on by name": lambda x: sum(dataclasses.astuple(Scaled(value=x, scale=x, offset=x))),
    "items of a class": lambda x: Table[float](x).v * Table[x] + Table[2.0] * x,
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("backend", BACKENDS)
def test_as_the_class_says(name, backend):
    function, x = RIGHT[name], 0.7
    np.testing.assert_allclose(dj.jit(function, backend=backend)(x), function(x), rtol=1e-14)
    wanted = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(dj.grad(function, backend=backend)(x), wanted, rtol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_an_object_does_not_have(backend):
    for function, words in [
        (
            lambda x: divmod(Multiples(x), 2.0)[0],
            r"unsupported operand type\(s\) for `divmod`: 'Multiples' and 'float'",
        ),
        (lambda x: pow(Multiples(x), 2, 3), "`pow` of an object without `__pow__`"),
    ]:
        with pytest.raises(dj.TypeProblem, match=rf"DJ309.*{words}"):
            dj.grad(function, backend=backend)(0.7)
