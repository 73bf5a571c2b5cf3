"""Classes, keys and exceptions that a program makes as it goes along, and arrays that are one object or two."""

import dataclasses
import typing
from dataclasses import InitVar, dataclass, field

import numpy as np
import pytest

import diffjit as dj
from tests.options.modes import compared

X = np.array([0.7, 1.3, 0.4, 2.1])


def what_only_init_takes(x):
    @dataclass
    class Load:
        force: float
        factor: InitVar[float] = 2.0
        unit: typing.ClassVar[str] = "kN"
        design: float = field(init=False)

        def __post_init__(self, factor):
            self.design = self.force * factor

    first, second = Load(x[0]), Load(x[1], x[2])
    held = dataclasses.asdict(second)
    return first.design * second.design + held["design"] * len(held) * len(Load.unit) + second.factor


def what_only_init_takes_of_a_base(x):
    @dataclass
    class Part:
        mass: float
        share: dataclasses.InitVar[float]

        def __post_init__(self, share):
            self.kept = self.mass * share

    @dataclass
    class Moving(Part):
        speed: float = 1.0
        scale: dataclasses.InitVar[object] = None

        def __post_init__(self, share, scale):
            super().__post_init__(share)
            if scale is not None:
                self.speed = self.speed * scale

    parts = [Moving(x[0], x[1]), Moving(x[1], x[2], 2.0, x[3]), Moving(mass=x[0], share=2.0, scale=x[2])]
    return sum(part.kept * part.speed**2 for part in parts)


def attributes_on_demand(x):
    class Model:
        def __init__(self, inner):
            self._inner = inner

        def __getattr__(self, name):
            if name == "total":
                self.total = np.sum(self._inner["w"] ** 2)
                return self.total
            return self._inner[name]

    class Named(Model):
        scale = 3.0

    model = Named({"w": x, "b": x[0] * x[1]})
    return model.b * model.total + model.scale * model.total


def keys_of_letters(x):
    terms = {chr(97 + k): x[k] ** 2 for k in range(2)}
    for k in range(len(x)):
        terms["w" + chr(ord("a") + k)] = x[k] * x[0]
    return terms["a"] * terms["b"] + sum(terms.values()) * (2.0 if chr(len(x)) == "\x04" else 3.0)


def raise_what_a_branch_chose(x):
    total = 0.0
    for v in x:
        kind = ValueError if v > 1.0 else (KeyError if v > 0.5 else ZeroDivisionError)
        try:
            if v < 2.0:
                raise kind("bad", v)
            total += v**3
        except (ValueError, KeyError) as error:
            total += error.args[1] ** 2
        except ArithmeticError:
            total += 2.0 * v
    return total


def raise_a_class_that_a_branch_chose(x):
    class Stop(ValueError):
        pass

    total = 0.0
    for v in x:
        kind = Stop if v > 1.0 else IndexError
        try:
            raise kind
        except LookupError:
            total += v * v
        except ValueError:
            total += v**3
    return total


def one_array_or_another(x):
    total, doubled = 0.0, 2.0 * x
    for k in range(len(x)):
        a = doubled if x[k] > 1.0 else x
        if a is x:
            total += a[k] ** 3
        if a is doubled:
            total += a[k] ** 2
        if doubled is not x:
            total += x[k]
    return total


PROGRAMS = (
    what_only_init_takes, what_only_init_takes_of_a_base, attributes_on_demand, keys_of_letters,
    raise_what_a_branch_chose, raise_a_class_that_a_branch_chose, one_array_or_another,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_as_python(program, backend):
    compared(program, X, backend, order=2 if backend == "python" else 1)


def test_what_leaves_the_program_is_of_the_class_that_was_chosen():
    def checked(x):
        kind = ValueError if x > 1.0 else KeyError
        raise kind("bad")

    for x, kind in ((2.0, ValueError), (0.5, KeyError)):
        with pytest.raises(kind, match="bad"):
            dj.grad(checked)(x)


def test_an_argument_may_be_an_array_outside():
    outside = X.copy()
    with pytest.raises(dj.UnsupportedSyntax, match="DJ121"):
        dj.grad(lambda x: np.sum(x) * (2.0 if x is outside else 3.0))(outside)
