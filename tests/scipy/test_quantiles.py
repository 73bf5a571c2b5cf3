"""Distribution functions and quantiles by their shapes, quantiles by search, moments: quotients, SciPy, JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sc
from scipy import integrate, stats

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.library.stats import families
from diffjit.primitives.registry import COMPOSITES
from tests.scipy import sample_rows  # noqa: F401 - adds its rows
from tests.scipy.rows import ROWS

U = np.array([0.3, 0.9, 2.1, 5.0, 14.0])
A = np.array([1.4, 0.6, 2.2, 5.1, 9.0])
B = np.array([0.7, 2.3, 1.1, 4.0, 0.9])
Y = np.array([0.12, 0.5, 0.77, 0.93, 0.3])
K = np.array([1.0, 2.0, 4.0, 0.0, 5.0])

SPECIAL: dict[str, tuple[Any, ...]] = {
    "gammainc": (A, U), "gammaincc": (A, U), "gammaincinv": (A, Y), "gammainccinv": (A, Y), "betainc": (A, B, Y),
    "betaincc": (A, B, Y), "betaincinv": (A, B, Y), "betainccinv": (A, B, Y), "chdtr": (A, U), "chdtrc": (A, U),
    "chdtri": (A, Y), "gdtr": (B, A, U), "gdtrc": (B, A, U), "gdtrix": (B, A, Y), "stdtr": (A, U - 2.0),
    "stdtrit": (A, Y), "fdtr": (A, B, U), "fdtrc": (A, B, U), "fdtri": (A, B, Y),
}  # fmt: skip
FAMILIES: dict[str, tuple[float, ...]] = {
    "beta": (1.4, 2.3), "t": (2.7,), "f": (2.4, 5.1), "gamma": (1.7,), "chi2": (3.2,), "cauchy": (),
    "betaprime": (1.4, 2.3), "gengamma": (1.4, 0.7), "invgamma": (2.2,), "nakagami": (1.3,), "pearson3": (0.8,),
    "argus": (1.3,), "exponnorm": (1.5,), "foldcauchy": (1.2,), "foldnorm": (1.1,), "recipinvgauss": (0.8,),
    "rel_breitwigner": (2.5,), "dpareto_lognorm": (0.5, 1.1, 1.5, 2.0),
}  # fmt: skip
SEARCHED = ("argus", "exponnorm", "foldcauchy", "foldnorm", "recipinvgauss", "rel_breitwigner")
MOMENTS: dict[str, tuple[float, ...]] = {
    "norm": (), "gamma": (1.7,), "beta": (1.4, 2.3), "t": (5.5,), "f": (2.4, 19.1), "lognorm": (0.4,), "expon": (),
    "weibull_min": (1.7,), "gumbel_r": (), "logistic": (), "uniform": (), "invgamma": (5.2,), "rayleigh": (),
    "triang": (0.3,), "powerlaw": (1.6,), "loggamma": (1.3,), "genextreme": (0.1,), "betaprime": (2.4, 6.3),
}  # fmt: skip


def total(function: Any) -> Any:
    return lambda *args: np.sum(np.sin(function(*args)) + function(*args) ** 2)


def equal(function: Any, args: tuple[Any, ...], order: int = 2) -> None:
    """Values under both backends, and derivatives by all arguments."""
    wanted = function(*args)
    for backend in ("python", "numba"):
        np.testing.assert_allclose(dj.jit(function, backend=backend)(*args), wanted, rtol=1e-9, atol=1e-12)
    dj.check_grads(total(function), args, order=order, backend="python", rtol=5e-5, atol=5e-5)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name: str) -> None:
    f = getattr(sc, name)
    equal(lambda *args: f(*args), SPECIAL[name])


@pytest.mark.parametrize("name", ["gammainc", "betainc", "stdtr", "gammaincinv", "fdtri"])
def test_special_compiled_and_in_lanes(name: str) -> None:
    f, args = getattr(sc, name), SPECIAL[name]
    plain = dj.grad(total(lambda *args: f(*args)), argnums=(0, len(args) - 1), backend="python")
    found = dj.grad(total(lambda *args: f(*args)), argnums=(0, len(args) - 1))(*args)
    for one, other in zip(found, plain(*args), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    lanes = dj.vmap(plain)(*(np.stack((a, 0.9 * a)) for a in args))
    np.testing.assert_allclose(lanes[0], [plain(*(s * a for a in args))[0] for s in (1.0, 0.9)], rtol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_shapes_of_all_sizes(seed: int) -> None:
    """By quotients of SciPy's own functions, in the units of what they change by."""
    rng = np.random.default_rng(seed)
    a, b = 10.0 ** rng.uniform(-1, 2.5, 50), 10.0 ** rng.uniform(-1, 2.5, 50)
    q = rng.uniform(0.02, 0.98, 50)
    for f, x in (
        (lambda a, x: sc.gammainc(a, x), sc.gammaincinv(a, q)),
        (lambda a, x: sc.stdtr(a, x), sc.stdtrit(a, q)),
        (lambda a, x: sc.betainc(a, b, x), sc.betaincinv(a, b, q)),
        (lambda a, x: sc.betainc(b, a, x), sc.betaincinv(b, a, q)),
    ):
        h = 1e-4 * a
        wanted = (8 * (f(a + h, x) - f(a - h, x)) - f(a + 2 * h, x) + f(a - 2 * h, x)) / (12 * h)
        found = dj.jvp(f, (a, x), (np.ones(50), np.zeros(50)), backend="python")[1]
        np.testing.assert_allclose(found * a, wanted * a, rtol=1e-6, atol=1e-8)


def test_at_the_middle_and_the_ends() -> None:
    by_v = dj.grad(lambda v, t: sc.stdtr(v, t), backend="python")
    assert by_v(2.5, 0.0) == 0.0
    for t in (1e-9, -1e-6, 1e-3):
        h = 1e-3
        slope = (stats.t.pdf(0.0, 2.5 + h) - stats.t.pdf(0.0, 2.5 - h)) / (2 * h)
        assert by_v(2.5, t) == pytest.approx(slope * t, rel=1e-5)
    assert dj.grad(lambda a: sc.gammainc(a, 0.0), backend="python")(1.5) == 0.0
    for x in (0.0, 1.0):
        assert dj.grad(lambda a, x=x: sc.betainc(a, 2.0, x), backend="python")(1.5) == 0.0
    assert dj.grad(lambda a: stats.gamma.cdf(-1.0, a), backend="python")(1.5) == 0.0


def test_as_jax_has_it() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        theirs = jax.grad(lambda a: jax.numpy.sum(jax.scipy.special.gammainc(a, U)))(A)
    np.testing.assert_allclose(dj.grad(lambda a: np.sum(sc.gammainc(a, U)))(A), theirs, rtol=1e-8)


@pytest.mark.parametrize("name", [name for name in FAMILIES if hasattr(stats, name)])
def test_families(name: str) -> None:
    """Quantile, and what it is the inverse of, by all parameters."""
    family, shapes = getattr(stats, name), FAMILIES[name]
    order = 2 if name in ("beta", "t", "gamma", "foldnorm") else 1
    equal(lambda *args: family.ppf(*args), (Y, *shapes, 0.1, 1.3), order)
    equal(lambda *args: family.isf(*args), (Y, *shapes, 0.1, 1.3), 1)
    point = family.ppf(Y, *shapes, 0.1, 1.3)
    equal(lambda *args: family.cdf(*args), (point, *shapes, 0.1, 1.3), order)
    ends = np.array([0.0, 1.0, 1.5])
    np.testing.assert_allclose(
        dj.jit(lambda q: family.ppf(q, *shapes), backend="python")(ends), family.ppf(ends, *shapes)
    )


@pytest.mark.parametrize("name", SEARCHED)
def test_searched_quantiles_invert(name: str) -> None:
    """d ppf / dq is 1 / pdf, compiled too, and in lanes."""
    family, shapes = getattr(stats, name), FAMILIES[name]
    slope = dj.grad(lambda q: family.ppf(q, *shapes))
    for q in (0.05, 0.6):
        assert slope(q) == pytest.approx(1 / family.pdf(family.ppf(q, *shapes), *shapes), rel=1e-6)
    lanes = dj.vmap(lambda q: family.ppf(q, *shapes), backend="python")(Y)
    np.testing.assert_allclose(lanes, family.ppf(Y, *shapes), rtol=1e-9)


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    family, shapes = getattr(stats, name), MOMENTS[name]

    def moments(*args: Any) -> Any:
        m, v, s, k = family.stats(*args, moments="mvsk")
        return m + 2 * v + 3 * s + 5 * k + family.mean(*args) + family.std(*args) * family.var(*args)

    equal(moments, (*shapes, 0.1, 1.3), 2 if name in ("gamma", "norm") else 1)
    equal(lambda *args: family(*args).mean() + family(*args).std() + family(*args).stats()[1], (*shapes, 0.1, 1.3), 1)
    low, high = dj.jit(lambda *args: family.interval(0.9, *args), backend="python")(*shapes, 0.1, 1.3)
    np.testing.assert_allclose((low, high), family.interval(0.9, *shapes, 0.1, 1.3), rtol=1e-9)
    equal(lambda *args: family.median(*args), (*shapes, 0.1, 1.3), 1)


def test_counts() -> None:
    equal(lambda p: stats.binom.cdf(K, 5, p) + stats.binom.sf(K, 5, p) ** 2 + stats.binom.pmf(K, 5, p), (0.3,))
    equal(lambda n, p: stats.nbinom.cdf(K, n, p) + stats.nbinom.sf(K, n, p) + stats.nbinom.pmf(K, n, p), (2.5, 0.3))
    equal(lambda mu: stats.poisson.mean(mu) + stats.poisson.std(mu) + stats.binom.var(5, mu / 9), (2.5,))
    for moments in ("s", "k"):
        equal(lambda p, m=moments: stats.nbinom.stats(5, p, moments=m), (0.3,))
    equal(lambda p: stats.binom.stats(5, p, moments="s") + stats.nbinom.mean(4, p) / stats.nbinom.var(4, p), (0.3,))
    equal(lambda x: stats.cosine.cdf(x), (0.3,))


def test_every_function_is_here() -> None:
    learn()
    private = {"_cauchy_ppf", "_cauchy_isf", "_beta_ppf", "_binom_pmf", "_binom_cdf", "_binom_sf", "_nbinom_pmf",
               "_nbinom_cdf", "_nbinom_sf", "_cosine_cdf", "nbdtr", "nbdtrc", "_binom_pdf", "_nbinom_pdf"}  # fmt: skip
    own = "diffjit.primitives.library.special."
    homes = {f: plain.__module__ for f, plain in COMPOSITES.items() if plain.__module__.startswith(own)}
    declared = {f.__name__ for f, home in homes.items() if home != own + "orthogonal"}
    assert declared - set(SPECIAL) - private == set()
    tried = {f for row in ROWS.values() for f in row.of}  # polynomials as objects
    assert {f for f, home in homes.items() if home == own + "orthogonal"} <= tried


def test_of_a_density_alone() -> None:
    def quantile(a: Any) -> Any:
        return stats.norminvgauss.ppf(0.3, a, 0.2)

    value, slope = dj.value_and_grad(quantile, backend="python")(1.3)
    assert np.isclose(value, quantile(1.3), rtol=1e-7)
    assert np.isclose(slope, (quantile(1.3 + 1e-4) - quantile(1.3 - 1e-4)) / 2e-4, rtol=1e-5)
    with pytest.raises(dj.UnsupportedSyntax, match=r"norminvgauss\.cdf"):
        dj.jit(lambda a: stats.norminvgauss.ppf(0.3, a, 0.2), backend="python")(np.array([1.3, 1.4]))


@np.vectorize
def area(x: float) -> float:
    return integrate.quad(lambda t: 2.0 * t, 0.0, x)[0]


class Wedge(stats.rv_continuous):
    """A family whose distribution function is a quadrature by a function beside it."""

    def _pdf(self, x):
        return 2.0 * x

    def _cdf(self, x):
        return area(x)


def test_a_quadrature_by_a_function_beside_the_family_is_no_formula() -> None:
    family = Wedge(a=0.0, b=1.0, name="wedge")
    assert families.has(family, "_pdf")
    assert not families.has(family, "_cdf")
