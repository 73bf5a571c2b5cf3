"""Nests whose outermost loop runs in several threads: it becomes a function of its own, for a part of its range.

    def loops1_(lo_, hi_, x, out, sums_):           sums_ = empty_float64((n,))
        for i_ in range(lo_, hi_):                  spread(loops1_, n, n * m * 9, (x, out, sums_))
            total_ = 0.0                            for i_ in range(n):
            for j_ in range(m): ...                     total = plus(total, sums_[i_])
            sums_[i_] = total_

Numbers that all iterations add to are noted per iteration (of one loop alone: per block), then added in their order:
the results do not depend on the threads.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
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
_SUMS, _EACH = 1 << 17, 32  # sums at most that the threads of a device take, and elements of each: the host adds up


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
    if length.isdigit() and int(length) < 64:
        return False
    if any(s.place and (outermost in s.axes or s.axes == [-1]) for s in nest.sums.values()) and not columns(nest):
        return False
    return not any(map(_may_fail, nest.members))


def columns(nest: Loops) -> list[int] | None:
    """The axes of a nest whose sums all go over its outermost loops, for a device: None where they do not."""
    sums = list(nest.sums.values())
    if not nest.printer.device or not sums:
        return None
    over = nest.order[: len(sums[0].axes)]
    if not over or len(over) == len(nest.order) or nest.order != sorted(nest.order):
        return None
    return over if all(s.place and sorted(s.axes) == over and _by_rows(s) for s in sums) else None


def _by_rows(s: Sum) -> bool:
    kind = s.op.out.type
    return not isinstance(kind, Array) or kind.layout == "C"


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
        self.totals: list[Sum] = [s for s in nest.sums.values() if not s.place]
        self.outermost = nest.order[0]
        self.low, self.high = self.printer.temp("lo"), self.printer.temp("hi")
        self.notes: list[str] = []  # arrays made here

    def write(self) -> None:
        """All lines."""
        over = columns(self.nest)
        if over is not None:
            self._write_columns(over)
            return
        lines, nest, totals = self.lines, self.nest, self.totals
        count = length = nest.nest.lengths[self.outermost]
        flat = nest.printer.device and not any(s.place for s in nest.sums.values())
        blocks = bool(totals) and len(nest.order) == 1 and not flat
        size = nest.block_size(totals)
        if flat:
            count = self._flat_count()
        elif blocks:
            count = self.printer.temp("count")
            lines.add(f"{count} = ({length} + {size - 1}) // {size}")
        kept = [self._note(s.dtype, count) for s in totals]
        flags = self._note(np.dtype(np.bool_), "1") if self.flag else ""
        if flags:
            lines.add(f"{flags}[0] = False", inside=True)
        body = self._body(blocks=blocks, size=size, kept=kept, flags=flags, flat=count if flat else "")
        part = self._part(body)
        work = " * ".join([*nest.nest.lengths, str(self._weight())])
        told.part(part.name, nest.op)
        lines.add(f"spread({part.name}, {count}, {work}, {tuple_text(part.parameters[2:])})")
        if totals:
            index = self.printer.temp("at")
            apart = not self.printer.reorders(nest.op)
            with lines.block(f"for {index} in range({count}):"):
                for s, name in zip(totals, kept, strict=True):
                    lines.add(s.step(s.out, f"{name}[{index}]", apart=apart), inside=True)
        if flags:
            lines.add(f"{self.flag} = {flags}[0]", inside=True)

    def _write_columns(self, over: list[int]) -> None:
        """Sums over the outermost loops: a turn takes some of an element's, in strides, so that neighbours are read.

        There are as many of these turns for each element as keep the device busy. Where one is enough it writes the
        element; otherwise the host adds up.
        """
        lines, nest = self.lines, self.nest
        kept = nest.order[len(over) :]
        width, rows, chunks, count = (self.printer.temp(hint) for hint in ("width", "rows", "chunks", "count"))
        lengths = nest.nest.lengths
        lines.add(f"{width} = {' * '.join(lengths[k] for k in kept)}")
        lines.add(f"{rows} = {' * '.join(lengths[k] for k in over)}")
        few = f"quotient({_SUMS}, maximum({width}, 1))"
        lines.add(f"{chunks} = maximum(minimum({few}, quotient({rows} + {_EACH - 1}, {_EACH})), 1)")
        lines.add(f"{count} = {width} * {chunks}")
        flat = self.printer.define("reshaped_C", 'memory.reshape("C")')
        sums = list(nest.sums.values())
        results = [self.printer.temp("result", f"{s.dtype.name}:1C") for s in sums]
        notes = [self.printer.temp("notes", f"{s.dtype.name}:1C") for s in sums]
        for s, result, name in zip(sums, results, notes, strict=True):
            lines.add(f"{result} = {flat}({s.out}, ({width},))")
            made = self.printer.define(f"notes_{s.dtype.name}", f'memory.notes("{s.dtype.name}")')
            lines.add(f"if {chunks} == 1:")
            lines.add(f"    {name} = {result}")
            lines.add("else:")
            lines.add(f"    {name} = {made}(({count},))")
        flags = self._note(np.dtype(np.bool_), "1") if self.flag else ""
        if flags:
            lines.add(f"{flags}[0] = False", inside=True)
        self.notes += notes
        nest.lines = self.lines = Lines()
        if self.flag:
            nest.lines.add(f"{self.flag} = False")
        self._column_turns(over, kept, (width, rows, chunks), notes)
        if flags:
            with nest.lines.block(f"if {self.flag}:"):
                nest.lines.add(f"{flags}[0] = True", inside=True)
        nest.lines.add("return 0")
        body = nest.lines.parse()
        nest.lines = self.lines = lines
        part = self._part(body)
        work = " * ".join([*lengths, str(self._weight())])
        told.part(part.name, nest.op)
        lines.add(f"spread({part.name}, {count}, {work}, {tuple_text(part.parameters[2:])})")
        chunk, at = self.printer.temp("chunk"), self.printer.temp("at")
        each = [f"if {chunks} > 1:", f"for {chunk} in range({chunks}):", f"for {at} in range({width}):"]
        with lines.block(each[0]), lines.block(each[1]), lines.block(each[2]):
            for s, result, name in zip(sums, results, notes, strict=True):
                lines.add(s.step(f"{result}[{at}]", f"{name}[{chunk} * {width} + {at}]"), inside=True)
        if flags:
            lines.add(f"{self.flag} = {flags}[0]", inside=True)

    def _column_turns(self, over: list[int], kept: list[int], names: tuple[str, str, str], notes: list[str]) -> None:
        """The turns: each of an element of the results, and of some of the rows."""
        nest, lines = self.nest, self.lines
        width, rows, chunks = names
        sums = list(nest.sums.values())
        turn, chunk, left, row = (self.printer.temp(hint) for hint in ("turn", "chunk", "rest", "row"))
        before = [(s.out, s.place, s.part) for s in sums]
        with lines.block(f"for {turn} in range({self.low}, {self.high}):"):
            lines.add(f"{chunk} = quotient({turn}, {width})")
            lines.add(f"{left} = {turn} - {chunk} * {width}")
            self._indices(kept, left)
            for s in sums:
                s.out, s.place, s.part = self.printer.temp("total", s.dtype.name), "", ""
                lines.add(f"{s.out} = {s.start}")
            with lines.block(f"for {row} in range({chunk}, {rows}, {chunks}):"):
                self._indices(over, row)
                nest.inside(len(nest.order), self.flag)
            for s, name in zip(sums, notes, strict=True):
                lines.add(f"{name}[{turn}] = {s.out}", inside=True)
        for s, (out, place, part) in zip(sums, before, strict=True):
            s.out, s.place, s.part = out, place, part

    def _flat_count(self) -> str:
        """How many turns go over all elements: one each, or so many sums."""
        lengths = [self.nest.nest.lengths[k] for k in self.nest.order]
        self.elements = lengths[0] if len(lengths) == 1 else self.printer.temp("elements")
        if len(lengths) > 1:
            self.lines.add(f"{self.elements} = {' * '.join(lengths)}")
        if not self.totals:
            return self.elements
        count = self.printer.temp("count")
        self.lines.add(f"{count} = minimum(quotient({self.elements} + {_EACH - 1}, {_EACH}), {_SUMS})")
        return count

    def _flat(self, count: str, kept: list[str]) -> None:
        """All elements by one number: what neighbours among a device's threads read are neighbours in memory."""
        lines = self.nest.lines
        at = self.printer.temp("turn")
        if not kept:
            with lines.block(f"for {at} in {NEST}({self.low}, {self.high}):"):
                self._place(at)
            return
        each = self.printer.temp("element")
        parts = [s.part for s in self.totals]

        def inner() -> None:
            with lines.block(f"for {each} in range({at}, {self.elements}, {count}):"):
                self._place(each)

        for s in self.totals:
            s.part = ""
        with lines.block(f"for {at} in range({self.low}, {self.high}):"):
            self._iteration(at, kept, inner)
        for s, part in zip(self.totals, parts, strict=True):
            s.part = part

    def _place(self, number: str) -> None:
        """The indices of an element by its number, and what is done there."""
        self._indices(self.nest.order, number)
        self.nest.inside(len(self.nest.order), self.flag)

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

    def _note(self, dtype: np.dtype, count: str) -> str:
        name = self.printer.temp("notes", f"{dtype.name}:1C")
        made = self.printer.define(f"notes_{dtype.name}", f'memory.notes("{dtype.name}")')
        self.lines.add(f"{name} = {made}(({count},))")
        self.notes.append(name)
        return name

    def _weight(self) -> int:
        members = [m for m in self.nest.members if not fuse.is_fill(m)]
        streams = len(self.nest.nest.arrays) + len(self.nest.targets) + len(self.nest.outs)
        return sum(_CALL if m.kind in VECTOR else 1 for m in members) + _STREAM * streams

    def _body(self, *, blocks: bool, size: int, kept: list[str], flags: str, flat: str) -> list[ast.stmt]:
        nest, main = self.nest, self.lines
        nest.lines = lines = Lines()
        if self.flag:
            lines.add(f"{self.flag} = False")
        if flat:
            self._flat(flat, kept)
        elif blocks:
            block = self.printer.temp("block")
            length = nest.nest.lengths[self.outermost]
            with lines.block(f"for {block} in range({self.low}, {self.high}):"):
                part_of = f"{block} * {size}, minimum({block} * {size} + {size}, {length})"
                self._iteration(block, kept, lambda: nest.in_blocks(part_of, self.flag))
        elif self.totals:
            index = nest.nest.indices[self.outermost]
            with lines.block(f"for {index} in range({self.low}, {self.high}):"):
                self._iteration(index, kept, lambda: nest.inside(1, self.flag))
        else:
            index = nest.nest.indices[self.outermost]
            with lines.block(f"for {index} in {nest.kind_of(0)}({self.low}, {self.high}):"):
                nest.inside(1, self.flag)
        if flags:
            with lines.block(f"if {self.flag}:"):
                lines.add(f"{flags}[0] = True", inside=True)
        lines.add("return 0")
        nest.lines = main
        return lines.parse()

    def _iteration(self, at: str, kept: list[str], inner: Callable[[], None]) -> None:
        """One iteration (or block), whose sums are noted."""
        lines = self.nest.lines
        outs = [s.out for s in self.totals]
        for s in self.totals:
            s.out = self.printer.temp("total", s.dtype.name)
            lines.add(f"{s.out} = {s.start}")
        inner()
        for s, out, name in zip(self.totals, outs, kept, strict=True):
            lines.add(f"{name}[{at}] = {s.out}", inside=True)
            s.out = out

    def _part(self, body: list[ast.stmt]) -> Part:
        free = given_names(self.printer, body, {self.low, self.high})
        part = Part(self.printer.part_name(), [self.low, self.high, *free], self._apart(free), body)
        self.printer.parts.append(part)
        return part

    def _apart(self, names: list[str]) -> tuple[int, ...]:
        """Numbers for parameters, the same where arrays may overlap."""
        behind = arrays_of(self.nest)
        fresh = {*self.nest.outs.values(), *self.notes} - behind.keys()
        return (0, 0, *groups_of(names, behind, self.printer.roots, fresh))


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
