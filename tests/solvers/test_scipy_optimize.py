"""`scipy.optimize` by its own names: values against SciPy, derivatives against exact solutions and formulas."""

import functools
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate as si
import scipy.optimize as so

import diffjit as dj
from diffjit.primitives.registry import COMPOSITES
from tests.solvers.modes import compared

X = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-1.3 * X) + 0.3 + 0.02 * np.random.default_rng(0).normal(size=9)
A = np.random.default_rng(1).normal(size=(6, 3))
B = np.random.default_rng(2).normal(size=6)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def valley(x, k):
    return k * (1.0 - x[0]) ** 2 + 10.0 * (x[1] - k * x[0] ** 2) ** 2 + 0.1 * x[0] ** 4


def steep_valley(x, k):
    """Its gradient."""
    gap = x[1] - k * x[0] ** 2
    return np.array([-2.0 * k * (1.0 - x[0]) - 40.0 * k * gap * x[0] + 0.4 * x[0] ** 3, 20.0 * gap])


def _logit(x):
    return -np.inf if x == 0 else np.inf if x == 1 else np.log(x / (1.0 - x))


def crossing(x, k):
    return [x[0] * np.cos(x[1]) - 4.0 * k, x[1] * x[0] - x[1] - 5.0]


ROOTS = {
    "brentq": lambda k: so.brentq(lambda x: x**3 - k, 0, 3),
    "bisect": lambda k: so.bisect(lambda x, k: np.cos(x) - k * x, 0, 3, args=(k,), xtol=1e-13),
    "infinite at an end": lambda k: so.brentq(lambda x: np.inf if x == 0 else 1 / x - k, 0.0, 3.0, xtol=1e-13),
    "infinite at both": lambda k: so.bisect(lambda x: _logit(x) - k, 0.0, 1.0, xtol=1e-13),
    "ridder": lambda k: so.ridder(functools.partial(lambda k, x: np.exp(x) - 3.0 * k, k), 0.0, 2.0),
    "toms748": lambda k: so.toms748(lambda x: x**3 - k, 0, 3),
    "secant": lambda k: so.newton(lambda x: x * x - k, 1.0),
    "newton": lambda k: so.newton(lambda x, k: x * x - k, 1.0, args=(k,), fprime=lambda x, k: 2.0 * x),
    "halley": lambda k: so.newton(lambda x: x * x - k, 1.0, fprime=lambda x: 2.0 * x, fprime2=lambda x: 2.0),
    "arrays": lambda k: np.sum(so.newton(lambda x: x * x - k * np.arange(1, 4), np.ones(3), lambda x: 2.0 * x) ** 3),
    "secants": lambda k: np.sum(so.newton(lambda x: x * x - k * np.arange(1, 4), np.ones(3)) ** 3),
    "root_scalar": lambda k: so.root_scalar(lambda x: x * x - k, bracket=[0, 3], method="brentq").root,
    "with slope": lambda k: so.root_scalar(lambda x: (x * x - k, 2.0 * x), fprime=True, x0=1.0, method="newton").root,
    "full output": lambda k: so.brentq(lambda x: x**3 - k, 0, 3, full_output=True)[1].root,
    "quiet": lambda k: so.bisect(lambda x: x**3 - k, 0, 3, xtol=1e-13, full_output=True, disp=False)[0],
    "quiet secant": lambda k: so.newton(lambda x: x * x - k, 1.0, disp=False),
}

SYSTEMS = {
    "fsolve": lambda k: np.sum(so.fsolve(crossing, [6.0, 1.0], args=(k,), xtol=1e-12) ** 2),
    "root": lambda k: so.root(lambda x: crossing(x, k), np.array([6.0, 1.0]), method="lm", tol=1e-12).x[1],
    "fixed_point": lambda k: so.fixed_point(lambda x: np.cos(k * x), 0.5, xtol=1e-13),
    "fixed points": lambda k: np.sum(so.fixed_point(lambda x: np.cos(k * x) * np.array([1.0, 0.5]), [0.5, 0.5])),
}


@pytest.mark.parametrize("name", ROOTS)
def test_roots(name):
    compared(ROOTS[name], 1.3, value=1e-9)


@pytest.mark.parametrize("name", ["brentq", "infinite at an end", "infinite at both", "arrays", "quiet"])
def test_compiled_roots(name):
    compared(ROOTS[name], 1.3, backend="numba")


def test_random_roots():
    """Cubic functions that rise: roots by each name are SciPy's, to the tolerance asked for."""
    names = ("brentq", "brenth", "bisect", "ridder", "toms748")
    found = {
        name: dj.jit(lambda p, n=name: getattr(so, n)(lambda x: x**3 + p[0] * x - p[1], -9.0, 9.0)) for name in names
    }
    rng = np.random.default_rng(4)
    for _ in range(50):
        p = np.array([0.1 + rng.random() * 5.0, 20.0 * rng.normal()])
        for name in names:
            wanted = so.brentq(lambda x: x**3 + p[0] * x - p[1], -9.0, 9.0)  # noqa: B023 - called at once
            assert found[name](p) == pytest.approx(wanted, rel=1e-11, abs=4e-12)


def test_roots_of_integrals():
    def median(k):
        return so.brentq(lambda x: si.quad(lambda u: np.exp(-k * u), 0, x)[0] - 0.5 / k, 0.0, 3.0)

    assert dj.grad(median, backend="python")(1.3) == pytest.approx(-np.log(2.0) / 1.3**2, rel=1e-10)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("height", [10.0, np.inf])
def test_a_jump_past_zero_is_no_root(height, backend):
    """The root of such a function is where it jumps, and moves with that place: not with the slope beside it."""
    jumps = lambda k: so.brentq(lambda x: x - 3.0 + 9.0 if x > k else x - 3.0 - height, 0.0, 9.0)
    assert dj.jit(jumps, backend=backend)(4.0) == pytest.approx(jumps(4.0), rel=1e-10)
    for derive in (dj.grad(jumps, backend=backend), lambda k: dj.jvp(jumps, (k,), (1.0,), backend=backend)):
        with pytest.raises(RuntimeError, match=r"jumps past zero|not at a finite slope"):
            derive(4.0)


def test_mistakes_about_roots():
    same = lambda k: so.brentq(lambda x: x * x + k, 0.0, 3.0)
    level = lambda k: so.brentq(lambda x: (x - k) ** 3, -1.0, 1.0)
    for backend in ("python", "numba"):
        with pytest.raises(ValueError, match="different signs"):
            dj.jit(same, backend=backend)(1.0)
    with pytest.raises(RuntimeError, match="no derivative"):
        dj.grad(level, backend="python")(0.0)
    with pytest.raises(RuntimeError, match="no root was found"):
        dj.jit(lambda k: so.newton(lambda x: x * x + k, 1.0), backend="python")(1.0)
    with pytest.raises(dj.UnsupportedSyntax, match="`iterations` of a root"):
        dj.jit(lambda k: so.root_scalar(lambda x: x * x - k, x0=1.0, x1=2.0).iterations)(1.0)


STOPPED = {
    "brentq": lambda k: so.brentq(lambda x: x * x - k, 0.0, 3.0, maxiter=1, disp=False),
    "newton": lambda k: so.newton(lambda x: x * x + k, 1.0, disp=False),
    "root_scalar": lambda k: so.root_scalar(lambda x: x * x + k, x0=1.0, method="secant").root,
}


@pytest.mark.parametrize("name", STOPPED)
def test_where_a_search_stops_without_an_error_is_not_told(name):
    """SciPy gives where its own steps have come to, and raises nothing that a `try` could catch."""
    quiet = STOPPED[name]
    assert isinstance(quiet(1.0), float)
    with pytest.raises(NotImplementedError, match=r"not found|no root was found"):
        dj.jit(quiet, backend="python")(1.0)


def test_compiled_systems():
    """SciPy calls compiled functions, from compiled code."""
    compared(SYSTEMS["fsolve"], 1.1, backend="numba", order=1)
    lanes = np.array([1.1, 1.12])
    gradient = dj.grad(SYSTEMS["fsolve"])
    assert dj.jit(dj.vmap(gradient))(lanes) == pytest.approx([gradient(k) for k in lanes], rel=1e-8)


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name):
    compared(SYSTEMS[name], 1.1 if name in ("fsolve", "root") else 1.0)


def test_systems_without_a_solution():
    """SciPy warns and gives what it has; a derivative of that does not exist."""
    lost = lambda k: so.fsolve(lambda x: x * x + k, 1.0, full_output=1)
    x, _, flag, _ = lost(1.0)
    found = dj.jit(lambda k: lost(k)[:3:2], backend="python")(1.0)
    assert found[0] == pytest.approx(x)
    assert found[1] == flag != 1
    with pytest.raises(RuntimeError, match=r"isolated|singular"):
        dj.grad(lambda k: lost(k)[0][0], backend="python")(1.0)
    with pytest.raises(RuntimeError, match="singular"):
        dj.grad(lambda k: so.fsolve(lambda x: [x[0] + x[1] - k, x[0] + x[1] - k], [0.0, 0.0])[0], backend="python")(1.0)


def lowest(k):
    """The minimum of `valley`, exactly."""
    x = so.minimize(valley, [0.5, 0.5], args=(k,), jac=dj.grad(valley), tol=1e-13).x
    return so.root(lambda x: dj.grad(valley)(x, k), x, tol=1e-15).x


MINIMA = {
    "default": (lambda k: np.sum(so.minimize(valley, [0.5, 0.5], (k,)).x ** 2), lambda k: np.sum(lowest(k) ** 2)),
    "simplex": (
        lambda k: so.minimize(lambda x: valley(x, k), [0.5, 0.5], method="Nelder-Mead").x[1], lambda k: lowest(k)[1],
    ),
    "value": (lambda k: so.minimize(valley, [0.5, 0.5], (k,), "L-BFGS-B").fun, lambda k: valley(lowest(k), k)),
    "gradient": (
        lambda k: so.minimize(lambda x: (valley(x, k), dj.grad(valley)(x, k)), [0.5, 0.5], jac=True)["x"][0],
        lambda k: lowest(k)[0],
    ),
    "one number": (lambda k: so.minimize_scalar(lambda x: np.cosh(x - k) + x).x, lambda k: k - np.arcsinh(1.0)),
    "bounded": (
        lambda k: so.minimize_scalar(lambda x: np.cos(k * x), bounds=(1, 5), method="bounded").x, lambda k: np.pi / k,
    ),
    "an array as bracket": (
        lambda k: so.minimize_scalar(lambda x: np.cosh(x - k), bracket=np.array([-9, 0, 9]) * k).x, lambda k: k,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MINIMA)
def test_minima(name):
    program, exact = MINIMA[name]
    compared(program, 1.3, exact=exact, value=1e-4 if name == "simplex" else 1e-6, first=1e-5, second=1e-3)


def test_what_is_least_may_be_a_number_or_an_array():
    def squared(k, v):
        return (0.0 if v <= 0 else k * np.log(1.0 + v) - 1.0) ** 2

    root = lambda k: so.minimize(lambda v: squared(k, v), k, method="CG", tol=1e-10).x[0]
    value, slope = dj.value_and_grad(root, backend="python")(1.3)
    np.testing.assert_allclose([value, slope], [np.expm1(1 / 1.3), -np.exp(1 / 1.3) / 1.3**2], rtol=1e-5)


def test_minima_at_bounds():
    """What stands at its bound moves with it, and the rest with what stands."""

    def kept(k):
        bounds = [(0.0, 0.2 * k), (None, None)]
        return so.minimize(valley, [0.1, 0.5], args=(k,), method="L-BFGS-B", bounds=bounds, tol=1e-14).x

    exact = lambda k: np.array([0.2 * k, k * (0.2 * k) ** 2])
    assert dj.jit(kept, backend="python")(1.3) == pytest.approx(exact(1.3), rel=1e-6)
    assert dj.jacfwd(kept)(1.3) == pytest.approx([0.2, 3.0 * 0.04 * 1.3**2], rel=1e-6)
    assert dj.grad(lambda k: kept(k)[1], backend="python")(1.3) == pytest.approx(3.0 * 0.04 * 1.3**2, rel=1e-6)


def test_minima_that_only_touch_their_bounds():
    touching = lambda k: so.minimize(lambda x: (x[0] - k) ** 2, [0.5], bounds=[(0.0, 1.0)], method="TNC").x[0]
    with pytest.raises(RuntimeError, match="not pushed against it"):
        dj.grad(touching, backend="python")(1.0)
    assert dj.grad(touching, backend="python")(0.7) == pytest.approx(1.0)
    assert dj.grad(touching, backend="python")(1.2) == 0.0


def test_minima_that_are_none():
    flat = lambda k: so.minimize(lambda x: (x[0] + k) ** 2 + 0.0 * x[1], [1.0, 1.0]).x[0]
    with pytest.raises(RuntimeError, match="singular"):
        dj.grad(flat, backend="python")(1.0)


def best(k, weight=None):
    """The exact parameters for data that are scaled."""
    found = so.least_squares(lambda p: decay(X, *p) - k * Y, [2.0, 1.3, 0.3], xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    for _ in range(5):
        cost = lambda p: 0.5 * np.sum((decay(X, p[0], p[1], p[2]) - k * Y) ** 2)
        found = found - np.linalg.solve(dj.hessian(cost)(found), dj.grad(cost)(found))
    return found


FITS = {
    "least_squares": (
        lambda k: np.sum(so.least_squares(lambda p: decay(X, *p) - k * Y, [1.0, 1.0, 0.0]).x ** 2),
        lambda k: np.sum(best(k) ** 2),
    ),
    "curve_fit": (lambda k: so.curve_fit(decay, X, k * Y)[0][1] + k, lambda k: best(k)[1] + k),
    "nnls": (lambda k: np.sum(so.nnls(A * k, B + k + 2.0)[0] ** 2), None),
    "lsq_linear": (lambda k: np.sum(so.lsq_linear(A, B + k, bounds=(-0.1 * k, 0.5)).x ** 2), None),
}


@pytest.mark.parametrize("name", FITS)
def test_fits(name):
    program, exact = FITS[name]
    compared(program, 1.3, exact=exact, value=1e-5, first=1e-5, second=1e-3, order=1 if name == "curve_fit" else 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["least_squares", "lsq_linear"])
def test_compiled_fits(name):
    program, exact = FITS[name]
    compared(program, 1.3, exact=exact, value=1e-5, first=1e-5, backend="numba", order=1)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_losses(loss):
    tight = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}

    def cost(y):
        fit = so.least_squares(lambda p: p[0] + p[1] * X - y, [0.0, 0.0], loss=loss, f_scale=0.1, **tight)
        return fit.cost, fit.grad, fit.fun

    found, wanted = dj.jit(cost, backend="python")(Y), cost(Y)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    slope = dj.grad(lambda y: cost(y)[0], backend="python")(Y)
    for k in (0, 4):
        step = 1e-5 * (np.arange(9) == k)
        assert slope[k] == pytest.approx((cost(Y + step)[0] - cost(Y - step)[0]) / 2e-5, rel=1e-5, abs=1e-8)


def test_covariances():
    """Of a straight line, whose covariance has a formula."""

    def spread(y, sigma, absolute):
        line = lambda x, a, b: a * x + b
        return so.curve_fit(line, X, y, sigma=sigma, absolute_sigma=absolute)[1]

    sigma = 0.1 + 0.05 * X
    for absolute in (False, True):
        found = dj.jit(lambda y, s, a=absolute: spread(y, s, a), backend="python")(Y, sigma)
        np.testing.assert_allclose(found, spread(Y, sigma, absolute), rtol=1e-6)
    slope = dj.grad(lambda s: spread(Y, s * sigma, True)[0, 0], backend="python")(1.0)
    assert slope == pytest.approx(2.0 * spread(Y, sigma, True)[0, 0], rel=1e-6)
    by_data = dj.grad(lambda y: spread(y, sigma, False)[0, 0], backend="python")(Y)
    step = 1e-3 * (np.arange(9) == 2)
    quotient = (spread(Y + step, sigma, False)[0, 0] - spread(Y - step, sigma, False)[0, 0]) / 2e-3
    assert by_data[2] == pytest.approx(quotient, rel=1e-5)


@pytest.mark.filterwarnings("ignore:Covariance of the parameters")
def test_curves_with_derivatives_of_the_users_own():
    """SciPy weighs their columns as it weighs residuals; where they are 0, it stays where it began."""

    def fitted(y, sigma, scale):
        line = lambda x, a, b: a * x + b * b
        columns = lambda x, a, b: scale * np.stack([x, 0.0 * x + 2.0 * b], axis=1)
        return so.curve_fit(line, X, y, p0=[1.0, 2.0], sigma=sigma, jac=columns)[0]

    y, sigma = 1.0 + Y**2, 0.1 + 0.05 * X
    correlated = np.diag(sigma) + 0.01
    found = dj.jit(lambda y: fitted(y, correlated, 1.0), backend="python")(y)
    np.testing.assert_allclose(found, fitted(y, correlated, 1.0), rtol=1e-7)
    by_data = dj.grad(lambda y, s: fitted(y, sigma, s)[0], backend="python")
    above, below = (fitted(y + step * (np.arange(9) == 2), sigma, 1.0)[0] for step in (1e-3, -1e-3))
    assert by_data(y, 1.0)[2] == pytest.approx((above - below) / 2e-3, rel=1e-5)
    np.testing.assert_array_equal(dj.jit(lambda y: fitted(y, sigma, 0.0), backend="python")(y), [1.0, 2.0])


def test_what_an_objective_changes():
    """An array may be changed for a while; what lasts is refused, by the name that a user knows."""

    def misfit(p, t, y):
        at_once = t <= 0.0
        t[at_once] = 0.1
        found = np.exp(-p[0] * t) / np.sqrt(t)
        t[at_once] = 0.0
        return np.sum((found - y) ** 2)

    def fitted(y):
        return so.minimize(misfit, [1.0], args=(np.arange(4.0), y), tol=1e-9).x[0]

    def filled(p, t, y):
        t[0] = p[0] ** 2
        return np.sum((t - y) ** 2)

    y = np.array([2.9, 0.52, 0.18, 0.06])
    slope = dj.grad(fitted, backend="python")(y)
    quotients = [(fitted(y + step) - fitted(y - step)) / 2e-4 for step in 1e-4 * np.eye(4)]
    np.testing.assert_allclose(slope, quotients, rtol=1e-4, atol=1e-6)
    with pytest.raises(dj.UsageError, match="a function in a solver's hands changed an array"):
        dj.jit(lambda y: so.minimize(filled, [1.0], args=(np.arange(4.0), y)).x[0], backend="python")(y)


def test_assignments_are_constant():
    def cost(c):
        rows, columns = so.linear_sum_assignment(c)
        return np.sum(c[rows, columns] ** 2), rows, columns

    c = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0]])
    for found, wanted in zip(dj.jit(cost, backend="python")(c), cost(c), strict=True):
        np.testing.assert_array_equal(found, wanted)
    expected = np.zeros((2, 3))
    expected[0, 1], expected[1, 0] = 2.0, 4.0
    np.testing.assert_array_equal(dj.grad(lambda c: cost(c)[0], backend="python")(c), expected)


def test_every_function_is_tested():
    tests = Path(__file__).parent.parent
    files = [
        *tests.glob("solvers/test_scipy_*.py"),
        *(tests / "scipy" / f"{n}.py" for n in ("test_theory", "test_equations", "outside_rows")),
    ]
    text = "".join(path.read_text() for path in files)
    folders = tuple(f"diffjit.solvers.{name}." for name in ("scipy", "boundary", "constrained", "minima"))
    bound = [f for f, plain in COMPOSITES.items() if plain.__module__.startswith(folders)]
    assert len(bound) > 25
    assert [f.__name__ for f in bound if f"{f.__name__}" not in text] == []


def on_the_curve(t):
    return np.array([np.cos(t), 0.5 * np.sin(2 * t) + t])


def nearest(p, method):
    """Where on a curve a point is nearest to: the minimum of a norm, which turns within its own size."""
    distance = lambda t: np.sqrt(np.sum((on_the_curve(t[0]) - p) ** 2))
    return so.minimize(distance, np.array([0.5]), method=method).x[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("method", ["Nelder-Mead", "BFGS"])
def test_where_a_norm_has_its_minimum_near_zero_nothing_is_guessed(method, backend):
    across, along = np.array([2.0, 1.0]), np.array([-np.sin(0.7), np.cos(1.4) + 1.0])
    slope = dj.grad(functools.partial(nearest, method=method), backend=backend)
    for size in (1e-2, 1e-4):
        p = on_the_curve(0.7) + size * across
        t = nearest(p, method)
        for _ in range(4):  # Newton's method
            d, bend = np.array([-np.sin(t), np.cos(2 * t) + 1.0]), np.array([-np.cos(t), -2.0 * np.sin(2 * t)])
            t -= (on_the_curve(t) - p) @ d / (d @ d + (on_the_curve(t) - p) @ bend)
        np.testing.assert_allclose(slope(p), d / (d @ d + (on_the_curve(t) - p) @ bend), rtol=1e-3)
    for p in (on_the_curve(0.7), on_the_curve(0.7) + 1e-8 * across, on_the_curve(0.7) + 1e-9 * along):
        with pytest.raises(RuntimeError, match=r"turns too sharply|no isolated"):
            slope(p)
