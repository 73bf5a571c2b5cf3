"""What values are made of when they are asked for: the variables, objects and memory that they may read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gast

from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Cells, kind_of, split
from diffjit.ir.nodes import Op, Value, is_view
from diffjit.ir.nodes import written as changed_inputs
from diffjit.ir.types import Scalar
from diffjit.ir.walk import carried, initial, walk

_CHANGING = {*dir(list), *dir(dict)} - {"copy", "count", "get", "index", "items", "keys", "values"}
_STEPS = ("jump", "used", "t")  # cells that say how far the program is


def changed(before: Cells, now: Cells) -> set[Any]:
    """The variables and objects that no longer hold what they held."""
    return {key for key, held in before.items() if key[0] not in _STEPS and now.get(key) is not held}


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
                if not isinstance(value.type, Scalar):
                    self.memory.add(_root(value, {}))
            case av.Ref():
                self._cell(("h", (value.arena if isinstance(value, av.Handle) else value).uid))
            case av.Fn():
                self._names(value.node, value.scope.frames)
                self.todo += split(value)
            case av.Iter(kind="genexp"):
                expression, frame, first = value.parts
                self._names(expression, (frame.uid, *frame.fn.scope.frames))
                self.todo.append(first)
            case av.Iter():
                self.todo += (*value.parts, *value.sources)
            case av.Opt() | av.Maybe():
                self.todo.append(value.value)
            case av.Method():
                self.todo.append(value.receiver)
            case av.Sum():
                self.todo += value.variants
            case dict():
                self.todo += value.values()
            case _ if kind_of(value) is not None:
                self.todo += split(value)
            case _:
                pass

    def _names(self, node: Any, frames: Iterable[int]) -> None:
        names = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
        for frame in frames:
            for name in names:
                self._cell(("v", frame, name))

    def _cell(self, key: Any) -> None:
        if key in self.cells:
            self.keys.add(key)
            self.todo.append(self.cells[key])

    def touched(self, before: Cells, now: Cells, ops: list[Op]) -> bool:
        """Whether any of it has changed, or operations that ran meanwhile write to its memory."""
        return bool(self.keys & changed(before, now)) or bool(self.memory & written(ops))

    def may_change(self, frames: list[tuple[int, Any]]) -> bool:
        """Whether the text of these functions assigns a variable of it again, or changes what it holds by its name."""
        for uid, node in frames:
            names = [name for part in gast.walk(node) for name in _changed_by(part)]
            if any(("v", uid, name) in self.keys and names.count(name) > 1 for name in names):
                return True
        return False


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


def written(ops: list[Op]) -> set[Value]:
    """The memory that operations write to."""
    begun: dict[Value, Value] = {}  # what loops carry, and what it begins as
    found: set[Value] = set()
    for op in _all(ops):
        if op.row.loop:
            for k, first in enumerate(initial(op)):
                begun.update(dict.fromkeys(carried(op, k)[0], first))
        found.update(_root(op.inputs[k], begun) for k in changed_inputs(op))
    return found


def made(ops: list[Op]) -> set[Value]:
    """What operations make."""
    return {v for op in _all(ops) for v in op.outputs}


def _all(ops: list[Op]) -> Iterable[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from walk(region)


def _root(v: Value, begun: dict[Value, Value]) -> Value:
    """What a view is a view of."""
    while True:
        if v in begun:
            v = begun[v]
        elif v.op is not None and is_view(v.op):
            v = v.op.inputs[0]
        else:
            return v
