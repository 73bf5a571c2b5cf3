"""The solvers behind `diffjit.solvers.implicit`, and their derivatives: plain Python, read by the frontend.

plan    what is known before: kind of equation, its function (of the kind "residual", a function of kit, unknown and
        floats), that of the preconditioner, linear solver, tol, the rounding of the numbers, most steps
kit     what has no derivative: the unknown's forms, arguments that are no floats, those of the preconditioner
x       the unknown: a number, or a vector (`api.solvers.vectors`)
floats  the arguments that have derivatives
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

from __future__ import annotations

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.grad import grad
from diffjit.api.products import jvp, vjp
from diffjit.solvers.krylov import cg, dense, gmres, length
from diffjit.solvers.vectors import packed, unpacked, whole

# Numbers stand as literals in the programs: a module's variables would be read anew at each call.
STEPS = {"fixed_point": 10_000, "root": 100, "linear_solve": 0, "minimize_implicit": 200}  # 0: as the solver has it
SMALL = 100  # up to this length of the unknown, "auto" makes a matrix


def opened(x, forms):
    """The parts of an unknown."""
    return (x,) if np.ndim(x) == 0 else unpacked(x, forms)


def closed(parts, forms, x):
    """What an equation gives for the parts, as x is."""
    return 1.0 * parts[0] if np.ndim(x) == 0 else packed(parts, forms, x)


def as_long_as(x, v):
    """The value with the type of another one: its lengths are known to be the same."""
    if np.ndim(x) == 0:
        return v
    out = np.zeros_like(x)
    out[...] = v
    return out


def unknown(parts):
    """A start as the solvers take it."""
    if len(parts) == 1 and np.ndim(parts[0]) == 0 and not np.iscomplexobj(parts[0]):
        return parts[0]
    return whole(parts)


# Equations ------------------------------------------------------------------------------------------------------------


def value(plan, kit, x, floats):
    """The user's function."""
    forms = kit[0]
    found = plan[1](opened(x, forms), (), floats, kit[1])
    return found if plan[0] == "minimize_implicit" else closed(found, forms, x)


def residual(plan, kit, x, floats):
    """What vanishes at the solution."""
    if plan[0] == "residual":
        return plan[1](kit, x, floats)
    if plan[0] == "minimize_implicit":
        return grad(lambda u: value(plan, kit, u, floats))(x)
    if plan[0] == "fixed_point":
        return x - value(plan, kit, x, floats)
    return value(plan, kit, x, floats)


def operator(plan, kit, v, point):
    """The linear map of a system: the user's own, or the derivative of the residual by the unknown."""
    if plan[0] == "linear_solve":
        return value(plan, kit, v, point[0])
    return jvp(lambda u: residual(plan, kit, u, point[1]), (point[0],), (v,))[1]


def applied(plan, kit, turned, v, point):
    """The linear map, or its transpose."""
    if turned:
        return vjp(lambda u: operator(plan, kit, u, point), v)[1](v)[0]
    return operator(plan, kit, v, point)


def prepared(plan, kit, turned, r, point):
    """The preconditioner, or its transpose."""
    if plan[2] is None:
        return r
    forms = kit[0]
    more = () if plan[0] == "linear_solve" else opened(point[0], forms)

    def near(u):
        return packed(plan[2](unpacked(u, forms), more, kit[2], kit[3]), forms, u)

    return vjp(near, r)[1](r)[0] if turned else near(r)


# Linear systems -------------------------------------------------------------------------------------------------------


def chosen(plan, kit, turned, b, point):
    """A linear system by the solver that was asked for, or that suits its size."""
    kind, _, preconditioner, solver, tol, eps, steps = plan
    if np.ndim(b) == 0:
        return b / operator(plan, kit, 1.0 + 0.0 * b, point)
    symmetric = solver == "cg" or (solver == "auto" and kind == "minimize_implicit")
    most = steps if kind == "linear_solve" else 0
    if solver == "dense" or (solver == "auto" and preconditioner is None and b.size <= 100):
        definite = kind == "minimize_implicit"
        return dense(lambda v: operator(plan, kit, v, point), turned, definite, eps, b)
    if symmetric:
        return cg(
            lambda v: operator(plan, kit, v, point), lambda r: prepared(plan, kit, False, r, point),
            True, tol, eps, most or 10 * b.size + 100, b,
        )  # fmt: skip
    return gmres(
        lambda v: applied(plan, kit, turned, v, point), lambda r: prepared(plan, kit, turned, r, point),
        tol, eps, most or 50, b,
    )  # fmt: skip


def solved(plan, kit, turned, b, point):
    """The x with `operator(x) == b`, or with its transpose."""
    return as_long_as(b, chosen(plan, kit, turned, b, point))


SOLVE = custom_jvp(solved, nondiff_argnums=(0, 2))
SOLVE.trusted = True


@SOLVE.defjvp
def solve_jvp(plan, turned, primals, tangents):
    kit, b, point = primals
    x = SOLVE(plan, kit, turned, b, point)
    moved = tangents[1]
    if has_floats(plan, point):
        moved = moved - jvp(lambda p: applied(plan, kit, turned, x, p), (point,), (tangents[2],))[1]
    return x, SOLVE(plan, kit, turned, as_long_as(b, moved), point)


def solve_forward(plan, kit, turned, b, point):
    x = SOLVE(plan, kit, turned, b, point)
    return x, (x, point, kit)


def solve_backward(plan, turned, kept, out_bar):
    x, point, kit = kept
    b_bar = SOLVE(plan, kit, not turned, as_long_as(x, out_bar), point)
    if not has_floats(plan, point):
        return None, b_bar, point
    return None, b_bar, vjp(lambda p: applied(plan, kit, turned, x, p), point)[1](-b_bar)[0]


SOLVE.defvjp(solve_forward, solve_backward)


def has_floats(plan, point):
    """Whether the linear map may change: it has floats among its arguments, or belongs to a point."""
    return plan[0] != "linear_solve" or len(point[0]) > 0


def linear(plan, kit, b, floats):
    return SOLVE(plan, kit, False, b, (floats,))


# Solutions ------------------------------------------------------------------------------------------------------------


def near(gap, x, tol):
    """Whether a distance is within a tolerance, relative to x, and finite."""
    return gap < np.inf and gap <= tol * (1.0 + np.max(np.abs(x)))


def iterated(plan, kit, x0, floats):
    """A fixed point, by iterating."""
    tol, eps, steps = plan[4:]
    x = x0
    change = np.max(np.abs(x0))
    for _ in range(steps):
        new = value(plan, kit, x, floats)
        change = np.max(np.abs(new - x))
        x = new
        if near(change, x, tol) or not change < np.inf:
            break
    if not near(change, x, max(tol, 1e4 * eps)):
        raise RuntimeError("fixed_point did not converge: its derivative would be wrong")
    return x


def newton(plan, kit, x0, floats):
    """Newton's method; a step that makes the residual larger is halved."""
    tol, eps, steps = plan[4:]
    x, step = x0, as_long_as(x0, 0.0 * x0)
    gap = np.inf * np.max(1.0 + 0.0 * x0)  # Newton's whole step, which estimates how far the root is
    size, change, rate, count = gap, gap, 1.0, -1
    while count < steps:
        new = as_long_as(x, x - rate * step)
        f = value(plan, kit, new, floats)
        if length(f) <= size or not rate > 1e-4 or count < 0:
            change = np.max(np.abs(new - x))
            x, size, count = new, length(f), count + 1
            if size == 0.0:
                gap = 0.0 * size
            if size == 0.0 or not size < np.inf or (count > 0 and near(change, x, tol)):
                break
            step = SOLVE(plan, kit, False, as_long_as(x, f), (x, floats))
            gap, rate = np.max(np.abs(step)), 1.0
        else:
            rate = 0.5 * rate
    if not (size < np.inf and near(gap, x, max(tol, eps**0.4))):
        raise RuntimeError("root did not converge: its derivative would be wrong")
    return x


def downhill(plan, kit, x, g, goal, floats):
    """A direction in which to go down: Newton's, as far as the function is convex."""
    point = (x, floats)
    if np.ndim(g) == 0:
        curvature = operator(plan, kit, 1.0 + 0.0 * g, point)
        return g / curvature if curvature > 0.0 else g
    return cg(
        lambda v: operator(plan, kit, v, point), lambda r: prepared(plan, kit, False, r, point),
        False, goal, plan[5], 10 * g.size + 100, g,
    )  # fmt: skip


def lowest(plan, kit, x0, floats):
    """A minimum, by Newton's method with steps that go downhill."""
    tol, eps, steps = plan[4:]
    x, step = x0, as_long_as(x0, 0.0 * x0)
    gap = np.inf * np.max(1.0 + 0.0 * x0)
    enough = max(tol, eps**0.4)  # from here on, Newton's steps are better than what the function's values tell
    height, down, first, change, before, rate, count = gap, 0.0, 0.0, gap, gap, 1.0, -1
    while count < steps:
        new = as_long_as(x, x - rate * step)
        found = value(plan, kit, new, floats)
        if found <= height - 1e-4 * rate * down or count < 0 or near(gap, x, enough):
            change = np.max(np.abs(new - x))
            x, height, count = new, found, count + 1
            if count > 0 and near(change, x, tol):
                break
            g = residual(plan, kit, x, floats)
            size = length(g)
            if count == 0:
                first = size
            if not 0.0 < size < np.inf:
                gap = size
                break
            step = downhill(plan, kit, x, g, max(tol, min(0.1, size / first)), floats)
            before, gap, rate, down = gap, np.max(np.abs(step)), 1.0, np.sum(step * g)
            if near(gap, x, enough) and not gap < 0.5 * before:  # as near as rounding lets it come
                break
        else:
            rate = 0.5 * rate
            if not rate > 1e-12:
                break
    if not (height < np.inf and near(gap, x, enough)):
        raise RuntimeError("minimize_implicit did not converge: its derivative would be wrong")
    return x


def solution(plan, kit, x0, floats):
    """What the verb finds."""
    if plan[0] == "fixed_point":
        return iterated(plan, kit, x0, floats)
    if plan[0] == "root":
        return newton(plan, kit, x0, floats)
    return lowest(plan, kit, x0, floats)


SOLUTION = custom_jvp(solution, nondiff_argnums=(0,))


@SOLUTION.defjvp
def solution_jvp(plan, primals, tangents):
    """The implicit function theorem: the residual stays zero."""
    kit, x0, floats = primals
    x = SOLUTION(plan, kit, x0, floats)
    if len(floats) == 0:
        return x, 0.0 * x
    moved = jvp(lambda u: residual(plan, kit, x, u), (floats,), (tangents[2],))[1]
    return x, SOLVE(plan, kit, False, as_long_as(x, -moved), (x, floats))


SOLUTION.trusted = True  # tangents pass through derivatives and linear systems alone


def found(plan, parts, floats, others, m_floats, m_others):
    """The parts of what a verb finds."""
    kit = stop_gradient((parts, others, m_floats, m_others))
    if plan[0] == "linear_solve":
        x = linear(plan, kit, unknown(parts), floats)
    else:
        x = SOLUTION(plan, kit, stop_gradient(unknown(parts)), floats)
    return opened(x, parts)
