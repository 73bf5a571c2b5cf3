"""Branches that leave the program: what follows them stands behind them, knows their condition, and has no branch back.

Random programs raise in the middle of loops and branches; all modes are compared with plain Python and with the same
program without its tests.
"""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine.engine import program_of

BACKENDS = ["python", "numba"]
X = np.array([0.4, 1.2, -0.7, 2.0])


def steps(x, limit):
    u = x.copy()
    for t in range(6):
        s = np.sum(u * u)
        if s > limit:
            raise OverflowError("diverged")
        if t % 3 == 1:
            assert s > 0.0, "nothing is left"
        u = np.sin(u) / s
    return np.sum(u)


def test_the_way_back_has_no_branch():
    text = dj.source(dj.grad(steps), X, 50.0)
    forward, back = text.split("# Reverse sweep.")
    assert "raise OverflowError" in forward
    assert "else" not in text
    assert "if" not in back


def test_a_test_proves_what_follows():
    """The user's own test of an index is the only one."""

    def pick(x, k):
        if k < 0 or k >= len(x):
            raise ValueError("there is no such element")
        return x[k] ** 2

    assert "x.inside[k]" in dj.source(dj.jit(pick), X, 2, stage="lowered")
    assert dj.jit(pick)(X, 3) == 4.0
    for k in (-1, 4):
        with pytest.raises(ValueError, match="no such element"):
            dj.jit(pick)(X, k)


def test_a_test_proves_nothing_before_it():
    def pick(x, k):
        found = x[k]
        if k < 0 or k >= len(x):
            raise ValueError("there is no such element")
        return found**2

    assert "inside" not in dj.source(dj.jit(pick), X, 2, stage="lowered")
    with pytest.raises(IndexError):
        dj.jit(pick)(X, 4)


def test_no_branch_around_what_follows():
    program = program_of(steps, (X, 50.0), {})
    (loop,) = [op for op in program.function.body.ops if op.kind == "for"]
    branches = [op for op in loop.regions[0].ops if op.kind == "if"]
    assert len(branches) == 2
    assert not any(op.outputs for op in branches)


class Writer:
    """Draws a program that tests what it computes, and raises in any place."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.lines = []
        self.depth = 1
        self.counters = []

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def value(self):
        choices = ["s", "t", "u[0]", "u[-1]", "x[1]", "np.sum(u)", "0.3"]
        choices += [f"u[{i} % 4]" for i in self.counters]
        return self.draw.choice(choices)

    def condition(self):
        return f"{self.value()} {self.draw.choice('<>')} {self.draw.choice([-2.5, -0.5, 0.9, 3.0])}"

    def leave(self):
        self.line(f"if {self.condition()}:")
        self.depth += 1
        kind = self.draw.randrange(6)
        if kind == 0:
            self.line(f"u[{self.draw.randrange(4)}] = 7.0")
        if kind == 1:
            self.line(f"if {self.condition()}:")
            self.line(f"    raise KeyError('{len(self.lines)}')")
        if kind == 5 and self.counters:
            self.line(self.draw.choice(["break", "continue"]))
        else:
            self.line(f"raise ValueError('{len(self.lines)}')")
        self.depth -= 1
        if self.draw.random() < 0.3:
            self.line("else:")
            self.depth += 1
            self.statement()
            self.depth -= 1

    def statement(self):
        kind = self.draw.randrange(9 if len(self.lines) < 26 else 3)
        if kind == 0:
            self.line(f"s = np.sin(s * {self.value()}) + {self.value()}")
        elif kind == 1:
            self.line(self.draw.choice(["u = np.cos(u) * s", f"u[{self.draw.randrange(4)}] *= t", "t = t * s - 0.2"]))
        elif kind == 2:
            self.line(f"assert {self.condition()} or t > -4.0, 'no {len(self.lines)}'")
        elif kind in (3, 4):
            self.leave()
        elif kind == 5:
            name = f"i{len(self.counters)}"
            self.line(f"for {name} in range({self.draw.choice(['4', 'len(x)', 'n'])}):")
            self.inside(name)
        elif kind == 6:
            self.line(f"if {self.condition()}:")
            self.inside(None)
        elif kind == 7:
            self.line("try:")
            self.inside(None)
            self.line(f"except {self.draw.choice(['ValueError', 'KeyError', '(ValueError, KeyError)'])}:")
            self.inside(None)
        else:
            self.line("t += s * s")

    def inside(self, counter):
        self.depth += 1
        if counter:
            self.counters.append(counter)
        for _ in range(self.draw.randrange(1, 4)):
            self.statement()
        if counter:
            self.counters.pop()
        self.depth -= 1

    def program(self):
        self.line("u = x.copy()")
        self.line("s, t = a, 1.0 + 0.0 * a")
        for _ in range(5):
            self.statement()
        self.line("return np.sum(u) + s * t")
        return "def f(x, a, n):\n" + "\n".join(self.lines) + "\n"


def load(seed):
    text = Writer(seed).program()
    name = f"<leaving {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"np": np}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102
    return namespace["f"], text


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return call()
    except (ValueError, KeyError, AssertionError) as error:
        return type(error), str(error)


def compare(seed, backend):
    """Value, gradient and tangent of one program where it returns; its exception everywhere where it raises."""
    f, text = load(seed)
    verbs = {
        "jit": dj.jit(f, backend=backend),
        "grad": dj.grad(f, (0, 1), backend=backend),
        "both": dj.value_and_grad(f, (0, 1), backend=backend),
    }
    returned = 0
    for a, n in ((0.5, 3), (-0.8, 4), (1.4, 0)):
        want = outcome(lambda a=a, n=n: f(X.copy(), a, n))
        got = {name: outcome(lambda v=verb, a=a, n=n: v(X.copy(), a, n)) for name, verb in verbs.items()}
        if isinstance(want, tuple):
            assert all(found == want for found in got.values()), (text, a, n, want, got)
            continue
        returned += 1
        where = f"{text}\na = {a}, n = {n}"
        np.testing.assert_allclose(got["jit"], want, rtol=1e-9, err_msg=where)
        np.testing.assert_allclose(got["both"][0], want, rtol=1e-9, err_msg=where)
        for left, right in zip(got["grad"], got["both"][1], strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12, err_msg=where)
        along = np.array([0.3, -0.2, 0.5, 0.1]), 0.7
        slope = float(np.sum(got["grad"][0] * along[0]) + got["grad"][1] * along[1])
        dot = dj.jvp(lambda x, b, n=n: f(x, b, n), (X.copy(), a), along, backend="python")[1]
        np.testing.assert_allclose(slope, dot, rtol=1e-7, atol=1e-9, err_msg=where)
        ends = [outcome(lambda h=h, a=a, n=n, d=along: f(X + h * d[0], a + h * d[1], n)) for h in (1e-6, -1e-6)]
        if not any(isinstance(end, tuple) for end in ends) and abs(ends[0] - ends[1]) < 1e-3:
            np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slope, rtol=1e-4, atol=1e-4, err_msg=where)
    return returned


def test_random_programs():
    assert sum(compare(seed, "python") for seed in range(60)) > 60


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed, "numba") for seed in range(100, 108)) > 5
