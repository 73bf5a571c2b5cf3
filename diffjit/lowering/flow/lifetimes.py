"""Where references are given up: the last read of each variable that holds one, on every way through a function.

As Numba's own analyses find it, for the variables that hold references alone, with sets as bits of one number. Numba
does it for all variables, and twice; its own analyses take a quarter of the compile time of 3000 lines, and more of
20,000 (sets of names are merged for each edge, again and again).

Where an error is raised nothing is given up: what is held then is noted, and the way out by error releases all of it
(`llvm.exits`). In long programs, in which most of the arrays are alive at most of the tests, it was nearly all of the
code.
"""

from __future__ import annotations

from typing import Any

from diffjit.lowering.llvm.numba_internals import IR, control_flow, names_read


class _Blocks:
    """What the blocks of a function read and make of some variables, as bits."""

    def __init__(self, blocks: Any, names: list[str]) -> None:
        bit = {name: 1 << k for k, name in enumerate(names)}
        self.used: dict[Any, int] = {}  # read before the block makes it
        self.made: dict[Any, int] = {}
        self.last: dict[Any, int] = {}  # what the terminator reads
        self.named: dict[Any, list[int]] = {}  # for each instruction: what it reads, or makes
        for label, block in blocks.items():
            used = made = read = 0
            named: list[int] = []
            for inst in block.body:
                read = 0
                for name in names_read(inst):
                    read |= bit.get(name, 0)
                target = bit.get(inst.target.name, 0) if isinstance(inst, IR.Assign) else 0
                used |= read & ~made
                made |= target & ~read
                named.append(read | target)
            self.used[label], self.made[label], self.last[label], self.named[label] = used, made, read, named


def mark_ends(blocks: Any, counted: set[str]) -> None:
    """Put a `del` behind the last use of each of these variables, and at the heads of blocks that none is read from."""
    names = sorted(counted)
    if not names:
        return
    found, graph = _Blocks(blocks, names), control_flow(blocks)
    order = list(graph.topo_order())
    after = {b: [label for label, _ in graph.successors(b)] for b in blocks}
    alive = _alive(found, order, after)
    at_heads = dict.fromkeys(blocks, 0)
    at_the_end = ended = 0
    for label, block in blocks.items():
        kept = found.last[label]
        if not after[label]:
            at_the_end |= kept
        for following in after[label]:
            kept |= alive[following]
        here = alive[label] | found.made[label]
        for following in after[label]:
            at_heads[following] |= here & kept & ~(alive[following] | found.made[following])
        ended |= here & ~kept
        if not _raises(block):
            _inside(block, found.named[label], here & ~kept, names)
    missing = 0
    for label, block in blocks.items():
        missing |= alive[label]
        ended |= at_heads[label]
        if not _raises(block):
            _delete(block.body, 0, at_heads[label], names, block.body[0].loc)
    missing &= ~(ended | at_the_end)
    if missing and graph.exit_points():
        raise AssertionError(f"nobody knows where {_names(missing, names)} end")


def _raises(block: Any) -> bool:
    """Whether a block leaves the function by error."""
    return isinstance(block.body[-1], (IR.Raise, IR.StaticRaise))


def _alive(found: _Blocks, order: list[Any], after: dict[Any, list[Any]]) -> dict[Any, int]:
    """What is alive at the entry of each block: read later on, and made on some way that leads there."""
    reach = {b: found.used[b] | found.made[b] for b in after}
    changed = True
    while changed:
        changed = False
        for b in order:
            for label in after[b]:
                more = reach[label] | reach[b]
                if more != reach[label]:
                    reach[label], changed = more, True
    alive = dict(found.used)
    changed = True
    while changed:
        changed = False
        for b in reversed(order):
            live = alive[b]
            for label in after[b]:
                live |= alive[label] & reach[b] & ~found.made[b]
            if live != alive[b]:
                alive[b], changed = live, True
    return alive


def _inside(block: Any, named: list[int], ending: int, names: list[str]) -> None:
    """Delete what ends within a block, behind its last use."""
    if not ending:
        return
    for k in range(len(named) - 2, -1, -1):
        here = named[k] & ending
        if here:
            ending &= ~here
            _delete(block.body, k + 1, here, names, block.body[k].loc)


def _delete(body: list[Any], place: int, which: int, names: list[str], loc: Any) -> None:
    if which:
        body[place:place] = [IR.Del(name, loc=loc) for name in _names(which, names)]


def _names(bits: int, names: list[str]) -> list[str]:
    text = bin(bits)[:1:-1]  # lowest bit first
    found: list[str] = []
    k = text.find("1")
    while k >= 0:
        found.append(names[k])
        k = text.find("1", k + 1)
    return found
