"""Where operations stand: enclosing blocks and loops, and what may run after what."""

from __future__ import annotations

from dataclasses import field

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value


@dataclass(slots=True, eq=False)
class Place:
    """An operation's position: the chain of (operation, region, index) from the function's body down to it."""

    path: tuple[tuple[Block, int], ...]
    loops: tuple[Op, ...]


@dataclass(slots=True, eq=False)
class Order:
    """Positions of all operations of a function, and the block and parent of every value and block."""

    function: Function
    places: dict[Op, Place] = field(default_factory=dict[Op, Place])
    # block -> (its operation, the block of that)
    parent: dict[Block, tuple[Op, Block] | None] = field(default_factory=dict[Block, tuple[Op, Block] | None])

    def __post_init__(self) -> None:
        for p in self.function.params:
            p.block = self.function.body
        self._visit(self.function.body, (), ())
        self.parent[self.function.body] = None

    def _visit(self, block: Block, path: tuple[tuple[Block, int], ...], loops: tuple[Op, ...]) -> None:
        for a in block.args:
            a.block = block
        for k, op in enumerate(block.ops):
            here = (*path, (block, k))
            self.places[op] = Place(here, loops)
            inner = (*loops, op) if op.row.loop else loops
            for region in op.regions:
                self.parent[region] = (op, block)
                self._visit(region, here, inner)
            for out in op.outputs:
                out.op, out.block = op, block

    def enclosing(self, block: Block) -> list[Block]:
        """The block and those around it, innermost first."""
        out = [block]
        while (up := self.parent.get(out[-1])) is not None:
            out.append(up[1])
        return out

    def loops_around(self, block: Block) -> list[Op]:
        """Loops whose bodies contain the block, innermost first."""
        out: list[Op] = []
        while (up := self.parent.get(block)) is not None:
            op, outer = up
            if op.row.loop:
                out.append(op)
            block = outer
        return out

    def counted_by(self, value: Value) -> Op | None:
        """The loop whose counter a value is."""
        up = self.parent.get(value.block) if value.block is not None else None
        if up is None or up[0].kind != "for" or value not in up[0].regions[0].args[:1]:
            return None
        return up[0]

    def inside(self, value: Value, loop: Op) -> bool:
        """Whether a value is made anew in each iteration of a loop."""
        block = value.block
        while block is not None and (up := self.parent.get(block)) is not None:
            if up[0] is loop:
                return True
            block = up[1]
        return False

    def visible(self, value: Value, op: Op) -> bool:
        """Whether a value is there, and has its one meaning, wherever an operation begins."""
        for block, at in self.places[op].path:
            if value.block is block:
                return value.op is None or self.places[value.op].path[-1][1] < at
        return False

    def later(self, first: Op, second: Op) -> bool:
        """Whether `second` stands behind `first` in the program text and may run after it in one pass."""
        a, b = self.places[first].path, self.places[second].path
        for (block_a, ka), (block_b, kb) in zip(a, b, strict=False):
            if block_a is not block_b:
                return self._regions_follow(block_a, block_b)
            if ka != kb:
                return kb > ka
        return len(b) > len(a)  # `second` lies inside `first`: it runs during it

    def _regions_follow(self, a: Block, b: Block) -> bool:
        up = self.parent[a]
        if up is None or up[0].kind == "if":
            return False  # different branches of one `if`
        regions = up[0].regions
        return regions.index(b) > regions.index(a) if b in regions else False
