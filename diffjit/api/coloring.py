"""Colours of columns: those of one colour are evaluated together, with one direction.

`column_colors`   columns of one colour have no row in common: each row shows at most one of them
`star_colors`     of a symmetric pattern: each entry is alone in its row, or its mirror image is (fewer colours)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.api.engine.derived import Jitted
from diffjit.api.engine.tracebacks import boundary
from diffjit.errors import InternalError, UsageError

_BRIEF = 200_000  # steps: a shorter search is not worth compiling
_LONG = 10**9  # steps: rows that are nearly full are searched with masks


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
    counts = np.diff(by_row.indptr).astype(np.int64)
    weights = np.bincount(by_row.indices, np.repeat(counts, counts), pattern.shape[1])
    steps = int(np.sum(counts**2))
    if steps > _LONG:
        columns = np.split(by_column.indices, by_column.indptr[1:-1])
        return _better(weights, int(counts.max()), lambda order: _by_masks(columns, pattern.shape[0], order))
    search = greedy if steps < _BRIEF else _GREEDY
    given = by_column.indptr, by_column.indices, by_row.indptr, by_row.indices
    return _better(weights, int(np.max(counts, initial=0)), lambda order: search(*given, order))


def star_colors(pattern: Any) -> np.ndarray:
    """A colour for each column of a symmetric sparse matrix."""
    by_row = pattern.tocsr()
    counts = np.diff(by_row.indptr).astype(np.int64)
    alone = by_row.indices != np.repeat(np.arange(counts.size), counts)  # beside the diagonal
    starts = np.concatenate([[0], np.cumsum(alone)])[by_row.indptr]
    neighbours = by_row.indices[alone]
    search = stars if int(np.sum(counts**2)) < _BRIEF else _STARS
    star = _better(np.diff(starts), 1, lambda order: search(starts, neighbours, order))
    plain = column_colors(pattern)
    return star if np.max(star, initial=0) < np.max(plain, initial=0) else plain


def _better(weights: np.ndarray, fewest: int, colored: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The columns as they come (best for bands), or those with the most neighbours first."""
    first = colored(np.arange(weights.size))
    if np.max(first, initial=-1) + 1 <= fewest:
        return first
    other = colored(np.argsort(-weights, kind="stable"))
    return other if np.max(other, initial=-1) < np.max(first, initial=-1) else first


def greedy(tops: Any, rows: Any, lefts: Any, columns: Any, order: Any) -> Any:
    """The lowest colour that no column has which shares a row: columns of the matrix, then its rows, are compressed."""
    colors = np.full(order.size, -1, np.int64)
    taken = np.full(order.size + 1, -1, np.int64)  # the last column that could not have a colour
    for j in order:
        for place in range(tops[j], tops[j + 1]):
            i = rows[place]
            for other in range(lefts[i], lefts[i + 1]):
                color = colors[columns[other]]
                if color >= 0:
                    taken[color] = j
        color = 0
        while taken[color] == j:
            color += 1
        colors[j] = color
    return colors


def stars(starts: Any, neighbours: Any, order: Any) -> Any:
    """No edge within a colour, and no path of four with two colours (Gebremedhin, Manne and Pothen, 2005)."""
    colors = np.full(order.size, -1, np.int64)
    taken = np.full(order.size + 1, -1, np.int64)
    for v in order:
        for near in range(starts[v], starts[v + 1]):
            w = neighbours[near]
            if colors[w] >= 0:
                taken[colors[w]] = v
            for far in range(starts[w], starts[w + 1]):
                x = neighbours[far]
                color = colors[x]
                if x == v or color < 0 or taken[color] == v:
                    continue
                meets = colors[w] < 0
                for place in range(starts[x], starts[x + 1]):
                    y = neighbours[place]
                    if y != w and colors[y] == colors[w]:
                        meets = True
                if meets:
                    taken[color] = v
        color = 0
        while taken[color] == v:
            color += 1
        colors[v] = color
    return colors


_GREEDY, _STARS = Jitted(greedy, "numba"), Jitted(stars, "numba")


def _by_masks(columns: Sequence[np.ndarray], rows: int, order: np.ndarray) -> np.ndarray:
    """`greedy` with a mask of colours for each row."""
    colors = np.zeros(len(columns), np.int64)
    masks = [0] * rows
    for j in order:
        taken = 0
        own = columns[j].tolist()
        for i in own:
            taken |= masks[i]
        color = (~taken & (taken + 1)).bit_length() - 1
        colors[j] = color
        for i in own:
            masks[i] |= 1 << color
    return colors


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
    shown = rows * count + colors[columns]
    if count * int(np.max(rows, initial=0)) < 8 * rows.size + 1000:  # few places
        return np.bincount(shown)[shown] == 1 if rows.size else np.ones(0, bool)
    _, inverse, counts = np.unique(shown, return_inverse=True, return_counts=True)
    return counts[inverse.reshape(-1)] == 1
