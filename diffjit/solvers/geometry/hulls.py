"""Convex hulls by SciPy's name: which points are on them is constant, their content and surface are not."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.spatial

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.registry import implements


def hull_of(points):
    """SciPy's hull."""
    return scipy.spatial.ConvexHull(np.asarray(points))


def sizes_by_scipy(points):
    """How many corners and facets a hull has."""
    made = hull_of(points)
    return len(made.vertices), len(made.simplices)


SIZES = foreign(sizes_by_scipy, result=lambda points: (0, 0))
VERTICES = foreign(
    lambda points, count: hull_of(points).vertices.astype(np.int32),
    result=lambda points, count: np.zeros(count, np.int32),
)
FACETS = foreign(
    lambda points, count: hull_of(points).simplices.astype(np.int32),
    result=lambda points, count: np.zeros((count, points.shape[1]), np.int32),
)


@implements(scipy.spatial.ConvexHull)
class ConvexHull:
    """The smallest convex body around points."""

    stands_for = scipy.spatial.ConvexHull

    def __init__(self, points, incremental=False, qhull_options=None):
        if incremental or qhull_options is not None:
            raise NotImplementedError("scipy.spatial.ConvexHull with options: leave them out")
        self.points = as_float(np.asarray(points))
        known = stop_gradient(self.points)
        corners, facets = SIZES(known)
        self.vertices, self.simplices = VERTICES(known, corners), FACETS(known, facets)
        ndim = self.points.shape[1]
        middle = stop_gradient(np.mean(self.points, axis=0))
        sides = self.points[self.simplices]
        self.volume = np.sum(np.abs(np.linalg.det(sides - middle))) / math.factorial(ndim)
        spans = np.stack([sides[:, k] - sides[:, 0] for k in places(ndim)[1:]], axis=1)
        squares = np.linalg.det(spans @ np.swapaxes(spans, 1, 2))
        there = squares > 0.0  # facets that lie in one plane may come in parts, some of which are empty
        roots = np.where(there, np.sqrt(np.where(there, squares, 1.0)), 0.0)
        self.area = np.sum(roots) / math.factorial(ndim - 1)

    @property
    def ndim(self):
        """How many coordinates points have."""
        return self.points.shape[1]
