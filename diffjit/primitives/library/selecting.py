"""Taking, choosing and searching."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np

from diffjit.primitives.library.axes import all_axes, along, one_axis, places
from diffjit.primitives.registry import implements


@implements(np.take, np.ndarray.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements, or slices along one axis, by position."""
    a = np.ravel(a) if axis is None else np.asarray(a)
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    taken = a[along(axis, within(indices, a.shape[axis], mode))]
    return taken.copy() if a.ndim > 1 and np.ndim(indices) == 0 else taken  # never a view


@implements(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    """Elements by a position along one axis for each place of the others."""
    arr, indices = np.asarray(arr), np.asarray(indices)
    if axis is None:
        return np.reshape(arr, (-1,))[indices]
    return arr[grid_index(arr, indices, axis)]


@implements(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    """Store by a position along one axis for each place of the others."""
    arr[grid_index(arr, indices, axis)] = values


def grid_index(arr, indices, axis):
    """`indices` along one axis, every position along the others."""
    axis = one_axis(axis, arr.ndim)
    return tuple(
        indices if k == axis else np.reshape(np.arange(arr.shape[k]), (1,) * k + (-1,) + (1,) * (arr.ndim - 1 - k))
        for k in places(arr.ndim)
    )


@implements(np.put)
def put(a, ind, v, mode="raise"):
    """Store elements by their position in the flattened array."""
    positions, values = within(np.array(ind), a.size, mode).reshape(-1), np.array(v).reshape(-1)  # may share memory
    if a.size == 0 and positions.shape[0] > 0:
        raise IndexError("cannot replace elements of an empty array")
    if values.shape[0] == 0:
        return
    for k in range(positions.shape[0]):
        position = positions[k] + a.size if positions[k] < 0 else positions[k]
        a[(position,) if a.ndim == 1 else np.unravel_index(position, a.shape)] = values[k % values.shape[0]]


def within(indices, n, mode):
    """Indices of an axis of length n as `mode` reads those beyond its ends."""
    if mode == "wrap":
        return np.asarray(indices) % n
    if mode == "clip":
        return np.minimum(np.maximum(np.asarray(indices), 0), n - 1)
    return np.asarray(indices) if isinstance(indices, (list, tuple)) else indices


def demand_ints(indices):
    """Refuse floats that stand where NumPy wants places, whole ones too."""
    if np.asarray(indices).dtype.kind not in "biu":
        raise TypeError("only int indices permitted")


@implements(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    """Coordinates of positions in the flattened array."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    rest = np.asarray(indices) if isinstance(indices, (list, tuple)) else indices
    demand_ints(rest)
    rest = np.int64(rest) if np.ndim(rest) == 0 else rest
    size = 1
    for n in shape:
        size = size * n
    if np.any((rest < 0) | (rest >= size)):
        raise ValueError(f"index {np.max(rest)} is out of bounds for array with size {size}")
    coordinates: tuple = ()
    for n in shape[::-1] if order == "C" else shape:
        coordinates = (rest % n, *coordinates) if order == "C" else (*coordinates, rest % n)
        rest = rest // n
    return coordinates


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Positions in the flattened array of coordinates within it; `mode` says what becomes of those outside."""
    lengths = dims if isinstance(dims, (tuple, list, np.ndarray)) else (dims,)
    if len(multi_index) != len(lengths):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(lengths)}")
    axes = places(len(lengths))
    position = 0
    for k in axes if order == "C" else axes[::-1]:
        coordinate = coordinate_inside(multi_index[k], lengths[k], mode if isinstance(mode, str) else mode[k])
        position = position * lengths[k] + coordinate
    return np.int64(position) if np.ndim(position) == 0 else position


def coordinate_inside(indices, n, mode):
    """Coordinates along an axis of length n."""
    demand_ints(indices)
    if mode == "raise":
        indices = np.asarray(indices) if isinstance(indices, (list, tuple)) else indices
        if np.any((indices < 0) | (indices >= n)):
            raise ValueError("invalid entry in coordinates array")
        return indices
    return within(indices, n, mode)


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    """Store on the main diagonal; with `wrap` on that of each square below the first of a tall matrix."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and not all(n == a.shape[0] for n in a.shape):
        raise ValueError("All dimensions of input must be of equal length")
    if a.ndim == 2:
        rows, columns = a.shape
        k = np.arange(0, rows * columns if wrap else min(rows, columns) * (columns + 1), columns + 1)
        diagonal = (k // columns, k % columns)
    else:
        diagonal = (np.arange(a.shape[0]),) * a.ndim
    values = np.ravel(val)
    a[diagonal] = values[np.arange(diagonal[0].shape[0]) % values.shape[0]]


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    """Assign, everywhere or where a condition holds."""
    must_cast(src, dst.dtype, casting)
    dst[...] = src if where is True else np.where(where, src, dst)


@implements(np.putmask)
def putmask(a, mask, values):
    """Assign where a condition holds the values at the same places, repeated if there are too few."""
    if isinstance(values, np.ndarray):
        must_cast(values, a.dtype, "safe")
    values = np.asarray(values)
    if values.ndim > 0 and values.size == 0:
        return
    if values.ndim > 0:
        values = np.resize(values, a.shape)
    a[...] = np.where(mask, values, a)


@implements(np.place)
def place(arr, mask, vals):
    """Assign values one after another where a condition holds, repeated if there are too few."""
    if isinstance(vals, np.ndarray):
        must_cast(vals, arr.dtype, "safe")
    chosen = np.reshape(np.asarray(mask), arr.shape) != 0
    values = np.ravel(vals)
    count = np.sum(chosen)
    if count > 0 and values.shape[0] == 0:
        raise ValueError("Cannot insert from an empty array!")
    arr[chosen] = values[np.arange(count) % max(values.shape[0], 1)].astype(arr.dtype)


def must_cast(values, dtype, casting):
    """Raise where a rule of NumPy's for conversions forbids to assign such values; Python's ints are of any width."""
    given = np.asarray(values).dtype
    wide = isinstance(values, int) and given.kind == "i" and dtype.kind in "iu"
    if not wide and not np.can_cast(given, dtype, casting=casting):
        raise TypeError(f"Cannot cast array data from {given!r} to {dtype!r} according to the rule {casting!r}")


@implements(np.ndarray.fill)
def fill(a, value):
    """Assign one number everywhere."""
    a[...] = value


@implements(np.ndarray.sort)
def sort_in_place(a, axis=-1, kind=None, order=None):
    """Sort in place."""
    a[...] = np.sort(a, axis=axis)


@implements(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """All values in order: more than is asked for."""
    ordered = np.sort(a, axis=axis)
    if ordered.size > 0:
        demand_places(kth, ordered.shape[-1 if axis is None else axis])
    return ordered


def demand_places(kth, n):
    """Refuse what is not the place of one of n elements, as NumPy does."""
    places = np.asarray(kth)
    demand_ints(places)
    places = np.where(places < 0, places + n, places)
    outside = np.logical_or(places < 0, places >= n)
    if np.any(outside):
        raise ValueError(f"kth(={np.ravel(places)[np.argmax(np.ravel(outside))]}) out of bounds ({n})")


@implements(np.argpartition, np.ndarray.argpartition)
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """Positions of all values in order: more than is asked for."""
    order = np.argsort(a, axis=axis)
    if order.size > 0:
        demand_places(kth, order.shape[-1 if axis is None else axis])
    return order


@implements(np.ndarray.partition)
def partition_in_place(a, kth, axis=-1, kind="introselect", order=None):
    """Sort in place: more than is asked for."""
    if a.size > 0:
        demand_places(kth, a.shape[axis])
    a[...] = np.sort(a, axis=axis)


@implements(np.sort_complex)
def sort_complex(a):
    """Complex numbers in order of their real parts, and of their imaginary parts where these are equal."""
    ordered = np.sort(np.array(a))
    return ordered if np.iscomplexobj(ordered) else ordered.astype(complex)


@implements(np.lexsort)
def lexsort(keys, axis=-1):
    """Positions of elements along an axis in order of the last key, of the one before where it ties, ..."""
    order = np.argsort(keys[0], axis=axis, kind="stable")
    for key in keys[1:]:
        ordered = np.take_along_axis(np.asarray(key), order, axis=axis)
        order = np.take_along_axis(order, np.argsort(ordered, axis=axis, kind="stable"), axis=axis)
    return order


@implements(np.argwhere)
def argwhere(a):
    """Coordinates of the elements that are not 0, in rows."""
    return np.stack(np.nonzero(a), axis=1)


@implements(np.compress)
def compress(condition, a, axis=None, out=None):
    """Slices where a 1-D condition holds."""
    a = np.ravel(a) if axis is None else np.asarray(a)
    return np.take(a, np.flatnonzero(condition), axis=0 if axis is None else axis)


@implements(np.ndarray.compress)
def compress_method(a, condition, axis=None, out=None):
    """Slices where a 1-D condition holds."""
    return np.compress(condition, a, axis)


@implements(np.extract)
def extract(condition, arr):
    """Elements where a condition holds."""
    return np.take(np.ravel(arr), np.flatnonzero(condition))


@implements(np.select, boxes=True)
def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    dtype = np.result_type(*choicelist, default)
    result = of_type(default, dtype)
    for k in places(len(condlist))[::-1]:
        must_cast(np.asarray(choicelist[k]), dtype, "same_kind")
        result = np.where(condlist[k], of_type(choicelist[k], dtype), result)
    return result


@implements(np.choose)
def choose(a, choices, out=None, mode="raise"):
    """For each element the choice with its number."""
    number = within(np.asarray(a), len(choices), mode)
    if np.any(np.logical_or(number < 0, number >= len(choices))):
        raise ValueError("invalid entry in choice array")
    dtype = np.result_type(*choices)
    result = of_type(choices[0], dtype)
    for k in places(len(choices))[1:]:
        result = np.where(number == k, of_type(choices[k], dtype), result)
    return result


def of_type(values, dtype):
    """An array or number as one of a dtype."""
    values = np.asarray(values) if isinstance(values, (list, tuple)) else values
    if not isinstance(values, np.ndarray):
        return dtype.type(values)
    # A copy would stand between an operation and the choice, which keeps what overflows from derivatives of the rest.
    return values if values.dtype == dtype else values.astype(dtype)


@implements(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """Each function where its condition holds, a last one without a condition where none does."""
    x = np.asarray(x)
    flat = np.ravel(x)
    if np.ndim(condlist) == 0 or (x.ndim > 0 and np.ndim(condlist[0]) == 0):
        condlist = [condlist]
    elif isinstance(condlist, np.ndarray):
        raise NotImplementedError("np.piecewise with an array of conditions: give them as a list")
    conditions = [np.ravel(c) != 0 for c in condlist]
    result = np.zeros_like(flat)
    if len(funclist) == len(conditions) + 1:
        covered = np.zeros(flat.shape, np.bool_)
        for condition in conditions:
            covered = np.logical_or(covered, condition)
        conditions = [*conditions, np.logical_not(covered)]
    if len(funclist) != len(conditions):
        raise ValueError("the numbers of functions and of conditions do not agree")
    for condition, function in zip(conditions, funclist, strict=True):
        result[condition] = function(flat[condition], *args, **kw) if callable(function) else function
    return np.reshape(result, x.shape)


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of vectors applied to each vector along an axis; what it gives stands along that axis."""
    arr = np.asarray(arr)
    axis = one_axis(axis, arr.ndim)
    moved = np.moveaxis(arr, axis, -1)
    if math.prod(moved.shape[:-1]) == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    vectors = np.reshape(moved, (math.prod(moved.shape[:-1]), moved.shape[-1]))
    results = np.array([func1d(v, *args, **kwargs) for v in vectors])
    whole = np.reshape(results, moved.shape[:-1] + results.shape[1:])
    added = places(results.ndim - 1)
    return np.moveaxis(whole, tuple(arr.ndim - 1 + k for k in added), tuple(axis + k for k in added))


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    """A function of an array and an axis applied for several axes, which stay as axes of length 1."""
    a = np.asarray(a)
    for axis in all_axes(axes, a.ndim):
        result = func(a, axis)
        a = np.expand_dims(result, axis) if np.ndim(result) < a.ndim else result
    return a


@implements(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """Where to insert into a sorted vector, by bisection."""
    if not isinstance(side, str):
        raise TypeError(f"search side must be str, not {type(side).__name__}")
    if side not in ("left", "right"):
        raise ValueError("search side must be one of 'left' or 'right'")
    a = np.asarray(a)
    if a.ndim != 1:
        raise ValueError(f"object {'of too small depth' if a.ndim == 0 else 'too deep'} for desired array")
    if sorter is not None:
        a = a[sorter]
    if np.ndim(v) == 0:
        return np.int64(position_in(a, v, side))
    v = np.asarray(v)
    flat = np.reshape(v, (-1,))
    found = np.empty(flat.shape, np.int64)
    for k in range(flat.shape[0]):
        found[k] = position_in(a, flat[k], side)
    return np.reshape(found, v.shape)


def position_in(a, v, side):
    """The first position whose element is not before `v`; NaN comes after all numbers."""
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        element = a[middle]
        if side == "left":
            before = element < v or (v != v and element == element)  # noqa: PLR0124 - NaN
        else:
            before = not (v < element or (element != element and v == v))  # noqa: PLR0124 - NaN
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@implements(np.digitize)
def digitize(x, bins, right=False):
    """Number of the bin of each element."""
    bins = np.asarray(bins)
    n = bins.shape[0]
    side = "left" if right else "right"
    steps = bins[1:] - bins[:-1]
    if np.any(steps < 0) and np.any(steps > 0):
        raise ValueError("bins must be monotonically increasing or decreasing")
    if n > 1 and bins[0] > bins[n - 1]:
        return n - np.searchsorted(bins[::-1], x, side=side)
    return np.searchsorted(bins, x, side=side)


def first_beyond(ok, index, inside):
    """The first index of an array that is not inside; any number where all are."""
    if ok:
        return 0
    return index.ravel()[np.argmin(inside.ravel())]
