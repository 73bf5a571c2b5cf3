"""Lists and stacks of compiled code as opaque Python objects: they pass from forward function to pullback uncopied."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import NativeValue, box, lower_cast, models, register_model, typeof_impl, unbox

from diffjit.lowering.runtime.build import operation
from diffjit.lowering.runtime.typespec import numba_type


class Tape:
    """A list of compiled code, kept alive; only compiled functions can read it."""

    __slots__ = ("meminfo", "owner", "spec")

    def __init__(self, meminfo: Any, spec: str, owner: Any) -> None:
        self.meminfo = meminfo
        self.spec = spec
        self.owner = owner  # the program whose machine code frees the list


class TapeType(types.Type):
    """A `Tape` that holds a list of a certain type."""

    def __init__(self, held: types.List) -> None:
        self.held = held
        super().__init__(name=f"Tape({held})")


@register_model(TapeType)
class _TapeModel(models.StructModel):
    """The same as a list's."""

    def __init__(self, manager: Any, ty: TapeType) -> None:
        members = [("meminfo", types.MemInfoPointer(types.ListPayload(ty.held))), ("parent", types.pyobject)]
        super().__init__(manager, ty, members)


@typeof_impl.register(Tape)
def _typeof(tape: Tape, _context: Any) -> TapeType:
    return TapeType(numba_type(tape.spec))


@box(TapeType)
def _box(ty: TapeType, value: Any, c: Any) -> Any:
    made = c.context.make_helper(c.builder, ty, value)
    return c.pyapi.nrt_meminfo_as_pyobject(made.meminfo)


@unbox(TapeType)
def _unbox(ty: TapeType, obj: Any, c: Any) -> NativeValue:
    held = c.pyapi.object_getattr_string(obj, "meminfo")
    made = c.context.make_helper(c.builder, ty)
    made.meminfo = c.pyapi.nrt_meminfo_from_pyobject(held)
    c.pyapi.decref(held)
    return NativeValue(made._getvalue())


@lower_cast(TapeType, types.List)
def _opened(_context: Any, _builder: Any, _source: Any, _target: Any, value: Any) -> Any:
    return value


def _emit_seal(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    context.nrt.incref(builder, kinds[0], args[0])
    return args[0]


seal = operation("seal", 1, lambda ty: TapeType(ty) if isinstance(ty, types.List) else None, _emit_seal)
