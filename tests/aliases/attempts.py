"""Random programs whose statements fail midway, in `try`s and loops: what had been written stays, once.

python -m tests.aliases.attempts 0 300 python        seeds, and backends: each derivative against exact slopes
"""

from __future__ import annotations

from tests.aliases.check import main
from tests.containers.writing import Lines

HEAD = """
import numpy as np


class Stop(Exception):
    def __init__(self, place, size=0.5):
        super().__init__(f"at {place}")
        self.place, self.size = place, size


class Box:
    def __init__(self, total):
        self.total, self.count, self.seen = total, 0, []

    def bump(self, v, most=3):
        self.count += 1
        self.seen.append(v)
        if self.count > most:
            raise Stop(self.count)
        self.total = self.total * 0.5 + v
        return self.total

    def __getitem__(self, k):
        return self.seen[k]

    def __setitem__(self, k, v):
        self.count += 1
        self.seen[k] = v
        self.total = self.total + 0.1 * v


def taken(q, v):
    v[0] += 0.1
    if len(q) < 2:
        raise Stop(len(q), v[0])
    v[0] *= 0.9
    return q.pop() * v[-1]


def pushed(q, v):
    q.append(v)
    return v * len(q)


def halves(v, n):
    for i in range(n):
        v[i] = 0.5 * v[i] + 0.2
        yield v[i]


def safe(q, i):
    try:
        return q[i]
    except IndexError:
        return 0.3
    finally:
        q.append(0.1)


"""

ERRORS = (
    "IndexError",
    "KeyError",
    "ZeroDivisionError",
    "ValueError",
    "Stop",
    "LookupError",
    "ArithmeticError",
    *["Exception"] * 4,
)


class Writer(Lines):
    """The text of a function `f(a, b, x, k)` of arrays of 5 and 3 numbers, of a number and an int."""

    head = HEAD
    verbs = False
    shapes = {"a": (5,), "b": (3,)}  # noqa: RUF012 - read only

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.counters = ["k"]
        self.numbers = ["x", "y"]
        self.loops = 0
        self.tried = 0
        self.busy = False  # a loop goes through q

    # Expressions -------------------------------------------------------------------------------------------------

    def index(self) -> str:
        c = self.pick(self.counters)
        ways = ["0", "1", "-1", f"{c} % 3", "2"]
        return self.pick([*ways, c, f"{c} + 1", f"{c} + 2", f"-{c} - 1", "4"] if self.risky() else ways)

    def risky(self) -> bool:
        return self.chance(0.35 if self.tried else 0.004)

    def atom(self) -> str:
        ways = [
            *self.numbers,
            "0.4",
            f"a[{self.index()}]",
            f"b[{self.index()}]",
            f"q[{self.index()}]",
            f'd["{self.pick("uv")}"]',
            "o.total",
        ]
        if self.risky():
            c = self.pick(self.counters)
            ways += [
                f"a[{self.index()}]",
                f"0.1 * (6 // ({c} - 1))",
                'd["w"]',
                f"o[{self.index()}]",
                "(0.2 + 1 // (len(q) - 3))",
            ]
            ways += [] if self.busy else ["q.pop()", "q.pop(0)", "taken(q, b)", 'd.pop("v")', "next(g)"] * 2
        return self.pick(ways)

    def number(self) -> str:
        one, other = self.atom(), self.atom()
        ways = [
            f"{one} * {other}",
            f"{one} + {other}",
            f"np.sin({one})",
            one,
            f"{one} - 0.3 * {other}",
            f"o.bump({one})",
        ]
        ways += [
            f"({one} if {other} > 0.5 else {self.atom()})",
            f"sum([{one}, {other}])",
            f"0.2 * sum(v * {one} for v in b)",
        ]
        ways += (
            [] if self.busy else [f"pushed(q, {one}) + {other}", f"safe(q, {self.index()})", f"{one} * 0.1 * len(q)"]
        )
        return self.pick(ways)

    # Statements --------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        ways = [(9, self.write)]
        if depth < 4 and len(self.lines) < 30:
            ways += [(4, self.attempt), (2, self.loop), (2, self.branch)]
        if self.tried:
            ways += [(1, self.stop)]
        weights, options = zip(*ways, strict=True)
        self.draw.choices(options, weights)[0](depth)

    def target(self) -> str:
        return self.pick(
            [
                f"a[{self.index()}]",
                f"b[{self.index()}]",
                f"q[{self.index()}]",
                f'd["{self.pick("uvw")}"]',
                "o.total",
                "y",
                "x",
                f"o[{self.index()}]",
            ]
        )

    def write(self, depth: int) -> None:
        i = self.index()
        ways = [
            f"{self.target()} = {self.number()}",
            f"{self.target()} += {self.number()}",
            f"{self.target()} *= {self.atom()}",
            f"{self.target()}, {self.target()} = {self.number()}, {self.number()}",
            f"{self.target()} = {self.target()} = {self.number()}",
            f"{self.target()}, {self.target()}, {self.target()} = {self.atom()}, {self.atom()}, {self.number()}",
            f"a[:3], {self.target()} = b, {self.atom()}",
            f"a[::-1], {self.target()} = a, {self.number()}",
            f"b[:] = a[{i}:3 + {i}]",
            f"b += a[{i}:{i} + 3] * {self.atom()}",
            f"b[[0, {i}]] = a[[{i}, 1]]",
            f"a[a > {self.atom()}] *= {self.atom()}",
            f"b[::-1] += b * {self.number()}",
            f"first, *rest, last = a[:{i}]",
            f"np.multiply(b, {self.atom()}, out=b)",
            "b, c = b[::-1], b",
            "b = b * 1.0",
            f"x = x * 0.9 + 0.1 * sum(a[j] for j in range(3 + {i}))",
            f"y = 0.1 * sum(halves(a, 4 + {i}))",
        ]
        if not self.busy:
            ways += [f"q.append({self.number()})"] * 3 + [
                f"q.extend([{self.atom()}, {self.number()}])",
                f"q.insert({i}, {self.atom()})",
            ]
            ways += [
                f"del q[{i}]",
                f"q[{i}], q[-1] = q[-1], q[{i}]",
                f"q = [v * {self.atom()} for v in q]",
                f"q += [{self.number()}]",
            ]
            ways += [f"q[1:2] = [{self.atom()}]"]
        self.add(self.pick(ways), depth=depth)

    def stop(self, depth: int) -> None:
        self.add(f"if {self.atom()} > {self.atom()}:", depth=depth)
        error = self.pick(
            ("Stop(k)", "Stop(1, size=x)", 'ValueError("above")', "KeyError(k)", "ZeroDivisionError", 'IndexError("x")')
        )
        self.add(f"raise {error}", depth=depth + 1)

    def attempt(self, depth: int) -> None:
        self.add("try:", depth=depth)
        self.tried += 1
        self.body(depth + 1, 3)
        self.tried -= 1
        caught = dict.fromkeys(self.draw.sample(ERRORS, self.pick((1, 1, 2))))
        for error in caught:
            name = self.name("e")
            self.add(f"except {error} as {name}:" if self.chance(0.4) else f"except {error}:", depth=depth)
            if error == "Stop" and f"as {name}" in self.lines[-1]:
                self.add(f"x = x + 0.1 * {name}.size + 0.01 * {name}.place", depth=depth + 1)
            self.body(depth + 1, 2)
            if self.tried and self.chance(0.15):
                self.add(self.pick(("raise", 'raise ValueError("again")')), depth=depth + 1)
        if self.chance(0.25):
            self.add("else:", depth=depth)
            self.body(depth + 1, 2)
        if self.chance(0.3):
            self.add("finally:", depth=depth)
            self.body(depth + 1, 2)

    def loop(self, depth: int) -> None:
        i, w = self.name("i"), self.name("w")
        head, counters, numbers, busy = self.pick(
            [
                (f"for {i} in range(k):", [i], [], False),
                (f"for {i} in range(3):", [i], [], False),
                (f"for {w} in a:", [], [w], False),
                (f"for {i}, {w} in enumerate(q):", [i], [w], True),
                (f"for {w} in halves(b, 3):", [], [w], False),
                (f"for {i}, {w} in zip(range(4), b):", [i], [w], False),
            ]
        )
        before = (self.counters, self.numbers, self.busy)
        self.counters, self.numbers = [*self.counters, *counters, *counters], [*self.numbers, *numbers]
        self.busy |= busy
        self.add(head, depth=depth)
        self.loops += 1
        if self.chance(0.4):
            self.add("try:", depth=depth + 1)
            self.tried += 1
            self.body(depth + 2, 2)
            self.tried -= 1
            self.add(f"except {self.pick(ERRORS)}:", depth=depth + 1)
            self.body(depth + 2, 1)
            self.add(self.pick(("break", "continue", "pass", f"return x * {self.atom()}")), depth=depth + 2)
            if self.chance(0.3):
                self.add("finally:", depth=depth + 1)
                self.body(depth + 2, 1)
        self.body(depth + 1, 2)
        self.loops -= 1
        self.counters, self.numbers, self.busy = before
        if self.chance(0.15):
            self.add("else:", depth=depth)
            self.body(depth + 1, 1)

    def branch(self, depth: int) -> None:
        self.add(f"if {self.atom()} > {self.atom()}:", depth=depth)
        self.body(depth + 1, 2)
        if self.chance(0.5):
            self.add("else:", depth=depth)
            self.body(depth + 1, 2)

    def body(self, depth: int, most: int) -> None:
        for _ in range(self.draw.randint(1, most)):
            self.statement(depth)

    def text(self) -> str:
        self.add("def f(a, b, x, k):", depth=0)
        self.add("q, y, o = [x, 0.5, 0.3 * x], 0.2, Box(x)", 'd = {"u": x, "v": 0.5}', "c, g = a, iter(a)")
        if not self.chance(0.4):
            self.lines[-1] = "    c, g = a, iter([0.1, x, 0.2])"
        for _ in range(self.draw.randint(2, 5)):
            self.statement(1)
        ends = [
            "sum(q)",
            "sum(d.values())",
            "np.sum(a * np.arange(5))",
            "np.sum(b * np.arange(1, 4))",
            "x",
            "y",
            "o.total",
        ]
        self.add(
            "return "
            + " + ".join(f"np.tanh({end})" for end in [*ends, "0.1 * len(q) + o.count + sum(o.seen)", "np.sum(c)"])
        )
        return HEAD + "\n".join(self.lines) + "\n"


if __name__ == "__main__":
    main(Writer)
