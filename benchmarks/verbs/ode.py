"""Differential equations by adaptive steps: states, and gradients of a number made of them.

SciPy integrates in Python with the same method and tolerances, and takes differences for the gradient.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.verbs.case import Case, Function

TOLERANCE = 1e-8


def lorenz(y, t, p):
    """The Lorenz system."""
    return [p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]]


def lotka(y, t, p):
    """Prey and predators."""
    return [y[0] * (p[0] - p[1] * y[1]), y[1] * (p[2] * y[0] - p[3])]


def vanderpol(y, t, p):
    """A relaxation oscillator, stiff for an explicit method where it creeps."""
    return [y[1], p[0] * (1.0 - y[0] * y[0]) * y[1] - y[0]]


SYSTEMS = {
    "lorenz": (lorenz, [1.0, 2.0, 20.0], [10.0, 28.0, 8.0 / 3.0], 2.0, "the Lorenz system"),
    "lotka": (lotka, [30.0, 4.0], [0.48, 0.025, 0.028, 0.93], 40.0, "prey and predators"),
    "vanderpol": (vanderpol, [2.0, 0.0], [50.0], 30.0, "van der Pol's oscillator"),
}


def case(name: str, *, gradient: bool) -> Case:
    """One system, with or without a derivative."""
    field, start, parameters, end, title = SYSTEMS[name]

    def arguments(times: int) -> tuple[Any, ...]:
        return np.array(start), np.linspace(0.0, end, times), np.array(parameters)

    def diffjit() -> Function:
        import diffjit as dj

        def states(y0, ts, p):
            return dj.odeint(field, y0, ts, p, rtol=TOLERANCE, atol=TOLERANCE)

        def loss(y0, ts, p):
            return np.sum(states(y0, ts, p) ** 2)

        return dj.value_and_grad(loss, argnums=(0, 2)) if gradient else dj.jit(states)

    def jax() -> Function:
        import jax
        from jax.experimental.ode import odeint

        def slope(y, t, p):
            return jax.numpy.stack(field(y, t, p))

        def states(y0, ts, p):
            return odeint(slope, y0, ts, p, rtol=TOLERANCE, atol=TOLERANCE)

        def loss(y0, ts, p):
            return jax.numpy.sum(states(y0, ts, p) ** 2)

        return jax.value_and_grad(loss, argnums=(0, 2)) if gradient else states

    def scipy() -> Function:
        from scipy.integrate import solve_ivp
        from scipy.optimize import approx_fprime

        def states(y0, ts, p):
            slope = functools.partial(_turned, field, p)
            return solve_ivp(slope, (ts[0], ts[-1]), y0, t_eval=ts, rtol=TOLERANCE, atol=TOLERANCE).y.T

        def both(y0, ts, p):
            n = y0.size

            def loss(x):
                return np.sum(states(x[:n], ts, x[n:]) ** 2)

            x = np.concatenate([y0, p])
            slopes = approx_fprime(x, loss, 1e-5)
            return loss(x), (slopes[:n], slopes[n:])

        return both if gradient else states

    def by_variation(y0, ts, p):
        """Variational equations, by an implicit method with a tight tolerance."""
        from scipy.integrate import solve_ivp

        n, m = y0.size, p.size

        def slopes(t, z):
            y, change = z[:n], z[n:].reshape(n, n + m)
            tiny = 1e-30j
            by_y = np.array([np.imag(field(y + tiny * e, t, p)) for e in np.eye(n)]).T / tiny.imag
            by_p = np.array([np.imag(field(y, t, p + tiny * e)) for e in np.eye(m)]).T / tiny.imag
            return np.concatenate([field(y, t, p), (by_y @ change + np.hstack([np.zeros((n, n)), by_p])).ravel()])

        z0 = np.concatenate([y0, np.eye(n, n + m).ravel()])
        z = solve_ivp(slopes, (ts[0], ts[-1]), z0, t_eval=ts, rtol=1e-10, atol=1e-12, method="LSODA").y.T
        y, change = z[:, :n], z[:, n:].reshape(-1, n, n + m)
        found = 2.0 * np.einsum("ti,tij->j", y, change)
        return (np.sum(y**2), (found[:n], found[n:])) if gradient else y

    return Case(
        reference=by_variation,
        title=f"{title}: {'a gradient' if gradient else 'states'}",
        arguments=arguments,
        quick={"times": 5},
        full={"times": 101},
        diffjit=diffjit,
        jax=jax,
        scipy=scipy,
        tolerance=1e-4,  # of the methods: their steps are not the same
        numerical=1e-1 if gradient else 1e-4,
    )


def _turned(field, p, t, y):
    return field(y, t, p)


CASES = {
    f"{name}_{what}": case(name, gradient=what == "gradient") for name in SYSTEMS for what in ("value", "gradient")
}
