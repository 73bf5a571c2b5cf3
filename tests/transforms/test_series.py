"""Series of every elementwise row, against mpmath."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.primitives.registry import FUNCTIONS
from tests.primitives.test_elementwise import BINARY, UNARY, mp

BY_KIND = {kind: function for function, kind in reversed(FUNCTIONS.items())}

ORDER = 5
SLOPES = (0.9, -0.6)


def series(f, *points):
    """Coefficients of f along a straight line, to 50 digits."""
    at = [mp.mpf(x) for x in points]
    found = mp.taylor(lambda t: f(*(x + s * t for x, s in zip(at, SLOPES, strict=False))), 0, ORDER)
    return [float(mp.re(c)) for c in found]


def agrees(kind, reference, *points):
    f = BY_KIND[kind]
    terms = tuple((s, *[0.0] * (ORDER - 1)) for s, _ in zip(SLOPES, points, strict=False))
    found = dj.jet(f, points, terms, factorial_scaled=False, backend="python")[1]
    wanted = series(reference, *points)[1:]
    scale = np.maximum.accumulate(np.abs(wanted))
    assert np.all(np.abs(np.array(found) - wanted) <= 1e-9 * scale + 1e-13), (found, wanted)


@pytest.mark.parametrize("kind", UNARY)
def test_of_one(kind):
    reference, points = UNARY[kind]
    for x in points:
        agrees(kind, reference, x)


@pytest.mark.parametrize("kind", BINARY)
def test_of_two(kind):
    reference, points = BINARY[kind]
    for pair in points:
        if max(map(abs, pair)) > 1e-100:  # not where squares vanish
            agrees(kind, reference, *pair)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_an_exponent_that_passes_zero(backend):
    """The partial of x**y by x is 0 at y = 0, but not constant there."""
    mixed = dj.jvp(lambda y: dj.jvp(lambda x: x**y, (2.0,), (1.0,))[1], (0.0,), (1.0,), backend=backend)[1]
    assert mixed == 0.5
    assert dj.grad(lambda y: dj.grad(lambda x: x**y)(2.0), backend=backend)(0.0) == 0.5
    assert dj.grad(lambda x, y: x**y, (0, 1), backend=backend)(0.0, 0.0)[0] == 0.0
