"""The solvers behind `diffjit.api.implicit`, and their derivatives: plain Python, read by the frontend.

`equation(x, *args)` is the user's function with flat arguments; `operator(v, *args)` a linear map made from it.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# ruff: noqa: ANN001, ANN002, ANN201, ARG001, D103

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.api.grad import grad
from diffjit.api.products import jvp, vjp

# Numbers stand as literals in the programs: a module's variables would be read anew at each call.
STEPS = {"fixed_point": 10_000, "root": 100, "linear_solve": 50, "minimize_implicit": 200}


def length(v):
    return np.sqrt(np.sum(v * v))


def as_long_as(b, v):
    """The value with the type of another one: its lengths are known to be the same."""
    if np.ndim(b) == 0:
        return v
    out = np.zeros_like(b)
    out[...] = v
    return out


# Linear systems -------------------------------------------------------------------------------------------------------


def applied(operator, turned, v, args):
    """The operator, or its transpose."""
    if turned:
        return vjp(lambda u: operator(u, *args), v)[1](v)[0]
    return operator(v, *args)


def gmres(operator, turned, tol, steps, b, args):
    """Restarted GMRES: Arnoldi's basis, and rotations that keep the small system triangular."""
    if np.ndim(b) == 0:
        return b / applied(operator, turned, 1.0 + 0.0 * b, args)
    x = np.zeros(b.shape, b.dtype)
    size = b.size
    m = min(size, 40)  # vectors that are kept
    basis = np.zeros((m + 1, size), b.dtype)
    h = np.zeros((m + 1, m), b.dtype)
    cosines, sines, rhs = np.zeros(m, b.dtype), np.zeros(m, b.dtype), np.zeros(m + 1, b.dtype)
    wanted = tol * length(b)
    for _ in range(steps):
        r = b - applied(operator, turned, x, args)
        start = length(r)
        if not start > wanted:
            break
        basis[0] = r.ravel() / start
        rhs[:] = 0.0
        rhs[0] = start
        used = 0
        for j in range(m):
            w = applied(operator, turned, basis[j].copy().reshape(b.shape), args).ravel()
            for _again in range(2):
                for i in range(j + 1):
                    part = np.sum(basis[i] * w)
                    h[i, j] = h[i, j] * _again + part
                    w = w - part * basis[i]
            norm = length(w)
            for i in range(j):
                old = h[i, j]
                h[i, j] = cosines[i] * old + sines[i] * h[i + 1, j]
                h[i + 1, j] = cosines[i] * h[i + 1, j] - sines[i] * old
            turn = np.hypot(h[j, j], norm)
            if turn == 0.0:
                break
            cosines[j], sines[j] = h[j, j] / turn, norm / turn
            h[j, j] = turn
            rhs[j + 1] = -sines[j] * rhs[j]
            rhs[j] = cosines[j] * rhs[j]
            used = j + 1
            if abs(rhs[j + 1]) <= wanted or norm <= tol * turn:
                break
            basis[j + 1] = w / norm
        for i in range(used - 1, -1, -1):
            for k in range(i + 1, used):
                rhs[i] -= h[i, k] * rhs[k]
            rhs[i] /= h[i, i]
        for i in range(used):
            x = x + rhs[i] * basis[i].reshape(b.shape)
        if used == 0:
            break
    if not length(b - applied(operator, turned, x, args)) <= 1e-3 * length(b):
        raise RuntimeError("GMRES did not converge: the linear system is singular, or needs another form")
    return as_long_as(b, x)


def solve(operator, turned, tol, steps, b, *args):
    return gmres(operator, turned, tol, steps, b, args)


SOLVE = custom_jvp(solve, nondiff_argnums=(0, 1, 2, 3))


@SOLVE.defjvp
def solve_jvp(operator, turned, tol, steps, primals, tangents):
    b, args = primals[0], primals[1:]
    x = SOLVE(operator, turned, tol, steps, b, *args)
    moved = jvp(lambda *a: applied(operator, turned, x, a), args, tangents[1:])[1] if len(args) else 0.0 * b
    return x, SOLVE(operator, turned, tol, steps, as_long_as(b, tangents[0] - moved), *args)


def solve_forward(operator, turned, tol, steps, b, *args):
    x = SOLVE(operator, turned, tol, steps, b, *args)
    return x, (x, args)


def solve_backward(operator, turned, tol, steps, kept, out_bar):
    x, args = kept
    b_bar = SOLVE(operator, not turned, tol, steps, out_bar, *args)
    if not len(args):
        return (b_bar,)
    return (b_bar, *vjp(lambda *a: applied(operator, turned, x, a), *args)[1](-b_bar))


SOLVE.defvjp(solve_forward, solve_backward)


def solve_linear(operator, tol, steps, b, *args):
    return SOLVE(operator, False, tol, steps, b, *args)


# Fixed points and roots -----------------------------------------------------------------------------------------------


def along(equation, v, x, *args):
    """The derivative of the equation by x, along v."""
    return jvp(lambda u: equation(u, *args), (x,), (v,))[1]


def away(equation, v, x, *args):
    return v - along(equation, v, x, *args)


def by_arguments(equation, x, args, dots):
    """The derivative of the equation by its arguments."""
    return jvp(lambda *a: equation(x, *a), args, dots)[1]


def iterate(equation, operator, tol, steps, x0, *args):
    x = x0
    change = np.max(np.abs(x0))
    for _ in range(steps):
        new = equation(x, *args)
        change = np.max(np.abs(new - x))
        x = new
        if change <= tol * (1.0 + np.max(np.abs(x))):
            break
    far = np.max(np.abs(x))
    if not (far < np.inf and change <= 1e-4 * (1.0 + far)):
        raise RuntimeError("fixed_point did not converge: its derivative would be wrong")
    return x


FIXED = custom_jvp(iterate, nondiff_argnums=(0, 1, 2, 3))


@FIXED.defjvp
def fixed_jvp(equation, operator, tol, steps, primals, tangents):
    args = primals[1:]
    x = FIXED(equation, operator, tol, steps, *primals)
    if not len(args):
        return x, 0.0 * x
    moved = by_arguments(equation, x, args, tangents[1:])
    return x, SOLVE(operator, False, tol, 50, moved, x, *args)


def newton(equation, operator, tol, steps, x0, *args):
    """Newton's method; a step that makes the residual larger is halved."""
    x = x0
    f = equation(x, *args)
    gap = np.max(np.abs(f))  # Newton's whole step, which estimates how far the root is
    for _ in range(steps):
        size = length(f)
        if size == 0.0:
            gap = 0.0 * gap
            break
        step = SOLVE(operator, False, tol, 50, f, x, *args)
        gap = np.max(np.abs(step))
        rate = 1.0
        new = x - step
        f = equation(new, *args)
        while not length(f) <= size and rate > 1e-4:
            rate = 0.5 * rate
            new = x - rate * step
            f = equation(new, *args)
        change = np.max(np.abs(new - x))
        x = new
        if change <= tol * (1.0 + np.max(np.abs(x))):
            break
    far = np.max(np.abs(x))
    if not (far < np.inf and gap <= 1e-4 * (1.0 + far)):
        raise RuntimeError("root did not converge: its derivative would be wrong")
    return x


ROOT = custom_jvp(newton, nondiff_argnums=(0, 1, 2, 3))


@ROOT.defjvp
def root_jvp(equation, operator, tol, steps, primals, tangents):
    args = primals[1:]
    x = ROOT(equation, operator, tol, steps, *primals)
    if not len(args):
        return x, 0.0 * x
    moved = by_arguments(equation, x, args, tangents[1:])
    return x, SOLVE(operator, False, tol, 50, -moved, x, *args)


# Minima ---------------------------------------------------------------------------------------------------------------


def slope(equation, x, *args):
    return grad(equation)(x, *args)


def descend(equation, gradient, operator, tol, steps, x0, *args):
    """Newton's method with steps that go downhill."""
    x = x0
    for _ in range(steps):
        g = gradient(x, *args)
        value = equation(x, *args)
        step = SOLVE(operator, False, tol, 50, g, x, *args)
        down = np.sum(step * g)
        if not down > 0.0:
            step = g
            down = np.sum(g * g)
        if not down > 0.0:
            break
        rate = 1.0
        while not equation(x - rate * step, *args) <= value - 1e-4 * rate * down and rate > 1e-12:
            rate = 0.5 * rate
        if rate <= 1e-12:  # as low as rounding lets it come
            rate = 1.0 if length(step) <= 1e-6 * (1.0 + length(x)) else 0.0
        x = x - rate * step
        if rate * np.max(np.abs(step)) <= tol * (1.0 + np.max(np.abs(x))):
            break
    return x


MINIMUM = custom_jvp(descend, nondiff_argnums=(0, 1, 2, 3, 4))


@MINIMUM.defjvp
def minimum_jvp(equation, gradient, operator, tol, steps, primals, tangents):
    args = primals[1:]
    x = MINIMUM(equation, gradient, operator, tol, steps, *primals)
    if not len(args):
        return x, 0.0 * x
    moved = by_arguments(gradient, x, args, tangents[1:])
    return x, SOLVE(operator, False, tol, 50, -moved, x, *args)


for _custom in (FIXED, ROOT, MINIMUM):
    _custom.trusted = True  # tangents pass through derivatives and linear systems alone

# What each verb gives its solver of the equation: itself, and the operator of the linear system.


def of_minimum(equation: Any) -> tuple[Any, ...]:
    gradient = functools.partial(slope, equation)
    return equation, gradient, functools.partial(along, gradient)


VERBS: dict[str, Any] = {
    "linear_solve": lambda equation: (equation,),
    "fixed_point": lambda equation: (equation, functools.partial(away, equation)),
    "root": lambda equation: (equation, functools.partial(along, equation)),
    "minimize_implicit": of_minimum,
}
SOLVERS: dict[str, Any] = {
    "linear_solve": solve_linear, "fixed_point": FIXED, "root": ROOT, "minimize_implicit": MINIMUM,
}  # fmt: skip
