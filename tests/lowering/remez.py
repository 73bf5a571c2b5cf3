"""Where the coefficients of `vecmath` come from: best approximations by Remez exchange, in 40 digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
from mpmath import mpf

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Fit:
    """c_0..c_(n-1) that minimise max |weight(x) (f(x) - sum c_j x**j)| on [low, high]; n in float64 and in float32."""

    f: Function
    weight: Function
    low: Any
    high: Any
    double: int
    single: int

    def coefficients(self, n: int) -> tuple[float, ...]:
        with mpmath.workdps(40):
            return tuple(float(c) for c in _exchange(self.f, self.weight, mpf(self.low), mpf(self.high), n))


def _exchange(f: Function, weight: Function, low: Any, high: Any, n: int) -> list[Any]:
    def node(part: Any) -> Any:
        return (low + high) / 2 - (high - low) / 2 * mpmath.cos(part * mpmath.pi)

    points = [node((mpf(k) + mpf(1) / 2) / (n + 1)) for k in range(n + 1)]
    grid = [node(mpf(k) / (12 * (n + 1))) for k in range(12 * (n + 1) + 1)]
    grid[0] = low + (high - low) * mpf(10) ** -6 if low == 0 else low
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    best, least = [], mpf("inf")
    for _ in range(12):
        matrix, right = mpmath.matrix(n + 1, n + 1), mpmath.matrix(n + 1, 1)
        for i, x in enumerate(points):
            for j in range(n):
                matrix[i, j] = x**j
            matrix[i, n] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = mpmath.lu_solve(matrix, right)
        c = [solution[j] for j in range(n)]
        errors = [
            w * (y - sum(cj * x**j for j, cj in enumerate(c))) for x, y, w in zip(grid, values, weights, strict=True)
        ]
        if max(abs(e) for e in errors) < least:
            best, least = c, max(abs(e) for e in errors)
        new = [grid[k] for k in _extrema(errors, n + 1)]
        if len(new) <= n or new == points:
            break
        points = new
    return best


def _extrema(errors: list[Any], count: int) -> list[int]:
    """Where the error is largest between changes of its sign, thinned out to `count` places."""
    places: list[int] = []
    for k, e in enumerate(errors):
        if places and (e > 0) == (errors[places[-1]] > 0):
            if abs(e) > abs(errors[places[-1]]):
                places[-1] = k
        else:
            places.append(k)
    while len(places) > count:
        if len(places) == count + 1:
            places.pop(0 if abs(errors[places[0]]) < abs(errors[places[-1]]) else -1)
        else:
            pairs = range(len(places) - 1)
            k = min(pairs, key=lambda k: max(abs(errors[places[k]]), abs(errors[places[k + 1]])))
            del places[k : k + 2]
    return places


def _digits(f: Function) -> Function:
    """f with digits to spare: what is fitted are small differences."""

    def exact(x: Any) -> Any:
        with mpmath.workdps(220):
            return f(mpf(x))

    return exact


def _of_root(f: Function) -> Function:
    """(f(s) / s - f'(0)) / s**2 of an odd f as a function of z = s**2; f'(0) is 1."""
    return _digits(lambda z: (f(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z)


def _log_series(z: Any) -> Any:
    return (2 * mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 2) / z


def _erfcx(centre: int) -> Function:
    def f(t: Any) -> Any:
        x = centre * (1 + t) / (1 - t)
        return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)

    return _digits(f)


with mpmath.workdps(40):
    L = mpmath.log(2) / 2 * mpf("1.0005")
    Z = L * L
    LOGS = mpf("0.0297")  # (sqrt(2) - 1)**2 / (sqrt(2) + 1)**2 and a little
    WAVES = mpf("0.8") ** 2
FITS: dict[str, Fit] = {
    "EXP": Fit(_digits(lambda r: (mpmath.exp(r) - 1 - r) / r**2), lambda r: L, -L, L, 10, 5),
    "SINH": Fit(_of_root(mpmath.sinh), lambda z: z, 0, Z, 5, 3),
    "COSH": Fit(_digits(lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z), lambda z: z, 0, Z, 5, 3),
    "LOG": Fit(_digits(_log_series), lambda z: z, 0, LOGS, 7, 3),
    "LOG_REST": Fit(_digits(lambda z: (_log_series(z) - mpf(2) / 3) / z), lambda z: z * z, 0, LOGS, 8, 0),
    "LOG_SHORT": Fit(_digits(_log_series), lambda z: z, 0, LOGS, 4, 0),
    "EXP_SHORT": Fit(_digits(mpmath.exp), lambda r: 1, -L, L, 7, 0),
    "SIN": Fit(_of_root(mpmath.sin), lambda z: z, 0, WAVES, 6, 3),
    "COS": Fit(_digits(lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2), lambda z: z * z, 0, WAVES, 6, 3),
    "ARCTAN": Fit(_of_root(mpmath.atan), lambda z: z, 0, "0.1718", 12, 5),
    "ARCSIN": Fit(_of_root(mpmath.asin), lambda z: z, 0, "0.2501", 13, 5),
    "ERF": Fit(_digits(lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1), lambda z: 1, 0, 1, 12, 7),
    "ERFCX": Fit(_erfcx(4), lambda t: 1, -1, mpf("23.5") / mpf("31.5"), 23, 0),
    "ERFCX_SINGLE": Fit(_erfcx(2), lambda t: 1, -1, mpf("8.5") / mpf("12.5"), 0, 12),
    "CBRT": Fit(_digits(lambda x: mpmath.cbrt(1 / x)), mpmath.cbrt, 1, 2, 6, 4),
}
