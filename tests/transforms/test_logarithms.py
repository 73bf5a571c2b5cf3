"""log(c + exp(v)): its slope where exp overflows, in all modes and orders."""

import math

import numpy as np
import pytest

import diffjit as dj


def softplus(x):
    return np.log(1 + np.exp(x))


def with_log1p(x):
    return np.log1p(np.exp(x))


def of_minus_x(x):
    return -np.log(np.exp(-x) + 1.0)


def shifted(x):
    return np.log(5.0 + np.exp(2.0 * x))


def in_a_loop(x):
    total = 0.0
    for k in range(3):
        total += np.log(1.0 + np.exp(x * (k + 1)))
    return total


def written_between(x):
    e = np.exp(np.array([x, 0.5]))
    e[0] += x
    return np.sum(np.log(1.0 + e))


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x))


SLOPES = {
    softplus: logistic,
    with_log1p: logistic,
    of_minus_x: lambda x: logistic(-x),
    shifted: lambda x: 2.0 * logistic(2.0 * x - math.log(5.0)),
    in_a_loop: lambda x: sum((k + 1) * logistic((k + 1) * x) for k in range(3)),
}
POINTS = (800.0, -800.0, 0.0, math.log(5.0) / 2, 40.0, -40.0, 1.5, -1.5, 709.9)


def slope(f):
    return lambda x: dj.jvp(f, (x,), (1.0,))[1]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", SLOPES, ids=lambda f: f.__name__)
def test_all_modes_and_orders(f, backend):
    wanted = SLOPES[f]
    first = dj.grad(f, backend=backend), dj.jit(slope(f), backend=backend)
    second = (
        dj.grad(dj.grad(f), backend=backend), dj.grad(slope(f), backend=backend),
        dj.jit(slope(dj.grad(f)), backend=backend), dj.hessian(f, backend=backend),
    )  # fmt: skip
    third = dj.grad(dj.grad(dj.grad(f)), backend=backend)
    for x in POINTS:
        for g in first:
            assert float(g(x)) == pytest.approx(wanted(x), rel=1e-13, abs=0.0)
        h = 1e-6
        for g in second:
            assert float(g(x)) == pytest.approx((wanted(x + h) - wanted(x - h)) / (2 * h), rel=1e-5, abs=1e-9)
        quotient = (float(second[0](x + h)) - float(second[0](x - h))) / (2 * h)
        assert float(third(x)) == pytest.approx(quotient, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_arrays_and_the_value(backend):
    def total(x):
        return np.sum(softplus(x) * np.arange(1.0, 5.0))

    x = np.array([800.0, -800.0, 0.0, 1.0])
    with np.errstate(over="ignore"):
        plain = total(x)
    value, bar = dj.value_and_grad(total, backend=backend)(x)
    assert value == math.inf == plain
    np.testing.assert_allclose(bar, np.arange(1.0, 5.0) * [logistic(v) for v in x], rtol=1e-13)
    diagonal = [logistic(v) * logistic(-v) if abs(v) < 700 else 0.0 for v in x]
    np.testing.assert_allclose(
        dj.hessian(total, backend=backend)(x), np.diag(np.arange(1.0, 5.0) * diagonal), atol=1e-15
    )
    single = dj.grad(total, backend=backend)(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, bar, rtol=1e-6)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_memory_that_is_written_in_between(backend):
    x, h = 0.7, 1e-6
    quotient = (written_between(x + h) - written_between(x - h)) / (2 * h)
    assert dj.grad(written_between, backend=backend)(x) == pytest.approx(quotient, rel=1e-8)


def test_under_other_verbs():
    x = np.array([800.0, -800.0, 1.5])
    wanted = [logistic(v) for v in x]
    np.testing.assert_allclose(dj.vmap(dj.grad(softplus))(x), wanted, rtol=1e-13)
    np.testing.assert_allclose(np.diag(dj.jacobian(softplus)(x)), wanted, rtol=1e-13)
    np.testing.assert_allclose(dj.sparse_jacobian(softplus)(x).diagonal(), wanted, rtol=1e-13)
    np.testing.assert_allclose(dj.vjp(softplus, x)[1](np.ones(3))[0], wanted, rtol=1e-13)
    assert dj.source(dj.grad(softplus), 1.0).count("exp") > 0
