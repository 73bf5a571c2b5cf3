"""Lengths that the way back asks for, of arrays that only the way there has.

    for t in range(n):                          for t in reversed(range(n)):
        lap = np.zeros(len(u))                      lap_bar = np.zeros_like(lap)     # wants the length of lap
        lap[1:-1] = ...                             lap_bar += u_bar * dt
        u = u + dt * lap                            ...

An array whose lengths alone are wanted need not be recorded: these numbers are what is needed of the way there. They
are those of an array that is still there, where types say so; else they are recorded as other numbers are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffjit.ir.nodes import Function, Op, Value
from diffjit.ir.raising import LENGTH
from diffjit.ir.types import INT, Array, Dim, Sym
from diffjit.ir.walk import blocks, dce, nothing, uses, walk
from diffjit.transforms.lengths import named_lengths
from diffjit.transforms.optimise.tidy import labelled

if TYPE_CHECKING:
    from diffjit.transforms.reverse.keep import Keeper


class AskedLengths:
    """The lengths that one reverse sweep asks for."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.lengths: dict[Any, Value] = {}  # on the way there, by block and symbol or else by array and axis
        self.lasting: dict[Dim, tuple[Value, int]] | None = None

    def ask(self, sweep: Function) -> None:
        """Have a sweep want these numbers, in place of the arrays."""
        asked: dict[Op, dict[int, Op]] = {}  # what is kept -> axis -> the length, kept
        instead: dict[Value, Value] = {}
        ahead: dict[Op, Op] = {}
        users = uses(sweep)
        for op in list(walk(sweep.body)):
            v = _of_lengths(op)
            found = v.op if v is not None else None
            if v is None or found is None or found.kind != "kept":
                continue
            array, known = self._made_there(found.attrs["of"]), asked.setdefault(found, {})
            if array is None:
                continue
            if op.kind == "dim":
                instead[op.out] = self._kept(array, op.attrs["axis"], found, known)
                continue
            if op.kind == "unbroadcast" and not all(isinstance(u, Op) and _of_lengths(u) is v for u in users[v]):
                continue  # it is kept anyway
            lengths = [self._kept(array, k, found, known) for k in range(v.type.ndim)]
            if op.kind == "unbroadcast":
                ahead[op] = _like(v, lengths, op)
                op.inputs[1] = ahead[op].out
            else:
                op.kind, op.inputs, op.attrs = "zeros", lengths, {**op.attrs, "order": op.out.type.layout}
        for block in blocks(sweep.body) if asked else ():
            block.ops = [x for op in block.ops for x in (ahead.get(op), op, *asked.get(op, {}).values()) if x]
            for op in block.ops:
                op.inputs = [instead.get(v, v) for v in op.inputs]
            block.results = [instead.get(v, v) for v in block.results]
        with labelled(sweep):
            dce(sweep, nothing)

    def _kept(self, array: Value, axis: int, found: Op, known: dict[int, Op]) -> Value:
        """A length on the way back, next to what was kept of the array."""
        if axis not in known:
            assert isinstance(array.type, Array)
            d = array.type.dims[axis]
            lasting = self._lasting().get(d) if _has_value(array) else None
            if isinstance(d, int):
                op = Op("const", [], attrs={"value": d})
            elif lasting is not None:
                op = Op("dim", [lasting[0]], attrs={"axis": lasting[1]})
            else:
                op = Op("kept", [], attrs={"of": self._length(array, axis)})
            op.loc, op.outputs = found.loc, [Value(INT)]
            op.out.op, op.out.block = op, found.out.block
            known[axis] = op
        return known[axis].out

    def _made_there(self, array: Value) -> Value | None:
        """An array of the way there with the lengths of one that is kept; None where there is none."""
        array = self.keeper.snapshots.copied.get(array, array)
        here = array.block is not None and (array.op is None or array.op in self.keeper.order.places)
        return array if here else None

    def _length(self, array: Value, axis: int) -> Value:
        """A length as a number of the way there."""
        d = array.type.dims[axis]
        at = (array.block, d) if isinstance(d, Sym) and not d.parts and _has_value(array) else (array, axis)
        if at not in self.lengths:
            keeper, block = self.keeper, array.block
            assert block is not None
            place, key = (keeper.at_start, block) if array.op is None else (keeper.after, array.op)
            with keeper.forward_ops(place, key, block) as b:
                self.lengths[at] = b.value("dim", [array], INT, axis=axis)
        return self.lengths[at]

    def _lasting(self) -> dict[Dim, tuple[Value, int]]:
        """Lengths that have a name, and arrays that have them and are there on the way back."""
        if self.lasting is None:
            function = self.keeper.order.function
            made = [v for op in function.body.ops for v in op.outputs if _has_value(v)]
            self.lasting = named_lengths((*function.params, *made))
        return self.lasting


def note_length(recorded: Value) -> None:
    """Say of what reads a number that was recorded that it is a length."""
    op = recorded.op
    while op is not None and not op.row.control:
        op.attrs[LENGTH] = True
        op = op.inputs[0].op if op.kind == "cast" else None


def _has_value(array: Value) -> bool:
    """Whether an array is one that was made: what branches and loops join may have no value yet, and lengths of 0."""
    return array.op is not None and not array.op.row.control and array.op.kind != "undef"


def _of_lengths(op: Op) -> Value | None:
    """The array of which an operation wants the lengths alone, where it can take these numbers instead."""
    if op.kind == "unbroadcast":
        return op.inputs[1] if isinstance(op.inputs[1].type, Array) and op.inputs[1].type.ndim else None
    if op.kind == "dim" or (op.kind == "zeros_like" and op.out.type.layout != "A" and op.out.type.ndim > 0):
        return op.inputs[0]
    return None


def _like(v: Value, lengths: list[Value], op: Op) -> Op:
    """An array of these lengths that nobody reads."""
    made = Value(Array(v.type.dtype, v.type.dims, "C"), v.name)
    made.op, made.block = Op("empty", lengths, [made], {"order": "C"}, loc=op.loc), op.out.block
    return made.op
