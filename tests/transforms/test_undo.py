"""Stores that the way back undoes: random programs that write in place, with the undo log and without it."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import shared
from diffjit.transforms.reverse import keep, undo

N = 5


class Writer:
    """Draws a program in which elements are read, overwritten, and read again."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.lines = []
        self.depth = 1
        self.counters = []
        self.made = 0

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def index(self, *, may_fail=True):
        choices = [str(self.draw.randrange(N)), "-1", f"p[{self.draw.randrange(N)}]"]
        for i in self.counters:
            if may_fail and self.draw.random() < 0.03:
                choices.append(self.draw.choice([f"{i} - 7", "np.int32(-(2**31) + 1)"]))
            choices += [f"{i} % {N}", f"({i} + 1) % {N}", f"{i} - 1", f"p[{i} % {N}]"] * 2
            if may_fail and self.draw.random() < 0.02:
                choices.append(f"{i} + 3")
        return self.draw.choice(choices)

    def element(self):
        kind = self.draw.randrange(6)
        if kind == 0:
            return f"m[{self.index()}, {self.index()}]"
        if kind == 1:
            return f"row[{self.index()}]"
        if kind == 2:
            return f"back[{self.index()}]"
        return f"{self.draw.choice('uuuw')}[{self.index()}]"

    def expression(self, deep=2):
        kind = self.draw.randrange(9 if deep else 4)
        if kind < 3:
            return self.element()
        if kind == 3:
            return self.draw.choice(["a", "s", "t", "0.7", "x[1]", f"x[{self.index()}]"])
        if kind == 4:
            return f"np.{self.draw.choice(['sin', 'cos', 'tanh'])}({self.expression(deep - 1)})"
        if kind == 5:
            return f"{self.expression(deep - 1)} - 0.3 * {self.expression(deep - 1)}"
        return f"{self.expression(deep - 1)} * {self.expression(deep - 1)}"

    def statement(self):
        kind = self.draw.randrange(18 if len(self.lines) < 28 else 9)
        if kind < 5:
            self.line(f"{self.element()} = np.sin({self.expression()})")
        elif kind == 5:
            self.line(f"{self.element()} {self.draw.choice(['+', '-', '*'])}= 0.5 * np.cos({self.expression()})")
        elif kind == 6:
            a, b = self.element(), self.element()
            self.line(f"{a}, {b} = {b}, {a}")
        elif kind == 7:
            self.line(f"t = {self.element()}")
        elif kind == 8:
            self.line(f"s += {self.expression()}")
        elif kind == 9:
            self.line(self.draw.choice([
                f"row = m[{self.index()}]", "u, w = w, u", "w = u.copy()", "back = w[::-1]", "back = u", "u = u * 0.9",
                f"u[:] = np.sin({self.expression()})", f"m[{self.index()}] *= a", "w[1:3] = u[2:4]",
                f"p[{self.index()}], p[{self.index()}] = p[{self.index()}], p[{self.index()}]", "s = s + np.sum(u * w)",
                f"w = np.where(u > {self.expression()}, w, u)",
            ]))  # fmt: skip
        elif self.depth < 5 and kind < 14:
            self.made += 1
            i = f"i{self.made}"
            self.line(
                f"for {i} in {self.draw.choice(['range(1, N - 1)', 'range(k)', 'range(N - 1, 0, -1)', 'range(3)'])}:"
            )
            self.inside(i)
        elif self.depth < 5 and kind < 16:
            self.line(f"if {self.element()} > {self.draw.choice(['0.1', '-0.2', 'a', 's'])}:")
            self.inside(None)
            if self.draw.random() < 0.4:
                self.line("else:")
                self.inside(None)
        elif self.depth < 5 and kind == 16:
            self.made += 1
            c = f"c{self.made}"
            self.line(f"{c} = 0")
            self.line(f"while {c} < k and s * s < 40:")
            self.depth += 1
            self.line(f"{c} += 1")
            self.depth -= 1
            self.inside(c)
        elif self.counters and self.depth > 1:
            self.line(f"if {self.element()} > 0.9:")
            self.line("    " + self.draw.choice(["break", "continue", "s -= 0.5"]))

    def inside(self, counter):
        self.depth += 1
        if counter:
            self.counters.append(counter)
        before = len(self.lines)
        for _ in range(self.draw.randrange(1, 5)):
            self.statement()
        if len(self.lines) == before:
            self.line("s += 0.125")
        if counter:
            self.counters.pop()
        self.depth -= 1

    def program(self):
        self.line("N = 5")
        self.line("u = x.copy()" if self.draw.random() < 0.9 else "u = x")
        self.line("w = np.cos(x)")
        self.line("m = np.outer(x, w)")
        self.line("p = np.array([3, 1, 4, 0, 2])")
        self.line("row = m[2]")
        self.line("back = u[::-1]")
        self.line("s = 0.0")
        self.line("t = a")
        self.line("for r in range(k):")
        self.inside("r")
        for _ in range(3):
            self.statement()
        self.line("total = s + np.sum(u * np.sin(w)) + np.sum(m * m) + t")
        self.line(self.draw.choice(["return total", "return total", "return total, u", "return total, [w, row]"]))
        return "import numpy as np\n\n\ndef f(x, a, k):\n" + "\n".join(self.lines) + "\n"


def function(source, name):
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {}
    exec(compile(source, name, "exec"), space)  # noqa: S102 - our own text
    return space["f"]


def outcome(f, has_aux, x, a, k, backend):
    """The gradient, what is returned beside the value, and what is left of the argument; or what was raised."""
    x = x.copy()
    try:
        found = dj.grad(f, argnums=(0, 1), has_aux=has_aux, backend=backend)(x, a, k)
    except (IndexError, dj.DiffjitError) as error:
        return type(error)
    return [np.atleast_1d(np.asarray(v)) for v in (*flat(found), x)]


def flat(found):
    for v in found:
        if isinstance(v, (list, tuple)):
            yield from flat(v)
        else:
            yield v


def check(seeds, backend, monkeypatch):
    """How many programs undo something, and how many raise; each has the same gradient without the undo log."""
    undone, raised = set(), set()
    original = keep.Keeper._decide_to_undo
    at = [0]

    def counting(self, sweep, log):
        original(self, sweep, log)
        if log.overwritten:
            undone.add(at[0])

    for seed in seeds:
        at[0] = seed
        rng = np.random.default_rng(seed)
        source = Writer(seed).program()
        has_aux = "return total, " in source
        calls = [(rng.normal(size=N) * 0.8, 0.6, int(rng.integers(0, 5))) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(keep.Keeper, "_decide_to_undo", counting)
            f = function(source, f"<undo {seed}>")
            mine = [outcome(f, has_aux, *call, backend) for call in calls]
        with monkeypatch.context() as patch:
            patch.setattr(undo.Undo, "_find", lambda *_: None)
            shared.forget()
            f = function(source, f"<kept {seed}>")
            other = [outcome(f, has_aux, *call, "python") for call in calls]
        for a, b in zip(mine, other, strict=True):
            if isinstance(a, type) or isinstance(b, type):
                assert a == b, source
                raised.add(seed)
                continue
            for g, h in zip(a, b, strict=True):
                np.testing.assert_allclose(g, h, rtol=1e-7, atol=1e-9, err_msg=source)
    return len(undone), len(raised)


def test_random_programs(monkeypatch):
    undone, raised = check(range(40), "python", monkeypatch)
    assert undone > 12
    assert raised > 0


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    undone, _ = check((8, 22, 26), "numba", monkeypatch)
    assert undone > 1


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_cotangents_of_lent_memory(backend):
    """The rule gives the array itself as a cotangent, which is used after stores to it have been undone."""

    @dj.custom_vjp
    def dot(u, v):
        return np.sum(u * v)

    dot.defvjp(lambda u, v: (np.sum(u * v), (u, v)), lambda kept, g: (kept[1], kept[0]))  # for g = 1

    def f(x, y):
        u, s = x.copy(), 0.0
        for _ in range(3):
            for i in range(1, u.size - 1):
                s += u[i - 1] * u[i + 1] * y[i]
                u[i] = np.sin(u[i - 1] * u[i]) + u[i + 1]
        return dot(u, y)

    def plain(x, y):
        u = x.copy()
        for _ in range(3):
            for i in range(1, u.size - 1):
                u[i] = np.sin(u[i - 1] * u[i]) + u[i + 1]
        return np.sum(u * y)

    x, y = np.linspace(0.2, 1.1, 6), np.linspace(1.0, 0.3, 6)
    for g, h in zip(
        dj.grad(f, (0, 1), backend=backend)(x, y), dj.grad(plain, (0, 1), backend="python")(x, y), strict=True
    ):
        np.testing.assert_allclose(g, h, rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("at", [7, -9, -(2**31) + 1, 2**40])
def test_what_is_overwritten_is_read_at_an_index_that_is_tested(backend, at):
    """The store is what tests the index; what it overwrites is read before."""

    def f(x, at):
        u, s = x.copy(), 0.0
        for k in range(3):
            for i in range(1, u.size - 1):
                s += u[i - 1] * u[i] * u[i + 1]
                u[at if k == 1 else i] = s * u[i - 1]
        return s

    with pytest.raises(IndexError, match="out of bounds"):
        dj.grad(f, backend=backend)(np.ones(7), at)
    assert "= u_tape" in dj.source(dj.grad(f), np.ones(7), at)


def late(x, n):
    """What `a` was is needed before the store to its element has been undone; the neighbours are read again."""
    u, s = x.copy(), 0.0
    for _ in range(n):
        for i in range(1, u.size - 1):
            a = u[i]
            u[i] = np.sin(u[i - 1] * u[i + 1]) * a
            s += np.cos(a) * u[i]
    return s + np.sum(u)


def late_in_a_loop(x, n):
    """The store lies in a loop behind the read, and what was read is needed behind it."""
    u, s = x.copy(), 0.0
    for k in range(1, n):
        a = u[k]
        for i in range(1, u.size - 1):
            u[i] = np.sin(u[i - 1] * u[i + 1]) * u[i] * a
        s += np.cos(a) * u[k]
    return s + np.sum(u)


def late_in_a_branch(x, n):
    u, s = x.copy(), 0.0
    for _ in range(n):
        for i in range(1, u.size - 1):
            a = u[i]
            if a > 0.5:
                u[i] = np.sin(u[i - 1] * u[i + 1]) * a
            else:
                u[i - 1] *= u[i + 1] * u[i]
            s += np.cos(a) * u[i]
    return s + np.sum(u)


def stored(x, n):
    """`v` is in its element in the end, but no longer where the slope of `exp` reads it: the store has been undone."""
    u = x.copy()
    for i in range(min(n, 1) * (u.size - 6)):
        u[i] = u[i] * u[i + 1] * u[i + 2] + u[i + 3] * u[i + 4] * u[i + 5]
        v = np.exp(np.sin(u[i]))
        u[i] = v
    return np.sum(u * u)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [late, late_in_a_loop, late_in_a_branch, stored])
def test_numbers_that_are_needed_too_early(f, backend):
    x, n, h = np.linspace(0.3, 1.2, 12), 3, 1e-6
    gradient = dj.grad(f, backend=backend)
    g = gradient(x, n)
    slopes = [(f(x + h * e, n) - f(x - h * e, n)) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(g, slopes, rtol=1e-6, atol=1e-8)
    assert "] = u_tape" in dj.source(gradient, x, n)
    hessian = dj.hessian(f, backend=backend)(x, n)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-10)
    slopes = [(gradient(x + h * e, n) - gradient(x - h * e, n)) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_random_programs(block, monkeypatch):
    undone, raised = check(range(1000 + 100 * block, 1100 + 100 * block), "python", monkeypatch)
    assert undone > 30
    assert raised > 1
