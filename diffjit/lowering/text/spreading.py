"""Nests whose outermost loop runs in several threads: it becomes a function of its own, for a part of its range.

    def loops1_(lo_, hi_, x, out, sums_):           sums_ = empty_float64((n,))
        for i_ in range(lo_, hi_):                  spread(loops1_, n, n * m * 9, (x, out, sums_))
            total_ = 0.0                            for i_ in range(n):
            for j_ in range(m): ...                     total = total + sums_[i_]
            sums_[i_] = total_

Numbers that all iterations add to are noted per iteration (of one loop alone: per block), then added in their order:
the results do not depend on the threads.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Op, Value
from diffjit.ir.text import syntax
from diffjit.ir.text.names import BUILTINS
from diffjit.ir.types import Array
from diffjit.lowering.loops import fuse, told
from diffjit.lowering.marks import NEST
from diffjit.lowering.runtime.names import RUNTIME_NAMES
from diffjit.lowering.runtime.vecmath import VECTOR
from diffjit.lowering.text.lines import Lines, tuple_text

if TYPE_CHECKING:
    from diffjit.ir.roots import Roots
    from diffjit.lowering.text.nests import Loops, Sum
    from diffjit.lowering.text.source import LoweredPrinter

_CALL = 8  # an elementary function takes as long as so many operations,
_STREAM = 2  # an array from memory as so many
_FEW, _MANY = 64, 1024  # elements that one turn sums; sums that a kernel adds up of what turns have noted
_FEWER = 4096  # turns that add up what others have noted, before the host does
_SUMS, _EACH = 1 << 18, 32  # sums at most that the threads of a device take, and elements of each: the host adds up


@dataclass(frozen=True, slots=True)
class Part:
    """A function that the text of a nest calls."""

    name: str
    parameters: list[str]
    apart: tuple[int, ...]  # a number for each parameter: arrays with different ones never overlap
    body: list[ast.stmt]
    rooms: int = 0  # places where it makes arrays that use memory again


def pays(nest: Loops) -> bool:
    """Whether a nest may run in threads: its outermost iterations do not touch, and are more than a few."""
    if (
        not nest.printer.spreads(nest.op, len(nest.order))
        or not nest.order
        or (nest.printer.looped(nest.op) and len(nest.order) < 2 and not nest.printer.device)
    ):
        return False  # small loops inside of loops: what a call takes would show
    outermost = nest.order[0]
    length = nest.nest.lengths[outermost]
    if length.isdigit() and int(length) < 64 and not nest.printer.device:
        return False
    if any(s.place and (outermost in s.axes or s.axes == [-1]) for s in nest.sums.values()) and not grouped(nest):
        return False
    return not any(map(_may_fail, nest.members))


def grouped(nest: Loops) -> list[int] | None:
    """The axes that all sums of a nest go over, for a device: None where they do not, or are few elements."""
    sums = list(nest.sums.values())
    if not nest.printer.device or not sums or nest.order != sorted(nest.order):
        return None
    over = sorted(sums[0].axes)
    if over == [-1]:  # not known before the run
        return None
    if not over or len(over) == len(nest.order) or not all(s.place and sorted(s.axes) == over for s in sums):
        return None
    lengths = [nest.nest.lengths[k] for k in over]
    if over[0] != nest.order[0] and all(n.isdigit() for n in lengths) and math.prod(map(int, lengths)) < _FEW:
        return None
    return over if all(map(_by_rows, sums)) else None


def _by_rows(s: Sum) -> bool:
    kind = s.op.out.type
    return not isinstance(kind, Array) or kind.layout == "C"


@contextmanager
def _as_numbers(sums: list[Sum]) -> Iterator[None]:
    """Sums are taken in a variable each, whatever holds them otherwise."""
    before = [(s.place, s.part) for s in sums]
    for s in sums:
        s.place = s.part = ""
    yield
    for s, (place, part) in zip(sums, before, strict=True):
        s.place, s.part = place, part


def _may_fail(op: Op) -> bool:
    """Whether numbers may stop the program: a division of ints, and the like."""
    ints = any(fuse.element_type(v).dtype.kind not in "fcb" for v in op.outputs)
    return ints and op.row.fails and op.kind != "cast"


def write(nest: Loops, flag: str) -> None:
    """The lines of a nest that may run in threads; `flag` notes arguments out of range."""
    _Spread(nest, flag).write()


class _Spread:
    def __init__(self, nest: Loops, flag: str) -> None:
        self.nest, self.flag = nest, flag
        self.printer: LoweredPrinter = nest.printer
        self.lines = nest.lines
        self.sums = list(nest.sums.values())
        self.totals: list[Sum] = [s for s in self.sums if not s.place]
        self.outermost = nest.order[0]
        self.low, self.high = self.printer.temp("lo"), self.printer.temp("hi")
        self.notes: list[str] = []  # arrays made here

    def write(self) -> None:
        """All lines."""
        over = grouped(self.nest)
        if over is not None:
            self._write_groups(over)
            return
        lines, nest, totals = self.lines, self.nest, self.totals
        count = length = nest.nest.lengths[self.outermost]
        flat = nest.printer.device and not any(s.place for s in nest.sums.values())
        blocks = bool(totals) and len(nest.order) == 1 and not flat
        size = nest.block_size(totals)
        outer = 0 if flat or totals else self._outer()
        if flat:
            count = self._flat_count()
        elif outer > 1:
            count = self._elements(nest.order[:outer])
        elif blocks:
            count = self.printer.temp("count")
            lines.add(f"{count} = ({length} + {size - 1}) // {size}")
        kept = [self._note(s.dtype, count, self._long(count) if flat else "") for s in totals]
        flags = self._flags()
        if outer > 1:
            part = self._part(lambda: self._rows(outer), flags)
        else:
            part = self._part(
                lambda: self._body(blocks=blocks, size=size, kept=kept, flat=count if flat else ""), flags
            )
        self._spread(part, count, self._work())
        if totals:
            if flat:
                count, kept = self._fewer(count, kept)
            index = self.printer.temp("at")
            with lines.block(f"for {index} in range({count}):"):
                for s, name in zip(totals, kept, strict=True):
                    lines.add(s.step(s.out, f"{name}[{index}]"), inside=True)
        if flags:
            lines.add(f"{self.flag} = {flags}[0]", inside=True)

    def _fewer(self, count: str, kept: list[str]) -> tuple[str, list[str]]:
        """What many turns have noted, added up by some turns for the host: how many notes there are then, and where."""
        few = self.printer.temp("few")
        self.lines.add(f"{few} = minimum({count}, {_FEWER})")
        notes = [self._note(s.dtype, few) for s in self.totals]
        part = self._part(lambda: self._strided_adds(count, few, kept, notes))
        self._spread(part, few, f"{count} * int64({self._long(count)}) * {_STREAM}")
        return few, notes

    def _long(self, count: str) -> str:
        """Whether a device adds up so many notes first."""
        return f"{count} >= {_FEWER * _FEW}"

    def _strided_adds(self, count: str, few: str, kept: list[str], notes: list[str]) -> None:
        at, each = self.printer.temp("at"), self.printer.temp("each")
        with self.nest.lines.block(f"for {at} in range({self.low}, {self.high}):"):
            self._added(self.totals, f"for {each} in range({at}, {count}, {few}):", (kept, each), (notes, at))

    def _added(self, sums: list[Sum], loop: str, notes: tuple[list[str], str], results: tuple[list[str], str]) -> None:
        """Notes of sums, added up in a loop: where they are, and where the results go (arrays, and the index)."""
        lines, (given, place), (made, at) = self.nest.lines, notes, results
        totals = [self.printer.temp("total", s.dtype.name) for s in sums]
        for s, total in zip(sums, totals, strict=True):
            lines.add(f"{total} = {s.start}")
        with lines.block(loop):
            for s, total, name in zip(sums, totals, given, strict=True):
                lines.add(s.step(total, f"{name}[{place}]"), inside=True)
        for total, name in zip(totals, made, strict=True):
            lines.add(f"{name}[{at}] = {total}", inside=True)

    def _write_groups(self, over: list[int]) -> None:
        """Sums over some axes: a turn takes some elements of one sum, in strides, so that neighbours read neighbours.

        There are as many turns for each sum as keep the device busy. Where one is enough it writes the result, else
        their notes are added up by a second kernel, or by the host where there are few sums.
        """
        lines, nest = self.lines, self.nest
        kept = [k for k in nest.order if k not in over]
        width, length, chunks, count = (self.printer.temp(hint) for hint in ("width", "length", "chunks", "count"))
        lengths = nest.nest.lengths
        lines.add(f"{width} = {' * '.join(lengths[k] for k in kept)}")
        lines.add(f"{length} = {' * '.join(lengths[k] for k in over)}")
        few = f"quotient({_SUMS}, maximum({width}, 1))"
        lines.add(f"{chunks} = maximum(minimum({few}, quotient({length} + {_EACH - 1}, {_EACH})), 1)")
        lines.add(f"{count} = {width} * {chunks}")
        flat = self.printer.define("reshaped_C", 'memory.reshape("C")')
        results = [self.printer.temp("result", f"{s.dtype.name}:1C") for s in self.sums]
        notes = [self.printer.temp("notes", f"{s.dtype.name}:1C") for s in self.sums]
        wide = f"{width} >= {_MANY}"
        for s, result, name in zip(self.sums, results, notes, strict=True):
            lines.add(f"{result} = {flat}({s.out}, ({width},))")
            with lines.block(f"if {chunks} == 1:"):
                lines.add(f"{name} = {result}")
            with lines.block("else:"):
                self._made(name, s.dtype, count, f"({chunks} > {_FEW}) | ({wide})")
        flags = self._flags()
        self.notes += notes
        along = over[-1] == nest.order[-1]  # then turns of one sum are neighbours, else those of neighbouring sums
        names = (width, length, chunks)
        turns = self._part(lambda: self._group_turns(over, kept, names, notes, along=along), flags)
        self._spread(turns, count, self._work())
        self._add_groups(names, wide, results, notes, along=along)
        if flags:
            lines.add(f"{self.flag} = {flags}[0]", inside=True)

    def _add_groups(
        self, names: tuple[str, str, str], wide: str, results: list[str], notes: list[str], *, along: bool
    ) -> None:
        """What turns have noted is added up: many notes of one sum to a few at first."""
        lines, (width, _, chunks) = self.lines, names
        out, part = self.printer.temp("out"), [self.printer.temp("partial", f"{s.dtype.name}:1C") for s in self.sums]
        self.notes += part
        adds = self._part(lambda: self._group_adds((width, chunks, out), part, notes, along=along))
        with lines.block(f"if {chunks} > {_FEW}:"):
            lines.add(f"{out} = {_EACH}")
            for s, name in zip(self.sums, part, strict=True):
                self._made(name, s.dtype, f"{width} * {_EACH}", wide)
            self._spread(adds, f"{width} * {_EACH}", f"{width} * {chunks} * {_STREAM}")
            for name, made in zip(notes, part, strict=True):
                lines.add(f"{name} = {made}")
            lines.add(f"{chunks} = {_EACH}")
        with lines.block(f"if {chunks} > 1:"):
            lines.add(f"{out} = 1")
            for name, result in zip(part, results, strict=True):
                lines.add(f"{name} = {result}")
            self._spread(adds, width, f"{width} * {chunks} * int64({wide})")

    def _group_turns(
        self, over: list[int], kept: list[int], names: tuple[str, str, str], notes: list[str], *, along: bool
    ) -> None:
        nest, lines = self.nest, self.nest.lines
        width, length, chunks = names
        turn, one, other, element = (self.printer.temp(hint) for hint in ("turn", "one", "other", "element"))
        at, chunk = (one, other) if along else (other, one)

        def elements() -> None:
            with lines.block(f"for {element} in range({chunk}, {length}, {chunks}):"):
                self._indices(over, element)
                nest.inside(len(nest.order), self.flag)

        with lines.block(f"for {turn} in range({self.low}, {self.high}):"):
            self._split(turn, one, other, chunks if along else width)
            self._indices(kept, at)
            with _as_numbers(self.sums):
                self._iteration(turn, notes, elements, self.sums)

    def _group_adds(self, names: tuple[str, str, str], results: list[str], notes: list[str], *, along: bool) -> None:
        """So many notes of each sum, made of what turns have noted: of those in strides, in order."""
        lines, (width, chunks, out) = self.nest.lines, names
        turn, one, other, chunk = (self.printer.temp(hint) for hint in ("turn", "one", "other", "chunk"))
        at, first = (one, other) if along else (other, one)
        place = f"{at} * {chunks} + {chunk}" if along else f"{chunk} * {width} + {at}"
        with lines.block(f"for {turn} in range({self.low}, {self.high}):"):
            self._split(turn, one, other, out if along else width)
            loop = f"for {chunk} in range({first}, {chunks}, {out}):"
            self._added(self.sums, loop, (notes, place), (results, turn))

    def _split(self, turn: str, one: str, other: str, by: str) -> None:
        """A turn's number as two: the second counts to `by`."""
        self.nest.lines.add(f"{one} = quotient({turn}, {by})")
        self.nest.lines.add(f"{other} = {turn} - {one} * {by}")

    def _flat_count(self) -> str:
        """How many turns go over all elements: one each, or so many sums."""
        self.elements = self._elements(self.nest.order)
        if not self.totals:
            return self.elements
        count = self.printer.temp("count")
        self.lines.add(f"{count} = minimum(quotient({self.elements} + {_EACH - 1}, {_EACH}), {_SUMS})")
        return count

    def _elements(self, axes: list[int]) -> str:
        """The number of elements along some axes."""
        lengths = [self.nest.nest.lengths[k] for k in axes]
        if len(lengths) == 1:
            return lengths[0]
        elements = self.printer.temp("elements")
        self.lines.add(f"{elements} = {' * '.join(lengths)}")
        return elements

    def _flat(self, count: str, kept: list[str]) -> None:
        """All elements by one number: what neighbours among a device's threads read are neighbours in memory."""
        lines = self.nest.lines
        if not kept:
            self._rows(len(self.nest.order))
            return
        at, each = self.printer.temp("turn"), self.printer.temp("element")

        def inner() -> None:
            with lines.block(f"for {each} in range({at}, {self.elements}, {count}):"):
                self._place(each, len(self.nest.order))

        with _as_numbers(self.totals), lines.block(f"for {at} in range({self.low}, {self.high}):"):
            self._iteration(at, kept, inner, self.totals)

    def _outer(self) -> int:
        """How many of the outermost loops a device takes by one number: those that no sum goes along."""
        if not self.printer.device:
            return 0
        if any(s.axes == [-1] or not s.part for s in self.sums):
            return 0
        order = self.nest.order
        return min((order.index(k) for s in self.sums for k in s.axes), default=len(order))

    def _rows(self, outer: int) -> None:
        """Some of the outermost loops by one number, and the others in each turn."""
        at = self.printer.temp("turn")
        with self.nest.lines.block(f"for {at} in {NEST}({self.low}, {self.high}):"):
            self._place(at, outer)

    def _place(self, number: str, outer: int) -> None:
        """The indices of some of the outermost loops by one number, and what is done there."""
        self._indices(self.nest.order[:outer], number)
        self.nest.inside(outer, self.flag)

    def _indices(self, axes: list[int], number: str) -> None:
        """The indices of some axes, by the number of an element in their order."""
        nest, lines = self.nest, self.nest.lines
        names = [nest.nest.indices[k] for k in axes]
        lengths = [nest.nest.lengths[k] for k in axes]
        rest = number
        for k, name in enumerate(names):
            if k == len(names) - 1:
                lines.add(f"{name} = {rest}")
                break
            size = " * ".join(lengths[k + 1 :])
            lines.add(f"{name} = quotient({rest}, {size})")
            left = self.printer.temp("rest")
            lines.add(f"{left} = {rest} - {name} * ({size})")
            rest = left

    def _noting(self, dtype: np.dtype) -> str:
        """The function that makes notes."""
        return self.printer.define(f"notes_{dtype.name}", f'memory.notes("{dtype.name}")')

    def _note(self, dtype: np.dtype, count: str, stays: str = "") -> str:
        """An array for notes; `stays`: where that holds, a device reads them, else the host."""
        name = self.printer.temp("notes", f"{dtype.name}:1C")
        self._made(name, dtype, count, stays)
        self.notes.append(name)
        return name

    def _made(self, name: str, dtype: np.dtype, count: str, stays: str) -> None:
        pinned, plain = self._noting(dtype), self.printer.define(f"empty_{dtype.name}", f'memory.empty("{dtype.name}")')
        if not stays:
            self.lines.add(f"{name} = {pinned}(({count},))")
            return
        self.lines.add(f"if {stays}:")
        self.lines.add(f"    {name} = {plain}(({count},))")
        self.lines.add("else:")
        self.lines.add(f"    {name} = {pinned}(({count},))")

    def _flags(self) -> str:
        """Where parts note arguments out of range; "" where nobody asks."""
        if not self.flag:
            return ""
        flags = self._note(np.dtype(np.bool_), "1")
        self.lines.add(f"{flags}[0] = False", inside=True)
        return flags

    def _work(self) -> str:
        return " * ".join([*self.nest.nest.lengths, str(self._weight())])

    def _spread(self, part: Part, count: str, work: str) -> None:
        self.lines.add(f"spread({part.name}, {count}, {work}, {tuple_text(part.parameters[2:])})")

    def _weight(self) -> int:
        members = [m for m in self.nest.members if not fuse.is_fill(m)]
        streams = len(self.nest.nest.arrays) + len(self.nest.targets) + len(self.nest.outs)
        return sum(_CALL if m.kind in VECTOR else 1 for m in members) + _STREAM * streams

    def _body(self, *, blocks: bool, size: int, kept: list[str], flat: str) -> None:
        nest, lines = self.nest, self.nest.lines
        if flat:
            self._flat(flat, kept)
        elif blocks:
            block = self.printer.temp("block")
            length = nest.nest.lengths[self.outermost]
            with lines.block(f"for {block} in range({self.low}, {self.high}):"):
                part_of = f"{block} * {size}", f"minimum({block} * {size} + {size}, {length})"
                self._iteration(block, kept, lambda: nest.in_blocks(part_of, self.flag), self.totals)
        elif self.totals:
            index = nest.nest.indices[self.outermost]
            with lines.block(f"for {index} in range({self.low}, {self.high}):"):
                self._iteration(index, kept, lambda: nest.inside(1, self.flag), self.totals)
        else:
            index = nest.nest.indices[self.outermost]
            with lines.block(f"for {index} in {nest.kind_of(0)}({self.low}, {self.high}):"):
                nest.inside(1, self.flag)

    def _iteration(self, at: str, kept: list[str], inner: Callable[[], None], sums: list[Sum]) -> None:
        """One iteration (or block), whose sums are noted."""
        lines = self.nest.lines
        outs = [s.out for s in sums]
        for s in sums:
            s.out = self.printer.temp("total", s.dtype.name)
            lines.add(f"{s.out} = {s.start}")
        inner()
        for s, out, name in zip(sums, outs, kept, strict=True):
            lines.add(f"{name}[{at}] = {s.out}", inside=True)
            s.out = out

    def _part(self, write: Callable[[], None], flags: str = "") -> Part:
        """The part with the lines that `write` adds to the nest's; it notes arguments out of range in `flags`."""
        nest = self.nest
        nest.lines = lines = Lines()
        if flags:
            lines.add(f"{self.flag} = False")
        write()
        if flags:
            with lines.block(f"if {self.flag}:"):
                lines.add(f"{flags}[0] = True", inside=True)
        lines.add("return 0")
        nest.lines = self.lines
        body = lines.parse()
        free = given_names(self.printer, body, {self.low, self.high})
        part = Part(self.printer.part_name(), [self.low, self.high, *free], self._apart(free), body)
        self.printer.parts.append(part)
        told.part(part.name, nest.op)
        return part

    def _apart(self, names: list[str]) -> tuple[int, ...]:
        """Numbers for parameters, the same where arrays may overlap."""
        behind = arrays_of(self.nest)
        fresh = {*self.nest.outs.values(), *self.notes} - behind.keys()
        return (0, 0, *groups_of(names, behind, self.printer.roots, fresh))


def by_rows(printer: LoweredPrinter, op: Op, call: str, names: list[str], lines: Lines) -> None:
    """Spread what an operation does over the rows of its first operand: a call with two ends of rows behind the others.

    `names`: of the operands, or literals.
    """
    ty = op.inputs[0].type
    assert isinstance(ty, Array)
    low, high = printer.temp("lo"), printer.temp("hi")
    body = Lines()
    body.add(f"{call}({', '.join(names)}, {low}, {high})")
    body.add("return 0")
    behind: dict[str, list[Value]] = {}
    for v, name in zip(op.inputs, names, strict=True):
        if isinstance(v.type, Array):
            behind.setdefault(name, []).append(v)
    free = list(dict.fromkeys(name for name in names if name.isidentifier()))
    apart = groups_of(free, behind, printer.roots)
    part = Part(printer.part_name(), [low, high, *free], (0, 0, *apart), body.parse())
    printer.parts.append(part)
    told.part(part.name, op)
    lengths = [f"{names[0]}.shape[{k}]" for k in range(ty.ndim)]
    work = " * ".join([*lengths, str(_STREAM * len(names))])
    rows = lengths[-1 if ty.layout == "F" else 0]
    lines.add(f"spread({part.name}, {rows}, {work}, {tuple_text(free)})")


def arrays_of(nest: Loops) -> dict[str, list[Value]]:
    """The arrays that the variables of a nest stand for, but for those that it makes."""
    behind: dict[str, list[Value]] = {}
    for v, arg in nest.args.items():
        name = nest.nest.names.get(id(arg))
        if name is not None and isinstance(v.type, Array):
            behind.setdefault(name, []).append(v)
    for v, name in nest.targets.items():
        behind.setdefault(name, []).append(v)
    return behind


def groups_of(names: list[str], behind: dict[str, list[Value]], roots: Roots, fresh: Collection[str] = ()) -> list[int]:
    """A number for each of the names, the same where arrays may overlap; `behind`: what they stand for."""
    groups: list[int] = []
    known: list[tuple[int, list[Value]]] = []
    for k, name in enumerate(names):
        mine = behind.get(name)
        if mine is None:
            groups.append(k + 1 if name in fresh else 0)
            continue
        met = [g for g, others in known if any(roots.may_alias(a, b) for a in mine for b in others)]
        group = met[0] if met else k + 1
        for g in met[1:]:  # what overlaps both makes one of them
            groups = [group if x == g else x for x in groups]
            known = [(group if x == g else x, others) for x, others in known]
        groups.append(group)
        known.append((group, mine))
    return groups


def given_names(printer: LoweredPrinter, body: list[ast.stmt], given: set[str]) -> list[str]:
    """The variables that a part with these statements is given: those that they read, but for functions."""
    known = {*printer.definitions, *(part.name for part in printer.parts)}
    return [n for n in free_names(body, given) if n not in known]


def free_names(body: list[ast.stmt], given: set[str]) -> list[str]:
    """The variables that statements read and do not make, in their order."""
    nodes = [n for s in body for n in syntax.nodes(s) if isinstance(n, ast.Name)]
    made = {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
    names = dict.fromkeys(n.id for n in nodes if n.id not in made | given)
    return [n for n in names if n not in RUNTIME_NAMES and n not in BUILTINS]
