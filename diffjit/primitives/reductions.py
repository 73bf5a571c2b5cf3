"""Rules of reductions and running sums: sum, prod, max, min, cumsum, cumprod.

`axes` is a sorted tuple of all reduced axes, `axis` one axis; both are known while specialising. A loop over a tuple
unrolls, a loop over a range stays a loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.registry import rule

# Discrete values: no derivative.
for _kind in ("any", "all", "argmax", "argmin"):
    rule(_kind, "a")


def spread(reduced: Any, a: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The result of a reduction of `a`, repeated to the shape of `a`."""
    if not keepdims and len(axes) < a.ndim:
        reduced = np.expand_dims(reduced, axes)
    return np.broadcast_to(reduced, a.shape)


total = rule("sum", "a", linear=True, numbers="real")


@total.vjp
def sum_vjp(a: Any, out_bar: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Each element contributes itself."""
    return spread(out_bar, a, axes, keepdims)


# Largest and smallest: elements that tie share the derivative equally. With a NaN nothing is equal to the result, and
# no element draws a derivative, as with `maximum`.

largest = rule("max", "a", numbers="real")
smallest = rule("min", "a", numbers="real")


def ties_of(a: Any, out: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Which elements of `a` attain its maximum or minimum `out`, and how many (at least 1)."""
    ties = np.equal(a, spread(out, a, axes, keepdims))
    if a.ndim == 0:
        return ties, 1.0
    return ties, np.maximum(np.sum(ties, axis=axes, keepdims=keepdims, dtype=a.dtype), 1)


@largest.jvp
@smallest.jvp
def extremum_jvp(a: Any, a_dot: Any, out: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The mean of the tangents of the elements that attain it."""
    ties, count = ties_of(a, out, axes, keepdims)
    return np.sum(np.where(ties, a_dot, 0.0), axis=axes, keepdims=keepdims) / count


@largest.vjp
@smallest.vjp
def extremum_vjp(a: Any, out: Any, out_bar: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The cotangent goes to the elements that attain it."""
    ties, count = ties_of(a, out, axes, keepdims)
    return np.where(ties, spread(out_bar / count, a, axes, keepdims), 0.0)


# Product: the partial by each element is the product of all others, from running products of both sides. Division by
# the element would fail at zeros, for second derivatives too.

product = rule("prod", "a", numbers="holomorphic")


def products_of_others(a: Any) -> Any:
    """For each element, the product of the other elements along the last axis."""
    n = a.shape[-1]
    before = np.ones_like(a)
    after = np.ones_like(a)
    for k in range(1, n):
        before[..., k] = before[..., k - 1] * a[..., k - 1]
        after[..., n - 1 - k] = after[..., n - k] * a[..., n - k]
    return before * after


def product_partials(a: Any, axes: tuple[int, ...]) -> Any:
    """The partial derivative of the product over `axes` by each element, shaped as `a`."""
    kept = tuple(k for k in tuple(range(a.ndim)) if k not in axes)
    order = kept + axes
    moved = np.transpose(a, order)
    length = 1
    for k in axes:
        length = length * a.shape[k]
    flat = np.reshape(moved, (*(a.shape[k] for k in kept), length))
    others = np.reshape(products_of_others(flat), moved.shape)
    return np.transpose(others, tuple(order.index(k) for k in tuple(range(a.ndim))))


@product.jvp
def prod_jvp(a: Any, a_dot: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Leibniz's rule."""
    return np.sum(product_partials(a, axes) * a_dot, axis=axes, keepdims=keepdims)


@product.vjp
def prod_vjp(a: Any, out_bar: Any, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Leibniz's rule."""
    return product_partials(a, axes) * spread(out_bar, a, axes, keepdims)


running_sum = rule("cumsum", "a", linear=True, numbers="real")


@running_sum.vjp
def cumsum_vjp(out_bar: Any, *, axis: int) -> Any:
    """The transpose of a running sum runs from the other end."""
    return np.flip(np.cumsum(np.flip(out_bar, axis), axis), axis)


# Running product: out[k] = out[k - 1] * a[k], and the linear recurrences that follow from it, right at zeros.

running_product = rule("cumprod", "a", numbers="holomorphic")


@running_product.jvp
def cumprod_jvp(a: Any, a_dot: Any, out: Any, *, axis: int) -> Any:
    """out_dot[k] = a[k] out_dot[k - 1] + out[k - 1] a_dot[k]."""
    factors = np.moveaxis(a, axis, 0)
    products = np.moveaxis(out, axis, 0)
    moved_dot = np.moveaxis(a_dot, axis, 0).copy()
    for k in range(1, moved_dot.shape[0]):
        moved_dot[k] = factors[k] * moved_dot[k - 1] + products[k - 1] * moved_dot[k]
    return np.moveaxis(moved_dot, 0, axis)


@running_product.program
def cumprod_program(a: Any, *, axis: int) -> Any:
    """The recurrence itself."""
    out = np.moveaxis(a, axis, 0).copy()
    for k in range(1, out.shape[0]):
        out[k] = out[k - 1] * out[k]
    return np.moveaxis(out, 0, axis)


@running_product.vjp
def cumprod_vjp(a: Any, out: Any, out_bar: Any, *, axis: int) -> Any:
    """The same recurrence backwards: what reaches out[k] passes on to out[k - 1] through a[k]."""
    factors = np.moveaxis(a, axis, 0)
    products = np.moveaxis(out, axis, 0)
    moved_bar = np.moveaxis(out_bar, axis, 0).copy()
    n = moved_bar.shape[0]
    for k in range(n - 2, -1, -1):
        moved_bar[k] += factors[k + 1] * moved_bar[k + 1]
    moved_bar[1:] *= products[: n - 1]
    return np.moveaxis(moved_bar, 0, axis)
