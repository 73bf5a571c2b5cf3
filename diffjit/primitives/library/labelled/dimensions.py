"""xarray's DataArray as a program: an array whose axes have names, and coordinates along them.

Operands with other coordinates, of which xarray would take those that both have, are refused. NaN is left out of sums
and means, as in xarray.
"""

# xarray's signatures take whatever xarray takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportOptionalIterable=false, reportMissingImports=false

from __future__ import annotations

import numpy as np
import xarray as xr

from diffjit.labels import Constant, Labels
from diffjit.primitives.library.labelled.operators import (
    Labelled,
    added,
    applied,
    are_same,
    averaged,
    counted,
    deviation,
    largest,
    middle,
    multiplied,
    numbers_of,
    running,
    smallest,
    variance,
)  # fmt: skip
from diffjit.primitives.library.subclasses.held import Held
from diffjit.primitives.registry import constant, implements


def held(value):
    """A name, or the names of dimensions."""
    return Constant(value)


def axis_names(dims):
    """The names of dimensions."""
    return dims.shown


def one_name(a, b):
    """The name of what is made of two."""
    return a if a == b else Constant(None)


def brought_together(a, b):
    """All dimensions of two arrays."""
    return Constant((*a.shown, *(d for d in b.shown if d not in a.shown)))


def order_of(dims, wanted):
    """The axes of an array in the order of dimensions that it has among others."""
    return tuple(dims.shown.index(d) for d in wanted.shown if d in dims.shown)


def places_of(dims, wanted):
    """How an array is spread over dimensions: an axis of its own, or a new one."""
    return tuple(slice(None) if d in dims.shown else None for d in wanted.shown)


def axes_of(dims, names):
    """The axes that dimensions are; all of them for None."""
    if names is None or names is Ellipsis:
        return tuple(range(len(dims.shown)))
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if any(d not in dims.shown for d in wanted):
        raise ValueError(f"{names!r} not found in array dimensions {dims.shown!r}")
    return tuple(dims.shown.index(d) for d in wanted)


def without(dims, axes):
    """The dimensions that are left."""
    return Constant(tuple(d for k, d in enumerate(dims.shown) if k not in axes))


def has_labels(labels):
    """Whether there are coordinates along a dimension, and not a part of some."""
    return labels.held is not None or labels.texts is not None or labels.cut


def is_cut(labels):
    """Whether only a part is left of what coordinates were, or some of two."""
    return labels.cut


def both(a, b):
    """Coordinates beside those of dimensions, of what is made of two: those of one, or the same of both."""
    if a.held is None and not a.cut:
        return b
    if (b.held is None and not b.cut) or a == b:
        return a
    return Labels(None, cut=True)


def no_coords():
    """No coordinates."""
    return Labels(None, default=True)


def some_coords():
    """A part of coordinates."""
    return Labels(None, cut=True)


constant(
    held, axis_names, one_name, brought_together, order_of, places_of, axes_of, without, has_labels, is_cut, both,
    no_coords, some_coords,
)  # fmt: skip
_OTHERS = "coordinates of two operands that are not known to be the same, of which xarray would take the common ones"


@implements(xr.DataArray)
class DataArray(Labelled, Held):
    """An array whose axes have names."""

    stands_for = xr.DataArray

    def __init__(self, data, coords=None, dims=None, name=None, attrs=None):
        if coords is not None:
            raise NotImplementedError(
                "coordinates of a DataArray that a program makes: a.copy(data=...) has those of a"
            )
        self.held_values = np.asarray(data)
        if dims is None:
            names = tuple([f"dim_{k}" for k in range(self.held_values.ndim)])
        else:
            names = (dims,) if isinstance(dims, str) else tuple(dims)
        if len(names) != self.values.ndim:
            raise ValueError("different number of dimensions on data and dims")
        self.held_dims = held(names)
        self.labels_along = tuple([no_coords() for _ in names])
        self.other_coords = no_coords()
        self.held_name = held(name)

    def whole(self):
        """The array."""
        return self.values

    def like(self, values):
        """Other numbers with the same labels."""
        return labelled(values, self.held_dims, self.labels_along, self.other_coords, self.held_name)

    def combine(self, function, a, b):
        """A function of elements of two operands, which are brought together by the names of their dimensions."""
        if not isinstance(a, xr.DataArray):
            return b.like(beside(b, applied(function, a, b.values)))
        if not isinstance(b, xr.DataArray):
            return a.like(beside(a, applied(function, a.values, b)))
        dims = brought_together(a.held_dims, b.held_dims)
        along = tuple([along_both(a, b, name) for name in axis_names(dims)])
        found = applied(function, spread(a, dims), spread(b, dims))
        return labelled(
            found, dims, along, both(a.other_coords, b.other_coords), one_name(a.held_name, b.held_name)
        )  # fmt: skip

    @property
    def dims(self):
        """The names of dimensions."""
        return axis_names(self.held_dims)

    @property
    def sizes(self):
        """Lengths by the names of dimensions."""
        return dict(zip(axis_names(self.held_dims), self.values.shape, strict=True))

    @property
    def values(self):
        """The array."""
        return numbers_of(self.held_values)

    @property
    def name(self):
        """Its name."""
        return self.held_name.shown

    @property
    def data(self):
        """The array."""
        return self.values

    @property
    def T(self):  # noqa: N802 - xarray's name
        """Axes in the reverse order."""
        return self.transpose()

    def __float__(self):
        return float(self.values)

    def __bool__(self):
        return bool(self.values)

    def __getattr__(self, name):
        raise NotImplementedError(f"`{name}` of an xarray DataArray: take .values and NumPy's functions")

    def __getitem__(self, key):
        if isinstance(key, str):
            raise NotImplementedError("coordinates of a DataArray: pass their numbers to the function, a.x.values")
        if isinstance(key, dict):
            return self.isel(key)
        keys = key if isinstance(key, tuple) else (key,)
        return self.isel(dict(zip(axis_names(self.held_dims), keys, strict=False)))

    def __setitem__(self, key, value):
        raise NotImplementedError("assignments to a DataArray: change an array, v = a.values.copy()")

    def __matmul__(self, other):
        return self.dot(other)

    def __iter__(self):
        return iter([self.isel({axis_names(self.held_dims)[0]: k}) for k in range(len(self.values))])

    def isel(self, indexers=None, drop=False, missing_dims="raise", **named):
        """By positions along dimensions."""
        asked = named if indexers is None else indexers
        axes_of(self.held_dims, tuple(asked))
        key, left, along = [], [], []
        for name, labels in zip(axis_names(self.held_dims), self.labels_along, strict=True):
            k = asked.get(name, slice(None))
            key.append(k)
            if not isinstance(k, slice):
                if isinstance(k, list | xr.DataArray) or np.ndim(k) > 0:
                    raise NotImplementedError("arrays as positions: a.values[...]")
                continue
            left.append(name)
            along.append(some_coords() if name in asked and has_labels(labels) else labels)
        found = np.asarray(self.values[tuple(key)])
        others = some_coords() if len(left) < len(key) and has_some(self) else self.other_coords
        return labelled(found, held(tuple(left)), tuple(along), others, self.held_name)

    def to_numpy(self):
        """The array."""
        return self.values

    def copy(self, deep=True, data=None):
        """Another one, of other numbers."""
        return self.like(self.values.copy() if data is None else np.asarray(data))

    def rename(self, name):
        """With another name."""
        if not isinstance(name, str):
            raise NotImplementedError("rename of dimensions: rename(name) alone")
        return labelled(self.values, self.held_dims, self.labels_along, self.other_coords, held(name))

    def transpose(self, *dims):
        """Axes in another order."""
        wanted = held(dims if len(dims) > 0 else tuple(reversed(axis_names(self.held_dims))))
        order = order_of(self.held_dims, wanted)
        if len(order) != self.values.ndim:
            raise ValueError(f"{dims} must be a permuted list of {axis_names(self.held_dims)}")
        along = tuple([self.labels_along[k] for k in order])
        return labelled(np.transpose(self.values, order), wanted, along, self.other_coords, self.held_name)

    def dot(self, other, dim=None):
        """Sums of products over the dimensions that both have."""
        if not isinstance(other, xr.DataArray):
            raise TypeError("dot only operates on DataArrays.")
        mine, others = axis_names(self.held_dims), axis_names(other.held_dims)
        common = [d for d in mine if d in others] if dim is None else dim
        found = (self * other).sum(common, skipna=False)
        return labelled(found.values, found.held_dims, found.labels_along, found.other_coords, self.held_name)

    def over(self, function, dim, axis, skipna):
        """What a reduction gives over some dimensions."""
        axes = axes_of(self.held_dims, dim) if axis is None else axis_numbers(axis, self.values.ndim)
        found = np.asarray(function(self.values, axes, skipna))
        left = without(self.held_dims, axes)
        along = tuple([self.labels_along[k] for k in range(self.values.ndim) if k not in axes])
        return labelled(found, left, along, self.other_coords, self.held_name)

    def sum(self, dim=None, axis=None, skipna=True):
        """Sums."""
        return self.over(added, dim, axis, skipna)

    def prod(self, dim=None, axis=None, skipna=True):
        """Products."""
        return self.over(multiplied, dim, axis, skipna)

    def mean(self, dim=None, axis=None, skipna=True):
        """Means."""
        return self.over(averaged, dim, axis, skipna)

    def median(self, dim=None, axis=None, skipna=True):
        """Medians."""
        return self.over(middle, dim, axis, skipna)

    def var(self, dim=None, axis=None, skipna=True, ddof=0):
        """Variances."""
        return self.over(lambda values, axes, skip: variance(values, one_axis(axes), skip, ddof), dim, axis, skipna)

    def std(self, dim=None, axis=None, skipna=True, ddof=0):
        """Standard deviations."""
        return self.over(lambda values, axes, skip: deviation(values, one_axis(axes), skip, ddof), dim, axis, skipna)

    def max(self, dim=None, axis=None, skipna=True):
        """Largest numbers."""
        return self.over(largest, dim, axis, skipna)

    def min(self, dim=None, axis=None, skipna=True):
        """Smallest numbers."""
        return self.over(smallest, dim, axis, skipna)

    def count(self, dim=None, axis=None):
        """How many numbers there are."""
        return self.over(counted, dim, axis, None)

    def cumsum(self, dim):
        """Sums up to each place."""
        (axis,) = axes_of(self.held_dims, dim)
        values = running(self.values, axis)
        return labelled(values, self.held_dims, self.labels_along, self.other_coords, self.held_name)

    def fillna(self, value):
        """A number in place of NaN."""
        return self.where(self.notna(), value)

    def where(self, cond, other=np.nan):
        """Another number where a condition does not hold."""
        if isinstance(cond, xr.DataArray):
            agreed(self, cond)
            cond = cond.values
        if isinstance(other, xr.DataArray):
            agreed(self, other)
            other = other.values
        return self.like(beside(self, np.where(cond, self.values, other)))


def has_some(array):
    """Whether there are coordinates, which a position along one of the dimensions chooses from."""
    for labels in array.labels_along:
        if has_labels(labels):
            return True
    return has_labels(array.other_coords)


def one_axis(axes):
    """Axes as variances take them."""
    return axes[0] if len(axes) == 1 else axes


def axis_numbers(axis, ndim):
    """Axes by their numbers."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple([k % ndim for k in axes])


def labelled(values, dims, along, others, name):
    """A DataArray."""
    made = DataArray(values, dims=axis_names(dims))
    made.labels_along = along
    made.other_coords = no_coords() if len(axis_names(dims)) == 0 and is_cut(others) else others
    made.held_name = name
    return made


def beside(array, found):
    """What is made of an array and something without names, which has no more axes than the array."""
    if found.shape != array.values.shape:
        raise ValueError(f"operands of shapes {array.values.shape} and, together, {found.shape}")
    return found


def agreed(a, b):
    """Two arrays of the same dimensions in one order, and the same coordinates."""
    if axis_names(a.held_dims) != axis_names(b.held_dims):
        raise NotImplementedError("arrays of other dimensions: transpose and broadcast them before")
    for name in axis_names(a.held_dims):
        along_both(a, b, name)


def label_along(array, name):
    """The coordinates along a dimension."""
    return array.labels_along[axes_of(array.held_dims, name)[0]]


def along_both(a, b, name):
    """The coordinates along a dimension, of what is made of two arrays."""
    if name not in axis_names(b.held_dims):
        return label_along(a, name)
    if name not in axis_names(a.held_dims):
        return label_along(b, name)
    one, two = label_along(a, name), label_along(b, name)
    k, j = axes_of(a.held_dims, name)[0], axes_of(b.held_dims, name)[0]
    if a.values.shape[k] != b.values.shape[j]:
        raise ValueError(f"cannot reindex or align along dimension {name!r}: lengths differ")
    if not has_labels(one):
        return two
    if not has_labels(two):
        return one
    if not are_same(one, two):
        raise NotImplementedError(_OTHERS + ": use .values")
    return one


def spread(array, dims):
    """The numbers of an array, with an axis for each of some dimensions."""
    return np.transpose(array.values, order_of(array.held_dims, dims))[places_of(array.held_dims, dims)]
