"""What stands below each set of a pool, row by row: plain programs, compiled as users' are.

A pool has pairs: the k-th one is set number `n + 1 + k`, the union of two sets with lower numbers, of which 1 to `n`
are the inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

OFTEN = 8  # walks through a set that many rows have in common, after which its inputs are listed


def collected(pairs: Any, n: Any, sets: Any) -> Any:
    """The inputs (from 0) in the set of each row, in order, and where rows start.

    What many rows share is not walked through for each of them: after some walks, its inputs are listed.
    """
    numbers = n + 1 + pairs.size
    starts = np.zeros(sets.size + 1, np.int64)
    found = np.empty(4 * sets.size + n, np.int32)
    rows = np.full(numbers, -1, np.int64)  # the first row that a set is
    seen = np.zeros(numbers, np.int64)  # the last walk that came by
    stack = np.empty(numbers + 1, np.int64)
    visits = np.zeros(numbers, np.int32)
    begins, ends = np.full(numbers, -1, np.int64), np.zeros(numbers, np.int64)  # of lists
    lists = np.empty(n + 1024, np.int32)
    filled, walks, at = 0, 0, 0
    for row in range(sets.size):
        root = sets[row]
        if at + n > found.size:
            found = larger(found, n)
        if rows[root] >= 0:
            for k in range(starts[rows[root]], starts[rows[root] + 1]):
                found[at] = found[k]
                at += 1
        elif root > 0:
            rows[root] = row
            walks += 1
            start = at
            at, often = walked(pairs, n, root, seen, walks, stack, visits, begins, ends, lists, found, at)
            ordered(found, start, at)
            if often > 0 and filled < 4 * numbers:
                if filled + n > lists.size:
                    lists = larger(lists, n)
                walks += 1
                start = filled
                filled, _ = walked(pairs, n, often, seen, walks, stack, visits, begins, ends, lists, lists, filled)
                begins[often], ends[often] = start, filled
        starts[row + 1] = at
    return found[:at], starts


def walked(
    pairs: Any, n: Any, root: Any, seen: Any, walk: Any, stack: Any, visits: Any, begins: Any, ends: Any, lists: Any,
    found: Any, at: Any,
) -> Any:  # fmt: skip
    """Put the inputs below a set into `found`; where that ends, and a set that was met often and is not listed."""
    often = 0
    stack[0], seen[root] = root, walk
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if node <= n:
            found[at] = node - 1
            at += 1
        elif begins[node] >= 0:
            for k in range(begins[node], ends[node]):
                leaf = lists[k]
                if seen[leaf + 1] != walk:
                    seen[leaf + 1] = walk
                    found[at] = leaf
                    at += 1
        else:
            visits[node] += 1
            if visits[node] > OFTEN and often == 0:
                often = node
            pair = pairs[node - n - 1]
            for half in (pair >> 32, pair & 0xFFFFFFFF):
                if seen[half] != walk:
                    seen[half] = walk
                    stack[top] = half
                    top += 1
    return at, often


def ordered(found: Any, start: Any, end: Any) -> None:
    """Sort a part of an array in place."""
    if end - start > 32:
        found[start:end] = np.sort(found[start:end])
        return
    for k in range(start + 1, end):
        item = found[k]
        j = k
        while j > start and found[j - 1] > item:
            found[j] = found[j - 1]
            j -= 1
        found[j] = item


def larger(array: Any, more: Any) -> Any:
    """A copy with room for more."""
    made = np.empty(2 * array.size + more, array.dtype)
    made[: array.size] = array
    return made
