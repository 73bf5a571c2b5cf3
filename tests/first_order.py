"""A function in plain Python, and what diffjit makes of it to first order, against its values and differences."""

import pytest

import diffjit as dj


def of_one_number(f, backend="python", x=1.3, *, rel=1e-12, slopes=1e-7):
    """Value and gradient."""
    value, slope = dj.value_and_grad(f, backend=backend)(x)
    assert value == pytest.approx(f(x), rel=rel)
    assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=slopes)


def along(f, x, t, backend="python"):
    """Value and tangent of one array in a direction."""
    value, slope = dj.jvp(f, (x,), (t,), backend=backend)
    assert value == pytest.approx(f(x), rel=1e-12)
    assert slope == pytest.approx((f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6, rel=1e-7)
