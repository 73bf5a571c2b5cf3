"""Which values depend on the differentiated inputs ("varied") and which matter for the results ("useful")."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from diffjit.analysis.memory import Memory
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import is_float, is_ref
from diffjit.ir.walk import walk

_SHAPE_ONLY = {"unbroadcast": (1,)}


@dataclass(slots=True, eq=False)
class Activity:
    """Varied and useful values; memory is treated class by class."""

    function: Function
    memory: Memory
    inputs: list[Value]
    outputs: list[Value]
    varied: set[Any] = field(default_factory=set[Any])
    useful: set[Any] = field(default_factory=set[Any])

    def __post_init__(self) -> None:
        for v in self.inputs:
            self._mark(self.varied, v)
        while self._forward(self.function.body):
            pass
        for v in self.outputs:
            if is_float(v.type):
                self._mark(self.useful, v)
        while self._backward(self.function.body):
            pass

    def _key(self, v: Value) -> Any:
        return (
            self.memory.find(v)
            if (is_ref(v.type) and self.memory.written(v)) or (is_ref(v.type) and self.memory.is_shared(v))
            else v
        )

    def _mark(self, marks: set[Any], v: Value) -> bool:
        if not is_float(v.type):
            return False
        key = self._key(v)
        if key in marks:
            return False
        marks.add(key)
        return True

    def is_varied(self, v: Value) -> bool:
        """Whether the value depends on a differentiated input."""
        return is_float(v.type) and self._key(v) in self.varied and not self._stopped(v)

    def _stopped(self, v: Value) -> bool:
        """Whether a reference was taken of memory so that derivatives end there, and that was not written to since."""
        while v.op is not None and is_view(v.op):
            v = v.op.inputs[0]
        return v.op is not None and v.op.kind == "stop_gradient" and not self.memory.changes_after(v, v.op)

    def is_useful(self, v: Value) -> bool:
        """Whether a result depends on the value."""
        return is_float(v.type) and self._key(v) in self.useful

    def active(self, v: Value) -> bool:
        """Whether the value carries a derivative."""
        return self.is_varied(v) and self.is_useful(v)

    def _transfers(self, op: Op) -> list[tuple[Value, Value]]:
        """Pairs (from, to) along which dependence flows."""
        pairs: list[tuple[Value, Value]] = []
        if op.kind == "if":
            for region in op.regions:
                pairs += list(zip(region.results, op.outputs, strict=True))
            return pairs
        if op.row.loop:
            return _loop_pairs(op)
        if op.row.constant:
            return []
        if op.kind == "custom_link":
            return [(v, out) for v in op.inputs[: op.attrs["n_args"]] for out in op.outputs]
        if op.kind == "call" and "rules" in op.attrs:
            return [(v, out) for v in op.inputs for out in op.outputs]
        if op.kind == "call":
            writes = op.attrs["function"].writes or ()
            changed = [v for k, v in enumerate(op.inputs) if k in writes]
            return [(a, b) for a in (*op.inputs, *op.outputs) for b in (*changed, *op.outputs)]
        if op.row.keeps:
            return [
                (op.inputs[1], op.inputs[0]),
                *(((op.inputs[0], op.inputs[1]),) if is_ref(op.inputs[1].type) else ()),
            ]
        if op.row.value is not None:
            return [(op.inputs[op.row.value], op.inputs[0])]
        skip = _SHAPE_ONLY.get(op.kind, ())
        return [(v, out) for k, v in enumerate(op.inputs) if k not in skip for out in op.outputs]

    def _forward(self, block: Block) -> bool:
        changed = False
        for op in walk(block):
            for source, target in self._transfers(op):
                if self.is_varied(source):
                    changed |= self._mark(self.varied, target)
        return changed

    def _backward(self, block: Block) -> bool:
        changed = False
        for op in reversed(list(walk(block))):
            for source, target in self._transfers(op):
                if self.is_useful(target):
                    changed |= self._mark(self.useful, source)
        return changed


def endless(function: Function, memory: Memory) -> list[Value]:
    """The values that may hold an infinite number, or a NaN, that the program writes down: `np.inf`."""
    ops = list(walk(function.body))
    written = [op.out for op in ops if op.kind == "const" and is_float(op.out.type) and not _is_finite(op)]
    if not written:
        return []
    marks = Activity(function, memory, written, [])
    inner = [v for op in ops for region in op.regions for v in region.args]
    return [v for v in (*function.params, *inner, *(v for op in ops for v in op.outputs)) if marks.is_varied(v)]


def _is_finite(op: Op) -> bool:
    return bool(np.isfinite(op.attrs["value"]))


def _loop_pairs(op: Op) -> list[tuple[Value, Value]]:
    body = op.regions[-1]
    init = op.inputs[3:] if op.kind == "for" else op.inputs
    args = body.args[1:] if op.kind == "for" else body.args
    results = body.results[1:] if op.attrs.get("exit") else body.results
    pairs: list[tuple[Value, Value]] = []
    for i, a, r, o in zip(init, args, results, op.outputs, strict=True):
        pairs += [(i, a), (r, a), (i, o), (r, o)]
    if op.kind == "while":
        for i, a, r in zip(init, op.regions[0].args, results, strict=True):
            pairs += [(i, a), (r, a)]
    return pairs
