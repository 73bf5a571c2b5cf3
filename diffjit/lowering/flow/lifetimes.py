"""Which variables are alive at the entry of each block: Numba's analysis, with sets as bits of one number.

Numba's own takes a quarter of the compile time of 3000 lines (sets of names are merged for each edge, again and again).
"""

from __future__ import annotations

from typing import Any


def live_map(graph: Any, blocks: Any, uses: Any, defs: Any) -> dict[Any, set[str]]:
    """What `numba.core.analysis.compute_live_map` gives."""
    names = sorted({v for found in (uses, defs) for b in blocks for v in found[b]})
    bit = {name: 1 << k for k, name in enumerate(names)}
    order = list(graph.topo_order())
    used = {b: sum(bit[v] for v in uses[b]) for b in blocks}
    made = {b: sum(bit[v] for v in defs[b]) for b in blocks}
    reach = {b: used[b] | made[b] for b in blocks}
    changed = True
    while changed:
        changed = False
        for b in order:
            for after, _ in graph.successors(b):
                more = reach[after] | reach[b]
                if more != reach[after]:
                    reach[after], changed = more, True
    live = dict(used)
    changed = True
    while changed:
        changed = False
        for b in reversed(order):
            for before, _ in graph.predecessors(b):
                more = live[before] | (live[b] & reach[before] & ~made[before])
                if more != live[before]:
                    live[before], changed = more, True
    return {b: _names(live[b], names) for b in blocks}


def _names(bits: int, names: list[str]) -> set[str]:
    text = bin(bits)[:1:-1]  # lowest bit first
    found: set[str] = set()
    k = text.find("1")
    while k >= 0:
        found.add(names[k])
        k = text.find("1", k + 1)
    return found
