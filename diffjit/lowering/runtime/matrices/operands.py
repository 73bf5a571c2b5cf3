"""What BLAS and LAPACK are given: which matrices they take as they are, and how they see them."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.calls import blas
from diffjit.lowering.calls.failures import LENGTH, PROMISED
from diffjit.lowering.llvm.elements import to_int64
from diffjit.lowering.runtime.build import I8, I32, I64, fail_if, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of

MOST = 2**31 - 1  # BLAS counts in 32 bits


def slot(builder: Any, value: Any) -> Any:
    """A value on the stack: Fortran takes addresses."""
    return cgutils.alloca_once_value(builder, value)


def letter_of(kind: Any) -> str:
    """What the names of BLAS for a type begin with."""
    blas.register()
    return blas.LETTERS[str(kind.dtype)]


def itemsize(context: Any, kind: Any) -> int:
    """How many bytes an element has."""
    return context.get_abi_sizeof(context.get_data_type(kind.dtype))


def is_blas(kind: Any) -> bool:
    """Whether BLAS knows matrices like these."""
    return isinstance(kind, types.Array) and str(kind.dtype) in blas.LETTERS


# Which matrices BLAS takes as they are --------------------------------------------------------------------------------


def _stands_by(builder: Any, size: Any, length: Any, stride: Any, inner: Any, step: Any) -> Any:
    """Whether `length` rows of `inner` elements stand behind each other: at unit stride, apart, and as BLAS counts.

    An axis of one element has any stride.
    """
    compact = builder.or_(builder.icmp_signed("<=", inner, I64(1)), builder.icmp_signed("==", step, size))
    apart = builder.icmp_signed(">=", stride, builder.mul(inner, size))
    near = builder.icmp_signed("<=", stride, builder.mul(size, I64(MOST)))
    return builder.and_(compact, builder.or_(builder.icmp_signed("<=", length, I64(1)), builder.and_(apart, near)))


def _emit_usable(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """By rows or by columns."""
    (kind,), (array,) = kinds, args
    (rows, columns), (s, t) = lengths_of(builder, array, 2), strides_of(builder, array, 2)
    size = I64(itemsize(context, kind))
    by_rows = _stands_by(builder, size, rows, s, columns, t)
    return builder.or_(by_rows, _stands_by(builder, size, columns, t, rows, s))


usable = operation("usable", 1, lambda a: types.boolean if isinstance(a, types.Array) else None, _emit_usable)


def as_columns(context: Any, builder: Any, kind: Any, array: Any) -> tuple[Any, Any]:
    """How BLAS sees the transpose of a matrix: the letter N or T, and the leading dimension."""
    (rows, columns), (s, t) = lengths_of(builder, array, 2), strides_of(builder, array, 2)
    size = I64(itemsize(context, kind))
    by_rows = _stands_by(builder, size, rows, s, columns, t)
    letter = builder.select(by_rows, I8(ord("N")), I8(ord("T")))
    length, stride, least = (
        builder.select(by_rows, one, other) for one, other in ((rows, columns), (s, t), (columns, rows))
    )
    apart = builder.select(builder.icmp_signed("<=", length, I64(1)), least, builder.sdiv(stride, size))
    leading = builder.select(builder.icmp_signed(">", apart, I64(1)), apart, I64(1))
    return letter, builder.trunc(leading, I32)


def number(context: Any, builder: Any, kind: Any, value: float) -> Any:
    """A constant of the type of a matrix."""
    if isinstance(kind.dtype, types.Complex):
        return context.get_constant_generic(builder, kind.dtype, complex(value))
    return context.get_constant(kind.dtype, value)


def _emit_lengths(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """No function of its own, which Numba would compile for each type of array."""
    array, *wanted = args
    for found, kind, n in zip(lengths_of(builder, array, len(wanted)), kinds[1:], wanted, strict=True):
        length = to_int64(builder, kind, n)
        fail_if(context, builder, builder.icmp_signed("!=", found, length), PROMISED, I64(LENGTH), found, length)
    return context.get_dummy_value()


def _has_lengths(array: Any, *lengths: Any) -> Any:
    return types.none if isinstance(array, types.Array) and array.ndim == len(lengths) else None


# What a helper relies on: `shaped(a, n, m)`, a matrix is n by m; `long(x, n)`, and a vector has n elements.
shaped = operation("shaped", 3, _has_lengths, _emit_lengths)
long = operation("long", 2, _has_lengths, _emit_lengths)
