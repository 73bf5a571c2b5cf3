"""How compiled functions leave with an error: noted, cleaned up, and never with a Numba exception that leaks.

`fail` notes a failure and leaves; `outline` puts the rare or bulky part of an operation into a function of its own.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.lowering.calls import records
from diffjit.lowering.calls.boxing import Boxing
from diffjit.lowering.calls.failures import NO_MEMORY, Stopped
from diffjit.lowering.llvm import numba_internals, writing
from diffjit.lowering.llvm.elements import I64, MEMINFO

if TYPE_CHECKING:
    from diffjit.lowering.llvm.emission import Lower

records.start()

REFERENCE = llvm_ir.IntType(8).as_pointer()
ROOM, CAPACITY = 0, 1  # parts of a slot
MEMINFO_DATA = 3  # the word of Numba's MemInfo that points to the memory (`NRT_MemInfo_data_fast`),
MEMINFO_SIZE = 4  # and that of its size
SLOT = llvm_ir.LiteralStructType([REFERENCE, I64])  # memory that a place of a function uses again and again


class Failing(NamedTuple):
    """How a call has ended that left its exception where the caller leaves its own."""

    code: Any
    is_error: Any


class CleanExits(numba_internals.CallingConvention):
    """Numba's calling convention, with a clean-up on every way out by error."""

    def return_user_exc(
        self, builder: Any, exc: Any, exc_args: Any = None, loc: Any = None, func_name: Any = None
    ) -> None:
        """Leave with one of Numba's own exceptions; for want of memory as where we allocate, with the user's line."""
        if exc is MemoryError:
            note_failure(builder, site(self.context), NO_MEMORY)
            exc, exc_args = Stopped, None
        self.set_static_user_exc(builder, exc, exc_args=exc_args, loc=loc, func_name=func_name)
        self.leave(builder, numba_internals.USER_ERROR)

    def return_value(self, builder: Any, retval: Any) -> None:
        """Leave with a result: of a tuple each item goes to its place by itself."""
        items = self.context.lower.tuples.get(retval)
        if items is None:
            super().return_value(builder, retval)
            return
        place = self.result_argument(builder.function)
        for k, item in enumerate(items):
            builder.store(item, builder.gep(place, [I64(0), llvm_ir.IntType(32)(k)]))
        self.leave(builder, numba_internals.SUCCESS)

    def call_function(self, builder: Any, callee: Any, resty: Any, argtys: Any, args: Any, attrs: Any = None) -> Any:
        """Call a function: what it fails with goes where ours would leave it, and there is one test. Its result.

        Numba sets up a place of its own for both at each call, and tells six kinds of failure apart: a third of the
        code of long programs.
        """
        if not hasattr(builder.function, "diffjit_exit") or isinstance(resty, types.Optional):
            return super().call_function(builder, callee, resty, argtys, args, attrs)
        place, given = result_place(builder, self.result_type(callee)), self.packed(argtys, builder, args)
        code = builder.call(callee, [place, self.exception_place(builder.function), *given])
        result = self.context.get_returned_value(builder, resty, builder.load(place))
        return Failing(code, builder.icmp_signed("!=", code, code.type(0))), result

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        """Leave because a callee failed; a caller made from user code notes its own line."""
        if not isinstance(status, Failing):
            builder.store(status.excinfoptr, self.exception_place(builder.function))
        lower = self.context.lower
        if lower.module_key and builder.function is lower.function:
            trace = cgutils.get_or_insert_function(
                builder.module, llvm_ir.FunctionType(llvm_ir.VoidType(), [I64, I64]), records.TRACE
            )
            builder.call(trace, [I64(lower.module_key), I64(lower.loc.line)])
        self.leave(builder, status.code)

    def leave(self, builder: Any, code: Any) -> None:
        """Return a status; one of an error by way of the clean-up."""
        way_out = getattr(builder.function, "diffjit_exit", None)
        if way_out is None or self.is_success(code):
            super().leave(builder, code)
            return
        block, slot = way_out
        builder.store(code, slot)
        builder.branch(block)


class References(numba_internals.ReferenceCounts):
    """Counts references; of an array's struct it looks at nothing but the reference.

    Those of a tuple's items are asked for where it is known what it was made of: for each item that is taken out of a
    tuple, LLVM looks at all that were put in.
    """

    def get_meminfos(self, builder: Any, ty: Any, val: Any) -> list[tuple[Any, Any]]:
        """The references that a value holds."""
        if isinstance(ty, types.Array):
            return [(ty, builder.extract_value(val, MEMINFO))]
        if not self.holds_references(ty):
            return []
        items = self.context.lower.tuples.get(val) if isinstance(ty, (types.Tuple, types.UniTuple)) else None
        if items is not None:
            return [
                found for kind, item in zip(ty, items, strict=True) for found in self.get_meminfos(builder, kind, item)
            ]
        return super().get_meminfos(builder, ty, val)

    def meminfo_varsize_realloc_unchecked(self, builder: Any, meminfo: Any, size: Any) -> Any:
        """More room for a list, or null. Numba's runtime forgets the old room then, which could not be given back."""
        place = builder.gep(builder.bitcast(meminfo, I64.as_pointer()), [I64(MEMINFO_DATA)])
        before = builder.load(place)
        found = super().meminfo_varsize_realloc_unchecked(builder, meminfo, size)
        with builder.if_then(cgutils.is_null(builder, found), likely=False):
            builder.store(before, place)
        return found


class Context(numba_internals.TargetContext):
    """The target context of one function being lowered."""

    lower: Lower

    @cached_property
    def nrt(self) -> References:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Reference counting."""
        return References(self, self.enable_nrt)

    @property
    def call_conv(self) -> CleanExits:
        """The convention with clean exits."""
        return CleanExits(self)

    def get_return_value(self, builder: Any, ty: Any, val: Any) -> Any:
        """A value as it is returned: a tuple from what it was made of, where that is known."""
        items = self.lower.tuples.get(val)
        if items is None:
            return super().get_return_value(builder, ty, val)
        parts = items  # of one type: they stay as they are
        if isinstance(ty, types.Tuple):
            parts = [self.get_return_value(builder, kind, item) for kind, item in zip(ty, items, strict=True)]
        return self.joined(builder, self.get_return_type(ty), parts)

    def get_returned_value(self, builder: Any, ty: Any, val: Any) -> Any:
        """What was returned as a value; of a tuple it stays known what it is made of."""
        if not isinstance(ty, (types.Tuple, types.UniTuple)) or not isinstance(val, llvm_ir.LoadInstr):
            return super().get_returned_value(builder, ty, val)
        (place,) = val.operands
        loads = [builder.load(builder.gep(place, [I64(0), llvm_ir.IntType(32)(k)])) for k in range(len(ty))]
        items = loads
        if isinstance(ty, types.Tuple):
            items = [self.get_returned_value(builder, kind, item) for kind, item in zip(ty, loads, strict=True)]
        return self.joined(builder, self.get_value_type(ty), items)

    def joined(self, builder: Any, kind: Any, items: list[Any]) -> Any:
        """A struct, and what it is made of noted: LLVM searches all of it for each item that is taken out again."""
        made = llvm_ir.Constant(kind, llvm_ir.Undefined)
        for k, item in enumerate(items):
            made = builder.insert_value(made, item, k)
        self.lower.tuples[made] = items
        return made

    def get_python_api(self, builder: Any) -> Boxing:
        """Python's C interface."""
        return Boxing(self, builder)


def context_of(context: Any, lower: Any) -> Any:
    """The context of one function that is being written: what is asked of `lower` is about this one."""
    own = copy.copy(context)
    own.__class__ = Context
    own.__dict__.pop("nrt", None)
    own.lower = lower
    return own


def fail(context: Any, builder: Any, kind: int, *payload: Any) -> None:
    """Emit: record a failure, clean up, leave. The builder's block is closed by this."""
    lower = context.lower
    record = _recorder(builder.module, len(payload))
    builder.call(record, [I64(lower.module_key), I64(lower.loc.line), I64(kind), *payload])
    builder.branch(lower.stop_block)


def stop_if(context: Any, builder: Any, condition: Any) -> None:
    """Emit: clean up and leave where the condition holds; what failed has been noted."""
    go_on = builder.append_basic_block("go")
    _unlikely(builder, condition, context.lower.stop_block, go_on)
    builder.position_at_end(go_on)


def fail_if(context: Any, builder: Any, condition: Any, kind: int, *payload: Any) -> None:
    """Emit: leave with a recorded failure where the condition holds."""
    failed, go_on = builder.append_basic_block("no"), builder.append_basic_block("go")
    _unlikely(builder, condition, failed, go_on)
    builder.position_at_end(failed)
    fail(context, builder, kind, *payload)
    builder.position_at_end(go_on)


def _unlikely(builder: Any, condition: Any, then: Any, other: Any) -> None:
    branch, known = builder.cbranch(condition, then, other), vars(builder.module)
    if "unlikely" not in known:
        branch.set_weights([1, 99])
        known["unlikely"] = branch.metadata["prof"]
    branch.set_metadata("prof", known["unlikely"])


def _recorder(module: Any, count: int) -> Any:
    """A function of the LLVM module that packs the payload and calls `dj_fail`: out of line, it keeps checks small."""

    def emit(b: Any, *args: Any) -> None:
        array = b.alloca(llvm_ir.ArrayType(I64, max(1, count)))
        for k, word in enumerate(args[3:]):
            b.store(word, b.gep(array, [I64(0), I64(k)]))
        kind = llvm_ir.FunctionType(llvm_ir.VoidType(), [I64] * 4 + [I64.as_pointer()])
        target = cgutils.get_or_insert_function(module, kind, records.FAIL)
        b.call(target, [*args[:3], I64(count), b.bitcast(array, I64.as_pointer())])
        b.ret_void()

    name, kinds = f"diffjit_fail_{count}", [I64] * (3 + count)
    return _written_once(module, name, llvm_ir.VoidType(), kinds, ("noinline", "cold"), emit)


def releaser(module: Any, item: Any = REFERENCE) -> Any:
    """A function of the LLVM module that releases the references in `count` items (slots, or themselves references).

    Null ones are skipped.
    """

    def emit(b: Any, first: Any, count: Any) -> None:
        with cgutils.for_range(b, count, intp=I64) as loop:
            place = [loop.index] if item is REFERENCE else [loop.index, llvm_ir.IntType(32)(ROOM)]
            b.call(_decref(module), [b.load(b.gep(first, place))])
        b.ret_void()

    name, attributes = ("diffjit_release", ("noinline", "cold"))
    if item is not REFERENCE:
        name, attributes = ("diffjit_release_rooms", ("noinline",))
    return _written_once(module, name, llvm_ir.VoidType(), [item.as_pointer(), I64], attributes, emit)


def _decref(module: Any) -> Any:
    """Numba's function that gives a reference up, if it is one."""
    kind = llvm_ir.FunctionType(llvm_ir.VoidType(), [REFERENCE])
    return cgutils.get_or_insert_function(module, kind, "NRT_decref")


def _written_once(module: Any, name: str, result: Any, kinds: list[Any], attributes: Any, emit: Any) -> Any:
    """A function of the LLVM module, whose body `emit(builder, *arguments)` writes where there is none yet."""
    found = module.globals.get(name)
    if found is not None:
        return found
    fn = llvm_ir.Function(module, llvm_ir.FunctionType(result, kinds), name)
    writing.begin(fn)
    fn.linkage = "linkonce_odr"
    for attribute in attributes:
        fn.attributes.add(attribute)
    emit(writing.Builder(fn.append_basic_block()), *fn.args)
    return fn


def outline(builder: Any, name: str, result: Any, arguments: list[Any], emit: Any) -> Any:
    """A function of the LLVM module for the rare or bulky part of an operation: one copy, out of the way.

    `emit(builder, *arguments)` writes its body. It reports failures by `note_failure`.
    """
    return _written_once(builder.module, name, result, [a.type for a in arguments], ("noinline",), emit)


def result_place(builder: Any, kind: Any) -> Any:
    """Where what is called leaves a result of a type, for the caller to read at once: one place of each type."""
    places = vars(builder.function).setdefault("results", {})
    if kind not in places:
        places[kind] = cgutils.alloca_once(builder, kind)
    return places[kind]


def inlined(module: Any, name: str, result: Any, arguments: list[Any], emit: Any) -> Any:
    """A function of the LLVM module for what is written again and again: LLVM puts its body where it is called.

    `arguments` are types. To write a call is a tenth of the work of writing a body, and LLVM does the rest faster.
    It returns a number or an address: structs that come by two ways LLVM leaves as they are, and learns nothing of.
    """
    return _written_once(module, name, result, arguments, ("alwaysinline",), emit)


def dropper(module: Any) -> Any:
    """A function of the LLVM module that gives a noted reference up: the reference, and the place of the note."""

    def emit(b: Any, reference: Any, place: Any) -> None:
        b.call(_decref(module), [reference])
        b.store(llvm_ir.Constant(REFERENCE, None), place)
        b.ret_void()

    return inlined(module, "diffjit_drop", llvm_ir.VoidType(), [REFERENCE, REFERENCE.as_pointer()], emit)


def site(context: Any) -> list[Any]:
    """Where an operation stands in the text: the first arguments of what may note a failure."""
    return [I64(context.lower.module_key), I64(context.lower.loc.line)]


def note_failure(builder: Any, place: list[Any], kind: int, *payload: Any) -> None:
    """Emit: record a failure (and go on: the caller leaves)."""
    builder.call(_recorder(builder.module, len(payload)), [*place, I64(kind), *payload])
