"""Pools of threads and processes, and joblib: plain Python is the oracle."""

import concurrent.futures
import multiprocessing
import multiprocessing.pool

import joblib
import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError

X = np.linspace(0.2, 1.4, 5)


def work(v, power=2):
    return np.sin(v) ** power


def threads(x):
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        found = list(pool.map(work, x))
        later = [pool.submit(work, v, power=3) for v in x]
        return sum(found) + sum([f.result() for f in concurrent.futures.as_completed(later)])


def pools(x):
    with multiprocessing.pool.ThreadPool(2) as pool:
        total = sum(pool.map(work, x)) + sum(pool.starmap(work, [(v, k) for k, v in enumerate(x)]))
        return total + pool.apply_async(work, (x[0],)).get() + sum(pool.imap_unordered(np.cos, x))


def jobs(x):
    powers = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(work)(v, power=k) for k, v in enumerate(x))
    return np.sum(np.array(powers) * x)


def in_processes(x):
    rows = joblib.Parallel(n_jobs=2)(joblib.delayed(np.outer)(x[k:], x[k:]) for k in range(3))
    return np.sum(rows[0]) + np.trace(rows[2]) + sum(joblib.Parallel(n_jobs=1)(joblib.delayed(work)(v) for v in x))


@pytest.mark.parametrize("f", [threads, pools, jobs, in_processes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["numba", "python"])
def test_workers(f, backend):
    way = np.cos(np.arange(5.0))
    slope = (f(X + 1e-6 * way) - f(X - 1e-6 * way)) / 2e-6
    value, gradient = dj.value_and_grad(f, backend=backend)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    assert gradient @ way == pytest.approx(slope, rel=1e-7)


def test_an_initializer_is_refused():
    def begins(x):
        with concurrent.futures.ThreadPoolExecutor(2, "name", print) as pool:
            return sum(pool.map(work, x))

    with pytest.raises(DiffjitError, match="initializer"):
        dj.jit(begins)(X)


def test_threads_share_what_they_change():
    def noted(x):
        path = []

        def note(v):
            path.append(v)
            return v**2

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return sum(pool.map(note, x)) + path[1]

    assert dj.jit(noted)(X) == pytest.approx(noted(X))
    assert dj.grad(noted)(X)[1] == pytest.approx(2 * X[1] + 1)


def test_what_is_changed_in_another_process_is_refused():
    def changes_a_list(x):
        path = []

        def note(v):
            path.append(v)
            return v

        joblib.Parallel(n_jobs=2)(joblib.delayed(note)(v) for v in x)
        return x[0] * len(path)

    def changes_an_array(x):
        y = x.copy()

        def double(k):
            y[k] *= 2

        with multiprocessing.Pool(2) as pool:
            pool.map(double, range(3))
        return np.sum(y)

    for f in (changes_a_list, changes_an_array):
        with pytest.raises(DiffjitError, match="another process"):
            dj.jit(f)(X)
