"""`stop_gradient` and `constant` of whatever holds numbers: nothing flows through, whatever form it has in the program.

The slope of `stop_gradient(g(x)) * x[0]` is g(x) by x[0], and zero by all else.
"""

from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.3, -1.2, 2.1])


@dataclass
class State:
    level: object
    more: object = None


class Table(dict):
    """A class of dicts."""


def sizes(x):
    found = {}
    for v in x:
        found[int(abs(v))] = found.get(int(abs(v)), 0.0) + v * v
    return found


def missing(x):
    found = dj.stop_gradient(defaultdict(float, {"a": x[1]}))
    return found["a"] + found["b"] - 1.0


HELD = {
    "list": lambda x: sum(dj.stop_gradient([v * v for v in x if v > 0])),
    "tuples": lambda x: sum(a * b for a, b in dj.stop_gradient([(v * v, v) for v in x if v > 0])),
    "lists in a list": lambda x: sum(sum(row) for row in dj.stop_gradient([[v, w] for v in x for w in x if v > w])),
    "objects in a list": lambda x: sum(s.level for s in dj.stop_gradient([State(v) for v in x if v > 0])),
    "tuple": lambda x: sum(dj.stop_gradient(tuple(v * v for v in x if v > 0))),
    "dict with keys of the run": lambda x: dj.stop_gradient(sizes(x))[2],
    "defaultdict": missing,
    "deque": lambda x: dj.stop_gradient(deque([x[0], x[1]]))[1],
    "object": lambda x: dj.stop_gradient(State([x[0], x])).level[1][2],
    "objects in objects": lambda x: dj.stop_gradient(State(x, State(x * x))).more.level[1],
    "UserDict": lambda x: dj.stop_gradient(UserDict(a=x))["a"][1],
    "None": lambda x: dj.stop_gradient(x[1] if x[0] > 0 else None),
    "one of several": lambda x: np.sum(dj.stop_gradient(x if x[0] > 0 else x[1])),
    "polynomial": lambda x: dj.stop_gradient(np.poly1d(x))(2.0),
    "constant": lambda x: sum(dj.constant(lambda u: [v * v for v in u if v > 0])(x)),
    "constant object": lambda x: dj.constant(lambda u: State(u * u))(x).level[1],
}


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", HELD)
def test_nothing_flows_through(name, backend):
    """Lists that grow, objects, and what may be None were given on as they were, with their derivatives."""

    def f(x):
        return HELD[name](x) * x[0]

    value, slope = dj.value_and_grad(f, backend=backend)(X)
    held = HELD[name](X)
    assert value == pytest.approx(held * X[0])
    np.testing.assert_allclose(slope, [held, 0.0, 0.0])
    assert dj.jvp(f, (X,), (X,), backend=backend)[1] == pytest.approx(held * X[0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: next(dj.stop_gradient(iter([v * v for v in x]))),
        lambda x: sum(dj.stop_gradient(v * v for v in x)),
        lambda x: dj.stop_gradient(lambda z: z * x[1])(2.0),
        lambda x: dj.stop_gradient(dj.grad(lambda z: z * z * x[1]))(2.0),
        lambda x: dj.stop_gradient(dj.vjp(lambda z: z * x[1], x[0])[1])(1.0)[0],
        lambda x: dj.stop_gradient(dj.linearize(lambda z: z * x[1], x[0])[1])(1.0),
    ],
    ids=["iterator", "generator", "function", "gradient", "pullback", "tangent_map"],
)
def test_what_computes_when_it_is_called_is_refused(f):
    with pytest.raises(dj.UnsupportedSyntax, match="DJ118"):
        dj.grad(f, backend="python")(X)


def test_what_is_changed_later_is_another_one():
    def f(x):
        state = State([x[0]])
        found = dj.stop_gradient(state)
        found.level[0] = 5.0 * x[1]
        found.more = x
        return state.level[0] + found.level[0]

    for backend in ("python", "numba"):
        assert dj.jit(f, backend=backend)(X) == pytest.approx(f(X))
        np.testing.assert_allclose(dj.grad(f, backend=backend)(X), [1.0, 5.0, 0.0])


def test_called_from_python():
    """What is no attribute was lost."""
    for given in (Counter("hello"), Table(a=1.5), deque([1.0, 2.0], 3), OrderedDict(b=1.0, a=2.0), [Counter([1, 1])]):
        found = dj.stop_gradient(given)
        assert found == given
        assert type(found) is type(given)
        assert found is not given
    assert dj.stop_gradient(np.poly1d([1.0, 2.0]))(3.0) == 5.0
