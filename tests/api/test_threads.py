"""Threads that call derivatives while these are being specialised, and many derivatives in one process."""

import gc
import mmap
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine.derived import Derived

THREADS = 8


@pytest.fixture(autouse=True)
def _often():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(calls):
    """What calls give that begin at one moment, each in a thread of its own."""
    barrier = threading.Barrier(len(calls))
    found: list = [None] * len(calls)

    def run(k):
        barrier.wait()
        try:
            found[k] = calls[k]()
        except BaseException as error:  # noqa: BLE001 - for the test to see
            found[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


def helper(x, k):
    return np.sin(x) * x**k


@dj.custom_jvp
def squared(x):
    return x * x


@squared.defjvp
def squared_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return squared(x), 3.0 * x * t


def model(x, w):
    total = 0.0
    for k in range(3):
        total += np.sum(helper(x, k) * w)
    return total + np.sum(squared(x))


def expected(x, w):
    inner = sum(np.cos(x) * x**k + np.sin(x) * k * x ** max(k - 1, 0) for k in range(3))
    return inner * w + 3.0 * x


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_one_derivative_in_many_threads(backend, monkeypatch):
    made = []
    plain = Derived.specialise

    def specialise(self, args, kwargs):
        made.append(self)
        return plain(self, args, kwargs)

    monkeypatch.setattr(Derived, "specialise", specialise)
    monkeypatch.setattr(dj.settings, "cache_mb", 0)
    g = dj.grad(model, backend=backend)
    inputs = [(np.linspace(0.1, 1.0, 10 + k // 4), np.linspace(1.0, 2.0, 10 + k // 4)) for k in range(THREADS)]
    for found, given in zip(together([lambda a=a: g(*a) for a in inputs]), inputs, strict=True):
        np.testing.assert_allclose(found, expected(*given), rtol=1e-12)
    assert len(made) == 1
    assert gc.isenabled()


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_many_derivatives_in_many_threads(backend):
    x, w = np.linspace(0.1, 1.0, 7), np.linspace(1.0, 2.0, 7)
    calls = [
        lambda: dj.grad(model, backend=backend)(x, w),
        lambda: dj.value_and_grad(model, backend=backend)(x, w)[1],
        lambda: dj.vjp(model, x, w, backend=backend)[1](1.0)[0],
        lambda: dj.jacobian(model, backend=backend)(x, w),
        lambda: dj.grad(lambda v: model(v, w), backend=backend)(x),
        lambda: np.array([dj.jvp(model, (x, w), (e, 0.0 * w), backend=backend)[1] for e in np.eye(7)]),
        lambda: np.array([dj.linearize(model, x, w, backend=backend)[1](e, 0.0 * w) for e in np.eye(7)]),
        lambda: dj.jit(dj.grad(model), backend=backend)(x, w),
    ]
    for found in together(calls):
        np.testing.assert_allclose(found, expected(x, w), rtol=1e-12)


def test_errors_belong_to_their_threads():
    g = dj.grad(lambda a, k: a[k] * 2.0)

    def call(k):
        try:
            return g(np.ones(3), k).sum()
        except IndexError as error:
            return str(error)

    found = together([lambda k=k: call(k) for k in (0, 5, 1, 6, 2, 7)])
    assert found[::2] == [2.0] * 3
    assert ["5" in found[1], "6" in found[3], "7" in found[5]] == [True] * 3


def test_code_that_changes_under_threads():
    """Each call is that of one of the two."""

    def f(x):
        return x * x

    first, second = f.__code__, (lambda x: x * x * x).__code__
    g = dj.grad(f, backend="python")
    stop = threading.Event()

    def change():
        while not stop.is_set():
            f.__code__ = second
            f.__code__ = first

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for found in together([lambda: [g(2.0) for _ in range(5)] for _ in range(4)]):
            assert set(found) <= {4.0, 12.0}
    finally:
        stop.set()
        thread.join()
    assert g(2.0) == (4.0 if f.__code__ is first else 12.0)


# Memory ---------------------------------------------------------------------------------------------------------------


def growth(step, warm, count):
    """Bytes that remain for each of many steps, beside those of the first ones."""
    tracemalloc.start()
    try:
        for _ in range(warm):
            step()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            step()
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()


def fresh_closure():
    """A gradient of a function that is made for it."""
    fresh_closure.k += 1.0
    k = fresh_closure.k
    g = dj.grad(lambda x: np.sum(x * x) * k)
    np.testing.assert_allclose(g(np.ones(3)), 2.0 * k)


fresh_closure.k = 0.0


def fresh_products():
    """Products with Jacobians of a function that is made for them."""
    fresh_closure.k += 1.0
    k = fresh_closure.k
    f = lambda x: x * x * k
    assert dj.jvp(f, (1.5,), (1.0,))[1] == 3.0 * k
    assert dj.vjp(f, 1.5)[1](1.0)[0] == 3.0 * k


@pytest.mark.parametrize("step", [fresh_closure, fresh_products])
def test_fresh_closures_do_not_add_up(step, monkeypatch):
    monkeypatch.setattr("diffjit.api.engine.derived.MAX_CACHED", 20)  # it begins anew as often in both parts
    assert growth(step, 100, 40) < 2000


def test_calls_do_not_add_up():
    g = dj.grad(lambda x: np.sum(x * x))
    x = np.ones(3)
    assert growth(lambda: g(x), 100, 20000) < 0.5
    assert growth(lambda: g(np.ones(3)), 100, 20000) < 0.5


def resident():
    """What the process takes of the memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("cache", [True, False])
def test_ten_thousand_closures(cache, monkeypatch):
    if not cache:
        monkeypatch.setattr(dj.settings, "cache_mb", 0)
    for _ in range(500):
        fresh_closure()
    gc.collect()
    before = resident()
    for _ in range(10_000 if cache else 2000):
        fresh_closure()
    gc.collect()
    assert resident() - before < 4_000_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_million_calls():
    f = dj.grad(lambda a, b, c: a * b + np.sin(c))
    g = dj.grad(lambda x, k: np.sum(x[k] * x))
    x = np.ones(5)
    for n in (10_000, 1_000_000):
        before = resident()
        for k in range(n):
            f(1.0, 2.0, 3.0)
            g(x, k % 5)
            if k % 100 == 0:
                with pytest.raises(IndexError):
                    g(x, 5)
    gc.collect()
    assert resident() - before < 2_000_000
