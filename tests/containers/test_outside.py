"""Objects that live outside, of which loops, branches and functions choose one: it has attributes of its own."""

from collections import Counter

import numpy as np
import pytest

import diffjit as dj
from tests.containers.objects import Writer
from tests.containers.programs import check


class Cell:
    def __init__(self, v, w):
        self.v = v
        self.w = w

    def area(self):
        return self.v * self.w


MANY = [Cell(0.1 * i, 1.0 + i) for i in range(30)]
FEW = [Cell(0.1 * i, 1.0 + i) for i in range(4)]


def gone_through(x, k):
    total = 0.0
    for cell in MANY:
        total += cell.v * x + cell.area() * x * x
    return total


def by_number(x, k):
    total = 0.0
    for i in range(k):
        total += MANY[i].v * x + MANY[i].area()
    return total + FEW[k].area() * x


def replaced(x, k):
    best = FEW[0]
    for cell in FEW:
        if cell.v * x > best.v:
            best = cell
    return best.w * x


def best_of_many(x, k):
    best = max(MANY, key=lambda cell: -((cell.v - x) ** 2))
    return best.w * x + best.area()


def found_by_numpy(x, k):
    i = int(np.argmin(np.abs(np.array([cell.v for cell in MANY]) - x)))
    return MANY[i].w * x


def one_after_the_other(x, k):
    now, total = FEW[0], 0.0
    for i in range(k):
        total += now.v * x
        now = FEW[(i * 2) % 4]
    return total + now.area() * x


def perhaps(x, k):
    found = None
    for cell in FEW:
        if cell.v > 0.5 * x and found is None:
            found = cell
    return x * x if found is None else found.area() * x


def known_late(x, k):
    """That `k` must be known is found out when what follows the loop is followed on two paths."""
    now = (x,)
    for i in range(k):
        now = [0.5 * i * x]
    chosen = MANY[k] if now[0] > 0.5 else MANY[0]
    return chosen.area() * now[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "function",
    [gone_through, by_number, replaced, best_of_many, found_by_numpy, one_after_the_other, perhaps, known_late],
)
@pytest.mark.parametrize("x", [0.33, 0.71, 2.9])
def test_chosen_objects(function, x, backend):
    h = 1e-6
    assert dj.jit(function, backend=backend)(x, 3) == pytest.approx(function(x, 3), rel=1e-12)
    slope = (function(x + h, 3) - function(x - h, 3)) / (2 * h)
    assert dj.grad(function, backend=backend)(x, 3) == pytest.approx(slope, rel=1e-7)
    assert dj.jvp(lambda v: function(v, 3), (x,), (1.0,), backend=backend)[1] == pytest.approx(slope, rel=1e-7)


def test_what_they_hold_now():
    ours = dj.jit(best_of_many)
    before = [cell.w for cell in MANY]
    try:
        assert ours(0.71, 3) == pytest.approx(best_of_many(0.71, 3))
        for cell in MANY:
            cell.w *= 2.0
        assert ours(0.71, 3) == pytest.approx(best_of_many(0.71, 3))
    finally:
        for cell, w in zip(MANY, before, strict=True):
            cell.w = w


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))])
def test_random_objects(seed):
    assert check(seed, ("python",), Writer) == "right"


@pytest.mark.parametrize("seed", [1, 2, *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 20))])
def test_random_objects_compiled(seed):
    assert check(seed, ("numba",), Writer) == "right"


class Held:
    def __init__(self, v):
        self.v = v


def in_a_list_too(x, k):
    first = Held(x)
    held = [first]
    for i in range(k):
        held.append(Held(i * x))  # noqa: PERF401 - a list that grows
    held[0].v = 3.0 * x * x
    return first.v * held[-1].v


def many_times(x, k):
    one, held = Held(x), []
    for _ in range(k):
        held.append(one)  # noqa: PERF401
    held[0].v = 2.0 * x * x
    return sum(h.v for h in held)


def twice(x, k):
    one = Held(x)
    held = [one, one]
    held[k % 2].v += 2.0 * x * x
    return one.v * held[0].v * held[1].v


def in_two_lists(x, k):
    held = [Held(x * i) for i in range(k)]
    some = [held[0], held[2]]
    some[k % 2].v = 7.0 * x * x
    return held[0].v + held[2].v * 2.0


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [in_a_list_too, many_times, twice, in_two_lists])
def test_objects_that_lists_hold_too(function, backend):
    x, h = 0.4, 1e-6
    assert dj.jit(function, backend=backend)(x, 3) == pytest.approx(function(x, 3), rel=1e-12)
    slope = (function(x + h, 3) - function(x - h, 3)) / (2 * h)
    assert dj.grad(function, backend=backend)(x, 3) == pytest.approx(slope, rel=1e-7)


class Options:
    """Reads its items as attributes, and raises what a dict raises."""

    def __init__(self, **items):
        self.__dict__["items"] = items

    def __getattr__(self, name):
        return self.__dict__["items"][name]


class Zero(Options):
    """Has every attribute."""

    def __getattr__(self, name):
        return self.__dict__["items"].get(name, 0.0)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("cls", [Options, Zero])
def test_objects_that_answer_by_getattr_are_asked_for_what_the_program_reads(cls, backend):
    options = cls(rate=2.0)
    value, slope = dj.value_and_grad(lambda x: options.rate * x * x, backend=backend)(1.5)
    assert (value, slope) == (4.5, 6.0)
    assert dj.jit(lambda x, given: given.rate * x, backend=backend)(1.5, options) == 3.0
    options.items["rate"] = 4.0
    assert dj.grad(lambda x: [options][0].rate * x, backend=backend)(1.5) == 4.0


EMPTY, NOTHING = Counter(), []


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_empty_ones(backend):
    """Nothing is put into them later."""

    def counted(x):
        return (EMPTY["k"] + EMPTY.get("q", 2) + len(EMPTY) + sum(EMPTY.values())) * x

    def gone_through(x, n):
        return sum(NOTHING[i] * x for i in range(n)) + x

    def changed(x):
        EMPTY["k"] += 1
        return x

    assert dj.jit(counted, backend=backend)(1.5) == counted(1.5)
    assert dj.grad(gone_through, backend=backend)(1.5, 0) == 1.0
    with pytest.raises(IndexError):
        dj.grad(gone_through, backend=backend)(1.5, 2)
    with pytest.raises(dj.MemoryProblem, match="DJ127"):
        dj.jit(changed, backend=backend)(1.5)
