"""Integrals of samples by SciPy's names: plain Python, read by the frontend."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.integrate

from diffjit.primitives.library.axes import along, one_axis
from diffjit.primitives.registry import implements


@implements(scipy.integrate.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The trapezoidal rule."""
    return np.trapezoid(y, x, dx, axis)


def widths(y, x, dx, axis):
    """The distances of neighbours, to be multiplied with slices of y along an axis."""
    if x is None:
        return dx
    d = np.diff(np.asarray(x), axis=-1 if np.ndim(x) == 1 else axis)
    if np.ndim(x) == 1 and y.ndim > 1:
        return np.reshape(d, (*(1,) * axis, d.size, *(1,) * (y.ndim - 1 - axis)))
    return d


def with_first(found, y, initial, axis):
    """Sums with a first value, where one is asked for."""
    if initial is None:
        return found
    return np.concatenate((0.0 * y[along(axis, slice(0, 1))] + initial, found), axis=axis)


@implements(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    """The trapezoidal rule up to each sample."""
    y = np.asarray(y) * 1.0
    axis = one_axis(axis, y.ndim)
    middle = 0.5 * (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))])
    found = np.cumsum(widths(y, x, dx, axis) * middle, axis=axis)
    return with_first(found, y, initial, axis)


@implements(scipy.integrate.cumulative_simpson)
def cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    """Simpson's rule up to each sample: parabolas through three samples each, the last ones once more where need be."""
    y = np.asarray(y) * 1.0
    axis = one_axis(axis, y.ndim)
    n = y.shape[axis]
    if n < 3:
        found = cumulative_trapezoid(y, x, dx, axis)
        return found if initial is None else with_first(found + initial, y, initial, axis)
    d = widths(y, x, dx, axis)
    equal = np.ndim(d) == 0
    found = np.zeros_like(y[along(axis, slice(1, None))])
    for k in range(n - 1):
        first = min(k - k % 2, n - 3)
        a, b, c = (y[along(axis, slice(first + j, first + j + 1))] for j in range(3))
        h = d if equal else np.asarray(d)[along(axis, slice(first, first + 1))]
        g = d if equal else np.asarray(d)[along(axis, slice(first + 1, first + 2))]
        if k == first:
            part = h * (a * (2.0 * h + 3.0 * g) / (6.0 * (h + g)) + b * (h + 3.0 * g) / (6.0 * g)
                        - c * h * h / (6.0 * g * (h + g)))  # fmt: skip
        else:
            part = g * (c * (2.0 * g + 3.0 * h) / (6.0 * (h + g)) + b * (g + 3.0 * h) / (6.0 * h)
                        - a * g * g / (6.0 * h * (h + g)))  # fmt: skip
        found[along(axis, slice(k, k + 1))] = part
    found = np.cumsum(found, axis=axis)
    return found if initial is None else with_first(found + initial, y, initial, axis)


@implements(scipy.integrate.romb)
def romb(y, dx=1.0, axis=-1, show=False):
    """Romberg's rule for one sample more than a power of two."""
    if show:
        raise NotImplementedError("scipy.integrate.romb(show=True): leave it out")
    y = np.moveaxis(np.asarray(y) * 1.0, axis, 0)
    n = y.shape[0] - 1
    levels = 0
    while 2**levels < n:
        levels += 1
    if 2**levels != n:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    rows = np.zeros((levels + 1, *y.shape[1:]))
    for k in range(levels + 1):
        step = n // 2**k
        total = 0.5 * (y[0] + y[n])
        for j in range(1, 2**k):
            total = total + y[j * step]
        rows[k] = total * (dx * step)
    for j in range(1, levels + 1):
        for k in range(levels, j - 1, -1):
            rows[k] = rows[k] + (rows[k] - rows[k - 1]) / (4.0**j - 1.0)
    return rows[levels]


@implements(scipy.integrate.simpson)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    """Simpson's rule; of an odd number of intervals, the last one belongs to the parabola through the last samples."""
    y = np.asarray(y) * 1.0
    axis = one_axis(axis, y.ndim)
    found = cumulative_simpson(y, x=x, dx=dx, axis=axis)
    return np.sum(found[along(axis, slice(y.shape[axis] - 2, y.shape[axis] - 1))], axis=axis)
