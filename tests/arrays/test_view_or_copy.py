"""What shares memory with an array and what does not, as a write to one of both shows."""

import numpy as np
import pytest

import diffjit as dj
from tests.arrays.check import check

X = np.arange(6.0).reshape(2, 3) / 3 + 0.5


def part_of_flat(x):
    a = x.copy()
    part = a.flat[1:4]
    part *= x[0, 0]
    a[1] += x[0]
    return a, part


def flat_under_a_name(x):
    a = x.copy()
    flat, total = a.flat, 0.0
    for k in range(3):
        part = flat[k : k + 2]
        part *= 2.0
        total += part[1]
        flat[k : k + 2] -= part * x[1, 1]
    whole = flat[...]
    whole[0] = total
    flat[[1, 1]] *= total
    return a, whole


def flat_of_a_vector(x):
    a = x[0].copy()
    part = a.flat[::-1]
    a *= x[1]
    part[0] += a[0]
    return a, part


def ordered_by_astype(x):
    a = x.copy()
    turned = a.astype(float, order="F", copy=False)
    turned *= x[1, 0]
    same = a.astype(float, "C", "unsafe", True, False)
    same[0] += turned[1]
    again = a.T.astype(float, order="F", copy=False)
    again[0] *= 3.0
    return a, turned, turned.ravel("K"), a.astype(float, "F").ravel("K")


def writes_to_what_is_enumerated(x):
    a, total = x.copy(), 0.0
    for (i, j), v in np.ndenumerate(a):
        a[i, j - 1] = v * 0.5
        total += v * a[1, 2]
    return a, total


@pytest.mark.parametrize(
    "f", [part_of_flat, flat_under_a_name, flat_of_a_vector, ordered_by_astype, writes_to_what_is_enumerated]
)
def test_as_numpy_has_it(f):
    assert check(f, (X,), "python") == "right"


@pytest.mark.parametrize("f", [part_of_flat, ordered_by_astype])
def test_compiled(f):
    assert check(f, (X,), "numba") == "right"


def test_flat_of_one_of_several():
    def f(x):
        a, b = x.copy(), 2 * x
        flat = a.flat if x[0, 0] > 0 else b.flat
        flat[1:3] *= 2.0
        return a

    with pytest.raises(dj.DiffjitError, match="DJ404"):
        dj.jit(f)(X)
