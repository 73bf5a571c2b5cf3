"""Truth values of Python's own are counted as ints, whatever has compared: NumPy's own have other sums."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([1.0, 2.0, 0.5])
OF_NUMBERS = [
    lambda a, b: (a > 0.5) + (b > 0.5), lambda a, b: (a > 0.5) - (b > 0.5), lambda a, b: -(a > 0.5),
    lambda a, b: (a > 0.5) * (b > 0.5) * 3.0, lambda a, b: (a > 0.5) // (b > 0.5) * 200 + (a > 0.5) % (b > 0.5),
    lambda a, b: (a > 0.5) ** (b > 0.5) * 300, lambda a, b: (a > 0.5) << (b > 0.5), lambda a, b: (a > 0.5) / (b > 0.5),
    lambda a, b: abs((a > 0.5) - (b > 0.5)), lambda a, b: [1.0, 2.0, 3.0][(a > 0.5) + (b > 0.5)],
    lambda a, b: divmod(a > 0.5, b > 0.5)[0] * 300, lambda a, b: round(a > 0.5) + 1, lambda a, b: 2 ** (a > 0.5),
    lambda a, b: sum((a > 0.5, b > 0.5)) * 100, lambda a, b: (a > 0.5) + (b > 0.5) + (a > 0.1) + a,
]  # fmt: skip
OF_ARRAYS = [
    lambda x: ([x[0]] == [x[0]]) + ([x[1]] == [x[1]]), lambda x: ([x[0]] != [x[1]]) + ((x[1],) != (x[0],)),
    lambda x: (x[0] in [x[0], 7.0]) + (x[1] in (x[1], 3.0)) + (x[2] not in x),
    lambda x: ({1: x[0]} == {1: x[0]}) + (x[0] in x),
    lambda x: bool(x[0] == 1) + bool(x[1] == 2), lambda x: (float(x[0]) == 1) + (float(x[1]) == 2),
    lambda x: (x[0] == 1) + (x[1] == 2), lambda x: isinstance([x[0]] == [1.0], bool) + isinstance(x[0] in x, bool),
    lambda x: isinstance(x[0] == 1.0, bool) + 0,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("k", range(len(OF_NUMBERS)))
def test_of_numbers(k, backend):
    f = OF_NUMBERS[k]
    for args in ((1.0, 2.0), (0.7, 0.6)):
        found, wanted = dj.jit(f, backend=backend)(*args), f(*args)
        assert found == wanted
        assert type(found) is type(wanted)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("k", range(len(OF_ARRAYS)))
def test_of_what_arrays_hold(k, backend):
    assert dj.jit(OF_ARRAYS[k], backend=backend)(X) == OF_ARRAYS[k](X)


def test_a_slope_that_counts():
    f = lambda a, b: ((a > 0.5) + (b > 0.5)) * a * b
    for backend in ("python", "numba"):
        assert dj.grad(f, argnums=(0, 1), backend=backend)(1.0, 2.0) == (4.0, 2.0)
