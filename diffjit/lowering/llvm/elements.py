"""LLVM for single array elements and for arithmetic on equal types: the instructions of generated loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Literal

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls.failures import INDEX, PLACE, PROMISED, WRAPPED_PLACE
from diffjit.lowering.llvm import numba_internals

I64 = llvm_ir.IntType(64)
BYTES = llvm_ir.IntType(8).as_pointer()
# Of indices: test and wrap, only wrap negative ones, nothing; the last two, with a test that they need none
# (`settings.checked`).
Checks = Literal["all", "wrap", "none", "promised wrap", "promised none"]
# Fields of Numba's array struct.
MEMINFO, PARENT, LENGTH, ITEMSIZE, DATA, SHAPE, STRIDES = range(7)

_FLOAT_OPERATORS = {
    operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul", operator.truediv: "fdiv", operator.iadd: "fadd",
    operator.isub: "fsub", operator.imul: "fmul", operator.itruediv: "fdiv",
}  # fmt: skip
_INT_OPERATORS = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.iadd: "add", operator.isub: "sub",
    operator.imul: "mul", operator.and_: "and_", operator.or_: "or_", operator.xor: "xor",
}  # fmt: skip
_COMPARISONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip


def direct_operator(ty: Any, result: Any, op: Any) -> Callable[..., Any] | None:
    """The emitter of an operator on two operands of one type, if it is an instruction, or a few.

    Complex products are NumPy's, ac - bd + i(ad + bc), in each version of Python: from 3.14 on its own recovers
    infinities. Numba calls a function for each, which was half the code of programs with complex numbers.
    """
    if op in _COMPARISONS:
        sign = _COMPARISONS[op]
        if isinstance(ty, types.Float):
            unordered = sign == "!="
            return lambda b, x, y: (b.fcmp_unordered if unordered else b.fcmp_ordered)(sign, x, y)
        if isinstance(ty, types.Integer):
            return lambda b, x, y: (b.icmp_signed if ty.signed else b.icmp_unsigned)(sign, x, y)  # pyright: ignore[reportAttributeAccessIssue]
        return None
    if types.unliteral(result) != ty:
        return None
    if isinstance(ty, types.Complex):
        return _COMPLEX_OPERATORS.get(_FLOAT_OPERATORS.get(op, ""))
    name = _FLOAT_OPERATORS.get(op) if isinstance(ty, types.Float) else None
    if isinstance(ty, types.Integer) and ty.bitwidth == 64:  # pyright: ignore[reportAttributeAccessIssue]
        name = _INT_OPERATORS.get(op)
    if name is None:
        return None
    return lambda b, x, y: getattr(b, name)(x, y)


def parts_of(builder: Any, z: Any) -> tuple[Any, Any]:
    """Real and imaginary part of a complex number."""
    return builder.extract_value(z, 0), builder.extract_value(z, 1)


def _complex(b: Any, like: Any, real: Any, imag: Any) -> Any:
    return b.insert_value(b.insert_value(llvm_ir.Constant(like.type, llvm_ir.Undefined), real, 0), imag, 1)


def _complex_sum(b: Any, x: Any, y: Any) -> Any:
    (p, q), (r, s) = parts_of(b, x), parts_of(b, y)
    return _complex(b, x, b.fadd(p, r), b.fadd(q, s))


def _complex_difference(b: Any, x: Any, y: Any) -> Any:
    (p, q), (r, s) = parts_of(b, x), parts_of(b, y)
    return _complex(b, x, b.fsub(p, r), b.fsub(q, s))


def _complex_product(b: Any, x: Any, y: Any) -> Any:
    (p, q), (r, s) = parts_of(b, x), parts_of(b, y)
    real = b.fsub(b.fmul(p, r), b.fmul(q, s))
    return _complex(b, x, real, b.fadd(b.fmul(p, s), b.fmul(q, r)))


_COMPLEX_OPERATORS = {"fadd": _complex_sum, "fsub": _complex_difference, "fmul": _complex_product}


def int_indices(builder: Any, key: Any, value: Any) -> list[Any] | None:
    """The indices of a subscript that consists of ints alone, as 64-bit values."""
    if isinstance(key, types.Integer):
        return [to_int64(builder, key, value)]
    if isinstance(key, types.BaseTuple) and all(isinstance(k, types.Integer) for k in key.types):  # pyright: ignore[reportAttributeAccessIssue]
        return [to_int64(builder, k, builder.extract_value(value, n)) for n, k in enumerate(key.types)]  # pyright: ignore[reportAttributeAccessIssue]
    return None


def to_int64(builder: Any, ty: Any, value: Any) -> Any:
    """Widen an int."""
    if ty.bitwidth == 64:
        return value
    return builder.sext(value, I64) if ty.signed else builder.zext(value, I64)


def wrapped(builder: Any, index: Any, length: Any) -> Any:
    """A negative index counts from the end."""
    negative = builder.icmp_signed("<", index, I64(0))
    return builder.select(negative, builder.add(index, length), index)


def checked(context: Any, builder: Any, index: Any, length: Any, axis: int) -> Any:
    """An index with negative ones wrapped; IndexError when it is out of range."""
    from diffjit.lowering.llvm.exits import fail_if

    if isinstance(index, llvm_ir.Constant):
        place = index if index.constant >= 0 else builder.add(index, length)
    else:
        place = wrapped(builder, index, length)
    fail_if(context, builder, builder.icmp_unsigned(">=", place, length), INDEX, index, I64(axis), length)
    return place


def promised(context: Any, builder: Any, index: Any, length: Any, axis: int, checks: Checks) -> Any:
    """An index that needs no test, which is tested."""
    from diffjit.lowering.llvm.exits import fail_if

    wraps = checks == "promised wrap"
    place = wrapped(builder, index, length) if wraps else index
    what = I64(WRAPPED_PLACE if wraps else PLACE)
    fail_if(context, builder, builder.icmp_unsigned(">=", place, length), PROMISED, what, index, I64(axis), length)
    return place


def placed(context: Any, builder: Any, index: Any, length: Any, axis: int, checks: Checks) -> Any:
    """An index as it has to be treated: what it counts from the start."""
    if checks == "all":
        return checked(context, builder, index, length, axis)
    if checks == "wrap":
        return wrapped(builder, index, length)
    if checks == "none":
        return index
    return promised(context, builder, index, length, axis, checks)


def with_dead_end(builder: Any) -> None:
    """Continue in an unreachable block: `fail` has closed the current one."""
    builder.position_at_end(builder.append_basic_block("dead"))


def pointer(
    context: Any, builder: Any, ty: Any, array: Any, indices: list[Any], checks: Checks = "none", *, rows: bool = False
) -> Any:
    """The address of an element; `rows`: neighbours along the last axis are neighbours in memory."""
    lengths = [builder.extract_value(array, (SHAPE, k)) for k in range(ty.ndim)]
    indices = [placed(context, builder, i, n, k, checks) for k, (i, n) in enumerate(zip(indices, lengths, strict=True))]
    data = builder.extract_value(array, DATA)
    if ty.ndim == 0:
        return data
    if ty.layout in "CF":
        order = range(ty.ndim) if ty.layout == "C" else range(ty.ndim - 1, -1, -1)
        offset = None
        for k in order:
            offset = indices[k] if offset is None else builder.add(builder.mul(offset, lengths[k]), indices[k])
        return builder.gep(data, [offset])
    offset = I64(0)
    for k in range(ty.ndim):
        stride = builder.extract_value(array, (STRIDES, k))
        if rows and k == ty.ndim - 1:
            stride = I64(context.get_abi_sizeof(context.get_data_type(ty.dtype)))
        offset = builder.add(offset, builder.mul(indices[k], stride))
    address = builder.gep(builder.bitcast(data, llvm_ir.IntType(8).as_pointer()), [offset])
    return builder.bitcast(address, data.type)


def struct(
    context: Any,
    builder: Any,
    ty: Any,
    meminfo: Any,
    data: Any,
    shape: list[Any],
    strides: list[Any],
    parent: Any = None,
) -> Any:
    """An array's struct, field by field in registers (Numba's way takes a stack slot for each)."""
    kind = context.get_value_type(ty)
    count = I64(1)
    for length in shape:
        count = builder.mul(count, length, flags=["nsw"])
    made = llvm_ir.Constant(kind, llvm_ir.Undefined)
    item = I64(context.get_abi_sizeof(context.get_data_type(ty.dtype)))
    nobody = llvm_ir.Constant(kind.elements[PARENT], None)
    for place, value in (
        (MEMINFO, meminfo),
        (PARENT, nobody if parent is None else parent),
        (LENGTH, count),
        (ITEMSIZE, item),
        (DATA, builder.bitcast(data, kind.elements[DATA])),
    ):
        made = builder.insert_value(made, value, place)
    for k, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        made = builder.insert_value(made, length, (SHAPE, k))
        made = builder.insert_value(made, stride, (STRIDES, k))
    return made


def load(context: Any, builder: Any, ty: Any, address: Any) -> Any:
    """The element at an address."""
    return numba_internals.load_item(context, builder, ty, address)


def store(context: Any, builder: Any, ty: Any, address: Any, value: Any) -> None:
    """Write the element at an address."""
    numba_internals.store_item(context, builder, ty, value, address)


def last_access(builder: Any, kind: str) -> Any:
    """The load or store just written; None where there is none."""
    return next((inst for inst in reversed(builder.block.instructions[-3:]) if inst.opname == kind), None)


def check_ints(context: Any, builder: Any, ty: Any, array: Any, key: Any, value: Any) -> None:
    """Check the ints of a subscript that also has slices (Numba wraps them and clamps the slices)."""
    parts = [(key, value)]
    if isinstance(key, types.BaseTuple):
        parts = [(k, builder.extract_value(value, n)) for n, k in enumerate(key.types)]  # pyright: ignore[reportAttributeAccessIssue]
    axis = 0
    for kind, part in parts:
        if isinstance(kind, types.Integer):
            length = builder.extract_value(array, (SHAPE, axis))
            checked(context, builder, to_int64(builder, kind, part), length, axis)
        if kind is types.ellipsis:
            axis = ty.ndim - sum(
                1 for k, _ in parts[parts.index((kind, part)) + 1 :] if not isinstance(k, types.NoneType)
            )
        elif not isinstance(kind, types.NoneType):
            axis += 1


__all__ = ["cgutils", "check_ints", "checked", "direct_operator", "int_indices", "load", "pointer", "store"]
