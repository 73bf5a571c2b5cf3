"""Equations of matrices, spaces and factors by SciPy's names, against SciPy, quotients and what the theory says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.optimize

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES
from tests.scipy.compare import same_values, total

rng = np.random.default_rng(0)
S, W = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
B, G = rng.normal(size=(3, 2)), 0.1 * rng.normal(size=(3, 2))
Q = np.eye(3) + 0.1
R = np.array([[2.0, 0.3], [0.3, 1.0]])
E = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
P = S @ S.T + np.eye(3)
TALL = rng.normal(size=(5, 3))
LARGE = rng.normal(size=(11, 11)) / 5 + np.diag(np.arange(11.0))
BANDS = np.array([[1.0, 2.1, 3.3, 4.2], [0.1, 0.2, 0.3, 0.4]])


def even(a: Any) -> Any:
    """Symmetric."""
    return 0.5 * (a + a.T)


def projected(a: Any) -> Any:
    """What does not hang on the basis of a null space."""
    basis = la.null_space(a)
    return basis @ basis.T


def pair(a: Any, b: Any) -> Any:
    """Values, and vectors whatever their signs are."""
    values, vectors = la.eigh(even(a), even(b), lower=False, type=2)
    return values, np.abs(vectors)


ROWS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (la.solve_continuous_are, lambda a, b, q, r: la.solve_continuous_are(a, b, even(q), even(r)), (S, B, Q, R)),
    (la.solve_continuous_are, lambda a, e, s: la.solve_continuous_are(a, B, Q, R, e=e, s=s), (S, E, G)),
    (la.solve_discrete_are, lambda a, b, q, r: la.solve_discrete_are(a, b, even(q), even(r)), (S, B, Q, R)),
    (la.solve_discrete_are, lambda a, e, s: la.solve_discrete_are(a, B, Q, R, e=e, s=s), (S, E, G)),
    (la.solve_sylvester, la.solve_sylvester, (P, P[:2, :2], B)),
    (la.solve_sylvester, lambda a, q: la.solve_sylvester(a, a.T + 20 * np.eye(11), q), (LARGE, LARGE.T)),
    (la.solve_continuous_lyapunov, la.solve_continuous_lyapunov, (P, S)),
    (la.solve_discrete_lyapunov, la.solve_discrete_lyapunov, (S / 4, Q)),
    (la.solve_discrete_lyapunov, lambda q: la.solve_discrete_lyapunov(LARGE / 20, q), (LARGE,)),
    (la.null_space, lambda a: la.null_space(a.T), (TALL[:4],)),
    (la.null_space, lambda a: projected(a.T), (TALL,)),
    (la.orth, la.orth, (TALL,)),
    (la.subspace_angles, la.subspace_angles, (TALL[:, :2], TALL[::-1, 1:] ** 2)),
    (la.lstsq, lambda a, b: la.lstsq(a, b)[:2], (TALL, TALL[:, 0] ** 2)),
    (la.lstsq, lambda a, b: la.lstsq(a, b)[0], (S, W)),
    (la.rq, la.rq, (S,)),
    (la.rq, lambda a: la.rq(a, mode="economic"), (TALL,)),
    (la.rq, lambda a: la.rq(a.T, mode="r"), (TALL,)),
    (la.eigh, pair, (P, P + np.diag([1.0, 2.0, 3.0]))),
    (la.eigh, lambda a, b: la.eigh(even(a), b, subset_by_index=[0, 1])[0], (S, P)),
    (la.eig_banded, lambda a: la.eig_banded(a, lower=True)[0], (BANDS,)),
]  # fmt: skip
NAMES = [f"{row[0].__name__}-{k}" for k, row in enumerate(ROWS)]


@pytest.mark.parametrize("k", range(len(ROWS)), ids=NAMES)
def test_values_and_derivatives(k: int) -> None:
    _, function, args = ROWS[k]
    for backend in ("python", "numba"):
        same_values(function, args, backend)
    dj.check_grads(total(function), args, order=1, backend="python", rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("k", [0, 2, 9], ids=["continuous", "discrete", "null"])
def test_second_order(k: int) -> None:
    dj.check_grads(total(ROWS[k][1]), ROWS[k][2], order=2, backend="python", rtol=1e-4, atol=1e-4)


def test_every_function_has_a_row() -> None:
    learn()
    rooms = ("diffjit.solvers.algebra.equations", "diffjit.solvers.algebra.spaces")
    declared = {f for f, plain in COMPOSITES.items() if plain.__module__ in rooms}
    assert len(declared) > 5
    assert declared - {row[0] for row in ROWS} == set()


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_gain_is_where_a_cost_is_least(backend: str) -> None:
    """Of the cost x^T X x, the derivative by A is 2 P X, where P is the closed loop's sum of states x x^T."""
    by_a = dj.grad(lambda a: np.trace(la.solve_continuous_are(a, B, Q, R)), backend=backend)(S)
    x = la.solve_continuous_are(S, B, Q, R)
    closed = S - B @ la.solve(R, B.T @ x)
    states = la.solve_continuous_lyapunov(closed, -np.eye(3))
    np.testing.assert_allclose(by_a, 2 * x @ states, rtol=1e-8)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_lanes_and_complex_numbers(backend: str) -> None:
    f = lambda a: np.abs(la.solve_continuous_are(a + 1j * np.eye(3), B + 0j, Q + 0j, R + 0j))
    lanes = np.stack([S, 1.1 * S])
    found = dj.vmap(f, backend=backend)(lanes)
    np.testing.assert_allclose(found, [f(lane) for lane in lanes], rtol=1e-9)
    dj.check_grads(lambda a: np.sum(f(a) ** 2), (S,), order=1, backend=backend, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("equation", [la.solve_continuous_are, la.solve_discrete_are])
def test_without_a_stabilising_solution(equation: Any) -> None:
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        dj.grad(lambda a: np.sum(equation(a, 0.0 * B, 0.0 * Q, R)), backend="python")(np.eye(3))


def test_least_squares_without_residuals() -> None:
    with pytest.raises(dj.UnsupportedSyntax, match="tall"):
        dj.jit(lambda a, b: la.lstsq(a, b)[0], backend="python")(S, S[0])


def by_differences(a):
    x = np.array([1.0, 1.0])
    for _ in range(20):
        left = np.array([x[0] ** 2 - a, x[0] * x[1] - 2])
        slopes = scipy.optimize.approx_fprime(x, lambda q: np.array([q[0] ** 2 - a, q[0] * q[1] - 2]), 1e-7)
        x = x - np.linalg.solve(slopes, left)
    return x[1]


def quotients(a):
    steps = np.array([1e-2, 1e-3])
    slopes = scipy.optimize.approx_fprime(a * np.array([1.0, -2.0]), lambda q, c: c * q[0] ** 2 * q[1], steps, 2.0)
    return np.sum(slopes**2) + scipy.optimize.check_grad(lambda q: q[0] ** 3, lambda q: 3 * q**2, [a], epsilon=1e-3)


@pytest.mark.parametrize("f", [by_differences, quotients])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_quotients_of_differences(f, backend):
    assert dj.jit(f, backend=backend)(0.7) == pytest.approx(f(0.7), rel=1e-12)
    assert dj.grad(f, backend=backend)(0.7) == pytest.approx((f(0.7 + 1e-4) - f(0.7 - 1e-4)) / 2e-4, rel=1e-6)


@pytest.mark.parametrize("name", ["broyden1", "broyden2", "anderson", "newton_krylov"])
def test_large_systems_by_name(name):
    def root(a):
        b = np.array([[1.0, 0.2], [0.1, 2.0]])
        x = getattr(scipy.optimize, name)(lambda x: x**3 + b @ x - a, np.ones((2, 2)), f_tol=1e-12)
        return np.sum(x**2)

    assert dj.jit(root)(0.7) == pytest.approx(root(0.7), rel=1e-9)
    assert dj.grad(root)(0.7) == pytest.approx((root(0.701) - root(0.699)) / 2e-3, rel=1e-5)


@pytest.mark.parametrize("increasing", [True, False])
def test_isotonic_regression(increasing):
    y, w = np.array([1.0, 3.0, 2.0, 2.5, 6.0, 5.0]), np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])

    def steps(y, w):
        found = scipy.optimize.isotonic_regression(y, weights=w, increasing=increasing)
        return np.sum(found.x**2 * np.arange(6.0)) + found.weights[0] * found.blocks[-1]

    assert dj.jit(steps)(y, w) == pytest.approx(steps(y, w))
    way = np.cos(np.arange(6.0))
    for k in (0, 1):
        there = [(y + h * way * (k == 0), w + h * way * (k == 1)) for h in (1e-6, -1e-6)]
        slope = (steps(*there[0]) - steps(*there[1])) / 2e-6
        assert dj.grad(steps, argnums=k)(y, w) @ way == pytest.approx(slope, rel=1e-6)
