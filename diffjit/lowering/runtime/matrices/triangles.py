"""Triangular systems: told from others when they run, and solved by substitution.

Programs solve them by `np.linalg.solve`, as do rules (that of `cholesky`). To factorise one takes n times
as long as to solve for a vector.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.llvm.elements import DATA, SHAPE, STRIDES
from diffjit.lowering.runtime.build import I8, I32, I64, declared, operation, written
from diffjit.lowering.runtime.matrices.operands import as_columns, is_blas, letter_of, number, shaped, slot
from diffjit.lowering.runtime.memory import strides_of

LOWER, UPPER = 1, 2


@written(lambda *_kinds: types.int64)
def _triangle_by_rows(a: Any) -> Any:
    """LOWER or UPPER for a triangular matrix without zeros on its diagonal, else 0. Of most others it reads little."""
    n = a.shape[0]
    shaped(a, n, n)
    lower = True
    upper = True
    for i in range(n):
        if a.inside[i, i] == 0:
            return 0
        for j in range(i):
            if a.inside[i, j] != 0:
                upper = False
                break
        for j in range(i + 1, n):
            if a.inside[i, j] != 0:
                lower = False
                break
        if not lower and not upper:
            return 0
    if lower:
        return LOWER
    return UPPER


def _emit_triangle_of(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """A matrix that stands by columns is read by columns: as its transpose."""
    (array,) = args
    (s, t) = strides_of(builder, array, 2)
    turned = builder.icmp_signed("<", s, t)
    for place, stride in ((0, builder.select(turned, t, s)), (1, builder.select(turned, s, t))):
        array = builder.insert_value(array, stride, (STRIDES, place))
    found = _triangle_by_rows.emit(context, builder, [kinds[0].copy(layout="A")], [array])
    other = builder.select(builder.icmp_signed("==", found, I64(0)), I64(0), builder.sub(I64(LOWER + UPPER), found))
    return builder.select(turned, other, found)


triangle_of = operation("triangle_of", 1, lambda *_k: types.int64, _emit_triangle_of)


def _emit_substitution(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Solve in place: a triangular matrix as `usable` has it, its form, and right-hand sides in C order.

    Of a matrix x of these, BLAS sees the transpose, and solves x' a' = b'; of a matrix by rows, too, so that its lower
    triangle is an upper one.
    """
    a, form, x = args
    letter, leading = as_columns(context, builder, kinds[0], a)
    by_rows = builder.icmp_signed("==", letter, I8(ord("N")))
    low = builder.xor(by_rows, builder.icmp_signed("==", form, I64(LOWER)))
    triangle = slot(builder, builder.select(low, I8(ord("L")), I8(ord("U"))))
    n = slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    matrix, result = (builder.extract_value(v, DATA) for v in (a, x))
    ld, plain = slot(builder, leading), slot(builder, I8(ord("N")))
    if kinds[2].ndim == 1:
        turned = slot(builder, builder.select(by_rows, I8(ord("T")), I8(ord("N"))))
        operands = [triangle, turned, plain, n, matrix, ld, result, slot(builder, I32(1))]
    else:
        m = slot(builder, builder.trunc(builder.extract_value(x, (SHAPE, 1)), I32))
        one = slot(builder, number(context, builder, kinds[0], 1.0))
        operands = [
            slot(builder, I8(ord("R"))), triangle, slot(builder, letter), plain, m, n, one, matrix, ld, result, m,
        ]  # fmt: skip
    name = f"dj_{letter_of(kinds[0])}{'trsv' if kinds[2].ndim == 1 else 'trsm'}"
    builder.call(declared(builder, name, llvm_ir.VoidType(), *(o.type for o in operands)), operands)
    return context.get_dummy_value()


def _substitution(name: str, dimensions: int) -> Any:
    def typing(a: Any, _form: Any, x: Any) -> Any:
        return types.none if is_blas(a) and is_blas(x) and (x.ndim, x.layout) == (dimensions, "C") else None

    return operation(name, 3, typing, _emit_substitution)


trsv, trsm = _substitution("trsv", 1), _substitution("trsm", 2)
