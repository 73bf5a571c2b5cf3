"""Random programs that go through tables: lists and tuples of numbers and of rows, inside and outside the function.

python -m tests.containers.rows 0 100         seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
from collections import namedtuple

import numpy as np

PAIRS = [(0.5, 0.2), (0.25, 1.3), (-0.4, 0.7), (0.1, 0.9), (0.8, -0.6), (0.3, 0.35)]
LISTS = [[0.5, 2, 0.1], [0.2, 1, 0.4], [0.7, 3, 0.3], [0.9, 2, -0.2], [0.4, 4, 0.6]]
WEIGHTS = (0.1, 0.4, -0.3, 0.8, 0.6, 0.2, 0.5)
TERMS = {"a": [0.3, 0.5, 0.1, -0.2, 0.7], "n": [1, 3, 2, 4, 2], "on": [True, False, True, True, False]}
GRID = [[0.1 * i - 0.2 * j for j in range(4)] for i in range(5)]
Term = namedtuple("Term", "size power")
NAMED = [Term(0.1, 2), Term(0.5, 3), Term(-0.2, 1), Term(0.3, 2), Term(0.6, 1)]


class Model:
    scale = [0.3, 0.6, 0.2, 0.9, 0.5]

    def __init__(self):
        self.table = [(0.4, 0.1), (0.2, 0.6), (0.5, -0.3), (0.7, 0.2), (0.3, 0.4)]
        self.sizes = {"one": 0.2, "two": 0.5, "three": 0.4, "four": 0.1, "five": 0.6}


MODEL = Model()


"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)`."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.own: list[str] = []  # lists of numbers of the function's own
        self.rows: list[str] = []  # and lists of lists of two numbers

    def value(self, *more: str) -> str:
        a, b = (self.pick(["x", "y", "0.7", *more, *more]) for _ in range(2))
        return self.pick([f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.5 * {b}", f"np.tanh({a} * {b})", f"{a}"])

    # Tables

    def numbers(self) -> str:
        return self.pick(["WEIGHTS", 'TERMS["a"]', "GRID[2]", "MODEL.scale", "[x, y, 0.5, x * y, z]", *self.own * 3])

    def pairs(self) -> str:
        return self.pick(["PAIRS", "MODEL.table", "[(x, y), (y, 0.5), (0.2, x)]", *self.rows * 2])

    def start(self, depth: int) -> None:
        """A list of the function's own."""
        if self.chance(0.6):
            q = self.name("q")
            ways = ["[x, y, 0.3 * x, 1.0, x + y]", "[0.1 * v for v in (x, y, x * y, 2.0, 3.0)]", "[x] * 6",
                    "list(WEIGHTS)", "[0.2, 0.4, 0.6, 0.3, 0.1]", "[v * y for v in WEIGHTS[2:]]"]  # fmt: skip
            self.line(depth, f"{q} = {self.pick(ways)}")
            self.own.append(q)
        else:
            q = self.name("r")
            ways = ["[[x, 0.5], [y, x], [0.3, y], [x * y, 1.0], [0.2, 0.4]]", "[list(p) for p in PAIRS]",
                    "[[v, x] for v in WEIGHTS]", "[[x, y]] * 5"]  # fmt: skip
            self.line(depth, f"{q} = {self.pick(ways)}")
            self.rows.append(q)

    def head_of_loop(self) -> tuple[str, list[str]]:
        """A `for`, and what it gives to compute with."""
        a, b, i = self.name("a"), self.name("b"), self.name("i")
        ways = [
            (f"for {a}, {b} in {self.pairs()}:", [a, b]),
            (f"for {a} in {self.numbers()}:", [a]),
            (f"for {i}, {a} in enumerate({self.numbers()}):", [a, f"0.1 * {i}"]),
            (f"for {i}, ({a}, {b}) in enumerate({self.pairs()}, 1):", [a, b, f"0.1 * {i}"]),
            (f"for {a}, {b} in zip({self.numbers()}, {self.numbers()}):", [a, b]),
            (f'for {a}, {b} in zip(TERMS["a"], TERMS["n"]):', [a, f"x ** {b}", f"0.1 * {b}"]),
            (f'for {a}, {b} in zip(TERMS["on"], WEIGHTS):', [b, f"({b} if {a} else y)"]),
            (f"for {a} in reversed({self.numbers()}):", [a]),
            (f"for {a}, {b} in {self.pairs()}[1:]:", [a, b]),
            (f"for {a}, {b} in {self.pairs()}[::-1]:", [a, b]),
            (f"for {a} in LISTS:", [f"{a}[0]", f"y ** {a}[1]", f"{a}[-1]"]),
            (f"for {a}, {i}, {b} in LISTS:", [a, b, f"x ** {i}", f"0.2 * {i}"]),
            (f"for {a} in NAMED:", [f"{a}.size", f"x ** {a}.power"]),
            (f"for {a} in MODEL.sizes.values():", [a]),
            (f"for {a}, {b} in MODEL.sizes.items():", [b]),
            (f"for {i} in range(len(PAIRS)):", [f"PAIRS[{i}][0]", f"PAIRS[-1 - {i}][1]", f"WEIGHTS[{i}]"]),
            (f"for {i} in range(5):", [f"WEIGHTS[{i} + 1]", f"LISTS[{i}][2]", f"GRID[{i}][1]", f"WEIGHTS[{i} - 2]"]),
            (f"for {i} in range(4, -1, -1):", [f"GRID[{i}][0]", f"NAMED[{i}].size", f"x ** TERMS['n'][{i}]"]),
            (f"for {i} in range(k):", [f"WEIGHTS[{i}]", f"0.1 * {i}"]),
            (f"for {a}, {b} in zip({self.numbers()}, np.array([x, y, 0.4, x * y])):", [a, b]),
            (f"for {a}, {b} in zip({self.numbers()}, [None] * 5):", [a, f"(0.5 if {b} is None else {b})"]),
        ]
        ways += [(f"for {i} in range(len({q})):", [f"{q}[{i}]", f"{q}[-1 - {i}]"]) for q in self.own]
        ways += [(f"for {a} in {q}:", [f"{a}[0]", f"{a}[1]"]) for q in self.rows]
        return self.pick(ways)

    # Statements

    def loop(self, depth: int, *around: str) -> None:
        head, given = self.head_of_loop()
        given += around
        self.line(depth, head)
        changed = len(self.lines)
        for _ in range(self.draw.randint(1, 2)):
            self.inside(depth + 1, given)
        if len(self.lines) == changed or self.chance(0.7):
            self.line(depth + 1, f"z = z + 0.3 * {self.value(*given)}")
        if self.chance(0.2):
            self.line(depth + 1, f"if {self.value(*given)} > 0.9:")
            self.line(depth + 2, self.pick(("break", "continue", "break", "z = 0.5 * z", "return z * x + y")))
            self.line(depth + 1, f"z = z + 0.1 * {self.value(*given)}")
        if depth == 1 and self.chance(0.2):
            self.line(1, f"z = z * 0.9 + 0.2 * {given[0] if '[' not in given[0] else 'x'}")  # the last one of the loop

    def inside(self, depth: int, given: list[str]) -> None:
        ways = [lambda: self.line(depth, f"y = 0.9 * y + 0.1 * {self.value(*given)}")] * 3
        if depth < 3:
            ways += [lambda: self.loop(depth, *given), lambda: self.branch(depth, given)]
        for q in self.own:
            ways += [lambda q=q: self.line(depth, f"{q}[{self.pick((0, -1, 1))}] = {self.value(*given)}")]
            ways += [lambda q=q: self.line(depth, f"{q} = [v * 0.5 for v in {q}]")]
            ways += [lambda q=q: self.line(depth, f"if {self.value(*given)} > 0.5: {q}[-1] = {self.value(*given)}")]
            if self.chance(0.2):
                ways += [lambda q=q: self.line(depth, f"{q} = {q} + [{self.value(*given)}]")]
        for q in self.rows:
            ways += [lambda q=q: self.line(depth, f"{q}[0][1] = {self.value(*given)}")]
        for a in given:
            if a.endswith("[0]") and "[" not in a[:-3] and a[0] == "a" and self.chance(0.5):
                ways += [lambda a=a: self.line(depth, f"{a} = {self.value(*given)}")]  # the row that the loop is at
        ways += [lambda: self.caught(depth, given)]
        ways += [lambda: self.line(depth, f"z = z + 0.1 * sum(u * v for u, v in {self.pairs()})")]
        self.pick(ways)()

    def branch(self, depth: int, given: list[str]) -> None:
        self.line(depth, f"if {self.value(*given)} > {self.value(*given)}:")
        self.inside(depth + 1, given)
        self.line(depth + 1, f"z = z + 0.2 * {self.value(*given)}")

    def caught(self, depth: int, given: list[str]) -> None:
        i = next((g.partition("[")[2].partition("]")[0] for g in given if "WEIGHTS[i" in g), "6")
        self.line(depth, "try:")
        self.line(depth + 1, f"z = z + 0.2 * WEIGHTS[{i} + 2] * {self.value(*given)}")
        self.line(depth, "except IndexError:")
        self.line(depth + 1, f"z = z - 0.1 * {self.value(*given)}")

    def text(self) -> str:
        self.line(0, "def f(x, y, z, k):")
        for _ in range(self.draw.randint(0, 2)):
            self.start(1)
        for _ in range(self.draw.randint(2, 4)):
            self.loop(1)
            if self.chance(0.3):
                self.start(1)
        ends = [f"np.tanh(sum({q}))" for q in self.own] + [f"np.tanh(sum(p[0] * p[1] for p in {q}))" for q in self.rows]
        self.line(1, "return " + " + ".join(["np.tanh(z)", "0.1 * x * y", *ends]))
        return HEAD + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
