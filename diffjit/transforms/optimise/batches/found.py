"""Which loops may run in batches of turns, and what of each turn is a value of its own there.

A loop runs in batches if nobody can tell: no turn reads what another one has written, sums are added up in the loop's
order, and no turn fails where another one does not (what hangs on lengths and on counters of inner loops fails in the
first turn or never). Each value of the body is the same in all turns of a batch, or has one more axis there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diffjit.analysis.integers.bounds import chosen
from diffjit.analysis.manager import Analyses
from diffjit.analysis.separate import Separation
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import CHECKS, LANES, TRIED, Block, Op, Value, const_of
from diffjit.ir.ops import Raises, Reads
from diffjit.ir.raising import inner_lengths_agree, may_raise, shapes_agree
from diffjit.ir.types import Array, Scalar, is_ref
from diffjit.ir.walk import blocks, carried, free_values, has_exit, initial, walk
from diffjit.transforms.reverse.policy import is_dear

_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)
_MOST = 400  # operations of a body
LEAST = 24  # turns: where there are fewer, the loop runs as it is


class Unfit(Exception):
    """A loop stays as it is."""


@dataclass(slots=True, eq=False)
class Picked:
    """What the counter picks: one element along an axis of an array that all turns see."""

    axis: int
    shift: int  # added to the counter


class Batched:
    """One loop, and what a batch of its turns needs to know. Raises `Unfit`."""

    def __init__(self, known: Analyses, loop: Op) -> None:
        self.known, self.loop = known, loop
        self.varying: set[Value] = set()  # what differs from turn to turn
        self.own: set[Any] = set()  # memory that is written to, of each turn's own
        self.kept: dict[Any, Value] = {}  # memory of which each turn has its part -> its root
        self.scratch: list[Value] = []  # arrays from in front that each turn fills anew
        self.picked: dict[Op, Picked] = {}
        self.chosen: set[Op] = set()  # branches that become choices
        self.searches: dict[Op, None] = {}  # inner loops that choose among what loops inside them compute
        self.equal: list[tuple[Value, int, Value, int]] = []  # lengths that have to agree: array and axis, twice
        self.memory, self.order = self.known.one_memory, self.known.order
        self.body = self.loop.regions[0]
        self.counter = self.body.args[0]
        self.inside = list(walk(self.body))
        self._is_plain()
        self.totals: set[Op] = set()  # sums that inner loops carry, by the addition
        self.users: dict[Value, list[Op | Block]] = {}
        for block in blocks(self.body):
            for op in block.ops:
                for v in op.inputs:
                    self.users.setdefault(v, []).append(op)
            for v in block.results:
                self.users.setdefault(v, []).append(block)
        self._memory()
        self._spread()
        self._carried()
        for op in self.inside:
            self._op(op)
        self._pays()

    # What the loop is

    def _is_plain(self) -> None:
        loop = self.loop
        first, last, by = loop.inputs[:3]
        if loop.kind != "for" or const_of(by) != 1 or set(loop.attrs) - {"exit", "reverse"} or any(loop.attrs.values()):
            raise Unfit
        if const_of(first) is not None and const_of(last) is not None and const_of(last) - const_of(first) < LEAST:
            raise Unfit
        if len(self.inside) > _MOST or any(is_ref(v.type) for v in loop.outputs):
            raise Unfit
        for op in self.inside:
            if op.kind == "for":
                if has_exit(op) or not const_of(op.inputs[2]) or op.attrs.get("budget") or LANES in op.attrs:
                    raise Unfit
            elif op.kind != "if" and not _has_form(op):
                raise Unfit
            if TRIED in op.attrs or CHECKS in op.attrs or (len(op.outputs) > 1 and not op.regions):
                raise Unfit

    def _memory(self) -> None:
        """Sort the memory that is written to."""
        apart = Separation(self.known.function)
        changed = apart.changed(self.loop, self.inside)
        if changed is None:
            raise Unfit
        for cls in changed:
            if apart.is_own(cls, self.loop):
                self.own.add(cls)
            elif (root := self._filled_anew(cls)) is not None:
                self.own.add(cls)
                self.scratch.append(root)
            elif apart.is_kept_to(cls, self.loop, self.inside):
                found = apart.root(cls, self.loop)
                assert found is not None
                self.kept[cls] = found
            else:
                raise Unfit
        fails = may_raise(self.loop, self.known.bounds.proves, self.known.intervals.fits)
        if fails and any(root.op is None or not root.op.row.makes for root in self.kept.values()):
            raise Unfit  # who called would see what later turns have written by then

    def _filled_anew(self, cls: Any) -> Value | None:
        """The array from in front of the loop that each turn fills before it reads from it, and nobody reads behind."""
        members = self.memory.members.get(cls, [])
        outside = [v for v in members if not self.order.inside(v, self.loop)]
        if len(outside) != 1 or outside[0].op is None or outside[0].op.row.fill is None or not outside[0].op.row.makes:
            return None
        (root,) = outside
        within = set(self.inside)
        for op in walk(self.known.function.body):
            reads = root in op.inputs and op.row.reads is not Reads.LENGTHS
            if reads and op not in within and op is not self.loop:
                return None
        if root in self.known.function.body.results or any(
            root in b.results for b in self.order.parent if b is not self.known.function.body
        ):
            return None
        touching = set(members)
        first = next((op for op in self.body.ops if self._touches(op, touching)), None)
        return root if first is not None and self._fills(first, root, touching, ()) else None

    def _touches(self, op: Op, members: set[Value]) -> bool:
        """Whether an operation has to do with the contents of an array."""
        return any(
            v in members and inner.row.reads is not Reads.LENGTHS
            for inner in (op, *(o for r in op.regions for o in walk(r)))
            for v in inner.inputs
        )

    def _fills(self, op: Op, root: Value, members: set[Value], counters: tuple[Value, ...]) -> bool:
        """Whether an operation writes to all of an array, and reads nothing of it."""
        if op.kind == "assign":
            return not counters and op.inputs[0] is root and op.inputs[1] not in members
        if op.kind == "store":
            return op.inputs[0] is root and op.inputs[1] not in members and tuple(op.inputs[2:]) == counters
        if op.kind != "for" or (op.outputs and any(is_ref(v.type) for v in op.outputs)):
            return False
        first, last, by = op.inputs[:3]
        axis = len(counters)
        if axis >= root.type.ndim or const_of(first) != 0 or const_of(by) != 1:
            return False
        left = self.known.bounds.of(last).plus(self.known.bounds.length(root.type.dims[axis]), -1)
        if left.terms or left.constant:
            return False
        touching = [o for o in op.regions[0].ops if self._touches(o, members)]
        return len(touching) == 1 and self._fills(touching[0], root, members, (*counters, op.regions[0].args[0]))

    # What differs from turn to turn

    def differs(self, v: Value) -> bool:
        """Whether a value differs from turn to turn."""
        return v in self.varying

    def _spread(self) -> None:
        """Follow the counter through the body until nothing is found any more."""
        self.varying.add(self.counter)
        self.varying.update(self.body.args[1:])
        differing: set[Any] = set()  # memory of each turn's own
        while True:
            before = len(self.varying) + len(differing)
            for op in self.inside:
                self._spread_op(op, differing)
            for cls in differing:
                self.varying.update(self.memory.members.get(cls, ()))
            if len(self.varying) + len(differing) == before:
                return

    def _spread_op(self, op: Op, differing: set[Any]) -> None:
        varying = self.varying
        if op.kind == "for":
            for k, first in enumerate(initial(op)):
                args, following = carried(op, k)
                if first in varying or following in varying or op.outputs[k] in varying:
                    varying.update((*args, op.outputs[k]))
            return
        if op.kind == "if":
            for k, out in enumerate(op.outputs):
                if op.inputs[0] in varying or any(r.results[k] in varying for r in op.regions):
                    varying.add(out)
            return
        if op.kind in ("store", "assign"):
            cls = self.memory.find(op.inputs[0])
            if cls in self.own and op.inputs[1] in varying:
                differing.add(cls)
        elif op.kind != "dim" and op.outputs and any(v in varying for v in op.inputs):
            varying.add(op.out)
            if is_ref(op.out.type) and self.memory.find(op.out) in self.own:
                differing.add(self.memory.find(op.out))

    def _carried(self) -> None:
        """What goes on from turn to turn is one sum, maximum, ... of it and of what a turn has found."""
        for k in range(len(self.loop.outputs)):
            (arg,), following = carried(self.loop, k)
            op = following.op
            if op is None or op not in self.body.ops or not op.row.by_element or self.users.get(arg) != [op]:
                raise Unfit
            if self.users[following] != [self.body]:
                raise Unfit
        self.carrying = {carried(self.loop, k)[1].op for k in range(len(self.loop.outputs))}

    def position(self, v: Value) -> int | None:
        """What is added to the counter, in an int that differs from turn to turn; None for other ints."""
        e = self.known.bounds.of(v)
        return e.constant if e.terms == {self.counter: 1} else None

    # Each operation

    def _op(self, op: Op) -> None:
        if op in self.carrying:
            return
        differs = [v for v in op.inputs if v in self.varying]
        if op.kind == "for":
            if any(v in self.varying for v in op.inputs[:3]):
                raise Unfit
        elif op.kind == "if":
            if op.inputs[0] in self.varying:
                self._choice(op)
        elif op.row.raises is Raises.INDEX:
            self._access(op)
        elif op.kind == "trip" or op.row.makes:
            first = op.row.lengths_at if op.row.makes else 0
            lengths = [] if first is None else op.inputs[first:]
            if any(v in self.varying for v in lengths):
                raise Unfit
        elif op.kind == "matmul" and differs:
            self._product(op)
        elif differs and (op.row.by_element or op.kind == "assign"):
            if op.row.raises not in (Raises.NEVER, Raises.NUMBERS):
                raise Unfit
            self._shapes(op)
        for v in (*op.outputs, *(a for r in op.regions for a in r.args)):
            if v in self.varying:
                self._is_taken(v)
        for v in differs:
            self._is_taken(v)

    def _is_taken(self, v: Value) -> None:
        ty = v.type
        if not isinstance(ty, (Scalar, Array)):
            raise Unfit
        if ty.dtype.kind in "iu":
            if isinstance(ty, Array) or (v is not self.counter and self.position(v) is None):
                raise Unfit
        elif ty.dtype not in (_FLOAT, _BOOL):
            raise Unfit

    def _choice(self, op: Op) -> None:
        """A branch that some turns take: both are computed, if that cannot be noticed."""
        if any(is_ref(v.type) for v in op.outputs):
            raise Unfit
        self.chosen.add(op)
        for region in op.regions:
            for inner in walk(region):
                row = inner.row
                pure = row.by_element or row.literal or row.length or row.reduces or inner.kind in ("load", "view")
                if not (pure or inner.kind == "if") or may_raise(inner, self._is_inside, self.known.intervals.fits):
                    raise Unfit
        place = self.order.places[op]
        beside = {v for o in place.path[-1][0].ops if o.kind == "for" for v in o.outputs}
        if place.loops[-1] is not self.loop and any(v in beside for r in op.regions for v in r.results):
            self.searches[place.loops[-1]] = None

    def _is_inside(self, op: Op, only: int | None = None) -> bool:
        """Whether the indices of an access are within bounds, whatever the conditions say that become choices."""
        passed = [r for o in self.chosen for r in o.regions]
        return self.known.bounds.inside(op, op.row.indices_at or 0, beyond=passed, only=only)

    def _access(self, op: Op) -> None:
        base = op.inputs[0]
        first = op.row.indices_at or 0
        indices = op.inputs[first:]
        differing = [v for v in indices if v in self.varying]
        single = dict(chosen(op, first))
        if not differing:
            shared_by_all = base not in self.varying and self.memory.find(base) in self.kept
            if shared_by_all:
                raise Unfit
            return
        axes = [axis for axis, v in single.items() if v in self.varying]
        if base in self.varying or len(differing) != 1 or len(axes) != 1:
            raise Unfit
        (axis,) = axes
        shift = self.position(single[axis])
        if shift is None or not self._is_inside(op, axis):
            raise Unfit
        if op.kind == "store" and self.memory.find(base) not in self.kept:
            raise Unfit
        self.picked[op] = Picked(axis, shift)

    def _product(self, op: Op) -> None:
        a, b = op.inputs
        one = a.type.ndim == b.type.ndim == 1
        matrix = (a.type.ndim == 2 and b.type.ndim == 1 and a not in self.varying) or (
            b.type.ndim == 2 and a.type.ndim == 1 and b not in self.varying
        )
        if not (one or matrix):
            raise Unfit
        if not inner_lengths_agree(op):
            self.equal.append((a, a.type.ndim - 1, b, 0))

    def _shapes(self, op: Op) -> None:
        """Lengths that are not known to agree have to, or the loop runs as it is: there it may raise."""
        if shapes_agree(op):
            return
        arrays = [v for v in op.inputs if isinstance(v.type, Array)]
        longest = max(arrays, key=lambda v: v.type.ndim)
        if op.row.updates:
            longest = arrays[0]
        for v in arrays:
            if v.type.ndim > longest.type.ndim:
                raise Unfit
            for back in range(1, v.type.ndim + 1):
                one, other = longest.type.dims[-back], v.type.dims[-back]
                if other in (one, 1):
                    continue
                if one == 1:
                    raise Unfit
                self.equal.append((longest, longest.type.ndim - back, v, v.type.ndim - back))

    # Whether it is worth it

    def _pays(self) -> None:
        """LLVM does not see through loops inside, nor functions like `exp`, which are faster of many (`vecmath`)."""
        if not any(op.kind == "for" or self._is_dear(op) for op in self.inside):
            raise Unfit

    def _is_dear(self, op: Op) -> bool:
        """Whether a function of a number takes much longer than the same of many."""
        return is_dear(op) and isinstance(op.out.type, Scalar) and op.out in self.varying

    def arrays(self) -> Iterator[Value]:
        """The arrays that differ from turn to turn."""
        return (v for v in self.varying if isinstance(v.type, Array))

    def outer_arrays(self) -> list[Value]:
        """The arrays that are there in front of the loop, and that it reads."""
        return [v for v in free_values(self.body) if isinstance(v.type, Array)]

    def is_written(self, v: Value) -> bool:
        """Whether the loop changes the memory of an array."""
        return self.memory.written_within(v, self.loop)

    def written_between(self, op: Op) -> bool:
        """Whether memory may change between an operation that reads it and the last one that needs what it has read."""
        cls = self.memory.find(op.inputs[0])
        if not self.is_written(op.inputs[0]):
            return False
        block: Block = self.order.places[op].path[-1][0]
        here = block.ops.index(op)
        last = here
        found = 0
        for k in range(here + 1, len(block.ops)):
            if op.out in block.ops[k].inputs:
                last, found = k, found + block.ops[k].inputs.count(op.out)
        if found != len(self.users.get(op.out, ())):
            return True
        targets = self.memory.writes.get(cls, ())
        between = set(block.ops[here + 1 : last + bool(block.ops[last].regions)])
        return any(b.ops[k] in between for w in targets for b, k in self.order.places[w].path)

    def adds(self, loop: Op, k: int) -> bool:
        """Whether what an inner loop carries is a number that it adds to, or loops inside it do, and nothing else."""
        (arg,), following = carried(loop, k)
        op, body = following.op, loop.regions[0]
        if op is None or op not in body.ops or self.users.get(arg) != [op] or self.users[following] != [body]:
            return False
        if op.kind == "for":
            at = op.outputs.index(following)
            return initial(op)[at] is arg and self.adds(op, at)
        if op.kind not in ("add", "subtract") or not isinstance(arg.type, Scalar) or arg.type.dtype != _FLOAT:
            return False
        if op.kind == "subtract" and op.inputs[0] is not arg:
            return False
        self.totals.add(op)
        return True


def _has_form(op: Op) -> bool:
    """Whether an operation has a form with one more axis, or none that differs from turn to turn."""
    row = op.row
    if not all(isinstance(v.type, (Scalar, Array)) for v in op.inputs):
        return False
    plain = row.by_element or row.literal or row.length or row.reduces or op.kind in ("transpose", "matmul")
    made = row.makes and (row.fill is not None or row.same)
    return plain or made or ((row.raises is Raises.INDEX or row.updates) and not row.adds)
