"""The cheapest set of values from which others can be computed again: a minimum vertex cut.

Recording a value costs something, and so does computing it again, from values that are at hand or have been recorded or
computed again. (Used by Enzyme, too: Moses et al., "Reverse-mode automatic differentiation and optimization of GPU
kernels via Enzyme", SC 2021. Maximum flow by augmenting paths: Ford and Fulkerson, 1956.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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
    """Capacities left between nodes."""

    def __init__(self) -> None:
        self.left: dict[Hashable, dict[Hashable, int]] = {_SOURCE: {}, _SINK: {}}

    def join(self, a: Hashable, b: Hashable, capacity: int) -> None:
        self.left.setdefault(a, {})[b] = capacity
        self.left.setdefault(b, {}).setdefault(a, 0)

    def saturate(self) -> int:
        """Send as much as goes from the source to the sink; how much that was."""
        total = 0
        while (path := self._path()) is not None:
            room = min(self.left[a][b] for a, b in path)
            for a, b in path:
                self.left[a][b] -= room
                self.left[b][a] += room
            total += room
        return total

    def _path(self) -> list[tuple[Hashable, Hashable]] | None:
        """A shortest path with room."""
        came: dict[Hashable, Hashable] = {_SOURCE: _SOURCE}
        level: list[Hashable] = [_SOURCE]
        while level:
            following: list[Hashable] = []
            for a in level:
                for b, room in self.left[a].items():
                    if room and b not in came:
                        came[b] = a
                        following.append(b)
            if _SINK in came:
                break
            level = following
        else:
            return None
        path: list[tuple[Hashable, Hashable]] = []
        b: Hashable = _SINK
        while b != _SOURCE:
            path.append((came[b], b))
            b = came[b]
        return path

    def reaching_sink(self) -> set[Hashable]:
        """The nodes from which the sink can still be reached."""
        found: set[Hashable] = {_SINK}
        pending: list[Hashable] = [_SINK]
        while pending:
            b = pending.pop()
            for a in self.left[b]:
                if a not in found and self.left[a].get(b):
                    found.add(a)
                    pending.append(a)
        return found
