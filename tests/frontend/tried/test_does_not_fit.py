"""Inside a `try`: ints that do not fit into NumPy's, steps of 0, and operands that NumPy does not take are caught."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]
X = np.array([1.5, 0.5, 2.5])
K = np.array([1, 2, 0])


def stored(x, k, n):
    few = k.astype(np.uint8)
    try:
        few[0] = n
        few[1:] = n - 1
        few[k > 1] = n + 1
    except OverflowError:
        x = x * 2
    return x * few


def stored_by_way_of_an_int(x, k, n):
    """A number of NumPy's becomes Python's int first: too large, infinite, not a number."""
    for wide in (1.0, 1e30, np.inf, np.nan):
        try:
            k[0] = x[0] * wide * n
        except OverflowError:
            x = x * 2
        except ValueError:
            x = x * 3
    return x


def computed(x, k, n):
    few = k.astype(np.int8)
    try:
        x = x * (few + n)
        x = x * (few[2] * n)
        few -= n
    except ArithmeticError:
        x = x * 5
    return x * few


def compared(x, k, n):
    """Comparisons take any int."""
    try:
        return x * (k.astype(np.uint8) > n)
    except OverflowError:
        return x * 7


def made(x, k, n):
    caught = 1
    for way in range(5):
        try:
            if way == 0:
                x = x * np.int8(n)
            elif way == 1:
                x = x * np.full(3, n, dtype=np.uint8)
            elif way == 2:
                x = x * np.array([n, 2], dtype=np.int16)[0]
            elif way == 3:
                x = x * np.where(x > 1.0, k.astype(np.uint8), n)
            else:
                x = x * np.uint64(n)
        except OverflowError:
            caught = 2 * caught + 1
    return caught * x


def constant(x, k, n):
    try:
        return x * (k.astype(np.int8) + 200) + n
    except OverflowError:
        return x * 3


def in_a_helper(x, k, n):
    def narrow(m):
        return np.uint8(m)

    for m in (n, n + 250, -n):
        try:
            x = x + narrow(m)
        except OverflowError:
            x = x * 2
    return x


def steps(x, k, n):
    """Nobody reads the first part."""
    caught = 0
    for step in range(-1, n % 4):
        try:
            x[::step]
        except ValueError:
            caught += 1
        try:
            x = x * np.sum(x[::step])
        except ValueError:
            caught += 2
        try:
            x[1::step] = 2.0
        except ValueError:
            caught += 4
    return x * caught


def refused_by_numpy(x, k, n):
    caught = 0
    try:
        x = x & n
    except TypeError:
        caught += 1
    try:
        x = -(x > 1.0) * x
    except TypeError:
        caught += 2
    try:
        k += x
    except TypeError:
        caught += 4
    try:
        np.add(x, 1, out=k)
    except TypeError:
        caught += 8
    try:
        x = x.astype("float23")
    except TypeError:
        caught += 16
    try:
        x = np.polyfit(x, x[:2], 1)
    except TypeError:
        caught += 32
    return caught * x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [
        stored, stored_by_way_of_an_int, computed, compared, made, constant, in_a_helper, steps, refused_by_numpy,
    ],
)  # fmt: skip
def test_is_caught(f, backend):
    compiled, slope = dj.jit(f, backend=backend), dj.grad(lambda x, k, n: np.sum(f(x, k, n)), backend=backend)
    for n in (2, 300, -1, 100):
        given, after = (X.copy(), K.copy()), (X.copy(), K.copy())
        wanted = f(*after, n)
        np.testing.assert_allclose(compiled(*given, n), wanted, rtol=1e-14)
        for got, changed in zip(given, after, strict=True):
            np.testing.assert_array_equal(got, changed)
        if f is not steps:  # each result is a number times x
            moved = (np.sum(f(X + 1e-6, K.copy(), n)) - np.sum(f(X - 1e-6, K.copy(), n))) / 2e-6
            assert np.sum(slope(X, K, n)) == pytest.approx(moved, rel=1e-6, abs=1e-6)


def told(x, n):
    try:
        return np.uint8(n) * x
    except OverflowError as error:
        print("not a byte:", error)  # noqa: T201 - what is printed is compared
    return x


def test_the_words_are_numpys(capsys):
    for n in (300, -7):
        told(X, n)
        wanted = capsys.readouterr().out
        dj.jit(told, backend="python")(X, n)
        assert capsys.readouterr().out == wanted


def unread(x, n):
    x[::n]
    return x[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_of_zero_raises_where_nobody_reads_the_part(backend):
    assert dj.jit(unread, backend=backend)(X, -1) == 0.5
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        dj.jit(unread, backend=backend)(X, 0)


def test_what_is_no_dtype_is_refused():
    with pytest.raises(dj.errors.TypeProblem, match="float23"):
        dj.jit(lambda x: x.astype("float23"), backend="python")(X)


def stored(s, k):
    try:
        k[0] = s
    except OverflowError:
        return s * 2.0
    return s * 3.0


@pytest.mark.parametrize("s", [-(2.0**63), float(np.nextafter(-(2.0**63), -np.inf)), 2.0**63, 1e-3])
def test_the_least_int_fits(s):
    for backend in ("python", "numba"):
        k, wanted = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
        assert dj.jit(stored, backend=backend)(s, k) == stored(s, wanted)
        assert k.tolist() == wanted.tolist()
