"""Every elementwise row: value and partial derivatives against mpmath and difference quotients, kinks, dtypes."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

import mpmath
import numpy as np
import pytest

import diffjit.primitives  # noqa: F401 - fills the tables
from diffjit.frontend.syntax import interpret  # noqa: F401 - fills the table
from diffjit.frontend.syntax.handlers import CORE
from diffjit.primitives.registry import COMPOSITES, ELEMENTWISE, FUNCTIONS
from diffjit.primitives.scipy_special import EXPORTS
from diffjit.primitives.semantics import SCALAR_SEMANTICS
from tests.primitives.evaluate import FUNCTIONS_BY_KIND, partial, value

mp = mpmath.mp.clone()
mp.dps = 50

# kind -> the same function in mpmath, and points where it is smooth
UNARY = {
    "negative": (operator.neg, [-2.5, 0.3]),
    "positive": (operator.pos, [-2.5, 0.3]),
    "reciprocal": (lambda x: 1 / x, [-3.0, 0.2]),
    "square": (lambda x: x * x, [-3.0, 0.0, 0.2]),
    "one_minus_square": (lambda x: 1 - x * x, [-3.0, 0.0, 0.2, 1.0]),
    "sqrt": (mp.sqrt, [1e-8, 0.5, 3.0]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [-8.0, 0.5, 3.0]),
    "absolute": (abs, [-2.0, 0.3]),
    "fabs": (abs, [-2.0, 0.3]),
    "exp": (mp.exp, [-30.0, 0.0, 2.5]),
    "exp2": (lambda x: mp.mpf(2) ** x, [-30.0, 0.0, 2.5]),
    "expm1": (mp.expm1, [-3.0, 1e-9, 2.5]),
    "log": (mp.log, [1e-8, 0.7, 300.0]),
    "log2": (lambda x: mp.log(x, 2), [1e-8, 0.7, 300.0]),
    "log10": (mp.log10, [1e-8, 0.7, 300.0]),
    "log1p": (mp.log1p, [-0.5, 1e-9, 30.0]),
    "sin": (mp.sin, [-3.0, 0.0, 1.0]),
    "cos": (mp.cos, [-3.0, 0.0, 1.0]),
    "tan": (mp.tan, [-3.0, 0.0, 1.0]),
    "arcsin": (mp.asin, [-0.99999, 0.0, 0.5]),
    "arccos": (mp.acos, [-0.99999, 0.0, 0.5]),
    "arctan": (mp.atan, [-3.0, 0.0, 1.0]),
    "sinh": (mp.sinh, [-3.0, 0.0, 1.0]),
    "cosh": (mp.cosh, [-3.0, 0.0, 1.0]),
    "tanh": (mp.tanh, [-3.0, 0.0, 1.0]),
    "arcsinh": (mp.asinh, [-3.0, 0.0, 1.0]),
    "arccosh": (mp.acosh, [1.00001, 3.0]),
    "arctanh": (mp.atanh, [-0.99999, 0.0, 0.5]),
    "deg2rad": (mp.radians, [-3.0, 90.0]),
    "rad2deg": (mp.degrees, [-3.0, 1.0]),
    "erf": (mp.erf, [-1.0, 0.0, 2.0]),
    "erfc": (mp.erfc, [-1.0, 0.0, 2.0, 10.0]),
    "gamma": (mp.gamma, [-1.5, 0.1, 3.0, 30.0]),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [-1.5, 0.1, 3.5, 30.0]),
    "sinc": (lambda x: mp.sinc(mp.pi * x), [-2.2, 1e-5, 0.3, 5.7]),
    "i0": (lambda x: mp.besseli(0, x), [-3.0, 0.0, 0.5, 40.0]),
    "conjugate": (operator.pos, [1.5]),
    "real": (operator.pos, [1.5]),
}
BINARY = {
    "add": (operator.add, [(1.5, -2.0)]),
    "subtract": (operator.sub, [(1.5, -2.0)]),
    "multiply": (operator.mul, [(1.5, -2.0), (0.0, 3.0)]),
    "divide": (operator.truediv, [(1.5, -2.0), (0.0, 3.0)]),
    "power": (mp.power, [(1.5, -2.0), (0.3, 0.5), (2.0, 3.0)]),
    "float_power": (mp.power, [(1.5, -2.0), (0.3, 0.5), (2.0, 3.0)]),
    "remainder": (lambda x, y: x - mp.floor(x / y) * y, [(7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (1e6 + 0.3, 0.1)]),
    "fmod": (
        lambda x, y: mp.sign(x) * (abs(x) - mp.floor(abs(x) / abs(y)) * abs(y)),
        [(7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (1e6 + 0.3, 0.1)],
    ),
    "hypot": (mp.hypot, [(3.0, -4.0), (1e-200, 1e-200), (0.0, 2.0)]),
    "arctan2": (mp.atan2, [(3.0, -4.0), (0.0, 2.0), (-1.0, -1.0)]),
    "logaddexp": (lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), [(3.0, -4.0), (1000.0, 1000.5), (0.0, 0.0)]),
    "logaddexp2": (lambda x, y: mp.log(mp.mpf(2) ** x + mp.mpf(2) ** y, 2), [(3.0, -4.0), (1000.0, 1000.5)]),
    "maximum": (max, [(3.0, -4.0), (1.0, 2.0)]),
    "minimum": (min, [(3.0, -4.0), (1.0, 2.0)]),
    "fmax": (max, [(3.0, -4.0), (1.0, 2.0)]),
    "fmin": (min, [(3.0, -4.0), (1.0, 2.0)]),
    "copysign": (lambda x, y: abs(x) * mp.sign(y), [(3.0, -4.0), (-3.0, -4.0), (-1.0, 2.0), (1.0, 2.0)]),
}
# The parameter that is an integer, or a condition, draws no derivative.
WITH_CONSTANT = {
    ("ldexp", 0): [(0.75, 5), (-3.0, -2)],
    ("polygamma", 1): [(0, 0.7), (1, 3.0), (2, 0.4), (3, 25.0), (0, -1.3)],
    ("sinc_nth", 1): [(1, 0.0), (1, 0.4), (2, 1e-3), (3, 2.2)],
    ("bessel_i", 1): [(0, 0.0), (1, 0.3), (2, -2.0), (-1, 4.0)],
    ("heaviside", 1): [(0.0, 0.5), (1.0, 0.5), (-1.0, 0.5)],
    ("where", 1): [(True, 1.0, 2.0), (False, 1.0, 2.0)],
    ("where", 2): [(True, 1.0, 2.0), (False, 1.0, 2.0)],
    ("select", 1): [(True, 1.0, 2.0), (False, 1.0, 2.0)],
    ("select", 2): [(True, 1.0, 2.0), (False, 1.0, 2.0)],
    ("zdiv", 0): [(1.0, 3.0)],
    ("zdiv", 1): [(1.0, 3.0)],
    ("zmul", 0): [(1.0, 3.0)],
    ("zmul", 1): [(1.0, 3.0)],
    ("cast", 0): [(1.5,)],
    ("rerouted", 1): [],
    ("nextafter", 0): [(1.5, 2.0)],
}
DISCRETE = {
    "floor_divide", "sign", "spacing", "floor", "ceil", "trunc", "rint", "gcd", "lcm", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and",
    "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count", "isnan", "isinf", "isfinite",
    "signbit", "imag", "unite",
}  # fmt: skip


IMPLICIT = {
    "gamma_sample", "gamma_slope", "gamma_bend", "beta_sample", "beta_slope", "beta_bend", "beta_twist", "beta_slope_b",
    "beta_bend_b", "student_slope", "student_bend",
}  # fmt: skip


def test_every_row_is_tested() -> None:
    tested = set(UNARY) | set(BINARY) | {kind for kind, _ in WITH_CONSTANT} | DISCRETE
    tested |= IMPLICIT  # tests/streams/test_implicit.py
    assert tested == set(ELEMENTWISE) - set(EXPORTS)  # test_scipy_special


@pytest.mark.parametrize("kind", sorted(UNARY))
def test_unary_row_against_mpmath(kind: str) -> None:
    function, points = UNARY[kind]
    for x in points:
        assert value(kind, x) == pytest.approx(float(function(mp.mpf(x))), rel=1e-13, abs=1e-300)
        assert partial(kind, 0, x) == pytest.approx(float(mp.diff(function, mp.mpf(x))), rel=2e-13, abs=1e-12)


def scaled_diff(function: Any, x: float, y: float, order: tuple[int, int]) -> float:
    """A partial derivative with a step that is small against 1e-200, too."""
    scale = mp.mpf(max(abs(x), abs(y)) or 1.0)
    return float(mp.diff(lambda a, b: function(a * scale, b * scale), (x / scale, y / scale), order) / scale)


@pytest.mark.parametrize("kind", sorted(BINARY))
def test_binary_row_against_mpmath(kind: str) -> None:
    function, points = BINARY[kind]
    for x, y in points:
        for position, order in ((0, (1, 0)), (1, (0, 1))):
            exact = scaled_diff(function, x, y, order)
            assert partial(kind, position, x, y) == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("kind", "position"), sorted(WITH_CONSTANT))
def test_row_against_difference_quotient(kind: str, position: int) -> None:
    for args in WITH_CONSTANT[kind, position]:
        h = 1e-5
        ahead, behind = list(args), list(args)
        ahead[position] += h
        behind[position] -= h
        slope = (value(kind, *ahead) - value(kind, *behind)) / (2 * h)
        assert partial(kind, position, *args) == pytest.approx(float(slope), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("kind", sorted(DISCRETE))
def test_discrete_rows_have_no_derivative(kind: str) -> None:
    assert set(ELEMENTWISE[kind].partials) == {"0"}


@pytest.mark.parametrize("kind", sorted(ELEMENTWISE))
def test_partials_are_expressions_in_known_names(kind: str) -> None:
    row = ELEMENTWISE[kind]
    for text in row.partials:
        names = {n.id for n in ast.walk(ast.parse(text or "0", mode="eval")) if isinstance(n, ast.Name)}
        assert names <= set(row.params) | {"out"} | set(ELEMENTWISE)


@pytest.mark.parametrize("kind", sorted(set(UNARY) - set(SCALAR_SEMANTICS)))
def test_partials_keep_float32(kind: str) -> None:
    x = np.array([UNARY[kind][1][-1]], np.float32)
    slope = partial(kind, 0, x)
    assert np.result_type(slope, x) == np.float32


HOLOMORPHIC = [
    "negative", "reciprocal", "square", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
    "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
]  # fmt: skip


@pytest.mark.parametrize("kind", HOLOMORPHIC)
def test_partials_of_complex_arguments(kind: str) -> None:
    for z in (0.3 + 0.4j, -0.7 + 0.2j, -1.5 - 2.0j, 2.0 - 0.5j):
        h = 1e-6
        slope = (value(kind, z + h) - value(kind, z - h)) / (2 * h)
        assert partial(kind, 0, z) == pytest.approx(slope, rel=1e-7)


def test_kinks_follow_the_conventions() -> None:
    nan, inf = math.nan, math.inf
    assert partial("absolute", 0, 0.0) == 0.0
    assert partial("sqrt", 0, np.float64(0.0)) == inf
    assert partial("hypot", 0, 0.0, 0.0) == 0.0
    assert partial("maximum", 0, 1.0, 1.0) == partial("maximum", 1, 1.0, 1.0) == 0.5
    assert partial("minimum", 0, 1.0, 1.0) == partial("minimum", 1, 1.0, 1.0) == 0.5
    assert partial("maximum", 0, nan, 1.0) == partial("maximum", 1, nan, 1.0) == 0.0
    assert (partial("fmax", 0, nan, 1.0), partial("fmax", 1, nan, 1.0)) == (0.0, 1.0)
    assert (partial("fmin", 0, 1.0, nan), partial("fmin", 1, 1.0, nan)) == (1.0, 0.0)
    assert partial("sinc", 0, 0.0) == 0.0
    assert partial("sinc_nth", 1, 1, 0.0) == pytest.approx(-(math.pi**2) / 3)


def test_powers_at_zero() -> None:
    zero = np.float64(0.0)
    assert partial("power", 0, zero, np.float64(0.0)) == 0.0
    assert partial("power", 0, zero, 1) == 1.0
    assert partial("power", 0, zero, 2) == 0.0
    assert partial("power", 0, zero, 0.5) == np.inf
    assert partial("power", 1, zero, 2.0) == 0.0
    assert partial("power", 0, np.float64(-2.0), 3) == 12.0
    assert partial("power", 1, 2, 3.0) == pytest.approx(8 * math.log(2))


def test_partials_that_can_be_infinite_are_guarded() -> None:
    edges = [np.float64(v) for v in (-4e307, -1000.0, -1.0, -0.0, 0.0, 1.0, 1000.0, 4e307)]
    with np.errstate(all="ignore"):
        for kind in set(UNARY) | set(BINARY):
            row = ELEMENTWISE[kind]
            points = [(x,) for x in edges] if len(row.params) == 1 else [(x, y) for x in edges for y in edges]
            slopes = [partial(kind, k, *p) for k in range(len(row.params)) for p in points]
            assert row.guarded or np.all(np.isfinite(np.array(slopes, float))), kind


def test_scalar_semantics_agree_with_numpy() -> None:
    x = np.array([-2.3, -1e-3, 0.0, 1e-9, 0.4, 7.0])
    np.testing.assert_allclose(FUNCTIONS_BY_KIND["sinc"](x), np.sinc(x), rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(FUNCTIONS_BY_KIND["i0"](x), np.i0(x), rtol=1e-14)
    poles = [FUNCTIONS_BY_KIND["gamma"](x) for x in (0.0, -0.0, -1.0, 200.0)]
    np.testing.assert_array_equal(poles, [np.inf, -np.inf, np.nan, np.inf])


REFUSED = {
    np.isnat: "dates are not numbers",
    np.matmul: "a core kind, not elementwise (rules.linalg)",
}


def test_every_ufunc_is_declared_or_refused_with_a_reason() -> None:
    ufuncs = {f for f in vars(np).values() if isinstance(f, np.ufunc)}
    missing = {f for f in ufuncs if f not in FUNCTIONS and f not in COMPOSITES and f not in REFUSED}
    assert not missing
    assert not {f for f in REFUSED if f in FUNCTIONS or f in COMPOSITES}


def test_every_function_of_math_is_declared() -> None:
    functions = {f for name, f in vars(math).items() if callable(f) and not name.startswith("_")}
    assert not {f for f in functions if f not in FUNCTIONS and f not in COMPOSITES and f not in CORE}


def test_no_function_is_both_elementwise_and_composite() -> None:
    assert not set(FUNCTIONS) & set(COMPOSITES)
