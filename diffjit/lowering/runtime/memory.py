"""Arrays: allocation, views and shapes, as LLVM."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls import guards, reserve
from diffjit.lowering.calls.failures import (
    ASSIGN_SHAPE,
    BROADCAST_TO,
    GATHER_SHAPES,
    INDEX,
    INSERT_SHAPE,
    NEGATIVE_LENGTH,
    NO_MEMORY,
    RESHAPE,
    SHAPES,
    TOO_BIG,
)
from diffjit.lowering.cuda import allocation
from diffjit.lowering.llvm.elements import (
    DATA,
    ITEMSIZE,
    MEMINFO,
    PARENT,
    SHAPE,
    STRIDES,
    int_indices,
    pointer,
    struct,
    with_dead_end,
    wrapped,
)
from diffjit.lowering.llvm.exits import (
    REFERENCE,
    note_failure,
    outline,
    site,
    stop_if,
)
from diffjit.lowering.runtime.build import I8, I32, I64, declared, fail_if, operation
from diffjit.lowering.runtime.typespec import numba_type

reserve.start()


def lengths_of(builder: Any, array: Any, ndim: int) -> list[Any]:
    """The lengths of an array."""
    return [builder.extract_value(array, (SHAPE, k)) for k in range(ndim)]


def strides_of(builder: Any, array: Any, ndim: int) -> list[Any]:
    """The strides of an array."""
    return [builder.extract_value(array, (STRIDES, k)) for k in range(ndim)]


def tuple_items(builder: Any, kind: Any, value: Any) -> list[Any]:
    """The items of a tuple of numbers."""
    return [builder.extract_value(value, k) for k in range(len(kind))]


def view(
    context: Any, builder: Any, ty: Any, base: Any, data: Any, shape: list[Any], strides: list[Any], *, own: bool = True
) -> Any:
    """A new reference to the memory of `base`."""
    parent = builder.extract_value(base, PARENT) if own else None
    if context.lower.lends:
        null = llvm_ir.Constant(REFERENCE, None)
        return struct(context, builder, ty, null, data, shape, strides, parent)
    value = struct(context, builder, ty, builder.extract_value(base, MEMINFO), data, shape, strides, parent)
    context.nrt.incref(builder, ty, value)
    return value


def moved(builder: Any, data: Any, offset: Any) -> Any:
    """An address plus bytes."""
    return builder.gep(builder.bitcast(data, I8.as_pointer()), [offset])


def allocated(context: Any, builder: Any, ty: Any, shape: list[Any], *, pinned: bool = False) -> Any:
    """A new contiguous array; `pinned`: notes that a device leaves for the host."""
    size = item_size(context, ty)
    meminfo = block_of(context, builder, site(context), size, shape, pinned=pinned)
    stop_if(context, builder, cgutils.is_null(builder, meminfo))
    return contiguous(context, builder, ty, meminfo, size, shape)


def item_size(context: Any, ty: Any) -> Any:
    """The bytes of an element of an array type."""
    return I64(context.get_abi_sizeof(context.get_data_type(ty.dtype)))


def contiguous(context: Any, builder: Any, ty: Any, meminfo: Any, size: Any, shape: list[Any], data: Any = None) -> Any:
    """The struct of an array that fills a block of memory."""
    strides: list[Any] = []
    step = size
    for length in reversed(shape) if ty.layout != "F" else shape:
        strides.append(step)
        step = builder.mul(step, length, flags=["nsw"])
    if ty.layout != "F":
        strides.reverse()
    data = context.nrt.meminfo_data(builder, meminfo) if data is None else data
    return struct(context, builder, ty, meminfo, data, shape, strides)


def block_of(context: Any, builder: Any, place: list[Any], size: Any, shape: list[Any], *, pinned: bool = False) -> Any:
    """Memory for elements of a size; null when it was refused (and why is noted). Lengths are checked here."""
    memory = declared(builder, "NRT_MemInfo_alloc_aligned", REFERENCE, I64, I32)
    reserved = declared(builder, "NRT_MemInfo_alloc_safe_aligned_external", REFERENCE, I64, I32, REFERENCE)

    def emit(b: Any, *args: Any) -> None:
        where, item, lengths = list(args[:2]), args[2], args[3:]
        null = llvm_ir.Constant(REFERENCE, None)

        def give_up(condition: Any, kind: int) -> None:
            with b.if_then(condition, likely=False):
                note_failure(b, where, kind)
                b.ret(null)
                with_dead_end(b)

        total, overflow = item, cgutils.false_bit
        for length in lengths:
            give_up(b.icmp_signed("<", length, I64(0)), NEGATIVE_LENGTH)
            product = b.smul_with_overflow(total, length)
            total = b.extract_value(product, 0)
            overflow = b.or_(overflow, b.extract_value(product, 1))
        give_up(overflow, TOO_BIG)
        if context.lower.device and not checks(context):
            memory_of = allocation.pool_of(pinned=pinned)
            found = allocation.shared(b, total, lambda refused: give_up(refused, NO_MEMORY), memory_of)
            b.ret(found)
            return
        if checks(context):
            found = b.call(reserved, [total, I32(32), _allocator(b.module, guards.SYMBOL)])
            give_up(cgutils.is_null(b, found), NO_MEMORY)
            data = context.nrt.meminfo_data(b, found)
            allocation.fill_fresh(b, data, total)
            end = b.add(b.ptrtoint(data, I64), total)
            b.store(end, b.bitcast(b.gep(found, [I64(-8)]), I64.as_pointer()))
            b.ret(found)
            return
        with b.if_then(b.icmp_unsigned(">=", total, I64(reserve.LEAST)), likely=False):
            found = b.call(reserved, [total, I32(32), _allocator(b.module)])
            give_up(cgutils.is_null(b, found), NO_MEMORY)
            b.ret(found)
            with_dead_end(b)
        found = b.call(memory, [total, I32(32)])
        give_up(cgutils.is_null(b, found), NO_MEMORY)
        b.ret(found)

    arguments = [*place, size, *shape]
    name = f"diffjit_block_{len(shape)}{allocation.mode(context, pinned=pinned)}"
    return builder.call(outline(builder, name, REFERENCE, arguments, emit), arguments)


def checks(context: Any) -> bool:
    """Whether the code that is being written tests what it relies on (`settings.checked`)."""
    return context.lower.checked


def _allocator(module: Any, symbol: str = reserve.SYMBOL) -> Any:
    """The allocator of large arrays."""
    found = module.globals.get(symbol)
    if found is None:
        found = llvm_ir.GlobalVariable(module, llvm_ir.ArrayType(I64, 4), symbol)
    return found.bitcast(REFERENCE)


# Allocation -----------------------------------------------------------------------------------------------------------


def allocator(name: str, spec: str, order: str, made: Any) -> Any:
    """An operation that gives an array of a type for its lengths: `made(context, builder, type, lengths)` writes it."""
    dtype = numba_type(spec)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        shape = tuple_items(builder, kinds[0], args[0])
        return made(context, builder, types.Array(dtype, len(shape), order), shape)

    def typing(kind: Any) -> Any:
        return types.Array(dtype, len(kind), order) if isinstance(kind, types.BaseTuple) else None

    return operation(f"{name}_{spec}", 1, typing, emit)


@cache
def empty(spec: str, order: str = "C", *, pinned: bool = False) -> Any:
    """`empty_float64((n, m))`: an uninitialised array."""
    return allocator("empty", spec, order, partial(allocated, pinned=pinned))


def notes(spec: str) -> Any:
    """`notes_float64((n,))`: what the parts of a nest leave for those who add it up."""
    return empty(spec, pinned=True)


@cache
def nothing(spec: str) -> Any:
    """A value that is never read."""
    ty = numba_type(spec)
    return operation("nothing", 0, lambda: ty, lambda context, _b, _k, _a: context.get_constant_null(ty))


# Views ----------------------------------------------------------------------------------------------------------------


@cache
def layout(letter: str) -> Any:
    """`contiguous(a)`: the same array, typed with another layout (which it is known to have)."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        context.nrt.incref(builder, kinds[0], args[0])
        return args[0]

    return operation("contiguous", 1, lambda a: a.copy(layout=letter), emit)


@cache
def transpose(*perm: int, order: str = "A") -> Any:
    """`transpose_021(a)`."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty,), (array,) = kinds, args
        shape, strides = lengths_of(builder, array, ty.ndim), strides_of(builder, array, ty.ndim)
        result = ty.copy(layout=order)
        data = builder.extract_value(array, DATA)
        return view(context, builder, result, array, data, [shape[k] for k in perm], [strides[k] for k in perm])

    return operation("transpose", 1, lambda a: a.copy(layout=order), emit)


def _emit_diagonal(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, _), (array, offset) = kinds, args
    (n, m), (s, t) = lengths_of(builder, array, 2), strides_of(builder, array, 2)
    zero = I64(0)
    down = builder.icmp_signed("<", offset, zero)
    first_row = builder.select(down, builder.sub(zero, offset), zero)
    first_column = builder.select(down, zero, offset)
    rows, columns = builder.sub(n, first_row), builder.sub(m, first_column)
    count = builder.select(builder.icmp_signed("<", rows, columns), rows, columns)
    some = builder.icmp_signed(">", count, zero)
    length = builder.select(some, count, zero)
    start = builder.add(builder.mul(first_row, s), builder.mul(first_column, t))
    data = moved(builder, builder.extract_value(array, DATA), builder.select(some, start, zero))
    return view(context, builder, ty.copy(ndim=1, layout="A"), array, data, [length], [builder.add(s, t)])


diagonal = operation("diagonal", 2, lambda a, _k: a.copy(ndim=1, layout="A"), _emit_diagonal)


@cache
def part(position: int) -> Any:
    """`real_part(a)`, `imag_part(a)`: views of a complex array."""

    def typing(a: Any) -> Any:
        dtype = types.float32 if a.dtype == types.complex64 else types.float64
        return a.copy(dtype=dtype, layout="A")

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty,), (array,) = kinds, args
        offset = 0 if position == 0 else (4 if ty.dtype == types.complex64 else 8)
        data = moved(builder, builder.extract_value(array, DATA), I64(offset))
        shape, strides = lengths_of(builder, array, ty.ndim), strides_of(builder, array, ty.ndim)
        return view(context, builder, typing(ty), array, data, shape, strides, own=False)

    return operation("part", 1, typing, emit)


real_part, imag_part = part(0), part(1)


def product_of(builder: Any, values: list[Any]) -> Any:
    """The product of sizes, without a test for overflow."""
    total = I64(1)
    for v in values:
        total = builder.mul(total, v)
    return total


@cache
def reshape(order: str = "C") -> Any:
    """`reshaped(a, (n, m))`: a view; the caller knows that one exists."""

    def typing(a: Any, shape: Any) -> Any:
        return a.copy(ndim=len(shape), layout=order)

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty, shape_kind), (array, shape_value) = kinds, args
        shape = tuple_items(builder, shape_kind, shape_value)
        old = lengths_of(builder, array, ty.ndim)
        size = product_of(builder, old)
        wrong, product = cgutils.false_bit, I64(1)
        for length in shape:  # two negative lengths, or two huge ones, may have the right product
            both = builder.smul_with_overflow(product, length)
            wrong = builder.or_(wrong, builder.extract_value(both, 1))
            wrong = builder.or_(wrong, builder.icmp_signed("<", length, I64(0)))
            product = builder.extract_value(both, 0)
        wrong = builder.or_(wrong, builder.icmp_signed("!=", size, product))
        fail_if(context, builder, wrong, RESHAPE, size, *shape)
        result = typing(ty, shape_kind)
        data = builder.extract_value(array, DATA)
        if order != "A" or not shape:
            strides: list[Any] = []
            step = builder.extract_value(array, ITEMSIZE)
            for length in reversed(shape):
                strides.insert(0, step)
                step = builder.mul(step, length)
            return view(context, builder, result, array, data, shape, strides)
        strides = _strides_without_copy(context, builder, ty, array, shape)
        return view(context, builder, result, array, data, shape, strides)

    return operation("reshaped", 2, typing, emit)


def _strides_without_copy(context: Any, builder: Any, ty: Any, array: Any, shape: list[Any]) -> list[Any]:
    """The strides of a reshaped view of an array that is not contiguous, by NumPy's own algorithm."""
    old_shape = (
        cgutils.alloca_once_value(builder, cgutils.pack_array(builder, lengths_of(builder, array, ty.ndim), I64))
        if ty.ndim
        else None
    )
    old_strides = (
        cgutils.alloca_once_value(builder, cgutils.pack_array(builder, strides_of(builder, array, ty.ndim), I64))
        if ty.ndim
        else None
    )
    new_shape = cgutils.alloca_once_value(builder, cgutils.pack_array(builder, shape, I64))
    new_strides = cgutils.alloca_once(builder, llvm_ir.ArrayType(I64, len(shape)))
    words = I64.as_pointer()
    fn_type = llvm_ir.FunctionType(I32, [I64, words, words, I64, words, words, I64, I32])
    fn = cgutils.get_or_insert_function(builder.module, fn_type, "numba_attempt_nocopy_reshape")

    def first(slot: Any) -> Any:
        return builder.bitcast(slot, words) if slot is not None else llvm_ir.Constant(words, None)

    size = builder.extract_value(array, ITEMSIZE)
    args = [
        I64(ty.ndim),
        first(old_shape),
        first(old_strides),
        I64(len(shape)),
        first(new_shape),
        first(new_strides),
        size,
    ]
    builder.call(fn, [*args, I32(0)])
    return cgutils.unpack_tuple(builder, builder.load(new_strides), len(shape))


def _emit_stretch(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, shape_kind), (array, shape_value) = kinds, args
    shape = tuple_items(builder, shape_kind, shape_value)
    old, strides = lengths_of(builder, array, ty.ndim), strides_of(builder, array, ty.ndim)
    lead = len(shape) - ty.ndim
    for length in shape:
        fail_if(context, builder, builder.icmp_signed("<", length, I64(0)), NEGATIVE_LENGTH)
    wrong = cgutils.false_bit
    out: list[Any] = [I64(0)] * lead
    for k in range(ty.ndim):
        one = builder.icmp_signed("==", old[k], I64(1))
        fits = builder.or_(one, builder.icmp_signed("==", old[k], shape[lead + k]))
        wrong = builder.or_(wrong, builder.not_(fits))
        repeated = builder.and_(one, builder.icmp_signed("!=", shape[lead + k], I64(1)))
        out.append(builder.select(repeated, I64(0), strides[k]))
    fail_if(context, builder, wrong, BROADCAST_TO, I64(ty.ndim), *old, I64(len(shape)), *shape)
    data = builder.extract_value(array, DATA)
    return view(context, builder, ty.copy(ndim=len(shape), layout="A"), array, data, shape, out)


stretched = operation(
    "stretched",
    2,
    lambda a, shape: a.copy(ndim=len(shape), layout="A") if a.ndim <= len(shape) else None,
    _emit_stretch,
)


def _emit_cell(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, key), (array, index) = kinds, args
    indices = int_indices(builder, key, index)
    if indices is None:
        raise TypeError(key)
    address = pointer(context, builder, ty, array, indices, context.lower.checks)
    return view(context, builder, ty.copy(ndim=0, layout="C"), array, address, [], [])


# What the argument refers to is there up to this call.
hold = operation("hold", 1, lambda _a: types.none, lambda context, _b, _k, _a: context.get_dummy_value())

cell = operation("cell", 2, lambda a, _i: a.copy(ndim=0, layout="C"), _emit_cell)


def _emit_stride(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (_ty, _), (array, axis) = kinds, args
    strides = cgutils.alloca_once_value(builder, builder.extract_value(array, STRIDES))
    stride = builder.load(builder.gep(strides, [I64(0), axis]))
    return builder.sdiv(stride, builder.extract_value(array, ITEMSIZE))


stride_of = operation("stride_of", 2, lambda _a, _k: types.int64, _emit_stride)

# Shapes of elementwise operands ---------------------------------------------------------------------------------------


def _emit_joint(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    n, m = args
    return builder.select(builder.icmp_signed("==", n, I64(1)), m, n)


joint = operation("joint", 2, lambda _n, _m: types.int64, _emit_joint)


def _fitted(name: str, kind_of_failure: int) -> Any:
    """`fitted(a, (n, m))`: `a` itself if it has this shape, else a copy that repeats its dimensions of length 1.

    So the loops that follow need no test for lengths 1, and stay contiguous.
    """

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty, shape_kind), (array, shape_value) = kinds, args
        target = tuple_items(builder, shape_kind, shape_value)
        shape = target[len(target) - ty.ndim :]
        same = cgutils.true_bit
        for n, m in zip(lengths_of(builder, array, ty.ndim), shape, strict=True):
            same = builder.and_(same, builder.icmp_signed("==", n, m))
        fields = [builder.extract_value(array, MEMINFO), builder.extract_value(array, DATA)]
        old_strides = strides_of(builder, array, ty.ndim)
        before = builder.block
        with builder.if_else(same, likely=True) as (as_it_is, repeated):
            with as_it_is:
                context.nrt.incref(builder, ty, array)
                plain = builder.block
            with repeated:
                made = _repeated(context, builder, ty, array, target, kind_of_failure)
                new = [builder.extract_value(made, MEMINFO), builder.extract_value(made, DATA)]
                new_strides = strides_of(builder, made, ty.ndim)
                other = builder.block
        del before
        joined: list[Any] = []
        for old_value, new_value in zip([*fields, *old_strides], [*new, *new_strides], strict=True):
            phi = builder.phi(old_value.type)
            phi.add_incoming(old_value, plain)
            phi.add_incoming(new_value, other)
            joined.append(phi)
        return struct(context, builder, ty, joined[0], joined[1], shape, joined[2:])

    return operation(name, 2, lambda a, _shape: a, emit)


def _repeated(context: Any, builder: Any, ty: Any, array: Any, target: list[Any], failure: int) -> Any:
    """A copy of an array, repeated along its dimensions of length 1; what does not fit is an error."""
    letter = "F" if ty.layout == "F" else "C"
    kind = context.get_value_type(ty)

    def emit(b: Any, *args: Any) -> None:
        where, given, wanted = list(args[:2]), args[2], list(args[3:])
        old = lengths_of(b, given, ty.ndim)
        shape = wanted[len(wanted) - ty.ndim :]
        nothing_ = llvm_ir.Constant(kind, None)
        wrong = cgutils.false_bit
        for n, m in zip(old, shape, strict=True):
            fits = b.or_(b.icmp_signed("==", n, I64(1)), b.icmp_signed("==", n, m))
            wrong = b.or_(wrong, b.not_(fits))
        with b.if_then(wrong, likely=False):
            ours, theirs = [I64(ty.ndim), *old], [I64(len(wanted)), *wanted]
            payload = [*theirs, *ours] if failure in (SHAPES, GATHER_SHAPES) else [*ours, *theirs]
            note_failure(b, where, failure, *payload)
            b.ret(nothing_)
            with_dead_end(b)
        size = item_size(context, ty)
        meminfo = block_of(context, b, where, size, shape)
        with b.if_then(cgutils.is_null(b, meminfo), likely=False):
            b.ret(nothing_)
            with_dead_end(b)
        copy = contiguous(context, b, ty.copy(layout=letter), meminfo, size, shape)
        with cgutils.loop_nest(b, shape, I64, order=letter) as indices:
            source = [b.select(b.icmp_signed("==", n, I64(1)), I64(0), i) for i, n in zip(indices, old, strict=True)]
            address = pointer(context, b, ty, given, source)
            b.store(b.load(address), pointer(context, b, ty.copy(layout=letter), copy, list(indices)))
        b.ret(copy)

    arguments = [*site(context), array, *target]
    name = f"diffjit_repeat_{failure}_{ty.dtype}_{ty.ndim}{ty.layout}_{len(target)}"
    name += "_checked" if checks(context) else ""
    made = builder.call(outline(builder, name, kind, arguments, emit), arguments)
    stop_if(context, builder, cgutils.is_null(builder, builder.extract_value(made, MEMINFO)))
    return made


fitted, fitted_source = _fitted("fitted", SHAPES), _fitted("fitted_source", ASSIGN_SHAPE)
fitted_index, fitted_value = _fitted("fitted_index", GATHER_SHAPES), _fitted("fitted_value", INSERT_SHAPE)


def _emit_place(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    index, length, axis = args
    at = wrapped(builder, index, length)
    fail_if(context, builder, builder.icmp_unsigned(">=", at, length), INDEX, index, axis, length)
    return at


place = operation("place", 3, lambda *_k: types.int64, _emit_place)


@cache
def require(kind_of_failure: int, count: int) -> Any:
    """`require_x(condition, payload...)`: leave with a failure unless the condition holds."""

    def emit(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        fail_if(context, builder, builder.not_(args[0]), kind_of_failure, *args[1:])
        return context.get_dummy_value()

    return operation("require", count + 1, lambda *_k: types.none, emit)
