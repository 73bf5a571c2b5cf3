"""Memory that compiled code keeps for its next large arrays: bounded, given back on request, safe among threads."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

import diffjit as dj
from diffjit import settings
from diffjit.lowering.calls import reserve

pytestmark = pytest.mark.skipif(settings.backend != "numba", reason="memory of compiled code")


def squares(x):
    u = x * x
    for i in range(3):
        u = np.sin(u) + x * i
    return u


@pytest.fixture(autouse=True)
def limit():
    before = settings.reserve_mb
    yield
    settings.reserve_mb = before


def test_kept_within_the_limit_and_given_back() -> None:
    f = dj.jit(squares)
    x = np.random.default_rng(0).normal(size=300_000)
    settings.reserve_mb = 64
    for _ in range(4):
        assert np.allclose(f(x), squares(x), rtol=1e-12)
    assert 0 < reserve.held() <= 64 << 20
    settings.reserve_mb = 0
    assert reserve.held() == 0
    assert np.allclose(f(x), squares(x), rtol=1e-12)
    assert reserve.held() == 0


def test_lengths_of_all_kinds_stay_below_the_limit() -> None:
    f = dj.value_and_grad(lambda x: np.sum(squares(x) ** 2))
    settings.reserve_mb = 10
    rng = np.random.default_rng(1)
    for n in rng.integers(1, 400_000, 40):
        x = rng.normal(size=n)
        value, gradient = f(x)
        assert value == pytest.approx(np.sum(squares(x) ** 2), rel=1e-11)
        assert gradient.shape == x.shape
        assert reserve.held() <= 10 << 20


def test_results_outlive_the_function() -> None:
    settings.reserve_mb = 64
    f = dj.jit(lambda x: squares(x) + 1.0)
    x = np.linspace(0.0, 1.0, 200_000)
    kept = f(x)
    expected = kept.copy()
    del f
    gc.collect()
    for _ in range(3):
        dj.jit(squares)(x)
    assert np.array_equal(kept, expected)
    del kept
    gc.collect()


def test_threads_share_it() -> None:
    settings.reserve_mb = 64
    f = dj.jit(squares)
    xs = [np.random.default_rng(k).normal(size=40_000 * (k + 1)) for k in range(4)]
    expected = [squares(x) for x in xs]
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(60) if not np.allclose(f(xs[k]), expected[k], rtol=1e-12))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork")  # JAX's, of threads: the child does not call it
def test_in_a_forked_process() -> None:
    settings.reserve_mb = 64
    f = dj.jit(squares)
    x = np.linspace(0.0, 1.0, 200_000)
    expected = f(x)
    child = os.fork()
    if child == 0:
        right = all(np.array_equal(f(x), expected) for _ in range(5))
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(f(x), expected)


SMALL = """
import resource
import sys
import numpy as np
import diffjit as dj


turns, calls = map(int, sys.argv[1:])


def steps(x):
    u = x * 1.0
    total = 0.0
    for _ in range(turns):
        u = np.sin(u) * x
        total += np.sum(u * u)
    return total


gradient = dj.grad(steps)
x = np.linspace(0.1, 1.0, 2000)
for _ in range(3):
    gradient(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(calls):
    gradient(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what other libraries keep is up to them")
@pytest.mark.parametrize(("turns", "calls"), [(200, 10), (8000, 2)])
def test_small_arrays_are_not_given_back_to_the_system(tmp_path, turns, calls) -> None:
    """So many arrays of 16 KB are recorded in each call: four pages each, were they new each time."""
    program = tmp_path / "small.py"
    program.write_text(SMALL)
    command = [sys.executable, str(program), str(turns), str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert int(done.stdout) < 4 * turns
