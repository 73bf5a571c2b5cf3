"""Where a theory of derivatives ends: points without one raise, and loose tolerances change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.optimize as so
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import diffjit as dj

rng = np.random.default_rng(5)
S = rng.normal(size=(4, 4))
P = S @ S.T / 4 + np.eye(4)
V = rng.normal(size=4)

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


@BACKENDS
def test_loose_tolerances_have_exact_derivatives(backend: str) -> None:
    found = dj.grad(lambda p, v: np.sum(sl.cg(p, v, rtol=1e-2)[0] ** 2), argnums=(0, 1), backend=backend)(P, V)
    x = la.solve(P, V)
    by_b = la.solve(P.T, 2 * x)
    np.testing.assert_allclose(found[1], by_b, rtol=0.3)
    near = dj.jacobian(lambda v: sl.cg(P, v, rtol=1e-2)[0], backend=backend)(V)
    np.testing.assert_allclose(near, la.inv(P), rtol=1e-10, atol=1e-12)


@BACKENDS
def test_what_did_not_converge_has_no_derivative(backend: str) -> None:
    np.testing.assert_allclose(
        dj.jit(lambda v: sl.cg(P, v, maxiter=1)[0], backend=backend)(V), sl.cg(P, V, maxiter=1)[0]
    )
    with pytest.raises(RuntimeError, match="did not converge"):
        dj.grad(lambda v: sl.cg(P, v, maxiter=1)[0][0], backend=backend)(V)


@BACKENDS
def test_singular_matrices(backend: str) -> None:
    with pytest.raises(RuntimeError, match="singular"):
        dj.grad(lambda v: sl.splu(sp.csc_matrix(np.ones((4, 4)))).solve(v)[0], backend=backend)(V)


def test_factors_are_found_again() -> None:
    """The same matrix is factorised once for all steps, other entries anew."""

    def steps(a: Any, v: Any) -> Any:
        solver = sl.splu(sp.csc_matrix(a))
        for _ in range(5):
            v = solver.solve(v)
        return v

    f = dj.jit(steps)
    for a in (P, 2 * P, P + 0.1 * S, P):
        np.testing.assert_allclose(f(a, V), np.linalg.matrix_power(la.inv(a), 5) @ V, rtol=1e-9)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda v: sl.cg(P + 0j, v, callback=print)[0], "callback"),
        (lambda v: sl.spsolve(sp.csc_matrix(P), sp.csc_matrix(v[:, None])), "sparse right-hand side"),
        (lambda v: sl.splu(sp.csc_matrix(P * v[0])).L.toarray(), "`L`"),
    ],
)
def test_refused(program: Any, words: str) -> None:
    with pytest.raises(dj.DiffjitError, match=words):
        dj.jit(program, backend="python")(V)


@BACKENDS
def test_equal_eigenvalues_of_a_part(backend: str) -> None:
    """The sum of two equal values moves with the trace of their space; their vectors raise."""
    a, v0 = np.diag([3.0, 3.0, 1.0, 0.5]), np.array([1.0, 2.0, 3.0, 4.0])
    found = dj.grad(lambda a: np.sum(sl.eigsh(a, 2, v0=v0)[0]), backend=backend)(a)
    np.testing.assert_allclose(found, np.diag([1.0, 1.0, 0.0, 0.0]), atol=1e-10)
    with pytest.raises((np.linalg.LinAlgError, RuntimeError), match=r"equal eigenvalues|singular"):
        dj.grad(lambda a: np.sum(sl.eigsh(a, 2, v0=v0)[1]), backend=backend)(a)


COST = np.array([-1.0, 4.0, -0.3])
ROWS, SIDE = np.array([[-3.0, 1.0, 0.2], [1.0, 2.0, 0.1]]), np.array([6.0, 4.0])
EVEN = np.ones((1, 3))


def bounded(c: Any, a: Any, b: Any, low: Any) -> Any:
    found = so.linprog(c, a, b, bounds=[(None, None), (low, None), (0, low + 4)])
    return np.append(found.x, found.fun) * (1.0 + found.slack[0])


def balanced(c: Any, e: Any) -> Any:
    found = so.linprog(c, ROWS, SIDE, EVEN, [e], bounds=(0, 5))
    return np.append(found.x, found["fun"]) + found.con


@BACKENDS
@pytest.mark.parametrize(("program", "args"), [(bounded, (COST, ROWS, SIDE, -3.0)), (balanced, (COST, 2.0))])
def test_linear_programs(program: Any, args: Any, backend: str) -> None:
    np.testing.assert_allclose(dj.jit(program, backend=backend)(*args), program(*args), rtol=1e-9, atol=1e-12)
    dj.check_grads(lambda *a: np.sum(np.sin(0.02 * program(*a))), args, order=2, backend=backend, rtol=1e-4, atol=1e-4)


def test_random_linear_programs() -> None:
    """The cost moves as its vertex does: by quotients, and by the prices of the constraints."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, m = 4, 6
        a, b, c = rng.normal(size=(m, n)), rng.uniform(1, 2, m), rng.normal(size=n)
        plain = so.linprog(c, a, b, bounds=(-1, 1))
        found = dj.grad(lambda b, a=a, c=c: so.linprog(c, a, b, bounds=(-1, 1)).fun, backend="python")(b)
        np.testing.assert_allclose(found, plain.ineqlin.marginals, rtol=1e-7, atol=1e-9)
        by_low = dj.grad(lambda s, a=a, b=b, c=c: so.linprog(c, a, b, bounds=(s, 1)).fun, backend="python")(-1.0)
        assert by_low == pytest.approx(np.sum(plain.lower.marginals), rel=1e-7, abs=1e-9)


@BACKENDS
def test_vertices_that_jump_or_split(backend: str) -> None:
    programs = {
        "flat": lambda s: so.linprog([s * 0.0, -2.0], bounds=(0, s)).fun,
        "crowded": lambda s: so.linprog([-1.0, -1.0], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [s, 1.0, 2.0]).fun,
        "endless": lambda s: so.linprog([-s, 0.0]).x[0],
        "impossible": lambda s: so.linprog([s, 1.0], [[1.0, 1.0]], [-s]).x[0],
    }
    for program in programs.values():
        with pytest.raises(RuntimeError, match="linear program"):
            dj.grad(program, backend=backend)(1.0)
    assert dj.jit(lambda s: so.linprog([s, 1.0], [[1.0, 1.0]], [-s]).status, backend=backend)(1.0) == 2
