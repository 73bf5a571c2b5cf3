"""Recursive functions that collect numbers in lists, with calls whose results nobody needs: random ones, compiled."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj

X = np.random.default_rng(5).uniform(0.3, 1.2, 7)


class Collector:
    """Draws a function that walks over halves of a range, and fills, empties and reads a list of numbers on its way."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.outside = self.draw.random() < 0.5  # the list is outside; else each call is handed it
        self.gives = self.draw.choice(["nothing", "int", "number"])
        self.counts = self.outside and self.draw.random() < 0.5

    def number(self):
        ways = ["x[a] ** 2", "np.sin(x[a]) * x[b - 1]", "0.5 * x[m]", "x[a] * (b - a)"]
        ways += ["found[-1] * x[a]", "found[0] + x[m]", "float(len(found)) * x[a]", "sum(found) * 0.1"]
        return self.draw.choice([*ways, "x[a] * calls"] if self.counts else ways)

    def call(self, first, last):
        given = f"walk({first}, {last})" if self.outside else f"walk({first}, {last}, found)"
        if self.gives == "nothing" or self.draw.random() < 0.3:
            return given
        return f"k {self.draw.choice(['=', '+='])} {given}"

    def change(self):
        return self.draw.choice([
            f"found.append({self.number()})", f"found.append({self.number()})", f"found[-1] = {self.number()}",
            "found.append(found.pop() * 0.5)", f"found[0] = found[0] * {self.number()}",
        ])  # fmt: skip

    def text(self):
        draw = self.draw
        lines = ["def collect(x):", "    found = [x[0] * 1.0]"]
        if self.counts:
            lines.append("    calls = 0")
        lines.append(f"    def walk(a, b{'' if self.outside else ', found'}):")
        if self.counts:
            lines += ["        nonlocal calls", "        calls += 1"]
        lines += ["        m = (a + b) // 2", "        k = 0" if self.gives == "int" else "        k = 0.0"]
        lines += ["        if b - a <= 1:", f"            {self.change()}"]
        end = {"nothing": "return", "int": "return a", "number": "return x[a]"}[self.gives]
        lines.append(f"            {end}")
        steps = [self.call("a", "m"), self.call("m", "b"), *(self.change() for _ in range(draw.randrange(3)))]
        draw.shuffle(steps)
        lines += [f"        {s}" for s in steps]
        if self.gives != "nothing":
            lines.append("        return k")
        start = "walk(0, len(x))" if self.outside else "walk(0, len(x), found)"
        lines.append(f"    {start}" if self.gives == "nothing" else f"    last = {start}")
        more = " + last" if self.gives == "number" else ""
        lines.append(f"    return sum(found) + found[-1] ** 2{more}{' + calls' if self.counts else ''}")
        return "\n".join(lines) + "\n"


def made(seed):
    text = Collector(seed).text()
    file = f"<collector {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)  # noqa: S102 - our own text
    return scope["collect"], text


def check(seed):
    f, text = made(seed)
    wanted = dj.value_and_grad(f, backend="python")(X)
    step = np.sin(np.arange(X.size) + seed)
    quotient = (f(X + 1e-5 * step) - f(X - 1e-5 * step)) / 2e-5
    np.testing.assert_allclose(wanted[1] @ step, quotient, rtol=1e-6, atol=1e-6, err_msg=text)
    value, gradient = dj.value_and_grad(f, backend="numba")(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12, err_msg=text)
    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-10, atol=1e-12, err_msg=text)
    np.testing.assert_allclose(dj.grad(f, backend="numba")(X), wanted[1], rtol=1e-10, atol=1e-12, err_msg=text)


@pytest.mark.parametrize("seed", [*range(4), 16, *(pytest.param(k, marks=pytest.mark.slow) for k in range(20, 60))])
def test_collected_numbers(seed):
    check(seed)
