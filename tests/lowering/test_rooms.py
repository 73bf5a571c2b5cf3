"""Arrays in loops that use their memory again: never one that somebody still reads, and nothing leaks."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core.runtime import nrt

import diffjit as dj
from diffjit import settings

rng = np.random.default_rng(12)


def grows_and_shrinks(x, n):
    total = 0.0
    for i in range(n):
        part = np.sin(x[: (i * 7) % 30 + 1])
        total += part @ part + part[-1] * len(part)
    return total


def keeps_rows(x, n):
    rows = []
    for i in range(n):
        rows.append(x * (i + 1.0))  # noqa: PERF401 - the loop is what is tested
    return rows[0][1] * rows[n - 1][0] + rows[n // 2][2]


def carries_the_last(x, n):
    last = x * 0.0
    before = last
    for i in range(n):
        before = last
        last = np.cos(last) + x * i
    return np.sum(before * last)


def keeps_a_view(x, n):
    held = x[:2]
    for i in range(n):
        fresh = x * (i + 2.0)
        if i % 3 == 1:
            held = fresh[1:3]
        x = x + 0.1 * fresh
    return held[0] * x[0] + held[1]


def two_at_once(x, n):
    total = 0.0
    for i in range(n):
        a = x + i
        b = np.zeros_like(x)
        for j in range(3):
            c = a * (j + 1.0)
            b = b + c
            a = a + 0.5 * c
        total += np.sum(a * b)
    return total


def larger_than_a_room(x, n):
    total = 0.0
    for i in range(n):
        wide = np.outer(x, x) * np.ones((4 * (i % 2) + 1, 1, 1)) + i
        total += np.sum(np.sqrt(1.0 + wide * wide))
    return total


def none_at_all(x, n):
    total = 0.0
    for i in range(n):
        empty = x[i:i] * 2.0
        total += np.sum(empty) + x[i % 3]
    return total


PROGRAMS = [grows_and_shrinks, keeps_rows, carries_the_last, keeps_a_view, two_at_once, none_at_all]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_python(program) -> None:
    x = rng.normal(size=40)
    n = 11
    direction = rng.normal(size=40)
    value, gradient = dj.value_and_grad(program)(x, n)
    assert value == pytest.approx(program(x, n), rel=1e-13)
    h = 1e-6
    slope = (program(x + h * direction, n) - program(x - h * direction, n)) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)
    rows = np.stack([x, x[::-1], 2.0 * x])
    assert np.allclose(dj.vmap(program, in_axes=(0, None))(rows, n), [program(r, n) for r in rows], rtol=1e-13)


def test_beyond_the_largest_room() -> None:
    x = rng.normal(size=130)
    value, gradient = dj.value_and_grad(larger_than_a_room)(x, 4)
    assert value == pytest.approx(larger_than_a_room(x, 4), rel=1e-12)
    h, direction = 1e-6, rng.normal(size=130)
    slope = (larger_than_a_room(x + h * direction, 4) - larger_than_a_room(x - h * direction, 4)) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)


def stops(x, n):
    total = 0.0
    for i in range(n):
        part = x * i
        total += part[i]
        if total > 1e6:
            raise ValueError("too large")
    return total


@pytest.mark.skipif(settings.backend != "numba", reason="memory of compiled code")
def test_nothing_leaks() -> None:
    nrt._nrt.memsys_enable_stats()
    f, g = dj.jit(stops), dj.grad(stops)
    x = np.ones(5)

    def alive() -> int:
        found = nrt.rtsys.get_allocation_stats()
        return found.alloc - found.free

    def use() -> None:
        f(x, 5)
        g(x, 5)
        for bad in (lambda: f(x * 1e6, 5), lambda: f(x, 9), lambda: g(x, 9)):
            with pytest.raises((ValueError, IndexError)):
                bad()

    use()
    before = alive()
    for _ in range(20):
        use()
    assert alive() == before
    assert "room_float64" in dj.source(f, x, 5, stage="lowered")


def empty_at_first(x):
    a = np.zeros(5)
    for m in range(1, 5):
        a[1:m] = a[1:m] + x[m] * a[m - 1 : 0 : -1]
        a[m] = x[m]
    return a[1:]


def test_an_empty_array_has_memory_too():
    """No room has been made yet when the first array has no elements."""
    rows = rng.standard_normal((3, 12))
    np.testing.assert_allclose(dj.vmap(empty_at_first)(rows), [empty_at_first(x) for x in rows], rtol=1e-12)
