"""Indices that are tested once before a loop: the same results, and the same errors at the same moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import diffjit as dj

rng = np.random.default_rng(8)


def shifted(x, y, n, k):
    total = 0.0
    for i in range(n):
        total += x[i + k] * y[i]
    return total


def every_other(x, y, n, k):
    total = 0.0
    for i in range(n - 1, -1, -2):
        total += x[2 * i - k] * y[i]
    return total


def triangle(x, y, n, k):
    """The packed index runs on from row to row."""
    total, at = 0.0, k
    for p in range(n):
        for q in range(p):
            total += x[at] * y[q]
            at += 1
    return total


def rows(x, y, n, k):
    table = np.outer(x, y)
    for i in range(n):
        table[i + k] *= y[i]
        for j in range(n):
            table[i, j + k] += table[i + k, j] * x[j]
    return np.sum(table)


def writes(x, y, n, k):
    out = np.zeros(8)
    for i in range(n):
        out[i + k] = x[i] * y[i]
    return np.sum(out * out)


def from_the_end(x, y, n, k):
    z = y[: max(n + k, 0)]
    total = 0.0
    for i in range(n):
        total += x[i] * z[-3] + z[-1]
    return total


def columns_from_the_end(x, y, n, k):
    table = np.outer(x, y)[: max(n, 0), max(k, 0) :]
    for i in range(n):
        table[i, -2] += table[-1, i] * x[i]
        table[:, -1] *= 0.5
    return np.sum(table)


PROGRAMS = [shifted, every_other, triangle, rows, writes, from_the_end, columns_from_the_end]
X, Y = rng.normal(size=8), rng.normal(size=8)


def outcome(f, *args):
    """What a call gives: a number, or the kind of error and its words."""
    try:
        return f(*args)
    except (IndexError, OverflowError) as e:
        return type(e).__name__, str(e)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_each_index_that_python_takes_and_none_that_it_refuses(program) -> None:
    f, g = dj.jit(program), dj.value_and_grad(program, (0, 1))
    for n in (-2, 0, 1, 3, 4, 8, 9):
        for k in (-9, -3, -1, 0, 1, 4, 8):
            expected = outcome(program, X, Y, n, k)
            for found in (outcome(f, X, Y, n, k), outcome(g, X, Y, n, k)):
                if isinstance(expected, tuple):
                    assert found == expected, (n, k)
                    continue
                value = found if isinstance(found, float) else found[0]
                assert value == pytest.approx(expected, rel=1e-12, abs=1e-13), (n, k)
                if value is not found:
                    h, direction = 1e-6, np.arange(1.0, 9.0)
                    slope = (program(X + h * direction, Y, n, k) - program(X - h * direction, Y, n, k)) / (2 * h)
                    assert found[1][0] @ direction == pytest.approx(slope, rel=1e-6, abs=1e-7), (n, k)


@pytest.mark.parametrize("k", [2**62, -(2**62), 2**63 - 1, 2**40, -(2**40) - 1])
def test_numbers_that_overflow(k: int) -> None:
    for program in (shifted, every_other):
        expected = outcome(program, X, Y, 3, k)
        assert isinstance(expected, tuple)
        found = outcome(dj.jit(program), X, Y, 3, k)
        assert found[0] in ("IndexError", "OverflowError")
        assert program(X, Y, 0, k) == dj.jit(program)(X, Y, 0, k) == 0.0


def fill(out, n):
    for i in range(n):
        out[i + 1] = 1.0 * i
    return out[0]


def test_what_was_written_before_the_error_stays() -> None:
    ours, theirs = np.full(6, 7.0), np.full(6, 7.0)
    for f, out in ((dj.jit(fill), ours), (fill, theirs)):
        with pytest.raises(IndexError):
            f(out, 9)
    assert np.array_equal(ours, theirs)


def test_the_quick_version_has_no_tests() -> None:
    text = dj.source(shifted, X, Y, 3, 0, stage="lowered").splitlines()
    sums = [line for line in text if "total +=" in line]
    assert len(sums) == 2
    assert ".inside[" in sums[0]
    assert ".inside[" not in sums[1]


def test_the_forward_sweep_has_a_quick_version_too() -> None:
    """Where cotangents are made with the lengths of arguments, which then are no numbers of their own."""

    def packed(low, mu, q):
        total, d = 0.0, mu.shape[1]
        for c in range(mu.shape[0]):
            y, at = mu[c] * np.exp(q[c]), 0
            for column in range(d):
                for row in range(column + 1, d):
                    y[row] += low[c, at] * mu[c, column]
                    at += 1
            total += np.sum(y * y) - np.sum(q[c])
        return total

    gradient = dj.grad(packed, argnums=(0, 1, 2))
    low, mu, q = rng.normal(size=(3, 780)), rng.normal(size=(3, 40)), 0.1 * rng.normal(size=(3, 40))
    text = dj.source(gradient, low, mu, q, stage="lowered")
    assert "low.inside[" in text[: text.index("# Reverse sweep")]
    step, moves = 1e-6, [rng.normal(size=a.shape) for a in (low, mu, q)]
    ends = [packed(*(a + s * step * m for a, m in zip((low, mu, q), moves, strict=True))) for s in (1, -1)]
    slope = sum(np.sum(g * m) for g, m in zip(gradient(low, mu, q), moves, strict=True))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
    with pytest.raises(IndexError):
        gradient(low[:, :-1], mu, q)


def test_views_by_constants_do_not_double_a_loop() -> None:
    """Their tests cost nothing beside them: nothing would be gained for what is compiled twice."""
    text = dj.source(borders, np.ones((3, 4)), 2, stage="lowered")
    assert text.count("for _k in range(") == 1, text


def borders(p, n):
    for _k in range(n):
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
    return np.sum(p)


def counted(a: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += a[i]
    return total


def next_ones(a: Any, n: int) -> Any:
    total = 0.0 * n
    for i in range(a.size):
        total += a[i + 1]
    return total


@pytest.mark.parametrize("f", [counted, next_ones])
def test_past_the_end(f: Any) -> None:
    a = np.ones(4)
    for run in (dj.jit(f, backend="numba"), dj.grad(f, backend="numba")):
        with pytest.raises(IndexError, match="index 4 is out of bounds"):
            run(a, 5)


@pytest.mark.parametrize("k", [-(2**63), 2**63 - 1, 2**62, -5, 5, 4])
def test_tests_of_far_indices_do_not_overflow(k, monkeypatch):
    """The conditions in front of a loop are computed for every index; the checked mode asks whether they fit."""

    def f(x, k):
        for _ in range(x.size):
            x[k] += 0.5
            x[k - 1] *= 2.0
        return np.sum(x)

    def outcome(g):
        try:
            return float(g(np.ones(5), k))
        except IndexError as error:
            return str(error).splitlines()[0]
        except OverflowError:  # Python's own integers go on
            return "overflow"

    monkeypatch.setattr(dj.settings, "checked", True)
    found = outcome(dj.jit(f))
    assert found == outcome(f) or (found == "overflow" and k == -(2**63))
