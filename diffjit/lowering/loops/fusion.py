"""Array operations of one block that run in the same loops, without temporaries.

    before                              after
    %1 = multiply x, y                  nest over n:   t = x[i] * y[i]
    %2 = sum %1                                        s += t
    %3 = exp %1                                        out[i] = exp(t) / x[i]
    %4 = divide %3, x

Operations are taken in their order. One whose result has a single user in loops waits for that user. The others join
the last nest over the same indices that nothing forbids: what they read is there by then, and nobody between reads or
writes what they write. Numbers and views move to where their operands are known, so a nest of the forward sweep also
takes work of the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from diffjit.analysis.manager import analyses
from diffjit.analysis.proven import proofs, untested
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, const_of, is_const, is_view
from diffjit.ir.ops import Raises, Row, declare
from diffjit.ir.raising import is_length, raises_in_python, relies
from diffjit.ir.roots import Latest, Roots
from diffjit.ir.types import Array, Dim, Scalar, Sym, not_one
from diffjit.ir.walk import blocks, dce, uses
from diffjit.lowering.loops import fuse
from diffjit.lowering.loops.again import compute_again, copied_for, of_one_array
from diffjit.lowering.loops.skinny import write_out_products

NEST = "nest"
declare(
    Row(NEST, "*inputs", "attrs members (operations, in order), space, writes: loops in common (made while lowering)",
        raises=Raises.NUMBERS)
)  # fmt: skip

_MOST_MEMBERS = 400
_MOST_ARRAYS = 32  # each is a stream of memory, or a register that holds its address
_FEW_ARRAYS = 8  # so many for operations that have nothing in common


def fuse_loops(function: Function) -> None:
    """Put array operations of each block into common nests, in place."""
    write_out_products(function)
    _shapes_from_outside(function.body, {}, function.params)
    stays, inside = untested(function), proofs(function)
    dce(function, stays)
    roots = analyses(function).roots
    users = uses(function)
    changed = [
        compute_again(block, roots, users, lambda op: raises_in_python(op, inside)) for block in blocks(function.body)
    ]
    if any(changed):
        users = uses(function)
    for block in list(blocks(function.body)):
        if sum(1 for op in block.ops if fuse.runs_in_loops(op)) > 1:
            _Scheduler(block, roots, users, stays, inside).run()


def _shapes_from_outside(
    block: Block,
    known: dict[tuple[Dim, ...], Value],
    given: Iterable[Value],
    lengths: dict[Dim, tuple[Value, int]] | None = None,
) -> None:
    """Lengths and shapes are read of the first array that has them, so that nests need not wait for later ones."""
    lengths = {} if lengths is None else lengths

    def see(v: Value) -> None:
        ty = v.type
        if isinstance(ty, Array):
            known.setdefault(ty.dims, v)
            for k, d in enumerate(ty.dims):
                lengths.setdefault(d, (v, k))

    for v in given:
        see(v)
    for op in block.ops:
        source = op.inputs[0] if op.inputs else None
        if op.kind == "dim" and isinstance(source, Value) and isinstance(source.type, Array):
            v, axis = lengths.get(source.type.dims[op.attrs["axis"]], (source, op.attrs["axis"]))
            op.inputs = [v]
            op.attrs["axis"] = axis
        elif op.kind == "unbroadcast":
            like = op.inputs[1]
            if isinstance(like.type, Array):
                op.inputs[1] = known.get(like.type.dims, like)
        elif (
            op.kind == "zeros_like"
            and isinstance(source, Value)
            and isinstance(source.type, Array)
            and op.out.type.layout != "F"
        ):  # type: ignore[union-attr]
            op.inputs[0] = known.get(source.type.dims, source)
        for region in op.regions:
            _shapes_from_outside(region, dict(known), (), dict(lengths))
        if not op.row.control and op.kind != "undef":  # joined with what has no value, one may be empty
            for v in op.outputs:
                see(v)


@dataclass(slots=True, eq=False)
class _Group:
    """Operations in one nest."""

    at: int
    space: tuple[Dim, ...]
    members: list[Op] = field(default_factory=list[Op])
    made: set[Value] = field(default_factory=set[Value])  # elements that members may use
    results: set[Value] = field(default_factory=set[Value])  # what is known after the loops only
    reads: list[Value] = field(default_factory=list[Value])  # arrays from outside
    writes: list[Value] = field(default_factory=list[Value])
    alone: bool = False

    def add(self, op: Op) -> None:
        """Append a member."""
        self.members.append(op)
        for v in fuse.array_inputs(op):
            if v not in self.made and v not in self.reads:
                self.reads.append(v)
        if op.row.updates:
            self.writes.append(op.inputs[0])
        elif fuse.is_elementwise(op) or fuse.is_fill(op):
            self.made.add(op.out)
        else:
            self.results.add(op.out)

    @property
    def arrays(self) -> int:
        """How many arrays are read or written, without those that only leave."""
        return len(self.reads) + len(self.writes)


class _Lengths:
    """Lengths that are equal because an operation needs them to be."""

    def __init__(self) -> None:
        self.up: dict[Dim, Dim] = {}

    def find(self, d: Dim) -> Dim:
        """One length for all that are equal."""
        while d in self.up:
            d = self.up[d]
        return d

    def learn(self, op: Op) -> None:
        """Lengths that meet and cannot be 1 are equal."""
        if not fuse.is_elementwise(op) and not op.row.updates:
            return
        shapes = [fuse.dims_of(v) for v in op.inputs if isinstance(v.type, Array)]
        for k in range(1, max(map(len, shapes), default=0) + 1):
            meeting = [s[-k] for s in shapes if len(s) >= k and not_one(s[-k])]
            for d in meeting[1:]:
                a, b = self.find(meeting[0]), self.find(d)
                if a != b:
                    a, b = (b, a) if isinstance(b, Sym) and isinstance(a, int) else (a, b)
                    if isinstance(a, Sym):
                        self.up[a] = b

    def same(self, a: Sequence[Dim], b: Sequence[Dim]) -> bool:
        """Whether two shapes are equal for certain."""
        return len(a) == len(b) and all(self.find(x) == self.find(y) for x, y in zip(a, b, strict=True))


class _Scheduler:
    """Finds the nests of one block and puts its operations into their new order."""

    def __init__(
        self,
        block: Block,
        roots: Roots,
        users: dict[Value, list[Op | Block]],
        raises: Callable[[Op], bool],
        inside: Callable[[Op], bool],
    ) -> None:
        self.block, self.roots, self.users, self.inside = block, roots, users, inside
        self.raises = raises  # accesses whose index may be out of bounds
        self.here = set(map(id, block.ops))
        self.lengths = _Lengths()
        self.slots: list[Op | _Group] = []
        self.after: dict[int, list[Op]] = {}  # numbers and views known once a slot is done
        self.position: dict[Value, float] = {}  # the slot that makes a value, or 0.5 more: known after it
        self.waiting: dict[Value, list[Op]] = {}  # results not placed yet, with the operations behind them
        self.read, self.written = Latest(roots), Latest(roots)  # the last slots that read or write memory
        self.effect = (
            -1
        )  # the last slot that reads what may not be there, tests what others rely on, or is seen outside
        self.seen = -1.0  # behind the last slot that is seen outside: what may raise stays behind it
        self.fault = -1.0  # behind the last slot that may raise: the caller's arrays are then as they were before

    def run(self) -> None:
        """Decide, and reorder the block."""
        for op in self.block.ops:
            self._operation(op)
        self._place(list(self.waiting))
        self._sink()
        self._compute_again()
        self.block.ops = list(self._ordered())

    # Operations

    def _operation(self, op: Op) -> None:
        self.lengths.learn(op)
        if fuse.is_fill(op) or fuse.runs_in_loops(op):
            if self._waits(op):
                self.waiting[op.out] = [*self._behind(self._melting(op)), op]
                return
            if fuse.runs_in_loops(op):
                self._fusible(op)
                return
        if self._is_light(op):
            self._after(op, max(self._known(op.inputs), self.effect if relies(op) else -1))
        elif op.kind == "load" and not self.raises(op):
            source = op.inputs[0]
            at = self._after(op, max(self._known(op.inputs), self.effect, self.written.of(source)))
            self.read.note(source, at)
        else:
            self._append(op)

    def _after(self, op: Op, at: float) -> float:
        """Put an operation behind a slot; returns its position."""
        slot = int(at // 1)
        self.after.setdefault(slot, []).append(op)
        for v in op.outputs:
            self.position[v] = slot + 0.5
        return slot + 0.5

    def _append(self, op: Op) -> None:
        """An operation in a slot of its own, behind all that is there."""
        reads, writes = fuse.touched(op)
        seen = self._is_seen(op, writes)
        if seen or self._may_raise(op):
            self._place([v for v, ops in self.waiting.items() if any(map(self._may_raise, ops))])
        self._place([v for v, ops in self.waiting.items() if self._conflict(ops, writes) or v in op.inputs])
        at = len(self.slots)
        self.slots.append(op)
        for v in op.outputs:
            self.position[v] = at
        for v in reads:
            self.read.note(v, at)
        for v in writes:
            self.written.note(v, at)
        if any(o.row.effect or o.kind == "call" or CHECKS in o.attrs or self.raises(o) for o in (op, *fuse.inside(op))):
            self.effect = at
        if seen:
            self.seen = at + 0.5
        if self._may_raise(op):
            self.fault = at + 0.5

    def _is_seen(self, op: Op, writes: Iterable[Value]) -> bool:
        """Whether somebody sees, once something has raised, that an operation has run."""
        return not all(map(self.roots.allocated, writes)) or any(
            o.row.effect or o.kind == "call" for o in (op, *fuse.inside(op))
        )

    def _place_faults(self, writes: Iterable[Value], melting: Sequence[Value] = ()) -> None:
        """What waits and may raise does so before arrays of the caller are written."""
        if all(map(self.roots.allocated, writes)):
            return
        self._place([v for v, ops in self.waiting.items() if v not in melting and any(map(self._may_raise, ops))])

    def _may_raise(self, op: Op) -> bool:
        return raises_in_python(op, self.inside) or _raises_by_element(op)

    def _is_light(self, op: Op) -> bool:
        """Numbers, lengths and views, which cost nothing wherever they are, and cannot fail."""
        if op.kind in ("const", "dim", "undef", "stride") or (is_view(op) and not _may_fail(op)):
            return True
        return (
            len(op.outputs) == 1
            and isinstance(op.out.type, Scalar)
            and not op.regions
            and not op.row.writes
            and all(isinstance(v.type, Scalar) for v in op.inputs)
            and not op.row.effect
            and op.out.type.dtype.kind in "fb"  # ints may overflow
        )

    def _known(self, values: Iterable[Value]) -> float:
        """When the last of some values is there."""
        values = list(values)
        self._place([v for v in values if v in self.waiting])
        return max((self.position.get(v, -1) for v in values), default=-1)

    def _conflict(self, ops: list[Op], writes: Iterable[Value]) -> bool:
        return any(self.roots.may_alias(w, v) for op in ops for v in fuse.array_inputs(op) for w in writes)

    # Waiting

    def _waits(self, op: Op) -> bool:
        """Whether an operation is computed where its only user is."""
        if not (fuse.is_elementwise(op) or fuse.is_fill(op)) or _raises_by_element(op):
            return False
        if (
            fuse.is_fill(op)
            and op.row.lengths_at is not None
            and not all(map(is_length, op.inputs[op.row.lengths_at :]))
        ):
            return False  # its allocation tests them
        found = self.users.get(op.out, ())
        if len(found) != 1 or not isinstance(found[0], Op) or id(found[0]) not in self.here:
            return False
        user = found[0]
        if not fuse.runs_in_loops(user) or op.out not in fuse.element_inputs(user):
            return False
        dims, space = fuse.dims_of(op.out), fuse.space_of(user)
        if fuse.is_fill(op):  # nothing checks its lengths inside the loops
            return len(dims) <= len(space) and all(
                d in (1, known) for d, known in zip(dims[::-1], space[::-1], strict=False)
            )
        return fuse.covers(dims, space)

    def _melting(self, op: Op) -> list[Value]:
        return [v for v in dict.fromkeys(fuse.element_inputs(op)) if v in self.waiting]

    def _behind(self, melting: list[Value]) -> list[Op]:
        """The operations behind results that wait no longer."""
        return [o for v in melting for o in self.waiting.pop(v)]

    def _place(self, values: Iterable[Value]) -> None:
        """Give waiting results a place after all."""
        for v in values:
            ops = self.waiting.pop(v, None)
            if ops is None:
                continue
            if fuse.is_fill(ops[-1]):
                self._append(ops[-1])
            else:
                self._join(ops)

    # Nests

    def _fusible(self, op: Op) -> None:
        melting = self._melting(op)
        if op.row.updates:
            behind = [o for v in melting for o in self.waiting[v]]
            if not self._is_aligned(op, behind):
                self._place(melting)
                self._append(op)
                return
            writes = [op.inputs[0]]
            self._place_faults(writes, melting)
            others = [v for v, ops in self.waiting.items() if v not in melting and self._conflict(ops, writes)]
            self._place(others)
        self._join([*self._behind(melting), op])

    def _is_aligned(self, update: Op, behind: list[Op]) -> bool:
        """Whether an array may be written element by element while what it gets is computed."""
        target, source = update.inputs
        if fuse.dims_of(source) and len(fuse.dims_of(source)) > len(fuse.dims_of(target)):
            return False
        return all(self._apart(target, v) for o in (*behind, update) for v in fuse.array_inputs(o))

    def _apart(self, target: Value, v: Value) -> bool:
        """Whether the element of `v` at some indices is the one of `target` there, or none of its elements."""
        if not self.roots.may_alias(target, v):
            return True
        return same_place(target, v) and fuse.dims_of(target) == fuse.dims_of(v)

    def _join(self, ops: list[Op]) -> None:
        """Put operations, of which the last is the one that others see, into a nest."""
        op = ops[-1]
        inner = {o.out for o in ops[:-1]}
        inputs = [v for o in ops for v in o.inputs if v not in inner]
        shapes_only = [v for o in ops for v in o.inputs if v not in fuse.element_inputs(o) and not o.row.updates]
        self._place([v for v in inputs if v in self.waiting])
        group = None if _stands_alone(op) else self._candidate(ops, inputs, shapes_only)
        if group is None:
            group = _Group(len(self.slots), fuse.space_of(op), alone=_stands_alone(op))
            self.slots.append(group)
        for o in ops:
            group.add(o)
        if any(map(self._may_raise, ops)):  # lengths are tested before a nest writes anything
            self.fault = max(self.fault, group.at)
        for v in op.outputs:
            self.position[v] = group.at
        for v in group.reads:
            self.read.note(v, group.at)
        if not all(map(self.roots.allocated, group.writes)):
            self.seen = max(self.seen, group.at + 0.5)
        for v in group.writes:
            self.written.note(v, group.at)

    def _candidate(self, ops: list[Op], inputs: list[Value], shapes_only: list[Value]) -> _Group | None:
        """The last nest over the same indices that may take the operations in."""
        op = ops[-1]
        space = fuse.space_of(op)
        reads = [v for o in ops for v in fuse.array_inputs(o) if v in inputs]
        writes = [op.inputs[0]] if op.row.updates else []
        places = [self.position.get(v, -1) for v in inputs]
        places += [self.written.of(v) for v in (*reads, *writes)] + [self.read.of(v) for v in writes]
        first = max(places, default=-1)
        if any(map(self._may_raise, ops)):
            first = max(first, self.seen)
        if writes:
            first = max(first, self.effect + 0.5)
            if not self.roots.allocated(writes[0]):
                first = max(first, self.fault)
        for group in reversed(self.slots[max(0, int(first)) :]):
            if not isinstance(group, _Group) or group.alone or group.at < first:
                continue
            if not self.lengths.same(group.space, space):
                continue
            if len(group.members) + len(ops) > _MOST_MEMBERS:
                continue
            related = (
                group.made.intersection(inputs) or set(group.reads).intersection(reads) or _reads_any(group, writes)
            )
            if group.arrays + len(reads) > (_MOST_ARRAYS if related else _FEW_ARRAYS):
                continue
            if any(v in group.results for v in inputs) or any(v in group.made for v in shapes_only):
                continue
            if any(not self._apart(w, v) for w in group.writes for v in (*reads, *writes)):
                continue
            if any(not self._apart(w, v) for w in writes for v in group.reads):
                continue
            return group
        return None

    def _sink(self) -> None:
        """What only one later nest uses is computed there, if that takes nothing more along."""
        homes: dict[Op, _Group] = {o: g for g in self.slots if isinstance(g, _Group) for o in g.members}
        for group in reversed([g for g in self.slots if isinstance(g, _Group)]):
            targets: dict[Op, _Group] = {}
            for op in reversed(group.members):
                if not fuse.is_elementwise(op):
                    continue
                found = self.users.get(op.out, ())
                goals = {id(g): g for g in (self._goal(u, homes, targets) for u in found)}
                if len(goals) != 1 or None in goals.values():
                    continue
                goal = next(iter(goals.values()))
                if goal is not None and goal is not group and self._may_sink(op, group, goal):
                    targets[op] = goal
            self._move(group, targets, homes)

    def _goal(self, user: Op | Block, homes: dict[Op, _Group], targets: dict[Op, _Group]) -> _Group | None:
        if not isinstance(user, Op):
            return None
        return targets.get(user) or homes.get(user)

    def _may_sink(self, op: Op, group: _Group, goal: _Group) -> bool:
        if goal.alone or goal.at < group.at or not self.lengths.same(goal.space, fuse.dims_of(op.out)):
            return False
        if any(op.out not in fuse.element_inputs(u) for u in goal.members if op.out in u.inputs):
            return False
        if _raises_by_element(op):
            return False
        if self._may_raise(op) and any(map(self._acts, self.slots[group.at + 1 : goal.at])):
            return False
        if self._conflict([op], self._written(group.at, goal.at)):
            return False
        return len(goal.members) < _MOST_MEMBERS

    def _written(self, first: int, last: int) -> list[Value]:
        """What slots from one to another write, both included."""
        return [
            w
            for slot in self.slots[first : last + 1]
            for w in (slot.writes if isinstance(slot, _Group) else fuse.touched(slot)[1])
        ]

    def _acts(self, slot: Op | _Group) -> bool:
        """Whether a slot may raise, or is seen by somebody once something has raised."""
        if isinstance(slot, _Group):
            return any(map(self._may_raise, slot.members)) or not all(map(self.roots.allocated, slot.writes))
        return self._may_raise(slot) or self._is_seen(slot, fuse.touched(slot)[1])

    def _move(self, group: _Group, targets: dict[Op, _Group], homes: dict[Op, _Group]) -> None:
        for goal in {id(g): g for g in targets.values()}.values():
            moved = [o for o in group.members if targets.get(o) is goal]
            inside = {o.out for o in moved}
            # An operand that stays behind would become an array in memory in their place.
            for op in moved:
                if any(v in group.made and v not in inside and not self._leaves(v, group) for v in op.inputs):
                    moved = []
            if not moved:
                continue
            group.members = [o for o in group.members if o not in moved]
            goal.members[:0] = moved
            goal.made |= {o.out for o in moved}
            for o in moved:
                homes[o] = goal
                self.position[o.out] = goal.at

    def _leaves(self, v: Value, group: _Group) -> bool:
        return any(u not in group.members for u in self.users.get(v, ()))

    def _compute_again(self) -> None:
        """A multiple of one array that is there, or the like, is computed by each nest that reads it, and not kept."""
        groups = [g for g in self.slots if isinstance(g, _Group)]
        homes: dict[Op, _Group] = {o: g for g in groups for o in g.members}
        for group in groups:
            for op in list(group.members):
                source = of_one_array(op)
                if source is None or (source in group.made and not self._leaves(source, group)) or self._may_raise(op):
                    continue
                readers = [u for u in self.users.get(op.out, ()) if u not in group.members]
                goals = {id(g): g for g in (homes.get(u) for u in readers if isinstance(u, Op))}
                if not goals or any(not isinstance(u, Op) or u not in homes for u in readers):
                    continue
                if all(goal is not None and self._may_compute(op, source, group, goal) for goal in goals.values()):
                    for goal in goals.values():
                        assert goal is not None
                        homes[self._computed_in(op, source, goal)] = goal
                    if not self.users[op.out]:
                        group.members.remove(op)

    def _may_compute(self, op: Op, source: Value, group: _Group, goal: _Group) -> bool:
        if goal.alone or goal.at <= group.at or not self.lengths.same(goal.space, fuse.dims_of(op.out)):
            return False
        if any(u.inputs.count(op.out) != fuse.element_inputs(u).count(op.out) for u in goal.members):
            return False
        writes = self._written(group.at, goal.at)
        return not any(self.roots.may_alias(w, v) for w in writes for v in (source, op.out))

    def _computed_in(self, op: Op, source: Value, goal: _Group) -> Op:
        """A copy of an operation for the readers in a nest."""
        readers = [u for u in goal.members if op.out in u.inputs]
        made = copied_for(op, readers)
        out = made.out
        goal.members.insert(0, made)
        goal.made.add(out)
        goal.reads = [v for v in goal.reads if v is not op.out]
        if source not in goal.reads:
            goal.reads.append(source)
        self.users[op.out] = [u for u in self.users.get(op.out, ()) if u not in readers]
        self.users[out] = list(readers)
        self.users[source] = [*self.users.get(source, ()), made]
        self.position[out] = goal.at
        return made

    # The new order

    def _ordered(self) -> Iterable[Op]:
        yield from self.after.get(-1, ())
        for at, slot in enumerate(self.slots):
            if isinstance(slot, Op):
                yield slot
            elif len(slot.members) == 1:
                yield slot.members[0]
            elif slot.members:
                yield self._nest(slot)
            yield from self.after.get(at, ())

    def _nest(self, group: _Group) -> Op:
        inside = set(map(id, group.members))
        made = {o.out for o in group.members if o.outputs}
        inputs = list(dict.fromkeys(v for o in group.members for v in o.inputs if v not in made))
        outputs = [
            v
            for v in made
            if v in group.results  # a reduction that nobody needs may raise
            or any(isinstance(u, Block) or id(u) not in inside for u in self.users.get(v, ()))
        ]
        outputs.sort(key=lambda v: v.id)
        targets = {o.inputs[0] for o in group.members if o.row.updates}
        attrs = {
            "members": group.members,
            "space": group.space,
            "writes": tuple(k for k, v in enumerate(inputs) if v in targets),
        }
        comments = list(dict.fromkeys(o.attrs["comment"] for o in group.members if "comment" in o.attrs))
        if comments:
            attrs["comment"] = "\n".join(comments)
        nest = Op(NEST, inputs, outputs, attrs, [], group.members[0].loc)
        for v in outputs:
            v.op = nest
        return nest


def same_place(a: Value, b: Value) -> bool:
    """Whether two references are the same elements in the same order: one value, or the same view twice."""
    if a is b:
        return True
    x, y = a.op, b.op
    if x is None or y is None or x.kind != y.kind or not is_view(x) or x.attrs.get("spec") != y.attrs.get("spec"):
        return False
    if any(x.attrs.get(k) != y.attrs.get(k) for k in ("perm", "offset", "view")) or a.type != b.type:
        return False
    return same_place(x.inputs[0], y.inputs[0]) and all(
        p is q or (is_const(p) and const_of(p) == const_of(q)) for p, q in zip(x.inputs[1:], y.inputs[1:], strict=True)
    )


def _may_fail(op: Op) -> bool:
    """Views by an index, which is checked."""
    return op.kind == "view" and "i" in op.attrs["spec"]


def _raises_by_element(op: Op) -> bool:
    """Whether one of many elements may raise, when others have been written: an integer to a negative power."""
    if op.kind != "power" or op.out.type.dtype.kind not in "iu":
        return False
    exponent = op.inputs[1]
    return exponent.type.dtype.kind == "i" and const_of(exponent, -1) < 0


def _stands_alone(op: Op) -> bool:
    """Loops that would keep other work from becoming vector code."""
    if fuse.is_elementwise(op) or op.row.updates:
        return _raises_by_element(op)
    if op.kind == "unbroadcast":
        axes = fuse.summed_axes(op) if isinstance(op.inputs[1].type, Array) else []
        if axes is None:
            return True
        kept = [k for k in range(len(fuse.dims_of(op.inputs[0]))) if k not in axes]
        return bool(axes) and isinstance(op.out.type, Array) and not _simple(kept, axes)
    if isinstance(op.out.type, Scalar):
        return False
    axes = list(op.attrs["axes"])
    return not _simple([k for k in range(len(fuse.dims_of(op.inputs[0]))) if k not in axes], axes)


def _simple(kept: list[int], axes: list[int]) -> bool:
    """Whether the sum of the last dimensions in a register, or of others while the last one runs innermost."""
    ndim = len(kept) + len(axes)
    return axes == list(range(len(kept), ndim)) or (bool(kept) and kept[-1] == ndim - 1)


def _reads_any(group: _Group, writes: list[Value]) -> bool:
    return any(same_place(w, v) for w in writes for v in (*group.reads, *group.writes))
