"""Integer-array and boolean indexing as loops."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from diffjit.ir.nodes import Op, Value, const_of
from diffjit.ir.types import Array, Dim, Scalar, Sym
from diffjit.lowering.loops.fuse import dims_of, element_type
from diffjit.lowering.text import loops, scalars
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines, subscript, tuple_text

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


class Selection:
    """`a[indices]`: the loops over its elements and the places in `a`."""

    def __init__(self, printer: LoweredPrinter, op: Op, args: list[ast.expr], first: int, lines: Lines) -> None:
        self.printer, self.lines = printer, lines
        base = op.inputs[0]
        assert isinstance(base.type, Array)
        self.name = printer.named(args[0], base, lines)
        spec = [*op.attrs["spec"], *([":"] * (base.type.ndim - len(op.attrs["spec"])))]
        indices = list(zip(op.inputs[first:], args[first:], strict=True))
        given = [(k, *indices.pop(0)) for k, s in enumerate(spec) if s != ":"]
        kept = [k for k, s in enumerate(spec) if s == ":"]
        space = broadcast([dims_of(v) for _, v, _ in given])
        self.nest = loops.Nest(printer, lines, space, fit="fitted_index")
        safe = [(k, v, self._own_copy(base, v, arg) if first == 2 else arg) for k, v, arg in given]
        for _, v, arg in safe:
            self.nest.read(arg, v)
        self.nest.measure()
        axes = {k: printer.temp(loops.INDEX_NAMES[(len(space) + n) % 6]) for n, k in enumerate(kept)}
        lengths = {k: f"{self.name}.shape[{k}]" for k in kept}
        positions = [k for k, _, _ in given]
        together = positions == list(range(positions[0], positions[-1] + 1))
        before = [k for k in kept if together and k < positions[0]]
        after = [k for k in kept if k not in before]
        self.outer = [(axes[k], lengths[k]) for k in before] + list(
            zip(self.nest.indices, self.nest.lengths, strict=True)
        )
        self.inner = [(axes[k], lengths[k]) for k in after]
        self.dims: tuple[Dim, ...] = (*(base.type.dims[k] for k in before), *space, *(base.type.dims[k] for k in after))
        self.safe, self.axes, self.ndim = safe, axes, base.type.ndim

    def _own_copy(self, base: Value, v: Value, arg: ast.expr) -> ast.expr:
        """Indices that share memory with what is written are read first."""
        if not isinstance(v.type, Array) or not self.printer.roots.may_alias(base, v):
            return arg
        made = self.printer.temp("places", f"{v.type.dtype.name}:{v.type.ndim}C")
        loops.copy(self.printer, v, arg, made, "C", self.lines)
        return ast.Name(id=made, ctx=ast.Load())

    @property
    def indices(self) -> list[str]:
        """Loop indices of the result."""
        return [i for i, _ in (*self.outer, *self.inner)]

    @property
    def lengths(self) -> list[str]:
        """Lengths of the result."""
        return [n for _, n in (*self.outer, *self.inner)]

    def places(self) -> dict[int, str]:
        """Inside the loops over the indices: the tested places along the axes that they select."""
        found: dict[int, str] = {}
        for k, v, arg in self.safe:
            at = found[k] = self.printer.temp("at")
            element = scalars.cast(self.nest.element(arg, v), np.dtype(np.int64))
            self.lines.add(f"{at} = place({element}, {self.name}.shape[{k}], {k})", inside=True)
        return found

    def tested(self) -> None:
        """Loops that only test the indices: as in NumPy, nothing is written if one of them is wrong."""
        with self.lines.loops(self.nest.indices, self.nest.lengths):
            self.places()

    def body(self, text: Callable[[str], str]) -> None:
        """The loops; `text` makes the innermost line from the place in `a`."""
        with self.lines.loops([i for i, _ in self.outer], [n for _, n in self.outer]):
            places = {**self.axes, **self.places()}
            with self.lines.loops([i for i, _ in self.inner], [n for _, n in self.inner]):
                self.lines.add(text(subscript(self.name, [places[k] for k in range(self.ndim)])), inside=True)


def broadcast(shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """What is known of broadcast lengths."""
    ndim = max((len(s) for s in shapes), default=0)
    out: list[Dim] = []
    for k in range(ndim):
        rest = list(dict.fromkeys(d for s in shapes if (p := k - ndim + len(s)) >= 0 and (d := s[p]) != 1))
        out.append(rest[0] if len(rest) == 1 else 1 if not rest else Sym())
    return tuple(out)


@statement("gather")
def _gather(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    selection = Selection(printer, op, args, 1, lines)
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text(selection.lengths)})")
    selection.body(lambda place: f"{subscript(outs[0], selection.indices)} = {place}")


@statement("scatter", "scatter_add")
def _scatter(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    target, value = op.inputs[:2]
    assert isinstance(target.type, Array)
    arg = args[1]
    if isinstance(value.type, Array) and printer.roots.may_alias(target, value):
        made = printer.work("source", f"{value.type.dtype.name}:{value.type.ndim}C")
        loops.copy(printer, value, arg, made, "C", lines)
        arg = ast.Name(id=made, ctx=ast.Load())
    selection = Selection(printer, op, args, 2, lines)
    nest = loops.Nest(printer, lines, selection.dims, fit="fitted_value")
    nest.indices = selection.indices
    nest.lengths = selection.lengths
    for k, d in enumerate(selection.dims):
        nest.sources[k] = [(d, selection.lengths[k])]
    nest.read(arg, value)
    nest.measure()
    if selection.nest.indices and not printer.roots.allocated(target):
        selection.tested()  # somebody sees the array after an IndexError
    element = Scalar(target.type.dtype)
    text = scalars.cast(nest.element(arg, value), target.type.dtype)
    if op.kind == "scatter":
        selection.body(lambda place: f"{place} = {text}")
    else:
        added = scalars.Operand(text, element)

        def add(place: str) -> str:
            total = scalars.apply("add", [scalars.Operand(place, element), added], element, nowrap=True)
            return f"{place} = {total}"

        selection.body(add)


class Mask:
    """A boolean array over the leading dimensions of another."""

    def __init__(
        self, printer: LoweredPrinter, base: Value, arg: ast.expr, mask: Value, mask_arg: ast.expr, lines: Lines
    ) -> None:
        assert isinstance(base.type, Array)
        assert isinstance(mask.type, Array)
        self.lines = lines
        self.name, self.mask = printer.named(arg, base, lines), printer.named(mask_arg, mask, lines)
        self.ndim, self.over = base.type.ndim, mask.type.ndim
        for k in range(self.over):
            if mask.type.dims[k] != base.type.dims[k]:
                check = printer.require("MASK_SHAPE", 3)
                ours, theirs = f"{self.name}.shape[{k}]", f"{self.mask}.shape[{k}]"
                lines.add(f"{check}({ours} == {theirs}, {k}, {ours}, {theirs})")
        self.indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(self.ndim)]
        self.lengths = [f"{self.name}.shape[{k}]" for k in range(self.ndim)]
        self.test = subscript(self.mask, self.indices[: self.over])

    def count(self, name: str) -> None:
        """How many are True."""
        self.lines.add(f"{name} = 0")
        with self.lines.loops(self.indices[: self.over], self.lengths[: self.over]):
            self.lines.add(f"{name} += int64({self.test})", inside=True)

    def body(self, at: str, line: str) -> None:
        """Run `line` for each element selected; `at` counts the places."""
        self.lines.add(f"{at} = 0")
        with self.lines.loops(self.indices[: self.over], self.lengths[: self.over]):
            self.lines.add(f"if {self.test}:", inside=True)
            self.lines.depth += 1
            with self.lines.loops(self.indices[self.over :], self.lengths[self.over :]):
                self.lines.add(line, inside=True)
            self.lines.add(f"{at} += 1")
            self.lines.depth -= 1


@statement("mask_get")
def _mask_get(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    mask = Mask(printer, op.inputs[0], args[0], op.inputs[1], args[1], lines)
    count, at = printer.temp("n"), printer.temp("at")
    mask.count(count)
    rest = mask.indices[mask.over :]
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text([count, *mask.lengths[mask.over :]])})")
    mask.body(at, f"{subscript(outs[0], [at, *rest])} = {subscript(mask.name, mask.indices)}")


@statement("mask_set")
def _mask_set(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    target, mask_value, value = op.inputs
    assert isinstance(target.type, Array)
    dtype = target.type.dtype
    mask_arg, value_arg = args[1], args[2]
    if printer.roots.may_alias(target, mask_value):
        mask_arg = _copied(printer, mask_value, mask_arg, "mask", lines)
    if isinstance(value.type, Array) and printer.roots.may_alias(target, value):
        value_arg = _copied(printer, value, value_arg, "source", lines)
    mask = Mask(printer, target, args[0], mask_value, mask_arg, lines)
    at = printer.temp("at")
    if isinstance(value.type, Scalar):
        const = const_of(value)
        operand = scalars.Operand(
            printer.named(value_arg, value, lines) if const is None else "", element_type(value), const
        )
        mask.body(at, f"{subscript(mask.name, mask.indices)} = {scalars.cast(operand, dtype)}")
        return
    assert isinstance(value.type, Array)
    count = printer.temp("n")
    mask.count(count)
    name = printer.named(value_arg, value, lines)
    space = [count, *mask.lengths[mask.over :]]
    places = [at, *mask.indices[mask.over :]][len(space) - value.type.ndim :]
    if value.type.ndim == 1 and len(space) == 1:
        check = printer.require("MASK_LENGTH", 2)
        lines.add(f"{check}(({name}.shape[0] == {count}) | ({name}.shape[0] == 1), {name}.shape[0], {count})")
    if all(d == 1 for d in value.type.dims):
        places = ["0"] * value.type.ndim
    else:
        wide = printer.temp("wide", printer.spec(value.type))
        lines.add(f"{wide} = fitted_value({name}, {tuple_text(space)})")
        name = wide
    element = scalars.cast(scalars.Operand(subscript(name, places), element_type(value)), dtype)
    mask.body(at, f"{subscript(mask.name, mask.indices)} = {element}")


def _copied(printer: LoweredPrinter, v: Value, arg: ast.expr, hint: str, lines: Lines) -> ast.expr:
    assert isinstance(v.type, Array)
    made = printer.temp(hint, f"{v.type.dtype.name}:{v.type.ndim}C")
    loops.copy(printer, v, arg, made, "C", lines)
    return ast.Name(id=made, ctx=ast.Load())


@statement("nonzero")
def _nonzero(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    source = op.inputs[0]
    nest = loops.Nest(printer, lines, dims_of(source))
    nest.read(args[0], source)
    nest.measure()
    test = scalars.cast(nest.element(args[0], source), np.dtype(np.bool_))
    count, at = printer.temp("n"), printer.temp("at")
    dims = list(range(len(nest.space)))
    lines.add(f"{count} = 0")
    with nest.loops(dims):
        lines.add(f"{count} += int64({test})", inside=True)
    lines.add(f"{outs[0]} = {printer.empty(np.dtype(np.int64), outs[0])}(({count},))")
    lines.add(f"{count} = 0")
    lines.add(f"{at} = 0")
    with nest.loops(dims):
        lines.add(f"if {test}:", inside=True)
        lines.depth += 1
        lines.add(f"{outs[0]}[{count}] = {at}", inside=True)
        lines.add(f"{count} += 1")
        lines.depth -= 1
        lines.add(f"{at} += 1")
