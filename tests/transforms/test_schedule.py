"""How often checkpointed loops run their steps: counted, against formulas that are published."""

import itertools
import math
import types
from collections import Counter

import numpy as np
import pytest

import diffjit as dj


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def fewest(n, s):
    """Steps that reversing n steps with s snapshots takes, beside the reversed ones: Griewank and Walther's formula."""
    r = next(r for r in range(n) if math.comb(s + r, s) >= n)
    return r * n - (math.comb(s + r, r - 1) if r else 0)


def test_the_formula_is_the_minimum():
    """By dynamic programming: the first snapshot behind the start is taken at any m."""
    table = {(n, 1): n * (n - 1) // 2 for n in range(1, 60)}
    for s in range(2, 6):
        for n in range(1, 60):
            table[n, s] = min((m + table[n - m, s - 1] + table[m, s] for m in range(1, n)), default=0)
    assert all(fewest(n, s) == steps for (n, s), steps in table.items())


def planned(x, n, s):
    u = x
    for _ in dj.checkpointed(range(n), budget=s):
        u = u + 1.0 + 0.001 * math.sin(u)
    return u


def unplanned(x, n, s):
    u = x
    for k in dj.checkpointed(itertools.count(1), budget=s):
        u = u + 1.0 + 0.001 * math.sin(u)
        if k >= n:
            break
    return u


def runs(monkeypatch, f, s, n):
    """How often a gradient runs each step: its sine counts its calls, by the state, which is never the same twice."""
    gradient = dj.grad(lambda x, n: f(x, n, s))
    gradient(0.3, 2)
    calls = Counter()
    with monkeypatch.context() as patched:

        def counting(x):
            calls[x] += 1
            return math.sin(x)

        ((compiled, _),) = gradient._cache.values()
        for name in ("math", "np"):  # as the text of the gradient knows them: the program does not
            known = compiled.run.entry.__globals__
            if name in known:
                patched.setitem(known, name, types.SimpleNamespace(**{**vars(known[name]), "sin": counting}))
        found = gradient(0.3, n)
    x, bar = 0.3, 1.0
    for _ in range(n):
        x, bar = x + 1.0 + 0.001 * math.sin(x), bar * (1.0 + 0.001 * math.cos(x))
    np.testing.assert_allclose(found, bar, rtol=1e-9)
    assert len(calls) == n
    return calls


@pytest.mark.parametrize("s", [1, 2, 3, 5, 8, 64])
def test_no_schedule_runs_fewer_steps(s, monkeypatch):
    # Of the n steps on the way there, revolve counts all but the last, which is reversed without having been run.
    for n in (1, 2, 3, 10, 57, 150):
        assert runs(monkeypatch, planned, s, n).total() == fewest(n, s) + 1


@pytest.mark.parametrize("s", [1, 2, 3, 5, 8, 64])
def test_online_runs_no_more_steps_up_to_two_repetitions(s, monkeypatch):
    """As many as with a known number of steps, up to (s + 2)(s + 1) / 2: the range of Stumm and Walther."""
    most = (s + 2) * (s + 1) // 2
    for n in {k for k in (1, 2, 3, 5, 9, 10, 17, 30, 44, most - 1, most) if k <= min(most, 200)}:
        assert runs(monkeypatch, unplanned, s, n).total() == fewest(n, s) + 1


@pytest.mark.parametrize(("s", "n"), [(1, 40), (2, 60), (3, 29), (3, 200), (5, 57), (5, 300), (8, 46), (8, 400)])
def test_online_repeats_no_step_more_often(s, n, monkeypatch):
    """No step runs more often than the best schedule for a known number of steps runs some (Wang, Moin, Iaccarino)."""
    r = next(r for r in range(n) if math.comb(s + r, s) >= n)
    found = runs(monkeypatch, unplanned, s, n)
    assert max(found.values()) <= r
    assert fewest(n, s) < found.total() < fewest(n, s) + n  # less than a sweep that only counts the steps


@pytest.mark.slow
@pytest.mark.parametrize("f", [planned, unplanned])
def test_a_million_steps(f, monkeypatch):
    found = runs(monkeypatch, f, 64, 1_000_000)
    assert max(found.values()) <= 5
    assert found.total() <= (fewest(1_000_000, 64) + 1) * (1.0 if f is planned else 1.05)
