"""Before a derivative: a private copy of the program, which no longer writes to the caller's arrays."""

from __future__ import annotations

from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.errors import MemoryProblem
from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.types import Array
from diffjit.ir.walk import clone_block, rename, walk
from diffjit.transforms.longints import long_integers
from diffjit.transforms.optimise.logarithms import reroute
from diffjit.transforms.squares import smooth_squares


def clone(function: Function) -> Function:
    """A copy that shares nothing with the original."""
    mapping: dict[Value, Value] = {}
    params: list[Value] = []
    for p in function.params:
        q = Value(p.type, p.name)
        mapping[p] = q
        params.append(q)
    body = clone_block(function.body, mapping)
    return Function(
        function.name, params, body, function.doc, function.source_file, function.source_line, dict(function.lines)
    )


WRITTEN = "written"
"""Attribute of a copy that stands for an argument which is written to: no other argument may be the same memory."""


def own_copy(function: Function) -> Function:
    """A copy in which arguments that are written to are copied on entry.

    def f(x):              def f(x0):
        x[0] = 1    ->         x = x0.copy()
                               x[0] = 1
    """
    f = copied_params(function, drawing=True)[0]
    long_integers(f)  # of a verb inside a program, which no other pass has seen
    smooth_squares(f)
    reroute(f, analyses(f).memory)
    return f


def copied_params(function: Function, *, drawing: bool = False) -> tuple[Function, dict[int, Value]]:
    """`own_copy`, and the copies by the position of their parameter.

    `drawing`: streams of random numbers stay the caller's. A derivative draws from them, as the function does.
    """
    f = clone(function)
    memory = analyses(f).memory
    mapping: dict[Value, Value] = {}
    positions: dict[int, Value] = {}
    copies: list[Op] = []
    drawn = streams(f, memory) if drawing else set[Any]()
    for k, p in enumerate(f.params):
        if isinstance(p.type, Array) and memory.written(p) and memory.find(p) not in drawn:
            _refuse_strides(f, memory, p)
            out = Value(Array(p.type.dtype, p.type.dims, p.type.layout), p.name)
            op = Op("copy", [p], [out], {"order": "K", WRITTEN: True})
            out.op, out.block = op, f.body
            copies.append(op)
            mapping[p] = positions[k] = out
    rename(f.body, mapping)
    f.body.ops[:0] = copies
    return f, positions


def streams(function: Function, memory: Memory) -> set[Any]:
    """The memory of streams of random numbers that a function draws from."""
    return _drawn(function, memory, {})


def stream_params(function: Function) -> list[int]:
    """The parameters that are streams of random numbers which a function draws from."""
    return _drawn_params(function, {})


def _drawn(function: Function, memory: Memory, known: dict[int, list[int]]) -> set[Any]:
    found = {memory.find(op.inputs[0]) for op in walk(function.body) if op.kind == "leave"}
    for op in walk(function.body):
        if op.kind == "call" and "rules" not in op.attrs:  # calls with rules change nothing
            found |= {memory.find(op.inputs[k]) for k in _drawn_params(op.attrs["function"], known)}
    return found


def _drawn_params(function: Function, known: dict[int, list[int]]) -> list[int]:
    """The same; `known`: of recursive functions, what has been found so far."""
    if id(function) in known:
        return known[id(function)]
    memory = analyses(function).memory
    known[id(function)] = []
    while True:
        drawn = _drawn(function, memory, known)
        found = [k for k, p in enumerate(function.params) if isinstance(p.type, Array) and memory.find(p) in drawn]
        if found == known[id(function)]:
            return found
        known[id(function)] = found


def _refuse_strides(function: Function, memory: Memory, param: Value) -> None:
    """A copy of a strided array is contiguous: a reshape that looks at the strides would decide otherwise on it."""
    if param.type.layout != "A":
        return
    for op in walk(function.body):
        if op.kind == "stride" and memory.find(op.inputs[0]) == memory.find(param):
            raise MemoryProblem(
                "DJ404",
                f"whether a reshape of `{param.name}` is a view or a copy depends on its strides, and it is written to",
                loc=op.loc,
                cure="copy the argument first: x = np.array(x)",
            )
