"""`is` between ints: Python keeps one object for each small one."""

import numpy as np
import pytest

import diffjit as dj

STATES = {"solid": 1, "liquid": 2}


HALF = 0.5


def region(x):
    if x < 1.0:
        return 1
    return 2 if x < 2.0 else 3


def flow(x):
    state = region(x)
    if state is STATES["solid"]:
        return x**2
    if state is STATES["liquid"]:
        return 3.0 * x
    return x**3


def turns(x, n, m):
    total = 0.0
    for k in range(n):
        total += x**2 if k is m else x * (k is not n - 1)
    return total


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_small_ints(backend):
    for x, slope, bend in ((0.5, 1.0, 2.0), (1.5, 3.0, 0.0), (2.5, 18.75, 15.0)):
        assert dj.jit(flow, backend=backend)(x) == flow(x)
        assert dj.grad(flow, backend=backend)(x) == pytest.approx(slope)
        assert dj.grad(dj.grad(flow, backend=backend), backend=backend)(x) == pytest.approx(bend)
        assert dj.jvp(flow, (x,), (2.0,), backend=backend)[1] == pytest.approx(2 * slope)
    lanes = dj.vmap(flow, backend=backend)(np.array([0.5, 1.5, 2.5]))
    np.testing.assert_allclose(lanes, [flow(x) for x in (0.5, 1.5, 2.5)])
    for n, m in ((5, 2), (5, 9), (0, 0), (4, -5), (100, 50)):
        assert dj.jit(turns, backend=backend)(1.3, n, m) == pytest.approx(turns(1.3, n, m))


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_large_ints(backend):
    assert dj.jit(turns, backend=backend)(1.3, 3, 1000) == turns(1.3, 3, 1000)
    with pytest.raises(NotImplementedError, match="between equal ints outside of -5 to"):
        dj.grad(turns, backend=backend)(1.3, 1002, 1000)


def test_others_are_refused():
    with pytest.raises(dj.UnsupportedSyntax, match="two run-time values"):
        dj.jit(lambda x: x if x is HALF else 1.0)(3.0)
    with pytest.raises(dj.UnsupportedSyntax, match="two run-time values"):
        dj.jit(lambda x, y: x if x is y else 1.0)(3.0, 4.0)
