"""SciPy's older names for its methods: `fmin`, `fmin_bfgs` and their kin, `brent` and `fminbound`.

Each is `minimize` or `minimize_scalar` by one method, as in SciPy itself.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.primitives.registry import implements
from diffjit.solvers.scipy.minima import minimize, minimize_scalar

EPS = 1.4901161193847656e-08


def given(**options):
    """Options without those that are not given."""
    return {name: value for name, value in options.items() if value is not None}


def without(name, **told):
    """Raise for what these functions cannot give."""
    for option, value in told.items():
        if value is not None and value is not False and value != 0:
            raise NotImplementedError(f"scipy.optimize.{name}({option}=...): leave it out, or use minimize")


@implements(scipy.optimize.fmin)
def fmin(
    func, x0, args=(), xtol=1e-4, ftol=1e-4, maxiter=None, maxfun=None, full_output=0, disp=1, retall=0, callback=None,
    initial_simplex=None,
):  # fmt: skip
    """A minimum by the method of Nelder and Mead."""
    without("fmin", retall=retall)
    options = given(xatol=xtol, fatol=ftol, disp=bool(disp), maxiter=maxiter, maxfev=maxfun,
                    initial_simplex=initial_simplex)  # fmt: skip
    found = minimize(func, x0, args, method="Nelder-Mead", options=options, callback=callback)
    return (found.x, found.fun, found.nit, found.nfev, found.status) if full_output else found.x


@implements(scipy.optimize.fmin_powell)
def fmin_powell(
    func, x0, args=(), xtol=1e-4, ftol=1e-4, maxiter=None, maxfun=None, full_output=0, disp=1, retall=0, callback=None,
    direc=None,
):  # fmt: skip
    """A minimum by Powell's method."""
    without("fmin_powell", retall=retall, full_output=full_output)
    options = given(xtol=xtol, ftol=ftol, disp=bool(disp), maxiter=maxiter, maxfev=maxfun, direc=direc)
    return minimize(func, x0, args, method="Powell", options=options, callback=callback).x


@implements(scipy.optimize.fmin_bfgs)
def fmin_bfgs(
    f, x0, fprime=None, args=(), gtol=1e-5, norm=np.inf, epsilon=EPS, maxiter=None, full_output=0, disp=1, retall=0,
    callback=None, xrtol=0, c1=1e-4, c2=0.9, hess_inv0=None,
):  # fmt: skip
    """A minimum by the method of Broyden, Fletcher, Goldfarb and Shanno."""
    without("fmin_bfgs", retall=retall, full_output=full_output, hess_inv0=hess_inv0)
    options = given(gtol=gtol, norm=norm, eps=epsilon, disp=bool(disp), maxiter=maxiter, xrtol=xrtol, c1=c1, c2=c2)
    return minimize(f, x0, args, method="BFGS", jac=fprime, options=options, callback=callback).x


@implements(scipy.optimize.fmin_cg)
def fmin_cg(
    f, x0, fprime=None, args=(), gtol=1e-5, norm=np.inf, epsilon=EPS, maxiter=None, full_output=0, disp=1, retall=0,
    callback=None, c1=1e-4, c2=0.4,
):  # fmt: skip
    """A minimum by conjugate gradients."""
    without("fmin_cg", retall=retall, full_output=full_output)
    options = given(gtol=gtol, norm=norm, eps=epsilon, disp=bool(disp), maxiter=maxiter, c1=c1, c2=c2)
    return minimize(f, x0, args, method="CG", jac=fprime, options=options, callback=callback).x


@implements(scipy.optimize.fmin_ncg)
def fmin_ncg(
    f, x0, fprime, fhess_p=None, fhess=None, args=(), avextol=1e-5, epsilon=EPS, maxiter=None, full_output=0, disp=1,
    retall=0, callback=None, c1=1e-4, c2=0.9,
):  # fmt: skip
    """A minimum by Newton's method with conjugate gradients."""
    without("fmin_ncg", retall=retall, full_output=full_output)
    options = given(xtol=avextol, eps=epsilon, maxiter=maxiter, disp=bool(disp), c1=c1, c2=c2)
    return minimize(
        f, x0, args, method="Newton-CG", jac=fprime, hess=fhess, hessp=fhess_p, options=options, callback=callback
    ).x


@implements(scipy.optimize.fmin_l_bfgs_b)
def fmin_l_bfgs_b(
    func, x0, fprime=None, args=(), approx_grad=0, bounds=None, m=10, factr=1e7, pgtol=1e-5, epsilon=1e-8, iprint=None,
    maxfun=15000, maxiter=15000, disp=None, callback=None, maxls=20,
):  # fmt: skip
    """A minimum within bounds, by the limited memory of BFGS; its value, and what is known of it."""
    without("fmin_l_bfgs_b", iprint=iprint, disp=disp)
    jac = fprime if fprime is not None or approx_grad else True
    options = {"maxcor": m, "ftol": factr * np.finfo(float).eps, "gtol": pgtol, "eps": epsilon, "maxfun": maxfun,
               "maxiter": maxiter, "maxls": maxls}  # fmt: skip
    found = minimize(func, x0, args, method="L-BFGS-B", jac=jac, bounds=bounds, options=options, callback=callback)
    return (
        found.x,
        found.fun,
        {"funcalls": found.nfev, "nit": found.nit, "warnflag": found.status, "task": found.message},
    )


@implements(scipy.optimize.fmin_tnc)
def fmin_tnc(
    func, x0, fprime=None, args=(), approx_grad=0, bounds=None, epsilon=1e-8, scale=None, offset=None, messages=15,
    maxCGit=-1, maxfun=None, eta=-1, stepmx=0, accuracy=0, fmin=0, ftol=-1, xtol=-1, pgtol=-1, rescale=-1, disp=None,
    callback=None,
):  # fmt: skip
    """A minimum within bounds, by a truncated method of Newton's; how many calls it took, and why it ends."""
    without("fmin_tnc", disp=disp)
    jac = fprime if fprime is not None or approx_grad else True
    options = {
        "eps": epsilon, "scale": scale, "offset": offset, "mesg_num": messages, "maxCGit": maxCGit, "maxfun": maxfun,
        "eta": eta, "stepmx": stepmx, "accuracy": accuracy, "minfev": fmin, "ftol": ftol, "xtol": xtol, "gtol": pgtol,
        "rescale": rescale, "disp": False,
    }  # fmt: skip
    found = minimize(func, x0, args, method="TNC", jac=jac, bounds=bounds, options=options, callback=callback)
    return found.x, found.nfev, found.status


@implements(scipy.optimize.fmin_slsqp)
def fmin_slsqp(
    func, x0, eqcons=(), f_eqcons=None, ieqcons=(), f_ieqcons=None, bounds=(), fprime=None, fprime_eqcons=None,
    fprime_ieqcons=None, args=(), iter=100, acc=1e-6, iprint=1, disp=None, full_output=0, epsilon=EPS,  # noqa: A002
    callback=None,
):  # fmt: skip
    """A minimum under constraints, by sequential least squares."""
    without("fmin_slsqp", full_output=full_output)
    rules = [{"type": "eq", "fun": c, "args": args} for c in eqcons]
    rules = rules + [{"type": "ineq", "fun": c, "args": args} for c in ieqcons]
    if f_eqcons is not None:
        rules = [*rules, {"type": "eq", "fun": f_eqcons, "jac": fprime_eqcons, "args": args}]
    if f_ieqcons is not None:
        rules = [*rules, {"type": "ineq", "fun": f_ieqcons, "jac": fprime_ieqcons, "args": args}]
    told = iprint if disp is None else disp
    options = {"maxiter": iter, "ftol": acc, "iprint": iprint, "disp": told != 0, "eps": epsilon}
    limits = None if len(bounds) == 0 else bounds
    return minimize(
        func, x0, args, method="SLSQP", jac=fprime, bounds=limits, constraints=rules, options=options, callback=callback
    ).x


@implements(scipy.optimize.fmin_cobyla)
def fmin_cobyla(
    func, x0, cons, args=(), consargs=None, rhobeg=1.0, rhoend=1e-4, maxfun=1000, disp=None, catol=2e-4, *,
    callback=None,
):  # fmt: skip
    """A minimum under constraints, by linear approximations."""
    listed = cons if isinstance(cons, (tuple, list)) else (cons,)
    more = args if consargs is None else consargs
    rules = [{"type": "ineq", "fun": c, "args": more} for c in listed]
    options = {"rhobeg": rhobeg, "tol": rhoend, "disp": bool(disp), "maxiter": maxfun, "catol": catol}
    return minimize(func, x0, args, method="COBYLA", constraints=rules, options=options, callback=callback).x


@implements(scipy.optimize.approx_fprime)
def approx_fprime(xk, f, epsilon=EPS, *args):
    """Quotients of differences: the gradient of a function, or the Jacobian of several."""
    x = np.atleast_1d(np.asarray(xk)) * 1.0
    if x.ndim > 1:
        raise ValueError("`x0` must have at most 1 dimension.")
    before = np.atleast_1d(np.asarray(f(x, *args)))
    steps = np.zeros(x.size) + epsilon
    rows = np.zeros((x.size, before.size))
    for k in range(x.size):
        step = steps[k]
        if (x[k] + step) - x[k] == 0.0:
            step = EPS * (1.0 if x[k] >= 0.0 else -1.0) * max(1.0, abs(x[k]))
        there = x.copy()
        there[k] = x[k] + step
        rows[k] = (np.atleast_1d(np.asarray(f(there, *args))) - before) / (there[k] - x[k])
    return np.ravel(rows) if before.size == 1 else np.transpose(rows)


@implements(scipy.optimize.check_grad)
def check_grad(func, grad, x0, *args, epsilon=EPS, direction="all", rng=None, seed=None):
    """How far a gradient is from the quotients of differences."""
    if direction != "all":
        raise NotImplementedError("scipy.optimize.check_grad(direction='random'): along all directions")
    x0 = np.asarray(x0)
    return np.sqrt(np.sum(np.abs(grad(x0, *args) - approx_fprime(x0, func, epsilon, *args)) ** 2))


@implements(scipy.optimize.brent)
def brent(func, args=(), brack=None, tol=1.48e-8, full_output=0, maxiter=500):
    """A minimum of a function of one number, by Brent's method."""
    found = minimize_scalar(func, brack, None, args, "brent", None, {"xtol": tol, "maxiter": maxiter})
    return (found.x, found.fun, found.nit, found.nfev) if full_output else found.x


@implements(scipy.optimize.golden)
def golden(func, args=(), brack=None, tol=EPS, full_output=0, maxiter=5000):
    """A minimum of a function of one number, by golden sections."""
    found = minimize_scalar(func, brack, None, args, "golden", None, {"xtol": tol, "maxiter": maxiter})
    return (found.x, found.fun, found.nfev) if full_output else found.x


@implements(scipy.optimize.fminbound)
def fminbound(func, x1, x2, args=(), xtol=1e-5, maxfun=500, full_output=0, disp=1):
    """A minimum between two numbers."""
    options = {"xatol": xtol, "maxiter": maxfun, "disp": disp}
    found = minimize_scalar(func, None, (x1, x2), args, "bounded", None, options)
    return (found.x, found.fun, 0 if found.success else 1, found.nfev) if full_output else found.x
