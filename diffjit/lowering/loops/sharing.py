"""Loops over lanes that may run in several threads: the loop becomes a function of a part of its range.

    def lanes1_(lo_, hi_, x, out):                run_lanes(lanes1_, n, (x, out))
        for lane in range(lo_, hi_):
            out[lane] = f(x[lane])

Which loops these are says `analysis.separate`; when it pays, the runtime finds out by the clock (`runtime.lane_parts`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from diffjit.analysis.separate import SEPARATE
from diffjit.ir.nodes import Op, Value
from diffjit.ir.text import syntax
from diffjit.ir.types import Array
from diffjit.ir.walk import walk
from diffjit.lowering.text.spreading import Part, free_names, groups_of
from diffjit.tree import NO_THREADS

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


def pays(printer: LoweredPrinter, op: Op) -> bool:
    """Whether a loop becomes a function."""
    return (
        printer.threads_from < NO_THREADS
        and bool(op.attrs.get(SEPARATE))
        and id(printer.function) not in printer.recursive
    )


def share(printer: LoweredPrinter, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
    """The call that runs a loop."""
    assert isinstance(loop.iter, ast.Call)
    (count,) = loop.iter.args
    low, high = printer.temp("lo"), printer.temp("hi")
    loop.iter = syntax.expr("range(lo, hi)", lo=syntax.variable(low), hi=syntax.variable(high))
    body: list[ast.stmt] = [loop, *syntax.stmts("return 0")]
    free = [n for n in free_names(body, {low, high}) if n not in printer.definitions]
    behind: dict[str, list[Value]] = {}
    for inner in walk(op.regions[0]):
        for v in inner.inputs:
            known = name(v) if isinstance(v.type, Array) else None
            if known in free:
                behind.setdefault(known, []).append(v)
    groups = (0, 0, *groups_of(free, behind, printer.roots))
    rooms = sum(isinstance(n, ast.Name) and n.id.startswith("room_") for n in ast.walk(loop))
    printer.rooms -= rooms
    part = Part(printer.part_name(), [low, high, *free], groups, body, rooms)
    printer.parts.append(part)
    given = syntax.tuple_of([syntax.variable(n) for n in free])
    call = syntax.expr(
        "run_lanes(function, count, given)", function=syntax.variable(part.name), count=count, given=given
    )
    call.origin = op  # type: ignore[attr-defined] - the place of a failure
    return [ast.Expr(value=call)]
