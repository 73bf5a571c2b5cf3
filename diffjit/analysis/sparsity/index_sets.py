"""Which inputs each number of a program depends on, at one point: the sparsity pattern of its Jacobian.

The program is run, operation by operation, on its values and, beside them, on sets: a number has the frozenset of the
inputs that it depends on, an array has an array of such sets in the same layout. Branches and loops go where the
values send them. What moves data moves the sets with it, so that views and writes are followed through memory; what
computes joins them (`sparsity.set_rules`). A kind without a rule depends on all of its inputs: a set may hold too
much, never too little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from diffjit.analysis.evaluate import Evaluator
from diffjit.analysis.sparsity.set_rules import NONE, RULES, Sets, join, joined, nothing, of_value, whole
from diffjit.errors import InternalError
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import Scalar, is_float
from diffjit.ir.walk import has_exit
from diffjit.primitives.registry import ELEMENTWISE

_MOVES = frozenset({"list_get", "list_copy", "stack_copy", "gather", "mask_get"})
_VALUE_AT = {"mask_set": 2}


class IndexSets:
    """Runs one program on values and sets."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.evaluate = Evaluator(function)
        self.active: dict[int, list[int]] = {}

    def run(self, inputs: Sequence[Any], wrt: Sequence[int]) -> list[list[frozenset[int]]]:
        """For each result the sets of its elements in C order; inputs are counted through those in `wrt`, in order."""
        values = [_own(x) for x in inputs]
        sets: list[Sets] = [
            of_value(p.type, x) if is_float(p.type) else None for p, x in zip(self.function.params, values, strict=True)
        ]
        count = 0
        for k in wrt:
            size = int(np.size(values[k]))
            own = [frozenset((count + i,)) for i in range(size)]
            sets[k] = nothing(values[k], own) if isinstance(values[k], np.ndarray) else own[0]
            count += size
        with np.errstate(all="ignore"):
            results, found = self.call(self.function, values, sets)
        return [
            [] if s is None or isinstance(s, list) else list(s.flat) if isinstance(s, np.ndarray) else [s]
            for s, _ in zip(found, results, strict=True)
        ]

    def call(self, function: Function, values: list[Any], sets: list[Sets]) -> tuple[list[Any], list[Sets]]:
        """The values and sets of a function's results."""
        frame = Frame(self)
        frame.bind(function.params, values, sets)
        frame.block(function.body)
        return frame.take(function.body.results)

    def differentiable(self, op: Op) -> list[int]:
        """The operands of an elementwise operation that its result can have a derivative by."""
        if id(op) not in self.active:
            partials = ELEMENTWISE[op.kind].partials
            self.active[id(op)] = [
                k
                for k, v in enumerate(op.inputs)
                if is_float(v.type) and not (k < len(partials) and partials[k] == "0")
            ]
        return self.active[id(op)]


class Frame:
    """The values and sets of one call of one function."""

    def __init__(self, machine: IndexSets) -> None:
        self.machine = machine
        self.evaluate = machine.evaluate
        self.values: dict[Value, Any] = {}
        self.sets: dict[Value, Sets] = {}

    def bind(self, names: Sequence[Value], values: Sequence[Any], sets: Sequence[Sets]) -> None:
        """Give values and sets to names."""
        for v, x, s in zip(names, values, sets, strict=True):
            self.values[v] = x
            self.sets[v] = s

    def take(self, names: Sequence[Value]) -> tuple[list[Any], list[Sets]]:
        """The values and sets of names."""
        return [self.values[v] for v in names], [self.sets.get(v) for v in names]

    def block(self, block: Block) -> None:
        """Run the operations of a block."""
        for op in block.ops:
            match op.kind:
                case "const":
                    self.values[op.out] = self.evaluate.constant(op)
                    self.sets[op.out] = NONE
                case "undef":
                    self.values[op.out] = None
                    self.sets[op.out] = NONE if isinstance(op.out.type, Scalar) else None
                case "print":
                    pass
                case "for":
                    self.counted(op)
                case "while":
                    self.repeated(op)
                case "if":
                    region = op.regions[0 if self.values[op.inputs[0]] else 1]
                    self.block(region)
                    self.bind(op.outputs, *self.take(region.results))
                case "call":
                    self.bind(op.outputs, *self.machine.call(op.attrs["function"], *self.take(op.inputs)))
                case _:
                    self.operation(op)

    # Control flow

    def counted(self, op: Op) -> None:
        """A `for`."""
        body, skip = op.regions[0], has_exit(op)
        indices = range(*(int(self.values[v]) for v in op.inputs[:3]))
        values, sets = self.take(op.inputs[3:])
        for i in reversed(indices) if op.attrs.get("reverse") else indices:
            self.bind(body.args, [i, *values], [None, *sets])
            self.block(body)
            values, sets = self.take(body.results[skip:])
            if skip and self.values[body.results[0]]:
                break
        self.bind(op.outputs, values, sets)

    def repeated(self, op: Op) -> None:
        """A `while`."""
        cond, body = op.regions
        skip = has_exit(op)
        values, sets = self.take(op.inputs)
        while True:
            self.bind(cond.args, values, sets)
            self.block(cond)
            if not self.values[cond.results[0]]:
                break
            self.bind(body.args, values, sets)
            self.block(body)
            values, sets = self.take(body.results[skip:])
            if skip and self.values[body.results[0]]:
                break
        self.bind(op.outputs, values, sets)

    # Straight lines

    def operation(self, op: Op) -> None:
        """One operation that has a text."""
        args = [self.values[v] for v in op.inputs]
        if op.row.writes and not op.outputs:
            self.write(op, args)
            self.evaluate.operation(op)(*args)
            return
        value = self.evaluate.operation(op)(*args)
        if not op.outputs:
            return
        if op.kind == "foreign":
            values = [value] if len(op.outputs) == 1 else list(value)
            self.bind(
                op.outputs, values, [self.foreign(op, args, v, x) for v, x in zip(op.outputs, values, strict=True)]
            )
            return
        self.values[op.out] = value
        if is_float(op.out.type):
            self.sets[op.out] = self.result(op, args, value)

    def foreign(self, op: Op, args: list[Any], out: Value, value: Any) -> Sets:
        """A function without source: of a ufunc's result each element has operands of its own."""
        parts = [self.given(v, x) for v, x in zip(op.inputs, args, strict=True)]
        if op.attrs["site"].routine.way == "ufunc" and isinstance(value, np.ndarray):
            return nothing(value, joined(parts[: len(op.attrs["site"].inputs)]))
        return of_value(out.type, value, join(map(whole, parts)))

    def result(self, op: Op, args: list[Any], value: Any) -> Sets:
        """The sets of an operation's result."""
        kind = op.kind
        if op.row.by_element:
            return self.elementwise(op, value)
        source = self.sets.get(op.inputs[0]) if op.inputs else None
        if op.row.gives and op.row.writes:
            return source.pop(*([int(args[1])] if len(args) > 1 else [])) if isinstance(source, list) else None
        if kind == "load" and isinstance(source, np.ndarray):
            return source[tuple(args[1:])]
        if kind in ("real_view", "imag_view") and isinstance(source, np.ndarray):
            return source[...]
        if (kind in _MOVES or is_view(op)) and source is not None and not isinstance(source, frozenset):
            moved = self.evaluate.operation(op)(source, *args[1:])
            if is_view(op):
                return _same_memory(moved, source, value, args[0])
            return nothing(value, moved) if kind in ("gather", "mask_get") else moved
        if kind in RULES:
            return RULES[kind](op, [self.given(v, x) for v, x in zip(op.inputs, args, strict=True)], args, value)
        return of_value(op.out.type, value, join(whole(self.given(v, x)) for v, x in zip(op.inputs, args, strict=True)))

    def given(self, v: Value, x: Any) -> Sets:
        """The sets of an operand; what has no derivative depends on nothing."""
        found = self.sets.get(v) if is_float(v.type) else None
        return of_value(v.type, x) if found is None else found

    def elementwise(self, op: Op, value: Any) -> Sets:
        """What the operands depend on that the result has a derivative by."""
        parts = [self.given(op.inputs[k], self.values[op.inputs[k]]) for k in self.machine.differentiable(op)]
        if isinstance(op.out.type, Scalar):
            return join(parts)  # type: ignore[arg-type] - numbers have sets
        return nothing(value, joined(parts))

    def write(self, op: Op, args: list[Any]) -> None:
        """What a write does to the sets of its target."""
        target = self.sets.get(op.inputs[0])
        if not is_float(op.inputs[0].type) or target is None:
            return
        at = _VALUE_AT.get(op.kind, 1)
        source = self.given(op.inputs[at], args[at])
        match op.kind:
            case "accum":
                assert isinstance(target, np.ndarray)
                target[...] = joined([target, source])
            case "accum_at":
                assert isinstance(target, np.ndarray)
                place = tuple(args[2:])
                target[place] = join([target[place], source])  # type: ignore[list-item] - a number's set
            case "scatter_add":
                assert isinstance(target, np.ndarray)
                numbers = np.arange(target.size).reshape(target.shape)
                places = np.asarray(self.evaluate.places(op)(numbers, None, *args[2:]))
                for p, s in zip(places.flat, np.broadcast_to(_array(source), places.shape).flat, strict=True):
                    target.flat[p] = target.flat[p] | s
            case "mask_set":
                self.evaluate.operation(op)(target, args[1], source)
            case _:  # the values' places take the values' sets
                self.evaluate.operation(op)(target, source, *args[2:])


def _own(x: Any) -> Any:
    """An argument that the program may write to; division by zero follows IEEE."""
    if type(x) is float:
        return np.float64(x)
    return cast("Any", np.array(x, order="K")) if _is_array(x) else x


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray)


def _array(s: Sets) -> np.ndarray:
    if isinstance(s, np.ndarray):
        return s
    made = np.empty((), object)
    made[()] = s
    return made


def _same_memory(moved: Any, source: Any, value: Any, of: Any) -> np.ndarray:
    """The sets that a view shows: a view where the value is one, so that writes through either reach both."""
    if moved.shape != np.shape(value) or np.may_share_memory(moved, source) < np.may_share_memory(value, of):
        raise InternalError("DJ901", "a view of index sets is a copy", cure="this is a mistake in diffjit")
    return moved
