"""What a function notes outside while somebody calls it, nobody knows how often (`Nested.noting`).

def height(q):
self.calls += 1                      # changes a cell, which a loop makes a value that may be any number
self.path.append(q.copy())           # writes to a list that only the loop knows
return (q[0] - self.a) ** 2          # reads neither
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.errors import UnsupportedSyntax
from diffjit.frontend.calls.recursion import unchanged
from diffjit.frontend.numpy.reshapes import changed
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, kind_of, split
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import List
from diffjit.ir.walk import blocks, carried, initial, walk


@dataclass(slots=True, eq=False)
class Notes:
    """What a function that is called again and again changes outside: cells, and the values that these calls make."""

    changed: set[Any]
    values: set[Value]
    refused: UnsupportedSyntax

    def leave_out(self, body: Block, lists: set[Value]) -> None:
        """Leave out, in place, what notes things; also in lists that the program would change."""
        self.values |= lists
        self.values |= without_notes(body, self.values)

    def unread(self, ir: Function, free: list[Value]) -> list[Value]:
        """What a program reads of its surroundings, nothing of which is noted; its parameters are changed in place."""
        read = {v for b in blocks(ir.body) for v in (*b.results, *(v for op in b.ops for v in op.inputs))}
        if read & self.values:  # what operations gave that are left out
            raise self.refused
        own = len(ir.params) - len(free)
        kept: list[Value] = []
        for given, param in zip(free, ir.params[own:], strict=True):
            outer = _unmoved(given)
            if outer not in self.values:
                kept.append(outer)
            elif param in read:
                raise self.refused
            else:
                ir.params.remove(param)
        return kept


def call_often(count: int, function: Any, args: Any, kwargs: Any) -> None:
    """Calls whose number nobody knows; read as users' code is."""
    for _ in range(count):
        function(*args, **kwargs)


def made_in(block: Block) -> Iterator[Value]:
    """All values that a block makes."""
    for inner in blocks(block):
        yield from inner.args
        for op in inner.ops:
            yield from op.outputs


def left_alone(after: Any, before: Any) -> bool:
    """Whether a loop has left something as it was."""
    if isinstance(after, Value):
        return _unmoved(after) is before
    if isinstance(after, av.ObjC) and isinstance(before, av.ObjC) and set(after.fields) == set(before.fields):
        return after.cls is before.cls and all(left_alone(v, before.fields[n]) for n, v in after.fields.items())
    return unchanged(after, before)


def values_in(held: Any) -> Iterator[Value]:
    """The numbers, arrays and lists of the run that something holds."""
    if isinstance(held, Value):
        yield held
    elif isinstance(held, DynList):
        yield from held.lists
    elif kind_of(held) is not None:
        for part in split(held):
            yield from values_in(part)


def _unmoved(v: Value) -> Value:
    """What a loop or branch gives back is what it was, where all its ways leave it alone."""
    op = v.op
    if op is None or not (op.row.loop or op.kind == "if"):
        return v
    k = op.outputs.index(v)
    if op.kind == "if":
        ways = {_unmoved(region.results[k]) for region in op.regions}
        return next(iter(ways)) if len(ways) == 1 else v
    args, following = carried(op, k)
    first = initial(op)[k]
    return _unmoved(first) if _unmoved(following) in (*args, first) else v


def lists_written(body: Block, own: list[Value]) -> set[Value]:
    """The growing lists of its surroundings that a program changes."""
    made = {*own, *made_in(body)}
    return {v for op in walk(body) for v in changed(op) if isinstance(v.type, List) and v not in made}


def without_notes(body: Block, noted: set[Value]) -> set[Value]:
    """Leave out, in place, what writes to something that is only noted; what that would have given."""
    given: set[Value] = set()
    for block in blocks(body):
        left_out = {op for op in block.ops if any(v in noted for v in changed(op))}
        given.update(v for op in left_out for v in op.outputs)
        block.ops = [op for op in block.ops if op not in left_out]
    return given


def unreadable(before: Any, after: Any, called_on: str) -> Any:
    """What is outside of a function that has been called nobody knows how often: what it changes cannot be read."""
    cure = f"return what it computes instead: how often {called_on} calls it is not known"
    unknown = av.Poison(f"changed by a function in the hands of {called_on}", cure=cure)
    if isinstance(before, av.ObjC) and isinstance(after, av.ObjC) and before.cls is after.cls:
        fields = {n: v if left_alone(after.fields.get(n), v) else unknown for n, v in before.fields.items()}
        return replace(before, fields={**fields, **{n: unknown for n in after.fields if n not in before.fields}})
    return unknown
