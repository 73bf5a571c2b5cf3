"""Random programs over linked lists and trees that are made while they run, with several names for a node.

python -m tests.containers.nodes 0 100        seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np


class Link:
    def __init__(self, v, after=None):
        self.v = v
        self.after = after
        self.before = None
        self.seen = 0

    def scaled(self, c):
        self.seen += 1
        return c * self.v


class Tree:
    def __init__(self, key, weight=1.0):
        self.key = key
        self.weight = weight
        self.left = None
        self.right = None

    @property
    def leaf(self):
        return self.left is None and self.right is None


def insert(node, key):
    if node is None:
        return Tree(key)
    if key < node.key:
        node.left = insert(node.left, key)
    else:
        node.right = insert(node.right, key)
    return node


def depth(node):
    return 0 if node is None else 1 + max(depth(node.left), depth(node.right))


"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)`; lists and trees have at least one node."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.helpers: list[str] = []
        self.heads: list[str] = []
        self.roots: list[str] = []
        self.nodes: list[str] = []  # further names of links

    def value(self, *more: str) -> str:
        a, b = (self.pick(["x", "y", "z", "0.7", *more, *more]) for _ in range(2))
        ways = [f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.5 * {b}", f"np.tanh({a} * {b})", f"{a}", f"{a} ** 2"]
        return self.pick(ways)

    # Lists

    def new_list(self) -> None:
        head, i = self.name("h"), self.name("i")
        value = self.value(f"0.3 * {i}", f"np.sin(x + {i})")
        if self.draw.random() < 0.6:
            self.add(f"{head} = Link({self.value()})", f"for {i} in range(k + {self.pick((0, 1, 2))}):")
            self.add(f"{head} = Link({value}, {head})", depth=2)
        else:  # at the end
            end = self.name("e")
            self.add(f"{head} = {end} = Link({self.value()})", f"for {i} in range(k):")
            self.add(f"{end}.after = Link({value})", f"{end}.after.before = {end}", f"{end} = {end}.after", depth=2)
        self.heads.append(head)

    def walk(self) -> None:
        head, c = self.pick(self.heads), self.name("c")
        self.add(f"{c} = {head}", f"while {c} is not None:")
        ways = [
            f"z = z + {c}.v * {self.value()} * 0.2", f"{c}.v = {self.value(f'{c}.v')}", f"{c}.v *= {self.value()}",
            f"z = z + 0.1 * {c}.scaled({self.value()})", f"z += 0.1 * {c}.seen * {c}.v",
        ]  # fmt: skip
        self.add(*self.draw.sample(ways, self.pick((1, 2))), depth=2)
        inside = [
            f"{c}.v += 0.3 * {c}.after.v",
            f"z = z + {c}.after.v * {c}.v",
            f"{c}.after.v = {self.value(f'{c}.v')}",
        ]
        if self.draw.random() < 0.5:
            self.add(f"if {c}.after is not None:", depth=2)
            self.add(self.pick(inside), depth=3)
        if self.nodes and self.draw.random() < 0.4:
            self.add(f"if {c} is {self.pick(self.nodes)}:", depth=2)
            self.add(f"z = z * 0.7 + {c}.v", depth=3)
        self.add(f"{c} = {c}.after", depth=2)

    def turned(self) -> None:
        head = self.pick(self.heads)
        p, c, n = self.name("p"), self.name("c"), self.name("n")
        self.add(f"{p}, {c} = None, {head}", f"while {c} is not None:")
        self.add(f"{n} = {c}.after", f"{c}.after = {p}", f"{p} = {c}", f"{c} = {n}", depth=2)
        self.add(f"{head} = {p}")

    def chosen(self) -> None:
        """Another name for a node, by which it is changed."""
        head, b, c = self.pick(self.heads), self.name("b"), self.name("c")
        self.add(f"{b} = {head}", f"{c} = {head}.after", f"while {c} is not None:")
        self.add(f"if {c}.v {self.pick('<>')} {b}.v:", depth=2)
        self.add(f"{b} = {c}", depth=3)
        self.add(f"{c} = {c}.after", depth=2)
        self.add(self.pick([f"{b}.v = {self.value(f'{b}.v')}", f"{b}.v += {self.value()}", f"z = z + {b}.v"]))
        self.nodes.append(b)

    def dropped(self) -> None:
        head = self.pick(self.heads)
        self.add(f"if {head}.after is not None:")
        self.add(self.pick([f"{head}.after = {head}.after.after", f"{head} = {head}.after"]), depth=2)

    def listed(self) -> None:
        head, q, c = self.pick(self.heads), self.name("q"), self.name("c")
        self.add(f"{q} = []", f"{c} = {head}", f"while {c} is not None:")
        self.add(f"{q}.append({c})", f"{c} = {c}.after", depth=2)
        self.add(f"{q}[k % len({q})].v = {self.value()}", f"z = z + sum(n.v for n in {q}) * 0.3")
        if self.draw.random() < 0.5:
            self.add(f"{q}.reverse()", f"{q}[0].v *= {self.value()}")

    # Trees

    def new_tree(self) -> None:
        root, i = self.name("t"), self.name("i")
        self.add(f"{root} = Tree({self.value()})", f"for {i} in range(k + 1):")
        value = self.value(f"0.4 * {i}", f"np.sin(3.0 * x + {i})")
        if self.draw.random() < 0.5:
            self.add(f"{root} = insert({root}, {value})", depth=2)
        else:
            u, c = self.name("u"), self.name("c")
            self.add(f"{u}, {c} = {value}, {root}", "while True:", depth=2)
            self.add(f"if {u} < {c}.key:", depth=3)
            self.add(f"if {c}.left is None:", f"    {c}.left = Tree({u}, {self.value()})", "    break", depth=4)
            self.add(f"{c} = {c}.left", depth=4)
            self.add("else:", depth=3)
            self.add(f"if {c}.right is None:", f"    {c}.right = Tree({u})", "    break", depth=4)
            self.add(f"{c} = {c}.right", depth=4)
        self.roots.append(root)

    def total(self) -> None:
        f = self.name("total")
        ways = [
            "node.key * node.weight",
            "np.sin(node.key) * (1 + d)",
            "node.key / (1 + d)",
            "node.weight * node.key ** 2",
        ]
        more = self.pick(["", "    if node.leaf:\n        return 0.5 * node.key\n"])
        self.helpers.append(
            f"def {f}(node, d=0):\n    if node is None:\n        return 0.0\n{more}"
            f"    return {self.pick(ways)} + {f}(node.left, d + 1)"
            f" + {self.pick((0.5, 1.0))} * {f}(node.right, d + 1)\n\n"
        )
        self.add(f"z = z + 0.3 * {f}({self.pick(self.roots)})")

    def spread(self) -> None:
        """A stack of nodes, whose attributes are changed on the way."""
        s, n = self.name("s"), self.name("n")
        self.add(f"{s} = [{self.pick(self.roots)}]", f"while {s}:")
        ways = [f"{n}.weight = {self.value(f'{n}.key')}", f"z = z + 0.2 * {n}.key", f"{n}.weight *= {n}.key"]
        self.add(f"{n} = {s}.pop()", *self.draw.sample(ways, 2), depth=2)
        for side in ("left", "right"):
            self.add(f"if {n}.{side} is not None:", f"    {s}.append({n}.{side})", depth=2)

    def least(self) -> None:
        c = self.name("c")
        self.add(f"{c} = {self.pick(self.roots)}", f"while {c}.left is not None:")
        self.add(f"{c} = {c}.left", depth=2)
        self.add(f"{c}.weight = {self.value(f'{c}.key')}", f"z = z + {c}.key + 0.1 * depth({self.pick(self.roots)})")

    def text(self) -> str:
        self.new_list() if self.draw.random() < 0.6 else self.new_tree()
        for _ in range(self.draw.randint(2, 5)):
            ways = [self.new_list, self.new_tree]
            ways += [self.walk, self.walk, self.turned, self.chosen, self.dropped, self.listed] if self.heads else []
            ways += [self.total, self.total, self.spread, self.least] if self.roots else []
            self.pick(ways)()
        if self.heads:
            self.walk()
        if self.roots:
            self.total()
        body = "\n".join(self.lines)
        return f"{HEAD}{''.join(self.helpers)}def f(x, y, z, k):\n{body}\n    return z + 0.1 * x * y\n"


if __name__ == "__main__":
    main(Writer)
