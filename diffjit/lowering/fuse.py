"""Which array operations are computed inside the loops of the operation that uses them.

    before                       after
    %1 = multiply x, y           out = sum over i of x[i] * y[i] + z[i]
    %2 = add %1, z
    %3 = sum %2

An elementwise operation with a single use melts into its user when that runs over the same indices. That no write comes
between is the driver's business (`ir.folding`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import Array, Dim, Scalar
from diffjit.primitives.registry import ELEMENTWISE

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "any", "all"})
FILLS = frozenset({"zeros", "full", "zeros_like", "broadcast_to"})
IDENTITIES = frozenset({"cast", "copy", "stop_gradient", "unbroadcast"})


class Piece(ast.Call):
    """An array operation that the loops of its user compute, element by element."""

    op: Op
    parts: list[ast.expr]


Piece.__name__ = "Call"  # what prints or walks syntax trees sees a call with the operands as arguments


def piece(op: Op, parts: Sequence[ast.expr]) -> Piece:
    """Put an operation off."""
    made = Piece(func=ast.Name(id=op.kind, ctx=ast.Load()), args=list(parts), keywords=[])
    made.op, made.parts = op, list(parts)
    return made


def is_elementwise(op: Op) -> bool:
    """Whether the output is an array whose elements depend on the operands' elements at the same place."""
    if len(op.outputs) != 1 or not isinstance(op.out.type, Array):
        return False
    if op.kind == "unbroadcast":
        return op.out.type.dims == getattr(op.inputs[0].type, "dims", None)
    return op.kind in ELEMENTWISE or op.kind in IDENTITIES or op.kind in ("where", "zmul", "select")


def element_inputs(op: Op) -> list[Value]:
    """The operands that give elements (the others give lengths)."""
    if op.kind == "unbroadcast":
        return op.inputs[:1]
    if op.kind in ("zeros", "zeros_like"):
        return []
    if op.kind in ("full", "broadcast_to"):
        return op.inputs[:1]
    return op.inputs


def covers(inner: tuple[Dim, ...], outer: tuple[Dim, ...]) -> bool:
    """Whether computing `inner` inside loops over `outer` repeats nothing, as far as one knows."""
    return len(inner) == len(outer) and all(a != 1 or b == 1 for a, b in zip(inner, outer, strict=True))


def melts(op: Op, uses: Mapping[Value, Sequence[Op | Block]]) -> bool:
    """Whether this operation is computed inside the loops of its only user."""
    if not (is_elementwise(op) or op.kind in FILLS):
        return False
    users = uses.get(op.out, ())
    if len(users) != 1 or not isinstance(users[0], Op):
        return False
    user = users[0]
    ty = op.out.type
    assert isinstance(ty, Array)
    if op.kind == "broadcast_to" and not isinstance(op.inputs[0].type, Array):
        return False
    space = iteration_space(user)
    if space is None or op.out not in element_inputs_of_user(user):
        return False
    return covers(ty.dims, space) or (op.kind in FILLS and len(ty.dims) <= len(space))


def element_inputs_of_user(user: Op) -> list[Value]:
    """The operands that a user reads element by element."""
    if user.kind in ("assign", "accum"):
        return [user.inputs[1]]
    if user.kind in REDUCTIONS or user.kind == "unbroadcast":
        return user.inputs[:1]
    return element_inputs(user)


def iteration_space(op: Op) -> tuple[Dim, ...] | None:
    """The lengths over which the loops of an operation run; None when it has no such loops."""
    if op.kind in ("assign", "accum"):
        return dims_of(op.inputs[0])
    if op.kind in REDUCTIONS or op.kind == "unbroadcast":
        return dims_of(op.inputs[0])
    if is_elementwise(op):
        return dims_of(op.out)
    return None


def dims_of(v: Value) -> tuple[Dim, ...]:
    """What is known of a value's lengths."""
    return v.type.dims if isinstance(v.type, Array) else ()


def element_type(v: Value) -> Scalar:
    """The type of one element."""
    return v.type if isinstance(v.type, Scalar) else Scalar(v.type.dtype)  # type: ignore[union-attr]


def leaves(arg: ast.expr, value: Value) -> list[tuple[Value, Any]]:
    """The arrays that an expression reads, with the trees that print them."""
    if isinstance(arg, Piece):
        found: list[tuple[Value, Any]] = []
        for v, part in zip(arg.op.inputs, arg.parts, strict=True):
            if v in element_inputs(arg.op):
                found += leaves(part, v)
        return found
    return [(value, arg)] if isinstance(value.type, Array) else []
