"""What is left after an exception: fused loops and Python leave the same arrays, prints and exception."""

import numpy as np
import pytest

import diffjit as dj

A = np.arange


def early(u, x, y):
    a = x * 2.0
    u += 1.0
    b = x + y
    return a, b


def early_in_a_loop(u, x, y):
    a = x * 2.0
    for i in range(5):
        u[i] = i
    b = x + y
    return a, b


def early_masked(u, x, y):
    t = x * 3.0
    u[u < 1] = 7
    return t, x * y


def multiplied(u, x, y):
    u *= 2
    t = x * y
    return t + u


def early_print(u, x, y):
    a = x * 2.0
    print("seen", u[0])  # noqa: T201
    b = x + y
    return a, b


def late(u, x, y):
    t = x + y
    u[0] = 5.0
    return np.sum(t * u)


def late_print(u, x, y):
    t = x + y
    print("not seen", u[0])  # noqa: T201
    return np.sum(t * u)


def another_first(u, x, y):
    t = x * y
    v = 10 // int(u[1])
    return np.sum(t) + v


def assertion(u, x, y):
    t = x * y
    assert u[0] > 3, "no"
    return np.sum(t)


def fills(u, x, y):
    u[0] = 1
    w = np.ones(y.size - 9) * 2
    u[1] = 2
    return w.sum() + x[0]


@pytest.mark.parametrize("fits", [False, True])
@pytest.mark.parametrize(
    "f",
    [early, early_in_a_loop, early_masked, multiplied, early_print, late, late_print, another_first, assertion, fills],
)
def test_state(f, fits, capsys):
    x, y = A(6.0), A(6.0) if fits else A(7.0)
    here, there = np.zeros(6), np.zeros(6)
    expected = left = None
    try:
        expected = f(here, x, y)
    except Exception as error:  # noqa: BLE001 - whatever Python raises
        expected = type(error)
    words = capsys.readouterr().out
    try:
        left = dj.jit(f)(there, x, y)
    except Exception as error:  # noqa: BLE001
        left = type(error)
    assert capsys.readouterr().out == words
    np.testing.assert_array_equal(there, here)
    if isinstance(expected, type) or isinstance(left, type):
        assert left is expected
    else:
        np.testing.assert_allclose(np.ravel(left), np.ravel(expected))


def powers(u, a, b):
    u[:] = a**b
    return u


def powers_added(u, a, b):
    u += a**b
    return u


def powers_first(u, a, b):
    w = a**b
    u[:] = 7
    return w * u


@pytest.mark.parametrize("f", [powers, powers_added, powers_first])
@pytest.mark.parametrize("b", [[1, 2, 3, -1, 2, 1], [1, 2, 3, 0, 2, 1]])
def test_integers_to_negative_powers(f, b):
    here, there = np.zeros(6, int), np.zeros(6, int)
    a, b = A(6) + 2, np.array(b)
    try:
        f(here, a, b)
    except ValueError:
        with pytest.raises(ValueError, match="negative integer powers"):
            dj.jit(f)(there, a, b)
    else:
        dj.jit(f)(there, a, b)
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize(
    "f",
    [
        lambda n: np.sum(np.ones(n) * 2.0),
        lambda n: np.sum(np.zeros((2, n)) + 1.0),
        lambda n: np.sum(np.full(n, 3.0) - 1.0),
        lambda n: np.sum(np.exp(np.broadcast_to(2.0, (n,)))),
    ],
    ids=["ones", "zeros", "full", "broadcast_to"],
)
def test_lengths_below_zero(f):
    assert dj.jit(f)(3) == f(3)
    with pytest.raises(ValueError, match="negative"):
        dj.jit(f)(-3)


def grid(x, n, m, i, j):
    view = x.reshape(n, m)
    view[i, j] = 1.0
    return x


@pytest.mark.parametrize("lengths", [(-2, -3), (-1, -6), (2**32, 2**32), (4, 2), (-3, 2)])
def test_lengths_that_only_multiply_to_the_size(lengths):
    for x in (A(6.0), np.zeros(0)):
        before = x.copy()
        with pytest.raises((ValueError, IndexError)):
            dj.jit(grid)(x, *lengths, 9, 9)
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.transpose(x, (0, 0)), lambda x: np.transpose(x, (0,)), lambda x: np.transpose(x, (0, 3)),
        lambda x: x.transpose(0, -3), lambda x: np.cumsum(x, axis=2), lambda x: np.cumprod(x, axis=-3),
        lambda x: np.sort(x, axis=2), lambda x: np.argsort(x, axis=2), lambda x: np.argmax(x, axis=2),
        lambda x: np.argmin(x, axis=-3), lambda x: np.concatenate((x, x), axis=2), lambda x: np.append(x, x, axis=2),
        lambda x: np.size(x, 2), lambda x: np.diagonal(x, axis2=3), lambda x: np.diagonal(x, axis1=1, axis2=1),
        lambda x: np.nancumsum(x, axis=2),
    ],
    ids=range(16),
)  # fmt: skip
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_axes_that_are_not_there(f, backend):
    x = A(12.0).reshape(3, 4)
    with pytest.raises((ValueError, IndexError), match=r"axis|axes|repeated|range"):  # mostly NumPy's AxisError
        f(x)
    with pytest.raises(dj.DiffjitError, match="DJ318"):
        dj.jit(f, backend=backend)(x)


def write_chosen(a, i, v):
    a[i] = v
    return a


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("shape", [(5, 1), (1, 5), (1, 1, 5), (1, 1, 1), (5, 5), (5,), (2, 5)])
@pytest.mark.parametrize("index", [[0, 2, 4, 5, 6], [True, False, True, False, True, True, True, False]])
def test_values_with_more_dimensions_than_the_selection(index, shape, backend):
    index, value = np.array(index), A(float(np.prod(shape))).reshape(shape)
    expected = None
    try:
        expected = write_chosen(np.zeros(8), index, value)
    except (ValueError, TypeError):
        with pytest.raises((ValueError, dj.DiffjitError)):
            dj.jit(write_chosen, backend=backend)(np.zeros(8), index, value)
    else:
        np.testing.assert_array_equal(dj.jit(write_chosen, backend=backend)(np.zeros(8), index, value), expected)


def test_a_step_of_zero_at_the_first_call():
    """What the program raises as it runs is no failure to compile it."""
    for _ in range(2):
        with pytest.raises(ValueError, match="step cannot be zero"):
            dj.jit(lambda x, s: x[::s].sum())(A(6.0), 0)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 0, 3), (0, 3, 0)], ids=str)
def test_extrema_along_an_axis_without_elements(name, shape, backend):
    """They raise whatever the other axes are, as NumPy's do, also where nothing would be left to say."""
    for axis in range(len(shape)):

        def extremum(x, axis=axis):
            return getattr(np, name)(x, axis=axis)

        if shape[axis]:
            assert dj.jit(extremum, backend=backend)(np.zeros(shape)).shape == extremum(np.zeros(shape)).shape
        else:
            with pytest.raises(ValueError, match=r"zero-size|empty sequence"):
                dj.jit(extremum, backend=backend)(np.zeros(shape))
