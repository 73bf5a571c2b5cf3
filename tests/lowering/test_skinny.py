"""Products over a few numbers, which run in the loops of those that read them."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.settings import settings
from tests.lowering.skinny import tried

X = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 40))
R = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 3))
W = np.random.default_rng(2).uniform(-1.0, 1.0, 40)
BACKENDS = ["numba", "python"]


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 300))])
def test_random_programs(seed):
    tried(seed)


@pytest.mark.parametrize("seed", range(300, 304))
def test_random_programs_checked(seed, monkeypatch):
    monkeypatch.setattr(settings, "checked", True)
    tried(seed)


def test_random_programs_run():
    """Most of them get to their end."""
    assert sum(map(tried, range(4))) >= 2


def moved(frame, points, weights):
    return np.sum((frame.reshape(3, 3) @ points)[:2] * weights)


def test_no_library_is_called_for_them():
    assert "gemm(" not in dj.source(moved, R, X, W, stage="lowered")
    assert "gemm(" in dj.source(lambda a, b: a @ b, X, X.T.copy(), stage="lowered")
    np.testing.assert_allclose(dj.jit(moved)(R, X, W), moved(R, X, W), rtol=1e-13)


def test_what_is_multiplied_changes_before_it_is_read():
    def late(frame, points):
        p = frame.reshape(3, 3) @ points
        points *= 2.0
        q = p[:2]
        return np.sum(q * q)

    def later(frame, points):
        p = (frame.reshape(3, 3) @ points.reshape(3, 8 * 5)).reshape(3, 8, 5)
        points += 1.0
        return np.sum(p * p)

    for f, x in ((late, X), (later, X.reshape(3, 8, 5))):
        wanted = f(R, x.copy())
        assert dj.jit(f)(R, x.copy()) == pytest.approx(wanted, rel=1e-13)
        step = 1e-6
        up, down = (f(R, x.copy() + h) for h in (step, -step))
        slope = np.sum(dj.grad(f, 1)(R, x.copy()))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lengths_that_do_not_fit(backend):
    """NumPy's error, before what comes behind the product has written to the caller's array."""

    def f(frame, points, out):
        p = frame.reshape(3, 3) @ points
        out[0] = 1.0
        q = p[:2]
        out[1] = np.sum(q * q)
        return np.sum(q)

    out = np.zeros(2)
    with pytest.raises(ValueError, match=r"matmul"):
        dj.jit(f, backend=backend)(R, X[:2], out)
    assert not out.any()
    assert dj.jit(f, backend=backend)(R, X, out) == pytest.approx(f(R, X, np.zeros(2)))


def test_lengths_that_do_not_fit_where_nobody_reads():
    def f(frame, points):
        p = frame.reshape(3, 3) @ points
        return np.sum(points) + 0 * len(p)

    with pytest.raises(ValueError, match=r"matmul"):
        dj.jit(f)(R, X[:2])


def test_lengths_that_do_not_fit_behind_a_reshape():
    def f(frame, points, n):
        p = (frame.reshape(3, 3) @ (points + np.zeros((3, 1, 1))).reshape(3, n)).reshape(3, *points.shape[1:])
        return np.sum(p * p)

    x = X.reshape(3, 8, 5)
    assert dj.jit(f)(R, x, 40) == pytest.approx(f(R, x, 40), rel=1e-13)
    with pytest.raises(ValueError, match="cannot reshape array of size 120 into shape"):
        dj.jit(f)(R, x, 41)


def test_a_part_that_is_written_to():
    def f(frame, points):
        p = (frame.reshape(3, 3) @ points)[1:]
        p[0] = 2.0 * points[0]
        p[:, :4] += 1.0
        return p

    np.testing.assert_allclose(dj.jit(f)(R, X), f(R, X), rtol=1e-13)


def test_not_a_number_times_nothing():
    """As the product says it: what is multiplied by 0 counts."""
    x = X.copy()
    x[1, 5] = np.inf
    eye = np.eye(3)
    with np.errstate(invalid="ignore"):
        wanted = eye @ x
    np.testing.assert_array_equal(dj.jit(lambda r, x: (r.reshape(3, 3) @ x) * 1.0)(eye, x), wanted)
