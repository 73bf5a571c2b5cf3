"""Minima under constraints: SciPy's own code finds them, the equations of Karush, Kuhn and Tucker differentiate them.

Unknowns are the numbers x and a multiplier for each constraint: at the minimum the gradient of `f(x) - force @ c(x)`
vanishes, but for numbers that stand at their bounds; a constraint is at one of its limits, or its multiplier is zero.

Which of them are at their limits is guessed from what SciPy has found, by the least squares that make multipliers
balance the gradient. It is not believed: Newton's method is taken to where these equations hold to rounding, and there
each multiplier has to push, and each constraint without one has to be away from its limits (strict complementarity).
Otherwise, or where the equations are singular (constraints that depend on each other), there is no derivative.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: basic, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.api.grad import grad
from diffjit.solvers.aside.remarks import like_told, minimised
from diffjit.solvers.constrained.forms import limits, listed, rule_of, to_scipy, value_of, values
from diffjit.solvers.scipy.closed import number
from diffjit.solvers.scipy.handed import SOLUTION, asked, within

# `fields` are the functions of `minimize` and the constraints' rules; kit begins with what belongs to either and has no
# derivative; p is `(floats, low, high, held)`.


def pulled(fields, kit, x, force, p):
    """The function, less what constraints add to it."""
    others, owned = kit[0][0]
    height = number(fields[0][0]((x,), p[0], others))
    if len(fields[1]) == 0:
        return height
    return height - force @ values(fields[1], p[3], owned, x)


def balance(fields, kit, z, p):
    """What vanishes at the minimum."""
    n = p[1].size
    x, force = z[:n].copy(), z[n:].copy()
    slope = grad(lambda u: pulled(fields, kit, u, force, p))(x)
    inside = within(x, kit[1][:n], p[1], p[2], slope)
    if len(fields[1]) == 0:
        return inside
    low, high = limits(fields[1], p[3], kit[0][0][1], x)
    gap = within(values(fields[1], p[3], kit[0][0][1], x), kit[1][n:], low, high, force)
    return np.concatenate((inside, gap))


def strict(fields, kit, near, left, p):
    """Raise where the point that the equations lead to is no strict one, or is not what SciPy has found."""
    n = p[1].size
    if not np.max(np.abs(left[:n])) <= 1e-3 * np.max(np.abs(near[:n])) + 1e-6:
        raise RuntimeError("SciPy did not find a minimum, or it is no isolated one: it has no derivative")
    sides = kit[1]
    pushes = balance(fields, (kit[0], 0.0 * sides), near, p)
    if np.any((np.abs(sides) == 1.0) & (sides * pushes > -1e-10 - 1e-8 * np.max(np.abs(pushes)))):
        raise RuntimeError("a constraint or bound holds and is not pushed against: the minimum has no derivative")
    x = near[:n]
    free = np.concatenate((x - p[1], p[2] - x))
    size = np.concatenate((np.abs(x), np.abs(x)))
    still = np.concatenate((sides[:n], sides[:n]))
    if len(fields[1]) > 0:
        low, high = limits(fields[1], p[3], kit[0][0][1], x)
        c = values(fields[1], p[3], kit[0][0][1], x)
        free = np.concatenate((free, c - low, high - c))
        size = np.concatenate((size, 1.0 + np.abs(c), 1.0 + np.abs(c)))
        still = np.concatenate((still, sides[n:], sides[n:]))
    if np.any((still == 0.0) & (free <= 1e-9 * size)):
        raise RuntimeError("a constraint or bound that does not hold the minimum is just met: it has no derivative")


EQUATION = balance, "dense", strict


def supported(x, low, high, c, c_low, c_high, slope, slopes):
    """Which side each bound and each constraint is at, and the multipliers of the latter, by what balances a slope."""
    n = x.size
    rows = np.concatenate((np.eye(n), slopes))
    at, least, most = np.concatenate((x, c)), np.concatenate((low, c_low)), np.concatenate((high, c_high))
    near = 1e-4 * (1 + np.abs(at))
    below, above = at - least <= near, most - at <= near
    nearest = np.where(below & above, at - least <= most - at, below)
    sides = np.where(least == most, -2.0, np.where(below & nearest, -1.0, np.where(above, 1.0, 0.0)))
    which = np.flatnonzero(sides)
    if which.size > 0:
        scale = np.maximum(np.linalg.norm(rows[which], axis=1), 1e-300)
        weakest = np.where(sides[which] == -1.0, 0.0, -np.inf)
        strongest = np.where(sides[which] == 1.0, 0.0, np.inf)
        found = scipy.optimize.lsq_linear((rows[which] / scale[:, None]).T, slope, (weakest, strongest), method="bvls")
        forces = np.zeros(at.size)
        forces[which] = found.x / scale
        idle = np.zeros(at.size, bool)
        idle[which] = np.abs(found.x) <= 1e-7 * np.max(np.abs(found.x))
        sides[idle & (np.abs(sides) == 1.0)] = 0.0
    else:
        forces = np.zeros(at.size)
    return sides, np.where(sides == 0.0, 0.0, forces)[n:]


def found_constrained(fields, z0, kit, p):
    """`scipy.optimize.minimize` at work, and what holds the minimum."""
    functions, rules = fields
    constrained = kit[3]
    floats, low, high, held = p
    n = low.size
    height, given = asked(functions, floats, kit[0][0], kit[1], kit[2], low, high)
    constraints = [to_scipy(rule, h, o, t) for rule, h, o, t in zip(rules, held, kit[0][1], constrained, strict=True)]
    if constraints:
        given["constraints"] = constraints
    found, told = minimised(height, z0[:n], given, kit[2])
    x = np.ravel(found.x) * 1.0
    c, slopes, (c_low, c_high) = np.zeros(0), np.zeros((0, n)), (np.zeros(0), np.zeros(0))
    if constraints:

        def whole(u):
            return values(rules, held, kit[0][1], np.array(u))

        c, slopes = whole(x), np.reshape(np.asarray(scipy.optimize.approx_fprime(x, whole)), (-1, n))
        c_low, c_high = limits(rules, held, kit[0][1], x)
    steep = given["jac"](x) if functions[1] is not None else scipy.optimize.approx_fprime(x, height)
    sides, forces = supported(x, low, high, c, c_low, c_high, steep, slopes)
    return np.concatenate((x, forces)), sides, bool(found.success), told


FOUND = foreign(
    found_constrained, result=lambda fields, z0, kit, p: (z0, z0, True, like_told(np.zeros(p[1].size), kit[2]))
)


def constrained(functions, others, more, options, start, floats, low, high, constraints):
    """`SOLUTION` for a minimum under constraints and bounds: the minimum, whether it is one, what SciPy says, rules."""
    rules, held, owned, told = (), (), (), ()
    for constraint in listed(constraints):
        rule, one, other, extra = rule_of(constraint, start)
        rules, held, owned, told = (*rules, rule), (*held, one), (*owned, other), (*told, extra)
    size = 0
    for k in range(len(rules)):
        size += stop_gradient(value_of(rules[k], held[k], owned[k], start)).size
    z0 = np.concatenate((start, np.zeros(size)))
    kit = (others, owned), more, options, told
    z, _, good, said = SOLUTION(EQUATION, FOUND, (functions, rules), kit, z0, (floats, low, high, held))
    return z[: start.size].copy(), good, said, rules
