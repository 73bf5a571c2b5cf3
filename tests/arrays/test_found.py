"""What random programs of array statements, and a look at each function's arguments, have found."""

# ruff: noqa: FURB171, PLW0108, PYI024 - programs as people write them

from collections import namedtuple

import numpy as np
import pytest

import diffjit as dj
from tests.arrays.check import check, copied

BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])
X = np.arange(4.0) / 3 + 0.5
Y = np.arange(8.0).reshape(2, 4) / 3 - 0.7


def one_of_two_arrays(x, y, k):
    z = y if k > 0 else x
    z += x
    z *= 2.0
    return np.sum(y**2) * np.sum(x) + np.sum(z)


def attribute(x, y, k):
    class Holder:
        def __init__(self, a):
            self.a = a

    held = Holder(y if k > 0 else x)
    held.a += 1.0
    held.a[0] *= 3.0
    return np.sum(y) * np.sum(x * x) + np.sum(held.a)


def item(x, y, k):
    d = {"q": y if k > 0 else x}
    d["q"] -= 0.5
    d["q"] **= 2
    return np.sum(y * y) + np.sum(x**3)


def another_precision(x, y, k):
    z = x if k > 0 else x.astype(np.float32)
    z += y[0]
    return np.sum(x * x)


def added_one_of_two(x, y, k):
    w = x if k > 0 else 2.0
    y += w
    return np.sum(y * y * y)


def in_a_loop(x, y, k):
    for row in y:
        y *= row
        y = x.max(axis=0, keepdims=True)
        break
    return np.sum(row**2)


def maybe_none(x, y, k):
    best = None
    for i in range(3):
        best = y if best is None else best[0] if i == 1 else best
        best += i + 1.0
    return np.sum(y * y)


@BACKENDS
@pytest.mark.parametrize("k", [1.0, -1.0])
@pytest.mark.parametrize(
    "program", [one_of_two_arrays, attribute, item, another_precision, added_one_of_two, in_a_loop, maybe_none]
)
def test_augmented_assignment_to_one_of_several(program, k, backend):
    assert check(program, (X, Y, k), backend) == "right"


def written_through(of):
    """A program that writes to what a function gives, and then to its argument."""

    def program(x):
        r = of(x)
        r[...] = 7.0 + r * 2.0
        x[...] = x**2 + 1.0
        return x, r * 3.0

    return program


SQUARE, ROW = Y[:, :2].copy(), Y[:1].copy()
ALIASES = {
    "real": (lambda x: np.real(x), SQUARE),
    "real of complex": (lambda x: np.real(x), SQUARE + 1j * SQUARE.T),
    "imag of complex": (lambda x: np.imag(x), SQUARE + 1j * SQUARE.T),
    "asfortranarray": (lambda x: np.asfortranarray(x), SQUARE),
    "asfortranarray of a row": (lambda x: np.asfortranarray(x), ROW),
    "asfortranarray of a slice": (lambda x: np.asfortranarray(x[:1]), SQUARE),
    "ascontiguousarray of a slice": (lambda x: np.ascontiguousarray(x[::2]), SQUARE),
    "asarray in columns": (lambda x: np.asarray(x, order="F"), SQUARE),
    "asarray in rows": (lambda x: np.asarray(x.T, order="C"), SQUARE),
    "require": (lambda x: np.require(x, np.float64, ["W", "C"]), SQUARE),
    "require in columns": (lambda x: np.require(x, requirements="F"), SQUARE),
    "array without a copy": (lambda x: np.array(x, ndmin=3, copy=None), SQUARE),
    "array in columns": (lambda x: np.array(x, order="F", copy=None), SQUARE),
    "reshape with a copy": (lambda x: np.reshape(x, (4,), copy=True), SQUARE),
    "first power": (lambda x: np.linalg.matrix_power(x, 1), SQUARE),
    "no difference": (lambda x: np.diff(x, n=0, prepend=1.0), SQUARE),
    "take of one": (lambda x: np.take(x, 0, axis=1), SQUARE),
    "take of one, as a method": (lambda x: x.take(1, axis=0), SQUARE),
    "fftshift of no axis": (lambda x: np.fft.fftshift(x, axes=()), SQUARE),
    "roll of no axis": (lambda x: np.roll(x, (), ()), SQUARE),
    "coefficients": (lambda x: np.poly1d(x).coeffs, X),
}


@BACKENDS
@pytest.mark.parametrize("name", ALIASES)
def test_memory_is_shared_as_numpy_shares_it(name, backend):
    of, x = ALIASES[name]
    ours, plain = copied([x]), copied([x])
    program = written_through(of)
    for found, wanted in zip(dj.jit(program, backend=backend)(*ours), program(*plain), strict=True):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(ours[0], plain[0])


Point = namedtuple("Point", "a b c", defaults=(2.0, 3.0))


def named_tuples(x):
    Inside = namedtuple("Inside", ["a", "def"], rename=True, defaults=(2.0,))
    return Inside(x[0])._1 * Point(x[1], c=5.0).b * x[2]


VALUES = {
    "not of a bool": lambda x: (x[0] * ~(len(x) > 3), x[1] * ~True, ~(x > 0.6)),
    "not of a Python bool": lambda x: ~(float(x[0]) > 0.0) * x,
    "extract by a shorter condition": lambda x: np.extract(x[:3] > 0.6, x),
    "putmask of nothing": lambda x: np.putmask(x, x > 0.6, x[2:1]),
    "put of nothing": lambda x: np.put(x, [0, 1], x[2:1]),
    "quantiles in half precision": lambda x: np.quantile(x.astype(np.float32), [0.2, 0.8]),
    "quantile in half precision": lambda x: np.quantile(x.astype(np.float32), 0.2),
    "ends of differences": lambda x: np.ediff1d(x.astype(np.float32), to_end=x[0], to_begin=1.0),
    "cov of one variable": lambda x: np.cov(x),
    "cov in double precision": lambda x: np.cov(x.astype(np.float32), x[::-1].astype(np.float32)),
    "cov in single precision": lambda x: np.cov(x, x[::-1], dtype=np.float32),
    "partition of nothing": lambda x: np.partition(np.reshape(x[:0], (3, 0)), 1),
    "series at their own places": lambda x: np.polynomial.chebyshev.chebval(x, np.outer(x, x), tensor=False),
    "pinv by the lower half": lambda x: np.linalg.pinv(np.outer(x, x) + np.diag(x) + np.eye(4, k=1), hermitian=True),
    "sum of a row and a column": lambda x: np.einsum("ij,ij->", x[None, :], x[:, None]),
    "row times column": lambda x: np.einsum("ij,ij->i", x[None, :], np.outer(x, x)),
    "in columns": lambda x: np.zeros_like(np.outer(x, x).T, order="C").ravel("K") + np.outer(x, x).ravel(),
    "named tuples": named_tuples,
}


@BACKENDS
@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name, backend):
    program = VALUES[name]
    assert check(lambda x: (program(x), x), (X,), backend) in ("right", "[DJ319]")


def test_nan_is_in_a_list_that_holds_it():
    def program(x):
        a = x[0]
        return (a in [a]) + 2 * ((a, 1.0) == (a, 1.0)) + 4 * (x[0] in [x[0]])

    x = np.array([np.nan, 1.0])
    assert dj.jit(program, backend="python")(x) == program(x) == 3


@BACKENDS
def test_arguments_that_are_not_read_are_refused(backend):
    import scipy.stats

    for program in (lambda x: scipy.stats.gmean(x, dtype=np.float32),):
        with pytest.raises(dj.UnsupportedSyntax, match=r"DJ118.* argument `dtype` of"):
            dj.jit(program, backend=backend)(X)


@BACKENDS
def test_flat_of_one_of_several_is_refused(backend):
    def program(x, y, k):
        z = y if k > 0 else x
        z.flat[::2] = -1.5
        return np.sum(x) * np.sum(y)

    with pytest.raises(dj.DiffjitError, match=r"DJ404|DJ304"):
        dj.jit(program, backend=backend)(np.asfortranarray(SQUARE), np.ones((3, 3, 3)), 1.0)


@BACKENDS
def test_sinc_of_complex_numbers_is_refused(backend):
    for function in (np.sinc, np.i0):
        with pytest.raises(dj.NoRule, match="DJ203"):
            dj.jit(lambda z, f=function: f(z), backend=backend)(X + 1j * X)


def fewest(x):
    found = float("inf")
    for k in range(3):
        found = min(found, len(x) + k)
    return found


FLOATS_AS_LENGTHS = {
    "shape": lambda x: np.sum(np.ones((fewest(x) / 1, 2)) * x[1]),
    "known shape": lambda x: np.sum(np.ones((2.0, 2)) * x[1]),
    "truth value": lambda x: np.sum(np.ones((True, 2)) * x[1]),
    "reshape": lambda x: np.sum(np.reshape(x, (len(x) / 1, 1))),
    "slice": lambda x: np.sum(x[: x[0]]),
    "transform": lambda x: np.sum(np.abs(np.fft.fft(x, n=fewest(x) / 1))),
    "real transform": lambda x: np.sum(np.abs(np.fft.irfft(x, fewest(x)))),
    "tile": lambda x: np.sum(np.tile(x, fewest(x) / 1)),
    "pad": lambda x: np.sum(np.pad(x, fewest(x) / 1)),
}


@BACKENDS
@pytest.mark.parametrize("name", FLOATS_AS_LENGTHS)
def test_floats_are_no_lengths(name, backend):
    """They were cut off in compiled code, or no program came out."""
    with pytest.raises(dj.TypeProblem, match=r"DJ308.*a length must be an int|DJ314.*cannot be a bound of a slice"):
        dj.jit(FLOATS_AS_LENGTHS[name], backend=backend)(X)


@BACKENDS
def test_ints_that_begin_as_infinite_are_lengths(backend):
    def program(x):
        return np.sum(np.ones((fewest(x), 2)) * x[1]) + np.sum(np.abs(np.fft.fft(x, n=fewest(x))))

    assert np.isclose(dj.jit(program, backend=backend)(X), program(X))


@BACKENDS
def test_ints_of_all_kinds_are_lengths(backend):
    def program(x):
        shape = np.array(x.shape)
        made = np.zeros(np.array(4)) + np.zeros(np.int32(4)) + np.zeros((np.int8(4),)) + np.ones(shape[0])
        return np.sum((made + np.ones(list(x.shape)) + np.ones(shape)) * x)

    assert dj.jit(program, backend=backend)(X) == program(X)
    np.testing.assert_array_equal(dj.grad(program, backend=backend)(X), 3.0 * np.ones(4))
