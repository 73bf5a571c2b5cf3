"""Products and factorisations of single matrices: loops where they win, BLAS and LAPACK above."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls import blas
from diffjit.lowering.calls.failures import LENGTH, NO_CONVERGENCE, NOT_POSITIVE, PROMISED, SINGULAR
from diffjit.lowering.llvm.elements import DATA, SHAPE, to_int64
from diffjit.lowering.marks import nest, parallel
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
from diffjit.lowering.runtime.memory import lengths_of, strides_of
from diffjit.lowering.runtime.spread import kernels

_SMALL = 4096  # m * n * k up to which three loops beat BLAS
_MOST = 2**31 - 1  # BLAS counts in 32 bits


def _slot(builder: Any, value: Any) -> Any:
    return cgutils.alloca_once_value(builder, value)


def _letter(kind: Any) -> str:
    blas.register()
    return blas.LETTERS[str(kind.dtype)]


def _itemsize(context: Any, kind: Any) -> int:
    return context.get_abi_sizeof(context.get_data_type(kind.dtype))


def _is_blas(kind: Any) -> bool:
    return isinstance(kind, types.Array) and str(kind.dtype) in blas.LETTERS


# Which matrices BLAS takes as they are --------------------------------------------------------------------------------


def _stands_by(builder: Any, size: Any, length: Any, stride: Any, inner: Any, step: Any) -> Any:
    """Whether `length` rows of `inner` elements stand behind each other: at unit stride, apart, and as BLAS counts.

    An axis of one element has any stride.
    """
    compact = builder.or_(builder.icmp_signed("<=", inner, I64(1)), builder.icmp_signed("==", step, size))
    apart = builder.icmp_signed(">=", stride, builder.mul(inner, size))
    near = builder.icmp_signed("<=", stride, builder.mul(size, I64(_MOST)))
    return builder.and_(compact, builder.or_(builder.icmp_signed("<=", length, I64(1)), builder.and_(apart, near)))


def _emit_usable(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """By rows or by columns."""
    (kind,), (array,) = kinds, args
    (rows, columns), (s, t) = lengths_of(builder, array, 2), strides_of(builder, array, 2)
    size = I64(_itemsize(context, kind))
    by_rows = _stands_by(builder, size, rows, s, columns, t)
    return builder.or_(by_rows, _stands_by(builder, size, columns, t, rows, s))


usable = operation("usable", 1, lambda a: types.boolean if isinstance(a, types.Array) else None, _emit_usable)


def _as_columns(context: Any, builder: Any, kind: Any, array: Any) -> tuple[Any, Any]:
    """How BLAS sees the transpose of a matrix: the letter N or T, and the leading dimension."""
    (rows, columns), (s, t) = lengths_of(builder, array, 2), strides_of(builder, array, 2)
    size = I64(_itemsize(context, kind))
    by_rows = _stands_by(builder, size, rows, s, columns, t)
    letter = builder.select(by_rows, I8(ord("N")), I8(ord("T")))
    length, stride, least = (
        builder.select(by_rows, one, other) for one, other in ((rows, columns), (s, t), (columns, rows))
    )
    apart = builder.select(builder.icmp_signed("<=", length, I64(1)), least, builder.sdiv(stride, size))
    leading = builder.select(builder.icmp_signed(">", apart, I64(1)), apart, I64(1))
    return letter, builder.trunc(leading, I32)


def _number(context: Any, builder: Any, kind: Any, value: float) -> Any:
    if isinstance(kind.dtype, types.Complex):
        return context.get_constant_generic(builder, kind.dtype, complex(value))
    return context.get_constant(kind.dtype, value)


def _emit_gemm(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """out = a @ b, for out in C order: column-major BLAS computes the transpose, b' @ a'."""
    (kind_a, kind_b, _), (a, b, out) = kinds, args
    (m, k), n = lengths_of(builder, a, 2), builder.extract_value(b, (SHAPE, 1))
    trans_b, ld_b = _as_columns(context, builder, kind_b, b)
    trans_a, ld_a = _as_columns(context, builder, kind_a, a)
    ld_out = builder.trunc(builder.select(builder.icmp_signed(">", n, I64(1)), n, I64(1)), I32)
    ints = [_slot(builder, builder.trunc(v, I32)) for v in (n, m, k)]
    one, zero = (_slot(builder, _number(context, builder, kind_a, v)) for v in (1.0, 0.0))
    data = [builder.extract_value(v, DATA) for v in (b, a, out)]
    operands = [
        _slot(builder, trans_b), _slot(builder, trans_a), *ints, one, data[0], _slot(builder, ld_b), data[1],
        _slot(builder, ld_a), zero, data[2], _slot(builder, ld_out),
    ]  # fmt: skip
    fn = declared(builder, f"dj_{_letter(kind_a)}gemm", llvm_ir.VoidType(), *(o.type for o in operands))
    if not context.lower.device:
        builder.call(fn, operands)
        return context.get_dummy_value()
    letters = [I64(ord(_letter(kind_a))), *(builder.zext(v, I64) for v in (trans_b, trans_a))]
    leading = [builder.sext(v, I64) for v in (ld_b, ld_a, ld_out)]
    places = [builder.ptrtoint(v, I64) for v in data]
    words = [*letters, n, m, k, *(v for pair in zip(places, leading, strict=True) for v in pair)]
    done = kernels().multiplied(context, builder, words)
    with builder.if_then(builder.not_(done)):
        builder.call(fn, operands)
    return context.get_dummy_value()


gemm = operation("gemm", 3, lambda a, b, _o: types.none if _is_blas(a) and _is_blas(b) else None, _emit_gemm)


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
        loops = builder.or_(loops, builder.icmp_signed(">", length, I64(_MOST)))  # more than BLAS counts
    return loops


is_small = operation("is_small", 2, lambda _a, _o: types.boolean, _emit_is_small)


# LAPACK ---------------------------------------------------------------------------------------------------------------


def _lapack(name: str, arity: int, emit: Any) -> Any:
    return operation(name, arity, lambda *kinds: types.int64 if _is_blas(kinds[0]) else None, emit)


def _emit_gesv(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Solve in place: a (n, n) and b (n, m) in Fortran order, pivots int32. Returns LAPACK's info."""
    a, b, pivots = args
    n, m = (builder.trunc(builder.extract_value(b, (SHAPE, k)), I32) for k in (0, 1))
    info = _slot(builder, I32(0))
    data = [builder.extract_value(v, DATA) for v in (a, pivots, b)]
    operands = [
        _slot(builder, n),
        _slot(builder, m),
        data[0],
        _slot(builder, n),
        data[1],
        data[2],
        _slot(builder, n),
        info,
    ]
    fn = declared(builder, f"dj_{_letter(kinds[0])}gesv", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


def _emit_getrf(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    a, pivots = args
    n = _slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = _slot(builder, I32(0))
    operands = [n, n, builder.extract_value(a, DATA), n, builder.extract_value(pivots, DATA), info]
    fn = declared(builder, f"dj_{_letter(kinds[0])}getrf", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


def _emit_potrf(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (a,) = args
    n = _slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = _slot(builder, I32(0))
    operands = [_slot(builder, I8(ord("L"))), n, builder.extract_value(a, DATA), n, info]
    fn = declared(builder, f"dj_{_letter(kinds[0])}potrf", llvm_ir.VoidType(), *(o.type for o in operands))
    builder.call(fn, operands)
    return builder.sext(builder.load(info), I64)


gesv, getrf, potrf = _lapack("gesv", 3, _emit_gesv), _lapack("getrf", 2, _emit_getrf), _lapack("potrf", 1, _emit_potrf)


def _emit_hermitian(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Eigenvectors in place of a (n, n) in Fortran order, of which one triangle is read."""
    a, upper, values, *spare = args
    triangle = builder.select(builder.icmp_signed("!=", upper, I64(0)), I8(ord("U")), I8(ord("L")))
    n = _slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, 0)), I32))
    info = _slot(builder, I32(0))
    complex_ = isinstance(kinds[0].dtype, types.Complex)
    rooms = spare if complex_ else (spare[0], spare[2])  # the second one is for complex numbers alone
    operands = [
        _slot(builder, I8(ord("V"))), _slot(builder, triangle), n, builder.extract_value(a, DATA), n,
        builder.extract_value(values, DATA), *(part for room in rooms for part in _room(builder, room)), info,
    ]  # fmt: skip
    name = f"dj_{_letter(kinds[0])}{'heevd' if complex_ else 'syevd'}"
    builder.call(declared(builder, name, llvm_ir.VoidType(), *(o.type for o in operands)), operands)
    return builder.sext(builder.load(info), I64)


def _emit_gesdd(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """The first min(m, n) singular vectors of a (m, n) in Fortran order, which is lost."""
    a, left, values, right, work, real_work, int_work = args
    m, n = (_slot(builder, builder.trunc(builder.extract_value(a, (SHAPE, k)), I32)) for k in (0, 1))
    k = _slot(builder, builder.trunc(builder.extract_value(values, (SHAPE, 0)), I32))
    info = _slot(builder, I32(0))
    more = [builder.extract_value(real_work, DATA)] if isinstance(kinds[0].dtype, types.Complex) else []
    operands = [
        _slot(builder, I8(ord("S"))), m, n, builder.extract_value(a, DATA), m, builder.extract_value(values, DATA),
        builder.extract_value(left, DATA), m, builder.extract_value(right, DATA), k, *_room(builder, work), *more,
        builder.extract_value(int_work, DATA), info,
    ]  # fmt: skip
    name = f"dj_{_letter(kinds[0])}gesdd"
    builder.call(declared(builder, name, llvm_ir.VoidType(), *(o.type for o in operands)), operands)
    return builder.sext(builder.load(info), I64)


def _room(builder: Any, array: Any) -> tuple[Any, Any]:
    """Work space and its length."""
    return (
        builder.extract_value(array, DATA),
        _slot(builder, builder.trunc(builder.extract_value(array, (SHAPE, 0)), I32)),
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
def cholesky_factor(a: Any, out: Any, lower: Any) -> Any:
    """The lower factor; reads the lower triangle alone."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lower, n, n)
    shaped(out, n, n)
    if n == 0:
        return
    for j in range(n):
        for i in range(n):
            lower.inside[i, j] = a.inside[i, j]
    require_positive(potrf(lower))
    for i in range(n):
        for j in range(n):
            if j <= i:
                out.inside[i, j] = lower.inside[i, j]
            else:
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
def is_positive(a: Any, lower: Any) -> Any:
    """Whether `cholesky` would succeed."""
    n = a.shape[0]
    shaped(a, n, n)
    shaped(lower, n, n)
    if n == 0:
        return True
    for j in range(n):
        for i in range(n):
            lower.inside[i, j] = a.inside[i, j]
    return potrf(lower) == 0


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
