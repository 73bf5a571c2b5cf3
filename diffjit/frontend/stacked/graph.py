"""The flow of recursive functions between their calls: straight pieces, and where each goes on.

    def total(node):                              0  if node is None: go to 1, else to 2
        if node is None:                          1  result = 0; return
            return 0.0                            2  call total(left[node]), then 3
        return total(left[node])             ->   3  t = result; call total(right[node]), then 4
            + total(right[node])                  4  result = t + result; return

Branches and loops without calls stay what they are; those with calls are cut into pieces.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.types import BOOL, INT, List, Type
from diffjit.ir.walk import has_exit, initial, walk


class NotStacked(Exception):
    """A recursion that has no such form; the text says why. `lists`: it would have, if lists were known by numbers."""

    def __init__(self, reason: str, *, lists: bool = False) -> None:
        super().__init__(reason)
        self.lists = lists


@dataclass(slots=True, eq=False)
class Piece:
    """Operations that run from first to last, and what follows them."""

    number: int
    ops: list[Op] = field(default_factory=list[Op])
    moves: list[tuple[Value, Value]] = field(default_factory=lambda: list[tuple[Value, Value]]())  # noqa: PLW0108
    test: Value | None = None  # which of two pieces follows; the first if it is true
    then: list[Piece] = field(default_factory=lambda: list[Piece]())  # noqa: PLW0108 - the class is defined here
    call: Op | None = None  # of a recursive function, after which the piece in `then` goes on
    returns: Routine | None = None  # the function, which ends here
    after: Op | None = None  # the call that gave its results just before this piece
    alone: bool = False  # it is run in the same turn of the loop as the one piece before it, or wherever it is needed


@dataclass(slots=True, eq=False)
class Routine:
    """A recursive function: its first piece, and the variables that its results come in."""

    function: Function
    first: Piece
    results: list[Value]


class Graph:
    """The pieces of some recursive functions that may call each other."""

    def __init__(self, functions: list[Function]) -> None:
        self.pieces: list[Piece] = []
        self.other: dict[Value, Value] = {}  # a value -> the variable of which it is another name
        self.routines: dict[int, Routine] = {}
        self.calls: list[Op] = []
        self.holders: dict[Type, Value] = {}  # lists of lists that have to be made outside
        self.placed: dict[Value, tuple[Value, Value]] = {}  # a list -> the list of lists that holds it, and its place
        known = {id(f) for f in functions}
        self.critical = {id(op) for f in functions for op in walk(f.body) if _calls(op, known)}
        for function in functions:
            results = [Value(v.type, v.name) for v in function.results]
            self.routines[id(function)] = Routine(function, self._piece(), results)
        for routine in self.routines.values():
            last = self._block(routine.function.body, routine.first)
            last.returns = routine
        self._straighten()
        self._single_lists()

    def variable(self, v: Value) -> Value:
        """The variable that a value stands for."""
        while v in self.other:
            v = self.other[v]
        return v

    def _straighten(self) -> None:
        """Leave out pieces that do nothing but go on to another one."""

        def final(piece: Piece) -> Piece:
            while len(piece.then) == 1 and not piece.ops and not piece.moves and (piece.call or piece.after) is None:
                piece = piece.then[0]
            return piece

        for routine in self.routines.values():
            routine.first = final(routine.first)
        for piece in self.pieces:
            piece.then = [final(following) for following in piece.then]
        todo, reached = [r.first for r in self.routines.values()], set[Piece]()
        while todo:
            piece = todo.pop()
            if piece not in reached:
                reached.add(piece)
                todo += piece.then
        self.pieces = [piece for piece in self.pieces if piece in reached]
        firsts = {r.first for r in self.routines.values()}
        before = Counter(following for piece in self.pieces if piece.call is None for following in piece.then)
        for piece in self.pieces:
            short = not piece.ops and piece.call is None and piece.test is None  # as short as saying that it is next
            piece.alone = piece.after is None and piece not in firsts and (before[piece] == 1 or short)
        for number, piece in enumerate(self.heads):
            piece.number = number

    @property
    def heads(self) -> list[Piece]:
        """The pieces that turns of the loop begin with."""
        return [piece for piece in self.pieces if not piece.alone]

    def _single_lists(self) -> None:
        """A list that a loop hands on to its next turn, or that both branches give, is that list."""
        given: dict[Value, set[Value]] = {}
        for piece in self.pieces:
            for target, source in piece.moves:
                if isinstance(target.type, List):
                    given.setdefault(self.variable(target), set()).add(source)
        settled = False
        while not settled:
            settled = True
            for target, sources in given.items():
                others = {self.variable(v) for v in sources} - {target}
                if target not in self.other and len(others) == 1:
                    self.other[target] = others.pop()
                    settled = False

    def place(self, lists: set[Value]) -> None:
        """Lists that functions make and that outlive calls stand in lists of lists, where they are found again."""
        for piece in self.pieces:
            for op in [op for op in piece.ops if op.kind in ("list_new", "list_copy") and op.out in lists]:
                holder = self.holders.setdefault(op.out.type, Value(List(op.out.type), "lists"))
                length = Op("list_len", [holder], [Value(INT, op.out.name)], {}, [], op.loc)
                length.out.op = length
                at = piece.ops.index(op) + 1
                piece.ops[at:at] = [length, Op("list_append", [holder, op.out], [], {}, [], op.loc)]
                self.placed[op.out] = (holder, length.out)

    def _piece(self) -> Piece:
        made = Piece(len(self.pieces))
        self.pieces.append(made)
        return made

    def _block(self, block: Block, piece: Piece) -> Piece:
        """Cut a block, from the end of a piece on; returns the piece in which it ends."""
        for op in block.ops:
            if id(op) not in self.critical:
                piece.ops.append(op)
            elif op.kind == "call":
                following = self._piece()
                piece.call, piece.then, following.after = op, [following], op
                self.calls.append(op)
                piece = following
            elif op.kind == "if":
                piece = self._branches(op, piece)
            elif op.kind == "while":
                piece = self._while(op, piece)
            elif op.kind == "for" and "budget" not in op.attrs:
                piece = self._for(op, piece)
            else:
                raise NotStacked("a call of it stands in a loop that is checkpointed")
        return piece

    def _branches(self, op: Op, piece: Piece) -> Piece:
        ways = [self._piece() for _ in op.regions]
        piece.test, piece.then = op.inputs[0], list(ways)
        end = self._piece()
        for region, way in zip(op.regions, ways, strict=True):
            last = self._block(region, way)
            last.moves += zip(op.outputs, region.results, strict=True)
            last.then = [end]
        return end

    def _while(self, op: Op, piece: Piece) -> Piece:
        cond, body = op.regions
        self.other |= dict(zip(cond.args, body.args, strict=True)) | dict(zip(op.outputs, body.args, strict=True))
        piece.moves += zip(body.args, initial(op), strict=True)
        head, turn, end = self._piece(), self._piece(), self._piece()
        piece.then = [head]
        last = self._block(cond, head)
        last.test, last.then = cond.results[0], [turn, end]
        self._turn(op, self._block(body, turn), head, end)
        return end

    def _turn(self, op: Op, last: Piece, head: Piece, end: Piece) -> None:
        """The end of a turn of a loop."""
        body = op.regions[-1]
        carried = body.args[len(body.args) - len(op.outputs) :]
        if has_exit(op):
            last.test, last.then = body.results[0], [end, head]
        else:
            last.then = [head]
        last.moves += zip(carried, body.results[has_exit(op) :], strict=True)

    def _for(self, op: Op, piece: Piece) -> Piece:
        """A loop over a range counts its turns."""
        body = op.regions[0]
        index, carried = body.args[0], body.args[1:]
        self.other |= dict(zip(op.outputs, carried, strict=True))
        start, stop, step = op.inputs[:3]
        trips = _made(piece, "trip", [start, stop, step], INT, op)
        zero = _made(piece, "const", [], INT, op, value=0)
        turn_number = Value(INT, index.name)
        piece.moves += [*zip(carried, initial(op), strict=True), (turn_number, zero)]
        head, turn, end = self._piece(), self._piece(), self._piece()
        piece.then = [head]
        head.test, head.then = _made(head, "less", [turn_number, trips], BOOL, op), [turn, end]
        if const_of(start) == 0 and const_of(step) == 1:
            self.other[index] = turn_number
        else:
            way = _made(turn, "multiply", [turn_number, step], INT, op)
            turn.ops.append(Op("add", [start, way], [index], {}, [], op.loc))
            index.op = turn.ops[-1]
        last = self._block(body, turn)
        one = _made(last, "const", [], INT, op, value=1)
        last.moves.append((turn_number, _made(last, "add", [turn_number, one], INT, op)))
        self._turn(op, last, head, end)
        return end


def _calls(op: Op, known: set[int]) -> bool:
    """Whether an operation is a call of one of these functions, or has one in it."""
    if op.kind == "call":
        return id(op.attrs["function"]) in known
    return any(_calls(inner, known) for region in op.regions for inner in region.ops)


def _made(piece: Piece, kind: str, inputs: list[Value], ty: Any, like: Op, **attrs: Any) -> Value:
    """An operation at the end of a piece, at the place of another one."""
    op = Op(kind, inputs, [Value(ty)], attrs, [], like.loc)
    op.out.op = op
    piece.ops.append(op)
    return op.out
