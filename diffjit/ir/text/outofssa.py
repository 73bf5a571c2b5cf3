"""A function of the IR as the syntax tree of a Python function.

    1. `Folding`    which operations are printed inside the expression of their one use
    2. `Liveness`   the rest are variables: which of them are needed at the same time
    3. `Coalescer`  names: the versions of one variable share its name
    4. `Emitter`    prints statements; what operations look like is up to the `OpPrinter`

Copies between SSA values of different names become assignments: at the end of branches and iterations all at once (`u,
v = v, u`) where the order matters.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping

from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value
from diffjit.ir.text import syntax
from diffjit.ir.text.coalesce import Coalescer
from diffjit.ir.text.folding import Folding
from diffjit.ir.text.liveness import Copy, Liveness
from diffjit.ir.text.names import identifier
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.types import Scalar
from diffjit.ir.walk import walk

_JUMPS = (ast.Break, ast.Raise, ast.Return, ast.Continue)
_COPYING = frozenset({"call", "push", "list_append", "list_set", "list_insert"})  # they pass values on unseen
_FLIPPED = {"less": ast.GtE, "less_equal": ast.Gt, "greater": ast.LtE, "greater_equal": ast.Lt}


def function_def(function: Function, printer: OpPrinter, callees: Mapping[int, str] | None = None) -> ast.FunctionDef:
    """The syntax tree of a function; `callees` maps the ids of called functions to their names in the text."""
    return printer.finished(Emitter(function, printer, callees or {id(function): function.name}).definition())


class Emitter:
    """Prints one function."""

    def __init__(self, function: Function, printer: OpPrinter, callees: Mapping[int, str]) -> None:
        self.function = function
        self.printer = printer
        self.callees = callees
        self.folding = Folding(function, printer)
        self.liveness = Liveness(function, self.folding, printer)
        called = {callees[id(op.attrs["function"])] for op in walk(function.body) if op.kind == "call"}
        self.names = Coalescer(function, self.folding, self.liveness, printer, called)
        printer.variables = frozenset(self.names.names.values()).union(callees.values())
        self.notes: list[syntax.Comment] = []  # comments that wait for the next statement
        self.last_comment = ""
        self.defaulted = self._defaulted()

    def definition(self) -> ast.FunctionDef:
        """The whole function."""
        body: list[ast.stmt] = []
        if self.function.doc:
            body.append(ast.Expr(value=ast.Constant(value=self.function.doc)))
        body += self.printer.head(self.function, {p: self.name(p) for p in self.function.params})
        self._ops(self.function.body, body)
        values = [self.expression(v, None) for v in self.function.body.results]
        if not _jumps(body):
            self._append(body, self.printer.return_statement(self.function, values))
        params = [ast.arg(arg=self.name(p)) for p in self.function.params]
        arguments = ast.arguments(posonlyargs=[], args=params, kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.FunctionDef(
            name=self.callees.get(id(self.function), self.function.name),
            args=arguments,
            body=body,
            decorator_list=self.printer.decorators(self.function),
            lineno=1,
            **({"type_params": []} if sys.version_info >= (3, 12) else {}),  # pyright: ignore[reportCallIssue, reportArgumentType]
        )

    def name(self, v: Value) -> str:
        """The name of the variable that holds a value."""
        return self.names.names[self.liveness.variable(v)]

    # Expressions

    def expression(self, v: Value, user: Op | None) -> ast.expr:
        """The text of a value as an operand of `user`."""
        if v not in self.folding.folded:
            return syntax.variable(self.name(v))
        op = v.op
        assert op is not None
        if op.kind == "const":
            return self.printer.constant(op, user)
        if op.kind == "undef":
            return self.printer.undefined(v.type)
        self._note(op)
        if op.kind == "if":
            then, other = (self.expression(region.results[0], op) for region in op.regions)
            return self.printer.conditional(op, self.expression(op.inputs[0], op), then, other)
        return self.printer.expression(op, self._args(op))

    def _args(self, op: Op) -> list[ast.expr]:
        return [self.expression(x, op) for x in op.inputs]

    # Statements

    def _append(self, out: list[ast.stmt], made: Iterable[ast.stmt]) -> None:
        if self.notes:
            out += self.notes
            self.notes = []
        out += made

    def _note(self, op: Op) -> None:
        """Have the operation's comments printed above the statement that it ends up in."""
        if "section" in op.attrs:  # it begins above the statement, whichever of its operations says so
            self.last_comment = self.last_comment if self.notes else ""
            self.notes.insert(0, syntax.comment(op.attrs["section"], gap=True))
        line = op.attrs.get("comment")
        if line and line != self.last_comment:
            self.last_comment = line
            self.notes.append(syntax.comment(line))

    def _ops(self, block: Block, out: list[ast.stmt]) -> None:
        known = len(out)
        for op in block.ops:
            if op.row.literal or (len(op.outputs) == 1 and op.out in self.folding.folded):
                continue
            self._note(op)
            if op.kind == "for":
                self._for(op, out)
            elif op.kind == "while":
                self._while(op, out)
            elif op.kind == "if":
                self._if(op, out)
            elif op.kind == "call":
                self._call(op, out)
            else:
                self._statement(op, out)
            for made in out[known:]:
                made.maker = op  # type: ignore[attr-defined] - the operation that a statement prints (`api.reports.explain`)
            known = len(out)
            if _jumps(out):
                return

    def _statement(self, op: Op, out: list[ast.stmt]) -> None:
        if self.printer.expressible(op):
            value = self.printer.expression(op, self._args(op))
            self._append(out, [self._assignment(op.out, value)])
            return
        made = self.printer.statements(op, self._args(op), [self.name(v) for v in op.outputs])
        self._append(out, ast.parse(made).body if isinstance(made, str) else made)

    def _assignment(self, v: Value, value: ast.expr) -> ast.stmt:
        """`x = value`, or `x += ...` where that is the same: for numbers only, since arrays would change in place."""
        name = self.name(v)
        if (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
            and isinstance(value.left, ast.Name)
            and value.left.id == name
            and isinstance(v.type, Scalar)
        ):
            return ast.AugAssign(target=syntax.target(name), op=value.op, value=value.right)
        return ast.Assign(targets=[syntax.target(name)], value=value, lineno=0)

    def _call(self, op: Op, out: list[ast.stmt]) -> None:
        call = self.printer.call(op, self.callees[id(op.attrs["function"])], self._args(op))
        targets = [syntax.target(self.name(v)) for v in op.outputs]
        if not targets:
            made: ast.stmt = ast.Expr(value=call)
        elif len(targets) == 1:
            made = ast.Assign(targets=list[ast.expr](targets), value=call, lineno=0)
        else:
            made = ast.Assign(targets=[ast.Tuple(elts=list[ast.expr](targets), ctx=syntax.STORE)], value=call, lineno=0)
        self._append(out, [made])

    # Copies

    def _copies(self, copies: list[Copy], out: list[ast.stmt]) -> None:
        """Assign the copies' targets from their values, all at once."""
        wanted = [(d, v) for d, v in copies if not self._is_settled(d, v)]
        if not wanted:
            return
        values = {d: self.expression(v, None) for d, v in wanted}
        if len(wanted) == 1:
            d, _ = wanted[0]
            self._append(out, [self._assignment(d, values[d])])
            return
        reads = {d: {self.names.names[leaf] for leaf in self.liveness.leaves(v)} for d, v in wanted}
        waiting = [d for d, _ in wanted]
        while waiting:
            ready = next((d for d in waiting if not any(self.name(d) in reads[e] for e in waiting if e is not d)), None)
            if ready is None:
                targets = ast.Tuple(elts=[syntax.target(self.name(d)) for d in waiting], ctx=syntax.STORE)
                sources = ast.Tuple(elts=[values[d] for d in waiting], ctx=syntax.LOAD)
                self._append(out, [ast.Assign(targets=[targets], value=sources, lineno=0)])
                return
            self._append(out, [self._assignment(ready, values[ready])])
            waiting.remove(ready)

    def _is_settled(self, d: Value, v: Value) -> bool:
        """Whether a copy prints nothing: same name, or no value."""
        if v in self.folding.folded:
            assert v.op is not None
            return v.op.kind == "undef" and d not in self.defaulted
        return self.name(v) == self.name(d)

    def _defaulted(self) -> set[Value]:
        """Variables that are copied or returned though they may have no value yet; Python needs something to copy."""
        sources: dict[Value, list[Value]] = {}
        unset: set[Value] = set()
        read: list[Value] = []
        for d, v in self.liveness.copies:
            if v not in self.folding.folded:
                sources.setdefault(d, []).append(self.liveness.variable(v))
                if self.name(v) != self.name(d):
                    read.append(self.liveness.variable(v))
            elif v.op is not None and v.op.kind == "undef":
                unset.add(d)
        if not unset:
            return set()
        read += [self.liveness.variable(v) for v in self.function.body.results if v not in self.folding.folded]
        for op in walk(self.function.body):
            if op.kind in _COPYING or self.printer.passes_on(op):
                read += [self.liveness.variable(v) for v in op.inputs if v not in self.folding.folded]
            elif op.kind in ("if", "cast"):  # whichever way that goes, the result is the same or nobody reads it
                read += map(self.liveness.variable, self.liveness.leaves(op.inputs[0]))
        found: set[Value] = set()
        while read:
            d = read.pop()
            if d not in found:
                found.add(d)
                read += sources.get(d, ())
        never = self._never_set(unset)
        return found & unset | (never & self._read() if never else never)

    def _never_set(self, unset: set[Value]) -> set[Value]:
        """Variables whose every path with a value has been left out: compiled code has no name without a value."""
        never, last = set(unset), None
        while len(never) != last:
            last = len(never)
            for d, v in self.liveness.copies:
                if v in self.folding.folded:
                    has_value = v.op is not None and v.op.kind != "undef"
                else:
                    has_value = self.liveness.variable(v) not in never and self.name(v) != self.name(d)
                if has_value:
                    never.discard(d)
        return never

    def _read(self) -> set[Value]:
        """Variables that operations read, beside what loops begin with."""
        read = [v for op in walk(self.function.body) if not op.row.loop for v in op.inputs]
        return {self.liveness.variable(leaf) for v in read for leaf in self.liveness.leaves(v)}

    def _finish(self, block: Block, out: list[ast.stmt]) -> None:
        """The end of a branch or iteration: copies, and the exit of the loop."""
        if _jumps(out):
            return
        end = self.liveness.ends[id(block)]
        leave = None if end.leave is None else self.expression(end.leave, None)
        if leave is not None and end.saved:
            name = self.names.free.fresh(identifier(end.leave.name if end.leave and end.leave.name else "leave"))
            self._append(out, [ast.Assign(targets=[syntax.target(name)], value=leave, lineno=0)])
            leave = syntax.variable(name)
        self._copies(end.copies, out)
        if leave is None:
            return
        if isinstance(leave, ast.Constant):
            if leave.value:
                self._append(out, [ast.Break()])
            return
        self._append(out, [ast.If(test=leave, body=[ast.Break()], orelse=[])])

    # Control flow

    def _body(self, block: Block) -> list[ast.stmt]:
        """The statements of a branch or an iteration."""
        body: list[ast.stmt] = []
        self.last_comment = ""
        self._ops(block, body)
        self._finish(block, body)
        self.last_comment = ""
        return [] if all(isinstance(s, syntax.Comment) for s in body) else body

    def _for(self, op: Op, out: list[ast.stmt]) -> None:
        self._copies(self.liveness.entries[id(op)], out)
        bounds = [self.expression(v, op) for v in op.inputs[:3]]
        iterable = self.printer.for_iterable(op, bounds[0], bounds[1], bounds[2])
        self._append(out, [])
        body = self._body(op.regions[0])
        index = syntax.target(self.name(op.regions[0].args[0]))
        loop = ast.For(target=index, iter=iterable, body=body or [ast.Pass()], orelse=[], lineno=0)
        out += self.printer.loop(op, loop, lambda v: None if v in self.folding.folded else self.name(v))

    def _while(self, op: Op, out: list[ast.stmt]) -> None:
        self._copies(self.liveness.entries[id(op)], out)
        self._append(out, [])
        cond = op.regions[0]
        before: list[ast.stmt] = []
        self._ops(cond, before)
        test = self.expression(cond.results[0], None)
        if before:
            done = self._negated(cond.results[0], test)
            if not isinstance(test, ast.Constant):
                self._append(before, [ast.If(test=done, body=[ast.Break()], orelse=[])])
            test = ast.Constant(value=True)
        self._append(out, [])
        body = before + self._body(op.regions[1])
        out.append(ast.While(test=test, body=body or [ast.Pass()], orelse=[]))

    def _if(self, op: Op, out: list[ast.stmt]) -> None:
        condition = op.inputs[0]
        test = self.expression(condition, op)
        notes, self.notes = self.notes, []
        then, other = (self._body(region) for region in op.regions)
        for s in then:
            s.given = op.attrs.get(CHECKS, ())  # type: ignore[attr-defined] - what the condition tests (`ir.checks`)
        if not then and not other:
            if condition in self.folding.folded and condition in self.folding.popping:
                out += [*notes, ast.Expr(value=test)]
            return
        out += notes
        if isinstance(test, ast.Constant):
            out += then if test.value else other
            return
        if not then or (other and _jumps(other) and not _jumps(then)):
            then, other = other, then
            test = self._negated(condition, test)
        out.append(ast.If(test=test, body=then, orelse=[] if _jumps(then) else other))
        if _jumps(then):
            out += other

    def _negated(self, v: Value, test: ast.expr) -> ast.expr:
        """`not test`; comparisons of integers turn round (those of floats must not: NaN)."""
        op = v.op
        if (
            op is not None
            and isinstance(test, ast.Compare)
            and op.kind in _FLIPPED
            and all(isinstance(x.type, Scalar) and x.type.dtype.kind in "iub" for x in op.inputs)
            and v in self.folding.folded
        ):
            return ast.Compare(left=test.left, ops=[_FLIPPED[op.kind]()], comparators=test.comparators)
        return syntax.not_(test)


def _jumps(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], _JUMPS)
