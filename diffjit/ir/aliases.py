"""What operations say of references: which may be the same memory, and what containers hold.

    row = x[k]                 row and x are of one memory
    rows.append(row)           row and what `rows` holds
    y = x if c else z          y and x, y and z

This is the one place that says so. Who asks decides what follows: `Memory` splits joins that are as good as values,
others put all that may meet into one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Op, Value, is_view
from diffjit.ir.ops import ROWS, View
from diffjit.ir.types import Array, is_ref
from diffjit.ir.walk import carried, initial

_RENAMING = ("stop_gradient", "stack_copy")  # kinds that give their operand, as views do


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A reference that flows into a joined one: at the start or end of a loop, or at the end of a branch."""

    source: Value
    target: Value
    op: Op
    inside: Block | None  # the block at whose end it flows, or None: before the operation


def edges(op: Op) -> Iterator[Edge]:
    """The references that control flow joins."""
    if op.kind == "if":
        for k, out in enumerate(op.outputs):
            if is_ref(out.type):
                yield from (Edge(region.results[k], out, op, region) for region in op.regions)
    elif op.row.loop:
        for k, (out, first) in enumerate(zip(op.outputs, initial(op), strict=True)):
            if is_ref(out.type):
                args, following = carried(op, k)
                for target in (*reversed(args), out):
                    yield Edge(first, target, op, None)
                    yield Edge(following, target, op, op.regions[-1])


def same_memory(op: Op) -> Iterator[tuple[Value, Value]]:
    """The references that an operation gives, each with an operand that it may be another name of.

    Of recursive functions, that are called, the `returns_views` must have been found out.
    """
    if (is_view(op) or op.kind in _RENAMING) and is_ref(op.out.type):
        yield op.out, op.inputs[0]
    elif op.kind == "call":
        for k in op.attrs["function"].returns_views:
            yield from ((out, op.inputs[k]) for out in op.outputs if isinstance(out.type, Array))


@cache
def is_silent(kind: str) -> bool:
    """Whether no operation of a kind gives other names, or has to do with what containers hold: most are so."""
    row = ROWS[kind]
    named = row.view is not View.NEVER or kind in (*_RENAMING, "call", "list_copy")
    return not named and row.keeps is None and not row.gives


def held(op: Op) -> Value | None:
    """The reference that goes into the container that is the first operand, or comes out of it."""
    if is_silent(op.kind):
        return None
    v = op.inputs[op.row.keeps] if op.row.keeps is not None else op.out if op.row.gives else None
    return v if v is not None and is_ref(v.type) else None


class Classes:
    """References that may be the same memory: union-find. What containers of a class hold is of one class, too."""

    def __init__(self) -> None:
        self.up: dict[Any, Any] = {}

    def find(self, key: Any) -> Any:
        """The representative of a reference's class."""
        root = key
        while (above := self.up.get(root, root)) is not root:
            root = above
        while (above := self.up.get(key, key)) is not root and above is not key:
            self.up[key] = root
            key = above
        return root

    def unite(self, a: Any, b: Any) -> None:
        """Two references may share memory."""
        a, b = self.find(a), self.find(b)
        if a is b:
            return
        self.up[a] = b
        of_a, of_b = self.up.get(("held", a)), self.up.get(("held", b))
        if of_a is not None and of_b is not None:
            self.unite(of_a, of_b)
        elif of_a is not None:
            self.up["held", b] = self.find(of_a)

    def element(self, container: Value) -> Any:
        """The class of the references that a list or stack holds."""
        key = ("held", self.find(container))
        if key not in self.up:
            self.up[key] = _Held()
        return self.find(self.up[key])

    def meet(self, op: Op) -> None:
        """Unite what an operation, joins aside, gives other names."""
        if is_silent(op.kind):
            return
        for a, b in same_memory(op):
            self.unite(a, b)
        v = held(op)
        if v is not None:
            self.unite(self.element(op.inputs[0]), v)
        if op.kind == "list_copy" and is_ref(op.out.type.elem):
            self.unite(self.element(op.inputs[0]), self.element(op.out))


class _Held:
    """Stands for what a container holds."""
