"""Integers that grow ever faster, and are only ever made floats, are floats.

factorial = 1                                   factorial = 1.0
for k in range(1, n):                           for k in range(1, n):
    factorial *= k                        ->        factorial *= float(k)
    total += x**k / factorial                       total += x**k / factorial

Python's ints have no limit, those of machine code have 64 bits: 21! and 3**k soon are beyond them. As a float each
product is rounded, where Python rounds once, at the end: below 2**53 there is no difference, and above some units in
the last place. What is compared, divided without a remainder, an index or a result stays an int, and raises where it
does not fit. A quotient that is known to be exact (`math.comb`) is one of floats, rounded to the next integer. Where
digits that floats have lost decide, as numbers cancel in a sum, this raises, and so it does beyond what a float can be,
as Python's conversion does.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value, const_of
from diffjit.ir.types import BOOL, FLOAT, INT
from diffjit.ir.walk import blocks, carried, has_exit, initial, uses, walk

_EXACT = ("+", "-", "*")  # operators that a float has as an int has them, but for rounding
_KEPT = 2.0**50  # integers below are exact as floats: products and sums below 2**53, and quotients of what is beyond
_CANCELS = 15 / 16  # a sum less than this part of its larger operand; in others an error grows by a sixteenth at most

_LOST = "digits of ints beyond 2**50 cancel, which compiled code keeps as floats: make them floats"


def long_integers(function: Function) -> None:
    """Apply it to all that may grow beyond 64 bits, in place."""
    loops = [(op, k) for op in walk(function.body) if op.row.loop for k, v in enumerate(op.outputs) if v.type == INT]
    powers = [op for op in walk(function.body) if op.kind == "power" and _is_power(op)]
    if not powers and not loops:
        return
    program = _Program(function)
    for op in powers:
        group = program.group(op.out)
        if group is not None:
            program.convert(group)
    for loop, k in loops:
        args, result = carried(loop, k)
        group = program.group(args[-1])
        if group is not None and program.multiplies(group, result):
            program.convert(group)


def _is_power(op: Op) -> bool:
    """Of ints, with an exponent that is not known, and a base that makes it grow."""
    base, exponent = op.inputs
    return op.out.type == base.type == INT and const_of(exponent) is None and const_of(base) not in (0, 1, -1)


def _is_multiple(op: Op) -> bool:
    """A quotient of which it is known that nothing remains."""
    return bool(op.attrs.get("multiple"))


class _Program:
    """Who reads what, and where values go that blocks hand on."""

    def __init__(self, function: Function) -> None:
        self.block: dict[Op, Block] = {}
        self.users = uses(function)
        self.becomes: dict[Value, list[Value]] = {}  # what a value is behind a branch, and in a loop and behind it
        self.origins: dict[Value, list[Value]] = {}  # the other way round
        self.taken: set[Value] = {*function.results, *function.params}  # handed on in another way
        for block in blocks(function.body):
            for op in block.ops:
                self.block[op] = block
                self._joins(op)

    def _joins(self, op: Op) -> None:
        if op.kind == "if":
            for region in op.regions:
                for v, output in zip(region.results, op.outputs, strict=True):
                    self._become(v, [output])
        elif op.row.loop:
            for k, (output, first) in enumerate(zip(op.outputs, initial(op), strict=True)):
                args, result = carried(op, k)
                for v in (first, *args, result):
                    self._become(v, [*args, output])
            inner = op.regions[-1]
            self.taken.update(inner.results[: has_exit(op)], *(region.results for region in op.regions[:-1]))
            self.taken.update(inner.args[:1] if op.kind == "for" else ())
        else:
            for region in op.regions:
                self.taken.update(region.args, region.results)

    def _become(self, v: Value, others: list[Value]) -> None:
        self.becomes.setdefault(v, []).extend(others)
        for other in others:
            self.origins.setdefault(other, []).append(v)

    def multiplies(self, group: set[Value], result: Value) -> bool:
        """Whether what a loop carries is a multiple of what it carried, or a sum of several such."""
        seen, todo = {result}, [result]
        while todo:
            v = todo.pop()
            op = v.op
            origins = list(self.origins.get(v, ()))
            if op is not None and op.row.operator in _EXACT:
                one, other = op.inputs[0], op.inputs[-1]
                both = one in group and other in group and len(op.inputs) == 2
                if both or (
                    op.kind == "multiply"
                    and any(a in group and const_of(b) not in (1, -1) for a, b in ((one, other), (other, one)))
                ):
                    return True
                origins += op.inputs
            elif op is not None and _is_multiple(op):
                origins += op.inputs[:1]
            todo += (u for u in origins if u in group and u not in seen)
            seen.update(origins)
        return False

    def group(self, seed: Value) -> set[Value] | None:
        """All ints that are computed of one; None where any of them is used as an int."""
        found, todo = {seed}, [seed]
        while todo:
            v = todo.pop()
            if v in self.taken or v.type != INT:
                return None
            others = list(self.becomes.get(v, ()))
            for op in self.users.get(v, ()):
                if isinstance(op, Block):  # `becomes` and `taken` say what comes of it
                    continue
                exact = op.row.operator in _EXACT or (_is_multiple(op) and v is op.inputs[0])
                if exact and op.out.type == INT:
                    others.append(op.out)
                elif not _makes_float(op) and not self._hands_on(op, v):
                    return None
            todo += (other for other in others if other not in found)
            found.update(others)
        return found

    def _hands_on(self, op: Op, v: Value) -> bool:
        """Whether a loop only takes a value as what something carried begins as."""
        return op.row.loop and v not in op.inputs[: len(op.inputs) - len(op.outputs)]

    def convert(self, group: set[Value]) -> None:
        """Make them floats: what they are computed of is cast, and what is infinite raises where a float is made."""
        for v in group:
            v.type = FLOAT
        for op, block in list(self.block.items()):
            chosen = [v in group for v in op.outputs]
            if op.row.loop or op.kind == "if":
                if op.row.loop:
                    skipped = len(op.inputs) - len(op.outputs)  # bounds
                    self._cast(op, op.inputs, [skipped + k for k, c in enumerate(chosen) if c], block, op)
                for region in op.regions if op.kind == "if" else op.regions[-1:]:
                    first = has_exit(op) if op.row.loop else 0
                    self._cast(op, region.results, [first + k for k, c in enumerate(chosen) if c], region)
            elif any(chosen):
                self._cast(op, op.inputs, range(len(op.inputs)), block, op)
                op.attrs.pop("nowrap", None)
                if _is_multiple(op):
                    self._round(op)
                elif op.row.operator in "+-" and len({*op.inputs}) == 2:  # x - x is 0, rounded or not
                    self._raise_if_cancelled(op)
            else:
                for v in dict.fromkeys(v for v in op.inputs if v in group):
                    self._raise_if_infinite(op, v)

    def _cast(self, op: Op, values: list[Value], places: Iterable[int], home: Block, before: Op | None = None) -> None:
        """Cast those among an operation's inputs, or the results of its block, that are ints and have to be floats."""
        for k in places:
            if values[k].type == INT:
                made = Value(FLOAT, None)
                made.op, made.block = Op("cast", [values[k]], [made], {}, loc=op.loc), home
                home.ops.insert(len(home.ops) if before is None else home.ops.index(before), made.op)
                values[k] = made

    def _round(self, op: Op) -> None:
        """Make an exact quotient one of floats: both operands are rounded, so it is an integer only nearly."""
        home = self.block[op]
        quotient = Value(FLOAT, None)
        quotient.op, quotient.block = Op("divide", op.inputs, [quotient], {}, loc=op.loc), home
        home.ops.insert(home.ops.index(op), quotient.op)
        op.kind, op.inputs, op.attrs = "rint", [quotient], {}

    def _raise_if_cancelled(self, op: Op) -> None:
        with self._raising(op, after=True) as build:
            a, b, result = (build.value("absolute", [v], FLOAT) for v in (*op.inputs, op.out))
            larger = build.value("maximum", [a, b], FLOAT)
            limit = build.value("multiply", [larger, build.const(_CANCELS, FLOAT)], FLOAT)
            rounded = build.value("greater_equal", [larger, build.const(_KEPT, FLOAT)], BOOL)
            test = build.value("logical_and", [rounded, build.value("less", [result, limit], BOOL)], BOOL)
            build.raise_where(test, OverflowError, _LOST)

    def _raise_if_infinite(self, op: Op, v: Value) -> None:
        with self._raising(op) as build:
            test = build.value("isinf", [v], BOOL)
            build.raise_where(test, OverflowError, "int too large to convert to float")

    @contextmanager
    def _raising(self, op: Op, *, after: bool = False) -> Generator[Builder]:
        """A builder of what stands before an operation, or behind it."""
        home = self.block[op]
        build = Builder(home)
        build.loc = op.loc
        before, home.ops = home.ops, []
        yield build
        place = before.index(op) + after
        home.ops = before[:place] + home.ops + before[place:]


def _makes_float(op: Op) -> bool:
    """Whether an int among the operands counts as a float."""
    return (op.kind == "cast" or op.row.operator in (*_EXACT, "/")) and op.out.type.dtype.kind in "fc"
