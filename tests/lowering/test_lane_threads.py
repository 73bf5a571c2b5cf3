"""Lanes in threads: the same bits, the same errors, and nothing shared that is not the loop's own."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import diffjit as dj
from tests.lowering.test_threads import several, with_threads  # noqa: F401 - a fixture

RNG = np.random.default_rng(3)
RATES = RNG.uniform(0.1, 1.0, (900, 2))
START = RNG.standard_normal(40)


def growth(rates, start):
    """Elementwise work, numbers that are added up, new arrays in each step."""
    u, s = start * 1.0, 0.0
    for _ in range(40):
        u = u + 0.01 * np.sin(rates[0] * u)
        s = s + rates[1] * u[3]
    return s + np.sum(u), u


def uneven(rates, start):
    """Each lane has its own number of steps, writes in place, and keeps a list."""
    u = start.copy()
    seen = []
    while rates[0] * np.sum(u * u) > 2.0:
        u[1:] *= 0.9 + 0.01 * rates[1]
        u[0] = 0.5 * u[0] if u[0] > 0 else 0.8 * u[1]
        seen.append(u[0])
    return u, np.array([len(seen), 1.0])


def solved(rates, start):
    """Linear algebra of one lane."""
    a = np.eye(12) * (2.0 + rates[0]) + rates[1] * np.outer(start[:12], start[:12])
    return np.linalg.solve(a, start[:12]), np.linalg.det(a)


def table(rates, start):
    """Loops over elements, and a result with the lanes behind."""
    out = np.zeros((5, 7))
    for i in range(5):
        for j in range(7):
            out[i, j] = rates[0] * start[i] * start[j] + (out[i, j - 1] if j > 0 else 0.0)
    return out


PROGRAMS = [growth, uneven, solved, table]


def mapped(f, out_axes=0):
    return dj.vmap(f, (0, None), out_axes)


def equal(xs, ys):
    xs, ys = (r if isinstance(r, tuple) else (r,) for r in (xs, ys))
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_are_those_of_one_thread_and_of_the_loop(several, f):  # noqa: F811
    g = mapped(f)
    assert "run_lanes(" in dj.source(g, RATES, START, stage="lowered")
    found = with_threads(3, g, RATES, START)
    equal(found, with_threads(1, g, RATES, START))
    one = dj.jit(f)
    for k in (0, 1, 450, 899):
        of_lane = one(RATES[k], START)
        parts = zip(found, of_lane, strict=True) if isinstance(found, tuple) else [(found, of_lane)]
        for x, y in parts:
            np.testing.assert_allclose(x[k], y, rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_of_lanes_and_by_lanes(several, f):  # noqa: F811
    def loss(rates, start):
        out = f(rates, start)
        return np.sum(np.sin(out[0])) if isinstance(out, tuple) else np.sum(np.sin(out))

    per_lane = mapped(dj.grad(loss, argnums=(0, 1)))
    assert "run_lanes(" in dj.source(per_lane, RATES, START, stage="lowered")
    total = dj.grad(lambda r, s: np.sum(dj.vmap(loss, (0, None))(r, s)), argnums=(0, 1))
    for g in (per_lane, total):
        equal(with_threads(3, g, RATES, START), with_threads(1, g, RATES, START))
    by_lane, summed = per_lane(RATES, START), total(RATES, START)
    np.testing.assert_allclose(summed[0], by_lane[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(summed[1], np.sum(by_lane[1], axis=0), rtol=1e-9, atol=1e-9)


def test_lanes_behind_other_axes(several):  # noqa: F811
    g = mapped(growth, (0, -1))
    equal(with_threads(3, g, RATES, START), with_threads(1, g, RATES, START))


def test_the_first_lane_that_raises_does(several):  # noqa: F811
    def guarded(rates, start):
        u, _ = growth(rates, start)
        if rates[0] > 2.0:
            raise ValueError(f"rate {rates[0]}")
        return u + start[int(rates[1])]

    g = mapped(guarded)
    equal(with_threads(3, g, RATES, START), with_threads(1, g, RATES, START))
    rates = RATES.copy()
    rates[[700, 520, 899], 0] = 3.0, 4.0, 5.0
    with pytest.raises(ValueError, match=r"rate 4\.0"):
        with_threads(3, g, rates, START)
    rates[300, 1] = 77.0
    with pytest.raises(IndexError, match="index 77 is out of bounds"):
        with_threads(3, g, rates, START)
    equal(with_threads(3, g, RATES, START), with_threads(1, g, RATES, START))


def in_place(rates, start):
    rates[0] = 0.5 * rates[0]
    return rates[0] + start[0]


def running(rates, start):
    start[0] = start[0] + rates[0]
    return start[0]


def printing(rates, start):
    if rates[0] < 0.0:
        print(rates[0])  # noqa: T201 - what the test is about
    return rates[0] + start[0]


@pytest.mark.parametrize("f", [in_place, running, printing])
def test_lanes_with_effects_take_turns(f):
    assert "run_lanes(" not in dj.source(mapped(f), RATES, START, stage="lowered")
    mine, plain = (RATES.copy(), START.copy()), (RATES.copy(), START.copy())
    found = mapped(f)(*mine)
    np.testing.assert_array_equal(found, [f(row, plain[1]) for row in plain[0]])
    for x, y in zip(mine, plain, strict=True):
        np.testing.assert_array_equal(x, y)


def test_small_programs_have_no_parts():
    assert "run_lanes(" not in dj.source(mapped(growth), RATES[:20], START, stage="lowered")


FORKS = """
import os, sys
import numpy as np
import diffjit as dj


def f(rate, start):
    u = start * 1.0
    for _ in range(50):
        u = u + 0.01 * np.sin(rate * u)
    return np.sum(u)


g = dj.grad(lambda rates, start: np.sum(dj.vmap(f, (0, None))(rates, start)), argnums=1)
h = dj.jit(dj.vmap(f, (0, None)))
rates, start = np.linspace(0.1, 1.0, 2000), np.linspace(0.0, 1.0, 30)
dj.settings.threads = 2
first = g(rates, start), h(rates, start)
if os.fork() == 0:
    again = g(rates, start), h(rates, start)
    os._exit(0 if all(map(np.array_equal, first, again)) else 1)
_, status = os.wait()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_goes_on_alone(tmp_path):
    program = tmp_path / "forks.py"
    program.write_text(FORKS)
    for _ in range(2):  # the second run finds machine code of the first
        made = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)  # noqa: S603
        assert made.returncode == 0, made.stderr


def test_python_threads_share_the_pool(several):  # noqa: F811
    g = mapped(growth)
    expected = with_threads(1, g, RATES, START)
    dj.settings.threads = 3
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(g, [RATES] * 8, [START] * 8):
            equal(found, expected)
