"""Taylor mode: against series by mpmath, JAX's `jet` and nested `jvp`, and the algebra of power series."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import mpmath
import numpy as np
import pytest

import diffjit as dj

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax_jet = pytest.importorskip("jax.experimental.jet").jet

BACKENDS = ["python", "numba"]
X = np.array([0.3, -0.4, 1.1])


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def unit(order):
    return (1.0, *[0.0] * (order - 1))


def taylor(f, x, order):
    """Derivatives 1, ..., order by mpmath, to 40 digits."""
    with mpmath.workdps(40):
        found = mpmath.taylor(f, mpmath.mpf(x), order)
        return [float(c * mpmath.factorial(m)) for m, c in enumerate(found)][1:]


def terms(seed, *values, order):
    """Random terms of a curve through each value."""
    noise = np.random.default_rng(seed)
    one = [tuple(noise.standard_normal(np.shape(x)) for _ in range(order)) for x in values]
    return tuple(t if np.ndim(x) else tuple(map(float, t)) for x, t in zip(values, one, strict=True))


def derivative(g):
    return lambda t: jax.jvp(g, (t,), (1.0,))[1]


def nested(f, primals, series):
    """JAX's derivatives along the curve, by `jvp` of `jvp` of ..."""
    order = len(series[0])

    def on_curve(t):
        return f(
            *(
                sum((c * t**m / math.factorial(m) for m, c in enumerate(s, 1)), x)
                for x, s in zip(primals, series, strict=True)
            )
        )

    found = []
    for _ in range(order):
        on_curve = derivative(on_curve)
        found.append(jax.jit(on_curve)(0.0))
    return found


def agrees(f, g, *primals, order=3, seed=0, backends=BACKENDS, tolerance=1e-9):
    """`dj.jet(f)` against nested JAX derivatives of `g`, which computes the same."""
    series = terms(seed, *primals, order=order)
    wanted = nested(g, primals, series)
    for backend in backends:
        out, found = dj.jet(f, primals, series, backend=backend)
        np.testing.assert_allclose(out, g(*primals), rtol=1e-12, atol=1e-12)
        assert len(found) == order
        for x, y in zip(found, wanted, strict=True):
            assert np.shape(x) == np.shape(y)
            scale = max(1.0, float(np.max(np.abs(y), initial=0.0)))
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)


# Convention -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_terms_are_derivatives_as_in_jax(backend):
    """The example of JAX's documentation: sin(z**3) at z = 0.5."""
    h0, h1, h2 = 0.5**3, 3 * 0.5**2, 6 * 0.5
    found = dj.jet(np.sin, (h0,), ((h1, h2),), backend=backend)
    wanted = jax_jet(jnp.sin, (h0,), ((h1, h2),))
    np.testing.assert_allclose(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1])
    assert isinstance(found[1], list)


def test_terms_are_coefficients_where_factorials_are_left_out():
    series = ((0.7, -0.2, 0.1),)
    found = dj.jet(np.tanh, (0.4,), series, factorial_scaled=False)[1]
    np.testing.assert_allclose(found, jax_jet(jnp.tanh, (0.4,), series, factorial_scaled=False)[1], rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_trees_of_results_are_those_of_jax(backend):
    def f(np, x, y):
        return {"a": np.sin(x) * y, "b": (y**2, [x])}

    series = terms(1, X, 0.7, order=2)
    out, found = dj.jet(lambda x, y: f(np, x, y), (X, 0.7), series, backend=backend)
    other, wanted = jax_jet(lambda x, y: f(jnp, x, y), (X, jnp.asarray(0.7)), series)
    assert list(found) == list(wanted)
    np.testing.assert_allclose(found["a"], wanted["a"])
    np.testing.assert_allclose(found["b"][0], wanted["b"][0])
    np.testing.assert_allclose(found["b"][1][0], wanted["b"][1][0], atol=1e-15)
    np.testing.assert_allclose(out["a"], other["a"])


class Pair(NamedTuple):
    """A tree of a user's."""

    left: float
    right: np.ndarray


@dataclass
class Body:
    """An object."""

    mass: float
    place: np.ndarray
    name: str = "body"


@pytest.mark.parametrize("backend", BACKENDS)
def test_trees_of_primals_have_sequences_for_leaves(backend):
    def f(p, body, d):
        return p.left * body.mass * np.sum(p.right * body.place) * d["k"][0]

    a, b = X, X + 1
    primals = (Pair(2.0, a), Body(3.0, b), {"k": (0.5, 7)})
    series = (Pair((1.0, 0.5), (b, a)), Body((2.0, -1.0), (a, b)), {"k": ((1.0, 0.0), (0, 0))})
    found = dj.jet(f, primals, series, backend=backend)[1]
    wanted = nested(
        lambda l, r, m, p, k: l * m * jnp.sum(r * p) * k,  # noqa: E741
        (2.0, a, 3.0, b, 0.5),
        ((1.0, 0.5), (b, a), (2.0, -1.0), (a, b), (1.0, 0.0)),
    )
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_depend_on_the_curve_has_terms_of_zero(backend):
    def f(x, n):
        return x * n, n + 1, np.arange(3), 2.5, None, "text"

    out, found = dj.jet(f, (1.5, 3), ((1.0, 0.5), (0, 0)), backend=backend)
    assert out[1] == 4
    assert found[0] == [3.0, 1.5]
    assert found[1] == [0, 0]
    np.testing.assert_array_equal(found[2], np.zeros((2, 3)))
    assert found[3:] == ([0.0, 0.0], None, "text")


@pytest.mark.parametrize("backend", BACKENDS)
def test_dtype_and_order_zero(backend):
    x = X.astype(np.float32)
    out, found = dj.jet(lambda x: np.sin(x) * 2.0 / np.sqrt(x * x + 1), (x,), ((x, x),), backend=backend)
    assert [out.dtype, *(t.dtype for t in found)] == [np.float32] * 3
    assert dj.jet(lambda x: x * x, (2.0,), ((),), backend=backend) == (4.0, [])


def test_arguments_stay_as_they_are():
    def f(x):
        x[0] = x[1] * x[2]
        return x

    x, series = X.copy(), terms(2, X, order=2)
    kept = [t.copy() for t in series[0]]
    _, found = dj.jet(f, (x,), series, backend="python")
    np.testing.assert_array_equal(x, X)
    found[0][...] = 99
    for t, k in zip(series[0], kept, strict=True):
        np.testing.assert_array_equal(t, k)


# Programs -------------------------------------------------------------------------------------------------------------


def products(np, x, y):
    return np.exp(np.sin(x)) / (1 + y**2) + np.sqrt(x * x + y * y) * np.tanh(x - y) + (x * x + 1) ** y


def powers(np, x):
    return np.abs(x) ** 2.5 + x**3 + (x * x + 1) ** -1.5 + 2.0**x


def kinks(np, x):
    return np.abs(x) * x + np.maximum(x, 0.2) ** 2 + np.clip(x, -0.3, 0.5) * x + np.where(x > 0, np.sin(x), x**2)


def ordered(np, x):
    return np.sort(x * x) * np.max(np.sin(x)) + np.cumsum(x) * np.min(x) + np.prod(x) + np.cumprod(x * x)


def shaped(np, x):
    y = np.concatenate([x, x * x])[::-1].reshape(2, 3)
    return (y @ x)[:, None] * x[np.array([0, 2])] + np.transpose(y)[1] * np.mean(y, axis=0)[0]


ARRAYS = {f.__name__: f for f in (powers, kinks, ordered, shaped)}


@pytest.mark.parametrize("name", ARRAYS)
def test_array_programs(name):
    f = ARRAYS[name]
    agrees(lambda x: f(np, x), lambda x: f(jnp, x), X)


def test_two_arguments_to_order_six():
    agrees(lambda x, y: products(np, x, y), lambda x, y: products(jnp, x, y), 0.7, 0.4, order=6)
    agrees(lambda x, y: products(np, x, y), lambda x, y: products(jnp, x, y), X, 0.4, backends=["python"])


A = np.array([[3.0, 0.4, -0.2], [0.1, 2.5, 0.6], [-0.3, 0.2, 1.8]])


@pytest.mark.parametrize(
    "name", ["solve", "solve_of_matrices", "inv", "det", "cholesky", "matmul", "solve_of_stacks", "det_of_stacks"]
)
def test_linear_algebra(name):
    def f(np, a, b):
        match name:
            case "solve":
                return np.linalg.solve(a, b[0])
            case "solve_of_matrices":
                return np.linalg.solve(a, b)
            case "inv":
                return np.linalg.inv(a @ b)
            case "det":
                return np.linalg.det(a) * b
            case "cholesky":
                return np.linalg.cholesky(a @ np.transpose(a) + b @ np.transpose(b))
            case "matmul":
                return a @ b @ a[0]
            case "solve_of_stacks":
                return np.linalg.solve(np.stack([a, b]), b)
            case _:
                return np.linalg.det(np.stack([a, b]))

    backends = BACKENDS if name in ("solve", "inv") else ["python"]
    agrees(lambda a, b: f(np, a, b), lambda a, b: f(jnp, a, b), A, A.T + 1.0, backends=backends)


@pytest.mark.parametrize(
    "matrix",
    [
        A,
        np.zeros((3, 3)),
        np.outer([1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
        np.array([[1.0, 2.0], [2.0, 4.0]]),
        np.ones((1, 1)),
    ],
)
def test_a_determinant_is_a_polynomial_also_where_it_vanishes(matrix):
    """det(M + t D + t^2 E), whose coefficients follow from its values at roots of unity."""
    noise, n = np.random.default_rng(3), len(matrix)
    d, e = noise.standard_normal((2, n, n))
    points = np.exp(2j * np.pi * np.arange(8) / 8)
    values = [np.linalg.det(matrix + t * d + t * t * e) for t in points]
    wanted = np.fft.fft(values).real / 8
    zeros = np.zeros((n, n))
    out, found = dj.jet(np.linalg.det, (matrix,), ((d, e, *[zeros] * 4),), factorial_scaled=False, backend="python")
    np.testing.assert_allclose([out, *found], wanted[:7], atol=1e-12)


def loops(u, k):
    u = u.copy()
    for _ in range(3):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]
    return np.sum(u * u)


def loops_in_jax(u, k):
    u = jnp.asarray(u)
    for _ in range(3):
        for i in range(1, u.size - 1):
            u = u.at[i].set(u[i] + k * jnp.sin(u[i - 1]) * u[i + 1])
    return jnp.sum(u * u)


def views(x):
    y = np.zeros(x.size)
    y[:] = x * x
    z = y[1:]
    z *= x[0]
    y[::2] += np.exp(x[::2])
    return y


def views_in_jax(x):
    y = jnp.asarray(x * x)
    y = y.at[1:].set(y[1:] * x[0])
    return y.at[::2].add(jnp.exp(x[::2]))


def lists(x):
    items = []
    for i in range(x.size):
        if x[i] > 0:
            items.append(x[i] ** 2)
        else:
            items.append(np.cos(x[i]))
    total = 1.0
    while items:
        total = total * items.pop() + x[0]
    return total


def lists_in_jax(x):
    items = [v**2 if w > 0 else jnp.cos(v) for v, w in zip(x, X, strict=True)]
    total = 1.0
    for item in items[::-1]:
        total = total * item + x[0]
    return total


def recursive(x, n=4):
    return x if n <= 0 else np.sin(recursive(x * 1.1, n - 1)) * x


def recursive_in_jax(x, n=4):
    return x if n <= 0 else jnp.sin(recursive_in_jax(x * 1.1, n - 1)) * x


def test_programs():
    agrees(loops, loops_in_jax, np.linspace(0.2, 1.0, 5), 0.3, order=4)
    agrees(views, views_in_jax, X)
    agrees(lists, lists_in_jax, X)
    agrees(recursive, recursive_in_jax, 0.7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_that_grow_are_results(backend):
    def f(x, n):
        powers = []
        while len(powers) < n:
            powers.append(x ** len(powers))
        return powers

    _, found = dj.jet(f, (2.0, 4), (unit(3), (0, 0, 0)), backend=backend)
    np.testing.assert_allclose(found, [[0, 1, 4, 12], [0, 0, 2, 12], [0, 0, 0, 6]])


# Rules of one's own ---------------------------------------------------------------------------------------------------

# Wrong by a factor on purpose: that is how a test sees that they were used.


def wrong_sine(np, make):
    @make
    def f(x, y):
        return np.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (a, b) = primals, tangents
        return f(x, y), 3.0 * np.cos(x) * a * y + f(x, 2.0 * b)

    return f


def wrong_power(np, make):
    """A rule with a loop that reads the result."""

    @make
    def f(x):
        return x**3

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        out = f(x)
        total = 0.0
        for k in range(3):
            total = total + k * out / x
        return out, total * x_dot

    return f


def test_rules_of_ones_own_are_followed():
    for make in (wrong_sine, wrong_power):
        f, g = make(np, dj.custom_jvp), make(jnp, jax.custom_jvp)
        points = (0.7, 0.4) if make is wrong_sine else (0.7,)
        agrees(lambda *x: f(*(v * v for v in x)), lambda *x: g(*(v * v for v in x)), *points, order=4)  # noqa: B023


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reverse_rule_gives_series(backend):
    @dj.custom_vjp
    def f(x):
        return np.exp(x)

    f.defvjp(lambda x: (np.exp(x), np.exp(x)), lambda kept, out_bar: (2.0 * kept * out_bar,))
    # Its tangent is 2 exp(x) x_dot, and there exp is the plain one.
    found = dj.jet(lambda x: f(x * x), (0.3,), (unit(3),), backend=backend)[1]
    np.testing.assert_allclose(found, [2 * d for d in taylor(lambda x: mpmath.exp(x * x), 0.3, 3)])


@pytest.mark.parametrize("backend", BACKENDS)
def test_implicit_functions(backend):
    found = dj.jet(lambda p: dj.root(lambda x, p: x**3 + x - p, 0.5, p), (1.3,), (unit(4),), backend=backend)[1]
    wanted = taylor(lambda p: mpmath.findroot(lambda x: x**3 + x - p, 0.8), 1.3, 4)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_matrix_free_linear_systems(backend):
    def f(m, b):
        return dj.linear_solve(lambda x: m @ x, b)

    agrees(f, jnp.linalg.solve, A, X, order=4, backends=[backend], tolerance=1e-7)


# With other verbs -----------------------------------------------------------------------------------------------------


def third(x):
    """The third derivative of a function."""
    return dj.jet(lambda z: np.sin(z) * z**2, (x,), (unit(3),))[1][2]


@pytest.mark.parametrize("backend", BACKENDS)
def test_under_other_verbs(backend):
    d = taylor(lambda x: mpmath.sin(x) * x**2, 0.6, 6)
    xs = np.array([0.6, 0.6])
    with_backend = {"backend": backend}
    np.testing.assert_allclose(dj.jit(third, **with_backend)(0.6), d[2])
    np.testing.assert_allclose(dj.grad(third, **with_backend)(0.6), d[3])
    np.testing.assert_allclose(dj.jvp(third, (0.6,), (1.0,), **with_backend)[1], d[3])
    np.testing.assert_allclose(dj.vjp(third, 0.6, **with_backend)[1](1.0)[0], d[3])
    np.testing.assert_allclose(dj.hessian(third, **with_backend)(0.6), d[4])
    np.testing.assert_allclose(dj.vmap(third, **with_backend)(xs), [d[2]] * 2)
    np.testing.assert_allclose(dj.vmap(dj.grad(third), **with_backend)(xs), [d[3]] * 2)
    np.testing.assert_allclose(dj.jet(third, (0.6,), (unit(3),), **with_backend)[1], d[3:])


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_other_verbs(backend):
    def f(x):
        return np.sum(np.sin(x) ** 3 * x[0])

    def g(x):
        return jnp.sum(jnp.sin(x) ** 3 * x[0])

    agrees(dj.grad(f), jax.grad(g), X, backends=[backend])
    agrees(dj.jit(f), g, X, backends=[backend])
    agrees(dj.hessian(f), jax.hessian(g), X, backends=[backend])
    agrees(dj.vmap(lambda a: np.sin(a) * a), lambda x: jnp.sin(x) * x, X, backends=[backend])
    agrees(lambda x: dj.vjp(f, x)[1](2.0)[0], lambda x: 2.0 * jax.grad(g)(x), X, backends=[backend])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_over_orders_inside_a_program(backend):
    """Taylor's method for y' = y^2, whose solution y0 / (1 - y0 t) has coefficients y0^(m + 1)."""

    def solution(y):
        a = y * y
        b = 2 * y * a
        field = lambda z: z * z
        c = dj.jet(field, (y,), ((a, b),))[1][1]
        d = dj.jet(field, (y,), ((a, b, c),))[1][2]
        return a, b, c, d

    found = dj.jit(solution, backend=backend)(0.5)
    np.testing.assert_allclose(found, [math.factorial(m) * 0.5 ** (m + 1) for m in range(1, 5)])


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("primals", "series", "message"),
    [
        ((1.0,), ((1.0,), (1.0,)), "1 primals and 2 series"),
        ((1.0,), (1.0,), "not a sequence of terms"),
        (1.0, (1.0,), "takes a tuple"),
        ((1.0, 2.0), ((1.0,), (1.0, 2.0)), "different numbers of terms: 1 and 2"),
        ((X,), ((1.0,),), "shape"),
        ((X,), ((X[:2],),), "shape"),
        (({"a": 1.0},), (((1.0,),),), "structure"),
        (({"a": 1.0},), ({"b": (1.0,)},), "structure"),
        (((1.0, 2.0),), (((1.0,),),), "structure"),
        ((1.0,), (("a",),), "not a number"),
    ],
)
def test_what_does_not_fit_is_refused(primals, series, message):
    with pytest.raises(dj.UsageError, match=message) as found:
        dj.jet(lambda *x: x[0], primals, series, backend="python")
    assert found.value.code == "DJ507"


def test_refusals_inside_programs_show_the_line():
    with pytest.raises(dj.UsageError, match="1 primals and 2 series") as found:
        dj.jit(lambda x: dj.jet(np.sin, (x,), ((1.0,), (2.0,)))[0], backend="python")(1.0)
    assert "test_jet.py" in str(found.value)
    with pytest.raises(dj.UsageError, match="without its series"):
        dj.jit(lambda x: dj.jet(np.sin, (x,))[0], backend="python")(1.0)


def test_growing_lists_of_arrays_are_refused():
    def f(x, n):
        items = []
        while len(items) < n:
            items.append(x * len(items))
        return items

    with pytest.raises(dj.TypeProblem) as found:
        dj.jet(f, (X, 3), ((X, X), (0, 0)), backend="python")
    assert found.value.code == "DJ329"
