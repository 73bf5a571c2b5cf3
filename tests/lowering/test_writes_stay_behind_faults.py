"""Arrays of the caller are left as Python leaves them, also where loops are put together with others before a fault."""

import numpy as np
import pytest

import diffjit as dj


def a_store_out_of_bounds(x, a, n):
    for i in range(2, 6):
        a[n * i] = np.prod(np.cos(x))
        np.sin(x, out=x)
    return 0.0


def a_slice_that_does_not_fit(x, a, n):
    s = np.sum(np.cos(x))
    a[1:4] = a[:n] * s
    x *= 2.0
    return s


def operands_that_do_not_fit(x, a, n):
    t = (a[:n] + a[1:4]) * 2
    x[:3] = 7.0
    a[0] = 3.0
    return np.sum(t)


def a_product_that_does_not_fit(x, a, n):
    s = np.sum(np.cos(x))
    t = a[:n] @ a[1:4]
    x *= 2.0
    return t + s


def a_division_by_zero(x, a, n):
    s = np.sum(np.cos(x))
    r = 7 // (n - 2)
    x *= 2.0
    return s + r


def an_exception_of_ones_own(x, a, n):
    y = x * 2
    t = np.where(y > 0, a[:n].sum(), y)
    if n == 2:
        raise KeyError(n)
    x -= t
    return y.sum()


def an_empty_list(x, a, n):
    items = [np.sum(np.cos(x))]
    for _ in range(n - 1):
        items.append(items[-1])
    for _ in range(3):
        items.pop()
    x += 1.0
    return 0.0


PROGRAMS = [
    a_store_out_of_bounds, a_slice_that_does_not_fit, operands_that_do_not_fit, a_product_that_does_not_fit,
    a_division_by_zero, an_exception_of_ones_own, an_empty_list,
]  # fmt: skip


def outcome(f, n):
    x, a = np.linspace(-1, 1, 5), np.linspace(1, 2, 8)
    try:
        f(x, a, n)
    except (IndexError, ValueError, ZeroDivisionError, KeyError) as error:
        return type(error).__name__, x.tolist(), a.tolist()
    return "", x.tolist(), a.tolist()


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_arrays_are_left_as_python_leaves_them(f, backend):
    g = dj.jit(f, backend=backend)
    wanted = [outcome(f, n) for n in (2, 3)]
    assert wanted[0][0]
    for n, (error, *arrays) in zip((2, 3), wanted, strict=True):
        got, *found = outcome(g, n)
        assert got == error
        for left, right in zip(found, arrays, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-14)
