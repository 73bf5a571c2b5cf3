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
