"""Integrals by SciPy's names: plain Python, read by the frontend.

A value is that of panels which are halved until the error is small enough. A derivative is an integral of its own, of
the integrand's derivative, on panels that are fine enough for that; limits move by Leibniz's rule.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools

import numpy as np
import scipy.integrate

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.products import jvp, vjp
from diffjit.primitives.arithmetic import zmul
from diffjit.primitives.registry import implements
from diffjit.solvers.scipy.closed import closed, constants, number
from diffjit.solvers.scipy.panels import refined, summed
from diffjit.solvers.scipy.results import Untold
from diffjit.solvers.vectors import span as length
from diffjit.solvers.vectors import stored, unpacked

# Integrands: `p` is what has derivatives, then what has none ----------------------------------------------------------


def value(field, x, p):
    found = field((x,), p[0], p[1])
    return found if np.ndim(found) > 0 else 1.0 * found


def tangent(field, x, p):
    return jvp(lambda u: value(field, x, (u, p[1])), (p[0],), (p[2],))[1]


def cotangents(field, x, p):
    """The cotangents of all floats, one after another."""
    back = vjp(lambda u: value(field, x, (u, p[1])), p[0])[1]
    out = np.zeros(length(p[0]))
    at = 0
    for bar in back(p[2])[0]:
        at = stored(out, at, bar)
    return out


# Integrals ------------------------------------------------------------------------------------------------------------


def integral(field, span, cuts, numbers, floats, others):
    """The integral, and the estimate of its error."""
    shape = np.shape(value(field, 0.5 * (span[1] + span[2]), (floats, others)))
    found = refined(functools.partial(value, field), span, cuts, numbers, (floats, others), shape)
    return found[4], found[5]


INTEGRAL = custom_jvp(integral, nondiff_argnums=(0,))


def known(integrand, kind, ends, panels, p, total):
    """An integral that was found on these panels."""
    return 1.0 * total


KNOWN = custom_jvp(known, nondiff_argnums=(0, 1))


def over(integrand, kind, ends, pieces, panels, p, total):
    """The same as a sum over the panels, to be differentiated."""
    return summed(integrand, (kind, *ends), pieces, panels, p, total)


@KNOWN.defjvp
def known_jvp(integrand, kind, primals, tangents):
    ends, panels, p, total = primals

    def change(pieces):
        def moved(e, q):
            return over(integrand, kind, e, pieces, panels, q, total)

        return jvp(moved, (ends, p), (tangents[0], tangents[2]))[1]

    found = change(2)
    if panels[3][0]:  # sharp at an end, and sharper still
        other = change(3)
        if not np.all(np.abs(found - other) <= 1e-6 * np.abs(other) + 1e-9):
            raise RuntimeError(SHARP)
    return KNOWN(integrand, kind, *primals), found


SHARP = "the second derivative of an integral did not converge: the integrand is infinite or steep at an end"


def known_forward(integrand, kind, ends, panels, p, total):
    return KNOWN(integrand, kind, ends, panels, p, total), (ends, panels, p, total)


def known_backward(integrand, kind, kept, bar):
    ends, panels, p, total = kept
    if panels[3][0]:
        raise RuntimeError(SHARP + " (hvp, forward over reverse, may find it)")
    ends_bar, p_bar = vjp(lambda e, q: over(integrand, kind, e, 2, panels, q, total), ends, p)[1](bar)
    return ends_bar, None, p_bar, 0.0 * total


KNOWN.defvjp(known_forward, known_backward)
KNOWN.trusted = True


def on_own_panels(integrand, span, cuts, numbers, p, shape):
    """An integral that is differentiated as it is, on panels that are fine enough for itself."""
    count, lows, highs, smooth, total, _ = stop_gradient(
        refined(integrand, stop_gradient(span), cuts, numbers, stop_gradient(p), shape)
    )
    return KNOWN(integrand, span[0], (span[1], span[2]), (count, lows, highs, (smooth, cuts)), p, total)


@INTEGRAL.defjvp
def integral_jvp(field, primals, tangents):
    span, cuts, numbers, floats, others = primals
    found, error = INTEGRAL(field, *primals)
    moved = 0.0 * found
    if len(floats) > 0:
        p = (floats, others, tangents[3])
        integrand = functools.partial(tangent, field)
        moved = moved + on_own_panels(integrand, span, cuts, numbers, p, np.shape(found))
    kind, a, b = span
    if kind in (0, 1):
        moved = moved - zmul(tangents[0][1], value(field, a, (floats, others)))
    if kind in (0, -1):
        moved = moved + zmul(tangents[0][2], value(field, b, (floats, others)))
    return (found, error), (moved, 0.0 * error)


def integral_forward(field, span, cuts, numbers, floats, others):
    return INTEGRAL(field, span, cuts, numbers, floats, others), (span, cuts, numbers, floats, others)


def integral_backward(field, kept, bars):
    span, cuts, numbers, floats, others = kept
    bar = bars[0]
    floats_bar = ()
    if len(floats) > 0:
        p = (floats, others, bar)
        integrand = functools.partial(cotangents, field)
        found = on_own_panels(integrand, span, cuts, numbers, p, (length(floats),))
        floats_bar = unpacked(found, floats)
    kind, a, b = span
    a_bar, b_bar = 0.0, 0.0
    if kind in (0, 1):
        a_bar = -np.sum(zmul(bar, value(field, a, (floats, others))))
    if kind in (0, -1):
        b_bar = np.sum(zmul(bar, value(field, b, (floats, others))))
    return (None, a_bar, b_bar), None, None, floats_bar, None


INTEGRAL.defvjp(integral_forward, integral_backward)
INTEGRAL.trusted = True  # tangents pass through derivatives and sums alone


def spanned(a, b):
    """How far an integral goes, for `panels`, and the sign of its direction."""
    low, high, sign = 1.0 * a, 1.0 * b, 1.0
    if low == np.inf or high == -np.inf:
        low, high, sign = high, low, -1.0
    kind = 0
    if high == np.inf:
        kind, high = 1, 0.0
    if low == -np.inf:
        kind, low = (2 if kind == 1 else -1), 0.0
    return (kind, low, high), sign


def integrated(f, a, b, args, epsabs, epsrel, limit, points):
    """The integral of a function and the estimate of its error."""
    span, sign = spanned(a, b)
    cuts = np.array((0.0, 1.0))
    if points is not None:
        if span[0] != 0:
            raise ValueError("infinite ranges cannot be combined with `points`")
        inner = np.sort(stop_gradient((np.asarray(points) - span[1]) / (span[2] - span[1])))
        cuts = np.concatenate((cuts[:1], inner[(inner > 0.0) & (inner < 1.0)], cuts[1:]))
    x = stop_gradient(0.5 * (span[1] + span[2]))
    field, floats, others = closed(f, (x,), args, ())
    found, error = INTEGRAL(field, span, cuts, (1.0 * epsabs, 1.0 * epsrel, limit), floats, others)
    return sign * found, stop_gradient(error)


def beside_powers(f, a, b, powers, options):
    """The integral of f(x) (x - a)**p (b - x)**q, in two halves: there is no power of a distance left at their ends.

    With t = (x - a)**(p + 1) the first half is an integral of f(x) (b - x)**q / (p + 1) over t.
    """
    p, q = powers
    half = 0.5 * (b - a)

    def from_below(t):
        far = t ** (1.0 / (p + 1.0))
        return f(a + far) * (2.0 * half - far) ** q / (p + 1.0)

    def from_above(t):
        far = t ** (1.0 / (q + 1.0))
        return f(b - far) * (2.0 * half - far) ** p / (q + 1.0)

    return (
        quad(from_below, 0.0, half ** (p + 1.0), (), 0, *options),
        quad(from_above, 0.0, half ** (q + 1.0), (), 0, *options),
    )


def around_pole(f, a, b, pole, options):
    """The principal value of the integral of f(x) / (x - pole): of what is left without f(pole), and that of f(pole).

    f(pole) is computed for each t: as a number from outside it would have a derivative of its own, that of 1 / t.
    """
    height = f(1.0 * pole)
    rest = quad(lambda t: (f(pole + t) - f(1.0 * pole)) / t, a - pole, b - pole, (), 0, *options, (0.0,))
    return rest, (height * np.log(np.abs((b - pole) / (a - pole))), 0.0)


@implements(scipy.integrate.quad)
def quad(
    func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50, points=None, weight=None, wvar=None,
    wopts=None, maxp1=50, limlst=50, complex_func=False,
):  # fmt: skip
    """An integral and the estimate of its error."""
    if weight in ("cos", "sin") and not (np.isinf(a) or np.isinf(b)):
        wave = np.cos if weight == "cos" else np.sin
        return quad(
            lambda x, *more: wave(wvar * x) * func(x, *more), a, b, args, full_output, epsabs, epsrel, limit, points
        )
    if weight in ("alg", "cauchy") and not full_output:
        parts = beside_powers if weight == "alg" else around_pole
        one, other = parts(lambda x: number(func(x, *args)), 1.0 * a, 1.0 * b, wvar, (epsabs, epsrel, limit))
        return one[0] + other[0], one[1] + other[1]
    if weight is not None:
        raise NotImplementedError(f"scipy.integrate.quad(weight={weight!r}): multiply the function by the weight")
    if complex_func:
        raise NotImplementedError("scipy.integrate.quad(complex_func=True): integrate real and imaginary parts")
    found = integrated(lambda x, *more: number(func(x, *more)), a, b, args, epsabs, epsrel, max(limit, 400), points)
    return (*found, Untold("the report of quad")) if full_output else found


@implements(scipy.integrate.quad_vec)
def quad_vec(
    f, a, b, epsabs=1e-200, epsrel=1e-8, norm="2", cache_size=100e6, limit=10000, workers=1, points=None,
    quadrature=None, full_output=False, *, args=(),
):  # fmt: skip
    """An integral of a vector or number, and the estimate of its error."""
    found, error = integrated(
        lambda x, *more: np.ravel(np.asarray(f(x, *more)) * 1.0), a, b, args, epsabs, epsrel, min(limit, 2000), points
    )
    size = np.sqrt(np.sum(error * error)) if norm == "2" else np.max(error)
    _, low, high = spanned(a, b)[0]
    shape = np.shape(f(stop_gradient(0.5 * (low + high)), *args))
    found = found[0] if len(shape) == 0 else np.reshape(found, shape)
    return (found, size, Untold("the report of quad_vec")) if full_output else (found, size)


@implements(scipy.integrate.dblquad)
def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """An integral of `func(y, x)` over x from a to b, and y from gfun to hfun."""

    def inner(x):
        low = gfun(x) if callable(gfun) else gfun
        high = hfun(x) if callable(hfun) else hfun
        return quad(lambda y: func(y, x, *args), low, high, (), 0, epsabs, epsrel)[0]

    return quad(inner, a, b, (), 0, epsabs, epsrel)


@implements(scipy.integrate.tplquad)
def tplquad(func, a, b, gfun, hfun, qfun, rfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """An integral of `func(z, y, x)` over x, y and z."""

    def inner(y, x):
        low = qfun(x, y) if callable(qfun) else qfun
        high = rfun(x, y) if callable(rfun) else rfun
        return quad(lambda z: func(z, y, x, *args), low, high, (), 0, epsabs, epsrel)[0]

    return dblquad(inner, a, b, gfun, hfun, (), epsabs, epsrel)


def layer(g, limits, given, args):
    """The integral of g over its first variable, as a function of the others."""

    def found(*others):
        low, high = limits(*others, *args) if callable(limits) else limits
        options = given(*others, *args) if callable(given) else given
        return quad(lambda x: g(x, *others), low, high, **options)

    return found


def value_alone(both):
    """What a function gives first."""
    return lambda *xs: both(*xs)[0]


@implements(scipy.integrate.nquad)
def nquad(func, ranges, args=None, opts=None, full_output=False):
    """An integral of `func(x0, x1, ...)` over as many variables as there are ranges, the first of them innermost."""
    more = () if args is None else (tuple(args) if isinstance(args, (tuple, list)) else (args,))
    count = len(ranges)
    given = [{}] * count if opts is None else ([opts] * count if isinstance(opts, dict) or callable(opts) else opts)

    def inner(*xs):
        return func(*xs, *more)

    for k in range(count - 1):
        inner = value_alone(layer(inner, ranges[k], given[k], more))
    found = layer(inner, ranges[count - 1], given[count - 1], more)()
    return (*found, Untold("the report of nquad")) if full_output else found


@implements(scipy.integrate.fixed_quad)
def fixed_quad(func, a, b, args=(), n=5):
    """An integral by Gauss's rule of n points."""
    both = np.array(constants(np.polynomial.legendre.leggauss, n))
    nodes, weights = both[:n], both[n:]
    y = func(0.5 * (b - a) * (nodes + 1.0) + a, *args)
    return 0.5 * (b - a) * np.sum(weights * y, axis=-1), None
