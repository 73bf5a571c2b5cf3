"""Parts of sparse matrices: which elements an index takes, and the entries that stand there."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import numpy as np


def rows_and_columns(place):
    """The two indices that an index is made of."""
    if not isinstance(place, tuple):
        return place, slice(None)
    if len(place) != 2 or place[0] is Ellipsis or place[1] is Ellipsis:
        raise NotImplementedError("sparse matrices by anything but rows and columns: write A[rows, cols]")
    return place


def is_one(index):
    """Whether an index takes one row, or column."""
    return not isinstance(index, slice) and np.ndim(index) == 0


def is_array(index):
    """Whether an index is one of several numbers, or a mask."""
    return not isinstance(index, slice) and np.ndim(index) > 0


def is_block(rows, cols):
    """Whether these are a column of rows beside a row of columns, as `np.ix_` makes them: every pair is meant."""
    if not (is_array(rows) and is_array(cols)) or (np.ndim(rows) == 1 and np.ndim(cols) == 1):
        return False
    rows, cols = np.asarray(rows), np.asarray(cols)
    if rows.ndim != 2 or rows.shape[1] != 1 or cols.ndim > 2 or (cols.ndim == 2 and cols.shape[0] != 1):
        raise NotImplementedError(
            "elements of a sparse matrix by tables of rows and columns: take toarray()[rows, cols]"
        )
    return True


def chosen(index, count):
    """Which rows, or columns, an index takes."""
    numbers = np.arange(count)
    if isinstance(index, slice):
        return numbers[index]
    if np.ndim(index) == 0:
        return np.array([numbers[index]])
    index = np.asarray(index)
    return numbers[np.ravel(index) if index.ndim == 2 else index]


def in_rows(data, row, col, count, taken):
    """The entries of the rows that are taken, each as often as it is, with their new rows."""
    order = np.argsort(row, kind="stable")
    lengths = np.bincount(row, minlength=count)
    starts = np.cumsum(lengths) - lengths
    each = lengths[taken]
    new = np.repeat(np.arange(taken.shape[0]), each)
    within = np.arange(new.shape[0]) - np.repeat(np.cumsum(each) - each, each)
    at = order[np.repeat(starts[taken], each) + within]
    return data[at], new, col[at]


def elements(data, indices, indptr, outer, inner):
    """Single elements of compressed rows: those of entries that stand there, added up."""
    out = np.zeros(outer.shape[0], data.dtype)
    for n in range(outer.shape[0]):
        for k in range(indptr[outer[n]], indptr[outer[n] + 1]):
            if indices[k] == inner[n]:
                out[n] += data[k]
    return out
