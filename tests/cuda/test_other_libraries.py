"""Arrays of other libraries on the device, by `__cuda_array_interface__`: here one that keeps them in plain memory."""

import sys

import numpy as np
import pytest

import diffjit as dj
from diffjit import UsageError
from diffjit.lowering.cuda import foreign

X = np.random.default_rng(4).uniform(0.2, 1.0, 30)


class Elsewhere:
    """An array that NumPy cannot read, of a library of its own."""

    def __init__(self, array, stream=None):
        self.kept = array
        interface = array.__array_interface__
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": interface["typestr"], "data": interface["data"], "version": 3,
            "strides": None if array.flags.c_contiguous else array.strides, "stream": stream,
        }  # fmt: skip

    def numbers(self):
        return self.kept.copy()


@pytest.fixture(autouse=True)
def library(monkeypatch):
    name = Elsewhere.__module__.split(".")[0]

    def made(module, held):
        assert module is sys.modules[name]
        told = held.__cuda_array_interface__
        found = Elsewhere(held.array)
        assert found.__cuda_array_interface__["data"] == told["data"]
        return found

    monkeypatch.setitem(foreign.LIBRARIES, name, made)


def loss(w, data):
    return np.sum((np.tanh(data["x"] * w) - data["y"]) ** 2)


def test_results_are_of_the_arguments_library():
    data = {"x": Elsewhere(X), "y": Elsewhere(X[::-1])}
    plain = {"x": X, "y": X[::-1]}
    w = np.linspace(0, 1, X.size)
    value, gradient = dj.value_and_grad(loss, backend="cuda")(Elsewhere(w), data)
    wanted = dj.value_and_grad(loss)(w, plain)
    assert isinstance(gradient, Elsewhere)
    np.testing.assert_allclose(gradient.numbers(), wanted[1], rtol=1e-12)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-12)


@pytest.mark.parametrize("array", [X, X[::-1], X[::3], X.reshape(5, 6).T, X[:0], X.astype(np.float32)])
def test_every_form(array):
    found = dj.jit(lambda a: (a * 2, [np.sum(a)]), backend="cuda")(Elsewhere(array))
    assert isinstance(found[0], Elsewhere)
    np.testing.assert_allclose(found[0].numbers(), array * 2)


def test_what_is_written_to_is_changed_there():
    def scaled(a, factor):
        a *= factor
        return np.sum(a)

    a = Elsewhere(X.copy())
    dj.jit(scaled, backend="cuda")(a, 3.0)
    np.testing.assert_allclose(a.numbers(), 3 * X)
    before = a.numbers()
    dj.grad(scaled, backend="cuda")(a, 3.0)
    np.testing.assert_array_equal(a.numbers(), before)


def test_a_library_that_is_not_known(monkeypatch):
    monkeypatch.delitem(foreign.LIBRARIES, Elsewhere.__module__.split(".")[0])
    with pytest.raises(UsageError, match="DJ564"):
        dj.jit(np.sum, backend="cuda")(Elsewhere(X))
