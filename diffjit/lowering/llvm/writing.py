"""Functions of LLVM on their way to text: without what nobody reads, and with names that cost nothing.

Of what Numba and our emitters write for arrays, nobody reads a third. llvmlite looks for a free name for each value as
it is made, and quotes it wherever it is read; here values are numbered when all is written.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir

_WITHOUT_EFFECT = frozenset({
    "insertvalue", "extractvalue", "getelementptr", "bitcast", "inttoptr", "ptrtoint", "sext", "zext", "trunc", "add",
    "sub", "mul", "and", "or", "xor", "shl", "icmp", "fcmp", "select", "fadd", "fsub", "fmul", "fdiv", "fneg", "fpext",
    "fptrunc", "sitofp", "uitofp",
})  # fmt: skip


class _AnyName:
    """The names in a function: each may be there many times, until they are numbered."""

    def register(self, name: str, deduplicate: bool = False) -> str:
        """The name that is wanted."""
        return name


_ANY_NAME = _AnyName()
_REFERENCE = "_StringReferenceCaching__cached_refstr"  # where llvmlite keeps how a value is written where it is read


class Function(llvm_ir.Function):
    """A function whose values are numbered as it is printed."""

    def descr_body(self, buf: list[str]) -> None:
        """The text of all blocks."""
        count = 0
        for block in self.blocks:
            vars(block)[_REFERENCE] = f"%{_shown(block.name)}${(count := count + 1)}"
            for inst in block.instructions:
                if type(inst.type) is not llvm_ir.VoidType:
                    vars(inst)[_REFERENCE] = f"%{_shown(inst.name)}${(count := count + 1)}"
        for block in self.blocks:
            buf.append(f"{vars(block)[_REFERENCE][1:]}:\n")
            for inst in block.instructions:
                buf.append("  " if type(inst.type) is llvm_ir.VoidType else f"  {vars(inst)[_REFERENCE]} = ")
                inst.descr(buf)
                buf.append("\n")


def _shown(name: str) -> str:
    """What of a name can stand before its number without quotes."""
    return name if name.isidentifier() and name.isascii() else ""


def begin(function: Any) -> None:
    """Have a function that llvmlite has made be one of these, before anything is written into its first block."""
    function.__class__ = Function
    for scoped in (function, *function.blocks):
        scoped.scope = _ANY_NAME


class Builder(llvm_ir.IRBuilder):
    """Writes LLVM; a part of what is put together is the part itself, and a part is taken out once."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """A part of a struct or an array."""
        wanted = tuple(idx) if isinstance(idx, (tuple, list)) else (idx,)
        whole = agg
        if isinstance(agg, llvm_ir.InsertValue) and len(agg.indices) == len(wanted):
            parts, whole = _put_in(agg)
            if wanted in parts:
                return parts[wanted]
        while isinstance(whole, llvm_ir.InsertValue):
            at = tuple(whole.indices)
            if at == wanted:
                return whole.value
            if at[: len(wanted)] == wanted or wanted[: len(at)] == at:  # a part of a part
                break
            whole = whole.aggregate
        return self._taken_out(agg, idx, name)

    def _taken_out(self, agg: Any, idx: Any, name: str) -> Any:
        """A part, taken out in the block that makes the whole: wherever the whole can be read, so can the part."""
        home = agg.parent if isinstance(agg, llvm_ir.Instruction) else None
        if home is None or (home is not self.block and not home.is_terminated):
            return super().extract_value(agg, idx, name)
        found = vars(self.function).setdefault("parts", {})
        key = agg, tuple(idx) if isinstance(idx, (tuple, list)) else (idx,)
        if key not in found:
            if home is self.block:
                found[key] = super().extract_value(agg, idx, name)
            else:
                found[key] = llvm_ir.ExtractValue(home, agg, list(key[1]), name)
                home.instructions.insert(len(home.instructions) - 1, found[key])
        return found[key]


def _put_in(agg: Any) -> tuple[dict[tuple[int, ...], Any], Any]:
    """What is put in at places of one depth, and what into: found once, as records have hundreds of places."""
    found = vars(agg).get("put_in")
    if found is None:
        parts: dict[tuple[int, ...], Any] = {}
        whole, depth = agg, len(agg.indices)
        while isinstance(whole, llvm_ir.InsertValue) and len(whole.indices) == depth:
            parts.setdefault(tuple(whole.indices), whole.value)
            whole = whole.aggregate
        found = vars(agg)["put_in"] = parts, whole
    return found


def drop(function: Any) -> None:
    """Take out, in place, what has no effect and is not read; then slots that are only written."""
    uses: dict[int, int] = {}
    for block in function.blocks:
        for inst in block.instructions:
            for v in _operands(inst):
                uses[id(v)] = uses.get(id(v), 0) + 1
    _without_effect(function, uses)
    if _slots_that_are_not_read(function, uses):
        _without_effect(function, uses)


def _without_effect(function: Any, uses: dict[int, int]) -> None:
    """From the last to the first, so that what is read by something unused is unused."""
    for block in reversed(function.blocks):
        kept: list[Any] = []
        for inst in reversed(block.instructions):
            if inst.opname in _WITHOUT_EFFECT and not uses.get(id(inst)):
                for v in inst.operands:
                    uses[id(v)] -= 1
            else:
                kept.append(inst)
        kept.reverse()
        block.instructions = kept


def _slots_that_are_not_read(function: Any, uses: dict[int, int]) -> bool:
    """Take out slots on the stack whose every use is a store to them; whether there are any."""
    slots = {id(i) for block in function.blocks for i in block.instructions if isinstance(i, llvm_ir.AllocaInstr)}
    stores: dict[int, int] = {}
    for block in function.blocks:
        for inst in block.instructions:
            if isinstance(inst, llvm_ir.StoreInstr) and id(inst.operands[1]) in slots:
                stores[id(inst.operands[1])] = stores.get(id(inst.operands[1]), 0) + 1
    unread = {k for k in slots if uses.get(k, 0) == stores.get(k, 0)}
    for block in function.blocks if unread else ():
        kept: list[Any] = []
        for inst in block.instructions:
            if isinstance(inst, llvm_ir.StoreInstr) and id(inst.operands[1]) in unread:
                uses[id(inst.operands[0])] -= 1
            elif id(inst) not in unread:
                kept.append(inst)
        block.instructions = kept
    return bool(unread)


def _operands(inst: Any) -> list[Any]:
    """What an instruction reads."""
    if isinstance(inst, llvm_ir.PhiInstr):
        return [v for v, _ in inst.incomings]
    return inst.operands
