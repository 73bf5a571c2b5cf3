"""`scipy.optimize.minimize` with constraints: values by SciPy, derivatives by exact minima's quotients."""

import numpy as np
import pytest
import scipy.optimize as so

import diffjit as dj
from tests.solvers.modes import compared

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def valley(x, k):
    return k * (1.0 - x[0]) ** 2 + 10.0 * (x[1] - k * x[0] ** 2) ** 2 + 0.1 * x[0] ** 4


def steep(x, k):
    """The gradient of `valley`, as a user writes it."""
    gap = x[1] - k * x[0] ** 2
    return np.array([-2.0 * k * (1.0 - x[0]) - 40.0 * gap * k * x[0] + 0.4 * x[0] ** 3, 20.0 * gap])


def bend(x, v):
    return 2.0 * v[0] * np.eye(2)


OUTSIDE = so.LinearConstraint([[1.0, 1.0]], -np.inf, 1.1)
AWAY = so.NonlinearConstraint(lambda x: x @ x, 0.0, 0.6, jac=lambda x: 2.0 * x)
START = {"with bounds": (0.4, 0.1), "bounds": (0.4, 0.1)}
QUIET = pytest.mark.filterwarnings("ignore:delta_grad")


def solved(k, constraints, start=(0.5, 0.5), **given):
    return so.minimize(valley, list(start), args=(k,), constraints=constraints, tol=1e-12, **given).x


def both(x):
    return x[0] + 2.0 * x[1] ** 2


PROGRAMS = {
    "equality": lambda k: both(solved(k, {"type": "eq", "fun": lambda x: x[0] + x[1] - k})),
    "arguments": lambda k: both(
        solved(k, ({"type": "ineq", "fun": lambda x, a: a - x[0] ** 2 - x[1] ** 2, "args": (0.5 * k,)},))
    ),
    "one of two": lambda k: both(
        solved(k, [{"type": "ineq", "fun": lambda x: [5.0 - x[0], 0.5 * k - x @ x]}], method="SLSQP", jac=steep)
    ),
    "slopes": lambda k: both(
        solved(k, {"type": "ineq", "fun": lambda x: 0.5 * k - x @ x, "jac": lambda x: -2.0 * x}, jac=steep)
    ),
    "linear": lambda k: both(solved(k, [so.LinearConstraint([[1.0, k], [k, 0.2]], -np.inf, [0.9 * k, 9.0])])),
    "outside": lambda k: both(solved(k, [OUTSIDE, AWAY])),
    "with bounds": lambda k: both(
        solved(k, {"type": "ineq", "fun": lambda x: 0.7 * k - x[0] - x[1]}, bounds=[(None, 0.3 * k), (0.0, 4.0)])
    ),
}
INTERIOR = {
    "barrier": lambda k: both(solved(k, so.NonlinearConstraint(lambda x: x @ x, -1.0, 0.5 * k), method="trust-constr")),
    "second slopes": lambda k: both(
        solved(
            k,
            so.NonlinearConstraint(lambda x: x @ x, -np.inf, 0.5 * k, jac=lambda x: 2.0 * x[None, :], hess=bend),
            method="trust-constr",
            jac=steep,
        )
    ),
    "bounds": lambda k: both(solved(k, (), method="trust-constr", bounds=so.Bounds([0.0, -1.0], [0.3 * k, 3.0]))),
    "no slopes": lambda k: both(solved(k, {"type": "ineq", "fun": lambda x: 0.5 * k - x @ x}, method="COBYLA")),
}


def exactly(name):
    """The same minimum to rounding, with the constraint that holds there as an equality."""
    held = {
        "equality": lambda k: lambda x: x[0] + x[1] - k,
        "linear": lambda k: lambda x: x[0] + k * x[1] - 0.9 * k,
        "outside": lambda k: lambda x: x @ x - 0.6,
        "with bounds": lambda k: lambda x: x[0] - 0.3 * k,
        "bounds": lambda k: lambda x: x[0] - 0.3 * k,
    }.get(name, lambda k: lambda x: x @ x - 0.5 * k)

    def value(k):
        rule = held(k)

        def vanishing(z):
            x = z[:2]
            h = 1e-20
            slope = [np.imag(rule(x + h * 1j * e)) / h for e in np.eye(2)]
            return [*(steep(x, k) - z[2] * np.array(slope)), rule(x)]

        return both(so.root(vanishing, [*START.get(name, (0.6, 0.4)), 0.0], tol=1e-15).x[:2])

    return value


@QUIET
@pytest.mark.parametrize("name", [*PROGRAMS, *INTERIOR])
def test_minima_under_constraints(name):
    program = {**PROGRAMS, **INTERIOR}[name]
    compared(program, 1.3, exact=exactly(name), value=1e-4 if name in INTERIOR else 1e-7, first=1e-6, second=1e-3)


@pytest.mark.parametrize("name", ["arguments", "linear"])
def test_compiled(name):
    compared(PROGRAMS[name], 1.3, exact=exactly(name), value=1e-7, backend="numba", order=1)


def portfolio(mu, spread, wanted):
    n = mu.size
    rules = (
        {"type": "eq", "fun": lambda w: np.sum(w) - 1.0},
        {"type": "eq", "fun": lambda w: w @ mu - wanted},
    )
    risk = lambda w: np.sqrt(w @ spread @ w)
    found = so.minimize(
        risk, n * [1.0 / n], method="SLSQP", bounds=tuple((0, 1) for _ in range(n)), constraints=rules,
        options={"ftol": 1e-12},
    )  # fmt: skip
    return found.x, found.fun, found["success"]


@BACKENDS
def test_weights_of_a_portfolio(backend):
    """By the equations of the assets that are held: a quadratic program with two equalities."""
    rng = np.random.default_rng(3)
    f = rng.normal(size=(8, 5))
    spread, mu = f.T @ f / 8 + 0.1 * np.eye(5), np.array([0.05, 0.12, 0.08, 0.2, 0.11])
    x, risk, good = portfolio(mu, spread, 0.18)
    held = np.flatnonzero(x > 1e-6)
    assert good
    assert 2 < held.size < 5

    def exact(mu, spread, wanted):
        k = held.size
        whole = np.zeros((k + 2, k + 2))
        whole[:k, :k] = spread[np.ix_(held, held)]
        whole[k, :k] = whole[:k, k] = 1.0
        whole[k + 1, :k] = whole[:k, k + 1] = mu[held]
        w = np.linalg.solve(whole, np.append(np.zeros(k), [1.0, wanted]))[:k]
        return np.sqrt(w @ spread[np.ix_(held, held)] @ w), w[0]

    assert risk == pytest.approx(exact(mu, spread, 0.18)[0], rel=1e-9)
    for k, of in enumerate((lambda *a: portfolio(*a)[1], lambda *a: portfolio(*a)[0][held[0]])):
        found = dj.grad(of, argnums=(0, 1, 2), backend=backend)(mu, spread, 0.18)
        h = 1e-6
        for j in range(5):
            e = h * np.eye(5)[j]
            quotient = (exact(mu + e, spread, 0.18)[k] - exact(mu - e, spread, 0.18)[k]) / (2 * h)
            assert found[0][j] == pytest.approx(quotient, rel=1e-5, abs=1e-6)
        e = h * np.outer(np.eye(5)[held[0]], np.eye(5)[held[1]])
        quotient = (exact(mu, spread + e, 0.18)[k] - exact(mu, spread - e, 0.18)[k]) / (2 * h)
        if k == 0:
            assert found[1][held[0], held[1]] == pytest.approx(quotient, rel=1e-5, abs=1e-7)
        quotient = (exact(mu, spread, 0.18 + h)[k] - exact(mu, spread, 0.18 - h)[k]) / (2 * h)
        assert found[2] == pytest.approx(quotient, rel=1e-5)


def quadratic(b, d, a, h):
    """The minimum of a random quadratic program with inequalities and bounds."""
    found = so.minimize(
        lambda x: 0.5 * x @ h @ x - b @ x, np.zeros(b.size), jac=lambda x: h @ x - b, method="SLSQP",
        bounds=[(-0.4, 0.5)] * b.size, constraints={"type": "ineq", "fun": lambda x: d - a @ x, "jac": lambda x: -a},
        options={"ftol": 1e-15},
    )  # fmt: skip
    return found.x


def test_random_quadratic_programs():
    """Derivatives are quotients of the programs' solutions, where no constraint is near to be let go or met."""
    jacobian = dj.jacobian(quadratic, argnums=(0, 1), backend="python")
    compared_ones, held = 0, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        f, a = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
        h, b, d = f.T @ f / 6 + 0.2 * np.eye(4), rng.normal(size=4), rng.uniform(0.1, 0.5, 3)
        by_b, by_d = jacobian(b, d, a, h)
        step = 3e-4
        slopes = [(quadratic(b + step * e, d, a, h) - quadratic(b - step * e, d, a, h)) / (2 * step) for e in np.eye(4)]
        np.testing.assert_allclose(by_b, np.array(slopes).T, rtol=1e-4, atol=1e-5)
        slopes = [(quadratic(b, d + step * e, a, h) - quadratic(b, d - step * e, a, h)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(by_d, np.array(slopes).T, rtol=1e-4, atol=1e-5)
        compared_ones += 1
        held += int(np.any(by_d != 0.0))
    assert compared_ones == 25
    assert held > 10


NONE = {
    "just met": lambda k: so.minimize(
        lambda x: (x[0] - k) ** 2 + x[1] ** 2, [0.5, 0.5], constraints={"type": "ineq", "fun": lambda x: 1.0 - x[0]}
    ),
    "twice the same": lambda k: so.minimize(
        lambda x: (x[0] - 2.0 * k) ** 2 + x[1] ** 2, [0.5, 0.5],
        constraints=[so.LinearConstraint([[1.0, 0.0], [1.0, 0.0]], -np.inf, [k, 1.0])],
    ),
    "depending": lambda k: so.minimize(
        lambda x: x[0] ** 2 + x[1] ** 2 + x[2], [0.5, 0.5, 0.2], method="trust-constr",
        constraints=so.LinearConstraint([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]], [k, 2.0 * k], [k, 2.0 * k]),
    ),
    "flat": lambda k: so.minimize(
        lambda x: (x[0] + x[1]) ** 2, [0.5, 0.1], constraints={"type": "eq", "fun": lambda x: x[0] + x[1] - k}
    ),
    "stopped": lambda k: so.minimize(
        valley,
        [-1.5, 2.0],
        (k,),
        constraints={"type": "eq", "fun": lambda x: x[0] * x[1] - 1.0},
        options={"maxiter": 1},
    ),
    "impossible": lambda k: so.minimize(
        valley, [0.5, 0.5], (k,), constraints={"type": "eq", "fun": lambda x: [x[0] - k, x[0] - k - 1.0]}
    ),
}  # fmt: skip


@QUIET
@pytest.mark.filterwarnings("ignore:.*ingular.*")
@pytest.mark.parametrize("name", NONE)
def test_minima_without_a_derivative(name):
    program = NONE[name]
    plain = program(1.0)
    np.testing.assert_allclose(dj.jit(lambda k: program(k).x, backend="python")(1.0), plain.x, rtol=1e-6, atol=1e-9)
    with pytest.raises(RuntimeError, match=r"derivative|singular|not finite"):
        dj.grad(lambda k: program(k).x[0], backend="python")(1.0)


def test_mistakes():
    with pytest.raises(dj.DiffjitError, match="finite_diff_jac_sparsity"):
        dj.jit(lambda k: solved(k, so.NonlinearConstraint(sum, 0.0, k, finite_diff_jac_sparsity=np.ones((1, 2)))))(1.0)
    with pytest.raises((ValueError, dj.DiffjitError), match="Unknown constraint type"):
        dj.jit(lambda k: solved(k, {"type": "equal", "fun": lambda x: x[0]}), backend="python")(1.0)
