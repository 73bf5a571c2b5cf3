"""What NumPy's ufuncs do with elements that are objects: Python's own comparisons and functions of `math`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def greater_one(a: Any, b: Any) -> Any:
    """The greater of two: the first of equal ones, and the second of those that have no order."""
    first = a >= b  # not `max`, which asks for `b > a`
    return a if first else b


def lesser_one(a: Any, b: Any) -> Any:
    """The lesser of two, as `greater_one`."""
    first = a <= b
    return a if first else b


def less(a: Any, b: Any) -> Any:
    """What `<` of two is taken for."""
    return np.bool_(bool(a < b))


def less_equal(a: Any, b: Any) -> Any:
    """What `<=` of two is taken for."""
    return np.bool_(bool(a <= b))


def greater(a: Any, b: Any) -> Any:
    """What `>` of two is taken for."""
    return np.bool_(bool(a > b))


def greater_equal(a: Any, b: Any) -> Any:
    """What `>=` of two is taken for."""
    return np.bool_(bool(a >= b))


def equal(a: Any, b: Any) -> Any:
    """What `==` of two is taken for."""
    return np.bool_(bool(a == b))


def not_equal(a: Any, b: Any) -> Any:
    """What `!=` of two is taken for."""
    return np.bool_(bool(a != b))


OF_ELEMENTS: dict[np.ufunc, Any] = {
    np.maximum: greater_one, np.fmax: greater_one, np.minimum: lesser_one, np.fmin: lesser_one, np.less: less,
    np.less_equal: less_equal, np.greater: greater, np.greater_equal: greater_equal, np.equal: equal,
    np.not_equal: not_equal, np.floor: math.floor, np.ceil: math.ceil, np.trunc: math.trunc,
}  # fmt: skip
