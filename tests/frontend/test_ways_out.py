"""What is read on the way out of a function, and after it: by `finally`, by `__exit__`, by closures."""

import contextlib

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([0.3, 0.4, 0.5])


def finally_returns(x, n):
    s = x[0]
    try:
        if n == 0:
            return 1.0
        s = x[1] * 2.0
    finally:
        return s * s  # noqa: B012


def finally_stores(x, n):
    out, s = np.zeros(2), x[0]

    def body():
        nonlocal s
        try:
            if n == 0:
                return 1.0
            s = x[1] * 2.0
        finally:
            out[0] = s
        return s

    found = body()
    return out[0] + found * 0.5


def finally_reads_an_array(x, n):
    out, y = np.zeros(3), x * 2.0

    def body():
        y = x * 2.0
        try:
            for i in range(5):
                if i == n:
                    return 0.0
                y = np.sin(y)
        finally:
            out[:] = y
        return 1.0

    return body() + np.sum(out) + np.sum(y)


def closure_of_two_returns(x, n):
    def make():
        b = np.cos(x)

        def g():
            return np.sum(b * b)

        if n == 0:
            return g
        b = x * 2.0
        return g

    return make()()


def closure_of_a_loop(x, n):
    def make():
        s = x[0]

        def h():
            return s * s

        for i in range(4):
            if i == n:
                return h
            s = s * x[1] * 2.0
        return h

    return make()()


class Adds:
    def __init__(self, out, get):
        self.out, self.get = out, get

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.out[0] = self.get()


def exit_of_a_class(x, n):
    out = np.zeros(1)

    def body():
        s = x[0]
        with Adds(out, lambda: s * s):
            if n == 0:
                return 1.0
            s = x[1] * x[2]
        return s

    return body() + out[0]


@contextlib.contextmanager
def adding(out, get):
    try:
        yield
    finally:
        out[0] = get()


def exit_of_a_generator(x, n):
    out = np.zeros(1)

    def body():
        s = x[0]
        with adding(out, lambda: s * s):
            if n == 0:
                return 1.0
            s = x[1] * x[2]
        return s

    return body() + out[0]


def returned_reference(x, n):
    """An array that is joined with nothing on the returning path, and gets a cotangent behind."""
    a, b, c = x.copy(), np.cos(x), x * x
    kept = [x * 2.0]
    s, r = x[0], x[1] * x[2]
    if a[0] > r:
        w = 0
        while w < n + 1:
            w += 1
            b = kept[-1]
            if (n + 1) % 3 != 0:
                return s + np.sum((b + x) * np.dot(x, x))
            k = 0
            while k < n + 1:
                k += 1
                b *= np.sin(b[::-1] + (c + kept[-1]))
    return s + r * np.sum(a * b) + np.sum(c)


FUNCTIONS = [
    finally_returns, finally_stores, finally_reads_an_array, closure_of_two_returns, closure_of_a_loop,
    exit_of_a_class, exit_of_a_generator, returned_reference,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_ways_out(f, backend):
    for n in (0, 2, 5):
        value, gradient = dj.value_and_grad(f, backend=backend)(X, n)
        assert value == pytest.approx(f(X, n))
        assert dj.jit(f, backend=backend)(X, n) == pytest.approx(f(X, n))
        slopes = [(f(X + e, n) - f(X - e, n)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-8)
        dot = np.array([1.0, -2.0, 0.5])
        tangent = dj.jvp(lambda x, n=n: f(x, n), (X,), (dot,), backend=backend)[1]
        assert tangent == pytest.approx(gradient @ dot)
