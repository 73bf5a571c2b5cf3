"""Every elementwise kind, on numbers and arrays of many dtypes and layouts, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir.ops import ROWS
from diffjit.ir.types import FLOAT, INT, Array, Scalar, Sym
from diffjit.lowering.text import scalars
from diffjit.primitives.registry import ELEMENTWISE
from diffjit.primitives.semantics import SCALAR_SEMANTICS
from tests.lowering.harness import apply, check, run, same, type_of

rng = np.random.default_rng(1)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.3, 2.7, -7.5, 1e-300, 1e300, math.inf, -math.inf, math.nan]
UFUNCS = {k: e.ufunc for k, e in ELEMENTWISE.items() if e.ufunc is not None and isinstance(e.ufunc, np.ufunc)}
SKIP = {"ldexp", "left_shift", "right_shift", "power"}


def sample(dtype: np.dtype, n: int = 13) -> np.ndarray:
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(SPECIAL).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    info = np.iinfo(dtype)
    return np.concatenate(
        [rng.integers(max(-20, info.min), 20, n - 3).astype(dtype), np.array([0, info.max, info.min], dtype)]
    )


@pytest.mark.parametrize("kind", sorted(set(UFUNCS) - SKIP))
@pytest.mark.parametrize("code", ["f8", "f4", "c16", "i8", "i4", "u1", "?"])
def test_ufunc(kind: str, code: str) -> None:
    ufunc = UFUNCS[kind]
    dtype = np.dtype(code)
    xs = [sample(dtype) for _ in range(ufunc.nin)]
    for k in range(1, ufunc.nin):
        xs[k] = rng.permutation(xs[k])
    if kind in ("gcd", "lcm") and dtype.kind == "i":
        xs = [np.clip(x, -20, 20) for x in xs]
    try:
        with np.errstate(all="ignore"):
            expected = ufunc(*xs)
    except TypeError:
        pytest.skip("NumPy refuses")
    if expected.dtype == np.float16:
        pytest.skip("float16")
    check(kind, expected, *xs, rtol=1e-11 if dtype.kind == "c" else 1e-13)


@pytest.mark.parametrize(
    "kind", ["add", "multiply", "divide", "floor_divide", "remainder", "maximum", "less", "power", "arctan2"]
)
def test_mixed_dtypes(kind: str) -> None:
    for a, b in [("i4", "f4"), ("f4", "f8"), ("i1", "u2"), ("?", "i4"), ("u8", "i8"), ("f4", "i2")]:
        x, y = np.abs(rng.integers(1, 5, 6)).astype(a), np.abs(rng.integers(1, 5, 6)).astype(b)
        with np.errstate(all="ignore"):
            check(kind, UFUNCS[kind](x, y), x, y)


@pytest.mark.parametrize("code", ["f8", "f4", "i8", "i2"])
def test_power_and_shifts(code: str) -> None:
    x = np.array([0, 1, 2, 3, -2 if code[0] != "u" else 2, 7]).astype(code)
    y = np.array([0, 3, 2, 1, 3, 2]).astype(code)
    check("power", np.power(x, y), x, y)
    if code[0] == "i":
        check("left_shift", np.left_shift(x, y), x, y)
        check("right_shift", np.right_shift(x, y), x, y)


def test_weak_operands_take_the_arrays_dtype() -> None:
    x = rng.normal(size=5).astype(np.float32)
    for kind, number in [
        ("multiply", 0.1),
        ("add", 3),
        ("power", 2),
        ("power", -1),
        ("power", 2.5),
        ("power", 3),
        ("less", 0.2),
    ]:
        with np.errstate(all="ignore"):
            expected = UFUNCS[kind](np.abs(x) if kind == "power" else x, number)
        check(kind, expected, np.abs(x) if kind == "power" else x, number)


@pytest.mark.parametrize(
    "kind",
    [
        "add",
        "subtract",
        "multiply",
        "floor_divide",
        "remainder",
        "power",
        "divide",
        "less",
        "bitwise_and",
        "left_shift",
        "right_shift",
    ],
)
def test_python_ints(kind: str) -> None:
    python = {"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__, "floor_divide": int.__floordiv__,
              "remainder": int.__mod__, "power": int.__pow__, "divide": int.__truediv__, "less": int.__lt__,
              "bitwise_and": int.__and__, "left_shift": int.__lshift__,
              "right_shift": int.__rshift__}[kind]  # fmt: skip
    for a, b in [(7, 3), (-7, 3), (5, 1), (0, 2)]:
        got = apply(kind, python(a, b), a, b, weak=True)
        assert got == python(a, b)
        assert type(got) is type(python(a, b))


@pytest.mark.parametrize(("kind", "a", "b", "error"), [
    ("add", 2**62, 2**62, OverflowError), ("multiply", 2**40, 2**40, OverflowError), ("subtract", -(2**63), 1,
    OverflowError), ("power", 10, 30, OverflowError), ("left_shift", 1, 64, OverflowError), ("floor_divide", 1, 0,
    ZeroDivisionError), ("remainder", 1, 0, ZeroDivisionError), ("left_shift", 1, -1, ValueError),
])  # fmt: skip
def test_python_ints_that_fail(kind: str, a: int, b: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        apply(kind, 1, a, b, weak=True)


def test_python_floats() -> None:
    for kind, expected, args in [
        ("divide", math.inf, (1.0, 0.0)), ("floor_divide", -4.0, (7.0, -2.0)), ("remainder", -1.0, (7.0, -2.0)),
        ("power", 8.0, (2.0, 3.0)), ("absolute", 2.5, (-2.5,)), ("negative", -2.5, (2.5,)), ("sqrt", math.sqrt(2.0),
        (2.0,)), ("maximum", 2.0, (1.0, 2.0)),
    ]:  # fmt: skip
        got = apply(kind, expected, *args, weak=True)
        assert type(got) is float
        assert got == pytest.approx(expected, rel=1e-15)


def test_bools_of_python() -> None:
    assert apply("add", 2, True, True, weak=True) == 2
    assert apply("bitwise_and", False, True, False, weak=True) is False
    assert apply("logical_not", True, False, weak=True) is True


@pytest.mark.parametrize("kind", sorted(SCALAR_SEMANTICS))
def test_special_functions(kind: str) -> None:
    function = SCALAR_SEMANTICS[kind].scalar
    arity = len(ELEMENTWISE[kind].params) if kind in ELEMENTWISE else 1
    points = [0.3, 1.0, 2.5, 7.25, -0.4, -2.5]
    args: list[Any] = [np.array([2] * len(points))] * (arity - 1) + [np.array(points)]
    expected = np.vectorize(function, otypes=[np.float64])(*args)
    check(kind, expected, *args, rtol=1e-11)


def test_choices() -> None:
    c = np.array([True, False, True])
    x, y = np.array([1.0, np.nan, 3.0]), np.array([4.0, 5.0, np.inf])
    check("where", np.where(c, x, y), c, x, y)
    check("where", np.where(c, x, 2.0), c, x, 2.0)
    check("select", 2.0, True, 2.0, 3.0, weak=True)
    check("zmul", np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([np.nan, 2.0, np.inf]))
    check("zdiv", np.array([0.0, 0.5, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([np.nan, 2.0, 0.0]))


@pytest.mark.parametrize("source", ["f8", "f4", "i4", "?", "u1", "c16", "c8"])
@pytest.mark.parametrize("target", ["f8", "f4", "i8", "i4", "?", "u1", "c16"])
def test_cast(source: str, target: str) -> None:
    x = np.array([0, 1, 2, 100]).astype(source)
    with (
        np.errstate(all="ignore"),
        pytest.warns(np.exceptions.ComplexWarning) if source[0] == "c" and target[0] not in "c?" else _Nothing(),
    ):
        expected = x.astype(target)
    check("cast", expected, x)


class _Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def layouts(a: np.ndarray) -> list[np.ndarray]:
    if a.ndim == 0:
        return [a, a, a]
    wide = np.empty(tuple(2 * n for n in a.shape), a.dtype)
    strided = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    strided[...] = a
    backwards = a[tuple(slice(None, None, -1) for _ in a.shape)].copy()[tuple(slice(None, None, -1) for _ in a.shape)]
    read_only = a.copy()
    read_only.flags.writeable = False
    return [a, np.asfortranarray(a), strided, backwards, read_only]


@pytest.mark.parametrize("shape", [(), (4,), (0,), (1,), (3, 4), (0, 3), (1, 4), (3, 1), (2, 3, 4)])
def test_layouts_and_shapes(shape: tuple[int, ...]) -> None:
    a = rng.normal(size=shape)
    for x in layouts(np.asarray(a)):
        for y in layouts(np.asarray(a))[:3]:
            check("multiply", np.asarray(x * y), x, y)


@pytest.mark.parametrize(
    ("s", "t"),
    [
        ((3, 4), (4,)),
        ((3, 4), (3, 1)),
        ((3, 1), (1, 4)),
        ((4,), ()),
        ((2, 3, 4), (3, 1)),
        ((1,), (0,)),
        ((5, 1, 2), (3, 1)),
    ],
)
def test_broadcast(s: tuple[int, ...], t: tuple[int, ...]) -> None:
    x, y = np.asarray(rng.normal(size=s)), np.asarray(rng.normal(size=t))
    check("subtract", x - y, x, y)
    check("subtract", y - x, y, x)


def test_broadcast_that_only_run_time_knows() -> None:
    """The type says nothing of the lengths: 1 or not is found out in compiled code."""

    def loose(a: np.ndarray) -> Array:
        return Array(a.dtype, tuple(Sym() for _ in a.shape), "C")

    x, row, column = rng.normal(size=(3, 4)), rng.normal(size=(1, 4)), rng.normal(size=(3, 1))
    for a, b in [(x, x), (x, row), (x, column), (row, column), (column, row), (row, x)]:
        expected = a + b
        check("add", expected, a, b, types=(loose(a), loose(b)))
    with pytest.raises(ValueError, match=r"operands could not be broadcast together with shapes \(3,4\) \(2,4\)"):
        check("add", x, x, x[:2].copy(), types=(loose(x), loose(x)))


def test_mismatch_is_numpys_error() -> None:
    with pytest.raises(ValueError, match=r"operands could not be broadcast together with shapes \(3,\) \(4,\)"):
        check("add", np.zeros(3), np.zeros(3), np.zeros(4))


def test_fused_chain() -> None:
    x, y = rng.normal(size=(5, 6)), rng.normal(size=(6,))

    def build(b: Any, u: Any, v: Any) -> Any:
        t = b.value("multiply", [u, u], u.type)
        t = b.value("add", [t, v], Array(np.dtype("f8"), u.type.dims))
        t = b.value("exp", [b.value("negative", [t], t.type)], t.type)
        total = b.value("sum", [t], Scalar(np.dtype("f8")), axes=(0, 1), keepdims=False)
        rows = b.value(
            "sum", [b.value("sin", [u], u.type)], Array(np.dtype("f8"), u.type.dims[:1]), axes=(1,), keepdims=False
        )
        return total, rows

    total, rows = run(build, x, y)
    same(total, np.exp(-(x * x + y)).sum())
    same(rows, np.sin(x).sum(1))


def test_every_kind_has_a_lowering() -> None:
    operators = {kind for kind, row in ROWS.items() if row.compares or row.operator in scalars._BITS}
    known = {*scalars.names_used(), *scalars._LOGIC, *operators}
    plain = {
        "cast",
        "positive",
        "rerouted",
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "invert",
        "logical_not",
    }
    assert set(ELEMENTWISE) - known - plain == set()


def test_complex_parts() -> None:
    z = np.array([1 + 2j, -3.5j])
    check("real", z.real.copy(), z)
    check("imag", z.imag.copy(), z)
    check("imag", np.zeros(2), np.array([1.0, 2.0]))


def test_ldexp() -> None:
    check("ldexp", np.ldexp(np.array([1.5, 3.0]), np.array([2, -1])), np.array([1.5, 3.0]), np.array([2, -1]))


def test_type_helpers() -> None:
    assert type_of(1.0) == FLOAT
    assert type_of(1) == INT


@pytest.mark.parametrize("code", ["u1", "i2"])
def test_narrow_integers_wrap_within_a_chain(code: str) -> None:
    a, b = np.array([200, 3, 100], code), np.array([100, 250, 150], code) * np.array(100, code)

    def halved(a: Any, b: Any) -> Any:
        return (a * b + b) // 2

    found = dj.jit(halved, backend="numba")(a, b)
    assert found.dtype == a.dtype
    np.testing.assert_array_equal(found, halved(a, b))


def complex_arithmetic(x, y):
    product = np.empty(len(x), x.dtype)
    for i in range(len(x)):
        product[i] = x[i] * y[i]
    return product, x * y, x + y, x - y


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_complex_arithmetic_of_what_is_not_finite(dtype):
    parts = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    numbers = [complex(re, im) for re in parts for im in parts]
    x = np.repeat(np.array(numbers, dtype), len(numbers))
    y = np.tile(np.array(numbers, dtype), len(numbers))
    with np.errstate(all="ignore"):
        want = complex_arithmetic(x, y)
        got = dj.jit(complex_arithmetic)(x, y)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
