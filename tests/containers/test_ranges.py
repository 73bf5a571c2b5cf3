"""Ranges and slices are compared as Python does, not as the arrays of their numbers."""

import numpy as np
import pytest

import diffjit as dj

THREE = range(3)


@pytest.mark.parametrize("n", [0, 1, 3, 4])
def test_equality(n):
    def program(x, n):
        return (
            range(n) == range(n), range(n) != THREE, range(n) == THREE, range(0, n, 2) == range(0, n + 1, 2),
            range(n) == [0, 1, 2], range(n) == n, range(n) == None, [range(n)] == [THREE], range(n) in [THREE],  # noqa: E711, FURB171
            slice(1, n) == slice(1, 3), slice(n) != slice(None), range(n) == slice(n),
            x if range(n) == range(3) else -x,
        )  # fmt: skip

    assert dj.jit(program, backend="python")(1.5, n) == program(1.5, n)


def test_beside_arrays_and_without_an_order():
    assert dj.jit(lambda x: range(3) == np.arange(3), backend="python")(1.5).tolist() == [True] * 3

    def ordered(x):
        try:
            return x if range(3) < range(4) else -x
        except TypeError:
            return 2.0 * x

    assert dj.jit(ordered, backend="python")(1.5) == ordered(1.5)


def chosen_orders(orders, x):
    """A recurrence begun with numbers: its first turns are written out, also where they would read too far."""
    out, at = np.empty((len(orders), *x.shape)), 0
    below, last, slope_below, slope = 1, x, 0, 1
    if orders[at] == 0:
        out[at] = slope_below
        at += 1
    for k in range(2, orders[-1] + 1):
        below, last, slope_below, slope = (
            last, 2 * x * last - below, slope, 2 * last + 2 * x * slope - slope_below
        )  # fmt: skip
        if orders[at] == k - 1:
            out[at] = slope
            at += 1
    return out[: len(orders) - 1]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_items_that_may_be_beyond_the_end(backend, n):
    x = np.array([0.3, 0.5])
    of_range, of_list = (lambda x, o=o: chosen_orders(o, x) for o in (range(n), list(range(n))))
    value = dj.jit(of_range, backend=backend)(x)
    np.testing.assert_allclose(value, of_list(x), rtol=1e-14)
    dj.check_grads(of_range, (x,), order=1, backend=backend)


def test_an_item_that_is_certainly_beyond_the_end():
    def model(x):
        return 2.0 * range(3)[4] + x if x > 2.0 else x

    assert dj.grad(model, backend="python")(1.5) == 1.0
    with pytest.raises(IndexError, match="range object index out of range"):
        dj.jit(model, backend="python")(2.5)

    def caught(x):
        try:
            return 2.0 * range(3)[4] + x if x > 2.0 else x
        except IndexError:
            return x * x

    assert dj.grad(caught, backend="python")(2.5) == 5.0
