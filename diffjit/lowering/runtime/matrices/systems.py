"""Factorisations, and what is solved with them: LAPACK."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls.failures import NO_CONVERGENCE, NOT_POSITIVE, SINGULAR
from diffjit.lowering.llvm.elements import DATA, SHAPE
from diffjit.lowering.marks import parallel
from diffjit.lowering.runtime.build import (
    I8,
    I32,
    I64,
    declared,
    fail_if,
    nothing,
    operation,
    written,
)
from diffjit.lowering.runtime.choices import conjugate
from diffjit.lowering.runtime.matrices.operands import (
    is_blas,
    letter_of,
    long,
    shaped,
    slot,
    usable,
)
from diffjit.lowering.runtime.matrices.triangles import triangle_of, trsm, trsv


def _lapack(name: str, arity: int, emit: Any) -> Any:
    return operation(name, arity, lambda *kinds: types.int64 if is_blas(kinds[0]) else None, emit)


def _emit_gesv(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Solve in place: a (n, n) and b (n, m) in Fortran order, pivots int32. Returns LAPACK's info."""
    a, b, pivots = args
    n, m = (builder.trunc(builder.extract_value(b, (SHAPE, k)), I32) for k in (0, 1))
    info = slot(builder, I32(0))
    data = [builder.extract_value(v, DATA) for v in (a, pivots, b)]
    operands = [
        slot(builder, n),
        slot(builder, m),
        data[0],
        slot(builder, n),
        data[1],
        data[2],
        slot(builder, n),
        info,
    ]
    fn = declared(builder, f"dj_{letter_of(kinds[0])}gesv", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


def _emit_getrf(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    a, pivots = args
    n = slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = slot(builder, I32(0))
    operands = [n, n, builder.extract_value(a, DATA), n, builder.extract_value(pivots, DATA), info]
    fn = declared(builder, f"dj_{letter_of(kinds[0])}getrf", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


def _emit_potrf(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The upper factor of u' u = a in place of a, in Fortran order; in C order, so the lower one."""
    (a,) = args
    n = slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = slot(builder, I32(0))
    operands = [slot(builder, I8(ord("U"))), n, builder.extract_value(a, DATA), n, info]
    fn = declared(builder, f"dj_{letter_of(kinds[0])}potrf", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


gesv, getrf, potrf = _lapack("gesv", 3, _emit_gesv), _lapack("getrf", 2, _emit_getrf), _lapack("potrf", 1, _emit_potrf)


def _emit_hermitian(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Eigenvectors in place of a (n, n) in Fortran order, of which one triangle is read."""
    a, upper, values, *spare = args
    triangle = builder.select(builder.icmp_signed("!=", upper, I64(0)), I8(ord("U")), I8(ord("L")))
    n = slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = slot(builder, I32(0))
    complex_ = isinstance(kinds[0].dtype, types.Complex)
    rooms = spare if complex_ else (spare[0], spare[2])  # the second one is for complex numbers alone
    operands = [
        slot(builder, I8(ord("V"))), slot(builder, triangle), n, builder.extract_value(a, DATA), n,
        builder.extract_value(values, DATA), *(part for room in rooms for part in _room(builder, room)), info,
    ]  # fmt: skip
    name = f"dj_{letter_of(kinds[0])}{'heevd' if complex_ else 'syevd'}"
    builder.call(declared(builder, name, llvm_ir.VoidType(), *(o.type for o in operands)), operands)
    return builder.sext(builder.load(info), I64)


def _emit_gesdd(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The first min(m, n) singular vectors of a (m, n) in Fortran order, which is lost."""
    a, left, values, right, work, real_work, int_work = args
    m, n = (slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, k)), I32)) for k in (0, 1))
    k = slot(builder, builder.trunc(builder.extract_value(values, (SHAPE, 0)), I32))
    info = slot(builder, I32(0))
    more = [builder.extract_value(real_work, DATA)] if isinstance(kinds[0].dtype, types.Complex) else []
    operands = [
        slot(builder, I8(ord("S"))), m, n, builder.extract_value(a, DATA), m, builder.extract_value(values, DATA),
        builder.extract_value(left, DATA), m, builder.extract_value(right, DATA), k, *_room(builder, work), *more,
        builder.extract_value(int_work, DATA), info,
    ]  # fmt: skip
    name = f"dj_{letter_of(kinds[0])}gesdd"
    builder.call(declared(builder, name, llvm_ir.VoidType(), *(o.type for o in operands)), operands)
    return builder.sext(builder.load(info), I64)


def _room(builder: Any, array: Any) -> tuple[Any, Any]:
    """Work space and its length."""
    return (
        builder.extract_value(array, DATA),
        slot(builder, builder.trunc(builder.extract_value(array, (SHAPE, 0)), I32)),
    )


hermitian, gesdd = _lapack("hermitian", 6, _emit_hermitian), _lapack("gesdd", 7, _emit_gesdd)


def _diverging(name: str, what: int) -> Any:
    def emit(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        fail_if(context, builder, builder.icmp_signed("!=", args[0], I64(0)), NO_CONVERGENCE, I64(what))
        return context.get_dummy_value()

    return operation(name, 1, lambda _i: types.none, emit)


require_eigenvalues, require_values = _diverging("require_eigenvalues", 0), _diverging("require_values", 1)


def _failing(name: str, kind: int) -> Any:
    def emit(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        fail_if(context, builder, builder.icmp_signed("!=", args[0], I64(0)), kind)
        return context.get_dummy_value()

    return operation(name, 1, lambda _i: types.none, emit)


require_regular, require_positive = _failing("require_regular", SINGULAR), _failing("require_positive", NOT_POSITIVE)


@written(nothing)
def solve_vector(a: Any, b: Any, out: Any, lu: Any, right: Any, pivots: Any) -> Any:
    """a x = b for one vector; `lu` (n, n), `right` (n, 1) in Fortran order and `pivots` are work space."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lu, n, n)
    shaped(right, n, 1)
    long(b, n)
    long(out, n)
    if n == 0:
        return
    form = triangle_of(a)
    if form != 0 and usable(a):
        for i in parallel(n):
            out.inside[i] = b.inside[i]
        trsv(a, form, out)
        return
    for j in range(n):
        for i in range(n):
            lu.inside[i, j] = a.inside[i, j]
        right.inside[j, 0] = b.inside[j]
    require_regular(gesv(lu, right, pivots))
    for i in range(n):
        out.inside[i] = right.inside[i, 0]


@written(nothing)
def solve_matrix(a: Any, b: Any, out: Any, lu: Any, right: Any, pivots: Any) -> Any:
    """a x = b for the columns of a matrix."""
    n, m = out.shape
    shaped(a, n, n)
    shaped(lu, n, n)
    shaped(right, n, m)
    shaped(b, n, m)
    if n == 0 or m == 0:
        return
    form = triangle_of(a)
    if form != 0 and usable(a):
        for i in range(n):
            for j in parallel(m):
                out.inside[i, j] = b.inside[i, j]
        trsm(a, form, out)
        return
    for j in range(n):
        for i in range(n):
            lu.inside[i, j] = a.inside[i, j]
    for j in range(m):
        for i in range(n):
            right.inside[i, j] = b.inside[i, j]
    require_regular(gesv(lu, right, pivots))
    for i in range(n):
        for j in range(m):
            out.inside[i, j] = right.inside[i, j]


@written(nothing)
def invert(a: Any, out: Any, lu: Any, right: Any, pivots: Any) -> Any:
    """The inverse."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lu, n, n)
    shaped(right, n, n)
    shaped(out, n, n)
    if n == 0:
        return
    form = triangle_of(a)
    if form != 0 and usable(a):
        for i in range(n):
            for j in parallel(n):
                out.inside[i, j] = 0
            out.inside[i, i] = 1
        trsm(a, form, out)
        return
    for j in range(n):
        for i in range(n):
            lu.inside[i, j] = a.inside[i, j]
            right.inside[i, j] = 0
        right.inside[j, j] = 1
    require_regular(gesv(lu, right, pivots))
    for i in range(n):
        for j in range(n):
            out.inside[i, j] = right.inside[i, j]


@written(lambda _a, one, *_rest: one)
def determinant(a: Any, one: Any, lu: Any, pivots: Any) -> Any:
    """The determinant, from the factorisation."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lu, n, n)
    long(pivots, n)
    result = one
    if n == 0:
        return result
    for j in range(n):
        for i in range(n):
            lu.inside[i, j] = a.inside[i, j]
    if getrf(lu, pivots) > 0:
        return result - result
    for j in range(n):
        result = result * lu.inside[j, j]
        if pivots.inside[j] != j + 1:
            result = -result
    return result


@written(nothing)
def cholesky_factor(a: Any, out: Any) -> Any:
    """The lower factor; reads the lower triangle alone.

    LAPACK sees the transpose, whose factor u' u = a' is the transpose of this one.
    """
    n = a.shape[0]
    shaped(a, n, n)
    shaped(out, n, n)
    if n == 0:
        return
    for i in range(n):
        for j in parallel(i + 1):
            out.inside[i, j] = a.inside[i, j]
    require_positive(potrf(out))
    for i in range(n):
        for j in parallel(i + 1, n):
            out.inside[i, j] = 0


@written(lambda *_kinds: types.boolean)
def is_regular(a: Any, lu: Any, pivots: Any) -> Any:
    """Whether `solve` and `inv` would succeed."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lu, n, n)
    if n == 0:
        return True
    for j in range(n):
        for i in range(n):
            lu.inside[i, j] = a.inside[i, j]
    return getrf(lu, pivots) == 0


@written(lambda *_kinds: types.boolean)
def is_positive(a: Any, work: Any) -> Any:
    """Whether `cholesky` would succeed: by the same steps."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(work, n, n)
    if n == 0:
        return True
    for i in range(n):
        for j in parallel(i + 1):
            work.inside[j, i] = a.inside[i, j]
    return potrf(work) == 0


@written(nothing)
def hermitian_vectors(
    a: Any, upper: Any, out: Any, vectors: Any, values: Any, work: Any, real_work: Any, int_work: Any
) -> None:
    """Eigenvalues in the first row, eigenvectors below; reads one triangle alone."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(vectors, n, n)
    shaped(out, n + 1, n)
    long(values, n)
    if n == 0:
        return
    for j in range(n):
        for i in range(n):
            vectors.inside[i, j] = a.inside[i, j]
    require_eigenvalues(hermitian(vectors, upper, values, work, real_work, int_work))
    for j in range(n):
        out.inside[0, j] = values.inside[j]
    for i in range(n):
        for j in range(n):
            out.inside[i + 1, j] = vectors.inside[i, j]


@written(nothing)
def singular_vectors(
    a: Any, out: Any, matrix: Any, left: Any, values: Any, right: Any, work: Any, real_work: Any, int_work: Any
) -> None:
    """Left singular vectors, singular values, right singular vectors."""
    m, n = a.shape
    k = values.shape[0]
    shaped(matrix, m, n)
    shaped(left, m, k)
    shaped(right, k, n)
    shaped(out, m + n + 1, k)
    if k == 0:
        return
    for j in range(n):
        for i in range(m):
            matrix.inside[i, j] = a.inside[i, j]
    require_values(gesdd(matrix, left, values, right, work, real_work, int_work))
    for i in range(m):
        for j in range(k):
            out.inside[i, j] = left.inside[i, j]
    for j in range(k):
        out.inside[m, j] = values.inside[j]
    for i in range(n):
        for j in range(k):
            out.inside[m + 1 + i, j] = conjugate(right.inside[j, i])
