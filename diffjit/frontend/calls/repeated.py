"""Functions that a long program calls again and again with small arrays and numbers: interpreted once for each form.

A call is written out where it stands: that lets everything be known of what it gives. A dynamics of a robot's arm
calls its handful of matrix functions hundreds of times, and compile time grows with what is written out. Where that is
long, a function that many calls take a good part of becomes a program of its own, as a recursive function does
(`recursion`), and each call with arguments of the same form a call of it.

Only functions of modules that take numbers and arrays of known shapes, change nothing outside, read nothing there but
numbers and arrays that no program changes, and return memory of their own: for these a call and what it stands for are
the same, in every mode.
"""

from __future__ import annotations

import math
import types
from collections import Counter
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.frontend.calls.records import Record
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import Static
from diffjit.ir.aliases import Classes, edges
from diffjit.ir.nodes import Block, Function, Op, Value, is_view, written
from diffjit.ir.raising import leaves_traces
from diffjit.ir.types import Array, Scalar, is_ref
from diffjit.ir.walk import callees, walk, walk_called

LONG = 5000  # operations of a program that becomes several, on numbers or as much as these
_CALLS = 4  # of one form, from which on a function may be worth it
_SHARE = 20  # and it is more than one in so many operations of the program,
_SMALLEST = 30  # and of more than so many operations: a call takes as long as some
_GAIN = 0.75  # what is left of a program that was worth it
_NAMED = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type)
_PLAIN = (bool, int, float, complex, str, type(None))
_NEST = 8  # operations on numbers that take as long to compile as one that goes through an array


@dataclass(slots=True)
class Repeated:
    """How often functions were written out, by their form, and how much one call is."""

    calls: Counter[Any]
    sizes: dict[Any, int]

    def worth_it(self, size: int) -> frozenset[Any]:
        """The functions that many calls of one form take a good part of."""
        total: Counter[Any] = Counter()
        for (node, form), calls in self.calls.items():
            if calls >= _CALLS and form is not None and self.sizes[node, form] >= _SMALLEST:
                total[node] += self.sizes[node, form] * calls
        nested = {node for node, form in self.calls if form is None}
        return frozenset(node for node, made in total.items() if _SHARE * made >= size and node not in nested)


def size(function: Function) -> int:
    """How much a program has to do, with the functions that it calls."""
    return sum(map(_weight, walk_called(function)))


def _weight(op: Op) -> int:
    """How many operations on numbers compiled code has for it, or what takes as long to compile."""
    made = [v.type for v in (*op.outputs, *(op.inputs[k] for k in written(op))) if isinstance(v.type, Array)]
    if not made or is_view(op):
        return 1
    known = [d for d in made[0].dims if isinstance(d, int)]
    return min(math.prod(known), _NEST) if op.row.by_element and len(known) == made[0].ndim else _NEST


def is_shorter(function: Function, length: int) -> bool:
    """Whether a program with calls is so much shorter than one of so many operations that they pay."""
    return size(function) <= _GAIN * length


class RepeatedCalls(Mixin):
    """Mixin of the interpreter: functions that are called again and again."""

    def begin_repeated(self) -> None:
        """Nothing was called yet."""
        self.repeated = Repeated(Counter(), {})
        self.shared: dict[Any, Record] = {}

    def write_out(self, fn: av.Fn, bound: dict[str, Any], node: Any) -> Any:
        """A call that is written out where it stands; how much that is."""
        if self.rule_mode or (fn.scope.namespace.get("__name__") or "").startswith("diffjit."):
            return self.run_body(fn, bound, node)  # the library's own are written for where they stand
        if any(frame.fn.node is fn.node for frame in self.frames):
            self.repeated.calls[fn.node, None] += 1  # it calls itself: the inner call is written out within the outer
        form = fn.node, _form(bound)
        block, before = self.build.block, len(self.build.block.ops)
        result = self.run_body(fn, bound, node)
        known = self.repeated
        known.calls[form] += 1
        if form[1] is not None and form not in known.sizes:  # another call of this form is as much
            known.sizes[form] = sum(map(_weight, walk(Block(ops=block.ops[before:]))))
        return result

    def shared_form(self, fn: av.Fn, bound: dict[str, Any]) -> Any:
        """What calls of a function have in common that are calls of one program; None where it is written out."""
        learned = self.learned
        written_out = self.handlers or self.awaited or self.doubts
        if written_out or fn.node not in learned.shared - learned.outlined - learned.unshared:
            return None
        form = None if fn.scope.frames else _form(bound)
        return None if form is None else (fn.node, fn.pyfunc, form)

    def shared_call(self, fn: av.Fn, bound: dict[str, Any], form: Any, node: Any) -> Any:
        """The call of a program that stands for all calls of this form."""
        record = self.shared.get(form)
        if record is None:
            return self.outline(fn, bound, node, form=form)
        packed, objects = self.packed_arguments(record, bound, node)
        return self.call_record(record, packed, objects, list(record.within), node, outside=True)

    def share(self, record: Record) -> None:
        """A function that is complete stands for all calls of this form, if it stands alone."""
        captured = {c.param for c in self.captures.values()}
        around = {r.function for r in self.recursions}  # recursive functions of which not all is known yet
        alone = record.within.keys() <= captured and not around.intersection(callees(record.function))
        if not alone or not _stands_alone(record, {r.function for r in self.shared.values()}):
            raise Learn("unshared", {record.node})
        self.shared[record.form] = record


def _form(bound: dict[str, Any]) -> Any:
    """What is known of arguments; None where they are more than numbers and arrays of known shapes."""
    forms = [(name, _form_of(value)) for name, value in bound.items()]
    return None if any(form is None for _, form in forms) else tuple(forms)


def _form_of(value: Any) -> Any:
    if isinstance(value, Value) and isinstance(value.type, Array):
        dims = tuple(d if isinstance(d, int) else None for d in value.type.dims)
        return value.type.dtype, value.type.layout, dims
    if isinstance(value, Value):
        return value.type if isinstance(value.type, Scalar) else None
    if isinstance(value, Static):
        if isinstance(value.obj, _NAMED):
            return value.obj
        plain = type(value.obj) in _PLAIN or isinstance(value.obj, np.generic)
        return (type(value.obj), repr(value.obj)) if plain else None
    if isinstance(value, av.Tup):
        forms = tuple(map(_form_of, value.items))
        return None if None in forms else (type(value), str(value.cls), forms)
    return None


def _stands_alone(record: Record, known: set[Function]) -> bool:
    """Whether a function's calls have nothing to do with what is around them, nor with one another.

    `known`: functions that do stand alone.
    """
    if record.state or record.changed or record.stacked or record.shares:
        return False
    functions = callees(record.function)
    if any("rules" in op.attrs or op.row.once or leaves_traces(op) for f in functions for op in walk(f.body)):
        return False
    own = {f: _Own(f, known) for f in functions}
    changed = (own[f].has(op.inputs[k]) for f in functions for op in walk(f.body) for k in written(op))
    return all(changed) and all(map(own[record.function].has, record.function.results))


class _Own:
    """The memory that a function has made itself."""

    def __init__(self, function: Function, known: set[Function]) -> None:
        self.classes = Classes()
        others = list(function.params)
        for op in walk(function.body):
            self.classes.meet(op)
            for edge in edges(op):
                self.classes.unite(edge.source, edge.target)
            if op.kind == "call" and op.attrs["function"] not in known:
                others += op.outputs
        self.others = {self.classes.find(v) for v in others if is_ref(v.type)}

    def has(self, v: Value) -> bool:
        """Whether this is a number, or memory that the function has made, for certain."""
        return not is_ref(v.type) or self.classes.find(v) not in self.others
