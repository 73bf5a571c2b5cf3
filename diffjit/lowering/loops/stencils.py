"""Additions to shifted parts of one array become one operation: what the way back of a stencil is made of.

    a = zeros(n + 2, m + 2)               a = empty(n + 2, m + 2)
    a[1:-1, 2:] += t             ->       add_shifted a, t, c     shifts (0, 1, 2), (0, 1, 0)
    a[1:-1, :-2] += -(c * t)              steps (), (multiply 0, negative)      fresh

One by one they read and write all of `a` each time, and are a kernel each: an element of `a` is then in several of
them, and each multiple of `t` is an array or is computed again. Numbers and order of what is added to each element
stay. They are where the last of them was, so nothing may read `a` or change what is added in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.raising import may_raise
from diffjit.ir.roots import Latest, Roots
from diffjit.ir.types import Array, List, Scalar, Stack
from diffjit.ir.walk import blocks, uses
from diffjit.lowering.loops import fuse

SHIFTED = "add_shifted"
declare(
    Row(SHIFTED, "dst *sources",
        "attrs shifts (which source, first index along each axis), steps (what is done to its elements: `negative`, or "
        "a product with which number), sources (how many; numbers behind them), fresh (dst has no elements yet, and is "
        "zero where nothing falls): dst[first:] += source, each (made while lowering)",
        raises=Raises.NEVER, writes=(0,), adds=True)
)  # fmt: skip

_MOST = 32  # parts
_SOURCES = 4  # which are all kept until the last part has been added
_DEEPEST = 3  # steps
_PRODUCTS = ("multiply", "zmul")
_WITHOUT_ELEMENTS = {"zeros": "empty", "zeros_like": "empty_like"}

Uses = Mapping[Value, Sequence[Op | Block]]


def join_shifted(function: Function) -> None:
    """Join what adds to parts of the same array, in place."""
    roots = analyses(function).roots
    used = uses(function)
    found = [run for block in blocks(function.body) for run in _Runs(block, roots, used).found()]
    for run in found:
        run.join()


@dataclass(frozen=True, slots=True)
class _Addition:
    """One of them."""

    op: Op
    array: Value
    source: Value
    steps: tuple[tuple[str, Value | None], ...]  # what is done to its elements, the first first
    since: float  # from where on the source must stay as it is
    first: tuple[int, ...]  # the first index along each axis


@dataclass(slots=True, eq=False)
class _Run:
    """Several in turn that add to the same array."""

    block: Block
    array: Value
    fresh: bool  # nothing has read or written it before
    parts: list[_Addition] = field(default_factory=list[_Addition])

    @property
    def sources(self) -> list[Value]:
        """What is added."""
        return list(dict.fromkeys(a.source for a in self.parts))

    def join(self) -> None:
        """Put one operation in place of the last of them."""
        sources = self.sources
        numbers = list(dict.fromkeys(n for a in self.parts for _, n in a.steps if n is not None))
        assert isinstance(self.array.type, Array)
        ahead, kind = Block(), Scalar(self.array.type.dtype)
        build = Builder(ahead)
        with build.inside(ahead):
            given = [n if const_of(n) is None else build.const(const_of(n), kind) for n in numbers]
        attrs = {
            "shifts": tuple((sources.index(a.source), *a.first) for a in self.parts),
            "steps": tuple(
                tuple((kind, -1 if n is None else numbers.index(n)) for kind, n in a.steps) for a in self.parts
            ),
            "sources": len(sources),
            "fresh": self.fresh,
        }
        last = self.parts[-1].op
        made = Op(SHIFTED, [self.array, *sources, *given], attrs=attrs, loc=last.loc)
        gone = {a.op for a in self.parts}
        for op in ahead.ops:
            op.out.block = self.block
        self.block.ops = [
            o
            for op in self.block.ops
            if op is last or op not in gone
            for o in ((*ahead.ops, made) if op is last else (op,))
        ]
        if self.fresh and self.array.op is not None:
            self.array.op.kind = _WITHOUT_ELEMENTS[self.array.op.kind]


class _Runs:
    """Finds those of one block."""

    def __init__(self, block: Block, roots: Roots, used: Uses) -> None:
        self.block, self.roots, self.used = block, roots, used
        self.places = {op: k for k, op in enumerate(block.ops)}
        self.read, self.written = Latest(roots), Latest(roots)
        self.open: list[_Run] = []
        self.closed: list[_Run] = []

    def found(self) -> Iterator[_Run]:
        """The runs that pay."""
        for at, op in enumerate(self.block.ops):
            made = _addition(op, self.places, self.used)
            if made is not None and self._fits(made):
                self._add(made, at)
            else:
                self._pass(op, at)
        yield from filter(self._pays, (*self.closed, *self.open))

    def _fits(self, a: _Addition) -> bool:
        return not self.roots.may_alias(a.array, a.source) and self.written.of(a.source) < a.since

    def _add(self, a: _Addition, at: int) -> None:
        run = next((r for r in self.open if r.array is a.array), None)
        if run is not None and (len(run.parts) == _MOST or len({*run.sources, a.source}) > _SOURCES):
            self._close([run])
            run = None
        self._close([r for r in self.open if r is not run and self._meets(r, [a.source], [a.array])])
        if run is None:
            maker = a.array.op
            fresh = maker in self.places and maker.kind in _WITHOUT_ELEMENTS
            fresh = fresh and self._is_own(a.array) and not self._is_touched(a.array)
            run = _Run(self.block, a.array, fresh)
            self.open.append(run)
        run.parts.append(a)
        self._note([a.source], [a.array], at)

    def _is_touched(self, array: Value) -> bool:
        return max(self.read.of(array), self.written.of(array)) >= 0

    def _pass(self, op: Op, at: int) -> None:
        reads, writes = fuse.touched(op)
        leaves = any(map(_may_show, (op, *fuse.inside(op))))
        self._close(
            [
                r
                for r in self.open
                if self._meets(r, reads, writes) or (leaves and not self._is_own(r.array))  # who sees what is there
            ]
        )
        self._note(reads, writes, at)

    def _meets(self, run: _Run, reads: list[Value], writes: list[Value]) -> bool:
        """Whether somebody sees what the run has added, or changes what it adds or adds to."""
        own = [run.array, *run.sources]
        return any(self.roots.may_alias(run.array, v) for v in (*reads, *writes)) or any(
            self.roots.may_alias(v, w) for v in own for w in writes
        )

    def _is_own(self, array: Value) -> bool:
        """Whether nobody can see an array's elements but by this name and views."""
        return self.roots.allocated(array) and self.roots.root(array) not in self.roots.escaped

    def _note(self, reads: list[Value], writes: list[Value], at: int) -> None:
        for v in reads:
            self.read.note(v, at)
        for v in writes:
            self.written.note(v, at)

    def _close(self, runs: list[_Run]) -> None:
        self.closed += runs
        self.open = [r for r in self.open if r not in runs]

    def _pays(self, run: _Run) -> bool:
        """Whether enough of what is added is an array all the same: the rest would be computed where it is added."""
        counts = Counter(a.source for a in run.parts)
        made = [
            n
            for v, n in counts.items()
            if n > 1 or v.op is None or not fuse.is_elementwise(v.op) or len(self.used.get(v, ())) > 1
        ]
        return len(run.parts) > 1 and sum(made) > (0 if run.fresh else 1)


def _may_show(op: Op) -> bool:
    """Whether somebody may see the elements of an array that others hold as well: on an error, or in a list."""
    held = any(isinstance(v.type, (List, Stack)) for v in op.inputs)
    return held or op.row.effect or op.row.nested or op.kind == "call" or may_raise(op)


def _addition(op: Op, places: Mapping[Op, int], used: Uses) -> _Addition | None:
    """An operation that adds an array to a part of another one of the same rank, element by element."""
    if op.kind != "accum":
        return None
    part, source = op.inputs
    ty, other = part.type, source.type
    if part.op is None or part.op.kind != "view" or not isinstance(ty, Array) or not isinstance(other, Array):
        return None
    if ty.dtype != other.dtype or ty.dtype.kind != "f" or ty.dims != other.dims:
        return None
    array = part.op.inputs[0]
    first = _first(part.op)
    if first is None or not isinstance(array.type, Array) or len(first) != array.type.ndim:
        return None
    since, steps = places[op], list[tuple[str, Value | None]]()
    while len(steps) < _DEEPEST:
        step = _step(source, places, used)
        if step is None:
            break
        assert source.op is not None
        since, source = min(since, places[source.op]), step[2]
        steps.insert(0, step[:2])
    return _Addition(op, array, source, tuple(steps), since, first)


def _step(v: Value, places: Mapping[Op, int], used: Uses) -> tuple[str, Value | None, Value] | None:
    """What is done to the elements of which array; None for what is wanted as an array all the same."""
    op = v.op
    if op is None or op not in places or op.kind not in ("negative", *_PRODUCTS):
        return None
    if any(not isinstance(u, Op) or not _only_reads(u, v) for u in used.get(v, ())):
        return None
    if op.kind == "negative":
        return ("negative", None, op.inputs[0]) if op.inputs[0].type == v.type else None
    a, b = op.inputs
    if op.kind == "multiply" and isinstance(a.type, Scalar):
        a, b = b, a
    assert isinstance(v.type, Array)
    if a.type != v.type or not isinstance(b.type, Scalar) or b.type.dtype.kind not in "fi":
        return None
    return (op.kind, b, a) if const_of(b) is not None or b.type.dtype == v.type.dtype else None


def _only_reads(user: Op, v: Value) -> bool:
    """Whether an operation takes elements of an array one by one, and leaves them what they are."""
    adds_to = user.kind == "accum" and user.inputs[0] is v
    return user.kind in ("accum", "negative", *_PRODUCTS) and not adds_to


def _first(view: Op) -> tuple[int, ...] | None:
    """Where a part begins that is cut out by slices without steps; None where that hangs on lengths, or on the run."""
    given = iter(view.inputs[1:])
    found: list[int] = []
    for entry in view.attrs["spec"]:
        if entry == ":":
            found.append(0)
            continue
        if entry in ("i", "n"):
            return None
        start, _, step = (next(given) if there else None for there in entry[1:])
        first = const_of(start, -1) if start is not None else 0
        if step is not None or first < 0:
            return None
        found.append(int(first))
    return tuple(found)
