"""Runs a function over a range of ints, in several threads where that pays."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from diffjit.lowering.calls import interrupts, threads
from diffjit.lowering.llvm.exits import stop_if
from diffjit.lowering.runtime.build import I8, I32, I64

_PAYS = 1 << 22  # operations on elements: a quarter of a millisecond; to wake threads takes up to 50 microseconds
_CHUNKS = 4  # for each thread
_BYTES, _SIZES = I8.as_pointer(), I64.as_pointer()
_BODY = llvm_ir.FunctionType(llvm_ir.VoidType(), [_BYTES.as_pointer(), _SIZES, _SIZES, _BYTES])
_POOL = llvm_ir.FunctionType(
    llvm_ir.VoidType(), [_BODY.as_pointer(), _BYTES.as_pointer(), _SIZES, _SIZES, _BYTES, I64, I64, I32]
)


def declared_part(context: Any, builder: Any, function: Any, given: Any) -> tuple[Any, Any, Any]:
    """The function for a part of a range, as this LLVM module calls it, the signature, and its own module."""
    call = function.get_call_type(context.typing_context, (types.int64, types.int64, *given.types), {})
    libraries = context.get_function(function, call).libs
    context.add_linking_libs(libraries)
    described = function.dispatcher.overloads[call.args].fndesc
    context.declare_function(builder.module, described).attributes.add("noinline")
    return described, call, libraries[0]


def kernels() -> Any:
    """What launches kernels: only programs for a device need it."""
    from diffjit.lowering.cuda import emission

    return emission


@intrinsic
def spread(typingctx: Any, function: Any, count: Any, work: Any, given: Any) -> Any:
    """Call `function(lo, hi, *given)` for `range(count)`, or for parts of it at once; `work`: how much there is to do.

    The function must not fail, but may have to stop (`interrupts`), and no part may read what another one writes.
    """

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        threads.start()
        described, call, library = declared_part(context, builder, function, given)
        _, count, work, packed = values
        parts = [builder.extract_value(packed, k) for k in range(len(given.types))]
        if context.lower.device:
            ran = kernels().launched(context, builder, (described, call, library), parts, count, work)
            if ran is not None:
                count = builder.select(ran, I64(0), count)
                work = builder.select(ran, I64(0), work)

        def direct(builder: Any, low: Any, high: Any, parts: list[Any]) -> Any:
            status, _ = context.call_internal_no_propagate(builder, described, call, [low, high, *parts])
            return status

        def noted(builder: Any, low: Any, high: Any, given: list[Any]) -> None:
            stopped, *parts = given
            with builder.if_then(direct(builder, low, high, parts).is_error, likely=False):
                builder.store(I8(1), stopped)

        address, several = pool_state(builder)
        enough = builder.icmp_signed(">=", work, I64(_PAYS))
        able = builder.and_(builder.icmp_signed("!=", address, I64(0)), builder.icmp_signed(">", several, I64(1)))
        with builder.if_else(builder.and_(enough, able), likely=False) as (shared, alone):
            with shared:
                stopped = cgutils.alloca_once_value(builder, I8(0))
                run_parts(builder, described.mangled_name, address, several, count, [stopped, *parts], noted)
                stop_if(context, builder, builder.icmp_unsigned("!=", builder.load(stopped), I8(0)))
            with alone:
                status = direct(builder, I64(0), count, parts)
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    if not isinstance(given, types.BaseTuple):
        return None
    return types.void(function, types.int64, types.int64, given), codegen


def pool_state(builder: Any) -> tuple[Any, Any]:
    """The address of the pool, 0 where there is none, and the number of threads."""
    pool = builder.module.globals.get(threads.SYMBOL)
    if pool is None:
        pool = llvm_ir.GlobalVariable(builder.module, llvm_ir.ArrayType(I64, 2), threads.SYMBOL)
    address = builder.load(builder.gep(pool, [I32(0), I32(0)]))
    return address, builder.load(builder.gep(pool, [I32(0), I32(1)]))


def run_parts(builder: Any, name: str, address: Any, several: Any, count: Any, given: list[Any], direct: Any) -> None:
    """Have the pool call `direct(builder, lo, hi, given)` for parts of a range, four for each thread."""
    chunks = builder.mul(several, I64(_CHUNKS))
    data = cgutils.alloca_once_value(builder, cgutils.pack_struct(builder, [count, chunks, *given]))
    body = _body(builder.module, name, data.type, direct)
    one = cgutils.alloca_once_value(builder, llvm_ir.Constant(_BYTES, None))
    sizes = cgutils.alloca_once_value(builder, chunks)
    steps = cgutils.alloca_once_value(builder, I64(1))
    run = builder.inttoptr(address, _POOL.as_pointer())
    number = builder.trunc(several, I32)
    regions = builder.module.globals.get(interrupts.REGIONS)
    if regions is None:
        regions = llvm_ir.GlobalVariable(builder.module, I64, interrupts.REGIONS)
    builder.atomic_rmw("add", regions, I64(1), "seq_cst")
    builder.call(run, [body, one, sizes, steps, builder.bitcast(data, _BYTES), I64(0), I64(1), number])
    builder.atomic_rmw("sub", regions, I64(1), "seq_cst")


def _body(module: Any, name: str, kind: Any, direct: Any) -> Any:
    """What the pool calls for some chunks. It adds the first one's number to pointers, here to a null pointer."""
    fn = llvm_ir.Function(module, _BODY, module.get_unique_name(f"part.{name}"))
    fn.linkage = "internal"
    builder = llvm_ir.IRBuilder(fn.append_basic_block("entry"))
    pointers, sizes, _, data = fn.args
    count, chunks, *parts = cgutils.unpack_tuple(builder, builder.load(builder.bitcast(data, kind)))
    first = builder.ptrtoint(builder.load(pointers), I64)
    beyond = builder.add(first, builder.load(sizes))
    low, high = (builder.sdiv(builder.mul(k, count), chunks) for k in (first, beyond))
    direct(builder, low, high, parts)
    builder.ret_void()
    return fn
