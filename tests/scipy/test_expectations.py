"""Moments and expectations of distributions by quadrature; reports of SciPy's functions; smoothing splines."""

import numpy as np
import pytest
import scipy.interpolate as si
from scipy import integrate, optimize, special, stats

import diffjit as dj

BACKENDS = ["python", pytest.param("numba", marks=pytest.mark.slow)]


def call(m, s):
    """What is above 1 of a normal number."""
    return stats.norm(m, s).expect(lambda x: np.maximum(x - 1.0, 0.0), lb=1.0)


def call_exactly(m, s):
    z = (m - 1.0) / s
    return (m - 1.0) * stats.norm.cdf(z) + s * stats.norm.pdf(z)


def of_logarithm(a, scale):
    return stats.gamma(a, scale=scale).expect(np.log)


def of_logarithm_exactly(a, scale):
    return special.psi(a) + np.log(scale)


def of_square(m, s):
    return stats.norm.expect(lambda x: x * x, loc=m, scale=s)


def of_square_exactly(m, s):
    return m * m + s * s


def far_away(m, s):
    return stats.norm(1000.0 + m, 0.01 * s).expect(lambda x: x * x)


def far_away_exactly(m, s):
    return (1000.0 + m) ** 2 + (0.01 * s) ** 2


def truncated(m, s):
    return stats.norm(m, s).expect(lb=0.2, ub=1.7, conditional=True)


def truncated_exactly(m, s):
    a, b = (0.2 - m) / s, (1.7 - m) / s
    return m + s * (stats.norm.pdf(a) - stats.norm.pdf(b)) / (stats.norm.cdf(b) - stats.norm.cdf(a))


def third_moment(m, s):
    return stats.norm(m, s).moment(3) + stats.expon(m, s).moment(5)


def third_moment_exactly(m, s):
    powers = [m**5, 5 * m**4 * s, 20 * m**3 * s**2, 60 * m**2 * s**3, 120 * m * s**4, 120 * s**5]
    return m**3 + 3 * m * s * s + sum(powers)


def without_formula(m, s):
    """SciPy integrates these moments itself."""
    return stats.gumbel_r(m, s).moment(2) + stats.hypsecant(m, s).moment(6)


def without_formula_exactly(m, s):
    return (m + np.euler_gamma * s) ** 2 + np.pi**2 / 6 * s * s + sum(
        c * m ** (6 - k) * s**k * e
        for k, c, e in (
            (0, 1.0, 1.0), (2, 15.0, np.pi**2 / 4), (4, 15.0, 5 * np.pi**4 / 16), (6, 1.0, 61 * np.pi**6 / 64)
        )
    )  # fmt: skip


EXACT = {
    "payoff": (call, call_exactly),
    "logarithm": (of_logarithm, of_logarithm_exactly),
    "square": (of_square, of_square_exactly),
    "far away": (far_away, far_away_exactly),
    "truncated": (truncated, truncated_exactly),
    "moments": (third_moment, third_moment_exactly),
    "moments without a formula": (without_formula, without_formula_exactly),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXACT)
def test_expectations(name, backend):
    function, exact = EXACT[name]
    p = 0.8, 0.6
    assert np.isclose(function(*p), exact(*p), rtol=1e-7)  # SciPy itself
    value, gradient = dj.value_and_grad(function, argnums=(0, 1), backend=backend)(*p)
    assert np.isclose(value, exact(*p), rtol=1e-8)
    expected = dj.grad(exact, argnums=(0, 1))(*p)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    forward = [dj.jvp(function, p, d, backend=backend)[1] for d in ((1.0, 0.0), (0.0, 1.0))]
    np.testing.assert_allclose(forward, expected, rtol=1e-6)
    curved = dj.hessian(function, argnums=(0, 1), backend=backend)(*p)
    np.testing.assert_allclose(curved, dj.hessian(exact, argnums=(0, 1))(*p), rtol=2e-5, atol=1e-6)


def test_an_expectation_compiled():
    np.testing.assert_allclose(dj.grad(of_square, argnums=(0, 1))(0.8, 0.6), (1.6, 1.2), rtol=1e-8)


def test_integers():
    def mean_of_square(p):
        return stats.binom(5, p).expect(lambda k: k**2) + stats.poisson(p).moment(2)

    p = 0.3
    assert np.isclose(dj.jit(mean_of_square)(p), mean_of_square(p))
    exact = 5 * (1 - 2 * p) + 50 * p + 1 + 2 * p
    assert np.isclose(dj.grad(mean_of_square)(p), exact)
    with pytest.raises(dj.UnsupportedSyntax, match="options of sums"):
        dj.grad(lambda p: stats.poisson(p).expect(lambda k: k, maxcount=9))(0.3)


T = np.linspace(0.0, 1.0, 6)


def reported(a):
    """Functions of SciPy that are asked to report."""
    value, error, _ = integrate.quad(lambda x: np.exp(a * x), 0.0, 1.0, full_output=1)
    wave = integrate.quad(lambda x: np.exp(a * x), 0.0, 1.0, weight="cos", wvar=a)[0]
    vector, _, _ = integrate.quad_vec(lambda x: np.array([a * x, x]), 0.0, 1.0, full_output=True)
    y, _ = integrate.odeint(lambda y, t: -a * y, [1.0], T, full_output=True)
    found, _, info, _, _ = optimize.curve_fit(lambda x, p, q: p * x + q, T, np.sin(a * T), full_output=True)
    volume = integrate.nquad(lambda x, y: a * x * y, [(0.0, 1.0), (0.0, 2.0)], full_output=True)[0]
    return value + wave + vector[0] + y[-1, 0] + found[0] + np.sum(info["fvec"] ** 2) + volume + 0.0 * error


@pytest.mark.parametrize("backend", BACKENDS)
def test_reports(backend):
    value, slope = dj.value_and_grad(reported, backend=backend)(0.7)
    assert np.isclose(value, reported(0.7), rtol=1e-6)
    difference = (reported(0.7 + 1e-4) - reported(0.7 - 1e-4)) / 2e-4
    assert np.isclose(slope, difference, rtol=1e-4)
    assert np.isclose(dj.jvp(reported, (0.7,), (1.0,), backend=backend)[1], slope, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda a: integrate.quad(np.sin, 0.0, a, full_output=1)[2]["neval"] * a, "the report of quad"),
        (lambda a: optimize.curve_fit(lambda x, p: p * x, T, a * T, full_output=True)[4] * a, "the kind of end"),
        (lambda a: integrate.quad(np.sin, 0.0, a, weight="alg-log", wvar=(1, 1))[0], "weight='alg-log'"),
    ],
    ids=["quad", "curve_fit", "weight"],
)
def test_what_is_not_told(function, said):
    with pytest.raises(dj.DiffjitError, match=said):
        dj.grad(function)(0.7)


X = np.array([0.0, 0.7, 1.1, 2.0, 3.3, 4.1, 5.0])
AT = np.array([-0.3, 0.4, 2.2, 5.4])


@pytest.mark.parametrize("backend", BACKENDS)
def test_smoothing_splines(backend):
    def curve(x, y, w, lam):
        return si.make_smoothing_spline(x, y, w, lam)(AT)

    args = X, np.sin(X), 1.0 + 0.3 * np.cos(X), 0.4
    np.testing.assert_allclose(dj.jit(curve, backend=backend)(*args), curve(*args), atol=1e-13)
    rng = np.random.default_rng(3)
    d = tuple(rng.normal(size=np.shape(a))[()] for a in args)
    moved = [curve(*(a + h * b for a, b in zip(args, d, strict=True))) for h in (1e-6, -1e-6)]
    slope = (moved[0] - moved[1]) / 2e-6
    np.testing.assert_allclose(dj.jvp(curve, args, d, backend=backend)[1], slope, rtol=1e-6, atol=1e-8)
    bars = dj.vjp(curve, *args, backend=backend)[1](np.ones(4))
    np.testing.assert_allclose(sum(np.sum(a * b) for a, b in zip(bars, d, strict=True)), np.sum(slope), rtol=1e-6)

    def bend(lam):
        return np.sum(si.make_smoothing_spline(X, np.stack([np.sin(X), X**2]), lam=lam, axis=1)(AT) ** 2)

    steps = [bend(0.4 + h) for h in (1e-3, 0.0, -1e-3)]
    second = dj.grad(dj.grad(bend, backend=backend), backend=backend)(0.4)
    np.testing.assert_allclose(second, (steps[0] - 2 * steps[1] + steps[2]) / 1e-6, rtol=1e-4)


def test_a_smoothing_spline_compiled():
    value = dj.jit(lambda y: si.make_smoothing_spline(X, y, lam=0.4)(AT))(np.sin(X))
    np.testing.assert_allclose(value, si.make_smoothing_spline(X, np.sin(X), lam=0.4)(AT), atol=1e-13)


def test_a_searched_parameter_is_refused():
    with pytest.raises(dj.UnsupportedSyntax, match="which is searched for"):
        dj.grad(lambda y: si.make_smoothing_spline(X, y)(0.3))(np.sin(X))


def test_a_function_of_fortran():
    from scipy.linalg import blas

    assert np.isclose(dj.jit(blas.dnrm2)(np.array([3.0, 4.0])), 5.0)
    np.testing.assert_allclose(dj.grad(blas.dnrm2)(np.array([3.0, 4.0])), [0.6, 0.8])
