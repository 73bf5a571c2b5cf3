"""Values between the elements of an array: `map_coordinates`, `zoom`, `shift`, `rotate`, `affine_transform`.

Of order 2 and more these are splines, whose coefficients a recursive filter computes from the array (M. Unser,
"Splines: a perfect fit for signal and image processing", 1999), with its beginning and end as the boundary mode has it.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math

import numpy as np
import scipy.ndimage

from diffjit.primitives.library.axes import as_float, known, places
from diffjit.primitives.library.ndimage.filters import each
from diffjit.primitives.library.ndimage.lines import MODES, exact, mirrored, without_output
from diffjit.primitives.registry import implements

# Up to SciPy 1.17 the filter of reflected arrays begins with a sum in place of the first value, as short ones show.
_TWO = scipy.ndimage.spline_filter1d(np.array([0.0, 1.0]), 3, mode="reflect")
_EXACT = bool(abs(5.0 * _TWO[0] + _TWO[1]) < 1e-12)
FAR = 12  # so many elements are added at each edge where a spline's coefficients know no mode


def poles(order):
    """Of the filter that makes coefficients of values."""
    if order == 2:
        return (math.sqrt(8.0) - 3.0,)
    if order == 3:
        return (math.sqrt(3.0) - 2.0,)
    if order == 4:
        inner = math.sqrt(664.0 - math.sqrt(438976.0)), math.sqrt(664.0 + math.sqrt(438976.0))
        return (inner[0] + math.sqrt(304.0) - 19.0, inner[1] - math.sqrt(304.0) - 19.0)
    inner = math.sqrt(67.5 - math.sqrt(4436.25)), math.sqrt(67.5 + math.sqrt(4436.25))
    return (inner[0] + math.sqrt(26.25) - 6.5, inner[1] - math.sqrt(26.25) - 6.5)


def first_value(c, z, mode):
    """What the causal filter begins with: a sum over the array as it is continued."""
    n = c.shape[0]
    total, power = c[0].copy(), z
    if mode == "mirror":
        last = z ** (n - 1)
        total += last * c[n - 1]
        for i in range(1, n - 1):
            total += power * (c[i] + last * c[n - 1 - i])
            power = power * z
        return total / (1 - last * last)
    last = z**n
    if mode == "wrap":
        for i in range(1, n):
            total += power * c[n - i]
            power = power * z
        return total / (1 - last)
    total += last * c[n - 1]
    for i in range(1, n - 1):
        total += power * (c[i] + last * c[n - 1 - i])
        power = power * z
    total += power * (c[n - 1] + last * (c[0] if _EXACT else total))
    return c[0] + total * z / (1 - last * last)


def last_value(c, z, mode):
    """What the filter that goes back begins with."""
    n = c.shape[0]
    if mode == "mirror":
        return (z * c[n - 2] + c[n - 1]) * z / (z * z - 1)
    if mode == "reflect":
        return c[n - 1] * z / (z - 1)
    total, power = c[n - 1].copy(), z
    for i in range(n - 1):
        total += power * c[i]
        power = power * z
    return total * z / (z**n - 1)


def spline_mode(mode):
    """How coefficients are continued."""
    if mode == "grid-wrap":
        return "wrap"
    return "reflect" if mode in ("nearest", "reflect", "grid-mirror") else "mirror"


def coefficients(a, count, order, mode):
    """Coefficients of splines along the first axes: each comes first in turn, is filtered, and goes to the end."""
    lengths, zs = np.array(a.shape[:count]), np.array(poles(order))
    flat = np.ravel(a)
    for k in range(count):
        n = lengths[k]
        c = np.reshape(flat, (n, -1)).copy()
        if n > 1:
            for p in range(zs.shape[0]):
                z = zs[p]
                c *= (1 - z) * (1 - 1 / z)
                c[0] = first_value(c, z, mode)
                for i in range(1, n):
                    c[i] += z * c[i - 1]
                c[n - 1] = last_value(c, z, mode)
                for i in range(n - 2, -1, -1):
                    c[i] = z * (c[i + 1] - c[i])
        flat = np.ravel(np.transpose(c))
    rest = a.ndim - count
    turned = np.reshape(flat, (*a.shape[count:], *a.shape[:count]))
    return np.transpose(turned, places(a.ndim)[rest:] + places(rest))


@implements(scipy.ndimage.spline_filter1d)
def spline_filter1d(input, order=3, axis=-1, output=np.float64, mode="mirror"):  # noqa: A002 - SciPy's
    """Coefficients of splines along an axis."""
    if output != np.float64:
        raise NotImplementedError("scipy.ndimage: output= is not supported: assign the result")
    a, order = exact(np.asarray(input)), known(order)
    if order in (0, 1):
        return a
    return np.moveaxis(coefficients(np.moveaxis(a, axis, 0), 1, order, spline_mode(mode)), 0, axis)


@implements(scipy.ndimage.spline_filter)
def spline_filter(input, order=3, output=np.float64, mode="mirror"):  # noqa: A002
    """Coefficients of splines along all axes."""
    if output != np.float64:
        raise NotImplementedError("scipy.ndimage: output= is not supported: assign the result")
    a, order = exact(np.asarray(input)), known(order)
    return a if order in (0, 1) else coefficients(a, a.ndim, order, spline_mode(mode))


def weights(x, order):
    """The first element that counts at a place, and the weights of so many from there: uniform B-splines."""
    start = np.floor(x + 0.5) if order % 2 == 0 else np.floor(x)
    u = x - start + (0.5 if order % 2 == 0 else 0.0)
    found = [1.0 + 0.0 * u]
    for p in places(order + 1)[1:]:
        shares = [f * (1.0 / p) for f in found]
        rising = [shares[j] * (u + (p - 1 - j)) for j in places(p)]
        falling = [shares[j] * ((j + 1) - u) for j in places(p)]
        found = [falling[0], *(rising[j - 1] + falling[j] for j in places(p)[1:]), rising[p - 1]]
    return start.astype(np.int64) - order // 2, np.stack(found)


def folded(x, n, mode):
    """Places beyond the edges, as places within them."""
    if mode == "mirror":
        period = np.maximum(2.0 * (n - 1), 1.0)
        turn = np.abs(x) % period
        return np.where(n > 1, np.minimum(turn, period - turn), 0.0)
    if mode in ("reflect", "grid-mirror"):
        turn = (x + 0.5) % (2.0 * n)
        return np.minimum(turn, 2.0 * n - turn) - 0.5
    if mode == "wrap":
        outside = (x < 0) | (x > n - 1)
        return np.where(n > 1, np.where(outside, x % np.maximum(n - 1.0, 1.0), x), 0.0)
    return x % n if mode == "grid-wrap" else x


def around(x, n, order, mode):
    """The elements around places, what each counts, and which of them there are."""
    start, shares = weights(folded(x, n, mode), order)
    at = np.reshape(np.arange(order + 1), (order + 1,) + (1,) * x.ndim) + start
    kept = mode if mode in ("grid-constant", "nearest") else spline_mode(mode)
    if mode == "grid-constant":
        shares = np.where((at >= 0) & (at < n), shares, 0.0)  # of what differs from the constant
    return mirrored(at, n, kept), shares


def at_points(c, coordinates, order, mode):
    """The splines with these coefficients along the first axes, at points: (coordinate, ...)."""
    count, shape = coordinates.shape[0], coordinates.shape[1:]
    axes = known(count)
    n = np.reshape(np.array(c.shape[:axes]), (axes,) + (1,) * len(shape))
    indices, shares = around(coordinates, n, order, mode)
    out = np.zeros(shape + c.shape[axes:], c.dtype)
    collect(out, c, indices, shares, (), np.ones(shape), (1,) * (c.ndim - axes))
    return out


def collect(out, c, indices, shares, at, share, rest):
    """Add what the elements around points give, axis by axis."""
    k = len(at)
    if k < c.ndim - len(rest):
        for j in range(shares.shape[0]):
            collect(out, c, indices, shares, (*at, indices[j, k]), share * shares[j, k], rest)
    else:
        out += np.reshape(share, share.shape + rest) * c[at]


def on_grid(c, coordinates, order, mode):
    """The splines with these coefficients on a grid, along one axis after the other."""
    for k in places(len(coordinates)):
        lines = np.moveaxis(c, k, 0)
        indices, shares = around(coordinates[k], lines.shape[0], order, mode)
        shares = np.reshape(shares, shares.shape + (1,) * (c.ndim - 1))
        out = shares[0] * lines[indices[0]]
        for j in range(1, order + 1):
            out = out + shares[j] * lines[indices[j]]
        c = np.moveaxis(out, 0, k)
    return c


def beyond(x, n):
    """Which places are outside."""
    return (x < 0) | (x > n - 1)


def interpolated(a, coordinates, order, mode, cval, prefilter):
    """An array at points along its first axes, or on a grid where a tuple has a vector for each axis."""
    grid = isinstance(coordinates, tuple)
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    order = known(order)
    if mode not in MODES:
        raise ValueError(f"boundary mode {mode!r} is not supported")
    c, moved, count = exact(a), 0.0, len(coordinates) if grid else known(coordinates.shape[0])
    outside = None
    if mode == "constant":
        masks = [beyond(coordinates[k], c.shape[k]) for k in places(count)]
        if grid:
            masks = [spread(masks[k], k, count) for k in places(count)]
        outside = masks[0]
        for mask in masks[1:]:
            outside = outside | mask
    if mode == "grid-constant":
        c = c - cval
    if order > 1 and prefilter:
        if mode in ("nearest", "grid-constant"):
            width = ((FAR, FAR),) * count + ((0, 0),) * (c.ndim - count)
            c = np.pad(c, width, "edge") if mode == "nearest" else np.pad(c, width)
            moved = float(FAR)
        c = coefficients(c, count, order, spline_mode(mode))
    if grid:
        out = on_grid(c, tuple(x + moved for x in coordinates), order, mode)
    else:
        out = at_points(c, coordinates + moved, order, mode)
    if mode == "grid-constant":
        out = out + cval
    if outside is not None:
        out = np.where(np.reshape(outside, outside.shape + (1,) * (c.ndim - count)), cval, out)
    return out if a.dtype == out.dtype else out.astype(a.dtype)


@implements(scipy.ndimage.map_coordinates)
def map_coordinates(
    input, coordinates, output=None, order=3, mode="constant", cval=0.0, prefilter=True  # noqa: A002
):  # fmt: skip
    """An array at places."""
    without_output(output)
    a, x = np.asarray(input), as_float(np.asarray(coordinates))
    if x.shape[0] != a.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return interpolated(a, x, order, mode, cval, prefilter)


def spread(values, k, count):
    """Places along one axis of a grid."""
    return np.reshape(values, (1,) * k + (-1,) + (1,) * (count - 1 - k))


@implements(scipy.ndimage.shift)
def shift(input, shift, output=None, order=3, mode="constant", cval=0.0, prefilter=True):  # noqa: A002
    """An array, moved."""
    without_output(output)
    a = np.asarray(input)
    moves = each(shift, a.ndim) if isinstance(shift, (tuple, list)) or np.ndim(shift) == 0 else shift
    x = tuple(np.arange(a.shape[k]) - moves[k] for k in places(a.ndim))
    return interpolated(a, x, order, mode, cval, prefilter)


@implements(scipy.ndimage.zoom)
def zoom(
    input, zoom, output=None, order=3, mode="constant", cval=0.0, prefilter=True, *, grid_mode=False  # noqa: A002
):  # fmt: skip
    """An array with more or fewer elements."""
    without_output(output)
    a = np.asarray(input)
    factors = each(zoom, a.ndim) if isinstance(zoom, (tuple, list)) or np.ndim(zoom) == 0 else zoom
    x = []
    for k in places(a.ndim):
        n = a.shape[k]
        length = int(np.round(n * factors[k]))
        if grid_mode:  # places are the middles of cells
            x.append((np.arange(length) + 0.5) * (n / max(length, 1)) - 0.5)
        else:
            x.append(np.arange(length) * ((n - 1) / (length - 1) if length > 1 else 1.0))
    return interpolated(a, tuple(x), order, mode, cval, prefilter)


@implements(scipy.ndimage.affine_transform)
def affine_transform(
    input, matrix, offset=0.0, output_shape=None, output=None, order=3, mode="constant", cval=0.0,  # noqa: A002
    prefilter=True,
):  # fmt: skip
    """An array at the places that a matrix and an offset make of those of the result."""
    without_output(output)
    a, matrix = np.asarray(input), as_float(np.asarray(matrix))
    ndim = a.ndim
    shape = a.shape if output_shape is None else output_shape
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    offset = as_float(np.asarray(offset)) + np.zeros(ndim)
    if matrix.shape[1] == ndim + 1:
        matrix, offset = matrix[:ndim, :ndim], matrix[:ndim, ndim]
    x = np.stack([moved(matrix[k], offset[k], shape) for k in places(ndim)])
    return interpolated(a, x, order, mode, cval, prefilter)


def moved(row, offset, shape):
    """One coordinate of the places of a result."""
    total = offset
    for k in places(len(shape)):
        total = total + row[k] * spread(np.arange(shape[k]), k, len(shape))
    return total


def cosine_and_sine(angle):
    """Of degrees; those of quarters of a turn are exact."""
    quarters = np.round(angle / 90.0)
    rest = (angle - 90.0 * quarters) * (math.pi / 180.0)
    c, s, k = np.cos(rest), np.sin(rest), quarters % 4
    return (
        np.where(k == 0, c, np.where(k == 1, -s, np.where(k == 2, -c, s))),
        np.where(k == 0, s, np.where(k == 1, c, np.where(k == 2, -s, -c))),
    )


@implements(scipy.ndimage.rotate)
def rotate(
    input, angle, axes=(1, 0), reshape=True, output=None, order=3, mode="constant", cval=0.0,  # noqa: A002
    prefilter=True,
):  # fmt: skip
    """An array, turned in a plane."""
    without_output(output)
    a = np.asarray(input)
    first, second = (places(a.ndim)[axes[0]], places(a.ndim)[axes[1]])
    first, second = (first, second) if first < second else (second, first)
    plane = np.moveaxis(a, (first, second), (0, 1))
    rows, columns = plane.shape[0], plane.shape[1]
    c, s = cosine_and_sine(angle)
    height, width = rows, columns
    if reshape:
        height = int(abs(c) * rows + abs(s) * columns + 0.5)
        width = int(abs(s) * rows + abs(c) * columns + 0.5)
    y = np.arange(height)[:, None] - (height - 1) / 2
    x = np.arange(width)[None, :] - (width - 1) / 2
    points = np.stack((c * y + s * x + (rows - 1) / 2, c * x - s * y + (columns - 1) / 2))
    out = interpolated(plane, points, order, mode, cval, prefilter)
    return np.moveaxis(out, (0, 1), (first, second))
