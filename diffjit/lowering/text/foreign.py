"""Calls of functions without source as text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from diffjit.errors import InternalError
from diffjit.ir.nodes import Op
from diffjit.ir.text.expressions import not_again
from diffjit.ir.types import Array, Scalar
from diffjit.lowering.calls import callbacks
from diffjit.lowering.draws.text import c_function, write_draw
from diffjit.lowering.runtime.typespec import spec_of
from diffjit.lowering.text import loops
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines, tuple_text
from diffjit.primitives.routines import Site

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


@statement("foreign", "opaque")
def _foreign(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Results that are arrays are allocated; then the function is called, or its loop for each row."""
    site: Site = op.attrs["site"]
    not_again(op)
    drawn = c_function(site)
    if drawn is None:
        callbacks.register(site)
    n = len(site.inputs)
    given = [printer.named(a, v, lines) for a, v in zip(args[:n], op.inputs, strict=False)]
    lengths = iter([printer.named(a, v, lines) for a, v in zip(args[n:], op.inputs[n:], strict=True)])
    shapes: list[list[str]] = []
    for out, v in zip(outs, op.outputs, strict=True):
        if isinstance(v.type, Array):
            shapes.append([next(lengths) for _ in v.type.dims])
            order = "F" if v.type.layout == "F" else "C"
            if drawn is not None and out == outs[0]:
                continue  # the words of a stream
            lines.add(f"{out} = {printer.empty(v.type.dtype, out, order)}({tuple_text(shapes[-1])})")
    if drawn is not None:
        write_draw(printer, op, drawn, given, outs, lines)
        return
    arrays = [out for out, v in zip(outs, op.outputs, strict=True) if isinstance(v.type, Array)]
    numbers = [out for out, v in zip(outs, op.outputs, strict=True) if isinstance(v.type, Scalar)]
    if site.routine.way == "ufunc" and arrays:
        _rows(printer, op, given, arrays, shapes[0], lines)
        return
    if site.routine.way == "c":
        _check_layouts(op)
        for out, k in zip(arrays, sorted(site.routine.writes), strict=True):
            lines.add(f"copy_into({out}, {given[k]})")
    call = f"{printer.define(_name(printer, site), _called(site))}({', '.join([*given, *arrays])})"
    lines.add(f"{', '.join(numbers)} = {call}" if numbers else call)


def _name(printer: LoweredPrinter, site: Site) -> str:
    """A name that no variable has."""
    return site.label + printer.temporaries.suffix


def _check_layouts(op: Op) -> None:
    """C takes arrays whose elements lie one after the other."""
    signature = op.attrs["site"].routine.signature
    for v, p in zip(op.inputs, signature.taken, strict=False):
        if p.pointer and v.type.layout != p.order and not (v.type.ndim < 2 and v.type.layout in ("C", "F")):
            raise InternalError("DJ901", f"a C function is given an array of layout {v.type.layout}", loc=op.loc,
                                cure="this is a mistake in diffjit: please report it with the function")  # fmt: skip


def _rows(printer: LoweredPrinter, op: Op, given: list[str], outs: list[str], lengths: list[str], lines: Lines) -> None:
    """One call of the loop for each row: along the last axis."""
    site: Site = op.attrs["site"]
    indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(len(lengths) - 1)]
    item = f"[{', '.join([*indices, ':'])}]" if indices else ""
    rows = [name + item if isinstance(v.type, Array) else name for name, v in zip(given, op.inputs, strict=False)]
    shapes = "".join("a" if isinstance(v.type, Array) else "s" for v in op.inputs[: len(given)])
    what = f'foreign.rows("{callbacks.symbol(site)}", "{site.loop}", "{shapes}")'
    name = printer.define(_name(printer, site), what)
    with lines.loops(indices, lengths[:-1]):
        lines.add(f"{name}({', '.join([*rows, *[out + item for out in outs]])})", inside=bool(indices))


def _called(site: Site) -> str:
    """The definition of the helper that calls."""
    symbol = callbacks.symbol(site)
    if site.routine.way == "ufunc":
        return f'foreign.element("{symbol}", "{site.loop}")'
    if site.routine.way == "python":
        return f'foreign.python("{symbol}", {_specs(site.inputs)}, {_specs(site.outputs)})'
    signature = site.routine.signature
    assert signature is not None
    result = "" if signature.result is None else signature.result.name
    parameters: list[str] = []
    k = -1
    for p in signature.parameters:
        k += p.given
        mode = "data" if p.pointer and p.value else "null" if p.pointer else "zero"
        if p.given:
            mode = "value" if not p.pointer else "written" if k in site.routine.writes else "read"
        parameters.append(f"{mode} {p.dtype.name}")
    gil = ", gil=True" if signature.gil else ""
    return f'foreign.c_function("{symbol}", "{result}", {tuple(parameters)!r}{gil})'


def _specs(types: tuple[Scalar | Array, ...]) -> str:
    return repr(tuple(spec_of(ty) for ty in types))
