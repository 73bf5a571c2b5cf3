"""Which accesses of a program need no test, and which must stay though nobody uses what they read."""

from __future__ import annotations

from collections.abc import Callable

from diffjit.analysis.integers.bounds import Bounds
from diffjit.analysis.manager import analyses
from diffjit.ir.checks import cannot_fail
from diffjit.ir.nodes import Function, Op
from diffjit.ir.raising import tests_index
from diffjit.ir.walk import callees, walk


def proofs(function: Function) -> Callable[[Op], bool]:
    """Tells of accesses of a function, and of those that it calls, whether their indices are within bounds."""
    homes: dict[Op, Function] = {}
    known: dict[int, Bounds] = {}

    def inside(op: Op) -> bool:
        if not homes:
            homes.update((o, f) for f in callees(function) for o in walk(f.body))
        home = homes[op]
        if id(home) not in known:
            known[id(home)] = analyses(home).bounds
        return known[id(home)].proves(op)

    return inside


def untested(function: Function) -> Callable[[Op], bool]:
    """Tells of operations that must stay though nobody uses what they read: an index may be out of bounds."""
    found: list[Bounds] = []

    def stays(op: Op) -> bool:
        if not tests_index(op):
            return False
        if op.row.indices_at is None:
            return True
        if not found:
            found.append(analyses(function).bounds)
        proven = found[0].proves(op)
        if proven:
            cannot_fail(op)  # those who rely on it may go on doing so when it is gone
        return not proven

    return stays
