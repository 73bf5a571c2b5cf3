"""Functions that stand in a program as calls: what they give back is their own, and what runs again prints nothing."""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import clone_op
from diffjit.transforms.rules import is_complex


def turned(build: Builder, bar: Value) -> Value:
    """A complex cotangent in the other of two conventions: JAX's, or a gradient in the plane (`Reverse.outside`)."""
    if not is_complex(bar):
        return bar
    ty = bar.type
    if not isinstance(ty, Array) or ty.ndim:
        return build.value("conjugate", [bar], ty, name=bar.name)
    number = Scalar(ty.dtype)  # NumPy's functions would make a number of an array without dimensions
    found = build.value("conjugate", [build.value("load", [bar], number)], number)
    return build.value("full", [found], ty, name=bar.name, order="C")


def clone_silently(op: Op, mapping: dict[Value, Value], into: Block) -> None:
    """A copy of an operation that prints nothing, and makes no call of Python again that was made for what it does."""
    if not op.row.once or op.outputs:
        made = clone_op(op, mapping, into)
        left_out(made)
        silence(made.regions)


def silence(regions: list[Block]) -> None:
    """In place: without prints and calls of Python that were made already."""
    for region in regions:
        region.ops = [op for op in region.ops if not left_out(op)]
        for op in region.ops:
            silence(op.regions)


def left_out(op: Op) -> bool:
    """Whether an operation is done once, where a part of the program runs again; one with results may go if these do.

    Where a result is needed all the same, the program is refused when it is printed: the answer would be another.
    """
    if op.row.once and op.outputs:
        op.attrs["repeats"] = True
    return op.row.once and not op.outputs


def own(results: list[Value], function: Function) -> list[Value]:
    """Results that share memory neither with parameters nor with each other."""
    made = Function(function.name, function.params, Block([], function.body.ops, results))
    memory = analyses(made).one_memory
    taken = {memory.find(p) for p in function.params if isinstance(p.type, Array)}
    build = Builder(function.body)
    found: list[Value] = []
    for v in results:
        if isinstance(v.type, Array) and memory.find(v) in taken:
            found.append(
                build.value("copy", [v], v.type, order="K" if v.type.layout == "A" else v.type.layout, name=v.name)
            )
            continue
        if isinstance(v.type, Array):
            taken.add(memory.find(v))
        found.append(v)
    return found
