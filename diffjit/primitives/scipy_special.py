"""Elementwise rows: special functions that SciPy computes, in Python as in compiled code (`scipy.special`).

A row names SciPy's ufunc and the function of `scipy.special.cython_special` that compiled code calls by its pointer.
Where a family is closed under differentiation (Bessel, hypergeometric), the partials stay in it, so that all orders
are exact, also where the textbook's formula is 0 / 0. Formulas: NIST Digital Library of Mathematical Functions. By
the shapes of incomplete gamma and beta functions, derivatives are those of their quantiles (`random.implicit`); by
parameters like the order of a Bessel function there is none (refused).

SciPy is imported only by programs that use these functions: `primitives.foreign` knows when.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.primitives.random import implicit
from diffjit.primitives.registry import ELEMENTWISE, elementwise

PREFIX = "special_"


@dataclass(frozen=True, slots=True)
class Export:
    """A C function of `scipy.special.cython_special`, of doubles but for a leading int where `integer` says so."""

    name: str
    arity: int
    integer: bool = False
    options: bool = False  # takes a pointer to optional arguments, too
    parity: bool = False  # of a negative argument (-1)**order times that of its absolute value: the export gives NaN
    whole: int | None = None  # the parameter whose float goes in as an int (SciPy warns of floats there)


EXPORTS: dict[str, Export] = {}  # kind -> what compiled code calls


assert implicit  # its rows are named here
_BASIC = frozenset(ELEMENTWISE)


_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")


def _kind(called: re.Match[str]) -> str:
    """A call of SciPy's function, by the name of its kind."""
    return called[0] if called[1] in _BASIC else PREFIX + called[0]


def special(
    signature: str,
    *partials: str | None,
    export: str = "",
    integer: bool = False,
    options: bool = False,
    parity: bool = False,
    whole: int | None = None,
    guarded: bool = False,
) -> None:
    """Declare a function of SciPy, with partials in NumPy's and SciPy's names, `out` for the result."""
    call = ast.parse(signature, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    kind = PREFIX + name
    EXPORTS[kind] = Export(export or name, len(call.args), integer, options, parity, whole)
    texts = [p if p is None else _CALLED.sub(_kind, p) for p in partials]
    elementwise(
        PREFIX + signature, *texts, guarded=guarded, scalar=_numbers(name), library=f"scipy.special.{name}",
        integer=integer,
    )  # fmt: skip


def _numbers(name: str) -> Callable[..., Any]:
    """SciPy's function, found when it is called."""

    def function(*args: Any) -> Any:
        return scipys(name)(*args)

    return function


def scipys(name: str) -> Any:
    """SciPy's own function."""
    return getattr(importlib.import_module("scipy.special"), name)


def result_dtype(kind: str, operands: list[Any]) -> np.dtype:
    """The dtype of a result, by the loops that SciPy has."""
    function = scipys(kind.removeprefix(PREFIX))
    if not isinstance(function, np.ufunc):
        return np.dtype(np.float64)
    return function.resolve_dtypes((*operands, None))[-1]


def functions() -> dict[Any, str]:
    """SciPy's functions and their kinds."""
    own = {scipys(kind.removeprefix(PREFIX)): kind for kind in EXPORTS}
    return own | {scipys(name): kind for name, kind in _SAME.items()}


# What diffjit has of its own, or NumPy has.
_SAME = {
    "gamma": "gamma", "gammaln": "lgamma", "polygamma": "polygamma", "erf": "erf", "erfc": "erfc", "i0": "i0",
    "expm1": "expm1", "log1p": "log1p", "cbrt": "cbrt", "exp2": "exp2", "round": "rint",
}  # fmt: skip

# Gamma and beta functions (5.2, 5.9, 5.12) ----------------------------------------------------------------------------

special("psi(x)", "polygamma(1, x)", export="__pyx_fuse_1psi", guarded=True)
special("rgamma(x)", "-out * psi(x)", export="__pyx_fuse_1rgamma", guarded=True)
special("loggamma(x)", "psi(x)", export="__pyx_fuse_1loggamma", guarded=True)
special("gammasgn(x)", "0")
special("beta(a, b)", "out * (psi(a) - psi(a + b))", "out * (psi(b) - psi(a + b))", guarded=True)
special("betaln(a, b)", "psi(a) - psi(a + b)", "psi(b) - psi(a + b)", guarded=True)
special(
    "binom(n, k)", "out * (psi(n + 1) - psi(n - k + 1))", "out * (psi(n - k + 1) - psi(k + 1))", guarded=True
)  # fmt: skip
special("poch(z, m)", "out * (psi(z + m) - psi(z))", "out * psi(z + m)", guarded=True)

# Incomplete gamma and beta functions (8.8, 8.17): the derivative by the limit of the integral is the integrand.
# At an end, powers: the derivative of one is another, where that of a logarithm is infinite.
_GAMMA_DENSITY = "where(x == 0, x ** (a - 1) * exp(-x - lgamma(a)), exp(xlogy(a - 1, x) - x - lgamma(a)))"
_BETA_DENSITY = (
    "where((x == 0) | (x == 1), x ** (a - 1) * (1 - x) ** (b - 1) * exp(-betaln(a, b)),"
    " exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)))"
)
special("gammainc(a, x)", f"-{_GAMMA_DENSITY} * gamma_slope(x, a)", _GAMMA_DENSITY, guarded=True)
special("gammaincc(a, x)", f"{_GAMMA_DENSITY} * gamma_slope(x, a)", f"-{_GAMMA_DENSITY}", guarded=True)
special(
    "gammaincinv(a, y)", "gamma_slope(out, a)", "1 / exp(xlogy(a - 1, out) - out - lgamma(a))", guarded=True
)  # fmt: skip
special(
    "gammainccinv(a, y)", "gamma_slope(out, a)", "-1 / exp(xlogy(a - 1, out) - out - lgamma(a))", guarded=True
)  # fmt: skip
special(
    "betainc(a, b, x)", f"-{_BETA_DENSITY} * beta_slope(x, a, b)", f"-{_BETA_DENSITY} * beta_slope_b(x, a, b)",
    _BETA_DENSITY, export="__pyx_fuse_0betainc", guarded=True,
)  # fmt: skip
special(
    "betaincc(a, b, x)", f"{_BETA_DENSITY} * beta_slope(x, a, b)", f"{_BETA_DENSITY} * beta_slope_b(x, a, b)",
    f"-{_BETA_DENSITY}", export="__pyx_fuse_0betaincc", guarded=True,
)  # fmt: skip
special(
    "betaincinv(a, b, y)", "beta_slope(out, a, b)", "beta_slope_b(out, a, b)",
    "1 / exp(xlogy(a - 1, out) + xlog1py(b - 1, -out) - betaln(a, b))", export="__pyx_fuse_0betaincinv", guarded=True,
)  # fmt: skip
special(
    "betainccinv(a, b, y)", "beta_slope(out, a, b)", "beta_slope_b(out, a, b)",
    "-1 / exp(xlogy(a - 1, out) + xlog1py(b - 1, -out) - betaln(a, b))", export="__pyx_fuse_0betainccinv", guarded=True,
)  # fmt: skip

# Distribution functions -----------------------------------------------------------------------------------------------

special("ndtr(x)", "0.3989422804014327 * exp(-0.5 * x * x)", export="__pyx_fuse_1ndtr")
special(
    "log_ndtr(x)", "0.3989422804014327 * exp(-0.5 * x * x - out)", export="__pyx_fuse_1log_ndtr", guarded=True
)  # fmt: skip
special("ndtri(p)", "2.5066282746310002 * exp(0.5 * out * out)", guarded=True)
special("pdtr(k, m)", "0", "-exp(xlogy(floor(k), m) - m - lgamma(floor(k) + 1))", guarded=True)
special("pdtrc(k, m)", "0", "exp(xlogy(floor(k), m) - m - lgamma(floor(k) + 1))", guarded=True)
_CHI = "0.5 * exp(xlogy(0.5 * v - 1, 0.5 * x) - 0.5 * x - lgamma(0.5 * v))"
special("chdtr(v, x)", f"-{_CHI} * gamma_slope(0.5 * x, 0.5 * v)", _CHI, guarded=True)
special("chdtrc(v, x)", f"{_CHI} * gamma_slope(0.5 * x, 0.5 * v)", f"-{_CHI}", guarded=True)
_STUDENT = (
    "exp(lgamma(0.5 * v + 0.5) - lgamma(0.5 * v) - 0.5 * (v + 1) * log1p({0} * {0} / v)) / sqrt(3.141592653589793 * v)"
)

special(
    "stdtr(v, t)", f"-student_slope(t, v) * {_STUDENT.format('t')}", _STUDENT.format("t"), export="__pyx_fuse_0stdtr",
    guarded=True,
)  # fmt: skip
special(
    "stdtrit(v, p)", "student_slope(out, v)", f"1 / ({_STUDENT.format('out')})", export="__pyx_fuse_0stdtrit",
    guarded=True,
)  # fmt: skip

special("ndtri_exp(y)", "2.5066282746310002 * exp(y + 0.5 * out * out)", guarded=True)
special(
    "owens_t(h, a)",
    "-0.3989422804014327 * exp(-0.5 * h * h) * (ndtr(a * h) - 0.5)",
    "0.15915494309189535 * exp(-0.5 * h * h * (1 + a * a)) / (1 + a * a)",
)
special(
    "chdtri(v, p)", "gamma_slope(0.5 * out, 0.5 * v)",
    "-2 / exp(xlogy(0.5 * v - 1, 0.5 * out) - 0.5 * out - lgamma(0.5 * v))", guarded=True,
)  # fmt: skip
_RATED = "exp(xlogy(b - 1, a * x) - a * x - lgamma(b))"
special("gdtr(a, b, x)", f"x * {_RATED}", f"-{_RATED} * gamma_slope(a * x, b)", f"a * {_RATED}", guarded=True)
special("gdtrc(a, b, x)", f"-x * {_RATED}", f"{_RATED} * gamma_slope(a * x, b)", f"-a * {_RATED}", guarded=True)
special(
    "gdtrix(a, b, p)", "-out / a", "gamma_slope(a * out, b) / a",
    "1 / (a * exp(xlogy(b - 1, a * out) - a * out - lgamma(b)))", guarded=True,
)  # fmt: skip
_WAYS = "exp(lgamma(n + 1) - lgamma(floor(k) + 1) - lgamma(n - floor(k) + 1)"
_BINOMIAL = f"(n - floor(k)) * {_WAYS} + xlogy(floor(k), p) + xlog1py(n - floor(k) - 1, -p))"
special("bdtr(k, n, p)", "0", "0", f"-{_BINOMIAL}", export="__pyx_fuse_1bdtr", whole=1, guarded=True)
special("bdtrc(k, n, p)", "0", "0", _BINOMIAL, export="__pyx_fuse_1bdtrc", whole=1, guarded=True)

# Degrees --------------------------------------------------------------------------------------------------------------

special("sindg(x)", "0.017453292519943295 * cosdg(x)")
special("cosdg(x)", "-0.017453292519943295 * sindg(x)")
special("tandg(x)", "0.017453292519943295 * (1 + out * out)")
special("cotdg(x)", "-0.017453292519943295 * (1 + out * out)")
special("radian(d, m, s)", "0.017453292519943295", "0.0002908882086657216", "4.84813681109536e-06")

# Error functions (7.2, 7.10) ------------------------------------------------------------------------------------------

special("erfinv(y)", "0.886226925452758 * exp(out * out)", export="__pyx_fuse_0erfinv", guarded=True)
special("erfcinv(y)", "-0.886226925452758 * exp(out * out)", guarded=True)
special("erfcx(x)", "2 * x * out - 1.1283791670955126", export="__pyx_fuse_1erfcx", guarded=True)
special("erfi(x)", "1.1283791670955126 * exp(x * x)", export="__pyx_fuse_1erfi", guarded=True)
special("dawsn(x)", "1 - 2 * x * out", export="__pyx_fuse_1dawsn", guarded=True)

# Logistic functions, entropies, robust losses, powers -----------------------------------------------------------------

special("expit(x)", "out * expit(-x)", export="__pyx_fuse_0expit")
special("log_expit(x)", "expit(-x)", export="__pyx_fuse_0log_expit")
special("logit(p)", "1 / (p * (1 - p))", export="__pyx_fuse_0logit", guarded=True)
# 0 * log(0) is 0 by definition, whose derivative by y is 0.
special(
    "xlogy(x, y)", "log(y)", "x / where(logical_and(x == 0, y == 0), 1.0, y)", export="__pyx_fuse_1xlogy", guarded=True
)
special(
    "xlog1py(x, y)", "log1p(y)", "x / where(logical_and(x == 0, y == -1), 1.0, 1 + y)", export="__pyx_fuse_1xlog1py",
    guarded=True,
)  # fmt: skip
special("entr(x)", "-log(x) - 1", guarded=True)
# 0 * log(0 / 0) is 0 by definition: where both are 0, the logarithm has no part in derivatives.
special(
    "rel_entr(x, y)",
    "where(logical_and(x == 0, y == 0), 0.0, log(x / y) + 1)",
    "-x / where(logical_and(x == 0, y == 0), 1.0, y)",
    guarded=True,
)
special(
    "kl_div(x, y)",
    "where(logical_and(x == 0, y == 0), -1.0, log(x / y))",
    "1 - x / where(logical_and(x == 0, y == 0), 1.0, y)",
    guarded=True,
)
special("huber(d, r)", "maximum(absolute(r) - d, 0.0)", "where(absolute(r) <= d, r, d * sign(r))")
special(
    "pseudo_huber(d, r)",
    "2 * d * (sqrt(1 + (r / d) * (r / d)) - 1) - r * (r / d) / sqrt(1 + (r / d) * (r / d))",
    "r / sqrt(1 + (r / d) * (r / d))",
    guarded=True,
)
special("boxcox(x, p)", "x ** (p - 1)", "0.5 * log(x) * log(x) * hyp1f1(2.0, 3.0, p * log(x))", guarded=True)
special(
    "boxcox1p(x, p)", "(1 + x) ** (p - 1)", "0.5 * log1p(x) * log1p(x) * hyp1f1(2.0, 3.0, p * log1p(x))", guarded=True
)
special(
    "inv_boxcox(y, p)", "out ** (1 - p)",
    "-0.5 * log(out) * log(out) * hyp1f1(2.0, 3.0, p * log(out)) * out ** (1 - p)", guarded=True,
)  # fmt: skip
special(
    "inv_boxcox1p(y, p)", "(1 + out) ** (1 - p)",
    "-0.5 * log1p(out) * log1p(out) * hyp1f1(2.0, 3.0, p * log1p(out)) * (1 + out) ** (1 - p)", guarded=True,
)  # fmt: skip
special("powm1(x, y)", "y * x ** (y - 1)", "log(x) * (1 + out)", export="__pyx_fuse_0powm1", guarded=True)
special("exprel(x)", "0.5 * hyp1f1(2.0, 3.0, x)", guarded=True)
special("exp10(x)", "2.302585092994046 * out", guarded=True)
special("cosm1(x)", "-sin(x)")
special("wrightomega(x)", "out / (1 + out)", export="__pyx_fuse_1wrightomega", guarded=True)

# Exponential integrals (6.2, 8.19) ------------------------------------------------------------------------------------

special("expi(x)", "exp(x) / x", export="__pyx_fuse_1expi", guarded=True)
special("exp1(x)", "-exp(-x) / x", export="__pyx_fuse_1exp1", guarded=True)
special("spence(x)", "-hyp2f1(1.0, 1.0, 2.0, 1 - x)", export="__pyx_fuse_1spence", guarded=True)

# Bessel functions (10.6, 10.29, 10.51) and their scaled forms ---------------------------------------------------------

special("jv(v, x)", None, "0.5 * (jv(v - 1, x) - jv(v + 1, x))", export="__pyx_fuse_1jv", guarded=True)
special("yv(v, x)", None, "0.5 * (yv(v - 1, x) - yv(v + 1, x))", export="__pyx_fuse_1yv", guarded=True)
special("iv(v, x)", None, "0.5 * (iv(v - 1, x) + iv(v + 1, x))", export="__pyx_fuse_1iv", guarded=True)
special("kv(v, x)", None, "-0.5 * (kv(v - 1, x) + kv(v + 1, x))", export="__pyx_fuse_1kv", guarded=True)
special(
    "ive(v, x)", None, "0.5 * (ive(v - 1, x) + ive(v + 1, x)) - sign(x) * out", export="__pyx_fuse_1ive", guarded=True
)
special("kve(v, x)", None, "out - 0.5 * (kve(v - 1, x) + kve(v + 1, x))", export="__pyx_fuse_1kve", guarded=True)
special("jve(v, x)", None, "0.5 * (jve(v - 1, x) - jve(v + 1, x))", export="__pyx_fuse_1jve", guarded=True)
special("yve(v, x)", None, "0.5 * (yve(v - 1, x) - yve(v + 1, x))", export="__pyx_fuse_1yve", guarded=True)
special("struve(v, x)", None, "struve(v - 1, x) - v / x * out", guarded=True)
special("modstruve(v, x)", None, "modstruve(v - 1, x) - v / x * out", guarded=True)
# Kelvin functions (10.61): the second derivatives are those of their differential equation.
for _one, _other, _sign in (("ber", "bei", "-"), ("ker", "kei", "-"), ("bei", "ber", ""), ("kei", "ker", "")):
    special(f"{_one}(x)", f"{_one}p(x)", guarded=True)
    special(f"{_one}p(x)", f"{_sign}{_other}(x) - out / x", guarded=True)
special("j0(x)", "-j1(x)")
special("j1(x)", "0.5 * (j0(x) - jv(2, x))", guarded=True)
special("y0(x)", "-y1(x)", guarded=True)
special("y1(x)", "0.5 * (y0(x) - yv(2, x))", guarded=True)
special("yn(n, x)", "0", "0.5 * (yv(n - 1, x) - yv(n + 1, x))", export="__pyx_fuse_0yn", guarded=True)
special("i1(x)", "0.5 * (i0(x) + iv(2, x))", guarded=True)
special("i0e(x)", "i1e(x) - sign(x) * out", guarded=True)
special("i1e(x)", "0.5 * (i0e(x) + ive(2, x)) - sign(x) * out", guarded=True)
special("k0(x)", "-k1(x)", guarded=True)
special("k1(x)", "-0.5 * (k0(x) + kv(2, x))", guarded=True)
special("k0e(x)", "out - k1e(x)", guarded=True)
special("k1e(x)", "out - 0.5 * (k0e(x) + kve(2, x))", guarded=True)
special("kn(n, x)", "0", "-0.5 * (kv(n - 1, x) + kv(n + 1, x))", export="__pyx_fuse_0kn", guarded=True)
# Of order 0, the first term is 0 times anything finite.
for _name, _sign in (("spherical_jn", "-"), ("spherical_yn", "-"), ("spherical_in", "+")):
    special(
        f"{_name}(n, x)",
        "0",
        f"(n * {_name}(maximum(n - 1, 0), x) {_sign} (n + 1) * {_name}(n + 1, x)) / (2 * n + 1)",
        export=f"__pyx_fuse_1{_name}", integer=True, options=True, parity=_name != "spherical_yn", guarded=True,
    )  # fmt: skip

# Hypergeometric functions (15.5, 16.3, 13.3) and elliptic integrals (19.4, 19.5) --------------------------------------

special("hyp0f1(v, x)", None, "hyp0f1(v + 1, x) / v", export="__pyx_fuse_1hyp0f1", guarded=True)
special("hyp1f1(a, b, x)", None, None, "a / b * hyp1f1(a + 1, b + 1, x)", export="__pyx_fuse_1hyp1f1", guarded=True)
special(
    "hyp2f1(a, b, c, x)", None, None, None, "a * b / c * hyp2f1(a + 1, b + 1, c + 1, x)",
    export="__pyx_fuse_1hyp2f1", guarded=True,
)  # fmt: skip
special("ellipk(m)", "0.39269908169872414 * hyp2f1(1.5, 1.5, 2.0, m)", guarded=True)
special("ellipkm1(p)", "-0.39269908169872414 * hyp2f1(1.5, 1.5, 2.0, 1 - p)", guarded=True)
special("ellipe(m)", "-0.39269908169872414 * hyp2f1(0.5, 1.5, 2.0, m)", guarded=True)
# By m: (E - F) / m by Carlson's integral, of the amplitude within a half turn and of whole half turns. Also at 0.
_TURNS = "floor(0.3183098861837907 * p + 0.5)"
_WITHIN = f"sin(p - 3.141592653589793 * {_TURNS})"
_BETWEEN = (
    f"({_WITHIN} * sin(p) * sin(p) * elliprd(cos(p) * cos(p), 1 - m * sin(p) * sin(p), 1.0)"
    f" + 2 * {_TURNS} * elliprd(0.0, 1 - m, 1.0)) / 3"
)
special(
    "ellipkinc(p, m)",
    "1 / sqrt(1 - m * sin(p) * sin(p))",
    f"((out - {_BETWEEN}) / 2 - sin(p) * cos(p) / (2 * sqrt(1 - m * sin(p) * sin(p)))) / (1 - m)",
    guarded=True,
)
special("ellipeinc(p, m)", "sqrt(1 - m * sin(p) * sin(p))", f"-{_BETWEEN} / 2", guarded=True)
# Carlson's symmetric integrals (19.18); of R_D there is no derivative.
special("elliprd(x, y, z)", None, None, None, export="__pyx_fuse_1elliprd", guarded=True)
special(
    "elliprf(x, y, z)", "-elliprd(y, z, x) / 6", "-elliprd(z, x, y) / 6", "-elliprd(x, y, z) / 6",
    export="__pyx_fuse_1elliprf", guarded=True,
)  # fmt: skip
special(
    "agm(a, b)",
    "0.2122065907891938 * out * out * a * elliprd(0.0, b * b, a * a)",
    "0.2122065907891938 * out * out * b * elliprd(0.0, a * a, b * b)",
    guarded=True,
)
special("hyperu(a, b, x)", None, None, "-a * hyperu(a + 1, b + 1, x)", guarded=True)
