"""Where a theory of derivatives ends: points without one raise, and loose tolerances change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
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
        (lambda v: sl.cg(P, v, callback=print)[0], "callback"),
        (lambda v: sl.spsolve(sp.csc_matrix(P), sp.csc_matrix(v[:, None])), "sparse right-hand side"),
        (lambda v: sl.splu(sp.csc_matrix(P * v[0])).L.toarray(), "`L`"),
    ],
)
def test_refused(program: Any, words: str) -> None:
    with pytest.raises(dj.DiffjitError, match=words):
        dj.jit(program, backend="python")(V)
