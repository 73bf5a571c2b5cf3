"""Sorting of objects, which say themselves what is less, of lists, and by functions that compare: as Python sorts."""

import bisect
import functools
import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from tests.containers.quotients import check

BACKENDS = ["python", "numba"]
WEIGHTS = np.array([1.0, 10.0, 100.0, 1000.0])
POINT = np.array([3.0, 1.0, 2.0, 0.5])


class Event:
    """Says what is less."""

    def __init__(self, time, size):
        self.time = time
        self.size = size

    def __lt__(self, other):
        return self.time < other.time


class Late:
    """Says only what is greater."""

    def __init__(self, time, size):
        self.time = time
        self.size = size

    def __gt__(self, other):
        return self.time > other.time


@functools.total_ordering
class Total:
    """Has all comparisons."""

    def __init__(self, time, size):
        self.time = time
        self.size = size

    def __eq__(self, other):
        return self.time == other.time

    def __lt__(self, other):
        return self.time < other.time

    __hash__ = None  # pyright: ignore[reportAssignmentType]


@dataclass(order=True)
class Record:
    """Is compared by its fields."""

    time: float
    size: float = field(compare=False)


CLASSES = [Event, Late, Total, Record]


def made(kind: Any, x):
    return [kind(x[i], x[i] * WEIGHTS[i]) for i in range(4)]


def counted(events):
    return sum(e.size * (k + 1) for k, e in enumerate(events))


def in_order(kind, x):
    return counted(sorted(made(kind, x)))


def falling(kind, x):
    return counted(sorted(made(kind, x), reverse=True))


def in_place(kind, x):
    events = made(kind, x)
    events[0].size = events[0].size * x[1]
    events.sort()
    return counted(events)


def grown(kind, x):
    events = []
    for k in range(len(x)):
        events.append(kind(x[k], x[k] * WEIGHTS[k]))  # noqa: PERF401 - a list that grows
    events.sort()
    return counted(events) + min(events).size * max(events).size


def in_tuples(kind, x):
    pairs = [(float(k % 2), kind(x[k], x[k] * WEIGHTS[k])) for k in range(4)]
    pairs.sort()
    return counted([e for _, e in pairs])


def by_key(kind, x):
    return sum(v * (k + 1) for k, v in enumerate(sorted(x * x, key=lambda v: kind(-v, 0.0))))


def queue(kind, x):
    events = []
    for k in range(len(x)):
        heapq.heappush(events, kind(x[k], x[k] * WEIGHTS[k]))
    total = 0.0
    while events:
        total = 2 * total + heapq.heappop(events).size
    return total


def equals(kind, x):
    times = [1.0, 0.0, 1.0, 1.0, 0.0]
    events = [kind(t, x[k % 4] * x[(k + 1) % 4]) for k, t in enumerate(times)]
    return counted(sorted(events)) + 3 * counted(sorted(events, reverse=True))


def inserted(x):
    events = []
    for k in range(4):
        bisect.insort(events, Event(x[k], x[k] * WEIGHTS[k]))
    return counted(events)


def by_angle(x):
    def turn(a, b):
        side = a[0] * b[1] - a[1] * b[0]
        return -1 if side > 0 else int(side < 0)

    points = [(x[k], 0.01 * WEIGHTS[k] + x[3 - k]) for k in range(4)]
    points.sort(key=functools.cmp_to_key(turn))
    return sum((k + 1) * a * b for k, (a, b) in enumerate(points))


def compared(x):
    squares = []
    for v in x:
        squares.append(v * v)  # noqa: PERF401 - a list that grows
    squares.sort(key=functools.cmp_to_key(lambda a, b: b - a))
    return squares[0] + 10 * squares[1] * min(list(x), key=functools.cmp_to_key(lambda a, b: b - a))


def matrices(x):
    products = [np.outer(x[:2], x[:2]), np.outer(x[2:], x[1:3]), np.outer(x[2:], x[2:])]
    small, middle, large = sorted(products, key=lambda m: np.abs(m.flat).tolist())
    return small[0, 1] + 10 * middle[1, 1] + large[0, 0] ** 2


def lists(x):
    rows = [[x[0], x[1]], [x[2]], [x[2], x[3]], []]
    rows.sort()
    return len(rows[0]) + 10 * rows[1][0] * rows[2][1] * rows[3][0]


def grown_lists(x):
    rows = []
    for k in range(4):
        rows.append([np.floor(x[k] / 2 + 0.1), x[k] * WEIGHTS[k]])  # noqa: PERF401 - a list that grows
    rows.sort(reverse=True)
    return sum((k + 1) * r[1] for k, r in enumerate(rows)) + rows[0][1] * (rows[0] > rows[1]) + (rows[2] <= rows[3])


def pairs(x):
    ordered = sorted(zip(x.tolist(), (x * x).tolist(), strict=True))
    return sum((k + 1) * b for k, (_, b) in enumerate(ordered))


class Tree:
    """A node of a tree by weight."""

    def __init__(self, weight):
        self.weight = weight
        self.left = None
        self.right = None

    def __lt__(self, other):
        return self.weight < other.weight


def merged(x):
    trees = []
    for v in x:
        trees.append(Tree(v))  # noqa: PERF401 - a list that grows
    total = 0.0
    while len(trees) > 1:
        trees.sort()
        a, b = trees.pop(0), trees.pop(0)
        joined = Tree(a.weight + b.weight)
        joined.left, joined.right = a, b
        total = total + joined.weight * joined.weight
        trees.append(joined)
    return total


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("program", [in_order, falling, in_place, grown, in_tuples, by_key, queue, equals])
def test_objects(program, kind, backend):
    check(lambda x: program(kind, x), POINT, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [inserted, by_angle, compared, matrices, lists, grown_lists, pairs, merged])
def test_comparisons(program, backend):
    check(program, POINT, backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [by_angle, merged])
def test_second(program, backend):
    gradient = dj.grad(program, backend=backend)
    wanted = [(gradient(POINT + 1e-5 * e) - gradient(POINT - 1e-5 * e)) / 2e-5 for e in np.eye(4)]
    np.testing.assert_allclose(dj.hessian(program, backend=backend)(POINT), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 17, 64])
def test_as_many_as_there_are(count):
    numbers = np.random.default_rng(count).integers(0, 9, count).astype(float)

    def program(x):
        events = []
        for k in range(len(x)):
            events.append(Event(np.floor(x[k]), float(k)))  # noqa: PERF401 - a list that grows
        order = [e.size for e in sorted(events)]
        back = [e.size for e in sorted(events, reverse=True)]
        return np.array(order), np.array(back)

    found, wanted = dj.jit(program)(numbers), program(numbers)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def test_without_an_order():
    class Plain:
        def __init__(self, x):
            self.x = x

    with pytest.raises(dj.DiffjitError, match="DJ309"):
        dj.grad(lambda x: sorted([Plain(x[0]), Plain(x[1])])[1].x)(POINT)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_and_tuples(backend):
    def program(x):
        rows = []
        for v in x:
            rows.append(v)  # noqa: PERF402 - a list that grows
        total = x[0]
        for other in ((1.0, 2.0), [1.0, 2.0]):
            try:
                total = total * (2.0 if rows < other else 3.0)  # pyright: ignore[reportOperatorIssue]
            except TypeError:
                total = total + 7.0
        return total

    assert dj.jit(program, backend=backend)(POINT) == program(POINT)
