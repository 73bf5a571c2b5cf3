"""`jvp`, `vjp`, their compositions, and `check_grads`."""

import functools
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
jvp = functools.partial(dj.jvp, backend="python")
vjp = functools.partial(dj.vjp, backend="python")
grad = functools.partial(dj.grad, backend="python")
Point = namedtuple("Point", "x y")  # noqa: PYI024 - users write both


@dataclass
class Medium:
    speed: float
    depths: np.ndarray
    count: int = 2


def steps(u, k):
    u = u.copy()
    for i in range(1, u.size):
        u[i] = u[i] + k * np.sin(u[i - 1])
    return u


def jacobian_of_steps(u, k):
    """By differences."""
    h = 1e-6
    columns = [(steps(u + h * e, k) - steps(u - h * e, k)) / (2 * h) for e in np.eye(u.size)]
    return np.stack(columns, axis=1), (steps(u, k + h) - steps(u, k - h)) / (2 * h)


@pytest.mark.parametrize("backend", BACKENDS)
def test_jacobian_by_both(backend):
    u, k = np.array([0.3, -0.2, 0.8, 0.1]), 0.7
    by_u, by_k = jacobian_of_steps(u, k)
    value, pullback = dj.vjp(steps, u, k, backend=backend)
    np.testing.assert_allclose(value, steps(u, k), rtol=1e-14)
    for i, e in enumerate(np.eye(4)):
        u_bar, k_bar = pullback(e)
        np.testing.assert_allclose(u_bar, by_u[i], atol=1e-9)
        np.testing.assert_allclose(k_bar, by_k[i], atol=1e-9)
        value, tangent = dj.jvp(steps, (u, k), (e, 0.0), backend=backend)
        np.testing.assert_allclose(tangent, by_u[:, i], atol=1e-9)
    np.testing.assert_allclose(dj.jvp(steps, (u, k), (np.zeros(4), 1.0), backend=backend)[1], by_k, atol=1e-9)


def test_integer_arguments():
    def power(x, n):
        return x**n

    assert jvp(power, (2.0, 3), (1.0, 0)) == (8.0, 12.0)
    _, pullback = vjp(power, 2.0, 3)
    assert pullback(1.0) == (12.0, 0)


def test_results_without_a_derivative():
    def f(x):
        return x * x, x > 0, 3, "name", int(x)

    value, tangent = jvp(f, (2.5,), (1.0,))
    assert value == (6.25, True, 3, "name", 2)
    assert tangent[0] == 5.0
    value, pullback = vjp(f, 2.5)
    assert value == (6.25, True, 3, "name", 2)
    assert pullback((2.0, 0, 0, "name", 0)) == (10.0,)


def test_trees():
    def f(p, m):
        return {"a": m.speed * p.x, "b": [m.depths * p.y, Point(p.x, m.speed)]}

    p, m = Point(2.0, 3.0), Medium(0.5, np.array([1.0, 4.0]))
    p_dot, m_dot = Point(1.0, 0.5), Medium(2.0, np.array([0.1, 0.2]), 0)
    value, tangent = jvp(f, (p, m), (p_dot, m_dot))
    assert list(value) == list(tangent) == ["a", "b"]
    assert tangent["a"] == pytest.approx(2.0 * 2.0 + 0.5 * 1.0)
    np.testing.assert_allclose(tangent["b"][0], m_dot.depths * 3.0 + m.depths * 0.5)
    assert tangent["b"][1] == Point(1.0, 2.0)
    _, pullback = vjp(f, p, m)
    p_bar, m_bar = pullback({"a": 1.0, "b": [np.array([1.0, -1.0]), Point(0.0, 2.0)]})
    assert type(p_bar) is Point
    assert type(m_bar) is Medium
    assert p_bar == Point(0.5, -3.0)
    assert m_bar.speed == 4.0
    np.testing.assert_array_equal(m_bar.depths, [3.0, -3.0])


def test_dtypes():
    x = np.float32([1, 2])
    value, tangent = jvp(lambda x: x * x, (x,), (x,))
    assert value.dtype == tangent.dtype == np.float32
    value, pullback = vjp(lambda x, a: x * a, x, np.float32(2))
    x_bar, a_bar = pullback(np.ones(2))
    assert x_bar.dtype == np.float32
    assert a_bar.dtype == np.float32


def test_has_aux():
    def f(x):
        y = x * x
        return y, {"root": y - 1.0, "steps": 4}

    value, tangent, aux = jvp(f, (3.0,), (1.0,), has_aux=True)
    assert (value, tangent) == (9.0, 6.0)
    assert aux == {"root": 8.0, "steps": 4}
    value, pullback, aux = vjp(f, 3.0, has_aux=True)
    assert value == 9.0
    assert pullback(2.0) == (12.0,)
    assert aux == {"root": 8.0, "steps": 4}


@pytest.mark.parametrize("backend", BACKENDS)
def test_pullback_called_many_times(backend):
    u = np.array([0.3, -0.2, 0.8])
    _, pullback = dj.vjp(steps, u, 0.7, backend=backend)
    first = pullback(np.ones(3))
    kept = first[0].copy()
    double = pullback(2 * np.ones(3))
    again = pullback(np.ones(3))
    np.testing.assert_array_equal(first[0], kept)
    np.testing.assert_array_equal(again[0], kept)
    np.testing.assert_allclose(double[0], 2 * kept, rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pullback_after_mutation_of_arguments_and_result(backend):
    x, w = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    value, pullback = dj.vjp(lambda x, w: np.exp(x * w), x, w, backend=backend)
    out = np.exp(x * w)
    wanted = out * w, out * x
    x[:], w[:], value[:] = 99.0, -7.0, 0.0
    for found, bar in zip(pullback(np.ones(2)), wanted, strict=True):
        np.testing.assert_allclose(found, bar, rtol=1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pullback_after_mutation_of_a_view_that_is_returned(backend):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    _, pullback = dj.vjp(lambda x: x[0] * x[1], x, backend=backend)
    x[...] = 0.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [[3, 4], [1, 2]])


def test_pullback_after_mutation_of_a_closure():
    w = np.array([3.0, 5.0])
    _, pullback = vjp(lambda x: np.sum(w * x * x), np.array([1.0, 2.0]))
    w[:] = 0.0
    np.testing.assert_array_equal(pullback(1.0)[0], [6, 20])


def test_cotangent_stays_and_is_not_shared():
    _, pullback = vjp(lambda x: x, np.ones(2))
    bar = np.array([1.0, 2.0])
    (found,) = pullback(bar)
    found[0] = 9.0
    np.testing.assert_array_equal(bar, [1, 2])


@pytest.mark.parametrize("backend", BACKENDS)
def test_function_that_writes_to_its_argument(backend):
    def f(x, a):
        x[1:] *= a
        return x

    x = np.array([1.0, 2.0, 3.0])
    value, pullback = dj.vjp(f, x, 2.0, backend=backend)
    np.testing.assert_array_equal(x, [1, 2, 3])
    np.testing.assert_array_equal(value, [1, 4, 6])
    assert not np.shares_memory(value, x)
    x_bar, a_bar = pullback(np.ones(3))
    np.testing.assert_array_equal(x_bar, [1, 2, 2])
    assert a_bar == 5.0
    _, tangent = dj.jvp(f, (x, 2.0), (np.ones(3), 1.0), backend=backend)
    np.testing.assert_array_equal(tangent, [1, 4, 5])
    np.testing.assert_array_equal(x, [1, 2, 3])


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_that_share_memory_while_one_is_written(backend):
    def f(x, y):
        x[0] = y[1] * 2
        return np.sum(x * y)

    x = np.array([1.0, 2.0, 3.0])
    for call in (dj.jit(f, backend=backend), dj.grad(f, backend=backend)):
        with pytest.raises(dj.MemoryProblem, match="DJ402"):
            call(x, x)
        with pytest.raises(dj.MemoryProblem, match="DJ402"):
            call(x[:2], x[1:])
    with pytest.raises(dj.MemoryProblem, match="DJ402"):
        dj.vjp(f, x, x, backend=backend)
    with pytest.raises(dj.MemoryProblem, match="DJ402"):
        dj.jvp(f, (x, x), (x, x), backend=backend)
    np.testing.assert_array_equal(x, [1, 2, 3])
    interleaved = np.arange(6.0)
    np.testing.assert_array_equal(dj.grad(f, 1, backend=backend)(interleaved[::2], interleaved[1::2]), [6, 2 + 2, 4])


def test_arguments_that_share_memory_and_are_only_read():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(grad(lambda x, y: np.sum(x * y))(x, x), x)


def test_shapes_and_structures_that_do_not_fit():
    with pytest.raises(dj.UsageError, match="DJ507"):
        jvp(lambda x: x * 2, (np.ones(2),), (np.ones(3),))
    with pytest.raises(dj.UsageError, match="DJ507"):
        jvp(lambda x: x * 2, (1.0,), (1.0, 2.0))
    with pytest.raises(dj.UsageError, match="DJ507"):
        jvp(lambda x: x[0], ((1.0, 2.0),), (1.0,))
    with pytest.raises(dj.UsageError, match="DJ507"):
        vjp(lambda x: x * 2, np.ones(2))[1](np.ones(3))
    with pytest.raises(dj.UsageError, match="DJ507"):
        vjp(lambda x: (x, x), 1.0)[1](1.0)


def test_no_recompilation_for_a_new_length():
    from diffjit.api.engine.derived import cached
    from diffjit.api.products import ReverseProduct

    f = lambda x: np.cumsum(x * x)
    for n in (5, 6, 8):
        _, pullback = vjp(f, np.ones(n))
        np.testing.assert_array_equal(pullback(np.ones(n))[0], 2 * np.arange(n, 0, -1))
    assert len(cached(ReverseProduct, f, "python")._cache) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_jvp_and_vjp_of_grad(backend):
    f = lambda x: np.sum(x**3) + x[0] * x[1]
    x, d = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    hessian = np.array([[6.0, 1.0], [1.0, 12.0]])
    slope, product = dj.jvp(dj.grad(f, backend=backend), (x,), (d,), backend=backend)
    np.testing.assert_allclose(slope, 3 * x**2 + x[::-1])
    np.testing.assert_allclose(product, hessian @ d)
    slope, pullback = dj.vjp(dj.grad(f, backend=backend), x, backend=backend)
    np.testing.assert_allclose(slope, 3 * x**2 + x[::-1])
    np.testing.assert_allclose(pullback(d)[0], hessian @ d)


def test_of_jitted_functions():
    f = dj.jit(lambda x: x * x, backend="python")
    assert jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert vjp(f, 3.0)[1](1.0) == (6.0,)


@pytest.mark.parametrize("order", [1, 2])
def test_check_grads_passes(order, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    dj.check_grads(lambda x, k: k * np.sum(np.sin(x) * x), (np.array([0.3, 0.8]), 1.5), order=order)


def test_check_grads_of_trees_and_several_results(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    dj.check_grads(lambda p, n: (p["a"] * p["b"], [np.exp(p["a"])] * n), ({"a": 0.5, "b": np.array([1.0, 2.0])}, 2))
    dj.check_grads(steps, (np.array([0.3, -0.2, 0.8]), 0.7), modes="rev")
    dj.check_grads(steps, (np.array([0.3, -0.2, 0.8]), 0.7), modes=("fwd",))


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_check_grads_fails_where_the_derivative_is_another(modes, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    with pytest.raises(AssertionError):
        dj.check_grads(lambda x: x * dj.stop_gradient(x), (1.5,), modes=modes)


def test_check_grads_fails_in_the_second_order_only(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    # d/dx (x c) = c is right where c is 1, but its derivative is lost.
    f = lambda x: x + 0.5 * (x - 1.5) * (x - dj.stop_gradient(x))
    dj.check_grads(lambda x: x + 0.5 * (x - 1.5) ** 2, (1.5,), order=2)
    dj.check_grads(f, (1.5,), order=1)
    with pytest.raises(AssertionError):
        dj.check_grads(f, (1.5,), order=2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stopped_array_that_is_written_to(backend):
    def energy(x):
        y = dj.stop_gradient(x)
        y[0] = 2.0 * x[1]
        return np.sum(y * x)

    x = np.array([1.0, 2.0, 3.0])
    by_hand = np.array([4.0, 4.0, 3.0])
    np.testing.assert_allclose(dj.grad(energy, backend=backend)(x), by_hand)
    tangents = [dj.jvp(energy, (x,), (e,), backend=backend)[1] for e in np.eye(3)]
    np.testing.assert_allclose(tangents, by_hand)


def test_no_product_with_a_tangent_that_is_zero():
    """The data of a regression have no tangent: none is made, and nothing is multiplied by it."""

    def loss(w, x, y):
        return np.sum((np.tanh(x @ w) - y) ** 2)

    def product(w, v, x, y):
        return dj.jvp(lambda u: dj.grad(loss)(u, x, y), (w,), (v,))[1]

    rng = np.random.default_rng(3)
    x, w, v, y = rng.normal(size=(9, 4)), rng.normal(size=4), rng.normal(size=4), rng.normal(size=9)
    text = dj.source(dj.jit(product), w, v, x, y)
    assert sum(line.count("@") for line in text.splitlines() if "#" not in line) == 3
    assert "zeros_like(x)" not in text
    hessian = dj.hessian(loss)(w, x, y)
    np.testing.assert_allclose(dj.jit(product)(w, v, x, y), hessian @ v, rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tangents_of_a_dict_whose_keys_the_run_tells(backend):
    """The keys are those of the value; they were zeros once."""

    def sums(x):
        found = {}
        for i in range(len(x)):
            key = int(x[i]) % 3
            found[key] = found.get(key, 0.0) + x[i] * x[i]
        return found

    x, dot = np.array([1.5, 2.5, 3.5, 4.2]), np.array([1.0, 2.0, 3.0, 4.0])
    want = {1: 2 * 1.5 * 1.0 + 2 * 4.2 * 4.0, 2: 2 * 2.5 * 2.0, 0: 2 * 3.5 * 3.0}
    assert dj.jvp(sums, (x,), (dot,), backend=backend)[1] == pytest.approx(want)
    assert dj.linearize(sums, x, backend=backend)[1](dot) == pytest.approx(want)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tangents_of_what_is_no_float(backend):
    """Ints, flags and what may be None beside floats: the same by every way."""

    def mixed(x):
        label = None if x[0] > 1.0 else np.sum(x)
        return x * x, np.arange(3), len(x), x[0] > 0, label, [3, 2.5], [int(v) for v in x]

    def inside(x, dot):
        return dj.jvp(mixed, (x,), (dot,))[1]

    for x in (np.array([0.5, 2.0]), np.array([1.5, 2.0])):
        dot = np.array([1.0, -1.0])
        for found in (
            dj.jvp(mixed, (x,), (dot,), backend=backend)[1],
            dj.linearize(mixed, x, backend=backend)[1](dot),
            dj.jit(inside, backend=backend)(x, dot),
        ):
            np.testing.assert_array_equal(found[0], 2 * x * dot)
            np.testing.assert_array_equal(found[1], np.zeros(3))
            assert found[1].dtype == float
            assert found[2:4] == (0.0, 0.0)
            assert found[4] == (None if x[0] > 1.0 else 0.0)
            assert found[5] == [0.0, 0.0]
            assert found[6] == [0.0, 0.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tangents_of_constants_of_numpy(backend):
    """Zeros of their class; those of no subclass of Python's float were the constants themselves."""

    def constants(x):
        return x * x, np.float32(4.5), np.float16(2.0), np.complex64(1 + 2j), np.float64(3.0)

    def inside(x, dot):
        return dj.jvp(constants, (x,), (dot,))[1]

    for found in (
        dj.jvp(constants, (2.0,), (3.0,), backend=backend)[1],
        dj.linearize(constants, 2.0, backend=backend)[1](3.0),
        dj.jit(inside, backend=backend)(2.0, 3.0),
    ):
        assert found == (12.0, 0.0, 0.0, 0.0, 0.0)
        assert [type(v) for v in found[1:]] == [np.float32, np.float16, np.complex64, np.float64]
    assert dj.value_and_grad(lambda x: np.float32(3.0), backend=backend)(2.0) == (3.0, 0.0)
    assert dj.grad(lambda z: np.complex64(3.0), holomorphic=True, backend=backend)(2j) == 0.0


@pytest.mark.parametrize("backend", BACKENDS)
def test_tangents_of_constants_in_what_may_be_none(backend):
    """They were the constants themselves, as attributes of NumPy's classes were."""

    def late(x, limit):
        if x > limit:
            return None
        return x * x, 4.5, {"scale": np.float32(3.0)}, Medium(np.float16(2.0), x)

    for limit, want in ((3.0, (4.0, 0.0, {"scale": 0.0}, Medium(0.0, 1.0, 0.0))), (1.0, None)):
        assert dj.jvp(late, (2.0, limit), (1.0, 0.0), backend=backend)[1] == want
        assert dj.linearize(late, 2.0, limit, backend=backend)[1](1.0, 0.0) == want
