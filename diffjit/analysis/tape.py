"""How much memory a sweep forward leaves for the way back, found before it runs.

def f(x, n):                             `x_stack` holds n arrays of x's shape; for n = 10 and x of 100 numbers that
    for t in range(n):        ->         makes 8000 bytes at the turn
        x = np.sin(x)

The program is followed with sizes in place of arrays and with those numbers alone that sizes hang on. Arguments are
known; what is computed from the contents of other arrays is not, and what is recorded under a branch or in a loop that
hangs on such a number is reported as not known. Loops whose iterations do not differ are followed for a few of them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit.analysis import shapes
from diffjit.analysis.evaluate import Evaluator
from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Block, Function, Loc, Op, Value, is_view
from diffjit.ir.types import Array, List, Scalar, Stack
from diffjit.ir.walk import blocks, callees, walk

MOST_STEPS = 300_000  # operations that are followed before a program counts as too long to be counted


@dataclass(slots=True)
class Record:
    """What one operation leaves for the way back."""

    loc: Loc | None
    name: str
    kind: str  # "tape", "stack", "copy" or "array"
    form: str = ""  # "float64[10, 98]"
    count: int = 0  # arrays, or numbers on a stack
    size: int = 0
    each: int | None = None  # bytes of one of them, where all are alike
    why: str = ""  # why the total is not known


@dataclass(slots=True, eq=False)
class _Buffer:
    """Memory behind an array; None as size: not known."""

    op: Op | None
    size: int | None
    counted: bool


@dataclass(slots=True, eq=False)
class _Sized:
    """An array of the run: its shape, its memory, and what it holds where that is an argument."""

    shape: shapes.Shape
    buffer: _Buffer
    holds: Any = None


class TooLong(Exception):
    """More steps than anybody wants to wait for."""


@dataclass(slots=True)
class _Turn:
    """One place where a sweep forward ends, and what crosses it."""

    block: Block
    at: int
    crossing: list[Value]


def at_turns(function: Function, inputs: list[Any], melted: set[Value], crossing: list[Value] | None) -> list[Record]:
    """The records alive at that turn of a program where they are most.

    crossing   the values that outlive the program (split code); without it, turns are found by their labels
    melted     arrays that are never made, as their loops melt with those that use them
    """
    if crossing is not None:
        turns = [_Turn(function.body, len(function.body.ops), crossing)]
    else:
        turns = [_turn(block, k) for block, k in _labels(function.body)]
    found = [_Run(function, inputs, turn, melted).records() for turn in turns]
    nothing: list[Record] = []
    best = max(found, key=lambda rs: (any(r.why for r in rs), sum(r.size for r in rs)), default=nothing)
    return [*best, *_recursive(function)]


def _labels(block: Block) -> list[tuple[Block, int]]:
    """The outermost places where a way back begins."""
    own = [(block, k) for k, op in enumerate(block.ops) if "turn" in op.attrs]
    return own or [found for op in block.ops for region in op.regions for found in _labels(region)]


def _turn(block: Block, at: int) -> _Turn:
    """What is made before a turn in its block, or before the block, and used after it."""
    before = {v for op in block.ops[:at] for v in op.outputs}
    used: dict[Value, None] = {}
    for op in block.ops[at:]:
        used.update(dict.fromkeys(op.inputs))
        for region in op.regions:
            for b in blocks(region):
                used.update(dict.fromkeys(v for o in b.ops for v in o.inputs))
                used.update(dict.fromkeys(b.results))
    used.update(dict.fromkeys(block.results))
    return _Turn(block, at, [v for v in used if v in before])


def _recursive(function: Function) -> list[Record]:
    """Recursive functions keep what they need for themselves, at a depth that only the run knows."""
    keeping = {
        id(f)
        for f in callees(function)
        if f is not function and any(o.kind == "stack_new" or "turn" in o.attrs for o in walk(f.body))
    }
    calls = [op for op in walk(function.body) if op.kind == "call" and id(op.attrs["function"]) in keeping]
    return [
        Record(op.loc, op.attrs["function"].name, "stack", why="recursion runs to a depth that is not known beforehand")
        for op in calls[:1]
    ]


class _Relevant:
    """The values that sizes hang on, and the operations that matter."""

    def __init__(self, function: Function, turn: _Turn) -> None:
        self.parents: dict[int, Op] = {}
        self.made: dict[Value, list[Value]] = {}
        self.owner: dict[Value, Op] = {}
        self.values: set[Value] = set()
        self.kept: set[int] = set()
        pushed: dict[Value, list[Op]] = {}
        for op in walk(function.body):
            for region in op.regions:
                for inner in region.ops:
                    self.parents[id(inner)] = op
                for k, arg in enumerate(region.args):
                    self.owner[arg] = op
                    self.made[arg] = self._fed(op, k)
            for k, v in enumerate(op.outputs):
                self.owner[v] = op
                self.made[v] = self._joined(op, k)
            if op.kind == "push":
                pushed.setdefault(op.inputs[0], []).append(op)
        self.stacks = set[Value]()
        todo = [v for v in turn.crossing if isinstance(v.type, Stack)]
        self.todo: list[Value] = [v for v in turn.crossing if isinstance(v.type, Array)]
        while todo:
            stack = todo.pop()
            if stack in self.stacks:
                continue
            self.stacks.add(stack)
            todo += [v for v in self.made.get(stack, ()) if isinstance(v.type, Stack)]
            for op in pushed.get(stack, ()):
                self._keep(op)
                if isinstance(op.inputs[1].type, Stack):
                    todo.append(op.inputs[1])
                elif isinstance(op.inputs[1].type, Array):
                    self.todo.append(op.inputs[1])
        if (outer := self._around(function.body, turn.block)) is not None:
            self._keep(outer)
        while self.todo:
            v = self.todo.pop()
            if v not in self.values:
                self.values.add(v)
                self.todo += [x for x in self.made.get(v, ()) if not isinstance(x.type, Stack)]
                if v in self.owner:
                    self._keep(self.owner[v])

    def _around(self, body: Block, block: Block) -> Op | None:
        if block is body:
            return None
        return next(op for op in walk(body) if any(r is block for r in op.regions))

    def _keep(self, op: Op | None) -> None:
        while op is not None and id(op) not in self.kept:
            self.kept.add(id(op))
            if op.kind == "for":
                self.todo += op.inputs[:3]
            elif op.kind == "if":
                self.todo.append(op.inputs[0])
            elif op.kind == "while":
                self.todo.append(op.regions[0].results[0])
            if op.row.loop and len(op.regions[-1].results) > len(op.outputs):
                self.todo.append(op.regions[-1].results[0])
            op = self.parents.get(id(op))

    @staticmethod
    def _fed(op: Op, k: int) -> list[Value]:
        """What an argument of a region is made of."""
        if op.kind == "for":
            return [op.inputs[0], op.inputs[2]] if k == 0 else [op.inputs[k + 2], _next(op, k - 1)]
        return [op.inputs[k], _next(op, k)] if op.kind == "while" else []

    @staticmethod
    def _joined(op: Op, k: int) -> list[Value]:
        """What a result is made of."""
        if op.kind == "if":
            return [r.results[k] for r in op.regions]
        if op.row.loop:
            return [op.inputs[k + (3 if op.kind == "for" else 0)], _next(op, k)]
        if isinstance(op.outputs[k].type, Array) and not op.row.control:
            viewed = op.inputs[:1] if is_view(op) or op.kind == "stop_gradient" else []
            return [*viewed, *shapes.read_for_shape(op)]  # of a view, the memory that it shares
        return [v for v in op.inputs if isinstance(v.type, (Scalar, Array))]


def _next(op: Op, k: int) -> Value:
    body = op.regions[-1]
    return body.results[k + (len(body.results) > len(op.outputs))]


class _Run:
    """Follows a program with sizes in place of arrays, up to one turn."""

    def __init__(self, function: Function, inputs: list[Any], turn: _Turn, melted: set[Value]) -> None:
        self.function, self.turn, self.melted = function, turn, melted
        self.relevant = _Relevant(function, turn)
        self.evaluate = Evaluator(function)
        self.known: dict[Value, Any] = {}
        self.ledger: dict[int, Record] = {}
        self.best: list[Record] = []
        self.inside = False  # in the sweep forward that ends at the turn
        self.why = ""  # why what is recorded now is not certain to be
        self.steps = 0
        written = {self._root(op.inputs[k]) for op in walk(function.body) for k in op.row.writes}
        for p, given in zip(function.params, inputs, strict=False):
            if isinstance(p.type, Array):
                holds = None if p in written else np.asarray(given)
                self.known[p] = _Sized(np.shape(given), _Buffer(None, 0, counted=True), holds)
            elif isinstance(p.type, Scalar):
                self.known[p] = given

    @staticmethod
    def _root(v: Value) -> Value:
        while v.op is not None and is_view(v.op):
            v = v.op.inputs[0]
        return v

    def records(self) -> list[Record]:
        """What is alive at the turn."""
        try:
            self.block(self.function.body)
        except TooLong:
            why = f"counting would take more than {MOST_STEPS} steps"
            return [*self.ledger.values(), Record(None, "", "tape", why=why)]
        return self.best

    # Control flow

    def block(self, block: Block) -> None:
        """Follow the operations of a block."""
        here = block is self.turn.block
        if here:
            self.ledger, self.inside = {}, True
            for op in block.ops[: self.turn.at]:
                self.op(op)
            self.crossed()
            self.inside = False
            if block is self.function.body:
                return
        for op in block.ops[self.turn.at if here else 0 :]:
            self.op(op)

    def op(self, op: Op) -> None:
        """Follow one operation, if sizes hang on it."""
        if id(op) not in self.relevant.kept:
            return
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise TooLong
        if op.kind == "if":
            self.branch(op)
        elif op.kind == "for":
            self.counted(op)
        elif op.kind == "while":
            self.conditional(op)
        elif op.kind == "push":
            self.push(op)
        else:
            for v in op.outputs:
                if v in self.relevant.values:
                    self.known[v] = self.value(op, v)

    def branch(self, op: Op) -> None:
        """The branch that is taken, or both."""
        test = self.known.get(op.inputs[0])
        taken = op.regions if test is None else [op.regions[0 if test else 1]]
        with self.uncertain(self._told(op, "a branch that hangs on computed numbers") if test is None else ""):
            for region in taken:
                self.block(region)
        for k, v in enumerate(op.outputs):
            if v in self.relevant.values:
                ends = [r.results[k] for r in taken]
                found = [self.known.get(e) for e in ends if e.op is None or e.op.kind != "undef"]
                self.known[v] = found[0] if len(found) == 1 else self._either(found, v)

    def _either(self, found: list[Any], v: Value) -> Any:
        """What is known where two paths meet."""
        if isinstance(v.type, Array):
            known = [s for s in found if s is not None]
            same = bool(known) and all(s.shape == known[0].shape for s in known)
            shape = known[0].shape if same else (None,) * v.type.ndim
            return _Sized(shape, _Buffer(v.op, _bytes(shape, v), counted=False))
        if not found or any(f is None or f != found[0] for f in found):
            return None
        return found[0]

    def counted(self, op: Op) -> None:
        """A `for`."""
        bounds = [self.known.get(v) for v in op.inputs[:3]]
        body = op.regions[0]
        if any(b is None for b in bounds):
            self._once(op, op.inputs[3:], self._told(op, "a loop whose length hangs on computed numbers"))
            return
        order = range(*(int(b) for b in bounds if b is not None))
        index = body.args[0]
        steady = index not in self.relevant.values

        def step(k: int) -> bool:
            self.known[index] = order[len(order) - 1 - k if op.attrs.get("reverse") else k]
            self.block(body)
            return False

        self._iterate(op, op.inputs[3:], body.args[1:], len(order), step, steady=steady)

    def conditional(self, op: Op) -> None:
        """A `while`."""
        cond, body = op.regions

        def step(_: int) -> bool:
            for a, b in zip(cond.args, body.args, strict=True):
                self.known[a] = self.known.get(b)
            self.block(cond)
            go_on = self.known.get(cond.results[0])
            if go_on is None:
                raise _Undecided
            if go_on:
                self.block(body)
            return not go_on

        try:
            self._iterate(op, op.inputs, body.args, None, step, steady=False)
        except _Undecided:
            self._once(op, op.inputs, self._told(op, "a `while` whose condition hangs on computed numbers"))

    def _iterate(
        self, op: Op, init: list[Value], args: list[Value], trips: int | None, step: Any, *, steady: bool
    ) -> None:
        """Follow iterations; where none differs from the one before, the rest is as many times what that one left."""
        leaving = len(op.regions[-1].results) > len(op.outputs)
        for a, v in zip(args, init, strict=False):
            self.known[a] = self.known.get(v)
        alike, k = 0, 0
        before, state = self._sizes(), self._state(args)
        growth: dict[int, tuple[int, int]] | None = None
        while trips is None or k < trips:
            if step(k):
                break
            results = [self.known.get(_next(op, j)) for j in range(len(op.outputs))]
            for a, found in zip(args, results, strict=False):
                self.known[a] = found
            if leaving:
                leave = self.known.get(op.regions[-1].results[0])
                if leave is None:
                    self._once(op, [*args], self._told(op, "a loop that may end early"))
                    return
                if leave:
                    break
            k += 1
            after, now = self._sizes(), self._state(args)
            grown = {n: (s - before.get(n, (0, 0))[0], c - before.get(n, (0, 0))[1]) for n, (s, c) in after.items()}
            alike = alike + 1 if grown == growth and now == state else 0
            growth, before, state = grown, after, now
            if steady and trips is not None and alike > len(args) + 1:
                if self.inside:
                    for n, (s, c) in grown.items():
                        self.ledger[n].size += (trips - k) * s
                        self.ledger[n].count += (trips - k) * c
                break
        for j, v in enumerate(op.outputs):
            self.known[v] = self.known.get(args[j]) if j < len(args) else None

    def _once(self, op: Op, init: list[Value], why: str) -> None:
        """Follow a loop once that runs an unknown number of times."""
        first = 1 if op.kind == "for" else 0
        known = [self.known.get(v) for v in init]
        for region in op.regions:
            for a, found in zip(region.args[first:], known, strict=False):
                self.known[a] = found if isinstance(a.type, Array) else None
            if first:
                self.known[region.args[0]] = None
        with self.uncertain(why):
            for region in op.regions:
                self.block(region)
        for k, v in enumerate(op.outputs):
            ends = [known[k], self.known.get(_next(op, k))]
            self.known[v] = self._either(ends, v) if isinstance(v.type, Array) else None

    def _state(self, args: list[Value]) -> list[Any]:
        values = [self.known.get(a) if a in self.relevant.values else None for a in args]
        return [v.shape if isinstance(v, _Sized) else v for v in values]

    def _sizes(self) -> dict[int, tuple[int, int]]:
        return {n: (r.size, r.count) for n, r in self.ledger.items()}

    @contextmanager
    def uncertain(self, why: str) -> Generator[None]:
        """What is recorded meanwhile may be recorded any number of times."""
        outer = self.why
        self.why = outer or why
        try:
            yield
        finally:
            self.why = outer

    @staticmethod
    def _told(op: Op, what: str) -> str:
        return what if op.loc is None else f"{what}, line {op.loc.line}"

    # Values

    def value(self, op: Op, v: Value) -> Any:
        """A number, or an array's size; None: not known."""
        if isinstance(v.type, Array):
            return self._array(op, v)
        if not isinstance(v.type, Scalar) or len(op.outputs) > 1 or op.kind in ("undef", "call"):
            return None
        if op.kind == "const":
            return self.evaluate.constant(op)
        if op.kind == "dim":
            array = self.known.get(op.inputs[0])
            return None if array is None else array.shape[op.attrs["axis"]]
        given = [self.known.get(x) for x in op.inputs]
        given = [g.holds if isinstance(g, _Sized) else g for g in given]
        if any(g is None for g in given):
            return None
        with np.errstate(all="ignore"):
            return self.evaluate.operation(op)(*given)

    def _array(self, op: Op, v: Value) -> _Sized:
        if op.kind == "call" or len(op.outputs) > 1:
            shape: shapes.Shape = (None,) * v.type.ndim
            return _Sized(shape, _Buffer(op, _bytes(shape, v), counted=False))
        known = {x: self._number_or_shape(x) for x in op.inputs}
        shape = shapes.shape(op, known)
        base = self.known.get(op.inputs[0]) if op.inputs else None
        if (is_view(op) or op.kind == "stop_gradient") and isinstance(base, _Sized):
            given = [base.holds, *(self.known.get(x) for x in op.inputs[1:])]
            holds = None if any(g is None for g in given) else self.evaluate.operation(op)(*given)
            return _Sized(shape, base.buffer, holds)
        return _Sized(shape, _Buffer(op, _bytes(shape, v), counted=v in self.melted))

    def _number_or_shape(self, v: Value) -> Any:
        found = self.known.get(v)
        if isinstance(found, _Sized):
            return found.shape
        return (None,) * v.type.ndim if found is None and isinstance(v.type, Array) else found

    # Records

    def push(self, op: Op) -> None:
        """A number, or what holds an array, on a stack."""
        stack, v = op.inputs
        if not self.inside or isinstance(v.type, Stack):
            return
        if isinstance(v.type, Scalar):
            self.add(op, op.loc, _stem(stack.name), "stack", str(v.type.dtype), v.type.dtype.itemsize)
        elif isinstance(v.type, List):
            self.unknown(op, op.loc, _stem(stack.name), "a list whose length is not known beforehand")
        elif isinstance(found := self.known.get(v), _Sized):
            self.hold(found, v, op)
        else:
            self.unknown(op, op.loc, _stem(stack.name), "an array of unknown shape")

    def hold(self, array: _Sized, v: Value, at: Op) -> None:
        """Keep an array's memory, once."""
        buffer = array.buffer
        if buffer.counted:
            return
        buffer.counted = True
        made = buffer.op or at
        out = made.outputs[0] if made.outputs else v
        kind = made.attrs.get("record", "array")
        name = _stem(out.name or v.name)
        if buffer.size is None:
            self.unknown(made, made.loc, name, "its shape hangs on computed numbers")
        else:
            shape = ", ".join(map(str, array.shape)) if array.shape else "()"
            self.add(made, made.loc or at.loc, name, kind, f"{v.type.dtype}[{shape}]", buffer.size)

    def crossed(self) -> None:
        """What is alive at the turn."""
        for v in self.turn.crossing:
            found = self.known.get(v)
            if isinstance(v.type, Array) and isinstance(found, _Sized) and v.op is not None:
                self.hold(found, v, v.op)
            elif isinstance(v.type, List) and v.op is not None:
                self.unknown(v.op, v.op.loc, v.name or "list", "a list whose length is not known beforehand")
        size = sum(r.size for r in self.ledger.values())
        if size >= sum(r.size for r in self.best):
            self.best = [replace(r) for r in self.ledger.values()]

    def add(self, op: Op, loc: Loc | None, name: str, kind: str, form: str, size: int) -> None:
        """One more record at an operation."""
        record = self.ledger.get(id(op))
        if record is None:
            record = self.ledger[id(op)] = Record(loc, name, kind, form, each=size)
        if record.each != size:
            record.each, record.form = None, record.form.split("[")[0]
        if self.why:
            record.why = record.why or self.why
        else:
            record.count += 1
            record.size += size

    def unknown(self, op: Op, loc: Loc | None, name: str, why: str) -> None:
        """A record of unknown size."""
        record = self.ledger.setdefault(id(op), Record(loc, name, "array"))
        record.why = record.why or why


class _Undecided(Exception):
    """The condition of a loop is not known."""


def _stem(name: str | None) -> str:
    """The name of what is recorded: without what says that it is a record."""
    stem, _, last = (name or "value").rpartition("_")
    return stem if stem and last in ("tape", "stack", "kept") else (name or "value")


def _bytes(shape: shapes.Shape, v: Value) -> int | None:
    total = v.type.dtype.itemsize
    for n in shape:
        if n is None:
            return None
        total *= n
    return total
