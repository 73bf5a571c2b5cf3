"""Jacobians, Hessians and their products against JAX."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diffjit as dj
from tests.modes import leaves

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.random.default_rng(1).standard_normal((4, 3))
W = np.random.default_rng(2).standard_normal(3)


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def agree(found, wanted, tolerance=1e-9):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def trees(np):
    def f(p, w):
        return np.sin(p["x"] @ w) * p["x"][:, 0], {"s": np.sum(p["x"] * w) * p["k"], "n": None}

    return f


VERBS = ["jacfwd", "jacrev", "jacobian"]


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1,), -1], ids=str)
@pytest.mark.parametrize("verb", VERBS)
def test_trees_of_trees(verb, argnums):
    args = {"x": X, "k": 2.0}, W
    agree(getattr(dj, verb)(trees(np), argnums)(*args), getattr(jax, verb)(trees(jnp), argnums)(*args))


@pytest.mark.parametrize("argnums", [0, (0, 1)], ids=str)
def test_hessians_of_trees(argnums):
    args = {"x": X[:2], "k": 2.0}, W
    agree(dj.hessian(trees(np), argnums)(*args), jax.hessian(trees(jnp), argnums)(*args))


def scalar(np):
    return lambda w: np.sum(np.exp(w) * w[0]) + w[1] ** 3 * w[2]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_orders_and_compositions(backend):
    mine, theirs = scalar(np), scalar(jnp)
    pairs = [
        (dj.hessian(mine, backend=backend), jax.hessian(theirs)),
        (dj.jacrev(dj.jacrev(mine), backend=backend), jax.hessian(theirs)),
        (dj.jacfwd(dj.jacrev(dj.grad(mine)), backend=backend), jax.jacfwd(jax.jacrev(jax.grad(theirs)))),
        (dj.jit(dj.vmap(dj.grad(mine)), backend=backend), jax.vmap(jax.grad(theirs))),
    ]
    for ours, their in pairs[: 4 if backend == "python" else 3]:
        agree(ours(W), their(W)) if ours is not pairs[3][0] else agree(ours(X), their(X))


def test_of_a_mapped_function():
    agree(
        dj.hessian(dj.vmap(lambda x: np.sin(x) * x))(W),
        jax.hessian(jax.vmap(lambda x: jnp.sin(x) * x))(W),
    )
    agree(dj.jacrev(dj.vmap(np.cumsum))(X), jax.jacrev(jax.vmap(jnp.cumsum))(X))


def test_gradient_of_programs_that_take_derivatives():
    def ours(w):
        h = dj.hessian(scalar(np))(w)
        j = dj.jacfwd(lambda v: v * w)(w)
        return np.sum(h @ h) + np.sum(dj.hvp(scalar(np), (w,), (j @ w,)) ** 2)

    def theirs(w):
        h = jax.hessian(scalar(jnp))(w)
        j = jax.jacfwd(lambda v: v * w)(w)
        return jnp.sum(h @ h) + jnp.sum(jax.jvp(jax.grad(scalar(jnp)), (w,), (j @ w,))[1] ** 2)

    agree(dj.grad(ours)(W), jax.grad(theirs)(W))


def test_hypergradient_through_newton_steps():
    def newton(v, k):
        def loss(w):
            return v.sum((w - 1) ** 4) + k * v.sum(w * w)

        verbs = dj if v is np else jax
        w = v.ones(3) * 0.3
        for _ in range(4):
            w = w - v.linalg.solve(verbs.hessian(loss)(w), verbs.grad(loss)(w))
        return v.sum(w * w)

    agree(dj.grad(lambda k: newton(np, k))(0.7), jax.grad(lambda k: newton(jnp, k))(0.7))


def test_perturbations_are_not_confused():
    def f(v):
        verbs = dj if v is np else jax
        return lambda x: x * verbs.jacfwd(lambda y: x * y * y + x)(2.0 * x)

    agree(dj.jacfwd(f(np))(1.5), jax.jacfwd(f(jnp))(1.5))
    agree(dj.jacrev(f(np))(1.5), jax.jacrev(f(jnp))(1.5))


def test_extras():
    def f(x):
        return x**3, {"first": x[0], "n": 3, "name": "cube"}

    for verb in VERBS:
        jac, extras = getattr(dj, verb)(f, has_aux=True)(W)
        agree(jac, np.diag(3 * W**2))
        assert extras == {"first": W[0], "n": 3, "name": "cube"}
    hess, first = dj.hessian(lambda x: (np.sum(x**3), x[0]), has_aux=True)(W)
    agree(hess, np.diag(6 * W))
    assert first == W[0]
    product, first = dj.hvp(lambda x: (np.sum(x**3), x[0]), (W,), (W,), has_aux=True)
    agree(product, 6 * W * W)
    assert first == W[0]


@dataclasses.dataclass
class State:
    position: np.ndarray
    mass: float


def test_objects_names_decorators():
    @dj.jacrev(argnums="s")
    def energy(g, s):
        return State(s.position * g, s.mass * np.sum(s.position))

    found = energy(9.81, State(W, 2.0))
    agree(found.position.position, 9.81 * np.eye(3))
    agree(found.mass.position, np.full(3, 2.0))
    agree(found.mass.mass, np.sum(W))
    np.testing.assert_array_equal(found.position.mass, np.zeros(3))


def test_what_prints_prints_once_and_writes_stay_inside(capsys):
    def f(x):
        x[0] = 2.0 * x[1]
        print("called")  # noqa: T201 - what the test is about
        return x * x

    x = W.copy()
    for verb in VERBS:
        found = getattr(dj, verb)(f)(x)
        assert capsys.readouterr().out == "called\n"
        np.testing.assert_array_equal(x, W)
        agree(found, np.array([[0, 8 * W[1], 0], [0, 2 * W[1], 0], [0, 0, 2 * W[2]]]))


@pytest.mark.parametrize("verb", VERBS)
def test_empty_and_scalar_blocks(verb):
    f = getattr(dj, verb)(lambda x, y: np.concatenate([x, y * y]), (0, 1))
    a, b = f(np.zeros(0), W)
    assert a.shape == (3, 0)
    agree(b, np.diag(2 * W))
    assert getattr(dj, verb)(np.sin)(0.3) == pytest.approx(np.cos(0.3))
    agree(getattr(dj, verb)(lambda x: np.array([x, x * x]))(0.3), np.array([1.0, 0.6]))
    agree(getattr(dj, verb)(lambda x: (2.0, x))(W)[0], np.zeros(3))


def test_float32_stays_float32():
    w = W.astype(np.float32)
    for verb in (*VERBS, "hessian"):
        assert getattr(dj, verb)(lambda x: np.sum(np.sin(x) ** 2))(w).dtype == np.float32


FUNCTIONS = [
    lambda x: np.sin(x) * x,
    lambda x: np.cumsum(x * x)[1:],
    lambda x: np.sum(x**3) * x[0],
    lambda x: np.outer(x, np.exp(x)),
]


@given(k=st.sampled_from(range(4)), n=st.integers(1, 5), seed=st.integers(0, 99))
def test_products_with_the_matrix(k, n, seed):
    """J v is the tangent, u J the cotangent, the Hessian symmetric and hvp its product."""
    f, noise = FUNCTIONS[k], np.random.default_rng(seed)
    x, v = noise.standard_normal((2, n))
    forward, reverse = (getattr(dj, m)(f, backend="python")(x) for m in ("jacfwd", "jacrev"))
    np.testing.assert_allclose(forward, reverse, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forward @ v, dj.jvp(f, (x,), (v,), backend="python")[1], rtol=1e-10, atol=1e-10)
    u = noise.standard_normal(np.shape(f(x)))
    bar = dj.vjp(f, x, backend="python")[1](u)[0]
    np.testing.assert_allclose(np.tensordot(u, forward, np.ndim(u)), bar, rtol=1e-10, atol=1e-10)

    def total(x):
        return np.sum(f(x))

    h = dj.hessian(total, backend="python")(x)
    np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(h @ v, dj.hvp(total, (x,), (v,), backend="python"), rtol=1e-10, atol=1e-10)


def first_but_raises(x):
    if x[0] > -1.0:
        raise ArithmeticError("too large")
    return x[0]


def first_of_more(x):
    return x[0] + 2.0 * x[7]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("verb", [dj.hessian, dj.jacfwd, dj.jacrev])
def test_what_is_zero_everywhere_raises_as_the_program_does(verb, backend):
    with pytest.raises(ArithmeticError, match="too large"):
        verb(first_but_raises, backend=backend)(np.ones(3))
    with pytest.raises(IndexError, match="index 7"):
        verb(first_of_more, backend=backend)(np.ones(3))
    assert not np.any(dj.hessian(first_of_more, backend=backend)(np.ones(8)))


def test_refused():
    with pytest.raises(dj.UsageError, match="DJ501"):
        dj.jacfwd(np.sin)(3)
    with pytest.raises(dj.TypeProblem, match="DJ322"):
        dj.jacrev(lambda x: (x, "text"))(W)
    with pytest.raises(dj.UsageError, match="DJ506"):
        dj.jacobian(np.sin, has_aux=True)(0.3)
    assert len(leaves(dj.jacfwd(lambda p: p["x"] * p["n"])({"x": W, "n": 3}))) == 2
