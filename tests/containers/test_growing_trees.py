"""Classes whose `__init__` makes others of their class: trees that grow as they are made."""

from dataclasses import dataclass

import numpy as np
import pytest

import diffjit as dj
from tests.first_order import of_an_array

POINTS = np.array([0.12, 0.31, 0.64, 0.9, 0.33])
BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


class Cell:
    """Of a tree code: masses far away count as one."""

    def __init__(self, lo, hi, points, depth=0):
        self.lo, self.hi = lo, hi
        self.mass = len(points)
        self.centre = sum(points) / len(points) if len(points) else 0.5 * (lo + hi)
        self.kids = []
        if len(points) > 1 and depth < 6:
            mid = 0.5 * (lo + hi)
            self.kids = [
                Cell(lo, mid, [p for p in points if p < mid], depth + 1),
                Cell(mid, hi, [p for p in points if p >= mid], depth=depth + 1),
            ]

    def force(self, x, opening=0.5):
        if self.mass == 0:
            return 0.0
        d = self.centre - x
        if not self.kids or (self.hi - self.lo) / (abs(d) + 1e-9) < opening:
            return self.mass * d / (d * d + 0.01) ** 1.5
        return sum(k.force(x, opening) for k in self.kids)


def forces(p):
    tree = Cell(0.0, 1.0, list(p))
    return 1e-3 * sum(tree.force(x) ** 2 for x in p)


class Split:
    """A regression tree: each half is fitted by its mean."""

    def __init__(self, xs, ys, least=1):
        self.left = self.right = None
        self.value = sum(ys) / len(ys)
        if len(xs) > least and max(xs) > min(xs):
            self.at = sum(xs) / len(xs)
            under = [k for k in range(len(xs)) if xs[k] < self.at]
            over = [k for k in range(len(xs)) if xs[k] >= self.at]
            self.left = type(self)([xs[k] for k in under], [ys[k] for k in under], least)
            self.right = type(self)([xs[k] for k in over], [ys[k] for k in over], least)

    def __call__(self, x):
        if self.left is None:
            return self.value
        return self.left(x) if x < self.at else self.right(x)


def regression(p):
    xs = [0.1, 0.35, 0.5, 0.8, 0.95]
    tree = Split(xs, [np.sin(3.0 * v) for v in p], least=2)
    return sum((tree(x) - v) ** 2 for x, v in zip([0.2, 0.6, 0.9], p, strict=False))


class Named:
    def __init__(self, name):
        self.name, self.weight = name, 2.0


class Chain(Named):
    """A list of links, made by its head, whose base has an `__init__` of its own."""

    def __init__(self, values):
        super().__init__("link")
        self.value = values[0] * self.weight
        self.rest = Chain(values[1:]) if len(values) > 1 else None

    def total(self):
        return self.value**2 if self.rest is None else self.value**2 + 0.5 * self.rest.total()


def chained(p):
    values = [v for v in p if v > 0.2]
    head = Chain(values)
    head.rest.value = head.rest.value * p[0]
    return head.total()


class Shape:
    """Each level is made of what the one above has counted."""

    def __init__(self, size, *, log):
        log.append(size)
        self.size = size
        self.inner = Shape(size * 0.5, log=log) if size > 0.1 else None

    def area(self):
        return self.size**2 - (0.0 if self.inner is None else self.inner.area())


def nested(p):
    log = []
    return Shape(p[0] * 4.0, log=log).area() + sum(log) + len(log) * p[1]


class Neighbours:
    """Points in the plane, halved by one coordinate after the other; a function within reads the axis."""

    def __init__(self, points, axis=0):
        points = sorted(points, key=lambda p: p[axis])
        middle = len(points) // 2
        self.point, self.axis = points[middle], axis
        self.left = Neighbours(points[:middle], 1 - axis) if middle > 0 else None
        self.right = Neighbours(points[middle + 1 :], 1 - axis) if middle + 1 < len(points) else None

    def nearest(self, q, best=None):
        d = sum((a - b) ** 2 for a, b in zip(self.point, q, strict=True))
        best = d if best is None or d < best else best
        over = q[self.axis] - self.point[self.axis]
        near, far = (self.left, self.right) if over < 0 else (self.right, self.left)
        if near is not None:
            best = near.nearest(q, best)
        if far is not None and over**2 < best:
            best = far.nearest(q, best)
        return best


def neighbours(p):
    tree = Neighbours([(v, np.sin(7.0 * v)) for v in p])
    return tree.nearest((0.5, 0.2)) + 3.0 * tree.nearest((p[1] * 0.9, -0.3))


@dataclass
class Weight:
    by: float = 0.5
    of: float = 2.0


@dataclass
class Half:
    """A dataclass, which makes others when its fields are there."""

    points: list
    depth: int = 0
    left: object = None
    right: object = None

    def __post_init__(self):
        self.mean = sum(self.points) / len(self.points)
        self.weight = Weight(0.1 * self.mean, of=3.0)
        if len(self.points) > 1:
            middle = len(self.points) // 2
            self.left = Half(self.points[:middle], depth=self.depth + 1)
            self.right = Half(self.points[middle:], depth=self.depth + 1)

    def total(self):
        own = self.mean**2 * self.weight.by * self.weight.of + self.depth * self.mean
        return own if self.left is None else own + 0.5 * self.left.total() + self.right.total()


def halves(p):
    return Half([v for v in p if v > 0.2]).total() * Weight(p[0]).by


class Branch:
    """Its children are appended; where there are none, a loop has no turn, and no other test ends the recursion."""

    def __init__(self, points):
        self.mean, self.kids = sum(points) / len(points), []
        if len(points) > 1:
            middle = len(points) // 2
            self.kids.append(Branch(points[:middle]))
            self.kids.append(Branch(points[middle:]))

    def total(self):
        return self.mean**2 + sum(k.total() * self.mean for k in self.kids)

    def depth(self):
        deepest = 0
        for k in self.kids:
            deepest = max(deepest, k.depth())
        return deepest + 1


def branches(p):
    tree = Branch([v for v in p if v > 0.2])
    return tree.total() * tree.depth()


def planted(size, x):
    node = {"x": x, "kids": []}
    for k in range(size):
        node["kids"].append(planted(size - 1 - k, x * 0.5 + k))
    return node


def gathered(node):
    total = np.sin(node["x"])
    for kid in node["kids"]:
        total += gathered(kid) * node["x"]
    return total


def dicts(p):
    return gathered(planted(int(p[4] * 10.0), p[0]))


PROGRAMS = [forces, branches, dicts, halves, neighbours, regression, chained, nested]


@BACKENDS
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_python(f, backend):
    of_an_array(f, POINTS, backend, rel=1e-13, step=1e-6)


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_order(f):
    step, v = 1e-6, np.cos(POINTS)
    gradient = dj.grad(f, backend="python")
    expected = (gradient(POINTS + step * v) - gradient(POINTS - step * v)) / (2 * step)
    found = dj.jvp(gradient, (POINTS,), (v,))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
