"""Functions of `scipy.sparse` that make matrices: diagonals, blocks, products of Kronecker's."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOptionalSubscript=false, reportOptionalMemberAccess=false

from __future__ import annotations

import numpy as np
import scipy.sparse

from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.library.sparse.forms import DiaMatrix
from diffjit.primitives.library.sparse.matrices import is_sparse, of_dtype, of_format, parts
from diffjit.primitives.library.sparse.storage import summed
from diffjit.primitives.registry import implements


def along_diagonals(diagonals, offsets, shape, form, matrix, dtype):
    """A matrix of diagonals."""
    if isinstance(offsets, int):
        offsets = (offsets,)
        diagonals = (diagonals,) if np.ndim(diagonals[0]) == 0 else diagonals
    given = [np.atleast_1d(as_float(np.asarray(d))) for d in diagonals]
    if len(given) != len(offsets):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        n = given[0].shape[0] + abs(offsets[0])
        shape = (n, n)
    height, width = shape
    data, row, col = [], [], []
    for k in places(len(given)):
        offset, d = offsets[k], given[k]
        first, last = max(-offset, 0), max(offset, 0)
        length = min(height - first, width - last)
        if d.shape[0] != length and d.shape[0] != 1:
            raise ValueError(f"Diagonal length (index {k}) does not agree with array size")
        data.append(d + np.zeros(length))
        row.append(np.arange(length) + first)
        col.append(np.arange(length) + last)
    values = of_dtype(np.concatenate(data), dtype), np.concatenate(row), np.concatenate(col)
    return of_format("coo" if form is None or form == "dia" else form, matrix, *values, shape)


@implements(scipy.sparse.diags)
def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002 - SciPy's name
    """A matrix of diagonals."""
    return along_diagonals(diagonals, offsets, shape, format, True, dtype)


@implements(scipy.sparse.diags_array)
def diags_array(diagonals, /, *, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    """An array of diagonals."""
    return along_diagonals(diagonals, offsets, shape, format, False, dtype)


@implements(scipy.sparse.eye)
def eye(m, n=None, k=0, dtype=float, format=None):  # noqa: A002
    """Ones along a diagonal."""
    return along_diagonals((1.0,), (k,), (m, m if n is None else n), format, True, dtype)


@implements(scipy.sparse.identity)
def identity(n, dtype="d", format=None):  # noqa: A002
    """Ones along the diagonal."""
    return along_diagonals((1.0,), (0,), (n, n), format, True, dtype)


@implements(scipy.sparse.eye_array)
def eye_array(m, n=None, *, k=0, dtype=float, format=None):  # noqa: A002
    """Ones along a diagonal."""
    return along_diagonals((1.0,), (k,), (m, m if n is None else n), format, False, dtype)


def matrix_of(a):
    """A sparse matrix, of a dense one where it is not."""
    return a if is_sparse(a) else of_format("coo", True, *parts(a, None))


@implements(scipy.sparse.kron)
def kron(A, B, format=None):  # noqa: A002
    """Kronecker's product."""
    a, b = matrix_of(A), matrix_of(B)
    one, two = a.entries(), b.entries()
    data = np.ravel(one[0][:, None] * two[0][None, :])
    row = np.ravel(one[1][:, None] * b.shape[0] + two[1][None, :])
    col = np.ravel(one[2][:, None] * b.shape[1] + two[2][None, :])
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    return of_format("coo" if format is None else format, a.matrix and b.matrix, data, row, col, shape)


def stacked(blocks, form, down, dtype):
    """Matrices below or beside each other."""
    data, row, col, at = [], [], [], 0
    blocks = [matrix_of(b) for b in blocks]
    for b in blocks:
        values, rows, columns = b.entries()
        data.append(values)
        row.append(rows + at if down else rows)
        col.append(columns if down else columns + at)
        at = at + (b.shape[0] if down else b.shape[1])
    shape = (at, blocks[0].shape[1]) if down else (blocks[0].shape[0], at)
    values = of_dtype(np.concatenate(data), dtype), np.concatenate(row), np.concatenate(col)
    matrix = all(b.matrix for b in blocks)
    return of_format(("csr" if down else "coo") if form is None else form, matrix, *values, shape)


@implements(scipy.sparse.vstack)
def vstack(blocks, format=None, dtype=None):  # noqa: A002
    """Matrices below each other."""
    return stacked(blocks, format, True, dtype)


@implements(scipy.sparse.hstack)
def hstack(blocks, format=None, dtype=None):  # noqa: A002
    """Matrices beside each other."""
    return stacked(blocks, "csr" if format is None else format, False, dtype)


@implements(scipy.sparse.issparse)
def issparse(x):
    """Whether something is a sparse matrix."""
    return is_sparse(x)


# Blocks, triangles and places ----------------------------------------------------------------------------------------


@implements(scipy.sparse.block_diag)
def block_diag(mats, format=None, dtype=None):  # noqa: A002
    """Matrices along the diagonal."""
    data, row, col, height, width = [], [], [], 0, 0
    blocks = [matrix_of(np.atleast_2d(np.asarray(m)) if not is_sparse(m) else m) for m in mats]
    for b in blocks:
        values, rows, columns = b.entries()
        data.append(values)
        row.append(rows + height)
        col.append(columns + width)
        height, width = height + b.shape[0], width + b.shape[1]
    values = of_dtype(np.concatenate(data), dtype), np.concatenate(row), np.concatenate(col)
    matrix = all(b.matrix for b in blocks)
    return of_format("coo" if format is None else format, matrix, *values, (height, width))


def of_blocks(blocks, form, matrix, dtype):
    """A matrix of rows of blocks, of which some are None."""
    rows = [[None if b is None else matrix_of(b) for b in row] for row in blocks]
    count, wide = len(rows), len(rows[0])
    heights, widths = [0] * count, [0] * wide
    for i in places(count):
        for j in places(wide):
            if rows[i][j] is not None:
                heights[i], widths[j] = rows[i][j].shape
    data, row, col, down = [], [], [], 0
    for i in places(count):
        across = 0
        for j in places(wide):
            if rows[i][j] is not None:
                if rows[i][j].shape[0] != heights[i] or rows[i][j].shape[1] != widths[j]:
                    raise ValueError("blocks of one row have other heights, or of one column other widths")
                values, r, c = rows[i][j].entries()
                data.append(values)
                row.append(r + down)
                col.append(c + across)
            across = across + widths[j]
        down = down + heights[i]
    values = of_dtype(np.concatenate(data), dtype), np.concatenate(row), np.concatenate(col)
    return of_format("coo" if form is None else form, matrix, *values, (down, across))


@implements(scipy.sparse.bmat)
def bmat(blocks, format=None, dtype=None):  # noqa: A002
    """A matrix of blocks."""
    arrays = any(is_sparse(b) and not b.matrix for row in blocks for b in row if b is not None)
    return of_blocks(blocks, format, not arrays, dtype)


@implements(scipy.sparse.block_array)
def block_array(blocks, *, format=None, dtype=None):  # noqa: A002
    """An array of blocks."""
    return of_blocks(blocks, format, False, dtype)


def triangle(a, keeps, form):
    """The entries on one side of a diagonal."""
    a = matrix_of(a)
    data, row, col = a.entries()
    kept = np.flatnonzero(keeps(row.astype(np.int64), col.astype(np.int64)))
    return of_format("coo" if form is None else form, a.matrix, data[kept], row[kept], col[kept], a.shape)


@implements(scipy.sparse.triu)
def triu(A, k=0, format=None):  # noqa: A002
    """The entries on and above a diagonal."""
    return triangle(A, lambda row, col: col - row >= k, format)


@implements(scipy.sparse.tril)
def tril(A, k=0, format=None):  # noqa: A002
    """The entries on and below a diagonal."""
    return triangle(A, lambda row, col: col - row <= k, format)


@implements(scipy.sparse.find)
def find(A):
    """Rows, columns and values of the entries that are not zero, row by row."""
    data, row, col = matrix_of(A).entries()
    values, rows, columns = summed(data, row, col, A.shape[1])
    kept = np.flatnonzero(values)
    return rows[kept], columns[kept], values[kept]


@implements(scipy.sparse.spdiags)
def spdiags(data, diags, m=None, n=None, format=None):  # noqa: A002
    """A matrix of diagonals that stand in the columns of data."""
    height, width = (data.shape[1], data.shape[1]) if m is None else (m, n)
    if isinstance(m, tuple):
        height, width = m
    made = DiaMatrix((data, diags), (height, width))
    return made if format is None or format == "dia" else of_format(format, True, *made.entries(), made.shape)


@implements(scipy.sparse.kronsum)
def kronsum(A, B, format=None):  # noqa: A002
    """Kronecker's sum: each matrix along the other one's axis."""
    a, b = matrix_of(A), matrix_of(B)
    if a.shape[0] != a.shape[1] or b.shape[0] != b.shape[1]:
        raise ValueError("A is not square" if a.shape[0] != a.shape[1] else "B is not square")
    one, two = (along_diagonals((1.0,), (0,), m.shape, None, m.matrix, None) for m in (b, a))
    total = kron(one, a) + kron(b, two)
    return total.tocoo() if format is None else total.asformat(format)


@implements(scipy.sparse.isspmatrix)
def isspmatrix(x):
    """Whether something is one of SciPy's matrices, not an array."""
    return is_sparse(x) and x.matrix
