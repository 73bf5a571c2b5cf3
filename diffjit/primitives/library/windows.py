"""NumPy's read-only views that are made as copies here: what they show must not change any more."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.axes import one_axis, places
from diffjit.primitives.registry import implements


def unchanging(a):
    """The array; the frontend refuses programs that write to it later."""
    return a


def row_by_row(a):
    """The array; the frontend refuses one that may stand in memory otherwise."""
    return a


def in_rows(a):
    """Whether the array is known to stand in memory row by row: its reshapes are views."""
    return layout_of(a) == "C"


def layout_of(a):
    """How an array is known to stand in memory: "C", "F", or "A" where that is not known."""
    return "C" if a.flags.c_contiguous else "F" if a.flags.f_contiguous else "A"


class Flags:
    """What `a.flags` says of how an array stands in memory."""

    def __init__(self, a):
        """Ask for its layout."""
        self.layout = layout_of(a)
        if self.layout == "A":
            raise NotImplementedError("flags of an array whose steps are not known: take np.ascontiguousarray of it")
        self.either = a.size == 0 or sum([int(n > 1) for n in a.shape]) <= 1

    @property
    def c_contiguous(self):
        """Whether rows stand one after another."""
        return self.layout == "C" or self.either

    @property
    def f_contiguous(self):
        """Whether columns do."""
        return self.layout == "F" or self.either

    @property
    def contiguous(self):
        """As `c_contiguous`."""
        return self.c_contiguous

    @property
    def forc(self):
        """Whether rows or columns do."""
        return True

    @property
    def fnc(self):
        """Whether columns do, and rows do not."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def owndata(self):
        """Refused: whether memory is another array's is not told."""
        raise NotImplementedError("whether an array is a view (`flags.owndata`): take a copy of it, or leave it out")

    @property
    def writeable(self):
        """Refused, too."""
        raise NotImplementedError("whether an array may be written to (`flags.writeable`): leave it out")

    def __getitem__(self, name):
        if name in ("C_CONTIGUOUS", "C", "CONTIGUOUS"):
            return self.c_contiguous
        if name in ("F_CONTIGUOUS", "F"):
            return self.f_contiguous
        raise NotImplementedError(f"the flag {name!r} of an array: leave it out")


def written_through(shown):
    """A diagonal; the frontend lets programs write to it, as to what `np.einsum("ii->i", a)` gives."""
    return shown


def window(x, axis, length):
    """All windows along one axis, the places in a window as a last axis."""
    count = x.shape[axis] - length + 1
    if length < 0:
        raise ValueError("`window_shape` cannot contain negative values")
    if count <= 0:
        raise ValueError("window shape cannot be larger than input array shape")
    places = np.arange(count)[:, None] + np.arange(length)
    return np.moveaxis(np.take(x, places, axis=axis), axis + 1, -1)


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """Windows over an array."""
    if writeable:
        raise NotImplementedError("sliding_window_view: writeable=True is not supported: write to the array itself")
    x = unchanging(np.asarray(x))
    lengths = tuple(window_shape) if isinstance(window_shape, (tuple, list)) else (window_shape,)
    if axis is None:
        if len(lengths) != x.ndim:
            raise ValueError("Since axis is None, must provide window_shape for all dimensions of `x`")
        axes = tuple(range(x.ndim))
    else:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    ndim = x.ndim
    for k, length in zip(axes, lengths):  # noqa: B905 - NumPy takes as many of each
        x = window(x, one_axis(k, ndim), length)
    return unchanging(x)


@implements(np.lib.stride_tricks.as_strided)
def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
    """Entries at steps of so many bytes, each axis with a step of its own: a copy, that nobody writes to."""
    x = unchanging(row_by_row(np.asarray(x)))
    flat = np.ravel(x)
    lengths = x.shape if shape is None else shape if isinstance(shape, (tuple, list)) else (shape,)
    steps = x.strides if strides is None else strides if isinstance(strides, (tuple, list)) else (strides,)
    if len(lengths) != len(steps):
        raise ValueError("mismatch in length of strides and shape")
    at = np.zeros((1,) * len(lengths), np.int64)
    for k in places(len(lengths)):
        at = at + np.reshape(np.arange(lengths[k]) * steps[k], (-1,) + (1,) * (len(lengths) - 1 - k))
    if np.any(at % x.itemsize != 0) or np.any(at < 0) or np.any(at >= flat.size * x.itemsize):
        raise NotImplementedError("as_strided: entries outside the array, or between its entries")
    return unchanging(flat[at // x.itemsize])


def from_diagonal(a, offset):
    """The part of a matrix whose main diagonal is another one of it."""
    return a[max(-offset, 0) :, max(offset, 0) :]


def diagonals(a, offset, axis1, axis2):
    """The diagonals of a stack of matrices, as the last axis."""
    matrices = np.moveaxis(unchanging(a), (axis1, axis2), (0, 1))
    rows, columns = matrices.shape[0], matrices.shape[1]
    start = max(-offset, 0)
    k = np.arange(start, max(start, min(rows, columns - offset)))
    return unchanging(np.moveaxis(matrices[k, k + offset], 0, -1))


def last_axis(a):
    """The length of the last axis, which has to stand in memory number by number."""
    if a.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if a.shape[-1] != 1 and a.size != 0 and a.strides[-1] != a.itemsize:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    return a.shape[-1]


def as_floats(z):
    """Real and imaginary parts in turn, along the last axis."""
    n = last_axis(z)
    return np.reshape(np.stack((np.real(z), np.imag(z)), axis=-1), (*z.shape[:-1], 2 * n))


def as_complex(x):
    """Complex numbers of which each has two numbers of the last axis."""
    n = last_axis(x)
    if n % 2 != 0:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis "
            "of the array."
        )
    result = np.empty((*x.shape[:-1], n // 2), np.result_type(x.dtype, np.complex64))
    result.real = x[..., 0::2]
    result.imag = x[..., 1::2]
    return result
