"""Shadow references for memory whose identity is only known at run time.

Where references are joined by control flow or held in lists, and the memory behind them changes, the forward sweep
carries a reference to shadow memory beside each such reference: made where the memory is made, viewed as it is viewed,
joined as it is joined. So aliasing is right by construction (the scheme of Enzyme: Moses and Churavy, 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from diffjit.analysis.activity import Activity
from diffjit.analysis.memory import Memory
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import INT, Array, Scalar, is_float
from diffjit.ir.walk import blocks
from diffjit.transforms.reverse.keep import Keeper


def lives_in_shadow(v: Value, memory: Memory) -> bool:
    """Whether a reference's cotangent lives in shadow memory.

    That of a broadcast view does not: the same view of the shadow would be one element for many, each of which is added
    to. Its cotangent is summed, and goes to the shadow of what it is a view of.
    """
    return not isinstance(v.type, Scalar) and memory.is_shared(v) and not is_broadcast(v)


def is_broadcast(v: Value) -> bool:
    """Whether a reference is a broadcast view, or a view of one."""
    while v.op is not None and is_view(v.op):
        if v.op.kind == "broadcast_to":
            return True
        v = v.op.inputs[0]
    return False


def copy_joined_broadcasts(function: Function, memory: Memory) -> None:
    """In place: broadcast views that would need a shadow where they are joined with others are copied there.

    views.append(np.broadcast_to(x, (3, n)))    ->    views.append(np.broadcast_to(x, (3, n)).copy())

    A copy shows what the view shows where none of the memory is written to; the others stay, and are refused.
    """
    for block in list(blocks(function.body)):
        for op in list(block.ops):
            held = [op.row.keeps] if op.row.keeps is not None else range(len(op.inputs)) if op.row.loop else []
            _copy_broadcasts(op.inputs, held, memory, block, op)
            for region in op.regions:
                _copy_broadcasts(region.results, range(len(region.results)), memory, region, None)


def _copy_broadcasts(
    values: list[Value], where: Sequence[int], memory: Memory, block: Block, before: Op | None
) -> None:
    """In place: those of the values that are such views become copies, made before an operation of a block."""
    for k in where:
        v = values[k]
        if not isinstance(v.type, Array) or v.op is None or not is_float(v.type) or not is_broadcast(v):
            continue
        if memory.is_shared(v) and not memory.written(v):
            copy = Op("copy", [v], [Value(v.type, v.name)], {"order": "C"}, loc=v.op.loc)
            copy.out.op, copy.out.block = copy, block
            block.ops.insert(len(block.ops) if before is None else block.ops.index(before), copy)
            values[k] = copy.out


@dataclass(slots=True, eq=False)
class Shadows:
    """Makes shadow references in the forward sweep; `of` maps a reference to its shadow."""

    function: Function
    memory: Memory
    activity: Activity
    keep: Keeper
    build: Builder
    of: dict[Value, Value] = field(default_factory=dict[Value, Value])
    made: list[Value] = field(default_factory=list[Value])

    def wanted(self, v: Value) -> bool:
        """Whether a reference needs a shadow on the way there."""
        return lives_in_shadow(v, self.memory) and self.activity.active(v)

    def beside(self, v: Value, op: Op) -> Value:
        """The shadow of a reference that is joined with others by a branch, a loop or a list."""
        if v not in self.of and is_broadcast(v):
            raise MemoryProblem(
                "DJ404",
                "a broadcast view is joined with other arrays, and the memory behind it is written to",
                loc=v.op.loc if v.op is not None else op.loc,
                cure="copy the view: np.broadcast_to(...).copy()",
            )
        return self.of[v]

    def make(self) -> None:
        """Extend the whole forward sweep."""
        body = self.function.body
        for p in self.function.params:
            if self.wanted(p) and p not in self.of:
                with self.keep.forward_ops(self.keep.at_start, body, body) as b:
                    self.of[p] = self._zeros(b, p)
        self._block(body)

    def _zeros(self, b: Builder, v: Value) -> Value:
        name = f"{v.name}_bar" if v.name else None
        if isinstance(v.type, Array):
            out = b.zero(v, name=name)
            self.made.append(out)
            return out
        kind = "list_new" if type(v.type).__name__ == "List" else "stack_new"
        return b.value(kind, [], v.type, name=name)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.row.loop:
                self._loop(op)
            elif op.kind == "if":
                self._branch(op)
            else:
                self._straight(op, block)

    def _straight(self, op: Op, block: Block) -> None:
        kind = op.kind
        for v in op.outputs[1:]:  # what is drawn, beside the stream that it was drawn from
            if self.wanted(v):
                with self.keep.forward_ops(self.keep.after, op, block) as b:
                    b.loc = op.loc
                    self.of[v] = self._zeros(b, v)
        if op.row.keeps:
            if self.wanted(op.inputs[0]) and isinstance(op.inputs[1].type, Scalar):
                if kind in ("list_append", "list_insert"):
                    with self.keep.forward_ops(self.keep.after, op, block) as b:
                        zero = b.const(0.0, op.inputs[0].type.elem)
                        b.op(kind, [self.of[op.inputs[0]], zero, *op.inputs[2:]])
            elif self.wanted(op.inputs[0]):
                inputs = [self.of[op.inputs[0]], self.beside(op.inputs[1], op), *op.inputs[2:]]
                self._after(op, block, kind, inputs, op.attrs)
            return
        if kind == "list_pop" and self.wanted(op.inputs[0]) and isinstance(op.out.type, Scalar):
            with self.keep.forward_ops(self.keep.after, op, block) as b:
                b.value(kind, [self.of[op.inputs[0]], *op.inputs[1:]], op.out.type)
            return
        if not op.outputs or not self.wanted(op.out):
            if op.row.gives and op.row.writes and self.wanted(op.inputs[0]) and not isinstance(op.out.type, Scalar):
                self._after(op, block, kind, [self.of[op.inputs[0]], *op.inputs[1:]], op.attrs, op.out)
            return
        if kind == "list_copy" and op.inputs[0] not in self.of:
            self._zeros_beside(op, block)
        elif is_view(op) or op.row.gives or kind in ("stop_gradient", "list_copy", "stack_copy"):
            self._after(op, block, kind, [self.of[op.inputs[0]], *op.inputs[1:]], op.attrs, op.out)
        elif kind == "undef":
            self._after(op, block, kind, [], {}, op.out)
        else:
            with self.keep.forward_ops(self.keep.after, op, block) as b:
                b.loc = op.loc
                self.of[op.out] = self._zeros(b, op.out)

    def _zeros_beside(self, op: Op, block: Block) -> None:
        """The shadow of a copy of a list that has none of its own: as many zeros."""
        elem = op.out.type.elem  # pyright: ignore[reportAttributeAccessIssue]
        with self.keep.forward_ops(self.keep.after, op, block) as b:
            made = b.value("list_new", [], op.out.type, name=f"{op.out.name}_bar" if op.out.name else None)
            body = Block([Value(INT, "k")])
            with b.inside(body):
                b.op("list_append", [made, b.const(0.0, elem)])
            length = b.value("list_len", [op.out], INT)
            b.counted(length, body)
        self.of[op.out] = made

    def _after(
        self, op: Op, block: Block, kind: str, inputs: list[Value], attrs: dict[str, Any], out: Value | None = None
    ) -> None:
        with self.keep.forward_ops(self.keep.after, op, block) as b:
            b.loc = op.loc
            made = b.op(
                kind,
                inputs,
                [out.type] if out is not None else [],
                name=f"{out.name}_bar" if out is not None and out.name else None,
                **attrs,
            )
        if out is not None:
            self.of[out] = made.outputs[0]

    def _branch(self, op: Op) -> None:
        for region in op.regions:
            self._block(region)
        for k, out in enumerate(list(op.outputs)):
            if not self.wanted(out):
                continue
            for region in op.regions:
                region.results.append(self._at_end(region.results[k], region, op))
            self._extra_output(op, out)

    def _at_end(self, v: Value, block: Block, op: Op) -> Value:
        """The shadow of a reference that leaves a block; one that was never bound there has none."""
        if v in self.of or v.op is None or v.op.kind != "undef":
            return self.beside(v, op)
        with self.keep.forward_ops(self.keep.at_end, block, block) as b:
            return b.value("undef", (), v.type)

    def _loop(self, op: Op) -> None:
        body = op.regions[-1]
        counted = op.kind == "for"
        skip = 1 if op.attrs.get("exit") else 0
        slots = [k for k, out in enumerate(op.outputs) if self.wanted(out)]
        init = op.inputs[3:] if counted else list(op.inputs)
        args = body.args[1:] if counted else list(body.args)
        for k in slots:
            shadow = Value(args[k].type, f"{args[k].name}_bar" if args[k].name else None)
            shadow.block = body
            body.args.append(shadow)
            self.of[args[k]] = shadow
            if not counted:
                other = Value(args[k].type, shadow.name)
                other.block = op.regions[0]
                op.regions[0].args.append(other)
                self.of[op.regions[0].args[k]] = other
            op.inputs.append(self.beside(init[k], op))
        outputs = [op.outputs[k] for k in slots]
        if not counted:
            self._block(op.regions[0])
        self._block(body)
        for k, out in zip(slots, outputs, strict=True):
            body.results.append(self._at_end(body.results[k + skip], body, op))
            self._extra_output(op, out)

    def _extra_output(self, op: Op, out: Value) -> None:
        shadow = Value(out.type, f"{out.name}_bar" if out.name else None)
        shadow.op, shadow.block = op, out.block
        op.outputs.append(shadow)
        self.of[out] = shadow
