"""Arrays that tapes keep stand in blocks together: none where another stands, gone with the last, few bytes more."""

from __future__ import annotations

import resource

import numpy as np
import pytest
from numba.core.runtime import nrt

import diffjit as dj
from diffjit import settings

rng = np.random.default_rng(21)

pytestmark = pytest.mark.skipif(settings.backend != "numba", reason="memory of compiled code")


def of_all_lengths(x, n):
    """From none to more than a block takes, up and down."""
    total = 0.0
    for i in range(n):
        part = np.exp(0.1 * x[: (i * 97) % 300])
        part = np.sin(part * part)
        total += part @ part
    return total


def while_it_lasts(x, n):
    k = 0
    while k < n and np.sum(x) < 1e3:
        x = np.tanh(x[: len(x) - 1]) * np.exp(0.1 * x[1:])
        k += 1
    return np.sum(x)


def of_several_kinds(x, n):
    z = x * (1.0 + 0.5j)
    a = np.outer(x, x)
    for i in range(n):
        z = np.exp(0.1j * z) * z[0]
        a = np.asfortranarray(np.sin(a).T) + i
        x = np.cos(a) @ x / len(x)
    return np.sum(np.abs(z)) + np.sum(x * x)


def changed_afterwards(x, n):
    state = np.zeros((3, x.size))
    fed = x * 1.5
    for i in range(n):
        row = state[i % 3, :]
        new = np.tanh(fed * x + row)
        row[:] = new * fed
        state[(i + 1) % 3, :] += row * new
        fed = row
    return np.sum(state * state)


def handed_on(x, n):
    """What a tape keeps, a list of the program's keeps as well."""
    rows = []
    for i in range(n):
        x = np.sin(x) * (1.0 + i)
        rows.append(x)
    return rows[0] @ rows[n - 1] + rows[n // 2][0]


PROGRAMS = [of_all_lengths, while_it_lasts, of_several_kinds, changed_afterwards, handed_on]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_python(program) -> None:
    x, n = rng.normal(size=310), 7
    if program is of_several_kinds:
        x = x[:6]
    assert "shelf_" in dj.source(dj.grad(program), x, n, stage="lowered")
    direction = rng.normal(size=x.size)
    value, gradient = dj.value_and_grad(program)(x, n)
    assert value == pytest.approx(program(x, n), rel=1e-12)
    h = 1e-6
    slope = (program(x + h * direction, n) - program(x - h * direction, n)) / (2 * h)
    assert gradient @ direction == pytest.approx(slope, rel=1e-5, abs=1e-7)

    def along(p):
        return dj.grad(program)(p, n) @ direction

    second = dj.grad(along)(x) @ direction
    slopes = [dj.grad(program)(x + s * h * direction, n) @ direction for s in (1, -1)]
    assert second == pytest.approx((slopes[0] - slopes[1]) / (2 * h), rel=1e-5, abs=1e-6)


def stops(x, n):
    for i in range(n):
        x = np.exp(0.5 * x) * x[i]
        if x[0] > 1e3:
            raise ValueError("too large")
    return np.sum(x)


def test_nothing_leaks() -> None:
    nrt._nrt.memsys_enable_stats()
    g = dj.grad(stops)
    x = np.linspace(0.1, 0.5, 5)

    def alive() -> int:
        found = nrt.rtsys.get_allocation_stats()
        return found.alloc - found.free

    def use() -> None:
        g(x, 5)
        _, pullback = dj.vjp(stops, x, 5)
        pullback(1.0)
        with pytest.raises(IndexError):
            g(x, 6)
        with pytest.raises(ValueError, match="too large"):
            g(x + 10.0, 5)

    use()
    before = alive()
    for _ in range(20):
        use()
    assert alive() == before


def few(x):
    for _ in range(2):
        x = np.sin(x) * np.exp(x)
    return x


def test_pullbacks_hold_little_more_than_they_record() -> None:
    x = np.ones(4)
    _, first = dj.vjp(few, x)
    want = first(x)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    held = [dj.vjp(few, x + 1e-12 * k)[1] for k in range(4000)]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
    assert grown < 40_000  # kB; blocks of their largest size would take 500,000
    np.testing.assert_allclose(held[0](x), want, rtol=1e-12)
    np.testing.assert_allclose(held[-1](x), want, rtol=1e-6)
