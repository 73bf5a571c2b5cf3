"""Random programs that take items of generators and iterators here and there: `next`, `send`, loops that go on.

python -m tests.containers.turns 0 100        seeds: as text and compiled, each derivative against exact slopes
"""

from __future__ import annotations

from tests.containers.programs import main
from tests.containers.writing import Lines

HEAD = """
import itertools

import numpy as np


"""


class Writer(Lines):
    """The text of one function `f(x, y, z, k)` and of the generators that it takes items of."""

    head = HEAD

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.generators: list[tuple[str, bool, bool]] = []  # name, whether it ends, whether it is given values
        self.texts: list[str] = []
        self.live: list[tuple[str, bool, bool]] = []  # variables that hold iterators of numbers

    def value(self, *more: str) -> str:
        a, b = (self.pick(["a", "b", "0.7", *more, *more]) for _ in range(2))
        return self.pick([f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.5 * {b}", f"np.tanh({a} * {b})", f"0.9 * {a}"])

    # Generators

    def generator(self) -> None:
        """A generator function of two numbers and an int."""
        name = self.name("gen")
        ends, given = self.chance(0.6), self.chance(0.3)
        outer, self.lines = self.lines, []
        self.add(f"def {name}(a, b, n):", depth=0)
        if self.chance(0.5):
            self.add(f"c = {self.value()}")
        else:
            self.add("c = a")
        kinds = [self.plain, self.loop, self.loop, self.nested, self.chosen, self.delegated, self.early]
        for _ in range(self.draw.randint(1, 3)):
            self.pick(kinds)(1, given)
        if not ends:
            self.add("while True:")
            self.add(f"a = {self.value('c')}", depth=2)
            self.pick([self.plain, self.chosen])(2, given)
            self.plain(2, given)
        elif self.chance(0.3):
            self.add(f"return {self.value('c')}")
        self.texts.append("\n".join(self.lines) + "\n\n\n")
        self.lines = outer
        self.generators.append((name, ends, given))

    def out(self, depth: int, given: bool, *more: str) -> None:
        """A yield."""
        value = self.value("c", *more)
        if given and self.chance(0.7):
            self.add(
                f"got = yield {value}", "if got is not None:", f"    c = c + 0.3 * got * {self.value()}", depth=depth
            )
        else:
            self.add(f"yield {value}", depth=depth)

    def plain(self, depth: int, given: bool) -> None:
        self.out(depth, given)
        self.add(f"c = {self.value('c')}", depth=depth)

    def loop(self, depth: int, given: bool) -> None:
        i = self.name("i")
        head = self.pick([
            f"for {i} in range(n):", f"for {i} in range(3):", f"for {i} in range(n, 0, -1):",
            f"for {i} in [a, b, c]:", f"for {i} in np.array([0.2, 0.5, 0.9]):",
            f"for {i}, w in enumerate((a, b)):", f"for {i}, w in zip(range(n), itertools.count(1)):",
            f"for {i} in (u * b for u in [a, c]):", f"for {i} in map(np.sin, [a, b, c]):",
        ])  # fmt: skip
        self.add(head, depth=depth)
        if self.chance(0.4):
            self.add(f"a = {self.value('c', f'0.3 * {i}')}", depth=depth + 1)
        if self.chance(0.3):
            self.add(f"if {self.value('c')} > 0.4:", f"    {self.pick(('continue', 'break'))}", depth=depth + 1)
        self.out(depth + 1, given, f"0.1 * {i}")
        if self.chance(0.5):
            self.add(f"c = {self.value('c')}", depth=depth + 1)
        if self.chance(0.2):
            self.add("else:", depth=depth)
            self.plain(depth + 1, given)

    def nested(self, depth: int, given: bool) -> None:
        i, j = self.name("i"), self.name("j")
        self.add(f"for {i} in range({self.pick(('n', '2'))}):", depth=depth)
        self.add(f"    for {j} in range({self.pick(('n', i, '2'))}):", depth=depth)
        self.out(depth + 2, given, f"0.2 * {j}")
        if self.chance(0.5):
            self.add(f"if {self.value('c')} > 0.8:", "    break", depth=depth + 2)
        self.add(f"c = {self.value('c', f'0.1 * {i}')}", depth=depth + 1)

    def chosen(self, depth: int, given: bool) -> None:
        self.add(f"if {self.value('c')} > {self.value()}:", depth=depth)
        self.plain(depth + 1, given)
        if self.chance(0.6):
            self.add("else:", depth=depth)
            self.plain(depth + 1, given)

    def early(self, depth: int, given: bool) -> None:
        self.add(f"if {self.value('c')} > 1.4:", f"    return {self.pick(('', 'c'))}", depth=depth)
        self.plain(depth, given)

    def delegated(self, depth: int, given: bool) -> None:
        ended = [g for g in self.generators if g[1]]
        if not ended or self.chance(0.4):
            self.add(
                f"yield from {self.pick(('[a, c]', '(0.4, b)', '(v * a for v in (b, c))', 'np.array([0.3, 0.8])'))}",
                depth=depth,
            )
        else:
            name, _, _ = self.pick(ended)
            self.add(f"back = yield from {name}({self.value()}, c, {self.pick(('n', '2'))})", depth=depth)
            self.add("if back is not None:", "    c = c + 0.2 * back", depth=depth)

    # The program

    def number(self, *more: str) -> str:
        a, b = (self.pick(["x", "y", "z", "0.7", *more, *more]) for _ in range(2))
        return self.pick([f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.5 * {b}", f"{a}"])

    def start(self) -> None:
        g = self.name("g")
        name, ends, given = self.pick(self.generators)
        call = f"{name}({self.number()}, {self.number()}, {self.pick(('k', '2', '3'))})"
        ways: list[tuple[str, bool, bool]] = [(call, ends, given)] * 5
        ways += [
            ("itertools.cycle([x, 0.5, y])", False, False),
            ("(0.1 * v for v in itertools.count(1))", False, False),
        ]
        ways += [(f"map(np.sin, {call})", ends, False), ("iter([x, y, z, x * y])", True, False)]
        ways += [(f"(v * {self.number()} for v in {call})", ends, False)]
        ways += [(f"(p * q for p, q in zip({call}, itertools.count(1)))", ends, False)]
        ways += [(f"itertools.chain([x, y], {call})", ends, False), (f"itertools.islice({call}, 1, 3)", True, False)]
        if ends:
            ways += [(f"filter(lambda v: v > 0.3, {call})", True, False)]
        text, ends, given = self.pick(ways)
        self.add(f"{g} = {text}")
        self.live.append((g, ends, given))

    def take(self, depth: int = 1) -> None:
        g, ends, given = self.pick(self.live)
        u = self.name("u")
        if given and self.chance(0.5):
            if ends:
                self.add("try:", f"    next({g}, None)", f"    {u} = {g}.send({self.number()})", depth=depth)
                self.add("except StopIteration:", f"    {u} = 0.25", depth=depth)
            else:
                self.add(f"next({g})", f"{u} = {g}.send({self.number()})", depth=depth)
        elif ends:
            self.add(f"{u} = next({g}, {self.pick(('0.5', 'x'))})", depth=depth)
        else:
            self.add(f"{u} = next({g})", depth=depth)
        self.add(f"z = z + {self.pick(('0.3', 'y', '0.5 * x'))} * {u}", depth=depth)

    def in_loop(self) -> None:
        i = self.name("i")
        self.add(f"for {i} in range({self.pick(('k', '3', 'k + 1'))}):")
        if self.chance(0.3):
            self.add(f"if {self.number()} > 0.4:", depth=2)
            self.take(3)
        else:
            self.take(2)
        if self.chance(0.4):
            self.take(2)

    def until(self) -> None:
        g, ends, _ = self.pick(self.live)
        v = self.name("v")
        if ends:
            self.add(
                f"for {v} in {g}:", f"    z = z + 0.2 * {v} * x", f"    if {self.number(v)} > 0.6:", "        break"
            )
        else:
            self.add(f"{v} = next({g})", f"m{v} = 0", f"while {v} < 1.1 and m{v} < 4:",
                     f"    z, m{v} = z + 0.2 * {v}, m{v} + 1", f"    {v} = next({g})")  # fmt: skip

    def caught(self) -> None:
        ended = [g for g in self.live if g[1]]
        if ended:
            g = self.pick(ended)[0]
            self.add("try:", "    while True:", f"        z = z + 0.1 * next({g}) * {self.number()}")
            self.add("except StopIteration:", "    z = z * 1.1")

    def side_by_side(self) -> None:
        g, h = self.pick(self.live)[0], self.pick(self.live)[0]
        p, q = self.name("p"), self.name("q")
        if g != h:
            parts = self.pick([f"range(k), {g}, {h}", f"{g}, range(3), {h}", f"[x, y], {g}, {h}"])
            names = {"r": "r", "g": f"{p}, i_, {q}"}.get(parts[0], f"i_, {p}, {q}")
            names = f"{p}, i_, {q}" if parts.startswith(g) else f"i_, {p}, {q}"
            self.add(f"for {names} in zip({parts}):", f"    z = z + 0.3 * {p} * {q}")

    def again(self) -> None:
        """An iterator that is made anew in a loop, when it has ended."""
        ended = [g for g in self.generators if g[1]]
        if ended:
            name = self.pick(ended)[0]
            g, i, v = self.name("g"), self.name("i"), self.name("v")
            call = f"{name}({self.number()}, {self.number()}, k)"
            self.add(f"{g} = {call}", f"for {i} in range(k + 2):", f"    {v} = next({g}, None)", f"    if {v} is None:",
                     f"        {g} = {call}", "    else:", f"        z = z + 0.2 * {v} * x")  # fmt: skip

    def text(self) -> str:
        for _ in range(self.draw.randint(1, 3)):
            self.generator()
        self.start()
        ways = [
            self.start,
            self.take,
            self.take,
            self.in_loop,
            self.in_loop,
            self.until,
            self.caught,
            self.side_by_side,
        ]
        for _ in range(self.draw.randint(3, 6)):
            self.pick([*ways, self.again])()
        self.take()
        body = "\n".join(self.lines)
        return f"{HEAD}{''.join(self.texts)}def f(x, y, z, k):\n{body}\n    return np.tanh(z) + 0.1 * x * y\n"


if __name__ == "__main__":
    main(Writer)
