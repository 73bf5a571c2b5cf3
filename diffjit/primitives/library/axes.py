"""Axis arguments, shared by the library: everything here is known while specialising."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math

import numpy as np


def places(n):
    """0 .. n - 1 as a tuple: a loop over a tuple unrolls while specialising, one over a range stays a loop."""
    return tuple(range(n))


def known(n):
    """An int from 0 to 64, that becomes known while specialising where it was not."""
    return len(places(64)[:n])  # cutting a tuple asks for it


def is_one(n):
    """Whether a length is known to be 1 before the program runs; other lengths may turn out to be."""
    return n == 1


def is_never_one(a, axis):
    """Whether a length is known not to be 1, as those of arguments are."""
    return a.shape[axis] != 1


def is_two(n):
    """Whether a length is known to be 2 before the program runs."""
    return n == 2


def one_axis(axis, ndim):
    """An axis counted from 0."""
    rest = places(ndim)[axis:]  # cutting a tuple asks for an axis that is known while specialising
    if axis < -ndim or axis >= ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return rest[0]


def all_axes(axis, ndim):
    """None, one axis or several, as a tuple of axes counted from 0."""
    if axis is None:
        return places(ndim)
    if isinstance(axis, (tuple, list, range)):
        return tuple(one_axis(k, ndim) for k in axis)
    return (one_axis(axis, ndim),)


def along(axis, index):
    """The index tuple that applies `index` to one axis and keeps the axes before it."""
    return (slice(None),) * axis + (index,)


def count(a, axis):
    """How many elements one result of a reduction over `axis` sees."""
    return math.prod(a.shape[k] for k in all_axes(axis, a.ndim))


def merged_first(a, axes):
    """The axes `axes` as one, the first; the others follow in their order."""
    kept = tuple(k for k in places(a.ndim) if k not in axes)
    length = math.prod(a.shape[k] for k in axes)
    return np.reshape(np.transpose(a, axes + kept), (length, *(a.shape[k] for k in kept)))


def real_of(dtype):
    """The dtype of lengths and numbers of elements whose dtype this is: float32 stays float32."""
    return np.finfo(dtype).dtype if dtype.kind in "fc" else np.dtype(np.float64)


def as_float(a):
    """Integers and booleans as float64, the rest unchanged."""
    if a.dtype.kind in "iub":
        return a.astype(np.float64)
    return a


def by_lower_half(a):
    """The Hermitian matrices whose lower halves these have: what functions for such matrices read."""
    return np.tril(a) + np.conjugate(np.swapaxes(np.tril(a, -1), -1, -2))


def root(square):
    """A square root whose derivative at 0 is 0: the subgradient of a length at its tip, where sqrt' is infinite."""
    return np.where(square == 0, 0.0, np.sqrt(square))


def magnitude_squared(a):
    """|a|**2, real also for complex `a`."""
    if a.dtype.kind == "c":
        return np.square(np.real(a)) + np.square(np.imag(a))
    return a * a
