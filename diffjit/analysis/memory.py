"""Which references may share memory, and which memory changes when.

References that may alias fall into one class (union-find). Where control flow joins references, the joined reference
starts a class of its own if nothing that it may refer to is written after the join: then it is as good as a value.

    class     is written?     joined or in a list?     its shadow
    VALUE     no              -                        a cotangent, made where it is first needed
    BUFFER    yes             no                       a buffer made at the start of the mirrored block
    SHARED    yes             yes                      references to shadow buffers that the forward sweep carries along
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffjit.analysis.integers.dependence import Access, Dependence, access, written
from diffjit.analysis.integers.sums import Sums
from diffjit.analysis.order import Order
from diffjit.ir.aliases import Classes, Edge, edges, held, is_silent
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.types import Array, List, Stack, is_float, is_ref
from diffjit.ir.walk import walk


class Memory(Classes):
    """The memory classes of a function.

    `whole`: all joins are united: what may be the same memory, written to or not.
    """

    def __init__(self, function: Function, order: Order, dependence: Dependence, *, whole: bool = False) -> None:
        super().__init__()
        self.function, self.order, self.dependence = function, order, dependence
        self.writes: dict[Any, list[Op]] = {}
        self.members: dict[Any, list[Value]] = {}
        self.shared: set[Any] = set()
        self.edges: list[Edge] = []
        self.joined: set[Value] = set()  # targets whose edges were united
        self.surviving: dict[tuple[Any, Op], bool] = {}  # answers of `_survives`, while nothing else joins
        self._read()
        if whole:
            for edge in self.edges:
                self.unite(edge.source, edge.target)
        else:
            while self._split_or_unite():
                pass
        self._collect()
        self._mark_shared()
        while not whole and self._share_sources():
            self._collect()
            self._mark_shared()

    def _read(self) -> None:
        """What is asked again and again of a long program, from one walk over it."""
        refs = {p: None for p in self.function.params if is_ref(p.type)}
        self.changes: list[tuple[Op, Value]] = []  # what writes, and to which reference
        self.holding: list[tuple[Op, Value]] = []  # what has to do with a container, and what goes in or comes out
        self.copies: list[Op] = []  # of lists
        for op in walk(self.function.body):
            for region in op.regions:
                for a in region.args:
                    if is_ref(a.type):
                        refs[a] = None
            for out in op.outputs:
                if is_ref(out.type):
                    refs[out] = None
            for k in op.row.writes:
                self.changes.append((op, op.inputs[k]))
            if op.regions:
                self.edges += [edge for edge in edges(op) if not self._carried_out(edge)]
            if not is_silent(op.kind):
                self._meet(op)
        self.refs = list(refs)

    def _meet(self, op: Op) -> None:
        """What gives other names, or has to do with what containers hold."""
        if op.kind == "call":
            called = op.attrs["function"]
            effects(called)
            self.changes += [(op, op.inputs[k]) for k in called.writes or ()]
        self.meet(op)
        elem = held(op)
        if elem is not None:
            self.holding.append((op, elem))
        elif op.kind == "list_copy":
            self.copies.append(op)

    def _carried_out(self, edge: Edge) -> bool:
        """Whether a list or tape that only one branch has leaves it as that very one: without cotangents of its own."""
        if edge.op.kind != "if" or isinstance(edge.target.type, Array):
            return False
        if isinstance(edge.target.type, List) and is_float(edge.target.type):
            return False
        k = edge.op.outputs.index(edge.target)
        real = [v for v in (r.results[k] for r in edge.op.regions) if v.op is None or v.op.kind != "undef"]
        if len(real) == 1:
            self.unite(real[0], edge.target)
            if isinstance(edge.target.type, List):  # what follows the branch adds to its cotangent first: a shadow
                self.joined.add(edge.target)
        return len(real) == 1

    # Joined references

    def _split_or_unite(self) -> bool:
        """Unite the edges of a joined reference that is not as good as a value; True if anything changed."""
        self._collect()
        changed = False
        for edge in self.edges:
            if edge.target in self.joined:
                continue
            if not isinstance(edge.target.type, Array) or not self._frozen(edge):
                self._unite_slot(edge)
                changed = True
        return changed

    def _unite_slot(self, edge: Edge) -> None:
        """Make all that flows into a joined variable one class."""
        for other in self.edges:
            if other.op is edge.op and self._same_slot(other, edge):
                self.unite(other.source, other.target)
                self.joined.add(other.target)
        self.surviving.clear()

    def _share_sources(self) -> bool:
        """Unite the edges of a joined reference whose shadow is carried along; True if anything changed."""
        changed = False
        for edge in self.edges:
            if edge.target not in self.joined and self.find(edge.target) in self.shared:
                self._unite_slot(edge)
                changed = True
        self.shared = {self.find(key) for key in self.shared}
        return changed

    def _same_slot(self, a: Edge, b: Edge) -> bool:
        """Edges of one carried variable belong together: loop argument, condition argument and output."""
        if a.target is b.target:
            return True
        op = a.op
        if op.kind == "if":
            return False
        return self._slot(op, a.target) == self._slot(op, b.target)

    def _slot(self, op: Op, target: Value) -> int:
        if target in op.outputs:
            return op.outputs.index(target)
        for region in op.regions:
            args = region.args[1:] if op.kind == "for" and region is op.regions[-1] else region.args
            if target in args:
                return args.index(target)
        raise AssertionError(target)

    def _frozen(self, edge: Edge) -> bool:
        """Nothing that the joined reference may refer to is written after the join."""
        if self.writes.get(self.find(edge.target)):
            return False
        source = self.find(edge.source)
        return not any(self._write_after_edge(w, edge, source) for w in self.writes.get(source, ()))

    def _write_after_edge(self, write: Op, edge: Edge, cls: Any) -> bool:
        if edge.inside is None:
            if self.order.later(edge.op, write):
                return True
            around = self.order.loops_around(self.order.places[edge.op].path[-1][0])
            return any(self._survives(cls, loop) and self._within(write, loop) for loop in around)
        # At the end of a block: writes behind the operation, or in a later pass through a loop around the edge.
        if self.order.later(edge.op, write) and not self._within(write, edge.op):
            return True
        loops = self.order.loops_around(edge.inside)
        return any(self._survives(cls, loop) and self._within(write, loop) for loop in loops)

    def _within(self, op: Op, outer: Op) -> bool:
        return op is outer or any(block in outer.regions for block, _ in self.order.places[op].path)

    def _survives(self, cls: Any, loop: Op) -> bool:
        """Whether memory of a class may live on into the next iteration of a loop."""
        found = self.surviving.get((cls, loop))
        if found is None:
            members = self.members.get(cls, ())
            found = self.surviving[cls, loop] = any(not self.order.inside(v, loop) for v in members) or any(
                v in self.joined and v.op is None and v.block in loop.regions for v in members
            )
        return found

    def _collect(self) -> None:
        self.writes, self.members = {}, {}
        self.surviving.clear()
        for v in self.refs:
            self.members.setdefault(self.find(v), []).append(v)
        for op, target in self.changes:
            self.writes.setdefault(self.find(target), []).append(op)

    def _mark_shared(self) -> None:
        for target in self.joined:
            self.shared.add(self.find(target))
        for op, _ in self.holding:
            if isinstance(op.inputs[0].type, List):
                self.shared.add(self.element(op.inputs[0]))
                self.shared.add(self.find(op.inputs[0]))
        for op in self.copies:
            if is_ref(op.out.type.elem):  # pyright: ignore[reportAttributeAccessIssue]
                # A copy that is only copied again holds what others hold, too.
                self.shared |= {self.element(op.out), self.find(op.out), self.find(op.inputs[0])}
        while self._share_tapes():
            pass

    def _share_tapes(self) -> bool:
        """A tape of references to memory that changes or has shadows gets a tape of shadows; True if one was found."""
        before = len(self.shared)
        for op, elem in self.holding:
            if isinstance(op.inputs[0].type, Stack):
                stack, of = self.find(op.inputs[0]), self.find(elem)
                changes = self.written(elem) or isinstance(elem.type, (List, Stack))
                if changes or of in self.shared or stack in self.shared:
                    self.shared |= {stack, of, self.element(op.inputs[0])}
        return len(self.shared) > before

    # Questions

    def outermost(self, ref: Value) -> Value:
        """The member of a tape's class that is visible furthest out."""
        return min(self.members[self.find(ref)], key=lambda v: len(self.order.enclosing(v.block)))  # pyright: ignore[reportArgumentType]

    def written(self, ref: Value) -> bool:
        """Whether anything of the reference's class is ever written."""
        return bool(self.writes.get(self.find(ref)))

    def is_shared(self, ref: Value) -> bool:
        """Whether the forward sweep must carry references to shadows."""
        return self.find(ref) in self.shared

    def changes_after(self, ref: Value, reader: Op) -> bool:
        """Whether a write may change what `reader` reads through `ref`, before the forward sweep ends."""
        return next(self.changing(ref, reader), None) is not None

    def changing(self, ref: Value, reader: Op) -> Iterator[Op]:
        """The writes that may change what `reader` reads through `ref`, before the forward sweep ends."""
        cls = self.find(ref)
        read = None
        for write in self.writes.get(cls, ()):
            if write is reader:
                yield write
            elif self.may_follow(reader, write, cls):
                read = read or access(reader, ref, reader.inputs[1:] if reader.kind == "load" else [])
                if not self._apart(read, write, cls):
                    yield write

    def written_within(self, ref: Value, loop: Op) -> bool:
        """Whether anything of the reference's class is written while a loop runs."""
        return any(self._within(write, loop) for write in self.writes.get(self.find(ref), ()))

    def written_between(self, ref: Value, block: Block, first: int, end: int) -> bool:
        """Whether operations of a block, or what is inside them, write to anything of the reference's class."""
        return any(
            where is block and first <= at < end
            for write in self.writes.get(self.find(ref), ())
            for where, at in self.order.places[write].path
        )

    def overwritten(self, store: Op) -> bool:
        """Whether an element that was stored may be written again before the forward sweep ends."""
        cls = self.find(store.inputs[0])
        made = written(store, 0)
        return any(
            (write is store or self.may_follow(store, write, cls)) and not self._apart(made, write, cls)
            for write in self.writes.get(cls, ())
        )

    def may_follow(self, first: Op, write: Op, cls: Any) -> bool:
        """Whether a write to memory of this class may come after another operation, as far as the text tells."""
        if self.order.later(first, write):
            return True
        return any(
            loop in self.order.places[write].loops and self._survives(cls, loop)
            for loop in self.order.places[first].loops
        )

    def _apart(self, first: Access, write: Op, cls: Any) -> bool:
        """Whether the indices prove that a write that follows leaves alone what was accessed before."""
        if write.kind == "call":
            return False
        targets = [k for k in write.row.writes if self.find(write.inputs[k]) == cls]
        return all(
            isinstance(write.inputs[k].type, Array) and self.dependence.apart(first, written(write, k)) for k in targets
        )


def effects(function: Function) -> None:
    """Find out, once, which parameters a recursive function writes to and which its results may be views of."""
    if function.writes is not None:
        return
    function.writes = frozenset()
    while True:
        order = Order(function)
        memory = Memory(function, order, Dependence(order, Sums(function)), whole=True)
        writes = frozenset(k for k, p in enumerate(function.params) if is_ref(p.type) and memory.written(p))
        results = {memory.find(v) for v in function.results if isinstance(v.type, Array)}
        views = frozenset(
            k for k, p in enumerate(function.params) if isinstance(p.type, Array) and memory.find(p) in results
        )
        if writes == function.writes and views == function.returns_views:
            return
        function.writes, function.returns_views = writes, views
