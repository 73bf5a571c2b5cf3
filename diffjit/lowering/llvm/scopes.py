"""What LLVM is told of memory: which arrays of a function never overlap.

LLVM cannot see that a fresh array and an argument are different memory, and reads elements again after every store.
Each array that a function is given or allocates gets an alias scope; an access through a variable belongs to the scopes
of all arrays that the variable may stand for, and overlaps no access of the others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.llvm.numba_internals import IR
from diffjit.lowering.loops.reuse import ALLOCATING

_UNKNOWN = "unknown"
_MOST = 96  # the lists of scopes are as long as there are arrays
# Those that write to their first argument.
_FILL = frozenset({"fill", "copy_into", "add_into", "fill_spread", "copy_into_spread", "add_into_spread"})
_SHIFTED = "add_shifted_"  # one function for each set of shifts
_SAME = frozenset({"seal", "stretched"})  # give their first argument, or a view of it
_SAME_OR_NEW = frozenset({"fitted", "fitted_source", "fitted_index", "fitted_value"})


class Distinct(llvm_ir.MDValue):
    """A metadata node that is itself, whatever it holds."""

    def descr(self, buf: Any) -> None:
        """Its text."""
        operands = ", ".join(op.get_reference() for op in self.operands)
        buf += ("distinct !{ " + operands + " }", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def alone(module: Any) -> Distinct:
    """A node that holds nothing, and is no other one."""
    return Distinct(module, (), name=str(len(module.metadata)))


def distinct(module: Any, *operands: Any) -> Distinct:
    """A node that holds itself, then the operands."""
    node = alone(module)
    node.operands = (node, *operands)
    return node


class Scopes:
    """The arrays behind the variables of one function, and the metadata of accesses through them."""

    def __init__(self, module: Any, blocks: Any, typemap: Any, *, apart: bool | tuple[int, ...]) -> None:
        """`apart`: no two arguments overlap where one is written; or a number for each, those of others are apart."""
        self.module = module
        self.typemap = typemap
        self.apart = apart
        self.names: dict[str, str] = {}  # variables that stand for functions
        self.origins: dict[str, set[Any]] = {}
        assignments = [
            (n, inst) for block in blocks.values() for n, inst in enumerate(block.body) if isinstance(inst, IR.Assign)
        ]
        for _, inst in assignments:
            if isinstance(inst.value, (IR.Global, IR.FreeVar)):
                self.names[inst.target.name] = inst.value.name
        arrays = [(inst, id(inst)) for _, inst in assignments if isinstance(typemap.get(inst.target.name), types.Array)]
        changed = True
        while changed:
            changed = False
            for inst, key in arrays:
                known = self.origins.setdefault(inst.target.name, set())
                more = self._of(inst.value, key) - known
                if more:
                    known |= more
                    changed = True
        roots = {r for found in self.origins.values() if _UNKNOWN not in found for r in found}
        self.order = sorted(roots, key=str) if 1 < len(roots) <= _MOST else []
        self.blocks = blocks
        self.scopes: dict[Any, Any] = {}
        self.lists: dict[frozenset[Any], tuple[Any, Any]] = {}

    def _of(self, value: Any, key: Any) -> set[Any]:
        """The arrays that an expression may stand for."""
        if isinstance(value, IR.Arg):
            groups = self.apart
            return {("argument", groups[value.index] if isinstance(groups, tuple) else value.index if groups else 0)}
        if isinstance(value, IR.Var):
            return self.origins.get(value.name, set())
        if not isinstance(value, IR.Expr):
            return {_UNKNOWN}
        if value.op == "cast" or (
            value.op in ("getitem", "static_getitem") and isinstance(self.typemap[value.value.name], types.Array)
        ):
            return self.origins.get(value.value.name, set())
        if value.op != "call":
            return {_UNKNOWN}
        name = self.names.get(value.func.name, "")
        if name.startswith(ALLOCATING):
            return {("allocation", key)}
        first = self.origins.get(value.args[0].name, set()) if value.args else {_UNKNOWN}
        if name in _SAME:
            return first
        return first | {("allocation", key)} if name in _SAME_OR_NEW else {_UNKNOWN}

    def separates(self, first: int, second: int) -> bool:
        """Whether LLVM is told that two arguments never overlap where one is written."""
        groups = self.apart
        return groups[first] != groups[second] if isinstance(groups, tuple) else groups

    @cached_property
    def written(self) -> set[Any]:
        """The origins of what is written to by subscripts, or by the helpers that fill their first argument."""
        names: set[str] = set()
        for block in self.blocks.values():
            for inst in block.body:
                if isinstance(inst, (IR.SetItem, IR.StaticSetItem)):
                    names.add(inst.target.name)
                elif isinstance(inst, IR.Assign) and isinstance(inst.value, IR.Expr) and inst.value.op == "call":
                    name = self.names.get(inst.value.func.name, "")
                    fills = name in _FILL or name.startswith(_SHIFTED)
                    names |= {a.name for a in inst.value.args[:1] if fills}
        return {r for name in names for r in self.origins.get(name, ())}

    def writes(self, argument: int) -> bool:
        """Whether an argument is written to, as far as one sees."""
        groups = self.apart
        return ("argument", groups[argument] if isinstance(groups, tuple) else argument) in self.written

    def mark(self, inst: Any, variable: str) -> None:
        """Say of a load or store which array it accesses."""
        found = self.origins.get(variable)
        if not self.order or not found or _UNKNOWN in found:
            return
        key = frozenset(found)
        if key not in self.lists:
            if not self.scopes:
                domain = distinct(self.module)
                self.scopes = {r: distinct(self.module, domain) for r in self.order}
            own = self.module.add_metadata([self.scopes[r] for r in self.order if r in key])
            others = [self.scopes[r] for r in self.order if r not in key]
            self.lists[key] = own, self.module.add_metadata(others) if others else None
        own, others = self.lists[key]
        inst.set_metadata("alias.scope", own)
        if others is not None:
            inst.set_metadata("noalias", others)
