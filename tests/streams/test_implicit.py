"""Derivatives of variates whose acceptance hangs on parameters: against quantiles, and as expectations."""

import mpmath
import numpy as np
import pytest
from scipy import special

import diffjit as dj
from diffjit.primitives.random import implicit


def drawn(make):
    """A program that draws one number, from a seed."""

    def program(parameters, seed):
        rng = np.random.default_rng(seed)
        return make(rng, parameters)

    return program


gamma = drawn(lambda rng, p: rng.standard_gamma(p[0]))
beta = drawn(lambda rng, p: rng.beta(p[0], p[1]))


def quantile(f, parameters, seed):
    """The variate as a function of the parameters that keeps its quantile."""
    x = f(parameters, seed)
    if f is gamma:
        level = special.gammaincc(parameters[0], x)
        return lambda p: special.gammainccinv(p[0], level)
    level = special.betainc(*parameters, x)
    return lambda p: special.betaincinv(p[0], p[1], level)


CASES = [(gamma, np.array([a])) for a in (0.2, 0.9, 3.0, 40.0)] + [
    (beta, np.array(p)) for p in ((0.4, 0.6), (2.0, 0.7), (0.8, 5.0), (3.0, 4.0), (20.0, 30.0))
]


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize(("f", "parameters"), CASES)
def test_quantiles_stay(f, parameters, backend):
    h = 1e-4
    for seed in range(4):
        along = quantile(f, parameters, seed)
        scale = h * parameters
        steps = np.diag(scale)
        wanted = [(along(parameters + s) - along(parameters - s)) / (2 * np.sum(s)) for s in steps]
        found = dj.grad(f, backend=backend)(parameters, seed)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-9)
        curved = [
            [
                (along(parameters + s + t) - along(parameters + s - t) - along(parameters - s + t)
                 + along(parameters - s - t)) / (4 * np.sum(s) * np.sum(t))
                for t in 100 * steps
            ]
            for s in 100 * steps
        ]  # fmt: skip
        hessian = dj.hessian(f, backend=backend)(parameters, seed)
        np.testing.assert_allclose(hessian, curved, rtol=2e-2, atol=1e-5)
        np.testing.assert_allclose(hessian, np.transpose(hessian), rtol=1e-9)
        again = dj.jacrev(dj.grad(f), backend=backend)(parameters, seed)
        np.testing.assert_allclose(hessian, again, rtol=1e-9)


@pytest.mark.parametrize("a", [1e-4, 0.02, 0.5, 3.3, 300.0])
@pytest.mark.parametrize("level", [1e-3, 0.4, 0.9999])
def test_gamma_against_mpmath(a, level):
    x = float(special.gammaincinv(a, level))
    if x < 1e-200:
        return
    with mpmath.workdps(40):
        p = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))

        def f(n):
            return float(mpmath.diff(lambda s: mpmath.gammainc(s, 0, x, regularized=True), a, n) / p)

        assert_close(implicit._gamma_slope(x, a), -f(1))
        assert_close(implicit._gamma_bend(x, a), f(2))


@pytest.mark.parametrize("shapes", [(0.05, 0.05), (0.3, 0.7), (0.5, 8.0), (3.0, 4.0), (50.0, 60.0)])
@pytest.mark.parametrize("level", [1e-3, 0.4, 0.9999])
def test_beta_against_mpmath(shapes, level):
    x = float(special.betaincinv(*shapes, level))
    if not 1e-200 < x < 1 - 1e-12:
        return
    with mpmath.workdps(40):
        a, b = map(mpmath.mpf, shapes)
        y = mpmath.mpf(x)
        p = y ** (a - 1) * (1 - y) ** (b - 1) / mpmath.beta(a, b)

        def f(n):
            return float(mpmath.diff(lambda s, t: mpmath.betainc(s, t, 0, y, regularized=True), (a, b), n) / p)

        assert_close(implicit._beta_slope(x, *shapes), -f((1, 0)))
        assert_close(implicit._beta_bend(x, *shapes), f((2, 0)))
        assert_close(implicit._beta_twist(x, *shapes), f((1, 1)))


def assert_close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


N = 4000


def mean_of(make):
    """The mean of many variates, and how far it may be from the expectation."""

    def program(p, seed):
        rng = np.random.default_rng(seed)
        return np.mean(make(rng, p))

    return program


EXPECTATIONS = [  # what is drawn, parameters, derivatives of the expectation
    ("gamma", lambda r, p: r.gamma(p[0], p[1], N), [2.0, 3.0], lambda a, s: [s, a]),
    ("gamma, squared", lambda r, p: r.gamma(p[0], 1.0, N) ** 2, [0.6], lambda a: [2 * a + 1]),
    ("chisquare", lambda r, p: r.chisquare(p[0], N), [3.0], lambda a: [1.0]),
    ("beta", lambda r, p: r.beta(p[0], p[1], N), [2.0, 3.0], lambda a, b: [b / (a + b) ** 2, -a / (a + b) ** 2]),
    ("beta, small", lambda r, p: r.beta(p[0], p[1], N), [0.4, 0.7],
     lambda a, b: [b / (a + b) ** 2, -a / (a + b) ** 2]),
    ("standard_t", lambda r, p: np.abs(r.standard_t(p[0], N)) ** 0.5, [4.0], None),
    ("f", lambda r, p: r.f(p[0], p[1], N), [5.0, 12.0], lambda a, b: [0.0, -2.0 / (b - 2.0) ** 2]),
    ("dirichlet", lambda r, p: r.dirichlet(p, N)[:, 0], [1.5, 0.7, 2.0],
     lambda a, b, c: [(b + c) / (a + b + c) ** 2, -a / (a + b + c) ** 2, -a / (a + b + c) ** 2]),
    ("dirichlet, small", lambda r, p: r.dirichlet(p, N)[:, 0], [0.06, 0.05, 0.08],
     lambda a, b, c: [(b + c) / (a + b + c) ** 2, -a / (a + b + c) ** 2, -a / (a + b + c) ** 2]),
    ("multivariate_normal",
     lambda r, p: np.prod(r.multivariate_normal([0.3, p[0]], [[p[1], p[2]], [p[2], 2.0]], N), axis=1),
     [0.5, 1.4, 0.3], lambda m, v, c: [0.3, 0.0, 1.0]),
    ("multivariate_normal of equal variances",
     lambda r, p: r.multivariate_normal([0.0, 0.0], [[p[0], 0.0], [0.0, p[0]]], N)[:, 1] ** 2, [1.5], lambda v: [1.0]),
]  # fmt: skip


def of_t(df):
    """The derivative of the expectation of |t| ** 0.5, by the closed form of the moment."""

    def moment(n):
        return n**0.25 * np.exp(
            special.gammaln(0.75) + special.gammaln(n / 2 - 0.25) - special.gammaln(0.5) - special.gammaln(n / 2)
        )

    return [(moment(df + 1e-5) - moment(df - 1e-5)) / 2e-5]


@pytest.mark.parametrize(("name", "make", "p", "wanted"), EXPECTATIONS, ids=[e[0] for e in EXPECTATIONS])
def test_derivatives_have_the_right_expectation(name, make, p, wanted):
    gradient = dj.grad(mean_of(make))
    found = np.array([gradient(np.array(p), seed) for seed in range(24)])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    exact = np.array((wanted or of_t)(*p))
    assert np.all(np.abs(np.mean(found, axis=0) - exact) < 4.5 * error + 1e-12)
    assert np.all(error < 0.2 * np.max(np.abs(exact)))


def test_the_second_moment_by_the_covariance_is_linear():
    def program(c, seed):
        x = np.random.default_rng(seed).multivariate_normal([0.0, 0.0], [[c, 0.4], [0.4, 1.2]], N)
        return np.mean(x[:, 0] ** 2)

    found = np.array([dj.hessian(program)(1.3, seed) for seed in range(24)])
    assert abs(np.mean(found)) < 4.5 * np.std(found) / np.sqrt(len(found)) + 1e-12
    assert np.std(found) < 0.2
