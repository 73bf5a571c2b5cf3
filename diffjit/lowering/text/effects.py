"""What is seen from outside: `print` and `raise`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from diffjit.ir.nodes import Op
from diffjit.lowering.loops.reuse import HOLD
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


def _named(printer: LoweredPrinter, op: Op, args: list[ast.expr], lines: Lines) -> list[str]:
    return [printer.named(a, v, lines) for a, v in zip(args, op.inputs, strict=True)]


@statement("raise")
def _raise(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    texts = _named(printer, op, args, lines)
    lines.add(f"raise {printer.define(f'error_{len(texts)}', f'effects.error({len(texts)})')}({', '.join(texts)})")


@statement("print")
def _print(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    texts = _named(printer, op, args, lines)
    lines.add(f"{printer.define(f'show_{len(texts)}', f'effects.show({len(texts)})')}({', '.join(texts)})")


@statement(HOLD)
def _hold(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    lines.add(f"hold({printer.named(args[0], op.inputs[0], lines)})")
