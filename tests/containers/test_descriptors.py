"""Attributes that something else than the object answers for: descriptors, properties of any callable, fetchers."""

import dataclasses
import functools
import operator
import types

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


class Bounded:
    """Keeps a number beside the name that it has in the class."""

    def __init__(self, low, unit=1.0):
        self.low, self.unit = low, unit

    def __set_name__(self, owner, name):
        self.name, self.kept = name, f"_{name}"

    def __get__(self, body, cls=None):
        return self.low if body is None else getattr(body, self.kept) / self.unit

    def __set__(self, body, value):
        if value < self.low:
            raise ValueError(f"{self.name} is too small")
        setattr(body, self.kept, value * self.unit**2)


class InDictionary:
    """Keeps a number under the name that it has in the class."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, body, cls=None):
        return 2.0 * body.__dict__[self.name]

    def __set__(self, body, value):
        body.__dict__[self.name] = 3.0 * value


class Computed:
    """No `__set__`: what an object holds itself goes before."""

    def __init__(self, function):
        self.function = function

    def __get__(self, body, cls=None):
        return self if body is None else self.function(body)


class Twice:
    """A decorator of methods that is an object."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *args):
        return 2.0 * self.function(*args)

    def __get__(self, body, cls=None):
        return types.MethodType(self, body)


class Doubled(Twice):
    def __get__(self, body, cls=None):
        return functools.partial(self.__call__, body)


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def of(self, body=None):
        return 5.0 * self.factor if body is None else body.mass * self.factor

    def store(self, body, value):
        body.mass = value * self.factor

    def __call__(self, body):
        return body.mass + self.factor


SCALE = Scale(3.0)


def shifted(body, by=1.0):
    return body.mass + by


class Body:
    factor = 7.0  # what a method of another object must not take for its own
    mass = Bounded(0.0, unit=2.0)
    charge = InDictionary()
    weight = Computed(lambda body: body.mass * 9.8)
    scaled = property(SCALE.of, SCALE.store)
    called = property(SCALE)
    moved = property(functools.partial(shifted, by=4.0))
    parts = property(operator.attrgetter("mass", "charge"))
    remembered = functools.cached_property(SCALE.of)
    lifted = functools.partialmethod(shifted, by=9.0)
    outside = SCALE.of
    first = operator.attrgetter("mass")

    def __init__(self, mass, charge=1.0):
        self.mass, self.charge = mass, charge

    @Twice
    def twice(self, y):
        return self.mass * y

    @Doubled
    def doubled(self, y):
        return self.charge * y

    @functools.singledispatchmethod
    def times(self, other):
        return self.mass * other

    @times.register
    def _(self, other: str):
        return self.charge * len(other)

    @property
    def level(self):
        return self.__dict__.get("level", 1.0) * self.mass


class Heavy(Body):
    lifted = functools.partialmethod(shifted, 0.5)

    @property
    def weight(self):
        return super().mass + super().weight * super().scaled

    def all_of(self):
        return super().lifted() + super().outside(self) + super().twice(3.0)


@dataclasses.dataclass
class Rod:
    length: float
    mass: Bounded = Bounded(0.5, unit=3.0)


LATEST = Body(2.0)
FIRST, SECOND = operator.itemgetter(1), operator.itemgetter(0, 2)
MASS, MOVED, TWICE = (
    operator.attrgetter("mass"),
    operator.attrgetter("parts", "mass"),
    operator.methodcaller("twice", 2.0),
)


def of_the_class(x):
    body = Body(x[0], x[1])
    body.mass += x[2]
    body.charge *= x[1]
    return body.mass * body.charge + body.weight + Body.mass


def held_by_the_object(x):
    body = Body(x[0])
    before = body.weight
    body.weight = x[1] ** 2
    body.__dict__["level"] = x[2]
    return before * body.weight + body.level + vars(body)["level"]


def refused_by_the_class(x):
    total = 0.0
    for value in (x[0], -x[1], x[2]):
        try:
            total += Body(value).mass * value
        except ValueError:
            total -= x[1] ** 2
    return total


def of_another_object(x):
    body = Body(x[0], x[1])
    total = body.scaled * body.called + body.moved + body.parts[0] * body.parts[1] + body.remembered
    body.scaled = x[2]
    return total + body.mass * body.outside(body) * body.outside() + body.first(body)


def methods_that_are_objects(x):
    body = Body(x[0], x[1])
    bound = types.MethodType(shifted, body)
    return body.twice(x[1]) * body.doubled(x[2]) + body.lifted() + bound(by=x[2]) * shifted.__get__(body)(2.0)


def chosen_by_class(x):
    body = Body(x[0], x[1])
    return body.times(x[2]) * body.times("abc")


def of_a_base(x):
    body = Heavy(x[0], x[1])
    return body.weight * x[2] + body.all_of() + body.lifted()


def of_a_dataclass(x):
    rod, other = Rod(x[0], x[1]), Rod(x[2])
    rod.mass *= 2.0
    return rod.length * rod.mass + other.mass * other.length


def of_many(x):
    bodies = []
    k = 0.5
    while k < x[0] + 2.0:
        bodies.append(Body(k * x[1], x[2]))
        k += 1.0
    for body in bodies:
        body.mass = body.mass * x[0]
    return sum(map(MASS, bodies)) * bodies[0].charge + max(bodies, key=operator.attrgetter("mass")).weight


def of_one_outside(x):
    return LATEST.mass * x[0] + LATEST.charge * x[1] + LATEST.weight * x[2]


def fetched(x):
    body = Body(x[0], x[1])
    return (
        FIRST(x) * SECOND(x)[1] + MASS(body) * MOVED(body)[0][1] + TWICE(body) + operator.methodcaller("lifted")(body)
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [
        of_the_class, held_by_the_object, refused_by_the_class, of_another_object, methods_that_are_objects,
        chosen_by_class, of_a_base, of_a_dataclass, of_many, of_one_outside, fetched,
    ],
)  # fmt: skip
def test_as_python(program, backend):
    x, step = np.array([0.7, 0.9, 1.3]), 1e-6

    def quotients(f):
        return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)])

    gradient = dj.grad(program, backend=backend)
    assert np.isclose(dj.jit(program, backend=backend)(x), program(x))
    assert np.allclose(gradient(x), quotients(program), rtol=1e-6)
    direction = np.array([0.3, -0.5, 0.2])
    assert np.isclose(dj.jvp(program, (x,), (direction,), backend=backend)[1], gradient(x) @ direction)
    assert np.allclose(dj.hvp(program, (x,), (direction,), backend=backend), direction @ quotients(gradient), atol=1e-6)


def changed_outside(x):
    LATEST.mass, LATEST.charge = x, x * x
    return LATEST.mass + LATEST.charge


@pytest.mark.parametrize("backend", BACKENDS)
def test_given_back_to_objects_outside(backend):
    wanted = changed_outside(1.5), dict(vars(LATEST))
    LATEST.mass = LATEST.charge = 1.0
    assert dj.jit(changed_outside, backend=backend)(1.5) == wanted[0]
    assert vars(LATEST) == wanted[1]


def defined_inside(x):
    class Inner:
        mass = Bounded(0.0)

        def __init__(self, mass):
            self.mass = mass

    return Inner(x).mass


def test_of_a_class_that_is_defined_inside():
    with pytest.raises(dj.DiffjitError, match=r"DJ113.*descriptor `mass`"):
        dj.jit(defined_inside)(1.0)
