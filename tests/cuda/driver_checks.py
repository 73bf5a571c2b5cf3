"""`python -m tests.cuda.driver_checks`: programs for a GPU with a driver that runs on the processor (`fake_driver`).

A process of its own: memory of one driver is no other's.
"""

import os
import sys

import numpy as np
import pytest

import diffjit as dj
from diffjit import DeviceProblem
from diffjit.lowering.cuda import launch, pool
from diffjit.lowering.cuda.gpu import cublas, driver, pages
from tests.cuda.fake_driver import OUT_OF_MEMORY, FakeDriver

FAKE = FakeDriver(memory=1 << 28)
HERE = [False]
X = np.random.default_rng(1).uniform(0.2, 1.0, 300_000)


def install():
    """Have this process use the driver of tests."""
    os.environ.pop("DIFFJIT_CUDA", None)
    driver._library = lambda: FAKE
    driver.Gpu.form = "native"
    driver._LEAST = driver._FEW = 0
    driver._TRUSTED = 0.0
    cublas.opened = lambda: None
    pages.here = lambda first, size: HERE[0]


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def asked(what):
    """What a call asks of the driver, by name."""
    FAKE.asked.clear()
    what()
    return FAKE.asked[:]


def devices_are_told():
    assert "a device of tests (compute capability 9.0, 0 GiB)" in str(dj.devices()[1])


def arrays_are_sent_once():
    f = dj.grad(lambda x: np.sum(np.sin(x) * x), backend="cuda")
    x = dj.device_put(X)
    close(f(x), np.cos(X) * X + np.sin(X))
    for here, wanted in ((False, 0), (True, 2)):
        HERE[0] = here
        assert asked(lambda: f(x)).count("cuMemPrefetchAsync") == wanted
    HERE[0] = False
    assert asked(lambda: f(X)).count("cuMemPrefetchAsync") >= 1  # sent, and the result is fetched
    close(dj.device_get(f(x)), np.cos(X) * X + np.sin(X))


def rooms_grow():
    def lane(x):
        s, k = x, 0
        while k < 2000 * x:
            s = np.sin(s) + 0.5 * x
            k += 1
        return s

    x = np.append(np.linspace(0.01, 1.0, 40), 4.0)
    f = dj.vmap(dj.grad(lane), backend="cuda")
    first = asked(lambda: close(f(x), dj.vmap(dj.grad(lane))(x)))
    assert first.count("cuLaunchKernel") > 2  # too small rooms, then those of local memory, then others
    assert first.count("cuMemAlloc_v2") >= 1
    assert launch.counts()["device"]
    again = asked(lambda: f(x))
    assert again.count("cuLaunchKernel") == 1
    assert "cuMemcpyHtoD_v2" not in again


def loops_that_run_once():
    def f(x):
        total = np.zeros(3)
        for i in range(x.shape[0]):
            u = np.sin(x[i] * np.arange(3.0))
            total += u * u
        return np.sum(total * np.array([1.0, 2.0, 3.0]))

    x = X[:400]
    close(dj.grad(f, backend="cuda")(x), dj.grad(f)(x))


def errors_have_their_names():
    f = dj.jit(lambda x: np.exp(x) + 1.0, backend="cuda")
    f(X)
    for code, kind, words in ((719, DeviceProblem, "CUDA_ERROR_719"), (OUT_OF_MEMORY, MemoryError, "launching")):
        FAKE.fails["cuLaunchKernel"] = code
        with pytest.raises(kind, match=words):
            f(X)
    close(f(X), np.exp(X) + 1.0)


def memory_is_given_back():
    n = (FAKE.memory // 8) * 5 // 8
    first = dj.device_put(np.ones(n))
    with pytest.raises(MemoryError):
        dj.device_put(np.ones(n))
    del first
    shown = asked(lambda: dj.device_put(np.ones(n // 2)))
    assert "free" in shown
    assert sum(FAKE.held.values()) <= FAKE.memory
    assert pool.MANAGED.pieces()


CHECKS = (
    devices_are_told, arrays_are_sent_once, rooms_grow, loops_that_run_once, errors_have_their_names,
    memory_is_given_back,
)  # fmt: skip

if __name__ == "__main__":
    install()
    for check in CHECKS:
        check()
        sys.stdout.write(f"{check.__name__}\n")
