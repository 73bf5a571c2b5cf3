"""The cheapest set of values from which others can be computed again: a minimum vertex cut.

Recording a value costs something, and so does computing it again, from values that are at hand or have been recorded or
computed again. (Used by Enzyme, too: Moses et al., "Reverse-mode automatic differentiation and optimization of GPU
kernels via Enzyme", SC 2021. Maximum flow by shortest paths, all of one length at once: Dinic, 1970.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from diffjit.dataclass import dataclass

V = TypeVar("V", bound=Hashable)

_UNLIMITED = 1 << 100


@dataclass(frozen=True, slots=True)
class Cut(Generic[V]):
    """The values to record, and what that and computing the others costs."""

    chosen: set[V]
    cost: int


def minimum_cut(
    wanted: Iterable[V],
    operands: Callable[[V], Sequence[V] | None],
    recording: Callable[[V], int],
    computing: Callable[[V], int],
) -> Cut[V]:
    """The values to record so that all of `wanted` can be computed.

    `operands(v)` are the values that `v` is computed from (none for a value at hand); None where it has to be recorded
    when it is needed. `recording(v)` and `computing(v)` (from its operands) are costs in one unit. Of several cheapest
    sets, the one that recomputes least.
    """
    wanted = list(dict.fromkeys(wanted))
    forced = {v for v in wanted if operands(v) is None}
    graph = _Network()
    pending = [v for v in wanted if v not in forced]
    for v in pending:
        graph.join((v, True), _SINK, _UNLIMITED)
    seen = set(pending)
    while pending:
        v = pending.pop()
        sources = operands(v)
        graph.join((v, False), (v, True), recording(v))
        again = _UNLIMITED if sources is None else computing(v) if sources else 0
        graph.join(_SOURCE, (v, False), again)
        if sources is None:
            continue
        for s in sources:
            if s in forced:
                continue
            graph.join((s, True), (v, False), _UNLIMITED)
            if s not in seen:
                seen.add(s)
                pending.append(s)
    cost = graph.saturate() + sum(map(recording, forced))
    reaches = graph.reaching_sink()
    return Cut(forced | {v for v in seen if (v, True) in reaches and (v, False) not in reaches}, cost)


_SOURCE, _SINK = "source", "sink"


class _Network:
    """Edges in pairs, there and back (`e` and `e ^ 1`), with the capacity that is left of each."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {_SOURCE: 0, _SINK: 1}
        self.edges: list[list[int]] = [[], []]  # of each node
        self.ends: list[int] = []
        self.left: list[int] = []

    def _number(self, node: Hashable) -> int:
        found = self.numbers.setdefault(node, len(self.edges))
        if found == len(self.edges):
            self.edges.append([])
        return found

    def join(self, a: Hashable, b: Hashable, capacity: int) -> None:
        """An edge from one node to another."""
        i, j = self._number(a), self._number(b)
        self.edges[i].append(len(self.ends))
        self.edges[j].append(len(self.ends) + 1)
        self.ends += (j, i)
        self.left += (capacity, 0)

    def saturate(self) -> int:
        """Send as much as goes from the source to the sink; how much that was."""
        total = 0
        while (level := self._levels()) is not None:
            total += self._send(level)
        return total

    def _levels(self) -> list[int] | None:
        """How far each node is from the source, along edges with room; None where the sink is out of reach."""
        level = [-1] * len(self.edges)
        level[0] = 0
        front = [0]
        while front and level[1] < 0:
            following: list[int] = []
            for a in front:
                for e in self.edges[a]:
                    b = self.ends[e]
                    if self.left[e] and level[b] < 0:
                        level[b] = level[a] + 1
                        following.append(b)
            front = following
        return None if level[1] < 0 else level

    def _send(self, level: list[int]) -> int:
        """Fill shortest paths until each has an edge without room; no edge is looked at again that leads nowhere."""
        at = [0] * len(self.edges)  # the edges of a node before this one are of no more use
        path: list[int] = []
        total = here = 0
        while True:
            if here == 1:
                room = min(self.left[e] for e in path)
                for e in path:
                    self.left[e] -= room
                    self.left[e ^ 1] += room
                total += room
                full = next(k for k, e in enumerate(path) if not self.left[e])
                here = self.ends[path[full] ^ 1]
                del path[full:]
                continue
            edges = self.edges[here]
            while at[here] < len(edges):
                e = edges[at[here]]
                if self.left[e] and level[self.ends[e]] == level[here] + 1:
                    break
                at[here] += 1
            else:
                if not path:
                    return total
                here = self.ends[path.pop() ^ 1]
                at[here] += 1
                continue
            path.append(e)
            here = self.ends[e]

    def reaching_sink(self) -> set[Hashable]:
        """The nodes from which the sink can still be reached."""
        found = {1}
        pending = [1]
        while pending:
            for e in self.edges[pending.pop()]:
                a = self.ends[e]
                if a not in found and self.left[e ^ 1]:
                    found.add(a)
                    pending.append(a)
        return {node for node, k in self.numbers.items() if k in found}
