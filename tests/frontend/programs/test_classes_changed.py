"""`thing.__class__ = Other`: an object that becomes one of another class; and what else Python reads of objects."""

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = ["python", "numba"]


class Edge:
    """A side of a box, which finds out which one it is when it is placed."""

    def __init__(self, v):
        self.v = v

    def place(self, side):
        self.__class__ = Lower if side < 0 else Upper
        return self

    def flux(self):
        return self.v


class Lower(Edge):
    def flux(self):
        return 2.0 * self.v + super().flux()


class Upper(Edge):
    def flux(self):
        return self.v**2


class Slim:
    __slots__ = ("v",)


EDGE = Edge(2.0)


def placed(x):
    return Edge(x).place(-1).flux() + 3.0 * Edge(x).place(1).flux()


def by_name(x):
    edge = Edge(x)
    setattr(edge, "__class__", Lower)  # noqa: B010
    first = edge.flux()
    object.__setattr__(edge, "__class__", Upper)
    return first * edge.flux() * (type(edge) is Upper) * (2.0 if isinstance(edge, Lower) else 5.0)


def in_turns(x):
    edge = Edge(x)
    for _ in range(int(3.0 * x)):
        edge.v = edge.v + 0.1 * edge.flux()
        edge.__class__ = Upper
    return edge.v + sum(e.place(1).flux() for e in [Edge(x * k) for k in range(3)])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [placed, by_name, in_turns])
def test_methods_are_those_of_the_new_class(program, backend):
    """The assignment was taken for one of an attribute, and the methods of the old class were called."""
    of_one_number(program, backend, rel=1e-13)


def on_a_path(x):
    edge = Edge(x)
    if x > 1.0:
        edge.__class__ = Lower
    return edge.flux()


def outside(x):
    EDGE.__class__ = Edge
    return EDGE.flux() * x


def to_slots(x):
    edge = Edge(x)
    edge.__class__ = Slim
    return x


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="DJ127"):
        dj.grad(on_a_path, backend="python")(1.3)
    for program in (outside, to_slots):
        with pytest.raises(dj.DiffjitError, match="DJ127"):
            dj.grad(program, backend="python")(1.3)


def test_an_argument_keeps_its_class():
    with pytest.raises(dj.DiffjitError, match="DJ319"):
        dj.jit(lambda edge: edge.place(1).flux(), backend="python")(Edge(np.float64(1.5)))


def other_dict(x):
    edge = Edge(x)
    edge.__dict__ = {"v": 3.0 * x}
    return edge.flux()


def shared_dict(x):
    edge, other = Edge(x), Edge(2.0 * x)
    edge.__dict__ = other.__dict__
    other.v = 5.0 * x
    return edge.flux()


def called_itself(x):
    edge = Edge(x)
    edge.__call__ = lambda: 3.0
    try:
        return edge() * x
    except TypeError:
        return 9.0 * x


def length_of_its_own(x):
    edge = Edge(x)
    edge.__len__ = lambda: 0
    return x * (2.0 if edge else 5.0)


@pytest.mark.parametrize("program", [other_dict, shared_dict, called_itself, length_of_its_own])
def test_names_that_python_gives_a_meaning(program):
    """Each was taken for an attribute like any other, and another number came of it than Python's."""
    with pytest.raises(dj.DiffjitError, match="DJ127"):
        dj.grad(program, backend="python")(1.3)


def test_items_of_a_dict_of_attributes_stay():
    def model(x):
        edge = Edge(x)
        del edge.__dict__["v"]
        return x * (2.0 if hasattr(edge, "v") else 3.0)

    with pytest.raises(dj.DiffjitError, match="DJ101"):
        dj.grad(model, backend="python")(1.3)
