"""Minima of a whole region by SciPy's names: SciPy's own code searches, and what it finds moves as a minimum does.

Which minimum is the lowest of all is taken not to change. Searches that draw random numbers draw them from SciPy's
generators, which a seed settles.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.callbacks import followed
from diffjit.solvers.aside.remarks import leave_trail, number_of, where
from diffjit.solvers.minima.named import given
from diffjit.solvers.scipy.closed import closed, number
from diffjit.solvers.scipy.handed import SOLUTION, vector
from diffjit.solvers.scipy.minima import level, lower, sides_of, upper
from diffjit.solvers.scipy.results import ScalarMinimum


def searched(fields, x0, kit, p):
    """One of SciPy's searches at work."""
    others, name, options, follows = kit
    options = dict(options)
    floats, low, high = p

    def height(x):
        return float(np.ravel(fields[0]((np.array(x, float),), floats, others))[0])

    trail = leave_trail(options, follows)
    if name in ("basinhopping", "brute"):
        place = x0 if name == "basinhopping" else tuple(zip(low, high, strict=True))
        found = getattr(scipy.optimize, name)(height, place, **options)
    else:
        found = getattr(scipy.optimize, name)(height, scipy.optimize.Bounds(low, high), **options)
    if name == "brute":
        x = vector(found)
        return x, 0.0 * x, True, (0, 0, 0, -1, 0)
    x = vector(found.x)
    sides = 0.0 * x if name == "basinhopping" else sides_of(x, low, high)
    message = found.message[0] if isinstance(found.message, list) else found.message
    told = int(found.get("nit", 0)), int(found.nfev), number_of(str(message)), *where(trail)
    return x, sides, bool(found.success), told


SEARCHED = foreign(searched, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0, 0, 0)))
BEHIND = {"differential_evolution": (float,), "dual_annealing": (float, int), "basinhopping": (float, bool)}


def lowest(name, func, start, args, low, high, options, callback=None):
    """The lowest minimum that a search finds."""
    field, floats, others = closed(lambda x, *more: number(func(x, *more)), (start,), args, ("reverse", "forward"))
    p = floats, low, high
    kit = others, name, options, callback is not None
    x, _, good, told = SOLUTION((level, "auto", True), SEARCHED, (field,), kit, start, p)
    if callback is not None:
        followed(callback, told[3:], x, BEHIND[name], lambda x: field((x,), floats, others), (field,))
    text = [told[2]] if name in ("basinhopping", "dual_annealing") else told[2]
    return ScalarMinimum(x, field((x,), floats, others), good, told[0], told[1], text)


def within(name, func, bounds, args, options, callback=None):
    """The lowest minimum between bounds."""
    low, high = 1.0 * lower_of(bounds), 1.0 * upper_of(bounds)
    return lowest(name, func, stop_gradient(0.5 * (low + high)), args, low, high, options, callback)


def lower_of(bounds):
    """The lower bounds, of bounds whose number is theirs."""
    return np.asarray(bounds.lb) if hasattr(bounds, "lb") else lower(bounds, len(bounds))


def upper_of(bounds):
    """The upper bounds."""
    return np.asarray(bounds.ub) if hasattr(bounds, "ub") else upper(bounds, len(bounds))


def refused(name, **told):
    """Raise for functions and the like among options."""
    for option, value in told.items():
        if value is not None and value is not False:
            raise NotImplementedError(f"scipy.optimize.{name}({option}=...): leave it out")


@implements(scipy.optimize.differential_evolution)
def differential_evolution(
    func, bounds, args=(), strategy="best1bin", maxiter=1000, popsize=15, tol=0.01, mutation=(0.5, 1),
    recombination=0.7, rng=None, callback=None, disp=False, polish=True, init="latinhypercube", atol=0,
    updating="immediate", workers=1, constraints=(), x0=None, *, integrality=None, vectorized=False, seed=None,
):  # fmt: skip
    """The lowest minimum between bounds, by differential evolution."""
    refused("differential_evolution", integrality=integrality, vectorized=vectorized)
    if not isinstance(constraints, (tuple, list)) or len(constraints) > 0:
        raise NotImplementedError("scipy.optimize.differential_evolution(constraints=...): polish with minimize")
    options = given(
        strategy=strategy, maxiter=maxiter, popsize=popsize, tol=tol, mutation=mutation, recombination=recombination,
        rng=rng, seed=seed, disp=disp, polish=polish, init=init, atol=atol, updating=updating,
        x0=x0 if x0 is None else stop_gradient(vector(x0)),
    )  # fmt: skip
    return within("differential_evolution", func, bounds, args, options, callback)


@implements(scipy.optimize.dual_annealing)
def dual_annealing(
    func, bounds, args=(), maxiter=1000, minimizer_kwargs=None, initial_temp=5230.0, restart_temp_ratio=2e-5,
    visit=2.62, accept=-5.0, maxfun=1e7, rng=None, no_local_search=False, callback=None, x0=None, *, seed=None,
):  # fmt: skip
    """The lowest minimum between bounds, by annealing."""
    refused("dual_annealing", minimizer_kwargs=minimizer_kwargs)
    options = given(
        maxiter=maxiter, initial_temp=initial_temp, restart_temp_ratio=restart_temp_ratio, visit=visit, accept=accept,
        maxfun=maxfun, rng=rng, seed=seed, no_local_search=no_local_search,
        x0=x0 if x0 is None else stop_gradient(vector(x0)),
    )  # fmt: skip
    return within("dual_annealing", func, bounds, args, options, callback)


@implements(scipy.optimize.shgo)
def shgo(
    func, bounds, args=(), constraints=None, n=100, iters=1, callback=None, minimizer_kwargs=None, options=None,
    sampling_method="simplicial", *, workers=1,
):  # fmt: skip
    """The lowest minimum between bounds, by triangulation."""
    refused("shgo", callback=callback, minimizer_kwargs=minimizer_kwargs, constraints=constraints)
    chosen = given(n=n, iters=iters, options=options, sampling_method=sampling_method)
    return within("shgo", func, bounds, args, chosen)


@implements(scipy.optimize.direct)
def direct(
    func, bounds, *, args=(), eps=1e-4, maxfun=None, maxiter=1000, locally_biased=True, f_min=-np.inf, f_min_rtol=1e-4,
    vol_tol=1e-16, len_tol=1e-6, callback=None,
):  # fmt: skip
    """The lowest minimum between bounds, by dividing rectangles."""
    refused("direct", callback=callback)
    options = given(
        eps=eps, maxfun=maxfun, maxiter=maxiter, locally_biased=locally_biased, f_min=f_min, f_min_rtol=f_min_rtol,
        vol_tol=vol_tol, len_tol=len_tol,
    )  # fmt: skip
    return within("direct", func, bounds, args, options)


@implements(scipy.optimize.basinhopping)
def basinhopping(
    func, x0, niter=100, T=1.0, stepsize=0.5, minimizer_kwargs=None, take_step=None, accept_test=None,
    callback=None, interval=50, disp=False, niter_success=None, rng=None, *, target_accept_rate=0.5,
    stepwise_factor=0.9, seed=None,
):  # fmt: skip
    """The lowest of many minima, from points that are drawn at random."""
    refused("basinhopping", take_step=take_step, accept_test=accept_test)
    kwargs = {} if minimizer_kwargs is None else minimizer_kwargs
    for name in ("jac", "hess", "hessp", "bounds", "constraints", "callback"):
        if name in kwargs:
            raise NotImplementedError(f"scipy.optimize.basinhopping with {name} among minimizer_kwargs: leave it out")
    options = given(
        niter=niter, T=T, stepsize=stepsize, interval=interval, disp=disp, niter_success=niter_success,
        rng=rng, seed=seed, target_accept_rate=target_accept_rate, stepwise_factor=stepwise_factor,
        minimizer_kwargs={name: value for name, value in kwargs.items() if name != "args"},
    )  # fmt: skip
    start = stop_gradient(vector(x0))
    free = np.full(start.size, np.inf)
    return lowest("basinhopping", func, start, kwargs.get("args", ()), -free, free, options, callback)


@implements(scipy.optimize.brute)
def brute(
    func, ranges, args=(), Ns=20, full_output=0, finish=scipy.optimize.fmin, disp=False, workers=1
):  # fmt: skip
    """The minimum near the lowest point of a grid."""
    if full_output or finish is not scipy.optimize.fmin:
        raise NotImplementedError("scipy.optimize.brute with full_output, or finish: leave them out")
    if any(isinstance(span, slice) for span in ranges):
        raise NotImplementedError("scipy.optimize.brute with slices for ranges: give pairs, and Ns")
    low, high = 1.0 * lower(ranges, len(ranges)), 1.0 * upper(ranges, len(ranges))
    found = lowest("brute", func, stop_gradient(0.5 * (low + high)), args, low, high, {"Ns": Ns, "disp": disp})
    return found.x
