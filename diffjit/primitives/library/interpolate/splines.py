"""B-splines of `scipy.interpolate`: values by de Boor's recurrence, interpolation by a banded system.

The banded matrix is eliminated without exchanges of rows, which is stable for B-splines (C. de Boor and A. Pinkus,
"Backward error analysis for totally positive linear systems", 1977).
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.interpolate

from diffjit.primitives.library.axes import as_float, known, one_axis, places
from diffjit.primitives.library.interpolate.pieces import columns, places_moved
from diffjit.primitives.registry import implements


def piece_of(t, k, count, x):
    """The interval between knots that a point lies in, among those where all B-splines are there."""
    return np.minimum(np.maximum(np.searchsorted(t, x, side="right") - 1, k), count - 1)


def values(t, c, k, x, nu):
    """The spline, or its derivative of order nu, at points; rows of coefficients along the last axes."""
    shape = x.shape + (1,) * (c.ndim - 1)
    if nu > k:
        return 0.0 * np.reshape(x, shape) * c[0]
    at = piece_of(t, k, t.shape[0] - k - 1, x)
    knots = [t[at + (j + 1 - k)] for j in places(2 * k)]  # those around the point
    # Where the last knots coincide, SciPy gives 0 between them.
    flat = np.where(t[at + 1] == t[at], 1.0, 0.0) if k > 0 else 0.0 * x
    d = [c[at + (j - k)] for j in places(k + 1)]
    for r in places(k + 1)[1:]:
        for j in places(k + 1)[: r - 1 : -1]:
            left = knots[j - 1]
            width = knots[j + k - r] - left + flat
            if r <= nu:
                d[j] = (d[j] - d[j - 1]) * np.reshape((k - r + 1) / width, shape)
            else:
                d[j] = d[j - 1] + np.reshape((x - left) / width, shape) * (d[j] - d[j - 1])
    return np.asarray(d[k] * np.reshape(1.0 - flat, shape))


def basis(t, k, x, at, nu):
    """The k + 1 B-splines that are not 0 at a point between knots `at` and `at + 1`, or derivatives: a list."""
    found = [1.0 + 0.0 * x]
    for p in places(k + 1)[1:]:
        # Each B-spline of degree p - 1 is shared among two of degree p, as a partition of one.
        shares = [found[j] / (t[at + j + 1] - t[at + 1 + j - p]) for j in places(p)]
        if p <= k - nu:
            rising = [shares[j] * (x - t[at + 1 + j - p]) for j in places(p)]
            falling = [shares[j] * (t[at + j + 1] - x) for j in places(p)]
        else:
            rising = [shares[j] * p for j in places(p)]
            falling = [-r for r in rising]
        found = [falling[0], *(rising[j - 1] + falling[j] for j in places(p)[1:]), rising[p - 1]]
    return found


def derived(t, c, k):
    """Coefficients of the derivative, for the inner knots; the knots' ends do not count."""
    n = t.shape[0] - k - 1
    widths = columns(t[k + 1 : -1] - t[1 : -k - 1], c)
    return (c[1:n] - c[: n - 1]) * np.where(widths == 0, 0.0, k / np.where(widths == 0, 1.0, widths))


def summed(t, c, k):
    """Coefficients of the antiderivative."""
    n = t.shape[0] - k - 1
    widths = columns(t[k + 1 :] - t[:n], c)
    return np.cumsum(c[:n] * widths, axis=0) / float(k + 1)


def integral(t, c, k, a, b):
    """The integral between two numbers within the knots, and beyond 0."""
    n = t.shape[0] - k - 1
    higher, knots = summed(t, c, k), np.concatenate((t[:1], t, t[-1:]))
    whole = np.concatenate((np.zeros_like(higher[:1]), higher))
    low, high = t[k], t[n]
    a, b = np.minimum(np.maximum(a, low), high), np.minimum(np.maximum(b, low), high)
    return values(knots, whole, k + 1, np.asarray(b), 0) - values(knots, whole, k + 1, np.asarray(a), 0)


def eliminated(band, k, right):
    """The solution of a banded system: band[i, k + j - i] is the entry in row i and column j."""
    n = band.shape[0]
    band, x = band.copy(), right.copy()
    for i in range(n):
        for j in range(i + 1, min(n, i + k + 1)):
            factor = band[j, k + i - j] / band[i, k]
            for m in range(1, k + 1):
                band[j, k + i - j + m] -= factor * band[i, k + m]
            x[j] -= factor * x[i]
    for i in range(n - 1, -1, -1):
        for m in range(1, min(k, n - 1 - i) + 1):
            x[i] -= band[i, k + m] * x[i + m]
        x[i] /= band[i, k]
    return x


def collocation(t, k, x, before, after, band):
    """Fill in the values of B-splines at points, one row each; some rows stay free next to the first and last."""
    n, m = t.shape[0] - k - 1, x.shape[0]
    for i in range(m):
        at = piece_of(t, k, n, x[i])
        row = i + (before if i > 0 else 0) + (after if i == m - 1 else 0)
        if at < row or at > row + k:
            raise ValueError("Schoenberg-Whitney conditions are violated: knots and points do not interlace")
        found = basis(t, k, x[i], at, 0)
        for j in places(k + 1):
            band[row, at - row + j] = found[j]


@implements(scipy.interpolate.BSpline)
class BSpline:
    """A sum of B-splines of one degree."""

    stands_for = scipy.interpolate.BSpline

    def __init__(self, t, c, k, extrapolate=True, axis=0):
        t, c, k = as_float(np.asarray(t)), as_float(np.asarray(c)), known(k)
        axis = one_axis(axis, c.ndim)
        c = np.moveaxis(c, axis, 0)
        n = t.shape[0] - k - 1
        if n < k + 1:
            raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
        if not np.all(t[1:] >= t[:-1]):
            raise ValueError("Knots must be in a non-decreasing order.")
        if c.shape[0] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    @property
    def tck(self):
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x, nu=0, extrapolate=None):
        """Values, or derivatives of an order."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        t, k = self.t, self.k
        x = as_float(np.asarray(x))
        low, high = t[k], t[t.shape[0] - k - 1]
        if extrapolate == "periodic":
            x = low + (x - low) % (high - low)
        result = values(t, self.c, k, x, nu)
        if extrapolate is False:
            inside = np.reshape((x >= low) & (x <= high), x.shape + (1,) * (self.c.ndim - 1))
            result = np.where(inside, result, np.nan)
        return places_moved(np.asarray(result), x.ndim, self.axis)

    def derivative(self, nu=1):
        """The derivative, as a spline."""
        t, c, k = self.t, self.c, self.k
        for _ in places(nu):
            c = np.concatenate((derived(t, c, k), np.zeros((k, *c.shape[1:]), c.dtype)))
            t, k = t[1:-1], k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu=1):
        """The integral from the first knot, as a spline."""
        t, c, k = self.t, self.c, self.k
        for _ in places(nu):
            total = summed(t, c, k)
            c = np.concatenate((np.zeros_like(c[:1]), total, *(total[-1:] for _ in places(k + 2))))
            t, k = np.concatenate((t[:1], t, t[-1:])), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return Spline(t, c, k, extrapolate, self.axis)

    def integrate(self, a, b, extrapolate=None):
        """The integral between two numbers."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise NotImplementedError(
                "BSpline.integrate(extrapolate='periodic'): use CubicSpline, or integrate periods"
            )
        if not extrapolate:
            return integral(self.t, self.c, self.k, a, b)
        whole = self.antiderivative()
        whole.axis = 0
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


class Spline(BSpline):
    """A spline whose knots and coefficients are known to fit."""

    def __init__(self, t, c, k, extrapolate, axis):
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis


def inner_knots(x, k):
    """Knots of a spline without more conditions than points: the outer points are no knots."""
    n = x.shape[0]
    if n < k + 1:
        raise ValueError(f"Need at least {k + 1} points for degree {k}")
    if k % 2 == 1:
        inner = x[(k + 1) // 2 : n - (k + 1) // 2]
    else:
        middles = 0.5 * (x[1:] + x[:-1])
        inner = middles[k // 2 : n - 1 - k // 2]
    return with_ends(x, inner, k)


def with_ends(x, inner, k):
    """Knots with both ends k + 1 times."""
    ends = np.zeros(k + 1, x.dtype)
    return np.concatenate((x[0] + ends, inner, x[-1] + ends))


def end_conditions(bc_type, like):
    """Derivatives given at both ends: tuples of pairs (order, value)."""
    if bc_type is None or (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        return (), ()
    if isinstance(bc_type, str):
        return one_end(bc_type, like), one_end(bc_type, like)
    first, last = bc_type
    return one_end(first, like), one_end(last, like)


def one_end(kind, like):
    """Derivatives given at one end."""
    if kind is None:
        return ()
    if not isinstance(kind, str):
        return tuple(kind)
    if kind not in ("clamped", "natural"):
        raise NotImplementedError(f"make_interp_spline(bc_type={kind!r}): CubicSpline takes it")
    return ((1 if kind == "clamped" else 2, np.zeros_like(like)),)


@implements(scipy.interpolate.make_interp_spline)
def make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    """The spline through points."""
    x, y, k = as_float(np.asarray(x)), as_float(np.asarray(y)), known(k)
    axis = one_axis(axis, y.ndim)
    y = np.moveaxis(y, axis, 0)
    if x.shape[0] != y.shape[0]:
        raise ValueError("Shapes of x and y are incompatible")
    if not np.all(x[1:] > x[:-1]):
        raise ValueError("Expect x to be a 1D strictly increasing sequence.")
    if k == 0:
        return Spline(np.concatenate((x, x[-1:])), y.copy(), 0, True, axis)
    if k == 1 and t is None:
        return Spline(np.concatenate((x[:1], x, x[-1:])), y.copy(), 1, True, axis)
    first, last = end_conditions(bc_type, y[0])
    if t is not None:
        t = as_float(np.asarray(t))
    elif len(first) + len(last) == 0:
        t = inner_knots(x, k)
    else:
        t = with_ends(x, x[1:-1], k)
    return Spline(t, interpolated(t, k, x, y, first, last), k, True, axis)


def interpolated(t, k, x, y, first, last):
    """Coefficients of the spline with these knots through points, with derivatives at its ends."""
    n = t.shape[0] - k - 1
    if n != x.shape[0] + len(first) + len(last):
        raise ValueError("The number of derivatives at boundaries does not match the number of knots and points")
    band = np.zeros((n, 2 * k + 1), t.dtype)
    right = np.zeros((n, *y.shape[1:]), (y[:1] * x[0]).dtype)
    # Derivatives stand next to the points at the ends, which come first and last: no pivot is 0.
    collocation(t, k, x, len(first), len(last), band)
    right[0], right[-1] = y[0], y[-1]
    right[1 + len(first) : n - 1 - len(last)] = y[1:-1]
    for i in places(len(first)):
        order, value = first[i]
        found = basis(t, k, x[0], k, order)
        for j in places(k + 1):
            band[1 + i, k - 1 - i + j] = found[j]
        right[1 + i] = value
    for i in places(len(last)):
        order, value = last[i]
        found = basis(t, k, x[-1], n - 1, order)
        row = n - 1 - len(last) + i
        for j in places(k + 1):
            band[row, n - 1 - row + j] = found[j]
        right[row] = value
    return eliminated(band, k, right)
