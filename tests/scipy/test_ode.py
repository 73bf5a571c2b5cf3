"""`scipy.integrate.ode`: solutions that are asked for one time after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate

import diffjit as dj

BACKENDS = ("python", "numba")


def damped(t: Any, y: Any, rate: Any) -> Any:
    return [y[1], -rate * y[0] - 0.1 * y[1]]


def in_steps(rate: Any, y0: Any, name: str) -> Any:
    r = integrate.ode(damped)
    r.set_integrator(name, rtol=1e-11, atol=1e-12).set_initial_value([y0, 0.2], 0.2).set_f_params(rate)
    states = []
    while r.successful() and r.t < 1.1:
        states.append(r.integrate(r.t + 0.25)[0] * r.t)
    return sum(states)


def at_times(rate: Any, y0: Any, name: str) -> Any:
    r = integrate.ode(lambda t, y: -rate * y + np.sin(t)).set_integrator(name, method="bdf", rtol=1e-10, atol=1e-11)
    r.set_initial_value(np.array([y0, 1.0]))
    found = np.zeros((4, 2))
    for i, t in enumerate([0.2, 0.3, 0.7, 0.9]):
        found[i] = r.integrate(t)
    return np.sum(found**2)


CASES = [(in_steps, "dopri5", b) for b in BACKENDS]
CASES += [(in_steps, "lsoda", "python"), (in_steps, "dop853", "python"), (at_times, "vode", "python")]


@pytest.mark.parametrize(("program", "name", "backend"), CASES)
def test_values_and_derivatives(program: Any, name: str, backend: str) -> None:
    def loss(rate: Any, y0: Any) -> Any:
        return program(rate, y0, name)

    assert dj.jit(loss, backend=backend)(1.3, 0.7) == pytest.approx(loss(1.3, 0.7), rel=1e-8)
    found = dj.grad(loss, argnums=(0, 1), backend=backend)(1.3, 0.7)
    h = 1e-4
    slopes = [(loss(1.3 + h, 0.7) - loss(1.3 - h, 0.7)) / (2 * h), (loss(1.3, 0.7 + h) - loss(1.3, 0.7 - h)) / (2 * h)]
    np.testing.assert_allclose(found, slopes, rtol=1e-6)
    tangent = dj.jvp(loss, (1.3, 0.7), (1.0, -0.5), backend=backend)[1]
    assert tangent == pytest.approx(found[0] - 0.5 * found[1], rel=1e-10)
    bent = (dj.grad(loss, backend=backend)(1.3 + h, 0.7) - dj.grad(loss, backend=backend)(1.3 - h, 0.7)) / (2 * h)
    assert dj.hvp(loss, (1.3, 0.7), (1.0, 0.0), backend=backend) == pytest.approx(bent, rel=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_refused(backend: str) -> None:
    def unknown(rate: Any) -> Any:
        return integrate.ode(damped).set_integrator("zvode").set_initial_value([rate, 1.0]).integrate(1.0)[0]

    def one_step(rate: Any) -> Any:
        r = integrate.ode(damped).set_integrator("vode").set_initial_value([rate, 1.0]).set_f_params(rate)
        return r.integrate(1.0, step=True)[0]

    for program, words in ((unknown, "zvode"), (one_step, "step or relax")):
        with pytest.raises(dj.DiffjitError, match=words):
            dj.grad(program, backend=backend)(1.0)
