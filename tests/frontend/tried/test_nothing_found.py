"""A tuple or text on one path, and False or another number on the other: told apart when the program runs."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def crossing(a):
    """Where a ray meets a parabola, and its slope there; False where it passes by."""
    if a < 0.0:
        return False
    return np.sqrt(a), 2.0 * a


def asked_by_identity(a):
    found = crossing(a)
    if found is False:
        return -a * a
    return found[0] * found[1]


def asked_by_truth(a):
    found = crossing(a)
    if not found:
        return -a * a
    root, slope = found
    return root * slope


def asked_by_type(a):
    found = crossing(a)
    if isinstance(found, tuple):
        return found[0] * found[1]
    return -a * a


def best_of_several(a):
    best = 0
    for k in range(4):
        if a * k > 2.0:
            best = (a * k, k)
    if best == 0:
        return a * a
    return best[0] * best[1] * a


def a_text(a):
    kind = 0
    if a > 1.0:
        kind = "steep"
    return a * a if kind == "steep" else 3.0 * a


PROGRAMS = [asked_by_identity, asked_by_truth, asked_by_type, best_of_several, a_text]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_number_or_something_else(f, backend):
    for a in (1.7, 0.4, -1.2):
        assert dj.jit(f, backend=backend)(a) == pytest.approx(f(a), rel=1e-14)
        slope = (f(a + 1e-5) - f(a - 1e-5)) / 2e-5
        assert dj.grad(f, backend=backend)(a) == pytest.approx(slope, rel=1e-8)
        assert dj.jvp(f, (a,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-8)
        bend = (f(a + 1e-3) - 2.0 * f(a) + f(a - 1e-3)) / 1e-6
        assert dj.grad(dj.grad(f, backend=backend), backend=backend)(a) == pytest.approx(bend, rel=1e-4, abs=1e-6)


def not_asked(a):
    root, slope = crossing(a)
    return root * slope


@pytest.mark.parametrize("backend", BACKENDS)
def test_not_asked(backend):
    assert dj.grad(not_asked, backend=backend)(4.0) == pytest.approx(6.0)
    with pytest.raises(TypeError):
        dj.grad(not_asked, backend=backend)(-4.0)
