"""Which loops of a program become parts that a device or threads may run, and why others do not: for `explain`."""

from __future__ import annotations

from collections.abc import Callable

from diffjit.ir import stages
from diffjit.ir.nodes import Block, Op
from diffjit.ir.stages import PARTS
from diffjit.ir.walk import walk

_CUBLAS = "matrices are multiplied by cuBLAS, where it is installed and there is enough to do, else by the processor"


def moved(kind: str, op: Op | None) -> None:
    """A whole array is filled, copied or added to by a kernel."""
    if op is not None:
        stages.note(PARTS, "txt", lambda: _line(kind, op, ""))


def part(name: str, op: Op) -> None:
    """A loop has become a part."""
    stages.note(PARTS, "txt", lambda: _line(name, op, ""))


def host(block: Block, is_part: Callable[[Op], bool]) -> None:
    """Tell of the loops and calls of libraries that stay as they are."""
    if stages.listening() is None:
        return
    for op in block.ops:
        if op.row.loop and not is_part(op):
            why = _why(op)
            stages.note(PARTS, "txt", lambda op=op, why=why: _line("", op, why))
        elif op.row.library:
            why = _CUBLAS if op.kind == "matmul" else f"{op.kind} is a library's, of the processor"
            stages.note(PARTS, "txt", lambda op=op, why=why: _line("", op, why))
        elif not op.row.loop:
            for region in op.regions:
                host(region, is_part)


def _why(loop: Op) -> str:
    if loop.kind != "for":
        return "a `while` takes one turn after the other"
    if loop.attrs.get("exit"):
        return "the loop may be left early"
    if any(op.row.once or op.row.linked for op in walk(loop.regions[0])):
        return "Python or a library is called in the loop"
    if loop.outputs:
        return "a turn goes on with numbers of the one before"
    return "turns may need one another's elements, or one may fail"


def _line(name: str, op: Op, why: str) -> str:
    file, line = ("", 0) if op.loc is None else (op.loc.file, op.loc.line)
    return "\t".join(("part", name, file, str(line), why))
