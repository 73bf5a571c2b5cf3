"""`out=` and `x += y`: what NumPy refuses to put into an array is refused, and what it takes is taken."""

import numpy as np
import pytest

import diffjit as dj


def product(u, x):
    np.multiply(x, 3.5, out=u)
    return u


def unsafe(u, x):
    np.multiply(x, 2.5, out=u, casting="unsafe")
    return u


def added(u, x):
    u += x
    return u


def scaled(u, x):
    u *= x
    return u


def where(u, x):
    np.add(x, 1, out=u, where=x > 0)
    return u


def greater(u, x):
    np.greater(x, 0, out=u)
    return u


def summed(u, x):
    np.sum(x, axis=0, out=u)
    return u


def chosen(u, x):
    u[np.array([0, 2])] += x
    return u


ROWS = [
    (product, np.zeros(3, int), np.ones(3)),
    (product, np.zeros(3), np.ones(3)),
    (product, np.zeros(3, "f4"), np.ones(3)),
    (product, np.zeros(3), np.ones((1, 3))),
    (product, np.zeros((2, 3)), np.ones(3)),
    (unsafe, np.zeros(3, int), np.ones(3)),
    (added, np.zeros(6), np.ones((1, 6))),
    (added, np.zeros((2, 3)), np.ones(3)),
    (added, np.zeros(3, int), np.ones(3)),
    (scaled, np.ones(3, int), 2),
    (scaled, np.ones(3, int), 2.0),
    (scaled, np.ones(3, "f4"), 2.0),
    (where, np.zeros(3), np.arange(3.0)),
    (where, np.zeros(3, int), np.arange(3.0)),
    (greater, np.zeros(3, bool), np.arange(3.0)),
    (greater, np.zeros(3), np.arange(3.0)),
    (summed, np.zeros(3), np.ones((2, 3))),
    (chosen, np.zeros(4), np.ones((1, 2))),
    (chosen, np.zeros(4), np.ones(2)),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_like_numpy(row, backend):
    f, u, x = ROWS[row]
    try:
        expected = f(u.copy(), x)
    except (TypeError, ValueError):
        with pytest.raises(dj.DiffjitError, match="DJ31"):
            dj.jit(f, backend=backend)(u.copy(), x)
    else:
        found = dj.jit(f, backend=backend)(u.copy(), x)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
