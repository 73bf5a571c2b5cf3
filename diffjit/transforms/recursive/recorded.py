"""Derivatives of recursive functions that run once on the way there and once on the way back.

    f_vjp(args, bars)  ->   f_record(args, stacks)       what the way back needs goes onto stacks, call by call
                            f_back(bars, stacks)         takes it from there, in the opposite order

`f_vjp` runs its body and, on the way back, each call of `f` in it once more (`transforms.recursion`): a recursion of
depth d costs d times its value. Any further derivative can be taken of that. What is compiled need not run again: calls
follow each other on the way back as they did on the way there, last to first, so one stack for each type of number
serves them all. Only numbers are recorded: where the way back reads arrays that a call has made, it runs again.

There may be more calls than memory. A stack takes so many numbers and no more; if one is full in the end, nothing of it
is used, and `f_vjp` runs again at this level, and records in those below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import LEVEL, Block, Function, Op, Value, const_of, is_const, is_view, without_labels
from diffjit.ir.types import BOOL, INT, Array, Scalar, Stack, Type
from diffjit.ir.walk import blocks, clone, dce, nothing, rename, uses, walk

MOST = 2**25  # numbers on one stack: 256 MB


@dataclass(slots=True, eq=False)
class Joint:
    """A derivative of a recursive function that also gives its results: one sweep there, one back."""

    original: Function  # called on the way there
    derivative: Function  # and this one on the way back
    function: Function  # parameters: those of the function, then what comes from its caller for the way back
    primal: list[Value]
    bars: list[Value]


class Apart(Exception):
    """The two sweeps of this function have more in common than numbers."""


@dataclass(slots=True, eq=False)
class Recorded:
    """The two halves of a derivative."""

    original: Function | None  # what the first one computes, if that is all that the function does
    record: Function
    back: Function
    needed: list[int]  # parameters of the function that the way back reads
    stacks: list[Stack]


@dataclass(slots=True)
class Mirrored:
    """A block of the way there, and the one of the way back that undoes it."""

    there: Block
    back: Block
    inside: list[tuple[Op, Op]] = field(default_factory=list[tuple[Op, Op]])  # control flow in them, last first


class Halves:
    """Cuts a derivative in two."""

    def __init__(self, joint: Joint) -> None:
        self.joint = joint
        ops = joint.function.body.ops
        turn = next((k for k, op in enumerate(ops) if "turn" in op.attrs), len(ops))
        self.there = Block([], ops[:turn])
        self.back = Block([], ops[turn:])
        self.calls: list[tuple[Op, Op]] = []
        self.pairs: list[Mirrored] = []
        self.build = Builder()
        self.types: dict[object, Stack] = {}
        self.stacks: dict[object, tuple[Value, Value]] = {}  # by dtype: as the way there and the way back know it
        self.pushed: dict[
            Block, list[tuple[Value, Value]]
        ] = {}  # at the end of a block: numbers, and as they come back
        self.removed: set[int] = set()
        self.made = {v for op in walk(self.there) for v in op.outputs}
        self.made |= {a for op in walk(self.there) for r in op.regions for b in blocks(r) for a in b.args}
        self.users = uses(joint.function)

    def cut(self) -> Recorded:
        """The two functions."""
        needed = self.needed()
        self.mirror(self.there, self.back)
        if not self.calls:
            raise Apart
        self.forget_unused(needed)
        for pair in self.pairs:
            self.match_records(pair)
        self.cross()
        for pair in self.pairs:
            self.place(pair)
        return self.functions(needed)

    # What is where

    def calls_of(self, block: Block, callee: Function) -> list[Op]:
        """Calls of a function in a block and inside."""
        return [op for op in walk(block) if op.kind == "call" and op.attrs["function"] is callee]

    def needed(self) -> list[int]:
        """The parameters of the function that the way back reads, of its own or in calls."""
        n = len(self.joint.original.params)
        params = {p: k for k, p in enumerate(self.joint.function.params[:n])}
        again = {id(op) for op in self.calls_of(self.back, self.joint.derivative)}
        seen: set[Value] = set()
        found: set[int] = set()
        defined = {v: op for op in walk(self.back) for v in op.outputs}

        def look(v: Value) -> None:
            if v in seen:
                return
            seen.add(v)
            if v in params:
                found.add(params[v])
            op = defined.get(v)
            if op is None and v in self.made and v.op is not None and _again(v.op):
                op = v.op
            if op is not None and id(op) not in again:
                for i in _read_by(op):
                    look(i)

        effects = [op for op in walk(self.back) if id(op) not in again and (op.row.writes or op.kind == "call")]
        for op in effects:
            for v in op.inputs:
                look(v)
        for op in walk(self.back):
            if op.row.nested:
                for v in _read_by(op):
                    look(v)
        for v in self.joint.bars:
            look(v)
        ours = self.calls_of(self.back, self.joint.derivative)
        for op in ours:
            for v in op.inputs[n:]:
                look(v)
        while True:
            before = len(found)
            for op in ours:
                for k in sorted(found):
                    look(op.inputs[k])
            if len(found) == before:
                return sorted(found)

    def mirror(self, there: Block, back: Block) -> None:
        """Pair blocks, and calls, that follow each other in opposite order."""
        pair = Mirrored(there, back)
        self.pairs.append(pair)
        down = [op for op in there.ops if self.matters(op, there=True)]
        up = [op for op in back.ops if self.matters(op, there=False)]
        if len(down) != len(up):
            raise Apart
        for a, b in zip(reversed(down), up, strict=True):
            if a.kind == "call" and b.kind == "call":
                self.calls.append((a, b))
            elif a.kind == "if" and b.kind == "if":
                pair.inside.append((a, b))
                for x, y in zip(a.regions, b.regions, strict=True):
                    self.mirror(x, y)
            elif a.row.loop and b.kind == "for" and self.opposite(a, b):
                pair.inside.append((a, b))
                self.mirror(a.regions[-1], b.regions[0])
            else:
                raise Apart

    def opposite(self, a: Op, b: Op) -> bool:
        """Whether a loop runs from the last iteration to the first of another one."""
        if a.kind == "while":
            return not any(self.matters(op, there=True) for op in a.regions[0].ops)
        return bool(a.attrs.get("reverse")) != bool(b.attrs.get("reverse"))

    def matters(self, op: Op, *, there: bool) -> bool:
        """Whether an operation is a call of the function (or its derivative), or has one, or a record, inside."""
        callee = self.joint.original if there else self.joint.derivative
        if op.kind == "call":
            return op.attrs["function"] is callee
        return any(
            self.matters(o, there=there) or (self.writes_record(o) if there else self.reads_record(o))
            for region in op.regions
            for o in walk(region)
        )

    def writes_record(self, op: Op) -> bool:
        """Whether an operation of the way there records a number or an array that the way back looks at."""
        if op.kind not in ("store", "push") or not _is_record(op.inputs[0]):
            return False
        return any(self.origin(o.inputs[0]) is op.inputs[0] for o in walk(self.back) if o.kind in ("load", "pop"))

    def reads_record(self, op: Op) -> bool:
        """Whether an operation of the way back looks at such a record."""
        return op.kind in ("load", "pop") and self.origin(op.inputs[0]) is not None

    def origin(self, v: Value) -> Value | None:
        """The tape, made on the way there, that a value is: itself, or by way of branches that it leaves."""
        while v in self.made and v.op is not None and v.op.kind == "if":
            k = v.op.outputs.index(v)
            real = [x for x in (r.results[k] for r in v.op.regions) if not _is_dummy(x)]
            if len(real) != 1:
                return None
            v = real[0]
        return v if v in self.made and _is_record(v) else None

    # Records

    def forget_unused(self, needed: list[int]) -> None:
        """Calls on the way back take what they need, and what is recorded for the rest is not."""
        n = len(self.joint.original.params)
        for _, call in self.calls:
            call.inputs = [*(call.inputs[k] for k in needed), *call.inputs[n:]]
        ops = self.joint.function.body
        while True:
            self.users = uses(Function("", [], Block([], [*self.there.ops, *self.back.ops], list(ops.results))))
            unused = [o for o in walk(self.back) if o.kind != "call" and self.idle(o)]
            if not unused:
                return
            gone = {id(o) for o in unused}
            for o in unused:
                if o.kind == "pop":
                    stack = self.origin(o.inputs[0])
                    gone |= {id(p) for p in walk(self.there) if p.kind == "push" and p.inputs[0] is stack}
            for block in (*blocks(self.there), *blocks(self.back)):
                block.ops = [o for o in block.ops if id(o) not in gone]

    def idle(self, op: Op) -> bool:
        """Whether an operation of the way back has results that nobody uses, and does nothing else."""
        if any(self.users[v] for v in op.outputs) or not op.outputs:
            return False
        if op.kind == "pop":
            return self.origin(op.inputs[0]) is not None
        return not (op.row.writes or op.row.effect or op.row.control or op.regions)

    def match_records(self, pair: Mirrored) -> None:
        """What is recorded at each run of a block, and taken in each run of its mirror image, goes onto the stacks."""
        reads: dict[Value, Op] = {}
        for op in pair.back.ops:
            if self.reads_record(op):
                tape = self.origin(op.inputs[0])
                if tape is None or tape in reads:
                    raise Apart
                reads[tape] = op
        entered: list[tuple[Value, Value]] = []
        for op in pair.there.ops:
            if self.writes_record(op):
                read = reads.pop(op.inputs[0], None)
                if read is None or not isinstance(read.out.type, Scalar):
                    raise Apart
                self.removed |= {id(op), id(read)}
                entered.append((op.inputs[1], read.out))
        if reads:
            raise Apart
        self.pushed[pair.there] = entered

    def cross(self) -> None:
        """Numbers of the way there that the way back reads as they are."""
        self.drop(self.removed)
        taken = {out for entered in self.pushed.values() for _, out in entered}
        defined = taken | {v for op in walk(self.back) for v in op.outputs}
        defined |= {a for op in walk(self.back) for r in op.regions for b in blocks(r) for a in b.args}
        known = defined | set(self.joint.function.params)
        copied: dict[Value, Value] = {}
        first: list[Op] = []
        while True:
            read = dict.fromkeys(v for op in walk(self.back) for v in _read_by(op) if v not in known)
            read |= dict.fromkeys(v for v in self.joint.bars if v not in known)
            again = [v for v in read if v.op is not None and (is_const(v) or _again(v.op))]
            if not again:
                break
            for v in again:
                op = v.op
                assert op is not None
                made = Op(op.kind, list(op.inputs), [], without_labels(op.attrs), [], op.loc)
                copied[v] = new = Value(v.type, v.name)
                new.op, new.block = made, self.back
                made.outputs = [new]
                first.insert(0, made)
                self.back.ops.insert(0, made)
                known.add(new)
            rename(self.back, copied)
            self.joint.bars = [copied.get(v, v) for v in self.joint.bars]
        top = self.pairs[0]
        for v in read:
            if not isinstance(v.type, Scalar):
                raise Apart
            self.settle(v, top)

    def settle(self, v: Value, pair: Mirrored) -> None:
        """Record a number at the end of a block, or at the ends of branches that it is for."""
        readers = [op for op in pair.back.ops if v in _read_by(op, inside=True)]
        if v not in pair.back.results and v not in self.joint.bars and len(readers) == 1 and readers[0].kind == "if":
            branch = readers[0]
            found = next((a for a, b in pair.inside if b is branch), None)
            if found is not None and branch.inputs[0] is not v and self.before(v, found, pair.there):
                for there, back in zip(found.regions, branch.regions, strict=True):
                    if any(v in _read_by(op) for op in walk(back)) or v in back.results:
                        inner = next(p for p in self.pairs if p.there is there and p.back is back)
                        own = there.results[found.outputs.index(v)] if v in found.outputs else v
                        taken = Value(v.type, v.name)
                        rename(back, {v: taken})
                        self.settle_as(own, taken, inner)
                return
        taken = Value(v.type, v.name)
        rename(pair.back, {v: taken})
        if pair is self.pairs[0]:
            self.joint.bars = [taken if b is v else b for b in self.joint.bars]
        self.settle_as(v, taken, pair)

    def settle_as(self, v: Value, taken: Value, pair: Mirrored) -> None:
        """Record a number at the end of a block, as another value on the way back."""
        if is_const(v):
            value = Op("const", [], [taken], {"value": const_of(v)})
            taken.op, taken.block = value, pair.back
            pair.back.ops.insert(0, value)
            return
        self.pushed.setdefault(pair.there, []).append((v, taken))

    def before(self, v: Value, op: Op, block: Block) -> bool:
        """Whether a value is there when an operation of a block begins, or is made by it."""
        if v in op.outputs:
            return True
        places = [k for k, o in enumerate(block.ops) if v in o.outputs]
        return bool(places) and places[0] < block.ops.index(op)

    def drop(self, gone: set[int]) -> None:
        for block in (*blocks(self.there), *blocks(self.back)):
            block.ops = [o for o in block.ops if id(o) not in gone]

    # The stacks

    def stack(self, number: Value) -> tuple[Value, Value]:
        """The stack for a number: on the way there, and on the way back."""
        assert isinstance(number.type, Scalar)
        key = number.type.dtype
        if key not in self.stacks:
            ty = self.types[key] = Stack(Scalar(key))
            self.stacks[key] = Value(ty, f"{key}_stack"), Value(ty, f"{key}_stack")
        return self.stacks[key]

    def place(self, pair: Mirrored) -> None:
        """Put what a block records at its end, and take it at the beginning of its mirror image."""
        entered = self.pushed.get(pair.there, [])
        by_stack: dict[Value, list[Value]] = {}
        with self.build.inside(Block()) as block:
            for number, _ in entered:
                stack = self.stack(number)[0]
                plain = Scalar(number.type.dtype)
                made = number if number.type == plain else self.build.value("cast", [number], plain)
                by_stack.setdefault(stack, []).append(made)
            for stack, numbers in by_stack.items():
                self.push(stack, numbers)
            pair.there.ops += _owned(block, pair.there)
        with self.build.inside(Block()) as block:
            for number, taken in reversed(entered):
                got = self.build.value("pop", [self.stack(number)[1]], Scalar(number.type.dtype), name=taken.name)
                if got.type == taken.type:
                    block.ops[-1].outputs = [taken]
                    taken.op = block.ops[-1]
                else:
                    taken.op = self.build.op("cast", [got])
                    taken.op.outputs = [taken]
            pair.back.ops[:0] = _owned(block, pair.back)

    def push(self, stack: Value, numbers: Sequence[Value]) -> None:
        """Record numbers where there is room."""
        some, none = Block(), Block()
        room = self.build.value("less", [self.build.value("list_len", [stack], INT), self.build.const(MOST)], BOOL)
        with self.build.inside(some):
            for number in numbers:
                self.build.op("push", [stack, number])
        self.build.op("if", [room], regions=[some, none])

    def functions(self, needed: list[int]) -> Recorded:
        """The two halves as functions."""
        joint, n = self.joint.function, len(self.joint.original.params)
        own = [there for there, _ in self.stacks.values()]
        theirs = [back for _, back in self.stacks.values()]
        about = "", joint.source_file, joint.source_line, joint.lines
        self.there.results = list(self.joint.primal)
        record = Function(f"{self.joint.original.name}_record", [*joint.params[:n], *own], self.there, *about)
        self.back.results = list(self.joint.bars)
        params = [*(joint.params[k] for k in needed), *joint.params[n:], *theirs]
        back = Function(f"{self.joint.original.name}_back", params, self.back, *about)
        for there, call in self.calls:
            there.attrs["function"], call.attrs["function"] = record, back
            there.inputs += own
            there.attrs.pop("repeats", None)
            call.inputs += theirs
        record, back = clone(record), clone(back)
        dce(record)
        dce(back, nothing)
        return Recorded(self.joint.original, record, back, needed, list(self.types.values()))


def _owned(block: Block, by: Block) -> list[Op]:
    for op in block.ops:
        for v in op.outputs:
            v.block = by
    return block.ops


def _read_by(op: Op, *, inside: bool = False) -> list[Value]:
    """What an operation reads, and what leaves its branches and iterations; all that is read inside, if asked for."""
    found = [*op.inputs, *(v for region in op.regions for v in region.results)]
    if inside:
        found += [v for region in op.regions for o in walk(region) for v in _read_by(o)]
    return found


def _is_record(v: Value) -> bool:
    """Whether a value is memory that a sweep records in."""
    made = v.op
    return made is not None and (made.kind == "stack_new" or made.attrs.get("record") == "tape")


def _is_dummy(v: Value) -> bool:
    made = v.op
    if made is None:
        return False
    return made.kind == "undef" or (
        made.kind == "empty" and "record" not in made.attrs and any(const_of(i) == 0 for i in made.inputs)
    )


def _again(op: Op) -> bool:
    """Whether what an operation gives is taken again: a view, or a length."""
    return op.kind == "dim" or (is_view(op) and isinstance(op.out.type, Array))


def both(derivative: Function, again: Function, parts: Recorded, n: int) -> Function:
    """The function that records and goes back, or runs again where there is too much to record."""
    params = [Value(p.type, p.name) for p in derivative.params]
    body, build = Block(), Builder()
    types = [v.type for v in derivative.results]
    with build.inside(body):
        stacks, _ = recording(build, parts, params[:n], inside=True)
        body.results = list(going_back(build, parts, again, params, stacks, types, inside=True))
    made = Function(
        derivative.name, params, body, "", derivative.source_file, derivative.source_line, dict(derivative.lines)
    )
    for p in params:
        p.block = body
    return made


def recording(build: Builder, parts: Recorded, inputs: Sequence[Value], *, inside: bool) -> tuple[list[Value], Op]:
    """The call that records, and its stacks. `inside`: in the function itself, so to say."""
    stacks = [build.value("stack_new", (), ty) for ty in parts.stacks]
    types = [v.type for v in parts.record.results]
    call = build.op("call", [*inputs, *stacks], types, function=parts.record)
    if inside:
        call.attrs[LEVEL] = True
    return stacks, call


def going_back(
    build: Builder,
    parts: Recorded,
    again: Function,
    inputs: Sequence[Value],
    stacks: list[Value],
    types: list[Type],
    *,
    inside: bool,
) -> list[Value]:
    """The way back from what was recorded, or by running again: with the inputs of the derivative."""
    full: Value | None = None
    for stack in stacks:
        more = build.value("less", [build.value("list_len", [stack], INT), build.const(MOST)], BOOL)
        full = more if full is None else build.value("logical_and", [full, more], BOOL)
    assert full is not None
    short, long = Block(), Block()
    n = len(parts.record.params) - len(stacks)
    with build.inside(short):
        given = [*(inputs[k] for k in parts.needed), *inputs[n:], *stacks]
        back = build.op("call", given, types, function=parts.back)
        short.results = list(back.outputs)
    with build.inside(long):
        once_more = build.op("call", list(inputs), types, function=again)
        long.results = list(once_more.outputs)
    if inside:
        back.attrs[LEVEL] = once_more.attrs[LEVEL] = True
    if not types or not inside:
        return build.op("if", [full], types, regions=[short, long]).outputs
    # Numba finds the types of functions in a ring where one of the ways calls none of them.
    never, ever = Block(), Block()
    with build.inside(never):
        never.results = [build.const(0.0, ty) for ty in types]
    with build.inside(ever):
        ever.results = list(build.op("if", [full], types, regions=[short, long]).outputs)
    impossible = build.value("less", [build.value("list_len", [stacks[0]], INT), build.const(0)], BOOL)
    return build.op("if", [impossible], types, regions=[never, ever]).outputs
