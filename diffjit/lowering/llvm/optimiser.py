"""Bitcode to object code, in a process of its own: `python -I -S optimiser.py FOLDER` serves requests on its stdin.

LLVM ends the process that it runs in where one of its assertions fails. The process that it ends here holds nothing of
the user's (`outside` starts it, and starts it again). So this file imports llvmlite from the folder that it is given,
and nothing of diffjit or Numba.

Requests and answers are frames: a length, then the bytes. A request is a frame of JSON and one of bitcode, an answer a
letter and what it announces: `o` object code, `e` the text of an exception.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import sys
from typing import Any

GREETING = b"diffjit's optimiser\n"
IDLE = 120  # seconds without a request after which the process ends
LONGEST = 600  # seconds of processor time that one request may take
LARGE = 1_000_000  # bytes of bitcode from which on loops are not copied for each way of a test inside them: the search
# for such tests takes 220 s of 230 for a function of 180,000 instructions, and nothing else that level 3 adds is missed
GIANT = 250_000  # instructions of a function from which on LLVM leaves it as it is, and no module with one gets the
# registers that take long: they would take 500 s and more for 900,000, and take 30
OPTIONS = (
    "-hints-allow-reordering=false",  # else a loop that is told how many lanes to take may add up in another order
)
WIDEST = "diffjit.loop.widest"  # what is said of loops (`vectors`), in a word that LLVM does not know
_SAID = re.compile(rf'!"{re.escape(WIDEST)}", i32 (\d+)')
_LOOP = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr double, ptr %a, i64 %i
  %x = load double, ptr %from
  %y = fmul double %x, %x
  %to = getelementptr double, ptr %b, i64 %i
  store double %y, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""
_LENGTH = struct.Struct("<Q")
HEAD = _LENGTH.size


def frame(content: bytes) -> bytes:
    """Bytes with their length in front."""
    return _LENGTH.pack(len(content)) + content


def length(head: bytes) -> int:
    """How many bytes follow on those that say so."""
    return int(_LENGTH.unpack(head)[0])


def read_frame(file: int) -> bytes | None:
    """The next frame of a pipe; None where it ends before."""
    head = _read(file, HEAD)
    return None if head is None else _read(file, length(head))


def _read(file: int, count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(file: int, content: bytes) -> None:
    """All of some bytes into a pipe."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def object_code(llvm: Any, bitcode: bytes, wanted: dict[str, Any]) -> bytes:
    """What the machine runs: inlined, freed of pairs of increments and decrements of references, then optimised.

    Where another form is wanted, the same as text: "llvm", or the assembly, "asm". `large` and `giant` may be told in
    place of `LARGE` and `GIANT`.
    """
    if wanted["triple"].startswith("nvptx"):
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    module = llvm.parse_bitcode(bitcode, llvm.create_context())
    plain = llvm.Target.from_triple(wanted["triple"])
    target = plain.create_target_machine(**wanted["machine"])
    if wanted["lanes"]:
        module = llvm.parse_assembly(with_lanes(str(module), register_bytes(llvm, target)), llvm.create_context())
    first, second = wanted["passes"]
    large = len(bitcode) > wanted.get("large", LARGE)
    if large:
        second = {**second, "level": min(second["level"], 2)}
    leaves = large and _may_leave(llvm)
    if large:
        builder = _builder(llvm, target, level=0, loops=False, straight=False)
        builder.getModulePassManager().run(module, builder)  # what is always inlined is inlined everywhere
    giants = [f for f in module.functions if _size(f) > wanted.get("giant", GIANT)] if large else []
    if giants:
        target = plain.create_target_machine(**{**wanted["machine"], "opt": 0})
    if giants and not leaves:
        first, second = {**first, "level": 0}, {**second, "level": 0}
    if leaves:
        _leave(giants)
    for settings in (first, second):
        builder = _builder(llvm, target, **settings)
        passes = builder.getModulePassManager()
        if settings is first and wanted["rotate"]:  # as Numba: loops that test at their end are vectorised
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        if wanted["references"]:
            passes.add_refprune_pass(wanted["references"])
        passes.run(module, builder)
    module.verify()
    if wanted["form"] == "llvm":
        return str(module).encode()
    return target.emit_assembly(module).encode() if wanted["form"] == "asm" else target.emit_object(module)


def _may_leave(llvm: Any) -> bool:
    """Whether functions can be told to be left as they are: llvmlite 0.45 tells their results instead."""
    module = llvm.parse_assembly("define i32 @f() { ret i32 0 }", llvm.create_context())
    module.get_function("f").add_function_attribute("noinline")
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def _leave(functions: Any) -> None:
    for function in functions:
        for attribute in ("noinline", "optnone"):
            function.add_function_attribute(attribute)


def _size(function: Any) -> int:
    return sum(1 for block in function.blocks for _ in block.instructions)


def _builder(llvm: Any, target: Any, *, level: int, loops: bool, straight: bool) -> Any:
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = level
    options.loop_vectorization = loops
    options.slp_vectorization = straight
    return llvm.create_pass_builder(target, options)


def register_bytes(llvm: Any, target: Any) -> int:
    """How many bytes LLVM puts into a vector. It is asked: processors have instructions that LLVM does not prefer."""
    module = llvm.parse_assembly(_LOOP, llvm.create_context())
    builder = _builder(llvm, target, level=2, loops=True, straight=False)
    builder.getModulePassManager().run(module, builder)
    found = re.search(r"<(?:vscale x )?(\d+) x double>", str(module))
    return 8 * int(found[1]) if found else 8


def with_lanes(text: str, size: int) -> str:
    """The text of a module whose loops take as many elements at once as fit into `size` bytes."""

    def said(found: re.Match[str]) -> str:
        lanes = size // int(found[1]) if int(found[1]) else 1
        return f'!"llvm.loop.vectorize.width", i32 {lanes}' if lanes > 1 else '!"llvm.loop.vectorize.enable", i1 false'

    return _SAID.sub(said, text)


def _trouble(kind: str) -> None:
    """What tests ask for."""
    if kind == "abort":
        os.write(2, b"LLVM: Assertion `tested' failed.\n")
        os.abort()
    elif kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind.startswith("hang"):
        signal.setitimer(signal.ITIMER_PROF, float(kind.removeprefix("hang")))
        while True:
            pass
    elif kind == "chatter":
        for _ in range(1000):
            os.write(2, b"remark: thousands of these are more than a pipe holds\n" * 100)


def serve(llvm: Any, requests: int, answers: int) -> None:
    """Answer until the pipe ends, or nobody has asked for long."""
    while True:
        signal.alarm(IDLE)
        head = read_frame(requests)
        bitcode = None if head is None else read_frame(requests)
        if head is None or bitcode is None:
            return
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        wanted = json.loads(head)
        _trouble(wanted["trouble"])
        try:
            answer = b"o" + object_code(llvm, bitcode, wanted)
        except RuntimeError as error:  # of llvmlite: what in-process compilation would raise
            answer = b"e" + str(error).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_all(answers, frame(answer))


def main() -> None:
    """Serve on the standard input and output, which nothing else gets to see."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for kind in (signal.SIGALRM, signal.SIGPROF, signal.SIGPIPE, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.SIG_DFL)
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.path.append(sys.argv[1])
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for option in OPTIONS:
        llvm.set_option("diffjit", option)
    write_all(answers, GREETING)
    serve(llvm, requests, answers)
    os._exit(0)  # there is nothing to clean up


if __name__ == "__main__":
    main()
