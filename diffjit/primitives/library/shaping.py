"""Views with other axes: each is a transpose, a reshape or an index."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import all_axes, one_axis, places
from diffjit.primitives.registry import implements


@implements(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a, axis1, axis2):
    """Exchange two axes."""
    a = np.asarray(a)
    first, second = one_axis(axis1, a.ndim), one_axis(axis2, a.ndim)
    order = tuple(second if k == first else first if k == second else k for k in places(a.ndim))
    return np.transpose(a, order)


@implements(np.moveaxis)
def moveaxis(a, source, destination):
    """Move axes to new places; the others keep their order."""
    a = np.asarray(a)
    sources, targets = all_axes(source, a.ndim), all_axes(destination, a.ndim)
    rest = tuple(k for k in places(a.ndim) if k not in sources)
    free = tuple(k for k in places(a.ndim) if k not in targets)
    order = tuple(sources[targets.index(k)] if k in targets else rest[free.index(k)] for k in places(a.ndim))
    return np.transpose(a, order)


@implements(np.rollaxis)
def rollaxis(a, axis, start=0):
    """Move one axis before another."""
    a = np.asarray(a)
    axis = one_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    target = start - 1 if axis < start else start
    rest = tuple(k for k in places(a.ndim) if k != axis)
    return np.transpose(a, (*rest[:target], axis, *rest[target:]))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    """Each matrix of a stack transposed."""
    return np.swapaxes(x, -1, -2)


@implements(np.permute_dims)
def permute_dims(a, axes=None):
    """The array API's name of transpose."""
    return np.transpose(a, axes)


@implements(np.expand_dims)
def expand_dims(a, axis):
    """Insert axes of length 1."""
    a = np.asarray(a)
    new = all_axes(axis, a.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1))
    return a[tuple(None if k in new else slice(None) for k in places(a.ndim + len(new)))]


def has_length_one(a, axis, either=False):
    """Whether an axis is dropped by `squeeze`; where nobody knows before, it must turn out not to be.

    either: whether that makes no difference.
    """
    return a.shape[axis] == 1


@implements(np.squeeze, np.ndarray.squeeze)
def squeeze(a, axis=None):
    """Drop axes of length 1. Without `axis` it must be known while specialising which those are."""
    a = np.asarray(a)
    if axis is None:
        dropped = tuple(k for k in places(a.ndim) if has_length_one(a, k))
    else:
        dropped = all_axes(axis, a.ndim)
        for k in dropped:
            if a.shape[k] != 1:
                raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a[(*(0 if k in dropped else slice(None) for k in places(a.ndim)), ...)]


@implements(np.atleast_1d)
def atleast_1d(*arys):
    """Scalars as arrays of one element."""
    return widened_1d(arys[0]) if len(arys) == 1 else tuple(widened_1d(x) for x in arys)


@implements(np.atleast_2d)
def atleast_2d(*arys):
    """Vectors as rows of a matrix."""
    return widened_2d(arys[0]) if len(arys) == 1 else tuple(widened_2d(x) for x in arys)


@implements(np.atleast_3d)
def atleast_3d(*arys):
    """At least three dimensions: a vector becomes the middle one."""
    return widened_3d(arys[0]) if len(arys) == 1 else tuple(widened_3d(x) for x in arys)


def widened_1d(x):
    """One operand of atleast_1d."""
    x = np.asarray(x)
    return x[None] if x.ndim == 0 else x


def widened_2d(x):
    """One operand of atleast_2d."""
    x = np.asarray(x)
    if x.ndim == 0:
        return x[None, None]
    return x[None, :] if x.ndim == 1 else x


def widened_3d(x):
    """One operand of atleast_3d."""
    x = np.asarray(x)
    if x.ndim == 0:
        return x[None, None, None]
    if x.ndim == 1:
        return x[None, :, None]
    return x[:, :, None] if x.ndim == 2 else x


@implements(np.flip)
def flip(m, axis=None):
    """Reverse axes; a view."""
    m = np.asarray(m)
    turned = all_axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in turned else slice(None) for k in places(m.ndim))]


@implements(np.fliplr)
def fliplr(m):
    """Reverse the second axis."""
    return np.asarray(m)[:, ::-1]


@implements(np.flipud)
def flipud(m):
    """Reverse the first axis."""
    return np.asarray(m)[::-1]


@implements(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    """Quarter turns in a plane."""
    m = np.asarray(m)
    first, second = axes
    quarter = k % 4
    if quarter == 0:
        return m[...]
    if quarter == 2:
        return np.flip(np.flip(m, first), second)
    if quarter == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    """All operands at their common shape; numbers are arrays of their own, which may be written to."""
    shape = common_shape(tuple(np.shape(x) for x in args))
    if len(shape) == 0:
        return tuple(np.asarray(x) for x in args)
    return tuple(np.broadcast_to(x, shape) for x in args)


@implements(np.broadcast_shapes)
def broadcast_shapes(*args):
    """The shape that shapes broadcast to."""
    return common_shape(tuple(s if isinstance(s, tuple) else (s,) for s in args))


def common_shape(shapes):
    """The shape that shapes broadcast to; whether each fits is seen when it is broadcast."""
    ndim = max((len(s) for s in shapes), default=0)
    lengths: tuple = ()
    for k in places(ndim):
        length = 1
        for s in shapes:
            if k >= ndim - len(s):
                own = s[k - ndim + len(s)]
                length = own if length == 1 else length
        lengths = (*lengths, length)
    return lengths
