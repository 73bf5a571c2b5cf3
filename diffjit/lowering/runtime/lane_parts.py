"""Runs a function over a range of ints that takes nobody knows how long: in several threads once that has shown.

The first iterations run here, one, then two, four, ... until they have taken a few hundredths of a millisecond. If the
rest will take long enough, threads take it, four parts each. A part that fails is noted; then all that the threads had
runs once more, here and in order, so that the error is the one that it would have been.
"""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from diffjit.lowering.calls import threads
from diffjit.lowering.llvm.exits import stop_if
from diffjit.lowering.runtime.build import I8, I64
from diffjit.lowering.runtime.spread import declared_part, kernels, pool_state, run_parts

_CLOCK = getattr(time, "CLOCK_MONOTONIC", None)  # None on systems without clock_gettime
_ENOUGH = 40_000  # nanoseconds that tell how long an iteration takes
_LANE = 1000  # operations that a lane is taken for where a device is asked whether to run them
_PAYS = 200_000  # to wake threads takes up to 50 microseconds


@intrinsic
def run_lanes(typingctx: Any, function: Any, count: Any, given: Any) -> Any:
    """Call `function(lo, hi, *given)` for parts of `range(count)`.

    No part may read what another one writes, and what was run may run again.
    """
    return _typed(function, given, again=True)


@intrinsic
def run_turns(typingctx: Any, function: Any, count: Any, given: Any) -> Any:
    """As `run_lanes`, for a function that does not fail; nothing runs again. It may have to stop (`interrupts`)."""
    return _typed(function, given, again=False)


def _typed(function: Any, given: Any, *, again: bool) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        _emit(context, builder, function, given, values, again=again)
        return context.get_dummy_value()

    if not isinstance(given, types.BaseTuple):
        return None
    return types.void(function, types.int64, given), codegen


def _emit(context: Any, builder: Any, function: Any, given: Any, values: Any, *, again: bool) -> None:
    threads.start()
    described, call, library = declared_part(context, builder, function, given)
    _, count, packed = values
    parts = [builder.extract_value(packed, k) for k in range(len(given.types))]
    if context.lower.device:
        work = builder.mul(count, I64(_LANE))
        ran = kernels().launched(context, builder, (described, call, library), parts, count, work, once=not again)
        if ran is not None:
            count = builder.select(ran, I64(0), count)

    def checked(builder: Any, low: Any, high: Any, parts: list[Any]) -> Any:
        status, _ = context.call_internal_no_propagate(builder, described, call, [low, high, *parts])
        return status

    def alone(low: Any, high: Any) -> None:
        status = checked(builder, low, high, parts)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)

    address, several = pool_state(builder)
    able = builder.and_(builder.icmp_signed("!=", address, I64(0)), builder.icmp_signed(">", several, I64(1)))
    done = cgutils.alloca_once(builder, I64)
    builder.store(I64(0), done)
    if _CLOCK is not None:
        able = builder.and_(able, builder.icmp_signed(">", count, I64(1)))
        with builder.if_then(able, likely=False):
            worth = _probed(builder, count, done, alone)
            with builder.if_then(worth, likely=False):
                failed = cgutils.alloca_once(builder, I8)
                builder.store(I8(0), failed)
                start = builder.load(done)
                rest = builder.sub(count, start)
                run_parts(
                    builder, described.mangled_name, address, several, rest, [start, failed, *parts], _part(checked)
                )
                fine = builder.icmp_unsigned("==", builder.load(failed), I8(0))
                if again:
                    with builder.if_then(fine):
                        builder.store(count, done)
                else:
                    builder.store(count, done)
                    stop_if(context, builder, builder.not_(fine))
    first = builder.load(done)
    with builder.if_then(builder.icmp_signed("<", first, count)):
        alone(first, count)


def _part(checked: Any) -> Any:
    """What a thread does: some iterations; whether they failed."""

    def run(builder: Any, low: Any, high: Any, given: list[Any]) -> None:
        start, failed, *parts = given
        status = checked(builder, builder.add(low, start), builder.add(high, start), parts)
        with builder.if_then(status.is_error):
            builder.store(I8(1), failed)

    return run


def _probed(builder: Any, count: Any, done: Any, alone: Any) -> Any:
    """Run iterations until their time tells something; whether the rest will take long."""
    began = _now(builder)
    size = cgutils.alloca_once_value(builder, I64(1))
    worth = cgutils.alloca_once_value(builder, llvm_ir.Constant(llvm_ir.IntType(1), 0))
    head, body, more, after = (builder.append_basic_block(f"lanes.{n}") for n in ("head", "body", "more", "after"))
    builder.branch(head)
    builder.position_at_end(head)
    low = builder.load(done)
    builder.cbranch(builder.icmp_signed("<", low, count), body, after)
    builder.position_at_end(body)
    high = builder.add(low, builder.load(size))
    high = builder.select(builder.icmp_signed("<", high, count), high, count)
    alone(low, high)
    builder.store(high, done)
    builder.store(builder.mul(builder.load(size), I64(2)), size)
    taken = builder.sub(_now(builder), began)
    builder.cbranch(builder.icmp_signed("<", taken, I64(_ENOUGH)), head, more)
    builder.position_at_end(more)
    each = builder.sdiv(taken, high)
    rest = builder.mul(each, builder.sub(count, high))
    builder.store(builder.icmp_signed(">", rest, I64(_PAYS)), worth)
    builder.branch(after)
    builder.position_at_end(after)
    return builder.load(worth)


def _now(builder: Any) -> Any:
    """Nanoseconds of a clock that never goes back."""
    pair = llvm_ir.LiteralStructType([I64, I64])
    place = cgutils.alloca_once(builder, pair)
    kind = llvm_ir.FunctionType(llvm_ir.IntType(32), [llvm_ir.IntType(32), pair.as_pointer()])
    clock = cgutils.get_or_insert_function(builder.module, kind, "clock_gettime")
    builder.call(clock, [llvm_ir.Constant(llvm_ir.IntType(32), _CLOCK), place])
    seconds, nanoseconds = (builder.load(cgutils.gep_inbounds(builder, place, 0, k)) for k in (0, 1))
    return builder.add(builder.mul(seconds, I64(1_000_000_000)), nanoseconds)
