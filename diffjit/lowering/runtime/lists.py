"""Lists and stacks: Numba's own lists inside compiled functions, with Python's errors."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba.core import cgutils, types

from diffjit.lowering.calls.failures import EMPTY_POP, LIST_INDEX
from diffjit.lowering.llvm.elements import wrapped
from diffjit.lowering.llvm.numba_internals import ListInside, signature_of
from diffjit.lowering.runtime.build import I64, call_python, fail_if, operation, outlined
from diffjit.lowering.runtime.typespec import numba_type


@cache
def new_list(spec: str) -> Any:
    """`new_list()`: an empty list of one type."""
    ty = types.List(numba_type(spec), reflected=False)

    def emit(context: Any, builder: Any, _kinds: Any, _args: Any) -> Any:
        made = ListInside.allocate(context, builder, ty, 16)
        made.size = I64(0)
        return made.value

    make = operation("make", 0, lambda: ty, emit)

    @outlined
    def made_list() -> Any:
        return make()

    return operation("new_list", 0, lambda: ty, lambda c, b, _k, _a: call_python(c, b, made_list, (), ()))


def _emit_grow(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    made = ListInside(context, builder, kinds[0], args[0])
    size = made.size
    made.resize(builder.add(builder.shl(size, I64(1)), I64(16)))
    made.size = size
    return context.get_dummy_value()


_grow_in_place = operation("grow_in_place", 1, lambda _l: types.none, _emit_grow)


@outlined
def _grow(items: Any) -> Any:
    """Make room: rare, and much code, so not inlined where a list is appended to."""
    _grow_in_place(items)


def _emit_append(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind), (items, value) = kinds, args
    made = ListInside(context, builder, ty, items)
    payload = made.payload
    size = payload.size
    with builder.if_then(builder.icmp_signed(">=", size, payload.allocated), likely=False):
        call_python(context, builder, _grow, (ty,), (items,))
    made.inititem(size, context.cast(builder, value, kind, ty.dtype))
    made.size = builder.add(size, I64(1))
    return context.get_dummy_value()


append = operation("append", 2, lambda _l, _v: types.none, _emit_append)


def _element(context: Any, builder: Any, ty: Any, items: Any, index: Any, kind: int, *payload: Any) -> tuple[Any, Any]:
    made = ListInside(context, builder, ty, items)
    size = made.size
    place = wrapped(builder, index, size)
    fail_if(context, builder, builder.icmp_unsigned(">=", place, size), kind, *payload)
    return made, place


def _emit_item(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    made, place = _element(context, builder, kinds[0], args[0], args[1], LIST_INDEX)
    value = made.getitem(place)
    context.nrt.incref(builder, kinds[0].dtype, value)
    return value


item_of = operation("item_of", 2, lambda ty, _i: ty.dtype, _emit_item)


def _emit_put(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind, _), (items, value, index) = kinds, args
    made, place = _element(context, builder, ty, items, index, LIST_INDEX)
    made.setitem(place, context.cast(builder, value, kind, ty.dtype), incref=True)
    return context.get_dummy_value()


put_item = operation("put_item", 3, lambda _l, _v, _i: types.none, _emit_put)


def _emit_pop_last(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Take the last element out; the list keeps its room."""
    made = ListInside(context, builder, kinds[0], args[0])
    size = made.size
    fail_if(context, builder, builder.icmp_signed("==", size, I64(0)), EMPTY_POP)
    last = builder.sub(size, I64(1))
    value = made.getitem(last)  # its reference moves to the caller
    made.size = last
    return value


pop_last = operation("pop_last", 1, lambda ty: ty.dtype, _emit_pop_last)


def _emit_pop_at(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]
    size = ListInside(context, builder, ty, args[0]).size
    some = builder.select(builder.icmp_signed(">", size, I64(0)), I64(1), I64(0))
    _element(context, builder, ty, args[0], args[1], EMPTY_POP, some)
    pop = context.get_function("list.pop", signature_of(ty.dtype, ty, types.int64))
    return pop(builder, args)


pop_at = operation("pop_at", 2, lambda ty, _i: ty.dtype, _emit_pop_at)


def _emit_insert(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind, _), (items, value, index) = kinds, args
    insert = context.get_function("list.insert", signature_of(types.none, ty, types.int64, ty.dtype))
    return insert(builder, (items, index, context.cast(builder, value, kind, ty.dtype)))


insert_item = operation("insert_item", 3, lambda _l, _v, _i: types.none, _emit_insert)


def _emit_copy(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]
    old = ListInside(context, builder, ty, args[0])
    size = old.size
    made = ListInside.allocate(context, builder, ty, size)
    made.size = size
    with cgutils.for_range(builder, size) as loop:
        made.setitem(loop.index, old.getitem(loop.index), incref=True, decref_old_value=False)
    return made.value


copy_list = operation("copy_list", 1, lambda ty: ty, _emit_copy)


def _emit_size(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    return ListInside(context, builder, kinds[0], args[0]).size


list_size = operation("list_size", 1, lambda _ty: types.int64, _emit_size)
