"""Powers by square roots, against C's `pow`, at ordinary and special values."""

import numpy as np
import pytest

import diffjit as dj

TINY = np.finfo(float).smallest_subnormal
SPECIAL = [0.0, -0.0, 1.0, 4.0, np.inf, -np.inf, np.nan, -1.0, TINY, 7 * TINY, 1e-200, 1e-308, 1e205, 1e206, 1.7e308]
EXPONENTS = [0.5, 1.5, -0.5, -1.5]


def same(found, expected):
    assert np.isnan(found) == np.isnan(expected)
    if not np.isnan(expected):
        assert np.signbit(found) == np.signbit(expected)
        assert found == expected or abs(found - expected) <= max(2 * np.spacing(abs(expected)), TINY)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_special_values(exponent):
    def f(x):
        return x**exponent

    of_numbers, of_arrays = dj.jit(lambda x: x**exponent), dj.jit(f)
    points = np.array(SPECIAL + [10.0**k for k in range(-300, 300, 7)])
    with np.errstate(all="ignore"):
        expected = np.array([np.float_power(x, exponent) for x in points])
        found = of_arrays(points)
        for x, a, b in zip(points, found, expected, strict=True):
            # NumPy takes the square root of arrays where the exponent is 0.5: -inf and -0.0 differ from `pow`
            same(a, b)
            same(of_numbers(x), b)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives(exponent, dtype):
    x = np.linspace(0.3, 9.0, 40, dtype=dtype)
    g = dj.grad(lambda x: np.sum(x**exponent))(x)
    assert g.dtype == dtype
    np.testing.assert_allclose(
        g, exponent * x.astype(float) ** (exponent - 1), rtol=1e-6 if dtype == np.float32 else 1e-14
    )
