"""Classes that say themselves what reading and setting an attribute does."""

import dataclasses

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


class Doubling:
    def __init__(self, x):
        self.x = x
        self.count = 0

    def __setattr__(self, name, value):
        super().__setattr__(name, 2.0 * value if name == "x" else value)


class Tripling:
    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, 3.0 * value)


class Registering:
    def __init__(self, x):
        self.__dict__["names"] = []
        self.x = x
        self.y = x * x

    def __setattr__(self, name, value):
        self.names.append(name)
        self.__dict__[name] = value * len(self.names)


class Reading:
    def __init__(self, x):
        self.x = x
        self.y = 1.0

    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return 7.0 * value if name == "x" else value


class Answering:
    def __init__(self, x):
        self.x = x

    def __getattribute__(self, name):
        return 11.0 if name == "z" else super().__getattribute__(name)

    def product(self):
        return self.x * self.z


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float
    y: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "y", self.x**2)


def setting(x):
    a, b, c = Doubling(x), Tripling(x), Registering(x)
    a.x = a.x + x
    a.count = 1
    return a.x * a.count + b.x**2 + c.x * c.y


def reading(x):
    return Reading(x).x * Reading(x).y + Answering(x).product()


def frozen(x):
    return Frozen(x).y * Frozen(x).x


def frozen_for_good(x):
    f = Frozen(x)
    try:
        f.x = 3.0
    except AttributeError:
        return 2.0 * f.x
    return f.x


OUTSIDE = Doubling(1.0)
READ = Reading(2.0)


def outside(x):
    OUTSIDE.x = x
    return OUTSIDE.x * x


def read_outside(x):
    return READ.x * x + READ.y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [setting, reading, frozen, frozen_for_good, outside, read_outside])
def test_as_python_has_it(program, backend):
    x, h = 1.3, 1e-6
    assert np.isclose(dj.jit(program, backend=backend)(x), program(x), rtol=1e-14)
    slope = (program(x + h) - program(x - h)) / (2 * h)
    assert np.isclose(dj.grad(program, backend=backend)(x), slope, rtol=1e-8)
    assert np.isclose(dj.jvp(program, (x,), (1.0,), backend=backend)[1], slope, rtol=1e-8)


def test_a_class_made_inside_is_refused():
    def model(x):
        class Local:
            def __setattr__(self, name, value):
                object.__setattr__(self, name, 2.0 * value)

        made = Local()
        made.x = x
        return made.x

    with pytest.raises(dj.UnsupportedSyntax, match="DJ113"):
        dj.grad(model, backend="python")(1.0)
