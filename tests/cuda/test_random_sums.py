"""Random sums by kernels, against NumPy and the processor; `python -m tests.cuda.test_random_sums A B` for more."""

import linecache
import os
import sys

import numpy as np
import pytest

import diffjit as dj
from tests.cuda.random_sums import program


def tried(seed):
    """A program by value and gradient."""
    text, args = program(seed)
    name = f"<sums {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)  # noqa: S102 - a program of our own
    f = scope["f"]
    eps = np.finfo(args[0].dtype).eps
    value, gradient = dj.value_and_grad(f, (0, 1), backend="cuda")(*args)
    wanted, other = f(*(a.astype(float) for a in args)), dj.grad(f, (0, 1))(*args)
    np.testing.assert_allclose(value, wanted, rtol=1e5 * eps, atol=1e5 * eps)
    for a, b in zip(gradient, other, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=0, atol=1e5 * eps * max(1.0, np.max(np.abs(b))))


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 60))])
def test_random_sums(seed):
    tried(seed)


if __name__ == "__main__":
    os.environ.setdefault("DIFFJIT_CUDA", "watched")
    for k in range(*map(int, sys.argv[1:3])):
        try:
            tried(k)
        except Exception as error:  # noqa: BLE001 - all are shown
            sys.stdout.write(f"{k}: {type(error).__name__}: {error}\n{program(k)[0]}\n")
