"""Which operations are printed inside the expression of their one use.

One pass over each block keeps the expressions that are *pending*: computed, but not yet printed. An operation that
stays a statement prints the pending ones among its operands, and forces out those others that it would change: loads
before a write, anything that reads a name which is about to get a new version.

What may raise is printed in the order of the program, before later writes and before accesses that need no test because
it has passed: such operations among the pending ones are *pinned*, each printed at its own place.

    before                          after
    %1 = load u, i                  u[i] = u[i] * k
    %2 = multiply %1, k
    store u, %2, i
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value, const_of, is_const, is_pure, written
from diffjit.ir.raising import relies
from diffjit.ir.roots import ANY, Root, Roots, is_fresh
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.types import INT, is_ref
from diffjit.ir.walk import has_exit

_STACKED = frozenset({"pop", "stack_copy"})
_LAZY = frozenset({"logical_and", "logical_or", "select", "where"})  # Python may leave out an operand of these
_INDENT = 4
_DEEPEST = 30  # Python's parser and the recursion limit bound how deeply expressions nest

User = tuple[Op | None, Block]  # an operation and its block; None for the block's results


@dataclass(slots=True)
class Pending:
    """An expression that is not printed yet."""

    leaves: set[Value] = field(default_factory=set[Value])  # the variables that it reads
    reads: set[Root] = field(default_factory=set["Root"])  # the memory that it reads
    pops: bool = False  # it pops from a stack
    size: int = 0  # its length as text, roughly
    depth: int = 1  # how deeply it is nested
    tests: list[tuple[int, Value]] = field(default_factory=list[tuple[int, Value]])  # what may raise, with its place

    def include(self, part: Pending) -> None:
        """Make another expression an operand of this one."""
        self.leaves |= part.leaves
        self.reads |= part.reads
        self.pops |= part.pops
        self.size += part.size + 2
        self.depth = max(self.depth, part.depth + 1)
        self.tests += part.tests


@dataclass(slots=True)
class Summary:
    """What the printing of an operation or a block changes."""

    writes: set[Root] = field(default_factory=set["Root"])
    pops: bool = False
    acts: bool = False  # it may raise, is seen outside, or needs no test because something has not raised
    hints: set[str] = field(default_factory=set[str])  # names that get a new version

    def add(self, other: Summary) -> None:
        """Include another's changes."""
        self.writes |= other.writes
        self.pops |= other.pops
        self.acts |= other.acts
        self.hints |= other.hints


class Folding:
    """Decides what is folded.

    `folded` holds the values; `tails` maps the id of a block to its last `if`, where its joins move into the branches.
    """

    def __init__(self, function: Function, printer: OpPrinter) -> None:
        self.printer = printer
        self.roots = Roots(function)
        self.folded: set[Value] = set()
        self.popping: set[Value] = set()  # folded values whose text pops from a stack
        self.results: dict[tuple[Value, int], Pending] = {}  # what the results of a block (by its id) are made of
        self.tails: dict[int, Op] = {}  # id of a block -> its tail
        self.counters: set[Value] = set()  # of loops: they have one value throughout an iteration
        self.places = 0  # operations seen so far that may raise
        counted: dict[Value, list[User]] = defaultdict(list)
        self._count(function.body, counted)
        self.users = dict(counted)
        self.left = {v: len(users) for v, users in counted.items()}  # uses that are yet to be printed
        self._block(function.body, 1, None)

    def _count(self, block: Block, counted: dict[Value, list[User]]) -> None:
        for op in block.ops:
            for v in op.inputs:
                counted[v].append((op, block))
            for region in op.regions:
                self._count(region, counted)
        for v in block.results:
            counted[v].append((None, block))

    # Blocks

    def _block(self, block: Block, depth: int, loop: Op | None) -> Summary:
        """Decide for one block; `loop` is the loop whose body it is."""
        total = Summary()
        pending: dict[Value, Pending] = {}
        if loop is not None and has_exit(loop):
            self._find_tail(block, block.results[0])
        overwritten = self._overwritten(block)
        for op in block.ops:
            if op.row.literal or self._is_beside_counter(op):
                self.folded.add(op.out)
                continue
            total.add(self._operation(op, block, pending, depth, overwritten))
        self._end(block, pending, depth)
        total.hints.update(v.name for v in block.args if v.name)
        return total

    def _operation(
        self, op: Op, block: Block, pending: dict[Value, Pending], depth: int, overwritten: set[Value]
    ) -> Summary:
        changes = Summary()
        inner = depth + 1
        if op.kind == "for":
            self.counters.add(op.regions[0].args[0])
        for region in op.regions:
            body = op if op.row.loop and region is op.regions[-1] else None
            changes.add(self._block(region, inner, body))
        if op.row.loop:
            self._pin(pending.values(), pending)
        taken = self._operands(op, pending, self.printer.width - _INDENT * depth - 16)
        changes.hints.update(v.name for v in op.outputs if v.name)
        raises = self.printer.raises(op)
        changes.acts |= raises
        if self._is_candidate(op, block, overwritten):
            if relies(op):
                self._pin(pending.values(), pending)
                changes.acts = True
            if raises:
                self.places += 1
                taken.tests.append((self.places, op.out))
            if op.kind in _STACKED:
                self._force(pending, Summary(pops=True), taken)
                taken.pops = changes.pops = True
            if self.printer.moves_memory(op):
                taken.reads |= {self.roots.of(v) for v in op.inputs if is_ref(v.type)} or {ANY}
            for region in op.regions:
                part = self.results[region.results[0], id(region)]
                part.tests = []  # they keep their place in the branch
                taken.include(part)
            if taken.pops:
                self.popping.add(op.out)
            taken.size += op.row.size or len(op.kind) + 6
            pending[op.out] = taken
            self.folded.add(op.out)
            return changes
        if op.row.adds and relies(op):  # `a[i] += x` reads a[i], without a test, before x
            self._pin([taken], pending)
        self._own_changes(op, changes)
        self._force(pending, changes, taken)
        self._settle(pending.values(), taken, pending, acts=changes.acts)
        return changes

    def _operands(self, op: Op, pending: dict[Value, Pending], width: int) -> Pending:
        if op.kind in _LAZY:
            self._unfold(pending, [v for v in op.inputs if v in pending and (pending[v].pops or pending[v].tests)])
        if not op.row.loop:
            return self._take(op.inputs, pending, width)
        bounds = len(op.inputs) - len(op.outputs)
        if bounds:
            # The bounds are read after the carried variables have their first values.
            carried = {v.name for v in op.outputs} | {v.name for v in op.regions[0].args}
            clashing = [
                v
                for v in op.inputs[:bounds]
                if v in pending and any(x.name in carried for x in pending[v].leaves if x.name)
            ]
            self._unfold(pending, clashing)
            self._take(op.inputs[:bounds], pending, width)
        self._unfold(pending, [v for v in op.inputs[bounds:] if v in pending and pending[v].pops])  # as in `_end`
        for v in op.inputs[bounds:]:
            self._take([v], pending, width)
        return Pending()

    def _own_changes(self, op: Op, changes: Summary) -> None:
        if op.kind == "call" or op.row.effect:
            changes.writes.add(ANY)
            changes.pops = changes.acts = True
        if op.kind in ("push", "pop"):
            changes.pops = True
        else:
            changes.writes.update(self.roots.of(op.inputs[k]) for k in written(op))
        changes.pops |= op.kind == "stack_copy"
        changes.acts |= relies(op) or not all(map(is_fresh, changes.writes))

    def _end(self, block: Block, pending: dict[Value, Pending], depth: int) -> None:
        if id(block) in self.tails:
            # The results are copied in each of the tail's branches: nothing can be printed there in place.
            self._unfold(pending, [v for v in block.results if v in pending])
        # A result that nobody reads is not printed, but pops must happen.
        self._unfold(pending, [v for v in block.results if v in pending and pending[v].pops])
        if sum(len(pending[v].tests) for v in set(block.results) if v in pending) > 1:
            self._pin(pending.values(), pending)  # the results are copied in an order of their own
        for v in block.results:
            self.results[v, id(block)] = self._take([v], pending, self.printer.width - _INDENT * depth - 16)

    # Candidates

    def _is_candidate(self, op: Op, block: Block, overwritten: set[Value]) -> bool:
        if len(op.outputs) != 1 or not (is_pure(op) or op.kind == "pop" or self._is_conditional(op)):
            return False
        out = op.out
        users = self.users.get(out, ())
        if len(users) != 1:
            return len(users) == 2 and self._is_updated_view(op, block) and self.printer.foldable(op)
        if users[0][1] is not block:
            return False
        if out in overwritten and op.kind != "pop":
            return self.printer.expressible(op)
        return self.printer.foldable(op)

    def _is_beside_counter(self, op: Op) -> bool:
        """Whether this is `i + 1` or `i - 1` of a loop's counter: shorter than a name for it, wherever it is used."""
        if op.kind not in ("add", "subtract") or not op.attrs.get("nowrap") or op.out.name is not None:
            return False
        return is_const(op.inputs[1]) and op.inputs[0] in self.counters and op.out.type == INT

    def _is_conditional(self, op: Op) -> bool:
        """Whether an `if` with one output can be printed as `a if c else b`: nothing in its branches is a statement."""
        if op.kind != "if":
            return False
        plain = all(
            inner.row.literal or (len(inner.outputs) == 1 and inner.out in self.folded)
            for region in op.regions
            for inner in region.ops
        )
        ends = [region.results[0] for region in op.regions]
        unset = any(v.op is not None and v.op.kind == "undef" for v in ends)
        pops = any(self.results[v, id(region)].pops for v, region in zip(ends, op.regions, strict=True))
        return plain and not unset and not pops

    def _is_updated_view(self, op: Op, block: Block) -> bool:
        """Whether this view is only read and written by `assign(view, view + ...)`, which prints as `view += ...`."""
        if op.kind != "view":
            return False
        (first, block1), (second, block2) = self.users[op.out]
        if first is None or second is None or block1 is not block or block2 is not block:
            return False
        return (
            second.row.updates
            and first.row.augments
            and first.inputs[0] is op.out
            and second.inputs[0] is op.out
            and second.inputs[1] is first.out
            and len(self.users[first.out]) == 1
        )

    def _overwritten(self, block: Block) -> set[Value]:
        """Results of the block that are new versions of a name whose old version is still read after them.

        Folded into the copies at the end of the block they print as `a, b = b, a + b`; else they would need a second
        name.
        """
        named = {v for v in block.results if v.name and v.op is not None and self.users[v] == [(None, block)]}
        if not named or id(block) in self.tails:
            return set()
        found: set[Value] = set()
        hints = {v.name for v in named}
        later: dict[str, set[Value]] = defaultdict(set)
        for v in block.results:
            self._note(v, hints, later)
        for op in reversed(block.ops):
            for v in op.outputs:
                if v in named and v.name and later[v.name] - {v}:
                    found.add(v)
            for v in op.inputs:
                self._note(v, hints, later)
            for region in op.regions:
                self._note_region(region, hints, later)
        return found

    def _note(self, v: Value, hints: set[str | None], later: dict[str, set[Value]]) -> None:
        if v.name in hints and v.name is not None:
            later[v.name].add(v)

    def _note_region(self, block: Block, hints: set[str | None], later: dict[str, set[Value]]) -> None:
        for op in block.ops:
            for v in op.inputs:
                self._note(v, hints, later)
            for region in op.regions:
                self._note_region(region, hints, later)
        for v in block.results:
            self._note(v, hints, later)

    def _find_tail(self, block: Block, leave: Value) -> None:
        """Find the last `if` of a loop's body where it decides whether to leave: its branches print `break`."""
        last = next((op for op in reversed(block.ops) if not op.row.literal), None)
        if last is None or last.kind != "if" or leave.op is not last:
            return
        if len(last.outputs) == 1 and all(is_pure(op) for region in last.regions for op in region.ops):
            return  # it will be an expression, or at least a variable that one test follows
        if all(user == (None, block) for v in last.outputs for user in self.users.get(v, ())):
            self.tails[id(block)] = last
            k = last.outputs.index(leave)
            for region in last.regions:
                self._find_tail(region, region.results[k])

    # Pending expressions

    def _take(self, inputs: Iterable[Value], pending: dict[Value, Pending], width: int) -> Pending:
        """Print operands inside the operation that reads them, but for the longest where the line would be too long."""
        whole = Pending()
        parts: list[tuple[int, Value]] = []
        inputs = list(inputs)
        self._unfold(pending, [v for v in inputs if v in pending and pending[v].depth >= _DEEPEST])
        for v in inputs:
            part = pending.get(v)
            if part is not None:
                parts.append((part.size, v))
                whole.size += part.size + 2 if len(self.users[v]) == 1 else 1  # `view += ...` prints the view once
            else:
                whole.size += _length(v) + 2
        if whole.size > width:
            for size, v in sorted(parts, key=lambda p: -p[0]):
                if whole.size <= width or size < 24:  # shorter ones gain nothing
                    break
                self._unfold(pending, [v])
                whole.size -= size - 8
        last = 0
        for v in inputs:
            part = pending.get(v)
            if part is not None and part.tests:
                if part.tests[0][0] < last:
                    self._pin([whole, *pending.values()], pending)
                    part = pending.get(v)
                else:
                    last = part.tests[-1][0]
            if part is None:
                if v not in self.folded:
                    whole.leaves.add(v)
                continue
            size = whole.size
            whole.include(part)
            whole.size = size
            self.left[v] -= 1
            if not self.left[v]:
                del pending[v]
        return whole

    def _force(self, pending: dict[Value, Pending], changes: Summary, taken: Pending) -> None:
        """Print those pending expressions before an operation, which takes others, that its changes would affect."""
        if not pending:
            return
        forced = [
            v
            for v, p in pending.items()
            if self.roots.overlap(p.reads, changes.writes)
            or (p.pops and changes.pops)
            or (changes.hints and any(leaf.name in changes.hints for leaf in p.leaves))
        ]
        self._unfold(pending, forced, taken)

    def _unfold(self, pending: dict[Value, Pending], values: Iterable[Value], taken: Pending | None = None) -> None:
        """Print expressions at their own places; `taken`: what an operation at hand will print later."""
        for v in values:
            part = pending.pop(v, None)
            self.folded.discard(v)
            if part is not None:
                later = [*pending.values(), *([taken] if taken is not None else [])]
                self._settle(later, part, pending, acts=False)

    def _settle(self, later: Iterable[Pending], printed: Pending, pending: dict[Value, Pending], *, acts: bool) -> None:
        """Keep what may raise in its order, as something is printed that acts, or may raise itself."""
        later = list(later)
        tests, others = printed.tests, [p.tests for p in later if p.tests]
        if not others or not (acts or (tests and min(t[0] for t in others) < tests[-1])):
            return
        if tests and max(t[-1] for t in others) > tests[0]:
            self._pin([printed], pending)
        self._pin(later, pending)

    def _pin(self, parts: Iterable[Pending], pending: dict[Value, Pending]) -> None:
        """Print what may raise in some expressions at its own place."""
        for part in list(parts):
            for _, v in part.tests:
                self.folded.discard(v)
                pending.pop(v, None)
                part.leaves.add(v)
            part.tests = []


def _length(v: Value) -> int:
    """The length of the text of a value that is not folded, or of a constant."""
    return len(repr(const_of(v)) if is_const(v) else v.name or "abc")
