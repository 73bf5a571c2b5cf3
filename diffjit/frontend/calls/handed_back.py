"""Recursive functions that return an array that they were given: callers go on with their own name for it.

    def cycle(u, f):                          cycle(u, f): ... cycle(e, r); u[::2] += e
        ...                            ->     (returns nothing)
        e = cycle(e, r)
        u[::2] += e
        return u

A caller would otherwise hold two names of one array that the function writes to, and nothing would tell that they are
one.
"""

from __future__ import annotations

from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import Array
from diffjit.ir.walk import callees, has_exit, initial, walk

_SEVERAL = -1  # not one argument on all paths


def handed_back(function: Function) -> dict[int, int]:
    """The results that are an argument on every path, and which; they are results no more, inside calls included."""
    origins = _Origins(function)
    found = {k: origin for k, v in enumerate(function.results) if (origin := origins.of(v)) not in (None, _SEVERAL)}
    if not found:
        return {}
    for f in callees(function):
        renamed = {op.outputs[k]: op.inputs[j] for op in _calls(f.body, function) for k, j in found.items()}
        _rename(f.body, renamed)
        for op in _calls(f.body, function):
            op.outputs = [v for k, v in enumerate(op.outputs) if k not in found]
    function.body.results = [v for k, v in enumerate(function.results) if k not in found]
    return found


class _Origins:
    """Which parameter an array is, found by assuming the best of calls and loops until nothing speaks against it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known: dict[Value, int] = {p: k for k, p in enumerate(function.params) if isinstance(p.type, Array)}
        self.changed = True
        while self.changed:
            self.changed = False
            for op in walk(function.body):
                self._pass(op)

    def of(self, v: Value) -> int | None:
        """The parameter, `_SEVERAL`, or None where nothing arrives."""
        return self.known.get(v)

    def _pass(self, op: Op) -> None:
        if op.kind == "if":
            for k, out in enumerate(op.outputs):
                self._meet(out, [r.results[k] for r in op.regions])
        elif op.row.loop:
            for k, out in enumerate(op.outputs):
                args = [r.args[k + (op.kind == "for")] for r in op.regions]
                for target in (out, *args):
                    self._meet(target, [initial(op)[k], op.regions[-1].results[k + has_exit(op)]])
            for arg in op.regions[-1].args[:1] if op.kind == "for" else ():
                self._set(arg, _SEVERAL)
        elif op.kind == "call" and op.attrs["function"] is self.function:
            for out, result in zip(op.outputs, self.function.results, strict=True):
                k = self.known.get(result)
                if k is not None:
                    self._set(out, _SEVERAL if k == _SEVERAL else self.known.get(op.inputs[k]))
        else:
            for out in op.outputs:
                self._set(out, _SEVERAL)

    def _meet(self, target: Value, sources: list[Value]) -> None:
        origins = {self.known.get(v) for v in sources} - {None}
        self._set(target, (origins.pop() if len(origins) == 1 else _SEVERAL) if origins else None)

    def _set(self, v: Value, origin: int | None) -> None:
        if origin is not None and self.known.get(v) != origin and self.known.get(v) != _SEVERAL:
            self.known[v] = origin if v not in self.known else _SEVERAL
            self.changed = True


def _calls(block: Block, function: Function) -> list[Op]:
    return [op for op in walk(block) if op.kind == "call" and op.attrs["function"] is function]


def _rename(block: Block, renamed: dict[Value, Value]) -> None:
    def final(v: Value) -> Value:
        while v in renamed:
            v = renamed[v]
        return v

    block.results = [final(v) for v in block.results]
    for op in block.ops:
        op.inputs = [final(v) for v in op.inputs]
        for region in op.regions:
            _rename(region, renamed)
