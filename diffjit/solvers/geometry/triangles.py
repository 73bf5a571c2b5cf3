"""Triangles between scattered points, and values between them, by SciPy's names.

Which points make a triangle, and in which one a place lies, is constant: SciPy's own code finds it. The value in
between is a mean of those at the corners, whose weights move with the points and the place.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.registry import implements

KEPT: list[Any] = []  # the last triangulations, by their points


def triangulated(points):
    """SciPy's triangulation, found again for the same points."""
    points = np.array(points)
    for known, made in tuple(KEPT):
        if known.shape == points.shape and np.array_equal(known, points):
            return made
    made = scipy.spatial.Delaunay(points)
    KEPT[:] = [(points, made), *KEPT[:3]]
    return made


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
COUNT = foreign(lambda points: len(triangulated(points).simplices), result=int)
SIMPLICES = foreign(
    lambda points, count: triangulated(points).simplices.astype(np.int32),
    result=lambda points, count: np.zeros((count, points.shape[1] + 1), np.int32),
)
NEIGHBOURS = foreign(
    lambda points, count: triangulated(points).neighbors.astype(np.int32),
    result=lambda points, count: np.zeros((count, points.shape[1] + 1), np.int32),
)
PLACED = foreign(
    lambda points, at: triangulated(points).find_simplex(np.asarray(at)).astype(np.int32),
    result=lambda points, at: np.zeros(at.shape[0], np.int32),
)


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


@implements(scipy.spatial.Delaunay)
class Delaunay:
    """Triangles between points, none of which has another point in its circle."""

    stands_for = scipy.spatial.Delaunay

    def __init__(self, points, furthest_site=False, incremental=False, qhull_options=None):
        if furthest_site or incremental or qhull_options is not None:
            raise NotImplementedError("scipy.spatial.Delaunay with options: leave them out")
        self.points = as_float(np.asarray(points))
        known = stop_gradient(self.points)
        count = COUNT(known)
        self.simplices, self.neighbors = SIMPLICES(known, count), NEIGHBOURS(known, count)

    @property
    def ndim(self):
        """How many coordinates points have."""
        return self.points.shape[1]

    @property
    def npoints(self):
        """How many points there are."""
        return self.points.shape[0]

    @property
    def nsimplex(self):
        """How many triangles there are."""
        return self.simplices.shape[0]

    def find_simplex(self, xi, bruteforce=False, tol=None):
        """Which triangle each place is in, -1 for none."""
        if tol is not None:
            raise NotImplementedError("Delaunay.find_simplex(tol=...): leave it out")
        at = as_float(np.asarray(xi))
        found = PLACED(stop_gradient(self.points), stop_gradient(np.reshape(at, (-1, self.points.shape[1]))))
        return np.reshape(found, at.shape[:-1])[()]
