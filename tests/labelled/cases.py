"""Programs of pandas' and xarray's objects against the libraries themselves and difference quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj


def numbers(obj: Any) -> np.ndarray:
    """What an object holds, as an array of floats."""
    return np.asarray(obj, float)


def like(obj: Any, values: np.ndarray) -> Any:
    """The object with other numbers."""
    if hasattr(obj, "dims"):
        return obj.copy(data=values)
    if obj.ndim == 1:
        return type(obj)(values, index=obj.index, name=obj.name)
    return type(obj)(values, index=obj.index, columns=obj.columns)


def difference(function: Callable[[Any], Any], obj: Any, direction: np.ndarray) -> np.ndarray:
    """How the result changes along a direction, by the library itself."""
    values = numbers(obj)
    ahead, behind = (numbers(function(like(obj, values + step * direction))) for step in (1e-6, -1e-6))
    return (ahead - behind) / 2e-6


def check(function: Callable[[Any], Any], obj: Any, backend: str) -> None:
    """Value, forward and reverse mode to second order, and the classes and labels of results and gradients."""
    rng = np.random.default_rng(7)
    direction, other = rng.normal(size=(2, *numbers(obj).shape))
    expected = function(obj)
    value, pullback = dj.vjp(function, obj, backend=backend)
    same_labels(value, expected)
    np.testing.assert_allclose(numbers(value), numbers(expected), rtol=1e-12)
    slope = difference(function, obj, direction)
    _, tangent = dj.jvp(function, (obj,), (like(obj, direction),), backend=backend)
    there = ~np.isnan(slope)
    np.testing.assert_allclose(numbers(tangent)[there], slope[there], rtol=1e-6, atol=1e-7)
    weights = np.where(there, rng.normal(size=slope.shape), 0.0)[()]
    (bar,) = pullback(like(expected, weights) if np.ndim(expected) else 1.0)
    same_labels(bar, obj)
    total = np.nansum(slope * weights) if np.ndim(expected) else slope
    np.testing.assert_allclose(np.nansum(numbers(bar) * direction), total, rtol=1e-6, atol=1e-7)
    if np.ndim(expected):
        return
    gradient = dj.grad(function, backend=backend)
    same_labels(gradient(obj), obj)
    curved = difference(gradient, obj, other)
    product = dj.hvp(function, (obj,), (like(obj, other),), backend=backend)
    same_labels(product, obj)
    np.testing.assert_allclose(numbers(product), curved, rtol=1e-5, atol=1e-6)


def same_labels(a: Any, b: Any) -> None:
    """The same class and labels."""
    if not hasattr(b, "name") and not hasattr(b, "columns"):
        assert np.shape(a) == np.shape(b)
        return
    assert type(a) is type(b)
    if hasattr(b, "dims"):
        one, two = (x.copy(data=np.zeros(x.shape)).drop_attrs(deep=False) for x in (a, b))
        assert one.identical(two)
        return
    assert a.index.identical(b.index)
    if a.ndim == 1:
        assert a.name == b.name
    else:
        assert a.columns.identical(b.columns)
