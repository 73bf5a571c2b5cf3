"""Differences, integrals, interpolation and convolution."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import all_axes, along, as_float, one_axis, places
from diffjit.primitives.registry import implements


@implements(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours, n times."""
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a
    a = np.asarray(a)
    axis = one_axis(axis, a.ndim)
    if prepend is not None:
        a = np.concatenate((edge_slab(prepend, a, axis), a), axis=axis)
    if append is not None:
        a = np.concatenate((a, edge_slab(append, a, axis)), axis=axis)
    for _ in places(n):
        later, earlier = a[along(axis, slice(1, None))], a[along(axis, slice(None, -1))]
        a = np.not_equal(later, earlier) if a.dtype == bool else later - earlier
    return a


def edge_slab(values, a, axis):
    """A scalar repeated as one slab of `a`; an array as it is."""
    values = np.asarray(values)
    if values.ndim > 0:
        return values
    return np.broadcast_to(values, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


@implements(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of all elements."""
    flat = np.ravel(ary)
    result = flat[1:] - flat[:-1]
    if to_begin is not None:
        result = np.concatenate((end_of_kind(to_begin, flat.dtype, "to_begin"), result))
    if to_end is not None:
        result = np.concatenate((result, end_of_kind(to_end, flat.dtype, "to_end")))
    return result


def end_of_kind(values, dtype, name):
    """What stands before or after differences, as numbers of their dtype."""
    values = np.ravel(values)
    if not np.can_cast(values.dtype, dtype, casting="same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return values.astype(dtype)


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Central differences inside, one-sided ones of first or second order at the ends."""
    f = as_float(np.asarray(f))
    axes = all_axes(axis, f.ndim)
    spacings = varargs if len(varargs) == len(axes) else (varargs[0] if varargs else 1.0,) * len(axes)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    results = tuple(slope_along(f, axes[k], spacings[k], edge_order) for k in places(len(axes)))
    return results[0] if len(results) == 1 else results


def slope_along(f, axis, spacing, edge_order):
    """np.gradient along one axis."""
    f = np.moveaxis(f, axis, 0)
    n = f.shape[0]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    result = np.empty_like(f)
    if np.ndim(spacing) == 0:
        result[1:-1] = (f[2:] - f[:-2]) / (2.0 * spacing)
        first, second = spacing, spacing
        last, before_last = spacing, spacing
    else:
        widths = np.diff(as_float(np.asarray(spacing)))
        left = np.reshape(widths[:-1], (-1,) + (1,) * (f.ndim - 1))
        right = np.reshape(widths[1:], (-1,) + (1,) * (f.ndim - 1))
        result[1:-1] = (
            -right / (left * (left + right)) * f[:-2]
            + (right - left) / (left * right) * f[1:-1]
            + left / (right * (left + right)) * f[2:]
        )
        first, second = widths[0], widths[min(1, n - 2)]
        last, before_last = widths[-1], widths[max(n - 3, 0)]
    if edge_order == 1:
        result[0] = (f[1] - f[0]) / first
        result[-1] = (f[-1] - f[-2]) / last
    else:
        result[0] = (
            -(2.0 * first + second) / (first * (first + second)) * f[0]
            + (first + second) / (first * second) * f[1]
            - first / (second * (first + second)) * f[2]
        )
        result[-1] = (
            last / (before_last * (before_last + last)) * f[-3]
            - (last + before_last) / (before_last * last) * f[-2]
            + (2.0 * last + before_last) / (last * (before_last + last)) * f[-1]
        )
    return np.moveaxis(result, 0, axis)


@implements(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Integral by the trapezoidal rule."""
    y = np.asarray(y)
    axis = one_axis(axis, y.ndim)
    sums = y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]
    if x is None:
        return np.sum(dx * sums / 2.0, axis=axis)
    x = np.asarray(x)
    if x.ndim == 1:
        x = np.reshape(x, (1,) * axis + (-1,) + (1,) * (y.ndim - 1 - axis))
    widths = np.diff(x, axis=axis)
    return np.sum(widths * sums / 2.0, axis=axis)


def in_double(a):
    """Numbers of double precision: `np.interp` computes with no others."""
    a = np.asarray(a)
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


@implements(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear interpolation; at a knot the derivative is that of the piece to its right."""
    xp, fp = in_double(xp), in_double(fp)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError(
            f"object {'of too small depth' if min(xp.ndim, fp.ndim) == 0 else 'too deep'} for desired array"
        )
    if np.asarray(x).dtype.kind == "c" or xp.dtype.kind == "c":
        raise TypeError("Cannot cast array data from complex numbers to dtype('float64') according to the rule 'safe'")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period = abs(period)
        x = in_double(x) % period
        order = np.argsort(xp % period)
        xp, fp = (xp % period)[order], fp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
    x = in_double(x)
    n = xp.shape[0]
    if n == 0:
        raise ValueError("array of sample points is empty")
    below = np.minimum(np.maximum(np.searchsorted(xp, x, side="right") - 1, 0), max(n - 2, 0))
    above = np.minimum(below + 1, n - 1)
    width = np.where(above == below, 1.0, xp[above] - xp[below])
    inside = fp[below] + (fp[above] - fp[below]) / width * (x - xp[below])
    first = fp[0] if left is None or period is not None else left
    last = fp[-1] if right is None or period is not None else right
    result = np.where(x < xp[0], first, np.where(x > xp[-1], last, inside))
    return np.where(x == xp[-1], fp[-1], result)


@implements(np.convolve)
def convolve(a, v, mode="full"):
    """Discrete convolution of two vectors."""
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    if a.shape[0] == 0 or v.shape[0] == 0:
        raise ValueError("a and v cannot be empty")
    n, m = a.shape[0], v.shape[0]
    whole = np.zeros((n + m - 1,), (a[:1] * v[:1]).dtype)
    if m <= n:
        for k in range(m):
            whole[k : k + n] += v[k] * a
    else:
        for k in range(n):
            whole[k : k + m] += a[k] * v
    return part_of_convolution(whole, max(n, m), min(n, m), mode)


def part_of_convolution(whole, longer, shorter, mode):
    """The part of a full convolution that a mode asks for."""
    if mode in ("full", "f"):
        return whole
    if mode in ("same", "s"):
        start = (shorter - 1) // 2
        return whole[start : start + longer].copy()
    if mode in ("valid", "v"):
        return whole[shorter - 1 : longer].copy()
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@implements(np.correlate)
def correlate(a, v, mode="valid"):
    """Cross-correlation of two vectors."""
    if np.ndim(a) == 0 or np.ndim(v) == 0:
        raise ValueError("object of too small depth for desired array")
    a, v = np.atleast_1d(a), np.atleast_1d(v)
    mirrored = np.conjugate(v)[::-1]
    if mode in ("same", "s"):
        # Where `v` is longer NumPy correlates the other way round and reverses: it cuts on the other side.
        whole = np.convolve(a, mirrored)
        n, m = a.shape[0], v.shape[0]
        start = (m - 1) // 2 if n >= m else n - 1 - (n - 1) // 2
        return whole[start : start + max(n, m)].copy()
    return np.convolve(a, mirrored, mode)
