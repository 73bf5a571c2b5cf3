"""Special functions of SciPy: partial derivatives against mpmath, programs in all modes, compiled values."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc

import diffjit as dj
from diffjit.primitives.registry import ELEMENTWISE
from diffjit.primitives.scipy_special import EXPORTS, PREFIX
from tests.primitives.evaluate import partial, value

mp = mpmath.mp.clone()
mp.dps = 40

half = mp.mpf(1) / 2


def logistic(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def bessel_y(v: Any, x: Any) -> Any:
    return mp.bessely(v, x)


def spherical(bessel: Any) -> Any:
    return lambda n, x: mp.sqrt(mp.pi / (2 * x)) * bessel(n + half, x)


def normal(x: Any) -> Any:
    return mp.ncdf(x)


def student(v: Any, t: Any) -> Any:
    tail = mp.betainc(v / 2, half, 0, v / (v + t * t), regularized=True) / 2
    return 1 - tail if t > 0 else tail


def inverse(function: Any) -> Any:
    """The inverse of a function by its last parameter; SciPy's value is where the search starts."""

    def found(start: float, *args: Any) -> Any:
        *given, y = args
        return mp.findroot(lambda x: function(*given, x) - y, start)

    return found


def boxed(x: Any, p: Any) -> Any:
    return (mp.power(x, p) - 1) / p


def owen(h: Any, a: Any) -> Any:
    return mp.quad(lambda u: mp.exp(-h * h * (1 + u * u) / 2) / (1 + u * u), [0, a]) / (2 * mp.pi)


# name -> the function in mpmath, points where it is smooth, and the parameters with a derivative
ROWS: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "boxcox": (boxed, [(0.7, 0.4), (2.3, -1.2), (3.0, 1e-9)]),
    "boxcox1p": (lambda x, p: boxed(1 + x, p), [(0.7, 0.4), (1.3, -1.2)]),
    "inv_boxcox": (lambda y, p: (1 + p * y) ** (1 / p), [(0.7, 0.4), (0.3, -1.2)]),
    "inv_boxcox1p": (lambda y, p: (1 + p * y) ** (1 / p) - 1, [(0.7, 0.4), (0.3, -1.2)]),
    "powm1": (lambda x, y: mp.power(x, y) - 1, [(0.7, 0.4), (2.3, -1.2)]),
    "owens_t": (owen, [(0.7, 0.4), (-1.3, 2.2), (0.0, 1.1)]),
    "gdtr": (lambda a, b, x: mp.gammainc(b, 0, a * x, regularized=True), [(0.7, 1.4, 2.2)]),
    "gdtrc": (lambda a, b, x: mp.gammainc(b, a * x, regularized=True), [(0.7, 1.4, 2.2)]),
    "bdtr": (lambda k, n, p: 1 - mp.betainc(k + 1, n - k, 0, p, regularized=True), [(2, 5, 0.3), (0, 3, 0.7)]),
    "bdtrc": (lambda k, n, p: mp.betainc(k + 1, n - k, 0, p, regularized=True), [(2, 5, 0.3), (0, 3, 0.7)]),
    "sindg": (lambda x: mp.sin(mp.radians(x)), [(20.0,), (-100.0,)]),
    "cosdg": (lambda x: mp.cos(mp.radians(x)), [(20.0,), (-100.0,)]),
    "tandg": (lambda x: mp.tan(mp.radians(x)), [(20.0,), (-100.0,)]),
    "cotdg": (lambda x: mp.cot(mp.radians(x)), [(20.0,), (-100.0,)]),
    "radian": (lambda d, m, s: mp.radians(d + m / 60 + s / 3600), [(3.0, 20.0, 11.0)]),
    "spence": (lambda x: mp.re(mp.polylog(2, 1 - x)), [(0.3,), (1.0,), (1.7,), (4.0,)]),
    "jve": (mp.besselj, [(1.5, 0.7), (0, 12.0)]),
    "yve": (bessel_y, [(1.5, 0.7), (0, 12.0)]),
    "struve": (mp.struveh, [(1.5, 0.7), (0, 3.0)]),
    "modstruve": (mp.struvel, [(1.5, 0.7), (0, 3.0)]),
    "ber": (lambda x: mp.ber(0, x), [(0.7,), (3.0,)]),
    "bei": (lambda x: mp.bei(0, x), [(0.7,), (3.0,)]),
    "ker": (lambda x: mp.ker(0, x), [(0.7,), (3.0,)]),
    "kei": (lambda x: mp.kei(0, x), [(0.7,), (3.0,)]),
    "berp": (lambda x: mp.diff(lambda u: mp.ber(0, u), x), [(0.7,), (3.0,)]),
    "beip": (lambda x: mp.diff(lambda u: mp.bei(0, u), x), [(0.7,), (3.0,)]),
    "kerp": (lambda x: mp.diff(lambda u: mp.ker(0, u), x), [(0.7,), (3.0,)]),
    "keip": (lambda x: mp.diff(lambda u: mp.kei(0, u), x), [(0.7,), (3.0,)]),
    "elliprd": (mp.elliprd, [(0.3, 1.2, 2.5)]),
    "elliprf": (mp.elliprf, [(0.3, 1.2, 2.5), (0.7, 0.7, 0.7)]),
    "agm": (mp.agm, [(0.3, 2.5), (1.4, 1.4)]),
    "hyperu": (mp.hyperu, [(0.5, 1.5, 0.3), (2.0, 3.5, 4.0)]),
    "psi": (mp.digamma, [(0.3,), (4.2,), (-1.3,)]),
    "rgamma": (mp.rgamma, [(0.3,), (4.2,), (-1.3,)]),
    "loggamma": (mp.loggamma, [(0.3,), (4.2,)]),
    "beta": (mp.beta, [(0.3, 2.0), (4.2, 1.1)]),
    "betaln": (lambda a, b: mp.log(mp.beta(a, b)), [(0.3, 2.0), (40.2, 11.1)]),
    "binom": (mp.binomial, [(5.0, 2.0), (4.3, 1.7)]),
    "poch": (mp.rf, [(2.0, 1.5), (0.4, 3.0)]),
    "gammainc": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), [(1.5, 0.3), (0.4, 4.0)]),
    "gammaincc": (lambda a, x: mp.gammainc(a, x, regularized=True), [(1.5, 0.3), (0.4, 4.0)]),
    "betainc": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), [(1.5, 0.7, 0.3), (0.4, 2.0, 0.9)]),
    "betaincc": (lambda a, b, x: mp.betainc(a, b, x, 1, regularized=True), [(1.5, 0.7, 0.3), (0.4, 2.0, 0.9)]),
    "ndtr": (normal, [(-3.0,), (0.0,), (1.5,)]),
    "log_ndtr": (lambda x: mp.log(mp.ncdf(x)), [(-30.0,), (0.0,), (1.5,)]),
    "pdtr": (lambda k, m: mp.gammainc(k + 1, m, regularized=True), [(2.0, 0.3), (0.0, 4.0)]),
    "pdtrc": (lambda k, m: mp.gammainc(k + 1, 0, m, regularized=True), [(2.0, 0.3), (0.0, 4.0)]),
    "chdtr": (lambda v, x: mp.gammainc(v / 2, 0, x / 2, regularized=True), [(3.0, 0.3), (1.5, 4.0)]),
    "chdtrc": (lambda v, x: mp.gammainc(v / 2, x / 2, regularized=True), [(3.0, 0.3), (1.5, 4.0)]),
    "stdtr": (student, [(3.5, 0.7), (2.0, -1.5)]),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [(-1.0,), (0.0,), (3.0,)]),
    "erfi": (mp.erfi, [(-1.0,), (0.0,), (2.0,)]),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), [(-1.0,), (0.0,), (2.0,)]),
    "expit": (logistic, [(-30.0,), (0.0,), (4.0,)]),
    "log_expit": (lambda x: mp.log(logistic(x)), [(-30.0,), (0.0,), (4.0,)]),
    "logit": (lambda p: mp.log(p / (1 - p)), [(1e-5,), (0.7,)]),
    "xlogy": (lambda x, y: x * mp.log(y), [(0.0, 2.0), (1.5, 0.3)]),
    "xlog1py": (lambda x, y: x * mp.log(1 + y), [(0.0, 2.0), (1.5, 1e-7)]),
    "entr": (lambda x: -x * mp.log(x), [(0.2,), (3.0,)]),
    "rel_entr": (lambda x, y: x * mp.log(x / y), [(0.2, 1.4), (3.0, 0.1)]),
    "kl_div": (lambda x, y: x * mp.log(x / y) - x + y, [(0.2, 1.4), (3.0, 0.1)]),
    "huber": (
        lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2),
        [(1.0, 0.3), (1.0, -0.3), (1.0, 2.0), (0.5, -2.0)],
    ),
    "pseudo_huber": (lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), [(1.0, 0.3), (0.5, -2.0)]),
    "exprel": (lambda x: mp.expm1(x) / x, [(-2.0,), (1e-6,), (1.5,)]),
    "exp10": (lambda x: mp.mpf(10) ** x, [(-2.0,), (1.5,)]),
    "cosm1": (lambda x: mp.cos(x) - 1, [(-2.0,), (0.0,), (1e-5,)]),
    "wrightomega": (lambda x: mp.lambertw(mp.exp(x)), [(-2.0,), (0.0,), (5.0,)]),
    "expi": (mp.ei, [(-2.0,), (0.3,), (5.0,)]),
    "exp1": (mp.e1, [(0.3,), (5.0,)]),
    "jv": (mp.besselj, [(2, 0.0), (1.5, 0.7), (0, 12.0)]),
    "yv": (bessel_y, [(2, 0.4), (1.5, 0.7), (0, 12.0)]),
    "iv": (mp.besseli, [(2, 0.0), (1.5, 0.7), (0, 12.0)]),
    "kv": (mp.besselk, [(2, 0.4), (1.5, 0.7), (0, 12.0)]),
    "ive": (lambda v, x: mp.besseli(v, x) * mp.exp(-abs(x)), [(1.5, 0.7), (1, 12.0), (2, -3.0)]),
    "kve": (lambda v, x: mp.besselk(v, x) * mp.exp(x), [(2, 0.4), (1.5, 0.7), (0, 12.0)]),
    "j0": (lambda x: mp.besselj(0, x), [(0.0,), (0.7,), (12.0,)]),
    "j1": (lambda x: mp.besselj(1, x), [(0.0,), (0.7,), (12.0,)]),
    "y0": (lambda x: bessel_y(0, x), [(0.7,), (12.0,)]),
    "y1": (lambda x: bessel_y(1, x), [(0.7,), (12.0,)]),
    "yn": (bessel_y, [(0, 0.7), (2, 12.0)]),
    "i1": (lambda x: mp.besseli(1, x), [(-3.0,), (0.0,), (0.7,)]),
    "i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), [(-3.0,), (0.7,)]),
    "i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), [(-3.0,), (0.7,)]),
    "k0": (lambda x: mp.besselk(0, x), [(0.7,), (12.0,)]),
    "k1": (lambda x: mp.besselk(1, x), [(0.7,), (12.0,)]),
    "k0e": (lambda x: mp.besselk(0, x) * mp.exp(x), [(0.7,), (12.0,)]),
    "k1e": (lambda x: mp.besselk(1, x) * mp.exp(x), [(0.7,), (12.0,)]),
    "kn": (mp.besselk, [(0, 0.7), (2, 12.0)]),
    "spherical_jn": (spherical(mp.besselj), [(0, 0.7), (3, 4.0)]),
    "spherical_yn": (spherical(bessel_y), [(0, 0.7), (3, 4.0)]),
    "spherical_in": (spherical(mp.besseli), [(0, 0.7), (3, 4.0)]),
    "hyp0f1": (mp.hyp0f1, [(1.5, 0.3), (2.0, -1.0)]),
    "hyp1f1": (mp.hyp1f1, [(0.5, 1.5, 0.3), (2.0, 3.0, -1.0)]),
    "hyp2f1": (mp.hyp2f1, [(0.5, 1.2, 1.5, 0.3), (2.0, 0.4, 3.0, -0.6)]),
    "ellipk": (mp.ellipk, [(-0.5,), (0.0,), (0.8,)]),
    "ellipkm1": (lambda p: mp.ellipk(1 - p), [(0.1,), (0.8,)]),
    "ellipe": (mp.ellipe, [(-0.5,), (0.0,), (0.8,)]),
    "ellipkinc": (mp.ellipf, [(0.7, 0.4), (-1.2, -0.3), (0.7, 0.0), (4.2, 0.6)]),
    "ellipeinc": (mp.ellipe, [(0.7, 0.4), (-1.2, -0.3), (0.7, 0.0), (-4.2, 0.6)]),
}
INVERSES: dict[str, tuple[Any, list[tuple[Any, ...]]]] = {
    "erfinv": (mp.erf, [(-0.9,), (0.0,), (0.7,)]),
    "erfcinv": (mp.erfc, [(0.1,), (1.7,)]),
    "ndtri": (normal, [(0.1,), (0.5,), (0.99,)]),
    "gammaincinv": (lambda a, x: mp.gammainc(a, 0, x, regularized=True), [(1.5, 0.3), (3.0, 0.9)]),
    "gammainccinv": (lambda a, x: mp.gammainc(a, x, regularized=True), [(1.5, 0.3), (3.0, 0.9)]),
    "ndtri_exp": (lambda x: mp.log(normal(x)), [(-0.1,), (-3.0,)]),
    "chdtri": (lambda v, x: mp.gammainc(v / 2, x / 2, regularized=True), [(1.5, 0.3), (3.0, 0.9)]),
    "gdtrix": (lambda a, b, x: mp.gammainc(b, 0, a * x, regularized=True), [(0.7, 1.4, 0.4)]),
    "betaincinv": (lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True), [(1.5, 0.7, 0.3)]),
    "betainccinv": (lambda a, b, x: 1 - mp.betainc(a, b, 0, x, regularized=True), [(2.0, 3.0, 0.3)]),
    "stdtrit": (student, [(3.5, 0.7), (2.0, 0.2)]),
}
WITHOUT = {"gammasgn"}  # constant almost everywhere


def test_every_row_is_tested() -> None:
    assert {PREFIX + name for name in {*ROWS, *INVERSES, *WITHOUT}} == set(EXPORTS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_value_and_partials_against_mpmath(name: str) -> None:
    function, points = ROWS[name]
    kind = PREFIX + name
    for point in points:
        exact = [mp.mpf(x) for x in point]
        assert value(kind, *point) == pytest.approx(float(mp.re(function(*exact))), rel=1e-12, abs=1e-14)
        for k, text in enumerate(ELEMENTWISE[kind].partials):
            if text not in ("0", None):
                slope = mp.diff(lambda x, k=k, p=exact: mp.re(function(*p[:k], x, *p[k + 1 :])), exact[k])
                assert partial(kind, k, *point) == pytest.approx(float(slope), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("name", sorted(INVERSES))
def test_inverses_against_mpmath(name: str) -> None:
    function, points = INVERSES[name]
    kind = PREFIX + name
    for point in points:
        *given, y = (mp.mpf(v) for v in point)
        start = float(value(kind, *point))
        x = mp.findroot(lambda x, given=given, y=y: function(*given, x) - y, start)
        assert start == pytest.approx(float(x), rel=1e-12, abs=1e-14)
        slope = 1 / mp.diff(lambda x, given=given: function(*given, x), x)
        assert partial(kind, len(point) - 1, *point) == pytest.approx(float(slope), rel=1e-10)


def test_edges() -> None:
    assert partial("special_xlogy", 1, 0.0, 0.0) == 0.0
    assert dj.grad(dj.grad(lambda y: sc.xlogy(0.0, y)))(0.5) == 0.0
    assert dj.grad(lambda x: dj.grad(lambda y: sc.xlogy(x, y))(0.5))(0.0) == 2.0
    assert dj.grad(lambda x: sc.spherical_jn(1, x), backend="python")(0.0) == pytest.approx(1 / 3)
    with pytest.raises(dj.NoRule, match=r"`scipy.special.jv` has no derivative by argument 1"):
        dj.grad(sc_jv_by_order)(1.5)
    assert dj.jit(lambda z: sc.jv(1, z))(1.0 + 2.0j) == sc.jv(1, 1.0 + 2.0j)
    assert dj.grad(lambda x: np.abs(sc.jv(1, x * 1j)))(0.5) == pytest.approx(0.5 * (sc.iv(0, 0.5) + sc.iv(2, 0.5)))
    with pytest.raises(dj.NoRule, match="DJ205"):
        dj.grad(lambda x: np.abs(sc.jve(1, x * 1j)))(0.5)
    with pytest.raises(dj.UnsupportedSyntax, match="in place 3"):
        dj.jit(lambda x: sc.spherical_jn(2, x, True))(1.0)


def sc_jv_by_order(a: Any) -> Any:
    return sc.jv(a, 2.0)


# Programs -------------------------------------------------------------------------------------------------------------


def bessel_beam(k: Any, r: Any) -> Any:
    return np.sum(sc.j0(k * r) ** 2 + 0.1 * sc.jv(2, k * r)) + sc.spherical_jn(2, k)


def gamma_likelihood(p: Any, x: Any) -> Any:
    shape, rate = sc.expit(p[0]) * 5, np.exp(p[1])
    return np.sum(sc.xlogy(shape - 1, rate * x) - rate * x + np.log(rate) - sc.gammaln(shape))


def mixture(w: Any, x: Any) -> Any:
    z = np.stack([w[0] - (x - w[1]) ** 2, -np.abs(x) * sc.ndtr(w[2])])
    return sc.logsumexp(z, axis=0).sum() + sc.softmax(w)[0] + sc.log_softmax(w, axis=-1)[1]


def expansion(c: Any, x: Any) -> Any:
    total = c[0] * sc.eval_legendre(3, x) + c[1] * sc.eval_hermite(2, x) + sc.eval_laguerre(2, x)
    return np.sum(np.tanh(total))


PROGRAMS = [
    (bessel_beam, (1.3, np.linspace(0.1, 3.0, 7))),
    (gamma_likelihood, (np.array([0.2, -0.3]), np.linspace(0.1, 3.0, 7))),
    (mixture, (np.array([0.2, -0.3, 0.5]), np.linspace(0.1, 3.0, 7))),
    (expansion, (np.array([0.2, -0.3, 0.5, 0.1]), np.linspace(-0.9, 0.8, 7))),
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_programs_in_all_modes(function: Any, args: Any, backend: str) -> None:
    assert dj.jit(function, backend=backend)(*args) == pytest.approx(function(*args), rel=1e-12)
    dj.check_grads(function, args, order=2, backend=backend)
    gradient = dj.grad(function, argnums=1)
    lanes = np.stack([args[1], 0.9 * args[1]])
    mapped = dj.jit(dj.vmap(gradient, in_axes=(None, 0)), backend=backend)(args[0], lanes)
    expected = [dj.grad(function, argnums=1, backend="python")(args[0], lane) for lane in lanes]
    np.testing.assert_allclose(mapped, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_values_are_scipys(dtype: Any) -> None:
    x = np.linspace(0.1, 0.8, 5).astype(dtype)

    def many(x: Any) -> Any:
        return (
            sc.gammainc(1.5, x), sc.betainc(1.5, 0.5, x), sc.kve(1.2, x), sc.hyp2f1(0.3, 0.4, 1.5, x), sc.yn(2, x),
            sc.spherical_in(2, x), sc.erfinv(x), sc.ellipk(x), sc.log_ndtr(x), sc.stdtr(2.5, x), sc.poch(2.5, x),
        )  # fmt: skip

    for ours, theirs in zip(dj.jit(many)(x), many(x), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-12 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_polygamma_of_all_orders(backend):
    """By SciPy; far below 0, where that counts from x on, by reflection (A&S 6.4.7)."""
    f = dj.jit(sc.polygamma, backend=backend)
    inf = np.inf
    for n, x in [
        (-1, 1.5), (-2, 1.5), (1, -0.5), (2, -1.5), (1, 0.0), (2, 0.0), (2, -2.0), (3, inf), (2, -inf), (1, -inf),
        (30, 1.5), (100, 200.0), (171, 1.5), (1, np.nan), (2, 1e300), (2, -33.25), (5, -999.7),
    ]:  # fmt: skip
        np.testing.assert_allclose(f(n, x), sc.polygamma(n, x), rtol=1e-11, err_msg=f"{n}, {x}")
    np.testing.assert_allclose(f(1, -1e12 + 0.5), np.pi**2, rtol=1e-11)
    np.testing.assert_allclose(f(2, -1e12 + 0.25), -4 * np.pi**3, rtol=1e-11)


def test_orders_are_ints():
    for f in (sc.polygamma, sc.spherical_jn):
        for backend in ("python", "numba"):
            with pytest.raises(dj.TypeProblem, match=r"DJ302.*the order of"):
                dj.jit(lambda n, x, f=f: f(n, x), backend=backend)(1.5, 2.0)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "name", ["eval_chebyt", "eval_chebyu", "eval_legendre", "eval_laguerre", "eval_chebys", "eval_sh_legendre"]
)
def test_polynomials_of_a_number(backend, name):
    def f(x, n):
        return getattr(sc, name)(n, x)

    for n in (0, 1, 2, 5, -1, -2, -3, -6):  # SciPy's have negative orders, too
        value, slope = dj.value_and_grad(f, backend=backend)(0.3, n)
        assert value == pytest.approx(f(0.3, n))
        assert slope == pytest.approx((f(0.3 + 1e-6, n) - f(0.3 - 1e-6, n)) / 2e-6, abs=1e-7)


def test_polynomials_where_scipy_has_none():
    for f, given in (
        (sc.eval_hermite, (-1, 0.3)),
        (sc.eval_hermitenorm, (-3, 0.3)),
        (sc.eval_genlaguerre, (2, -1.5, 0.3)),
    ):
        assert np.isnan(f(*given))
        assert np.isnan(dj.jit(lambda x, f=f, given=given: f(*given[:-1], x))(given[-1]))
    for shapes in ((0.5, 0.2), (-0.3, 1.7)):
        slope = dj.grad(lambda a, b: sc.eval_jacobi(3.0, a, b, 0.4), (0, 1))(*shapes)
        for k in range(2):
            h = 1e-6 * np.eye(2)[k]
            ends = [sc.eval_jacobi(3, *(np.array(shapes) + sign * h), 0.4) for sign in (1, -1)]
            assert slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-8)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_incomplete_functions_at_the_ends(backend: str) -> None:
    def total(x: Any) -> Any:
        first = sc.gammainc(2.0, x[0]) + sc.gammaincc(3.5, x[0]) + sc.gammainc(1.0, x[0])
        return first + sc.betainc(2.0, 3.0, x[1]) - sc.betaincc(3.0, 2.0, x[2]) + sc.betainc(2.5, 1.0, x[2])

    ends = np.array([0.0, 0.0, 1.0])
    # densities x exp(-x), -x^2.5 exp(-x) / gamma(3.5), exp(-x); 12 x (1 - x)^2; 12 x^2 (1 - x), 2.5 x^1.5
    np.testing.assert_allclose(dj.grad(total, backend=backend)(ends), [1.0, 0.0, 2.5], atol=1e-14)
    curved = dj.hessian(total, backend=backend)(ends)
    np.testing.assert_allclose(curved, np.diag([0.0, 12.0, -12.0 + 3.75]), atol=1e-12)
    product = dj.hvp(total, (ends,), (np.ones(3),), backend=backend)
    np.testing.assert_allclose(product, [0.0, 12.0, -8.25], atol=1e-12)
