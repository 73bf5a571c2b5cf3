"""Sparse matrices by diagonals, and those that programs fill element by element: `dia`, `lil`, `dok` of `scipy.sparse`.

What a program assigns element by element stands in a dense matrix, beside which elements were assigned: an entry that
happens to be zero is one, so that it has a derivative.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalSubscript=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np
import scipy.sparse

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import FORMATS, Sparse, is_sparse, of_dtype, parts
from diffjit.primitives.registry import implements


def by_diagonals(data, row, col, shape):
    """Entries as rows of a matrix, one for each diagonal, and which diagonals these are."""
    offset = col.astype(np.int64) - row
    offsets = np.unique(offset)
    out = np.zeros((offsets.shape[0], shape[1]), data.dtype)
    np.add.at(out, (np.searchsorted(offsets, offset), col), data)
    return out, offsets


def places_by_coordinates(given):
    """Whether what says where entries stand is their rows and columns, not diagonals."""
    return isinstance(given, tuple) and np.ndim(given[0]) > 0


class Diagonals(Sparse):
    """Entries by diagonals: `data[k, j]` stands in column j of the diagonal `offsets[k]`."""

    form = "dia"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if is_sparse(arg1) and arg1.form == "dia":
            self.data, self.offsets, self.shape = of_dtype(arg1.data, dtype), arg1.offsets, arg1.shape
        elif isinstance(arg1, tuple) and np.ndim(arg1[0]) > 0 and not places_by_coordinates(arg1[1]):
            self.data = of_dtype(np.atleast_2d(as_float(np.asarray(arg1[0]))), dtype)
            self.offsets = np.atleast_1d(np.asarray(arg1[1]))
            self.shape = shape
            if self.data.shape[0] != self.offsets.shape[0]:
                raise ValueError("number of diagonals does not match the number of offsets")
        else:
            data, row, col, self.shape = parts(arg1, shape)
            self.data, self.offsets = by_diagonals(of_dtype(data, dtype), row, col, self.shape)
        if copy:
            self.data = self.data.copy()

    @property
    def nnz(self):
        """How many entries lie within the matrix."""
        return self.entries()[0].shape[0]

    def entries(self):
        """Values, rows and columns of entries."""
        count, length = self.data.shape
        col = np.zeros((count, length), np.int64) + np.arange(length)
        row = col - self.offsets[:, None]
        there = np.flatnonzero(np.ravel((row >= 0) & (row < self.shape[0]) & (col < self.shape[1])))
        return np.ravel(self.data)[there], np.ravel(row)[there], np.ravel(col)[there]


@implements(scipy.sparse.dia_matrix)
class DiaMatrix(Diagonals):
    """Diagonals."""

    stands_for = scipy.sparse.dia_matrix
    matrix = True


@implements(scipy.sparse.dia_array)
class DiaArray(Diagonals):
    """Diagonals."""

    stands_for = scipy.sparse.dia_array


class Editable(Sparse):
    """A matrix whose elements programs assign."""

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if is_sparse(arg1) and arg1.form == self.form and not copy:
            self.dense, self.there, self.shape = of_dtype(arg1.dense, dtype), arg1.there, arg1.shape
        else:
            data, row, col, self.shape = parts(arg1, shape)
            data = of_dtype(data, dtype)
            self.dense = np.zeros(self.shape, data.dtype)
            self.there = np.zeros(self.shape, bool)
            np.add.at(self.dense, (row, col), data)
            self.there[row, col] = True

    @property
    def data(self):
        """Not given as SciPy stores it."""
        raise NotImplementedError("`data` of a matrix that is filled element by element: tocsr().data")

    @property
    def nnz(self):
        """How many entries are stored."""
        return np.sum(self.there)

    @property
    def dtype(self):
        """Of the entries."""
        return self.dense.dtype

    def entries(self):
        """Values, rows and columns of entries."""
        row, col = np.nonzero(self.there)
        return self.dense[row, col], row, col

    def toarray(self):
        """As a dense matrix."""
        return self.dense.copy()

    def scale(self, factor):
        """Multiply the entries where they stand."""
        self.dense *= factor

    def assign(self, other):
        """Take the entries of a matrix, in place of its own."""
        self.dense[...] = other.toarray()
        self.there[...] = False
        _, row, col = other.entries()
        self.there[row, col] = True
        return self

    def __setitem__(self, place, value):
        given = value.toarray() if isinstance(value, Sparse) else value
        self.dense[place] = given
        self.there[place] = True

    def __getitem__(self, place):
        found = self.dense[place]
        if np.ndim(found) == 0:
            return found
        raise NotImplementedError("parts of a matrix that is filled element by element: take them of toarray()")

    def setdiag(self, values, k=0):
        """Assign a diagonal."""
        count = min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0))
        place = np.arange(count)
        self.dense[place + max(-k, 0), place + max(k, 0)] = values if np.ndim(values) == 0 else values[:count]
        self.there[place + max(-k, 0), place + max(k, 0)] = True


class Rows(Editable):
    """Rows of entries, which sums change in place."""

    form = "lil"

    def __iadd__(self, other):
        return self.assign(self + (other if is_sparse(other) else LilMatrix(other)))

    def __isub__(self, other):
        return self.assign(self - (other if is_sparse(other) else LilMatrix(other)))


@implements(scipy.sparse.lil_matrix)
class LilMatrix(Rows):
    """Rows of entries."""

    stands_for = scipy.sparse.lil_matrix
    matrix = True


@implements(scipy.sparse.lil_array)
class LilArray(Rows):
    """Rows of entries."""

    stands_for = scipy.sparse.lil_array


@implements(scipy.sparse.dok_matrix)
class DokMatrix(Editable):
    """Entries by their places."""

    stands_for = scipy.sparse.dok_matrix
    matrix, form = True, "dok"


@implements(scipy.sparse.dok_array)
class DokArray(Editable):
    """Entries by their places."""

    stands_for = scipy.sparse.dok_array
    form = "dok"


FORMATS.update(
    {
        ("dia", True): DiaMatrix, ("dia", False): DiaArray, ("lil", True): LilMatrix, ("lil", False): LilArray,
        ("dok", True): DokMatrix, ("dok", False): DokArray,
    }
)  # fmt: skip
