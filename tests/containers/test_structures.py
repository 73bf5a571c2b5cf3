"""Models of structures: joints and bars that hold one another, are picked into lists, and given what they lacked."""

# pyright: reportAttributeAccessIssue=false

import itertools

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError

X = np.array([0.7, 0.3])


class Joint:
    colour = 0.25

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.bars = []


class Bar:
    def __init__(self, first, second, area):
        self.first, self.second, self.area = first, second, area
        for joint in (first, second):
            joint.bars.append(self)
        if area > 0.5:
            self.strong = area - 0.5

    def length(self):
        return np.hypot(self.second.x - self.first.x, self.second.y - self.first.y)


class Frame:
    def __init__(self):
        self.joints, self.bars = {}, {}

    def joint(self, name, x, y):
        self.joints[name] = Joint(x, y)

    def bar(self, first, second, area):
        self.bars[first + second] = Bar(self.joints[first], self.joints[second], area)

    def solve(self):
        for number, joint in enumerate(self.joints.values()):
            joint.number = number
        stiffness = np.eye(len(self.joints))
        for bar in self.bars.values():
            i, j, k = bar.first.number, bar.second.number, bar.area / bar.length()
            stiffness[i, i] += k
            stiffness[j, j] += k
            stiffness[i, j] -= k
            stiffness[j, i] -= k
        moved = np.linalg.solve(stiffness, np.array([joint.y for joint in self.joints.values()]))
        for joint in self.joints.values():
            joint.moved = moved[joint.number]
        for bar in self.bars.values():
            bar.force = bar.area * (bar.second.moved - bar.first.moved)


def bridge(x):
    frame = Frame()
    for k, name in enumerate("abcde"):
        frame.joint(name, 1.0 * k, x[0] * (k % 2) + x[1] * k)
    for pair in ("ab", "bc", "cd", "de", "bd"):
        frame.bar(pair[0], pair[1], x[1] if pair[0] in "ab" else x[0])
    return frame


def strengthened(x):
    frame = bridge(x)
    frame.solve()
    weak = [bar for bar in frame.bars.values() if abs(bar.force) > 0.1]
    for bar in weak:
        bar.area *= 1.5
    frame.solve()
    return sum(bar.force**2 + bar.area for bar in weak) + frame.joints["c"].moved


def dropped_until_none_is_pressed(x):
    frame = bridge(x)
    dropped, again = [], True
    for bar in frame.bars.values():
        bar.active = True
    while again:
        frame.solve()
        again = False
        for bar in frame.bars.values():
            if bar.active and bar.force > 0.02:
                bar.active, again = False, True
                bar.area = 0.1 * bar.area
                dropped.append(bar)
    return sum(bar.force * bar.length() for bar in dropped) + len(dropped)


def walked_in_breadth(x):
    frame = bridge(x)
    queue = [frame.joints["a"]]
    far = {frame.joints["a"]: 0.0}
    while queue:
        joint = queue.pop(0)
        for bar in joint.bars:
            other = bar.second if bar.first is joint else bar.first
            if other not in far:
                far[other] = far[joint] + bar.length()
                queue.append(other)
    return sum(far[joint] * joint.y for joint in frame.joints.values())


def walked_in_depth(x):
    frame = bridge(x)
    stack = [frame.joints["c"]]
    while stack:
        joint = stack.pop()
        if hasattr(joint, "seen"):
            continue
        joint.seen = joint.y
        for bar in joint.bars:
            other = bar.second if bar.first is joint else bar.first
            if not hasattr(other, "seen"):
                other.way = getattr(joint, "way", 0.0) + bar.length()
                stack.append(other)
    return sum(joint.seen * joint.way for joint in frame.joints.values() if hasattr(joint, "way"))


def of_the_class_or_caught(x):
    frame = bridge(x)
    high, total = [], 0.0
    for joint in frame.joints.values():
        if joint.y > 0.8:
            joint.colour = joint.y**2
            high.append(joint)
    for joint in frame.joints.values():
        total += joint.colour
    for joint in high:
        for bar in joint.bars:
            try:
                total += bar.strong * joint.colour
            except AttributeError:
                total -= 3.0 * bar.area
    return total


def cut_where_others_end(x):
    frame = bridge(x)
    first = frame.joints["a"]
    found = [[first, 0.0], [frame.joints["e"], x[0] + 9.0]]
    for joint in frame.joints.values():
        if joint is not first and joint.y > 0.5:
            found.append([joint, 2.0 - joint.x * x[1]])  # noqa: PERF401 - as it is written
    found = sorted(found, key=lambda row: row[1])
    total = 0.0
    for joint, place in found:
        joint.colour = place
    for row, behind in zip(found[:-1], found[1:]):  # noqa: B905, RUF007 - as it is written
        total += (behind[1] - row[1]) * row[0].y
    return total + sum(joint.colour * joint.x for joint in frame.joints.values())


def cut_at_each_place_once(x):
    places = [0.0, 2.0, x[0], x[1], x[0]]
    for load in (x[1], x[0] * x[1]):
        places.append(load)  # noqa: PERF402 - as it is written
    once = list(set(places))
    once.sort()
    total = sum(k * (b - a) ** 2 for k, (a, b) in enumerate(itertools.pairwise(once)))
    return total + sorted(list(set(places)), reverse=True)[1]  # noqa: C414 - as it is written


class Node:
    def __init__(self, v):
        self.v = v
        self.out, self.into = [], []


class Edge:
    def __init__(self, a, b, w):
        self.a, self.b, self.w = a, b, w
        a.out.append(self)
        b.into.append(self)


def graph(x):
    nodes = [Node(x[0] + 0.3 * k * x[1]) for k in range(5)]
    edges = []
    for i, a in enumerate(nodes):
        for b in nodes[i + 1 :]:
            if a.v * b.v > 0.72:
                edges.append(Edge(a, b, np.sin(3.0 * a.v) * b.v))  # noqa: PERF401 - a list that grows
    return nodes, edges


def shortest_ways(x):
    nodes, _ = graph(x)
    for node in nodes:
        node.far, node.done = 1e9, False
    nodes[0].far = 0.0
    while True:
        best = None
        for node in nodes:
            if not node.done and (best is None or node.far < best.far):
                best = node
        if best is None:
            break
        best.done = True
        for edge in best.out:
            if best.far + abs(edge.w) < edge.b.far:
                edge.b.far, edge.b.before = best.far + abs(edge.w), best
    return sum(node.far * node.before.v for node in nodes if hasattr(node, "before"))


def trees_that_meet(x):
    nodes, edges = graph(x)
    for node in nodes:
        node.root = node

    def top(node):
        while node.root is not node:
            node = node.root
        return node

    total = 0.0
    for edge in sorted(edges, key=lambda e: abs(e.w)):
        a, b = top(edge.a), top(edge.b)
        if a is not b:
            a.root = b
            total += abs(edge.w) * (1 + a.v)
    return total


PROGRAMS = [
    shortest_ways, trees_that_meet,
    strengthened, dropped_until_none_is_pressed, walked_in_breadth, walked_in_depth, of_the_class_or_caught,
    cut_where_others_end, cut_at_each_place_once,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("function", PROGRAMS)
def test_structures(function, backend):
    value, slope = dj.value_and_grad(function, backend=backend)(X)
    assert value == pytest.approx(function(X), rel=1e-12)
    quotients = [(function(X + step) - function(X - step)) / 2e-6 for step in 1e-6 * np.eye(2)]
    assert slope == pytest.approx(quotients, rel=1e-6, abs=1e-7)


def test_an_attribute_that_a_node_lacks_raises():
    def read(x):
        frame = bridge(x)
        frame.joints["a"].seen = 1.0
        return sum(joint.seen for joint in [j for j in frame.joints.values() if j.y < 1.0])

    with pytest.raises(AttributeError, match="seen"):
        read(X)
    with pytest.raises((AttributeError, DiffjitError), match="seen"):
        dj.jit(read, backend="python")(X)


def in_pythons_order(x):
    return list({x[0], x[1]})[0]  # noqa: RUF015 - as it is written


def sorted_by_a_key(x):
    items = list({x[0], x[1]})
    items.sort(key=abs)
    return items[0]


def sorted_on_one_path(x):
    items = list({x[0], x[1]})
    if x[0] > 0.5:
        items.sort()
        items.append(0.0)
    items.sort()
    return items[0]


@pytest.mark.parametrize("function", [in_pythons_order, sorted_by_a_key, sorted_on_one_path])
def test_the_order_of_a_set_is_not_known(function):
    with pytest.raises(DiffjitError, match="in an order of Python's own"):
        dj.grad(function, backend="python")(X)


def test_all_attributes_of_what_may_lack_one():
    """Python has those that are there; this is refused when it is run, and no handler catches it."""

    def f(x):
        thing = Node(x[0])
        if x[1] > 0.0:
            thing.more = x[1]
        try:
            return thing.v if "more" not in vars(thing) else thing.v * thing.more
        except Exception:  # noqa: BLE001 - what it must not catch
            return 0.0 * x[0]

    assert dj.jit(f, backend="python")(X) == f(X)
    with pytest.raises(NotImplementedError, match="more"):
        dj.jit(f, backend="python")(-X)
