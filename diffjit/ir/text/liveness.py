"""Which variables hold a value that is still needed when another one is assigned.

SSA values that are not folded become *variables*. The arguments and the output of a loop's carried value are one
variable by construction (`variable_of`). Control flow assigns them by parallel copies: into a loop, around it, and at
the end of the branches of an `if`; `sinks` lists those at the end of each block. One walk backwards over the program
finds what is live where each variable is assigned: with structured control flow no iteration is needed, since what a
loop reads from outside is live throughout it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Op, Value, const_of, is_const
from diffjit.ir.text.folding import Folding
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.walk import has_exit, initial

Copy = tuple[Value, Value]  # variable, the value that it gets


@dataclass(slots=True)
class End:
    """What happens at the end of a block."""

    copies: list[Copy] = field(default_factory=list[Copy])
    leave: Value | None = None  # the condition under which the loop around is left, after the copies
    around: bool = False  # it ends an iteration
    saved: bool = False  # the condition reads variables that the copies assign, so it is computed before them


class Liveness:
    """Finds variables, the copies between them, and their interference."""

    def __init__(self, function: Function, folding: Folding, printer: OpPrinter) -> None:
        self.function = function
        self.folding = folding
        self.printer = printer
        self.variable_of: dict[Value, Value] = {}  # members of a loop's carried value -> its variable
        self.interferes: dict[Value, set[Value]] = defaultdict(set)
        self.variables: dict[Value, None] = {}  # in the order of their assignment
        self.copies: list[Copy] = []
        self.ends: dict[int, End] = {}  # id of a block -> its end
        self.entries: dict[int, list[Copy]] = {}  # id of a loop -> the copies before it
        self.indices: dict[Value, tuple[Value, ...]] = {}  # index of a loop -> those of the loops around it
        self._around: tuple[Value, ...] = ()
        self._steady: list[End] = []  # the ends of the iterations of the loop that is being scanned
        self._outer: dict[
            int, set[Value]
        ] = {}  # id of a control operation -> variables of outside that its regions read
        self._leaves: dict[Value, set[Value]] = {}
        for p in function.params:
            self._declare(p)
        self._scan(function.body, End())
        live = set[Value]()
        for v in function.body.results:
            live |= self.leaves(v)
        self._ops(function.body, live)
        for p in function.params:
            self._assign(p, live | set(function.params))

    def variable(self, v: Value) -> Value:
        """The variable that holds an unfolded value."""
        return self.variable_of.get(v, v)

    def leaves(self, v: Value) -> set[Value]:
        """The variables that the text of a value reads."""
        if v not in self.folding.folded:
            return {self.variable(v)}
        found = self._leaves.get(v)
        if found is None:
            assert v.op is not None
            parts = [*v.op.inputs, *(region.results[0] for region in v.op.regions)]
            found = self._leaves[v] = set[Value]().union(*(self.leaves(x) for x in parts))
        return found

    # Forwards: variables, copies, reads

    def _declare(self, v: Value) -> None:
        self.variables.setdefault(self.variable(v))

    def _scan(self, block: Block, end: End) -> set[Value]:
        """Set up the variables and ends of a block; returns the variables that it reads and does not define."""
        reads: set[Value] = set()
        defined: set[Value] = set()
        tail = self.folding.tails.get(id(block))
        self.ends[id(block)] = end if tail is None else End()
        for op in block.ops:
            if len(op.outputs) == 1 and op.out in self.folding.folded:
                continue
            if op.row.loop:
                inner, made = self._scan_loop(op)
            elif op.kind == "if":
                inner, made = self._scan_if(op, end if op is tail else None)
            else:
                inner, made = set[Value](), op.outputs
                for v in made:
                    self._declare(v)
            if op.regions:
                self._outer[id(op)] = inner
                reads |= inner
            for v in op.inputs:
                reads |= self.leaves(v)
            defined.update(self.variable(v) for v in made)
        if tail is None:
            for _, v in end.copies:
                reads |= self.leaves(v)
            if end.leave is not None:
                reads |= self.leaves(end.leave)
            self.copies += end.copies
            if end.around:
                self._steady.append(end)
        return reads - defined

    def _scan_loop(self, op: Op) -> tuple[set[Value], list[Value]]:
        first = 1 if op.kind == "for" else 0
        body = op.regions[-1]
        used = [k for k in range(len(op.outputs)) if self._is_used(op, k, first)]
        for region in op.regions:
            self.variable_of.update(zip(region.args[first:], op.outputs, strict=True))
        around, steady = self._around, self._steady
        if first:
            self._declare(body.args[0])
            self.indices[body.args[0]] = around
            self._around = (*around, body.args[0])
        inits = initial(op)
        entry = [(op.outputs[k], inits[k]) for k in used]
        for v, _ in entry:
            self._declare(v)
        self.entries[id(op)] = entry
        self.copies += entry
        shift = has_exit(op)
        following = [(op.outputs[k], body.results[k + shift]) for k in used]
        reads = set[Value]()
        if op.kind == "while":
            cond = op.regions[0]
            reads |= self._scan(cond, End()) | self.leaves(cond.results[0])
        self._steady = []
        reads |= self._scan(body, End(following, body.results[0] if shift else None, around=True))
        self._keep_constants(entry)
        self._around, self._steady = around, steady
        made = [self.variable(a) for region in op.regions for a in region.args]
        return reads.difference(made), op.outputs

    def _keep_constants(self, entry: list[Copy]) -> None:
        """Leave a carried value alone that starts as a constant which every iteration but the last gives it again.

        Flags of `break` and early `return` are such: `found = False` needs no repetition.
        """
        staying = [end for end in self._steady if not _is_constant(end.leave, value=True)]
        for d, init in entry:
            if not is_const(init):
                continue
            value = const_of(init)
            follow = [(end, k, v) for end in staying for k, (e, v) in enumerate(end.copies) if e is d]
            if all(_is_constant(v, value=value) or self._is_kept(d, end, v, value) for end, _, v in follow):
                for end, k, v in follow:
                    if _is_constant(v, value=value):
                        end.copies[k] = (d, d)

    def _is_kept(self, d: Value, end: End, v: Value, value: object) -> bool:
        """Whether a copy surely leaves the constant `value` in `d` where the loop goes on."""
        return self.variable(v) is d or (v is end.leave and value is False)

    def _is_used(self, op: Op, k: int, first: int) -> bool:
        users = self.folding.users
        return op.outputs[k] in users or any(region.args[k + first] in users for region in op.regions)

    def _scan_if(self, op: Op, outer_end: End | None) -> tuple[set[Value], list[Value]]:
        reads: set[Value] = set()
        used = [k for k, v in enumerate(op.outputs) if v in self.folding.users]
        for region in op.regions:
            if outer_end is None:
                end = End([(op.outputs[k], region.results[k]) for k in used])
                for k in used:
                    self._declare(op.outputs[k])
            else:
                joined = dict(zip(op.outputs, region.results, strict=True))
                leave = outer_end.leave
                copies = [(d, joined.get(v, v)) for d, v in outer_end.copies]
                end = End(copies, joined.get(leave, leave) if leave else None, around=outer_end.around)
            reads |= self._scan(region, end)
        return reads, op.outputs if outer_end is None else []

    # Backwards: what is live

    def _assign(self, v: Value, live: set[Value]) -> None:
        self.interferes[v] |= live
        self.interferes[v].discard(v)

    def _parallel(self, copies: list[Copy], live: set[Value]) -> None:
        """Assign the copies' targets, all at once; `live` becomes what is live before."""
        for d, v in copies:
            others = live - {d}
            if v not in self.folding.folded:
                others.discard(self.variable(v))
            self.interferes[d] |= others
        for d, _ in copies:
            self.interferes[d].update(e for e, _ in copies if e is not d)
        live.difference_update(d for d, _ in copies)
        for _, v in copies:
            live |= self.leaves(v)

    def _end(self, block: Block, live: set[Value]) -> None:
        end = self.ends[id(block)]
        if end.leave is not None:
            read = self.leaves(end.leave)
            assigned = {d for d, v in end.copies if v in self.folding.folded or self.variable(v) is not d}
            end.saved = not read.isdisjoint(assigned)
            if end.saved:
                self._parallel(end.copies, live)
                live |= read
                return
            live |= read
        self._parallel(end.copies, live)

    def _region(self, block: Block, live: set[Value]) -> set[Value]:
        """What is live before a block, given what is live after it."""
        live = set(live)
        self._end(block, live)
        self._ops(block, live)
        return live

    def _ops(self, block: Block, live: set[Value]) -> None:
        tail = self.folding.tails.get(id(block))
        for op in reversed(block.ops):
            if len(op.outputs) == 1 and op.out in self.folding.folded:
                continue
            if op.row.loop:
                self._loop(op, live)
            elif op.kind == "if":
                before = [self._region(region, live) for region in op.regions]
                if op is tail:
                    live.clear()
                else:
                    live.difference_update(op.outputs)
                live |= before[0] | before[1] | self.leaves(op.inputs[0])
            else:
                self._statement(op, live)

    def _statement(self, op: Op, live: set[Value]) -> None:
        read = set[Value]().union(*(self.leaves(v) for v in op.inputs))
        if op.kind == "raise":
            live.clear()
        for v in op.outputs:
            self._assign(v, live)
            self.interferes[v].update(w for w in op.outputs if w is not v)
            if not self.printer.expressible(op) and self.printer.early_outputs(op):
                self.interferes[v] |= read
        live.difference_update(op.outputs)
        live |= read

    def _loop(self, op: Op, live: set[Value]) -> None:
        entry = self.entries[id(op)]
        carried = [d for d, _ in entry]
        header = live | self._outer[id(op)] | set(carried)
        body = op.regions[-1]
        before = self._region(body, header)
        if op.kind == "for":
            self._assign(
                body.args[0], before.union(self.indices[body.args[0]])
            )  # a reader expects nested indices to differ
            bounds = op.inputs[:3]
        else:
            cond = op.regions[0]
            during = before | live | self.leaves(cond.results[0])
            self._ops(cond, during)
            bounds = []
        live |= header
        for v in bounds:
            live |= self.leaves(v)
        self._parallel(entry, live)


def _is_constant(v: Value | None, *, value: object) -> bool:
    """Whether this is that constant, of the same type."""
    found = const_of(v)
    return type(found) is type(value) and repr(found) == repr(value)
