"""Loops whose iterations add cotangents to arrays that all share: blocks of iterations, with arrays of their own.

    for i in range(n):                       if blocks_ == 1:
        for j in range(m):                       turns1_(0, n, x, g, w_bar)
            w_bar[j] += g[i] * x[i, j]       else:
                                                 parts_ = zeros((blocks_, m))
                                                 run_turns(blocks2_, blocks_, (n, blocks_, x, g, parts_))
                                                 for k_ in range(blocks_):
                                                     add_into(w_bar, parts_[k_, :])

    def blocks2_(lo_, hi_, n, blocks_, x, g, parts_):
        for k_ in range(lo_, hi_):
            turns1_(k_ * n // blocks_, (k_ + 1) * n // blocks_, x, g, parts_[k_, :])

How many blocks there are is told by the lengths alone, and their sums are added up in order: the bits are the same for
any number of threads. Which loops these are says `analysis.separate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from diffjit.analysis.manager import analyses
from diffjit.analysis.separate import SUMS
from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.walk import walk
from diffjit.lowering.loops import fuse, sharing, told
from diffjit.lowering.loops.outlined import MOST
from diffjit.lowering.text.lines import Lines, made_of, tuple_text
from diffjit.lowering.text.spreading import Part, free_names, groups_of
from diffjit.tree import NO_THREADS

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

_LEAST = 32  # iterations of a block
_BLOCKS, _THREADS = 32, 1 << 14  # blocks at most, for threads of the processor and for those of a device
_DENSE = 4  # elements of the arrays of all blocks for each iteration, where nobody knows how long its loops are,
_SHARE = 4  # and iterations of its loops for each such element, where that is known


def pays(printer: LoweredPrinter, op: Op) -> bool:
    """Whether a loop is printed so: not inside of others, where what it takes would show, and with loops in it."""
    return (
        SUMS in op.attrs
        and printer.threads_from < NO_THREADS
        and id(printer.function) not in printer.recursive
        and (printer.device or not printer.looped(op))
        and any(inner.row.loop or fuse.runs_in_loops(inner) for inner in walk(op.regions[0]))
    )


def add_up(printer: LoweredPrinter, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
    """The statements that run a loop."""
    sums = [name(v) for v in op.attrs[SUMS]]
    assert isinstance(loop.iter, ast.Call)
    if None in sums or len(free_names([loop], set())) > MOST:
        return [loop]
    roots = dict(zip([n for n in sums if n is not None], op.attrs[SUMS], strict=True))
    first = const_of(op.inputs[0])
    stop = ast.unparse(loop.iter.args[-1])
    turns = sharing.part_of(printer, op, loop, name)
    printer.at = op
    parts = {n: printer.temp("parts", f"{v.type.dtype.name}:{v.type.ndim + 1}C") for n, v in roots.items()}
    count, blocks, at = printer.temp("turns"), printer.temp("blocks"), printer.temp("block")
    shared = [n for n in turns.parameters[2:] if n not in roots]

    def rows(which: str) -> list[str]:
        return [f"{parts[n]}[{', '.join([which] + [':'] * roots[n].type.ndim)}]" for n in roots]

    given = dict(zip(roots, rows(at), strict=True))
    low, high = printer.temp("lo"), printer.temp("hi")
    inner = Lines()
    ends = f"quotient({at} * {count}, {blocks}), quotient(({at} + 1) * {count}, {blocks})"
    with inner.block(f"for {at} in range({low}, {high}):"):
        inner.add(f"{turns.name}({', '.join([ends, *(given.get(n, n) for n in turns.parameters[2:])])})")
    inner.add("return 0")
    names = [low, high, count, blocks, *shared, *parts.values()]
    apart = groups_of(names[2:], sharing.arrays_behind(op, shared, name), printer.roots, set(parts.values()))
    block = Part(printer.part_name(), names, (0, 0, *apart), inner.parse())
    printer.parts.append(block)
    told.part(block.name, op)

    lines = Lines()
    lines.add(f"{count} = trip({first}, {stop}, 1)")
    size = " + ".join(" * ".join(f"{n}.shape[{k}]" for k in range(v.type.ndim)) for n, v in roots.items())
    most = _THREADS if printer.device else _BLOCKS
    inner_turns = _inner_turns(printer, op, name)
    work = f"{count} * maximum({inner_turns}, 0)" if inner_turns else f"{count} * {_DENSE * _SHARE}"
    room = f"quotient({work}, {_SHARE} * maximum({size}, 1))"
    lines.add(f"{blocks} = maximum(minimum({most}, minimum(quotient({count}, {_LEAST}), {room})), 1)")
    with lines.block(f"if {blocks} == 1:"):
        lines.add(f"{turns.name}({', '.join(['0', count, *turns.parameters[2:]])})")
    with lines.block("else:"):
        for n, v in roots.items():
            dtype = v.type.dtype
            lengths = [blocks, *(f"{n}.shape[{k}]" for k in range(v.type.ndim))]
            printer.filled(parts[n], dtype, "C", lengths, "0.0", lines)
        lines.add(f"run_turns({block.name}, {blocks}, {tuple_text(names[2:])})")
        with lines.block(f"for {at} in range({blocks}):"):
            for n, row in zip(roots, rows(at), strict=True):
                lines.add(f"{printer.move('add_into')}({n}, {row})")
    return made_of(op, lines.parse())


def _inner_turns(printer: LoweredPrinter, op: Op, name: Callable[[Value], str | None]) -> str:
    """How often a loop inside turns in each iteration, where that is known in front; "" where it is not."""
    order = analyses(printer.function).order
    for inner in op.regions[0].ops:
        if inner.kind == "for" and const_of(inner.inputs[0]) == 0 and const_of(inner.inputs[2]) == 1:
            stop = inner.inputs[1]
            known = const_of(stop)
            found = str(known) if known is not None else name(stop) if order.visible(stop, op) else None
            if found is not None:
                return found
    return ""
