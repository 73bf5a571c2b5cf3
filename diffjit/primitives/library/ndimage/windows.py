"""What `scipy.ndimage` chooses of the elements in a window: the largest, the smallest, the one of a rank.

Of equal elements, each has its share of the derivative of the largest and the smallest; the one of a rank is one of
them.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np
import scipy.ndimage

from diffjit.primitives.library.axes import one_axis, places
from diffjit.primitives.library.ndimage.filters import each, extended, on_axes, rising
from diffjit.primitives.library.ndimage.lines import continued, without_output
from diffjit.primitives.registry import implements


def window_of(a, size, footprint, axes):
    """A window, as an array of truths; of length 1 along other axes than those that are given."""
    axes = rising(axes, a.ndim)
    if footprint is not None:
        window = np.asarray(footprint) != 0
    elif size is None:
        raise RuntimeError("no footprint or filter size provided")
    else:
        window = np.ones(each(size, len(axes)), bool)
    return extended(window, axes, a.ndim)


def widened(a, shape, mode, cval, origin, axes=None):
    """An array continued by as much as a window needs."""
    modes, origins = on_axes(mode, axes, a.ndim, "constant"), on_axes(origin, axes, a.ndim, 0)
    for k in places(a.ndim):
        before = shape[k] // 2 + origins[k]
        a = continued(a, k, before, shape[k] - 1 - before, modes[k], cval)
    return a


def windows(a, window, mode, cval, origin, axes=None):
    """The elements of each window, along a first axis."""
    wide = widened(a, window.shape, mode, cval, origin, axes)
    at = np.argwhere(window)
    out = np.zeros((at.shape[0], *a.shape), wide.dtype)
    for k in range(at.shape[0]):
        out[k] = wide[tuple(slice(at[k, j], at[k, j] + a.shape[j]) for j in places(a.ndim))]
    return out


def back(out, a):
    """In the dtype of what was given."""
    return out if out.dtype == a.dtype else out.astype(a.dtype)


def extreme(a, size, footprint, output, mode, cval, origin, axes, largest):
    """The largest or smallest element of each window."""
    without_output(output)
    a = np.asarray(a)
    chosen = windows(a, window_of(a, size, footprint, axes), mode, cval, origin, axes)
    return back(np.max(chosen, axis=0) if largest else np.min(chosen, axis=0), a)


@implements(scipy.ndimage.maximum_filter)
def maximum_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """The largest element of each window."""
    return extreme(input, size, footprint, output, mode, cval, origin, axes, True)


@implements(scipy.ndimage.minimum_filter)
def minimum_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """The smallest element of each window."""
    return extreme(input, size, footprint, output, mode, cval, origin, axes, False)


def line(a, size, axis):
    """A window along one axis."""
    axis = one_axis(axis, a.ndim)
    return np.ones(tuple(size if k == axis else 1 for k in places(a.ndim)), bool), axis


def extreme_along(a, size, axis, output, mode, cval, origin, largest):
    """The largest or smallest element of each window along an axis."""
    without_output(output)
    a = np.asarray(a)
    window, axis = line(a, size, axis)
    origins = tuple(origin if k == axis else 0 for k in places(a.ndim))
    chosen = windows(a, window, mode, cval, origins)
    return back(np.max(chosen, axis=0) if largest else np.min(chosen, axis=0), a)


@implements(scipy.ndimage.maximum_filter1d)
def maximum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):  # noqa: A002
    """The largest element of each window along an axis."""
    return extreme_along(input, size, axis, output, mode, cval, origin, True)


@implements(scipy.ndimage.minimum_filter1d)
def minimum_filter1d(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):  # noqa: A002
    """The smallest element of each window along an axis."""
    return extreme_along(input, size, axis, output, mode, cval, origin, False)


def ranked(a, size, footprint, output, mode, cval, origin, axes, rank_of):
    """The element of a rank in each window, by how many elements it has."""
    without_output(output)
    a = np.asarray(a)
    chosen = windows(a, window_of(a, size, footprint, axes), mode, cval, origin, axes)
    return back(np.sort(chosen, axis=0)[rank_of(chosen.shape[0])], a)


@implements(scipy.ndimage.median_filter)
def median_filter(
    input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """The element in the middle of each window's order."""
    return ranked(input, size, footprint, output, mode, cval, origin, axes, lambda count: count // 2)


@implements(scipy.ndimage.rank_filter)
def rank_filter(
    input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """The element of a rank in each window."""
    return ranked(input, size, footprint, output, mode, cval, origin, axes, lambda _: rank)


def rank_at(percentile, count):
    """The rank of a percentile."""
    share = percentile + 100.0 if percentile < 0.0 else percentile
    return count - 1 if share == 100.0 else int(count * share / 100.0)


@implements(scipy.ndimage.percentile_filter)
def percentile_filter(
    input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """The element at a percentile of each window."""
    if not -100.0 <= percentile <= 100.0:
        raise RuntimeError("invalid percentile")
    return ranked(input, size, footprint, output, mode, cval, origin, axes, lambda n: rank_at(percentile, n))


@implements(scipy.ndimage.generic_filter)
def generic_filter(
    input, function, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    extra_arguments=(), extra_keywords=None, *, axes=None,
):  # fmt: skip
    """What a function makes of each window."""
    without_output(output)
    a = np.asarray(input)
    chosen = windows(a, window_of(a, size, footprint, axes), mode, cval, origin, axes)
    columns = np.reshape(chosen, (chosen.shape[0], -1)) * 1.0
    named = {} if extra_keywords is None else extra_keywords
    out = np.zeros(columns.shape[1])
    for k in range(columns.shape[1]):
        out[k] = function(columns[:, k].copy(), *extra_arguments, **named)
    return back(np.reshape(out, a.shape), a)


# Grey morphology ------------------------------------------------------------------------------------------------------


def of_heights(a, size, footprint, structure, axes):
    """A window, and the structure's heights in it."""
    if structure is None:
        window = window_of(a, size, footprint, axes)
        return window, np.zeros(window.shape)
    chosen = rising(axes, a.ndim)
    heights = extended(np.asarray(structure) * 1.0, chosen, a.ndim)
    if footprint is None:
        return np.ones(heights.shape, bool), heights
    return extended(np.asarray(footprint) != 0, chosen, a.ndim), heights


def risen(a, size, footprint, structure, mode, cval, origin, axes):
    """The largest element of each turned window, with the structure's heights added."""
    window, heights = of_heights(a, size, footprint, structure, axes)
    turned = tuple(slice(None, None, -1) for _ in places(a.ndim))
    window, heights = window[turned], heights[turned]
    shifts = tuple(
        -o - (1 if window.shape[k] % 2 == 0 else 0) for k, o in enumerate(on_axes(origin, axes, a.ndim, 0))
    )  # fmt: skip
    chosen = windows(a * 1.0, window, on_axes(mode, axes, a.ndim, "constant"), cval, shifts)
    lifts = heights[window]
    return np.max(chosen + np.reshape(lifts, (-1,) + (1,) * a.ndim), axis=0)


@implements(scipy.ndimage.grey_dilation)
def grey_dilation(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """The largest element of each window, with a structure's heights."""
    without_output(output)
    a = np.asarray(input)
    return back(risen(a, size, footprint, structure, mode, cval, origin, axes), a)


@implements(scipy.ndimage.grey_erosion)
def grey_erosion(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """The smallest element of each window, without a structure's heights."""
    without_output(output)
    a = np.asarray(input)
    window, heights = of_heights(a, size, footprint, structure, axes)
    lifts = np.reshape(heights[window], (-1,) + (1,) * a.ndim)
    return back(np.min(windows(a * 1.0, window, mode, cval, origin, axes) - lifts, axis=0), a)


@implements(scipy.ndimage.grey_opening)
def grey_opening(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """An erosion, then a dilation."""
    low = grey_erosion(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return grey_dilation(low, size, footprint, structure, output, mode, cval, origin, axes=axes)


@implements(scipy.ndimage.grey_closing)
def grey_closing(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """A dilation, then an erosion."""
    high = grey_dilation(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return grey_erosion(high, size, footprint, structure, output, mode, cval, origin, axes=axes)


@implements(scipy.ndimage.white_tophat)
def white_tophat(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """What an opening takes away."""
    return input - grey_opening(input, size, footprint, structure, output, mode, cval, origin, axes=axes)


@implements(scipy.ndimage.black_tophat)
def black_tophat(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """What a closing adds."""
    return grey_closing(input, size, footprint, structure, output, mode, cval, origin, axes=axes) - input


@implements(scipy.ndimage.morphological_gradient)
def morphological_gradient(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0,  # noqa: A002
    *, axes=None,
):  # fmt: skip
    """A dilation less an erosion."""
    high = grey_dilation(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return high - grey_erosion(input, size, footprint, structure, output, mode, cval, origin, axes=axes)


@implements(scipy.ndimage.center_of_mass)
def center_of_mass(input, labels=None, index=None):  # noqa: A002
    """Where the mass of an array is on average, of all or of what has a label; of several labels, a list."""
    a = np.asarray(input) * 1.0
    if labels is None:
        return centre(a)
    if index is None:
        return centre(np.where(np.asarray(labels) > 0, a, 0.0))
    if np.ndim(index) == 0:
        return centre(np.where(np.asarray(labels) == index, a, 0.0))
    return [centre(np.where(np.asarray(labels) == k, a, 0.0)) for k in index]


def centre(a):
    """Where the mass of an array is on average."""
    total = np.sum(a)
    found = ()
    for k in places(a.ndim):
        moment = np.sum(a * np.reshape(np.arange(a.shape[k]) * 1.0, (-1,) + (1,) * (a.ndim - 1 - k)))
        found = (*found, moment / total)
    return found
