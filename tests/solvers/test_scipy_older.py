"""SciPy's older names of minima, and searches of regions: against `minimize`, whose derivatives are tested."""

import numpy as np
import pytest
import scipy.integrate as si
import scipy.optimize as so

import diffjit as dj
from tests.solvers.modes import compared
from tests.solvers.test_scipy_optimize import decay, lowest, steep_valley, valley

START = [0.5, 0.5]
QUIET = {"disp": False}
POINTS = np.linspace(0.0, 2.0, 9)
SEEN = 2.0 * np.exp(-1.3 * POINTS) + 0.3 + 0.02 * np.random.default_rng(0).normal(size=9)


def bowl(x, k):
    """A function that searches come near the minimum of."""
    return (x[0] - k) ** 2 + 0.5 * (x[1] - k * x[0]) ** 2 + 0.1 * x[0] ** 4


def first(k):
    """The first number of the place where `bowl` is least."""
    return so.brentq(lambda u: 2.0 * (u - k) + 0.4 * u**3, -5.0, 5.0, xtol=1e-15)


def bottom(k):
    """The square of its distance."""
    return first(k) ** 2 * (1.0 + k * k)


def kept(k):
    """What a bound holds moves with it, and the other number with that."""
    found = so.fmin_l_bfgs_b(valley, [0.1, 0.5], args=(k,), approx_grad=True, bounds=[(0.0, 0.2 * k), (None, None)],
                             factr=1.0, pgtol=1e-10)  # fmt: skip
    return found[0][1]


def squares(k, **given):
    return so.leastsq(lambda p, y: decay(POINTS, *p) - y, [1.0, 1.0, 0.0], args=(k * SEEN,), **given)


MINIMA = {
    "fmin": lambda k: np.sum(so.fmin(valley, START, (k,), xtol=1e-9, ftol=1e-12, **QUIET) ** 2),
    "fmin_powell": lambda k: np.sum(so.fmin_powell(bowl, START, (k,), xtol=1e-9, ftol=1e-14, **QUIET) ** 2),
    "fmin_bfgs": lambda k: np.sum(so.fmin_bfgs(valley, START, steep_valley, (k,), gtol=1e-9, **QUIET) ** 2),
    "fmin_cg": lambda k: np.sum(so.fmin_cg(valley, START, steep_valley, (k,), gtol=1e-9, **QUIET) ** 2),
    "fmin_ncg": lambda k: np.sum(so.fmin_ncg(valley, START, steep_valley, args=(k,), avextol=1e-10, **QUIET) ** 2),
    "fmin_tnc": lambda k: np.sum(so.fmin_tnc(valley, START, steep_valley, (k,), messages=0, ftol=1e-20)[0] ** 2),
    "fmin_slsqp": lambda k: np.sum(so.fmin_slsqp(valley, START, args=(k,), acc=1e-14, iprint=0) ** 2),
    "fmin_cobyla": lambda k: np.sum(so.fmin_cobyla(valley, START, [], (k,), rhoend=1e-9, maxfun=5000) ** 2),
    "differential_evolution": lambda k: np.sum(so.differential_evolution(bowl, [(-2, 2)] * 2, (k,), seed=1).x ** 2),
    "basinhopping": lambda k: np.sum(
        so.basinhopping(bowl, START, 2, seed=1, minimizer_kwargs={"args": (k,), "method": "BFGS"}).x ** 2
    ),
    "brute": lambda k: so.brute(bowl, ((-2.0, 2.0), (-2.0, 2.0)), (k,))[0],
}


BOWLS = ("fmin_powell", "differential_evolution", "basinhopping", "brute")


@pytest.mark.parametrize("name", MINIMA)
def test_older_names(name):
    exact = first if name == "brute" else bottom if name in BOWLS else lambda k: np.sum(lowest(k) ** 2)
    loose = name in ("brute", "fmin_tnc")
    compared(MINIMA[name], 1.3, exact=exact, value=1e-3 if loose else 1e-5, first=1e-5, second=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shgo", "dual_annealing", "direct"])
def test_searches(name):
    found = {
        "shgo": lambda k: so.shgo(bowl, [(-2, 2)] * 2, (k,)),
        "dual_annealing": lambda k: so.dual_annealing(bowl, [(-2, 2)] * 2, (k,), maxiter=20, seed=1),
        "direct": lambda k: so.direct(bowl, [(-2, 2)] * 2, args=(k,), len_tol=1e-5, maxfun=50000),
    }[name]
    wanted = (first(1.3 + 1e-4) - first(1.3 - 1e-4)) / 2e-4
    assert dj.grad(lambda k: found(k).x[0], backend="python")(1.3) == pytest.approx(wanted, rel=1e-5)


def test_bounds():
    assert dj.grad(kept, backend="python")(1.3) == pytest.approx(3.0 * 0.04 * 1.3**2, rel=1e-6)


LINES = {
    "brent": lambda k: so.brent(lambda x: np.cosh(x - k) + x),
    "golden": lambda k: so.golden(lambda x, k: np.cosh(x - k) + x, args=(k,), tol=1e-9),
    "fminbound": lambda k: so.fminbound(lambda x: np.cosh(x - k) + x, -3.0, 3.0, xtol=1e-9),
}


@pytest.mark.parametrize("name", LINES)
def test_one_number(name):
    compared(LINES[name], 1.3, exact=lambda k: k - np.arcsinh(1.0), value=1e-7, first=1e-6)


def slopes(p, y):
    """Of what `squares` leaves over, by the parameters."""
    return np.stack([np.exp(-p[1] * POINTS), -p[0] * POINTS * np.exp(-p[1] * POINTS), np.ones_like(POINTS)], axis=1)


def test_leastsq():
    exactly = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    left = lambda p, k: decay(POINTS, *p) - k * SEEN
    wanted = lambda k: so.least_squares(left, [1.0, 1.0, 0.0], slopes, args=(k,), **exactly).x
    for part in (0, 1, 2):
        exact = lambda k, part=part: wanted(k)[part] + k
        compared(lambda k, part=part: squares(k)[0][part] + k, 1.3, exact=exact, value=1e-6, first=1e-8, order=1)
    found = dj.jit(lambda k: squares(k, full_output=True)[1], backend="python")(1.3)
    exactly["gtol"] = 0.0  # SciPy's covariance is that of the step before the last
    np.testing.assert_allclose(found, squares(1.3, full_output=True, Dfun=slopes, **exactly)[1], rtol=1e-7)


REGIONS = {
    "two": lambda k: si.nquad(lambda y, x: np.exp(-k * x * y), [[0, 1], [0, k]])[0],
    "curved": lambda k: si.nquad(lambda y, x, a: np.exp(-a * x * y), [lambda x, a: (0, a * x), (0, k)], args=(k,))[0],
    "options": lambda k: si.nquad(lambda x: np.exp(-k * x), [(0, np.inf)], opts={"epsabs": 1e-11})[0],
}


@pytest.mark.parametrize("name", REGIONS)
def test_nquad(name):
    compared(REGIONS[name], 1.3, order=2 if name == "options" else 1)


def test_mistakes():
    for program, words in (
        (lambda k: so.fmin(valley, START, (k,), retall=1), r"fmin\(retall"),
        (lambda k: so.brute(valley, (slice(0.0, 1.0, 0.5),) * 2, (k,)), "slices"),
        (lambda k: si.nquad(lambda x: k * x, [(0, 1)], full_output=True)[2]["neval"], "report of nquad"),
    ):
        with pytest.raises(dj.UnsupportedSyntax, match=words):
            dj.jit(program)(1.0)
