"""Linear programs by SciPy's name: SciPy's own code finds the vertex, which is the solution of a linear system.

The constraints that hold with equality at the vertex, as many as there are unknowns, make the system: by their
coefficients and right-hand sides the solution is differentiated, by its cost it does not move. Where more of them hold,
or one that costs nothing to leave, the vertex jumps or splits under some change: it has no derivative.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from diffjit.api.custom import custom_jvp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.remarks import number_of
from diffjit.solvers.scipy.handed import vector
from diffjit.solvers.scipy.results import Told


@dataclass
class Program(Told):
    """What `scipy.optimize.linprog` gives."""

    x: Any
    fun: Any
    slack: Any
    con: Any
    success: Any
    status: Any
    nit: Any
    text: Any


def found_program(c, upper, upper_b, equal, equal_b, low, high, method, options):
    """`scipy.optimize.linprog` at work: the vertex, what holds it, whether that is one system, and what SciPy says."""
    c, upper, upper_b, equal, equal_b, low, high = map(
        np.asarray, (c, upper, upper_b, equal, equal_b, low, high)
    )  # fmt: skip
    n = c.size
    found = scipy.optimize.linprog(
        c, upper, upper_b, equal, equal_b, np.stack((low, high), axis=1), method=method, options=options
    )
    told = int(found.status), int(found.nit), bool(found.success), number_of(str(found.message))
    basis = np.zeros(n, int)
    if found.x is None:
        return np.full(n, np.nan), basis, np.zeros(n), False, told
    x, m = found.x, upper_b.size
    size = 1e-9 * (1 + np.max(np.abs(x), initial=0.0))
    gaps = np.concatenate((upper_b - upper @ x, 0 * equal_b, x - low, high - x))
    held = np.concatenate((gaps[:m] <= size, np.ones(equal_b.size, bool), gaps[m + equal_b.size :] <= size))
    bounds = m + equal_b.size
    lower, upper_side = held[bounds : bounds + n], held[bounds + n :] & (high > low)
    rows = np.concatenate((np.flatnonzero(held[:bounds]), bounds + np.flatnonzero(lower | upper_side)))
    target = np.where(lower, -1.0, np.where(upper_side, 1.0, 0.0))
    good = rows.size == n and np.linalg.matrix_rank(np.vstack((upper, equal, np.eye(n)))[rows]) == n
    if good:
        prices = np.linalg.solve(np.vstack((upper, equal, np.eye(n)))[rows].T, c)
        signs = np.concatenate((-np.ones(m), np.zeros(equal_b.size), -target))[rows]
        free = (signs == 0) | np.concatenate((np.zeros(bounds, bool), low == high))[rows]
        good = bool(np.all(free | (signs * prices > 1e-9 * np.max(np.abs(c), initial=0.0))))
        basis = rows
    return x, basis, target, good, told


PROGRAM = foreign(
    found_program,
    result=lambda c, upper, upper_b, equal, equal_b, low, high, method, options: (
        c, np.zeros(c.shape[0], int), c, True, (0, 0, True, 0)
    ),
)  # fmt: skip


def unmoved(good, x, given):
    return x + 0.0


UNMOVED = custom_jvp(unmoved)


@UNMOVED.defjvp
def unmoved_jvp(primals, tangents):
    good, x, given = primals
    if not good:
        raise RuntimeError("a linear program without a solution, or whose vertex jumps or splits here: no derivative")
    return UNMOVED(good, x, given), 0.0 * x


def limits(bounds, n):
    """Bounds as two vectors, from all the forms that SciPy takes."""
    if bounds is None:
        return np.zeros(n), np.full(n, np.inf)
    if hasattr(bounds, "lb"):
        return np.zeros(n) + bounds.lb, np.zeros(n) + bounds.ub
    if isinstance(bounds, (tuple, list)):
        if len(bounds) == 2 and (bounds[0] is None or np.ndim(bounds[0]) == 0):
            bounds = [bounds]
        lows = [-np.inf if pair[0] is None else 1.0 * pair[0] for pair in bounds]
        highs = [np.inf if pair[1] is None else 1.0 * pair[1] for pair in bounds]
        return np.zeros(n) + np.array(lows), np.zeros(n) + np.array(highs)
    both = np.asarray(bounds) * 1.0
    return np.zeros(n) + np.reshape(both, (-1, 2))[:, 0], np.zeros(n) + np.reshape(both, (-1, 2))[:, 1]


def constraint(a, b, n):
    """Coefficients and right-hand sides, none where there are none."""
    if a is None:
        return np.zeros((0, n)), np.zeros(0)
    return np.reshape(np.asarray(a) * 1.0, (-1, n)), vector(b)


@implements(scipy.optimize.linprog)
def linprog(
    c, A_ub=None, b_ub=None, A_eq=None, b_eq=None, bounds=(0, None), method="highs", callback=None, options=None,
    x0=None, integrality=None,
):  # fmt: skip
    """The point of least linear cost under linear constraints."""
    if callback is not None or x0 is not None or integrality is not None:
        raise NotImplementedError("scipy.optimize.linprog with callback, x0 or integrality: leave them out")
    c = vector(c)
    n = c.shape[0]
    upper, upper_b = constraint(A_ub, b_ub, n)
    equal, equal_b = constraint(A_eq, b_eq, n)
    low, high = limits(bounds, n)
    given = c, upper, upper_b, equal, equal_b, low, high
    start, basis, sides, good, told = PROGRAM(*stop_gradient(given), method, options)
    if good:
        bound = np.where(sides < 0.0, low, np.where(sides > 0.0, high, 0.0))
        matrix = np.concatenate((upper, equal, np.eye(n)))[basis]
        x = np.linalg.solve(matrix, np.concatenate((upper_b, equal_b, bound))[basis])
    else:
        x = UNMOVED(good, start, given)
    return Program(
        x, np.sum(c * x), upper_b - upper @ x, equal_b - equal @ x, told[2], told[0], told[1], told[3]
    )  # fmt: skip
