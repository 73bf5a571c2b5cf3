"""Lengths that the way back asks for: numbers are recorded for them, and no array."""

import random
import re

import numpy as np
import pytest

import diffjit as dj
from tests.aliases.check import loaded

X = np.array([0.3, -0.5, 0.7, 0.2])


def diffusion(u, n):
    """What is made in each step has the length of what comes in."""
    for _ in range(n):
        lap = np.zeros(len(u))
        lap[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        flux = np.zeros_like(u)
        flux[1:] = np.diff(u)
        u = u + 0.1 * lap + 0.05 * flux
    return np.sum(u * u)


def rows(u, n):
    """Rows of a matrix, one after the other."""
    a = np.outer(u, np.arange(3.0))
    for _ in range(n):
        lap = np.zeros((len(a), a.shape[1]))
        for i in range(1, len(a) - 1):
            lap[i] = a[i + 1] - 2 * a[i] + a[i - 1]
        a = a + 0.1 * lap
    return np.sum(a * a)


def growing(u, n):
    """Lengths that hang on the iteration are numbers on a tape."""
    total = 0.0
    for k in range(n):
        b = np.concatenate((u * 2.0, u[:k]))
        total += np.sum(b.reshape(-1, 1) + np.zeros((1, k + 1))) * 0.5
    return total


def halves(u, n):
    """A `while`, and what only one branch makes."""
    total = 0.0
    while n > 0:
        if n % 2:
            b = np.outer(u, np.arange(float(n)))
            total += np.sum(b[:, ::2].ravel())
        else:
            total += u.mean() * n
        n -= 1
    return total


CASES = [(diffusion, 3), (rows, 3), (growing, 4), (halves, 5)]


def slope(f, x, n):
    step = 1e-6
    return np.array([(f(x + step * d, n) - f(x - step * d, n)) / (2 * step) for d in np.eye(len(x))])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("f", "n"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_gradients(f, n, backend):
    """In one program, in two, and once more."""
    gradient = dj.grad(f, backend=backend)
    expected = slope(f, X, n)
    np.testing.assert_allclose(gradient(X, n), expected, rtol=1e-7, atol=1e-9)
    value, pullback = dj.vjp(dj.jit(f, backend=backend), X, n)
    assert value == pytest.approx(f(X, n))
    np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-7, atol=1e-9)
    direction = np.array([0.2, -0.1, 0.4, 0.3])
    curved = dj.hvp(f, (X, n), (direction, 0), backend=backend)
    step = 1e-5
    change = (gradient(X + step * direction, n) - gradient(X - step * direction, n)) / (2 * step)
    np.testing.assert_allclose(curved[0] if isinstance(curved, tuple) else curved, change, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("f", "n"), [(diffusion, 3), (rows, 3)], ids=["diffusion", "rows"])
def test_nothing_is_recorded(f, n):
    """Neither arrays nor their lengths, where types say that arguments have them."""
    text = dj.source(dj.grad(f), X, n)
    assert ".append(" not in text
    assert not re.search(r"_(tape|stack)\w*\[t\] = .*(size|shape)", text)


def test_lengths_are_numbers():
    """One for each array that has a length of its own."""
    text = dj.source(dj.grad(growing), X, 4)
    assert ".append(" not in text
    assert "dtype=np.int64" in text


class Program:
    """Random steps that make, cut, join and reshape arrays, whose lengths hang on the iteration."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(u, n):", "    a = u * 1.0", "    total = 0.0"]
        counted = self.random.random() < 0.6
        self.lines.append("    for k in range(n):" if counted else "    k = 0\n    while k < n:")
        self.depth = 2
        for j in range(self.random.randint(3, 6)):
            self.step(j)
        if not counted:
            self.add("k += 1")
        self.lines.append("    return total + np.sum(a * a)")

    def add(self, text):
        self.lines.append("    " * self.depth + text)

    def step(self, j):
        pick = self.random.choice
        if self.random.random() < 0.25:
            self.add(f"if k % 2 == {pick('01')}:")
            self.depth += 1
            self.make(j)
            self.depth -= 1
        else:
            self.make(j)

    def make(self, j):
        pick = self.random.choice
        kind = pick(["zeros", "full", "join", "outer", "mean", "grid", "grow", "ravel"])
        name = f"b{j}"
        if kind == "zeros":
            self.add(f"{name} = np.{pick(['zeros', 'empty'])}({pick(['len(a)', 'a.shape[0] + k', 'a.size'])})")
            self.add(f"{name}[:] = {pick(['0.5', '1.0'])}")
            self.add(f"{name}[:len(a)] {pick(['+=', '='])} a * {pick(['0.5', 'a'])}")
            self.add(f"total += np.sum({name}) * {pick(['0.3', 'u[0]'])}")
        elif kind == "full":
            self.add(f"{name} = np.full(len(a) + k, u[{self.random.randint(0, 3)}])")
            self.add(f"total += np.sum({name}[{pick(['1:', ':-1', '::2'])}])")
        elif kind == "join":
            self.add(f"{name} = np.concatenate((a, a[:k + 1] * u[0]))")
            self.add(f"total += np.{pick(['sum', 'mean'])}({name})")
        elif kind == "outer":
            self.add(f"{name} = np.outer(a, np.arange(k + 1.0))")
            self.add(f"total += np.sum({name}[:, ::2].ravel() * 0.1)")
        elif kind == "mean":
            self.add(f"total += a[{pick([':k + 1', 'k % 2:', ':'])}].mean()")
        elif kind == "grid":
            self.add(f"{name} = a.reshape(-1, 1) + np.zeros((1, k + 1))")
            self.add(f"{name} = {name}.T @ np.ones(({name}.shape[0], 2))")
            self.add(f"total += np.sum({name}) * 0.1")
        elif kind == "grow":
            self.add(f"a = np.append(a, a[0] * {pick(['0.5', 'u[1]'])})[{pick([':', '1:', ':5'])}]")
        else:
            self.add(f"a = a.copy().ravel() * {pick(['0.9', '1.1'])}")


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    """As difference quotients say."""
    text = "\n".join(Program(seed).lines)
    f = loaded(text, f"lengths_{seed}", np=np)["f"]
    backend = "numba" if seed % 8 == 0 else "python"
    for n in (3, 0):
        found = dj.grad(f, backend=backend)(X, n)
        np.testing.assert_allclose(found, slope(f, X, n), rtol=1e-6, atol=1e-8, err_msg=text)
