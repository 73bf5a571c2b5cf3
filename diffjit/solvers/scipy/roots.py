"""Roots of functions of one number, by SciPy's names: plain Python, read by the frontend.

A root where the function changes its sign is found by Brent's method, whichever of SciPy's names asks for it: it is a
root to the same tolerances. Newton's, the secant and Halley's method are what they are, as it hangs on them which root
is found. The derivative is that of the implicit function theorem.
Sources: Brent, Algorithms for Minimization without Derivatives (1973), 4; Traub, Iterative Methods for the Solution of
Equations (1964).
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.products import jvp
from diffjit.primitives.registry import implements
from diffjit.solvers.scipy.closed import closed, number
from diffjit.solvers.scipy.results import RootResults

EPS = 2.220446049250313e-16


def height(field, x, floats, others):
    """The function, whose root is asked for."""
    return number(field((x,), floats, others))


def lost(shown):
    """What is raised where no root is found: with `disp=False` SciPy raises nothing, and gives where its steps end."""
    return RuntimeError if shown else NotImplementedError


# Between two points ---------------------------------------------------------------------------------------------------


def between(field, low, high, xtol, rtol, maxiter, shown, floats, others):
    """Brent's method: inverse interpolation as long as it converges, else bisection."""
    a, b = low, high
    fa, fb = height(field, a, floats, others), height(field, b, floats, others)
    if np.isnan(fa) or np.isnan(fb):
        raise ValueError("the function is NaN at an end of the bracket")
    if fa * fb > 0.0:
        raise ValueError("f(a) and f(b) must have different signs")
    c, fc = a, fa
    step = before = b - a
    count = 0
    while fb != 0.0:
        if (fb > 0.0) == (fc > 0.0):
            c, fc = a, fa
            step = before = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        near = 0.5 * (xtol + rtol * abs(b))
        half = 0.5 * (c - b)
        if abs(half) <= near:
            break
        if count >= maxiter:
            raise lost(shown)("the root was not found in so many steps (maxiter)")
        count += 1
        if abs(before) > near and np.inf > max(abs(fa), abs(fc)) and abs(fa) > abs(fb):  # what is infinite is halved
            s = fb / fa
            if a == c:
                p, q = 2.0 * half * s, 1.0 - s
            else:
                u, v = fa / fc, fb / fc
                p = s * (2.0 * half * u * (u - v) - (b - a) * (v - 1.0))
                q = (u - 1.0) * (v - 1.0) * (s - 1.0)
            if p > 0.0:
                q = -q
            else:
                p = -p
            if 2.0 * p < min(3.0 * half * q - abs(near * q), abs(before * q)):
                before, step = step, p / q
            else:
                before = step = half
        else:
            before = step = half
        a, fa = b, fb
        b = b + (step if abs(step) > near else near if half > 0.0 else -near)
        fb = height(field, b, floats, others)
        if np.isnan(fb):
            raise ValueError("the function is NaN within the bracket")
    return b


BETWEEN = custom_jvp(between, nondiff_argnums=(0,))


def moved(field, x, near, floats, others, dots):
    """How a root moves: the function stays zero there.

    Where it is not zero, and would not be so nearby at its slope, it jumps past zero: its root is where it jumps.
    """
    found, rate = jvp(lambda u: height(field, u, floats, others), (x,), (1.0,))
    if not abs(rate) > 0.0:
        raise RuntimeError("the function does not cross zero at its root, or not at a finite slope: no derivative")
    if not abs(found) <= near * abs(rate):
        raise RuntimeError("the function jumps past zero at its root: no derivative")
    return -jvp(lambda p: height(field, x, p, others), (floats,), (dots,))[1] / rate


@BETWEEN.defjvp
def between_jvp(field, primals, tangents):
    x = BETWEEN(field, *primals)
    low, high, xtol, rtol, _, _, floats, others = primals
    if len(floats) == 0:
        return x, 0.0 * x
    near = 1e3 * (xtol + rtol * abs(x)) + 1e-6 * abs(high - low)  # what is left of tolerances and of rounding
    return x, moved(field, x, stop_gradient(near), floats, others, tangents[6])


BETWEEN.trusted = True  # tangents pass through derivatives alone


def bracketed(f, a, b, args, xtol, rtol, maxiter, full_output, shown):
    """The root of a function between two points."""
    if not xtol > 0.0:
        raise ValueError("xtol too small: it must be positive")
    if not rtol >= 4.0 * 2.220446049250313e-16:
        raise ValueError("rtol too small: it must be 4 units of rounding at least")
    if not maxiter >= 1:
        raise ValueError("maxiter must be greater than 0")
    low, high = stop_gradient(1.0 * a), stop_gradient(1.0 * b)
    field, floats, others = closed(f, (low,), args, ("forward",))
    x = BETWEEN(field, low, high, float(xtol), float(rtol), maxiter, shown, floats, others)
    return (x, RootResults(x)) if full_output else x


@implements(scipy.optimize.brentq, scipy.optimize.brenth, scipy.optimize.bisect, scipy.optimize.ridder)
def brentq(f, a, b, args=(), xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    """A root between two points where the function has different signs."""
    return bracketed(f, a, b, args, xtol, rtol, maxiter, full_output, disp)


@implements(scipy.optimize.toms748)
def toms748(f, a, b, args=(), k=1, xtol=2e-12, rtol=8.881784197001252e-16, maxiter=100, full_output=False, disp=True):
    """As `brentq`."""
    return bracketed(f, a, b, args, xtol, rtol, maxiter, full_output, disp)


# From one point -------------------------------------------------------------------------------------------------------


def largest(x):
    return np.max(np.abs(x))


def rise(field, x, floats, others):
    """The function at a number, or element by element at an array."""
    found = field((x,), floats, others)
    if np.ndim(x) == 0:
        return number(found)
    out = np.zeros_like(x)
    out[...] = found
    return out


def stepped(fields, x0, x1, tol, rtol, maxiter, shown, floats, others, more):
    """The method of Newton, or the secant's, or Halley's, as derivatives are given."""
    field, slope, bend = fields
    x, old = x0, x1
    f = rise(field, x, floats, others)
    f_old = f if slope is not None else rise(field, old, floats, others)
    if slope is None and largest(f_old) < largest(f):
        x, old = old, x
        f, f_old = f_old, f
    for _ in range(maxiter):
        if not largest(f) > 0.0:
            return x
        if slope is None:
            rate = f - f_old
            if np.ndim(x) == 0 and rate == 0.0:
                if x != old:
                    raise lost(shown)("the secant is level: no root was found")
                return x
            still = rate == 0.0
            step = np.where(still, 0.0, f * (x - old) / np.where(still, 1.0, rate))
        else:
            rate = rise(slope, x, more[0], more[1])
            still = rate == 0.0
            if np.any(still & (f != 0.0)):
                raise lost(shown)("the derivative was zero: no root was found")
            step = np.where(still, 0.0, f / np.where(still, 1.0, rate))
            if bend is not None:
                turn = 0.5 * step * rise(bend, x, more[2], more[3]) / np.where(still, 1.0, rate)
                step = np.where(np.abs(turn) < 1.0, step / (1.0 - np.where(np.abs(turn) < 1.0, turn, 0.0)), step)
        new = like(x, x - step)
        done = np.all(np.abs(new - x) <= tol + rtol * np.abs(x))
        old, x, f_old = x, new, f
        if done:
            return x
        f = rise(field, x, floats, others)
        if not largest(f) < np.inf:
            raise lost(shown)("the function is not finite on the way: no root was found")
    raise lost(shown)("no root was found in so many steps (maxiter)")


def like(x, v):
    """A value with the type of another one."""
    if np.ndim(x) == 0:
        return 1.0 * v
    out = np.zeros_like(x)
    out[...] = v
    return out


STEPPED = custom_jvp(stepped, nondiff_argnums=(0,))


@STEPPED.defjvp
def stepped_jvp(fields, primals, tangents):
    """An array's elements are roots of their own: the function works element by element."""
    x = STEPPED(fields, *primals)
    floats, others = primals[6], primals[7]
    if len(floats) == 0:
        return x, 0.0 * x
    rate = jvp(lambda u: rise(fields[0], u, floats, others), (x,), (1.0 + 0.0 * x,))[1]
    if not np.all(np.abs(rate) > 0.0):
        raise RuntimeError("the function does not cross zero at its root: no derivative")
    gone = jvp(lambda p: rise(fields[0], x, p, others), (floats,), (tangents[6],))[1]
    return x, -gone / rate


STEPPED.trusted = True


@implements(scipy.optimize.newton)
def newton(
    func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0, full_output=False,
    disp=True,
):  # fmt: skip
    """A root from one point, or for each element of an array."""
    if not tol > 0.0:
        raise ValueError("tol too small: it must be positive")
    start = stop_gradient(1.0 * x0 if np.ndim(x0) == 0 else 1.0 * np.asarray(x0))
    if np.iscomplexobj(start):
        raise NotImplementedError("scipy.optimize.newton of complex numbers: diffjit.root takes them")
    if x1 is None:
        other = start * 1.0001 + np.where(start >= 0.0, 1e-4, -1e-4)
    else:
        other = stop_gradient(1.0 * x1 if np.ndim(x1) == 0 else 1.0 * np.asarray(x1))
    field, floats, others = closed(func, (start,), args, ("forward",))
    slope, bend, more = None, None, ((), (), (), ())
    if fprime is not None:
        slope, slope_floats, slope_others = closed(fprime, (start,), args, ("forward",))
        more = (slope_floats, slope_others, (), ())
        if fprime2 is not None:
            bend, bend_floats, bend_others = closed(fprime2, (start,), args, ("forward",))
            more = (slope_floats, slope_others, bend_floats, bend_others)
    x = STEPPED(
        (field, slope, bend), start, like(start, other), float(tol), float(rtol), maxiter, disp, floats, others,
        stop_gradient(more),
    )  # fmt: skip
    if not full_output:
        return x
    if np.ndim(x) > 0:
        raise NotImplementedError("scipy.optimize.newton(full_output=True) of arrays: leave it out")
    return x, RootResults(x)


@implements(scipy.optimize.root_scalar)
def root_scalar(
    f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None, rtol=None,
    maxiter=None, options=None,
):  # fmt: skip
    """A root by the method that is named, or that suits what is given."""
    given = f
    if fprime is True or fprime2 is True:
        slope = None if fprime is None else (lambda x, *more: f(x, *more)[1])
        bend = (lambda x, *more: f(x, *more)[2]) if fprime2 is True else fprime2
        return root_scalar(
            lambda x, *more: f(x, *more)[0], args, method, bracket, slope, bend, x0, x1, xtol, rtol, maxiter, options
        )
    way = method
    if way is None:
        if bracket is not None:
            way = "brentq"
        elif fprime is not None:
            way = "halley" if fprime2 is not None else "newton"
        else:
            way = "secant"
    if way in ("brentq", "brenth", "bisect", "ridder", "toms748"):
        if bracket is None:
            raise ValueError("a bracket is needed for this method")
        low, high = bracket
        x = bracketed(
            given, low, high, args, 2e-12 if xtol is None else xtol, 8.881784197001252e-16 if rtol is None else rtol,
            100 if maxiter is None else maxiter, False, False,
        )  # fmt: skip
        return RootResults(x)
    if way not in ("newton", "halley", "secant"):
        raise ValueError("there is no such method of scipy.optimize.root_scalar")
    start = x0
    if start is None:
        raise ValueError("x0 must not be None for this method")
    x = newton(
        given, start, None if way == "secant" else fprime, args, 1.48e-8 if xtol is None else xtol,
        50 if maxiter is None else maxiter, fprime2 if way == "halley" else None, x1 if way == "secant" else None,
        0.0 if rtol is None else rtol, disp=False,
    )  # fmt: skip
    return RootResults(x)
