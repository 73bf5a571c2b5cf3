"""Which variables of a function need no stack slot, and which hold no reference to the memory that they stand for.

Numba keeps each array in a slot: nine fields, stored when it is assigned and loaded at each use. LLVM then has to find
out which of them are needed.
"""

from __future__ import annotations

from typing import Any

from diffjit.lowering.flow import facts
from diffjit.lowering.llvm.numba_internals import IR, always_in_slots, control_flow, names_read
from diffjit.lowering.marks import LENT


def without_slots(blocks: Any, counted: set[str]) -> set[str]:
    """Variables that need no stack slot: assigned once, at a place that every use comes behind.

    Numba asks that all uses be in one block, and deletes what a variable held before as it is assigned. One that holds
    a reference is deleted behind its assignment, too, wherever it is assigned again.
    """
    graph = control_flow(blocks)
    dominance = _Dominance(graph)
    homes: dict[str, tuple[Any, int]] = {}
    given: set[str] = set()
    several = set[str](always_in_slots(blocks))
    for label, block in blocks.items():
        for k, inst in enumerate(block.body):
            if isinstance(inst, IR.Assign):
                name = inst.target.name
                if name in homes:
                    several.add(name)
                homes[name] = (label, k)
                if isinstance(inst.value, IR.Arg):
                    given.add(name)
    for label, block in blocks.items():
        for k, inst in enumerate(block.body):
            deleted = isinstance(inst, IR.Del)
            if deleted and inst.value not in counted:
                continue
            for name in [inst.value] if deleted else names_read(inst):
                if name not in several and not dominance.behind((label, k), homes.get(name)):
                    several.add(name)
    found = homes.keys() - several
    # Arguments are the caller's (`lent`): to delete them is nothing to do, however often.
    return found - _not_in_turn(graph, blocks, [name for name in found if name in counted and name not in given])


def _not_in_turn(graph: Any, blocks: Any, names: list[str]) -> set[str]:
    """Variables that some way assigns twice with no `del` between, or deletes twice with no assignment between.

    Slots take both: what is assigned deletes what it was before, and what is deleted is null from then on. Numba
    deletes at the head of a block what any of the blocks before it leaves.
    """
    bit = {name: 1 << k for k, name in enumerate(names)}
    events = {label: _events(block, bit) for label, block in blocks.items()}
    changed = {label: _after(0, 0, found)[:2] for label, found in events.items()}
    untouched = {label: ~(held | gone) for label, (held, gone) in changed.items()}
    held, gone = dict.fromkeys(blocks, 0), dict.fromkeys(blocks, 0)  # on some way to the entry of a block
    order: list[Any] = graph.topo_order()
    todo = set(order)
    while todo:
        for label in order:  # what follows a block comes behind it, but for the ways back of loops
            if label not in todo:
                continue
            todo.remove(label)
            more_held = changed[label][0] | held[label] & untouched[label]
            more_gone = changed[label][1] | gone[label] & untouched[label]
            for after, _ in graph.successors(label):
                if more_held & ~held[after] or more_gone & ~gone[after]:
                    held[after] |= more_held
                    gone[after] |= more_gone
                    todo.add(after)
    wrong = 0
    for label, found in events.items():
        wrong |= _after(held[label], gone[label], found)[2]
    return {name for name in names if wrong & bit[name]}


def _events(block: Any, bit: dict[str, int]) -> list[tuple[bool, int]]:
    """Assignments (True) and deletions of variables, in their order."""
    found: list[tuple[bool, int]] = []
    for inst in block.body:
        made = isinstance(inst, IR.Assign)
        if made or isinstance(inst, IR.Del):
            which = bit.get(inst.target.name if made else inst.value)
            if which is not None:
                found.append((made, which))
    return found


def _after(held: int, gone: int, events: list[tuple[bool, int]]) -> tuple[int, int, int]:
    """What may be held and what may be gone behind events, and what was assigned or deleted out of turn in them."""
    wrong = 0
    for made, which in events:
        if made:
            wrong |= held & which
            held, gone = held | which, gone & ~which
        else:
            wrong |= gone & which
            held, gone = held & ~which, gone | which
    return held, gone, wrong


def lent(blocks: Any, known: facts.Facts, names: set[str]) -> set[str]:
    """Those of the variables, each assigned once, that hold no reference: arguments (the caller's), and lent views."""

    def holds_none(value: Any) -> bool:
        if isinstance(value, IR.Expr) and value.op in ("getitem", "static_getitem"):
            return LENT in known.of.get(id(value), facts.NOTHING)
        return isinstance(value, IR.Arg)

    return {
        inst.target.name
        for block in blocks.values()
        for inst in block.body
        if isinstance(inst, IR.Assign) and inst.target.name in names and holds_none(inst.value)
    }


class _Dominance:
    """Which places of a function every way to another place passes."""

    def __init__(self, graph: Any) -> None:
        above = graph.immediate_dominators()
        below: dict[Any, list[Any]] = {}
        for label, parent in above.items():
            if label != parent:
                below.setdefault(parent, []).append(label)
        self.span: dict[Any, tuple[int, int]] = {}
        entered: dict[Any, int] = {}
        todo = [(graph.entry_point(), False)]
        count = 0
        while todo:
            label, done = todo.pop()
            count += 1
            if done:
                self.span[label] = (entered[label], count)
                continue
            entered[label] = count
            todo.append((label, True))
            todo.extend((child, False) for child in below.get(label, ()))

    def behind(self, use: tuple[Any, int], home: tuple[Any, int] | None) -> bool:
        """Whether each way to an instruction comes by another one first."""
        if home is None or use[0] not in self.span or home[0] not in self.span:
            return False
        if use[0] == home[0]:
            return use[1] > home[1]
        (first, last), (low, high) = self.span[home[0]], self.span[use[0]]
        return first < low and high < last
