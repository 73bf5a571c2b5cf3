"""The emulated device that remembers which turn has come to which element: `DIFFJIT_CUDA=watched`."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.analysis import separate
from diffjit.lowering.cuda import devices, launch, watched
from tests.cuda.kernels_by_hand import CASES, mapped, strided
from tests.cuda.random_loops import compare
from tests.cuda.test_loops_in_parallel import A, B, fitted, prefix, smoothed


@pytest.fixture(autouse=True)
def device(monkeypatch):
    monkeypatch.setenv("DIFFJIT_CUDA", "watched")
    monkeypatch.setattr(dj.settings, "cache_mb", 0)


def test_nests_lanes_and_loops():
    before = launch.counts()["device"]
    rows = np.random.default_rng(1).normal(size=(90, 14))
    labels, weights = np.sign(rows[:, 0]), np.linspace(-1, 1, 14)
    for f, args in (
        (lambda x: np.sum(np.exp(-x * x) * np.sin(x)), (A,)),
        (lambda a, b: np.sum(smoothed(a, b)), (A, B)),
        (lambda x: np.sum(mapped(x, 0.5)), (np.linspace(-1.0, 1.0, 300),)),
        (strided, (A[:200], B[:200])),
        (fitted, (weights, rows, labels)),
    ):
        wanted = dj.value_and_grad(f, backend="python")(*args)
        found = dj.value_and_grad(f, backend="cuda")(*args)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-9, atol=1e-12)
    lanes = dj.vmap(dj.grad(lambda x: np.sum(np.tanh(x) * x)), backend="cuda")
    np.testing.assert_allclose(lanes(rows), dj.grad(lambda x: np.sum(np.tanh(x) * x))(rows), rtol=1e-10)
    assert devices.form() == "watched"
    assert launch.counts()["device"] > before + 8


@pytest.mark.parametrize("seed", range(2))
def test_random_loops(seed):
    compare(seed, ["cuda"])


@pytest.mark.parametrize("f", CASES, ids=[f.__name__ for f in CASES])
def test_kernels_by_hand(f):
    args = CASES[f]
    np.testing.assert_allclose(dj.jit(f, backend="cuda")(*args), dj.jit(f, backend="python")(*args), rtol=1e-6)


def test_turns_that_meet(monkeypatch):
    """Were a loop wrongly said to be independent, it would show."""
    monkeypatch.setattr(separate.Separation, "is_kept_to", lambda *_: True)
    with pytest.raises(AssertionError, match="turns of a kernel meet at 1198 places"):
        dj.jit(prefix, backend="cuda")(A, B)


def test_what_is_noted():
    text = """
  %.1 = load double, ptr %x.2, align 8
  store float %.3, ptr %"y [4]", align 4
  store <4 x double> %v, ptr %y
  store i64 3, ptr %p
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %to, ptr align 8 %from, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 40, i1 false)
  store ptr null, ptr @global
"""
    noted = [line.strip() for line in watched.instrumented(text).splitlines() if "@dj_watched(ptr %" in line]
    assert noted == [
        "call void @dj_watched(ptr %x.2, i64 8, i64 0, i64 0)",
        'call void @dj_watched(ptr %"y [4]", i64 4, i64 1, i64 %dj_value2)',
        "call void @dj_watched(ptr %y, i64 32, i64 1, i64 -1)",
        "call void @dj_watched(ptr %p, i64 8, i64 1, i64 %dj_value4)",
        "call void @dj_watched(ptr %to, i64 %n, i64 1, i64 -1)",
        "call void @dj_watched(ptr %from, i64 %n, i64 0, i64 0)",
        "call void @dj_watched(ptr %to, i64 40, i64 1, i64 -1)",
    ]


def test_an_access_of_another_form():
    with pytest.raises(AssertionError, match="another form"):
        watched.instrumented("  store { { i64 }, ptr } %a, ptr %p")
