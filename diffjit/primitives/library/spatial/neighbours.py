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
from diffjit.primitives.registry import implements


@implements(scipy.spatial.KDTree)
class KDTree:
    """Points that are asked for their nearest ones."""

    stands_for = scipy.spatial.KDTree

    def __init__(
        self, data, leafsize=10, compact_nodes=True, copy_data=False, balanced_tree=True, boxsize=None
    ):  # fmt: skip
        self.data, self.boxsize = as_float(np.asarray(data)), boxsize

    def query(self, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        """Distances to the k nearest points, and which they are."""
        if self.boxsize is not None:
            raise NotImplementedError("KDTree(boxsize=...): repeat the points beyond the edges")
        if p != 2 or eps != 0:
            raise NotImplementedError("KDTree.query(p, eps): use cdist and argsort")
        if distance_upper_bound != np.inf:
            raise NotImplementedError("KDTree.query(distance_upper_bound=...): compare the distances")
        x, points = as_float(np.asarray(x)), self.data
        flat = np.reshape(x, (-1, points.shape[1]))
        if not isinstance(k, int):
            raise NotImplementedError("KDTree.query(k=[...]): ask for all, and take some")
        if k == 1:
            nearest = np.zeros(flat.shape[0], np.intp)
            for i in range(flat.shape[0]):
                nearest[i] = np.argmin(np.sum((points - flat[i]) ** 2, axis=1))
            gaps = flat - points[nearest]
            shape = x.shape[:-1]
            return np.reshape(root(np.sum(gaps * gaps, axis=-1)), shape)[()], np.reshape(nearest, shape)[()]
        if k > points.shape[0]:
            raise ValueError("KDTree.query of more neighbours than there are points")
        found = np.zeros((flat.shape[0], k), np.intp)
        for i in range(flat.shape[0]):
            found[i] = np.argsort(np.sum((points - flat[i]) ** 2, axis=1))[:k]
        gaps = flat[:, None, :] - points[found]
        shape = (*x.shape[:-1], k)
        return np.reshape(root(np.sum(gaps * gaps, axis=-1)), shape), np.reshape(found, shape)


@implements(scipy.spatial.cKDTree)
class Tree(KDTree):
    """The same under its old name."""

    stands_for = scipy.spatial.cKDTree


@implements(scipy.spatial.distance_matrix)
def distance_matrix(x, y, p=2, threshold=1000000):
    """Distances between the points of two sets."""
    return scipy.spatial.distance.cdist(x, y, "minkowski", p=p)
