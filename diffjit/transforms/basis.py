"""Loops over the basis of a space of tangents or cotangents.

A space has one block per number or array. One block is gone through by nested loops over its axes; several by one loop
over all their entries, in which each block tests whether its turn has come:

    for i in range(m):                          for k in range(m + n):
        x_dot = zeros_like(x)                       x_dot = zeros_like(x); y_dot = zeros_like(y)
        x_dot[i] = 1.0                              if 0 <= k < m: x_dot[k] = 1.0
        ...                                         if 0 <= k - m < n: y_dot[k - m] = 1.0
                                                    ...

The body is there once. It may take several basis vectors at once (`lanes`): then the last loop goes in steps, and those
behind its end are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Value
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym


@dataclass(slots=True, eq=False)
class Unit:
    """The part of a basis vector in one block: where its 1 is (`at`), and whether it has one (`here`; None: it has)."""

    value: Value
    at: list[Value]
    here: Value | None = None


@dataclass(slots=True, eq=False)
class Place:
    """Which columns of one block of a space are among those that are computed at once.

    They go from `first` to `last` within the block, and are the `given` ones of those at once (None: all of them).
    """

    size: Value
    first: Value
    last: Value
    given: tuple[Value, Value] | None = None


@dataclass(slots=True, eq=False)
class Basis:
    """The blocks of a space: values whose types and shapes the entries have, and their lengths."""

    build: Builder
    likes: list[Value]
    lanes: int = 1
    shapes: list[list[Value]] = field(default_factory=list[list[Value]])

    def __post_init__(self) -> None:
        for v in self.likes:
            axes = range(v.type.ndim if isinstance(v.type, Array) else 0)
            self.shapes.append([self.build.value("dim", [v], INT, axis=axis) for axis in axes])

    def each(self, body: Callable[[list[list[Unit]]], None]) -> None:
        """Run `body` for every `lanes` basis vectors: for each of them, its parts."""
        if len(self.likes) == 1:
            self._nested(self.shapes[0], [], body)
        else:
            self._flat(body)

    def together(self, most: Value, body: Callable[[list[Value], list[Place]], None]) -> None:
        """Run `body` for up to `most` basis vectors at once, as the last axis of an array for each block.

        It is given these arrays, with the first vector and their number, and the places of the vectors in the blocks.
        """
        sizes = [self._product(shape) for shape in self.shapes]
        starts = [self.build.const(0)]
        for n in sizes:
            starts.append(self._int("add", starts[-1], n))
        total = sizes[0] if len(sizes) == 1 else starts[-1]
        one = self.build.const(1)
        turns = self._int("floor_divide", self._int("add", total, self._int("subtract", most, one)), most)
        turns = self._int("maximum", turns, one)
        most = self._int("floor_divide", self._int("add", total, self._int("subtract", turns, one)), turns)
        most = self._int("maximum", most, one)
        index = Value(INT, "k")
        block = Block([index])
        with self.build.inside(block):
            end = self._int("minimum", self._int("add", index, most), total)
            count = self._int("subtract", end, index)
            places: list[Place] = []
            seeds: list[Value] = []
            for b, size in enumerate(sizes):
                place = self._place(index, end, starts[b], starts[b + 1], size, alone=len(sizes) == 1)
                places.append(place)
                start = starts[b] if b else None
                seeds.append(self._seed(b, index, start, place, count))
            body([*seeds, index, count], places)
        self.build.op("for", [self.build.const(0), total, most], regions=[block], exit=False, reverse=False)

    def _place(self, begin: Value, end: Value, start: Value, stop: Value, size: Value, *, alone: bool) -> Place:
        """The columns from `begin` to `end` of all that are those of a block from `start` to `stop`."""
        if alone:
            return Place(size, begin, end)
        low = self._int("minimum", self._int("maximum", begin, start), stop)
        high = self._int("maximum", self._int("minimum", end, stop), low)
        # A block that begins behind the end has no columns, and none of those given: from the end to the end.
        zero, count = self.build.const(0), self._int("subtract", end, begin)
        moved = (self._int("maximum", self._int("subtract", at, begin), zero) for at in (low, high))
        first, last = (self._int("minimum", at, count) for at in moved)
        return Place(size, self._int("subtract", low, start), self._int("subtract", high, start), (first, last))

    def _seed(self, b: int, begin: Value, start: Value | None, place: Place, count: Value) -> Value:
        """Zeros with ones where the columns of a block are."""
        like = self.likes[b]
        ty = like.type
        dims = ty.dims if isinstance(ty, Array) else ()
        lengths = dims if len(dims) == 1 else (Sym(),)
        seed = self.build.value(
            "zeros", [place.size, count], Array(ty.dtype, (*lengths, Sym()), "C"), order="C", name=_dotted(like)
        )
        row = Value(INT, "i")
        block = Block([row])
        with self.build.inside(block):
            column = self._int("subtract", row if start is None else self._int("add", row, start), begin)
            self.build.op("store", [seed, self._one(like), row, column])
        bounds = [place.first, place.last, self.build.const(1)]
        self.build.op("for", bounds, regions=[block], exit=False, reverse=False)
        if len(dims) == 1:
            return seed
        shape = [*self.shapes[b], count]
        return self.build.value("reshape", [seed, *shape], Array(ty.dtype, (*dims, Sym()), "C"), view=True)

    def size(self) -> Value:
        """The dimension of the space."""
        total = self.build.const(0)
        for shape in self.shapes:
            total = self._int("add", total, self._product(shape))
        return total

    def _nested(self, lengths: list[Value], at: list[Value], body: Callable[[list[list[Unit]]], None]) -> None:
        if len(lengths) > 1:
            self._loop(lengths[0], lambda i: self._nested(lengths[1:], [*at, i], body))
        elif lengths:
            lanes = range(self.lanes)
            self._loop(lengths[0], lambda i: body([[self._entry(at, i, k, lengths[0])] for k in lanes]), self.lanes)
        elif isinstance(self.likes[0].type, Array):
            body([[self._entry([], None, 0, None)]])
        else:
            body([[Unit(self._one(self.likes[0]), [])]])

    def _entry(self, at: list[Value], i: Value | None, lane: int, length: Value | None) -> Unit:
        """The basis vector whose 1 is at the i-th place of the last axis, or as many behind it as the lane says."""
        unit, here = self.build.zero(self.likes[0]), None
        if i is not None and length is not None:
            if lane:
                i = self._int("add", i, self.build.const(lane))
                here = self.build.value("less", [i, length], BOOL)
            at = [*at, i]
        self.when(here, lambda: self.build.op("store", [unit, self._one(self.likes[0]), *at]))
        return Unit(unit, at, here)

    def _flat(self, body: Callable[[list[list[Unit]]], None]) -> None:
        sizes = [self._product(shape) for shape in self.shapes]
        starts = [self.build.const(0)]
        for n in sizes:
            starts.append(self._int("add", starts[-1], n))

        def vectors(first: Value) -> None:
            given: list[list[Unit]] = []
            for lane in range(self.lanes):
                k = self._int("add", first, self.build.const(lane)) if lane else first
                given.append([self._unit(b, k, starts[b], sizes[b]) for b in range(len(sizes))])
            body(given)

        self._loop(starts[-1], vectors, self.lanes)

    def _unit(self, b: int, k: Value, start: Value, size: Value) -> Unit:
        """The part of the k-th basis vector in block b."""
        like = self.likes[b]
        j = self._int("subtract", k, start)
        zero = self.build.const(0)
        low = self.build.value("greater_equal", [j, zero], BOOL)
        here = self.build.value("logical_and", [low, self.build.value("less", [j, size], BOOL)], BOOL)
        unit, one = self.build.zero(like), self._one(like)
        if not isinstance(like.type, Array):
            return Unit(self.build.value("select", [here, one, unit], like.type), [], here)
        at: list[Value] = []
        for axis in reversed(range(len(self.shapes[b]))):
            # Lengths of 0 are never divided by: no entry of such a block is here.
            n = self._int("maximum", self.shapes[b][axis], self.build.const(1))
            at.insert(0, self._int("remainder", j, n) if axis else j)
            j = self._int("floor_divide", j, n) if axis else j
        self.when(here, lambda: self.build.op("store", [unit, one, *at]))
        return Unit(unit, at, here)

    def when(self, here: Value | None, action: Callable[[], object]) -> None:
        """Run something where a condition holds."""
        if here is None:
            action()
            return
        block = Block()
        with self.build.inside(block):
            action()
        self.build.op("if", [here], regions=[block, Block()])

    def _loop(self, n: Value, body: Callable[[Value], None], step: int = 1) -> None:
        index = Value(INT, "k")
        block = Block([index])
        with self.build.inside(block):
            body(index)
        bounds = [self.build.const(0), n, self.build.const(step)]
        self.build.op("for", bounds, regions=[block], exit=False, reverse=False)

    def _one(self, v: Value) -> Value:
        return self.build.const(1.0, v.type if isinstance(v.type, Scalar) else Scalar(v.type.dtype))

    def _product(self, lengths: list[Value]) -> Value:
        total = self.build.const(1)
        for n in lengths:
            total = self._int("multiply", total, n) if total.op is None or total.op.kind != "const" else n
        return total

    def _int(self, kind: str, a: Value, b: Value) -> Value:
        return self.build.value(kind, [a, b], INT, nowrap=True)


def _dotted(v: Value) -> str | None:
    return f"{v.name}_dot" if v.name else None
