"""Linked lists and trees that are made while the program runs, against plain Python and differences."""

# pyright: reportOptionalMemberAccess=false

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from tests.containers.nodes import Writer
from tests.containers.programs import check

X = np.array([0.5, 0.2, 0.9, 0.35, 0.77, 0.1])


class Link:
    def __init__(self, v, after=None):
        self.v = v
        self.after = after


class Tree:
    def __init__(self, key, left=None, right=None):
        self.key = key
        self.left = left
        self.right = right


def linked(x):
    head = None
    for v in x:
        head = Link(v * v, head)
    total, k = 0.0, 1
    while head is not None:
        total += head.v * k
        k += 1
        head = head.after
    return total


def insert(node, key):
    if node is None:
        return Tree(key)
    if key < node.key:
        node.left = insert(node.left, key)
    else:
        node.right = insert(node.right, key)
    return node


def total(node, depth=0):
    if node is None:
        return 0.0
    return node.key / (1 + depth) + total(node.left, depth + 1) + total(node.right, depth + 1) ** 2


def searched(x):
    root = None
    for v in x:
        root = insert(root, v)
    return total(root)


@dataclass
class Entry:
    key: float
    left: Any = None
    right: Any = None


class Sorted:
    def __init__(self):
        self.root = None
        self.size = 0

    def insert(self, key):
        self.size += 1
        if self.root is None:
            self.root = Entry(key)
            return
        at = self.root
        while True:
            if key < at.key:
                if at.left is None:
                    at.left = Entry(key)
                    return
                at = at.left
            else:
                if at.right is None:
                    at.right = Entry(key)
                    return
                at = at.right

    def in_order(self):
        found, stack, at = [], [], self.root
        while stack or at is not None:
            while at is not None:
                stack.append(at)
                at = at.left
            at = stack.pop()
            found.append(at.key)
            at = at.right
        return found


def in_order(x):
    tree = Sorted()
    for v in x:
        tree.insert(v)
    return sum((i + 1) * v for i, v in enumerate(tree.in_order())) * tree.size


class Part:
    def __init__(self, v, parent=None):
        self.v = v
        self.parent = parent
        self.parts = []
        if parent is not None:
            parent.parts.append(self)

    def above(self):
        found, at = 0.0, self
        while at is not None:
            found += at.v
            at = at.parent
        return found


def parts_and_parents(x):
    nodes = [Part(x[0])]
    for i in range(1, len(x)):
        nodes.append(Part(x[i], nodes[(i - 1) // 2]))
    return sum(n.above() ** 2 for n in nodes) + sum(len(n.parts) * n.v for n in nodes)


class Queue:
    def __init__(self):
        self.first = self.last = None
        self.size = 0

    def push(self, v):
        node = Link(v)
        if self.first is None:
            self.first = self.last = node
        else:
            self.last.after = node
            self.last = node
        self.size += 1

    def pop(self):
        node = self.first
        self.first = node.after
        if self.first is None:
            self.last = None
        self.size -= 1
        return node.v

    def __iter__(self):
        at = self.first
        while at is not None:
            yield at.v
            at = at.after


def queued(x):
    queue, found = Queue(), 0.0
    for v in x:
        queue.push(v * v)
        if queue.size > 2:
            found += 2 * queue.pop()
    return found + sum(queue) + max(queue)


class Circle:
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3.0 * self.r**2


class Group:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def area(self):
        return self.a.area() + 0.5 * self.b.area()


def shapes(x):
    found = Circle(x[0])
    for v in x[1:]:
        found = Group(Circle(v), found)
    return found.area()


def same_ones(x):
    head, nodes = None, []
    for v in x:
        head = Link(v, head)
        nodes.append(head)
    found = 0.0
    for node in nodes:
        if node == head:
            found += node.v * 3
        if node is nodes[0]:
            found += node.v
        if node != head and node in nodes:
            found += 0.1 * node.v
    best = max(nodes, key=lambda n: n.v)
    best.v *= 2
    return found + sum(n.v for n in sorted(nodes, key=lambda n: n.v)[:3]) + best.v


def of_a_list(x):
    nodes = [Link(v * v) for v in x]
    last = nodes[-1]
    found = last.v if last is nodes[len(x) - 1] else 0.0
    found += x[1] ** 3 if nodes[0] in nodes[1:] else x[1]
    a, b = Link(x[2]), Link(2.0 * x[3])
    larger = a if a.v > b.v else b
    return found + (x[4] ** 2 if larger is a else x[4])


def copied(x):
    head = None
    for v in x:
        head = Link(v, head)
    other = copy.copy(head)
    other.v = 3.0 * head.v
    return head.v * other.v + (other.after.v if isinstance(other, Link) and hasattr(other, "after") else 0.0)


def earlier_ones(x):
    chosen = Link(1.0) if x[0] > 0.1 else Link(2.0)
    chosen.v = 3.0 * x[0]
    now = before = Link(0.0)
    found = 0.0
    for i in range(len(x)):
        before = now
        now = Link(x[i] * i)
        found += before.v * now.v
    return found + before.v + chosen.v


OUTSIDE = Link(0.1, Link(0.2, Link(0.3)))


def outside(x):
    found, at = 0.0, OUTSIDE
    while at is not None:
        found += at.v * x[0]
        at = at.after
        if found > 10 * x[1]:
            break
    return found


def scaled(x, n, a=0.5, b=1.0):
    if n == 0:
        return x * a + b * b
    return scaled(x * 0.9, n - 1, b=b * 1.1, a=a) + a


def defaults(x):
    return scaled(x[0], len(x)) + scaled(x[1], b=x[2], n=len(x)) + scaled(n=len(x), x=x[3], a=x[4])


def perhaps(x):
    known = Link(x[0]) if x[1] > 0.1 else None
    other = copy.deepcopy(known)
    other.v = 2.0 * x[1]
    return known.v * other.v * (1.0 if type(other) is Link else 3.0)


PROGRAMS = [
    linked, in_order, parts_and_parents, queued, same_ones, of_a_list, copied, earlier_ones, outside, defaults, perhaps,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [*PROGRAMS, searched, shapes])
def test_nodes(function, backend):
    step = np.cos(np.arange(X.size))
    slope = (function(X + 1e-6 * step) - function(X - 1e-6 * step)) / 2e-6
    assert dj.jit(function, backend=backend)(X) == pytest.approx(function(X), rel=1e-12)
    assert dj.grad(function, backend=backend)(X) @ step == pytest.approx(slope, rel=1e-7, abs=1e-8)
    if backend == "python" or function in PROGRAMS:
        assert dj.jvp(function, (X,), (step,), backend=backend)[1] == pytest.approx(slope, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("seed", [*range(8), 23, *(pytest.param(k, marks=pytest.mark.slow) for k in range(30, 90))])
def test_random_nodes(seed):
    assert check(seed, ("python",), Writer) == "right"


@pytest.mark.parametrize("seed", [3, 8, *(pytest.param(k, marks=pytest.mark.slow) for k in range(10, 20))])
def test_random_nodes_compiled(seed):
    assert check(seed, ("numba",), Writer) == "right"


def built(x):
    head = Link(x[0])
    for v in x:
        head = Link(v, head)
    return head


def cloned(x):
    head = Link(x[0])
    for v in x:
        head = Link(v, head)
    while head.after is not None:
        head = head.after
    return copy.deepcopy(head).v


def test_what_is_refused():
    with pytest.raises(dj.DiffjitError, match=r"DJ304|DJ319"):
        dj.jit(built)(X)
    with pytest.raises(dj.UnsupportedSyntax, match="deep copy"):
        dj.jit(cloned)(X)


def states(x, n):
    """Dicts of the last turn and the one before, which are nodes; one gets a key that the others have not."""
    state, last = {"u": x.copy(), "t": 0.0}, None
    for k in range(n):
        new = dict(state)
        new["u"] = state["u"] * (1.0 if last is None else last["u"][0])
        last, state = state, new
        if k == 2:
            state.setdefault("extra", x[1])
    return np.sum(state["u"]) + state["t"] + state.get("extra", 0.5) * x[0]


def test_a_node_with_another_key():
    program = dj.jit(states, backend="python")
    assert program(X, 2) == pytest.approx(states(X, 2), rel=1e-12)
    with pytest.raises(NotImplementedError, match=r"a dict with keys .* at one place and a dict with keys"):
        program(X, 4)
