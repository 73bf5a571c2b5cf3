"""What is made for a function is found again, whoever asks for it, and only where it is the same."""

import gc
import weakref

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import engine


@pytest.fixture
def specialised(monkeypatch):
    """The functions that were specialised, in order."""
    found = []
    original = engine.specialise

    def specialise(function, *args, **kwargs):
        found.append(function)
        return original(function, *args, **kwargs)

    monkeypatch.setattr(engine, "specialise", specialise)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    return found


X = np.linspace(0.1, 1.0, 5)
VERBS = {
    "grad": lambda f, x: dj.grad(f)(x),
    "value_and_grad": lambda f, x: dj.value_and_grad(f)(x),
    "jit": lambda f, x: dj.jit(f)(x),
    "hessian": lambda f, x: dj.hessian(f)(x),
    "jacfwd": lambda f, x: dj.jacfwd(f)(x),
    "vmap": lambda f, x: dj.vmap(f)(x[None]),
    "jvp": lambda f, x: dj.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: dj.vjp(f, x)[1](1.0),
    "hvp": lambda f, x: dj.hvp(f, (x,), (x,)),
    "grad of grad": lambda f, x: dj.grad(lambda x: np.sum(dj.grad(f)(x)))(x),
}


def flat(value):
    return [np.asarray(leaf) for leaf in dj.tree.flatten(value)[0]]


@pytest.mark.parametrize("name", VERBS)
def test_the_same_function_again(name, specialised):
    def f(x):
        return np.sum(np.sin(x) * x)

    first = flat(VERBS[name](f, X))
    made = len(specialised)
    again = flat(VERBS[name](f, X))
    assert made > 0
    if name != "grad of grad":  # another lambda each time, of the same code
        assert len(specialised) == made
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)


def scaled(scale, add):
    def f(x):
        return np.sum(scale * x * x) + add * x[0]

    return f


def test_closures_of_one_code_read_their_own_cells(specialised):
    first = dj.grad(scaled(2.0, 1.0), backend="python")(X)
    second = dj.grad(scaled(3.0, 5.0), backend="python")(X)
    third = dj.grad(scaled(np.arange(5.0), 0.0), backend="python")(X)
    assert len(specialised) == 2  # an array is no float
    np.testing.assert_allclose(first, 4 * X + [1, 0, 0, 0, 0])
    np.testing.assert_allclose(second, 6 * X + [5, 0, 0, 0, 0])
    np.testing.assert_allclose(third, 2 * np.arange(5.0) * X)


def with_a_helper(power):
    def helper(x):
        return x**power

    def f(x):
        return np.sum(helper(x))

    return f


def test_closures_of_closures(specialised):
    for power in (2.0, 3.0, 2.5):
        np.testing.assert_allclose(dj.grad(with_a_helper(power), backend="python")(X), power * X ** (power - 1))
    assert len(specialised) == 1


def chosen(inner):
    def f(x):
        return np.sum(inner(x))

    return f


def test_another_function_in_the_cell(specialised):
    for inner, slope in ((np.sin, np.cos), (np.exp, np.exp), (lambda x: x * x, lambda x: 2 * x), (np.sin, np.cos)):
        np.testing.assert_allclose(dj.grad(chosen(inner), backend="python")(X), slope(X))
    assert len(specialised) >= 3


def branching(flag, text):
    def f(x):
        return np.sum(x * x) if flag else np.sum(np.sin(x)) * len(text)

    return f


def test_what_is_decided_by_a_cell():
    np.testing.assert_allclose(dj.grad(branching(True, "a"), backend="python")(X), 2 * X)
    np.testing.assert_allclose(dj.grad(branching(False, "ab"), backend="python")(X), 2 * np.cos(X))
    np.testing.assert_allclose(dj.grad(branching(False, "abc"), backend="python")(X), 3 * np.cos(X))
    np.testing.assert_allclose(dj.grad(branching(True, "a"), backend="python")(X), 2 * X)


def with_default(scale):
    def f(x, by=scale):
        return np.sum(x * x) * by

    return f


def test_defaults_are_ones_own():
    for scale in (1.0, 2.0, 7.0):
        np.testing.assert_allclose(dj.grad(with_default(scale), backend="python")(X), 2 * scale * X)


def test_options_are_told_apart(specialised):
    def f(x, y):
        return np.sum(x * x) + 3.0 * np.sum(y), np.sum(y)

    x_bar, aux = dj.grad(f, has_aux=True, backend="python")(X, X)
    y_bar, _ = dj.grad(f, argnums=1, has_aux=True, backend="python")(X, X)
    both, _ = dj.grad(f, argnums=(0, 1), has_aux=True, backend="python")(X, X)
    np.testing.assert_allclose(x_bar, 2 * X)
    np.testing.assert_allclose(y_bar, 3.0)
    np.testing.assert_allclose(both, [2 * X, np.full(5, 3.0)])
    assert aux == np.sum(X)
    assert len(specialised) == 3


K = 2.0


def times_k():
    def f(x):
        return np.sum(x) * K

    return f


def test_a_global_is_read_afresh(monkeypatch):
    np.testing.assert_allclose(dj.grad(times_k(), backend="python")(X), 2.0)
    monkeypatch.setitem(globals(), "K", 5.0)
    np.testing.assert_allclose(dj.grad(times_k(), backend="python")(X), 5.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    def loss(self, x):
        return np.sum(x * x) * self.scale


def test_methods_of_objects():
    one, two = Model(1.0), Model(4.0)
    for _ in range(2):
        np.testing.assert_allclose(dj.grad(one.loss, backend="python")(X), 2 * X)
        np.testing.assert_allclose(dj.grad(two.loss, backend="python")(X), 8 * X)
    one.scale = 3.0
    np.testing.assert_allclose(dj.grad(one.loss, backend="python")(X), 6 * X)


def test_a_method_again(specialised):
    model = Model(2.0)
    dj.grad(model.loss, backend="python")(X)
    dj.grad(model.loss, backend="python")(X)
    assert len(specialised) == 1


class Data:
    """What a weak reference can look after."""

    def __init__(self):
        self.values = np.ones(1000)


def test_closures_are_let_go():
    alive = []

    def step():
        data = Data()
        values = data.values
        alive.append(weakref.ref(data))

        def f(x):
            return np.sum(x) * values[0] + 0.0 * data.values[1]

        return dj.grad(f, backend="python")(X)

    for _ in range(12):
        step()
    gc.collect()
    assert sum(r() is not None for r in alive) <= 4


def test_functions_and_options_that_are_like_none():
    def cube(x, y=1.0):
        return x * x * x * y

    cube.options = {"order": 3}
    assert dj.grad(cube)(2.0) == 12.0
    assert dj.grad(cube, argnums=[0, 1])(2.0, 1.0) == (12.0, 8.0)
    _, pullback = dj.vjp(cube, 2.0)
    assert dj.jit(pullback)(1.0) == (12.0,)
    assert dj.fixed_point(lambda x: 0.5 * (x + 4.0 / x), 1.0) == 2.0


def compared(f, g):
    def h(x):
        return np.sum(f(x) * 2.0) if f is g else np.sum(f(x) + g(x) * 5.0)

    return h


def squared():
    def q(x):
        return x * x

    return q


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_functions_that_are_one_or_two(backend):
    a, b = squared(), squared()
    for f, g, factor in ((a, b, 12.0), (a, a, 4.0), (b, a, 12.0), (b, b, 4.0), (a, b, 12.0)):
        np.testing.assert_allclose(dj.grad(compared(f, g), backend=backend)(X), factor * X)


def of_two(u, v):
    def h(x):
        return np.sum(x * u.scale * v.scale) if u is v else np.sum(x * x * u.scale) + v.scale

    return h


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_objects_that_are_one_or_two(backend):
    one, two = Model(2.0), Model(3.0)
    for u, v, slope in ((one, one, 4.0), (one, two, 4.0 * X), (two, two, 9.0), (one, one, 4.0)):
        np.testing.assert_allclose(dj.grad(of_two(u, v), backend=backend)(X), slope)
