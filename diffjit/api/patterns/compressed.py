"""A sparse Jacobian from its products with one direction for each colour of its columns, and one more that tests it.

`Coloring`   a pattern, and what follows from it alone: directions, places of entries, blocks
`Products`   all products by one run of machine code (`transforms.columns`)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.api.coloring import places
from diffjit.api.engine.engine import compile_ir
from diffjit.api.matrices import lanes_of, silence
from diffjit.ir.nodes import Function
from diffjit.ir.passes import Phase
from diffjit.transforms.columns import columns
from diffjit.transforms.pipeline import finish, numbers

_AT_ONCE = 1 << 22  # numbers of directions; more are given part by part


class Coloring:
    """A pattern, and the colours of its columns."""

    def __init__(self, pattern: Any, colors: np.ndarray) -> None:
        self.pattern, self.colors = pattern, colors
        self.count = int(np.max(colors, initial=0)) + 1
        rows, columns_ = places(pattern, colors)
        self.places = columns_ * np.intp(pattern.shape[0]) + rows  # of entries in the table of products
        self._all: np.ndarray | None = None
        self._parts: dict[Any, Part] = {}

    @functools.cached_property
    def test(self) -> np.ndarray:
        """A direction along all columns: entries that a pattern lacks show in its product."""
        width = self.pattern.shape[1]
        direction = np.random.default_rng(width).uniform(0.5, 1.0, width)
        return direction * np.where(np.arange(width) % 3 == 0, -1.0, 1.0)

    def directions(self, first: int, stop: int) -> np.ndarray:
        """Rows of all directions: those of colours, then the test."""
        if self._all is not None:
            return self._all[first:stop]
        numbers = np.arange(first, min(stop, self.count + 1))[:, None]
        made = (self.colors == numbers).astype(float)
        if stop > self.count:
            made[-1] = self.test
            if first == 0:
                self._all = made
        return made

    def matrix(self, table: np.ndarray) -> Any:
        """The Jacobian."""
        import scipy.sparse

        pattern = self.pattern
        return scipy.sparse.csr_matrix((table.ravel()[self.places], pattern.indices, pattern.indptr), pattern.shape)

    def block(self, whole: Any, rows: slice, columns: slice) -> Any:
        """A part of a matrix with this pattern."""
        key = rows.start, rows.stop, columns.start, columns.stop
        if key not in self._parts:
            self._parts[key] = part_of(self.pattern, rows, columns)
        return _block(whole, rows, columns, self._parts[key])


Part = tuple[np.ndarray, np.ndarray, np.ndarray]  # which entries a block has, their columns, and where its rows start


def block_of(whole: Any, rows: slice, columns: slice) -> Any:
    """A part of a matrix in compressed rows."""
    return _block(whole, rows, columns, part_of(whole, rows, columns))


def _block(whole: Any, rows: slice, columns: slice, part: Part) -> Any:
    import scipy.sparse

    taken, indices, starts = part
    shape = rows.stop - rows.start, columns.stop - columns.start
    return scipy.sparse.csr_matrix((whole.data[taken], indices, starts), shape)


def part_of(pattern: Any, rows: slice, columns: slice) -> Part:
    """What a block takes of a matrix."""
    bounds = pattern.indptr[rows.start : rows.stop + 1]
    inside = pattern.indices[bounds[0] : bounds[-1]]
    chosen = (inside >= columns.start) & (inside < columns.stop)
    before = np.concatenate([[0], np.cumsum(chosen)])
    taken = np.flatnonzero(chosen)
    starts = before[bounds - bounds[0]].astype(pattern.indptr.dtype)
    return taken + bounds[0], inside[taken] - columns.start, starts


def lanes_for(function: Function, wrt: list[int], directions: int) -> int:
    """How many directions to take at once, of so many: few at the end are left over."""
    most = lanes_of(function, [function.params[k] for k in wrt])
    return -(-directions // -(-directions // most))


class Products:
    """The program of one function: rows of its Jacobian are those of `results`, columns those of `wrt`."""

    def __init__(self, function: Function, wrt: list[int], rows: list[int | None], lanes: int) -> None:
        self.wrt, self.rows, self.lanes = wrt, rows, lanes
        results = [r for r in rows if r is not None]
        made, active = columns(numbers(function, smooth=True), wrt, results, self.lanes)
        silence(made)
        given = iter(active)
        self.active = [r is not None and next(given) for r in rows]
        self.run = compile_ir(finish(made, "columns", Phase.SETTLED), "numba")

    def table(self, inputs: Sequence[Any], coloring: Coloring, heights: list[int]) -> tuple[np.ndarray, list[int]]:
        """A row for each direction, with the numbers of all results, and how many numbers each result really has.

        Where that is not what `heights` says, the table says nothing.
        """
        most = max(self.lanes, _AT_ONCE // max(1, coloring.pattern.shape[1]))
        sizes = [n for r, n in zip(self.rows, heights, strict=True) if r is not None]
        parts: list[np.ndarray] = []
        found: list[int] = []
        for first in range(0, coloring.count + 1, most):
            part = coloring.directions(first, first + most)
            outs = self.run(*inputs, *self.given(inputs, part), *sizes)
            tables, found = iter(outs[: sum(self.active)]), list(outs[sum(self.active) :])
            pairs = zip(self.active, heights, strict=True)
            row = [next(tables) if active else np.zeros((len(part), n)) for active, n in pairs]
            parts.append(row[0] if len(row) == 1 else np.concatenate(row, axis=1))
        real = iter(found)
        return (parts[0] if len(parts) == 1 else np.concatenate(parts)), [
            1 if r is None else next(real) for r in self.rows
        ]

    def given(self, inputs: Sequence[Any], directions: np.ndarray) -> list[np.ndarray]:
        """Directions as the program takes them: for each argument, in its dtype and shape."""
        found: list[np.ndarray] = []
        start = 0
        for k in self.wrt:
            leaf, size = inputs[k], int(np.size(inputs[k]))
            part = directions[:, start : start + size]
            found.append(np.ascontiguousarray(part, np.asarray(leaf).dtype).reshape(len(part), *np.shape(leaf)))
            start += size
        return found
