"""Whole arrays filled, copied and added up, as LLVM: one function a module for each pair of layouts, not one loop each.

A reverse sweep does little else between its expressions, and LLVM's time is per loop. And whether arrays share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.calls.failures import APART, PROMISED, RAISED
from diffjit.lowering.llvm.elements import DATA, ITEMSIZE, SHAPE, STRIDES, pointer
from diffjit.lowering.llvm.exits import fail_if, outline
from diffjit.lowering.llvm.numba_internals import store_item
from diffjit.lowering.runtime.build import I64, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of
from diffjit.lowering.runtime.spread import kernels

Body = Callable[..., Any]  # (builder, address in the target, source: a value or an address)


def _over(context: Any, builder: Any, arrays: list[tuple[Any, Any]], body: Callable[..., None]) -> None:
    """Loops over arrays of one shape; `body` gets the addresses of their elements."""
    ty, first = arrays[0]
    lengths = [builder.extract_value(first, (SHAPE, k)) for k in range(ty.ndim)]
    letters = {a.layout for a, _ in arrays}
    if len(letters) == 1 and letters <= {"C", "F"}:
        count = I64(1)
        for length in lengths:
            count = builder.mul(count, length)
        data = [builder.extract_value(a, DATA) for _, a in arrays]
        with cgutils.for_range(builder, count, intp=I64) as loop:
            body(*[builder.gep(d, [loop.index]) for d in data])
        return

    def loops(*, rows: bool) -> None:
        with cgutils.loop_nest(builder, lengths, I64, order="F" if ty.layout == "F" else "C") as indices:
            body(*[pointer(context, builder, a, value, list(indices), rows=rows) for a, value in arrays])

    if "F" in letters or not ty.ndim:
        loops(rows=False)
        return
    unit = cgutils.true_bit  # views of parts of rows: then the loop along them takes vector instructions
    for a, value in arrays:
        stride = builder.extract_value(value, (STRIDES, a.ndim - 1))
        unit = builder.and_(unit, builder.icmp_signed("==", stride, builder.extract_value(value, ITEMSIZE)))
    with builder.if_else(unit, likely=True) as (then, otherwise):
        with then:
            loops(rows=True)
        with otherwise:
            loops(rows=False)


def _call(context: Any, builder: Any, name: str, kinds: list[Any], args: list[Any], body: Body, *, wide: bool) -> Any:
    """Do something with the elements of arrays of one shape, by a function of the module; `body` emits it for one.

    It gets addresses, and a number as it is. `wide`: a kernel does it, where the program is for a device.
    """
    arrays = [k for k, kind in enumerate(kinds) if isinstance(kind, types.Array)]

    def over(b: Any, values: list[Any]) -> None:
        rest = values[len(arrays) :]
        _over(context, b, [(kinds[k], values[k]) for k in arrays], lambda *places: body(b, *places, *rest))

    def elements(b: Any, values: list[Any]) -> Any:
        count = I64(1)
        for k in range(kinds[0].ndim):
            count = b.mul(count, b.extract_value(values[0], (SHAPE, k)))
        return count

    def turns(b: Any, values: list[Any], ends: tuple[Any, Any]) -> None:
        _turns(context, b, kinds, values, ends, body)

    return call_once(context, builder, name, (kinds, args), over, (elements, turns) if wide else None)


Turns = tuple[Callable[..., Any], Callable[..., None]]  # how many turns for values; what those between two ends do


def call_once(
    context: Any,
    builder: Any,
    name: str,
    given: tuple[list[Any], list[Any]],
    whole: Callable[..., None],
    kernel: Turns | None = None,
) -> Any:
    """Call a function of the module for arrays and numbers (types and values), whose body is `whole(builder, values)`.

    `kernel`: by turns of a device, where the program is for one and that pays.
    """
    kinds, args = given
    device = context.lower.device if kernel is not None else ""

    def emit(b: Any, *values: Any) -> None:
        if device and kernel is not None:
            _kernel(context, b, name, (kinds, list(values)), kernel)
        whole(b, list(values))
        b.ret(I64(0))

    # Programs for devices of two forms may meet in a process, where functions of one name are one.
    fn = outline(builder, f"{name}_{device}" if kernel is not None else name, I64, args, emit)
    answer = builder.call(fn, args)
    if device:
        fail_if(context, builder, builder.icmp_signed("!=", answer, I64(0)), RAISED)
    return context.get_dummy_value()


def _kernel(context: Any, b: Any, name: str, given: tuple[list[Any], list[Any]], kernel: Turns) -> None:
    """Emit the launch of a kernel that does it; from there on the host has to, as it would not pay or cannot be."""
    elements, turns = kernel
    count = elements(b, given[1])
    with b.if_then(b.icmp_signed(">=", count, I64(kernels().LEAST[context.lower.device])), likely=False):
        answer = kernels().moved(context, b, name, given, count, turns)
        if answer is None:
            return
        done, raised = (b.icmp_signed("==", answer, I64(k)) for k in (kernels().launch.DONE, kernels().launch.RAISED))
        with b.if_then(b.or_(done, raised)):
            b.ret(b.zext(raised, I64))


def _turns(context: Any, b: Any, kinds: list[Any], values: list[Any], ends: tuple[Any, Any], body: Body) -> None:
    """Emit what a kernel does: the elements with numbers from the one end to the other."""
    arrays = [(kind, v) for kind, v in zip(kinds, values, strict=True) if isinstance(kind, types.Array)]
    rest = values[len(arrays) :]
    ty, first = arrays[0]
    letters = {a.layout for a, _ in arrays}
    with cgutils.for_range_slice(b, *ends, I64(1), intp=I64) as (number, _):
        if len(letters) == 1 and letters <= {"C", "F"}:
            body(b, *[b.gep(b.extract_value(v, DATA), [number]) for _, v in arrays], *rest)
            return
        indices: dict[int, Any] = {}
        axes = list(range(ty.ndim))
        for k in axes if ty.layout == "F" else axes[::-1]:  # the one whose elements are neighbours first
            length = b.extract_value(first, (SHAPE, k))
            indices[k], number = b.urem(number, length), b.udiv(number, length)  # noqa: PLW2901
        places = [pointer(context, b, a, v, [indices[k] for k in axes]) for a, v in arrays]
        body(b, *places, *rest)


def _label(ty: Any) -> str:
    return f"{ty.dtype}_{ty.ndim}{ty.layout}"


def _same_kind(a: Any, b: Any) -> Any:
    return types.none if a.dtype == b.dtype and a.ndim == b.ndim else None


def _fill(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (ty, kind), (array, given) = kinds, args
        value = context.cast(builder, given, kind, ty.dtype)

        def store(b: Any, to: Any, item: Any) -> None:
            store_item(context, b, ty, item, to)

        label = f"diffjit_fill_{_label(ty)}"
        return _call(context, builder, label, [ty, ty.dtype], [array, value], store, wide=wide)

    return operation("fill", 2, lambda _a, _v: types.none, emit)


def _copy(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        label = f"diffjit_copy_{_label(kinds[0])}_{kinds[1].layout}"
        return _call(
            context, builder, label, list(kinds), list(args), lambda b, to, by: b.store(b.load(by), to), wide=wide
        )

    return operation("copy_into", 2, _same_kind, emit)


def _add(*, wide: bool) -> Any:
    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        def add(b: Any, to: Any, by: Any) -> None:
            b.store(b.fadd(b.load(to), b.load(by)), to)

        label = f"diffjit_add_{_label(kinds[0])}_{kinds[1].layout}"
        return _call(context, builder, label, list(kinds), list(args), add, wide=wide)

    return operation("add_into", 2, lambda a, b: _same_kind(a, b) if isinstance(a.dtype, types.Float) else None, emit)


# The arrays have one shape; what is read either does not overlap what is written, or is the same memory.
fill, fill_spread = (_fill(wide=wide) for wide in (False, True))  # a[...] = v
copy_into, copy_into_spread = (_copy(wide=wide) for wide in (False, True))  # a[...] = b
add_into, add_into_spread = (_add(wide=wide) for wide in (False, True))  # a += b, of floats


# Memory that arrays share --------------------------------------------------------------------------------------------


def extent(builder: Any, array: Any, ndim: int) -> tuple[Any, Any]:
    """The first address of an array's memory and the one behind the last."""
    start = builder.ptrtoint(builder.extract_value(array, DATA), I64)
    low, high = start, builder.add(start, builder.extract_value(array, ITEMSIZE))
    empty_ = cgutils.false_bit
    for n, s in zip(lengths_of(builder, array, ndim), strides_of(builder, array, ndim), strict=True):
        reach = builder.mul(builder.sub(n, I64(1)), s)
        back = builder.icmp_signed("<", reach, I64(0))
        low = builder.select(back, builder.add(low, reach), low)
        high = builder.select(back, high, builder.add(high, reach))
        empty_ = builder.or_(empty_, builder.icmp_signed("==", n, I64(0)))
    return low, builder.select(empty_, low, high)


def _emit_share(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (low_a, high_a), (low_b, high_b) = (extent(builder, a, k.ndim) for a, k in zip(args, kinds, strict=True))
    overlap = builder.and_(builder.icmp_unsigned("<", low_a, high_b), builder.icmp_unsigned("<", low_b, high_a))
    some = builder.and_(builder.icmp_unsigned("<", low_a, high_a), builder.icmp_unsigned("<", low_b, high_b))
    return builder.and_(overlap, some)


share_memory = operation("share_memory", 2, lambda _a, _b: types.boolean, _emit_share)


def _emit_apart(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    overlap = _emit_share(_context, builder, kinds, args)
    (ty, other), (a, b) = kinds, args
    if ty.ndim != other.ndim:
        return builder.not_(overlap)
    same = builder.icmp_unsigned("==", *(builder.ptrtoint(builder.extract_value(x, DATA), I64) for x in args))
    for values in (lengths_of, strides_of):
        for n, m in zip(values(builder, a, ty.ndim), values(builder, b, ty.ndim), strict=True):
            same = builder.and_(same, builder.icmp_signed("==", n, m))
    return builder.or_(same, builder.not_(overlap))


# Whether two arrays are the same elements in the same order, or have none in common.
apart_or_same = operation("apart_or_same", 2, lambda _a, _b: types.boolean, _emit_apart)


def share_arguments(context: Any, builder: Any, scopes: Any, kinds: Any, args: Any) -> None:
    """Leave with a failure where two arguments overlap though they are said to be apart, and one is written."""
    arrays = [k for k, ty in enumerate(kinds) if isinstance(ty, types.Array)]
    for n, j in enumerate(arrays):
        for k in arrays[:n]:
            if scopes.separates(j, k) and (scopes.writes(j) or scopes.writes(k)):
                overlap = _emit_share(context, builder, (kinds[j], kinds[k]), (args[j], args[k]))
                fail_if(context, builder, overlap, PROMISED, I64(APART))
