"""Arrays of few numbers, of which the text says how many, are recorded as rows of tapes, but for what changes later."""

import numpy as np
import pytest

import diffjit as dj


def fresh(x):
    total = 0.0
    for i in range(len(x)):
        a = np.zeros(9)
        for j in range(9):
            a[j] = x[i] * j + np.sin(x[i])
        b = np.exp(a * 0.1)
        a *= b
        a[2] = a[3] * a[4]
        total += np.sum(a * b)
    return total


def carried(x):
    y = np.ones(7)
    total = 0.0
    for i in range(len(x)):
        y = np.tanh(y * x[i] + np.roll(y, 1))
        if x[i] > 0.5:
            z = y * y
            y = z + 0.1 * y
        total += y @ y
    return total


def matrices(x):
    h = np.zeros((3, 5))
    total = 0.0
    for _ in range(2):
        for i in range(len(x)):
            h = np.sin(h + x[i] * np.arange(15.0).reshape(3, 5) * 0.1)
            h[0] = h[1] * h[2]
            total += np.sum(h[:, ::2] ** 3)
    return total


def held(x):
    s = np.zeros(8)
    kept = []
    for i in range(len(x)):
        s = s * 0.9 + np.cos(x[i] * np.arange(8.0) * 0.1)
        kept.append(s)
    total = 0.0
    for h in kept:
        total += np.sum(h * h * h)
    return total


def behind(x):
    total = 0.0
    for b in range(3):
        m = np.zeros((3, 2, 6))
        for j in range(3):
            m[j, 1] = np.sin(x[j : j + 6] * (b + 1.0))
        last = m[0, 0]
        for j in range(3):
            last = m[j, 1].copy()
            m[j, 0] += last
        total += np.sum(last * last) + np.sum(m[:, 0] ** 3)
    return total


def swapped(x):
    a, b = np.ones(6), np.full(6, 0.5)
    for i in range(len(x)):
        a[i % 6] = b[0] * x[i]
        b *= np.cos(a)
        a, b = b, a
    return np.sum(a * b)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [fresh, carried, matrices, held, behind, swapped], ids=lambda f: f.__name__)
def test_derivatives(f, backend):
    x = np.linspace(0.1, 0.9, 12)
    dj.check_grads(f, (x,), order=2 if backend == "python" else 1, backend=backend)
    pullback = dj.vjp(f, x, backend=backend)[1]
    np.testing.assert_array_equal(pullback(1.0), pullback(1.0))


def test_rows_and_stacks():
    x = np.linspace(0.1, 0.9, 12)
    text = dj.source(dj.grad(carried, backend="python"), x)
    assert "_tape[i, :]" in text
    assert "s_bar_tape" not in dj.source(dj.grad(held, backend="python"), x)
