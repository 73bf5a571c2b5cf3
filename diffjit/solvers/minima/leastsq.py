"""`scipy.optimize.leastsq` by SciPy's name."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

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
