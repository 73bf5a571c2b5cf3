"""Which inputs each number of a program depends on, at one point: the sparsity pattern of its Jacobian.

The program is run on its values and, beside them, on sets: a number has the frozenset of the
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
from diffjit.analysis.sparsity.set_programs import Allowance, compiled
from diffjit.analysis.sparsity.set_rules import RULES, Sets, join, joined, nothing, of_value, whole
from diffjit.errors import InternalError
from diffjit.ir.nodes import Function, Op, Value, is_view
from diffjit.ir.types import is_float

_MOVES = frozenset({"list_get", "list_copy", "stack_copy", "gather", "mask_get"})
_VALUE_AT = {"mask_set": 2}


class IndexSets:
    """Runs one program on values and sets."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.evaluate = Evaluator(function)
        self.program = compiled(function, self.evaluate, self.result, self.write, self.foreign)

    def run(
        self, inputs: Sequence[Any], wrt: Sequence[int], allowance: Allowance | None = None
    ) -> list[list[frozenset[int]]]:
        """For each result the sets of its elements in C order; inputs are counted through those in `wrt`, in order.

        Raises `Exhausted` where that takes more than is allowed.
        """
        allowance = Allowance() if allowance is None else allowance
        allowance.spend(sum(int(np.size(inputs[k])) for k in wrt))
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
            found: Sequence[Sets] = self.program(allowance, *values, *sets)[len(self.function.results) :]
        return [
            [] if s is None or isinstance(s, list) else list(s.flat) if isinstance(s, np.ndarray) else [s]
            for s in found
        ]

    def foreign(self, op: Op, args: Sequence[Any], sets: Sequence[Sets], values: Sequence[Any]) -> list[Sets]:
        """A function without source: of a ufunc's result each element has operands of its own."""
        parts = [_given(v, x, s) for v, x, s in zip(op.inputs, args, sets, strict=True)]
        found: list[Sets] = []
        for out, value in zip(op.outputs, values, strict=True):
            if op.attrs["site"].routine.way == "ufunc" and isinstance(value, np.ndarray):
                found.append(nothing(value, joined(parts[: len(op.attrs["site"].inputs)])))
            else:
                found.append(of_value(out.type, value, join(map(whole, parts))))
        return found

    def result(self, op: Op, args: Sequence[Any], sets: Sequence[Sets], value: Any) -> Sets:
        """The sets of an operation's result, of those kinds that are no line of their own (`sparsity.set_programs`)."""
        kind = op.kind
        source = sets[0] if sets else None
        if op.row.gives and op.row.writes and isinstance(source, list):
            return source.pop(*([int(args[1])] if len(args) > 1 else []))
        if (kind in _MOVES or is_view(op)) and source is not None and not isinstance(source, frozenset):
            moved = self.evaluate.operation(op)(source, *args[1:])
            if is_view(op):
                return _same_memory(moved, source, value, args[0])
            return nothing(value, moved) if kind in ("gather", "mask_get") else moved
        given = [_given(v, x, s) for v, x, s in zip(op.inputs, args, sets, strict=True)]
        if kind in RULES:
            return RULES[kind](op, given, list(args), value)
        return of_value(op.out.type, value, join(map(whole, given)))

    def write(self, op: Op, args: Sequence[Any], sets: Sequence[Sets]) -> None:
        """What a write does to the sets of its target, before it does it to values."""
        target = sets[0]
        at = _VALUE_AT.get(op.kind, 1)
        source = _given(op.inputs[at], args[at], sets[at]) if at < len(args) else None
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


def _given(v: Value, x: Any, sets: Sets) -> Sets:
    """The sets of an operand; what has no derivative depends on nothing."""
    return of_value(v.type, x) if sets is None or not is_float(v.type) else sets


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
