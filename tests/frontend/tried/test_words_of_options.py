"""Words that NumPy's functions do not know, and complex numbers for real arrays: raised as NumPy raises, and caught."""

# pyright: reportCallIssue=false, reportArgumentType=false

from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError

X = np.array([1.0, 2.5, -0.5, 3.0])


def put_complex(x):
    made = x.copy()
    made[0] = 1j
    return made


def put_complex_in_part(x):
    made = x.copy()
    made[1:3] = complex(x[0], 1.0)
    return made


def put_complex_at(x):
    made = x.copy()
    made[[0, 2]] = 2j
    return made


REFUSED: dict[str, Any] = {
    "sort": lambda x: np.sort(x, kind="fast"),
    "argsort": lambda x: x[np.argsort(x, kind=3)],
    "method sort": lambda x: [x := x.copy(), x.sort(kind="fast"), x][-1],
    "positional": lambda x: np.sort(x, -1, "fast"),
    "partition": lambda x: np.partition(x, 1, kind="fast"),
    "reshape": lambda x: x.reshape(2, 2, order="Q"),
    "flatten": lambda x: x.flatten("Z"),
    "ravel": lambda x: np.ravel(x, order="rows"),
    "copy": lambda x: x.copy(order="Z"),
    "zeros": lambda x: x + np.zeros(4, order="K"),
    "take": lambda x: np.take(x, [0, 1], mode="round"),
    "pad": lambda x: np.pad(x, 1, mode="round"),
    "convolve": lambda x: np.convolve(x, x, mode="round"),
    "dtype of zeros": lambda x: x + np.zeros(4, dtype="float99"),
    "dtype of array": lambda x: x + np.array([1.0, 2.0, 3.0, 4.0], dtype="float99"),
    "complex": put_complex,
    "complex part": put_complex_in_part,
    "complex at": put_complex_at,
}


def tried(function):
    def f(x):
        try:
            return np.sum(function(x) ** 2)
        except ValueError:
            return np.sum(3.0 * x)
        except TypeError:
            return np.sum(5.0 * x)

    return f


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED)
def test_what_numpy_refuses(function):
    with pytest.raises((TypeError, ValueError)):
        function(X)
    with pytest.raises((TypeError, ValueError, DiffjitError)):
        dj.jit(function, backend="python")(X)
    value, slope = dj.value_and_grad(tried(function), backend="python")(X)
    assert value == tried(function)(X)
    np.testing.assert_array_equal(slope, value / np.sum(X))


TAKEN: dict[str, Any] = {
    "sort": lambda x: np.sort(x, kind="s"),
    "order": lambda x: x.reshape(2, 2, order="f").flatten("K") @ np.arange(4.0),
    "take": lambda x: np.take(x, [1, 5], mode="clip"),
    "pad": lambda x: np.pad(x, (2, 6), mode="reflect"),
    "convolve": lambda x: np.convolve(x, x[:2], "valid"),
    "lengths": lambda x: np.reshape(x, (len(x) // 2, 2), "C"),
}


@pytest.mark.parametrize("function", TAKEN.values(), ids=TAKEN)
def test_what_numpy_takes(function):
    np.testing.assert_allclose(dj.jit(function, backend="python")(X), function(X))
