"""Computes once what is computed again from the same values.

t1 = m / rho                    t1 = m / rho
c = abs(t1)              ->     c = abs(t1)
t2 = m / rho                    e = rho * t1
e = rho * t2

An operation on numbers may be shared wherever the first one is in scope. One that reads memory only where that memory
is never written; one that makes an array only where nobody writes to it, keeps it in a list or returns it, so that
nobody can tell one array from two. Cheap numbers are computed again, for the text's sake.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.ir.checks import inherit
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, const_of, is_const, is_view, without_labels
from diffjit.ir.ops import Cost
from diffjit.ir.text.strategy import reads_memory
from diffjit.ir.types import Array, Scalar, is_ref
from diffjit.ir.walk import blocks, walk
from diffjit.transforms.reverse.policy import is_cheap


def share_common(function: Function) -> None:
    """Replace repeated operations by the first of them, in place."""
    equal_numbers(function)


def equal_numbers(function: Function) -> dict[Value, Value]:
    """As `share_common`; numbers that are computed again all the same, and the first ones that they equal."""
    sharing = _Sharing(function)
    sharing.block(function.body, {})
    return sharing.same


class _Sharing:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.count: Counter[Value] | None = None
        self.mapping: dict[Value, Value] = {}
        self.same: dict[Value, Value] = {}  # numbers that are equal to earlier ones, but computed again
        self.memory = analyses(function).memory
        self.final = frozenset[Any]()
        if any(_makes_array(op) for op in walk(function.body)):
            self.whole = whole = analyses(function).one_memory
            self.final = frozenset(whole.find(v) for v in function.results if is_ref(v.type))

    def block(self, block: Block, outer: dict[Hashable, Op]) -> None:
        seen = dict(outer)
        kept: list[Op] = []
        for op in block.ops:
            op.inputs = [self.mapping.get(v, v) for v in op.inputs]
            for region in op.regions:
                self.block(region, seen)
            key = self.key(op)
            first = seen.get(key) if key is not None else None
            if first is not None and _is_cheap(op) and not self.has_variable(first, op):
                self.same[op.out] = self.same.get(first.out, first.out)
            elif first is not None and _same_name(first.out, op.out):
                self.mapping[op.out] = first.out
                first.out.name = first.out.name or op.out.name
                inherit(first, op)
                if first.attrs.get("nowrap") and not op.attrs.get("nowrap"):
                    del first.attrs["nowrap"]
                continue
            if key is not None:
                seen[key] = op
            kept.append(op)
        block.ops = kept
        block.results = [self.mapping.get(v, v) for v in block.results]

    def has_variable(self, first: Op, again: Op) -> bool:
        """Whether one of two equal cheap numbers is read more than once, and so is a variable anyway."""
        if not is_cheap(first):
            return False
        if self.count is None:
            self.count = Counter(v for op in walk(self.function.body) for v in op.inputs)
            for block in blocks(self.function.body):
                self.count.update(block.results)
        return self.count[first.out] > 1 or self.count[again.out] > 1

    def key(self, op: Op) -> Hashable:
        """What an operation computes; None where it must not be shared."""
        if len(op.outputs) != 1 or not (op.row.shared or is_view(op)):
            return None
        if reads_memory(op) and any(is_ref(v.type) and self.memory.written(v) for v in op.inputs):
            return None
        if _makes_array(op) and not self.private(op.out):
            return None
        shown = sorted(without_labels(op.attrs).items()) if op.attrs else ()
        attrs = [(name, _hashable(a)) for name, a in shown if name not in _SAID]
        out = op.out.type
        kind = ("array", out.dtype, out.ndim, out.layout) if isinstance(out, Array) else out
        key = (op.kind, tuple(operand(self.same.get(v, v)) for v in op.inputs), kind, tuple(attrs))
        return key if all(a is not None for _, a in attrs) else None

    def private(self, v: Value) -> bool:
        """Whether nobody can tell a fresh array from another with the same contents."""
        if self.memory.written(v) or self.memory.is_shared(v):
            return False
        return self.whole.find(v) not in self.final


_SAID = frozenset({"nowrap", "inbounds", CHECKS})  # what is known of an operation, and not what it computes


def _is_cheap(op: Op) -> bool:
    """Numbers that LLVM shares by itself, and that read better where they are used: `u.size - 1`, `k * x[i]`."""
    return isinstance(op.out.type, Scalar) and op.row.cost <= Cost.CHEAP


def _makes_array(op: Op) -> bool:
    return len(op.outputs) == 1 and isinstance(op.out.type, Array) and not is_view(op)


def _same_name(a: Value, b: Value) -> bool:
    return a.name is None or b.name is None or a.name == b.name or isinstance(a.type, Array)


def operand(v: Value) -> Any:
    """An operand: the value, or a constant's bits."""
    if is_const(v) and isinstance(v.type, Scalar):
        value = const_of(v)
        return v.type, type(value), np.asarray(value).tobytes() if not isinstance(value, int) else value
    return v


def _hashable(a: Any) -> Any:
    """An attribute as part of a key, inside a tuple so that None means that it has none."""
    try:
        hash(a)
    except TypeError:
        return None
    return type(a), a
