"""Minima by SciPy's names: SciPy's own code finds them, whichever method is asked for.

A number that stands at its bound stays there when parameters move, and moves with the bound. Constraints are those of
`solvers.constrained`.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.api.grad import grad
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.callbacks import followed
from diffjit.solvers.aside.remarks import like_told, minimised, number_of
from diffjit.solvers.constrained.forms import listed
from diffjit.solvers.constrained.minimum import constrained
from diffjit.solvers.scipy.closed import closed, number
from diffjit.solvers.scipy.handed import SOLUTION, asked, vector, within
from diffjit.solvers.scipy.results import Minimum, ScalarMinimum


def lower(bounds, n):
    """The lower bounds of n numbers, as an array."""
    if bounds is None:
        return np.full(n, -np.inf)
    if hasattr(bounds, "lb"):
        return np.zeros(n) + bounds.lb
    return np.array([-np.inf if pair[0] is None else pair[0] for pair in bounds]) * 1.0


def upper(bounds, n):
    """The upper bounds of n numbers, as an array."""
    if bounds is None:
        return np.full(n, np.inf)
    if hasattr(bounds, "ub"):
        return np.zeros(n) + bounds.ub
    return np.array([np.inf if pair[1] is None else pair[1] for pair in bounds]) * 1.0


def sides_of(x, low, high):
    """Which numbers are at their bounds."""
    near = 1e-9 * (1.0 + np.abs(x))
    return np.where(low == high, -2.0, np.where(x <= low + near, -1.0, np.where(x >= high - near, 1.0, 0.0)))


INSIDE = ("trust-constr", "cobyla", "cobyqa")  # methods that stop short of bounds, or a little beyond


# Several numbers ------------------------------------------------------------------------------------------------------


def level(fields, kit, x, p):
    """The gradient, or the distance from a bound."""
    floats, low, high = p
    slope = grad(lambda u: fields[0]((u,), floats, kit[0][0]))(x)
    return within(x, kit[1], low, high, slope)


def found_minimum(fields, x0, kit, p):
    """`scipy.optimize.minimize` at work."""
    others, more, options = kit
    floats, low, high = p
    height, given = asked(fields, floats, others, more, options, low, high)
    found, told = minimised(height, x0, given, options)
    x = vector(found.x)
    return x, sides_of(x, low, high), bool(found.success), told


MINIMUM = foreign(found_minimum, result=lambda fields, x0, kit, p: (x0, x0, True, like_told(x0, kit[2])))


@implements(scipy.optimize.minimize)
def minimize(
    fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
    callback=None, options=None,
):  # fmt: skip
    """A minimum of a function of several numbers."""
    if jac is True:
        return minimize(
            lambda x, *more: fun(x, *more)[0], x0, args, method, lambda x, *more: fun(x, *more)[1], hess, hessp, bounds,
            constraints, tol, callback, options,
        )  # fmt: skip
    start = stop_gradient(vector(x0))
    field, floats, others = closed(lambda x, *more: number(fun(x, *more)), (start,), args, ("reverse", "forward"))
    slope, bend, product = None, None, None
    first, second, third = ((), ()), ((), ()), ((), ())
    held = len(listed(constraints)) > 0
    way = method.lower() if isinstance(method, str) else "slsqp" if held else "bfgs" if bounds is None else "l-bfgs-b"
    given = {"method": method, "tol": tol, "options": options, "remarks": (way, callback is not None)}
    if callback is not None and way == "trust-constr":
        raise NotImplementedError("scipy.optimize.minimize(callback=...) by trust-constr: leave it out")
    if callable(jac):
        slope, more, rest = closed(jac, (start,), args, ("reverse", "forward"))
        first = (more, rest)
    elif jac is not None and jac is not False:
        given["jac"] = jac
    if callable(hess):
        bend, more, rest = closed(hess, (start,), args, ("reverse", "forward"))
        second = (more, rest)
    elif hess is not None:
        given["hess"] = hess
    if hessp is not None:
        product, more, rest = closed(hessp, (start, start), args, ("reverse", "forward"))
        third = (more, rest)
    functions, more = (field, slope, bend, product), stop_gradient((first, second, third))
    low, high = lower(bounds, start.size), upper(bounds, start.size)
    rules = ()
    if held or (bounds is not None and way in INSIDE):
        x, good, told, rules = constrained(functions, others, more, given, start, floats, low, high, constraints)
    else:
        kit, p = (others, more, given), (floats, low, high)
        x, _, good, told = SOLUTION((level, "auto", True), MINIMUM, functions, kit, start, p)
    if callback is not None:
        followed(callback, told[7:], x, (), lambda x: field((x,), floats, others), (functions, rules))
    value = field((x,), floats, others)
    uncounted = way == "cobyla"  # SciPy does not count its steps
    return Minimum(x, value, good, told[0], None if uncounted else told[1], told[2], told[3], way, told[4:])


# One number -----------------------------------------------------------------------------------------------------------


def found_lowest(fields, x0, kit, p):
    """`scipy.optimize.minimize_scalar` at work."""
    others, options, bracket, bounds = kit

    def height(x):
        return float(fields[0]((np.array([x]),), p, others))

    given = dict(options)
    if len(bracket) > 0:
        given["bracket"] = bracket
    if len(bounds) > 0:
        given["bounds"] = bounds
    found = scipy.optimize.minimize_scalar(height, **given)
    told = int(found.nit), int(found.nfev), number_of(str(found.message))
    x, side = float(found.x), 0.0
    if len(bounds) > 0:
        if height(bounds[0]) < found.fun:
            side = -1.0
        elif height(bounds[1]) < found.fun:
            side = 1.0
    return np.array([x]), np.array([side]), bool(found.success), told


LOWEST = foreign(found_lowest, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


def level_inside(fields, kit, x, p):
    """The derivative by a number, inside of its bounds; at a bound it stays."""
    slope = grad(lambda u: fields[0]((u,), p, kit[0][0]))(x)
    return np.where(kit[1] == 0.0, slope, x - stop_gradient(x))


@implements(scipy.optimize.minimize_scalar)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    """A minimum of a function of one number."""
    start = np.zeros(1)
    field, floats, others = closed(lambda x, *more: number(fun(x[0], *more)), (start,), args, ("reverse", "forward"))
    near = np.zeros(0) if bracket is None else np.array(bracket, dtype=float)
    between = np.zeros(0) if bounds is None else np.array(bounds, dtype=float)
    given = {"method": method, "tol": tol, "options": options}
    kit = others, given, stop_gradient(near), stop_gradient(between)
    x, _, good, told = SOLUTION((level_inside, "dense", True), LOWEST, (field,), kit, start, floats)
    return ScalarMinimum(x[0], field((x,), floats, others), good, told[0], told[1], told[2])
