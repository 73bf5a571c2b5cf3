"""What distributions give at infinity, at the ends of their support, for NaN, and for parameters of none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy import stats
from scipy.spatial import distance

import diffjit as dj
from diffjit import DiffjitError
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES

learn()

POINTS = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 0.3, 2.5])
CONTINUOUS: dict[Any, tuple[float, ...]] = {
    stats.norm: (), stats.expon: (), stats.uniform: (), stats.cauchy: (), stats.rayleigh: (), stats.laplace: (),
    stats.logistic: (), stats.gamma: (1.5,), stats.chi2: (3.0,), stats.beta: (2.0, 1.5), stats.t: (4.0,),
    stats.lognorm: (0.7,), stats.weibull_min: (1.4,), stats.invgamma: (2.5,), stats.betaprime: (2.0, 3.0),
}  # fmt: skip
DISCRETE: dict[Any, tuple[float, ...]] = {stats.poisson: (1.5,), stats.binom: (3, 0.4), stats.geom: (0.3,)}


def plain(family: Any, method: str) -> Any:
    """The function of the library for a method."""
    base = stats.rv_continuous if family in CONTINUOUS else stats.rv_discrete
    own = COMPOSITES.get(getattr(family, method))
    return own or (lambda *args, **named: COMPOSITES[getattr(base, method)](family, *args, **named))


@pytest.mark.parametrize("family", [*CONTINUOUS, *DISCRETE], ids=lambda family: family.name)
def test_edges_are_those_of_scipy(family: Any) -> None:
    shapes = {**CONTINUOUS, **DISCRETE}[family]
    density = "pdf" if family in CONTINUOUS else "pmf"
    none = [tuple(-abs(s) - 0.5 for s in shapes), (np.nan, *shapes[1:])] if shapes else []
    others = [{"scale": 0.0}, {"scale": -1.5}, {"loc": 0.5}] if family in CONTINUOUS else [{"loc": 1}]
    with np.errstate(all="ignore"):
        for method in (density, f"log{density}", "cdf", "sf", "logcdf", "logsf"):
            mine, theirs = plain(family, method), getattr(family, method)
            odd = family in DISCRETE and method in ("logcdf", "logsf")  # SciPy has values at infinity all the same
            for args in [shapes] if odd else [shapes, *none]:
                np.testing.assert_allclose(mine(POINTS, *args), theirs(POINTS, *args), 1e-8, err_msg=f"{method}{args}")
            for named in others:
                np.testing.assert_allclose(
                    mine(POINTS, *shapes, **named), theirs(POINTS, *shapes, **named), 1e-8, err_msg=f"{method} {named}"
                )


def likelihood(x: Any, a: Any, scale: Any) -> Any:
    return stats.gamma.logpdf(x, a, scale=scale)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_a_parameter_of_no_distribution(backend: str) -> None:
    x = np.array([0.5, np.nan, 2.0])
    value, tangent = dj.jvp(likelihood, (x, 1.5, 0.7), (np.ones(3), 0.3, 0.2), backend=backend)
    np.testing.assert_allclose(value, likelihood(x, 1.5, 0.7))
    h = 1e-6
    ahead, behind = likelihood(x + h, 1.5 + 0.3 * h, 0.7 + 0.2 * h), likelihood(x - h, 1.5 - 0.3 * h, 0.7 - 0.2 * h)
    np.testing.assert_allclose(tangent[[0, 2]], ((ahead - behind) / (2 * h))[[0, 2]], rtol=1e-7)
    pulled = dj.vjp(likelihood, x[[0, 2]], 1.5, 0.7, backend=backend)[1](np.array([1.0, 2.0]))
    np.testing.assert_allclose(np.sum(pulled[0]) + 0.3 * pulled[1] + 0.2 * pulled[2], tangent[0] + 2 * tangent[2])
    assert np.all(np.isnan(dj.jit(likelihood, backend=backend)(x, -0.5, 0.7)))
    assert np.all(np.isnan(dj.jit(likelihood, backend=backend)(x, 1.5, -0.7)))


def test_numbers_that_are_no_probabilities() -> None:
    with np.errstate(all="ignore"):
        for p, q in (
            ([-1.0, 2.0], [0.5, 0.5]),
            ([np.nan, 1.0], [1.0, 1.0]),
            ([0.5, 0.5], [0.0, 1.0]),
            ([0, 1], [0, 1]),
        ):
            x, y = np.array(p, float), np.array(q, float)
            assert np.array_equal(dj.jit(stats.entropy)(x), stats.entropy(x), equal_nan=True)
            assert np.array_equal(dj.jit(stats.entropy)(x, y), stats.entropy(x, y), equal_nan=True)
            mine = dj.jit(distance.jensenshannon)(x, y)
            np.testing.assert_allclose(mine, distance.jensenshannon(x, y), rtol=1e-12)
    assert np.isnan(dj.jit(stats.hmean)(np.array([-1.0, 2.0])))


@pytest.mark.parametrize("function", ["toeplitz", "hankel", "circulant", "polar"])
def test_stacks_are_refused(function: str) -> None:
    made = getattr(scipy.linalg, function)
    stack = np.ones((2, 2, 2)) if function == "polar" else np.ones((2, 2))
    with pytest.raises(DiffjitError, match="DJ118"):
        dj.jit(made)(stack)
