"""Loop nests: elementwise operations, reductions, and what they write, as one set of loops without temporaries."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import Array, Dim, Scalar
from diffjit.lowering import scalars
from diffjit.lowering.fuse import FILLS, Piece, dims_of, element_inputs, element_type
from diffjit.lowering.lines import NEST, PARALLEL, Lines, subscript, tuple_text
from diffjit.lowering.scalars import Operand

if TYPE_CHECKING:
    from diffjit.lowering.source import LoweredPrinter

_PERIODIC = frozenset({"sin", "cos", "tan"})
INDEX_NAMES = ("i", "j", "k", "l", "p", "q")


class Nest:
    """Loops over one iteration space, and the text of elements inside them."""

    def __init__(self, printer: LoweredPrinter, lines: Lines, space: tuple[Dim, ...], *, fit: str = "fitted") -> None:
        self.printer = printer
        self.lines = lines
        self.space = space
        self.fit = fit
        self.indices = [printer.temp(INDEX_NAMES[k % 6]) for k in range(len(space))]
        self.lengths: list[str] = [""] * len(space)
        self.sources: list[list[tuple[Dim, str]]] = [[] for _ in space]
        self.names: dict[int, str] = {}  # id of a leaf's tree -> the variable that holds the array or number
        self.arrays: list[tuple[int, Array]] = []
        self.layouts: list[str] = []
        self.vector = False
        self.far: list[str] = []  # arguments whose size decides whether the vectorised functions are right

    # Preparation: names for what the loops read, lengths, shape checks

    def read(self, arg: ast.expr, value: Value) -> None:
        """Register an operand: arrays and numbers get names, lengths are collected."""
        if isinstance(arg, Piece):
            self._read_piece(arg)
            return
        if isinstance(value.type, Array):
            name = self.printer.named(arg, value, self.lines)
            ty = array_type(arg, value)
            self.names[id(arg)] = name
            self.arrays.append((id(arg), ty))
            if ty.ndim > 1:
                self.layouts.append(ty.layout)
            self._source(ty.dims, [f"{name}.shape[{k}]" for k in range(ty.ndim)])
        elif not _is_constant(value):
            self.names[id(arg)] = self.printer.named(arg, value, self.lines)

    def _read_piece(self, arg: Piece) -> None:
        op = arg.op
        for v, part in zip(op.inputs, arg.parts, strict=True):
            if v in element_inputs(op):
                self.read(part, v)
        if op.kind in ("zeros", "full", "broadcast_to"):
            first = 0 if op.kind == "zeros" else 1
            lengths = [
                self.printer.named(part, v, self.lines)
                for v, part in list(zip(op.inputs, arg.parts, strict=True))[first:]
            ]
            self._source(dims_of(op.out), lengths)
        elif op.kind == "zeros_like":
            name = self.printer.named(arg.parts[0], op.inputs[0], self.lines)
            self._source(dims_of(op.out), [f"{name}.shape[{k}]" for k in range(len(dims_of(op.out)))])

    def target(self, name: str, dims: tuple[Dim, ...]) -> None:
        """The lengths are those of this array (the target of an assignment)."""
        for k, d in enumerate(dims):
            self.sources[k] = [(d, f"{name}.shape[{k}]")]
            self.lengths[k] = self._length(f"{name}.shape[{k}]")

    def _source(self, dims: tuple[Dim, ...], texts: list[str]) -> None:
        lead = len(self.space) - len(dims)
        for k, (d, text) in enumerate(zip(dims, texts, strict=True)):
            if d != 1:
                self.sources[lead + k].append((d, text))

    def _length(self, text: str) -> str:
        name = self.printer.temp("n")
        self.lines.add(f"{name} = {text}")
        return name

    def measure(self) -> None:
        """Determine the lengths and check the operands' shapes."""
        for k, d in enumerate(self.space):
            if self.lengths[k]:
                continue
            self.lengths[k] = self._length_of(k, d)
        for key, ty in self.arrays:
            self._fit(key, ty)

    def _length_of(self, k: int, d: Dim) -> str:
        if isinstance(d, int):
            return str(d)
        exact = next((text for dim, text in self.sources[k] if dim == d), None)
        if exact is None:
            distinct = list(dict.fromkeys(self.sources[k]))
            if not distinct:
                return "1"
            exact = distinct[-1][1]
            for _, text in reversed(distinct[:-1]):
                exact = f"joint({text}, {exact})"
        return self._length(exact)

    def _fit(self, key: int, ty: Array) -> None:
        """Operands whose lengths may differ from the loops' are checked, and repeated where they have length 1."""
        lead = len(self.space) - ty.ndim
        if all(
            d in (1, self.space[lead + k]) or len({dim for dim, _ in self.sources[lead + k]}) <= 1
            for k, d in enumerate(ty.dims)
        ):
            return
        shape = [*self.lengths[:lead], *("1" if d == 1 else self.lengths[lead + k] for k, d in enumerate(ty.dims))]
        fitted = self.printer.temp("wide", self.printer.spec(ty))
        self.lines.add(f"{fitted} = {self.fit}({self.names[key]}, {tuple_text(shape)})")
        self.names[key] = fitted

    # Elements

    def element(self, arg: ast.expr, value: Value) -> Operand:
        """The element at the current indices."""
        ty = element_type(value)
        if isinstance(arg, Piece):
            return Operand(self._piece(arg), ty)
        if isinstance(value.type, Scalar):
            if _is_constant(value):
                return Operand(scalars.literal(value.op.attrs["value"], ty.dtype), ty, value.op.attrs["value"])  # pyright: ignore[reportOptionalMemberAccess]
            return Operand(self.names[id(arg)], ty)
        dims = array_type(arg, value).dims
        lead = len(self.space) - len(dims)
        places = ["0" if d == 1 and self.space[lead + k] != 1 else self.indices[lead + k] for k, d in enumerate(dims)]
        return Operand(subscript(self.names[id(arg)], places), ty)

    def _piece(self, arg: Piece) -> str:
        op = arg.op
        out = element_type(op.out)
        if op.kind in ("zeros", "zeros_like"):
            return scalars.literal(0, out.dtype)
        operands = [
            self.element(part, v) for v, part in zip(op.inputs, arg.parts, strict=True) if v in element_inputs(op)
        ]
        if op.kind in FILLS:
            return scalars.cast(operands[0], out.dtype)
        return self.apply(op, operands, out)

    def apply(self, op: Op, operands: list[Operand], out: Scalar) -> str:
        """The text of an elementwise operation on elements."""
        kind = "cast" if op.kind == "copy" else op.kind
        if kind == "unbroadcast":
            operands = operands[:1]
        if self.vector and kind in _PERIODIC and out.dtype.kind == "f":
            self.far.append(scalars.cast(operands[0], out.dtype))
        return self.printer.scalar(kind, operands, out, nowrap=True, vector=self.vector)

    # Loops

    def fill(self, make: Callable[[], str], write: Callable[[str], None]) -> None:
        """Write the loops around a value. Where it needs sin, cos or tan of huge numbers, libm computes it."""
        self.vector, self.far = True, []
        text = make()
        self.vector = False
        if not self.far:
            write(text)
            return
        flag = self.printer.temp("far", "bool")
        self.lines.add(f"{flag} = False")
        with self.loops(self.order()):
            tests = " | ".join(f"out_of_range({a})" for a in dict.fromkeys(self.far))
            self.lines.add(f"{flag} = {flag} | {tests}", inside=True)
        with self.lines.block(f"if {flag}:"):
            write(make())
        with self.lines.block("else:"):
            write(text)

    def order(self, layout: str | None = None) -> list[int]:
        """The dimensions, outermost first: memory order of Fortran arrays when all operands are."""
        layouts = [*self.layouts, *([layout] if layout else [])]
        dims = list(range(len(self.space)))
        return dims[::-1] if layouts and all(x == "F" for x in layouts) else dims

    def loops(self, order: list[int], mark: str = NEST) -> Any:
        """The loops over some dimensions."""
        return self.lines.loops([self.indices[k] for k in order], [self.lengths[k] for k in order], mark)


def array_type(arg: ast.expr, value: Value) -> Array:
    """The type of an array operand as it is printed."""
    ty = arg.array_type if isinstance(arg, _Narrowed) else value.type
    assert isinstance(ty, Array)
    return ty


def _is_constant(value: Value) -> bool:
    return value.op is not None and value.op.kind == "const"


# Elementwise ----------------------------------------------------------------------------------------------------------


def elementwise(printer: LoweredPrinter, op: Op, args: list[ast.expr], out: str, lines: Lines) -> None:
    """`out[i] = f(x[i], y[i])` into a fresh array."""
    ty = op.out.type
    assert isinstance(ty, Array)
    nest = Nest(printer, lines, ty.dims)
    for v, arg in zip(op.inputs, args, strict=True):
        if v in element_inputs(op):
            nest.read(arg, v)
    nest.measure()
    order = "F" if ty.layout == "F" else "C"
    lines.add(f"{out} = {printer.empty(ty.dtype, order)}({tuple_text(nest.lengths)})")

    def make() -> str:
        operands = [nest.element(arg, v) for v, arg in zip(op.inputs, args, strict=True) if v in element_inputs(op)]
        return nest.apply(op, operands, Scalar(ty.dtype))

    def write(text: str) -> None:
        with nest.loops(nest.order(ty.layout if ty.ndim > 1 else None), PARALLEL):
            lines.add(f"{subscript(out, nest.indices)} = {text}", inside=True)

    nest.fill(make, write)


def assign(printer: LoweredPrinter, op: Op, args: list[ast.expr], lines: Lines, *, add: bool) -> None:
    """`dst[i] = src[i]` or `dst[i] += src[i]`."""
    target, source = op.inputs
    ty = target.type
    assert isinstance(ty, Array)
    name = printer.named(args[0], target, lines)
    plain = not isinstance(args[1], Piece)
    source_arg: ast.expr = args[1]
    if printer.may_overlap(target, args[0], source, args[1]):
        source_arg = _materialised(printer, source, args[1], lines)
    nest = Nest(printer, lines, ty.dims, fit="fitted_source" if plain else "fitted")
    nest.target(name, ty.dims)
    source_arg = _without_leading(printer, source, source_arg, ty.ndim, lines)
    nest.read(source_arg, source)
    nest.measure()
    if _whole_arrays(target, source, source_arg, add=add):
        lines.add(f"{'add_into' if add else 'copy_into'}({name}, {nest.names[id(source_arg)]})")
        return
    if not add and isinstance(source.type, Scalar):
        lines.add(f"fill({name}, {scalars.cast(nest.element(source_arg, source), ty.dtype)})")
        return
    place = subscript(name, nest.indices)

    def make() -> str:
        value = scalars.cast(nest.element(source_arg, source), ty.dtype)
        if not add:
            return value
        element = Scalar(ty.dtype)
        return printer.scalar("add", [Operand(place, element), Operand(value, element)], element, nowrap=True)

    def write(text: str) -> None:
        with nest.loops(nest.order(ty.layout if ty.ndim > 1 else None), PARALLEL):
            lines.add(f"{place} = {text}", inside=True)

    nest.fill(make, write)


def _whole_arrays(target: Value, source: Value, arg: ast.expr, *, add: bool) -> bool:
    """Whether one function does for all: the same type of elements, and nothing repeated along a length of 1."""
    ty, other = target.type, source.type
    if isinstance(arg, (Piece, _Narrowed)) or not isinstance(other, Array) or not isinstance(ty, Array):
        return False
    if other.dtype != ty.dtype or other.ndim != ty.ndim or (add and ty.dtype.kind != "f"):
        return False
    return all(d != 1 or e == 1 for d, e in zip(other.dims, ty.dims, strict=True))


def _materialised(printer: LoweredPrinter, source: Value, arg: ast.expr, lines: Lines) -> ast.expr:
    """The source in memory of its own."""
    ty = source.type
    if not isinstance(ty, Array):
        return arg
    made = printer.temp("source", printer.spec(Array(ty.dtype, ty.dims, "C" if ty.layout == "A" else ty.layout)))
    if isinstance(arg, Piece):
        elementwise_piece(printer, arg, made, lines)
    else:
        copy(printer, source, arg, made, "F" if ty.layout == "F" else "C", lines)
    return ast.Name(id=made, ctx=ast.Load())


def elementwise_piece(printer: LoweredPrinter, arg: Piece, out: str, lines: Lines) -> None:
    """Compute a piece into a fresh array after all."""
    if arg.op.kind in FILLS:
        ty = arg.op.out.type
        assert isinstance(ty, Array)
        nest = Nest(printer, lines, ty.dims)
        nest.read(arg, arg.op.out)
        nest.measure()
        lines.add(f"{out} = {printer.empty(ty.dtype, 'C')}({tuple_text(nest.lengths)})")
        with nest.loops(nest.order()):
            lines.add(f"{subscript(out, nest.indices)} = {nest.element(arg, arg.op.out).text}", inside=True)
        return
    elementwise(printer, arg.op, arg.parts, out, lines)


def copy(printer: LoweredPrinter, source: Value, arg: ast.expr, out: str, order: str, lines: Lines) -> None:
    """A fresh array with the same elements."""
    ty = source.type
    assert isinstance(ty, Array)
    nest = Nest(printer, lines, ty.dims)
    nest.read(arg, source)
    nest.measure()
    lines.add(f"{out} = {printer.empty(ty.dtype, order)}({tuple_text(nest.lengths)})")
    lines.add(f"copy_into({out}, {nest.names[id(arg)]})")


def _without_leading(printer: LoweredPrinter, source: Value, arg: ast.expr, ndim: int, lines: Lines) -> ast.expr:
    """NumPy lets the source of an assignment have further leading dimensions of length 1."""
    extra = len(dims_of(source)) - ndim
    if extra <= 0:
        return arg
    assert not isinstance(arg, Piece), "melts() has checked the number of dimensions"
    ty = source.type
    assert isinstance(ty, Array)
    name = printer.named(arg, source, lines)
    check = printer.require("ASSIGN_SHAPE", 1 + ty.ndim + 1 + ndim)
    lines.add(f"{check}({_leading_ones(name, extra)}, {_shapes(name, ty.ndim, ndim)})")
    narrow = printer.temp("narrow", f"{ty.dtype.name}:{ndim}A")
    lines.add(f"{narrow} = {name}[{', '.join(['0'] * extra + [':'] * ndim)}]", inside=True)
    return _Narrowed(narrow, Array(ty.dtype, ty.dims[extra:], "A"))


def _leading_ones(name: str, extra: int) -> str:
    return " & ".join(f"({name}.shape[{k}] == 1)" for k in range(extra))


def _shapes(name: str, ndim: int, target_ndim: int) -> str:
    own = [str(ndim), *(f"{name}.shape[{k}]" for k in range(ndim))]
    return ", ".join([*own, str(target_ndim), *(["-1"] * target_ndim)])


class _Narrowed(ast.Name):
    """A name whose array has another type than the value that it stands for."""

    def __init__(self, name: str, ty: Array) -> None:
        super().__init__(id=name, ctx=ast.Load())
        self.array_type = ty


_Narrowed.__name__ = "Name"


# Reductions -----------------------------------------------------------------------------------------------------------

_UPDATES = {"sum": "plus", "prod": "times", "max": "maximum", "min": "minimum", "any": "plus", "all": "times"}
_FLOATS = {"max": "peak", "min": "trough"}  # these vectorise


def _update(kind: str, dtype: np.dtype) -> str:
    """The function that takes one more element into a reduction."""
    return _FLOATS[kind] if kind in _FLOATS and dtype.kind == "f" else _UPDATES[kind]


_BLOCK = {8: 4096, 4: 1024}


def identity(kind: str, dtype: np.dtype) -> str:
    """What a reduction of nothing gives (for max and min: what leaves every element as it is)."""
    if kind in ("sum", "any"):
        return scalars.literal(0, dtype)
    if kind in ("prod", "all"):
        return scalars.literal(1, dtype)
    low = kind == "max"
    if dtype.kind == "b":
        return "False" if low else "True"
    if dtype.kind == "f":
        return scalars.literal(-np.inf if low else np.inf, dtype)
    if dtype.kind == "c":
        return scalars.literal(complex(-np.inf, -np.inf) if low else complex(np.inf, np.inf), dtype)
    info = np.iinfo(dtype)
    return scalars.literal(info.min if low else info.max, dtype)


def reduction(printer: LoweredPrinter, op: Op, args: list[ast.expr], out: str, lines: Lines) -> None:
    """sum, prod, max, min, any, all over some axes."""
    source = op.inputs[0]
    nest = Nest(printer, lines, dims_of(source))
    nest.read(args[0], source)
    nest.measure()
    axes = tuple(op.attrs["axes"])
    kept = [k for k in range(len(nest.space)) if k not in axes]
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    if op.kind in ("max", "min") and axes:
        _require_some(printer, nest, op.kind, axes, kept)
    of_tests = op.kind in ("any", "all")

    def make() -> str:
        return scalars.cast(nest.element(args[0], source), np.dtype(np.bool_) if of_tests else dtype)

    if isinstance(op.out.type, Scalar):
        nest.fill(make, lambda value: _whole(printer, nest, op.kind, dtype, value, out))
        return
    lengths = [
        ("1" if k in axes else nest.lengths[k])
        for k in range(len(nest.space))
        if k not in axes or op.attrs.get("keepdims")
    ]
    places = [
        ("0" if k in axes else nest.indices[k])
        for k in range(len(nest.space))
        if k not in axes or op.attrs.get("keepdims")
    ]
    lines.add(f"{out} = {printer.empty(dtype, 'F' if op.out.type.layout == 'F' else 'C')}({tuple_text(lengths)})")
    place = subscript(out, places)
    nest.fill(make, lambda value: _along(printer, nest, op.kind, dtype, axes, place, value))


def _along(
    printer: LoweredPrinter, nest: Nest, kind: str, dtype: np.dtype, axes: tuple[int, ...], place: str, value: str
) -> None:
    """Reduce along some axes, each into its place."""
    lines, update = nest.lines, _update(kind, dtype)
    kept = [k for k in range(len(nest.space)) if k not in axes]
    if all(k in axes for k in range(len(kept), len(nest.space))):
        part = printer.temp("part", dtype.name)
        with nest.loops(kept):
            lines.add(f"{part} = {identity(kind, dtype)}")
            with nest.loops(sorted(axes)):
                lines.add(f"{part} = {update}({part}, {value})", inside=True)
            lines.add(f"{place} = {part}", inside=True)
        return
    with nest.loops(kept):
        lines.add(f"{place} = {identity(kind, dtype)}", inside=True)
    with nest.loops(nest.order()):
        lines.add(f"{place} = {update}({place}, {value})", inside=True)


def _require_some(printer: LoweredPrinter, nest: Nest, kind: str, axes: tuple[int, ...], kept: list[int]) -> None:
    some = " & ".join(f"({nest.lengths[k]} > 0)" for k in axes)
    nothing = " | ".join(f"({nest.lengths[k]} == 0)" for k in kept)
    condition = f"({some}) | {nothing}" if kept else some
    nest.lines.add(f"{printer.require('EMPTY_REDUCTION', 1)}({condition}, {int(kind == 'min')})")


def _whole(printer: LoweredPrinter, nest: Nest, kind: str, dtype: np.dtype, value: str, out: str) -> None:
    """Reduce everything to one number: blocks keep the rounding error of long sums small, as NumPy's pairs do."""
    lines, update = nest.lines, _update(kind, dtype)
    lines.add(f"{out} = {identity(kind, dtype)}")
    order = nest.order()
    if dtype.kind not in "fc" or kind not in ("sum", "prod") or not order:
        with nest.loops(order):
            lines.add(f"{out} = {update}({out}, {value})", inside=True)
        return
    part = printer.temp("part", dtype.name)
    last = order[-1]
    index, length = nest.indices[last], nest.lengths[last]
    with nest.loops(order[:-1]):
        if len(order) > 1:
            lines.add(f"{part} = {identity(kind, dtype)}")
            head = f"for {index} in range({length}):"
            _inner(lines, head, part, update, value, out)
        else:
            block, size = printer.temp("block"), _BLOCK.get(dtype.itemsize, 4096)
            with lines.block(f"for {block} in range(0, {length}, {size}):"):
                lines.add(f"{part} = {identity(kind, dtype)}")
                _inner(
                    lines,
                    f"for {index} in range({block}, minimum({block} + {size}, {length})):",
                    part,
                    update,
                    value,
                    out,
                )


def _inner(lines: Lines, head: str, part: str, update: str, value: str, out: str) -> None:
    with lines.block(head, mark=NEST):
        lines.add(f"{part} = {update}({part}, {value})", inside=True)
    lines.add(f"{out} = {update}({out}, {part})")


def unbroadcast(printer: LoweredPrinter, op: Op, args: list[ast.expr], out: str, lines: Lines) -> None:
    """Sum a cotangent to the shape of the operand that was broadcast."""
    g, like = op.inputs
    nest = Nest(printer, lines, dims_of(g))
    nest.read(args[0], g)
    nest.measure()
    dtype = op.out.type.dtype  # type: ignore[union-attr]

    def make() -> str:
        return scalars.cast(nest.element(args[0], g), dtype)

    if isinstance(like.type, Scalar):
        nest.fill(make, lambda value: _whole(printer, nest, "sum", dtype, value, out))
        return
    ty = op.out.type
    assert isinstance(ty, Array)
    assert isinstance(like.type, Array)
    shape = printer.named(args[1], like, lines)
    lead = len(nest.space) - ty.ndim
    places: list[str] = []
    for k, d in enumerate(like.type.dims):
        if d == 1:
            places.append("0")
        elif d == nest.space[lead + k] or (not isinstance(d, int) and d.not_one):
            places.append(nest.indices[lead + k])
        else:
            step = printer.temp("step")
            lines.add(f"{step} = int64({shape}.shape[{k}] != 1)")
            places.append(f"{nest.indices[lead + k]} * {step}")
    lengths = [f"{shape}.shape[{k}]" for k in range(ty.ndim)]
    printer.filled(out, ty.dtype, "F" if ty.layout == "F" else "C", lengths, scalars.literal(0, ty.dtype), lines)
    place = subscript(out, places)

    def write(value: str) -> None:
        with nest.loops(nest.order()):
            lines.add(f"{place} = {place} + {value}", inside=True)

    nest.fill(make, write)
