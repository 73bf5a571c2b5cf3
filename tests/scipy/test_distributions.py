"""Distributions of SciPy, named and frozen, against SciPy itself and difference quotients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import stats

import diffjit as dj

POINTS = np.array([0.3, 0.8])
CONTINUOUS = {
    "gumbel_r": (), "gumbel_l": (), "logistic": (), "halfnorm": (), "rayleigh": (), "expon": (), "laplace": (),
    "weibull_min": (1.7,), "pareto": (2.6,), "powerlaw": (1.6,), "invweibull": (1.6,),
    "exponweib": (2.9, 1.9), "genlogistic": (0.4,), "gompertz": (0.9,), "loglaplace": (3.2,), "bradford": (0.3,),
}  # fmt: skip
DISCRETE = {"geom": (0.4,), "poisson": (2.3,), "planck": (0.5,)}
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf")


def drawn(family: Any, method: str, shapes: Any) -> Any:
    return POINTS if method == "ppf" else family.ppf(POINTS, *shapes, 0.1, 1.2)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    family, shapes = getattr(stats, name), CONTINUOUS[name]
    for method in METHODS:
        call = getattr(family, method)
        args = (drawn(family, method, shapes), *shapes, 0.1, 1.2)
        np.testing.assert_allclose(dj.jit(call, backend="python")(*args), call(*args), rtol=1e-10)
        dj.check_grads(lambda *a, call=call: np.sum(call(*a)), args, order=1, backend="python", rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    family, shapes = getattr(stats, name), DISCRETE[name]
    counts = family.ppf(POINTS, *shapes).astype(int)
    for method in ("pmf", "logpmf", "cdf", "sf"):
        call = getattr(family, method)
        program = lambda *a, call=call: np.sum(call(counts, *a))
        np.testing.assert_allclose(dj.jit(program, backend="python")(*shapes), program(*shapes), rtol=1e-10)
        dj.check_grads(program, shapes, order=1, backend="python", rtol=2e-5, atol=2e-6)


def test_outside_of_the_support() -> None:
    x = np.array([-1.0, 0.0, 0.5, 2.0])
    for family in (stats.powerlaw, stats.kumaraswamy if hasattr(stats, "kumaraswamy") else stats.bradford):
        shapes = (1.6,) * family.numargs
        for method in ("pdf", "logpdf", "cdf", "sf"):
            call = getattr(family, method)
            with np.errstate(all="ignore"):
                found = dj.jit(call, backend="python")(x, *shapes)
            np.testing.assert_allclose(found, call(x, *shapes), rtol=1e-14)  # the last bit is the processor's
    slope = dj.grad(lambda a: np.sum(stats.powerlaw.pdf(x, a)), backend="python")(1.6)
    assert slope == pytest.approx(0.5**0.6 * (1 + 1.6 * np.log(0.5)))
    assert np.isnan(dj.jit(lambda s: stats.gumbel_r.pdf(0.3, 0.0, s), backend="python")(-1.0))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_frozen(backend: str) -> None:
    outside = stats.weibull_min(1.7, scale=1.2)

    def inside(c: float, scale: float) -> float:
        frozen = stats.weibull_min(c, scale=scale)
        return np.sum(frozen.logpdf(POINTS)) + frozen.cdf(0.4) + frozen.ppf(0.3) + frozen.entropy()

    def of_outside(x: float) -> float:
        return outside.logpdf(x) * outside.sf(x)

    assert dj.jit(inside, backend=backend)(1.7, 1.2) == pytest.approx(inside(1.7, 1.2), rel=1e-12)
    dj.check_grads(inside, (1.7, 1.2), order=2, backend=backend)
    dj.check_grads(of_outside, (0.7,), order=2, backend=backend)


def test_keywords_and_lanes() -> None:
    program = lambda x, s: stats.gumbel_r.logpdf(x, scale=s, loc=0.2)
    x = np.linspace(-1.0, 2.0, 4)
    np.testing.assert_allclose(dj.vmap(program, (0, None), backend="python")(x, 1.3), program(x, 1.3))


def test_draws() -> None:
    for family, shapes in ((stats.norm, ()), (stats.gumbel_r, ()), (stats.gamma, (2.3,)), (stats.poisson, (2.3,))):
        draw = lambda *a, family=family: family.rvs(*a, size=4, random_state=5)
        np.testing.assert_array_equal(dj.jit(draw, backend="python")(*shapes, 0.5), draw(*shapes, 0.5))
    stream = np.random.default_rng(3)
    wanted = stats.expon.rvs(scale=1.3, size=3, random_state=np.random.default_rng(3))
    found = dj.jit(lambda s, rng: stats.expon.rvs(scale=s, size=3, random_state=rng), backend="python")(1.3, stream)
    np.testing.assert_array_equal(found, wanted)
    slope = dj.grad(lambda s: np.sum(stats.gumbel_r.rvs(0.0, s, size=3, random_state=5)), backend="python")(1.3)
    assert slope == pytest.approx(np.sum(stats.gumbel_r.rvs(size=3, random_state=5)))


def test_what_has_no_formula_is_refused() -> None:
    with pytest.raises(dj.UnsupportedSyntax, match="SciPy has no formula for"):
        dj.jit(lambda a: stats.burr.entropy(a * np.ones(2), 0.4), backend="python")(1.3)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
