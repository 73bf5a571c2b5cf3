"""Where compiled loops look whether they have to stop (`interrupts`), at a cost that does not show.

A look is a load and a branch. At the end of each iteration of an outer loop it is nothing beside the inner ones. An
innermost loop, which LLVM is to vectorise, runs in chunks, and looks between them:

    for i in range(n):                  ->   bound = min(n, CHUNK)
        s += a[i]                            for i from 0 while i < bound:
                                                 s += a[i]
                                             if i < n: look; bound += min(n - i, CHUNK); go on

So short loops look never. Loops of few iterations, which are known, are part of what surrounds them.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.dataclass import dataclass
from diffjit.lowering.calls import interrupts
from diffjit.lowering.llvm import numba_internals
from diffjit.lowering.llvm.elements import I64
from diffjit.lowering.llvm.numba_internals import IR, control_flow

if TYPE_CHECKING:
    from diffjit.lowering.llvm.emission import Lower

interrupts.start()

CHUNK = 1 << 16  # iterations of an innermost loop: 20 microseconds of additions, 0.2 seconds of the longest formulas
_SHORT = 1 << 12  # iterations that need no look


class _VolatileLoad(llvm_ir.instructions.LoadInstr):
    """A load that LLVM neither moves nor leaves out (llvmlite has none)."""

    def descr(self, buf: list[str]) -> None:
        """The text."""
        plain: list[str] = []
        super().descr(plain)
        buf.append("".join(plain).replace("load ", "load volatile ", 1))


@dataclass(slots=True)
class Polls:
    """The loops of a function that look, by the labels of their heads."""

    each: dict[int, frozenset[int]] = field(default_factory=dict)  # at the end of each iteration: head -> body
    chunked: dict[int, frozenset[int]] = field(default_factory=dict)  # between chunks
    heads: dict[int, int] = field(default_factory=dict)  # the block that asks for the next number -> head
    outer: dict[int, Any] = field(default_factory=dict)  # head -> the LLVM block where a chunk begins
    counters: dict[int, Any] = field(default_factory=dict)  # head -> what counts: slot, bound, stop, step, index


def polls_of(lower: Lower) -> Polls:
    """Which loops of a function look, and how."""
    blocks = lower.func_ir.blocks
    graph: Any = control_flow(blocks)
    found = Polls()
    loops = list(graph.loops().values())
    around: dict[int, list[int]] = {}  # block -> the heads of the loops that it is in
    for loop in loops:
        for label in loop.body:
            around.setdefault(label, []).append(loop.header)
    inner: dict[int, list[Any]] = {loop.header: [] for loop in loops}
    for loop in loops:
        for head in around[loop.header]:
            if head != loop.header:
                inner[head].append(loop)
    counted = {loop.header: _iterations(lower, loop) for loop in loops}
    work: dict[int, int | None] = {}  # iterations of a loop and all in it; None where nobody knows

    for loop in sorted(loops, key=lambda x: len(x.body)):
        own = counted[loop.header]
        rest = [work[o.header] for o in inner[loop.header]]
        known = own is not None and None not in rest
        work[loop.header] = own * max(1, sum(w for w in rest if w)) if known else None  # type: ignore[operator]
    for loop in loops:
        total = work[loop.header]
        heavy = _calls(lower, loop)
        if total is not None and total <= _SHORT and not heavy:
            continue
        short = all((w := work[o.header]) is not None and w <= _SHORT for o in inner[loop.header])
        body = frozenset(loop.body)
        if short and not heavy and _in_ones(lower, loop) and _entered_once(blocks, loop):
            found.chunked[loop.header] = body
            found.heads[_counting(blocks, loop.header)] = loop.header
        else:
            found.each[loop.header] = body
    return found


def _entered_once(blocks: Any, loop: Any) -> bool:
    """Whether a loop is entered by one jump."""
    return len(loop.entries) == 1 and isinstance(blocks[next(iter(loop.entries))].terminator, IR.Jump)


def _range(lower: Lower, loop: Any) -> Any:
    """The call of `range` that a loop iterates over; None for other loops."""
    for inst in lower.func_ir.blocks[_counting(lower.func_ir.blocks, loop.header)].body:
        if isinstance(inst, IR.Assign) and isinstance(inst.value, IR.Expr) and inst.value.op == "iternext":
            source = _definition(lower, inst.value.value)
            if isinstance(source, IR.Expr) and source.op == "getiter":
                call = _definition(lower, source.value)
                if isinstance(call, IR.Expr) and call.op == "call" and _is_range(lower, source.value):
                    return call
    return None


def _counting(blocks: Any, head: int) -> int:
    """The block that asks for the next number: in front of far jumps, a head is empty."""
    while len(blocks[head].body) == 1 and isinstance(blocks[head].terminator, IR.Jump):
        head = blocks[head].terminator.target
    return head


def _in_ones(lower: Lower, loop: Any) -> bool:
    """Whether a loop iterates over a range in steps of 1 or -1."""
    call = _range(lower, loop)
    return call is not None and (len(call.args) < 3 or _number(lower, call.args[2]) in (1, -1))


def _is_range(lower: Lower, variable: Any) -> bool:
    return isinstance(lower.typeof(variable.name), types.RangeType)


def _definition(lower: Lower, variable: Any) -> Any:
    """What a variable that is assigned once stands for; None for others."""
    found = numba_internals.definitions(lower.func_ir, variable.name)
    if len(found) != 1:
        return None
    return _definition(lower, found[0]) if isinstance(found[0], IR.Var) else found[0]


def _iterations(lower: Lower, loop: Any) -> int | None:
    """How many iterations a loop has, if that is known."""
    call = _range(lower, loop)
    if call is None or call.kws:
        return None
    numbers = [_number(lower, a) for a in call.args]
    if None in numbers or not 1 <= len(numbers) <= 3:
        return None
    return len(range(*numbers)) if len(numbers) < 3 or numbers[2] else None  # type: ignore[arg-type]


def _number(lower: Lower, variable: Any) -> int | None:
    """The int that a variable always is."""
    found = _definition(lower, variable)
    if isinstance(found, (IR.Const, IR.Global, IR.FreeVar)) and type(found.value) is int:
        return found.value
    if isinstance(found, IR.Expr) and found.op == "unary":
        inner = _number(lower, found.value)
        return None if inner is None else -inner
    return None


_LIGHT = frozenset({"cell"})  # given an array, reads or writes one element


def _calls(lower: Lower, loop: Any) -> bool:
    """Whether a loop calls what may take long: functions of the program, and what works on whole arrays."""
    for label in loop.body:
        for inst in lower.func_ir.blocks[label].body:
            value: Any = getattr(inst, "value", None)
            if isinstance(inst, IR.Assign) and isinstance(value, IR.Expr) and value.op == "call":
                kind = lower.typeof(value.func.name)
                if isinstance(kind, types.Dispatcher) and not kind.dispatcher.targetoptions.get("forceinline"):
                    return True
                called = _definition(lower, value.func)
                name = called.name if isinstance(called, (IR.Global, IR.FreeVar)) else ""
                given = [lower.typeof(a.name) for a in value.args] + [lower.typeof(inst.target.name)]
                if name not in _LIGHT and any(isinstance(t, (types.Array, types.List)) for t in given):
                    return True
    return False


# Emission -------------------------------------------------------------------------------------------------------------


def look(lower: Lower) -> None:
    """Emit: leave if the program has to stop."""
    builder: Any = lower.builder
    flag = builder.module.globals.get(interrupts.BEAT)
    if flag is None:
        flag = llvm_ir.GlobalVariable(builder.module, I64, interrupts.BEAT)
    seen = _VolatileLoad(builder.block, flag, "beat", typ=I64)
    numba_internals.insert(builder, seen)
    with builder.if_then(builder.icmp_signed("!=", seen, I64(0)), likely=False):
        ask(lower)


def ask(lower: Lower) -> None:
    """Emit: have Python look for signals, and leave if the program has to stop.

    Also before Python is called: it would run their handlers then, where nobody takes what they raise.
    """
    builder: Any = lower.builder
    asked = builder.call(answer(builder.module), [])
    resume = builder.append_basic_block("resume")
    builder.cbranch(builder.icmp_signed("!=", asked, I64(0)), lower.stop_block, resume)
    builder.position_at_end(resume)


def answer(module: Any) -> Any:
    """The function that asks Python."""
    found = module.globals.get(interrupts.ANSWER)
    if found is None:
        found = llvm_ir.Function(module, llvm_ir.FunctionType(I64, []), interrupts.ANSWER)
        for attribute in ("nounwind", "cold", "noinline", "inaccessiblememonly"):  # handlers change no program's arrays
            found.attributes.add(attribute)
    return found


def first_bound(builder: Any, start: Any, stop: Any, step: int) -> Any:
    """Where the chunk that begins at `start` ends; `stop` where there is none."""
    word = start.type
    more = builder.icmp_signed("<" if step == 1 else ">", start, stop)
    left = builder.sub(stop, start) if step == 1 else builder.sub(start, stop)  # as unsigned: it does not overflow
    chunk = word(CHUNK)
    length = builder.select(builder.icmp_unsigned("<", left, chunk), left, chunk)
    end = builder.add(start, length) if step == 1 else builder.sub(start, length)
    return builder.select(more, end, stop)


def enter(lower: Lower, head: int) -> None:
    """Emit: jump into a loop that runs in chunks."""
    builder: Any = lower.builder
    builder.branch(_outer(lower, head))


def _outer(lower: Lower, head: int) -> Any:
    """The block where each chunk begins: the head of the loop over chunks."""
    builder: Any = lower.builder
    if head not in lower.polls.outer:
        block = lower.polls.outer[head] = builder.append_basic_block("chunk")
        llvm_ir.IRBuilder(block).branch(lower.blkmap[head])
    return lower.polls.outer[head]


def between(lower: Lower, head: int, exit_block: Any) -> Any:
    """The block where a chunk has ended: to the next one, or out of the loop."""
    builder: Any = lower.builder
    slot, bound, stop, step, index = lower.polls.counters[head]
    ended = builder.append_basic_block("chunk.ended")
    again = builder.append_basic_block("chunk.next")
    with builder.goto_block(ended):
        more = builder.icmp_signed("<" if step == 1 else ">", index, stop)
        builder.cbranch(more, again, exit_block)
    here = builder.block
    builder.position_at_end(again)
    look(lower)
    builder.store(index, slot)
    builder.store(first_bound(builder, index, stop, step), bound)
    builder.branch(_outer(lower, head))
    builder.position_at_end(here)
    return ended
