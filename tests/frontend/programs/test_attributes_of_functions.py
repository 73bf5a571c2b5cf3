"""Functions that get attributes where they are defined, as SciPy asks for those of events."""

from functools import partial

import numpy as np
import pytest
from scipy import integrate

import diffjit as dj

P = np.array([1.5, 0.4, 0.1])


def swings(p):
    def pendulum(t, y):
        return [y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]]

    def down(t, y):
        return y[0]

    turns = lambda t, y: y[1]
    down.terminal = True
    for event in (down, turns):
        event.direction = -1
    found = integrate.solve_ivp(pendulum, (0, 20), [1.0 + p[2], 0.0], events=[down, turns], rtol=1e-9, atol=1e-11)
    return found.t_events[0][0] + found.y[1, -1]


def counted(p):
    def shrunk(v):
        shrunk.calls += 1
        shrunk.seen = shrunk.seen + v * v
        return v * p[1]

    shrunk.calls, shrunk.seen = 0, 0.0
    x = p[0]
    while x > 0.01:
        x = shrunk(x)
    return x * shrunk.calls + shrunk.seen


def on_two_paths(p):
    def scaled(v):
        return v * scaled.by

    other = scaled
    if p[0] > 1.0:
        scaled.by = p[1]
    else:
        scaled.by = 2.0 * p[0]
    for k in range(3):
        if k % 2:
            other.by = other.by + p[2] * k
    return scaled(p[0]) + getattr(scaled, "missing", 3.0) * p[2] + hasattr(other, "by") * p[1]


def within_itself(p):
    def climbed(v):
        climbed.calls += 1
        climbed.total = climbed.total + v * p[2]
        return 1.0 if v <= 0.35 else v * climbed(v - p[1])

    climbed.calls, climbed.total = 0, 0.0
    return climbed(p[0]) * p[1] + climbed.calls + climbed.total


class Fit:
    """An object whose penalty is a function with an attribute."""

    def __init__(self, weight):
        self.penalty = lambda w: weight * w * w
        self.penalty.slope = lambda w: 2.0 * weight * w


def of_an_attribute(p):
    fit, w = Fit(p[1]), p[0]
    for _ in range(3):
        w = w - p[2] * fit.penalty.slope(w) + fit.penalty(w)
    return w


def line(slope, offset, t):
    return slope * t + offset


class Event:
    def __init__(self, slope):
        self.test = partial(line, slope, offset=1.0)
        self.test.terminal = True


def of_partials(p):
    rise = partial(line, p[0], offset=p[1])
    rise.weight, rise.kind = p[2], 3
    if p[0] > 1.0:  # noqa: SIM108 - statements, as programs have them
        fall = partial(line, -p[0], offset=2.0)
    else:
        fall = partial(line, p[0] * p[1], offset=3.0)
    fall.weight = p[1]
    total = 0.0
    for k in range(3):
        rise.weight = rise.weight + p[0] * k
        total += rise(t=0.5 * k) * rise.weight + fall(t=1.0) * fall.weight
    other = Event(p[2]).test
    return (
        total * rise.kind
        + getattr(fall, "kind", 2.0) * p[1]
        + hasattr(rise, "func") * rise.keywords["offset"] * other(t=2.0) * other.terminal
    )


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [swings, counted, on_two_paths, within_itself, of_an_attribute, of_partials])
def test_derivatives(f, backend):
    h = 1e-6
    slopes = [(f(P + h * e) - f(P - h * e)) / (2 * h) for e in np.eye(3)]
    assert dj.jit(f, backend=backend)(P) == pytest.approx(f(P), rel=1e-9)
    gradient = dj.grad(f, backend=backend)
    assert gradient(P) == pytest.approx(slopes, rel=1e-5, abs=1e-6)
    direction = np.array([0.3, -1.0, 0.7])
    assert dj.jvp(f, (P,), (direction,), backend=backend)[1] == pytest.approx(slopes @ direction, rel=1e-5, abs=1e-6)
    if f is swings and backend == "numba":
        return
    wanted = (gradient(P + 1e-5 * direction) - gradient(P - 1e-5 * direction)) / 2e-5
    assert dj.hvp(f, (P,), (direction,), backend=backend) == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_attribute_that_is_not_there(backend):
    def f(x):
        def g(v):
            return v * g.scale

        if x > 1.0:
            g.scale = x
        return g(x)

    assert dj.grad(f, backend=backend)(2.0) == 4.0
    with pytest.raises(AttributeError, match="scale"):
        dj.grad(f, backend=backend)(0.5)


def given_to_another(x):
    def marked(function):
        function.mark = 1.0
        return function

    return marked(np.sin)(x)


def test_what_another_function_sets_is_refused():
    with pytest.raises(dj.DiffjitError, match="attribute `mark`"):
        dj.grad(given_to_another)(0.3)


class Holder:
    """Something with attributes."""


def read_where_it_is_there(x):
    held = Holder()
    if x > 1.0:
        held.a = x
    try:
        return held.a * x
    except AttributeError:
        return 7.0 * x


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_attribute_that_an_object_has_on_one_path(backend):
    gradient = dj.grad(read_where_it_is_there, backend=backend)
    assert (gradient(2.0), gradient(0.5)) == (4.0, 7.0)


def set_in_a_loop(x):
    held = Holder()
    for _ in range(int(x)):
        held.a = x
    return held.a * x


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_attribute_that_a_loop_sets_where_it_runs(backend):
    gradient = dj.grad(set_in_a_loop, backend=backend)
    assert gradient(2.5) == 5.0
    with pytest.raises(AttributeError, match="no attribute `a`"):
        gradient(0.5)
