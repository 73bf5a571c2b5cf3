"""Which loops of a program become parts that a device or threads may run, and why others do not: for `explain`."""

from __future__ import annotations

from collections.abc import Callable

from diffjit.ir import stages
from diffjit.ir.nodes import Block, Op
from diffjit.ir.stages import PARTS
from diffjit.ir.walk import walk
from diffjit.lowering.text.forms import STATEMENTS

_LIBRARIES = ("linalg", "foreign")  # files of `lowering.text` whose forms call libraries


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
        elif _calls_library(op.kind):
            stages.note(PARTS, "txt", lambda op=op: _line("", op, f"{op.kind} is a library's, of the processor"))
        elif not op.row.loop:
            for region in op.regions:
                host(region, is_part)


def _calls_library(kind: str) -> bool:
    return kind in STATEMENTS and STATEMENTS[kind].__module__.rpartition(".")[2] in _LIBRARIES


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
