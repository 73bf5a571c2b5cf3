"""The equations of `scipy.integrate.solve_bvp`: a cubic polynomial in each interval, of which three slopes are right.

On SciPy's mesh these are as many equations as there are unknowns, the states at the nodes and the parameters, and the
solution moves as they go on to hold. Each interval knows its two ends and the parameters alone: the derivatives by
these, for all intervals at once, are the entries of a sparse matrix, which SciPy factorises.

Source: J. Kierzenka, L. F. Shampine, "A BVP Solver Based on Residual Control and the MATLAB PSE" (2001).
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: basic, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.products import jvp
from diffjit.solvers.sparse.direct import SOLVED

# `fields` are the slope and the boundary conditions, and whether there are parameters; `kit` what belongs to them and
# has no derivative; `given` what has.


def slopes(fields, kit, x, y, p, given):
    """The user's slope, for many states at once."""
    points = (x, y, p) if fields[2] else (x, y)
    return np.asarray(fields[0](points, given[0], kit[0])) * 1.0


def gaps(fields, kit, x, left, right, p, given):
    """How far each interval's polynomial is from the slope in the middle."""
    h = x[1:] - x[:-1]
    first, last = slopes(fields, kit, x[:-1], left, p, given), slopes(fields, kit, x[1:], right, p, given)
    middle = 0.5 * (left + right) - 0.125 * h * (last - first)
    between = slopes(fields, kit, x[:-1] + 0.5 * h, middle, p, given)
    return right - left - h / 6.0 * (first + last + 4.0 * between)


def ends(fields, kit, first, last, p, given):
    """How far the boundary conditions are from being met."""
    points = (first, last, p) if fields[2] else (first, last)
    return np.ravel(np.asarray(fields[1](points, given[1], kit[1]))) * 1.0


def rest(fields, kit, x, y, p, given):
    """All that vanishes: the intervals' gaps, one interval after another, then the boundary conditions."""
    inside = gaps(fields, kit, x, y[:, :-1].copy(), y[:, 1:].copy(), p, given)
    outside = ends(fields, kit, y[:, 0].copy(), y[:, -1].copy(), p, given)
    return np.concatenate((np.ravel(np.transpose(inside)), outside))


def places(n, m, k):
    """Rows and columns of the matrix's entries, as `entries` gives them."""
    inner = np.zeros((2 * n + k, n, m - 1), int)
    row, col = inner + np.arange(m - 1) * n + np.arange(n)[:, None], inner.copy()
    outer = np.zeros((2 * n + k, n + k), int)
    below, across = outer + (m - 1) * n + np.arange(n + k), outer.copy()
    for d in range(n):
        col[d], across[d] = np.arange(m - 1) * n + d, d
        col[n + d], across[n + d] = np.arange(1, m) * n + d, (m - 1) * n + d
    for d in range(k):
        col[2 * n + d], across[2 * n + d] = m * n + d, m * n + d
    return np.concatenate((np.ravel(row), np.ravel(below))), np.concatenate((np.ravel(col), np.ravel(across)))


def entries(fields, kit, x, y, p, given):
    """The derivatives of all that vanishes, by the states at either end of an interval and by the parameters."""
    n, m, k = y.shape[0], y.shape[1], p.shape[0]
    inner, outer = np.zeros((2 * n + k, n, m - 1)), np.zeros((2 * n + k, n + k))
    left, right = y[:, :-1].copy(), y[:, 1:].copy()
    first, last = y[:, 0].copy(), y[:, -1].copy()

    def turn(d):
        """One direction: a state at the left, one at the right, or a parameter."""
        left_dot, right_dot, p_dot = np.zeros_like(left), np.zeros_like(right), np.zeros_like(p)
        first_dot, last_dot = np.zeros_like(first), np.zeros_like(last)
        if d < n:
            left_dot[d], first_dot[d] = 1.0, 1.0
        elif d < 2 * n:
            right_dot[d - n], last_dot[d - n] = 1.0, 1.0
        else:
            p_dot[d - 2 * n] = 1.0
        inner[d] = jvp(
            lambda u, v, q: gaps(fields, kit, x, u, v, q, given), (left, right, p), (left_dot, right_dot, p_dot)
        )[1]
        outer[d] = jvp(
            lambda u, v, q: ends(fields, kit, u, v, q, given), (first, last, p), (first_dot, last_dot, p_dot)
        )[1]

    for d in range(2 * n + k):
        turn(d)
    return np.concatenate((np.ravel(inner), np.ravel(outer)))


def unknowns(y, p):
    """States and parameters, as the matrix's columns are."""
    return np.concatenate((np.ravel(np.transpose(y)), p))


def apart(z, n, m):
    """States and parameters, of the matrix's columns."""
    return np.transpose(np.reshape(z[: n * m], (m, n))).copy(), z[n * m :].copy()


def settled(fields, kit, x, y, p, given):
    """The solution that SciPy has found."""
    return y + 0.0, p + 0.0


SETTLED = custom_jvp(settled, nondiff_argnums=(0,))


@SETTLED.defjvp
def settled_jvp(fields, primals, tangents):
    """The implicit function theorem, where the collocation's equations hold to rounding."""
    kit, x, y0, p0, given = primals
    y, p = SETTLED(fields, kit, x, y0, p0, given)
    n, m = y0.shape[0], y0.shape[1]
    row, col = places(n, m, p0.shape[0])
    there = stop_gradient((kit, x, y, p, given))
    left = newton(fields, there, row, col)
    if not np.max(np.abs(left)) <= 1e-3 * np.max(np.abs(unknowns(there[2], there[3]))) + 1e-6:
        raise RuntimeError("solve_bvp did not find a solution, or it is no isolated one: it has no derivative")
    moved = apart(left, n, m)
    near_y, near_p = y - moved[0], p - moved[1]
    fixed = stop_gradient(kit)
    turned = jvp(lambda u, v: rest(fields, fixed, u, near_y, near_p, v), (x, given), (tangents[1], tangents[4]))[1]
    z_dot = SOLVED(False, entries(fields, fixed, x, near_y, near_p, given), row, col, -turned)
    y_dot, p_dot = apart(z_dot, n, m)
    return (y, p), (y_dot, p_dot)


SETTLED.trusted = True  # tangents pass through derivatives and linear systems alone


def newton(fields, there, row, col):
    """How far SciPy has stopped from where the equations hold; raises where their matrix is singular to rounding."""
    kit, x, y, p, given = there
    n, m = y.shape[0], y.shape[1]
    left = 0.0 * unknowns(y, p)
    signs = np.where(np.arange(left.size) * 7919 % 13 < 6, -1.0, 1.0)
    for _ in range(3):
        back = apart(left, n, m)
        data = stop_gradient(entries(fields, kit, x, y - back[0], p - back[1], given))
        gap = stop_gradient(rest(fields, kit, x, y - back[0], p - back[1], given))
        grown = SOLVED(False, data, row, col, signs)
        if not np.max(np.abs(grown)) * np.max(np.abs(data)) < 1e13:
            raise RuntimeError("the boundary value problem is singular at this solution: it has no derivative")
        left = left + SOLVED(False, data, row, col, gap)
    return left
