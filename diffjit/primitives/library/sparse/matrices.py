"""Sparse matrices of `scipy.sparse`: by rows and columns of their entries, or compressed, with products.

Where entries stand is constant, what they are is not. `*` is the product of matrices for SciPy's matrices, and goes by
elements for its arrays.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse

from diffjit.primitives.library.axes import as_float, one_axis
from diffjit.primitives.library.sparse.entrywise import Entrywise
from diffjit.primitives.library.sparse.selected import (
    chosen,
    elements,
    in_rows,
    is_array,
    is_block,
    is_one,
    rows_and_columns,
)
from diffjit.primitives.registry import implements


def positions(numbers):
    """Where entries stand; SciPy takes floats, of tables of numbers, as integers."""
    numbers = np.asarray(numbers)
    return numbers.astype(np.int64) if numbers.dtype.kind == "f" else numbers


def summed(data, row, col, width):
    """Entries by rows and columns, in order; those at one place as one."""
    key = row.astype(np.int64) * width + col
    order = np.argsort(key, kind="stable")
    key, data = key[order], data[order]
    first = np.ones(key.shape[0], bool)
    first[1:] = key[1:] != key[:-1]
    group = np.cumsum(first) - 1
    total = np.zeros(np.sum(first), data.dtype)
    np.add.at(total, group, data)
    kept = key[first]
    return total, kept // width, kept % width


def without_dtype(dtype):
    """Entries keep their dtype; integers become floats."""
    if dtype is not None and dtype not in (float, "float64", "float", "d", np.float64):
        raise NotImplementedError(f"sparse matrices of dtype {dtype}: convert their data")


def of_dtype(data, dtype):
    """Entries as floats or complex numbers of a dtype; sums of others stay within their dtype, and are not known."""
    if dtype is None or np.dtype(dtype) == data.dtype:
        return data
    if np.dtype(dtype).kind not in "fc":
        raise NotImplementedError(f"sparse matrices of dtype {np.dtype(dtype)}: use float, float32 or complex")
    return data.astype(dtype)


def pointers(places, count):
    """Where the entries of each row begin, of rows in order."""
    starts = np.zeros(count + 1, np.int64)
    starts[1:] = np.cumsum(np.bincount(places, minlength=count))
    return starts


def times(data, row, col, count, x):
    """The product with a vector, or with columns."""
    out = np.zeros((count, *x.shape[1:]), (data[:1] * np.ravel(x)[:1]).dtype)
    for k in range(data.shape[0]):
        out[row[k]] += data[k] * x[col[k]]
    return out


def by_rows(data, indices, indptr, count, x):
    """The product of compressed rows with a vector, or with columns."""
    out = np.zeros((count, *x.shape[1:]), (data[:1] * np.ravel(x)[:1]).dtype)
    for i in range(count):
        total = out[i].copy()
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        out[i] = total
    return out


def by_columns(data, indices, indptr, count, x):
    """The product of compressed columns with a vector, or with columns."""
    out = np.zeros((count, *x.shape[1:]), (data[:1] * np.ravel(x)[:1]).dtype)
    for j in range(indptr.shape[0] - 1):
        for k in range(indptr[j], indptr[j + 1]):
            out[indices[k]] += data[k] * x[j]
    return out


def spread(data, row, col, shape):
    """As a dense matrix."""
    out = np.zeros(shape, data.dtype)
    for k in range(data.shape[0]):
        out[row[k], col[k]] += data[k]
    return out


def is_sparse(x):
    """Whether something is a sparse matrix: in programs they say that they are SciPy's."""
    return isinstance(x, (Sparse, scipy.sparse.spmatrix, scipy.sparse.sparray))


class Sparse(Entrywise):
    """What all of them can do, by rows and columns of entries."""

    matrix = False  # whether `*` is a product of matrices

    def entries(self):
        """Values, rows and columns of entries."""
        return self.data, self.row, self.col

    def like(self, data):
        """Another one, of other entries at the same places."""
        _, row, col = self.entries()
        return of_format(self.form, self.matrix, data, row, col, self.shape)

    def of_sums(self, function):
        """Another one, of a function of the elements: entries at one place are one element."""
        data, row, col = self.entries()
        data, row, col = summed(data, row, col, self.shape[1])
        return of_format(self.form, self.matrix, function(data), row, col, self.shape)

    @property
    def T(self):  # noqa: N802 - SciPy's name
        """Turned at the diagonal."""
        return self.transpose()

    @property
    def nnz(self):
        """How many entries are stored."""
        return self.data.shape[0]

    @property
    def dtype(self):
        """Of the entries."""
        return self.data.dtype

    @property
    def ndim(self):
        """Two."""
        return 2

    def transpose(self):
        """Turned at the diagonal."""
        data, row, col = self.entries()
        form = {"csr": "csc", "csc": "csr"}.get(self.form, self.form)
        return of_format(form, self.matrix, data, col, row, (self.shape[1], self.shape[0]))

    def toarray(self):
        """As a dense matrix."""
        return spread(*self.entries(), self.shape)

    def todense(self):
        """As a dense matrix, of NumPy's class of matrices where this is of SciPy's."""
        return np.asmatrix(self.toarray()) if self.matrix else self.toarray()

    def tocoo(self, copy=False):
        """By rows and columns of entries."""
        return of_format("coo", self.matrix, *self.entries(), self.shape)

    def tocsr(self, copy=False):
        """Compressed rows."""
        return of_format("csr", self.matrix, *self.entries(), self.shape)

    def tocsc(self, copy=False):
        """Compressed columns."""
        return of_format("csc", self.matrix, *self.entries(), self.shape)

    def tolil(self, copy=False):
        """For assignments."""
        return of_format("lil", self.matrix, *self.entries(), self.shape)

    def todok(self, copy=False):
        """For assignments."""
        return of_format("dok", self.matrix, *self.entries(), self.shape)

    def todia(self, copy=False):
        """By diagonals."""
        return of_format("dia", self.matrix, *self.entries(), self.shape)

    def asformat(self, format, copy=False):  # noqa: A002 - SciPy's name
        """In another format."""
        if format is None or format == self.form:
            return self
        return of_format(format, self.matrix, *self.entries(), self.shape)

    def copy(self):
        """Another one."""
        return self.like(self.entries()[0].copy())

    def conj(self):
        """Of conjugate entries."""
        return self.like(np.conjugate(self.entries()[0]))

    def conjugate(self):
        """Its entries' complex conjugates."""
        return self.conj()

    def dot(self, other):
        """The product with a vector or matrix."""
        return self @ other

    def __matmul__(self, other):
        if is_sparse(other):
            return product(self, other)
        x = np.asarray(other)
        if x.shape[0] != self.shape[1]:
            raise ValueError("matmul: dimension mismatch with signature (n,k=),(k=,m)->(n,m)")
        return self.times(x)

    def __rmatmul__(self, other):
        x = np.transpose(np.asarray(other))
        if x.shape[0] != self.shape[0]:
            raise ValueError("matmul: dimension mismatch with signature (n,k=),(k=,m)->(n,m)")
        return np.transpose(self.times_turned(x))

    def times(self, x):
        """The product with a vector, or with columns."""
        data, row, col = self.entries()
        return times(data, row, col, self.shape[0], x)

    def times_turned(self, x):
        """The product of the transpose."""
        data, row, col = self.entries()
        return times(data, col, row, self.shape[1], x)

    def __mul__(self, other):
        if not is_sparse(other) and np.ndim(other) == 0:
            return self.like(self.entries()[0] * other)
        return self @ other if self.matrix else self.multiply(other)

    def __rmul__(self, other):
        if np.ndim(other) == 0:
            return self.like(self.entries()[0] * other)
        return self.__rmatmul__(other) if self.matrix else self.multiply(other)

    def __truediv__(self, other):
        if is_sparse(other) or np.ndim(other) != 0:
            raise NotImplementedError("quotients of sparse matrices by anything but numbers: divide .data")
        return self.like(self.entries()[0] / other)

    def __neg__(self):
        return self.like(-self.entries()[0])

    def __add__(self, other):
        return added(self, other, 1.0)

    def __radd__(self, other):
        return added(self, other, 1.0)

    def __sub__(self, other):
        return added(self, other, -1.0)

    def __rsub__(self, other):
        return added(-self, other, 1.0)

    def multiply(self, other):
        """Products of elements with a number, a vector for all rows, or a dense matrix."""
        if is_sparse(other):
            raise NotImplementedError("element-wise products of two sparse matrices: multiply their .data")
        if np.ndim(other) == 0:
            return self.like(self.entries()[0] * other)
        data, row, col = self.entries()
        dense = np.broadcast_to(np.asarray(other), self.shape)
        form = self.form if self.form == "csc" else ("csr" if not self.matrix or self.form == "csr" else "coo")
        return of_format(form, self.matrix, data * dense[row, col], row, col, self.shape)

    def power(self, n, dtype=None):
        """Powers of elements."""
        without_dtype(dtype)
        return self.like(self.entries()[0] ** n)

    def sum(self, axis=None, dtype=None, out=None):
        """The sum of all elements, or along an axis: a row or column of a matrix."""
        without_dtype(dtype)
        if out is not None:
            raise NotImplementedError("sum(out=...) of a sparse matrix: assign the result")
        data, row, col = self.entries()
        if axis is None:
            return np.sum(data)
        axis = one_axis(axis, 2)
        out = np.zeros(self.shape[1 - axis], data.dtype)
        np.add.at(out, col if axis == 0 else row, data)
        if self.matrix:
            return np.asmatrix(out) if axis == 0 else np.asmatrix(out).T
        return out

    def mean(self, axis=None, dtype=None, out=None):
        """The mean of all elements, or along an axis."""
        total = self.sum(axis, dtype, out)
        return total / (self.shape[0] * self.shape[1] if axis is None else self.shape[one_axis(axis, 2)])

    def diagonal(self, k=0):
        """A diagonal."""
        data, row, col = self.entries()
        height, width = self.shape
        out = np.zeros(max(min(height + min(k, 0), width - max(k, 0)), 0), data.dtype)
        for j in range(data.shape[0]):
            if col[j] - row[j] == k:
                out[row[j] + min(k, 0)] += data[j]
        return out

    def trace(self, offset=0):
        """The sum of a diagonal."""
        return np.sum(self.diagonal(offset))


def added(a, b, sign):
    """The sum of two matrices."""
    if not is_sparse(b):
        b = np.asarray(b)
        if b.ndim == 0:
            raise NotImplementedError("adding a nonzero scalar to a sparse matrix is not supported")
        return a.toarray() + sign * b
    if a.shape[0] != b.shape[0] or a.shape[1] != b.shape[1]:
        raise ValueError("inconsistent shapes")
    one, two = a.entries(), b.entries()
    data = np.concatenate((one[0], sign * two[0]))
    row, col = np.concatenate((one[1], two[1])), np.concatenate((one[2], two[2]))
    return of_format("csc" if a.form == "csc" else "csr", a.matrix, data, row, col, a.shape)


def product(a, b):
    """The product of two sparse matrices: each entry of the first with a row of the second."""
    if a.shape[1] != b.shape[0]:
        raise ValueError("matmul: dimension mismatch with signature (n,k=),(k=,m)->(n,m)")
    data, row, col = a.entries()
    other = of_format("csr", b.matrix, *b.entries(), b.shape)
    starts = other.indptr
    lengths = starts[col + 1] - starts[col]
    ends = np.cumsum(lengths)
    total = int(np.sum(lengths))
    left = np.repeat(np.arange(data.shape[0]), lengths)
    right = np.arange(total) - np.repeat(ends - lengths, lengths) + np.repeat(starts[col], lengths)
    values = data[left] * other.data[right]
    return of_format(
        "csc" if a.form == "csc" else "csr", a.matrix, values, row[left], other.indices[right],
        (a.shape[0], b.shape[1]),
    )  # fmt: skip


class Coordinates(Sparse):
    """Entries by rows and columns."""

    form = "coo"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        data, self.row, self.col, self.shape = parts(arg1, shape)
        self.data = of_dtype(data, dtype)

    @property
    def coords(self):
        """Rows and columns."""
        return self.row, self.col


class Compressed(Sparse):
    """Entries in the order of rows, or of columns."""

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if isinstance(arg1, tuple) and len(arg1) == 3:
            data, indices, indptr = arg1
            self.data = of_dtype(np.asarray(data), dtype)
            self.indices, self.indptr = positions(indices), positions(indptr)
            width = np.max(self.indices, initial=-1) + 1 if shape is None else 0
            outer = self.indptr.shape[0] - 1
            self.shape = shape if shape is not None else ((outer, width) if self.form == "csr" else (width, outer))
        else:
            data, row, col, self.shape = parts(arg1, shape)
            data = of_dtype(data, dtype)
            if self.form == "csr":
                self.data, outer, self.indices = summed(data, row, col, self.shape[1])
            else:
                self.data, outer, self.indices = summed(data, col, row, self.shape[0])
            self.indptr = pointers(outer, self.shape[0] if self.form == "csr" else self.shape[1])

    def entries(self):
        """Values, rows and columns of entries."""
        outer = np.repeat(np.arange(self.indptr.shape[0] - 1), np.diff(self.indptr))
        return (self.data, outer, self.indices) if self.form == "csr" else (self.data, self.indices, outer)

    def __getitem__(self, place):
        rows, cols = rows_and_columns(place)
        height, width = self.shape[0], self.shape[1]
        block, one = is_block(rows, cols), (is_one(rows), is_one(cols))
        row, col = chosen(rows, height), chosen(cols, width)
        if all(one) or (not block and is_array(rows) and is_array(cols)):
            row, col = row + np.zeros_like(col), col + np.zeros_like(row)
            outer, inner = (row, col) if self.form == "csr" else (col, row)
            found = elements(self.data, self.indices, self.indptr, outer, inner)
            return found[0] if all(one) else np.asmatrix(found) if self.matrix else found
        if any(one) and not self.matrix:
            raise NotImplementedError("a row or column of a sparse array, as a vector: take A[[k]], or toarray()[k]")
        data, new, at = in_rows(*self.entries(), height, row)
        data, at, new = in_rows(data, at, new, width, col)
        return of_format(self.form, self.matrix, data, new, at, (row.shape[0], col.shape[0]))

    def getrow(self, i):
        """A row, as a matrix of one."""
        if not self.matrix:
            raise AttributeError("getrow")
        return self[[i], :].tocsr()

    def getcol(self, j):
        """A column, as a matrix of one."""
        if not self.matrix:
            raise AttributeError("getcol")
        return self[:, [j]].tocsr() if self.form == "csr" else self[:, [j]]

    def times(self, x):
        """The product with a vector, or with columns."""
        product_of = by_rows if self.form == "csr" else by_columns
        return product_of(self.data, self.indices, self.indptr, self.shape[0], x)

    def times_turned(self, x):
        """The product of the transpose."""
        product_of = by_columns if self.form == "csr" else by_rows
        return product_of(self.data, self.indices, self.indptr, self.shape[1], x)

    def like(self, data):
        """Another one, of other entries at the same places."""
        given = (data, self.indices, self.indptr)
        if self.form == "csr":
            return CsrMatrix(given, self.shape) if self.matrix else CsrArray(given, self.shape)
        return CscMatrix(given, self.shape) if self.matrix else CscArray(given, self.shape)


def parts(arg1, shape):
    """Entries, and the shape, of what a matrix is made of."""
    if is_sparse(arg1):
        return (*arg1.entries(), arg1.shape)
    if isinstance(arg1, tuple) and len(arg1) == 2 and not isinstance(arg1[1], tuple | list) and np.ndim(arg1[1]) == 0:
        none = np.zeros(0, np.int64)
        return np.zeros(0), none, none, arg1
    if isinstance(arg1, tuple) and len(arg1) == 2:
        data, (row, col) = arg1
        data, row, col = as_float(np.asarray(data)), positions(row), positions(col)
        if shape is None:
            shape = (int(np.max(row)) + 1, int(np.max(col)) + 1)
        return data, row, col, shape
    dense = as_float(np.asarray(arg1))
    if dense.ndim != 2:
        raise NotImplementedError("sparse matrices of vectors: give v[None, :] or v[:, None]")
    row, col = np.nonzero(dense)
    return dense[row, col], row, col, dense.shape


@implements(scipy.sparse.coo_matrix)
class CooMatrix(Coordinates):
    """Entries by rows and columns."""

    stands_for = scipy.sparse.coo_matrix
    matrix = True


@implements(scipy.sparse.coo_array)
class CooArray(Coordinates):
    """Entries by rows and columns."""

    stands_for = scipy.sparse.coo_array


@implements(scipy.sparse.csr_matrix)
class CsrMatrix(Compressed):
    """Compressed rows."""

    stands_for = scipy.sparse.csr_matrix
    matrix, form = True, "csr"


@implements(scipy.sparse.csr_array)
class CsrArray(Compressed):
    """Compressed rows."""

    stands_for = scipy.sparse.csr_array
    form = "csr"


@implements(scipy.sparse.csc_matrix)
class CscMatrix(Compressed):
    """Compressed columns."""

    stands_for = scipy.sparse.csc_matrix
    matrix, form = True, "csc"


@implements(scipy.sparse.csc_array)
class CscArray(Compressed):
    """Compressed columns."""

    stands_for = scipy.sparse.csc_array
    form = "csc"


FORMATS = {
    ("coo", True): CooMatrix, ("coo", False): CooArray, ("csr", True): CsrMatrix, ("csr", False): CsrArray,
    ("csc", True): CscMatrix, ("csc", False): CscArray,
}  # fmt: skip


def of_format(form, matrix, data, row, col, shape):
    """A matrix of one of the formats, by its entries."""
    if (form, matrix) not in FORMATS:
        raise NotImplementedError(f"sparse matrices of format {form!r}: use 'csr', 'csc', 'coo', 'dia', 'lil' or 'dok'")
    return FORMATS[form, matrix]((data, (row, col)), shape)
