"""Least squares by SciPy's names: SciPy's own code fits, theory differentiates by data, sizes of errors and parameters.

The derivative of a fit is that of the minimum itself: it takes second derivatives of the model, which the covariance
leaves out.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.api.matrices import jacfwd
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.remarks import number_of
from diffjit.solvers.scipy.closed import closed, parameters
from diffjit.solvers.scipy.handed import SOLUTION, vector, within
from diffjit.solvers.scipy.results import Fit, Untold

# Residuals ------------------------------------------------------------------------------------------------------------


def half(loss, scale, r):
    """Half of the sum of squares, which a loss makes less of where they are large."""
    z = (r / scale) ** 2
    if loss == "soft_l1":
        z = 2.0 * (np.sqrt(1.0 + z) - 1.0)
    elif loss == "huber":
        z = np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0)
    elif loss == "cauchy":
        z = np.log1p(z)
    elif loss == "arctan":
        z = np.arctan(z)
    return 0.5 * scale * scale * np.sum(z)


def weight(loss, scale, r):
    """What a loss multiplies residuals by, in the slope of the cost."""
    z = (r / scale) ** 2
    if loss == "soft_l1":
        return 1.0 / np.sqrt(1.0 + z)
    if loss == "huber":
        return np.where(z <= 1.0, 1.0, 1.0 / np.sqrt(np.where(z <= 1.0, 1.0, z)))
    if loss == "cauchy":
        return 1.0 / (1.0 + z)
    if loss == "arctan":
        return 1.0 / (1.0 + z * z)
    return 1.0


def sloped(field, loss, scale, x, floats, others):
    """The residuals, their derivatives by the parameters, and the gradient of the cost.

    By forward mode: parameters are few, and what follows differentiates this again.
    """
    r = vector(field((x,), floats, others))
    jacobian = jacfwd(lambda u: vector(field((u,), floats, others)))(x)
    return r, jacobian, np.transpose(jacobian) @ (weight(loss, scale, r) * r)


def once(field, loss, scale, start, floats, others):
    """`sloped` as a function that is interpreted, and whose forward mode is taken, once: and what belongs to it."""
    return closed(lambda x: sloped(field, loss, scale, x, floats, others), (start,), (), ("forward",))


def settled(fields, kit, x, p):
    """The gradient of the cost, or the distance from a bound."""
    _, floats, low, high = p
    return within(x, kit[1], low, high, fields[2]((x,), floats, kit[0][1])[2])


def found_fit(fields, x0, kit, p):
    """`scipy.optimize.least_squares` at work."""
    others, _, more, loss, scale, options = kit
    floats, _, low, high = p
    given = dict(options)
    if fields[1] is not None:
        given["jac"] = lambda x: fields[1]((np.array(x),), *more)
    found = scipy.optimize.least_squares(
        lambda x: np.ravel(fields[0]((np.array(x),), floats, others)), x0, bounds=(low, high), loss=loss, f_scale=scale,
        **given,
    )  # fmt: skip
    told = int(found.status), int(found.nfev), number_of(str(found.message))
    return found.x, found.active_mask.astype(float), bool(found.success), told


FIT = foreign(found_fit, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


@implements(scipy.optimize.least_squares)
def least_squares(
    fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8, x_scale=None,
    loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None, jac_sparsity=None, max_nfev=None,
    verbose=0, args=(), kwargs=None, callback=None, workers=None,
):  # fmt: skip
    """The parameters of the least sum of squares."""
    if callback is not None or workers is not None or jac_sparsity is not None:
        raise NotImplementedError("scipy.optimize.least_squares with callback, workers or jac_sparsity: leave them out")
    if loss not in ("linear", "soft_l1", "huber", "cauchy", "arctan"):
        raise NotImplementedError("scipy.optimize.least_squares with a loss of one's own: minimise it")
    start = stop_gradient(vector(x0))
    named = {} if kwargs is None else kwargs
    field, floats, others = closed(lambda x, *more: fun(x, *more, **named), (start,), args, ("forward", "forward"))
    options = {"method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "verbose": verbose}
    for name, value in (
        ("x_scale", x_scale),
        ("diff_step", diff_step),
        ("tr_solver", tr_solver),
        ("max_nfev", max_nfev),
    ):
        if value is not None:
            options[name] = value  # noqa: PERF403 - what is None is known while specialising
    slope, more = None, ((), ())
    if callable(jac):
        slope, slope_floats, slope_others = closed(lambda x, *more: jac(x, *more, **named), (start,), args, ())
        more = stop_gradient((slope_floats, slope_others))
    else:
        options["jac"] = jac
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    steep, steep_floats, steep_others = once(field, loss, f_scale, start, floats, others)
    p = floats, steep_floats, np.zeros(start.size) + low, np.zeros(start.size) + high
    kit = others, steep_others, more, loss, f_scale, options
    x, sides, good, told = SOLUTION((settled, "dense", True), FIT, (field, slope, steep), kit, start, p)
    r, jacobian, slope = steep((x,), steep_floats, steep_others)
    return Fit(x, half(loss, f_scale, r), r, jacobian, slope, sides.astype(int), good, told[0], told[1], told[2])


# Curves ---------------------------------------------------------------------------------------------------------------


def found_curve(fields, x0, kit, p):
    """`scipy.optimize.curve_fit` at work, on residuals in place of a model."""
    others, _, more, size, options = kit
    floats, _, low, high = p
    given = dict(options)
    if fields[1] is not None:
        given["jac"] = lambda x, *q: fields[1]((np.array(q),), *more)
    if np.any(np.isfinite(low)) or np.any(np.isfinite(high)):
        given["bounds"] = low, high
    zeros = np.zeros(size)
    x, _ = scipy.optimize.curve_fit(
        lambda x, *q: np.ravel(fields[0]((np.array(q),), floats, others)), zeros, zeros, x0, **given
    )
    span = np.where(np.isfinite(low) & np.isfinite(high), high - low, 1.0 + np.abs(x))
    sides = np.where(x - low <= 1e-8 * span, -1.0, np.where(high - x <= 1e-8 * span, 1.0, 0.0))
    return x, sides, True, ()


CURVE = foreign(found_curve, result=lambda fields, x0, kit, p: (x0, x0, True, ()))


def first_guess(n, low, high):
    """Where SciPy starts: at ones, within bounds."""
    out = np.ones(n)
    for k in range(n):
        if np.isfinite(low[k]) and np.isfinite(high[k]):
            out[k] = 0.5 * (low[k] + high[k])
        elif np.isfinite(low[k]):
            out[k] = low[k] + 1.0
        elif np.isfinite(high[k]):
            out[k] = high[k] - 1.0
    return out


def weighed(r, sigma):
    """Residuals in units of their errors."""
    if sigma is None:
        return r
    if np.ndim(sigma) < 2:
        return r / sigma
    return np.linalg.solve(np.linalg.cholesky(sigma), r)


def weighed_columns(jacobian, sigma):
    """The derivatives of residuals in units of their errors."""
    if sigma is None or np.ndim(sigma) == 2:
        return weighed(jacobian, sigma)
    return np.transpose(np.transpose(jacobian) / sigma)


@implements(scipy.optimize.curve_fit)
def curve_fit(
    f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf),
    method=None, jac=None, *, full_output=False, nan_policy=None, ftol=None, xtol=None, gtol=None, maxfev=None,
    max_nfev=None, epsfcn=None, factor=None, x_scale=None, loss="linear", f_scale=1.0,
):  # fmt: skip
    """The parameters of a model that fits data, and their covariance."""
    if nan_policy is not None:
        raise NotImplementedError("scipy.optimize.curve_fit(nan_policy=...): drop what is not a number before")
    n = parameters(f) - 1 if p0 is None else len(p0)
    xs = np.asarray(xdata) if isinstance(xdata, (list, tuple)) else xdata
    ys = vector(ydata)
    errors = None if sigma is None else np.asarray(sigma) * 1.0
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    low, high = np.zeros(n) + low, np.zeros(n) + high
    start = stop_gradient(first_guess(n, low, high) if p0 is None else vector(p0))

    def residuals(q):
        return weighed(vector(f(xs, *[q[k] for k in range(n)])) - ys, errors)

    field, floats, others = closed(residuals, (start,), (), ("forward", "forward"))
    options = {}
    for name, value in (
        ("method", method), ("ftol", ftol), ("xtol", xtol), ("gtol", gtol), ("maxfev", maxfev), ("max_nfev", max_nfev),
        ("epsfcn", epsfcn), ("factor", factor), ("jac", None if callable(jac) else jac), ("x_scale", x_scale),
    ):  # fmt: skip
        if value is not None:
            options[name] = value  # noqa: PERF403 - what is None is known while specialising
    if loss != "linear":
        options["loss"], options["f_scale"] = loss, f_scale
    slope, more = None, ((), ())
    if callable(jac):
        columns = lambda q: weighed_columns(np.asarray(jac(xs, *[q[k] for k in range(n)])), errors)  # noqa: E731
        slope, slope_floats, slope_others = closed(columns, (start,), (), ())
        more = stop_gradient((slope_floats, slope_others))
    steep, steep_floats, steep_others = once(field, loss, f_scale, start, floats, others)
    kit, p = (others, steep_others, more, ys.size, options), (floats, steep_floats, low, high)
    x, _, _, _ = SOLUTION((settled, "dense", True), CURVE, (field, slope, steep), kit, start, p)
    r, jacobian, _ = steep((x,), steep_floats, steep_others)
    covariance = np.linalg.inv(np.transpose(jacobian) @ jacobian)
    if not absolute_sigma:
        free = ys.size - n
        covariance = covariance * (2.0 * half(loss, f_scale, r) / free if free > 0 else np.inf)
    if full_output:
        return x, covariance, {"fvec": r}, Untold("the message of curve_fit"), Untold("the kind of end of curve_fit")
    return x, covariance


# Linear problems ------------------------------------------------------------------------------------------------------


def settled_linear(fields, kit, x, p):
    """The gradient of a linear problem, or the distance from a bound."""
    a, b, low, high = p
    return within(x, kit[1], low, high, np.transpose(a) @ (a @ x - b))


def found_nonnegative(fields, x0, kit, p):
    """`scipy.optimize.nnls` at work."""
    x, _ = scipy.optimize.nnls(p[0], p[1], **kit[0])
    return x, np.where(x > 0.0, 0.0, -1.0), True, ()


NONNEGATIVE = foreign(found_nonnegative, result=lambda fields, x0, kit, p: (x0, x0, True, ()))


@implements(scipy.optimize.nnls)
def nnls(A, b, *, maxiter=None, atol=None):
    """The least squares solution that has no negative number, and the residual's norm."""
    a, b = np.asarray(A) * 1.0, vector(b)
    start = np.zeros(a.shape[1])
    options = {} if maxiter is None else {"maxiter": maxiter}
    p = a, b, start, np.full(a.shape[1], np.inf)
    x, _, _, _ = SOLUTION((settled_linear, "dense", True), NONNEGATIVE, (), (options, ()), start, p)
    return x, np.sqrt(np.sum((a @ x - b) ** 2))


def found_linear(fields, x0, kit, p):
    """`scipy.optimize.lsq_linear` at work."""
    found = scipy.optimize.lsq_linear(p[0], p[1], bounds=(p[2], p[3]), **kit[0])
    told = int(found.status), int(found.nit), number_of(str(found.message))
    return found.x, found.active_mask.astype(float), bool(found.success), told


LINEAR = foreign(found_linear, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


@implements(scipy.optimize.lsq_linear)
def lsq_linear(
    A, b, bounds=(-np.inf, np.inf), method="trf", tol=1e-10, lsq_solver=None, lsmr_tol=None, max_iter=None, verbose=0,
    *, lsmr_maxiter=None,
):  # fmt: skip
    """The least squares solution within bounds."""
    a, b = np.asarray(A) * 1.0, vector(b)
    start = np.zeros(a.shape[1])
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    options = {
        "method": method, "tol": tol, "lsq_solver": lsq_solver, "lsmr_tol": lsmr_tol, "max_iter": max_iter,
        "verbose": verbose,
    }  # fmt: skip
    x, sides, good, told = SOLUTION(
        (settled_linear, "dense", True), LINEAR, (), (options, ()), start, (a, b, start + low, start + high)
    )
    r = a @ x - b
    return Fit(x, 0.5 * np.sum(r * r), r, a, np.transpose(a) @ r, sides.astype(int), good, told[0], told[1], told[2])


def found_assignment(cost, maximize):
    """`scipy.optimize.linear_sum_assignment` at work."""
    rows, columns = scipy.optimize.linear_sum_assignment(cost, maximize)
    return rows.astype(int), columns.astype(int)


def like_assignment(cost, maximize):
    n = min(cost.shape[0], cost.shape[1])
    return np.zeros(n, int), np.zeros(n, int)


ASSIGNMENT = foreign(found_assignment, result=like_assignment)


@implements(scipy.optimize.linear_sum_assignment)
def linear_sum_assignment(cost_matrix, maximize=False):
    """Rows and columns that belong together, which are constant."""
    return ASSIGNMENT(stop_gradient(np.asarray(cost_matrix) * 1.0), maximize)
