"""A recursive function as one loop: each turn runs a piece of it, and says which one is next.

    pieces = [END]; piece = 0
    while piece != END:
        if piece < 2:
            ...                                   # returns:  piece = pieces.pop()
        else:
            nodes.append(node); pieces.append(3)  # calls:    what is needed later goes onto stacks
            node = left[node]; piece = 0

No derivative knows of recursion then, and lists outside are those that the program has, not copies of them. Which
recursive functions are written so: `calls.recursion`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diffjit.frontend.stacked.graph import Graph, NotStacked, Piece
from diffjit.frontend.stacked.registers import Needs, kind_of_register, read_by
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import BOOL, INT, List, Scalar, Sym, Type, fresh_lengths, renamed
from diffjit.ir.walk import callees

END = -1
Left = dict[int, Value]  # what is in the registers that a turn sets; register 0 says which piece is next

MOST_CALLS = 2**20  # that have not come back: a recursion without end would fill the memory


def stacked(build: Builder, call: Op) -> list[Value]:
    """The results of a call that no block holds, of functions that may call each other; they are used up.

    Raises `NotStacked` where they have no such form, before anything is built.
    """
    function = call.attrs["function"]
    graph = Graph([f for f in callees(function) if function in callees(f)])
    needs = Needs(graph, call)
    if needs.outliving:
        graph.place(needs.outliving)
        needs = Needs(graph, call)
    if needs.outliving:
        raise NotStacked("a list that is another one from call to call outlives a call", lists=True)
    return _Loop(build, graph, needs, call).results()


class _Loop:
    """Builds the loop."""

    def __init__(self, build: Builder, graph: Graph, needs: Needs, call: Op) -> None:
        self.build = build
        self.graph = graph
        self.needs = needs
        self.call = call
        self.number, self.types, self.names = needs.registers()
        self.stacks: dict[Any, Value] = {}

    def results(self) -> list[Value]:
        """Build it, and return what the call gives."""
        build, routine = self.build, self.graph.routines[id(self.call.attrs["function"])]
        for piece in self.graph.pieces:
            for v in self.needs.saved(piece) if piece.call is not None else ():
                if (kind := kind_of_register(v.type)) not in self.stacks:
                    self.stacks[kind] = build.value("list_new", (), List(fresh_lengths(v.type)), name="stack")
        for ty, holder in self.graph.holders.items():
            self.needs.bound[holder] = build.value("list_new", (), List(ty), name=holder.name)
        self.places = build.value("list_new", (), List(INT), name="pieces")
        build.op("list_append", [self.places, build.const(END)])
        start = [build.const(routine.first.number), *map(self._nothing, self.types[1:])]
        for k, p in self.needs.arguments(routine.function):
            start[self.number[p]] = self.call.inputs[k]
        cond, body = (Block([Value(fresh_lengths(ty), name) for ty, name in zip(self.types, self.names, strict=True)])
                      for _ in range(2))  # fmt: skip
        for region in (cond, body):
            for a in region.args:
                a.block = region
        self.registers = body.args
        with build.inside(cond):
            cond.results = [build.value("not_equal", [cond.args[0], build.const(END)], BOOL)]
        with build.inside(body):
            left = self._choice(body.args[0], self.graph.heads)
            body.results = [left.get(k, v) for k, v in enumerate(self.registers)]
        types = [fresh_lengths(ty) for ty in self.types]
        op = build.op("while", start, types, regions=[cond, body], exit=False, reverse=False)
        return [op.outputs[self.number[r]] for r in routine.results]

    def _nothing(self, ty: Type) -> Value:
        return self.build.const(ty.dtype.type(0), ty) if isinstance(ty, Scalar) else self.build.value("undef", (), ty)

    def _choice(self, place: Value, pieces: list[Piece]) -> Left:
        """The pieces in branches; returns what is in those registers that any of them sets."""
        if len(pieces) == 1:
            return _Turn(self, pieces[0]).left
        half = len(pieces) // 2
        test = self.build.value("less", [place, self.build.const(pieces[half].number)], BOOL)
        return self.branches(
            test, [lambda part=part: self._choice(place, part) for part in (pieces[:half], pieces[half:])]
        )

    def branches(self, test: Value, ways: list[Callable[[], Left]]) -> Left:
        """One of two ways; returns what is in those registers that any of them sets."""
        taken: list[tuple[Block, Left]] = []
        for way in ways:
            with self.build.inside(Block()) as block:
                taken.append((block, way()))
        changed = sorted({k for _, left in taken for k in left})
        for block, left in taken:
            block.results = [left.get(k, self.registers[k]) for k in changed]
        types = [fresh_lengths(self.registers[k].type) for k in changed]
        op = self.build.op("if", [test], types, regions=[block for block, _ in taken])
        for k, v in zip(changed, op.outputs, strict=True):
            v.name = self.registers[k].name
        return dict(zip(changed, op.outputs, strict=True))


class _Turn:
    """A piece in the loop, and those that follow it in the same turn: `known` says which value a variable has there."""

    def __init__(self, loop: _Loop, piece: Piece) -> None:
        self.loop = loop
        self.build = loop.build
        self.known: dict[Value, Value] = {}
        self.lengths: dict[int, int] = {}  # of arrays that come from registers and stacks
        self._begin(piece)
        self.left = self._run(piece)

    def value(self, v: Value) -> Value:
        """The value of a variable here; lists and numbers of the text are taken anew."""
        v = self.loop.needs.source(v)
        if v not in self.known and v in self.loop.needs.anew:
            op = self.loop.needs.anew[v]
            inputs = [self.value(x) for x in op.inputs]
            self.known[v] = self.build.value(op.kind, inputs, v.type, name=v.name, **op.attrs)
        return self.known.get(v, v)

    def _begin(self, piece: Piece) -> None:
        """Take what is needed from registers, and, behind a call, from the stacks."""
        needs, loop = self.loop.needs, self.loop
        if piece.after is None:
            self.known |= {v: loop.registers[loop.number[v]] for v in needs.begin[piece]}
        else:
            self.build.loc = piece.after.loc
            for v in sorted(needs.begin[piece], key=lambda v: -v.id):
                stack, ty = loop.stacks[kind_of_register(v.type)], fresh_lengths(v.type)
                self.known[v] = self.build.value("list_pop", [stack, self.build.const(-1)], ty, name=v.name)
            routine = loop.graph.routines[id(piece.after.attrs["function"])]
            pairs = zip(piece.after.outputs, routine.results, strict=True)
            self.known |= {v: loop.registers[loop.number[r]] for v, r in pairs if r in needs.wanted}
        for v, given in self.known.items():
            for d, new in zip(getattr(v.type, "dims", ()), getattr(given.type, "dims", ()), strict=True):
                if isinstance(d, Sym) and isinstance(new, Sym):
                    self.lengths[d.uid] = new.uid

    def _run(self, piece: Piece) -> Left:
        """The operations of a piece, and what follows it."""
        for op in piece.ops:
            self.build.loc = op.loc
            for v in read_by(op):
                self.value(v)
            self._adopt(op, self.build.block)
            self.build.block.ops.append(op)
            self.known |= {v: v for v in op.outputs}
        return self._end(piece)

    def _adopt(self, op: Op, block: Block) -> None:
        """An operation reads the values here."""
        op.inputs = [self._here(v) for v in op.inputs]
        for v in op.outputs:
            v.type, v.block = renamed(v.type, self.lengths), block
        for region in op.regions:
            for a in region.args:
                a.type = renamed(a.type, self.lengths)
            for inner in region.ops:
                self._adopt(inner, region)
            region.results = [self._here(v) for v in region.results]

    def _here(self, v: Value) -> Value:
        v = self.loop.needs.source(v)
        return self.known.get(v, v)

    def _end(self, piece: Piece) -> Left:
        """What is in the registers that the turn sets, and which piece is next."""
        loop, build = self.loop, self.build
        if piece.call is not None:
            return self._called(piece, piece.call)
        if piece.returns is not None:
            results = zip(piece.returns.results, piece.returns.function.results, strict=True)
            left = {loop.number[r]: self.value(v) for r, v in results if r in loop.needs.wanted}
            return self._left(left, build.value("list_pop", [loop.places, build.const(-1)], INT, name="piece"))
        after = loop.needs.end(piece)
        moved = {loop.graph.variable(target): source for target, source in piece.moves}
        moved = {target: self.value(source) for target, source in moved.items() if target in after}
        test = None if piece.test is None else self.value(piece.test)
        if test is None or not any(way.alone for way in piece.then):
            if test is None and piece.then[0].alone:
                self.known |= moved
                return self._run(piece.then[0])
            left = {
                loop.number[v]: moved[v] if v in moved else self.value(v) for v in _in_order(loop.needs.handed(piece))
            }
            ways = [build.const(way.number) for way in piece.then]
            return self._left(
                left, ways[0] if test is None else build.value("select", [test, *ways], INT, name="piece")
            )
        known = self.known | moved
        return loop.branches(test, [lambda way=way: self._way(way, known) for way in piece.then])

    def _way(self, way: Piece, known: dict[Value, Value]) -> Left:
        """What follows in a branch."""
        self.known = dict(known)
        if way.alone:
            return self._run(way)
        left = {self.loop.number[v]: self.value(v) for v in _in_order(self.loop.needs.begin[way])}
        return self._left(left, self.build.const(way.number))

    def _left(self, left: Left, following: Value) -> Left:
        return {k: v for k, v in left.items() if v is not self.loop.registers[k]} | {0: following}

    def _called(self, piece: Piece, call: Op) -> Left:
        """A call: what is needed when it comes back goes onto the stacks."""
        loop, build = self.loop, self.build
        build.loc = call.loc
        function = call.attrs["function"]
        left = {loop.number[p]: self.value(call.inputs[k]) for k, p in loop.needs.arguments(function)}
        depth = build.value("list_len", [loop.places], INT)
        test = build.value("greater", [depth, build.const(MOST_CALLS)], BOOL)
        build.raise_where(test, RecursionError, "maximum recursion depth exceeded")
        for v in loop.needs.saved(piece):
            build.op("list_append", [loop.stacks[kind_of_register(v.type)], self.value(v)])
        build.op("list_append", [loop.places, build.const(piece.then[0].number)])
        return self._left(left, build.const(loop.graph.routines[id(function)].first.number))


def _in_order(values: set[Value] | frozenset[Value]) -> list[Value]:
    return sorted(values, key=lambda v: v.id)
