"""Cotangents of memory whose identity only the run knows: joined by branches and loops, written to, seen in views."""

import linecache
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit import MemoryProblem

BACKENDS = ["python", "numba"]
X, Y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])


def element(x, y, s):
    x = x * 1.0
    z = x if s > 0.0 else y
    q = np.broadcast_to(z, (2, 3))
    out = q[1, 0]
    x[0] = 5.0
    return out * x[1] + z[0]


def whole(x, y, s):
    x = x * 1.0
    z = x if s > 0.0 else y
    q = np.broadcast_to(z[:1], (1000,))
    out = np.sum(q * q * np.arange(1000.0))
    x[0] = 5.0
    return out * x[1] + z[0]


def part_of_it(x, y, s):
    x = x * 1.0
    z = x if s > 0.0 else y
    q = np.broadcast_to(z[:, None], (3, 64))[1:, ::2]
    out = np.sum(np.sin(q) * np.arange(32.0))
    x[1] = 5.0
    return out * x[1] + np.sum(q[0])


def swapped(x, y, s):
    a, b = x * 1.0, y * s
    out = 0.0
    for _ in range(len(x)):
        out += np.sum(np.broadcast_to(a[:1], (100,)) ** 2)
        a[0] = 0.5 * a[0] + b[1]
        a, b = b, a
    return out


def slopes(f, x, *rest, step=1e-6):
    return np.array([(f(x + h, *rest) - f(x - h, *rest)) / (2 * step) for h in step * np.eye(len(x))])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [element, whole, part_of_it, swapped])
@pytest.mark.parametrize("s", [1.0, -1.0])
def test_broadcast_views(f, s, backend):
    gradient = dj.grad(f, (0, 1), backend=backend)(X, Y, s)
    np.testing.assert_allclose(gradient[0], slopes(f, X, Y, s), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(gradient[1], slopes(lambda y: f(X, y, s), Y), rtol=1e-6, atol=1e-7)


def joined(x, y, s):
    x = x * 1.0
    z = x if s > 0.0 else y
    w = np.broadcast_to(z[:1], (3,)) if s < 2.0 else y
    x[0] = 5.0
    return np.sum(w * w)


def listed(x, y, s):
    x = x * s
    views = []
    for k in range(len(y)):
        views.append(np.broadcast_to(x[:1], (3,)))
        x[0] = x[1] * k
    return sum(np.sum(v * v) for v in views)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [joined, listed])
def test_broadcast_views_that_are_joined(f, backend):
    with pytest.raises(MemoryProblem, match=r"DJ404[\s\S]*broadcast view is joined[\s\S]*\.copy\(\)"):
        dj.grad(f, backend=backend)(X, Y, 1.0)


def columns(x, y, s, n=2):
    t, _ = np.broadcast_arrays(x, np.zeros((2, len(x))))
    found = [y * np.ones(t.shape), t]
    for k in range(n):
        found = [*found, np.sin(s * (k + 1) * t) * y]
    return sum(np.sum(c * c * x) * (k + 1) for k, c in enumerate(found))


def parts_of_it(x, y, s, n=3):
    found = []
    for k in range(n):
        found.append(np.broadcast_to(x[k : k + 1] * s, (2, 3))[1:])
        found.append(np.ones((1, 3)) * y)
    return sum(np.sum(v * v * x) for v in found)


def set_later(x, y, s, n=3):
    found = [np.ones((2, len(x))) * y * k for k in range(n)]
    found[n - 1] = np.broadcast_to(x, (2, len(x)))
    found[0] = np.broadcast_to(x * s, (2, len(x)))
    return sum(np.sum(v * v * y) for v in found)


def chosen_first(x, y, s, n=3):
    found = []
    for k in range(n):
        v = np.broadcast_to(x, (k + 1, len(x))) if y[k] > 0.0 else np.ones((k + 1, 1)) * y
        found.append(v)
    return sum(np.sum(v[-1] ** 3 * s) for v in found) + found[0][0, 0] * found[-1][-1, 2]


def carried(x, y, s, n=3):
    v, found = np.broadcast_to(x, (2, len(x))), []
    for k in range(n):
        found.append(v)
        v = np.broadcast_to(y * k, (2, len(x)))
    return sum(np.sum(w[-1] ** 3 * s) for w in found) + np.sum(v)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [columns, parts_of_it, set_later, chosen_first, carried])
def test_broadcast_views_in_lists_of_memory_that_stays(f, backend):
    x, y, s = np.array([0.5, 1.2, -0.7]), np.array([0.3, -0.4, 0.9]), 1.3
    assert dj.jit(f, backend=backend)(x, y, s) == pytest.approx(f(x, y, s), rel=1e-13)
    gradient = dj.grad(f, (0, 1, 2), backend=backend)
    expected = slopes(f, x, y, s), slopes(lambda y: f(x, y, s), y), slopes(lambda s: f(x, y, s[0]), np.array([s]))
    for got, by_steps in zip(gradient(x, y, s), expected, strict=True):
        np.testing.assert_allclose(got, by_steps.reshape(np.shape(got)), rtol=1e-6, atol=1e-7)
    tangent = dj.jvp(f, (x, y, s), (y, x, 0.2), backend=backend)[1]
    assert tangent == pytest.approx(expected[0] @ y + expected[1] @ x + 0.2 * expected[2][0], rel=1e-6)
    second = dj.hvp(f, (x, y, s), (y, x, 0.2), argnums=(0, 1, 2), backend=backend)
    ahead, behind = (gradient(x + h * y, y + h * x, s + h * 0.2) for h in (1e-6, -1e-6))
    for got, one, other in zip(second, ahead, behind, strict=True):
        np.testing.assert_allclose(got, (one - other) / 2e-6, rtol=1e-5, atol=1e-6)


# Random programs ------------------------------------------------------------------------------------------------------


class Writer:
    """A random program of joined arrays that are written to, and of what is seen of them through views."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = [
            "def f(x, y, s, n):",
            "    a, b = x * 1.0, y * 1.0",
            "    z = a if s > 0.0 else b",
            "    out = 0.0",
        ]
        self.views = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def seen(self):
        name = self.pick("a", "b", "z", "z")
        return self.pick(
            name, f"{name}[1:]", f"{name}[::-1]", f"np.broadcast_to({name}[:1], (4,))",
            f"np.broadcast_to({name}, (2, 3))",
            f"np.broadcast_to({name}[:, None], (3, 2))[1:]", f"np.broadcast_to({name}[2:], (70,))[3:]",
        )  # fmt: skip

    def block(self, depth, names):
        indent = "    " * depth
        for _ in range(self.random.randint(2, 4)):
            kind = self.random.random()
            if kind < 0.3:
                used, by = self.pick(self.seen(), self.seen(), *names), self.pick("s", "0.5")
                line = f"out += np.sum({self.pick('np.sin', 'np.square')}({used})) * {by}"
            elif kind < 0.45:
                self.views += 1
                line = f"v{self.views} = {self.seen()}"
                names = [*names, f"v{self.views}"]
            elif kind < 0.7:
                value = self.pick("s", "a[1] * s", "z[0] * b[2]", "out * 0.1")
                line = f"{self.pick('a', 'b', 'z')}[{self.pick('0', '1', '-1')}] = {value}"
            elif kind < 0.8:
                line = self.pick("a, b = b, a", "z = b if out > 0.3 else a", "a, z = z, a", "z[1:] = z[:-1] * 0.5")
            elif depth < 3:
                head = self.pick("for _ in range(n):", "if out > 0.5:", "if s > 0.1:")
                self.lines += [indent + head, indent + "    out *= 0.9"]
                self.block(depth + 1, names)
                continue
            else:
                continue
            self.lines.append(indent + line)
        return names

    def text(self):
        names = self.block(1, [])
        last = " + ".join(f"np.sum({v})" for v in names) or "z[0]"
        return "\n".join([*self.lines, f"    return out + np.sum(a * b) + z[1] + {last}"]) + "\n"


def drawn(seed):
    text = Writer(seed).text()
    file = f"<shadows {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = {"np": np}
    exec(compile(text, file, "exec"), space)  # noqa: S102
    return space["f"], text


def compare(seed, backend):
    """1 if the program has a slope here that differences see, and diffjit's is that one; 0 where it is refused."""
    f, text = drawn(seed)
    rng = np.random.default_rng(seed)
    at, n = rng.normal(size=7), 3
    together = lambda w: f(w[:3].copy(), w[3:6].copy(), w[6], n)
    rough, fine = (
        np.array([(together(at + h) - together(at - h)) / (2 * d) for h in d * np.eye(7)]) for d in (1e-5, 1e-6)
    )
    if not np.allclose(rough, fine, rtol=1e-4, atol=1e-6):
        return 0
    try:
        found = dj.grad(f, (0, 1, 2), backend=backend)(at[:3], at[3:6], at[6], n)
    except MemoryProblem:
        return 0
    np.testing.assert_allclose(np.hstack(found), rough, rtol=1e-4, atol=1e-6, err_msg=text)
    return 1


@pytest.mark.parametrize("batch", range(3))
def test_random_programs(batch):
    assert sum(compare(100 * batch + seed, "python") for seed in range(15)) > 5


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(9000 + seed, "numba") for seed in range(5)) > 1
