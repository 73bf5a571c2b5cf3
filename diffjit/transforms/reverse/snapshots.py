"""Copies of memory that changes later, made where the way there reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import Array

if TYPE_CHECKING:
    from diffjit.transforms.reverse.keep import Keeper


class Snapshots:
    """One copy for all that read the same contents in one block."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.copied: dict[Value, Value] = {}  # a copy -> what it is a copy of
        self.made: dict[Value, dict[tuple[Op, bool], Value]] = {}  # of an array, for readers

    def of(self, v: Value, reader: Op, *, after: bool) -> Value:
        """The copy of what an array holds in front of an operation, or behind it."""
        made, key = self.made.setdefault(v, {}), (reader, after)
        if key not in made:
            same = self.found(v, reader, after=after)
            made[key] = self._copy(v, reader, after=after) if same is None else same
        return made[key]

    def _copy(self, v: Value, reader: Op, *, after: bool) -> Value:
        keeper, ty = self.keeper, v.type
        assert isinstance(ty, Array)
        block, _ = _point(keeper, reader, after=after)
        with keeper.forward_ops(keeper.after if after else keeper.before, reader, block) as b:
            kept = Array(ty.dtype, ty.dims, ty.layout)
            copy = b.value("copy", [v], kept, name=f"{v.name or 'array'}_kept", order="K", record="copy")
            b.block.ops[-1].loc = reader.loc
        self.copied[copy] = v
        return copy

    def found(self, v: Value, reader: Op, *, after: bool = False) -> Value | None:
        """A copy for a reader in the same block, if nothing between the two may write to the memory."""
        block, at = _point(self.keeper, reader, after=after)
        for (other, behind), copy in self.made.get(v, {}).items():
            where, point = _point(self.keeper, other, after=behind)
            between = min(at, point), max(at, point)
            if where is block and not self.keeper.memory.written_between(v, block, *between):
                return copy
        return None


def _point(keeper: Keeper, reader: Op, *, after: bool) -> tuple[Block, int]:
    """Where a copy stands: in which block, in front of which of its operations."""
    block, at = keeper.order.places[reader].path[-1]
    return block, at + after
