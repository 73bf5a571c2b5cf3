"""Every verb of a function that draws: right, and the caller's stream is left where one run of the function does."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([0.3, 1.2, 0.8])
EYE = np.eye(3)


@pytest.fixture(params=["numba", "python"], autouse=True)
def backend(request, monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", request.param)
    return request.param


def f(x, rng):
    a = rng.normal(size=3)
    s = 0.0
    for i in range(3):
        s = s + np.sin(x[i] * a[i]) * rng.normal(x[0] * x[1], x[2] ** 2)
    return s * s


def rows(x, rng):
    return x * rng.normal(x[::-1], 1.0)


def new():
    return np.random.default_rng(1)


def gradient(x, function=f, h=1e-5):
    return np.array([(function(x + h * e, new()) - function(x - h * e, new())) / (2 * h) for e in EYE])


def hessian(x):
    return np.array([(gradient(x + 1e-4 * e) - gradient(x - 1e-4 * e)) / 2e-4 for e in EYE])


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


class Drawn:
    """A stream that has to end where `function` leaves another one."""

    def __init__(self, function=f, times=1):
        self.rng, self.function, self.times = new(), function, times

    def __enter__(self):
        return self.rng

    def __exit__(self, kind, *rest):
        if kind is None:
            other = new()
            for _ in range(self.times):
                self.function(X, other)
            assert self.rng.bit_generator.state == other.bit_generator.state


def test_gradients():
    with Drawn() as rng:
        near(dj.grad(f)(X, rng), gradient(X))
    with Drawn() as rng:
        value, found = dj.value_and_grad(f)(X, rng)
        assert value == f(X, new())
        near(found, gradient(X))


def test_products():
    with Drawn() as rng:
        value, found = dj.jvp(f, (X, rng), (np.ones(3), None))
        assert value == f(X, new())
        near(found, np.sum(gradient(X)))
    with Drawn() as rng:
        value, pullback = dj.vjp(f, X, rng)
        assert value == f(X, new())
        for scale in (1.0, 2.0, 1.0):
            x_bar, rng_bar = pullback(scale)
            near(x_bar, scale * gradient(X))
            assert rng_bar is None
    with Drawn() as rng:
        _, tangent = dj.linearize(f, X, rng)
        near([tangent(e, None) for e in EYE], gradient(X))
        near([tangent(e, None) for e in EYE], gradient(X))
    with Drawn() as rng:
        near(dj.hvp(f, (X, rng), (np.ones(3), None)), hessian(X) @ np.ones(3))


@pytest.mark.parametrize("verb", [dj.jacfwd, dj.jacrev, dj.jacobian])
def test_jacobians(verb):
    with Drawn() as rng:
        near(verb(f)(X, rng), gradient(X))
    wanted = np.array([(rows(X + 1e-6 * e, new()) - rows(X - 1e-6 * e, new())) / 2e-6 for e in EYE]).T
    with Drawn(rows) as rng:
        near(verb(rows)(X, rng), wanted)
    with Drawn(rows) as rng:
        found, aux = verb(lambda x, r: (rows(x, r), r.random()), has_aux=True)(X, rng)
        near(found, wanted)
        other = new()
        rows(X, other)
        assert aux == other.random()
        rng.bit_generator.state = new().bit_generator.state
        rows(X, rng)


def test_many_columns():
    wide = np.linspace(0.1, 1.0, 40)

    def run(x, rng):
        return np.cumsum(x * rng.normal(size=len(x))) * rng.uniform(x, 2.0)

    ours, theirs = new(), new()
    found = dj.jacfwd(run)(wide, ours)
    run(wide, theirs)
    assert ours.bit_generator.state == theirs.bit_generator.state
    near(found, np.array([(run(wide + 1e-6 * e, new()) - run(wide - 1e-6 * e, new())) / 2e-6 for e in np.eye(40)]).T)


@pytest.mark.parametrize(
    "second", [dj.hessian(f), dj.jacrev(dj.grad(f)), dj.jacfwd(dj.grad(f)), dj.jacfwd(dj.jacfwd(f))],
    ids=["forward over reverse", "reverse over reverse", "forward over gradient", "forward over forward"],
)  # fmt: skip
def test_second_order(second):
    with Drawn() as rng:
        near(second(X, rng), hessian(X))


def test_series():
    with Drawn() as rng:
        _, terms = dj.jet(f, (X, rng), ([np.ones(3), np.zeros(3)], [0, 0]))
        near(terms, [np.sum(gradient(X)), np.sum(hessian(X))])


def test_derivatives_inside_programs():
    def program(x, rng):
        a = dj.grad(f)(x, rng)
        b = rng.normal()
        c = dj.jacfwd(f)(x, rng)
        value, pullback = dj.vjp(lambda y: f(y, rng), x)
        d = pullback(1.0)[0] + pullback(2.0)[0]
        return np.sum(a) * b + np.sum(c) + np.sum(d) + value * f(x, rng)

    def plain(x, rng):
        def slope():
            start = rng.bit_generator.state
            found = []
            for e in EYE:
                pair = []
                for sign in (1, -1):
                    rng.bit_generator.state = start
                    pair.append(f(x + sign * 1e-5 * e, rng))
                found.append((pair[0] - pair[1]) / 2e-5)
            return np.array(found)

        a = slope()
        b = rng.normal()
        c = slope()
        start = rng.bit_generator.state
        value = f(x, rng)
        rng.bit_generator.state = start
        d = 3 * slope()
        return np.sum(a) * b + np.sum(c) + np.sum(d) + value * f(x, rng)

    ours, theirs = new(), new()
    near(dj.jit(program)(X, ours), plain(X, theirs))
    assert ours.bit_generator.state == theirs.bit_generator.state
    ours = new()
    near(dj.grad(program)(X, ours), gradient(X, plain, 1e-4))
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_checkpointed_functions():
    again = dj.checkpoint(f)
    with Drawn(times=2) as rng:
        other = new()
        assert dj.jit(lambda x, r: again(x, r) - f(x, r))(X, rng) == f(X, other) - f(X, other)
    for verb, wanted in ((dj.grad, gradient(X)), (dj.hessian, hessian(X))):
        with Drawn() as rng:
            near(verb(again)(X, rng), wanted)


def test_checkpointed_loops():
    def march(x, rng):
        s = x[0]
        for _ in dj.checkpointed(range(20), 4):
            s = np.sin(s) * x[1] + 0.1 * rng.normal() * x[2]
        return s

    with Drawn(march) as rng:
        near(dj.grad(march)(X, rng), gradient(X, march))
    with Drawn(march) as rng:
        assert dj.jit(march)(X, rng) == march(X, new())


def test_lanes_draw_in_turn():
    xs = np.arange(12.0).reshape(4, 3) / 10
    theirs = new()
    wanted = [f(x, theirs) for x in xs]
    for axes in ((0, None), 0):
        ours = new()
        assert np.array_equal(dj.vmap(f, in_axes=axes)(xs, ours), wanted)
        assert ours.bit_generator.state == theirs.bit_generator.state
    ours = new()
    slopes = dj.vmap(dj.grad(f))(xs, ours)
    assert ours.bit_generator.state == theirs.bit_generator.state
    near(np.sum(slopes), dj.grad(lambda s, r: np.sum(dj.vmap(f)(xs + s, r)))(0.0, new()))


def test_reports():
    dj.check_grads(f, (X, new()))
    rng = new()
    dj.check_grads(f, (X, rng))
    assert rng.bit_generator.state == new().bit_generator.state
    assert "normal" in str(dj.explain(dj.grad(f), X, new()))
    dj.memory(dj.grad(f), X, new())


def test_a_pullback_of_draws_inside_a_program_is_refused():
    pullback = dj.vjp(f, X, new())[1]
    near(pullback(1.0)[0], gradient(X))
    with pytest.raises(dj.UsageError, match="DJ553"):
        dj.jit(lambda s: np.sum(pullback(s)[0]))(1.0)


def test_sparse_matrices_of_outside_streams_are_refused():
    with pytest.raises(dj.UsageError, match="DJ553"):
        dj.sparse_jacobian(rows)(X, new())
    found = dj.sparse_jacobian(lambda x: x * np.random.default_rng(3).normal(size=3))(X)
    near(found.toarray(), np.diag(np.random.default_rng(3).normal(size=3)))


def test_rules_of_ones_own_do_not_draw():
    @dj.custom_vjp
    def own(x, rng):
        return x * rng.normal()

    own.defvjp(lambda x, rng: (own(x, rng), x), lambda x, bar: (bar, None))
    with pytest.raises(dj.UsageError, match=r"(?s)DJ517.*draws"):
        dj.grad(own)(2.0, new())
