"""Distributions of users' own classes, with one formula alone; what SciPy sums and integrates where there is none."""

# Signatures are those of users' own classes.
# pyright: reportIncompatibleMethodOverride=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import diffjit as dj

BACKENDS = ["python", pytest.param("numba", marks=pytest.mark.slow)]


class Power(stats.rv_continuous):
    """A density alone."""

    def _pdf(self, x: Any, k: Any) -> Any:
        return (k + 1.0) * x**k


class Kumaraswamy(stats.rv_continuous):
    """A distribution function alone."""

    def _cdf(self, x: Any, a: Any, b: Any) -> Any:
        return 1.0 - (1.0 - x**a) ** b


class Decay(stats.rv_continuous):
    """A density without an end, of an object that holds a number."""

    def __init__(self, rate: float, **named: Any) -> None:
        super().__init__(**named)
        self.rate = rate

    def _pdf(self, x: Any, c: Any) -> Any:
        return self.rate * c * np.exp(-self.rate * c * x)

    def scaled(self, x: Any, c: Any) -> Any:
        return self.pdf(x, c) / self.rate


class Counts(stats.rv_discrete):
    """Probabilities alone."""

    def _pmf(self, k: Any, mu: Any) -> Any:
        return np.exp(k * np.log(mu) - mu - special.gammaln(k + 1.0))


power = Power(a=0.0, b=1.0, name="power")
kumaraswamy = Kumaraswamy(a=0.0, b=1.0, name="kumaraswamy")
decay = Decay(1.5, a=0.0, name="decay")
counts = Counts(name="counts")
points = np.array([0.2, 0.5, 0.9])

EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "density": (lambda k: power.pdf(0.3 * k, k) + power.logpdf(0.5, k=k), lambda k: (
        (k + 1.0) * (0.3 * k) ** k + np.log(k + 1.0) + k * np.log(0.5)
    )),
    "frozen": (lambda k: power(k, loc=0.1 * k, scale=k).pdf(0.6), lambda k: (k + 1.0) * (0.6 / k - 0.1) ** k / k),
    "integrated": (lambda k: np.sum(power.cdf(points * k, k)) + power.sf(0.4, k), lambda k: (
        np.sum((points * k) ** (k + 1.0)) + 1.0 - 0.4 ** (k + 1.0)
    )),
    "quantile": (lambda k: power.ppf(0.3 * k, k), lambda k: (
        (0.3 * k) ** (1 / (k + 1.0))
    )),
    "moments": (lambda k: power.mean(k) + power.var(k, scale=k), lambda k: (
        (k + 1) / (k + 2) + k * k * ((k + 1) / (k + 3) - ((k + 1) / (k + 2)) ** 2)
    )),
    "entropy": (lambda k: power.entropy(k, scale=k), lambda k: k / (k + 1.0) - np.log(k + 1.0) + np.log(k)),
    "expectation": (lambda k: power.expect(np.exp, args=(1.0,), scale=k), lambda k: (
        2.0 * (np.exp(k) * (k - 1.0) + 1.0) / k**2
    )),
    "differentiated": (lambda a: np.sum(kumaraswamy.logpdf(points, a + 1.0, 3.0)), lambda a: np.sum(
        np.log(3.0 * (a + 1.0)) + a * np.log(points) + 2.0 * np.log(1.0 - points ** (a + 1.0))
    )),
    "survival": (lambda a: kumaraswamy.sf(a, 2.0, 3.0), lambda a: (1.0 - a**2) ** 3),
    "an attribute": (lambda c: decay.scaled(0.7, c) + decay.ppf(0.3, c), lambda c: (
        c * np.exp(-1.05 * c) - np.log(0.7) / (1.5 * c)
    )),
    "probabilities": (lambda mu: counts.pmf(2, mu) + counts.cdf(2, mu) + counts.sf(1, 2.0 * mu), lambda mu: (
        np.exp(-mu) * (1.0 + mu + mu**2) + 1.0 - np.exp(-2.0 * mu) * (1.0 + 2.0 * mu)
    )),
    "a sum": (lambda mu: counts(mu).mean() + counts.var(mu) + counts.expect(lambda k: k**3, (mu,)), lambda mu: (
        3.0 * mu + 3.0 * mu**2 + mu**3
    )),
    "counts of SciPy's": (lambda mu: stats.poisson(40.0 * mu).expect(lambda k: k**2), lambda mu: (
        40.0 * mu + 1600.0 * mu**2
    )),
    "entropy of counts": (stats.geom.entropy, lambda p: -(p * np.log(p) + (1 - p) * np.log(1 - p)) / p),
    "within limits": (lambda p: stats.geom.expect(args=(p,), lb=3, conditional=True), lambda p: 2.0 + 1.0 / p),
    "kurtosis alone": (lambda p: stats.binom.stats(9, p, moments="k"), lambda p: (
        (1 - 6 * p * (1 - p)) / (9 * p * (1 - p))
    )),
    "summed": (lambda b: stats.betabinom.cdf(1, 3, b, 1.0), lambda b: (
        special.beta(b, 4.0) / special.beta(b, 1.0) + 3.0 * special.beta(b + 1.0, 3.0) / special.beta(b, 1.0)
    )),
    "support": (lambda a: stats.truncnorm.support(-1.0, 2.0 * a, loc=a, scale=a)[1], lambda a: 2.0 * a * a + a),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXACT)
def test_what_has_a_formula_elsewhere(name: str, backend: str) -> None:
    function, exact = EXACT[name]
    at = 0.7
    np.testing.assert_allclose(exact(at), function(at), rtol=1e-7)  # SciPy itself
    value, slope = dj.value_and_grad(function, backend=backend)(at)
    np.testing.assert_allclose(value, exact(at), rtol=1e-8)
    np.testing.assert_allclose(slope, dj.grad(exact, backend="python")(at), rtol=1e-6)
    np.testing.assert_allclose(dj.jvp(function, (at,), (1.0,), backend=backend)[1], slope, rtol=1e-8)
    twice = dj.grad(dj.grad(exact, backend="python"), backend="python")(at)
    curved = dj.hvp(function, (at,), (1.0,), backend=backend)
    np.testing.assert_allclose(curved, twice, rtol=2e-5)


def test_an_attribute_that_changes() -> None:
    mine = Decay(1.5, a=0.0, name="mine")
    slope = dj.grad(lambda c: mine.logpdf(0.7, c), backend="python")
    assert np.isclose(slope(0.8), 1 / 0.8 - 1.05)
    mine.rate = 2.0
    assert np.isclose(slope(0.8), 1 / 0.8 - 1.4)


def test_compiled() -> None:
    slope = dj.grad(lambda k: power.logpdf(0.5, k) + counts.cdf(1, k))
    assert np.isclose(slope(0.7), 1 / 1.7 + np.log(0.5) - 0.7 * np.exp(-0.7))


@pytest.mark.parametrize("backend", BACKENDS)
def test_quantiles_of_counts_do_not_move(backend: str) -> None:
    def quantiles(p: Any) -> Any:
        return p * stats.binom.ppf(0.4, 9, p) + np.sum(counts.ppf(np.array([0.3, 0.9, 1.2]), 3.0 * p)[:2])

    value, slope = dj.value_and_grad(quantiles, backend=backend)(0.7)
    assert np.isclose(value, quantiles(0.7))
    assert slope == stats.binom.ppf(0.4, 9, 0.7)
