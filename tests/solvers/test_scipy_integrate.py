"""`scipy.integrate` by its own names: values against SciPy, derivatives against quotients of SciPy's and formulas."""

import numpy as np
import pytest
import scipy.integrate as si
import scipy.special as sp

import diffjit as dj
from tests.solvers.modes import compared

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def prey(t, y, a, b):
    return [a * y[0] - b * y[0] * y[1], -1.5 * y[1] + 0.05 * y[0] * y[1]]


def ground(t, y, g=None):
    return y[0]


ground.terminal, ground.direction = True, -1


def stiff(t, y, mu):
    return [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]


class Decay:
    """A right-hand side that is a method."""

    def __init__(self, rate):
        self.rate = rate

    def slope(self, t, y):
        return -self.rate * y

    def half(self, t, y):
        return y[0] - 0.5

    half.terminal, half.direction = True, -1

    def third(self, t, y):
        return y[0] - 1.0 / 3.0

    def until(self, event):
        """The time of an event that is a method."""
        return si.solve_ivp(self.slope, [0, 9], [1.0], events=event, **TIGHT).t[-1]

    def until_third(self):
        """The attribute is set here, first of all on the function of the method."""
        self.third.__func__.terminal = True
        return self.until(self.third)


def cell(k):
    """An integral over a part of the plane with a curved side."""
    return si.dblquad(lambda y, x: np.exp(-k * x * y), 0, 1, lambda x: 0.0, lambda x: k * x)[0]


INTEGRALS = {
    "arguments": lambda k: si.quad(lambda x, k: np.exp(-k * x * x), 0, 1, args=(k,))[0],
    "one argument": lambda k: si.quad(lambda x, k: np.exp(-k * x * x), 0, 1, args=k)[0],
    "limits": lambda k: si.quad(lambda x: np.sin(k * x) / (3.0 + x), k, k * k - 3.0)[0],
    "half a line": lambda k: si.quad(lambda x: np.exp(-k * x * x), k, np.inf)[0],
    "a line": lambda k: si.quad(lambda x: np.exp(-k * (x - 1.0) ** 2), -np.inf, np.inf)[0],
    "backwards": lambda k: si.quad(lambda x: np.exp(k * x), np.inf if k < 0 else k, -np.inf)[0],
    "points": lambda k: si.quad(lambda x: np.abs(x - 0.3) * np.cos(k * x), 0, 1, points=[0.3])[0],
    "singular": lambda k: si.quad(lambda x: x ** (-k / 3) * np.cos(x), 0, 1)[0],
    "fixed": lambda k: si.fixed_quad(lambda x: np.exp(-k * x), 0, k, n=4)[0],
    "vectors": lambda k: np.sum(si.quad_vec(lambda x: np.exp(-k * x * np.arange(3)), 0, k)[0] ** 2),
}

SOLUTIONS = {
    "times": lambda k: np.sum(
        si.solve_ivp(prey, [0, 3], [10, 2], args=(k, 0.1), t_eval=[0.0, 1.0, 2.5], **TIGHT).y ** 2
    ),
    "end": lambda k: si.solve_ivp(prey, [0, k], [10.0, k], args=(1.0, 0.1), **TIGHT).y[0, -1],
    "back": lambda k: si.solve_ivp(prey, [3, 0.2 * k], [10.0, 2.0], args=(1.0, 0.1), **TIGHT)["y"][1, -1],
    "dense": lambda k: np.sum(
        si.solve_ivp(prey, (0, 3), [10.0, k], args=(1, 0.1), dense_output=True, **TIGHT).sol(1.1)
    ),
    "event": lambda k: si.solve_ivp(lambda t, y: [y[1], -9.81 * k], [0, 9], [0.0, 10.0], events=ground, **TIGHT).t[-1],
    "method": lambda k: np.sum(si.solve_ivp(Decay(k).slope, (0, 2), np.array([1.0, 2.0]), **TIGHT).y[:, -1]),
    "event that is a method": lambda k: Decay(k).until(Decay(k).half),
}

STIFF = {
    "Radau": lambda k: si.solve_ivp(stiff, (0, 2), [2.0, 0.0], method="Radau", args=(20.0 * k,), **TIGHT).y[0, -1],
    "class": lambda k: si.solve_ivp(Decay(k).slope, (0, 2), np.array([1.0, 2.0]), method=si.DOP853, **TIGHT).y[0, -1],
    "odeint": lambda k: si.odeint(lambda y, t: [y[1], -k * y[0]], [1.0, 0.0], [0.0, 0.5, 2.0], rtol=1e-10, atol=1e-10)[
        2, 0
    ],
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    compared(INTEGRALS[name], 1.3, order=1 if name == "singular" else 2)


def test_a_second_derivative_that_does_not_converge_is_refused():
    with pytest.raises(RuntimeError, match="second derivative of an integral did not converge"):
        dj.grad(dj.grad(INTEGRALS["singular"], backend="python"), backend="python")(1.3)


@pytest.mark.parametrize("name", ["arguments", "half a line", "times", "event"])
def test_compiled(name):
    compared({**INTEGRALS, **SOLUTIONS}[name], 1.3, backend="numba", order=1)


@pytest.mark.slow
def test_integrals_over_the_plane():
    compared(cell, 1.3)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_solutions(name):
    compared(SOLUTIONS[name], 1.3, value=1e-9, order=2 if name in ("end", "event") else 1)


def test_an_event_that_is_a_method_is_told_to_end_the_integration_by_the_program():
    slope = dj.grad(lambda k: Decay(k).until_third(), backend="python")(1.3)
    assert slope == pytest.approx(-np.log(3.0) / 1.3**2, rel=1e-7)
    assert not vars(Decay.third)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["times", "back", "dense", "method"])
def test_solutions_to_second_order(name):
    compared(SOLUTIONS[name], 1.3, value=1e-9)


@pytest.mark.parametrize("name", STIFF)
def test_stiff_solutions(name):
    compared(STIFF[name], 1.3, value=1e-7, order=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", STIFF)
def test_stiff_solutions_to_second_order(name):
    compared(STIFF[name], 1.3, value=1e-7)


@pytest.mark.slow
def test_an_integral_of_three_variables_is_that_of_its_parts():
    def volume(k):
        return si.tplquad(lambda z, y, x: np.exp(k * z) * y * x, 0, 1, 0, k, 0.0, 2.0)[0]

    exact = 0.25 * 1.3**2 * (np.exp(2.6) - 1.0) / 1.3
    assert dj.jit(volume, backend="python")(1.3) == pytest.approx(exact, rel=1e-12)


def test_derivatives_where_the_function_itself_vanishes():
    """Panels are those of the derivative: the function is zero all along, its derivative is a narrow hill."""

    def hill(k):
        return si.quad(lambda x: k * np.exp(-((x - 0.7123) ** 2) / 1e-3), 0.0, 1.0)[0]

    exact = np.sqrt(np.pi * 1e-3)
    for derivative in (dj.grad(hill, backend="python")(0.0), dj.jvp(hill, (0.0,), (1.0,))[1]):
        assert derivative == pytest.approx(exact, rel=1e-8)


def test_integrals_that_do_not_converge():
    with pytest.raises(RuntimeError, match="did not converge"):
        dj.jit(lambda k: si.quad(lambda x: k / x, 0.0, 1.0)[0], backend="python")(1.0)


def elliptic(k):
    """The slope of the elliptic integral of first kind by its modulus."""
    return sp.ellipe(k * k) / (k * (1.0 - k * k)) - sp.ellipk(k * k) / k


# Integrands with an infinite value or slope at an end; value, first and second derivative as formulas
ENDS = {
    "circle": (lambda k: si.quad(lambda x: np.sqrt(k * k - x * x), -k, k)[0],
               lambda k: (np.pi * k * k / 2, np.pi * k, np.pi)),
    "arcsine": (lambda k: si.quad(lambda x: k * k / np.sqrt(1.0 - x * x), 0.0, 1.0)[0],
                lambda k: (np.pi * k * k / 2, np.pi * k, np.pi)),
    "gamma": (lambda k: si.quad(lambda x: x ** (k - 1.0) * np.exp(-x), 0.0, np.inf)[0],
              lambda k: (sp.gamma(k), sp.gamma(k) * sp.psi(k), sp.gamma(k) * (sp.psi(k) ** 2 + sp.polygamma(1, k)))),
    "power": (lambda k: si.quad(lambda x: x ** (-1.5 * k), 0.0, 1.0)[0],
              lambda k: tuple(c / (1.0 - 1.5 * k) ** n for n, c in ((1, 1.0), (2, 1.5), (3, 4.5)))),
    "within": (lambda k: si.quad(lambda x: k**3 / np.sqrt(np.abs(x - 0.3)), 0.0, 1.0, points=[0.3])[0],
               lambda k: tuple(c * 2.0 * (np.sqrt(0.3) + np.sqrt(0.7)) for c in (k**3, 3 * k * k, 6 * k))),
    "pendulum": (lambda k: si.quad(lambda u: k / np.sqrt(2.0 * np.cos(k * u) - 2.0 * np.cos(k)), 0.0, 1.0)[0],
                 lambda k: (sp.ellipk(np.sin(k / 2) ** 2), elliptic(np.sin(k / 2)) * np.cos(k / 2) / 2, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_infinite_at_an_end(name):
    f, exact = ENDS[name]
    value, first, second = exact(0.6)
    found = dj.value_and_grad(f, backend="python")(0.6)
    assert found == pytest.approx((value, first), rel=1e-7)
    assert dj.jvp(f, (0.6,), (1.0,), backend="python")[1] == pytest.approx(first, rel=1e-7)
    if second is not None:
        assert dj.hvp(f, (0.6,), (1.0,), backend="python") == pytest.approx(second, rel=1e-6)


def test_infinite_at_an_end_compiled():
    f, exact = ENDS["circle"]
    assert dj.value_and_grad(f)(0.6) == pytest.approx(exact(0.6)[:2], rel=1e-8)


def test_second_derivatives_that_are_infinite_are_not_told():
    """The area under sqrt(k - x) from 0 to 1 has no second derivative at k = 1; reverse over reverse has no test."""

    def area(k):
        return si.quad(lambda x: np.sqrt(k - x), 0.0, 1.0)[0]

    assert dj.grad(area, backend="python")(1.0) == pytest.approx(1.0, rel=1e-7)
    with pytest.raises(RuntimeError, match="second derivative"):
        dj.hvp(area, (1.0,), (1.0,), backend="python")
    with pytest.raises(RuntimeError, match="second derivative"):
        dj.grad(dj.grad(area, backend="python"), backend="python")(1.0)


def test_infinite_at_a_limit_that_moves():
    """Neither part of the derivative is finite; the message says what to write instead (`pendulum`)."""

    def period(k):
        return si.quad(lambda t: 1.0 / np.sqrt(np.cos(t) - np.cos(k)), 0.0, k)[0]

    assert dj.jit(period, backend="python")(0.6) == pytest.approx(period(0.6), rel=1e-7)
    with pytest.raises(RuntimeError, match=r"limit that moves.*integrate over u"):
        dj.grad(period, backend="python")(0.6)


def test_no_integral_is_told_beyond_what_rounding_leaves():
    """So close to 1 that the distance is rounding alone: SciPy extrapolates, here it is refused."""

    def beta(k):
        return si.quad(lambda x: (1.0 - x) ** -k, 0.0, 1.0)[0]

    with pytest.raises(RuntimeError, match="did not converge"):
        dj.jit(beta, backend="python")(0.7)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-7])
def test_the_steps_of_rk45_are_those_of_scipy(tolerance):
    def both(a):
        found = si.solve_ivp(prey, [0, 5], [10.0, 2.0], args=(a, 0.1), rtol=tolerance, atol=tolerance)
        return found.t, found.y

    for found, wanted in zip(dj.jit(both, backend="python")(1.0), both(1.0), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_what_a_solution_tells():
    def fall(height):
        found = si.solve_ivp(
            lambda t, y: [y[1], -9.81], (0, 5), [height, 0.0], events=[ground, lambda t, y: y[1] + 1.0], max_step=0.1
        )
        return found.t_events[0], found.y_events[1], found.status, found.success, found.t[-1]

    found, wanted = dj.jit(fall, backend="python")(2.0), fall(2.0)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-11)
    assert found[2:4] == wanted[2:4]
    assert found[4] == pytest.approx(np.sqrt(4.0 / 9.81), rel=1e-9)
    slope = dj.jacfwd(lambda h: fall(h)[0][0])(2.0)
    assert slope == pytest.approx(0.5 * np.sqrt(1.0 / 9.81), rel=1e-8)


def test_mistakes():
    def solved(k, **given):
        return si.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], **given).y[0, -1]

    with pytest.raises(ValueError, match="not within"):
        dj.jit(lambda k: solved(k, t_eval=[0.0, 2.0]), backend="python")(1.0)
    blows = lambda k: si.solve_ivp(lambda t, y: k * y * y, (0.0, 2.0), [1.0]).y[0, -1]
    with pytest.raises(RuntimeError, match="too small"):
        dj.jit(blows, backend="python")(1.0)
    with pytest.raises(dj.UnsupportedSyntax, match="`nfev` of a solution"):
        dj.jit(lambda k: si.solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0]).nfev)(1.0)
    with pytest.raises(dj.UnsupportedSyntax, match=r"quad\(weight='alg-loga'\)"):
        dj.jit(lambda k: si.quad(lambda x: k * x, 0.0, 1.0, weight="alg-loga", wvar=(1, 1))[0])(1.0)


SAMPLES = {
    "trapezoid": lambda y, x: si.trapezoid(y, x),  # noqa: PLW0108 - a function of two arguments
    "cumulative": lambda y, x: si.cumulative_trapezoid(y, x, initial=0),
    "by columns": lambda y, x: si.cumulative_trapezoid(y.T, dx=0.3, axis=0),
    "simpson": lambda y, x: si.simpson(y, x=x),
    "simpson by columns": lambda y, x: si.simpson(y.T, dx=0.1, axis=0),
    "cumulative simpson": lambda y, x: si.cumulative_simpson(y, x=x),
    "from a value": lambda y, x: si.cumulative_simpson(y.T, dx=0.2, axis=0, initial=0.5),
    "romb": lambda y, x: si.romb(y, dx=0.3),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name):
    rng = np.random.default_rng(3)
    for n in (5, 9) if name == "romb" else (2, 3, 6, 9):
        y, x = rng.normal(size=(2, n)), np.cumsum(0.1 + rng.random(n))
        found, wanted = dj.jit(SAMPLES[name], backend="python")(y, x), SAMPLES[name](y, x)
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
    dj.check_grads(SAMPLES[name], (rng.normal(size=(2, 5)), np.cumsum(0.5 + rng.random(5))), order=2, backend="python")


WEIGHTED = [
    lambda p: si.quad(lambda x: np.exp(-p[0] * x) * np.cos(x), 0.0, 2.0, weight="alg", wvar=(-0.5, 0.5))[0],
    lambda p: si.quad(lambda x, k: np.exp(-k * x), 0.0, p[1], args=(p[0],), weight="alg", wvar=(-0.5, -0.3))[0],
    lambda p: si.quad(lambda x: np.exp(-p[0] * x), -1.0, 2.0, weight="cauchy", wvar=0.4)[0],
    lambda p: si.quad(lambda x: np.exp(-p[0] * x), -1.0, 2.0 * p[1], weight="cauchy", wvar=0.4 * p[0])[0],
]


@pytest.mark.slow
@pytest.mark.parametrize("function", WEIGHTED, ids=range(4))
def test_weights_with_singularities(function):
    p, direction = np.array([0.8, 1.2]), np.array([0.3, -0.7])

    def slope(f):
        return (f(p + 1e-5 * direction) - f(p - 1e-5 * direction)) / 2e-5

    np.testing.assert_allclose(dj.jit(function)(p), function(p), rtol=1e-9)
    gradient = dj.grad(function)
    np.testing.assert_allclose(gradient(p) @ direction, slope(function), rtol=1e-7)
    np.testing.assert_allclose(dj.jvp(function, (p,), (direction,))[1], slope(function), rtol=1e-7)
    np.testing.assert_allclose(dj.hvp(function, (p,), (direction,)), slope(gradient), rtol=1e-6, atol=1e-8)


def test_a_principal_value():
    f = lambda k: si.quad(lambda x: k * x * x, -1.0, 2.0, weight="cauchy", wvar=0.4)[0]
    by_hand = 1.5 + 0.4 * 3.0 + 0.16 * np.log(1.6 / 1.4)
    assert dj.jit(f, backend="python")(1.0) == pytest.approx(by_hand)
    assert dj.grad(f, backend="python")(1.3) == pytest.approx(by_hand)
