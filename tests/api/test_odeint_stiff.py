"""Stiff equations by a Rosenbrock method, and complex states: against closed forms, SciPy and difference quotients."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import diffjit as dj

BOTH = pytest.mark.parametrize("backend", ["python", "numba"])
METHODS = pytest.mark.parametrize("method", ["dopri5", "rodas5p"])
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def close(found, wanted, rtol=1e-6, atol=1e-8):
    """The same numbers."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def pulled(y, t, rate):
    """Prothero and Robinson's equation, which has a slope that depends on the time."""
    return -rate * (y - np.cos(t)) - np.sin(t)


def pulled_exact(rate, y0, t):
    return np.cos(t) + (y0 - 1.0) * np.exp(-rate * t)


@pytest.mark.parametrize(
    ("backend", "adjoint"), [("python", "discrete"), ("numba", "discrete"), ("python", "continuous")]
)
def test_derivatives_of_a_formula(backend, adjoint):
    def at(rate, y0, t):
        return dj.odeint(pulled, y0, np.array([0.0, t]), rate, method="rodas5p", adjoint=adjoint, **TIGHT)[-1]

    point = 3.0, 2.0, 1.5
    close(dj.grad(at, argnums=(0, 1, 2), backend=backend)(*point), dj.grad(pulled_exact, argnums=(0, 1, 2))(*point))
    dots = 0.5, -1.0, 2.0
    if backend == "python":
        close(dj.jvp(at, point, dots)[1], dj.jvp(pulled_exact, point, dots)[1])
        close(dj.jacfwd(dj.grad(at))(*point), dj.grad(dj.grad(pulled_exact))(*point))


def test_the_order_is_five():
    """At fixed steps of a smooth problem that is not stiff, halving them divides the error by 2**5."""
    steps = (1.0 / 8.0, 1.0 / 16.0)
    errors = []
    for h in steps:
        found = dj.odeint(
            lambda y, t: -y * y * np.cos(t), 1.0, np.array([0.0, 4.0]), method="rodas5p", hmax=h, rtol=1e-2, atol=1e-2
        )
        errors.append(abs(found[-1] - 1.0 / (1.0 + np.sin(4.0))))
    assert 20.0 < errors[0] / errors[1] < 60.0


def creeping(y, t, mu):
    """Van der Pol's oscillator."""
    return [y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]]


def test_a_stiff_oscillator():
    """A parameter of 1000, where an explicit method takes some hundred thousand steps."""

    def place(mu, tolerance):
        start = np.array([2.0, 0.0])
        found = dj.odeint(
            creeping, start, np.array([0.0, 500.0]), mu, method="rodas5p", rtol=tolerance, atol=tolerance, mxstep=400
        )
        return found[-1, 0]

    def both(t, z):
        slope = creeping(z[:2], t, 1000.0)
        by_y = np.array([[0.0, 1.0], [-2000.0 * z[0] * z[1] - 1.0, 1000.0 * (1.0 - z[0] ** 2)]])
        return np.concatenate([slope, by_y @ z[2:] + [0.0, (1.0 - z[0] ** 2) * z[1]]])

    wanted = solve_ivp(both, (0.0, 500.0), [2.0, 0.0, 0.0, 0.0], method="Radau", rtol=1e-11, atol=1e-13).y[:, -1]
    close(dj.jit(place, backend="numba")(1000.0, 1e-8), wanted[0], rtol=1e-7)
    close(dj.grad(place, backend="numba")(1000.0, 1e-8), wanted[2], rtol=1e-5)


def robertson(y, t, k):
    """Three species, whose rates differ by nine powers of ten."""
    fast, slow = k[1] * y["b"] * y["b"], k[0] * y["a"] - k[2] * y["b"] * y["c"]
    return {"a": -slow, "b": slow - fast, "c": fast}


def test_chemistry_in_a_tree():
    k = np.array([0.04, 3e7, 1e4])

    def left(k):
        y0, ts = {"a": 1.0, "b": 0.0, "c": 0.0}, np.array([0.0, 40.0, 400.0])
        return dj.odeint(robertson, y0, ts, k, method="rodas5p", rtol=1e-8, atol=1e-12)["a"][1:]

    def by_radau(k):
        def slope(t, y):
            rates = robertson(dict(zip("abc", y, strict=True)), t, k)
            return [rates["a"], rates["b"], rates["c"]]

        return solve_ivp(
            slope, (0.0, 400.0), [1.0, 0.0, 0.0], method="Radau", t_eval=[40.0, 400.0], rtol=1e-11, atol=1e-14
        ).y[0]

    close(left(k), by_radau(k))
    found = dj.jacrev(left)(k) * k
    for j in range(3):
        h = 1e-3 * k * np.eye(3)[j]
        close(found[:, j], (by_radau(k + h) - by_radau(k - h)) / 2e-3, rtol=1e-4)
    close(dj.jacfwd(left)(k) * k, found, rtol=1e-9)


@pytest.mark.parametrize(("backend", "second"), [("python", True), ("numba", False)])
def test_events_and_dense_output(backend, second):
    def passes(w, level):
        end = dj.Event(lambda y, t, w: y[0] - level, terminal=True, direction=-1)
        found = dj.odeint(
            lambda y, t, w: [y[1], -w * w * y[0]], np.array([1.0, 0.0]), np.array([0.0, 9.0]), w,
            events=end, dense=True, method="rodas5p", **TIGHT,
        )  # fmt: skip
        return found.t_end + found(0.5)[0]

    def formula(w, level):
        return np.arccos(level) / w + np.cos(0.5 * w)

    at = 1.6, 0.3
    close(dj.grad(passes, argnums=(0, 1), backend=backend)(*at), dj.grad(formula, argnums=(0, 1))(*at))
    if second:
        found, wanted = (dj.hessian(f, argnums=(0, 1))(*at) for f in (passes, formula))
        close(np.array(found), np.array(wanted), rtol=1e-4)


# Complex states -------------------------------------------------------------------------------------------------------


def driven(y, t, p):
    """Amplitudes of a two-level system, and a real number that decays beside them."""
    up, down = y["c"]
    return {"c": -1j * np.array([p[0] * up + p[1] * down, p[1] * up - p[0] * down]), "n": -0.1 * y["n"]}


def excited(p, method, adjoint="discrete"):
    start = {"c": np.array([1.0 + 0.0j, 0.0]), "n": 1.0}
    found = dj.odeint(driven, start, np.array([0.0, 0.4, 1.7]), p, method=method, adjoint=adjoint, **TIGHT)
    return np.abs(found["c"][-1, 1]) ** 2 * found["n"][-1]


def excited_exact(p):
    """Rabi's formula."""
    rate = np.sqrt(p[0] ** 2 + p[1] ** 2)
    return (p[1] / rate * np.sin(1.7 * rate)) ** 2 * np.exp(-0.17)


@BOTH
@METHODS
def test_complex_states(backend, method):
    p = np.array([0.7, 1.1])
    close(dj.grad(excited, backend=backend)(p, method), dj.grad(excited_exact)(p))
    if backend == "python":
        close(dj.hvp(lambda p: excited(p, method), (p,), (p,)), dj.hvp(excited_exact, (p,), (p,)))
        close(dj.grad(excited)(p, method, "continuous"), dj.grad(excited_exact)(p))


@BOTH
def test_complex_parameters_and_starts(backend):
    def at(z0, k, adjoint):
        return dj.odeint(lambda z, t, k: k * z, z0, np.array([0.0, 1.3]), k, adjoint=adjoint, **TIGHT)[-1]

    z0, k = 1.0 - 0.5j, -0.2 + 1.5j
    wanted = np.exp(1.3 * k), 1.3 * z0 * np.exp(1.3 * k)
    adjoints = ("discrete", "continuous") if backend == "python" else ("discrete",)
    for adjoint in adjoints:
        close(dj.grad(at, argnums=(0, 1), holomorphic=True, backend=backend)(z0, k, adjoint), wanted)
        size = dj.grad(lambda z0, k, a=adjoint: np.abs(at(z0, k, a)) ** 2, argnums=1, backend=backend)
        close(size(z0, k), 2.6 * np.abs(z0 * np.exp(1.3 * k)) ** 2)


@METHODS
def test_a_solution_of_complex_numbers(method):
    start = {"z": np.array([[1.0 + 0.0j]]), "x": 1.0}

    def slope(y, t):
        return {"z": 1j * y["z"], "x": -y["x"]}

    when = dj.Event(lambda y, t: y["z"][0, 0].real)
    found = dj.odeint(slope, start, np.array([0.0, 2.0]), dense=True, events=when, method=method, **TIGHT)
    close(found.t_events[0], [np.pi / 2])
    close(found(1.2)["z"], [[np.exp(1.2j)]])
    close(found(np.array([0.3, 1.2]))["z"][:, 0, 0], np.exp([0.3j, 1.2j]))
    assert found(1.2)["z"].dtype == complex
    assert found.y["x"].dtype == float


def test_methods_that_there_are_not():
    with pytest.raises(dj.UsageError, match=r"DJ530.*there is no method 'radau'"):
        dj.odeint(pulled, 1.0, np.array([0.0, 1.0]), 1.0, method="radau")
