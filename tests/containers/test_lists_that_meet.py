"""Lists that were made in different places and meet: each keeps its own items."""

import math
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError

BACKENDS = ["python", "numba"]


def tagged(x, tags):
    total = 0.0
    for tag in tags:
        total = 1.5 * total + (x if tag == "rise" else x**2 if tag == "fall" else x**3 if tag == "hold" else 7.0 * x)
    return total


def alternating(n, even, odd):
    return [odd if k % 2 else even for k in range(n)]


def branches(x, n):
    tags = alternating(n, "fall", "rise") if x > 0.5 else alternating(n, "hold", "fall")
    return tagged(x, tags)


def of_known_length(x, n):
    if x > 0.5:
        tags = ["rest", "fall"]
    elif x > 0.2:
        tags = ["hold"] * n
    else:
        tags = ["rise"]
    return tagged(x, tags)


def in_tuples(x, n):
    steps = [("rise" if k % 2 else "fall", x * k) for k in range(n)]
    others = [("hold", x), ("fall", 2.0 * x)]
    return sum([size * tagged(x, [tag]) for tag, size in (steps if x > 0.5 else others)])


def within_lists(x, n):
    first = [["rise", "fall"], ["hold"]]
    second = [["hold"]] * n
    return sum([tagged(x, tags) for tags in (first if x > 0.5 else second)])


def swapped(x, n):
    columns = {"up": [], "down": []}
    for k in range(n):
        columns["up"].append("rise" if k % 2 else "hold")
        columns["down"].append("fall" if k % 2 else "rise")
    if x > 0.5:
        columns["up"], columns["down"] = columns["down"], columns["up"]
    return tagged(x, columns["up"]) + 2.0 * tagged(x, columns["down"])


def at_either_end(x, n):
    tags = ["hold"]
    for _ in range(n):
        if x > 0.5:
            tags.insert(0, "rise")
        else:
            tags = ["fall", *tags]
    return tagged(x, tags)


class Plan:
    def __init__(self, tags):
        self.tags = tags


def of_objects(x, n):
    plan = Plan(alternating(n, "hold", "fall")) if x > 0.5 else Plan(alternating(n, "fall", "rise"))
    plan.tags.append("hold")
    return tagged(x, plan.tags)


def functions(x, n):
    first = [np.sin, np.cos]
    second = [np.cos if k % 2 else np.exp for k in range(n)]
    for f in first if x > 0.5 else second:
        x = f(x)
    return x


def or_none(x, n):
    tags = [None if k == 1 else "rise" if k % 2 else "fall" for k in range(n)]
    return sum([x if tag is None else tagged(x, [tag]) for tag in (["fall", None, "hold"] if x > 0.5 else tags)])


def solve(force, area, distance):
    if force == 0:
        return {"force": area / distance}
    if area == 0:
        return {"area": force * distance}
    if distance == 0:
        return {"distance": area / force**2}
    raise ValueError("one of them must be 0")


def unlike_keys(x, n):
    return solve(x, float(n), 0)["distance"]


def chosen(rows):
    best, least = None, math.inf
    for row in rows:
        if row[0] <= least:
            least, best = row[0], row
    return [best, rows]


def in_a_list_with_others(x, n):
    """The loop's own name for a row is read no more where the other one is: the row is known by that."""
    rows = [[(x - 0.21 * k) ** 2, x * k] for k in range(n)]
    best, _ = chosen(rows)
    return best[0] + best[1] * x


PROGRAMS = [
    branches,
    of_known_length,
    in_tuples,
    within_lists,
    swapped,
    at_either_end,
    of_objects,
    functions,
    or_none,
    unlike_keys,
    in_a_list_with_others,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python(f, backend):
    value = dj.jit(f, backend=backend)
    slope = dj.grad(f, backend=backend)
    along = lambda x, n: dj.jvp(lambda x: f(x, n), (x,), (1.0,), backend=backend)
    bend = dj.grad(slope, backend=backend)
    for x in (0.8, 0.3, 0.1):
        numerical = (f(x + 1e-6, 3) - f(x - 1e-6, 3)) / 2e-6
        np.testing.assert_allclose(value(x, 3), f(x, 3), rtol=1e-12)
        np.testing.assert_allclose(slope(x, 3), numerical, rtol=1e-6)
        np.testing.assert_allclose(along(x, 3), (f(x, 3), numerical), rtol=1e-6)
        np.testing.assert_allclose(bend(x, 3), (slope(x + 1e-6, 3) - slope(x - 1e-6, 3)) / 2e-6, rtol=1e-6, atol=1e-7)


class Root:
    """A tree among others: each knows the one on its left and the one above."""

    def __init__(self, weight):
        self.weight = weight
        self.left: Any = None
        self.above: Any = None


def lightest_of_trees(x):
    roots = [Root(x[0]), Root(x[1]), Root(x[2]), Root(3.0)]
    lightest = roots[0]
    for root in roots[1:]:
        root.left = lightest
        lightest.above = root
        if root.weight < lightest.weight:
            lightest = root
    passed = []
    place = lightest
    while place.left:
        passed.append((place, 1))
        place = place.left
    if lightest.weight > 0.3:
        passed.append((lightest, 2))
    return lightest.weight * lightest.weight + sum([root.weight * count for root, count in passed])


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_objects_that_hold_each_other_become_items(backend):
    for point in (np.array([1.0, 5.0, 2.0]), np.array([4.0, 1.5, 0.2])):
        wanted = [(lightest_of_trees(point + 1e-5 * e) - lightest_of_trees(point - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
        value, gradient = dj.value_and_grad(lightest_of_trees, backend=backend)(point)
        np.testing.assert_allclose(value, lightest_of_trees(point), rtol=1e-12)
        np.testing.assert_allclose(gradient, wanted, rtol=1e-7, atol=1e-7)
        direction = np.array([0.3, -1.0, 0.7])
        dot = dj.jvp(lightest_of_trees, (point,), (direction,), backend=backend)[1]
        np.testing.assert_allclose(dot, gradient @ direction, rtol=1e-12)


def first_of_one_or_a_new_one(items, replace):
    if replace > 0.5:
        items = [11.0, 22.0, 33.0]
    items[0] = 5.0
    return items[0] + items[1]


def last_of_one_or_a_new_one(items, replace):
    if replace > 0.5:
        items = [11.0, 22.0, 33.0, 44.0]
    return items.pop()


@pytest.mark.parametrize("function", [first_of_one_or_a_new_one, last_of_one_or_a_new_one])
def test_a_change_that_the_caller_would_miss_is_refused(function):
    given = [1.0, 2.0, 3.0]
    with pytest.raises(DiffjitError, match="a list among the arguments is changed"):
        dj.jit(function)(given, 0.0)
    assert given == [1.0, 2.0, 3.0]
    assert dj.grad(function)(given, 0.0) == (
        [0.0, 1.0, 0.0] if function is first_of_one_or_a_new_one else [0.0, 0.0, 1.0]
    )


def without_zeros_at_the_end(c):
    n = len(c)
    while n > 0 and c[n - 1] == 0:
        n -= 1
    return [] if n == 0 else c[:n]


def by_places(c):
    c = without_zeros_at_the_end(c)
    last = len(c) - 1
    total = c[last] ** 2
    for i in range(last - 1, -1, -1):
        total = 2.0 * total + c[i]
    return total


def by_places_or_nothing(c):
    c = without_zeros_at_the_end(c)
    if len(c) == 0:
        return 0.0
    b, last = np.empty(len(c)), len(c) - 1
    b[last] = c[last] ** 2
    return b[last] + c[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_places_in_an_array_or_an_empty_list(backend):
    """There is no place in the list: Python raises, whatever place it is."""
    c = np.array([1.0, 2.0, 3.0, 0.0])
    for function, wanted in ((by_places, [1.0, 2.0, 24.0, 0.0]), (by_places_or_nothing, [1.0, 0.0, 6.0, 0.0])):
        assert dj.jit(function, backend=backend)(c) == function(c)
        np.testing.assert_array_equal(dj.grad(function, backend=backend)(c), wanted)
    with pytest.raises(IndexError, match="list index out of range"):
        dj.jit(by_places, backend=backend)(np.zeros(2))
    assert dj.jit(by_places_or_nothing, backend=backend)(np.zeros(2)) == 0.0
