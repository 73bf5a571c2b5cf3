"""Polynomials between breakpoints: cubic splines, Hermite's, PCHIP's and Akima's interpolants of `scipy.interpolate`.

Coefficients stand as SciPy stores them: `c[j, i]` belongs to the power `k - 1 - j` of the distance from breakpoint i.
The slopes of a cubic spline are the solution of a tridiagonal system, eliminated row by row: linear time, both ways.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.interpolate

from diffjit.primitives.library.axes import as_float, one_axis, places
from diffjit.primitives.registry import implements


def prepared(x, y, axis):
    """Points and values, these along the first axis, and that axis; what SciPy raises of them."""
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    axis = one_axis(axis, y.ndim)
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if x.shape[0] != y.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    if not np.all(np.isfinite(y)):
        raise ValueError("`y` must contain only finite values.")
    if not np.all(x[1:] > x[:-1]):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x, np.moveaxis(y, axis, 0), axis


def columns(a, like):
    """Numbers for each row of an array, with an axis for each of its others."""
    return np.reshape(a, a.shape + (1,) * (like.ndim - 1))


def places_moved(result, count, axis):
    """The first `count` axes, those of the points, put where the axis of interpolation was."""
    if axis == 0:
        return result
    rest = places(result.ndim)
    order = rest[count : count + axis] + rest[:count] + rest[count + axis :]
    return np.transpose(result, order)


def falling(power, nu):
    """What nu derivatives multiply a power by."""
    return math.prod(power - j for j in places(nu))


def tridiagonal(lower, middle, upper, right):
    """The solution of a tridiagonal system whose row i is lower[i], middle[i], upper[i]."""
    n = middle.shape[0]
    middle, x = middle.copy(), right.copy()
    for i in range(1, n):
        factor = lower[i] / middle[i - 1]
        middle[i] -= factor * upper[i - 1]
        x[i] -= factor * x[i - 1]
    x[n - 1] /= middle[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - upper[i] * x[i + 1]) / middle[i]
    return x


@implements(scipy.interpolate.PPoly)
class PPoly:
    """Polynomials of one degree between breakpoints."""

    stands_for = scipy.interpolate.PPoly
    order = 0  # how many coefficients, where the class says so

    def __init__(self, c, x, extrapolate=None, axis=0):
        c = as_float(np.asarray(c))
        self.axis = one_axis(axis, c.ndim - 1)
        self.c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
        self.x = as_float(np.asarray(x))
        self.extrapolate = True if extrapolate is None else extrapolate
        if self.c.shape[1] != self.x.shape[0] - 1:
            raise ValueError("number of coefficients != len(x)-1")
        if not np.all(self.x[1:] >= self.x[:-1]):
            raise ValueError("PPoly of decreasing breakpoints: turn them round")

    def __call__(self, x, nu=0, extrapolate=None):
        """Values, or derivatives of an order."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if nu < 0:
            return self.antiderivative(-nu)(x, 0, extrapolate)
        t = as_float(np.asarray(x))
        knots, c = self.x, self.c
        if extrapolate == "periodic":
            t = knots[0] + (t - knots[0]) % (knots[-1] - knots[0])
        last = knots.shape[0] - 2
        piece = np.minimum(np.maximum(np.searchsorted(knots, t, side="right") - 1, 0), last)
        ones = (1,) * (c.ndim - 2)
        s = np.reshape(t - knots[piece], t.shape + ones)
        value = horner(c, piece, s, nu, self.order)
        if extrapolate is False:
            inside = np.reshape((t >= knots[0]) & (t <= knots[-1]), t.shape + ones)
            value = np.where(inside, value, np.nan)
        return places_moved(np.asarray(value), t.ndim, self.axis)

    def derivative(self, nu=1):
        """The derivative, as polynomials between breakpoints."""
        if nu < 0:
            return self.antiderivative(-nu)
        count = self.c.shape[0]
        c = np.zeros((max(count - nu, 1), *self.c.shape[1:]), self.c.dtype)
        for j in range(count - nu):
            factor = 1.0
            for i in range(nu):
                factor = factor * (count - 1 - j - i)
            c[j] = self.c[j] * factor
        return Pieces(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu=1):
        """The integral from the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        c, x = self.c, self.x
        for _ in places(nu):
            c = integrated(c, x)
        return Pieces(c, x, False if self.extrapolate == "periodic" else self.extrapolate, self.axis)

    def integrate(self, a, b, extrapolate=None):
        """The integral between two numbers."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = Pieces(integrated(self.c, self.x), self.x, True, 0)
        if extrapolate != "periodic":
            if extrapolate is False:
                a, b = np.asarray(a), np.asarray(b)
                inside = (np.minimum(a, b) >= self.x[0]) & (np.maximum(a, b) <= self.x[-1])
                return np.where(inside, whole(b) - whole(a), np.nan)
            return whole(b) - whole(a)
        start, period = self.x[0], self.x[-1] - self.x[0]
        turns_a, turns_b = np.floor((a - start) / period), np.floor((b - start) / period)
        last = whole(self.x[-1])
        return (turns_b - turns_a) * last + whole(b - turns_b * period) - whole(a - turns_a * period)

    def roots(self, discontinuity=True, extrapolate=None):
        """Refused: their number hangs on numbers of the run."""
        raise NotImplementedError("roots of piecewise polynomials: find one with scipy.optimize.brentq")

    def solve(self, y=0.0, discontinuity=True, extrapolate=None):
        """Refused: their number hangs on numbers of the run."""
        raise NotImplementedError("solutions of piecewise polynomials: find one with scipy.optimize.brentq")


class Pieces(PPoly):
    """Polynomials whose coefficients are known to fit."""

    def __init__(self, c, x, extrapolate, axis):
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis


def horner(c, piece, s, nu, order):
    """The polynomials of pieces, or their derivatives, at distances from breakpoints."""
    if order > 0:
        if nu >= order:
            return 0.0 * (s * c[0][piece])
        value = c[0][piece] * float(falling(order - 1, nu))
        for j in places(order - nu)[1:]:
            value = value * s + c[j][piece] * float(falling(order - 1 - j, nu))
        return value
    count = c.shape[0]
    value = 0.0 * (s * c[0][piece])
    for j in range(count - nu):
        factor = 1.0
        for i in range(nu):
            factor = factor * (count - 1 - j - i)
        value = value * s + c[j][piece] * factor
    return value


def integrated(c, x):
    """Coefficients of the integral from the first breakpoint."""
    count = c.shape[0]
    out = np.zeros((count + 1, *c.shape[1:]), c.dtype)
    for j in range(count):
        out[j] = c[j] / float(count - j)
    widths = columns(x[1:] - x[:-1], out[0])
    total = np.zeros_like(out[0])
    for j in range(count + 1):
        total = total * widths + out[j]
    out[count, 1:] = np.cumsum(total, axis=0)[:-1]
    return out


def hermite(x, y, slopes):
    """Coefficients of the cubics with these values and slopes."""
    widths = columns(x[1:] - x[:-1], y)
    rise = (y[1:] - y[:-1]) / widths
    t = (slopes[:-1] + slopes[1:] - 2 * rise) / widths
    return np.stack((t / widths, (rise - slopes[:-1]) / widths - t, slopes[:-1], y[:-1]))


class Cubic(PPoly):
    """Cubics between breakpoints, by their slopes there."""

    order = 4

    def keep(self, x, y, slopes, axis, extrapolate):
        """The cubics with these slopes."""
        self.c, self.x, self.axis = hermite(x, y, slopes), x, axis
        self.extrapolate = True if extrapolate is None else extrapolate


@implements(scipy.interpolate.CubicHermiteSpline)
class CubicHermiteSpline(Cubic):
    """Cubics with given slopes."""

    stands_for = scipy.interpolate.CubicHermiteSpline

    def __init__(self, x, y, dydx, axis=0, extrapolate=None):
        slopes = as_float(np.asarray(dydx))
        x, y, axis = prepared(x, y, axis)
        self.keep(x, y, np.moveaxis(slopes, axis, 0), axis, extrapolate)


@implements(scipy.interpolate.CubicSpline)
class CubicSpline(Cubic):
    """The cubics with continuous second derivatives."""

    stands_for = scipy.interpolate.CubicSpline

    def __init__(self, x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
        x, y, axis = prepared(x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        slopes = periodic_slopes(x, y) if periodic else smooth_slopes(x, y, bc_type)
        self.keep(x, y, slopes, axis, "periodic" if periodic and extrapolate is None else extrapolate)


def condition(kind, value_at_end):
    """The condition at an end: the order of a derivative (0: not a knot), and its value."""
    if isinstance(kind, str):
        if kind not in ("not-a-knot", "clamped", "natural"):
            raise ValueError(f"bc_type={kind} is not allowed.")
        order = {"not-a-knot": 0, "clamped": 1, "natural": 2}[kind]
        return order, np.zeros_like(value_at_end)
    order, value = kind
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    value = as_float(np.asarray(value))
    if value.shape != value_at_end.shape:
        raise ValueError("`deriv_value` has not the shape of the values without the axis")
    return order, value


def smooth_slopes(x, y, bc_type):
    """Slopes of a cubic spline, with a condition at each end."""
    first, last = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    first, a = condition(first, y[0])
    last, b = condition(last, y[0])
    n = x.shape[0]
    width = x[1:] - x[:-1]
    rise = (y[1:] - y[:-1]) / columns(width, y)
    if n == 2:
        # A cubic has no second knot there: SciPy takes the slope of the line.
        first, a = (1, rise[0]) if first == 0 else (first, a)
        last, b = (1, rise[0]) if last == 0 else (last, b)
    if n == 3 and first == 0 and last == 0:
        # The parabola through three points.
        slope = (width[1] * rise[0] + width[0] * rise[1]) / (width[0] + width[1])
        return np.stack((2 * rise[0] - slope, slope, 2 * rise[1] - slope))
    lower, middle, upper = np.zeros(n, x.dtype), np.ones(n, x.dtype), np.zeros(n, x.dtype)
    right = np.zeros(y.shape, (y[:1] * x[0]).dtype)
    lower[1:-1], upper[1:-1] = width[1:], width[:-1]
    middle[1:-1] = 2 * (width[:-1] + width[1:])
    right[1:-1] = 3 * (columns(width[1:], y) * rise[:-1] + columns(width[:-1], y) * rise[1:])
    if first == 0:
        middle[0], upper[0], right[0] = free_end(width[0], width[1], rise[0], rise[1])
    elif first == 1:
        right[0] = a
    else:
        middle[0], upper[0] = 2 * width[0], width[0]
        right[0] = 3 * (y[1] - y[0]) - 0.5 * a * width[0] ** 2
    if last == 0:
        middle[-1], lower[-1], right[-1] = free_end(width[-1], width[-2], rise[-1], rise[-2])
    elif last == 1:
        right[-1] = b
    else:
        middle[-1], lower[-1] = 2 * width[-1], width[-1]
        right[-1] = 3 * (y[-1] - y[-2]) + 0.5 * b * width[-1] ** 2
    return tridiagonal(lower, middle, upper, right)


def free_end(width, next_width, rise, next_rise):
    """The equation that makes the first two cubics one: its two coefficients, and its right-hand side."""
    both = width + next_width
    right = ((width + 2 * both) * next_width * rise + width * width * next_rise) / both
    return next_width, both, right


def periodic_slopes(x, y):
    """Slopes of a periodic cubic spline: the last unknown as a parameter of the others."""
    if not np.allclose(y[0], y[-1], rtol=1e-15, atol=1e-15):
        raise ValueError("The first and last `y` point must be identical when bc_type='periodic'.")
    m = x.shape[0] - 1
    width = x[1:] - x[:-1]
    rise = (y[1:] - y[:-1]) / columns(width, y)
    before, rise_before = np.roll(width, 1), np.roll(rise, 1, axis=0)
    middle = 2 * (width + before)
    right = 3 * (columns(width, y) * rise_before + columns(before, y) * rise)
    if m == 1:
        return np.zeros_like(y)
    if m == 2:
        slope = right[0] / (3 * (width[0] + width[1]))
        return np.stack((slope, slope, slope))
    edge = np.zeros(m - 1, x.dtype)
    edge[0] = -width[0]
    edge[-1] += -before[m - 2]
    free = tridiagonal(width[:-1], middle[:-1], before[:-1], right[:-1])
    bound = tridiagonal(width[:-1], middle[:-1], before[:-1], edge)
    above = right[-1] - before[-1] * free[0] - width[-1] * free[-1]
    end = above / (middle[-1] + before[-1] * bound[0] + width[-1] * bound[-1])
    slopes = free + columns(bound, y) * end
    return np.concatenate((slopes, np.reshape(end, (1, *y.shape[1:])), slopes[:1]))


@implements(scipy.interpolate.PchipInterpolator)
class PchipInterpolator(Cubic):
    """Cubics that keep the data's monotony (F. N. Fritsch and J. Butland, 1984)."""

    stands_for = scipy.interpolate.PchipInterpolator

    def __init__(self, x, y, axis=0, extrapolate=None):
        x, y, axis = prepared(x, y, axis)
        self.keep(x, y, monotone_slopes(x, y), axis, extrapolate)


def monotone_slopes(x, y):
    """Harmonic means of the slopes on both sides; 0 where they differ in sign."""
    width = columns(x[1:] - x[:-1], y)
    rise = (y[1:] - y[:-1]) / width
    slopes = np.zeros_like(rise[:1] * y)
    if x.shape[0] == 2:
        slopes[0], slopes[1] = rise[0], rise[0]
        return slopes
    before, after = width[:-1], width[1:]
    same = rise[:-1] * rise[1:] > 0
    flat = (np.sign(rise[1:]) != np.sign(rise[:-1])) | ~same
    left, right = np.where(flat, 1.0, rise[:-1]), np.where(flat, 1.0, rise[1:])
    near, far = 2 * after + before, after + 2 * before
    slopes[1:-1] = np.where(flat, 0.0, (near + far) / (near / left + far / right))
    slopes[0] = one_sided(width[0], width[1], rise[0], rise[1])
    slopes[-1] = one_sided(width[-1], width[-2], rise[-1], rise[-2])
    return slopes


def one_sided(width, next_width, rise, next_rise):
    """The slope at an end by three points, kept from overshooting."""
    slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width)
    wrong = np.sign(slope) != np.sign(rise)
    steep = (np.sign(rise) != np.sign(next_rise)) & (np.abs(slope) > 3.0 * np.abs(rise))
    return np.where(wrong, 0.0, np.where(steep, 3.0 * rise, slope))


@implements(scipy.interpolate.pchip_interpolate)
def pchip_interpolate(xi, yi, x, der=0, axis=0):
    """PCHIP's interpolant at points."""
    if not isinstance(der, int):
        raise NotImplementedError("pchip_interpolate(der=[...]): call it for each order")
    return PchipInterpolator(xi, yi, axis)(x, der)


@implements(scipy.interpolate.Akima1DInterpolator)
class Akima1DInterpolator(Cubic):
    """Akima's cubics, whose slopes hang on two neighbours on each side."""

    stands_for = scipy.interpolate.Akima1DInterpolator

    def __init__(self, x, y, axis=0, *, method="akima", extrapolate=None):
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, axis = prepared(x, y, axis)
        slopes = akima_slopes(x, y, method == "makima")
        self.keep(x, y, slopes, axis, False if extrapolate is None else extrapolate)


def akima_slopes(x, y, modified):
    """Means of the slopes on both sides, weighed by how little those beyond change."""
    rise = (y[1:] - y[:-1]) / columns(x[1:] - x[:-1], y)
    if x.shape[0] == 2:
        return np.concatenate((rise, rise))
    before = 2 * rise[0] - rise[1]
    after = 2 * rise[-1] - rise[-2]
    ends = np.stack((2 * before - rise[0], before)), np.stack((after, 2 * after - rise[-1]))
    m = np.concatenate((ends[0], rise, ends[1]))
    change = np.abs(m[1:] - m[:-1])
    left, right = change[:-2], change[2:]
    if modified:
        size = 0.5 * np.abs(m[1:] + m[:-1])
        left, right = left + size[:-2], right + size[2:]
    both = left + right
    clear = both > 1e-9 * np.max(both, initial=-np.inf)
    weight = np.where(clear, left, 0.0) / np.where(clear, both, 1.0)
    mixed = m[1:-2] + weight * (m[2:-1] - m[1:-2])
    return np.where(clear, mixed, 0.5 * (m[3:] + m[:-3]))
