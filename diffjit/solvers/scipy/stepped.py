"""`scipy.integrate.ode`: an object that goes from one time to the next.

Each call of `integrate` is an initial value problem of its own, from the state that the object holds, so that nothing
of a method's past steps is kept: results differ from SciPy's within the tolerances.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.integrate

from diffjit.primitives.registry import implements

METHODS = {"": "LSODA", "vode": "LSODA", "lsoda": "LSODA", "dopri5": "RK45", "dop853": "DOP853"}


@implements(scipy.integrate.ode)
class Ode:
    """A solution that is asked for one time after another."""

    stands_for = scipy.integrate.ode

    def __init__(self, f, jac=None):
        self.f, self.f_params = f, ()
        self.t, self.y = 0.0, np.zeros(1)
        self.set_integrator("")

    def set_integrator(
        self, name, method="adams", with_jacobian=False, rtol=1e-6, atol=1e-12, lband=None, uband=None, order=12,
        nsteps=500, max_step=0.0, min_step=0.0, first_step=0.0, max_order_ns=12, max_order_s=5, safety=0.9,
        ifactor=10.0, dfactor=0.2, beta=0.0, verbosity=-1,
    ):  # fmt: skip
        """Which method, and its tolerances."""
        if name not in METHODS:
            raise NotImplementedError(f"scipy.integrate.ode by {name!r}: 'vode', 'lsoda', 'dopri5' or 'dop853'")
        self.way = "BDF" if name == "vode" and method == "bdf" else METHODS[name]
        self.rtol, self.atol, self.max_step, self.first_step = rtol, atol, max_step, first_step
        return self

    def set_initial_value(self, y, t=0.0):
        """Where the solution begins."""
        self.y, self.t = np.atleast_1d(np.asarray(y)) * 1.0, t * 1.0
        return self

    def set_f_params(self, *args):
        """What the slope is given beside time and state."""
        self.f_params = args
        return self

    def set_jac_params(self, *args):
        """What a Jacobian would be given: it is the derivative of the slope here."""
        return self

    def integrate(self, t, step=False, relax=False):
        """Go to a time, and give the state there."""
        if step or relax:
            raise NotImplementedError("scipy.integrate.ode.integrate with step or relax: leave them out")
        if t != self.t:
            found = scipy.integrate.solve_ivp(
                self.f, (self.t, t), self.y, self.way, args=self.f_params, rtol=self.rtol, atol=self.atol,
                max_step=self.max_step if self.max_step > 0.0 else np.inf,
                first_step=self.first_step if self.first_step > 0.0 else None,
            )  # fmt: skip
            self.y, self.t = found.y[:, -1].copy(), t * 1.0
        return self.y

    def successful(self):
        """Whether all went well: a solution that fails raises."""
        return True
