"""Nearest neighbours of `scipy.spatial`'s trees: which they are is constant, how far they are is not.

All points are looked at: in compiled loops that is as fast as a tree for some thousands of points.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.spatial

from diffjit.primitives.library.axes import as_float, root
from diffjit.primitives.library.spatial.distances import between
from diffjit.primitives.registry import implements


@implements(scipy.spatial.KDTree)
class KDTree:
    """Points that are asked for their nearest ones."""

    stands_for = scipy.spatial.KDTree

    def __init__(
        self, data, leafsize=10, compact_nodes=True, copy_data=False, balanced_tree=True, boxsize=None
    ):  # fmt: skip
        self.data, self.boxsize = as_float(np.asarray(data)), boxsize

    @property
    def n(self):
        """How many points there are."""
        return self.data.shape[0]

    @property
    def m(self):
        """How many numbers a point has."""
        return self.data.shape[1]

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        """Distances to the k nearest points, and which they are; to no point (number n) where none is near enough."""
        if self.boxsize is not None:
            raise NotImplementedError("KDTree(boxsize=...): repeat the points beyond the edges")
        if eps != 0:
            raise NotImplementedError("KDTree.query(eps=...): leave it out")
        x, points = as_float(np.asarray(x)), self.data
        if not np.all(np.isfinite(x)):
            raise ValueError("'x' must be finite, check for nan or inf values")
        n, flat = points.shape[0], np.reshape(x, (-1, points.shape[1]))
        ranks = np.arange(1, k + 1) if np.ndim(k) == 0 else np.asarray(k)
        if np.any(ranks < 1):
            raise ValueError("k must be an integer or a sequence of integers, 1 and more")
        found = np.full((flat.shape[0], ranks.shape[0]), n, np.intp)
        there = ranks <= n
        for i in range(flat.shape[0]):
            lengths = np.abs(points - flat[i])
            order = np.argsort(lengths_of(lengths, p), kind="stable")
            found[i, there] = order[ranks[there] - 1]
        gaps = np.abs(flat[:, None, :] - points[np.minimum(found, n - 1)])
        lengths = lengths_of(gaps, p)
        near = np.logical_and(found < n, lengths < distance_upper_bound)
        lengths, found = np.where(near, lengths, np.inf), np.where(near, found, n)
        shape = x.shape[:-1]
        if np.ndim(k) == 0 and k == 1:
            return np.reshape(lengths[:, 0], shape)[()], np.reshape(found[:, 0], shape)[()]
        return np.reshape(lengths, (*shape, ranks.shape[0])), np.reshape(found, (*shape, ranks.shape[0]))

    def query_ball_point(self, x, r, p=2.0, eps=0, workers=1, return_sorted=None, return_length=False):
        """The numbers of the points that are near enough, in their order: a list, or one for each of several points."""
        if self.boxsize is not None or eps != 0:
            raise NotImplementedError("KDTree.query_ball_point(eps=...) and boxsize: leave them out")
        x = as_float(np.asarray(x))
        if x.ndim > 2 or np.ndim(r) > 0:
            raise NotImplementedError("KDTree.query_ball_point of grids of points, or with several radii: use a loop")
        if x.ndim == 2:
            return [self.query_ball_point(x[i], r, p, return_length=return_length) for i in range(x.shape[0])]
        near = lengths_of(np.abs(self.data - x), p) <= r
        if return_length:
            return np.sum(near)
        found = []
        for j in range(self.data.shape[0]):
            if near[j]:
                found.append(j)  # noqa: PERF401 - a list that grows at run time
        return found

    def query_pairs(self, r, p=2.0, eps=0, output_type="set"):
        """The pairs of points that are near each other."""
        if self.boxsize is not None or eps != 0 or output_type != "set":
            raise NotImplementedError("KDTree.query_pairs(eps=..., output_type=...) and boxsize: leave them out")
        n, found = self.data.shape[0], set()
        for i in range(n):
            near = lengths_of(np.abs(self.data[i + 1 :] - self.data[i]), p) <= r
            for j in range(near.shape[0]):
                if near[j]:
                    found.add((i, i + 1 + j))
        return found


def lengths_of(gaps, p):
    """Minkowski's lengths of differences without signs, along the last axis."""
    if p == 1:
        return np.sum(gaps, axis=-1)
    if p == 2:
        return root(np.sum(gaps * gaps, axis=-1))
    return between(gaps, 0.0, "minkowski", {"p": p})


@implements(scipy.spatial.cKDTree)
class Tree(KDTree):
    """The same under its old name."""

    stands_for = scipy.spatial.cKDTree


@implements(scipy.spatial.distance_matrix)
def distance_matrix(x, y, p=2, threshold=1000000):
    """Distances between the points of two sets."""
    return scipy.spatial.distance.cdist(x, y, "minkowski", p=p)
