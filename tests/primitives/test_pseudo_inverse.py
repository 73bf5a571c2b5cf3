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


def complex_of(x):
    return np.outer(x, np.sin(x[:3]) + 1j * x[1:]) + 1j * W[:4, :3]


def complex_triangle(x):
    q, r = np.linalg.qr(complex_of(x))
    return np.sum(np.real(q) * W[:4, :3]) + np.sum(np.abs(r) ** 2 * W[:3, :3]) + np.sum(np.imag(r) * W[:3, 3:6])


def complex_inverse(x):
    return np.sum(np.real(np.linalg.pinv(complex_of(x)) * (W[:3, :4] - 2j)))


def complex_of_low_rank(x):
    return np.sum(np.real(np.linalg.pinv(np.outer(np.exp(1j * x), x[:3] - 1j)) * (W[:3, :4] + 1j)))


def complex_nearest(x):
    return np.sum(np.abs(np.linalg.lstsq(complex_of(x), np.cos(x), rcond=None)[0]) ** 2)


PROGRAMS = [one, two, wide, nothing, stacked, nearest, complex_triangle, complex_inverse, complex_of_low_rank]


@pytest.mark.parametrize("program", [*PROGRAMS, complex_nearest], ids=lambda f: f.__name__)
def test_derivatives(program):
    h = 1e-6
    gradient = dj.grad(program, backend="python")
    slope = np.array([(program(X + h * e) - program(X - h * e)) / (2 * h) for e in np.eye(4)])
    np.testing.assert_allclose(dj.jit(program, backend="python")(X), program(X), rtol=1e-10)
    np.testing.assert_allclose(gradient(X), slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dj.jvp(program, (X,), (X,), backend="python")[1], slope @ X, rtol=1e-5, atol=1e-6)
    curvature = [(gradient(X + h * e) - gradient(X - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(dj.hessian(program, backend="python")(X), curvature, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("program", [two, complex_triangle], ids=lambda f: f.__name__)
def test_compiled(program):
    np.testing.assert_allclose(dj.grad(program)(X), dj.grad(program, backend="python")(X), rtol=1e-8)


def test_compiled_least_squares():
    found, wanted = (f(np.outer(X, X[:3]), X) for f in (dj.jit(solved), solved))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def solved(a, b):
    x, left, rank, _ = np.linalg.lstsq(a, b, rcond=None)
    return x, left, rank
