"""Recursion whose depth depends on run-time values: the function becomes a program of its own, with calls.

What a recursive call gives is unknown at first: paths that need it count as never arriving, and the others tell the
form of the result; then the body is interpreted again until arguments and result have settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from diffjit.errors import UnsupportedSyntax
from diffjit.frontend import values as av
from diffjit.frontend.join import Joiner, equal
from diffjit.frontend.leaves import convert, instantiate, leaf_types
from diffjit.frontend.mixin import Mixin
from diffjit.frontend.templates import Bad, Heap, Node, OptT, Same, Side, forget_values, freshen, kind_of, shape, split
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.walk import walk

MAX_ATTEMPTS = 12


class Outline(Exception):
    """A function turned out to be recursive: start again and make it a program of its own."""

    def __init__(self, node: Any) -> None:
        super().__init__()
        self.node = node


class Bottom(Exception):
    """The result of a recursive call that nothing is known of yet: this path does not arrive."""


@dataclass(slots=True, eq=False)
class Record:
    """A recursive function under interpretation."""

    node: Any
    function: Function
    arguments: dict[str, Any]  # templates
    result: Any = None  # template, once a path has arrived
    calls: list[Op] = field(default_factory=list)
    settled: bool = True


class Recursion(Mixin):
    """Mixin of the interpreter: recursive functions."""

    def recursive_site(self, record: Record, bound: dict[str, Any], node: Any) -> Any:
        """A recursive call inside the function's own body."""
        joiner = Joiner(self.cells, self.cells, self.sites)
        for name, value in bound.items():
            old = record.arguments[name]
            new = self._general_form(joiner.merge(old, value))
            if isinstance(new, Bad):
                raise self._recursion_refused(f"argument `{name}` is {new.reason}", node)
            if not equal(old, new):
                record.arguments[name] = new
                record.settled = False
        if record.result is None or not record.settled:
            raise Bottom
        side = Side(self.cells, self.build, self.sites)
        leaves = [leaf for name, value in bound.items() for leaf in convert(value, record.arguments[name], side)]
        op = self.build.op("call", leaves, list(leaf_types(record.result)), function=record.function)
        record.calls.append(op)
        return instantiate(record.result, iter(op.outputs), self.cells)

    def outline(self, fn: av.Fn, bound: dict[str, Any], node: Any) -> Any:
        """Interpret a recursive function as a program of its own, and call it."""
        arguments = {name: self._general_form(shape(value)) for name, value in bound.items()}
        record = Record(fn.node, Function(_name(fn.name), [], Block()), arguments)
        for _ in range(MAX_ATTEMPTS):
            if self._attempt_body(record, fn, node):
                free = self._close_function(record)
                side = Side(self.cells, self.build, self.sites)
                leaves = [
                    leaf for name, value in bound.items() for leaf in convert(value, record.arguments[name], side)
                ]
                op = self.build.op("call", [*leaves, *free], list(leaf_types(record.result)), function=record.function)
                return instantiate(record.result, iter(op.outputs), self.cells)
        raise self._recursion_refused("its arguments or result do not settle to one type", node)

    def _attempt_body(self, record: Record, fn: av.Fn, node: Any) -> bool:
        """One interpretation of the body; True when nothing had to be changed."""
        record.function.body, record.function.params, record.calls, record.settled = Block(), [], [], True
        start, dead, handlers = self.cells, self.dead, self.handlers
        self.cells, self.handlers = dict(start), []
        self.recursions.append(record)
        try:
            bound = {}
            for name, template in record.arguments.items():
                leaves = [Value(ty, name) for ty in leaf_types(template)]
                record.function.params += leaves
                bound[name] = instantiate(template, iter(leaves), self.cells)
            with self.build.inside(record.function.body):
                try:
                    result = self.run_body(fn, bound, node)
                except Bottom:
                    self.dead = True
                if not self.dead:
                    # what it changes would have to travel through every call
                    self.refuse_outside_changes(
                        start, lambda what: self._recursion_refused(f"it changes {what} outside", node)
                    )
                    self._settle_result(record, result, node)  # pyright: ignore[reportPossiblyUnboundVariable]
                elif record.settled:
                    raise self._recursion_refused("no path through it ends", node)
        finally:
            self.recursions.pop()
            self.cells, self.dead, self.handlers = start, dead, handlers
        return record.settled

    def _settle_result(self, record: Record, result: Any, node: Any) -> None:
        if record.result is None:
            new = self._general_form(shape(result))
        else:
            joiner = Joiner(self.cells, self.cells, self.sites)
            new = self._general_form(joiner.merge(record.result, result))
        if isinstance(new, Bad) or _holds_object(new):
            raise self._recursion_refused(
                f"its result is {new.reason if isinstance(new, Bad) else 'a list, dict or object'}", node
            )
        if record.result is None or not equal(record.result, new):
            record.result, record.settled = new, False
            return
        side = Side(self.cells, Builder(record.function.body), self.sites)
        record.function.body.results = convert(result, record.result, side)

    def _general_form(self, template: Any) -> Any:
        return freshen(forget_values(template))

    def refuse_outside_changes(self, start: Any, refuse: Any) -> None:
        """Raise `refuse(what)` if an outer variable, list, dict or object is not what it was at the start."""
        changed = [k for k, v in start.items() if not _unchanged(self.cells.get(k), v) and k[0] in ("v", "h")]
        if changed:
            raise refuse(", ".join(f"`{k[2]}`" for k in changed if k[0] == "v") or "a list, dict or object")

    def _close_function(self, record: Record) -> list[Value]:
        """Values of the surroundings that the body reads become parameters; returns them."""
        free = close(record.function)
        for op in record.calls:
            op.inputs += record.function.params[-len(free) :] if free else []
        return free

    def _recursion_refused(self, reason: str, node: Any) -> UnsupportedSyntax:
        return self.unsupported(
            "DJ119",
            f"this recursive function is not supported: {reason}",
            node,
            "write it as a loop with a list as stack",
        )

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """A path on which an unknown recursive result is needed does not arrive."""
        try:
            yield
        except Bottom:
            self.dead = True


def _unchanged(a: Any, b: Any) -> bool:
    """Whether two values are the same, or structures of the same values."""
    if a is b:
        return True
    if kind_of(a) is None or kind_of(a) != kind_of(b):
        return isinstance(a, av.Ref) and isinstance(b, av.Ref) and a.uid == b.uid
    return all(_unchanged(x, y) for x, y in zip(split(a), split(b), strict=True))


def _name(name: str) -> str:
    return "recursive_" + name.replace("<lambda>", "lambda_").lstrip("_")


def _holds_object(template: Any) -> bool:
    if isinstance(template, Node):
        return template.kind[0] == "list" or any(_holds_object(c) for c in template.children)
    if isinstance(template, OptT):
        return _holds_object(template.inner)
    return isinstance(template, Heap) or (isinstance(template, Same) and isinstance(template.value, av.Ref))


def close(function: Function) -> list[Value]:
    """Values of the surroundings that a function's body reads become parameters; returns them."""
    body = function.body
    defined = set(function.params)
    for op in walk(body):
        defined.update(op.outputs)
        for region in op.regions:
            defined.update(region.args)
    free: dict[Value, None] = {}
    for op in walk(body):
        free.update(dict.fromkeys(v for v in op.inputs if v not in defined))
        for region in op.regions:
            free.update(dict.fromkeys(v for v in region.results if v not in defined))
    free.update(dict.fromkeys(v for v in body.results if v not in defined))
    mapping = {v: Value(v.type, v.name) for v in free}
    function.params += list(mapping.values())
    _substitute(body, mapping)
    return list(free)


def _substitute(block: Block, mapping: dict[Value, Value]) -> None:
    for op in block.ops:
        op.inputs = [mapping.get(v, v) for v in op.inputs]
        for region in op.regions:
            _substitute(region, mapping)
    block.results = [mapping.get(v, v) for v in block.results]
