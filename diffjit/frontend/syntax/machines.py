"""Generators that go on where they were left: what runs from one `yield` to the next, as a function.

    def steps(x, h):                     def steps(own_, sent_):
        while True:                          at_, own_.place = own_.place, DONE
            x = x + h * np.sin(x)            if at_ == DONE: raise Ended
            yield x                          if at_ == 0: at_ = 1
                                             own_.x = own_.x + own_.h * np.sin(own_.x)
                                             own_.place = 1
                                             return own_.x

The generator's variables are attributes of an object that knows its place. Statements are cut into blocks where a
`yield` leaves and where loops and branches around one meet. Blocks stand in an order in which most lead to later ones:
only a loop that may turn without a `yield` becomes a loop over blocks. The attributes begin with a dot: methods have
other names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gast

from diffjit.frontend.entry.subset import assigned_names, jumps_in, local_names, nodes_in, own_nodes, parameters
from diffjit.primitives.library.resumed import iterators

OWN, SENT, AT = "own_", "sent_", "at_"  # parameters and a variable, or names like these that nothing else has
DONE = iterators.DONE
_JUMPS = (gast.Break, gast.Continue)
_YIELDS = (gast.Yield, gast.YieldFrom)
_LOOPS = (gast.For, gast.While)


class NoMachine(Exception):
    """A statement of a generator that cannot be cut where it yields."""

    def __init__(self, what: str, node: gast.AST) -> None:
        super().__init__(what)
        self.what, self.node = what, node


def attribute(name: str) -> str:
    """The attribute that a generator's variable is kept in."""
    return "." + name


def variable(name: str) -> str:
    """The variable that an attribute is of."""
    return name.removeprefix(".")


@functools.cache
def machine(node: gast.AST) -> gast.AST:
    """The function that a generator function goes on by; raises NoMachine."""
    return _Machine(node).function()


def is_machine(node: gast.AST) -> bool:
    """Whether a function is one that a generator goes on by."""
    return hasattr(node, "variables")


def object_of(node: gast.AST) -> str:
    """The name of the parameter that stands for a generator's object."""
    return node.own


def variables(node: gast.AST) -> tuple[str, ...]:
    """The attributes of a generator's object that its function knows of."""
    return node.variables


@functools.cache
def as_function(node: gast.AST, more: tuple[str, ...]) -> gast.AST:
    """A generator expression as a generator function of what its first `for` goes through, and of further values."""
    body: Any = gast.Expr(value=gast.Yield(value=node.elt))
    for depth, each in reversed(list(enumerate(node.generators))):
        for test in reversed(each.ifs):
            body = gast.If(test=test, body=[body], orelse=[])
        over = _name(FIRST) if depth == 0 else each.iter
        body = gast.For(target=each.target, iter=over, body=[body], orelse=[], type_comment=None)
    return _placed(_function("genexpr", [FIRST, *more], [_placed(body, node)]), node)


FIRST = ".0"


def _unused(name: str, node: Any) -> str:
    """A name that a tree does not have: a generator within a generator has the name of the outer one's object."""
    taken = {part.id for part in gast.walk(node) if isinstance(part, gast.Name)}
    while name in taken:
        name += "_"
    return name


def _name(name: str, ctx: Any = gast.Load) -> Any:
    return gast.Name(id=name, ctx=ctx(), annotation=None, type_comment=None)


def _constant(value: Any) -> Any:
    return gast.Constant(value=value, kind=None)


def _assign(target: Any, value: Any) -> Any:
    return gast.Assign(targets=[target], value=value, type_comment=None)


def _call(function: Any, *args: Any) -> Any:
    return gast.Call(func=function, args=list(args), keywords=[])


def _function(name: str, parameters: list[str], body: list[Any]) -> Any:
    spec = gast.arguments(
        args=[_name(p, gast.Param) for p in parameters], posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[],
        kwarg=None, defaults=[],
    )  # fmt: skip
    return gast.FunctionDef(
        name=name, args=spec, body=body, decorator_list=[], returns=None, type_comment=None, type_params=[]
    )


def _placed(made: Any, at: Any) -> Any:
    """A tree of which all that has no place in the source has that of another one."""
    for part in gast.walk(made):
        if getattr(part, "lineno", None) is None:
            gast.copy_location(part, at)
    return made


class _Machine:
    def __init__(self, node: gast.AST) -> None:
        self.node = node
        self.sent, self.at = _unused(SENT, node), _unused(AT, node)
        self.renamed = _Renamed(local_names(node)[0], _unused(OWN, node))
        self.blocks: list[list[Any]] = [[]]
        self.after: list[list[int]] = [[]]  # where blocks lead to without leaving
        self.labels: list[tuple[Any, int]] = []  # numbers of blocks in the tree
        self.entries = [0]  # blocks at which the generator begins or goes on
        self.loops: list[tuple[int, int]] = []  # of loops that were cut: where their `continue` and `break` lead
        self.here: Any = node
        self.fresh: list[str] = []  # attributes for what has no name in the program

    # Blocks

    def block(self) -> int:
        self.blocks.append([])
        self.after.append([])
        return len(self.blocks) - 1

    def label(self, block: int) -> Any:
        """A block's number, once it is known."""
        made = _constant(block)
        self.labels.append((made, block))
        return made

    def add(self, at: int, statement: Any) -> None:
        self.blocks[at].append(_placed(statement, self.here))

    def jump(self, at: int, to: int) -> None:
        self.add(at, _assign(_name(self.at, gast.Store), self.label(to)))
        self.after[at].append(to)

    def fork(self, at: int, test: Any, then: int, other: int) -> None:
        goto = [_assign(_name(self.at, gast.Store), self.label(to)) for to in (then, other)]
        self.add(at, gast.If(test=test, body=[goto[0]], orelse=[goto[1]]))
        self.after[at] += [then, other]

    def leave(self, at: int, value: Any) -> int:
        """Hand a value out; the block that goes on."""
        behind = self.block()
        self.entries.append(behind)
        self.add(at, _assign(self.renamed.own(iterators.PLACE, gast.Store), self.label(behind)))
        self.add(at, gast.Return(value=value))
        return behind

    # Statements: each gives the block in which the program goes on, None where it does not

    def all_of(self, statements: list[Any], at: int | None) -> int | None:
        for statement in statements:
            if at is None:
                break
            outer, self.here = self.here, statement
            at = self.one(statement, at)
            self.here = outer
        return at

    def one(self, statement: Any, at: int) -> int | None:
        if isinstance(statement, gast.Return):
            return self._return(statement, at)
        if isinstance(statement, _JUMPS):
            self.jump(at, self.loops[-1][0 if isinstance(statement, gast.Continue) else 1])
            return None
        yielded = self._yielded(statement)
        if yielded is not None:
            return self._yield(statement, yielded, at)
        if not self._is_cut(statement):
            for made in self.renamed.statement(statement):
                self.add(at, made)
            return at
        if isinstance(statement, gast.If):
            return self._if(statement, at)
        if isinstance(statement, gast.While):
            return self._while(statement, at)
        if isinstance(statement, gast.For):
            return self._for(statement, at)
        raise NoMachine(_WORDS.get(type(statement), "this expression"), statement)

    def _is_cut(self, statement: Any) -> bool:
        """Whether blocks begin or end within a statement."""
        inside = list(nodes_in([statement]))
        if any(isinstance(n, _YIELDS) for n in inside):
            return True
        if any(isinstance(n, gast.Return) for n in inside) and any(isinstance(n, gast.Try) for n in inside):
            return True  # a handler would catch what ends the generator
        return bool(self.loops) and any(True for _ in jumps_in([statement]))

    def _yielded(self, statement: Any) -> Any:
        """The `yield` that is all of the right-hand side."""
        value = getattr(statement, "value", None)
        whole = isinstance(statement, (gast.Expr, gast.Assign, gast.AnnAssign))
        return value if whole and isinstance(value, _YIELDS) else None

    def _yield(self, statement: Any, yielded: Any, at: int) -> int:
        if isinstance(yielded, gast.YieldFrom):
            at, value = self._yield_from(yielded, at)
        else:
            item = _constant(None) if yielded.value is None else self.renamed.visit(yielded.value)
            at, value = self.leave(at, item), _name(self.sent)
        if not isinstance(statement, gast.Expr):
            targets = statement.targets if isinstance(statement, gast.Assign) else [statement.target]
            made = gast.Assign(targets=[self.renamed.visit(t) for t in targets], value=value, type_comment=None)
            self.add(at, made)
        return at

    def _yield_from(self, yielded: Any, at: int) -> tuple[int, Any]:
        source, given = self._begun(yielded.value, at), self._fresh("given")
        self.add(at, _assign(self.renamed.own(given, gast.Store), _constant(None)))
        head, item, end = self.block(), self.block(), self.block()
        self.jump(at, head)
        self.fork(head, self._asked(source, "more", self.renamed.own(given)), item, end)
        behind = self.leave(item, self._asked(source, "take"))
        self.add(behind, _assign(self.renamed.own(given, gast.Store), _name(self.sent)))
        self.jump(behind, head)
        return end, self._asked(source, "outcome")

    def _begun(self, iterable: Any, at: int) -> str:
        """Where what a loop goes through is kept."""
        source = self._fresh("source")
        begun = _call(_constant(iterators.begun), self.renamed.visit(iterable))
        self.add(at, _assign(self.renamed.own(source, gast.Store), begun))
        return source

    def _asked(self, source: str, method: str, *args: Any) -> Any:
        """A method of what a loop goes through."""
        return _call(gast.Attribute(value=self.renamed.own(source), attr=method, ctx=gast.Load()), *args)

    def _return(self, statement: Any, at: int) -> None:
        value = statement.value
        if isinstance(value, _YIELDS):
            raise NoMachine("a `return` of a `yield`", statement)
        for made in self.renamed.ended(None if value is None else self.renamed.visit(value)):
            self.add(at, made)

    def _if(self, statement: Any, at: int) -> int | None:
        then, other = self.block(), self.block()
        self.fork(at, self.renamed.visit(statement.test), then, other)
        ends = [self.all_of(statement.body, then), self.all_of(statement.orelse, other)]
        left = [end for end in ends if end is not None]
        if not left:
            return None
        join = self.block()
        for end in left:
            self.jump(end, join)
        return join

    def _while(self, statement: Any, at: int) -> int:
        head, body, other, end = (self.block() for _ in range(4))
        self.jump(at, head)
        test = statement.test
        if isinstance(test, gast.Constant) and test.value:
            self.jump(head, body)
        else:
            self.fork(head, self.renamed.visit(test), body, other)
        return self._loop(statement, (head, body, other, end))

    def _for(self, statement: Any, at: int) -> int:
        source = self._begun(statement.iter, at)
        head, body, other, end = (self.block() for _ in range(4))
        self.jump(at, head)
        self.fork(head, self._asked(source, "more"), body, other)
        self.add(body, _assign(self.renamed.visit(statement.target), self._asked(source, "take")))
        return self._loop(statement, (head, body, other, end))

    def _loop(self, statement: Any, labels: tuple[int, int, int, int]) -> int:
        head, body, other, end = labels
        self.loops.append((head, end))
        last = self.all_of(statement.body, body)
        self.loops.pop()
        if last is not None:
            self.jump(last, head)
        last = self.all_of(statement.orelse, other)
        if last is not None:
            self.jump(last, end)
        return end

    def _fresh(self, what: str) -> str:
        self.fresh.append(f".{what}.{len(self.fresh) + 1}")
        return self.fresh[-1]

    # The function

    def function(self) -> Any:
        last = self.all_of(self.node.body, 0)
        if last is not None:
            for made in self.renamed.ended(None):
                self.add(last, made)
        self._join()
        self._localise()
        groups = self._grouped()
        place = {block: k for k, block in enumerate(block for group in groups for block in group)}
        for constant, block in self.labels:
            constant.value = place.get(block, DONE)
        body: list[Any] = []
        for group in groups:
            behind = group is groups[-1]  # whoever comes here is on the way to it
            turns = len(group) > 1 or group[0] in self.after[group[0]]
            parts = [self._if_at(place[at], self.blocks[at]) for at in group]
            if not turns:
                body += self.blocks[group[0]] if behind else parts
            else:
                leaves = any(to not in group for at in group for to in self.after[at])
                test = self._compared(gast.LtE(), place[group[-1]]) if leaves or not behind else _constant(value=True)
                body.append(gast.While(test=test, body=parts, orelse=[]))
        over = self._if_at(DONE, self.renamed.ended(None))
        head = [
            _assign(_name(self.at, gast.Store), _call(_constant(iterators.place_of), _name(self.renamed.name))),
            over,
            _assign(self.renamed.own(iterators.PLACE, gast.Store), _constant(DONE)),  # unless a `yield` is reached
        ]
        made = _function(self.node.name, [self.renamed.name, self.sent], [*head, *body])
        made.returns = any(isinstance(n, gast.Return) and n.value is not None for n in own_nodes(self.node))
        made.own = self.renamed.name
        made.variables = (*sorted(self.kept), *self.fresh)
        return _placed(made, self.node)

    def _compared(self, sign: Any, number: int) -> Any:
        return gast.Compare(left=_name(self.at), ops=[sign], comparators=[_constant(number)])

    def _if_at(self, number: int, body: list[Any]) -> Any:
        return gast.If(test=self._compared(gast.Eq(), number), body=body, orelse=[])

    def _join(self) -> None:
        """Append a block to the only one that leads to it, where that leads nowhere else."""
        before: dict[int, list[int]] = {}
        for at, targets in enumerate(self.after):
            for to in targets:
                before.setdefault(to, []).append(at)
        for at in range(len(self.blocks)):
            while len(self.after[at]) == 1:
                (to,) = self.after[at]
                if to in self.entries or before[to] != [at] or to == at:
                    break
                self.blocks[at] = [*self.blocks[at][:-1], *self.blocks[to]]
                self.after[at], self.after[to], self.blocks[to] = self.after[to], [], []
                for further in self.after[at]:
                    before[further] = [at if b == to else b for b in before[further]]

    def _localise(self) -> None:
        """Variables that no `yield` finds in use are the function's own."""
        self.kept = {attribute(name) for name in (*parameters(self.node), *self.renamed.captured)}
        bound = [set[str]() for _ in self.blocks]
        alive = [self._asked_of(block, bound[at]) for at, block in enumerate(self.blocks)]
        changed = True
        while changed:
            changed = False
            for at, targets in enumerate(self.after):
                more = alive[at].union(*(alive[to] - bound[at] for to in targets))
                if more != alive[at]:
                    alive[at], changed = more, True
        self.kept = self.kept.union(*(alive[entry] for entry in self.entries))
        own = {attribute(name): name for name in self.renamed.names if attribute(name) not in self.kept}
        self.blocks = [[self._with_own(statement, own) for statement in block] for block in self.blocks]

    def _asked_of(self, block: list[Any], bound: set[str]) -> set[str]:
        """The variables that statements read before they bind them; what they bind for certain is added to `bound`."""
        asked: set[str] = set()
        for statement in block:
            if isinstance(statement, (gast.Assign, gast.AnnAssign)):
                asked |= self._attributes(statement, gast.Load) - bound
                bound |= self._attributes(statement, gast.Store)
            elif isinstance(statement, gast.If):
                asked |= self._attributes(statement.test) - bound
                paths = [bound.copy(), bound.copy()]
                asked |= self._asked_of(statement.body, paths[0]) | self._asked_of(statement.orelse, paths[1])
                bound |= paths[0] & paths[1]
            elif isinstance(statement, _LOOPS):
                inside = bound.copy()
                if isinstance(statement, gast.For):
                    asked |= (self._attributes(statement.iter) | self._attributes(statement.target, gast.Load)) - bound
                    inside |= self._attributes(statement.target, gast.Store)
                else:
                    asked |= self._attributes(statement.test) - bound
                asked |= self._asked_of(statement.body, inside) | self._asked_of(statement.orelse, bound.copy())
            else:
                asked |= self._attributes(statement) - bound
        return asked

    def _attributes(self, node: Any, ctx: type = gast.AST) -> set[str]:
        """The attributes of the object in a tree."""
        return {p.attr for p in gast.walk(node) if self.renamed.is_own(p) and isinstance(p.ctx, ctx)}

    def _with_own(self, node: Any, own: dict[str, str]) -> Any:
        """A tree with variables in place of attributes."""
        if isinstance(node, list):
            return [self._with_own(part, own) for part in node]
        if self.renamed.is_own(node) and node.attr in own:
            made = _name(own[node.attr])
            made.ctx = node.ctx
            return gast.copy_location(made, node)
        if isinstance(node, gast.AST):
            for name in node._fields:
                value = getattr(node, name, None)
                if isinstance(value, (list, gast.AST)):
                    setattr(node, name, self._with_own(value, own))
        return node

    def _grouped(self) -> list[list[int]]:
        """The blocks that are reached: each behind those that lead to it, and those that lead to one another together.

        R. Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1 (1972).
        """
        number: dict[int, int] = {}
        low: dict[int, int] = {}
        open_: list[int] = []
        found: list[list[int]] = []
        left: list[int] = []  # in the order in which nothing more is to be found behind them

        def visit(at: int) -> None:
            number[at] = low[at] = len(number)
            open_.append(at)
            for to in reversed(self.after[at]):
                if to not in number:
                    visit(to)
                    low[at] = min(low[at], low[to])
                elif to in open_:
                    low[at] = min(low[at], number[to])
            left.append(at)
            if low[at] == number[at]:
                k = open_.index(at)
                group = set(open_[k:])
                del open_[k:]
                found.append([block for block in reversed(left) if block in group])

        for entry in reversed(self.entries):
            if entry not in number:
                visit(entry)
        return found[::-1]


_WORDS: dict[type, str] = {
    gast.Try: "`try`", gast.With: "`with`", gast.Match: "`match`", gast.AugAssign: "an augmented assignment",
}  # fmt: skip


class _Renamed:
    """Copies of trees in which a generator's variables are attributes of its object."""

    def __init__(self, names: frozenset[str], name: str) -> None:
        self.names = names
        self.name = name  # of the parameter that stands for the object
        self.hidden: list[frozenset[str]] = []  # names that stand for something else inside
        self.depth = 0  # of functions around
        self.captured: set[str] = set()  # variables that functions and generators within read when they are called

    def is_own(self, node: Any) -> bool:
        """Whether a tree is an attribute of the object."""
        return isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name) and node.value.id == self.name

    def own(self, name: str, ctx: Any = gast.Load) -> Any:
        """An attribute of the object."""
        return gast.Attribute(value=_name(self.name), attr=name, ctx=ctx())

    def ended(self, value: Any) -> list[Any]:
        """What ends a generator."""
        end = gast.Raise(exc=_constant(iterators.Ended), cause=None)
        return [end] if value is None else [_assign(self.own(iterators.RESULT, gast.Store), value), end]

    def statement(self, node: Any) -> list[Any]:
        """A statement, and what enters the names that only Python's own statements bind."""
        if isinstance(node, (gast.Global, gast.Nonlocal)):
            return [node]
        bound: list[str] = []
        for part in nodes_in([node]):
            if isinstance(part, (gast.ClassDef, gast.MatchAs, gast.MatchStar, gast.MatchMapping)):
                raise NoMachine("a class or a pattern", part)
            if isinstance(part, gast.FunctionDef):
                bound.append(part.name)
            elif isinstance(part, (gast.Import, gast.ImportFrom)):
                bound += [(a.asname or a.name).split(".")[0] for a in part.names]
        if bound and not isinstance(node, (gast.FunctionDef, gast.Import, gast.ImportFrom)):
            raise NoMachine("a function or an import in a branch or loop", node)
        kept = [
            gast.copy_location(_assign(self.own(attribute(name), gast.Store), _name(name)), node)
            for name in bound
            if name in self.names
        ]
        return [self.visit(node), *kept]

    def visit(self, node: Any) -> Any:
        """A copy."""
        if isinstance(node, list):
            return [made for part in node for made in self._in_list(part)]
        if not isinstance(node, gast.AST):
            return node
        special: Callable[[Any], Any] | None = getattr(self, f"_{type(node).__name__}", None)
        return self._plain(node) if special is None else special(node)

    def _in_list(self, part: Any) -> list[Any]:
        if isinstance(part, gast.Return) and not self.depth:
            return [gast.copy_location(s, part) for s in self.ended(self.visit(part.value))]
        if isinstance(part, gast.Delete) and not self.depth:
            return [gast.copy_location(gast.Pass(), part)]  # what it was is not asked for again
        return [self.visit(part)]

    def _plain(self, node: Any) -> Any:
        fields = {name: self.visit(getattr(node, name, None)) for name in node._fields}
        return gast.copy_location(type(node)(**fields), node)

    def _is_ours(self, name: str) -> bool:
        return name in self.names and not any(name in hidden for hidden in self.hidden)

    def _Name(self, node: Any) -> Any:
        if not self._is_ours(node.id):
            return self._plain(node)
        if self.depth:
            self.captured.add(node.id)
        made = gast.Attribute(value=gast.copy_location(_name(self.name), node), attr=attribute(node.id), ctx=node.ctx)
        return gast.copy_location(made, node)

    def _NamedExpr(self, node: Any) -> Any:
        if not self._is_ours(node.target.id):
            return self._plain(node)
        self.captured.add(node.target.id)
        target = _constant(attribute(node.target.id))
        return _placed(_call(_constant(iterators.kept), _name(self.name), target, self.visit(node.value)), node)

    def _within(self, node: Any, names: frozenset[str]) -> Any:
        self.hidden.append(names)
        made = self._plain(node)
        self.hidden.pop()
        return made

    def _Lambda(self, node: Any) -> Any:
        self.depth += 1
        made = self._within(node, local_names(node)[0])
        self.depth -= 1
        made.args.defaults = self.visit(node.args.defaults)
        made.args.kw_defaults = self.visit(node.args.kw_defaults)
        return made

    def _FunctionDef(self, node: Any) -> Any:
        made = self._Lambda(node)
        made.decorator_list = self.visit(node.decorator_list)
        return made

    def _ExceptHandler(self, node: Any) -> Any:
        name = node.name if node.name is None or isinstance(node.name, str) else node.name.id
        return self._within(node, frozenset({name} if name else ()))

    def _comprehension_of(self, node: Any) -> Any:
        targets = frozenset(assigned_names([each.target for each in node.generators]))
        made = self._within(node, targets)
        made.generators[0].iter = self.visit(node.generators[0].iter)
        return made

    _ListComp = _SetComp = _DictComp = _comprehension_of

    def _GeneratorExp(self, node: Any) -> Any:
        self.depth += 1  # it runs later
        made = self._comprehension_of(node)
        self.depth -= 1
        return made
