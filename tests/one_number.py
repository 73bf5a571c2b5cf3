"""A function of one number in plain Python, and what diffjit makes of it."""

import numpy as np

import diffjit as dj


def as_python(f, backend, x=1.3):
    """Value, gradient, tangent and second derivative against Python's values and their difference quotients."""
    numerical = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    bend = (f(x + 1e-4) - 2.0 * f(x) + f(x - 1e-4)) / 1e-8
    np.testing.assert_allclose(dj.jit(f, backend=backend)(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(dj.grad(f, backend=backend)(x), numerical, rtol=1e-6)
    np.testing.assert_allclose(dj.jvp(f, (x,), (1.0,), backend=backend)[1], numerical, rtol=1e-6)
    np.testing.assert_allclose(dj.grad(dj.grad(f), backend=backend)(x), bend, rtol=1e-5, atol=1e-5)
