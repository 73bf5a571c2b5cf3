"""Triangles between scattered points by SciPy's name: which points make one is constant, SciPy's own code finds it."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float
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
