"""Lists and stacks: Numba's own lists inside compiled functions, with Python's errors.

What programs do with lists all the time is a function of the LLVM module for each type of items, which LLVM puts where
it is called; what is rare in them is a function that stays one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.extending import models, register_model

from diffjit.lowering.calls.failures import EMPTY_POP, LIST_INDEX, NO_MEMORY
from diffjit.lowering.llvm.elements import with_dead_end, wrapped
from diffjit.lowering.llvm.exits import inlined, note_failure, outline, result_place, site, stop_if
from diffjit.lowering.llvm.numba_internals import ListInside
from diffjit.lowering.runtime.build import I1, I64, operation
from diffjit.lowering.runtime.typespec import numba_type

_FIRST = 16  # items that a new list has room for


def _call(context: Any, builder: Any, what: str, ty: Any, result: Any, args: list[Any], emit: Any) -> Any:
    """Call a function for lists of a type: `emit(builder, where, *args)` writes it, once in a module."""

    def body(b: Any, *given: Any) -> None:
        emit(b, list(given[:2]), *given[2:])

    arguments = [*site(context), *args]
    fn = inlined(builder.module, f"diffjit_{what}_{ty.dtype}", result, [a.type for a in arguments], body)
    return builder.call(fn, arguments)


def _refused(b: Any, condition: Any, where: list[Any], kind: int, *payload: Any, given: Any = cgutils.true_bit) -> None:
    """In such a function: where the condition holds, note a failure and return what says so."""
    with b.if_then(condition, likely=False):
        note_failure(b, where, kind, *payload)
        b.ret(given)
        with_dead_end(b)


def _call_or_stop(context: Any, builder: Any, what: str, ty: Any, args: list[Any], emit: Any) -> None:
    """Call a function that tells whether it has failed."""
    stop_if(context, builder, _call(context, builder, what, ty, I1, args, emit))


# Room -----------------------------------------------------------------------------------------------------------------


def _new(context: Any, builder: Any, ty: Any, room: Any, size: Any) -> Any:
    """A list with room for some items, of a size; its items are zero."""
    kind = context.get_value_type(ty)

    def emit(b: Any, *args: Any) -> None:
        there_is, new = ListInside.allocate_ex(context, b, ty, args[2])
        _refused(b, b.not_(there_is), list(args[:2]), NO_MEMORY, given=llvm_ir.Constant(kind, None))
        new.size = args[3]
        b.ret(new.value)

    arguments = [*site(context), room, size]
    value = builder.call(outline(builder, f"diffjit_list_{ty.dtype}", kind, arguments, emit), arguments)
    stop_if(context, builder, cgutils.is_null(builder, builder.extract_value(value, 0)))
    return value


@cache
def new_list(spec: str) -> Any:
    """`new_list()`: an empty list of one type."""
    ty = types.List(numba_type(spec), reflected=False)
    return operation("new_list", 0, lambda: ty, lambda c, b, _k, _a: _new(c, b, ty, I64(_FIRST), I64(0)))


def _grown(context: Any, b: Any, where: list[Any], ty: Any, items: Any) -> Any:
    """Make room; whether there is memory for it. Rare, and much code, so not put where a list is appended to."""

    def emit(inner: Any, *args: Any) -> None:
        longer = ListInside(context, inner, ty, args[2])
        size = longer.size
        room = inner.add(inner.shl(size, I64(1)), I64(_FIRST))
        none = cgutils.is_null(inner, longer.with_room(room))
        _refused(inner, none, list(args[:2]), NO_MEMORY, given=cgutils.false_bit)
        if context.data_model_manager[ty.dtype].contains_nrt_meminfo():
            longer.zfill(size, room)  # references that are not there yet; numbers that are not there nobody reads
        inner.ret(cgutils.true_bit)

    arguments = [*where, items]
    return b.call(outline(b, f"diffjit_grow_{ty.dtype}", I1, arguments, emit), arguments)


def _room_for_one(context: Any, b: Any, where: list[Any], ty: Any, items: Any) -> Any:
    """In a function that tells whether there was no memory: room for one more item. How many there are."""
    payload = ListInside(context, b, ty, items).payload
    size = payload.size
    full = b.icmp_signed(">=", size, payload.allocated)
    with b.if_then(full, likely=False), b.if_then(b.not_(_grown(context, b, where, ty, items)), likely=False):
        b.ret(cgutils.true_bit)
        with_dead_end(b)
    return size


# Items ----------------------------------------------------------------------------------------------------------------


def _emit_append(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind), (items, value) = kinds, args

    def emit(b: Any, where: list[Any], whole: Any, item: Any) -> None:
        made = ListInside(context, b, ty, whole)
        size = _room_for_one(context, b, where, ty, whole)
        made.inititem(size, item)
        made.size = b.add(size, I64(1))
        b.ret(cgutils.false_bit)

    given = [items, context.cast(builder, value, kind, ty.dtype)]
    _call_or_stop(context, builder, "append", ty, given, emit)
    return context.get_dummy_value()


append = operation("append", 2, lambda _l, _v: types.none, _emit_append)


def _place(b: Any, where: list[Any], size: Any, index: Any) -> Any:
    """In a function that tells whether it has failed: where an item stands."""
    at = wrapped(b, index, size)
    _refused(b, b.icmp_unsigned(">=", at, size), where, LIST_INDEX)
    return at


def _item_or_stop(context: Any, builder: Any, what: str, ty: Any, args: list[Any], emit: Any) -> Any:
    """Call a function that gives an item, or fails."""
    kind = context.get_value_type(ty.dtype)

    def body(b: Any, where: list[Any], *given: Any) -> None:
        b.store(emit(b, where, *given[:-1]), given[-1])
        b.ret(cgutils.false_bit)

    place = result_place(builder, kind)
    _call_or_stop(context, builder, what, ty, [*args, place], body)
    return builder.load(place)


def _emit_item(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]

    def emit(b: Any, where: list[Any], whole: Any, index: Any) -> Any:
        made = ListInside(context, b, ty, whole)
        value = made.getitem(_place(b, where, made.size, index))
        context.nrt.incref(b, ty.dtype, value)
        return value

    return _item_or_stop(context, builder, "item", ty, list(args), emit)


item_of = operation("item_of", 2, lambda ty, _i: ty.dtype, _emit_item)


def _emit_put(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind, _), (items, value, index) = kinds, args

    def emit(b: Any, where: list[Any], whole: Any, item: Any, at: Any) -> None:
        made = ListInside(context, b, ty, whole)
        made.setitem(_place(b, where, made.size, at), item, incref=True)
        b.ret(cgutils.false_bit)

    given = [items, context.cast(builder, value, kind, ty.dtype), index]
    _call_or_stop(context, builder, "put", ty, given, emit)
    return context.get_dummy_value()


put_item = operation("put_item", 3, lambda _l, _v, _i: types.none, _emit_put)


def _emit_pop_last(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Take the last element out; the list keeps its room."""
    ty = kinds[0]

    def emit(b: Any, where: list[Any], whole: Any) -> Any:
        made = ListInside(context, b, ty, whole)
        size = made.size
        _refused(b, b.icmp_signed("==", size, I64(0)), where, EMPTY_POP)
        last = b.sub(size, I64(1))
        value = made.getitem(last)  # its reference moves to the caller
        made.size = last
        return value

    return _item_or_stop(context, builder, "pop", ty, list(args), emit)


pop_last = operation("pop_last", 1, lambda ty: ty.dtype, _emit_pop_last)


def _emit_pop_at(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]

    def emit(b: Any, where: list[Any], whole: Any, index: Any) -> Any:
        made = ListInside(context, b, ty, whole)
        size = made.size
        some = b.select(b.icmp_signed(">", size, I64(0)), I64(1), I64(0))
        at = wrapped(b, index, size)
        _refused(b, b.icmp_unsigned(">=", at, size), where, EMPTY_POP, some)
        value = made.getitem(at)  # its reference moves to the caller
        last, behind = b.sub(size, I64(1)), b.add(at, I64(1))
        made.move(at, behind, b.sub(last, at))
        made.size = last
        return value

    return _item_or_stop(context, builder, "pop_at", ty, list(args), emit)


pop_at = operation("pop_at", 2, lambda ty, _i: ty.dtype, _emit_pop_at)


def _emit_insert(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind, _), (items, value, index) = kinds, args

    def emit(b: Any, where: list[Any], whole: Any, item: Any, asked: Any) -> None:
        made = ListInside(context, b, ty, whole)
        size = _room_for_one(context, b, where, ty, whole)
        at = wrapped(b, asked, size)
        at = b.select(b.icmp_signed("<", at, I64(0)), I64(0), at)
        at = b.select(b.icmp_signed(">", at, size), size, at)
        made.move(b.add(at, I64(1)), at, b.sub(size, at))
        made.inititem(at, item)
        made.size = b.add(size, I64(1))
        b.ret(cgutils.false_bit)

    given = [items, context.cast(builder, value, kind, ty.dtype), index]
    _call_or_stop(context, builder, "insert", ty, given, emit)
    return context.get_dummy_value()


insert_item = operation("insert_item", 3, lambda _l, _v, _i: types.none, _emit_insert)


def _emit_copy(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty, whole = kinds[0], args[0]
    made = _new(context, builder, ty, *[_emit_size(context, builder, kinds, args)] * 2)

    def emit(b: Any, _where: list[Any], source: Any, target: Any) -> None:
        old, new = ListInside(context, b, ty, source), ListInside(context, b, ty, target)
        with cgutils.for_range(b, old.size) as loop:
            new.setitem(loop.index, old.getitem(loop.index), incref=True, decref_old_value=False)
        b.ret_void()

    _call(context, builder, "copy", ty, llvm_ir.VoidType(), [whole, made], emit)
    return made


copy_list = operation("copy_list", 1, lambda ty: ty, _emit_copy)


def _emit_size(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]

    def emit(b: Any, _where: list[Any], whole: Any) -> None:
        b.ret(ListInside(context, b, ty, whole).size)

    return _call(context, builder, "size", ty, I64, list(args), emit)


list_size = operation("list_size", 1, lambda _ty: types.int64, _emit_size)


# Stacks of numbers ----------------------------------------------------------------------------------------------------

# One function pushes on them and pops from them, as tapes of its loops are. How many items there are, for how many
# there is room, and where they are stands in the function's frame, from where LLVM takes it into registers: a push is
# a comparison and a store, as in an adjoint written by hand. A list keeps all that in memory, where it may be what an
# item's store changes. The memory is a list's, and is given back as one.

_SIZE, _ROOM, _ITEMS = range(3)  # of a frame's record: the third is where the items are


class StackType(types.Type):
    """A stack of numbers of one type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.held = types.List(dtype, reflected=False)
        super().__init__(name=f"Stack({dtype})")


@register_model(StackType)
class _StackModel(models.StructModel):
    """A list's reference, and where the record of it is: in the frame of the function that made it."""

    def __init__(self, manager: Any, ty: StackType) -> None:
        members = [("meminfo", types.MemInfoPointer(types.ListPayload(ty.held))), ("record", types.voidptr)]
        super().__init__(manager, ty, members)


def _record_of(context: Any, ty: StackType) -> Any:
    """The type of such a record."""
    return llvm_ir.LiteralStructType([I64, I64, context.data_model_manager[ty.dtype].get_data_type().as_pointer()])


class _Inside:
    """A stack of compiled code."""

    def __init__(self, context: Any, builder: Any, ty: StackType, meminfo: Any, record: Any) -> None:
        self.context, self.builder, self.ty, self.meminfo = context, builder, ty, meminfo
        self.model = context.data_model_manager[ty.dtype]
        self.record = builder.bitcast(record, _record_of(context, ty).as_pointer())

    def list(self) -> Any:
        """The list that has the memory."""
        made = self.context.make_helper(self.builder, self.ty.held)
        made.meminfo = self.meminfo
        made.parent = cgutils.get_null_value(made.parent.type)
        return ListInside(self.context, self.builder, self.ty.held, made._getvalue())

    def _field(self, which: int) -> Any:
        zero = llvm_ir.IntType(32)(0)
        return self.builder.gep(self.record, [zero, llvm_ir.IntType(32)(which)])

    def get(self, which: int) -> Any:
        """A field of the record."""
        return self.builder.load(self._field(which))

    def set(self, which: int, value: Any) -> None:
        """Write a field of the record."""
        self.builder.store(value, self._field(which))

    def look(self) -> None:
        """Note what room the list has, and where."""
        found = self.list()
        self.set(_ROOM, found.payload.allocated)
        self.set(_ITEMS, found.data)

    def item(self, at: Any) -> Any:
        """Where an item is."""
        return self.builder.gep(self.get(_ITEMS), [at])


@cache
def new_stack(spec: str) -> Any:
    """`new_stack()`: an empty stack of numbers of one type, for the function that makes it and those that it calls."""
    ty = StackType(numba_type(spec))

    def emit(context: Any, builder: Any, _kinds: Any, _args: Any) -> Any:
        made = _new(context, builder, ty.held, I64(_FIRST), I64(0))
        record = builder.bitcast(cgutils.alloca_once(builder, _record_of(context, ty)), cgutils.voidptr_t)
        meminfo = builder.extract_value(made, 0)
        stack = _Inside(context, builder, ty, meminfo, record)
        stack.set(_SIZE, I64(0))
        stack.look()
        value = context.make_helper(builder, ty)
        value.meminfo, value.record = meminfo, record
        return value._getvalue()

    return operation("new_stack", 0, lambda: ty, emit)


def _parts(builder: Any, stack: Any) -> list[Any]:
    return [builder.extract_value(stack, 0), builder.extract_value(stack, 1)]


def _emit_push(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    (ty, kind), (whole, value) = kinds, args

    def emit(b: Any, where: list[Any], meminfo: Any, record: Any, item: Any) -> None:
        stack = _Inside(context, b, ty, meminfo, record)
        size = stack.get(_SIZE)
        with b.if_then(b.icmp_signed(">=", size, stack.get(_ROOM)), likely=False):
            held = stack.list()
            held.size = size
            with b.if_then(b.not_(_grown(context, b, where, ty.held, held.value)), likely=False):
                b.ret(cgutils.true_bit)
                with_dead_end(b)
            stack.look()
        b.store(stack.model.as_data(b, item), stack.item(size))
        stack.set(_SIZE, b.add(size, I64(1)))
        b.ret(cgutils.false_bit)

    given = [*_parts(builder, whole), context.cast(builder, value, kind, ty.dtype)]
    _call_or_stop(context, builder, "push", ty, given, emit)
    return context.get_dummy_value()


push = operation("push", 2, lambda _s, _v: types.none, _emit_push)


def _emit_pop(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]

    def emit(b: Any, where: list[Any], meminfo: Any, record: Any) -> Any:
        stack = _Inside(context, b, ty, meminfo, record)
        size = stack.get(_SIZE)
        _refused(b, b.icmp_signed("==", size, I64(0)), where, EMPTY_POP)
        last = b.sub(size, I64(1))
        stack.set(_SIZE, last)
        return stack.model.from_data(b, b.load(stack.item(last)))

    return _item_or_stop(context, builder, "top", ty, _parts(builder, args[0]), emit)


pop_top = operation("pop_top", 1, lambda ty: ty.dtype, _emit_pop)
