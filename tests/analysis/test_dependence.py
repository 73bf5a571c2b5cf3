"""What is read again from arrays instead of being recorded: where the proof must succeed, and where it must not."""

import random
import re

import numpy as np
import pytest

import diffjit as dj


def quotient(f, x, *rest):
    """The gradient of f by its first argument, by central differences."""
    g = np.zeros_like(x)
    for k in range(x.size):
        step = np.zeros_like(x)
        step.flat[k] = 1e-6
        g.flat[k] = (f(x + step, *rest) - f(x - step, *rest)) / 2e-6
    return g


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def cholesky(a):
    n = a.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= c[i, k] * c[j, k]
            c[i, j] = np.sqrt(s) if i == j else s / c[j, j]
    return np.sum(c * c * np.arange(1.0, n + 1))


def back_substitution(a):
    n = a.shape[0]
    x = np.empty(n)
    for i in range(n - 1, -1, -1):
        s = 1.0
        for j in range(i + 1, n):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return np.sum(x * x)


def alignment(c):
    n, m = c.shape
    d = np.full((n + 1, m + 1), 10.0)
    d[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            d[i + 1, j + 1] = c[i, j] ** 2 + min(d[i, j], d[i, j + 1], d[i + 1, j])
    return d[n, m]


def rows_of_a_history(a):
    y = np.zeros((6, a.shape[0]))
    y[0] = a[0]
    for t in range(5):
        y[t + 1] = np.sin(y[t]) * a[1] + 0.01 * y[t] * y[t]
    return np.sum(y * y)


@pytest.mark.parametrize(
    ("f", "recorded"),
    [
        (lu, ()),
        (cholesky, ("s_tape", "c_tape")),  # the sums, and pivots that only the branch tells from what is stored next
        (back_substitution, ("s_tape",)),
        (alignment, ("value_tape",)),  # which of the three was the smallest
        (rows_of_a_history, ("value_stack",)),  # the sines
    ],
)
def test_final_elements_are_not_recorded(f, recorded):
    a = np.random.default_rng(3).uniform(0.2, 0.5, size=(4, 4))
    a = a + 4 * np.eye(4)
    g = dj.grad(f, backend="python")
    np.testing.assert_allclose(g(a), quotient(f, a), rtol=1e-6, atol=1e-7)
    text = dj.source(dj.grad(f), a)
    assert set(re.findall(r"\b\w+_(?:tape|stack)(?= =)", text)) - {f"{name}_stack" for name in recorded} <= {*recorded}


def overwritten_later(a):
    a = a.copy()
    s = 0.0
    for k in range(3):
        for i in range(3):
            s += a[i] * a[i + 1]
            a[i] = a[i] * a[i + 1] + k
    return s


def overwritten_backwards(a):
    a = a.copy()
    for i in range(3, 0, -1):
        a[i] = a[i] * a[i - 1]
        a[i - 1] = a[i] * a[i]
    return np.sum(a * a)


def from_the_end(a):
    a = a.copy()
    for i in range(3):
        a[i + 1] = a[i] * a[-1]
    return np.sum(a * a)


def by_the_same_number(a):
    a = a.copy()
    k = 0
    for i in range(3):
        a[i + 1] = a[k] * a[i]
        k = i * i % 3
        a[k] = a[k] * 0.5
    return np.sum(a * a)


def shifted_views(a):
    a = a.copy()
    v = a
    for i in range(3):
        v[0] = v[0] * v[1]
        v = v[1:] if i < 1 else v
    return np.sum(a * a)


@pytest.mark.parametrize(
    "f", [overwritten_later, overwritten_backwards, from_the_end, by_the_same_number, shifted_views]
)
def test_others_are(f):
    a = np.array([0.3, 0.8, 0.6, 0.9])
    np.testing.assert_allclose(dj.grad(f, backend="python")(a), quotient(f, a), rtol=1e-6, atol=1e-7)


# Random nests --------------------------------------------------------------------------------------------------------


class Writer:
    """Writes a program of nested loops over one array, with affine and other indices, in either direction."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.two = self.r.random() < 0.6
        self.lines = ["import numpy as np", "", "def f(x, n):", "    a = x.copy()", "    s = 0.0"]
        for _ in range(self.r.choice([1, 1, 2])):
            self.lines.append(f"    for i in {self.range([])}:")
            self.block(1, ["i"])
        self.lines.append("    return s + np.sum(a * a)")

    def range(self, around):
        r = self.r
        outer = r.choice(around) if around and r.random() < 0.5 else None
        low = r.choice([outer, f"{outer} + 1", f"{outer} - 1", "1"] if outer else ["0", "1", "2"])
        high = r.choice([outer, f"{outer} + 1"] if outer and r.random() < 0.4 else ["n", "n - 1", "n - 2"])
        if r.random() < 0.3:
            return f"range({high} - 1, {low} - 1, -1)"
        return f"range({low}, {high}{', 2' if r.random() < 0.15 else ''})"

    def index(self, around):
        r = self.r
        if r.random() < 0.15:
            return r.choice(["0", "1", "n - 1", "-1", "-2"])
        v, w = r.choice(around), r.choice(around)
        text = r.choice([v, v, v, f"{v} - 1", f"{v} + 1", f"n - 1 - {v}", f"2 * {v} - {w}", f"{v} % n"])
        return f"({text}) % n" if ("+" in text or "2 *" in text) and r.random() < 0.5 else text

    def cell(self, around):
        i, j = self.index(around), self.index(around)
        if not self.two:
            return f"a[{i}]"
        return f"a[{i}, {j}]" if self.r.random() < 0.8 else f"a[{i}][{j}]"

    def block(self, depth, around):
        r, pad = self.r, " " * 4 * (depth + 1)
        for _ in range(r.choice([1, 1, 2])):
            chance = r.random()
            x, y, z, target = (self.cell(around) for _ in range(4))
            if chance < 0.45 and depth < 3:
                self.lines.append(f"{pad}for {'ijk'[depth]} in {self.range(around)}:")
                self.block(depth + 1, [*around, "ijk"[depth]])
            elif chance < 0.55 and self.two:
                i, j, k = (self.index(around) for _ in range(3))
                self.lines.append(f"{pad}a[{i}] = a[{j}] * {r.choice(['0.9', f'a[{k}]'])} + 0.1 * x[{k}]")
            elif chance < 0.62:
                self.lines.append(f"{pad}s = s + {x} * {y}")
            else:
                value = r.choice(
                    [f"{x} * {y}", f"0.5 * {x} * {y} + {z}", f"np.sin({x}) * {y}", f"{x} / (2 + {y} * {y})"]
                )
                self.lines.append(f"{pad}{target} {r.choice(['=', '=', '-='])} {value}")


@pytest.mark.parametrize("group", range(8))
def test_random_nests(group, tmp_path):
    """Twelve programs each: whatever is read again on the way back must be what was read on the way there."""
    checked = 0
    for seed in range(1000 * group, 1000 * group + 60):
        writer = Writer(seed)
        path = tmp_path / f"nest_{seed}.py"
        path.write_text("\n".join(writer.lines))
        scope = {}
        exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102 - our own text
        f, n = scope["f"], 4
        x = np.random.default_rng(seed).uniform(0.3, 0.9, size=(n, n) if writer.two else n)
        try:
            value = f(x, n)
        except IndexError:
            continue
        wanted = quotient(f, x, n)
        if not abs(value) < 1e3 or np.max(np.abs(wanted)) > 1e3:
            continue
        found = dj.grad(f, backend="python")(x, n)
        np.testing.assert_allclose(
            found, wanted, rtol=1e-5, atol=1e-5 * max(1.0, np.max(np.abs(wanted))), err_msg=path.read_text()
        )
        checked += 1
        if checked == 12:
            return
    assert checked >= 6
