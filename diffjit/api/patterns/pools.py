"""Patterns by machine code: the program with sets (`transforms.modes.sets`) is run once, and its pool is read.

The run makes pairs of sets: a tree below each result, with inputs as leaves. `collected` walks these trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.api.engine.derived import Jitted
from diffjit.api.matrices import silence
from diffjit.api.patterns.trees import collected
from diffjit.ir.nodes import Function
from diffjit.lowering.calls.cpu import compile_function
from diffjit.transforms.custom import without_rules
from diffjit.transforms.modes.sets import with_sets
from diffjit.transforms.pipeline import for_sets

_TABLE = 1 << 16  # unions made last, which need no new pair
_FIRST, _MOST = 1 << 20, 1 << 26  # pairs that there is place for
_FULL = 1  # what `lowering.runtime.scalars` notes
_collected = Jitted(collected, "numba")


class Pool:
    """The memory of one run, as `lowering.runtime.scalars` reads it."""

    def __init__(self, inputs: int, places: int) -> None:
        self.inputs = inputs
        self.pairs = np.empty(places, np.int64)
        self.table = np.zeros(_TABLE, np.int64)
        addresses = self.pairs.ctypes.data, self.table.ctypes.data
        self.state = np.array([0, places, inputs, *addresses, _TABLE - 1, 0], np.int64)

    @property
    def address(self) -> np.int64:
        """Where it is."""
        return np.int64(self.state.ctypes.data)

    @property
    def wrong(self) -> int:
        """What went wrong, 0 if nothing did."""
        return int(self.state[-1])

    def rows(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inputs in each of some sets, in order, and where those of each begin."""
        return _collected(self.pairs[: int(self.state[0])], self.inputs, sets)


class CompiledSets:
    """One program, as machine code that computes the sets of some of its results."""

    def __init__(self, function: Function, wrt: Sequence[int], results: Sequence[int]) -> None:
        made = with_sets(without_rules(function), list(wrt), list(results))
        silence(made)
        self.wrt = list(wrt)
        self.run = compile_function(for_sets(made))
        self.places = _FIRST

    def sets(self, inputs: Sequence[Any]) -> tuple[Pool, list[np.ndarray]] | None:
        """A pool, and the sets of each result's elements in C order; None where no pool is large enough."""
        sizes = [int(np.size(inputs[k])) for k in self.wrt]
        starts = np.cumsum([1, *sizes])
        given = [_numbered(inputs[k], int(start)) for k, start in zip(self.wrt, starts, strict=False)]
        while True:
            pool = Pool(sum(sizes), self.places)
            found = self.run(*inputs, *given, pool.address)
            if not pool.wrong:
                return pool, [np.ravel(s) for s in found]
            if pool.wrong != _FULL or self.places >= _MOST:
                return None
            self.places *= 8


def _numbered(leaf: Any, start: int) -> Any:
    """Each input as a set of itself."""
    if not isinstance(leaf, np.ndarray):
        return np.int64(start)
    made = np.empty_like(leaf, np.int64, subok=False)
    made[...] = np.arange(start, start + leaf.size).reshape(leaf.shape)
    return made
