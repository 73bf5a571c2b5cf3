"""Whether a write can hit, later on, the very element that was read: proof that it does not, by the indices.

    for k ...:                              A[k, j] is read; what is written afterwards lies in rows i > k,
        for i in range(k + 1, n):           in this iteration and in all later ones. So A[k, j] has its final value
            for j in range(k + 1, n):       when it is read, and the way back may read it from A.
                A[i, j] -= A[i, k] * A[k, j]

Two accesses to one array, through integer indices that are affine in loop counters and in numbers that do not change
meanwhile. The write follows the read either in the same iteration of all loops around both, or in a later iteration of
one of them (and the same of those further out). In each of these cases some index must differ by a bound that holds for
all values of the counters, found by putting in the ends of their ranges, innermost first. (The classic dependence test:
Banerjee, "Dependence Analysis for Supercomputing", 1988.)
"""

from __future__ import annotations

from diffjit.analysis.integers.sums import Affine, Sums, length_read
from diffjit.analysis.order import Order
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.types import Sym

Atom = tuple[str, Value | Sym]  # ("shared" | "read" | "write" | "step", a counter, a number or a length)
Form = Affine[Atom]
_MOST = 32  # steps in a proof


@dataclass(slots=True, eq=False)
class Access:
    """The element, row, ... that an operation touches: `root[index, ...]`, None where an index is not an int."""

    op: Op
    root: Value
    indices: list[Value | None]


def access(op: Op, ref: Value, indices: list[Value]) -> Access:
    """What `op` touches through `ref` (with its own indices, if it is a load or store)."""
    found: list[Value | None] = list(indices)
    while ref.op is not None and ref.op.kind == "view":
        found = _through(ref.op, found)
        ref = ref.op.inputs[0]
    return Access(op, ref, found)


def _through(view: Op, found: list[Value | None]) -> list[Value | None]:
    """Indices of a view as indices of what it is a view of."""
    items = iter(view.inputs[1:])
    out: list[Value | None] = []
    k = 0
    for entry in view.attrs["spec"]:
        if entry == "i":
            out.append(next(items))
            continue
        if entry == ":":
            out.append(found[k] if k < len(found) else None)
        elif entry != "n":
            for flag in entry[1:]:
                if flag:
                    next(items)
            out.append(None)
        k += 1
    return [*out, *found[k:]]


def written(op: Op, position: int) -> Access:
    """What a writing operation changes."""
    return access(op, op.inputs[position], op.inputs[2:] if op.row.element else [])


class Dependence:
    """Questions about one function."""

    def __init__(self, order: Order, sums: Sums) -> None:
        self.order, self.sums = order, sums
        self.front: dict[Value, bool] = {}
        self.cases: dict[tuple[object, ...], _Case] = {}
        self.depths: dict[Atom, int] = {}

    def apart(self, read: Access, write: Access) -> bool:
        """Whether no write that follows the read touches what was read."""
        if read.root is not write.root or not read.indices or not write.indices:
            return False
        loops, others = self.order.places[read.op].loops, self.order.places[write.op].loops
        common = [a for a, b in zip(loops, others, strict=False) if a is b]
        for position, loop in enumerate(common):
            if self.order.inside(read.root, loop):
                if read.root.op is None or not read.root.op.row.makes:
                    return False
                continue  # another iteration, another array
            if not self._differ(read, write, common, position):
                return False
        if write.op is read.op or not self._follows(read.op, write.op):
            return True
        return self._differ(read, write, common, len(common))

    def apart_within(self, a: Access, b: Access, loop: Op) -> bool:
        """Whether two accesses never touch the same element during one run of a loop around both."""
        if a.root is not b.root or self.order.inside(a.root, loop) or not a.indices or not b.indices:
            return False
        loops, others = self.order.places[a.op].loops, self.order.places[b.op].loops
        common = [x for x, y in zip(loops, others, strict=False) if x is y]
        at = common.index(loop)
        cases = [(a, b, at), (b, a, at), (a, b, len(common))]
        return len(common) == at + 1 and all(self._differ(x, y, common, position) for x, y, position in cases)

    def _follows(self, read: Op, write: Op) -> bool:
        return self.order.later(read, write)

    def _differ(self, read: Access, write: Access, common: list[Op], position: int) -> bool:
        """Whether some index differs when the loops before `position` agree and that one is further on."""
        pairs = [
            (a, b)
            for a, b in zip(read.indices, write.indices, strict=False)
            if a is not None and b is not None and self._from_front(a) and self._from_front(b)
        ]
        ways = (True, False) if position < len(common) else (True,)
        return any(self.case(common, position, by_steps=w).apart(a, b) for w in ways for a, b in pairs)

    def case(self, common: list[Op], position: int, *, by_steps: bool) -> _Case:
        """A case with what it has found: a long program asks for each read and each of many writes after it."""
        key = (by_steps, position < len(common), *common[: position + 1])
        if key not in self.cases:
            self.cases[key] = _Case(self, common, position, by_steps=by_steps)
        return self.cases[key]

    def _from_front(self, index: Value) -> bool:
        """Whether an index is never negative: a negative one counts from the end."""
        if index not in self.front:
            case = _Case(self, [], 0)
            self.front[index] = case.at_least(case.affine(index, "read"), 0)
        return self.front[index]


class _Case:
    """The loops before `position` are in the same iteration, that one is in a later one, those behind are in any."""

    def __init__(self, asked: Dependence, common: list[Op], position: int, *, by_steps: bool = True) -> None:
        self.order, self.sums, self.depths = asked.order, asked.sums, asked.depths
        self.forms: dict[tuple[Value, str], Form] = {}
        self.by_steps = by_steps  # a later counter is an earlier one and some steps; else, some counter of its range
        self.same = common[:position]
        self.ahead = common[position] if position < len(common) else None

    def apart(self, read: Value, write: Value) -> bool:
        """Whether two indices differ in this case."""
        gap = self.affine(write, "write").plus(self.affine(read, "read"), -1)
        return self.at_least(gap, 1) or self.at_least(gap.negative(), 1)

    def affine(self, v: Value, side: str) -> Form:
        """A number in terms of counters and of numbers that nothing is known of."""
        found = self.forms.get((v, side))
        if found is None:
            found = self.forms[v, side] = self._affine(v, side)
        return found

    def _affine(self, v: Value, side: str) -> Form:
        total = self.sums.added(v, lambda part: self.affine(part, side))
        if total is not None:
            return total
        length = length_read(v)
        if length is not None:
            return Affine(length, {}) if isinstance(length, int) else Affine(0, {(self._whose(v, side), length): 1})
        loop = self.order.counted_by(v)
        if loop is not None and loop is self.ahead and side == "write":
            further = _direction(loop) if self.by_steps else 0
            return Affine(0, {("shared", v): 1, ("step", v): further} if further else {("write", v): 1})
        return Affine(0, {(self._whose(v, side), v): 1})

    def _whose(self, v: Value, side: str) -> str:
        """Both accesses see the same number if it does not change between them."""
        if self.ahead is not None:
            loop = self.order.counted_by(v)
            return "shared" if loop is self.ahead or not self.order.inside(v, self.ahead) else side
        innermost = self.same[-1] if self.same else None
        around = self.order.loops_around(v.block) if v.block is not None else []
        return "shared" if not around or around[0] is innermost or around[0] in self.same else side

    def at_least(self, form: Form, bound: int) -> bool:
        """Whether a form is at least so large, whatever the counters are."""
        for _ in range(_MOST):
            if not form.terms:
                return form.constant >= bound
            atom = max(form.terms, key=self._depth)
            smaller = self._lowered(form, atom, form.terms[atom])
            if smaller is None:
                return False
            form = smaller
        return False

    def _lowered(self, form: Form, atom: Atom, k: int) -> Form | None:
        """A form without an atom that is nowhere larger; None if there is none."""
        kind, v = atom
        rest = form.without(atom)
        if isinstance(v, Sym):
            return rest if k > 0 else None
        if kind == "step":
            return rest.shifted(k) if k > 0 else None
        loop = self.order.counted_by(v)
        if loop is not None:
            end = self._end(loop, low=k > 0, side=kind)
            return None if end is None else rest.plus(end, k)
        return rest if k > 0 and v.op is not None and v.op.row.length else None

    def _depth(self, atom: Atom) -> int:
        found = self.depths.get(atom)
        if found is None:
            v = atom[1]
            found = len(self.order.enclosing(v.block)) if isinstance(v, Value) and v.block is not None else 0
            self.depths[atom] = found
        return found

    def _end(self, loop: Op, *, low: bool, side: str) -> Form | None:
        """The lowest or highest value of a counter."""
        step = const_of(loop.inputs[2])
        if not isinstance(step, int):
            return None
        up = step > 0
        side = "read" if side == "shared" else side
        start, stop = self.affine(loop.inputs[0], side), self.affine(loop.inputs[1], side)
        if low:
            return start if up else stop.shifted(1)
        return stop.shifted(-1) if up else start


def _direction(loop: Op) -> int:
    """Whether the counter grows (1) or falls (-1) from one iteration to the next; 0: not known."""
    step = const_of(loop.inputs[2])
    if step is None:
        return 0
    return 1 if (step > 0) != bool(loop.attrs.get("reverse")) else -1
