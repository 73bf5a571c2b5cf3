"""Recursive functions over trees and lists outside, against plain Python, exact slopes and differences."""

# pyright: reportOptionalMemberAccess=false, reportAttributeAccessIssue=false, reportOptionalIterable=false, reportOptionalSubscript=false

from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.syntax.interpret import MAX_STATIC_RECURSION, Interpreter
from tests.containers.programs import check
from tests.containers.recursions import Writer

X = np.array([0.5, 0.2, 0.9, 0.35, 0.77, 0.1])
BACKENDS = ["python", "numba"]


class Quad:
    """A cell of a tree of bodies, after Barnes and Hut."""

    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.mass, self.mean = 0.0, 0.0
        self.body = None
        self.kids = None

    def quadrant(self, x, y):
        return (1 if x > self.x else 0) + (2 if y > self.y else 0)

    def split(self):
        h = self.size / 2
        self.kids = [Quad(self.x + (k % 2 - 0.5) * h, self.y + (k // 2 - 0.5) * h, h) for k in range(4)]

    def insert(self, x, y, m):
        if self.mass == 0.0 and self.kids is None:
            self.body = (x, y, m)
        else:
            if self.kids is None:
                self.split()
                bx, by, bm = self.body
                self.kids[self.quadrant(bx, by)].insert(bx, by, bm)
                self.body = None
            self.kids[self.quadrant(x, y)].insert(x, y, m)
        self.mean = (self.mean * self.mass + (x + y) * m) / (self.mass + m)
        self.mass += m

    def force(self, x, y):
        if self.mass == 0.0:
            return 0.0, 0.0
        d = np.sqrt((self.mean - x) ** 2 + y * y + 0.01)
        if self.kids is None or self.size / d < 0.5:
            return self.mass / d, self.mean / d**2
        fx = fy = 0.0
        for kid in self.kids:
            a, b = kid.force(x, y)
            fx += a
            fy += b
        return fx, fy


def barnes_hut(x):
    root = Quad(0.5, 0.5, 1.0)
    bodies = x.reshape(-1, 2)
    for a, b in bodies:
        root.insert(a, b, 1.0 + a * b)
    total = 0.0
    for a, b in bodies:
        u, v = root.force(a, b)
        total += u * v
    return total


def of_arrays(x):
    class Cell:
        def __init__(self, points, low, high):
            self.points, self.low, self.high = points, low, high

    def build(points, depth):
        if len(points) < 2:
            return Cell(points * depth, None, None)
        points = points[np.argsort(points)]
        m = len(points) // 2
        return Cell(points[m:], build(points[:m], depth + 1), build(points[m + 1 :], depth + 1))

    def total(cell, weights):
        own = np.sum(np.sin(cell.points)) * weights[0]
        if cell.low is None:
            return own
        return own + total(cell.low, 0.5 * weights) * total(cell.high, weights[::-1])

    return total(build(x, 1), x[:3] * 2)


def arrays_outside(x):
    parts = []

    def halved(a, depth):
        if depth == 0 or len(a) < 2:
            parts.append(np.sin(a) * a[0])
            return 0.5 * len(a)
        h = len(a) // 2
        return halved(a[:h], depth - 1) + 2 * halved(a[h:], depth - 1)

    s = halved(x, len(x) // 3)
    for k, p in enumerate(parts):
        s = s + (k + 1) * np.sum(p)
    return s


def arrays_swapped(x):
    rows = [x]
    for k in range(1, len(x)):
        rows += [x * k]

    def turned(i, j):
        if i >= j:
            return 0.0
        rows[i], rows[j] = rows[j], rows[i]
        return np.sum(rows[i]) * i + turned(i + 1, j - 1)

    return turned(0, len(x) - 1) + rows[0][0] * 3 + rows[2][1]


def kept_meanwhile(x):
    """Lists of its own that outlive its calls, and a list outside that grows while it is gone through."""
    seen = []

    class Link:
        def __init__(self, v, after):
            self.v, self.after = v, after

    def values(link):
        found = [link.v]
        if link.after is not None:
            for v in values(link.after)[::-1]:
                found += [v * link.v]
        seen.append(found[-1])
        return found

    head = None
    for v in x:
        head = Link(v, head)
    s = sum(values(head))
    for k, v in enumerate(seen):
        s += k * v
        if len(seen) < 9:
            seen.append(v * x[0])
    return s


class Cell:
    def __init__(self, v):
        self.v, self.kids, self.w = v, [], np.zeros(2)


def grown_cell(v, depth):
    cell = Cell(v)
    for j in range(depth):
        cell.kids.append(grown_cell(0.6 * v + 0.1 * j, depth - 1))
    return cell


def arrays_that_calls_change(x):
    """Arrays of its own that outlive calls, parts of one that calls write to, and one outside."""
    path = np.zeros(len(x))

    def copied(cell, a):
        a = a.copy()
        a[0] += cell.v
        s = 0.0
        for kid in cell.kids:
            s += copied(kid, a * 0.5)
        a[1] = a[1] * a[0]
        return s + a[0] * a[1]

    def written(cell, a, depth):
        a[0] *= cell.v
        path[depth] = cell.v * x[1]
        s = np.sum(path[: depth + 1] ** 2)
        for kid in cell.kids:
            s += written(kid, a[1:], depth + 1)
        path[depth] *= 0.5
        return s + a[0] * np.sum(a)

    root = grown_cell(x[0], len(x) // 3)
    return copied(root, x) + written(root, x * 1.0, 0) + path[0]


def arrays_of_nodes(x):
    def visit(cell, a):
        cell.w[0] = cell.v * a[0]
        cell.w = cell.w + a[:2]
        for kid in cell.kids:
            visit(kid, cell.w)
        return cell.w[0] * cell.w[1]

    def total(cell):
        s = np.sum(cell.w)
        for kid in cell.kids:
            s += total(kid)
        return s

    root = grown_cell(x[0], len(x) // 3)
    return visit(root, x) + total(root)


def differences(f: Any, x: np.ndarray) -> np.ndarray:
    eye = 1e-6 * np.eye(x.size)
    return np.array([(f(x + e) - f(x - e)) / 2e-6 for e in eye])


PROGRAMS = [
    barnes_hut,
    of_arrays,
    arrays_outside,
    arrays_swapped,
    kept_meanwhile,
    arrays_that_calls_change,
    arrays_of_nodes,
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f, backend):
    assert np.allclose(dj.jit(f, backend=backend)(X), f(X), rtol=1e-12)
    gradient = dj.grad(f, backend=backend)(X)
    assert np.allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-7)
    direction = np.cos(np.arange(6.0))
    assert np.allclose(dj.jvp(f, (X,), (direction,), backend=backend)[1], gradient @ direction, rtol=1e-10)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_order_and_lanes(f):
    gradient = dj.grad(f, backend="python")
    direction = np.sin(np.arange(1.0, 7.0))
    hvp = dj.jvp(gradient, (X,), (direction,))[1]
    expected = (gradient(X + 1e-6 * direction) - gradient(X - 1e-6 * direction)) / 2e-6
    assert np.allclose(hvp, expected, rtol=1e-4, atol=1e-6)
    stacked = np.stack([X, X[::-1], X + 0.01])
    assert np.allclose(dj.vmap(gradient)(stacked), [gradient(x) for x in stacked], rtol=1e-12)


@pytest.mark.parametrize("seed", [0, 2, 3, 7, 10, 12, 13, 24])
def test_random_recursions(seed):
    assert check(seed, ("python",), Writer) == "right"


@pytest.mark.parametrize("seed", [3, 14])
def test_random_recursions_compiled(seed):
    assert check(seed, ("numba",), Writer) == "right"


def test_nodes_that_a_derivative_inside_reads():
    class Tree:
        def __init__(self, v):
            self.v, self.low, self.high = v, None, None

    def grow(v, depth):
        tree = Tree(v)
        if depth > 0:
            tree.low, tree.high = grow(0.5 * v + 1.0, depth - 1), grow(0.2 * v, depth - 1)
        return tree

    def total(tree):
        s = tree.v * tree.v
        if tree.low is not None:
            s += 0.5 * total(tree.low) + 0.3 * total(tree.high)
        return s

    def f(x, depth):
        root = grow(x, depth)
        return dj.grad(lambda y: total(root) * y + total(grow(y, depth)))(x * x)

    def changing(x, depth):
        root = grow(x, depth)

        def inner(y):
            root.v = y
            return total(root)

        return dj.grad(inner)(x)

    e = 1e-5
    inside = (total(grow(0.49 + e, 2)) - total(grow(0.49 - e, 2))) / (2 * e)
    assert np.isclose(dj.jit(f, backend="python")(0.7, 2), total(grow(0.7, 2)) + inside)
    slope = (dj.jit(f)(0.7 + e, 2) - dj.jit(f)(0.7 - e, 2)) / (2 * e)
    assert np.isclose(dj.grad(f, backend="python")(0.7, 2), slope)
    with pytest.raises(NotImplementedError, match="a node is changed"):
        dj.jit(changing, backend="python")(0.7, 2)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_recursion_without_end(backend):
    class Knot:
        def __init__(self, v, after):
            self.v, self.after = v, after

    def total(knot):
        return knot.v + total(knot.after) if knot.after is not None else 0.0

    def f(x):
        first = knot = Knot(x[0], None)
        for v in x:
            knot = Knot(v, knot)
        first.after = knot
        return total(knot)

    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        dj.jit(f, backend=backend)(X)


def test_levels_of_a_tree_are_not_written_out():
    """A count of levels that is known does not make one program of each level."""

    class Tree:
        def __init__(self, v):
            self.v, self.kids = v, []

    def f(x):
        root = Tree(x[0])
        here = root
        for v in x:
            here.kids.append(Tree(v))
            here.kids.append(Tree(v * v))
            here = here.kids[0]

        def total(tree, depth):
            if depth > 8:
                return 0.0
            s = tree.v * depth
            for kid in tree.kids:
                s += total(kid, depth + 1)
            return s

        return total(root, 0)

    assert np.allclose(dj.grad(f, backend="python")(X), differences(f, X), rtol=1e-6)
    assert len(dj.source(dj.jit(f, backend="python"), X).splitlines()) < 120


def grown(x):
    items = [x[0]]
    for v in x[1:]:
        items.append(v + items[-1])
    return items


def by_enumerate(x):
    items, s = grown(x), 0.0
    for i, v in enumerate(items):
        s += v * i
        if len(items) < 8:
            items.append(v * 0.5)
    return s


def by_map(x):
    items, s = grown(x), 0.0
    for v in map(np.sin, items):
        s += v * v
        if len(items) < 8:
            items.append(v * 0.5)
    return s


def by_zip(x):
    items, s = grown(x), 0.0
    for a, b in zip(items, items, strict=False):
        s += a * b * len(items)
        if len(items) > 3:
            items.pop()
    return s


def by_iter(x):
    items, s = grown(x), 0.0
    for v in iter(items):
        s += v * v
        if len(items) < 8:
            items.append(v * 0.5)
    return s


@pytest.mark.parametrize("f", [by_enumerate, by_map, by_zip, by_iter], ids=lambda f: f.__name__)
def test_a_list_that_changes_while_it_is_gone_through(f):
    assert np.allclose(dj.jit(f, backend="python")(X), f(X), rtol=1e-12)
    assert np.allclose(dj.grad(f, backend="python")(X), differences(f, X), rtol=1e-6)


def test_a_python_number_adds_up_what_numpy_gives():
    """The sum of an inner loop is NumPy's number; that of the outer one, to which it is added, Python's."""

    class Tree:
        def __init__(self, key):
            self.key, self.low, self.high = key, None, None

    def insert(tree, key):
        if tree is None:
            return Tree(key)
        if key < tree.key:
            tree.low = insert(tree.low, key)
        else:
            tree.high = insert(tree.high, key)
        return tree

    def total(tree):
        return 0.0 if tree is None else tree.key * 0.5 + total(tree.low) + total(tree.high)

    def f(x, n):
        tree = Tree(np.tanh(0.5 * x))
        for _ in range(n):
            tree = insert(tree, np.sin(0.7) + x)
        return total(tree)

    e = 1e-6
    assert np.isclose(dj.grad(f, backend="python")(0.3, 3), (f(0.3 + e, 3) - f(0.3 - e, 3)) / (2 * e))


def test_a_generator_that_goes_through_itself():
    class Tree:
        def __init__(self, v):
            self.v, self.low = v, None

    def values(tree):
        if tree is not None:
            yield tree.v
            yield from values(tree.low)

    def f(x):
        tree = None
        for v in x:
            above = Tree(v)
            above.low = tree
            tree = above
        return sum(values(tree))

    with pytest.raises(NotImplementedError, match="DJ119"):
        dj.jit(f, backend="python")(X)


def rising(n, m):
    if n == 1 and m > 1:
        return 0.5
    return 0.9 * rising(n - 1, m)  # without end where m is 1, which nobody asks for


def besides(x, n):
    return x * x if n > 0 else x * rising(n, 1)


def counted_bodies(monkeypatch, name):
    """How often the body of a function of this name is gone through."""
    found = []
    run_body = Interpreter.run_body

    def counting(self, fn, *args, **kwargs):
        found.extend([fn.name] if fn.name == name else [])
        return run_body(self, fn, *args, **kwargs)

    monkeypatch.setattr(Interpreter, "run_body", counting)
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_calls_itself_without_end_is_noticed(backend, monkeypatch):
    found = counted_bodies(monkeypatch, "rising")
    assert dj.grad(besides, backend=backend)(1.5, 2) == 3.0
    assert len(found) <= 2 * MAX_STATIC_RECURSION


def with_a_list(x):
    todo, total = list(range(20)), [0.0]

    def visit():
        if todo:
            total[0] = total[0] + x * todo.pop()
            visit()

    visit()
    return total[0]


def with_a_counter(x):
    left = 20

    def rest():
        nonlocal left
        if left == 0:
            return 0.0
        left -= 1
        return x * left + rest()

    return rest()


def with_an_object(x):
    class Walk:
        at = 0

    walk = Walk()

    def on():
        walk.at = walk.at + 1
        return x * walk.at if walk.at == 19 else x * walk.at + on()

    return on()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [with_a_list, with_a_counter, with_an_object])
def test_what_ends_by_what_it_changes_is_written_out(function, backend):
    assert dj.grad(function, backend=backend)(0.3) == sum(range(20))
