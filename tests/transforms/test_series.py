"""Series of every elementwise row against mpmath, the algebra of power series, and what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffjit as dj
from diffjit.frontend.entry.program import specialise
from diffjit.ir.walk import walk
from diffjit.primitives.registry import FUNCTIONS
from diffjit.transforms.modes.jet import jet_program
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


# The algebra of power series ------------------------------------------------------------------------------------------

numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
curves = st.lists(numbers, min_size=5, max_size=5)


def coefficients(f, *curve):
    """Power series of f along curves given by coefficients 0, 1, ..."""
    primals, series = tuple(c[0] for c in curve), tuple(tuple(c[1:]) for c in curve)
    out, found = dj.jet(f, primals, series, factorial_scaled=False, backend="python")
    return np.array([out, *found])


def product(x, y):
    return x * y


def quotient(x, y):
    return x / (y * y + 1.0)


def wave(x):
    return np.sin(x) * np.exp(0.5 * x)


def wave_of_quotient(x, y):
    return wave(quotient(x, y))


@given(curves, curves)
@settings(max_examples=50)
def test_products_are_those_of_polynomials(x, y):
    np.testing.assert_allclose(coefficients(product, x, y), np.convolve(x, y)[:5], atol=1e-12)


@given(curves, curves)
@settings(max_examples=50)
def test_a_quotient_times_its_denominator(x, y):
    z = coefficients(quotient, x, y)
    below = np.convolve(y, y)[:5] + np.eye(5)[0]
    scale = np.max(np.abs(z)) * np.max(np.abs(below))
    np.testing.assert_allclose(np.convolve(z, below)[:5], x, atol=1e-12 * max(1.0, scale))


@given(curves, curves)
@settings(max_examples=50)
def test_the_chain_rule(x, y):
    """The series of a composition is the outer function's along the inner one's curve."""
    inner = coefficients(quotient, x, y)
    outer = coefficients(wave, inner)
    whole = coefficients(wave_of_quotient, x, y)
    np.testing.assert_allclose(outer, whole, rtol=1e-10, atol=1e-11 * max(1.0, np.max(np.abs(whole))))


@given(numbers, st.floats(-3.0, 3.0))
@settings(max_examples=50)
def test_a_shorter_series_is_the_beginning_of_a_longer_one(x, slope):
    long = dj.jet(wave, (x,), ((slope, 0.0, 0.0, 0.0, 0.0),), backend="python")[1]
    short = dj.jet(wave, (x,), ((slope, 0.0),), backend="python")[1]
    np.testing.assert_array_equal(short, long[:2])


# Cost -----------------------------------------------------------------------------------------------------------------


def operations(f, order):
    """The number of operations of the program."""
    made = jet_program(specialise(f, (0.5,), {}).function, [0], order, scaled=True)
    return sum(1 for op in walk(made.function.body) if op.kind != "const")


@pytest.mark.parametrize(
    "f",
    [np.exp, np.tan, np.arctan, np.sqrt, lambda x: np.sin(x) * np.cos(x) / (1 + x * x), lambda x: x**-2.5],
    ids=["exp", "tan", "arctan", "sqrt", "quotient", "power"],
)
def test_the_cost_grows_with_the_square_of_the_order(f):
    """Four times the order, 16 times the operations at most; nested derivatives would double with each."""
    few, many = operations(f, 4), operations(f, 16)
    assert many <= 16 * few
