"""Where elementwise functions have an edge, a pole or a corner: both modes agree there, in first and second order."""

import functools
import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import special

import diffjit as dj
import diffjit.primitives
from diffjit.primitives.registry import ELEMENTWISE, FUNCTIONS

POINTS = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 800.0, -800.0)
FIXED = (0.0, 1.0, -1.0, 2.0, 0.5, -0.5)


def differentiable(kind):
    """Whether a row has a partial derivative that is not constant."""
    return any(p not in (None, "0", "1", "-1") for p in ELEMENTWISE[kind].partials)


def numpys(f):
    """Whether a function is a ufunc of NumPy's: SciPy's have rows once something has imported them."""
    return isinstance(f, np.ufunc) and getattr(np, f.__name__, None) is f and f.nin < 3


ROWS = {f: k for f, k in FUNCTIONS.items() if numpys(f) and differentiable(k)}
NAMED = sorted({f.__name__: f for f in ROWS}.items())
UNARY = [f for _, f in NAMED if f.nin == 1]
BINARY = [f for _, f in NAMED if f.nin == 2]


def along(f):
    """The tangent of a function along 1."""
    return lambda x, *rest: dj.jvp(lambda t: f(t, *rest), (x,), (1.0,))[1]


def first_derivatives(f, backend):
    return dj.grad(f, backend=backend), functools.partial(tangent, f, backend)


def second_derivatives(f, backend):
    """Reverse over reverse, forward over reverse, reverse over forward, forward over forward."""
    return (
        dj.grad(dj.grad(f), backend=backend),
        functools.partial(tangent, dj.grad(f), backend),
        dj.grad(along(f), backend=backend),
        functools.partial(tangent, along(f), backend),
    )


def tangent(f, backend, x, *rest):
    dots = (1.0, *(0.0 for _ in rest))
    return dj.jvp(f, (x, *rest), dots, backend=backend)[1]


def alike(values):
    values = [float(v) for v in values]
    if any(map(math.isnan, values)):
        return all(map(math.isnan, values))
    return all(v == values[0] or math.isclose(v, values[0], rel_tol=1e-12, abs_tol=1e-12) for v in values)


def check(f, arguments, backend="python"):
    firsts, seconds = first_derivatives(f, backend), second_derivatives(f, backend)
    with np.errstate(all="ignore"):
        for args in arguments:
            slopes = [g(*args) for g in firsts]
            assert alike(slopes), (args, slopes)
            if not math.isnan(slopes[0]):  # else there is no derivative that could have one
                curvatures = [g(*args) for g in seconds]
                assert alike(curvatures), (args, curvatures)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda f: f.__name__)
def test_all_modes_agree(ufunc):
    def f(x):
        return ufunc(x)

    check(f, [(x,) for x in POINTS])


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda f: f.__name__)
def test_all_modes_agree_by_each_of_two_arguments(ufunc):
    if ufunc is np.ldexp:
        pytest.skip("the exponent is an integer")

    def by_first(x, y):
        return ufunc(x, y)

    def by_second(x, y):
        return ufunc(y, x)

    pairs = [(x, y) for x in POINTS for y in FIXED]
    check(by_first, pairs)
    check(by_second, pairs)


@pytest.mark.parametrize("ufunc", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.sqrt], ids=lambda f: f.__name__)
def test_all_modes_agree_when_compiled(ufunc):
    def f(x):
        return ufunc(x)

    check(f, [(x,) for x in (1.0, -1.0, 0.0, 0.5)], "numba")


def test_second_derivatives_at_the_ends_of_inverse_functions():
    def f(x):
        return np.arcsin(x)

    for backend in ("python", "numba"):
        assert dj.hessian(f, backend=backend)(1.0) == dj.grad(dj.grad(f), backend=backend)(1.0) == math.inf
        assert dj.hessian(f, backend=backend)(-1.0) == dj.grad(dj.grad(f), backend=backend)(-1.0) == -math.inf


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_the_mean_of_nothing_is_nan_with_a_gradient(backend):
    """NumPy divides by 0 here and goes on; so does the derivative."""

    def means(x):
        u = 1.0 * x
        for i in range(3):
            u[0] += np.tanh(x[1 : i + 1].mean())
        return np.sum(u)

    x = np.array([0.3, 0.2, 0.5, 0.1])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = dj.grad(means, backend=backend)(x)
        # of the rows with elements alone
        quotients = [np.tanh((x + 1e-6 * e)[1:3].mean()) - np.tanh((x - 1e-6 * e)[1:3].mean()) for e in np.eye(4)]
        first = [np.tanh((x + 1e-6 * e)[1]) - np.tanh((x - 1e-6 * e)[1]) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, 1.0 + (np.array(quotients) + np.array(first)) / 2e-6, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [np.sqrt, np.cbrt, np.reciprocal, np.log, lambda x: x**0.5, lambda x: 1.0 / x],
    ids=["sqrt", "cbrt", "reciprocal", "log", "power", "divide"],
)
def test_what_has_no_cotangent_passes_none_on(f):
    with np.errstate(all="ignore"):
        bars = dj.vjp(f, np.array([0.0, 4.0]), backend="python")[1](np.array([0.0, 1.0]))[0]
        tangents = dj.jvp(f, (np.array([0.0, 4.0]),), (np.array([0.0, 1.0]),), backend="python")[1]
    assert bars[0] == 0.0
    assert tangents[0] == 0.0
    assert np.isfinite(bars[1])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.sqrt, np.log])
def test_the_side_of_a_branch_cut(f, backend):
    """On a cut, the sign of a zero says which side a number is on: the derivative is that of this side."""

    def part(z, c):
        return np.sum(np.real(f(z) * c))

    g, h, one = dj.grad(part, backend=backend), 1e-6, (np.array([1.0 + 0j]), 0j)
    for re, im in itertools.product((1.3, -2.5, 0.4), (0.0, -0.0, 0.7)):
        points = [np.array([complex(re + shift, im)]) for shift in (h, -h)]
        for c in (1.0 + 0j, 1j):
            z = np.array([complex(re, im)])
            slope = (part(points[0], c) - part(points[1], c)) / (2 * h)
            bend = np.real(g(points[0], c) - g(points[1], c)) / (2 * h)
            np.testing.assert_allclose(dj.jvp(part, (z, c), one, backend=backend)[1], slope, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(np.real(g(z, c)), slope, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(np.real(dj.jvp(g, (z, c), one, backend=backend)[1]), bend, rtol=1e-4, atol=1e-5)


CHOSEN = [
    lambda x: np.where(x > 500, x, np.exp(x)),
    lambda x: np.where(x > 500, x, x * np.exp(x)),
    lambda x: np.where(x > 500, x, np.exp(x) / (x + 1) + np.sinh(x)),
    lambda x: np.clip(np.exp(x), 0.0, 1e6),
    lambda x: np.minimum(np.exp(x) * x, 1e6),
    lambda x: np.where(x > 500, x, np.log(np.cosh(x))),
    lambda x: np.where(x > 500, x, np.exp(x) ** 2),
    lambda x: np.where(x > 500, x, np.where(x < 2, np.exp(2 * x), 3 * x)),
    lambda x: np.select([x > 500], [x], np.exp(x)),
    lambda x: np.where((x > 500)[:, None], x[:, None], np.exp(x)[:, None]),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", CHOSEN, ids=range(len(CHOSEN)))
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_what_is_not_chosen_may_overflow(f, backend):
    x, h = np.array([1.0, 700.0, 720.0, 800.0]), 1e-5
    slopes = ((f(x + h) - f(x - h)) / (2 * h)).ravel()
    assert dj.grad(lambda v: np.sum(f(v)), backend=backend)(x) == pytest.approx(slopes, rel=1e-7)
    ours = dj.grad(lambda v: np.sum(f(v)), backend=backend)
    bends = (ours(x + h) - ours(x - h)) / (2 * h)
    assert np.diag(dj.hessian(lambda v: np.sum(f(v)), backend=backend)(x)) == pytest.approx(bends, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [special.rel_entr, special.kl_div], ids=["rel_entr", "kl_div"])
def test_bins_that_are_empty_in_both_distributions(f, backend):
    p, q, h = np.array([0.0, 0.3, 0.7]), np.array([0.0, 0.6, 0.4]), 1e-5

    def distance(p, q):
        return np.sum(f(p, q))

    full = np.array([0.0, h, 0.0])
    by_p, by_q = dj.grad(distance, argnums=(0, 1), backend=backend)(p, q)
    direction = (np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    both = (distance(p + full, q + full) - distance(p - full, q - full)) / (2 * h)
    assert dj.jvp(distance, (p, q), direction, backend=backend)[1] == pytest.approx(both, rel=1e-8)
    assert by_p[1] + by_q[1] == pytest.approx(both, rel=1e-8)
    assert (by_p[0], by_q[0]) == ((0.0, 0.0) if f is special.rel_entr else (-1.0, 1.0))  # as in JAX
    assert np.all(np.isfinite(dj.hessian(distance, argnums=1, backend=backend)(p, q)))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_next_to_the_pole_of_gamma(backend):
    x = np.array([1e-300, -1e-200])
    with np.errstate(all="ignore"):
        assert dj.grad(lambda x: np.sum(special.gammaln(x)), backend=backend)(x) == pytest.approx([-1e300, 1e200])
        bends = dj.jvp(special.digamma, (x,), (np.ones(2),), backend=backend)[1]
    assert np.all(bends == np.inf)


def forward_in_logarithms(steps, moves):
    """The weight of all paths through a chain that only goes on: most of its states cannot be reached at first."""
    alpha = np.full(3, -np.inf)
    alpha[0] = steps[0, 0]
    for t in range(1, steps.shape[0]):
        new = np.full(3, -np.inf)
        for j in range(3):
            for i in range(max(0, j - 1), j + 1):
                new[j] = np.logaddexp(new[j], alpha[i] + moves[i, j])
            new[j] += steps[t, j]
        alpha = new
    return alpha[1]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_two_impossible_events_move_along_finite_slopes(backend):
    rng = np.random.default_rng(5)
    steps, moves = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    dj.check_grads(forward_in_logarithms, (steps, moves), order=2, backend=backend)
    tangents = (rng.normal(size=(4, 3)), rng.normal(size=(3, 3)))
    by_steps, by_moves = dj.grad(forward_in_logarithms, argnums=(0, 1), backend=backend)(steps, moves)
    slope = dj.jvp(forward_in_logarithms, (steps, moves), tangents, backend=backend)[1]
    assert slope == pytest.approx(np.sum(by_steps * tangents[0]) + np.sum(by_moves * tangents[1]), rel=1e-12)
    infinite = dj.grad(np.logaddexp, argnums=(0, 1), backend=backend)
    assert infinite(np.inf, 2.0) == (1.0, 0.0)
    assert infinite(-np.inf, 2.0) == (0.0, 1.0)
    assert infinite(-np.inf, -np.inf) == (0.5, 0.5)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_several_results_are_written_where_they_are_to_be(backend):
    def parts(x):
        whole, rest = np.empty(3), np.zeros(3)
        np.modf(3 * x, out=(rest, whole))
        _, also = np.modf(x * x, out=(whole[::-1], None))
        return rest * rest + whole + also

    x = np.array([0.4, -0.9, 1.7])
    np.testing.assert_allclose(dj.jit(parts, backend=backend)(x), parts(x), rtol=1e-14)
    dj.check_grads(lambda v: np.sum(np.sin(parts(v))), (x,), order=2, backend=backend)


FACTORS = {
    "log1p": np.log1p, "root": lambda x: np.sqrt(1 + x) - 1, "quotient": lambda x: x / (1 + x),
    "reciprocal": lambda x: 1 - np.reciprocal(1 + x), "power": lambda x: (1 + x) ** x - 1, "arcsin": np.arcsin,
    "angle": lambda x: np.arctan2(x, 1 + x), "log2": lambda x: np.log2(1 + x), "arctanh": np.arctanh,
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", FACTORS)
def test_third_derivatives_where_a_factor_vanishes(name, backend):
    """They are those nearby: where a cotangent is 0, what is divided by has slopes, too."""

    def by_mode(mode, f):
        return dj.grad(f) if mode == "r" else along(f)

    product = lambda x: FACTORS[name](x) * x
    near = 1e-5
    for modes in ("rrr", "rff", "rfr", "frr") if backend == "python" else ("rff",):
        third = dj.jit(functools.reduce(lambda f, mode: by_mode(mode, f), modes, product), backend=backend)
        assert third(0.0) == pytest.approx((third(near) + third(-near)) / 2, rel=1e-6, abs=1e-6), modes
    series = dj.jet(product, (0.0,), ([1.0, 0.0, 0.0],), backend=backend)[1]
    assert series[2] == pytest.approx(third(0.0), rel=1e-9)
