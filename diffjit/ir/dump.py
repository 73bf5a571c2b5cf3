"""Programs in SSA form as text, for people who debug passes; `diffjit.ir.text.printer` prints them as Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from diffjit.ir.nodes import Block, Function, Op, Value, without_labels


def format_ir(function: Function) -> str:
    """The whole function, one operation a line, with the type of each value where it is defined."""
    numbers = _Numbers()
    head = f"function {function.name}({numbers.defined(function.params)})"
    return "\n".join([head, *_block(function.body, numbers, "    "), ""])


class _Numbers:
    """Short names for values: `%3.x` for the third value met, called x."""

    def __init__(self) -> None:
        self.known: dict[Value, str] = {}

    def __getitem__(self, v: Value) -> str:
        if v not in self.known:
            self.known[v] = f"%{len(self.known)}" + (f".{name}" if (name := getattr(v, "name", repr(v))) else "")
        return self.known[v]

    def used(self, values: Iterable[Value]) -> str:
        return ", ".join(self[v] for v in values)

    def defined(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self[v]}: {v.type}" for v in values)


def _block(block: Block, numbers: _Numbers, indent: str) -> Iterator[str]:
    if block.args:
        yield f"{indent}({numbers.defined(block.args)}):"
    for op in block.ops:
        yield from _op(op, numbers, indent)
    if block.results:
        yield f"{indent}-> {numbers.used(block.results)}"


def _op(op: Op, numbers: _Numbers, indent: str) -> Iterator[str]:
    attrs = " ".join(f"{key}={_short(value)}" for key, value in without_labels(op.attrs).items())
    inputs = numbers.used(op.inputs)
    outputs = numbers.defined(op.outputs)
    place = f"  # line {op.loc.line}" if op.loc is not None else ""
    yield f"{indent}{outputs + ' = ' if outputs else ''}{op.kind}({inputs}){' ' + attrs if attrs else ''}{place}"
    for k, region in enumerate(op.regions):
        if k:
            yield f"{indent}  --"
        yield from _block(region, numbers, indent + "    ")


def _short(value: Any) -> str:
    if isinstance(value, Function):
        return value.name
    if isinstance(value, type):
        return value.__name__
    return repr(value)
