"""Where NumPy would give an array another memory order than the IR says.

    y = x[:, k]             the IR says "C"; NumPy puts the indexed axis first in memory: y has Fortran's order
    z = y.reshape(-1)       the IR says: a view of y; NumPy would make a copy, and writes to z would not reach y

NumPy hands orders on through most operations ("K"). Compiled code makes arrays in the order that their types say; the
text of the Python backend has to ask for it where a view hangs on it, so that both backends mean the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from diffjit.ir.nodes import Function, Op, Value, is_view
from diffjit.ir.types import Array
from diffjit.ir.walk import carried, initial, walk

# In C's order, or the one that they are asked for, whatever their operands are.
_AS_TOLD = frozenset({
    "zeros", "empty", "full", "reshape", "matmul", "solve", "inv", "cholesky", "eigh", "svd", "undef",
    "list_get", "list_pop", "pop",
})  # fmt: skip


def unlike(functions: Sequence[Function], mark: str = "view") -> set[Op]:
    """The operations that make an array which a reshape looks at as a view, and which NumPy may lay out otherwise.

    `mark`: the attribute of the reshapes that count.
    """
    views = [op for f in functions for op in walk(f.body) if op.kind == "reshape" and op.attrs.get(mark)]
    waiting = [op.inputs[0] for op in views if _ordered(op.inputs[0])]
    if not waiting:
        return set()
    feeds, doubtful = doubts(functions)
    found: set[Op] = set()
    seen: set[Value] = set()
    while waiting:
        v = waiting.pop()
        if v in seen or v not in doubtful:
            continue
        seen.add(v)
        if v in feeds:
            waiting += feeds[v]
        elif v.op is not None and is_view(v.op):
            waiting.append(v.op.inputs[0])
        elif v.op is not None:
            found.add(v.op)
    return found


def doubts(functions: Sequence[Function]) -> tuple[dict[Value, list[Value]], set[Value]]:
    """What control flow and calls make values of; and the values whose order in NumPy may differ from their type's."""
    feeds = _feeds(functions)
    ops = [op for f in functions for op in walk(f.body)]
    doubtful: set[Value] = set()
    found = -1
    while found != len(doubtful):
        found = len(doubtful)
        for op in ops:
            if not op.row.control and any(_ordered(v) for v in op.outputs) and _in_doubt(op, doubtful):
                doubtful.update(v for v in op.outputs if _ordered(v))
        for v, sources in feeds.items():
            if any(s in doubtful or s.type.layout != v.type.layout for s in sources):  # type: ignore[union-attr]
                doubtful.add(v)
    return feeds, doubtful


def _ordered(v: Value) -> bool:
    return isinstance(v.type, Array) and v.type.ndim > 1 and v.type.layout != "A"


def _feeds(functions: Sequence[Function]) -> dict[Value, list[Value]]:
    feeds: dict[Value, list[Value]] = {}

    def add(v: Value, *sources: Value) -> None:
        if _ordered(v):
            feeds.setdefault(v, []).extend(sources)

    for op in (op for f in functions for op in walk(f.body)):
        if op.kind == "if":
            for k, out in enumerate(op.outputs):
                add(out, *(region.results[k] for region in op.regions))
        elif op.row.loop:
            for k, (out, init) in enumerate(zip(op.outputs, initial(op), strict=True)):
                args, following = carried(op, k)
                for v in (*args, out):
                    add(v, init, following)
        elif op.kind == "call":
            for param, v in zip(op.attrs["function"].params, op.inputs, strict=False):
                add(param, v)
            for out, v in zip(op.outputs, op.attrs["function"].results, strict=False):
                add(out, v)
    return feeds


def _in_doubt(op: Op, doubtful: set[Value]) -> bool:
    if is_view(op):
        return op.inputs[0] in doubtful
    if op.kind in _AS_TOLD or (op.kind == "copy" and op.attrs.get("order", "C") == op.outputs[0].type.layout):  # type: ignore[union-attr]
        return False
    operands = op.inputs
    if op.kind == "gather":
        spec = op.attrs["spec"]
        places = [k for k, s in enumerate(spec) if s != ":"]
        if spec[0] == ":" and places == list(range(places[0], places[-1] + 1)):
            return True
        operands = operands[:1]
        if sum(s == ":" for s in spec) < 2:  # one axis that is not indexed has no order
            return False
    out = op.outputs[0].type
    for v in operands:
        if not isinstance(v.type, Array) or v.type.ndim == 0:
            continue
        if v.type.ndim == 1:
            if out.layout == "F":  # type: ignore[union-attr]
                return True
        elif v in doubtful or v.type.layout != out.layout:  # type: ignore[union-attr]
            return True
    return False
