"""Builds IR: appends operations to a current block, folds constants, and infers result types."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.ir.nodes import TRIED, Block, Loc, Op, Value
from diffjit.ir.types import BOOL, COMPLEX, FLOAT, INT, Array, List, Scalar, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence


def scalar_type_of(number: Any) -> Scalar:
    """The type of a Python or NumPy number."""
    if isinstance(number, np.generic):
        return Scalar(number.dtype)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, int):
        return INT
    if isinstance(number, float):
        return FLOAT
    return COMPLEX


def _of_dtype(ty: Type, dtype: np.dtype[Any]) -> Type:
    if isinstance(ty, List):
        return List(_of_dtype(ty.elem, dtype))
    return Array(dtype, ty.dims, ty.layout) if isinstance(ty, Array) else Scalar(dtype)


class Builder:
    """Appends operations to the block on top of a stack of open blocks."""

    def __init__(self, block: Block | None = None) -> None:
        self.block = block if block is not None else Block()
        self.open = [self.block]  # it and those around it, outermost first
        self.loc: Loc | None = None
        self.tried = False  # what is built belongs to an operation inside a `try`
        self.before: Callable[[str, Sequence[Value], dict[str, Any]], None] | None = None  # what may add tests

    @contextmanager
    def inside(self, block: Block) -> Generator[Block, None, None]:
        """Append to `block` for a while."""
        outer, self.block = self.block, block
        self.open.append(block)
        try:
            yield block
        finally:
            self.open.pop()
            self.block = outer

    def op(
        self,
        kind: str,
        inputs: Sequence[Value],
        types: Sequence[Type] = (),
        *,
        name: str | None = None,
        regions: Sequence[Block] = (),
        **attrs: Any,
    ) -> Op:
        """Append one operation with outputs of the given types."""
        if self.before is not None:
            self.before(kind, inputs, attrs)
        if self.tried:
            attrs[TRIED] = True
        op = Op(kind, list(inputs), [], attrs, list(regions), self.loc)
        for ty in types:
            value = Value(ty, name)
            value.op = op
            value.block = self.block
            op.outputs.append(value)
        self.block.ops.append(op)
        return op

    def value(self, kind: str, inputs: Sequence[Value], ty: Type, *, name: str | None = None, **attrs: Any) -> Value:
        """Append one operation with one output and return it."""
        return self.op(kind, inputs, (ty,), name=name, **attrs).outputs[0]

    def zero(self, like: Value, *, name: str | None = None, dtype: np.dtype[Any] | None = None) -> Value:
        """Zero, in the shape, layout and (if no other is given) dtype of a value; a list of zeros for a list."""
        ty = like.type
        if isinstance(ty, Array):
            return self.value("zeros_like", [like], Array(dtype or ty.dtype, ty.dims, ty.layout), name=name)
        if not isinstance(ty, List):
            return self.const(0, ty if dtype is None else Scalar(dtype))
        made = self.value("list_new", [], ty if dtype is None else _of_dtype(ty, dtype), name=name)
        index = Value(INT, "i")
        body = Block([index])
        length = self.value("list_len", [like], INT)
        with self.inside(body):
            item = self.value("list_get", [like, index], ty.elem)
            self.op("list_append", [made, self.zero(item, dtype=dtype)])
        self.counted(length, body)
        return made

    def raise_where(self, test: Value, exception: type[BaseException], text: str) -> None:
        """Append an exception that leaves the function where a test holds."""
        leave = Block()
        with self.inside(leave):
            self.op("raise", [], exception=exception, parts=(text,))
        self.op("if", [test], regions=[leave, Block()])

    def counted(self, length: Value, body: Block) -> None:
        """Append a loop over 0, 1, ... below a length, which carries nothing; its counter is the block's argument."""
        self.op("for", [self.const(0), length, self.const(1)], regions=[body], exit=False, reverse=False)

    def const(self, number: Any, ty: Type | None = None) -> Value:
        """A constant; a weak type makes it a Python number. Compiled, an int beyond 64 bits is a sum that overflows."""
        ty = ty or scalar_type_of(number)
        if ty.weak and ty.dtype.kind == "i" and not -(2**63) <= number < 2**63:
            sign = -1 if number < 0 else 1  # of both parts, so that no digits cancel where they become floats
            high, low = divmod(abs(int(number)), 2**62)
            above = self.value("multiply", [self.const(sign * high, ty), self.const(2**62, ty)], ty)
            return self.value("add", [above, self.const(sign * low, ty)], ty)
        if ty.weak:
            number = {"b": bool, "i": int, "f": float, "c": complex}[ty.dtype.kind](number)
        else:
            number = ty.dtype.type(number)
        return self.value("const", (), ty, value=number)
