"""Loops over lanes that may run in several threads: the loop becomes a function of a part of its range.

    def lanes1_(lo_, hi_, x, out):                run_lanes(lanes1_, n, (x, out))
        for lane in range(lo_, hi_):
            out[lane] = f(x[lane])

Which loops these are says `analysis.separate`; when it pays, the runtime finds out by the clock (`runtime.lane_parts`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from diffjit.analysis.separate import ONCE, SEPARATE
from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.text import syntax
from diffjit.ir.types import Array
from diffjit.ir.walk import walk
from diffjit.lowering.loops import told
from diffjit.lowering.loops.outlined import MOST, rooms_in
from diffjit.lowering.text.spreading import Part, free_names, given_names, groups_of
from diffjit.tree import NO_THREADS

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


def pays(printer: LoweredPrinter, op: Op) -> bool:
    """Whether a loop becomes a function."""
    if printer.threads_from >= NO_THREADS or not op.attrs.get(SEPARATE) or id(printer.function) in printer.recursive:
        return False
    if ONCE not in op.attrs or printer.device or not printer.looped(op):
        return True
    return any(inner.row.loop for inner in walk(op.regions[0]))  # else what a call takes would show


def arrays_behind(op: Op, names: Collection[str], name: Callable[[Value], str | None]) -> dict[str, list[Value]]:
    """What the variables of a loop stand for that are arrays."""
    behind: dict[str, list[Value]] = {}
    for inner in walk(op.regions[0]):
        for v in inner.inputs:
            known = name(v) if isinstance(v.type, Array) else None
            if known is not None and known in names:
                behind.setdefault(known, []).append(v)
    return behind


def part_of(printer: LoweredPrinter, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> Part:
    """The function of a part of a loop's range, which begins at 0 whatever the loop's does."""
    first = const_of(op.inputs[0])
    low, high = printer.temp("lo"), printer.temp("hi")
    ends = {"lo": syntax.variable(low), "hi": syntax.variable(high)}
    if first:
        loop.iter = syntax.expr("range(lo + first, hi + first)", **ends, first=ast.Constant(value=first))
    else:
        loop.iter = syntax.expr("range(lo, hi)", **ends)
    body: list[ast.stmt] = [loop, *syntax.stmts("return 0")]
    free = given_names(printer, body, {low, high})
    groups = (0, 0, *groups_of(free, arrays_behind(op, free, name), printer.roots))
    rooms = rooms_in(loop)
    printer.rooms -= rooms
    part = Part(printer.part_name(), [low, high, *free], groups, body, rooms)
    printer.parts.append(part)
    return part


def share(printer: LoweredPrinter, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
    """The call that runs a loop."""
    assert isinstance(loop.iter, ast.Call)
    if ONCE in op.attrs and len(free_names([loop], set())) > MOST:
        return [loop]
    count = loop.iter.args[-1]
    if first := const_of(op.inputs[0]):
        count = syntax.expr("trip(first, stop, 1)", stop=count, first=ast.Constant(value=first))
    part = part_of(printer, op, loop, name)
    given = syntax.tuple_of([syntax.variable(n) for n in part.parameters[2:]])
    told.part(part.name, op)
    run = "run_turns" if ONCE in op.attrs else "run_lanes"
    call = syntax.expr(f"{run}(function, count, given)", function=syntax.variable(part.name), count=count, given=given)
    call.origin = op  # type: ignore[attr-defined] - the place of a failure
    return [ast.Expr(value=call)]
