"""Which lists may be the same one, and which are changed: union-find over the places where references to lists meet."""

from __future__ import annotations

from typing import Any

from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import List
from diffjit.ir.walk import has_exit, initial, walk


def _held(op: Op) -> Any:
    return op.inputs[0].type.elem  # pyright: ignore[reportAttributeAccessIssue]


def _changes(op: Op) -> bool:
    return bool(op.row.writes) and isinstance(op.inputs[0].type, List)


class SameLists:
    """Classes of lists in a block."""

    def __init__(self, block: Block) -> None:
        self.up: dict[Any, Any] = {}
        ops = list(walk(block))
        for op in ops:
            self._meet(op)
        self.changed: set[Any] = {self.find(op.inputs[0]) for op in ops if _changes(op)}
        moved = [op for op in ops if _changes(op) and op.kind != "list_append"]
        self.rearranged: set[Any] = {self.find(op.inputs[0]) for op in moved if isinstance(_held(op), List)}
        self.read: set[Any] = {self.find(v) for op in ops for v in op.inputs if isinstance(v.type, List)}

    def find(self, key: Any) -> Any:
        """The representative of a list's class."""
        while (above := self.up.get(key, key)) is not key:
            key = above
        return key

    def _unite(self, a: Any, b: Any) -> None:
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        items = [x for x in (("items", a), ("items", b)) if x in self.up]
        self.up[a] = b
        if ("items", a) in items:
            self.up.setdefault(("items", b), ("items", b))
            self._unite(("items", a), ("items", b))

    def _items(self, of: Value) -> Any:
        key = ("items", self.find(of))
        self.up.setdefault(key, key)
        return key

    def _meet(self, op: Op) -> None:
        if op.row.keeps and isinstance(op.inputs[0].type, List) and isinstance(op.inputs[1].type, List):
            self._unite(self._items(op.inputs[0]), op.inputs[1])
        elif op.row.gives and isinstance(op.inputs[0].type, List) and isinstance(op.out.type, List):
            self._unite(op.out, self._items(op.inputs[0]))
        elif op.kind == "list_copy" and isinstance(op.out.type, List) and isinstance(op.out.type.elem, List):
            self._unite(self._items(op.out), self._items(op.inputs[0]))
        elif op.kind == "if":
            for k, out in enumerate(op.outputs):
                self._all_one([out, *(r.results[k] for r in op.regions)])
        elif op.kind in ("for", "while"):
            for k, out in enumerate(op.outputs):
                args = [r.args[k + (op.kind == "for")] for r in op.regions]
                self._all_one([out, initial(op)[k], op.regions[-1].results[k + has_exit(op)], *args])

    def _all_one(self, values: list[Value]) -> None:
        if isinstance(values[0].type, List):
            for other in values[1:]:
                self._unite(values[0], other)
