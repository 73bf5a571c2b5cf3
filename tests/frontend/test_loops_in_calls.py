"""Loops in functions that loops call: each is interpreted a few times, however deep it lies."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.syntax.loops import Loops

X = np.array([0.3, 0.7, 1.1])


def power(x, n):
    result = 1
    for _ in range(n):
        result *= x
    return result


def series(x, n):
    total = 0
    for k in range(n):
        total += power(x, k) / (k + 1.0)
    return total


def table(x, n):
    total = 0
    for k in range(n):
        total += series(x, k) * functools.reduce(lambda a, b: a * 0.5 + b, range(k), 1)
    return total


def sums(x, n):
    best = None
    for k in range(n):
        found = table(x, k) * x
        best = found if best is None or found > best else best
    return best


def model(x, n):
    return sum(sums(v, n + k) for k, v in enumerate(x)) + sum(sums(v * 0.5, n) for v in x)


def test_what_a_loop_carries_is_known_when_it_is_met_again(monkeypatch):
    attempts, sites = [], set()
    attempt = Loops._attempt

    def counted(self, loop, start, carried):
        attempts.append(loop.site)
        sites.add(loop.site)
        return attempt(self, loop, start, carried)

    monkeypatch.setattr(Loops, "_attempt", counted)
    assert dj.jit(model, backend="python")(X, 4) == pytest.approx(model(X, 4), rel=1e-13)
    assert len(attempts) < 6 * len(sites)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_slopes(backend):
    quotient = [(model(X + h, 4) - model(X - h, 4)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(dj.grad(model, backend=backend)(X, 4), quotient, rtol=1e-7)


def counted(v, n):
    total = 0 * v
    for _ in range(n):
        total += v
    return total


def of_two_types(x, n):
    """What one call adds up is a float, what the other one does an int, in turns of a loop that are written out."""
    levels, out = [1.0, x, x * x, 3.0], x * 0.0
    for k in range(n):
        for v in (2.5, 1):
            total = 0 * v
            for _ in range(n - k):
                total += v
            out += levels[total % 4] if isinstance(total, int) else total * x
    return out


def of_two_types_in_calls(x, n):
    levels, out = [1.0, x, x * x, 3.0], x * 0.0
    for k in range(n):
        for v in (2.5, 1, x, 2):
            total = counted(v, n - k)
            out += levels[total % 4] if isinstance(total, int) else total * x
    return out


def of_two_kinds_by_path(x, n):
    out = x
    v = 2 if x > 1.0 else np.array([x, 2.0])
    for k in range(n):
        total = counted(v, k)
        out += 3.0 if isinstance(total, int) and total == 2 else np.sum(total) * x
        v = 1 if k % 2 else v
    return out


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("program", [of_two_types, of_two_types_in_calls, of_two_kinds_by_path])
def test_what_is_met_again_with_narrower_types(program, backend):
    for x in (0.7, 1.3):
        quotient = (program(x + 1e-6, 4) - program(x - 1e-6, 4)) / 2e-6
        value, slope = dj.value_and_grad(program, backend=backend)(x, 4)
        assert value == pytest.approx(program(x, 4), rel=1e-14)
        assert slope == pytest.approx(quotient, rel=1e-7)
