"""Regions of images by SciPy's names: labels, and shapes that grow and shrink, are constants that SciPy's code finds.

They jump where they change, so that they have no derivative; the distances from a region have one by the size of an
element alone.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np
import scipy.ndimage

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import places
from diffjit.primitives.library.ndimage.filters import each
from diffjit.primitives.library.ndimage.lines import without_output
from diffjit.primitives.registry import implements


def labels_by_scipy(a, structure):
    """SciPy's labels, and how many there are."""
    found, count = scipy.ndimage.label(np.asarray(a), None if structure is None else np.asarray(structure))
    return found.astype(np.int32), int(count)


LABELS = foreign(labels_by_scipy, result=lambda a, structure: (np.zeros(a.shape, np.int32), 0))


@implements(scipy.ndimage.label)
def label(input, structure=None, output=None):  # noqa: A002 - SciPy's name
    """A number for each element, the same for those of one region, and how many regions there are."""
    without_output(output)
    return LABELS(stop_gradient(np.asarray(input)), stop_gradient(structure))


def extrema_by_scipy(a, labels, index):
    """Where SciPy finds the smallest and the largest element of each region, and which regions there are."""
    if labels is None:
        found, there = scipy.ndimage.extrema(np.asarray(a))[2:], [True]
    elif index is None or np.ndim(index) == 0:
        found, there = scipy.ndimage.extrema(np.asarray(a), np.asarray(labels), index)[2:], [True]
    else:
        found = scipy.ndimage.extrema(np.asarray(a), np.asarray(labels), np.asarray(index))[2:]
        there = np.isin(index, labels)
    return np.reshape(np.asarray(found, dtype=np.int64), (2, -1, a.ndim)), np.asarray(there, dtype=bool)


def count_of(index):
    """How many regions are asked for."""
    return 1 if index is None else np.size(index)


EXTREMA = foreign(
    extrema_by_scipy,
    result=lambda a, labels, index: (
        np.zeros((2, count_of(index), a.ndim), np.int64),
        np.zeros(count_of(index), bool),
    ),
)


@implements(scipy.ndimage.extrema)
def extrema(input, labels=None, index=None):  # noqa: A002 - SciPy's name
    """The smallest and the largest element of an array or of each region, and where they are."""
    a = np.asarray(input)
    at, there = EXTREMA(stop_gradient(a), stop_gradient(labels), stop_gradient(index))
    low = np.where(there, a[tuple(at[0, :, k] for k in places(a.ndim))], 0.0)
    high = np.where(there, a[tuple(at[1, :, k] for k in places(a.ndim))], 0.0)
    if labels is None or index is None or np.ndim(index) == 0:
        return low[0], high[0], position(at[0, 0], a.ndim), position(at[1, 0], a.ndim)
    count = np.size(index)
    first, last = ([position(at[side, j], a.ndim) for j in range(count)] for side in (0, 1))
    return low, high, first, last


def position(at, count):
    """The place of an element, as a tuple."""
    return tuple(at[k] for k in places(count))


def shaped_by_scipy(name, a, given):
    """What SciPy's function of a name makes of an array of truths."""
    known = {key: np.asarray(v) if isinstance(v, (list, np.ndarray)) else v for key, v in given.items()}
    return getattr(scipy.ndimage, name)(np.asarray(a), **known)


SHAPED = foreign(shaped_by_scipy, result=lambda name, a, given: np.zeros(a.shape, bool))


def shaped(name, a, output, given):
    """An array of truths, by SciPy's function of a name."""
    without_output(output)
    return SHAPED(name, stop_gradient(np.asarray(a)), stop_gradient(given))


def by_structure(name, a, output, structure, iterations, mask, border_value, origin, brute_force, axes):
    """Regions that a structure makes smaller or larger, so many times."""
    return shaped(name, a, output, {
        "structure": structure, "iterations": iterations, "mask": mask, "border_value": border_value, "origin": origin,
        "brute_force": brute_force, "axes": axes,
    })  # fmt: skip


@implements(scipy.ndimage.binary_erosion)
def binary_erosion(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0,  # noqa: A002
    brute_force=False, *, axes=None,
):  # fmt: skip
    """Regions without their edges."""
    rest = structure, iterations, mask, border_value, origin, brute_force, axes
    return by_structure("binary_erosion", input, output, *rest)


@implements(scipy.ndimage.binary_dilation)
def binary_dilation(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0,  # noqa: A002
    brute_force=False, *, axes=None,
):  # fmt: skip
    """Regions and what is beside them."""
    rest = structure, iterations, mask, border_value, origin, brute_force, axes
    return by_structure("binary_dilation", input, output, *rest)


@implements(scipy.ndimage.binary_opening)
def binary_opening(
    input, structure=None, iterations=1, output=None, origin=0, mask=None, border_value=0,  # noqa: A002
    brute_force=False, *, axes=None,
):  # fmt: skip
    """An erosion, then a dilation."""
    rest = structure, iterations, mask, border_value, origin, brute_force, axes
    return by_structure("binary_opening", input, output, *rest)


@implements(scipy.ndimage.binary_closing)
def binary_closing(
    input, structure=None, iterations=1, output=None, origin=0, mask=None, border_value=0,  # noqa: A002
    brute_force=False, *, axes=None,
):  # fmt: skip
    """A dilation, then an erosion."""
    rest = structure, iterations, mask, border_value, origin, brute_force, axes
    return by_structure("binary_closing", input, output, *rest)


@implements(scipy.ndimage.binary_fill_holes)
def binary_fill_holes(input, structure=None, output=None, origin=0, *, axes=None):  # noqa: A002
    """Regions without holes."""
    return shaped("binary_fill_holes", input, output, {"structure": structure, "origin": origin, "axes": axes})


@implements(scipy.ndimage.binary_propagation)
def binary_propagation(
    input, structure=None, mask=None, output=None, border_value=0, origin=0, *, axes=None  # noqa: A002
):  # fmt: skip
    """Regions grown within a mask."""
    return shaped("binary_propagation", input, output, {
        "structure": structure, "mask": mask, "border_value": border_value, "origin": origin, "axes": axes,
    })  # fmt: skip


@implements(scipy.ndimage.binary_hit_or_miss)
def binary_hit_or_miss(
    input, structure1=None, structure2=None, output=None, origin1=0, origin2=None, *, axes=None  # noqa: A002
):  # fmt: skip
    """Where a pattern is."""
    return shaped("binary_hit_or_miss", input, output, {
        "structure1": structure1, "structure2": structure2, "origin1": origin1, "origin2": origin2, "axes": axes,
    })  # fmt: skip


def nearest_by_scipy(a, sampling):
    """For each element, which one that is zero is nearest."""
    found = scipy.ndimage.distance_transform_edt(np.asarray(a), sampling, return_distances=False, return_indices=True)
    return found.astype(np.int32)


NEAREST = foreign(nearest_by_scipy, result=lambda a, sampling: np.zeros((a.ndim, *a.shape), np.int32))


@implements(scipy.ndimage.distance_transform_edt)
def distance_transform_edt(
    input, sampling=None, return_distances=True, return_indices=False, distances=None, indices=None  # noqa: A002
):  # fmt: skip
    """How far elements are from the nearest that is zero, and which that is."""
    if distances is not None or indices is not None:
        raise NotImplementedError("distance_transform_edt with arrays for results: assign them")
    a = np.asarray(input)
    if sampling is None:
        sizes = (1.0,) * a.ndim
    else:
        sizes = each(sampling, a.ndim) if isinstance(sampling, (tuple, list)) else (sampling,) * a.ndim
    found = NEAREST(stop_gradient(a), stop_gradient(sizes))
    squares = np.zeros(a.shape)
    for k in places(a.ndim):
        here = np.reshape(np.arange(a.shape[k]), (-1,) + (1,) * (a.ndim - 1 - k))
        squares = squares + (1.0 * sizes[k] * (found[k] - here)) ** 2
    far = squares > 0.0
    gaps = np.where(far, np.sqrt(np.where(far, squares, 1.0)), 0.0)
    if return_distances and return_indices:
        return gaps, found
    return gaps if return_distances else found


CHESS = foreign(
    lambda a, metric: scipy.ndimage.distance_transform_cdt(np.asarray(a), metric).astype(np.int32),
    result=lambda a, metric: np.zeros(a.shape, np.int32),
)


@implements(scipy.ndimage.distance_transform_cdt)
def distance_transform_cdt(
    input, metric="chessboard", return_distances=True, return_indices=False, distances=None,  # noqa: A002
    indices=None,
):  # fmt: skip
    """How many steps elements are from the nearest that is zero."""
    if not return_distances or return_indices or distances is not None or indices is not None:
        raise NotImplementedError("distance_transform_cdt with indices, or arrays for results")
    return CHESS(stop_gradient(np.asarray(input)), metric)
