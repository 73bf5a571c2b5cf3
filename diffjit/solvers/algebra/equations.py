"""Equations of matrices by SciPy's names: SciPy's own code solves them, theory differentiates the solutions.

At a solution X of Riccati's equation the gain K is where a quadratic form is least, so that a change of K changes
nothing (the envelope theorem): the tangent solves an equation of Lyapunov's with the closed loop A - B K. Other forms
of the equation, with s and e, are brought to the plain one first.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.api.custom import custom_jvp, custom_vjp
from diffjit.api.foreign import foreign
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.scipy_linalg import square
from diffjit.primitives.registry import implements


def adjoint(a):
    return np.conjugate(np.transpose(a))


# a X + X b = q -------------------------------------------------------------------------------------------------------


def sylvester_by_scipy(a, b, q):
    """SciPy's solution."""
    return np.ascontiguousarray(scipy.linalg.solve_sylvester(np.asarray(a), np.asarray(b), np.asarray(q)))


BY_SCIPY = foreign(sylvester_by_scipy, result=lambda a, b, q: q)


def sylvester(a, b, q):
    return BY_SCIPY(a, b, q)


SYLVESTER = custom_vjp(sylvester)


def sylvester_jvp(primals, tangents):
    a, b, q = primals
    x = SYLVESTER(a, b, q)
    return x, SYLVESTER(a, b, tangents[2] - tangents[0] @ x - x @ tangents[1])


def sylvester_ahead(a, b, q):
    x = SYLVESTER(a, b, q)
    return x, (a, b, x)


def sylvester_back(kept, x_bar):
    a, b, x = kept
    q_bar = SYLVESTER(np.transpose(a), np.transpose(b), x_bar)
    return -q_bar @ np.transpose(x), -np.transpose(x) @ q_bar, q_bar


SYLVESTER.defvjp(sylvester_ahead, sylvester_back)
SYLVESTER.defjvp(sylvester_jvp)

SMALL = 100  # numbers in a solution up to which one system for all of them is faster than a call of SciPy


@implements(scipy.linalg.solve_sylvester)
def solve_sylvester(a, b, q):
    """The X with a X + X b = q; a small one by one system for all of its numbers, which is compiled."""
    a, b, q = square(a), square(b), as_float(np.asarray(q))
    m, n = a.shape[0], b.shape[0]
    if m * n > SMALL:
        kind = np.result_type(a, b, q)
        return SYLVESTER(a.astype(kind), b.astype(kind), q.astype(kind))
    whole = np.kron(a, np.eye(n, dtype=b.dtype)) + np.kron(np.eye(m, dtype=a.dtype), np.transpose(b))
    return np.reshape(np.linalg.solve(whole, np.ravel(q)), (m, n))


@implements(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a, q):
    """The X with a X + X a^H = q."""
    a = square(a)
    return solve_sylvester(a, adjoint(a), q)


@implements(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a, q, method=None):
    """The X with a X a^H - X + q = 0; a large one as an equation of Sylvester's."""
    a, q = square(a), as_float(np.asarray(q))
    n = a.shape[0]
    if n * n > SMALL:
        one = np.eye(n, dtype=a.dtype)
        inverse = np.linalg.inv(a + one)
        across = adjoint(inverse)
        return solve_sylvester(inverse @ (a - one), (adjoint(a) - one) @ across, -2.0 * inverse @ q @ across)
    whole = np.eye(n * n, dtype=a.dtype) - np.kron(a, np.conjugate(a))
    return np.reshape(np.linalg.solve(whole, np.ravel(q)), (n, n))


# X = a X b + q, where powers of a and b vanish -----------------------------------------------------------------------


def summed(a, b, q):
    """q + a q b + a a q b b + ..., of which each step doubles the terms (R. A. Smith 1968)."""
    x, count = q + 0.0, 0
    while count < 100:
        count += 1
        more = a @ x @ b
        x = x + more
        if np.max(np.abs(more)) <= 1e-17 * np.max(np.abs(x)):
            break
        a, b = a @ a, b @ b
    if not np.max(np.abs(x)) < np.inf or count == 100:
        raise np.linalg.LinAlgError("an equation of Stein's whose matrix has an eigenvalue on the unit circle")
    return x


STEIN = custom_vjp(summed)


def stein_jvp(primals, tangents):
    a, b, q = primals
    x = STEIN(a, b, q)
    return x, STEIN(a, b, tangents[2] + tangents[0] @ x @ b + a @ x @ tangents[1])


def stein_ahead(a, b, q):
    x = STEIN(a, b, q)
    return x, (a, b, x)


def stein_back(kept, x_bar):
    a, b, x = kept
    q_bar = STEIN(np.transpose(a), np.transpose(b), x_bar)
    return q_bar @ np.transpose(x @ b), np.transpose(a @ x) @ q_bar, q_bar


STEIN.defvjp(stein_ahead, stein_back)
STEIN.defjvp(stein_jvp)

# Riccati's equations -------------------------------------------------------------------------------------------------


CARE = foreign(
    lambda a, b, q, r: np.ascontiguousarray(scipy.linalg.solve_continuous_are(*map(np.asarray, (a, b, q, r)))),
    result=lambda a, b, q, r: q,
)
DARE = foreign(
    lambda a, b, q, r: np.ascontiguousarray(scipy.linalg.solve_discrete_are(*map(np.asarray, (a, b, q, r)))),
    result=lambda a, b, q, r: q,
)


def continuous(a, b, q, r):
    return CARE(a, b, q, r)


def discrete(a, b, q, r):
    return DARE(a, b, q, r)


CONTINUOUS, DISCRETE = custom_jvp(continuous), custom_jvp(discrete)


@CONTINUOUS.defjvp
def continuous_jvp(primals, tangents):
    a, b, q, r = primals
    a_dot, b_dot, q_dot, r_dot = tangents
    x = CONTINUOUS(a, b, q, r)
    gain = np.linalg.solve(r, adjoint(b) @ x)
    half = x @ (a_dot - b_dot @ gain)
    closed = a - b @ gain
    right = half + adjoint(half) + q_dot + adjoint(gain) @ r_dot @ gain
    return x, SYLVESTER(adjoint(closed), closed, -right)


@DISCRETE.defjvp
def discrete_jvp(primals, tangents):
    a, b, q, r = primals
    a_dot, b_dot, q_dot, r_dot = tangents
    x = DISCRETE(a, b, q, r)
    gain = np.linalg.solve(r + adjoint(b) @ x @ b, adjoint(b) @ x @ a)
    closed = a - b @ gain
    half = adjoint(closed) @ x @ (a_dot - b_dot @ gain)
    right = half + adjoint(half) + q_dot + adjoint(gain) @ r_dot @ gain
    return x, STEIN(adjoint(closed), closed, right)


def plain_form(a, b, q, r, e, s):
    """The equation without s and e."""
    a, q, r = square(a), square(q), square(r)
    b = as_float(np.asarray(b))
    if s is not None:
        mixed = np.linalg.solve(r, adjoint(as_float(np.asarray(s))))
        a, q = a - b @ mixed, q - adjoint(mixed) @ r @ mixed
    if e is not None:
        e = square(e)
        inverse = np.linalg.inv(e)
        a, q = a @ inverse, adjoint(inverse) @ q @ inverse
        q = 0.5 * (q + adjoint(q))
    kind = np.result_type(a, b, q, r)
    return a.astype(kind), b.astype(kind), q.astype(kind), r.astype(kind)


@implements(scipy.linalg.solve_continuous_are)
def solve_continuous_are(a, b, q, r, e=None, s=None, balanced=True):
    """The stabilising X with a^H X + X a - X b r^-1 b^H X + q = 0."""
    return CONTINUOUS(*plain_form(a, b, q, r, e, s))


@implements(scipy.linalg.solve_discrete_are)
def solve_discrete_are(a, b, q, r, e=None, s=None, balanced=True):
    """The stabilising X with a^H X a - X - a^H X b (r + b^H X b)^-1 b^H X a + q = 0."""
    return DISCRETE(*plain_form(a, b, q, r, e, s))
