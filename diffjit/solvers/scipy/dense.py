"""Solutions of differential equations that SciPy found outside of a program: polynomials between its steps."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.integrate

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements


@implements(scipy.integrate.OdeSolution)
class Solution:
    """What a solution is at times."""

    stands_for = scipy.integrate.OdeSolution

    def __init__(self, ts, interpolants, alt_segment=False):
        raise NotImplementedError("OdeSolution(...) inside a program: make it outside, or use solve_ivp")

    @property
    def ts(self):
        """The times between the steps."""
        return self.times

    @property
    def t_min(self):
        """The earliest time."""
        return np.minimum(self.times[0], self.times[-1])

    @property
    def t_max(self):
        """The latest time."""
        return np.maximum(self.times[0], self.times[-1])

    def __call__(self, t):
        """Values, a column for each time."""
        t = as_float(np.asarray(t))
        if t.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        count, backwards = self.coefficients.shape[0], self.times[-1] < self.times[0]
        order = self.times[::-1] if backwards else self.times
        found = np.searchsorted(order, t, side=self.side) - 1
        step = np.minimum(np.maximum(found, 0), count - 1)
        step = np.where(backwards, count - 1 - step, step)
        away = (t - self.starts[step]) / self.units[step]
        held = self.coefficients[step]
        value = held[..., -1]
        for k in range(2, held.shape[-1] + 1):
            value = value * away[..., None] + held[..., -k]
        return np.transpose(value)
