"""Which dtype NumPy computes in and what it converts, refuses or raises: `jit` gives the same."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ("python", "numba")
X = np.array([0.5, 1.2, 2.5, 1.7])


def copied_into_ints(x):
    k = np.arange(4)
    np.copyto(k, x)
    return k


def copied_where(x):
    k = np.arange(4)
    np.copyto(k, x, where=x > 1.0)
    return k


def copied_unsafely(x):
    k, narrow = np.arange(4), np.zeros(4, np.uint8)
    np.copyto(k, x, casting="unsafe")
    np.copyto(narrow, 3)
    return k, narrow


def masked_into_narrow(x):
    y = np.ones(4, np.float32)
    np.putmask(y, x > 1.0, x)
    return y


def placed_into_ints(x):
    k = np.arange(4)
    np.place(k, x > 1.0, x)
    return k


def numbers_are_converted(x):
    k = np.arange(4)
    np.place(k, x > 2.0, [2.7])
    np.putmask(k, x < 1.0, 3.9)
    return k


def where_does_not_fit(x):
    return np.where(x > 1.0, np.arange(4, dtype=np.uint8), 300)


def stored_does_not_fit(x):
    k = np.arange(4, dtype=np.uint8)
    k[0] = 300
    return k * x


def added_does_not_fit(x):
    return (np.arange(4, dtype=np.int8) * 20 + 200) * x


def bounds_beyond_the_type(x):
    k = np.arange(4, dtype=np.uint8)
    return np.clip(k, -5, 300), np.clip(k, 1, None), k.clip(-1, 2), x


def selected_in_single(x):
    y = x.astype(np.float32)
    few = np.select([x > 2.0, x > 1.0], [y[:1], 3])
    return np.select([x > 2.0, x > 1.0], [y, 2.0], 0.5), few, np.choose([0, 1, 2, 1], [3, 2.0, y])


def logical_product(x):
    return np.vdot(x > 1.0, x > 0.0), np.vdot(np.rint(x) * 1j, np.rint(x))


def starts_of_extremes(x):
    k = np.rint(x).astype(int)
    return np.max(k, initial=2.7), np.min(k, initial=0.7, where=k > 1), np.max(x, initial=5)


def infinite_start(x):
    return np.max(np.rint(x).astype(int), initial=-np.inf, where=x > 1.0)


def joined_in_single(x):
    y = x.astype(np.float32)
    return np.r_[y, 1.0, y], np.r_[1.5, y[0]], np.r_[0:3, y], np.c_[y, x]


def computed_in_double(x):
    y = x.astype(np.float32)
    at = np.interp(y, [0.0, 1.0, 2.0], [3.0, 1.0, 2.0], period=1.7)
    return np.round(at, 12), np.geomspace(y[0], y[1], 1), np.round(np.polyfit(np.arange(4.0), np.rint(y), 1), 12)


def interpolated_at_complex(x):
    return np.interp(x * 1j, X, x)


def running_in_narrow(x):
    k = np.rint(x).astype(np.uint8) + np.uint8(250)
    signed, wide = k.astype(np.int8), k.astype(np.uint32) << 24
    unsigned = np.cumsum(k, dtype=np.uint8), np.cumprod(k, dtype=np.uint8), np.sum(k, dtype=np.uint8)
    return *unsigned, np.cumsum(wide, dtype=np.uint32), np.cumsum(signed, dtype=np.int8), np.cumsum(k), np.prod(k), x


def loops_by_a_dtype(x):
    """A dtype names NumPy's loop: a comparison's operands keep their own, an exponent its ints."""
    k = np.rint(x).astype(int)
    asked = np.less(x, 1.5, dtype=bool), np.equal(k, 2, dtype=np.bool_), np.isfinite(x, dtype=bool)
    scaled = np.ldexp(x, k, dtype=np.float64), np.ldexp(np.float32(1.5), k.astype(np.int32), dtype=np.float32)
    return *asked, *scaled, np.true_divide(k, 2, dtype=np.float32), np.add(x, 1, dtype=np.uint8, casting="unsafe")


def loops_that_numpy_refuses(x):
    """What `casting` does not allow is a TypeError: nothing is cut off."""
    caught = 0
    try:
        x = x * np.add(x, 1.5, dtype=np.int64)
    except TypeError:
        caught += 1
    try:
        x = x + np.sin(x, dtype=int)
    except TypeError:
        caught += 2
    try:
        x = x + np.exp(x * 1j, dtype=float)
    except TypeError:
        caught += 4
    try:
        x = x + np.multiply(np.arange(4), 2.0, casting="no")
    except TypeError:
        caught += 8
    return caught * x


def angles_of_reals(x):
    return np.angle(x > 1.0), np.angle(-x), np.angle([1, -2]), np.angle(x[0] > 1.0), np.angle(x - 1j)


def outcome(f):
    try:
        return f(X.copy())
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises is what is compared
        return type(error)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [
        copied_into_ints, copied_where, copied_unsafely, masked_into_narrow, placed_into_ints, numbers_are_converted,
        where_does_not_fit, stored_does_not_fit, added_does_not_fit, bounds_beyond_the_type, selected_in_single,
        logical_product, starts_of_extremes, infinite_start, joined_in_single, computed_in_double,
        interpolated_at_complex, running_in_narrow, loops_by_a_dtype, loops_that_numpy_refuses, angles_of_reals,
    ],
)  # fmt: skip
def test_numbers_are_converted_as_numpy_does(f, backend):
    known, found = outcome(f), outcome(dj.jit(f, backend=backend))
    if isinstance(known, type):
        assert found is known
        return
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (known, found)], strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(b, a)


def classes(x):
    """What `__class__` says, which is what `type` does."""
    y, w = x[0], np.where(x[0] > 0.0, x[1], 0.0)
    told = [
        y.__class__ is np.float64, float(y).__class__ is float, x.__class__ is np.ndarray, [x].__class__ is list,
        (x,).__class__ is tuple, {"x": x}.__class__ is dict, "x".__class__ is str, x.shape[0].__class__ is int,
        isinstance(w, np.ndarray), type(w) is np.float64,
    ]  # fmt: skip
    return sum(2.0**k * yes for k, yes in enumerate(told)) * x


@pytest.mark.parametrize("backend", BACKENDS)
def test_class_of_numbers_and_containers(backend):
    np.testing.assert_array_equal(dj.jit(classes, backend=backend)(X), classes(X))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_numbers_of_a_range_are_numpys_to_the_last_bit(backend):
    """A length that is computed from one hangs on it: np.arange(0, t, 0.2) for t in np.arange(4, 5, 0.2)."""
    made = dj.jit(np.arange, backend=backend)
    for start in (4.0, 0.3, -1.7, 0.0):
        for step in (0.2, 0.1, 0.3, -0.7):
            stop = start + 5.5 * step
            np.testing.assert_array_equal(made(start, stop, step), np.arange(start, stop, step))
    along = dj.jvp(lambda a, step: np.arange(a, 5.0, step), (4.0, 0.2), (1.0, 10.0), backend=backend)[1]
    np.testing.assert_allclose(along, 1.0 + 10.0 * np.arange(5), rtol=1e-14)
