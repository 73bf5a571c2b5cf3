"""Systems of equations by SciPy's names: SciPy's own code solves them."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import warnings

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.remarks import number_of, said
from diffjit.solvers.scipy.closed import closed
from diffjit.solvers.scipy.handed import SOLUTION, vector
from diffjit.solvers.scipy.results import RootResult


def balance(fields, kit, x, p):
    return vector(fields[0]((x,), p, kit[0][0]))


def called(field, floats, others):
    """A field as SciPy calls it: of one vector."""
    return lambda x: field((np.array(x),), floats, others)


def found_system(fields, x0, kit, p):
    """`scipy.optimize.root` at work."""
    others, slope, options = kit
    jac = None if fields[1] is None else called(fields[1], *slope)
    found = scipy.optimize.root(called(fields[0], p, others), x0, method=options["method"], jac=jac,
                                tol=options["tol"], options=options["options"])  # fmt: skip
    told = int(found.status), number_of(str(found.message)), int(found.get("nfev", 0))
    return vector(found.x), 0.0 * vector(x0), bool(found.success), told


SYSTEM = foreign(found_system, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


def found_zeros(fields, x0, kit, p):
    """`scipy.optimize.fsolve` at work, with its warning."""
    others, slope, options = kit
    jac = None if fields[1] is None else called(fields[1], *slope)
    given = {k: v for k, v in options.items() if v is not None and k != "told"}
    f = called(fields[0], p, others)
    x, info, ier, text = scipy.optimize.fsolve(f, x0, fprime=jac, full_output=True, **given)
    if ier != 1 and options["told"]:
        warnings.warn(text, RuntimeWarning, stacklevel=1)
    return x, 0.0 * x, ier == 1, (int(info["nfev"]), int(ier), number_of(text))


ZEROS = foreign(found_zeros, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


def opened(func, x0, args, jac):
    """The functions and what belongs to them."""
    start = stop_gradient(vector(x0))
    field, floats, others = closed(func, (start,), args, ("forward",))
    if jac is None:
        return (field, None), start, floats, others, ((), ())
    slope, slope_floats, slope_others = closed(jac, (start,), args, ("forward",))
    return (field, slope), start, floats, others, stop_gradient((slope_floats, slope_others))


@implements(scipy.optimize.fsolve)
def fsolve(
    func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None, epsfcn=None,
    factor=100, diag=None,
):  # fmt: skip
    """A solution of `func(x) = 0`."""
    fields, start, floats, others, slope = opened(func, x0, args, fprime)
    options = {
        "col_deriv": col_deriv, "xtol": xtol, "maxfev": maxfev, "band": band, "epsfcn": epsfcn, "factor": factor,
        "diag": diag, "told": not full_output,
    }  # fmt: skip
    x, _, _, told = SOLUTION((balance, "dense", False), ZEROS, fields, (others, slope, options), start, floats)
    if not full_output:
        return x
    info = {"nfev": told[0], "fvec": vector(fields[0]((x,), floats, others))}
    return x, info, told[1], said(told[2])


@implements(scipy.optimize.root)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    """A solution of `fun(x) = 0`, by the method that is named."""
    if callback is not None:
        raise NotImplementedError("scipy.optimize.root(callback=...): leave it out")
    if jac is True:
        return root(
            lambda x, *more: fun(x, *more)[0], x0, args, method, lambda x, *more: fun(x, *more)[1], tol, None, options
        )
    slope = jac if callable(jac) else None
    fields, start, floats, others, slope = opened(fun, x0, args, slope)
    kit = others, slope, {"method": method, "tol": tol, "options": options}
    x, _, good, told = SOLUTION((balance, "auto", False), SYSTEM, fields, kit, start, floats)
    x = np.reshape(x, np.shape(x0)) if np.ndim(x0) > 1 else x
    return RootResult(x, fields[0]((x,), floats, others), good, told[0], told[1], told[2], method)


def found_by_name(fields, x0, kit, p):
    """One of SciPy's iterations for large systems at work."""
    others, name, options = kit
    x = getattr(scipy.optimize, name)(called(fields[0], p, others), np.array(x0), **options)
    return vector(x), 0.0 * vector(x0), True, ()


NAMED = foreign(found_by_name, result=lambda fields, x0, kit, p: (x0, x0, True, ()))


def by_name(name, F, xin, options):
    """A solution of `F(x) = 0` in the form of its guess."""
    start, shape = stop_gradient(vector(xin)), np.shape(xin)
    if options.get("callback") is not None:
        raise NotImplementedError(f"scipy.optimize.{name}(callback=...): leave it out")
    field, floats, others = closed(lambda x: vector(F(np.reshape(x, shape))), (start,), (), ("forward",))
    x, _, _, _ = SOLUTION((balance, "auto", False), NAMED, (field,), (others, name, options), start, floats)
    return np.reshape(x, shape)


def iterated(name):
    """One of these iterations as a function."""

    def solver(F, xin, iter=None, **options):  # noqa: A002 - SciPy's name
        return by_name(name, F, xin, {"iter": iter, **options})

    return solver


for iteration in ("broyden1", "broyden2", "anderson", "newton_krylov"):
    implements(getattr(scipy.optimize, iteration))(iterated(iteration))


def still(fields, kit, x, p):
    return x - vector(fields[0]((x,), p, kit[0][0]))


def found_fixed(fields, x0, kit, p):
    """`scipy.optimize.fixed_point` at work."""
    others, options = kit
    x = scipy.optimize.fixed_point(called(fields[0], p, others), x0, **options)
    return vector(x), 0.0 * vector(x0), True, ()


FIXED = foreign(found_fixed, result=lambda fields, x0, kit, p: (x0, x0, True, ()))


@implements(scipy.optimize.fixed_point)
def fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500, method="del2"):
    """An x with `x = func(x)`, each number by itself."""
    if np.ndim(x0) == 0:
        start = stop_gradient(1.0 * np.array([x0]))
        field, floats, others = closed(lambda x, *more: vector(func(x[0], *more)), (start,), args, ("forward",))
    else:
        start = stop_gradient(vector(x0))
        field, floats, others = closed(lambda x, *more: vector(func(x, *more)), (start,), args, ("forward",))
    options = {"xtol": xtol, "maxiter": maxiter, "method": method}
    x, _, _, _ = SOLUTION((still, "auto", False), FIXED, (field,), (others, options), start, floats)
    return x[0] if np.ndim(x0) == 0 else np.reshape(x, np.shape(x0))
