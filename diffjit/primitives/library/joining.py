"""Joining, repeating, padding and splitting."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np

from diffjit.primitives.library.axes import all_axes, along, one_axis, places
from diffjit.primitives.registry import implements, present

# Joining


@implements(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """Join along a new axis."""
    if len(arrays) == 0:
        raise ValueError("need at least one array to stack")
    together = np.array(arrays, dtype=dtype)
    if np.ndim(axis) > 0:  # a second array
        raise TypeError("only integer scalar arrays can be converted to a scalar index")
    return together if axis == 0 else np.moveaxis(together, 0, axis).copy()


def array_of_rows(rows):
    """np.array of a list of lists."""
    if len(rows) == 0:
        raise NotImplementedError("np.array of an empty list of lists: NumPy gives an array of one dimension")
    first = np.array(rows[0])
    out = np.empty((len(rows), *first.shape), dtype=first.dtype)
    for k in range(len(rows)):
        row = np.array(rows[k])
        if row.shape[0] != first.shape[0]:
            raise ValueError("setting an array element with a sequence: the rows differ in length")
        out[k] = row
    return out


def as_items(a, ndim):
    """The items of the first axis with at least 1, 2 or 3 dimensions."""
    if a.ndim > ndim:
        return a
    if a.ndim == 1:
        return np.reshape(a, (-1,) + (1,) * ndim)
    if a.ndim == 2:
        return a[:, None, :] if ndim == 2 else a[:, None, :, None]
    return a[:, :, :, None]


def joined(a, axis):
    """The items of the first axis joined along one of theirs."""
    lengths = a.shape[1:]
    together = np.empty((*lengths[:axis], a.shape[0], *lengths[axis:]), a.dtype)
    together[...] = np.moveaxis(a, 0, axis)
    return np.reshape(together, (*lengths[:axis], a.shape[0] * lengths[axis], *lengths[axis + 1 :]))


@implements(np.vstack, *filter(None, [getattr(np, "row_stack", None)]))  # NumPy is about to drop the second name
def vstack(tup, *, dtype=None, casting="same_kind"):
    """Join rows."""
    if isinstance(tup, np.ndarray):
        return joined(as_items(tup if dtype is None else tup.astype(dtype), 2), 0)
    return np.concatenate([np.atleast_2d(x) for x in tup], axis=0, dtype=dtype)


@implements(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    """Join columns, or vectors end to end."""
    if isinstance(tup, np.ndarray):
        return joined(as_items(tup if dtype is None else tup.astype(dtype), 1), 0 if tup.ndim < 3 else 1)
    parts = [np.atleast_1d(x) for x in tup]
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, dtype=dtype)


@implements(np.dstack)
def dstack(tup):
    """Join along the third axis."""
    if isinstance(tup, np.ndarray):
        return joined(as_items(tup, 3), 2)
    return np.concatenate([np.atleast_3d(x) for x in tup], axis=2)


def as_column(x):
    """A vector or a number as a column, anything else as it is."""
    x = np.asarray(x)
    return x if x.ndim >= 2 else np.reshape(x, (-1, 1))


@implements(np.column_stack)
def column_stack(tup):
    """Join vectors as columns."""
    if isinstance(tup, np.ndarray):
        if tup.ndim == 1:  # each number is a column
            return np.reshape(tup, (1, -1)).copy()
        return joined(tup[:, :, None] if tup.ndim == 2 else tup, 1)
    return np.concatenate([as_column(x) for x in tup], axis=1)


@implements(np.block)
def block(arrays):
    """Blocks in nested lists: those of the innermost lists side by side, the lists of each level below each other."""
    depth, ndim = nesting(arrays)
    return assembled(arrays, depth, max(depth, ndim))


def nesting(arrays):
    """How deep lists are nested, and the largest number of dimensions in them."""
    if not isinstance(arrays, list):
        return 0, np.ndim(arrays)
    inner = [nesting(x) for x in arrays]
    if len({depth for depth, _ in inner}) != 1:
        raise ValueError("List depths are mismatched.")
    return 1 + inner[0][0], max(ndim for _, ndim in inner)


def assembled(arrays, depth, ndim):
    """The blocks of `depth` levels of lists as one array of `ndim` dimensions."""
    if depth > 0:
        return np.concatenate([assembled(x, depth - 1, ndim) for x in arrays], axis=-depth)
    x = np.array(arrays)
    return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)


@implements(np.append)
def append(arr, values, axis=None):
    """A copy with values at the end."""
    if axis is None:
        return np.concatenate((np.ravel(arr), np.ravel(values)), axis=0)
    return np.concatenate((arr, values), axis=axis)


MASKS = np.lib.NumpyVersion(np.__version__) >= "2.2.0"  # where to insert, said by bools: 0 and 1 before


@implements(np.insert)
def insert(arr, obj, values, axis=None):
    """A copy with values before one position, or before several at once."""
    arr = np.ravel(arr) if axis is None else np.asarray(arr)
    axis = 0 if axis is None else one_axis(axis, arr.ndim)
    values = np.array(values, dtype=arr.dtype, ndmin=arr.ndim)
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        return with_slab(arr, obj, np.moveaxis(values, 0, axis), axis)
    n = arr.shape[axis]
    positions = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    if positions.dtype == bool:
        positions = np.flatnonzero(positions) if MASKS else positions.astype(np.int64)
    if positions.shape[0] == 1:  # all values stand before it
        return with_slab(arr, positions[0], values, axis)
    positions = positions + n * (positions < 0)
    if np.any(np.logical_or(positions < 0, positions > n)):
        raise IndexError("index is out of bounds for the array")
    count = positions.shape[0]
    order = np.argsort(positions, kind="stable")
    positions[order] += np.arange(count)
    old = np.ones(n + count, np.bool_)
    old[positions] = False
    result = np.empty((*arr.shape[:axis], n + count, *arr.shape[axis + 1 :]), arr.dtype)
    result[along(axis, positions)] = values
    result[along(axis, np.flatnonzero(old))] = arr
    return result


def with_slab(arr, position, slab, axis):
    """A copy with `slab` before one position along an axis."""
    n, count = arr.shape[axis], slab.shape[axis]
    start = position + n if position < 0 else position
    if start < 0 or start > n:
        raise IndexError("index is out of bounds for the array")
    result = np.empty((*arr.shape[:axis], n + count, *arr.shape[axis + 1 :]), arr.dtype)
    result[along(axis, slice(0, start))] = arr[along(axis, slice(0, start))]
    result[along(axis, slice(start, start + count))] = slab
    result[along(axis, slice(start + count, n + count))] = arr[along(axis, slice(start, n))]
    return result


@implements(np.delete)
def delete(arr, obj, axis=None):
    """A copy without some positions."""
    arr = np.ravel(arr) if axis is None else np.asarray(arr)
    axis = 0 if axis is None else one_axis(axis, arr.ndim)
    kept = np.ones(arr.shape[axis], np.bool_)
    kept[obj] = False
    return arr[along(axis, np.flatnonzero(kept))]


@implements(np.resize)
def resize(a, new_shape):
    """All elements, again from the start where there are too few."""
    flat = np.ravel(a)
    lengths = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    for length in lengths:
        if length < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    n = flat.shape[0]
    if n == 0:
        return np.zeros(lengths, flat.dtype)
    return np.reshape(flat[np.arange(math.prod(lengths)) % n], lengths)


def lengthened(a, new_shape):
    """What `a.resize(new_shape)` makes of an array: all elements that there is room for, and zeros behind them."""
    lengths = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    for length in lengths:
        if length < 0:
            raise ValueError("negative dimensions not allowed")
    flat = np.ravel(a)
    out = np.zeros(math.prod(lengths), flat.dtype)
    kept = min(out.shape[0], flat.shape[0])
    out[:kept] = flat[:kept]
    return np.reshape(out, lengths)


@implements(np.trim_zeros)
def trim_zeros(filt, trim="fb", axis=None):
    """A vector without the zeros at its ends: of an array a view, else a part of the list or tuple."""
    if trim.lower() not in ("f", "b", "fb", "bf"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    filt = filt if isinstance(filt, (list, tuple)) else np.asarray(filt)
    start, stop = zeros_around(filt, trim)
    return filt[start:stop]


def zeros_around(filt, trim):
    """Where a vector begins and ends without the zeros at the ends that `trim` names."""
    filt = np.asarray(filt)
    if filt.ndim != 1:
        raise NotImplementedError("np.trim_zeros of more than one dimension: slice the array")
    start, stop = 0, filt.shape[0]
    if "f" in trim.lower():
        while start < stop and filt[start] == 0:
            start += 1
    if "b" in trim.lower():
        while stop > start and filt[stop - 1] == 0:
            stop -= 1
    return start, stop


# Repeating


@implements(np.tile)
def tile(A, reps):
    """Repeat the whole array along each axis."""
    A = np.asarray(A)
    repeats = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    ndim = max(A.ndim, len(repeats))
    lengths = (1,) * (ndim - A.ndim) + A.shape
    repeats = (1,) * (ndim - len(repeats)) + repeats
    # Each axis in two, (which repeat, where in it): one assignment broadcasts into all the repeats.
    apart: tuple = ()
    single: tuple = ()
    for k in places(ndim):
        apart = (*apart, repeats[k], lengths[k])
        single = (*single, 1, lengths[k])
    tiles = np.empty(apart, A.dtype)
    tiles[...] = np.reshape(A, single)
    return np.reshape(tiles, tuple(repeats[k] * lengths[k] for k in places(ndim)))


@implements(np.repeat, np.ndarray.repeat)
def repeat(a, repeats, axis=None):
    """Repeat each element."""
    a = np.ravel(a) if axis is None else np.asarray(a)
    axis = 0 if axis is None else one_axis(axis, a.ndim)
    if np.ndim(repeats) != 0:
        return np.take(a, repeated_positions(np.asarray(repeats), a.shape[axis]), axis=axis)
    repeats = int(repeats)  # NumPy cuts a float off here, if not an array of them
    before, n, after = a.shape[:axis], a.shape[axis], a.shape[axis + 1 :]
    copies = np.empty((*before, n, repeats, *after), a.dtype)
    copies[...] = np.expand_dims(a, axis + 1)
    return np.reshape(copies, (*before, n * repeats, *after))


def repeated_positions(repeats, n):
    """Position k as often as repeats[k] says."""
    repeats = np.broadcast_to(repeats, (n,))
    positions = np.empty((np.sum(repeats),), np.int64)
    end = 0
    for k in range(n):
        for _ in range(repeats[k]):
            positions[end] = k
            end += 1
    return positions


@implements(np.roll)
def roll(a, shift, axis=None):
    """Shift elements cyclically."""
    a = np.asarray(a)
    if axis is None:
        return np.reshape(rolled(np.reshape(a, (-1,)), shift, 0), a.shape)
    if isinstance(shift, (tuple, list)) or isinstance(axis, (tuple, list)):
        axes = all_axes(axis, a.ndim)
        shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
        axes = axes * len(shifts) if len(axes) == 1 else axes
        for k in places(len(axes)):
            a = rolled(a, shifts[k], axes[k])
        return a if axes else a.copy()
    return rolled(a, shift, one_axis(axis, a.ndim))


def rolled(a, shift, axis):
    """One shift along one axis."""
    n = a.shape[axis]
    start = n - shift % max(n, 1)
    return np.concatenate((a[along(axis, slice(start, n))], a[along(axis, slice(0, start))]), axis=axis)


# Padding


@implements(np.pad)
def pad(array, pad_width, mode="constant", *, constant_values=0, end_values=0, stat_length=None, reflect_type="even"):
    """Add a margin: constant, or made from the array, one axis after the other."""
    array = np.asarray(array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - array.ndim, 0)) for k in places(array.ndim)]
        pad_width = [w if isinstance(w, (tuple, list)) else (w, w) for w in pad_width]
    widths = pairs(pad_width, array.ndim)
    given = pairs(end_values if mode == "linear_ramp" else constant_values, array.ndim)
    lengths = pairs(stat_length, array.ndim)
    for axis in places(array.ndim):
        before, after = widths[axis]
        n = array.shape[axis]
        if mode not in ("constant", "empty") and n == 0 and (before != 0 or after != 0):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            positions = np.arange(-before, n + after)
            margins = np.take(array, source_positions(positions, n, mode), axis=axis)
            turned = reflect_type == "odd" and mode in ("reflect", "symmetric")
            array = turned_round(array, margins, positions, axis, mode) if turned else margins
        else:
            array = margin(array, axis, widths[axis], margin_values(array, axis, widths[axis], mode, given, lengths))
    return array


def turned_round(a, even, positions, axis, mode):
    """Margins that are turned round the ends, not mirrored there: each period adds what lies between the ends twice."""
    n = a.shape[axis]
    length = n if mode == "symmetric" else n - 1
    if length == 0:
        return even
    turns, place = positions // (2 * length), positions % (2 * length)
    column = (-1,) + (1,) * (a.ndim - 1 - axis)
    first, last = a[along(axis, slice(0, 1))], a[along(axis, slice(n - 1, n))]
    inside = np.where(np.reshape(place < n, column), even, 2 * last - even)
    return inside + np.reshape(2 * turns, column).astype(a.dtype) * (last - first)


def margin_values(a, axis, width, mode, given, lengths):
    """What both margins along an axis are filled with."""
    first, last = a[along(axis, slice(0, 1))], a[along(axis, slice(-1, None))]
    if mode in ("constant", "empty"):
        return given[axis]
    if mode == "linear_ramp":
        left, right = given[axis]
        return ramp(left, first, width[0], axis), np.flip(ramp(right, last, width[1], axis), axis)
    if mode not in ("mean", "maximum", "minimum", "median"):
        raise NotImplementedError(f"np.pad(mode={mode!r}): write the margin with np.concatenate")
    statistic = {"mean": np.mean, "maximum": np.max, "minimum": np.min, "median": np.median}[mode]
    before, after = lengths[axis]
    n = a.shape[axis]
    values = (
        statistic(a[along(axis, slice(0, n if before is None else before))], axis=axis, keepdims=True),
        statistic(a[along(axis, slice(n - (n if after is None else min(after, n)), n))], axis=axis, keepdims=True),
    )
    return tuple(np.rint(v) for v in values) if a.dtype.kind in "iu" else values


def ramp(start, stop, num, axis):
    """Equal steps from a number up to a slab."""
    number = np.reshape(np.arange(num), (-1,) + (1,) * (stop.ndim - 1 - axis))
    values = number * ((stop - start) / max(num, 1)) + start
    return np.floor(values) if stop.dtype.kind in "iu" else values


def pairs(value, ndim):
    """One number, one pair, or one pair for each axis, as the last."""
    if not isinstance(value, (tuple, list)):
        if value is None or np.ndim(value) == 0:
            return ((value, value),) * ndim
        if np.ndim(value) == 1:
            return ((value[0], value[1]),) * ndim
        return tuple((value[k, 0], value[k, 1]) for k in places(ndim))
    if len(value) == 1 and not isinstance(value[0], (tuple, list)):
        return ((value[0], value[0]),) * ndim
    if not isinstance(value[0], (tuple, list)):
        if len(value) != 2:
            raise ValueError("operands could not be broadcast together")
        return ((value[0], value[1]),) * ndim
    if len(value) not in (1, ndim):
        raise ValueError("operands could not be broadcast together")
    whole = tuple((v[0], v[-1]) for v in value)
    return whole * ndim if len(whole) == 1 else whole


def margin(a, axis, width, values):
    """A constant margin on both sides of one axis."""
    before, after = width
    n = a.shape[axis]
    wide = np.empty((*a.shape[:axis], before + n + after, *a.shape[axis + 1 :]), a.dtype)
    wide[along(axis, slice(0, before))] = values[0]
    wide[along(axis, slice(before, before + n))] = a
    wide[along(axis, slice(before + n, before + n + after))] = values[1]
    return wide


def source_positions(position, n, mode):
    """The position in an axis of length n that a position beyond its ends repeats."""
    if mode == "edge":
        return np.minimum(np.maximum(position, 0), n - 1)
    if mode == "wrap":
        return position % n
    if mode == "symmetric":
        folded = position % (2 * n)
        return np.where(folded < n, folded, 2 * n - 1 - folded)
    period = max(2 * n - 2, 1)
    folded = position % period
    return np.where(folded < n, folded, period - folded)


# Splitting


@implements(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    """Views of consecutive parts, nearly equal or between given positions."""
    ary = np.asarray(ary)
    axis = one_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if np.ndim(indices_or_sections) != 0:
        ends = [*indices_or_sections, n]
    else:
        sections = len((None,) * int(indices_or_sections))  # asks for a number that is known while specialising
        ends = [(k + 1) * (n // sections) + min(k + 1, n % sections) for k in places(sections)]
    starts = [0, *ends[:-1]]
    return [ary[along(axis, slice(starts[k], ends[k]))] for k in places(len(ends))]


@implements(np.split)
def split(ary, indices_or_sections, axis=0):
    """Views of equal parts, or between given positions."""
    ary = np.asarray(ary)
    if np.ndim(indices_or_sections) == 0 and ary.shape[one_axis(axis, ary.ndim)] % indices_or_sections != 0:
        raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary, indices_or_sections):
    """Split columns, or a vector."""
    return np.split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@implements(np.vsplit)
def vsplit(ary, indices_or_sections):
    """Split rows."""
    return np.split(ary, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary, indices_or_sections):
    """Split along the third axis."""
    return np.split(ary, indices_or_sections, 2)


@implements(*present(np, "unstack"))  # NumPy 2.1
def unstack(x, /, *, axis=0):
    """The slices along an axis whose length is known while specialising."""
    moved = np.moveaxis(x, axis, 0)
    return tuple(part for part in moved)
