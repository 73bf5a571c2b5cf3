"""Loops of long functions that become functions of their own, for LLVM's sake.

    def loop1_(n_, x, y_bar):                          a_bar = loop1_(n_, x, y_bar)
        a_bar = 0.0
        for i_ in range(n_):
            a_bar = a_bar + x[i_] * y_bar[i_]
        return a_bar

LLVM takes more than twice the time for a function that is twice as long. A call costs some nanoseconds, so short loops
within loops stay where they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from diffjit.ir.nodes import Op, Value
from diffjit.ir.text import syntax
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk
from diffjit.lowering.loops import reuse
from diffjit.lowering.text.spreading import Part, free_names, given_names, groups_of

if TYPE_CHECKING:
    from diffjit.lowering.text.nests import Loops
    from diffjit.lowering.text.source import LoweredPrinter

LONGEST = 1000  # operations of a function whose loops are functions
HUGE = 8000  # operations of a function whose array operations are, too, in loops: else LLVM does not get through
PART = 500  # operations of a loop that is one function, and not made of more
FEW = 32  # operations of a loop within a loop that stays where it is: a call would take longer
MOST = 24  # parameters of a function: each array is nine or more of the machine's, and may overlap any other
FRACTION = 2  # a loop that is more of a function than one of so many parts stays where it is


def size(op: Op) -> int:
    """How many operations an operation of the loop program is made of."""
    return sum(len(each.attrs.get("members", ())) or 1 for each in (op, *(o for r in op.regions for o in walk(r))))


def planned(printer: LoweredPrinter) -> set[Op]:
    """The loops that become functions."""
    loops = set[Op]()
    if printer.size < LONGEST or id(printer.function) in printer.recursive:
        return loops
    todo = [(printer.function.body, False)]
    while todo:
        block, looped = todo.pop()
        for op in block.ops:
            alone = op.kind == "for" and _loop_pays(printer, op, looped=looped)
            if alone:
                loops.add(op)
            if not alone or size(op) > PART:
                todo += [(region, looped or op.row.loop) for region in op.regions]
    return loops


def nest_pays(nest: Loops) -> bool:
    """Whether the loops of array operations become a function."""
    printer = nest.printer
    if not nest.order or id(printer.function) in printer.recursive:
        return False
    return printer.size >= HUGE or (printer.size >= LONGEST and not printer.looped(nest.op))


def _loop_pays(printer: LoweredPrinter, op: Op, *, looped: bool) -> bool:
    """Whether a loop of the user's, or of its way back, becomes a function."""
    if not all(isinstance(v.type, Scalar) for v in op.outputs) or FRACTION * size(op) > printer.size:
        return False
    return all(map(_has_value, op.inputs[3:])) and (not looped or size(op) >= FEW)


def _has_value(v: Value) -> bool:
    return v.op is None or v.op.kind != "undef"


def rooms_in(loop: ast.For) -> int:
    """How many rooms a loop takes."""
    return sum(isinstance(n, ast.Name) and n.id.startswith(reuse.WITH_SLOT) for n in syntax.nodes(loop))


def outline(
    printer: LoweredPrinter, op: Op, loop: ast.For, runs: list[ast.stmt], name: Callable[[Value], str | None]
) -> list[ast.stmt]:
    """The call that runs a loop, as the statements `runs`."""
    made = set(syntax.assigned(loop))
    results = [n for n in dict.fromkeys(map(name, op.outputs)) if n is not None and n in made]
    # Bounds are read once: the body may use their names.
    bounds = [n.id for n in syntax.nodes(loop.iter) if isinstance(n, ast.Name)]
    carried = list(dict.fromkeys([*results, *(n for n in bounds if n in made)]))
    behind: dict[str, list[Value]] = {}
    for inner in walk(op.regions[0]):
        for v in inner.inputs:
            known = name(v) if isinstance(v.type, Array) else None
            if known is not None:
                behind.setdefault(known, []).append(v)
    if len(free_names([loop], set())) > MOST:
        return runs
    rooms = rooms_in(loop)
    printer.rooms -= rooms
    return call_of(printer, runs, results=results, carried=carried, behind=behind, rooms=rooms, origin=op)


def call_of(
    printer: LoweredPrinter,
    body: list[ast.stmt],
    *,
    results: list[str],
    behind: dict[str, list[Value]],
    carried: Sequence[str] = (),
    fresh: Collection[str] = (),
    rooms: int = 0,
    origin: Op,
) -> list[ast.stmt]:
    """The call of a function with statements as its body.

    `results`: variables whose values leave; `carried`: those that they read before they assign them; `behind`: what
    arrays stand for, but for `fresh` ones.
    """
    names = [*carried, *given_names(printer, body, set(carried))]
    out = syntax.tuple_of([syntax.variable(n) for n in results]) if len(results) > 1 else None
    back = out or (syntax.variable(results[0]) if results else ast.Constant(value=0))
    part = Part(
        printer.part_name(),
        names,
        tuple(groups_of(names, behind, printer.roots, fresh)),
        [*body, ast.Return(value=back)],
        rooms,
    )
    printer.parts.append(part)
    call = syntax.call(part.name, *(syntax.variable(n) for n in names))
    call.origin = origin  # type: ignore[attr-defined] - the place of a failure
    call.runs = body  # type: ignore[attr-defined] - for `printed_order`
    if not results:
        return [ast.Expr(value=call)]
    targets: list[ast.expr] = [syntax.target(n) for n in results]
    target = targets[0] if len(targets) == 1 else ast.Tuple(elts=targets, ctx=syntax.STORE)
    return [ast.Assign(targets=[target], value=call, lineno=0)]
