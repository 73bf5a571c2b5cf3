"""Memory operations as text: loads, stores, views, allocation, lists, and operations that rearrange or scan arrays."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.ir.nodes import Op, const_of
from diffjit.ir.text import syntax
from diffjit.ir.types import Array, Scalar
from diffjit.lowering.calls import failures
from diffjit.lowering.loops.checked import PROMISE
from diffjit.lowering.loops.fuse import element_type
from diffjit.lowering.loops.stencils import SHIFTED
from diffjit.lowering.marks import INSIDE, LENT, TESTED, WRAPS
from diffjit.lowering.runtime.typespec import spec_of
from diffjit.lowering.text import loops, rows, scalars, spreading
from diffjit.lowering.text.forms import Expression, Statement, expression, statement
from diffjit.lowering.text.lines import Lines, said, subscript, tuple_text
from diffjit.settings import settings

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

# Expressions ----------------------------------------------------------------------------------------------------------


@expression("dim")
def _dim(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer
    return syntax.expr(f"a.shape[{op.attrs['axis']}]", a=args[0])


@expression("stride")
def _stride(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer
    return syntax.expr(f"a.strides[{op.attrs['axis']}] // a.itemsize", a=args[0])


@expression("load")
def _load(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    return syntax.subscript(said(args[0], fact(printer, op, 1)), args[1:])


@expression("diagonal")
def _diagonal(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer
    return syntax.call("diagonal", args[0], syntax.number(op.attrs.get("offset", 0)))


@expression("real_view")
def _real_view(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer
    return args[0] if op.inputs[0].type.dtype.kind != "c" else syntax.call("real_part", args[0])  # type: ignore[union-attr]


@expression("stop_gradient")
def _itself(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer, op
    return args[0]


@expression("list_new", "stack_new")
def _new_list(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del args
    spec = spec_of(op.out.type.elem)  # type: ignore[union-attr]
    kind = "stack" if op.out in printer.framed else "list"
    name = f"new_{kind}_" + "".join(c if c.isalnum() else "_" for c in spec)
    return syntax.call(printer.define(name, f'lists.new_{kind}("{spec}")'))


@expression("list_pop")
def _list_pop(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    del printer, op
    return syntax.call("pop_at" if len(args) > 1 else "pop_last", *args)


def _called(function: str) -> Expression:
    """An expression that is a call of a function of `runtime`."""

    def written(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
        del printer, op
        return syntax.call(function, *args)

    return written


expression("trip")(_called("trip"))
expression("imag_view")(_called("imag_part"))
expression("share")(_called("share_memory"))
expression("list_len")(_called("list_size"))
expression("list_get")(_called("item_of"))
expression("list_copy", "stack_copy")(_called("copy_list"))


@expression("pop")
def _pop(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    return syntax.call("pop_top" if op.inputs[0] in printer.framed else "pop_last", *args)


def fact(printer: LoweredPrinter, op: Op, first: int) -> str:
    """What is proven of the indices of a load, store or view."""
    if settings.plain:
        return TESTED
    if not op.attrs.get("inbounds"):
        return INSIDE if printer.bounds.inside(op, first) else TESTED
    positive = op.attrs.get("nonneg") or all(printer.ranges.of(v)[0] >= 0 for v in op.inputs[first:])
    return INSIDE if positive else WRAPS


@expression("view")
def view(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    """Basic indexing. Numba's slices clamp as Python's do, and our pipeline checks the ints."""
    spec = op.attrs["spec"]
    base, ty = op.inputs[0].type, op.out.type
    assert isinstance(base, Array)
    assert isinstance(ty, Array)
    items: list[ast.expr] = []
    rest = iter(args[1:])
    for entry in spec:
        if entry == "i":
            items.append(next(rest))
        elif entry == "n":
            items.append(ast.Constant(value=None))
        elif entry == ":":
            items.append(ast.Slice())
        else:
            lower, upper, step = (next(rest) if flag else None for flag in entry[1:])
            items.append(ast.Slice(lower=lower, upper=upper, step=step))
    if (
        all(isinstance(i, ast.Slice) and i.lower is None and i.upper is None and i.step is None for i in items)
        and items
    ):
        items = [ast.Slice()] if base.ndim else []
    array = _lent(printer, op, said(args[0], fact(printer, op, 1)))
    if ty.ndim == 0:
        return syntax.call("cell", array, syntax.tuple_of(items))
    made: ast.expr = syntax.subscript(array, items)
    made.unit_rows = rows.has_unit_rows(op.out)  # type: ignore[attr-defined]
    if ty.ndim and ty.layout in ("C", "F") and not _numba_keeps(spec, base, ty):
        return syntax.call(printer.define(f"as_{ty.layout}", f'memory.layout("{ty.layout}")'), made)
    return made


def _lent(printer: LoweredPrinter, op: Op, array: ast.expr) -> ast.expr:
    """The base of a view, with a word where the view does without a reference."""
    return said(array, LENT) if op.out in printer.lent else array


def _numba_keeps(spec: tuple[Any, ...], base: Array, ty: Array) -> bool:
    """Whether Numba types this view with the IR's layout by itself."""
    if ty.layout != "C" or base.layout != "C":
        return False
    leading = 0
    while leading < len(spec) and spec[leading] == "i":
        leading += 1
    rest = spec[leading:]
    if not rest:
        return True
    return (
        len(rest) == 1
        and leading == base.ndim - 1
        and (rest[0] == ":" or (isinstance(rest[0], tuple) and not rest[0][3]))
    )


@expression("transpose")
def _transpose(printer: LoweredPrinter, op: Op, args: list[ast.expr]) -> ast.expr:
    perm, ty = tuple(op.attrs["perm"]), op.out.type
    assert isinstance(ty, Array)
    name = f"transpose_{''.join(map(str, perm))}_{ty.layout}"
    what = f'memory.transpose({", ".join(map(str, perm))}{", " if perm else ""}order="{ty.layout}")'
    return syntax.call(printer.define(name, what), _lent(printer, op, args[0]))


# Statements -----------------------------------------------------------------------------------------------------------


@statement("store")
def _store(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    array, value = op.inputs[0].type, op.inputs[1]
    assert isinstance(array, Array)
    const = const_of(value)
    source = scalars.Operand(ast.unparse(args[1]), element_type(value), const)
    if isinstance(value.type, Array):
        source = scalars.Operand(f"{source.text}[()]", element_type(value))
    place = ast.unparse(syntax.subscript(args[0], args[2:]))
    lines.add(f"{place} = {scalars.cast(source, array.dtype)}", fact=fact(printer, op, 2))


@statement("accum_at")
def _accum_at(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    array, value = op.inputs[0].type, op.inputs[1]
    assert isinstance(array, Array)
    const = const_of(value)
    source = scalars.Operand(ast.unparse(args[1]), element_type(value), const)
    place = ast.unparse(syntax.subscript(args[0], args[2:]))
    lines.add(f"{place} += {scalars.cast(source, array.dtype)}", fact=fact(printer, op, 2))


def _lengths(printer: LoweredPrinter, op: Op, args: list[ast.expr], lines: Lines, first: int = 0) -> list[str]:
    return [printer.named(a, v, lines) for a, v in list(zip(args, op.inputs, strict=True))[first:]]


def _order(op: Op) -> str:
    ty = op.out.type
    assert isinstance(ty, Array)
    return "F" if ty.layout == "F" else "C"


@statement("empty")
def _empty(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    lengths = _lengths(printer, op, args, lines)
    lines.add(f"{outs[0]} = {printer.empty(op.out.type.dtype, outs[0], _order(op))}({tuple_text(lengths)})")  # type: ignore[union-attr]


@statement("zeros")
def _zeros(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    printer.filled(outs[0], dtype, _order(op), _lengths(printer, op, args, lines), scalars.literal(0, dtype), lines)


@statement("full")
def _full(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    value = op.inputs[0]
    const = const_of(value)
    operand = scalars.Operand(printer.named(args[0], value, lines) if const is None else "", element_type(value), const)
    if isinstance(value.type, Array):
        operand = scalars.Operand(f"{operand.text}[()]", element_type(value))
    printer.filled(
        outs[0], dtype, _order(op), _lengths(printer, op, args, lines, 1), scalars.cast(operand, dtype), lines
    )


def _shape_of(printer: LoweredPrinter, op: Op, args: list[ast.expr], lines: Lines) -> list[str]:
    name = printer.named(args[0], op.inputs[0], lines)
    ty = op.inputs[0].type
    return [f"{name}.shape[{k}]" for k in range(ty.ndim)] if isinstance(ty, Array) else []


@statement("empty_like")
def _empty_like(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    shape = _shape_of(printer, op, args, lines)
    lines.add(f"{outs[0]} = {printer.empty(op.out.type.dtype, outs[0], _order(op))}({tuple_text(shape)})")  # type: ignore[union-attr]


@statement("zeros_like")
def _zeros_like(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    printer.filled(outs[0], dtype, _order(op), _shape_of(printer, op, args, lines), scalars.literal(0, dtype), lines)


@statement("broadcast_to")
def _broadcast_to(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    lengths = _lengths(printer, op, args, lines, 1)
    source = op.inputs[0]
    name = printer.named(args[0], source, lines)
    if isinstance(source.type, Scalar):
        box = printer.temp("box", f"{source.type.dtype.name}:0C")
        lines.add(f"{box} = {printer.empty(source.type.dtype, box)}(())")
        lines.add(f"{box}[()] = {name}")
        name = box
    lines.add(f"{outs[0]} = stretched({name}, {tuple_text(lengths)})")


@statement("reshape")
def _reshape(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    source, ty = op.inputs[0], op.out.type
    assert isinstance(source.type, Array)
    assert isinstance(ty, Array)
    lengths = _lengths(printer, op, args, lines, 1)
    name = printer.named(args[0], source, lines)
    layout = source.type.layout
    if not op.attrs["view"]:
        copied = printer.temp("copied", f"{source.type.dtype.name}:{source.type.ndim}C")
        loops.copy(printer, source, ast.Name(id=name, ctx=ast.Load()), copied, "C", lines)
        name, layout = copied, "C"
    order = "C" if layout == "C" else "A"
    function = printer.define(f"reshaped_{order}", f'memory.reshape("{order}")')
    text = f"{function}({name}, {tuple_text(lengths)})"
    if order == "A" and ty.layout in ("C", "F") and ty.ndim:
        text = f"{printer.define(f'as_{ty.layout}', f'memory.layout({ty.layout!r})')}({text})"
    lines.add(f"{outs[0]} = {text}")


@statement("arange")
def _arange(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    ty = op.out.type
    assert isinstance(ty, Array)
    index, count = printer.temp("i"), printer.temp("n")
    texts = []
    exact = ty.dtype.kind in "iub" and all(v.type.dtype.kind in "iub" for v in op.inputs)  # type: ignore[union-attr]
    work = np.dtype(np.int64) if exact else (ty.dtype if ty.dtype.kind in "fc" else np.dtype(np.float64))
    for arg, v in zip(args, op.inputs, strict=True):
        const = const_of(v)
        texts.append(
            scalars.cast(
                scalars.Operand(printer.named(arg, v, lines) if const is None else "", element_type(v), const), work
            )
        )
    start, stop, step = texts
    lines.add(f"{count} = {'trip' if exact else 'arange_length'}({start}, {stop}, {step})")
    lines.add(f"{outs[0]} = {printer.empty(ty.dtype, outs[0])}(({count},))")
    gap = step if exact else f"(({start} + {step}) - {start})"
    number = scalars.Operand(
        f"({start} + {scalars.cast(scalars.Operand(index, Scalar(np.dtype(np.int64))), work)} * {gap})", Scalar(work)
    )
    with lines.loops([index], [count]):
        lines.add(f"{outs[0]}[{index}] = {scalars.cast(number, ty.dtype)}", inside=True)


@statement("concatenate")
def _concatenate(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    axis, ty = op.attrs["axis"], op.out.type
    assert isinstance(ty, Array)
    names = [printer.named(a, v, lines) for a, v in zip(args, op.inputs, strict=True)]
    first = names[0]
    for position, name in enumerate(names[1:], 1):
        for k in range(ty.ndim):
            if k != axis and op.inputs[position].type.dims[k] != op.inputs[0].type.dims[k]:  # type: ignore[union-attr]
                check = printer.require("CONCATENATE", 4)
                ours, theirs = f"{name}.shape[{k}]", f"{first}.shape[{k}]"
                lines.add(f"{check}({ours} == {theirs}, {k}, {theirs}, {position}, {ours})")
    total = printer.temp("n")
    lines.add(f"{total} = {' + '.join(f'{name}.shape[{axis}]' for name in names)}")
    lengths = [total if k == axis else f"{first}.shape[{k}]" for k in range(ty.ndim)]
    lines.add(f"{outs[0]} = {printer.empty(ty.dtype, outs[0], _order(op))}({tuple_text(lengths)})")
    offset = printer.temp("offset")
    lines.add(f"{offset} = 0")
    indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(ty.ndim)]
    for position, (name, v) in enumerate(zip(names, op.inputs, strict=True)):
        places = [f"{i} + {offset}" if k == axis and position else i for k, i in enumerate(indices)]
        value = scalars.cast(scalars.Operand(subscript(name, indices), element_type(v)), ty.dtype)
        with lines.loops(indices, [f"{name}.shape[{k}]" for k in range(ty.ndim)]):
            lines.add(f"{subscript(outs[0], places)} = {value}", inside=True)
        if position + 1 < len(names):
            lines.add(f"{offset} += {name}.shape[{axis}]")


@statement("cumsum", "cumprod")
def _scan(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """cumsum, cumprod: a running total along one axis."""
    source, ty, axis = op.inputs[0], op.out.type, op.attrs["axis"]
    assert isinstance(ty, Array)
    name = printer.named(args[0], source, lines)
    lengths = [f"{name}.shape[{k}]" for k in range(ty.ndim)]
    lines.add(f"{outs[0]} = {printer.empty(ty.dtype, outs[0], _order(op))}({tuple_text(lengths)})")
    indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(ty.ndim)]
    total = printer.temp("total", ty.dtype.name)
    others = [k for k in range(ty.ndim) if k != axis]
    place = subscript(name, indices)
    value = scalars.cast(scalars.Operand(place, element_type(source)), ty.dtype)
    with lines.loops([indices[k] for k in others], [lengths[k] for k in others]):
        lines.add(f"{total} = {loops.identity('sum' if op.kind == 'cumsum' else 'prod', ty.dtype)}")
        with lines.loops([indices[axis]], [lengths[axis]]):
            element = Scalar(ty.dtype)
            kind = "add" if op.kind == "cumsum" else "multiply"
            step = scalars.apply(
                kind, [scalars.Operand(total, element), scalars.Operand(value, element)], element, nowrap=True
            )
            lines.add(f"{total} = {step}", inside=True)
            lines.add(f"{subscript(outs[0], indices)} = {total}", inside=True)


@statement("sort", "argsort")
def _lanes(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """sort, argsort: each lane along an axis is sorted in place in the result."""
    source, ty, axis = op.inputs[0], op.out.type, op.attrs["axis"]
    assert isinstance(ty, Array)
    name = printer.named(args[0], source, lines)
    lengths = [f"{name}.shape[{k}]" for k in range(ty.ndim)]
    lines.add(f"{outs[0]} = {printer.empty(ty.dtype, outs[0], _order(op))}({tuple_text(lengths)})")
    others = [k for k in range(ty.ndim) if k != axis]
    indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(ty.ndim)]
    lane = ", ".join(":" if k == axis else indices[k] for k in range(ty.ndim))
    with lines.loops([indices[k] for k in others], [lengths[k] for k in others]):
        lines.add(f"{op.kind}_lane({name}[{lane}], {outs[0]}[{lane}])", inside=True)


@statement("argmax", "argmin")
def _arg_extremum(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """argmax, argmin: the first position of the extremum; a NaN wins."""
    source, axis = op.inputs[0], op.attrs.get("axis")
    nest = loops.Nest(printer, lines, source.type.dims)  # type: ignore[union-attr]
    nest.read(args[0], source)
    nest.measure()
    dims = range(len(nest.space))
    inner = list(dims) if axis is None else [axis]
    outer = [k for k in dims if k not in inner]
    dtype = element_type(source).dtype
    best, here, at = printer.temp("best", dtype.name), printer.temp("here", dtype.name), printer.temp("at")
    some = " & ".join(f"({nest.lengths[k]} > 0)" for k in inner) or "True"
    lines.add(f"{printer.require('EMPTY_ARG', 1)}({some}, {int(op.kind == 'argmin')})")
    scalar = isinstance(op.out.type, Scalar)
    found = outs[0] if scalar else printer.temp("found")
    if not scalar:
        keep = op.attrs.get("keepdims")
        lengths = [nest.lengths[k] if k in outer else "1" for k in dims if k in outer or keep]
        lines.add(f"{outs[0]} = {printer.empty(np.dtype(np.int64), outs[0])}({tuple_text(lengths)})")
    with nest.loops(outer):
        lines.add(f"{best} = {loops.identity('max' if op.kind == 'argmax' else 'min', dtype)}")
        lines.add(f"{found} = 0")
        lines.add(f"{at} = 0")
        with nest.loops(inner):
            lines.add(f"{here} = {nest.element(args[0], source).text}", inside=True)
            with lines.block(f"if ({at} == 0) | {'above' if op.kind == 'argmax' else 'below'}({here}, {best}):"):
                lines.add(f"{best} = {here}")
                lines.add(f"{found} = {at}")
            lines.add(f"{at} += 1")
        if not scalar:
            places = [nest.indices[k] if k in outer else "0" for k in dims if k in outer or op.attrs.get("keepdims")]
            lines.add(f"{subscript(outs[0], places)} = {found}", inside=True)


def _list_value(function: str) -> Statement:
    """`append(items, value)` and its kin: numbers get the list's dtype."""

    def printed(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
        del outs
        called = "push" if op.inputs[0] in printer.framed else function
        texts = [printer.named(a, v, lines) for a, v in zip(args, op.inputs, strict=True)]
        value, elem = op.inputs[1], op.inputs[0].type.elem  # type: ignore[union-attr]
        if isinstance(elem, Scalar):
            const = const_of(value)
            texts[1] = scalars.cast(scalars.Operand(texts[1], element_type(value), const), elem.dtype)
        lines.add(f"{called}({', '.join(texts)})")

    return printed


@statement(PROMISE)
def _promise(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Two lengths are equal, or so it is believed (`lowering.loops.checked`)."""
    del outs
    a, b = (printer.named(arg, v, lines) for arg, v in zip(args, op.inputs, strict=True))
    lines.add(f"{printer.require('PROMISED', 3)}({a} == {b}, {failures.LENGTH}, {a}, {b})")


@statement(SHIFTED)
def _shifted(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Parts of one array are added to (`lowering.loops.stencils`)."""
    del outs
    attrs = op.attrs
    name = "__".join(
        "_".join(map(str, shift)) + "".join(f"{kind[0]}{k if k >= 0 else ''}" for kind, k in steps)
        for shift, steps in zip(attrs["shifts"], attrs["steps"], strict=True)
    )
    ty = op.inputs[0].type
    assert isinstance(ty, Array)
    wide = printer.move(SHIFTED) != SHIFTED
    spread = not printer.device and ty.ndim > 1 and printer.spreads(op, ty.ndim)
    given = f"{attrs['shifts']!r}, {attrs['steps']!r}, sources={attrs['sources']}, fresh={attrs['fresh']}"
    texts = [printer.named(arg, v, lines) for arg, v in zip(args, op.inputs, strict=True)]
    name = f"{SHIFTED}_{'rows_' if spread else ''}{'new_' if attrs['fresh'] else ''}{name}"
    called = printer.define(name, f"moves.add_shifted({given}, wide={wide}, rows={spread})")
    if spread:
        spreading.by_rows(printer, op, called, texts, lines)
    else:
        lines.add(f"{called}({', '.join(texts)})")


statement("list_append", "push")(_list_value("append"))
statement("list_set")(_list_value("put_item"))
statement("list_insert")(_list_value("insert_item"))
