"""`grad` and `value_and_grad`: which arguments, in which structure, class and dtype, how often."""

import functools
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
VERBS = ["grad", "value_and_grad"]
EXPONENT = 3.0
grad = functools.partial(dj.grad, backend="python")
value_and_grad = functools.partial(dj.value_and_grad, backend="python")
Point = namedtuple("Point", "x y")  # noqa: PYI024 - users write both


class Layer(NamedTuple):
    weights: np.ndarray
    bias: float


@dataclass
class Medium:
    speed: float
    depths: np.ndarray
    label: str = "water"
    count: int = 2


@dataclass(frozen=True)
class Setup:
    medium: Medium
    angle: float


def energy(x, k, n=2):
    return k * np.sum(x**n)


X = np.array([1.0, 2.0, 4.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_plain_call(backend):
    np.testing.assert_allclose(dj.grad(energy, backend=backend)(X, 0.5), X)
    value, gradient = dj.value_and_grad(energy, backend=backend)(X, 0.5)
    assert value == 10.5
    np.testing.assert_allclose(gradient, X)


def test_bare_decorators(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")

    @dj.grad
    def slope(x):
        """Of a parabola."""
        return x * x

    @dj.value_and_grad
    def both(x):
        return x * x

    assert slope(3.0) == 6.0
    assert slope.__name__ == "slope"
    assert slope.__doc__ == "Of a parabola."
    assert both(3.0) == (9.0, 6.0)


def test_decorators_with_arguments():
    @dj.grad(argnums="w", backend="python")
    def by_weight(x, w):
        return x * w**2

    @dj.value_and_grad(argnums=(1, 0), backend="python")
    def by_both(x, w):
        return x * w**2

    assert by_weight(2.0, 3.0) == 12.0
    assert by_both(2.0, 3.0) == (18.0, (12.0, 9.0))


@pytest.mark.parametrize(
    ("argnums", "wanted"),
    [
        (0, 15.0),
        (1, 10.0),
        (2, 6.0),
        (-1, 6.0),
        (-3, 15.0),
        ("y", 10.0),
        ((0,), (15.0,)),
        ((0, 2), (15.0, 6.0)),
        ((2, 0), (6.0, 15.0)),
        ((-1, "x"), (6.0, 15.0)),
        (["z", 1], (6.0, 10.0)),
        (("x", "y", "z"), (15.0, 10.0, 6.0)),
    ],
)
def test_argnums(argnums, wanted):
    def product(x, y, z):
        return x * y * z

    assert grad(product, argnums)(2.0, 3.0, 5.0) == wanted


def test_argnums_of_arguments_passed_by_name():
    def product(x, y, z):
        return x * y * z

    assert grad(product, "z")(2.0, z=5.0, y=3.0) == 6.0
    assert grad(product, ("z", "x"))(2.0, z=5.0, y=3.0) == (6.0, 15.0)
    assert grad(product, 1)(2.0, y=3.0, z=5.0) == 10.0


def test_keyword_only_arguments():
    def decay(t, *, rate, amount=2.0):
        return amount * np.exp(-rate * t)

    assert grad(decay, "rate")(1.5, rate=0.5) == pytest.approx(-3 * np.exp(-0.75))
    assert grad(decay, ("amount", 0))(1.5, rate=0.5, amount=4.0) == pytest.approx((np.exp(-0.75), -2 * np.exp(-0.75)))


@pytest.mark.parametrize("argnums", ["q", 5, -4, (0, "q")])
def test_argument_that_is_not_there(argnums):
    with pytest.raises(dj.UsageError, match="DJ505"):
        grad(energy, argnums)(X, 0.5)


def test_integer_argument_is_refused():
    with pytest.raises(dj.UsageError, match="DJ501"):
        grad(lambda n: n * 2.0)(3)
    with pytest.raises(dj.UsageError, match="DJ501"):
        grad(energy)(np.array([1, 2]), 0.5)


def test_result_that_is_not_a_float():
    with pytest.raises(dj.TypeProblem, match="DJ320"):
        grad(lambda x: x * 2)(X)
    with pytest.raises(dj.TypeProblem, match="DJ320"):
        grad(lambda x: (x, x))(1.0)


def test_has_aux():
    def loss(w, x):
        r = w * x - 1.0
        return np.sum(r * r), {"residual": r, "steps": 3, "name": "fit"}

    w, x = 0.5, np.array([1.0, 3.0])
    gradient, aux = grad(loss, has_aux=True)(w, x)
    assert gradient == pytest.approx(np.sum(2 * (w * x - 1) * x))
    np.testing.assert_allclose(aux["residual"], w * x - 1)
    assert aux["steps"] == 3
    assert aux["name"] == "fit"
    (value, aux), gradients = value_and_grad(loss, (0, 1), has_aux=True)(w, x)
    assert value == pytest.approx(0.5)
    np.testing.assert_allclose(gradients[1], 2 * (w * x - 1) * w)
    assert list(aux) == ["residual", "steps", "name"]


def test_has_aux_without_a_pair():
    with pytest.raises(dj.UsageError, match="DJ506"):
        grad(lambda x: x * x, has_aux=True)(1.0)


def test_methods():
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        def energy(self, x):
            return 0.5 * self.stiffness * x * x

        @dj.grad(argnums="x", backend="python")
        def force(self, x):
            return 0.5 * self.stiffness * x * x

    spring = Spring(3.0)
    force = grad(spring.energy)
    assert force(2.0) == 6.0
    assert spring.force(2.0) == 6.0
    spring.stiffness = 5.0
    assert force(2.0) == 10.0
    assert spring.force(2.0) == 10.0


def test_object_as_the_argument():
    class Spring:
        def __init__(self, stiffness, rest):
            self.stiffness = stiffness
            self.rest = rest

        def energy(self, x):
            return 0.5 * self.stiffness * (x - self.rest) ** 2

    found = grad(lambda s, x: s.energy(x))(Spring(3.0, 0.5), 2.5)
    assert type(found) is Spring
    assert found.stiffness == 2.0
    assert found.rest == -6.0


def test_lambdas_and_partials():
    assert grad(lambda x, y: x * y)(2.0, 3.0) == 3.0
    assert [grad(f)(2.0) for f in (lambda x: x * x, lambda x: 3 * x)] == [4.0, 3.0]
    np.testing.assert_allclose(grad(functools.partial(energy, k=2.0))(X), 4 * X)
    np.testing.assert_allclose(grad(functools.partial(energy, X))(2.0), np.sum(X**2))
    np.testing.assert_allclose(grad(functools.partial(energy, n=3), "k")(X, 2.0), np.sum(X**3))


def test_star_arguments():
    def total(*xs, **named):
        return sum(x * x for x in xs) + 3 * named["b"]

    assert grad(total, (0, 1))(1.0, 2.0, b=1.0) == (2.0, 4.0)
    assert grad(total, "b")(1.0, b=1.0) == 3.0


def quadratic(p):
    """Over a tree with the entries a (number), b (array)."""
    a, b = p
    return a * np.sum(b * b)


@pytest.mark.parametrize(
    "cls", [tuple, list, Point._make, Layer._make], ids=["tuple", "list", "namedtuple", "NamedTuple"]
)
def test_sequences(cls):
    p = cls([2.0, X])
    found = grad(quadratic)(p)
    assert type(found) is type(p)
    assert found[0] == np.sum(X * X)
    np.testing.assert_array_equal(found[1], 4 * X)


@pytest.mark.parametrize("cls", [dict, OrderedDict])
def test_mappings(cls):
    p = cls([("b", X), ("a", 2.0)])
    found = grad(lambda p: p["a"] * np.sum(p["b"] ** 2))(p)
    assert type(found) is cls
    assert list(found) == ["b", "a"]
    assert found["a"] == np.sum(X * X)
    np.testing.assert_array_equal(found["b"], 4 * X)


def test_dataclasses():
    setup = Setup(Medium(2.0, X, "ice"), 0.5)
    found = grad(lambda s: s.angle * s.medium.speed * np.sum(s.medium.depths**2))(setup)
    assert type(found) is Setup
    assert type(found.medium) is Medium
    assert found.angle == 42.0
    assert found.medium.speed == 10.5
    np.testing.assert_array_equal(found.medium.depths, 2 * X)
    assert found.medium.label == "ice"


def test_nested_trees():
    layers = [Layer(np.array([[0.1, 0.2], [0.3, 0.4]]), 0.5), Layer(np.array([[1.0, -1.0]]), 0.0)]
    params = {"layers": layers, "scale": (1.5, None)}

    def network(params, x):
        for layer in params["layers"]:
            x = np.tanh(layer.weights @ x + layer.bias)
        return params["scale"][0] * np.sum(x)

    x = np.array([0.3, -0.2])
    found = grad(network)(params, x)
    assert list(found) == ["layers", "scale"]
    assert [type(layer) for layer in found["layers"]] == [Layer, Layer]
    assert found["scale"][1] is None
    np.testing.assert_allclose(found["scale"][0], network(params, x) / 1.5, rtol=1e-13)
    h = 1e-6
    layers[0].weights[1, 0] += h
    ahead = network(params, x)
    layers[0].weights[1, 0] -= 2 * h
    np.testing.assert_allclose(found["layers"][0].weights[1, 0], (ahead - network(params, x)) / (2 * h), rtol=1e-7)


def test_integer_leaves_and_other_things_in_a_tree():
    p = {"w": 2.0, "n": 3, "name": "cubic", "on": True, "idx": np.array([0, 2]), "none": None}
    found = grad(lambda p: p["w"] ** p["n"] if p["on"] else p["w"])(p)
    assert found["w"] == 12.0
    assert found["n"] == 0
    assert type(found["n"]) is int
    assert found["name"] == "cubic"
    assert found["on"] is True
    assert found["none"] is None
    assert found["idx"].dtype == p["idx"].dtype
    np.testing.assert_array_equal(found["idx"], [0, 0])


def test_argument_without_influence():
    found = grad(lambda x, y, z: np.sum(z), ("x", "y"))(X, 2.0, X)
    np.testing.assert_array_equal(found[0], np.zeros(3))
    assert found[1] == 0.0
    np.testing.assert_array_equal(grad(lambda x: 3.0)(X), np.zeros(3))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "x",
    [1.5, np.float64(1.5), np.float32(1.5), np.array(1.5), np.float32([1.5, 2]), np.ones((2, 3))],
    ids=["float", "float64", "float32", "0-d", "float32s", "matrix"],
)
def test_gradient_has_the_type_of_the_argument(backend, x):
    found = dj.grad(lambda x: np.sum(x * x), backend=backend)(x)
    if isinstance(x, float):
        assert isinstance(found, float)
    else:
        assert isinstance(found, np.ndarray) == isinstance(x, np.ndarray) or np.ndim(x) == 0
        assert found.dtype == x.dtype
    assert np.shape(found) == np.shape(x)
    np.testing.assert_allclose(found, 2 * x)


def test_dtype_with_mixed_operands():
    x = np.float32([1, 2])
    w = np.array([0.1, 0.2])
    found = grad(lambda x, w: np.sum(x * w), (0, 1))(x, w)
    assert [g.dtype for g in found] == [np.float32, np.float64]


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_layouts(order):
    x = np.array(np.arange(6.0).reshape(2, 3), order=order)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x[0] * x[1]))(x), [[3, 4, 5], [0, 1, 2]])
    wide = np.zeros((4, 6))
    wide[::2, ::2] = x
    np.testing.assert_array_equal(grad(lambda x: np.sum(x[0] * x[1]))(wide[::2, ::2]), [[3, 4, 5], [0, 1, 2]])


def test_read_only_and_empty_arguments():
    x = np.array([1.0, 2.0])
    x.flags.writeable = False
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(x), [2, 4])
    assert grad(lambda x: np.sum(x * x))(np.zeros(0)).shape == (0,)


def test_gradients_share_no_memory_with_arguments_or_each_other():
    x, y = np.ones(3), np.ones(3)
    a, b = grad(lambda x, y: np.sum(x + y), (0, 1))(x, y)
    assert not np.shares_memory(a, b)
    a[0] = 5.0
    np.testing.assert_array_equal(b, [1, 1, 1])
    np.testing.assert_array_equal(grad(lambda x, y: np.sum(x * y))(x, y), y)
    assert not np.shares_memory(grad(lambda x, y: np.sum(x * y))(x, y), y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_that_the_function_writes_stay(backend):
    def f(x):
        x *= 2.0
        x[0] = x[1] * x[2]
        return np.sum(x * x)

    x = np.array([1.0, 2.0, 3.0])
    found = dj.grad(f, backend=backend)(x)
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_allclose(found, [0, 32 * 2 * 9 + 8 * 2, 32 * 4 * 3 + 8 * 3])


@pytest.mark.parametrize("backend", BACKENDS)
def test_globals_are_read_afresh(backend, monkeypatch):
    slope = dj.grad(lambda x: x**EXPONENT, backend=backend)
    assert slope(2.0) == pytest.approx(12.0)
    monkeypatch.setitem(globals(), "EXPONENT", 2.0)
    assert slope(2.0) == pytest.approx(4.0)


def test_closures_are_read_afresh():
    scale, weights = 2.0, np.array([1.0, 2.0])

    def f(x):
        return scale * np.sum(weights * x)

    slope = grad(f)
    np.testing.assert_array_equal(slope(np.ones(2)), [2, 4])
    scale = 3.0
    np.testing.assert_array_equal(slope(np.ones(2)), [3, 6])
    weights = np.array([5.0, 6.0, 7.0])
    np.testing.assert_array_equal(slope(np.ones(3)), [15, 18, 21])


def test_static_things_outside_respecialise():
    power = "square"

    def f(x):
        return x * x if power == "square" else x**3

    slope = grad(f)
    assert slope(2.0) == 4.0
    power = "cube"
    assert slope(2.0) == 12.0


def test_no_recompilation_for_a_new_length():
    slope = grad(lambda x, k: energy(x, k) + 0.0)  # a function of which nothing was made before
    for n in (6, 7, 9):
        np.testing.assert_allclose(slope(np.arange(1.0, n), 0.5), np.arange(1.0, n))
    assert len(slope._cache) == 1
    slope(np.float32([1, 2, 3, 4, 5]), 0.5)
    assert len(slope._cache) == 2


def test_lengths_of_small_vectors_are_known():
    slope = grad(lambda x: np.sum(x**3))
    for shape in ((3,), (7, 3), (9, 3), (7, 2), (7, 2, 3), (8, 2, 3), (7, 6)):
        x = np.linspace(0.1, 1.0, np.prod(shape)).reshape(shape)
        np.testing.assert_allclose(slope(x), 3 * x**2)
    assert len(slope._cache) == 5


def test_new_length_in_a_list_specialises():
    slope = grad(lambda xs: sum(x * x for x in xs))
    assert slope([1.0, 2.0]) == [2.0, 4.0]
    assert slope([1.0, 2.0, 3.0]) == [2.0, 4.0, 6.0]
    assert len(slope._cache) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_third_order(backend):
    f = lambda x: np.sin(x) * x**2
    once = dj.grad(f, backend=backend)
    twice = dj.grad(once, backend=backend)
    thrice = dj.grad(twice, backend=backend)
    x = 0.7
    assert once(x) == pytest.approx(np.cos(x) * x**2 + 2 * x * np.sin(x), rel=1e-13)
    assert twice(x) == pytest.approx(-np.sin(x) * x**2 + 4 * x * np.cos(x) + 2 * np.sin(x), rel=1e-13)
    assert thrice(x) == pytest.approx(-np.cos(x) * x**2 - 6 * x * np.sin(x) + 6 * np.cos(x), rel=1e-13)


def test_third_order_through_a_loop_with_writes():
    def f(x, n):
        a = np.ones(n + 1)
        for i in range(n):
            a[i + 1] = a[i] * x
        return a[n]

    assert grad(grad(grad(f)))(1.5, 5) == pytest.approx(60 * 1.5**2, rel=1e-12)


def test_stop_gradient():
    f = lambda x: x * dj.stop_gradient(x * x)
    assert dj.jit(f, backend="python")(3.0) == 27.0
    assert grad(f)(3.0) == 9.0
    assert dj.stop_gradient(3.0) == 3.0


def test_stop_gradient_of_arrays_and_trees():
    def f(x, p):
        frozen = dj.stop_gradient({"x": x, "p": (p, 1)})
        x = x * 2
        return np.sum(x * frozen["x"]) * frozen["p"][0] + p

    found = grad(f, (0, 1))(X, 0.5)
    np.testing.assert_allclose(found[0], X)
    assert found[1] == 1.0
    tangent = dj.jvp(f, (X, 0.5), (np.ones(3), 1.0), backend="python")[1]
    assert tangent == pytest.approx(np.sum(X) + 1.0)


def test_repeated_calls_are_independent():
    slope = grad(lambda x: np.sum(x * x))
    first = slope(X)
    kept = first.copy()
    second = slope(2 * X)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, 4 * X)


def test_exceptions_of_the_function_come_through():
    def f(x):
        if x < 0:
            raise ValueError("below zero")
        return np.sqrt(x)

    assert grad(f)(4.0) == 0.25
    with pytest.raises(ValueError, match="below zero"):
        grad(f)(-1.0)


def test_of_something_else():
    with pytest.raises(dj.UsageError, match="DJ504"):
        dj.grad(3.0)


def test_unknown_backend():
    with pytest.raises(dj.UsageError, match="DJ503"):
        dj.grad(energy, backend="fortran")(X, 0.5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("has_aux", [False, True])
def test_a_program_that_is_known_to_raise_raises(backend, has_aux):
    def model(x, y):
        z = np.zeros(3)
        z[:] = y
        return (np.sum(z * x), z) if has_aux else np.sum(z * x)

    with pytest.raises(ValueError, match="broadcast"):
        dj.grad(model, backend=backend, has_aux=has_aux)(np.ones(3), np.ones(2))


def test_a_gradient_does_not_compute_the_value():
    """Nobody asks for it: its sum is not in the code; what it would raise is."""

    def energy(x):
        total = 0.0
        for i in range(len(x)):
            if x[i] == 0.0:
                raise ValueError("an atom at the origin")
            total += x[i] ** 2 * np.sin(x[i])
        return total

    x = np.linspace(1.0, 2.0, 50)
    sines = {verb: dj.source(getattr(dj, verb)(energy), x, stage="lowered").count(" sin(") for verb in VERBS}
    assert sines["grad"] < sines["value_and_grad"]
    np.testing.assert_allclose(grad(energy)(X), 2 * X * np.sin(X) + X**2 * np.cos(X))
    with pytest.raises(ValueError, match="origin"):
        grad(energy)(np.array([1.0, 0.0, 2.0]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_trees_come_back_in_their_classes(backend):
    def product(p):
        return p["a"] * np.sum(p["n"] * p["b"])

    values = {"a": 2.0, "n": np.arange(3), "b": np.ones(3), "label": "x"}
    for tree in (values, OrderedDict(values), defaultdict(float, values)):
        found = grad(product, backend=backend)(tree)
        inside = dj.jit(lambda p: list(map(grad(product), [p])), backend=backend)(tree)[0]
        for gradient in (found, dj.jit(grad(product), backend=backend)(tree), inside):
            assert gradient["a"] == 3.0
            assert gradient["n"].dtype == values["n"].dtype
            np.testing.assert_array_equal(gradient["n"], np.zeros(3))
            np.testing.assert_array_equal(gradient["b"], 2.0 * np.arange(3))
        assert type(found) is type(tree)
    found = dj.vjp(product, values, backend=backend)[1](1.0)[0]
    inside = dj.jit(lambda p: dj.vjp(product, p)[1](1.0)[0], backend=backend)(values)
    np.testing.assert_array_equal(found["n"], inside["n"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_ordered_dicts_stay_ordered_dicts(backend):
    def doubled(p):
        return OrderedDict((key, 2.0 * v) for key, v in p.items())

    tree = OrderedDict(b=1.0, a=2.0)
    for found in (dj.jit(doubled, backend=backend)(tree), *dj.jvp(doubled, (tree,), (tree,), backend=backend)):
        assert type(found) is OrderedDict
        assert list(found.items()) == [("b", 2.0), ("a", 4.0)]


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_what_argnums_may_be(backend):
    def f(x, y):
        return x**2 * y

    for make in (dj.grad, dj.jacobian):
        assert make(f, argnums=np.int64(1), backend=backend)(3.0, 2.0) == 9.0
        for which in ([0, 1], np.arange(2), range(2), ("x", np.int32(1))):
            assert make(f, argnums=which, backend=backend)(3.0, 2.0) == (12.0, 9.0)
        for which in (None, 1.0, (0, None), {"x": 1}.get):
            with pytest.raises(dj.UsageError, match=r"DJ505.*which is no position or name of an argument"):
                make(f, argnums=which, backend=backend)
    assert dj.hvp(f, (3.0, 2.0), (1.0, 0.5), argnums=np.int64(0), backend=backend) == 4.0 + 3.0
