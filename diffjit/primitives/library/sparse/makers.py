"""Functions of `scipy.sparse` that make matrices: diagonals, blocks, products of Kronecker's."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse

from diffjit.primitives.library.axes import as_float, places
from diffjit.primitives.library.sparse.matrices import is_sparse, of_format, parts, without_dtype
from diffjit.primitives.registry import implements


def along_diagonals(diagonals, offsets, shape, form, matrix):
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
    values = np.concatenate(data), np.concatenate(row), np.concatenate(col)
    return of_format("coo" if form is None or form == "dia" else form, matrix, *values, shape)


@implements(scipy.sparse.diags)
def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002 - SciPy's name
    """A matrix of diagonals."""
    without_dtype(dtype)
    return along_diagonals(diagonals, offsets, shape, format, True)


@implements(scipy.sparse.diags_array)
def diags_array(diagonals, /, *, offsets=0, shape=None, format=None, dtype=None):  # noqa: A002
    """An array of diagonals."""
    without_dtype(dtype)
    return along_diagonals(diagonals, offsets, shape, format, False)


@implements(scipy.sparse.eye)
def eye(m, n=None, k=0, dtype=float, format=None):  # noqa: A002
    """Ones along a diagonal."""
    without_dtype(dtype)
    return along_diagonals((1.0,), (k,), (m, m if n is None else n), format, True)


@implements(scipy.sparse.identity)
def identity(n, dtype="d", format=None):  # noqa: A002
    """Ones along the diagonal."""
    without_dtype(dtype)
    return along_diagonals((1.0,), (0,), (n, n), format, True)


@implements(scipy.sparse.eye_array)
def eye_array(m, n=None, *, k=0, dtype=float, format=None):  # noqa: A002
    """Ones along a diagonal."""
    without_dtype(dtype)
    return along_diagonals((1.0,), (k,), (m, m if n is None else n), format, False)


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


def stacked(blocks, form, down):
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
    values = np.concatenate(data), np.concatenate(row), np.concatenate(col)
    matrix = all(b.matrix for b in blocks)
    return of_format(("csr" if down else "coo") if form is None else form, matrix, *values, shape)


@implements(scipy.sparse.vstack)
def vstack(blocks, format=None, dtype=None):  # noqa: A002
    """Matrices below each other."""
    without_dtype(dtype)
    return stacked(blocks, format, True)


@implements(scipy.sparse.hstack)
def hstack(blocks, format=None, dtype=None):  # noqa: A002
    """Matrices beside each other."""
    without_dtype(dtype)
    return stacked(blocks, "csr" if format is None else format, False)


@implements(scipy.sparse.issparse)
def issparse(x):
    """Whether something is a sparse matrix."""
    return is_sparse(x)
