"""Histograms of several axes, sets by their newer names, and what is asked of arrays: NumPy is the oracle."""

import cmath
import fractions

import numpy as np
import pytest

import diffjit as dj

POINTS = np.sin(np.arange(150.0)).reshape(50, 3) * 2
WEIGHTS = np.cos(np.arange(50.0))


def boxes(w):
    counts, edges = np.histogramdd(POINTS, bins=(3, 4, 2), weights=w * w)
    return np.sum(counts**2) + edges[1][2] * counts[1, 1, 1]


def densities(w):
    return np.sum(np.histogramdd((POINTS[:, 0], POINTS[:, 1]), bins=3, weights=w**2, density=True)[0] ** 2)


def given_edges(w):
    return np.sum(np.histogramdd(POINTS, bins=[np.linspace(-2, 2, 4)] * 3, weights=w)[0] ** 3)


def groups(w):
    found = np.unique_all(np.round(w) * w[0])
    counted, inverse = np.unique_counts(np.round(w)), np.unique_inverse(np.array([w[1], w[2], w[1]]))
    total = np.sum(found.values**2 * found.counts) + np.sum(found.indices) * w[3]
    return total + counted.counts[0] * w[0] + np.sum(inverse.values[inverse.inverse_indices] ** 2)


def questions(w):
    total = np.sum(w) * np.array_equiv(w, w[None]) + 3.0 * np.array_equiv(w, w[:2])
    total += w[0] * cmath.isclose(complex(w[0], 1), complex(w[0], 1 + 1e-12)) + w[1] * cmath.isfinite(w[0] + 1j)
    total += (w[2] if np.iterable(w) else 0.0) + (1.0 if np.iterable(w[0]) else w[1] ** 2) + np.iterable("a")
    return total * (2 if np.isfortran(w.reshape(5, 10)) else 1) + np.isfortran(w.reshape(5, 10).T) * w[4]


@pytest.mark.parametrize("f", [boxes, densities, given_edges, groups, questions])
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_as_numpy(f, backend):
    way = np.sin(3.0 * np.arange(50.0))
    slope = (f(WEIGHTS + 1e-6 * way) - f(WEIGHTS - 1e-6 * way)) / 2e-6
    assert dj.jit(f, backend=backend)(WEIGHTS) == pytest.approx(f(WEIGHTS), rel=1e-12)
    assert np.sum(dj.grad(f, backend=backend)(WEIGHTS) * way) == pytest.approx(slope, rel=1e-6)
    assert dj.jvp(f, (WEIGHTS,), (way,), backend=backend)[1] == pytest.approx(slope, rel=1e-6)


def test_refused():
    with pytest.raises(ValueError, match="dimension of bins"):
        dj.jit(lambda w: np.histogramdd(POINTS, bins=(3, 4), weights=w)[0])(WEIGHTS)


def test_scalars():
    def program(x):
        return tuple(map(np.isscalar, (x, 1, 1j, "a", b"a", None, [x], np.float32(x), fractions.Fraction(1, 2), True)))

    assert dj.jit(program, backend="python")(1.5) == program(1.5)


@pytest.mark.parametrize("asks", [np.shares_memory, np.may_share_memory])
def test_memory_is_not_asked_about(asks):
    """Which array is a copy of another one is not always as NumPy has it: no answer is better than another one."""

    def f(x):
        y = x * 2.0
        return np.sum(y) * (2.0 if asks(y, y[1:]) else 3.0)

    with pytest.raises(dj.UnsupportedSyntax, match="DJ118"):
        dj.jit(f)(np.ones(3))
