"""Checks that a program is well formed, between passes.

A broken program is an error of diffjit's own, best found where it arises.
"""

from __future__ import annotations

from collections.abc import Sequence

from diffjit.ir.dump import format_ir
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import BOOL, INT, Array, Scalar, Type, fits, is_ref, permuted_layout
from diffjit.ir.walk import initial


def verify(function: Function) -> None:
    """Raise AssertionError, with a dump of the program, where a rule of `diffjit.ir.nodes` is broken."""
    _Verifier(function).run()


class _Verifier:
    """Walks the program once with the set of values that are defined."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.seen: set[Value] = set()  # every value defined anywhere so far
        self.ops: set[int] = set()
        self.blocks: set[int] = set()

    def run(self) -> None:
        """Check the whole function."""
        visible: set[Value] = set()
        self._define(self.function.params, visible, "parameters")
        if self.function.body.args:
            self._fail("a function's body has no arguments of its own")
        self._block(self.function.body, visible)

    def _fail(self, message: str, op: Op | None = None) -> None:
        where = f"\n    in {op.kind}: {op!r}" if op is not None else ""
        line = f"\n    at line {op.loc.line} of {op.loc.file}" if op is not None and op.loc is not None else ""
        raise AssertionError(f"{self.function.name}: {message}{where}{line}\n\n{format_ir(self.function)}")

    def _define(self, values: list[Value], visible: set[Value], what: str, op: Op | None = None) -> None:
        for v in values:
            if v in self.seen:
                self._fail(f"{v!r} is defined twice ({what})", op)
            self.seen.add(v)
            visible.add(v)

    def _block(self, block: Block, visible: set[Value]) -> None:
        """Check a block; `visible` is the values defined before it, and is left as it was."""
        if id(block) in self.blocks:
            self._fail("a block appears twice")
        self.blocks.add(id(block))
        self._define(block.args, visible, "block arguments")
        for op in block.ops:
            self._op(op, visible)
        for v in block.results:
            if v not in visible:
                self._fail(f"the result {v!r} of a block is not defined there")
        visible.difference_update(block.args)
        for op in block.ops:
            visible.difference_update(op.outputs)

    def _op(self, op: Op, visible: set[Value]) -> None:
        if id(op) in self.ops:
            self._fail("an operation appears twice", op)
        self.ops.add(id(op))
        for v in op.inputs:
            if v not in visible:
                self._fail(f"{v!r} is used before it is defined, or outside its block", op)
        for v in op.outputs:
            if v.op is not op:
                self._fail(f"{v!r} does not know its operation", op)
        check = getattr(self, f"_check_{op.kind}", None)
        if check is not None:
            check(op)
        elif op.regions:
            self._fail("only control flow has regions", op)
        for k in op.row.writes:
            if not is_ref(op.inputs[k].type):
                self._fail(f"writes to {op.inputs[k]!r}, which is no reference", op)
        if op.row.indices_at is not None and not is_view(op):
            self._check_indices(op, op.inputs[op.row.indices_at :])
        for region in op.regions:
            self._block(region, visible)
        self._define(op.outputs, visible, "outputs", op)

    def _check_indices(self, op: Op, indices: list[Value]) -> None:
        if any(not isinstance(v.type, Scalar) or v.type.dtype.kind not in "iu" for v in indices):
            self._fail("indices must be integers", op)
        if len(indices) != getattr(op.inputs[0].type, "ndim", -1):
            self._fail("needs one index for each dimension", op)

    def _same(self, op: Op, what: str, a: Type, b: Type) -> None:
        if not fits(a, b):
            self._fail(f"{what}: {a} is not {b}", op)

    def _count(self, op: Op, what: str, values: Sequence[object], wanted: int) -> None:
        if len(values) != wanted:
            self._fail(f"{what}: {len(values)} in place of {wanted}", op)

    def _check_const(self, op: Op) -> None:
        self._count(op, "outputs", op.outputs, 1)
        if not isinstance(op.out.type, Scalar):
            self._fail("a constant is a number", op)

    def _check_transpose(self, op: Op) -> None:
        base, out = op.inputs[0].type, op.out.type
        if isinstance(base, Array) and isinstance(out, Array):
            self._layout(op, out, permuted_layout(base, op.attrs["perm"]))

    def _check_view(self, op: Op) -> None:
        base, out = op.inputs[0].type, op.out.type
        if isinstance(base, Array) and isinstance(out, Array):
            self._layout(op, out, base.layout if base.ndim > 1 else "C" if base.layout != "A" else "A")

    def _layout(self, op: Op, out: Array, layout: str) -> None:
        """A view lies in memory as its base says: where a transform takes another base, the type must go along."""
        if out.layout not in ("A", layout) and sum(d != 1 for d in out.dims) > 0:
            self._fail(f"a view of order {out.layout} of what gives order {layout}", op)

    def _check_call(self, op: Op) -> None:
        callee: Function = op.attrs["function"]
        self._count(op, "arguments", op.inputs, len(callee.params))
        self._count(op, "outputs", op.outputs, len(callee.results))
        for v, p in zip(op.inputs, callee.params, strict=True):
            self._same(op, f"argument {p.name}", v.type, p.type)
        for v, r in zip(op.outputs, callee.results, strict=True):
            self._same(op, "result of the call", v.type, r.type)
        if op.attrs.get("repeats") and callee.writes:
            self._fail("a call that may be left out writes to what it is given", op)

    def _check_if(self, op: Op) -> None:
        self._count(op, "regions", op.regions, 2)
        self._count(op, "conditions", op.inputs, 1)
        self._truth(op, op.inputs[0])
        for region in op.regions:
            self._count(op, "arguments of a branch", region.args, 0)
            self._count(op, "results of a branch", region.results, len(op.outputs))
            for v, r in zip(op.outputs, region.results, strict=True):
                self._same(op, f"join of {v.name or 'a value'}", r.type, v.type)

    def _truth(self, op: Op, v: Value) -> None:
        if not isinstance(v.type, Scalar) or v.type.dtype != BOOL.dtype:
            self._fail(f"the condition {v!r} is not a bool", op)

    def _check_for(self, op: Op) -> None:
        self._count(op, "regions", op.regions, 1)
        for v in op.inputs[:3]:
            if not isinstance(v.type, Scalar) or v.type.dtype.kind not in "iu":
                self._fail(f"the bound {v!r} is not an integer", op)
        body = op.regions[0]
        self._count(op, "arguments of the body", body.args, 1 + len(op.outputs))
        self._same(op, "the index", body.args[0].type, INT)
        self._carried(op, body.args[1:])

    def _check_while(self, op: Op) -> None:
        self._count(op, "regions", op.regions, 2)
        cond, body = op.regions
        self._count(op, "results of the condition", cond.results, 1)
        self._truth(op, cond.results[0])
        for region in (cond, body):
            self._count(op, "arguments of a region", region.args, len(op.outputs))
            self._carried(op, region.args)

    def _carried(self, op: Op, args: list[Value]) -> None:
        body = op.regions[-1]
        leaving = int(bool(op.attrs.get("exit")))
        self._count(op, "initial values", initial(op), len(op.outputs))
        self._count(op, "results of the body", body.results, len(op.outputs) + leaving)
        if leaving:
            self._truth(op, body.results[0])
        for v, a, init, following in zip(op.outputs, args, initial(op), body.results[leaving:], strict=True):
            what = f"carried {v.name or a.name or 'value'}"
            self._same(op, f"{what} on entry", init.type, a.type)
            self._same(op, f"{what} after an iteration", following.type, a.type)
            self._same(op, f"{what} after the loop", v.type, a.type)
