"""Large nests in threads: the same results with any number of them, in forked processes and under Python's threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import diffjit as dj
from diffjit import tree
from diffjit.lowering.calls import threads

RNG = np.random.default_rng(0)
LONG = RNG.standard_normal(400_000)
WIDE = RNG.standard_normal((700, 900))


def elementwise(x):
    return np.exp(-x * x) * np.sin(3.0 * x)


def total(x):
    return np.sum(np.tanh(x) * np.exp(-x * x)) + np.max(x) * np.min(x)


def rows(x):
    shifted = x - np.max(x, axis=1, keepdims=True)
    return np.log(np.sum(np.exp(shifted), axis=1)) + np.mean(np.sin(x), axis=1)


def columns(x):
    return np.sum(np.exp(np.sin(x)), axis=0)


def changed(x):
    y = x.copy()
    y[1:-1] += 0.5 * np.sin(x[2:]) * np.cos(x[:-2])
    y *= 2.0
    return y


def any_and_all(x):
    return np.where(np.any(x > 3.0, axis=1), np.sum(x, axis=1), np.prod(np.cos(x), axis=1))


def pairs(x):
    d = x[:, None] - x[None, :]
    return np.sum(np.exp(-d * d))


def integers(x):
    k = (x * 100).astype(np.int64)
    return np.sum(k * k - 3 * k), k % 7


def steps(x):
    for _ in range(3):
        x = x + 0.1 * np.sin(x) * np.exp(-x)
    return np.sum(x * x)


def shifted(x):
    lap = 4.0 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    flux = lap[1:] - lap[:-1]
    total = np.sum(np.where(flux > 0.0, 0.1 * flux, flux) ** 2) + np.sum(np.sin(lap[:, 1:] - lap[:, :-1]))
    y = np.exp(x)
    return total + np.sum(np.sin(y[2:] - 0.5 * y[1:-1])) + np.sum(np.cos(y))


PROGRAMS = [
    (elementwise, LONG),
    (total, LONG),
    (rows, WIDE),
    (columns, WIDE),
    (changed, WIDE),
    (any_and_all, WIDE),
    (pairs, LONG[:2000]),
    (integers, LONG),
    (steps, WIDE),
    (rows, np.asfortranarray(WIDE)),
    (shifted, WIDE),
    (shifted, np.asfortranarray(WIDE)),
    (total, LONG[::2]),
    (elementwise, LONG.astype(np.float32)),
    (total, np.append(LONG, 1e9)),  # out of the range of vectorised sines
]


@pytest.fixture
def several(monkeypatch):
    """At least two threads, also where there is one core."""
    threads.start()
    if not threads.available():
        pytest.skip("this Numba has no pool of threads that is safe")
    monkeypatch.setattr(threads, "cores", lambda: 3)
    yield
    monkeypatch.undo()
    dj.settings.threads = 0


def with_threads(n, f, *args):
    dj.settings.threads = n
    assert threads.running() == n
    return f(*args)


def scalar(f):
    def loss(x):
        out = f(x)
        return np.sum(np.sin(out)) if not np.isscalar(out) else out

    return loss


NAMES = [f"{f.__name__}_{k}" for k, (f, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("f", "x"), PROGRAMS, ids=NAMES)
def test_values_do_not_depend_on_threads(several, f, x):
    g = dj.jit(f)
    alone, shared = with_threads(1, g, x), with_threads(3, g, x)
    for a, b, plain in zip(*(r if isinstance(r, tuple) else (r,) for r in (alone, shared, f(x))), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(b, plain, rtol=2e-4 if x.dtype == np.float32 else 1e-9, atol=1e-6)


@pytest.mark.parametrize(
    ("f", "x"),
    [pytest.param(f, x, id=name) for (f, x), name in zip(PROGRAMS, NAMES, strict=True) if f is not integers],
)
def test_gradients_do_not_depend_on_threads(several, f, x):
    g = dj.grad(scalar(f))
    alone, shared = with_threads(1, g, x), with_threads(3, g, x)
    np.testing.assert_array_equal(alone, shared)
    if f is shifted:
        assert "add_shifted_rows_" in dj.source(g, x, stage="lowered")
        np.testing.assert_allclose(shared, dj.grad(scalar(f), backend="python")(x), rtol=1e-9, atol=1e-9)


def test_the_text_has_parts_where_arrays_are_large():
    g = dj.value_and_grad(lambda x: np.sum(np.exp(x) * x))
    assert "spread(" in dj.source(g, LONG, stage="lowered")
    assert "spread(" not in dj.source(g, LONG[:10], stage="lowered")


def test_python_threads_share_the_pool(several):
    g = dj.grad(total)
    expected = with_threads(1, g, LONG)
    dj.settings.threads = 3
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(g, [LONG] * 12):
            np.testing.assert_array_equal(found, expected)


FORKS = """
import os, sys
import numpy as np
import diffjit as dj

g = dj.grad(lambda x: np.sum(np.exp(-x * x) * np.sin(x)))
x = np.linspace(0.0, 1.0, 400_000)
dj.settings.threads = 2
first = g(x)
if os.fork() == 0:
    os._exit(0 if np.array_equal(g(x), first) else 1)
_, status = os.wait()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_goes_on_alone(tmp_path):
    program = tmp_path / "forks.py"
    program.write_text(FORKS)
    for _ in range(2):  # the second run finds machine code of the first
        made = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)  # noqa: S603
        assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        ([(30, 30)], tree.NO_THREADS),  # nothing is large
        ([(60, 60), (60,)], 3),  # loops over rows and columns are short, over pairs of rows they may not be
        ([(3, 3), (2000,)], 2),
        ([(200, 200)], 1),
        ([(40_000,)], 1),
        ([], tree.NO_THREADS),
    ],
)
def test_which_nests_may_pay(shapes, axes, monkeypatch):
    monkeypatch.setattr(tree, "cores", lambda: 2)
    assert tree.threads_from([1.0, *map(np.ones, shapes)]) == axes
    monkeypatch.setattr(tree, "cores", lambda: 1)
    assert tree.threads_from([1.0, *map(np.ones, shapes)]) == tree.NO_THREADS


def stencil(u):
    v = np.zeros_like(u)
    v[1:-1, 1:-1] = u[1:-1, 2:] * u[1:-1, :-2] + np.sin(u[2:, 1:-1])
    return np.sum(v * v)


def test_short_loops_are_not_made_functions_of_their_own():
    """To compile them takes half as long again."""
    small, large = np.ones((60, 60)), np.ones((300, 300))
    g = dj.grad(stencil, backend="numba")
    assert "spread(" not in dj.source(g, small, stage="lowered")
    assert "spread(" in dj.source(g, large, stage="lowered")
    np.testing.assert_allclose(g(large)[:30, :30], g(small)[:30, :30])
