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


def products(x):
    return np.tanh(x) * np.sum(x), {"last": x[-1] ** 2, "all": x * x}


def test_products_with_derivatives():
    v = np.cos(X)
    value, along = dj.jvp(products, (Elsewhere(X),), (Elsewhere(v),), backend="cuda")
    wanted = dj.jvp(products, (X,), (v,), backend="python")
    for found, of in ((value, wanted[0]), (along, wanted[1])):
        assert isinstance(found[0], Elsewhere)
        np.testing.assert_allclose(found[0].numbers(), of[0], rtol=1e-12)
        np.testing.assert_allclose(found[1]["all"].numbers(), of[1]["all"], rtol=1e-12)
        np.testing.assert_allclose(found[1]["last"], of[1]["last"], rtol=1e-12)


def test_maps():
    v, seed = np.cos(X), (np.sin(X), {"last": 0.5, "all": X})
    wanted = dj.vjp(products, X, backend="python")[1](seed)[0]
    value, pullback = dj.vjp(products, Elsewhere(X), backend="cuda")
    assert isinstance(value[0], Elsewhere)
    elsewhere = (Elsewhere(seed[0]), {"last": 0.5, "all": Elsewhere(X)})
    for given in (seed, elsewhere, elsewhere):
        (back,) = pullback(given)
        assert isinstance(back, Elsewhere)
        np.testing.assert_allclose(back.numbers(), wanted, rtol=1e-12)
    (back,) = dj.vjp(products, X, backend="cuda")[1](elsewhere)
    np.testing.assert_allclose(back.numbers(), wanted, rtol=1e-12)
    value, tangent_map = dj.linearize(products, Elsewhere(X), backend="cuda")
    assert isinstance(value[1]["all"], Elsewhere)
    along = tangent_map(Elsewhere(v))
    wanted = dj.jvp(products, (X,), (v,), backend="python")[1]
    np.testing.assert_allclose(along[0].numbers(), wanted[0], rtol=1e-12)
    np.testing.assert_allclose(along[1]["last"], wanted[1]["last"], rtol=1e-12)


def test_second_order():
    def total(x):
        return np.sum(np.tanh(x) ** 3)

    found = dj.hvp(total, (Elsewhere(X),), (Elsewhere(X),), backend="cuda")
    assert isinstance(found, Elsewhere)
    np.testing.assert_allclose(found.numbers(), dj.hvp(total, (X,), (X,), backend="python"), rtol=1e-12)
