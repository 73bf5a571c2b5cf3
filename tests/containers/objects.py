"""Random programs over objects of which branches, loops and lists choose one, made inside and outside.

python -m tests.containers.objects 0 100        seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np


class Cell:
    def __init__(self, level, rate=0.5):
        self.level = level
        self.rate = rate
        self.peer = None

    def grown(self, c):
        return self.level * (1.0 + self.rate * c)

    def moved(self, c):
        self.level = self.level + c
        return self


class Slow(Cell):
    def grown(self, c):
        return self.level + 0.1 * c


FEW = [Cell(0.2 + 0.3 * i, 0.1 * i) for i in range(3)]
MANY = [Cell(0.9 - 0.04 * i, 0.05 * i) for i in range(20)]
NAMED = {"a": Cell(0.4), "b": Slow(0.8, 0.2)}


def nearest(cells, v):
    found = cells[0]
    for cell in cells:
        if (cell.level - v) ** 2 < (found.level - v) ** 2:
            found = cell
    return found


"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)`; objects outside are read, those that it makes are changed, too."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.cells: list[str] = []  # names of objects that the program has made
        self.seen: list[str] = []  # names of some that may be from outside
        self.lists: list[str] = []

    def atom(self, *more: str) -> str:
        ways = ["x", "y", "z", "0.6", *more, *more]
        ways += [f"{c}.{self.pick(('level', 'rate'))}" for c in (*self.cells, *self.seen)]
        ways += [f"{c}.grown({self.pick('xyz')})" for c in (*self.cells, *self.seen)]
        ways += [f"{q}[{self.pick(('0', '-1', f'k % len({q})'))}].level" for q in self.lists]
        return self.pick(ways)

    def value(self, *more: str) -> str:
        a, b = self.atom(*more), self.atom(*more)
        return self.pick([f"{a} * {b}", f"{a} - 0.5 * {b}", f"np.sin({a}) + 0.2 * {b}", f"np.tanh({a})", a])

    def change(self, *, depth: int = 1, more: tuple[str, ...] = ()) -> None:
        ways = [f"z = z + 0.3 * {self.value(*more)}"]
        for c in self.cells:
            ways += [f"{c}.level = {self.value(*more)}", f"{c}.level += 0.3 * {self.atom(*more)}"]
            ways += [f"{c}.moved(0.2 * {self.atom(*more)})", f"{c}.rate *= {self.atom(*more)}"]
        ways += [f"{q}[k % len({q})].level += 0.2 * {self.atom(*more)}" for q in self.lists]
        self.add(self.pick(ways), depth=depth)

    def new_cell(self) -> None:
        c = self.name("c")
        self.add(f"{c} = {self.pick(('Cell', 'Cell', 'Slow'))}({self.value()})")
        self.cells.append(c)

    def new_list(self) -> None:
        q, i = self.name("q"), self.name("i")
        ways = [f"[Cell({self.value(f'0.2 * {i}')}) for {i} in range(k + 1)]"]
        ways += [f"[{c}, {self.pick(self.cells)}]" for c in self.cells]
        self.add(f"{q} = {self.pick(ways)}")
        self.lists.append(q)

    def chosen(self) -> None:
        """Another name for one of several."""
        c, q = self.name("c"), self.pick(self.lists) if self.lists else "FEW"
        own = [f"{self.pick(self.cells)} if {self.atom()} > {self.atom()} else {self.pick(self.cells)}"]
        own += (
            [f"{q}[k % len({q})]", f"max({q}, key=lambda n: n.level)", f"nearest({q}, {self.atom()})"]
            if self.lists
            else []
        )
        out = [f"FEW[k % 3] if {self.atom()} > 0.5 else MANY[k]", "MANY[k + 2]", f"nearest(MANY, {self.atom()})"]
        out += [f"nearest(FEW, {self.atom()})", f'NAMED["a" if {self.atom()} > 0.5 else "b"]']
        out += [f"min(MANY, key=lambda n: (n.level - {self.pick('xyz')}) ** 2)"]
        if self.cells and self.draw.random() < 0.6:
            self.add(f"{c} = {self.pick(own)}")
            self.cells.append(c)
        else:
            self.add(f"{c} = {self.pick(out)}")
            self.seen.append(c)

    def exchanged(self) -> None:
        a, b = self.pick(self.cells), self.pick(self.cells)
        if self.draw.random() < 0.5:
            self.add(f"if {self.atom()} > {self.atom()}:")
            self.add(f"{a}, {b} = {b}, {a}", depth=2)
        else:
            self.add(f"{a}, {b} = {b}, {a}")

    def before_and_now(self) -> None:
        b, n, i = self.name("b"), self.name("n"), self.name("i")
        first = self.pick([f"Cell({self.atom()})", *self.cells])
        self.add(f"{b} = {n} = {first}", f"for {i} in range(k):")
        self.add(f"{b} = {n}", f"{n} = Cell({self.value(f'{b}.level', f'0.2 * {i}')})", depth=2)
        self.add(f"z = z + 0.2 * {b}.level * {n}.level", depth=2)
        self.cells += [b, n]

    def loop(self) -> None:
        i = self.name("i")
        heads = [f"for {i} in range(k):", f"for {i} in range(3):"]
        q = self.pick([*self.lists, "FEW", "MANY"])
        c = self.name("c")
        over = self.draw.random() < 0.5
        self.add(f"for {c} in {q}:" if over else self.pick(heads))
        more = (f"{c}.level", f"{c}.grown(y)") if over else (f"0.2 * {i}",)
        if over and q in self.lists and self.draw.random() < 0.5:
            self.add(f"{c}.level = {self.value(*more)}", depth=2)
        for _ in range(self.pick((1, 2))):
            self.change(depth=2, more=more)
        if self.cells and self.draw.random() < 0.4:
            self.add(f"if {self.atom(*more)} > 0.7:", depth=2)
            made = [c] if over and q in self.lists else [f"Cell({self.atom(*more)})"]
            self.add(f"{self.pick(self.cells)} = {self.pick([*self.cells, *made])}", depth=3)

    def linked(self) -> None:
        a, b = self.pick(self.cells), self.pick(self.cells)
        self.add(f"{a}.peer = {b}", f"if {a}.peer is not None:")
        self.add(self.pick([f"z = z + 0.3 * {a}.peer.level", f"{a}.peer.level *= 0.8"]), depth=2)

    def compared(self) -> None:
        self.add(f"z = z * 0.9 if {self.pick(self.cells)} is {self.pick(self.cells)} else z + 0.1 * {self.atom()}")

    def text(self) -> str:
        self.new_cell()
        for _ in range(self.draw.randint(3, 8)):
            ways = [self.new_cell, self.new_list, self.chosen, self.chosen, self.exchanged, self.before_and_now]
            ways += [self.loop, self.loop, self.change, self.change, self.linked, self.compared]
            self.pick(ways)()
        terms = [f"np.tanh({c}.grown(0.3))" for c in (*self.cells, *self.seen)]
        terms += [f"np.tanh(sum(c.level for c in {q}))" for q in self.lists] + ["z"]
        self.add("return " + " + ".join(terms))
        return HEAD + "def f(x, y, z, k):\n" + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
