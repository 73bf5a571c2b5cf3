"""Heaps, bisection, context managers, iterators that know their place, and classes that are made inside a function."""

import bisect
import collections
import contextlib
import functools
import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .registry import program

X = (0.31, -0.72, 1.23, 0.52, -0.21, 0.93)


def line():
    return (np.array(X),)


@program(args=line, wrt=("x",), tags=("language",))
def heap_of_pairs(x):
    """Huffman-like merging: pairs of a length and a number."""
    heap = [(abs(v) ** 1.1, i) for i, v in enumerate(x)]
    heapq.heapify(heap)
    total = 0.0
    while len(heap) > 1:
        a, i = heapq.heappop(heap)
        b, j = heapq.heappop(heap)
        total += a * b * (i + 1)
        heapq.heappush(heap, (a + 1.37 * b, i + j))
    total += heapq.heappushpop(heap, (x[2], 3))[0] * heapq.heapreplace(heap, (x[0], 4))[0]
    return total + heap[0][0] + sum(heapq.nlargest(2, x)) * sum(heapq.nsmallest(2, list(x)))


@program(args=line, wrt=("x",), tags=("language",))
def shortest_path_with_a_heap(x):
    """Dijkstra with a heap of floats and ints."""
    neighbours = collections.defaultdict(list)
    for u, v, k in ((0, 1, 0), (1, 2, 1), (0, 2, 2), (2, 3, 3), (1, 3, 5), (3, 4, 4)):
        neighbours[u].append((v, abs(x[k])))
    distance, heap = {0: 0.0}, [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance.get(u, np.inf):
            continue
        for v, length in neighbours[u]:
            if d + length < distance.get(v, np.inf):
                distance[v] = d + length
                heapq.heappush(heap, (d + length, v))
    return distance[4] ** 2 + distance[2]


@program(args=line, wrt=("x",), tags=("language",))
def bisection_in_sorted_lists(x):
    """Places found by bisection, and a list that stays sorted."""
    ordered = []
    for v in x:
        bisect.insort(ordered, v)
    k = bisect.bisect_left(ordered, 0.4)
    j = bisect.bisect(sorted(x), x[0]) + bisect.bisect_right([1, 3, 5], int(4 * x[2]))
    return ordered[k] * ordered[k - 1] * j + sum((i + 1) * v * v for i, v in enumerate(ordered))


@contextlib.contextmanager
def scaled(parameters, factor):
    before = parameters["scale"]
    parameters["scale"] = before * factor
    try:
        yield parameters["scale"]
    finally:
        parameters["scale"] = before


class Damped:
    def __init__(self, rate):
        self.rate, self.depth, self.value = rate, 0, 1.0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, *_):
        self.depth -= 1
        self.value = self.value * self.rate


@program(args=line, wrt=("x",), tags=("language",))
def context_managers(x):
    """An object with `__enter__` and `__exit__`, a generator, and `suppress`; one is left by `break`."""
    parameters, damping, total = {"scale": x[0]}, Damped(x[1]), 0.0
    with scaled(parameters, x[2]) as s, damping as d:
        total += s * parameters["scale"] * d.depth
    for v in x:
        with damping, scaled(parameters, v):
            total += parameters["scale"] * damping.value
            if v > 1.0:
                break
    with contextlib.suppress(ZeroDivisionError):
        total += 1 / (damping.depth * 1)
        total += 1e3
    return total + parameters["scale"] * damping.value


@program(args=line, wrt=("x",), tags=("language",))
def iterators_that_know_their_place(x):
    """`next` several times, then a loop over what is left, then what is left of that."""
    numbers = iter(x)
    total = next(numbers) * next(numbers)
    for v in numbers:
        total += v**2
        if v > 0.5:
            break
    words = iter(["a", "b"])
    return total * next(numbers) + sum(numbers) ** 2 + next(numbers, 7.0) + (next(words) + next(words) == "ab")


@program(args=line, wrt=("x",), tags=("language",))
def stars_where_lengths_are_of_the_run(x):
    """Stars in assignments and in lists."""

    def positive():
        for v in x:
            if v > 0:
                yield v

    first, *others = positive()
    *before, last = sorted(others)
    everything = [*positive(), 1.0, *before]
    return first * len(others) + sum(k * v for k, v in enumerate(everything)) * last


@program(args=line, wrt=("x",), tags=("language",))
def classes_inside(x):
    """A named tuple with a default and a method, a dataclass that is compared, a remembered function."""

    class Point(NamedTuple):
        a: float
        b: float = 2.0

        def norm(self):
            return self.a**2 + self.b

    @dataclass
    class Pair:
        a: float
        b: float

    @functools.cache
    def power(k):
        return x[k] ** 2

    p, q = Point(x[0]), Point(x[1], b=x[2])
    same = (Pair(x[0], x[1]) != Pair(x[0], x[2])) * x[3] + (Pair(x[0], x[1]) == Pair(x[0], x[1])) * x[4]
    return p.norm() * q.norm() + q._replace(a=x[3]).a + p[1] + same + power(int(3 * x[2])) * power(0)


@program(args=line, wrt=("x",), tags=("language",))
def ordered_dict_as_a_small_cache(x):
    """The least recently used key goes first."""
    cache = collections.OrderedDict()
    total = 0.0
    for v in x:
        key = int(3 * abs(v))
        if key in cache:
            cache.move_to_end(key)
        else:
            cache[key] = v * v
            if len(cache) > 2:
                cache.popitem(last=False)
        total += cache[key] * len(cache)
    return total


@program(args=line, wrt=("x",), tags=("language",))
def stars_in_calls(x):
    """As many arguments as a list has when the program runs, for functions, classes and `max`."""

    def weighted(a, *others, scale=1.0):
        return a * len(others) + sum(others) * scale

    class Vector:
        def __init__(self, *parts):
            self.parts = parts

        def __add__(self, other):
            return Vector(*(a + b for a, b in zip(self.parts, other.parts, strict=True)))

        def dot(self, other):
            return sum(a * b for a, b in zip(self.parts, other.parts, strict=True))

    items = [v for v in x if v > 0]
    a, b = Vector(*items), Vector(*[v * v for v in items])
    total = weighted(*items) + weighted(x[0], *items, scale=2.0) * weighted(1.0) + weighted(1.0, 2.0, 3.0)
    return total + max(*items) * min(3.0, *items) + (a + b).dot(b)


@program(args=line, wrt=("x",), tags=("language",))
def runs_of_equal_keys(x):
    """`groupby`, and the same by hand with lists of unlike items."""
    runs = []
    for v in x:
        if runs and runs[-1][0] == (v > 0):
            runs[-1][1].append(v)
        else:
            runs.append([v > 0, [v]])
    total = sum(np.prod(np.array(run)) * len(run) * (1 if up else 2) for up, run in runs)
    for key, group in itertools.groupby(sorted(x), key=lambda v: int(2 * v)):
        values = list(group)
        total += (key + 3) * sum(values) / len(values)
    return total


TABLE = np.array([[0.3], [1.1], [0.7], [2.0], [1.6]])


@program(args=lambda: (np.array([0.4, 1.3]), 2), wrt=("x",), tags=("language", "arrays"))
def blended_rows_of_a_table(x, n):
    """Items that are taken from a table, and replaced by what hangs on the argument; twice, from the same table."""
    total = 0.0
    for power in (1, 2):
        rows = []
        for j in range(n):
            rows.append(TABLE[x.astype(int) + j, :])
        rows[0] = rows[1] + (x**power).reshape(2, 1) * rows[0]
        total += np.sum(rows[0] * rows[1])
    return total


@program(args=lambda: (np.array([0.4, 1.3, 2.2]),), wrt=("x",), tags=("language", "arrays"))
def rows_scaled_where_it_can_be_done(x):
    """An array of a list of rows, of as many as there turn out to be, inside a `try`."""
    rows = np.outer(x, x)[x > 1.0]
    try:
        rows = np.array([r * r[2] for r in rows])
    except BaseException:
        rows = rows * 2.0
    return np.sum(rows * x)


@program(args=lambda: (1.3, 0.7), wrt=("a", "b"), tags=("language",))
def columns_of_a_history(a, b):
    """`zip(*rows)` of a list of tuples that grows: names, a loop over the columns, the points as an array."""
    rows, t = [], 0.0
    while t < 1.0:
        rows.append((t, np.sin(a * t), b * t * t))
        t += 0.1 + 0.05 * len(rows)
    times, waves, squares = zip(*rows)
    total = squares[-1] * np.interp(0.35, times, waves)
    for column in zip(*rows):
        total = total * len(column) + sum(column)
    return total + np.sum(np.array(list(zip(*rows))) * np.array(waves))
