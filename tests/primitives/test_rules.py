"""Structural rules run as plain NumPy: the forward one against difference quotients, the reverse one as transpose."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import diffjit.primitives  # noqa: F401 - fills the tables
from diffjit.primitives import spectral
from diffjit.primitives.registry import RULES

rng = np.random.default_rng(11)


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum `g` to the shape of `like`."""
    g = np.asarray(g)
    g = np.sum(g, axis=tuple(range(g.ndim - np.ndim(like))))
    return np.sum(g, axis=tuple(k for k in range(g.ndim) if np.shape(like)[k] == 1), keepdims=True)


OPERATIONS: dict[str, Any] = {
    "sum": lambda a, axes, keepdims: np.sum(a, axis=axes, keepdims=keepdims),
    "prod": lambda a, axes, keepdims: np.prod(a, axis=axes, keepdims=keepdims),
    "max": lambda a, axes, keepdims: np.max(a, axis=axes, keepdims=keepdims),
    "min": lambda a, axes, keepdims: np.min(a, axis=axes, keepdims=keepdims),
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "matmul": np.matmul,
    "concatenate": lambda *arrays, axis: np.concatenate(arrays, axis),
    "mask_get": lambda a, m: a[m],
    "sort": lambda a, axis: np.sort(a, axis=axis, kind="stable"),
    "arange": np.arange,
    "unbroadcast": unbroadcast,
    "solve": np.linalg.solve,
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "cholesky": np.linalg.cholesky,
    "eigh": spectral.packed_eigh,
    "svd": spectral.packed_svd,
}
WITHOUT_DERIVATIVE = {"any", "all", "argmax", "argmin", "nonzero", "argsort"}
WITHOUT_TANGENT = {"unbroadcast": (1,), "arange": (1,)}  # kind -> inputs that lend a shape or a length only
IN_THE_ENGINE = {"gather"}
COMPLEX = {"fft", "rfft", "irfft"}  # test_complex

Row = tuple[str, tuple[Any, ...], dict[str, Any]]
ROWS: list[Row] = []


def row(kind: str, *inputs: Any, **attrs: Any) -> None:
    """Add one operation to check."""
    ROWS.append((kind, inputs, attrs))


def normal(*shape: int) -> Any:
    return rng.normal(size=shape)


def positive_definite(*shape: int) -> Any:
    a = normal(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


with_zeros = normal(3, 4)
with_zeros[0, 1] = with_zeros[1, 1] = with_zeros[1, 2] = 0.0

for kind in ("sum", "prod", "max", "min"):
    for keepdims in (False, True):
        for axes in ((0,), (1,), (0, 2), (0, 1, 2), (1, 2)):
            row(kind, normal(2, 3, 4), axes=axes, keepdims=keepdims)
        row(kind, normal(5), axes=(0,), keepdims=keepdims)
        row(kind, normal(3, 1), axes=(1,), keepdims=keepdims)
for axes in ((0,), (1,), (0, 1)):
    row("prod", with_zeros, axes=axes, keepdims=False)
    row("sum", np.empty((0, 3)), axes=axes, keepdims=False)
    row("prod", np.empty((0, 3)), axes=axes, keepdims=False)
for kind in ("cumsum", "cumprod", "sort"):
    for axis in (0, 1, 2):
        row(kind, normal(2, 3, 4), axis=axis)
    row(kind, normal(5), axis=0)
    row(kind, np.empty((0,)), axis=0)
for axis in (0, 1):
    row("cumprod", with_zeros, axis=axis)
for left, right in (
    ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((2, 0), (0, 4)),
    ((6, 5, 2, 3), (3, 4)),
):  # fmt: skip
    row("matmul", normal(*left), normal(*right))
row("concatenate", normal(2, 3), normal(2, 1), normal(2, 0), axis=1)
row("concatenate", normal(2), normal(3), axis=0)
row("mask_get", normal(3, 4), normal(3, 4) > 0)
row("mask_get", normal(3, 4), np.array([True, False, True]))
row("arange", 0.5, 3.0, 0.3)
row("unbroadcast", normal(5, 3, 4), normal(3, 1))
row("unbroadcast", normal(3, 4), np.float64(0.0))
for a, b in (
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((4, 3, 3), (4, 3, 2)),
    ((4, 3, 3), (3,)),
    ((4, 3, 3), (3, 2)),
    ((3, 3), (4, 3, 2)),
):
    row("solve", normal(*a) + 3 * np.eye(3), normal(*b))
for shape in ((1, 1), (3, 3), (4, 3, 3), (2, 1, 3, 3)):
    row("inv", normal(*shape) + 3 * np.eye(shape[-1]))
    row("det", normal(*shape))
    row("cholesky", positive_definite(*shape))
rank_two = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [1.0, 0.0, 3.0]])
row("det", rank_two)
row("det", np.zeros((2, 2)))
row("det", np.zeros((1, 1)))
row("det", np.stack([rank_two, np.eye(3), np.zeros((3, 3))]))

for shape in ((1, 1), (3, 3), (2, 3, 3)):
    for upper in (False, True):
        row("eigh", normal(*shape), upper=upper)
for shape in ((1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 1, 3)):
    row("svd", normal(*shape))

IDS = [f"{kind}-{k}" for k, (kind, _, _) in enumerate(ROWS)]


def call(function: Any, known: dict[str, Any], attrs: dict[str, Any]) -> Any:
    """Call a rule with what its parameter list asks for."""
    parameters = inspect.signature(function).parameters.values()
    positional = [known[p.name] for p in parameters if p.kind is not p.KEYWORD_ONLY]
    return function(*positional, **{p.name: attrs[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY})


def named(kind: str, values: tuple[Any, ...], suffix: str = "") -> dict[str, Any]:
    """Values under the names of a kind's inputs."""
    entry = RULES[kind]
    if entry.variadic:
        return {entry.params[0] + suffix: values}
    return {name + suffix: value for name, value in zip(entry.params, values, strict=True)}


def differentiable(x: Any) -> bool:
    return np.asarray(x).dtype.kind == "f"


def tangent(kind: str, inputs: tuple[Any, ...], dots: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The forward rule."""
    entry = RULES[kind]
    if entry.linear:
        still = WITHOUT_TANGENT.get(kind, ())
        moving = [differentiable(x) and k not in still for k, x in enumerate(inputs)]
        keep = (d if moves else x for x, d, moves in zip(inputs, dots, moving, strict=True))
        return OPERATIONS[kind](*keep, **attrs)
    if entry.bilinear:
        (a, b), (a_dot, b_dot) = inputs, dots
        return OPERATIONS[kind](a_dot, b, **attrs) + OPERATIONS[kind](a, b_dot, **attrs)
    known = named(kind, inputs) | named(kind, dots, "_dot") | {"out": OPERATIONS[kind](*inputs, **attrs)}
    return call(entry.jvp_rule, known, attrs)


def cotangents(kind: str, inputs: tuple[Any, ...], out_bar: Any, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """The reverse rule, its results summed to the shapes of the inputs as the engine does."""
    entry = RULES[kind]
    known = named(kind, inputs) | {"out": OPERATIONS[kind](*inputs, **attrs), "out_bar": out_bar}
    bars = call(entry.vjp_rule, known, attrs)
    bars = bars if isinstance(bars, tuple) else (bars,)
    return tuple(np.zeros(np.shape(x)) if b is None else unbroadcast(b, x) for b, x in zip(bars, inputs, strict=True))


def directions(kind: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A random tangent for each input that has one."""
    still = WITHOUT_TANGENT.get(kind, ())
    moving = [differentiable(x) and k not in still for k, x in enumerate(inputs)]
    return tuple(rng.normal(size=np.shape(x)) * moves for x, moves in zip(inputs, moving, strict=True))


@pytest.mark.parametrize("case", ROWS, ids=IDS)
def test_forward_rule_against_difference_quotient(case: Row) -> None:
    kind, inputs, attrs = case
    operation = OPERATIONS[kind]
    dots = directions(kind, inputs)
    h = 1e-6
    ahead = operation(*(x + h * d if differentiable(x) else x for x, d in zip(inputs, dots, strict=True)), **attrs)
    behind = operation(*(x - h * d if differentiable(x) else x for x, d in zip(inputs, dots, strict=True)), **attrs)
    np.testing.assert_allclose(tangent(kind, inputs, dots, attrs), (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("case", ROWS, ids=IDS)
def test_reverse_rule_is_the_transpose(case: Row) -> None:
    kind, inputs, attrs = case
    dots = directions(kind, inputs)
    out_dot = tangent(kind, inputs, dots, attrs)
    out_bar = rng.normal(size=np.shape(out_dot))
    bars = cotangents(kind, inputs, out_bar, attrs)
    assert [np.shape(b) for b in bars] == [np.shape(x) for x in inputs]
    backward = sum(np.sum(b * d) for b, d in zip(bars, dots, strict=True))
    np.testing.assert_allclose(backward, np.sum(out_bar * out_dot), rtol=1e-10, atol=1e-12)


def test_every_rule_is_tested() -> None:
    assert set(OPERATIONS) | WITHOUT_DERIVATIVE | IN_THE_ENGINE | COMPLEX == set(RULES)
    assert {kind for kind, _, _ in ROWS} == set(OPERATIONS)
    for kind in WITHOUT_DERIVATIVE:
        assert RULES[kind].jvp_rule is None
        assert RULES[kind].vjp_rule is None


def test_every_row_of_the_ir_has_a_rule() -> None:
    pure = (
        "sum prod max min any all argmax argmin cumsum cumprod matmul concatenate gather mask_get nonzero sort argsort"
    )
    pure += " arange solve inv det cholesky unbroadcast eigh svd fft rfft irfft"
    assert set(pure.split()) == set(RULES)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_ties_share_equally(kind: str) -> None:
    a = np.array([[1.0, 2.0, 2.0], [2.0, 0.0, 2.0]]) * (1 if kind == "max" else -1)
    (bar,) = cotangents(kind, (a,), np.array(12.0), {"axes": (0, 1), "keepdims": False})
    np.testing.assert_array_equal(bar, np.where(np.abs(a) == 2.0, 3.0, 0.0))
    out_dot = tangent(kind, (a,), (np.arange(6.0).reshape(2, 3),), {"axes": (1,), "keepdims": False})
    np.testing.assert_array_equal(out_dot, [1.5, 4.0])


@pytest.mark.parametrize("kind", ["max", "min"])
def test_infinite_cotangent_does_not_leak(kind: str) -> None:
    (bar,) = cotangents(kind, (np.array([1.0, 2.0, 3.0]),), np.array(np.inf), {"axes": (0,), "keepdims": False})
    assert np.isfinite(np.delete(bar, 2 if kind == "max" else 0)).all()


def test_rules_keep_float32() -> None:
    a = normal(3, 4).astype(np.float32)
    for kind in ("sum", "prod", "max", "min"):
        attrs = {"axes": (1,), "keepdims": False}
        known = {"a": a, "out": OPERATIONS[kind](a, **attrs), "out_bar": a[:, 0]}
        assert call(RULES[kind].vjp_rule, known, attrs).dtype == np.float32
    for kind in ("cumsum", "cumprod", "sort"):
        known = {"a": a, "out": OPERATIONS[kind](a, axis=1), "out_bar": a}
        assert call(RULES[kind].vjp_rule, known, {"axis": 1}).dtype == np.float32


def test_determinant_near_a_singular_matrix() -> None:
    # det rounds to 6.7e-16, not 0; the cofactors are of order 1 and exact ones are integers.
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    (bar,) = cotangents("det", (a,), np.array(1.0), {})
    np.testing.assert_allclose(bar, [[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]], rtol=1e-9)
