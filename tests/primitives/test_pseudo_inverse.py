"""Pseudo-inverses and least squares of matrices of lower rank: derivatives among matrices of the same rank."""

import numpy as np
import pytest

import diffjit as dj

RNG = np.random.default_rng(1)
W = RNG.normal(size=(7, 7))
X = RNG.normal(size=4)


def one(x):
    return np.sum(np.linalg.pinv(np.outer(x, x[:3])) * W[:3, :4])


def two(x):
    return np.sum(np.linalg.pinv(np.outer(x, x[:3]) + np.outer(x**2, np.sin(x[1:]))) * W[:3, :4])


def wide(x):
    return np.sum(np.linalg.pinv(np.outer(x[:2], x) + np.outer(x[:2] * 2, x)) * W[:4, :2])


def nothing(x):
    return np.sum(np.linalg.pinv(0 * np.outer(x, x[:3]))) + np.sum(x**2)


def stacked(x):
    low = np.outer(x, x[:3])
    return np.sum(np.linalg.pinv(np.stack([low, low + W[:4, :3]])) * W[:3, :4])


def nearest(x):
    solution, _, rank, _ = np.linalg.lstsq(np.outer(x, x[:3]), np.cos(x), rcond=None)
    return np.sum(solution**2) * rank


@pytest.mark.parametrize("program", [one, two, wide, nothing, stacked, nearest], ids=lambda f: f.__name__)
def test_derivatives(program):
    h = 1e-6
    gradient = dj.grad(program, backend="python")
    slope = np.array([(program(X + h * e) - program(X - h * e)) / (2 * h) for e in np.eye(4)])
    np.testing.assert_allclose(dj.jit(program, backend="python")(X), program(X), rtol=1e-10)
    np.testing.assert_allclose(gradient(X), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dj.jvp(program, (X,), (X,), backend="python")[1], slope @ X, rtol=1e-5, atol=1e-6)
    curvature = [(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(dj.hessian(program, backend="python")(X), curvature, rtol=1e-4, atol=1e-4)


def test_compiled():
    np.testing.assert_allclose(dj.grad(two)(X), dj.grad(two, backend="python")(X), rtol=1e-8)
    found, wanted = (f(np.outer(X, X[:3]), X) for f in (dj.jit(solved), solved))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def solved(a, b):
    x, left, rank, _ = np.linalg.lstsq(a, b, rcond=None)
    return x, left, rank
