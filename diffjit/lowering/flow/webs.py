"""One name for each value that a variable takes, where it is not one that is computed in several ways.

    n_ = a.shape[0]            n_ = a.shape[0]
    ... n_ ...                 ... n_ ...
    n_ = b.shape[0]            n_.1 = b.shape[0]
    ... n_ ...                 ... n_.1 ...

Text uses a name again where it is read more easily so. Assignments that reach a common use keep one name (they are a
web of the variable); what is assigned once needs no slot on the stack (`registers`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from diffjit.lowering.llvm.numba_internals import IR, control_flow, definitions_of, names_read, with_variables

_Definition = tuple[Any, int, str]  # the block's label, the place in it, the variable


def split(function: Any) -> None:
    """Apply to a function of Numba's IR, in place."""
    blocks = function.blocks
    made = [
        (label, k, inst.target.name)
        for label, block in blocks.items()
        for k, inst in enumerate(block.body)
        if isinstance(inst, IR.Assign)
    ]
    times = Counter(name for _, _, name in made)
    found = [d for d in made if times[d[2]] > 1]
    if found:
        _rename(function, _Webs(blocks, found))


class _Webs:
    """Which assignments of a variable belong together."""

    def __init__(self, blocks: Any, made: list[_Definition]) -> None:
        self.made = made
        self.bit = {d: 1 << k for k, d in enumerate(made)}
        self.all: dict[str, int] = {}
        for d in made:
            self.all[d[2]] = self.all.get(d[2], 0) | self.bit[d]
        self.parent = list(range(len(made)))
        self.reads: list[tuple[Any, int, str, int]] = []  # block, place, variable, one of the assignments it reads
        reaching = self._reaching(blocks)
        for label, block in blocks.items():
            self._read(label, block, reaching[label])

    def _reaching(self, blocks: Any) -> dict[Any, int]:
        """The assignments that reach the entry of each block."""
        graph = control_flow(blocks)
        given, kept = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, -1)
        for d in self.made:
            label, _, name = d
            given[label] = given[label] & ~self.all[name] | self.bit[d]
            kept[label] &= ~self.all[name]
        before = dict.fromkeys(blocks, 0)
        order = graph.topo_order()
        after = {label: [following for following, _ in graph.successors(label)] for label in order}
        changed = True
        while changed:  # once, and once more for each loop within loops
            changed = False
            for label in order:
                out = given[label] | before[label] & kept[label]
                for following in after[label]:
                    more = before[following] | out
                    if more != before[following]:
                        before[following], changed = more, True
        return before

    def _read(self, label: Any, block: Any, now: int) -> None:
        for k, inst in enumerate(block.body):
            target = inst.target.name if isinstance(inst, IR.Assign) else None
            for name in names_read(inst):
                if name in self.all:
                    reached = now & self.all[name] or self.all[name]  # read before it is assigned: nothing is known
                    first = self._join(reached)
                    self.reads.append((label, k, name, first))
            if target in self.all:
                now = now & ~self.all[target] | self.bit[label, k, target]

    def _join(self, bits: int) -> int:
        first = (bits & -bits).bit_length() - 1
        rest = bits & (bits - 1)
        while rest:
            k = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            one, other = self.root(first), self.root(k)
            self.parent[max(one, other)] = min(one, other)
        return first

    def root(self, k: int) -> int:
        """The first assignment of a web."""
        while self.parent[k] != k:
            self.parent[k] = self.parent[self.parent[k]]
            k = self.parent[k]
        return k


def _rename(function: Any, webs: _Webs) -> None:
    """Give all webs of a variable but the first names of their own."""
    blocks, definitions = function.blocks, definitions_of(function)
    count: Counter[str] = Counter()
    names: dict[int, str] = {}  # of a web, by its first assignment
    for k, (_, _, name) in enumerate(webs.made):
        if webs.root(k) == k:
            names[k] = f"{name}.{count[name]}" if count[name] else name
            count[name] += 1
    for name, webs_of_it in count.items():
        if webs_of_it > 1:
            definitions[name] = []
    for k, (label, place, name) in enumerate(webs.made):
        inst = blocks[label].body[place]
        if count[name] > 1:
            new = names[webs.root(k)]
            inst.target = inst.target.scope.get_or_define(new, loc=inst.target.loc)
            definitions.setdefault(new, []).append(inst.value)
    changed: dict[tuple[Any, int], dict[str, Any]] = {}
    for label, place, name, k in webs.reads:
        new = names[webs.root(k)]
        if new != name:
            scope = blocks[label].scope
            changed.setdefault((label, place), {})[name] = scope.get_or_define(new, loc=blocks[label].loc)
    for (label, place), variables in changed.items():
        with_variables(blocks[label].body[place], variables)
