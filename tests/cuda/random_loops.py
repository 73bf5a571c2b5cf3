"""Random loops over elements and rows, some of whose turns are independent: the generator behind the tests.

python -m tests.cuda.random_loops 0 200        seeds: as Python, compiled, and with kernels in random order
"""

import os
import sys

import numpy as np

import diffjit as dj
from tests.aliases.check import loaded


class Writer:
    """The text of one function of two vectors of a length, a matrix with as many rows, and a short vector."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines = []
        self.vectors = ["a", "b"]
        self.written = []

    def pick(self, among):
        return among[self.random.integers(len(among))]

    def chance(self, p):
        return self.random.random() < p

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    def index(self, counter, first, last):
        """An index that stays within a vector while the counter runs from `first` to n - last."""
        ways = [counter] * 4 + [f"n - 1 - {counter}"]
        ways += [f"{counter} - {k}" for k in range(1, first + 1)]
        ways += [f"{counter} + {k}" for k in range(1, last + 1)]
        return self.pick(ways)

    def term(self, counter, first, last, inner=""):
        ways = [f"{self.pick(self.vectors)}[{self.index(counter, first, last)}]" for _ in range(3)]
        ways.append(f"c[{counter}, {self.random.integers(3)}]")
        if inner:
            ways += [f"c[{counter}, {inner}]", f"c[{counter}, {inner}] * {self.pick(self.vectors)}[{inner}]"]
        if self.written:
            ways.append(f"{self.pick(self.written)}[{self.index(counter, first, last)}]")
        return self.pick(ways)

    def value(self, counter, first, last, inner=""):
        x, y = (self.term(counter, first, last, inner) for _ in range(2))
        return self.pick(
            [f"{x} * {y}", f"np.sin({x}) + 0.5 * {y}", f"np.tanh({x} - {y})", f"({x} if {y} > 0.3 else {y})"]
        )

    def loop(self, number):
        n1, n2 = (int(self.pick([0, 0, 0, 1, 2])) for _ in range(2))
        i, depth = f"i{number}", 1
        head = f"range({n1}, n - {n2})" if n1 or n2 else "range(n)"
        target = self.pick(["v", "w", "v", "w", "row"])
        if self.chance(0.3) and target != "row":
            self.line(depth, f"{target} = np.zeros(n) + 0.1")
        self.line(depth, f"for {i} in {head}:")
        depth += 1
        if self.chance(0.3):
            self.line(depth, f"t = np.array([{self.value(i, n1, n2)}, {self.value(i, n1, n2)}])")
            self.line(depth, f"t[0] += {self.value(i, n1, n2)}")
            self.vectors.append("t")  # of two elements: only by number, below
            self.vectors.pop()
            extra = " + t[0] * t[1]"
        else:
            extra = ""
        if target == "row":
            self.line(depth, f"for j in range({self.random.integers(2, 4)}):")
            place = self.pick([f"d[{i}, j]", f"d[{i}, j]", f"d[{i}, 0]"])
            self.line(depth + 1, f"{place} {self.pick(['=', '+='])} {self.value(i, n1, n2, 'j')}{extra}")
            if self.chance(0.3):
                self.line(depth, f"d[{i}] *= 0.9")
            return
        if self.chance(0.4):
            self.line(depth, "q = 0.0")
            self.line(depth, "for j in range(len(p)):")
            mixed = f"{self.pick(['p[j]', 'p[len(p) - 1 - j]', 'p[j] * p[0]'])} * {self.term(i, n1, n2)}"
            self.line(depth + 1, f"q = {self.pick(['q +', '0.5 * q +', 'q * 0.9 -'])} {mixed}")
            extra += self.pick([" + q", " * np.tanh(q)", " - 0.1 * q"])
        place = f"{target}[{self.pick([i] * 6 + [self.index(i, n1, n2)])}]"
        sign = self.pick(["=", "=", "+=", "*="])
        if self.chance(0.3):
            self.line(depth, f"s = {self.value(i, n1, n2)}{extra}")
            self.line(depth, "for j in range(3):")
            self.line(depth + 1, f"s = 0.5 * s + {self.value(i, n1, n2, 'j')}")
            self.line(depth, f"{place} {sign} s")
        elif self.chance(0.3):
            self.line(depth, f"if {self.term(i, n1, n2)} > 0.2:")
            self.line(depth + 1, f"{place} {sign} {self.value(i, n1, n2)}{extra}")
        else:
            self.line(depth, f"{place} {sign} {self.value(i, n1, n2)}{extra}")
        if self.chance(0.25):
            self.line(depth, f"{self.pick(['v', 'w'])}[{i}] += 0.1 * {self.term(i, n1, n2)}")
        if self.chance(0.1):
            self.line(depth, f"total = total + {self.term(i, n1, n2)}")

    def text(self):
        self.line(0, "import numpy as np")
        self.line(0, "def f(a, b, c, p):")
        self.line(1, "n = len(a)")
        self.line(1, "v = np.zeros(n)")
        self.line(1, "w = a * 0.5")
        self.line(1, "d = np.ones((n, 3))")
        self.line(1, "total = 0.0")
        self.written = ["v", "w"]
        for number in range(self.random.integers(1, 4)):
            self.loop(number)
        self.line(1, "return np.sum(v * b) + np.sum(w) + np.sum(d * c) + total")
        return "\n".join(self.lines) + "\n"


def made(seed):
    """The function of a seed, and its text."""
    text = Writer(seed).text()
    return loaded(text, f"loops_{seed}")["f"], text


def arguments(seed, n=1100):
    """Large enough for threads."""
    random = np.random.default_rng(seed + 1)
    return (
        random.uniform(-1, 1, n),
        random.uniform(0.2, 1, n),
        random.uniform(-0.5, 0.5, (n, 3)),
        random.uniform(-0.5, 0.5, 12),
    )


def compare(seed, backends):
    """Value and gradient of a seed's function by several backends, against Python; how many loops became parts."""
    f, text = made(seed)
    args = arguments(seed)
    with np.errstate(all="ignore"):
        wanted = f(*args)
    if not np.isfinite(wanted) or abs(wanted) > 1e12:
        return 0
    first = dj.grad(f, (0, 1, 2, 3), backend=backends[0])(*args)
    parts = 0
    for backend in backends:
        value, gradient = dj.value_and_grad(f, (0, 1, 2, 3), backend=backend)(*args)
        np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{seed} {backend}\n{text}")
        plain = dj.jit(f, backend=backend)(*args)
        np.testing.assert_allclose(plain, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{seed} {backend}\n{text}")
        for x, y in zip(gradient, first, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9, err_msg=f"{seed} {backend}\n{text}")
        for g in (dj.jit(f, backend=backend), dj.grad(f, (0, 1, 2, 3), backend=backend)):
            parts += dj.source(g, *args, stage="lowered").count("run_turns(loops")
    directions = [np.random.default_rng(seed + 2).uniform(-1, 1, x.shape) for x in args]
    along = sum(np.sum(x * d) for x, d in zip(first, directions, strict=True))
    found = dj.jvp(f, tuple(args), tuple(directions), backend="python")[1] if seed % 5 == 0 else along
    np.testing.assert_allclose(along, found, rtol=1e-7, atol=1e-7, err_msg=f"{seed}\n{text}")
    return parts


def main():
    first, last = map(int, sys.argv[1:3])
    os.environ["DIFFJIT_CUDA"] = "emulated"
    parts = 0
    for seed in range(first, last):
        parts += compare(seed, ["numba", "cuda"])
        print(seed, parts, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
