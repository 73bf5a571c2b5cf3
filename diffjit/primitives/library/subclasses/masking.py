"""The functions of `np.ma`: arrays become masked ones, and functions of their entries."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np
from numpy import ma

from diffjit.primitives.library.subclasses.masked import (
    Masked,
    binary,
    data_of,
    either,
    fill_kept,
    is_mask,
    made_masked,
    mask_of,
    masked,
    power,
    quotient,
    unary,
)
from diffjit.primitives.registry import implements

_UNARY = (
    "exp", "sin", "cos", "arctan", "sinh", "cosh", "tanh", "abs", "absolute", "fabs", "negative", "floor", "ceil",
    "sqrt", "log", "log2", "log10", "tan", "arcsin", "arccos", "arccosh", "arctanh", "arcsinh", "conjugate",
    "around",
)  # fmt: skip
_BINARY = (
    "add", "subtract", "multiply", "arctan2", "hypot", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
)  # fmt: skip


@implements(ma.asarray, ma.asanyarray)
def asarray(a, dtype=None):
    """A masked array."""
    return made_masked(a) if dtype is None else Masked(a, dtype=dtype)


@implements(ma.masked_where)
def masked_where(condition, a, copy=True):
    """Entries where a condition holds do not count; nor those whose condition does not."""
    hidden = np.asarray(condition.filled(True) if isinstance(condition, ma.MaskedArray) else condition, bool)
    values = np.array(data_of(a)) if copy else data_of(a)
    if hidden.ndim > 0 and hidden.shape != values.shape:
        raise IndexError("Inconsistent shape between the condition and the input")
    return masked(values, np.logical_or(hidden, mask_of(a)), fill_kept(a))


@implements(ma.masked_invalid)
def masked_invalid(a, copy=True):
    """What is not finite does not count."""
    values = np.array(data_of(a)) if copy else data_of(a)
    return masked(values, np.logical_or(~np.isfinite(values), mask_of(a)), fill_kept(a))


@implements(ma.masked_equal)
def masked_equal(x, value, copy=True):
    """Entries of one value do not count."""
    made = masked_where(data_of(x) == value, x, copy)
    made.held_fill = value
    return made


@implements(ma.masked_inside)
def masked_inside(x, v1, v2, copy=True):
    """Entries between two values do not count."""
    values = data_of(x)
    return masked_where((values >= min(v1, v2)) & (values <= max(v1, v2)), x, copy)


@implements(ma.masked_outside)
def masked_outside(x, v1, v2, copy=True):
    """Entries that are not between two values do not count."""
    values = data_of(x)
    return masked_where((values < min(v1, v2)) | (values > max(v1, v2)), x, copy)


@implements(ma.getmaskarray)
def getmaskarray(arr):
    """The mask, of as many entries as the array."""
    mask = mask_of(arr)
    return mask if is_mask(mask) else np.zeros(np.shape(data_of(arr)), bool)


@implements(ma.getmask)
def getmask(a):
    """The mask."""
    return mask_of(a)


@implements(ma.getdata)
def getdata(a, subok=True):
    """The numbers, whether they count or not."""
    return data_of(a)


@implements(ma.is_masked)
def is_masked(x):
    """Whether an entry does not count."""
    return np.any(mask_of(x))


@implements(ma.isMaskedArray)
def is_masked_array(x):
    """Whether it has a mask."""
    return isinstance(x, ma.MaskedArray)


@implements(ma.filled)
def filled(a, fill_value=None):
    """The array with a number in place of entries that do not count."""
    return a.filled(fill_value) if isinstance(a, ma.MaskedArray) else data_of(a)


@implements(ma.compressed)
def compressed(x):
    """The entries that count."""
    return made_masked(x).compressed()


@implements(ma.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """A weighted mean of the entries that count."""
    if returned or keepdims:
        raise NotImplementedError("np.ma.average(returned=..., keepdims=...)")
    a = made_masked(a)
    if weights is None:
        return a.mean(axis)
    counted = data_of(weights)
    if counted.shape != a.shape:
        if axis is None or counted.ndim != 1:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        shape = [1] * a.ndim
        shape[axis] = counted.shape[0]
        counted = np.broadcast_to(counted.reshape(tuple(shape)), a.shape)
    weight = Masked(counted, mask=either(mask_of(a), mask_of(weights)))
    return (a * weight).sum(axis) / weight.sum(axis)


@implements(ma.zeros)
def zeros(shape, dtype=float):
    """Zeros."""
    return masked(np.zeros(shape, dtype), False)


@implements(ma.ones)
def ones(shape, dtype=float):
    """Ones."""
    return masked(np.ones(shape, dtype), False)


@implements(ma.power)
def power_of(a, b, third=None):
    """A power."""
    return power(made_masked(a), b)


@implements(ma.divide, ma.true_divide)
def quotient_of(a, b):
    """A quotient."""
    return quotient(made_masked(a), b)


def _declare_elementwise():
    for name in _UNARY:
        function = getattr(np, name)

        def of_one(a, _function=function):
            return unary(_function, a)

        implements(getattr(ma, name))(of_one)
    for name in _BINARY:
        function = getattr(np, name)

        def of_two(a, b, _function=function):
            return binary(_function, a, b)

        implements(getattr(ma, name))(of_two)


_declare_elementwise()


def _declare_comparisons():
    for name in ("not_equal", "greater", "greater_equal", "less", "less_equal"):
        function = getattr(np, name)

        def where_true(x, value, copy=True, _function=function):
            return masked_where(_function(data_of(x), value), x, copy)

        implements(getattr(ma, f"masked_{name}"))(where_true)


_declare_comparisons()


def _declare_methods():
    def by_name(name):
        def method(a, *args, **kwargs):
            return getattr(made_masked(a), name)(*args, **kwargs)

        return method

    for name in ("sum", "mean", "std", "var", "prod", "max", "min", "count", "anom", "cumsum", "ravel", "any", "all"):
        implements(getattr(ma, name))(by_name(name))


_declare_methods()
