"""Options of searches for the nearest points."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
from scipy.spatial import KDTree, cKDTree

from tests.options.modes import compared

POINTS = np.random.default_rng(7).normal(size=(7, 2))
X = np.random.default_rng(8).normal(size=(3, 2))


def nearest(p):
    def program(x):
        far, _ = KDTree(POINTS).query(x, k=2, p=p)
        third, which = cKDTree(x).query(POINTS[:2] * 0.3, k=[1, 3], p=p)
        return np.sum(far**2) + np.sum(third * which) + KDTree(POINTS).query(x[0], p=p)[0]

    return program


def bounded(**given):
    def program(x):
        lengths, which = KDTree(POINTS).query(x, **given)
        return np.sum(np.where(np.isinf(lengths), 0.0, lengths) ** 2) + np.sum(which) * x[0, 0] + lengths.ndim

    return program


ROWS = {
    **{f"p = {p}": nearest(p) for p in (1.5, np.inf)},
    "bound": bounded(k=3, distance_upper_bound=0.8),
    "bound of one": bounded(distance_upper_bound=0.5),
    "more than there are": bounded(k=9),
    "the second": bounded(k=[2], p=1),
}


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    compared(ROWS[name], X, backend, order=2 if backend == "python" else 1)
