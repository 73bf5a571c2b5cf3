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
