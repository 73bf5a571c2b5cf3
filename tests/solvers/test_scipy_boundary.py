"""`scipy.integrate.solve_bvp` by its own name: values against SciPy, derivatives against quotients and formulas."""

import numpy as np
import pytest
import scipy.integrate as si

import diffjit as dj
from tests.solvers.modes import compared

MESH = np.linspace(0.0, 1.0, 5)


def bratu(k, end=1.0, **given):
    """An equation of heat, whose source grows with the temperature."""

    def fun(x, y):
        return np.vstack((y[1], -k * np.exp(y[0])))

    def bc(ya, yb):
        return np.array([ya[0], yb[0] - 0.1 * k])

    return si.solve_bvp(fun, bc, MESH * end, np.zeros((2, 5)), tol=1e-7, **given)


def mode(k, **given):
    """An eigenvalue: the frequency of a string whose mass grows along it."""

    def fun(x, y, p):
        return np.vstack((y[1], -(p[0] ** 2) * y[0] * (1.0 + (k - 1.3) * x)))

    def bc(ya, yb, p):
        return np.array([ya[0], yb[0], ya[1] - p[0]])

    guess = np.zeros((2, 5))
    guess[0, 1], guess[0, 3] = 1.0, -1.0
    return si.solve_bvp(fun, bc, MESH, guess, p=[6], tol=1e-5, **given)


class Beam:
    """Slopes as methods, and a list for a result."""

    def __init__(self, load):
        self.load = load

    def slope(self, x, y):
        return [y[1], self.load * np.sin(x) - y[0] * np.exp(-y[1])]

    def ends(self, ya, yb):
        return [ya[0] - 0.2, yb[1] - self.load]


PROGRAMS = {
    "at points": lambda k: np.sum(bratu(k).sol(np.linspace(0.1, 1.0, 4)) ** 2),
    "nodes": lambda k: np.sum(bratu(k).y[0] ** 2) + bratu(k)["yp"][1, 0],
    "slope": lambda k: bratu(k).sol(0.37, 1)[0],
    "a moving end": lambda k: bratu(1.0, end=k).sol(0.5 * k)[0] + bratu(1.0, end=k).x[-2],
    "parameter": lambda k: mode(k).p[0],
    "with parameter": lambda k: mode(k).sol(0.3)[1],
    "methods": lambda k: si.solve_bvp(Beam(k).slope, Beam(k).ends, MESH, np.zeros((2, 5)), tol=1e-7).sol(0.6)[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_boundary_value_problems(name):
    rough = name in ("parameter", "with parameter")  # quotients over meshes that change
    compared(PROGRAMS[name], 1.3, value=1e-9, first=1e-4 if rough else 2e-6, second=3e-2 if rough else 1e-3)


@pytest.mark.parametrize("name", ["slope", "parameter"])
def test_compiled(name):
    compared(PROGRAMS[name], 1.3, value=1e-9, first=1e-4, backend="numba", order=1)


def test_by_perturbation():
    """Of a string whose mass changes a little: Rayleigh's quotient has the derivatives of its frequency."""
    exact = -2.0 * np.pi * 0.5 * si.quad(lambda x: 2.0 * x * np.sin(2.0 * np.pi * x) ** 2, 0.0, 1.0)[0]
    assert dj.grad(lambda k: mode(k).p[0], backend="python")(1.3) == pytest.approx(exact, rel=1e-5)


def test_slopes_that_are_given():
    """SciPy takes the derivatives that it is given, and finds the same."""

    def by_state(x, y):
        out = np.zeros((2, 2, x.size))
        out[0, 1], out[1, 0] = 1.0, -1.3 * np.exp(y[0])
        return out

    def by_ends(ya, yb):
        return np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])

    program = lambda k: bratu(k, fun_jac=by_state, bc_jac=by_ends).sol(0.4)[0]
    assert dj.jit(program, backend="python")(1.3) == pytest.approx(program(1.3), rel=1e-10)
    plain = dj.grad(lambda k: bratu(k).sol(0.4)[0], backend="python")(1.3)
    assert dj.grad(program, backend="python")(1.3) == pytest.approx(plain, rel=1e-8)


def test_what_a_solution_tells():
    def told(k):
        found = bratu(k)
        return found.x, found.y, found.yp, found.niter, found.status, found.success, found.p

    for found, wanted in zip(dj.jit(told, backend="python")(1.3), told(1.3), strict=True):
        if wanted is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    assert dj.jit(lambda k: len(bratu(k).message), backend="python")(1.3) == len(bratu(1.3).message)
    with pytest.raises(dj.UnsupportedSyntax, match="`rms_residuals` of a solution"):
        dj.jit(lambda k: bratu(k).rms_residuals)(1.3)


def test_without_a_solution():
    """Heat that runs away has none; what is held at one end alone has many."""
    lost = lambda k: bratu(k, max_nodes=50).sol(0.4)[0]
    assert dj.jit(lambda k: bratu(k, max_nodes=50).success, backend="python")(9.0) == bratu(9.0, max_nodes=50).success
    with pytest.raises(RuntimeError, match="no derivative"):
        dj.grad(lost, backend="python")(9.0)
    free = lambda k: si.solve_bvp(
        lambda x, y: np.vstack((y[1], -k * y[0])), lambda a, b: np.array([a[0], a[0]]), MESH, np.ones((2, 5))
    ).sol(0.5)[0]  # fmt: skip
    with pytest.raises(RuntimeError, match=r"no derivative|singular"):
        dj.grad(free, backend="python")(1.0)


def test_mistakes():
    for given, error, words in (
        ({"S": np.zeros((2, 2))}, dj.UnsupportedSyntax, r"S=\.\.\."),
        ({"x": MESH[::-1]}, ValueError, "strictly increasing"),
        ({"y": np.zeros((2, 4))}, ValueError, "columns"),
    ):
        asked = {"x": MESH, "y": np.zeros((2, 5)), **given}
        program = lambda k: si.solve_bvp(lambda x, y: k * y, lambda a, b: a - 1.0, **asked).y[0, -1]  # noqa: B023
        with pytest.raises(error, match=words):
            dj.jit(program, backend="python")(1.0)
