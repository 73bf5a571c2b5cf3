"""Solutions that SciPy's own code finds, with the user's compiled function in its hands; theory differentiates them.

`way` is what calls SciPy: a function of Python's, declared (`foreign`), of `(fields, x0, kit, p)`. It gives the
solution x, a vector; for each of its numbers where it stands, 0 inside, -1 and 1 at its bounds, -2 between equal ones;
whether SciPy calls it a success; and what else is known. Of its arguments, p has derivatives.

An equation is `(residual, solver, bounded)`. `residual(fields, kit, x, p)` vanishes at the solution, where kit is what
`way` was given, and the sides; its linear system is solved by that solver ("dense", or "auto" where there may be many
unknowns). Where there may be bounds, the residual is a slope that pushes against them. In place of True, bounded may be
a function that raises where the point is none to differentiate at: then Newton's method is taken as far as it goes.

Whether a solution was found is not left to `success`, which a line search at rounding denies: what Newton's method
would add to it says so, and where to differentiate.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: basic

from __future__ import annotations

import functools

import numpy as np
import scipy.optimize

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.matrices import jacfwd
from diffjit.api.products import jvp
from diffjit.solvers.implicit_solvers import SOLVE, solved
from diffjit.solvers.systems import OF_MATRIX, of_matrix

ROUNDING = 2.220446049250313e-16
NEARBY = 1e-7  # how far from a solution, beside its numbers, it still looks the same
LEAST = 1e-12  # of numbers that small, without a start that is larger, nothing says what is rounding


def vanishing(residual, fields, kit, x, p):
    """What vanishes."""
    return residual(fields, kit, x, p)


def solution(equation, way, fields, kit, x0, p):
    """The solution, where its numbers stand, whether it is one, and what else SciPy says."""
    return way(fields, x0, kit, p)


SOLUTION = custom_jvp(solution, nondiff_argnums=(0, 1, 2))


@SOLUTION.defjvp
def solution_jvp(equation, way, fields, primals, tangents):
    """The implicit function theorem: what vanishes goes on to vanish."""
    kit, x0, p = primals
    x, sides, good, told = SOLUTION(equation, way, fields, kit, x0, p)
    residual, solver, bounded = equation
    plan = ("residual", functools.partial(vanishing, residual, fields), None, solver, 2e-15, ROUNDING, 0)
    fixed = stop_gradient((kit, sides))
    there = stop_gradient((x, p))
    away = like(x, NEARBY * np.maximum(np.abs(there[0]), np.abs(stop_gradient(x0))))
    if callable(bounded):
        slope, left, back, rest = by_slopes(residual, fields, fixed, x, p, 0.0 * away, 4)
    elif solver == "dense":
        slope, left, back, rest = by_slopes(residual, fields, fixed, x, p, away, 3)
    else:
        left, back, rest = by_steps(plan, fixed, there, away)
    if callable(bounded):
        bounded(fields, fixed, stop_gradient(like(x, x - left)), left, there[1])
    elif bounded:
        pushed(sides, stop_gradient(residual(fields, stop_gradient((kit, 0.0 * sides)), there[0], there[1])))
    if not np.max(np.abs(left)) <= 1e-3 * np.max(np.abs(x)) + 1e-6:
        raise RuntimeError("SciPy did not find a solution, or it is no isolated one: it has no derivative")
    if not callable(bounded):
        settled(left, back, rest, away)
    near = like(x, x - left)  # SciPy may have stopped early: where the solution really is
    moved = jvp(lambda u: residual(fields, fixed, near, u), (p,), (tangents[2],))[1]
    if solver == "dense":
        x_dot = OF_MATRIX(ROUNDING, slope, like(x, -moved))
    else:
        x_dot = SOLVE(plan, fixed, False, like(x, -moved), (near, p))
    return (x, sides, good, told), (x_dot, 0.0 * sides, good, still(told))


def still(told):
    """Tangents of what else SciPy says: none here. What of it depends on parameters is asked for by `remarks.LEFT`."""
    return tuple(0.0 * t if np.ndim(t) > 0 else t for t in told)


SOLUTION.trusted = True  # tangents pass through derivatives and linear systems alone


def pushed(sides, slope):
    """Raise where a number at a bound is not pushed against it: one way it leaves the bound, the other way it stays."""
    if np.any((np.abs(sides) == 1.0) & (sides * slope > -1e-10 - 1e-8 * np.max(np.abs(slope)))):
        raise RuntimeError("a number stands at its bound and is not pushed against it: the solution has no derivative")


def settled(left, back, rest, away):
    """Raise where Newton's method does not do what it does near a solution that it may be linearised at.

    Behind the first step, hardly anything is left; and from a point nearby, one step leads back. Where a norm has its
    minimum near 0, its slope turns within less than that: what is linear there is an accident of rounding.
    """
    size, noise = np.max(np.abs(left)), np.max(np.abs(rest))
    sharp = np.max(np.abs(back - away)) > 0.5 * np.max(away) + 10.0 * noise + LEAST
    if sharp or noise > 0.3 * size + 0.01 * np.max(away) + LEAST:
        raise RuntimeError(
            "the function turns too sharply at SciPy's solution: it has no derivative there; where it is a norm or "
            "another square root, minimise its square"
        )


def by_slopes(residual, fields, fixed, x, p, away, turns):
    """The matrix of derivatives where the solution really is, and what `newton` says of that."""
    slope = np.zeros((x.size, x.size))

    def step(here):
        slope[...], gap = jacfwd(lambda u: twice(residual(fields, fixed, u, p)), has_aux=True)(here)
        return of_matrix(ROUNDING, slope, like(x, gap))

    left, back, rest = newton(step, x, away, turns, turns - 2 if np.max(away) > 0.0 else turns)
    return slope, left, back, rest


def by_steps(plan, fixed, there, away):
    """What `newton` says, without a matrix."""
    x, p = there

    def step(here):
        return solved(plan, fixed, False, like(x, plan[1](fixed, here, p)), (here, p))

    return newton(step, x, away, 3, 1)


def newton(step, x, away, turns, aside):
    """How far the solution really is from where SciPy has stopped, by turns of Newton's method.

    Also the step from a point nearby, which the turn `aside` takes, and what the last one would add. It is a loop: in
    each turn the same copy of the residual's derivative.
    """
    left, back, rest = np.zeros(x.size), np.zeros(x.size), np.zeros(x.size)

    def turn(k):
        found = stop_gradient(step(like(x, x - left + away if k == aside else x - left)))
        if k == turns - 1:
            rest[...] = found
        elif k == aside:
            back[...] = found
        else:
            left[...] = left + found

    for k in range(turns):
        turn(k)
    return left, back, rest


def twice(value):
    """A value to be differentiated, and as it is."""
    return value, value


def like(x, value):
    """A vector with the type of another one."""
    out = np.zeros_like(x)
    out[...] = value
    return out


def within(x, sides, low, high, inside):
    """What vanishes at a solution with bounds."""
    return np.where(sides == 0.0, inside, x - np.where(sides < 0.0, low, high))


def vector(value):
    """A vector of floats, of what a function gives."""
    return np.ravel(np.asarray(value)) * 1.0


def asked(fields, floats, others, more, options, low, high):
    """What `scipy.optimize.minimize` calls, and its options: derivatives that users give, and bounds."""
    field, slope, bend, product = fields

    def height(x):
        return float(np.ravel(field((np.array(x),), floats, others))[0])

    given = {name: option for name, option in options.items() if name != "remarks"}
    if slope is not None:
        given["jac"] = lambda x: np.ravel(slope((np.array(x),), *more[0]))
    if bend is not None:
        given["hess"] = lambda x: bend((np.array(x),), *more[1])
    if product is not None:
        given["hessp"] = lambda x, v: np.ravel(product((np.array(x), np.array(v)), *more[2]))
    if np.any(np.isfinite(low)) or np.any(np.isfinite(high)):
        given["bounds"] = scipy.optimize.Bounds(low, high)
    return height, given
