"""A function in plain Python, and what diffjit makes of it to first order, against its values and differences."""

import numpy as np
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


def of_an_array(f, x, backend="python", *, rel=1e-12, step=1e-5, slopes=1e-8):
    """Value, gradient and a tangent by one array, whose numbers move one after the other."""
    assert dj.jit(f, backend=backend)(x) == pytest.approx(f(x), rel=rel)
    moved = [step * e.reshape(x.shape) for e in np.eye(x.size)]
    wanted = np.reshape([(f(x + d) - f(x - d)) / (2 * step) for d in moved], x.shape)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(x), wanted, rtol=slopes, atol=slopes)
    assert dj.jvp(f, (x,), (x,), backend=backend)[1] == pytest.approx(np.sum(wanted * x), rel=slopes)


def bend_and_lanes(f, x, other, *, step=1e-5, bends=1e-7):
    """The compiled Hessian against differences of the gradient, and the gradient at two points at once."""
    gradient = dj.grad(f)
    wanted = [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(x.size)]
    np.testing.assert_allclose(dj.hessian(f)(x), wanted, rtol=bends, atol=bends)
    np.testing.assert_allclose(dj.vmap(gradient)(np.stack([x, other])), [gradient(x), gradient(other)])
