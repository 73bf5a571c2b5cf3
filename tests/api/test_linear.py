"""Tangent maps, transposes, constants."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffjit as dj

jax = pytest.importorskip("jax")
jnp = jax.numpy

W = np.random.default_rng(2).standard_normal(3)
A = np.random.default_rng(3).standard_normal((4, 3))


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def sine(x):
    return np.sin(x) * x[::-1]


def sine_jax(x):
    return jnp.sin(x) * x[::-1]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_maps_under_other_verbs(backend, monkeypatch):
    """As in JAX: Jacobians from lanes of a map, and maps that are transposed and differentiated."""
    monkeypatch.setattr(dj.settings, "backend", backend)
    x = np.linspace(0.1, 1.0, 5)
    wanted = np.asarray(jax.jacobian(sine_jax)(x.copy()))
    _, tangent_map = dj.linearize(sine, x)
    _, pullback = dj.vjp(sine, x)
    y = np.cos(x)
    x[:] = 0.0  # the maps stay where they were made
    assert np.allclose(dj.vmap(tangent_map)(np.eye(5)), wanted.T, rtol=1e-12)
    assert np.allclose(dj.vmap(pullback)(np.eye(5))[0], wanted, rtol=1e-12)
    assert np.allclose(dj.jit(tangent_map)(y), wanted @ y, rtol=1e-12)
    assert np.allclose(dj.linear_transpose(tangent_map, y)(y)[0], wanted.T @ y, rtol=1e-12)
    assert np.allclose(dj.linear_transpose(pullback, y)((y,))[0], wanted @ y, rtol=1e-12)
    assert np.allclose(dj.grad(lambda t: np.sum(tangent_map(t) * t))(y), wanted @ y + wanted.T @ y, rtol=1e-12)
    assert np.allclose(dj.jacrev(pullback)(y)[0], wanted.T, rtol=1e-12)


def test_maps_with_trees_and_aux_under_other_verbs():
    def parts(p, s):
        return {"a": p["u"] * s, "b": np.sum(p["u"] ** 2)}, np.max(p["u"])

    u = np.linspace(0.1, 1.0, 4)
    _, pullback, aux = dj.vjp(parts, {"u": u}, 2.0, has_aux=True)
    bars, s_bar = dj.jit(pullback)({"a": np.ones(4), "b": 1.0})
    assert aux == 1.0
    assert np.allclose(bars["u"], 2.0 + 2.0 * u)
    assert s_bar == pytest.approx(np.sum(u))
    _, tangent_map, _ = dj.linearize(parts, {"u": u}, 2.0, has_aux=True)
    found = dj.jit(tangent_map)({"u": np.ones(4)}, 1.0)
    assert np.allclose(found["a"], 2.0 + u)
    assert found["b"] == pytest.approx(2.0 * np.sum(u))


def relax(u, k):
    u = u.copy()
    for _ in range(3):
        for i in range(1, u.size):
            u[i] = u[i] + k * np.sin(u[i - 1])
    return u, {"n": u.size, "s": np.sum(u)}


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_the_map_is_the_tangent_at_every_call(backend):
    (u, more), tangent_map = dj.linearize(relax, W, 0.3, backend=backend)
    np.testing.assert_allclose(u, relax(W, 0.3)[0], rtol=1e-12)
    assert more["n"] == 3
    for d in (W, -2 * W):
        wanted = dj.jvp(relax, (W, 0.3), (d, 1.0))[1]
        found = tangent_map(d, 1.0)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
        np.testing.assert_allclose(found[1]["s"], wanted[1]["s"], rtol=1e-12)
        found[0][:] = np.nan


def test_the_value_is_computed_once():
    text = dj.source(dj.jit(lambda x, d: dj.linearize(lambda y: np.sum(np.exp(y) * y), x)[1](d)), W, W)
    code = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert "\n".join(code).count("np.exp") == 1


def test_linearize_with_extras_and_wrong_tangents():
    value, tangent_map, extra = dj.linearize(lambda x: (np.sum(x * x), x[0]), W, has_aux=True)
    assert (value, extra) == (np.sum(W * W), W[0])
    assert tangent_map(W) == pytest.approx(2 * np.sum(W * W))
    with pytest.raises(dj.UsageError, match="DJ507"):
        tangent_map(W, W)
    with pytest.raises(dj.UsageError, match="DJ507"):
        tangent_map(W[:2])


def test_conjugate_gradients_on_a_linearized_gradient():
    """Newton's step without a matrix: the same in JAX, and its derivative."""

    def step(v, k):
        verbs = dj if v is np else jax

        def loss(w):
            return v.sum(v.cosh(w)) + k * v.sum(w * w)

        g, product = verbs.linearize(verbs.grad(loss), v.ones(3) * k)
        x = v.zeros(3)
        r = -g
        p = r
        for _ in range(3):
            q = product(p)
            a = v.sum(r * r) / (v.sum(p * q) + 1e-30)
            x = x + a * p
            new = r - a * q
            p = new + v.sum(new * new) / (v.sum(r * r) + 1e-30) * p
            r = new
        return v.sum(x * x)

    assert dj.jit(lambda k: step(np, k))(0.7) == pytest.approx(float(step(jnp, 0.7)), rel=1e-9)
    assert dj.grad(lambda k: step(np, k))(0.7) == pytest.approx(float(jax.grad(lambda k: step(jnp, k))(0.7)), rel=1e-7)


def test_transposes():
    def f(x):
        y = A @ x + 1.0
        y[1:] += 2 * y[:-1]
        return y, np.sum(x)

    u = np.arange(4.0)
    transpose = dj.linear_transpose(f, W)
    wanted = dj.vjp(f, W)[1]((u, 2.0))
    for _ in range(2):
        np.testing.assert_allclose(transpose((u, 2.0))[0], wanted[0], rtol=1e-13)
    again = dj.linear_transpose(lambda d: dj.jvp(np.sin, (W,), (d,))[1], W)(W)[0]
    np.testing.assert_allclose(again, np.cos(W) * W, rtol=1e-13)
    shape = jax.ShapeDtypeStruct((3,), np.float64)
    np.testing.assert_allclose(dj.linear_transpose(f, shape)((u, 0.0))[0], dj.vjp(f, W)[1]((u, 0.0))[0], rtol=1e-13)


@pytest.mark.parametrize(
    "f",
    [np.sin, lambda x: x * x, lambda x: x * x[0], lambda x: x if x[0] > 0 else -x, np.sort],
    ids=["sin", "square", "product", "branch", "sort"],
)
def test_what_is_not_linear_is_refused(f):
    with pytest.raises(dj.UsageError, match="DJ516"):
        dj.linear_transpose(f, W)


@given(n=st.integers(1, 5), seed=st.integers(0, 99))
def test_transposed_and_linearized_are_transposes(n, seed):
    noise = np.random.default_rng(seed)
    x, v, u = noise.standard_normal((3, n))

    def f(x):
        return np.cumsum(np.sin(x) * x)

    _, tangent_map = dj.linearize(f, x, backend="python")
    _, pullback = dj.vjp(f, x, backend="python")
    np.testing.assert_allclose(u @ tangent_map(v), pullback(u)[0] @ v, rtol=1e-10, atol=1e-12)


def diffused(u0, n=6):
    u, record = u0.copy(), np.zeros(n)
    for t in dj.checkpointed(range(n), budget=2):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        record[t] = 2.0 * u[1]
    return np.concatenate((u, record))


@dj.checkpoint
def mixed(u):
    return 2.0 * u + u[::-1]


@dj.checkpoint
def squared(u):
    return u * u


def bent(u):
    for _ in dj.checkpointed(range(3)):
        u = u + 0.1 * u * u
    return u


def until_small(u):
    while True:
        for _ in dj.checkpointed(itertools.count()):
            u = 0.5 * u
            if u[0] < 0.1:
                break
        return u


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [diffused, lambda u: mixed(mixed(u))])
def test_transposes_of_checkpointed_code(f, backend):
    x = np.arange(4.0)
    matrix = np.stack([f(e) for e in np.eye(4)], axis=1)
    bar = np.cos(np.arange(len(matrix)))
    np.testing.assert_allclose(dj.linear_transpose(f, x, backend=backend)(bar)[0], matrix.T @ bar, rtol=1e-13)
    inside = lambda x, bar: dj.linear_transpose(f, x)(bar)[0] @ x
    np.testing.assert_allclose(dj.grad(inside, argnums=1, backend=backend)(x, bar), matrix @ x, rtol=1e-13)


@pytest.mark.parametrize("f", [bent, lambda u: squared(mixed(u)), until_small])
def test_checkpointed_code_that_is_not_linear_is_refused(f):
    with pytest.raises(dj.DiffjitError, match="DJ516"):
        dj.linear_transpose(f, np.arange(4.0))


def test_constants(tmp_path):
    @dj.constant
    def scale(x):
        return np.max(np.abs(x))

    assert scale(W) == np.max(np.abs(W))
    np.testing.assert_allclose(dj.grad(lambda x: np.sum(x / scale(x)))(W), np.full(3, 1 / scale(W)))
    np.testing.assert_array_equal(dj.jacfwd(lambda x: scale(x) * np.ones(2))(W), np.zeros((2, 3)))

    file = tmp_path / "k.txt"

    @dj.constant
    def read():
        with file.open() as f:
            return float(f.read())

    file.write_text("3.5")
    gradient = dj.grad(lambda x: np.sum(x) * read())
    np.testing.assert_array_equal(gradient(W), np.full(3, 3.5))
    file.write_text("4.5")
    np.testing.assert_array_equal(gradient(W), np.full(3, 4.5))

    @dj.constant
    def stretched(x):
        with file.open() as f:
            return float(f.read()) * x

    assert dj.grad(lambda x: x * stretched(x))(2.0) == 9.0
    file.write_text("5.0")
    assert dj.grad(lambda x: x * stretched(x))(2.0) == 10.0


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "rule", [lambda g: np.where(g > 1.0, 1.0, g), lambda g: np.clip(g, -1.0, 1.0)], ids=["where", "clip"]
)
def test_a_rule_that_tests_the_cotangent_is_no_linear_map(rule, backend):
    """Gradients that are clipped have no transpose, which was computed from a cotangent that is not there."""

    @dj.custom_vjp
    def clipped(x):
        return x * 1.0

    def forward(x):
        return x * 1.0, ()

    def backward(kept, g):
        return (rule(g),)

    clipped.defvjp(forward, backward)

    def f(x):
        return np.sum(np.sin(clipped(3.0 * x)))

    x = np.ones(3)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(x), 3.0 * np.clip(np.cos(3.0 * x), -1.0, 1.0))
    with pytest.raises(dj.DiffjitError, match="DJ516"):
        dj.linearize(f, x, backend=backend)
