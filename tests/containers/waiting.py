"""Random programs over lists that have names and are items of other lists, too: stacks, pools, swaps, chosen ones.

python -m tests.containers.waiting 0 100        seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np


class Holder:
    def __init__(self, items):
        self.items = items
        self.weight = 1.0

    def put(self, v):
        self.items.append(v)


def put(items, v):
    items.append(v)
    items[0] += v


"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)`: lists `a` and `b`, a list `stack` of lists, objects that hold some."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.lists = ["a", "b"]
        self.holders: list[str] = []
        self.depth = 1

    # Expressions

    def number(self, inner: int = 0) -> str:
        ways = ["x", "y", "z", "0.5", "1.25", f"{self.pick(self.lists)}[{self.pick(['0', '-1'])}]", "stack[-1][0]"]
        ways += [f"sum({self.pick(self.lists)})"]
        if inner < 2:
            ways += [f"({self.number(inner + 1)} {self.pick(['+', '*'])} {self.number(inner + 1)})"] * 2
        return self.pick([*ways, *(f"{o}.weight" for o in self.holders)])

    def one(self) -> str:
        """A list, by one of the ways to it."""
        return self.pick([*self.lists, "stack[0]", "stack[-1]", *(f"{o}.items" for o in self.holders)])

    # Statements

    def say(self, *lines: str) -> None:
        self.add(*lines, depth=self.depth)

    def block(self, head: str, *first: str) -> None:
        """Statements of their own; names that they bind are not used behind it."""
        known, holders = list(self.lists), list(self.holders)
        self.say(head)
        self.depth += 1
        for line in first:
            self.say(line)
            self.lists += [line.split()[0]] if ".pop(" in line else []
        self.change()
        for _ in range(self.draw.randint(0, 2)):
            self.statement()
        self.depth -= 1
        self.lists, self.holders = known, holders

    def change(self) -> None:
        q, v = self.one(), self.number()
        ways = [f"{q}.append({v})", f"{q}[0] = {v}", f"{q}[-1] *= {v}", f"{q}.insert(0, {v})", f"put({q}, {v})"]
        self.say(self.pick([*ways, f"{q}.reverse()", f"{q}.extend({self.pick(self.lists)}[:2])"]))

    def bind(self) -> None:
        q, name = self.one(), self.pick([*self.lists, "c", "d"])
        self.say(f"{name} = " + self.pick([q, q, q, f"{q}[:]", f"{q} + [{self.number()}]", f"[{self.number()}]"]))
        self.lists += [name] if name not in self.lists else []

    def move(self) -> None:
        ways = [f"stack.append({self.one()})", f"stack.append([{self.number()}, {self.number()}])"]
        ways += ["stack[0], stack[-1] = stack[-1], stack[0]", "stack.reverse()", f"stack.insert(0, {self.one()})"]
        self.say(self.pick([*ways, f"stack[0] = {self.one()}"]))

    def hold(self) -> None:
        if self.depth == 1 and (not self.holders or self.chance(0.3)):
            name = self.name("holder")
            self.say(f"{name} = Holder({self.one()})")
            self.holders.append(name)
        elif self.holders:
            o = self.pick(self.holders)
            ways = [f"{o}.put({self.number()})", f"{o}.weight *= {self.number()}", f"{o}.items = {self.one()}"]
            self.say(self.pick([*ways, f"{o} = {self.pick(self.holders)}"]))

    def branch(self) -> None:
        if self.depth < 3:
            self.block(f"if {self.number()} > {self.pick(['0.8', '1.5', self.number()])}:")
            if self.chance(0.5):
                self.block("else:")

    def loop(self) -> None:
        if self.depth < 3:
            head = f"for {self.name('i')} in range({self.pick(['1', '2', 'k'])}):"
            self.block(self.pick([head, f"for v in ({self.number()}, {self.number()}):"]))

    def work(self) -> None:
        """A list of lists that are taken off it, one after another."""
        if self.depth < 3:
            n = self.name("n")
            self.say(f"{n} = 0")
            self.block(
                f"while stack and {n} < {self.pick(['1', '2', 'k'])}:", f"{n} += 1", f"{self.name('q')} = stack.pop()"
            )
            self.say("if not stack:", "    stack.append([1.0])")

    def statement(self) -> None:
        ways = [self.change, self.change, self.bind, self.move, self.move, self.hold, self.branch, self.loop, self.work]
        self.pick(ways)()

    def text(self) -> str:
        self.say("a = [x]", f"b = [y, {self.pick(['1.0', 'z'])}]")
        self.say(f"stack = [{self.pick(['a', 'a, b', '[z]', 'a, [z, 1.0]', 'a, a'])}]")
        for _ in range(self.draw.randint(4, 9)):
            self.statement()
        self.say("total = z")
        for q in ("a", "b"):
            self.say(f"for i, v in enumerate({q}):", "    total += np.tanh(v) * (i + 1)")
        self.say("for q in stack:", "    for i, v in enumerate(q):", "        total += np.tanh(v) * (i + 2)")
        self.add(*(f"total += np.tanh({o}.weight) + np.tanh({o}.items[0])" for o in self.holders))
        self.say("return total")
        return HEAD + "def f(x, y, z, k):\n" + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
