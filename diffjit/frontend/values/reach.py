"""What values are made of when they are asked for: the variables, objects and memory that they may read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import gast

from diffjit.frontend.numpy.reshapes import Written, changed
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Cells, DynList, ItemOf, kind_of, split
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import List, is_ref
from diffjit.ir.walk import walk

_CHANGING = {*dir(list), *dir(dict)} - {"copy", "count", "get", "index", "items", "keys", "values"}
_STEPS = ("jump", "used", "t")  # cells that say how far the program is


def parts(value: Any) -> tuple[Any, ...]:
    """The values in a value that is no reference."""
    match value:
        case av.Opt() | av.Maybe():
            return (value.value,)
        case av.Method():
            return (value.receiver,)
        case av.Sum():
            return tuple(value.variants)
        case dict():
            return tuple(value.values())
        case _:
            return split(value) if kind_of(value) is not None or isinstance(value, av.Iter) else ()


def assigned(before: Cells, now: Cells) -> set[Any]:
    """The variables and objects that no longer hold what they held."""
    return {key for key, held in before.items() if key[0] not in _STEPS and now.get(key) is not held}


def has_effect(build: Builder, ops: list[Op]) -> bool:
    """Whether operations, the last ones so far, write to memory that was there before them."""
    memory, inside = _memory(build), list(walk(Block([], ops)))
    made = {v for op in inside for v in (*op.outputs, *(a for region in op.regions for a in region.args))}
    old = {memory.find(v) for op in inside for v in op.inputs if is_ref(v.type) and v not in made}
    return any(memory.find(v) in old for op in inside for v in changed(op) if not _is_new_list(v, made))


def _is_new_list(v: Value, made: set[Value]) -> bool:
    return isinstance(v.type, List) and v in made and v.op is not None and not v.op.row.gives


def _memory(build: Builder) -> Written:
    """Who shares memory in what has been interpreted so far."""
    return Written(Function("", [], Block([], [op for block in build.open for op in block.ops])))


class Reach:
    """What an iterator may read when its next item is drawn."""

    def __init__(self, cells: Cells, iterable: Any) -> None:
        self.keys: set[Any] = set()
        self.memory: set[Value] = set()
        self.cells = cells
        self.todo: list[Any] = [iterable]
        seen: set[int] = set()
        while self.todo:
            value = self.todo.pop()
            if id(value) not in seen:
                seen.add(id(value))
                self._look(value)

    def _look(self, value: Any) -> None:
        match value:
            case Value():
                if is_ref(value.type):
                    self.memory.add(value)
            case DynList():
                self.memory.update(value.lists)
            case av.Ref():
                self._cell(("h", (value.arena if isinstance(value, av.Handle) else value).uid))
            case av.Iter(kind="genexp"):
                expression, frame, first = value.parts
                self._names(expression, (frame.uid, *frame.fn.scope.frames))
                self.todo.append(first)
            case av.Fn():
                self._names(value.node, value.scope.frames)
                self.todo += split(value)
            case ItemOf():
                self.todo += (value.owner, value.index)
            case _:
                self.todo += parts(value)
                self.todo += value.sources if isinstance(value, av.Iter) else ()

    def _names(self, node: Any, frames: Iterable[int]) -> None:
        names = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
        for frame in frames:
            for name in names:
                self._cell(("v", frame, name))

    def _cell(self, key: Any) -> None:
        if key in self.cells:
            self.keys.add(key)
            self.todo.append(self.cells[key])

    def touched(self, before: Cells, now: Cells, build: Builder, ops: list[Op]) -> bool:
        """Whether any of it has changed, or operations, the last ones so far, write to its memory.

        A list that gets another item is written to, not the arrays in it.
        """
        if self.keys & assigned(before, now):
            return True
        memory, inside = _memory(build), set(walk(Block([], ops)))
        return any(
            op in inside and (isinstance(v.type, List) or not op.kind.startswith("list_"))
            for v in self.memory
            for op in memory.writers.get(memory.find(v), ())
        )

    def may_change(self, frames: list[tuple[int, Any]]) -> bool:
        """Whether the text of these functions assigns a variable of it again, or changes what it holds by its name."""
        for uid, node in frames:
            names = [name for part in gast.walk(node) for name in _changed_by(part)]
            if any(("v", uid, name) in self.keys and names.count(name) > 1 for name in names):
                return True
        return False


@lru_cache(maxsize=256)
def read_only_in(loop: Any, function: Any) -> frozenset[str]:
    """Variables that a loop of a function assigns, and that nothing outside the loop reads."""
    inside, everywhere = (Counter(_names(node, gast.Load)) for node in (loop, function))
    return frozenset(name for name in _names(loop, gast.Store) if inside[name] == everywhere[name])


def _names(node: Any, ctx: type) -> Iterator[str]:
    return (n.id for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, ctx))


def _changed_by(node: Any) -> list[str]:
    """The variable that a part of a program assigns, once; twice the one that it changes."""
    match node:
        case gast.Name(ctx=gast.Store()):
            return [node.id]
        case gast.Subscript(ctx=gast.Store(), value=gast.Name()) | gast.Attribute(ctx=gast.Store(), value=gast.Name()):
            return [node.value.id] * 2
        case gast.Call(func=gast.Attribute(value=gast.Name(), attr=name)) if name in _CHANGING:
            return [node.func.value.id] * 2
        case _:
            return []
