"""Emits the launch of a kernel in place of what threads would do, with the kernel's image as data of the module.

    if the device has run all turns: go on        (`launch`)
    else: run them here                           (too little work, memory of the host, a turn that failed)

A turn that fails is run again by the host, which raises what it has to: what was run may run again (`separate`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.ir import stages
from diffjit.lowering.calls.failures import RAISED as RAISED_FAILURE
from diffjit.lowering.cuda import images, launch, products
from diffjit.lowering.cuda.devices import WATCHED
from diffjit.lowering.cuda.rooms import START
from diffjit.lowering.llvm.elements import DATA, MEMINFO, PARENT
from diffjit.lowering.runtime.build import fail_if

_I8, _I32, _I64 = (llvm_ir.IntType(n) for n in (8, 32, 64))
_BYTES = _I8.as_pointer()
_MOST = 4000  # bytes: a kernel's parameters have 4 KB in all
_STREAM = 2  # operations that the time for an element from memory is worth
LEAST = {"ptx": 1 << 12, "native": 1, "watched": 1}  # elements that are worth asking for
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8, "ptr": 8}


def launched(
    context: Any,
    builder: Any,
    part: tuple[Any, Any, Any],
    parts: list[Any],
    count: Any,
    work: Any,
    *,
    once: bool = False,
) -> Any | None:
    """Emit: have the device run all turns of a part; whether it has. None where the device cannot run it.

    `once`: what was run must not run again.
    """
    described, call, library = part
    made = _image(context, builder, library, described, call, parts)
    if made is None:
        return None
    image, fields, flat = made
    record = _record(builder.module, described.mangled_name, image, _layout(fields), once=once)
    answer = _asked(builder, record, count, flat, work)
    fail_if(context, builder, builder.icmp_signed("==", answer, _I64(launch.RAISED)), RAISED_FAILURE)
    return builder.icmp_signed("==", answer, _I64(launch.DONE))


def _asked(builder: Any, record: Any, count: Any, flat: list[Any], work: Any) -> Any:
    """Emit the call that launches a kernel."""
    kind = llvm_ir.LiteralStructType([v.type for v in flat])
    place = cgutils.alloca_once(builder, kind)
    for k, v in enumerate(flat):
        builder.store(v, builder.gep(place, [_I32(0), _I32(k)]))
    launch.start()
    function = cgutils.get_or_insert_function(builder.module, llvm_ir.FunctionType(_I64, [_I64] * 4), launch.SYMBOL)
    given = [builder.ptrtoint(record, _I64), count, builder.ptrtoint(place, _I64), work]
    return builder.call(function, given)


def moved(
    context: Any, builder: Any, name: str, given: tuple[list[Any], list[Any]], count: Any, turns: Any
) -> Any | None:
    """Emit: have the device do something with the elements of arrays (types and values of `given`): what it answers.

    None where it cannot. `turns(builder, values, ends)` emits those between two numbers (`runtime.moves`).
    """
    kinds, values = given
    fields, flat = _fields(context, builder, kinds, values)
    text = _part(context, name, kinds, [v.type for v in flat], turns)
    try:
        image = _made_once(context.lower.device, text, name, tuple(fields))
    except images.Refused:
        return None
    record = _record(builder.module, name, image, _layout(fields), once=False)
    return _asked(builder, record, count, flat, builder.mul(count, _I64(_STREAM * len(kinds))))


def multiplied(context: Any, builder: Any, words: list[Any]) -> Any:
    """Emit: have the device multiply matrices, as `products` has the words; whether it has."""
    products.start()
    place = cgutils.alloca_once(builder, llvm_ir.ArrayType(_I64, products.WORDS))
    for k, word in enumerate(words):
        builder.store(word, builder.gep(place, [_I32(0), _I32(k)]))
    function = cgutils.get_or_insert_function(builder.module, llvm_ir.FunctionType(_I64, [_I64]), products.SYMBOL)
    answer = builder.call(function, [builder.ptrtoint(place, _I64)])
    fail_if(context, builder, builder.icmp_signed("==", answer, _I64(launch.RAISED)), RAISED_FAILURE)
    return builder.icmp_signed("==", answer, _I64(launch.DONE))


def _part(context: Any, name: str, kinds: list[Any], numbers: list[Any], turns: Any) -> str:
    """The module of a function for a part of a range of elements."""
    module = llvm_ir.Module(name)
    head = [_I64.as_pointer(), _BYTES, _I64, _I64]
    function = llvm_ir.Function(module, llvm_ir.FunctionType(_I32, [*head, *numbers]), name)
    builder = llvm_ir.IRBuilder(function.append_basic_block("entry"))
    values = context.get_arg_packer(kinds).from_arguments(builder, list(function.args[len(head) :]))
    turns(builder, list(values), (function.args[2], function.args[3]))
    builder.ret(_I32(0))
    return str(llvm.parse_assembly(str(module)))  # in the form of LLVM's own text


def _made(form: str, text: str, name: str, fields: tuple[images.Field, ...]) -> bytes:
    """The image of a part, as a form of device takes it."""
    if form == "ptx":
        return images.ptx(text, name, list(fields))
    return images.native(text, name, list(fields), watched=form == WATCHED)


_made_once = cache(_made)  # what moves whole arrays is the same in many programs


def _image(
    context: Any, builder: Any, library: Any, described: Any, call: Any, parts: list[Any]
) -> tuple[bytes, list[images.Field], list[Any]] | None:
    """The image of a part, what its turns are given, and that as values; None where it stays on the host."""
    kinds = call.args[2:]
    name = described.mangled_name
    try:
        fields, flat = _fields(context, builder, kinds, parts)
        image = _made(context.lower.device, str(library.final_module), name, tuple(fields))
    except images.Refused as error:
        stages.note("ptx", "ptx", lambda why=str(error): f"// {described.qualname} runs on the host: {why}\n")
        return None
    if context.lower.device == "ptx":
        stages.note("ptx", "ptx", lambda: f"// {described.qualname}\n{images.with_room(image, START).decode()}")
    return image, fields, flat


def _fields(context: Any, builder: Any, kinds: Any, parts: list[Any]) -> tuple[list[images.Field], list[Any]]:
    """The numbers that turns are given. The reference of an array is null: turns count none of the host's."""
    fields: list[images.Field] = []
    flat: list[Any] = []
    for kind, value in zip(kinds, parts, strict=True):
        if isinstance(kind, types.Array):
            null = llvm_ir.Constant(_BYTES, None)
            for k in (MEMINFO, PARENT):
                value = builder.insert_value(value, null, k)  # noqa: PLW2901
        elif not isinstance(kind, (types.Number, types.Boolean)):
            raise images.Refused(f"a turn is given a value of type {kind}")
        single = context.get_arg_packer([kind])
        numbers = list(single.as_arguments(builder, [value]))
        for k, number in enumerate(numbers):
            array = None
            if isinstance(kind, types.Array) and k == DATA:
                array = kind.ndim, context.get_abi_sizeof(context.get_data_type(kind.dtype))
            fields.append(images.Field(_kind(number.type), array))
        flat += numbers
    if 8 * len(fields) > _MOST:
        raise images.Refused(f"a turn is given {len(fields)} numbers, more than kernels take")
    return fields, flat


def _kind(ty: Any) -> str:
    name = "ptr" if isinstance(ty, llvm_ir.PointerType) else str(ty)
    if name not in _SIZES:
        raise images.Refused(f"a turn is given a number of type {name}")
    return name


def _layout(fields: list[images.Field]) -> str:
    """Where arrays stand among what turns are given: `offset:dimensions:bytes of an element`, each."""
    place, found = 0, list[str]()
    for f in fields:
        size = _SIZES[f.kind]
        place = -(-place // size) * size
        if f.array is not None:
            found.append(f"{place}:{f.array[0]}:{f.array[1]}")
        place += size
    return " ".join(found)


def _record(module: Any, name: str, image: bytes, layout: str, *, once: bool) -> Any:
    """The words that tell `launch` of a kernel."""
    known = module.globals.get(f"dj_record.{name}")
    if known is not None:
        return known
    code = _constant(module, f"dj_image.{name}", image)
    words = _constant(module, f"dj_layout.{name}", layout.encode() + b"\0")
    kind = llvm_ir.ArrayType(_I64, launch.WORDS)
    record: Any = llvm_ir.GlobalVariable(module, kind, f"dj_record.{name}")
    record.linkage = "internal"
    fields = [_I64(0), code.ptrtoint(_I64), _I64(len(image)), words.ptrtoint(_I64), _I64(int(once))]
    record.initializer = llvm_ir.Constant(kind, fields)
    return record


def _constant(module: Any, name: str, content: bytes) -> Any:
    kind = llvm_ir.ArrayType(_I8, len(content))
    made: Any = llvm_ir.GlobalVariable(module, kind, name)
    made.linkage, made.global_constant = "internal", True
    made.initializer = llvm_ir.Constant(kind, bytearray(content))
    return made
