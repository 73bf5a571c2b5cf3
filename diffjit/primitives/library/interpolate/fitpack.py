"""FITPACK's splines under SciPy's names, those through all points: `splrep`, `splev` and their classes.

A smoothing spline's knots are chosen by looking at residuals, which no derivative follows: with s > 0 they are refused
inside programs. Such a spline made outside is called inside like any other.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.interpolate

from diffjit.primitives.library.axes import as_float, known, places
from diffjit.primitives.library.interpolate.splines import (
    Spline,
    basis,
    derived,
    inner_knots,
    integral,
    interpolated,
    piece_of,
    summed,
    values,
)
from diffjit.primitives.registry import implements


def checked(x, y, k):
    """Points in order."""
    x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y should have a same length")
    if x.shape[0] <= k:
        raise TypeError("m > k must hold")
    if not np.all(x[1:] > x[:-1]):
        raise ValueError("x must be strictly increasing if s = 0")
    return x, y


def through(x, y, k):
    """Knots and coefficients of the spline through points, coefficients filled up with zeros as FITPACK has them."""
    x, y = checked(x, y, known(k))
    t = inner_knots(x, k)
    c = interpolated(t, k, x, y, (), ())
    return t, np.concatenate((c, np.zeros((k + 1, *c.shape[1:]), c.dtype)))


@implements(scipy.interpolate.splrep)
def splrep(x, y, w=None, xb=None, xe=None, k=3, task=0, s=None, t=None, full_output=0, per=0, quiet=1):
    """The spline through points: knots, coefficients, degree."""
    if task == -1 and t is not None:
        if full_output or per or xb is not None or xe is not None:
            raise NotImplementedError("splrep(task=-1) with full_output, per, xb or xe: leave them out")
        spline = LSQUnivariateSpline(x, y, t, w, (None, None), k)
        return spline.t, np.concatenate((spline.c, np.zeros(k + 1, spline.c.dtype))), k
    if (s is None and w is not None) or (s is not None and s != 0):
        raise NotImplementedError("splrep(s > 0), whose knots are searched for: give s=0, or knots: task=-1, t=...")
    if xb is not None or xe is not None or per or full_output or task != 0 or t is not None:
        raise NotImplementedError("splrep(xb, xe, per, full_output, task, t): leave them out")
    knots, c = through(x, y, k)
    return knots, c, k


@implements(scipy.interpolate.splprep)
def splprep(
    x, w=None, u=None, ub=None, ue=None, k=3, task=0, s=None, t=None, full_output=0, nest=None, per=0, quiet=1
):  # fmt: skip
    """The curve through points: knots, the coefficients of each coordinate, the degree, and the parameter."""
    if s is None or s != 0:
        raise NotImplementedError("splprep(s > 0), whose knots are searched for: give s=0")
    if ub is not None or ue is not None or per or full_output or task != 0 or t is not None:
        raise NotImplementedError("splprep(ub, ue, per, full_output, task, t): leave them out")
    rows = [as_float(np.asarray(row)) for row in x]
    if u is None:
        squares = sum([np.diff(row) ** 2 for row in rows])
        way = np.concatenate((np.zeros(1), np.cumsum(np.sqrt(squares))))
        u = way / way[-1]
    u = as_float(np.asarray(u))
    knots, c = through(u, np.stack(rows, axis=1), k)
    return [knots, [c[: -k - 1, i] for i in range(len(rows))], k], u


def of_curve(tck):
    """Whether a spline has several coordinates, as `splprep` gives it."""
    return (
        not isinstance(tck, scipy.interpolate.BSpline) and isinstance(tck[1], (list, tuple)) and np.ndim(tck[1][0]) > 0
    )


def coordinates(tck):
    """The spline of each coordinate."""
    t, cs, k = tck
    return [(t, c, k) for c in cs]


def parts(tck):
    """Knots, coefficients and degree, of a tuple or a spline."""
    if isinstance(tck, scipy.interpolate.BSpline):
        return tck.t, tck.c, tck.k
    t, c, k = tck
    return as_float(np.asarray(t)), as_float(np.asarray(c)), k


def evaluated(t, c, k, x, nu, ext):
    """A spline at points, continued beyond its knots in one of four ways."""
    x = as_float(np.asarray(x))
    low, high = t[k], t[t.shape[0] - k - 1]
    outside = (x < low) | (x > high)
    if ext == 2 and np.any(outside):
        raise ValueError("Invalid input data: a point outside of the knots")
    if ext == 3 and nu == 0:  # FITPACK continues derivatives
        x = np.minimum(np.maximum(x, low), high)
    found = values(t, c, k, np.asarray(x), nu)
    if ext == 1:
        found = np.where(np.reshape(outside, x.shape + (1,) * (c.ndim - 1)), 0.0, found)
    return np.asarray(found)


def way(ext):
    """How to continue a spline, as a number."""
    if isinstance(ext, str):
        return {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}[ext]
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    return ext


@implements(scipy.interpolate.splev)
def splev(x, tck, der=0, ext=0):
    """A spline, or a derivative of it, at points; of a curve, each coordinate."""
    if of_curve(tck):
        return [splev(x, one, der, ext) for one in coordinates(tck)]
    t, c, k = parts(tck)
    if isinstance(tck, scipy.interpolate.BSpline):
        if ext != 0:
            raise NotImplementedError("splev(ext=...) of a BSpline: give its tck")
        return tck(x, der)
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    return evaluated(t, c, k, x, der, way(ext))


@implements(scipy.interpolate.splint)
def splint(a, b, tck, full_output=0):
    """The integral of a spline between two numbers."""
    if full_output:
        raise NotImplementedError("splint(full_output=1): leave it out")
    if of_curve(tck):
        return [splint(a, b, one) for one in coordinates(tck)]
    t, c, k = parts(tck)
    return integral(t, c, k, a, b)[()]


@implements(scipy.interpolate.splder)
def splder(tck, n=1):
    """The derivative of a spline."""
    if isinstance(tck, scipy.interpolate.BSpline):
        return tck.derivative(n)
    t, c, k = parts(tck)
    for _ in places(n):
        c = np.concatenate((derived(t, c, k), np.zeros((k, *c.shape[1:]), c.dtype)))
        t, k = t[1:-1], k - 1
    return t, c, k


@implements(scipy.interpolate.splantider)
def splantider(tck, n=1):
    """The antiderivative of a spline."""
    if isinstance(tck, scipy.interpolate.BSpline):
        return tck.antiderivative(n)
    t, c, k = parts(tck)
    for _ in places(n):
        total = summed(t, c, k)
        c = np.concatenate((np.zeros_like(c[:1]), total, *(total[-1:] for _ in places(k + 2))))
        t, k = np.concatenate((t[:1], t, t[-1:])), k + 1
    return t, c, k


@implements(scipy.interpolate.UnivariateSpline)
class UnivariateSpline:
    """The spline through points."""

    stands_for = scipy.interpolate.UnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, s=None, ext=0, check_finite=False):
        if s is None or s != 0:
            raise NotImplementedError(
                "UnivariateSpline(s > 0), whose knots are searched for: give s=0, or knots to LSQUnivariateSpline"
            )
        self.interpolate(x, y, bbox, k, ext)

    def interpolate(self, x, y, bbox, k, ext):
        """Go through points."""
        if bbox[0] is not None or bbox[1] is not None:
            raise NotImplementedError("UnivariateSpline(bbox=...): leave it out")
        self.t, self.c = through(x, y, k)
        self.k, self.ext = k, way(ext)

    def __call__(self, x, nu=0, ext=None):
        """Values, or derivatives of an order."""
        return evaluated(self.t, self.c, self.k, x, nu, self.ext if ext is None else way(ext))

    def integral(self, a, b):
        """The integral between two numbers."""
        return integral(self.t, self.c, self.k, a, b)[()]

    def derivatives(self, x):
        """The value and all derivatives at a point."""
        return np.stack([evaluated(self.t, self.c, self.k, x, nu, 0) for nu in places(self.k + 1)])

    def derivative(self, n=1):
        """The derivative."""
        ext = 1 if self.ext == 3 else self.ext
        return Fitted(*splder((self.t, self.c, self.k), n), ext)

    def antiderivative(self, n=1):
        """The integral from the first knot."""
        return Fitted(*splantider((self.t, self.c, self.k), n), self.ext)

    def get_knots(self):
        """Knots, those at the ends once."""
        return self.t[self.k : self.t.shape[0] - self.k].copy()

    def get_coeffs(self):
        """Coefficients."""
        return self.c[: self.t.shape[0] - self.k - 1].copy()

    def roots(self):
        """Refused: their number hangs on numbers of the run."""
        raise NotImplementedError("roots of splines: find one with scipy.optimize.brentq")

    def get_residual(self):
        """Refused: it is not kept."""
        raise NotImplementedError("UnivariateSpline.get_residual: sum the squares of what is left")


class Fitted(UnivariateSpline):
    """A spline by its knots and coefficients."""

    def __init__(self, t, c, k, ext):
        self.t, self.c, self.k, self.ext = t, c, k, ext


@implements(scipy.interpolate.InterpolatedUnivariateSpline)
class InterpolatedUnivariateSpline(UnivariateSpline):
    """The spline through points."""

    stands_for = scipy.interpolate.InterpolatedUnivariateSpline

    def __init__(self, x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        self.interpolate(x, y, bbox, k, ext)


@implements(scipy.interpolate.LSQUnivariateSpline)
class LSQUnivariateSpline(UnivariateSpline):
    """The spline with given knots that is nearest to points."""

    stands_for = scipy.interpolate.LSQUnivariateSpline

    def __init__(self, x, y, t, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
        if bbox[0] is not None or bbox[1] is not None:
            raise NotImplementedError("LSQUnivariateSpline(bbox=...): leave it out")
        x, y, t = as_float(np.asarray(x)), as_float(np.asarray(y)), as_float(np.asarray(t))
        ends = np.zeros(k + 1, x.dtype)
        self.t = np.concatenate((x[0] + ends, t, x[-1] + ends))
        self.c = nearest(self.t, k, x, y, w)
        self.k, self.ext = k, way(ext)


def nearest(t, k, x, y, w):
    """Coefficients whose spline is nearest to points."""
    n = t.shape[0] - k - 1
    matrix = np.zeros((x.shape[0], n), x.dtype)
    for i in range(x.shape[0]):
        at = piece_of(t, k, n, x[i])
        found = basis(t, k, x[i], at, 0)
        for j in places(k + 1):
            matrix[i, at - k + j] = found[j]
    if w is not None:
        w = as_float(np.asarray(w))
        matrix, y = matrix * w[:, None], y * w
    q, r = np.linalg.qr(matrix)
    return np.linalg.solve(r, np.transpose(q) @ y)


@implements(scipy.interpolate.make_lsq_spline)
def make_lsq_spline(x, y, t, k=3, w=None, axis=0, check_finite=True, *, method="qr"):
    """The spline with given knots that is nearest to points."""
    x, y, t = as_float(np.asarray(x)), as_float(np.asarray(y)), as_float(np.asarray(t))
    if y.ndim != 1:
        raise NotImplementedError("make_lsq_spline of several columns: one call for each")
    return Spline(t, nearest(t, k, x, y, w), k, True, 0)


def on_grid(x, y, tx, ty, c, kx, ky, dx, dy):
    """Values of a surface at all pairs of places; beyond its ends, those there."""
    table = np.reshape(c, (tx.shape[0] - kx - 1, -1))
    rows = values(tx, table, kx, np.minimum(np.maximum(x, tx[0]), tx[-1]), dx)
    return np.transpose(values(ty, np.transpose(rows), ky, np.minimum(np.maximum(y, ty[0]), ty[-1]), dy))


@implements(scipy.interpolate.bisplev)
def bisplev(x, y, tck, dx=0, dy=0):
    """Values of a surface at all pairs of places, without axes of length 1 in front, as FITPACK's wrapper has it."""
    tx, ty, c, kx, ky = tck
    for one in (x, y):
        if np.ndim(one) > 0 and len(one) == 1:
            raise NotImplementedError("bisplev of an array with one place: give the place")
    first, second = np.atleast_1d(as_float(np.asarray(x))), np.atleast_1d(as_float(np.asarray(y)))
    found = on_grid(first, second, np.asarray(tx), np.asarray(ty), as_float(np.asarray(c)), kx, ky, dx, dy)
    if np.ndim(x) > 0:
        return found
    return found[0] if np.ndim(y) > 0 else found[0, 0]


@implements(scipy.interpolate.RectBivariateSpline)
class RectBivariateSpline:
    """The surface through points on a grid."""

    stands_for = scipy.interpolate.RectBivariateSpline

    def __init__(self, x, y, z, bbox=(None, None, None, None), kx=3, ky=3, s=0, maxit=20):
        if s != 0 or any(b is not None for b in bbox):
            raise NotImplementedError("RectBivariateSpline(s > 0, bbox=...): leave them out")
        x, z = checked(x, z, kx)
        self.tx = inner_knots(x, kx)
        rows = np.transpose(interpolated(self.tx, kx, x, z, (), ()))
        y, rows = checked(y, rows, ky)
        self.ty = inner_knots(y, ky)
        self.c = np.ravel(np.transpose(interpolated(self.ty, ky, y, rows, (), ())))
        self.kx, self.ky = kx, ky

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        """Values on a grid, or at points."""
        x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
        if not grid:
            return self.ev(x, y, dx, dy)
        return on_grid(np.atleast_1d(x), np.atleast_1d(y), self.tx, self.ty, self.c, self.kx, self.ky, dx, dy)

    def ev(self, xi, yi, dx=0, dy=0):
        """Values at points."""
        x, y = np.broadcast_arrays(as_float(np.asarray(xi)), as_float(np.asarray(yi)))
        table = np.reshape(self.c, (self.tx.shape[0] - self.kx - 1, -1))
        out = np.zeros(x.shape, x.dtype)
        flat, first, second = np.reshape(out, -1), np.ravel(x), np.ravel(y)
        for i in range(flat.shape[0]):
            a = np.minimum(np.maximum(first[i], self.tx[0]), self.tx[-1])
            b = np.minimum(np.maximum(second[i], self.ty[0]), self.ty[-1])
            at = piece_of(self.tx, self.kx, self.tx.shape[0] - self.kx - 1, a)
            to = piece_of(self.ty, self.ky, self.ty.shape[0] - self.ky - 1, b)
            rows, heights = basis(self.tx, self.kx, a, at, dx), basis(self.ty, self.ky, b, to, dy)
            total = 0.0
            for j in places(self.kx + 1):
                for m in places(self.ky + 1):
                    total = total + rows[j] * heights[m] * table[at - self.kx + j, to - self.ky + m]
            flat[i] = total
        return np.reshape(flat, x.shape)
