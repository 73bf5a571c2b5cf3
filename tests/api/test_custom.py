"""Functions with rules of their own: both modes, orders, loops, lanes, containers; JAX's answers."""

import numpy as np
import pytest

import diffjit as dj

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([0.3, -0.4, 1.1])
SCALE = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


# The rules are wrong by a factor on purpose: that is how a test sees that they were used.


def forward_rule(np, make):
    """`x * sin(x)` with three times its tangent's cosine."""

    @make
    def f(x):
        return np.sin(x) * x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x), 3.0 * np.cos(x) * x_dot * f(x)

    return f


def reverse_rule(np, make):
    """`x * y**2` with cotangents that are not quite its own."""

    @make
    def g(x, y):
        return x * y * y

    def forward(x, y):
        return g(x, y), (x, np.exp(y))

    def backward(kept, out_bar):
        x, e = kept
        return out_bar * e * x, out_bar * x * 5.0

    g.defvjp(forward, backward)
    return g


F, F_JAX = forward_rule(np, dj.custom_jvp), forward_rule(jnp, jax.custom_jvp)
G, G_JAX = reverse_rule(np, dj.custom_vjp), reverse_rule(jnp, jax.custom_vjp)


def close(found, wanted):
    """The same numbers."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


BOTH = pytest.mark.parametrize("backend", ["python", "numba"])


@BOTH
def test_a_forward_rule_serves_every_mode(backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", backend)

    def loss(f, np):
        return lambda x: np.sum(f(2.0 * x) ** 2)

    ours, theirs = loss(F, np), loss(F_JAX, jnp)
    close(dj.value_and_grad(ours)(X), jax.value_and_grad(theirs)(X))
    close(dj.jvp(ours, (X,), (SCALE,)), jax.jvp(theirs, (X,), (SCALE,)))
    close(dj.hessian(ours)(X), jax.hessian(theirs)(X))
    close(dj.vmap(dj.grad(F))(X), jax.vmap(jax.grad(F_JAX))(X))
    close(dj.jit(ours)(X), theirs(X))


@BOTH
def test_a_reverse_rule_serves_every_mode(backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", backend)
    close(dj.grad(G, argnums=(0, 1))(0.3, 0.7), jax.grad(G_JAX, argnums=(0, 1))(0.3, 0.7))
    ours, theirs = (lambda x: np.sum(G(x, x[::-1]))), (lambda x: jnp.sum(G_JAX(x, x[::-1])))
    close(dj.grad(ours)(X), jax.grad(theirs)(X))
    close(dj.jacrev(dj.grad(ours))(X), jax.jacrev(jax.grad(theirs))(X))
    close(dj.grad(lambda x: np.sum(dj.vmap(G)(x, x)))(X), jax.grad(lambda x: jnp.sum(jax.vmap(G_JAX)(x, x)))(X))


def test_a_reverse_rule_gives_the_tangent_by_transposition():
    gradient = dj.grad(G, argnums=(0, 1))(0.3, 0.7)
    value, tangent = dj.jvp(G, (0.3, 0.7), (2.0, -1.0))
    close((value, tangent), (0.3 * 0.49, 2.0 * gradient[0] - gradient[1]))


def sweep(x, n):
    """A recurrence in place through both functions, and what is then changed of a result."""
    u = x.copy()
    for t in range(n):
        for i in range(1, u.size):
            if u[i] > 0.5 * t:
                u[i] = F(u[i - 1]) + 0.1 * G(u[i], u[i - 1])
    v = F(u)
    v[0] = 2.0 * v[1]
    return np.sum(v * u)


@BOTH
def test_in_loops_and_branches(backend):
    found = dj.grad(sweep, backend=backend)(X, 3)
    basis = np.eye(3)
    close(found, np.array([dj.jvp(lambda x: sweep(x, 3), (X,), (e,), backend=backend)[1] for e in basis]))
    second = dj.jacrev(dj.grad(lambda x: sweep(x, 2)), backend=backend)(X)
    columns = [dj.jvp(dj.grad(lambda x: sweep(x, 2)), (X,), (e,), backend=backend)[1] for e in basis]
    close(second, np.array(columns).T)


def test_containers_numbers_and_what_is_read_outside():
    def make(np, decorate):
        @decorate
        def f(p, n):
            return {"a": p["w"] * n, "b": (np.sum(p["w"]) * p["s"], n)}

        @f.defjvp
        def rule(primals, tangents):
            (p, n), (q, _) = primals, tangents
            out = f(p, n)
            dot = {"a": q["w"] * n * SCALE, "b": (np.sum(q["w"]) * 7.0 + q["s"], _)}
            return out, dot

        return f

    ours, theirs = make(np, dj.custom_jvp), make(jnp, jax.custom_jvp)
    p = {"w": X, "s": 0.5}

    def loss(f, np):
        def total(p):
            out = f(p, 3)
            return np.sum(out["a"] ** 2) + out["b"][0]

        return total

    close(dj.grad(loss(ours, np))(p), jax.grad(loss(theirs, jnp))(p))
    close(dj.jvp(loss(ours, np), (p,), (p,)), jax.jvp(loss(theirs, jnp), (p,), (p,)))


def test_arguments_without_derivative():
    def make(np, jvp, vjp):
        def f(g, x, n):
            return g(x) * n

        a, b = jvp(f, nondiff_argnums=(0, 2)), vjp(f, nondiff_argnums=(0, 2))
        a.defjvp(lambda g, n, primals, tangents: (g(primals[0]) * n, 10.0 * n * tangents[0]))
        b.defvjp(lambda g, x, n: (g(x) * n, x), lambda g, n, x, bar: (bar * n * g(x) * 10.0,))
        return lambda x: np.sum(a(np.sin, x, 3) * b(np.cos, x, 2))

    ours, theirs = make(np, dj.custom_jvp, dj.custom_vjp), make(jnp, jax.custom_jvp, jax.custom_vjp)
    close(dj.grad(ours)(X), jax.grad(theirs)(X))
    close(dj.hessian(ours)(X), jax.jacrev(jax.grad(theirs))(X))


def test_a_clipped_gradient_is_a_reverse_rule_alone():
    @dj.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, None), lambda _, bar: (np.clip(bar, -1.0, 1.0),))
    close(dj.grad(lambda x: np.sum(5.0 * clip(x) * X))(X), np.clip(5.0 * X, -1.0, 1.0))
    with pytest.raises(dj.UsageError, match="DJ518"):
        dj.jvp(clip, (X,), (X,))


def test_rules_argument_by_argument_and_keywords():
    @dj.custom_jvp
    def f(x, y=2.0):
        return x * y

    f.defjvps(lambda t, out, x, y: 3.0 * t * out, None)
    close(dj.grad(f)(1.5), 3.0 * 3.0)
    close(dj.grad(lambda x: f(y=x, x=x))(1.5), 3.0 * 2.25)


def test_a_rule_given_anew():
    @dj.custom_jvp
    def f(x):
        return x

    gradient = dj.grad(lambda x: 1.0 * f(x))
    f.defjvp(lambda p, t: (p[0], 2.0 * t[0]))
    assert gradient(1.0) == 2.0
    f.defjvp(lambda p, t: (p[0], 3.0 * t[0]))
    assert gradient(1.0) == 3.0


def test_inner_derivatives_and_the_calling_program():
    def ours(x):
        w = x
        for _ in range(3):
            w = w - 0.1 * dj.grad(F)(w)
        return w

    def theirs(x):
        w = x
        for _ in range(3):
            w = w - 0.1 * jax.grad(F_JAX)(w)
        return w

    close(dj.grad(ours)(0.8), jax.grad(theirs)(0.8))
    close(dj.linearize(F, X)[1](SCALE), jax.linearize(F_JAX, X)[1](SCALE))


def test_value_rules_count_where_the_value_is_differentiated_again():
    """log(1 + exp(x)), whose own derivative overflows."""

    @dj.custom_jvp
    def f(x):
        return np.log(1.0 + np.exp(x))

    @f.defjvp
    def rule(primals, tangents):
        return f(primals[0]), (1.0 - 1.0 / (1.0 + np.exp(primals[0]))) * tangents[0]

    assert dj.grad(f)(1000.0) == 1.0
    assert dj.grad(dj.grad(f))(50.0) == pytest.approx(np.exp(-50.0), rel=1e-6)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_recursion_through_the_rules(backend):
    """A function that calls itself, and whose rules call it again."""

    @dj.custom_vjp
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    def ahead(x, n):
        return power(x, n), (x, n)

    def back(kept, bar):
        x, n = kept
        return 3.0 * bar * n * power(x, n - 1), None

    power.defvjp(ahead, back)
    assert dj.jit(power, backend=backend)(1.5, 4) == pytest.approx(1.5**4)
    assert dj.grad(power, backend=backend)(1.5, 4) == pytest.approx(3 * 4 * 1.5**3)
    assert dj.grad(dj.grad(power), backend=backend)(1.5, 4) == pytest.approx(9 * 12 * 1.5**2)


def test_a_rule_that_calls_its_function_for_tangents():
    """Its transpose would follow from itself."""

    @dj.custom_jvp
    def halved(x):
        return x / 2.0

    halved.defjvp(lambda primals, tangents: (halved(primals[0]), halved(tangents[0])))
    assert dj.jvp(halved, (3.0,), (1.0,)) == (1.5, 0.5)
    with pytest.raises(dj.UsageError, match="DJ518"):
        dj.grad(halved)(3.0)
    halved.defvjp(lambda x: (halved(x), None), lambda _, bar: (halved(bar),))
    assert dj.grad(halved)(3.0) == 0.5
    assert dj.jvp(dj.grad(lambda x: halved(x) ** 2), (3.0,), (1.0,))[1] == 0.5


@dj.custom_vjp
def in_full(x):
    return x * x


in_full.defvjp(lambda x: (x * x, x), lambda x, out_bar: ((2 * x * out_bar)[:1],))


@dj.custom_jvp
def along(x):
    return x * x


along.defjvp(lambda primals, tangents: (along(*primals), (2 * primals[0] * tangents[0])[:1]))


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [in_full, along], ids=["cotangent", "tangent"])
def test_rules_whose_results_have_length_1(f, backend):
    """They were stretched."""
    for x in (X, np.linspace(0.1, 1.0, 20)):  # of a length that is known while the program is built, and not
        with pytest.raises((dj.UsageError, ValueError), match="DJ517"):
            dj.grad(lambda y: np.sum(f(y)), backend=backend)(x)
    np.testing.assert_allclose(dj.grad(lambda y: np.sum(f(y)), backend=backend)(X[:1]), 2 * X[:1])


@dj.custom_vjp
def summed(x):
    return np.sum(x * x)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_number_stands_for_no_array(backend):
    """It was the cotangent of each element; 0.0 and None are those of all."""
    for x in (X, np.linspace(0.1, 1.0, 20)):
        for back in (lambda x, bar: (np.sum(2 * x * bar),), lambda _, bar: (bar,), lambda *_: (1.0,)):
            summed.defvjp(lambda x: (summed(x), x), back)
            with pytest.raises(dj.UsageError, match="a number in place of 1 dimensions"):
                dj.grad(summed, backend=backend)(x)
        for back in (lambda *_: (0.0,), lambda *_: (None,)):
            summed.defvjp(lambda x: (summed(x), x), back)
            assert not dj.grad(summed, backend=backend)(x).any()
