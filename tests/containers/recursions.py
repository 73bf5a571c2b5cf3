"""Random recursive functions over trees that they read, change and extend, with lists and numbers outside.

python -m tests.containers.recursions 0 100        seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np


class Node:
    def __init__(self, key, weight=1.0):
        self.key = key
        self.weight = weight
        self.kids = []
        self.notes = [key]
        self.other = None

    def mass(self):
        return self.weight * self.key

    def total(self):
        t = self.mass()
        for kid in self.kids:
            t += 0.5 * kid.total()
        return t


def grow(depth, v):
    node = Node(v)
    for j in range(depth):
        node.kids.append(grow(depth - 1, 0.6 * v + 0.2 * j))
    return node


"""
DEEPEST = 5


class Writer(Lines):
    """The text of one function `f(x, y, z, k)` with recursive functions in it; all of them stop at a depth."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.names: list[str] = []  # of the recursive functions that give numbers
        self.choosers: list[str] = []
        self.pairs: list[str] = []

    def value(self, *more: str) -> str:
        a, b = (self.pick(["x", "y", "0.7", *more, *more]) for _ in range(2))
        ways = [f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.5 * {b}", f"np.tanh({a} * {b})", f"{a}", f"{a} ** 2"]
        return self.pick(ways)

    def inner(self) -> str:
        return self.value("n.key", "n.weight", "p", "t", "t")

    def test(self) -> str:
        ways = [f"{self.inner()} {self.pick('<>')} {self.inner()}", "len(n.kids) > 1", "n.other is None", "d % 2 == 0"]
        return self.pick([*ways, "len(log) % 3 == 0", "count < 4", "n.kids and n.kids[0].key > p"])

    def called(self, child: str, name: str | None = None) -> str:
        return f"{name or self.pick(self.names)}({child}, d + 1, {self.pick(['0.8 * p', 'p', 't', self.inner()])})"

    # What a recursive function does

    def looped(self, depth: int) -> None:
        c, i = self.name("c"), self.name("i")
        call = self.called(c)
        shape = self.draw.random()
        if shape < 0.4:
            self.add(f"for {c} in n.kids:", depth=depth)
        elif shape < 0.6:
            self.add(f"for {i}, {c} in enumerate(n.kids):", depth=depth)
            call = f"(1 + {i}) * {call}"
        elif shape < 0.8:
            self.add(f"for {i} in range(len(n.kids)):", f"    {c} = n.kids[{i}]", depth=depth)
        else:
            self.add(f"{i} = 0", f"while {i} < len(n.kids):", f"    {c} = n.kids[{i}]", f"    {i} += 1", depth=depth)
        if self.draw.random() < 0.4:
            leave = self.pick(["continue", "break", f"return t + {self.inner()}"])
            self.add(f"    if {self.test()}:", f"        {leave}", depth=depth)
        ways = [f"t += 0.3 * {call}", f"t = np.sin(t) + 0.2 * {call}", f"{c}.key = 0.5 * {call}"]
        ways += [f"t = 0.3 * {self.called(c)} - t * {call}", f"log.append({call})", f"t += 0.1 * len(n.notes) * {call}"]
        self.add(f"    {self.pick(ways)}", depth=depth)
        if self.draw.random() < 0.2:  # the list that it goes through grows meanwhile
            self.add("    if d < 2 and len(n.kids) < 4:", f"        n.kids.append(Node({self.inner()}))", depth=depth)
        if self.draw.random() < 0.4:
            self.add(
                f"    if {self.called(c)} {self.pick('<>')} {self.inner()}:", f"        t = {self.inner()}", depth=depth
            )

    def summed(self, depth: int) -> None:
        c = self.name("c")
        ways = [f"t += 0.2 * sum({self.called(c)} for {c} in n.kids)"]
        ways += [f"if n.kids:\n{'    ' * (depth + 1)}t = max({self.called(c)} for {c} in n.kids)"]
        self.add(self.pick(ways), depth=depth)

    def through_log(self, depth: int) -> None:
        """A loop over a list outside that its calls may let grow."""
        v = self.name("v")
        self.add(f"for {v} in log:", "    if len(log) > 5 or not n.kids:", "        break", depth=depth)
        self.add(f"    t += 0.05 * {v} * {self.called('n.kids[0]')}", depth=depth)

    def listed(self, depth: int) -> None:
        """Lists of its own that outlive its calls."""
        c, items, i = self.name("c"), self.name("items"), self.name("i")
        shape = self.draw.random()
        if shape < 0.5:
            test = self.pick(["", f" if {c}.key > 0.1 * p"])
            self.add(f"{items} = [{self.called(c)} for {c} in n.kids{test}]", depth=depth)
        else:
            self.add(f"{items} = [{self.inner()}]", f"for {c} in n.kids:", depth=depth)
            self.add(f"    {items}.append({self.called(c)} + {items}[-1])", depth=depth)
        if self.draw.random() < 0.4:
            self.add(f"n.notes = {items}", f"{items}.append({self.inner()})", depth=depth)
        ways = [
            f"t += 0.1 * sum({items})",
            f"for {i}, v in enumerate({items}):\n{'    ' * (depth + 1)}t += 0.1 * {i} * v",
        ]
        ways += [f"if {items}:\n{'    ' * (depth + 1)}t = 0.5 * t + {items}[len({items}) // 2]", f"log.extend({items})"]
        self.add(self.pick(ways), depth=depth)

    def branched(self, depth: int) -> None:
        self.add(f"if {self.test()}:", depth=depth)
        if self.draw.random() < 0.5:
            self.add("if n.kids:", f"    t = t + 0.5 * {self.called('n.kids[-1]')}", depth=depth + 1)
        else:
            self.add(f"t = {self.inner()}", depth=depth + 1)
        if self.draw.random() < 0.5:
            self.add("else:", depth=depth)
            self.changed(depth + 1)

    def changed(self, depth: int) -> None:
        ways = [
            f"n.key = {self.inner()}", f"n.weight *= {self.inner()}", f"n.notes.append({self.inner()})",
            f"log.append({self.inner()})", "count += 1", f"best = max(best, {self.inner()})", "t += 0.1 * sum(n.notes)",
            "t += 0.1 * log[-1] if log else 0.2 * x", "t = t + 0.1 * count", f"n.notes[0] = {self.inner()}",
            "t += 0.2 * n.other.key if n.other is not None else y * 0.1", "t = 0.9 * t + 0.1 * best",
        ]  # fmt: skip
        ways += [f"if d < 3:\n{'    ' * (depth + 1)}n.kids.append(Node({self.inner()}))"]
        ways += [f"if len(n.kids) == 1:\n{'    ' * (depth + 1)}n.kids = [Node({self.inner()}), n.kids[0]]"]
        ways += [f"if n.kids:\n{'    ' * (depth + 1)}n.other = n.kids[{self.pick((0, -1))}]"]
        ways += [f"if len(n.kids) > 1:\n{'    ' * (depth + 1)}n.kids.reverse()", "n.notes = [t, 0.5 * t]"]
        self.add(*self.draw.sample(ways, self.pick((1, 1, 2))), depth=depth)

    def function(self, name: str) -> None:
        """A function that gives a number."""
        self.add(f"def {name}(n, d, p):", "    nonlocal count, best", f"    if d > {DEEPEST}:", depth=1)
        self.add("        return 0.1 * n.key", f"    t = {self.value('n.key', 'n.weight', 'p')}", depth=1)
        ways = [self.looped, self.looped, self.branched, self.changed, self.changed, self.summed, self.listed]
        ways += [self.through_log]
        for _ in range(self.pick((2, 3, 3, 4))):
            self.pick(ways)(2)
        self.add(f"return {self.pick(['t', 't', 't + 0.1 * n.key', 't * n.weight'])}", depth=2)

    def chooser(self) -> None:
        """A function that gives one of the nodes."""
        f = self.name("choose")
        self.add(f"def {f}(n, d):", "    found = n", "    for c in n.kids:", f"        if d < {DEEPEST}:", depth=1)
        self.add(f"            m = {f}(c, d + 1)", f"            if m.key {self.pick('<>')} found.key:", depth=1)
        self.add("                found = m", "    return found", depth=1)
        self.choosers.append(f)

    def pair(self) -> None:
        """A function that gives two numbers."""
        f = self.name("both")
        self.add(
            f"def {f}(n, d):", f"    a, b = n.key, {self.value('n.weight', 'n.key')}", "    for c in n.kids:", depth=1
        )
        self.add(f"        if d < {DEEPEST}:", f"            u, v = {f}(c, d + 1)", "            a += 0.5 * u", depth=1)
        self.add(f"            b = {self.pick(['b * v', 'b + 0.3 * v', 'max(b, v)'])}", "    return a, b", depth=1)
        self.pairs.append(f)

    def text(self) -> str:
        self.add(
            f"root = grow({self.pick(['k', 'k - 1', '2'])}, {self.value('z')})", "log = []", "count = 0", "best = x"
        )
        self.names = [self.name("r") for _ in range(self.pick((1, 1, 2)))]
        for name in self.names:
            self.function(name)
        if self.draw.random() < 0.4:
            self.chooser()
        if self.draw.random() < 0.3:
            self.pair()
        for _ in range(self.pick((1, 2, 3))):
            self.add(f"z = z + 0.1 * {self.pick(self.names)}(root, {self.pick((0, 2, 3))}, {self.value('z')})")
            if self.choosers:
                f = self.pick(self.choosers)
                self.add(
                    f"{f}(root, 0).key {self.pick(['*= 0.7', '= x', '+= z * 0.1'])}", f"z += 0.1 * {f}(root, 1).weight"
                )
            if self.pairs:
                self.add(f"u, v = {self.pick(self.pairs)}(root, 0)", "z = z + 0.05 * u - 0.02 * v")
        ends = ["sum(log)", "best", "count", "root.total()", "sum(root.notes)", "len(root.kids)"]
        self.add(f"z = z + 0.1 * {' + 0.1 * '.join(self.draw.sample(ends, 3))}")
        body = "\n".join(self.lines)
        return f"{HEAD}def f(x, y, z, k):\n{body}\n    return z + 0.1 * x * y\n"


if __name__ == "__main__":
    main(Writer)
