"""Takes what generated loops say of themselves (`lowering.marks`) out of Numba's IR, and keeps it beside the IR.

$1 = getattr(u, inside)                $3 = getitem(u, i)        known of it: inside
$3 = getitem($1, i)            ->

$4 = global(parallel)                  $4 = global(range)
$5 = call $4(n)                        $5 = call $4(n)           the loop over it: parallel
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.lowering.llvm.numba_internals import IR
from diffjit.lowering.marks import FACTS, LOOPS

NOTHING: frozenset[str] = frozenset()
BESIDE = "diffjit_facts"  # the attribute of a function of Numba's IR that holds its facts


@dataclass(slots=True)
class Facts:
    """What is known of the expressions and loops of one function."""

    of: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])  # by id of expression or store
    loops: dict[Any, str] = field(default_factory=dict[Any, str])  # label of a loop's head -> its kind
    held: list[Any] = field(default_factory=list[Any])  # what the ids are of

    def note(self, inst: Any, known: frozenset[str]) -> None:
        """Something is known of an expression or a store."""
        self.of[id(inst)] = self.of.get(id(inst), NOTHING) | known
        self.held.append(inst)


def take_out(function: Any) -> None:
    """Take the words out of a function of Numba's IR, in place, and put what they say beside it."""
    facts = Facts()
    marked: dict[str, tuple[Any, frozenset[str]]] = {}  # variable -> the array, and what is said of it
    ranges: dict[str, str] = {}  # variable -> the kind of loop that it stands for
    for block in function.blocks.values():
        kept: list[Any] = []
        for inst in block.body:
            if isinstance(inst, IR.Assign):
                if _is_word(inst, marked):
                    continue
                kind = _kind_of_loop(inst.value, ranges)
                if kind is not None:
                    ranges[inst.target.name] = kind
                    if isinstance(inst.value, IR.Expr) and inst.value.op == "getiter":
                        facts.loops[block.body[-1].target] = kind
                if isinstance(inst.value, IR.Expr):
                    _restore(inst.value, marked, facts)
            elif isinstance(inst, (IR.SetItem, IR.StaticSetItem)) and inst.target.name in marked:
                inst.target, known = marked[inst.target.name]
                facts.note(inst, known)
            kept.append(inst)
        block.body = kept
    setattr(function, BESIDE, facts)


def _is_word(inst: Any, marked: dict[str, tuple[Any, frozenset[str]]]) -> bool:
    """Whether an assignment only says something of an array, or copies one of which something is said."""
    value = inst.value
    if isinstance(value, IR.Expr) and value.op == "getattr" and value.attr in FACTS:
        array, known = marked.get(value.value.name, (value.value, NOTHING))
        marked[inst.target.name] = array, known | {value.attr}
        return True
    if isinstance(value, IR.Var) and value.name in marked:
        marked[inst.target.name] = marked[value.name]
        return True
    return False


def _kind_of_loop(value: Any, ranges: dict[str, str]) -> str | None:
    if isinstance(value, IR.Global) and value.name in LOOPS:
        kind, value.name = value.name, "range"
        return kind
    if isinstance(value, IR.Expr) and value.op in ("call", "getiter"):
        return ranges.get((value.func if value.op == "call" else value.value).name)
    return None


def _restore(expr: Any, marked: dict[str, tuple[Any, frozenset[str]]], facts: Facts) -> None:
    """The array itself in place of the array of which something is said."""
    if expr.op in ("getitem", "static_getitem") and expr.value.name in marked:
        expr.value, known = marked[expr.value.name]
        facts.note(expr, known)
    elif expr.op == "call" and any(a.name in marked for a in expr.args):
        for a in expr.args:
            if a.name in marked:
                facts.note(expr, marked[a.name][1])
        expr.args = [marked[a.name][0] if a.name in marked else a for a in expr.args]
