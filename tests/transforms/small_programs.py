"""Random programs of small vectors and matrices as source text: views, in-place writes, aliases, branches and loops."""

import random

LENGTH = {"a": 2, "b": 3, "c": 4}  # the first letter of a vector's name tells its length
CONSTANTS = ("0.5", "-0.3", "0.7", "1.1", "-0.9", "0.2")


class Writer:
    """Writes `f(x, p, s, n)`: x of length 3, p of shape (n, 3), s a float; every value stays of order one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.depth = 1
        self.vectors = {"b0": True, "b1": True}  # name -> whether it may be written to
        self.counters = ["0"]
        self.loops = 0
        self.count = 0

    def add(self, text):
        self.lines.append("    " * self.depth + text)

    def constant(self):
        return self.random.choice(CONSTANTS)

    def named(self, letter):
        """A vector of a length."""
        names = [n for n in self.vectors if n[0] == letter]
        if not names or self.random.random() < 0.1:
            return self.literal(letter)
        return self.random.choice(names)

    def literal(self, letter):
        items = [self.number(1) for _ in range(LENGTH[letter])]
        return f"np.array([{', '.join(items)}])"

    def number(self, depth=0):
        name = self.random.choice(list(self.vectors))
        k = self.random.randrange(-LENGTH[name[0]], LENGTH[name[0]])
        options = [f"{name}[{k}]", self.constant(), "s"]
        if depth == 0:
            options += [
                f"np.dot({name}, {self.named(name[0])})",
                f"np.sum({name})",
                f"np.max({name}[:2])",
                f"np.sin({name}[{k}])",
                f"p[{self.random.choice(self.counters)}, {self.random.randrange(3)}]",
                f"(M @ M)[{self.random.randrange(2)}, 1]",
                f"float(len({name}))",
            ]
        return self.random.choice(options)

    def vector(self, letter, depth=0):
        """An expression for a vector."""
        a = self.named(letter)
        options = [a, f"{a}[::-1]", f"np.tanh({a})", f"({self.constant()} * {a})", f"{a}.copy()", f"np.zeros_like({a})"]
        if depth < 2:
            b, c = self.vector(letter, depth + 1), self.vector(letter, depth + 1)
            options += [
                f"({a} + {b})", f"({b} * {c})", f"({b} - {self.number(1)})", f"({b} / (1.5 + np.dot({a}, {a})))",
                f"np.where({a} > {self.constant()}, {b}, {c})", f"np.maximum({a}, {b})", f"np.cumsum({b})",
            ]  # fmt: skip
            if letter == "b":
                row = self.random.choice(self.counters)
                options += [f"np.cross({a}, {b})", f"p[{row}]", f"(p[{row}] - {a})", f"(R @ {b})", f"(R[:, 1] * {b})"]
            if letter == "a":
                options += [
                    f"(M @ {b})",
                    f"({self.named('b')}[1:] * {b})",
                    f"M[{self.random.randrange(2)}]",
                    "M.sum(axis=0)",
                ]
            if letter == "c":
                options += [f"np.concatenate(({self.named('a')}, {self.named('a')}))", "M.reshape(4)"]
        return self.random.choice(options)

    def statement(self):
        letter = self.random.choice("abbbc")
        writable = [n for n, w in self.vectors.items() if w]
        name = self.random.choice(writable)
        kind = self.random.choice(
            ["new", "new", "rebind", "element", "element", "update", "slice", "view", "alias", "branch", "loop",
             "short", "swap", "matrix", "row", "write_row", "while"]
        )  # fmt: skip
        if kind == "new":
            self.fresh(letter, self.vector(letter) + " + 0.0")
        elif kind == "rebind":
            self.add(f"{name} = np.tanh({self.vector(name[0])})")
        elif kind == "element":
            k = self.random.randrange(-LENGTH[name[0]], LENGTH[name[0]])
            self.add(f"{name}[{k}] {self.random.choice(['=', '+=', '*='])} np.sin({self.number()})")
        elif kind == "update":
            self.add(f"{name} {self.random.choice(['+=', '-=', '*='])} np.tanh({self.vector(name[0])})")
        elif kind == "slice":
            self.add(f"{name}[:2] = {self.random.choice([f'{name}[-2:]', f'{name}[1::-1]', self.vector('a')])}")
        elif kind == "view":
            if LENGTH[name[0]] > 2:
                self.fresh(
                    "a", f"{name}[{self.random.choice(['1:3', ':2', '-2:', '::2' if name[0] == 'c' else '1:'])}]"
                )
        elif kind == "alias":
            self.fresh(name[0], name)
        elif kind == "swap":
            others = [n for n in writable if n[0] == name[0]]
            self.add(f"{name}, {others[0]} = {others[0]}, {name}")
        elif kind == "matrix":
            i, j = self.random.randrange(2), self.random.randrange(2)
            self.add(
                self.random.choice(
                    [
                        f"M[{i}, {j}] = np.cos({self.number()})",
                        f"M[{i}] += 0.1 * {self.vector('a')}",
                        "M = np.tanh(M @ M.T)",
                        f"M[:, {j}] *= 0.5",
                    ]
                )
            )
        elif kind == "row":
            self.fresh("b", f"p[{self.random.choice(self.counters)}]")
        elif kind == "write_row":
            self.add(
                f"p[{self.random.choice(self.counters)}] {self.random.choice(['=', '+='])} np.sin({self.vector('b')})"
            )
        else:
            self.block(kind)

    def fresh(self, letter, text):
        self.count += 1
        name = f"{letter}{self.count + 1}"
        self.add(f"{name} = {text}")
        self.vectors[name] = True

    def block(self, kind):
        if self.depth > 3 or self.loops > 3:
            return
        before = dict(self.vectors)
        counters = list(self.counters)
        if kind == "branch":
            self.add(f"if {self.number()} > 0.25:")
        elif kind == "while":
            self.count += 1
            self.add(f"w{self.count} = 0")
            self.add(f"while w{self.count} < 3 and {self.number()} < 0.4:")
            self.loops += 1
        else:
            counter = f"i{self.depth}"
            self.add(f"for {counter} in range({'n' if kind == 'loop' else '3'}):")
            self.counters.append(counter)
            self.loops += 1
        self.depth += 1
        if kind == "while":
            self.add(f"w{self.count} += 1")
        if kind == "short":
            name = self.random.choice([n for n in self.vectors if n[0] in "bc"])
            self.add(f"{name}[i{self.depth - 1}] = np.sin({name}[i{self.depth - 1}] + {self.number()})")
        for _ in range(self.random.randrange(1, 4)):
            self.statement()
        self.add("pass")
        self.depth -= 1
        self.vectors, self.counters = dict(before), counters
        if kind == "branch" and self.random.random() < 0.5:
            self.add("else:")
            self.depth += 1
            self.statement()
            self.add("pass")
            self.depth -= 1
            self.vectors = before

    def program(self, statements=8):
        """The text of a module."""
        for _ in range(statements):
            self.statement()
        total = " + ".join(f"np.dot({n}, {n}) * {k + 1}.0" for k, n in enumerate(self.vectors))
        body = "\n".join(self.lines)
        return f"""import numpy as np


def f(x, p, s, n):
    b0 = x
    b1 = np.array([s, 0.5, -0.2])
    M = np.array([[0.3, s], [-0.2, 0.6]])
    R = np.eye(3) * s
    R[0, 2] = x[1]
{body}
    return {total} + np.sum(M * M) + np.sum(p * p) + np.sum(R)
"""
