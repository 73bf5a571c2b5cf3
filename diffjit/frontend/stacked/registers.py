"""What a piece of a recursive function needs from the pieces before it, and the registers in which that comes.

A variable lives in a register from turn to turn of the loop, and on the stack while a call runs. Variables that are
never needed at one time share a register. Numbers of the text, and lists that stand at a place of a list outside, are
taken anew where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from diffjit.frontend.stacked.graph import Graph, Piece
from diffjit.ir.nodes import Op, Value
from diffjit.ir.same_lists import moves_lists
from diffjit.ir.types import INT, Array, List, Scalar, Stack, Sym, Type, lengths_in
from diffjit.ir.walk import free_values, walk


class Needs:
    """What each piece needs, what is the same in all calls, and what is taken anew."""

    def __init__(self, graph: Graph, entry: Op) -> None:
        self.graph = graph
        self.made = self._made_inside()
        self.bound = self._same_everywhere(entry)
        self.rearranged = self._rearranged()
        again = {v: op for v, op in self.made.items() if op is not None and self._again(op)}  # before operands change
        placed = {v: Op("list_get", [*at]) for v, at in graph.placed.items()}
        self.anew = placed | {
            v: Op(op.kind, list(op.inputs), [], dict(op.attrs), [], op.loc) for v, op in again.items()
        }
        self.begin: dict[Piece, frozenset[Value]] = dict.fromkeys(graph.pieces, frozenset())
        self.wanted = set(graph.routines[id(entry.attrs["function"])].results)  # results that somebody reads
        self._settle()
        self.outliving = {v for needed in self.begin.values() for v in needed if isinstance(v.type, List | Stack)}

    def end(self, piece: Piece) -> set[Value]:
        """What is needed after a piece, by whatever follows in its own function."""
        return {v for following in piece.then for v in self.begin[following]}

    def handed(self, piece: Piece) -> set[Value]:
        """What is needed in another turn of the loop."""
        return {v for following in piece.then if not following.alone for v in self.begin[following]}

    def saved(self, piece: Piece) -> list[Value]:
        """What stands on the stack while the call at the end of a piece runs."""
        return sorted(self.begin[piece.then[0]], key=lambda v: v.id)

    def arguments(self, function: Any) -> list[tuple[int, Value]]:
        """The parameters of a function that its calls have to set."""
        needed = self.begin[self.graph.routines[id(function)].first]
        return [(k, p) for k, p in enumerate(function.params) if p in needed]

    def _made_inside(self) -> dict[Value, Op | None]:
        """The values that the functions make, and by which operation."""
        made: dict[Value, Op | None] = {}
        for routine in self.graph.routines.values():
            made |= dict.fromkeys([*routine.function.params, *routine.results])
        for piece in self.graph.pieces:
            made |= {v: op for op in piece.ops for v in op.outputs}
            made |= dict.fromkeys(target for target, _ in piece.moves)
            made |= dict.fromkeys(piece.after.outputs if piece.after is not None else ())
        return made | dict.fromkeys(self.graph.other)

    def _same_everywhere(self, entry: Op) -> dict[Value, Value]:
        """Parameters that are one value from outside in all calls."""
        found: dict[Value, Value | None] = {}
        settled = False
        while not settled:
            settled = True
            for call in (entry, *self.graph.calls):
                for p, given in zip(call.attrs["function"].params, call.inputs, strict=True):
                    v = given if given not in self.made else found.get(given, p) if self._is_parameter(given) else None
                    if v is p or (v is not None and v in self.made):  # handed on, and not known yet
                        continue
                    if found.get(p, v) is not v:
                        v = None
                    if p not in found or found[p] is not v:
                        found[p], settled = v, False
        return {p: v for p, v in found.items() if v is not None}

    def _is_parameter(self, v: Value) -> bool:
        return any(v in r.function.params for r in self.graph.routines.values())

    def source(self, v: Value) -> Value:
        """The variable, or the value from outside, that a value stands for."""
        v = self.graph.variable(v)
        return self.bound.get(v, v)

    # Taken anew

    def _rearranged(self) -> set[Value]:
        """The lists of lists that the functions change other than by appending to them."""
        ops = (o for piece in self.graph.pieces for op in piece.ops for o in (op, *_inside(op)))
        return {self.source(op.inputs[0]) for op in ops if moves_lists(op)}

    def _again(self, op: Op) -> bool:
        if op.kind in ("const", "undef"):
            return True
        return op.kind == "list_get" and isinstance(op.out.type, List) and self._stays(op.inputs[0])

    def _stays(self, items: Value) -> bool:
        """Whether what stands at a place of a list of lists is never another list."""
        items = self.source(items)
        op = self.made.get(items)
        if items in self.made and items not in self.graph.placed and (op is None or not self._again(op)):
            return False
        return items not in self.rearranged and not any(v in self.made for v in self.rearranged)

    # Needed

    def _read(self, piece: Piece) -> Iterator[Value]:
        """What a piece reads for what is needed of it, as far as is known."""
        for op in piece.ops:
            yield from read_by(op)
        after = self.end(piece)
        yield from (source for target, source in piece.moves if self.graph.variable(target) in after)
        yield from () if piece.test is None else (piece.test,)
        if piece.call is not None:
            yield from (piece.call.inputs[k] for k, _ in self.arguments(piece.call.attrs["function"]))
        if piece.returns is not None:
            results = zip(piece.returns.results, piece.returns.function.results, strict=True)
            yield from (v for r, v in results if r in self.wanted)

    def _needed(self, v: Value, own: set[Value]) -> Iterator[Value]:
        if v in own or v not in self.made:
            return
        if v not in self.anew:
            yield v
            return
        for x in self.anew[v].inputs:
            yield from self._needed(self.source(x), own)

    def _settle(self) -> None:
        """Find out what is needed at the beginning of each piece."""
        waiting = list(reversed(self.graph.pieces))
        while waiting:
            waiting = [piece for piece in waiting if self._grown(piece)] and list(reversed(self.graph.pieces))

    def _grown(self, piece: Piece) -> bool:
        """Whether more turns out to be needed at the beginning of a piece."""
        own = {v for op in piece.ops for v in op.outputs}
        moved = {self.graph.variable(target) for target, _ in piece.moves}
        needed = {x for v in self._read(piece) for x in self._needed(self.source(v), own)}
        needed |= {v for v in self.end(piece) if v not in own and v not in moved}
        known = len(self.wanted)
        if piece.after is not None:
            routine = self.graph.routines[id(piece.after.attrs["function"])]
            pairs = zip(piece.after.outputs, routine.results, strict=True)
            self.wanted |= {r for v, r in pairs if v in needed}
            needed -= set(piece.after.outputs)
        new = frozenset(needed)
        grown, self.begin[piece] = new != self.begin[piece] or len(self.wanted) > known, new
        return grown

    # Registers

    def registers(self) -> tuple[dict[Value, int], list[Type], list[str | None]]:
        """The register of each variable, and the types and names of all registers; 0 says which piece is next."""
        together: list[list[Value]] = []
        for piece in self.graph.pieces:
            loaded = piece.after is None and not piece.alone
            together.append(sorted(self.begin[piece] if loaded else (), key=_by_id))
            if piece.call is None:
                together.append(sorted(self.handed(piece), key=_by_id))
            else:
                together.append([p for _, p in self.arguments(piece.call.attrs["function"])])
        together += [[v for v in r.results if v in self.wanted] for r in self.graph.routines.values()]
        against: dict[Value, set[Value]] = {}
        for group in together:
            for v in group:
                against.setdefault(v, set()).update(x for x in group if x is not v)
        number: dict[Value, int] = {}
        held: list[list[Value]] = [[Value(INT, "piece")]]
        for v, others in against.items():
            taken = {0, *(number[x] for x in others if x in number)}
            free = [k for k, of in enumerate(held)
                    if k not in taken and kind_of_register(of[0].type) == kind_of_register(v.type)]  # fmt: skip
            number[v] = free[0] if free else len(held)
            if not free:
                held.append([])
            held[number[v]].append(v)
        names = [next((v.name for v in of if v.name), None) for of in held]
        return number, [self._joined([v.type for v in of]) for of in held], names

    def _joined(self, types: list[Type]) -> Type:
        """The type of a register: of lengths, it knows those that do not change as long as the program runs."""
        first = types[0]
        if not isinstance(first, Array):
            return first
        columns = zip(*(t.dims for t in types), strict=True)
        return Array(first.dtype, tuple(self._length(of) for of in columns), first.layout)

    def _length(self, lengths: Iterable[Any]) -> Any:
        known = set(lengths)
        only = next(iter(known)) if len(known) == 1 else None
        if isinstance(only, int) or (only is not None and only.uid in self.outside):
            return only
        return Sym(not_one=all(d.not_one if isinstance(d, Sym) else d != 1 for d in known))

    @property
    def outside(self) -> set[int]:
        """The lengths of what comes from outside."""
        values = [self.source(v) for piece in self.graph.pieces for v in self._read(piece)]
        return {uid for v in values if v not in self.made for uid in lengths_in(v.type)}


def read_by(op: Op) -> Iterator[Value]:
    """What an operation reads, or what is in it, of the values around it."""
    yield from op.inputs
    for region in op.regions:
        yield from free_values(region)


def _inside(op: Op) -> list[Op]:
    return [inner for region in op.regions for inner in walk(region)]


def kind_of_register(ty: Type) -> Any:
    """What the types of variables have in common that may be in one register, and on one stack."""
    return ty if isinstance(ty, Scalar) else (ty.dtype, ty.ndim, ty.layout)


def _by_id(v: Value) -> int:
    return v.id
