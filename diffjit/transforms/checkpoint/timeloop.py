"""Loops whose way back starts from snapshots: they become calls with rules of their own before reverse mode begins.

for t in checkpointed(range(n)):            u, w_end = call(n, u0, w, p)
    u = step(u, w, p)               ->      w[...] = w_end
    w[t % m] += u

The call's function holds the loop. What the loop reads from outside are its parameters; what it carries, and the arrays
from outside that it changes, are its state: parameters and results. As the function changes nothing outside and shares
no memory with anything, a snapshot of the state is enough to run it again from there (`checkpoint.schedule`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diffjit.analysis.activity import Activity
from diffjit.analysis.manager import analyses
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, is_const, is_view
from diffjit.ir.types import BOOL, Array, Scalar, is_float, is_ref
from diffjit.ir.walk import blocks, clone_op, initial, walk
from diffjit.transforms.optimise.dummies import joined_from
from diffjit.transforms.prepare import copied_params, stream_params

BUDGET = "budget"  # attribute of a checkpointed loop: ("snapshots" or "bytes", how many)


@dataclass(slots=True, eq=False)
class TimeLoop:
    """A loop as a function of its own: constants, copies of the arrays that it changes, the loop.

    function   results: what the loop carries, and then the changed arrays
    loop       the loop in the function's body
    memories   the changed arrays
    wrt        the parameters that have a derivative
    """

    function: Function
    loop: Op
    memories: list[Value]
    wrt: list[int]


def enclose(function: Function, wrt: list[int], results: list[int], buffers: Sequence[int] = ()) -> None:
    """In place: checkpointed loops that a derivative passes through become calls with rules."""
    from diffjit.transforms.checkpoint.calls import loop_rules

    while any(BUDGET in op.attrs for op in walk(function.body)):
        known = analyses(function)
        order, memory = known.order, known.memory
        useful = [*(function.results[k] for k in results), *(function.params[k] for k in buffers)]
        activity = Activity(function, memory, [function.params[k] for k in wrt], useful)
        found = _first(function.body, activity)
        if found is None:
            return
        block, op = found
        enclosing = _Enclosing(function, order, memory, op)
        made = enclosing.outlined(activity)
        enclosing.call(block, loop_rules(f"{function.name}_loop", made))


def _first(block: Block, activity: Activity) -> tuple[Block, Op] | None:
    """The first checkpointed loop that is active, outermost first, and its block."""
    for op in block.ops:
        if BUDGET in op.attrs and any(activity.active(v) for v in _touched(op)):
            return block, op
        for region in op.regions:
            found = _first(region, activity)
            if found is not None:
                return found
    return None


def _touched(op: Op) -> list[Value]:
    """What a loop leaves behind: what it carries, and the memory that it writes to."""
    targets = [o.inputs[k] for region in op.regions for o in walk(region) for k in o.row.writes]
    return [*op.outputs, *targets]


class _Enclosing:
    """Makes one loop a function."""

    def __init__(self, function: Function, order: Order, memory: Memory, op: Op) -> None:
        self.function, self.order, self.memory, self.op = function, order, memory, op
        self.body = op.regions[0]
        self.outer: list[Value] = []  # what the loop reads, aside from constants and what holds nothing yet
        self.views: list[Op] = []  # views of changed memory, made again in each step
        self.changed: list[Value] = []  # the arrays among `outer` that the loop changes
        self.drawn: set[Value] = set()  # the streams of random numbers among them

    def refused(self, problem: str, cure: str) -> MemoryProblem:
        """An error about what a checkpointed loop cannot do."""
        return MemoryProblem("DJ405", f"a checkpointed loop {problem}", loc=self.op.loc, cure=cure)

    # Finding out

    def written(self, v: Value) -> bool:
        """Whether the loop writes to memory that a reference may refer to."""
        return any(self._inside(w) for w in self.memory.writes.get(self.memory.find(v), ()))

    def _inside(self, op: Op) -> bool:
        return any(block in self.op.regions for block, _ in self.order.places[op].path)

    def collect(self) -> None:
        """Find what the loop reads and changes; refuse what snapshots cannot hold."""
        made = {a for b in blocks(self.body) for a in b.args}
        made |= {v for o in walk(self.body) for v in o.outputs}
        read = dict.fromkeys(v for v in self.op.inputs if not _made_inside(v))
        for b in blocks(self.body):
            for v in [*(i for o in b.ops for i in o.inputs), *b.results]:
                if v not in made and not _made_inside(v):
                    self._read(v, read)
        self.outer = list(read)
        for v in [*self.outer, *self.body.args]:
            if is_ref(v.type) and not isinstance(v.type, Array):
                raise self.refused(
                    f"works on `{v.name or 'a list'}`, a list whose length is only known at run time",
                    "use an array, or compute what is collected behind the loop",
                )
        self._check_changed()
        self._check_set()
        self._check_carried()

    def _read(self, v: Value, read: dict[Value, None]) -> None:
        """A value from outside; a view of memory that changes is made again inside."""
        op = v.op
        if op is not None and is_view(op) and is_ref(v.type) and self.written(v):
            for i in op.inputs:
                if not is_const(i):
                    self._read(i, read)
            if op not in self.views:
                self.views.append(op)
            return
        read[v] = None

    def _check_changed(self) -> None:
        used = {i for o in walk(self.body) for i in o.inputs} | {i for o in self.views for i in o.inputs}
        used |= {v for b in blocks(self.body) for v in b.results}
        classes: dict[Any, Value] = {}
        for v in self.outer:
            if not isinstance(v.type, Array) or v not in used or not self.written(v):
                continue
            other = classes.setdefault(self.memory.find(v), v)
            if other is not v:
                raise self._two_names(other, v)
            self.changed.append(v)

    def _two_names(self, a: Value, b: Value) -> MemoryProblem:
        return self.refused(
            f"changes memory that may have two names, `{a.name or 'an array'}` and `{b.name or 'an array'}`",
            "copy one of them before the loop",
        )

    def _check_set(self) -> None:
        """Snapshots have the lengths that arrays have before the loop: a type tells those of one that is unset."""
        sources = joined_from(self.function.body)
        there = {d for v in self.outer if isinstance(v.type, Array) and not _unset(v, sources) for d in v.type.dims}
        read = {i for o in walk(self.body) for i in o.inputs} | {v for b in blocks(self.body) for v in b.results}
        for arg, init in zip(self.body.args[1:], initial(self.op), strict=True):
            if arg not in read or not isinstance(arg.type, Array) or not _unset(init, sources):
                continue
            if any(not isinstance(d, int) and d not in there for d in (*arg.type.dims, *init.type.dims)):
                name = arg.name or "an array"
                raise self.refused(
                    f"carries `{name}`, which has no value before the loop, so that its shape is not known",
                    "give it one there, of the shape that it will have",
                )

    def _check_carried(self) -> None:
        """The function gives back new arrays, where the loop gives back references: nobody must see the difference."""
        for k, (out, init) in enumerate(zip(self.op.outputs, initial(self.op), strict=True)):
            if not isinstance(out.type, Array):
                continue
            for v in (out, self.body.args[k + 1]):
                cls = self.memory.find(v)
                for other in self.changed:
                    if self.memory.find(other) == cls:
                        raise self._two_names(other, init)
                if self.memory.writes.get(cls):
                    self._check_later(cls, init)

    def _check_later(self, cls: Any, init: Value) -> None:
        """No reference from before the loop to memory that a carried array may share is used behind the loop."""
        around = self.order.loops_around(self.order.places[self.op].path[-1][0])
        for v in self.memory.members.get(cls, ()):
            if v in self.op.outputs or self._made_later(v):
                continue
            for op, places in self.order.places.items():
                if v not in op.inputs and not any(v in r.results for r in op.regions):
                    continue
                later = self.order.later(self.op, op) and not self._inside(op) if v in op.inputs else False
                again = any(loop in places.loops and not self.order.inside(v, loop) for loop in around)
                ends = any(v in r.results and self._within(r) for r in op.regions)
                if later or (again and not self._inside(op)) or ends:
                    raise self._two_names(init, v)
            if v in self.function.results:
                raise self._two_names(init, v)

    def _within(self, region: Block) -> bool:
        """Whether a block holds the loop."""
        return any(region is block for block, _ in self.order.places[self.op].path)

    def _made_later(self, v: Value) -> bool:
        """Whether a reference is made in the loop or behind it, or leaves something around it."""
        if v.op is not None:
            return self._inside(v.op) or self._contains(v.op) or self.order.later(self.op, v.op)
        up = self.order.parent.get(v.block) if v.block is not None else None
        if up is None or (self._contains(up[0]) and up[0] is not self.op):
            return False
        return up[0] is self.op or self._inside(up[0]) or self.order.later(self.op, up[0])

    def _contains(self, op: Op) -> bool:
        return op is self.op or any(self._within(region) for region in op.regions)

    # Building

    def outlined(self, activity: Activity) -> TimeLoop:
        """The loop as a function that changes nothing outside."""
        self.collect()
        params = [Value(v.type, v.name) for v in self.outer]
        mapping = dict(zip(self.outer, params, strict=True))
        body = Block()
        for v in self._constants():
            assert v.op is not None
            clone_op(v.op, mapping, body)
        inner = Block()
        for view in self.views:
            for v in view.inputs:
                if is_const(v) and v not in mapping:
                    clone_op(v.op, mapping, body)  # pyright: ignore[reportArgumentType]
        for view in self.views:
            clone_op(view, mapping, inner)
        loop = clone_op(self.op, mapping, body)
        for op in inner.ops:
            for v in op.outputs:
                v.block = loop.regions[0]
        loop.regions[0].ops[:0] = inner.ops
        f = self.function
        raw = Function(
            f"{f.name}_loop", params, body, "", f.source_file, f.source_line, f.lines, frozenset(), frozenset()
        )
        ends = Builder(body)
        ends.loc = loop.loc
        for j, k in self._told_apart():
            overlap(ends, loop.outputs[j], loop.outputs[k])
        body.results = list(loop.outputs)
        self.drawn = {self.outer[k] for k in stream_params(raw)}
        changed = [self.outer.index(v) for v in self.changed]
        made, copies = copied_params(raw)
        memories = [copies[k] for k in changed]
        made.body.results += memories
        made.writes, made.returns_views = frozenset(), frozenset()
        loop = next(op for op in made.body.ops if BUDGET in op.attrs)
        wrt = [
            k for k, v in enumerate(self.outer) if is_float(v.type) and isinstance(v.type, (Scalar, Array))
            and activity.is_varied(v)
        ]  # fmt: skip
        return TimeLoop(made, loop, memories, wrt)

    def _told_apart(self) -> list[tuple[int, int]]:
        """Pairs of results of the loop of which one is changed later: they must not be one array."""
        outs = [(k, v) for k, v in enumerate(self.op.outputs) if isinstance(v.type, Array)]
        around = self.order.loops_around(self.order.places[self.op].path[-1][0])
        found: list[tuple[int, int]] = []
        for n, (k, v) in enumerate(outs):
            cls = self.memory.find(v)
            writes = self.memory.writes.get(cls, ())
            later = any(
                (self.order.later(self.op, w) and not self._inside(w))
                or any(loop in self.order.places[w].loops for loop in around)
                for w in writes
            )
            found += [(j, k) for j, other in outs[:n] if later and self.memory.find(other) == cls]
        return found

    def _constants(self) -> list[Value]:
        """Constants from outside, and what holds nothing before the loop: there, its length is not known either."""
        made = {v for o in walk(self.body) for v in o.outputs}
        read = [*self.op.inputs, *(i for o in walk(self.body) for i in o.inputs)]
        read += [v for b in blocks(self.body) for v in b.results]
        return [v for v in dict.fromkeys(read) if _made_inside(v) and v not in made]

    def call(self, block: Block, rules: Any) -> None:
        """Put the call in the loop's place."""
        op, build = self.op, Builder()
        build.loc = op.loc
        self._refuse_overlap(build)
        n = len(op.outputs)
        types = [v.type for v in rules.primal.results[n:]]
        made = build.op("call", self.outer, types, function=rules.primal, rules=rules)
        made.outputs[:0] = op.outputs
        for out in op.outputs:
            out.op = made
        for v, out in zip(self.changed, made.outputs[n:], strict=True):
            out.name = v.name
            build.op("leave" if v in self.drawn else "assign", [v, out])
        at = block.ops.index(op)
        block.ops[at : at + 1] = build.block.ops
        for o in build.block.ops:
            for out in o.outputs:
                out.block = block

    def _refuse_overlap(self, build: Builder) -> None:
        """Arrays that the loop carries and changes become arrays of their own: they must not share memory before."""
        init = [v for v in initial(self.op) if isinstance(v.type, Array) and self.written(v)]
        init = [v for v in dict.fromkeys(init) if not _made_inside(v)]
        for k, a in enumerate(init):
            for b in init[:k]:
                if self.memory.find(a) == self.memory.find(b):
                    overlap(build, a, b)


def _unset(v: Value, sources: dict[Value, list[Value]]) -> bool:
    """Whether a variable may hold nothing yet."""
    seen, todo = {v}, [v]
    while todo:
        at = todo.pop()
        if at.op is not None and at.op.kind == "undef":
            return True
        new = [i for i in sources.get(at, ()) if i not in seen]
        seen.update(new)
        todo += new
    return False


def _made_inside(v: Value) -> bool:
    """Whether the loop's function makes a value from outside itself."""
    return is_const(v) or (v.op is not None and v.op.kind == "undef")


def overlap(build: Builder, a: Value, b: Value) -> None:
    """Raise where two arrays that a checkpointed loop carries and changes share memory."""
    names = f"`{a.name or 'an array'}` and `{b.name or 'an array'}`"
    leave = Block()
    with build.inside(leave):
        build.op(
            "raise", [], exception=ValueError,
            parts=(f"the state of a checkpointed loop, {names}, shares memory: copy one of them [DJ406]",),
        )  # fmt: skip
    build.op("if", [build.value("share", [a, b], BOOL)], regions=[leave, Block()])
