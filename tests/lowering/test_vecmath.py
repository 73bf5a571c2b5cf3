"""The vectorised elementary functions: errors against mpmath, special values against NumPy, packed instructions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numba
import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.calls import cpu
from diffjit.lowering.calls.entry import wrapper
from diffjit.lowering.runtime.vecmath import VECTOR, exponential, logarithm, out_of_range, trigonometric
from diffjit.lowering.runtime.vecmath import special as special_functions
from diffjit.settings import settings
from tests.lowering.remez import FITS

Ranges = list[tuple[float, float]]
N = 1500


# The functions over arrays, and their errors --------------------------------------------------------------------------


@lru_cache
def over(kind: str) -> Callable[..., np.ndarray]:
    """The function in a compiled loop over arrays."""
    function = VECTOR[kind]
    if kind in TWO:

        @numba.njit(error_model="numpy")
        def loop(x, y):
            out = np.empty_like(x)
            for i in range(x.size):
                out[i] = function(x[i], y[i])
            return out

    else:

        @numba.njit(error_model="numpy")
        def loop(x):
            out = np.empty_like(x)
            for i in range(x.size):
                out[i] = function(x[i])
            return out

    return loop


def ulps(got: np.ndarray, exact: list[Any]) -> np.ndarray:
    """Errors in units of the last place of the exact values; 0 where both are NaN or both the same infinity."""
    dtype = got.dtype.type
    with np.errstate(over="ignore"):
        high = np.array([dtype(float(e)) if np.isfinite(dtype(float(e))) else float(e) for e in exact], got.dtype)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(high)).astype(float)
        low = np.array(
            [float(e - mpmath.mpf(float(h))) if np.isfinite(h) else 0.0 for e, h in zip(exact, high, strict=True)]
        )
        error = np.abs((got.astype(float) - high.astype(float)) - low) / unit
    same = (got == high) & ~np.isfinite(high) | (np.isnan(got) & np.isnan(high))
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def spread(rng: np.random.Generator, ranges: Ranges, dtype: Any, n: int) -> np.ndarray:
    """Numbers from ranges: evenly where a range is short, else evenly in the exponent."""
    parts = []
    for low, high in ranges:
        if low * high > 0 and max(abs(low / high), abs(high / low)) > 100.0:
            sign = math.copysign(1.0, low)
            a, b = math.log2(abs(low)), math.log2(abs(high))
            parts.append(sign * np.exp2(rng.uniform(min(a, b), max(a, b), n)))
        else:
            parts.append(rng.uniform(low, high, n))
    x = np.concatenate(parts).astype(dtype)
    return x[np.isfinite(x)]


def exactly(reference: Callable[..., Any], *columns: np.ndarray) -> list[Any]:
    """mpmath's values at the arguments as they are stored."""
    with mpmath.workprec(140):
        return [reference(*(mpmath.mpf(float(a)) for a in row)) for row in zip(*columns, strict=True)]


def tiny(dtype: Any) -> float:
    return float(np.finfo(dtype).smallest_subnormal)


def small(dtype: Any) -> Ranges:
    """Both signs from the least subnormal to 1."""
    return [(tiny(dtype), 1.0), (-1.0, -tiny(dtype))]


def positive(dtype: Any) -> Ranges:
    least, normal, most = tiny(dtype), float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    return [(least, most), (0.5, 2.0), (0.99, 1.01), (least, normal)]


def _of(double: Ranges, single: Ranges) -> Callable[[Any], Ranges]:
    return lambda dtype: small(dtype) + (double if dtype is np.float64 else single)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _waves(dtype: Any) -> Ranges:
    most = 2.0**36 if dtype is np.float64 else 2.0**16
    return [*small(dtype), (-10.0, 10.0), (1.0, most), (-most, -1.0)]


def _tails(dtype: Any) -> Ranges:
    return [*positive(dtype), (-5.0, 5.0)]


def _arcs(dtype: Any) -> Ranges:
    return [*small(dtype), (-1.0, 1.0), (0.999, 1.0), (-1.0, -0.999)]


# Kind -> (mpmath's function, ranges of the argument, most ulp in float64 and in float32).
ONE: dict[str, tuple[Any, Callable[[Any], Ranges], float, float]] = {
    "exp": (mpmath.exp, _of([(-745.2, 709.8), (-2.0, 2.0)], [(-104.0, 88.8), (-2.0, 2.0)]), 1.05, 1.05),
    "exp2": (lambda x: 2**x, _of([(-1075.0, 1024.0), (-2.0, 2.0)], [(-150.0, 128.0), (-2.0, 2.0)]), 1.05, 1.05),
    "expm1": (mpmath.expm1, _of([(-50.0, 709.8), (-2.0, 2.0)], [(-20.0, 88.8), (-2.0, 2.0)]), 2.0, 2.0),
    "sigmoid": (_sigmoid, _of([(-745.0, 50.0), (-3.0, 3.0)], [(-103.0, 20.0), (-3.0, 3.0)]), 2.5, 2.5),
    "sinh": (mpmath.sinh, _of([(-710.5, 710.5), (-3.0, 3.0)], [(-89.5, 89.5), (-3.0, 3.0)]), 1.5, 1.5),
    "cosh": (mpmath.cosh, _of([(-710.5, 710.5), (-3.0, 3.0)], [(-89.5, 89.5), (-3.0, 3.0)]), 1.5, 1.5),
    "tanh": (mpmath.tanh, _of([(-25.0, 25.0), (-3.0, 3.0)], [(-12.0, 12.0), (-3.0, 3.0)]), 2.5, 2.5),
    "log": (mpmath.log, positive, 1.0, 1.0),
    "log2": (lambda x: mpmath.log(x, 2), positive, 1.5, 1.5),
    "log10": (mpmath.log10, positive, 1.5, 1.5),
    "log1p": (mpmath.log1p, lambda dtype: [*positive(dtype), (-1.0, -tiny(dtype)), (-0.99999, 1.0)], 1.5, 1.5),
    "arcsinh": (mpmath.asinh, _tails, 1.5, 1.5),
    "arccosh": (mpmath.acosh, lambda dtype: [(1.0, float(np.finfo(dtype).max)), (1.0, 3.0), (1.0, 1.001)], 1.5, 1.5),
    "arctanh": (mpmath.atanh, _arcs, 1.5, 1.5),
    "sin": (mpmath.sin, _waves, 1.6, 1.6),
    "cos": (mpmath.cos, _waves, 1.6, 1.6),
    "tan": (mpmath.tan, _waves, 2.0, 2.0),
    "arctan": (mpmath.atan, _tails, 1.0, 1.0),
    "arcsin": (mpmath.asin, _arcs, 1.0, 1.0),
    "arccos": (mpmath.acos, _arcs, 1.0, 1.0),
    "erf": (mpmath.erf, lambda dtype: [*small(dtype), (-1.5, 1.5), (1.0, 6.5)], 2.0, 2.0),
    "erfc": (mpmath.erfc, _of([(-6.5, 27.3), (-1.0, 1.0)], [(-4.5, 10.2), (-1.0, 1.0)]), 2.5, 2.5),
    "cbrt": (mpmath.cbrt, positive, 1.0, 1.0),
}

Columns = tuple[np.ndarray, np.ndarray]


def _powers(rng: np.random.Generator, dtype: Any, n: int) -> Columns:
    """Arguments of pow with results all over the range, and near 1."""
    top = float(np.log2(np.finfo(dtype).max))
    bottom = float(np.log2(tiny(dtype)))
    x = np.concatenate([np.exp2(rng.uniform(bottom, top, n)), rng.uniform(0.5, 2.0, n), rng.uniform(0.1, 10.0, n)])
    y = rng.uniform(bottom, top, 3 * n) / np.log2(np.where(np.abs(x - 1.0) < 1e-3, 1.5, x))
    y[2 * n :] = rng.uniform(-4.0, 4.0, n)
    return x.astype(dtype), y.astype(dtype)


def _points(rng: np.random.Generator, dtype: Any, n: int) -> Columns:
    """Points of the plane: of like size anywhere, and with any two coordinates."""
    top = float(np.log2(np.finfo(dtype).max)) - 1.0
    bottom = float(np.log2(tiny(dtype))) + 1.0
    scale = np.exp2(rng.uniform(bottom, top, n))
    x = np.concatenate([rng.uniform(-2.0, 2.0, n), scale, np.exp2(rng.uniform(bottom, top, n))])
    near, far = scale * rng.uniform(-1.0, 1.0, n), -np.exp2(rng.uniform(bottom, top, n))
    y = np.concatenate([rng.uniform(-2.0, 2.0, n), near, far])
    return x.astype(dtype), y.astype(dtype)


def _exponents(rng: np.random.Generator, dtype: Any, n: int) -> Columns:
    """Numbers of like size and sign, so that nothing cancels."""
    x = rng.uniform(1.0, 500.0, n)
    return x.astype(dtype), (x + rng.uniform(0.0, 20.0, n)).astype(dtype)


TWO: dict[str, tuple[Any, Callable[..., Columns], float, float]] = {
    "arctan2": (mpmath.atan2, _points, 1.0, 1.0),
    "hypot": (mpmath.hypot, _points, 1.05, 1.05),
    "power": (mpmath.power, _powers, 1.5, 1.5),
    "float_power": (mpmath.power, _powers, 1.5, 1.5),
    "logaddexp": (lambda x, y: y + mpmath.log1p(mpmath.exp(x - y)), _exponents, 2.0, 2.0),
    "logaddexp2": (lambda x, y: y + mpmath.log(1 + 2 ** (x - y), 2), _exponents, 2.0, 2.0),
}
BOTH = pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
KINDS = pytest.mark.parametrize("kind", sorted(ONE | TWO))


def worst(kind: str, dtype: Any, n: int = N, seed: int = 1) -> tuple[float, tuple[float, ...]]:
    """The largest error and its arguments."""
    rng = np.random.default_rng(seed)
    if kind in TWO:
        reference = TWO[kind][0]
        columns: tuple[np.ndarray, ...] = TWO[kind][1](rng, dtype, n)
    else:
        reference = ONE[kind][0]
        columns = (spread(rng, ONE[kind][1](dtype), dtype, n),)
    errors = ulps(over(kind)(*columns), exactly(reference, *columns))
    k = int(np.argmax(errors))
    return float(errors[k]), tuple(float(c[k]) for c in columns)


@BOTH
@KINDS
def test_error(kind: str, dtype: Any) -> None:
    error, at = worst(kind, dtype)
    most = (ONE | TWO)[kind][2 if dtype is np.float64 else 3]
    assert error <= most, f"{kind}{at!r} is {error} ulp off"


@pytest.mark.slow
@BOTH
@KINDS
def test_error_of_many(kind: str, dtype: Any) -> None:
    error, at = worst(kind, dtype, n=100_000, seed=2)
    most = (ONE | TWO)[kind][2 if dtype is np.float64 else 3]
    assert error <= most, f"{kind}{at!r} is {error} ulp off"


@BOTH
def test_multiples_of_half_pi(dtype: Any) -> None:
    """Where all leading digits cancel."""
    most = 2**35 if dtype is np.float64 else 2**15
    with mpmath.workprec(140):
        k = np.unique(np.geomspace(1, most, 2000).astype(np.int64))
        x = np.array([float(int(n) * mpmath.pi / 2) for n in k]).astype(dtype)
    for kind in ("sin", "cos", "tan"):
        reference, _, double, single = ONE[kind]
        assert ulps(over(kind)(x), exactly(reference, x)).max() <= (double if dtype is np.float64 else single)


# Special values -------------------------------------------------------------------------------------------------------


def special(dtype: Any) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [
        0.0, info.smallest_subnormal, info.tiny / 2, info.tiny, info.eps, 0.5, 1.0 - info.epsneg, 1.0, 1.0 + info.eps,
        1.5, 2.0, 3.0, 4.0, 5.0, 10.0, 60.0, 90.0, 150.0, 711.0, 746.0, 1000.0, 1080.0, 2.0**24, 2.0**24 + 2.0,
        info.max, np.inf, np.nan,
    ]  # fmt: skip
    both = np.array(sizes, dtype)
    return np.concatenate([both, -both])


def by_numpy(kind: str, *columns: np.ndarray) -> np.ndarray:
    if kind == "sigmoid":
        x = columns[0].astype(float)
        t = np.exp(-np.abs(x))
        return (np.where(x < 0.0, t, 1.0) / (1.0 + t)).astype(columns[0].dtype)
    if kind in ("erf", "erfc"):
        return np.array([getattr(math, kind)(v) for v in columns[0]]).astype(columns[0].dtype)
    return getattr(np, "power" if kind == "float_power" else kind)(*columns)


@BOTH
@pytest.mark.parametrize("kind", sorted(VECTOR))
def test_special_values(kind: str, dtype: Any) -> None:
    x = special(dtype)
    if kind in ("sin", "cos", "tan"):
        x = x[~(np.abs(x) > 1e4) | np.isinf(x)]
    columns = tuple(a.ravel() for a in np.meshgrid(x, x)) if kind in TWO else (x,)
    got = over(kind)(*columns)
    with np.errstate(all="ignore"):
        expected = by_numpy(kind, *columns)
        assert got.dtype == expected.dtype
        eps = float(np.finfo(dtype).eps)
        cancels = kind.startswith("logaddexp")  # a sum of two numbers of either sign
        alike = np.isclose(got, expected, rtol=8 * eps, atol=2 * eps if cancels else 2 * tiny(dtype), equal_nan=True)
    alike &= (np.signbit(got) == np.signbit(expected)) | np.isnan(expected) | cancels
    wrong = [(*(c[k] for c in columns), got[k], expected[k]) for k in np.flatnonzero(~alike)]
    assert not wrong, wrong[:8]


@BOTH
@pytest.mark.parametrize("kind", ["sin", "cos", "tan"])
def test_out_of_range_is_nan_and_said(kind: str, dtype: Any) -> None:
    limit = 2.0**36 if dtype is np.float64 else 2.0**16
    x = np.array([1.0, limit, -limit, limit * 1.001, -limit * 4.0, np.finfo(dtype).max, np.inf, np.nan], dtype)

    @numba.njit(error_model="numpy")
    def asked(x):
        return [out_of_range(v) for v in x]

    assert asked(x) == [False, False, False, True, True, True, False, False]
    assert np.isnan(over(kind)(x)).tolist() == [False, False, False, True, True, True, True, True]


# Instructions ---------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("kind", sorted(VECTOR))
def test_loop_is_vectorised(kind: str, dtype: Any, monkeypatch) -> None:
    monkeypatch.setattr(settings, "isolate", False)  # else its LLVM is in another process
    loop = over(kind)
    x = np.ones(4, dtype)
    loop(*((x, x) if kind in TWO else (x,)))
    llvm = next(text for signature, text in loop.inspect_llvm().items() if signature[0].dtype.name == x.dtype.name)
    width = "f64" if dtype is np.float64 or kind in ("power", "float_power") else "f32"
    assert re.search(rf"@llvm\.fma\.v\d+{width}", llvm)
    called = set(re.findall(r"declare [^@]*@([\w.]+)\(", llvm))
    assert not {n for n in called if not n.startswith(("llvm.", "NRT_", "Py", "numba_"))}


def test_loop_that_asks_for_the_range_is_vectorised(monkeypatch) -> None:
    monkeypatch.setattr(settings, "isolate", False)  # else its LLVM is in another process
    monkeypatch.setattr(settings, "cache_mb", 0)
    made = []

    def noted(entry, ready, first):
        made.append(first.dispatcher)
        return wrapper(entry, ready, first)

    monkeypatch.setattr(cpu, "wrapper", noted)
    x = np.linspace(-9.0, 9.0, 1001)
    loop = dj.jit(lambda x: np.sin(x))  # noqa: PLW0108 - a program
    np.testing.assert_allclose(loop(x), np.sin(x), rtol=1e-15, atol=1e-16)
    x[777] = 1e20
    np.testing.assert_allclose(loop(x), np.sin(x), rtol=1e-15, atol=1e-16)
    assert re.search(r"@llvm\.fma\.v\d+f64", next(iter(made[0].inspect_llvm().values())))


# Coefficients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FITS))
def test_coefficients(name: str) -> None:
    """The tables hold the best approximations that `remez` finds."""
    families = (exponential, logarithm, trigonometric, special_functions)
    table = next(getattr(f, name.removesuffix("_SINGLE")) for f in families if hasattr(f, name.removesuffix("_SINGLE")))
    fit = FITS[name]
    if fit.double:
        assert table.double == pytest.approx(fit.coefficients(fit.double), rel=1e-6)
    if fit.single:
        assert table.single == pytest.approx(fit.coefficients(fit.single), rel=1e-6)
