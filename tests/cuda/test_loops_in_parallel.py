"""Loops whose turns are independent: in random order, in threads that are forced, and what is not one of them."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.runtime import lane_parts
from tests.cuda.random_loops import compare
from tests.lowering.test_threads import several  # noqa: F401 - a fixture

N = 1200
A, B = (np.random.default_rng(k).uniform(0.1, 1.0, N) for k in (1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_random_loops_in_random_order(seed):
    compare(seed, ["numba", "cuda"])


@pytest.fixture
def always(monkeypatch, several):  # noqa: F811
    """Threads take what they can, however little it is."""
    monkeypatch.setattr(lane_parts, "_ENOUGH", 0)
    monkeypatch.setattr(lane_parts, "_PAYS", -1)
    monkeypatch.setattr(dj.settings, "threads", 3)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)


@pytest.mark.parametrize("seed", range(20, 24))
def test_random_loops_in_threads(seed, always):
    compare(seed, ["numba"])


def smoothed(a, b):
    v = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        v[i] = np.sin(a[i - 1]) * b[i] + np.exp(-(a[i + 1] ** 2))
    return v


def prefix(a, b):
    v = np.zeros(len(a))
    for i in range(1, len(a)):
        v[i] = v[i - 1] * 0.5 + a[i] * b[i]
    return v


def meets(a, b):
    v = np.zeros(len(a))
    for i in range(len(a) - 1):
        v[i] += a[i]
        v[i + 1] += b[i]
    return v


def from_the_end(a, b):
    v = np.zeros(len(a))
    for i in range(len(a)):
        v[i - 5] += a[i]
        v[i] += b[i]
    return v


def shared_place(a, b):
    v = np.zeros(len(a))
    for i in range(len(a)):
        v[i // 2] += a[i] * b[i]
    return v


def swapped(a, b):
    v = a * 1.0
    for i in range(len(a)):
        w = v[i]
        v[i] = b[i]
        b[i] = w
    return v


def may_fail(a, b):
    v = np.zeros(len(a))
    for i in range(len(a)):
        k = int(b[i] * len(a))
        v[i] = a[k] * 2
    return v


@pytest.mark.parametrize(
    ("f", "parts"),
    [(smoothed, 1), (prefix, 0), (meets, 0), (from_the_end, 0), (shared_place, 0), (swapped, 1), (may_fail, 0)],
)
def test_which_loops_are_independent(f, parts):
    assert dj.source(dj.jit(f), A, B, stage="lowered").count("run_turns(loops") == parts
    wanted = f(A.copy(), B.copy())
    for backend in ("numba", "cuda"):
        np.testing.assert_allclose(dj.jit(f, backend=backend)(A.copy(), B.copy()), wanted, rtol=1e-12)


def test_small_loops_inside_of_loops_stay():
    def relaxed(a, b):
        for _ in range(3):
            for i in range(len(a)):
                a[i] = 0.5 * a[i] + b[i]
        return a

    assert "run_turns" not in dj.source(dj.jit(relaxed), A.copy(), B, stage="lowered")
    wanted = relaxed(A.copy(), B)
    np.testing.assert_allclose(dj.jit(relaxed, backend="cuda")(A.copy(), B), wanted, rtol=1e-13)


def fitted(w, x, y):
    s = 0.0
    for i in range(x.shape[0]):
        p = 0.0
        for j in range(x.shape[1]):
            p += x[i, j] * w[j]
        s += np.log(1 + np.exp(-y[i] * p))
    return s


def attracted(x, y):
    e = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(len(x)):
            if i != j:
                s += 1.0 / np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + 0.01)
        e[i] = s
    return np.sum(e)


def test_cotangents_that_all_turns_add_to(always):
    rng = np.random.default_rng(6)
    x, y, w = rng.normal(size=(900, 14)), rng.normal(size=900), rng.normal(size=14)
    gradient = dj.grad(fitted, (0, 1))
    assert "blocks_ == 1" in dj.source(gradient, w, x, y, stage="lowered")
    wanted = -y / (1 + np.exp(y * (x @ w)))
    for backend in ("numba", "cuda"):
        found = dj.grad(fitted, (0, 1), backend=backend)(w, x, y)
        np.testing.assert_allclose(found[0], x.T @ wanted, rtol=1e-11)
        np.testing.assert_allclose(found[1], np.outer(wanted, w), rtol=1e-11)


def test_the_bits_do_not_depend_on_threads(always, monkeypatch):
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(2, 600))
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(dj.settings, "threads", count)
        found.append(dj.grad(attracted, (0, 1))(x, y))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    shown = dj.grad(attracted, (0, 1), backend="python")(x[:40], y[:40])
    for a, b in zip(dj.grad(attracted, (0, 1), backend="cuda")(x[:40], y[:40]), shown, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    step = np.sin(np.arange(600.0))
    quotient = (attracted(x + 1e-5 * step, y) - attracted(x - 1e-5 * step, y)) / 2e-5
    np.testing.assert_allclose(np.sum(found[0][0] * step), quotient, rtol=1e-5)


def test_what_turns_read_too_is_no_sum():
    def mixed(w, x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                w[j] = 0.5 * w[j] + x[i, j] * np.sin(w[j])
            s += w[0]
        return s

    rng = np.random.default_rng(8)
    w, x = rng.normal(size=13), rng.normal(size=(200, 13))
    text = dj.source(dj.grad(mixed), w.copy(), x, stage="lowered")
    assert "blocks_" not in text
