"""Taking, choosing and searching."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import along, one_axis, places
from diffjit.primitives.registry import implements


@implements(np.take, np.ndarray.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    """Elements, or slices along one axis, by position."""
    a = np.ravel(a) if axis is None else np.asarray(a)
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    n = a.shape[axis]
    if mode == "wrap":
        indices = np.asarray(indices) % n
    elif mode == "clip":
        indices = np.minimum(np.maximum(np.asarray(indices), 0), n - 1)
    elif isinstance(indices, (list, tuple)):
        indices = np.asarray(indices)
    return a[along(axis, indices)]


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
    if mode != "raise":
        raise NotImplementedError(f"np.put(mode={mode!r}): use the default")
    positions, values = np.ravel(ind), np.ravel(v)
    if a.ndim == 1:
        for k in range(positions.shape[0]):
            a[positions[k]] = values[k % values.shape[0]]
    else:
        for k in range(positions.shape[0]):
            position = positions[k] + a.size if positions[k] < 0 else positions[k]
            a[np.unravel_index(position, a.shape)] = values[k % values.shape[0]]


@implements(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    """Coordinates of positions in the flattened array."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    rest = indices
    coordinates: tuple = ()
    for n in shape[::-1] if order == "C" else shape:
        coordinates = (rest % n, *coordinates) if order == "C" else (*coordinates, rest % n)
        rest = rest // n
    return coordinates


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Positions in the flattened array of coordinates within it."""
    if mode != "raise" or order != "C":
        raise NotImplementedError("np.ravel_multi_index: use the default mode and order")
    position = 0
    for k in places(len(dims)):
        position = position * dims[k] + multi_index[k]
    return position


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    """Store on the main diagonal of a matrix."""
    if a.ndim != 2 or wrap:
        raise NotImplementedError("np.fill_diagonal is supported for a 2-D array without wrap")
    k = np.arange(min(a.shape[0], a.shape[1]))
    a[k, k] = val


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    """Assign, everywhere or where a condition holds."""
    dst[...] = src if where is True else np.where(where, src, dst)


@implements(np.putmask)
def putmask(a, mask, values):
    """Assign one number, or numbers of the same shape, where a condition holds."""
    a[...] = np.where(mask, values, a)


@implements(np.ndarray.fill)
def fill(a, value):
    """Assign one number everywhere."""
    a[...] = value


@implements(np.ndarray.sort)
def sort_in_place(a, axis=-1, kind=None, order=None):
    """Sort in place."""
    a[...] = np.sort(a, axis=axis)


@implements(np.compress)
def compress(condition, a, axis=None, out=None):
    """Slices where a 1-D condition holds."""
    a = np.ravel(a) if axis is None else np.asarray(a)
    return np.take(a, np.flatnonzero(condition), axis=0 if axis is None else axis)


@implements(np.extract)
def extract(condition, arr):
    """Elements where a condition holds."""
    return np.ravel(arr)[np.ravel(condition).astype(np.bool_)]


@implements(np.select)
def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds."""
    result = default
    for k in places(len(condlist))[::-1]:
        result = np.where(condlist[k], choicelist[k], result)
    return result


@implements(np.choose)
def choose(a, choices, out=None, mode="raise"):
    """For each element the choice with its number."""
    number = np.asarray(a)
    if np.any(np.logical_or(number < 0, number >= len(choices))):
        raise ValueError("invalid entry in choice array")
    result = choices[0]
    for k in places(len(choices))[1:]:
        result = np.where(number == k, choices[k], result)
    return result


@implements(np.searchsorted, np.ndarray.searchsorted)
def searchsorted(a, v, side="left", sorter=None):
    """Where to insert into a sorted vector, by bisection."""
    a = np.asarray(a)
    if sorter is not None:
        a = a[sorter]
    if np.ndim(v) == 0:
        return position_in(a, v, side)
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
    if n > 1 and bins[0] > bins[n - 1]:
        return n - np.searchsorted(bins[::-1], x, side=side)
    return np.searchsorted(bins, x, side=side)
