"""Loops in two versions: one whose indices are tested once, before it runs, and one that tests each.

    for i in range(n):                  if 0 <= 0 and n - 1 + k < len(x) and n - 1 < len(y):
        total += x[i + k] * y[i]            for i in range(n): ...          no tests
                                        else:
                                            for i in range(n): ...          each index tested, as it was

What `integers.bounds` cannot prove for all calls is so found out at run time: the least and the greatest value of each
index over all iterations, in terms of numbers that are known before the loop. The second version runs where an index is
negative (counting from the end, perhaps) or out of bounds, and then raises what it has to, where it has to. Constants
that count from the end (`y[-1]`) are asked to be within the length, and counted from the start in the first version.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from diffjit.analysis.integers.bounds import Bounds, Form
from diffjit.analysis.integers.sums import Affine
from diffjit.analysis.manager import analyses
from diffjit.ir.build import Builder
from diffjit.ir.checks import PROVEN, Check
from diffjit.ir.nodes import CHECKS, LABELS, Block, Function, Op, Value, const_of
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym
from diffjit.ir.walk import clone_op, clone_value, walk

_LARGEST = 120  # operations of a loop that is worth printing twice
_MOST = 24  # conditions
_FAR = 1 << 40  # numbers beyond this are left to the careful version: no sum of a few below it overflows,
_TIMES, _PLUS = 1 << 16, 1 << 60  # with coefficients and constants up to these


def in_two_versions(function: Function) -> None:
    """Apply to the loops that gain from it, outermost first, in place."""
    bounds = analyses(function).bounds
    todo = [function.body]
    found: list[tuple[Block, Op, _Test, Block]] = []
    while todo:
        block = todo.pop()
        for op in block.ops:
            made = _tested(op, bounds) if op.kind == "for" else None
            if made is not None:
                found.append((block, op, *made))
            else:
                todo += op.regions
    for block, op, asked, test in found:
        _split(block, op, asked, test)


def _tested(loop: Op, bounds: Bounds) -> tuple[_Test, Block] | None:
    """What a loop is to be freed of where a condition holds, and the operations that compute it."""
    if not all(isinstance(v.type, Scalar) for v in loop.outputs):
        return None
    if sum(1 for _ in walk(loop.regions[0])) > _LARGEST:
        return None
    accesses = [(b, op) for b, op in _certain(loop) if op.row.indices_at is not None and not _is_proven(op, bounds)]
    made = _Test(loop, bounds)
    made.able = [(block, op) for block, op in accesses if made.add(op)]
    if all(_is_cheap(op) for _, op in made.able) or len(made.wanted) > _MOST:
        return None
    if not made.wanted:  # nothing hangs on the run
        made.free(PROVEN)
        return None
    return made, made.write()


def _certain(loop: Op) -> Iterator[tuple[Block, Op]]:
    """The operations that run in each iteration of a loop and of those inside it, and where they stand."""
    for op in loop.regions[0].ops:
        yield loop.regions[0], op
        if op.kind == "for":
            yield from _certain(op)


def _is_cheap(op: Op) -> bool:
    """Whether tests cost nothing beside an access: a view has no loop around a test of constants to keep it from."""
    return op.kind == "view" and all(const_of(v) is not None for v in op.inputs[op.row.indices_at or 0 :])


def _is_proven(op: Op, bounds: Bounds) -> bool:
    first = op.row.indices_at or 0
    if len(op.inputs) == first:
        return True
    return bool(op.attrs.get("nonneg")) if op.attrs.get("inbounds") else bounds.inside(op, first)


class _Test:
    """The conditions under which the indices of a loop are within bounds."""

    def __init__(self, loop: Op, bounds: Bounds) -> None:
        self.loop, self.bounds = loop, bounds
        self.order = bounds.order
        self.wanted: dict[tuple[int, tuple[tuple[object, int], ...]], Form] = {}  # sums that must not be negative
        self.lengths: dict[Sym, tuple[Value, int]] = {}
        self.able: list[tuple[Block, Op]] = []
        self.from_the_end: dict[Op, list[tuple[int, int, int]]] = {}  # an operand's place, its axis, how far
        for op in walk(loop.regions[0]):
            for v in op.inputs:
                if isinstance(v.type, Array) and not self.order.inside(v, loop) and _is_there(v):
                    for k, d in enumerate(v.type.dims):
                        if isinstance(d, Sym):
                            self.lengths.setdefault(d, (v, k))

    def add(self, op: Op) -> bool:
        """Ask that an access be within bounds; whether that can be asked before the loop."""
        base = op.inputs[0]
        assert isinstance(base.type, Array)
        if self.order.inside(base, self.loop):
            return False
        spec = op.attrs["spec"] if op.kind == "view" else ["i"] * base.type.ndim
        first = op.row.indices_at or 0
        rest = iter(enumerate(op.inputs[first:], first))
        asked: list[Form] = []
        ends: list[tuple[int, int, int]] = []
        axis = 0
        for entry in spec:
            if entry == "i":
                at, given = next(rest)
                index = self.bounds.of(given)
                if not index.terms and index.constant < 0:
                    ends.append((at, axis, index.constant))
                    if not op.attrs.get("inbounds"):
                        asked.append(self._length(base, axis).shifted(index.constant))
                    axis += 1
                    continue
                low, high = self._end(index, least=True), self._end(index, least=False)
                if low is None or high is None:
                    return False
                asked.append(low)
                if not op.attrs.get("inbounds"):
                    asked.append(self._length(base, axis).plus(high, -1).shifted(-1))
            elif isinstance(entry, tuple):
                for given in entry[1:]:
                    if given:
                        next(rest)
            axis += entry != "n"
        if any(not self._can_write(a) for e in asked for a in e.terms) or not all(map(_is_small, asked)):
            return False
        for e in asked:
            certain = e.constant >= 0 and all(isinstance(a, Sym) and k > 0 for a, k in e.terms.items())
            if not certain:
                self.wanted.setdefault((e.constant, tuple(sorted(e.terms.items(), key=lambda x: id(x[0])))), e)
        self.from_the_end[op] = ends
        return True

    def _length(self, base: Value, axis: int) -> Form:
        """How long an array is along an axis."""
        assert isinstance(base.type, Array)
        d = base.type.dims[axis]
        if isinstance(d, int):
            return Affine(d, {})
        self.lengths.setdefault(d, (base, axis))
        return Affine(0, {d: 1})

    def free(self, check: Check) -> None:
        """Free the accesses of their tests: indices that count from the end are counted from the start."""
        for block, op in self.able:
            op.attrs |= {"inbounds": check, "nonneg": True}
            for place, axis, constant in self.from_the_end[op]:
                _from_the_start(block, op, place, axis, constant)

    def _can_write(self, atom: object) -> bool:
        if isinstance(atom, Sym):
            return atom in self.lengths
        return isinstance(atom, Value) and self.order.visible(atom, self.loop)

    def _end(self, e: Form, *, least: bool) -> Form | None:
        """The least or greatest value of a sum over all iterations, in numbers that are known before the loop."""
        for _ in range(4 * _MOST):
            inner = [a for a in e.terms if isinstance(a, Value) and self.order.inside(a, self.loop)]
            if not inner:
                return e
            atom = max(inner, key=lambda a: len(self.order.enclosing(a.block)))  # pyright: ignore[reportArgumentType]
            k = e.terms[atom]
            end = self.bounds.extreme(atom, least=least == (k > 0)) or self._last(atom)
            if end is None:
                return None
            e = e.plus(Affine(0, {atom: 1}), -k).plus(end, k)
        return None

    def _last(self, v: Value) -> Form | None:
        """What an integer is at last that a loop over a range adds a constant to."""
        found = self.bounds.running.of(v) if v.op is None else None
        if found is None or not found.constant or found.loop.kind != "for":
            return None
        start, stop, step = found.loop.inputs[:3]
        if const_of(step) != 1:
            return None
        steps = self.bounds.of(stop).plus(self.bounds.of(start), -1).shifted(-1)
        return self.bounds.of(found.first).plus(steps, found.times)

    def write(self) -> Block:
        """The operations that compute the condition, as a block with one result."""
        build, block = Builder(), Block()
        with build.inside(block):
            zero = build.const(0, INT)
            atoms = {a: self._atom(build, a) for e in self.wanted.values() for a in e.terms}
            tests: list[Value] = []
            for a, v in list(atoms.items()):
                if isinstance(a, Value) and const_of(v) is None:
                    low, high = build.const(-_FAR, INT), build.const(_FAR, INT)
                    tests.append(build.value("less", [v, high], BOOL))
                    tests.append(build.value("greater", [v, low], BOOL))
                    # The sums below are computed whatever these two say, and must not overflow.
                    atoms[a] = build.value("minimum", [build.value("maximum", [v, low], INT), high], INT)
            for e in self.wanted.values():
                total = build.const(e.constant, INT)
                for a, k in e.terms.items():
                    part = atoms[a]
                    if abs(k) != 1:
                        part = build.value("multiply", [part, build.const(abs(k), INT)], INT, nowrap=True)
                    total = build.value("add" if k > 0 else "subtract", [total, part], INT, nowrap=True)
                tests.append(build.value("greater_equal", [total, zero], BOOL))
            block.results = [reduce(lambda a, b: build.value("logical_and", [a, b], BOOL), tests)]
        return block

    def _atom(self, build: Builder, atom: object) -> Value:
        if isinstance(atom, Sym):
            array, axis = self.lengths[atom]
            return build.value("dim", [array], INT, axis=axis)
        assert isinstance(atom, Value)
        return atom if atom.type == INT else build.value("cast", [atom], INT)


def _is_small(e: Form) -> bool:
    """Whether a sum of numbers below `_FAR` cannot overflow."""
    return abs(e.constant) <= _PLUS and len(e.terms) <= _MOST and all(abs(k) <= _TIMES for k in e.terms.values())


def _is_there(v: Value) -> bool:
    """Whether a value is an array for certain, and not what stands for one on a path that has not made it."""
    return v.op is None or (v.op.kind != "undef" and not v.op.row.control)


def _from_the_start(block: Block, op: Op, place: int, axis: int, constant: int) -> None:
    """Count the constant at a place of an access's operands from the start of the axis."""
    build, before = Builder(), Block()
    base = op.inputs[0]
    assert isinstance(base.type, Array)
    with build.inside(before):
        size = base.type.dims[axis]
        length = build.const(size, INT) if isinstance(size, int) else build.value("dim", [base], INT, axis=axis)
        op.inputs[place] = build.value("subtract", [length, build.const(-constant, INT)], INT, nowrap=True)
    at = block.ops.index(op)
    block.ops[at:at] = before.ops
    for made in before.ops:
        made.out.block = block


def _split(block: Block, loop: Op, asked: _Test, test: Block) -> None:
    """Print the loop twice.

    What the loop gave stays the same values, now of the branch around it: nobody who reads them needs to be told, be it
    the program or the tests of loops that are yet to be split.
    """
    careful = Block()
    copy = clone_op(loop, {}, careful)
    careful.results = list(copy.outputs)
    tested = Check("versions")
    asked.free(tested)
    quick = Block(ops=[loop])
    both = Op("if", [test.results[0]], loop.outputs, regions=[quick, careful], loc=loop.loc)
    loop.outputs = []
    for v in both.outputs:
        loop.outputs.append(clone_value(v, {}, loop, quick))
        v.op, v.block = both, block
    quick.results = list(loop.outputs)
    both.attrs = {k: loop.attrs.pop(k) for k in LABELS if k in loop.attrs}
    for k in both.attrs:
        copy.attrs.pop(k, None)
    both.attrs[CHECKS] = (tested,)
    at = block.ops.index(loop)
    block.ops[at : at + 1] = [*test.ops, both]
