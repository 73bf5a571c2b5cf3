"""Solutions of equations and their derivatives: against direct solvers, difference quotients, unrolled iterations."""

import numpy as np
import pytest

import diffjit as dj

A = np.array([[3.0, 1.0, 0.0], [0.5, 2.0, 0.3], [0.0, 0.2, 4.0]])
B = np.array([1.0, 2.0, -1.0])
BOTH = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def close(found, wanted, rtol=1e-9):
    """The same numbers."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-11)


def quotient(f, x, h=1e-5):
    """The gradient by central differences."""
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def by_products(a, b):
    """A linear system solved by products, whose matrix is read outside of matvec."""
    return np.sum(dj.linear_solve(lambda v: a @ v, b) ** 2)


def directly(a, b):
    """The same by a factorisation."""
    return np.sum(np.linalg.solve(a, b) ** 2)


@BOTH
def test_linear_systems(backend):
    close(dj.jit(by_products, backend=backend)(A, B), directly(A, B))
    for k in (0, 1):
        close(dj.grad(by_products, argnums=k, backend=backend)(A, B), dj.grad(directly, argnums=k)(A, B))


def test_linear_systems_in_every_mode():
    dots = (A**2, np.cos(B))
    close(dj.jvp(by_products, (A, B), dots)[1], dj.jvp(directly, (A, B), dots)[1])
    close(dj.hessian(by_products)(A, B), dj.hessian(directly)(A, B))
    many = np.array([B, 2.0 * B, B[::-1]])
    close(dj.vmap(by_products, (None, 0))(A, many), [directly(A, b) for b in many])


def test_a_system_of_matrices_longer_than_one_restart():
    def stiff(v, k):
        u = v + k * v
        u[1:] -= 0.7 * v[:-1]
        u[:-1] -= 0.6 * v[1:]
        return u

    b = np.random.default_rng(1).standard_normal((60, 2))
    x = dj.linear_solve(stiff, b, 1.2)
    close(stiff(x, 1.2), b, rtol=1e-7)
    found = dj.grad(lambda k: np.sum(dj.linear_solve(stiff, b, k) ** 2))(1.2)
    h = 1e-5
    wanted = (np.sum(dj.linear_solve(stiff, b, 1.2 + h) ** 2) - np.sum(dj.linear_solve(stiff, b, 1.2 - h) ** 2)) / (
        2 * h
    )
    close(found, wanted, rtol=1e-6)


def kepler(e, m):
    """The eccentric anomaly, as a fixed point."""
    return dj.fixed_point(lambda x, e: m + e * np.sin(x), m, e)


def kepler_root(e, m):
    """The same as a root."""
    return dj.root(lambda x: x - e * np.sin(x) - m, m)


def kepler_unrolled(e, m):
    """The same, and its derivative through all steps."""
    x = m
    for _ in range(200):
        x = m + e * np.sin(x)
    return x


@BOTH
@pytest.mark.parametrize("solution", [kepler, kepler_root])
def test_kepler(solution, backend):
    close(dj.jit(solution, backend=backend)(0.5, 1.0), kepler_unrolled(0.5, 1.0))
    for k in (0, 1):
        wanted = dj.grad(kepler_unrolled, argnums=k)
        close(dj.grad(solution, argnums=k, backend=backend)(0.5, 1.0), wanted(0.5, 1.0))
        close(dj.grad(dj.grad(solution, argnums=k), backend=backend)(0.5, 1.0), dj.grad(wanted)(0.5, 1.0))


def coupled(a):
    """A system of equations, with a Jacobian that is not symmetric."""
    x = dj.root(lambda x: np.tanh(A @ x) + x - a, 0.0 * a)
    return np.sum(x * x)


@BOTH
def test_roots_of_systems(backend):
    close(dj.grad(coupled, backend=backend)(B), quotient(dj.jit(coupled), B), rtol=1e-6)


def fitted(a):
    """A minimum that has no formula."""
    x = dj.minimize_implicit(lambda x: np.sum((x - a) ** 2 * B**2) + np.sum(np.cosh(x)), 0.0 * a)
    return np.sum(x**3)


@BOTH
def test_minima(backend):
    close(dj.grad(fitted, backend=backend)(B), quotient(dj.jit(fitted), B), rtol=1e-6)


def test_solutions_in_lanes_and_loops():
    es = np.array([0.1, 0.3, 0.6])
    close(dj.vmap(dj.grad(kepler), (0, None))(es, 1.0), [dj.grad(kepler_unrolled)(e, 1.0) for e in es])

    def total(e):
        return sum(kepler(e, 0.5 * k) for k in range(1, 4))

    def wanted(e):
        return sum(kepler_unrolled(e, 0.5 * k) for k in range(1, 4))

    close(dj.grad(total)(0.4), dj.grad(wanted)(0.4))


def test_called_from_python():
    close(dj.root(lambda x, a: x * x - a, 1.0, 2.0), np.sqrt(2.0))
    close(dj.fixed_point(np.cos, 1, tol=1e-14), 0.7390851332151607)
    close(dj.minimize_implicit(lambda x: (x - 1.0) ** 2, 3.0), 1.0)
    with pytest.raises(dj.UsageError, match="DJ519"):
        dj.root(lambda x: x[0], B)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_no_convergence_is_an_error(backend):
    """There is no root, no fixed point, no solution: no number comes out, and no derivative."""

    def without_root(a):
        return dj.root(lambda x, a: x * x + a, 1.0, a)

    def runs_away(a):
        return dj.fixed_point(lambda x, a: 2.0 * x + a, 1.0, a)

    def singular(a):
        return np.sum(dj.linear_solve(lambda v, a: a * np.array([v[0] + v[1], v[0] + v[1]]), np.array([1.0, 0.0]), a))

    for f in (without_root, runs_away, singular):
        with pytest.raises(RuntimeError, match=r"did not converge|singular"):
            dj.value_and_grad(f, backend=backend)(1.0)
