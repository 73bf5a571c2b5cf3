"""Objects that get attributes in loops and branches, as networks do when they are trained."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([0.5, -1.0, 2.0])


class Network:
    def __init__(self, x):
        self.x = x
        self.weights = 0.5 * x

    def forward(self):
        self.hidden = np.tanh(self.x * self.weights)
        return self.hidden

    def train(self, steps):
        for _ in range(steps):
            self.output = self.forward()
            self.weights += 0.1 * self.output


def trained(x, steps):
    network = Network(x)
    network.train(steps)
    return np.sum(network.forward() ** 2) + np.sum(network.output)


def trained_thrice(x, steps):
    network = Network(x)
    network.train(3)
    return np.sum(network.forward() ** 2) + 0.0 * steps


class Plain:
    pass


def set_on_one_path(x, steps):
    thing = Plain()
    thing.x = x
    if np.sum(x) > 0.0:
        thing.double = 2.0 * x
    total = steps * np.sum(thing.x**2)
    if np.sum(x) > 0.0:
        total += np.sum(thing.double**3)
    return total


class Slotted:
    __slots__ = ("double", "failed", "x")


def check(thing):
    if np.sum(thing.x) < 0.0:
        thing.failed = "below zero"
        return False
    thing.double = 2.0 * thing.x
    return True


def set_in_a_slot(x, steps):
    thing = Slotted()
    thing.x = x
    if check(thing):
        return np.sum(thing.double**3) + steps
    thing.double = thing.x
    return np.sum(thing.double**2) * len(thing.failed)


def asked_of_a_slot(x, steps):
    thing = Slotted()
    thing.x = x
    check(thing)
    thing.x = x * steps
    return np.sum(thing.double**2 if hasattr(thing, "double") else thing.x**3)


def asked_for(x, steps):
    thing = Plain()
    thing.x = x
    if np.sum(x) > 0.0:
        thing.double = 2.0 * x
    return steps * np.sum(thing.double**2 if hasattr(thing, "double") else thing.x**3)


def while_it_grows(x, steps):
    thing = Plain()
    thing.x = x
    while np.sum(thing.x**2) < 50.0 * steps:
        thing.last = 2.0 * thing.x
        thing.x = thing.last + 0.1
    return np.sum(thing.last * thing.x)


PROGRAMS = [
    trained,
    trained_thrice,
    set_on_one_path,
    set_in_a_slot,
    asked_of_a_slot,
    asked_for,
    while_it_grows,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("x", [X, -X], ids=["plus", "minus"])
def test_derivatives(program, x, backend):
    along = lambda h: program(x * (1.0 + h), 3)
    slope, bend = (along(1e-6) - along(-1e-6)) / 2e-6, (along(1e-4) - 2 * along(0.0) + along(-1e-4)) / 1e-8
    grad = dj.grad(program, backend=backend)
    assert dj.jit(program, backend=backend)(x, 3) == pytest.approx(program(x, 3), rel=1e-14)
    assert np.sum(grad(x, 3) * x) == pytest.approx(slope, rel=1e-7, abs=1e-8)
    assert dj.jvp(lambda x: program(x, 3), (x,), (x,), backend=backend)[1] == pytest.approx(slope, rel=1e-7, abs=1e-8)
    second = dj.jvp(lambda x: grad(x, 3), (x,), (x,), backend=backend)[1]
    assert np.sum(second * x) == pytest.approx(bend, rel=1e-4, abs=1e-5)
    lanes = dj.vmap(grad, in_axes=(0, None), backend=backend)(np.stack([x, 0.5 * x]), 3)
    np.testing.assert_allclose(lanes, [grad(x, 3), grad(0.5 * x, 3)], rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_never_set_is_an_error(backend):
    def reads(x):
        thing = Plain()
        if np.sum(x) > 0.0:
            thing.double = 2.0 * x
        return np.sum(thing.double)

    np.testing.assert_array_equal(dj.grad(reads, backend=backend)(X), [2.0, 2.0, 2.0])
    with pytest.raises(AttributeError, match="double"):
        dj.grad(reads, backend=backend)(-X)


def test_what_lists_attributes_needs_them_set():
    def counted(x):
        thing = Plain()
        if np.sum(x) > 0.0:
            thing.double = 2.0 * x
        thing.x = x
        return np.sum(thing.x) * len(vars(thing))

    assert dj.jit(counted, backend="python")(X) == counted(X)
    with pytest.raises(NotImplementedError, match="double"):
        dj.jit(counted, backend="python")(-X)


def stack_sines(thing, data):
    for column in range(data.shape[1]):
        new = np.sin(data[:, column])
        if thing.weights is None:
            thing.weights = new
        else:
            thing.weights = np.vstack([thing.weights, new])


def test_what_a_loop_may_leave_as_it_was_is_there():
    def fitted(data):
        thing = Plain()
        thing.weights = None
        stack_sines(thing, data)
        return 1.0 + np.sum(data) if hasattr(thing, "weights") else 0.0

    for data in (np.ones((5, 7)), np.ones((5, 0))):
        assert dj.jit(fitted, backend="python")(data) == fitted(data)
