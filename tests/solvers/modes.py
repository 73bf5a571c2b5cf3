"""A program of one number in all modes, compared with quotients of what plain Python computes."""

import numpy as np
import pytest

import diffjit as dj


def compared(program, x, *, exact=None, value=1e-8, first=1e-6, second=2e-4, backend="python", order=2):
    """Value, gradient, tangent, lanes, and at second order the gradient of a gradient and forward over reverse.

    `exact` computes the same as the program, and is smoother than what SciPy's tolerances leave of it.
    """
    exact = exact or program
    assert dj.jit(program, backend=backend)(x) == pytest.approx(program(x), rel=value, abs=value)
    h = 1e-4
    # of fourth order: SciPy's own errors are divided by h
    quotient = (8.0 * (exact(x + h) - exact(x - h)) - exact(x + 2 * h) + exact(x - 2 * h)) / (12.0 * h)
    gradient = dj.grad(program, backend=backend)
    assert gradient(x) == pytest.approx(quotient, rel=first, abs=first)
    near = {"rel": 1e-8, "abs": 1e-10}
    ahead = dj.jit(lambda x: dj.jvp(program, (x,), (1.0,))[1], backend=backend)
    assert ahead(x) == pytest.approx(gradient(x), **near)
    if order < 2:
        return
    lanes = dj.jit(dj.vmap(dj.grad(program)), backend=backend)(np.array([x, x + 0.01]))
    assert lanes == pytest.approx([gradient(x), gradient(x + 0.01)], **near)
    h = 2e-3
    bent = (16.0 * (exact(x + h) + exact(x - h)) - exact(x + 2 * h) - exact(x - 2 * h) - 30.0 * exact(x)) / (12 * h * h)
    twice = dj.grad(dj.grad(program, backend=backend), backend=backend)(x)
    assert twice == pytest.approx(bent, rel=second, abs=second)
    ahead = dj.jit(lambda x: dj.jvp(dj.grad(program), (x,), (1.0,))[1], backend=backend)(x)
    assert ahead == pytest.approx(twice, **near)
