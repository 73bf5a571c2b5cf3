"""Walks a program and builds companions beside its values: tangents in forward mode, series in Taylor mode.

Each active value has `count` companions of its type. Memory has companion memory, joined and viewed as the memory
itself is, and loops carry companions beside what they carry. What the companions of a pure operation are, subclasses
say.
"""

from __future__ import annotations

from typing import Any

from diffjit.analysis.activity import Activity, endless
from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.frontend.numpy import finite
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import Array, List, Scalar, Stack, Type, is_float, is_ref
from diffjit.transforms import custom, rules
from diffjit.transforms.prepare import clone, own_copy


@dataclass(slots=True, eq=False)
class Accompanied:
    """A function that computes companions beside its values: `entering` are parameters, one list for each input.

    `leaving` has the companions of each result; None where it depends on no input.
    """

    function: Function
    entering: list[list[Value]]
    primal: list[Value]
    leaving: list[list[Value] | None]

    def returned(self) -> list[list[int] | None]:
        """Make companions results behind the values; for each value, the positions of its own (None: it has none)."""
        results = self.function.body.results = list(self.primal)
        positions: list[list[int] | None] = []
        for beside in self.leaving:
            positions.append(None if beside is None else [len(results) + n for n in range(len(beside))])
            results += beside or []
        return positions


class Companions:
    """Builds the program with companions of one function."""

    def __init__(self, function: Function, wrt: list[int], count: int, *, nested: bool = False) -> None:
        self.f = self.prepared(clone(function) if nested else own_copy(function))
        self.count = count
        known = analyses(self.f)
        self.order, self.memory = known.order, known.memory
        self.inputs = [self.f.params[k] for k in wrt]
        outputs = [v for v in self.f.body.results if is_float(v.type)]
        if nested:  # what a recursive function leaves in its arguments is a result, too
            outputs += [p for p in self.f.params if is_ref(p.type) and self.memory.written(p)]
        self.activity = Activity(self.f, self.memory, self.inputs, outputs)
        self.build = Builder()
        self.runner = rules.RuleRunner(self.build, endless(self.f, self.memory))
        self.beside: dict[Value, list[Value]] = {}
        self.nothing: set[Value] = set()  # values whose companions are zero as the program says
        self.tested = finite.level()
        self.guarded = finite.Guarded(self.f) if self.tested else None

    def prepared(self, function: Function) -> Function:
        """The program's copy, before it is looked at."""
        return function

    def name(self, v: Value, n: int) -> str | None:
        """The name of a companion, from the user's name for the value."""
        raise NotImplementedError

    def beside_type(self, ty: Type) -> Any:
        """The type of the companions of a value of this type."""
        return ty

    def rule(self, op: Op) -> list[Value]:
        """The companions of a pure operation's result; none where they are zero."""
        raise NotImplementedError

    def type_of(self, v: Value) -> Type:
        """The type of a value's companions where they are handed on: as parameters, and where paths meet."""
        return self.beside_type(v.type)

    def accompany(self) -> Accompanied:
        """The whole transformation."""
        entering: list[list[Value]] = []
        body = self.f.body
        head = Block()
        with self.build.inside(head):
            for p in self.inputs:
                given = [Value(self.type_of(p), self.name(p, n)) for n in range(self.count)]
                for t in given:
                    t.block = body
                entering.append(given)
                if self.activity.active(p):
                    self.beside[p] = self.entered(given)
            for p in self.f.params:
                if p not in self.beside and self.activity.active(p):
                    self.beside[p] = self.zeros(p)
        results = list(body.results)
        self.block(body)
        body.ops[:0] = head.ops
        for op in head.ops:
            for out in op.outputs:
                out.block = body
        given = {t for ts in entering for t in ts}
        self.f.params += [t for ts in entering for t in ts]
        with self.build.inside(body):
            leaving = [
                [self.left(t, given, n) for n, t in enumerate(self.companions(v))]
                if self.activity.is_varied(v)
                else None
                for v in results
            ]
        return Accompanied(self.f, entering, results, leaving)

    def entered(self, given: list[Value]) -> list[Value]:
        """The companions of a parameter, from what is given for them."""
        return given

    def left(self, t: Value, given: set[Value], n: int) -> Value:
        """A companion as it is returned: it is no parameter's memory."""
        del n
        if isinstance(t.type, Array) and t in given:
            return self.build.value("copy", [t], t.type, order="K")
        return t

    def block(self, block: Block) -> None:
        """Interleave companions with the operations of a block."""
        ops, block.ops = block.ops, []
        with self.build.inside(block):
            for op in ops:
                self.build.loc = op.loc
                self.op(op, block)
            self.build.loc = None

    def has(self, v: Value) -> bool:
        """Whether a value has companions."""
        return self.count > 0 and v not in self.nothing and self.activity.active(v)

    def companions(self, v: Value) -> list[Value]:
        """The companions of a value; of one that has none they are zero, and made where they are asked for."""
        if v not in self.beside:
            zeros = self.zeros(v)
            if not self.has(v):
                return zeros  # in this block alone: others do not see what it makes
            self.beside[v] = zeros
        return self.beside[v]

    def zeros(self, v: Value) -> list[Value]:
        """Companions that are zero."""
        return [self.zero(v, n) for n in range(self.count)]

    def zero(self, v: Value, n: int = 0) -> Value:
        """A companion that is zero."""
        name = self.name(v, n)
        ty = self.beside_type(v.type)
        if isinstance(v.type, Array):
            return self.build.zero(v, name=name, dtype=ty.dtype)
        if isinstance(v.type, Scalar):
            return self.build.const(0, ty)
        return self.build.value("list_new" if isinstance(v.type, List) else "stack_new", [], ty, name=name)

    def op(self, op: Op, block: Block) -> None:
        """One operation and its companions."""
        kind = op.kind
        if kind == "if":
            self.branch(op, block)
        elif op.row.loop:
            self.loop(op, block)
        elif kind == "call":
            self.call(op, block)
        elif op.row.value is not None:
            self.write(op, block)
        elif kind == "foreign" and any(map(self.has, op.outputs)) and any(map(self.has, op.inputs)):
            raise rules.without_source(op)
        elif not op.outputs or not self.has(op.out):
            self.passive(op, block)
        elif self.vanishes(op):
            self.nothing.update(op.outputs)
            block.ops.append(op)
        elif op.row.constant:
            block.ops.append(op)
            self.fresh(op)
        elif kind == "full" and not self.has(op.inputs[0]):
            block.ops.append(op)
            self.beside[op.out] = self.zeros(op.out)
        elif kind == "list_copy" and not self.has(op.inputs[0]):  # what it copies has no companion
            block.ops.append(op)
            elem, beside = op.out.type.elem, self.beside_type(op.out.type.elem)
            dtype = None if beside == elem else beside.dtype
            self.beside[op.out] = [
                self.build.zero(op.out, name=self.name(op.out, n), dtype=dtype) for n in range(self.count)
            ]
        elif is_view(op) or op.row.gives or kind in _MIRRORED:
            self.mirror(op, block)
        else:
            block.ops.append(op)
            made: list[Value] = []
            start = len(self.build.block.ops)
            for n, t in enumerate(self.rule(op)):
                made.append(self.laid_out(self.own(t, op, n, made), op, n, start))
            if not made and self.is_fixed(op.out):
                self.nothing.add(op.out)
                return
            self.beside[op.out] = made or self.zeros(op.out)
            self.test(op)

    def vanishes(self, op: Op) -> bool:
        """Whether companions of a result are zero because those of all operands are, and stay so."""
        if any(map(self.has, op.inputs)) or op.row.gives or op.row.fill or any(op.row.writes):
            return False
        return self.is_fixed(op.out)

    def is_fixed(self, v: Value) -> bool:
        """Whether what is in a value's companions is there from the beginning: nothing is written to it."""
        if isinstance(v.type, Scalar):
            return True
        return isinstance(v.type, Array) and not self.memory.written(v) and not self.memory.is_shared(v)

    def test(self, op: Op) -> None:
        """Where `settings.nan_check` asks for it: raise if the companions that come in are finite and one is not."""
        if self.guarded is None or self.guarded(op.out) or op.out.type.dtype.kind not in "fc":
            return
        read = [v for v in op.inputs if self.has(v)]
        shown = [
            (finite.called(v, k), v)
            for k, v in enumerate(op.inputs)
            if isinstance(v.type, (Scalar, Array)) and v.type.dtype.kind in "fc"
        ]
        for n, t in enumerate(self.beside[op.out]):
            dots = [(self.told(v, n), self.companions(v)[n]) for v in read]
            given = [t for v in read for t in self.companions(v)]
            what = f"the {self.told(op.out, n)}"
            finite.test(self.build, finite.Suspect(t, what, given, [*shown, *dots], op.loc), self.tested)

    def told(self, v: Value, n: int) -> str:
        """What to call a companion in messages."""
        del n
        return f"tangent of `{v.name}`" if v.name else "tangent of a value"

    def own(self, t: Value, op: Op, n: int, others: list[Value]) -> Value:
        """Copy a companion that is another value's too (that of `x + 1`, say) where either's memory changes later."""
        if not isinstance(t.type, Array):
            return t
        root = t
        while root.op is not None and is_view(root.op):
            root = root.op.inputs[0]
        changes = [op.out, *(v for v in op.inputs if isinstance(v.type, Array))]
        if not any(self.memory.written(v) for v in changes):
            return t
        if root.op is None or root in others or any(root in ts for ts in self.beside.values()):
            ty = Array(t.type.dtype, t.type.dims, t.type.layout)
            return self.build.value("copy", [t], ty, name=self.name(op.out, n), order="K")
        return t

    def laid_out(self, t: Value, op: Op, n: int, start: int) -> Value:
        """A companion in the memory order of its value, as views of it are typed as those of the value are."""
        ty, like = t.type, op.out.type
        if not isinstance(ty, Array) or not isinstance(like, Array) or like.layout in ("A", ty.layout) or not ty.ndim:
            return t
        if ty.ndim == 1 and ty.layout != "A":
            return t
        wanted = Array(ty.dtype, ty.dims, like.layout)
        if t.op is not None and t.op.row.by_element and any(o is t.op for o in self.build.block.ops[start:]):
            t.type = wanted  # just made, and seen by nobody: it is made in this order
            return t
        return self.build.value("copy", [t], wanted, name=self.name(op.out, n), order=like.layout)

    def passive(self, op: Op, block: Block) -> None:
        """An operation whose first result has no companions; those of others (a draw's, beside its stream) are zero."""
        block.ops.append(op)
        for v in op.outputs[1:]:  # made here: what writes to them may be a loop
            if self.has(v):
                self.beside[v] = self.zeros(v)
        if op.row.gives and op.row.writes and self.has(op.inputs[0]):
            for t in self.companions(op.inputs[0]):
                self.build.value(op.kind, [t, *op.inputs[1:]], self.beside_type(op.out.type))

    def fresh(self, op: Op) -> None:
        """Companions of new memory."""
        if op.kind == "undef":
            self.beside[op.out] = [
                self.build.value("undef", [], self.beside_type(op.out.type), name=self.name(op.out, n))
                for n in range(self.count)
            ]
        else:
            self.beside[op.out] = self.zeros(op.out)

    def mirror(self, op: Op, block: Block) -> None:
        """The same operation on companions."""
        block.ops.append(op)
        self.beside[op.out] = [
            self.build.value(
                op.kind, [t, *op.inputs[1:]], self.beside_type(op.out.type), name=self.name(op.out, n), **op.attrs
            )
            for n, t in enumerate(self.companions(op.inputs[0]))
        ]

    def write(self, op: Op, block: Block) -> None:
        """The same write into companion memory (before the value changes anything)."""
        target = op.inputs[0]
        value_at = 2 if op.kind == "mask_set" else 1
        if self.has(target):
            value = op.inputs[value_at]
            if is_float(value.type) and self.has(value):
                given = self.companions(value)
            elif isinstance(value.type, Scalar) or not is_float(value.type):
                given = [self.build.const(0, self.beside_type(_elem(target)))] * self.count
            else:
                given = self.zeros(value)
            for t, g in zip(self.companions(target), given, strict=True):
                inputs = list(op.inputs)
                inputs[0], inputs[value_at] = t, g
                self.build.op(op.kind, inputs, **op.attrs)
        block.ops.append(op)

    # Control flow

    def call(self, op: Op, block: Block) -> None:
        """A recursive function's companions: a recursive function with companions beside its arguments and results."""
        if (own := custom.rules_of(op)) is not None:
            self.custom_call(op, own, block)
            return
        if not any(self.has(v) for v in (*op.inputs, *op.outputs)):
            block.ops.append(op)
            return
        from diffjit.transforms.recursion import float_positions

        callee = op.attrs["function"]
        given: list[Value] = []
        for k in float_positions(callee.params):
            v = op.inputs[k]
            beside = self.companions(v) if self.has(v) else self.zeros(v)
            given += [self.conform(t, callee.params[k]) for t in beside]
        floats = float_positions(op.outputs)
        types = [v.type for v in op.outputs] + [op.outputs[k].type for k in floats for _ in range(self.count)]
        made = self.build.op("call", [*op.inputs, *given], types, function=self.recursive(callee))
        n = len(op.outputs)
        for old, new in zip(op.outputs, made.outputs, strict=False):
            new.name = old.name
        made.outputs[:n] = op.outputs
        for out in op.outputs:
            out.op = made
        rest = iter(made.outputs[n:])
        for k in floats:
            out = op.outputs[k]
            self.beside[out] = [next(rest) for _ in range(self.count)]
            for m, t in enumerate(self.beside[out]):
                t.name = self.name(out, m)

    def recursive(self, callee: Function) -> Function:
        """A recursive function with companions."""
        raise NotImplementedError

    def custom_call(self, op: Op, own: custom.Rules, block: Block) -> None:
        """A call of a function with rules of its own."""
        raise NotImplementedError

    def branch(self, op: Op, block: Block) -> None:
        """Both sides of an `if`."""
        slots = [k for k, out in enumerate(op.outputs) if self.has(out)]
        for region in op.regions:
            self.block(region)
            with self.build.inside(region):
                joined = [(op.outputs[k], region.results[k]) for k in slots]
                region.results += [self.conform(t, out) for out, v in joined for t in self.joined(v)]
        block.ops.append(op)
        for k in slots:
            self.extra_outputs(op, op.outputs[k], block)

    def joined(self, v: Value) -> list[Value]:
        """The companions of a value that flows into a joined one, here and now."""
        return self.beside[v] if v in self.beside else self.zeros(v)

    def conform(self, t: Value, like: Value) -> Value:
        """A companion in the layout that its variable is declared with."""
        ty = like.type
        if (
            isinstance(ty, Array)
            and isinstance(t.type, Array)
            and ty.layout not in ("A", t.type.layout)
            and ty.ndim > 0
        ):
            return self.build.value("copy", [t], Array(t.type.dtype, t.type.dims, ty.layout), order=ty.layout)
        return t

    def loop(self, op: Op, block: Block) -> None:
        """A loop carries companions beside what it carries."""
        body = op.regions[-1]
        counted = op.kind == "for"
        skip = 1 if op.attrs.get("exit") else 0
        n = len(op.outputs)
        init = op.inputs[3:] if counted else list(op.inputs)
        args = body.args[1:] if counted else list(body.args)
        slots = [k for k in range(n) if self.has(args[k]) or self.has(op.outputs[k])]
        for k in slots:
            given = self.companions(init[k]) if self.has(init[k]) else self.zeros(init[k])
            op.inputs += [self.conform(t, args[k]) for t in given]
        for k in slots:
            self.beside[args[k]] = self.arguments(args[k], body)
            if not counted:
                cond = op.regions[0]
                self.beside[cond.args[k]] = self.arguments(args[k], cond)
        if not counted:
            self.block(op.regions[0])
        self.block(body)
        with self.build.inside(body):
            carried = [(args[k], body.results[k + skip]) for k in slots]
            body.results += [self.conform(t, arg) for arg, v in carried for t in self.joined(v)]
        block.ops.append(op)
        for k in slots:
            self.extra_outputs(op, op.outputs[k], block)

    def arguments(self, arg: Value, block: Block) -> list[Value]:
        """Companions of a loop's argument as further arguments."""
        made = [Value(self.type_of(arg), self.name(arg, n)) for n in range(self.count)]
        for t in made:
            t.block = block
        block.args += made
        return made

    def extra_outputs(self, op: Op, out: Value, block: Block) -> None:
        """Companions of a joined value as further outputs."""
        made = [Value(self.type_of(out), self.name(out, n)) for n in range(self.count)]
        for t in made:
            t.op, t.block = op, block
        op.outputs += made
        self.beside[out] = made


_MIRRORED = frozenset({"load", "list_copy", "stack_copy", "gather", "copy", "reshape", "full"})


def _elem(target: Value) -> Scalar:
    ty = target.type
    if isinstance(ty, (List, Stack)):
        assert isinstance(ty.elem, Scalar)
        return ty.elem
    return Scalar(ty.dtype)
