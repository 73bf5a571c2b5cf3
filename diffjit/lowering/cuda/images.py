"""The image of a kernel: from the LLVM of a part of a range to PTX, or to what the emulated device runs.

    part(lo, hi, x, y)     what threads call for a part of a range (`spread`, `run_lanes`)
    dj_turn(i, args)       part(i, i + 1, x, y)
    dj_kernel(n, args)     dj_turn(i, args) for i in range(this thread's number, n, all threads)

So a kernel is the very code that the processor runs: its typing, its checks and its sums are written once. What it
calls must exist on the device. There memory comes from `malloc` of the device, what would be noted of an error is not
(the host runs the part again, and notes it), and elementary functions that LLVM leaves to a library are libdevice's.
What refers to anything else stays on the host; `Refused` says what that is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from diffjit.dataclass import dataclass
from diffjit.lowering.cuda import library
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


# The runtime of Numba's reference counts for one thread of a device. MemInfo: count, destructor, its argument, data,
# size, allocator (numba/core/runtime/nrt.cpp). The memory of a list may move, its MemInfo does not.
_RUNTIME = """
declare ptr @malloc(i64)
declare void @free(ptr)

@dj_beat = global i64 0

define i64 @dj_answer() { ret i64 0 }
define void @dj_trace(i64 %a, i64 %b) { ret void }
define void @dj_fail(i64 %a, i64 %b, i64 %c, i64 %d, ptr %e) { ret void }

define void @NRT_incref(ptr %info) {
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %info
  %after = add i64 %before, 1
  store i64 %after, ptr %info
  br label %done
done:
  ret void
}

define void @NRT_decref(ptr %info) {
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %info
  %after = sub i64 %before, 1
  store i64 %after, ptr %info
  %last = icmp eq i64 %after, 0
  br i1 %last, label %end, label %done
end:
  call void @NRT_MemInfo_call_dtor(ptr %info)
  br label %done
done:
  ret void
}

define void @NRT_MemInfo_call_dtor(ptr %info) {
  %dtors = getelementptr i64, ptr %info, i64 1
  %dtor = load ptr, ptr %dtors
  %datas = getelementptr i64, ptr %info, i64 3
  %data = load ptr, ptr %datas
  %plain = icmp eq ptr %dtor, null
  br i1 %plain, label %release, label %destroy
destroy:
  %infos = getelementptr i64, ptr %info, i64 2
  %extra = load ptr, ptr %infos
  %sizes = getelementptr i64, ptr %info, i64 4
  %size = load i64, ptr %sizes
  call void %dtor(ptr %data, i64 %size, ptr %extra)
  br label %release
release:
  %owners = getelementptr i64, ptr %info, i64 5
  %apart = load i64, ptr %owners
  %separate = icmp ne i64 %apart, 0
  br i1 %separate, label %both, label %one
both:
  %now = load ptr, ptr %datas
  call void @free(ptr %now)
  br label %one
one:
  call void @free(ptr %info)
  ret void
}

define ptr @dj_block(i64 %size, i64 %align) {
  %more = add i64 %align, 48
  %total = add i64 %size, %more
  %made = call ptr @malloc(i64 %total)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %fill
fill:
  store i64 1, ptr %made
  %rest = getelementptr i64, ptr %made, i64 1
  call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 40, i1 false)
  %start = ptrtoint ptr %made to i64
  %up = add i64 %start, %more
  %down = sub i64 0, %align
  %at = and i64 %up, %down
  %datas = getelementptr i64, ptr %made, i64 3
  store i64 %at, ptr %datas
  %sizes = getelementptr i64, ptr %made, i64 4
  store i64 %size, ptr %sizes
  br label %done
done:
  ret ptr %made
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %made = call ptr @dj_block(i64 %size, i64 %wide)
  ret ptr %made
}

define ptr @NRT_MemInfo_alloc_safe_aligned_external(i64 %size, i32 %align, ptr %ignored) {
  %made = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %made
}

define i64 @dj_shared_take(i64 %size) {
  %made = call ptr @malloc(i64 %size)
  %address = ptrtoint ptr %made to i64
  ret i64 %address
}

define void @dj_shared_give(i64 %block, i64 %size, i64 %ignored) {
  %memory = inttoptr i64 %block to ptr
  call void @free(ptr %memory)
  ret void
}

define ptr @NRT_MemInfo_alloc_dtor(i64 %size, ptr %dtor) {
  %made = call ptr @dj_block(i64 %size, i64 16)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %note
note:
  %dtors = getelementptr i64, ptr %made, i64 1
  store ptr %dtor, ptr %dtors
  br label %done
done:
  ret ptr %made
}

define ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) {
  %made = call ptr @dj_block(i64 0, i64 16)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %none, label %fill
fill:
  %data = call ptr @malloc(i64 %size)
  %empty = icmp eq ptr %data, null
  br i1 %empty, label %back, label %note
back:
  call void @free(ptr %made)
  br label %none
none:
  ret ptr null
note:
  %dtors = getelementptr i64, ptr %made, i64 1
  store ptr %dtor, ptr %dtors
  %datas = getelementptr i64, ptr %made, i64 3
  store ptr %data, ptr %datas
  %sizes = getelementptr i64, ptr %made, i64 4
  store i64 %size, ptr %sizes
  %owners = getelementptr i64, ptr %made, i64 5
  store i64 1, ptr %owners
  ret ptr %made
}

define ptr @NRT_MemInfo_new_varsize(i64 %size) {
  %made = call ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr null)
  ret ptr %made
}

define ptr @NRT_MemInfo_varsize_realloc(ptr %info, i64 %size) {
  %made = call ptr @malloc(i64 %size)
  %refused = icmp eq ptr %made, null
  br i1 %refused, label %done, label %move
move:
  %datas = getelementptr i64, ptr %info, i64 3
  %old = load ptr, ptr %datas
  %sizes = getelementptr i64, ptr %info, i64 4
  %had = load i64, ptr %sizes
  %less = icmp ult i64 %had, %size
  %bytes = select i1 %less, i64 %had, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %old, i64 %bytes, i1 false)
  call void @free(ptr %old)
  store ptr %made, ptr %datas
  store i64 %size, ptr %sizes
  br label %done
done:
  ret ptr %made
}

define void @NRT_MemInfo_varsize_free(ptr %info, ptr %data) {
  call void @free(ptr %data)
  %datas = getelementptr i64, ptr %info, i64 3
  %now = load ptr, ptr %datas
  %same = icmp eq ptr %now, %data
  br i1 %same, label %forget, label %done
forget:
  store ptr null, ptr %datas
  br label %done
done:
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_LOOP = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()

define i32 @__nvvm_reflect(ptr %name) {{ ret i32 0 }}

define ptx_kernel void @{KERNEL}(i64 %count, ptr byval({struct}) align 8 %args, ptr %failed) {{
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %t = zext i32 %thread to i64
  %n = zext i32 %threads to i64
  %b = zext i32 %block to i64
  %m = zext i32 %blocks to i64
  %before = mul i64 %b, %n
  %own = add i64 %before, %t
  %step = mul i64 %n, %m
  br label %head
head:
  %i = phi i64 [ %own, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  call void @{TURN}(i64 %i, ptr %args, ptr %failed)
  %next = add i64 %i, %step
  br label %head
done:
  ret void
}}
"""


def _turn(part: str, fields: list[Field]) -> str:
    """One turn: the numbers of the struct as arguments of the part, whose error sets a byte."""
    struct = struct_of(fields)
    lines = [f"define void @{TURN}(i64 %index, ptr %args, ptr %failed) {{"]
    lines += ["  %result = alloca i64", "  %why = alloca ptr", "  %next = add i64 %index, 1"]
    given = ["ptr %result", "ptr %why", "i64 %index", "i64 %next"]
    for k, field in enumerate(fields):
        lines.append(f"  %p{k} = getelementptr {struct}, ptr %args, i32 0, i32 {k}")
        lines.append(f"  %v{k} = load {field.kind}, ptr %p{k}")
        given.append(f"{field.kind} %v{k}")
    lines += [
        f"  %status = call i32 @{part}({', '.join(given)})",
        "  switch i32 %status, label %bad [ i32 0, label %good  i32 -2, label %good ]",
        "bad:",
        "  store i8 1, ptr %failed",
        "  br label %good",
        "good:",
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
    renamed = _with_library(_plain(text), functions)
    loop = _LOOP.format(KERNEL=KERNEL, TURN=TURN, struct=struct_of(fields))
    module = _linked(renamed, part, fields, loop, TRIPLE)
    used = {f.name for f in module.functions if f.is_declaration} & functions.keys()
    if used:
        module.link_in(_parsed(library.bitcode(), TRIPLE))
    _closed(module, KERNEL, {"malloc", "free"})
    machine = {"cpu": processor, "features": "+ptx64", "opt": 3}
    return _compiled(module, _wanted(TRIPLE, machine, "asm"))


def native(text: str, part: str, fields: list[Field], *, watched: bool = False) -> bytes:
    """The image for the emulated device: an object file of this machine with `dj_turn`."""
    triple = llvm.get_process_triple()
    plain = _plain(text)
    module = _linked(instrumented(plain) if watched else plain, part, fields, "", triple)
    _closed(module, TURN, None)
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
        "only": None, "references": 0, "form": form,
    }  # fmt: skip


_ATTRIBUTES = re.compile(r"^attributes #\d+ = \{.*\}$", re.MULTILINE)
_HERE = re.compile(r'"target-(?:cpu|features)"="[^"]*"|\bnoinline\b|\bcold\b')


def _plain(text: str) -> str:
    """The text of a module without what it says of this machine, and of what stays a function for the sake of sums."""
    text = re.sub(r'^(?:target (?:triple|datalayout)|source_filename) = ".*"$', "", text, flags=re.MULTILINE)
    text = _ATTRIBUTES.sub(lambda found: _HERE.sub('"diffjit"', found[0]), text)
    text = text.replace("load volatile i64, ptr @dj_beat", "load i64, ptr @dj_beat")
    return re.sub(r"^(@\S+) = common global ", r"\1 = internal global ", text, flags=re.MULTILINE)


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
    made = llvm.parse_bitcode(content) if isinstance(content, bytes) else llvm.parse_assembly(content)
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


def _linked(text: str, part: str, fields: list[Field], loop: str, triple: str) -> Any:
    """The runtime of the device with a part linked in: its functions take the place of those that the part brings."""
    kinds = ", ".join(["ptr", "ptr", "i64", "i64", *(f.kind for f in fields)])
    own = "\n".join([_RUNTIME, f"declare i32 @{part}({kinds})", _turn(part, fields), loop])
    module = _parsed(own, triple)
    module.link_in(_parsed(text, triple))
    return module


def _closed(module: Any, entry: str, known: set[str] | None) -> None:
    """Drop what is not used; `Refused` where a device lacks what is (`known`: what it has beside LLVM's own)."""
    for f in module.functions:
        if not f.is_declaration and f.name != entry:
            f.linkage = "internal"
    for g in module.global_variables:
        if not g.is_declaration:
            g.linkage = "internal"
    builder = llvm.create_pass_builder(_machine(module.triple), llvm.create_pipeline_tuning_options())
    passes = builder.getModulePassManager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, builder)
    module.verify()
    if known is None:
        return
    missing = [f.name for f in module.functions if f.is_declaration and not _is_there(f.name, known)]
    missing += [g.name for g in module.global_variables if g.is_declaration]
    if missing and library.path() is None:
        raise Refused("libdevice is not installed (diffjit[cuda])")
    if missing:
        raise Refused(f"there is no {' and no '.join(sorted(missing))} on a GPU")


def _is_there(name: str, known: set[str]) -> bool:
    if not name.startswith("llvm."):
        return name in known
    parts = name.split(".")
    return parts[1] == "nvvm" or (
        parts[1] != "x86" and (parts[1] in _OWN or parts[-1] not in ("f32", "f64") or parts[1] in _INTEGER)
    )


_INTEGER = frozenset(
    {"vector", "masked", "fshl", "fshr", "ctpop", "ctlz", "cttz", "abs", "smax", "smin", "umax", "umin"}
)
