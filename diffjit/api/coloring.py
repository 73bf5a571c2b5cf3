"""Colours of columns: those of one colour are evaluated together, with one direction.

`column_colors`   columns of one colour have no row in common: each row shows at most one of them
`star_colors`     of a symmetric pattern: each entry is alone in its row, or its mirror image is (fewer colours)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.api.engine.tracebacks import boundary
from diffjit.errors import InternalError, UsageError


@boundary
def column_colors(pattern: Any) -> np.ndarray:
    """A colour for each column of a sparse matrix, from 0; greedy, in the better of two orders.

    Raises UsageError (DJ521) for what is no matrix of `scipy.sparse`.
    """
    if not hasattr(pattern, "tocsc"):
        raise UsageError(
            "DJ521",
            f"a pattern is a sparse matrix, not a {type(pattern).__name__}",
            cure="give what `sparsity(f)` returns, or scipy.sparse.csr_array(...)",
        )
    by_column, by_row = pattern.tocsc(), pattern.tocsr()
    columns = np.split(by_column.indices, by_column.indptr[1:-1])
    fewest = int(np.max(np.diff(by_row.indptr), initial=0))
    weights = [int(np.sum(np.diff(by_row.indptr)[rows])) for rows in columns]
    return _better(weights, fewest, lambda order: _greedy(columns, pattern.shape[0], order))


def star_colors(pattern: Any) -> np.ndarray:
    """A colour for each column of a symmetric sparse matrix."""
    by_row = pattern.tocsr()
    neighbours = [
        [int(j) for j in row if j != i] for i, row in enumerate(np.split(by_row.indices, by_row.indptr[1:-1]))
    ]
    star = _better([len(n) for n in neighbours], 1, lambda order: _star(neighbours, order))
    plain = column_colors(pattern)
    return star if np.max(star, initial=0) < np.max(plain, initial=0) else plain


def _better(weights: Sequence[int], fewest: int, colored: Callable[[Sequence[int]], np.ndarray]) -> np.ndarray:
    """The columns as they come (best for bands), or those with the most neighbours first."""
    first = colored(range(len(weights)))
    if np.max(first, initial=-1) + 1 <= fewest:
        return first
    other = colored(sorted(range(len(weights)), key=lambda j: -weights[j]))
    return other if np.max(other, initial=-1) < np.max(first, initial=-1) else first


def _lowest(taken: int) -> int:
    """The first colour that is not in a mask."""
    return (~taken & (taken + 1)).bit_length() - 1


def _greedy(columns: Sequence[np.ndarray], rows: int, order: Sequence[int]) -> np.ndarray:
    colors = np.zeros(len(columns), np.intp)
    masks = [0] * rows  # the colours that each row shows
    for j in order:
        taken = 0
        own = columns[j].tolist()
        for i in own:
            taken |= masks[i]
        color = _lowest(taken)
        colors[j] = color
        for i in own:
            masks[i] |= 1 << color
    return colors


def _star(neighbours: Sequence[Sequence[int]], order: Sequence[int]) -> np.ndarray:
    """No edge within a colour, and no path of four with two colours (Gebremedhin, Manne and Pothen, 2005)."""
    color = [-1] * len(neighbours)
    for v in order:
        taken = 0
        for w in neighbours[v]:
            if color[w] >= 0:
                taken |= 1 << color[w]
            for x in neighbours[w]:
                if x == v or color[x] < 0 or taken >> color[x] & 1:
                    continue
                if color[w] < 0 or any(y != w and color[y] == color[w] for y in neighbours[x]):
                    taken |= 1 << color[x]
        color[v] = _lowest(taken)
    return np.array(color, np.intp)


def places(pattern: Any, colors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry of a CSR pattern stands in the compressed matrix, which has a column for each colour."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    columns = pattern.indices
    count = int(np.max(colors, initial=0)) + 1
    alone = _alone(rows, columns, colors, count)
    if alone.all():
        return rows, colors[columns]
    if pattern.shape[0] != pattern.shape[1] or not (alone | _alone(columns, rows, colors, count)).all():
        raise InternalError("DJ901", "columns of one colour meet in a row", cure="this is a mistake in diffjit")
    return np.where(alone, rows, columns), colors[np.where(alone, columns, rows)]


def _alone(rows: np.ndarray, columns: np.ndarray, colors: np.ndarray, count: int) -> np.ndarray:
    """Whether an entry's colour occurs once in its row; the pattern is symmetric where rows are given in its place."""
    _, inverse, counts = np.unique(rows * count + colors[columns], return_inverse=True, return_counts=True)
    return counts[inverse.reshape(-1)] == 1
