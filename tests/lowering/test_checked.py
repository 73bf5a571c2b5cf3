"""`settings.checked`: promises that are broken on purpose are found as compiled code runs; kept ones are not blamed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.analysis.integers.bounds import Bounds
from diffjit.analysis.integers.intervals import Intervals
from diffjit.errors import BrokenPromise
from diffjit.ir.passes import Pass
from diffjit.ir.walk import walk
from diffjit.lowering.calls import guards
from diffjit.lowering.loops import fusion
from diffjit.lowering.text import module
from diffjit.settings import settings


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings, "checked", True)
    yield
    monkeypatch.undo()


def element(x: Any, i: int) -> Any:
    return x[i] * 2.0


def test_an_index_that_was_said_to_be_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bounds, "inside", lambda *_a, **_k: True)
    compiled = dj.jit(element)
    assert compiled(np.ones(3), 2) == 2.0
    with pytest.raises(
        BrokenPromise, match=r"index 3 is within bounds and not negative, along axis 0 with size 3"
    ) as info:
        compiled(np.ones(3), 3)
    assert "return x[i] * 2.0" in str(info.value)
    with pytest.raises(BrokenPromise, match="index -1"):
        compiled(np.ones(3), -1)


def test_an_adjoint_without_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dj.settings, "verify_passes", False)  # it would find the mistake in the text
    monkeypatch.setattr("diffjit.ir.walk.tests_index", lambda _op: False)
    monkeypatch.setattr("diffjit.transforms.pipeline._unused_on_the_way_there", lambda _f: lambda _op: False)
    monkeypatch.setattr("diffjit.ir.text.folding.Folding._settle", lambda *_a, **_k: None)
    with pytest.raises(BrokenPromise, match=r"index 7 is within bounds, along axis 0 with size 3 \(reverse\)"):
        dj.grad(element)(np.ones(3), 7)


def test_an_integer_that_was_said_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def product(n: int, x: float) -> Any:
        return (n * n) * x

    monkeypatch.setattr(Intervals, "fits", lambda *_a: True)
    assert dj.jit(product)(3, 2.0) == 18.0
    with pytest.raises(BrokenPromise, match="fits into 64 bits"):
        dj.jit(product)(2**40, 2.0)


def test_lengths_that_were_said_to_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(n: int) -> Any:
        a, b = np.zeros(n), np.zeros(n + 1)
        for k in range(n):
            a[k] = b[k] + 1.0
        return np.sum(a) + np.sum(b)

    assert dj.jit(counted)(30) == 30.0
    kept = fusion.fuse_loops

    def of_one_length(function: Any) -> None:
        kept(function)
        first, *others = (op.out for op in walk(function.body) if op.kind == "zeros")
        assert others
        for v in others:
            v.type = first.type

    monkeypatch.setattr("diffjit.lowering.text.module.LOOPS", (*module.LOOPS[:-1], Pass("fusion", of_one_length)))
    with pytest.raises(BrokenPromise, match="two lengths are equal: 31 and 30"):
        dj.jit(lambda n: counted(n) * 1.0)(30)


def test_loops_whose_iterations_were_said_to_be_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(x: Any) -> Any:
        y = x.copy()
        y[1:] = y[:-1] * 2.0 + 1.0
        return np.sum(y)

    assert dj.jit(shifted)(np.ones(40)) == 118.0
    monkeypatch.setattr("diffjit.lowering.loops.fusion._Scheduler._apart", lambda *_a: True)
    monkeypatch.setattr("diffjit.lowering.text.source.LoweredPrinter.may_overlap", lambda *_a: False)
    with pytest.raises(BrokenPromise, match="overlaps no other"):
        dj.jit(lambda x: shifted(x) * 1.0)(np.ones(40))


def test_the_guard_counts_damage() -> None:
    guards.start()
    take, give = (ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(guards._ALLOCATOR[0]),
                  ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(guards._ALLOCATOR[2]))  # fmt: skip
    for written, damage in ((8, 0), (9, 1)):
        address = take(8, guards._ALLOCATOR[3])
        ctypes.c_int64.from_address(address - 8).value = address + 8
        ctypes.memset(address, 0, written)
        give(address, guards._ALLOCATOR[3])
        assert guards._STATE[0] == damage
        guards._STATE[0] = 0


def test_fresh_memory_is_not_zero() -> None:
    """Memory that a program reads before it writes shows."""

    def unset(n: int) -> Any:
        a = np.empty(n)
        return a[0]

    assert np.isnan(dj.jit(unset)(4))


PROGRAMS: list[Any] = [
    lambda x: np.sum(np.sin(x) * x),
    lambda x: np.sum(np.cumsum(x)[1:] * x[:-1]),
    lambda x: np.sum(np.sort(x) ** 2) + x @ x,
    lambda x: np.sum(np.outer(x, x) @ x),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=["waves", "scan", "order", "products"])
def test_nothing_is_blamed_that_is_right(program: Any) -> None:
    x = np.linspace(0.3, 1.0, 5)
    want = dj.grad(program, backend="python")(x)
    np.testing.assert_allclose(dj.grad(program)(x), want, rtol=1e-12)
    monkeypatch = pytest.MonkeyPatch()
    with monkeypatch.context() as m:
        m.setattr(settings, "checked", False)
        m.setattr(settings, "plain", True)
        np.testing.assert_allclose(dj.grad(program)(x), want, rtol=1e-12)
