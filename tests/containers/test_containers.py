"""Random programs over lists, dicts, tuples and objects against exact slopes; and what they have found."""

# ruff: noqa: PERF401 - programs as people write them

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.entry import program
from tests.containers.programs import check

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


@pytest.mark.parametrize("seed", [*range(10), 358, *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 60))])
def test_random_programs(seed):
    assert check(seed) in ("right", "unfit: IndexError")


def lagged(x, n):
    known = [0.5 * i for i in range(n)]
    copied = list(known)
    for i in range(n - 1):
        copied[i] = x * copied[i + 1]
    return copied[0] + sum(copied) ** 2


def arrays(x, n):
    known = [np.array([1.0, 2.0 * i]) for i in range(n)]
    copied = list(known)
    copied.append(x * np.ones(2))
    copied[0] = copied[-1] * 3.0
    return sum(v.sum() * v[0] for v in copied)


def joined(x, n):
    known = [0.5 * i for i in range(n)]
    copied, ordered = known[:], sorted(known)
    both = copied + ordered
    both[0] = x
    copied[-1] = x * x
    copied.insert(1, x)
    return sum(v * v * (i + 1) for i, v in enumerate(copied)) + sum(v * v * (i + 1) for i, v in enumerate(both))


def perhaps(x, n):
    items = [1.0, 2.0]
    if x > 0.1:
        items.append(0.7 * n)
    more = list(items)
    more.append(x)
    return sum(v * v * (i + 1) for i, v in enumerate(more))


@BACKENDS
@pytest.mark.parametrize("function", [lagged, arrays, joined, perhaps])
def test_copies_of_lists_of_constants(function, backend):
    x, h = 0.4, 1e-6
    slope = (function(x + h, 3) - function(x - h, 3)) / (2 * h)
    assert dj.grad(function, backend=backend)(x, 3) == pytest.approx(slope, rel=1e-8)
    assert dj.jvp(lambda v: function(v, 3), (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-8)
    assert dj.jacfwd(function, backend=backend)(x, 3) == pytest.approx(slope, rel=1e-8)
    ours = dj.grad(function, backend=backend)
    bend = (ours(x + h, 3) - ours(x - h, 3)) / (2 * h)
    assert dj.hessian(function, backend=backend)(x, 3) == pytest.approx(bend, rel=1e-7)
    assert dj.grad(dj.grad(function), backend=backend)(x, 3) == pytest.approx(bend, rel=1e-7)
    assert dj.jet(lambda v: function(v, 3), (x,), ((1.0, 0.0),), backend=backend)[1] == pytest.approx([slope, bend])


def sorted_texts(x, k):
    names, pairs = [], []
    for i in range(k):
        names.append("b" if i % 3 == 0 else ("a" if i % 3 == 1 else "c"))
        pairs.append(("z" if i % 2 else "y", x * i))
    found = 0.0
    for j, name in enumerate(sorted(names)):
        found += x * (j + 1) * (1.0 if name == "a" else 2.0 if name == "b" else 3.0)
    for j, name in enumerate(sorted(names, reverse=True)):
        found += x * x * j * (1.0 if name == "a" else 0.3)
    for j, pair in enumerate(sorted(pairs)):
        found += pair[1] * j
    names.sort()
    return found + (1.0 if names[0] == "a" else 5.0)


@BACKENDS
def test_texts_are_sorted_as_python_sorts_them(backend):
    assert dj.jit(sorted_texts, backend=backend)(0.3, 7) == pytest.approx(sorted_texts(0.3, 7), rel=1e-12)
    slope = (sorted_texts(0.3 + 1e-6, 7) - sorted_texts(0.3 - 1e-6, 7)) / 2e-6
    assert dj.grad(sorted_texts, backend=backend)(0.3, 7) == pytest.approx(slope, rel=1e-7)


class Level:
    def __init__(self):
        self.height = np.zeros(2)
        self.slope = np.zeros(2)


class Step:
    def __init__(self, level):
        self.level = level
        self.x = None

    def ahead(self, x, before):
        self.x, self.before = x, before
        self.level.height = np.tanh(x + before)

    def back(self, slope):
        self.level.slope = self.level.height * slope + self.before


class Chain:
    def __init__(self):
        self.steps = []

    def ahead(self, x):
        self.steps.append(Step(Level()))
        k = len(self.steps) - 1
        self.steps[k].ahead(x, self.steps[k - 1].level.height if k > 0 else np.zeros_like(x))

    def back(self, slope):
        k = len(self.steps) - 1
        self.steps[k].back(slope)
        k -= 1
        while k >= 0:
            self.steps[k].back(2.0 * slope + self.steps[k + 1].level.slope)
            k -= 1


INPUTS = [np.array([1.0, -0.5]), np.array([0.3, 0.2]), np.array([-0.7, 0.1]), np.array([0.4, 0.6])]


def chained(x):
    chain = Chain()
    for factor in INPUTS:
        chain.ahead(x * factor)
    chain.back(np.ones_like(x))
    return np.sum(chain.steps[0].level.slope)


@BACKENDS
def test_a_method_of_the_object_that_an_index_picks(backend):
    """The objects hold one another's arrays, so that none is a copy of another: the index picks one of several."""
    x, h = np.array([0.3, 0.4]), 1e-6
    assert dj.jit(chained, backend=backend)(x) == pytest.approx(chained(x), rel=1e-12)
    slopes = [(chained(x + h * e) - chained(x - h * e)) / (2 * h) for e in np.eye(2)]
    assert dj.grad(chained, backend=backend)(x) == pytest.approx(slopes, rel=1e-8)
    assert dj.jvp(chained, (x,), (np.ones(2),), backend=backend)[1] == pytest.approx(sum(slopes), rel=1e-8)


def picked(x, n):
    place, v, turns, total = 0, x, 0, 0.0
    while v < 1.1 and turns < n:
        total, turns = total + 0.2 * v, turns + 1
        place = (place + 1) % 3
        v = [x, 0.5, x * x][place]
    return total * v


@BACKENDS
def test_a_number_that_an_index_picks_in_a_while(backend):
    slope = (picked(0.4 + 1e-6, 5) - picked(0.4 - 1e-6, 5)) / 2e-6
    assert dj.grad(picked, backend=backend)(0.4, 5) == pytest.approx(slope, rel=1e-8)


class Journey:
    def __init__(self):
        self.a, self.b, self.c, self.d, self.e = 0, 0, 0, 0, 0


def set_one_by_one(x, n):
    journeys = []
    for _ in range(n):
        journeys.append(Journey())
    for p in journeys:
        p.a = x
        p.b = x * x
        p.c = 2.0 * x
        p.d = x + 1
        p.e = p.a * p.b
    return sum(p.a * p.b + p.c * p.d + p.e for p in journeys)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_items_have_to_hold_is_learnt_at_once(backend, monkeypatch):
    attempts = []
    attempt = program._specialise
    monkeypatch.setattr(program, "_specialise", lambda *a, **k: (attempts.append(a), attempt(*a, **k))[1])
    x, h = 0.7, 1e-6
    slope = (set_one_by_one(x + h, 4) - set_one_by_one(x - h, 4)) / (2 * h)
    assert dj.grad(set_one_by_one, backend=backend)(x, 4) == pytest.approx(slope, rel=1e-7)
    assert len(attempts) <= 4
