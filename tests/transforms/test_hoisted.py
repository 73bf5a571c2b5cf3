"""Lengths of tapes are computed before the loops that record: nothing that may raise is asked for early."""

import numpy as np
import pytest

import diffjit as dj


def divided(x, s, n, m, k):
    for _ in range(n):
        if k != 0:
            for _ in range(m // k):
                s = s + np.sin(s * x) + x
    return s


def stepped(x, s, n, m, k):
    for _ in range(n):
        if k != 0:
            for _ in range(0, m, k):
                s = s + np.sin(s * x) + x
    return s


def cast(x, s, n, m, k):
    for _ in range(n):
        if abs(s) < 1e3 and k != 0:
            for _ in range(int(x * 1e30 / k)):
                s = s + np.sin(s * x) + x
    return s * x


def multiplied(x, s, n, m, k):
    for _ in range(n):
        if m < 1000:
            for _ in range(m * m * m):
                s = s + np.sin(s * x) + x
    return s * x


def told(x, s, n, m, k):
    for _ in range(n):
        if k == 0:
            raise ValueError("there are no parts")
        for _ in range(m // k):
            s = s + np.sin(s * x) + x
    return s


def rare(x, s, n, m, k):
    for i in range(n):
        if i == k:
            for j in range(m):
                s = np.sin(s * x) + 1e-3 * j
    return s


CALLS = [
    (divided, (3, 4, 0)), (divided, (0, 4, 0)), (divided, (3, 4, 2)),
    (stepped, (3, 4, 0)), (stepped, (0, 4, 0)), (stepped, (3, 4, -1)), (stepped, (3, 5, 2)),
    (cast, (3, 4, 0)), (multiplied, (2, 10**9, 0)), (multiplied, (2, 2, 0)),
    (told, (0, 4, 0)), (told, (3, 4, 2)), (rare, (200000, 300, 7)),
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(("f", "ints"), CALLS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_programs_that_never_get_there(f, ints, backend):
    x, s = 0.3, 0.4
    if backend == "python" and f is rare:
        ints = 20, 30, 7
    want = f(x, s, *ints), [(f(x + a, s + b, *ints) - f(x - a, s - b, *ints)) / 2e-6 for a, b in ((1e-6, 0), (0, 1e-6))]
    value, gradient = dj.value_and_grad(f, (0, 1), backend=backend)(x, s, *ints)
    assert value == pytest.approx(want[0])
    np.testing.assert_allclose(gradient, want[1], rtol=1e-6, atol=1e-8)
    _, pullback = dj.vjp(f, x, s, *ints, backend=backend)
    np.testing.assert_allclose(pullback(1.0)[:2], want[1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_the_users_own_error_comes_first(backend):
    for verb in (dj.grad, dj.value_and_grad, dj.jit):
        with pytest.raises(ValueError, match="no parts"):
            verb(told, backend=backend)(0.3, 0.4, 3, 4, 0)
