"""Loops made of their trees do what Python does with their text, for random control flow."""

import ast
import random

import numpy as np
import pytest

from diffjit.lowering.flow.trees import TREES, Trees, has_tree
from diffjit.lowering.llvm.compiler import compiled
from diffjit.settings import settings


@pytest.fixture(autouse=True)
def _nothing_from_disk(monkeypatch):
    """Programs have no files of their own here."""
    monkeypatch.setattr(settings, "cache_mb", 0)


def both(text):
    """A function as Python runs it, and compiled from its tree."""
    tree = ast.parse(text)
    scope = {"__name__": "trees"}
    exec(compile(tree, "<trees>", "exec"), scope)  # noqa: S102 - our own text
    plain = scope["f"]
    scope[TREES] = Trees(text, tree)
    assert has_tree(plain)
    return plain, compiled(plain)


class Program:
    """A random function of a vector, an int and a float; its loops end."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(a, n, x):", "    s = 0.0", "    t = x", "    k = 0", "    m = n"]
        self.names = 0
        self.counters = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def integer(self, depth=2):
        if not depth or self.random.random() < 0.4:
            return self.pick("k", "m", "n", "3", "-2", *self.counters)
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        return self.pick(f"({left} + {right})", f"({left} - {right})", f"({left} * 2 % 7)", f"-{left}", f"({left} & 5)")

    def real(self, depth=2):
        if not depth or self.random.random() < 0.3:
            return self.pick("s", "t", "x", "0.5", "-1.5", "a[1]", "a[-1]")
        left, right = self.real(depth - 1), self.real(depth - 1)
        return self.pick(
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * 0.5)",
            f"({left} if {self.test(depth - 1)} else {right})",
            f"a[{self.integer(1)} % 5]",
            f"-({left})",
        )

    def test(self, depth=2):
        if not depth or self.random.random() < 0.4:
            op = self.pick("<", "<=", ">", ">=", "==", "!=")
            return self.pick(
                f"{self.real(0)} {op} {self.real(0)}", f"{self.integer(1)} {op} {self.integer(0)}", "0 < k <= m"
            )
        left, right = self.test(depth - 1), self.test(depth - 1)
        return self.pick(f"({left} and {right})", f"({left} or {right})", f"(not {left})", f"({left} and not {right})")

    def block(self, depth, looping):
        inner = "    " * depth
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if kind < 0.25 or depth > 4:
                self.lines.append(inner + f"{self.pick('s', 't')} {self.pick('=', '+=', '-=')} {self.real()}")
            elif kind < 0.35:
                self.lines.append(inner + f"{self.pick('k', 'm')} {self.pick('=', '+=')} {self.integer()} % 11")
            elif kind < 0.45:
                self.lines.append(
                    inner + f"a[{self.integer(1)} % 5] {self.pick('=', '+=', '*=')} 0.5 * ({self.real(1)})"
                )
            elif kind < 0.52:
                self.lines.append(inner + self.pick("s, t = t, s", "k, m = m, k + 1", "s, (k, t) = t, (m, s)"))
            elif kind < 0.75:
                self.lines.append(inner + f"if {self.test()}:")
                self.block(depth + 1, looping)
                if self.random.random() < 0.3:
                    self.lines.append(inner + f"elif {self.test()}:")
                    self.block(depth + 1, looping)
                if self.random.random() < 0.5:
                    self.lines.append(inner + "else:")
                    self.block(depth + 1, looping)
            elif kind < 0.93:
                self.loop(depth, inner)
            elif looping:
                self.lines.append(
                    inner + self.pick("break", "continue", f"if {self.test()}: break", f"if {self.test()}: continue")
                )
            else:
                self.lines.append(inner + f"if {self.test(1)}: return s - t + k")
        if self.random.random() < 0.05:
            self.lines.append(inner + "return s + 2.0 * t + m")

    def loop(self, depth, inner):
        self.names += 1
        name = f"i{self.names}"
        if self.random.random() < 0.6:
            bounds = self.pick("n", "1, n", "n, -1, -1", "0, n, 2", "m % 4", "-2, 3", "n - 1, 0 - 1, -1")
            self.lines.append(inner + f"for {name} in range({bounds}):")
            self.counters.append(name)
            self.block(depth + 1, looping=True)
            self.counters.pop()
        else:
            head = self.pick(f"while {name} < 4 and {self.test(1)}:", f"while {name} < 3:", "while True:")
            self.lines += [inner + f"{name} = 0", inner + head, inner + f"    {name} += 1"]
            self.lines.append(inner + f"    if {name} > 5: break")
            self.counters.append(name)
            self.block(depth + 1, looping=True)
            self.counters.pop()

    def text(self):
        self.block(1, looping=False)
        self.lines.append("    return s + 10.0 * t + k - m + a[0] + 3.0 * a[2]")
        return "\n".join(self.lines)


def ran(f, n, x):
    a = np.array([0.25, -1.0, 2.0, 0.5, -0.75])
    try:
        return f(a, n, x), a
    except OverflowError:
        return None


@pytest.mark.parametrize("seed", range(60))
def test_random_control_flow(seed):
    text = Program(seed).text()
    plain, fast = both(text)
    with np.errstate(all="ignore"):
        for n, x in ((5, 0.3), (0, -1.0), (3, 2.5), (1, 0.0)):
            (want, left), (got, right) = ran(plain, n, x), ran(fast, n, x)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=text)
            np.testing.assert_allclose(right, left, rtol=1e-12, atol=1e-12, err_msg=text)


EVERY_KIND = """
def f(a, b, n):
    "Text."
    low = 2 if n < 3 else n // 2
    row = b[1, :]
    part = a[low:]
    part[0] = 7.0
    wide = a[None, ::2]
    total = b[0, 0] ** 2 + wide[0, 1] - +row[1]
    pair = (n, n + 1)
    flag = 0 < n < 9 and not n == 4 or total > 100.0
    total += float(~n | 3 ^ 1) + float(n << 2 >> 1) + n % 3 / 2
    for u in part:
        total += u
    while True:
        n -= 1
        if n < 0:
            break
        else:
            continue
    if flag:
        return total, pair, a.shape[0], True
    else:
        return -total, pair, b.size, False
"""


@pytest.mark.parametrize("n", [1, 4, 6, 12])
def test_every_kind_of_node(n):
    plain, fast = both(EVERY_KIND)
    a, b = np.arange(14.0), np.arange(6.0).reshape(2, 3) + 0.5
    kept = a.copy()
    assert fast(a, b, n) == plain(kept, b, n)
    assert np.array_equal(a, kept)


def test_what_nothing_leads_to_is_left_out():
    plain, fast = both(
        "def f(n):\n    while True:\n        n += 1\n        if n > 9:\n            return n\n    return unknown\n"
    )
    assert fast(3) == plain(3) == 10
