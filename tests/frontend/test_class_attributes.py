"""Attributes of classes that a program defines, set later; and attributes for which objects have no place."""

import pytest

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = ["python", "numba"]


def scaled(self, v):
    return v * self.m


def set_later(x):
    class C:
        k = 1.0

    b = C()
    C.k = x * 3
    return b.k * x + C().k


def counted(x):
    class C:
        n = 0

        def __init__(self):
            C.n += 1
            self.place = C.n

    a, b = C(), C()
    return a.place * x + b.place * x * x + C.n + a.n


def own_goes_first(x):
    class C:
        k = 1.0

    c = C()
    c.k = 7.0
    C.k = x
    return c.k * x + C().k


def on_one_path(x):
    class C:
        k = 1.0

    c = C()
    if x > 1:
        C.k = x
    return c.k * x


def in_turns(x):
    class C:
        v = 1.0

    n = 0
    while C.v < 10 * x and n < 20:
        C.v *= 1.7
        n += 1
    return C.v * x + C().v


def in_each_turn_anew(x):
    total = 0.0
    for _ in range(3):

        class C:
            k = 1.0

        c = C()
        total += c.k
        C.k = x
        total += c.k
    return total


def methods(x):
    class C:
        m = 2.0
        f = scaled

        def g(self, v):
            return v

    class D(C):
        def f(self, v):
            return super().f(v) + 1

    d = D()
    total = d.f(x) + C().f(x)
    C.m = x
    C.f = lambda self, v: v * v * self.m
    C.g = scaled
    return total + d.f(x) + d.g(x)


def by_name(x):
    class C:
        k = 1.0

    c = C()
    total = getattr(c, "k")  # noqa: B009 - what is tested
    setattr(C, "k", x)  # noqa: B010
    return total + getattr(c, "k") * hasattr(c, "k")  # noqa: B009


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f", [set_later, counted, own_goes_first, on_one_path, in_turns, in_each_turn_anew, methods, by_name]
)
def test_attributes_of_classes(f, backend):
    of_one_number(f, backend)
    of_one_number(f, backend, 0.8)


class Slots:
    __slots__ = ("a", "b")


class Derived(Slots):
    __slots__ = ("c",)


class Open(Slots):
    pass


@pytest.mark.parametrize("cls", [Slots, Derived, Open])
@pytest.mark.parametrize("name", ["a", "c", "d"])
def test_slots(cls, name):
    def f(x):
        one = cls()
        try:
            setattr(one, name, 3.0)
        except AttributeError:
            return x * 2
        return getattr(one, name) * x

    of_one_number(f)


def test_slots_of_a_class_inside():
    def f(x):
        class C:
            __slots__ = ("__z", "a")

            def __init__(self, v):
                self.a, self.__z = v, v * 3

            def hidden(self):
                return self.__z

        one = C(x)
        try:
            one.c = 2.0
        except AttributeError:
            return one.a * x + one.hidden()
        return one.c * x

    of_one_number(f)


def test_what_python_asks_the_class_is_not_set_later():
    def f(x):
        class C:
            def __add__(self, other):
                return other

        one = C()
        C.__add__ = lambda self, other: 2 * other
        return one + x

    with pytest.raises(dj.UnsupportedSyntax, match="DJ127"):
        dj.grad(f, backend="python")(1.3)


class Marking(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.mark = 5.0
        return made


class Marked(metaclass=Marking):
    def __init__(self, v):
        self.v = v


class Doubling(type):
    def __call__(cls, v):
        return type.__call__(cls, v * 2)


class Doubled(metaclass=Doubling):
    def __init__(self, v):
        self.v = v


class DoubledToo(Doubled):
    def more(self):
        return self.v + 1


class Alone(type):
    made = {}  # noqa: RUF012 - of each class

    def __call__(cls, *args):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args)
        return cls.made[cls]


class Settings(metaclass=Alone):
    def __init__(self):
        self.v = 1.0


def alone(x):
    one = Settings()
    one.v = x
    return Settings().v * x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [lambda x: Marked(x).v * Marked(x * x).mark, lambda x: Doubled(x).v * x, lambda x: DoubledToo(x).more() * x, alone],
    ids=["marked", "doubled", "derived", "alone"],
)
def test_metaclasses_say_how_objects_are_made(f, backend):
    Alone.made.clear()
    of_one_number(f, backend)
    Alone.made.clear()
