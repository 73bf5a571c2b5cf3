"""Values between scattered points by SciPy's name, linear in each triangle.

In which triangle a place lies is constant: SciPy finds it. The value is a mean of those at the corners, whose weights
move with the points and the place.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.interpolate

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library import interpolate
from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.registry import implements
from diffjit.solvers.geometry.triangles import Delaunay, triangulated

assert interpolate  # which is read with this module


def corners_by_scipy(points, at, rescale):
    """The corners of the simplex that each place is in, and whether it is in one."""
    points, at = np.asarray(points), np.asarray(at)
    if rescale:
        low, size = points.min(axis=0), np.ptp(points, axis=0)
        size = np.where(size > 0, size, 1.0)
        points, at = (points - low) / size, (at - low) / size
    made = triangulated(points)
    found = made.find_simplex(at)
    return made.simplices[np.maximum(found, 0)].astype(np.int64), found >= 0


CORNERS = foreign(
    corners_by_scipy,
    result=lambda points, at, rescale: (
        np.zeros((at.shape[0], points.shape[1] + 1), np.int64), np.zeros(at.shape[0], bool)
    ),
)  # fmt: skip


def columns(points):
    """Points as the rows of an array, of coordinates each by itself too."""
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*[as_float(np.asarray(p)) for p in points]), axis=-1)
    return as_float(np.asarray(points))


def weights(points, at, corners, inside):
    """How much each corner counts at each place."""
    ndim = points.shape[1]
    last = points[corners[:, ndim]]
    sides = np.stack([points[corners[:, k]] - last for k in places(ndim)], axis=2)
    sides = np.where(inside[:, None, None], sides, np.eye(ndim))
    first = np.linalg.solve(sides, (at - last)[:, :, None])[:, :, 0]
    return np.concatenate((first, 1.0 - np.sum(first, axis=1, keepdims=True)), axis=1)


@implements(scipy.interpolate.LinearNDInterpolator)
class LinearNDInterpolator:
    """Values between scattered points, linear in each triangle."""

    stands_for = scipy.interpolate.LinearNDInterpolator

    def __init__(self, points, values, fill_value=np.nan, rescale=False):
        if isinstance(points, Delaunay):
            self.points = points.points
        else:
            given = columns(points)
            self.points = given[:, None] if given.ndim == 1 else given
        self.values, self.fill_value, self.rescale = as_float(np.asarray(values)), fill_value, rescale
        if self.points.shape[0] != self.values.shape[0]:
            raise ValueError("different number of values and points")

    def __call__(self, *args):
        """Values at places."""
        xi = columns(args if len(args) > 1 else args[0])
        ndim = self.points.shape[1]
        at = np.reshape(xi, (-1, ndim))
        corners, inside = CORNERS(stop_gradient(self.points), stop_gradient(at), self.rescale)
        shares = weights(self.points, at, corners, inside)
        ones = (1,) * (self.values.ndim - 1)
        out = 0.0
        for k in places(ndim + 1):
            out = out + np.reshape(shares[:, k], (-1, *ones)) * self.values[corners[:, k]]
        out = np.where(np.reshape(inside, (-1, *ones)), out, self.fill_value)
        return np.reshape(out, xi.shape[:-1] + self.values.shape[1:])
