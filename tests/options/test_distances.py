"""Distances of `scipy.spatial`: Python's floats or NumPy's, of the width that SciPy's have."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
from scipy.spatial import distance

import diffjit as dj
from tests.options.modes import compared

U, V = np.array([0.3, 1.2, 0.7]), np.array([1.0, 0.4, 2.0])
W = np.array([1.0, 2.0, 0.5])
NAMES = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "jensenshannon",
    "minkowski", "sqeuclidean",
)  # fmt: skip
PAIRS = {
    "floats": (U, V),
    "narrow": (U.astype(np.float32), V.astype(np.float32)),
    "ints": (np.array([1, 2, 4]), np.array([2, 2, 1])),
    "lists": ([1.0, 2.0, 4.0], [2.0, 2.0, 1.0]),
    "same": (U, U),
}


def same(function, *args):
    found, wanted = dj.jit(function, backend="python")(*args), function(*args)
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if isinstance(wanted, np.float32) else 1e-7, atol=1e-15)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", NAMES)
def test_kinds_of_numbers(name, pair):
    same(getattr(distance, name), *PAIRS[pair])
    if name != "jensenshannon":
        same(lambda u, v: getattr(distance, name)(u, v, w=W), *PAIRS[pair])


def test_kinds_of_numbers_of_others():
    same(lambda u, v: distance.minkowski(u, v, 1), U, V)
    same(lambda u, v: distance.minkowski(u, v, 2), U, V)
    same(lambda u, v: distance.minkowski(u, v, 3), U, V)
    same(lambda u, v: distance.minkowski(u, v, np.inf), U, V)
    same(lambda u, v: distance.mahalanobis(u, v, 2.0 * np.eye(3)), U, V)
    same(lambda u, v: distance.seuclidean(u, v, [1.0, 2.0, 3.0]), U, V)


def divergence(x):
    apart = distance.jensenshannon(x, np.stack([V, U]), 2.0, axis=1, keepdims=True)
    return np.sum(apart**2) + distance.cdist(x, x[::-1], "jensenshannon")[0, 0] + distance.euclidean(x[0], V)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_in_every_mode(backend):
    compared(divergence, np.stack([U, 1.5 * V + U]), backend)
