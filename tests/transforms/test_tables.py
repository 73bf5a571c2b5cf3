"""Functions that leave loops for tables: the same values, derivatives and errors, and fewer calls."""

from __future__ import annotations

import re

import numpy as np
import pytest

import diffjit as dj

rng = np.random.default_rng(4)


def per_cluster(scale, means, x):
    total = 0.0
    for i in range(len(x)):
        for c in range(means.shape[0]):
            for p in range(means.shape[1]):
                total += np.exp(scale[c, p]) * (x[i, p] - means[c, p]) ** 2
            total -= np.sum(scale[c]) / (i + 1.0)
    return total


def of_counters(w, x, n):
    """Backwards, in a `while`, and a cosine of the counter alone."""
    total, rounds = 0.0, 0
    while rounds < n:
        for k in range(len(w) - 1, -1, -1):
            total += np.tanh(w[k] + 1.0) * x[k] * (1.0 + rounds)
            total += np.cos(0.1 * k) * w[k]
        rounds += 1
    return total


def outside_alone(a, x, n):
    total = 0.0
    for i in range(n):
        for j in range(3):
            total += np.exp(a) * x[j] * (i + 1.0) + x[j] ** a
    return total


def changes(w, x, n):
    """What the loop writes to stays in it."""
    u = w.copy()
    total = 0.0
    for i in range(n):
        for k in range(len(w)):
            total += np.exp(u[k]) * x[k]
        u[i % len(w)] = 0.5 * total
    return total


def under_conditions(w, x, n):
    total = 0.0
    for i in range(n):
        for k in range(len(w)):
            if (i + k) % 3 == 0:
                total += np.log(w[k] * w[k] + 1.0) * x[k]
            if total > 1e3:
                break
    return total


def pairs(w, x, n):
    """A table of all pairs would be larger than anything that the program holds."""
    total = 0.0
    for i in range(n):
        for j in range(len(w)):
            for k in range(len(x)):
                total += np.sin(w[j] * x[k]) / (i + 1.0)
    return total


W, X = rng.normal(size=6), rng.normal(size=6)
MATRICES = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
PROGRAMS = [
    (per_cluster, MATRICES, (0, 1), True),
    (of_counters, (W, X, 4), (0, 1), True),
    (outside_alone, (0.7, np.abs(X), 4), (0, 1), True),
    (changes, (0.1 * W, X, 4), (0, 1), False),
    (under_conditions, (W, X, 7), (0, 1), False),
    (pairs, (W, X, 3), (0, 1), False),
]


@pytest.mark.parametrize(("program", "args", "wrt", "moved"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_like_python(program, args, wrt, moved) -> None:
    assert dj.jit(program)(*args) == pytest.approx(program(*args), rel=1e-13)
    directions = [rng.normal(size=np.shape(args[k])) for k in wrt]

    def along(t: float) -> float:
        given = list(args)
        for k, d in zip(wrt, directions, strict=True):
            given[k] = args[k] + t * d
        return program(*given)

    h = 1e-5
    slope = (along(h) - along(-h)) / (2 * h)
    gradient = dj.grad(program, wrt)(*args)
    assert sum(np.sum(g * d) for g, d in zip(gradient, directions, strict=True)) == pytest.approx(slope, rel=1e-7)
    count, rest = len(wrt), args[len(wrt) :]

    def value(*given):
        return program(*given, *rest)

    primals, tangents = tuple(args[:count]), tuple(directions)
    _, forward = dj.jvp(value, primals, tangents)
    assert forward == pytest.approx(slope, rel=1e-7)
    bend = (along(h * 10) - 2 * along(0.0) + along(-h * 10)) / (100 * h * h)
    second = dj.jvp(dj.grad(value, tuple(range(count))), primals, tangents)[1]
    assert sum(np.sum(s * d) for s, d in zip(second, directions, strict=True)) == pytest.approx(
        bend, rel=2e-4, abs=1e-4
    )
    text = dj.source(program, *args, stage="lowered")
    assert bool(re.search(r"_table\.inside\[.*\] = ", text)) == (moved and program is not outside_alone)


def test_one_function_call_for_each_element() -> None:
    """Outside the loop over points, in the gradient as well."""
    scale, means, x = rng.normal(size=(6, 30)), rng.normal(size=(6, 30)), rng.normal(size=(40, 30))
    text = dj.source(dj.grad(per_cluster, (0, 1, 2)), scale, means, x, stage="lowered")
    assert len(re.findall(r" exp\(", text)) == 1
    assert "value_tape" not in text


def beyond_the_end(w, n):
    total = 0.0
    for _ in range(n):
        for k in range(len(w) + 1):
            total += np.exp(w[k])
    return total


def test_an_index_error_is_raised_where_the_program_raises_it() -> None:
    assert dj.jit(beyond_the_end)(W, 0) == 0.0
    with pytest.raises(IndexError, match="out of bounds"):
        dj.jit(beyond_the_end)(W, 2)


def guarded(w, n):
    """The index is proven by what the outer loop's running at all says."""
    total = 0.0
    for _ in range(n):
        for k in range(3):
            total += np.exp(w[k])
    return total


def test_loops_that_do_not_run() -> None:
    short = np.ones(2)
    assert dj.jit(guarded)(short, 0) == 0.0
    assert np.array_equal(dj.grad(guarded)(short, 0), np.zeros(2))
    with pytest.raises(IndexError):
        dj.jit(guarded)(short, 1)
    empty = np.empty((0, 4))
    assert dj.jit(per_cluster)(empty, empty, np.ones((2, 4))) == 0.0
