"""Linear systems by products alone, or by the matrix that they make: plain Python, read by the frontend.

`product(v)` is the linear map and `prepare(v)` what is near its inverse. Each method has one call of either in its
text, since a call is a copy of the user's function.
Sources: Saad, Iterative Methods for Sparse Linear Systems, 9.4 (flexible GMRES) and 9.2 (preconditioned CG); Higham,
Accuracy and Stability of Numerical Algorithms, 7.1 and 17.5 (backward errors as stopping criteria).
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from diffjit.rare import Unbalanced, left_out


def length(v):
    """The Euclidean norm."""
    return np.sqrt(np.sum(v * v))


def acceptable(gap, tol, eps, rounding, size, steepest, x):
    """Whether a residual is as small as was asked for, or as small as rounding lets it become.

    The latter: x solves a system whose matrix differs by a few units of its last place. That alone would accept any x
    that is large enough, as comes out where the matrix is singular.
    """
    rounded = min(rounding * eps * (steepest * length(x) + size), eps**0.4 * size)
    return gap <= max(tol * size, rounded)


def refuse(converged, method):
    """Raise where a method did not converge."""
    if not converged:
        raise RuntimeError(method + " did not converge: the linear system is singular, or needs a preconditioner M")


def balanced(a):
    """Factors of rows and columns that bring the sizes of elements near 1: least squares of logarithms.

    Source: Curtis and Reid, J. Inst. Maths Applics 10 (1972), by averaging over rows and columns in turn.
    """
    there = np.where(a != 0.0, 1.0, 0.0)
    sizes = np.where(a != 0.0, np.log(np.abs(np.where(a != 0.0, a, 1.0))), 0.0)
    in_rows, in_columns = np.maximum(np.sum(there, axis=1), 1.0), np.maximum(np.sum(there, axis=0), 1.0)
    across, down = np.zeros(a.shape[0]), np.zeros(a.shape[0])
    for _ in range(40):
        across = -np.sum(sizes + down * there, axis=1) / in_rows
        down = -np.sum(sizes + across[:, None] * there, axis=0) / in_columns
    return np.exp(across), np.exp(down)


def dense(product, turned, definite, eps, b):
    """By the matrix that the products make."""
    n = b.size
    a = np.empty((n, n), b.dtype)
    for k in range(n):
        unit = np.zeros_like(b)
        unit[k] = 1.0
        a[:, k] = product(unit)
    return by_matrix(a.T.copy() if turned else a, definite, eps, b)


def inverted(a, inverse):
    """The condition of a matrix in the norm of columns, infinite where it is singular; its inverse is written."""
    try:
        inverse[:] = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return np.inf * np.max(np.abs(a))
    return np.max(np.sum(np.abs(a), axis=0)) * np.max(np.sum(np.abs(inverse), axis=0))


def by_matrix(a, definite, eps, b):
    """By the inverse of the matrix, scaled, and one step of refinement; raises where it is singular to rounding."""
    if not np.all(np.isfinite(a)):
        raise RuntimeError("the derivative by the unknown is not finite")
    across, down = np.ones_like(b), np.ones_like(b)
    inverse = np.zeros_like(a)
    condition = inverted(a, inverse)
    if not condition * condition * eps < 1.0:  # what units may have done
        left_out(Unbalanced)
        across[:], down[:] = balanced(a)
        condition = inverted(across[:, None] * a * down, inverse)
    if not condition * eps < 0.1:
        raise RuntimeError("the linear system is singular: the solution has no derivative, or is not unique")
    if definite:
        try:
            smallest = np.min(np.diagonal(np.linalg.cholesky(a)))
        except np.linalg.LinAlgError:
            smallest = 0.0 * condition
        if not smallest > 0.0:
            raise RuntimeError("the second derivative is not positive definite: this is no minimum")
    x = down * (inverse @ (across * b))
    return x + down * (inverse @ (across * (b - a @ x)))


def rotated(h, cosines, sines, rhs, j, norm):
    """Rotate the column j into the triangle; the number of columns, without this one where it is nothing new."""
    for i in range(j):
        old = h[i, j]
        h[i, j] = cosines[i] * old + sines[i] * h[i + 1, j]
        h[i + 1, j] = cosines[i] * h[i + 1, j] - sines[i] * old
    turn = np.hypot(h[j, j], norm)
    if not turn > 0.0:
        return j
    cosines[j], sines[j] = h[j, j] / turn, norm / turn
    h[j, j] = turn
    rhs[j + 1] = -sines[j] * rhs[j]
    rhs[j] = cosines[j] * rhs[j]
    return j + 1


def combined(h, rhs, used, ways):
    """The combination of directions that solves the triangular system."""
    x = np.zeros_like(ways[0])
    for i in range(used - 1, -1, -1):
        for k in range(i + 1, used):
            rhs[i] -= h[i, k] * rhs[k]
        rhs[i] /= h[i, i]
        x += rhs[i] * ways[i]
    return x


def gmres(product, prepare, tol, eps, cycles, b):
    """Flexible GMRES: Arnoldi's basis, and rotations that keep the small system triangular; restarted."""
    n = b.size
    m = min(n, 40)  # vectors that are kept
    x = np.zeros_like(b)
    r = np.zeros_like(b)
    basis, ways = np.zeros((m + 1, n), b.dtype), np.zeros((m, n), b.dtype)
    h = np.zeros((m + 1, m), b.dtype)
    cosines, sines, rhs = np.zeros(m, b.dtype), np.zeros(m, b.dtype), np.zeros(m + 1, b.dtype)
    size = length(b)
    steepest, gap, before = 0.0 * size, size, np.inf
    j, cycle = -1, 0
    for _ in range((cycles + 1) * (m + 1)):
        v = x.copy()
        if j >= 0:
            v[:] = prepare(basis[j].copy())
        w = product(v)
        across = length(v)
        if across > 0.0:
            steepest = max(steepest, length(w) / across)
        if j < 0:  # the residual, from x itself
            r[:] = b - w
            gap = length(r)
            if acceptable(gap, tol, eps, 16.0, size, steepest, x) or not gap <= 0.99 * before or cycle == cycles:
                break
            cycle += 1
            before = gap
            basis[0] = r / gap
            rhs[:] = 0.0
            rhs[0] = gap
            j = 0
        else:
            ways[j] = v
            whole = length(w)
            for again in range(2):
                for i in range(j + 1):
                    part = np.sum(basis[i] * w)
                    h[i, j] = h[i, j] * again + part
                    w = w - part * basis[i]
            norm = length(w)
            used = rotated(h, cosines, sines, rhs, j, norm)
            j += 1
            if used < j or j == m or abs(rhs[j]) <= max(tol * size, eps * before) or norm <= 4.0 * eps * whole:
                x += combined(h, rhs, used, ways)
                j = -1
            else:
                basis[j] = w / norm
    refuse(acceptable(gap, tol, eps, 1e4, size, steepest, x), "GMRES")
    return x


def cg(product, prepare, strict, tol, eps, steps, b):
    """Conjugate gradients, for a symmetric map that is positive definite.

    Not `strict`: give what there is where the map turns out to be indefinite, or steps are at an end; that is a
    direction in which b's product is positive (Nocedal and Wright, Numerical Optimization, 7.1).
    """
    x, r = np.zeros_like(b), b.copy()
    p, s = np.zeros_like(b), b.copy()
    size = length(b)
    steepest, gap, before, rho = 0.0 * size, size, np.inf, 0.0 * size
    looks, verdict, fresh = not strict and not size > 0.0, 0, True
    for _ in range(steps):
        if looks and not strict:
            break
        v = x.copy()
        if not looks:
            s[:] = prepare(r)
            old, rho = rho, np.sum(r * s)
            if not rho > 0.0:  # the residual vanishes, or M is indefinite
                verdict = 2 if gap > 0.0 else 0
                looks = True
            else:
                p[:] = s if fresh else s + (rho / old) * p
                fresh = False
                v[:] = p
        w = product(v)
        across = length(v)
        if across > 0.0:
            steepest = max(steepest, length(w) / across)
        if looks:  # the residual, from x itself
            r[:] = b - w
            gap = length(r)
            if acceptable(gap, tol, eps, 16.0, size, steepest, x):
                verdict = 0
                break
            if not gap <= 0.5 * before or verdict > 0:
                break
            before, looks, fresh = gap, False, True
        else:
            bend = np.sum(v * w)
            if not bend > 0.0:
                verdict, looks = 1, True
                x[:] = b if not strict and not length(x) > 0.0 else x
            else:
                rate = rho / bend
                x += rate * v
                r -= rate * w
                gap = length(r)
                looks = acceptable(gap, tol, eps, 8.0, size, steepest, x)
    if strict:
        if verdict == 1:
            raise RuntimeError("the linear map is not positive definite: CG cannot solve for it, or this is no minimum")
        if verdict == 2:
            raise RuntimeError("the preconditioner M is not positive definite: CG cannot use it")
        refuse(acceptable(gap, tol, eps, 1e4, size, steepest, x), "CG")
    return x
