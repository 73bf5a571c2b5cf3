"""Python's ints beyond 64 bits among the constants of a program: masses of stars, numbers of molecules."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_one_number

AVOGADRO = 6022 * 10**20


@dataclass
class Star:
    mass: int = 2 * 10**30


SUN = Star()

PROGRAMS = [
    lambda x: x * 10**23,
    lambda x: x / 2**70 + 2**-70 * x,
    lambda x: x * (2**70) / 3**40,
    lambda x: np.sum(np.array([x, 2 * x]) * 10**23),
    lambda x: x * AVOGADRO,
    lambda x, n=10**21: x * n,
    lambda x: x**2 * SUN.mass,
    lambda x: math.sqrt(10**23) * x * (10**23) ** 0.5,
    lambda x: int(1e23) * x * round(1e22),
    lambda x: x * (10**23 // 10**20) + x * (10**23 % 7),
    lambda x: x * (1 << 70) * sum(2**k for k in range(70)),
    lambda x: x * math.factorial(30) / math.factorial(28) / math.prod(range(1, 26)),
    lambda x: x * (3 * 10**8) ** 2 * (10**8) ** 2,
    lambda x: x if x < 10**20 else 0.0,
    lambda x: x * max(10**20, 3) * abs(-(10**23)),
    lambda x: np.minimum(x, 10**20) * pow(10, 23),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS, ids=range(len(PROGRAMS)))
def test_meets_floats(f, backend):
    of_one_number(f, backend, 1.5, rel=1e-14, slopes=1e-8)


def test_comes_out_as_it_is():
    assert dj.jit(lambda x: (x, 10**23))(1.5) == (1.5, 10**23)
    assert dj.jit(lambda x: (10**23 if x > 1 else 1) + 0 * round(x), backend="python")(1.5) == 10**23
    with pytest.raises(OverflowError, match="64 bits"):
        dj.jit(lambda x: (10**23 if x > 1 else 1) * x)(1.5)


def test_another_number_outside():
    star = Star()
    pull = dj.grad(lambda x: x * star.mass)
    for mass in (10**25, 10**26):
        star.mass = mass
        assert pull(1.5) == float(mass)
