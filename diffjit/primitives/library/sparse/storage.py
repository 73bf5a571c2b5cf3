"""How entries of sparse matrices stand in memory: in order, compressed, and in the order that SciPy's loops leave.

Places are constant; what stands there moves with its place, so that it has its derivative.
"""

# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np


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
    kept = key[first]
    return collected(data, np.cumsum(first) - 1, kept.shape[0]), kept // width, kept % width


def pointers(places, count):
    """Where the entries of each row begin, of rows in order."""
    starts = np.zeros(count + 1, np.int64)
    starts[1:] = np.cumsum(np.bincount(places, minlength=count))
    return starts


def rows_of(indptr):
    """The row of each entry."""
    return np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))


def in_order(indptr, indices):
    """Whether each row's entries stand in order, at most one at each place: what SciPy calls canonical."""
    outer = rows_of(indptr)
    return bool(np.all((outer[1:] > outer[:-1]) | (indices[1:] > indices[:-1])))


def grouped(outer, inner, width, ordered):
    """Places that come one by one: the group of each, and the rows and columns of the groups.

    Where SciPy's loops note the places of a row as they come, they go through them from the last new one back;
    `ordered`: they merge rows whose places stand in order.
    """
    count = outer.shape[0]
    key = outer.astype(np.int64) * width + inner
    order = np.argsort(key, kind="stable")
    first = np.ones(count, bool)
    first[1:] = key[order][1:] != key[order][:-1]
    came = order[first]
    rank = np.where(ordered, inner[came], count - came)
    sorted_groups = np.argsort(outer[came].astype(np.int64) * (max(count, width) + 1) + rank, kind="stable")
    number = np.zeros(came.shape[0], np.int64)
    number[sorted_groups] = np.arange(came.shape[0])
    group = np.zeros(count, np.int64)
    group[order] = number[np.cumsum(first) - 1]
    came = came[sorted_groups]
    return group, outer[came], inner[came]


def collected(data, group, count):
    """The sum of each group."""
    total = np.zeros(count, data.dtype)
    np.add.at(total, group, data)
    return total


def paired(one, two, width):
    """Two compressed matrices by the places of either: what each has there, whether it has, and rows and columns."""
    data, indices, indptr = one
    other, at, starts = two
    count, ordered = data.shape[0], in_order(indptr, indices) and in_order(starts, at)
    outer, inner = np.concatenate((rows_of(indptr), rows_of(starts))), np.concatenate((indices, at))
    group, outer, inner = grouped(outer, inner, width, ordered)
    total = outer.shape[0]
    there = np.zeros((2, total), bool)
    there[0, group[:count]] = True
    there[1, group[count:]] = True
    return collected(data, group[:count], total), collected(other, group[count:], total), there, outer, inner


def multiplied(one, two, width):
    """The product of compressed rows: each entry of the first with a row of the second."""
    data, indices, indptr = one
    other, at, starts = two
    lengths = starts[indices + 1] - starts[indices]
    ends = np.cumsum(lengths)
    total = int(np.sum(lengths))
    left = np.repeat(np.arange(data.shape[0]), lengths)
    right = np.arange(total) - np.repeat(ends - lengths, lengths) + np.repeat(starts[indices], lengths)
    group, outer, inner = grouped(rows_of(indptr)[left], at[right], width, False)
    return collected(data[left] * other[right], group, outer.shape[0]), outer, inner
