"""Products of matrices."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.llvm.elements import DATA, SHAPE
from diffjit.lowering.marks import nest, parallel
from diffjit.lowering.runtime.build import (
    I32,
    I64,
    declared,
    nothing,
    operation,
    written,
)
from diffjit.lowering.runtime.matrices.operands import (
    MOST,
    as_columns,
    is_blas,
    letter_of,
    number,
    shaped,
    slot,
    usable,
)
from diffjit.lowering.runtime.memory import lengths_of
from diffjit.lowering.runtime.spread import kernels

_SMALL = 4096  # m * n * k up to which three loops beat BLAS


def _emit_gemm(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """out = a @ b, for out in C order: column-major BLAS computes the transpose, b' @ a'."""
    (kind_a, kind_b, _), (a, b, out) = kinds, args
    (m, k), n = lengths_of(builder, a, 2), builder.extract_value(b, (SHAPE, 1))
    trans_b, ld_b = as_columns(context, builder, kind_b, b)
    trans_a, ld_a = as_columns(context, builder, kind_a, a)
    ld_out = builder.trunc(builder.select(builder.icmp_signed(">", n, I64(1)), n, I64(1)), I32)
    ints = [slot(builder, builder.trunc(v, I32)) for v in (n, m, k)]
    one, zero = (slot(builder, number(context, builder, kind_a, v)) for v in (1.0, 0.0))
    data = [builder.extract_value(v, DATA) for v in (b, a, out)]
    operands = [
        slot(builder, trans_b), slot(builder, trans_a), *ints, one, data[0], slot(builder, ld_b), data[1],
        slot(builder, ld_a), zero, data[2], slot(builder, ld_out),
    ]  # fmt: skip
    fn = declared(builder, f"dj_{letter_of(kind_a)}gemm", llvm_ir.VoidType(), *(o.type for o in operands))
    if not context.lower.device:
        builder.call(fn, operands)
        return context.get_dummy_value()
    letters = [I64(ord(letter_of(kind_a))), *(builder.zext(v, I64) for v in (trans_b, trans_a))]
    leading = [builder.sext(v, I64) for v in (ld_b, ld_a, ld_out)]
    places = [builder.ptrtoint(v, I64) for v in data]
    words = [*letters, n, m, k, *(v for pair in zip(places, leading, strict=True) for v in pair)]
    done = kernels().multiplied(context, builder, words)
    with builder.if_then(builder.not_(done)):
        builder.call(fn, operands)
    return context.get_dummy_value()


gemm = operation("gemm", 3, lambda a, b, _o: types.none if is_blas(a) and is_blas(b) else None, _emit_gemm)


@written(nothing)
def packed(a: Any, spare: Any) -> Any:
    """Copy a matrix into C order."""
    n, m = a.shape
    shaped(spare, n, m)
    for i in range(n):
        for j in parallel(m):
            spare.inside[i, j] = a.inside[i, j]


def _of_any_layout(name: str, function: Any, arity: int, places: tuple[int, ...]) -> Any:
    """A helper that is compiled once for all layouts of some of its operands: it reads little of them, or asks."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        loose = [kind.copy(layout="A") if k in places else kind for k, kind in enumerate(kinds)]
        return function.emit(context, builder, loose, args)

    return operation(name, arity, lambda *_k: types.none, emit)


@written(nothing)
def _matmul_loops(a: Any, b: Any, out: Any) -> Any:
    """out = a @ b by three loops: four rows of b at a time, such that the result is read and written less."""
    n, m = out.shape
    inner = a.shape[1]
    shaped(a, n, inner)
    shaped(b, inner, m)
    whole = inner - inner % 4
    for i in range(n):
        for j in parallel(m):
            out.inside[i, j] = 0
        for k in range(0, whole, 4):
            x, x1, x2, x3 = a.inside[i, k], a.inside[i, k + 1], a.inside[i, k + 2], a.inside[i, k + 3]
            for j in parallel(m):
                total = out.inside[i, j] + x * b.inside[k, j]
                total = total + x1 * b.inside[k + 1, j]
                total = total + x2 * b.inside[k + 2, j]
                out.inside[i, j] = total + x3 * b.inside[k + 3, j]
        for k in range(whole, inner):
            x = a.inside[i, k]
            for j in parallel(m):
                out.inside[i, j] = out.inside[i, j] + x * b.inside[k, j]


matmul_loops = _of_any_layout("matmul_loops", _matmul_loops, 3, (0,))


@written(nothing)
def matmul_bools(a: Any, b: Any, out: Any) -> Any:
    """out = a @ b for booleans: whether any product is true."""
    inner = a.shape[1]
    shaped(a, out.shape[0], inner)
    shaped(b, inner, out.shape[1])
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            some = False
            for k in nest(inner):
                some |= a.inside[i, k] & b.inside[k, j]
            out.inside[i, j] = some


@written(nothing)
def _matmul_blas(a: Any, b: Any, out: Any, spare_a: Any, spare_b: Any) -> Any:
    """out = a @ b; what BLAS does not take as it is gets copied."""
    if usable(a):
        if usable(b):
            gemm(a, b, out)
        else:
            packed(b, spare_b)
            gemm(a, spare_b, out)
    else:
        packed(a, spare_a)
        if usable(b):
            gemm(spare_a, b, out)
        else:
            packed(b, spare_b)
            gemm(spare_a, spare_b, out)


matmul_blas = _of_any_layout("matmul_blas", _matmul_blas, 5, (0, 1, 2))


def _emit_is_small(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    a, out = args
    size = builder.mul(
        builder.mul(builder.extract_value(out, (SHAPE, 0)), builder.extract_value(out, (SHAPE, 1))),
        builder.extract_value(a, (SHAPE, 1)),
    )
    loops = builder.icmp_signed("<=", size, I64(_SMALL))
    for length in (*lengths_of(builder, out, 2), builder.extract_value(a, (SHAPE, 1))):
        loops = builder.or_(loops, builder.icmp_signed(">", length, I64(MOST)))  # more than BLAS counts
    return loops


is_small = operation("is_small", 2, lambda _a, _o: types.boolean, _emit_is_small)
