"""The walk through the text of a helper, statement by statement."""

from __future__ import annotations

import ast
import builtins
import operator
from dataclasses import field
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types

from diffjit.dataclass import dataclass
from diffjit.lowering.llvm import elements, numba_internals, polls
from diffjit.lowering.llvm.elements import I64
from diffjit.lowering.llvm.emission import loop_mark
from diffjit.lowering.llvm.operations import Operation
from diffjit.lowering.llvm.scopes import alone
from diffjit.lowering.marks import ABREAST, INSIDE, LOOPS, PARALLEL, RANGE, SCALAR

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.USub: operator.neg,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Typed:
    """A value of LLVM and its type. Of a constant, the number that it is; of a tuple, its items."""

    kind: Any
    value: Any = None
    number: Any = None
    items: list[Typed] | None = None


@dataclass(slots=True, eq=False)
class _Loop:
    """Where `break` and `continue` go."""

    after: Any
    next: Any


@dataclass(slots=True, eq=False)
class Walk:
    """What is known on the way."""

    context: Any
    frame: Any
    scope: dict[str, Any]  # the globals of the helper
    given: dict[str, Typed]
    result: Any
    slots: dict[str, Typed] = field(default_factory=dict)  # variable -> its type and its place on the stack
    loops: list[_Loop] = field(default_factory=list)

    @property
    def builder(self) -> Any:
        """Where it writes."""
        return self.frame.builder

    def function(self, tree: ast.FunctionDef) -> None:
        """All statements."""
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in stored & self.given.keys():
            self.assign(name, self.given.pop(name))
        self._block(tree.body)
        if not self.builder.block.is_terminated:
            self._return(Typed(types.none, self.context.get_dummy_value()))

    # Statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.frame.loc.line = statement.lineno
            getattr(self, f"exec_{type(statement).__name__}")(statement)
            if self.builder.block.is_terminated:
                return  # the rest is never reached

    def exec_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def exec_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        found = self.value(node.value)
        if not isinstance(target, ast.Tuple):
            self._store(target, found)
            return
        for part, item in zip(target.elts, found.items or (), strict=True):
            self._store(part, item)

    def exec_AugAssign(self, node: ast.AugAssign) -> None:
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)  # type: ignore[union-attr]
        self._store(node.target, self._operation(type(node.op), self.value(before), self.value(node.value)))

    def _store(self, target: ast.expr, found: Typed) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, found)
            return
        array, address = self._element(target)
        elements.store(self.context, self.builder, array.kind, address, self.cast(found, array.kind.dtype))
        self._accessed("store")

    def assign(self, name: str, found: Typed) -> None:
        """A variable has another value: of the type of its first one."""
        if name not in self.slots:
            kind = types.unliteral(found.kind)
            self.slots[name] = Typed(kind, cgutils.alloca_once(self.builder, self.context.get_value_type(kind)))
        slot = self.slots[name]
        assert types.unliteral(found.kind) == slot.kind, f"`{name}` has two types: {slot.kind}, {found.kind}"
        self.builder.store(found.value, slot.value)

    def exec_Return(self, node: ast.Return) -> None:
        none = Typed(types.none, self.context.get_dummy_value())
        self._return(none if node.value is None else self.value(node.value))

    def _return(self, found: Typed) -> None:
        value = found.value if self.result == types.none else self.cast(found, self.result)
        context, builder = self.context, self.builder
        context.call_conv.return_value(builder, context.get_return_value(builder, self.result, value))

    def exec_If(self, node: ast.If) -> None:
        builder = self.builder
        then, other, after = (builder.append_basic_block(name) for name in ("then", "else", "after"))
        builder.cbranch(self.truth(node.test), then, other)
        goes_on = False
        for block, body in ((then, node.body), (other, node.orelse)):
            builder.position_at_end(block)
            self._block(body)
            if not builder.block.is_terminated:
                builder.branch(after)
                goes_on = True
        builder.position_at_end(after)
        if not goes_on:
            builder.unreachable()

    def exec_While(self, node: ast.While) -> None:
        builder = self.builder
        head, body, latch, after = (builder.append_basic_block(name) for name in ("while", "body", "latch", "after"))
        builder.branch(head)
        builder.position_at_end(head)
        builder.cbranch(self.truth(node.test), body, after)
        self.body(node.body, body, _Loop(after, latch))
        builder.position_at_end(latch)
        polls.look(self.frame)
        builder.branch(head)
        builder.position_at_end(after)

    def body(self, statements: list[ast.stmt], block: Any, loop: _Loop) -> None:
        """What a loop repeats, from a block on."""
        self.builder.position_at_end(block)
        self.loops.append(loop)
        self._block(statements)
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(loop.next)

    def exec_Break(self, _node: ast.Break) -> None:
        self.builder.branch(self.loops[-1].after)

    def exec_Continue(self, _node: ast.Continue) -> None:
        self.builder.branch(self.loops[-1].next)

    def exec_For(self, node: ast.For) -> None:
        """A loop over a range. It looks whether it has to stop: after each turn, innermost ones after many."""
        call = node.iter
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        assert isinstance(node.target, ast.Name)
        mark = call.func.id
        assert mark == RANGE or mark in LOOPS, mark
        given = [self.cast(self.value(a), types.int64) for a in call.args]
        start, stop, step = ([I64(0), *given, I64(1)] if len(given) == 1 else [*given, I64(1)])[:3]
        assert isinstance(step, llvm_ir.Constant)
        assert step.constant != 0
        outer = self.frame.group
        if outer is None and mark in (PARALLEL, ABREAST):
            self.frame.group = alone(self.frame.module)
        few = mark in (SCALAR, ABREAST)  # its turns are no more than a vector has places
        innermost = not any(isinstance(n, (ast.For, ast.While)) for s in node.body for n in ast.walk(s))
        chunks = innermost and not few and step.constant in (1, -1)
        self._counted(node, mark, start, stop, step, chunks=chunks, looks=not few and not chunks)
        self.frame.group = outer

    def _counted(
        self, node: ast.For, mark: str, start: Any, stop: Any, step: Any, *, chunks: bool, looks: bool
    ) -> None:
        """The loop; in chunks, an inner one of them."""
        builder = self.builder
        slot = cgutils.alloca_once(builder, I64)
        builder.store(start, slot)
        head, body, latch, after = (builder.append_basic_block(name) for name in ("for", "body", "latch", "after"))
        bound, ended = stop, after
        chunk: Any = None
        if chunks:
            chunk, ended = builder.append_basic_block("chunk"), builder.append_basic_block("ended")
            builder.branch(chunk)
            builder.position_at_end(chunk)
            bound = polls.first_bound(builder, builder.load(slot), stop, step.constant)
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.load(slot)
        sign = "<" if step.constant > 0 else ">"
        builder.cbranch(builder.icmp_signed(sign, index, bound), body, ended)
        builder.position_at_end(body)
        assert isinstance(node.target, ast.Name)
        self.assign(node.target.id, Typed(types.int64, index))
        self.body(node.body, body, _Loop(after, latch))
        builder.position_at_end(latch)
        if looks:
            polls.look(self.frame)
        builder.store(builder.add(index, step, flags=["nsw"]), slot)
        back = builder.branch(head)
        if mark != RANGE:
            back.set_metadata("llvm.loop", loop_mark(self.frame.module, self.frame.group, mark))
        if chunks:
            builder.position_at_end(ended)
            again = builder.append_basic_block("again")
            builder.cbranch(builder.icmp_signed(sign, index, stop), again, after)
            builder.position_at_end(again)
            polls.look(self.frame)
            builder.branch(chunk)
        builder.position_at_end(after)

    # Values

    def value(self, node: ast.expr) -> Typed:
        """An expression."""
        return getattr(self, f"eval_{type(node).__name__}")(node)

    def truth(self, node: ast.expr) -> Any:
        """A condition, as one bit."""
        found = self.value(node)
        return self.cast(found, types.boolean)

    def cast(self, found: Typed, kind: Any) -> Any:
        """A value as one of another type."""
        if found.kind == kind:
            return found.value
        if found.number is not None and isinstance(kind, types.Number):
            return self.constant(found.number, kind)
        return self.context.cast(self.builder, found.value, found.kind, kind)

    def constant(self, number: Any, kind: Any) -> Any:
        """A number, as a constant of a type."""
        if isinstance(kind, types.Complex):
            number = complex(number)
        return self.context.get_constant_generic(self.builder, kind, number)

    def eval_Constant(self, node: ast.Constant) -> Typed:
        return self._known(node.value)

    def _known(self, number: Any) -> Typed:
        kind = {bool: types.boolean, int: types.int64, float: types.float64}[type(number)]
        return Typed(kind, self.constant(number, kind), number)

    def eval_Name(self, node: ast.Name) -> Typed:
        if node.id in self.given:
            return self.given[node.id]
        if node.id in self.slots:
            slot = self.slots[node.id]
            return Typed(slot.kind, self.builder.load(slot.value))
        return self._known(self.scope[node.id])

    def eval_Tuple(self, node: ast.Tuple) -> Typed:
        return Typed(None, items=[self.value(item) for item in node.elts])

    def eval_Attribute(self, node: ast.Attribute) -> Typed:
        if isinstance(node.value, ast.Name) and isinstance(module := self.scope.get(node.value.id), type(operator)):
            return self._known(getattr(module, node.attr))
        owner = self.value(node.value)
        if node.attr == "shape":
            lengths = [self.builder.extract_value(owner.value, (elements.SHAPE, k)) for k in range(owner.kind.ndim)]
            return Typed(None, items=[Typed(types.int64, length) for length in lengths])
        part = ("real", "imag").index(node.attr)
        return Typed(owner.kind.underlying_float, self.builder.extract_value(owner.value, part))

    def eval_Subscript(self, node: ast.Subscript) -> Typed:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            assert isinstance(node.slice, ast.Constant)
            found = self.value(node.value)
            assert found.items is not None
            return found.items[int(node.slice.value)]  # type: ignore[arg-type]
        array, address = self._element(node)
        item = elements.load(self.context, self.builder, array.kind, address)
        self._accessed("load")
        return Typed(array.kind.dtype, item)

    def _element(self, node: ast.expr) -> tuple[Typed, Any]:
        """The array and the address of `a.inside[i, j]`."""
        assert isinstance(node, ast.Subscript)
        assert isinstance(node.value, ast.Attribute)
        assert node.value.attr == INSIDE, "helpers say that their indices are within bounds, and check lengths"
        array = self.value(node.value.value)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [self.cast(self.value(place), types.int64) for place in places]
        return array, elements.pointer(self.context, self.builder, array.kind, array.value, indices)

    def _accessed(self, kind: str) -> None:
        inst = elements.last_access(self.builder, kind)
        if inst is not None:
            self.frame.belongs(inst)

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Typed:
        if isinstance(node.op, ast.Not):
            return Typed(types.boolean, self.builder.not_(self.truth(node.operand)))
        found = self.value(node.operand)
        if found.number is not None:
            return self._known(-found.number)
        return self._called(_OPERATORS[type(node.op)], [found])

    def eval_BinOp(self, node: ast.BinOp) -> Typed:
        return self._operation(type(node.op), self.value(node.left), self.value(node.right))

    def eval_Compare(self, node: ast.Compare) -> Typed:
        (op,), (right,) = node.ops, node.comparators
        left = self.value(node.left)
        if not isinstance(op, ast.In):
            return self._operation(type(op), left, self.value(right))
        assert isinstance(right, ast.Tuple)
        equal = [self._operation(ast.Eq, left, self.value(item)).value for item in right.elts]
        some = equal[0]
        for other in equal[1:]:
            some = self.builder.or_(some, other)
        return Typed(types.boolean, some)

    def eval_BoolOp(self, node: ast.BoolOp) -> Typed:
        """`and` and `or` of conditions; what is behind is not computed in vain."""
        builder = self.builder
        place = cgutils.alloca_once(builder, llvm_ir.IntType(1))
        after = builder.append_basic_block("after")
        for k, part in enumerate(node.values):
            found = self.truth(part)
            builder.store(found, place)
            if k == len(node.values) - 1:
                builder.branch(after)
                break
            more = builder.append_basic_block("more")
            ways = (more, after) if isinstance(node.op, ast.And) else (after, more)
            builder.cbranch(found, *ways)
            builder.position_at_end(more)
        builder.position_at_end(after)
        return Typed(types.boolean, builder.load(place))

    def eval_IfExp(self, node: ast.IfExp) -> Typed:
        builder = self.builder
        then, other, after = (builder.append_basic_block(name) for name in ("then", "else", "after"))
        builder.cbranch(self.truth(node.test), then, other)
        place: Any = None
        kind: Any = None
        for block, part in ((then, node.body), (other, node.orelse)):
            builder.position_at_end(block)
            found = self.value(part)
            if place is None:
                kind = types.unliteral(found.kind)
                place = cgutils.alloca_once(builder, self.context.get_value_type(kind))
            builder.store(self.cast(found, kind), place)
            builder.branch(after)
        builder.position_at_end(after)
        return Typed(kind, builder.load(place))

    def _operation(self, op: type[ast.AST], left: Typed, right: Typed) -> Typed:
        called = _OPERATORS[op]
        if left.kind == right.kind:
            result = types.boolean if issubclass(op, ast.cmpop) else left.kind
            emit = elements.direct_operator(left.kind, result, called)
            if emit is not None:
                return Typed(result, emit(self.builder, left.value, right.value))
            if left.kind == types.boolean and op in (ast.BitAnd, ast.BitOr):
                emit = self.builder.and_ if op is ast.BitAnd else self.builder.or_
                return Typed(left.kind, emit(left.value, right.value))
        return self._called(called, [left, right])

    def eval_Call(self, node: ast.Call) -> Typed:
        return self._called(self._function(node.func), list(map(self.value, node.args)))

    def _function(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name)
            return getattr(self.scope[node.value.id], node.attr)
        assert isinstance(node, ast.Name)
        return self.scope[node.id] if node.id in self.scope else getattr(builtins, node.id)

    def _called(self, function: Any, args: list[Typed]) -> Typed:
        """An operation, or what Numba knows."""
        context, builder = self.context, self.builder
        kinds = tuple(types.unliteral(a.kind) for a in args)
        if isinstance(function, Operation):
            signature = function.signature(kinds)
            assert signature is not None, f"{function} of {kinds}"
            made = function.emit(context, builder, signature.args, [a.value for a in args])
            return Typed(signature.return_type, context.get_dummy_value() if made is None else made)
        signature, implementation = numba_internals.known_function(context, function, kinds)
        values = [self.cast(a, kind) for a, kind in zip(args, signature.args, strict=True)]
        return Typed(signature.return_type, implementation(builder, values))
