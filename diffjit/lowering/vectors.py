"""How many elements the loops of a module take at once, where LLVM does not survive to find it out by itself.

LLVM compares what each number of lanes would cost by two models, of which one is there to test the other: where they
tie differently, an assertion ends its process. A loop that comes with a number is not compared. So each loop gets one
along, under a name that LLVM does not know; after a failure `optimiser` translates the names (`LANES`). The number is
the one that LLVM itself settles on wherever a loop is worth it: as many of the widest elements that the loop reads or
writes as a register holds. It is the second choice, as such a loop has no narrower one for its last elements.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from diffjit.lowering.optimiser import LANES
from diffjit.lowering.scopes import distinct

_DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})
_WORD = 8  # bytes: of elements that no instruction shows
_PROBE = """
define void @probe(ptr noalias %a, ptr noalias %b, i64 %n) {
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


@cache
def register_bytes(machine: Any) -> tuple[int, bool]:
    """How many bytes LLVM puts into a vector for a processor, and whether that is a lower bound (`vscale`).

    LLVM is asked: the instructions that a processor has do not tell which of them it prefers.
    """
    module = llvm.parse_assembly(_PROBE)
    options = llvm.create_pipeline_tuning_options()
    options.speed_level, options.loop_vectorization = 2, True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    found = re.search(r"<(vscale x )?(\d+) x double>", str(module))
    return (8 * int(found[2]), bool(found[1])) if found else (8, False)


def say(module: Any, size: int, *, scalable: bool) -> None:
    """Give each loop of a module (llvmlite's, not yet LLVM's) its number of lanes, for registers of `size` bytes."""
    for function in module.functions:
        for latches, body in _loops(function):
            lanes = 1 if any(map(_divides, body)) else max(1, size // _widest(body))
            marks = _marks(module, lanes, scalable=scalable)
            node = next((n for n in (b.terminator.metadata.get("llvm.loop") for b in latches) if n is not None), None)
            if node is None:
                node = distinct(module, *marks)
            elif not any(map(_says, node.operands[1:])):
                node.operands = (*node.operands, *marks)
            for latch in latches:  # LLVM forgets what they do not agree on
                latch.terminator.set_metadata("llvm.loop", node)


def mark(module: Any, name: str, *values: Any) -> Any:
    """One thing to say of a loop."""
    return module.add_metadata([ir.MetaDataString(module, name), *values])


def _marks(module: Any, lanes: int, *, scalable: bool) -> list[Any]:
    if lanes == 1:
        return [mark(module, f"{LANES}enable", ir.IntType(1)(0))]
    made = [mark(module, f"{LANES}width", ir.IntType(32)(lanes))]
    if scalable:
        made.append(mark(module, f"{LANES}scalable.enable", ir.IntType(1)(1)))
    return made


def _says(operand: Any) -> bool:
    first = operand.operands[0] if getattr(operand, "operands", ()) else None
    return isinstance(first, ir.MetaDataString) and "vectorize" in first.string


# Loops ----------------------------------------------------------------------------------------------------------------


def _loops(function: Any) -> list[tuple[list[Any], list[Any]]]:
    """The loops of a function: the blocks that jump back to its head, and all of its blocks."""
    blocks = function.basic_blocks
    if len(blocks) < 2:
        return []
    latches = _latches(blocks[0])
    before: dict[Any, list[Any]] = {}
    for block in blocks if latches else ():
        for after in _successors(block):
            before.setdefault(after, []).append(block)
    found: list[tuple[list[Any], list[Any]]] = []
    for head, ends in latches.items():
        body, todo = {head}, list(ends)
        while todo:
            block = todo.pop()
            if block not in body:
                body.add(block)
                todo += before.get(block, [])
        found.append((ends, list(body)))
    return found


def _latches(entry: Any) -> dict[Any, list[Any]]:
    """The heads of loops, and the blocks that jump back there."""
    found: dict[Any, list[Any]] = {}
    seen, path = {entry}, {entry}
    todo = [(entry, iter(_successors(entry)))]
    while todo:
        block, rest = todo[-1]
        after = next(rest, None)
        if after is None:
            path.discard(block)
            todo.pop()
        elif after in path:
            ends = found.setdefault(after, [])
            if block not in ends:
                ends.append(block)
        elif after not in seen:
            seen.add(after)
            path.add(after)
            todo.append((after, iter(_successors(after))))
    return found


def _successors(block: Any) -> list[Any]:
    last = block.terminator
    if last is None:
        return []
    if isinstance(last, ir.SwitchInstr):
        return [last.default, *(target for _, target in last.cases)]
    return [operand for operand in last.operands if isinstance(operand, ir.Block)]


def _divides(block: Any) -> bool:
    return any(inst.opname in _DIVISIONS for inst in block.instructions)


def _widest(body: list[Any]) -> int:
    """Bytes of the widest element that a loop reads, writes, keeps a sum in or gives to a function."""
    return max((size for block in body for inst in block.instructions for size in _sizes(inst)), default=0) or _WORD


def _sizes(inst: Any) -> list[int]:
    if isinstance(inst, ir.LoadInstr):
        return [_size(inst.type, count=not _on_stack(inst.operands[0]))]
    if isinstance(inst, ir.StoreInstr):
        return [_size(inst.operands[0].type, count=not _on_stack(inst.operands[1]))]
    if isinstance(inst, ir.CallInstr):
        kinds = [inst.type, *(a.type for a in inst.args)]
        return [_size(getattr(k, "pointee", k), count=False) for k in kinds]
    return []


def _on_stack(address: Any) -> bool:
    """Whether an address is that of a variable, such as a counter."""
    while isinstance(address, (ir.GEPInstr, ir.CastInstr)):
        address = address.operands[0]
    return isinstance(address, ir.AllocaInstr)


def _size(kind: Any, *, count: bool) -> int:
    """Bytes of the numbers that a type holds; ints if `count`."""
    if isinstance(kind, ir.DoubleType):
        return 8
    if isinstance(kind, ir.FloatType):
        return 4
    if isinstance(kind, ir.IntType):
        return -(-kind.width // 8) if count else 0
    if isinstance(kind, ir.LiteralStructType):
        return max((_size(k, count=count) for k in kind.elements), default=0)
    return 0
