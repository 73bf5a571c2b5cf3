"""Loops of long functions that become functions of their own, for LLVM's sake.

    def loop1_(n_, x, y_bar):                          a_bar = loop1_(n_, x, y_bar)
        a_bar = 0.0
        for i_ in range(n_):
            a_bar = plus(a_bar, x[i_] * y_bar[i_])
        return a_bar

LLVM takes more than twice the time for a function that is twice as long. And a function with a sum that LLVM may
reorder goes through all of its passes before its first call (docs/decisions/0061): here that is the loop with the sum,
not all that stands around it. A call costs some nanoseconds, so loops within loops stay where they are, but for those
of array operations with such sums. In the longest functions these are functions, too, and what is left is added up in
the order of the text (`planned`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from diffjit.ir.nodes import SUM, Op, Value, const_of
from diffjit.ir.text import syntax
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk
from diffjit.lowering.text.rows import has_unit_rows
from diffjit.lowering.text.spreading import Part, free_names, given_names, groups_of

if TYPE_CHECKING:
    from diffjit.lowering.text.nests import Loops
    from diffjit.lowering.text.source import LoweredPrinter

SHORT = 40  # operations of a function whose loops with sums stand alone, where no loop is around them,
LONG = 250  # and where one is, in which a call shows sooner
LONGEST = 1000  # operations of a function whose loops do, whatever they compute, and whose own sums are in order
HUGE = 8000  # operations of a function whose array operations do, in loops, too: LLVM does not get through it otherwise
PART = 500  # operations of a loop that LLVM may take through all passes before the first call
FEW = 32  # elements that are added up where they are: a call would take longer
MOST = 24  # parameters of a function: each array is nine or more of the machine's, and may overlap any other
FRACTION = 2  # a loop that is more of a function than one of so many parts stays where it is


def size(op: Op) -> int:
    """How many operations an operation of the loop program is made of."""
    return sum(len(each.attrs.get("members", ())) or 1 for each in (op, *(o for r in op.regions for o in walk(r))))


def planned(printer: LoweredPrinter) -> tuple[set[Op], set[Op] | None]:
    """The loops that become functions, and the operations in whose sums LLVM may choose an order; None: in all.

    In the longest functions only loops that are functions have such sums, and only short ones: the function around
    them is quick, then, even where all that it does stands in one loop over time.
    """
    loops, reordered = set[Op](), set[Op]()
    if printer.size < SHORT or id(printer.function) in printer.recursive:
        return loops, None
    todo = [(printer.function.body, False)]
    while todo:
        block, looped = todo.pop()
        for op in block.ops:
            alone = op.kind == "for" and _loop_pays(printer, op, looped=looped)
            if alone:
                loops.add(op)
            if alone and size(op) <= PART:
                reordered.update(inner for region in op.regions for inner in walk(region))
            else:
                todo += [(region, looped or op.row.loop) for region in op.regions]
    return loops, reordered if printer.size >= LONGEST else None


def nest_pays(nest: Loops) -> bool:
    """Whether the loops of array operations become a function."""
    printer = nest.printer
    looped = printer.looped(nest.op)
    if not nest.order or id(printer.function) in printer.recursive or printer.size < (LONG if looped else SHORT):
        return False
    if printer.size >= HUGE:
        return True
    if printer.size < LONG and FRACTION * len(nest.members) > printer.size:
        return False
    known = looped and all(n.isdigit() for n in nest.nest.lengths)
    if known and (printer.size < LONGEST or math.prod(map(int, nest.nest.lengths)) < FEW):
        return False  # a small one, in which the call would show
    if printer.reordered is None:
        if looped and not all(map(_keeps_strides, (*nest.args, *nest.targets))):
            return False
    elif nest.op in printer.reordered:
        return False
    reordered = any(s.dtype.kind == "f" and not (s.place and not s.part) for s in nest.sums.values())
    return reordered or (printer.size >= LONGEST and not looped)


def _keeps_strides(v: Value) -> bool:
    """Whether a function knows as much of an array's strides as where it was made."""
    return not isinstance(v.type, Array) or v.type.layout in ("C", "F") or has_unit_rows(v)


def _loop_pays(printer: LoweredPrinter, op: Op, *, looped: bool) -> bool:
    """Whether a loop of the user's, or of its way back, becomes a function."""
    if looped and (printer.size < LONGEST or _turns(op) * size(op) < FEW):
        return False
    if not all(isinstance(v.type, Scalar) for v in op.outputs) or FRACTION * size(op) > printer.size:
        return False
    if not all(map(_has_value, op.inputs[3:])):
        return False
    reordered = any(SUM in inner.attrs for inner in walk(op.regions[0]))
    return reordered or (printer.size >= LONGEST and (not looped or size(op) >= FEW))


def _turns(op: Op) -> int:
    """How often a loop turns, where that is known; else as often as makes a call pay."""
    first, stop, step = map(const_of, op.inputs[:3])
    return FEW if first is None or stop is None or not step else len(range(int(first), int(stop), int(step)))


def _has_value(v: Value) -> bool:
    return v.op is None or v.op.kind != "undef"


def rooms_in(loop: ast.For) -> int:
    """How many rooms a loop takes."""
    return sum(isinstance(n, ast.Name) and n.id.startswith("room_") for n in syntax.nodes(loop))


def outline(printer: LoweredPrinter, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
    """The call that runs a loop."""
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
        return [loop]
    rooms = rooms_in(loop)
    printer.rooms -= rooms
    return call_of(printer, [loop], results=results, carried=carried, behind=behind, rooms=rooms, origin=op)


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
