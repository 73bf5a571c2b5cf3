"""Arrays that are drawn and then changed in a loop: their tangents are made where they are drawn."""

import numpy as np
import pytest

import diffjit as dj


def descended(x):
    """A few steps of a descent from a random start."""
    start = np.random.default_rng(0).random(3)
    for _ in range(3):
        start -= 0.1 * (start * x)
    return np.sum(start**2)


def kept_in_the_loop(x):
    start, total = np.random.default_rng(0).normal(size=3), 0.0
    for k in range(3):
        start += 0.1 * x * (k + 1)
        total += np.sum(start**2)
    return total


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [descended, kept_in_the_loop])
def test_derivatives(program, backend):
    x = np.array([1.0, 2.0, 0.5])
    along = lambda h: program(x * (1.0 + h))
    slope, bend = (along(1e-5) - along(-1e-5)) / 2e-5, (along(1e-3) - 2 * along(0.0) + along(-1e-3)) / 1e-6
    grad = dj.grad(program, backend=backend)
    assert np.sum(grad(x) * x) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(program, (x,), (x,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)
    assert np.sum(dj.jvp(grad, (x,), (x,), backend=backend)[1] * x) == pytest.approx(bend, rel=1e-5)
    assert np.sum(dj.hessian(program, backend=backend)(x) * np.outer(x, x)) == pytest.approx(bend, rel=1e-5)
