"""Turns of a loop are computed together, in batches: numbers of a turn become arrays over the turns of a batch.

                                                    for low in range(0, n, 64):
                                                        X = x[low : low + 64].T.copy()
for i in range(n):                                      for c in range(k):
    for c in range(k):                                      y = X - mu[c][:, None]
        y = x[i] - mu[c]                     ->             for j in range(d):
        for j in range(d):                                      y[j] += low[c, j] * y[0]
            y[j] += low[c, j] * y[0]                        terms[c] = np.sum(y * y, axis=0)
        terms[c] = np.sum(y * y)                        for each of these turns:
    total += np.max(terms)                                  total += np.max(terms, axis=0)[turn]

(Outer-loop vectorization: Nuzman and Zaks, "Outer-loop vectorization: revisited for short SIMD architectures", 2008.)
What a turn does with few numbers becomes what arrays do at once, and so does its derivative, which is taken of the
batches. Which of both loops runs is decided when the program does, by the number of turns and the lengths of arrays.
"""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.ir.nodes import BATCHES, Block, Function, Op
from diffjit.transforms.optimise.batches.found import Batched, Unfit
from diffjit.transforms.optimise.batches.written import Batch


def in_batches(function: Function) -> bool:
    """Apply it to the outermost loops that allow it, in place; whether there were any."""
    return _visit(function, function.body)


def _visit(function: Function, block: Block) -> bool:
    changed = False
    for op in list(block.ops):
        if op.kind == "for" and _batched(function, block, op):
            changed = True
            continue
        if BATCHES in op.attrs:
            continue
        for region in op.regions:
            changed |= _visit(function, region)
    return changed


def _batched(function: Function, home: Block, loop: Op) -> bool:
    try:
        Batch(function, home, Batched(analyses(function), loop)).apply()
    except Unfit:
        return False
    return True
