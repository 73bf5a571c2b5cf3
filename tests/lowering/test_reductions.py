"""Reductions, scans, products, sorting and arrangement against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diffjit.ir.types import Array, Scalar, Sym
from tests.lowering.harness import check, run, same, type_of

rng = np.random.default_rng(2)
F8 = np.dtype("f8")


def arrays(shape: tuple[int, ...], code: str = "f8") -> list[np.ndarray]:
    a = np.asarray(rng.normal(size=shape) * 4)
    a = (a > 0) if code == "?" else a.astype(code) if code[0] != "c" else (a + 1j * rng.normal(size=shape)).astype(code)
    return [a, np.asfortranarray(a), np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a]


AXES = [
    ((5,), (0,)),
    ((3, 4), (0,)),
    ((3, 4), (1,)),
    ((3, 4), (0, 1)),
    ((2, 3, 4), (1,)),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (1, 2)),
    ((0, 3), (0,)),
    ((0, 3), (1,)),
    ((1, 4), (0,)),
    ((), ()),
]


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize(("shape", "axes"), AXES)
def test_reduction(kind: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    function = getattr(np, kind)
    for a in arrays(shape):
        if kind in ("max", "min") and a.size == 0 and axes == (0,):
            with pytest.raises(ValueError, match="zero-size array to reduction operation"):
                check(kind, np.zeros(3), a, axes=axes, keepdims=False)
            continue
        for keep in (False, True):
            expected = function(a, axis=axes, keepdims=keep)
            check(kind, expected if keep or len(axes) < a.ndim else expected[()], a, axes=axes, keepdims=keep)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("code", ["f4", "c16", "i8", "i4", "u1", "?"])
def test_reduction_dtypes(kind: str, code: str) -> None:
    for a in arrays((3, 4), code):
        check(kind, getattr(np, kind)(a), a, axes=(0, 1), keepdims=False, rtol=1e-5 if code == "f4" else 1e-12)
        check(kind, getattr(np, kind)(a, axis=0), a, axes=(0,), keepdims=False, rtol=1e-5 if code == "f4" else 1e-12)


def test_nan_wins() -> None:
    a = np.array([[1.0, np.nan], [3.0, 2.0]])
    check("max", np.max(a), a, axes=(0, 1), keepdims=False)
    check("min", np.min(a, axis=0), a, axes=(0,), keepdims=False)


def test_long_sums_are_as_accurate_as_numpys() -> None:
    a = rng.random(1_000_003)
    got = run(lambda b, x: b.value("sum", [x], Scalar(F8), axes=(0,), keepdims=False), a)
    assert abs(got - float(np.sum(a.astype(np.longdouble)))) < 1e-9
    a32 = a.astype(np.float32)
    got = run(lambda b, x: b.value("sum", [x], Scalar(np.dtype("f4")), axes=(0,), keepdims=False), a32)
    assert abs(float(got) - float(np.sum(a32.astype(float)))) < 2.0


@pytest.mark.parametrize("kind", ["cumsum", "cumprod"])
def test_scans(kind: str) -> None:
    for code in ("f8", "f4", "i8", "c16"):
        for a in arrays((3, 4), code):
            for axis in (0, 1):
                check(kind, getattr(np, kind)(a, axis=axis), a, axis=axis, rtol=1e-5 if code == "f4" else 1e-12)
    check(kind, getattr(np, kind)(np.zeros(0)), np.zeros(0), axis=0)


@pytest.mark.parametrize("kind", ["argmax", "argmin"])
def test_arg_extremes(kind: str) -> None:
    function = getattr(np, kind)
    for a in [
        *arrays((4, 5)),
        np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, 5.0]]),
        rng.integers(0, 3, (4, 5)),
        rng.random((3, 2)) > 0.5,
    ]:
        check(kind, function(a), a, axis=None, keepdims=False)
        for axis in (0, 1):
            check(kind, function(a, axis=axis), a, axis=axis, keepdims=False)
            check(kind, function(a, axis=axis, keepdims=True), a, axis=axis, keepdims=True)
    with pytest.raises(ValueError, match="attempt to get"):
        check(kind, np.int64(0), np.zeros(0), axis=None, keepdims=False)


@pytest.mark.parametrize("kind", ["sort", "argsort"])
def test_sorting(kind: str) -> None:
    function = getattr(np, kind)
    a = rng.normal(size=(40, 3))
    a[3, 1] = np.nan
    for x in [
        a,
        a.T,
        rng.integers(0, 5, (50, 2)),
        rng.random((7, 2)) > 0.5,
        (a + 1j * a[::-1]),
        np.zeros((0, 2)),
        a[:, :1].astype("f4"),
    ]:
        for axis in (0, 1):
            check(kind, function(x, axis=axis, kind="stable"), x, axis=axis)


def test_concatenate() -> None:
    a, b, c = rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), np.arange(3).reshape(1, 3)
    check("concatenate", np.concatenate([a, b, c]), a, b, c, axis=0)
    check("concatenate", np.concatenate([a, a.T.copy().T], axis=1), a, np.asfortranarray(a), axis=1)
    with pytest.raises(
        ValueError, match="all the input array dimensions except for the concatenation axis must match exactly"
    ):
        check("concatenate", np.zeros((4, 3)), a, np.zeros((2, 4)), axis=0)


def test_creation() -> None:
    for code in ("f8", "f4", "i8", "?", "c16", "i2"):
        d = np.dtype(code)
        check("zeros", np.zeros((3, 2), d), 3, 2)
        check("full", np.full((2, 3), 1, d), 1, 2, 3)
    check("zeros", np.zeros((2, 3), order="F"), 2, 3, layout="F")
    check("arange", np.arange(2, 11, 3), 2, 11, 3)
    check("arange", np.arange(10, 0, -3), 10, 0, -3)
    check("arange", np.arange(5, 0), 5, 0, 1)
    check("arange", np.arange(0.0, 1.0, 0.1), 0.0, 1.0, 0.1)
    check("arange", np.arange(3.0, 0.0, -0.7), 3.0, 0.0, -0.7)
    a = rng.normal(size=(3, 4))
    check("zeros_like", np.zeros_like(a), a)
    check("zeros_like", np.zeros_like(a.astype("f4")), a.astype("f4"))
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        check("zeros", np.zeros(1), -1)


def test_copy() -> None:
    for a in arrays((3, 4)):
        check("copy", a.copy(), a, order="C")
        check("copy", a.copy("F"), a, order="F", layout="F")


@pytest.mark.parametrize(
    ("s", "t"), [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 4), ()), ((3, 4), (1, 1)), ((2, 3, 4), (3, 1)), ((4,), (4,))]
)
def test_unbroadcast(s: tuple[int, ...], t: tuple[int, ...]) -> None:
    g, like = rng.normal(size=s), np.zeros(t)
    expected = g.sum(axis=tuple(range(len(s) - len(t))))
    expected = (
        expected.sum(axis=tuple(k for k, n in enumerate(t) if n == 1 and expected.shape[k] != 1), keepdims=True)
        if t
        else np.asarray(expected)
    )
    for loose in (False, True):
        types = (type_of(g), Array(F8, tuple(Sym() for _ in t), "C") if loose else type_of(like))
        check("unbroadcast", expected, g, like, types=types)
    total = run(lambda b, x, y: b.value("unbroadcast", [x, y], Scalar(F8)), g, 1.0)
    same(total, g.sum())


def test_nonzero_and_masks() -> None:
    a = rng.normal(size=(4, 5))
    for x in [a, np.asfortranarray(a)]:
        m = x > 0
        check("nonzero", np.flatnonzero(m), m)
        check("mask_get", x[m], x, m)
        check("mask_get", x[m[:, 0].copy()], x, m[:, 0].copy())
    check("mask_get", a[a > 100], a, a > 100)
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 0"):
        check("mask_get", np.zeros(0), a, np.ones(3, bool))


def test_fused_reductions_along_axes() -> None:
    x = rng.normal(size=(4, 5, 6))

    def build(b: Any, u: Any) -> Any:
        t = b.value("multiply", [u, u], u.type)
        return [
            b.value(
                "sum",
                [b.value("sin", [t], u.type)],
                Array(F8, tuple(Sym() for _ in range(3 - len(axes)))),
                axes=axes,
                keepdims=False,
            )
            for axes in ((0,), (1,), (2,), (0, 1))
        ]

    for got, axes in zip(run(build, x), ((0,), (1,), (2,), (0, 1)), strict=True):
        same(got, np.sin(x * x).sum(axis=axes))
