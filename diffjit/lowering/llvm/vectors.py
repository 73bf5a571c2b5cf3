"""What a second attempt of LLVM is told of loops: how wide their elements are.

LLVM compares what each number of lanes would cost by two models, of which one is there to test the other: where they
tie differently, an assertion ends its process. A loop that comes with a number is not compared. So each loop takes the
size of the widest element along that it reads or writes, under a name that LLVM does not know; after a failure
`optimiser` turns it into the number that LLVM itself settles on wherever a loop is worth it: as many elements as a
register holds. It is the second choice, as a loop with a number gets no narrower one for its last elements.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from diffjit.lowering.llvm.optimiser import WIDEST
from diffjit.lowering.llvm.scopes import distinct

_DIVISIONS = frozenset({"sdiv", "udiv", "srem", "urem"})
_WORD = 8  # bytes: of elements that no instruction shows


def note(module: Any) -> None:
    """Give each loop of a module (llvmlite's, not yet LLVM's) the size of its elements; 0 where vectors do not pay."""
    for function in module.functions:
        for latches, body in _loops(function):
            size = 0 if any(map(_divides, body)) else _widest(body)
            found = mark(module, WIDEST, ir.IntType(32)(size))
            node = next((n for n in (b.terminator.metadata.get("llvm.loop") for b in latches) if n is not None), None)
            if node is None:
                node = distinct(module, found)
            elif not any(map(_is_scalar, node.operands[1:])):
                node.operands = (*node.operands, found)
            for latch in latches:  # LLVM forgets what they do not agree on
                latch.terminator.set_metadata("llvm.loop", node)


def mark(module: Any, name: str, *values: Any) -> Any:
    """One thing to say of a loop."""
    return module.add_metadata([ir.MetaDataString(module, name), *values])


def _is_scalar(operand: Any) -> bool:
    """Whether emission has said that a loop is left as it is."""
    first = operand.operands[0] if getattr(operand, "operands", ()) else None
    return isinstance(first, ir.MetaDataString) and first.string == "llvm.loop.vectorize.enable"


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
