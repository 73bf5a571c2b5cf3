"""Results of SciPy's functions are asked what they are and have: they answer as SciPy's do, or refuse the question."""

import collections.abc
from typing import NamedTuple

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import diffjit as dj
from diffjit.errors import DiffjitError


def minimum(x):
    return scipy.optimize.minimize(lambda p: ((p - x) ** 2).sum(), np.zeros(2), method="BFGS")


def root(x):
    return scipy.optimize.root_scalar(lambda t: t**3 - x, bracket=[0.0, 3.0])


def trajectory(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), [1.0])


@pytest.mark.parametrize("found", [minimum, root, trajectory])
def test_what_they_are(found):
    def program(x):
        r = found(x)
        known = isinstance(r, scipy.optimize.OptimizeResult), isinstance(r, dict), isinstance(r, tuple), callable(r)
        return (*known, isinstance(r, collections.abc.Mapping))

    assert dj.jit(program, backend="python")(1.5) == program(1.5)


def test_parts_by_name():
    def program(x):
        r = minimum(x)
        return r.get("fun"), r.get("x", None), "x" in r, getattr(r, "success", False), r["x"], type(r).__name__

    got, wanted = dj.jit(program, backend="python")(1.5), program(1.5)
    assert got[2:4] == wanted[2:4]
    assert got[-1] == wanted[-1]
    np.testing.assert_allclose(got[4], wanted[4], rtol=1e-6)


ASKED = {
    "hasattr": lambda x: (hasattr(minimum(x), "lowest_optimization_result"), x),
    "getattr": lambda x: (getattr(minimum(x), "maxcv", None), x),
    "get": lambda x: (minimum(x).get("maxcv"), x),
    "in": lambda x: ("maxcv" in minimum(x), x),
    "freedom": lambda x: getattr(scipy.stats.ttest_1samp(np.arange(4.0) * x, 0.0), "df", 0.0) * x,
    "kwds": lambda x: (hasattr(scipy.stats.norm(x), "kwds_"), x),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_only_those_of_scipy_may_have(name):
    with pytest.raises(DiffjitError, match="DJ118"):
        dj.jit(ASKED[name], backend="python")(1.5)


def test_under_a_try():
    def program(x):
        try:
            return x * scipy.stats.ttest_1samp(np.arange(4.0) * x, 0.0).df
        except AttributeError:
            return -x

    with pytest.raises(DiffjitError, match="DJ118"):
        dj.jit(program, backend="python")(1.5)


def test_a_result_that_is_returned_says_why_it_ended():
    assert dj.jit(minimum)(1.5).message == minimum(1.5).message


class Cell(NamedTuple):
    a: float
    WIDTH = 2.0


def test_names_of_classes_and_their_constants():
    def program(x):
        m, c = np.ma.array([x, 1.0], mask=[True, False]), Cell(x)
        return (
            type(m).__name__,
            type(np.poly1d([x])).__name__,
            c.WIDTH * x,
            c._fields,
            np.linalg.slogdet(np.eye(2) * x)._fields,
        )

    assert dj.jit(program, backend="python")(1.5) == program(1.5)
