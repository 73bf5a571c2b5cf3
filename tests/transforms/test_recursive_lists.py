"""Recursive functions as they are compiled: calls get lists as they are, and derivatives record, and run once."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.transforms.recursive import recorded

X = np.random.default_rng(3).normal(size=6)


class Writer:
    """Draws a recursive function of lists of ints that it changes, puts back or leaves changed, and of numbers."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.pairs = self.draw.random() < 0.25  # it gives back a number and an int
        self.lists = self.draw.choice([["p"], ["p", "q"], ["p", "q"]])
        self.outside = self.draw.random() < 0.3  # one list is outside
        self.count = 0

    def index(self):
        name = self.draw.choice([*self.lists, *(["seen"] if self.outside else [])])
        return self.draw.choice([
            "n", "0", f"{name}[0]", f"{name}[-1]", f"{name}[n]", f"len({name}) - 1", f"{name}[{self.lists[0]}[1]]",
        ])  # fmt: skip

    def number(self):
        return self.draw.choice([
            f"x[{self.index()}]", f"x[{self.index()}]", f"np.sin(x[{self.index()}] * t)", "t", "s * t", "0.7",
            f"x[{self.index()}] * s", f"(1.0 / (1.5 + x[{self.index()}] ** 2))", "float(n) * t",
            "(t / s if s > 0.3 else x[1])",
        ])  # fmt: skip

    def given(self, name):
        return self.draw.choice([name, name, name, name, f"{name}[:]", f"{name}[::-1]", f"[*{name}[1:], 0]"])

    def call(self):
        self.count += 1
        s = self.draw.choice([f"0.5 * {self.number()}", "s", f"np.tanh({self.number()})"])
        made = f"g({', '.join([*map(self.given, self.lists), s, 'n - 1'])})"
        return f"{made}[0]" if self.pairs else made

    def change(self):
        name = self.draw.choice([*self.lists, *(["seen"] if self.outside else [])])
        return self.draw.choice([
            f"{name}[0], {name}[n] = {name}[n], {name}[0]", f"{name}[n] = {name}[0]", f"{name}[0] = n",
            f"{name}.append(n)", f"{name}.pop()", f"{name}.insert(0, {name}.pop())",
        ])  # fmt: skip

    def statements(self, depth):
        lines = []
        for _ in range(self.draw.randint(1, 3)):
            kind = self.draw.random()
            if kind < 0.3:
                lines += [f"t {self.draw.choice(['+=', '-=', '='])} {self.number()}"]
            elif kind < 0.55:
                lines += [self.change()]
            elif kind < 0.8 and self.count < 3:
                if self.draw.random() < 0.6:
                    change = self.change()
                    lines += ["kept = p[:]", change] if change.startswith("p") else [change]
                    lines += [f"t += {self.number()} * {self.call()}"]
                    lines += ["p[:] = kept"] if change.startswith("p") and self.draw.random() < 0.6 else []
                else:
                    lines += [f"t = {self.call()} * {self.number()}"]
            elif depth < 2:
                head = self.draw.choice([
                    f"if {self.number()} > 0.1:", f"if p[n] % 2 == {self.draw.randint(0, 1)}:", "for k in range(2):",
                    "for k in range(n, 0, -1):", f"for k in range(p[0] % {self.draw.randint(2, 3)}):",
                ])  # fmt: skip
                inner = self.statements(depth + 1)
                if head.startswith("for"):
                    inner += self.draw.choice([[], [], ["if t > 0.8:", "    break"]])
                    inner += self.draw.choice([[], ["t *= 0.5 + x[k]"]])
                lines += [head, *("    " + line for line in inner)]
                if head.startswith("if") and self.draw.random() < 0.5:
                    lines += ["else:", *("    " + line for line in self.statements(depth + 1))]
        return lines or ["t *= 1.5"]

    def text(self):
        parameters = ", ".join([*self.lists, "s", "n"])
        give = lambda value: f"return {value}, p[0]" if self.pairs else f"return {value}"
        lines = ["def f(x, s, depth):", "    seen = [2, 0, 1, 3]", f"    def g({parameters}):", "        t = x[0] * s"]
        leaf = [f"            {self.change()}"] if self.draw.random() < 0.3 else []
        lines += ["        if n == 0:", *leaf, f"            {give(self.number())}"]
        while self.count == 0:
            made = self.statements(0)
            lines += ["        " + line for line in made]
        lines += [f"        {give(f'np.sin(t) + 0.5 * {self.number()}')}"]
        lines += ["    p, q, t, n = [1, 2, 0, 3], [3, 1, 2, 0], s, 2"]
        call = f"g({', '.join([*self.lists, 's', 'depth'])})"
        out = f"{call}[0]" if self.pairs else call
        lines += [f"    out = {out} * x[2]"]
        if self.draw.random() < 0.4:
            lines += ["    for k in range(2):", f"        out += {out} * x[p[1]]"]
        elif self.draw.random() < 0.4:
            lines += ["    p[1] = q[0]", f"    out *= {out}"]
        return "\n".join([*lines, "    return out + x[p[0]] * x[q[1]] + x[seen[0]]"]) + "\n"


def drawn(seed):
    text = Writer(seed).text()
    file = f"<recursive with lists {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space["f"], text


def differences(f, z, steps=(1e-5, 1e-6)):
    """Slopes, or None where there is none that differences see."""
    rough, fine = (np.array([(f(z + h) - f(z - h)) / (2 * d) for h in d * np.eye(len(z))]) for d in steps)
    agree = np.all(np.isfinite(rough)) and np.allclose(rough, fine, rtol=1e-4, atol=1e-6)
    return rough if agree and np.max(np.abs(rough)) < 1e6 else None


def compare(seed, *, second=False):
    """1 if the program has a slope here that differences see, and diffjit's is that one."""
    f, text = drawn(seed)
    z = np.append(np.random.default_rng(seed).normal(size=6), 0.4)
    together = lambda z: f(z[:6], z[6], 3)
    try:
        value = dj.jit(f)(z[:6], z[6], 3)
    except dj.errors.DiffjitError as refused:
        assert refused.code == "DJ119", text  # noqa: PT017
        return 0
    except IndexError:
        for program in (f, dj.grad(f), dj.value_and_grad(f, argnums=(0, 1))):
            with pytest.raises(IndexError):
                program(z[:6], z[6], 3)
        return 0
    expected = together(z)
    slopes = differences(together, z)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), text
    value, found = dj.value_and_grad(f, argnums=(0, 1))(z[:6], z[6], 3)
    assert value == pytest.approx(expected, rel=1e-12, abs=1e-12), text
    alone = dj.grad(f, argnums=(0, 1))(z[:6], z[6], 3)
    python = dj.grad(f, argnums=(0, 1), backend="python")(z[:6], z[6], 3)
    np.testing.assert_allclose(np.append(*found), np.append(*python), rtol=1e-11, atol=1e-12, err_msg=text)
    np.testing.assert_allclose(np.append(*alone), np.append(*python), rtol=1e-11, atol=1e-12, err_msg=text)
    if slopes is None:
        return 0
    np.testing.assert_allclose(np.append(*found), slopes, rtol=1e-4, atol=1e-6, err_msg=text)
    if second:
        gradient = lambda x, s: dj.grad(f, argnums=(0, 1))(x, s, 3)
        curved = np.array([np.append(*dj.jvp(gradient, (z[:6], z[6]), (h[:6], h[6]))[1]) for h in np.eye(7)])
        bent = np.array([np.append(*gradient((z + h)[:6], z[6] + h[6])) for h in 1e-6 * np.eye(7)])
        bent -= np.array([np.append(*gradient((z - h)[:6], z[6] - h[6])) for h in 1e-6 * np.eye(7)])
        if np.max(np.abs(bent)) < 1e-2:
            np.testing.assert_allclose(curved, bent / 2e-6, rtol=1e-3, atol=1e-3, err_msg=text)
    return 1


@pytest.mark.parametrize("batch", range(3))
def test_random_programs(batch):
    assert sum(compare(1000 * batch + seed) for seed in range(6)) > 2


def test_random_programs_with_little_room(monkeypatch):
    """Where stacks are full, derivatives run again."""
    monkeypatch.setattr(recorded, "MOST", 5)
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(5000 + seed) for seed in range(6)) > 2


def test_random_programs_at_second_order():
    assert sum(compare(7000 + seed, second=True) for seed in range(4)) > 1


def minor(a, n, m, rows, columns):
    row, column = rows[n], columns[n]
    if m == 1:
        return a[row * n + column]
    total, sign, before = 0.0, 1.0, n
    rows[n] = rows[row]
    for _ in range(m):
        element = a[row * n + column]
        columns[before] = columns[column]
        total += sign * element * minor(a, n, m - 1, rows, columns)
        columns[before] = column
        before, column = column, columns[column]
        sign = -sign
    rows[n] = row
    return total


def determinant(a, n):
    rows, columns = [k + 1 for k in range(n)], [k + 1 for k in range(n)]
    rows.append(0)
    columns.append(0)
    return minor(a, n, n, rows, columns)


def test_lists_are_handed_over():
    a = X[[0, 1, 2, 3, 4, 5, 1, 0, 2]]
    text = dj.source(determinant, a, 3, stage="lowered")
    inner = text.partition("def recursive_minor")[2].partition("@compiled")[0]
    assert "append(" not in inner
    assert "empty" not in inner
    text = dj.source(dj.grad(determinant), a, 3, stage="lowered")
    outer = text.partition("@compiled")[2]
    assert "recursive_minor(" not in outer  # the call that records gives what its list becomes
    assert "recursive_minor_record(" in outer
    matrix = a.reshape(3, 3)
    expected = (np.linalg.det(matrix) * np.linalg.inv(matrix).T).ravel()
    np.testing.assert_allclose(dj.grad(determinant)(a, 3), expected, rtol=1e-10)


def test_full_stacks(monkeypatch):
    a = np.random.default_rng(0).normal(size=36)
    expected = dj.grad(determinant)(a, 6)
    monkeypatch.setattr(recorded, "MOST", 100)
    np.testing.assert_allclose(dj.grad(lambda a, n: determinant(a, n) * 1.0)(a, 6), expected, rtol=1e-12)


def test_the_depth_is_that_of_the_function():
    def chain(x, n):
        return x[0] if n == 0 else np.sin(chain(x, n - 1) * x[n % 6])

    for verb in (dj.jit, dj.grad):
        assert np.all(np.isfinite(verb(chain)(X, 995)))
        with pytest.raises(RecursionError):
            verb(chain)(X, 1005)


def test_a_copy_is_handed_over_where_the_caller_must_not_see_changes():
    def f(x, n):
        def total(p, k):
            if k == 0:
                return x[p[0]] * x[p[-1]]
            p[0] = p[k]
            return total(p[:], k - 1) * x[p[0]] + total(p, k - 1) * x[p[0]]

        items = [3, 1, 2, 0]
        return total(items, n) * x[items[0]]

    found = dj.grad(f)(X, 3)
    np.testing.assert_allclose(found, dj.grad(f, backend="python")(X, 3), rtol=1e-12)
    np.testing.assert_allclose(found, differences(lambda z: f(z, 3), X), rtol=1e-6, atol=1e-8)
