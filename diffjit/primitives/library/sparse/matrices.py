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
from diffjit.primitives.library.sparse.shared import COPIES, TURNED, Shared
from diffjit.primitives.library.sparse.storage import (
    multiplied,
    paired,
    pointers,
    positions,
    rows_of,
    summed,
)
from diffjit.primitives.registry import implements


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


class Sparse(Shared, Entrywise):
    """What all of them can do, by rows and columns of entries."""

    matrix = False  # whether `*` is a product of matrices

    def entries(self):
        """Values, rows and columns of entries."""
        return self.data, self.row, self.col

    def like(self, data):
        """Another one, of other entries at the same places."""
        _, row, col = self.entries()
        return of_format(self.form, self.matrix, data, row, col, self.shape)

    def made(self, form, data, row, col, shape):
        """One in a format, of SciPy's matrices or arrays as this is."""
        return of_format(form, self.matrix, data, row, col, shape)

    def compressed(self):
        """By columns where it is so already, else by rows."""
        return self.tocsc() if self.form == "csc" else self.tocsr()

    def is_number(self, other):
        """Whether something multiplies all entries."""
        return not is_sparse(other) and np.ndim(other) == 0

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

    def toarray(self):
        """As a dense matrix."""
        return spread(*self.entries(), self.shape)

    def todense(self):
        """As a dense matrix, of NumPy's class of matrices where this is of SciPy's."""
        return np.matrixlib.asmatrix(self.toarray()) if self.matrix else self.toarray()

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
        if self.is_number(other):
            return self.like(self.entries()[0] * other)
        return self @ other if self.matrix else self.multiply(other)

    def __rmul__(self, other):
        if self.is_number(other):
            return self.like(self.entries()[0] * other)
        return self.__rmatmul__(other) if self.matrix else self.multiply(other)

    def __truediv__(self, other):
        if is_sparse(other):
            raise NotImplementedError("quotients of two sparse matrices: divide the elements of .toarray()")
        if not self.is_number(other):
            return self.multiply(1 / np.asarray(other))
        data = self.entries()[0]
        return self.like((data if data.dtype.kind == "c" else data.astype(float)) * (1 / other))

    def __neg__(self):
        return self.like(-self.entries()[0])

    def __pow__(self, n):
        return matrix_power(self, n) if self.matrix else self.power(n)

    def __add__(self, other):
        return added(self, other, 1.0)

    def __radd__(self, other):
        return added(self, other, 1.0)

    def __sub__(self, other):
        return added(self, other, -1.0)

    def __rsub__(self, other):
        return added(-self, other, 1.0)

    def multiply(self, other):
        """Products of elements with a number, another sparse matrix, a vector for all rows, or a dense matrix."""
        if is_sparse(other):
            return by_elements(self, other)
        if np.ndim(other) == 0:
            return self.like(self.entries()[0] * other)
        data, row, col = self.entries()
        dense = np.broadcast_to(np.asarray(other), self.shape)
        form = self.form if self.form == "csc" else ("csr" if not self.matrix or self.form == "csr" else "coo")
        return self.made(form, data * dense[row, col], row, col, self.shape)

    def maximum(self, other):
        """The greater of each two elements."""
        return bounded(self, other, np.maximum)

    def minimum(self, other):
        """The smaller of each two elements."""
        return bounded(self, other, np.minimum)

    def power(self, n, dtype=None):
        """Powers of elements."""
        without_dtype(dtype)
        if n == 0:
            raise NotImplementedError("zero power is not supported as it would densify the matrix")
        return self.of_sums(lambda data: data**n)

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
            return np.matrixlib.asmatrix(out) if axis == 0 else np.matrixlib.asmatrix(out).T
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
            if b == 0:
                return a.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse matrix is not supported")
        return a.toarray() + sign * b
    one, two, _, outer, inner = pair_of(a, b)
    return of_order(a, one + sign * two, outer, inner, a.shape)


def pair_of(a, b):
    """Two matrices of one shape by the places of either (`paired`), compressed as the first is."""
    if a.shape[0] != b.shape[0] or a.shape[1] != b.shape[1]:
        raise ValueError("inconsistent shapes")
    a = a.compressed()
    b = b.asformat(a.form)
    return paired(a.stored(), b.stored(), a.shape[1] if a.form == "csr" else a.shape[0])


def of_order(a, data, outer, inner, shape):
    """A matrix compressed as another one is, of entries in the order given."""
    form = "csc" if a.form == "csc" else "csr"
    given = (data, inner, pointers(outer, shape[0] if form == "csr" else shape[1]))
    return FORMATS[form, a.matrix](given, shape)


def by_elements(a, b):
    """Products of elements: of those that both have."""
    if a.shape[0] != b.shape[0] or a.shape[1] != b.shape[1]:
        raise NotImplementedError("products of elements of sparse matrices of unlike shapes: use b.toarray()")
    one, two, there, outer, inner = pair_of(a, b)
    kept = np.flatnonzero(there[0] & there[1])
    return of_order(a, one[kept] * two[kept], outer[kept], inner[kept], a.shape)


def bounded(a, b, function):
    """The greater or smaller of each two elements."""
    if not is_sparse(b):
        if np.ndim(b) != 0:
            return function(a.toarray(), np.asarray(b))
        if function(0.0, b) != 0.0:
            raise NotImplementedError("what makes all elements of a sparse matrix different from zero: use .toarray()")
        a = a.compressed()
        data, outer, inner = summed(a.data, rows_of(a.indptr), a.indices, a.shape[1] if a.form == "csr" else a.shape[0])
        return without_zeros(a, function(data, b), outer, inner)
    one, two, _, outer, inner = pair_of(a, b)
    return without_zeros(a, function(one, two), outer, inner)


def without_zeros(a, data, outer, inner):
    """Compressed as another one is, without what is as zero as an entry that is not there."""
    kept = np.flatnonzero(data)
    return of_order(a, data[kept], outer[kept], inner[kept], a.shape)


def product(a, b):
    """The product of two sparse matrices: each entry of the first with a row of the second, or the other way round."""
    if a.shape[1] != b.shape[0]:
        raise ValueError("matmul: dimension mismatch with signature (n,k=),(k=,m)->(n,m)")
    shape = (a.shape[0], b.shape[1])
    if a.form == "csc":
        return of_order(a, *multiplied(b.tocsc().stored(), a.stored(), shape[0]), shape)
    return of_order(a, *multiplied(a.tocsr().stored(), b.tocsr().stored(), shape[1]), shape)


def matrix_power(a, n):
    """A matrix times itself, by halves as SciPy does it."""
    if a.shape[0] != a.shape[1]:
        raise TypeError("sparse matrix is not square")
    if n < 0:
        raise ValueError("exponent must be >= 0")
    if n == 0:
        along = np.arange(a.shape[0])
        return of_format("dia", True, np.ones(a.shape[0]), along, along, a.shape)
    if n == 1:
        return a.copy()
    half = matrix_power(a, n // 2)
    return a @ half @ half if n % 2 else half @ half


class Coordinates(Sparse):
    """Entries by rows and columns."""

    form = "coo"

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        data, self.row, self.col, self.shape = parts(arg1, shape)
        self.data = of_dtype(data.copy() if copy else data, dtype)

    @property
    def coords(self):
        """Rows and columns."""
        return self.row, self.col


class Compressed(Sparse):
    """Entries in the order of rows, or of columns."""

    def __init__(self, arg1, shape=None, dtype=None, copy=False):
        if isinstance(arg1, tuple) and len(arg1) == 3:
            data, indices, indptr = arg1
            data, self.indices, self.indptr = np.asarray(data), positions(indices), positions(indptr)
            width = np.max(self.indices, initial=-1) + 1 if shape is None else 0
            outer = self.indptr.shape[0] - 1
            self.shape = shape if shape is not None else ((outer, width) if self.form == "csr" else (width, outer))
        elif is_sparse(arg1):
            given = arg1.asformat(self.form)
            data, self.indices, self.indptr, self.shape = given.data, given.indices, given.indptr, given.shape
        else:
            data, row, col, self.shape = parts(arg1, shape)
            data = of_dtype(data, dtype)
            if self.form == "csr":
                data, outer, self.indices = summed(data, row, col, self.shape[1])
            else:
                data, outer, self.indices = summed(data, col, row, self.shape[0])
            self.indptr = pointers(outer, self.shape[0] if self.form == "csr" else self.shape[1])
        self.data = of_dtype(data.copy() if copy else data, dtype)

    def stored(self):
        """Entries, and where they stand."""
        return self.data, self.indices, self.indptr

    def entries(self):
        """Values, rows and columns of entries."""
        outer = rows_of(self.indptr)
        return (self.data, outer, self.indices) if self.form == "csr" else (self.data, self.indices, outer)

    def tocoo(self, copy=None):
        """By rows and columns of entries."""
        return self.asformat("coo", COPIES[self.form] if copy is None else copy)

    def asformat(self, format, copy=False):  # noqa: A002 - SciPy's name
        """In another format; itself in its own."""
        if format is None or format == self.form:
            return self.copy() if copy else self
        if format == "coo":
            data, row, col = self.entries()
            return self.made("coo", data.copy() if copy else data, row, col, self.shape)
        if format != TURNED[self.form]:
            return self.converted(format)
        order = np.argsort(self.indices, kind="stable")
        count = self.shape[0] if format == "csr" else self.shape[1]
        given = (self.data[order], rows_of(self.indptr)[order], pointers(self.indices, count))
        return FORMATS[format, self.matrix](given, self.shape)

    def turned(self):
        """Turned at the diagonal, of the same entries."""
        given = (self.data, self.indices, self.indptr)
        return FORMATS[TURNED[self.form], self.matrix](given, (self.shape[1], self.shape[0]))

    def __getitem__(self, place):
        rows, cols = rows_and_columns(place)
        height, width = self.shape[0], self.shape[1]
        block, one = is_block(rows, cols), (is_one(rows), is_one(cols))
        row, col = chosen(rows, height), chosen(cols, width)
        if all(one) or (not block and is_array(rows) and is_array(cols)):
            row, col = row + np.zeros_like(col), col + np.zeros_like(row)
            outer, inner = (row, col) if self.form == "csr" else (col, row)
            found = elements(self.data, self.indices, self.indptr, outer, inner)
            return found[0] if all(one) else np.matrixlib.asmatrix(found) if self.matrix else found
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
        return FORMATS[self.form, self.matrix]((data, self.indices, self.indptr), self.shape)


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
