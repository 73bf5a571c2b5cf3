"""`scipy.optimize.leastsq` and `isotonic_regression` by SciPy's names."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.remarks import number_of, said
from diffjit.solvers.minima.named import given
from diffjit.solvers.scipy.closed import closed
from diffjit.solvers.scipy.fits import once, settled
from diffjit.solvers.scipy.handed import SOLUTION, vector


def found_squares(fields, x0, kit, p):
    """`scipy.optimize.leastsq` at work."""
    others, _, more, options = kit
    floats = p[0]
    slope = None if fields[1] is None else (lambda x: np.asarray(fields[1]((np.array(x),), *more)))
    found: Any = scipy.optimize.leastsq(
        lambda x: np.ravel(fields[0]((np.array(x),), floats, others)), x0, Dfun=slope, full_output=True, **options
    )
    x, info, ier = vector(found[0]), found[2], int(found[4])
    return x, 0.0 * x, ier in (1, 2, 3, 4), (int(info["nfev"]), ier, number_of(str(found[3])))


SQUARES = foreign(found_squares, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


@implements(scipy.optimize.leastsq)
def leastsq(
    func, x0, args=(), Dfun=None, full_output=False, col_deriv=False, ftol=1.49012e-8, xtol=1.49012e-8,
    gtol=0.0, maxfev=0, epsfcn=None, factor=100, diag=None,
):  # fmt: skip
    """The parameters of the least sum of squares; with `full_output` also what their covariance is made of."""
    start = stop_gradient(vector(x0))
    field, floats, others = closed(func, (start,), args, ("forward", "forward"))
    slope, more = None, ((), ())
    if Dfun is not None:
        slope, slope_floats, slope_others = closed(Dfun, (start,), args, ())
        more = stop_gradient((slope_floats, slope_others))
    steep, steep_floats, steep_others = once(field, "linear", 1.0, start, floats, others)
    options = given(
        col_deriv=col_deriv, ftol=ftol, xtol=xtol, gtol=gtol, maxfev=maxfev, epsfcn=epsfcn, factor=factor, diag=diag
    )
    free = np.full(start.size, np.inf)
    p = floats, steep_floats, -free, free
    kit = others, steep_others, more, options
    x, _, _, told = SOLUTION((settled, "dense", True), SQUARES, (field, slope, steep), kit, start, p)
    if not full_output:
        return x, told[1]
    r, jacobian, _ = steep((x,), steep_floats, steep_others)
    covariance = np.linalg.inv(np.transpose(jacobian) @ jacobian)
    return x, covariance, {"nfev": told[0], "fvec": r}, said(told[2]), told[1]


def steps_of(y, weights, increasing):
    """Which step each number is on, as SciPy's own code finds them."""
    found = scipy.optimize.isotonic_regression(y, weights=weights, increasing=increasing)
    return np.repeat(np.arange(found.blocks.size - 1), np.diff(found.blocks))


STEPS = foreign(steps_of, result=lambda y, weights, increasing: np.zeros(y.shape[0], int))


@dataclass
class Isotonic:
    """What `scipy.optimize.isotonic_regression` gives."""

    x: Any
    weights: Any
    blocks: Any


@implements(scipy.optimize.isotonic_regression)
def isotonic_regression(y, *, weights=None, increasing=True):
    """The nearest numbers that do not fall: means of those on a step; which these are is taken not to change."""
    y = np.atleast_1d(np.asarray(y)) * 1.0
    w = np.ones(y.shape[0]) if weights is None else np.asarray(weights) * 1.0
    step = STEPS(stop_gradient(y), stop_gradient(w), increasing)
    each = np.bincount(step, weights=w)
    means = np.bincount(step, weights=w * y) / each
    ends = np.concatenate((np.zeros(1, int), np.cumsum(np.bincount(step))))
    return Isotonic(means[step], each, ends)
