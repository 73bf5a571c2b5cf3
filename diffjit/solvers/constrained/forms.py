"""What SciPy takes for constraints: dicts, `LinearConstraint`, `NonlinearConstraint`, alone or listed.

Each becomes `(kind, fields)`, which is known, with what belongs to it: `held`, the floats that have derivatives, and
`others`. `fields` are the constraint's function, its derivative and the second one, None where SciPy finds them.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.optimize

from diffjit.api.functions import stop_gradient
from diffjit.primitives.registry import implements
from diffjit.solvers.scipy.closed import closed

TAKES = ("reverse", "forward")


@implements(scipy.optimize.LinearConstraint)
class Linear:
    """`lb <= A @ x <= ub`."""

    def __init__(self, A, lb=-np.inf, ub=np.inf, keep_feasible=False):
        self.A = np.atleast_2d(np.asarray(A.toarray() if hasattr(A, "toarray") else A)) * 1.0
        self.lb, self.ub = np.asarray(lb) * 1.0, np.asarray(ub) * 1.0
        self.keep_feasible = keep_feasible

    def residual(self, x):
        """How far the constraint's values are from both limits."""
        found = self.A @ x
        return found - self.lb, self.ub - found


@implements(scipy.optimize.NonlinearConstraint)
class Nonlinear:
    """`lb <= fun(x) <= ub`."""

    def __init__(
        self, fun, lb, ub, jac="2-point", hess=None, keep_feasible=False, finite_diff_rel_step=None,
        finite_diff_jac_sparsity=None,
    ):  # fmt: skip
        self.fun, self.lb, self.ub, self.jac, self.hess = fun, lb, ub, jac, hess
        self.keep_feasible, self.finite_diff_rel_step = keep_feasible, finite_diff_rel_step
        self.finite_diff_jac_sparsity = finite_diff_jac_sparsity


def listed(constraints):
    """Constraints as a sequence."""
    return constraints if isinstance(constraints, (tuple, list)) else (constraints,)


def opened(function, points, args, takes):
    """A function, if it is one, and what belongs to it."""
    if not callable(function):
        return None, (), ()
    return closed(function, points, args, takes)


def rule_of(constraint, start):
    """A constraint as `(kind, fields)`, what has derivatives, what has none, and what SciPy is told besides."""
    if isinstance(constraint, Linear):
        matrix = constraint.A
        held = (), np.asarray(constraint.lb) * 1.0, np.asarray(constraint.ub) * 1.0, matrix
        return ("linear", (None, None, None)), held, ((), (), ()), {"keep_feasible": constraint.keep_feasible}
    if isinstance(constraint, Nonlinear):
        if constraint.finite_diff_jac_sparsity is not None:
            raise NotImplementedError("a constraint with finite_diff_jac_sparsity: leave it out")
        field, floats, others = closed(constraint.fun, (start,), (), TAKES)
        slope, *of_slope = opened(constraint.jac, (start,), (), ())
        prices = stop_gradient(np.ravel(np.asarray(constraint.fun(start))) * 1.0)
        bend, *of_bend = opened(constraint.hess, (start, prices), (), ())
        told = {"keep_feasible": constraint.keep_feasible, "finite_diff_rel_step": constraint.finite_diff_rel_step}
        if not callable(constraint.jac):
            told["jac"] = constraint.jac
        if constraint.hess is not None and not callable(constraint.hess):
            told["hess"] = constraint.hess
        held = floats, np.asarray(constraint.lb) * 1.0, np.asarray(constraint.ub) * 1.0, ()
        return ("object", (field, slope, bend)), held, (others, stop_gradient(of_slope), stop_gradient(of_bend)), told
    kind = constraint["type"].lower()
    if kind not in ("eq", "ineq"):
        raise ValueError("Unknown constraint type")
    args = constraint.get("args", ())
    field, floats, others = closed(constraint["fun"], (start,), args, TAKES)
    slope, *of_slope = opened(constraint.get("jac"), (start,), args, ())
    held = floats, np.zeros(()), np.array(0.0 if kind == "eq" else np.inf), ()
    return (kind, (field, slope, None)), held, (others, stop_gradient(of_slope), ((), ())), {}


def value_of(rule, held, others, x):
    """A constraint's values, as a vector."""
    if rule[0] == "linear":
        return held[3] @ x
    return np.ravel(np.asarray(rule[1][0]((x,), held[0], others[0]))) * 1.0


def values(rules, held, others, x):
    """The values of all constraints, one after another."""
    parts = [value_of(rule, h, o, x) for rule, h, o in zip(rules, held, others)]  # noqa: B905 - of one length
    return np.concatenate(parts)


def limits(rules, held, others, x):
    """The limits of all constraints."""
    low, high = [], []
    for rule, h, o in zip(rules, held, others):  # noqa: B905 - of one length
        zeros = np.zeros(value_of(rule, h, o, x).size)
        low.append(zeros + h[1])
        high.append(zeros + h[2])
    return np.concatenate(low), np.concatenate(high)


def to_scipy(rule, held, others, told):
    """A constraint as it was given, with compiled functions, for SciPy's own code."""
    kind, (field, slope, bend) = rule
    if kind == "linear":
        return scipy.optimize.LinearConstraint(np.array(held[3]), np.array(held[1]), np.array(held[2]), **told)
    given = dict(told)
    if slope is not None:
        given["jac"] = lambda x, *_: np.asarray(slope((np.array(x),), *others[1]))

    def fun(x, *_):
        return np.asarray(field((np.array(x),), held[0], others[0]))

    if kind != "object":
        return {"type": kind, "fun": fun, **given}
    if bend is not None:
        given["hess"] = lambda x, v: np.asarray(bend((np.array(x), np.array(v)), *others[2]))
    return scipy.optimize.NonlinearConstraint(fun, np.array(held[1]), np.array(held[2]), **given)
