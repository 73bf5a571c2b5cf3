"""Loop nests: elementwise operations, reductions, and what they write, as one set of loops without temporaries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.ir.nodes import Op, Value, const_of, is_const
from diffjit.ir.types import Array, Dim, Scalar
from diffjit.lowering.loops.fuse import dims_of, element_inputs, element_type
from diffjit.lowering.marks import NEST
from diffjit.lowering.text import scalars
from diffjit.lowering.text.lines import Lines, subscript, tuple_text
from diffjit.lowering.text.scalars import Operand

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

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
        self.names: dict[int, str] = {}  # id of an operand's tree -> the variable that holds the array or number
        self.arrays: list[tuple[int, Array]] = []
        self.layouts: list[str] = []

    # Preparation: names for what the loops read, lengths, shape checks

    def read(self, arg: ast.expr, value: Value) -> None:
        """Register an operand: arrays and numbers get names, lengths are collected."""
        if id(arg) in self.names:
            return
        if isinstance(value.type, Array):
            name = self.printer.named(arg, value, self.lines)
            ty = array_type(arg, value)
            self.names[id(arg)] = name
            self.arrays.append((id(arg), ty))
            if ty.ndim > 1:
                self.layouts.append(ty.layout)
            self._source(ty.dims, [f"{name}.shape[{k}]" for k in range(ty.ndim)])
        elif not is_const(value):
            self.names[id(arg)] = self.printer.named(arg, value, self.lines)

    def read_fill(self, op: Op, args: list[ast.expr]) -> None:
        """Register an array of one number: the number, and the lengths."""
        for v, arg in zip(op.inputs, args, strict=True):
            if v in element_inputs(op):
                self.read(arg, v)
        if op.kind == "zeros_like":
            name = self.printer.named(args[0], op.inputs[0], self.lines)
            self._source(dims_of(op.out), [f"{name}.shape[{k}]" for k in range(len(dims_of(op.out)))])
        else:
            first = 0 if op.kind == "zeros" else 1
            lengths = [
                self.printer.named(arg, v, self.lines) for v, arg in list(zip(op.inputs, args, strict=True))[first:]
            ]
            self._source(dims_of(op.out), lengths)

    def arrays_named(self) -> set[str]:
        """The variables of the arrays that are read."""
        return {self.names[key] for key, _ in self.arrays}

    def target(self, name: str, dims: tuple[Dim, ...]) -> None:
        """The lengths are those of this array (the target of an assignment)."""
        for k, d in enumerate(dims):
            self.sources[k].append((d, f"{name}.shape[{k}]"))
            if not self.lengths[k]:
                self.lengths[k] = str(d) if isinstance(d, int) else self._length(f"{name}.shape[{k}]")

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
            if not self.lengths[k]:
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
        if isinstance(value.type, Scalar):
            if is_const(value):
                return Operand(scalars.literal(const_of(value), ty.dtype), ty, const_of(value))
            return Operand(self.names[id(arg)], ty)
        dims = array_type(arg, value).dims
        lead = len(self.space) - len(dims)
        places = ["0" if d == 1 and self.space[lead + k] != 1 else self.indices[lead + k] for k, d in enumerate(dims)]
        return Operand(subscript(self.names[id(arg)], places), ty)

    # Loops

    def order(self, layout: str | None = None) -> list[int]:
        """The dimensions, outermost first: memory order of Fortran arrays when all operands are."""
        layouts = [*self.layouts, *([layout] if layout else [])]
        dims = list(range(len(self.space)))
        return dims[::-1] if layouts and all(x == "F" for x in layouts) else dims

    def loops(self, order: list[int], kind: str = NEST) -> Any:
        """The loops over some dimensions."""
        return self.lines.loops([self.indices[k] for k in order], [self.lengths[k] for k in order], kind)


def array_type(arg: ast.expr, value: Value) -> Array:
    """The type of an array operand as it is printed."""
    ty = arg.array_type if isinstance(arg, Narrowed) else value.type
    assert isinstance(ty, Array)
    return ty


class Narrowed(ast.Name):
    """A name whose array has another type than the value that it stands for."""

    def __init__(self, name: str, ty: Array) -> None:
        super().__init__(id=name, ctx=ast.Load())
        self.array_type = ty


Narrowed.__name__ = "Name"


def copy(printer: LoweredPrinter, source: Value, arg: ast.expr, out: str, order: str, lines: Lines) -> None:
    """A fresh array with the same elements."""
    ty = source.type
    assert isinstance(ty, Array)
    nest = Nest(printer, lines, ty.dims)
    nest.read(arg, source)
    nest.measure()
    lines.add(f"{out} = {printer.empty(ty.dtype, out, order)}({tuple_text(nest.lengths)})")
    lines.add(f"{printer.move('copy_into')}({out}, {nest.names[id(arg)]})")


def whole_assignment(
    printer: LoweredPrinter, op: Op, args: list[ast.expr], lines: Lines
) -> tuple[list[ast.expr], bool]:
    """`dst[...] = src` or `dst[...] += src` by itself: True if one function did it, else the operands for loops.

    A source that may overlap the target is read first.
    """
    target, source = op.inputs
    ty, add = target.type, op.kind == "accum"
    assert isinstance(ty, Array)
    name = printer.named(args[0], target, lines)
    source_arg = args[1]
    if isinstance(source.type, Array) and printer.may_overlap(target, source):
        kind = source.type
        made = printer.temp(
            "source", printer.spec(Array(kind.dtype, kind.dims, "C" if kind.layout == "A" else kind.layout))
        )
        copy(printer, source, source_arg, made, "F" if kind.layout == "F" else "C", lines)
        source_arg = ast.Name(id=made, ctx=ast.Load())
    source_arg = _without_leading(printer, source, source_arg, ty.ndim, lines)
    operands = [ast.Name(id=name, ctx=ast.Load()), source_arg]
    if not add and isinstance(source.type, Scalar):
        const = const_of(source)
        text = "" if const is not None else printer.named(source_arg, source, lines)
        value = scalars.cast(Operand(text, element_type(source), const), ty.dtype)
        lines.add(f"{printer.move('fill')}({name}, {value})")
        return operands, True
    if not _whole_arrays(target, source, source_arg, add=add):
        return operands, False
    nest = Nest(printer, lines, ty.dims, fit="fitted_source")
    nest.target(name, ty.dims)
    nest.read(source_arg, source)
    nest.measure()
    kind = printer.move("add_into" if add else "copy_into")
    lines.add(f"{kind}({name}, {nest.names[id(source_arg)]})")
    return operands, True


def _whole_arrays(target: Value, source: Value, arg: ast.expr, *, add: bool) -> bool:
    """Whether one function does for all: the same type of elements, and nothing repeated along a length of 1."""
    ty, other = target.type, source.type
    if isinstance(arg, Narrowed) or not isinstance(other, Array) or not isinstance(ty, Array):
        return False
    if other.dtype != ty.dtype or other.ndim != ty.ndim or (add and ty.dtype.kind != "f"):
        return False
    return all(d != 1 or e == 1 for d, e in zip(other.dims, ty.dims, strict=True))


def _without_leading(printer: LoweredPrinter, source: Value, arg: ast.expr, ndim: int, lines: Lines) -> ast.expr:
    """NumPy lets the source of an assignment have further leading dimensions of length 1."""
    extra = len(dims_of(source)) - ndim
    if extra <= 0:
        return arg
    ty = source.type
    assert isinstance(ty, Array)
    name = printer.named(arg, source, lines)
    check = printer.require("ASSIGN_SHAPE", 1 + ty.ndim + 1 + ndim)
    lines.add(f"{check}({_leading_ones(name, extra)}, {_shapes(name, ty.ndim, ndim)})")
    narrow = printer.temp("narrow", f"{ty.dtype.name}:{ndim}A")
    lines.add(f"{narrow} = {name}[{', '.join(['0'] * extra + [':'] * ndim)}]", inside=True)
    return Narrowed(narrow, Array(ty.dtype, ty.dims[extra:], "A"))


def _leading_ones(name: str, extra: int) -> str:
    return " & ".join(f"({name}.shape[{k}] == 1)" for k in range(extra))


def _shapes(name: str, ndim: int, target_ndim: int) -> str:
    own = [str(ndim), *(f"{name}.shape[{k}]" for k in range(ndim))]
    return ", ".join([*own, str(target_ndim), *(["-1"] * target_ndim)])


# Reductions -----------------------------------------------------------------------------------------------------------

_UPDATES = {"sum": "plus", "prod": "times", "max": "maximum", "min": "minimum", "any": "plus", "all": "times"}
_FLOATS = {"max": "peak", "min": "trough"}  # these vectorise


def update(kind: str, dtype: np.dtype) -> str:
    """The function that takes one more element into a reduction."""
    return _FLOATS[kind] if kind in _FLOATS and dtype.kind == "f" else _UPDATES[kind]


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
