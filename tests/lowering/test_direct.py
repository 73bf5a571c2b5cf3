"""Helpers of the runtime that are written straight from their text: the bits and errors of Numba's compiler."""

import math
import os
import signal
import threading
import time

import numba
import numpy as np
import pytest

import diffjit as dj
from diffjit.lowering.direct.functions import text_of
from diffjit.lowering.llvm.compiler import OPTIONS
from diffjit.lowering.runtime import arithmetic, build, partials, special
from diffjit.lowering.runtime.matrices import products, systems

KINDS = ["float64", "float32", "complex128", "complex64", "int64", "int32", "uint8"]
SIZES = [0, 1, 2, 3, 4, 5, 7, 16, 33, 70]


def compiled(operation, count, *, direct):
    """A function that calls an operation, compiled in one way or the other."""
    args = ", ".join(f"x{k}" for k in range(count))
    scope = {"operation": operation}
    exec(f"def called({args}):\n    return operation({args})", scope)  # noqa: S102
    function = numba.njit(**OPTIONS)(scope["called"])

    def run(*given):
        before, build.DIRECT[0] = build.DIRECT[0], direct
        try:
            return function(*given)
        finally:
            build.DIRECT[0] = before

    return run


def alike(operation, draw, count, turns):
    """Both ways give the same bits, in what they return and in what they write, or the same errors."""
    both = [compiled(operation, count, direct=direct) for direct in (True, False)]
    for _ in range(turns):
        given = draw()
        found = []
        for run in both:
            copies = [np.copy(a, order="K") if isinstance(a, np.ndarray) else a for a in given]
            copies = [c if not isinstance(a, np.ndarray) else _as(a, c) for a, c in zip(given, copies, strict=True)]
            try:
                out = run(*copies)
            except Exception as error:  # noqa: BLE001 - which one it is, is compared
                out = type(error).__name__
            found.append((out, copies))
        (one, wrote), (other, wrote_by_numba) = found
        assert type(one) is type(other)
        np.testing.assert_array_equal(one, other)
        for a, b in zip(wrote, wrote_by_numba, strict=True):
            np.testing.assert_array_equal(a, b)


def _as(like, values):
    """The values in an array of the same layout."""
    if like.flags.c_contiguous or like.flags.f_contiguous:
        return values
    whole = np.zeros(tuple(2 * n for n in like.shape), like.dtype)
    part = whole[tuple(slice(None, None, 2) for _ in like.shape)]
    part[...] = values
    return part


class Draws:
    """Random operands of one type."""

    def __init__(self, seed, dtype):
        self.random, self.dtype = np.random.default_rng(seed), np.dtype(dtype)

    def size(self):
        return int(self.random.choice(SIZES))

    def array(self, *shape, layout="C"):
        if layout == "A":  # every second element of a larger array
            return self.array(*(2 * n for n in shape))[(slice(None, None, 2),) * len(shape)]
        values = 3.0 * self.random.normal(size=shape)
        if self.dtype.kind == "c":
            values = values + 1j * self.random.normal(size=shape)
        if self.dtype.kind == "f" and values.size:
            values.flat[0] = self.random.choice([0.0, -0.0, np.inf, np.nan, 1.0])
        made = np.abs(values).astype(self.dtype) if self.dtype.kind == "u" else values.astype(self.dtype)
        return np.asarray(made, order=layout)

    def zero(self):
        return self.dtype.type(0)


LAYOUTS = ["C", "F", "A"]
PRODUCTS = [(d, "C", "C") for d in KINDS] + [(d, a, b) for d in ("float64", "complex64") for a, b in ("FF", "AC", "CA")]


@pytest.mark.parametrize(("dtype", "left", "right"), PRODUCTS)
def test_products_of_matrices(dtype, left, right):
    draws = Draws(1, dtype)

    def draw():
        n, k, m = draws.size(), draws.size(), draws.size()
        wrong = draws.random.random() < 0.1  # lengths that do not fit together
        return draws.array(n, k, layout=left), draws.array(k + wrong, m, layout=right), draws.array(n, m)

    alike(products.matmul_loops, draw, 3, 30)


@pytest.mark.parametrize(
    ("dtype", "left", "right"), [("float64", "C", "A"), ("float32", "A", "F"), ("complex64", "A", "A")]
)
def test_products_by_blas(dtype, left, right):
    draws = Draws(2, dtype)

    def draw():
        n, k, m = (max(1, draws.size()) for _ in range(3))
        return (
            draws.array(n, k, layout=left), draws.array(k, m, layout=right), draws.array(n, m), draws.array(n, k),
            draws.array(k, m),
        )  # fmt: skip

    alike(products.matmul_blas, draw, 5, 20)


@pytest.mark.parametrize(
    ("dtype", "layout"),
    [("float64", "C"), ("float32", "F"), ("complex128", "A"), ("complex64", "C"), ("int32", "C"), ("uint8", "F")],
)
@pytest.mark.parametrize("product", [partials.matvec, partials.matvec_by_columns])
def test_products_with_vectors(dtype, layout, product):
    draws = Draws(3, dtype)

    def draw():
        n, m = draws.size(), draws.size()
        wrong = draws.random.random() < 0.1
        return draws.array(n, m, layout=layout), draws.array(m + wrong), draws.array(n), draws.zero()

    alike(product, draw, 4, 30)


@pytest.mark.parametrize("dtype", KINDS)
def test_products_of_vectors(dtype):
    draws = Draws(4, dtype)

    def draw():
        n = int(draws.random.choice([0, 1, 15, 16, 17, 100, 2047, 2048, 2049, 5000]))
        wrong = draws.random.random() < 0.1
        return draws.array(n), draws.array(n + wrong, layout="A"), draws.zero()

    alike(partials.dot_lanes, draw, 3, 30)


def test_products_of_bools():
    random = np.random.default_rng(5)

    def draw():
        n, k, m = (int(random.choice(SIZES)) for _ in range(3))
        return random.random((n, k)) < 0.2, random.random((k, m)) < 0.2, np.zeros((n, m), bool)

    alike(products.matmul_bools, draw, 3, 30)
    vectors = lambda: [random.random(9) < 0.2 for _ in range(2)]
    alike(partials.dot_bools, vectors, 2, 30)


def ints(*shape):
    return np.zeros(shape, np.int32)


@pytest.mark.parametrize(("dtype", "layout"), [("float64", "C"), ("float32", "A"), ("complex128", "F")])
def test_solutions(dtype, layout):
    draws = Draws(6, dtype)
    fortran = lambda n, m: np.zeros((n, m), dtype, order="F")

    def square(n):
        made = draws.array(n, n)
        made[~np.isfinite(made)] = 1
        if n and draws.random.random() < 0.1:
            made[0] = 0  # no solution
        if draws.random.random() < 0.3:
            made = (np.tril if draws.random.random() < 0.5 else np.triu)(made)
        return _as(draws.array(n, n, layout=layout), made) if layout == "A" else np.asarray(made, order=layout)

    def vector():
        n = draws.size()
        return square(n), draws.array(n), draws.array(n), fortran(n, n), fortran(n, 1), ints(n)

    def several():
        n, m = draws.size(), draws.size()
        return square(n), draws.array(n, m), draws.array(n, m), fortran(n, n), fortran(n, m), ints(n)

    def one(*more):
        def draw():
            n = draws.size()
            return square(n), *(part(n) for part in more)

        return draw

    room = lambda n: fortran(n, n)
    alike(systems.solve_vector, vector, 6, 20)
    alike(systems.solve_matrix, several, 6, 20)
    alike(systems.invert, one(lambda n: draws.array(n, n), room, room, ints), 5, 20)
    alike(systems.determinant, one(lambda _n: np.dtype(dtype).type(1), room, ints), 4, 20)
    alike(systems.is_regular, one(room, ints), 3, 20)
    alike(systems.is_positive, one(room), 2, 20)
    alike(systems.cholesky_factor, one(lambda n: draws.array(n, n)), 2, 20)


STRANGE = [0.0, -0.0, 1.5, -2.0, 7.0, np.inf, np.nan]
NUMBERS = {
    "int_power": (arithmetic.power, lambda r: (int(r.integers(-9, 9)), int(r.integers(0, 12)))),
    "complex_power": (
        arithmetic.power,
        lambda r: (complex(r.normal(), r.choice([0, 1])), complex(r.integers(-4, 5), r.choice([0, 1]))),
    ),
    "power_of_zero": (arithmetic.power, lambda r: (complex(0.0, 0.0), complex(r.integers(-1, 2), 0.0))),
    "power_exact": (arithmetic.power_exact, lambda r: (int(r.integers(-9, 9)), int(r.integers(-1, 40)))),
    "gcd": (arithmetic.gcd, lambda r: (int(r.integers(-99, 99)), int(r.integers(-99, 99)))),
    "lcm": (arithmetic.lcm, lambda r: (np.uint64(r.integers(0, 99)), np.uint64(r.integers(0, 99)))),
    "divide_complex": (
        arithmetic.divide_complex,
        lambda r: (complex(r.normal(), r.normal()), complex(*r.choice(STRANGE, 2))),
    ),
    "floor_divide": (arithmetic.floor_divide, lambda r: tuple(map(float, r.choice(STRANGE, 2)))),
    "remainder": (arithmetic.remainder, lambda r: tuple(map(float, r.choice(STRANGE, 2)))),
    "logaddexp": (special.logaddexp, lambda r: tuple(map(float, r.choice(STRANGE, 2)))),
    "logaddexp2": (special.logaddexp2, lambda r: tuple(map(float, r.choice(STRANGE, 2)))),
}


@pytest.mark.parametrize(("operation", "pick"), NUMBERS.values(), ids=NUMBERS)
def test_numbers(operation, pick):
    random = np.random.default_rng(7)
    alike(operation, lambda: pick(random), 2, 60)


def test_every_helper_has_a_text():
    assert {f.__name__ for f in build.WRITTEN} >= {"matvec", "_gcd", "invert", "packed"}
    assert [f.__name__ for f in build.WRITTEN if text_of(f) is None] == []


def test_a_long_product_can_be_stopped():
    """The rows of a product of ints look whether somebody has pressed Ctrl-C."""
    a = np.ones((2000, 2000), np.int64)
    product = dj.jit(lambda x, y: x @ y)
    product(a[:2, :2], a[:2, :2])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs in the background ignores it
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            product(a, a)  # seconds
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    stopped = time.perf_counter() - start
    start = time.perf_counter()
    product(a, a)
    assert stopped < 0.5 * (time.perf_counter() - start)


def test_without_its_text_numba_compiles_a_helper(monkeypatch):
    monkeypatch.setattr(build, "text_of", lambda _function: None)
    run = compiled(partials.dot_lanes, 3, direct=True)
    assert run(np.arange(3.0), np.arange(3.0), 0.0) == 5.0
    assert math.isnan(run(np.array([np.nan]), np.ones(1), 0.0))
