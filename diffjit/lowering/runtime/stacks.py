"""Stacks of numbers that one function pushes on and pops from, as tapes of its loops are.

How many items there are, for how many there is room, and where they are stands in the function's frame, from where LLVM
takes it into registers: a push is a comparison and a store, as in an adjoint written by hand. A list keeps all that in
memory, where it may be what an item's store changes. The memory is a list's, and is given back as one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.extending import models, register_model

from diffjit.lowering.calls.failures import EMPTY_POP
from diffjit.lowering.llvm.elements import with_dead_end
from diffjit.lowering.llvm.numba_internals import ListInside
from diffjit.lowering.runtime import lists
from diffjit.lowering.runtime.build import I64, operation
from diffjit.lowering.runtime.typespec import numba_type

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


class _Inside:
    """A stack of compiled code."""

    def __init__(self, context: Any, builder: Any, ty: StackType, meminfo: Any, record: Any) -> None:
        self.context, self.builder, self.ty, self.meminfo = context, builder, ty, meminfo
        self.model = context.data_model_manager[ty.dtype]
        kind = llvm_ir.LiteralStructType([I64, I64, self.model.get_data_type().as_pointer()])
        self.record = builder.bitcast(record, kind.as_pointer())

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
        made = lists.new(context, builder, ty.held, I64(lists.FIRST), I64(0))
        kind = llvm_ir.LiteralStructType([I64, I64, context.data_model_manager[ty.dtype].get_data_type().as_pointer()])
        record = builder.bitcast(cgutils.alloca_once(builder, kind), cgutils.voidptr_t)
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
            with b.if_then(b.not_(lists.grown(context, b, where, ty.held, held.value)), likely=False):
                b.ret(cgutils.true_bit)
                with_dead_end(b)
            stack.look()
        b.store(stack.model.as_data(b, item), stack.item(size))
        stack.set(_SIZE, b.add(size, I64(1)))
        b.ret(cgutils.false_bit)

    given = [*_parts(builder, whole), context.cast(builder, value, kind, ty.dtype)]
    lists.call_or_stop(context, builder, "push", ty, given, emit)
    return context.get_dummy_value()


push = operation("push", 2, lambda _s, _v: types.none, _emit_push)


def _emit_pop(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    ty = kinds[0]

    def emit(b: Any, where: list[Any], meminfo: Any, record: Any) -> Any:
        stack = _Inside(context, b, ty, meminfo, record)
        size = stack.get(_SIZE)
        lists.refused(b, b.icmp_signed("==", size, I64(0)), where, EMPTY_POP)
        last = b.sub(size, I64(1))
        stack.set(_SIZE, last)
        return stack.model.from_data(b, b.load(stack.item(last)))

    return lists.item_or_stop(context, builder, "top", ty, _parts(builder, args[0]), emit)


pop_top = operation("pop_top", 1, lambda ty: ty.dtype, _emit_pop)
