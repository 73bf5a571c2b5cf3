"""Where derivatives may have entries at a point: by a run on index sets in Python, or by machine code where it is long.

Building machine code takes longer than a short run in Python, which is what most programs are at the sizes of tests. So
there is an allowance for runs in Python; the run that exceeds it is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.analysis.sparsity.index_sets import IndexSets
from diffjit.analysis.sparsity.set_programs import Allowance, Exhausted
from diffjit.api.engine.programs import Building
from diffjit.api.patterns.pools import CompiledSets
from diffjit.errors import DiffjitError, InternalError
from diffjit.garbage import no_garbage_collection
from diffjit.ir.nodes import Function
from diffjit.transforms.modes.sets import Uncompiled

ALLOWED = 500_000  # operations on numbers, some tenths of a second

Rows = tuple[np.ndarray, np.ndarray, list[int]]  # columns of entries, starts of rows, the number of rows of each result


class Patterns:
    """The patterns of one program: rows are those of some of its results, columns those of some parameters."""

    def __init__(self, function: Function, wrt: list[int], results: list[int], *, compiled: bool) -> None:
        self.function, self.wrt, self.results = function, wrt, results
        self.sets: IndexSets | None = None
        self.machine: CompiledSets | None = None
        self.allowance = Allowance(ALLOWED) if compiled else Allowance()

    def at(self, inputs: Sequence[Any]) -> Rows:
        """The pattern at a point."""
        if self.machine is None:
            try:
                return self.interpreted(inputs, self.allowance)
            except Exhausted:
                self.allowance = Allowance()
                self.build()
        found = None if self.machine is None else self.machine.sets(inputs)
        if found is None:
            return self.interpreted(inputs, self.allowance)
        pool, sets = found
        return *pool.rows(np.concatenate([np.zeros(0, np.int64), *sets])), [s.size for s in sets]

    def build(self) -> None:
        """Machine code, where the program has some."""
        with Building.lock, no_garbage_collection():
            try:
                self.machine = CompiledSets(self.function, self.wrt, self.results)
            except InternalError:
                raise
            except (Uncompiled, DiffjitError):  # machine code has no half precision, for one
                self.machine = None

    def interpreted(self, inputs: Sequence[Any], allowance: Allowance) -> Rows:
        """By a run in Python."""
        if self.sets is None:
            self.sets = IndexSets(self.function)
        sets = self.sets.run(inputs, self.wrt, allowance)
        rows = [s for r in self.results for s in sets[r]]
        indices = np.fromiter((j for s in rows for j in sorted(s)), np.intp)
        return indices, np.cumsum([0, *map(len, rows)]), [len(sets[r]) for r in self.results]
