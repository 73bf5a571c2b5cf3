"""Sums of arrays of ones, and copies of what is made for nothing else: as without the rewriting, in all modes."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


class Writer:
    """Writes `f(x, y, s)` of vectors that are filled, added up, copied, written to and returned by other names."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["u", "v", "w"]
        self.lines = ["def f(x, y, s):", "    u, v, w = x.copy(), y * x, np.full(len(x), 2.0)", "    t = s * 1.0"]
        self.depth = 1

    def any(self):
        return self.random.choice(self.names)

    def vector(self):
        a, b = self.any(), self.any()
        return self.random.choice(
            [
                f"({a} * {b})", f"({a} * s)", f"({a} + t)", f"np.full(len(x), {self.number()})", "np.ones(len(x))",
                f"np.ones_like({a})", f"np.zeros_like({a})", f"np.tanh({a})", f"(M @ {a})", a, f"{a}[::-1]",
                f"(0.5 * {a}).copy()", f"{a}.copy()", f"np.where({a} > 0, {b}, t)",
            ]
        )  # fmt: skip

    def number(self):
        return self.random.choice(["1.0", "0.5", "s", "t", f"np.sum({self.any()})", "3.0", "-2.0"])

    def statement(self):
        a = self.any()
        kind = self.random.randrange(9)
        if kind < 3:
            copied = self.random.choice(["", "", ".copy()"])
            self.add(f"{a} = {self.vector()}{copied}")
        elif kind == 3:
            index = self.random.choice(["0", "1:", "-1", ":", "::2"])
            self.add(f"{a}[{index}] {self.random.choice(['=', '+=', '*='])} {self.number()}")
        elif kind == 4:
            self.add(f"t = t + np.sum({self.vector()}) / 7.0")
        elif kind == 5:
            self.add(f"{a} {self.random.choice(['+=', '*='])} {self.vector()}")
        elif kind == 6:
            self.add(f"{a}, {self.any()} = {self.any()}, {self.any()}")
        elif self.depth < 3:
            self.add(self.random.choice(["for i in range(2):", f"if {self.number()} > 0.4:"]))
            self.depth += 1
            for _ in range(self.random.randint(1, 3)):
                self.statement()
            self.add("t = np.tanh(t)")
            self.depth -= 1

    def add(self, line):
        self.lines.append("    " * self.depth + line)

    def program(self):
        for _ in range(self.random.randint(4, 9)):
            self.statement()
        self.add("return np.sum(np.tanh(u) * v) + np.sum(w + t)")
        return "\n".join(self.lines) + "\n"


def outcome(call):
    with np.errstate(all="ignore"):
        try:
            return call()
        except (ValueError, TypeError, IndexError) as error:
            return type(error)


def compare(seed, backend):
    """Whether a random program returns; then its derivatives are those of differences and of forward mode."""
    text = Writer(seed).program()
    name = f"<fresh {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"np": np, "M": np.array([[0.2, -0.4, 0.1], [0.3, 0.1, 0.5], [-0.2, 0.6, 0.3]])}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102
    f = namespace["f"]
    rng = np.random.default_rng(seed)
    x, y, s = rng.normal(size=3), rng.normal(size=3), 0.3
    want = outcome(lambda: f(x, y, s))
    try:
        found = outcome(lambda: dj.value_and_grad(f, (0, 1, 2), backend=backend)(x, y, s))
    except dj.DiffjitError:
        return 0
    if isinstance(want, type) or isinstance(found, type):
        assert want is found, (text, want, found)
        return 0
    if not np.isfinite(want) or abs(want) > 1e6:
        return 0
    np.testing.assert_allclose(found[0], want, rtol=1e-9, atol=1e-12, err_msg=text)
    along = rng.normal(size=3), rng.normal(size=3), 0.7
    slope = sum(float(np.sum(g * d)) for g, d in zip(found[1], along, strict=True))
    dot = dj.jvp(f, (x, y, s), along, backend="python")[1]
    np.testing.assert_allclose(slope, dot, rtol=1e-8, atol=1e-9 * max(1.0, abs(want)), err_msg=text)
    ends = [outcome(lambda h=h: f(x + h * along[0], y + h * along[1], s + h * along[2])) for h in (1e-6, -1e-6)]
    if not any(isinstance(end, type) for end in ends) and abs(ends[0] - ends[1]) < 1e-3:
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, slope, rtol=1e-4, atol=1e-4, err_msg=text)
    return 1


def test_random_programs():
    assert sum(compare(seed, "python") for seed in range(60)) > 40


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed, "numba") for seed in range(100, 112)) > 6


def shifted(a, s):
    return np.sum(a + s)


def shifted_twice(a, s):
    return np.sum(2.0 * (a + s)) - 4.0 * np.sum(s * a)


def written_before_it_is_added_up(a, s):
    ones = np.ones(a.shape)
    ones[0] = s
    return np.sum(ones) * np.sum(ones.copy() * a)


def copied_twice(a, s):
    b = (a * s).copy()
    c = b.copy()
    b[0] += 1.0
    c[0] *= 3.0
    return np.sum(b * c)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [shifted, shifted_twice, written_before_it_is_added_up, copied_twice])
def test_gradients(f, backend):
    for shape in ((3,), (2, 4), (0, 2)):
        if not np.prod(shape) and f is not shifted:
            continue
        a, s = np.random.default_rng(1).normal(size=shape), 0.7
        by_a, by_s = dj.grad(f, (0, 1), backend=backend)(a, s)
        assert by_s == pytest.approx((f(a, s + 1e-6) - f(a, s - 1e-6)) / 2e-6, abs=1e-7)
        for k in np.ndindex(shape):
            h = np.zeros(shape)
            h[k] = 1e-6
            assert by_a[k] == pytest.approx((f(a + h, s) - f(a - h, s)) / 2e-6, abs=1e-7)


def test_ones_are_counted():
    text = dj.source(dj.grad(shifted, argnums=1), np.ones((2, 3)), 0.5)
    assert "np.full" not in text
    assert "np.sum" not in text.partition("# Reverse sweep.")[2].partition("return")[0]
