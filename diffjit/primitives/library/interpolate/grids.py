"""Interpolants between neighbours on a line or a grid: `interp1d`, `RegularGridInterpolator`, `interpn`."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalCall=false

from __future__ import annotations

import numpy as np
import scipy.interpolate

from diffjit.primitives.library.axes import as_float, one_axis, places
from diffjit.primitives.library.interpolate.pieces import places_moved
from diffjit.primitives.library.interpolate.splines import make_interp_spline
from diffjit.primitives.registry import implements

NEIGHBOURS = ("linear", "nearest", "nearest-up", "previous", "next")


def degree_of(kind):
    """The degree of the spline that a kind asks for; None where it asks for neighbours."""
    if kind == "zero":
        return 0
    if kind == "slinear":
        return 1
    if kind == "quadratic":
        return 2
    if kind == "cubic":
        return 3
    if isinstance(kind, str) and kind not in NEIGHBOURS:
        raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
    return None if isinstance(kind, str) else kind


def lower_place(x, points):
    """The interval that a point lies in, or the nearest one."""
    return np.minimum(np.maximum(np.searchsorted(x, points, side="right") - 1, 0), x.shape[0] - 2)


@implements(scipy.interpolate.interp1d)
class Interp1d:
    """An interpolant along one axis."""

    stands_for = scipy.interpolate.interp1d

    def __init__(
        self, x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False
    ):  # fmt: skip
        x, y = as_float(np.asarray(x)), as_float(np.asarray(y))
        axis = one_axis(axis, y.ndim)
        if x.shape[0] != y.shape[axis]:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if not assume_sorted:
            order = np.argsort(x, kind="stable")
            x, y = x[order], np.take(y, order, axis=axis)
        extrapolating = isinstance(fill_value, str)
        if extrapolating and fill_value != "extrapolate":
            raise ValueError("fill_value must be numbers, or 'extrapolate'")
        if extrapolating and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        degree = degree_of(kind)
        self.x, self.y, self.axis = x, y, axis
        self.bounds_error = (not extrapolating) if bounds_error is None else bounds_error
        self.fill_value = fill_value
        if degree is not None:
            self.kind, self.spline = "spline", make_interp_spline(x, np.moveaxis(y, axis, 0), degree)
        else:
            self.kind, self.spline = kind, None
        if extrapolating and kind == "previous":
            self.fill_value = (np.nan, np.take(y, -1, axis=axis))
        if extrapolating and kind == "next":
            self.fill_value = (np.take(y, 0, axis=axis), np.nan)

    def __call__(self, x):
        """Values at points."""
        points, knots = as_float(np.asarray(x)), self.x
        rows = np.moveaxis(self.y, self.axis, 0)
        below, above = points < knots[0], points > knots[-1]
        if self.bounds_error and (np.any(below) or np.any(above)):
            raise ValueError("A value in x_new is outside of the interpolation range.")
        found = self.inside(points, rows)
        if not isinstance(self.fill_value, str):
            first, last = self.fill_value if isinstance(self.fill_value, tuple) else (self.fill_value, self.fill_value)
            shape = points.shape + (1,) * (rows.ndim - 1)
            found = np.where(np.reshape(below, shape), first, np.where(np.reshape(above, shape), last, found))
        return places_moved(np.asarray(found), points.ndim, self.axis)

    def inside(self, points, rows):
        """Values at points, as if none were outside."""
        x, kind, n = self.x, self.kind, self.x.shape[0]
        if kind == "spline":
            return np.reshape(self.spline(points), points.shape + rows.shape[1:])
        if kind == "linear":
            at = lower_place(x, points)
            share = (points - x[at]) / (x[at + 1] - x[at])
            low = rows[at]
            return low + np.reshape(share, points.shape + (1,) * (rows.ndim - 1)) * (rows[at + 1] - low)
        if kind == "previous":
            return rows[np.maximum(np.searchsorted(x, points, side="right") - 1, 0)]
        if kind == "next":
            return rows[np.minimum(np.searchsorted(x, points), n - 1)]
        half = x / 2.0
        side = "left" if kind == "nearest" else "right"
        return rows[np.searchsorted(half[1:] + half[:-1], points, side=side)]


def coordinates(xi, ndim):
    """Points, their coordinates along the last axis."""
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*(as_float(np.asarray(p)) for p in xi)), axis=-1)
    xi = as_float(np.asarray(xi))
    return np.reshape(xi, (-1, ndim)) if xi.ndim == 1 else xi


@implements(scipy.interpolate.RegularGridInterpolator)
class RegularGridInterpolator:
    """An interpolant on a grid of any number of axes."""

    stands_for = scipy.interpolate.RegularGridInterpolator

    def __init__(
        self, points, values, method="linear", bounds_error=True, fill_value=np.nan, *, solver=None, solver_args=None
    ):  # fmt: skip
        values = as_float(np.asarray(values))
        self.method = known_method(method)
        self.bounds_error, self.fill_value = bounds_error, fill_value
        grid = [as_float(np.asarray(p)) for p in points]
        for k in places(len(grid)):
            if grid[k].shape[0] != values.shape[k]:
                raise ValueError(f"There are {grid[k].shape[0]} points and {values.shape[k]} values on dimension {k}")
            if not np.all(grid[k][1:] > grid[k][:-1]):
                raise ValueError(f"The points in dimension {k} must be strictly ascending: turn them round")
        self.grid, self.values = tuple(grid), values

    def __call__(self, xi, method=None, *, nu=None):
        """Values at points."""
        if nu is not None:
            raise NotImplementedError("RegularGridInterpolator(nu=...), which is for splines: leave it out")
        method = known_method(self.method if method is None else method)
        grid, values = self.grid, self.values
        ndim = len(grid)
        xi = coordinates(xi, ndim)
        rest = values.shape[ndim:]
        at, share, outside = located(grid, xi, self.bounds_error)
        if method == "nearest":
            found = values[tuple(np.where(share[k] <= 0.5, at[k], at[k] + 1) for k in places(ndim))]
        else:
            shape = xi.shape[:-1] + (1,) * len(rest)
            found = blended(values, at, [np.reshape(s, shape) for s in share], ())
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(np.reshape(outside, xi.shape[:-1] + (1,) * len(rest)), self.fill_value, found)
        return np.asarray(found)


def known_method(method):
    """A method that is covered."""
    if method not in ("linear", "nearest"):
        raise NotImplementedError(
            f"RegularGridInterpolator(method={method!r}): 'linear' and 'nearest' are covered; RectBivariateSpline"
        )
    return method


def located(grid, xi, bounds_error):
    """Of points, the cell of each, their shares of its widths, and whether they are outside."""
    at, share = [], []
    outside = np.zeros(xi.shape[:-1], bool)
    for k in places(len(grid)):
        x, points = grid[k], xi[..., k]
        beyond = (points < x[0]) | (points > x[-1])
        if bounds_error and np.any(beyond):
            raise ValueError(f"One of the requested xi is out of bounds in dimension {k}")
        place = lower_place(x, points)
        at.append(place)
        share.append((points - x[place]) / (x[place + 1] - x[place]))
        outside = outside | beyond
    return at, share, outside


def blended(values, at, share, corner):
    """The corners of cells, weighed along one axis after the other."""
    k = len(corner)
    if k == len(at):
        return values[tuple(at[j] + corner[j] for j in places(k))]
    low = blended(values, at, share, (*corner, 0))
    return low + share[k] * (blended(values, at, share, (*corner, 1)) - low)


@implements(scipy.interpolate.interpn)
def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    """Values on a grid at points."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
