"""Random programs that move numbers about: loops, index arrays, writes through views, branches, sums and products."""

import numpy as np


class Drawn:
    """Writes one program of x, an index array k and a banded matrix m, with an array as result."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.lines = []
        self.arrays = ["x"]
        self.count = 0

    def pick(self, items):
        return items[self.rng.integers(len(items))]

    def line(self, text, depth=1):
        self.lines.append("    " * depth + text)

    def fresh(self):
        self.count += 1
        return f"a{self.count}"

    def array(self):
        return self.pick(self.arrays)

    def index(self, names=()):
        return self.pick([*names, *(f"k[{i}]" for i in names), str(self.rng.integers(6))])

    def number(self, names=()):
        kinds = ["element", "element", "sum", "product", "dot"]
        a, b = self.array(), self.array()
        match self.pick(kinds):
            case "element":
                return f"{a}[{self.index(names)}]"
            case "sum":
                return f"np.sum({a}[{self.rng.integers(3)}:{self.rng.integers(3, 7)}])"
            case "product":
                return f"{a}[{self.index(names)}] * np.cos({b}[{self.index(names)}])"
            case _:
                return f"({a}[:3] @ {b}[3:])"

    def whole(self):
        a, b = self.array(), self.array()
        return self.pick([
            f"{a} * {b}", f"np.sin({a})", f"m @ {a}", f"{a} @ m", f"np.cumsum({a})", f"{a}[k]", f"np.sort({a})",
            f"np.where(k > 2, {a}, {b})", f"np.concatenate(({a}[:2], {b}[2:]))", f"{a}[::-1] + 0.0 * {b}",
            f"np.outer({a}, {b}[:2]).sum(axis=1)", f"({a}.reshape(2, 3) * {b}[:3]).ravel()",
            f"np.maximum({a}, {b}[0])", f"np.full(6, {self.number()})", f"{a}.reshape(3, 2).T.copy().ravel()",
            f"np.floor({a}) + {b}", f"np.max({a}.reshape(2, 3), axis=0, keepdims=True).repeat(2, axis=0).ravel()",
        ])  # fmt: skip

    def statement(self, depth, names):
        kind = self.pick(["store", "store", "add", "branch", "carried", "view"])
        own = [a for a in self.arrays if a != "x"]
        if not own:
            kind = "carried"
        match kind:
            case "store":
                self.line(f"{self.pick(own)}[{self.index(names)}] = {self.number(names)} + {self.number(names)}", depth)
            case "add":
                self.line(f"{self.pick(own)}[{self.index(names)}] += {self.number(names)}", depth)
            case "branch":
                self.line(f"if {names[-1]} % 2 == {self.rng.integers(2)} and x[{names[-1]}] > 0.5:", depth)
                self.line(f"s = s * {self.number(names)}", depth + 1)
                self.line("else:", depth)
                self.line(f"{self.pick(own)}[{self.index(names)}] = s", depth + 1)
            case "carried":
                self.line(f"s = {self.pick(['s + ', 's * ', ''])}{self.number(names)}", depth)
            case _:
                self.line(f"{self.pick(own)}[{self.rng.integers(3)}:][::2] = {self.number(names)}", depth)

    def program(self):
        self.line("s = 1.0")
        for _ in range(self.rng.integers(2, 6)):
            match self.pick(["whole", "whole", "copy", "loop", "loop", "nest", "while"]):
                case "whole":
                    text, name = self.whole(), self.fresh()
                    self.line(f"{name} = {text}")
                    self.arrays.append(name)
                case "copy":
                    text, name = self.array(), self.fresh()
                    self.line(f"{name} = {text}.copy()")
                    self.arrays.append(name)
                case "while":
                    self.line("t = 0")
                    self.line("while t < 5:")
                    self.statement(2, ["t"])
                    self.line(f"t += {self.rng.integers(1, 3)}", 2)
                case loop:
                    self.line(f"for i in range({self.pick(['6', '1, 6', '5, -1, -1', '0, 6, 2'])}):")
                    self.statement(2, ["i"])
                    if loop == "nest":
                        self.line("for j in range(i + 1):", 2)
                        self.statement(3, ["i", "j"])
                        self.statement(3, ["i", "j"])
                    self.statement(2, ["i"])
        self.line(f"return np.concatenate(({', '.join(self.arrays[-2:])}, np.array([s])))")
        return "\n".join(["def f(x, k, m):", *self.lines]) + "\n"


def drawn(seed):
    """A program's text, and its arguments."""
    writer = Drawn(seed)
    source = writer.program()
    rng = writer.rng
    band = np.diag(rng.uniform(0.5, 1.0, 6)) + np.diag(rng.uniform(0.5, 1.0, 5), 1)
    return source, (rng.uniform(0.1, 1.0, 6), rng.integers(0, 6, 6), band)
