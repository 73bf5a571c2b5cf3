"""Graphs by SciPy's names: SciPy's own code finds parts, orders, trees and paths; lengths are sums of their edges."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph as graphs

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.sparse.makers import matrix_of
from diffjit.primitives.registry import implements


def graph_of(data, row, col, n):
    """SciPy's matrix of a graph's edges."""
    return scipy.sparse.coo_matrix((np.array(data), (np.array(row), np.array(col))), shape=(n, n)).tocsr()


def parts_by_scipy(data, row, col, n, directed, connection):
    """SciPy's parts."""
    count, labels = graphs.connected_components(graph_of(data, row, col, n), directed, connection)
    return int(count), labels.astype(np.int32)


PARTS = foreign(parts_by_scipy, result=lambda data, row, col, n, directed, connection: (0, np.zeros(n, np.int32)))


@implements(graphs.connected_components)
def connected_components(csgraph, directed=True, connection="weak", return_labels=True):
    """How many parts a graph has, and which one each node is in."""
    a = matrix_of(csgraph)
    count, labels = PARTS(*stop_gradient(a.entries()), a.shape[0], directed, connection)
    return (count, labels) if return_labels else count


def before_by_scipy(data, row, col, n, name, options):
    """For all pairs, the node before the last of the shortest path."""
    _, found = getattr(graphs, name)(graph_of(data, row, col, n), return_predecessors=True, **options)
    return found.astype(np.int32)


BEFORE = foreign(before_by_scipy, result=lambda data, row, col, n, name, options: np.zeros((n, n), np.int32))


def lengths(csgraph, name, options, directed, unweighted, return_predecessors):
    """How long the shortest paths between all pairs are."""
    a = matrix_of(csgraph)
    data, row, col = a.entries()
    n = a.shape[0]
    before = BEFORE(*stop_gradient((data, row, col)), n, name, options)
    edges = np.full((n, n), np.inf)
    for k in range(data.shape[0]):
        size = 1.0 if unweighted else data[k]
        edges[row[k], col[k]] = np.minimum(edges[row[k], col[k]], size)
        if not directed:
            edges[col[k], row[k]] = np.minimum(edges[col[k], row[k]], size)
    out = np.full((n, n), np.inf)
    for i in range(n):
        out[i, i] = 0.0
        for j in range(n):
            at, total = j, 0.0
            while at != i and before[i, at] >= 0:
                total += edges[before[i, at], at]
                at = before[i, at]
            if at == i:
                out[i, j] = total
    return (out, before) if return_predecessors else out


def without(name, indices, min_only=False, limit=np.inf):
    """Raise for parts of all pairs."""
    if indices is not None or min_only or limit != np.inf:
        raise NotImplementedError(f"scipy.sparse.csgraph.{name} of some pairs: take them of all")


@implements(graphs.shortest_path)
def shortest_path(
    csgraph, method="auto", directed=True, return_predecessors=False, unweighted=False, overwrite=False, indices=None
):
    """How long the shortest paths are."""
    without("shortest_path", indices)
    options = {"method": method, "directed": directed, "unweighted": unweighted}
    return lengths(csgraph, "shortest_path", options, directed, unweighted, return_predecessors)


@implements(graphs.dijkstra)
def dijkstra(
    csgraph, directed=True, indices=None, return_predecessors=False, unweighted=False, limit=np.inf, min_only=False
):
    """How long the shortest paths are, by Dijkstra's method."""
    without("dijkstra", indices, min_only, limit)
    options = {"directed": directed, "unweighted": unweighted}
    return lengths(csgraph, "dijkstra", options, directed, unweighted, return_predecessors)


@implements(graphs.floyd_warshall)
def floyd_warshall(csgraph, directed=True, return_predecessors=False, unweighted=False, overwrite=False):
    """How long the shortest paths are, by the method of Floyd and Warshall."""
    options = {"directed": directed, "unweighted": unweighted}
    return lengths(csgraph, "floyd_warshall", options, directed, unweighted, return_predecessors)


ORDER = foreign(
    lambda data, row, col, n, symmetric: graphs.reverse_cuthill_mckee(graph_of(data, row, col, n), symmetric).astype(
        np.int32
    ),
    result=lambda data, row, col, n, symmetric: np.zeros(n, np.int32),
)


@implements(graphs.reverse_cuthill_mckee)
def reverse_cuthill_mckee(graph, symmetric_mode=False):
    """An order of nodes that makes a matrix narrow."""
    a = matrix_of(graph)
    return ORDER(*stop_gradient(a.entries()), a.shape[0], symmetric_mode)
