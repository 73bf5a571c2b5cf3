"""Functions of what does not change in a loop are computed before it, once for each iteration of the loops inside.

for i in range(len(x)):                       for c in range(k):
    for c in range(k):                            for p in range(d):
        for p in range(d):             ->             table[c, p] = np.exp(log_scale[c, p])
            y = np.exp(log_scale[c, p]) * gap[p]      for i in range(len(x)):
                                                          ...  y = table[c, p] * gap[p]

LLVM takes what hangs on no counter at all out of a loop; this takes out what hangs on counters of inner loops, too. The
table is never larger than an array that the program holds anyway, is there on the way back without being recorded, and
its cotangent collects what all iterations of the outer loop contribute before the function's derivative is used, once.
Nothing is computed here that could fail: all indices are proven, and functions of floats do not raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.checks import fitting, inherit
from diffjit.ir.nodes import TRIED, Block, Function, Op, Value, const_of, is_const, is_view, without_labels
from diffjit.ir.types import INT, Array, Scalar, Sym
from diffjit.ir.walk import clone, dce, has_exit, uses, walk
from diffjit.transforms.reverse.policy import is_dear

_SUMS = frozenset({"sum", "prod"})
_INTEGERS = frozenset({"add", "subtract", "negative", "cast", "dim", "trip"})
_MOST = 60  # operations of one table


@dataclass(slots=True, eq=False)
class _Place:
    """A loop, and the loops inside it that certainly run in each of its iterations, down to one operation."""

    loop: Op
    inner: tuple[Op, ...]


@dataclass(slots=True, eq=False)
class _Slice:
    """What a number is computed from inside a loop."""

    ops: dict[Op, None] = field(default_factory=dict[Op, None])
    counted: set[Op] = field(default_factory=set[Op])  # the loops whose counters it hangs on


def tabulate(function: Function) -> Function:
    """The program with its tables, or itself where it needs none."""
    if not any(op.row.loop for op in function.body.ops) or not any(map(_is_dear, walk(function.body))):
        return function
    made = clone(function)
    tables = _Tables(made)
    if not tables.found:
        return function
    tables.apply()
    dce(made)
    return made


def _is_dear(op: Op) -> bool:
    """Functions that take much longer than reading a number, of floats."""
    if len(op.outputs) != 1 or not isinstance(op.out.type, Scalar) or op.out.type.dtype.kind not in "fc":
        return False
    if TRIED in op.attrs:
        return False
    return op.kind in _SUMS or is_dear(op)


class _Tables:
    """Finds what leaves which loop."""

    def __init__(self, function: Function) -> None:
        self.function = function
        known = analyses(function)
        self.order, self.memory, self.bounds = known.order, known.memory, known.bounds
        self.taken: set[Op] = set()
        self.found: list[tuple[_Place, dict[tuple[Op, ...], list[tuple[Op, _Slice]]]]] = []
        for loop in [op for op in walk(function.body) if op.row.loop]:
            self._visit(loop)

    def _visit(self, loop: Op) -> None:
        slices: dict[Op, _Slice] = {}
        for place, op in self._certain(_Place(loop, ()), loop.regions[-1]):
            if op not in self.taken and _is_dear(op):
                made = _Slice()
                if self._needs(op.out, place, made) and self._is_covered(made):
                    slices[op] = made
        if not slices:
            return
        used = uses(self.function)
        parts = {x for op, made in slices.items() for x in made.ops if x is not op}
        groups: dict[tuple[Op, ...], list[tuple[Op, _Slice]]] = {}
        for op, made in slices.items():
            self.taken.add(op)
            if op not in parts or any(user not in parts and user not in slices for user in used[op.out]):
                loops = tuple(x for x in self.order.places[op].loops if x in made.counted)
                groups.setdefault(loops, []).append((op, made))
        self.found.append((_Place(loop, ()), groups))

    def _certain(self, place: _Place, block: Block) -> Iterator[tuple[_Place, Op]]:
        """The operations that each iteration runs, in loops of lengths that are known before."""
        for op in block.ops:
            yield place, op
            if op.kind == "for" and not has_exit(op) and not any(self._moves(v, place.loop) for v in op.inputs[:3]):
                yield from self._certain(_Place(place.loop, (*place.inner, op)), op.regions[0])

    def _moves(self, v: Value, loop: Op) -> bool:
        """Whether a number may be another one in each iteration of a loop."""
        if is_const(v) or not self.order.inside(v, loop):
            return False
        op = v.op
        if op is not None and op.kind == "dim":
            return self.order.inside(op.inputs[0], loop)
        return op is None or op.kind not in _INTEGERS or any(self._moves(x, loop) for x in op.inputs)

    def _needs(self, v: Value, place: _Place, made: _Slice) -> bool:
        """Whether a value hangs on nothing that the loop changes; what it needs is added to the slice."""
        if not self.order.inside(v, place.loop):
            return True
        for inner in place.inner:
            if v is inner.regions[0].args[0]:
                made.counted.add(inner)
                return const_of(inner.inputs[2]) in (1, -1)
        op = v.op
        if op is None or not self._is_plain(op, place):
            return False
        if op in made.ops:
            return True
        if not all(self._needs(x, place, made) for x in op.inputs):
            return False
        made.ops[op] = None
        return len(made.ops) <= _MOST

    def _is_plain(self, op: Op, place: _Place) -> bool:
        """Whether an operation can be done earlier, with the same result and never an error."""
        if TRIED in op.attrs or self.order.places[op].path[-1][0] not in self._blocks(place):
            return False
        if op.kind == "const":
            return True
        if op.kind == "load" or (op.kind == "view" and isinstance(op.out.type, Array)):
            array = op.inputs[0]
            stays = not self.memory.written_within(array, place.loop)
            return stays and self.bounds.inside(op, 1, beyond=place.loop.regions)
        if op.kind in _SUMS:
            array = op.inputs[0]
            return isinstance(op.out.type, Scalar) and not self.memory.written_within(array, place.loop)
        if not isinstance(op.out.type, Scalar) or len(op.outputs) != 1:
            return False
        if op.out.type.dtype.kind in "iu":
            return op.kind in _INTEGERS
        return op.row.by_element or op.kind in _INTEGERS

    @staticmethod
    def _blocks(place: _Place) -> set[Block]:
        return {place.loop.regions[-1], *(x.regions[0] for x in place.inner)}

    def _is_covered(self, made: _Slice) -> bool:
        """Whether one array is indexed by all the counters, so that the table is no larger."""
        if not made.counted:
            return True
        counters = {x.regions[0].args[0] for x in made.counted}
        for op in made.ops:
            if op.kind in ("load", "view"):
                indexed, ref = set[Value](), op
                while ref is not None and (ref.kind == "load" or is_view(ref)):
                    if ref.kind not in ("load", "view"):
                        break
                    for index in ref.inputs[1:]:
                        terms = self.bounds.of(index).terms
                        own = [a for a in terms if isinstance(a, Value) and a in counters]
                        if len(own) == 1 and abs(terms[own[0]]) == 1:
                            indexed.add(own[0])
                    ref = ref.inputs[0].op
                if indexed == counters:
                    return True
        return False

    # The change

    def apply(self) -> None:
        """Write the tables, in place."""
        for place, groups in self.found:
            for loops, wanted in groups.items():
                self._write(place.loop, loops, wanted)

    def _write(self, loop: Op, loops: tuple[Op, ...], wanted: list[tuple[Op, _Slice]]) -> None:
        build = Builder()
        home = self.order.places[loop].path[-1][0]
        at = home.ops.index(loop)
        before = Block()
        with build.inside(before):
            bounds = [[self._before(build, v, loop) for v in x.inputs[:3]] for x in loops]
            mapping: dict[Value, Value] = {}
            if not loops:
                for op, made in wanted:
                    self._replace(op, self._copied(build, op, made, mapping))
            else:
                self._fill(build, loops, bounds, wanted, mapping)
        for op in before.ops:
            for out in op.outputs:
                out.block = home
        home.ops[at:at] = before.ops

    def _fill(
        self,
        build: Builder,
        loops: tuple[Op, ...],
        bounds: list[list[Value]],
        wanted: list[tuple[Op, _Slice]],
        mapping: dict[Value, Value],
    ) -> None:
        """Tables of one shape, written by one nest."""
        lengths = [build.value("trip", b, INT) for b in bounds]
        dims = tuple(Sym() for _ in lengths)
        tables: list[Value] = []
        for op, _ in wanted:
            build.loc = op.loc
            ty = Array(op.out.type.dtype, dims, "C")
            tables.append(build.value("empty", lengths, ty, name=f"{op.out.name or op.kind}_table", order="C"))
        nest: list[Block] = []
        for x in loops:
            body = Block()
            old = x.regions[0].args[0]
            counter = mapping[old] = Value(old.type, old.name)
            counter.block = body
            body.args.append(counter)
            nest.append(body)
        with build.inside(nest[-1]):
            for (op, made), table in zip(wanted, tables, strict=True):
                value = self._copied(build, op, made, mapping)
                build.loc = op.loc
                index = [_position(build, body.args[0], b) for body, b in zip(nest, bounds, strict=True)]
                build.op("store", [table, value, *index], **fitting(table, "tables"))
        for k in reversed(range(len(loops))):
            outer = nest[k - 1] if k else build.block
            with build.inside(outer):
                build.loc = loops[k].loc
                build.op("for", bounds[k], [], regions=[nest[k]], exit=False)
        for (op, _), table in zip(wanted, tables, strict=True):
            block = self.order.places[op].path[-1][0]
            here, build.loc = Block(), op.loc
            with build.inside(here):
                index = [_position(build, x.regions[0].args[0], b) for x, b in zip(loops, bounds, strict=True)]
                found = build.value(
                    "load", [table, *index], Scalar(op.out.type.dtype), name=op.out.name, **fitting(table, "tables")
                )
                if found.type != op.out.type:
                    found = build.value("cast", [found], op.out.type, name=op.out.name)
            for new in here.ops:
                for out in new.outputs:
                    out.block = block
            k = block.ops.index(op)
            block.ops[k : k + 1] = here.ops
            self._rename(op.out, found)

    def _replace(self, op: Op, value: Value) -> None:
        block = self.order.places[op].path[-1][0]
        block.ops.remove(op)
        self._rename(op.out, value)

    def _rename(self, old: Value, new: Value) -> None:
        for user in uses(self.function)[old]:
            if isinstance(user, Op):
                user.inputs = [new if v is old else v for v in user.inputs]
            else:
                user.results = [new if v is old else v for v in user.results]

    @staticmethod
    def _copied(build: Builder, op: Op, made: _Slice, mapping: dict[Value, Value]) -> Value:
        """The operations of a slice once more."""
        for x in made.ops:
            if x.out not in mapping:
                build.loc = x.loc
                inputs = [mapping.get(v, v) for v in x.inputs]
                again = build.op(x.kind, inputs, [x.out.type], name=x.out.name, **without_labels(x.attrs))
                inherit(again, x)
                mapping[x.out] = again.out
        return mapping[op.out]

    def _before(self, build: Builder, v: Value, loop: Op) -> Value:
        """A number that does not change in a loop, before it."""
        if not self.order.inside(v, loop):
            return v
        assert v.op is not None
        inputs = [self._before(build, x, loop) for x in v.op.inputs]
        return build.value(v.op.kind, inputs, v.type, **without_labels(v.op.attrs))


def _position(build: Builder, counter: Value, bounds: list[Value]) -> Value:
    """The number of an iteration of a loop in steps of 1 or -1."""
    start, _, step = bounds
    if const_of(step) == -1:
        return build.value("subtract", [start, counter], INT, nowrap=True)
    return counter if const_of(start) == 0 else build.value("subtract", [counter, start], INT, nowrap=True)
