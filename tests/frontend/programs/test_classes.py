"""Classes that make their objects themselves, and `super` with and without its arguments."""

import collections
import copy
import dataclasses
import functools

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = ["python", "numba"]


class Point(collections.namedtuple("Point", "x y")):  # noqa: PYI024 - as programs make them
    __slots__ = ()

    def __new__(cls, x, y=None):
        return super().__new__(cls, 2.0 * x, x if y is None else y)

    def norm(self):
        return self.x**2 + self.y**2


class Single:
    one = None

    def __new__(cls, *_):
        if cls.one is None:
            cls.one = object.__new__(cls)
        return cls.one

    def __init__(self, x):
        self.x = x


class Scaled:
    def __new__(cls, x):
        made = super().__new__(cls)
        made.k = 3.0 * x
        return made

    def __init__(self, x):
        self.x = x


class More(Scaled):
    def __new__(cls, x):
        made = super().__new__(cls, x)
        made.m = x
        return made


class Most(More):
    pass


class Negative:
    def __init__(self, x):
        self.x = -x


class Factory:
    def __new__(cls, x, *, negative=False):
        return Negative(x) if negative else object.__new__(cls)

    def __init__(self, x, *, negative=False):
        self.x = 5.0 * x
        self.negative = negative


class Base:
    scale = 2.0

    @classmethod
    def make(cls, x):
        made = cls()
        made.x = x * cls.scale
        return made

    def f(self, x):
        return x


class Derived(Base):
    scale = 3.0

    @classmethod
    def make(cls, x):
        made = super().make(x)
        made.y = x
        return made

    def f(self, x):
        return 10.0 * x


def thousandfold(method):
    @functools.wraps(method)
    def wrapper(self, x):
        return 1000.0 * method(self, x)

    return wrapper


class Last(Derived):
    def f(self, x):
        return super(Derived, self).f(x) + 100.0 * super(Last, self).f(x)  # noqa: UP008 - one skips a class

    @thousandfold
    def g(self, x):
        return super().f(x)


class Heir(Last):
    pass


def tuples(x):
    return Point(x).norm() + Point(x, y=3.0 * x).norm()


def single(x):
    Single.one = None
    a, b = Single(x), Single(2.0 * x)
    return a.x * b.x


def scaled(x):
    return Scaled(x).x * Scaled(x).k + Most(x).x * Most(x).k * Most(x).m


def factory(x):
    return Factory(x).x + 10.0 * Factory(x, negative=True).x


def class_methods(x):
    return Derived.make(x).x * Derived.make(x).y


def skipping(x):
    return Last().f(x) + Last().g(x) + Heir().f(x) * Heir().g(x)


class Line:
    slope = 2.0

    def __init__(self, x=1.0):
        self.x = x

    @staticmethod
    def twice(y):
        return 2.0 * y

    @classmethod
    def scaled(cls, y):
        return cls.slope * y

    def at(self, y):
        return self.x * y


class Steep(Line):
    """`super()` of an object, and in `__new__` of a class: its methods are then given all their arguments."""

    slope = 3.0

    def __new__(cls, *args):
        made = super().__new__(cls)
        super().__init__(made, 5.0)
        made.first = made.x
        return made

    @staticmethod
    def twice(y):
        return 7.0

    @classmethod
    def scaled(cls, y):
        return super().scaled(y) + 1.0

    def at(self, y):
        return super().at(y) + super().twice(y) + super().scaled(y) * self.scaled(y) + self.first


class Poses(collections.UserList):
    """Poses of a robot: a list of matrices, mostly of one."""

    def __new__(cls, *args):
        made = super().__new__(cls)
        super().__init__(made)
        return made

    def __init__(self, angles):
        self.data = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in np.array(angles)]

    @property
    def matrix(self):
        return self.data[0] if len(self) == 1 else self.data


class Missing(ValueError):
    """An exception that calls its base by name."""

    def __init__(self, name, needed):
        ValueError.__init__(self, "no " + name, needed)
        self.needed = needed


def exceptions(x):
    try:
        if x > 0:
            raise Missing("x", 2.0 * x)
    except Missing as error:
        return x * error.needed * error.args[1] * len(error.args[0])
    return x


def names_of_methods(x):
    at = Line(x).at
    return at(x) * len(at.__name__) * at.__self__.x * len(getattr(np.array([x]).sum, "__name__", "?"))


def supers(x):
    return Steep(x).at(x) * x


def lists_of_one(x):
    return np.sum((Poses([x]).matrix @ Poses([x * x]).matrix) ** 3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [exceptions, names_of_methods, supers, lists_of_one, tuples, single, scaled, factory, class_methods, skipping],
)
def test_as_python_has_it(program, backend):
    x, h = 1.3, 1e-6
    value = program(x)
    slope = (program(x + h) - program(x - h)) / (2 * h)
    assert np.isclose(dj.jit(program, backend=backend)(x), value, rtol=1e-12)
    assert np.isclose(dj.grad(program, backend=backend)(x), slope, rtol=1e-6)
    assert np.isclose(dj.jvp(program, (x,), (1.0,), backend=backend)[1], slope, rtol=1e-6)


def test_many_branches_in_branches():
    """A value that hundreds of nested branches join, where a division asks for its type."""
    lines = ["def program(x):", "    y = 1"]
    for k in range(160):
        lines += [f"    if x > {k}.5:", f"        y = y + x / {k + 1}"]
    lines += ["    try:", "        return x / y", "    except ZeroDivisionError:", "        return 0.0"]
    space = {}
    exec("\n".join(lines), space)  # noqa: S102 - a program that was made here
    space["text"] = "\n".join(lines)
    program = space["program"]
    space["program"] = program
    slope = (program(20.0 + 1e-6) - program(20.0 - 1e-6)) / 2e-6
    assert np.isclose(dj.grad(program, backend="python")(20.0), slope, rtol=1e-6)


class Triple(collections.namedtuple("Triple", "a b")):  # noqa: PYI024 - as programs make them
    __slots__ = ()

    def __getitem__(self, k):
        return 3.0 * super().__getitem__(k)


class Hundredfold(float):
    def __mul__(self, other):
        return 100.0 * float(other)


class Doubling(dict):
    def __getitem__(self, key):
        return 2.0 * super().__getitem__(key)


class Negated(list):
    def __getitem__(self, k):
        return -super().__getitem__(k)


class Bunch(dict):
    pass


NUMBER, PAIR, DICT, LIST = Hundredfold(2.0), Triple(1.0, 2.0), Doubling(a=1.5), Negated([1.0, 2.0])
SHARED = {
    "number": lambda x: NUMBER * x, "tuple": lambda x: PAIR[0] * x, "list": lambda x: LIST[0] * x,
    "made": lambda x: Hundredfold(x) * 2.0,
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_two_natures_are_refused(name):
    with pytest.raises(dj.UnsupportedSyntax, match="DJ113"):
        dj.jit(SHARED[name], backend="python")(1.3)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_items_are_read_as_the_class_says(backend):
    f = lambda x: DICT["a"] * x**2 + DICT.get("a", 0.0) * x + sum(DICT.values()) + Negated([x])[0]
    assert dj.jit(f, backend=backend)(1.3) == f(1.3)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(1.3), 2.0 * 3.0 * 1.3 + 1.5 - 1.0)


class Ordered(collections.OrderedDict):
    pass


class Counted(collections.defaultdict):
    pass


class Adding:
    def __radd__(self, other):
        return np.sum(other)


def pairs_in_turn(x):
    it = iter(np.array([x, 2.0, 3.0, 4.0]))
    return sum(a * b for a, (_, b) in zip(it, enumerate(it), strict=False))


def test_one_iterator_twice():
    of_one_number(pairs_in_turn)


REFUSED = {
    "array of objects": ("DJ301", lambda x: np.sum(np.array([x, 1.0]) + Adding())),
    "a dict returned": ("DJ319", lambda x: Bunch(a=x)),
    "keys returned": ("DJ319", lambda x: {Adding(): x}),
    "copied by its class": ("DJ118", lambda x: copy.copy(Ordered(a=x))["a"]),
    "of defaultdicts": ("DJ113", lambda x: Counted(float)["a"] + x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_objects_and_iterators_cannot_do(name):
    code, program = REFUSED[name]
    with pytest.raises(dj.DiffjitError, match=code):
        dj.jit(program, backend="python")(1.3)


def test_classes_of_dicts_keep_their_own_methods():
    def model(x):
        d = Doubling(a=x)
        d.update(b=3.0)
        return d["a"] * d["b"] + d.get("a")

    assert dj.value_and_grad(model, backend="python")(1.5) == (19.5, 13.0)


@dataclasses.dataclass
class Gas:
    density: float
    gamma: float = dataclasses.field(default=1.4, kw_only=True)


def test_fields_by_name_are_not_taken_by_place():
    """The second number was left out, and the default taken."""
    with pytest.raises(TypeError):
        Gas(1.5, 5.0 / 3.0)
    with pytest.raises(dj.TypeProblem, match=r"DJ306.*takes 1 fields by place, not 2"):
        dj.jit(lambda x: Gas(x, 5.0 / 3.0).gamma * x, backend="python")(1.5)
    assert dj.grad(lambda x: Gas(x, gamma=2.0).gamma * x, backend="python")(1.5) == 2.0


def test_arguments_with_two_natures():
    with pytest.raises(dj.UnsupportedSyntax, match="DJ113"):
        dj.jit(lambda n: n * 2.0, backend="python")(NUMBER)
    assert dj.jit(lambda p: p[0] * 1.0, backend="python")(PAIR) == 3.0
