"""Derivatives taken, and called, inside functions that are differentiated themselves."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj

X = np.linspace(0.1, 1.0, 5)


@dj.grad
def quartic_gradient(x):
    return np.sum(x**4)


@dj.grad(argnums="b")
def cubic_by_b(a, b):
    return a * b**3


class Model:
    def __init__(self, weights):
        self.weights = weights

    def loss(self, w, target):
        return np.sum((self.weights * w - target) ** 2)

    def step(self, w, target):
        return w - 0.01 * dj.grad(self.loss)(w, target)


def hypergradient(x):
    def loss(w):
        return np.sum((w - 1) ** 2 * w)

    w = x
    for _ in range(5):
        w = w - x[0] * dj.grad(loss)(w)
    return loss(w)


def perturbations_are_not_confused(x):
    def outer(y):
        return dj.grad(lambda z: x[0] * y * z * z)(y) + y * x[1]

    return dj.grad(outer)(x[0]) * x[2]


def gradient_of_a_tree_with_extras(x):
    def f(p):
        return np.sum(p["a"] ** 3) * p["b"], p["a"] * 2

    (value, extra), bar = dj.value_and_grad(f, has_aux=True)({"a": x, "b": 2.0})
    return value + np.sum(bar["a"] * extra) + bar["b"]


def tangents(x):
    value, tangent = dj.jvp(lambda a, b: np.sum(a * b * b), (x, x * 2), (np.cos(x), x))
    return value * tangent


def pullback_called_twice(x):
    value, pullback = dj.vjp(lambda a: a[::2] * 3.0 + np.sum(a) ** 2, x)
    (first,) = pullback(value)
    (second,) = pullback(np.sin(value))
    return np.sum(first * x) + np.sum(second**2)


def pullback_of_swapped_buffers(x):
    def f(a):
        u, v = a.copy(), a * 2
        for _ in range(3):
            u[1:] += v[:-1] ** 2
            u, v = v, u
        return u

    value, pullback = dj.vjp(f, x)
    return np.sum(pullback(value)[0] ** 2)


def inside_branches_and_loops(x):
    s = np.sum(x)
    for _ in range(3):
        if s > 1.0:
            x = x - 0.1 * quartic_gradient(x)
        else:
            _, pullback = dj.vjp(lambda t, scale: t * t * scale, x, s)
            x = x + pullback(x)[0]
        s = s + dj.jvp(lambda t: t[0] * t[1], (x,), (np.ones(5),))[1]
    return s


def methods(x):
    model = Model(x * 2)
    w = x
    for _ in range(3):
        w = model.step(w, x**2)
    return model.loss(w, x**2)


def argument_by_name(x):
    return cubic_by_b(x[0], x[1]) + cubic_by_b(2.0, x[2])


def newton(x):
    def f(u):
        return u**3 - 2.0 * x[1] * u - 1.0

    df = dj.grad(f)
    u = np.sum(x)
    while abs(f(u)) > 1e-10:
        u = u - f(u) / df(u)
    return u * x[0]


def hessian_by_columns(x):
    hessian = np.zeros((5, 5))
    gradient = dj.grad(lambda z: np.sum(z**3) * z[0])
    for i in range(5):
        e = np.zeros(5)
        e[i] = 1.0
        hessian[i] = dj.jvp(gradient, (x,), (e,))[1]
    return 1e-6 * np.linalg.det(hessian + 50 * np.eye(5))


def inner_function_overwrites_its_argument(x):
    def f(a):
        a[1:] *= a[:-1]
        return np.sum(a)

    bar = dj.grad(f)(x)
    return np.sum(bar * x)


def compiled_inside(x):
    return np.sum(dj.jit(lambda a: a * np.sin(a))(x))


def slope(f, x, y, argnums=1):
    return dj.grad(f, argnums=argnums)(x, y)


def argnums_from_a_default(x):
    return slope(lambda a, b: np.sum(a) * b**2, x, x[0]) + slope(lambda a, b: b * a, x[1], x[2], argnums=0)


LANES = (0, None)
PLACES = {"in_axes": ({"rows": 0, "scale": None},), "out_axes": 0}


def settings_from_outside(x):
    out = dj.vmap(lambda a, b: a * b, in_axes=LANES)(x, x[0])
    both = dj.vmap(lambda p: p["rows"] ** 2 * p["scale"], **PLACES)({"rows": x, "scale": x[1]})
    return np.sum(out) + np.sum(both)


PROGRAMS = [
    argnums_from_a_default, settings_from_outside, hypergradient, perturbations_are_not_confused,
    gradient_of_a_tree_with_extras, tangents, pullback_called_twice, pullback_of_swapped_buffers,
    inside_branches_and_loops, methods, argument_by_name, newton, hessian_by_columns,
    inner_function_overwrites_its_argument, compiled_inside,
]  # fmt: skip


def differences(f, x, h=1e-5):
    steps = h * np.eye(x.size)
    return np.array([(f(x + step) - f(x - step)) / (2 * h) for step in steps])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_and_second_derivatives(program):
    np.testing.assert_allclose(dj.jit(program, backend="python")(X), program(X), rtol=1e-12)
    gradient = dj.grad(program, backend="python")
    np.testing.assert_allclose(gradient(X), differences(program, X), rtol=2e-6, atol=1e-6)
    rows = np.array([dj.jvp(gradient, (X,), (e,), backend="python")[1] for e in np.eye(5)])
    want = np.array([(gradient(X + 1e-5 * e) - gradient(X - 1e-5 * e)) / 2e-5 for e in np.eye(5)])
    np.testing.assert_allclose(rows, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("program", [hypergradient, pullback_called_twice, newton], ids=lambda f: f.__name__)
def test_compiled(program):
    np.testing.assert_allclose(dj.grad(program)(X), differences(program, X), rtol=2e-6, atol=1e-6)


def test_closures_over_derivatives_are_followed():
    def gradient_along(x):
        return np.sum(quartic_gradient(x) * np.cos(x))

    got = dj.grad(gradient_along, backend="python")(X)
    np.testing.assert_allclose(got, 12 * X**2 * np.cos(X) - 4 * X**3 * np.sin(X))


def test_what_an_inner_function_changes_outside_is_refused():
    def f(x):
        seen = []

        def g(y):
            seen.append(y)
            return y * y

        return dj.grad(g)(x) + seen[0]

    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ125.*list, dict or object outside"):
        dj.grad(f, backend="python")(2.0)


class Cell:
    def __init__(self, v):
        self.v = v


def set_number(items, y):
    items[0] = 2.0 * y[0]


def set_attribute(items, y):
    items[0].v = 2.0 * y[0]


def set_element(items, y):
    items[0][0] = 2.0 * y[0]


def add_number(items, y):
    items.append(2.0 * y[0])


@pytest.mark.parametrize("verb", [dj.jacfwd, dj.jacrev, lambda g: lambda x: dj.jvp(g, (x,), (x,))[1]])
@pytest.mark.parametrize(
    ("made", "change", "read"),
    [
        (lambda v: v, set_number, lambda items: items[0]),
        (lambda v: v, add_number, len),
        (Cell, set_attribute, lambda items: items[0].v),
        (lambda v: v * np.ones(2), set_element, lambda items: items[0][0]),
    ],
)
def test_what_an_inner_function_changes_in_a_growing_list_outside_is_refused(made, change, read, verb):
    """The derivative changes nothing outside; inside a program it must not, either."""

    def f(x):
        items = []
        for v in x:
            if v > 0.0:
                items.append(made(v))  # noqa: PERF401 - a list that grows

        def g(y):
            change(items, y)
            return 2.0 * y

        return np.sum(verb(g)(x)) + read(items)

    def wanted(x):
        return np.sum(verb(lambda y: 2.0 * y)(x)) + read([made(v) for v in x])

    x = np.array([0.4, 0.7, 0.6])
    assert f(x) == wanted(x)
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ125.*growing list outside"):
        dj.jit(f, backend="python")(x)


def test_an_inner_gradient_by_an_int_is_refused_at_its_line():
    def f(x):
        return dj.grad(lambda k: k * x)(3) * x

    with pytest.raises(dj.UsageError, match=r"test_nested.py:\d+") as caught:
        dj.grad(f, backend="python")(2.0)
    assert caught.value.code == "DJ501"


SCALES = [1.5, np.array([2.0, 3.0])]


def read_by_a_derivative(x):
    """Each verb hands out what its function gives of the list outside, and the program goes on with it."""
    (_, kept), (_, still) = dj.jvp(lambda y: (y * y, SCALES), (x,), (x,))
    first, tangents = dj.linearize(lambda y: (y, SCALES), x)
    _, (_, extras) = dj.grad(lambda y: (np.sum(y), (y, SCALES)), has_aux=True)(x)
    lanes = dj.vmap(lambda y: (y, SCALES))(x)
    rows = dj.jacfwd(lambda y: (y, SCALES))(x)
    change = still[0] + np.sum(still[1]) + tangents(x)[1][0] + np.sum(rows[1][0])
    return kept[0] + np.sum(first[1][1] * x) + extras[0] + np.sum(lanes[1][0] * x) + change, still


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_derivative_inside_gives_a_list_outside(backend):
    """It was a tangent to itself, and no list to the program."""
    x = np.array([0.5, 2.0])
    value, still = dj.jit(read_by_a_derivative, backend=backend)(x)
    assert value == pytest.approx(1.5 + 2.0 * 0.5 + 3.0 * 2.0 + 1.5 + 1.5 * 2.5)
    assert still[0] == 0.0
    np.testing.assert_array_equal(still[1], [0.0, 0.0])
    slope = dj.grad(lambda y: read_by_a_derivative(y)[0], backend=backend)(x)
    np.testing.assert_allclose(slope, [2.0 + 1.5, 3.0 + 1.5])


@dataclass
class Sighting:
    bright: object
    at: object


def bright(x):
    return [Sighting(v * v, [v, 2 * v]) for v in x if v > 0]


def named(x):
    found = []
    for k, v in enumerate(x):
        found.append((v if v > 0 else None, "over" if v > 0 else "under", {"square": v * v, "k": k}))
    return found


def parts(x):
    found = []
    for v in x:
        found.append((v, tuple(v * w for w in x if w > v)))  # noqa: PERF401 - a list that grows
    return tuple(found)


def by_size(x):
    sizes = {}
    for v in x:
        sizes[int(v), 0] = sizes.get((int(v), 0), 0.0) + v * v
    return sizes


def over(x):
    return [v * v for v in x if v > 0]


def matrices(x):
    return [np.outer(x, x) * v for v in x if v > 0]


GROWING = {
    "numbers": lambda x: sum(dj.jvp(over, (x,), (x,))[1]) * len(dj.linearize(over, x)[0]),
    "arrays": lambda x: np.sum(dj.linearize(matrices, x)[1](x)[0]) + dj.jvp(matrices, (x,), (x,))[0][1][0, 0],
    "objects": lambda x: sum(s.bright * s.at[-1] for s in dj.jvp(bright, (x,), (x,))[1]),
    "extras": lambda x: sum(
        (0.0 if v is None else v) * more["square"] + len(name) + more["k"]
        for v, name, more in dj.grad(lambda u: (u[0], named(u)), has_aux=True)(x)[1]
    ),
    "tuples": lambda x: sum(v * len(more) + sum(more) for v, more in dj.linearize(parts, x)[1](x)),
    "dict": lambda x: dj.jvp(by_size, (x,), (x,))[1][2, 0] * dj.vjp(lambda u: (u, [1.0]), x)[0][0][1],
}


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", GROWING)
def test_a_derivative_inside_gives_lists_that_grow(name, backend, monkeypatch):
    """Programs could not read them, and trees of lists of a program inside were taken for those of the one around it.

    Plainly called, a program takes its derivatives by themselves.
    """
    monkeypatch.setattr(dj.settings, "backend", backend)
    f, x = GROWING[name], np.array([0.3, -1.2, 2.1])
    assert dj.jit(f)(x) == pytest.approx(f(x))
    step = 1e-6
    slope = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(dj.grad(f)(x), slope, rtol=1e-6, atol=1e-8)


def test_a_list_that_a_derivative_gives_is_not_changed():
    def longer(x):
        found = dj.jvp(over, (x,), (x,))[0]
        found.append(2.0)
        return sum(found)

    def copied(x):
        found = list(dj.jvp(over, (x,), (x,))[0])
        found.append(2.0)
        return sum(found)

    x = np.array([0.3, -1.2, 2.1])
    with pytest.raises(dj.MemoryProblem, match="DJ402"):
        dj.jit(longer, backend="python")(x)
    assert dj.jit(copied, backend="python")(x) == pytest.approx(copied(x))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_deques_are_pythons(backend):
    """Callers got an object of a class of diffjit's."""

    def last(x):
        found = deque(maxlen=2)
        for v in x:
            found.append(v * v)
        return found

    def two(x):
        return deque([x[0] * x[1], x[1]], 3)

    x = np.array([0.3, -1.2, 2.1])
    for f, slopes in ((last, [2.88, 8.82]), (two, [-0.72, -1.2])):
        value, tangent = dj.jvp(f, (x,), (x,), backend=backend)
        for found in (dj.jit(f, backend=backend)(x), value):
            assert type(found) is deque
            assert found.maxlen == f(x).maxlen
            np.testing.assert_allclose(found, f(x))
        assert type(tangent) is deque
        np.testing.assert_allclose(tangent, slopes)
    pullback = dj.vjp(two, x, backend=backend)[1]
    np.testing.assert_allclose(pullback(deque([1.0, 2.0]))[0], [-1.2, 2.3, 0.0])
    with pytest.raises(dj.TypeProblem, match="DJ319"):
        dj.jit(lambda x: np.broadcast(x, x), backend=backend)(x)
    with pytest.raises(dj.TypeProblem, match="DJ319"):
        dj.jit(lambda x: ValueError(x[0]), backend=backend)(x)


SHORT = {
    "tangent of one entry": lambda x, k: dj.jvp(np.sum, (x,), (x[:k],))[1],
    "number for an array": lambda x, k: dj.jvp(np.sum, (x,), (1.0 * k,))[1],
    "tangent map": lambda x, k: dj.linearize(np.sum, x)[1](x[:k]),
    "cotangent of one entry": lambda x, k: dj.vjp(np.sin, x)[1](x[:k])[0],
    "cotangent of a number": lambda x, k: dj.vjp(np.sum, x)[1](x[:k])[0],
    "missing key": lambda x, k: dj.vjp(lambda y: {"a": y[k], "b": y}, x)[1]({"a": 1.0})[0],
    "series": lambda x, k: dj.jet(np.sum, (x,), ([x[:k]],))[1],
}


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", SHORT)
def test_shapes_must_agree_inside_too(name, backend, monkeypatch):
    """Tangents and cotangents of length 1 were stretched inside; outside, an array was taken for that of a number."""
    monkeypatch.setattr(dj.settings, "backend", backend)
    for length in (3, 20):  # known while the program is built, and not
        x = np.linspace(0.1, 1.0, length)
        with pytest.raises(dj.UsageError, match="DJ507"):
            SHORT[name](x, 1)
        with pytest.raises((dj.UsageError, ValueError), match="DJ507"):
            dj.jit(SHORT[name])(x, 1)


def test_a_cotangent_may_be_none_inside_too():
    def f(x):
        return dj.vjp(lambda y: (y[0] * y[1], y), x)[1]((1.0, None))[0]

    x = np.array([0.3, -1.2, 2.1])
    np.testing.assert_array_equal(f(x), [-1.2, 0.3, 0.0])
    np.testing.assert_array_equal(dj.jit(f, backend="python")(x), [-1.2, 0.3, 0.0])
