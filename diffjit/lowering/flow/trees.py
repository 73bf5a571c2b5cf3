"""Generated loops as Numba's IR, straight from their syntax tree.

    s += a[i] * x          $1 = getitem(a, i)
                           $2 = $1 * x
                           s = inplace_binop(s, $2)

Numba would have Python compile the function to bytecode, and find out from that what the tree says. The text of loops
has one variable for each name, no closures, no generators, and nothing that is not in this file.
"""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from diffjit.ir.text import syntax
from diffjit.ir.text.names import BUILTINS
from diffjit.lowering.llvm.numba_internals import IR

TREES = "__diffjit_trees__"  # global of a generated module: the trees of its functions, by name

_BINARY: dict[type[ast.operator], tuple[Any, Any]] = {
    ast.Add: (operator.add, operator.iadd),
    ast.Sub: (operator.sub, operator.isub),
    ast.Mult: (operator.mul, operator.imul),
    ast.Div: (operator.truediv, operator.itruediv),
    ast.FloorDiv: (operator.floordiv, operator.ifloordiv),
    ast.Mod: (operator.mod, operator.imod),
    ast.Pow: (operator.pow, operator.ipow),
    ast.MatMult: (operator.matmul, operator.imatmul),
    ast.BitAnd: (operator.and_, operator.iand),
    ast.BitOr: (operator.or_, operator.ior),
    ast.BitXor: (operator.xor, operator.ixor),
    ast.LShift: (operator.lshift, operator.ilshift),
    ast.RShift: (operator.rshift, operator.irshift),
}
_COMPARING: dict[type[ast.cmpop], Any] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}


class Trees:
    """The trees of a module's functions. Each is handed out once: a long one is ten times as large as its text."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.held = _functions(tree)
        self.names = frozenset(self.held)

    def taken(self, name: str) -> ast.FunctionDef:
        """The tree of a function: from the text again, where it was compiled before."""
        if name not in self.held:
            self.held = _functions(ast.parse(self.text))
        return self.held.pop(name)


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _trees_around(function: Any) -> Trees | None:
    return function.__globals__.get(TREES)


def has_tree(function: Any) -> bool:
    """Whether it is a generated function, of which there is a tree."""
    trees = _trees_around(function)
    return trees is not None and function.__name__ in trees.names


def taken_tree(function: Any) -> ast.FunctionDef:
    """The tree of a generated function, for whoever compiles it now."""
    trees = _trees_around(function)
    assert trees is not None
    return trees.taken(function.__name__)


def interpreted(identity: Any, tree: ast.FunctionDef) -> Any:
    """Numba's IR of a function; `identity`: Numba's name for it."""
    return _Writer(identity, tree).function()


class _Writer:
    def __init__(self, identity: Any, tree: ast.FunctionDef) -> None:
        self.identity, self.tree = identity, tree
        self.globals: dict[str, Any] = identity.func.__globals__
        self.builtins: Any = self.globals["__builtins__"]
        self.loc = IR.Loc(identity.filename, tree.lineno)
        self.scope = IR.Scope(parent=None, loc=self.loc)
        self.blocks: dict[int, Any] = {}
        self.definitions: dict[str, list[Any]] = defaultdict(list)
        self.locals = {a.arg for a in tree.args.args}
        self.locals |= set(syntax.assigned(tree))
        self.count = 0
        self.loops: list[tuple[int, int]] = []  # where `continue` and `break` go
        self.block: Any = None  # None: no way leads here
        self.reached: set[int] = set()  # blocks that are jumped to

    def function(self) -> Any:
        """The whole function."""
        self.reached.add(self.label())
        self.begin(self.count)
        names = [a.arg for a in self.tree.args.args]
        for k, name in enumerate(names):
            self.assign(IR.Arg(name=name, index=k, loc=self.loc), self.variable(name))
        self.body(self.tree.body)
        if self.block is not None:
            self.leave(self.value(IR.Const(None, self.loc)))
        return IR.FunctionIR(self.ordered(), False, self.identity, self.loc, self.definitions, len(names), tuple(names))

    def ordered(self) -> dict[int, Any]:
        """The blocks, labelled in the order of the text: Numba writes them so, definitions before uses."""
        places = {label: k for k, label in enumerate(self.blocks)}
        for block in self.blocks.values():
            last = block.body[-1]
            if isinstance(last, IR.Jump):
                last.target = places[last.target]
            elif isinstance(last, IR.Branch):
                last.truebr, last.falsebr = places[last.truebr], places[last.falsebr]
        return {places[label]: block for label, block in self.blocks.items()}

    # Blocks

    def label(self) -> int:
        """The label of a block that is yet to come."""
        self.count += 1
        return self.count

    def begin(self, label: int) -> None:
        """Go on in a new block, if anything leads there."""
        self.block = None
        if label in self.reached:
            self.block = self.blocks[label] = IR.Block(scope=self.scope, loc=self.loc)

    def end(self, terminator: Any) -> None:
        """End the block at hand."""
        self.block.append(terminator)
        self.reached.update(terminator.get_targets())
        self.block = None

    def jump(self, label: int) -> None:
        """Go to a block, if anything leads here."""
        if self.block is not None:
            self.end(IR.Jump(label, self.loc))

    # Values

    def variable(self, name: str) -> Any:
        """A variable."""
        return self.scope.get_or_define(name, loc=self.loc)

    def assign(self, value: Any, target: Any) -> Any:
        """`target = value`."""
        self.block.append(IR.Assign(value=value, target=target, loc=self.loc))
        self.definitions[target.name].append(value)
        return target

    def temporary(self) -> Any:
        """A variable without a name of its own."""
        self.count += 1
        return self.variable(f"${self.count}")

    def value(self, value: Any) -> Any:
        """A variable that holds a value."""
        return value if isinstance(value, IR.Var) else self.assign(value, self.temporary())

    def expression(self, node: ast.expr) -> Any:
        """A variable that holds the value of an expression."""
        return self.value(self.computed(node))

    def computed(self, node: ast.expr) -> Any:
        """What an expression computes, to be assigned; or the variable that it is."""
        return getattr(self, f"on_{type(node).__name__.lower()}")(node)

    def on_constant(self, node: ast.Constant) -> Any:
        return IR.Const(node.value, self.loc)

    def on_name(self, node: ast.Name) -> Any:
        if node.id in self.locals:
            return self.variable(node.id)
        if node.id in self.globals:
            return IR.Global(node.id, self.globals[node.id], self.loc)
        assert node.id in BUILTINS, f"nothing gives {node.id} a value"  # the prompt, say, makes its own `_` there
        found = self.builtins if isinstance(self.builtins, dict) else vars(self.builtins)
        return IR.Global(node.id, found[node.id], self.loc)

    def on_binop(self, node: ast.BinOp) -> Any:
        left, right = self.expression(node.left), self.expression(node.right)
        return IR.Expr.binop(_BINARY[type(node.op)][0], left, right, self.loc)

    def on_unaryop(self, node: ast.UnaryOp) -> Any:
        inner = node.operand
        if isinstance(node.op, ast.USub) and isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
            return IR.Const(-inner.value, self.loc)
        return IR.Expr.unary(_UNARY[type(node.op)], self.expression(inner), self.loc)

    def on_compare(self, node: ast.Compare) -> Any:
        left = self.expression(node.left)
        if len(node.ops) > 1:
            return self._chain(left, node)
        return self._compared(left, node.ops[0], self.expression(node.comparators[0]))

    def _compared(self, left: Any, op: ast.cmpop, right: Any) -> Any:
        return IR.Expr.binop(_COMPARING[type(op)], left, right, self.loc)

    def _chain(self, left: Any, node: ast.Compare) -> Any:
        result, done = self.temporary(), self.label()
        for k, (op, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.expression(other)
            self.assign(self._compared(left, op, right), result)
            if k < len(node.ops) - 1:
                following = self.label()
                self.end(IR.Branch(result, following, done, self.loc))
                self.begin(following)
            left = right
        self.jump(done)
        self.begin(done)
        return result

    def on_boolop(self, node: ast.BoolOp) -> Any:
        result, done = self.temporary(), self.label()
        for k, part in enumerate(node.values):
            self.assign(self.computed(part), result)
            if k < len(node.values) - 1:
                following = self.label()
                ways = (following, done) if isinstance(node.op, ast.And) else (done, following)
                self.end(IR.Branch(result, *ways, self.loc))
                self.begin(following)
        self.jump(done)
        self.begin(done)
        return result

    def on_ifexp(self, node: ast.IfExp) -> Any:
        result, then, other, done = self.temporary(), self.label(), self.label(), self.label()
        self.test(node.test, then, other)
        for label, part in ((then, node.body), (other, node.orelse)):
            self.begin(label)
            self.assign(self.computed(part), result)
            self.jump(done)
        self.begin(done)
        return result

    def on_call(self, node: ast.Call) -> Any:
        function = self.expression(node.func)
        args = [self.expression(a) for a in node.args]
        given = [(k.arg, self.expression(k.value)) for k in node.keywords]
        return IR.Expr.call(function, args, given, self.loc)

    def on_attribute(self, node: ast.Attribute) -> Any:
        return IR.Expr.getattr(self.expression(node.value), node.attr, self.loc)

    def on_subscript(self, node: ast.Subscript) -> Any:
        value = self.expression(node.value)
        return IR.Expr.getitem(value, self.expression(node.slice), self.loc)

    def on_slice(self, node: ast.Slice) -> Any:
        parts = [node.lower, node.upper, *([node.step] if node.step is not None else [])]
        function = self.value(IR.Global("slice", slice, self.loc))
        given = [self.value(IR.Const(None, self.loc)) if p is None else self.expression(p) for p in parts]
        return IR.Expr.call(function, given, (), self.loc)

    def on_tuple(self, node: ast.Tuple) -> Any:
        return IR.Expr.build_tuple([self.expression(e) for e in node.elts], self.loc)

    def on_list(self, node: ast.List) -> Any:
        return IR.Expr.build_list([self.expression(e) for e in node.elts], self.loc)

    # Statements

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Statements one after the other; what nothing leads to is left out."""
        for s in statements:
            if self.block is None:
                return
            self.loc = IR.Loc(self.identity.filename, s.lineno)
            getattr(self, f"on_{type(s).__name__.lower()}")(s)

    def on_expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):
            self.expression(s.value)

    def on_pass(self, _s: ast.Pass) -> None:
        pass

    def on_assign(self, s: ast.Assign) -> None:
        value = self.computed(s.value)
        if len(s.targets) > 1:
            value = self.value(value)
        for target in s.targets:
            self.store(target, value)

    def store(self, target: ast.expr, value: Any) -> None:
        """`target = value`."""
        if isinstance(target, ast.Name):
            self.assign(value, self.variable(target.id))
        elif isinstance(target, ast.Tuple):
            self.unpack(target, self.value(value))
        else:
            assert isinstance(target, ast.Subscript)
            value = self.value(value)
            array, index = self.expression(target.value), self.expression(target.slice)
            self.block.append(IR.SetItem(array, index, value, self.loc))

    def unpack(self, target: ast.Tuple, value: Any) -> None:
        """`a, b = value`: all are read before any is assigned."""
        whole = self.value(IR.Expr.exhaust_iter(value, len(target.elts), self.loc))
        parts = [
            self.value(IR.Expr.static_getitem(whole, index=k, index_var=None, loc=self.loc))
            for k in range(len(target.elts))
        ]
        for t, part in zip(target.elts, parts, strict=True):
            self.store(t, part)

    def on_augassign(self, s: ast.AugAssign) -> None:
        plain, inplace = _BINARY[type(s.op)]
        target = s.target
        if isinstance(target, ast.Name):
            old, right = self.variable(target.id), self.expression(s.value)
            self.assign(IR.Expr.inplace_binop(inplace, plain, old, right, self.loc), old)
            return
        assert isinstance(target, ast.Subscript)
        array, index = self.expression(target.value), self.expression(target.slice)
        old = self.value(IR.Expr.getitem(array, index, self.loc))
        new = self.value(IR.Expr.inplace_binop(inplace, plain, old, self.expression(s.value), self.loc))
        self.block.append(IR.SetItem(array, index, new, self.loc))

    def test(self, node: ast.expr, then: int, other: int) -> None:
        """Go one way or the other."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.test(node.operand, other, then)
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                following = self.label()
                ways = (following, other) if isinstance(node.op, ast.And) else (then, following)
                self.test(part, *ways)
                self.begin(following)
            self.test(node.values[-1], then, other)
        else:
            self.end(IR.Branch(self.expression(node), then, other, self.loc))

    def on_if(self, s: ast.If) -> None:
        then, done = self.label(), self.label()
        other = self.label() if s.orelse else done
        self.test(s.test, then, other)
        for label, body in ((then, s.body), (other, s.orelse)):
            if body:
                self.begin(label)
                self.body(body)
                self.jump(done)
        self.begin(done)

    def on_while(self, s: ast.While) -> None:
        head, body, done = self.label(), self.label(), self.label()
        self.jump(head)
        self.begin(head)
        if isinstance(s.test, ast.Constant) and s.test.value:
            self.jump(body)
        else:
            self.test(s.test, body, done)
        self._loop(s, body, head, done)

    def _loop(self, s: ast.While | ast.For, body: int, head: int, done: int) -> None:
        assert not s.orelse
        self.loops.append((head, done))
        self.begin(body)
        if isinstance(s, ast.For):
            self.store(s.target, self.variable(f"$next{head}"))
        self.body(s.body)
        self.jump(head)
        self.loops.pop()
        self.begin(done)

    def on_for(self, s: ast.For) -> None:
        head, body, done = self.label(), self.label(), self.label()
        iterator = self.value(IR.Expr.getiter(self.expression(s.iter), self.loc))
        self.jump(head)
        self.begin(head)
        pair = self.value(IR.Expr.iternext(iterator, self.loc))
        self.assign(IR.Expr.pair_first(pair, self.loc), self.variable(f"$next{head}"))
        more = self.value(IR.Expr.pair_second(pair, self.loc))
        self.end(IR.Branch(more, body, done, self.loc))
        self._loop(s, body, head, done)

    def on_break(self, _s: ast.Break) -> None:
        self.jump(self.loops[-1][1])

    def on_continue(self, _s: ast.Continue) -> None:
        self.jump(self.loops[-1][0])

    def leave(self, value: Any) -> None:
        """Return."""
        self.end(IR.Return(self.value(IR.Expr.cast(value, self.loc)), self.loc))

    def on_return(self, s: ast.Return) -> None:
        self.leave(self.value(IR.Const(None, self.loc)) if s.value is None else self.expression(s.value))

    def on_raise(self, s: ast.Raise) -> None:
        assert s.exc is not None
        self.end(IR.Raise(self.expression(s.exc), self.loc))
