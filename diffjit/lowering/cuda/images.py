"""The image of a kernel: from the LLVM of a part of a range to PTX, or to what the emulated device runs.

    part(lo, hi, x, y)     what threads call for a part of a range (`spread`, `run_lanes`)
    dj_turn(i, args)       part(i, i + 1, x, y), on the emulated device
    dj_kernel(n, args)     part(i, i + 1, x, y) for i in range(this thread's number, n, all threads)

So a kernel is the very code that the processor runs: its typing, its checks and its sums are written once. What it
calls must exist on the device. There memory comes from a room of the thread (`device_runtime`), what would be noted of
an error is not (the host runs the part again, and notes it), and elementary functions that LLVM leaves to a library are
libdevice's.
What refers to anything else stays on the host; `Refused` says what that is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.dataclass import dataclass
from diffjit.lowering.cuda import device_runtime, library
from diffjit.lowering.cuda.watched import instrumented
from diffjit.lowering.llvm import outside

TURN, KERNEL = "dj_turn", "dj_kernel"
TRIPLE = "nvptx64-nvidia-cuda"
OLDEST = "sm_75"  # drivers translate it for all later processors


class Refused(Exception):
    """A part cannot run on a device."""


@dataclass(frozen=True, slots=True)
class Field:
    """One of the numbers that a part is given: its LLVM type, and of an array's address where the rest stands."""

    kind: str
    array: tuple[int, int] | None = None  # of an address of elements: dimensions, bytes of an element


_REFLECT = "define i32 @__nvvm_reflect(ptr %name) { ret i32 0 }\n"  # what libdevice asks of the compiler: no options
_OF_ONE = """
define ptr @dj_room() {
  %base = load i64, ptr @dj_arena
  %room = inttoptr i64 %base to ptr
  ret ptr %room
}
"""
_THREADS = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()

define internal i64 @dj_thread() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %before = mul i32 %block, %threads
  %own = add i32 %before, %thread
  %wide = zext i32 %own to i64
  ret i64 %wide
}

define internal i64 @dj_step() {
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %all = mul i32 %threads, %blocks
  %wide = zext i32 %all to i64
  ret i64 %wide
}
"""
_ROOMS = """
@dj_rooms = internal addrspace(3) global [{THREADS} x i64] undef

define ptr @dj_room() {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i64, ptr addrspace(3) @dj_rooms, i32 %thread
  %start = load i64, ptr addrspace(3) %place
  %room = inttoptr i64 %start to ptr
  ret ptr %room
}}
"""
# A thread's room is an array of its own, which lies in the device's local memory, where what the threads of a warp
# have at one offset are neighbours; or, where that would be too large, a part of what the arena names.
_ROOM = """
  %local = alloca [{LOCAL} x i8], align 16
  %base = load i64, ptr @dj_arena
  %sizes = getelementptr i64, ptr @dj_arena, i64 1
  %size = load i64, ptr %sizes
  %own = call i64 @dj_thread()
  %offset = mul i64 %size, %own
  %there = add i64 %base, %offset
  %here = ptrtoint ptr %local to i64
  %apart = icmp ne i64 %base, 0
  %room = select i1 %apart, i64 %there, i64 %here
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i64, ptr addrspace(3) @dj_rooms, i32 %tid
  store i64 %room, ptr addrspace(3) %place"""
_LOCAL = 1048560  # bytes of that array in an image: `with_room` puts the number in place of it that a launch takes
_LOCAL_TEXT = b"[%d]" % _LOCAL


def with_room(image: bytes, size: int) -> bytes:
    """An image for a GPU whose threads have rooms of a size in local memory."""
    return image.replace(_LOCAL_TEXT, b"[%d]" % size)


def _numbers(fields: list[Field]) -> list[str]:
    """The lines that read the numbers of the struct."""
    struct = struct_of(fields)
    lines: list[str] = []
    for k, field in enumerate(fields):
        lines.append(f"  %p{k} = getelementptr {struct}, ptr %args, i32 0, i32 {k}")
        lines.append(f"  %v{k} = load {field.kind}, ptr %p{k}")
    return lines


def _called(part: str, fields: list[Field], *, takes: bool, then: str) -> list[str]:
    """The lines of turn `%i`, whose error sets a byte; `takes`: it takes memory; `then`: the last line."""
    given = ["ptr %result", "ptr %why", "i64 %i", "i64 %after", *(f"{f.kind} %v{k}" for k, f in enumerate(fields))]
    return [
        "  %after = add i64 %i, 1",
        *([f"  call void @{device_runtime.BEGIN}()"] if takes else []),
        f"  %status = call i32 @{part}({', '.join(given)})",
        "  switch i32 %status, label %bad [ i32 0, label %good  i32 -2, label %good ]",
        "bad:",
        "  store i8 1, ptr %failed",
        "  br label %good",
        "good:",
        then,
    ]


_SLOTS = ["  %result = alloca i64", "  %why = alloca ptr"]


def _of_one(part: str, fields: list[Field], *, takes: bool) -> str:
    """A turn on the processor."""
    head = f"define void @{TURN}(i64 %i, ptr %args, ptr %failed) {{"
    body = [*_SLOTS, *_numbers(fields), *_called(part, fields, takes=takes, then="  ret void")]
    return "\n".join([_OF_ONE if takes else "", head, *body, "}"])


def _of_threads(part: str, fields: list[Field], *, takes: bool) -> str:
    """A kernel: the turns of each thread are a function, as the room must be all that the kernel itself has."""
    kinds = ["i64 %count", "ptr %failed", *(f"{f.kind} %v{k}" for k, f in enumerate(fields))]
    lines = [
        _THREADS,
        *([_ROOMS.format(THREADS=device_runtime.THREADS)] if takes else []),
        f"define internal void @dj_turns({', '.join(kinds)}) {'noinline' if takes else 'alwaysinline'} {{",
        *_SLOTS,
        "  %own = call i64 @dj_thread()",
        "  %step = call i64 @dj_step()",
        "  br label %head",
        "head:",
        "  %i = phi i64 [ %own, %0 ], [ %next, %good ]",
        "  %more = icmp slt i64 %i, %count",
        "  br i1 %more, label %body, label %done",
        "body:",
        *_called(part, fields, takes=takes, then="  %next = add i64 %i, %step"),
        "  br label %head",
        "done:",
        "  ret void",
        "}",
        f"define ptx_kernel void @{KERNEL}(i64 %count, ptr byval({struct_of(fields)}) align 8 %args, ptr %failed) {{",
        "  store ptr %failed, ptr addrspace(3) @dj_failed",
        *([_ROOM.format(LOCAL=_LOCAL)] if takes else []),
        *_numbers(fields),
        f"  call void @dj_turns({', '.join(kinds)})",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def struct_of(fields: list[Field]) -> str:
    """The struct that holds what a part is given."""
    return "{ " + ", ".join(f.kind for f in fields) + " }"


def ptx(text: str, part: str, fields: list[Field], processor: str = OLDEST) -> bytes:
    """The image for a GPU: `Refused` where there can be none."""
    functions = library.functions()
    renamed = _with_library(_by_words(_plain(text)), functions)
    module = _linked(renamed, part, fields, _of_threads, TRIPLE, KERNEL)
    used = {f.name for f in module.functions if f.is_declaration} & functions.keys()
    if used:
        module.link_in(_parsed(library.bitcode(), TRIPLE))
        module.link_in(_parsed(_REFLECT, TRIPLE))
        _only(module, KERNEL)
    _refuse_missing(module)
    machine = {"cpu": processor, "features": "+ptx64", "opt": 3}
    takes = device_runtime.ARENA in {g.name for g in module.global_variables}
    made = _compiled(module, _wanted(TRIPLE, machine, "asm"))
    if takes and made.count(_LOCAL_TEXT) != 1:
        raise Refused("the memory that its turns take is not where it should be")
    return made


def native(text: str, part: str, fields: list[Field], *, watched: bool = False) -> bytes:
    """The image for the emulated device: an object file of this machine with `dj_turn`."""
    triple = llvm.get_process_triple()
    plain = _plain(text)
    module = _linked(instrumented(plain) if watched else plain, part, fields, _of_one, triple, TURN)
    return _compiled(module, _wanted(triple, {"opt": 1, "reloc": "pic"}, "object"))


def _compiled(module: Any, wanted: dict[str, Any]) -> bytes:
    """What the second process makes of a module; LLVM knows no way for everything to a GPU."""
    try:
        made = outside.object_code(module.as_bitcode(), wanted)
    except outside.Fatal as error:
        raise Refused(f"LLVM cannot compile it for a GPU: {error.words.strip().splitlines()[-1:]}") from None
    if made is None:
        raise Refused("kernels are compiled in a second process, and there is none (settings.isolate)")
    return made


def _wanted(triple: str, machine: dict[str, Any], form: str) -> dict[str, Any]:
    """What `optimiser.object_code` is asked: nothing is vectorised, as each thread takes one turn."""
    passes = {"level": 3, "loops": False, "straight": False}
    return {
        "triple": triple, "machine": machine, "passes": [passes, passes], "rotate": False, "lanes": False,
        "references": 0, "form": form,
    }  # fmt: skip


_ATTRIBUTES = re.compile(r"^attributes #\d+ = \{.*\}$", re.MULTILINE)
_HERE = re.compile(r'"target-(?:cpu|features)"="[^"]*"|\bnoinline\b|\bcold\b')


def _plain(text: str) -> str:
    """The text of a module without what it says of this machine, and of what stays a function for the sake of sums."""
    text = re.sub(r'^(?:target (?:triple|datalayout)|source_filename) = ".*"$', "", text, flags=re.MULTILINE)
    text = _ATTRIBUTES.sub(lambda found: _HERE.sub('"diffjit"', found[0]), text)
    text = text.replace("load volatile i64, ptr @dj_beat", "load i64, ptr @dj_beat")
    return re.sub(r"^(@\S+) = common global ", r"\1 = internal global ", text, flags=re.MULTILINE)


_ZEROS = re.compile(r"call void @llvm\.memset\.p0\.i64\((ptr [^,]*), i8 0, (i64 [^,]+), i1 false\)")


def _by_words(text: str) -> str:
    """What is set to zero, a word at a time: LLVM has a GPU do it by bytes."""
    found = _ZEROS.sub(r"call void @dj_zero(\1, \2)", text)
    return found + "\ndeclare void @dj_zero(ptr, i64)\n" if found != text else text


_NAMES = re.compile(r"@(?:llvm\.([a-z0-9]+)\.(f32|f64)|([a-z0-9_]+))\(")
# What the processor itself computes, or LLVM out of what it does.
_OWN = frozenset({
    "fabs", "fma", "fmuladd", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "copysign",
    "minnum", "maxnum", "is", "minimum", "maximum", "canonicalize",
})  # fmt: skip


def _with_library(text: str, functions: dict[str, str]) -> str:
    """Elementary functions by the names that they have in libdevice."""
    used: set[str] = set()

    def renamed(found: re.Match[str]) -> str:
        name, width, plain = found.groups()
        if name is not None and name in _OWN:
            return found[0]
        wanted = f"__nv_{plain or name}{'f' if width == 'f32' else ''}"
        if wanted not in functions:
            return found[0]
        used.add(wanted)
        return f"@{wanted}("

    text = _NAMES.sub(renamed, text)
    lines = [s for s in text.splitlines() if not (s.startswith("declare ") and "@__nv_" in s)]
    return "\n".join([*lines, *(functions[name] for name in sorted(used))])


def _parsed(content: bytes | str, triple: str) -> Any:
    if isinstance(content, str):  # loads and stores without a word of it are aligned as the layout says
        made = llvm.parse_assembly(f'target datalayout = "{_layout(triple)}"\n{content}')
    else:
        made = llvm.parse_bitcode(content)
    made.triple = triple
    made.data_layout = _layout(triple)
    return made


@cache
def _layout(triple: str) -> str:
    """How data lies in memory."""
    return str(_machine(triple).target_data)


def _machine(triple: str) -> Any:
    llvm.initialize_all_targets()
    return llvm.Target.from_triple(triple).create_target_machine()


def _linked(text: str, part: str, fields: list[Field], own: Callable[..., str], triple: str, entry: str) -> Any:
    """The runtime of the device with a part linked in: its functions take the place of those that the part brings."""
    kinds = ", ".join(["ptr", "ptr", "i64", "i64", *(f.kind for f in fields)])
    known = _parsed(text, triple).as_bitcode()
    gpu = triple == TRIPLE
    stops = device_runtime.STOPS if gpu else device_runtime.GOES_ON
    memory = device_runtime.MEMORY_OR_STOP if gpu else device_runtime.MEMORY
    for takes in (False, True):  # first to see whether turns take memory at all
        runtime = memory if takes else device_runtime.UNKNOWN
        lines = [stops, runtime, device_runtime.COUNTS, f"declare i32 @{part}({kinds})", own(part, fields, takes=takes)]
        module = _parsed("\n".join(lines), triple)
        module.link_in(_parsed(known, triple))
        _only(module, entry)
        if not {f.name for f in module.functions if f.is_declaration} & device_runtime.TAKES:
            break
    return module


def _only(module: Any, entry: str) -> None:
    """Drop what is not used; the arena, where it is, is for the host to set."""
    for f in module.functions:
        if not f.is_declaration and f.name != entry:
            f.linkage = "internal"
    for g in module.global_variables:
        if not g.is_declaration and g.name != device_runtime.ARENA:
            g.linkage = "internal"
    builder = llvm.create_pass_builder(_machine(module.triple), llvm.create_pipeline_tuning_options())
    passes = builder.getModulePassManager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
    module.verify()


def _refuse_missing(module: Any) -> None:
    """`Refused` where a GPU lacks what is used: what it has are LLVM's own."""
    missing = [f.name for f in module.functions if f.is_declaration and not _is_there(f.name)]
    missing += [g.name for g in module.global_variables if g.is_declaration]
    if missing and library.path() is None:
        raise Refused("libdevice is not installed (diffjit[cuda])")
    if missing:
        raise Refused(f"there is no {' and no '.join(sorted(missing))} on a GPU")


def _is_there(name: str) -> bool:
    if not name.startswith("llvm."):
        return False
    parts = name.split(".")
    return parts[1] == "nvvm" or (
        parts[1] != "x86" and (parts[1] in _OWN or parts[-1] not in ("f32", "f64") or parts[1] in _INTEGER)
    )


_INTEGER = frozenset(
    {"vector", "masked", "fshl", "fshr", "ctpop", "ctlz", "cttz", "abs", "smax", "smin", "umax", "umin"}
)
