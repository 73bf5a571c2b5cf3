"""Series through rules whose code has branches, loops or memory that changes: the rule as a program with companions.

Coefficient q of such a rule reads coefficients up to q of the operation's result, so the program is built for q = 0, 1,
..., each with the series known by then; just once, to the highest order, where the rule does not read the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffjit.frontend.calls.records import close
from diffjit.ir.nodes import Block, Function, Op, Value, is_const, is_pure, is_view
from diffjit.ir.types import is_float
from diffjit.ir.walk import blocks, clone_op, rename, walk
from diffjit.transforms import custom

if TYPE_CHECKING:
    from diffjit.transforms.modes.series import Expansion


def is_straight(block: Block) -> bool:
    """Whether code has neither control flow nor effects; a call of a function with rules counts as an operation."""
    return all(custom.rules_of(op) is not None or (is_pure(op) and not op.regions) for op in block.ops)


_NEW = {"zeros": "zeros", "empty": "zeros", "zeros_like": "zeros_like", "empty_like": "zeros_like"}


def straightened(block: Block, results: list[Value]) -> list[Value]:
    """In place: memory that one operation fills at once, before anyone reads it, is a sum; the results then.

    t = np.zeros_like(x)                t = np.zeros_like(x)
    t[...] = x_dot              ->      t_1 = t + x_dot
    """
    mapping = _without_whole_views(block)
    made = {v: k for k, op in enumerate(block.ops) for v in op.outputs if op.kind in _NEW}
    used: dict[Value, list[int]] = {}
    for k, op in enumerate(block.ops):
        for v in (*op.inputs, *(v for region in op.regions for v in _read(region))):
            used.setdefault(v, []).append(k)
    for k, op in enumerate(block.ops):
        op.inputs = [mapping.get(v, v) for v in op.inputs]
        for region in op.regions:
            rename(region, mapping)
        if op.kind != "assign" or op.inputs[0] not in made or used[op.inputs[0]][0] != k:
            continue
        zeros, source = op.inputs
        written = [n for n in used[zeros] if zeros in (block.ops[n].inputs[i] for i in block.ops[n].row.writes)]
        if written == [k] and source.type.dtype == zeros.type.dtype and not is_viewed_and_written(block, zeros):
            filled = mapping[zeros] = Value(zeros.type, zeros.name)
            block.ops[k] = filled.op = Op("add", [zeros, source], [filled], {}, [], op.loc)
            filled.block = block
            maker = block.ops[made[zeros]]
            maker.kind = _NEW[maker.kind]
    return [mapping.get(mapping.get(v, v), mapping.get(v, v)) for v in results]


def _without_whole_views(block: Block) -> dict[Value, Value]:
    """In place: `t[...]` of new memory is t."""
    new = {v for op in block.ops for v in op.outputs if op.kind in _NEW}
    whole = {
        op.out: op.inputs[0]
        for op in block.ops
        if op.kind == "view"
        and op.inputs[0] in new
        and op.out.type == op.inputs[0].type
        and all(part == ":" for part in op.attrs["spec"])
    }
    block.ops = [op for op in block.ops if not op.outputs or op.outputs[0] not in whole]
    rename(block, whole)
    return whole


def is_viewed_and_written(block: Block, memory: Value) -> bool:
    """Whether code may write to memory under another name."""
    names = {memory}
    for op in walk(block):
        if op.regions and any(v in names for region in op.regions for v in _read(region)):
            return True
        if op.row.control and custom.rules_of(op) is None and any(v in names for v in op.inputs):
            return True
        if is_view(op) and op.inputs[0] in names:
            names.add(op.out)
        if any(op.inputs[i] in names - {memory} for i in op.row.writes):
            return True
    return False


def _read(block: Block) -> list[Value]:
    """The values that operations inside a block read."""
    return [v for op in walk(block) for v in op.inputs] + [v for b in blocks(block) for v in b.results]


class Program:
    """A rule's code with its free values as parameters, and what was built of it to each order."""

    def __init__(self, function: Function, free: list[Value], *, once: bool, itself: bool) -> None:
        self.function, self.free, self.once = function, free, once
        self.itself = itself  # it computes the operation's result, not its derivative
        self.built: dict[int, list[list[Value | None]]] = {}

    def coefficients(self, into: Expansion, q: int) -> list[list[Value | None]]:
        """For each result, its coefficients 0, ..., q or more."""
        order = into.order - (not self.itself) if self.once else q
        if order not in self.built:
            self.built[order] = self._build(into, order)
        return self.built[order]

    def _build(self, into: Expansion, order: int) -> list[list[Value | None]]:
        from diffjit.transforms.modes.jet import Jet

        params = self.function.params
        wrt = [k for k, v in enumerate(self.free) if into.varies(v) and is_float(v.type)]
        made = Jet(self.function, wrt, order).accompany()
        given = [into.solid(into.coefficient(v, 0), v) for v in self.free]
        for k in wrt:
            given += [into.solid(into.coefficient(self.free[k], m), self.free[k]) for m in range(1, order + 1)]
        types = [*params, *(params[k] for k in wrt for _ in range(order))]
        mapping = {p: into.conform(v, like) for p, v, like in zip(made.function.params, given, types, strict=True)}
        for op in made.function.body.ops:
            clone_op(op, mapping, into.build.block)
        found: list[list[Value | None]] = []
        for primal, beside in zip(made.primal, made.leaving, strict=True):
            series: list[Value | None] = [mapping.get(primal, primal)]
            series += [None] * order if beside is None else [mapping.get(v, v) for v in beside]
            found.append(series)
        return found


class Opaque:
    """One result of such a rule."""

    def __init__(self, program: Program, k: int) -> None:
        self.of, self.k = program, k

    def coefficient(self, into: Expansion, q: int) -> Value | None:
        """Coefficient q."""
        return self.of.coefficients(into, q)[self.k][q]

    def integrated(self, into: Expansion, m: int) -> Value | None:
        """Coefficient m of the operation's result."""
        return self.coefficient(into, m) if self.of.itself else into.over(self.coefficient(into, m - 1), m)

    @staticmethod
    def program(into: Expansion, block: Block, op: Op, results: list[Value], *, itself: bool = False) -> Program:
        """The program of a rule's code, interpreted into a block; or of the operation itself."""
        known = {into.key(op): op}
        body, mapping = Block(), dict[Value, Value]()
        for o in block.ops:
            # The function that the rule belongs to, called for the same arguments, is the operation itself.
            again = Op(o.kind, [into.canonical(mapping.get(v, v)) for v in o.inputs], o.outputs, o.attrs)
            same = known.get(into.key(again)) if custom.rules_of(o) is not None else None
            if same is not None:
                mapping.update(zip(o.outputs, same.outputs, strict=True))
            else:
                clone_op(o, mapping, body)
        body.results = [mapping.get(v, v) for v in results]
        function = Function(f"{op.kind}_rule", [], body)
        _own_constants(function)
        free = close(function)
        once = not any(v in op.outputs or v in into.scratch for v in free)
        return Program(function, [into.canonical(v) for v in free], once=once, itself=itself)


def _own_constants(function: Function) -> None:
    """Numbers of the surroundings are numbers of the program, too."""
    inside: dict[Value, Value] = {}
    head = Block()

    def visit(block: Block) -> None:
        for op in block.ops:
            op.inputs = [own(v) for v in op.inputs]
            for region in op.regions:
                visit(region)
        block.results = [own(v) for v in block.results]

    def own(v: Value) -> Value:
        if not is_const(v) or v in defined:
            return v
        if v not in inside:
            assert v.op is not None
            inside[v] = clone_op(v.op, {}, head).out
        return inside[v]

    defined = _defined(function.body)
    visit(function.body)
    function.body.ops[:0] = head.ops


def _defined(block: Block) -> set[Any]:
    found: set[Any] = {v for op in block.ops for v in op.outputs}
    for op in block.ops:
        for region in op.regions:
            found |= _defined(region)
    return found


__all__ = ["Opaque", "Program", "is_straight"]
