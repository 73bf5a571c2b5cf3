"""Squares of magnitudes: the square of a real number, and of both parts of a complex one; and powers of squares.

    abs(x) ** 2          x ** 2
    np.abs(z) ** 2       real(z) * real(z) + imag(z) * imag(z)
    np.abs(z) ** 4       (real(z) * real(z) + imag(z) * imag(z)) ** 2

A magnitude has no derivative at 0, its square has all of them: by the rule for the magnitude, the second one would be 0
there. Real squares keep their bits; those of complex numbers are rounded less often.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.ir.nodes import Function, Op, Value, const_of
from diffjit.ir.walk import blocks, walk
from diffjit.transforms.optimise.changes import Changes
from diffjit.transforms.optimise.cse import equal_numbers


def smooth_squares(function: Function) -> None:
    """Square what has a magnitude instead of that, in place, where neither is written to."""
    if not any(op.kind == "absolute" and op.inputs[0].type.dtype.kind in "fc" for op in walk(function.body)):
        return
    equal: dict[Value, Value] = {}
    if any(len(_magnitudes(op)) == 2 and op.inputs[0] is not op.inputs[1] for op in walk(function.body)):
        equal = equal_numbers(function)  # abs(x - y) * abs(x - y)
    changes = Changes(function)
    for block in blocks(function.body):
        for place in reversed(range(len(block.ops))):
            op = block.ops[place]
            inside = _squared(op, changes, equal)
            if inside is None:
                continue
            if inside.type.dtype.kind != "c":
                op.inputs = [inside if k == 0 or op.kind == "multiply" else v for k, v in enumerate(op.inputs)]
                continue
            made = _by_parts(op, inside)
            for new in made:
                new.out.op, new.out.block, new.loc = new, block, op.loc
            block.ops[place:place] = made


def _by_parts(op: Op, inside: Value) -> list[Op]:
    """Take the square of a magnitude, or its power, of both parts of complex numbers; what that needs before it."""
    ty = op.inputs[0].type
    parts = [Op(part, [inside], [Value(ty)]) for part in ("real", "imag")]
    squares = [Op("multiply", [part.out, part.out], [Value(ty)]) for part in parts]
    terms = [square.out for square in squares]
    exponent = const_of(op.inputs[1]) if op.kind == "power" else 2
    if exponent == 2:
        op.kind, op.inputs, op.attrs = "add", terms, {}
        return [*parts, *squares]
    number = op.inputs[1].type
    half = exponent // 2 if number.weak else number.dtype.type(exponent // 2)
    total, halved = Op("add", terms, [Value(ty)]), Op("const", [], [Value(number)], {"value": half})
    op.inputs = [total.out, halved.out]
    return [*parts, *squares, total, halved]


def _squared(op: Op, changes: Changes, equal: dict[Value, Value]) -> Value | None:
    """What has the magnitude that an operation squares; `equal` are numbers that are others, computed again."""
    inner = _magnitudes(op)
    inside = {equal.get(one.inputs[0], one.inputs[0]) for one in inner}
    if len(inside) != 1 or op.inputs[0].type.dtype.kind != "f" or op.out.type.dtype != op.inputs[0].type.dtype:
        return None
    changed = any(changes.after(v, one) for one in inner for v in (*one.inputs, one.out))
    return None if changed else inside.pop()


def _magnitudes(op: Op) -> list[Op]:
    """The magnitudes that an operation may be the square of."""
    if op.kind == "square" or (op.kind == "power" and _is_even(const_of(op.inputs[1]))):
        factors = op.inputs[:1]
    elif op.kind == "multiply":
        factors = op.inputs
    else:
        return []
    inner = [v.op for v in factors if v.op is not None and v.op.kind == "absolute"]
    return inner if len(inner) == len(factors) else []


def _is_even(exponent: Any) -> bool:
    return isinstance(exponent, (int, float, np.integer, np.floating)) and bool(exponent >= 2 and exponent % 2 == 0)
